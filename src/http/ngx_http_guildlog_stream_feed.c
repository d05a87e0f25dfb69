
/*
 * What the listeners of a worker ask the database together: at which of these
 * guilds has something arrived?  And every few seconds: which of these tokens
 * are no longer valid?  Behind that: what arrived, who is served next, and how.
 */

#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_stream.h"


#define FEED_INTERVAL  250     /* ms */
#define FEED_SLOWEST   2000    /* ms, while questions fail */
#define FEED_TOKENS    5000    /* ms, between checks */


struct ngx_http_guildlog_feed_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    topics;
    ngx_guildlog_db_pool_t        *pool;
    ngx_event_t                    poll;
    ngx_msec_t                     interval;
    ngx_msec_t                     tokens_at;  /* of the last check of tokens */
    unsigned                       asking:1;   /* a statement is running */
};


#define NEWS_ROWS  "1000"


#define FETCH_NEAR   1000    /* arrivals */
#define FETCH_PAUSE  20      /* ms, in which others join */

#define fetch_is_behind(listener)                                             \
    (!(listener)->sending && (listener)->since < (listener)->topic->arrival)


#define SERVE_MOMENT  500    /* us, of judging */
#define SERVE_GLANCE  16     /* events between two looks at the clock */


static ngx_http_guildlog_feed_t *feed_of(ngx_http_guildlog_call_t *call);
static ngx_http_guildlog_topic_t *feed_topic(ngx_http_guildlog_feed_t *feed,
    ngx_http_guildlog_listener_t *listener);
static void feed_poll(ngx_event_t *ev);
static void feed_close(ngx_http_guildlog_feed_t *feed);
static void feed_ask(ngx_http_guildlog_feed_t *feed,
    ngx_int_t (*ask)(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool));
static void feed_again(ngx_http_guildlog_feed_t *feed, ngx_uint_t failed);
static ngx_int_t feed_ask_news(ngx_http_guildlog_feed_t *feed,
    ngx_pool_t *pool);
static void feed_news(void *data, ngx_guildlog_db_result_t *result);
static ngx_uint_t feed_has(ngx_guildlog_db_result_t *result, ngx_uint_t *row,
    ngx_uint_t place);
static ngx_int_t feed_ask_tokens(ngx_http_guildlog_feed_t *feed,
    ngx_pool_t *pool);
