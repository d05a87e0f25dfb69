
/*
 * Leases: who has which shards, and until when.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "jobs/ngx_guildlog_owner.h"


#define DELIVERY_LEASE_HEARTBEAT  5000    /* ms */
#define DELIVERY_LEASE_HASTE      500     /* ms, for more shards */
#define DELIVERY_LEASE_MS         30000   /* ms, as the schema has it */


static u_char *delivery_lease_giveaway(ngx_guildlog_delivery_t *d, u_char *p);
static void delivery_lease_done(void *data, ngx_guildlog_db_result_t *result);
static ngx_uint_t delivery_lease_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);


void
ngx_guildlog_delivery_lease(ngx_guildlog_delivery_t *d)
{
    u_char     give[4 * NGX_GUILDLOG_DELIVERY_SHARDS];
    ngx_str_t  args[4];

    args[0] = d->env.me;
    args[1] = d->dead;
    args[2].data = give;
    args[2].len = delivery_lease_giveaway(d, give) - give;

    d->leaves = ngx_exiting;

    if (d->leaves) {
        ngx_str_set(&args[3], "true");

    } else {
        ngx_str_set(&args[3], "false");
    }

    d->lease_asked = ngx_current_msec;
    d->lease_at = ngx_current_msec + DELIVERY_LEASE_HEARTBEAT;

    d->lease = ngx_guildlog_db_pool_submit(d->env.pool,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_lease],
                       args, delivery_lease_done, d);

    if (d->lease == NULL && ngx_exiting) {
        d->left = 1;
    }
}


/*
 * Gives away the shards beyond a fair share, or all of them, of those where
 * nothing is under way.  They are not ours from now on, so that nothing gets
 * under way meanwhile.  If a shard was not given away after all, the answer
 * says that it is ours.
 */

static u_char *
delivery_lease_giveaway(ngx_guildlog_delivery_t *d, u_char *p)
{
    ngx_uint_t  i, more, given;

    more = ngx_exiting ? d->mine : d->mine - ngx_min(d->mine, d->share);
    given = 0;

    *p++ = '{';

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_SHARDS && given < more; i++) {

        if (d->fences[i] == -1
            || ngx_guildlog_delivery_lanes_busy(d, (ngx_int_t) i))
        {
            continue;
        }

        p = ngx_sprintf(p, given ? ",%ui" : "%ui", i);
        given++;
        d->mine--;
        d->fences[i] = -1;
    }

    *p++ = '}';

    if (given) {
        ngx_guildlog_delivery_lanes_forget_lost(d);
    }

    return p;
}


/* if something is not committed when a lease ends, the next owner finds out
   what became of it */

static void
delivery_lease_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t  dead;

    d->lease = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "leases", result);

        if (ngx_exiting
            && (!ngx_guildlog_delivery_lanes_busy(d, -1)
                || ngx_guildlog_delivery_due(d->lease_until)))
        {
            d->left = 1;
        }

        d->lease_at = ngx_current_msec + DELIVERY_LEASE_HASTE;
        return;
    }

    d->lease_until = d->lease_asked + DELIVERY_LEASE_MS;
    d->leased = 1;

    dead = delivery_lease_hold(d, result);

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog delivery: %ui shards of %ui", d->mine, d->share);

    if (dead) {
        d->lease_at = ngx_current_msec;

    } else if (ngx_exiting || d->mine < d->share) {
        d->lease_at = ngx_current_msec + DELIVERY_LEASE_HASTE;
    }

    if (d->leaves && d->mine == 0) {
        d->left = 1;
    }
}


/* 1: some owner is known to be dead.  An owner without a shard has a row too */

static ngx_uint_t
delivery_lease_hold(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    int64_t           fence;
    ngx_str_t         owner, number, *dead;
    ngx_uint_t        row, shard, gained, lost, found;

    static u_char     buf[512];
    static ngx_str_t  none = ngx_string("{}");

    d->mine = 0;
    gained = 0;
    lost = 0;
    found = 0;
    dead = &d->dead;
    *dead = none;

    for (row = 0; row < result->rows; row++) {
        number = ngx_guildlog_db_result_value(result, row, 0);
        shard = ngx_guildlog_lane_row_number(result, row, 0)
                % NGX_GUILDLOG_DELIVERY_SHARDS;
        owner = ngx_guildlog_db_result_value(result, row, 1);
        fence = -1;

        if (ngx_guildlog_lane_row_true(result, row, 3)) {
            fence = ngx_guildlog_lane_row_number(result, row, 2);
            d->mine++;

        } else if (owner.len && !found && owner.len < sizeof(buf) - 4
                   && ngx_guildlog_owner_dead(&d->env.me, &owner))
        {
            dead->data = buf;
            dead->len = ngx_sprintf(buf, "{\"%V\"}", &owner) - buf;
            found = 1;
        }

        if (number.len == 0) {
            continue;
        }

        gained |= fence != d->fences[shard] && fence != -1;
        lost += fence != d->fences[shard] && d->fences[shard] != -1;
        d->fences[shard] = fence;
        d->share = ngx_guildlog_lane_row_number(result, row, 4);
    }

    ngx_guildlog_stats_count(d->env.stats, NGX_GUILDLOG_COUNT_LEASES_LOST,
                             lost);
    ngx_guildlog_delivery_lanes_forget_lost(d);

    if (gained) {
        d->find_at = ngx_current_msec;
        d->sweep_at = ngx_current_msec;
    }

    return found;
}
