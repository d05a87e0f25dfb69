
/*
 * The queries of a worker to one database: they wait, are sent on one of four
 * sets of connections (for short statements and for those of delivery in
 * pipelines, for long ones and those of the background one by one), and are
 * delivered to their askers.  Servers take turns.
 *
 * All that follows from an event is done by one posted event, run(): bury
 * the dead, send what waits, open what is missing, and last call the
 * handlers of what has finished.  So nothing of a connection or of submit()
 * is ever on the stack when somebody else's code runs.
 */

#include "db/ngx_guildlog_db.h"


static void ngx_guildlog_db_pool_reject(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_guildlog_db_outcome_e outcome);
static void ngx_guildlog_db_pool_wait(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_uint_t first);
static void ngx_guildlog_db_pool_leave(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);
static void ngx_guildlog_db_pool_wait_expired(ngx_event_t *ev);
static void ngx_guildlog_db_pool_run(ngx_event_t *ev);
static void ngx_guildlog_db_pool_free_ended(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_db_pool_dispatch(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_group_t *group);
static ngx_int_t ngx_guildlog_db_pool_send_one(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_share_t *share);
static void ngx_guildlog_db_pool_send(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query);
static void ngx_guildlog_db_pool_send_expired(ngx_event_t *ev);
static void ngx_guildlog_db_pool_deliver(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_db_pool_cancel(ngx_guildlog_db_conn_t *conn);
static void ngx_guildlog_db_pool_cancelled(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_db_pool_overloaded(ngx_guildlog_db_pool_t *pool,
    const char *what);


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
    pool->stats = stats;
    pool->pool = memory;
    pool->log = cycle->log;

    pool->run.data = pool;
    pool->run.log = pool->log;
    pool->run.handler = ngx_guildlog_db_pool_run;

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
    ngx_int_t                 clean;
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

    group = ngx_guildlog_db_pool_group(query);
    clean = ngx_guildlog_db_query_copy(query, args);

    if (ngx_guildlog_db_share_join(query) != NGX_OK) {
        ngx_guildlog_db_query_free(query);
        return NULL;
    }

    if (clean != NGX_OK) {
        ngx_memcpy(query->result.sqlstate, "22021", 6);
        ngx_str_set(&query->result.message, "a NUL byte in an argument");
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_REFUSED);

    } else if (ngx_guildlog_db_group_down(pool)) {
        pool->wanted_while_down = !pool->terminated;
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);

    } else if (ngx_guildlog_db_share_line_full(query)) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_SHARE_TAKEN);

    } else if (group->nwaiting >= pool->database->queue) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_QUEUE_FULL,
                                 1);
        ngx_guildlog_db_pool_overloaded(pool, "the queue is full");
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_QUEUE_FULL);

    } else {
        ngx_guildlog_db_pool_wait(pool, query, 0);
    }

    return query;
}


/*
 * The next iteration delivers it: an asker who asks again at once must not
 * keep the event loop in this one.
 */

static void
ngx_guildlog_db_pool_reject(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_guildlog_db_outcome_e outcome)
{
    ngx_post_event(&pool->run, &ngx_posted_next_events);
    ngx_guildlog_db_query_finish(pool, query, outcome);
}


static void
ngx_guildlog_db_pool_wait(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_uint_t first)
{
    ngx_guildlog_db_share_wait(query, first);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, 1);

    query->round = pool->round;
    query->start_us = ngx_guildlog_now_us();

    query->timer.handler = ngx_guildlog_db_pool_wait_expired;
    ngx_add_timer(&query->timer, pool->database->queue_timeout);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


static void
ngx_guildlog_db_pool_leave(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_leave(query);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, -1);

    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }
}


ngx_guildlog_db_group_t *
ngx_guildlog_db_pool_group(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t  flags;

    flags = query->stmt->flags;

    return &query->pool->groups[
                 (flags & NGX_GUILDLOG_STMT_LONG) ? NGX_GUILDLOG_DB_GROUP_LONG
                 : (flags & NGX_GUILDLOG_STMT_DELIVERY)
                   ? NGX_GUILDLOG_DB_GROUP_DELIVERY
                 : (flags & NGX_GUILDLOG_STMT_BACKGROUND)
                   ? NGX_GUILDLOG_DB_GROUP_BACKGROUND
                   : NGX_GUILDLOG_DB_GROUP_SHORT];
}


