
/*
 * Counters in shared memory.  Totals survive a reload; what a worker holds
 * open (connections, busy, queued) stands in a slot of that worker and goes
 * with it.
 */

#ifndef _NGX_GUILDLOG_STATS_H_INCLUDED_
#define _NGX_GUILDLOG_STATS_H_INCLUDED_


#include "log/ngx_guildlog_entry.h"
#include "shm/ngx_guildlog_pace.h"
#include "api/ngx_guildlog_route.h"
#include "shm/ngx_guildlog_zone.h"
#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_TRAFFIC_CALLS    7
#define NGX_GUILDLOG_TRAFFIC_CLASSES  13
#define NGX_GUILDLOG_TRAFFIC_CODES    16
#define NGX_GUILDLOG_TRAFFIC_SCOPES   3
#define NGX_GUILDLOG_TRAFFIC_ENDS     8


typedef enum {
    NGX_GUILDLOG_DOUBT_PRESENT = 0,      /* the message was there */
    NGX_GUILDLOG_DOUBT_ABSENT,           /* it was not, and is sent again */
    NGX_GUILDLOG_DOUBT_UNPROVED,
    NGX_GUILDLOG_DOUBT_LAST
} ngx_guildlog_traffic_doubt_e;


typedef struct {
    ngx_atomic_t                   calls[NGX_GUILDLOG_TRAFFIC_CALLS]
                                        [NGX_GUILDLOG_TRAFFIC_CLASSES]
                                        [NGX_GUILDLOG_TRAFFIC_CODES];
    ngx_atomic_t                   limited[NGX_GUILDLOG_TRAFFIC_SCOPES];
    ngx_atomic_t                   entries[NGX_GUILDLOG_TRAFFIC_ENDS];
    ngx_atomic_t                   doubts[NGX_GUILDLOG_DOUBT_LAST];
} ngx_guildlog_traffic_t;


/* words for the numbers, in their order */

extern const char  *ngx_guildlog_traffic_calls[];
extern const char  *ngx_guildlog_traffic_classes[];
extern const char  *ngx_guildlog_traffic_scopes[];
extern const char  *ngx_guildlog_traffic_ends[];
extern const char  *ngx_guildlog_traffic_doubts[];

/* 0, the first: no answer; the last, 0 too, stands for all others */
extern const ngx_uint_t  ngx_guildlog_traffic_codes[];


/* call: one bit, class, and scope if it was limited, else -1, as
   ngx_guildlog_verdict_t has them */
void ngx_guildlog_traffic_call(ngx_guildlog_traffic_t *traffic,
    ngx_uint_t call, ngx_uint_t class, ngx_int_t scope, ngx_uint_t status);

/* so many have reached that end: a reason, or "delivered" */
void ngx_guildlog_traffic_entries(ngx_guildlog_traffic_t *traffic,
    const ngx_str_t *end, ngx_uint_t n);

void ngx_guildlog_traffic_doubt(ngx_guildlog_traffic_t *traffic,
    ngx_guildlog_traffic_doubt_e end);


#define NGX_GUILDLOG_STATS_ROUTES   (NGX_GUILDLOG_ROUTES_MAX + 1)
#define NGX_GUILDLOG_STATS_CODES    20
#define NGX_GUILDLOG_STATS_BUCKETS  14
#define NGX_GUILDLOG_STATS_WORKERS  256
#define NGX_GUILDLOG_STATS_TASKS    32


typedef enum {
    NGX_GUILDLOG_AUTH_OK = 0,
    NGX_GUILDLOG_AUTH_MISSING,      /* no token sent, another scheme */
    NGX_GUILDLOG_AUTH_MALFORMED,    /* not three base64url pieces of JSON,
                                       two headers */
    NGX_GUILDLOG_AUTH_ALGORITHM,    /* none, unknown, not the key's */
    NGX_GUILDLOG_AUTH_KEY,          /* no key of that id */
    NGX_GUILDLOG_AUTH_SIGNATURE,
    NGX_GUILDLOG_AUTH_ISSUER,
    NGX_GUILDLOG_AUTH_EXPIRED,      /* or not valid yet */
    NGX_GUILDLOG_AUTH_CLAIMS,       /* sub, jti, kind or bot missing or bad */
    NGX_GUILDLOG_AUTH_REVOKED,      /* said by the database */
    NGX_GUILDLOG_AUTH_UNVERIFIED,   /* there was no memory to verify it */
    NGX_GUILDLOG_AUTH_LAST
} ngx_guildlog_auth_e;


typedef struct {
    ngx_atomic_t                   count;
    ngx_atomic_t                   sum_us;
    ngx_atomic_t                   buckets[NGX_GUILDLOG_STATS_BUCKETS];
} ngx_guildlog_histogram_t;


