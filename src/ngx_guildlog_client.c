
/*
 * Exchanges over HTTP/1.1.  An exchange finds a connection, an idle one or a
 * new one, sends its request, reads the answer and ends: it is done(), lost()
 * with its connection, which it may try again on another one, or expired().
 * A connection is a wire: it has its own pool and log, so that nothing needs
 * switching when it goes from one exchange to the next.
 */

#include <ngx_event_connect.h>
#include "ngx_guildlog_client.h"


#define NGX_GUILDLOG_CLIENT_CONNECT    3000                /* ms */
#define NGX_GUILDLOG_CLIENT_HANDSHAKE  5000
#define NGX_GUILDLOG_CLIENT_IDLE       30000
#define NGX_GUILDLOG_CLIENT_AGE        3600000
#define NGX_GUILDLOG_CLIENT_REQUESTS   1000

#define NGX_GUILDLOG_CLIENT_BODY       65536               /* bytes */
#define NGX_GUILDLOG_CLIENT_BODY_GET   1048576
#define NGX_GUILDLOG_CLIENT_READ       8192
#define NGX_GUILDLOG_CLIENT_READS      16                  /* an event */

/* one TLS record: either all of it is written, or it cannot be read */
#define NGX_GUILDLOG_CLIENT_WRITE      16384

#define NGX_GUILDLOG_CLIENT_AGENT                                             \
    "DiscordBot (https://guildlog.invalid, 1.0)"


typedef struct {
    ngx_queue_t                    queue;        /* of the idle ones */
    ngx_guildlog_client_t         *client;
    ngx_guildlog_exchange_t       *exchange;     /* NULL: idle */
    ngx_connection_t              *connection;
    ngx_pool_t                    *pool;         /* it stands in */
    ngx_log_t                      log;
    ngx_str_t                      name;         /* of the address */
    ngx_msec_t                     start;
    ngx_uint_t                     requests;

    unsigned                       clean:1;      /* between two answers */
} ngx_guildlog_wire_t;


struct ngx_guildlog_client_s {
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;          /* the cycle's */
    const ngx_guildlog_origin_t   *origin;
    ngx_resolver_t                *resolver;     /* NULL: none */
    ngx_msec_t                     resolver_timeout;

    ngx_queue_t                    exchanges;
    ngx_queue_t                    idle;         /* the last used first */
    ngx_uint_t                     nidle;
    ngx_uint_t                     keepalive;

    ngx_sockaddr_t                 reached;      /* the last that answered */
    socklen_t                      reached_len;

    unsigned                       failing:1;    /* it is logged */
};


struct ngx_guildlog_exchange_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* the client's */
    ngx_guildlog_client_t         *client;
    ngx_pool_t                    *pool;         /* it stands in */
    ngx_guildlog_exchange_handler_pt  handler;
    void                          *data;
    ngx_msec_t                     start;
    ngx_event_t                    begin;        /* posted */
    ngx_event_t                    deadline;

    ngx_resolver_ctx_t            *resolving;
    ngx_addr_t                    *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     first;        /* of them, to try */
    ngx_uint_t                     tried;

    ngx_guildlog_wire_t           *wire;
    ngx_buf_t                     *request;
    ngx_guildlog_reader_t          reader;
    ngx_guildlog_answer_t          answer;

    unsigned                       get:1;
    unsigned                       head:1;
    unsigned                       idempotent:1;
    unsigned                       reused:1;     /* the wire was idle */
    unsigned                       written:1;    /* a byte, on this wire */
    unsigned                       uncertain:1;  /* a byte, on any */
    unsigned                       answering:1;  /* a byte came, on this */
};


static ngx_int_t ngx_guildlog_client_clean(const u_char *p, size_t len,
    u_char least);
static ngx_buf_t *ngx_guildlog_client_request(ngx_guildlog_exchange_t *x,
    const char *method, const ngx_str_t *path,
    const ngx_str_t *authorization, const ngx_str_t *body);
static void ngx_guildlog_client_begin(ngx_event_t *ev);
static ngx_guildlog_wire_t *ngx_guildlog_client_idle_wire(
    ngx_guildlog_client_t *client);
