
/*
 * Every answer: JSON, errors, and what a result of the database means to the
 * caller.
 */

#include "http/ngx_http_guildlog_response.h"
#include "api/ngx_guildlog_value.h"


static ngx_int_t response_send_row(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t response_send_revoked(ngx_http_guildlog_call_t *call);
static ngx_int_t response_send_refusal(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t response_send_failure(ngx_http_request_t *r,
    ngx_uint_t status);
static ngx_int_t response_flush(ngx_http_guildlog_call_t *call,
    ngx_chain_t *out);
static void response_writer(ngx_http_request_t *r);


ngx_int_t
ngx_http_guildlog_response_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_uint_t  status;

    switch (result->outcome) {

    case NGX_GUILDLOG_DB_ROWS:
        return response_send_row(call, result);

    case NGX_GUILDLOG_DB_REFUSED:
        return response_send_refusal(call, result);

    case NGX_GUILDLOG_DB_TIMEOUT:
        status = NGX_HTTP_INTERNAL_SERVER_ERROR;
        break;

    case NGX_GUILDLOG_DB_SHARE_TAKEN:
        status = NGX_HTTP_TOO_MANY_REQUESTS;
        break;

    default: /* NGX_GUILDLOG_DB_UNAVAILABLE, NGX_GUILDLOG_DB_QUEUE_FULL */
        status = NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    return response_send_failure(call->request, status);
}


static ngx_int_t
response_send_row(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    int64_t              taken;
    ngx_str_t            body;
    ngx_uint_t           status;
    ngx_http_request_t  *r;

    r = call->request;

    status = ngx_http_guildlog_response_row_status(result);

    if (status == 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "\"%s\" returned no status: %ui rows of %ui columns",
                      call->route->stmt->name, result->rows, result->columns);
        return response_send_failure(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }

    /* the token, or what is asked for, may not have come to the standby */

    if (call->standby && status >= NGX_HTTP_BAD_REQUEST) {
        return ngx_http_guildlog_call_primary(call, result);
    }

    if (status == NGX_HTTP_UNAUTHORIZED) {
        return response_send_revoked(call);
    }

    if (ngx_guildlog_db_result_retain(result, r->pool) != NGX_OK) {
        return NGX_ERROR;
    }

    if (call->route->flags & NGX_GUILDLOG_ROUTE_TAKES) {
        taken = ngx_guildlog_db_result_number(result, 0, 2);
        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_TAKEN_BACK,
                                 ngx_max(taken, 0));
    }

    body = ngx_guildlog_db_result_value(result, 0, 1);

    return body.data ? ngx_http_guildlog_response_json(r, status, &body)
                     : ngx_http_guildlog_response_error(r, status, NULL);
}


ngx_uint_t
ngx_http_guildlog_response_row_status(ngx_guildlog_db_result_t *result)
{
    int64_t  status;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1
        || result->columns < 2)
    {
        return 0;
    }

    status = ngx_guildlog_db_result_number(result, 0, 0);

    return (status < NGX_HTTP_OK || status > 599) ? 0 : (ngx_uint_t) status;
}


ngx_uint_t
ngx_http_guildlog_response_has_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_int_t *rc)
{
    ngx_uint_t  status;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        *rc = ngx_http_guildlog_response_result(call, result);
        return 0;
    }

    status = ngx_http_guildlog_response_log_status(result);

    if (status == NGX_HTTP_OK) {
        return 1;
    }

    if (call->standby) {
        *rc = ngx_http_guildlog_call_primary(call, result);
        return 0;
    }

    if (status == NGX_HTTP_UNAUTHORIZED) {
        *rc = response_send_revoked(call);
        return 0;
    }

    ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                  "\"%s\" returned no head", call->route->stmt->name);

    *rc = response_send_failure(call->request, NGX_HTTP_INTERNAL_SERVER_ERROR);
    return 0;
}


