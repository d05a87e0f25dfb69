
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


#define DELIVERY_LEASE_HEARTBEAT  5000    /* ms */
#define DELIVERY_LEASE_HASTE      500     /* ms, for more shards */
#define DELIVERY_LEASE_MS         30000   /* ms, as the schema has it */


#define DELIVERY_FIND_POLL     200       /* ms */
#define DELIVERY_FIND_SWEEP    30000     /* ms */
#define DELIVERY_FIND_RESWEEP  5000      /* ms, after one failed */


#define DELIVERY_SECRET_MISFIT  5000    /* ms, then it asks again */
#define DELIVERY_SECRET_REMIND  60      /* s, between lines of the log */


static void delivery_tick(ngx_event_t *ev);
static void delivery_go(ngx_event_t *ev);
static void delivery_release(ngx_guildlog_delivery_t *d);
static void delivery_released(void *data, ngx_guildlog_db_result_t *result);
static void delivery_gauges(ngx_guildlog_delivery_t *d);
static void delivery_gauges_told(void *data, ngx_guildlog_db_result_t *result);
static void delivery_gauges_set(ngx_guildlog_delivery_t *d, json_t *json,
    const char *name, ngx_guildlog_gauge_e gauge);
static void delivery_gauges_clear(ngx_guildlog_delivery_t *d,
    ngx_guildlog_gauge_e from);
static void delivery_lease(ngx_guildlog_delivery_t *d);
static u_char *delivery_lease_giveaway(ngx_guildlog_delivery_t *d, u_char *p);
static void delivery_lease_done(void *data, ngx_guildlog_db_result_t *result);
static ngx_uint_t delivery_lease_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void delivery_find(ngx_guildlog_delivery_t *d);
static void delivery_find_done(void *data, ngx_guildlog_db_result_t *result);
static void delivery_find_again(ngx_guildlog_delivery_t *d);
static void delivery_find_page(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void delivery_secret(ngx_guildlog_delivery_t *d);
static void delivery_secret_told(void *data, ngx_guildlog_db_result_t *result);


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
    ngx_queue_init(&d->stepping);
    ngx_queue_init(&d->going);
    ngx_queue_init(&d->rounds);
    ngx_queue_init(&d->refused);

    /* not cancelable: a worker that exits gives its leases away first */

    ngx_guildlog_event_init(&d->tick, delivery_tick, d, d->env.log);
    ngx_guildlog_event_init(&d->go, delivery_go, d, d->env.log);

    ngx_str_set(&d->dead, "{}");

    ngx_guildlog_pace_init(&d->pace, &stats->shared->pace, &conf->platform.text,
                           conf->rate);

    if (ngx_guildlog_owner_self(cycle->pool, &conf->node, &d->env.me)
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

    d->lease_at = ngx_current_msec;
    d->lease_until = ngx_current_msec;
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
        ngx_guildlog_db_pool_detach(d->steps[i].query);
    }

    for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        ngx_guildlog_db_pool_detach(queries[i]);
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

    /* whose place this worker took may have left some */

    ngx_guildlog_pace_grants(&d->pace);

    if (d->lease == NULL
        && ((ngx_exiting && !d->leaves)
            || ngx_guildlog_delivery_due(d->lease_at)))
    {
        if (d->fits || ngx_exiting) {
            delivery_lease(d);

        } else {
            delivery_secret(d);
        }
    }

    if (!ngx_exiting && d->mine) {

        if (d->find == NULL && d->nlanes < DELIVERY_MOST
            && (d->after_lane || d->apart
                || d->env.stats->shared->changes != d->woken
                || ngx_guildlog_delivery_due(d->find_at)))
        {
            delivery_find(d);
        }

        if (d->release == NULL && ngx_guildlog_delivery_due(d->release_at)) {
            delivery_release(d);
        }

        ngx_guildlog_delivery_lanes_doubts(d);
        ngx_guildlog_delivery_slots(d);
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

    uint64_t              end;
    ngx_uint_t            requests, rested;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    rested = ev->timedout;
    ev->timedout = 0;

    requests = ngx_guildlog_delivery_slot_requests(d);

    if (requests && ngx_guildlog_delivery_slot_stepping(d)) {
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
        q = ngx_queue_head(&d->going);
        ngx_queue_remove(q);

        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
        lane->goes_on = 0;

        ngx_guildlog_delivery_queue_resume(lane);

        if (requests || ngx_guildlog_clock_us() >= end) {
            break;
        }
    }

    ngx_guildlog_delivery_queue_post_go(d);
    ngx_guildlog_delivery_step(d);
}


static void
delivery_release(ngx_guildlog_delivery_t *d)
{
    d->release_at = ngx_current_msec + DELIVERY_RELEASE;

    d->release = ngx_guildlog_db_pool_submit(d->env.pool,
                     ngx_guildlog_stmt(delivery_release), NULL,
                     delivery_released, d);
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
                           d->open);
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
                     ngx_guildlog_stmt(delivery_figures), &d->env.me,
                     delivery_gauges_told, d);
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


