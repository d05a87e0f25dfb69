
/*
 * The loop, to be read top-down: leases, lanes that have something to do,
 * permits, steps.  A lane's own file, ngx_guildlog_lane.c, says what it does
 * with them.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "jobs/ngx_guildlog_owner.h"
#include "base/ngx_guildlog_json.h"


#define DELIVERY_TICK       20      /* ms */
#define DELIVERY_RELEASE    500     /* ms */
#define DELIVERY_MOMENT     500     /* us, then requests come */
#define DELIVERY_REST       1       /* ms, beside requests */
#define DELIVERY_LEAVE      5000    /* ms, without a master */
#define DELIVERY_MOST       8192    /* lanes at hand */
#define DELIVERY_IDLE       64      /* connections kept */

#define DELIVERY_GAUGES_INTERVAL  2000    /* ms */
#define DELIVERY_GAUGES_SHARE     50      /* of the time, one part */


static void delivery_tick(ngx_event_t *ev);
static void delivery_go(ngx_event_t *ev);
static void delivery_go_one(ngx_guildlog_delivery_t *d);
static void delivery_release(ngx_guildlog_delivery_t *d);
static void delivery_released(void *data, ngx_guildlog_db_result_t *result);
static void delivery_gauges(ngx_guildlog_delivery_t *d);
static void delivery_gauges_told(void *data, ngx_guildlog_db_result_t *result);
static void delivery_gauges_set(ngx_guildlog_delivery_t *d, json_t *json,
    const char *name, ngx_guildlog_gauge_e gauge);
static void delivery_gauges_clear(ngx_guildlog_delivery_t *d,
    ngx_guildlog_gauge_e from);


ngx_guildlog_delivery_t *
ngx_guildlog_delivery_create(ngx_cycle_t *cycle,
    const ngx_guildlog_delivery_conf_t *conf, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout)
{
    ngx_uint_t                i;
    ngx_guildlog_delivery_t  *d;

    static const char         always[] = "(-infinity,-infinity,0)";

    d = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_delivery_t));
    if (d == NULL) {
        return NULL;
    }

    d->fd = (ngx_socket_t) -1;
    d->env.conf = conf;
    d->env.states = ngx_guildlog_lane_states;
    d->env.applications = d->applications;
    d->env.pool = pool;
    d->env.stats = stats;
    d->env.traffic = &stats->shared->traffic;
    d->env.log = cycle->log;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_SHARDS; i++) {
        d->fences[i] = -1;
    }

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        ngx_queue_init(&d->lanes[i]);
        ngx_queue_init(&d->guilds[i]);
    }

    ngx_queue_init(&d->doubts);

    ngx_guildlog_delivery_queue_init(d, delivery_tick, delivery_go);

    ngx_str_set(&d->dead, "{}");

    if (ngx_guildlog_pace_init(&d->pace, &stats->shared->pace,
                               &conf->platform.text, cycle->pool, conf->rate)
        != NGX_OK
        || ngx_guildlog_owner_self(cycle->pool, &conf->node, &d->env.me)
           != NGX_OK)
    {
        return NULL;
    }

    d->env.client = ngx_guildlog_client_create(cycle, &conf->platform, resolver,
                                               resolver_timeout, DELIVERY_IDLE);
    if (d->env.client == NULL) {
        return NULL;
    }

    /* the first find looks for lanes called for at any time */

    d->mark.len = sizeof(always) - 1;
    ngx_memcpy(d->mark.data, always, sizeof(always) - 1);

    d->page = NGX_GUILDLOG_DELIVERY_PAGE;
    d->page_doubts = NGX_GUILDLOG_DELIVERY_DOUBTS;
    d->lease_at = ngx_current_msec;
    d->find_at = ngx_current_msec;
    d->sweep_at = ngx_current_msec;
    d->release_at = ngx_current_msec;
    d->doubt_at = ngx_current_msec;
    d->step_at = ngx_current_msec;
    d->tell_at = ngx_current_msec;
    d->requests_at = ngx_current_msec;
    d->gauges_at = ngx_current_msec;

    /* their age counts from now on */

    ngx_guildlog_stats_set(stats, NGX_GUILDLOG_GAUGE_TOLD, ngx_time());

    ngx_add_timer(&d->tick, DELIVERY_TICK);

    return d;
}


