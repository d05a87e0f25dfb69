
/*
 * The connections of a pool: which one takes a query, when one more is opened,
 * and what happens while the server is down.
 */

#include "db/ngx_guildlog_db.h"


#define NGX_GUILDLOG_SET_MOST         4     /* of a server, in flight */
#define NGX_GUILDLOG_SET_LINE         4     /* long ones of it that wait */
#define NGX_GUILDLOG_SET_SLOW         100   /* ms, nobody queues up behind */
#define NGX_GUILDLOG_SET_DOWN         2000  /* ms, then no query waits */
#define NGX_GUILDLOG_SET_BACKOFF      50    /* ms, the first, about */
#define NGX_GUILDLOG_SET_BACKOFF_MAX  1000


static ngx_uint_t ngx_guildlog_set_takes(ngx_guildlog_pg_t *pg);
static ngx_uint_t ngx_guildlog_set_moves(ngx_guildlog_set_t *set,
    ngx_guildlog_pg_t *pg);
static ngx_uint_t ngx_guildlog_set_joins(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query, ngx_uint_t *own);
static ngx_guildlog_pg_t *ngx_guildlog_set_better(ngx_guildlog_pg_t *pg,
    ngx_guildlog_pg_t *best);
static ngx_uint_t ngx_guildlog_set_waits_for(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query);
static ngx_uint_t ngx_guildlog_set_connecting(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_set_connect(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_set_t *set);
static void ngx_guildlog_set_back_off(ngx_guildlog_db_pool_t *pool);
static void ngx_guildlog_set_retry(ngx_event_t *ev);


void
ngx_guildlog_set_init(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t                      i;
    ngx_guildlog_set_t             *set;
    const ngx_guildlog_database_t  *database;

    database = pool->database;

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        set = &pool->sets[i];

        ngx_guildlog_share_init(set);
        ngx_queue_init(&set->connections);

        set->max = database->connections;
        set->depth = database->depth;
        set->most = NGX_GUILDLOG_SET_MOST;
        set->half = (database->queue + 1) / 2;
        set->line = set->half;
        set->timeout = database->timeout;
    }

    set = &pool->sets[NGX_GUILDLOG_SET_LONG];
    set->max = database->long_connections;
    set->depth = 1;
    set->most = 1;
    set->line = ngx_min(NGX_GUILDLOG_SET_LINE, set->half);
    set->timeout = database->long_timeout;

    set = &pool->sets[NGX_GUILDLOG_SET_DELIVERY];
    set->max = database->delivery_connections;

    set = &pool->sets[NGX_GUILDLOG_SET_BACKGROUND];
    set->max = 1;
    set->depth = 1;
    set->timeout = database->long_timeout;

    /* what one server does not get is there for the others */

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        pool->sets[i].wide = ngx_max(pool->sets[i].max / 2, 1);
    }

    pool->retry.data = pool;
    pool->retry.log = pool->log;
    pool->retry.handler = ngx_guildlog_set_retry;
    pool->retry.cancelable = 1;
}


/*
 * An idle one, otherwise the shortest pipeline that moves, of these the one
 * that moved last.  Slow statements rather wait here, where they may still go
 * to any connection, and where their asker hears in time that there is none.
 * So does one that would only wait for another, if it cannot go behind that:
 * every other connection is for somebody else.  So is the other half of them if
 * its server's tokens have statements on one half.
 */

ngx_guildlog_pg_t *
ngx_guildlog_set_choose(ngx_guildlog_set_t *set, ngx_guildlog_db_query_t *query)
{
    ngx_uint_t          takes, joins, bounded, own, n;
    ngx_queue_t        *q;
    ngx_guildlog_pg_t  *pg, *best, *idle, *same;

    n = 0;
    best = NULL;
    idle = NULL;
    same = NULL;
    query->behind = 0;
    query->held = 0;

    bounded = set->wide < set->max && query->share->node.key
              && !(query->stmt->flags & NGX_GUILDLOG_STMT_FIRST);

    for (q = ngx_queue_head(&set->connections);
         q != ngx_queue_sentinel(&set->connections);
         q = ngx_queue_next(q))
    {
        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);

        takes = ngx_guildlog_set_takes(pg) && pg->epoch >= query->epoch;

        if (ngx_guildlog_set_waits_for(pg, query)) {
            query->behind = 1;
            return takes && ngx_guildlog_set_moves(set, pg) ? pg : NULL;
        }

        joins = ngx_guildlog_set_joins(pg, query, &own);
        n += own;

        if (!takes) {
            continue;
        }

        if (pg->nflight == 0) {
            idle = idle ? idle : pg;

        } else if (joins && ngx_guildlog_set_moves(set, pg)) {
            best = ngx_guildlog_set_better(pg, best);
            same = own ? ngx_guildlog_set_better(pg, same) : same;
        }
    }

    if (bounded && n >= set->wide) {
        query->held = 1;
        return same;
    }

    return idle ? idle : best;
}


