
/*
 * The store's housekeeping: partitions, blocks, expiry.  The schema knows
 * what a step does; this file, when.
 */

#ifndef _NGX_GUILDLOG_KEEPER_H_INCLUDED_
#define _NGX_GUILDLOG_KEEPER_H_INCLUDED_


#include "db/ngx_guildlog_db_pool.h"


typedef struct ngx_guildlog_keeper_s  ngx_guildlog_keeper_t;


/* the directive; const while serving */

typedef struct {
    ngx_flag_t                     on;
    ngx_uint_t                     budget;     /* entries a step looks at */
    ngx_msec_t                     interval;   /* if nothing is to do */
} ngx_guildlog_keeper_conf_t;


/*
 * Keeps one database, as long as the worker lives, in one worker of each nginx.
 * Two keepers at once do no harm: the schema lets one of them pass.  What the
 * database tells of its tasks goes to the stats.  NULL: out of memory.  Owned
 * by the cycle's pool.
 */

ngx_guildlog_keeper_t *ngx_guildlog_keeper_create(ngx_cycle_t *cycle,
    const ngx_guildlog_keeper_conf_t *conf,
    const ngx_guildlog_database_t *database, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats);

void ngx_guildlog_keeper_destroy(ngx_guildlog_keeper_t *keeper);


#endif /* _NGX_GUILDLOG_KEEPER_H_INCLUDED_ */
