
/*
 * A simulation of delivery: the lane machine of src/jobs as it is, on a clock,
 * a database and a platform that are made up and belong to one process.  All
 * of it follows from a seed.
 *
 * world.c has a heap of events in virtual ms, and the nodes.  A node is a
 * process of nginx: its timers and posted events are nginx's own, and are
 * swapped in for its turn.  What reaches a node from outside stands in its
 * inbox until that turn.  A crash throws all of the node away; what it had
 * sent goes on in the world.  pool.c is the way to the database, which is
 * store.c; platform.c is the client, and the platform.
 */

#ifndef _SIM_H_INCLUDED_
#define _SIM_H_INCLUDED_


#include "jobs/ngx_guildlog_delivery_loop.h"
#include "jobs/ngx_guildlog_owner.h"
#include "store.h"
#include <jansson.h>


#define SIM_WALL      1750000000000LL   /* ms, the wall clock at 0 */
#define SIM_START     1000000           /* virtual ms */
#define SIM_NODES     3
#define SIM_WEBHOOKS  24                /* of a channel, at most */
#define SIM_HARM      40000             /* ms: until then it may be felt */
#define SIM_QUIET     1500              /* ms: no good lane waits longer */


typedef struct sim_node_s     sim_node_t;
typedef struct sim_channel_s  sim_channel_t;
typedef void (*sim_pt)(void *data);


/* what goes wrong: chances in 10,000, and what is usual at most */

#define SIM_CHANCES(C)                                                        \
    C(db_lost, 300)          /* no answer, no effect */                       \
    C(db_lost_after, 300)    /* no answer, after the effect */                \
    C(db_late, 200)          /* no answer, and the effect comes later */      \
    C(db_refused, 200)       /* nobody's fault */                             \
    C(db_timeout, 100)                                                        \
    C(db_slow, 500)                                                           \
    C(db_tardy, 500)         /* done at once, and told late */                \
    C(db_locked, 500)        /* somebody has a row that is passed over */     \
    C(memory, 50)            /* there is none */                              \
    C(unsent, 300)                                                            \
    C(slow_connect, 300)                                                      \
    C(cut, 300)                                                               \
    C(cut_applied, 400)                                                       \
    C(hang, 200)                                                              \
    C(limited, 500)                                                           \
    C(limited_shared, 100)                                                    \
    C(limited_global, 20)                                                     \
    C(err500, 300)                                                            \
    C(err500_applied, 200)                                                    \
    C(gone, 30)              /* the webhook, from now on */                   \
    C(poison, 200)           /* of an entry */                                \
    C(forbidden, 20)                                                          \
    C(no_right, 500)         /* to a channel or its webhooks */               \
    C(garbled, 100)                                                           \
    C(list_fails, 500)                                                        \
    C(list_limited, 500)     /* and all else that is not a message */         \
    C(copied, 500)           /* somebody shows what never came */             \
    C(blind, 200)            /* a channel that cannot be read, for a while */ \
    C(held, 1000)            /* an entry that waits for its place */          \
    C(open, 500)             /* who records takes his time to commit */

/* the same: once in about so many ms, in the second column at least */

#define SIM_TIMES(T)                                                          \
    T(crash, 2000)                                                            \
    T(leave, 20000)          /* a process ends, another one begins */         \
    T(freeze, 5000)                                                           \
    T(pause, 300)            /* a lane, by its operator */                    \
    T(still, 10000)          /* the platform stands still */                  \
    T(unused, 10000)         /* a channel is used no more, or again */        \
    T(bad, 20000)            /* the database refuses a lane for a while */

#define sim_enum(name, n)  SIM_##name,

typedef enum {
    SIM_CHANCES(sim_enum)
    SIM_CHANCES_END,
    SIM_TIMES_BEGIN = SIM_CHANCES_END - 1,
    SIM_TIMES(sim_enum)
    SIM_FAULTS
} sim_fault_e;


typedef struct {
    int64_t        id, webhook;
    char          *content;
    char          *footer;
} sim_message_t;

typedef struct {
    int64_t        id;
    char           token[32];
    int            gone;
    int            open;            /* POSTs that the platform has in hand */
    int            told_node;       /* who knows that it is gone: a node, */
    int            told_epoch;      /*   and which process of it */
    int64_t        limited_to;      /* the same of a limit */
    int            limited_node;
    int            limited_epoch;
} sim_webhook_t;


/* a channel at the platform */

