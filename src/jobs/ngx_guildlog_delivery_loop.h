
/*
 * Between the files of the loop: the leases, the lanes, their steps and their
 * turns.  Nobody else includes this.
 */

#ifndef _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_
#define _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_


#include "jobs/ngx_guildlog_delivery.h"
#include "jobs/ngx_guildlog_lane.h"
#include "shm/ngx_guildlog_pace.h"


#define NGX_GUILDLOG_DELIVERY_RETRY      500     /* ms, of a step */

#define NGX_GUILDLOG_DELIVERY_SHARDS     64
#define NGX_GUILDLOG_DELIVERY_LANES      64      /* a step */
#define NGX_GUILDLOG_DELIVERY_STEPS      2       /* at once */
#define NGX_GUILDLOG_DELIVERY_DOUBTS     16      /* looked at, at a time */
#define NGX_GUILDLOG_DELIVERY_BUCKETS    4096
#define NGX_GUILDLOG_DELIVERY_MARK       256     /* bytes */


/* lanes of one server: nobody else waits for them */

struct ngx_guildlog_guild_s {
    ngx_queue_t                    link;     /* of all servers */
    ngx_queue_t                    queue;    /* of those that are next */
    ngx_queue_t                    waiting;  /* its lanes */
    ngx_queue_t                    tell;     /* of those with refusals */
    ngx_uint_t                     lanes;
    ngx_uint_t                     sending;
    ngx_uint_t                     refused;  /* and not told yet */
    ngx_uint_t                     telling;  /* and on their way */
    ngx_msec_t                     rests_to;
    ngx_str_t                      id;
    unsigned                       queued:1;
    unsigned                       tells:1;  /* one of those */
    unsigned                       rests:1;
};


typedef struct {
    ngx_guildlog_delivery_t       *delivery;
    ngx_guildlog_db_query_t       *query;
    ngx_msec_t                     began;
    ngx_uint_t                     n;
    ngx_guildlog_lane_t           *lanes[NGX_GUILDLOG_DELIVERY_LANES];
} ngx_guildlog_step_t;


/* guildlog.delivery_mark, as text; empty: none */

typedef struct {
    size_t                         len;
    u_char                         data[NGX_GUILDLOG_DELIVERY_MARK];
} ngx_guildlog_mark_t;


struct ngx_guildlog_delivery_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_delivery_conf_t  *conf;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_client_t         *client;
    ngx_log_t                     *log;
    ngx_guildlog_stats_t          *stats;
    ngx_atomic_uint_t              woken;    /* changes seen */
    ngx_str_t                      me;
    ngx_str_t                      applications[NGX_GUILDLOG_BOTS];
    u_char                         application_ids[NGX_GUILDLOG_BOTS][20];
    ngx_event_t                    tick;

    ngx_guildlog_pace_t            pace;
    size_t                         bytes;    /* of entries at hand, and what
                                                is kept free for more */

    int64_t                        fences[NGX_GUILDLOG_DELIVERY_SHARDS];
    ngx_uint_t                     mine;     /* shards */
    ngx_uint_t                     share;
    ngx_msec_t                     lease_asked;
    ngx_msec_t                     lease_until;

    ngx_guildlog_db_query_t       *lease;
    ngx_guildlog_db_query_t       *find;
    ngx_guildlog_db_query_t       *release;
    ngx_guildlog_db_query_t       *doubt;
    ngx_guildlog_db_query_t       *figures;
    ngx_guildlog_db_query_t       *tell;
    ngx_msec_t                     lease_at;
    ngx_msec_t                     find_at;
    int64_t                        after_guild;  /* where finding is; */
    int64_t                        after_lane;   /* 0: at the beginning */
    ngx_uint_t                     page;     /* lanes found at a time */
    ngx_uint_t                     page_doubts;  /* and doubts */
    ngx_guildlog_mark_t            mark;     /* how far it has looked */
    ngx_guildlog_mark_t            next_mark;    /* and will have */
    ngx_msec_t                     sweep_at;
    ngx_msec_t                     release_at;
    ngx_msec_t                     doubt_at;
    ngx_msec_t                     figures_at;
    ngx_str_t                      dead;     /* owners, as an SQL array */

    ngx_guildlog_step_t            steps[NGX_GUILDLOG_DELIVERY_STEPS];
    ngx_queue_t                    stepping; /* lanes to be stepped */
    ngx_queue_t                    going;    /* lanes that are to go on */
    ngx_event_t                    go;
    ngx_msec_t                     step_at;
    ngx_uint_t                     requests; /* counted so far, then */
    ngx_msec_t                     requests_at;

    ngx_queue_t                    refused;  /* servers with refusals */
    ngx_msec_t                     tell_at;
    ngx_queue_t                    servers;  /* with lanes that wait, and
                                                may send */
    ngx_uint_t                     nlanes;   /* at hand */
    ngx_queue_t                    lanes[NGX_GUILDLOG_DELIVERY_BUCKETS];
    ngx_queue_t                    doubts;   /* lanes of one message each */
    ngx_queue_t                    guilds[NGX_GUILDLOG_DELIVERY_BUCKETS];

    time_t                         remind_at;    /* that it does not fit */

    unsigned                       fits:1;   /* the secret; else no leases */
    unsigned                       leased:1; /* some lease came */
    unsigned                       leaves:1; /* so its last lease said */
    unsigned                       sweeps:1; /* the find under way does */
    unsigned                       halved:1; /* and its page was refused */
    unsigned                       missed:1; /* and found one that was busy */
    unsigned                       beside:1; /* there are requests */
    unsigned                       left:1;   /* all was given away */
};


