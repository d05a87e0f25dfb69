
/*
 * An exchange over HTTP/1.1 gets a connection, sends its request and reads the
 * answer.  It ends with its answer, in expired(), or in lost() with its
 * connection; then it may try another one.
 */

#include <ngx_event_connect.h>
#include "client/ngx_guildlog_client.h"
#include "base/ngx_guildlog.h"


#define CLIENT_IDLE      30000              /* ms */

/* bytes: 100 messages of 6,000 characters, of four bytes each */
#define CLIENT_BODY      4194304
#define CLIENT_READ      8192
#define CLIENT_READS     16                 /* an event */

/* one TLS record: the peer can read all of it or nothing */
#define CLIENT_WRITE     16384

/* by the form that the platform asks for: a page about the sender, a version */
#define CLIENT_AGENT       "DiscordBot (%V, " NGX_GUILDLOG_VERSION ")"
#define CLIENT_AGENT_PAGE  "guildlog"


#define CLIENT_CONN_CONNECT    3000                /* ms */
#define CLIENT_CONN_HANDSHAKE  5000
#define CLIENT_CONN_AGE        3600000
#define CLIENT_CONN_REQUESTS   1000


/*
 * A connection has its own pool and log, since it serves one exchange after
 * the other.  Its exchange owns it; the client owns it while it is idle.
 */

typedef struct {
    ngx_queue_t                    queue;        /* client->idle */
    ngx_guildlog_client_t         *client;
    ngx_guildlog_client_exchange_t  *exchange;   /* NULL: idle */
    ngx_connection_t              *connection;
    ngx_pool_t                    *pool;         /* has this, too */
    ngx_log_t                      log;
    ngx_str_t                      name;         /* its address, for the log */
    ngx_msec_t                     start;
    ngx_uint_t                     requests;

    unsigned                       clean:1;      /* no answer is under way */
} ngx_guildlog_client_conn_t;


struct ngx_guildlog_client_exchange_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* client->exchanges */
    ngx_guildlog_client_t         *client;
    ngx_pool_t                    *pool;         /* has this, too */
    ngx_guildlog_client_handler_pt  handler;
    void                          *data;

    ngx_msec_t                     start;
    ngx_msec_t                     begin_by;     /* if "bounded" */
    ngx_event_t                    begin;
    ngx_event_t                    deadline;

    ngx_resolver_ctx_t            *resolving;
    ngx_addr_t                    *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     first;        /* address to try */
    ngx_uint_t                     tried;

    ngx_guildlog_client_conn_t    *conn;
    ngx_buf_t                     *request;
    ngx_guildlog_client_reader_t   reader;
    ngx_guildlog_client_response_t  response;

    unsigned                       get:1;
    unsigned                       idempotent:1;
    unsigned                       reused:1;     /* its connection was idle */
    unsigned                       written:1;    /* a byte, on conn */
    unsigned                       uncertain:1;  /* a byte, on any of them */
    unsigned                       bounded:1;
    unsigned                       answering:1;  /* a byte came on conn */
};


static ngx_int_t client_clean(const u_char *p, size_t len, u_char least);
static ngx_buf_t *client_request(ngx_guildlog_client_exchange_t *x,
    const char *method, const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body);
static void client_begin(ngx_event_t *ev);
static void client_transmit(ngx_guildlog_client_exchange_t *x);
static void client_write(ngx_event_t *wev);
static void client_read(ngx_event_t *rev);
static ngx_msec_t client_patience(ngx_guildlog_client_exchange_t *x);
static void client_lost(ngx_guildlog_client_exchange_t *x, const char *cause);
static void client_expired(ngx_event_t *ev);
static void client_end(ngx_guildlog_client_exchange_t *x, const char *cause);
static void client_release(ngx_guildlog_client_exchange_t *x);
static void client_conn_find(ngx_guildlog_client_exchange_t *x);
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
static void client_conn_secured(ngx_connection_t *c);
static void client_conn_reached(ngx_guildlog_client_exchange_t *x);
static void client_conn_unreached(ngx_guildlog_client_exchange_t *x,
    ngx_err_t err, const char *cause);
static void client_conn_keep(ngx_guildlog_client_conn_t *conn,
    ngx_msec_t idle_ms);
