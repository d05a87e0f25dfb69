
/*
 * The quota of requests that ask the platform something.
 */

#include "shm/ngx_guildlog_quota.h"


static ngx_guildlog_quota_part_t *quota_next(ngx_guildlog_quota_t *quota);
static ngx_uint_t quota_less(ngx_atomic_t *n);
static ngx_uint_t quota_drain(ngx_atomic_t *n);


ngx_guildlog_quota_part_t *
ngx_guildlog_quota_enter(ngx_guildlog_quota_t *quota, ngx_uint_t place)
{
    ngx_atomic_uint_t      used;
    ngx_guildlog_quota_part_t  *part;

    part = &quota->parts[place];

    (void) quota_drain(&part->wanted);
    (void) quota_drain(&part->granted);

    do {
        used = quota->used;
    } while (used <= place
             && !ngx_atomic_cmp_set(&quota->used, used, place + 1));

    return part;
}


void
ngx_guildlog_quota_want(ngx_guildlog_quota_part_t *part)
{
    (void) ngx_atomic_fetch_add(&part->wanted, 1);
}


ngx_uint_t
ngx_guildlog_quota_take(ngx_guildlog_quota_part_t *part)
{
    return quota_less(&part->granted);
}


/* Race: if it is no longer wanted it has just been granted, and is not used */

void
ngx_guildlog_quota_give_up(ngx_guildlog_quota_part_t *part)
{
    if (!quota_less(&part->wanted)) {
        (void) quota_less(&part->granted);
    }
}


void
ngx_guildlog_quota_answered(ngx_guildlog_quota_t *quota,
    ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms)
{
    ngx_atomic_uint_t  ms;

    if (invalid) {
        (void) ngx_atomic_fetch_add(&quota->invalid, 1);
    }

    if (!failed) {
        (void) ngx_atomic_fetch_add(&quota->there, 1);
    }

    do {
        ms = quota->pause_ms;
    } while (ms < pause_ms
             && !ngx_atomic_cmp_set(&quota->pause_ms, ms, pause_ms));
}


void
ngx_guildlog_quota_grant(ngx_guildlog_quota_t *quota, ngx_guildlog_pace_t *pace,
    ngx_msec_t now, ngx_uint_t most)
{
    ngx_uint_t             n;
    ngx_guildlog_quota_part_t  *part;

    for (n = quota_drain(&quota->invalid); n; n--) {
        ngx_guildlog_pace_refused(pace, now);
    }

    if (quota_drain(&quota->there)) {
        ngx_guildlog_pace_there(pace);
    }

    n = quota_drain(&quota->pause_ms);

    if (n) {
        ngx_guildlog_pace_pause(pace, now, n);
    }

    for (n = 0; n < most; n++) {

        part = quota_next(quota);

        if (part == NULL || !ngx_guildlog_pace_take(pace, now)) {
            return;
        }

        if (!quota_less(&part->wanted)) {
            ngx_guildlog_pace_cancelled(pace, now);
            return;
        }

        ngx_guildlog_pace_spent(pace, now);

        (void) ngx_atomic_fetch_add(&part->granted, 1);
    }
}


/* the workers get grants by turns; NULL: nobody wants one */

static ngx_guildlog_quota_part_t *
quota_next(ngx_guildlog_quota_t *quota)
{
    ngx_uint_t             i, used;
    ngx_guildlog_quota_part_t  *part;

    used = quota->used;

    for (i = 0; i < used; i++) {
        part = &quota->parts[(quota->next + i) % used];

        if (part->wanted) {
            quota->next = (quota->next + i + 1) % used;
            return part;
        }
    }

    return NULL;
}


/* 1: there was one to take */

static ngx_uint_t
quota_less(ngx_atomic_t *n)
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
quota_drain(ngx_atomic_t *n)
{
    ngx_atomic_uint_t  have;

    do {
        have = *n;
    } while (have && !ngx_atomic_cmp_set(n, have, 0));

    return have;
}
