
/*
 * The lanes at hand and their servers: met when they have something to do,
 * forgotten when they have not, or are somebody else's.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


static void ngx_guildlog_delivery_said(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_turned(void *data,
    ngx_guildlog_db_result_t *result);
static ngx_guildlog_lane_t *ngx_guildlog_delivery_lane(
    ngx_guildlog_delivery_t *d, const ngx_str_t *guild, const ngx_str_t *id);
static ngx_guildlog_guild_t *ngx_guildlog_delivery_guild(
    ngx_guildlog_delivery_t *d, const ngx_str_t *id);
static void ngx_guildlog_delivery_forget_in(ngx_guildlog_delivery_t *d,
    ngx_queue_t *place);
static void ngx_guildlog_delivery_drop_in(ngx_queue_t *place);
static ngx_uint_t ngx_guildlog_delivery_busy(ngx_guildlog_lane_t *lane);


void
ngx_guildlog_delivery_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_int_t              rc;
    ngx_str_t              guild, id, since;
    ngx_msec_t             slow_to, sure_at;
    ngx_uint_t             shard, slow, asked, bare;
    ngx_guildlog_lane_t   *lane;

    slow = 0;
    slow_to = 0;
    asked = 0;
    sure_at = 0;
    bare = 0;

    guild = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FACT_GUILD);
    id = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FACT_LANE);
    since = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FACT_SINCE);
    shard = ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_SHARD);

    if (d->fences[shard % NGX_GUILDLOG_DELIVERY_SHARDS]
        != ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_FENCE))
    {
        return;
    }

    lane = ngx_guildlog_delivery_lane(d, &guild, &id);

    if (lane) {

        if (lane->since.len == since.len
            && ngx_memcmp(lane->since.data, since.data, since.len) == 0)
        {
            return;
        }

        /* it was called for again: its facts may be others, once it rests */

        if (ngx_guildlog_delivery_busy(lane)) {
            d->missed = 1;
            return;
        }

        slow = lane->slow;
        slow_to = lane->slow_to;
        asked = lane->asked;
        sure_at = lane->sure_at;
        bare = lane->webhook.len == 0;

        ngx_guildlog_delivery_forget(lane);
    }

    rc = ngx_guildlog_delivery_enter(d, result, row,
                                &d->lanes[ngx_guildlog_lane_number(&id)
                                          % NGX_GUILDLOG_DELIVERY_BUCKETS],
                                     &lane);

    /* what was called for before is seen only if all is looked at */

    if (rc == NGX_ERROR) {
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
        return;
    }

    if (rc != NGX_OK) {
        return;
    }

    /* a learnt pace is its channel's */

    lane->slow = slow;
    lane->slow_to = slow_to;

    /* that there was an answer, and no webhook, is noted here alone */

    if (bare && lane->webhook.len == 0) {
        lane->asked = asked;
        lane->sure_at = sure_at;
    }
}


ngx_int_t
ngx_guildlog_delivery_enter(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_queue_t *place,
    ngx_guildlog_lane_t **entered)
{
    ngx_int_t             rc;
    ngx_guildlog_lane_t  *lane;

    rc = ngx_guildlog_lane_create(d, result, row, d->log, &lane);
    if (rc != NGX_OK) {
        return rc;
    }

    lane->server = ngx_guildlog_delivery_guild(d, &lane->guild);
    if (lane->server == NULL) {
        ngx_guildlog_lane_destroy(lane);
        return NGX_ERROR;
    }

    d->nlanes++;
    lane->server->lanes++;

    ngx_queue_insert_tail(place, &lane->link);

    ngx_guildlog_lane_start(lane);

    *entered = lane;

    return NGX_OK;
}


static ngx_guildlog_lane_t *
ngx_guildlog_delivery_lane(ngx_guildlog_delivery_t *d, const ngx_str_t *guild,
    const ngx_str_t *id)
{
    uint64_t              key;
    ngx_queue_t          *q, *bucket;
    ngx_guildlog_lane_t  *lane;

    key = ngx_guildlog_lane_number(id);
    bucket = &d->lanes[key % NGX_GUILDLOG_DELIVERY_BUCKETS];

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

        if (lane->key == key && lane->guild.len == guild->len
            && ngx_memcmp(lane->guild.data, guild->data, guild->len) == 0)
        {
            return lane;
        }
    }

    return NULL;
}


static ngx_guildlog_guild_t *
ngx_guildlog_delivery_guild(ngx_guildlog_delivery_t *d, const ngx_str_t *id)
{
    ngx_queue_t           *q, *bucket;
    ngx_guildlog_guild_t  *guild;

    bucket = &d->guilds[ngx_guildlog_lane_number(id)
                        % NGX_GUILDLOG_DELIVERY_BUCKETS];

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, link);

        if (guild->id.len == id->len
            && ngx_memcmp(guild->id.data, id->data, id->len) == 0)
        {
            return guild;
        }
    }

    guild = ngx_calloc(sizeof(ngx_guildlog_guild_t) + id->len, d->log);
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
ngx_guildlog_delivery_say(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_guildlog_delivery_ask(lane, stmt, args, nargs,
                                 ngx_guildlog_delivery_said);
}


