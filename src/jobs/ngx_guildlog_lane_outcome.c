
/*
 * What the platform answers to a message, and what becomes of the message.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


#define LANE_OUTCOME_SLOW      60000    /* ms, after a shared limit */
#define LANE_OUTCOME_PACE      2000     /* ms, meanwhile */


static void lane_outcome_pace(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_outcome_of(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_client_response_t *answer);
static void lane_outcome_isolate(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_outcome_reject(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_outcome_follow(ngx_guildlog_lane_t *lane);


void
ngx_guildlog_lane_outcome_posted(void *data,
    ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_EXECUTE,
                                 &verdict);

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_log_error(NGX_LOG_INFO, lane->env->log, 0,
                      "lane %V of server %V: %s, HTTP %ui, code %ui%s%s",
                      &lane->id, &lane->guild, verdict.reason,
                      answer->status, verdict.code,
                      answer->cause ? ", " : "",
                      answer->cause ? answer->cause : "");
    }

    lane_outcome_pace(lane, &verdict);
    lane_outcome_of(lane, &verdict, answer);
}


static void
lane_outcome_pace(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    ngx_msec_t  wait;

    wait = 0;

    if (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED
        && verdict->scope == NGX_GUILDLOG_SCOPE_SHARED)
    {
        lane->slow = 1;
        lane->slow_to = ngx_current_msec + verdict->retry_after_ms
                        + LANE_OUTCOME_SLOW;
    }

    if (lane->slow
        && (ngx_msec_int_t) (lane->slow_to - ngx_current_msec) <= 0)
    {
        lane->slow = 0;
    }

    if (lane->slow) {
        wait = LANE_OUTCOME_PACE;
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
lane_outcome_of(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict,
    ngx_guildlog_client_response_t *answer)
{
    ngx_msec_t  wait;
    ngx_uint_t  attempts;

    switch (verdict->class) {

    case NGX_GUILDLOG_VERDICT_DONE:
        lane->last = ngx_guildlog_lane_row_id(&verdict->message_id);
        ngx_guildlog_lane_outcome_decide(lane, lane->upto,
                                         NGX_GUILDLOG_LANE_DELIVERED);
        return;

    case NGX_GUILDLOG_VERDICT_DOUBT:
        lane->took = answer->time_ms;
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_DOUBT);
        return;

    case NGX_GUILDLOG_VERDICT_LIMITED:
        ngx_guildlog_lane_outcome_refused(lane, verdict->retry_after_ms);
        return;

    case NGX_GUILDLOG_VERDICT_POISON:
    case NGX_GUILDLOG_VERDICT_CONTENT:
    case NGX_GUILDLOG_VERDICT_SHRINK:
        lane_outcome_isolate(lane, verdict);
        return;

    case NGX_GUILDLOG_VERDICT_WEBHOOK_GONE:
        ngx_guildlog_lane_tell_lost(lane);
        return;

    case NGX_GUILDLOG_VERDICT_CHANNEL_GONE:
        ngx_guildlog_lane_tell_broken(lane, "channel_gone");
        return;

    case NGX_GUILDLOG_VERDICT_FORBIDDEN:
        ngx_guildlog_lane_tell_waits(lane, verdict->reason, "forbidden",
                                     NGX_GUILDLOG_LANE_MINUTE);
        return;

    default:
        /* while nobody answers, ngx_guildlog_pace.c lets few requests pass */

        attempts = answer->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
                   ? lane->attempts : 1;
        wait = ngx_guildlog_lane_call_backoff(attempts);
        ngx_guildlog_lane_outcome_refused(lane, wait);
    }
}


/* one entry is refused for what it is, and its neighbours are not */

static void
lane_outcome_isolate(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    if (lane->packed == 1 || verdict->embed == 0) {
        lane_outcome_reject(lane, verdict);
        return;
    }

    lane->limit = lane->packed / 2;
    lane->limit_to = lane->upto;

    if (verdict->embed > 0 && (ngx_uint_t) verdict->embed < lane->packed) {
        lane->limit = verdict->embed;
    }

    lane->work.changes = 1;
    lane->work.refused = 1;
    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_LINE_UP);
}


static void
lane_outcome_reject(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                  "lane %V of server %V: an entry was refused: %s, code %ui",
                  &lane->id, &lane->guild, verdict->reason, verdict->code);

    lane->work.refused = 1;
    lane->work.reason = "rejected";

    ngx_guildlog_lane_outcome_decide(lane, lane->entries[0].seq,
                                     NGX_GUILDLOG_LANE_NOT_DELIVERED);
}


void
ngx_guildlog_lane_outcome_decide(ngx_guildlog_lane_t *lane, int64_t to,
    ngx_uint_t status)
{
    ngx_uint_t  n;

    lane->work.changes = 1;
    lane->work.done_to = to;
    lane->work.status = status;

    for (n = 0; n < lane->n && lane->entries[n].seq <= to; n++) { /* void */ }

    ngx_guildlog_lane_memory_drop(lane, n);

    /* entries whose documents went into a message are read anew */

    if (lane->n && lane->entries[0].message.doc.data == NULL) {
        ngx_guildlog_lane_memory_drop(lane, lane->n);
    }

    lane_outcome_follow(lane);
}


/*
 * The next intent is committed with the outcome, if it may be sent at once.  If
 * no entry is at hand for it, the permit is kept for what may have come
 * meanwhile.
 */

static void
lane_outcome_follow(ngx_guildlog_lane_t *lane)
{
    if (ngx_guildlog_lane_outcome_wait(lane) || !lane->verified
        || !(lane->permit == NGX_GUILDLOG_PERMIT_GRANTED
             || ngx_guildlog_delivery_turn_take(lane)))
    {
        ngx_guildlog_delivery_queue_give_back(lane);
        ngx_guildlog_lane_outcome_end(lane);
        return;
    }

    if (lane->n && !lane->entries[0].expired) {
        ngx_guildlog_delivery_queue_go_on(lane, NGX_GUILDLOG_STATE_NEXT);
        return;
    }

    ngx_guildlog_lane_outcome_end(lane);
}


void
ngx_guildlog_lane_outcome_end(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_memory_empty(lane);

    lane->work.peek = lane->work.done_to;

    if (lane->permit == NGX_GUILDLOG_PERMIT_GRANTED) {
        ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_LOOKED);
        return;
    }

    lane->work.bare = 1;

    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_REST);
}


void
ngx_guildlog_lane_outcome_refused(ngx_guildlog_lane_t *lane, ngx_msec_t wait)
{
    lane->work.changes = 1;
    lane->work.refused = 1;
    lane->work.wait_ms = ngx_max(wait, lane->work.wait_ms);

    lane->waits = 1;
    lane->not_before = ngx_current_msec + lane->work.wait_ms;

    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_REST);
}


ngx_msec_t
ngx_guildlog_lane_outcome_wait(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  wait;

    wait = (ngx_msec_int_t) (lane->not_before - ngx_current_msec);

    lane->waits = lane->waits && wait > 0;

    return lane->waits ? wait : 0;
}
