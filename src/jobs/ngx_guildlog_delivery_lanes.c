
/*
 * The lanes at hand and their guilds.  A lane enters when it has something to
 * do, and is forgotten when it has not, or is somebody else's.  Now and then
 * each unconfirmed message becomes a lane of its own, which looks for it and
 * vanishes.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define DELIVERY_LANES_DOUBTS_INTERVAL  5000   /* ms */
#define DELIVERY_LANES_LEFT             -1     /* the fence of a lane that is
                                                  at hand for its wait alone */


/* bytes of what is to be sent, at hand at a time; of them for a request that
   is not answered yet */
#define DELIVERY_QUEUE_BYTES    (16 * 1024 * 1024)
#define DELIVERY_QUEUE_REQUEST  (16 * 1024)


#define DELIVERY_TURN_DEADLINE   15000   /* ms, of a request */
#define DELIVERY_TURN_SPARE      5000    /* ms, of a lease */
#define DELIVERY_TURN_MARGIN     50      /* ms, behind a pause */

#define DELIVERY_TURN_LATELY     500     /* ms, from one count of the
                                            requests to the next */
#define DELIVERY_TURN_SLOW       100     /* ms, a step that hangs */


static ngx_int_t delivery_lanes_enter(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_queue_t *place,
    ngx_guildlog_lane_t **entered);
static ngx_uint_t delivery_lanes_is_ours(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static ngx_guildlog_lane_t *delivery_lanes_lane(ngx_guildlog_delivery_t *d,
    const ngx_str_t *guild, const ngx_str_t *id);
static ngx_guildlog_guild_t *delivery_lanes_guild(ngx_guildlog_delivery_t *d,
    const ngx_str_t *id);
static void delivery_lanes_forget_in(ngx_guildlog_delivery_t *d,
    ngx_queue_t *place);
static void delivery_lanes_free_in(ngx_queue_t *place);
static ngx_uint_t delivery_lanes_is_busy(ngx_guildlog_lane_t *lane);
static void delivery_lanes_doubted(void *data,
    ngx_guildlog_db_result_t *result);
static void delivery_queue_check(const ngx_guildlog_lane_t *lane);
static void delivery_queue_check_free(const ngx_guildlog_lane_t *lane);
static void delivery_queue_timer(ngx_event_t *ev);
static void delivery_queue_sent(ngx_guildlog_lane_t *lane);
static void delivery_queue_leave(ngx_guildlog_lane_t *lane);
static void delivery_queue_free(ngx_guildlog_lane_t *lane);
static ngx_uint_t delivery_queue_has_changed(ngx_guildlog_delivery_t *d,
    const ngx_str_t *guild, const ngx_str_t *id);
static uint64_t delivery_queue_key(const ngx_str_t *guild,
    const ngx_str_t *id);
static ngx_uint_t delivery_slot_grant(ngx_guildlog_lane_t *lane);
static ngx_uint_t delivery_slot_safe(ngx_guildlog_delivery_t *d);


void
ngx_guildlog_delivery_lanes_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_int_t              rc;
    ngx_str_t              guild, id, since;
    ngx_msec_t             slow_to, sure_at, wait;
    ngx_uint_t             slow, asked, bare;
    ngx_guildlog_lane_t   *lane;

    slow = 0;
    slow_to = 0;
    asked = 0;
    sure_at = 0;
    wait = 0;
    bare = 0;

    guild = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_GUILD);
    id = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_LANE);
    since = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_SINCE);

    if (!delivery_lanes_is_ours(d, result, row)) {
        return;
    }

    lane = delivery_lanes_lane(d, &guild, &id);

    if (lane && ngx_guildlog_str_eq(&lane->since, &since)
        && lane->fence != DELIVERY_LANES_LEFT)
    {
        return;
    }

    /* it was called for again: its facts may be others, once nothing of it is
       under way.  Race: the find may have read it before it was told to wait,
       and after it was called for again */

    if (delivery_queue_has_changed(d, &guild, &id)
        || (lane && delivery_lanes_is_busy(lane)))
    {
        d->missed = 1;
        return;
    }

    if (lane) {
        slow = lane->slow;
        slow_to = lane->slow_to;
        asked = lane->asked;
        sure_at = lane->sure_at;
        bare = lane->webhook.len == 0 && lane->fence != DELIVERY_LANES_LEFT;

        if (lane->owes) {
            wait = ngx_guildlog_lane_outcome_wait(lane);
        }

        delivery_queue_leave(lane);
        delivery_queue_free(lane);
    }

    rc = delivery_lanes_enter(d, result, row,
                              &d->lanes[ngx_guildlog_lane_row_id(&id)
                                 % NGX_GUILDLOG_DELIVERY_BUCKETS],
                              &lane);

    /* out of memory: a find has passed this lane, so only a sweep sees it */

    if (rc == NGX_ERROR) {
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
        return;
    }

    if (rc != NGX_OK) {
        return;
    }

    /* the pace was learnt from the channel, which is the same */

    lane->slow = slow;
    lane->slow_to = slow_to;

    /* the database does not know whether there was an answer to the request for
       a webhook; of what others asked for meanwhile it alone knows */

    if (bare && lane->webhook.len == 0) {
        lane->asked = asked;
        lane->sure_at = sure_at;
    }

    if (wait) {
        ngx_guildlog_lane_outcome_put_off(lane, wait);
    }

    ngx_guildlog_lane_start(lane);
}


