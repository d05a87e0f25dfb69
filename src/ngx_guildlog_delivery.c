
/*
 * The loop: leases, what there is to do, steps, turns.  What a lane does with
 * them is its own business.
 */

#include "ngx_guildlog_delivery.h"
#include "ngx_guildlog_json.h"
#include "ngx_guildlog_lane.h"
#include "ngx_guildlog_owner.h"
#include "ngx_guildlog_pace.h"


#define NGX_GUILDLOG_DELIVERY_TICK       20      /* ms */
#define NGX_GUILDLOG_DELIVERY_POLL       200     /* ms */
#define NGX_GUILDLOG_DELIVERY_RELEASE    500     /* ms */
#define NGX_GUILDLOG_DELIVERY_SWEEP      30000   /* ms */
#define NGX_GUILDLOG_DELIVERY_HEARTBEAT  5000    /* ms */
#define NGX_GUILDLOG_DELIVERY_HASTE      500     /* ms, for more shards */
#define NGX_GUILDLOG_DELIVERY_LEASE      30000   /* ms, as the schema has it */
#define NGX_GUILDLOG_DELIVERY_DEADLINE   15000   /* ms, of a request */
#define NGX_GUILDLOG_DELIVERY_SPARE      5000    /* ms, of a lease */
#define NGX_GUILDLOG_DELIVERY_RETRY      500     /* ms, of a step */
#define NGX_GUILDLOG_DELIVERY_SERVER     10      /* requests a server at once */

#define NGX_GUILDLOG_DELIVERY_SHARDS     64
#define NGX_GUILDLOG_DELIVERY_LANES      64      /* a step */
#define NGX_GUILDLOG_DELIVERY_STEPS      2       /* at once */
#define NGX_GUILDLOG_DELIVERY_BUCKETS    4096
#define NGX_GUILDLOG_DELIVERY_IDLE       64      /* connections kept */


/* lanes of one server: nobody else waits for them */

struct ngx_guildlog_guild_s {
    ngx_queue_t                    link;     /* of all servers */
    ngx_queue_t                    queue;    /* of those with lanes that
                                                wait; empty: it has none */
    ngx_queue_t                    waiting;  /* its lanes */
    ngx_uint_t                     lanes;
    ngx_uint_t                     sending;
    ngx_str_t                      id;
};


typedef struct {
    ngx_guildlog_delivery_t       *delivery;
    ngx_guildlog_query_t          *query;
    ngx_uint_t                     n;
    ngx_guildlog_lane_t           *lanes[NGX_GUILDLOG_DELIVERY_LANES];
} ngx_guildlog_step_t;


struct ngx_guildlog_delivery_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_delivery_conf_t  *conf;
    ngx_guildlog_pool_t           *pool;
    ngx_guildlog_client_t         *client;
    ngx_log_t                     *log;
    ngx_atomic_t                  *wake;
    ngx_atomic_uint_t              woken;
    ngx_str_t                      me;
    ngx_event_t                    tick;

    ngx_guildlog_pace_t            pace;

    int64_t                        fences[NGX_GUILDLOG_DELIVERY_SHARDS];
    ngx_uint_t                     mine;     /* shards */
    ngx_uint_t                     share;
    ngx_msec_t                     lease_asked;
    ngx_msec_t                     lease_until;

    ngx_guildlog_query_t          *lease;
    ngx_guildlog_query_t          *find;
    ngx_guildlog_query_t          *release;
    ngx_msec_t                     lease_at;
    ngx_msec_t                     find_at;
    ngx_msec_t                     sweep_at;
    ngx_msec_t                     release_at;
    ngx_str_t                      dead;     /* owners, as an SQL array */

    ngx_guildlog_step_t            steps[NGX_GUILDLOG_DELIVERY_STEPS];
    ngx_queue_t                    stepping; /* lanes to be stepped */
    ngx_msec_t                     step_at;

    ngx_queue_t                    servers;  /* with lanes that wait */
    ngx_queue_t                    lanes[NGX_GUILDLOG_DELIVERY_BUCKETS];
    ngx_queue_t                    guilds[NGX_GUILDLOG_DELIVERY_BUCKETS];

    unsigned                       leased:1; /* some lease came */
    unsigned                       sweeps:1; /* the find under way does */
    unsigned                       left:1;   /* all was given away */
};


static void ngx_guildlog_delivery_tick(ngx_event_t *ev);
static ngx_uint_t ngx_guildlog_delivery_due(ngx_msec_t at);
static void ngx_guildlog_delivery_lease(ngx_guildlog_delivery_t *d);
static u_char *ngx_guildlog_delivery_giveaway(ngx_guildlog_delivery_t *d,
    u_char *p);
