
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


/* the share of statements for several guilds: no guild has that id */
#define DB_SHARE_SEVERAL  1


static ngx_guildlog_db_query_t *db_pool_asked(ngx_guildlog_db_result_t *result,
    ngx_str_t *args);
static ngx_uint_t db_pool_make_room(ngx_guildlog_db_query_t *query);
static void db_pool_reject(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome);
static void db_pool_run(ngx_event_t *ev);
static void db_pool_free_ended(ngx_guildlog_db_pool_t *pool);
static void db_pool_deliver(ngx_guildlog_db_pool_t *pool);
static void db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result);
static void db_pool_refuse_waiting(ngx_guildlog_db_pool_t *pool);
static void db_queue_wait(ngx_guildlog_db_query_t *query, ngx_uint_t first);
static void db_queue_remove(ngx_guildlog_db_query_t *query);
static void db_queue_wait_expired(ngx_event_t *ev);
static void db_queue_send(ngx_guildlog_db_group_t *group);
static ngx_int_t db_queue_send_one(ngx_guildlog_db_share_t *share);
static void db_queue_send_on(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);
static void db_queue_send_expired(ngx_event_t *ev);
static void db_queue_again(ngx_guildlog_db_query_t *query);
static void db_queue_finish(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome);
static void db_queue_late(ngx_guildlog_db_query_t *query);
static void db_queue_overloaded(ngx_guildlog_db_pool_t *pool,
    const char *what);
static ngx_int_t db_share_join(ngx_guildlog_db_group_t *group,
    ngx_guildlog_db_query_t *query);
static ngx_rbtree_key_t db_share_key(ngx_guildlog_db_query_t *query);
static void db_share_count(ngx_guildlog_db_query_t *query, ngx_int_t n);
static ngx_uint_t db_share_full(ngx_guildlog_db_query_t *query);
static ngx_uint_t db_share_line_full(ngx_guildlog_db_query_t *query);


ngx_guildlog_db_pool_t *
ngx_guildlog_db_pool_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_guildlog_stats_t *stats)
{
    ngx_pool_t              *memory;
    ngx_guildlog_db_pool_t  *pool;

    pool = ngx_guildlog_pool(&memory, NGX_DEFAULT_POOL_SIZE,
                             sizeof(ngx_guildlog_db_pool_t), cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    pool->told = ngx_pcalloc(memory, database->hosts.nelts);
    if (pool->told == NULL) {
        ngx_destroy_pool(memory);
        return NULL;
    }

    pool->fd = (ngx_socket_t) -1;
    pool->database = database;
    pool->stats = stats;
    pool->resolver = resolver;
    pool->resolver_timeout = resolver_timeout;
    pool->pool = memory;
    pool->log = cycle->log;

    ngx_guildlog_event_init(&pool->run, db_pool_run, pool, pool->log);

    ngx_queue_init(&pool->ended);
    ngx_queue_init(&pool->finished);

    ngx_guildlog_db_group_init(pool);

    return pool;
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

    ngx_guildlog_assert(handler);

    query->handler = handler;
    query->data = data;

    /* what a standby does not answer at once is asked at the primary */

    query->retried = pool->database->standby;

    group = ngx_guildlog_db_group_of(query);

    if (db_share_join(group, query) != NGX_OK) {
        ngx_guildlog_db_query_free(query);
        return NULL;
    }

    if (query->result.outcome == NGX_GUILDLOG_DB_REFUSED) {
        db_pool_reject(query, NGX_GUILDLOG_DB_REFUSED);

    } else if (ngx_guildlog_db_group_down(pool)) {
        pool->wanted_while_down = !pool->terminated;
        db_pool_reject(query, NGX_GUILDLOG_DB_UNAVAILABLE);

    } else if (db_share_line_full(query)) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        db_pool_reject(query, NGX_GUILDLOG_DB_SHARE_TAKEN);

    } else if (group->nwaiting >= pool->database->queue
               && !db_pool_make_room(query))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_QUEUE_FULL, 1);
        db_queue_overloaded(pool, "the queue is full");
        db_pool_reject(query, NGX_GUILDLOG_DB_QUEUE_FULL);

    } else {
        db_queue_wait(query, 0);
    }

    return query;
}


