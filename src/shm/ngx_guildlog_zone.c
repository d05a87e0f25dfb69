
/*
 * The structure in a shared zone: found, if it has the layout of this module,
 * or made.
 */

#include "shm/ngx_guildlog_zone.h"


ngx_int_t
ngx_guildlog_zone_open(ngx_shm_zone_t *zone, void *data, size_t size,
    uint32_t magic, uint32_t version)
{
    ngx_slab_pool_t           *shpool;
    ngx_guildlog_zone_head_t  *shared;

    shpool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = data;

    if (shared == NULL && zone->shm.exists) {
        shared = shpool->data;
    }

    if (shared) {
        if (shared->magic != magic || shared->version != version) {
            ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                          "shared zone \"%V\" has another layout, "
                          "nginx must be restarted", &zone->shm.name);
            return NGX_ERROR;
        }

        zone->data = shared;
        return NGX_OK;
    }

    shared = ngx_slab_calloc(shpool, size);
    if (shared == NULL) {
        return NGX_ERROR;
    }

    shared->magic = magic;
    shared->version = version;

    shpool->log_nomem = 0;
    shpool->data = shared;
    zone->data = shared;

    return NGX_DECLINED;
}
