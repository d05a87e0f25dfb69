
/*
 * The objects in the answers of the chat platform.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


#define PLATFORM_TOKEN  200         /* characters */


static ngx_array_t *platform_array(ngx_pool_t *pool, const json_t *json,
    size_t size);
static ngx_str_t platform_id(const json_t *object, const char *name);


ngx_array_t *
ngx_guildlog_platform_webhooks(ngx_pool_t *pool, const json_t *json)
{
    size_t                            i;
    json_t                           *item;
    ngx_array_t                      *array;
    ngx_guildlog_platform_webhook_t  *webhook;

    array = platform_array(pool, json, sizeof(ngx_guildlog_platform_webhook_t));
    if (array == NULL) {
        return NULL;
    }

    webhook = array->elts;

    json_array_foreach(json, i, item) {
        if (ngx_guildlog_platform_webhook(item, &webhook[i]) != NGX_OK) {
            return NULL;
        }
    }

    return array;
}


ngx_array_t *
ngx_guildlog_platform_messages(ngx_pool_t *pool, const json_t *json)
{
    size_t                            i;
    json_t                           *item;
    ngx_array_t                      *array;
    ngx_guildlog_platform_message_t  *message;

    array = platform_array(pool, json, sizeof(ngx_guildlog_platform_message_t));
    if (array == NULL) {
        return NULL;
    }

    message = array->elts;

    json_array_foreach(json, i, item) {
        if (ngx_guildlog_platform_message(item, &message[i]) != NGX_OK) {
            return NULL;
        }
    }

    return array;
}


/* room for all of the list */

static ngx_array_t *
platform_array(ngx_pool_t *pool, const json_t *json, size_t size)
{
    ngx_array_t  *array;

    if (!json_is_array(json)) {
        return NULL;
    }

    array = ngx_array_create(pool, ngx_max(json_array_size(json), 1), size);

    if (array) {
        array->nelts = json_array_size(json);
    }

    return array;
}


ngx_str_t
ngx_guildlog_platform_guild(const json_t *json)
{
    ngx_str_t  id;

    id = platform_id(json, "guild_id");

    if (id.len < NGX_GUILDLOG_VALUE_GUILD) {
        ngx_str_null(&id);
    }

    return id;
}


ngx_int_t
ngx_guildlog_platform_webhook(const json_t *json,
    ngx_guildlog_platform_webhook_t *webhook)
{
    webhook->id = platform_id(json, "id");
    webhook->token = ngx_guildlog_json_text(json_object_get(json, "token"));
    webhook->name = ngx_guildlog_json_text(json_object_get(json, "name"));
    webhook->guild_id = ngx_guildlog_platform_guild(json);
    webhook->channel_id = platform_id(json, "channel_id");
    webhook->application_id = platform_id(json, "application_id");

    if (!ngx_guildlog_platform_is_token(&webhook->token)) {
        ngx_str_null(&webhook->token);
    }

    return webhook->id.len ? NGX_OK : NGX_DECLINED;
}


ngx_int_t
ngx_guildlog_platform_message(const json_t *json,
    ngx_guildlog_platform_message_t *message)
{
    size_t   n;
    json_t  *embeds, *footer;

    embeds = json_object_get(json, "embeds");
    n = json_array_size(embeds);
    footer = n ? json_object_get(json_array_get(embeds, n - 1), "footer")
               : NULL;

    message->id = platform_id(json, "id");
    message->channel_id = platform_id(json, "channel_id");
    message->webhook_id = platform_id(json, "webhook_id");
    message->content = ngx_guildlog_json_text(json_object_get(json, "content"));
    message->footer = ngx_guildlog_json_text(json_object_get(footer, "text"));

    return message->id.len ? NGX_OK : NGX_DECLINED;
}


static ngx_str_t
platform_id(const json_t *object, const char *name)
{
    ngx_str_t  id;

    id = ngx_guildlog_json_text(json_object_get(object, name));

    if (!ngx_guildlog_value_is_id(&id)) {
        ngx_str_null(&id);
    }

    return id;
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

    return i > 0 && i <= PLATFORM_TOKEN;
}
