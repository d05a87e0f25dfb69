
/*
 * From the database to the listeners.  Those near the newest arrival are served
 * together: what arrived behind the last of them is read once, without any
 * filter, and judged here for each.  Who is far behind is served alone, by what
 * the database finds for its filters, in turns.  No listener holds a connection
 * to the database.
 */

#include "http/ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_FETCH_NEAR   1000    /* arrivals */
#define NGX_HTTP_GUILDLOG_FETCH_ROWS   "1000"
#define NGX_HTTP_GUILDLOG_FETCH_PAUSE  20      /* ms, others may join */

/* guild, bot, the filters, since, how many */

#define NGX_HTTP_GUILDLOG_FETCH_NARGS                                         \
    (2 + NGX_HTTP_GUILDLOG_STREAM_NFILTERS + 2)

#define ngx_http_guildlog_fetch_is_behind(listener)                           \
    (!(listener)->sending && (listener)->since < (listener)->topic->arrival)


typedef struct {
    int64_t                        arrival;
    u_char                        *event;      /* in the block */
    size_t                         len;
    ngx_guildlog_match_doc_t       doc;
    unsigned                       bad:1;      /* the document is none */
} ngx_http_guildlog_event_t;


/* what was read, until everybody has it */

typedef struct {
    ngx_pool_t                    *pool;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_event_t     *events;
    ngx_uint_t                    *fits;       /* which of them, for one */
    ngx_uint_t                     n;
    int64_t                        until;
} ngx_http_guildlog_news_t;


static int64_t ngx_http_guildlog_fetch_number(const ngx_str_t *arg,
    int64_t none);
static void ngx_http_guildlog_fetch_handler(ngx_event_t *ev);
static ngx_guildlog_db_query_t *ngx_http_guildlog_fetch_submit(
    ngx_http_guildlog_topic_t *topic, ngx_uint_t stmt,
    const ngx_str_t *filters, int64_t since,
    ngx_guildlog_db_handler_pt handler);
static void ngx_http_guildlog_fetch_near_done(void *data,
    ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_fetch_read(ngx_http_guildlog_news_t *news,
    ngx_guildlog_db_result_t *result);
static ngx_uint_t ngx_http_guildlog_fetch_gather(
    ngx_http_guildlog_topic_t *topic, int64_t until, ngx_queue_t *served);
static void ngx_http_guildlog_fetch_fold(ngx_http_guildlog_news_t *news,
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_fetch_serve(
    ngx_http_guildlog_listener_t *listener, ngx_http_guildlog_news_t *news);
static ngx_http_guildlog_block_t *ngx_http_guildlog_fetch_choose(
    ngx_http_guildlog_listener_t *listener, ngx_http_guildlog_news_t *news);
static void ngx_http_guildlog_fetch_past(ngx_http_guildlog_topic_t *topic);
static void ngx_http_guildlog_fetch_past_done(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_fetch_served(ngx_http_guildlog_topic_t *topic);
static int64_t ngx_http_guildlog_fetch_until(ngx_guildlog_db_result_t *result,
    ngx_uint_t stmt, int64_t since);


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

    listener->since = ngx_http_guildlog_number_at(result, 0,
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

    /* what is read now ends in a turn */

    if (topic->near_query) {
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

    ngx_queue_t                   *q, served;
    ngx_http_guildlog_news_t       news;
    ngx_http_guildlog_listener_t  *listener;

    topic->near_query = NULL;

    news.until = ngx_http_guildlog_fetch_until(result,
                                               ngx_guildlog_stmt_logs_tail,
                                               topic->since);

    /* nothing was got: it is asked for again behind the next question */

    if (news.until == topic->since
        || ngx_http_guildlog_fetch_read(&news, result) != NGX_OK)
    {
        topic->behind = 1;
        return;
    }

    topic->arrival = ngx_max(topic->arrival, news.until);

    if (ngx_http_guildlog_fetch_gather(topic, news.until, &served)) {
        ngx_http_guildlog_fetch_fold(&news, result);
    }

    topic->serving = 1;

    while (!ngx_queue_empty(&served)) {
        q = ngx_queue_head(&served);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, turn);

        ngx_queue_remove(q);
        listener->served = 0;

        ngx_http_guildlog_fetch_serve(listener, &news);
    }

    ngx_http_guildlog_block_free(news.block);
    ngx_destroy_pool(news.pool);

    ngx_http_guildlog_fetch_served(topic);
}


/* up to where the rows are all there is; since: they are none */

static int64_t
ngx_http_guildlog_fetch_until(ngx_guildlog_db_result_t *result, ngx_uint_t stmt,
    int64_t since)
{
    int64_t  until;

    static time_t  told;

    if (ngx_http_guildlog_log_status(result) == NGX_HTTP_OK) {
        until = ngx_http_guildlog_number_at(result, 0,
                                            NGX_HTTP_GUILDLOG_LOG_CHANNEL);
        return ngx_max(since, until);
    }

    /* it is tried again at every poll: the log hears of one a second */

    if (told != ngx_time()
        && ngx_http_guildlog_failed(result, ngx_guildlog_stmts[stmt].name,
                                    ngx_cycle->log))
    {
        told = ngx_time();
    }

    return since;
}


/* the rows become events; NGX_ERROR: out of memory */

static ngx_int_t
ngx_http_guildlog_fetch_read(ngx_http_guildlog_news_t *news,
    ngx_guildlog_db_result_t *result)
{
    size_t                      size;
    u_char                     *p;
    ngx_str_t                   id;
    ngx_uint_t                  row;
    ngx_http_guildlog_event_t  *event;

    size = ngx_http_guildlog_entries_size(result, NULL)
           + result->rows * (sizeof("id: \ndata: \n\n") + NGX_INT64_LEN);

    news->n = result->rows - 1;

    news->pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, ngx_cycle->log);
    if (news->pool == NULL) {
        return NGX_ERROR;
    }

    news->block = ngx_http_guildlog_block_create(size);
    news->events = ngx_palloc(news->pool,
                              result->rows * sizeof(ngx_http_guildlog_event_t));
    news->fits = ngx_palloc(news->pool, result->rows * sizeof(ngx_uint_t));

    if (news->block == NULL || news->events == NULL || news->fits == NULL) {
        if (news->block) {
            ngx_http_guildlog_block_free(news->block);
        }

        ngx_destroy_pool(news->pool);
        return NGX_ERROR;
    }

    p = news->block->data;

    for (row = 1; row < result->rows; row++) {
        event = &news->events[row - 1];

        event->arrival = ngx_http_guildlog_number_at(result, row,
                                                     NGX_HTTP_GUILDLOG_LOG_SEQ);
        event->event = p;
        event->bad = 1;

        id = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_ID);
        id.len = ngx_min(id.len, NGX_INT64_LEN);

        p = ngx_sprintf(p, "id: %V\ndata: ", &id);
        p = ngx_http_guildlog_entry(p, result, row);

        *p++ = LF;
        *p++ = LF;

        event->len = p - event->event;
    }

    news->block->len = p - news->block->data;

    return NGX_OK;
}


/*
 * Those who are ready and lack any of it.  Returns whether one of them has
 * filters.
 */

static ngx_uint_t
ngx_http_guildlog_fetch_gather(ngx_http_guildlog_topic_t *topic,
    int64_t until, ngx_queue_t *served)
{
    ngx_uint_t                     reads;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    reads = 0;
    ngx_queue_init(served);

    ngx_http_guildlog_stream_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->past || listener->sending
            || listener->since < topic->since || listener->since >= until)
        {
            continue;
        }

        listener->served = 1;
        ngx_queue_insert_tail(served, &listener->turn);
        reads |= ngx_guildlog_match_reads(&listener->match);
    }

    return reads;
}


