
/*
 * What the listeners of a worker ask the database together: at which of these
 * servers has something arrived?  And every few seconds: which of these tokens
 * are no longer valid?
 */

#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_FEED_INTERVAL  250     /* ms */
#define NGX_HTTP_GUILDLOG_FEED_SLOWEST   2000    /* ms, while questions fail */
#define NGX_HTTP_GUILDLOG_FEED_TOKENS    5000    /* ms, between checks */


struct ngx_http_guildlog_feed_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    topics;
    ngx_guildlog_db_pool_t        *pool;
    ngx_event_t                    poll;
    ngx_msec_t                     interval;
    ngx_msec_t                     tokens_at;  /* of the last check of tokens */
    unsigned                       asking:1;   /* a statement is running */
};


static ngx_http_guildlog_feed_t *ngx_http_guildlog_feed_of(
    ngx_http_guildlog_call_t *call);
static ngx_http_guildlog_topic_t *ngx_http_guildlog_feed_topic(
    ngx_http_guildlog_feed_t *feed, ngx_http_guildlog_call_t *call);
static ngx_http_guildlog_topic_t *ngx_http_guildlog_feed_topic_add(
    ngx_http_guildlog_feed_t *feed, ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_feed_poll(ngx_event_t *ev);
static void ngx_http_guildlog_feed_close(ngx_http_guildlog_feed_t *feed);
static ngx_int_t ngx_http_guildlog_feed_ask_news(
    ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool);
static void ngx_http_guildlog_feed_news(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_feed_heard(ngx_http_guildlog_feed_t *feed,
    ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_feed_ask_tokens(
    ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool);
static void ngx_http_guildlog_feed_tokens(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_feed_revoked(ngx_http_guildlog_feed_t *feed,
    ngx_guildlog_db_result_t *result, ngx_queue_t *ended);
static void ngx_http_guildlog_feed_ask(ngx_http_guildlog_feed_t *feed,
    ngx_int_t (*ask)(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool));
static void ngx_http_guildlog_feed_again(ngx_http_guildlog_feed_t *feed,
    ngx_uint_t failed);


ngx_int_t
ngx_http_guildlog_stream_feed_join(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_feed_t   *feed;
    ngx_http_guildlog_topic_t  *topic;

    feed = ngx_http_guildlog_feed_of(listener->call);
    if (feed == NULL) {
        return NGX_ERROR;
    }

    topic = ngx_http_guildlog_feed_topic(feed, listener->call);

    if (topic == NULL) {
        topic = ngx_http_guildlog_feed_topic_add(feed, listener->call);
        if (topic == NULL) {
            return NGX_ERROR;
        }

        topic->arrival = listener->since;
    }

    listener->topic = topic;
    ngx_queue_insert_tail(&topic->listeners, &listener->queue);
    ngx_http_guildlog_stream_fetch_next(listener);

    ngx_guildlog_stats_gauge(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_GAUGE_LISTENERS, 1);

    if (!feed->asking && !feed->poll.timer_set) {
        feed->interval = NGX_HTTP_GUILDLOG_FEED_INTERVAL;
        feed->tokens_at = ngx_current_msec;
        ngx_add_timer(&feed->poll, 1);
    }

    return NGX_OK;
}


static ngx_http_guildlog_feed_t *
ngx_http_guildlog_feed_of(ngx_http_guildlog_call_t *call)
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

    feed->poll.data = feed;
    feed->poll.log = ngx_cycle->log;
    feed->poll.handler = ngx_http_guildlog_feed_poll;

    worker->feeds[i] = feed;

    return feed;
}


static ngx_http_guildlog_topic_t *
ngx_http_guildlog_feed_topic(ngx_http_guildlog_feed_t *feed,
    ngx_http_guildlog_call_t *call)
{
    ngx_str_t                  *guild, *bot;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    guild = &call->args[NGX_HTTP_GUILDLOG_STREAM_GUILD];
    bot = &call->args[NGX_HTTP_GUILDLOG_STREAM_BOT];

    ngx_http_guildlog_stream_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        if (topic->guild.len == guild->len && topic->bot.len == bot->len
            && ngx_memcmp(topic->guild.data, guild->data, guild->len) == 0
            && ngx_memcmp(topic->bot.data, bot->data, bot->len) == 0)
        {
            return topic;
        }
    }

    return NULL;
}


static ngx_http_guildlog_topic_t *
ngx_http_guildlog_feed_topic_add(ngx_http_guildlog_feed_t *feed,
    ngx_http_guildlog_call_t *call)
{
    u_char                     *p;
    ngx_str_t                  *guild, *bot;
    ngx_http_guildlog_topic_t  *topic;

    guild = &call->args[NGX_HTTP_GUILDLOG_STREAM_GUILD];
    bot = &call->args[NGX_HTTP_GUILDLOG_STREAM_BOT];

    topic = ngx_calloc(sizeof(ngx_http_guildlog_topic_t) + guild->len
                       + bot->len, ngx_cycle->log);
    if (topic == NULL) {
        return NULL;
    }

    p = (u_char *) (topic + 1);

    topic->pool = feed->pool;
    topic->guild.data = p;
    topic->guild.len = guild->len;
    topic->bot.data = ngx_cpymem(p, guild->data, guild->len);
    topic->bot.len = bot->len;

    ngx_memcpy(topic->bot.data, bot->data, bot->len);

    ngx_queue_init(&topic->listeners);
    ngx_http_guildlog_stream_fetch_create(topic);
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

    ngx_http_guildlog_stream_fetch_leave(listener);

    listener->topic = NULL;
    ngx_queue_remove(&listener->queue);

    ngx_guildlog_stats_gauge(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_GAUGE_LISTENERS, -1);

    if (ngx_queue_empty(&topic->listeners)) {
        ngx_queue_remove(&topic->queue);
        ngx_http_guildlog_stream_fetch_end(topic);
    }
}


static void
ngx_http_guildlog_feed_poll(ngx_event_t *ev)
{
    ngx_http_guildlog_feed_t *feed = ev->data;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ev->log, 0,
                   "guildlog feed: poll, interval %M ms", feed->interval);

    /* readers reconnect to the workers of the new configuration */

    if (ngx_exiting || ngx_terminate) {
        ngx_http_guildlog_feed_close(feed);
        return;
    }

    if (!ngx_queue_empty(&feed->topics)) {
        ngx_http_guildlog_feed_ask(feed, ngx_http_guildlog_feed_ask_news);
    }
}


static void
ngx_http_guildlog_feed_close(ngx_http_guildlog_feed_t *feed)
{
    ngx_queue_t                   *q;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    while (!ngx_queue_empty(&feed->topics)) {
        q = ngx_queue_head(&feed->topics);
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        q = ngx_queue_head(&topic->listeners);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        listener->end(listener);
    }
}


static void
ngx_http_guildlog_feed_ask(ngx_http_guildlog_feed_t *feed,
    ngx_int_t (*ask)(ngx_http_guildlog_feed_t *feed, ngx_pool_t *pool))
{
    ngx_int_t    rc;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, ngx_cycle->log);

    rc = pool ? ask(feed, pool) : NGX_ERROR;

    if (pool) {
        ngx_destroy_pool(pool);
    }

    if (rc == NGX_OK) {
        feed->asking = 1;

    } else {
        ngx_http_guildlog_feed_again(feed, 1);
    }
}


