
/*
 * A query from waiting to finished.  It waits in its server's share of a group
 * of connections until one takes it, or until its time is over.  Servers take
 * turns.
 */

#include "db/ngx_guildlog_db.h"


static void db_queue_remove(ngx_guildlog_db_query_t *query);
static void db_queue_wait_expired(ngx_event_t *ev);
static ngx_int_t db_queue_send_one(ngx_guildlog_db_share_t *share);
static void db_queue_send_on(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);
static void db_queue_send_expired(ngx_event_t *ev);


void
ngx_guildlog_db_queue_wait(ngx_guildlog_db_query_t *query, ngx_uint_t first)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db query \"%s\" waits", query->stmt->name);

    ngx_guildlog_db_share_wait(query, first);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, 1);

    query->round = pool->round;
    query->start_us = ngx_guildlog_clock_us();

    query->timer.handler = db_queue_wait_expired;
    ngx_add_timer(&query->timer, pool->database->queue_timeout);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


ngx_uint_t
ngx_guildlog_db_queue_leave(ngx_guildlog_db_query_t *query)
{
    if (!query->timer.timer_set
        || query->timer.handler != db_queue_wait_expired)
    {
        return 0;
    }

    db_queue_remove(query);

    return 1;
}


static void
db_queue_remove(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_leave(query);
    ngx_guildlog_stats_gauge(query->pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, -1);

    ngx_guildlog_event_stop(&query->timer);
}


static void
db_queue_wait_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;

    pool = query->pool;
    group = query->share->group;

    /* a PATIENT query waits on, but not for a database that is down */

    if ((query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) && pool->nready
        && (ngx_guildlog_clock_us() - query->start_us) / 1000 < group->timeout)
    {
        ngx_add_timer(ev, pool->database->queue_timeout);
        return;
    }

    db_queue_remove(query);

    /* if another server's query could go, it waited only for its own share */

    if ((ngx_guildlog_db_share_full(query)
         || (ngx_guildlog_db_group_choose(group, query) == NULL && query->held))
        && ngx_guildlog_db_group_spare(group))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        ngx_guildlog_db_queue_finish(query, NGX_GUILDLOG_DB_SHARE_TAKEN);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);
    ngx_guildlog_db_queue_overloaded(pool, "no connection was free in time");

    ngx_guildlog_db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
}


/* a server whose query was sent goes behind the others */

void
ngx_guildlog_db_queue_send(ngx_guildlog_db_group_t *group)
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

        rc = db_queue_send_one(share);

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
 * NGX_OK: one query of the share is sent.  NGX_DECLINED: all of them wait for
 * others of their own.  NGX_BUSY: no connection is free for anybody.
 */

static ngx_int_t
db_queue_send_one(ngx_guildlog_db_share_t *share)
{
    ngx_uint_t                fresh;
    ngx_queue_t              *q;
    ngx_guildlog_db_conn_t   *conn;
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_query_t  *query;

    group = share->group;
    fresh = 0;

    ngx_guildlog_queue_each(q, &share->waiting) {
        query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (ngx_guildlog_db_share_full(query)) {
            share->held = group->pool->round;

            /* a recording, which the bound does not count, may go */

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

            db_queue_send_on(conn, query);
            return NGX_OK;
        }

        if (query->held) {
            share->held = group->pool->round;
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

    /* a query that takes only a later connection needs one more */

    group->nheld += fresh ? 0 : share->nwaiting;

    return NGX_DECLINED;
}


static void
db_queue_send_on(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query)
{
    uint64_t                 now;
    ngx_msec_t               timeout;
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db query \"%s\" is sent behind %ui",
                   query->stmt->name, conn->nflight);

    db_queue_remove(query);

    now = ngx_guildlog_clock_us();

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

    if (conn->nflight == 0) {
        ngx_guildlog_db_group_busy(conn->group, 1);
    }

    /* the one in front of it may use up a timeout, too */

    timeout = conn->nflight ? conn->timeout * 2 : conn->timeout;

    query->timer.handler = db_queue_send_expired;
    ngx_add_timer(&query->timer, timeout + NGX_GUILDLOG_DB_CONN_GRACE);

    ngx_guildlog_db_pipeline_send(conn, query);
}


/* the server should have given up by itself: the connection is not trusted */

static void
db_queue_send_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    query->late = 1;

    ngx_guildlog_db_queue_late(query);

    if (query->conn->pg) {
        ngx_guildlog_db_conn_fail(query->conn,
                                  "a statement missed its deadline");
    }
}


void
ngx_guildlog_db_queue_again(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    if (query->handler == NULL || pool->terminated || pool->closed) {
        ngx_guildlog_db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_RETRIES, 1);

    ngx_guildlog_event_stop(&query->timer);

    PQclear(query->result.res);
    ngx_memzero(&query->result, sizeof(ngx_guildlog_db_result_t));

    ngx_guildlog_db_queue_wait(query, 1);
}


void
ngx_guildlog_db_queue_finish(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db query \"%s\" finished outcome:%d %s",
                   query->stmt->name, outcome, query->result.sqlstate);

    ngx_guildlog_event_stop(&query->timer);

    /* a class GL error is the schema's answer, not a failure */

    if (outcome != NGX_GUILDLOG_DB_ROWS
        && outcome != NGX_GUILDLOG_DB_SHARE_TAKEN
        && ngx_strncmp(query->result.sqlstate, "GL", 2) != 0)
    {
        (void) ngx_atomic_fetch_add(
                   &pool->stats->shared->stmt_errors[query->stmt->index], 1);
    }

    query->result.outcome = outcome;
    ngx_queue_insert_tail(&pool->finished, &query->queue);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


void
ngx_guildlog_db_queue_late(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);

    ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                  "guildlog database \"%V\": statement \"%s\" ran past %M ms",
                  &pool->database->name, query->stmt->name,
                  query->share->group->timeout);
}


void
ngx_guildlog_db_queue_overloaded(ngx_guildlog_db_pool_t *pool, const char *what)
{
    if (pool->overloaded == ngx_time()) {
        return;
    }

    pool->overloaded = ngx_time();

    ngx_log_error(NGX_LOG_ERR, pool->log, 0, "guildlog database \"%V\": %s",
                  &pool->database->name, what);
}