static void client_conn_idle(ngx_event_t *rev);
static void client_conn_wait(ngx_event_t *ev);
static void client_conn_close(ngx_guildlog_client_conn_t *conn);
static u_char *client_conn_log(ngx_log_t *log, u_char *buf, size_t len);


ngx_guildlog_client_t *
ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_client_url_t *url, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_uint_t keepalive)
{
    ngx_pool_t             *pool;
    ngx_guildlog_client_t  *client;

    client = ngx_guildlog_pool(&pool, 1024, sizeof(ngx_guildlog_client_t),
                               cycle->log);
    if (client == NULL) {
        return NULL;
    }

    client->pool = pool;
    client->log = cycle->log;
    client->url = url;
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
        ngx_guildlog_client_cancel(
            ngx_queue_data(q, ngx_guildlog_client_exchange_t, queue));
    }

    while (!ngx_queue_empty(&client->idle)) {
        q = ngx_queue_head(&client->idle);
        client_conn_close(
            ngx_queue_data(q, ngx_guildlog_client_conn_t, queue));
    }

    ngx_guildlog_assert(client->nidle == 0);

    ngx_destroy_pool(client->pool);
}


ngx_guildlog_client_exchange_t *
ngx_guildlog_client_send(ngx_guildlog_client_t *client, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body, ngx_msec_t deadline_ms,
    ngx_guildlog_client_handler_pt handler, void *data)
{
    ngx_pool_t                      *pool;
    ngx_guildlog_client_exchange_t  *x;

    if (client_clean((u_char *) method, ngx_strlen(method), '!')
            != NGX_OK
        || client_clean(path->data, path->len, '!') != NGX_OK
        || client_clean(authorization->data, authorization->len, ' ')
           != NGX_OK
        || client_clean(type->data, type->len, ' ') != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, client->log, 0,
                      "guildlog platform: a request to be sent has bytes "
                      "that no header may have");
        return NULL;
    }

    x = ngx_guildlog_pool(&pool, 1024, sizeof(ngx_guildlog_client_exchange_t),
                          client->log);
    if (x == NULL) {
        return NULL;
    }

    x->fd = (ngx_socket_t) -1;
    x->client = client;
    x->pool = pool;
    x->handler = handler;
    x->data = data;
    x->start = ngx_current_msec;

    x->get = (ngx_strcmp(method, "GET") == 0);
    x->idempotent = x->get || ngx_strcmp(method, "DELETE") == 0;

    x->request = client_request(x, method, path, authorization, type,
                                body);
    if (x->request == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    ngx_guildlog_event_init(&x->begin, client_begin, x, client->log);

    ngx_guildlog_event_init(&x->deadline, client_expired, x, client->log);

    ngx_queue_insert_tail(&client->exchanges, &x->queue);
    ngx_add_timer(&x->deadline, deadline_ms);
    ngx_post_event(&x->begin, &ngx_posted_next_events);

    return x;
}


static ngx_int_t
client_clean(const u_char *p, size_t len, u_char least)
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
client_request(ngx_guildlog_client_exchange_t *x, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body)
{
    size_t                            size;
    ngx_buf_t                        *b;
    const ngx_str_t                  *agent;
    const ngx_guildlog_client_url_t  *url;

    static const ngx_str_t            unnamed = ngx_string(CLIENT_AGENT_PAGE);

    url = x->client->url;
    agent = url->agent.len ? &url->agent : &unnamed;

    size = ngx_strlen(method) + sizeof(" ") - 1
           + url->path.len + path->len
           + sizeof(" HTTP/1.1" CRLF "Host: " CRLF) - 1
           + url->authority.len
           + sizeof("User-Agent: " CLIENT_AGENT CRLF
                    "Accept: application/json" CRLF) - 1 + agent->len
           + sizeof("Authorization: " CRLF) - 1 + authorization->len
           + sizeof("Content-Type: " CRLF "Content-Length: " CRLF) - 1
           + type->len + NGX_SIZE_T_LEN
           + sizeof(CRLF) - 1
           + body->len;

    b = ngx_create_temp_buf(x->pool, size);
    if (b == NULL) {
        return NULL;
    }

    b->last = ngx_sprintf(b->last,
                          "%s %V%V HTTP/1.1" CRLF
                          "Host: %V" CRLF
                          "User-Agent: " CLIENT_AGENT CRLF
                          "Accept: application/json" CRLF,
                          method, &url->path, path, &url->authority, agent);

    if (authorization->len) {
        b->last = ngx_sprintf(b->last, "Authorization: %V" CRLF, authorization);
    }

    if (body->len) {
        b->last = ngx_sprintf(b->last,
                              "Content-Type: %V" CRLF
                              "Content-Length: %uz" CRLF
                              CRLF
                              "%V", type, body->len, body);

    } else {
        b->last = ngx_sprintf(b->last, x->get ? CRLF
                                              : "Content-Length: 0" CRLF CRLF);
    }

    ngx_guildlog_assert(b->last <= b->end);

    return b;
}


