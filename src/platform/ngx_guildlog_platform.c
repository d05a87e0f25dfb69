
/*
 * The objects in the answers of the chat platform.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


#define PLATFORM_TOKEN  200         /* characters */


/* the token of a webhook is enough: neither a bot nor a permission is needed */

#define PLATFORM_CALL_BY_TOKEN  (NGX_GUILDLOG_CALL_EXECUTE                    \
                                 |NGX_GUILDLOG_CALL_DELETE                    \
                                 |NGX_GUILDLOG_CALL_WEBHOOK)

/* READ, where there is no message to begin behind */

#define PLATFORM_CALL_NEWEST  "/channels/%V/messages?limit=100"


typedef struct {
    ngx_guildlog_platform_call_e   call;
    const char                    *method;
    const char                    *path;     /* with the id, and what else */
} platform_call_t;


static ngx_array_t *platform_array(ngx_pool_t *pool, const json_t *json,
    size_t size);
static ngx_str_t platform_id(const json_t *object, const char *name);
static ngx_uint_t platform_is_token(const ngx_str_t *token);


static const platform_call_t  platform_calls[] = {
    { NGX_GUILDLOG_CALL_EXECUTE, "POST",
      "/webhooks/%V/%V?wait=true&with_components=true" },
    { NGX_GUILDLOG_CALL_LIST, "GET", "/channels/%V/webhooks" },
    { NGX_GUILDLOG_CALL_CREATE, "POST", "/channels/%V/webhooks" },
    { NGX_GUILDLOG_CALL_DELETE, "DELETE", "/webhooks/%V/%V" },
    { NGX_GUILDLOG_CALL_READ, "GET",
      "/channels/%V/messages?after=%V&limit=100" },
    { NGX_GUILDLOG_CALL_CHANNEL, "GET", "/channels/%V" },
    { NGX_GUILDLOG_CALL_WEBHOOK, "GET", "/webhooks/%V/%V" }
};


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

    if (!platform_is_token(&webhook->token)) {
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


/* may it stand in a path? */

static ngx_uint_t
platform_is_token(const ngx_str_t *token)
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


/*
 * What the chat platform is asked: a method, a path and a body.
 */

ngx_int_t
ngx_guildlog_platform_call(ngx_pool_t *pool, ngx_guildlog_platform_call_e call,
    const ngx_str_t *id, const ngx_str_t *more,
    ngx_guildlog_platform_request_t *request)
{
    u_char                 *p;
    const char             *path;
    const platform_call_t  *row;

    for (row = platform_calls; row->call != call; row++) { /* void */ }

    path = (call == NGX_GUILDLOG_CALL_READ && more->len == 0)
           ? PLATFORM_CALL_NEWEST : row->path;

    if (!ngx_guildlog_value_is_id(id)
        || ((call & PLATFORM_CALL_BY_TOKEN)
            && !platform_is_token(more))
        || (call == NGX_GUILDLOG_CALL_READ && more->len
            && !ngx_guildlog_value_is_id(more)))
    {
        return NGX_ERROR;
    }

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    ngx_str_set(&request->type, "application/json");

    if (call == NGX_GUILDLOG_CALL_CREATE) {
        request->body = *more;
        more = NULL;
    }

    p = ngx_pnalloc(pool, ngx_strlen(path) + id->len + (more ? more->len : 0));
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = row->method;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, path, id, more) - p;
    request->bot = !(call & PLATFORM_CALL_BY_TOKEN);

    return NGX_OK;
}