void
ngx_guildlog_delivery_leave(ngx_guildlog_delivery_t *d, ngx_cycle_t *cycle)
{
    ngx_msec_t  end;

    end = ngx_current_msec + DELIVERY_LEAVE;
    ngx_exiting = 1;

    while (!d->left && !ngx_terminate && !ngx_guildlog_delivery_due(end)) {
        ngx_process_events_and_timers(cycle);
    }
}


void
ngx_guildlog_delivery_destroy(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t             i;
    ngx_guildlog_db_query_t  *queries[] = {
        d->lease, d->find, d->release, d->doubt, d->gauges, d->tell
    };

    ngx_guildlog_event_stop(&d->tick);
    ngx_guildlog_event_stop(&d->go);

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        if (d->steps[i].query) {
            ngx_guildlog_db_pool_detach(d->steps[i].query);
        }
    }

    for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        if (queries[i]) {
            ngx_guildlog_db_pool_detach(queries[i]);
        }
    }

    ngx_guildlog_delivery_lanes_free(d);
    ngx_guildlog_client_destroy(d->env.client);
}


static void
delivery_tick(ngx_event_t *ev)
{
    ngx_guildlog_delivery_t *d = ev->data;

    if (d->left) {
        delivery_gauges(d);
        return;
    }

    if (d->lease == NULL
        && ((ngx_exiting && !d->leaves)
            || ngx_guildlog_delivery_due(d->lease_at)))
    {
        if (d->fits || ngx_exiting) {
            ngx_guildlog_delivery_lease(d);

        } else {
            ngx_guildlog_delivery_secret(d);
        }
    }

    if (!ngx_exiting) {
        ngx_guildlog_delivery_turn_quota(d);
    }

    if (!ngx_exiting && d->mine) {

        if (d->find == NULL && d->nlanes < DELIVERY_MOST
            && (d->after_lane || d->halved
                || d->env.stats->shared->changes != d->woken
                || ngx_guildlog_delivery_due(d->find_at)))
        {
            ngx_guildlog_delivery_find(d);
        }

        if (d->release == NULL && ngx_guildlog_delivery_due(d->release_at)) {
            delivery_release(d);
        }

        ngx_guildlog_delivery_lanes_doubts(d);
        ngx_guildlog_delivery_turn(d);
    }

    ngx_guildlog_delivery_refused_tell(d);
    ngx_guildlog_delivery_queue_post_go(d);
    ngx_guildlog_delivery_step(d);
    delivery_gauges(d);

    ngx_add_timer(&d->tick, DELIVERY_TICK);
}


/*
 * Lets lanes go on for a moment; then requests come first.  Beside requests
 * one lane goes on at a time, none while the database takes a step, and one
 * each millisecond while a request of this worker waits for the database.
 */

static void
delivery_go(ngx_event_t *ev)
{
    ngx_guildlog_delivery_t *d = ev->data;

    uint64_t     end;
    ngx_uint_t   requests, rested;

    rested = ev->timedout;
    ev->timedout = 0;

    requests = ngx_guildlog_delivery_turn_requests(d);

    if (requests && ngx_guildlog_delivery_turn_stepping(d)) {
        return;
    }

    if (requests && !rested
        && ngx_guildlog_db_pool_requests_running(d->env.pool))
    {
        ngx_add_timer(ev, DELIVERY_REST);
        return;
    }

    end = ngx_guildlog_clock_us() + DELIVERY_MOMENT;

    while (!ngx_queue_empty(&d->going)) {
        delivery_go_one(d);

        if (requests || ngx_guildlog_clock_us() >= end) {
            break;
        }
    }

    ngx_guildlog_delivery_queue_post_go(d);
    ngx_guildlog_delivery_step(d);
}


