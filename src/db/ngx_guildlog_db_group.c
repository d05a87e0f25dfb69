
/*
 * The connections of a pool: which one takes a query, when one more is opened,
 * and what happens while the database is down.
 */

#include "db/ngx_guildlog_db.h"


/* one guild may have so many queries in flight, and long ones that wait */
#define DB_GROUP_FLIGHT       4
#define DB_GROUP_LINE         4

/* connections in the background: for the keeper, and for what indexes */
#define DB_GROUP_BACKGROUND   2

/* ms: a query does not go behind one that runs for longer */
#define DB_GROUP_SLOW         100

/* ms without a connection: no query waits any more */
#define DB_GROUP_DOWN         2000

#define DB_GROUP_BACKOFF      50    /* ms, the first, about */
#define DB_GROUP_BACKOFF_MAX  1000


static ngx_uint_t db_group_takes(ngx_guildlog_db_conn_t *conn);
static ngx_uint_t db_group_moves(ngx_guildlog_db_group_t *group,
    ngx_guildlog_db_conn_t *conn);
static ngx_uint_t db_group_joins(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query, ngx_uint_t *own);
static ngx_guildlog_db_conn_t *db_group_better(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_conn_t *best);
static ngx_uint_t db_group_waits_for(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);
static ngx_uint_t db_group_connecting(ngx_guildlog_db_pool_t *pool);
static void db_group_connect(ngx_guildlog_db_group_t *group);
static void db_group_back_off(ngx_guildlog_db_pool_t *pool);
static void db_group_retry(ngx_event_t *ev);


void
ngx_guildlog_db_group_init(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t                      i;
    ngx_guildlog_db_group_t        *group;
    const ngx_guildlog_database_t  *database;

    database = pool->database;

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        group = &pool->groups[i];
        group->pool = pool;

        ngx_queue_init(&group->waiting);
        ngx_queue_init(&group->connections);
        ngx_rbtree_init(&group->shares, &group->sentinel,
                        ngx_rbtree_insert_value);

        group->max = database->connections;
        group->depth = database->depth;
        group->share_flight = DB_GROUP_FLIGHT;
        group->share_half = (database->queue + 1) / 2;
        group->share_line = group->share_half;
        group->timeout = database->timeout;
    }

    group = &pool->groups[NGX_GUILDLOG_DB_GROUP_LONG];
    group->max = database->long_connections;
    group->depth = 1;
    group->share_flight = 1;
    group->share_line = ngx_min(DB_GROUP_LINE, group->share_half);
    group->timeout = database->long_timeout;

    group = &pool->groups[NGX_GUILDLOG_DB_GROUP_DELIVERY];
    group->max = database->delivery_connections;

    group = &pool->groups[NGX_GUILDLOG_DB_GROUP_BACKGROUND];
    group->max = DB_GROUP_BACKGROUND;
    group->depth = 1;
    group->timeout = database->long_timeout;

    /* what one guild does not get is there for the others */

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        pool->groups[i].share_connections = ngx_max(pool->groups[i].max / 2, 1);
    }

    ngx_guildlog_event_init(&pool->retry, db_group_retry, pool, pool->log);
    pool->retry.cancelable = 1;
}


ngx_guildlog_db_group_t *
ngx_guildlog_db_group_of(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t  flags, i;

    flags = query->stmt->flags;

    i = (flags & NGX_GUILDLOG_STMT_LONG) ? NGX_GUILDLOG_DB_GROUP_LONG
        : (flags & NGX_GUILDLOG_STMT_DELIVERY) ? NGX_GUILDLOG_DB_GROUP_DELIVERY
        : (flags & NGX_GUILDLOG_STMT_BACKGROUND)
          ? NGX_GUILDLOG_DB_GROUP_BACKGROUND
          : NGX_GUILDLOG_DB_GROUP_SHORT;

    return &query->pool->groups[i];
}


/*
 * Takes an idle connection.  Without one it takes the shortest pipeline that
 * answers, and of equal ones the one that answered last.  Nothing is sent
 * behind a slow statement: the query stays in the queue, from where any
 * connection may take it.  It fails after queue_timeout.
 *
 * A SERIAL query goes behind the one that it waits for, or nowhere.
 *
 * A guild whose tokens have queries on half of the connections gets no other
 * connection: the other half is for the other guilds.
 */

