
/*
 * The quota of requests that ask the platform something.
 */

#include "shm/ngx_guildlog_quota.h"


static ngx_guildlog_slot_t *quota_next(ngx_guildlog_stats_shared_t *shared);
static ngx_uint_t quota_less(ngx_atomic_t *n);


void
ngx_guildlog_quota_want(ngx_guildlog_stats_t *stats)
{
    if (stats->slot) {
        (void) ngx_atomic_fetch_add(&stats->slot->wanted, 1);
    }
}


ngx_uint_t
ngx_guildlog_quota_take(ngx_guildlog_stats_t *stats)
{
    return stats->slot && quota_less(&stats->slot->granted);
}


/* Race: if it is no longer wanted it has just been granted, and is not used */

void
ngx_guildlog_quota_give_up(ngx_guildlog_stats_t *stats)
{
    if (stats->slot && !quota_less(&stats->slot->wanted)) {
        (void) quota_less(&stats->slot->granted);
    }
}


void
ngx_guildlog_quota_grant(ngx_guildlog_stats_t *stats, ngx_guildlog_pace_t *pace,
    ngx_msec_t now, ngx_uint_t most)
{
    ngx_uint_t            n;
    ngx_guildlog_slot_t  *slot;

    if (ngx_atomic_cmp_set(&pace->kept->there, 1, 0)) {
        pace->failures = 0;
    }

    for (n = 0; n < most; n++) {

        slot = quota_next(stats->shared);

        if (slot == NULL || !ngx_guildlog_pace_take(pace, now)) {
            return;
        }

        if (!quota_less(&slot->wanted)) {
            ngx_guildlog_pace_cancelled(pace, now);
            return;
        }

        ngx_guildlog_pace_spent(pace, now);

        (void) ngx_atomic_fetch_add(&slot->granted, 1);
    }
}


/* the workers get grants by turns; NULL: nobody wants one */

static ngx_guildlog_slot_t *
quota_next(ngx_guildlog_stats_shared_t *shared)
{
    ngx_uint_t            i;
    ngx_guildlog_slot_t  *slot;

    static ngx_uint_t     next;

    for (i = 0; i < NGX_GUILDLOG_STATS_WORKERS; i++) {
        slot = &shared->slots[(next + i) % NGX_GUILDLOG_STATS_WORKERS];

        if (slot->pid && slot->wanted) {
            next += i + 1;
            return slot;
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
