
/*
 * guildlog_limit: each request is charged to a token, a client's address or
 * the key of the directive, and headers tell what is left.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_response.h"


static ngx_uint_t limit_is_same(const ngx_http_guildlog_limit_conf_t *a,
    const ngx_http_guildlog_limit_conf_t *b);
static ngx_int_t limit_take_one(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);
static ngx_int_t limit_key(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *key);
static ngx_int_t limit_address(ngx_http_request_t *r, ngx_str_t *address);
static ngx_int_t limit_headers(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);


ngx_int_t
ngx_http_guildlog_limit_charge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf)
{
    ngx_int_t                              rc;
    const ngx_http_guildlog_limit_conf_t  *limit;

    /* the page of error_page for a refused request is not charged */

    if (ctx->limited && r == r->main) {
        return NGX_BUSY;
    }

    limit = conf->limit;

    if (limit == NULL) {
        return NGX_OK;
    }

    if (ctx->charged == NULL || !limit_is_same(ctx->charged, limit)) {
        rc = limit_take_one(r, ctx, conf);

        if (rc != NGX_OK) {
            return rc == NGX_DECLINED ? NGX_OK : NGX_ERROR;
        }
    }

    ctx->charged = limit;
    ctx->limited = ctx->over && !limit->dry_run;

    if (limit_headers(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    return ctx->limited ? NGX_BUSY : NGX_OK;
}


static ngx_uint_t
limit_is_same(const ngx_http_guildlog_limit_conf_t *a,
    const ngx_http_guildlog_limit_conf_t *b)
{
    return a->zone == b->zone
           && ngx_guildlog_str_eq(&a->prefix, &b->prefix);
}


/* sets ctx->over; NGX_DECLINED: the request has no key, it is not limited */

static ngx_int_t
limit_take_one(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_loc_conf_t *conf)
{
    ngx_int_t                              rc;
    ngx_str_t                              key;
    ngx_guildlog_stats_t                  *stats;
    const ngx_http_guildlog_limit_conf_t  *limit;

    limit = conf->limit;

    rc = limit_key(r, ctx, limit, &key);

    if (rc != NGX_OK) {
        return rc;
    }

    stats = &ngx_http_guildlog_worker.stats;

    rc = ngx_guildlog_limit_take(limit->zone, &key, limit->requests,
                                 limit->window, &ctx->limit, stats);

    if (rc == NGX_BUSY) {
        ngx_guildlog_stats_count(stats, limit->dry_run
                                        ? NGX_GUILDLOG_COUNT_LIMITED_DRY
                                        : NGX_GUILDLOG_COUNT_LIMITED, 1);
        ngx_log_error(conf->limit_log_level, r->connection->log, 0,
                      "rate limited%s, %ui requests in %M ms",
                      limit->dry_run ? " (dry run)" : "",
                      limit->requests, limit->window);
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog limit: %ui of %ui left, %i",
                   ctx->limit.remaining, ctx->limit.limit, rc);

    ctx->over = (rc == NGX_BUSY);

    return NGX_OK;
}


static ngx_int_t
limit_key(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *key)
{
    u_char     *p;
    u_char      type;
    ngx_str_t   value;

    if (limit->key) {
        if (ngx_http_complex_value(r, limit->key, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len == 0) {
            return NGX_DECLINED;
        }

        type = 'k';

    } else if (ctx->authenticated) {
        value = ctx->token.jti;
        type = ctx->person ? 'u' : 't';

    } else {
        if (limit_address(r, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        type = 'a';
    }

    key->len = limit->prefix.len + 1 + value.len;
    key->data = ngx_pnalloc(r->pool, key->len);

    if (key->data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(key->data, limit->prefix.data, limit->prefix.len);
    *p++ = type;
    ngx_memcpy(p, value.data, value.len);

    return NGX_OK;
}


/*
 * The client's address, as the limit counts it.  A client with one IPv6
 * address usually has its whole /64, so the network is what counts.
 */

static ngx_int_t
limit_address(ngx_http_request_t *r, ngx_str_t *address)
{
    struct sockaddr      *sa;
    struct sockaddr_in   *sin;
#if (NGX_HAVE_INET6)
    struct sockaddr_in6  *sin6;
#endif

    sa = r->connection->sockaddr;

    switch (sa->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sa;

        if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)) {
            address->data = (u_char *) &sin6->sin6_addr + 12;
            address->len = 4;

        } else {
            address->data = (u_char *) &sin6->sin6_addr;
            address->len = 8;
        }

        return NGX_OK;
#endif

    case AF_INET:
        sin = (struct sockaddr_in *) sa;
        address->data = (u_char *) &sin->sin_addr;
        address->len = 4;
        return NGX_OK;

    default: /* AF_UNIX: all clients are one */
        ngx_str_set(address, "unix");
        return NGX_OK;
    }
}


static ngx_int_t
limit_headers(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx)
{
    u_char      *p;
    ngx_str_t    value;
    ngx_uint_t   reset;

    reset = (ctx->limit.reset_ms + 999) / 1000;

    if (ngx_http_guildlog_response_header_number(r, "X-RateLimit-Limit",
                                                 ctx->limit.limit)
        != NGX_OK
        || ngx_http_guildlog_response_header_number(r, "X-RateLimit-Remaining",
                                                    ctx->limit.remaining)
           != NGX_OK
        || ngx_http_guildlog_response_header_number(r, "X-RateLimit-Reset",
                                                    reset)
           != NGX_OK
        || ngx_http_guildlog_response_header_number(r,
                                                    "X-RateLimit-Reset-After",
                                                    reset)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(r->pool, sizeof("\"default\";r=;t=") + 2 * NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    value.data = p;
    value.len = ngx_sprintf(p, "\"default\";r=%ui;t=%ui",
                            ctx->limit.remaining, reset)
                - p;

    if (ngx_http_guildlog_response_header(r, "RateLimit-Policy",
                                          &ctx->charged->policy)
        == NULL
        || ngx_http_guildlog_response_header(r, "RateLimit", &value) == NULL)
    {
        return NGX_ERROR;
    }

    if (!ctx->limited) {
        return NGX_OK;
    }

    return ngx_http_guildlog_response_header_number(r, "Retry-After", reset);
}
