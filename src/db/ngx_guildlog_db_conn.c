
/*
 * One connection to PostgreSQL: it finds the host, connects, is ready, and
 * ends.  A state is conn->handler.  Nothing here blocks.
 */

#include <ngx_config.h>
#include <openssl/ssl.h>
#include <openssl/err.h>
#include "db/ngx_guildlog_db.h"


#define DB_CONN_AGE        3600000            /* ms, about */
#define DB_CONN_PARAMS     32

/* a file that cannot exist, or libpq would look into a home directory */
#define DB_CONN_NOWHERE    "/dev/null/none"


typedef struct {
    const char  *keys[DB_CONN_PARAMS];
    const char  *values[DB_CONN_PARAMS];
    ngx_uint_t   n;
} db_conn_params_t;


static void db_conn_connect(ngx_guildlog_db_conn_t *conn);
static PGconn *db_conn_start(ngx_guildlog_db_conn_t *conn);
static void db_conn_param(db_conn_params_t *params, const char *key,
    const char *value);
static void db_conn_event_handler(ngx_event_t *ev);
static void db_conn_poll(ngx_guildlog_db_conn_t *conn, ngx_uint_t write);
static void db_conn_setup(ngx_guildlog_db_conn_t *conn);
static void db_conn_notice(void *data, const PGresult *res);
static void db_conn_connect_expired(ngx_event_t *ev);
static void db_conn_aged(ngx_event_t *ev);
static ngx_int_t db_conn_watch(ngx_guildlog_db_conn_t *conn, ngx_uint_t write);
static void db_conn_unwatch(ngx_guildlog_db_conn_t *conn);
static void db_conn_next(ngx_guildlog_db_conn_t *conn, const char *cause);
static void db_conn_end(ngx_guildlog_db_conn_t *conn);
static void db_conn_drop(ngx_guildlog_db_conn_t *conn);
static char *db_host_resolve_one(ngx_conf_t *cf, ngx_str_t *name,
    ngx_guildlog_db_host_t *host);
static char *db_host_addrs(ngx_conf_t *cf, ngx_guildlog_db_host_t *host,
    const ngx_addr_t *addrs, ngx_uint_t n);
static void db_host_find(ngx_guildlog_db_conn_t *conn);
static void db_host_answered(ngx_resolver_ctx_t *ctx);
static void db_host_configured(ngx_guildlog_db_conn_t *conn, const char *cause);
static void db_host_text(ngx_guildlog_db_addr_t *addr,
    struct sockaddr *sockaddr, socklen_t socklen);


static const ngx_guildlog_db_addr_t  db_host_socket = { "" };


ngx_guildlog_db_conn_t *
ngx_guildlog_db_conn_create(ngx_guildlog_db_group_t *group)
{
    ngx_guildlog_db_conn_t  *conn;
    ngx_guildlog_db_pool_t  *pool;

    pool = group->pool;

    conn = ngx_calloc(sizeof(ngx_guildlog_db_conn_t), pool->log);
    if (conn == NULL) {
        return NULL;
    }

    conn->fd = (ngx_socket_t) -1;
    conn->pool = pool;
    conn->group = group;

    conn->timer.data = conn;
    conn->timer.log = pool->log;

    ngx_queue_init(&conn->flight);

    return conn;
}


void
ngx_guildlog_db_conn_open(ngx_guildlog_db_conn_t *conn)
{
    conn->host = conn->pool->host;
    conn->hosts_left = conn->pool->database->hosts.nelts;

    db_host_find(conn);
}


static void
db_conn_connect(ngx_guildlog_db_conn_t *conn)
{
    conn->desynced = 0;
    conn->pg = db_conn_start(conn);

    if (conn->pg == NULL) {
        db_conn_next(conn, "out of memory");
        return;
    }

    if (PQstatus(conn->pg) == CONNECTION_BAD
        || PQsetnonblocking(conn->pg, 1) != 0)
    {
        db_conn_next(conn, PQerrorMessage(conn->pg));
        return;
    }

    (void) PQsetNoticeReceiver(conn->pg, db_conn_notice, conn);

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, conn->pool->log, 0,
                   "guildlog db connects to host \"%s\", address \"%s\"",
                   conn->pool->database->resolved[conn->host].name,
                   conn->addrs[conn->addr].text);

    conn->handler = db_conn_poll;
    conn->timer.handler = db_conn_connect_expired;
    ngx_add_timer(&conn->timer, conn->pool->database->connect_timeout);

    if (db_conn_watch(conn, 1) != NGX_OK) {
        db_conn_next(conn, "the socket cannot be watched");
    }
}