ngx_guildlog_db_query_t *
ngx_guildlog_db_pool_move(ngx_guildlog_db_result_t *result,
    ngx_guildlog_db_pool_t *pool)
{
    ngx_str_t                 args[NGX_GUILDLOG_ARGS_MAX];
    ngx_guildlog_db_query_t  *query;

    query = db_pool_asked(result, args);

    return ngx_guildlog_db_pool_submit(pool, query->stmt, args,
                                       query->handler, query->data);
}


/* the arguments are those of the query */

static ngx_guildlog_db_query_t *
db_pool_asked(ngx_guildlog_db_result_t *result, ngx_str_t *args)
{
    ngx_uint_t                i;
    ngx_guildlog_db_query_t  *query;

    query = ngx_queue_data(result, ngx_guildlog_db_query_t, result);

    ngx_guildlog_assert(!(query->stmt->flags & NGX_GUILDLOG_STMT_RAW));

    for (i = 0; i < query->stmt->nargs; i++) {
        args[i].data = (u_char *) query->values[i];
        args[i].len = args[i].data ? ngx_strlen(args[i].data) : 0;
    }

    return query;
}


const ngx_guildlog_stmt_t *
ngx_guildlog_db_pool_asked(ngx_guildlog_db_result_t *result, ngx_pool_t *pool,
    ngx_str_t *args)
{
    ngx_uint_t                  i;
    const ngx_guildlog_stmt_t  *stmt;

    stmt = db_pool_asked(result, args)->stmt;

    for (i = 0; i < stmt->nargs; i++) {
        if (args[i].data == NULL) {
            continue;
        }

        args[i].data = ngx_pstrdup(pool, &args[i]);
        if (args[i].data == NULL) {
            return NULL;
        }
    }

    return stmt;
}


/*
 * The queue is full: the newest one that waits in the share where most do makes
 * room, if these are more than the query would find in its own.  An equal
 * length does not count: the newcomer would take its place.  Who is PATIENT has
 * half of an answer, and stays.
 */

static ngx_uint_t
db_pool_make_room(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t                n, most;
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;
    ngx_guildlog_db_share_t  *share, *longest;

    longest = NULL;
    most = query->share->nwaiting + 1;

    ngx_guildlog_queue_each(q, &query->share->group->waiting) {
        share = ngx_queue_data(q, ngx_guildlog_db_share_t, queue);
        n = share->nwaiting - share->npatient;

        if (share->node.key && n > most) {
            most = n;
            longest = share;
        }
    }

    if (longest == NULL) {
        return 0;
    }

    q = &longest->waiting;

    do {
        q = ngx_queue_prev(q);
        other = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
    } while (other->stmt->flags & NGX_GUILDLOG_STMT_PATIENT);

    ngx_guildlog_stats_count(query->pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                             1);

    db_queue_remove(other);
    db_queue_finish(other, NGX_GUILDLOG_DB_SHARE_TAKEN);

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
    db_queue_finish(query, outcome);
}


