
/*
 * A worker's connections to one database: two sets of them, one for short
 * statements in pipelines and one for long ones, each with its queue.
 *
 * All that follows from an event is done by one posted event, run(): bury
 * the dead, send what waits, open what is missing, and last call the
 * handlers of what has finished.  So nothing of a connection or of submit()
 * is ever on the stack when somebody else's code runs.
 */

#include "ngx_guildlog_pg.h"


#define NGX_GUILDLOG_POOL_GRACE     500    /* ms, the server gives up first */
#define NGX_GUILDLOG_POOL_SLOW      100    /* ms, nobody queues up behind */
#define NGX_GUILDLOG_POOL_DOWN      2000   /* ms, then no query waits */
#define NGX_GUILDLOG_POOL_BACKOFF   50     /* ms, the first, about */
#define NGX_GUILDLOG_POOL_BACKOFF_MAX  1000


typedef struct {
    ngx_queue_t                    waiting;      /* queries */
    ngx_uint_t                     nwaiting;
    ngx_queue_t                    connections;  /* the last used first */
    ngx_uint_t                     nconnections;
    ngx_uint_t                     nconnecting;
    ngx_uint_t                     crowded;      /* sent behind others in
                                                    this turn */
    ngx_uint_t                     max;
    ngx_uint_t                     depth;
    ngx_msec_t                     timeout;
    ngx_msec_t                     pace;         /* of the last statements,
                                                    1/16 ms each */
} ngx_guildlog_set_t;


struct ngx_guildlog_pool_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_database_t *database;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_site_t           *site;
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;

    ngx_guildlog_set_t             sets[2];      /* short, long */
    ngx_queue_t                    dead;         /* connections */
    ngx_queue_t                    finished;     /* queries */

    ngx_event_t                    run;
    ngx_event_t                    retry;        /* set: no new connection
                                                    until then */
    ngx_uint_t                     turn;
    ngx_uint_t                     epoch;        /* connections lost so far */
    ngx_uint_t                     nready;
    ngx_msec_t                     backoff;
    ngx_msec_t                     since;        /* no connection: lost or
                                                    asked for then */
    time_t                         complained;

    unsigned                       failing:1;    /* the last attempt did */
    unsigned                       terminated:1; /* the worker may not wait */
    unsigned                       closed:1;
    unsigned                       delivering:1;
};


static ngx_guildlog_query_t *ngx_guildlog_query_create(
    ngx_guildlog_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args);
static ngx_int_t ngx_guildlog_query_copy(ngx_guildlog_query_t *query,
    const ngx_str_t *args);