static void ngx_guildlog_delivery_leased(void *data,
    ngx_guildlog_result_t *result);
static ngx_uint_t ngx_guildlog_delivery_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_result_t *result);
static void ngx_guildlog_delivery_find(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_found(void *data,
    ngx_guildlog_result_t *result);
static void ngx_guildlog_delivery_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_result_t *result, ngx_uint_t row);
static void ngx_guildlog_delivery_let_go(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_released(void *data,
    ngx_guildlog_result_t *result);
static void ngx_guildlog_delivery_steps(ngx_guildlog_delivery_t *d);
static ngx_int_t ngx_guildlog_delivery_submit(ngx_guildlog_delivery_t *d,
    ngx_guildlog_step_t *step);
static void ngx_guildlog_delivery_write(ngx_guildlog_json_t *w,
    ngx_guildlog_lane_t *lane);
static void ngx_guildlog_delivery_stepped(void *data,
    ngx_guildlog_result_t *result);
static void ngx_guildlog_delivery_entries(ngx_guildlog_step_t *step,
    ngx_guildlog_result_t *result);
static void ngx_guildlog_delivery_turns(ngx_guildlog_delivery_t *d);
static ngx_uint_t ngx_guildlog_delivery_grant(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_delivery_turned(void *data,
    ngx_guildlog_result_t *result);
static ngx_guildlog_lane_t *ngx_guildlog_delivery_lane(
    ngx_guildlog_delivery_t *d, const ngx_str_t *guild, const ngx_str_t *id);
static ngx_guildlog_guild_t *ngx_guildlog_delivery_guild(
    ngx_guildlog_delivery_t *d, const ngx_str_t *id);
static ngx_uint_t ngx_guildlog_delivery_busy(ngx_guildlog_lane_t *lane);
static ngx_uint_t ngx_guildlog_delivery_any_busy(ngx_guildlog_delivery_t *d,
    ngx_int_t shard);
static void ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d,
    const char *what, ngx_guildlog_result_t *result);


ngx_guildlog_delivery_t *
ngx_guildlog_delivery_create(ngx_cycle_t *cycle,
    const ngx_guildlog_delivery_conf_t *conf, ngx_guildlog_pool_t *pool,
    ngx_atomic_t *wake, ngx_resolver_t *resolver, ngx_msec_t resolver_timeout)
{
    ngx_uint_t                i;
    ngx_guildlog_delivery_t  *d;

    d = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_delivery_t));
    if (d == NULL) {
        return NULL;
    }

    d->fd = (ngx_socket_t) -1;
    d->conf = conf;
    d->pool = pool;
    d->log = cycle->log;
    d->wake = wake;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_SHARDS; i++) {
        d->fences[i] = -1;
    }

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        ngx_queue_init(&d->lanes[i]);
        ngx_queue_init(&d->guilds[i]);
    }

    ngx_queue_init(&d->stepping);
    ngx_queue_init(&d->servers);

    ngx_str_set(&d->dead, "{}");

    if (ngx_guildlog_pace_init(&d->pace, cycle->pool, conf->rate) != NGX_OK
        || ngx_guildlog_owner_self(cycle->pool, &conf->node, &d->me)
           != NGX_OK)
    {
        return NULL;
    }

    d->client = ngx_guildlog_client_create(cycle, &conf->platform, resolver,
                                           resolver_timeout,
                                           NGX_GUILDLOG_DELIVERY_IDLE);
    if (d->client == NULL) {
        return NULL;
    }

    d->lease_at = ngx_current_msec;
    d->find_at = ngx_current_msec;
    d->sweep_at = ngx_current_msec;
    d->release_at = ngx_current_msec;
    d->step_at = ngx_current_msec;

    /* not cancelable: a worker that exits gives its leases away first */

    d->tick.handler = ngx_guildlog_delivery_tick;
    d->tick.data = d;
    d->tick.log = cycle->log;

    ngx_add_timer(&d->tick, NGX_GUILDLOG_DELIVERY_TICK);

    return d;
}


