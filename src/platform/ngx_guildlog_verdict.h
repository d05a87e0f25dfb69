
/*
 * What an answer of the chat platform means.  Pure.
 */

#ifndef _NGX_GUILDLOG_VERDICT_H_INCLUDED_
#define _NGX_GUILDLOG_VERDICT_H_INCLUDED_


#include "client/ngx_guildlog_client_response.h"
#include "platform/ngx_guildlog_platform.h"


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


#endif /* _NGX_GUILDLOG_VERDICT_H_INCLUDED_ */