static ngx_guildlog_set_t *ngx_guildlog_pool_set(ngx_guildlog_query_t *query);
static ngx_uint_t ngx_guildlog_pool_down(ngx_guildlog_pool_t *pool);
static void ngx_guildlog_pool_reject(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_guildlog_outcome_e outcome);
static void ngx_guildlog_pool_wait(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_leave(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_wait_expired(ngx_event_t *ev);
static void ngx_guildlog_pool_run(ngx_event_t *ev);
static void ngx_guildlog_pool_bury(ngx_guildlog_pool_t *pool);
static void ngx_guildlog_pool_orphan(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_uint_t unsent);
static void ngx_guildlog_pool_again(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_dispatch(ngx_guildlog_pool_t *pool,
    ngx_guildlog_set_t *set);
static ngx_guildlog_pg_t *ngx_guildlog_pool_choose(ngx_guildlog_set_t *set,
    ngx_uint_t epoch);
static void ngx_guildlog_pool_send(ngx_guildlog_pool_t *pool,
    ngx_guildlog_pg_t *pg, ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_send_expired(ngx_event_t *ev);
static void ngx_guildlog_pool_late(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_grow(ngx_guildlog_pool_t *pool,
    ngx_guildlog_set_t *set);
static void ngx_guildlog_pool_connect(ngx_guildlog_pool_t *pool,
    ngx_guildlog_set_t *set);
static void ngx_guildlog_pool_head(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pool_judge(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static ngx_uint_t ngx_guildlog_pool_lost_a_race(ngx_guildlog_result_t *result);
static void ngx_guildlog_pool_observe(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query);
static void ngx_guildlog_pool_back_off(ngx_guildlog_pool_t *pool);
static void ngx_guildlog_pool_retry(ngx_event_t *ev);
static void ngx_guildlog_pool_shrink(ngx_guildlog_pool_t *pool);
static void ngx_guildlog_pool_finish(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_guildlog_outcome_e outcome);
static void ngx_guildlog_pool_deliver(ngx_guildlog_pool_t *pool);
static void ngx_guildlog_query_free(ngx_guildlog_query_t *query);
static void ngx_guildlog_result_cleanup(void *data);
static void ngx_guildlog_pool_complain(ngx_guildlog_pool_t *pool,
    const char *what);
static uint64_t ngx_guildlog_pool_now_us(void);


/* SQLSTATEs of a statement that lost to another: it had no effect */

static const char  *ngx_guildlog_pool_losers[] = { "40001", "40P01", NULL };


ngx_guildlog_pool_t *
ngx_guildlog_pool_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_guildlog_stats_t *stats)
{
    ngx_pool_t           *memory;
    ngx_uint_t            i;
    ngx_guildlog_set_t   *set;
    ngx_guildlog_pool_t  *pool;

    memory = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, cycle->log);
    if (memory == NULL) {
        return NULL;
    }

    pool = ngx_pcalloc(memory, sizeof(ngx_guildlog_pool_t));
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
    pool->run.handler = ngx_guildlog_pool_run;

    pool->retry.data = pool;
    pool->retry.log = pool->log;
    pool->retry.handler = ngx_guildlog_pool_retry;
    pool->retry.cancelable = 1;

    ngx_queue_init(&pool->dead);
    ngx_queue_init(&pool->finished);

    for (i = 0; i < 2; i++) {
        set = &pool->sets[i];

        ngx_queue_init(&set->waiting);
        ngx_queue_init(&set->connections);

        set->max = i ? database->long_connections : database->connections;
        set->depth = i ? 1 : database->depth;
        set->timeout = i ? database->long_timeout : database->timeout;
    }

    return pool;

failed:

    ngx_destroy_pool(memory);

    return NULL;
}


ngx_guildlog_query_t *
ngx_guildlog_pool_submit(ngx_guildlog_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_query_handler_pt handler, void *data)
{
    ngx_guildlog_set_t    *set;
    ngx_guildlog_query_t  *query;

    if (pool->closed) {
        return NULL;
    }

    query = ngx_guildlog_query_create(pool, stmt, args);
    if (query == NULL) {
        return NULL;
    }

    query->handler = handler;
    query->data = data;

    set = ngx_guildlog_pool_set(query);

    if (ngx_guildlog_query_copy(query, args) != NGX_OK) {
        ngx_memcpy(query->result.sqlstate, "22021", 6);
        ngx_str_set(&query->result.message, "a NUL byte in an argument");
        ngx_guildlog_pool_reject(pool, query, NGX_GUILDLOG_REFUSED);

    } else if (ngx_guildlog_pool_down(pool)) {
        ngx_guildlog_pool_reject(pool, query, NGX_GUILDLOG_UNAVAILABLE);

    } else if (set->nwaiting >= pool->database->queue) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_QUEUE_FULL,
                                 1);
        ngx_guildlog_pool_complain(pool, "the queue is full");
        ngx_guildlog_pool_reject(pool, query, NGX_GUILDLOG_QUEUE_FULL);

    } else {
        ngx_queue_insert_tail(&set->waiting, &query->queue);
        ngx_guildlog_pool_wait(pool, query);
    }

    return query;
}


/* one allocation: the query, its values, their bytes */

static ngx_guildlog_query_t *
ngx_guildlog_query_create(ngx_guildlog_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args)
{
    size_t                 size;
    ngx_uint_t             i;
    ngx_guildlog_query_t  *query;

    size = 0;

    for (i = 0; i < stmt->nargs; i++) {
        size += args[i].len + 1;
    }

    query = ngx_alloc(sizeof(ngx_guildlog_query_t)
                      + stmt->nargs * sizeof(char *) + size, pool->log);
    if (query == NULL) {
        return NULL;
    }

    ngx_memzero(query, sizeof(ngx_guildlog_query_t));

    query->fd = (ngx_socket_t) -1;
    query->pool = pool;
    query->stmt = stmt;
    query->size = size;
    query->values = (const char **) (query + 1);

    query->timer.data = query;
    query->timer.log = pool->log;

    return query;
}


static ngx_int_t
ngx_guildlog_query_copy(ngx_guildlog_query_t *query, const ngx_str_t *args)
{
    u_char      *p;
    ngx_uint_t   i, nargs;

    nargs = query->stmt->nargs;
    p = (u_char *) (query->values + nargs);

    for (i = 0; i < nargs; i++) {

        if (args[i].data == NULL) {
            query->values[i] = NULL;
            continue;
        }

        if (memchr(args[i].data, '\0', args[i].len)) {
            return NGX_DECLINED;
        }

        query->values[i] = (const char *) p;
        p = ngx_cpymem(p, args[i].data, args[i].len);
        *p++ = '\0';
    }

    return NGX_OK;
}


static ngx_guildlog_set_t *
ngx_guildlog_pool_set(ngx_guildlog_query_t *query)
{
    ngx_uint_t  i;

    i = (query->stmt->flags & NGX_GUILDLOG_STMT_LONG) ? 1 : 0;

    return &query->pool->sets[i];
}


/* no connection for so long that waiting for one makes no sense */

static ngx_uint_t
ngx_guildlog_pool_down(ngx_guildlog_pool_t *pool)
{
    if (pool->terminated) {
        return 1;
    }

    return pool->failing && pool->nready == 0
           && ngx_current_msec - pool->since >= NGX_GUILDLOG_POOL_DOWN;
}


/*
 * The next iteration delivers it: an asker who asks again at once must not
 * keep the event loop in this one.
 */

static void
ngx_guildlog_pool_reject(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_guildlog_outcome_e outcome)
{
    ngx_post_event(&pool->run, &ngx_posted_next_events);
    ngx_guildlog_pool_finish(pool, query, outcome);
}


/* in the queue already, at either end */

static void
ngx_guildlog_pool_wait(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    ngx_guildlog_pool_set(query)->nwaiting++;
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, 1);

    query->turn = pool->turn;
    query->start_us = ngx_guildlog_pool_now_us();

    query->timer.handler = ngx_guildlog_pool_wait_expired;
    ngx_add_timer(&query->timer, pool->database->queue_timeout);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


static void
ngx_guildlog_pool_leave(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    ngx_queue_remove(&query->queue);
    ngx_guildlog_pool_set(query)->nwaiting--;
    ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_QUEUED, -1);

    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }
}


static void
ngx_guildlog_pool_wait_expired(ngx_event_t *ev)
{
    ngx_guildlog_query_t *query = ev->data;

    ngx_guildlog_pool_t  *pool;

    pool = query->pool;

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);
    ngx_guildlog_pool_complain(pool, "no connection was free in time");

    ngx_guildlog_pool_leave(pool, query);
    ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_UNAVAILABLE);
}