void
ngx_guildlog_delivery_destroy(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t             i;
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild;

    if (d->tick.posted) {
        ngx_delete_posted_event(&d->tick);
    }

    if (d->tick.timer_set) {
        ngx_del_timer(&d->tick);
    }

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        if (d->steps[i].query) {
            ngx_guildlog_query_detach(d->steps[i].query);
        }
    }

    if (d->lease) {
        ngx_guildlog_query_detach(d->lease);
    }

    if (d->find) {
        ngx_guildlog_query_detach(d->find);
    }

    if (d->release) {
        ngx_guildlog_query_detach(d->release);
    }

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {

        while (!ngx_queue_empty(&d->lanes[i])) {
            q = ngx_queue_head(&d->lanes[i]);
            ngx_queue_remove(q);
            ngx_guildlog_lane_destroy(ngx_queue_data(q, ngx_guildlog_lane_t,
                                                     link));
        }

        while (!ngx_queue_empty(&d->guilds[i])) {
            q = ngx_queue_head(&d->guilds[i]);
            ngx_queue_remove(q);
            guild = ngx_queue_data(q, ngx_guildlog_guild_t, link);
            ngx_free(guild);
        }
    }

    ngx_guildlog_client_destroy(d->client);
}


static void
ngx_guildlog_delivery_tick(ngx_event_t *ev)
{
    ngx_guildlog_delivery_t *d = ev->data;

    if (d->left) {
        return;
    }

    if (d->lease == NULL && ngx_guildlog_delivery_due(d->lease_at)) {
        ngx_guildlog_delivery_lease(d);
    }

    if (!ngx_exiting && d->mine) {

        if (d->find == NULL
            && (*d->wake != d->woken || ngx_guildlog_delivery_due(d->find_at)))
        {
            ngx_guildlog_delivery_find(d);
        }

        if (d->release == NULL && ngx_guildlog_delivery_due(d->release_at)) {
            ngx_guildlog_delivery_let_go(d);
        }

        ngx_guildlog_delivery_turns(d);
    }

    ngx_guildlog_delivery_steps(d);

    ngx_add_timer(&d->tick, NGX_GUILDLOG_DELIVERY_TICK);
}


static ngx_uint_t
ngx_guildlog_delivery_due(ngx_msec_t at)
{
    return (ngx_msec_int_t) (ngx_current_msec - at) >= 0;
}


static void
ngx_guildlog_delivery_lease(ngx_guildlog_delivery_t *d)
{
    u_char     give[4 * NGX_GUILDLOG_DELIVERY_SHARDS];
    ngx_str_t  args[4];

    args[0] = d->me;
    args[1] = d->dead;
    args[2].data = give;
    args[2].len = ngx_guildlog_delivery_giveaway(d, give) - give;

    if (ngx_exiting) {
        ngx_str_set(&args[3], "true");

    } else {
        ngx_str_set(&args[3], "false");
    }

    d->lease_asked = ngx_current_msec;
    d->lease_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_HEARTBEAT;

    d->lease = ngx_guildlog_pool_submit(d->pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_lease],
                       args, ngx_guildlog_delivery_leased, d);

    if (d->lease == NULL && ngx_exiting) {
        d->left = 1;
    }
}


/* what is more than a fair share, or all, where nothing is under way */

static u_char *
ngx_guildlog_delivery_giveaway(ngx_guildlog_delivery_t *d, u_char *p)
{
    ngx_uint_t  i, more, given;

    more = ngx_exiting ? d->mine : d->mine - ngx_min(d->mine, d->share);
    given = 0;

    *p++ = '{';

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_SHARDS && given < more; i++) {

        if (d->fences[i] == -1
            || ngx_guildlog_delivery_any_busy(d, (ngx_int_t) i))
        {
            continue;
        }

        p = ngx_sprintf(p, given ? ",%ui" : "%ui", i);
        given++;
    }

    *p++ = '}';

    return p;
}


static void
ngx_guildlog_delivery_leased(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->lease = NULL;

    if (result->outcome != NGX_GUILDLOG_ROWS) {
        ngx_guildlog_delivery_refused(d, "leases", result);

        if (ngx_exiting && !ngx_guildlog_delivery_any_busy(d, -1)) {
            d->left = 1;
        }

        d->lease_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_HASTE;
        return;
    }

    d->lease_until = d->lease_asked + NGX_GUILDLOG_DELIVERY_LEASE;
    d->leased = 1;

    if (ngx_guildlog_delivery_hold(d, result)) {
        d->lease_at = ngx_current_msec;

    } else if (ngx_exiting || d->mine < d->share) {
        d->lease_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_HASTE;
    }

    if (ngx_exiting && d->mine == 0) {
        d->left = 1;
    }
}


/* 1: some owner is known to be dead */

