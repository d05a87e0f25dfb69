
/*
 * Reading the body of a request, in pieces that are bounded here.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


static ngx_uint_t body_is_type(ngx_http_request_t *r,
    const ngx_str_t *expected);
static void body_read_handler(ngx_http_request_t *r);
static ngx_int_t body_read_more(ngx_http_guildlog_call_t *call);
static ngx_int_t body_take(ngx_http_guildlog_call_t *call);


ngx_int_t
ngx_http_guildlog_body_read(ngx_http_guildlog_call_t *call)
{
    off_t                n;
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    static const ngx_str_t  json = ngx_string("application/json");

    r = call->request;

    n = r->headers_in.content_length_n;

    if (n > (off_t) call->conf->max_body) {
        return ngx_http_guildlog_call_refuse(call,
                                             NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
                                             NULL);
    }

    if ((n > 0 || r->headers_in.chunked)
        && !body_is_type(r, &json)
        && !(call->route->kind == NGX_GUILDLOG_RECORD
             && ngx_http_guildlog_body_is_ndjson(r)))
    {
        return ngx_http_guildlog_call_refuse(call,
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
     * nginx would compare the body with client_max_body_size instead of
     * guildlog_max_body, and could write it into a file.  Here the pieces are
     * taken as they come, and counted.
     */

    r->request_body_no_buffering = 1;

    rc = ngx_http_read_client_request_body(r, body_read_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        r->keepalive = 0;
        return ngx_http_guildlog_call_refuse(call, rc, NULL);
    }

    /* the query keeps the reference that was taken for the body */

    return NGX_AGAIN;
}


static ngx_uint_t
body_is_type(ngx_http_request_t *r, const ngx_str_t *expected)
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


ngx_uint_t
ngx_http_guildlog_body_is_ndjson(ngx_http_request_t *r)
{
    static const ngx_str_t  ndjson = ngx_string("application/x-ndjson");

    return body_is_type(r, &ndjson);
}


static void
body_read_handler(ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_http_guildlog_call_t  *call;

    call = ngx_http_guildlog_call_ctx(r, 0)->call;

    rc = body_read_more(call);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog body: %uz bytes, %i", call->body.len, rc);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_OK) {
        rc = call->endpoint->bound(call);
    }

    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, ngx_http_guildlog_response_final(r, rc));
    }
}


static ngx_int_t
body_read_more(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    for ( ;; ) {

        rc = body_take(call);

        if (rc != NGX_OK) {
            return rc;
        }

        if (!r->reading_body) {
            return NGX_OK;
        }

        rc = ngx_http_read_unbuffered_request_body(r);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return ngx_http_guildlog_call_refuse(call, rc, NULL);
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_AGAIN && r->request_body->bufs == NULL) {
            r->read_event_handler = body_read_handler;
            return NGX_AGAIN;
        }
    }
}


/*
 * Copies the pieces that have come.  A body that another module has read
 * (before an internal redirect, for a mirror) may be in a file, and is left as
 * it is.  The buffers of a body that is read here go back to nginx.
 */

static ngx_int_t
body_take(ngx_http_guildlog_call_t *call)
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
            return ngx_http_guildlog_call_refuse(call,
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
