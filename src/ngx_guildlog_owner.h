
/*
 * Who delivers: a process of a machine, by a name that no later one has.
 */

#ifndef _NGX_GUILDLOG_OWNER_H_INCLUDED_
#define _NGX_GUILDLOG_OWNER_H_INCLUDED_


#include "ngx_guildlog.h"


/* node/pid/start time; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_owner_self(ngx_pool_t *pool, const ngx_str_t *node,
    ngx_str_t *owner);

/* 1: it was a process of this machine, and is no more */
ngx_uint_t ngx_guildlog_owner_dead(const ngx_str_t *node,
    const ngx_str_t *owner);


#endif /* _NGX_GUILDLOG_OWNER_H_INCLUDED_ */
