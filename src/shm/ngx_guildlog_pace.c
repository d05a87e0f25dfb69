
/*
 * The pace of one address.
 */

#include "shm/ngx_guildlog_pace.h"


#define PACE_SECOND    1050     /* ms, and what the way varies */
#define PACE_FAILURES  5        /* in a row: it is not there */

/*
 * ms between two probes.  A question of a request waits for 5,000 ms at most,
 * and may begin to wait just behind a probe that failed: it has to get the
 * next one, and its answer, in time.
 */
#define PACE_PROBE     2000

/* requests sent, for one question ahead of others; so many are saved up */
#define PACE_SHARE     9
#define PACE_SAVED     (5 * PACE_SHARE)

/* ms: lanes that wait ask again within it; the same of a question, behind the
   moment that it was told */
#define PACE_LANES     50
#define PACE_GRACE     20

/*
 * Of 10,000 bad requests in ten minutes that end in a ban.  From the first
 * number on there are ms between two: 2,400 in ten minutes do not reach the
 * second one.
 */
#define PACE_CAREFUL   1000
#define PACE_SELDOM    250
#define PACE_STOP      5000


static ngx_uint_t pace_free(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_msec_t *next);
static ngx_msec_t pace_slot_left(ngx_guildlog_pace_t *pace, ngx_msec_t at,
    ngx_msec_t now);
static ngx_uint_t pace_use(ngx_guildlog_pace_t *pace, ngx_msec_t now);
static ngx_msec_t pace_closed(ngx_guildlog_pace_t *pace, ngx_msec_t now);
static void pace_grant(ngx_guildlog_pace_t *pace, ngx_uint_t granted);
static ngx_msec_t pace_ask_waits(ngx_guildlog_pace_t *pace, ngx_msec_t now);
static ngx_msec_t pace_ask_behind(ngx_guildlog_pace_shared_t *shared,
    ngx_msec_t now, ngx_guildlog_asks_e who, ngx_uint_t rank);
static void pace_advance(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now);
static void pace_put_off(ngx_atomic_t *to, ngx_msec_t until);
static ngx_msec_t pace_left(ngx_atomic_t *to, ngx_msec_t now);


/*
 * Each slot passes one request in its period.  If the rate is higher than there
 * are slots the period is a part of a second, and a slot passes at most that
 * many requests within any second as there are parts.
 */

void
ngx_guildlog_pace_init(ngx_guildlog_pace_t *pace,
    ngx_guildlog_pace_shared_t *shared, const ngx_str_t *platform,
    ngx_uint_t rate)
{
    ngx_uint_t         parts;
    ngx_atomic_uint_t  hash, was;

    hash = ngx_crc32_long(platform->data, platform->len);
    was = shared->platform;

    if (was != hash && ngx_atomic_cmp_set(&shared->platform, was, hash)) {
        ngx_memzero((void *) &shared->paused_to,
                    sizeof(ngx_guildlog_pace_shared_t)
                    - offsetof(ngx_guildlog_pace_shared_t, paused_to));
    }

    ngx_memzero(pace, sizeof(ngx_guildlog_pace_t));

    pace->shared = shared;

    if (rate) {
        parts = (rate - 1) / NGX_GUILDLOG_PACE_SLOTS + 1;
        pace->slots = rate / parts;
        pace->period = (PACE_SECOND - 1) / parts + 1;
    }
}


ngx_uint_t
ngx_guildlog_pace_take(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_msec_t  next;

    if ((pace->slots && pace_free(pace, now, &next) <= pace->granted)
        || pace_closed(pace, now))
    {
        pace_put_off(&pace->shared->lanes_to, now + PACE_LANES);
        return 0;
    }

    pace_grant(pace, pace->granted + 1);

    return 1;
}


/* how many slots are free, and in how many ms one more is; 0: all are */

static ngx_uint_t
pace_free(ngx_guildlog_pace_t *pace, ngx_msec_t now, ngx_msec_t *next)
{
    ngx_uint_t  i, n;
    ngx_msec_t  left;

    n = 0;
    *next = 0;

    for (i = 0; i < pace->slots; i++) {
        left = pace_slot_left(pace, pace->shared->sent[i], now);

        if (left == 0) {
            n++;

        } else if (*next == 0 || left < *next) {
            *next = left;
        }
    }

    return n;
}


static ngx_msec_t
pace_slot_left(ngx_guildlog_pace_t *pace, ngx_msec_t at, ngx_msec_t now)
{
    ngx_msec_int_t  left;

    left = (ngx_msec_int_t) (at + pace->period - now);

    return at == 0 || left <= 0 ? 0 : left;
}


