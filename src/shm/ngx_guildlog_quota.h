
/*
 * The quota of requests of any worker that ask the platform something.  What
 * they ask counts in what this machine's address may send, so the worker that
 * delivers grants it.  In shared memory: a worker's slot has what it wants, and
 * loses it with the worker.
 */

#ifndef _NGX_GUILDLOG_QUOTA_H_INCLUDED_
#define _NGX_GUILDLOG_QUOTA_H_INCLUDED_


#include "shm/ngx_guildlog_stats.h"


/* wants to send one request; takes the grant once it is there, or gives up */

void ngx_guildlog_quota_want(ngx_guildlog_stats_t *stats,
    ngx_guildlog_asks_e who);
ngx_uint_t ngx_guildlog_quota_take(ngx_guildlog_stats_t *stats,
    ngx_guildlog_asks_e who);
void ngx_guildlog_quota_give_up(ngx_guildlog_stats_t *stats,
    ngx_guildlog_asks_e who);

/*
 * Called by the worker that delivers: as many as the pace allows.  waits: there
 * is something to deliver that waits for the pace.
 */

void ngx_guildlog_quota_grant(ngx_guildlog_stats_t *stats,
    ngx_guildlog_pace_t *pace, ngx_msec_t now, ngx_uint_t waits);


#endif /* _NGX_GUILDLOG_QUOTA_H_INCLUDED_ */