static void feed_tokens(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t news_head(ngx_guildlog_db_result_t *result,
    int64_t *until);
static ngx_http_guildlog_news_t *news_read(
    ngx_guildlog_db_result_t *result, int64_t until);
static void news_free(ngx_http_guildlog_news_t *news);
static void fetch_end(ngx_http_guildlog_topic_t *topic);
static void fetch_handler(ngx_event_t *ev);
static void fetch_look(ngx_http_guildlog_topic_t *topic);
static void fetch_result(ngx_http_guildlog_topic_t *topic);
static void serve_ask(ngx_http_guildlog_topic_t *topic, int64_t since);
static void serve_done(void *data, ngx_guildlog_db_result_t *result);
static void serve_lost(ngx_http_guildlog_topic_t *topic);
static void serve_judge(ngx_http_guildlog_topic_t *topic);
static void serve_handler(ngx_event_t *ev);
static ngx_int_t serve_each(ngx_http_guildlog_topic_t *topic, uint64_t end);
static ngx_int_t serve_choose(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_news_t *news, uint64_t end);
static ngx_uint_t serve_bad(ngx_http_guildlog_news_t *news,
    ngx_http_guildlog_event_t *event);
static ngx_http_guildlog_block_t *serve_block(ngx_http_guildlog_news_t *news);
static void serve_leave(ngx_http_guildlog_listener_t *listener);


/* topics whose news are judged: all of a worker have one moment together */

static ngx_queue_t  serve_judged;
static ngx_event_t  serve_judging;


ngx_int_t
ngx_http_guildlog_stream_feed_join(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_feed_t   *feed;
    ngx_http_guildlog_topic_t  *topic;

    ngx_guildlog_assert(listener->topic == NULL && !listener->served);

    feed = feed_of(listener->call);
    if (feed == NULL) {
        return NGX_ERROR;
    }

    topic = feed_topic(feed, listener);
    if (topic == NULL) {
        return NGX_ERROR;
    }

    listener->topic = topic;
    ngx_queue_insert_tail(&topic->listeners, &listener->queue);
    ngx_http_guildlog_stream_fetch_next(listener);

    ngx_guildlog_stats_gauge(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_GAUGE_LISTENERS, 1);

    if (!feed->asking && !feed->poll.timer_set) {
        feed->interval = FEED_INTERVAL;
        feed->tokens_at = ngx_current_msec;
        ngx_add_timer(&feed->poll, 1);
    }

    return NGX_OK;
}


static ngx_http_guildlog_feed_t *
feed_of(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t                   i;
    ngx_http_guildlog_feed_t    *feed;
    ngx_http_guildlog_worker_t  *worker;

    worker = &ngx_http_guildlog_worker;
    i = call->conf->database->index;

    if (worker->feeds == NULL) {
        worker->feeds = ngx_pcalloc(ngx_cycle->pool,
                         worker->npools * sizeof(ngx_http_guildlog_feed_t *));
        if (worker->feeds == NULL) {
            return NULL;
        }
    }

    feed = worker->feeds[i];

    if (feed) {
        return feed;
    }

    feed = ngx_pcalloc(ngx_cycle->pool, sizeof(ngx_http_guildlog_feed_t));
    if (feed == NULL) {
        return NULL;
    }

    ngx_queue_init(&feed->topics);

    feed->pool = worker->pools[i];
    feed->fd = (ngx_socket_t) -1;

    ngx_guildlog_event_init(&feed->poll, feed_poll, feed, ngx_cycle->log);

    worker->feeds[i] = feed;

    return feed;
}


/* the one of that guild and bot, or a new one; NULL: out of memory */

static ngx_http_guildlog_topic_t *
feed_topic(ngx_http_guildlog_feed_t *feed,
    ngx_http_guildlog_listener_t *listener)
{
    u_char                     *p;
    ngx_str_t                  *guild, *bot;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    guild = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_GUILD];
    bot = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_BOT];

    ngx_guildlog_queue_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        if (ngx_guildlog_str_eq(&topic->guild, guild)
            && ngx_guildlog_str_eq(&topic->bot, bot))
        {
            return topic;
        }
    }

    topic = ngx_calloc(sizeof(ngx_http_guildlog_topic_t) + guild->len
                       + bot->len, ngx_cycle->log);
    if (topic == NULL) {
        return NULL;
    }

    p = (u_char *) (topic + 1);

    topic->fd = (ngx_socket_t) -1;
    topic->pool = feed->pool;
    topic->arrival = listener->since;
    topic->guild.data = p;
    topic->guild.len = guild->len;
    topic->bot.data = ngx_cpymem(p, guild->data, guild->len);
    topic->bot.len = bot->len;

    ngx_memcpy(topic->bot.data, bot->data, bot->len);

    ngx_guildlog_event_init(&topic->look, fetch_handler, topic, ngx_cycle->log);
    topic->look.cancelable = 1;

    ngx_queue_init(&topic->listeners);
    ngx_queue_insert_tail(&feed->topics, &topic->queue);

    return topic;
}


void
ngx_http_guildlog_stream_feed_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (topic == NULL) {
        return;
    }

    serve_leave(listener);

    listener->topic = NULL;
    ngx_queue_remove(&listener->queue);

    ngx_guildlog_stats_gauge(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_GAUGE_LISTENERS, -1);

    if (ngx_queue_empty(&topic->listeners)) {
        ngx_queue_remove(&topic->queue);
        fetch_end(topic);
    }
}