static void
ngx_http_guildlog_fetch_fold(ngx_http_guildlog_news_t *news,
    ngx_guildlog_db_result_t *result)
{
    u_char                     *buf;
    ngx_str_t                   doc;
    ngx_uint_t                  i;
    ngx_http_guildlog_event_t  *event;

    for (i = 0; i < news->n; i++) {
        event = &news->events[i];

        doc = ngx_guildlog_db_result_value(result, i + 1,
                                           NGX_HTTP_GUILDLOG_LOG_DOC);
        buf = ngx_pnalloc(news->pool, NGX_GUILDLOG_MATCH_SIZE(doc.len));

        event->bad = (buf == NULL
                      || ngx_guildlog_match_read(&event->doc, &doc) != NGX_OK
                      || ngx_guildlog_match_fold(&event->doc, buf) == NULL);

        if (event->bad) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "filters of live tails cannot read the entry that "
                          "arrived as %L", event->arrival);
        }
    }
}


static void
ngx_http_guildlog_fetch_serve(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_news_t *news)
{
    ngx_http_guildlog_block_t  *block;

    block = ngx_http_guildlog_fetch_choose(listener, news);

    listener->since = news->until;

    if (block == NULL) {
        ngx_http_guildlog_finish(listener->call->request, NGX_ERROR);
        return;
    }

    if (block->len) {
        ngx_http_guildlog_stream_deliver(listener, block);
    }

    if (block != news->block) {
        ngx_http_guildlog_block_free(block);
    }
}


/* what of it fits the listener: all, or a block of its own; NULL: no memory */

static ngx_http_guildlog_block_t *
ngx_http_guildlog_fetch_choose(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_news_t *news)
{
    size_t                      size;
    u_char                     *p;
    ngx_uint_t                  i, n, reads;
    ngx_http_guildlog_block_t  *block;
    ngx_http_guildlog_event_t  *event;

    n = 0;
    size = 0;
    reads = ngx_guildlog_match_reads(&listener->match);

    for (i = 0; i < news->n; i++) {
        event = &news->events[i];

        if (event->arrival > listener->since
            && (!reads || (!event->bad
                           && ngx_guildlog_match(&listener->match,
                                                 &event->doc))))
        {
            news->fits[n++] = i;
            size += event->len;
        }
    }

    if (n == news->n) {
        return news->block;
    }

    block = ngx_http_guildlog_block_create(size);
    if (block == NULL) {
        return NULL;
    }

    p = block->data;

    for (i = 0; i < n; i++) {
        event = &news->events[news->fits[i]];
        p = ngx_cpymem(p, event->event, event->len);
    }

    block->len = size;

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
    ngx_http_guildlog_news_t       news;
    ngx_http_guildlog_listener_t  *listener;

    topic->past_query = NULL;

    q = ngx_queue_head(&topic->past);
    listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, turn);

    ngx_queue_remove(q);
    listener->past = 0;

    until = ngx_http_guildlog_fetch_until(result, ngx_guildlog_stmt_logs_past,
                                          listener->since);

    /* a heartbeat may be on its way still: one block a listener */

    if (until == listener->since || listener->sending
        || ngx_http_guildlog_fetch_read(&news, result) != NGX_OK)
    {
        topic->behind = 1;
        ngx_http_guildlog_fetch_past(topic);
        return;
    }

    topic->serving = 1;
    listener->since = until;

    if (news.block->len) {
        ngx_http_guildlog_stream_deliver(listener, news.block);
    }

    ngx_http_guildlog_block_free(news.block);
    ngx_destroy_pool(news.pool);

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