const ngx_guildlog_database_t *
ngx_guildlog_db_pool_database(ngx_guildlog_db_pool_t *pool)
{
    return pool->database;
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


void
ngx_guildlog_db_pool_result(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query)
{
    uint64_t                   now_us;
    ngx_guildlog_db_pool_t    *pool;
    ngx_guildlog_histogram_t  *times;

    pool = conn->pool;
    now_us = ngx_guildlog_clock_us();

    ngx_guildlog_assert(query->pool == pool);
    ngx_guildlog_assert(query->result.res);
    ngx_guildlog_assert(query->timer.timer_set);

    db_share_count(query, -1);
    ngx_guildlog_db_group_answered(conn);

    ngx_post_event(&pool->run, &ngx_posted_events);

    query->result.time_us = now_us - query->start_us;

    if (ngx_guildlog_db_query_answered(query) == NGX_AGAIN) {
        db_queue_again(query);
        return;
    }

    if (!query->cancelled) {
        times = &pool->stats->shared->stmt[query->stmt->index];
        ngx_guildlog_stats_observe(times, query->result.time_us);
    }

    if (query->result.outcome == NGX_GUILDLOG_DB_TIMEOUT) {
        db_queue_late(query);

    } else {
        pool->answered_us = now_us;
    }

    db_queue_finish(query, query->result.outcome);
}


static void
db_pool_run(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_uint_t  i;

    ngx_guildlog_event_stop(ev);

    pool->round++;

    db_pool_free_ended(pool);

    /* a standby is not waited for */

    if (pool->database->standby && ngx_guildlog_db_group_down(pool)) {
        db_pool_refuse_waiting(pool);
    }

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        db_queue_send(&pool->groups[i]);
        ngx_guildlog_db_group_grow(&pool->groups[i]);

        if (ngx_exiting) {
            ngx_guildlog_db_group_shrink(&pool->groups[i]);
        }
    }

    ngx_guildlog_db_group_revive(pool);

    /* last, for a handler may destroy the pool */

    db_pool_deliver(pool);
}


/*
 * A query that had no effect, as it had not left this machine or reads, is sent
 * once more.  Where one connection is lost the others often are: it takes only
 * a connection that was opened after this loss.
 */

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

        /* bytes of the last one have not left this machine */

        unsent = conn->blocked;

        /* from the last to the first, so that they queue up as they were */

        while (!ngx_queue_empty(&conn->flight)) {
            q = ngx_queue_last(&conn->flight);
            ngx_queue_remove(q);

            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

            ngx_guildlog_assert(query->conn == conn);

            query->conn = NULL;
            db_share_count(query, -1);

            if (query->late) {
                db_queue_finish(query, NGX_GUILDLOG_DB_TIMEOUT);

            } else if (query->retried
                       || !(unsent
                            || (query->stmt->flags & NGX_GUILDLOG_STMT_READ)))
            {
                db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);

            } else {
                query->retried = 1;
                query->epoch = pool->epoch;
                db_queue_again(query);
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

            ngx_guildlog_assert(query->conn == NULL);
            ngx_guildlog_assert(!query->timer.timer_set);
            ngx_guildlog_assert(query->result.outcome != NGX_GUILDLOG_DB_ROWS
                                || query->result.res);

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


/*
 * A long read would keep its connection busy for nobody: it is cancelled, by a
 * short statement on another connection.  PQcancel() would block.  Hanging up
 * would cost PostgreSQL a process for each search that somebody leaves.
 *
 * Race: the cancel must not hit the next query.  Until it is answered, nothing
 * else is sent on this connection.
 *
 * Behind a pooler, or with several hosts, the process might be another one's:
 * then the statement runs on, within its guild's share.
 */

void
ngx_guildlog_db_pool_detach(ngx_guildlog_db_query_t *query)
{
    u_char                   buf[NGX_INT64_LEN];
    ngx_str_t                arg;
    ngx_uint_t               flags;
    ngx_guildlog_db_conn_t  *conn;
    ngx_guildlog_db_pool_t  *pool;

    if (query == NULL) {
        return;
    }

    query->handler = NULL;

    if (query->timer.timer_set
        && query->timer.handler == db_queue_wait_expired)
    {
        db_queue_remove(query);
        ngx_guildlog_db_query_free(query);
        return;
    }

    conn = query->conn;
    pool = query->pool;
    flags = NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_READ;

    if (conn == NULL || conn->pg == NULL
        || (query->stmt->flags & flags) != flags)
    {
        return;
    }

    query->cancelled = 1;

    if (conn->cancel || !pool->database->prepare
        || pool->database->hosts.nelts > 1)
    {
        return;
    }

    arg = ngx_guildlog_digits(buf, PQbackendPID(conn->pg));

    conn->cancel = ngx_guildlog_db_pool_submit(pool, ngx_guildlog_stmt(cancel),
                                               &arg, db_pool_cancelled, conn);
}


static void
db_pool_cancelled(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_db_conn_t *conn = data;

    conn->cancel = NULL;

    ngx_post_event(&conn->pool->run, &ngx_posted_events);
}


void
ngx_guildlog_db_pool_terminate(ngx_guildlog_db_pool_t *pool)
{
    pool->terminated = 1;

    db_pool_refuse_waiting(pool);
}


static void
db_pool_refuse_waiting(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t                i;
    ngx_queue_t              *q;
    ngx_guildlog_db_share_t  *share;
    ngx_guildlog_db_query_t  *query;

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        while (!ngx_queue_empty(&pool->groups[i].waiting)) {
            q = ngx_queue_head(&pool->groups[i].waiting);
            share = ngx_queue_data(q, ngx_guildlog_db_share_t, queue);

            q = ngx_queue_head(&share->waiting);
            query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

            db_queue_remove(query);
            db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
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

    if (pool->standby) {
        ngx_guildlog_db_standby_leave(pool->standby);
    }

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        while (!ngx_queue_empty(&pool->groups[i].connections)) {
            q = ngx_queue_head(&pool->groups[i].connections);
            conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);
            ngx_guildlog_db_conn_close(conn);
        }
    }

    db_pool_free_ended(pool);
    ngx_guildlog_db_pool_terminate(pool);

    ngx_guildlog_event_stop(&pool->retry);
    ngx_guildlog_event_stop(&pool->run);

    if (!pool->delivering) {
        db_pool_deliver(pool);
    }
}


