
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

/* of n strings */

#define ngx_guildlog_segment_groups(n)                                        \
    (((n) + NGX_GUILDLOG_SEGMENT_GROUP - 1) / NGX_GUILDLOG_SEGMENT_GROUP)

/* a set of ordinals */

#define ngx_guildlog_segment_words(n)  (((n) + 63) / 64)
#define ngx_guildlog_segment_has(bits, i)                                     \
    ((bits)[(i) / 64] >> ((i) % 64) & 1)
#define ngx_guildlog_segment_set(bits, i)                                     \
    (bits)[(i) / 64] |= (uint64_t) 1 << ((i) % 64)


typedef struct {
    int32_t                        day;
    ngx_uint_t                     n;      /* entries */
    ngx_str_t                      kinds;
    ngx_str_t                      dir;
    ngx_str_t                      body;
} ngx_guildlog_segment_t;


/* writing */

u_char *ngx_guildlog_segment_put32(u_char *p, uint32_t n);
u_char *ngx_guildlog_segment_put_id(u_char *p, uint64_t id);
u_char *ngx_guildlog_segment_put(u_char *p, uint32_t n);    /* a varint */
size_t ngx_guildlog_segment_size(uint32_t n);               /* of a varint */

/* the term of an id, of SEGMENT_TERM bytes */
void ngx_guildlog_segment_term(u_char *term, ngx_uint_t kind, int64_t id);

uint32_t ngx_guildlog_segment_hash(const u_char *p, size_t len);

/* how many buckets a segment of n entries has */
ngx_uint_t ngx_guildlog_segment_buckets(ngx_uint_t n);


/* reading */

uint32_t ngx_guildlog_segment_get32(const u_char *p);
uint64_t ngx_guildlog_segment_get_id(const u_char *p);

/* NGX_ERROR: these are no kinds or no directory of a segment of n entries */
ngx_int_t ngx_guildlog_segment_check(ngx_uint_t n, const ngx_str_t *kinds,
    const ngx_str_t *dir);

/* takes a varint and as many bytes off p; NGX_ERROR: they are not there */
ngx_int_t ngx_guildlog_segment_bytes(const u_char **p, const u_char *last,
    ngx_str_t *bytes);

/* adds postings to the set of a segment of n entries; NGX_ERROR: bad ones */
ngx_int_t ngx_guildlog_segment_postings(const ngx_str_t *postings,
    ngx_uint_t n, uint64_t *bits);


/* how many ordinals of a set lie from there on and below that */
ngx_uint_t ngx_guildlog_segment_count(const uint64_t *bits, ngx_uint_t from,
    ngx_uint_t to);

/* takes them out of it */
void ngx_guildlog_segment_clear(uint64_t *bits, ngx_uint_t from,
    ngx_uint_t to);

/* the last of them, or NGX_DONE */
ngx_int_t ngx_guildlog_segment_last(const uint64_t *bits, ngx_uint_t from,
    ngx_uint_t to);


#endif /* _NGX_GUILDLOG_SEGMENT_H_INCLUDED_ */
