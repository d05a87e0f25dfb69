
/*
 * Answers one query of segments, and of the documents that are in none: how
 * many entries of each type match, and which are the newest.  Pure: it says
 * which slices of bodies it wants, and who calls it brings them.
 *
 *     create
 *     segment(), doc()     each as often as needed, in any order
 *     wants()
 *       NGX_BUSY:   wants() again, others may have a turn before
 *       NGX_AGAIN:  bring all slices, slice() each, in any order; wants() again
 *       NGX_OK:     counts, rest and ids are the answer
 *
 * segment(), wants() and slice() may return NGX_ERROR: find->bad: the body of
 * segment bad_key is not as it must be; or no memory.  A call looks at one
 * segment at most, or at one slice: what the builder makes is small enough for
 * that; a stored one of an earlier builder has up to 32 MB and takes longer.
 * doc() takes the time that the matcher takes.
 */

#ifndef _NGX_GUILDLOG_FIND_H_INCLUDED_
#define _NGX_GUILDLOG_FIND_H_INCLUDED_


#include "search/ngx_guildlog_match.h"
#include "search/ngx_guildlog_segment.h"


typedef struct ngx_guildlog_find_s          ngx_guildlog_find_t;
typedef struct ngx_guildlog_find_segment_s  ngx_guildlog_find_segment_t;
typedef struct ngx_guildlog_find_stage_s    ngx_guildlog_find_stage_t;
typedef struct ngx_guildlog_find_term_s     ngx_guildlog_find_term_t;


/* bytes of the body of a segment */

typedef struct ngx_guildlog_slice_s  ngx_guildlog_slice_t;

struct ngx_guildlog_slice_s {
    int64_t                        key;
    int32_t                        day;
    uint32_t                       from;
    uint32_t                       len;

    /* of find alone */

    ngx_guildlog_find_segment_t   *segment;
    ngx_uint_t                     nth;        /* its first string or entry */
    ngx_int_t                    (*read)(ngx_guildlog_find_t *find,
                                         ngx_guildlog_slice_t *slice);
                                               /* NULL: it was read */
    const u_char                  *bytes;      /* while it is */
};


/*
 * What a worker keeps of segments: their strings.  get() is NGX_OK and sets
 * strings, which stay where they are until find is called again or returns; or
 * it is NGX_DECLINED.  put() copies.
 */

typedef ngx_int_t (*ngx_guildlog_find_get_pt)(void *data, int64_t key,
    ngx_str_t *strings);
typedef void (*ngx_guildlog_find_put_pt)(void *data, int64_t key, int32_t day,
    const ngx_str_t *strings);


/* matches by type, in slots of ids */

typedef struct {
    int64_t                        first;
    int64_t                        step;
    ngx_uint_t                     n;
    int64_t                      (*counts)[NGX_GUILDLOG_TYPES];
} ngx_guildlog_find_slots_t;


struct ngx_guildlog_find_s {
    /* may be set behind create() */

    ngx_guildlog_find_slots_t     *slots;  /* NULL: none; all of the window is
                                              in one of them */
    u_char                        *shown;  /* by type: '1': it is among ids;
                                              NULL: all of match->types */
    ngx_guildlog_find_get_pt       strings_get;    /* NULL: none are kept */
    ngx_guildlog_find_put_pt       strings_put;
    void                          *strings_data;

    ngx_array_t                    slices;     /* wanted: of slice_t, from the
                                                  newest day down */

    /* the answer, by type: the window, and what of it is below top */

    uint64_t                       counts[NGX_GUILDLOG_TYPES];
    uint64_t                       rest[NGX_GUILDLOG_TYPES];

    int64_t                       *ids;    /* below top, the newest first */
    ngx_uint_t                     nids;   /* limit at most */

    ngx_uint_t                     bad;
    int64_t                        bad_key;

    /* of find alone: the query */

    ngx_pool_t                    *pool;
    const ngx_guildlog_match_t    *match;
    int64_t                        low;
    int64_t                        high;
    int64_t                        top;
    ngx_uint_t                     limit;
    ngx_guildlog_find_term_t      *terms;
    ngx_uint_t                     nterms;
    ngx_uint_t                     asks;       /* a bit for each set */

    /* what was done of it */

    ngx_array_t                    segments;
    uint64_t                      *spare;      /* a set */
    ngx_uint_t                     nwanted;    /* slices that did not come */
    size_t                         queued;     /* bytes of slices */
    const ngx_guildlog_find_stage_t  *stage;   /* NULL: not begun */
    ngx_uint_t                     next;       /* segment of it */
    int32_t                        day;        /* whose ids are wanted */
    ngx_uint_t                     nshown;     /* of newer days, and of it */
    ngx_uint_t                     sorted;     /* ids */
    ngx_str_t                      text;       /* a folded document */
};


/*
 * The window is from id low on and below high; top is not above high.  Of
 * match, which has to stay, after and before are for documents alone.
 */
ngx_guildlog_find_t *ngx_guildlog_find_create(ngx_pool_t *pool,
    const ngx_guildlog_match_t *match, int64_t low, int64_t high, int64_t top,
    ngx_uint_t limit);

/* copies what it needs */
ngx_int_t ngx_guildlog_find_segment(ngx_guildlog_find_t *find, int64_t key,
    int32_t day, ngx_uint_t n, const ngx_str_t *kinds, const ngx_str_t *dir);

/*
 * A document of an entry that is in no segment.  NGX_DECLINED: it is no
 * document, and is left out.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_find_doc(ngx_guildlog_find_t *find, int64_t id,
    const ngx_str_t *doc);

ngx_int_t ngx_guildlog_find_wants(ngx_guildlog_find_t *find);

/* reads the i-th of the slices that are wanted; of another size it is bad */
ngx_int_t ngx_guildlog_find_slice(ngx_guildlog_find_t *find, ngx_uint_t i,
    const ngx_str_t *bytes);


#endif /* _NGX_GUILDLOG_FIND_H_INCLUDED_ */