static ngx_int_t
delivery_lanes_enter(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_queue_t *place,
    ngx_guildlog_lane_t **entered)
{
    ngx_int_t             rc;
    ngx_guildlog_lane_t  *lane;

    rc = ngx_guildlog_lane_create(d, &d->env, result, row, &lane);
    if (rc != NGX_OK) {
        return rc;
    }

    lane->round = delivery_lanes_guild(d, &lane->guild);
    if (lane->round == NULL) {
        ngx_guildlog_lane_memory_free(lane);
        return NGX_ERROR;
    }

    d->nlanes++;
    lane->round->lanes++;

    ngx_queue_insert_tail(place, &lane->link);

    *entered = lane;

    return NGX_OK;
}


/* found under a lease that this worker still has */

static ngx_uint_t
delivery_lanes_is_ours(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_uint_t  shard;

    shard = ngx_guildlog_lane_row_number(result, row, NGX_GUILDLOG_FOUND_SHARD);

    return d->fences[shard % NGX_GUILDLOG_DELIVERY_SHARDS]
           == ngx_guildlog_lane_row_number(result, row,
                                           NGX_GUILDLOG_FOUND_FENCE);
}


static ngx_guildlog_lane_t *
delivery_lanes_lane(ngx_guildlog_delivery_t *d, const ngx_str_t *guild,
    const ngx_str_t *id)
{
    uint64_t              key;
    ngx_queue_t          *q, *bucket;
    ngx_guildlog_lane_t  *lane;

    key = ngx_guildlog_lane_row_id(id);
    bucket = &d->lanes[key % NGX_GUILDLOG_DELIVERY_BUCKETS];

    ngx_guildlog_queue_each(q, bucket) {
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

        if (lane->key == key && ngx_guildlog_str_eq(&lane->guild, guild)) {
            return lane;
        }
    }

    return NULL;
}


