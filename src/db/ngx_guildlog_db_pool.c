
/*
 * The queries of a worker to one database.  Four groups of connections serve
 * them: pipelines for short statements and for those of delivery, one query at
 * a time for long statements and for those in the background.
 *
 * Whatever happens only posts one event, run().  It frees the connections that
 * ended, sends what waits, opens what is missing, and last calls the handlers
 * of what has finished.  So a handler never runs within submit() or within a
 * function of a connection.
 */

#include "db/ngx_guildlog_db.h"


static ngx_uint_t db_pool_make_room(ngx_guildlog_db_query_t *query);
static void db_pool_reject(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome);
static void db_pool_ended(ngx_guildlog_db_conn_t *conn);
static void db_pool_answered(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);
static void db_pool_unblocked(ngx_guildlog_db_conn_t *conn);
static void db_pool_terminated(ngx_guildlog_db_conn_t *conn);
static void db_pool_run(ngx_event_t *ev);
static void db_pool_free_ended(ngx_guildlog_db_pool_t *pool);
static void db_pool_deliver(ngx_guildlog_db_pool_t *pool);
static void db_pool_cancel(ngx_guildlog_db_conn_t *conn);
static void db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result);
static void db_pool_terminate(ngx_guildlog_db_pool_t *pool);


static const ngx_guildlog_db_conn_events_t  db_pool_events = {
    .ready = ngx_guildlog_db_group_ready,
    .ended = db_pool_ended,
    .answered = db_pool_answered,
    .unblocked = db_pool_unblocked,
    .terminated = db_pool_terminated
};


ngx_guildlog_db_pool_t *
ngx_guildlog_db_pool_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_guildlog_stats_t *stats)
{
    ngx_pool_t              *memory;
    ngx_guildlog_db_pool_t  *pool;

    memory = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, cycle->log);
    if (memory == NULL) {
        return NULL;
    }

    pool = ngx_pcalloc(memory, sizeof(ngx_guildlog_db_pool_t));
    if (pool == NULL) {
        goto failed;
    }

    pool->site = ngx_guildlog_db_host_site(memory, database, resolver,
                                           resolver_timeout, cycle->log);
    if (pool->site == NULL) {
        goto failed;
    }

    pool->fd = (ngx_socket_t) -1;
    pool->database = database;
    pool->events = &db_pool_events;
    pool->stats = stats;
    pool->pool = memory;
    pool->log = cycle->log;

    pool->run.data = pool;
    pool->run.log = pool->log;
    pool->run.handler = db_pool_run;

    ngx_queue_init(&pool->ended);
    ngx_queue_init(&pool->finished);

    ngx_guildlog_db_group_init(pool);

    return pool;

failed:

    ngx_destroy_pool(memory);

    return NULL;
}


ngx_guildlog_db_query_t *
ngx_guildlog_db_pool_submit(ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler, void *data)
{
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_query_t  *query;

    if (pool->closed) {
        return NULL;
    }

    query = ngx_guildlog_db_query_create(pool, stmt, args);
    if (query == NULL) {
        return NULL;
    }

    query->handler = handler;
    query->data = data;

    group = ngx_guildlog_db_group_of(query);

    if (ngx_guildlog_db_share_join(group, query) != NGX_OK) {
        ngx_guildlog_db_query_free(query);
        return NULL;
    }

    if (query->result.outcome == NGX_GUILDLOG_DB_REFUSED) {
        db_pool_reject(query, NGX_GUILDLOG_DB_REFUSED);

    } else if (ngx_guildlog_db_group_down(pool)) {
        pool->wanted_while_down = !pool->terminated;
        db_pool_reject(query, NGX_GUILDLOG_DB_UNAVAILABLE);

    } else if (ngx_guildlog_db_share_line_full(query)) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        db_pool_reject(query, NGX_GUILDLOG_DB_SHARE_TAKEN);

    } else if (group->nwaiting >= pool->database->queue
               && !db_pool_make_room(query))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_QUEUE_FULL, 1);
        ngx_guildlog_db_queue_overloaded(pool, "the queue is full");
        db_pool_reject(query, NGX_GUILDLOG_DB_QUEUE_FULL);

    } else {
        ngx_guildlog_db_queue_wait(query, 0);
    }

    return query;
}


