
/*
 * Counts and ids of what was found.  Ids are read of whole segments only where
 * an end of the window or the cursor lies inside of their day, or an entry of
 * the day is gone; else of the newest entries.
 */

#include "search/ngx_guildlog_find_part.h"


#define FIND_IDS_NEAR  73    /* ids: so near, two slices become one */
#define FIND_IDS_WORK  60    /* of one id */


static ngx_uint_t find_ids_found(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_ids_cut(const ngx_guildlog_find_state_t *state,
    const ngx_guildlog_find_segment_t *segment);
static int64_t *find_ids_gone(const ngx_guildlog_find_state_t *state,
    int64_t id);
static void find_ids_count(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t below);
static ngx_int_t find_ids_whole(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_uint_t find_ids_place(const ngx_guildlog_find_part_t *part,
    ngx_uint_t from, ngx_uint_t to, int64_t id);
static int64_t find_ids_at(const ngx_guildlog_find_part_t *part, ngx_uint_t i);
static void find_ids_clear(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t find_ids_slice(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t find_ids_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_ids_take(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to);
static void find_ids_sift(int64_t *ids, ngx_uint_t n, int64_t id);


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

    if (find_ids_cut(state, segment)) {
        segment->whole = 1;

        return ngx_guildlog_find_part_want(find, segment, find_ids_whole, 0,
                                           segment->n
                                           * NGX_GUILDLOG_SEGMENT_ID)
               ? NGX_OK : NGX_ERROR;
    }

    for (kind = segment->kinds; kind < segment->last; kind++) {
        find_ids_count(find, segment, kind->type, kind->from, kind->to,
                       segment->first < state->top ? kind->to : kind->from);
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
find_ids_cut(const ngx_guildlog_find_state_t *state,
    const ngx_guildlog_find_segment_t *segment)
{
    int64_t  *gone;
    int32_t   day;

    day = segment->day;

    if ((day == ngx_guildlog_segment_day(state->low)
         && segment->first < state->low)
        || day == ngx_guildlog_segment_day(state->high)
        || (day == ngx_guildlog_segment_day(state->top)
            && segment->first < state->top))
    {
        return 1;
    }

    gone = find_ids_gone(state, segment->first);

    return gone < (int64_t *) state->gone.elts + state->gone.nelts
           && ngx_guildlog_segment_day(*gone) == day;
}


/* the first of those gone that is that id or above it */

static int64_t *
find_ids_gone(const ngx_guildlog_find_state_t *state, int64_t id)
{
    int64_t     *gone;
    ngx_uint_t   low, high, i;

    gone = state->gone.elts;
    low = 0;
    high = state->gone.nelts;

    while (low < high) {
        i = (low + high) / 2;

        if (gone[i] < id) {
            low = i + 1;

        } else {
            high = i;
        }
    }

    return gone + low;
}


/* those of a type; below: where those end that are below top */

static void
find_ids_count(ngx_guildlog_find_t *find, ngx_guildlog_find_segment_t *segment,
    ngx_uint_t type, ngx_uint_t from, ngx_uint_t to, ngx_uint_t below)
{
    ngx_uint_t  n;

    n = ngx_guildlog_segment_count(segment->found, from, below);

    find->rest[type] += n;

    if (ngx_guildlog_find_ids_is_shown(find, type)) {
        segment->nshown += n;
    }

    find->counts[type] += n + ngx_guildlog_segment_count(segment->found,
                                                         below, to);
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

        find_ids_clear(find, part, low, high);
        find_ids_count(find, segment, kind->type, low, high, top);

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

    above = ngx_guildlog_segment_get_id(
                     part->bytes + (i - part->nth) * NGX_GUILDLOG_SEGMENT_ID);

    return (int64_t) (part->segment->first + above);
}


/* takes those out that are gone: both are in order */

static void
find_ids_clear(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part,
    ngx_uint_t from, ngx_uint_t to)
{
    int64_t                    *gone, *last, id;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    last = (int64_t *) state->gone.elts + state->gone.nelts;

    while (from < to) {
        id = find_ids_at(part, from);
        gone = find_ids_gone(state, id);
        state->left -= 2 * FIND_IDS_WORK;

        if (gone == last) {
            break;
        }

        if (*gone == id) {
            ngx_guildlog_segment_clear(part->segment->found, from, from + 1);
            from++;

        } else {
            from = find_ids_place(part, from, to, *gone);
        }
    }
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

        if (n) {
            find_ids_sift(ids, n, id);
        }

        state->left -= FIND_IDS_WORK;
    }

    return NGX_OK;
}
