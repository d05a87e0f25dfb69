
/*
 * What one address may ask of the platform: requests a second, pauses it was
 * told to make, bad requests, and whether the platform is there at all.  All of
 * it is in shared memory, so it is one pace of all processes.  Pure: the time
 * is given, ms of any clock that only goes forward, the same one in all
 * processes.
 */

#ifndef _NGX_GUILDLOG_PACE_H_INCLUDED_
#define _NGX_GUILDLOG_PACE_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_PACE_MINUTES  10
#define NGX_GUILDLOG_PACE_SLOTS    1024


/* whose question it is that a request asks the platform */

typedef enum {
    NGX_GUILDLOG_ASKS_PERSON = 0,       /* who the platform knows */
    NGX_GUILDLOG_ASKS_STRANGER,         /* who has a code, or says so */
    NGX_GUILDLOG_ASKS_REPORT,           /* the troubleshooter */
    NGX_GUILDLOG_ASKS_LAST
} ngx_guildlog_asks_e;


/* what all processes share: in shared memory, zeroed at first.  "_to": until
   then; 0: not at all */

typedef struct {
    ngx_atomic_t                   platform;  /* a hash */
    ngx_atomic_t                   paused_to;
    ngx_atomic_t                   held_to;   /* strangers are paused */
    ngx_atomic_t                   minute;
    ngx_atomic_t                   invalid[NGX_GUILDLOG_PACE_MINUTES];
    ngx_atomic_t                   failures;  /* in a row */
    ngx_atomic_t                   seldom_to; /* when one at a time is sent */
    ngx_atomic_t                   granted;   /* to lanes, not sent yet */
    ngx_atomic_t                   lanes_to;  /* lanes wait */
    ngx_atomic_t                   asks_to[NGX_GUILDLOG_ASKS_LAST];
    ngx_atomic_t                   rank;      /* the least one of strangers */
    ngx_atomic_t                   rank_to;   /* that is so */
    ngx_atomic_t                   asked;     /* who did it last */
    ngx_atomic_t                   ahead;     /* questions ahead of lanes, in
                                                 requests that pay for them */
    ngx_atomic_t                   sent[NGX_GUILDLOG_PACE_SLOTS];
} ngx_guildlog_pace_shared_t;


/* a process's view */

typedef struct {
    ngx_guildlog_pace_shared_t    *shared;
    ngx_uint_t                     slots;     /* 0: any rate */
    ngx_msec_t                     period;    /* of a slot */
    ngx_uint_t                     granted;   /* to its lanes */
} ngx_guildlog_pace_t;


/* rate: requests a second; 0: any.  What was kept of another platform is
   forgotten */
void ngx_guildlog_pace_init(ngx_guildlog_pace_t *pace,
    ngx_guildlog_pace_shared_t *shared, const ngx_str_t *platform,
    ngx_uint_t rate);

/*
 * For a lane.  1: one request is granted, and sent() or cancelled() is owed.
 * sent() is called as it is sent, and returns 0 if it must not be.  The process
 * that has lanes calls grants() now and then, for one before it may have died
 * with what was granted.
 */
ngx_uint_t ngx_guildlog_pace_take(ngx_guildlog_pace_t *pace, ngx_msec_t now);
ngx_uint_t ngx_guildlog_pace_sent(ngx_guildlog_pace_t *pace, ngx_msec_t now);
void ngx_guildlog_pace_cancelled(ngx_guildlog_pace_t *pace);
void ngx_guildlog_pace_grants(ngx_guildlog_pace_t *pace);

/*
 * For a question of any process, which must not hold up what lanes send: while
 * they wait, one in ten; else as long as half of the rate is free for what
 * comes.  Persons come first; strangers and reports take turns; of strangers
 * the least rank comes first.  0: it is to be sent at once.  Else in so many
 * ms, or later, it is worth asking again.
 */
ngx_msec_t ngx_guildlog_pace_ask(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_guildlog_asks_e who, ngx_uint_t rank);

/*
 * Of a request of a lane, or an answered question.  failed: no answer, or one
 * that says that the platform is ill.  1: the platform is there again.
 */
ngx_uint_t ngx_guildlog_pace_answered(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid);
void ngx_guildlog_pace_pause(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_msec_t ms);
ngx_uint_t ngx_guildlog_pace_paused(ngx_guildlog_pace_t *pace, ngx_msec_t now);

/* the pause of what strangers ask alone: all ask the same */
void ngx_guildlog_pace_hold(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_msec_t ms);

/* bad requests within the last ten minutes */
ngx_uint_t ngx_guildlog_pace_invalid(ngx_guildlog_pace_t *pace, ngx_msec_t now);


#endif /* _NGX_GUILDLOG_PACE_H_INCLUDED_ */
