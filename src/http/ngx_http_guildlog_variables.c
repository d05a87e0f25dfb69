
/*
 * The variables: what is known of a request, for log_format, map and headers.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_request.h"


typedef enum {
    NGX_HTTP_GUILDLOG_TOKEN_ID = 0,
    NGX_HTTP_GUILDLOG_SERVER,
    NGX_HTTP_GUILDLOG_KIND,
    NGX_HTTP_GUILDLOG_BOT,
    NGX_HTTP_GUILDLOG_LIMIT_LIMIT,
    NGX_HTTP_GUILDLOG_LIMIT_REMAINING,
    NGX_HTTP_GUILDLOG_LIMIT_RESET,
    NGX_HTTP_GUILDLOG_LIMIT_STATUS,
    NGX_HTTP_GUILDLOG_AUTH_STATUS,
    NGX_HTTP_GUILDLOG_DB_TIME,
    NGX_HTTP_GUILDLOG_ENDPOINT
} ngx_http_guildlog_variable_e;


static ngx_int_t ngx_http_guildlog_token_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_guildlog_limit_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_guildlog_request_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_guildlog_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, const char *format, ngx_uint_t n,
    ngx_uint_t m);
static ngx_int_t ngx_http_guildlog_word(ngx_http_variable_value_t *v,
    const char *word);
static ngx_int_t ngx_http_guildlog_value(ngx_http_variable_value_t *v,
    const ngx_str_t *value);


#define ngx_http_guildlog_var(name, handler, id)                              \
    { ngx_string("guildlog_" name), NULL,                                     \
      ngx_http_guildlog_##handler##_variable, NGX_HTTP_GUILDLOG_##id,         \
      NGX_HTTP_VAR_NOCACHEABLE, 0 }


static ngx_http_variable_t  ngx_http_guildlog_variables[] = {
    ngx_http_guildlog_var("token_id", token, TOKEN_ID),
    ngx_http_guildlog_var("server", token, SERVER),
    ngx_http_guildlog_var("kind", token, KIND),
    ngx_http_guildlog_var("bot", token, BOT),
    ngx_http_guildlog_var("limit_limit", limit, LIMIT_LIMIT),
    ngx_http_guildlog_var("limit_remaining", limit, LIMIT_REMAINING),
    ngx_http_guildlog_var("limit_reset", limit, LIMIT_RESET),
    ngx_http_guildlog_var("limit_status", limit, LIMIT_STATUS),
    ngx_http_guildlog_var("auth_status", request, AUTH_STATUS),
    ngx_http_guildlog_var("db_time", request, DB_TIME),
    ngx_http_guildlog_var("endpoint", request, ENDPOINT),

      ngx_http_null_variable
};


/* what the token says */

static ngx_int_t
ngx_http_guildlog_token_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_guildlog_ctx_t  *ctx;

    v->not_found = 1;

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx == NULL || !ctx->authenticated) {
        return NGX_OK;
    }

    switch ((ngx_http_guildlog_variable_e) data) {

    case NGX_HTTP_GUILDLOG_TOKEN_ID:
        return ngx_http_guildlog_value(v, &ctx->token.jti);

    case NGX_HTTP_GUILDLOG_SERVER:
        return ngx_http_guildlog_value(v, &ctx->token.guild);

    case NGX_HTTP_GUILDLOG_KIND:
        return ngx_http_guildlog_word(v, ctx->token.kind == NGX_GUILDLOG_ADMIN
                                         ? "admin" : "basic");

    default: /* NGX_HTTP_GUILDLOG_BOT */
        return ngx_http_guildlog_word(v,
                                      ctx->token.bot == NGX_GUILDLOG_BOT_PRO
                                      ? "pro" : "main");
    }
}


/* what the rate limit came to */

static ngx_int_t
ngx_http_guildlog_limit_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_guildlog_ctx_t  *ctx;

    v->not_found = 1;

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx == NULL || ctx->charged == NULL) {
        return NGX_OK;
    }

    switch ((ngx_http_guildlog_variable_e) data) {

    case NGX_HTTP_GUILDLOG_LIMIT_LIMIT:
        return ngx_http_guildlog_number(r, v, "%ui", ctx->limit.limit, 0);

    case NGX_HTTP_GUILDLOG_LIMIT_REMAINING:
        return ngx_http_guildlog_number(r, v, "%ui", ctx->limit.remaining, 0);

    case NGX_HTTP_GUILDLOG_LIMIT_RESET:
        return ngx_http_guildlog_number(r, v, "%ui",
                                        (ctx->limit.reset_ms + 999) / 1000,
                                        0);

    default: /* NGX_HTTP_GUILDLOG_LIMIT_STATUS */
        return ngx_http_guildlog_word(v, ctx->limited ? "limited"
                                         : ctx->over ? "limited_dry_run"
                                                     : "passed");
    }
}


static ngx_int_t
ngx_http_guildlog_request_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_guildlog_ctx_t  *ctx;

    v->not_found = 1;

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx == NULL) {
        return NGX_OK;
    }

    switch ((ngx_http_guildlog_variable_e) data) {

    case NGX_HTTP_GUILDLOG_AUTH_STATUS:
        return ctx->verified
               ? ngx_http_guildlog_word(v,
                                 ngx_http_guildlog_access_causes[ctx->cause])
               : NGX_OK;

    case NGX_HTTP_GUILDLOG_DB_TIME:
        return ctx->asked
               ? ngx_http_guildlog_number(r, v, "%ui.%06ui",
                                          ctx->db_us / 1000000,
                                          ctx->db_us % 1000000)
               : NGX_OK;

    default: /* NGX_HTTP_GUILDLOG_ENDPOINT */
        return ctx->route ? ngx_http_guildlog_word(v, ctx->route->name)
                          : NGX_OK;
    }
}


static ngx_int_t
ngx_http_guildlog_number(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    const char *format, ngx_uint_t n, ngx_uint_t m)
{
    ngx_str_t  value;

    value.data = ngx_pnalloc(r->pool, 2 * NGX_INT_T_LEN + 1);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, format, n, m) - value.data;

    return ngx_http_guildlog_value(v, &value);
}


static ngx_int_t
ngx_http_guildlog_word(ngx_http_variable_value_t *v, const char *word)
{
    ngx_str_t  value;

    value.data = (u_char *) word;
    value.len = ngx_strlen(word);

    return ngx_http_guildlog_value(v, &value);
}


static ngx_int_t
ngx_http_guildlog_value(ngx_http_variable_value_t *v, const ngx_str_t *value)
{
    v->data = value->data;
    v->len = value->len;
    v->valid = 1;
    v->not_found = 0;
    v->no_cacheable = 0;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_variables_add(ngx_conf_t *cf)
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
