
/*
 * What build.c collects of a segment's entries and build_write.c writes.
 */

#ifndef _NGX_GUILDLOG_BUILD_GROUP_H_INCLUDED_
#define _NGX_GUILDLOG_BUILD_GROUP_H_INCLUDED_


#include "search/ngx_guildlog_build.h"


#define NGX_GUILDLOG_BUILD_DICTS  64
#define NGX_GUILDLOG_BUILD_BLOCK  1024    /* items */

#define ngx_guildlog_build_item(group, i)                                     \
    (((ngx_guildlog_build_item_t **) (group)->blocks.elts)                    \
     [(i) / NGX_GUILDLOG_BUILD_BLOCK] + (i) % NGX_GUILDLOG_BUILD_BLOCK)


typedef enum {
    NGX_GUILDLOG_BUILD_TERM = 0,
    NGX_GUILDLOG_BUILD_STRING,
    NGX_GUILDLOG_BUILD_ROLE
} ngx_guildlog_build_kind_e;


/* a term, a string or a role of the dictionary */

typedef struct {
    u_char                        *data;
    uint32_t                       len;
    uint32_t                       kind;
    uint32_t                       hash;   /* of a term */
    uint32_t                       next;   /* the least entry it may get next */
    uint32_t                       size;   /* of its postings */
    uint32_t                       pos;    /* the entry that got it last, + 1;
                                              then where in the body its
                                              postings go on */
} ngx_guildlog_build_item_t;


typedef struct {
    uint64_t                       key;    /* by which entries are ordered */
    uint32_t                      *items;  /* their numbers, each once */
    ngx_uint_t                     nitems;
} ngx_guildlog_build_entry_t;


/* one of many small ones: none is ever long to grow */

typedef struct {
    uint64_t                      *slots;  /* hash, and an item's number + 1 */
    uint32_t                       size;
    uint32_t                       n;      /* items */
} ngx_guildlog_build_dict_t;


typedef struct ngx_guildlog_build_group_s  ngx_guildlog_build_group_t;

typedef ngx_int_t (*ngx_guildlog_build_step_pt)(
    ngx_guildlog_build_group_t *group);


struct ngx_guildlog_build_group_s {
    ngx_pool_t                    *pool;
    ngx_queue_t                    queue;
    int32_t                        day;
    ngx_uint_t                     full;

    ngx_array_t                    entries;
    ngx_array_t                    blocks; /* of items, pointers to them */
    ngx_uint_t                     nitems;
    size_t                         bytes;  /* of items */

    uint32_t                      *pairs;  /* the next entry's items go here */
    ngx_uint_t                     npairs; /* of all entries */
    ngx_uint_t                     room;   /* for pairs */

    uint64_t                       seed;
    ngx_guildlog_build_dict_t      dicts[NGX_GUILDLOG_BUILD_DICTS];

    /* while it is written */

    ngx_guildlog_build_step_pt     step;
    ngx_guildlog_segment_t         segment;
    ngx_pool_t                    *to;     /* of the segment */
    ngx_int_t                      left;   /* work until others have a turn */
    ngx_uint_t                     done;   /* of this step */
    void                          *spare;  /* entries */
    ngx_uint_t                     nbuckets;
    ngx_uint_t                     nstrings;
    ngx_uint_t                     ngroups;    /* of strings */
    ngx_uint_t                     nroles;

    /* sizes of the parts of the body; then where they go on; all but ids */

    uint32_t                       parts[NGX_GUILDLOG_SEGMENT_BUCKET
                                         + NGX_GUILDLOG_SEGMENT_BUCKETS];
};


/*
 * Writes group->segment, in the pool.  NGX_AGAIN: *left is used up, call it
 * again; NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_build_write_group(ngx_guildlog_build_group_t *group,
    ngx_pool_t *pool, ngx_int_t *left);


#endif /* _NGX_GUILDLOG_BUILD_GROUP_H_INCLUDED_ */