/* asks again after the interval, which doubles while questions fail */

static void
ngx_http_guildlog_feed_again(ngx_http_guildlog_feed_t *feed,
    ngx_uint_t failed)
{
    feed->interval = failed ? ngx_min(feed->interval * 2,
                                      NGX_HTTP_GUILDLOG_FEED_SLOWEST)
                            : NGX_HTTP_GUILDLOG_FEED_INTERVAL;

    feed->asking = 0;
    ngx_add_timer(&feed->poll, feed->interval);
}


/* a topic is known by its place in the arrays, which begins at 1 */

static ngx_int_t
ngx_http_guildlog_feed_ask_news(ngx_http_guildlog_feed_t *feed,
    ngx_pool_t *pool)
{
    u_char                      number[NGX_INT64_LEN];
    ngx_str_t                   args[3], arrival;
    ngx_uint_t                  i, n;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    n = 0;

    ngx_http_guildlog_stream_each(q, &feed->topics) {
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

    ngx_http_guildlog_stream_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        arrival.data = number;
        arrival.len = ngx_sprintf(number, "%L", topic->arrival) - number;

        ngx_guildlog_value_array_add(&args[0], &topic->guild);
        ngx_guildlog_value_array_add(&args[1], &topic->bot);
        ngx_guildlog_value_array_add(&args[2], &arrival);
    }

    for (i = 0; i < 3; i++) {
        ngx_guildlog_value_array_end(&args[i]);
    }

    return ngx_guildlog_db_pool_submit(feed->pool,
                             &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_news],
                             args, ngx_http_guildlog_feed_news, feed)
           ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_guildlog_feed_news(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_feed_t *feed = data;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog feed: news of %ui topics, outcome %d",
                   result->rows, result->outcome);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        ngx_http_guildlog_feed_heard(feed, result);

    } else {
        (void) ngx_http_guildlog_response_failed(result,
                       ngx_guildlog_stmts[ngx_guildlog_stmt_logs_news].name,
                       ngx_cycle->log);
    }

    /* tokens are checked without news, too; all listeners may have left */

    if (ngx_current_msec - feed->tokens_at >= NGX_HTTP_GUILDLOG_FEED_TOKENS
        && !ngx_queue_empty(&feed->topics))
    {
        feed->tokens_at = ngx_current_msec;
        ngx_http_guildlog_feed_ask(feed, ngx_http_guildlog_feed_ask_tokens);
        return;
    }

    ngx_http_guildlog_feed_again(feed, result->outcome != NGX_GUILDLOG_DB_ROWS);
}


