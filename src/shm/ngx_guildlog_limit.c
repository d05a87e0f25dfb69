
/*
 * Fixed windows in shared memory, exact over all workers.
 */

#include <ngx_config.h>
#include <ngx_sha1.h>
#include "shm/ngx_guildlog_limit.h"
#include "shm/ngx_guildlog_zone.h"


#define LIMIT_MAGIC    0x676c6c69
#define LIMIT_VERSION  1

/* longer keys are hashed, so that all windows have the same size */
#define LIMIT_KEY      32

/* between two warnings that the zone is full */
#define LIMIT_QUIET_MS  60000

#define LIMIT_WINDOW_MAX_MS  0x7fffffff


typedef struct {
    ngx_str_node_t                 sn;       /* str.data is key below */
    ngx_queue_t                    queue;
    ngx_msec_t                     start_ms;
    uint32_t                       window_ms;
    uint32_t                       limit;
    uint32_t                       used;
    u_char                         key[LIMIT_KEY];
} limit_node_t;


typedef struct {
    ngx_guildlog_zone_head_t       head;
    ngx_rbtree_t                   rbtree;
    ngx_rbtree_node_t              sentinel;
    ngx_queue_t                    queue;    /* last used first */
    ngx_msec_t                     warn_ms;  /* not before */
} limit_shared_t;


/* one take(): the key it looks for, the window it would start */

typedef struct {
    ngx_slab_pool_t               *shpool;
    limit_shared_t                *shared;
    ngx_str_t                      key;
    uint32_t                       hash;
    uint32_t                       limit;
    uint32_t                       window_ms;
    ngx_msec_t                     now_ms;
    ngx_uint_t                     evicted;
    ngx_uint_t                     warn;
} limit_take_t;


static limit_node_t *limit_node(limit_take_t *t);
static void limit_start(limit_take_t *t, limit_node_t *node);
static ngx_int_t limit_drop(limit_take_t *t, ngx_uint_t force);
static ngx_msec_t limit_age(limit_take_t *t, limit_node_t *node);


ngx_int_t
ngx_guildlog_limit_take(ngx_shm_zone_t *zone, const ngx_str_t *key,
    ngx_uint_t limit, ngx_msec_t window, ngx_guildlog_limit_t *state,
    ngx_guildlog_stats_t *stats)
{
    u_char         digest[20];
    ngx_int_t      rc;
    ngx_sha1_t     sha1;
    limit_node_t  *node, lost;
    limit_take_t   t;

    t.shpool = (ngx_slab_pool_t *) zone->shm.addr;
    t.shared = zone->data;
    t.key = *key;
    t.limit = ngx_min(limit, NGX_MAX_UINT32_VALUE);
    t.window_ms = ngx_min(window, LIMIT_WINDOW_MAX_MS);
    t.now_ms = ngx_current_msec;
    t.evicted = 0;
    t.warn = 0;

    if (key->len > LIMIT_KEY) {
        ngx_sha1_init(&sha1);
        ngx_sha1_update(&sha1, key->data, key->len);
        ngx_sha1_final(digest, &sha1);

        t.key.data = digest;
        t.key.len = sizeof(digest);
    }

    t.hash = ngx_crc32_long(t.key.data, t.key.len);

    ngx_shmtx_lock(&t.shpool->mutex);

    node = limit_node(&t);

    if (node == NULL) {
        node = &lost;
        limit_start(&t, node);
    }

    ngx_guildlog_assert(node->used <= node->limit);
    ngx_guildlog_assert(limit_age(&t, node) <= node->window_ms);

    rc = (node->used < node->limit) ? NGX_OK : NGX_BUSY;

    if (rc == NGX_OK) {
        node->used++;
    }

    state->limit = node->limit;
    state->remaining = node->limit - node->used;
    state->reset_ms = ngx_max(node->window_ms - limit_age(&t, node), 1);

    ngx_shmtx_unlock(&t.shpool->mutex);

    if (t.evicted) {
        ngx_guildlog_stats_count(stats, NGX_GUILDLOG_COUNT_EVICTED, t.evicted);
    }

    if (t.warn) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "limit zone \"%V\" is full, windows that have not ended "
                      "are dropped", &zone->shm.name);
    }

    return rc;
}