static ngx_guildlog_guild_t *
delivery_lanes_guild(ngx_guildlog_delivery_t *d, const ngx_str_t *id)
{
    ngx_queue_t           *q, *bucket;
    ngx_guildlog_guild_t  *guild;

    bucket = &d->guilds[ngx_guildlog_lane_row_id(id)
                        % NGX_GUILDLOG_DELIVERY_BUCKETS];

    ngx_guildlog_queue_each(q, bucket) {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, link);

        if (ngx_guildlog_str_eq(&guild->id, id)) {
            return guild;
        }
    }

    guild = ngx_calloc(sizeof(ngx_guildlog_guild_t) + id->len, d->env.log);
    if (guild == NULL) {
        return NULL;
    }

    guild->id.data = (u_char *) guild + sizeof(ngx_guildlog_guild_t);
    guild->id.len = id->len;
    ngx_memcpy(guild->id.data, id->data, id->len);

    ngx_queue_init(&guild->waiting);
    ngx_queue_insert_tail(bucket, &guild->link);

    return guild;
}


void
ngx_guildlog_delivery_lanes_forget_lost(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        delivery_lanes_forget_in(d, &d->lanes[i]);
    }

    delivery_lanes_forget_in(d, &d->doubts);
}


static void
delivery_lanes_forget_in(ngx_guildlog_delivery_t *d, ngx_queue_t *place)
{
    ngx_queue_t          *q, *next;
    ngx_guildlog_lane_t  *lane;

    for (q = ngx_queue_head(place); q != ngx_queue_sentinel(place); q = next) {
        next = ngx_queue_next(q);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

        if (d->fences[lane->shard] != lane->fence
            && lane->fence != DELIVERY_LANES_LEFT)
        {
            ngx_guildlog_delivery_queue_forget(lane);
        }
    }
}


/* at the end: what is under way is dropped */

void
ngx_guildlog_delivery_lanes_free(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t    i;
    ngx_queue_t  *q, *next;

    delivery_lanes_free_in(&d->doubts);

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        delivery_lanes_free_in(&d->lanes[i]);

        for (q = ngx_queue_head(&d->guilds[i]);
             q != ngx_queue_sentinel(&d->guilds[i]);
             q = next)
        {
            next = ngx_queue_next(q);
            ngx_free(ngx_queue_data(q, ngx_guildlog_guild_t, link));
        }

        ngx_queue_init(&d->guilds[i]);
    }
}


static void
delivery_lanes_free_in(ngx_queue_t *place)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(place)) {
        q = ngx_queue_head(place);
        ngx_queue_remove(q);
        ngx_guildlog_lane_memory_free(ngx_queue_data(q, ngx_guildlog_lane_t,
                                                     link));
    }
}


/* is something of it under way? */

static ngx_uint_t
delivery_lanes_is_busy(ngx_guildlog_lane_t *lane)
{
    return lane->stepping || lane->goes_on || lane->query || lane->exchange
           || lane->permit == NGX_GUILDLOG_PERMIT_GRANTED;
}


ngx_uint_t
ngx_guildlog_delivery_lanes_busy(ngx_guildlog_delivery_t *d, ngx_int_t shard)
{
    ngx_uint_t            i;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {

        ngx_guildlog_queue_each(q, &d->lanes[i]) {
            lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

            if ((shard == -1 || lane->shard == (ngx_uint_t) shard)
                && delivery_lanes_is_busy(lane))
            {
                return 1;
            }
        }
    }

    return 0;
}


void
ngx_guildlog_delivery_lanes_doubts(ngx_guildlog_delivery_t *d)
{
    ngx_str_t  args[3];

    /* those at hand come first, however long they take */

    if (d->doubt || !ngx_queue_empty(&d->doubts)
        || !ngx_guildlog_delivery_due(d->doubt_at))
    {
        return;
    }

    d->doubt_at = ngx_current_msec + DELIVERY_LANES_DOUBTS_INTERVAL;

    args[0] = d->env.me;
    ngx_str_set(&args[1], ngx_value(NGX_GUILDLOG_DELIVERY_DOUBTS));
    ngx_guildlog_lane_tell_bool(&args[2], d->apart_doubts);

    d->doubt = ngx_guildlog_db_pool_submit(d->env.pool,
                                           ngx_guildlog_stmt(delivery_doubts),
                                           args, delivery_lanes_doubted, d);
}


