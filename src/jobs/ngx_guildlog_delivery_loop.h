
/*
 * Between the files of the loop: the leases, the lanes, their steps and their
 * slots.  Of the files of a lane only ngx_guildlog_lane.c and
 * ngx_guildlog_lane_call.c include this.
 */

#ifndef _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_
#define _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_


#include "jobs/ngx_guildlog_delivery.h"
#include "jobs/ngx_guildlog_delivery_queue.h"
#include "jobs/ngx_guildlog_lane.h"
#include "shm/ngx_guildlog_pace.h"


#define NGX_GUILDLOG_DELIVERY_RETRY      500     /* ms, after a failure */

#define NGX_GUILDLOG_DELIVERY_SHARDS     64
#define NGX_GUILDLOG_DELIVERY_LANES      64      /* a step */
#define NGX_GUILDLOG_DELIVERY_STEPS      2       /* at once */
#define NGX_GUILDLOG_DELIVERY_PAGE       1000    /* lanes found at a time */
#define NGX_GUILDLOG_DELIVERY_DOUBTS     16      /* doubts found at a time */
#define NGX_GUILDLOG_DELIVERY_BUCKETS    4096
#define NGX_GUILDLOG_DELIVERY_MARK       256     /* bytes */
#define NGX_GUILDLOG_DELIVERY_CHANGED    256     /* lanes, the last ones */
#define NGX_GUILDLOG_DELIVERY_GUILD     10      /* requests a guild at once */


#define ngx_guildlog_delivery_due(at)                                         \
    ((ngx_msec_int_t) (ngx_current_msec - (at)) >= 0)


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

    ngx_guildlog_lane_env_t        env;
    ngx_guildlog_lane_application_t applications[NGX_GUILDLOG_BOTS];
    ngx_atomic_uint_t              woken;    /* changes seen */

    /* the queues */
    ngx_event_t                    tick;
    ngx_event_t                    go;
    ngx_queue_t                    stepping;  /* lanes to be stepped */
    ngx_queue_t                    going;    /* lanes that are to go on */
    ngx_queue_t                    rounds;    /* with lanes that wait, and
                                                may send */
    ngx_queue_t                    refused;  /* guilds with refusals */
    ngx_guildlog_pace_t            pace;
    ngx_uint_t                     open;     /* requests sent, not answered */
    size_t                         bytes;    /* of entries at hand, and what is
                                                reserved for more */

    int64_t                        fences[NGX_GUILDLOG_DELIVERY_SHARDS];
    ngx_uint_t                     mine;     /* shards */
    ngx_uint_t                     share;
    ngx_uint_t                     lease_asks;   /* so far */
    ngx_msec_t                     lease_asked;
    ngx_msec_t                     lease_until;

    ngx_guildlog_db_query_t       *lease;
    ngx_guildlog_db_query_t       *find;
    ngx_guildlog_db_query_t       *release;
    ngx_guildlog_db_query_t       *doubt;
    ngx_guildlog_db_query_t       *gauges;
    ngx_guildlog_db_query_t       *tell;
    ngx_msec_t                     lease_at;
    ngx_msec_t                     find_at;
    int64_t                        after_guild;  /* the last lane found; */
    int64_t                        after_lane;   /* 0: at the beginning */
    uint64_t                       changed[NGX_GUILDLOG_DELIVERY_CHANGED];
    ngx_uint_t                     nchanged; /* since the find was sent */
    ngx_guildlog_mark_t            mark;     /* how far the last find looked */
    ngx_guildlog_mark_t            next_mark;    /* the same of this one */
    ngx_msec_t                     sweep_at;
    ngx_msec_t                     release_at;
    ngx_msec_t                     doubt_at;
    ngx_msec_t                     gauges_at;
    ngx_str_t                      dead;     /* owners, as an SQL array */

    ngx_guildlog_step_t            steps[NGX_GUILDLOG_DELIVERY_STEPS];
    ngx_msec_t                     step_at;
    ngx_uint_t                     stepped;  /* steps that were answered */
    ngx_uint_t                     requests; /* counted so far */
    ngx_msec_t                     requests_at;  /* they are counted again */
    ngx_msec_t                     tell_at;

    ngx_uint_t                     nlanes;   /* at hand */
    ngx_queue_t                    lanes[NGX_GUILDLOG_DELIVERY_BUCKETS];
    ngx_queue_t                    doubts;   /* lanes of one message each */
    ngx_queue_t                    guilds[NGX_GUILDLOG_DELIVERY_BUCKETS];

    time_t                         remind_at;    /* that the secret does not
                                                    fit */

    unsigned                       fits:1;   /* the secret; else no leases */
    unsigned                       leaves:1; /* the last lease gave all away */
    unsigned                       sweeps:1; /* the find under way is one of
                                                all lanes */
    unsigned                       apart:1;  /* its page was refused: each lane
                                                by itself */
    unsigned                       apart_doubts:1;   /* the same of doubts */
    unsigned                       missed:1; /* it found one that was busy */
    unsigned                       requests_lately:1;
    unsigned                       left:1;   /* all was given away */
};


