
/*
 * What arrived: it is asked for here, and its rows become events.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_NEWS_ROWS  "1000"


ngx_guildlog_db_query_t *
ngx_http_guildlog_stream_news_submit(ngx_http_guildlog_topic_t *topic,
    ngx_guildlog_db_handler_pt handler)
{
    u_char                         number[NGX_INT64_LEN];
    ngx_str_t                      args[5];
    ngx_uint_t                     n;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener;

    /* in the name of one of those who listen: the next one, where it failed */

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
    args[2].data = number;
    args[2].len = ngx_sprintf(number, "%L", topic->since) - number;
    ngx_str_set(&args[3], NGX_HTTP_GUILDLOG_NEWS_ROWS);
    args[4] = listener->call->args[NGX_HTTP_GUILDLOG_STREAM_TOKEN];

    return ngx_guildlog_db_pool_submit(topic->pool,
                              &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_tail],
                              args, handler, topic);
}


ngx_int_t
ngx_http_guildlog_stream_news_head(ngx_guildlog_db_result_t *result,
    int64_t *until)
{
    ngx_str_t  more;

    static time_t  told;

    if (ngx_http_guildlog_response_log_status(result) == NGX_HTTP_OK) {
        *until = ngx_guildlog_db_result_number(result, 0,
                                               NGX_HTTP_GUILDLOG_LOG_CHANNEL);
        more = ngx_guildlog_db_result_value(result, 0,
                                            NGX_HTTP_GUILDLOG_LOG_MORE);

        return (more.len && *more.data == 't') ? NGX_DECLINED : NGX_OK;
    }

    /* each poll tries again: one failure a second is logged */

    if (told != ngx_time()
        && ngx_http_guildlog_response_failed(result,
                           ngx_guildlog_stmts[ngx_guildlog_stmt_logs_tail].name,
                           ngx_cycle->log))
    {
        told = ngx_time();
    }

    return NGX_ERROR;
}


ngx_http_guildlog_news_t *
ngx_http_guildlog_stream_news_read(ngx_guildlog_db_result_t *result,
    int64_t until)
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
    news->until = until;
    news->n = result->rows - 1;
    news->events = ngx_palloc(pool,
                              result->rows * sizeof(ngx_http_guildlog_event_t));
    news->fits = ngx_palloc(pool, result->rows * sizeof(ngx_uint_t));
    news->block = ngx_http_guildlog_stream_block_create(size);

    if (news->block == NULL || news->events == NULL || news->fits == NULL) {
        ngx_http_guildlog_stream_news_free(news);
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

        /* the entry begins with its document, whose closing brace is missing */

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


void
ngx_http_guildlog_stream_news_free(ngx_http_guildlog_news_t *news)
{
    if (news->block) {
        ngx_http_guildlog_stream_block_free(news->block);
    }

    ngx_destroy_pool(news->pool);
}