static void
delivery_lanes_doubted(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t            row, blames;
    ngx_guildlog_lane_t  *lane;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        blames = ngx_guildlog_delivery_park_blames(result);

        if (d->apart_doubts || !blames) {
            ngx_guildlog_delivery_park_log(&d->env, "doubts", result);

        } else {
            d->doubt_at = ngx_current_msec;
        }

        d->apart_doubts = !d->apart_doubts && blames;
        return;
    }

    d->apart_doubts = 0;

    for (row = 0; row < result->rows; row++) {
        if (!ngx_guildlog_delivery_park_row(&d->env, result, row)
            && !ngx_exiting && delivery_lanes_is_ours(d, result, row)
            && delivery_lanes_enter(d, result, row, &d->doubts, &lane)
               == NGX_OK)
        {
            ngx_guildlog_lane_start(lane);
        }
    }
}


/*
 * The queues of the loop, and its two events: the tick, which finds, grants
 * and commits, and the one that lets lanes go on.
 */

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


/* a lane as it is whenever it moves */

static void
delivery_queue_check(const ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_assert(lane->state < NGX_GUILDLOG_STATE_LAST);
    ngx_guildlog_assert(lane->head <= lane->upto);
    ngx_guildlog_assert(lane->nids <= NGX_GUILDLOG_LANE_ENTRIES);

    ngx_guildlog_assert(lane->n <= NGX_GUILDLOG_LANE_ENTRIES);
    ngx_guildlog_assert(lane->n == 0 || lane->entries);
    ngx_guildlog_assert(lane->n == 0 || lane->entries[0].seq > lane->head);
    ngx_guildlog_assert(lane->bytes >= lane->room);
    ngx_guildlog_assert(lane->delivery->bytes >= lane->bytes);

    ngx_guildlog_assert(!lane->submitted || lane->stepping);
    ngx_guildlog_assert(!lane->stepping || !lane->goes_on);
    ngx_guildlog_assert(lane->permit != NGX_GUILDLOG_PERMIT_WAITS
                        || (!lane->stepping && !lane->goes_on));

    /* a step may be under way with a permit, but for nothing that was sent */

    ngx_guildlog_assert(lane->exchange == NULL
                        || lane->permit == NGX_GUILDLOG_PERMIT_SENT);
    ngx_guildlog_assert(lane->exchange == NULL || !lane->stepping);

    ngx_guildlog_assert(lane->round->lanes > 0);
    ngx_guildlog_assert(lane->round->sending <= NGX_GUILDLOG_DELIVERY_GUILD);
    ngx_guildlog_assert(lane->permit < NGX_GUILDLOG_PERMIT_GRANTED
                        || lane->round->sending > 0);
}


/* it has what it waited for, and waits for nothing else */

static void
delivery_queue_check_free(const ngx_guildlog_lane_t *lane)
{
    delivery_queue_check(lane);

    ngx_guildlog_assert(!lane->stepping);
    ngx_guildlog_assert(!lane->goes_on);
    ngx_guildlog_assert(!lane->dropped);
    ngx_guildlog_assert(!lane->timer.timer_set);
    ngx_guildlog_assert(lane->permit != NGX_GUILDLOG_PERMIT_WAITS);
    ngx_guildlog_assert(lane->exchange == NULL);
    ngx_guildlog_assert(lane->query == NULL);
}


void
ngx_guildlog_delivery_queue_run(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_lane_to(lane, state);

    ngx_guildlog_delivery_queue_resume(lane);
}


