
/*
 * From the database to the listeners: what has arrived behind the position of
 * one is fetched once for all who want the same from the same place.  No
 * listener holds a connection to the database.
 */

#include "ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_FETCH_ROWS   200

/* guild, bot, the filters, since, how many */

#define NGX_HTTP_GUILDLOG_FETCH_NARGS                                         \
    (2 + NGX_HTTP_GUILDLOG_STREAM_NFILTERS + 2)


struct ngx_http_guildlog_fetch_s {
    ngx_queue_t                    queue;      /* of its topic */
    ngx_queue_t                    waiting;    /* listeners */
    ngx_guildlog_query_t          *query;
    const ngx_guildlog_stmt_t     *stmt;
    int64_t                        since;
};


static ngx_http_guildlog_fetch_t *ngx_http_guildlog_fetch_find(
    ngx_http_guildlog_listener_t *listener);
static ngx_http_guildlog_fetch_t *ngx_http_guildlog_fetch_start(
    ngx_http_guildlog_listener_t *listener);
static void ngx_http_guildlog_fetch_done(void *data,
    ngx_guildlog_result_t *result);
static void ngx_http_guildlog_fetch_failed(ngx_http_guildlog_fetch_t *fetch,
    ngx_guildlog_result_t *result);
static ngx_http_guildlog_block_t *ngx_http_guildlog_fetch_block(
    ngx_guildlog_result_t *result);


/* one fetch serves all who want the same */

void
ngx_http_guildlog_fetch_next(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_fetch_t  *fetch;
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (listener->fetch || listener->since >= topic->arrival) {
        return;
    }

    fetch = ngx_http_guildlog_fetch_find(listener);

    if (fetch == NULL) {
        fetch = ngx_http_guildlog_fetch_start(listener);
    }

    if (fetch == NULL) {
        topic->arrival = listener->since;
        return;
    }

    listener->fetch = fetch;
    ngx_queue_insert_tail(&fetch->waiting, &listener->waiting);
}


void
ngx_http_guildlog_fetch_leave(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_fetch_t  *fetch;

    fetch = listener->fetch;

    if (fetch == NULL) {
        return;
    }

    listener->fetch = NULL;
    ngx_queue_remove(&listener->waiting);

    /* without a query it is being served */

    if (fetch->query && ngx_queue_empty(&fetch->waiting)) {
        ngx_guildlog_query_detach(fetch->query);
        ngx_queue_remove(&fetch->queue);
        ngx_free(fetch);
    }
}


static ngx_http_guildlog_fetch_t *
ngx_http_guildlog_fetch_find(ngx_http_guildlog_listener_t *listener)
{
    ngx_str_t                     *one, *two;
    ngx_uint_t                     i;
    ngx_queue_t                   *q;
    ngx_http_guildlog_fetch_t     *fetch;
    ngx_http_guildlog_listener_t  *other;

    one = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_FILTERS];

    ngx_http_guildlog_stream_each(q, &listener->topic->fetches) {
        fetch = ngx_queue_data(q, ngx_http_guildlog_fetch_t, queue);

        if (fetch->since != listener->since) {
            continue;
        }

        other = ngx_queue_data(ngx_queue_head(&fetch->waiting),
                               ngx_http_guildlog_listener_t, waiting);
        two = &other->call->args[NGX_HTTP_GUILDLOG_STREAM_FILTERS];

        for (i = 0; i < NGX_HTTP_GUILDLOG_STREAM_NFILTERS; i++) {
            if (one[i].len != two[i].len
                || (one[i].data == NULL) != (two[i].data == NULL)
                || (one[i].data && ngx_memcmp(one[i].data, two[i].data,
                                              one[i].len)
                                   != 0))
            {
                break;
            }
        }

        if (i == NGX_HTTP_GUILDLOG_STREAM_NFILTERS) {
            return fetch;
        }
    }

    return NULL;
}


