
/*
 * From the database to the listeners.  Those near the newest arrival are served
 * together: what arrived behind the last of them is read once, without any
 * filter, and judged here for each, a moment at a time.  Who is far behind is
 * served alone, by what the database finds for its filters, in turns.  No
 * listener holds a connection to the database.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_FETCH_NEAR   1000    /* arrivals */
#define NGX_HTTP_GUILDLOG_FETCH_ROWS   "1000"
#define NGX_HTTP_GUILDLOG_FETCH_PAUSE  20      /* ms, others may join */
#define NGX_HTTP_GUILDLOG_FETCH_MOMENT 500     /* us, of judging */
#define NGX_HTTP_GUILDLOG_FETCH_GLANCE 16      /* events between two looks at
                                                  the clock */

/* guild, bot, the filters, since, how many */

#define NGX_HTTP_GUILDLOG_FETCH_NARGS                                         \
    (2 + NGX_HTTP_GUILDLOG_STREAM_NFILTERS + 2)

#define ngx_http_guildlog_fetch_is_behind(listener)                           \
    (!(listener)->sending && (listener)->since < (listener)->topic->arrival)


typedef struct {
    int64_t                        arrival;
    u_char                        *event;      /* in the block */
    size_t                         len;
    ngx_str_t                      text;       /* the document, in the block */
    ngx_guildlog_match_doc_t       doc;
    unsigned                       read:1;     /* doc or bad is set */
    unsigned                       bad:1;      /* the document is none */
} ngx_http_guildlog_event_t;


/* what was read, until everybody has it; in the pool */

struct ngx_http_guildlog_news_s {
    ngx_pool_t                    *pool;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_event_t     *events;
    ngx_uint_t                     n;
    int64_t                        until;

    ngx_queue_t                    served;     /* listeners who wait for it */

    /* the first of these, as far as it is judged */

    ngx_http_guildlog_listener_t  *listener;   /* NULL: it is not begun */
    ngx_uint_t                     next;       /* event */
    ngx_uint_t                    *fits;       /* which fit */
    ngx_uint_t                     nfits;
    size_t                         size;       /* of these */
};


static int64_t ngx_http_guildlog_fetch_number(const ngx_str_t *arg,
    int64_t none);
static void ngx_http_guildlog_fetch_handler(ngx_event_t *ev);
static ngx_guildlog_db_query_t *ngx_http_guildlog_fetch_submit(
    ngx_http_guildlog_topic_t *topic, ngx_uint_t stmt,
    const ngx_str_t *filters, int64_t since,
    ngx_guildlog_db_handler_pt handler);
static void ngx_http_guildlog_fetch_near_done(void *data,
    ngx_guildlog_db_result_t *result);