static ngx_uint_t
ngx_guildlog_delivery_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_result_t *result)
{
    int64_t               fence;
    ngx_str_t             owner, *dead;
    ngx_uint_t            row, shard, gained, found, i;
    ngx_queue_t          *q, *next;
    ngx_guildlog_lane_t  *lane;

    static u_char         buf[512];
    static ngx_str_t      none = ngx_string("{}");

    d->mine = 0;
    gained = 0;
    found = 0;
    dead = &d->dead;
    *dead = none;

    for (row = 0; row < result->rows; row++) {
        shard = ngx_guildlog_lane_column(result, row, 0)
                % NGX_GUILDLOG_DELIVERY_SHARDS;
        owner = ngx_guildlog_result_value(result, row, 1);
        fence = -1;

        if (ngx_guildlog_lane_true(result, row, 3)) {
            fence = ngx_guildlog_lane_column(result, row, 2);
            d->mine++;

        } else if (owner.len && !found && owner.len < sizeof(buf) - 4
                   && ngx_guildlog_owner_dead(&d->conf->node, &owner))
        {
            dead->data = buf;
            dead->len = ngx_sprintf(buf, "{\"%V\"}", &owner) - buf;
            found = 1;
        }

        gained |= fence != d->fences[shard] && fence != -1;
        d->fences[shard] = fence;
        d->share = ngx_guildlog_lane_column(result, row, 4);
    }

    /* what belongs to a lease that is over */

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {

        for (q = ngx_queue_head(&d->lanes[i]);
             q != ngx_queue_sentinel(&d->lanes[i]);
             q = next)
        {
            next = ngx_queue_next(q);
            lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

            if (d->fences[lane->shard] != lane->fence) {
                ngx_guildlog_delivery_forget(lane);
            }
        }
    }

    if (gained) {
        d->find_at = ngx_current_msec;
        d->sweep_at = ngx_current_msec;
    }

    return found;
}


static void
ngx_guildlog_delivery_find(ngx_guildlog_delivery_t *d)
{
    ngx_str_t  args[2];

    d->woken = *d->wake;
    d->find_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_POLL;
    d->sweeps = ngx_guildlog_delivery_due(d->sweep_at);

    args[0] = d->me;

    if (d->sweeps) {
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_SWEEP;
        ngx_str_set(&args[1], "true");

    } else {
        ngx_str_set(&args[1], "false");
    }

    d->find = ngx_guildlog_pool_submit(d->pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_find],
                       args, ngx_guildlog_delivery_found, d);
}


static void
ngx_guildlog_delivery_found(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t  row;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_ROWS) {
        ngx_guildlog_delivery_refused(d, "lanes", result);

        if (d->sweeps) {
            d->sweep_at = ngx_current_msec;
        }

        d->find_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
        return;
    }

    if (ngx_exiting) {
        return;
    }

    for (row = 0; row < result->rows; row++) {
        ngx_guildlog_delivery_meet(d, result, row);
    }

    ngx_guildlog_delivery_steps(d);
}


static void
ngx_guildlog_delivery_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_result_t *result, ngx_uint_t row)
{
    ngx_str_t              guild, id, since;
    ngx_uint_t             shard;
    ngx_guildlog_lane_t   *lane;

    guild = ngx_guildlog_result_value(result, row, NGX_GUILDLOG_FACT_GUILD);
    id = ngx_guildlog_result_value(result, row, NGX_GUILDLOG_FACT_LANE);
    since = ngx_guildlog_result_value(result, row, NGX_GUILDLOG_FACT_SINCE);
    shard = ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_SHARD);

    if (d->fences[shard % NGX_GUILDLOG_DELIVERY_SHARDS]
        != ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_FENCE))
    {
        return;
    }

    lane = ngx_guildlog_delivery_lane(d, &guild, &id);

    if (lane) {

        /* it was called for again while it rests: its facts may be others */

        if (ngx_guildlog_delivery_busy(lane)
            || (lane->since.len == since.len
                && ngx_memcmp(lane->since.data, since.data, since.len) == 0))
        {
            return;
        }

        ngx_guildlog_delivery_forget(lane);
    }

    lane = ngx_guildlog_lane_create(d, result, row, d->log);
    if (lane == NULL) {
        return;
    }

    lane->server = ngx_guildlog_delivery_guild(d, &lane->guild);
    if (lane->server == NULL) {
        ngx_guildlog_lane_destroy(lane);
        return;
    }

    lane->server->lanes++;

    ngx_queue_insert_tail(&d->lanes[lane->key
                                    % NGX_GUILDLOG_DELIVERY_BUCKETS],
                          &lane->link);

    ngx_guildlog_lane_start(lane);
}


