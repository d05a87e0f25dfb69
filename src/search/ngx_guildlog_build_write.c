
/*
 * A group is written as a segment, step by step: its entries are sorted, which
 * gives their ordinals; the sizes of all postings are counted, then those of
 * all parts of the body; what stands before postings is written; then the
 * postings, entry by entry.  Each step is done in small pieces.
 */

#include "search/ngx_guildlog_build_group.h"


/* what one of these costs of *left, which is about nanoseconds */

#define BUILD_WRITE_SORT   4     /* an entry */
#define BUILD_WRITE_COUNT  6     /* a pair */
#define BUILD_WRITE_PAIR   12
#define BUILD_WRITE_ITEM   20


static ngx_int_t build_write_sort(ngx_guildlog_build_group_t *group);
static ngx_int_t build_write_count(ngx_guildlog_build_group_t *group);
static ngx_int_t build_write_measure(ngx_guildlog_build_group_t *group);
static ngx_int_t build_write_body(ngx_guildlog_build_group_t *group);
static ngx_int_t build_write_place(ngx_guildlog_build_group_t *group);
static void build_write_offset(ngx_guildlog_build_group_t *group);
static ngx_int_t build_write_entries(ngx_guildlog_build_group_t *group);
static void build_write_kind(ngx_str_t *kinds, ngx_uint_t type, uint32_t end);
static ngx_int_t build_write_next(ngx_guildlog_build_group_t *group,
    ngx_guildlog_build_step_pt step);


ngx_int_t
ngx_guildlog_build_write_group(ngx_guildlog_build_group_t *group,
    ngx_pool_t *pool, ngx_int_t *left)
{
    ngx_int_t  rc;

    if (group->step == NULL) {
        group->step = build_write_sort;
        group->to = pool;
        group->nbuckets = ngx_guildlog_segment_buckets(group->entries.nelts);
        group->spare = ngx_palloc(group->pool,
                                  group->entries.nelts * group->entries.size);

        if (group->spare == NULL) {
            return NGX_ERROR;
        }
    }

    group->left = *left;
    rc = NGX_AGAIN;

    while (rc == NGX_AGAIN && group->left > 0) {
        rc = group->step(group);
    }

    *left = group->left;

    return rc;
}


/* by one byte of the key, from the least on: each pass keeps the order */

static ngx_int_t
build_write_sort(ngx_guildlog_build_group_t *group)
{
    ngx_uint_t                   i, n, next, shift, places[256];
    ngx_guildlog_build_entry_t  *from, *to;

    from = group->entries.elts;
    to = group->spare;
    n = group->entries.nelts;
    shift = 8 * group->done;

    ngx_memzero(places, sizeof(places));

    for (i = 0; i < n; i++) {
        places[from[i].key >> shift & 0xff]++;
    }

    for (next = 0, i = 0; i < 256; i++) {
        next += places[i];
        places[i] = next - places[i];
    }

    for (i = 0; i < n; i++) {
        to[places[from[i].key >> shift & 0xff]++] = from[i];
    }

    group->entries.elts = to;
    group->spare = from;
    group->left -= n * BUILD_WRITE_SORT;

    if (++group->done < sizeof(from->key)) {
        return NGX_AGAIN;
    }

    return build_write_next(group, build_write_count);
}


static ngx_int_t
build_write_count(ngx_guildlog_build_group_t *group)
{
    uint32_t                    *pair, *last;
    ngx_uint_t                   i;
    ngx_guildlog_build_item_t   *item;
    ngx_guildlog_build_entry_t  *entry;

    while (group->left > 0) {
        i = group->done++;

        if (i == group->entries.nelts) {
            return build_write_next(group, build_write_measure);
        }

        entry = (ngx_guildlog_build_entry_t *) group->entries.elts + i;
        pair = entry->items;

        for (last = pair + entry->nitems; pair < last; pair++) {
            item = ngx_guildlog_build_item(group, *pair);
            item->size += ngx_guildlog_segment_size(i - item->next);
            item->next = i + 1;
        }

        group->left -= entry->nitems * BUILD_WRITE_COUNT;
    }

    return NGX_AGAIN;
}


