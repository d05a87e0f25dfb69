
/*
 * The loop, to be read top-down: leases, what there is to do, turns, steps.
 * What a lane does with them is its own business.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "jobs/ngx_guildlog_owner.h"


#define NGX_GUILDLOG_DELIVERY_TICK       20      /* ms */
#define NGX_GUILDLOG_DELIVERY_POLL       200     /* ms */
#define NGX_GUILDLOG_DELIVERY_RELEASE    500     /* ms */
#define NGX_GUILDLOG_DELIVERY_MOMENT     500     /* us */
#define NGX_GUILDLOG_DELIVERY_REST       1       /* ms */
#define NGX_GUILDLOG_DELIVERY_SWEEP      30000   /* ms */
#define NGX_GUILDLOG_DELIVERY_RESWEEP    5000    /* ms, after one failed */
#define NGX_GUILDLOG_DELIVERY_LEAVE      5000    /* ms, without a master */
#define NGX_GUILDLOG_DELIVERY_PAGE       1000    /* lanes found at a time */
#define NGX_GUILDLOG_DELIVERY_MOST       8192    /* lanes at hand */
#define NGX_GUILDLOG_DELIVERY_IDLE       64      /* connections kept */


static void ngx_guildlog_delivery_tick(ngx_event_t *ev);
static void ngx_guildlog_delivery_go(ngx_event_t *ev);
static void ngx_guildlog_delivery_go_one(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_find(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_found(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_place(ngx_guildlog_delivery_t *d,
    ngx_str_t *args, u_char *numbers);
static ngx_uint_t ngx_guildlog_delivery_halve(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_page(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_let_go(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_released(void *data,
    ngx_guildlog_db_result_t *result);


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
    d->conf = conf;
    d->pool = pool;
    d->log = cycle->log;
    d->stats = stats;

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
    ngx_queue_init(&d->servers);
    ngx_queue_init(&d->refused);

    ngx_str_set(&d->dead, "{}");

    if (ngx_guildlog_pace_init(&d->pace, &stats->shared->pace,
                               &conf->platform.text, cycle->pool, conf->rate)
        != NGX_OK
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

    /* what was called for at any time, until a find says how far it looked */

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
    d->figures_at = ngx_current_msec;

    /* from now on there should be figures */

    ngx_guildlog_stats_set(stats, NGX_GUILDLOG_GAUGE_TOLD, ngx_time());

    /* not cancelable: a worker that exits gives its leases away first */

    d->tick.handler = ngx_guildlog_delivery_tick;
    d->tick.data = d;
    d->tick.log = cycle->log;

    ngx_add_timer(&d->tick, NGX_GUILDLOG_DELIVERY_TICK);

    d->go.handler = ngx_guildlog_delivery_go;
    d->go.data = d;
    d->go.log = cycle->log;

    return d;
}


void
ngx_guildlog_delivery_leave(ngx_guildlog_delivery_t *d, ngx_cycle_t *cycle)
{
    ngx_msec_t  end;

    end = ngx_current_msec + NGX_GUILDLOG_DELIVERY_LEAVE;
    ngx_exiting = 1;

    while (!d->left && !ngx_terminate && !ngx_guildlog_delivery_due(end)) {
        ngx_process_events_and_timers(cycle);
    }
}


void
ngx_guildlog_delivery_destroy(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  i;

    if (d->tick.posted) {
        ngx_delete_posted_event(&d->tick);
    }

    if (d->tick.timer_set) {
        ngx_del_timer(&d->tick);
    }

    if (d->go.posted) {
        ngx_delete_posted_event(&d->go);
    }

    if (d->go.timer_set) {
        ngx_del_timer(&d->go);
    }

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        if (d->steps[i].query) {
            ngx_guildlog_db_pool_detach(d->steps[i].query);
        }
    }

    if (d->lease) {
        ngx_guildlog_db_pool_detach(d->lease);
    }

    if (d->find) {
        ngx_guildlog_db_pool_detach(d->find);
    }

    if (d->release) {
        ngx_guildlog_db_pool_detach(d->release);
    }

    if (d->doubt) {
        ngx_guildlog_db_pool_detach(d->doubt);
    }

    if (d->figures) {
        ngx_guildlog_db_pool_detach(d->figures);
    }

    if (d->tell) {
        ngx_guildlog_db_pool_detach(d->tell);
    }

    ngx_guildlog_delivery_forget_all(d);
    ngx_guildlog_client_destroy(d->client);
}


static void
ngx_guildlog_delivery_tick(ngx_event_t *ev)
{
    ngx_guildlog_delivery_t *d = ev->data;

    if (d->left) {
        ngx_guildlog_delivery_figures(d);
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
        ngx_guildlog_delivery_lend(d);
    }

    if (!ngx_exiting && d->mine) {

        if (d->find == NULL && d->nlanes < NGX_GUILDLOG_DELIVERY_MOST
            && (d->after_lane || d->halved
                || d->stats->shared->changes != d->woken
                || ngx_guildlog_delivery_due(d->find_at)))
        {
            ngx_guildlog_delivery_find(d);
        }

        if (d->release == NULL && ngx_guildlog_delivery_due(d->release_at)) {
            ngx_guildlog_delivery_let_go(d);
        }

        ngx_guildlog_delivery_doubts(d);
        ngx_guildlog_delivery_turns(d);
    }

    ngx_guildlog_delivery_tell(d);
    ngx_guildlog_delivery_go_again(d);
    ngx_guildlog_delivery_steps(d);
    ngx_guildlog_delivery_figures(d);

    ngx_add_timer(&d->tick, NGX_GUILDLOG_DELIVERY_TICK);
}


ngx_uint_t
ngx_guildlog_delivery_due(ngx_msec_t at)
{
    return (ngx_msec_int_t) (ngx_current_msec - at) >= 0;
}


void
ngx_guildlog_delivery_go_on(ngx_guildlog_lane_t *lane)
{
    lane->goes_on = 1;

    ngx_queue_insert_tail(&lane->delivery->going, &lane->queue);
    ngx_guildlog_delivery_go_again(lane->delivery);
}


/*
 * For a moment; then requests come first.  Beside them it is one lane at a
 * time, not while the database takes a step, and once a millisecond while a
 * request of this worker waits for the database.
 */

static void
ngx_guildlog_delivery_go(ngx_event_t *ev)
{
    ngx_guildlog_delivery_t *d = ev->data;

    uint64_t     end;
    ngx_uint_t   beside, rested;

    rested = ev->timedout;
    ev->timedout = 0;

    beside = ngx_guildlog_delivery_beside(d);

    if (beside && ngx_guildlog_delivery_stepping(d)) {
        return;
    }

    if (beside && !rested && ngx_guildlog_db_pool_requests_running(d->pool)) {
        ngx_add_timer(ev, NGX_GUILDLOG_DELIVERY_REST);
        return;
    }

    end = ngx_guildlog_now_us() + NGX_GUILDLOG_DELIVERY_MOMENT;

    while (!ngx_queue_empty(&d->going)) {
        ngx_guildlog_delivery_go_one(d);

        if (beside || ngx_guildlog_now_us() >= end) {
            break;
        }
    }

    ngx_guildlog_delivery_go_again(d);
    ngx_guildlog_delivery_steps(d);
}


static void
ngx_guildlog_delivery_go_one(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    q = ngx_queue_head(&d->going);
    ngx_queue_remove(q);

    lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
    lane->goes_on = 0;
    lane->next(lane);
}


void
ngx_guildlog_delivery_go_again(ngx_guildlog_delivery_t *d)
{
    if (!ngx_queue_empty(&d->going) && !d->go.timer_set) {
        ngx_post_event(&d->go, &ngx_posted_next_events);
    }
}


/* page by page; the others wait where they are while there are many at hand */

static void
ngx_guildlog_delivery_find(ngx_guildlog_delivery_t *d)
{
    u_char     numbers[2 * NGX_INT64_LEN], page[NGX_INT_T_LEN];
    ngx_str_t  args[5];

    if (d->after_lane == 0 && !d->halved) {
        d->woken = d->stats->shared->changes;
        d->find_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_POLL;
        d->sweeps = ngx_guildlog_delivery_due(d->sweep_at);
        d->missed = 0;
        d->next_mark.len = 0;

        if (d->sweeps) {
            d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_SWEEP;
        }
    }

    ngx_guildlog_delivery_place(d, args, numbers);

    args[4].data = page;
    args[4].len = ngx_sprintf(page, "%ui", d->page) - page;

    d->find = ngx_guildlog_db_pool_submit(d->pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_find],
                       args, ngx_guildlog_delivery_found, d);

    if (d->find == NULL) {
        ngx_guildlog_delivery_find_again(d);
    }
}


/* where finding is: the first four arguments; numbers: room for two */

static void
ngx_guildlog_delivery_place(ngx_guildlog_delivery_t *d, ngx_str_t *args,
    u_char *numbers)
{
    args[0] = d->me;

    if (d->sweeps || d->mark.len == 0) {
        ngx_str_null(&args[1]);

    } else {
        args[1].data = d->mark.data;
        args[1].len = d->mark.len;
    }

    args[2].data = numbers;
    args[2].len = ngx_sprintf(numbers, "%L", d->after_guild) - numbers;
    args[3].data = numbers + NGX_INT64_LEN;
    args[3].len = ngx_sprintf(args[3].data, "%L", d->after_lane)
                  - args[3].data;
}


static void
ngx_guildlog_delivery_found(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {

        if (!ngx_guildlog_delivery_halve(d, result)) {
            ngx_guildlog_delivery_refused(d, "lanes", result);
            ngx_guildlog_delivery_find_again(d);
        }

        return;
    }

    ngx_guildlog_delivery_page(d, result);

    d->halved = 0;
    d->page = ngx_min(2 * d->page, NGX_GUILDLOG_DELIVERY_PAGE);

    if (ngx_exiting) {
        return;
    }

    if (d->after_lane) {
        ngx_post_event(&d->tick, &ngx_posted_next_events);

    } else if (!d->missed) {
        d->mark = d->next_mark;
    }

    ngx_guildlog_delivery_steps(d);
}


/* 1: the same again, with less at a time, or without the lane to blame */

static ngx_uint_t
ngx_guildlog_delivery_halve(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[5];

    if (ngx_exiting || !ngx_guildlog_delivery_to_blame(result)) {
        return 0;
    }

    d->halved = 1;

    if (d->page > 1) {
        d->page /= 2;
        ngx_post_event(&d->tick, &ngx_posted_next_events);
        return 1;
    }

    ngx_guildlog_delivery_place(d, args, numbers);
    ngx_guildlog_delivery_park_found(d, args, result);

    return 1;
}


/*
 * From the beginning.  A sweep has more to do than to find, and what it fails
 * of it may fail of again: what is called for is found before the next one.
 */

void
ngx_guildlog_delivery_find_again(ngx_guildlog_delivery_t *d)
{
    if (d->sweeps) {
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RESWEEP;
    }

    d->halved = 0;
    d->page = NGX_GUILDLOG_DELIVERY_PAGE;
    d->after_guild = 0;
    d->after_lane = 0;
    d->find_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
}


/*
 * The mark, decisions, which have no lane either, and lanes; the last one, if
 * there are more.
 */

static void
ngx_guildlog_delivery_page(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    int64_t     guild, lane;
    ngx_str_t   state;
    ngx_uint_t  row, n;

    guild = 0;
    lane = 0;
    n = 0;

    state = ngx_guildlog_db_result_value(result, 0, NGX_GUILDLOG_FACT_STATE);

    if (d->after_lane == 0 && state.len <= NGX_GUILDLOG_DELIVERY_MARK) {
        d->next_mark.len = state.len;
        ngx_memcpy(d->next_mark.data, state.data, state.len);
    }

    for (row = 1; row < result->rows; row++) {
        state = ngx_guildlog_db_result_value(result, row,
                                             NGX_GUILDLOG_FACT_STATE);
        lane = ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_LANE);

        if (lane == 0) {
            ngx_guildlog_traffic_entries(ngx_guildlog_delivery_traffic(d),
                                         &state,
                                         ngx_guildlog_lane_column(result, row,
                                                     NGX_GUILDLOG_FACT_HEAD));
            continue;
        }

        guild = ngx_guildlog_lane_column(result, row,
                                         NGX_GUILDLOG_FACT_GUILD);
        n++;

        if (state.len && !ngx_exiting) {
            ngx_guildlog_delivery_meet(d, result, row);
        }
    }

    if (n < d->page) {
        guild = 0;
        lane = 0;
    }

    d->after_guild = guild;
    d->after_lane = lane;
}


static void
ngx_guildlog_delivery_let_go(ngx_guildlog_delivery_t *d)
{
    d->release_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RELEASE;

    d->release = ngx_guildlog_db_pool_submit(d->pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_release],
                     NULL, ngx_guildlog_delivery_released, d);
}


static void
ngx_guildlog_delivery_released(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_str_t  n;

    d->release = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_refused(d, "held entries", result);
        return;
    }

    n = ngx_guildlog_db_result_value(result, 0, 1);

    if (n.len != 1 || n.data[0] != '0') {
        d->find_at = ngx_current_msec;
    }
}


const ngx_guildlog_delivery_conf_t *
ngx_guildlog_delivery_conf(ngx_guildlog_delivery_t *d)
{
    return d->conf;
}


const ngx_str_t *
ngx_guildlog_delivery_application(ngx_guildlog_delivery_t *d, ngx_uint_t bot)
{
    return &d->applications[bot];
}


void
ngx_guildlog_delivery_named(ngx_guildlog_delivery_t *d, ngx_uint_t bot,
    const ngx_str_t *application)
{
    ngx_str_t  *known;

    known = &d->applications[bot];

    if (application->len == 0
        || application->len > sizeof(d->application_ids[bot]))
    {
        return;
    }

    known->data = d->application_ids[bot];
    known->len = application->len;

    ngx_memcpy(known->data, application->data, application->len);
}


ngx_guildlog_traffic_t *
ngx_guildlog_delivery_traffic(ngx_guildlog_delivery_t *d)
{
    return &d->stats->shared->traffic;
}


void
ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d, const char *what,
    ngx_guildlog_db_result_t *result)
{
    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, d->log, 0,
                      "the delivery of %s failed, SQLSTATE %s: %V", what,
                      result->sqlstate, &result->message);
    }
}
