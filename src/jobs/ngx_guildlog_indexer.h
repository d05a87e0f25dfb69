
/*
 * The index of searches: the schema says what is to be indexed and keeps the
 * segments; here they are made.
 */

#ifndef _NGX_GUILDLOG_INDEXER_H_INCLUDED_
#define _NGX_GUILDLOG_INDEXER_H_INCLUDED_


#include "db/ngx_guildlog_db_pool.h"
#include "search/ngx_guildlog_build.h"


typedef struct ngx_guildlog_indexer_s  ngx_guildlog_indexer_t;


/*
 * Works for one database, as long as the worker lives, in one worker of each
 * nginx; "interval" is how long it waits if nothing is to do.  Each takes what
 * no other one has in hand.  If two work on the same, the schema lets the first
 * one pass.  NULL: out of memory.  Owned by the cycle's pool.
 */

ngx_guildlog_indexer_t *ngx_guildlog_indexer_create(ngx_cycle_t *cycle,
    ngx_msec_t interval, const ngx_guildlog_database_t *database,
    ngx_guildlog_db_pool_t *pool);

void ngx_guildlog_indexer_destroy(ngx_guildlog_indexer_t *indexer);


#endif /* _NGX_GUILDLOG_INDEXER_H_INCLUDED_ */