/* the key's window, started anew if it has ended; NULL: out of memory */

static limit_node_t *
limit_node(limit_take_t *t)
{
    limit_node_t  *node;

    node = (limit_node_t *)
               ngx_str_rbtree_lookup(&t->shared->rbtree, &t->key, t->hash);

    if (node) {
        ngx_queue_remove(&node->queue);

        if (limit_age(t, node) >= node->window_ms) {
            limit_start(t, node);
        }

    } else {

        /* two go for each one that comes, so ended windows do not pile up */

        if (limit_drop(t, 0) == NGX_OK) {
            (void) limit_drop(t, 0);
        }

        do {
            node = ngx_slab_alloc_locked(t->shpool, sizeof(limit_node_t));
        } while (node == NULL && limit_drop(t, 1) == NGX_OK);

        if (node == NULL) {
            return NULL;
        }

        ngx_memcpy(node->key, t->key.data, t->key.len);

        node->sn.str.data = node->key;
        node->sn.str.len = t->key.len;
        node->sn.node.key = t->hash;

        ngx_rbtree_insert(&t->shared->rbtree, &node->sn.node);

        limit_start(t, node);
    }

    ngx_queue_insert_head(&t->shared->queue, &node->queue);

    return node;
}


static void
limit_start(limit_take_t *t, limit_node_t *node)
{
    node->start_ms = t->now_ms;
    node->window_ms = t->window_ms;
    node->limit = t->limit;
    node->used = 0;
}


/*
 * Drops the window used longest ago, if it has ended, or by force.
 * NGX_DECLINED: there is none to drop.
 */

static ngx_int_t
limit_drop(limit_take_t *t, ngx_uint_t force)
{
    ngx_queue_t   *q;
    limit_node_t  *node;

    if (ngx_queue_empty(&t->shared->queue)) {
        return NGX_DECLINED;
    }

    q = ngx_queue_last(&t->shared->queue);
    node = ngx_queue_data(q, limit_node_t, queue);

    if (limit_age(t, node) < node->window_ms) {

        if (!force) {
            return NGX_DECLINED;
        }

        t->evicted++;

        if ((ngx_msec_int_t) (t->now_ms - t->shared->warn_ms) >= 0) {
            t->shared->warn_ms = t->now_ms + LIMIT_QUIET_MS;
            t->warn = 1;
        }
    }

    ngx_queue_remove(q);
    ngx_rbtree_delete(&t->shared->rbtree, &node->sn.node);
    ngx_slab_free_locked(t->shpool, node);

    return NGX_OK;
}


/* other workers' clocks may be some milliseconds ahead of this one's */

static ngx_msec_t
limit_age(limit_take_t *t, limit_node_t *node)
{
    ngx_msec_int_t  age;

    age = (ngx_msec_int_t) (t->now_ms - node->start_ms);

    return ngx_max(age, 0);
}


ngx_int_t
ngx_guildlog_limit_init_zone(ngx_shm_zone_t *zone, void *data)
{
    size_t            len;
    ngx_int_t         rc;
    limit_shared_t   *shared;
    ngx_slab_pool_t  *shpool;

    rc = ngx_guildlog_zone_open(zone, data, sizeof(limit_shared_t),
                                LIMIT_MAGIC, LIMIT_VERSION);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    shpool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = zone->data;

    len = sizeof(" in limit zone \"\"") + zone->shm.name.len;

    shpool->log_ctx = ngx_slab_alloc(shpool, len);
    if (shpool->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(shpool->log_ctx, " in limit zone \"%V\"%Z", &zone->shm.name);

    shared->warn_ms = ngx_current_msec;

    ngx_rbtree_init(&shared->rbtree, &shared->sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&shared->queue);

    return NGX_OK;
}
