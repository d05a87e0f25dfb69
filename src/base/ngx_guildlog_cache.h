
/*
 * Values by keys of bytes, in a process's own memory.  A full cache drops what
 * was used longest ago.
 */

#ifndef _NGX_GUILDLOG_CACHE_H_INCLUDED_
#define _NGX_GUILDLOG_CACHE_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef struct ngx_guildlog_cache_s  ngx_guildlog_cache_t;


/* the value stands behind it, and the key behind the value */

typedef struct {
    ngx_str_node_t                 sn;
    ngx_queue_t                    queue;
    size_t                         cost;
    time_t                         since;
    ngx_uint_t                     holders;  /* the last one frees it */
    ngx_uint_t                     dropped;  /* it is in no cache any more */
} ngx_guildlog_cache_entry_t;


/*
 * For so much of what values cost, each of which is gone after so many seconds
 * (0: it stays).  NULL: no memory.
 */
ngx_guildlog_cache_t *ngx_guildlog_cache_create(size_t max, time_t age,
    ngx_log_t *log);
void ngx_guildlog_cache_destroy(ngx_guildlog_cache_t *cache);

/* drops what is too old; 1: something else is left */
ngx_uint_t ngx_guildlog_cache_expire(ngx_guildlog_cache_t *cache);

/* the value, until the next call; NULL: there is none */
void *ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key);

/* a value that was found stays until it is released */
void ngx_guildlog_cache_hold(void *value);
void ngx_guildlog_cache_release(void *value);

/*
 * A value of so many bytes for the caller to fill, in place of one of that key.
 * It costs so much; 0: all of its bytes.  NULL: no memory, or no room.
 */
void *ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache, ngx_str_t *key,
    size_t size, size_t cost);


#endif /* _NGX_GUILDLOG_CACHE_H_INCLUDED_ */
