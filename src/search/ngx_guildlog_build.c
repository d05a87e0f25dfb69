
/*
 * Documents become entries of a group, one for each day: which terms, strings
 * and roles each of them has.  A group becomes a segment at last.
 */

#include "search/ngx_guildlog_build.h"


/* what a group may hold before another one is begun, but for one document */

#define BUILD_PAIRS   1048576
#define BUILD_ITEMS   131072
#define BUILD_BYTES   8388608
#define BUILD_LOOK    262144    /* bytes of strings and roles, and entries that
                                   have one: a search looks through all of them
                                   in one go */

#define BUILD_SLOTS   16        /* of a new dictionary */
#define BUILD_ROOM    16384     /* pairs that are allocated */
#define BUILD_WORK    100000    /* a call of write() */

/* what one of these costs of left, which is about nanoseconds */

#define BUILD_WRITE_SORT   4     /* an entry */
#define BUILD_WRITE_COUNT  6     /* a pair */
#define BUILD_WRITE_PAIR   12
#define BUILD_WRITE_ITEM   20

#define BUILD_SHAPE  (5 * sizeof("-2147483648"))    /* bytes of a segment's */

#define BUILD_DICTS  64
#define BUILD_BLOCK  1024    /* items */

#define build_item(group, i)                                                  \
    (((build_item_t **) (group)->blocks.elts)[(i) / BUILD_BLOCK]              \
     + (i) % BUILD_BLOCK)


typedef enum {
    BUILD_TERM = 0,
    BUILD_STRING,
    BUILD_ROLE
} build_kind_e;


/* a term, a string or a role of the dictionary */

typedef struct {
    u_char                        *data;
    uint32_t                       len;
    uint32_t                       kind;
    uint32_t                       hash;   /* of a term */
    uint32_t                       next;   /* the last entry that has it, + 1:
                                              gaps count from there */
    uint32_t                       size;   /* of its postings */
    uint32_t                       pos;    /* the entry that got it last, + 1;
                                              then where in the body its
                                              postings go on */
} build_item_t;


typedef struct build_group_s  build_group_t;

typedef ngx_int_t (*build_step_pt)(build_group_t *group);


typedef struct {
    uint64_t                       key;    /* by which entries are ordered */
    uint32_t                      *items;  /* their numbers, each once */
    ngx_uint_t                     nitems;
} build_entry_t;


/* one of many small ones: none is ever long to grow */

typedef struct {
    uint64_t                      *slots;  /* hash, and an item's number + 1 */
    uint32_t                       size;
    uint32_t                       n;      /* items */
} build_dict_t;


struct build_group_s {
    ngx_guildlog_build_t          *build;
    ngx_pool_t                    *pool;   /* of all but what is written */
    ngx_queue_t                    queue;
    int32_t                        day;
    ngx_uint_t                     full;

    ngx_array_t                    entries;
    ngx_array_t                    blocks; /* of items, pointers to them */
    ngx_uint_t                     nitems;
    size_t                         bytes;  /* of items */
    size_t                         look;   /* of these: strings, roles */
    ngx_uint_t                     nlooks; /* of pairs: likewise */

    uint32_t                      *pairs;  /* the next entry's items go here */
    ngx_uint_t                     npairs; /* of all entries */
    ngx_uint_t                     room;   /* for pairs */

    build_dict_t                   dicts[BUILD_DICTS];

    /* while it is written */