/*
 * A query waits in its guild's share of a group of connections until one takes
 * it, or until its time is over; first: before all others.  Guilds take rounds.
 */

static void
db_queue_wait(ngx_guildlog_db_query_t *query, ngx_uint_t first)
{
    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_share_t  *share;

    pool = query->pool;
    share = query->share;
    group = share->group;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db query \"%s\" waits", query->stmt->name);

    if (share->nwaiting && first) {
        ngx_queue_remove(&share->queue);
    }

    if (first) {
        ngx_queue_insert_head(&share->waiting, &query->queue);
        ngx_queue_insert_head(&group->waiting, &share->queue);

    } else {
        ngx_queue_insert_tail(&share->waiting, &query->queue);

        if (share->nwaiting == 0) {
            ngx_queue_insert_tail(&group->waiting, &share->queue);
        }
    }

    if (query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) {
        share->npatient++;
    }

    share->nwaiting++;
    group->nwaiting++;
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, 1);

    query->round = pool->round;
    query->start_us = ngx_guildlog_clock_us();

    query->timer.handler = db_queue_wait_expired;
    ngx_add_timer(&query->timer, pool->database->queue_timeout);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


static void
db_queue_remove(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_t  *share;

    share = query->share;

    ngx_guildlog_assert(share->nwaiting > 0);
    ngx_guildlog_assert(share->group->nwaiting >= share->nwaiting);

    ngx_queue_remove(&query->queue);
    share->group->nwaiting--;

    if (query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) {
        share->npatient--;
    }

    if (--share->nwaiting == 0) {
        ngx_queue_remove(&share->queue);
    }

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

    /* if another guild's query could go, it waited only for its own share */

    if ((db_share_full(query)
         || (ngx_guildlog_db_group_choose(group, query) == NULL && query->held))
        && ngx_guildlog_db_group_spare(group))
    {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_SHARE_TAKEN,
                                 1);
        db_queue_finish(query, NGX_GUILDLOG_DB_SHARE_TAKEN);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);
    db_queue_overloaded(pool, "no connection was free in time");

    db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
}