/*
 * What can be read from an idle connection is its end, or bytes that nobody
 * asked for: such a connection is closed.
 */

static void
client_begin(ngx_event_t *ev)
{
    ngx_guildlog_client_exchange_t *x = ev->data;

    u_char                       byte;
    ngx_queue_t                 *q;
    ngx_connection_t            *c;
    ngx_guildlog_client_t       *client;
    ngx_guildlog_client_conn_t  *conn;

    ngx_log_debug0(NGX_LOG_DEBUG_EVENT, ev->log, 0, "guildlog exchange begins");

    client = x->client;

    while (!ngx_queue_empty(&client->idle)) {

        q = ngx_queue_head(&client->idle);
        conn = ngx_queue_data(q, ngx_guildlog_client_conn_t, queue);
        c = conn->connection;

        ngx_guildlog_assert(conn->exchange == NULL && conn->clean && c->idle);

        if (recv(c->fd, &byte, 1, MSG_PEEK) == -1
            && ngx_socket_errno == NGX_EAGAIN)
        {
            ngx_queue_remove(&conn->queue);
            client->nidle--;

            c->idle = 0;
            ngx_del_timer(c->read);

            x->conn = conn;
            conn->exchange = x;
            x->reused = 1;

            client_transmit(x);
            return;
        }

        client_conn_close(conn);
    }

    client_conn_find(x);
}


static void
client_transmit(ngx_guildlog_client_exchange_t *x)
{
    ngx_connection_t            *c;
    ngx_guildlog_client_conn_t  *conn;

    conn = x->conn;
    c = conn->connection;

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, x->client->log, 0,
                   "guildlog exchange sends %uz bytes reused:%d",
                   (size_t) (x->request->last - x->request->start), x->reused);

    conn->requests++;
    conn->clean = 0;
    conn->log.action = "exchanging messages";

    c->read->handler = client_read;
    c->write->handler = client_write;

    x->request->pos = x->request->start;
    x->written = 0;
    x->answering = 0;

    if (ngx_guildlog_client_response_init(&x->reader, x->pool, &x->response,
                                          CLIENT_BODY)
        != NGX_OK)
    {
        client_end(x, "out of memory");
        return;
    }

    /* the first bytes of the answer may have come with the handshake */

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);
    }

    client_write(c->write);
}


static void
client_write(ngx_event_t *wev)
{
    ssize_t                          n;
    ngx_buf_t                       *b;
    ngx_connection_t                *c;
    ngx_guildlog_client_conn_t      *conn;
    ngx_guildlog_client_exchange_t  *x;

    c = wev->data;
    conn = c->data;
    x = conn->exchange;
    b = x->request;

    ngx_guildlog_assert(x->conn == conn && b->pos <= b->last);

    /* Race: the process may have been stopped until after the deadline */

    if ((ngx_msec_int_t) (x->deadline.timer.key - ngx_current_msec) <= 0) {
        return;
    }

    if (x->bounded && (ngx_msec_int_t) (x->begin_by - ngx_current_msec) < 0) {

        if (x->written) {
            return;
        }

        /* it is too late for this request; its connection serves the next */

        client_conn_keep(conn, CLIENT_IDLE);
        client_end(x, "no connection in time");
        return;
    }

    while (b->pos < b->last) {

        n = c->send(c, b->pos, ngx_min(b->last - b->pos, CLIENT_WRITE));

        if (n > 0) {
            b->pos += n;
            x->written = 1;
            x->uncertain = 1;
            continue;
        }

        if (n == NGX_ERROR) {
            c->write->handler = client_conn_wait;

            /* an answer, yet to be read, may say why it was closed */

            if (!x->written) {
                client_lost(x, "the connection was closed");
            }

            return;
        }

        break;
    }

    if (b->pos == b->last) {
        wev->handler = client_conn_wait;
    }

    if (ngx_handle_write_event(wev, 0) != NGX_OK) {
        client_lost(x, "the socket cannot be watched");
    }
}


