
/*
 * What arrived is read once, without any filter, and judged for each listener
 * who lacks any of it, for a moment at a time.
 */

#include "http/ngx_http_guildlog_call.h"
#include "http/ngx_http_guildlog_stream.h"


#define SERVE_MOMENT  500    /* us, of judging */
#define SERVE_GLANCE  16     /* events between two looks at
                                                 the clock */


static void serve_done(void *data,
    ngx_guildlog_db_result_t *result);
static void serve_lost(ngx_http_guildlog_topic_t *topic);
static void serve_gather(ngx_http_guildlog_topic_t *topic);
static void serve_judge(ngx_http_guildlog_topic_t *topic);
static void serve_handler(ngx_event_t *ev);
static ngx_int_t serve_each(
    ngx_http_guildlog_topic_t *topic, uint64_t end);
static ngx_int_t serve_choose(
    ngx_http_guildlog_listener_t *listener, ngx_http_guildlog_news_t *news,
    uint64_t end);
static ngx_uint_t serve_bad(
    ngx_http_guildlog_news_t *news, ngx_http_guildlog_event_t *event);
static ngx_http_guildlog_block_t *serve_block(
    ngx_http_guildlog_news_t *news);


/* topics whose news are judged: all of a worker have one moment together */

static ngx_queue_t  serve_judged;
static ngx_event_t  serve_judging;


void
ngx_http_guildlog_stream_serve_ask(ngx_http_guildlog_topic_t *topic,
    int64_t since)
{
    topic->since = since;
    topic->query = ngx_http_guildlog_stream_news_submit(topic,
                                                 serve_done);
    if (topic->query == NULL) {
        topic->behind = 1;
    }
}


static void
serve_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_topic_t *topic = data;

    int64_t                    until;
    ngx_int_t                  rc;
    ngx_http_guildlog_news_t  *news;

    topic->query = NULL;

    rc = ngx_http_guildlog_stream_news_head(result, &until);

    if (rc == NGX_DECLINED) {
        serve_lost(topic);
        return;
    }

    news = NULL;

    if (rc == NGX_OK && until > topic->since) {
        news = ngx_http_guildlog_stream_news_read(result, until);
    }

    /* nothing was read: the feed asks again after its next question */

    if (news == NULL) {
        topic->behind = 1;
        topic->failed += (rc != NGX_OK);
        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog serve: server %V, %ui events from %L up to %L",
                   &topic->guild, news->n, topic->since, until);

    topic->news = news;
    topic->arrival = ngx_max(topic->arrival, until);

    serve_gather(topic);
    serve_judge(topic);
}


/*
 * Ends who was so slow that what he lacks is not known any more: he resumes,
 * and is told so then.  Race: these may be all listeners.
 */

static void
serve_lost(ngx_http_guildlog_topic_t *topic)
{
    ngx_queue_t                   *q, *next;
    ngx_http_guildlog_listener_t  *listener;

    topic->serving = 1;

    for (q = ngx_queue_head(&topic->listeners);
         q != ngx_queue_sentinel(&topic->listeners);
         q = next)
    {
        next = ngx_queue_next(q);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->since <= topic->since) {
            listener->end(listener);
        }
    }

    topic->done(topic);
}


/* the listeners who can send and lack any of the news */

static void
serve_gather(ngx_http_guildlog_topic_t *topic)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    ngx_http_guildlog_stream_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->sending
            || listener->since < topic->since
            || listener->since >= topic->news->until)
        {
            continue;
        }

        listener->served = 1;
        ngx_queue_insert_tail(&topic->news->served, &listener->link);
    }
}


/* in the next iteration of the event loop */

static void
serve_judge(ngx_http_guildlog_topic_t *topic)
{
    if (serve_judging.handler == NULL) {
        ngx_queue_init(&serve_judged);

        serve_judging.log = ngx_cycle->log;
        serve_judging.handler = serve_handler;
    }

    ngx_queue_insert_tail(&serve_judged, &topic->judged);

    ngx_post_event(&serve_judging, &ngx_posted_next_events);
}


/*
 * Judges for a moment; then other requests come first, and then the next topic.
 * Race: all listeners of a topic may leave while its news are judged.
 */

static void
serve_handler(ngx_event_t *ev)
{
    uint64_t                    end;
    ngx_int_t                   rc;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    end = ngx_guildlog_clock_us() + SERVE_MOMENT;

    while (!ngx_queue_empty(&serve_judged)) {

        q = ngx_queue_head(&serve_judged);
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, judged);

        topic->serving = 1;
        rc = serve_each(topic, end);
        topic->serving = 0;

        ngx_queue_remove(q);

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ev->log, 0,
                       "guildlog serve: server %V, judged, rc %i",
                       &topic->guild, rc);

        if (rc == NGX_AGAIN && !ngx_queue_empty(&topic->listeners)) {
            serve_judge(topic);
            return;
        }

        ngx_http_guildlog_stream_news_free(topic->news);
        topic->news = NULL;

        topic->done(topic);
    }
}


