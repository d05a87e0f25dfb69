
/*
 * Who delivers: the name of a process, which no later process has.
 */

#ifndef _NGX_GUILDLOG_OWNER_H_INCLUDED_
#define _NGX_GUILDLOG_OWNER_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* node/boot/namespace/pid/start time; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_owner_self(ngx_pool_t *pool, const ngx_str_t *node,
    ngx_str_t *owner);

/*
 * 1: it was a process of the same place as this one, me, and has ended.  Of a
 * process of another boot, or another container, nothing is known: its leases
 * run out.
 */
ngx_uint_t ngx_guildlog_owner_dead(const ngx_str_t *me, const ngx_str_t *owner);


#endif /* _NGX_GUILDLOG_OWNER_H_INCLUDED_ */
