
/*
 * Makes segments of documents.  Pure.
 */

#ifndef _NGX_GUILDLOG_BUILD_H_INCLUDED_
#define _NGX_GUILDLOG_BUILD_H_INCLUDED_


#include "search/ngx_guildlog_match.h"
#include "search/ngx_guildlog_segment.h"


typedef struct {
    /*
     * 1: enough for a whole segment waits to be written.  Nothing has to be
     * done about it, but what is written takes a fifth of the memory.
     */
    ngx_uint_t                     full;

    /* what was written */

    ngx_array_t                   *segments;    /* of segment_t, in no order */
    ngx_str_t                      blob;        /* kinds, dir and body of each,
                                                   one behind the other */
    ngx_str_t                      shape;       /* an array of five numbers for
                                                   each: day, entries, bytes of
                                                   kinds, dir and body */

    /* of build alone */

    ngx_pool_t                    *pool;
    ngx_queue_t                    groups;
    ngx_queue_t                    measured;    /* too, when it is written */
    ngx_str_t                      text;        /* a folded document */
    uint64_t                       seed;        /* of the dictionaries */
} ngx_guildlog_build_t;


/* it has a pool of its own, of which the segments are; NULL: no memory */
ngx_guildlog_build_t *ngx_guildlog_build_create(ngx_log_t *log);
void ngx_guildlog_build_destroy(ngx_guildlog_build_t *build);

/*
 * Takes a document, of any day, in any order, each id once.  Entries of a day
 * beyond ENTRIES go into another segment: whoever hands them in by id gets
 * segments that are cut by id.
 *
 * NGX_DECLINED: it is no document of an entry, it is left out.  NGX_ERROR: no
 * memory; nothing but destroy() may follow.
 */
ngx_int_t ngx_guildlog_build_add(ngx_guildlog_build_t *build,
    const ngx_str_t *doc);

/*
 * Writes what was added, in small pieces; nothing may be added any more.
 * NGX_AGAIN: call it again, in another pass of the event loop.  NGX_OK: all of
 * it is written.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_build_write(ngx_guildlog_build_t *build);


#endif /* _NGX_GUILDLOG_BUILD_H_INCLUDED_ */