static void
ngx_guildlog_delivery_let_go(ngx_guildlog_delivery_t *d)
{
    d->release_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RELEASE;

    d->release = ngx_guildlog_pool_submit(d->pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_release],
                     NULL, ngx_guildlog_delivery_released, d);
}


static void
ngx_guildlog_delivery_released(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_str_t  n;

    d->release = NULL;

    if (result->outcome != NGX_GUILDLOG_ROWS) {
        ngx_guildlog_delivery_refused(d, "held entries", result);
        return;
    }

    n = ngx_guildlog_result_value(result, 0, 1);

    if (n.len != 1 || n.data[0] != '0') {
        d->find_at = ngx_current_msec;
    }
}


void
ngx_guildlog_delivery_step(ngx_guildlog_lane_t *lane)
{
    lane->stepping = 1;

    ngx_queue_insert_tail(&lane->delivery->stepping, &lane->queue);

    /* from the next turn of the event loop on, together with others */

    if (ngx_queue_next(ngx_queue_head(&lane->delivery->stepping))
        == ngx_queue_sentinel(&lane->delivery->stepping))
    {
        ngx_post_event(&lane->delivery->tick, &ngx_posted_next_events);
    }
}


static void
ngx_guildlog_delivery_steps(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t            i;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;
    ngx_guildlog_step_t  *step;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        step = &d->steps[i];

        if (step->query || ngx_queue_empty(&d->stepping)
            || !ngx_guildlog_delivery_due(d->step_at))
        {
            continue;
        }

        step->delivery = d;
        step->n = 0;

        while (step->n < NGX_GUILDLOG_DELIVERY_LANES
               && !ngx_queue_empty(&d->stepping))
        {
            q = ngx_queue_head(&d->stepping);
            ngx_queue_remove(q);

            lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
            lane->submitted = 1;
            step->lanes[step->n++] = lane;
        }

        if (ngx_guildlog_delivery_submit(d, step) == NGX_OK) {
            continue;
        }

        while (step->n) {
            lane = step->lanes[--step->n];
            lane->submitted = 0;
            ngx_queue_insert_head(&d->stepping, &lane->queue);
        }

        d->step_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }
}


static ngx_int_t
ngx_guildlog_delivery_submit(ngx_guildlog_delivery_t *d,
    ngx_guildlog_step_t *step)
{
    ngx_str_t             args[2];
    ngx_pool_t           *pool;
    ngx_uint_t            i;
    ngx_guildlog_json_t   w;

    pool = ngx_create_pool(16384, d->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    ngx_guildlog_json_init(&w, pool, 8192);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < step->n; i++) {
        ngx_guildlog_delivery_write(&w, step->lanes[i]);
    }

    ngx_guildlog_json_end(&w);

    args[0] = d->me;
    args[1].data = w.start;
    args[1].len = w.pos - w.start;

    step->query = w.failed ? NULL
        : ngx_guildlog_pool_submit(d->pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_step],
                       args, ngx_guildlog_delivery_stepped, step);

    ngx_destroy_pool(pool);

    return step->query ? NGX_OK : NGX_ERROR;
}


/* one of guildlog.delivery_work */

static void
ngx_guildlog_delivery_write(ngx_guildlog_json_t *w, ngx_guildlog_lane_t *lane)
{
    ngx_str_t                  reason;
    ngx_guildlog_lane_work_t  *work;

    work = &lane->work;

    ngx_guildlog_json_begin(w, '{');

    ngx_guildlog_json_key(w, "guild");
    ngx_guildlog_json_raw(w, &lane->guild);
    ngx_guildlog_json_key(w, "lane");
    ngx_guildlog_json_raw(w, &lane->id);
    ngx_guildlog_json_key(w, "shard");
    ngx_guildlog_json_number(w, lane->shard);
    ngx_guildlog_json_key(w, "fence");
    ngx_guildlog_json_number(w, lane->fence);
    ngx_guildlog_json_key(w, "step");
    ngx_guildlog_json_number(w, lane->step + work->changes);
    ngx_guildlog_json_key(w, "changes");
    ngx_guildlog_json_bool(w, work->changes);

    if (work->done_to) {
        ngx_guildlog_json_key(w, "done_to");
        ngx_guildlog_json_number(w, work->done_to);
        ngx_guildlog_json_key(w, "status");
        ngx_guildlog_json_number(w, work->status);
        ngx_guildlog_json_key(w, "attempts");
        ngx_guildlog_json_number(w, lane->attempts);
    }

    if (work->done_to && work->reason) {
        reason.data = (u_char *) work->reason;
        reason.len = ngx_strlen(work->reason);
        ngx_guildlog_json_key(w, "reason");
        ngx_guildlog_json_string(w, &reason);
    }

    if (work->done_to && work->status == NGX_GUILDLOG_LANE_DELIVERED) {
        ngx_guildlog_json_key(w, "message");
        ngx_guildlog_json_number(w, lane->last);
    }

    ngx_guildlog_json_key(w, "refused");
    ngx_guildlog_json_bool(w, work->refused);

    if (work->wait_ms) {
        ngx_guildlog_json_key(w, "wait_ms");
        ngx_guildlog_json_number(w, work->wait_ms);
    }

    if (work->begin_to) {
        ngx_guildlog_json_key(w, "begin_to");
        ngx_guildlog_json_number(w, work->begin_to);
    }

    if (work->peek >= 0) {
        ngx_guildlog_json_key(w, "peek");
        ngx_guildlog_json_number(w, work->peek);
        ngx_guildlog_json_key(w, "most");
        ngx_guildlog_json_number(w, NGX_GUILDLOG_LANE_ENTRIES - lane->n);
    }

    ngx_guildlog_json_end(w);
}