static void
ngx_guildlog_pool_run(ngx_event_t *ev)
{
    ngx_guildlog_pool_t *pool = ev->data;

    ngx_uint_t  i;

    pool->turn++;

    ngx_guildlog_pool_bury(pool);

    for (i = 0; i < 2; i++) {
        ngx_guildlog_pool_dispatch(pool, &pool->sets[i]);
        ngx_guildlog_pool_grow(pool, &pool->sets[i]);
    }

    if (ngx_exiting) {
        ngx_guildlog_pool_shrink(pool);
    }

    /* last, for a handler may destroy the pool */

    ngx_guildlog_pool_deliver(pool);
}


static void
ngx_guildlog_pool_bury(ngx_guildlog_pool_t *pool)
{
    ngx_queue_t           *q;
    ngx_uint_t             unsent;
    ngx_guildlog_pg_t     *pg;
    ngx_guildlog_query_t  *query;

    while (!ngx_queue_empty(&pool->dead)) {
        q = ngx_queue_head(&pool->dead);
        ngx_queue_remove(q);

        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);
        unsent = pg->blocked;

        /* from the last to the first, so that they queue up as they were */

        while (!ngx_queue_empty(&pg->flight)) {
            q = ngx_queue_last(&pg->flight);
            ngx_queue_remove(q);

            query = ngx_queue_data(q, ngx_guildlog_query_t, queue);
            ngx_guildlog_pool_orphan(pool, query, unsent);
            unsent = 0;
        }

        ngx_guildlog_pg_free(pg);
    }
}


