
/*
 * Finished pages in a process's own memory.
 */

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
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;    /* last used first */
    size_t                         max;
    size_t                         size;
    ngx_log_t                     *log;
    uint32_t                       asked[SHELF_ASKED];
};


static ngx_guildlog_page_t *shelf_find(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);
static ngx_str_t shelf_copy(u_char **p, const ngx_str_t *value);
static void shelf_drop_last(ngx_guildlog_shelf_t *shelf);
static void shelf_drop(ngx_guildlog_shelf_t *shelf, ngx_guildlog_page_t *page);


ngx_guildlog_shelf_t *
ngx_guildlog_shelf_create(size_t size, ngx_log_t *log)
{
    ngx_guildlog_shelf_t  *shelf;

    shelf = ngx_alloc(sizeof(ngx_guildlog_shelf_t), log);
    if (shelf == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&shelf->rbtree, &shelf->sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&shelf->queue);

    shelf->max = size;
    shelf->size = 0;
    shelf->log = log;
    ngx_memzero(shelf->asked, sizeof(shelf->asked));

    return shelf;
}


void
ngx_guildlog_shelf_destroy(ngx_guildlog_shelf_t *shelf)
{
    while (!ngx_queue_empty(&shelf->queue)) {
        shelf_drop_last(shelf);
    }

    ngx_free(shelf);
}


ngx_guildlog_page_t *
ngx_guildlog_shelf_take(ngx_guildlog_shelf_t *shelf, ngx_str_t *key)
{
    ngx_guildlog_page_t  *page;

    page = shelf_find(shelf, key);
    if (page == NULL) {
        return NULL;
    }

    if (ngx_time() - page->since > SHELF_AGE) {
        shelf_drop(shelf, page);
        return NULL;
    }

    ngx_queue_remove(&page->queue);
    ngx_queue_insert_head(&shelf->queue, &page->queue);

    page->readers++;

    return page;
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
ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page)
{
    page->readers--;

    if (page->readers == 0 && !page->kept) {
        ngx_free(page);
    }
}


void
ngx_guildlog_shelf_put(ngx_guildlog_shelf_t *shelf, ngx_str_t *key,
    const ngx_str_t *state, const ngx_str_t *body)
{
    u_char               *p;
    size_t                size;
    ngx_guildlog_page_t  *page;

    page = shelf_find(shelf, key);
    if (page) {
        shelf_drop(shelf, page);
    }

    size = sizeof(ngx_guildlog_page_t) + key->len + state->len + body->len;

    if (size > shelf->max) {
        return;
    }

    while (shelf->size + size > shelf->max) {
        shelf_drop_last(shelf);
    }

    page = ngx_alloc(size, shelf->log);
    if (page == NULL) {
        return;
    }

    p = (u_char *) (page + 1);

    page->sn.str = shelf_copy(&p, key);
    page->sn.node.key = ngx_crc32_long(key->data, key->len);
    page->kept = 1;
    page->readers = 0;
    page->since = ngx_time();
    page->size = size;
    page->state = shelf_copy(&p, state);
    page->body = shelf_copy(&p, body);

    ngx_rbtree_insert(&shelf->rbtree, &page->sn.node);
    ngx_queue_insert_head(&shelf->queue, &page->queue);

    shelf->size += size;
}


static ngx_guildlog_page_t *
shelf_find(ngx_guildlog_shelf_t *shelf, ngx_str_t *key)
{
    return (ngx_guildlog_page_t *)
               ngx_str_rbtree_lookup(&shelf->rbtree, key,
                                     ngx_crc32_long(key->data, key->len));
}


static ngx_str_t
shelf_copy(u_char **p, const ngx_str_t *value)
{
    ngx_str_t  copy;

    copy.data = *p;
    copy.len = value->len;

    *p = ngx_cpymem(*p, value->data, value->len);

    return copy;
}


static void
shelf_drop_last(ngx_guildlog_shelf_t *shelf)
{
    ngx_queue_t  *q;

    q = ngx_queue_last(&shelf->queue);

    shelf_drop(shelf, ngx_queue_data(q, ngx_guildlog_page_t, queue));
}


/* the last reader frees it */

static void
shelf_drop(ngx_guildlog_shelf_t *shelf, ngx_guildlog_page_t *page)
{
    ngx_queue_remove(&page->queue);
    ngx_rbtree_delete(&shelf->rbtree, &page->sn.node);

    shelf->size -= page->size;
    page->kept = 0;

    if (page->readers == 0) {
        ngx_free(page);
    }
}