struct sim_channel_s {
    store_channel_t  *row;          /* in the database */
    int               goal;         /* entries that it will get */
    int               recorded;
    int               bad;          /* quiet weather: it alone never answers */
    int64_t           waits;        /* an idle lane has an entry since; 0 */
    int64_t           blind_to;
    int64_t           bad_to;       /* the database refuses its lane */
    int64_t           rests_to;     /* as the database says and a process */
    int64_t           rests_end;    /*   was told: not_before of its lane, */
    int               rests_node;   /*   and in ms of the wall */
    int               rests_epoch;
    uint64_t          limited;      /* the same of the lane that asked for */
    int64_t           limited_to;   /*   something else than a message,   */
    int               limited_node; /*   until that is committed */
    int               limited_epoch;
    int64_t           used_at;      /* last set */
    int64_t           order;        /* the last place applied, */
    store_lane_t     *of;           /*   of that lane */
    sim_message_t    *messages;
    int               nmessages, amessages;
    sim_webhook_t     webhooks[SIM_WEBHOOKS];
    int               nwebhooks;
};


struct sim_node_s {
    int                       up;
    int                       index;
    int                       epoch;
    int                       exiting;
    int64_t                   since;     /* up */
    int64_t                   frozen_to;
    int64_t                   back_at;   /* down until then */
    int64_t                   ends_at;   /* exiting */
    ngx_guildlog_delivery_t  *d;
    ngx_guildlog_stats_t      stats;
    ngx_pool_t               *pool;
    ngx_cycle_t               cycle;
    ngx_queue_t               inbox;
    int64_t                   fences[STORE_SHARDS];   /* as it was told */
    int                       told;      /* that, the last time it asked */
    int                       gave;      /* a shard away, since it was told */
    int64_t                   swept;     /* it looked at all lanes; 0 */

    /* nginx's own, while it is not its turn */
    ngx_rbtree_t              timers;
    ngx_queue_t               posted, next;
};


typedef struct {
    uint64_t         seed;
    int              nodes, channels, entries;
    int              verbose;
    int              black;         /* only what a user sees is asserted */
    int              strict;        /* also what is known: a webhook is made
                                       behind a list that was asked for later,
                                       what is unknown comes late */
    int              strength;      /* of faults, in per cent */
    int              off[SIM_FAULTS];    /* left out, whatever is drawn */
    int64_t          now;           /* virtual ms */
    int              tick;          /* ms: nginx's clock goes by those */
    int              calm;          /* no more faults, since: */
    int64_t          calm_at;
    int              quiet;         /* a weather in which waits are measured */
    int64_t          harmed;        /* the last crash, freeze or leaving */
    int64_t          still_to;      /* the platform stands still */
    int              fault[SIM_FAULTS];
    sim_channel_t   *all;
    sim_node_t       node[SIM_NODES];
    sim_node_t      *current;
    int64_t          orphan[STORE_SHARDS];    /* nobody has it since; 0 */
    uint64_t         hash;          /* of all that happened */

    /* what was seen */
    uint64_t         posts, applied, reads, creates, deletes, crashes,
                     freezes, statements, lost, turns, unknown, proved,
                     parked, expired, held;
    int              failed;
    char             rule[16];
    char             failure[512];
} sim_t;

extern sim_t  sim;


/* world.c */

uint64_t sim_random(void);
int sim_chance(sim_fault_e fault);       /* 0 when calm */
int64_t sim_between(int64_t a, int64_t b);
int64_t sim_timer(int64_t ms);           /* when it ends, by nginx's clock */
int64_t sim_delay(int64_t a, int64_t b); /* the ends come more often */
void sim_at(int64_t at, sim_pt fn, void *data);
void sim_mail(sim_node_t *node, sim_pt fn, void *data);
void sim_fail(const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sim_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void sim_clock(void);                    /* store.now: each call is later */
int64_t sim_id(void);                    /* of something of now */
store_entry_t *sim_entry(int64_t id);
sim_channel_t *sim_channel(const store_lane_t *lane);
#define sim_wall()  (SIM_WALL + sim.now)

/* pool.c */

void sim_pool_start(void);
void sim_pool_crash(sim_node_t *node);
/* does the database refuse what is about that lane? */
int sim_pool_bad(store_lane_t *lane);
/* ms for which that process still has the lease; < 0: it has not */
int64_t sim_pool_lease(const sim_node_t *node, int shard);

/* platform.c */

void sim_platform_start(void);
sim_webhook_t *sim_platform_webhook(sim_channel_t *channel);
void sim_platform_stranger(sim_channel_t *channel);
/* a message that is not of that batch shows that the channel can be read */
int sim_platform_proves(sim_channel_t *channel, const store_lane_t *lane,
    const store_batch_t *batch);
/* a message before that one is there, and its entries are used still */
int sim_platform_shows(const store_doubt_t *doubt);
void sim_platform_free(void);


#endif /* _SIM_H_INCLUDED_ */
