
/*
 * Turns: who sends next, at the pace that the platform bears.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define NGX_GUILDLOG_DELIVERY_DEADLINE   15000   /* ms, of a request */
#define NGX_GUILDLOG_DELIVERY_SPARE      5000    /* ms, of a lease */
#define NGX_GUILDLOG_DELIVERY_MARGIN     50      /* ms, behind a pause */
#define NGX_GUILDLOG_DELIVERY_SERVER     10      /* requests a server at once */
#define NGX_GUILDLOG_DELIVERY_LENT       64      /* a tick, to requests */

/* bytes of what is to be sent, at hand at a time; of them for a request that
   is not answered yet */
#define NGX_GUILDLOG_DELIVERY_BYTES      (16 * 1024 * 1024)
#define NGX_GUILDLOG_DELIVERY_REQUEST    (16 * 1024)


static ngx_uint_t ngx_guildlog_delivery_grant(ngx_guildlog_lane_t *lane);
static ngx_uint_t ngx_guildlog_delivery_safe(ngx_guildlog_delivery_t *d);
static void ngx_guildlog_delivery_is_there(ngx_guildlog_delivery_t *d,
    ngx_uint_t before);


void
ngx_guildlog_delivery_wait(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    ngx_guildlog_lane_empty(lane);

    lane->turn = NGX_GUILDLOG_TURN_WAITS;

    ngx_queue_insert_tail(&lane->server->waiting, &lane->queue);
    ngx_guildlog_delivery_line_up(d, lane->server);

    ngx_post_event(&d->tick, &ngx_posted_next_events);
}


/* while lanes wait, one a tick: people are few, and do not like to wait */

void
ngx_guildlog_delivery_lend(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  before;

    before = d->pace.failures;

    ngx_guildlog_asks_grant(&d->stats->shared->asks, &d->pace,
                            ngx_current_msec,
                            ngx_queue_empty(&d->servers)
                            ? NGX_GUILDLOG_DELIVERY_LENT : 1);

    ngx_guildlog_delivery_is_there(d, before);
}


/* the servers take turns; each may have so many at once */

void
ngx_guildlog_delivery_turns(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t           *q;
    ngx_guildlog_lane_t   *lane;
    ngx_guildlog_guild_t  *guild;

    if (!ngx_guildlog_delivery_safe(d)) {
        return;
    }

    while (!ngx_queue_empty(&d->servers)) {
        guild = ngx_queue_data(ngx_queue_head(&d->servers),
                               ngx_guildlog_guild_t, queue);

        if (ngx_guildlog_delivery_held_off(guild)) {
            ngx_queue_remove(&guild->queue);
            guild->queued = 0;
            ngx_guildlog_delivery_put_off(guild);
            continue;
        }

        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);

        if (!ngx_guildlog_delivery_grant(lane)) {
            return;
        }

        ngx_queue_remove(q);
        ngx_queue_remove(&guild->queue);
        guild->queued = 0;
        ngx_guildlog_delivery_line_up(d, guild);

        lane->next(lane);
    }
}


void
ngx_guildlog_delivery_line_up(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild)
{
    if (!guild->queued && !ngx_queue_empty(&guild->waiting)
        && guild->sending < NGX_GUILDLOG_DELIVERY_SERVER)
    {
        guild->queued = 1;
        ngx_queue_insert_tail(&d->servers, &guild->queue);
    }
}


void
ngx_guildlog_delivery_step_aside(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t  *guild;

    guild = lane->server;

    ngx_queue_remove(&lane->queue);

    if (guild->queued && ngx_queue_empty(&guild->waiting)) {
        guild->queued = 0;
        ngx_queue_remove(&guild->queue);
    }
}


void
ngx_guildlog_delivery_sent(ngx_guildlog_lane_t *lane)
{
    lane->server->sending--;
    ngx_guildlog_delivery_line_up(lane->delivery, lane->server);
}


