
/*
 * What the files of find share: its segments, and the parts of their bodies
 * that it wants.
 */

#ifndef _NGX_GUILDLOG_FIND_PART_H_INCLUDED_
#define _NGX_GUILDLOG_FIND_PART_H_INCLUDED_


#include "search/ngx_guildlog_find.h"


/* which entries of a segment have what a query asks for */

typedef enum {
    NGX_GUILDLOG_FIND_WORDS = 0,
    NGX_GUILDLOG_FIND_STRINGS,
    NGX_GUILDLOG_FIND_CHANNEL,    /* from here on: conditions */
    NGX_GUILDLOG_FIND_MEMBER,
    NGX_GUILDLOG_FIND_ROLE,
    NGX_GUILDLOG_FIND_SETS
} ngx_guildlog_find_set_e;


typedef struct {
    ngx_str_t                      text;
    uint32_t                       hash;
    ngx_guildlog_find_set_e        set;
} ngx_guildlog_find_term_t;


/* where the entries of a type are */

typedef struct {
    uint32_t                       type;
    uint32_t                       from;
    uint32_t                       to;
} ngx_guildlog_find_kind_t;


typedef struct {
    int64_t                        key;
    int64_t                        first;      /* id of the day */
    int32_t                        day;
    ngx_uint_t                     n;
    ngx_guildlog_find_kind_t      *kinds;
    ngx_guildlog_find_kind_t      *last;       /* behind them */
    u_char                        *dir;
    ngx_uint_t                     nbuckets;

    uint64_t                      *sets[NGX_GUILDLOG_FIND_SETS];
                                               /* NULL: none */
    ngx_uint_t                     nwords;     /* that it has */

    uint32_t                       pos;        /* in the strings: read so far */
    ngx_uint_t                     nread;      /* strings */
    ngx_uint_t                     nstrings;
    u_char                        *offsets;    /* of groups; NULL: not read */
    uint64_t                      *hits;       /* strings; NULL: none */

    uint64_t                      *found;      /* all told; NULL: none */
    ngx_uint_t                     nshown;     /* of these: below top, shown */
    ngx_uint_t                     whole;      /* its ids were read */
} ngx_guildlog_find_segment_t;


typedef struct ngx_guildlog_find_part_s  ngx_guildlog_find_part_t;

/*
 * Reads what there is, from pos on, as far as it is whole.  NGX_BUSY: the work
 * of one call is done, it goes on from pos; NGX_ERROR.
 */
typedef ngx_int_t (*ngx_guildlog_find_read_pt)(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);


struct ngx_guildlog_find_part_s {
    ngx_guildlog_find_segment_t   *segment;
    ngx_guildlog_find_read_pt      read;
    uint32_t                       from;       /* in the body */
    uint32_t                       len;
    ngx_uint_t                     nth;        /* its first string or entry */

    u_char                        *bytes;      /* a slice of it */
    uint32_t                       size;
    uint32_t                       pos;        /* in bytes */
    ngx_uint_t                     here;       /* bytes are there */
};


typedef struct ngx_guildlog_find_stage_s  ngx_guildlog_find_stage_t;


struct ngx_guildlog_find_state_s {
    ngx_pool_t                    *pool;
    const ngx_guildlog_match_t    *match;
    int64_t                        low;
    int64_t                        high;
    int64_t                        top;
    ngx_uint_t                     limit;

    ngx_array_t                    segments;
    ngx_guildlog_find_term_t      *terms;
    ngx_uint_t                     nterms;
    ngx_uint_t                     asks[NGX_GUILDLOG_FIND_SETS];
    uint64_t                      *spare;      /* a set */

    ngx_array_t                    parts;
    ngx_uint_t                     at;         /* the first part to read */
    ngx_uint_t                     asked;      /* behind the last one */
    size_t                         queued;     /* bytes */
    ngx_str_t                      buf;        /* of slices */

    const ngx_guildlog_find_stage_t  *stage;   /* NULL: not begun */
    ngx_uint_t                     next;       /* segment of it */
    ngx_int_t                      left;       /* work until others have a turn,
                                                  about nanoseconds */
    int32_t                        day;        /* whose ids are wanted */
    ngx_uint_t                     nshown;     /* of newer days, and of it */
    ngx_uint_t                     sorted;

    ngx_str_t                      text;       /* a folded document */
};


/* wants len bytes of a body; the part may be changed; NULL: no memory */
ngx_guildlog_find_part_t *ngx_guildlog_find_part_want(
    ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_guildlog_find_read_pt read, uint32_t from, uint32_t len);

/* where a part of the body begins */
uint32_t ngx_guildlog_find_part_from(
    const ngx_guildlog_find_segment_t *segment, ngx_uint_t part);

/* adds postings to a set; NGX_ERROR: bad, or no memory */
ngx_int_t ngx_guildlog_find_part_add(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_guildlog_find_set_e set,
    const ngx_str_t *postings);

/* which entries meet all conditions, in spare; 0: none */
ngx_uint_t ngx_guildlog_find_part_fits(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);

/* the segment is bad: NGX_ERROR */
ngx_int_t ngx_guildlog_find_part_bad(ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment);


/*
 * Stages: each is called for each segment, from the newest day down.  NGX_BUSY:
 * call it again for this one; NGX_DONE: it needs no more segments; NGX_ERROR.
 */

/* in which strings it is, and which entries have these */
ngx_int_t ngx_guildlog_find_strings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
ngx_int_t ngx_guildlog_find_strings_postings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);

/* the slot that an id of the window is in */
ngx_uint_t ngx_guildlog_find_ids_slot(const ngx_guildlog_find_t *find,
    int64_t id);

/* counts, with ids where it needs them; then the newest ids */
ngx_int_t ngx_guildlog_find_ids(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
ngx_int_t ngx_guildlog_find_ids_newest(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);

ngx_uint_t ngx_guildlog_find_ids_is_shown(ngx_guildlog_find_t *find,
    ngx_uint_t type);

/* one more id that matches; limit of them are kept */
void ngx_guildlog_find_ids_push(ngx_guildlog_find_t *find, int64_t id);

/* puts them in order; NGX_BUSY: call it again */
ngx_int_t ngx_guildlog_find_ids_sort(ngx_guildlog_find_t *find);


#endif /* _NGX_GUILDLOG_FIND_PART_H_INCLUDED_ */