/* the queue is full: who fills it gives a place to who does not */

static ngx_uint_t
db_pool_make_room(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_query_t  *other;

    other = ngx_guildlog_db_share_longest(query);

    if (other == NULL) {
        return 0;
    }

    ngx_guildlog_stats_count(query->pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                             1);

    (void) ngx_guildlog_db_queue_leave(other);
    ngx_guildlog_db_queue_finish(other, NGX_GUILDLOG_DB_SHARE_TAKEN);

    return 1;
}


/*
 * The next iteration of the event loop delivers it: an asker who asks again at
 * once must not keep the event loop in this one.
 */

static void
db_pool_reject(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_event_next(&query->pool->run);
    ngx_guildlog_db_queue_finish(query, outcome);
}


ngx_uint_t
ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool)
{
    ngx_guildlog_db_group_t  *group;

    group = &pool->groups[NGX_GUILDLOG_DB_GROUP_SHORT];

    return group->nwaiting || group->nbusy;
}


ngx_uint_t
ngx_guildlog_db_pool_answered(ngx_guildlog_db_pool_t *pool, ngx_msec_t recent)
{
    return pool->answered_us
           && ngx_guildlog_clock_us() - pool->answered_us < recent * 1000;
}


static void
db_pool_ended(ngx_guildlog_db_conn_t *conn)
{
    /* nothing is left to cancel */

    if (conn->cancel) {
        ngx_guildlog_db_pool_detach(conn->cancel);
        conn->cancel = NULL;
    }

    ngx_guildlog_db_group_ended(conn);
}


static void
db_pool_answered(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query)
{
    uint64_t                   now_us;
    ngx_guildlog_db_pool_t    *pool;
    ngx_guildlog_histogram_t  *times;

    pool = conn->pool;
    now_us = ngx_guildlog_clock_us();

    ngx_guildlog_db_share_count(query, -1);
    ngx_guildlog_db_group_answered(conn);

    ngx_post_event(&pool->run, &ngx_posted_events);

    query->result.time_us = now_us - query->start_us;

    if (ngx_guildlog_db_query_answered(query) == NGX_AGAIN) {
        ngx_guildlog_db_queue_again(query);
        return;
    }

    if (!query->cancelled) {
        times = &pool->stats->shared->stmt[query->stmt->index];
        ngx_guildlog_stats_observe(times, query->result.time_us);
    }

    if (query->result.outcome == NGX_GUILDLOG_DB_TIMEOUT) {
        ngx_guildlog_db_queue_late(query);

    } else {
        pool->answered_us = now_us;
    }

    ngx_guildlog_db_queue_finish(query, query->result.outcome);
}


static void
db_pool_unblocked(ngx_guildlog_db_conn_t *conn)
{
    ngx_post_event(&conn->pool->run, &ngx_posted_events);
}


static void
db_pool_terminated(ngx_guildlog_db_conn_t *conn)
{
    db_pool_terminate(conn->pool);
}


static void
db_pool_run(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_uint_t  i;

    ngx_guildlog_event_stop(ev);

    pool->round++;

    db_pool_free_ended(pool);

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        ngx_guildlog_db_queue_send(&pool->groups[i]);
        ngx_guildlog_db_group_grow(&pool->groups[i]);

        if (ngx_exiting) {
            ngx_guildlog_db_group_shrink(&pool->groups[i]);
        }
    }

    ngx_guildlog_db_group_revive(pool);

    /* last, for a handler may destroy the pool */

    db_pool_deliver(pool);
}


static void
db_pool_free_ended(ngx_guildlog_db_pool_t *pool)
{
    ngx_queue_t              *q;
    ngx_uint_t                unsent;
    ngx_guildlog_db_conn_t   *conn;
    ngx_guildlog_db_query_t  *query;

    while (!ngx_queue_empty(&pool->ended)) {
        q = ngx_queue_head(&pool->ended);
        ngx_queue_remove(q);

        conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);
        unsent = conn->blocked;

        /* from the last to the first, so that they queue up as they were */

        while (!ngx_queue_empty(&conn->flight)) {
            q = ngx_queue_last(&conn->flight);
            ngx_queue_remove(q);

            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
            ngx_guildlog_db_share_count(query, -1);

            if (ngx_guildlog_db_query_orphaned(query, unsent) == NGX_AGAIN) {
                ngx_guildlog_db_queue_again(query);

            } else {
                ngx_guildlog_db_queue_finish(query, query->result.outcome);
            }

            unsent = 0;
        }

        ngx_guildlog_db_conn_free(conn);
    }
}