static void
feed_poll(ngx_event_t *ev)
{
    ngx_http_guildlog_feed_t *feed = ev->data;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ev->log, 0,
                   "guildlog feed: poll, interval %M ms", feed->interval);

    /* readers reconnect to the workers of the new configuration */

    if (ngx_exiting || ngx_terminate) {
        feed_close(feed);
        return;
    }

    if (!ngx_queue_empty(&feed->topics)) {
        feed_ask(feed, feed_ask_news);
    }
}


static void
feed_close(ngx_http_guildlog_feed_t *feed)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    while (!ngx_queue_empty(&feed->topics)) {
        q = ngx_queue_head(&feed->topics);
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        q = ngx_queue_head(&topic->listeners);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        ngx_http_guildlog_stream_end(listener);
    }
}


static void
feed_ask(ngx_http_guildlog_feed_t *feed,
    ngx_int_t (*ask)(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool))
{
    ngx_int_t    rc;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, ngx_cycle->log);

    rc = pool ? ask(feed, pool) : NGX_ERROR;

    ngx_guildlog_pool_drop(&pool);

    if (rc == NGX_OK) {
        feed->asking = 1;

    } else {
        feed_again(feed, 1);
    }
}


/* asks again after the interval, which doubles while questions fail */

static void
feed_again(ngx_http_guildlog_feed_t *feed, ngx_uint_t failed)
{
    feed->interval = failed ? ngx_min(feed->interval * 2, FEED_SLOWEST)
                            : FEED_INTERVAL;

    feed->asking = 0;
    ngx_add_timer(&feed->poll, feed->interval);
}


/* a topic is known by its place in the arrays, which begins at 1 */

static ngx_int_t
feed_ask_news(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool)
{
    u_char                      number[NGX_INT64_LEN];
    ngx_str_t                   args[3], arrival;
    ngx_uint_t                  i, n;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    n = 0;

    ngx_guildlog_queue_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);
        topic->place = ++n;
    }

    for (i = 0; i < 3; i++) {
        if (ngx_guildlog_value_array(&args[i], pool, n, n * NGX_INT64_LEN)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    ngx_guildlog_queue_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        arrival = ngx_guildlog_digits(number, topic->arrival);

        ngx_guildlog_value_array_add(&args[0], &topic->guild);
        ngx_guildlog_value_array_add(&args[1], &topic->bot);
        ngx_guildlog_value_array_add(&args[2], &arrival);
    }

    for (i = 0; i < 3; i++) {
        ngx_guildlog_value_array_end(&args[i]);
    }

    return ngx_guildlog_db_pool_submit(feed->pool, ngx_guildlog_stmt(logs_news),
                                       args, feed_news, feed)
           ? NGX_OK : NGX_ERROR;
}


/*
 * Race: topics may have left or come since the question.  A listener may be
 * behind although there is no news.
 */

static void
feed_news(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_feed_t *feed = data;

    ngx_uint_t                  row;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog feed: news of %ui topics, outcome %d",
                   result->rows, result->outcome);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        row = 0;

        ngx_guildlog_queue_each(q, &feed->topics) {
            topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

            if (feed_has(result, &row, topic->place)) {
                topic->arrival = ngx_max(topic->arrival,
                               ngx_guildlog_db_result_number(result, row, 1));
                topic->behind = 1;
            }

            if (topic->behind) {
                fetch_look(topic);
            }
        }

    } else {
        (void) ngx_http_guildlog_response_failed(result,
                       ngx_guildlog_stmt(logs_news)->name,
                       ngx_cycle->log);
    }

    /* tokens are checked without news, too; all listeners may have left */

    if (ngx_current_msec - feed->tokens_at >= FEED_TOKENS
        && !ngx_queue_empty(&feed->topics))
    {
        feed->tokens_at = ngx_current_msec;
        feed_ask(feed, feed_ask_tokens);
        return;
    }

    feed_again(feed, result->outcome != NGX_GUILDLOG_DB_ROWS);
}


/* rows come in the order of places, and places are asked for in that */

