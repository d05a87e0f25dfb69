
/*
 * The search as a part of a string: it is looked for in all strings of a
 * segment at once; then the postings are read of those that have it.
 */

#include "search/ngx_guildlog_find_part.h"


#define FIND_STRINGS_NEAR  4096    /* so near, two slices become one */
#define FIND_STRINGS_HIT   24      /* the work of one */
#define FIND_STRINGS_NEXT  3       /* of one that is passed over */

#define FIND_IDS_NEAR      73      /* ids: so near, two slices become one */
#define FIND_IDS_WORK      60      /* of one id */


static ngx_int_t find_strings_came(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_head(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_hit(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_strings_between(const u_char *p, const u_char *last);
static ngx_int_t find_strings_entries(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_uint_t find_ids_found(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_ids_cut(const ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment);
static void find_ids_count(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t below);
static void find_ids_slots(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_guildlog_find_part_t *part,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t find_ids_whole(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_uint_t find_ids_place(const ngx_guildlog_find_part_t *part,
    ngx_uint_t from, ngx_uint_t to, int64_t id);
static int64_t find_ids_at(const ngx_guildlog_find_part_t *part, ngx_uint_t i);
static ngx_int_t find_ids_slice(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t find_ids_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_ids_take(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to);
static void find_ids_sift(int64_t *ids, ngx_uint_t n, int64_t id);


ngx_int_t
ngx_guildlog_find_strings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint32_t                   from, len;
    ngx_int_t                  rc;
    ngx_str_t                  kept;
    ngx_guildlog_find_part_t   part;

    if (!find->state->asks[NGX_GUILDLOG_FIND_STRINGS]
        || !ngx_guildlog_find_part_fits(find, segment))
    {
        return NGX_OK;
    }

    from = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_STRINGS);
    len = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_POSTINGS)
          - from;

    if (find->strings_get == NULL
        || find->strings_get(find->strings_data, segment->key, &kept)
           != NGX_OK
        || kept.len != len)
    {
        /* what was read before, while it was kept, is not read again */

        return ngx_guildlog_find_part_want(find, segment, find_strings_came,
                                           from + segment->pos,
                                           len - segment->pos)
               ? NGX_OK : NGX_ERROR;
    }

    ngx_memzero(&part, sizeof(ngx_guildlog_find_part_t));

    part.segment = segment;
    part.bytes = kept.data;
    part.size = len;
    part.pos = segment->pos;

    rc = find_strings_read(find, &part);
    segment->pos = part.pos;

    if (rc == NGX_OK && part.pos != len) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    return rc;
}


static ngx_int_t
find_strings_came(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t                     rc;
    ngx_str_t                     whole;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;

    rc = find_strings_read(find, part);

    if (rc == NGX_OK && find->strings_put && part->pos == part->len
        && part->from == ngx_guildlog_find_part_from(segment,
                                            NGX_GUILDLOG_SEGMENT_STRINGS))
    {
        whole.data = part->bytes;
        whole.len = part->len;

        find->strings_put(find->strings_data, segment->key, segment->day,
                          &whole);
    }

    return rc;
}


static ngx_int_t
find_strings_read(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    u_char                       *p, *last, *end, *hit;
    const ngx_str_t              *text;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    text = &find->state->match->part;

    if (segment->offsets == NULL && find_strings_head(find, part) != NGX_OK) {
        return NGX_ERROR;
    }

    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    end = memrchr(p, '\0', last - p);
    last = end ? end + 1 : p;

    while (p < last) {

        if (find->state->left <= 0) {
            return NGX_BUSY;
        }

        hit = memmem(p, last - p, text->data, text->len);
        end = hit ? hit : last;

        find->state->left -= (end - p) / 4 + FIND_STRINGS_HIT;

        if (hit || part->size < part->len) {
            segment->nread += find_strings_between(p, end);
        }

        p = last;

        if (hit) {
            if (find_strings_hit(find, segment) != NGX_OK) {
                return NGX_ERROR;
            }

            p = (u_char *) memchr(hit, '\0', last - hit) + 1;
        }

        part->pos = p - part->bytes;
    }

    return NGX_OK;
}


/* how many they are, and where the postings of each group begin */

static ngx_int_t
find_strings_head(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    u_char                       *p;
    size_t                        size;
    uint32_t                      offset, next;
    ngx_uint_t                    i, n;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    p = part->bytes;

    ngx_guildlog_assert(part->pos == 0 && part->size >= 12
                        && segment->nread == 0);

    segment->nstrings = ngx_guildlog_segment_get32(p);

    n = ngx_guildlog_segment_groups(segment->nstrings);
    size = 4 * (n + 1);

    if (ngx_guildlog_segment_get32(p + 4) != n || part->size - 8 < size) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    offset = 0;

    for (i = 0; i <= n; i++) {
        next = ngx_guildlog_segment_get32(p + 8 + 4 * i);

        if (next < offset || (i == 0 && next)) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        offset = next;
    }

    if (offset != ngx_guildlog_find_part_from(segment,
                                              NGX_GUILDLOG_SEGMENT_ROLES)
                  - ngx_guildlog_find_part_from(segment,
                                              NGX_GUILDLOG_SEGMENT_POSTINGS))
    {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    segment->offsets = ngx_pnalloc(find->state->pool, size);
    if (segment->offsets == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->offsets, p + 8, size);
    part->pos = 8 + size;

    return NGX_OK;
}


/* the string behind those that were read has it */

static ngx_int_t
find_strings_hit(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    if (segment->nread >= segment->nstrings) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    if (segment->hits == NULL) {
        segment->hits = ngx_pcalloc(find->state->pool,
                                 ngx_guildlog_segment_words(segment->nstrings)
                                 * sizeof(uint64_t));
        if (segment->hits == NULL) {
            return NGX_ERROR;
        }
    }

    ngx_guildlog_segment_set(segment->hits, segment->nread);
    segment->nread++;

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


ngx_int_t
ngx_guildlog_find_strings_postings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    u_char                    *p;
    uint32_t                   from, to, start;
    uint64_t                  *hits;
    ngx_uint_t                 i, n, words;
    ngx_guildlog_find_part_t  *part;

    hits = segment->hits;

    if (hits == NULL) {
        return NGX_OK;
    }

    part = NULL;
    start = ngx_guildlog_find_part_from(segment,
                                        NGX_GUILDLOG_SEGMENT_POSTINGS);
    n = ngx_guildlog_segment_groups(segment->nstrings);
    words = ngx_guildlog_segment_words(segment->nstrings);

    for (i = 0; i < n; i++) {
        if (hits[2 * i] == 0 && (2 * i + 1 == words || hits[2 * i + 1] == 0)) {
            continue;
        }

        p = segment->offsets + 4 * i;
        from = start + ngx_guildlog_segment_get32(p);
        to = start + ngx_guildlog_segment_get32(p + 4);

        if (from == to) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (part && from - (part->from + part->len) < FIND_STRINGS_NEAR) {
            find->state->queued += to - (part->from + part->len);
            part->len = to - part->from;
            continue;
        }

        part = ngx_guildlog_find_part_want(find, segment, find_strings_entries,
                                           from, to - from);
        if (part == NULL) {
            return NGX_ERROR;
        }

        part->nth = i * NGX_GUILDLOG_SEGMENT_GROUP;
    }

    return NGX_OK;
}


static ngx_int_t
find_strings_entries(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t                     rc;
    ngx_str_t                     postings;
    const u_char                 *p, *last;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    for ( ;; ) {

        if (find->state->left <= 0) {
            return NGX_BUSY;
        }

        rc = ngx_guildlog_segment_bytes(&p, last, &postings);

        if (rc == NGX_AGAIN) {
            return NGX_OK;
        }

        if (rc == NGX_ERROR || part->nth >= segment->nstrings) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (ngx_guildlog_segment_has(segment->hits, part->nth)
            && ngx_guildlog_find_part_add(find, segment,
                                          NGX_GUILDLOG_FIND_STRINGS,
                                          &postings)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        part->nth++;
        part->pos = p - part->bytes;
        find->state->left -= FIND_STRINGS_NEXT;
    }
}


/*
 * Counts and ids of what was found.  Ids are read of whole segments only where
 * an end of the window or the cursor lies inside of their day; else of the
 * newest entries.
 */

ngx_int_t
ngx_guildlog_find_ids(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    size_t                      size;
    ngx_guildlog_find_kind_t   *kind;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    if (!find_ids_found(find, segment)) {
        return NGX_OK;
    }

    size = ngx_guildlog_segment_words(segment->n) * sizeof(uint64_t);

    segment->found = ngx_palloc(state->pool, size);
    if (segment->found == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->found, state->spare, size);

    if (find_ids_cut(find, segment)) {
        segment->whole = 1;

        return ngx_guildlog_find_part_want(find, segment, find_ids_whole, 0,
                                           segment->n
                                           * NGX_GUILDLOG_SEGMENT_ID)
               ? NGX_OK : NGX_ERROR;
    }

    for (kind = segment->kinds; kind < segment->last; kind++) {
        find_ids_count(find, segment, kind->type, kind->from, kind->to,
                       segment->first < state->top ? kind->to : kind->from);

        if (find->slots) {
            find_ids_slots(find, segment, NULL, kind->type, kind->from,
                           kind->to);
        }
    }

    return NGX_OK;
}


/* all conditions told, in spare; 0: nothing was found */

static ngx_uint_t
find_ids_found(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment)
{
    u_char                     *types;
    uint64_t                   *words, *strings, *found, any;
    ngx_uint_t                  i, n;
    ngx_guildlog_find_kind_t   *kind;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    types = state->match->types;
    found = state->spare;

    n = ngx_guildlog_segment_words(segment->n);
    state->left -= 16 * n + 20 * (segment->last - segment->kinds);

    strings = segment->sets[NGX_GUILDLOG_FIND_STRINGS];
    words = (segment->nwords == state->match->nwords)
            ? segment->sets[NGX_GUILDLOG_FIND_WORDS] : NULL;

    if ((state->asks[NGX_GUILDLOG_FIND_STRINGS]
         && words == NULL && strings == NULL)
        || !ngx_guildlog_find_part_fits(find, segment))
    {
        return 0;
    }

    for (i = 0; state->asks[NGX_GUILDLOG_FIND_STRINGS] && i < n; i++) {
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
find_ids_cut(const ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment)
{
    int32_t                           day;
    const ngx_guildlog_find_state_t  *state;

    day = segment->day;
    state = find->state;

    if (find->slots
        && ngx_guildlog_find_ids_slot(find, segment->first)
           != ngx_guildlog_find_ids_slot(find, segment->first
                                               + NGX_GUILDLOG_SEGMENT_DAY - 1))
    {
        return 1;
    }

    return (day == ngx_guildlog_segment_day(state->low)
            && segment->first < state->low)
           || day == ngx_guildlog_segment_day(state->high)
           || (day == ngx_guildlog_segment_day(state->top)
               && segment->first < state->top);
}


/* those of a type; below: where those end that are below top */

static void
find_ids_count(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to, ngx_uint_t below)
{
    ngx_uint_t  n;

    ngx_guildlog_assert(from <= below && below <= to && to <= segment->n);

    n = ngx_guildlog_segment_count(segment->found, from, below);

    find->rest[type] += n;

    if (ngx_guildlog_find_ids_is_shown(find, type)) {
        segment->nshown += n;
    }

    find->counts[type] += n + ngx_guildlog_segment_count(segment->found,
                                                         below, to);
}


/* those of a type, in the order of their ids; part NULL: all in one slot */

static void
find_ids_slots(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    const ngx_guildlog_find_part_t *part, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to)
{
    int64_t                     id;
    ngx_uint_t                  slot, end;
    ngx_guildlog_find_slots_t  *slots;

    slots = find->slots;

    while (from < to) {
        id = part ? find_ids_at(part, from) : segment->first;
        slot = ngx_guildlog_find_ids_slot(find, id);

        end = part ? find_ids_place(part, from, to,
                                     slots->first + (slot + 1) * slots->step)
                   : to;

        slots->counts[slot][type] += ngx_guildlog_segment_count(segment->found,
                                                                from, end);
        find->state->left -= FIND_IDS_WORK;
        from = end;
    }
}


ngx_uint_t
ngx_guildlog_find_ids_slot(const ngx_guildlog_find_t *find, int64_t id)
{
    int64_t  n;

    n = (id - find->slots->first) / find->slots->step;

    return ngx_max(0, ngx_min(n, (int64_t) find->slots->n - 1));
}


static ngx_int_t
find_ids_whole(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_uint_t                    low, high, top;
    ngx_guildlog_find_kind_t     *kind;
    ngx_guildlog_find_state_t    *state;
    ngx_guildlog_find_segment_t  *segment;

    state = find->state;
    segment = part->segment;

    for (kind = segment->kinds; kind < segment->last; kind++) {
        low = find_ids_place(part, kind->from, kind->to, state->low);
        high = find_ids_place(part, low, kind->to, state->high);
        top = find_ids_place(part, low, high, state->top);

        find_ids_count(find, segment, kind->type, low, high, top);

        if (find->slots) {
            find_ids_slots(find, segment, part, kind->type, low, high);
        }

        if (find_ids_take(find, part, kind->type, low, top) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    part->pos = part->size;

    return NGX_OK;
}


/* the first of these entries with that id or one above it */

static ngx_uint_t
find_ids_place(const ngx_guildlog_find_part_t *part, ngx_uint_t from,
    ngx_uint_t to, int64_t id)
{
    ngx_uint_t  i;

    while (from < to) {
        i = (from + to) / 2;

        if (find_ids_at(part, i) < id) {
            from = i + 1;

        } else {
            to = i;
        }
    }

    return from;
}


static int64_t
find_ids_at(const ngx_guildlog_find_part_t *part, ngx_uint_t i)
{
    uint64_t  above;

    ngx_guildlog_assert(i >= part->nth && (i - part->nth + 1)
                                   * NGX_GUILDLOG_SEGMENT_ID <= part->size);

    above = ngx_guildlog_segment_get_id(
                     part->bytes + (i - part->nth) * NGX_GUILDLOG_SEGMENT_ID);

    return (int64_t) (part->segment->first + above);
}


ngx_int_t
ngx_guildlog_find_ids_newest(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    ngx_int_t                   last;
    ngx_uint_t                  n, to, low, high;
    ngx_guildlog_find_kind_t   *kind;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    /* the newest are of days above, whatever this one has */

    if (segment->day != state->day) {
        if (state->nshown >= state->limit
            || (find->nids == state->limit
                && find->ids[0] - segment->first >= NGX_GUILDLOG_SEGMENT_DAY))
        {
            return NGX_DONE;
        }

        ngx_guildlog_assert(state->day == -1 || state->day > segment->day);

        state->day = segment->day;
    }

    state->nshown += segment->nshown;

    if (segment->nshown == 0 || segment->whole) {
        return NGX_OK;
    }

    /* of each type its last ones; from the last type on */

    low = 0;
    high = 0;

    for (kind = segment->last; kind-- > segment->kinds; /* void */ ) {

        if (!ngx_guildlog_find_ids_is_shown(find, kind->type)) {
            continue;
        }

        to = kind->to;

        for (n = 0; n < state->limit; n++) {
            last = ngx_guildlog_segment_last(segment->found, kind->from, to);

            if (last == NGX_DONE) {
                break;
            }

            to = last;

            if (high == 0 || low - to > FIND_IDS_NEAR) {
                if (find_ids_slice(find, segment, low, high) != NGX_OK) {
                    return NGX_ERROR;
                }

                high = to + 1;
            }

            low = to;
        }

        state->left -= n * FIND_IDS_WORK;
    }

    return find_ids_slice(find, segment, low, high);
}


static ngx_int_t
find_ids_slice(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_uint_t from, ngx_uint_t to)
{
    ngx_guildlog_find_part_t  *part;

    if (from == to) {
        return NGX_OK;
    }

    part = ngx_guildlog_find_part_want(find, segment, find_ids_read,
                                       from * NGX_GUILDLOG_SEGMENT_ID,
                                       (to - from) * NGX_GUILDLOG_SEGMENT_ID);
    if (part == NULL) {
        return NGX_ERROR;
    }

    part->nth = from;

    return NGX_OK;
}


static ngx_int_t
find_ids_read(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_uint_t                    from, to;
    ngx_guildlog_find_kind_t     *kind;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;

    for (kind = segment->kinds; kind < segment->last; kind++) {
        from = ngx_max(kind->from, part->nth);
        to = ngx_min(kind->to, part->nth
                               + part->size / NGX_GUILDLOG_SEGMENT_ID);

        if (find_ids_take(find, part, kind->type, from, to) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    part->pos = part->size;

    return NGX_OK;
}


/* pushes what was found of these entries of a type, the newest first */

static ngx_int_t
find_ids_take(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to)
{
    int64_t                       id;
    ngx_int_t                     last;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;

    if (!ngx_guildlog_find_ids_is_shown(find, type)) {
        return NGX_OK;
    }

    for ( ;; ) {
        last = ngx_guildlog_segment_last(segment->found, from, to);

        if (last == NGX_DONE) {
            return NGX_OK;
        }

        to = last;
        id = find_ids_at(part, to);

        if (ngx_guildlog_segment_day(id) != segment->day) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (find->nids == find->state->limit
            && (find->nids == 0 || id <= find->ids[0]))
        {
            return NGX_OK;
        }

        ngx_guildlog_find_ids_push(find, id);
        find->state->left -= FIND_IDS_WORK;
    }
}


ngx_uint_t
ngx_guildlog_find_ids_is_shown(ngx_guildlog_find_t *find, ngx_uint_t type)
{
    return find->shown == NULL || find->shown[type] == '1';
}


/* a heap: the least is at its top */

void
ngx_guildlog_find_ids_push(ngx_guildlog_find_t *find, int64_t id)
{
    int64_t     *ids;
    ngx_uint_t   i;

    ids = find->ids;

    ngx_guildlog_assert(find->nids <= find->state->limit);

    if (find->nids == find->state->limit) {

        if (find->nids && id > ids[0]) {
            find_ids_sift(ids, find->nids, id);
        }

        return;
    }

    for (i = find->nids++; i && ids[(i - 1) / 2] > id; i = (i - 1) / 2) {
        ids[i] = ids[(i - 1) / 2];
    }

    ids[i] = id;
}


/* puts an id in the place of the least of n */

static void
find_ids_sift(int64_t *ids, ngx_uint_t n, int64_t id)
{
    ngx_uint_t  i, next;

    for (i = 0; /* void */ ; i = next) {
        next = 2 * i + 1;

        if (next + 1 < n && ids[next + 1] < ids[next]) {
            next++;
        }

        if (next >= n || ids[next] >= id) {
            break;
        }

        ids[i] = ids[next];
    }

    ids[i] = id;
}


/* the least goes to the end of them, and so on */

ngx_int_t
ngx_guildlog_find_ids_sort(ngx_guildlog_find_t *find)
{
    int64_t                     id, *ids;
    ngx_uint_t                  n;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    ids = find->ids;

    while (state->sorted < find->nids) {

        if (state->left <= 0) {
            return NGX_BUSY;
        }

        n = find->nids - ++state->sorted;

        id = ids[n];
        ids[n] = ids[0];

        ngx_guildlog_assert(n + 1 == find->nids || ids[n] >= ids[n + 1]);

        if (n) {
            find_ids_sift(ids, n, id);
        }

        state->left -= FIND_IDS_WORK;
    }

    return NGX_OK;
}
