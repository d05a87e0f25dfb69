
/*
 * Calls of the platform, by the permit that a lane has.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"
#include "jobs/ngx_guildlog_delivery_loop.h"


#define LANE_CALL_RETRY    5000      /* ms */
#define LANE_CALL_LIMITED  100       /* ms, behind the first limit */


static void lane_tell_submit(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, ngx_guildlog_lane_args_t *args,
    ngx_guildlog_db_handler_pt handler);
static void lane_tell_done(void *data, ngx_guildlog_db_result_t *result);
static void lane_tell_ended(void *data, ngx_guildlog_db_result_t *result);
static void lane_tell_parked(void *data, ngx_guildlog_db_result_t *result);
static ngx_guildlog_platform_call_e lane_verify_call(
    ngx_guildlog_lane_t *lane);
static void lane_verify_answer(void *data,
    ngx_guildlog_client_response_t *answer);


_Static_assert(1 << (NGX_GUILDLOG_TRAFFIC_CALLS - 1)
               == NGX_GUILDLOG_CALL_WEBHOOK
               && NGX_GUILDLOG_TRAFFIC_CLASSES
                  == NGX_GUILDLOG_VERDICT_FULL + 1
               && NGX_GUILDLOG_TRAFFIC_SCOPES
                  == NGX_GUILDLOG_SCOPE_GLOBAL + 1,
               "ngx_guildlog_stats.h does not have what is counted");


ngx_int_t
ngx_guildlog_lane_call(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_call_e call, const ngx_str_t *id,
    const ngx_str_t *more, ngx_guildlog_client_handler_pt handler)
{
    const ngx_str_t                  *authorization, *body, *type;
    ngx_guildlog_platform_request_t   request;

    static const ngx_str_t            none = ngx_null_string;

    if (ngx_guildlog_lane_memory_renew(lane) != NGX_OK
        || ngx_guildlog_platform_call(lane->work_pool, call, id, more, &request)
           != NGX_OK)
    {
        ngx_guildlog_delivery_queue_give_back(lane);
        return NGX_ERROR;
    }

    authorization = request.bot ? &lane->env->conf->bots[lane->bot] : &none;
    type = &request.type;
    body = &request.body;

    if (call == NGX_GUILDLOG_CALL_EXECUTE) {
        type = &lane->type;
        body = &lane->body;
    }

    return ngx_guildlog_delivery_slot_send(lane, request.method, &request.path,
                                           authorization, type, body, handler);
}


void
ngx_guildlog_lane_call_judge(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_int_t   scope;
    ngx_msec_t  least;

    lane->exchange = NULL;

    ngx_guildlog_verdict(lane->work_pool, answer, call, verdict);

    ngx_log_debug5(NGX_LOG_DEBUG_CORE, lane->env->log, 0,
                   "guildlog lane %V of server %V: call %d, HTTP %ui, %s",
                   &lane->id, &lane->guild, call, answer->status,
                   verdict->reason);

    scope = -1;

    /*
     * A limit is a bad request of the address.  A platform that tells no time,
     * or none that helps, is asked more and more rarely.
     */

    if (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED) {
        scope = verdict->scope;

        least = LANE_CALL_LIMITED << ngx_min(lane->limited, 9);
        lane->limited++;

        verdict->retry_after_ms = ngx_max(verdict->retry_after_ms
                                          + NGX_GUILDLOG_LANE_MARGIN, least);

    } else {
        lane->limited = 0;
    }

    ngx_guildlog_traffic_call(lane->env->traffic, call, verdict->class, scope,
                              answer->status);
    ngx_guildlog_delivery_slot_answered(lane, verdict);
}


void
ngx_guildlog_lane_call_ask(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_call_e call, const ngx_str_t *id,
    const ngx_str_t *more, ngx_guildlog_client_handler_pt handler,
    ngx_guildlog_lane_state_e again)
{
    if (ngx_guildlog_lane_call(lane, call, id, more, handler) != NGX_OK) {
        ngx_guildlog_delivery_queue_sleep(lane, LANE_CALL_RETRY, again);
    }
}


void
ngx_guildlog_lane_call_failed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_lane_state_e again)
{
    ngx_msec_t  wait;

    ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                  "lane %V of server %V: no webhook for channel %V: %s",
                  &lane->id, &lane->guild, &lane->channel, verdict->reason);

    if (lane->closing && verdict->refused) {
        ngx_guildlog_lane_tell_closed(lane);
        return;
    }

    wait = ngx_guildlog_lane_call_backoff(++lane->failures);

    switch (verdict->class) {

    case NGX_GUILDLOG_VERDICT_CHANNEL_GONE:
    case NGX_GUILDLOG_VERDICT_POISON:
    case NGX_GUILDLOG_VERDICT_CONTENT:
        ngx_guildlog_lane_tell_broken(lane, "channel_gone");
        return;

    case NGX_GUILDLOG_VERDICT_FORBIDDEN:
        ngx_guildlog_lane_tell_waits(lane, verdict->reason, "forbidden",
                                     NGX_GUILDLOG_LANE_MINUTE);
        return;

    case NGX_GUILDLOG_VERDICT_FULL:
        ngx_guildlog_lane_tell_waits(lane, verdict->reason, "webhook_404",
                                     NGX_GUILDLOG_LANE_MINUTE);
        return;

    case NGX_GUILDLOG_VERDICT_LIMITED:
        ngx_guildlog_lane_tell_limited(lane, verdict->retry_after_ms,
                                       again);
        return;

    case NGX_GUILDLOG_VERDICT_TOKEN_BAD:
        ngx_log_error(NGX_LOG_ERR, lane->env->log, 0,
                      "the platform refuses the token of the %s bot",
                      lane->bot == NGX_GUILDLOG_BOT_PRO ? "pro" : "main");
        ngx_guildlog_lane_tell_waits(lane, "bad_bot_token", NULL,
                                     NGX_GUILDLOG_LANE_MINUTE);
        return;

    default:
        break;
    }

    ngx_guildlog_delivery_queue_sleep(lane, wait, again);
}