static void
delivery_go_one(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    q = ngx_queue_head(&d->going);
    ngx_queue_remove(q);

    lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
    lane->goes_on = 0;

    ngx_guildlog_delivery_queue_resume(lane);
}


static void
delivery_release(ngx_guildlog_delivery_t *d)
{
    d->release_at = ngx_current_msec + DELIVERY_RELEASE;

    d->release = ngx_guildlog_db_pool_submit(d->env.pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_release],
                     NULL, delivery_released, d);
}


static void
delivery_released(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_str_t  n;

    d->release = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "held entries", result);
        return;
    }

    n = ngx_guildlog_db_result_value(result, 0, 1);

    if (n.len != 1 || n.data[0] != '0') {
        d->find_at = ngx_current_msec;
    }
}


/* what there is to deliver, for the status page: the database is asked so
   seldom that it costs next to nothing */

static void
delivery_gauges(ngx_guildlog_delivery_t *d)
{
    if (d->left) {
        delivery_gauges_clear(d, NGX_GUILDLOG_GAUGE_SENDING);
        return;
    }

    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_SENDING,
                           d->pace.open);
    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_INVALID,
                           ngx_guildlog_pace_invalid(&d->pace,
                                                     ngx_current_msec));
    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_SHARDS, d->mine);

    if (ngx_exiting) {
        delivery_gauges_clear(d, NGX_GUILDLOG_GAUGE_TOLD);
        return;
    }

    if (d->gauges || !ngx_guildlog_delivery_due(d->gauges_at)) {
        return;
    }

    d->gauges_at = ngx_current_msec + DELIVERY_GAUGES_INTERVAL;

    d->gauges = ngx_guildlog_db_pool_submit(d->env.pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_figures],
                     &d->env.me, delivery_gauges_told, d);
}


static void
delivery_gauges_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    json_t                           *json;
    ngx_str_t                         body;
    json_error_t                      cause;
    const ngx_guildlog_lane_gauge_t  *lane;

    d->gauges = NULL;

    if (ngx_exiting) {
        return;
    }

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        ngx_guildlog_delivery_park_log(&d->env, "figures", result);
        return;
    }

    body = ngx_guildlog_db_result_value(result, 0, 1);
    json = ngx_guildlog_json_read_any(body.data, body.len, 0, &cause);

    delivery_gauges_set(d, json, "backlog", NGX_GUILDLOG_GAUGE_BACKLOG);
    delivery_gauges_set(d, json, "held", NGX_GUILDLOG_GAUGE_HELD);
    delivery_gauges_set(d, json, "oldest_ms", NGX_GUILDLOG_GAUGE_OLDEST_MS);

    for (lane = ngx_guildlog_stats_lanes; lane->state; lane++) {
        delivery_gauges_set(d, json, lane->state, lane->gauge);
    }

    json_decref(json);

    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_TOLD, ngx_time());

    d->gauges_at = ngx_current_msec
                    + ngx_max(DELIVERY_GAUGES_INTERVAL,
                              result->time_us / 1000
                              * DELIVERY_GAUGES_SHARE);
}


static void
delivery_gauges_set(ngx_guildlog_delivery_t *d, json_t *json, const char *name,
    ngx_guildlog_gauge_e gauge)
{
    ngx_guildlog_stats_set(d->env.stats, gauge,
                           json_integer_value(json_object_get(json, name)));
}


/* a worker that leaves may live on for long: others have its shards */

static void
delivery_gauges_clear(ngx_guildlog_delivery_t *d, ngx_guildlog_gauge_e from)
{
    ngx_uint_t  i;

    for (i = from; i < NGX_GUILDLOG_GAUGE_LAST; i++) {
        ngx_guildlog_stats_set(d->env.stats, i, 0);
    }
}