void
ngx_guildlog_delivery_queue_resume(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_lane_state_t  *state;

    delivery_queue_check_free(lane);

    state = &ngx_guildlog_lane_states[lane->state];

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

    delivery_queue_check_free(lane);
    ngx_guildlog_assert(lane->permit == NGX_GUILDLOG_PERMIT_NONE);
    ngx_guildlog_assert(lane->n == 0);

    ngx_guildlog_lane_to(lane, state);

    ngx_guildlog_event_init(&lane->timer, delivery_queue_timer, lane,
                            lane->env->log);
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

    delivery_queue_check_free(lane);
    ngx_guildlog_assert(lane->permit == NGX_GUILDLOG_PERMIT_NONE);

    ngx_guildlog_lane_to(lane, state);
    lane->permit = NGX_GUILDLOG_PERMIT_WAITS;

    ngx_queue_insert_tail(&lane->round->waiting, &lane->queue);
    ngx_guildlog_delivery_queue_line_up(lane->delivery, lane->round);

    ngx_guildlog_delivery_queue_post(lane->delivery);
}


void
ngx_guildlog_delivery_queue_step(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    delivery_queue_check_free(lane);
    ngx_guildlog_assert(lane->permit != NGX_GUILDLOG_PERMIT_SENT);
    ngx_guildlog_assert(lane->work.done_to == 0
                        || lane->work.done_to > lane->head);
    ngx_guildlog_assert(lane->work.begin_to == 0
                        || lane->work.begin_to > ngx_max(lane->work.done_to,
                                                         lane->head));
    ngx_guildlog_assert(lane->work.changes
                        || (!lane->work.done_to && !lane->work.begin_to));
    ngx_guildlog_assert(lane->work.begin_to == 0 || lane->body.data);

    ngx_guildlog_lane_to(lane, state);
    lane->stepping = 1;
    lane->repeated = 0;
    lane->starved = 0;

    if (lane->work.peek >= 0 && !lane->work.bare) {
        lane->room = NGX_GUILDLOG_LANE_BYTES;
        lane->bytes += lane->room;
        d->bytes += lane->room;
    }

    /* from the next pass of the event loop on, together with others */

    if (ngx_queue_empty(&d->stepping)) {
        ngx_guildlog_delivery_queue_post(d);
    }

    ngx_queue_insert_tail(&d->stepping, &lane->queue);
}


void
ngx_guildlog_delivery_queue_go_on(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state)
{
    delivery_queue_check_free(lane);

    ngx_guildlog_lane_to(lane, state);
    lane->goes_on = 1;

    ngx_queue_insert_tail(&lane->delivery->going, &lane->queue);
    ngx_guildlog_delivery_queue_post_go(lane->delivery);
}


void
ngx_guildlog_delivery_queue_line_up(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild)
{
    if (!guild->queued && !ngx_queue_empty(&guild->waiting)
        && guild->sending < NGX_GUILDLOG_DELIVERY_GUILD)
    {
        guild->queued = 1;
        ngx_queue_insert_tail(&d->rounds, &guild->queue);
    }
}


/* the lane's permit has ended */

static void
delivery_queue_sent(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_assert(lane->permit >= NGX_GUILDLOG_PERMIT_GRANTED);
    ngx_guildlog_assert(lane->round->sending > 0);

    lane->permit = NGX_GUILDLOG_PERMIT_NONE;
    lane->round->sending--;

    ngx_guildlog_delivery_queue_line_up(lane->delivery, lane->round);
}


void
ngx_guildlog_delivery_queue_give_back(ngx_guildlog_lane_t *lane)
{
    if (lane->permit == NGX_GUILDLOG_PERMIT_GRANTED) {
        ngx_guildlog_pace_cancelled(&lane->delivery->pace);
        delivery_queue_sent(lane);
    }
}


void
ngx_guildlog_delivery_queue_forget(ngx_guildlog_lane_t *lane)
{
    ngx_msec_t  wait;

    /* its step has a pointer to it */

    if (lane->submitted) {
        lane->dropped = 1;
        return;
    }

    delivery_queue_leave(lane);

    /* Race: its lease may end before the database knows of the wait, and this
       process have it again; the platform told it to wait all the same */

    wait = ngx_guildlog_lane_outcome_wait(lane);

    if (lane->owes && !lane->lone && wait) {
        lane->fence = DELIVERY_LANES_LEFT;
        ngx_guildlog_delivery_queue_sleep(lane, wait,
                                          NGX_GUILDLOG_STATE_FORGET);
        return;
    }

    delivery_queue_free(lane);
}


