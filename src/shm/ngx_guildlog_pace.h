
/*
 * What one address may ask of the platform: requests a second, pauses it was
 * told to make, bad requests, and whether the platform is there at all.  Pure:
 * the time is given, ms of any clock that only goes forward, the same one in
 * all processes.
 */

#ifndef _NGX_GUILDLOG_PACE_H_INCLUDED_
#define _NGX_GUILDLOG_PACE_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_PACE_MINUTES  10
#define NGX_GUILDLOG_PACE_KEPT     64    /* requests; with a higher rate each
                                            process keeps its own second */


/* what all processes share: in shared memory, zeroed at first */

typedef struct {
    ngx_atomic_t                   platform;  /* a hash */
    ngx_atomic_t                   paused_to; /* 0: it is not */
    ngx_atomic_t                   held_to;   /* the same of strangers */
    ngx_atomic_t                   minute;
    ngx_atomic_t                   invalid[NGX_GUILDLOG_PACE_MINUTES];
    ngx_atomic_t                   there;     /* a process got an answer */
    ngx_atomic_t                   next;
    ngx_atomic_t                   sent[NGX_GUILDLOG_PACE_KEPT];
} ngx_guildlog_pace_shared_t;


typedef struct {
    ngx_guildlog_pace_shared_t    *shared;
    ngx_uint_t                     rate;      /* a second; 0: any */
    ngx_atomic_t                  *sent;      /* ring of the last "rate" */
    ngx_atomic_t                  *next;      /* in it, counted on */
    ngx_atomic_t                   own_next;
    ngx_uint_t                     granted;   /* not sent yet */
    ngx_uint_t                     open;      /* sent, not answered yet */
    ngx_uint_t                     share;     /* sent, and not yet matched by
                                                 questions */
    ngx_uint_t                     failures;  /* in a row */
    ngx_msec_t                     probe_at;
} ngx_guildlog_pace_t;


/* what was kept of another platform is forgotten */
ngx_int_t ngx_guildlog_pace_init(ngx_guildlog_pace_t *pace,
    ngx_guildlog_pace_shared_t *shared, const ngx_str_t *platform,
    ngx_pool_t *pool, ngx_uint_t rate);

/*
 * 1: one request may be sent, and sent() or cancelled() is owed; after sent(),
 * answered() or dropped().
 */
ngx_uint_t ngx_guildlog_pace_take(ngx_guildlog_pace_t *pace, ngx_msec_t now);
void ngx_guildlog_pace_sent(ngx_guildlog_pace_t *pace, ngx_msec_t now);
void ngx_guildlog_pace_cancelled(ngx_guildlog_pace_t *pace, ngx_msec_t now);

/*
 * The same for a question, which must not hold up what is sent: while that
 * waits, one in ten; else as long as half of the rate is free for what comes.
 */
ngx_uint_t ngx_guildlog_pace_ask(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t waits);

/*
 * In place of sent(): another process sends it, and answered() is not owed.
 * That process calls told().  0 ms: no pause.
 */
void ngx_guildlog_pace_spent(ngx_guildlog_pace_t *pace, ngx_msec_t now);
void ngx_guildlog_pace_told(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms);

/* in place of answered(): nobody waits for it any more */
void ngx_guildlog_pace_dropped(ngx_guildlog_pace_t *pace);

/* failed: no answer, or one that says that the platform is ill */
void ngx_guildlog_pace_answered(ngx_guildlog_pace_t *pace, ngx_msec_t now,
    ngx_uint_t failed, ngx_uint_t invalid);
void ngx_guildlog_pace_pause(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_msec_t ms);

/* the pause of what strangers ask alone: all ask the same; how long it lasts */
void ngx_guildlog_pace_hold(ngx_guildlog_pace_shared_t *shared, ngx_msec_t now,
    ngx_msec_t ms);
ngx_msec_t ngx_guildlog_pace_held(ngx_guildlog_pace_shared_t *shared,
    ngx_msec_t now);
ngx_uint_t ngx_guildlog_pace_paused(ngx_guildlog_pace_t *pace, ngx_msec_t now);

/* bad requests within the last ten minutes */
ngx_uint_t ngx_guildlog_pace_invalid(ngx_guildlog_pace_t *pace, ngx_msec_t now);


#endif /* _NGX_GUILDLOG_PACE_H_INCLUDED_ */
