
/*
 * Shared zones that outlive a reload, and a binary that is replaced.
 */

#ifndef _NGX_GUILDLOG_ZONE_H_INCLUDED_
#define _NGX_GUILDLOG_ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* what the structure in a zone begins with */

typedef struct {
    uint32_t                       magic;
    uint32_t                       version;
} ngx_guildlog_zone_head_t;


/*
 * Sets zone->data; data: that of the last cycle.  NGX_OK: it was there.
 * NGX_DECLINED: it is new, so many zero bytes behind its head.  NGX_ERROR: out
 * of memory, or it has another layout, which is logged.  Nothing is logged when
 * the zone is full later on, for that would be under its lock.
 */
ngx_int_t ngx_guildlog_zone_open(ngx_shm_zone_t *zone, void *data, size_t size,
    uint32_t magic, uint32_t version);


#endif /* _NGX_GUILDLOG_ZONE_H_INCLUDED_ */