static PGconn *
db_conn_start(ngx_guildlog_db_conn_t *conn)
{
    u_char                          port[NGX_INT_T_LEN + 1];
    u_char                          timeout[NGX_INT_T_LEN + 1];
    u_char                          options[256];
    db_conn_params_t                params;
    const ngx_guildlog_database_t  *database;

    database = conn->pool->database;

    ngx_sprintf(port, "%ui%Z", database->port);
    ngx_sprintf(timeout, "%M%Z", conn->group->timeout);
    ngx_sprintf(options, "-c statement_timeout=%M"
                         " -c client_connection_check_interval=500"
                         " -c idle_in_transaction_session_timeout=10000%Z",
                conn->group->timeout);

    ngx_memzero(&params, sizeof(db_conn_params_t));

    db_conn_param(&params, "host", database->resolved[conn->host].name);
    db_conn_param(&params, "hostaddr", conn->addrs[conn->addr].text);
    db_conn_param(&params, "port", (char *) port);
    db_conn_param(&params, "dbname", (char *) database->dbname.data);
    db_conn_param(&params, "user", (char *) database->user.data);
    db_conn_param(&params, "password", (char *) database->password.data);
    db_conn_param(&params, "passfile", DB_CONN_NOWHERE);

    db_conn_param(&params, "sslmode", (char *) database->sslmode.data);
    db_conn_param(&params, "sslrootcert", (char *) database->sslrootcert.data);
    db_conn_param(&params, "sslcert", DB_CONN_NOWHERE);
    db_conn_param(&params, "sslkey", DB_CONN_NOWHERE);
    db_conn_param(&params, "sslcrl", DB_CONN_NOWHERE);
    db_conn_param(&params, "gssencmode", "disable");

    db_conn_param(&params, "application_name", "guildlog");
    db_conn_param(&params, "client_encoding", "UTF8");
    db_conn_param(&params, "tcp_user_timeout", (char *) timeout);
    db_conn_param(&params, "keepalives_idle", "30");
    db_conn_param(&params, "keepalives_interval", "5");
    db_conn_param(&params, "keepalives_count", "3");

    if (database->hosts.nelts > 1) {
        db_conn_param(&params, "target_session_attrs", "read-write");
    }

    if (database->prepare) {
        db_conn_param(&params, "options", (char *) options);
    }

    return PQconnectStartParams(params.keys, params.values, 0);
}


/* to libpq a value that is NULL or empty is a missing one */

static void
db_conn_param(db_conn_params_t *params, const char *key, const char *value)
{
    params->keys[params->n] = key;
    params->values[params->n] = value;
    params->n++;
}


static void
db_conn_event_handler(ngx_event_t *ev)
{
    ngx_connection_t        *c;
    ngx_guildlog_db_conn_t  *conn;

    c = ev->data;
    conn = c->data;

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog conn event fd:%d write:%d", c->fd, ev->write);

    if (c->close) {
        if (c->error) {
            ngx_guildlog_db_pool_terminate(conn->pool);
        }

        ngx_guildlog_db_conn_close(conn);
        return;
    }

    conn->handler(conn, ev->write);

    if (!conn->ready || (conn->pg && PQsslInUse(conn->pg))) {
        ERR_clear_error();
    }
}


/*
 * Race: in each step libpq may close its socket and open another one with the
 * same number.  So nginx forgets the socket before the step.
 */