/* sends what can be sent; a guild whose query was sent goes behind the
   others */

static void
db_queue_send(ngx_guildlog_db_group_t *group)
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

        ngx_guildlog_assert(query->conn == NULL);
        ngx_guildlog_assert(query->result.res == NULL);

        if (db_share_full(query)) {
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

    ngx_guildlog_assert(conn->ready && !conn->retiring);
    ngx_guildlog_assert(conn->group == query->share->group);
    ngx_guildlog_assert(conn->epoch >= query->epoch);

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
    db_share_count(query, 1);

    if (conn->nflight == 0) {
        ngx_guildlog_db_group_busy(conn->group, 1);
    }

    /* the one in front of it may use up a timeout, too */

    timeout = conn->nflight ? conn->group->timeout * 2 : conn->group->timeout;

    query->timer.handler = db_queue_send_expired;
    ngx_add_timer(&query->timer, timeout + NGX_GUILDLOG_DB_CONN_GRACE);

    ngx_guildlog_db_pipeline_send(conn, query);
}


/* the database should have given up by itself: the connection is not trusted */

static void
db_queue_send_expired(ngx_event_t *ev)
{
    ngx_guildlog_db_query_t *query = ev->data;

    query->late = 1;

    db_queue_late(query);

    if (query->conn->pg) {
        ngx_guildlog_db_conn_fail(query->conn,
                                  "a statement missed its deadline");
    }
}


/* sends it once more, before all others; a detached one just finishes */

static void
db_queue_again(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    if (query->handler == NULL || pool->terminated || pool->closed) {
        db_queue_finish(query, NGX_GUILDLOG_DB_UNAVAILABLE);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_RETRIES, 1);

    ngx_guildlog_event_stop(&query->timer);

    PQclear(query->result.res);
    ngx_memzero(&query->result, sizeof(ngx_guildlog_db_result_t));

    db_queue_wait(query, 1);
}


/* the pool's next round calls its handler */

static void
db_queue_finish(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, pool->log, 0,
                   "guildlog db query \"%s\" finished outcome:%d %s",
                   query->stmt->name, outcome, query->result.sqlstate);

    ngx_guildlog_event_stop(&query->timer);

    ngx_guildlog_assert(query->conn == NULL);

    /* a class GL error is the schema's answer, not a failure */

    if (outcome != NGX_GUILDLOG_DB_ROWS
        && outcome != NGX_GUILDLOG_DB_SHARE_TAKEN
        && query->result.fault != NGX_GUILDLOG_DB_FAULT_SAID)
    {
        (void) ngx_atomic_fetch_add(
                   &pool->stats->shared->stmt_errors[query->stmt->index], 1);
    }

    query->result.outcome = outcome;
    ngx_queue_insert_tail(&pool->finished, &query->queue);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


/* counts and logs that it ran past its deadline */

static void
db_queue_late(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_t  *pool;

    pool = query->pool;

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);

    ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                  "guildlog database \"%V\": statement \"%s\" ran past %M ms",
                  &pool->database->name, query->stmt->name,
                  query->share->group->timeout);
}


/* logs that queries are refused, once a second at most */

static void
db_queue_overloaded(ngx_guildlog_db_pool_t *pool, const char *what)
{
    if (pool->overloaded == ngx_time()) {
        return;
    }

    pool->overloaded = ngx_time();

    ngx_log_error(NGX_LOG_ERR, pool->log, 0, "guildlog database \"%V\": %s",
                  &pool->database->name, what);
}


/*
 * Each guild has a share of a group of connections: a number of its
 * statements are in flight at a time, the others wait, and the guilds take
 * rounds.  A guild that asks much waits for itself, and no other does.
 */

/* the query belongs to its guild's share as long as it lives; NGX_ERROR if out
   of memory */

