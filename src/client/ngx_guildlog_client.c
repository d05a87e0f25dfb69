
/*
 * An exchange over HTTP/1.1 gets a connection, sends its request and reads the
 * answer.  It ends in done(), in expired(), or in lost() with its connection;
 * then it may try another one.
 */

#include "client/ngx_guildlog_client_conn.h"
#include "base/ngx_guildlog.h"


#define CLIENT_IDLE      30000              /* ms */

/* bytes: 100 messages of 6,000 characters, of four bytes each */
#define CLIENT_BODY      4194304
#define CLIENT_READ      8192
#define CLIENT_READS     16                 /* an event */

/* one TLS record: the server can read all of it or nothing */
#define CLIENT_WRITE     16384

/* by the form that the platform asks for: a page about the sender, a version */
#define CLIENT_AGENT       "DiscordBot (%V, " NGX_GUILDLOG_VERSION ")"
#define CLIENT_AGENT_PAGE  "guildlog"


static ngx_int_t client_clean(const u_char *p, size_t len, u_char least);
static ngx_buf_t *client_request(ngx_guildlog_client_exchange_t *x,
    const char *method, const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body);
static void client_begin(ngx_event_t *ev);
static void client_transmit(ngx_guildlog_client_exchange_t *x);
static void client_write(ngx_event_t *wev);
static void client_spare(ngx_guildlog_client_exchange_t *x);
static void client_read(ngx_event_t *rev);
static void client_done(ngx_guildlog_client_exchange_t *x);
static ngx_msec_t client_patience(ngx_guildlog_client_exchange_t *x);
static void client_lost(ngx_guildlog_client_exchange_t *x, const char *cause);
static void client_expired(ngx_event_t *ev);
static void client_end(ngx_guildlog_client_exchange_t *x, const char *cause);
static void client_release(ngx_guildlog_client_exchange_t *x);


ngx_guildlog_client_t *
ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_client_url_t *url, ngx_resolver_t *resolver,
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
        ngx_guildlog_client_conn_close(
            ngx_queue_data(q, ngx_guildlog_client_conn_t, queue));
    }

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

    pool = ngx_create_pool(1024, client->log);
    if (pool == NULL) {
        return NULL;
    }

    x = ngx_pcalloc(pool, sizeof(ngx_guildlog_client_exchange_t));
    if (x == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    x->fd = (ngx_socket_t) -1;
    x->client = client;
    x->pool = pool;
    x->handler = handler;
    x->data = data;
    x->ready = client_transmit;
    x->lost = client_lost;
    x->ended = client_end;
    x->start = ngx_current_msec;

    x->get = (ngx_strcmp(method, "GET") == 0);
    x->idempotent = x->get || ngx_strcmp(method, "DELETE") == 0;

    x->request = client_request(x, method, path, authorization, type,
                                body);
    if (x->request == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    x->begin.handler = client_begin;
    x->begin.data = x;
    x->begin.log = client->log;

    x->deadline.handler = client_expired;
    x->deadline.data = x;
    x->deadline.log = client->log;

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

    return b;
}


static void
client_begin(ngx_event_t *ev)
{
    ngx_guildlog_client_exchange_t *x = ev->data;

    ngx_log_debug0(NGX_LOG_DEBUG_EVENT, ev->log, 0, "guildlog exchange begins");

    x->conn = ngx_guildlog_client_conn_take(x->client);

    if (x->conn == NULL) {
        ngx_guildlog_client_conn_find(x);
        return;
    }

    x->conn->exchange = x;
    x->reused = 1;

    client_transmit(x);
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

    /* Race: the process may have been stopped until after the deadline */

    if ((ngx_msec_int_t) (x->deadline.timer.key - ngx_current_msec) <= 0) {
        return;
    }

    if (x->bounded && (ngx_msec_int_t) (x->begin_by - ngx_current_msec) < 0) {

        if (!x->written) {
            client_spare(x);
        }

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
            c->write->handler = ngx_guildlog_client_conn_wait;

            if (!x->written) {
                client_lost(x, "the connection was closed");
                return;
            }

            /* an answer, yet to be read, may say why it was closed */

            return;
        }

        if (ngx_handle_write_event(wev, 0) != NGX_OK) {
            client_lost(x, "the socket cannot be watched");
        }

        return;
    }

    wev->handler = ngx_guildlog_client_conn_wait;

    if (ngx_handle_write_event(wev, 0) != NGX_OK) {
        client_lost(x, "the socket cannot be watched");
    }
}


/* it is too late for this request; the connection serves the next one */

static void
client_spare(ngx_guildlog_client_exchange_t *x)
{
    ngx_guildlog_client_conn_t  *conn;

    conn = x->conn;

    x->conn = NULL;
    conn->exchange = NULL;
    conn->clean = 1;

    ngx_guildlog_client_conn_keep(conn, CLIENT_IDLE);
    client_end(x, "no connection in time");
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
            client_done(x);
            return;
        }

        if (rc == NGX_ERROR) {
            client_end(x, x->response.cause);
            return;
        }
    }

    ngx_post_event(rev, &ngx_posted_next_events);
}


static void
client_done(ngx_guildlog_client_exchange_t *x)
{
    ngx_guildlog_client_conn_t  *conn;

    conn = x->conn;

    if (x->reader.keepalive
        && x->reader.pos == x->reader.last
        && x->request->pos == x->request->last)
    {
        x->conn = NULL;
        conn->exchange = NULL;
        conn->clean = 1;
        ngx_guildlog_client_conn_keep(conn, client_patience(x));
    }

    client_end(x, NULL);
}


/* ms for which the connection may be idle: less than the server allows */

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
        ngx_guildlog_client_conn_close(x->conn);
        x->conn = NULL;
    }

    if (x->reused) {

        if (!x->written || (x->idempotent && !x->answering)) {
            ngx_guildlog_client_conn_find(x);
            return;
        }

    } else if (!x->written && ngx_guildlog_client_conn_next(x) == NGX_OK) {
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
        ngx_guildlog_client_conn_close(x->conn);
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