static ngx_uint_t
ngx_guildlog_delivery_grant(ngx_guildlog_lane_t *lane)
{
    if (!ngx_guildlog_delivery_room(lane->delivery)
        || !ngx_guildlog_pace_take(&lane->delivery->pace, ngx_current_msec))
    {
        return 0;
    }

    lane->turn = NGX_GUILDLOG_TURN_GRANTED;
    lane->server->sending++;

    return 1;
}


/* for the entries of one lane more? */

ngx_uint_t
ngx_guildlog_delivery_room(ngx_guildlog_delivery_t *d)
{
    return d->bytes + d->pace.open * NGX_GUILDLOG_DELIVERY_REQUEST
           + NGX_GUILDLOG_LANE_BYTES <= NGX_GUILDLOG_DELIVERY_BYTES;
}


void
ngx_guildlog_delivery_holds(ngx_guildlog_lane_t *lane, ssize_t bytes)
{
    lane->bytes += bytes;
    lane->delivery->bytes += bytes;
}


/* without waiting: only if nobody else does */

ngx_uint_t
ngx_guildlog_delivery_take(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    return !ngx_exiting
           && ngx_queue_empty(&d->servers)
           && !ngx_guildlog_delivery_held_off(lane->server)
           && lane->server->sending < NGX_GUILDLOG_DELIVERY_SERVER
           && ngx_guildlog_delivery_safe(d)
           && ngx_guildlog_delivery_grant(lane);
}


void
ngx_guildlog_delivery_give_back(ngx_guildlog_lane_t *lane)
{
    if (lane->turn == NGX_GUILDLOG_TURN_GRANTED) {
        ngx_guildlog_pace_cancelled(&lane->delivery->pace, ngx_current_msec);
        ngx_guildlog_delivery_sent(lane);
    }

    lane->turn = NGX_GUILDLOG_TURN_NONE;
}


/* would a request be answered before the leases end? */

static ngx_uint_t
ngx_guildlog_delivery_safe(ngx_guildlog_delivery_t *d)
{
    return d->leased
           && (ngx_msec_int_t) (d->lease_until - ngx_current_msec)
              >= NGX_GUILDLOG_DELIVERY_DEADLINE + NGX_GUILDLOG_DELIVERY_SPARE;
}


ngx_int_t
ngx_guildlog_delivery_send(ngx_guildlog_lane_t *lane, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *body, ngx_guildlog_client_handler_pt handler)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    /* a process that was stopped for a while does not know it yet */

    ngx_time_update();

    if (ngx_guildlog_delivery_safe(d)
        && !ngx_guildlog_pace_paused(&d->pace, ngx_current_msec))
    {
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
    const ngx_guildlog_verdict_t *verdict)
{
    ngx_uint_t                before;
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    lane->turn = NGX_GUILDLOG_TURN_NONE;

    if (verdict->refused) {
        ngx_guildlog_delivery_refuses(d, lane->server);
    }

    ngx_guildlog_delivery_sent(lane);

    before = d->pace.failures;

    ngx_guildlog_pace_answered(&d->pace, ngx_current_msec, verdict->failed,
                               verdict->invalid);

    if (verdict->pause_ms) {
        ngx_log_error(NGX_LOG_WARN, d->log, 0,
                      "the platform wants this address to pause for %ui ms",
                      verdict->pause_ms);
        ngx_guildlog_pace_pause(&d->pace, ngx_current_msec,
                                verdict->pause_ms
                                + NGX_GUILDLOG_DELIVERY_MARGIN);
    }

    ngx_guildlog_delivery_is_there(d, before);
}


static void
ngx_guildlog_delivery_is_there(ngx_guildlog_delivery_t *d, ngx_uint_t before)
{
    if (before && !d->pace.failures) {
        ngx_log_error(NGX_LOG_NOTICE, d->log, 0, "the platform is there");
    }
}
