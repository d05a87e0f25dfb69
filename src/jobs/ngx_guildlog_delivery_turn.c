
/*
 * Who sends next, at the pace that the platform bears, and how much delivery
 * leaves to requests: they find a processor free if delivery takes one at most,
 * and the worker's event loop if it takes a little at a time.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "shm/ngx_guildlog_quota.h"


#define DELIVERY_TURN_DEADLINE   15000   /* ms, of a request */
#define DELIVERY_TURN_SPARE      5000    /* ms, of a lease */
#define DELIVERY_TURN_MARGIN     50      /* ms, behind a pause */

#define DELIVERY_TURN_LATELY     500     /* ms, from one count of the
                                            requests to the next */
#define DELIVERY_TURN_SLOW       100     /* ms, a step that hangs */


static ngx_uint_t delivery_turn_grant(ngx_guildlog_lane_t *lane);
static ngx_uint_t delivery_turn_safe(ngx_guildlog_delivery_t *d);
static void delivery_turn_there(ngx_guildlog_delivery_t *d, ngx_uint_t before);


/* what people wait for comes first, as far as its share goes */

void
ngx_guildlog_delivery_turn_quota(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  before;

    before = d->pace.failures;

    ngx_guildlog_quota_grant(d->env.stats, &d->pace, ngx_current_msec,
                             !ngx_queue_empty(&d->servers));

    delivery_turn_there(d, before);
}


/* the servers take turns; each may have NGX_GUILDLOG_DELIVERY_SERVER requests
   under way at once */

void
ngx_guildlog_delivery_turn(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t           *q;
    ngx_guildlog_lane_t   *lane;
    ngx_guildlog_guild_t  *guild;

    if (!delivery_turn_safe(d)) {
        return;
    }

    while (!ngx_queue_empty(&d->servers)) {
        guild = ngx_queue_data(ngx_queue_head(&d->servers),
                               ngx_guildlog_guild_t, queue);

        if (ngx_guildlog_delivery_refused_rests(guild)) {
            ngx_queue_remove(&guild->queue);
            guild->queued = 0;
            ngx_guildlog_delivery_refused_put_off(guild);
            continue;
        }

        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);

        if (!delivery_turn_grant(lane)) {
            return;
        }

        ngx_queue_remove(q);
        ngx_queue_remove(&guild->queue);
        guild->queued = 0;
        ngx_guildlog_delivery_queue_line_up(d, guild);

        ngx_guildlog_delivery_queue_resume(lane);
    }
}


static ngx_uint_t
delivery_turn_grant(ngx_guildlog_lane_t *lane)
{
    if (!ngx_guildlog_delivery_queue_room(lane->delivery)
        || !ngx_guildlog_pace_take(&lane->delivery->pace, ngx_current_msec))
    {
        return 0;
    }

    lane->permit = NGX_GUILDLOG_PERMIT_GRANTED;
    lane->server->sending++;

    return 1;
}


ngx_uint_t
ngx_guildlog_delivery_turn_take(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    return !ngx_exiting
           && ngx_queue_empty(&d->servers)
           && !ngx_guildlog_delivery_refused_rests(lane->server)
           && lane->server->sending < NGX_GUILDLOG_DELIVERY_SERVER
           && delivery_turn_safe(d)
           && delivery_turn_grant(lane);
}


/* would a request be answered before the leases end? */

static ngx_uint_t
delivery_turn_safe(ngx_guildlog_delivery_t *d)
{
    return d->leased
           && (ngx_msec_int_t) (d->lease_until - ngx_current_msec)
              >= DELIVERY_TURN_DEADLINE + DELIVERY_TURN_SPARE;
}


ngx_int_t
ngx_guildlog_delivery_turn_send(ngx_guildlog_lane_t *lane, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body,
    ngx_guildlog_client_handler_pt handler)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    /* a process that was stopped for a while does not know it yet */

    ngx_time_update();

    if (delivery_turn_safe(d)
        && !ngx_guildlog_pace_paused(&d->pace, ngx_current_msec))
    {
        lane->exchange = ngx_guildlog_client_send(d->env.client, method, path,
                             authorization, type, body,
                             DELIVERY_TURN_DEADLINE, handler, lane);
    }

    if (lane->exchange == NULL) {
        ngx_guildlog_delivery_queue_give_back(lane);
        return NGX_DECLINED;
    }

    lane->permit = NGX_GUILDLOG_PERMIT_SENT;

    ngx_guildlog_pace_sent(&d->pace, ngx_current_msec);

    return NGX_OK;
}


void
ngx_guildlog_delivery_turn_answered(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_verdict_t *verdict)
{
    ngx_uint_t                before;
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    if (verdict->refused) {
        ngx_guildlog_delivery_refused(d, lane->server);
    }

    ngx_guildlog_delivery_queue_sent(lane);

    before = d->pace.failures;

    ngx_guildlog_pace_answered(&d->pace, ngx_current_msec, verdict->failed,
                               verdict->invalid);

    if (verdict->pause_ms) {
        ngx_log_error(NGX_LOG_WARN, d->env.log, 0,
                      "the platform wants this address to pause for %ui ms",
                      verdict->pause_ms);
        ngx_guildlog_pace_pause(d->pace.kept, ngx_current_msec,
                                verdict->pause_ms + DELIVERY_TURN_MARGIN);
    }

    delivery_turn_there(d, before);
}


static void
delivery_turn_there(ngx_guildlog_delivery_t *d, ngx_uint_t before)
{
    if (before && !d->pace.failures) {
        ngx_log_error(NGX_LOG_NOTICE, d->env.log, 0, "the platform is there");
    }
}


ngx_uint_t
ngx_guildlog_delivery_turn_requests(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  n;

    if (ngx_guildlog_delivery_due(d->requests_at)) {
        n = ngx_guildlog_stats_requests(d->env.stats);

        d->requests_lately = (n != d->requests);
        d->requests = n;
        d->requests_at = ngx_current_msec + DELIVERY_TURN_LATELY;
    }

    return d->requests_lately;
}


ngx_uint_t
ngx_guildlog_delivery_turn_stepping(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        if (d->steps[i].query
            && ngx_current_msec - d->steps[i].began
               < DELIVERY_TURN_SLOW)
        {
            return 1;
        }
    }

    return 0;
}