/* ngx_guildlog_delivery.c */

ngx_uint_t ngx_guildlog_delivery_due(ngx_msec_t at);
/* from the beginning, soon */
void ngx_guildlog_delivery_find_again(ngx_guildlog_delivery_t *d);
void ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d,
    const char *what, ngx_guildlog_db_result_t *result);

/* those that are to go on do, in the next turn of the event loop */
void ngx_guildlog_delivery_go_again(ngx_guildlog_delivery_t *d);

/* ngx_guildlog_delivery_lease.c */

void ngx_guildlog_delivery_lease(ngx_guildlog_delivery_t *d);

/* ngx_guildlog_delivery_secret.c: asks whether the secret fits, before the
   first lease */

void ngx_guildlog_delivery_secret(ngx_guildlog_delivery_t *d);

/* ngx_guildlog_delivery_lanes.c */

void ngx_guildlog_delivery_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
/* one more, of those at that place; as ngx_guildlog_lane_create() */
ngx_int_t ngx_guildlog_delivery_enter(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_queue_t *place,
    ngx_guildlog_lane_t **entered);
/* those whose lease is over */
void ngx_guildlog_delivery_forget_lost(ngx_guildlog_delivery_t *d);
/* something of some lane is on its way; shard -1: any */
ngx_uint_t ngx_guildlog_delivery_any_busy(ngx_guildlog_delivery_t *d,
    ngx_int_t shard);
void ngx_guildlog_delivery_forget_all(ngx_guildlog_delivery_t *d);
/* unless somebody has a use for it */
void ngx_guildlog_delivery_let_guild(ngx_guildlog_guild_t *guild);

/* ngx_guildlog_delivery_figures.c: keeps the gauges, when it is time */

void ngx_guildlog_delivery_figures(ngx_guildlog_delivery_t *d);

/* tells the database something of that lane; "me" comes first */
void ngx_guildlog_delivery_ask(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs,
    ngx_guildlog_db_handler_pt handler);

/* ngx_guildlog_delivery_park.c */

/* 1: it was refused for the sake of a row, and may be refused again */
ngx_uint_t ngx_guildlog_delivery_to_blame(ngx_guildlog_db_result_t *result);
/* nobody else waits for it any more; it is gone then */
void ngx_guildlog_delivery_park(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result);
/* args: as of a find, with room for the fifth */
void ngx_guildlog_delivery_park_found(ngx_guildlog_delivery_t *d,
    ngx_str_t *args, ngx_guildlog_db_result_t *result);
void ngx_guildlog_delivery_park_doubt(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);

/* ngx_guildlog_delivery_doubt.c: asks for what is to be looked for again */

void ngx_guildlog_delivery_doubts(ngx_guildlog_delivery_t *d);

/* ngx_guildlog_delivery_refused.c: the database counts a server's refusals.
   Until it has, and while the server is to rest, none of its lanes sends */

void ngx_guildlog_delivery_refuses(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild);
void ngx_guildlog_delivery_tell(ngx_guildlog_delivery_t *d);
ngx_uint_t ngx_guildlog_delivery_held_off(ngx_guildlog_guild_t *guild);
/* its lanes that wait are found anew when the rest is over */
void ngx_guildlog_delivery_put_off(ngx_guildlog_guild_t *guild);

/* ngx_guildlog_delivery_step.c: submits what waits for it */

void ngx_guildlog_delivery_steps(ngx_guildlog_delivery_t *d);
void ngx_guildlog_delivery_settle(ngx_guildlog_lane_t *lane);

/* ngx_guildlog_delivery_rest.c: what it leaves to requests */

ngx_uint_t ngx_guildlog_delivery_beside(ngx_guildlog_delivery_t *d);
ngx_uint_t ngx_guildlog_delivery_stepping(ngx_guildlog_delivery_t *d);

/* ngx_guildlog_delivery_turn.c: gives turns to those that wait, first to
   questions of requests */

void ngx_guildlog_delivery_lend(ngx_guildlog_delivery_t *d);
void ngx_guildlog_delivery_turns(ngx_guildlog_delivery_t *d);
void ngx_guildlog_delivery_line_up(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild);
/* it waits no more, or its request has ended */
void ngx_guildlog_delivery_step_aside(ngx_guildlog_lane_t *lane);
void ngx_guildlog_delivery_sent(ngx_guildlog_lane_t *lane);


#endif /* _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_ */
