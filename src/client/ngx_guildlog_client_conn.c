
/*
 * A connection for an exchange: an idle one, or a new one.  A new one finds
 * the server's address, connects, and does the TLS handshake, which fails
 * unless the certificate is good.
 */

#include <ngx_event_connect.h>
#include "client/ngx_guildlog_client_conn.h"


#define CLIENT_CONN_CONNECT    3000                /* ms */
#define CLIENT_CONN_HANDSHAKE  5000
#define CLIENT_CONN_AGE        3600000
#define CLIENT_CONN_REQUESTS   1000


static void client_conn_resolved(ngx_resolver_ctx_t *ctx);
static ngx_int_t client_conn_addrs(ngx_guildlog_client_exchange_t *x,
    ngx_resolver_ctx_t *ctx);
static void client_conn_configured(ngx_guildlog_client_exchange_t *x,
    const char *cause);
static void client_conn_choose(ngx_guildlog_client_exchange_t *x);
static void client_conn_connect(ngx_guildlog_client_exchange_t *x);
static ngx_guildlog_client_conn_t *client_conn_create(
    ngx_guildlog_client_t *client, ngx_addr_t *addr);
static void client_conn_connected(ngx_event_t *wev);
static void client_conn_secure(ngx_guildlog_client_exchange_t *x);
static ngx_int_t client_conn_expect(ngx_connection_t *c,
    const ngx_guildlog_client_url_t *url);
static void client_conn_secured(ngx_connection_t *c);
static void client_conn_reached(ngx_guildlog_client_exchange_t *x);
static void client_conn_unreached(ngx_guildlog_client_exchange_t *x,
    ngx_err_t err, const char *cause);
static void client_conn_idle(ngx_event_t *rev);
static u_char *client_conn_log(ngx_log_t *log, u_char *buf, size_t len);


/*
 * What can be read from an idle connection is its end, or bytes that nobody
 * asked for: such a connection is closed.
 */

ngx_guildlog_client_conn_t *
ngx_guildlog_client_conn_take(ngx_guildlog_client_t *client)
{
    u_char                       byte;
    ngx_queue_t                 *q;
    ngx_connection_t            *c;
    ngx_guildlog_client_conn_t  *conn;

    while (!ngx_queue_empty(&client->idle)) {

        q = ngx_queue_head(&client->idle);
        conn = ngx_queue_data(q, ngx_guildlog_client_conn_t, queue);
        c = conn->connection;

        if (recv(c->fd, &byte, 1, MSG_PEEK) == -1
            && ngx_socket_errno == NGX_EAGAIN)
        {
            ngx_queue_remove(&conn->queue);
            client->nidle--;

            c->idle = 0;
            ngx_del_timer(c->read);

            return conn;
        }

        ngx_guildlog_client_conn_close(conn);
    }

    return NULL;
}


void
ngx_guildlog_client_conn_find(ngx_guildlog_client_exchange_t *x)
{
    ngx_resolver_ctx_t     *ctx;
    ngx_guildlog_client_t  *client;

    client = x->client;

    x->reused = 0;
    x->written = 0;

    ctx = NGX_NO_RESOLVER;

    if (client->url->dns && client->resolver) {
        ctx = ngx_resolve_start(client->resolver, NULL);
    }

    if (ctx == NGX_NO_RESOLVER) {
        client_conn_configured(x, "there is no resolver");
        return;
    }

    if (ctx == NULL) {
        client_conn_configured(x, "out of memory");
        return;
    }

    ctx->name = client->url->host;
    ctx->handler = client_conn_resolved;
    ctx->data = x;
    ctx->timeout = client->resolver_timeout;
    ctx->cancelable = 1;

    x->resolving = ctx;

    if (ngx_resolve_name(ctx) != NGX_OK) {
        x->resolving = NULL;
        client_conn_configured(x, "the name was not resolved");
    }
}


static void
client_conn_resolved(ngx_resolver_ctx_t *ctx)
{
    ngx_guildlog_client_exchange_t *x = ctx->data;

    ngx_int_t  rc, state;

    state = ctx->state;
    rc = state ? NGX_DECLINED : client_conn_addrs(x, ctx);

    x->resolving = NULL;
    ngx_resolve_name_done(ctx);

    if (rc != NGX_OK) {
        client_conn_configured(x, state ? ngx_resolver_strerror(state)
                                        : "out of memory");
        return;
    }

    client_conn_choose(x);
}