static void
client_read(ngx_event_t *rev)
{
    u_char                           buf[CLIENT_READ];
    ssize_t                          n;
    ngx_int_t                        rc;
    ngx_uint_t                       i;
    ngx_connection_t                *c;
    ngx_guildlog_client_conn_t      *conn;
    ngx_guildlog_client_exchange_t  *x;

    c = rev->data;
    conn = c->data;
    x = conn->exchange;

    ngx_guildlog_assert(x->conn == conn && !c->idle);

    if (c->close) {
        client_end(x, "nginx waits no longer");
        return;
    }

    for (i = 0; i < CLIENT_READS; i++) {

        n = c->recv(c, buf, CLIENT_READ);

        if (n == NGX_AGAIN) {

            if (ngx_handle_read_event(rev, 0) != NGX_OK) {
                client_lost(x, "the socket cannot be watched");
            }

            return;
        }

        if (n <= 0) {
            client_lost(x, x->answering
                           ? "it ended in the middle"
                           : "the connection was closed");
            return;
        }

        if (!x->written) {
            client_lost(x, "it answers what was not asked");
            return;
        }

        x->answering = 1;

        rc = ngx_guildlog_client_response_feed(&x->reader, buf, n);

        if (rc == NGX_OK) {

            if (x->reader.keepalive
                && x->reader.pos == x->reader.last
                && x->request->pos == x->request->last)
            {
                client_conn_keep(conn, client_patience(x));
            }

            client_end(x, NULL);
            return;
        }

        if (rc == NGX_ERROR) {
            client_end(x, x->response.cause);
            return;
        }
    }

    ngx_post_event(rev, &ngx_posted_next_events);
}


/* ms for which the connection may be idle: less than the peer allows */

static ngx_msec_t
client_patience(ngx_guildlog_client_exchange_t *x)
{
    u_char           *p, *last;
    ngx_int_t         n;
    const ngx_str_t  *value;

    value = ngx_guildlog_client_response_header(&x->response, "keep-alive");

    if (value == NULL || value->len < sizeof("timeout=0") - 1) {
        return CLIENT_IDLE;
    }

    last = value->data + value->len;
    p = ngx_strlcasestrn(value->data, last, (u_char *) "timeout=",
                         sizeof("timeout=") - 2);
    if (p == NULL) {
        return CLIENT_IDLE;
    }

    p += sizeof("timeout=") - 1;

    for (n = 0; p < last && *p >= '0' && *p <= '9' && n < 3600; p++) {
        n = n * 10 + (*p - '0');
    }

    return ngx_min((ngx_msec_t) ngx_max(n - 1, 0) * 1000, CLIENT_IDLE);
}


static void
client_lost(ngx_guildlog_client_exchange_t *x, const char *cause)
{
    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, x->client->log, 0,
                   "guildlog exchange lost its connection reused:%d, %s",
                   x->reused, cause);

    if (x->conn) {
        client_conn_close(x->conn);
        x->conn = NULL;
    }

    if (x->reused) {

        if (!x->written || (x->idempotent && !x->answering)) {
            client_conn_find(x);
            return;
        }

    } else if (!x->written && x->tried + 1 < x->naddrs) {
        x->tried++;
        client_conn_connect(x);
        return;
    }

    client_end(x, cause);
}


static void
client_expired(ngx_event_t *ev)
{
    ngx_guildlog_client_exchange_t *x = ev->data;

    client_end(x, x->resolving ? "no address in time"
                  : x->answering ? "no whole answer in time"
                  : x->written ? "no answer in time"
                               : "no connection in time");
}


