
/*
 * Fixed windows in shared memory, exact over all workers.
 */

#ifndef _NGX_GUILDLOG_LIMIT_H_INCLUDED_
#define _NGX_GUILDLOG_LIMIT_H_INCLUDED_


#include "shm/ngx_guildlog_stats.h"


typedef struct {
    ngx_uint_t                     limit;
    ngx_uint_t                     remaining;
    ngx_msec_t                     reset_ms;  /* until the window ends, >= 1 */
} ngx_guildlog_limit_t;


ngx_int_t ngx_guildlog_limit_init_zone(ngx_shm_zone_t *zone, void *data);


/*
 * Takes one from the window of this key; the key's first request starts it.
 * NGX_OK; NGX_BUSY where nothing is left (not counted further).  A full zone
 * drops the windows used longest ago, and never refuses for lack of memory.
 * A window keeps the limit and length it was started with.  Keys over 32
 * bytes are hashed.  *state is filled in any case.
 */

ngx_int_t ngx_guildlog_limit_take(ngx_shm_zone_t *zone, const ngx_str_t *key,
    ngx_uint_t limit, ngx_msec_t window, ngx_guildlog_limit_t *state,
    ngx_guildlog_stats_t *stats);


#endif /* _NGX_GUILDLOG_LIMIT_H_INCLUDED_ */