static ngx_uint_t
feed_has(ngx_guildlog_db_result_t *result, ngx_uint_t *row, ngx_uint_t place)
{
    int64_t  n;

    for ( /* void */ ; *row < result->rows; (*row)++) {
        n = ngx_guildlog_db_result_number(result, *row, 0);

        if (n >= (int64_t) place) {
            return n == (int64_t) place;
        }
    }

    return 0;
}


static ngx_int_t
feed_ask_tokens(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool)
{
    size_t                         size;
    ngx_str_t                      args[2], *token;
    ngx_uint_t                     n;
    ngx_queue_t                   *t, *q;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    n = 0;
    size = 0;

    ngx_guildlog_queue_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_guildlog_queue_each(q, &topic->listeners) {
            listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);
            listener->place = ++n;
            size += listener->call->args[NGX_HTTP_GUILDLOG_STREAM_TOKEN].len;
        }
    }

    if (ngx_guildlog_value_array(&args[0], pool, n, n * NGX_INT64_LEN)
        != NGX_OK
        || ngx_guildlog_value_array(&args[1], pool, n, size) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_queue_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_guildlog_queue_each(q, &topic->listeners) {
            listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);
            token = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_TOKEN];

            ngx_guildlog_value_array_add(&args[0], &topic->guild);
            ngx_guildlog_value_array_add(&args[1], token);
        }
    }

    ngx_guildlog_value_array_end(&args[0]);
    ngx_guildlog_value_array_end(&args[1]);

    return ngx_guildlog_db_pool_submit(feed->pool,
                           ngx_guildlog_stmt(logs_tokens),
                           args, feed_tokens, feed)
           ? NGX_OK : NGX_ERROR;
}


/* Race: listeners may have left or come since the question */

static void
feed_tokens(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_feed_t *feed = data;

    ngx_uint_t                     row;
    ngx_queue_t                   *t, *q, ended;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog feed: %ui tokens have ended, outcome %d",
                   result->rows, result->outcome);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {

        /* tokens cannot be checked, and no stream outlives that */

        if (ngx_http_guildlog_response_failed(result,
                       ngx_guildlog_stmt(logs_tokens)->name,
                       ngx_cycle->log)
            == NGX_HTTP_INTERNAL_SERVER_ERROR)
        {
            feed_close(feed);
        }

        feed_again(feed, 1);
        return;
    }

    row = 0;
    ngx_queue_init(&ended);

    ngx_guildlog_queue_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_guildlog_queue_each(q, &topic->listeners) {
            listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

            if (feed_has(result, &row, listener->place)) {
                serve_leave(listener);
                listener->served = 1;
                ngx_queue_insert_tail(&ended, &listener->link);
            }
        }
    }

    while (!ngx_queue_empty(&ended)) {
        q = ngx_queue_head(&ended);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, link);

        ngx_http_guildlog_stream_end(listener);
    }

    feed_again(feed, 0);
}


/*
 * What arrived: the rows of an answer become events.  NGX_DECLINED: the
 * database does not know all that arrived behind since.
 */

static ngx_int_t
news_head(ngx_guildlog_db_result_t *result, int64_t *until)
{
    ngx_str_t  more;

    static time_t  told;

    if (ngx_http_guildlog_response_log_status(result) == NGX_HTTP_OK) {
        *until = ngx_http_guildlog_log_number(result, 0, CHANNEL);
        more = ngx_http_guildlog_log_text(result, 0, MORE);

        return (more.len && *more.data == 't') ? NGX_DECLINED : NGX_OK;
    }

    /* each poll tries again: one failure a second is logged */

    if (told != ngx_time()
        && ngx_http_guildlog_response_failed(result,
                           ngx_guildlog_stmt(logs_tail)->name,
                           ngx_cycle->log))
    {
        told = ngx_time();
    }

    return NGX_ERROR;
}


/* makes events of the rows; NULL: out of memory */

