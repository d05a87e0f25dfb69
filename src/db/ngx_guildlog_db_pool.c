
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
static void ngx_guildlog_db_pool_bury(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_db_pool_dispatch(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_set_t *set);
static ngx_int_t ngx_guildlog_db_pool_turn(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_share_t *share);
static void ngx_guildlog_db_pool_send(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_pg_t *pg, ngx_guildlog_db_query_t *query);
static void ngx_guildlog_db_pool_send_expired(ngx_event_t *ev);
static void ngx_guildlog_db_pool_deliver(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_db_pool_cancel(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_db_pool_cancelled(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_db_pool_complain(ngx_guildlog_db_pool_t *pool,
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

    pool->site = ngx_guildlog_site_create(memory, database, resolver,
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

    ngx_queue_init(&pool->dead);
    ngx_queue_init(&pool->finished);

    ngx_guildlog_set_init(pool);

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
    ngx_guildlog_set_t       *set;
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

    set = ngx_guildlog_db_pool_set(query);
    clean = ngx_guildlog_db_query_copy(query, args);

    if (ngx_guildlog_share_join(query) != NGX_OK) {
        ngx_guildlog_db_query_free(query);
        return NULL;
    }

    if (clean != NGX_OK) {
        ngx_memcpy(query->result.sqlstate, "22021", 6);
        ngx_str_set(&query->result.message, "a NUL byte in an argument");
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_REFUSED);

    } else if (ngx_guildlog_set_down(pool)) {
        pool->missed = !pool->terminated;
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);

    } else if (ngx_guildlog_share_crowded(query)) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        ngx_guildlog_db_pool_reject(pool, query, NGX_GUILDLOG_DB_SHARE_TAKEN);

    } else if (set->nwaiting >= pool->database->queue) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_QUEUE_FULL,
                                 1);
        ngx_guildlog_db_pool_complain(pool, "the queue is full");
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
    ngx_guildlog_outcome_finish(pool, query, outcome);
}


static void
ngx_guildlog_db_pool_wait(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_uint_t first)
{
    ngx_guildlog_share_wait(query, first);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, 1);

    query->turn = pool->turn;
    query->start_us = ngx_guildlog_now_us();

    query->timer.handler = ngx_guildlog_db_pool_wait_expired;
    ngx_add_timer(&query->timer, pool->database->queue_timeout);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


static void
ngx_guildlog_db_pool_leave(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_share_leave(query);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, -1);

    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }
}


ngx_guildlog_set_t *
ngx_guildlog_db_pool_set(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t  flags;

    flags = query->stmt->flags;

    return &query->pool->sets[
                 (flags & NGX_GUILDLOG_STMT_LONG) ? NGX_GUILDLOG_SET_LONG
                 : (flags & NGX_GUILDLOG_STMT_DELIVERY)
                   ? NGX_GUILDLOG_SET_DELIVERY
                 : (flags & NGX_GUILDLOG_STMT_BACKGROUND)
                   ? NGX_GUILDLOG_SET_BACKGROUND
                   : NGX_GUILDLOG_SET_SHORT];
}


ngx_uint_t
ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool)
{
    ngx_queue_t         *q;
    ngx_guildlog_pg_t   *pg;
    ngx_guildlog_set_t  *set;

    set = &pool->sets[NGX_GUILDLOG_SET_SHORT];

    for (q = ngx_queue_head(&set->connections);
         q != ngx_queue_sentinel(&set->connections);
         q = ngx_queue_next(q))
    {
        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);

        if (pg->nflight) {
            return 1;
        }
    }

    return set->nwaiting != 0;
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

    ngx_guildlog_set_t      *set;
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;
    set = query->share->set;

    /* patience is of no use where there is no database */

    if ((query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) && pool->nready
        && (ngx_guildlog_now_us() - query->start_us) / 1000 < set->timeout)
    {
        ngx_add_timer(ev, pool->database->queue_timeout);
        return;
    }

    ngx_guildlog_db_pool_leave(pool, query);

    /* another server's could go: only those of its own keep it waiting */

    if ((ngx_guildlog_share_full(query)
         || (ngx_guildlog_set_choose(set, query) == NULL && query->held))
        && ngx_guildlog_set_spare(pool, set))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        ngx_guildlog_outcome_finish(pool, query, NGX_GUILDLOG_DB_SHARE_TAKEN);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);
    ngx_guildlog_db_pool_complain(pool, "no connection was free in time");

    ngx_guildlog_outcome_finish(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);
}


