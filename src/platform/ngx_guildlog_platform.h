
/*
 * What the chat platform is asked, the objects in its answers, and what these
 * mean.  Pure.
 */

#ifndef _NGX_GUILDLOG_PLATFORM_H_INCLUDED_
#define _NGX_GUILDLOG_PLATFORM_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "client/ngx_guildlog_client_response.h"


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
    ngx_str_t                      type;     /* of the body */
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


/* what an answer means */

/* ms for which nothing is sent from an address that is blocked */
#define NGX_GUILDLOG_VERDICT_BLOCK_MS  600000


typedef enum {
    NGX_GUILDLOG_VERDICT_DONE = 0,      /* applied: the ids are there */
    NGX_GUILDLOG_VERDICT_DOUBT,         /* may have been applied */
    NGX_GUILDLOG_VERDICT_AGAIN,         /* was not; later, as it is */
    NGX_GUILDLOG_VERDICT_LIMITED,       /* was not; after retry_after_ms */
    NGX_GUILDLOG_VERDICT_BLOCKED,       /* nobody from this address */
    NGX_GUILDLOG_VERDICT_POISON,        /* refused for what is in it */
    NGX_GUILDLOG_VERDICT_SHRINK,        /* refused for its size */
    NGX_GUILDLOG_VERDICT_CONTENT,       /* refused by a word filter */
    NGX_GUILDLOG_VERDICT_WEBHOOK_GONE,  /* never to be used again */
    NGX_GUILDLOG_VERDICT_CHANNEL_GONE,  /* or of the wrong kind */
    NGX_GUILDLOG_VERDICT_FORBIDDEN,     /* a permission is missing */
    NGX_GUILDLOG_VERDICT_TOKEN_BAD,     /* the bot's */
    NGX_GUILDLOG_VERDICT_FULL           /* no room for another webhook */
} ngx_guildlog_verdict_class_e;


typedef enum {
    NGX_GUILDLOG_SCOPE_USER = 0,     /* the webhook, or the bot's route */
    NGX_GUILDLOG_SCOPE_SHARED,       /* the channel, whoever writes to it */
    NGX_GUILDLOG_SCOPE_GLOBAL        /* everything of this address or bot */
} ngx_guildlog_verdict_scope_e;


typedef struct {
    ngx_guildlog_verdict_class_e   class;
    const char                    *reason;   /* a word for log and metrics */
    ngx_uint_t                     code;     /* of the platform; 0: none */
    json_t                        *json;     /* the body; NULL: not JSON */

    ngx_uint_t                     retry_after_ms;  /* limited, blocked */
    ngx_uint_t                     pause_ms; /* for the whole address */
    ngx_guildlog_verdict_scope_e   scope;    /* limited */

    ngx_int_t                      embed;    /* poison: which; -1: unknown */

    /* DONE: the ids of the message that was sent, or of the webhook that was
       created and its token, or of the guild of a channel or webhook */
    ngx_str_t                      message_id;
    ngx_str_t                      guild_id;
    ngx_str_t                      channel_id;
    ngx_str_t                      webhook_id;
    ngx_str_t                      application_id;
    ngx_str_t                      token;

    /* of the bucket of the rate limit; -1: the answer does not tell */
    ngx_int_t                      remaining;
    ngx_int_t                      reset_after_ms;

    unsigned                       failed:1;   /* no answer, or one that says
                                                that the platform is ill */
    unsigned                       invalid:1;  /* the platform counts it as a
                                                  bad request */
    unsigned                       refused:1;  /* it counts as a bad request of
                                                  its guild */
} ngx_guildlog_verdict_t;


/* the verdict's tree and strings live as long as the pool */

void ngx_guildlog_verdict(ngx_pool_t *pool,
    const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict);


#endif /* _NGX_GUILDLOG_PLATFORM_H_INCLUDED_ */
