
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


#define PERSON    NGX_GUILDLOG_ASKS_PERSON
#define STRANGER  NGX_GUILDLOG_ASKS_STRANGER
#define REPORT    NGX_GUILDLOG_ASKS_REPORT


static ngx_str_t                    platform = ngx_string("a");
static ngx_guildlog_pace_t          pace;
static ngx_guildlog_pace_shared_t  *paces;
static ngx_guildlog_stats_t         stats;
static ngx_guildlog_stats_shared_t  shared;
static ngx_shm_zone_t               zone;


static void
begin(ngx_pool_t *pool, ngx_uint_t rate)
{
    ngx_memzero(&shared, sizeof(shared));

    paces = &shared.pace;
    (void) ngx_guildlog_pace_init(&pace, paces, &platform, pool, rate);

    zone.data = &shared;
    ngx_guildlog_stats_enter(&stats, &zone);
}


static ngx_uint_t
taken_by(ngx_guildlog_asks_e who)
{
    ngx_uint_t  n;

    for (n = 0; ngx_guildlog_quota_take(&stats, who); n++) { /* void */ }

    return n;
}


static ngx_uint_t
taken(void)
{
    return taken_by(REPORT);
}


static void
want_by(ngx_guildlog_asks_e who, ngx_uint_t n)
{
    while (n--) {
        ngx_guildlog_quota_want(&stats, who);
    }
}


static void
want(ngx_uint_t n)
{
    want_by(REPORT, n);
}


static void
grant(ngx_msec_t now)
{
    ngx_guildlog_quota_grant(&stats, &pace, now, 0);
}


static void
told(ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms)
{
    ngx_guildlog_pace_told(paces, 1000, failed, invalid, pause_ms);
}


static void
test_pace(ngx_pool_t *pool)
{
    ngx_uint_t  n;

    begin(pool, 50);

    want(60);
    tap_is(taken(), 0, "nothing is let by itself");

    grant(1000);
    tap_is(taken(), 30, "half of the rate, and what was saved up");

    for (n = 0; ngx_guildlog_pace_take(&pace, 1500); n++) { /* void */ }

    tap_is(n, 20, "the rest of it is left to others");

    while (n--) {
        ngx_guildlog_pace_cancelled(&pace, 1500);
    }

    tap_is(pace.open, 0, "no answer is owed");

    grant(2100);
    tap_is(taken(), 25, "a second later it goes on");

    begin(pool, 1);
    want(2);
    grant(1000);
    tap_is(taken(), 1, "of a rate of one, too");

    begin(pool, 0);
    want(3);
    grant(1000);
    tap_is(taken(), 3, "without a rate all are let");
}


static void
test_give_up(ngx_pool_t *pool)
{
    begin(pool, 5);

    want(3);
    ngx_guildlog_quota_give_up(&stats, REPORT);
    grant(1000);
    tap_is(stats.slot->granted[REPORT], 2, "what was given up is not let");

    ngx_guildlog_quota_give_up(&stats, REPORT);
    tap_is(taken(), 1, "nor is what was let meanwhile sent");
    tap_is(stats.slot->wanted[REPORT], 0, "nothing is left");

    ngx_guildlog_quota_give_up(&stats, REPORT);
    tap_is(stats.slot->wanted[REPORT] + stats.slot->granted[REPORT], 0,
           "never less than nothing");
}


/* one in ten while messages wait, and what was saved up before */

static void
test_share(ngx_pool_t *pool)
{
    ngx_uint_t  i, sent, asked;
    ngx_msec_t  now;

    begin(pool, 10);
    want(10000);

    sent = 0;
    asked = 0;

    for (now = 1000; now < 101000; now += 20) {

        for (i = 0; i < 3; i++) {
            ngx_guildlog_quota_grant(&stats, &pace, now, 1);
        }

        asked += taken();

        while (ngx_guildlog_pace_take(&pace, now)) {
            ngx_guildlog_pace_sent(&pace, now);
            ngx_guildlog_pace_answered(&pace, now, 0, 0);
            sent++;
        }
    }

    tap_ok(sent >= 9 * (asked - 5), "nine of ten are messages that wait");
    tap_ok(asked > 5 + sent / 10, "and the tenth a question");

    begin(pool, 0);
    want(20);
    ngx_guildlog_quota_grant(&stats, &pace, 1000, 1);
    tap_is(taken(), 20, "without a rate nobody waits for it");
}


static void
test_order(ngx_pool_t *pool)
{
    begin(pool, 10);

    want_by(STRANGER, 4);
    want_by(REPORT, 4);
    want_by(PERSON, 2);

    grant(1000);
    tap_is(taken_by(PERSON), 2, "whom the platform knows comes first");
    tap_is(taken_by(STRANGER), 4, "strangers and");
    tap_is(taken_by(REPORT), 4, "reports are let, too");

    want_by(STRANGER, 100);
    want_by(REPORT, 100);

    grant(3000);
    tap_is(taken_by(STRANGER) - taken_by(REPORT), 1,
           "they take turns, if there are five");
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
    grant(1000);
    tap_is(ngx_guildlog_quota_take(&other, REPORT), 0,
           "what one wants is its own");
    tap_is(taken(), 1, "and it gets it");

    want(4);
    ngx_guildlog_quota_want(&other, REPORT);
    grant(1000);
    tap_is(ngx_guildlog_quota_take(&other, REPORT), 1,
           "the workers take turns");

    want(2);
    grant(3000);
    ngx_guildlog_stats_enter(&stats, &zone);
    tap_is(taken(), 0, "who follows one that died has nothing");
    grant(6000);
    tap_is(stats.slot->granted[REPORT] + other.slot->granted[REPORT], 0,
           "what that one wanted nobody wants any more");
    want(1);
    tap_is(taken(), 0, "a question waits for its own grant");
    grant(8000);
    tap_is(taken(), 1, "and gets it");
}


static void
test_answers(ngx_pool_t *pool)
{
    begin(pool, 0);

    told(0, 1, 0);
    told(0, 1, 0);
    grant(1000);
    tap_is(ngx_guildlog_pace_invalid(&pace, 1000), 2, "bad ones count");
    grant(1000);
    tap_is(ngx_guildlog_pace_invalid(&pace, 1000), 2, "once");

    told(0, 0, 0);
    want(1);
    grant(1000);
    tap_is(taken(), 1, "an answer without a pause lets others send");

    told(0, 0, 5000);
    told(0, 0, 1000);
    want(1);
    grant(1000);
    tap_is(taken(), 0, "a pause holds all");
    grant(5999);
    tap_is(taken(), 0, "as long as the longest says");
    grant(6000);
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
    grant(6000);
    tap_is(taken(), 1, "in an outage a question is the probe");

    told(1, 0, 0);
    grant(6100);
    tap_is(taken(), 0, "which is not answered");

    grant(11000);
    tap_is(taken(), 1, "the next one is again");

    told(0, 0, 0);
    grant(11100);
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
    test_share(pool);
    test_order(pool);
    test_workers(pool);
    test_answers(pool);
    test_outage(pool);

    ngx_destroy_pool(pool);

    return tap_done();
}
