
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


static ngx_int_t limit_drop(ngx_shm_zone_t *zone, ngx_msec_t now_ms,
    ngx_uint_t *evicted);
static ngx_msec_t limit_age(const limit_node_t *node, ngx_msec_t now_ms);


ngx_int_t
ngx_guildlog_limit_take(ngx_shm_zone_t *zone, const ngx_str_t *key,
    ngx_uint_t limit, ngx_msec_t window, ngx_guildlog_limit_t *state,
    ngx_guildlog_stats_t *stats)
{
    u_char            digest[20];
    uint32_t          hash;
    ngx_int_t         rc;
    ngx_str_t         name;
    ngx_msec_t        now_ms;
    ngx_sha1_t        sha1;
    ngx_uint_t        known, evicted, warn;
    limit_node_t     *node, lost;
    limit_shared_t   *shared;
    ngx_slab_pool_t  *shpool;

    name = *key;

    if (name.len > LIMIT_KEY) {
        ngx_sha1_init(&sha1);
        ngx_sha1_update(&sha1, name.data, name.len);
        ngx_sha1_final(digest, &sha1);

        name.data = digest;
        name.len = sizeof(digest);
    }

    hash = ngx_crc32_long(name.data, name.len);
    shpool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = zone->data;
    now_ms = ngx_current_msec;
    evicted = 0;

    ngx_shmtx_lock(&shpool->mutex);

    node = (limit_node_t *) ngx_str_rbtree_lookup(&shared->rbtree, &name, hash);
    known = (node != NULL);

    if (known) {
        ngx_queue_remove(&node->queue);

    } else {

        /* two go for each one that comes, so ended windows do not pile up */

        if (limit_drop(zone, now_ms, NULL) == NGX_OK) {
            (void) limit_drop(zone, now_ms, NULL);
        }

        do {
            node = ngx_slab_alloc_locked(shpool, sizeof(limit_node_t));
        } while (node == NULL
                 && limit_drop(zone, now_ms, &evicted) == NGX_OK);

        if (node) {
            ngx_memcpy(node->key, name.data, name.len);

            node->sn.str.data = node->key;
            node->sn.str.len = name.len;
            node->sn.node.key = hash;

            ngx_rbtree_insert(&shared->rbtree, &node->sn.node);

        } else {
            node = &lost;
        }
    }

    if (node != &lost) {
        ngx_queue_insert_head(&shared->queue, &node->queue);
    }

    if (!known || limit_age(node, now_ms) >= node->window_ms) {
        node->start_ms = now_ms;
        node->window_ms = ngx_min(window, LIMIT_WINDOW_MAX_MS);
        node->limit = ngx_min(limit, NGX_MAX_UINT32_VALUE);
        node->used = 0;
    }

    ngx_guildlog_assert(node->used <= node->limit);
    ngx_guildlog_assert(limit_age(node, now_ms) <= node->window_ms);

    rc = (node->used < node->limit) ? NGX_OK : NGX_BUSY;

    if (rc == NGX_OK) {
        node->used++;
    }

    state->limit = node->limit;
    state->remaining = node->limit - node->used;
    state->reset_ms = ngx_max(node->window_ms - limit_age(node, now_ms), 1);

    warn = (evicted && (ngx_msec_int_t) (now_ms - shared->warn_ms) >= 0);

    if (warn) {
        shared->warn_ms = now_ms + LIMIT_QUIET_MS;
    }

    ngx_shmtx_unlock(&shpool->mutex);

    if (evicted) {
        ngx_guildlog_stats_count(stats, NGX_GUILDLOG_COUNT_EVICTED, evicted);
    }

    if (warn) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "limit zone \"%V\" is full, windows that have not ended "
                      "are dropped", &zone->shm.name);
    }

    return rc;
}


/*
 * Drops the window used longest ago; one that has not ended only if those are
 * counted.  NGX_DECLINED: there is none to drop.
 */

static ngx_int_t
limit_drop(ngx_shm_zone_t *zone, ngx_msec_t now_ms, ngx_uint_t *evicted)
{
    ngx_queue_t     *q;
    limit_node_t    *node;
    limit_shared_t  *shared;

    shared = zone->data;

    if (ngx_queue_empty(&shared->queue)) {
        return NGX_DECLINED;
    }

    q = ngx_queue_last(&shared->queue);
    node = ngx_queue_data(q, limit_node_t, queue);

    if (limit_age(node, now_ms) < node->window_ms) {

        if (evicted == NULL) {
            return NGX_DECLINED;
        }

        (*evicted)++;
    }

    ngx_queue_remove(q);
    ngx_rbtree_delete(&shared->rbtree, &node->sn.node);
    ngx_slab_free_locked((ngx_slab_pool_t *) zone->shm.addr, node);

    return NGX_OK;
}


/* other workers' clocks may be some milliseconds ahead of this one's */

static ngx_msec_t
limit_age(const limit_node_t *node, ngx_msec_t now_ms)
{
    ngx_msec_int_t  age;

    age = (ngx_msec_int_t) (now_ms - node->start_ms);

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