/* Race: a slot is whose that sets it from the time that was seen in it */

static ngx_uint_t
pace_use(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_uint_t     i;
    ngx_msec_t     at;
    ngx_atomic_t  *sent;

    for (i = 0; i < pace->slots; i++) {
        sent = &pace->shared->sent[i];
        at = *sent;

        if (pace_slot_left(pace, at, now) == 0
            && ngx_atomic_cmp_set(sent, at, now ? now : 1))
        {
            return 1;
        }
    }

    return pace->slots == 0;
}


/* ms, whatever the rate is; 0: the caller may send one */

static ngx_msec_t
pace_closed(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_msec_t                   ms, seldom;
    ngx_uint_t                   invalid;
    ngx_guildlog_pace_shared_t  *shared;

    shared = pace->shared;

    ms = pace_left(&shared->paused_to, now);
    if (ms) {
        return ms;
    }

    invalid = ngx_guildlog_pace_invalid(pace, now);

    if (invalid >= PACE_STOP) {
        return 60000 - now % 60000;
    }

    seldom = shared->failures >= PACE_FAILURES ? PACE_PROBE
             : invalid >= PACE_CAREFUL ? PACE_SELDOM : 0;

    if (seldom == 0) {
        return 0;
    }

    ms = pace_left(&shared->seldom_to, now);

    if (ms == 0
        && ngx_atomic_cmp_set(&shared->seldom_to, 0, now + seldom))
    {
        return 0;
    }

    /* an answer to somebody else may end it sooner */

    return ms ? ngx_min(ms, PACE_SELDOM) : PACE_SELDOM;
}


static void
pace_grant(ngx_guildlog_pace_t *pace, ngx_uint_t granted)
{
    pace->granted = granted;
    pace->shared->granted = granted;
}


void
ngx_guildlog_pace_grants(ngx_guildlog_pace_t *pace)
{
    pace->shared->granted = pace->granted;
}


ngx_uint_t
ngx_guildlog_pace_sent(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_atomic_uint_t  ahead;

    ngx_guildlog_assert(pace->granted > 0);

    if (!pace_use(pace, now)) {
        return 0;
    }

    pace_grant(pace, pace->granted - 1);

    ahead = pace->shared->ahead;

    if (ahead) {
        (void) ngx_atomic_cmp_set(&pace->shared->ahead, ahead, ahead - 1);
    }

    return 1;
}


void
ngx_guildlog_pace_cancelled(ngx_guildlog_pace_t *pace)
{
    ngx_guildlog_assert(pace->granted > 0);

    pace_grant(pace, pace->granted - 1);

    /* no probe was sent: the next request is the probe */

    pace->shared->seldom_to = 0;
}


/* Race: what is told of the least rank may be lost, and is told again */

ngx_msec_t
ngx_guildlog_pace_ask(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_guildlog_asks_e who, ngx_uint_t rank)
{
    ngx_msec_t                   ms, until;
    ngx_guildlog_pace_shared_t  *shared;

    shared = pace->shared;

    if (who == NGX_GUILDLOG_ASKS_STRANGER) {
        ms = pace_left(&shared->held_to, now);
        if (ms) {
            return ms;
        }
    }

    ms = pace_ask_behind(shared, now, who, rank);

    if (ms == 0) {
        ms = pace_ask_waits(pace, now);
    }

    if (ms) {
        until = now + ngx_min(ms, PACE_SECOND) + PACE_GRACE;
        pace_put_off(&shared->asks_to[who], until);

        if (who == NGX_GUILDLOG_ASKS_STRANGER
            && (rank <= shared->rank || pace_left(&shared->rank_to, now) == 0))
        {
            shared->rank = rank;
            pace_put_off(&shared->rank_to, until);
        }

        return ms;
    }

    if (who == NGX_GUILDLOG_ASKS_STRANGER && rank <= shared->rank) {
        shared->rank_to = 0;
    }

    shared->asked = who;

    return 0;
}


/* ms for which another question comes first */