ngx_guildlog_db_conn_t *
ngx_guildlog_db_group_choose(ngx_guildlog_db_group_t *group,
    ngx_guildlog_db_query_t *query)
{
    ngx_uint_t               takes, joins, bounded, own, n;
    ngx_queue_t             *q;
    ngx_guildlog_db_conn_t  *conn, *best, *idle, *same;

    n = 0;
    best = NULL;
    idle = NULL;
    same = NULL;
    query->behind = 0;
    query->held = 0;

    bounded = group->share_connections < group->max && query->share->node.key
              && !(query->stmt->flags & NGX_GUILDLOG_STMT_FIRST);

    ngx_guildlog_queue_each(q, &group->connections) {
        conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);

        takes = db_group_takes(conn) && conn->epoch >= query->epoch;

        if (db_group_waits_for(conn, query)) {
            query->behind = 1;
            return takes && db_group_moves(group, conn) ? conn : NULL;
        }

        joins = db_group_joins(conn, query, &own);
        n += own;

        if (!takes) {
            continue;
        }

        if (conn->nflight == 0) {
            idle = idle ? idle : conn;

        } else if (joins && db_group_moves(group, conn)) {
            best = db_group_better(conn, best);
            same = own ? db_group_better(conn, same) : same;
        }
    }

    if (bounded && n >= group->share_connections) {
        query->held = 1;
        return same;
    }

    return idle ? idle : best;
}


ngx_uint_t
ngx_guildlog_db_group_spare(ngx_guildlog_db_group_t *group)
{
    ngx_queue_t             *q;
    ngx_guildlog_db_conn_t  *conn;
    ngx_guildlog_db_pool_t  *pool;

    pool = group->pool;

    ngx_guildlog_queue_each(q, &group->connections) {
        conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);

        if (db_group_takes(conn)
            && (conn->nflight == 0 || db_group_moves(group, conn)))
        {
            return 1;
        }
    }

    return group->nconnections < group->max && pool->nready && !pool->failing;
}


static ngx_uint_t
db_group_takes(ngx_guildlog_db_conn_t *conn)
{
    return conn->ready && !conn->retiring && !conn->blocked
           && conn->cancel == NULL;
}


static ngx_uint_t
db_group_moves(ngx_guildlog_db_group_t *group, ngx_guildlog_db_conn_t *conn)
{
    return conn->nflight < group->depth
           && ngx_current_msec - conn->head_since < DB_GROUP_SLOW
           && conn->nflight * group->pace / 16 < DB_GROUP_SLOW;
}


static ngx_guildlog_db_conn_t *
db_group_better(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_conn_t *best)
{
    if (best == NULL || conn->nflight < best->nflight) {
        return conn;
    }

    return conn->nflight == best->nflight
           && (ngx_msec_int_t) (conn->head_since - best->head_since) > 0
           ? conn : best;
}


/*
 * May the query go behind what is in flight?  Not behind a change of another
 * guild, which may wait for a lock.  own: its own share has queries there.
 */

static ngx_uint_t
db_group_joins(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query,
    ngx_uint_t *own)
{
    ngx_uint_t                joins;
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;

    *own = 0;
    joins = 1;

    ngx_guildlog_queue_each(q, &conn->flight) {
        other = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (other->share == query->share) {
            *own = 1;

        } else if (!(other->stmt->flags & NGX_GUILDLOG_STMT_READ)
                   && query->share->node.key >> 1
                      != other->share->node.key >> 1)
        {
            /* it writes, for another guild */

            joins = 0;
        }
    }

    return joins;
}


static ngx_uint_t
db_group_waits_for(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query)
{
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;

    if (!(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)) {
        return 0;
    }

    ngx_guildlog_queue_each(q, &conn->flight) {
        other = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (other->stmt == query->stmt
            && ngx_strcmp(other->values[0], query->values[0]) == 0
            && ngx_strcmp(other->values[1], query->values[1]) == 0)
        {
            return 1;
        }
    }

    return 0;
}


void
ngx_guildlog_db_group_grow(ngx_guildlog_db_group_t *group)
{
    ngx_uint_t               n;
    ngx_guildlog_db_pool_t  *pool;

    pool = group->pool;

    n = ngx_min(group->nwaiting - group->nheld + group->queued_behind,
                group->max - group->nconnections + group->nconnecting);

    /* one at a time while the database may be down */

    if (pool->failing) {
        n = db_group_connecting(pool) ? 0 : ngx_min(n, 1);
    }

    while (group->nconnecting < n && !pool->retry.timer_set) {
        db_group_connect(group);
    }
}


static ngx_uint_t
db_group_connecting(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t  i, n;

    n = 0;

    for (i = 0; i < NGX_GUILDLOG_DB_GROUP_LAST; i++) {
        n += pool->groups[i].nconnecting;
    }

    return n;
}


static void
db_group_connect(ngx_guildlog_db_group_t *group)
{
    ngx_guildlog_db_conn_t  *conn;
    ngx_guildlog_db_pool_t  *pool;

    pool = group->pool;

    if (pool->nready + db_group_connecting(pool) == 0 && !pool->failing) {
        pool->since = ngx_current_msec;
    }

    conn = ngx_guildlog_db_conn_create(group);

    if (conn == NULL) {
        db_group_back_off(pool);
        return;
    }

    group->nconnections++;
    group->nconnecting++;
    ngx_queue_insert_tail(&group->connections, &conn->queue);

    ngx_guildlog_db_conn_open(conn);
}