static void
db_conn_poll(ngx_guildlog_db_conn_t *conn, ngx_uint_t write)
{
    db_conn_unwatch(conn);

    switch (PQconnectPoll(conn->pg)) {

    case PGRES_POLLING_OK:
        db_conn_setup(conn);
        return;

    case PGRES_POLLING_READING:
        write = 0;
        break;

    case PGRES_POLLING_WRITING:
        write = 1;
        break;

    default: /* PGRES_POLLING_FAILED */
        db_conn_next(conn, PQerrorMessage(conn->pg));
        return;
    }

    if (db_conn_watch(conn, write) != NGX_OK) {
        db_conn_next(conn, "the socket cannot be watched");
        return;
    }

    if (!write) {
        ngx_guildlog_db_conn_read_pending(conn);
    }
}


static void
db_conn_setup(ngx_guildlog_db_conn_t *conn)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = conn->pool;

    if (conn->desynced) {
        db_conn_next(conn, NGX_GUILDLOG_DB_CONN_DESYNCED);
        return;
    }

    if (PQenterPipelineMode(conn->pg) != 1) {
        db_conn_next(conn, PQerrorMessage(conn->pg));
        return;
    }

    if (db_conn_watch(conn, 0) != NGX_OK) {
        db_conn_next(conn, "the socket cannot be watched");
        return;
    }

    if (pool->told[conn->host]) {
        pool->told[conn->host] = 0;
        ngx_log_error(NGX_LOG_NOTICE, pool->log, 0,
                      "guildlog database \"%V\", host \"%s\": connected again",
                      &pool->database->name,
                      pool->database->resolved[conn->host].name);
    }

    pool->host = conn->host;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db connection is ready, host \"%s\"",
                   pool->database->resolved[conn->host].name);

    conn->ready = 1;
    conn->ready_at = ngx_current_msec;
    conn->connection->idle = 1;

    conn->timer.handler = db_conn_aged;
    conn->timer.cancelable = 1;
    ngx_del_timer(&conn->timer);
    ngx_add_timer(&conn->timer, DB_CONN_AGE / 10 * 9
                              + ngx_random() % (DB_CONN_AGE / 5));

    ngx_guildlog_db_conn_read_pending(conn);
    ngx_guildlog_db_group_ready(conn);
}


/*
 * A notice without SQLSTATE is libpq's own: it dropped a message that it had
 * not expected.  A fatal notice says why the database is about to hang up.
 */

static void
db_conn_notice(void *data, const PGresult *res)
{
    ngx_guildlog_db_conn_t *conn = data;

    const char  *severity;

    if (PQresultErrorField(res, PG_DIAG_SQLSTATE) == NULL) {
        conn->desynced = 1;
        return;
    }

    severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity && (ngx_strcmp(severity, "FATAL") == 0
                     || ngx_strcmp(severity, "PANIC") == 0))
    {
        ngx_guildlog_db_result_line(conn->last_notice,
                                    sizeof(conn->last_notice),
                                    PQresultErrorMessage(res));
    }
}


static void
db_conn_connect_expired(ngx_event_t *ev)
{
    db_conn_next(ev->data, "timed out");
}


static void
db_conn_aged(ngx_event_t *ev)
{
    ngx_guildlog_db_conn_t *conn = ev->data;

    if (conn->nflight == 0) {
        ngx_guildlog_db_conn_close(conn);
        return;
    }

    conn->retiring = 1;
}


/*
 * The events are level-triggered, unlike those of nginx's own connections.
 * libpq does not read until EAGAIN, so no edge would tell of the data that it
 * left in the kernel.
 */