/*
 * Without an answer it may have been committed or not: the same again, which
 * changes nothing if it was.
 */

static void
ngx_guildlog_delivery_stepped(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_step_t *step = data;

    ngx_str_t                 value;
    ngx_uint_t                i, n;
    ngx_guildlog_lane_t      *lane;
    ngx_guildlog_delivery_t  *d;

    d = step->delivery;
    step->query = NULL;
    n = step->n;

    if (result->outcome == NGX_GUILDLOG_ROWS && result->rows >= n) {
        ngx_guildlog_delivery_entries(step, result);

    } else {
        ngx_guildlog_delivery_refused(d, "a step", result);
        d->step_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }

    for (i = 0; i < n; i++) {
        lane = step->lanes[i];
        lane->submitted = 0;

        if (lane->dropped) {
            lane->stepping = 0;
            ngx_guildlog_delivery_forget(lane);
            continue;
        }

        if (result->outcome != NGX_GUILDLOG_ROWS || result->rows < n) {
            ngx_queue_insert_tail(&d->stepping, &lane->queue);
            continue;
        }

        lane->stepping = 0;
        value = ngx_guildlog_result_value(result, i, NGX_GUILDLOG_ROW_RESULT);

        switch (value.len ? value.data[0] : 'l') {

        case 'o':
            ngx_guildlog_lane_stepped(lane, NGX_GUILDLOG_LANE_OK);
            break;

        case 'e':
            ngx_guildlog_lane_stepped(lane, NGX_GUILDLOG_LANE_EMPTY);
            break;

        case 'c':
            ngx_guildlog_lane_stepped(lane, NGX_GUILDLOG_LANE_CLOSING);
            break;

        default: /* lost */
            ngx_guildlog_delivery_forget(lane);
            d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
        }
    }

    ngx_guildlog_delivery_steps(d);
}


/* behind the results, in the order of places */

static void
ngx_guildlog_delivery_entries(ngx_guildlog_step_t *step,
    ngx_guildlog_result_t *result)
{
    ngx_uint_t            row, place;
    ngx_guildlog_lane_t  *lane;

    for (row = step->n; row < result->rows; row++) {
        place = ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_ROW_PLACE);

        if (place < 1 || place > step->n) {
            continue;
        }

        lane = step->lanes[place - 1];

        if (!lane->dropped
            && ngx_guildlog_lane_add(lane, result, row) != NGX_OK)
        {
            lane->dropped = 1;
        }
    }
}


void
ngx_guildlog_delivery_wait(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t     *guild;
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;
    guild = lane->server;

    lane->turn = NGX_GUILDLOG_TURN_WAITS;

    if (ngx_queue_empty(&guild->waiting)) {
        ngx_queue_insert_tail(&d->servers, &guild->queue);
    }

    ngx_queue_insert_tail(&guild->waiting, &lane->queue);

    ngx_post_event(&d->tick, &ngx_posted_next_events);
}


/* the servers take turns; each may have so many at once */