/* NGX_AGAIN: the moment is over, and listeners still wait */

static ngx_int_t
serve_each(ngx_http_guildlog_topic_t *topic, uint64_t end)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_news_t      *news;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_listener_t  *listener;

    news = topic->news;

    while (!ngx_queue_empty(&news->served)) {
        q = ngx_queue_head(&news->served);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, link);

        /* it holds a block: the news are read again once that is sent */

        if (listener->sending) {
            ngx_http_guildlog_stream_serve_leave(listener);
            continue;
        }

        if (serve_choose(listener, news, end) != NGX_OK) {
            return NGX_AGAIN;
        }

        ngx_http_guildlog_stream_serve_leave(listener);

        block = serve_block(news);

        listener->since = news->until;

        if (block == NULL) {
            ngx_http_guildlog_call_finish(listener->call->request, NGX_ERROR);
            continue;
        }

        if (block->len) {
            listener->deliver(listener, block);
        }

        if (block != news->block) {
            ngx_http_guildlog_stream_block_free(block);
        }
    }

    return NGX_OK;
}


/* finds the events that fit; NGX_AGAIN: the moment is over before the end */

static ngx_int_t
serve_choose(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_news_t *news, uint64_t end)
{
    ngx_uint_t                  i, reads;
    ngx_http_guildlog_event_t  *event;

    reads = ngx_guildlog_match_reads(&listener->match);

    if (news->listener != listener) {
        news->listener = listener;
        news->next = 0;
        news->nfits = 0;
        news->size = 0;
    }

    for (i = news->next; i < news->n; i++) {

        if (i % SERVE_GLANCE == 0
            && ngx_guildlog_clock_us() >= end)
        {
            news->next = i;
            return NGX_AGAIN;
        }

        event = &news->events[i];

        if (event->arrival > listener->since
            && (!reads || (!serve_bad(news, event)
                           && ngx_guildlog_match(&listener->match,
                                                 &event->doc))))
        {
            news->fits[news->nfits++] = i;
            news->size += event->len;
        }
    }

    return NGX_OK;
}


/* reads the document when it is first needed; 1: it cannot be read */

static ngx_uint_t
serve_bad(ngx_http_guildlog_news_t *news,
    ngx_http_guildlog_event_t *event)
{
    u_char  *buf;

    if (event->read) {
        return event->bad;
    }

    buf = ngx_pnalloc(news->pool, NGX_GUILDLOG_MATCH_SIZE(event->text.len));

    event->read = 1;
    event->bad = (buf == NULL
                  || ngx_guildlog_match_doc_read(&event->doc, &event->text)
                     != NGX_OK
                  || ngx_guildlog_match_doc_fold(&event->doc, buf) == NULL);

    if (event->bad) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "filters of live tails cannot read the entry that "
                      "arrived as %L", event->arrival);
    }

    return event->bad;
}


/* the block of all events, or a new one of those that fit; NULL: no memory */

static ngx_http_guildlog_block_t *
serve_block(ngx_http_guildlog_news_t *news)
{
    u_char                     *p;
    ngx_uint_t                  i;
    ngx_http_guildlog_block_t  *block;
    ngx_http_guildlog_event_t  *event;

    if (news->nfits == news->n) {
        return news->block;
    }

    block = ngx_http_guildlog_stream_block_create(news->size);
    if (block == NULL) {
        return NULL;
    }

    p = block->data;

    for (i = 0; i < news->nfits; i++) {
        event = &news->events[news->fits[i]];
        p = ngx_cpymem(p, event->event, event->len);
    }

    block->len = news->size;

    return block;
}


void
ngx_http_guildlog_stream_serve_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_news_t  *news;

    news = listener->topic->news;

    ngx_queue_remove(&listener->link);
    listener->served = 0;

    if (news && news->listener == listener) {
        news->listener = NULL;
    }
}


void
ngx_http_guildlog_stream_serve_end(ngx_http_guildlog_topic_t *topic)
{
    if (topic->query) {
        ngx_guildlog_db_pool_detach(topic->query);
    }

    if (topic->news) {
        ngx_queue_remove(&topic->judged);
        ngx_http_guildlog_stream_news_free(topic->news);
    }
}
