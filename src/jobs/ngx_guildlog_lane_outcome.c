
/*
 * What the platform says to a message, and what becomes of it by that.
 */

#include "jobs/ngx_guildlog_lane.h"


#define NGX_GUILDLOG_LANE_SLOW      60000    /* ms, after a shared limit */
#define NGX_GUILDLOG_LANE_PACE      2000     /* ms, meanwhile */


static void ngx_guildlog_lane_keep_pace(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void ngx_guildlog_lane_outcome(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_client_response_t *answer);
static void ngx_guildlog_lane_isolate(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void ngx_guildlog_lane_refuse_entry(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);


void
ngx_guildlog_lane_posted(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_judge(lane, answer, NGX_GUILDLOG_CALL_EXECUTE,
                            &verdict);

    if (verdict.class != NGX_GUILDLOG_PLATFORM_DONE) {
        ngx_log_error(NGX_LOG_INFO, lane->log, 0,
                      "lane %V of server %V: %s, HTTP %ui, code %ui%s%s",
                      &lane->id, &lane->guild, verdict.reason,
                      answer->status, verdict.code,
                      answer->cause ? ", " : "",
                      answer->cause ? answer->cause : "");
    }

    ngx_guildlog_lane_keep_pace(lane, &verdict);
    ngx_guildlog_lane_outcome(lane, &verdict, answer);
}


static void
ngx_guildlog_lane_keep_pace(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_msec_t  wait;

    wait = 0;

    if (verdict->class == NGX_GUILDLOG_PLATFORM_LIMITED
        && verdict->scope == NGX_GUILDLOG_SCOPE_SHARED)
    {
        lane->slow = 1;
        lane->slow_to = ngx_current_msec + verdict->retry_after_ms
                        + NGX_GUILDLOG_LANE_SLOW;
    }

    if (lane->slow
        && (ngx_msec_int_t) (lane->slow_to - ngx_current_msec) <= 0)
    {
        lane->slow = 0;
    }

    if (lane->slow) {
        wait = NGX_GUILDLOG_LANE_PACE;
    }

    if (verdict->remaining == 0 && verdict->reset_after_ms > 0) {
        wait = ngx_max(wait, (ngx_msec_t) verdict->reset_after_ms
                             + NGX_GUILDLOG_LANE_MARGIN);
    }

    if (wait) {
        lane->waits = 1;
        lane->not_before = ngx_current_msec + wait;
        lane->work.wait_ms = wait;
    }
}


static void
ngx_guildlog_lane_outcome(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_client_response_t *answer)
{
    switch (verdict->class) {

    case NGX_GUILDLOG_PLATFORM_DONE:
        lane->last = ngx_guildlog_lane_number(&verdict->message_id);
        ngx_guildlog_lane_decide(lane, lane->upto,
                                 NGX_GUILDLOG_LANE_DELIVERED);
        return;

    case NGX_GUILDLOG_PLATFORM_DOUBT:
        ngx_guildlog_lane_doubt(lane, answer->time_ms);
        return;

    case NGX_GUILDLOG_PLATFORM_LIMITED:
        ngx_guildlog_lane_refused(lane, verdict->retry_after_ms
                                        + NGX_GUILDLOG_LANE_MARGIN);
        return;

    case NGX_GUILDLOG_PLATFORM_POISON:
    case NGX_GUILDLOG_PLATFORM_CONTENT:
    case NGX_GUILDLOG_PLATFORM_SHRINK:
        ngx_guildlog_lane_isolate(lane, verdict);
        return;

    case NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE:
        ngx_guildlog_lane_lost(lane);
        return;

    case NGX_GUILDLOG_PLATFORM_CHANNEL_GONE:
        ngx_guildlog_lane_broken(lane, "channel_gone");
        return;

    case NGX_GUILDLOG_PLATFORM_FORBIDDEN:
        ngx_guildlog_lane_forbidden(lane, verdict->reason, "forbidden");
        return;

    default:
        /* while nobody answers, the address has a pace of its own */

        ngx_guildlog_lane_refused(lane, ngx_guildlog_lane_backoff(
                              answer->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
                              ? lane->attempts : 1));
    }
}


/* one of them is refused for what it is, and its neighbours are not */

static void
ngx_guildlog_lane_isolate(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict)
{
    if (lane->packed == 1 || verdict->embed == 0) {
        ngx_guildlog_lane_refuse_entry(lane, verdict);
        return;
    }

    lane->limit = lane->packed / 2;
    lane->limit_to = lane->upto;

    if (verdict->embed > 0 && (ngx_uint_t) verdict->embed < lane->packed) {
        lane->limit = verdict->embed;
    }

    lane->work.changes = 1;
    lane->work.refused = 1;
    lane->next = ngx_guildlog_lane_line_up;

    ngx_guildlog_delivery_step(lane);
}


static void
ngx_guildlog_lane_refuse_entry(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                  "lane %V of server %V: an entry was refused: %s, code %ui",
                  &lane->id, &lane->guild, verdict->reason, verdict->code);

    lane->work.refused = 1;
    lane->work.reason = "rejected";

    ngx_guildlog_lane_decide(lane, lane->entries[0].seq,
                             NGX_GUILDLOG_LANE_NOT_DELIVERED);
}