ngx_msec_t
ngx_guildlog_lane_call_backoff(ngx_uint_t attempts)
{
    static const ngx_msec_t  table[] = {
        1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000
    };

    ngx_msec_t  wait;

    wait = table[ngx_min(ngx_max(attempts, 1),
                         sizeof(table) / sizeof(table[0])) - 1];

    return wait / 2 + ngx_random() % (wait / 2 + 1);
}


/*
 * What a lane tells the database, apart from its steps: that it goes on, or
 * what becomes of it as a whole.
 */

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
    args->value[i] = ngx_guildlog_digits(args->numbers[i], n);
}


void
ngx_guildlog_lane_tell_bool(ngx_str_t *arg, ngx_uint_t yes)
{
    arg->data = (u_char *) (yes ? "t" : "f");
    arg->len = 1;
}


void
ngx_guildlog_lane_tell(ngx_guildlog_lane_t *lane, ngx_guildlog_stmt_e stmt,
    ngx_guildlog_lane_args_t *args, ngx_guildlog_lane_state_e next)
{
    ngx_guildlog_lane_to(lane, next);

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

    ngx_str_t   status;
    ngx_msec_t  wait;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        lane_tell_ended(lane, result);
        return;
    }

    status = ngx_guildlog_db_result_value(result, 0, 0);

    lane->query = NULL;
    lane->owes = lane->owes && lane->work.wait_ms;
    lane->denied = status.len == 0 || status.data[0] != '2';

    ngx_guildlog_delivery_queue_changed(lane);

    wait = ngx_guildlog_lane_outcome_wait(lane);

    if (wait) {
        ngx_guildlog_delivery_queue_sleep(lane, wait, lane->state);
        return;
    }

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

    ngx_guildlog_lane_outcome_put_off(lane, ms);

    ngx_guildlog_lane_tell_args(lane, &args);
    ngx_guildlog_lane_tell_number(&args, 5, ms);

    ngx_guildlog_lane_tell(lane, ngx_guildlog_stmt_delivery_limited, &args,
                           next);
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
        lane->owes = 0;
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

    /* its webhook may have been limited by the same answer, for longer */

    ngx_guildlog_lane_tell_number(&args, 7,
                          ngx_max(ms, ngx_guildlog_lane_outcome_wait(lane)));

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

    ngx_str_t  status, what;

    lane->query = NULL;

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        status = ngx_guildlog_db_result_value(result, 0, 0);
        what = ngx_guildlog_db_result_value(result, 0, 1);

        if (status.len && status.data[0] == '2') {
            ngx_guildlog_delivery_park_done(lane->env, &what);
        }

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


/*
 * Whose is the channel?  Nothing is made, used or deleted in a channel of
 * another guild, so a lane asks the platform once before that: for the
 * channel, or for the webhook that the lane has.  If the platform does not say
 * whose the channel is, the directory decides; if that does not know it, the
 * guild's own word counts.
 */

void
ngx_guildlog_lane_verify(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e then)
{
    lane->then = then;

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_VERIFY);
}


void
ngx_guildlog_lane_verify_ask(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_platform_call_e  call;

    call = lane_verify_call(lane);

    ngx_guildlog_lane_call_ask(lane, call,
                               call == NGX_GUILDLOG_CALL_WEBHOOK
                               ? &lane->webhook : &lane->channel,
                               &lane->token, lane_verify_answer, lane->then);
}


/* asks for its webhook; but one that is registered anew may be gone */

static ngx_guildlog_platform_call_e
lane_verify_call(ngx_guildlog_lane_t *lane)
{
    return lane->webhook.len && !lane->registering
           ? NGX_GUILDLOG_CALL_WEBHOOK : NGX_GUILDLOG_CALL_CHANNEL;
}


static void
lane_verify_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t    verdict;
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_call_judge(lane, answer, lane_verify_call(lane),
                                 &verdict);

    if (verdict.class == NGX_GUILDLOG_VERDICT_WEBHOOK_GONE) {
        ngx_guildlog_lane_tell_lost(lane);
        return;
    }

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_guildlog_lane_call_failed(lane, &verdict, lane->then);
        return;
    }

    if (ngx_guildlog_lane_verify_foreign(lane, &verdict.guild_id)) {
        ngx_guildlog_lane_tell_foreign(lane);
        return;
    }

    ngx_guildlog_lane_tell_args(lane, &args);

    ngx_guildlog_lane_tell_bool(&args.value[5], verdict.guild_id.len > 0);

    ngx_guildlog_lane_tell(lane, ngx_guildlog_stmt_delivery_verified, &args,
                           NGX_GUILDLOG_STATE_VERIFIED);
}


void
ngx_guildlog_lane_verify_told(ngx_guildlog_lane_t *lane)
{
    if (lane->denied) {
        ngx_guildlog_lane_tell_foreign(lane);
        return;
    }

    lane->verified = 1;

    ngx_guildlog_delivery_queue_run(lane, lane->then);
}


ngx_uint_t
ngx_guildlog_lane_verify_foreign(ngx_guildlog_lane_t *lane,
    const ngx_str_t *guild_id)
{
    return guild_id->len && !ngx_guildlog_str_eq(guild_id, &lane->guild);
}