/*
 * Its connection died; unsent: not all of it had left this machine.  Where
 * one connection dies the others often do, so only a newer one will take it.
 */

static void
ngx_guildlog_pool_orphan(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_uint_t unsent)
{
    query->pg = NULL;

    if (query->late) {
        ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_TIMEOUT);
        return;
    }

    if (!query->retried
        && (unsent || (query->stmt->flags & NGX_GUILDLOG_STMT_READ)))
    {
        query->retried = 1;
        query->epoch = pool->epoch;
        ngx_guildlog_pool_again(pool, query);
        return;
    }

    ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_UNAVAILABLE);
}


static void
ngx_guildlog_pool_again(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    ngx_guildlog_set_t  *set;

    if (query->handler == NULL || pool->terminated || pool->closed) {
        ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_UNAVAILABLE);
        return;
    }

    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_RETRIES, 1);

    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }

    PQclear(query->result.res);
    ngx_memzero(&query->result, sizeof(ngx_guildlog_result_t));

    set = ngx_guildlog_pool_set(query);
    ngx_queue_insert_head(&set->waiting, &query->queue);
    ngx_guildlog_pool_wait(pool, query);
}


static void
ngx_guildlog_pool_dispatch(ngx_guildlog_pool_t *pool,
    ngx_guildlog_set_t *set)
{
    ngx_queue_t           *q, *next;
    ngx_guildlog_pg_t     *pg;
    ngx_guildlog_query_t  *query;

    set->crowded = 0;

    for (q = ngx_queue_head(&set->waiting);
         q != ngx_queue_sentinel(&set->waiting);
         q = next)
    {
        next = ngx_queue_next(q);
        query = ngx_queue_data(q, ngx_guildlog_query_t, queue);

        pg = ngx_guildlog_pool_choose(set, query->epoch);

        if (pg) {
            if (pg->nflight) {
                set->crowded++;
            }

            ngx_guildlog_pool_send(pool, pg, query);

        } else if (query->epoch == 0) {
            return;
        }
    }
}


/*
 * An idle one, otherwise the shortest pipeline that moves.  Slow statements
 * rather wait here, where they may still go to any connection, and where
 * their asker hears in time that there is none.
 */

static ngx_guildlog_pg_t *
ngx_guildlog_pool_choose(ngx_guildlog_set_t *set, ngx_uint_t epoch)
{
    ngx_queue_t        *q;
    ngx_guildlog_pg_t  *pg, *best;

    best = NULL;

    for (q = ngx_queue_head(&set->connections);
         q != ngx_queue_sentinel(&set->connections);
         q = ngx_queue_next(q))
    {
        pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);

        if (!pg->ready || pg->worn || pg->blocked || pg->epoch < epoch) {
            continue;
        }

        if (pg->nflight == 0) {
            return pg;
        }

        if (pg->nflight < set->depth
            && ngx_current_msec - pg->head_since < NGX_GUILDLOG_POOL_SLOW
            && pg->nflight * set->pace / 16 < NGX_GUILDLOG_POOL_SLOW
            && (best == NULL || pg->nflight < best->nflight))
        {
            best = pg;
        }
    }

    return best;
}


static void
ngx_guildlog_pool_send(ngx_guildlog_pool_t *pool, ngx_guildlog_pg_t *pg,
    ngx_guildlog_query_t *query)
{
    uint64_t  now;

    ngx_guildlog_pool_leave(pool, query);

    now = ngx_guildlog_pool_now_us();

    if (pool->turn > query->turn + 1) {
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAITS, 1);
        ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_WAIT_US,
                                 now - query->start_us);
    }

    query->start_us = now;

    query->timer.handler = ngx_guildlog_pool_send_expired;

    if (pg->nflight == 0) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, 1);
        ngx_add_timer(&query->timer, pg->timeout + NGX_GUILDLOG_POOL_GRACE);

    } else {
        ngx_add_timer(&query->timer,
                      pg->timeout * 2 + NGX_GUILDLOG_POOL_GRACE);
    }

    ngx_guildlog_pg_send(pg, query);
}


/* the server should have given up by itself: do not trust it any more */