static ngx_http_guildlog_news_t *ngx_http_guildlog_fetch_read(
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_fetch_free(ngx_http_guildlog_news_t *news);
static void ngx_http_guildlog_fetch_gather(ngx_http_guildlog_topic_t *topic);
static void ngx_http_guildlog_fetch_judge(ngx_http_guildlog_topic_t *topic);
static void ngx_http_guildlog_fetch_judge_handler(ngx_event_t *ev);
static ngx_int_t ngx_http_guildlog_fetch_serve(
    ngx_http_guildlog_topic_t *topic, uint64_t end);
static ngx_int_t ngx_http_guildlog_fetch_choose(
    ngx_http_guildlog_listener_t *listener, ngx_http_guildlog_news_t *news,
    uint64_t end);
static ngx_uint_t ngx_http_guildlog_fetch_bad(
    ngx_http_guildlog_news_t *news, ngx_http_guildlog_event_t *event);
static ngx_http_guildlog_block_t *ngx_http_guildlog_fetch_block(
    ngx_http_guildlog_news_t *news);
static void ngx_http_guildlog_fetch_past(ngx_http_guildlog_topic_t *topic);
static void ngx_http_guildlog_fetch_past_done(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_fetch_served(ngx_http_guildlog_topic_t *topic);
static int64_t ngx_http_guildlog_fetch_until(ngx_guildlog_db_result_t *result,
    ngx_uint_t stmt, int64_t since);


/* topics whose news are judged: all of a worker have one moment together */

static ngx_queue_t  ngx_http_guildlog_fetch_judged;
static ngx_event_t  ngx_http_guildlog_fetch_judging;


/* what a listener asks for, and from where on; NGX_ERROR: no memory */

ngx_int_t
ngx_http_guildlog_fetch_init(ngx_http_guildlog_listener_t *listener,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t             *args, types;
    ngx_pool_t            *pool;
    ngx_guildlog_match_t  *match;

    pool = listener->call->request->pool;
    args = listener->call->args;
    match = &listener->match;

    ngx_guildlog_match_init(match);

    listener->since = ngx_guildlog_db_result_number(result, 0,
                                                 NGX_HTTP_GUILDLOG_LOG_CHANNEL);

    types = ngx_guildlog_db_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_DOC);

    if (types.data) {
        if (types.len != NGX_GUILDLOG_MATCH_TYPES) {
            return NGX_ERROR;
        }

        match->types = ngx_pstrdup(pool, &types);
        if (match->types == NULL) {
            return NGX_ERROR;
        }
    }

    match->after = ngx_http_guildlog_fetch_number(
                          &args[NGX_HTTP_GUILDLOG_STREAM_AFTER], match->after);
    match->before = ngx_http_guildlog_fetch_number(
                        &args[NGX_HTTP_GUILDLOG_STREAM_BEFORE], match->before);
    match->channel = ngx_http_guildlog_fetch_number(
                      &args[NGX_HTTP_GUILDLOG_STREAM_CHANNEL], match->channel);
    match->member = ngx_http_guildlog_fetch_number(
                        &args[NGX_HTTP_GUILDLOG_STREAM_MEMBER], match->member);

    args += NGX_HTTP_GUILDLOG_STREAM_SIDE;

    if (args->len == sizeof("executor") - 1) {
        match->side = NGX_GUILDLOG_MATCH_EXECUTOR;

    } else if (args->data && *args->data == 't') {
        match->side = NGX_GUILDLOG_MATCH_TARGET;
    }

    args = listener->call->args;

    if (args[NGX_HTTP_GUILDLOG_STREAM_ROLE].data
        && ngx_guildlog_match_role(match, pool,
                                   &args[NGX_HTTP_GUILDLOG_STREAM_ROLE])
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (args[NGX_HTTP_GUILDLOG_STREAM_SEARCH].data == NULL) {
        return NGX_OK;
    }

    return ngx_guildlog_match_search(match, pool,
                                     &args[NGX_HTTP_GUILDLOG_STREAM_SEARCH]);
}


static int64_t
ngx_http_guildlog_fetch_number(const ngx_str_t *arg, int64_t none)
{
    if (arg->data == NULL) {
        return none;
    }

    return *arg->data == '-' ? -ngx_atoof(arg->data + 1, arg->len - 1)
                             : ngx_atoof(arg->data, arg->len);
}


void
ngx_http_guildlog_fetch_create(ngx_http_guildlog_topic_t *topic)
{
    ngx_queue_init(&topic->past);

    topic->fd = (ngx_socket_t) -1;

    topic->turn.data = topic;
    topic->turn.log = ngx_cycle->log;
    topic->turn.handler = ngx_http_guildlog_fetch_handler;
    topic->turn.cancelable = 1;
}


void
ngx_http_guildlog_fetch_end(ngx_http_guildlog_topic_t *topic)
{
    if (topic->serving) {
        return;
    }

    if (topic->near_query) {
        ngx_guildlog_db_pool_detach(topic->near_query);
    }

    if (topic->news) {
        ngx_queue_remove(&topic->judged);
        ngx_http_guildlog_fetch_free(topic->news);
    }

    if (topic->turn.timer_set) {
        ngx_del_timer(&topic->turn);
    }

    ngx_free(topic);
}


/* soon, with others who are behind by then */

void
ngx_http_guildlog_fetch_next(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (listener->past || !ngx_http_guildlog_fetch_is_behind(listener)) {
        return;
    }

    topic->behind = 1;

    if (!topic->serving && !topic->turn.timer_set) {
        ngx_add_timer(&topic->turn, NGX_HTTP_GUILDLOG_FETCH_PAUSE);
    }
}


void
ngx_http_guildlog_fetch_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_uint_t                  first;
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (!listener->past && !listener->served) {
        return;
    }

    first = (listener->past
             && ngx_queue_head(&topic->past) == &listener->turn);

    ngx_queue_remove(&listener->turn);
    listener->past = 0;
    listener->served = 0;

    if (topic->news && topic->news->listener == listener) {
        topic->news->listener = NULL;
    }

    if (first && topic->past_query) {
        ngx_guildlog_db_pool_detach(topic->past_query);
        topic->past_query = NULL;
        ngx_http_guildlog_fetch_past(topic);
    }
}


static void
ngx_http_guildlog_fetch_handler(ngx_event_t *ev)
{
    ngx_http_guildlog_fetch_turn(ev->data);
}


/* who is behind, near or far, and what is to be read for them? */

void
ngx_http_guildlog_fetch_turn(ngx_http_guildlog_topic_t *topic)
{
    int64_t                        since;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    /* what is read or judged now ends in a turn */

    if (topic->near_query || topic->news) {
        return;
    }

    topic->behind = 0;
    since = topic->arrival;

    ngx_http_guildlog_stream_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->past || !ngx_http_guildlog_fetch_is_behind(listener)) {
            continue;
        }

        if (topic->arrival - listener->since > NGX_HTTP_GUILDLOG_FETCH_NEAR) {
            listener->past = 1;
            ngx_queue_insert_tail(&topic->past, &listener->turn);
            continue;
        }

        since = ngx_min(since, listener->since);
    }

    ngx_http_guildlog_fetch_past(topic);

    if (since == topic->arrival) {
        return;
    }

    topic->since = since;
    topic->near_query = ngx_http_guildlog_fetch_submit(topic,
                                           ngx_guildlog_stmt_logs_tail, NULL,
                                           since,
                                           ngx_http_guildlog_fetch_near_done);
    if (topic->near_query == NULL) {
        topic->behind = 1;
    }
}