static void
client_end(ngx_guildlog_client_exchange_t *x, const char *cause)
{
    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, x->client->log, 0,
                   "guildlog exchange ends status:%ui %s",
                   x->response.status, cause ? cause : "answered");

    ngx_guildlog_assert(cause || (x->uncertain && x->response.status >= 200));

    client_release(x);

    if (cause) {
        x->response.outcome = x->uncertain ? NGX_GUILDLOG_CLIENT_UNCERTAIN
                                         : NGX_GUILDLOG_CLIENT_UNSENT;
        x->response.headers.nelts = 0;
        x->response.body.len = 0;
        x->response.cause = cause;
    }

    x->response.time_ms = ngx_current_msec - x->start;

    x->handler(x->data, &x->response);

    ngx_destroy_pool(x->pool);
}


void
ngx_guildlog_client_begin_by(ngx_guildlog_client_exchange_t *exchange,
    ngx_msec_t moment)
{
    exchange->begin_by = moment;
    exchange->bounded = 1;
}


void
ngx_guildlog_client_cancel(ngx_guildlog_client_exchange_t *exchange)
{
    client_release(exchange);
    ngx_destroy_pool(exchange->pool);
}


/* gives back all that it has but its memory */

static void
client_release(ngx_guildlog_client_exchange_t *x)
{
    if (x->conn) {
        client_conn_close(x->conn);
        x->conn = NULL;
    }

    if (x->resolving) {
        ngx_resolve_name_done(x->resolving);
        x->resolving = NULL;
    }

    ngx_guildlog_event_stop(&x->begin);
    ngx_guildlog_event_stop(&x->deadline);

    ngx_queue_remove(&x->queue);
}


/*
 * A new connection: it finds the peer's address, connects, and does the TLS
 * handshake, which fails unless the certificate is good.  Then the request
 * goes, or the exchange ends.
 */

