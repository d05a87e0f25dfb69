
/*
 * Counters in shared memory.
 */

#include "shm/ngx_guildlog_stats.h"


#define STATS_MAGIC    0x676c7374
#define STATS_VERSION  16


static void *stats_named(void *places, size_t size, ngx_uint_t n,
    const ngx_str_t *name);
static void stats_clear(ngx_guildlog_slot_t *slot);


const ngx_uint_t  ngx_guildlog_stats_bounds_us[NGX_GUILDLOG_STATS_BUCKETS] = {
    100, 250, 500,
    1000, 2500, 5000,
    10000, 25000, 50000,
    100000, 250000,
    1000000,
    10000000,
    (ngx_uint_t) -1
};


const ngx_guildlog_lane_gauge_t  ngx_guildlog_stats_lanes[] = {
    { "registering", NGX_GUILDLOG_GAUGE_REGISTERING },
    { "active", NGX_GUILDLOG_GAUGE_ACTIVE },
    { "waiting", NGX_GUILDLOG_GAUGE_WAITING },
    { "paused", NGX_GUILDLOG_GAUGE_PAUSED },
    { "refused", NGX_GUILDLOG_GAUGE_REFUSED },
    { "parked", NGX_GUILDLOG_GAUGE_PARKED },
    { "broken", NGX_GUILDLOG_GAUGE_BROKEN },
    { "closing", NGX_GUILDLOG_GAUGE_CLOSING },
    { NULL, 0 }
};


const ngx_uint_t  ngx_guildlog_stats_codes[NGX_GUILDLOG_STATS_CODES] = {
    200, 201, 202, 204,
    400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 429, 499,
    500, 503, 504,
    0
};


/* in the order of the bits of ngx_guildlog_platform_call_e */

const char  *ngx_guildlog_traffic_calls[NGX_GUILDLOG_TRAFFIC_CALLS] = {
    "execute", "list", "create", "delete", "read", "channel", "webhook"
};


/* in the order of ngx_guildlog_verdict_class_e */

const char  *ngx_guildlog_traffic_classes[NGX_GUILDLOG_TRAFFIC_CLASSES] = {
    "done", "doubt", "again", "limited", "blocked", "poison", "shrink",
    "content", "webhook_gone", "channel_gone", "forbidden", "token_bad",
    "full"
};


/* in the order of ngx_guildlog_verdict_scope_e */

const char  *ngx_guildlog_traffic_scopes[NGX_GUILDLOG_TRAFFIC_SCOPES] = {
    "user", "shared", "global"
};


const char  *ngx_guildlog_traffic_ends[NGX_GUILDLOG_TRAFFIC_ENDS] = {
    "delivered", "unconfirmed", "expired", "rejected", "webhook_404",
    "channel_gone", "foreign_channel", "forbidden"
};


const char *const  ngx_guildlog_events_results[NGX_GUILDLOG_EVENTS_LAST] = {
    "recorded", "duplicate", "waiting", "dropped", "ignored", "unknown", "error"
};

const char  *ngx_guildlog_traffic_doubts[NGX_GUILDLOG_DOUBT_LAST] = {
    "present", "absent", "unproved"
};


const ngx_uint_t  ngx_guildlog_traffic_codes[NGX_GUILDLOG_TRAFFIC_CODES] = {
    0,
    200, 201, 204,
    400, 401, 403, 404, 405, 413, 429,
    500, 502, 503, 504,
    0
};


size_t
ngx_guildlog_stats_zone_size(void)
{
    /* the slab pool takes the first page, and rounds the rest down */

    return ngx_align(sizeof(ngx_guildlog_stats_shared_t), ngx_pagesize)
           + 8 * ngx_pagesize;
}


ngx_int_t
ngx_guildlog_stats_init_zone(ngx_shm_zone_t *zone, void *data)
{
    ngx_int_t  rc;

    rc = ngx_guildlog_zone_open(zone, data, sizeof(ngx_guildlog_stats_shared_t),
                                STATS_MAGIC, STATS_VERSION);

    return (rc == NGX_ERROR) ? NGX_ERROR : NGX_OK;
}


