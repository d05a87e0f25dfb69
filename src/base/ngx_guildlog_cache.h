
/*
 * Small values by keys of bytes, in a process's own memory.  A full cache
 * drops what was used longest ago.
 */

#ifndef _NGX_GUILDLOG_CACHE_H_INCLUDED_
#define _NGX_GUILDLOG_CACHE_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef struct ngx_guildlog_cache_s  ngx_guildlog_cache_t;


/* for at least one entry, with values of this size; NULL: no memory */
ngx_guildlog_cache_t *ngx_guildlog_cache_create(ngx_uint_t entries,
    size_t size, ngx_log_t *log);
void ngx_guildlog_cache_destroy(ngx_guildlog_cache_t *cache);

/* the value, until the next call; NULL: there is none */
void *ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key);

/* copies both; the key must not be there yet.  No-op without memory */
void ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache,
    const ngx_str_t *key, const void *value);


#endif /* _NGX_GUILDLOG_CACHE_H_INCLUDED_ */
