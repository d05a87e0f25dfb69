
/*
 * A question that a request asks the platform.  It counts in what this
 * machine's address may send, and waits until the pace lets it.
 */

#ifndef _NGX_HTTP_GUILDLOG_ASK_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_ASK_H_INCLUDED_


#include "http/ngx_http_guildlog.h"
#include "platform/ngx_guildlog_platform.h"


typedef struct {
    NGX_GUILDLOG_EVENT_IDENT;

    /* set by who asks, and not changed before there is an answer */
    ngx_guildlog_platform_request_t  request;
    ngx_str_t                      authorization;
    ngx_guildlog_asks_e            who;
    ngx_uint_t                     rank;     /* who has less comes first */
    ngx_msec_t                     answer;   /* ms for it; 0: what is left */

    /* called once, from the event loop.  response: NULL: it was not sent, and
       the phrase says why */
    void                         (*handler)(void *data,
                                       ngx_guildlog_client_response_t *response,
                                       const char *phrase);
    void                          *data;

    /* its own, zeroed at first */
    ngx_queue_t                    queue;
    ngx_event_t                    timer;
    ngx_msec_t                     until;
    ngx_guildlog_client_exchange_t  *exchange;
    unsigned                       waits:1;  /* in the line */
    unsigned                       late:1;   /* not sent: the pace let others */
} ngx_http_guildlog_ask_t;


/* ms: until it is sent; or answered, if it has no ms for that */
void ngx_http_guildlog_ask_start(ngx_http_guildlog_ask_t *ask, ngx_msec_t ms);

/* the handler will not be called */
void ngx_http_guildlog_ask_cancel(ngx_http_guildlog_ask_t *ask);

/* what an answer says of the platform, and of this address; 0 ms: no pause */
void ngx_http_guildlog_ask_told(ngx_uint_t failed, ngx_uint_t invalid,
    ngx_msec_t pause_ms);


#endif /* _NGX_HTTP_GUILDLOG_ASK_H_INCLUDED_ */
