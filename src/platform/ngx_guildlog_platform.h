
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
    ngx_str_t                      body;
    unsigned                       bot:1;    /* with the bot's token */
} ngx_guildlog_platform_request_t;

/* NGX_ERROR: out of memory, or an id or token is none */

/* the body is the message, and not set here */
ngx_int_t ngx_guildlog_platform_call_execute(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_call_list(ngx_pool_t *pool,
    const ngx_str_t *channel_id, ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_call_create(ngx_pool_t *pool,
    const ngx_str_t *channel_id, const ngx_str_t *name,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_call_channel(ngx_pool_t *pool,
    const ngx_str_t *channel_id, ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_call_look(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_call_delete(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
/* the 100 next to that one, or (empty) the newest 100, the newest first */
ngx_int_t ngx_guildlog_platform_call_read(ngx_pool_t *pool,
    const ngx_str_t *channel_id, const ngx_str_t *after_id,
    ngx_guildlog_platform_request_t *request);


/* what the platform answers with; empty: not said, or not valid */

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

/* of a LIST or READ that is DONE; NULL: out of memory, or no such list */
ngx_array_t *ngx_guildlog_platform_webhooks(ngx_pool_t *pool,
    const ngx_str_t *body);
ngx_array_t *ngx_guildlog_platform_messages(ngx_pool_t *pool,
    const ngx_str_t *body);

/* of a channel or webhook; NGX_ERROR: out of memory.  Empty: it is not told */
ngx_int_t ngx_guildlog_platform_guild(ngx_pool_t *pool, json_t *json,
    ngx_str_t *guild_id);

/* NGX_ERROR: out of memory, or it has no id */
ngx_int_t ngx_guildlog_platform_webhook(ngx_pool_t *pool, json_t *json,
    ngx_guildlog_platform_webhook_t *webhook);
ngx_int_t ngx_guildlog_platform_message(ngx_pool_t *pool, json_t *json,
    ngx_guildlog_platform_message_t *message);

/* may it stand in a path? */
ngx_uint_t ngx_guildlog_platform_is_token(const ngx_str_t *token);


#endif /* _NGX_GUILDLOG_PLATFORM_H_INCLUDED_ */
