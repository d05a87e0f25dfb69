
/*
 * The lanes at hand and their servers.  A lane enters when it has something to
 * do, and is forgotten when it has not, or is somebody else's.  Now and then
 * each unconfirmed message becomes a lane of its own, which looks for it and
 * vanishes.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define DELIVERY_LANES_DOUBTS_INTERVAL  5000   /* ms */


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
static void delivery_lanes_doubts_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);
static void delivery_lanes_doubt_parked(void *data,
    ngx_guildlog_db_result_t *result);


void
ngx_guildlog_delivery_lanes_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_int_t              rc;
    ngx_str_t              guild, id, since;
    ngx_msec_t             slow_to, sure_at;
    ngx_uint_t             slow, asked, bare;
    ngx_guildlog_lane_t   *lane;

    slow = 0;
    slow_to = 0;
    asked = 0;
    sure_at = 0;
    bare = 0;

    guild = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_GUILD);
    id = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_LANE);
    since = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_SINCE);

    if (!delivery_lanes_is_ours(d, result, row)) {
        return;
    }

    lane = delivery_lanes_lane(d, &guild, &id);

    if (lane) {

        if (ngx_guildlog_str_eq(&lane->since, &since)) {
            return;
        }

        /* it was called for again: its facts may be others, once nothing of it
           is under way */

        if (delivery_lanes_is_busy(lane)) {
            d->missed = 1;
            return;
        }

        slow = lane->slow;
        slow_to = lane->slow_to;
        asked = lane->asked;
        sure_at = lane->sure_at;
        bare = lane->webhook.len == 0;

        ngx_guildlog_delivery_queue_forget(lane);

    } else if (ngx_guildlog_delivery_queue_has_ended(d, &guild, &id, &since)) {

        /* Race: the find may have read the lane before it was told to wait */

        d->missed = 1;
        return;
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
       a webhook */

    if (bare && lane->webhook.len == 0) {
        lane->asked = asked;
        lane->sure_at = sure_at;
    }
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

    lane->server = delivery_lanes_guild(d, &lane->guild);
    if (lane->server == NULL) {
        ngx_guildlog_lane_memory_free(lane);
        return NGX_ERROR;
    }

    d->nlanes++;
    lane->server->lanes++;

    ngx_queue_insert_tail(place, &lane->link);

    ngx_guildlog_lane_start(lane);

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

        if (d->fences[lane->shard] != lane->fence) {
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
    u_char     page[NGX_INT_T_LEN];
    ngx_str_t  args[2];

    /* those at hand come first, however long they take */

    if (d->doubt || !ngx_queue_empty(&d->doubts)
        || !ngx_guildlog_delivery_due(d->doubt_at))
    {
        return;
    }

    d->doubt_at = ngx_current_msec + DELIVERY_LANES_DOUBTS_INTERVAL;

    args[0] = d->env.me;
    args[1].data = page;
    args[1].len = ngx_sprintf(page, "%ui", d->page_doubts) - page;

    d->doubt = ngx_guildlog_db_pool_submit(d->env.pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_doubts],
                     args, delivery_lanes_doubted, d);
}


static void
delivery_lanes_doubted(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t            row;
    ngx_guildlog_lane_t  *lane;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        delivery_lanes_doubts_refused(d, result);
        return;
    }

    d->page_doubts = ngx_min(2 * d->page_doubts, NGX_GUILDLOG_DELIVERY_DOUBTS);

    if (ngx_exiting) {
        return;
    }

    for (row = 0; row < result->rows; row++) {
        if (delivery_lanes_is_ours(d, result, row)) {
            (void) delivery_lanes_enter(d, result, row, &d->doubts, &lane);
        }
    }
}


static void
delivery_lanes_doubts_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  args[2];

    if (ngx_exiting || !ngx_guildlog_delivery_park_blames(result)) {
        ngx_guildlog_delivery_park_log(&d->env, "doubts", result);
        return;
    }

    d->doubt_at = ngx_current_msec;

    if (d->page_doubts > 1) {
        d->page_doubts /= 2;
        return;
    }

    /* the statement parks the first one */

    args[0] = d->env.me;
    ngx_guildlog_delivery_park_cause(result, &args[1]);

    d->doubt = ngx_guildlog_db_pool_submit(d->env.pool,
                  &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_doubt_park],
                  args, delivery_lanes_doubt_parked, d);
}


static void
delivery_lanes_doubt_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "a doubt to be parked", result);
        return;
    }

    (void) ngx_guildlog_delivery_park_done(&d->env, result);
}