/*
 * Leases: who has which shards, and until when.
 */

static void
delivery_lease(ngx_guildlog_delivery_t *d)
{
    u_char     give[4 * NGX_GUILDLOG_DELIVERY_SHARDS], asks[NGX_INT64_LEN];
    ngx_str_t  args[5];

    args[0] = d->env.me;
    args[1] = d->dead;
    args[2].data = give;
    args[2].len = delivery_lease_giveaway(d, give) - give;

    d->leaves = ngx_exiting;

    ngx_guildlog_lane_tell_bool(&args[3], d->leaves);

    args[4] = ngx_guildlog_digits(asks, ++d->lease_asks);

    d->lease_asked = ngx_current_msec;
    d->lease_at = ngx_current_msec + DELIVERY_LEASE_HEARTBEAT;

    d->lease = ngx_guildlog_db_pool_submit(d->env.pool,
                                           ngx_guildlog_stmt(delivery_lease),
                                           args, delivery_lease_done, d);

    if (d->lease == NULL && ngx_exiting) {
        d->left = 1;
    }
}


/*
 * Gives away the shards beyond a fair share, or all of them, of those where
 * nothing is under way.  They are not ours from now on, so that nothing gets
 * under way meanwhile.  If a shard was not given away after all, the answer
 * says that it is ours.
 */

static u_char *
delivery_lease_giveaway(ngx_guildlog_delivery_t *d, u_char *p)
{
    ngx_uint_t  i, more, given;

    more = ngx_exiting ? d->mine : d->mine - ngx_min(d->mine, d->share);
    given = 0;

    *p++ = '{';

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_SHARDS && given < more; i++) {

        if (d->fences[i] == -1
            || ngx_guildlog_delivery_lanes_busy(d, (ngx_int_t) i))
        {
            continue;
        }

        p = ngx_sprintf(p, given ? ",%ui" : "%ui", i);
        given++;
        d->mine--;
        d->fences[i] = -1;
    }

    *p++ = '}';

    if (given) {
        ngx_guildlog_delivery_lanes_forget_lost(d);
    }

    return p;
}


/* if something is not committed when a lease ends, the next owner finds out
   what became of it */

static void
delivery_lease_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t  dead;

    d->lease = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "leases", result);

        if (ngx_exiting
            && (!ngx_guildlog_delivery_lanes_busy(d, -1)
                || ngx_guildlog_delivery_due(d->lease_until)))
        {
            d->left = 1;
        }

        d->lease_at = ngx_current_msec + DELIVERY_LEASE_HASTE;
        return;
    }

    d->lease_until = d->lease_asked + DELIVERY_LEASE_MS;

    dead = delivery_lease_hold(d, result);

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog delivery: %ui shards of %ui", d->mine, d->share);

    if (dead) {
        d->lease_at = ngx_current_msec;

    } else if (ngx_exiting || d->mine < d->share) {
        d->lease_at = ngx_current_msec + DELIVERY_LEASE_HASTE;
    }

    if (d->leaves && d->mine == 0) {
        d->left = 1;
    }
}


/* 1: some owner is known to be dead.  An owner without a shard has a row too */

