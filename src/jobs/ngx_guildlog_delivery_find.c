
/*
 * Finds lanes that have something to do: those called for since the last find,
 * and now and then, in a sweep, all of them.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define DELIVERY_FIND_POLL     200       /* ms */
#define DELIVERY_FIND_SWEEP    30000     /* ms */
#define DELIVERY_FIND_RESWEEP  5000      /* ms, after one failed */


static void delivery_find_place(ngx_guildlog_delivery_t *d, ngx_str_t *args,
    u_char *numbers);
static void delivery_find_done(void *data, ngx_guildlog_db_result_t *result);
static void delivery_find_page(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static ngx_uint_t delivery_find_halve(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void delivery_find_parked(void *data, ngx_guildlog_db_result_t *result);
static void delivery_find_again(ngx_guildlog_delivery_t *d);


/* page by page; further lanes stay in the database while many are at hand */

void
ngx_guildlog_delivery_find(ngx_guildlog_delivery_t *d)
{
    u_char     numbers[2 * NGX_INT64_LEN], page[NGX_INT_T_LEN];
    ngx_str_t  args[5];

    if (d->after_lane == 0 && !d->halved) {
        d->woken = d->env.stats->shared->changes;
        d->find_at = ngx_current_msec + DELIVERY_FIND_POLL;
        d->sweeps = ngx_guildlog_delivery_due(d->sweep_at);
        d->missed = 0;
        d->next_mark.len = 0;

        if (d->sweeps) {
            d->sweep_at = ngx_current_msec + DELIVERY_FIND_SWEEP;
        }
    }

    delivery_find_place(d, args, numbers);

    d->nended = 0;

    args[4].data = page;
    args[4].len = ngx_sprintf(page, "%ui", d->page) - page;

    d->find = ngx_guildlog_db_pool_submit(d->env.pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_find],
                       args, delivery_find_done, d);

    if (d->find == NULL) {
        delivery_find_again(d);
    }
}


/* sets the first four arguments: the page behind the last lane found;
   numbers: room for two */

static void
delivery_find_place(ngx_guildlog_delivery_t *d, ngx_str_t *args,
    u_char *numbers)
{
    args[0] = d->env.me;

    if (d->sweeps || d->mark.len == 0) {
        ngx_str_null(&args[1]);

    } else {
        args[1].data = d->mark.data;
        args[1].len = d->mark.len;
    }

    args[2].data = numbers;
    args[2].len = ngx_sprintf(numbers, "%L", d->after_guild) - numbers;
    args[3].data = numbers + NGX_INT64_LEN;
    args[3].len = ngx_sprintf(args[3].data, "%L", d->after_lane) - args[3].data;
}


static void
delivery_find_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {

        if (!delivery_find_halve(d, result)) {
            ngx_guildlog_delivery_park_log(&d->env, "lanes", result);
            delivery_find_again(d);
        }

        return;
    }

    delivery_find_page(d, result);

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog delivery: found %ui rows, %ui lanes at hand",
                   result->rows, d->nlanes);

    d->halved = 0;
    d->page = ngx_min(2 * d->page, NGX_GUILDLOG_DELIVERY_PAGE);

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


/* 1: finds the same again with a smaller page, or without the lane to blame */

static ngx_uint_t
delivery_find_halve(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[5];

    if (ngx_exiting || !ngx_guildlog_delivery_park_blames(result)) {
        return 0;
    }

    d->halved = 1;

    if (d->page > 1) {
        d->page /= 2;
        ngx_guildlog_delivery_queue_post(d);
        return 1;
    }

    /* a page of one lane: the statement parks it, and tells which one it was */

    delivery_find_place(d, args, numbers);
    ngx_guildlog_delivery_park_cause(result, &args[4]);

    d->find = ngx_guildlog_db_pool_submit(d->env.pool,
                   &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_park_next],
                   args, delivery_find_parked, d);

    if (d->find == NULL) {
        delivery_find_again(d);
    }

    return 1;
}


static void
delivery_find_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "a lane to be parked", result);
        delivery_find_again(d);
        return;
    }

    if (!ngx_guildlog_delivery_park_done(&d->env, result)) {
        delivery_find_again(d);
    }
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

    d->halved = 0;
    d->page = NGX_GUILDLOG_DELIVERY_PAGE;
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

        if (state.len && !ngx_exiting) {
            ngx_guildlog_delivery_lanes_meet(d, result, row);
        }
    }

    if (lanes < d->page) {
        guild = 0;
        lane = 0;
    }

    d->after_guild = guild;
    d->after_lane = lane;
}
