
/*
 * What is said to the chat platform, and what its answers mean.  Pure.
 */

#ifndef _NGX_GUILDLOG_VERDICT_H_INCLUDED_
#define _NGX_GUILDLOG_VERDICT_H_INCLUDED_


#include "client/ngx_guildlog_client_response.h"
#include "base/ngx_guildlog_json.h"


/* while an address is blocked nothing is sent from it for so long, ms */
#define NGX_GUILDLOG_PLATFORM_BLOCK  600000


/* bits: a row of the table of answers has several */

typedef enum {
    NGX_GUILDLOG_CALL_EXECUTE = 1,   /* a message, to a webhook */
    NGX_GUILDLOG_CALL_LIST = 2,      /* a channel's webhooks */
    NGX_GUILDLOG_CALL_CREATE = 4,    /* a webhook */
    NGX_GUILDLOG_CALL_DELETE = 8,    /* a webhook */
    NGX_GUILDLOG_CALL_READ = 16,     /* a channel's messages */
    NGX_GUILDLOG_CALL_CHANNEL = 32,  /* a channel: whose it is */
    NGX_GUILDLOG_CALL_WEBHOOK = 64   /* a webhook: the same */
} ngx_guildlog_platform_call_e;


typedef enum {
    NGX_GUILDLOG_PLATFORM_DONE = 0,      /* applied: the ids are there */
    NGX_GUILDLOG_PLATFORM_DOUBT,         /* may have been applied */
    NGX_GUILDLOG_PLATFORM_AGAIN,         /* was not; later, as it is */
    NGX_GUILDLOG_PLATFORM_LIMITED,       /* was not; after retry_after_ms */
    NGX_GUILDLOG_PLATFORM_BLOCKED,       /* nobody from this address */
    NGX_GUILDLOG_PLATFORM_POISON,        /* refused for what is in it */
    NGX_GUILDLOG_PLATFORM_SHRINK,        /* refused for its size */
    NGX_GUILDLOG_PLATFORM_CONTENT,       /* refused by a word filter */
    NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE,  /* never to be used again */
    NGX_GUILDLOG_PLATFORM_CHANNEL_GONE,  /* or of the wrong kind */
    NGX_GUILDLOG_PLATFORM_FORBIDDEN,     /* a permission is missing */
    NGX_GUILDLOG_PLATFORM_TOKEN_BAD,     /* the bot's */
    NGX_GUILDLOG_PLATFORM_FULL           /* no room for another webhook */
} ngx_guildlog_platform_class_e;


typedef enum {
    NGX_GUILDLOG_SCOPE_USER = 0,     /* the webhook, or the bot's route */
    NGX_GUILDLOG_SCOPE_SHARED,       /* the channel, whoever writes to it */
    NGX_GUILDLOG_SCOPE_GLOBAL        /* everything of this address or bot */
} ngx_guildlog_platform_scope_e;


typedef struct {
    ngx_guildlog_platform_class_e  class;
    const char                    *reason;   /* a word for log and metrics */
    ngx_uint_t                     code;     /* of the platform; 0: none */

    ngx_uint_t                     retry_after_ms;  /* limited, blocked */
    ngx_uint_t                     pause_ms; /* for the whole address */
    ngx_guildlog_platform_scope_e  scope;    /* limited */

    ngx_int_t                      embed;    /* poison: which; -1: unknown */

    /* done: of the message sent; of the webhook created, with its token; the
       server of a channel or webhook, where that is told */
    ngx_str_t                      message_id;
    ngx_str_t                      guild_id;
    ngx_str_t                      channel_id;
    ngx_str_t                      webhook_id;
    ngx_str_t                      application_id;
    ngx_str_t                      token;

    /* of the bucket, -1: not said */
    ngx_int_t                      remaining;
    ngx_int_t                      reset_after_ms;

    unsigned                       failed:1;   /* no answer, or one that says
                                                that the platform is ill */
    unsigned                       invalid:1;  /* counts as a bad request */
    unsigned                       refused:1;  /* and so for its server */
} ngx_guildlog_verdict_t;


/* strings of the verdict live as long as the pool */

void ngx_guildlog_platform_judge(ngx_pool_t *pool,
    const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict);


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


/* for ngx_guildlog_client_send() */

typedef struct {
    const char                    *method;
    ngx_str_t                      path;
    ngx_str_t                      body;
    unsigned                       bot:1;    /* with the bot's token */
} ngx_guildlog_platform_request_t;

/* NGX_ERROR: out of memory, or an id or token is none */

/* the body is the message, and not set here */
ngx_int_t ngx_guildlog_platform_execute(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_list(ngx_pool_t *pool,
    const ngx_str_t *channel_id, ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_create(ngx_pool_t *pool,
    const ngx_str_t *channel_id, const ngx_str_t *name,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_channel(ngx_pool_t *pool,
    const ngx_str_t *channel_id, ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_look(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
ngx_int_t ngx_guildlog_platform_delete(ngx_pool_t *pool,
    const ngx_str_t *webhook_id, const ngx_str_t *token,
    ngx_guildlog_platform_request_t *request);
/* the 100 next to that one, or (empty) the newest 100, the newest first */
ngx_int_t ngx_guildlog_platform_read(ngx_pool_t *pool,
    const ngx_str_t *channel_id, const ngx_str_t *after_id,
    ngx_guildlog_platform_request_t *request);


#endif /* _NGX_GUILDLOG_VERDICT_H_INCLUDED_ */
