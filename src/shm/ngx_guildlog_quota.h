
/*
 * Questions to the platform that a request asks, in any worker: they are part
 * of what this machine's address may send, so the worker that delivers lets
 * them.  In shared memory.
 */

#ifndef _NGX_GUILDLOG_QUOTA_H_INCLUDED_
#define _NGX_GUILDLOG_QUOTA_H_INCLUDED_


#include "shm/ngx_guildlog_pace.h"
#include "platform/ngx_guildlog_platform.h"


/* of one worker, so that nothing of it outlives it */

typedef struct {
    ngx_atomic_t                   wanted;
    ngx_atomic_t                   granted;  /* and not taken yet */
} ngx_guildlog_asker_t;


typedef struct {
    ngx_guildlog_asker_t           askers[NGX_MAX_PROCESSES];
    ngx_atomic_t                   used;     /* of them, the last one + 1 */
    ngx_atomic_t                   next;     /* whose turn it is */
    ngx_atomic_t                   invalid;  /* answers not told yet */
    ngx_atomic_t                   there;    /* the same */
    ngx_atomic_t                   pause_ms; /* the longest of theirs */
} ngx_guildlog_asks_t;


/* a worker begins, at the place of one that has ended; it is ours from now */

ngx_guildlog_asker_t *ngx_guildlog_asks_enter(ngx_guildlog_asks_t *asks,
    ngx_uint_t place);

/* who wants one takes it once it is granted, or gives up */

void ngx_guildlog_asks_want(ngx_guildlog_asker_t *asker);
ngx_uint_t ngx_guildlog_asks_take(ngx_guildlog_asker_t *asker);
void ngx_guildlog_asks_give_up(ngx_guildlog_asker_t *asker);

void ngx_guildlog_asks_answered(ngx_guildlog_asks_t *asks,
    const ngx_guildlog_verdict_t *verdict);

/* by who delivers: as many as the pace allows, at most */

void ngx_guildlog_asks_grant(ngx_guildlog_asks_t *asks,
    ngx_guildlog_pace_t *pace, ngx_msec_t now, ngx_uint_t most);


#endif /* _NGX_GUILDLOG_QUOTA_H_INCLUDED_ */
