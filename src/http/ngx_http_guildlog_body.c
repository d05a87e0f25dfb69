
/*
 * The body of a request: read in pieces that are bounded here, held against
 * the rules of its endpoint, and made the last argument of the statement.
 */

#include "http/ngx_http_guildlog.h"


/* bytes of entries in one turn, a few ms: others wait for that */
#define NGX_HTTP_GUILDLOG_TURN  (128 * 1024)


static ngx_int_t ngx_http_guildlog_check_type(
    ngx_http_guildlog_call_t *call);
static ngx_uint_t ngx_http_guildlog_is_type(ngx_http_request_t *r,
    const ngx_str_t *expected);
static void ngx_http_guildlog_read_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_guildlog_read_more(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_take(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_body(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_entries(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_read_entries(
    ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_yield(ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_yield_cleanup(void *data);
static void ngx_http_guildlog_turn_handler(ngx_event_t *ev);


static const ngx_str_t  ngx_http_guildlog_ndjson =
    ngx_string("application/x-ndjson");


ngx_int_t
ngx_http_guildlog_read_body(ngx_http_guildlog_call_t *call)
{
    off_t                n;
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    n = r->headers_in.content_length_n;

    if (n > (off_t) call->conf->max_body) {
        return ngx_http_guildlog_refuse(call,
                                        NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
                                        NULL);
    }

    if ((n > 0 || r->headers_in.chunked)
        && ngx_http_guildlog_check_type(call) != NGX_OK)
    {
        return ngx_http_guildlog_refuse(call,
                                        NGX_HTTP_UNSUPPORTED_MEDIA_TYPE,
                                        NULL);
    }

    call->body_size = n > 0 ? (size_t) n : 1024;
    call->body.data = ngx_pnalloc(r->pool, call->body_size);

    if (call->body.data == NULL) {
        return NGX_ERROR;
    }

    call->ctx->call = call;

    /*
     * nginx would hold a body against client_max_body_size, which is not of
     * the endpoint, and might put it into a file; taking the pieces as they
     * come bounds it here.
     */

    r->request_body_no_buffering = 1;

    rc = ngx_http_read_client_request_body(r,
                                           ngx_http_guildlog_read_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        r->keepalive = 0;
        return ngx_http_guildlog_refuse(call, rc, NULL);
    }

    /* the reference taken for the body is the one the query goes on with */

    return NGX_AGAIN;
}


static ngx_int_t
ngx_http_guildlog_check_type(ngx_http_guildlog_call_t *call)
{
    static const ngx_str_t  json = ngx_string("application/json");

    if (ngx_http_guildlog_is_type(call->request, &json)) {
        return NGX_OK;
    }

    if ((call->route->flags & NGX_GUILDLOG_ROUTE_ENTRIES)
        && ngx_http_guildlog_is_type(call->request,
                                     &ngx_http_guildlog_ndjson))
    {
        return NGX_OK;
    }

    return NGX_DECLINED;
}


static ngx_uint_t
ngx_http_guildlog_is_type(ngx_http_request_t *r, const ngx_str_t *expected)
{
    u_char     *p, *last;
    ngx_str_t  *type;

    if (r->headers_in.content_type == NULL) {
        return 0;
    }

    type = &r->headers_in.content_type->value;

    if (type->len < expected->len
        || ngx_strncasecmp(type->data, expected->data, expected->len) != 0)
    {
        return 0;
    }

    p = type->data + expected->len;
    last = type->data + type->len;

    while (p < last && (*p == ' ' || *p == '\t')) {
        p++;
    }

    return p == last || *p == ';';
}


static void
ngx_http_guildlog_read_handler(ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_http_guildlog_call_t  *call;

    call = ngx_http_guildlog_get_ctx(r, 0)->call;

    rc = ngx_http_guildlog_read_more(call);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_OK) {
        rc = ngx_http_guildlog_body(call);
    }

    if (rc != NGX_AGAIN) {
        rc = ngx_http_guildlog_never_empty(r, rc == NGX_DONE ? NGX_OK : rc);
        ngx_http_finalize_request(r, rc);
    }
}


static ngx_int_t
ngx_http_guildlog_read_more(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    for ( ;; ) {

        rc = ngx_http_guildlog_take(call);

        if (rc != NGX_OK) {
            return rc;
        }

        if (!r->reading_body) {
            return NGX_OK;
        }

        rc = ngx_http_read_unbuffered_request_body(r);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return ngx_http_guildlog_refuse(call, rc, NULL);
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_AGAIN && r->request_body->bufs == NULL) {
            r->read_event_handler = ngx_http_guildlog_read_handler;
            return NGX_AGAIN;
        }
    }
}


/*
 * Copies what has come of the body.  A body read by somebody else (an
 * internal redirect, a mirror) may be in a file, and stays as it is; of one
 * read here, nginx gets its buffers back.
 */

static ngx_int_t
ngx_http_guildlog_take(ngx_http_guildlog_call_t *call)
{
    size_t               n, size;
    u_char              *p;
    ngx_buf_t           *b;
    ngx_chain_t         *cl;
    ngx_http_request_t  *r;

    r = call->request;

    if (r->request_body == NULL) {
        return NGX_OK;
    }

    for (cl = r->request_body->bufs; cl; cl = cl->next) {

        b = cl->buf;
        n = ngx_buf_size(b);

        if (n == 0) {
            continue;
        }

        if (call->body.len + n > call->conf->max_body) {
            return ngx_http_guildlog_refuse(call,
                                            NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
                                            NULL);
        }

        if (call->body.len + n > call->body_size) {
            size = ngx_max(call->body_size * 2, call->body.len + n);

            p = ngx_pnalloc(r->pool, size);
            if (p == NULL) {
                return NGX_ERROR;
            }

            ngx_memcpy(p, call->body.data, call->body.len);
            ngx_pfree(r->pool, call->body.data);

            call->body.data = p;
            call->body_size = size;
        }

        p = call->body.data + call->body.len;

        if (ngx_buf_in_memory(b)) {
            ngx_memcpy(p, b->pos, n);

        } else if (ngx_read_file(b->file, p, n, b->file_pos) != (ssize_t) n) {
            return NGX_ERROR;
        }

        call->body.len += n;

        if (r->request_body_no_buffering) {
            b->pos = b->last;
        }
    }

    if (r->request_body_no_buffering) {
        r->request_body->bufs = NULL;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_guildlog_body(ngx_http_guildlog_call_t *call)
{
    json_t     *json;
    ngx_int_t   rc;
    ngx_str_t   error;

    static const ngx_str_t  missing =
        ngx_string("body: must be a JSON object");

    if (call->route->flags & NGX_GUILDLOG_ROUTE_ENTRIES) {
        return ngx_http_guildlog_entries(call);
    }

    if (call->body.len == 0
        && (call->route->flags & NGX_GUILDLOG_ROUTE_BODILESS))
    {
        ngx_str_set(&call->body, "{}");
    }

    if (call->body.len == 0) {
        return ngx_http_guildlog_refuse(call, NGX_HTTP_BAD_REQUEST,
                                        &missing);
    }

    json = ngx_guildlog_json_parse(call->request->pool, &call->body, &error);

    if (json) {
        rc = ngx_guildlog_route_body(call->request->pool, call->route, json,
                                     &error);
    } else {
        rc = error.len ? NGX_DECLINED : NGX_ERROR;
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_guildlog_refuse(call, NGX_HTTP_BAD_REQUEST, &error);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    call->args[call->nargs++] = call->body;

    return ngx_http_guildlog_start(call);
}


/* a body that begins as an object does is a line, whatever its type says */

static ngx_int_t
ngx_http_guildlog_entries(ngx_http_guildlog_call_t *call)
{
    u_char               *p, *last;
    ngx_uint_t            ndjson;
    ngx_http_request_t   *r;

    r = call->request;

    last = call->body.data + call->body.len;
    p = ngx_guildlog_json_skip(call->body.data, last);

    ndjson = (p < last && *p == '{')
             || ngx_http_guildlog_is_type(r, &ngx_http_guildlog_ndjson);

    call->batch = ngx_guildlog_batch_create(r->pool, &call->body, ndjson,
                                            call->guild.len == 0);
    if (call->batch == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_read_entries(call);
}


static ngx_int_t
ngx_http_guildlog_read_entries(ngx_http_guildlog_call_t *call)
{
    ngx_int_t  rc;
    ngx_str_t  error;

    rc = ngx_guildlog_batch_read(call->batch, NGX_HTTP_GUILDLOG_TURN,
                                 &call->args[call->nargs], &error);

    if (rc == NGX_AGAIN) {
        return ngx_http_guildlog_yield(call);
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_guildlog_refuse(call, NGX_HTTP_BAD_REQUEST, &error);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    call->nargs += ngx_guildlog_batch_nargs(call->guild.len == 0);

    return ngx_http_guildlog_start(call);
}


/* the others first */

static ngx_int_t
ngx_http_guildlog_yield(ngx_http_guildlog_call_t *call)
{
    ngx_http_request_t  *r;
    ngx_http_cleanup_t  *cln;

    if (call->turn.handler == NULL) {
        r = call->request;

        cln = ngx_http_cleanup_add(r, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        cln->handler = ngx_http_guildlog_yield_cleanup;
        cln->data = call;

        call->fd = r->connection->fd;

        call->turn.handler = ngx_http_guildlog_turn_handler;
        call->turn.data = call;
        call->turn.log = r->connection->log;

        r->read_event_handler = ngx_http_test_reading;
    }

    /*
     * A timer of 0 ms would be over in this turn of the event loop.  But one
     * there is: a worker that is to exit waits for those, and nothing else.
     */

    ngx_add_timer(&call->turn, 1);
    ngx_post_event(&call->turn, &ngx_posted_next_events);

    return NGX_AGAIN;
}


static void
ngx_http_guildlog_yield_cleanup(void *data)
{
    ngx_http_guildlog_call_t *call = data;

    if (call->turn.timer_set) {
        ngx_del_timer(&call->turn);
    }

    if (call->turn.posted) {
        ngx_delete_posted_event(&call->turn);
    }
}


static void
ngx_http_guildlog_turn_handler(ngx_event_t *ev)
{
    ngx_http_guildlog_call_t *call = ev->data;

    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_http_guildlog_yield_cleanup(call);
    ngx_http_set_log_request(r->connection->log, r);

    rc = ngx_http_guildlog_read_entries(call);

    ngx_http_guildlog_finish(r, rc == NGX_AGAIN ? NGX_BUSY
                                : rc == NGX_DONE ? NGX_OK : rc);
}