static ngx_int_t
client_conn_addrs(ngx_guildlog_client_exchange_t *x, ngx_resolver_ctx_t *ctx)
{
    u_char       text[NGX_SOCKADDR_STRLEN];
    ngx_str_t    name;
    ngx_addr_t  *addr;
    ngx_uint_t   i;

    addr = ngx_pcalloc(x->pool, ctx->naddrs * sizeof(ngx_addr_t));
    if (addr == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < ctx->naddrs; i++) {

        addr[i].socklen = ctx->addrs[i].socklen;
        addr[i].sockaddr = ngx_palloc(x->pool, addr[i].socklen);

        if (addr[i].sockaddr == NULL) {
            return NGX_ERROR;
        }

        ngx_memcpy(addr[i].sockaddr, ctx->addrs[i].sockaddr, addr[i].socklen);
        ngx_inet_set_port(addr[i].sockaddr, x->client->url->port);

        name.data = text;
        name.len = ngx_sock_ntop(addr[i].sockaddr, addr[i].socklen, text,
                                 NGX_SOCKADDR_STRLEN, 1);

        addr[i].name.len = name.len;
        addr[i].name.data = ngx_pstrdup(x->pool, &name);

        if (addr[i].name.data == NULL) {
            return NGX_ERROR;
        }
    }

    x->addrs = addr;
    x->naddrs = ctx->naddrs;

    return NGX_OK;
}


static void
client_conn_configured(ngx_guildlog_client_exchange_t *x, const char *cause)
{
    const ngx_guildlog_client_url_t  *url;

    url = x->client->url;

    if (url->naddrs == 0) {
        client_conn_unreached(x, 0, cause);
        x->ended(x, cause);
        return;
    }

    x->addrs = url->addrs;
    x->naddrs = url->naddrs;

    client_conn_choose(x);
}


/* the address that answered the last time is tried first */

static void
client_conn_choose(ngx_guildlog_client_exchange_t *x)
{
    ngx_uint_t              i;
    ngx_guildlog_client_t  *client;

    client = x->client;

    x->first = 0;
    x->tried = 0;

    for (i = 0; client->reached_len && i < x->naddrs; i++) {
        if (ngx_cmp_sockaddr(x->addrs[i].sockaddr, x->addrs[i].socklen,
                             &client->reached.sockaddr, client->reached_len, 1)
            == NGX_OK)
        {
            x->first = i;
            break;
        }
    }

    client_conn_connect(x);
}


ngx_int_t
ngx_guildlog_client_conn_next(ngx_guildlog_client_exchange_t *x)
{
    if (x->tried + 1 >= x->naddrs) {
        return NGX_DECLINED;
    }

    x->tried++;
    client_conn_connect(x);

    return NGX_OK;
}


static void
client_conn_connect(ngx_guildlog_client_exchange_t *x)
{
    ngx_int_t                    rc;
    ngx_addr_t                  *addr;
    ngx_connection_t            *c;
    ngx_peer_connection_t        pc;
    ngx_guildlog_client_conn_t  *conn;

    addr = &x->addrs[(x->first + x->tried) % x->naddrs];

    conn = client_conn_create(x->client, addr);
    if (conn == NULL) {
        x->ended(x, "out of memory");
        return;
    }

    ngx_memzero(&pc, sizeof(ngx_peer_connection_t));

    pc.sockaddr = addr->sockaddr;
    pc.socklen = addr->socklen;
    pc.name = &conn->name;
    pc.get = ngx_event_get_peer;
    pc.log = &conn->log;
    pc.log_error = NGX_ERROR_INFO;

    rc = ngx_event_connect_peer(&pc);

    if (rc == NGX_ERROR) {
        ngx_destroy_pool(conn->pool);
        x->ended(x, "no connection is left");
        return;
    }

    if (rc == NGX_BUSY || rc == NGX_DECLINED) {
        x->client->failing = 1;
        ngx_destroy_pool(conn->pool);
        x->lost(x, "the connection was refused");
        return;
    }

    c = pc.connection;
    c->data = conn;
    c->pool = conn->pool;
    c->read->handler = ngx_guildlog_client_conn_wait;
    c->write->handler = client_conn_connected;

    conn->connection = c;
    conn->exchange = x;
    x->conn = conn;

    ngx_add_timer(c->write, CLIENT_CONN_CONNECT);

    if (rc == NGX_OK) {
        client_conn_connected(c->write);
    }
}


/*
 * While the server cannot be reached, nginx's messages about each connection
 * would only repeat the first: they are switched off.
 */