/* these let the loop run in the next pass of the event loop: the tick; the
   lanes that are to go on, if there are any */
void ngx_guildlog_delivery_queue_post(ngx_guildlog_delivery_t *d);
void ngx_guildlog_delivery_queue_post_go(ngx_guildlog_delivery_t *d);

/* runs the state of a lane that has what it waited for */
void ngx_guildlog_delivery_queue_resume(ngx_guildlog_lane_t *lane);

/* a guild is next, if it has lanes that wait, and may send */
void ngx_guildlog_delivery_queue_line_up(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild);
/* memory was reserved for entries: they are here */
void ngx_guildlog_delivery_queue_settle(ngx_guildlog_lane_t *lane);
/* the database knows more of the lane than a find that is under way read */
void ngx_guildlog_delivery_queue_changed(ngx_guildlog_lane_t *lane);
/* frees the guild, unless somebody has a use for it */
void ngx_guildlog_delivery_queue_let_guild(ngx_guildlog_guild_t *guild);


/* ngx_guildlog_delivery_lanes.c: the lanes at hand */

/* a row of a find: a lane that has something to do */
void ngx_guildlog_delivery_lanes_meet(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
/* asks now and then for unconfirmed messages, which are lanes too */
void ngx_guildlog_delivery_lanes_doubts(ngx_guildlog_delivery_t *d);
/* forgets those whose lease is over */
void ngx_guildlog_delivery_lanes_forget_lost(ngx_guildlog_delivery_t *d);
/* is something of some lane under way?  shard -1: of any shard */
ngx_uint_t ngx_guildlog_delivery_lanes_busy(ngx_guildlog_delivery_t *d,
    ngx_int_t shard);
void ngx_guildlog_delivery_lanes_free(ngx_guildlog_delivery_t *d);


/* ngx_guildlog_delivery_step.c: what the database refused */

/* 1: it was refused because of a row, and would be refused again */
ngx_uint_t ngx_guildlog_delivery_park_blames(ngx_guildlog_db_result_t *result);
/* one line that says why, valid until the next call */
void ngx_guildlog_delivery_park_cause(ngx_guildlog_db_result_t *result,
    ngx_str_t *cause);
/* 1: the row tells of what was parked, which is counted and logged */
ngx_uint_t ngx_guildlog_delivery_park_row(const ngx_guildlog_lane_env_t *env,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
void ngx_guildlog_delivery_park_done(const ngx_guildlog_lane_env_t *env,
    const ngx_str_t *what);
void ngx_guildlog_delivery_park_log(const ngx_guildlog_lane_env_t *env,
    const char *what, ngx_guildlog_db_result_t *result);


/*
 * ngx_guildlog_delivery_step.c: the database counts what the platform
 * refused to a guild.  Until it has, and while the guild has to rest, none
 * of its lanes sends.
 */

void ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild);
void ngx_guildlog_delivery_refused_tell(ngx_guildlog_delivery_t *d);
ngx_uint_t ngx_guildlog_delivery_refused_rests(ngx_guildlog_guild_t *guild);
/* forgets its lanes that wait: they are found anew when the rest is over */
void ngx_guildlog_delivery_refused_put_off(ngx_guildlog_guild_t *guild);


/* ngx_guildlog_delivery_step.c: submits the steps that wait for it */

void ngx_guildlog_delivery_step(ngx_guildlog_delivery_t *d);


/* ngx_guildlog_delivery_lanes.c: gives permits to lanes that wait */

void ngx_guildlog_delivery_slots(ngx_guildlog_delivery_t *d);

/* have there been requests lately, of any worker? */
ngx_uint_t ngx_guildlog_delivery_slot_requests(ngx_guildlog_delivery_t *d);
/* is a step under way?  A step that hangs holds up no other: it is none */
ngx_uint_t ngx_guildlog_delivery_slot_stepping(ngx_guildlog_delivery_t *d);


#endif /* _NGX_GUILDLOG_DELIVERY_LOOP_H_INCLUDED_ */
