
/*
 * The objects in the answers of the chat platform.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


#define NGX_GUILDLOG_PLATFORM_TOKEN  200         /* characters */
#define NGX_GUILDLOG_PLATFORM_GUILD  17          /* digits, at least */


static ngx_array_t *ngx_guildlog_platform_array(ngx_pool_t *pool,
    const ngx_str_t *body, size_t size, json_t **json);
static ngx_int_t ngx_guildlog_platform_text(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value);
static ngx_int_t ngx_guildlog_platform_id(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value);


ngx_array_t *
ngx_guildlog_platform_webhooks(ngx_pool_t *pool, const ngx_str_t *body)
{
    size_t                            i;
    json_t                           *json, *item;
    ngx_array_t                      *array;
    ngx_guildlog_platform_webhook_t  *webhook;

    array = ngx_guildlog_platform_array(pool, body,
                                     sizeof(ngx_guildlog_platform_webhook_t),
                                        &json);
    if (array == NULL) {
        return NULL;
    }

    json_array_foreach(json, i, item) {
        webhook = ngx_array_push(array);

        if (webhook == NULL
            || ngx_guildlog_platform_webhook(pool, item, webhook) != NGX_OK)
        {
            return NULL;
        }
    }

    return array;
}


ngx_array_t *
ngx_guildlog_platform_messages(ngx_pool_t *pool, const ngx_str_t *body)
{
    size_t                            i;
    json_t                           *json, *item;
    ngx_array_t                      *array;
    ngx_guildlog_platform_message_t  *message;

    array = ngx_guildlog_platform_array(pool, body,
                                     sizeof(ngx_guildlog_platform_message_t),
                                        &json);
    if (array == NULL) {
        return NULL;
    }

    json_array_foreach(json, i, item) {
        message = ngx_array_push(array);

        if (message == NULL
            || ngx_guildlog_platform_message(pool, item, message) != NGX_OK)
        {
            return NULL;
        }
    }

    return array;
}


ngx_int_t
ngx_guildlog_platform_guild(ngx_pool_t *pool, json_t *json,
    ngx_str_t *guild_id)
{
    ngx_str_null(guild_id);

    if (ngx_guildlog_platform_id(pool, json, "guild_id", guild_id)
        == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    if (guild_id->len < NGX_GUILDLOG_PLATFORM_GUILD) {
        ngx_str_null(guild_id);
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_webhook(ngx_pool_t *pool, json_t *json,
    ngx_guildlog_platform_webhook_t *webhook)
{
    ngx_memzero(webhook, sizeof(ngx_guildlog_platform_webhook_t));

    if (ngx_guildlog_platform_guild(pool, json, &webhook->guild_id) != NGX_OK
        || ngx_guildlog_platform_text(pool, json, "token", &webhook->token)
           == NGX_ERROR
        || ngx_guildlog_platform_text(pool, json, "name", &webhook->name)
           == NGX_ERROR
        || ngx_guildlog_platform_id(pool, json, "channel_id",
                                    &webhook->channel_id)
           == NGX_ERROR
        || ngx_guildlog_platform_id(pool, json, "application_id",
                                    &webhook->application_id)
           == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    if (!ngx_guildlog_platform_is_token(&webhook->token)) {
        ngx_str_null(&webhook->token);
    }

    return ngx_guildlog_platform_id(pool, json, "id", &webhook->id) == NGX_OK
           ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_guildlog_platform_message(ngx_pool_t *pool, json_t *json,
    ngx_guildlog_platform_message_t *message)
{
    json_t  *embeds, *embed;

    ngx_memzero(message, sizeof(ngx_guildlog_platform_message_t));

    embeds = json_object_get(json, "embeds");
    embed = json_array_size(embeds)
            ? json_array_get(embeds, json_array_size(embeds) - 1) : NULL;

    if (ngx_guildlog_platform_id(pool, json, "channel_id",
                                 &message->channel_id)
            == NGX_ERROR
        || ngx_guildlog_platform_id(pool, json, "webhook_id",
                                    &message->webhook_id)
           == NGX_ERROR
        || ngx_guildlog_platform_text(pool, json, "content",
                                      &message->content)
           == NGX_ERROR
        || ngx_guildlog_platform_text(pool, json_object_get(embed, "footer"),
                                      "text", &message->footer)
           == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    return ngx_guildlog_platform_id(pool, json, "id", &message->id) == NGX_OK
           ? NGX_OK : NGX_ERROR;
}


static ngx_array_t *
ngx_guildlog_platform_array(ngx_pool_t *pool, const ngx_str_t *body,
    size_t size, json_t **json)
{
    ngx_str_t  error;

    *json = ngx_guildlog_json_parse(pool, body, &error);

    if (!json_is_array(*json)) {
        return NULL;
    }

    return ngx_array_create(pool, ngx_max(json_array_size(*json), 1), size);
}


/* NGX_DECLINED: there is none */

static ngx_int_t
ngx_guildlog_platform_text(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value)
{
    json_t     *string;
    ngx_str_t   text;

    string = json_object_get(object, name);

    if (!json_is_string(string)) {
        return NGX_DECLINED;
    }

    text = ngx_guildlog_json_text(string);

    value->data = ngx_pstrdup(pool, &text);
    if (value->data == NULL) {
        return NGX_ERROR;
    }

    value->len = text.len;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_platform_id(ngx_pool_t *pool, json_t *object, const char *name,
    ngx_str_t *value)
{
    ngx_int_t  rc;

    rc = ngx_guildlog_platform_text(pool, object, name, value);

    if (rc == NGX_OK && !ngx_guildlog_value_is_id(value)) {
        ngx_str_null(value);
        return NGX_DECLINED;
    }

    return rc;
}


ngx_uint_t
ngx_guildlog_platform_is_token(const ngx_str_t *token)
{
    u_char  c;
    size_t  i;

    for (i = 0; i < token->len; i++) {
        c = ngx_tolower(token->data[i]);

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')
            && c != '-' && c != '_' && c != '.')
        {
            return 0;
        }
    }

    return i > 0 && i <= NGX_GUILDLOG_PLATFORM_TOKEN;
}