ngx_uint_t
ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool)
{
    ngx_queue_t              *q;
    ngx_guildlog_db_conn_t   *conn;
    ngx_guildlog_db_group_t  *group;

    group = &pool->groups[NGX_GUILDLOG_DB_GROUP_SHORT];

    for (q = ngx_queue_head(&group->connections);
         q != ngx_queue_sentinel(&group->connections);
         q = ngx_queue_next(q))
    {
        conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);

        if (conn->nflight) {
            return 1;
        }
    }

    return group->nwaiting != 0;
}


void
ngx_guildlog_db_pool_requeue(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_wait(pool, query, 1);
}


static void
ngx_guildlog_db_pool_wait_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;

    pool = query->pool;
    group = query->share->group;

    /* patience is of no use where there is no database */

    if ((query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) && pool->nready
        && (ngx_guildlog_now_us() - query->start_us) / 1000 < group->timeout)
    {
        ngx_add_timer(ev, pool->database->queue_timeout);
        return;
    }

    ngx_guildlog_db_pool_leave(pool, query);

    /* another server's could go: only those of its own keep it waiting */

    if ((ngx_guildlog_db_share_full(query)
         || (ngx_guildlog_db_group_choose(group, query) == NULL && query->held))
        && ngx_guildlog_db_group_spare(pool, group))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_SHARE_TAKEN);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);
    ngx_guildlog_db_pool_overloaded(pool, "no connection was free in time");

    ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);
}


static void
ngx_guildlog_db_pool_run(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_uint_t  i;

    pool->round++;

    ngx_guildlog_db_pool_free_ended(pool);

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        ngx_guildlog_db_pool_dispatch(pool, &pool->groups[i]);
        ngx_guildlog_db_group_grow(pool, &pool->groups[i]);

        if (ngx_exiting) {
            ngx_guildlog_db_group_shrink(&pool->groups[i]);
        }
    }

    ngx_guildlog_db_group_revive(pool);

    /* last, for a handler may destroy the pool */

    ngx_guildlog_db_pool_deliver(pool);
}


static void
ngx_guildlog_db_pool_free_ended(ngx_guildlog_db_pool_t *pool)
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
            ngx_guildlog_db_query_orphaned(pool, query, unsent);
            unsent = 0;
        }

        ngx_guildlog_db_conn_free(conn);
    }
}


/* a server that had its turn goes to the end */

static void
ngx_guildlog_db_pool_dispatch(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_group_t *group)
{
    ngx_int_t                 rc;
    ngx_queue_t              *q, *next;
    ngx_guildlog_db_share_t  *share;

    group->queued_behind = 0;
    group->nheld = 0;

    for (q = ngx_queue_head(&group->waiting);
         q != ngx_queue_sentinel(&group->waiting);
         q = next)
    {
        share = ngx_queue_data(q, ngx_guildlog_db_share_t, queue);
        next = ngx_queue_next(q);

        rc = ngx_guildlog_db_pool_send_one(pool, share);

        if (rc == NGX_BUSY) {
            return;
        }

        if (rc == NGX_OK && share->nwaiting) {
            ngx_queue_remove(q);
            ngx_queue_insert_tail(&group->waiting, q);

            next = (next == ngx_queue_sentinel(&group->waiting)) ? q : next;
        }
    }
}


/*
 * Sends one query of the share; NGX_DECLINED: all of them have to wait for
 * others of their own, NGX_BUSY: there is no connection for anybody.
 */

static ngx_int_t
ngx_guildlog_db_pool_send_one(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_share_t *share)
{
    ngx_uint_t                fresh;
    ngx_queue_t              *q;
    ngx_guildlog_db_conn_t   *conn;
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_query_t  *query;

    group = share->group;
    fresh = 0;

    for (q = ngx_queue_head(&share->waiting);
         q != ngx_queue_sentinel(&share->waiting);
         q = ngx_queue_next(q))
    {
        query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (ngx_guildlog_db_share_full(query)) {
            share->held = pool->round;

            /* its recording goes on */

            if (query->stmt->flags & NGX_GUILDLOG_STMT_FIRST) {
                continue;
            }

            break;
        }

        conn = ngx_guildlog_db_group_choose(group, query);

        if (conn) {
            if (conn->nflight) {
                group->queued_behind++;
            }

            ngx_guildlog_db_pool_send(pool, conn, query);
            return NGX_OK;
        }

        if (query->held) {
            share->held = pool->round;
            break;
        }

        if (query->behind) {
            continue;
        }

        if (query->epoch == 0) {
            return NGX_BUSY;
        }

        fresh = 1;
    }

    /* a connection more would be of use to one that takes but a fresh one */

    group->nheld += fresh ? 0 : share->nwaiting;

    return NGX_DECLINED;
}