void
ngx_guildlog_stats_enter(ngx_guildlog_stats_t *stats, ngx_shm_zone_t *zone)
{
    ngx_pid_t             owner;
    ngx_uint_t            i;
    ngx_guildlog_slot_t  *slot;

    stats->shared = zone->data;
    stats->slot = NULL;

    for (i = 0; i < NGX_GUILDLOG_STATS_WORKERS; i++) {
        slot = &stats->shared->slots[i];
        owner = slot->pid;

        if (owner && owner != ngx_pid && !ngx_guildlog_stats_dead(owner)) {
            continue;
        }

        if (stats->slot == NULL
            && ngx_atomic_cmp_set(&slot->pid, owner, ngx_pid))
        {
            stats_clear(slot);
            stats->slot = slot;
            continue;
        }

        /* a worker that died; its pid may come back as another process */

        if (owner) {
            (void) ngx_atomic_cmp_set(&slot->pid, owner, 0);
        }
    }
}


static void
stats_clear(ngx_guildlog_slot_t *slot)
{
    ngx_memzero((void *) slot->gauge, sizeof(slot->gauge));
}


ngx_uint_t
ngx_guildlog_stats_dead(ngx_pid_t pid)
{
    return kill(pid, 0) == -1 && ngx_errno == NGX_ESRCH;
}


void
ngx_guildlog_stats_leave(ngx_guildlog_stats_t *stats)
{
    if (stats->slot == NULL) {
        return;
    }

    stats_clear(stats->slot);
    stats->slot->pid = 0;
    stats->slot = NULL;
}


void
ngx_guildlog_stats_count(ngx_guildlog_stats_t *stats,
    ngx_guildlog_count_e what, ngx_uint_t n)
{
    (void) ngx_atomic_fetch_add(&stats->shared->count[what], n);
}


void
ngx_guildlog_stats_gauge(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what, ngx_int_t delta)
{
    if (stats->slot) {
        (void) ngx_atomic_fetch_add(&stats->slot->gauge[what], delta);
    }
}


void
ngx_guildlog_stats_observe(ngx_guildlog_histogram_t *histogram, ngx_uint_t us)
{
    ngx_uint_t  i;

    for (i = 0; us > ngx_guildlog_stats_bounds_us[i]; i++) { /* void */ }

    (void) ngx_atomic_fetch_add(&histogram->buckets[i], 1);
    (void) ngx_atomic_fetch_add(&histogram->sum_us, us);
    (void) ngx_atomic_fetch_add(&histogram->count, 1);
}


void
ngx_guildlog_stats_request(ngx_guildlog_stats_t *stats, ngx_uint_t route,
    ngx_uint_t status, ngx_uint_t us)
{
    ngx_uint_t  i;

    ngx_guildlog_assert(route < NGX_GUILDLOG_STATS_ROUTES);

    for (i = 0; i < NGX_GUILDLOG_STATS_CODES - 1; i++) {
        if (ngx_guildlog_stats_codes[i] == status) {
            break;
        }
    }

    (void) ngx_atomic_fetch_add(&stats->shared->requests[route][i], 1);

    ngx_guildlog_stats_observe(&stats->shared->route[route], us);
}


ngx_uint_t
ngx_guildlog_stats_requests(ngx_guildlog_stats_t *stats)
{
    ngx_uint_t  i, n;

    n = 0;

    for (i = 0; i < NGX_GUILDLOG_STATS_ROUTES; i++) {
        n += stats->shared->route[i].count;
    }

    return n;
}


void
ngx_guildlog_stats_set(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what, ngx_uint_t n)
{
    if (stats->slot) {
        stats->slot->gauge[what] = n;
    }
}


ngx_guildlog_gauges_t
ngx_guildlog_stats_gauges(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what)
{
    ngx_int_t               n, sum, most, least;
    ngx_uint_t              i;
    ngx_guildlog_slot_t    *slot;
    ngx_guildlog_gauges_t   all;

    sum = 0;
    most = 0;
    least = 0;

    for (i = 0; i < NGX_GUILDLOG_STATS_WORKERS; i++) {
        slot = &stats->shared->slots[i];

        if (slot->pid == 0 || ngx_guildlog_stats_dead(slot->pid)) {
            continue;
        }

        n = (ngx_int_t) slot->gauge[what];

        sum += n;
        most = ngx_max(most, n);

        if (n > 0 && (least == 0 || n < least)) {
            least = n;
        }
    }

    all.sum = ngx_max(sum, 0);
    all.most = most;
    all.least = least;

    return all;
}


ngx_guildlog_task_t *
ngx_guildlog_stats_task(ngx_guildlog_stats_t *stats, const ngx_str_t *name)
{
    return stats_named(stats->shared->tasks, sizeof(ngx_guildlog_task_t),
                       NGX_GUILDLOG_STATS_TASKS, name);
}