static void
ngx_guildlog_pool_send_expired(ngx_event_t *ev)
{
    ngx_guildlog_query_t *query = ev->data;

    ngx_guildlog_pool_t  *pool;

    pool = query->pool;

    query->late = 1;

    ngx_guildlog_pool_late(pool, query);

    if (query->pg->conn) {
        ngx_guildlog_pg_fail(query->pg, "a statement missed its deadline");
    }
}


static void
ngx_guildlog_pool_late(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    ngx_guildlog_stats_count(pool->stats, NGX_GUILDLOG_COUNT_TIMEOUTS, 1);

    ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                  "guildlog database \"%V\": statement \"%s\" ran past %M ms",
                  &pool->database->name, query->stmt->name,
                  ngx_guildlog_pool_set(query)->timeout);
}


static void
ngx_guildlog_pool_grow(ngx_guildlog_pool_t *pool, ngx_guildlog_set_t *set)
{
    ngx_uint_t  n;

    n = ngx_min(set->nwaiting + set->crowded,
                set->max - set->nconnections + set->nconnecting);

    /* one at a time while it is not known that the server lives */

    if (pool->failing) {
        n = (pool->sets[0].nconnecting + pool->sets[1].nconnecting)
            ? 0 : ngx_min(n, 1);
    }

    while (set->nconnecting < n && !pool->retry.timer_set) {
        ngx_guildlog_pool_connect(pool, set);
    }
}


static void
ngx_guildlog_pool_connect(ngx_guildlog_pool_t *pool, ngx_guildlog_set_t *set)
{
    ngx_guildlog_pg_t  *pg;

    if (pool->nready + pool->sets[0].nconnecting + pool->sets[1].nconnecting
        == 0
        && !pool->failing)
    {
        pool->since = ngx_current_msec;
    }

    pg = ngx_guildlog_pg_create(pool, pool->site, set, set->timeout);

    if (pg == NULL) {
        ngx_guildlog_pool_back_off(pool);
        return;
    }

    set->nconnections++;
    set->nconnecting++;
    ngx_queue_insert_tail(&set->connections, &pg->queue);

    ngx_guildlog_pg_open(pg);
}


void
ngx_guildlog_pool_ready(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_set_t   *set;
    ngx_guildlog_pool_t  *pool;

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
ngx_guildlog_pool_answered(ngx_guildlog_pg_t *pg,
    ngx_guildlog_query_t *query)
{
    ngx_guildlog_set_t   *set;
    ngx_guildlog_pool_t  *pool;

    pool = pg->pool;
    set = pg->set;

    pool->backoff = 0;
    query->result.time_us = ngx_guildlog_pool_now_us() - query->start_us;
    set->pace += ngx_current_msec - pg->head_since - set->pace / 16;

    if (pg->nflight == 0) {
        ngx_guildlog_stats_gauge(pool->stats, NGX_GUILDLOG_GAUGE_BUSY, -1);

        ngx_queue_remove(&pg->queue);
        ngx_queue_insert_head(&set->connections, &pg->queue);

    } else {
        ngx_guildlog_pool_head(pg);
    }

    ngx_guildlog_pool_judge(pool, query);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


/* the next one runs from now on, within the time that it had anyway */

static void
ngx_guildlog_pool_head(ngx_guildlog_pg_t *pg)
{
    ngx_queue_t           *q;
    ngx_msec_t             timeout;
    ngx_guildlog_query_t  *query;

    q = ngx_queue_head(&pg->flight);
    query = ngx_queue_data(q, ngx_guildlog_query_t, queue);
    timeout = pg->timeout + NGX_GUILDLOG_POOL_GRACE;

    if (query->timer.timer_set
        && (ngx_msec_int_t) (query->timer.timer.key - ngx_current_msec)
           > (ngx_msec_int_t) timeout)
    {
        ngx_del_timer(&query->timer);
        ngx_add_timer(&query->timer, timeout);
    }
}


static void
ngx_guildlog_pool_judge(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    char                   *text;
    PGresult               *res;
    ngx_guildlog_result_t  *result;

    result = &query->result;
    res = result->res;

    if (PQresultStatus(res) != PGRES_FATAL_ERROR) {
        result->rows = PQntuples(res);
        result->columns = PQnfields(res);
        ngx_guildlog_pool_observe(pool, query);
        ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_ROWS);
        return;
    }

    text = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    ngx_cpystrn((u_char *) result->sqlstate, (u_char *) text,
                sizeof(result->sqlstate));

    if (query->stale) {
        query->stale = 0;
        query->fresh = 1;
        ngx_guildlog_pool_again(pool, query);
        return;
    }

    if (!query->retried && ngx_guildlog_pool_lost_a_race(result)) {
        query->retried = 1;
        ngx_guildlog_pool_again(pool, query);
        return;
    }

    text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (text) {
        result->message.data = (u_char *) text;
        result->message.len = ngx_strlen(text);
    }

    ngx_guildlog_pool_observe(pool, query);

    if (ngx_strcmp(result->sqlstate, "57014") == 0) {
        ngx_guildlog_pool_late(pool, query);
        ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_TIMEOUT);
        return;
    }

    ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_REFUSED);
}