static ngx_uint_t
delivery_lease_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    int64_t        fence;
    ngx_str_t      owner, number;
    ngx_uint_t     row, shard, gained, lost, found;

    static u_char  buf[512];

    d->mine = 0;
    gained = 0;
    lost = 0;
    found = 0;
    ngx_str_set(&d->dead, "{}");

    for (row = 0; row < result->rows; row++) {
        number = ngx_guildlog_db_result_value(result, row, 0);
        shard = ngx_guildlog_lane_row_number(result, row, 0)
                % NGX_GUILDLOG_DELIVERY_SHARDS;
        owner = ngx_guildlog_db_result_value(result, row, 1);
        fence = -1;

        if (ngx_guildlog_lane_row_true(result, row, 3)) {
            fence = ngx_guildlog_lane_row_number(result, row, 2);
            d->mine++;

        } else if (owner.len && !found && owner.len < sizeof(buf) - 4
                   && ngx_guildlog_owner_dead(&d->env.me, &owner))
        {
            d->dead.data = buf;
            d->dead.len = ngx_sprintf(buf, "{\"%V\"}", &owner) - buf;
            found = 1;
        }

        if (number.len == 0) {
            continue;
        }

        gained |= fence != d->fences[shard] && fence != -1;
        lost += fence != d->fences[shard] && d->fences[shard] != -1;
        d->fences[shard] = fence;
        d->share = ngx_guildlog_lane_row_number(result, row, 4);
    }

    ngx_guildlog_stats_count(d->env.stats, NGX_GUILDLOG_COUNT_LEASES_LOST,
                             lost);
    ngx_guildlog_delivery_lanes_forget_lost(d);

    if (gained) {
        d->find_at = ngx_current_msec;
        d->sweep_at = ngx_current_msec;
    }

    return found;
}


/*
 * Finds lanes that have something to do: those called for since the last find,
 * and now and then, in a sweep, all of them.  It goes page by page; further
 * lanes stay in the database while many are at hand.
 */

static void
delivery_find(ngx_guildlog_delivery_t *d)
{
    u_char     numbers[2][NGX_INT64_LEN];
    ngx_str_t  args[6];

    if (d->after_lane == 0 && !d->apart) {
        d->woken = d->env.stats->shared->changes;
        d->find_at = ngx_current_msec + DELIVERY_FIND_POLL;
        d->sweeps = ngx_guildlog_delivery_due(d->sweep_at);
        d->missed = 0;
        d->next_mark.len = 0;

        if (d->sweeps) {
            d->sweep_at = ngx_current_msec + DELIVERY_FIND_SWEEP;
        }
    }

    d->nchanged = 0;

    args[0] = d->env.me;

    if (d->sweeps || d->mark.len == 0) {
        ngx_str_null(&args[1]);

    } else {
        args[1].data = d->mark.data;
        args[1].len = d->mark.len;
    }

    /* the page behind the last lane found */

    args[2] = ngx_guildlog_digits(numbers[0], d->after_guild);
    args[3] = ngx_guildlog_digits(numbers[1], d->after_lane);
    ngx_str_set(&args[4], ngx_value(NGX_GUILDLOG_DELIVERY_PAGE));
    ngx_guildlog_lane_tell_bool(&args[5], d->apart);

    d->find = ngx_guildlog_db_pool_submit(d->env.pool,
                                          ngx_guildlog_stmt(delivery_find),
                                          args, delivery_find_done, d);

    if (d->find == NULL) {
        delivery_find_again(d);
    }
}


static void
delivery_find_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {

        if (!d->apart && ngx_guildlog_delivery_park_blames(result)) {
            d->apart = 1;
            ngx_guildlog_delivery_queue_post(d);
            return;
        }

        ngx_guildlog_delivery_park_log(&d->env, "lanes", result);
        delivery_find_again(d);
        return;
    }

    delivery_find_page(d, result);

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog delivery: found %ui rows, %ui lanes at hand",
                   result->rows, d->nlanes);

    d->apart = 0;

    if (ngx_exiting) {
        return;
    }

    if (d->after_lane) {
        ngx_guildlog_delivery_queue_post(d);

    } else if (!d->missed) {
        d->mark = d->next_mark;
    }

    ngx_guildlog_delivery_step(d);
}


/*
 * From the beginning.  A sweep does more than find lanes, and may fail of that
 * again: lanes that are called for are found before the next sweep.
 */

static void
delivery_find_again(ngx_guildlog_delivery_t *d)
{
    if (d->sweeps) {
        d->sweep_at = ngx_current_msec + DELIVERY_FIND_RESWEEP;
    }

    d->apart = 0;
    d->after_guild = 0;
    d->after_lane = 0;
    d->find_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
}