    build_step_pt                  step;
    ngx_guildlog_segment_t         segment;
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


static build_group_t *build_group(ngx_guildlog_build_t *build, int32_t day);
static ngx_int_t build_terms(build_group_t *group,
    const ngx_guildlog_match_doc_t *doc);
static ngx_int_t build_strings(build_group_t *group,
    const ngx_guildlog_match_doc_t *doc);
static ngx_int_t build_has(build_group_t *group, build_kind_e kind,
    const u_char *p, size_t len);
static build_item_t *build_new(build_group_t *group, build_kind_e kind,
    const u_char *p, size_t len);
static ngx_int_t build_grow(ngx_pool_t *pool, build_dict_t *dict);
static uint64_t build_hash(uint64_t hash, const u_char *p, size_t len);
static ngx_int_t build_write_group(build_group_t *group, ngx_int_t *left);
static ngx_int_t build_write_sort(build_group_t *group);
static ngx_int_t build_write_count(build_group_t *group);
static ngx_int_t build_write_measure(build_group_t *group);
static ngx_int_t build_write_sizes(build_group_t *group);
static ngx_int_t build_write_blob(ngx_guildlog_build_t *build);
static ngx_int_t build_write_body(build_group_t *group);
static ngx_int_t build_write_place(build_group_t *group);
static void build_write_offset(build_group_t *group);
static ngx_int_t build_write_entries(build_group_t *group);
static ngx_int_t build_write_next(build_group_t *group, build_step_pt step);


ngx_guildlog_build_t *
ngx_guildlog_build_create(ngx_log_t *log)
{
    ngx_pool_t            *pool;
    ngx_guildlog_build_t  *build;

    build = ngx_guildlog_pool(&pool, NGX_DEFAULT_POOL_SIZE,
                              sizeof(ngx_guildlog_build_t), log);
    if (build == NULL) {
        return NULL;
    }

    build->segments = ngx_array_create(pool, 4,
                                       sizeof(ngx_guildlog_segment_t));
    if (build->segments == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    build->pool = pool;
    build->seed = (uint64_t) ngx_random() << 32 ^ (uint64_t) ngx_random();
    ngx_queue_init(&build->groups);
    ngx_queue_init(&build->measured);

    return build;
}


void
ngx_guildlog_build_destroy(ngx_guildlog_build_t *build)
{
    ngx_queue_t    *q;
    build_group_t  *group;

    ngx_queue_add(&build->groups, &build->measured);

    while (!ngx_queue_empty(&build->groups)) {
        q = ngx_queue_head(&build->groups);
        ngx_queue_remove(q);

        group = ngx_queue_data(q, build_group_t, queue);
        ngx_destroy_pool(group->pool);
    }

    ngx_destroy_pool(build->pool);
}


ngx_int_t
ngx_guildlog_build_add(ngx_guildlog_build_t *build, const ngx_str_t *doc)
{
    ngx_uint_t                 n;
    build_entry_t             *entry;
    build_group_t             *group;
    ngx_guildlog_match_doc_t   match;

    ngx_guildlog_assert(build->blob.data == NULL);

    if (ngx_guildlog_match_doc_read(&match, doc) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (ngx_guildlog_match_doc_buf(&build->text, build->pool, doc->len)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_guildlog_match_doc_fold(&match, build->text.data) == NULL) {
        return NGX_DECLINED;
    }

    group = build_group(build, ngx_guildlog_segment_day(match.id));
    if (group == NULL) {
        return NGX_ERROR;
    }

    ngx_guildlog_assert(!group->full && group->step == NULL);

    /* a byte ends each word and each string; and 3 ids, a role */

    n = (match.texts.len + match.parts.len) / 2 + 4;

    if (n > group->room) {
        n = ngx_max(n, ngx_min(group->npairs + 256, BUILD_ROOM));

        group->room = 0;
        group->pairs = ngx_palloc(group->pool, n * sizeof(uint32_t));

        if (group->pairs == NULL) {
            return NGX_ERROR;
        }

        group->room = n;
    }

    entry = ngx_array_push(&group->entries);
    if (entry == NULL) {
        return NGX_ERROR;
    }

    entry->key = (uint64_t) match.type << 8 * NGX_GUILDLOG_SEGMENT_ID
                 | (uint64_t) (match.id
                               - group->day * NGX_GUILDLOG_SEGMENT_DAY);
    entry->items = group->pairs;

    if (build_terms(group, &match) != NGX_OK
        || build_strings(group, &match) != NGX_OK)
    {
        return NGX_ERROR;
    }

    entry->nitems = group->pairs - entry->items;

    ngx_guildlog_assert(entry->nitems <= n && n <= group->room);

    group->npairs += entry->nitems;
    group->room -= entry->nitems;

    if (group->entries.nelts == NGX_GUILDLOG_SEGMENT_ENTRIES
        || group->npairs >= BUILD_PAIRS || group->nitems >= BUILD_ITEMS
        || group->bytes >= BUILD_BYTES || group->look >= BUILD_LOOK
        || group->nlooks >= BUILD_LOOK)
    {
        group->full = 1;
        build->full = 1;
    }

    return NGX_OK;
}


/* the group of a day that takes more; a new one, where there is none */

static build_group_t *
build_group(ngx_guildlog_build_t *build, int32_t day)
{
    ngx_pool_t     *pool;
    ngx_queue_t    *q;
    build_group_t  *group;

    ngx_guildlog_queue_each(q, &build->groups) {
        group = ngx_queue_data(q, build_group_t, queue);

        if (group->day == day && !group->full) {
            return group;
        }
    }

    group = ngx_guildlog_pool(&pool, NGX_DEFAULT_POOL_SIZE,
                              sizeof(build_group_t), build->pool->log);
    if (group == NULL) {
        return NULL;
    }

    if (ngx_array_init(&group->entries, pool, 64, sizeof(build_entry_t))
        != NGX_OK
        || ngx_array_init(&group->blocks, pool, 4, sizeof(build_item_t *))
           != NGX_OK)
    {
        ngx_destroy_pool(pool);
        return NULL;
    }

    group->build = build;
    group->pool = pool;
    group->day = day;

    ngx_queue_insert_tail(&build->groups, &group->queue);

    return group;
}


static ngx_int_t
build_terms(build_group_t *group, const ngx_guildlog_match_doc_t *doc)
{
    u_char      term[NGX_GUILDLOG_SEGMENT_TERM];
    ngx_str_t   text, word;
    ngx_uint_t  i;

    const int64_t  ids[] = { doc->channel, doc->executor, doc->target };

    text = doc->texts;

    while (ngx_guildlog_fold_word(&text, &word) == NGX_OK) {
        if (build_has(group, BUILD_TERM, word.data, word.len) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (ids[i] == NGX_GUILDLOG_MATCH_NONE) {
            continue;
        }

        ngx_guildlog_segment_term(term, NGX_GUILDLOG_SEGMENT_CHANNEL + i,
                                  ids[i]);

        if (build_has(group, BUILD_TERM, term, NGX_GUILDLOG_SEGMENT_TERM)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
build_strings(build_group_t *group, const ngx_guildlog_match_doc_t *doc)
{
    u_char  *p, *end, *last;

    last = doc->parts.data + doc->parts.len;

    for (p = doc->parts.data; p < last; p = end + 1) {
        end = memchr(p, '\0', last - p);

        if (end > p
            && build_has(group, BUILD_STRING, p, end - p) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (doc->role.data == NULL) {
        return NGX_OK;
    }

    return build_has(group, BUILD_ROLE, doc->role.data, doc->role.len);
}


/* the entry that was added last has it, perhaps once more */

static ngx_int_t
build_has(build_group_t *group, build_kind_e kind, const u_char *p,
    size_t len)
{
    uint32_t       number;
    uint64_t       hash, *slot;
    ngx_uint_t     i;
    build_dict_t  *dict;
    build_item_t  *item;

    hash = build_hash(group->build->seed + kind, p, len);

    dict = &group->dicts[hash % BUILD_DICTS];
    hash >>= 32;

    if (2 * dict->n >= dict->size && build_grow(group->pool, dict) != NGX_OK) {
        return NGX_ERROR;
    }

    for (i = hash; /* void */ ; i++) {
        slot = &dict->slots[i & (dict->size - 1)];

        if (*slot == 0) {
            break;
        }

        if (*slot >> 32 != hash) {
            continue;
        }

        number = (uint32_t) *slot - 1;
        item = build_item(group, number);

        if (item->len == len && item->kind == kind
            && ngx_memcmp(item->data, p, len) == 0)
        {
            goto found;
        }
    }

    number = group->nitems;

    item = build_new(group, kind, p, len);
    if (item == NULL) {
        return NGX_ERROR;
    }

    dict->n++;
    *slot = hash << 32 | group->nitems;

found:

    if (item->pos < group->entries.nelts) {
        item->pos = group->entries.nelts;
        *group->pairs++ = number;
        group->nlooks += (kind != BUILD_TERM);
    }

    return NGX_OK;
}


static build_item_t *
build_new(build_group_t *group, build_kind_e kind, const u_char *p,
    size_t len)
{
    build_item_t  *item, **block;

    if (group->nitems % BUILD_BLOCK == 0) {
        block = ngx_array_push(&group->blocks);
        if (block == NULL) {
            return NULL;
        }

        *block = ngx_palloc(group->pool, BUILD_BLOCK * sizeof(build_item_t));
        if (*block == NULL) {
            return NULL;
        }
    }

    item = build_item(group, group->nitems);
    ngx_memzero(item, sizeof(build_item_t));

    item->data = ngx_pnalloc(group->pool, len);
    if (item->data == NULL) {
        return NULL;
    }

    ngx_memcpy(item->data, p, len);
    item->len = len;
    item->kind = kind;

    if (kind == BUILD_TERM) {
        item->hash = ngx_guildlog_segment_hash(p, len);

    } else {
        group->look += len;
    }

    group->nitems++;
    group->bytes += len;

    return item;
}


/* half of the slots are empty at least */

static ngx_int_t
build_grow(ngx_pool_t *pool, build_dict_t *dict)
{
    uint64_t    *slots, *old;
    ngx_uint_t   size, i, k;

    old = dict->slots;
    size = old ? 2 * dict->size : BUILD_SLOTS;

    slots = ngx_pcalloc(pool, size * sizeof(uint64_t));
    if (slots == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; old && i < dict->size; i++) {
        if (old[i] == 0) {
            continue;
        }

        for (k = old[i] >> 32; slots[k & (size - 1)]; k++) { /* void */ }

        slots[k & (size - 1)] = old[i];
    }

    if (old) {
        (void) ngx_pfree(pool, old);
    }

    dict->slots = slots;
    dict->size = size;

    return NGX_OK;
}


/*
 * Of the dictionaries alone.  It has a seed: who does not know it cannot make
 * many words of one hash.
 */

static uint64_t
build_hash(uint64_t hash, const u_char *p, size_t len)
{
    uint64_t  word;

    const uint64_t  odd = 0x9fb21c651e98df25;

    for ( /* void */ ; len >= sizeof(word); len -= sizeof(word)) {
        ngx_memcpy(&word, p, sizeof(word));
        p += sizeof(word);

        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    }

    word = len;

    while (len--) {
        word = word << 8 | *p++;
    }

    hash = (hash ^ word) * odd;
    hash = (hash ^ hash >> 32) * odd;

    return hash;
}


/*
 * A group is written as a segment, step by step: its entries are sorted, which
 * gives their ordinals; the sizes of all postings are counted, then those of
 * all parts of the body.  When that is known of all groups the blob has its
 * size.  What stands before postings is written; then the postings, entry by
 * entry.  Each step is done in small pieces.
 */

ngx_int_t
ngx_guildlog_build_write(ngx_guildlog_build_t *build)
{
    ngx_int_t       rc, left;
    ngx_queue_t    *q;
    build_group_t  *group;

    left = BUILD_WORK;

    while (!ngx_queue_empty(&build->groups)) {
        q = ngx_queue_head(&build->groups);
        group = ngx_queue_data(q, build_group_t, queue);

        rc = build_write_group(group, &left);
        if (rc != NGX_OK) {
            return rc;
        }

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&build->measured, q);
    }

    if (build->blob.data == NULL && build_write_blob(build) != NGX_OK) {
        return NGX_ERROR;
    }

    while (!ngx_queue_empty(&build->measured)) {
        q = ngx_queue_head(&build->measured);
        group = ngx_queue_data(q, build_group_t, queue);

        rc = build_write_group(group, &left);
        if (rc != NGX_OK) {
            return rc;
        }

        ngx_guildlog_assert(ngx_guildlog_segment_check(group->segment.n,
                                &group->segment.kinds, &group->segment.dir)
                            == NGX_OK);

        ngx_queue_remove(q);
        ngx_destroy_pool(group->pool);
    }

    return NGX_OK;
}


/* NGX_OK: it is measured; or it was before, and is written */

static ngx_int_t
build_write_group(build_group_t *group, ngx_int_t *left)
{
    ngx_int_t  rc;

    if (group->step == NULL) {
        group->step = build_write_sort;
        group->nbuckets = ngx_guildlog_segment_buckets(group->entries.nelts);
        group->spare = ngx_palloc(group->pool, group->entries.nelts
                                               * group->entries.size);
        group->segment.kinds.data = ngx_pnalloc(group->pool,
                                NGX_GUILDLOG_TYPES * NGX_GUILDLOG_SEGMENT_KIND);

        if (group->spare == NULL || group->segment.kinds.data == NULL) {
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
build_write_sort(build_group_t *group)
{
    ngx_uint_t      i, n, next, shift, places[256];
    build_entry_t  *from, *to;

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
build_write_count(build_group_t *group)
{
    u_char         *p;
    uint32_t       *pair, *last;
    ngx_str_t      *kinds;
    ngx_uint_t      i, type;
    build_item_t   *item;
    build_entry_t  *entry;

    kinds = &group->segment.kinds;

    while (group->left > 0) {
        i = group->done++;

        if (i == group->entries.nelts) {
            return build_write_next(group, build_write_measure);
        }

        entry = (build_entry_t *) group->entries.elts + i;

        ngx_guildlog_assert(i == 0 || entry[-1].key <= entry->key);

        /* the entries of a type end there, as far as is known */

        type = entry->key >> 8 * NGX_GUILDLOG_SEGMENT_ID;
        p = kinds->data + kinds->len;

        if (kinds->len == 0 || p[-NGX_GUILDLOG_SEGMENT_KIND] != type) {
            *p = (u_char) type;
            kinds->len += NGX_GUILDLOG_SEGMENT_KIND;

        } else {
            p -= NGX_GUILDLOG_SEGMENT_KIND;
        }

        (void) ngx_guildlog_segment_put32(p + 1, i + 1);

        pair = entry->items;

        for (last = pair + entry->nitems; pair < last; pair++) {
            item = build_item(group, *pair);
            ngx_guildlog_assert(item->next <= i);

            item->size += ngx_guildlog_segment_size(i - item->next);
            item->next = i + 1;
        }

        group->left -= entry->nitems * BUILD_WRITE_COUNT;
    }

    return NGX_AGAIN;
}


static ngx_int_t
build_write_measure(build_group_t *group)
{
    size_t         size, named;
    build_item_t  *item;

    while (group->left > 0) {

        if (group->done == group->nitems) {
            return build_write_sizes(group);
        }

        item = build_item(group, group->done);
        group->done++;

        size = ngx_guildlog_segment_size(item->size) + item->size;
        named = ngx_guildlog_segment_size(item->len) + item->len + size;

        switch (item->kind) {

        case BUILD_STRING:
            group->nstrings++;
            group->parts[NGX_GUILDLOG_SEGMENT_STRINGS] += item->len + 1;
            group->parts[NGX_GUILDLOG_SEGMENT_POSTINGS] += size;
            break;

        case BUILD_ROLE:
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


/* those of all parts are known but for what stands before strings and roles */

static ngx_int_t
build_write_sizes(build_group_t *group)
{
    uint32_t                 pos, size;
    ngx_uint_t               i, n;
    ngx_guildlog_segment_t  *segment;

    segment = &group->segment;
    segment->day = group->day;
    segment->n = group->entries.nelts;

    n = ngx_guildlog_segment_groups(group->nstrings);

    group->parts[NGX_GUILDLOG_SEGMENT_IDS] = segment->n
                                             * NGX_GUILDLOG_SEGMENT_ID;
    group->parts[NGX_GUILDLOG_SEGMENT_STRINGS] += 4 * (2 + n + 1);
    group->parts[NGX_GUILDLOG_SEGMENT_ROLES] += 4;

    n = NGX_GUILDLOG_SEGMENT_BUCKET + group->nbuckets;
    pos = 0;

    for (i = 0; i < n; i++) {
        size = group->parts[i];
        group->parts[i] = pos;
        pos += size;
    }

    segment->dir.len = 4 * (n + 1);
    segment->body.len = pos;

    ngx_guildlog_assert(pos <= NGX_GUILDLOG_SEGMENT_BODY);

    group->step = build_write_body;

    return NGX_OK;
}


/* all groups are measured: each gets its place */

static ngx_int_t
build_write_blob(ngx_guildlog_build_t *build)
{
    u_char                  *p, *shape;
    size_t                   size;
    ngx_uint_t               n;
    ngx_queue_t             *q;
    build_group_t           *group;
    ngx_guildlog_segment_t  *segment;

    n = 0;
    size = 1;

    ngx_guildlog_queue_each(q, &build->measured) {
        group = ngx_queue_data(q, build_group_t, queue);
        segment = &group->segment;

        size += segment->kinds.len + segment->dir.len + segment->body.len;
        n++;
    }

    p = ngx_pnalloc(build->pool, size);
    shape = ngx_pnalloc(build->pool, sizeof("{}") + n * BUILD_SHAPE);
    segment = ngx_array_push_n(build->segments, n);

    if (p == NULL || shape == NULL || segment == NULL) {
        return NGX_ERROR;
    }

    build->blob.data = p;
    build->shape.data = shape;

    *shape++ = '{';

    ngx_guildlog_queue_each(q, &build->measured) {
        group = ngx_queue_data(q, build_group_t, queue);

        *segment = group->segment;
        segment->kinds.data = p;
        segment->dir.data = p + segment->kinds.len;
        segment->body.data = segment->dir.data + segment->dir.len;

        p = segment->body.data + segment->body.len;

        ngx_memcpy(segment->kinds.data, group->segment.kinds.data,
                   segment->kinds.len);

        shape = ngx_sprintf(shape, "%s%D,%ui,%uz,%uz,%uz",
                            shape[-1] == '{' ? "" : ",", segment->day,
                            segment->n, segment->kinds.len, segment->dir.len,
                            segment->body.len);

        group->segment = *segment++;
    }

    *shape++ = '}';

    build->blob.len = p - build->blob.data;
    build->shape.len = shape - build->shape.data;

    ngx_guildlog_assert(build->blob.len < size);
    ngx_guildlog_assert(build->shape.len <= sizeof("{}") + n * BUILD_SHAPE);

    return NGX_OK;
}


static ngx_int_t
build_write_body(build_group_t *group)
{
    u_char                  *p;
    uint32_t                *part;
    ngx_uint_t               i, n;
    ngx_guildlog_segment_t  *segment;

    segment = &group->segment;
    p = segment->dir.data;
    n = NGX_GUILDLOG_SEGMENT_BUCKET + group->nbuckets;

    for (i = 0; i < n; i++) {
        p = ngx_guildlog_segment_put32(p, group->parts[i]);
    }

    (void) ngx_guildlog_segment_put32(p, segment->body.len);

    /* what stands before strings and roles is written, but for the offsets */

    part = &group->parts[NGX_GUILDLOG_SEGMENT_STRINGS];
    p = ngx_guildlog_segment_put32(segment->body.data + *part,
                                   group->nstrings);
    n = ngx_guildlog_segment_groups(group->nstrings);
    (void) ngx_guildlog_segment_put32(p, n);
    *part += 4 * (2 + n + 1);

    part = &group->parts[NGX_GUILDLOG_SEGMENT_ROLES];
    (void) ngx_guildlog_segment_put32(segment->body.data + *part,
                                      group->nroles);
    *part += 4;

    group->nstrings = 0;

    return build_write_next(group, build_write_place);
}


/* all but the postings */

static ngx_int_t
build_write_place(build_group_t *group)
{
    u_char        *p, *body;
    uint32_t      *part;
    build_item_t  *item;

    body = group->segment.body.data;

    while (group->left > 0) {

        if (group->done == group->nitems) {
            build_write_offset(group);

            /* each part ends where the next one begins */

            ngx_guildlog_assert(group->parts[NGX_GUILDLOG_SEGMENT_STRINGS]
                                == ngx_guildlog_segment_get32(
                                                 group->segment.dir.data + 8));
            ngx_guildlog_assert(group->parts[NGX_GUILDLOG_SEGMENT_POSTINGS]
                                == ngx_guildlog_segment_get32(
                                                group->segment.dir.data + 12));
            ngx_guildlog_assert(group->parts[NGX_GUILDLOG_SEGMENT_ROLES]
                                == ngx_guildlog_segment_get32(
                                                group->segment.dir.data + 16));

            return build_write_next(group, build_write_entries);
        }

        item = build_item(group, group->done);
        group->done++;

        if (item->kind == BUILD_STRING) {
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
            part = (item->kind == BUILD_ROLE)
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
build_write_offset(build_group_t *group)
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
build_write_entries(build_group_t *group)
{
    u_char         *p, *body;
    uint32_t       *pair, *last;
    ngx_uint_t      i;
    build_item_t   *item;
    build_entry_t  *entry;

    body = group->segment.body.data;

    while (group->left > 0) {
        i = group->done++;

        if (i == group->entries.nelts) {
            return NGX_OK;
        }

        entry = (build_entry_t *) group->entries.elts + i;

        (void) ngx_guildlog_segment_put_id(body + i * NGX_GUILDLOG_SEGMENT_ID,
                                           entry->key);

        pair = entry->items;

        for (last = pair + entry->nitems; pair < last; pair++) {
            item = build_item(group, *pair);
            p = ngx_guildlog_segment_put(body + item->pos, i - item->next);
            item->pos = p - body;
            item->next = i + 1;
        }

        group->left -= entry->nitems * BUILD_WRITE_PAIR;
    }

    return NGX_AGAIN;
}


static ngx_int_t
build_write_next(build_group_t *group, build_step_pt step)
{
    group->step = step;
    group->done = 0;

    return NGX_AGAIN;
}