void
ngx_guildlog_db_group_ready(ngx_guildlog_db_conn_t *conn)
{
    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;

    pool = conn->pool;
    group = conn->group;

    conn->handler = ngx_guildlog_db_pipeline_io;
    conn->epoch = pool->epoch;

    group->nconnecting--;
    pool->nready++;
    pool->failing = 0;

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_CONNECTS, 1);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_CONNECTIONS, 1);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


void
ngx_guildlog_db_group_ended(ngx_guildlog_db_conn_t *conn)
{
    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;

    pool = conn->pool;
    group = conn->group;

    /* nothing is left to cancel */

    ngx_guildlog_db_pool_detach(conn->cancel);
    conn->cancel = NULL;

    ngx_queue_remove(&conn->queue);
    ngx_queue_insert_tail(&pool->ended, &conn->queue);
    group->nconnections--;

    if (conn->ready) {
        ngx_guildlog_stats_gauge(pool->stats,
                                 NGX_GUILDLOG_GAUGE_CONNECTIONS, -1);

        if (--pool->nready == 0) {
            pool->since = ngx_current_msec;
        }

    } else {
        group->nconnecting--;
    }

    if (conn->nflight) {
        ngx_guildlog_db_group_busy(group, -1);
    }

    ngx_post_event(&pool->run, &ngx_posted_events);

    if (conn->closing) {
        return;
    }

    if (conn->ready) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_LOST, 1);
        pool->epoch++;

    } else {
        ngx_guildlog_stats_count(pool->stats,
                                 NGX_GUILDLOG_COUNT_CONNECT_FAILURES, 1);
        pool->failing = 1;
    }

    if (!conn->answered) {
        db_group_back_off(pool);
    }
}


void
ngx_guildlog_db_group_answered(ngx_guildlog_db_conn_t *conn)
{
    ngx_queue_t              *q;
    ngx_msec_t                timeout;
    ngx_guildlog_db_pool_t   *pool;
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_query_t  *query;

    pool = conn->pool;
    group = conn->group;

    pool->backoff = 0;
    group->pace += ngx_current_msec - conn->head_since - group->pace / 16;

    if (conn->nflight == 0) {
        ngx_guildlog_db_group_busy(group, -1);

        ngx_queue_remove(&conn->queue);
        ngx_queue_insert_head(&group->connections, &conn->queue);
        return;
    }

    /* the next one runs from now on: its timer still had room for two */

    q = ngx_queue_head(&conn->flight);
    query = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
    timeout = conn->group->timeout + NGX_GUILDLOG_DB_CONN_GRACE;

    if (query->timer.timer_set
        && (ngx_msec_int_t) (query->timer.timer.key - ngx_current_msec)
           > (ngx_msec_int_t) timeout)
    {
        ngx_del_timer(&query->timer);
        ngx_add_timer(&query->timer, timeout);
    }
}


void
ngx_guildlog_db_group_busy(ngx_guildlog_db_group_t *group, ngx_int_t n)
{
    group->nbusy += n;
    ngx_guildlog_stats_gauge(group->pool->stats, NGX_GUILDLOG_GAUGE_BUSY, n);
}


static void
db_group_back_off(ngx_guildlog_db_pool_t *pool)
{
    if (pool->retry.timer_set || pool->closed) {
        return;
    }

    pool->backoff = ngx_min(pool->backoff * 2, DB_GROUP_BACKOFF_MAX);
    pool->backoff = ngx_max(pool->backoff, DB_GROUP_BACKOFF);

    ngx_add_timer(&pool->retry, pool->backoff * 3 / 4
                                + ngx_random() % (pool->backoff / 2));
}


static void
db_group_retry(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_post_event(&pool->run, &ngx_posted_events);
}


void
ngx_guildlog_db_group_revive(ngx_guildlog_db_pool_t *pool)
{
    if (pool->failing && pool->nready == 0 && !pool->retry.timer_set
        && db_group_connecting(pool) == 0
        && (!ngx_exiting || pool->wanted_while_down))
    {
        pool->wanted_while_down = 0;
        db_group_connect(&pool->groups[NGX_GUILDLOG_DB_GROUP_SHORT]);
    }
}


/* the worker exits: nobody else will need them */

void
ngx_guildlog_db_group_shrink(ngx_guildlog_db_group_t *group)
{
    ngx_queue_t             *q, *next;
    ngx_guildlog_db_conn_t  *conn;

    if (group->nwaiting) {
        return;
    }

    for (q = ngx_queue_head(&group->connections);
         q != ngx_queue_sentinel(&group->connections);
         q = next)
    {
        next = ngx_queue_next(q);
        conn = ngx_queue_data(q, ngx_guildlog_db_conn_t, queue);

        if (conn->nflight == 0) {
            ngx_guildlog_db_conn_close(conn);
        }
    }
}


ngx_uint_t
ngx_guildlog_db_group_down(ngx_guildlog_db_pool_t *pool)
{
    if (pool->terminated) {
        return 1;
    }

    return pool->failing && pool->nready == 0
           && (pool->database->standby
               || ngx_current_msec - pool->since >= DB_GROUP_DOWN);
}