static void
ngx_guildlog_delivery_turns(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t             skipped;
    ngx_queue_t           *q, *server;
    ngx_guildlog_lane_t   *lane;
    ngx_guildlog_guild_t  *guild;

    if (!ngx_guildlog_delivery_safe(d)) {
        return;
    }

    skipped = 0;

    while (!ngx_queue_empty(&d->servers)) {
        server = ngx_queue_head(&d->servers);
        guild = ngx_queue_data(server, ngx_guildlog_guild_t, queue);

        ngx_queue_remove(server);

        if (guild->sending >= NGX_GUILDLOG_DELIVERY_SERVER) {
            ngx_queue_insert_tail(&d->servers, server);

            if (++skipped > d->pace.granted + d->pace.open) {
                return;
            }

            continue;
        }

        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);

        if (!ngx_guildlog_delivery_grant(lane)) {
            ngx_queue_insert_head(&d->servers, server);
            return;
        }

        ngx_queue_remove(q);

        if (!ngx_queue_empty(&guild->waiting)) {
            ngx_queue_insert_tail(&d->servers, server);
        }

        lane->next(lane);
    }
}


static ngx_uint_t
ngx_guildlog_delivery_grant(ngx_guildlog_lane_t *lane)
{
    if (!ngx_guildlog_pace_take(&lane->delivery->pace, ngx_current_msec)) {
        return 0;
    }

    lane->turn = NGX_GUILDLOG_TURN_GRANTED;
    lane->server->sending++;

    return 1;
}


/* without waiting: only if nobody else does */

ngx_uint_t
ngx_guildlog_delivery_take(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    return !ngx_exiting
           && ngx_queue_empty(&d->servers)
           && lane->server->sending < NGX_GUILDLOG_DELIVERY_SERVER
           && ngx_guildlog_delivery_safe(d)
           && ngx_guildlog_delivery_grant(lane);
}


void
ngx_guildlog_delivery_give_back(ngx_guildlog_lane_t *lane)
{
    if (lane->turn == NGX_GUILDLOG_TURN_GRANTED) {
        ngx_guildlog_pace_cancelled(&lane->delivery->pace);
        lane->server->sending--;
    }

    lane->turn = NGX_GUILDLOG_TURN_NONE;
}


/* would a request be answered before the leases end? */

ngx_uint_t
ngx_guildlog_delivery_safe(ngx_guildlog_delivery_t *d)
{
    return d->leased
           && (ngx_msec_int_t) (d->lease_until - ngx_current_msec)
              >= NGX_GUILDLOG_DELIVERY_DEADLINE + NGX_GUILDLOG_DELIVERY_SPARE;
}


ngx_int_t
ngx_guildlog_delivery_send(ngx_guildlog_lane_t *lane, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *body, ngx_guildlog_exchange_handler_pt handler)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    /* a process that was stopped for a while does not know it yet */

    ngx_time_update();

    if (ngx_guildlog_delivery_safe(d)) {
        lane->exchange = ngx_guildlog_client_send(d->client, method, path,
                                        authorization, body,
                                        NGX_GUILDLOG_DELIVERY_DEADLINE,
                                        handler, lane);
    }

    if (lane->exchange == NULL) {
        ngx_guildlog_delivery_give_back(lane);
        return NGX_DECLINED;
    }

    lane->turn = NGX_GUILDLOG_TURN_SENT;

    ngx_guildlog_pace_sent(&d->pace, ngx_current_msec);

    return NGX_OK;
}


void
ngx_guildlog_delivery_answered(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_delivery_note_t *note)
{
    ngx_uint_t                before;
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    lane->turn = NGX_GUILDLOG_TURN_NONE;
    lane->server->sending--;

    before = d->pace.failures;

    ngx_guildlog_pace_answered(&d->pace, ngx_current_msec, note->failed,
                               note->invalid);

    if (note->pause_ms) {
        ngx_log_error(NGX_LOG_WARN, d->log, 0,
                      "the platform wants this address to pause for %M ms",
                      note->pause_ms);
        ngx_guildlog_pace_pause(&d->pace, ngx_current_msec, note->pause_ms);
    }

    if (before && !note->failed) {
        ngx_log_error(NGX_LOG_NOTICE, d->log, 0, "the platform is there");
    }
}


void
ngx_guildlog_delivery_turn(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_str_t                 all[8];
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    all[0] = d->me;
    ngx_memcpy(&all[1], args, nargs * sizeof(ngx_str_t));

    lane->query = ngx_guildlog_pool_submit(d->pool,
                                           &ngx_guildlog_stmts[stmt], all,
                                           ngx_guildlog_delivery_turned,
                                           lane);

    if (lane->query == NULL) {
        ngx_guildlog_delivery_forget(lane);
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }
}


