
/*
 * The variables: what is known of a request, for log_format, map and headers.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_request.h"


typedef enum {
    VARIABLES_TOKEN_ID = 0,
    VARIABLES_SERVER,
    VARIABLES_KIND,
    VARIABLES_BOT,
    VARIABLES_LIMIT_LIMIT,
    VARIABLES_LIMIT_REMAINING,
    VARIABLES_LIMIT_RESET,
    VARIABLES_LIMIT_STATUS,
    VARIABLES_AUTH_STATUS,
    VARIABLES_DB_TIME,
    VARIABLES_STATEMENT,
    VARIABLES_ENDPOINT
} variables_e;


static ngx_int_t variables_get(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_uint_t variables_is_known(const ngx_http_guildlog_ctx_t *ctx,
    variables_e variable);
static ngx_int_t variables_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, const char *format, ngx_uint_t n,
    ngx_uint_t m);
static ngx_int_t variables_word(ngx_http_variable_value_t *v, const char *word);
static ngx_int_t variables_value(ngx_http_variable_value_t *v,
    const ngx_str_t *value);


#define variables_row(name, id)                                               \
    { ngx_string("guildlog_" name), NULL, variables_get, VARIABLES_##id,      \
      NGX_HTTP_VAR_NOCACHEABLE, 0 }


static ngx_http_variable_t  variables_rows[] = {
    variables_row("token_id", TOKEN_ID),
    variables_row("server", SERVER),
    variables_row("kind", KIND),
    variables_row("bot", BOT),
    variables_row("limit_limit", LIMIT_LIMIT),
    variables_row("limit_remaining", LIMIT_REMAINING),
    variables_row("limit_reset", LIMIT_RESET),
    variables_row("limit_status", LIMIT_STATUS),
    variables_row("auth_status", AUTH_STATUS),
    variables_row("db_time", DB_TIME),
    variables_row("statement", STATEMENT),
    variables_row("endpoint", ENDPOINT),

      ngx_http_null_variable
};


static ngx_int_t
variables_get(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    variables_e               variable;
    ngx_http_guildlog_ctx_t  *ctx;

    v->not_found = 1;

    ctx = ngx_http_guildlog_call_ctx(r, 0);
    variable = (variables_e) data;

    if (ctx == NULL || !variables_is_known(ctx, variable)) {
        return NGX_OK;
    }

    switch (variable) {

    case VARIABLES_TOKEN_ID:
        return variables_value(v, &ctx->token.jti);

    case VARIABLES_SERVER:
        return variables_value(v, &ctx->token.guild);

    case VARIABLES_KIND:
        return variables_word(v, ctx->token.kind == NGX_GUILDLOG_ADMIN
                                 ? "admin" : "basic");

    case VARIABLES_BOT:
        return variables_word(v, ctx->token.bot == NGX_GUILDLOG_BOT_PRO
                                 ? "pro" : "main");

    case VARIABLES_LIMIT_LIMIT:
        return variables_number(r, v, "%ui", ctx->limit.limit, 0);

    case VARIABLES_LIMIT_REMAINING:
        return variables_number(r, v, "%ui", ctx->limit.remaining, 0);

    case VARIABLES_LIMIT_RESET:
        return variables_number(r, v, "%ui", (ctx->limit.reset_ms + 999) / 1000,
                                0);

    case VARIABLES_LIMIT_STATUS:
        return variables_word(v, ctx->limited ? "limited"
                                 : ctx->over ? "limited_dry_run"
                                             : "passed");

    case VARIABLES_AUTH_STATUS:
        return variables_word(v, ngx_http_guildlog_access_causes[ctx->cause]);

    case VARIABLES_DB_TIME:
        return variables_number(r, v, "%ui.%06ui", ctx->db_us / 1000000,
                                ctx->db_us % 1000000);

    case VARIABLES_STATEMENT:
        return variables_word(v, ctx->statement);

    default: /* VARIABLES_ENDPOINT */
        return variables_word(v, ctx->route->name);
    }
}


static ngx_uint_t
variables_is_known(const ngx_http_guildlog_ctx_t *ctx, variables_e variable)
{
    switch (variable) {

    case VARIABLES_AUTH_STATUS:
        return ctx->verified != NULL;

    case VARIABLES_DB_TIME:
        return ctx->asked;

    case VARIABLES_STATEMENT:
        return ctx->statement != NULL;

    case VARIABLES_ENDPOINT:
        return ctx->route != NULL;

    default: /* of the token, or of the limit */
        return variable < VARIABLES_LIMIT_LIMIT ? ctx->authenticated
                                                : ctx->charged != NULL;
    }
}


static ngx_int_t
variables_number(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    const char *format, ngx_uint_t n, ngx_uint_t m)
{
    ngx_str_t  value;

    value.data = ngx_pnalloc(r->pool, 2 * NGX_INT_T_LEN + 1);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, format, n, m) - value.data;

    return variables_value(v, &value);
}


static ngx_int_t
variables_word(ngx_http_variable_value_t *v, const char *word)
{
    ngx_str_t  value;

    value.data = (u_char *) word;
    value.len = ngx_strlen(word);

    return variables_value(v, &value);
}


static ngx_int_t
variables_value(ngx_http_variable_value_t *v, const ngx_str_t *value)
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

    for (v = variables_rows; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}