static ngx_guildlog_client_conn_t *
client_conn_create(ngx_guildlog_client_t *client, ngx_addr_t *addr)
{
    ngx_pool_t                  *pool;
    ngx_guildlog_client_conn_t  *conn;

    pool = ngx_create_pool(1024, client->log);
    if (pool == NULL) {
        return NULL;
    }

    conn = ngx_pcalloc(pool, sizeof(ngx_guildlog_client_conn_t));
    if (conn == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    conn->client = client;
    conn->pool = pool;
    conn->start = ngx_current_msec;

    conn->name.len = addr->name.len;
    conn->name.data = ngx_pstrdup(pool, &addr->name);

    if (conn->name.data == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    conn->log = *client->log;
    conn->log.handler = client_conn_log;
    conn->log.data = conn;
    conn->log.action = "connecting";

    if (client->failing) {
        conn->log.log_level = NGX_LOG_ALERT;
    }

    pool->log = &conn->log;

    return conn;
}


static void
client_conn_connected(ngx_event_t *wev)
{
    int                              err;
    socklen_t                        len;
    ngx_connection_t                *c;
    ngx_guildlog_client_conn_t      *conn;
    ngx_guildlog_client_exchange_t  *x;

    c = wev->data;
    conn = c->data;
    x = conn->exchange;

    ngx_log_debug0(NGX_LOG_DEBUG_EVENT, wev->log, 0,
                   "guildlog exchange connected");

    if (wev->timedout) {
        client_conn_unreached(x, NGX_ETIMEDOUT, "connect() failed");
        x->lost(x, "no connection in time");
        return;
    }

    err = 0;
    len = sizeof(int);

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, (void *) &err, &len) == -1) {
        err = ngx_socket_errno;
    }

    if (err) {
        client_conn_unreached(x, err, "connect() failed");
        x->lost(x, "the connection was refused");
        return;
    }

    ngx_del_timer(wev);

    if (ngx_tcp_nodelay(c) != NGX_OK) {
        x->lost(x, "the connection was refused");
        return;
    }

    if (x->client->url->tls) {
        client_conn_secure(x);
        return;
    }

    client_conn_reached(x);
}


static void
client_conn_secure(ngx_guildlog_client_exchange_t *x)
{
    ngx_connection_t                 *c;
    const ngx_guildlog_client_url_t  *url;

    c = x->conn->connection;
    url = x->client->url;

    x->conn->log.action = "in a TLS handshake";

    if (ngx_ssl_create_connection(url->tls, c, NGX_SSL_CLIENT) != NGX_OK
        || client_conn_expect(c, url) != NGX_OK)
    {
        x->lost(x, "TLS could not be set up");
        return;
    }

    c->ssl->handler = client_conn_secured;
    ngx_add_timer(c->write, CLIENT_CONN_HANDSHAKE);

    if (ngx_ssl_handshake(c) == NGX_AGAIN) {
        return;
    }

    client_conn_secured(c);
}


/* the name or address that the certificate must have */

static ngx_int_t
client_conn_expect(ngx_connection_t *c, const ngx_guildlog_client_url_t *url)
{
    int                 rc;
    char               *host;
    X509_VERIFY_PARAM  *param;

    host = (char *) url->host.data;
    param = SSL_get0_param(c->ssl->connection);

    if (url->dns) {
        X509_VERIFY_PARAM_set_hostflags(param,
                                        X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);

        rc = SSL_set_tlsext_host_name(c->ssl->connection, host)
             && X509_VERIFY_PARAM_set1_host(param, host, 0);

    } else {
        rc = X509_VERIFY_PARAM_set1_ip_asc(param, host);
    }

    if (rc == 0) {
        ngx_ssl_error(NGX_LOG_ERR, c->log, 0,
                      "the name to verify could not be set");
        return NGX_ERROR;
    }

    return NGX_OK;
}


static void
client_conn_secured(ngx_connection_t *c)
{
    long                             rc;
    ngx_guildlog_client_conn_t      *conn;
    ngx_guildlog_client_exchange_t  *x;

    conn = c->data;
    x = conn->exchange;

    if (c->read->timedout || c->write->timedout) {
        client_conn_unreached(x, NGX_ETIMEDOUT, "TLS handshake failed");
        x->lost(x, "no TLS handshake in time");
        return;
    }

    rc = SSL_get_verify_result(c->ssl->connection);

    if (rc != X509_V_OK) {
        client_conn_unreached(x, 0, X509_verify_cert_error_string(rc));
        x->lost(x, "its certificate is not trusted");
        return;
    }

    if (!c->ssl->handshaked) {
        client_conn_unreached(x, 0, "TLS handshake failed");
        x->lost(x, "the TLS handshake failed");
        return;
    }

    ngx_del_timer(c->write);
    client_conn_reached(x);
}


