
/*
 * A query of segments: one stage after another wants parts of their bodies,
 * which are asked for in slices, many at a time.
 */

#include "search/ngx_guildlog_find_part.h"


#define FIND_WORK          200000  /* a call of wants() */
#define FIND_STEP          300     /* the work of a segment, at least */
#define FIND_TERMS_RECORD  6       /* of one */

/* a stage begins when what was wanted before it was read */

#define FIND_WAIT  1
#define FIND_IF    2    /* if there are conditions, which save it much */


struct ngx_guildlog_find_stage_s {
    ngx_int_t                    (*want)(ngx_guildlog_find_t *find,
                                         ngx_guildlog_find_segment_t *segment);
    ngx_uint_t                     waits;
};


static ngx_int_t find_terms_of(ngx_guildlog_find_t *find);
static int ngx_libc_cdecl find_by_day(const void *one, const void *two);
static ngx_int_t find_read(ngx_guildlog_find_t *find);
static ngx_int_t find_stages(ngx_guildlog_find_t *find);
static ngx_uint_t find_waits(const ngx_guildlog_find_state_t *state);
static ngx_int_t find_ask(ngx_guildlog_find_t *find, ngx_array_t *slices);
static ngx_int_t find_terms(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_int_t find_terms_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_terms_has(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *name,
    const ngx_str_t *postings);
static ngx_int_t find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings);
static ngx_int_t find_terms_roles(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_terms_record(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_str_t *name, ngx_str_t *postings);


static const ngx_guildlog_find_stage_t  find_all_stages[] = {
    { find_terms, 0 },
    { ngx_guildlog_find_strings, FIND_IF },
    { ngx_guildlog_find_strings_postings, FIND_WAIT },
    { ngx_guildlog_find_ids, FIND_WAIT },
    { ngx_guildlog_find_ids_newest, FIND_WAIT },
    { NULL, 0 }
};


ngx_guildlog_find_t *
ngx_guildlog_find_create(ngx_pool_t *pool, const ngx_guildlog_match_t *match,
    int64_t low, int64_t high, int64_t top, ngx_uint_t limit)
{
    ngx_guildlog_find_t        *find;
    ngx_guildlog_find_state_t  *state;

    find = ngx_pcalloc(pool, sizeof(ngx_guildlog_find_t));
    state = ngx_pcalloc(pool, sizeof(ngx_guildlog_find_state_t));

    if (find == NULL || state == NULL) {
        return NULL;
    }

    find->state = state;
    find->ids = ngx_palloc(pool, (limit + 1) * sizeof(int64_t));

    state->pool = pool;
    state->match = match;
    state->low = low;
    state->high = high;
    state->top = top;
    state->limit = limit;
    state->day = -1;
    state->spare = ngx_palloc(pool, NGX_GUILDLOG_SEGMENT_ENTRIES / 8);

    if (find->ids == NULL || state->spare == NULL
        || ngx_array_init(&state->segments, pool, 16,
                          sizeof(ngx_guildlog_find_segment_t)) != NGX_OK
        || ngx_array_init(&state->parts, pool, 16,
                          sizeof(ngx_guildlog_find_part_t)) != NGX_OK
        || find_terms_of(find) != NGX_OK)
    {
        return NULL;
    }

    return find;
}


/* what the query asks for */

static ngx_int_t
find_terms_of(ngx_guildlog_find_t *find)
{
    u_char                      *p;
    int64_t                      id;
    ngx_uint_t                   i, kind;
    ngx_guildlog_find_term_t    *term;
    ngx_guildlog_find_state_t   *state;
    const ngx_guildlog_match_t  *match;

    state = find->state;
    match = state->match;

    state->asks[NGX_GUILDLOG_FIND_STRINGS] = (match->part.data != NULL);
    state->asks[NGX_GUILDLOG_FIND_CHANNEL] = (match->channel >= 0);
    state->asks[NGX_GUILDLOG_FIND_MEMBER] = (match->member >= 0);
    state->asks[NGX_GUILDLOG_FIND_ROLE] = (match->role.data != NULL);

    term = ngx_pcalloc(state->pool, (match->nwords + 3)
                                    * sizeof(ngx_guildlog_find_term_t));
    p = ngx_pnalloc(state->pool, 3 * NGX_GUILDLOG_SEGMENT_TERM);

    if (term == NULL || p == NULL) {
        return NGX_ERROR;
    }

    state->terms = term;

    for (i = 0; i < match->nwords; i++) {
        term->text = match->words[i];
        term->set = NGX_GUILDLOG_FIND_WORDS;
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
        term->set = (kind == NGX_GUILDLOG_SEGMENT_CHANNEL)
                    ? NGX_GUILDLOG_FIND_CHANNEL : NGX_GUILDLOG_FIND_MEMBER;
        term++;

        p += NGX_GUILDLOG_SEGMENT_TERM;
    }

    state->nterms = term - state->terms;

    for (i = 0; i < state->nterms; i++) {
        term = &state->terms[i];
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
    ngx_guildlog_find_kind_t     *kind;
    ngx_guildlog_find_state_t    *state;
    ngx_guildlog_find_segment_t  *segment;

    state = find->state;

    if (day < 0 || day > ngx_guildlog_segment_day(INT64_MAX)
        || ngx_guildlog_segment_check(n, kinds, dir) != NGX_OK)
    {
        find->bad = 1;
        find->bad_key = key;

        return NGX_ERROR;
    }

    if (day < ngx_guildlog_segment_day(state->low)
        || day > ngx_guildlog_segment_day(state->high - 1))
    {
        return NGX_OK;
    }

    segment = ngx_array_push(&state->segments);
    if (segment == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(segment, sizeof(ngx_guildlog_find_segment_t));

    segment->key = key;
    segment->day = day;
    segment->first = day * NGX_GUILDLOG_SEGMENT_DAY;
    segment->n = n;
    segment->nbuckets = ngx_guildlog_segment_buckets(n);
    segment->dir = ngx_pnalloc(state->pool, dir->len);
    segment->kinds = ngx_palloc(state->pool,
                                kinds->len / NGX_GUILDLOG_SEGMENT_KIND
                                * sizeof(ngx_guildlog_find_kind_t));

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
    ngx_guildlog_match_doc_t    match;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    if (id < state->low || id >= state->high) {
        return NGX_OK;
    }

    if (ngx_guildlog_match_doc_read(&match, doc) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (state->asks[NGX_GUILDLOG_FIND_STRINGS]
        || state->asks[NGX_GUILDLOG_FIND_ROLE])
    {
        if (ngx_guildlog_match_doc_buf(&state->text, state->pool, doc->len)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (ngx_guildlog_match_doc_fold(&match, state->text.data) == NULL) {
            return NGX_DECLINED;
        }
    }

    if (!ngx_guildlog_match(state->match, &match)) {
        return NGX_OK;
    }

    find->counts[match.type]++;

    if (find->slots) {
        find->slots->counts[ngx_guildlog_find_ids_slot(find, id)][match.type]++;
    }

    if (id < state->top) {
        find->rest[match.type]++;

        if (ngx_guildlog_find_ids_is_shown(find, match.type)) {
            ngx_guildlog_find_ids_push(find, id);
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_find_wants(ngx_guildlog_find_t *find, ngx_array_t *slices)
{
    ngx_int_t                   rc;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    state->left = FIND_WORK;

    slices->nelts = 0;

    if (state->stage == NULL) {
        ngx_qsort(state->segments.elts, state->segments.nelts,
                  sizeof(ngx_guildlog_find_segment_t), find_by_day);

        state->stage = find_all_stages;
    }

    rc = find_read(find);

    if (rc == NGX_OK) {
        rc = find_stages(find);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    if (state->at < state->parts.nelts) {
        return find_ask(find, slices);
    }

    return ngx_guildlog_find_ids_sort(find);
}


/* the newest day first */

static int ngx_libc_cdecl
find_by_day(const void *one, const void *two)
{
    const ngx_guildlog_find_segment_t  *first = one;
    const ngx_guildlog_find_segment_t  *second = two;

    return (first->day < second->day) - (first->day > second->day);
}


/* reads the slices that came */

static ngx_int_t
find_read(ngx_guildlog_find_t *find)
{
    ngx_int_t                   rc;
    ngx_guildlog_find_part_t   *part;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    ngx_guildlog_assert(state->at <= state->asked
                        && state->asked <= state->parts.nelts);

    while (state->at < state->asked) {

        if (state->left <= 0) {
            return NGX_BUSY;
        }

        part = (ngx_guildlog_find_part_t *) state->parts.elts + state->at;

        if (!part->here) {
            return NGX_ERROR;
        }

        rc = part->read(find, part);

        if (rc != NGX_OK) {
            return rc;
        }

        ngx_guildlog_assert(part->pos <= part->size
                            && part->size <= part->len);

        state->queued -= part->pos;

        if (part->pos == part->len) {
            state->at++;
            continue;
        }

        /* what is not whole goes on in the next slice */

        if (part->pos == 0 || part->size == part->len) {
            return ngx_guildlog_find_part_bad(find, part->segment);
        }

        part->from += part->pos;
        part->len -= part->pos;
        part->pos = 0;
        state->asked = state->at;
    }

    if (state->at == state->parts.nelts) {
        ngx_guildlog_assert(state->queued == 0);

        state->parts.nelts = 0;
        state->at = 0;
        state->asked = 0;
    }

    return NGX_OK;
}


/* until enough is wanted for one statement, or there is no other stage */

static ngx_int_t
find_stages(ngx_guildlog_find_t *find)
{
    ngx_int_t                     rc;
    ngx_guildlog_find_state_t    *state;
    ngx_guildlog_find_segment_t  *segments;

    state = find->state;
    segments = state->segments.elts;

    while (state->stage->want && state->queued < NGX_GUILDLOG_FIND_BYTES) {

        if (state->next == 0 && state->queued && find_waits(state)) {
            break;
        }

        if (state->next == state->segments.nelts) {
            state->stage++;
            state->next = 0;
            continue;
        }

        if (state->left <= 0) {
            return NGX_BUSY;
        }

        state->left -= FIND_STEP;
        rc = state->stage->want(find, &segments[state->next]);

        if (rc == NGX_OK) {
            state->next++;

        } else if (rc == NGX_DONE) {
            state->next = state->segments.nelts;

        } else {
            return rc;
        }
    }

    return NGX_OK;
}


static ngx_uint_t
find_waits(const ngx_guildlog_find_state_t *state)
{
    return state->stage->waits == FIND_WAIT
           || (state->stage->waits == FIND_IF
               && (state->asks[NGX_GUILDLOG_FIND_CHANNEL]
                   || state->asks[NGX_GUILDLOG_FIND_MEMBER]
                   || state->asks[NGX_GUILDLOG_FIND_ROLE]));
}


static ngx_int_t
find_ask(ngx_guildlog_find_t *find, ngx_array_t *slices)
{
    size_t                      size;
    ngx_guildlog_slice_t       *slice;
    ngx_guildlog_find_part_t   *parts, *part;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    parts = state->parts.elts;
    size = 0;

    for (state->asked = state->at;
         state->asked < state->parts.nelts;
         state->asked++)
    {
        part = &parts[state->asked];
        part->size = ngx_min(part->len, NGX_GUILDLOG_FIND_BYTES);

        if (size + part->size > NGX_GUILDLOG_FIND_BYTES) {
            break;
        }

        slice = ngx_array_push(slices);
        if (slice == NULL) {
            return NGX_ERROR;
        }

        slice->key = part->segment->key;
        slice->day = part->segment->day;
        slice->from = part->from;
        slice->len = part->size;

        part->here = 0;
        size += part->size;
    }

    ngx_guildlog_assert(state->asked > state->at);

    if (size > state->buf.len) {
        if (state->buf.data) {
            (void) ngx_pfree(state->pool, state->buf.data);
        }

        state->buf.len = size;
        state->buf.data = ngx_pnalloc(state->pool, size);

        if (state->buf.data == NULL) {
            return NGX_ERROR;
        }
    }

    size = 0;

    for (part = &parts[state->at]; part < &parts[state->asked]; part++) {
        part->bytes = state->buf.data + size;
        size += part->size;
    }

    return NGX_AGAIN;
}


ngx_int_t
ngx_guildlog_find_slice(ngx_guildlog_find_t *find, ngx_uint_t i,
    const ngx_str_t *bytes)
{
    ngx_guildlog_find_part_t   *part;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    if (i >= state->asked - state->at) {
        return NGX_ERROR;
    }

    part = (ngx_guildlog_find_part_t *) state->parts.elts + state->at + i;

    if (bytes->len != part->size) {
        return ngx_guildlog_find_part_bad(find, part->segment);
    }

    ngx_guildlog_assert(part->bytes + part->size
                        <= state->buf.data + state->buf.len);

    ngx_memcpy(part->bytes, bytes->data, bytes->len);
    part->here = 1;

    return NGX_OK;
}


/*
 * What the stages of find have in common.
 */

ngx_guildlog_find_part_t *
ngx_guildlog_find_part_want(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_guildlog_find_read_pt read,
    uint32_t from, uint32_t len)
{
    ngx_guildlog_find_part_t   *part;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    ngx_guildlog_assert(from + len <= ngx_guildlog_find_part_from(segment,
                            NGX_GUILDLOG_SEGMENT_BUCKET + segment->nbuckets));

    part = ngx_array_push(&state->parts);
    if (part == NULL) {
        return NULL;
    }

    ngx_memzero(part, sizeof(ngx_guildlog_find_part_t));

    part->segment = segment;
    part->read = read;
    part->from = from;
    part->len = len;

    state->queued += len;

    return part;
}


uint32_t
ngx_guildlog_find_part_from(const ngx_guildlog_find_segment_t *segment,
    ngx_uint_t part)
{
    return ngx_guildlog_segment_get32(segment->dir + 4 * part);
}


ngx_int_t
ngx_guildlog_find_part_add(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_guildlog_find_set_e set,
    const ngx_str_t *postings)
{
    uint64_t  **bits;

    bits = &segment->sets[set];

    if (*bits == NULL) {
        *bits = ngx_pcalloc(find->state->pool,
                            ngx_guildlog_segment_words(segment->n)
                            * sizeof(uint64_t));
        if (*bits == NULL) {
            return NGX_ERROR;
        }
    }

    find->state->left -= 2 * postings->len;

    if (ngx_guildlog_segment_postings(postings, segment->n, *bits)
        != NGX_OK)
    {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_find_part_fits(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint64_t                   *fits, *bits, any;
    ngx_uint_t                  i, n, set;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    fits = state->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memset(fits, 0xff, n * sizeof(uint64_t));
    ngx_guildlog_segment_clear(fits, segment->n, 64 * n);

    any = 1;

    for (set = NGX_GUILDLOG_FIND_CHANNEL; set < NGX_GUILDLOG_FIND_SETS; set++)
    {
        if (!state->asks[set]) {
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


ngx_int_t
ngx_guildlog_find_part_bad(ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment)
{
    find->bad = 1;
    find->bad_key = segment->key;

    return NGX_ERROR;
}


/*
 * The first stage: words, channel, member, role.  Terms are looked up in the
 * buckets of a segment, the role is looked for in all roles.
 */

static ngx_int_t
find_terms(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    uint32_t                    from, to;
    ngx_uint_t                  i, k, bucket, mask;
    ngx_guildlog_find_term_t   *terms;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    terms = state->terms;
    mask = segment->nbuckets - 1;

    state->left -= state->nterms * state->nterms;

    for (i = 0; i < state->nterms; i++) {
        bucket = terms[i].hash & mask;

        /* each bucket once */

        for (k = 0; (terms[k].hash & mask) != bucket; k++) { /* void */ }

        bucket += NGX_GUILDLOG_SEGMENT_BUCKET;
        from = ngx_guildlog_find_part_from(segment, bucket);
        to = ngx_guildlog_find_part_from(segment, bucket + 1);

        if (k == i && from < to
            && ngx_guildlog_find_part_want(find, segment, find_terms_read,
                                           from, to - from)
               == NULL)
        {
            return NGX_ERROR;
        }
    }

    if (!state->asks[NGX_GUILDLOG_FIND_ROLE]) {
        return NGX_OK;
    }

    /* behind their number */

    from = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_ROLES)
           + 4;
    to = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_BUCKET);

    if (from < to
        && ngx_guildlog_find_part_want(find, segment, find_terms_roles,
                                       from, to - from)
           == NULL)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
find_terms_read(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t  rc;
    ngx_str_t  name, postings;

    ngx_str_null(&name);
    ngx_str_null(&postings);

    do {
        rc = find_terms_record(find, part, &name, &postings);

        if (rc == NGX_OK) {
            rc = find_terms_has(find, part->segment, &name, &postings);
        }

    } while (rc == NGX_OK);

    return rc == NGX_DONE ? NGX_OK : rc;
}


static ngx_int_t
find_terms_has(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *name,
    const ngx_str_t *postings)
{
    ngx_int_t                  rc;
    ngx_guildlog_find_term_t  *term, *last;

    term = find->state->terms;

    for (last = term + find->state->nterms; term < last; term++) {

        if (!ngx_guildlog_str_eq(&term->text, name)) {
            continue;
        }

        rc = (term->set == NGX_GUILDLOG_FIND_WORDS)
             ? find_terms_word(find, segment, postings)
             : ngx_guildlog_find_part_add(find, segment, term->set, postings);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


/* entries have to have all words */

static ngx_int_t
find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings)
{
    uint64_t    *bits, *spare;
    ngx_uint_t   i, n;

    if (segment->nwords++ == 0) {
        return ngx_guildlog_find_part_add(find, segment,
                                          NGX_GUILDLOG_FIND_WORDS, postings);
    }

    bits = segment->sets[NGX_GUILDLOG_FIND_WORDS];
    spare = find->state->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memzero(spare, n * sizeof(uint64_t));
    find->state->left -= 2 * postings->len;

    if (ngx_guildlog_segment_postings(postings, segment->n, spare) != NGX_OK) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    for (i = 0; i < n; i++) {
        bits[i] &= spare[i];
    }

    return NGX_OK;
}


static ngx_int_t
find_terms_roles(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t         rc;
    ngx_str_t         name, postings;
    const ngx_str_t  *role;

    role = &find->state->match->role;

    do {
        rc = find_terms_record(find, part, &name, &postings);

        if (rc == NGX_OK
            && memmem(name.data, name.len, role->data, role->len))
        {
            rc = ngx_guildlog_find_part_add(find, part->segment,
                                            NGX_GUILDLOG_FIND_ROLE,
                                            &postings);
        }

    } while (rc == NGX_OK);

    return rc == NGX_DONE ? NGX_OK : rc;
}


/* a name and its postings; NGX_DONE: there is no more that is whole */

static ngx_int_t
find_terms_record(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_str_t *name, ngx_str_t *postings)
{
    ngx_int_t      rc;
    const u_char  *p, *last;

    if (find->state->left <= 0) {
        return NGX_BUSY;
    }

    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    rc = ngx_guildlog_segment_bytes(&p, last, name);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_segment_bytes(&p, last, postings);
    }

    if (rc == NGX_AGAIN) {
        return NGX_DONE;
    }

    if (rc != NGX_OK) {
        return ngx_guildlog_find_part_bad(find, part->segment);
    }

    part->pos = p - part->bytes;
    find->state->left -= FIND_TERMS_RECORD + find->state->nterms;

    return NGX_OK;
}