/*
 * Rows and topics are in the order of places.  Race: topics may have left or
 * come since the question.  A listener may be behind although there is no news.
 */

static void
ngx_http_guildlog_feed_heard(ngx_http_guildlog_feed_t *feed,
    ngx_guildlog_db_result_t *result)
{
    int64_t                     place;
    ngx_uint_t                  row;
    ngx_queue_t                *q;
    ngx_http_guildlog_topic_t  *topic;

    row = 0;

    ngx_http_guildlog_stream_each(q, &feed->topics) {
        topic = ngx_queue_data(q, ngx_http_guildlog_topic_t, queue);

        for ( /* void */ ; row < result->rows; row++) {
            place = ngx_guildlog_db_result_number(result, row, 0);

            if (place < (int64_t) topic->place) {
                continue;
            }

            if (place == (int64_t) topic->place) {
                topic->arrival = ngx_max(topic->arrival,
                                   ngx_guildlog_db_result_number(result,
                                                                 row, 1));
                topic->behind = 1;
            }

            break;
        }

        if (topic->behind) {
            ngx_http_guildlog_stream_fetch_look(topic);
        }
    }
}


static ngx_int_t
ngx_http_guildlog_feed_ask_tokens(ngx_http_guildlog_feed_t *feed,
    ngx_pool_t *pool)
{
    size_t                         size;
    ngx_str_t                      args[2], *token;
    ngx_uint_t                     n;
    ngx_queue_t                   *t, *q;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    n = 0;
    size = 0;

    ngx_http_guildlog_stream_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_http_guildlog_stream_each(q, &topic->listeners) {
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

    ngx_http_guildlog_stream_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_http_guildlog_stream_each(q, &topic->listeners) {
            listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);
            token = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_TOKEN];

            ngx_guildlog_value_array_add(&args[0], &topic->guild);
            ngx_guildlog_value_array_add(&args[1], token);
        }
    }

    ngx_guildlog_value_array_end(&args[0]);
    ngx_guildlog_value_array_end(&args[1]);

    return ngx_guildlog_db_pool_submit(feed->pool,
                           &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_tokens],
                           args, ngx_http_guildlog_feed_tokens, feed)
           ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_guildlog_feed_tokens(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_feed_t *feed = data;

    ngx_queue_t                   *q, ended;
    ngx_http_guildlog_listener_t  *listener;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog feed: %ui tokens have ended, outcome %d",
                   result->rows, result->outcome);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {

        /* tokens cannot be checked, and no stream outlives that */

        if (ngx_http_guildlog_response_failed(result,
                       ngx_guildlog_stmts[ngx_guildlog_stmt_logs_tokens].name,
                       ngx_cycle->log)
            == NGX_HTTP_INTERNAL_SERVER_ERROR)
        {
            ngx_http_guildlog_feed_close(feed);
        }

        ngx_http_guildlog_feed_again(feed, 1);
        return;
    }

    ngx_http_guildlog_feed_revoked(feed, result, &ended);

    while (!ngx_queue_empty(&ended)) {
        q = ngx_queue_head(&ended);
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, link);

        listener->end(listener);
    }

    ngx_http_guildlog_feed_again(feed, 0);
}


/*
 * Rows and listeners are in the order of places.  Race: listeners may have left
 * or come since the question.
 */

static void
ngx_http_guildlog_feed_revoked(ngx_http_guildlog_feed_t *feed,
    ngx_guildlog_db_result_t *result, ngx_queue_t *ended)
{
    int64_t                        place;
    ngx_uint_t                     row;
    ngx_queue_t                   *t, *q;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    row = 0;
    ngx_queue_init(ended);

    ngx_http_guildlog_stream_each(t, &feed->topics) {
        topic = ngx_queue_data(t, ngx_http_guildlog_topic_t, queue);

        ngx_http_guildlog_stream_each(q, &topic->listeners) {
            listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

            for ( /* void */ ; row < result->rows; row++) {
                place = ngx_guildlog_db_result_number(result, row, 0);

                if (place < (int64_t) listener->place) {
                    continue;
                }

                if (place == (int64_t) listener->place) {
                    ngx_http_guildlog_stream_fetch_leave(listener);
                    listener->served = 1;
                    ngx_queue_insert_tail(ended, &listener->link);
                }

                break;
            }
        }
    }
}