/* nothing waits for it any more, nor it for anything */

static void
delivery_queue_leave(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t     *guild;
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;
    guild = lane->round;

    switch (lane->permit) {

    case NGX_GUILDLOG_PERMIT_WAITS:
        ngx_queue_remove(&lane->queue);
        lane->permit = NGX_GUILDLOG_PERMIT_NONE;

        if (guild->queued && ngx_queue_empty(&guild->waiting)) {
            guild->queued = 0;
            ngx_queue_remove(&guild->queue);
        }

        break;

    case NGX_GUILDLOG_PERMIT_SENT:
        d->open--;
        delivery_queue_sent(lane);
        break;

    default:
        ngx_guildlog_delivery_queue_give_back(lane);
    }

    if (lane->stepping || lane->goes_on) {
        ngx_queue_remove(&lane->queue);
    }

    lane->stepping = 0;
    lane->goes_on = 0;
    lane->dropped = 0;

    ngx_guildlog_delivery_queue_changed(lane);
    ngx_guildlog_delivery_queue_settle(lane);
    ngx_guildlog_lane_memory_stop(lane);
}


static void
delivery_queue_free(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t  *guild;

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, lane->env->log, 0,
                   "guildlog lane %V of server %V: gone", &lane->id,
                   &lane->guild);

    guild = lane->round;

    ngx_guildlog_assert(lane->delivery->nlanes > 0 && guild->lanes > 0);

    lane->delivery->nlanes--;
    ngx_queue_remove(&lane->link);
    ngx_guildlog_lane_memory_free(lane);

    guild->lanes--;
    ngx_guildlog_delivery_queue_let_guild(guild);
}


void
ngx_guildlog_delivery_queue_changed(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    if (d->find && !lane->lone) {
        d->changed[d->nchanged++ % NGX_GUILDLOG_DELIVERY_CHANGED] =
                delivery_queue_key(&lane->guild, &lane->id);
    }
}


/* 1: the lane went, or was told something, while the find was under way */

static ngx_uint_t
delivery_queue_has_changed(ngx_guildlog_delivery_t *d, const ngx_str_t *guild,
    const ngx_str_t *id)
{
    uint64_t    key;
    ngx_uint_t  i, n;

    key = delivery_queue_key(guild, id);
    n = ngx_min(d->nchanged, NGX_GUILDLOG_DELIVERY_CHANGED);

    for (i = 0; i < n; i++) {
        if (d->changed[i] == key) {
            return 1;
        }
    }

    return 0;
}


/* that two of them are equal costs a find */