static ngx_msec_t
pace_ask_behind(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_guildlog_asks_e who, ngx_uint_t rank)
{
    ngx_msec_t           ms;
    ngx_guildlog_asks_e  other;

    if (who == NGX_GUILDLOG_ASKS_PERSON) {
        return 0;
    }

    ms = pace_left(&shared->asks_to[NGX_GUILDLOG_ASKS_PERSON], now);

    if (ms == 0 && who == NGX_GUILDLOG_ASKS_STRANGER && rank > shared->rank) {
        ms = pace_left(&shared->rank_to, now);
    }

    if (ms || shared->asked != who) {
        return ms;
    }

    other = who == NGX_GUILDLOG_ASKS_REPORT ? NGX_GUILDLOG_ASKS_STRANGER
                                            : NGX_GUILDLOG_ASKS_REPORT;

    return pace_left(&shared->asks_to[other], now);
}


/*
 * 0: the slot is taken.  Race: of two that ask at once both may go ahead of
 * lanes by the same share; no slot is taken twice.
 */

static ngx_msec_t
pace_ask_waits(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_msec_t                   ms, next, lanes;
    ngx_uint_t                   n, ahead, granted;
    ngx_guildlog_pace_shared_t  *shared;

    shared = pace->shared;
    ahead = 0;

    if (pace->slots) {
        n = pace_free(pace, now, &next);
        granted = shared->granted;

        if (next == 0) {
            next = PACE_GRACE;
        }

        if (n <= granted) {
            return next;
        }

        lanes = pace_left(&shared->lanes_to, now);
        ahead = lanes || n - granted <= pace->slots / 2;

        if (ahead && shared->ahead + PACE_SHARE > PACE_SAVED) {
            return lanes ? lanes : next;
        }
    }

    ms = pace_closed(pace, now);
    if (ms) {
        return ms;
    }

    if (!pace_use(pace, now)) {
        return PACE_GRACE;
    }

    if (ahead) {
        (void) ngx_atomic_fetch_add(&shared->ahead, PACE_SHARE);
    }

    return 0;
}


ngx_uint_t
ngx_guildlog_pace_answered(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid)
{
    ngx_uint_t                   before, minute;
    ngx_guildlog_pace_shared_t  *shared;

    shared = pace->shared;

    if (invalid) {
        pace_advance(shared, now);

        minute = now / 60000 % NGX_GUILDLOG_PACE_MINUTES;
        (void) ngx_atomic_fetch_add(&shared->invalid[minute], 1);
    }

    if (failed) {
        if (ngx_atomic_fetch_add(&shared->failures, 1) + 1 == PACE_FAILURES) {
            pace_put_off(&shared->seldom_to, now + PACE_PROBE);
        }

        return 0;
    }

    before = shared->failures;
    shared->failures = 0;

    return before != 0;
}


void
ngx_guildlog_pace_pause(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_msec_t ms)
{
    pace_put_off(&pace->shared->paused_to, now + ms);
}


ngx_uint_t
ngx_guildlog_pace_paused(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    return pace_left(&pace->shared->paused_to, now) != 0;
}


void
ngx_guildlog_pace_hold(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_msec_t ms)
{
    pace_put_off(&pace->shared->held_to, now + ms);
}


static void
pace_put_off(ngx_atomic_t *to, ngx_msec_t until)
{
    ngx_msec_t  was;

    do {
        was = *to;

        if (was && (ngx_msec_int_t) (was - until) >= 0) {
            return;
        }

    } while (!ngx_atomic_cmp_set(to, was, until ? until : 1));
}


static ngx_msec_t
pace_left(ngx_atomic_t *to, ngx_msec_t now)
{
    ngx_msec_t  until;

    do {
        until = *to;

        if (until && (ngx_msec_int_t) (until - now) > 0) {
            return until - now;
        }

    } while (until && !ngx_atomic_cmp_set(to, until, 0));

    return 0;
}


ngx_uint_t
ngx_guildlog_pace_invalid(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_uint_t  i, n;

    pace_advance(pace->shared, now);

    n = 0;

    for (i = 0; i < NGX_GUILDLOG_PACE_MINUTES; i++) {
        n += pace->shared->invalid[i];
    }

    return n;
}


/* Race: the process that comes to a minute first clears it, and those minutes
   that nobody came to */

static void
pace_advance(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now)
{
    ngx_msec_t  minute, last;

    minute = now / 60000;
    last = shared->minute;

    if ((ngx_msec_int_t) (minute - last) <= 0
        || !ngx_atomic_cmp_set(&shared->minute, last, minute))
    {
        return;
    }

    if (minute - last > NGX_GUILDLOG_PACE_MINUTES) {
        last = minute - NGX_GUILDLOG_PACE_MINUTES;
    }

    while (last != minute) {
        shared->invalid[++last % NGX_GUILDLOG_PACE_MINUTES] = 0;
    }
}