ngx_uint_t
ngx_http_guildlog_response_log_status(ngx_guildlog_db_result_t *result)
{
    int64_t  status;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows == 0
        || result->columns < NGX_HTTP_GUILDLOG_LOG_HEAD)
    {
        return 0;
    }

    status = ngx_http_guildlog_log_number(result, 0, ID);

    return status == NGX_ERROR ? 0 : (ngx_uint_t) status;
}


/* the token is ours, but the database says that it was revoked */

static ngx_int_t
response_send_revoked(ngx_http_guildlog_call_t *call)
{
    call->ctx->cause = NGX_GUILDLOG_AUTH_REVOKED;

    (void) ngx_atomic_fetch_add(&ngx_http_guildlog_worker.stats.shared
                                 ->auth[NGX_GUILDLOG_AUTH_REVOKED], 1);

    if (ngx_http_guildlog_response_challenge(call->request, call->ctx)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_error(call->request,
                                            NGX_HTTP_UNAUTHORIZED, NULL);
}


ngx_int_t
ngx_http_guildlog_response_challenge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx)
{
    ngx_table_elt_t  *h;

    static const ngx_str_t  plain = ngx_string("Bearer realm=\"guildlog\"");
    static const ngx_str_t  invalid =
        ngx_string("Bearer realm=\"guildlog\", error=\"invalid_token\"");

    h = ngx_http_guildlog_response_header_set(r, "WWW-Authenticate",
                                     ctx->cause == NGX_GUILDLOG_AUTH_MISSING
                                     ? &plain : &invalid);
    if (h == NULL) {
        return NGX_ERROR;
    }

    r->headers_out.www_authenticate = h;

    return NGX_OK;
}


/*
 * SQLSTATEs of class GL are raised by our functions: the other three digits
 * are the status, and the message is for the caller.
 */