static uint64_t
delivery_queue_key(const ngx_str_t *guild, const ngx_str_t *id)
{
    return ngx_guildlog_lane_row_id(guild) * 31 + ngx_guildlog_lane_row_id(id);
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
    return d->bytes + d->open * DELIVERY_QUEUE_REQUEST
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


/*
 * Who sends next, at the pace that the platform bears, and how much delivery
 * leaves to requests: they find a processor free if delivery takes one at most,
 * and the worker's event loop if it takes a little at a time.  The guilds take
 * rounds; each may have NGX_GUILDLOG_DELIVERY_GUILD requests under way at once.
 */

void
ngx_guildlog_delivery_slots(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t           *q;
    ngx_guildlog_lane_t   *lane;
    ngx_guildlog_guild_t  *guild;

    if (!delivery_slot_safe(d)) {
        return;
    }

    while (!ngx_queue_empty(&d->rounds)) {
        guild = ngx_queue_data(ngx_queue_head(&d->rounds),
                               ngx_guildlog_guild_t, queue);

        if (ngx_guildlog_delivery_refused_rests(guild)) {
            ngx_queue_remove(&guild->queue);
            guild->queued = 0;
            ngx_guildlog_delivery_refused_put_off(guild);
            continue;
        }

        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);

        if (!delivery_slot_grant(lane)) {
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
delivery_slot_grant(ngx_guildlog_lane_t *lane)
{
    if (!ngx_guildlog_delivery_queue_room(lane->delivery)
        || !ngx_guildlog_pace_take(&lane->delivery->pace, ngx_current_msec))
    {
        return 0;
    }

    ngx_guildlog_assert(lane->permit < NGX_GUILDLOG_PERMIT_GRANTED);
    ngx_guildlog_assert(lane->exchange == NULL);

    lane->permit = NGX_GUILDLOG_PERMIT_GRANTED;
    lane->round->sending++;

    return 1;
}


ngx_uint_t
ngx_guildlog_delivery_slot_take(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    return !ngx_exiting
           && ngx_queue_empty(&d->rounds)
           && !ngx_guildlog_delivery_refused_rests(lane->round)
           && lane->round->sending < NGX_GUILDLOG_DELIVERY_GUILD
           && delivery_slot_safe(d)
           && delivery_slot_grant(lane);
}


/* would a request be answered before the leases end? */

static ngx_uint_t
delivery_slot_safe(ngx_guildlog_delivery_t *d)
{
    return (ngx_msec_int_t) (d->lease_until - ngx_current_msec)
           >= DELIVERY_TURN_DEADLINE + DELIVERY_TURN_SPARE;
}


ngx_int_t
ngx_guildlog_delivery_slot_send(ngx_guildlog_lane_t *lane, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body,
    ngx_guildlog_client_handler_pt handler)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    /* a process that was stopped for a while does not know it yet */

    ngx_time_update();

    ngx_guildlog_assert(lane->permit == NGX_GUILDLOG_PERMIT_GRANTED);

    if (delivery_slot_safe(d)
        && !ngx_guildlog_pace_paused(&d->pace, ngx_current_msec))
    {
        lane->exchange = ngx_guildlog_client_send(d->env.client, method, path,
                             authorization, type, body,
                             DELIVERY_TURN_DEADLINE, handler, lane);
    }

    /* Race: a question of another process took the last slot */

    if (lane->exchange && !ngx_guildlog_pace_sent(&d->pace, ngx_current_msec)) {
        ngx_guildlog_client_cancel(lane->exchange);
        lane->exchange = NULL;
    }

    if (lane->exchange == NULL) {
        ngx_guildlog_delivery_queue_give_back(lane);
        return NGX_DECLINED;
    }

    lane->permit = NGX_GUILDLOG_PERMIT_SENT;
    d->open++;

    return NGX_OK;
}


void
ngx_guildlog_delivery_slot_answered(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_verdict_t *verdict)
{
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    if (verdict->refused) {
        ngx_guildlog_delivery_refused(d, lane->round);
    }

    d->open--;
    delivery_queue_sent(lane);

    if (ngx_guildlog_pace_answered(&d->pace, ngx_current_msec, verdict->failed,
                                   verdict->invalid))
    {
        ngx_log_error(NGX_LOG_NOTICE, d->env.log, 0, "the platform is there");
    }

    if (verdict->pause_ms) {
        ngx_log_error(NGX_LOG_WARN, d->env.log, 0,
                      "the platform wants this address to pause for %ui ms",
                      verdict->pause_ms);
        ngx_guildlog_pace_pause(&d->pace, ngx_current_msec,
                                verdict->pause_ms + DELIVERY_TURN_MARGIN);
    }
}


ngx_uint_t
ngx_guildlog_delivery_slot_requests(ngx_guildlog_delivery_t *d)
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
ngx_guildlog_delivery_slot_stepping(ngx_guildlog_delivery_t *d)
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
