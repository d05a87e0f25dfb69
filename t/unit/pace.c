
/*
 * Links ngx_guildlog_pace.c.
 *
 * What one address asks of the platform: never more requests within any
 * second than the rate, over all processes, none while it pauses, few when most
 * are refused, and one probe each two seconds while nobody is there.  Questions
 * of requests are part of it, behind what lanes send once they had their share.
 */

#include "shm/ngx_guildlog_pace.h"
#include "tap.h"
#include <sys/mman.h>
#include <sys/wait.h>


#define PERSON    NGX_GUILDLOG_ASKS_PERSON
#define STRANGER  NGX_GUILDLOG_ASKS_STRANGER
#define REPORT    NGX_GUILDLOG_ASKS_REPORT

static ngx_str_t                 platform = ngx_string("a");
static ngx_guildlog_pace_t       pace;
static ngx_guildlog_pace_shared_t  shared;


static void
begin(ngx_uint_t rate)
{
    ngx_memzero(&shared, sizeof(shared));
    ngx_guildlog_pace_init(&pace, &shared, &platform, rate);
}


static ngx_uint_t
sends(ngx_msec_t now)
{
    return ngx_guildlog_pace_take(&pace, now)
           && ngx_guildlog_pace_sent(&pace, now);
}


/* how many of so many questions are let */

static ngx_uint_t
asks(ngx_guildlog_asks_e who, ngx_uint_t n, ngx_msec_t now)
{
    ngx_uint_t  let;

    for (let = 0; n && ngx_guildlog_pace_ask(&pace, now, who, 0) == 0; n--) {
        let++;
    }

    return let;
}


static void
answered(ngx_msec_t now, ngx_uint_t failed, ngx_uint_t invalid)
{
    (void) ngx_guildlog_pace_answered(&pace, now, failed, invalid);
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
        ngx_guildlog_pace_cancelled(&pace);
    }

    tap_is(shared.granted, 0, "who does not send gives it back");
}


/* a rate above the number of slots; no second has more */

static void
test_high(ngx_uint_t rate)
{
    ngx_uint_t  i, n, most, counts[4000];
    ngx_msec_t  now;

    begin(rate);

    n = 0;
    most = 0;

    for (now = 0; now < 4000; now++) {
        counts[now] = 0;

        while (sends(now + 1)) {
            counts[now]++;
            answered(now + 1, 0, 0);
        }

        n += counts[now];

        if (now >= 1000) {
            n -= counts[now - 1000];
        }

        most = ngx_max(most, n);
    }

    for (i = 0, n = 0; i < 4000; i++) {
        n += counts[i];
    }

    tap_ok(most <= rate, "a high rate is never passed");
    tap_ok(n > rate * 3, "and about reached");
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

    ngx_guildlog_pace_init(&other, &shared, &platform, 50);

    for (n = 0; ngx_guildlog_pace_take(&other, 1500); n++) {
        (void) ngx_guildlog_pace_sent(&other, 1500);
    }

    tap_is(n, 20, "another process has what is left of the second");
    tap_is(sends(1500), 0, "and leaves nothing");

    for (n = 0; sends(2079); n++) { /* void */ }

    tap_is(n, 30, "until it is over");

    begin(1);

    (void) ngx_guildlog_pace_take(&pace, 1000);
    (void) ngx_guildlog_pace_take(&other, 1000);
    tap_is(asks(PERSON, 1, 1000), 0, "what is granted is left to lanes");
    tap_is(ngx_guildlog_pace_sent(&other, 1000), 1, "of two that were granted");
    tap_is(ngx_guildlog_pace_sent(&pace, 1000), 0, "one is sent");
    ngx_guildlog_pace_cancelled(&pace);

    shared.granted = 7;
    ngx_guildlog_pace_grants(&pace);
    tap_is(asks(PERSON, 1, 3000), 1, "a process that died is granted nothing");
}


/* all take what they can get, at the same time */

