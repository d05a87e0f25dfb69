
/*
 * Listeners far behind the newest arrival.  Each is served alone, by what the
 * database finds for its filters; they take turns.
 */

#include "http/ngx_http_guildlog_stream.h"


static void ngx_http_guildlog_past_done(void *data,
    ngx_guildlog_db_result_t *result);


void
ngx_http_guildlog_stream_past_add(ngx_http_guildlog_listener_t *listener)
{
    listener->past = 1;
    ngx_queue_insert_tail(&listener->topic->past, &listener->link);
}


void
ngx_http_guildlog_stream_past_ask(ngx_http_guildlog_topic_t *topic)
{
    ngx_str_t                     *filters;
    ngx_http_guildlog_listener_t  *listener;

    if (topic->past_query || ngx_queue_empty(&topic->past)) {
        return;
    }

    listener = ngx_queue_data(ngx_queue_head(&topic->past),
                              ngx_http_guildlog_listener_t, link);
    filters = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_FILTERS];

    topic->past_query = ngx_http_guildlog_stream_news_submit(topic,
                                           ngx_guildlog_stmt_logs_past,
                                           filters, listener->since,
                                           ngx_http_guildlog_past_done);
    if (topic->past_query == NULL) {
        topic->behind = 1;
    }
}


static void
ngx_http_guildlog_past_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_topic_t *topic = data;

    int64_t                        until;
    ngx_queue_t                   *q;
    ngx_http_guildlog_news_t      *news;
    ngx_http_guildlog_listener_t  *listener;

    topic->past_query = NULL;

    q = ngx_queue_head(&topic->past);
    listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, link);

    ngx_queue_remove(q);
    listener->past = 0;

    until = ngx_http_guildlog_stream_news_until(result,
                                                ngx_guildlog_stmt_logs_past,
                                                listener->since);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog past: server %V, from %L up to %L", &topic->guild,
                   listener->since, until);

    news = NULL;

    /* a listener that is sending a heartbeat holds its one block */

    if (until > listener->since && !listener->sending) {
        news = ngx_http_guildlog_stream_news_read(result);
    }

    if (news == NULL) {
        topic->behind = 1;
        ngx_http_guildlog_stream_past_ask(topic);
        return;
    }

    topic->serving = 1;
    listener->since = until;

    if (news->block->len) {
        listener->deliver(listener, news->block);
    }

    ngx_http_guildlog_stream_news_free(news);

    ngx_http_guildlog_stream_past_ask(topic);
    topic->done(topic);
}


void
ngx_http_guildlog_stream_past_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_uint_t                  first;
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;
    first = (ngx_queue_head(&topic->past) == &listener->link);

    ngx_queue_remove(&listener->link);
    listener->past = 0;

    if (first && topic->past_query) {
        ngx_guildlog_db_pool_detach(topic->past_query);
        topic->past_query = NULL;
        ngx_http_guildlog_stream_past_ask(topic);
    }
}