static ngx_int_t
build_write_measure(ngx_guildlog_build_group_t *group)
{
    size_t                      size, named;
    ngx_guildlog_build_item_t  *item;

    while (group->left > 0) {

        if (group->done == group->nitems) {
            return build_write_body(group);
        }

        item = ngx_guildlog_build_item(group, group->done);
        group->done++;

        size = ngx_guildlog_segment_size(item->size) + item->size;
        named = ngx_guildlog_segment_size(item->len) + item->len + size;

        switch (item->kind) {

        case NGX_GUILDLOG_BUILD_STRING:
            group->nstrings++;
            group->parts[NGX_GUILDLOG_SEGMENT_STRINGS] += item->len + 1;
            group->parts[NGX_GUILDLOG_SEGMENT_POSTINGS] += size;
            break;

        case NGX_GUILDLOG_BUILD_ROLE:
            group->nroles++;
            group->parts[NGX_GUILDLOG_SEGMENT_ROLES] += named;
            break;

        default:
            item->hash &= group->nbuckets - 1;
            group->parts[NGX_GUILDLOG_SEGMENT_BUCKET + item->hash] += named;
        }

        group->left -= BUILD_WRITE_ITEM;
    }

    return NGX_AGAIN;
}


/* the sizes of all parts are known */

static ngx_int_t
build_write_body(ngx_guildlog_build_group_t *group)
{
    u_char                  *p, *dir;
    uint32_t                 pos, size, *part;
    ngx_uint_t               i, n, groups;
    ngx_guildlog_segment_t  *segment;

    segment = &group->segment;
    segment->day = group->day;
    segment->n = group->entries.nelts;

    n = NGX_GUILDLOG_SEGMENT_BUCKET + group->nbuckets;

    segment->dir.len = 4 * (n + 1);
    segment->dir.data = ngx_pnalloc(group->to, segment->dir.len);
    segment->kinds.data = ngx_pnalloc(group->to, NGX_GUILDLOG_TYPES
                                      * NGX_GUILDLOG_SEGMENT_KIND);

    if (segment->dir.data == NULL || segment->kinds.data == NULL) {
        return NGX_ERROR;
    }

    groups = ngx_guildlog_segment_groups(group->nstrings);

    group->parts[NGX_GUILDLOG_SEGMENT_IDS] = segment->n
                                             * NGX_GUILDLOG_SEGMENT_ID;
    group->parts[NGX_GUILDLOG_SEGMENT_STRINGS] += 4 * (2 + groups + 1);
    group->parts[NGX_GUILDLOG_SEGMENT_ROLES] += 4;

    dir = segment->dir.data;
    pos = 0;

    for (i = 0; i < n; i++) {
        size = group->parts[i];
        group->parts[i] = pos;
        dir = ngx_guildlog_segment_put32(dir, pos);
        pos += size;
    }

    (void) ngx_guildlog_segment_put32(dir, pos);

    segment->body.len = pos;
    segment->body.data = ngx_pnalloc(group->to, pos);

    if (segment->body.data == NULL) {
        return NGX_ERROR;
    }

    /* what stands before strings and roles is written, but for the offsets */

    part = &group->parts[NGX_GUILDLOG_SEGMENT_STRINGS];
    p = ngx_guildlog_segment_put32(segment->body.data + *part,
                                   group->nstrings);
    (void) ngx_guildlog_segment_put32(p, groups);
    *part += 4 * (2 + groups + 1);

    part = &group->parts[NGX_GUILDLOG_SEGMENT_ROLES];
    (void) ngx_guildlog_segment_put32(segment->body.data + *part,
                                      group->nroles);
    *part += 4;

    group->nstrings = 0;

    return build_write_next(group, build_write_place);
}


/* all but the postings */

