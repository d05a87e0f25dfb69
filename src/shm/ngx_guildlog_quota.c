
/*
 * Questions to the platform, and who lets them.
 */

#include "shm/ngx_guildlog_quota.h"


static ngx_guildlog_asker_t *ngx_guildlog_asks_next(
    ngx_guildlog_asks_t *asks);
static ngx_uint_t ngx_guildlog_asks_less(ngx_atomic_t *n);
static ngx_uint_t ngx_guildlog_asks_drain(ngx_atomic_t *n);


ngx_guildlog_asker_t *
ngx_guildlog_asks_enter(ngx_guildlog_asks_t *asks, ngx_uint_t place)
{
    ngx_atomic_uint_t      used;
    ngx_guildlog_asker_t  *asker;

    asker = &asks->askers[place];

    (void) ngx_guildlog_asks_drain(&asker->wanted);
    (void) ngx_guildlog_asks_drain(&asker->granted);

    do {
        used = asks->used;
    } while (used <= place
             && !ngx_atomic_cmp_set(&asks->used, used, place + 1));

    return asker;
}


void
ngx_guildlog_asks_want(ngx_guildlog_asker_t *asker)
{
    (void) ngx_atomic_fetch_add(&asker->wanted, 1);
}


ngx_uint_t
ngx_guildlog_asks_take(ngx_guildlog_asker_t *asker)
{
    return ngx_guildlog_asks_less(&asker->granted);
}


/* if it is wanted no more it has been granted, and nobody is to send it */

void
ngx_guildlog_asks_give_up(ngx_guildlog_asker_t *asker)
{
    if (!ngx_guildlog_asks_less(&asker->wanted)) {
        (void) ngx_guildlog_asks_less(&asker->granted);
    }
}


void
ngx_guildlog_asks_answered(ngx_guildlog_asks_t *asks,
    const ngx_guildlog_verdict_t *verdict)
{
    ngx_atomic_uint_t  ms;

    if (verdict->invalid) {
        (void) ngx_atomic_fetch_add(&asks->invalid, 1);
    }

    if (!verdict->failed) {
        (void) ngx_atomic_fetch_add(&asks->there, 1);
    }

    do {
        ms = asks->pause_ms;
    } while (ms < verdict->pause_ms
             && !ngx_atomic_cmp_set(&asks->pause_ms, ms, verdict->pause_ms));
}


void
ngx_guildlog_asks_grant(ngx_guildlog_asks_t *asks, ngx_guildlog_pace_t *pace,
    ngx_msec_t now, ngx_uint_t most)
{
    ngx_uint_t             n;
    ngx_guildlog_asker_t  *asker;

    for (n = ngx_guildlog_asks_drain(&asks->invalid); n; n--) {
        ngx_guildlog_pace_refused(pace, now);
    }

    if (ngx_guildlog_asks_drain(&asks->there)) {
        ngx_guildlog_pace_there(pace);
    }

    n = ngx_guildlog_asks_drain(&asks->pause_ms);

    if (n) {
        ngx_guildlog_pace_pause(pace, now, n);
    }

    for (n = 0; n < most; n++) {

        asker = ngx_guildlog_asks_next(asks);

        if (asker == NULL || !ngx_guildlog_pace_take(pace, now)) {
            return;
        }

        if (!ngx_guildlog_asks_less(&asker->wanted)) {
            ngx_guildlog_pace_cancelled(pace, now);
            return;
        }

        ngx_guildlog_pace_lent(pace, now);

        (void) ngx_atomic_fetch_add(&asker->granted, 1);
    }
}


/* the workers take turns; NULL: nobody wants anything */

static ngx_guildlog_asker_t *
ngx_guildlog_asks_next(ngx_guildlog_asks_t *asks)
{
    ngx_uint_t             i, used;
    ngx_guildlog_asker_t  *asker;

    used = asks->used;

    for (i = 0; i < used; i++) {
        asker = &asks->askers[(asks->next + i) % used];

        if (asker->wanted) {
            asks->next = (asks->next + i + 1) % used;
            return asker;
        }
    }

    return NULL;
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
