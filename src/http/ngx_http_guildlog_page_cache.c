
/*
 * Pages that are asked for again: a worker keeps them, and asks the database
 * only whether one has changed.
 */

#include "http/ngx_http_guildlog_log.h"


/* the key is all arguments from the server on, without the token's kind */

#define NGX_HTTP_GUILDLOG_KEPT_FROM  1
#define NGX_HTTP_GUILDLOG_KEPT_KIND  3


static ngx_int_t ngx_http_guildlog_page_key(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
static void ngx_http_guildlog_page_cleanup(void *data);


ngx_int_t
ngx_http_guildlog_page_cache_recall(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt)
{
    ngx_str_t           *known;
    ngx_pool_cleanup_t  *cln;

    known = &call->args[call->nargs];
    ngx_str_null(known);

    if (ngx_http_guildlog_worker.shelf) {

        if (ngx_http_guildlog_page_key(call, stmt) != NGX_OK) {
            return NGX_ERROR;
        }

        cln = ngx_pool_cleanup_add(call->request->pool, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        call->page = ngx_guildlog_shelf_take(ngx_http_guildlog_worker.shelf,
                                             &call->page_key);
        if (call->page) {
            cln->handler = ngx_http_guildlog_page_cleanup;
            cln->data = call->page;
            *known = call->page->state;

        } else if (!ngx_guildlog_shelf_asked(ngx_http_guildlog_worker.shelf,
                                             &call->page_key))
        {
            ngx_str_null(&call->page_key);
        }
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog page cache: %s",
                   call->page ? "known" : "not known");

    call->nargs++;

    return NGX_OK;
}


static ngx_int_t
ngx_http_guildlog_page_key(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt)
{
    u_char      *p;
    size_t       len;
    ngx_str_t   *arg;
    ngx_uint_t   i;

    len = 2 * NGX_INT_T_LEN + 1;

    for (i = NGX_HTTP_GUILDLOG_KEPT_FROM; i < call->nargs; i++) {
        len += NGX_INT_T_LEN + 2 + call->args[i].len;
    }

    p = ngx_pnalloc(call->request->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    call->page_key.data = p;
    p = ngx_sprintf(p, "%ui %ui", call->conf->database->index, stmt->index);

    for (i = NGX_HTTP_GUILDLOG_KEPT_FROM; i < call->nargs; i++) {
        arg = &call->args[i];

        if (i == NGX_HTTP_GUILDLOG_KEPT_KIND) {
            continue;
        }

        p = arg->data ? ngx_sprintf(p, " %uz:%V", arg->len, arg)
                      : ngx_cpymem(p, " -", 2);
    }

    call->page_key.len = p - call->page_key.data;

    return NGX_OK;
}


static void
ngx_http_guildlog_page_cleanup(void *data)
{
    ngx_guildlog_shelf_give_back(data);
}


void
ngx_http_guildlog_page_cache_keep(ngx_http_guildlog_call_t *call,
    const ngx_str_t *state, const ngx_str_t *body)
{
    if (call->page_key.data && state->len) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                       "guildlog page cache: keeps %uz bytes", body->len);

        ngx_guildlog_shelf_put(ngx_http_guildlog_worker.shelf,
                               &call->page_key, state, body);
    }
}