static ngx_http_guildlog_news_t *
news_read(ngx_guildlog_db_result_t *result, int64_t until)
{
    size_t                      size;
    u_char                     *p;
    ngx_str_t                   id;
    ngx_uint_t                  row;
    ngx_pool_t                 *pool;
    ngx_http_guildlog_news_t   *news;
    ngx_http_guildlog_event_t  *event;

    size = ngx_http_guildlog_log_json_size(result)
           + result->rows * (sizeof("id: \ndata: \n\n") + NGX_INT64_LEN);

    news = ngx_guildlog_pool(&pool, NGX_DEFAULT_POOL_SIZE,
                             sizeof(ngx_http_guildlog_news_t), ngx_cycle->log);
    if (news == NULL) {
        return NULL;
    }

    ngx_queue_init(&news->served);

    news->pool = pool;
    news->until = until;
    news->n = result->rows - 1;
    news->events = ngx_palloc(pool,
                              result->rows * sizeof(ngx_http_guildlog_event_t));
    news->fits = ngx_palloc(pool, result->rows * sizeof(ngx_uint_t));
    news->block = ngx_http_guildlog_stream_block_create(size);

    if (news->block == NULL || news->events == NULL || news->fits == NULL) {
        news_free(news);
        return NULL;
    }

    p = news->block->data;

    for (row = 1; row < result->rows; row++) {
        event = &news->events[row - 1];

        event->arrival = ngx_http_guildlog_log_number(result, row, SEQ);
        event->event = p;
        event->read = 0;
        event->bad = 0;

        id = ngx_http_guildlog_log_text(result, row, ID);
        id.len = ngx_min(id.len, NGX_INT64_LEN);

        p = ngx_sprintf(p, "id: %V\ndata: ", &id);

        /* the entry begins with its document, whose closing brace is missing */

        event->text = ngx_http_guildlog_log_text(result, row, DOC);
        event->text.data = p;

        p = ngx_http_guildlog_log_json_entry(p, result, row);

        *p++ = LF;
        *p++ = LF;

        event->len = p - event->event;
    }

    news->block->len = p - news->block->data;

    ngx_guildlog_assert(news->block->len <= size);

    return news;
}


static void
news_free(ngx_http_guildlog_news_t *news)
{
    if (news->block) {
        ngx_http_guildlog_stream_block_free(news->block);
    }

    ngx_destroy_pool(news->pool);
}


/*
 * Who is served next.  Listeners near the newest arrival are served together;
 * those far behind it one after the other, each with all others who happen to
 * be at the same place.  No listener holds a connection to the database.
 */

/* frees a topic that nobody listens to */

static void
fetch_end(ngx_http_guildlog_topic_t *topic)
{
    if (topic->serving) {
        return;
    }

    ngx_guildlog_assert(ngx_queue_empty(&topic->listeners));

    ngx_guildlog_db_pool_detach(topic->query);

    if (topic->news) {
        ngx_queue_remove(&topic->judged);
        news_free(topic->news);
    }

    if (topic->look.timer_set) {
        ngx_del_timer(&topic->look);
    }

    ngx_free(topic);
}


/* looks after a pause, in which other listeners fall behind, too */

void
ngx_http_guildlog_stream_fetch_next(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (!fetch_is_behind(listener)) {
        return;
    }

    topic->behind = 1;

    if (!topic->serving && !topic->look.timer_set) {
        ngx_add_timer(&topic->look, FETCH_PAUSE);
    }
}


static void
fetch_handler(ngx_event_t *ev)
{
    fetch_look(ev->data);
}


/*
 * Reads for the listeners who are behind.  Those who are far have every other
 * round, the one first whose last one is the longest ago.
 */

static void
fetch_look(ngx_http_guildlog_topic_t *topic)
{
    int64_t                        since;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener, *far;

    /* what is asked for or judged now calls fetch_result() when it ends */

    if (topic->query || topic->news) {
        return;
    }

    topic->behind = 0;
    since = topic->arrival;
    far = NULL;

    ngx_guildlog_queue_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (!fetch_is_behind(listener)) {
            continue;
        }

        if (topic->arrival - listener->since <= FETCH_NEAR) {
            since = ngx_min(since, listener->since);

        } else if (far == NULL || listener->round < far->round) {
            far = listener;
        }
    }

    topic->near = (since < topic->arrival && !(far && topic->near));

    if (!topic->near) {
        if (far == NULL) {
            return;
        }

        far->round = ++topic->rounds;
        since = far->since;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog fetch: server %V, arrival %L, from %L, near:%d",
                   &topic->guild, topic->arrival, since, topic->near);

    serve_ask(topic, since);
}


