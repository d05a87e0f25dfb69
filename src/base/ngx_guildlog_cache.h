
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
    ngx_uint_t                     readers;  /* the last one frees it */
    ngx_uint_t                     kept;     /* it is still in the cache */
} ngx_guildlog_cache_entry_t;


/* for so much of what values cost; NULL: no memory */
ngx_guildlog_cache_t *ngx_guildlog_cache_create(size_t max, ngx_log_t *log);
void ngx_guildlog_cache_destroy(ngx_guildlog_cache_t *cache);

/* the value, until the next call; NULL: there is none */
void *ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key);

/*
 * A value of so many bytes for the caller to fill, in place of one of that key.
 * It costs so much; 0: all of its bytes.  NULL: no memory, or no room.
 */
void *ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache, ngx_str_t *key,
    size_t size, size_t cost);


typedef struct ngx_guildlog_shelf_s  ngx_guildlog_shelf_t;


typedef struct {
    time_t                         since;
    ngx_str_t                      state;
    ngx_str_t                      body;
} ngx_guildlog_page_t;


/* for so many bytes in all; NULL: no memory */
ngx_guildlog_shelf_t *ngx_guildlog_shelf_create(size_t size, ngx_log_t *log);
void ngx_guildlog_shelf_destroy(ngx_guildlog_shelf_t *shelf);

/* the page, which stays until it is given back; NULL: there is none */
ngx_guildlog_page_t *ngx_guildlog_shelf_take(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);
void ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page);

/*
 * 1: the key was asked for before.  The call remembers the key, so that a page
 * is kept from the second request on.
 */
ngx_uint_t ngx_guildlog_shelf_asked(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);

/* copies all three and replaces a page of that key; no-op without memory */
void ngx_guildlog_shelf_put(ngx_guildlog_shelf_t *shelf, ngx_str_t *key,
    const ngx_str_t *state, const ngx_str_t *body);


#endif /* _NGX_GUILDLOG_CACHE_H_INCLUDED_ */