static void
ngx_guildlog_db_pool_run(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_uint_t  i;

    pool->turn++;

    ngx_guildlog_db_pool_bury(pool);

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        ngx_guildlog_db_pool_dispatch(pool, &pool->sets[i]);
        ngx_guildlog_set_grow(pool, &pool->sets[i]);

        if (ngx_exiting) {
            ngx_guildlog_set_shrink(&pool->sets[i]);
        }
    }

    ngx_guildlog_set_revive(pool);

    /* last, for a handler may destroy the pool */

    ngx_guildlog_db_pool_deliver(pool);
}


static void
ngx_guildlog_db_pool_bury(ngx_guildlog_db_pool_t *pool)
{
    ngx_queue_t              *q;
    ngx_uint_t                unsent;
    ngx_guildlog_pg_t        *pg;
    ngx_guildlog_db_query_t  *query;

    while (!ngx_queue_empty(&pool->dead)) {
        q = ngx_queue_head(&pool->dead);
        ngx_queue_remove(q);

        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);
        unsent = pg->blocked;

        /* from the last to the first, so that they queue up as they were */

        while (!ngx_queue_empty(&pg->flight)) {
            q = ngx_queue_last(&pg->flight);
            ngx_queue_remove(q);

            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
            ngx_guildlog_outcome_orphaned(pool, query, unsent);
            unsent = 0;
        }

        ngx_guildlog_pg_free(pg);
    }
}


/* a server that had its turn goes to the end */

static void
ngx_guildlog_db_pool_dispatch(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_set_t *set)
{
    ngx_int_t              rc;
    ngx_queue_t           *q, *next;
    ngx_guildlog_share_t  *share;

    set->crowded = 0;
    set->nheld = 0;

    for (q = ngx_queue_head(&set->turns);
         q != ngx_queue_sentinel(&set->turns);
         q = next)
    {
        share = ngx_queue_data(q, ngx_guildlog_share_t, queue);
        next = ngx_queue_next(q);

        rc = ngx_guildlog_db_pool_turn(pool, share);

        if (rc == NGX_BUSY) {
            return;
        }

        if (rc == NGX_OK && share->nwaiting) {
            ngx_queue_remove(q);
            ngx_queue_insert_tail(&set->turns, q);

            next = (next == ngx_queue_sentinel(&set->turns)) ? q : next;
        }
    }
}


/*
 * Sends one query of the share; NGX_DECLINED: all of them have to wait for
 * others of their own, NGX_BUSY: there is no connection for anybody.
 */

static ngx_int_t
ngx_guildlog_db_pool_turn(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_share_t *share)
{
    ngx_uint_t                fresh;
    ngx_queue_t              *q;
    ngx_guildlog_pg_t        *pg;
    ngx_guildlog_set_t       *set;
    ngx_guildlog_db_query_t  *query;

    set = share->set;
    fresh = 0;

    for (q = ngx_queue_head(&share->waiting);
         q != ngx_queue_sentinel(&share->waiting);
         q = ngx_queue_next(q))
    {
        query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (ngx_guildlog_share_full(query)) {
            share->held = pool->turn;

            /* its recording goes on */

            if (query->stmt->flags & NGX_GUILDLOG_STMT_FIRST) {
                continue;
            }

            break;
        }

        pg = ngx_guildlog_set_choose(set, query);

        if (pg) {
            if (pg->nflight) {
                set->crowded++;
            }

            ngx_guildlog_db_pool_send(pool, pg, query);
            return NGX_OK;
        }

        if (query->held) {
            share->held = pool->turn;
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

    set->nheld += fresh ? 0 : share->nwaiting;

    return NGX_DECLINED;
}


static void
ngx_guildlog_db_pool_send(ngx_guildlog_db_pool_t *pool, ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query)
{
    uint64_t  now;

    ngx_guildlog_db_pool_leave(pool, query);

    now = ngx_guildlog_now_us();

    if (query->share->held > query->turn) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_WAITS,
                                 1);

    } else if (pool->turn > query->turn + 1) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAITS, 1);
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAIT_US,
                                 now - query->start_us);
    }

    query->start_us = now;
    ngx_guildlog_share_count(query, 1);

    query->timer.handler = ngx_guildlog_db_pool_send_expired;

    if (pg->nflight == 0) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, 1);
        ngx_add_timer(&query->timer, pg->timeout + NGX_GUILDLOG_PG_GRACE);

    } else {
        ngx_add_timer(&query->timer,
                      pg->timeout * 2 + NGX_GUILDLOG_PG_GRACE);
    }

    ngx_guildlog_pipeline_send(pg, query);
}