typedef enum {
    NGX_GUILDLOG_GAUGE_CONNECTIONS = 0,
    NGX_GUILDLOG_GAUGE_BUSY,            /* connections with work in flight */
    NGX_GUILDLOG_GAUGE_QUEUED,
    NGX_GUILDLOG_GAUGE_LISTENERS,       /* of live tails */

    /* of the worker that delivers, from here to the last one */
    NGX_GUILDLOG_GAUGE_SENDING,         /* requests to the platform */
    NGX_GUILDLOG_GAUGE_INVALID,         /* in the last ten minutes */
    NGX_GUILDLOG_GAUGE_SHARDS,
    NGX_GUILDLOG_GAUGE_MISFIT,          /* 1: its secret does not fit */

    /* the same, of its shards, as the database told them at TOLD, s */
    NGX_GUILDLOG_GAUGE_TOLD,
    NGX_GUILDLOG_GAUGE_BACKLOG,
    NGX_GUILDLOG_GAUGE_HELD,
    NGX_GUILDLOG_GAUGE_OLDEST_MS,
    NGX_GUILDLOG_GAUGE_REGISTERING,     /* lanes, by state */
    NGX_GUILDLOG_GAUGE_ACTIVE,
    NGX_GUILDLOG_GAUGE_WAITING,
    NGX_GUILDLOG_GAUGE_PAUSED,
    NGX_GUILDLOG_GAUGE_REFUSED,
    NGX_GUILDLOG_GAUGE_PARKED,
    NGX_GUILDLOG_GAUGE_BROKEN,
    NGX_GUILDLOG_GAUGE_CLOSING,
    NGX_GUILDLOG_GAUGE_LAST
} ngx_guildlog_gauge_e;


typedef enum {
    NGX_GUILDLOG_COUNT_CONNECTS = 0,    /* connections established */
    NGX_GUILDLOG_COUNT_CONNECT_FAILURES,
    NGX_GUILDLOG_COUNT_LOST,            /* established, then broken */
    NGX_GUILDLOG_COUNT_WAITS,           /* queries that had to queue */
    NGX_GUILDLOG_COUNT_WAIT_US,         /* time they spent there */
    NGX_GUILDLOG_COUNT_QUEUE_FULL,
    NGX_GUILDLOG_COUNT_SHARE_WAITS,     /* queries held up by others of their
                                           guild */
    NGX_GUILDLOG_COUNT_SHARE_TAKEN,     /* refused for them */
    NGX_GUILDLOG_COUNT_TIMEOUTS,
    NGX_GUILDLOG_COUNT_RETRIES,
    NGX_GUILDLOG_COUNT_LIMITED,         /* answered 429 */
    NGX_GUILDLOG_COUNT_LIMITED_DRY,     /* would have been */
    NGX_GUILDLOG_COUNT_EVICTED,         /* windows dropped from a full zone */
    NGX_GUILDLOG_COUNT_TAKEN_BACK,      /* held entries, by active ignore */
    NGX_GUILDLOG_COUNT_APART,           /* batches, guild by guild */
    NGX_GUILDLOG_COUNT_LEASES_LOST,     /* not given away */
    NGX_GUILDLOG_COUNT_PARKED,          /* lanes, for what SQL refused */
    NGX_GUILDLOG_COUNT_PAGES_KEPT,      /* answered from memory */
    NGX_GUILDLOG_COUNT_STANDBY_READS,   /* statements it answered */
    NGX_GUILDLOG_COUNT_STANDBY_BEHIND,  /* requests it was not asked for */
    NGX_GUILDLOG_COUNT_STANDBY_AGAIN,   /* asked at the primary after it */
    NGX_GUILDLOG_COUNT_PAIRS_JOINED,    /* of events, one entry of two */
    NGX_GUILDLOG_COUNT_PAIRS_ALONE,     /* nobody can tell which one it was */
    NGX_GUILDLOG_COUNT_MESSAGES_KEPT,   /* for what becomes of them */
    NGX_GUILDLOG_COUNT_LAST
} ngx_guildlog_count_e;


/* what became of packets and of their entries */

typedef enum {
    NGX_GUILDLOG_EVENTS_RECORDED = 0,
    NGX_GUILDLOG_EVENTS_DUPLICATE,
    NGX_GUILDLOG_EVENTS_WAITING,
    NGX_GUILDLOG_EVENTS_DROPPED,
    NGX_GUILDLOG_EVENTS_IGNORED,
    NGX_GUILDLOG_EVENTS_UNKNOWN,
    NGX_GUILDLOG_EVENTS_ERROR,
    NGX_GUILDLOG_EVENTS_LAST
} ngx_guildlog_events_e;

extern const char *const  ngx_guildlog_events_results[];

#define NGX_GUILDLOG_STATS_UNKNOWN  32


/* a place that a name takes, for as long as the zone lives */

typedef struct {
    ngx_atomic_t                   state;    /* 0: free; the pid of who takes
                                                it, then NAMED */
    u_char                         text[64];
} ngx_guildlog_name_t;

#define NGX_GUILDLOG_STATS_NAMED    ((ngx_atomic_uint_t) -1)


/* an event that the table does not know */

typedef struct {
    ngx_guildlog_name_t            name;
    ngx_atomic_t                   n;
} ngx_guildlog_unknown_t;


