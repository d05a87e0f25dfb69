
/*
 * Values by keys of bytes, in a process's own memory, and finished pages as
 * such values.
 */

#include "base/ngx_guildlog_cache.h"


#define CACHE_HASHED  32    /* bytes of a key, the last ones */

/*
 * Seconds.  A database that was restored from a backup, or a standby that had
 * not received everything, may give another page the same state.  The limit
 * bounds how long the old page is then sent.
 */

#define SHELF_AGE  60

/* hashes of keys that were asked for, at most */

#define SHELF_ASKED  4096


struct ngx_guildlog_cache_s {
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;    /* last used first */
    size_t                         max;
    size_t                         cost;     /* of all values */
    ngx_log_t                     *log;
};


struct ngx_guildlog_shelf_s {
    ngx_guildlog_cache_t          *cache;
    uint32_t                       asked[SHELF_ASKED];
};


#define cache_entry(value)  ((ngx_guildlog_cache_entry_t *) (value) - 1)


static ngx_guildlog_cache_entry_t *cache_lookup(ngx_guildlog_cache_t *cache,
    ngx_str_t *key);
static uint32_t cache_hash(const ngx_str_t *key);
static void cache_drop_last(ngx_guildlog_cache_t *cache);
static void cache_drop(ngx_guildlog_cache_t *cache, void *value);


ngx_guildlog_cache_t *
ngx_guildlog_cache_create(size_t max, ngx_log_t *log)
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


void *
ngx_guildlog_cache_find(ngx_guildlog_cache_t *cache, ngx_str_t *key)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_lookup(cache, key);
    if (entry == NULL) {
        return NULL;
    }

    ngx_queue_remove(&entry->queue);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    return entry + 1;
}


void *
ngx_guildlog_cache_store(ngx_guildlog_cache_t *cache, ngx_str_t *key,
    size_t size, size_t cost)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_lookup(cache, key);
    if (entry) {
        cache_drop(cache, entry + 1);
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
    entry->readers = 0;
    entry->kept = 1;

    ngx_rbtree_insert(&cache->rbtree, &entry->sn.node);
    ngx_queue_insert_head(&cache->queue, &entry->queue);

    cache->cost += cost;

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


static void
cache_drop_last(ngx_guildlog_cache_t *cache)
{
    ngx_queue_t  *q;

    q = ngx_queue_last(&cache->queue);

    cache_drop(cache, ngx_queue_data(q, ngx_guildlog_cache_entry_t, queue) + 1);
}


static void
cache_drop(ngx_guildlog_cache_t *cache, void *value)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_entry(value);

    ngx_queue_remove(&entry->queue);
    ngx_rbtree_delete(&cache->rbtree, &entry->sn.node);

    cache->cost -= entry->cost;
    entry->kept = 0;

    if (entry->readers == 0) {
        ngx_free(entry);
    }
}


/*
 * Finished pages in a process's own memory.
 */

ngx_guildlog_shelf_t *
ngx_guildlog_shelf_create(size_t size, ngx_log_t *log)
{
    ngx_guildlog_shelf_t  *shelf;

    shelf = ngx_calloc(sizeof(ngx_guildlog_shelf_t), log);
    if (shelf == NULL) {
        return NULL;
    }

    shelf->cache = ngx_guildlog_cache_create(size, log);
    if (shelf->cache == NULL) {
        ngx_free(shelf);
        return NULL;
    }

    return shelf;
}


void
ngx_guildlog_shelf_destroy(ngx_guildlog_shelf_t *shelf)
{
    ngx_guildlog_cache_destroy(shelf->cache);
    ngx_free(shelf);
}


ngx_guildlog_page_t *
ngx_guildlog_shelf_take(ngx_guildlog_shelf_t *shelf, ngx_str_t *key)
{
    ngx_guildlog_page_t  *page;

    page = ngx_guildlog_cache_find(shelf->cache, key);
    if (page == NULL) {
        return NULL;
    }

    if (ngx_time() - page->since > SHELF_AGE) {
        cache_drop(shelf->cache, page);
        return NULL;
    }

    /* it stays until it is given back */

    cache_entry(page)->readers++;

    return page;
}


void
ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page)
{
    ngx_guildlog_cache_entry_t  *entry;

    entry = cache_entry(page);

    if (--entry->readers == 0 && !entry->kept) {
        ngx_free(entry);
    }
}


ngx_uint_t
ngx_guildlog_shelf_asked(ngx_guildlog_shelf_t *shelf, ngx_str_t *key)
{
    uint32_t  hash, *asked;

    hash = ngx_crc32_long(key->data, key->len);
    asked = &shelf->asked[hash % SHELF_ASKED];

    if (*asked == hash) {
        return 1;
    }

    *asked = hash;

    return 0;
}


void
ngx_guildlog_shelf_put(ngx_guildlog_shelf_t *shelf, ngx_str_t *key,
    const ngx_str_t *state, const ngx_str_t *body)
{
    u_char               *p;
    size_t                size;
    ngx_guildlog_page_t  *page;

    size = sizeof(ngx_guildlog_page_t) + state->len + body->len;

    page = ngx_guildlog_cache_store(shelf->cache, key, size, 0);
    if (page == NULL) {
        return;
    }

    p = (u_char *) (page + 1);

    page->since = ngx_time();
    page->state.data = p;
    page->state.len = state->len;
    p = ngx_cpymem(p, state->data, state->len);

    page->body.data = p;
    page->body.len = body->len;
    ngx_memcpy(p, body->data, body->len);
}
