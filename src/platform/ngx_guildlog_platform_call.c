
/*
 * What the chat platform is asked: a method, a path and a body.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


static ngx_int_t platform_call_of_bot(ngx_pool_t *pool, const char *method,
    const char *path, const ngx_str_t *channel_id, const ngx_str_t *after_id,
    ngx_guildlog_platform_request_t *request);
static ngx_int_t platform_call_of_webhook(ngx_pool_t *pool, const char *method,
    const char *path, const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
static ngx_int_t platform_call_make(ngx_pool_t *pool, const char *method,
    const char *path, const ngx_str_t *one, const ngx_str_t *two,
    ngx_guildlog_platform_request_t *request);


static const ngx_str_t  platform_call_none = ngx_null_string;


ngx_int_t
ngx_guildlog_platform_call_execute(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request)
{
    return platform_call_of_webhook(pool, "POST",
               "/webhooks/%V/%V?wait=true&with_components=true",
               webhook_id, token, request);
}


ngx_int_t
ngx_guildlog_platform_call_list(ngx_pool_t *pool, const ngx_str_t *channel_id,
    ngx_guildlog_platform_request_t *request)
{
    return platform_call_of_bot(pool, "GET", "/channels/%V/webhooks",
                                channel_id, &platform_call_none, request);
}


ngx_int_t
ngx_guildlog_platform_call_create(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *name, ngx_guildlog_platform_request_t *request)
{
    ngx_guildlog_json_t  w;

    if (platform_call_of_bot(pool, "POST", "/channels/%V/webhooks", channel_id,
                             &platform_call_none, request)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

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
    return platform_call_of_bot(pool, "GET", "/channels/%V",
                                channel_id, &platform_call_none, request);
}


ngx_int_t
ngx_guildlog_platform_call_look(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, ngx_guildlog_platform_request_t *request)
{
    return platform_call_of_webhook(pool, "GET", "/webhooks/%V/%V",
                                    webhook_id, token, request);
}


ngx_int_t
ngx_guildlog_platform_call_delete(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, ngx_guildlog_platform_request_t *request)
{
    return platform_call_of_webhook(pool, "DELETE", "/webhooks/%V/%V",
                                    webhook_id, token, request);
}


ngx_int_t
ngx_guildlog_platform_call_read(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *after_id, ngx_guildlog_platform_request_t *request)
{
    return platform_call_of_bot(pool, "GET",
               after_id->len ? "/channels/%V/messages?after=%V&limit=100"
                             : "/channels/%V/messages?limit=100",
               channel_id, after_id, request);
}


static ngx_int_t
platform_call_of_bot(ngx_pool_t *pool, const char *method, const char *path,
    const ngx_str_t *channel_id, const ngx_str_t *after_id,
    ngx_guildlog_platform_request_t *request)
{
    if (!ngx_guildlog_value_is_id(channel_id)
        || (after_id->len && !ngx_guildlog_value_is_id(after_id)))
    {
        return NGX_ERROR;
    }

    if (platform_call_make(pool, method, path, channel_id, after_id, request)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    request->bot = 1;

    return NGX_OK;
}


/* the token of a webhook is enough: neither a bot nor a permission is needed */

static ngx_int_t
platform_call_of_webhook(ngx_pool_t *pool, const char *method, const char *path,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request)
{
    if (!ngx_guildlog_value_is_id(webhook_id)
        || !ngx_guildlog_platform_is_token(token))
    {
        return NGX_ERROR;
    }

    return platform_call_make(pool, method, path, webhook_id, token, request);
}


/* path: with a "%V" for each of the strings; one that is left over is empty */

static ngx_int_t
platform_call_make(ngx_pool_t *pool, const char *method, const char *path,
    const ngx_str_t *one, const ngx_str_t *two,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    p = ngx_pnalloc(pool, ngx_strlen(path) + one->len + two->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = method;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, path, one, two) - p;

    return NGX_OK;
}