static void
client_conn_reached(ngx_guildlog_client_exchange_t *x)
{
    ngx_addr_t             *addr;
    ngx_guildlog_client_t  *client;

    client = x->client;
    addr = &x->addrs[(x->first + x->tried) % x->naddrs];

    ngx_memcpy(&client->reached, addr->sockaddr, addr->socklen);
    client->reached_len = addr->socklen;

    x->conn->log.log_level = client->log->log_level;

    if (client->failing) {
        client->failing = 0;
        ngx_log_error(NGX_LOG_NOTICE, client->log, 0,
                      "guildlog platform \"%V\", address %V: reached again",
                      &client->url->text, &addr->name);
    }

    x->ready(x);
}


static void
client_conn_unreached(ngx_guildlog_client_exchange_t *x, ngx_err_t err,
    const char *cause)
{
    ngx_uint_t              level;
    ngx_guildlog_client_t  *client;

    client = x->client;

    level = client->failing ? NGX_LOG_INFO : NGX_LOG_ERR;
    client->failing = 1;

    ngx_log_error(level, client->log, err,
                  "guildlog platform \"%V\", address %V: %s",
                  &client->url->text,
                  x->conn ? &x->conn->name : &client->url->host, cause);
}


void
ngx_guildlog_client_conn_keep(ngx_guildlog_client_conn_t *conn,
    ngx_msec_t idle_ms)
{
    ngx_queue_t            *q;
    ngx_connection_t       *c;
    ngx_guildlog_client_t  *client;

    c = conn->connection;
    client = conn->client;

    if (ngx_exiting || ngx_terminate
        || client->keepalive == 0
        || idle_ms == 0
        || conn->requests >= CLIENT_CONN_REQUESTS
        || ngx_current_msec - conn->start >= CLIENT_CONN_AGE)
    {
        ngx_guildlog_client_conn_close(conn);
        return;
    }

    if (client->nidle == client->keepalive) {
        q = ngx_queue_last(&client->idle);
        ngx_guildlog_client_conn_close(
            ngx_queue_data(q, ngx_guildlog_client_conn_t, queue));
    }

    ngx_queue_insert_head(&client->idle, &conn->queue);
    client->nidle++;

    conn->log.action = "keeping a connection";

    c->idle = 1;
    c->read->handler = client_conn_idle;
    c->write->handler = ngx_guildlog_client_conn_wait;

    ngx_add_timer(c->read, idle_ms);

    if (c->read->ready) {
        client_conn_idle(c->read);
    }
}


/* a TLS record without data keeps the connection; anything else ends it */

static void
client_conn_idle(ngx_event_t *rev)
{
    u_char             byte;
    ngx_connection_t  *c;

    c = rev->data;

    if (!c->close && !rev->timedout
        && c->recv(c, &byte, 1) == NGX_AGAIN
        && ngx_handle_read_event(rev, 0) == NGX_OK)
    {
        return;
    }

    ngx_guildlog_client_conn_close(c->data);
}


void
ngx_guildlog_client_conn_wait(ngx_event_t *ev)
{
    ngx_connection_t            *c;
    ngx_guildlog_client_conn_t  *conn;

    c = ev->data;
    conn = c->data;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog conn wait write:%d", ev->write);

    if (c->close && conn->exchange) {
        conn->exchange->ended(conn->exchange, "nginx waits no longer");
    }
}


void
ngx_guildlog_client_conn_close(ngx_guildlog_client_conn_t *conn)
{
    ngx_pool_t        *pool;
    ngx_connection_t  *c;

    c = conn->connection;
    pool = conn->pool;

    if (c->idle) {
        ngx_queue_remove(&conn->queue);
        conn->client->nidle--;
    }

    if (c->ssl) {
        c->ssl->no_wait_shutdown = 1;
        c->timedout = !conn->clean;

        /* a close_notify that cannot be sent at once is not sent */

        if (ngx_ssl_shutdown(c) == NGX_AGAIN) {
            c->timedout = 1;
            (void) ngx_ssl_shutdown(c);
        }
    }

    ngx_close_connection(c);
    ngx_destroy_pool(pool);
}


static u_char *
client_conn_log(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                      *p;
    ngx_guildlog_client_conn_t  *conn;

    conn = log->data;

    p = ngx_snprintf(buf, len, " while %s, guildlog platform \"%V\", "
                     "address: %V",
                     log->action, &conn->client->url->text, &conn->name);

    return p;
}
