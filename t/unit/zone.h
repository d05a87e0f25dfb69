
/*
 * A shared zone, made as nginx makes one.
 */

#ifndef _ZONE_H_INCLUDED_
#define _ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <sys/mman.h>
#include "tap.h"


static inline void
zone_make(ngx_shm_zone_t *zone, size_t size)
{
    ngx_slab_pool_t  *sp;

    ngx_memzero(zone, sizeof(ngx_shm_zone_t));

    zone->shm.size = size;
    zone->shm.log = &tap_log;
    ngx_str_set(&zone->shm.name, "test");

    zone->shm.addr = mmap(NULL, size, PROT_READ|PROT_WRITE,
                          MAP_ANON|MAP_SHARED, -1, 0);
    if (zone->shm.addr == MAP_FAILED) {
        abort();
    }

    sp = (ngx_slab_pool_t *) zone->shm.addr;

    sp->end = zone->shm.addr + size;
    sp->min_shift = 3;
    sp->addr = zone->shm.addr;

    if (ngx_shmtx_create(&sp->mutex, &sp->lock, NULL) != NGX_OK) {
        abort();
    }

    ngx_slab_init(sp);
}


static inline void
zone_free(ngx_shm_zone_t *zone)
{
    munmap(zone->shm.addr, zone->shm.size);
}


#endif /* _ZONE_H_INCLUDED_ */
