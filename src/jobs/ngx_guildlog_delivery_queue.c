
/*
 * The queues of the loop, and its two events: the tick, which finds, grants
 * and commits, and the one that lets lanes go on.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


/* bytes of what is to be sent, at hand at a time; of them for a request that
   is not answered yet */
#define DELIVERY_QUEUE_BYTES    (16 * 1024 * 1024)
#define DELIVERY_QUEUE_REQUEST  (16 * 1024)


static void delivery_queue_timer(ngx_event_t *ev);
static uint64_t delivery_queue_call(ngx_str_t *guild, ngx_str_t *id,
    ngx_str_t *since);
static void delivery_queue_leave(ngx_guildlog_lane_t *lane);


void
ngx_guildlog_delivery_queue_init(ngx_guildlog_delivery_t *d,
    ngx_event_handler_pt tick, ngx_event_handler_pt go)
{
    ngx_queue_init(&d->stepping);
    ngx_queue_init(&d->going);
    ngx_queue_init(&d->servers);
    ngx_queue_init(&d->refused);

    /* not cancelable: a worker that exits gives its leases away first */

    d->tick.handler = tick;
    d->tick.data = d;
    d->tick.log = d->env.log;

    d->go.handler = go;
    d->go.data = d;
    d->go.log = d->env.log;
}


void
ngx_guildlog_delivery_queue_post(ngx_guildlog_delivery_t *d)
{
    ngx_post_event(&d->tick, &ngx_posted_next_events);
}


void
ngx_guildlog_delivery_queue_post_go(ngx_guildlog_delivery_t *d)
{
    if (!ngx_queue_empty(&d->going) && !d->go.timer_set) {
        ngx_post_event(&d->go, &ngx_posted_next_events);
    }
}


void
ngx_guildlog_delivery_queue_run(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    lane->state = state;

    ngx_guildlog_delivery_queue_resume(lane);
}


void
ngx_guildlog_delivery_queue_resume(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_lane_state_t  *state;

    state = &lane->env->states[lane->state];

    ngx_log_debug3(NGX_LOG_DEBUG_CORE, lane->env->log, 0,
                   "guildlog lane %V of server %V: %s", &lane->id,
                   &lane->guild, state->name);

    state->handler(lane);
}


void
ngx_guildlog_delivery_queue_sleep(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_delivery_queue_give_back(lane);
    ngx_guildlog_lane_memory_empty(lane);

    lane->state = state;

    lane->timer.handler = delivery_queue_timer;
    lane->timer.data = lane;
    lane->timer.log = lane->env->log;
    lane->timer.cancelable = 1;

    ngx_add_timer(&lane->timer, ms);
}


static void
delivery_queue_timer(ngx_event_t *ev)
{
    ngx_guildlog_delivery_queue_resume(ev->data);
}


void
ngx_guildlog_delivery_queue_wait(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_lane_memory_empty(lane);

    lane->state = state;
    lane->permit = NGX_GUILDLOG_PERMIT_WAITS;

    ngx_queue_insert_tail(&lane->server->waiting, &lane->queue);
    ngx_guildlog_delivery_queue_line_up(lane->delivery, lane->server);

    ngx_guildlog_delivery_queue_post(lane->delivery);
}


void
ngx_guildlog_delivery_queue_step(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    lane->state = state;
    lane->stepping = 1;
    lane->repeated = 0;
    lane->starved = 0;

    if (lane->work.peek >= 0 && !lane->work.bare) {
        lane->room = NGX_GUILDLOG_LANE_BYTES;
        lane->bytes += lane->room;
        d->bytes += lane->room;
    }

    /* from the next turn of the event loop on, together with others */

    if (ngx_queue_empty(&d->stepping)) {
        ngx_guildlog_delivery_queue_post(d);
    }

    ngx_queue_insert_tail(&d->stepping, &lane->queue);
}


void
ngx_guildlog_delivery_queue_go_on(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    lane->state = state;
    lane->goes_on = 1;

    ngx_queue_insert_tail(&lane->delivery->going, &lane->queue);
    ngx_guildlog_delivery_queue_post_go(lane->delivery);
}