static ngx_http_guildlog_fetch_t *
ngx_http_guildlog_fetch_start(ngx_http_guildlog_listener_t *listener)
{
    u_char                      since[NGX_INT64_LEN];
    ngx_str_t                   args[NGX_HTTP_GUILDLOG_FETCH_NARGS], *filters;
    ngx_uint_t                  i;
    ngx_http_guildlog_fetch_t  *fetch;
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    fetch = ngx_alloc(sizeof(ngx_http_guildlog_fetch_t), ngx_cycle->log);
    if (fetch == NULL) {
        return NULL;
    }

    fetch->since = listener->since;
    ngx_queue_init(&fetch->waiting);

    args[0] = topic->guild;
    args[1] = topic->bot;

    filters = &listener->call->args[NGX_HTTP_GUILDLOG_STREAM_FILTERS];

    for (i = 0; i < NGX_HTTP_GUILDLOG_STREAM_NFILTERS; i++) {
        args[2 + i] = filters[i];
    }

    args[2 + i].data = since;
    args[2 + i].len = ngx_sprintf(since, "%L", fetch->since) - since;
    ngx_str_set(&args[3 + i], ngx_value(NGX_HTTP_GUILDLOG_FETCH_ROWS));

    /* who is far behind does not delay the others */

    fetch->stmt = (topic->arrival - fetch->since
                   > NGX_HTTP_GUILDLOG_FETCH_ROWS)
                  ? &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_past]
                  : &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_tail];

    fetch->query = ngx_guildlog_pool_submit(topic->pool, fetch->stmt, args,
                                            ngx_http_guildlog_fetch_done,
                                            fetch);
    if (fetch->query == NULL) {
        ngx_free(fetch);
        return NULL;
    }

    ngx_queue_insert_tail(&topic->fetches, &fetch->queue);

    return fetch;
}


static void
ngx_http_guildlog_fetch_done(void *data, ngx_guildlog_result_t *result)
{
    ngx_http_guildlog_fetch_t *fetch = data;

    int64_t                        until;
    ngx_queue_t                   *q;
    ngx_http_guildlog_block_t     *block;
    ngx_http_guildlog_topic_t     *topic;
    ngx_http_guildlog_listener_t  *listener;

    fetch->query = NULL;
    ngx_queue_remove(&fetch->queue);

    block = NULL;
    until = fetch->since;

    if (ngx_http_guildlog_log_status(result) == NGX_HTTP_OK) {
        block = ngx_http_guildlog_fetch_block(result);

        if (block) {
            until = ngx_http_guildlog_number_at(result, 0,
                                                NGX_HTTP_GUILDLOG_LOG_CHANNEL);
        }

    } else {
        ngx_http_guildlog_fetch_failed(fetch, result);
    }

    while (!ngx_queue_empty(&fetch->waiting)) {
        q = ngx_queue_head(&fetch->waiting);
        ngx_queue_remove(q);

        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, waiting);
        topic = listener->topic;

        listener->fetch = NULL;
        listener->since = until;

        /* nothing was got: the next poll finds the same news again */

        if (until == fetch->since) {
            topic->arrival = ngx_min(topic->arrival, until);

        } else if (block->len) {
            ngx_http_guildlog_stream_deliver(listener, block);

        } else {
            ngx_http_guildlog_fetch_next(listener);
        }
    }

    if (block) {
        ngx_http_guildlog_block_free(block);
    }

    ngx_free(fetch);
}


/* it is tried again at every poll: the log hears of one a second */

static void
ngx_http_guildlog_fetch_failed(ngx_http_guildlog_fetch_t *fetch,
    ngx_guildlog_result_t *result)
{
    static time_t  told;

    if (told != ngx_time()
        && ngx_http_guildlog_failed(result, fetch->stmt->name,
                                    ngx_cycle->log))
    {
        told = ngx_time();
    }
}


/* NULL: out of memory */

static ngx_http_guildlog_block_t *
ngx_http_guildlog_fetch_block(ngx_guildlog_result_t *result)
{
    size_t                      size;
    u_char                     *p;
    ngx_str_t                   id;
    ngx_uint_t                  row;
    ngx_http_guildlog_block_t  *block;

    size = ngx_http_guildlog_entries_size(result, NULL)
           + result->rows * (sizeof("id: \ndata: \n\n") + NGX_INT64_LEN);

    block = ngx_http_guildlog_block_create(size);
    if (block == NULL) {
        return NULL;
    }

    p = block->data;

    for (row = 1; row < result->rows; row++) {
        id = ngx_guildlog_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_ID);
        id.len = ngx_min(id.len, NGX_INT64_LEN);

        p = ngx_sprintf(p, "id: %V\ndata: ", &id);
        p = ngx_http_guildlog_entry(p, result, row);

        *p++ = LF;
        *p++ = LF;
    }

    block->len = p - block->data;

    return block;
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
