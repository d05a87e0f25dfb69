
/*
 * A query of segments: one stage after another wants parts of their bodies,
 * many at a time, and reads each in one go when it comes.
 */

#include "search/ngx_guildlog_find.h"


#define FIND_BYTES         1048576    /* about as many are wanted at a time */
#define FIND_STRINGS_NEAR  4096       /* so near, two slices become one */
#define FIND_IDS_NEAR      73         /* ids; likewise */
#define FIND_IDS_MOST      4096       /* of a slice */
#define FIND_IDS_SORTED    1000       /* in a call of wants() */


/* which entries of a segment have what a query asks for */

typedef enum {
    FIND_WORDS = 0,
    FIND_STRINGS,
    FIND_CHANNEL,    /* from here on: conditions */
    FIND_MEMBER,
    FIND_ROLE,
    FIND_SETS
} find_set_e;

#define find_asks(find, set)  ((find)->asks >> (set) & 1)


struct ngx_guildlog_find_term_s {
    ngx_str_t                      text;
    uint32_t                       hash;
    find_set_e                     set;
};


/* where the entries of a type are */

typedef struct {
    uint32_t                       type;
    uint32_t                       from;
    uint32_t                       to;
} find_kind_t;


struct ngx_guildlog_find_segment_s {
    int64_t                        key;
    int64_t                        first;      /* id of the day */
    int32_t                        day;
    ngx_uint_t                     n;
    find_kind_t                   *kinds;
    find_kind_t                   *last;       /* behind them */
    u_char                        *dir;

    uint64_t                      *sets[FIND_SETS];    /* NULL: none */
    ngx_uint_t                     nwords;     /* that it has */

    ngx_uint_t                     nstrings;
    u_char                        *offsets;    /* of groups */
    uint64_t                      *hits;       /* strings; NULL: none */

    uint64_t                      *found;      /* all told; NULL: none */
    ngx_uint_t                     nshown;     /* of these: below top, shown */
    ngx_uint_t                     whole;      /* its ids were read */
};


/*
 * Each is called for each segment, from the newest day down.  NGX_DONE: it
 * needs no more segments; NGX_ERROR.
 */

struct ngx_guildlog_find_stage_s {
    ngx_int_t                    (*want)(ngx_guildlog_find_t *find,
                                         ngx_guildlog_find_segment_t *segment);
    ngx_uint_t                     waits;
};

/* it begins when what was wanted before it was read */

#define FIND_WAIT  1
#define FIND_IF    2    /* if there are conditions, which save it much */


static ngx_int_t find_query(ngx_guildlog_find_t *find);
static int ngx_libc_cdecl find_by_day(const void *one, const void *two);
static ngx_uint_t find_waits(const ngx_guildlog_find_t *find);
static ngx_int_t find_want(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment,
    ngx_int_t (*read)(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice),
    uint32_t from, uint32_t to, ngx_uint_t nth);
static uint32_t find_place(const ngx_guildlog_find_segment_t *segment,
    ngx_uint_t part);
static ngx_int_t find_bad(ngx_guildlog_find_t *find, int64_t key);
static ngx_int_t find_add(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, find_set_e set,
    const ngx_str_t *postings);
