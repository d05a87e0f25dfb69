
/*
 * Where a database is: its hosts and their addresses.  They are found when the
 * configuration is read, and again at run time if nginx has a resolver.  libpq
 * gets numeric addresses only, since it would block to look a name up.
 */

#include "db/ngx_guildlog_db.h"


#define DB_HOST_ADDRS_MAX  16


static char *db_host_resolve_one(ngx_conf_t *cf, ngx_str_t *name,
    ngx_guildlog_db_host_t *host);
static char *db_host_lookup(ngx_conf_t *cf, ngx_str_t *name,
    ngx_guildlog_db_host_t *host);
static char *db_host_addrs(ngx_conf_t *cf, ngx_guildlog_db_host_t *host,
    const ngx_addr_t *addrs, ngx_uint_t n);
static void db_host_answered(ngx_resolver_ctx_t *ctx);
static void db_host_configured(ngx_guildlog_db_conn_t *conn, const char *cause);
static void db_host_text(ngx_guildlog_db_addr_t *addr,
    struct sockaddr *sockaddr, socklen_t socklen);
static const char *db_host_string(ngx_pool_t *pool, const ngx_str_t *value);


static const ngx_guildlog_db_addr_t  db_host_socket = { "" };


char *
ngx_guildlog_db_host_resolve(ngx_conf_t *cf, ngx_guildlog_database_t *database)
{
    ngx_str_t               *name;
    ngx_uint_t               i;
    ngx_guildlog_db_host_t  *host;

    host = ngx_pcalloc(cf->pool,
                       database->hosts.nelts * sizeof(ngx_guildlog_db_host_t));
    if (host == NULL) {
        return NGX_CONF_ERROR;
    }

    name = database->hosts.elts;

    for (i = 0; i < database->hosts.nelts; i++) {
        if (db_host_resolve_one(cf, &name[i], &host[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    database->resolved = host;

    return NGX_CONF_OK;
}


static char *
db_host_resolve_one(ngx_conf_t *cf, ngx_str_t *name,
    ngx_guildlog_db_host_t *host)
{
    ngx_str_t   bare;
    ngx_addr_t  addr;

    bare = *name;

    if (bare.len > 2 && bare.data[0] == '[' && bare.data[bare.len - 1] == ']') {
        bare.data++;
        bare.len -= 2;
    }

    host->name = db_host_string(cf->pool, &bare);
    if (host->name == NULL) {
        return NGX_CONF_ERROR;
    }

    if (bare.data[0] == '/') {
        host->addrs = (ngx_guildlog_db_addr_t *) &db_host_socket;
        host->naddrs = 1;
        return NGX_CONF_OK;
    }

    switch (ngx_parse_addr(cf->pool, &addr, bare.data, bare.len)) {

    case NGX_OK:
        return db_host_addrs(cf, host, &addr, 1);

    case NGX_DECLINED:
        host->dns = 1;
        return db_host_lookup(cf, &bare, host);

    default: /* NGX_ERROR */
        return NGX_CONF_ERROR;
    }
}


static char *
db_host_lookup(ngx_conf_t *cf, ngx_str_t *name, ngx_guildlog_db_host_t *host)
{
    ngx_url_t  u;

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.host = *name;
    u.port = 1;

    if (ngx_inet_resolve_host(cf->pool, &u) != NGX_OK) {
        if (u.err == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "%s \"%V\" of a database", u.err, name);
        return NGX_CONF_OK;
    }

    return db_host_addrs(cf, host, u.addrs, u.naddrs);
}


static char *
db_host_addrs(ngx_conf_t *cf, ngx_guildlog_db_host_t *host,
    const ngx_addr_t *addrs, ngx_uint_t n)
{
    ngx_uint_t  i;

    host->addrs = ngx_palloc(cf->pool, n * sizeof(ngx_guildlog_db_addr_t));
    if (host->addrs == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < n; i++) {
        db_host_text(&host->addrs[i], addrs[i].sockaddr, addrs[i].socklen);
    }

    host->naddrs = n;

    return NGX_CONF_OK;
}


/*
 * At run time the resolver is asked first.  What was found at configuration
 * serves if there is no resolver, or if it has no answer.
 */

void
ngx_guildlog_db_host_find(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_host_found_pt found)
{
    ngx_resolver_ctx_t            *ctx;
    ngx_guildlog_db_site_t        *site;
    const ngx_guildlog_db_host_t  *host;

    site = conn->site;
    host = &site->database->resolved[conn->host];

    conn->found = found;
    ctx = NGX_NO_RESOLVER;

    if (host->dns && site->resolver) {
        ctx = ngx_resolve_start(site->resolver, NULL);
    }

    if (ctx == NGX_NO_RESOLVER) {
        db_host_configured(conn, "no address was found when the "
                                 "configuration was read");
        return;
    }

    if (ctx == NULL) {
        db_host_configured(conn, "no memory to resolve the name");
        return;
    }

    ctx->name.data = (u_char *) host->name;
    ctx->name.len = ngx_strlen(host->name);
    ctx->handler = db_host_answered;
    ctx->data = conn;
    ctx->timeout = site->database->connect_timeout;

    if (site->resolver_timeout) {
        ctx->timeout = ngx_min(ctx->timeout, site->resolver_timeout);
    }

    conn->resolving = ctx;

    if (ngx_resolve_name(ctx) != NGX_OK) {
        conn->resolving = NULL;
        db_host_configured(conn, "the name was not resolved");
    }
}


static void
db_host_answered(ngx_resolver_ctx_t *ctx)
{
    ngx_guildlog_db_conn_t *conn = ctx->data;

    ngx_int_t                state;
    ngx_uint_t               i, n;
    ngx_guildlog_db_addr_t  *found;

    state = ctx->state;
    n = ngx_min(ctx->naddrs, DB_HOST_ADDRS_MAX);
    found = NULL;

    if (state == 0 && n) {
        found = ngx_alloc(n * sizeof(ngx_guildlog_db_addr_t), conn->site->log);
    }

    if (found) {
        for (i = 0; i < n; i++) {
            db_host_text(&found[i], ctx->addrs[i].sockaddr,
                         ctx->addrs[i].socklen);
        }
    }

    conn->resolving = NULL;
    ngx_resolve_name_done(ctx);

    if (found == NULL) {
        db_host_configured(conn, state ? ngx_resolver_strerror(state)
                                       : "the name has no address");
        return;
    }

    conn->resolved = found;
    conn->addrs = found;
    conn->naddrs = n;
    conn->addr = 0;

    conn->found(conn, NULL);
}


static void
db_host_configured(ngx_guildlog_db_conn_t *conn, const char *cause)
{
    const ngx_guildlog_db_host_t  *host;

    host = &conn->site->database->resolved[conn->host];

    conn->addrs = host->addrs;
    conn->naddrs = host->naddrs;
    conn->addr = 0;

    conn->found(conn, cause);
}


void
ngx_guildlog_db_host_forget(ngx_guildlog_db_conn_t *conn)
{
    if (conn->resolving) {
        ngx_resolve_name_done(conn->resolving);
        conn->resolving = NULL;
    }

    if (conn->resolved) {
        ngx_free(conn->resolved);
        conn->resolved = NULL;
    }

    conn->addrs = NULL;
    conn->naddrs = 0;
}


static void
db_host_text(ngx_guildlog_db_addr_t *addr, struct sockaddr *sockaddr,
    socklen_t socklen)
{
    size_t  len;

    len = ngx_sock_ntop(sockaddr, socklen, (u_char *) addr->text,
                        sizeof(addr->text) - 1, 0);
    addr->text[len] = '\0';
}


ngx_guildlog_db_site_t *
ngx_guildlog_db_host_site(ngx_pool_t *pool,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_log_t *log)
{
    u_char                  *port;
    ngx_guildlog_db_site_t  *site;

    site = ngx_pcalloc(pool, sizeof(ngx_guildlog_db_site_t));
    if (site == NULL) {
        return NULL;
    }

    site->database = database;
    site->resolver = resolver;
    site->resolver_timeout = resolver_timeout;
    site->log = log;

    port = ngx_pcalloc(pool, NGX_INT_T_LEN + 1);
    site->failing = ngx_pcalloc(pool, database->hosts.nelts);
    site->dbname = db_host_string(pool, &database->dbname);
    site->user = db_host_string(pool, &database->user);
    site->password = db_host_string(pool, &database->password);
    site->sslmode = db_host_string(pool, &database->sslmode);
    site->sslrootcert = db_host_string(pool, &database->sslrootcert);

    if (port == NULL || site->failing == NULL || site->dbname == NULL
        || site->user == NULL || site->password == NULL
        || site->sslmode == NULL || site->sslrootcert == NULL)
    {
        return NULL;
    }

    ngx_sprintf(port, "%ui", (ngx_uint_t) database->port);
    site->port = (const char *) port;

    return site;
}


static const char *
db_host_string(ngx_pool_t *pool, const ngx_str_t *value)
{
    u_char  *p;

    p = ngx_pnalloc(pool, value->len + 1);
    if (p == NULL) {
        return NULL;
    }

    ngx_cpystrn(p, value->data ? value->data : (u_char *) "",
                value->len + 1);

    return (const char *) p;
}
