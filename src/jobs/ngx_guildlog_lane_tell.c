
/*
 * What a lane tells the database, apart from its steps: that it goes on, or
 * what becomes of it as a whole.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


static void lane_tell_submit(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, ngx_guildlog_lane_args_t *args,
    ngx_guildlog_db_handler_pt handler);
static void lane_tell_done(void *data, ngx_guildlog_db_result_t *result);
static void lane_tell_waiting(void *data, ngx_guildlog_db_result_t *result);
static void lane_tell_ended(void *data, ngx_guildlog_db_result_t *result);
static void lane_tell_parked(void *data, ngx_guildlog_db_result_t *result);


void
ngx_guildlog_lane_tell_args(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_args_t *args)
{
    args->value[0] = lane->env->me;
    args->value[1] = lane->guild;
    args->value[2] = lane->id;

    ngx_guildlog_lane_tell_number(args, 3, lane->fence);
    ngx_guildlog_lane_tell_number(args, 4, lane->step);
}


void
ngx_guildlog_lane_tell_number(ngx_guildlog_lane_args_t *args, ngx_uint_t i,
    int64_t n)
{
    args->value[i].data = args->numbers[i];
    args->value[i].len = ngx_sprintf(args->numbers[i], "%L", n)
                         - args->numbers[i];
}


void
ngx_guildlog_lane_tell(ngx_guildlog_lane_t *lane, ngx_guildlog_stmt_e stmt,
    ngx_guildlog_lane_args_t *args, ngx_guildlog_lane_state_e next)
{
    lane->state = next;

    lane_tell_submit(lane, stmt, args, lane_tell_done);
}


static void
lane_tell_submit(ngx_guildlog_lane_t *lane, ngx_guildlog_stmt_e stmt,
    ngx_guildlog_lane_args_t *args, ngx_guildlog_db_handler_pt handler)
{
    lane->query = ngx_guildlog_db_pool_submit(lane->env->pool,
                                              &ngx_guildlog_stmts[stmt],
                                              args->value, handler, lane);

    if (lane->query == NULL) {
        ngx_guildlog_delivery_queue_find(lane, NGX_GUILDLOG_DELIVERY_RETRY, 1);
        ngx_guildlog_delivery_queue_forget(lane);
    }
}


static void
lane_tell_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_str_t  status;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        lane_tell_ended(lane, result);
        return;
    }

    status = ngx_guildlog_db_result_value(result, 0, 0);

    lane->query = NULL;
    lane->denied = status.len == 0 || status.data[0] != '2';

    ngx_guildlog_delivery_queue_go_on(lane, lane->state);
}


/*
 * The time is stored, for an entry that is recorded meanwhile calls for the
 * lane, and another worker may have it by then.
 */

void
ngx_guildlog_lane_tell_limited(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_guildlog_lane_state_e next)
{
    ngx_guildlog_lane_args_t  args;

    lane->waits = 1;
    lane->not_before = ngx_current_msec + ms;
    lane->state = next;

    ngx_guildlog_lane_tell_args(lane, &args);
    ngx_guildlog_lane_tell_number(&args, 5, ms);

    lane_tell_submit(lane, ngx_guildlog_stmt_delivery_limited,
                     &args, lane_tell_waiting);
}


static void
lane_tell_waiting(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_msec_int_t  wait;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        lane_tell_ended(lane, result);
        return;
    }

    lane->query = NULL;

    wait = (ngx_msec_int_t) (lane->not_before - ngx_current_msec);

    ngx_guildlog_delivery_queue_sleep(lane, ngx_max(wait, 0), lane->state);
}


void
ngx_guildlog_lane_tell_end(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, ngx_guildlog_lane_args_t *args)
{
    lane_tell_submit(lane, stmt, args, lane_tell_ended);
}


static void
lane_tell_ended(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    lane->query = NULL;

    if (!lane->lone && ngx_guildlog_delivery_park_blames(result)) {
        ngx_guildlog_lane_tell_park(lane, result);
        return;
    }

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_queue_find(lane, 0, 0);
        ngx_guildlog_delivery_queue_forget(lane);
        return;
    }

    /* GL409: it is another worker's, or was found before a commit */

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED
        || ngx_strcmp(result->sqlstate, "GL409") != 0)
    {
        ngx_guildlog_delivery_park_log(lane->env, "a lane", result);
    }

    ngx_guildlog_delivery_queue_find(lane, NGX_GUILDLOG_DELIVERY_RETRY, 1);
    ngx_guildlog_delivery_queue_forget(lane);
}


void
ngx_guildlog_lane_tell_closed(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_tell_args(lane, &args);

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_closed, &args);
}


void
ngx_guildlog_lane_tell_lost(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_args_t  args;

    ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                  "lane %V of server %V: webhook %V is gone",
                  &lane->id, &lane->guild, &lane->webhook);

    ngx_guildlog_lane_tell_args(lane, &args);

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_lost, &args);
}


void
ngx_guildlog_lane_tell_foreign(ngx_guildlog_lane_t *lane)
{
    ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                  "lane %V of server %V: channel %V belongs to another server",
                  &lane->id, &lane->guild, &lane->channel);

    ngx_guildlog_lane_tell_broken(lane, "foreign_channel");
}


void
ngx_guildlog_lane_tell_broken(ngx_guildlog_lane_t *lane, const char *reason)
{
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_tell_args(lane, &args);

    args.value[5].data = (u_char *) reason;
    args.value[5].len = ngx_strlen(reason);

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_broken, &args);
}


void
ngx_guildlog_lane_tell_waits(ngx_guildlog_lane_t *lane, const char *reason,
    const char *final, ngx_msec_t ms)
{
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_tell_args(lane, &args);

    args.value[5].data = (u_char *) reason;
    args.value[5].len = ngx_strlen(reason);
    args.value[6].data = (u_char *) final;
    args.value[6].len = final ? ngx_strlen(final) : 0;

    ngx_guildlog_lane_tell_number(&args, 7, ms);

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_waits, &args);
}


void
ngx_guildlog_lane_tell_park(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_delivery_queue_give_back(lane);
    ngx_guildlog_delivery_queue_settle(lane);
    ngx_guildlog_lane_memory_empty(lane);

    ngx_guildlog_lane_tell_args(lane, &args);
    ngx_guildlog_delivery_park_cause(result, &args.value[3]);

    lane_tell_submit(lane, ngx_guildlog_stmt_delivery_park,
                     &args, lane_tell_parked);
}


/*
 * If the database refuses even that because of the lane, the lane stays at
 * hand, and rests.  If the database could not be asked, the lane is found again
 * soon, and fails again.
 */

static void
lane_tell_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    lane->query = NULL;

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        (void) ngx_guildlog_delivery_park_done(lane->env, result);
        ngx_guildlog_delivery_queue_forget(lane);
        return;
    }

    ngx_guildlog_delivery_park_log(lane->env, "a lane to be parked", result);

    if (ngx_guildlog_delivery_park_blames(result)) {
        ngx_guildlog_delivery_queue_sleep(lane, NGX_GUILDLOG_LANE_PARK,
                                          NGX_GUILDLOG_STATE_FORGET);
        return;
    }

    ngx_guildlog_delivery_queue_find(lane, NGX_GUILDLOG_DELIVERY_RETRY, 1);
    ngx_guildlog_delivery_queue_forget(lane);
}
