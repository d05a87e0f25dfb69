
/*
 * How a query ends: answered, late, or left behind by its connection; then
 * it is sent once more, or finished.
 */

#include "db/ngx_guildlog_db.h"


static void ngx_guildlog_db_query_head(ngx_guildlog_db_conn_t *conn);
static void ngx_guildlog_db_query_judge(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);
static ngx_uint_t ngx_guildlog_db_query_lost_a_race(
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_db_query_observe(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);
static void ngx_guildlog_db_query_again(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);


/*
 * SQLSTATEs of a statement that lost to another, or whose functions, types
 * and tables were replaced in its midst: it had no effect
 */

static const char *const  ngx_guildlog_db_query_losers[] = {
    "40001", "40P01", "42703", "42704", "42804", "42809", "42883", "42P01",
    "XX000", NULL
};


void
ngx_guildlog_db_query_answered(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;

    pool = conn->pool;
    group = conn->group;

    pool->backoff = 0;
    ngx_guildlog_db_share_count(query, -1);
    query->result.time_us = ngx_guildlog_now_us() - query->start_us;
    group->pace += ngx_current_msec - conn->head_since - group->pace / 16;

    if (conn->nflight == 0) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, -1);

        ngx_queue_remove(&conn->queue);
        ngx_queue_insert_head(&group->connections, &conn->queue);

    } else {
        ngx_guildlog_db_query_head(conn);
    }

    ngx_guildlog_db_query_judge(pool, query);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


/* the next one runs from now on, within the time that it had anyway */

static void
ngx_guildlog_db_query_head(ngx_guildlog_db_conn_t *conn)
{
    ngx_queue_t              *q;
    ngx_msec_t                timeout;
    ngx_guildlog_db_query_t  *query;

    q = ngx_queue_head(&conn->flight);
    query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
    timeout = conn->timeout + NGX_GUILDLOG_DB_CONN_GRACE;

    if (query->timer.timer_set
        && (ngx_msec_int_t) (query->timer.timer.key - ngx_current_msec)
           > (ngx_msec_int_t) timeout)
    {
        ngx_del_timer(&query->timer);
        ngx_add_timer(&query->timer, timeout);
    }
}


static void
ngx_guildlog_db_query_judge(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    char                      *text;
    PGresult                  *res;
    ngx_guildlog_db_result_t  *result;

    result = &query->result;
    res = result->res;

    if (PQresultStatus(res) != PGRES_FATAL_ERROR) {
        result->rows = PQntuples(res);
        result->columns = PQnfields(res);
        ngx_guildlog_db_query_observe(pool, query);
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_ROWS);
        return;
    }

    text = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    ngx_cpystrn((u_char *) result->sqlstate, (u_char *) text,
                sizeof(result->sqlstate));

    if (query->stale) {
        query->stale = 0;
        query->fresh = 1;
        ngx_guildlog_db_query_again(pool, query);
        return;
    }

    if (!query->retried && ngx_guildlog_db_query_lost_a_race(result)) {
        query->retried = 1;
        ngx_guildlog_db_query_again(pool, query);
        return;
    }

    text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    /* what others raise may have several lines, and is for the log */

    if (text && ngx_strncmp(result->sqlstate, "GL", 2) != 0) {
        ngx_guildlog_db_result_line((u_char *) text, ngx_strlen(text) + 1,
                                    text);
    }

    if (text) {
        result->message.data = (u_char *) text;
        result->message.len = ngx_strlen(text);
    }

    if (query->cancelled) {
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_ROWS);
        return;
    }

    ngx_guildlog_db_query_observe(pool, query);

    if (ngx_strcmp(result->sqlstate, "57014") == 0) {
        ngx_guildlog_db_query_late(pool, query);
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_TIMEOUT);
        return;
    }

    ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_REFUSED);
}


static ngx_uint_t
ngx_guildlog_db_query_lost_a_race(ngx_guildlog_db_result_t *result)
{
    const char *const  *loser;

    for (loser = ngx_guildlog_db_query_losers; *loser; loser++) {
        if (ngx_strcmp(result->sqlstate, *loser) == 0) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_guildlog_db_query_observe(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_stats_observe(
                          &pool->stats->shared->stmt[query->stmt->index],
                          query->result.time_us);
}


void
ngx_guildlog_db_query_late(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);

    ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                  "guildlog database \"%V\": statement \"%s\" ran past %M ms",
                  &pool->database->name, query->stmt->name,
                  ngx_guildlog_db_pool_group(query)->timeout);
}


/*
 * Where one connection dies the others often do, so only a newer one will
 * take it.
 */

void
ngx_guildlog_db_query_orphaned(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_uint_t unsent)
{
    query->conn = NULL;
    ngx_guildlog_db_share_count(query, -1);

    if (query->late) {
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_TIMEOUT);
        return;
    }

    if (!query->retried
        && (unsent || (query->stmt->flags & NGX_GUILDLOG_STMT_READ)))
    {
        query->retried = 1;
        query->epoch = pool->epoch;
        ngx_guildlog_db_query_again(pool, query);
        return;
    }

    ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);
}


static void
ngx_guildlog_db_query_again(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query)
{
    if (query->handler == NULL || pool->terminated || pool->closed) {
        ngx_guildlog_db_query_finish(pool, query, NGX_GUILDLOG_DB_UNAVAILABLE);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_RETRIES, 1);

    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }

    PQclear(query->result.res);
    ngx_memzero(&query->result, sizeof(ngx_guildlog_db_result_t));

    ngx_guildlog_db_pool_requeue(pool, query);
}


void
ngx_guildlog_db_query_finish(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_guildlog_db_outcome_e outcome)
{
    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }

    /* class GL is how the schema says no: an answer like any other */

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