/* filters: NULL: none */

static ngx_guildlog_db_query_t *
ngx_http_guildlog_fetch_submit(ngx_http_guildlog_topic_t *topic,
    ngx_uint_t stmt, const ngx_str_t *filters, int64_t since,
    ngx_guildlog_db_handler_pt handler)
{
    u_char      number[NGX_INT64_LEN];
    ngx_str_t   args[NGX_HTTP_GUILDLOG_FETCH_NARGS];
    ngx_uint_t  i;

    ngx_memzero(args, sizeof(args));

    args[0] = topic->guild;
    args[1] = topic->bot;

    for (i = 0; filters && i < NGX_HTTP_GUILDLOG_STREAM_NFILTERS; i++) {
        args[2 + i] = filters[i];
    }

    i = 2 + NGX_HTTP_GUILDLOG_STREAM_NFILTERS;

    args[i].data = number;
    args[i].len = ngx_sprintf(number, "%L", since) - number;
    ngx_str_set(&args[i + 1], NGX_HTTP_GUILDLOG_FETCH_ROWS);

    return ngx_guildlog_db_pool_submit(topic->pool, &ngx_guildlog_stmts[stmt],
                                       args, handler, topic);
}


static void
ngx_http_guildlog_fetch_near_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_topic_t *topic = data;

    int64_t                    until;
    ngx_http_guildlog_news_t  *news;

    topic->near_query = NULL;

    until = ngx_http_guildlog_fetch_until(result, ngx_guildlog_stmt_logs_tail,
                                          topic->since);
    news = NULL;

    if (until > topic->since) {
        news = ngx_http_guildlog_fetch_read(result);
    }

    /* nothing was got: it is asked for again behind the next question */

    if (news == NULL) {
        topic->behind = 1;
        return;
    }

    news->until = until;

    topic->news = news;
    topic->arrival = ngx_max(topic->arrival, until);

    ngx_http_guildlog_fetch_gather(topic);
    ngx_http_guildlog_fetch_judge(topic);
}