static void ngx_guildlog_client_resolve(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_resolved(ngx_resolver_ctx_t *ctx);
static ngx_int_t ngx_guildlog_client_addrs(ngx_guildlog_exchange_t *x,
    ngx_resolver_ctx_t *ctx);
static void ngx_guildlog_client_configured(ngx_guildlog_exchange_t *x,
    const char *cause);
static void ngx_guildlog_client_found(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_connect(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_connected(ngx_event_t *wev);
static void ngx_guildlog_client_secure(ngx_guildlog_exchange_t *x);
static ngx_int_t ngx_guildlog_client_expect(ngx_connection_t *c,
    const ngx_guildlog_origin_t *origin);
static void ngx_guildlog_client_secured(ngx_connection_t *c);
static void ngx_guildlog_client_transmit(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_write(ngx_event_t *wev);
static void ngx_guildlog_client_read(ngx_event_t *rev);
static void ngx_guildlog_client_done(ngx_guildlog_exchange_t *x);
static ngx_msec_t ngx_guildlog_client_patience(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_lost(ngx_guildlog_exchange_t *x,
    const char *cause);
static void ngx_guildlog_client_expired(ngx_event_t *ev);
static void ngx_guildlog_client_end(ngx_guildlog_exchange_t *x,
    const char *cause);
static void ngx_guildlog_client_release(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_reached(ngx_guildlog_exchange_t *x);
static void ngx_guildlog_client_unreached(ngx_guildlog_exchange_t *x,
    ngx_err_t err, const char *cause);
static ngx_guildlog_wire_t *ngx_guildlog_wire_create(
    ngx_guildlog_client_t *client, ngx_addr_t *addr);
static void ngx_guildlog_wire_keep(ngx_guildlog_wire_t *wire,
    ngx_msec_t idle_ms);
static void ngx_guildlog_wire_idle(ngx_event_t *rev);
static void ngx_guildlog_wire_wait(ngx_event_t *ev);
static void ngx_guildlog_wire_close(ngx_guildlog_wire_t *wire);
static u_char *ngx_guildlog_wire_log(ngx_log_t *log, u_char *buf, size_t len);


ngx_guildlog_client_t *
ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_origin_t *origin, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_uint_t keepalive)
{
    ngx_pool_t             *pool;
    ngx_guildlog_client_t  *client;

    pool = ngx_create_pool(1024, cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    client = ngx_pcalloc(pool, sizeof(ngx_guildlog_client_t));
    if (client == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    client->pool = pool;
    client->log = cycle->log;
    client->origin = origin;
    client->resolver = resolver;
    client->resolver_timeout = resolver_timeout;
    client->keepalive = keepalive;

    ngx_queue_init(&client->exchanges);
    ngx_queue_init(&client->idle);

    return client;
}


void
ngx_guildlog_client_destroy(ngx_guildlog_client_t *client)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(&client->exchanges)) {
        q = ngx_queue_head(&client->exchanges);
        ngx_guildlog_exchange_cancel(ngx_queue_data(q,
                                            ngx_guildlog_exchange_t, queue));
    }

    while (!ngx_queue_empty(&client->idle)) {
        q = ngx_queue_head(&client->idle);
        ngx_guildlog_wire_close(ngx_queue_data(q, ngx_guildlog_wire_t,
                                               queue));
    }

    ngx_destroy_pool(client->pool);
}


ngx_guildlog_exchange_t *
ngx_guildlog_client_send(ngx_guildlog_client_t *client, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *body, ngx_msec_t deadline_ms,
    ngx_guildlog_exchange_handler_pt handler, void *data)
{
    ngx_pool_t               *pool;
    ngx_guildlog_exchange_t  *x;

    if (ngx_guildlog_client_clean((u_char *) method, ngx_strlen(method), '!')
            != NGX_OK
        || ngx_guildlog_client_clean(path->data, path->len, '!') != NGX_OK
        || ngx_guildlog_client_clean(authorization->data, authorization->len,
                                     ' ')
           != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, client->log, 0,
                      "guildlog platform: a request to be sent has bytes "
                      "that no header may have");
        return NULL;
    }

    pool = ngx_create_pool(1024, client->log);
    if (pool == NULL) {
        return NULL;
    }

    x = ngx_pcalloc(pool, sizeof(ngx_guildlog_exchange_t));
    if (x == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    x->fd = (ngx_socket_t) -1;
    x->client = client;
    x->pool = pool;
    x->handler = handler;
    x->data = data;
    x->start = ngx_current_msec;

    x->get = (ngx_strcmp(method, "GET") == 0);
    x->head = (ngx_strcmp(method, "HEAD") == 0);
    x->idempotent = x->get || x->head || ngx_strcmp(method, "PUT") == 0
                    || ngx_strcmp(method, "DELETE") == 0;

    x->request = ngx_guildlog_client_request(x, method, path, authorization,
                                             body);
    if (x->request == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    x->begin.handler = ngx_guildlog_client_begin;
    x->begin.data = x;
    x->begin.log = client->log;

    x->deadline.handler = ngx_guildlog_client_expired;
    x->deadline.data = x;
    x->deadline.log = client->log;

    ngx_queue_insert_tail(&client->exchanges, &x->queue);
    ngx_add_timer(&x->deadline, deadline_ms);
    ngx_post_event(&x->begin, &ngx_posted_next_events);

    return x;
}


static ngx_int_t
ngx_guildlog_client_clean(const u_char *p, size_t len, u_char least)
{
    while (len--) {
        if (*p < least || *p == 0x7f) {
            return NGX_ERROR;
        }

        p++;
    }

    return NGX_OK;
}


static ngx_buf_t *
ngx_guildlog_client_request(ngx_guildlog_exchange_t *x, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *body)
{
    size_t                        size;
    ngx_buf_t                    *b;
    const ngx_guildlog_origin_t  *origin;

    origin = x->client->origin;

    size = ngx_strlen(method) + sizeof(" ") - 1
           + origin->path.len + path->len
           + sizeof(" HTTP/1.1" CRLF "Host: " CRLF) - 1
           + origin->authority.len
           + sizeof("User-Agent: " NGX_GUILDLOG_CLIENT_AGENT CRLF
                    "Accept: application/json" CRLF) - 1
           + sizeof("Authorization: " CRLF) - 1 + authorization->len
           + sizeof("Content-Type: application/json" CRLF
                    "Content-Length: " CRLF) - 1 + NGX_SIZE_T_LEN
           + sizeof(CRLF) - 1
           + body->len;

    b = ngx_create_temp_buf(x->pool, size);
    if (b == NULL) {
        return NULL;
    }

    b->last = ngx_sprintf(b->last,
                          "%s %V%V HTTP/1.1" CRLF
                          "Host: %V" CRLF
                          "User-Agent: " NGX_GUILDLOG_CLIENT_AGENT CRLF
                          "Accept: application/json" CRLF,
                          method, &origin->path, path, &origin->authority);

    if (authorization->len) {
        b->last = ngx_sprintf(b->last, "Authorization: %V" CRLF,
                              authorization);
    }

    if (body->len) {
        b->last = ngx_sprintf(b->last,
                              "Content-Type: application/json" CRLF
                              "Content-Length: %uz" CRLF
                              CRLF
                              "%V", body->len, body);

    } else {
        b->last = ngx_sprintf(b->last, x->get || x->head ? CRLF
                              : "Content-Length: 0" CRLF
                                CRLF);
    }

    return b;
}


static void
ngx_guildlog_client_begin(ngx_event_t *ev)
{
    ngx_guildlog_exchange_t *x = ev->data;

    ngx_log_debug0(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog exchange begins");

    x->wire = ngx_guildlog_client_idle_wire(x->client);

    if (x->wire == NULL) {
        ngx_guildlog_client_resolve(x);
        return;
    }

    x->wire->exchange = x;
    x->reused = 1;

    ngx_guildlog_client_transmit(x);
}


/*
 * One on which nothing has come: what is readable is the end of it, or
 * belongs to no answer.
 */

static ngx_guildlog_wire_t *
ngx_guildlog_client_idle_wire(ngx_guildlog_client_t *client)
{
    u_char                byte;
    ngx_queue_t          *q;
    ngx_connection_t     *c;
    ngx_guildlog_wire_t  *wire;

    while (!ngx_queue_empty(&client->idle)) {

        q = ngx_queue_head(&client->idle);
        wire = ngx_queue_data(q, ngx_guildlog_wire_t, queue);
        c = wire->connection;

        if (recv(c->fd, &byte, 1, MSG_PEEK) == -1
            && ngx_socket_errno == NGX_EAGAIN)
        {
            ngx_queue_remove(&wire->queue);
            client->nidle--;

            c->idle = 0;
            ngx_del_timer(c->read);

            return wire;
        }

        ngx_guildlog_wire_close(wire);
    }

    return NULL;
}


static void
ngx_guildlog_client_resolve(ngx_guildlog_exchange_t *x)
{
    ngx_resolver_ctx_t     *ctx;
    ngx_guildlog_client_t  *client;

    client = x->client;

    x->reused = 0;
    x->written = 0;

    ctx = NGX_NO_RESOLVER;

    if (client->origin->dns && client->resolver) {
        ctx = ngx_resolve_start(client->resolver, NULL);
    }

    if (ctx == NGX_NO_RESOLVER) {
        ngx_guildlog_client_configured(x, "there is no resolver");
        return;
    }

    if (ctx == NULL) {
        ngx_guildlog_client_configured(x, "out of memory");
        return;
    }

    ctx->name = client->origin->host;
    ctx->handler = ngx_guildlog_client_resolved;
    ctx->data = x;
    ctx->timeout = client->resolver_timeout;
    ctx->cancelable = 1;

    x->resolving = ctx;

    if (ngx_resolve_name(ctx) != NGX_OK) {
        x->resolving = NULL;
        ngx_guildlog_client_configured(x, "the name was not resolved");
    }
}


static void
ngx_guildlog_client_resolved(ngx_resolver_ctx_t *ctx)
{
    ngx_guildlog_exchange_t *x = ctx->data;

    ngx_int_t  rc, state;

    state = ctx->state;
    rc = state ? NGX_DECLINED : ngx_guildlog_client_addrs(x, ctx);

    x->resolving = NULL;
    ngx_resolve_name_done(ctx);

    if (rc != NGX_OK) {
        ngx_guildlog_client_configured(x, state ? ngx_resolver_strerror(state)
                                                : "out of memory");
        return;
    }

    ngx_guildlog_client_found(x);
}


static ngx_int_t
ngx_guildlog_client_addrs(ngx_guildlog_exchange_t *x, ngx_resolver_ctx_t *ctx)
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

        ngx_memcpy(addr[i].sockaddr, ctx->addrs[i].sockaddr,
                   addr[i].socklen);
        ngx_inet_set_port(addr[i].sockaddr, x->client->origin->port);

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
ngx_guildlog_client_configured(ngx_guildlog_exchange_t *x, const char *cause)
{
    const ngx_guildlog_origin_t  *origin;

    origin = x->client->origin;

    if (origin->naddrs == 0) {
        ngx_guildlog_client_unreached(x, 0, cause);
        ngx_guildlog_client_end(x, cause);
        return;
    }

    x->addrs = origin->addrs;
    x->naddrs = origin->naddrs;

    ngx_guildlog_client_found(x);
}


/* the one that answered the last time goes first */

static void
ngx_guildlog_client_found(ngx_guildlog_exchange_t *x)
{
    ngx_uint_t              i;
    ngx_guildlog_client_t  *client;

    client = x->client;

    x->first = 0;
    x->tried = 0;

    for (i = 0; client->reached_len && i < x->naddrs; i++) {
        if (ngx_cmp_sockaddr(x->addrs[i].sockaddr, x->addrs[i].socklen,
                             &client->reached.sockaddr, client->reached_len,
                             1)
            == NGX_OK)
        {
            x->first = i;
            break;
        }
    }

    ngx_guildlog_client_connect(x);
}


static void
ngx_guildlog_client_connect(ngx_guildlog_exchange_t *x)
{
    ngx_int_t               rc;
    ngx_addr_t             *addr;
    ngx_connection_t       *c;
    ngx_guildlog_wire_t    *wire;
    ngx_peer_connection_t   pc;

    addr = &x->addrs[(x->first + x->tried) % x->naddrs];

    wire = ngx_guildlog_wire_create(x->client, addr);
    if (wire == NULL) {
        ngx_guildlog_client_end(x, "out of memory");
        return;
    }

    ngx_memzero(&pc, sizeof(ngx_peer_connection_t));

    pc.sockaddr = addr->sockaddr;
    pc.socklen = addr->socklen;
    pc.name = &wire->name;
    pc.get = ngx_event_get_peer;
    pc.log = &wire->log;
    pc.log_error = NGX_ERROR_INFO;

    rc = ngx_event_connect_peer(&pc);

    if (rc == NGX_ERROR) {
        ngx_destroy_pool(wire->pool);
        ngx_guildlog_client_end(x, "no connection is left");
        return;
    }

    if (rc == NGX_BUSY || rc == NGX_DECLINED) {
        x->client->failing = 1;
        ngx_destroy_pool(wire->pool);
        ngx_guildlog_client_lost(x, "the connection was refused");
        return;
    }

    c = pc.connection;
    c->data = wire;
    c->pool = wire->pool;
    c->read->handler = ngx_guildlog_wire_wait;
    c->write->handler = ngx_guildlog_client_connected;

    wire->connection = c;
    wire->exchange = x;
    x->wire = wire;

    ngx_add_timer(c->write, NGX_GUILDLOG_CLIENT_CONNECT);

    if (rc == NGX_OK) {
        ngx_guildlog_client_connected(c->write);
    }
}


static void
ngx_guildlog_client_connected(ngx_event_t *wev)
{
    int                       err;
    socklen_t                 len;
    ngx_connection_t         *c;
    ngx_guildlog_wire_t      *wire;
    ngx_guildlog_exchange_t  *x;

    c = wev->data;
    wire = c->data;
    x = wire->exchange;

    ngx_log_debug0(NGX_LOG_DEBUG_EVENT, wev->log, 0,
                   "guildlog exchange connected");

    if (wev->timedout) {
        ngx_guildlog_client_unreached(x, NGX_ETIMEDOUT, "connect() failed");
        ngx_guildlog_client_lost(x, "no connection in time");
        return;
    }

    err = 0;
    len = sizeof(int);

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, (void *) &err, &len) == -1) {
        err = ngx_socket_errno;
    }

    if (err) {
        ngx_guildlog_client_unreached(x, err, "connect() failed");
        ngx_guildlog_client_lost(x, "the connection was refused");
        return;
    }

    ngx_del_timer(wev);

    if (ngx_tcp_nodelay(c) != NGX_OK) {
        ngx_guildlog_client_lost(x, "the connection was refused");
        return;
    }

    if (x->client->origin->tls) {
        ngx_guildlog_client_secure(x);
        return;
    }

    ngx_guildlog_client_transmit(x);
}


static void
ngx_guildlog_client_secure(ngx_guildlog_exchange_t *x)
{
    ngx_connection_t             *c;
    const ngx_guildlog_origin_t  *origin;

    c = x->wire->connection;
    origin = x->client->origin;

    x->wire->log.action = "in a TLS handshake";

    if (ngx_ssl_create_connection(origin->tls, c, NGX_SSL_CLIENT) != NGX_OK
        || ngx_guildlog_client_expect(c, origin) != NGX_OK)
    {
        ngx_guildlog_client_lost(x, "TLS could not be set up");
        return;
    }

    c->ssl->handler = ngx_guildlog_client_secured;
    ngx_add_timer(c->write, NGX_GUILDLOG_CLIENT_HANDSHAKE);

    if (ngx_ssl_handshake(c) == NGX_AGAIN) {
        return;
    }

    ngx_guildlog_client_secured(c);
}


/* who has to stand in the certificate */

static ngx_int_t
ngx_guildlog_client_expect(ngx_connection_t *c,
    const ngx_guildlog_origin_t *origin)
{
    int                 rc;
    char               *host;
    X509_VERIFY_PARAM  *param;

    host = (char *) origin->host.data;
    param = SSL_get0_param(c->ssl->connection);

    if (origin->dns) {
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
ngx_guildlog_client_secured(ngx_connection_t *c)
{
    long                      rc;
    ngx_guildlog_wire_t      *wire;
    ngx_guildlog_exchange_t  *x;

    wire = c->data;
    x = wire->exchange;

    if (c->read->timedout || c->write->timedout) {
        ngx_guildlog_client_unreached(x, NGX_ETIMEDOUT,
                                      "TLS handshake failed");
        ngx_guildlog_client_lost(x, "no TLS handshake in time");
        return;
    }

    rc = SSL_get_verify_result(c->ssl->connection);

    if (rc != X509_V_OK) {
        ngx_guildlog_client_unreached(x, 0, X509_verify_cert_error_string(rc));
        ngx_guildlog_client_lost(x, "its certificate is not trusted");
        return;
    }

    if (!c->ssl->handshaked) {
        ngx_guildlog_client_unreached(x, 0, "TLS handshake failed");
        ngx_guildlog_client_lost(x, "the TLS handshake failed");
        return;
    }

    ngx_del_timer(c->write);
    ngx_guildlog_client_transmit(x);
}


static void
ngx_guildlog_client_transmit(ngx_guildlog_exchange_t *x)
{
    ngx_connection_t     *c;
    ngx_guildlog_wire_t  *wire;

    wire = x->wire;
    c = wire->connection;

    if (!x->reused) {
        ngx_guildlog_client_reached(x);
    }

    wire->requests++;
    wire->clean = 0;
    wire->log.action = "exchanging messages";

    c->read->handler = ngx_guildlog_client_read;
    c->write->handler = ngx_guildlog_client_write;

    x->request->pos = x->request->start;
    x->written = 0;
    x->answering = 0;

    if (ngx_guildlog_reader_init(&x->reader, x->pool, &x->answer, x->head,
                                 x->get ? NGX_GUILDLOG_CLIENT_BODY_GET
                                        : NGX_GUILDLOG_CLIENT_BODY)
        != NGX_OK)
    {
        ngx_guildlog_client_end(x, "out of memory");
        return;
    }

    /* the first bytes of the answer may have come with the handshake */

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);
    }

    ngx_guildlog_client_write(c->write);
}


static void
ngx_guildlog_client_write(ngx_event_t *wev)
{
    ssize_t                   n;
    ngx_buf_t                *b;
    ngx_connection_t         *c;
    ngx_guildlog_wire_t      *wire;
    ngx_guildlog_exchange_t  *x;

    c = wev->data;
    wire = c->data;
    x = wire->exchange;
    b = x->request;

    while (b->pos < b->last) {

        n = c->send(c, b->pos, ngx_min(b->last - b->pos,
                                       NGX_GUILDLOG_CLIENT_WRITE));

        if (n > 0) {
            b->pos += n;
            x->written = 1;
            x->uncertain = 1;
            continue;
        }

        if (n == NGX_ERROR) {
            c->write->handler = ngx_guildlog_wire_wait;

            if (!x->written) {
                ngx_guildlog_client_lost(x, "the connection was closed");
                return;
            }

            /* why it was closed may stand in an answer yet to be read */

            return;
        }

        if (ngx_handle_write_event(wev, 0) != NGX_OK) {
            ngx_guildlog_client_lost(x, "the socket cannot be watched");
        }

        return;
    }

    wev->handler = ngx_guildlog_wire_wait;

    if (ngx_handle_write_event(wev, 0) != NGX_OK) {
        ngx_guildlog_client_lost(x, "the socket cannot be watched");
    }
}


static void
ngx_guildlog_client_read(ngx_event_t *rev)
{
    u_char                    buf[NGX_GUILDLOG_CLIENT_READ];
    ssize_t                   n;
    ngx_int_t                 rc;
    ngx_uint_t                i;
    ngx_connection_t         *c;
    ngx_guildlog_wire_t      *wire;
    ngx_guildlog_exchange_t  *x;

    c = rev->data;
    wire = c->data;
    x = wire->exchange;

    if (c->close) {
        ngx_guildlog_client_end(x, "nginx waits no longer");
        return;
    }

    for (i = 0; i < NGX_GUILDLOG_CLIENT_READS; i++) {

        n = c->recv(c, buf, NGX_GUILDLOG_CLIENT_READ);

        if (n == NGX_AGAIN) {

            if (ngx_handle_read_event(rev, 0) != NGX_OK) {
                ngx_guildlog_client_lost(x, "the socket cannot be watched");
            }

            return;
        }

        if (n <= 0) {
            ngx_guildlog_client_lost(x, x->answering
                                        ? "it ended in the middle"
                                        : "the connection was closed");
            return;
        }

        if (!x->written) {
            ngx_guildlog_client_lost(x, "it answers what was not asked");
            return;
        }

        x->answering = 1;

        rc = ngx_guildlog_reader_feed(&x->reader, buf, n);

        if (rc == NGX_OK) {
            ngx_guildlog_client_done(x);
            return;
        }

        if (rc == NGX_ERROR) {
            ngx_guildlog_client_end(x, x->answer.cause);
            return;
        }
    }

    ngx_post_event(rev, &ngx_posted_next_events);
}


static void
ngx_guildlog_client_done(ngx_guildlog_exchange_t *x)
{
    ngx_guildlog_wire_t  *wire;

    wire = x->wire;

    if (x->reader.keepalive
        && x->reader.pos == x->reader.last
        && x->request->pos == x->request->last)
    {
        x->wire = NULL;
        wire->exchange = NULL;
        wire->clean = 1;
        ngx_guildlog_wire_keep(wire, ngx_guildlog_client_patience(x));
    }

    ngx_guildlog_client_end(x, NULL);
}


/* how long the connection may be idle: less than the server allows */

static ngx_msec_t
ngx_guildlog_client_patience(ngx_guildlog_exchange_t *x)
{
    u_char           *p, *last;
    ngx_int_t         n;
    const ngx_str_t  *value;

    value = ngx_guildlog_answer_header(&x->answer, "keep-alive");

    if (value == NULL || value->len < sizeof("timeout=0") - 1) {
        return NGX_GUILDLOG_CLIENT_IDLE;
    }

    last = value->data + value->len;
    p = ngx_strlcasestrn(value->data, last, (u_char *) "timeout=",
                         sizeof("timeout=") - 2);
    if (p == NULL) {
        return NGX_GUILDLOG_CLIENT_IDLE;
    }

    p += sizeof("timeout=") - 1;

    for (n = 0; p < last && *p >= '0' && *p <= '9' && n < 3600; p++) {
        n = n * 10 + (*p - '0');
    }

    return ngx_min((ngx_msec_t) ngx_max(n - 1, 0) * 1000,
                   NGX_GUILDLOG_CLIENT_IDLE);
}


/* with its connection; there may be another way */

static void
ngx_guildlog_client_lost(ngx_guildlog_exchange_t *x, const char *cause)
{
    if (x->wire) {
        ngx_guildlog_wire_close(x->wire);
        x->wire = NULL;
    }

    if (x->reused) {

        if (!x->written || (x->idempotent && !x->answering)) {
            ngx_guildlog_client_resolve(x);
            return;
        }

    } else if (!x->written && ++x->tried < x->naddrs) {
        ngx_guildlog_client_connect(x);
        return;
    }

    ngx_guildlog_client_end(x, cause);
}


static void
ngx_guildlog_client_expired(ngx_event_t *ev)
{
    ngx_guildlog_exchange_t *x = ev->data;

    ngx_guildlog_client_end(x, x->resolving ? "no address in time"
                               : x->answering ? "no whole answer in time"
                               : x->written ? "no answer in time"
                                            : "no connection in time");
}


/* without a cause it was answered */

static void
ngx_guildlog_client_end(ngx_guildlog_exchange_t *x, const char *cause)
{
    ngx_guildlog_client_release(x);

    if (cause) {
        x->answer.outcome = x->uncertain ? NGX_GUILDLOG_UNCERTAIN
                                         : NGX_GUILDLOG_UNSENT;
        x->answer.headers.nelts = 0;
        x->answer.body.len = 0;
        x->answer.cause = cause;
    }

    x->answer.time_ms = ngx_current_msec - x->start;

    x->handler(x->data, &x->answer);

    ngx_destroy_pool(x->pool);
}


void
ngx_guildlog_exchange_cancel(ngx_guildlog_exchange_t *exchange)
{
    ngx_guildlog_client_release(exchange);
    ngx_destroy_pool(exchange->pool);
}


/* everything it has but its memory */

static void
ngx_guildlog_client_release(ngx_guildlog_exchange_t *x)
{
    if (x->wire) {
        ngx_guildlog_wire_close(x->wire);
        x->wire = NULL;
    }

    if (x->resolving) {
        ngx_resolve_name_done(x->resolving);
        x->resolving = NULL;
    }

    if (x->begin.posted) {
        ngx_delete_posted_event(&x->begin);
    }

    if (x->deadline.timer_set) {
        ngx_del_timer(&x->deadline);
    }

    ngx_queue_remove(&x->queue);
}


static void
ngx_guildlog_client_reached(ngx_guildlog_exchange_t *x)
{
    ngx_addr_t             *addr;
    ngx_guildlog_client_t  *client;

    client = x->client;
    addr = &x->addrs[(x->first + x->tried) % x->naddrs];

    ngx_memcpy(&client->reached, addr->sockaddr, addr->socklen);
    client->reached_len = addr->socklen;

    x->wire->log.log_level = client->log->log_level;

    if (client->failing) {
        client->failing = 0;
        ngx_log_error(NGX_LOG_NOTICE, client->log, 0,
                      "guildlog platform \"%V\", address %V: reached again",
                      &client->origin->url, &addr->name);
    }
}


static void
ngx_guildlog_client_unreached(ngx_guildlog_exchange_t *x, ngx_err_t err,
    const char *cause)
{
    ngx_uint_t              level;
    ngx_guildlog_client_t  *client;

    client = x->client;

    level = client->failing ? NGX_LOG_INFO : NGX_LOG_ERR;
    client->failing = 1;

    ngx_log_error(level, client->log, err,
                  "guildlog platform \"%V\", address %V: %s",
                  &client->origin->url,
                  x->wire ? &x->wire->name : &client->origin->host, cause);
}


/*
 * While the server is not reached, what nginx says of it was said before:
 * the log is quiet until it is.
 */

static ngx_guildlog_wire_t *
ngx_guildlog_wire_create(ngx_guildlog_client_t *client, ngx_addr_t *addr)
{
    ngx_pool_t           *pool;
    ngx_guildlog_wire_t  *wire;

    pool = ngx_create_pool(1024, client->log);
    if (pool == NULL) {
        return NULL;
    }

    wire = ngx_pcalloc(pool, sizeof(ngx_guildlog_wire_t));
    if (wire == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    wire->client = client;
    wire->pool = pool;
    wire->start = ngx_current_msec;

    wire->name.len = addr->name.len;
    wire->name.data = ngx_pstrdup(pool, &addr->name);

    if (wire->name.data == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    wire->log = *client->log;
    wire->log.handler = ngx_guildlog_wire_log;
    wire->log.data = wire;
    wire->log.action = "connecting";

    if (client->failing) {
        wire->log.log_level = NGX_LOG_ALERT;
    }

    pool->log = &wire->log;

    return wire;
}


static void
ngx_guildlog_wire_keep(ngx_guildlog_wire_t *wire, ngx_msec_t idle_ms)
{
    ngx_queue_t            *q;
    ngx_connection_t       *c;
    ngx_guildlog_client_t  *client;

    c = wire->connection;
    client = wire->client;

    if (ngx_exiting || ngx_terminate
        || client->keepalive == 0
        || idle_ms == 0
        || wire->requests >= NGX_GUILDLOG_CLIENT_REQUESTS
        || ngx_current_msec - wire->start >= NGX_GUILDLOG_CLIENT_AGE)
    {
        ngx_guildlog_wire_close(wire);
        return;
    }

    if (client->nidle == client->keepalive) {
        q = ngx_queue_last(&client->idle);
        ngx_guildlog_wire_close(ngx_queue_data(q, ngx_guildlog_wire_t,
                                               queue));
    }

    ngx_queue_insert_head(&client->idle, &wire->queue);
    client->nidle++;

    wire->log.action = "keeping a connection";

    c->idle = 1;
    c->read->handler = ngx_guildlog_wire_idle;
    c->write->handler = ngx_guildlog_wire_wait;

    ngx_add_timer(c->read, idle_ms);

    if (c->read->ready) {
        ngx_guildlog_wire_idle(c->read);
    }
}


/* TLS may have something to say; anything else ends it */

static void
ngx_guildlog_wire_idle(ngx_event_t *rev)
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

    ngx_guildlog_wire_close(c->data);
}


static void
ngx_guildlog_wire_wait(ngx_event_t *ev)
{
    ngx_connection_t     *c;
    ngx_guildlog_wire_t  *wire;

    c = ev->data;
    wire = c->data;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog wire wait write:%d", ev->write);

    if (c->close && wire->exchange) {
        ngx_guildlog_client_end(wire->exchange, "nginx waits no longer");
    }
}


static void
ngx_guildlog_wire_close(ngx_guildlog_wire_t *wire)
{
    ngx_pool_t        *pool;
    ngx_connection_t  *c;

    c = wire->connection;
    pool = wire->pool;

    if (c->idle) {
        ngx_queue_remove(&wire->queue);
        wire->client->nidle--;
    }

    if (c->ssl) {
        c->ssl->no_wait_shutdown = 1;
        c->timedout = !wire->clean;

        /* what cannot be said at once is not said, or it would not be freed */

        if (ngx_ssl_shutdown(c) == NGX_AGAIN) {
            c->timedout = 1;
            (void) ngx_ssl_shutdown(c);
        }
    }

    ngx_close_connection(c);
    ngx_destroy_pool(pool);
}


static u_char *
ngx_guildlog_wire_log(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char               *p;
    ngx_guildlog_wire_t  *wire;

    wire = log->data;

    p = ngx_snprintf(buf, len, " while %s, guildlog platform \"%V\", "
                               "address: %V",
                     log->action, &wire->client->origin->url, &wire->name);

    return p;
}
