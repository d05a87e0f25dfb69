
/*
 * What stands before a request anywhere: its context, and guildlog_auth and
 * guildlog_limit on a location of somebody else.
 */

#include "http/ngx_http_guildlog.h"


static void ngx_http_guildlog_ctx_cleanup(void *data);
static ngx_int_t ngx_http_guildlog_guard(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


/* the context outlives internal redirects, which wipe r->ctx */

ngx_http_guildlog_ctx_t *
ngx_http_guildlog_get_ctx(ngx_http_request_t *r, ngx_uint_t create)
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
    ctx->start_us = ngx_guildlog_now_us();

    ngx_http_set_ctx(r, ctx, ngx_http_guildlog_module);

    return ctx;
}


static void
ngx_http_guildlog_ctx_cleanup(void *data)
{
    /* marks the context in r->pool, and has nothing to free */
}


/*
 * guildlog_auth and guildlog_limit on a location of somebody else.  A plane
 * of ours asks by itself, in its content handler, so that no "satisfy any"
 * stands between it and the token.  nginx runs no access phase for
 * subrequests, so they are not asked, as with auth_basic.
 */

ngx_int_t
ngx_http_guildlog_access_handler(ngx_http_request_t *r)
{
    ngx_int_t                            rc;
    ngx_uint_t                           refused;
    ngx_http_guildlog_ctx_t             *ctx;
    const ngx_http_guildlog_loc_conf_t  *conf;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);

    if (conf->serves || (!conf->auth && conf->limit == NULL)) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_guildlog_get_ctx(r, 1);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* a request that no location takes; those have keys if they need them */

    if (conf->auth && conf->keys == NULL) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "\"guildlog_auth\" has no \"guildlog_key\" here");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (conf->auth
        && ngx_http_guildlog_authenticate(r, ctx, conf) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    refused = ctx->limited;

    rc = ngx_http_guildlog_charge(r, ctx, conf);

    /* the page that error_page has for it is not refused again */

    if (rc == NGX_BUSY && !refused) {
        return NGX_HTTP_TOO_MANY_REQUESTS;
    }

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return conf->auth ? ngx_http_guildlog_guard(r, ctx, conf) : NGX_DECLINED;
}


static ngx_int_t
ngx_http_guildlog_guard(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_loc_conf_t *conf)
{
    if (ctx->authenticated) {
        return ctx->token.kind <= conf->auth ? NGX_OK : NGX_HTTP_FORBIDDEN;
    }

    if (ngx_http_guildlog_challenge(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_HTTP_UNAUTHORIZED;
}
