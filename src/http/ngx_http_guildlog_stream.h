
/*
 * The live tail.  Listeners (stream.c) join the feed of their database, which
 * hears what has arrived.  Of the listeners of a topic who are behind some are
 * chosen.  What they lack is read, and judged for each listener who lacks any
 * of it.  All of these are in stream_feed.c.
 */

#ifndef _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_


#include "http/ngx_http_guildlog_search.h"


/* the arguments of the route: token, guild, bot, kind, filters, last id */

#define NGX_HTTP_GUILDLOG_STREAM_TOKEN     0
#define NGX_HTTP_GUILDLOG_STREAM_GUILD     1
#define NGX_HTTP_GUILDLOG_STREAM_BOT       2
#define NGX_HTTP_GUILDLOG_STREAM_LAST_ID   NGX_HTTP_GUILDLOG_FILTER_LAST

/* that of logs_begin() behind the kind */
#define NGX_HTTP_GUILDLOG_STREAM_BEGIN     4


typedef struct ngx_http_guildlog_topic_s  ngx_http_guildlog_topic_t;


/*
 * Events as they are sent, shared by all listeners who get them.  Freed with
 * the last reference.
 */

typedef struct {
    ngx_uint_t                     refs;
    size_t                         len;
    u_char                        *data;
} ngx_http_guildlog_block_t;


typedef struct {
    int64_t                        arrival;
    u_char                        *event;      /* in the block */
    size_t                         len;
    ngx_str_t                      text;       /* the document, in the block */
    ngx_guildlog_match_doc_t       doc;
    unsigned                       read:1;     /* doc or bad is set */
    unsigned                       bad:1;      /* the document is none */
} ngx_http_guildlog_event_t;


/* the rows of one answer, until all listeners have them; in the pool */

typedef struct {
    ngx_pool_t                    *pool;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_event_t     *events;
    ngx_uint_t                     n;

    int64_t                        until;      /* arrival of the last event */
    ngx_queue_t                    served;     /* listeners who wait for it */

    /* the first of these, as far as it is judged */

    ngx_http_guildlog_listener_t  *listener;   /* NULL: none is begun */
    ngx_uint_t                     next;       /* event to be judged */
    ngx_uint_t                    *fits;       /* events that fit */
    ngx_uint_t                     nfits;
    size_t                         size;       /* bytes of these events */
} ngx_http_guildlog_news_t;


/*
 * A guild and bot somebody listens to; lives as long as that.  One statement
 * of it runs at a time, in rounds: for all who are near the newest arrival, and
 * for one of those who are far behind it.
 */

struct ngx_http_guildlog_topic_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;      /* of the feed */
    ngx_queue_t                    listeners;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_query_t       *query;
    ngx_http_guildlog_news_t      *news;       /* NULL: nothing is judged */
    ngx_queue_t                    judged;     /* while there are news */
    ngx_event_t                    look;       /* timer: who is behind? */
    int64_t                        since;      /* of the query */
    int64_t                        arrival;    /* more than that is news */
    ngx_uint_t                     rounds;     /* of those far behind */
    ngx_uint_t                     failed;     /* in whose name, by number */
    ngx_uint_t                     place;      /* in the last question */
    ngx_str_t                      guild;
    ngx_str_t                      bot;
    unsigned                       behind:1;   /* a listener may be behind */
    unsigned                       near:1;     /* they had the last turn */
    unsigned                       serving:1;  /* not to be freed now */
};


/* lives in the pool of its request; the feed holds it from join to leave */

struct ngx_http_guildlog_listener_s {
    ngx_queue_t                    queue;      /* of its topic */
    ngx_queue_t                    link;       /* while it is served */
    ngx_http_guildlog_topic_t     *topic;      /* NULL: not joined */
    ngx_http_guildlog_call_t      *call;
    ngx_guildlog_match_t           match;
    int64_t                        since;      /* the arrival reached */
    ngx_uint_t                     round;      /* the last one it had */
    ngx_uint_t                     place;      /* in the last question */
    ngx_event_t                    heartbeat;
    ngx_http_guildlog_block_t     *block;      /* being sent */
    unsigned                       sending:1;
    unsigned                       served:1;   /* in the news' served, or in
                                                  the list of those to end */
};


/* NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_stream_feed_join(
    ngx_http_guildlog_listener_t *listener);
void ngx_http_guildlog_stream_feed_leave(
    ngx_http_guildlog_listener_t *listener);

/* the listener has sent all it had: it gets what is next */
void ngx_http_guildlog_stream_fetch_next(
    ngx_http_guildlog_listener_t *listener);

/* both may end the request, and the listener with it */
void ngx_http_guildlog_stream_deliver(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_block_t *block);
void ngx_http_guildlog_stream_end(ngx_http_guildlog_listener_t *listener);

/* an empty one with room for so many bytes; NULL: out of memory */
ngx_http_guildlog_block_t *ngx_http_guildlog_stream_block_create(size_t size);
void ngx_http_guildlog_stream_block_free(ngx_http_guildlog_block_t *block);


#endif /* _NGX_HTTP_GUILDLOG_STREAM_H_INCLUDED_ */
