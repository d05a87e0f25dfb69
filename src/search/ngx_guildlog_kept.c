
/*
 * Strings of segments in a process's own memory.
 */

#include "search/ngx_guildlog_kept.h"


/* of two databases, the keys come from two sequences that begin with 1 */

#define ngx_guildlog_kept_key(database, key)                                  \
    ((ngx_rbtree_key_t) (key) | (ngx_rbtree_key_t) (database) << 48)


typedef struct {
    ngx_rbtree_node_t              node;
    ngx_queue_t                    queue;
    time_t                         since;
    size_t                         len;
    u_char                         data[];
} ngx_guildlog_kept_entry_t;


struct ngx_guildlog_kept_s {
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;     /* last used first */
    size_t                         max;
    size_t                         size;
    ngx_log_t                     *log;
};


static ngx_guildlog_kept_entry_t *kept_find(ngx_guildlog_kept_t *kept,
    ngx_rbtree_key_t key);
static ngx_uint_t kept_is_old(const ngx_guildlog_kept_entry_t *entry);
static void kept_drop(ngx_guildlog_kept_t *kept,
    ngx_guildlog_kept_entry_t *entry);


ngx_guildlog_kept_t *
ngx_guildlog_kept_create(size_t size, ngx_log_t *log)
{
    ngx_guildlog_kept_t  *kept;

    kept = ngx_alloc(sizeof(ngx_guildlog_kept_t), log);
    if (kept == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&kept->rbtree, &kept->sentinel, ngx_rbtree_insert_value);
    ngx_queue_init(&kept->queue);

    kept->max = size;
    kept->size = 0;
    kept->log = log;

    return kept;
}


void
ngx_guildlog_kept_destroy(ngx_guildlog_kept_t *kept)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(&kept->queue)) {
        q = ngx_queue_head(&kept->queue);
        kept_drop(kept, ngx_queue_data(q, ngx_guildlog_kept_entry_t, queue));
    }

    ngx_free(kept);
}


ngx_int_t
ngx_guildlog_kept_get(ngx_guildlog_kept_t *kept, ngx_uint_t database,
    int64_t key, ngx_str_t *strings)
{
    ngx_guildlog_kept_entry_t  *entry;

    entry = kept_find(kept, ngx_guildlog_kept_key(database, key));

    if (entry == NULL) {
        return NGX_DECLINED;
    }

    if (kept_is_old(entry)) {
        kept_drop(kept, entry);
        return NGX_DECLINED;
    }

    ngx_queue_remove(&entry->queue);
    ngx_queue_insert_head(&kept->queue, &entry->queue);

    strings->data = entry->data;
    strings->len = entry->len;

    return NGX_OK;
}


void
ngx_guildlog_kept_put(ngx_guildlog_kept_t *kept, ngx_uint_t database,
    int64_t key, const ngx_str_t *strings)
{
    size_t                      size;
    ngx_queue_t                *q;
    ngx_rbtree_key_t            place;
    ngx_guildlog_kept_entry_t  *entry;

    size = sizeof(ngx_guildlog_kept_entry_t) + strings->len;
    place = ngx_guildlog_kept_key(database, key);

    if (size > kept->max || kept_find(kept, place)) {
        return;
    }

    while (kept->size + size > kept->max) {
        q = ngx_queue_last(&kept->queue);
        kept_drop(kept, ngx_queue_data(q, ngx_guildlog_kept_entry_t, queue));
    }

    entry = ngx_alloc(size, kept->log);
    if (entry == NULL) {
        return;
    }

    entry->node.key = place;
    entry->since = ngx_time();
    entry->len = strings->len;
    ngx_memcpy(entry->data, strings->data, strings->len);

    ngx_rbtree_insert(&kept->rbtree, &entry->node);
    ngx_queue_insert_head(&kept->queue, &entry->queue);

    kept->size += size;
}


ngx_uint_t
ngx_guildlog_kept_expire(ngx_guildlog_kept_t *kept)
{
    ngx_queue_t                *q, *next;
    ngx_guildlog_kept_entry_t  *entry;

    for (q = ngx_queue_head(&kept->queue);
         q != ngx_queue_sentinel(&kept->queue);
         q = next)
    {
        next = ngx_queue_next(q);
        entry = ngx_queue_data(q, ngx_guildlog_kept_entry_t, queue);

        if (kept_is_old(entry)) {
            kept_drop(kept, entry);
        }
    }

    return !ngx_queue_empty(&kept->queue);
}


static ngx_guildlog_kept_entry_t *
kept_find(ngx_guildlog_kept_t *kept, ngx_rbtree_key_t key)
{
    ngx_rbtree_node_t  *node;

    node = kept->rbtree.root;

    while (node != &kept->sentinel) {

        if (key == node->key) {
            return ngx_rbtree_data(node, ngx_guildlog_kept_entry_t, node);
        }

        node = key < node->key ? node->left : node->right;
    }

    return NULL;
}


static ngx_uint_t
kept_is_old(const ngx_guildlog_kept_entry_t *entry)
{
    return ngx_time() - entry->since > NGX_GUILDLOG_KEPT_AGE;
}


static void
kept_drop(ngx_guildlog_kept_t *kept, ngx_guildlog_kept_entry_t *entry)
{
    ngx_queue_remove(&entry->queue);
    ngx_rbtree_delete(&kept->rbtree, &entry->node);

    kept->size -= sizeof(ngx_guildlog_kept_entry_t) + entry->len;

    ngx_free(entry);
}
