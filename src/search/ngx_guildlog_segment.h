
/*
 * A segment: the index of some entries of one day, as it is stored.  Numbers
 * are little endian, a varint is LEB128.  An ordinal is a place in the order of
 * (type, id).
 *
 * kinds           for each type that occurs, ascending: u8 type, u32 ordinal
 *                 behind its last entry
 * dir             u32 each: where in the body these begin: ids, strings,
 *                 postings of strings, roles, bucket 0 .. B - 1; and the end
 *
 * The body:
 *
 * ids             of each entry, 7 bytes: what its id has above the day's first
 * strings         u32 how many, u32 how many groups of 128; of each group u32
 *                 where its postings begin, and the end of the last; then
 *                 each string, folded, and a NUL
 * postings        of each string, in this order: varint bytes, postings
 * roles           u32 how many; each: varint length, folded role, varint bytes,
 *                 postings
 * buckets         each term with hash % B of that bucket: varint length, term,
 *                 varint bytes, postings
 *
 * Postings are ascending ordinals, each as a varint of what it has above the
 * least that it may be.  A term is a folded word; or a byte that says of what,
 * and an id in 8 bytes, big endian.
 *
 * What is read here was stored long ago, perhaps by another release: each
 * length, offset and ordinal is checked.
 */

#ifndef _NGX_GUILDLOG_SEGMENT_H_INCLUDED_
#define _NGX_GUILDLOG_SEGMENT_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_SEGMENT_FORMAT    1        /* search_format() */

#define NGX_GUILDLOG_SEGMENT_ENTRIES   16384
#define NGX_GUILDLOG_SEGMENT_BUCKETS   256
#define NGX_GUILDLOG_SEGMENT_GROUP     128      /* strings */
#define NGX_GUILDLOG_SEGMENT_BODY      0x3fffffff
#define NGX_GUILDLOG_SEGMENT_ID        7        /* bytes */
#define NGX_GUILDLOG_SEGMENT_KIND      5        /* bytes */

/* of an id, from the first one of a day to the first one of the next */

#define NGX_GUILDLOG_SEGMENT_DAY       ((int64_t) 86400000 << 22)

/* parts of a body: places in its directory */

#define NGX_GUILDLOG_SEGMENT_IDS       0
#define NGX_GUILDLOG_SEGMENT_STRINGS   1
#define NGX_GUILDLOG_SEGMENT_POSTINGS  2
#define NGX_GUILDLOG_SEGMENT_ROLES     3
#define NGX_GUILDLOG_SEGMENT_BUCKET    4

/* the first byte of a term that is no word */

#define NGX_GUILDLOG_SEGMENT_CHANNEL   1
#define NGX_GUILDLOG_SEGMENT_EXECUTOR  2
#define NGX_GUILDLOG_SEGMENT_TARGET    3
#define NGX_GUILDLOG_SEGMENT_TERM      9        /* bytes of such a one */


#define ngx_guildlog_segment_day(id)                                          \
    ((int32_t) ((id) / NGX_GUILDLOG_SEGMENT_DAY))


#endif /* _NGX_GUILDLOG_SEGMENT_H_INCLUDED_ */