static ngx_int_t
response_send_refusal(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t            status;
    ngx_http_request_t  *r;

    r = call->request;

    if (result->fault == NGX_GUILDLOG_DB_FAULT_SAID) {
        status = ngx_atoi((u_char *) result->sqlstate + 2, 3);

        if (status == NGX_HTTP_TOO_MANY_REQUESTS
            && ngx_http_guildlog_response_header(r, "Retry-After", "60")
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (status >= NGX_HTTP_BAD_REQUEST) {
            return ngx_http_guildlog_response_error(r, status,
                                                    &result->message);
        }
    }

    return response_send_failure(r,
                 ngx_http_guildlog_response_failed(result,
                                                   call->route->stmt->name,
                                                   r->connection->log));
}


ngx_uint_t
ngx_http_guildlog_response_failed(ngx_guildlog_db_result_t *result,
    const char *name, ngx_log_t *log)
{
    if (result->outcome != NGX_GUILDLOG_DB_REFUSED) {
        return 0;
    }

    ngx_log_error(NGX_LOG_ERR, log, 0, "\"%s\" failed, SQLSTATE %s: %V",
                  name, result->sqlstate, &result->message);

    switch (result->fault) {

    case NGX_GUILDLOG_DB_FAULT_TAKEN:
        return NGX_HTTP_TOO_MANY_REQUESTS;

    case NGX_GUILDLOG_DB_FAULT_LOST:
    case NGX_GUILDLOG_DB_FAULT_AWAY:
        return NGX_HTTP_SERVICE_UNAVAILABLE;

    default:
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


static ngx_int_t
response_send_failure(ngx_http_request_t *r, ngx_uint_t status)
{
    static const ngx_str_t  unavailable =
        ngx_string("the database is not available, try again later");
    static const ngx_str_t  taken =
        ngx_string("too many requests of this server at once, "
                   "try again later");
    static const ngx_str_t  failed =
        ngx_string("the request could not be carried out, try again later");

    if (status == NGX_HTTP_INTERNAL_SERVER_ERROR) {
        return ngx_http_guildlog_response_error(r, status, &failed);
    }

    if (ngx_http_guildlog_response_header(r, "Retry-After", "1") != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_error(r, status,
                                      status == NGX_HTTP_TOO_MANY_REQUESTS
                                      ? &taken : &unavailable);
}


ngx_int_t
ngx_http_guildlog_response_final(ngx_http_request_t *r, ngx_int_t rc)
{
    if (rc == NGX_DONE) {
        return NGX_OK;
    }

    if (rc != NGX_ERROR || r->header_sent) {
        return rc;
    }

    /* how much of the body has been read is not known */

    r->keepalive = 0;

    /* nginx: set before what chunks need is allocated, and never taken back */

    r->chunked = 0;

    return response_send_failure(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
}


ngx_int_t
ngx_http_guildlog_response_error(ngx_http_request_t *r, ngx_uint_t status,
    const ngx_str_t *error)
{
    ngx_str_t            body;
    ngx_guildlog_json_t  w;

    static const ngx_str_t  none = ngx_string("{}");

    if (error == NULL || error->len == 0) {
        return ngx_http_guildlog_response_json(r, status, &none);
    }

    ngx_guildlog_json_init(&w, r->pool, 2 * error->len + 128);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_refusal_write(&w, error);
    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &body) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(r, status, &body);
}


ngx_int_t
ngx_http_guildlog_response_json(ngx_http_request_t *r, ngx_uint_t status,
    const ngx_str_t *body)
{
    return ngx_http_guildlog_response_send(r, status, "application/json", body);
}


ngx_int_t
ngx_http_guildlog_response_send(ngx_http_request_t *r, ngx_uint_t status,
    const char *type, const ngx_str_t *body)
{
    ngx_int_t     rc;
    ngx_buf_t    *b;
    ngx_chain_t   out;

    static const ngx_str_t  nothing = ngx_string("");

    body = body ? body : &nothing;

    rc = ngx_http_guildlog_response_head(r, status, type, body->len);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = body->data;
    b->last = body->data + body->len;
    b->memory = (body->len != 0);
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    rc = ngx_http_output_filter(r, &out);

    return rc == NGX_AGAIN ? NGX_OK : rc;
}


ngx_int_t
ngx_http_guildlog_response_head(ngx_http_request_t *r, ngx_uint_t status,
    const char *type, off_t length)
{
    ngx_int_t                 rc;
    const ngx_str_t          *store;
    ngx_http_guildlog_ctx_t  *ctx;

    static const ngx_str_t  no_store = ngx_string("no-store");
    static const ngx_str_t  no_cache = ngx_string("private, no-cache");

    ngx_guildlog_assert(!r->header_sent);

    /* this status counts, not the one that led to an error_page */

    r->err_status = 0;

    /* with If-Match and the like nginx would answer 412, in HTML, or 304 */

    r->disable_not_modified = 1;

    /* nginx closes where a body is unread: "Connection: close" tells it */

    if (r->reading_body) {
        r->keepalive = 0;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog answers %ui, length %O", status, length);

    r->headers_out.status = status;
    r->headers_out.content_type = ngx_guildlog_word(type);
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    r->headers_out.content_length_n = length;

    /* what has a validator may be kept, and is asked for each time */

    store = r->headers_out.etag ? &no_cache : &no_store;

    if (ngx_http_guildlog_response_header_set(r, "Cache-Control", store)
        == NULL)
    {
        return NGX_ERROR;
    }

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx && ctx->stale
        && ngx_http_guildlog_response_header(r, "Guildlog-Lag", "%ui",
                                             ctx->lag / 1000)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (status == NGX_HTTP_NO_CONTENT || status == NGX_HTTP_NOT_MODIFIED) {
        r->header_only = 1;
        ngx_str_null(&r->headers_out.content_type);
        ngx_http_clear_content_length(r);
    }

    rc = ngx_http_send_header(r);

    /* NGX_AGAIN: nginx sends the rest, whatever the request is finalized by */

    return rc == NGX_AGAIN ? NGX_OK : rc;
}


ngx_table_elt_t *
ngx_http_guildlog_response_header_set(ngx_http_request_t *r, const char *name,
    const ngx_str_t *value)
{
    size_t            len;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    len = ngx_strlen(name);

    for (part = &r->headers_out.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (h[i].hash && h[i].key.len == len
                && ngx_strncmp(h[i].key.data, name, len) == 0)
            {
                h[i].value = *value;
                return &h[i];
            }
        }
    }

    return ngx_http_guildlog_response_header_add(r, name, value);
}


ngx_table_elt_t *
ngx_http_guildlog_response_header_add(ngx_http_request_t *r, const char *name,
    const ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NULL;
    }

    h->hash = 1;
    h->key = ngx_guildlog_word(name);
    h->value = *value;
    h->lowcase_key = NULL;

#if (nginx_version >= 1023000)
    h->next = NULL;
#endif

    return h;
}


ngx_int_t
ngx_http_guildlog_response_header(ngx_http_request_t *r, const char *name,
    const char *fmt, ...)
{
    va_list    args;
    ngx_int_t  rc;
    ngx_str_t  value;

    va_start(args, fmt);
    rc = ngx_guildlog_vprint(r->pool, &value, fmt, args);
    va_end(args);

    return rc == NGX_OK
           && ngx_http_guildlog_response_header_set(r, name, &value)
           ? NGX_OK : NGX_ERROR;
}


/*
 * What stands behind the header, piece by piece: a part of an export, events of
 * a live tail.  The next one comes when the reader has taken this one.
 */

ngx_int_t
ngx_http_guildlog_response_write(ngx_http_guildlog_call_t *call, u_char *start,
    u_char *last, ngx_uint_t more)
{
    ngx_buf_t           *b;
    ngx_chain_t         *out;
    ngx_http_request_t  *r;

    r = call->request;

    out = ngx_chain_get_free_buf(r->pool, &call->free);
    if (out == NULL) {
        return NGX_ERROR;
    }

    b = out->buf;

    b->start = start;
    b->pos = start;
    b->last = last;
    b->end = last;
    b->tag = (ngx_buf_tag_t) &ngx_http_guildlog_module;
    b->memory = (last != start);
    b->flush = more;
    b->last_buf = (!more && r == r->main);
    b->last_in_chain = !more;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog writes %uz bytes, more %ui", last - start, more);

    if (more) {
        return response_flush(call, out);
    }

    return ngx_http_output_filter(r, out) == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/* goes on, or waits until all has left */

static ngx_int_t
response_flush(ngx_http_guildlog_call_t *call, ngx_chain_t *out)
{
    ngx_event_t               *wev;
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = call->request;
    wev = r->connection->write;

    if (ngx_http_output_filter(r, out) == NGX_ERROR) {
        return NGX_ERROR;
    }

    ngx_chain_update_chains(r->pool, &call->free, &call->busy, &out,
                            (ngx_buf_tag_t) &ngx_http_guildlog_module);

    if (call->busy == NULL && !r->buffered && !r->postponed
        && !r->connection->buffered)
    {
        if (wev->timer_set && !wev->delayed) {
            ngx_del_timer(wev);
        }

        r->write_event_handler = ngx_http_request_empty_handler;

        return call->left(call);
    }

    clcf = ngx_http_get_module_loc_conf(r->main, ngx_http_core_module);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog waits for the reader");

    r->write_event_handler = response_writer;

    if (!wev->delayed) {
        ngx_add_timer(wev, clcf->send_timeout);
    }

    if (ngx_handle_write_event(wev, clcf->send_lowat) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


static void
response_writer(ngx_http_request_t *r)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "guildlog: the reader takes more");

    if (c->write->timedout) {
        ngx_log_error(NGX_LOG_INFO, c->log, NGX_ETIMEDOUT, "client timed out");
        c->timedout = 1;
        ngx_http_finalize_request(r, NGX_HTTP_REQUEST_TIME_OUT);
        return;
    }

    if (response_flush(ngx_http_guildlog_call_ctx(r, 0)->call, NULL)
        != NGX_AGAIN)
    {
        ngx_http_finalize_request(r, NGX_ERROR);
    }
}
