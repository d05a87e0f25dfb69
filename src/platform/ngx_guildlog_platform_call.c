
/*
 * What the chat platform is asked: a method, a path and a body.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


static ngx_int_t ngx_guildlog_platform_call_by_token(ngx_pool_t *pool,
    const char *method, const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);


ngx_int_t
ngx_guildlog_platform_call_execute(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_value_is_id(webhook_id)
        || !ngx_guildlog_platform_is_token(token))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/webhooks//?wait=true&with_components=true")
                          - 1 + webhook_id->len + token->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "POST";
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/webhooks/%V/%V?wait=true"
                                       "&with_components=true",
                                    webhook_id, token)
                        - p;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_call_list(ngx_pool_t *pool, const ngx_str_t *channel_id,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_value_is_id(channel_id)) {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/channels//webhooks") - 1
                          + channel_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "GET";
    request->bot = 1;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/channels/%V/webhooks", channel_id)
                        - p;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_call_create(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *name, ngx_guildlog_platform_request_t *request)
{
    ngx_guildlog_json_t  w;

    if (ngx_guildlog_platform_call_list(pool, channel_id, request) != NGX_OK) {
        return NGX_ERROR;
    }

    request->method = "POST";

    ngx_guildlog_json_init(&w, pool, 128);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "name");
    ngx_guildlog_json_string(&w, name);
    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, &request->body);
}


ngx_int_t
ngx_guildlog_platform_call_channel(ngx_pool_t *pool,
    const ngx_str_t *channel_id, ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_value_is_id(channel_id)) {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/channels/") - 1 + channel_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "GET";
    request->bot = 1;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/channels/%V", channel_id) - p;

    return NGX_OK;
}


/* by its token: that needs neither a bot nor a permission */

ngx_int_t
ngx_guildlog_platform_call_look(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, ngx_guildlog_platform_request_t *request)
{
    return ngx_guildlog_platform_call_by_token(pool, "GET", webhook_id, token,
                                          request);
}


ngx_int_t
ngx_guildlog_platform_call_delete(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, ngx_guildlog_platform_request_t *request)
{
    return ngx_guildlog_platform_call_by_token(pool, "DELETE", webhook_id, token,
                                          request);
}


static ngx_int_t
ngx_guildlog_platform_call_by_token(ngx_pool_t *pool, const char *method,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_value_is_id(webhook_id)
        || !ngx_guildlog_platform_is_token(token))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/webhooks//") - 1
                          + webhook_id->len + token->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = method;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/webhooks/%V/%V", webhook_id, token)
                        - p;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_call_read(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *after_id, ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_value_is_id(channel_id)
        || (after_id->len && !ngx_guildlog_value_is_id(after_id)))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/channels//messages?after=&limit=100") - 1
                          + channel_id->len + after_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "GET";
    request->bot = 1;
    request->path.data = p;

    p = ngx_sprintf(p, "/channels/%V/messages?", channel_id);

    if (after_id->len) {
        p = ngx_sprintf(p, "after=%V&", after_id);
    }

    p = ngx_cpymem(p, "limit=100", sizeof("limit=100") - 1);

    request->path.len = p - request->path.data;

    return NGX_OK;
}
