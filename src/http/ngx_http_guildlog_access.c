
/*
 * Who asks: the token of a request, for the API and for any location with
 * guildlog_auth.
 */

#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_request.h"


/* s; when a seat will be free is not known */
#define SEAT_RETRY  10


typedef struct {
    ngx_uint_t                     most;     /* a token */
    ngx_str_t                      error;
} seat_rule_t;


static ngx_guildlog_auth_e access_bearer(ngx_http_request_t *r,
    ngx_str_t *text);
static ngx_int_t limit_key(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *key);
static ngx_int_t limit_address(ngx_http_request_t *r, ngx_str_t *address);
static ngx_int_t limit_headers(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);
static void seat_cleanup(void *data);


const char *const  ngx_http_guildlog_access_causes[] = {
    "ok", "missing", "malformed", "algorithm", "key", "signature", "issuer",
    "expired", "claims", "revoked", "unjudged"
};


/* in the order of ngx_guildlog_seat_e */

static const seat_rule_t  seat_rules[] = {
    { 20, ngx_string("a token has at most 20 streams open") },
    { 4, ngx_string("a token has at most 4 exports open") }
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
    ngx_str_t        *value;
    ngx_table_elt_t  *h;

    h = ngx_http_guildlog_call_header(r, "Authorization", NULL);

    if (h == NULL) {
        return NGX_GUILDLOG_AUTH_MISSING;
    }

    if (ngx_http_guildlog_call_header(r, "Authorization", h)) {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    /* another scheme has no token */

    value = &h->value;

    if (value->len < sizeof("Bearer ") - 1
        || ngx_strncasecmp(value->data, (u_char *) "Bearer",
                           sizeof("Bearer") - 1)
           != 0)
    {
        return NGX_GUILDLOG_AUTH_MISSING;
    }

    if (value->data[sizeof("Bearer") - 1] != ' ') {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    p = value->data + sizeof("Bearer ") - 1;
    last = value->data + value->len;

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

    if (!conf->auth) {
        return NGX_DECLINED;
    }

    if (ctx->authenticated) {
        return ngx_guildlog_is_for(conf->auth, ctx->token.kind)
               ? NGX_OK : NGX_HTTP_FORBIDDEN;
    }

    if (ngx_http_guildlog_response_challenge(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_HTTP_UNAUTHORIZED;
}


/*
 * guildlog_limit: each request is charged to a token, a client's address or
 * the key of the directive, and headers tell what is left.
 */

ngx_int_t
ngx_http_guildlog_limit_charge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf)
{
    ngx_int_t                              rc;
    ngx_str_t                              key;
    ngx_guildlog_stats_t                  *stats;
    const ngx_http_guildlog_limit_conf_t  *limit;

    /* the page of error_page for a refused request is not charged */

    if (ctx->limited && r == r->main) {
        return NGX_BUSY;
    }

    limit = conf->limit;
    stats = &ngx_http_guildlog_worker.stats;

    if (limit == NULL) {
        return NGX_OK;
    }

    if (ctx->charged == NULL
        || ctx->charged->zone != limit->zone
        || !ngx_guildlog_str_eq(&ctx->charged->prefix, &limit->prefix))
    {
        rc = limit_key(r, ctx, limit, &key);

        if (rc != NGX_OK) {
            return rc == NGX_DECLINED ? NGX_OK : NGX_ERROR;
        }

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
    }

    ctx->charged = limit;
    ctx->limited = ctx->over && !limit->dry_run;

    if (limit_headers(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    return ctx->limited ? NGX_BUSY : NGX_OK;
}


/* NGX_DECLINED: the request has none, it is not limited */

static ngx_int_t
limit_key(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *key)
{
    char       type;
    ngx_str_t  value;

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

    return ngx_guildlog_print(r->pool, key, "%V%c%V", &limit->prefix, type,
                              &value);
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
    ngx_uint_t  i, reset, n[4];

    static const char  *names[] = {
        "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
        "X-RateLimit-Reset-After"
    };

    reset = (ctx->limit.reset_ms + 999) / 1000;

    n[0] = ctx->limit.limit;
    n[1] = ctx->limit.remaining;
    n[2] = reset;
    n[3] = reset;

    for (i = 0; i < 4; i++) {
        if (ngx_http_guildlog_response_header(r, names[i], "%ui", n[i])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (ngx_http_guildlog_response_header(r, "RateLimit-Policy", "%V",
                                          &ctx->charged->policy)
        != NGX_OK
        || ngx_http_guildlog_response_header(r, "RateLimit",
                                             "\"default\";r=%ui;t=%ui",
                                             ctx->limit.remaining, reset)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!ctx->limited) {
        return NGX_OK;
    }

    return ngx_http_guildlog_response_header(r, "Retry-After", "%ui", reset);
}


/*
 * A stream or an export takes a seat of its token until the request ends.
 */

ngx_int_t
ngx_http_guildlog_seat(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    const seat_rule_t   *seats;
    ngx_guildlog_seat_e  kind;

    /* there is no token on the operator plane */

    if (call->route->plane == NGX_GUILDLOG_OPERATOR
        || (call->route->kind != NGX_GUILDLOG_STREAM
            && call->route->kind != NGX_GUILDLOG_EXPORT))
    {
        return NGX_OK;
    }

    kind = call->route->kind == NGX_GUILDLOG_STREAM ? NGX_GUILDLOG_SEAT_STREAM
                                                    : NGX_GUILDLOG_SEAT_EXPORT;

    if (ngx_http_guildlog_call_at_end(call->request, seat_cleanup, call)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    seats = &seat_rules[kind];

    rc = ngx_guildlog_seats_take(ngx_http_guildlog_worker.seats,
                                 &call->ctx->token.jti, kind, seats->most,
                                 &call->seat);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog seat of kind %ui: %i", (ngx_uint_t) kind, rc);

    if (rc == NGX_OK) {
        return NGX_OK;
    }

    if (ngx_http_guildlog_response_header(call->request, "Retry-After", "%ui",
                                          (ngx_uint_t) SEAT_RETRY)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_TOO_MANY_REQUESTS,
                                         &seats->error);
}


static void
seat_cleanup(void *data)
{
    ngx_http_guildlog_call_t *call = data;

    if (call->seat) {
        ngx_guildlog_seats_give_back(ngx_http_guildlog_worker.seats,
                                     call->seat);
    }
}