/* up to where the rows are all there is; since: they are none */

static int64_t
ngx_http_guildlog_fetch_until(ngx_guildlog_db_result_t *result, ngx_uint_t stmt,
    int64_t since)
{
    int64_t  until;

    static time_t  told;

    if (ngx_http_guildlog_response_log_status(result) == NGX_HTTP_OK) {
        until = ngx_guildlog_db_result_number(result, 0,
                                               NGX_HTTP_GUILDLOG_LOG_CHANNEL);
        return ngx_max(since, until);
    }

    /* it is tried again at every poll: the log hears of one a second */

    if (told != ngx_time()
        && ngx_http_guildlog_response_failed(result,
                                             ngx_guildlog_stmts[stmt].name,
                                             ngx_cycle->log))
    {
        told = ngx_time();
    }

    return since;
}


/* the rows become events; NULL: out of memory */

static ngx_http_guildlog_news_t *
ngx_http_guildlog_fetch_read(ngx_guildlog_db_result_t *result)
{
    size_t                      size;
    u_char                     *p;
    ngx_str_t                   id;
    ngx_uint_t                  row;
    ngx_pool_t                 *pool;
    ngx_http_guildlog_news_t   *news;
    ngx_http_guildlog_event_t  *event;

    size = ngx_http_guildlog_log_json_size(result, NULL)
           + result->rows * (sizeof("id: \ndata: \n\n") + NGX_INT64_LEN);

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    news = ngx_pcalloc(pool, sizeof(ngx_http_guildlog_news_t));
    if (news == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    ngx_queue_init(&news->served);

    news->pool = pool;
    news->n = result->rows - 1;
    news->events = ngx_palloc(pool,
                              result->rows * sizeof(ngx_http_guildlog_event_t));
    news->fits = ngx_palloc(pool, result->rows * sizeof(ngx_uint_t));
    news->block = ngx_http_guildlog_block_create(size);

    if (news->block == NULL || news->events == NULL || news->fits == NULL) {
        ngx_http_guildlog_fetch_free(news);
        return NULL;
    }

    p = news->block->data;

    for (row = 1; row < result->rows; row++) {
        event = &news->events[row - 1];

        event->arrival = ngx_guildlog_db_result_number(result, row,
                                                   NGX_HTTP_GUILDLOG_LOG_SEQ);
        event->event = p;
        event->read = 0;
        event->bad = 0;

        id = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_ID);
        id.len = ngx_min(id.len, NGX_INT64_LEN);

        p = ngx_sprintf(p, "id: %V\ndata: ", &id);

        /* the entry begins with its document, as it is but for the end */

        event->text = ngx_guildlog_db_result_value(result, row,
                                                   NGX_HTTP_GUILDLOG_LOG_DOC);
        event->text.data = p;

        p = ngx_http_guildlog_log_json_entry(p, result, row);

        *p++ = LF;
        *p++ = LF;

        event->len = p - event->event;
    }

    news->block->len = p - news->block->data;

    return news;
}


static void
ngx_http_guildlog_fetch_free(ngx_http_guildlog_news_t *news)
{
    if (news->block) {
        ngx_http_guildlog_block_free(news->block);
    }

    ngx_destroy_pool(news->pool);
}


/* those who are ready and lack any of it */

static void
ngx_http_guildlog_fetch_gather(ngx_http_guildlog_topic_t *topic)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    ngx_http_guildlog_stream_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->past || listener->sending
            || listener->since < topic->since
            || listener->since >= topic->news->until)
        {
            continue;
        }

        listener->served = 1;
        ngx_queue_insert_tail(&topic->news->served, &listener->turn);
    }
}


