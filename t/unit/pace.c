
/*
 * Links ngx_guildlog_pace.c.
 *
 * What one address asks of the platform: never more requests within any
 * second than the rate, none while it pauses, few when most are refused, and
 * one probe each two seconds while nobody is there.
 */

#include "shm/ngx_guildlog_pace.h"
#include "tap.h"


static ngx_str_t                 platform = ngx_string("a");
static ngx_pool_t               *pool;
static ngx_guildlog_pace_t       pace;
static ngx_guildlog_pace_shared_t  shared;


static void
begin(ngx_uint_t rate)
{
    ngx_memzero(&shared, sizeof(shared));
    (void) ngx_guildlog_pace_init(&pace, &shared, &platform, pool, rate);
}


static ngx_uint_t
sends(ngx_msec_t now)
{
    if (!ngx_guildlog_pace_take(&pace, now)) {
        return 0;
    }

    ngx_guildlog_pace_sent(&pace, now);

    return 1;
}


static void
answered(ngx_msec_t now, ngx_uint_t failed, ngx_uint_t invalid)
{
    ngx_guildlog_pace_answered(&pace, now, failed, invalid);
}


static void
test_rate(ngx_msec_t start)
{
    ngx_uint_t  i, n, most, counts[3000];
    ngx_msec_t  now;

    begin(50);

    ngx_memzero(counts, sizeof(counts));

    for (now = start; now != start + 3000; now++) {
        while (sends(now)) {
            counts[now - start]++;
            answered(now, 0, 0);
        }
    }

    most = 0;

    for (now = 0; now < 2000; now++) {
        n = 0;

        for (i = 0; i < 1000; i++) {
            n += counts[now + i];
        }

        most = ngx_max(most, n);
    }

    tap_is(most, 50, "a rate is reached and never passed");

    for (n = 0; ngx_guildlog_pace_take(&pace, now + start); n++) {
        /* void */
    }

    tap_ok(n <= 50, "also by those that are not sent yet");

    while (n--) {
        ngx_guildlog_pace_cancelled(&pace, now);
    }

    tap_is(pace.granted, 0, "who does not send gives it back");
}


/* the next sender after a kill; two senders during a reload */

static void
test_shared(void)
{
    ngx_uint_t           n;
    ngx_guildlog_pace_t  other;

    begin(50);

    for (n = 0; n < 30; n++) {
        (void) sends(1000 + n);
    }

    (void) ngx_guildlog_pace_init(&other, &shared, &platform, pool, 50);

    for (n = 0; ngx_guildlog_pace_take(&other, 1500); n++) {
        ngx_guildlog_pace_sent(&other, 1500);
    }

    tap_is(n, 20, "another process has what is left of the second");
    tap_is(sends(1500), 0, "and leaves nothing");

    for (n = 0; sends(2079); n++) { /* void */ }

    tap_is(n, 30, "until it is over");

    begin(100);

    for (n = 0; sends(1000); n++) { /* void */ }

    tap_is(n, 100, "a high rate is each one's own");
    tap_is(sends(2049), 0, "and none is passed");
}


static void
test_pause(void)
{
    begin(0);

    ngx_guildlog_pace_pause(&shared, 1000, 500);
    tap_is(sends(1499), 0, "a pause is made");
    tap_is(ngx_guildlog_pace_paused(&pace, 1499), 1,
           "also for who was granted before");
    ngx_guildlog_pace_pause(&shared, 1100, 100);
    tap_is(sends(1499), 0, "a shorter one does not end it");
    tap_is(sends(1500), 1, "until it is over");
    tap_is(ngx_guildlog_pace_paused(&pace, 1500), 0, "for everybody");

    ngx_guildlog_pace_hold(&shared, 2000, 500);
    tap_is(ngx_guildlog_pace_held(&shared, 2100), 400, "strangers make one");
    tap_is(sends(2100), 1, "of their own");
    ngx_guildlog_pace_hold(&shared, 2100, 100);
    tap_is(ngx_guildlog_pace_held(&shared, 2499), 1, "the longer one counts");
    tap_is(ngx_guildlog_pace_held(&shared, 2500), 0, "until it is over");
}


/* a worker that is killed, or replaced by a reload */

static void
test_next(void)
{
    static ngx_str_t  other = ngx_string("b");

    begin(0);
    ngx_guildlog_pace_pause(&shared, 61000, 5000);
    ngx_guildlog_pace_told(&shared, 60500, 0, 1, 0);

    (void) ngx_guildlog_pace_init(&pace, &shared, &platform, pool, 0);
    tap_is(sends(65999), 0, "the next process makes the pause, too");
    tap_is(sends(66000), 1, "until it is over");
    tap_is(ngx_guildlog_pace_invalid(&pace, 66000), 1,
           "and knows of bad requests");
    tap_is(ngx_guildlog_pace_invalid(&pace, 59000), 1,
           "whoever is a moment behind clears none");

    ngx_guildlog_pace_pause(&shared, 66000, 5000);
    (void) ngx_guildlog_pace_init(&pace, &shared, &other, pool, 0);
    tap_is(sends(66001), 1, "another platform wanted none");
    tap_is(ngx_guildlog_pace_invalid(&pace, 66001), 0, "and got none");
}


static void
test_probe(void)
{
    ngx_uint_t  i, n;
    ngx_msec_t  now;

    begin(0);

    for (i = 0; i < 5; i++) {
        tap_is(sends(i), 1, "a failure is no outage");
        answered(i, 1, 0);
    }

    n = 0;

    for (now = 5; now < 8005; now++) {
        if (sends(now)) {
            n++;
            answered(now, 1, 0);
        }
    }

    tap_is(n, 4, "five are: one probe each two seconds");

    while (!sends(++now)) { /* void */ }

    tap_ok(!ngx_guildlog_pace_take(&pace, now), "the next one waits");
    answered(now, 1, 0);

    while (!ngx_guildlog_pace_take(&pace, ++now)) { /* void */ }

    ngx_guildlog_pace_cancelled(&pace, now);
    tap_is(sends(now), 1, "one that was given back was no probe");
    answered(now, 0, 0);
    tap_is(sends(now), 1, "one that is answered ends it");

    begin(0);

    for (i = 0; i < 4; i++) {
        (void) sends(i);
        answered(i, 1, 0);
    }

    (void) sends(4);
    (void) sends(4);
    ngx_guildlog_pace_dropped(&pace);
    answered(4, 1, 0);
    tap_is(sends(5), 0, "one that is given up is no answer");
    tap_is(pace.open, 0, "and none is waited for");
}


static void
test_invalid(void)
{
    ngx_uint_t  i;

    begin(0);

    for (i = 0; i < 1000; i++) {
        (void) sends(60000);
        answered(60000, 0, 1);
    }

    tap_is(ngx_guildlog_pace_invalid(&pace, 60000), 1000,
           "bad requests are counted");
    tap_is(sends(60001), 1, "after a thousand one is sent");
    tap_is(sends(60001), 0, "at a time");
    answered(60001, 0, 0);

    for (i = 0; i < 4000; i++) {
        (void) sends(120000);
        answered(120000, 0, 1);
    }

    tap_is(sends(130000), 0, "after five thousand none");
    tap_is(sends(660000), 1, "until they are ten minutes old");
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    test_rate(1);
    test_rate((ngx_msec_t) -1500);
    test_shared();
    test_pause();
    test_next();
    test_probe();
    test_invalid();

    ngx_destroy_pool(pool);

    return tap_done();
}