/* Race: all listeners may have left meanwhile */

static void
fetch_result(ngx_http_guildlog_topic_t *topic)
{
    topic->serving = 0;

    if (ngx_queue_empty(&topic->listeners)) {
        fetch_end(topic);
        return;
    }

    fetch_look(topic);
}


/*
 * What arrived is read once, without any filter, and judged for each listener
 * who lacks any of it, for a moment at a time.  It is read in the name of one
 * of those who listen: the next one, where it failed.
 */

static void
serve_ask(ngx_http_guildlog_topic_t *topic, int64_t since)
{
    u_char                         number[NGX_INT64_LEN];
    ngx_str_t                      args[5];
    ngx_uint_t                     n;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    ngx_guildlog_assert(topic->query == NULL && topic->news == NULL
                        && !ngx_queue_empty(&topic->listeners));

    q = ngx_queue_head(&topic->listeners);

    for (n = topic->failed; n; n--) {
        q = ngx_queue_next(q);

        if (q == ngx_queue_sentinel(&topic->listeners)) {
            q = ngx_queue_head(&topic->listeners);
            topic->failed = 0;
            break;
        }
    }

    listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

    args[0] = topic->guild;
    args[1] = topic->bot;
    args[2] = ngx_guildlog_digits(number, since);
    ngx_str_set(&args[3], NEWS_ROWS);
    args[4] = listener->call->args[NGX_HTTP_GUILDLOG_STREAM_TOKEN];

    topic->since = since;
    topic->query = ngx_guildlog_db_pool_submit(topic->pool,
                              ngx_guildlog_stmt(logs_tail),
                              args, serve_done, topic);

    if (topic->query == NULL) {
        topic->behind = 1;
    }
}


static void
serve_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_topic_t *topic = data;

    int64_t                        until;
    ngx_int_t                      rc;
    ngx_queue_t                   *q;
    ngx_http_guildlog_news_t      *news;
    ngx_http_guildlog_listener_t  *listener;

    topic->query = NULL;

    rc = news_head(result, &until);

    if (rc == NGX_DECLINED) {
        serve_lost(topic);
        return;
    }

    news = NULL;

    if (rc == NGX_OK && until > topic->since) {
        news = news_read(result, until);
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

    /* the listeners who can send and lack any of the news */

    ngx_guildlog_queue_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (listener->sending
            || listener->since < topic->since
            || listener->since >= until)
        {
            continue;
        }

        ngx_guildlog_assert(!listener->served);

        listener->served = 1;
        ngx_queue_insert_tail(&news->served, &listener->link);
    }

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
            ngx_http_guildlog_stream_end(listener);
        }
    }

    fetch_result(topic);
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

        news_free(topic->news);
        topic->news = NULL;

        fetch_result(topic);
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
            serve_leave(listener);
            continue;
        }

        if (serve_choose(listener, news, end) != NGX_OK) {
            return NGX_AGAIN;
        }

        serve_leave(listener);

        block = serve_block(news);

        listener->since = news->until;

        if (block == NULL) {
            ngx_http_guildlog_call_finish(listener->call->request, NGX_ERROR);
            continue;
        }

        if (block->len) {
            ngx_http_guildlog_stream_deliver(listener, block);
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
serve_bad(ngx_http_guildlog_news_t *news, ngx_http_guildlog_event_t *event)
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

    ngx_guildlog_assert(p == block->data + news->size);

    block->len = news->size;

    return block;
}


static void
serve_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_news_t  *news;

    if (!listener->served) {
        return;
    }

    news = listener->topic->news;

    ngx_queue_remove(&listener->link);
    listener->served = 0;

    if (news && news->listener == listener) {
        news->listener = NULL;
    }
}