static void
db_pool_deliver(ngx_guildlog_db_pool_t *pool)
{
    ngx_queue_t               batch, *q;
    ngx_guildlog_db_query_t  *query;

    pool->delivering = 1;

    do {
        ngx_queue_init(&batch);

        if (!ngx_queue_empty(&pool->finished)) {
            ngx_queue_add(&batch, &pool->finished);
            ngx_queue_init(&pool->finished);
        }

        while (!ngx_queue_empty(&batch)) {
            q = ngx_queue_head(&batch);
            ngx_queue_remove(q);

            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

            if (query->handler) {
                query->handler(query->data, &query->result);
            }

            ngx_guildlog_db_query_free(query);
        }

    } while (pool->closed && !ngx_queue_empty(&pool->finished));

    pool->delivering = 0;

    if (pool->closed) {
        ngx_destroy_pool(pool->pool);
    }
}


void
ngx_guildlog_db_pool_detach(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t  flags;

    query->handler = NULL;

    if (ngx_guildlog_db_queue_leave(query)) {
        ngx_guildlog_db_query_free(query);
        return;
    }

    /* a long read would keep its connection busy for nobody */

    flags = NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_READ;

    if (query->conn && query->conn->pg
        && (query->stmt->flags & flags) == flags)
    {
        query->cancelled = 1;
        db_pool_cancel(query->conn);
    }
}


/*
 * Cancels what runs on the connection, by a short statement on another one.
 * PQcancel() would block.  Hanging up would cost PostgreSQL a process for each
 * search that somebody leaves.
 *
 * Race: the cancel must not hit the next query.  Until it is answered, nothing
 * else is sent on this connection.
 *
 * Behind a pooler, or with several hosts, the process might be another one's:
 * then the statement runs on, within its server's share.
 */

static void
db_pool_cancel(ngx_guildlog_db_conn_t *conn)
{
    u_char                   buf[NGX_INT_T_LEN];
    ngx_str_t                arg;
    ngx_guildlog_db_pool_t  *pool;

    pool = conn->pool;

    if (conn->cancel || !pool->database->prepare
        || pool->database->hosts.nelts > 1)
    {
        return;
    }

    arg.data = buf;
    arg.len = ngx_sprintf(buf, "%d", PQbackendPID(conn->pg)) - buf;

    conn->cancel = ngx_guildlog_db_pool_submit(pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_cancel],
                     &arg, db_pool_cancelled, conn);
}


static void
db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_db_conn_t *conn = data;

    conn->cancel = NULL;

    ngx_post_event(&conn->pool->run, &ngx_posted_events);
}


static void
db_pool_terminate(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t                i;
    ngx_queue_t              *q;
    ngx_guildlog_db_share_t  *share;
    ngx_guildlog_db_query_t  *query;

    pool->terminated = 1;

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        while (!ngx_queue_empty(&pool->groups[i].waiting)) {
            q = ngx_queue_head(&pool->groups[i].waiting);
            share = ngx_queue_data(q, ngx_guildlog_db_share_t, queue);

            q = ngx_queue_head(&share->waiting);
            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

            (void) ngx_guildlog_db_queue_leave(query);
            ngx_guildlog_db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
        }
    }
}


void
ngx_guildlog_db_pool_destroy(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t               i;
    ngx_queue_t             *q;
    ngx_guildlog_db_conn_t  *conn;

    pool->closed = 1;

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        while (!ngx_queue_empty(&pool->groups[i].connections)) {
            q = ngx_queue_head(&pool->groups[i].connections);
            conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);
            ngx_guildlog_db_conn_close(conn);
        }
    }

    db_pool_free_ended(pool);
    db_pool_terminate(pool);

    ngx_guildlog_event_stop(&pool->retry);
    ngx_guildlog_event_stop(&pool->run);

    if (!pool->delivering) {
        db_pool_deliver(pool);
    }
}
