
/*
 * What happened and who did it, told in two packets, waits in the database for
 * its other half.  This ends it when its time is over.
 */

#ifndef _NGX_GUILDLOG_PAIRS_H_INCLUDED_
#define _NGX_GUILDLOG_PAIRS_H_INCLUDED_


#include "db/ngx_guildlog_db_pool.h"


typedef struct ngx_guildlog_pairs_s  ngx_guildlog_pairs_t;


/*
 * Looks through one database, as long as the worker lives, in one worker of
 * each nginx.  Two at once do no harm: versions let one of them pass.  NULL:
 * out of memory.  Owned by the cycle's pool.
 */

ngx_guildlog_pairs_t *ngx_guildlog_pairs_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats);

void ngx_guildlog_pairs_destroy(ngx_guildlog_pairs_t *pairs);


#endif /* _NGX_GUILDLOG_PAIRS_H_INCLUDED_ */
