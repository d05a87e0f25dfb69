
/*
 * Calls of the platform, by the permit that a lane has.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


#define LANE_CALL_RETRY    5000      /* ms */
#define LANE_CALL_LIMITED  100       /* ms, behind the first limit */


static void lane_call_limited(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);


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

    return ngx_guildlog_delivery_turn_send(lane, request.method, &request.path,
                                           authorization, type, body, handler);
}


void
ngx_guildlog_lane_call_judge(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_int_t  scope;

    lane->exchange = NULL;

    ngx_guildlog_verdict(lane->work_pool, answer, call, verdict);

    ngx_log_debug5(NGX_LOG_DEBUG_CORE, lane->env->log, 0,
                   "guildlog lane %V of server %V: call %d, HTTP %ui, %s",
                   &lane->id, &lane->guild, call, answer->status,
                   verdict->reason);

    scope = -1;

    if (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED) {
        scope = verdict->scope;
        lane_call_limited(lane, verdict);

    } else {
        lane->limited = 0;
    }

    ngx_guildlog_traffic_call(lane->env->traffic, call, verdict->class, scope,
                              answer->status);
    ngx_guildlog_delivery_turn_answered(lane, verdict);
}


/*
 * Each is a bad request of the address.  A platform that tells no time, or none
 * that helps, is asked more and more rarely.
 */

static void
lane_call_limited(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    ngx_msec_t  least;

    least = LANE_CALL_LIMITED << ngx_min(lane->limited, 9);
    lane->limited++;

    verdict->retry_after_ms = ngx_max(verdict->retry_after_ms
                                      + NGX_GUILDLOG_LANE_MARGIN, least);
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