static ngx_int_t
build_write_place(ngx_guildlog_build_group_t *group)
{
    u_char                     *p, *body;
    uint32_t                   *part;
    ngx_guildlog_build_item_t  *item;

    body = group->segment.body.data;

    while (group->left > 0) {

        if (group->done == group->nitems) {
            build_write_offset(group);
            return build_write_next(group, build_write_entries);
        }

        item = ngx_guildlog_build_item(group, group->done);
        group->done++;

        if (item->kind == NGX_GUILDLOG_BUILD_STRING) {
            if (group->nstrings++ % NGX_GUILDLOG_SEGMENT_GROUP == 0) {
                build_write_offset(group);
            }

            part = &group->parts[NGX_GUILDLOG_SEGMENT_STRINGS];
            p = ngx_cpymem(body + *part, item->data, item->len);
            *p++ = '\0';
            *part = p - body;

            part = &group->parts[NGX_GUILDLOG_SEGMENT_POSTINGS];
            p = body + *part;

        } else {
            part = (item->kind == NGX_GUILDLOG_BUILD_ROLE)
                   ? &group->parts[NGX_GUILDLOG_SEGMENT_ROLES]
                   : &group->parts[NGX_GUILDLOG_SEGMENT_BUCKET + item->hash];

            p = ngx_guildlog_segment_put(body + *part, item->len);
            p = ngx_cpymem(p, item->data, item->len);
        }

        p = ngx_guildlog_segment_put(p, item->size);

        item->next = 0;
        item->pos = p - body;
        *part = item->pos + item->size;

        group->left -= BUILD_WRITE_ITEM;
    }

    return NGX_AGAIN;
}


/* where the postings of the next group of strings begin */

static void
build_write_offset(ngx_guildlog_build_group_t *group)
{
    u_char    *p;
    uint32_t   postings;

    p = group->segment.dir.data;
    postings = ngx_guildlog_segment_get32(
                                  p + 4 * NGX_GUILDLOG_SEGMENT_POSTINGS);

    p = group->segment.body.data
        + ngx_guildlog_segment_get32(p + 4 * NGX_GUILDLOG_SEGMENT_STRINGS);

    (void) ngx_guildlog_segment_put32(p + 4 * (2 + group->ngroups++),
                     group->parts[NGX_GUILDLOG_SEGMENT_POSTINGS] - postings);
}


static ngx_int_t
build_write_entries(ngx_guildlog_build_group_t *group)
{
    u_char                      *p, *body;
    uint32_t                    *pair, *last;
    ngx_uint_t                   i;
    ngx_guildlog_build_item_t   *item;
    ngx_guildlog_build_entry_t  *entry;

    body = group->segment.body.data;

    while (group->left > 0) {
        i = group->done++;

        if (i == group->entries.nelts) {
            return NGX_OK;
        }

        entry = (ngx_guildlog_build_entry_t *) group->entries.elts + i;

        (void) ngx_guildlog_segment_put_id(body + i * NGX_GUILDLOG_SEGMENT_ID,
                                           entry->key);
        build_write_kind(&group->segment.kinds,
                         entry->key >> 8 * NGX_GUILDLOG_SEGMENT_ID, i + 1);

        pair = entry->items;

        for (last = pair + entry->nitems; pair < last; pair++) {
            item = ngx_guildlog_build_item(group, *pair);
            p = ngx_guildlog_segment_put(body + item->pos, i - item->next);
            item->pos = p - body;
            item->next = i + 1;
        }

        group->left -= entry->nitems * BUILD_WRITE_PAIR;
    }

    return NGX_AGAIN;
}


/* the entries of a type end there, as far as is known */

static void
build_write_kind(ngx_str_t *kinds, ngx_uint_t type, uint32_t end)
{
    u_char  *p;

    p = kinds->data + kinds->len;

    if (kinds->len == 0 || p[-NGX_GUILDLOG_SEGMENT_KIND] != type) {
        *p = (u_char) type;
        kinds->len += NGX_GUILDLOG_SEGMENT_KIND;

    } else {
        p -= NGX_GUILDLOG_SEGMENT_KIND;
    }

    (void) ngx_guildlog_segment_put32(p + 1, end);
}


static ngx_int_t
build_write_next(ngx_guildlog_build_group_t *group,
    ngx_guildlog_build_step_pt step)
{
    group->step = step;
    group->done = 0;

    return NGX_AGAIN;
}
