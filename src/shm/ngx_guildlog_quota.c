
/*
 * The quota of requests that ask the platform something.
 */

#include "shm/ngx_guildlog_quota.h"


static ngx_guildlog_slot_t *quota_next(ngx_guildlog_stats_shared_t *shared,
    ngx_guildlog_asks_e *who);
static ngx_uint_t quota_less(ngx_atomic_t *n);


void
ngx_guildlog_quota_want(ngx_guildlog_stats_t *stats, ngx_guildlog_asks_e who)
{
    if (stats->slot) {
        (void) ngx_atomic_fetch_add(&stats->slot->wanted[who], 1);
    }
}


ngx_uint_t
ngx_guildlog_quota_take(ngx_guildlog_stats_t *stats, ngx_guildlog_asks_e who)
{
    return stats->slot && quota_less(&stats->slot->granted[who]);
}


/* Race: if it is no longer wanted it has just been granted, and is not used */

void
ngx_guildlog_quota_give_up(ngx_guildlog_stats_t *stats,
    ngx_guildlog_asks_e who)
{
    if (stats->slot && !quota_less(&stats->slot->wanted[who])) {
        (void) quota_less(&stats->slot->granted[who]);
    }
}


void
ngx_guildlog_quota_grant(ngx_guildlog_stats_t *stats, ngx_guildlog_pace_t *pace,
    ngx_msec_t now, ngx_uint_t waits)
{
    ngx_guildlog_asks_e   who;
    ngx_guildlog_slot_t  *slot;

    if (ngx_atomic_cmp_set(&pace->shared->there, 1, 0)) {
        pace->failures = 0;
    }

    for ( ;; ) {
        slot = quota_next(stats->shared, &who);

        if (slot == NULL || !ngx_guildlog_pace_ask(pace, now, waits)) {
            return;
        }

        if (!quota_less(&slot->wanted[who])) {
            ngx_guildlog_pace_cancelled(pace, now);
            return;
        }

        ngx_guildlog_pace_spent(pace, now);

        (void) ngx_atomic_fetch_add(&slot->granted[who], 1);
    }
}


/*
 * Persons come first, then strangers and reports take turns; of each kind the
 * workers.  NULL: nobody wants one.
 */

static ngx_guildlog_slot_t *
quota_next(ngx_guildlog_stats_shared_t *shared, ngx_guildlog_asks_e *who)
{
    ngx_uint_t            i, n, at, best;
    ngx_guildlog_slot_t  *slot, *found;

    static ngx_uint_t     next, last;
    static const ngx_guildlog_asks_e  orders[][NGX_GUILDLOG_ASKS_LAST] = {
        { NGX_GUILDLOG_ASKS_PERSON, NGX_GUILDLOG_ASKS_STRANGER,
          NGX_GUILDLOG_ASKS_REPORT },
        { NGX_GUILDLOG_ASKS_PERSON, NGX_GUILDLOG_ASKS_REPORT,
          NGX_GUILDLOG_ASKS_STRANGER }
    };

    found = NULL;
    best = NGX_GUILDLOG_ASKS_LAST;
    at = 0;

    for (i = 0; i < NGX_GUILDLOG_STATS_WORKERS; i++) {
        slot = &shared->slots[(next + i) % NGX_GUILDLOG_STATS_WORKERS];

        for (n = 0; slot->pid && n < best; n++) {
            if (slot->wanted[orders[last][n]]) {
                found = slot;
                best = n;
                at = i;
            }
        }
    }

    if (found) {
        *who = orders[last][best];
        next += at + 1;

        if (*who != NGX_GUILDLOG_ASKS_PERSON) {
            last = (*who == NGX_GUILDLOG_ASKS_STRANGER);
        }
    }

    return found;
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