/*
 * The first row is the mark.  Rows without a lane are entries that came to an
 * end.  The others are lanes; a full page ends with the last one it read.
 */

static void
delivery_find_page(ngx_guildlog_delivery_t *d, ngx_guildlog_db_result_t *result)
{
    int64_t     guild, lane, n;
    ngx_str_t   state;
    ngx_uint_t  row, lanes;

    guild = 0;
    lane = 0;
    lanes = 0;

    state = ngx_guildlog_db_result_value(result, 0, NGX_GUILDLOG_FOUND_STATE);

    if (d->after_lane == 0 && state.len <= NGX_GUILDLOG_DELIVERY_MARK) {
        d->next_mark.len = state.len;
        ngx_memcpy(d->next_mark.data, state.data, state.len);
    }

    for (row = 1; row < result->rows; row++) {
        state = ngx_guildlog_db_result_value(result, row,
                                             NGX_GUILDLOG_FOUND_STATE);
        lane = ngx_guildlog_lane_row_number(result, row,
                                            NGX_GUILDLOG_FOUND_LANE);

        if (lane == 0) {
            n = ngx_guildlog_lane_row_number(result, row,
                                             NGX_GUILDLOG_FOUND_HEAD);
            ngx_guildlog_traffic_entries(d->env.traffic, &state, n);
            continue;
        }

        guild = ngx_guildlog_lane_row_number(result, row,
                                             NGX_GUILDLOG_FOUND_GUILD);
        lanes++;

        if (!ngx_guildlog_delivery_park_row(&d->env, result, row)
            && state.len && !ngx_exiting)
        {
            ngx_guildlog_delivery_lanes_meet(d, result, row);
        }
    }

    if (lanes < NGX_GUILDLOG_DELIVERY_PAGE) {
        guild = 0;
        lane = 0;
    }

    d->after_guild = guild;
    d->after_lane = lane;
}


/*
 * Does the secret fit?  The database keeps a mark that was sealed with the
 * secret of the webhooks.  A machine that cannot open the mark could deliver
 * nothing of its shards, so it leases none.
 */

static void
delivery_secret(ngx_guildlog_delivery_t *d)
{
    ngx_str_t    mark, sealed;
    ngx_pool_t  *pool;

    ngx_str_set(&mark, "guildlog");

    d->lease_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, d->env.log);
    if (pool == NULL) {
        return;
    }

    if (ngx_guildlog_seal(pool, d->env.conf->key, &mark, &mark, &sealed)
        == NGX_OK)
    {
        d->lease = ngx_guildlog_db_pool_submit(d->env.pool,
                      ngx_guildlog_stmt(delivery_secret), &sealed,
                      delivery_secret_told, d);
    }

    ngx_destroy_pool(pool);
}


static void
delivery_secret_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    u_char      *blank, *last;
    ngx_int_t    rc;
    ngx_str_t    owner, sealed, plain;
    ngx_pool_t  *pool;

    d->lease = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        ngx_guildlog_delivery_park_log(&d->env, "leases", result);
        return;
    }

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, d->env.log);
    if (pool == NULL) {
        return;
    }

    /* the owner of the mark, a blank, the mark */

    owner = ngx_guildlog_db_result_value(result, 0, 1);
    last = owner.data + owner.len;
    blank = ngx_strlchr(owner.data, last, ' ');
    rc = NGX_DECLINED;

    if (blank) {
        owner.len = blank - owner.data;
        sealed.data = blank + 1;
        sealed.len = last - sealed.data;

        rc = ngx_guildlog_seal_open(pool, d->env.conf->key, &owner, &sealed,
                                    &plain);
    }

    ngx_destroy_pool(pool);

    if (rc == NGX_ERROR) {
        return;
    }

    d->fits = rc == NGX_OK;

    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_MISFIT, !d->fits);

    if (d->fits) {
        d->lease_at = ngx_current_msec;
        return;
    }

    d->lease_at = ngx_current_msec + DELIVERY_SECRET_MISFIT;

    if (ngx_time() < d->remind_at) {
        return;
    }

    d->remind_at = ngx_time() + DELIVERY_SECRET_REMIND;

    ngx_log_error(NGX_LOG_ERR, d->env.log, 0,
                  "the secret of \"guildlog_delivery\" is not the one that "
                  "the stored webhooks were sealed with: this machine "
                  "delivers nothing");
}
