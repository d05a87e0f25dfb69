
/*
 * The live tail: listeners (stream.c), the feed that tells those of a worker
 * what has arrived in one database (feed.c), and the fetching (fetch.c).
 */

#ifndef _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "search/ngx_guildlog_match.h"


/* the arguments of a stream: token, guild, bot, kind, filters, last id */

#define NGX_HTTP_GUILDLOG_STREAM_TOKEN     0
#define NGX_HTTP_GUILDLOG_STREAM_GUILD     1
#define NGX_HTTP_GUILDLOG_STREAM_BOT       2
#define NGX_HTTP_GUILDLOG_STREAM_FILTERS   4
#define NGX_HTTP_GUILDLOG_STREAM_NFILTERS  9
#define NGX_HTTP_GUILDLOG_STREAM_LAST_ID   13


/* in the order of the filters */

enum {
    NGX_HTTP_GUILDLOG_STREAM_SEARCH = NGX_HTTP_GUILDLOG_STREAM_FILTERS,
    NGX_HTTP_GUILDLOG_STREAM_AFTER,
    NGX_HTTP_GUILDLOG_STREAM_BEFORE,
    NGX_HTTP_GUILDLOG_STREAM_CATEGORY,
    NGX_HTTP_GUILDLOG_STREAM_TYPE,
    NGX_HTTP_GUILDLOG_STREAM_CHANNEL,
    NGX_HTTP_GUILDLOG_STREAM_MEMBER,
    NGX_HTTP_GUILDLOG_STREAM_SIDE,
    NGX_HTTP_GUILDLOG_STREAM_ROLE
};


/* of fetch.c: what was read for those near the newest arrival */

typedef struct ngx_http_guildlog_news_s  ngx_http_guildlog_news_t;


/*
 * A server and bot somebody listens to; lives as long as that.  At most two
 * statements of it run at a time: one for all who are near the newest arrival,
 * and one for one of those who are far behind it.
 */

typedef struct {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;      /* of the feed */
    ngx_queue_t                    listeners;
    ngx_queue_t                    past;       /* listeners that are far behind;
                                                  the first is served */
    ngx_guildlog_db_pool_t           *pool;
    ngx_guildlog_db_query_t          *near_query;
    ngx_guildlog_db_query_t          *past_query;
    ngx_http_guildlog_news_t      *news;       /* NULL: nothing is judged */
    ngx_queue_t                    judged;     /* while there are news */
    ngx_event_t                    turn;       /* looks who is behind */
    int64_t                        since;      /* of the near query */
    int64_t                        arrival;    /* more than that is news */
    ngx_uint_t                     place;      /* in the last question */
    ngx_str_t                      guild;
    ngx_str_t                      bot;
    unsigned                       behind:1;   /* somebody may be */
    unsigned                       serving:1;  /* stays although nobody does */
} ngx_http_guildlog_topic_t;


/*
 * Events as they are sent, shared by all who get them.  Freed with the last
 * reference.
 */

typedef struct {
    ngx_uint_t                     refs;
    size_t                         len;
    u_char                        *data;
} ngx_http_guildlog_block_t;


/* lives in the pool of its request; the feed holds it from join to leave */

struct ngx_http_guildlog_listener_s {
    ngx_queue_t                    queue;      /* of its topic */
    ngx_queue_t                    turn;       /* of the past, or of those who
                                                  are served now */
    ngx_http_guildlog_topic_t     *topic;      /* NULL: not joined */
    ngx_http_guildlog_call_t      *call;
    ngx_guildlog_match_t           match;
    int64_t                        since;      /* the arrival reached */
    ngx_uint_t                     place;      /* in the last question */
    ngx_event_t                    heartbeat;
    ngx_http_guildlog_block_t     *block;      /* being sent */
    ngx_chain_t                   *free;
    ngx_chain_t                   *busy;
    unsigned                       sending:1;
    unsigned                       past:1;     /* in the queue of the past */
    unsigned                       served:1;   /* in a queue of these */
};


/* feed.c */

/* NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_feed_join(ngx_http_guildlog_listener_t *listener);
void ngx_http_guildlog_feed_leave(ngx_http_guildlog_listener_t *listener);


/* fetch.c */

ngx_int_t ngx_http_guildlog_fetch_init(ngx_http_guildlog_listener_t *listener,
    ngx_guildlog_db_result_t *result);

/* the listener has sent all it had: what it gets next comes by deliver() */
void ngx_http_guildlog_fetch_next(ngx_http_guildlog_listener_t *listener);
void ngx_http_guildlog_fetch_leave(ngx_http_guildlog_listener_t *listener);

void ngx_http_guildlog_fetch_create(ngx_http_guildlog_topic_t *topic);
void ngx_http_guildlog_fetch_turn(ngx_http_guildlog_topic_t *topic);

/* lets go of a topic that nobody listens to */
void ngx_http_guildlog_fetch_end(ngx_http_guildlog_topic_t *topic);

/* an empty one with room for so many bytes, or NULL */
ngx_http_guildlog_block_t *ngx_http_guildlog_block_create(size_t size);
void ngx_http_guildlog_block_free(ngx_http_guildlog_block_t *block);


/* stream.c: both may end the request, and the listener with it */

void ngx_http_guildlog_stream_deliver(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_block_t *block);
void ngx_http_guildlog_stream_end(ngx_http_guildlog_listener_t *listener);


#define ngx_http_guildlog_stream_each(q, h)                                   \
    for (q = ngx_queue_head(h);                                               \
         q != ngx_queue_sentinel(h);                                          \
         q = ngx_queue_next(q))


#endif /* _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_ */
