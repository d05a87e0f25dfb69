
/*
 * Finished pages in a process's own memory.
 */

#include "base/ngx_guildlog_cache.h"
#include "base/ngx_guildlog_shelf.h"


/*
 * Seconds.  A database that was restored from a backup, or a standby that had
 * not received everything, may give another page the same state.  The limit
 * bounds how long the old page is then sent.
 */

#define SHELF_AGE  60


/* hashes of keys that were asked for, at most */

#define SHELF_ASKED  4096


struct ngx_guildlog_shelf_s {
    ngx_guildlog_cache_t          *cache;
    uint32_t                       asked[SHELF_ASKED];
};


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
        ngx_guildlog_cache_drop(shelf->cache, page);
        return NULL;
    }

    ngx_guildlog_cache_hold(page);

    return page;
}


void
ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page)
{
    ngx_guildlog_cache_give_back(page);
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