void
ngx_guildlog_delivery_queue_line_up(ngx_guildlog_delivery_t *d,
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
ngx_guildlog_delivery_queue_sent(ngx_guildlog_lane_t *lane)
{
    lane->permit = NGX_GUILDLOG_PERMIT_NONE;
    lane->server->sending--;

    ngx_guildlog_delivery_queue_line_up(lane->delivery, lane->server);
}


void
ngx_guildlog_delivery_queue_give_back(ngx_guildlog_lane_t *lane)
{
    if (lane->permit == NGX_GUILDLOG_PERMIT_GRANTED) {
        ngx_guildlog_pace_cancelled(&lane->delivery->pace, ngx_current_msec);
        ngx_guildlog_delivery_queue_sent(lane);
    }
}


void
ngx_guildlog_delivery_queue_forget(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t     *guild;
    ngx_guildlog_delivery_t  *d;

    /* its step has a pointer to it */

    if (lane->submitted) {
        lane->dropped = 1;
        return;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, lane->env->log, 0,
                   "guildlog lane %V of server %V: gone", &lane->id,
                   &lane->guild);

    d = lane->delivery;
    guild = lane->server;

    delivery_queue_leave(lane);

    if (d->find) {
        d->ended[d->nended++ % NGX_GUILDLOG_DELIVERY_ENDED] =
                delivery_queue_call(&lane->guild, &lane->id, &lane->since);
    }

    d->nlanes--;
    ngx_queue_remove(&lane->link);
    ngx_guildlog_delivery_queue_settle(lane);
    ngx_guildlog_lane_memory_free(lane);

    guild->lanes--;
    ngx_guildlog_delivery_queue_let_guild(guild);
}


ngx_uint_t
ngx_guildlog_delivery_queue_has_ended(ngx_guildlog_delivery_t *d,
    ngx_str_t *guild, ngx_str_t *id, ngx_str_t *since)
{
    uint64_t    call;
    ngx_uint_t  i, n;

    call = delivery_queue_call(guild, id, since);
    n = ngx_min(d->nended, NGX_GUILDLOG_DELIVERY_ENDED);

    for (i = 0; i < n; i++) {
        if (d->ended[i] == call) {
            return 1;
        }
    }

    return 0;
}


/* one call for a lane; two of them are equal by a chance of 2^-64 */

static uint64_t
delivery_queue_call(ngx_str_t *guild, ngx_str_t *id, ngx_str_t *since)
{
    uint32_t  one, two;

    one = ngx_crc32_long(guild->data, guild->len);
    two = ngx_crc32_long(since->data, since->len);

    return ((uint64_t) one << 32 | two) ^ ngx_guildlog_lane_row_id(id);
}


static void
delivery_queue_leave(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t  *guild;

    guild = lane->server;

    switch (lane->permit) {

    case NGX_GUILDLOG_PERMIT_WAITS:
        ngx_queue_remove(&lane->queue);

        if (guild->queued && ngx_queue_empty(&guild->waiting)) {
            guild->queued = 0;
            ngx_queue_remove(&guild->queue);
        }

        break;

    case NGX_GUILDLOG_PERMIT_SENT:
        ngx_guildlog_pace_dropped(&lane->delivery->pace);
        ngx_guildlog_delivery_queue_sent(lane);
        break;

    default:
        ngx_guildlog_delivery_queue_give_back(lane);
    }

    if (lane->stepping || lane->goes_on) {
        ngx_queue_remove(&lane->queue);
    }
}


void
ngx_guildlog_delivery_queue_let_guild(ngx_guildlog_guild_t *guild)
{
    if (guild->lanes == 0 && !guild->tells) {
        ngx_queue_remove(&guild->link);
        ngx_free(guild);
    }
}


void
ngx_guildlog_delivery_queue_settle(ngx_guildlog_lane_t *lane)
{
    lane->bytes -= lane->room;
    lane->delivery->bytes -= lane->room;
    lane->room = 0;
}


ngx_uint_t
ngx_guildlog_delivery_queue_room(ngx_guildlog_delivery_t *d)
{
    return d->bytes + d->pace.open * DELIVERY_QUEUE_REQUEST
           + NGX_GUILDLOG_LANE_BYTES <= DELIVERY_QUEUE_BYTES;
}


void
ngx_guildlog_delivery_queue_find(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_uint_t sweep)
{
    lane->delivery->find_at = ngx_current_msec + ms;

    if (sweep) {
        lane->delivery->sweep_at = lane->delivery->find_at;
    }
}
