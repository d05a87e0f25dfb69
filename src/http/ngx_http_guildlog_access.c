
/*
 * Who asks: the token of a request, for the API and for any location with
 * guildlog_auth.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_response.h"


static ngx_guildlog_auth_e access_bearer(ngx_http_request_t *r,
    ngx_str_t *text);
static ngx_int_t access_guard(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


const char *const  ngx_http_guildlog_access_causes[] = {
    "ok", "missing", "malformed", "algorithm", "key", "signature", "issuer",
    "expired", "claims", "revoked", "unjudged"
};


ngx_int_t
ngx_http_guildlog_access_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf)
{
    ngx_str_t  text;

    if (ctx->verified && ctx->verified->keys == conf->keys
        && ngx_guildlog_str_eq(&ctx->verified->issuer, &conf->issuer))
    {
        return NGX_OK;
    }

    ctx->verified = conf;
    ctx->authenticated = 0;
    ctx->counted = 0;
    ctx->person = NULL;

    ctx->cause = access_bearer(r, &text);

    if (ctx->cause == NGX_GUILDLOG_AUTH_OK) {
        ctx->cause = ngx_guildlog_token_verify(ngx_http_guildlog_worker.cache,
                                               conf->keys, &conf->issuer, &text,
                                               ngx_time(), &ctx->token,
                                               r->connection->log);
    }

    ctx->authenticated = (ctx->cause == NGX_GUILDLOG_AUTH_OK);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog token: %s",
                   ngx_http_guildlog_access_causes[ctx->cause]);

    if (ctx->cause == NGX_GUILDLOG_AUTH_UNVERIFIED) {
        ctx->verified = NULL;
        return NGX_ERROR;
    }

    return NGX_OK;
}


void
ngx_http_guildlog_access_count(ngx_http_guildlog_ctx_t *ctx)
{
    if (!ctx->counted) {
        ctx->counted = 1;

        (void) ngx_atomic_fetch_add(
                &ngx_http_guildlog_worker.stats.shared->auth[ctx->cause], 1);
    }
}


/*
 * nginx keeps one Authorization header, further ones are in the list only.
 * Another module may believe any of them, so more than one are refused.
 */

static ngx_guildlog_auth_e
access_bearer(ngx_http_request_t *r, ngx_str_t *text)
{
    u_char           *p, *last;
    ngx_uint_t        i, n;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h, *found;

    n = 0;
    found = NULL;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (h[i].key.len == sizeof("Authorization") - 1
                && ngx_strncasecmp(h[i].key.data, (u_char *) "Authorization",
                                   sizeof("Authorization") - 1)
                   == 0)
            {
                found = &h[i];
                n++;
            }
        }
    }

    if (n > 1) {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    /* another scheme has no token */

    if (n == 0
        || found->value.len < sizeof("Bearer ") - 1
        || ngx_strncasecmp(found->value.data, (u_char *) "Bearer",
                           sizeof("Bearer") - 1)
           != 0)
    {
        return NGX_GUILDLOG_AUTH_MISSING;
    }

    if (found->value.data[sizeof("Bearer") - 1] != ' ') {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    p = found->value.data + sizeof("Bearer ") - 1;
    last = found->value.data + found->value.len;

    while (p < last && *p == ' ') {
        p++;
    }

    text->data = p;
    text->len = last - p;

    return NGX_GUILDLOG_AUTH_OK;
}


/*
 * guildlog_auth and guildlog_limit in a location that is neither a plane nor a
 * sign-in.  These do so in their content handlers, where "satisfy any" cannot
 * skip it.  nginx runs no access phase for subrequests: they are not checked,
 * as with auth_basic.
 */

ngx_int_t
ngx_http_guildlog_access_handler(ngx_http_request_t *r)
{
    ngx_int_t                            rc;
    ngx_uint_t                           refused;
    ngx_http_guildlog_ctx_t             *ctx;
    const ngx_http_guildlog_loc_conf_t  *conf;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);

    if (conf->serves || conf->login || (!conf->auth && conf->limit == NULL)) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_guildlog_call_ctx(r, 1);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* only a request that matches no location: merging checks the others */

    if (conf->auth && conf->keys == NULL) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "\"guildlog_auth\" has no \"guildlog_key\" here");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (conf->auth) {
        rc = ngx_http_guildlog_access_authenticate(r, ctx, conf);

        ngx_http_guildlog_access_count(ctx);

        if (rc != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    refused = ctx->limited;

    rc = ngx_http_guildlog_limit_charge(r, ctx, conf);

    /* the page of error_page is not refused again */

    if (rc == NGX_BUSY && !refused) {
        return NGX_HTTP_TOO_MANY_REQUESTS;
    }

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return conf->auth ? access_guard(r, ctx, conf) : NGX_DECLINED;
}


static ngx_int_t
access_guard(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_loc_conf_t *conf)
{
    if (ctx->authenticated) {
        return ctx->token.kind <= conf->auth ? NGX_OK : NGX_HTTP_FORBIDDEN;
    }

    if (ngx_http_guildlog_response_challenge(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_HTTP_UNAUTHORIZED;
}