void
ngx_guildlog_delivery_turn(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_guildlog_delivery_ask(lane, stmt, args, nargs,
                                 ngx_guildlog_delivery_turned);
}


void
ngx_guildlog_delivery_ask(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs,
    ngx_guildlog_db_handler_pt handler)
{
    ngx_str_t                 all[8];
    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;

    all[0] = d->me;
    ngx_memcpy(&all[1], args, nargs * sizeof(ngx_str_t));

    lane->query = ngx_guildlog_db_pool_submit(d->pool,
                                              &ngx_guildlog_stmts[stmt], all,
                                              handler, lane);

    if (lane->query == NULL) {
        ngx_guildlog_delivery_forget(lane);
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }
}


static void
ngx_guildlog_delivery_said(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_str_t  said;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_turned(lane, result);
        return;
    }

    said = ngx_guildlog_db_result_value(result, 0, 0);

    lane->query = NULL;
    lane->denied = said.len == 0 || said.data[0] != '2';

    ngx_guildlog_delivery_go_on(lane);
}


static void
ngx_guildlog_delivery_turned(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;
    lane->query = NULL;

    if (!lane->lone && ngx_guildlog_delivery_to_blame(result)) {
        ngx_guildlog_delivery_park(lane, result);
        return;
    }

    ngx_guildlog_delivery_forget(lane);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        d->find_at = ngx_current_msec;
        return;
    }

    /* it was another one's, or had been found a moment too early */

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED
        || ngx_strcmp(result->sqlstate, "GL409") != 0)
    {
        ngx_guildlog_delivery_refused(d, "a lane", result);
    }

    d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    d->find_at = d->sweep_at;
}


void
ngx_guildlog_delivery_forget(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_guild_t     *guild;
    ngx_guildlog_delivery_t  *d;

    /* its step has a pointer to it */

    if (lane->submitted) {
        lane->dropped = 1;
        return;
    }

    d = lane->delivery;
    guild = lane->server;

    switch (lane->turn) {

    case NGX_GUILDLOG_TURN_WAITS:
        ngx_guildlog_delivery_step_aside(lane);
        break;

    case NGX_GUILDLOG_TURN_SENT:
        ngx_guildlog_pace_dropped(&d->pace);
        ngx_guildlog_delivery_sent(lane);
        break;

    default:
        ngx_guildlog_delivery_give_back(lane);
    }

    if (lane->stepping || lane->goes_on) {
        ngx_queue_remove(&lane->queue);
    }

    d->nlanes--;
    ngx_queue_remove(&lane->link);
    ngx_guildlog_delivery_settle(lane);
    ngx_guildlog_lane_destroy(lane);

    guild->lanes--;
    ngx_guildlog_delivery_let_guild(guild);
}


void
ngx_guildlog_delivery_let_guild(ngx_guildlog_guild_t *guild)
{
    if (guild->lanes == 0 && !guild->tells) {
        ngx_queue_remove(&guild->link);
        ngx_free(guild);
    }
}


void
ngx_guildlog_delivery_forget_lost(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        ngx_guildlog_delivery_forget_in(d, &d->lanes[i]);
    }

    ngx_guildlog_delivery_forget_in(d, &d->doubts);
}


static void
ngx_guildlog_delivery_forget_in(ngx_guildlog_delivery_t *d,
    ngx_queue_t *place)
{
    ngx_queue_t          *q, *next;
    ngx_guildlog_lane_t  *lane;

    for (q = ngx_queue_head(place); q != ngx_queue_sentinel(place); q = next)
    {
        next = ngx_queue_next(q);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

        if (d->fences[lane->shard] != lane->fence) {
            ngx_guildlog_delivery_forget(lane);
        }
    }
}


/* at the end: what is on its way is dropped */

void
ngx_guildlog_delivery_forget_all(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t    i;
    ngx_queue_t  *q, *next;

    ngx_guildlog_delivery_drop_in(&d->doubts);

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {
        ngx_guildlog_delivery_drop_in(&d->lanes[i]);

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
ngx_guildlog_delivery_drop_in(ngx_queue_t *place)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(place)) {
        q = ngx_queue_head(place);
        ngx_queue_remove(q);
        ngx_guildlog_lane_destroy(ngx_queue_data(q, ngx_guildlog_lane_t,
                                                 link));
    }
}


/* something of it is on its way */

static ngx_uint_t
ngx_guildlog_delivery_busy(ngx_guildlog_lane_t *lane)
{
    return lane->stepping || lane->goes_on || lane->query || lane->exchange
           || lane->turn == NGX_GUILDLOG_TURN_GRANTED;
}


ngx_uint_t
ngx_guildlog_delivery_any_busy(ngx_guildlog_delivery_t *d, ngx_int_t shard)
{
    ngx_uint_t            i;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_BUCKETS; i++) {

        for (q = ngx_queue_head(&d->lanes[i]);
             q != ngx_queue_sentinel(&d->lanes[i]);
             q = ngx_queue_next(q))
        {
            lane = ngx_queue_data(q, ngx_guildlog_lane_t, link);

            if ((shard == -1 || lane->shard == (ngx_uint_t) shard)
                && ngx_guildlog_delivery_busy(lane))
            {
                return 1;
            }
        }
    }

    return 0;
}
