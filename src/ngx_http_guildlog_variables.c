
/*
 * What a request was found to be, for log_format, map and headers.
 */

#include "ngx_http_guildlog.h"


typedef enum {
    NGX_HTTP_GUILDLOG_TOKEN_ID = 0,
    NGX_HTTP_GUILDLOG_SERVER,
    NGX_HTTP_GUILDLOG_KIND,
    NGX_HTTP_GUILDLOG_BOT,
    NGX_HTTP_GUILDLOG_AUTH_STATUS,
    NGX_HTTP_GUILDLOG_LIMIT_LIMIT,
    NGX_HTTP_GUILDLOG_LIMIT_REMAINING,
    NGX_HTTP_GUILDLOG_LIMIT_RESET,
    NGX_HTTP_GUILDLOG_LIMIT_STATUS,
    NGX_HTTP_GUILDLOG_DB_TIME,
    NGX_HTTP_GUILDLOG_ENDPOINT
} ngx_http_guildlog_variable_e;


static ngx_int_t ngx_http_guildlog_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_guildlog_number(ngx_http_request_t *r,
    ngx_str_t *value, const char *format, ngx_uint_t n, ngx_uint_t m);


#define ngx_http_guildlog_var(name, id)                                       \
    { ngx_string("guildlog_" name), NULL, ngx_http_guildlog_variable, id,     \
      NGX_HTTP_VAR_NOCACHEABLE, 0 }


static ngx_http_variable_t  ngx_http_guildlog_variables[] = {
    ngx_http_guildlog_var("token_id", NGX_HTTP_GUILDLOG_TOKEN_ID),
    ngx_http_guildlog_var("server", NGX_HTTP_GUILDLOG_SERVER),
    ngx_http_guildlog_var("kind", NGX_HTTP_GUILDLOG_KIND),
    ngx_http_guildlog_var("bot", NGX_HTTP_GUILDLOG_BOT),
    ngx_http_guildlog_var("auth_status", NGX_HTTP_GUILDLOG_AUTH_STATUS),
    ngx_http_guildlog_var("limit_limit", NGX_HTTP_GUILDLOG_LIMIT_LIMIT),
    ngx_http_guildlog_var("limit_remaining",
                          NGX_HTTP_GUILDLOG_LIMIT_REMAINING),
    ngx_http_guildlog_var("limit_reset", NGX_HTTP_GUILDLOG_LIMIT_RESET),
    ngx_http_guildlog_var("limit_status", NGX_HTTP_GUILDLOG_LIMIT_STATUS),
    ngx_http_guildlog_var("db_time", NGX_HTTP_GUILDLOG_DB_TIME),
    ngx_http_guildlog_var("endpoint", NGX_HTTP_GUILDLOG_ENDPOINT),

      ngx_http_null_variable
};


static ngx_int_t
ngx_http_guildlog_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_int_t                 rc;
    ngx_str_t                 value;
    const char               *s;
    ngx_http_guildlog_ctx_t  *ctx;

    v->not_found = 1;

    ctx = ngx_http_guildlog_get_ctx(r, 0);

    if (ctx == NULL) {
        return NGX_OK;
    }

    if (data <= NGX_HTTP_GUILDLOG_BOT && !ctx->authenticated) {
        return NGX_OK;
    }

    if (data >= NGX_HTTP_GUILDLOG_LIMIT_LIMIT
        && data <= NGX_HTTP_GUILDLOG_LIMIT_STATUS && ctx->charged == NULL)
    {
        return NGX_OK;
    }

    rc = NGX_OK;
    s = NULL;
    ngx_str_null(&value);

    switch ((ngx_http_guildlog_variable_e) data) {

    case NGX_HTTP_GUILDLOG_TOKEN_ID:
        value = ctx->token.jti;
        break;

    case NGX_HTTP_GUILDLOG_SERVER:
        value = ctx->token.guild;
        break;

    case NGX_HTTP_GUILDLOG_KIND:
        s = ctx->token.kind == NGX_GUILDLOG_ADMIN ? "admin" : "basic";
        break;

    case NGX_HTTP_GUILDLOG_BOT:
        s = ctx->token.bot == NGX_GUILDLOG_BOT_PRO ? "pro" : "main";
        break;

    case NGX_HTTP_GUILDLOG_AUTH_STATUS:
        if (ctx->judged == NULL) {
            return NGX_OK;
        }

        s = ngx_http_guildlog_causes[ctx->cause];
        break;

    case NGX_HTTP_GUILDLOG_LIMIT_LIMIT:
        rc = ngx_http_guildlog_number(r, &value, "%ui", ctx->limit.limit, 0);
        break;

    case NGX_HTTP_GUILDLOG_LIMIT_REMAINING:
        rc = ngx_http_guildlog_number(r, &value, "%ui", ctx->limit.remaining,
                                      0);
        break;

    case NGX_HTTP_GUILDLOG_LIMIT_RESET:
        rc = ngx_http_guildlog_number(r, &value, "%ui",
                                      (ctx->limit.reset_ms + 999) / 1000, 0);
        break;

    case NGX_HTTP_GUILDLOG_LIMIT_STATUS:
        s = ctx->limited ? "limited"
                         : ctx->over ? "limited_dry_run" : "passed";
        break;

    case NGX_HTTP_GUILDLOG_DB_TIME:
        if (!ctx->asked) {
            return NGX_OK;
        }

        rc = ngx_http_guildlog_number(r, &value, "%ui.%06ui",
                                      ctx->db_us / 1000000,
                                      ctx->db_us % 1000000);
        break;

    case NGX_HTTP_GUILDLOG_ENDPOINT:
        if (ctx->route == NULL) {
            return NGX_OK;
        }

        s = ctx->route->name;
        break;
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (s) {
        value.data = (u_char *) s;
        value.len = ngx_strlen(s);
    }

    v->data = value.data;
    v->len = value.len;
    v->valid = 1;
    v->not_found = 0;
    v->no_cacheable = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_http_guildlog_number(ngx_http_request_t *r, ngx_str_t *value,
    const char *format, ngx_uint_t n, ngx_uint_t m)
{
    value->data = ngx_pnalloc(r->pool, 2 * NGX_INT_T_LEN + 1);
    if (value->data == NULL) {
        return NGX_ERROR;
    }

    value->len = ngx_sprintf(value->data, format, n, m) - value->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_guildlog_variables; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}