/* the server should have given up by itself: do not trust it any more */

static void
ngx_guildlog_db_pool_send_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    query->late = 1;

    ngx_guildlog_outcome_late(pool, query);

    if (query->pg->conn) {
        ngx_guildlog_pg_fail(query->pg, "a statement missed its deadline");
    }
}


void
ngx_guildlog_db_pool_unblocked(ngx_guildlog_pg_t *pg)
{
    ngx_post_event(&pg->pool->run, &ngx_posted_events);
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

    if (query->pg && query->pg->conn
        && (query->stmt->flags & flags) == flags)
    {
        query->cancelled = 1;
        ngx_guildlog_db_pool_cancel(query->pg);
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
ngx_guildlog_db_pool_cancel(ngx_guildlog_pg_t *pg)
{
    u_char                   buf[NGX_INT_T_LEN];
    ngx_str_t                arg;
    ngx_guildlog_db_pool_t  *pool;

    pool = pg->pool;

    if (pg->cancel || !pool->database->prepare
        || pool->database->hosts.nelts > 1)
    {
        return;
    }

    arg.data = buf;
    arg.len = ngx_sprintf(buf, "%d", PQbackendPID(pg->conn)) - buf;

    pg->cancel = ngx_guildlog_db_pool_submit(pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_cancel],
                     &arg, ngx_guildlog_db_pool_cancelled, pg);
}


static void
ngx_guildlog_db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_pg_t *pg = data;

    pg->cancel = NULL;

    ngx_post_event(&pg->pool->run, &ngx_posted_events);
}


/* the connection has ended before */

void
ngx_guildlog_db_pool_not_cancelled(ngx_guildlog_pg_t *pg)
{
    if (pg->cancel) {
        ngx_guildlog_db_pool_detach(pg->cancel);
        pg->cancel = NULL;
    }
}


void
ngx_guildlog_db_pool_terminate(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t                i;
    ngx_queue_t              *q;
    ngx_guildlog_share_t     *share;
    ngx_guildlog_db_query_t  *query;

    pool->terminated = 1;

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        while (!ngx_queue_empty(&pool->sets[i].turns)) {
            q = ngx_queue_head(&pool->sets[i].turns);
            share = ngx_queue_data(q, ngx_guildlog_share_t, queue);

            q = ngx_queue_head(&share->waiting);
            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

            ngx_guildlog_db_pool_leave(pool, query);
            ngx_guildlog_outcome_finish(pool, query,
                                        NGX_GUILDLOG_DB_UNAVAILABLE);
        }
    }
}


void
ngx_guildlog_db_pool_destroy(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t          i;
    ngx_queue_t        *q;
    ngx_guildlog_pg_t  *pg;

    pool->closed = 1;

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        while (!ngx_queue_empty(&pool->sets[i].connections)) {
            q = ngx_queue_head(&pool->sets[i].connections);
            pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);
            ngx_guildlog_pg_close(pg);
        }
    }

    ngx_guildlog_db_pool_bury(pool);
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
ngx_guildlog_db_pool_complain(ngx_guildlog_db_pool_t *pool, const char *what)
{
    if (pool->complained == ngx_time()) {
        return;
    }

    pool->complained = ngx_time();

    ngx_log_error(NGX_LOG_ERR, pool->log, 0, "guildlog database \"%V\": %s",
                  &pool->database->name, what);
}