static void
ngx_guildlog_delivery_turned(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;
    lane->query = NULL;

    ngx_guildlog_delivery_forget(lane);

    if (result->outcome == NGX_GUILDLOG_ROWS) {
        d->find_at = ngx_current_msec;
        return;
    }

    ngx_guildlog_delivery_refused(d, "a lane", result);

    d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    d->find_at = d->sweep_at;
}


void
ngx_guildlog_delivery_forget(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t     *guild;
    ngx_guildlog_delivery_t  *d;

    /* its step has a pointer to it */

    if (lane->submitted) {
        lane->dropped = 1;
        return;
    }

    d = lane->delivery;
    guild = lane->server;

    switch (lane->turn) {

    case NGX_GUILDLOG_TURN_WAITS:
        ngx_queue_remove(&lane->queue);

        if (ngx_queue_empty(&guild->waiting)) {
            ngx_queue_remove(&guild->queue);
        }

        break;

    case NGX_GUILDLOG_TURN_SENT:
        ngx_guildlog_pace_answered(&d->pace, ngx_current_msec, 0, 0);
        guild->sending--;
        break;

    default:
        ngx_guildlog_delivery_give_back(lane);
    }

    if (lane->stepping) {
        ngx_queue_remove(&lane->queue);
    }

    ngx_queue_remove(&lane->link);
    ngx_guildlog_lane_destroy(lane);

    if (--guild->lanes == 0) {
        ngx_queue_remove(&guild->link);
        ngx_free(guild);
    }
}


static ngx_guildlog_lane_t *
ngx_guildlog_delivery_lane(ngx_guildlog_delivery_t *d, const ngx_str_t *guild,
    const ngx_str_t *id)
{
    uint64_t              key;
    ngx_queue_t          *q, *bucket;
    ngx_guildlog_lane_t  *lane;

    key = ngx_guildlog_lane_number(id);
    bucket = &d->lanes[key % NGX_GUILDLOG_DELIVERY_BUCKETS];

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

        if (lane->key == key && lane->guild.len == guild->len
            && ngx_memcmp(lane->guild.data, guild->data, guild->len) == 0)
        {
            return lane;
        }
    }

    return NULL;
}


static ngx_guildlog_guild_t *
ngx_guildlog_delivery_guild(ngx_guildlog_delivery_t *d, const ngx_str_t *id)
{
    ngx_queue_t           *q, *bucket;
    ngx_guildlog_guild_t  *guild;

    bucket = &d->guilds[ngx_guildlog_lane_number(id)
                        % NGX_GUILDLOG_DELIVERY_BUCKETS];

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, link);

        if (guild->id.len == id->len
            && ngx_memcmp(guild->id.data, id->data, id->len) == 0)
        {
            return guild;
        }
    }

    guild = ngx_calloc(sizeof(ngx_guildlog_guild_t) + id->len, d->log);
    if (guild == NULL) {
        return NULL;
    }

    guild->id.data = (u_char *) guild + sizeof(ngx_guildlog_guild_t);
    guild->id.len = id->len;
    ngx_memcpy(guild->id.data, id->data, id->len);

    ngx_queue_init(&guild->waiting);
    ngx_queue_insert_tail(bucket, &guild->link);

    return guild;
}


/* something of it is on its way */

static ngx_uint_t
ngx_guildlog_delivery_busy(ngx_guildlog_lane_t *lane)
{
    return lane->stepping || lane->query || lane->exchange
           || lane->turn == NGX_GUILDLOG_TURN_GRANTED;
}


/* shard -1: any */

static ngx_uint_t
ngx_guildlog_delivery_any_busy(ngx_guildlog_delivery_t *d, ngx_int_t shard)
{
    ngx_uint_t            i;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {

        for (q = ngx_queue_head(&d->lanes[i]);
             q != ngx_queue_sentinel(&d->lanes[i]);
             q = ngx_queue_next(q))
        {
            lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

            if ((shard == -1 || lane->shard == (ngx_uint_t) shard)
                && ngx_guildlog_delivery_busy(lane))
            {
                return 1;
            }
        }
    }

    return 0;
}


const ngx_guildlog_delivery_conf_t *
ngx_guildlog_delivery_conf(ngx_guildlog_delivery_t *d)
{
    return d->conf;
}


static void
ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d, const char *what,
    ngx_guildlog_result_t *result)
{
    if (result->outcome == NGX_GUILDLOG_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, d->log, 0,
                      "the delivery of %s failed, SQLSTATE %s: %V", what,
                      result->sqlstate, &result->message);
    }
}
