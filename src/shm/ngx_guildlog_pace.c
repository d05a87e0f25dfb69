
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

/* of 10,000 bad requests in ten minutes that end in a ban */
#define PACE_CAREFUL   1000     /* one at a time */
#define PACE_STOP      5000


static ngx_uint_t pace_half(ngx_guildlog_pace_t *pace, ngx_msec_t now);
static void pace_invalid(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now);
static void pace_advance(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now);
static void pace_put_off(ngx_atomic_t *to, ngx_msec_t until);
static ngx_msec_t pace_left(ngx_atomic_t *to, ngx_msec_t now);


ngx_int_t
ngx_guildlog_pace_init(ngx_guildlog_pace_t *pace,
    ngx_guildlog_pace_shared_t *shared, const ngx_str_t *platform,
    ngx_pool_t *pool, ngx_uint_t rate)
{
    uint32_t  hash;

    hash = ngx_crc32_long(platform->data, platform->len);

    if (shared->platform != hash) {
        ngx_memzero(shared, sizeof(ngx_guildlog_pace_shared_t));
        shared->platform = hash;
    }

    ngx_memzero(pace, sizeof(ngx_guildlog_pace_t));

    pace->shared = shared;
    pace->rate = rate;
    pace->share = PACE_SAVED;

    if (rate <= NGX_GUILDLOG_PACE_KEPT) {
        pace->sent = shared->sent;
        pace->next = &shared->next;
        return NGX_OK;
    }

    pace->sent = ngx_pcalloc(pool, rate * sizeof(ngx_atomic_t));
    pace->next = &pace->own_next;

    return pace->sent ? NGX_OK : NGX_ERROR;
}


ngx_uint_t
ngx_guildlog_pace_take(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_uint_t  invalid;
    ngx_msec_t  oldest;

    if (ngx_guildlog_pace_paused(pace, now)) {
        return 0;
    }

    invalid = ngx_guildlog_pace_invalid(pace, now);

    if (invalid >= PACE_STOP
        || (invalid >= PACE_CAREFUL && pace->granted + pace->open))
    {
        return 0;
    }

    if (pace->failures >= PACE_FAILURES) {
        if ((ngx_msec_int_t) (now - pace->probe_at) < 0) {
            return 0;
        }

        pace->probe_at = now + PACE_PROBE;
    }

    if (pace->rate) {
        if (pace->granted >= pace->rate) {
            return 0;
        }

        /* the time of the request that was "rate" requests before this one */

        oldest = pace->sent[(*pace->next + pace->granted) % pace->rate];

        if (oldest && (ngx_msec_int_t) (now - oldest) < PACE_SECOND) {
            return 0;
        }
    }

    pace->granted++;

    ngx_guildlog_assert(pace->rate == 0 || pace->granted <= pace->rate);

    return 1;
}


ngx_uint_t
ngx_guildlog_pace_ask(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t waits)
{
    ngx_uint_t  ahead;

    ahead = pace->rate && (waits || !pace_half(pace, now));

    if ((ahead && pace->share < PACE_SHARE)
        || !ngx_guildlog_pace_take(pace, now))
    {
        return 0;
    }

    if (ahead) {
        pace->share -= PACE_SHARE;
    }

    return 1;
}


/* was less than half of the rate used within the last second? */

static ngx_uint_t
pace_half(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_uint_t  ahead;
    ngx_msec_t  at;

    ahead = pace->granted + pace->rate / 2;

    if (ahead >= pace->rate) {
        return 0;
    }

    at = pace->sent[(*pace->next + ahead) % pace->rate];

    return at == 0 || (ngx_msec_int_t) (now - at) >= PACE_SECOND;
}


void
ngx_guildlog_pace_sent(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_guildlog_pace_spent(pace, now);

    pace->open++;
    pace->share = ngx_min(pace->share + 1, PACE_SAVED);
}


void
ngx_guildlog_pace_spent(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_uint_t  i;

    ngx_guildlog_assert(pace->granted > 0);

    pace->granted--;

    if (pace->rate) {
        i = ngx_atomic_fetch_add(pace->next, 1) % pace->rate;
        pace->sent[i] = now ? now : 1;
    }
}


void
ngx_guildlog_pace_cancelled(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    ngx_guildlog_assert(pace->granted > 0);

    pace->granted--;

    /* no probe was sent: the next request is the probe */

    pace->probe_at = now;
}


void
ngx_guildlog_pace_dropped(ngx_guildlog_pace_t *pace)
{
    ngx_guildlog_assert(pace->open > 0);

    pace->open--;
}


void
ngx_guildlog_pace_answered(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid)
{
    ngx_guildlog_assert(pace->open > 0);

    pace->open--;

    if (failed) {
        if (++pace->failures == PACE_FAILURES) {
            pace->probe_at = now + PACE_PROBE;
        }

    } else {
        pace->failures = 0;
    }

    if (invalid) {
        pace_invalid(pace->shared, now);
    }
}


void
ngx_guildlog_pace_told(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms)
{
    if (!failed) {
        shared->there = 1;
    }

    if (invalid) {
        pace_invalid(shared, now);
    }

    if (pause_ms) {
        ngx_guildlog_pace_pause(shared, now, pause_ms);
    }
}


static void
pace_invalid(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now)
{
    ngx_uint_t  minute;

    pace_advance(shared, now);

    minute = now / 60000 % NGX_GUILDLOG_PACE_MINUTES;
    (void) ngx_atomic_fetch_add(&shared->invalid[minute], 1);
}


void
ngx_guildlog_pace_pause(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_msec_t ms)
{
    pace_put_off(&shared->paused_to, now + ms);
}


ngx_uint_t
ngx_guildlog_pace_paused(ngx_guildlog_pace_t *pace, ngx_msec_t now)
{
    return pace_left(&pace->shared->paused_to, now) != 0;
}


void
ngx_guildlog_pace_hold(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_msec_t ms)
{
    pace_put_off(&shared->held_to, now + ms);
}


ngx_msec_t
ngx_guildlog_pace_held(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now)
{
    return pace_left(&shared->held_to, now);
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
