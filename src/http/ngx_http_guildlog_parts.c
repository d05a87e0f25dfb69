
/*
 * An answer in parts.  A part is asked for when the part before it has left,
 * so a slow reader costs one buffer and no connection to the database.
 */

#include "http/ngx_http_guildlog_response.h"


struct ngx_http_guildlog_parts_s {
    u_char                        *start;      /* a part, owned */
    size_t                         size;
    ngx_chain_t                   *free;
    ngx_chain_t                   *busy;
    const char                    *name;       /* in the log */
    ngx_http_guildlog_parts_ask_pt  ask;
};


static void parts_cleanup(void *data);
static ngx_int_t parts_next(ngx_http_guildlog_call_t *call);
static void parts_writer(ngx_http_request_t *r);


ngx_int_t
ngx_http_guildlog_parts_begin(ngx_http_guildlog_call_t *call,
    const char *name, ngx_http_guildlog_parts_ask_pt ask)
{
    ngx_pool_cleanup_t         *cln;
    ngx_http_guildlog_parts_t  *parts;

    cln = ngx_pool_cleanup_add(call->request->pool,
                               sizeof(ngx_http_guildlog_parts_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    parts = cln->data;
    ngx_memzero(parts, sizeof(ngx_http_guildlog_parts_t));

    parts->name = name;
    parts->ask = ask;

    cln->handler = parts_cleanup;
    call->parts = parts;
    call->ctx->call = call;

    return NGX_OK;
}


static void
parts_cleanup(void *data)
{
    ngx_http_guildlog_parts_t *parts = data;

    if (parts->start) {
        ngx_free(parts->start);
    }
}


ngx_int_t
ngx_http_guildlog_parts_fits(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_uint_t status)
{
    switch (status) {

    case NGX_HTTP_OK:
        return NGX_OK;

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_http_guildlog_parts_abort(call, "the token was revoked");

    default:
        (void) ngx_http_guildlog_response_failed(result,
                                               call->route->stmt->name,
                                               call->request->connection->log);
        return ngx_http_guildlog_parts_abort(call, "the database failed");
    }
}


/* the part before has left, so its room may be used again */

u_char *
ngx_http_guildlog_parts_reserve(ngx_http_guildlog_call_t *call, size_t size)
{
    ngx_http_guildlog_parts_t  *parts;

    parts = call->parts;

    if (size <= parts->size) {
        return parts->start;
    }

    if (parts->start) {
        ngx_free(parts->start);
    }

    parts->size = 0;

    parts->start = ngx_alloc(size, call->request->connection->log);
    if (parts->start == NULL) {
        return NULL;
    }

    parts->size = size;

    return parts->start;
}


ngx_int_t
ngx_http_guildlog_parts_send(ngx_http_guildlog_call_t *call, u_char *last,
    ngx_uint_t more)
{
    ngx_int_t                   rc;
    ngx_buf_t                  *b;
    ngx_chain_t                *out;
    ngx_http_request_t         *r;
    ngx_http_guildlog_parts_t  *parts;

    r = call->request;
    parts = call->parts;

    out = ngx_chain_get_free_buf(r->pool, &parts->free);
    if (out == NULL) {
        return NGX_ERROR;
    }

    b = out->buf;

    b->start = parts->start;
    b->pos = parts->start;
    b->last = last;
    b->end = parts->start + parts->size;
    b->tag = (ngx_buf_tag_t) &ngx_http_guildlog_module;
    b->temporary = (b->last != b->pos);
    b->flush = more;
    b->last_buf = (!more && r == r->main);
    b->last_in_chain = !more;

    rc = ngx_http_output_filter(r, out);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog parts: %uz bytes, more %ui, %i",
                   last - parts->start, more, rc);

    if (rc == NGX_ERROR || !more) {
        return rc;
    }

    ngx_chain_update_chains(r->pool, &parts->free, &parts->busy, &out,
                            (ngx_buf_tag_t) &ngx_http_guildlog_module);

    return parts_next(call);
}


/* asks for the next part, or waits until this one has left */

static ngx_int_t
parts_next(ngx_http_guildlog_call_t *call)
{
    ngx_event_t               *wev;
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = call->request;
    wev = r->connection->write;

    if (call->parts->busy == NULL && !r->buffered && !r->postponed
        && !r->connection->buffered)
    {
        if (wev->timer_set && !wev->delayed) {
            ngx_del_timer(wev);
        }

        r->write_event_handler = ngx_http_request_empty_handler;

        return call->parts->ask(call) == NGX_AGAIN ? NGX_BUSY : NGX_ERROR;
    }

    clcf = ngx_http_get_module_loc_conf(r->main, ngx_http_core_module);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog parts: waits for the reader");

    r->write_event_handler = parts_writer;

    if (!wev->delayed) {
        ngx_add_timer(wev, clcf->send_timeout);
    }

    if (ngx_handle_write_event(wev, clcf->send_lowat) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_BUSY;
}


static void
parts_writer(ngx_http_request_t *r)
{
    ngx_int_t                   rc;
    ngx_chain_t                *out;
    ngx_connection_t           *c;
    ngx_http_guildlog_call_t   *call;
    ngx_http_guildlog_parts_t  *parts;

    c = r->connection;
    call = ngx_http_guildlog_call_ctx(r, 0)->call;
    parts = call->parts;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "guildlog parts: the connection is writable");

    if (c->write->timedout) {
        ngx_log_error(NGX_LOG_INFO, c->log, NGX_ETIMEDOUT, "client timed out");
        c->timedout = 1;
        ngx_http_finalize_request(r, NGX_HTTP_REQUEST_TIME_OUT);
        return;
    }

    out = NULL;
    rc = ngx_http_output_filter(r, NULL);

    if (rc != NGX_ERROR) {
        ngx_chain_update_chains(r->pool, &parts->free, &parts->busy, &out,
                                (ngx_buf_tag_t) &ngx_http_guildlog_module);

        rc = parts_next(call);
    }

    if (rc != NGX_BUSY) {
        ngx_http_finalize_request(r, NGX_ERROR);
    }
}


/*
 * It is too late for a status.  nginx closes the connection (resets the stream
 * of HTTP/2) before the end of the answer.  HTTP/1.0 has no mark of the end,
 * so there the connection is reset.
 */

ngx_int_t
ngx_http_guildlog_parts_abort(ngx_http_guildlog_call_t *call, const char *cause)
{
    struct linger        linger;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "%s was cut short: %s", call->parts->name, cause);

    if (r->http_version < NGX_HTTP_VERSION_11) {
        linger.l_onoff = 1;
        linger.l_linger = 0;

        (void) setsockopt(r->connection->fd, SOL_SOCKET, SO_LINGER,
                          (const void *) &linger, sizeof(struct linger));
    }

    return NGX_ERROR;
}