static ngx_int_t
db_share_join(ngx_guildlog_db_group_t *group, ngx_guildlog_db_query_t *query)
{
    ngx_rbtree_key_t          key;
    ngx_rbtree_node_t        *node;
    ngx_guildlog_db_share_t  *share;

    key = db_share_key(query);
    node = group->shares.root;

    while (node != &group->sentinel && node->key != key) {
        node = key < node->key ? node->left : node->right;
    }

    if (node != &group->sentinel) {
        share = ngx_rbtree_data(node, ngx_guildlog_db_share_t, node);

    } else {
        share = ngx_calloc(sizeof(ngx_guildlog_db_share_t), group->pool->log);
        if (share == NULL) {
            return NGX_ERROR;
        }

        share->node.key = key;
        share->group = group;
        ngx_queue_init(&share->waiting);

        ngx_rbtree_insert(&group->shares, &share->node);
    }

    share->refs++;
    query->share = share;

    return NGX_OK;
}


/* an argument that is no number has no guild: the database will refuse it */

static ngx_rbtree_key_t
db_share_key(ngx_guildlog_db_query_t *query)
{
    int64_t      payer;
    ngx_str_t    token, guild;
    ngx_uint_t   flags, first;
    const char  *value;

    flags = query->stmt->flags;

    if (flags & (NGX_GUILDLOG_STMT_NONE|NGX_GUILDLOG_STMT_DELIVERY
                 |NGX_GUILDLOG_STMT_BACKGROUND))
    {
        return 0;
    }

    if (flags & NGX_GUILDLOG_STMT_SEVERAL) {
        return DB_SHARE_SEVERAL << 1 | 1;
    }

    first = (flags & NGX_GUILDLOG_STMT_FIRST) != 0;
    value = query->stmt->nargs > !first ? query->values[!first] : NULL;

    if (value == NULL) {
        return 0;
    }

    ngx_str_null(&token);

    if (!first && query->values[0]) {
        token = ngx_guildlog_word(query->values[0]);
    }

    guild = ngx_guildlog_word(value);

    payer = ngx_guildlog_db_share_payer(&token, &guild);

    return payer > 0 ? (ngx_rbtree_key_t) payer << 1 | first : 0;
}


/*
 * Whether somebody who signed in may ask for a guild, only the database knows:
 * it is the person's own share, or everybody could use up those of all guilds.
 * The form of a session: sql/functions/core/session.sql.
 */

int64_t
ngx_guildlog_db_share_payer(const ngx_str_t *token, const ngx_str_t *guild)
{
    u_char  *user, *right, *last;

    last = token->data + token->len;

    if (token->len && *token->data == '~') {
        user = ngx_strlchr(token->data, last, '.');
        right = user ? ngx_strlchr(user + 1, last, '.') : NULL;

        if (right) {
            return ngx_atoof(user + 1, right - user - 1);
        }
    }

    return ngx_atoof(guild->data, guild->len);
}


/* n: 1 when the query is sent, -1 when it is in flight no longer.  SERIAL ones,
   one behind the other on one connection, do not count */

static void
db_share_count(ngx_guildlog_db_query_t *query, ngx_int_t n)
{
    if (!(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)) {
        query->share->nflight += n;

        ngx_guildlog_assert((ngx_int_t) query->share->nflight >= 0);
    }
}


/* has its guild as many in flight as it may?  No guild: it is not bounded */

static ngx_uint_t
db_share_full(ngx_guildlog_db_query_t *query)
{
    return query->share->node.key
           && !(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)
           && query->share->nflight >= query->share->group->share_flight;
}


/* has its guild as many that wait as it may?  PATIENT ones take no place in
   the line of the others */

static ngx_uint_t
db_share_line_full(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_share_t  *share;

    share = query->share;
    group = share->group;

    if (share->node.key == 0) {
        return 0;
    }

    if (share->nwaiting >= group->share_half) {
        return 1;
    }

    return !(query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT)
           && share->nwaiting - share->npatient >= group->share_line;
}
