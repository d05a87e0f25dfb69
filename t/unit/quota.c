
/*
 * Links ngx_guildlog_quota.c ngx_guildlog_pace.c ngx_guildlog_stats.c
 * ngx_guildlog_zone.c.
 *
 * Questions of requests are part of what the address may send: they are let
 * at its pace, what nobody wants any more costs nothing, and what came of
 * them counts.
 */

#include "shm/ngx_guildlog_quota.h"
#include "tap.h"


static ngx_str_t                    platform = ngx_string("a");
static ngx_guildlog_pace_t          pace;
static ngx_guildlog_pace_kept_t    *kept;
static ngx_guildlog_stats_t         stats;
static ngx_guildlog_stats_shared_t  shared;
static ngx_shm_zone_t               zone;


static void
begin(ngx_pool_t *pool, ngx_uint_t rate)
{
    ngx_memzero(&shared, sizeof(shared));

    kept = &shared.pace;
    (void) ngx_guildlog_pace_init(&pace, kept, &platform, pool, rate);

    zone.data = &shared;
    ngx_guildlog_stats_enter(&stats, &zone);
}


static ngx_uint_t
taken(void)
{
    ngx_uint_t  n;

    for (n = 0; ngx_guildlog_quota_take(&stats); n++) { /* void */ }

    return n;
}


static void
want(ngx_uint_t n)
{
    while (n--) {
        ngx_guildlog_quota_want(&stats);
    }
}


static void
told(ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms)
{
    ngx_guildlog_pace_told(kept, 1000, failed, invalid, pause_ms);
}


static void
test_pace(ngx_pool_t *pool)
{
    begin(pool, 5);

    want(20);
    tap_is(taken(), 0, "nothing is let by itself");

    ngx_guildlog_quota_grant(&stats, &pace, 1000, 2);
    tap_is(taken(), 2, "as many as are to be, at most");

    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(taken(), 3, "and as the rate has left");
    tap_is(ngx_guildlog_pace_take(&pace, 1500), 0,
           "nothing of it is left to others");
    tap_is(pace.open, 0, "no answer is owed");

    ngx_guildlog_quota_grant(&stats, &pace, 2100, 64);
    tap_is(taken(), 5, "a second later it goes on");

    begin(pool, 0);
    want(3);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(taken(), 3, "without a rate all are let");
}


static void
test_give_up(ngx_pool_t *pool)
{
    begin(pool, 5);

    want(3);
    ngx_guildlog_quota_give_up(&stats);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(stats.slot->granted, 2, "what was given up is not let");

    ngx_guildlog_quota_give_up(&stats);
    tap_is(taken(), 1, "nor is what was let meanwhile sent");
    tap_is(stats.slot->wanted, 0, "nothing is left");

    ngx_guildlog_quota_give_up(&stats);
    tap_is(stats.slot->wanted + stats.slot->granted, 0,
           "never less than nothing");
}


/* nothing of a worker that is killed while it waits goes to others */

static void
test_workers(ngx_pool_t *pool)
{
    ngx_guildlog_stats_t  other;

    begin(pool, 5);

    other.shared = &shared;
    other.slot = &shared.slots[7];
    other.slot->pid = getppid();

    want(1);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(ngx_guildlog_quota_take(&other), 0, "what one wants is its own");
    tap_is(taken(), 1, "and it gets it");

    want(4);
    ngx_guildlog_quota_want(&other);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 2);
    tap_is(ngx_guildlog_quota_take(&other), 1, "the workers take turns");

    want(2);
    ngx_guildlog_quota_grant(&stats, &pace, 3000, 2);
    ngx_guildlog_stats_enter(&stats, &zone);
    tap_is(taken(), 0, "who follows one that died has nothing");
    ngx_guildlog_quota_grant(&stats, &pace, 6000, 64);
    tap_is(stats.slot->granted + other.slot->granted, 0,
           "what that one wanted nobody wants any more");
    want(1);
    tap_is(taken(), 0, "a question waits for its own grant");
    ngx_guildlog_quota_grant(&stats, &pace, 8000, 64);
    tap_is(taken(), 1, "and gets it");
}


static void
test_answers(ngx_pool_t *pool)
{
    begin(pool, 0);

    told(0, 1, 0);
    told(0, 1, 0);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(ngx_guildlog_pace_invalid(&pace, 1000), 2, "bad ones count");
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(ngx_guildlog_pace_invalid(&pace, 1000), 2, "once");

    told(0, 0, 0);
    want(1);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(taken(), 1, "an answer without a pause lets others send");

    told(0, 0, 5000);
    told(0, 0, 1000);
    want(1);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 64);
    tap_is(taken(), 0, "a pause holds all");
    ngx_guildlog_quota_grant(&stats, &pace, 5999, 64);
    tap_is(taken(), 0, "as long as the longest says");
    ngx_guildlog_quota_grant(&stats, &pace, 6000, 64);
    tap_is(taken(), 1, "and no longer");
}


/* the only request while nobody is there may be a question, each time */

static void
test_outage(ngx_pool_t *pool)
{
    ngx_uint_t  i;

    begin(pool, 0);

    for (i = 0; i < 5; i++) {
        (void) ngx_guildlog_pace_take(&pace, 1000);
        ngx_guildlog_pace_sent(&pace, 1000);
        ngx_guildlog_pace_answered(&pace, 1000, 1, 0);
    }

    want(2);
    ngx_guildlog_quota_grant(&stats, &pace, 6000, 64);
    tap_is(taken(), 1, "in an outage a question is the probe");

    told(1, 0, 0);
    ngx_guildlog_quota_grant(&stats, &pace, 6100, 64);
    tap_is(taken(), 0, "which is not answered");

    ngx_guildlog_quota_grant(&stats, &pace, 11000, 64);
    tap_is(taken(), 1, "the next one is again");

    told(0, 0, 0);
    ngx_guildlog_quota_grant(&stats, &pace, 11100, 64);
    tap_is(ngx_guildlog_pace_take(&pace, 11100), 1,
           "is answered, and ends it for all");
}


int
main(void)
{
    ngx_pool_t  *pool;

    tap_start();

    pool = tap_pool();

    test_pace(pool);
    test_give_up(pool);
    test_workers(pool);
    test_answers(pool);
    test_outage(pool);

    ngx_destroy_pool(pool);

    return tap_done();
}
