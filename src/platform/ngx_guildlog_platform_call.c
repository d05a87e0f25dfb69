
/*
 * What the chat platform is asked: a method, a path and a body.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


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
            && !ngx_guildlog_platform_is_token(more))
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
