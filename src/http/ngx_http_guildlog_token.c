
/*
 * A new token: the database tells its claims, a key of the location signs it.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


static ngx_int_t token_send(ngx_http_guildlog_call_t *call, ngx_str_t *row);
static ngx_int_t token_read(ngx_pool_t *pool, ngx_str_t *row,
    ngx_guildlog_token_t *token);


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

    return ngx_http_guildlog_call_ask(call, call->route->stmt);
}


ngx_int_t
ngx_http_guildlog_token_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  row;

    if (ngx_http_guildlog_response_row_status(result) != NGX_HTTP_CREATED) {
        return ngx_http_guildlog_response_result(call, result);
    }

    row = ngx_guildlog_db_result_value(result, 0, 1);

    return token_send(call, &row);
}


/* the row has the claims; the token itself is only here and in the answer */

static ngx_int_t
token_send(ngx_http_guildlog_call_t *call, ngx_str_t *row)
{
    ngx_str_t             text, body;
    ngx_http_request_t   *r;
    ngx_guildlog_json_t   w;
    ngx_guildlog_token_t  token;

    r = call->request;

    if (token_read(r->pool, row, &token) != NGX_OK) {
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
    ngx_guildlog_json_key(&w, "token");
    ngx_guildlog_json_string(&w, &text);
    ngx_guildlog_json_key(&w, "unique_id");
    ngx_guildlog_json_string(&w, &token.jti);
    ngx_guildlog_json_key(&w, "expires_at");
    ngx_guildlog_json_number(&w, (int64_t) token.exp * 1000);
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
           != 0)
    {
        return NGX_ERROR;
    }

    ngx_memzero(token, sizeof(ngx_guildlog_token_t));

    token->jti.data = (u_char *) jti;
    token->jti.len = ngx_strlen(jti);
    token->guild.data = (u_char *) guild;
    token->guild.len = ngx_strlen(guild);
    token->bot = ngx_strcmp(bot, "pro") == 0 ? NGX_GUILDLOG_BOT_PRO
                                             : NGX_GUILDLOG_BOT_MAIN;
    token->kind = kind;
    token->iat = iat;
    token->exp = exp;

    return NGX_OK;
}
