
/*
 * What the chat platform is asked, and the objects in its answers.  Pure.
 */

#ifndef _NGX_GUILDLOG_PLATFORM_H_INCLUDED_
#define _NGX_GUILDLOG_PLATFORM_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


/* bits: a row of the table of verdicts has several */

typedef enum {
    NGX_GUILDLOG_CALL_EXECUTE = 1,   /* a message, to a webhook */
    NGX_GUILDLOG_CALL_LIST = 2,      /* a channel's webhooks */
    NGX_GUILDLOG_CALL_CREATE = 4,    /* a webhook */
    NGX_GUILDLOG_CALL_DELETE = 8,    /* a webhook */
    NGX_GUILDLOG_CALL_READ = 16,     /* a channel's messages */
    NGX_GUILDLOG_CALL_CHANNEL = 32,  /* a channel: whose it is */
    NGX_GUILDLOG_CALL_WEBHOOK = 64   /* a webhook: the same */
} ngx_guildlog_platform_call_e;


/* for ngx_guildlog_client_send() */

typedef struct {
    const char                    *method;
    ngx_str_t                      path;
    ngx_str_t                      type;     /* of the body: JSON */
    ngx_str_t                      body;
    unsigned                       bot:1;    /* with the bot's token */
} ngx_guildlog_platform_request_t;

/*
 * The request of a call.  id: of the channel, or of the webhook.  more: the
 * token of the webhook; the new one in JSON; the message behind which 100 are
 * read, or nothing, for the newest 100.  The body of EXECUTE is the caller's.
 * NGX_ERROR: out of memory, or an id or token is none.
 */
ngx_int_t ngx_guildlog_platform_call(ngx_pool_t *pool,
    ngx_guildlog_platform_call_e call, const ngx_str_t *id,
    const ngx_str_t *more, ngx_guildlog_platform_request_t *request);


/*
 * What the platform answers with.  A string is empty where it is absent or not
 * valid; it lives as long as the tree that it was read from.
 */

typedef struct {
    ngx_str_t                      id;
    ngx_str_t                      token;
    ngx_str_t                      name;
    ngx_str_t                      guild_id;
    ngx_str_t                      channel_id;
    ngx_str_t                      application_id;
} ngx_guildlog_platform_webhook_t;

typedef struct {
    ngx_str_t                      id;
    ngx_str_t                      channel_id;
    ngx_str_t                      webhook_id;
    ngx_str_t                      content;
    ngx_str_t                      footer;   /* of the last embed */
} ngx_guildlog_platform_message_t;

/* the answer to LIST or READ; NULL: out of memory, or an item has no id */
ngx_array_t *ngx_guildlog_platform_webhooks(ngx_pool_t *pool,
    const json_t *json);
ngx_array_t *ngx_guildlog_platform_messages(ngx_pool_t *pool,
    const json_t *json);

/* the id of the guild that a channel or a webhook belongs to */
ngx_str_t ngx_guildlog_platform_guild(const json_t *json);

/* NGX_DECLINED: it has no id */
ngx_int_t ngx_guildlog_platform_webhook(const json_t *json,
    ngx_guildlog_platform_webhook_t *webhook);
ngx_int_t ngx_guildlog_platform_message(const json_t *json,
    ngx_guildlog_platform_message_t *message);


#endif /* _NGX_GUILDLOG_PLATFORM_H_INCLUDED_ */