static void
test_processes(void)
{
    int                           pid;
    ngx_uint_t                    i, round, wrong;

    struct {
        ngx_guildlog_pace_shared_t  pace;
        ngx_atomic_t                ready;
        ngx_atomic_t                sent;
    } *all;

    all = mmap(NULL, sizeof(*all), PROT_READ|PROT_WRITE,
               MAP_SHARED|MAP_ANONYMOUS, -1, 0);
    wrong = 0;

    for (round = 0; round < 50; round++) {
        ngx_memzero(all, sizeof(*all));
        ngx_guildlog_pace_init(&pace, &all->pace, &platform, 1000);

        for (i = 0; i < 2; i++) {
            pid = fork();

            if (pid) {
                continue;
            }

            (void) ngx_atomic_fetch_add(&all->ready, 1);
            while (all->ready < 2) { /* void */ }

            while (ngx_guildlog_pace_take(&pace, 5000)
                   && ngx_guildlog_pace_sent(&pace, 5000))
            {
                (void) ngx_atomic_fetch_add(&all->sent, 1);
            }

            _exit(0);
        }

        while (wait(NULL) > 0) { /* void */ }

        wrong += (all->sent != 1000);
    }

    tap_is(wrong, 0, "processes at once send as many as one may");

    (void) munmap(all, sizeof(*all));
}


static void
test_pause(void)
{
    begin(0);

    ngx_guildlog_pace_pause(&pace, 1000, 500);
    tap_is(sends(1499), 0, "a pause is made");
    tap_is(ngx_guildlog_pace_paused(&pace, 1499), 1,
           "also for who was granted before");
    ngx_guildlog_pace_pause(&pace, 1100, 100);
    tap_is(sends(1499), 0, "a shorter one does not end it");
    tap_is(sends(1500), 1, "until it is over");
    tap_is(ngx_guildlog_pace_paused(&pace, 1500), 0, "for everybody");

    ngx_guildlog_pace_hold(&pace, 2000, 500);
    tap_is(ngx_guildlog_pace_ask(&pace, 2100, STRANGER, 0), 400,
           "strangers make one");
    tap_is(sends(2100), 1, "of their own");
    ngx_guildlog_pace_hold(&pace, 2100, 100);
    tap_is(ngx_guildlog_pace_ask(&pace, 2499, STRANGER, 0), 1,
           "the longer one counts");
    tap_is(asks(STRANGER, 1, 2500), 1, "until it is over");

    ngx_guildlog_pace_pause(&pace, 3000, 5000);
    tap_is(ngx_guildlog_pace_ask(&pace, 3000, PERSON, 0), 5000,
           "no question is asked in a pause");
    tap_is(asks(PERSON, 1, 8000), 1, "until it is over");
}


/* a worker that is killed, or replaced by a reload */

static void
test_next(void)
{
    static ngx_str_t  other = ngx_string("b");

    begin(0);
    ngx_guildlog_pace_pause(&pace, 61000, 5000);
    answered(60500, 0, 1);

    ngx_guildlog_pace_init(&pace, &shared, &platform, 0);
    tap_is(sends(65999), 0, "the next process makes the pause, too");
    tap_is(sends(66000), 1, "until it is over");
    tap_is(ngx_guildlog_pace_invalid(&pace, 66000), 1,
           "and knows of bad requests");
    tap_is(ngx_guildlog_pace_invalid(&pace, 59000), 1,
           "whoever is a moment behind clears none");

    ngx_guildlog_pace_pause(&pace, 66000, 5000);
    ngx_guildlog_pace_init(&pace, &shared, &other, 0);
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

    ngx_guildlog_pace_cancelled(&pace);
    tap_is(asks(REPORT, 2, now), 1, "one that was given back was no probe");
    tap_is(asks(REPORT, 2, now + 2000), 1, "a question may be one, each time");
    tap_ok(ngx_guildlog_pace_ask(&pace, now + 2000, REPORT, 0) <= 250,
           "and the next one looks soon whether it is there");
    tap_is(ngx_guildlog_pace_answered(&pace, now, 0, 0), 1, "it is there");
    tap_is(sends(now), 1, "one that is answered ends it");
    tap_is(ngx_guildlog_pace_answered(&pace, now, 0, 0), 0, "once");
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
    tap_is(sends(60250) + asks(PERSON, 1, 60250), 0, "now and then");
    tap_is(asks(PERSON, 1, 60251), 1, "whoever it is");

    for (i = 0; i < 4000; i++) {
        answered(120000, 0, 1);
    }

    tap_is(sends(130000), 0, "after five thousand none");
    tap_is(ngx_guildlog_pace_ask(&pace, 130000, PERSON, 0), 50000,
           "and no question");
    tap_is(sends(660000), 1, "until they are ten minutes old");
}