/* in the next turn of the event loop */

static void
ngx_http_guildlog_fetch_judge(ngx_http_guildlog_topic_t *topic)
{
    if (ngx_http_guildlog_fetch_judging.handler == NULL) {
        ngx_queue_init(&ngx_http_guildlog_fetch_judged);

        ngx_http_guildlog_fetch_judging.log = ngx_cycle->log;
        ngx_http_guildlog_fetch_judging.handler =
                                        ngx_http_guildlog_fetch_judge_handler;
    }

    ngx_queue_insert_tail(&ngx_http_guildlog_fetch_judged, &topic->judged);

    ngx_post_event(&ngx_http_guildlog_fetch_judging, &ngx_posted_next_events);
}


/*
 * For a moment; then other requests come first, and the other topics next.  All
 * listeners of a topic may leave while its news are judged.
 */

static void
ngx_http_guildlog_fetch_judge_handler(ngx_event_t *ev)
{
    uint64_t                    end;
    ngx_int_t                   rc;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    end = ngx_guildlog_clock_us() + NGX_HTTP_GUILDLOG_FETCH_MOMENT;

    while (!ngx_queue_empty(&ngx_http_guildlog_fetch_judged)) {

        q = ngx_queue_head(&ngx_http_guildlog_fetch_judged);
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, judged);

        topic->serving = 1;
        rc = ngx_http_guildlog_fetch_serve(topic, end);
        topic->serving = 0;

        ngx_queue_remove(q);

        if (rc == NGX_AGAIN && !ngx_queue_empty(&topic->listeners)) {
            ngx_http_guildlog_fetch_judge(topic);
            return;
        }

        ngx_http_guildlog_fetch_free(topic->news);
        topic->news = NULL;

        ngx_http_guildlog_fetch_served(topic);
    }
}


/* NGX_AGAIN: the moment is over before all have it */

static ngx_int_t
ngx_http_guildlog_fetch_serve(ngx_http_guildlog_topic_t *topic, uint64_t end)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_news_t      *news;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_listener_t  *listener;

    news = topic->news;

    while (!ngx_queue_empty(&news->served)) {
        q = ngx_queue_head(&news->served);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, turn);

        /* one block a listener: behind its heartbeat this is read again */

        if (listener->sending) {
            ngx_http_guildlog_fetch_leave(listener);
            continue;
        }

        if (ngx_http_guildlog_fetch_choose(listener, news, end) != NGX_OK) {
            return NGX_AGAIN;
        }

        ngx_http_guildlog_fetch_leave(listener);

        block = ngx_http_guildlog_fetch_block(news);

        listener->since = news->until;

        if (block == NULL) {
            ngx_http_guildlog_call_finish(listener->call->request, NGX_ERROR);
            continue;
        }

        if (block->len) {
            ngx_http_guildlog_stream_deliver(listener, block);
        }

        if (block != news->block) {
            ngx_http_guildlog_block_free(block);
        }
    }

    return NGX_OK;
}


/* which events fit the listener; NGX_AGAIN: not all are judged yet */

static ngx_int_t
ngx_http_guildlog_fetch_choose(ngx_http_guildlog_listener_t *listener,
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

        if (i % NGX_HTTP_GUILDLOG_FETCH_GLANCE == 0
            && ngx_guildlog_clock_us() >= end)
        {
            news->next = i;
            return NGX_AGAIN;
        }

        event = &news->events[i];

        if (event->arrival > listener->since
            && (!reads || (!ngx_http_guildlog_fetch_bad(news, event)
                           && ngx_guildlog_match(&listener->match,
                                                 &event->doc))))
        {
            news->fits[news->nfits++] = i;
            news->size += event->len;
        }
    }

    return NGX_OK;
}


/* reads the document for the first who asks; 1: it is none */