static void
ngx_guildlog_db_pool_send(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query)
{
    uint64_t  now;

    ngx_guildlog_db_pool_leave(pool, query);

    now = ngx_guildlog_now_us();

    if (query->share->held > query->round) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_WAITS,
                                 1);

    } else if (pool->round > query->round + 1) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAITS, 1);
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAIT_US,
                                 now - query->start_us);
    }

    query->start_us = now;
    ngx_guildlog_db_share_count(query, 1);

    query->timer.handler = ngx_guildlog_db_pool_send_expired;

    if (conn->nflight == 0) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, 1);
        ngx_add_timer(&query->timer,
                      conn->timeout + NGX_GUILDLOG_DB_CONN_GRACE);

    } else {
        ngx_add_timer(&query->timer,
                      conn->timeout * 2 + NGX_GUILDLOG_DB_CONN_GRACE);
    }

    ngx_guildlog_db_pipeline_send(conn, query);
}


/* the server should have given up by itself: do not trust it any more */

static void
ngx_guildlog_db_pool_send_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    query->late = 1;

    ngx_guildlog_db_query_late(pool, query);

    if (query->conn->pg) {
        ngx_guildlog_db_conn_fail(query->conn,
                                  "a statement missed its deadline");
    }
}


void
ngx_guildlog_db_pool_unblocked(ngx_guildlog_db_conn_t *conn)
{
    ngx_post_event(&conn->pool->run, &ngx_posted_events);
}


static void
ngx_guildlog_db_pool_deliver(ngx_guildlog_db_pool_t *pool)
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

    if (query->timer.timer_set
        && query->timer.handler == ngx_guildlog_db_pool_wait_expired)
    {
        ngx_guildlog_db_pool_leave(query->pool, query);
        ngx_guildlog_db_query_free(query);
        return;
    }

    /* a long read would keep its connection busy for nobody */

    flags = NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_READ;

    if (query->conn && query->conn->pg
        && (query->stmt->flags & flags) == flags)
    {
        query->cancelled = 1;
        ngx_guildlog_db_pool_cancel(query->conn);
    }
}


/*
 * Cancels what runs on the connection by a short statement on another one:
 * PQcancel() would block, and to hang up would cost PostgreSQL a process for
 * each search that somebody leaves.  Race: until the answer to that statement
 * has come nothing else is sent on the connection, so it hits nobody else's.
 * Behind a pooler, or with several hosts, it is not known whose process has
 * that number: the statement goes on, within its server's share.
 */

static void
ngx_guildlog_db_pool_cancel(ngx_guildlog_db_conn_t *conn)
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
                     &arg, ngx_guildlog_db_pool_cancelled, conn);
}


static void
ngx_guildlog_db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_db_conn_t *conn = data;

    conn->cancel = NULL;

    ngx_post_event(&conn->pool->run, &ngx_posted_events);
}


/* the connection has ended before */

void
ngx_guildlog_db_pool_not_cancelled(ngx_guildlog_db_conn_t *conn)
{
    if (conn->cancel) {
        ngx_guildlog_db_pool_detach(conn->cancel);
        conn->cancel = NULL;
    }
}


void
ngx_guildlog_db_pool_terminate(ngx_guildlog_db_pool_t *pool)
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

            ngx_guildlog_db_pool_leave(pool, query);
            ngx_guildlog_db_query_finish(pool, query,
                                         NGX_GUILDLOG_DB_UNAVAILABLE);
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

    ngx_guildlog_db_pool_free_ended(pool);
    ngx_guildlog_db_pool_terminate(pool);

    if (pool->retry.timer_set) {
        ngx_del_timer(&pool->retry);
    }

    if (pool->run.posted) {
        ngx_delete_posted_event(&pool->run);
    }

    if (!pool->delivering) {
        ngx_guildlog_db_pool_deliver(pool);
    }
}


/* under load one line a second tells as much as a thousand */

static void
ngx_guildlog_db_pool_overloaded(ngx_guildlog_db_pool_t *pool, const char *what)
{
    if (pool->complained == ngx_time()) {
        return;
    }

    pool->complained = ngx_time();

    ngx_log_error(NGX_LOG_ERR, pool->log, 0, "guildlog database \"%V\": %s",
                  &pool->database->name, what);
}
