
/*
 * Values by keys of bytes, in a process's own memory.
 */

#include "base/ngx_guildlog_cache.h"


#define CACHE_HASHED  32    /* bytes of a key, the last ones */


struct ngx_guildlog_cache_s {
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;    /* last used first */
    size_t                         max;
    size_t                         cost;     /* of all values */
    time_t                         age;
    ngx_log_t                     *log;
};


#define cache_entry(value)  ((ngx_guildlog_cache_entry_t *) (value) - 1)


static ngx_guildlog_cache_entry_t *cache_lookup(ngx_guildlog_cache_t *cache,
    ngx_str_t *key);
static uint32_t cache_hash(const ngx_str_t *key);
static ngx_uint_t cache_is_old(const ngx_guildlog_cache_t *cache,
    const ngx_guildlog_cache_entry_t *entry);
static void cache_drop_last(ngx_guildlog_cache_t *cache);
static void cache_drop(ngx_guildlog_cache_t *cache,
    ngx_guildlog_cache_entry_t *entry);


ngx_guildlog_cache_t *
ngx_guildlog_cache_create(size_t max, time_t age, ngx_log_t *log)
{
    ngx_guildlog_cache_t  *cache;

    cache = ngx_alloc(sizeof(ngx_guildlog_cache_t), log);
    if (cache == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&cache->rbtree, &cache->sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&cache->queue);

    cache->max = max;
    cache->cost = 0;
    cache->age = age;
    cache->log = log;

    return cache;
}


void
ngx_guildlog_cache_destroy(ngx_guildlog_cache_t *cache)
{
    while (!ngx_queue_empty(&cache->queue)) {
        cache_drop_last(cache);
    }

    ngx_free(cache);
}


ngx_uint_t
ngx_guildlog_cache_expire(ngx_guildlog_cache_t *cache)
{
    ngx_queue_t                 *q, *next;
    ngx_guildlog_cache_entry_t  *entry;

    for (q = ngx_queue_head(&cache->queue);
         q != ngx_queue_sentinel(&cache->queue);
         q = next)
    {
        next = ngx_queue_next(q);
        entry = ngx_queue_data(q, ngx_guildlog_cache_entry_t, queue);

        if (cache_is_old(cache, entry)) {
            cache_drop(cache, entry);
        }
    }

    return !ngx_queue_empty(&cache->queue);
}


void *
ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_lookup(cache, key);
    if (entry == NULL) {
        return NULL;
    }

    if (cache_is_old(cache, entry)) {
        cache_drop(cache, entry);
        return NULL;
    }

    ngx_queue_remove(&entry->queue);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    return entry + 1;
}


void
ngx_guildlog_cache_hold(void *value)
{
    cache_entry(value)->holders++;
}


void
ngx_guildlog_cache_release(void *value)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_entry(value);

    ngx_guildlog_assert(entry->holders > 0);

    if (--entry->holders == 0 && entry->dropped) {
        ngx_free(entry);
    }
}


void *
ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache, ngx_str_t *key,
    size_t size, size_t cost)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_lookup(cache, key);
    if (entry) {
        cache_drop(cache, entry);
    }

    size += sizeof(ngx_guildlog_cache_entry_t);
    cost = cost ? cost : size + key->len;

    if (cost > cache->max) {
        return NULL;
    }

    while (cache->cost + cost > cache->max) {
        cache_drop_last(cache);
    }

    entry = ngx_alloc(size + key->len, cache->log);
    if (entry == NULL) {
        return NULL;
    }

    entry->sn.str.data = (u_char *) entry + size;
    entry->sn.str.len = key->len;
    entry->sn.node.key = cache_hash(key);
    ngx_memcpy(entry->sn.str.data, key->data, key->len);

    entry->cost = cost;
    entry->since = ngx_time();
    entry->holders = 0;
    entry->dropped = 0;

    ngx_rbtree_insert(&cache->rbtree, &entry->sn.node);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    cache->cost += cost;

    ngx_guildlog_assert(cache->cost <= cache->max);

    return entry + 1;
}


static ngx_guildlog_cache_entry_t *
cache_lookup(ngx_guildlog_cache_t *cache, ngx_str_t *key)
{
    return (ngx_guildlog_cache_entry_t *)
               ngx_str_rbtree_lookup(&cache->rbtree, key, cache_hash(key));
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


static ngx_uint_t
cache_is_old(const ngx_guildlog_cache_t *cache,
    const ngx_guildlog_cache_entry_t *entry)
{
    return cache->age && ngx_time() - entry->since > cache->age;
}


static void
cache_drop_last(ngx_guildlog_cache_t *cache)
{
    ngx_queue_t  *q;

    ngx_guildlog_assert(!ngx_queue_empty(&cache->queue));

    q = ngx_queue_last(&cache->queue);

    cache_drop(cache, ngx_queue_data(q, ngx_guildlog_cache_entry_t, queue));
}


static void
cache_drop(ngx_guildlog_cache_t *cache, ngx_guildlog_cache_entry_t *entry)
{
    ngx_guildlog_assert(!entry->dropped && cache->cost >= entry->cost);

    ngx_queue_remove(&entry->queue);
    ngx_rbtree_delete(&cache->rbtree, &entry->sn.node);

    cache->cost -= entry->cost;
    entry->dropped = 1;

    if (entry->holders == 0) {
        ngx_free(entry);
    }
}
