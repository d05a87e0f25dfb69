
/*
 * Small values by keys of bytes, in a process's own memory.
 */

#include "base/ngx_guildlog_cache.h"


#define CACHE_HASHED  32    /* bytes of a key, the last ones */


/* the value stands behind it, and the key behind the value */

typedef struct {
    ngx_str_node_t                 sn;
    ngx_queue_t                    queue;
} cache_entry_t;


struct ngx_guildlog_cache_s {
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;    /* last used first */
    ngx_uint_t                     free;     /* entries not made yet */
    size_t                         size;
    ngx_log_t                     *log;
};


static uint32_t cache_hash(const ngx_str_t *key);
static void cache_drop(ngx_guildlog_cache_t *cache);


ngx_guildlog_cache_t *
ngx_guildlog_cache_create(ngx_uint_t entries, size_t size, ngx_log_t *log)
{
    ngx_guildlog_cache_t  *cache;

    cache = ngx_alloc(sizeof(ngx_guildlog_cache_t), log);
    if (cache == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&cache->rbtree, &cache->sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&cache->queue);

    cache->free = entries;
    cache->size = size;
    cache->log = log;

    return cache;
}


void
ngx_guildlog_cache_destroy(ngx_guildlog_cache_t *cache)
{
    while (!ngx_queue_empty(&cache->queue)) {
        cache_drop(cache);
    }

    ngx_free(cache);
}


void *
ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key)
{
    cache_entry_t  *entry;

    entry = (cache_entry_t *)
                ngx_str_rbtree_lookup(&cache->rbtree, key, cache_hash(key));
    if (entry == NULL) {
        return NULL;
    }

    ngx_queue_remove(&entry->queue);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    return entry + 1;
}


void
ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache, const ngx_str_t *key,
    const void *value)
{
    u_char         *p;
    cache_entry_t  *entry;

    if (cache->free == 0) {
        cache_drop(cache);
    }

    entry = ngx_alloc(sizeof(cache_entry_t) + cache->size
                      + key->len, cache->log);
    if (entry == NULL) {
        return;
    }

    p = ngx_cpymem(entry + 1, value, cache->size);
    ngx_memcpy(p, key->data, key->len);

    entry->sn.str.data = p;
    entry->sn.str.len = key->len;
    entry->sn.node.key = cache_hash(key);

    ngx_rbtree_insert(&cache->rbtree, &entry->sn.node);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    cache->free--;
}


/*
 * The end of a key differs most: of a token it is the signature.  So only the
 * end is hashed.  The tree compares keys that have the same hash.
 */

static uint32_t
cache_hash(const ngx_str_t *key)
{
    size_t  len;

    len = ngx_min(key->len, CACHE_HASHED);

    return ngx_crc32_long(key->data + key->len - len, len);
}


static void
cache_drop(ngx_guildlog_cache_t *cache)
{
    ngx_queue_t    *q;
    cache_entry_t  *entry;

    q = ngx_queue_last(&cache->queue);
    entry = ngx_queue_data(q, cache_entry_t, queue);

    ngx_queue_remove(q);
    ngx_rbtree_delete(&cache->rbtree, &entry->sn.node);
    ngx_free(entry);

    cache->free++;
}