ngx_uint_t
ngx_guildlog_set_spare(ngx_guildlog_db_pool_t *pool, ngx_guildlog_set_t *set)
{
    ngx_queue_t        *q;
    ngx_guildlog_pg_t  *pg;

    for (q = ngx_queue_head(&set->connections);
         q != ngx_queue_sentinel(&set->connections);
         q = ngx_queue_next(q))
    {
        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);

        if (ngx_guildlog_set_takes(pg)
            && (pg->nflight == 0 || ngx_guildlog_set_moves(set, pg)))
        {
            return 1;
        }
    }

    return set->nconnections < set->max && pool->nready && !pool->failing;
}


static ngx_uint_t
ngx_guildlog_set_takes(ngx_guildlog_pg_t *pg)
{
    return pg->ready && !pg->worn && !pg->blocked && pg->cancel == NULL;
}


static ngx_uint_t
ngx_guildlog_set_moves(ngx_guildlog_set_t *set, ngx_guildlog_pg_t *pg)
{
    return pg->nflight < set->depth
           && ngx_current_msec - pg->head_since < NGX_GUILDLOG_SET_SLOW
           && pg->nflight * set->pace / 16 < NGX_GUILDLOG_SET_SLOW;
}


static ngx_guildlog_pg_t *
ngx_guildlog_set_better(ngx_guildlog_pg_t *pg, ngx_guildlog_pg_t *best)
{
    if (best == NULL || pg->nflight < best->nflight) {
        return pg;
    }

    return pg->nflight == best->nflight
           && (ngx_msec_int_t) (pg->head_since - best->head_since) > 0
           ? pg : best;
}


/*
 * May it go behind what is in flight?  A change of another server may wait for
 * a lock, and keep behind it who has nothing to do with that.  own: there are
 * some of its own share.
 */

static ngx_uint_t
ngx_guildlog_set_joins(ngx_guildlog_pg_t *pg, ngx_guildlog_db_query_t *query,
    ngx_uint_t *own)
{
    ngx_uint_t                joins;
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;

    *own = 0;
    joins = 1;

    for (q = ngx_queue_head(&pg->flight);
         q != ngx_queue_sentinel(&pg->flight);
         q = ngx_queue_next(q))
    {
        other = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);

        if (other->share == query->share) {
            *own = 1;

        } else if (!(other->stmt->flags & NGX_GUILDLOG_STMT_READ)
                   && !ngx_guildlog_share_same(query, other))
        {
            joins = 0;
        }
    }

    return joins;
}