static ngx_uint_t
ngx_guildlog_pool_lost_a_race(ngx_guildlog_result_t *result)
{
    const char  **loser;

    for (loser = ngx_guildlog_pool_losers; *loser; loser++) {
        if (ngx_strcmp(result->sqlstate, *loser) == 0) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_guildlog_pool_observe(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query)
{
    ngx_guildlog_stats_observe(
                          &pool->stats->shared->stmt[query->stmt->index],
                          query->result.time_us);
}


void
ngx_guildlog_pool_unblocked(ngx_guildlog_pg_t *pg)
{
    ngx_post_event(&pg->pool->run, &ngx_posted_events);
}


void
ngx_guildlog_pool_ended(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_set_t   *set;
    ngx_guildlog_pool_t  *pool;

    pool = pg->pool;
    set = pg->set;

    ngx_queue_remove(&pg->queue);
    ngx_queue_insert_tail(&pool->dead, &pg->queue);
    set->nconnections--;

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
        ngx_guildlog_pool_back_off(pool);
    }
}


static void
ngx_guildlog_pool_back_off(ngx_guildlog_pool_t *pool)
{
    if (pool->retry.timer_set || pool->closed) {
        return;
    }

    pool->backoff = ngx_min(pool->backoff * 2,
                            NGX_GUILDLOG_POOL_BACKOFF_MAX);
    pool->backoff = ngx_max(pool->backoff, NGX_GUILDLOG_POOL_BACKOFF);

    ngx_add_timer(&pool->retry, pool->backoff * 3 / 4
                                + ngx_random() % (pool->backoff / 2));
}


/* a server that is down is tried again even if nobody asks for it */

static void
ngx_guildlog_pool_retry(ngx_event_t *ev)
{
    ngx_guildlog_pool_t *pool = ev->data;

    ngx_post_event(&pool->run, &ngx_posted_events);

    if (!pool->failing || pool->nready || ngx_exiting
        || pool->sets[0].nwaiting || pool->sets[1].nwaiting
        || pool->sets[0].nconnecting || pool->sets[1].nconnecting)
    {
        return;
    }

    ngx_guildlog_pool_connect(pool, &pool->sets[0]);
}


/* nobody else will need them */

static void
ngx_guildlog_pool_shrink(ngx_guildlog_pool_t *pool)
{
    ngx_uint_t           i;
    ngx_queue_t         *q, *next;
    ngx_guildlog_pg_t   *pg;
    ngx_guildlog_set_t  *set;

    for (i = 0; i < 2; i++) {
        set = &pool->sets[i];

        if (set->nwaiting) {
            continue;
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
}


static void
ngx_guildlog_pool_finish(ngx_guildlog_pool_t *pool,
    ngx_guildlog_query_t *query, ngx_guildlog_outcome_e outcome)
{
    if (query->timer.timer_set) {
        ngx_del_timer(&query->timer);
    }

    /* class GL is how the schema says no: an answer like any other */

    if (outcome != NGX_GUILDLOG_ROWS
        && ngx_strncmp(query->result.sqlstate, "GL", 2) != 0)
    {
        (void) ngx_atomic_fetch_add(
                   &pool->stats->shared->stmt_errors[query->stmt->index], 1);
    }

    query->result.outcome = outcome;
    ngx_queue_insert_tail(&pool->finished, &query->queue);

    ngx_post_event(&pool->run, &ngx_posted_events);
}


static void
ngx_guildlog_pool_deliver(ngx_guildlog_pool_t *pool)
{
    ngx_queue_t            batch, *q;
    ngx_guildlog_query_t  *query;

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

            query = ngx_queue_data(q, ngx_guildlog_query_t, queue);

            if (query->handler) {
                query->handler(query->data, &query->result);
            }

            ngx_guildlog_query_free(query);
        }

    } while (pool->closed && !ngx_queue_empty(&pool->finished));

    pool->delivering = 0;

    if (pool->closed) {
        ngx_destroy_pool(pool->pool);
    }
}


static void
ngx_guildlog_query_free(ngx_guildlog_query_t *query)
{
    if (!query->kept) {
        PQclear(query->result.res);
    }

    ngx_free(query);
}


void
ngx_guildlog_query_detach(ngx_guildlog_query_t *query)
{
    ngx_uint_t  flags;

    query->handler = NULL;

    if (query->timer.timer_set
        && query->timer.handler == ngx_guildlog_pool_wait_expired)
    {
        ngx_guildlog_pool_leave(query->pool, query);
        ngx_guildlog_query_free(query);
        return;
    }

    /* a long read would keep its connection busy for nobody */

    flags = NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_READ;

    if (query->pg && query->pg->conn
        && (query->stmt->flags & flags) == flags)
    {
        ngx_guildlog_pg_close(query->pg);
    }
}


void
ngx_guildlog_pool_terminate(ngx_guildlog_pool_t *pool)
{
    ngx_uint_t             i;
    ngx_queue_t           *q;
    ngx_guildlog_query_t  *query;

    pool->terminated = 1;

    for (i = 0; i < 2; i++) {
        while (!ngx_queue_empty(&pool->sets[i].waiting)) {
            q = ngx_queue_head(&pool->sets[i].waiting);
            query = ngx_queue_data(q, ngx_guildlog_query_t, queue);

            ngx_guildlog_pool_leave(pool, query);
            ngx_guildlog_pool_finish(pool, query, NGX_GUILDLOG_UNAVAILABLE);
        }
    }
}


void
ngx_guildlog_pool_destroy(ngx_guildlog_pool_t *pool)
{
    ngx_uint_t          i;
    ngx_queue_t        *q;
    ngx_guildlog_pg_t  *pg;

    pool->closed = 1;

    for (i = 0; i < 2; i++) {
        while (!ngx_queue_empty(&pool->sets[i].connections)) {
            q = ngx_queue_head(&pool->sets[i].connections);
            pg = ngx_queue_data(q, ngx_guildlog_pg_t, queue);
            ngx_guildlog_pg_close(pg);
        }
    }

    ngx_guildlog_pool_bury(pool);
    ngx_guildlog_pool_terminate(pool);

    if (pool->retry.timer_set) {
        ngx_del_timer(&pool->retry);
    }

    if (pool->run.posted) {
        ngx_delete_posted_event(&pool->run);
    }

    if (!pool->delivering) {
        ngx_guildlog_pool_deliver(pool);
    }
}


/* out of bounds is not left to libpq, which would tell the connection */

ngx_str_t
ngx_guildlog_result_value(ngx_guildlog_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    ngx_str_null(&value);

    if (row < result->rows && column < result->columns
        && !PQgetisnull(result->res, row, column))
    {
        value.data = (u_char *) PQgetvalue(result->res, row, column);
        value.len = PQgetlength(result->res, row, column);
    }

    return value;
}


ngx_int_t
ngx_guildlog_result_keep(ngx_guildlog_result_t *result, ngx_pool_t *pool)
{
    ngx_pool_cleanup_t    *cln;
    ngx_guildlog_query_t  *query;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_guildlog_result_cleanup;
    cln->data = result->res;

    query = ngx_queue_data(result, ngx_guildlog_query_t, result);
    query->kept = 1;

    return NGX_OK;
}


static void
ngx_guildlog_result_cleanup(void *data)
{
    PQclear(data);
}


/* under load one line a second tells as much as a thousand */

static void
ngx_guildlog_pool_complain(ngx_guildlog_pool_t *pool, const char *what)
{
    if (pool->complained == ngx_time()) {
        return;
    }

    pool->complained = ngx_time();

    ngx_log_error(NGX_LOG_ERR, pool->log, 0, "guildlog database \"%V\": %s",
                  &pool->database->name, what);
}


static uint64_t
ngx_guildlog_pool_now_us(void)
{
    struct timespec  now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);

    return (uint64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