static ngx_uint_t
ngx_http_guildlog_fetch_bad(ngx_http_guildlog_news_t *news,
    ngx_http_guildlog_event_t *event)
{
    u_char  *buf;

    if (event->read) {
        return event->bad;
    }

    buf = ngx_pnalloc(news->pool, NGX_GUILDLOG_MATCH_SIZE(event->text.len));

    event->read = 1;
    event->bad = (buf == NULL
                  || ngx_guildlog_match_read(&event->doc, &event->text)
                     != NGX_OK
                  || ngx_guildlog_match_fold(&event->doc, buf) == NULL);

    if (event->bad) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "filters of live tails cannot read the entry that "
                      "arrived as %L", event->arrival);
    }

    return event->bad;
}


/* all events, or a block of those that fit; NULL: out of memory */

static ngx_http_guildlog_block_t *
ngx_http_guildlog_fetch_block(ngx_http_guildlog_news_t *news)
{
    u_char                     *p;
    ngx_uint_t                  i;
    ngx_http_guildlog_block_t  *block;
    ngx_http_guildlog_event_t  *event;

    if (news->nfits == news->n) {
        return news->block;
    }

    block = ngx_http_guildlog_block_create(news->size);
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


/* for the first of those who are far behind */

static void
ngx_http_guildlog_fetch_past(ngx_http_guildlog_topic_t *topic)
{
    ngx_str_t                     *filters;
    ngx_http_guildlog_listener_t  *listener;

    if (topic->past_query || ngx_queue_empty(&topic->past)) {
        return;
    }

    listener = ngx_queue_data(ngx_queue_head(&topic->past),
                              ngx_http_guildlog_listener_t, turn);
    filters = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_FILTERS];

    topic->past_query = ngx_http_guildlog_fetch_submit(topic,
                                           ngx_guildlog_stmt_logs_past,
                                           filters, listener->since,
                                           ngx_http_guildlog_fetch_past_done);
    if (topic->past_query == NULL) {
        topic->behind = 1;
    }
}


static void
ngx_http_guildlog_fetch_past_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_topic_t *topic = data;

    int64_t                        until;
    ngx_queue_t                   *q;
    ngx_http_guildlog_news_t      *news;
    ngx_http_guildlog_listener_t  *listener;

    topic->past_query = NULL;

    q = ngx_queue_head(&topic->past);
    listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, turn);

    ngx_queue_remove(q);
    listener->past = 0;

    until = ngx_http_guildlog_fetch_until(result, ngx_guildlog_stmt_logs_past,
                                          listener->since);

    news = NULL;

    /* a heartbeat may be on its way still: one block a listener */

    if (until > listener->since && !listener->sending) {
        news = ngx_http_guildlog_fetch_read(result);
    }

    if (news == NULL) {
        topic->behind = 1;
        ngx_http_guildlog_fetch_past(topic);
        return;
    }

    topic->serving = 1;
    listener->since = until;

    if (news->block->len) {
        ngx_http_guildlog_stream_deliver(listener, news->block);
    }

    ngx_http_guildlog_fetch_free(news);

    ngx_http_guildlog_fetch_past(topic);
    ngx_http_guildlog_fetch_served(topic);
}


/* everybody may have left meanwhile */

static void
ngx_http_guildlog_fetch_served(ngx_http_guildlog_topic_t *topic)
{
    topic->serving = 0;

    if (ngx_queue_empty(&topic->listeners)) {
        ngx_http_guildlog_fetch_end(topic);
        return;
    }

    ngx_http_guildlog_fetch_turn(topic);
}


ngx_http_guildlog_block_t *
ngx_http_guildlog_block_create(size_t size)
{
    ngx_http_guildlog_block_t  *block;

    block = ngx_alloc(sizeof(ngx_http_guildlog_block_t) + size,
                      ngx_cycle->log);

    if (block) {
        block->refs = 1;
        block->len = 0;
        block->data = (u_char *) (block + 1);
    }

    return block;
}


void
ngx_http_guildlog_block_free(ngx_http_guildlog_block_t *block)
{
    if (--block->refs == 0) {
        ngx_free(block);
    }
}
