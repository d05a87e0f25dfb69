
/*
 * The variables: what is known of a request, for log_format, map and headers.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_language.h"


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


#define variables_row(name, id)                                               \
    { ngx_string("guildlog_" name), NULL, variables_get, VARIABLES_##id,      \
      NGX_HTTP_VAR_NOCACHEABLE, 0 }


static ngx_int_t variables_get(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t variables_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, const char *format, ngx_uint_t n,
    ngx_uint_t m);
static ngx_int_t variables_word(ngx_http_variable_value_t *v, const char *word);
static ngx_int_t variables_value(ngx_http_variable_value_t *v,
    const ngx_str_t *value);
static ngx_int_t token_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t token_read(ngx_pool_t *pool, ngx_str_t *row,
    ngx_guildlog_token_t *token);


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

    /* what is of the token, of the limit, and of the database */

    if (ctx == NULL
        || (variable < VARIABLES_LIMIT_LIMIT && !ctx->authenticated)
        || (variable >= VARIABLES_LIMIT_LIMIT
            && variable <= VARIABLES_LIMIT_STATUS && ctx->charged == NULL)
        || (variable == VARIABLES_DB_TIME && !ctx->asked))
    {
        return NGX_OK;
    }

    switch (variable) {

    case VARIABLES_TOKEN_ID:
        return variables_value(v, &ctx->token.jti);

    case VARIABLES_SERVER:
        return variables_value(v, &ctx->token.guild);

    case VARIABLES_KIND:
        return variables_value(v, &ngx_guildlog_token_kinds[ctx->token.kind]);

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
        return ctx->verified == NULL ? NGX_OK
               : variables_word(v, ngx_http_guildlog_access_causes[ctx->cause]);

    case VARIABLES_DB_TIME:
        return variables_number(r, v, "%ui.%06ui", ctx->db_us / 1000000,
                                ctx->db_us % 1000000);

    case VARIABLES_STATEMENT:
        return variables_word(v, ctx->statement);

    default: /* VARIABLES_ENDPOINT */
        return variables_word(v, ctx->route ? ctx->route->name : NULL);
    }
}


static ngx_int_t
variables_number(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    const char *format, ngx_uint_t n, ngx_uint_t m)
{
    ngx_str_t  value;

    return ngx_guildlog_print(r->pool, &value, format, n, m) == NGX_OK
           ? variables_value(v, &value) : NGX_ERROR;
}


/* NULL: there is none */

static ngx_int_t
variables_word(ngx_http_variable_value_t *v, const char *word)
{
    ngx_str_t  value;

    if (word == NULL) {
        return NGX_OK;
    }

    value = ngx_guildlog_word(word);

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


/*
 * A new token: the database tells its claims, a key of the location signs it.
 */

ngx_int_t
ngx_http_guildlog_token_start(ngx_http_guildlog_call_t *call)
{
    static const ngx_str_t  no_signer =
        ngx_string("no key of this location signs tokens");

    /* otherwise the database would keep a token that nobody gets */

    if (ngx_guildlog_token_sign_key(call->conf->keys) == NULL) {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "no \"guildlog_key\" has \"sign\"");
        return ngx_http_guildlog_call_refuse(call,
                                             NGX_HTTP_INTERNAL_SERVER_ERROR,
                                             &no_signer);
    }

    return ngx_http_guildlog_call_ask(call, call->route->stmt, token_answer);
}


static ngx_int_t
token_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_str_t             row, text, body;
    ngx_http_request_t   *r;
    ngx_guildlog_json_t   w;
    ngx_guildlog_token_t  token;

    r = call->request;

    if (ngx_http_guildlog_response_row_status(result) != NGX_HTTP_CREATED) {
        return ngx_http_guildlog_response_result(call, result);
    }

    /* the row has the claims; the token is only here and in the answer */

    row = ngx_guildlog_db_result_value(result, 0, 1);

    if (token_read(r->pool, &row, &token) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "\"%s\" described no token", call->route->stmt->name);
        return NGX_ERROR;
    }

    if (ngx_guildlog_token_sign(call->conf->keys, &call->conf->issuer, &token,
                                r->pool, &text)
        != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "a token was not signed");
        return NGX_ERROR;
    }

    ngx_guildlog_json_init(&w, r->pool, text.len + 256);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_member(&w, "token", &text);
    ngx_guildlog_json_member(&w, "unique_id", &token.jti);
    ngx_guildlog_json_member_number(&w, "expires_at",
                                    (int64_t) token.exp * 1000);
    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &body) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(r, NGX_HTTP_CREATED, &body);
}


static ngx_int_t
token_read(ngx_pool_t *pool, ngx_str_t *row, ngx_guildlog_token_t *token)
{
    int          kind;
    json_t      *json;
    ngx_str_t    error;
    json_int_t   iat, exp;
    const char  *jti, *guild, *bot;

    json = ngx_guildlog_json_parse(pool, row, &error);

    if (json == NULL
        || json_unpack(json, "{s:s, s:s, s:s, s:i, s:I, s:I}",
                       "unique_id", &jti, "guild", &guild, "bot", &bot,
                       "permissions", &kind, "iat", &iat, "exp", &exp)
           != 0
        || kind < NGX_GUILDLOG_ADMIN || kind > NGX_GUILDLOG_READ)
    {
        return NGX_ERROR;
    }

    ngx_memzero(token, sizeof(ngx_guildlog_token_t));

    token->jti = ngx_guildlog_word(jti);
    token->guild = ngx_guildlog_word(guild);
    token->bot = ngx_strcmp(bot, "pro") == 0 ? NGX_GUILDLOG_BOT_PRO
                                             : NGX_GUILDLOG_BOT_MAIN;
    token->kind = kind;
    token->iat = iat;
    token->exp = exp;

    return NGX_OK;
}


/*
 * GET /log-types: what log-types.tsv tells, the same for all guilds.
 */

ngx_int_t
ngx_http_guildlog_types_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t            body, etag;
    ngx_table_elt_t     *h;
    ngx_http_request_t  *r;

    static uint32_t      sum;

    r = call->request;

    if (ngx_http_guildlog_response_row_status(result) != NGX_HTTP_OK) {
        return ngx_http_guildlog_response_result(call, result);
    }

    body.data = (u_char *) ngx_guildlog_types_json;
    body.len = ngx_guildlog_types_json_size;

    if (sum == 0) {
        sum = ngx_crc32_long(body.data, body.len);
    }

    if (ngx_guildlog_print(r->pool, &etag, "\"%08xD\"", sum) != NGX_OK) {
        return NGX_ERROR;
    }

    r->headers_out.etag = ngx_http_guildlog_response_header_set(r, "ETag",
                                                                &etag);
    if (r->headers_out.etag == NULL) {
        return NGX_ERROR;
    }

    /* If-None-Match has our ETag, in a list or weak, or "*" */

    h = r->headers_in.if_none_match;

    if (h
        && ((h->value.len == 1 && h->value.data[0] == '*')
            || memmem(h->value.data, h->value.len, etag.data, etag.len)))
    {
        return ngx_http_guildlog_response_head(r, NGX_HTTP_NOT_MODIFIED, "",
                                               -1);
    }

    return ngx_http_guildlog_response_json(r, NGX_HTTP_OK, &body);
}