static ngx_uint_t
ngx_guildlog_set_waits_for(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query)
{
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;

    if (!(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)) {
        return 0;
    }

    for (q = ngx_queue_head(&pg->flight);
         q != ngx_queue_sentinel(&pg->flight);
         q = ngx_queue_next(q))
    {
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
ngx_guildlog_set_grow(ngx_guildlog_db_pool_t *pool, ngx_guildlog_set_t *set)
{
    ngx_uint_t  n;

    n = ngx_min(set->nwaiting - set->nheld + set->crowded,
                set->max - set->nconnections + set->nconnecting);

    /* one at a time while it is not known that the server lives */

    if (pool->failing) {
        n = ngx_guildlog_set_connecting(pool) ? 0 : ngx_min(n, 1);
    }

    while (set->nconnecting < n && !pool->retry.timer_set) {
        ngx_guildlog_set_connect(pool, set);
    }
}


static ngx_uint_t
ngx_guildlog_set_connecting(ngx_guildlog_db_pool_t *pool)
{
    ngx_uint_t  i, n;

    n = 0;

    for (i = 0; i < NGX_GUILDLOG_SET_LAST; i++) {
        n += pool->sets[i].nconnecting;
    }

    return n;
}


static void
ngx_guildlog_set_connect(ngx_guildlog_db_pool_t *pool, ngx_guildlog_set_t *set)
{
    ngx_guildlog_pg_t  *pg;

    if (pool->nready + ngx_guildlog_set_connecting(pool) == 0
        && !pool->failing)
    {
        pool->since = ngx_current_msec;
    }

    pg = ngx_guildlog_pg_create(pool, pool->site, set, set->timeout);

    if (pg == NULL) {
        ngx_guildlog_set_back_off(pool);
        return;
    }

    set->nconnections++;
    set->nconnecting++;
    ngx_queue_insert_tail(&set->connections, &pg->queue);

    ngx_guildlog_pg_open(pg);
}


void
ngx_guildlog_set_ready(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_set_t      *set;
    ngx_guildlog_db_pool_t  *pool;

    pool = pg->pool;
    set = pg->set;

    set->nconnecting--;
    pool->nready++;
    pool->failing = 0;
    pg->epoch = pool->epoch;

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_CONNECTS, 1);
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_CONNECTIONS, 1);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


void
ngx_guildlog_set_ended(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_set_t      *set;
    ngx_guildlog_db_pool_t  *pool;

    pool = pg->pool;
    set = pg->set;

    ngx_queue_remove(&pg->queue);
    ngx_queue_insert_tail(&pool->dead, &pg->queue);
    set->nconnections--;

    ngx_guildlog_db_pool_not_cancelled(pg);

    if (pg->ready) {
        ngx_guildlog_stats_gauge(pool->stats,
                                 NGX_GUILDLOG_GAUGE_CONNECTIONS, -1);

        if (--pool->nready == 0) {
            pool->since = ngx_current_msec;
        }

    } else {
        set->nconnecting--;
    }

    if (pg->nflight) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, -1);
    }

    ngx_post_event(&pool->run, &ngx_posted_events);

    if (pg->closing) {
        return;
    }

    if (pg->ready) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_LOST, 1);
        pool->epoch++;

    } else {
        ngx_guildlog_stats_count(pool->stats,
                                 NGX_GUILDLOG_COUNT_CONNECT_FAILURES, 1);
        pool->failing = 1;
    }

    if (!pg->answered) {
        ngx_guildlog_set_back_off(pool);
    }
}


static void
ngx_guildlog_set_back_off(ngx_guildlog_db_pool_t *pool)
{
    if (pool->retry.timer_set || pool->closed) {
        return;
    }

    pool->backoff = ngx_min(pool->backoff * 2,
                            NGX_GUILDLOG_SET_BACKOFF_MAX);
    pool->backoff = ngx_max(pool->backoff, NGX_GUILDLOG_SET_BACKOFF);

    ngx_add_timer(&pool->retry, pool->backoff * 3 / 4
                                + ngx_random() % (pool->backoff / 2));
}


static void
ngx_guildlog_set_retry(ngx_event_t *ev)
{
    ngx_guildlog_db_pool_t *pool = ev->data;

    ngx_post_event(&pool->run, &ngx_posted_events);
}


void
ngx_guildlog_set_revive(ngx_guildlog_db_pool_t *pool)
{
    if (pool->failing && pool->nready == 0 && !pool->retry.timer_set
        && ngx_guildlog_set_connecting(pool) == 0
        && (!ngx_exiting || pool->missed))
    {
        pool->missed = 0;
        ngx_guildlog_set_connect(pool, &pool->sets[NGX_GUILDLOG_SET_SHORT]);
    }
}


/* nobody else will need them */

void
ngx_guildlog_set_shrink(ngx_guildlog_set_t *set)
{
    ngx_queue_t        *q, *next;
    ngx_guildlog_pg_t  *pg;

    if (set->nwaiting) {
        return;
    }

    for (q = ngx_queue_head(&set->connections);
         q != ngx_queue_sentinel(&set->connections);
         q = next)
    {
        next = ngx_queue_next(q);
        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);

        if (pg->nflight == 0) {
            ngx_guildlog_pg_close(pg);
        }
    }
}


ngx_uint_t
ngx_guildlog_set_down(ngx_guildlog_db_pool_t *pool)
{
    if (pool->terminated) {
        return 1;
    }

    return pool->failing && pool->nready == 0
           && ngx_current_msec - pool->since >= NGX_GUILDLOG_SET_DOWN;
}