static ngx_int_t
db_conn_watch(ngx_guildlog_db_conn_t *conn, ngx_uint_t write)
{
    int                fd;
    ngx_connection_t  *c;

    fd = PQsocket(conn->pg);
    if (fd == -1) {
        return NGX_ERROR;
    }

    c = ngx_get_connection(fd, conn->pool->log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = conn;
    c->read->handler = db_conn_event_handler;
    c->read->log = conn->pool->log;
    c->write->handler = db_conn_event_handler;
    c->write->log = conn->pool->log;

    conn->connection = c;

    return write ? ngx_add_event(c->write, NGX_WRITE_EVENT, 0)
                 : ngx_add_event(c->read, NGX_READ_EVENT, 0);
}


static void
db_conn_unwatch(ngx_guildlog_db_conn_t *conn)
{
    ngx_uint_t         flags;
    ngx_connection_t  *c;

    c = conn->connection;

    if (c == NULL) {
        return;
    }

    /* at the end of the stream libpq has closed the socket by itself */

    flags = (PQsocket(conn->pg) == c->fd) ? 0 : NGX_CLOSE_EVENT;

    if (c->read->active) {
        (void) ngx_del_event(c->read, NGX_READ_EVENT, flags);
    }

    if (c->write->active) {
        (void) ngx_del_event(c->write, NGX_WRITE_EVENT, flags);
    }

    ngx_guildlog_event_stop(c->read);
    ngx_guildlog_event_stop(c->write);

    ngx_free_connection(c);
    c->fd = (ngx_socket_t) -1;

    conn->connection = NULL;
}


/* bytes that OpenSSL has decrypted, and not handed out, raise no event */

void
ngx_guildlog_db_conn_read_pending(ngx_guildlog_db_conn_t *conn)
{
    SSL  *ssl;

    ssl = PQsslStruct(conn->pg, "OpenSSL");

    if (ssl && SSL_pending(ssl) > 0) {
        ngx_post_event(conn->connection->read, &ngx_posted_next_events);
    }
}


static void
db_conn_next(ngx_guildlog_db_conn_t *conn, const char *cause)
{
    u_char                   line[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t               level;
    ngx_guildlog_db_pool_t  *pool;

    pool = conn->pool;

    level = pool->told[conn->host] ? NGX_LOG_INFO : NGX_LOG_ERR;
    pool->told[conn->host] = 1;

    ngx_guildlog_db_result_line(line, sizeof(line), cause);
    ngx_log_error(level, pool->log, 0,
                  "guildlog database \"%V\", host \"%s\": connect failed: %s",
                  &pool->database->name,
                  pool->database->resolved[conn->host].name, line);

    db_conn_drop(conn);

    if (++conn->addr < conn->naddrs) {
        db_conn_connect(conn);
        return;
    }

    if (--conn->hosts_left == 0) {
        db_conn_end(conn);
        return;
    }

    conn->host = (conn->host + 1) % pool->database->hosts.nelts;
    db_host_find(conn);
}


void
ngx_guildlog_db_conn_fail(ngx_guildlog_db_conn_t *conn, const char *cause)
{
    u_char                   line[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t               level;
    ngx_guildlog_db_pool_t  *pool;

    pool = conn->pool;

    /* a restart of the database ends all connections: one line is an error */

    level = (ngx_time() - pool->lost < 2) ? NGX_LOG_INFO : NGX_LOG_ERR;
    pool->lost = ngx_time();

    ngx_guildlog_db_result_line(line, sizeof(line), cause);
    ngx_log_error(level, pool->log, 0,
                  "guildlog database \"%V\", host \"%s\": connection lost: %s",
                  &pool->database->name,
                  pool->database->resolved[conn->host].name,
                  conn->last_notice[0] ? conn->last_notice : line);

    db_conn_end(conn);
}


void
ngx_guildlog_db_conn_close(ngx_guildlog_db_conn_t *conn)
{
    conn->closing = 1;
    db_conn_end(conn);
}


static void
db_conn_end(ngx_guildlog_db_conn_t *conn)
{
    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, conn->pool->log, 0,
                   "guildlog db connection ends ready:%d closing:%d flight:%ui",
                   conn->ready, conn->closing, conn->nflight);

    if (conn->resolving) {
        ngx_resolve_name_done(conn->resolving);
        conn->resolving = NULL;
    }

    db_conn_drop(conn);
    ngx_guildlog_db_group_ended(conn);
}


/* nginx forgets the socket before libpq closes it */

static void
db_conn_drop(ngx_guildlog_db_conn_t *conn)
{
    db_conn_unwatch(conn);

    ngx_guildlog_event_stop(&conn->timer);

    if (conn->pg) {
        PQfinish(conn->pg);
        conn->pg = NULL;
        ERR_clear_error();
    }
}


void
ngx_guildlog_db_conn_free(ngx_guildlog_db_conn_t *conn)
{
    ngx_free(conn);
}


/*
 * Where a database is: its hosts and their addresses.  They are found when the
 * configuration is read, and again at run time if nginx has a resolver.  libpq
 * gets numeric addresses only, since it would block to look a name up.
 */

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
    u_char     *p;
    ngx_str_t   bare;
    ngx_url_t   u;
    ngx_addr_t  addr;

    bare = *name;

    if (bare.len > 2 && bare.data[0] == '[' && bare.data[bare.len - 1] == ']') {
        bare.data++;
        bare.len -= 2;
    }

    p = ngx_pnalloc(cf->pool, bare.len + 1);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_cpystrn(p, bare.data, bare.len + 1);
    host->name = (const char *) p;

    if (bare.data[0] == '/') {
        host->addrs = (ngx_guildlog_db_addr_t *) &db_host_socket;
        host->naddrs = 1;
        return NGX_CONF_OK;
    }

    switch (ngx_parse_addr(cf->pool, &addr, bare.data, bare.len)) {

    case NGX_OK:
        return db_host_addrs(cf, host, &addr, 1);

    case NGX_ERROR:
        return NGX_CONF_ERROR;

    default: /* NGX_DECLINED */
        break;
    }

    host->dns = 1;

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.host = bare;
    u.port = 1;

    if (ngx_inet_resolve_host(cf->pool, &u) != NGX_OK) {
        if (u.err == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "%s \"%V\" of a database", u.err, &bare);
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
 * Finds conn->addrs of conn->host and connects, at once or from the resolver's
 * event.  The resolver is asked first.  What was found at configuration serves
 * if there is no resolver, or if it has no answer.
 */

static void
db_host_find(ngx_guildlog_db_conn_t *conn)
{
    ngx_resolver_ctx_t            *ctx;
    ngx_guildlog_db_pool_t        *pool;
    const ngx_guildlog_db_host_t  *host;

    pool = conn->pool;
    host = &pool->database->resolved[conn->host];

    ctx = NGX_NO_RESOLVER;

    if (host->dns && pool->resolver) {
        ctx = ngx_resolve_start(pool->resolver, NULL);
    }

    if (ctx == NULL || ctx == NGX_NO_RESOLVER) {
        db_host_configured(conn, ctx ? "no address was found when the "
                                       "configuration was read"
                                     : "no memory to resolve the name");
        return;
    }

    ctx->name = ngx_guildlog_word(host->name);
    ctx->handler = db_host_answered;
    ctx->data = conn;
    ctx->timeout = pool->database->connect_timeout;

    if (pool->resolver_timeout) {
        ctx->timeout = ngx_min(ctx->timeout, pool->resolver_timeout);
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

    ngx_int_t   state;
    ngx_uint_t  i, n;

    state = ctx->state;
    n = state ? 0 : ngx_min(ctx->naddrs, NGX_GUILDLOG_DB_CONN_ADDRS);

    for (i = 0; i < n; i++) {
        db_host_text(&conn->resolved[i], ctx->addrs[i].sockaddr,
                     ctx->addrs[i].socklen);
    }

    conn->resolving = NULL;
    ngx_resolve_name_done(ctx);

    if (n == 0) {
        db_host_configured(conn, state ? ngx_resolver_strerror(state)
                                       : "the name has no address");
        return;
    }

    conn->addrs = conn->resolved;
    conn->naddrs = n;
    conn->addr = 0;

    db_conn_connect(conn);
}


/* the cause says why there may be no address */

static void
db_host_configured(ngx_guildlog_db_conn_t *conn, const char *cause)
{
    const ngx_guildlog_db_host_t  *host;

    host = &conn->pool->database->resolved[conn->host];

    conn->addrs = host->addrs;
    conn->naddrs = host->naddrs;
    conn->addr = 0;

    if (conn->naddrs == 0) {
        db_conn_next(conn, cause);
        return;
    }

    db_conn_connect(conn);
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