static void
client_conn_find(ngx_guildlog_client_exchange_t *x)
{
    ngx_resolver_ctx_t     *ctx;
    ngx_guildlog_client_t  *client;

    client = x->client;

    ngx_guildlog_assert(x->conn == NULL && x->resolving == NULL);

    x->reused = 0;
    x->written = 0;

    ctx = NGX_NO_RESOLVER;

    if (client->url->dns && client->resolver) {
        ctx = ngx_resolve_start(client->resolver, NULL);
    }

    if (ctx == NULL || ctx == NGX_NO_RESOLVER) {
        client_conn_configured(x, ctx ? "there is no resolver"
                                      : "out of memory");
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
        client_end(x, cause);
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


static void
client_conn_connect(ngx_guildlog_client_exchange_t *x)
{
    ngx_int_t                    rc;
    ngx_addr_t                  *addr;
    ngx_connection_t            *c;
    ngx_peer_connection_t        pc;
    ngx_guildlog_client_conn_t  *conn;

    ngx_guildlog_assert(x->first < x->naddrs && x->tried < x->naddrs);

    addr = &x->addrs[(x->first + x->tried) % x->naddrs];

    conn = client_conn_create(x->client, addr);
    if (conn == NULL) {
        client_end(x, "out of memory");
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
        client_end(x, "no connection is left");
        return;
    }

    if (rc == NGX_BUSY || rc == NGX_DECLINED) {
        x->client->failing = 1;
        ngx_destroy_pool(conn->pool);
        client_lost(x, "the connection was refused");
        return;
    }

    c = pc.connection;
    c->data = conn;
    c->pool = conn->pool;
    c->read->handler = client_conn_wait;
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
 * While the peer cannot be reached, nginx's messages about each connection
 * would only repeat the first: they are switched off.
 */

static ngx_guildlog_client_conn_t *
client_conn_create(ngx_guildlog_client_t *client, ngx_addr_t *addr)
{
    ngx_pool_t                  *pool;
    ngx_guildlog_client_conn_t  *conn;

    conn = ngx_guildlog_pool(&pool, 1024, sizeof(ngx_guildlog_client_conn_t),
                             client->log);
    if (conn == NULL) {
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
        client_lost(x, "no connection in time");
        return;
    }

    err = 0;
    len = sizeof(int);

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, (void *) &err, &len) == -1) {
        err = ngx_socket_errno;
    }

    if (err) {
        client_conn_unreached(x, err, "connect() failed");
        client_lost(x, "the connection was refused");
        return;
    }

    ngx_del_timer(wev);

    if (ngx_tcp_nodelay(c) != NGX_OK) {
        client_lost(x, "the connection was refused");
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
    int                               rc;
    char                             *host;
    ngx_connection_t                 *c;
    X509_VERIFY_PARAM                *param;
    const ngx_guildlog_client_url_t  *url;

    c = x->conn->connection;
    url = x->client->url;

    x->conn->log.action = "in a TLS handshake";

    if (ngx_ssl_create_connection(url->tls, c, NGX_SSL_CLIENT) != NGX_OK) {
        client_lost(x, "TLS could not be set up");
        return;
    }

    /* the name or address that the certificate must have */

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
        client_lost(x, "TLS could not be set up");
        return;
    }

    c->ssl->handler = client_conn_secured;
    ngx_add_timer(c->write, CLIENT_CONN_HANDSHAKE);

    if (ngx_ssl_handshake(c) == NGX_AGAIN) {
        return;
    }

    client_conn_secured(c);
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
        client_lost(x, "no TLS handshake in time");
        return;
    }

    rc = SSL_get_verify_result(c->ssl->connection);

    if (rc != X509_V_OK) {
        client_conn_unreached(x, 0, X509_verify_cert_error_string(rc));
        client_lost(x, "its certificate is not trusted");
        return;
    }

    if (!c->ssl->handshaked) {
        client_conn_unreached(x, 0, "TLS handshake failed");
        client_lost(x, "the TLS handshake failed");
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

    client_transmit(x);
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


/*
 * Its exchange needs it no longer.  idle_ms: how long it may stay idle; it may
 * be closed at once.
 */

static void
client_conn_keep(ngx_guildlog_client_conn_t *conn, ngx_msec_t idle_ms)
{
    ngx_queue_t            *q;
    ngx_connection_t       *c;
    ngx_guildlog_client_t  *client;

    c = conn->connection;
    client = conn->client;

    /* what was sent of a request is all of it, or nothing */

    ngx_guildlog_assert(!c->idle && conn->exchange->conn == conn);
    ngx_guildlog_assert(!conn->exchange->written
                        || conn->exchange->request->pos
                           == conn->exchange->request->last);

    conn->exchange->conn = NULL;
    conn->exchange = NULL;
    conn->clean = 1;

    if (ngx_exiting || ngx_terminate
        || client->keepalive == 0
        || idle_ms == 0
        || conn->requests >= CLIENT_CONN_REQUESTS
        || ngx_current_msec - conn->start >= CLIENT_CONN_AGE)
    {
        client_conn_close(conn);
        return;
    }

    if (client->nidle == client->keepalive) {
        q = ngx_queue_last(&client->idle);
        client_conn_close(
            ngx_queue_data(q, ngx_guildlog_client_conn_t, queue));
    }

    ngx_queue_insert_head(&client->idle, &conn->queue);
    client->nidle++;

    ngx_guildlog_assert(client->nidle <= client->keepalive);

    conn->log.action = "keeping a connection";

    c->idle = 1;
    c->read->handler = client_conn_idle;
    c->write->handler = client_conn_wait;

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

    client_conn_close(c->data);
}


/* the handler of an event that nobody waits for */

static void
client_conn_wait(ngx_event_t *ev)
{
    ngx_connection_t            *c;
    ngx_guildlog_client_conn_t  *conn;

    c = ev->data;
    conn = c->data;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog conn wait write:%d", ev->write);

    if (c->close && conn->exchange) {
        client_end(conn->exchange, "nginx waits no longer");
    }
}


static void
client_conn_close(ngx_guildlog_client_conn_t *conn)
{
    ngx_pool_t        *pool;
    ngx_connection_t  *c;

    c = conn->connection;
    pool = conn->pool;

    if (c->idle) {
        ngx_guildlog_assert(conn->exchange == NULL && conn->client->nidle > 0);

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
    ngx_guildlog_client_conn_t  *conn;

    conn = log->data;

    return ngx_snprintf(buf, len, " while %s, guildlog platform \"%V\", "
                        "address: %V",
                        log->action, &conn->client->url->text, &conn->name);
}