void
ngx_guildlog_stats_unknown(ngx_guildlog_stats_t *stats, const ngx_str_t *name)
{
    ngx_uint_t               i;
    ngx_guildlog_unknown_t  *unknown;

    static const ngx_str_t  other = ngx_string("other");

    for (i = 0; i < name->len; i++) {
        if (name->data[i] != '_'
            && (name->data[i] < '0' || name->data[i] > '9')
            && (name->data[i] < 'A' || name->data[i] > 'Z'))
        {
            name = &other;
            break;
        }
    }

    /* "other" has the first place */

    unknown = stats_named(stats->shared->unknown,
                          sizeof(ngx_guildlog_unknown_t),
                          NGX_GUILDLOG_STATS_UNKNOWN, &other);

    if (name != &other) {
        unknown = stats_named(stats->shared->unknown,
                              sizeof(ngx_guildlog_unknown_t),
                              NGX_GUILDLOG_STATS_UNKNOWN, name);
    }

    unknown = unknown ? unknown : stats->shared->unknown;

    (void) ngx_atomic_fetch_add(&unknown->n, 1);
}


/*
 * The place of that name among n of them, of which each begins with one; NULL:
 * no room, or somebody just takes it
 */

static void *
stats_named(void *places, size_t size, ngx_uint_t n, const ngx_str_t *name)
{
    ngx_uint_t            i;
    ngx_atomic_uint_t     state;
    ngx_guildlog_name_t  *place;

    for (i = 0; i < n; i++) {
        place = (ngx_guildlog_name_t *) ((u_char *) places + i * size);
        state = place->state;

        /* a worker that was killed on the way left nothing that counts */

        if (state != NGX_GUILDLOG_STATS_NAMED
            && (state == 0
                || ngx_guildlog_stats_dead((ngx_pid_t) state))
            && ngx_atomic_cmp_set(&place->state, state, ngx_pid))
        {
            (void) ngx_cpystrn(place->text, name->data,
                               ngx_min(name->len + 1, sizeof(place->text)));
            ngx_memory_barrier();
            place->state = NGX_GUILDLOG_STATS_NAMED;
        }

        if (place->state != NGX_GUILDLOG_STATS_NAMED) {
            return NULL;
        }

        if (ngx_strlen(place->text)
               == ngx_min(name->len, sizeof(place->text) - 1)
            && ngx_strncmp(place->text, name->data, ngx_strlen(place->text))
               == 0)
        {
            return place;
        }
    }

    return NULL;
}


/*
 * What delivery did.
 */

void
ngx_guildlog_traffic_call(ngx_guildlog_traffic_t *traffic,
    ngx_uint_t call, ngx_uint_t class, ngx_int_t scope, ngx_uint_t status)
{
    ngx_uint_t  bit, code;

    ngx_guildlog_assert(call && (call & (call - 1)) == 0);
    ngx_guildlog_assert(class < NGX_GUILDLOG_TRAFFIC_CLASSES
                        && scope < NGX_GUILDLOG_TRAFFIC_SCOPES);

    for (bit = 0; !(call >> bit & 1); bit++) { /* void */ }

    for (code = 0; code < NGX_GUILDLOG_TRAFFIC_CODES - 1; code++) {
        if (ngx_guildlog_traffic_codes[code] == status) {
            break;
        }
    }

    (void) ngx_atomic_fetch_add(&traffic->calls[bit][class][code], 1);

    if (scope != -1) {
        (void) ngx_atomic_fetch_add(&traffic->limited[scope], 1);
    }
}


void
ngx_guildlog_traffic_entries(ngx_guildlog_traffic_t *traffic,
    const ngx_str_t *end, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_TRAFFIC_ENDS; i++) {
        if (end->len == ngx_strlen(ngx_guildlog_traffic_ends[i])
            && ngx_strncmp(end->data, ngx_guildlog_traffic_ends[i], end->len)
               == 0)
        {
            (void) ngx_atomic_fetch_add(&traffic->entries[i], n);
            return;
        }
    }
}


void
ngx_guildlog_traffic_doubt(ngx_guildlog_traffic_t *traffic,
    ngx_guildlog_traffic_doubt_e end)
{
    (void) ngx_atomic_fetch_add(&traffic->doubts[end], 1);
}