static void
test_half(void)
{
    ngx_uint_t  n;

    begin(50);

    tap_is(asks(REPORT, 60, 1000), 30, "half of the rate, and what was saved");

    for (n = 0; sends(1500); n++) { /* void */ }

    tap_is(n, 20, "the rest of it is left to others");
    tap_is(asks(REPORT, 60, 2100), 7, "a second later it goes on");

    begin(50);

    tap_is(asks(PERSON, 60, 1000), 30, "whoever asks");
    tap_is(ngx_guildlog_pace_ask(&pace, 1010, PERSON, 0), 1040,
           "and is told when that is over");

    begin(1);
    tap_is(asks(REPORT, 2, 1000), 1, "one of a rate of one, too");

    begin(0);
    tap_is(asks(REPORT, 3, 1000), 3, "without a rate all are let");
}


/* one in ten while lanes wait, and what was saved up before */

static void
test_share(void)
{
    ngx_uint_t  sent, asked;
    ngx_msec_t  now;

    begin(10);

    sent = 0;
    asked = 0;

    for (now = 1000; now < 101000; now += 20) {
        asked += asks(REPORT, 10000, now);

        while (sends(now)) {
            sent++;
        }
    }

    tap_ok(sent >= 9 * (asked - 10), "nine of ten are messages that wait");
    tap_ok(asked > 5 + sent / 10, "and the tenth a question");

    begin(0);
    shared.lanes_to = 2000;
    tap_is(asks(REPORT, 20, 1000), 20, "without a rate nobody waits for it");
}


static void
test_order(void)
{
    ngx_uint_t  i, strangers, reports;

    begin(1);

    tap_is(sends(1000), 1, "one is sent");
    tap_is(ngx_guildlog_pace_ask(&pace, 1000, STRANGER, 0), 1050, "all wait");
    tap_is(ngx_guildlog_pace_ask(&pace, 1500, PERSON, 0), 550,
           "until the same");
    tap_ok(ngx_guildlog_pace_ask(&pace, 2050, STRANGER, 0) > 0,
           "who came first leaves it");
    tap_is(ngx_guildlog_pace_ask(&pace, 2051, PERSON, 0), 0,
           "to whom the platform knows");
    tap_ok(ngx_guildlog_pace_ask(&pace, 2060, STRANGER, 0) > 0,
           "strangers wait");
    tap_is(ngx_guildlog_pace_ask(&pace, 3101, STRANGER, 0), 0,
           "for no one that does not ask");

    strangers = 0;
    reports = 0;

    for (i = 4000; i < 64000; i++) {
        strangers += asks(STRANGER, 1, i);
        reports += asks(REPORT, 1, i);
    }

    tap_ok(strangers + reports >= 56, "strangers and reports");
    tap_ok(strangers <= reports + 1 && reports <= strangers + 1,
           "take turns");

    begin(1);

    tap_is(sends(1000), 1, "one is sent");
    tap_is(ngx_guildlog_pace_ask(&pace, 1000, STRANGER, 5), 1050,
           "who asked often waits");
    tap_is(ngx_guildlog_pace_ask(&pace, 1100, STRANGER, 2), 950,
           "who did not, perhaps of another process, too");
    tap_is(ngx_guildlog_pace_ask(&pace, 2050, STRANGER, 5), 20,
           "who asked often leaves it");
    tap_is(ngx_guildlog_pace_ask(&pace, 2051, STRANGER, 2), 0,
           "to who did not");
    tap_is(ngx_guildlog_pace_ask(&pace, 3101, STRANGER, 5), 0,
           "and comes next");
    tap_is(ngx_guildlog_pace_ask(&pace, 3200, STRANGER, 2), 951,
           "who went away");
    tap_is(ngx_guildlog_pace_ask(&pace, 4171, STRANGER, 5), 0,
           "is not waited for");
}


int
main(void)
{
    tap_start();

    test_rate(1);
    test_rate((ngx_msec_t) -1500);
    test_high(1025);
    test_high(1500);
    test_high(30000);
    test_shared();
    test_processes();
    test_pause();
    test_next();
    test_probe();
    test_invalid();
    test_half();
    test_share();
    test_order();

    return tap_done();
}
