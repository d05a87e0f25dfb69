
/*
 * The quota of requests of any worker that ask the platform something.  What
 * they ask counts in what this machine's address may send, so the worker that
 * delivers grants it.  In shared memory.
 */

#ifndef _NGX_GUILDLOG_QUOTA_H_INCLUDED_
#define _NGX_GUILDLOG_QUOTA_H_INCLUDED_


#include "shm/ngx_guildlog_pace.h"


/* one worker's part of it, which is cleared when the worker is replaced */

typedef struct {
    ngx_atomic_t                   wanted;
    ngx_atomic_t                   granted;  /* not taken yet */
} ngx_guildlog_quota_part_t;


typedef struct {
    ngx_guildlog_quota_part_t      parts[NGX_MAX_PROCESSES];
    ngx_atomic_t                   used;     /* the last part in use + 1 */
    ngx_atomic_t                   next;     /* the part that is next */

    /* of answers that the granting worker has not seen yet */
    ngx_atomic_t                   invalid;  /* bad requests */
    ngx_atomic_t                   there;    /* the platform is there */
    ngx_atomic_t                   pause_ms; /* the longest pause */
} ngx_guildlog_quota_t;


/* a worker begins, at the place of one that has ended, whose part it gets */

ngx_guildlog_quota_part_t *ngx_guildlog_quota_enter(
    ngx_guildlog_quota_t *quota, ngx_uint_t place);

/* wants to send one request; takes the grant once it is there, or gives up */

void ngx_guildlog_quota_want(ngx_guildlog_quota_part_t *part);
ngx_uint_t ngx_guildlog_quota_take(ngx_guildlog_quota_part_t *part);
void ngx_guildlog_quota_give_up(ngx_guildlog_quota_part_t *part);

/* as ngx_guildlog_pace_answered() and _pause(); 0 ms: no pause */
void ngx_guildlog_quota_answered(ngx_guildlog_quota_t *quota,
    ngx_uint_t failed, ngx_uint_t invalid, ngx_msec_t pause_ms);

/* called by the worker that delivers: as many as the pace allows, at most */

void ngx_guildlog_quota_grant(ngx_guildlog_quota_t *quota,
    ngx_guildlog_pace_t *pace, ngx_msec_t now, ngx_uint_t most);


#endif /* _NGX_GUILDLOG_QUOTA_H_INCLUDED_ */