typedef struct {
    ngx_atomic_t                   pid;     /* 0: free */
    ngx_atomic_t                   gauge[NGX_GUILDLOG_GAUGE_LAST];
} ngx_guildlog_slot_t;


/* a state of lanes, and the gauge of how many have it */

typedef struct {
    const char                    *state;
    ngx_guildlog_gauge_e           gauge;
} ngx_guildlog_lane_gauge_t;


/* a task of the keeper, as the database last told it */

typedef struct {
    ngx_guildlog_name_t            name;
    ngx_atomic_t                   at;      /* it last succeeded, s */
    ngx_atomic_t                   took_us;
    ngx_atomic_t                   lag;
    ngx_atomic_t                   errors;
    ngx_atomic_t                   parked;  /* guilds left out */
} ngx_guildlog_task_t;


typedef struct {
    ngx_guildlog_zone_head_t       head;
    ngx_atomic_t                   changes; /* statements that may write */
    ngx_atomic_t                   count[NGX_GUILDLOG_COUNT_LAST];
    ngx_atomic_t                   auth[NGX_GUILDLOG_AUTH_LAST];
    ngx_atomic_t                   entries[NGX_GUILDLOG_ENTRY_LAST];
    ngx_atomic_t                   events[NGX_GUILDLOG_EVENTS_LAST];
    ngx_guildlog_unknown_t         unknown[NGX_GUILDLOG_STATS_UNKNOWN];
    ngx_atomic_t                   requests[NGX_GUILDLOG_STATS_ROUTES]
                                           [NGX_GUILDLOG_STATS_CODES];
    ngx_guildlog_histogram_t       route[NGX_GUILDLOG_STATS_ROUTES];
    ngx_guildlog_histogram_t       stmt[NGX_GUILDLOG_STMT_MAX];
    ngx_atomic_t                   stmt_errors[NGX_GUILDLOG_STMT_MAX];
    ngx_guildlog_task_t            tasks[NGX_GUILDLOG_STATS_TASKS];
    ngx_guildlog_traffic_t         traffic;
    ngx_guildlog_pace_shared_t     pace;
    ngx_guildlog_slot_t            slots[NGX_GUILDLOG_STATS_WORKERS];
} ngx_guildlog_stats_shared_t;


/* a process's view; shared is never NULL, slot may be (all are taken) */

typedef struct {
    ngx_guildlog_stats_shared_t   *shared;
    ngx_guildlog_slot_t           *slot;
} ngx_guildlog_stats_t;


/*
 * Upper bounds of the buckets, included; the last one is infinite.  A value
 * counts in one bucket, the first it fits.
 */
extern const ngx_uint_t  ngx_guildlog_stats_bounds_us[];

/* ends with a NULL state */
extern const ngx_guildlog_lane_gauge_t  ngx_guildlog_stats_lanes[];

/* the codes that have a counter each; the last, 0, stands for all others */
extern const ngx_uint_t  ngx_guildlog_stats_codes[];


ngx_int_t ngx_guildlog_stats_init_zone(ngx_shm_zone_t *zone, void *data);
size_t ngx_guildlog_stats_zone_size(void);

/* takes a slot, at the start of a worker; leave() gives it back */
void ngx_guildlog_stats_enter(ngx_guildlog_stats_t *stats,
    ngx_shm_zone_t *zone);
void ngx_guildlog_stats_leave(ngx_guildlog_stats_t *stats);

/* is there no process of that id? */
ngx_uint_t ngx_guildlog_stats_dead(ngx_pid_t pid);

void ngx_guildlog_stats_count(ngx_guildlog_stats_t *stats,
    ngx_guildlog_count_e what, ngx_uint_t n);
void ngx_guildlog_stats_gauge(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what, ngx_int_t delta);
void ngx_guildlog_stats_set(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what, ngx_uint_t n);
void ngx_guildlog_stats_observe(ngx_guildlog_histogram_t *histogram,
    ngx_uint_t us);
void ngx_guildlog_stats_request(ngx_guildlog_stats_t *stats,
    ngx_uint_t route, ngx_uint_t status, ngx_uint_t us);

/* of all routes, so far */
ngx_uint_t ngx_guildlog_stats_requests(ngx_guildlog_stats_t *stats);

/* over the workers that live; least: of those that have any, 0: none has */

typedef struct {
    ngx_uint_t                     sum;
    ngx_uint_t                     most;
    ngx_uint_t                     least;
} ngx_guildlog_gauges_t;

ngx_guildlog_gauges_t ngx_guildlog_stats_gauges(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what);

/* the task of that name; NULL: no room, or somebody just makes it */
ngx_guildlog_task_t *ngx_guildlog_stats_task(ngx_guildlog_stats_t *stats,
    const ngx_str_t *name);

/* counts an event; names that are none, and those there is no room for, are
   "other" */
void ngx_guildlog_stats_unknown(ngx_guildlog_stats_t *stats,
    const ngx_str_t *name);


#endif /* _NGX_GUILDLOG_STATS_H_INCLUDED_ */
