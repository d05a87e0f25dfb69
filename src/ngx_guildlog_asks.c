
/*
 * Questions to the platform, and who lets them.
 */

#include "ngx_guildlog_asks.h"


static ngx_uint_t ngx_guildlog_asks_less(ngx_atomic_t *n);
static ngx_uint_t ngx_guildlog_asks_drain(ngx_atomic_t *n);


void
ngx_guildlog_asks_want(ngx_guildlog_asks_t *asks)
{
    (void) ngx_atomic_fetch_add(&asks->wanted, 1);
}


ngx_uint_t
ngx_guildlog_asks_take(ngx_guildlog_asks_t *asks)
{
    return ngx_guildlog_asks_less(&asks->granted);
}


/* if it is wanted no more it has been granted, and nobody is to send it */

void
ngx_guildlog_asks_give_up(ngx_guildlog_asks_t *asks)
{
    if (!ngx_guildlog_asks_less(&asks->wanted)) {
        (void) ngx_guildlog_asks_less(&asks->granted);
    }
}


void
ngx_guildlog_asks_answered(ngx_guildlog_asks_t *asks,
    const ngx_guildlog_verdict_t *verdict)
{
    if (verdict->invalid) {
        (void) ngx_atomic_fetch_add(&asks->invalid, 1);
    }

    if (verdict->class == NGX_GUILDLOG_PLATFORM_BLOCKED
        || (verdict->class == NGX_GUILDLOG_PLATFORM_LIMITED
            && verdict->scope == NGX_GUILDLOG_SCOPE_GLOBAL))
    {
        asks->pause_ms = verdict->retry_after_ms;
    }
}


void
ngx_guildlog_asks_grant(ngx_guildlog_asks_t *asks, ngx_guildlog_pace_t *pace,
    ngx_msec_t now, ngx_uint_t most)
{
    ngx_uint_t  n;

    for (n = ngx_guildlog_asks_drain(&asks->invalid); n; n--) {
        ngx_guildlog_pace_refused(pace, now);
    }

    n = ngx_guildlog_asks_drain(&asks->pause_ms);

    if (n) {
        ngx_guildlog_pace_pause(pace, now, n);
    }

    for (n = 0; n < most && asks->wanted; n++) {

        if (!ngx_guildlog_pace_take(pace, now)) {
            return;
        }

        if (!ngx_guildlog_asks_less(&asks->wanted)) {
            ngx_guildlog_pace_cancelled(pace);
            return;
        }

        ngx_guildlog_pace_lent(pace, now);

        (void) ngx_atomic_fetch_add(&asks->granted, 1);
    }
}


/* 1: there was one to take */

static ngx_uint_t
ngx_guildlog_asks_less(ngx_atomic_t *n)
{
    ngx_atomic_uint_t  have;

    do {
        have = *n;

        if (have == 0) {
            return 0;
        }

    } while (!ngx_atomic_cmp_set(n, have, have - 1));

    return 1;
}


static ngx_uint_t
ngx_guildlog_asks_drain(ngx_atomic_t *n)
{
    ngx_atomic_uint_t  have;

    do {
        have = *n;
    } while (have && !ngx_atomic_cmp_set(n, have, 0));

    return have;
}
