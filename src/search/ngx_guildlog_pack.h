
/*
 * Segments as arguments of the statement that stores them.  Pure.
 */

#ifndef _NGX_GUILDLOG_PACK_H_INCLUDED_
#define _NGX_GUILDLOG_PACK_H_INCLUDED_


#include "search/ngx_guildlog_build.h"


typedef struct {
    ngx_str_t                      shape;     /* an array of five numbers for
                                                 each segment: day, entries,
                                                 bytes of kinds, dir and body */
    ngx_str_t                      blob;      /* these bytes, one segment behind
                                                 the other */
    ngx_pool_t                    *pool;
    const ngx_guildlog_segment_t  *segments;
    ngx_uint_t                     n;
    ngx_uint_t                     place;     /* of bytes: 3 a segment */
    size_t                         byte;
} ngx_guildlog_pack_t;


/* of segments that stay until it is packed; NULL: no memory */
ngx_guildlog_pack_t *ngx_guildlog_pack_create(const ngx_array_t *segments,
    ngx_log_t *log);
void ngx_guildlog_pack_destroy(ngx_guildlog_pack_t *pack);

/*
 * Packs some KB.  NGX_AGAIN: call it again.  NGX_OK: shape and blob are
 * complete.
 */
ngx_int_t ngx_guildlog_pack_piece(ngx_guildlog_pack_t *pack);


#endif /* _NGX_GUILDLOG_PACK_H_INCLUDED_ */
