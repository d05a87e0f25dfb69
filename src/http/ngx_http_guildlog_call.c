
/*
 * A request at a plane of ours, from the statement to the end.  Every endpoint
 * uses this; nothing here knows a certain endpoint.
 */

#include "http/ngx_http_guildlog_response.h"


static void ngx_http_guildlog_ctx_cleanup(void *data);
static void ngx_http_guildlog_done(void *data,
    ngx_guildlog_db_result_t *result);


/* the context outlives internal redirects, which wipe r->ctx */

ngx_http_guildlog_ctx_t *
ngx_http_guildlog_call_ctx(ngx_http_request_t *r, ngx_uint_t create)
{
    ngx_pool_cleanup_t       *cln;
    ngx_http_guildlog_ctx_t  *ctx;

    r = r->main;

    ctx = ngx_http_get_module_ctx(r, ngx_http_guildlog_module);

    if (ctx) {
        return ctx;
    }

    if (r->internal || r->filter_finalize) {
        for (cln = r->pool->cleanup; cln; cln = cln->next) {
            if (cln->handler == ngx_http_guildlog_ctx_cleanup) {
                ngx_http_set_ctx(r, cln->data, ngx_http_guildlog_module);
                return cln->data;
            }
        }
    }

    if (!create) {
        return NULL;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_guildlog_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_http_guildlog_ctx_t));

    cln->handler = ngx_http_guildlog_ctx_cleanup;
    ctx->start_us = ngx_guildlog_clock_us();

    ngx_http_set_ctx(r, ctx, ngx_http_guildlog_module);

    return ctx;
}


static void
ngx_http_guildlog_ctx_cleanup(void *data)
{
    /* void: call_ctx() finds the context by this handler */
}


ngx_int_t
ngx_http_guildlog_call_ask(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt)
{
    ngx_http_request_t  *r;

    r = call->request;

    if (call->nargs != stmt->nargs) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                      "\"%s\" takes %ui arguments, the route has %ui",
                      stmt->name, stmt->nargs, call->nargs);
        return NGX_ERROR;
    }

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    call->query = ngx_guildlog_db_pool_submit(
                      ngx_http_guildlog_worker.pools[
                                                call->conf->database->index],
                      stmt, call->args, ngx_http_guildlog_done, call);

    if (call->query == NULL) {
        return NGX_ERROR;
    }

    call->ctx->statement = stmt->name;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog submits \"%s\"", stmt->name);

    return NGX_AGAIN;
}


ngx_int_t
ngx_http_guildlog_call_watch(ngx_http_request_t *r)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    /* a client that has gone already would cause no further event */

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);

    } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    r->read_event_handler = ngx_http_test_reading;

    return NGX_OK;
}


static void
ngx_http_guildlog_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_call_t *call = data;

    ngx_http_request_t  *r;

    r = call->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog result: outcome %ui, %ui rows, %ui us",
                   (ngx_uint_t) result->outcome, result->rows,
                   result->time_us);

    call->query = NULL;
    call->ctx->db_us += result->time_us;
    call->ctx->asked = 1;

    /* the worker that delivers may have something to do */

    if (!(call->route->stmt->flags & NGX_GUILDLOG_STMT_READ)) {
        (void) ngx_atomic_fetch_add(
                         &ngx_http_guildlog_worker.stats.shared->changes, 1);
    }

    ngx_http_guildlog_call_finish(r, call->endpoint->answer(call, result));
}


void
ngx_http_guildlog_call_finish(ngx_http_request_t *r, ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "guildlog request ends with %i", rc);

    if (rc != NGX_BUSY) {
        ngx_http_finalize_request(r, ngx_http_guildlog_response_final(r, rc));
    }

    ngx_http_run_posted_requests(c);
}


ngx_int_t
ngx_http_guildlog_call_refuse(ngx_http_guildlog_call_t *call, ngx_uint_t status,
    const ngx_str_t *error)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog refuses the request: %ui", status);

    /*
     * A client that waits for "100 Continue" may send its body or not: the
     * next bytes could be a body or a request, so the connection is closed.
     */

    if (r->headers_in.expect && !r->expect_tested) {
        r->expect_tested = 1;
        r->keepalive = 0;
    }

    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }

    rc = ngx_http_guildlog_response_error(r, status, error);

    if (rc == NGX_ERROR || rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    return NGX_DONE;
}