static ngx_uint_t find_fits(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_terms(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_terms_read(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_int_t find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings);
static ngx_int_t find_roles_read(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_int_t find_strings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_strings_read(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_int_t find_strings_look(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *strings);
static ngx_int_t find_strings_head(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *strings);
static ngx_uint_t find_strings_between(const u_char *p, const u_char *last);
static ngx_int_t find_postings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_postings_read(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_int_t find_ids(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_found(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_is_cut(const ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment);
static void find_count(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t below);
static ngx_int_t find_count_slots(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_guildlog_slice_t *slice,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to);
static ngx_uint_t find_slot(const ngx_guildlog_find_t *find, int64_t id);
static ngx_int_t find_ids_whole(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_uint_t find_ids_place(const ngx_guildlog_slice_t *slice,
    ngx_uint_t from, ngx_uint_t to, int64_t id);
static int64_t find_ids_at(const ngx_guildlog_slice_t *slice, ngx_uint_t i);
static ngx_int_t find_newest(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_newest_want(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t find_newest_read(ngx_guildlog_find_t *find,
    ngx_guildlog_slice_t *slice);
static ngx_int_t find_ids_take(ngx_guildlog_find_t *find,
    const ngx_guildlog_slice_t *slice, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to);
static ngx_uint_t find_is_shown(const ngx_guildlog_find_t *find,
    ngx_uint_t type);
static void find_push(ngx_guildlog_find_t *find, int64_t id);
static void find_sift(ngx_guildlog_find_t *find, ngx_uint_t i, ngx_uint_t n,
    int64_t id);
static ngx_int_t find_sort(ngx_guildlog_find_t *find);


static const ngx_guildlog_find_stage_t  find_stages[] = {
    { find_terms, 0 },
    { find_strings, FIND_IF },
    { find_postings, FIND_WAIT },
    { find_ids, FIND_WAIT },
    { find_newest, FIND_WAIT },
    { NULL, FIND_WAIT }
};


ngx_guildlog_find_t *
ngx_guildlog_find_create(ngx_pool_t *pool, const ngx_guildlog_match_t *match,
    int64_t low, int64_t high, int64_t top, ngx_uint_t limit)
{
    ngx_guildlog_find_t  *find;

    find = ngx_pcalloc(pool, sizeof(ngx_guildlog_find_t));
    if (find == NULL) {
        return NULL;
    }

    find->pool = pool;
    find->match = match;
    find->low = low;
    find->high = high;
    find->top = top;
    find->limit = limit;
    find->day = -1;
    find->ids = ngx_palloc(pool, (limit + 1) * sizeof(int64_t));
    find->spare = ngx_palloc(pool, NGX_GUILDLOG_SEGMENT_ENTRIES / 8);

    if (find->ids == NULL || find->spare == NULL
        || ngx_array_init(&find->segments, pool, 16,
                          sizeof(ngx_guildlog_find_segment_t)) != NGX_OK
        || ngx_array_init(&find->slices, pool, 16,
                          sizeof(ngx_guildlog_slice_t)) != NGX_OK
        || find_query(find) != NGX_OK)
    {
        return NULL;
    }

    return find;
}


/* what is asked for */

static ngx_int_t
find_query(ngx_guildlog_find_t *find)
{
    u_char                      *p;
    int64_t                      id;
    ngx_uint_t                   i, kind;
    ngx_guildlog_find_term_t    *term;
    const ngx_guildlog_match_t  *match;

    match = find->match;

    find->asks = (ngx_uint_t) (match->part.data != NULL) << FIND_STRINGS
                 | (ngx_uint_t) (match->channel >= 0) << FIND_CHANNEL
                 | (ngx_uint_t) (match->member >= 0) << FIND_MEMBER
                 | (ngx_uint_t) (match->role.data != NULL) << FIND_ROLE;

    term = ngx_pcalloc(find->pool, (match->nwords + 3)
                                   * sizeof(ngx_guildlog_find_term_t));
    p = ngx_pnalloc(find->pool, 3 * NGX_GUILDLOG_SEGMENT_TERM);

    if (term == NULL || p == NULL) {
        return NGX_ERROR;
    }

    find->terms = term;

    for (i = 0; i < match->nwords; i++) {
        term->text = match->words[i];
        term->set = FIND_WORDS;
        term++;
    }

    for (kind = NGX_GUILDLOG_SEGMENT_CHANNEL;
         kind <= NGX_GUILDLOG_SEGMENT_TARGET;
         kind++)
    {
        id = (kind == NGX_GUILDLOG_SEGMENT_CHANNEL) ? match->channel
                                                    : match->member;

        if (id < 0
            || (kind == NGX_GUILDLOG_SEGMENT_EXECUTOR
                && match->side == NGX_GUILDLOG_MATCH_TARGET)
            || (kind == NGX_GUILDLOG_SEGMENT_TARGET
                && match->side == NGX_GUILDLOG_MATCH_EXECUTOR))
        {
            continue;
        }

        ngx_guildlog_segment_term(p, kind, id);

        term->text.data = p;
        term->text.len = NGX_GUILDLOG_SEGMENT_TERM;
        term->set = (kind == NGX_GUILDLOG_SEGMENT_CHANNEL) ? FIND_CHANNEL
                                                           : FIND_MEMBER;
        term++;

        p += NGX_GUILDLOG_SEGMENT_TERM;
    }

    find->nterms = term - find->terms;

    while (term-- > find->terms) {
        term->hash = ngx_guildlog_segment_hash(term->text.data,
                                               term->text.len);
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_find_segment(ngx_guildlog_find_t *find, int64_t key, int32_t day,
    ngx_uint_t n, const ngx_str_t *kinds, const ngx_str_t *dir)
{
    u_char                       *p, *last;
    uint32_t                      from;
    find_kind_t                  *kind;
    ngx_guildlog_find_segment_t  *segment;

    if (day < 0 || day > ngx_guildlog_segment_day(INT64_MAX)
        || ngx_guildlog_segment_check(n, kinds, dir) != NGX_OK)
    {
        return find_bad(find, key);
    }

    if (day < ngx_guildlog_segment_day(find->low)
        || day > ngx_guildlog_segment_day(find->high - 1))
    {
        return NGX_OK;
    }

    segment = ngx_array_push(&find->segments);
    if (segment == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(segment, sizeof(ngx_guildlog_find_segment_t));

    segment->key = key;
    segment->day = day;
    segment->first = day * NGX_GUILDLOG_SEGMENT_DAY;
    segment->n = n;
    segment->dir = ngx_pnalloc(find->pool, dir->len);
    segment->kinds = ngx_palloc(find->pool,
                                kinds->len / NGX_GUILDLOG_SEGMENT_KIND
                                * sizeof(find_kind_t));

    if (segment->dir == NULL || segment->kinds == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->dir, dir->data, dir->len);

    kind = segment->kinds;
    from = 0;
    last = kinds->data + kinds->len;

    for (p = kinds->data; p < last; p += NGX_GUILDLOG_SEGMENT_KIND) {
        kind->type = *p;
        kind->from = from;
        kind->to = ngx_guildlog_segment_get32(p + 1);

        from = kind->to;
        kind++;
    }

    segment->last = kind;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_find_doc(ngx_guildlog_find_t *find, int64_t id,
    const ngx_str_t *doc)
{
    ngx_guildlog_match_doc_t  match;

    if (id < find->low || id >= find->high) {
        return NGX_OK;
    }

    if (ngx_guildlog_match_doc_read(&match, doc) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (find_asks(find, FIND_STRINGS) || find_asks(find, FIND_ROLE)) {

        if (ngx_guildlog_match_doc_buf(&find->text, find->pool, doc->len)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (ngx_guildlog_match_doc_fold(&match, find->text.data) == NULL) {
            return NGX_DECLINED;
        }
    }

    if (!ngx_guildlog_match(find->match, &match)) {
        return NGX_OK;
    }

    find->counts[match.type]++;

    if (find->slots) {
        find->slots->counts[find_slot(find, id)][match.type]++;
    }

    if (id < find->top) {
        find->rest[match.type]++;

        if (find_is_shown(find, match.type)) {
            find_push(find, id);
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_find_wants(ngx_guildlog_find_t *find)
{
    ngx_int_t                     rc;
    ngx_guildlog_find_segment_t  *segments;

    segments = find->segments.elts;

    if (find->stage == NULL) {
        ngx_qsort(segments, find->segments.nelts,
                  sizeof(ngx_guildlog_find_segment_t), find_by_day);

        find->stage = find_stages;
    }

    if (find->nwanted == 0) {
        find->slices.nelts = 0;
        find->queued = 0;
    }

    ngx_guildlog_assert(find->nwanted == find->slices.nelts);

    for ( ;; ) {

        if (find->queued >= FIND_BYTES
            || (find->next == 0 && find->queued && find_waits(find)))
        {
            return NGX_AGAIN;
        }

        if (find->stage->want == NULL) {
            return find_sort(find);
        }

        if (find->next == find->segments.nelts) {
            find->stage++;
            find->next = 0;
            continue;
        }

        rc = find->stage->want(find, &segments[find->next]);

        find->next = (rc == NGX_DONE) ? find->segments.nelts : find->next + 1;

        if (rc != NGX_DONE) {
            return rc == NGX_OK ? NGX_BUSY : rc;
        }
    }
}


/* the newest day first */

static int ngx_libc_cdecl
find_by_day(const void *one, const void *two)
{
    const ngx_guildlog_find_segment_t  *first = one;
    const ngx_guildlog_find_segment_t  *second = two;

    return (first->day < second->day) - (first->day > second->day);
}


static ngx_uint_t
find_waits(const ngx_guildlog_find_t *find)
{
    return find->stage->waits == FIND_WAIT
           || (find->stage->waits == FIND_IF && find->asks >> FIND_CHANNEL);
}


ngx_int_t
ngx_guildlog_find_slice(ngx_guildlog_find_t *find, ngx_uint_t i,
    const ngx_str_t *bytes)
{
    ngx_int_t              rc;
    ngx_guildlog_slice_t  *slice;

    ngx_guildlog_assert(i < find->slices.nelts);

    slice = (ngx_guildlog_slice_t *) find->slices.elts + i;

    if (slice->read == NULL) {
        return NGX_ERROR;
    }

    if (bytes->len != slice->len) {
        return find_bad(find, slice->key);
    }

    slice->bytes = bytes->data;

    rc = slice->read(find, slice);

    slice->read = NULL;
    find->nwanted--;

    return rc;
}


/*
 * What the stages have in common.
 */

/* bytes of a body, if there are any */

static ngx_int_t
find_want(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_int_t (*read)(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice),
    uint32_t from, uint32_t to, ngx_uint_t nth)
{
    ngx_guildlog_slice_t  *slice;

    if (from == to) {
        return NGX_OK;
    }

    ngx_guildlog_assert(from < to
                        && to <= find_place(segment,
                                  NGX_GUILDLOG_SEGMENT_BUCKET
                                  + ngx_guildlog_segment_buckets(segment->n)));

    slice = ngx_array_push(&find->slices);
    if (slice == NULL) {
        return NGX_ERROR;
    }

    slice->key = segment->key;
    slice->day = segment->day;
    slice->from = from;
    slice->len = to - from;
    slice->segment = segment;
    slice->nth = nth;
    slice->read = read;

    find->nwanted++;
    find->queued += slice->len;

    return NGX_OK;
}


/* where a part of the body begins */

static uint32_t
find_place(const ngx_guildlog_find_segment_t *segment, ngx_uint_t part)
{
    return ngx_guildlog_segment_get32(segment->dir + 4 * part);
}


static ngx_int_t
find_bad(ngx_guildlog_find_t *find, int64_t key)
{
    find->bad = 1;
    find->bad_key = key;

    return NGX_ERROR;
}


/* adds postings to a set */

static ngx_int_t
find_add(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    find_set_e set, const ngx_str_t *postings)
{
    uint64_t  **bits;

    bits = &segment->sets[set];

    if (*bits == NULL) {
        *bits = ngx_pcalloc(find->pool, ngx_guildlog_segment_words(segment->n)
                                        * sizeof(uint64_t));
        if (*bits == NULL) {
            return NGX_ERROR;
        }
    }

    return ngx_guildlog_segment_postings(postings, segment->n, *bits) == NGX_OK
           ? NGX_OK : find_bad(find, segment->key);
}


/* which entries meet all conditions, in spare; 0: none */

static ngx_uint_t
find_fits(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    uint64_t    *fits, *bits, any;
    ngx_uint_t   i, n, set;

    fits = find->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memset(fits, 0xff, n * sizeof(uint64_t));
    ngx_guildlog_segment_clear(fits, segment->n, 64 * n);

    any = 1;

    for (set = FIND_CHANNEL; set < FIND_SETS; set++) {

        if (!find_asks(find, set)) {
            continue;
        }

        bits = segment->sets[set];

        if (bits == NULL) {
            return 0;
        }

        for (any = 0, i = 0; i < n; i++) {
            fits[i] &= bits[i];
            any |= fits[i];
        }
    }

    return any != 0;
}


/*
 * Words, channel, member, role.  Terms are looked up in the buckets of a
 * segment, the role is looked for in all roles.
 */

static ngx_int_t
find_terms(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    ngx_uint_t                 i, k, bucket, mask;
    ngx_guildlog_find_term_t  *terms;

    terms = find->terms;
    mask = ngx_guildlog_segment_buckets(segment->n) - 1;

    for (i = 0; i < find->nterms; i++) {
        bucket = terms[i].hash & mask;

        /* each bucket once */

        for (k = 0; (terms[k].hash & mask) != bucket; k++) { /* void */ }

        bucket += NGX_GUILDLOG_SEGMENT_BUCKET;

        if (k == i
            && find_want(find, segment, find_terms_read,
                         find_place(segment, bucket),
                         find_place(segment, bucket + 1), 0)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (!find_asks(find, FIND_ROLE)) {
        return NGX_OK;
    }

    /* behind their number */

    return find_want(find, segment, find_roles_read,
                     find_place(segment, NGX_GUILDLOG_SEGMENT_ROLES) + 4,
                     find_place(segment, NGX_GUILDLOG_SEGMENT_BUCKET), 0);
}


static ngx_int_t
find_terms_read(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_int_t                     rc;
    ngx_str_t                     name, postings;
    const u_char                 *p, *last;
    ngx_guildlog_find_term_t     *term, *end;
    ngx_guildlog_find_segment_t  *segment;

    segment = slice->segment;
    end = find->terms + find->nterms;
    last = slice->bytes + slice->len;

    for (p = slice->bytes; p < last; /* void */ ) {

        if (ngx_guildlog_segment_bytes(&p, last, &name) != NGX_OK
            || ngx_guildlog_segment_bytes(&p, last, &postings) != NGX_OK)
        {
            return find_bad(find, slice->key);
        }

        for (term = find->terms; term < end; term++) {

            if (!ngx_guildlog_str_eq(&term->text, &name)) {
                continue;
            }

            rc = (term->set == FIND_WORDS && segment->nwords++)
                 ? find_terms_word(find, segment, &postings)
                 : find_add(find, segment, term->set, &postings);

            if (rc != NGX_OK) {
                return rc;
            }
        }
    }

    return NGX_OK;
}


/* one more: entries have to have all words */

static ngx_int_t
find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings)
{
    uint64_t    *bits, *spare;
    ngx_uint_t   i, n;

    bits = segment->sets[FIND_WORDS];
    spare = find->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memzero(spare, n * sizeof(uint64_t));

    if (ngx_guildlog_segment_postings(postings, segment->n, spare) != NGX_OK) {
        return find_bad(find, segment->key);
    }

    for (i = 0; i < n; i++) {
        bits[i] &= spare[i];
    }

    return NGX_OK;
}


static ngx_int_t
find_roles_read(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_str_t         name, postings;
    const u_char     *p, *last;
    const ngx_str_t  *role;

    role = &find->match->role;
    last = slice->bytes + slice->len;

    for (p = slice->bytes; p < last; /* void */ ) {

        if (ngx_guildlog_segment_bytes(&p, last, &name) != NGX_OK
            || ngx_guildlog_segment_bytes(&p, last, &postings) != NGX_OK)
        {
            return find_bad(find, slice->key);
        }

        if (memmem(name.data, name.len, role->data, role->len)
            && find_add(find, slice->segment, FIND_ROLE, &postings) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/*
 * The search as a part of a string: it is looked for in all strings of a
 * segment at once; then the postings are read of those that have it.
 */

static ngx_int_t
find_strings(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    uint32_t   from, to;
    ngx_str_t  kept;

    if (!find_asks(find, FIND_STRINGS)) {
        return NGX_DONE;
    }

    if (!find_fits(find, segment)) {
        return NGX_OK;
    }

    from = find_place(segment, NGX_GUILDLOG_SEGMENT_STRINGS);
    to = find_place(segment, NGX_GUILDLOG_SEGMENT_POSTINGS);

    if (find->strings_get
        && find->strings_get(find->strings_data, segment->key, &kept) == NGX_OK
        && kept.len == to - from)
    {
        return find_strings_look(find, segment, &kept);
    }

    return find_want(find, segment, find_strings_read, from, to, 0);
}


static ngx_int_t
find_strings_read(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_str_t  strings;

    strings.data = (u_char *) slice->bytes;
    strings.len = slice->len;

    if (find_strings_look(find, slice->segment, &strings) != NGX_OK) {
        return NGX_ERROR;
    }

    if (find->strings_put) {
        find->strings_put(find->strings_data, slice->key, slice->day,
                          &strings);
    }

    return NGX_OK;
}


static ngx_int_t
find_strings_look(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *strings)
{
    u_char           *p, *last, *hit;
    ngx_uint_t        n;
    const ngx_str_t  *text;

    if (find_strings_head(find, segment, strings) != NGX_OK) {
        return NGX_ERROR;
    }

    text = &find->match->part;
    last = strings->data + strings->len;
    p = strings->data
        + 4 * (3 + ngx_guildlog_segment_groups(segment->nstrings));

    if (p < last && last[-1] != '\0') {
        return find_bad(find, segment->key);
    }

    for (n = 0; p < last; n++) {
        hit = memmem(p, last - p, text->data, text->len);

        if (hit == NULL) {
            break;
        }

        n += find_strings_between(p, hit);

        if (n >= segment->nstrings) {
            return find_bad(find, segment->key);
        }

        if (segment->hits == NULL) {
            segment->hits = ngx_pcalloc(find->pool,
                                 ngx_guildlog_segment_words(segment->nstrings)
                                 * sizeof(uint64_t));
            if (segment->hits == NULL) {
                return NGX_ERROR;
            }
        }

        ngx_guildlog_segment_set(segment->hits, n);

        p = (u_char *) memchr(hit, '\0', last - hit) + 1;
    }

    return NGX_OK;
}


/* how many they are, and where the postings of each group begin */

static ngx_int_t
find_strings_head(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *strings)
{
    u_char      *p;
    size_t       size;
    uint32_t     offset, next;
    ngx_uint_t   i, n;

    ngx_guildlog_assert(strings->len >= 12);

    p = strings->data;

    segment->nstrings = ngx_guildlog_segment_get32(p);

    n = ngx_guildlog_segment_groups(segment->nstrings);
    size = 4 * (n + 1);

    if (ngx_guildlog_segment_get32(p + 4) != n || strings->len - 8 < size) {
        return find_bad(find, segment->key);
    }

    offset = 0;

    for (i = 0; i <= n; i++) {
        next = ngx_guildlog_segment_get32(p + 8 + 4 * i);

        if (next < offset || (i == 0 && next)) {
            return find_bad(find, segment->key);
        }

        offset = next;
    }

    if (offset != find_place(segment, NGX_GUILDLOG_SEGMENT_ROLES)
                  - find_place(segment, NGX_GUILDLOG_SEGMENT_POSTINGS))
    {
        return find_bad(find, segment->key);
    }

    segment->offsets = ngx_pnalloc(find->pool, size);
    if (segment->offsets == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->offsets, p + 8, size);

    return NGX_OK;
}


/* how many strings end there: NULs, eight bytes at a time */

static ngx_uint_t
find_strings_between(const u_char *p, const u_char *last)
{
    uint64_t    word, sum;
    ngx_uint_t  i, n;

    const uint64_t  ones = 0x0101010101010101;

    n = 0;

    /* where many are hit, they are one behind the other */

    if (memchr(p, '\0', last - p) == NULL) {
        return 0;
    }

    while (last - p >= (ssize_t) sizeof(word)) {
        sum = 0;

        /* the bytes of the sum, and what they come to, are below 256 */

        for (i = 0; i < 31 && last - p >= (ssize_t) sizeof(word); i++) {
            ngx_memcpy(&word, p, sizeof(word));
            p += sizeof(word);

            /* the high bit of each byte that is not 0 */

            word |= (word & (0x7f * ones)) + 0x7f * ones;
            sum += (~word >> 7) & ones;
        }

        n += sum * ones >> 56;
    }

    while (p < last) {
        n += (*p++ == '\0');
    }

    return n;
}


static ngx_int_t
find_postings(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    u_char      *p;
    uint32_t     start, next, from, to;
    uint64_t    *hits;
    ngx_uint_t   i, n, nth, words;

    if (!find_asks(find, FIND_STRINGS)) {
        return NGX_DONE;
    }

    hits = segment->hits;

    if (hits == NULL) {
        return NGX_OK;
    }

    start = find_place(segment, NGX_GUILDLOG_SEGMENT_POSTINGS);
    n = ngx_guildlog_segment_groups(segment->nstrings);
    words = ngx_guildlog_segment_words(segment->nstrings);

    from = 0;
    to = 0;
    nth = 0;

    for (i = 0; i < n; i++) {
        if (hits[2 * i] == 0 && (2 * i + 1 == words || hits[2 * i + 1] == 0)) {
            continue;
        }

        p = segment->offsets + 4 * i;
        next = start + ngx_guildlog_segment_get32(p);

        if (to == 0 || next - to >= FIND_STRINGS_NEAR) {

            if (find_want(find, segment, find_postings_read, from, to, nth)
                != NGX_OK)
            {
                return NGX_ERROR;
            }

            from = next;
            nth = i * NGX_GUILDLOG_SEGMENT_GROUP;
        }

        to = start + ngx_guildlog_segment_get32(p + 4);

        if (next == to) {
            return find_bad(find, segment->key);
        }
    }

    return find_want(find, segment, find_postings_read, from, to, nth);
}


static ngx_int_t
find_postings_read(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_str_t                     postings;
    ngx_uint_t                    i;
    const u_char                 *p, *last;
    ngx_guildlog_find_segment_t  *segment;

    segment = slice->segment;
    p = slice->bytes;
    last = p + slice->len;

    for (i = slice->nth; p < last; i++) {

        if (i >= segment->nstrings
            || ngx_guildlog_segment_bytes(&p, last, &postings) != NGX_OK)
        {
            return find_bad(find, slice->key);
        }

        if (ngx_guildlog_segment_has(segment->hits, i)
            && find_add(find, segment, FIND_STRINGS, &postings) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/*
 * Counts and ids of what was found.  Ids are read of whole segments only where
 * an end of the window or the cursor lies inside of their day; else of the
 * newest entries.
 */

static ngx_int_t
find_ids(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    size_t        size;
    find_kind_t  *kind;

    if (!find_found(find, segment)) {
        return NGX_OK;
    }

    size = ngx_guildlog_segment_words(segment->n) * sizeof(uint64_t);

    segment->found = ngx_palloc(find->pool, size);
    if (segment->found == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->found, find->spare, size);

    if (find_is_cut(find, segment)) {
        segment->whole = 1;

        return find_want(find, segment, find_ids_whole, 0,
                         segment->n * NGX_GUILDLOG_SEGMENT_ID, 0);
    }

    for (kind = segment->kinds; kind < segment->last; kind++) {
        find_count(find, segment, kind->type, kind->from, kind->to,
                   segment->first < find->top ? kind->to : kind->from);

        if (find->slots) {
            (void) find_count_slots(find, segment, NULL, kind->type,
                                    kind->from, kind->to);
        }
    }

    return NGX_OK;
}


/* all conditions told, in spare; 0: nothing was found */

static ngx_uint_t
find_found(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    u_char       *types;
    uint64_t     *words, *strings, *found, any;
    ngx_uint_t    i, n, search;
    find_kind_t  *kind;

    types = find->match->types;
    found = find->spare;
    search = find_asks(find, FIND_STRINGS);
    n = ngx_guildlog_segment_words(segment->n);

    strings = segment->sets[FIND_STRINGS];
    words = (segment->nwords == find->match->nwords)
            ? segment->sets[FIND_WORDS] : NULL;

    if ((search && words == NULL && strings == NULL)
        || !find_fits(find, segment))
    {
        return 0;
    }

    for (i = 0; search && i < n; i++) {
        found[i] &= (words ? words[i] : 0) | (strings ? strings[i] : 0);
    }

    for (kind = segment->kinds; types && kind < segment->last; kind++) {
        if (types[kind->type] != '1') {
            ngx_guildlog_segment_clear(found, kind->from, kind->to);
        }
    }

    for (any = 0, i = 0; i < n; i++) {
        any |= found[i];
    }

    return any != 0;
}


/* 1: of the day, not every entry counts alike */

static ngx_uint_t
find_is_cut(const ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment)
{
    int32_t  day;

    day = segment->day;

    if (find->slots
        && find_slot(find, segment->first)
           != find_slot(find, segment->first + NGX_GUILDLOG_SEGMENT_DAY - 1))
    {
        return 1;
    }

    return (day == ngx_guildlog_segment_day(find->low)
            && segment->first < find->low)
           || day == ngx_guildlog_segment_day(find->high)
           || (day == ngx_guildlog_segment_day(find->top)
               && segment->first < find->top);
}


/* those of a type; below: where those end that are below top */

static void
find_count(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to, ngx_uint_t below)
{
    ngx_uint_t  n;

    ngx_guildlog_assert(from <= below && below <= to && to <= segment->n);

    n = ngx_guildlog_segment_count(segment->found, from, below);

    find->rest[type] += n;

    if (find_is_shown(find, type)) {
        segment->nshown += n;
    }

    find->counts[type] += n + ngx_guildlog_segment_count(segment->found,
                                                         below, to);
}


/* those of a type, in the order of their ids; slice NULL: all in one slot */

static ngx_int_t
find_count_slots(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_guildlog_slice_t *slice,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to)
{
    ngx_uint_t                  slot, end;
    ngx_guildlog_find_slots_t  *slots;

    slots = find->slots;

    while (from < to) {
        slot = find_slot(find, slice ? find_ids_at(slice, from)
                                     : segment->first);
        end = slice ? find_ids_place(slice, from, to,
                                     slots->first + (slot + 1) * slots->step)
                    : to;

        if (end == from) {
            return find_bad(find, slice->key);
        }

        slots->counts[slot][type] += ngx_guildlog_segment_count(segment->found,
                                                                from, end);
        from = end;
    }

    return NGX_OK;
}


/* the one that an id of the window is in */

static ngx_uint_t
find_slot(const ngx_guildlog_find_t *find, int64_t id)
{
    int64_t  n;

    n = (id - find->slots->first) / find->slots->step;

    return ngx_max(0, ngx_min(n, (int64_t) find->slots->n - 1));
}


static ngx_int_t
find_ids_whole(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_uint_t                    low, high, top;
    find_kind_t                  *kind;
    ngx_guildlog_find_segment_t  *segment;

    segment = slice->segment;

    for (kind = segment->kinds; kind < segment->last; kind++) {
        low = find_ids_place(slice, kind->from, kind->to, find->low);
        high = find_ids_place(slice, low, kind->to, find->high);
        top = find_ids_place(slice, low, high, find->top);

        find_count(find, segment, kind->type, low, high, top);

        if (find->slots
            && find_count_slots(find, segment, slice, kind->type, low, high)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (find_ids_take(find, slice, kind->type, low, top) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* the first of these entries with that id or one above it */

static ngx_uint_t
find_ids_place(const ngx_guildlog_slice_t *slice, ngx_uint_t from,
    ngx_uint_t to, int64_t id)
{
    ngx_uint_t  i;

    while (from < to) {
        i = (from + to) / 2;

        if (find_ids_at(slice, i) < id) {
            from = i + 1;

        } else {
            to = i;
        }
    }

    return from;
}


static int64_t
find_ids_at(const ngx_guildlog_slice_t *slice, ngx_uint_t i)
{
    uint64_t  above;

    ngx_guildlog_assert(i >= slice->nth && (i - slice->nth + 1)
                                   * NGX_GUILDLOG_SEGMENT_ID <= slice->len);

    above = ngx_guildlog_segment_get_id(
                   slice->bytes + (i - slice->nth) * NGX_GUILDLOG_SEGMENT_ID);

    return (int64_t) (slice->segment->first + above);
}


static ngx_int_t
find_newest(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    ngx_int_t     last;
    ngx_uint_t    n, to, low, high;
    find_kind_t  *kind;

    /* the newest are of days above, whatever this one has */

    if (segment->day != find->day) {
        if (find->nshown >= find->limit
            || (find->nids == find->limit
                && find->ids[0] - segment->first >= NGX_GUILDLOG_SEGMENT_DAY))
        {
            return NGX_DONE;
        }

        ngx_guildlog_assert(find->day == -1 || find->day > segment->day);

        find->day = segment->day;
    }

    find->nshown += segment->nshown;

    if (segment->nshown == 0 || segment->whole) {
        return NGX_OK;
    }

    /* of each type its last ones; from the last type on */

    low = 0;
    high = 0;

    for (kind = segment->last; kind-- > segment->kinds; /* void */ ) {

        if (!find_is_shown(find, kind->type)) {
            continue;
        }

        to = kind->to;

        for (n = 0; n < find->limit; n++) {
            last = ngx_guildlog_segment_last(segment->found, kind->from, to);

            if (last == NGX_DONE) {
                break;
            }

            to = last;

            if (high == 0 || low - to > FIND_IDS_NEAR
                || high - to > FIND_IDS_MOST)
            {
                if (find_newest_want(find, segment, low, high) != NGX_OK) {
                    return NGX_ERROR;
                }

                high = to + 1;
            }

            low = to;
        }
    }

    return find_newest_want(find, segment, low, high);
}


static ngx_int_t
find_newest_want(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to)
{
    return find_want(find, segment, find_newest_read,
                     from * NGX_GUILDLOG_SEGMENT_ID,
                     to * NGX_GUILDLOG_SEGMENT_ID, from);
}


static ngx_int_t
find_newest_read(ngx_guildlog_find_t *find, ngx_guildlog_slice_t *slice)
{
    ngx_uint_t                    from, to, end;
    find_kind_t                  *kind;
    ngx_guildlog_find_segment_t  *segment;

    segment = slice->segment;
    end = slice->nth + slice->len / NGX_GUILDLOG_SEGMENT_ID;

    for (kind = segment->kinds; kind < segment->last; kind++) {
        from = ngx_max(kind->from, slice->nth);
        to = ngx_min(kind->to, end);

        if (find_ids_take(find, slice, kind->type, from, to) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* pushes what was found of these entries of a type, the newest first */

static ngx_int_t
find_ids_take(ngx_guildlog_find_t *find, const ngx_guildlog_slice_t *slice,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to)
{
    int64_t    id;
    ngx_int_t  last;

    if (!find_is_shown(find, type)) {
        return NGX_OK;
    }

    for ( ;; ) {
        last = ngx_guildlog_segment_last(slice->segment->found, from, to);

        if (last == NGX_DONE) {
            return NGX_OK;
        }

        to = last;
        id = find_ids_at(slice, to);

        if (ngx_guildlog_segment_day(id) != slice->day) {
            return find_bad(find, slice->key);
        }

        if (find->nids == find->limit
            && (find->nids == 0 || id <= find->ids[0]))
        {
            return NGX_OK;
        }

        find_push(find, id);
    }
}


static ngx_uint_t
find_is_shown(const ngx_guildlog_find_t *find, ngx_uint_t type)
{
    return find->shown == NULL || find->shown[type] == '1';
}


/* one more id that matches: they are a heap, the least is at its top */

static void
find_push(ngx_guildlog_find_t *find, int64_t id)
{
    int64_t     *ids;
    ngx_uint_t   i, above;

    ids = find->ids;

    if (find->nids == find->limit) {
        if (find->nids && id > ids[0]) {
            find_sift(find, 0, find->nids, id);
        }

        return;
    }

    for (i = find->nids++; i; i = above) {
        above = (i - 1) / 2;

        if (ids[above] <= id) {
            break;
        }

        ids[i] = ids[above];
    }

    ids[i] = id;
}


/* puts an id in the i-th place of n, above which all is in order */

static void
find_sift(ngx_guildlog_find_t *find, ngx_uint_t i, ngx_uint_t n, int64_t id)
{
    int64_t     *ids;
    ngx_uint_t   next;

    ids = find->ids;

    for ( /* void */ ; (next = 2 * i + 1) < n; i = next) {

        if (next + 1 < n && ids[next + 1] < ids[next]) {
            next++;
        }

        if (ids[next] >= id) {
            break;
        }

        ids[i] = ids[next];
    }

    ids[i] = id;
}


/* the least goes to the end of them, and so on */

static ngx_int_t
find_sort(ngx_guildlog_find_t *find)
{
    int64_t     id, *ids;
    ngx_uint_t  i, n;

    ids = find->ids;

    for (i = 0; find->sorted < find->nids; i++) {

        if (i == FIND_IDS_SORTED) {
            return NGX_BUSY;
        }

        n = find->nids - ++find->sorted;

        id = ids[n];
        ids[n] = ids[0];

        ngx_guildlog_assert(n + 1 == find->nids || ids[n] >= ids[n + 1]);

        if (n) {
            find_sift(find, 0, n, id);
        }
    }

    return NGX_OK;
}
