
/*
 * Counts and ids of what was found.  Ids are read of whole segments only where
 * an end of the window or the cursor lies inside of their day, or an entry of
 * the day is gone; else of the newest entries.
 */

#include "search/ngx_guildlog_find_part.h"


#define NGX_GUILDLOG_FIND_NEAR  73    /* ids: so near, two slices become one */

#define NGX_GUILDLOG_FIND_ID    60    /* the work of one */


static ngx_uint_t ngx_guildlog_find_ids_found(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t ngx_guildlog_find_ids_cut(
    const ngx_guildlog_find_state_t *state,
    const ngx_guildlog_find_segment_t *segment);
static int64_t *ngx_guildlog_find_ids_gone(
    const ngx_guildlog_find_state_t *state, int64_t id);
static void ngx_guildlog_find_ids_count(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t below);
static ngx_int_t ngx_guildlog_find_ids_whole(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_uint_t ngx_guildlog_find_ids_place(
    const ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to,
    int64_t id);
static int64_t ngx_guildlog_find_ids_at(const ngx_guildlog_find_part_t *part,
    ngx_uint_t i);
static void ngx_guildlog_find_ids_clear(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t ngx_guildlog_find_ids_slice(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to);
static ngx_int_t ngx_guildlog_find_ids_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t ngx_guildlog_find_ids_take(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to);
static void ngx_guildlog_find_ids_sift(int64_t *ids, ngx_uint_t n, int64_t id);


ngx_int_t
ngx_guildlog_find_ids(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint32_t                    end;
    ngx_uint_t                  i, from;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    if (!ngx_guildlog_find_ids_found(find, segment)) {
        return NGX_OK;
    }

    segment->found = ngx_palloc(state->pool,
                                ngx_guildlog_segment_words(segment->n)
                                * sizeof(uint64_t));
    if (segment->found == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->found, state->spare,
               ngx_guildlog_segment_words(segment->n) * sizeof(uint64_t));

    if (ngx_guildlog_find_ids_cut(state, segment)) {
        segment->whole = 1;

        return ngx_guildlog_find_part_want(find, segment,
                                           ngx_guildlog_find_ids_whole, 0,
                                           segment->n
                                           * NGX_GUILDLOG_SEGMENT_ID)
               ? NGX_OK : NGX_ERROR;
    }

    for (from = 0, i = 0; i < segment->kinds.len;
         i += NGX_GUILDLOG_SEGMENT_KIND)
    {
        end = ngx_guildlog_segment_get32(segment->kinds.data + i + 1);

        ngx_guildlog_find_ids_count(find, segment, segment->kinds.data[i],
                                    from, end,
                                    segment->first < state->top ? end : from);
        from = end;
    }

    return NGX_OK;
}


/* all conditions told, in spare; 0: nothing was found */

static ngx_uint_t
ngx_guildlog_find_ids_found(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    u_char                     *types;
    uint64_t                   *words, *strings, *found, any;
    uint32_t                    end;
    ngx_uint_t                  i, n, from;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    types = state->match->types;
    found = state->spare;

    n = ngx_guildlog_segment_words(segment->n);
    state->left -= 16 * n + 4 * segment->kinds.len;

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

    for (from = 0, i = 0; i < segment->kinds.len;
         i += NGX_GUILDLOG_SEGMENT_KIND)
    {
        end = ngx_guildlog_segment_get32(segment->kinds.data + i + 1);

        if (types && types[segment->kinds.data[i]] != '1') {
            ngx_guildlog_segment_clear(found, from, end);
        }

        from = end;
    }

    for (any = 0, i = 0; i < n; i++) {
        any |= found[i];
    }

    return any != 0;
}


/* 1: of the day, not every entry counts alike */

static ngx_uint_t
ngx_guildlog_find_ids_cut(const ngx_guildlog_find_state_t *state,
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

    gone = ngx_guildlog_find_ids_gone(state, segment->first);

    return gone < (int64_t *) state->gone.elts + state->gone.nelts
           && ngx_guildlog_segment_day(*gone) == day;
}


/* the first of those gone that is that id or above it */

static int64_t *
ngx_guildlog_find_ids_gone(const ngx_guildlog_find_state_t *state, int64_t id)
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
ngx_guildlog_find_ids_count(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t type, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t below)
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
ngx_guildlog_find_ids_whole(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part)
{
    uint32_t                      end;
    ngx_uint_t                    i, from, low, high, top;
    ngx_guildlog_find_state_t    *state;
    ngx_guildlog_find_segment_t  *segment;

    state = find->state;
    segment = part->segment;

    if (part->size < part->len) {
        return NGX_OK;
    }

    for (from = 0, i = 0; i < segment->kinds.len;
         i += NGX_GUILDLOG_SEGMENT_KIND)
    {
        end = ngx_guildlog_segment_get32(segment->kinds.data + i + 1);

        low = ngx_guildlog_find_ids_place(part, from, end, state->low);
        high = ngx_guildlog_find_ids_place(part, low, end, state->high);
        top = ngx_guildlog_find_ids_place(part, low, high, state->top);

        ngx_guildlog_find_ids_clear(find, part, low, high);
        ngx_guildlog_find_ids_count(find, segment, segment->kinds.data[i],
                                    low, high, top);

        if (ngx_guildlog_find_ids_is_shown(find, segment->kinds.data[i])
            && ngx_guildlog_find_ids_take(find, part, low, top) != NGX_OK)
        {
            return NGX_ERROR;
        }

        from = end;
    }

    part->pos = part->size;

    return NGX_OK;
}


/* the first of these entries with that id or one above it */

static ngx_uint_t
ngx_guildlog_find_ids_place(const ngx_guildlog_find_part_t *part,
    ngx_uint_t from, ngx_uint_t to, int64_t id)
{
    ngx_uint_t  i;

    while (from < to) {
        i = (from + to) / 2;

        if (ngx_guildlog_find_ids_at(part, i) < id) {
            from = i + 1;

        } else {
            to = i;
        }
    }

    return from;
}


static int64_t
ngx_guildlog_find_ids_at(const ngx_guildlog_find_part_t *part, ngx_uint_t i)
{
    uint64_t  above;

    above = ngx_guildlog_segment_get_id(
                     part->bytes + (i - part->nth) * NGX_GUILDLOG_SEGMENT_ID);

    return (int64_t) (part->segment->first + above);
}


/* takes those out that are gone: both are in order */

static void
ngx_guildlog_find_ids_clear(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to)
{
    int64_t                    *gone, *last, id;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    last = (int64_t *) state->gone.elts + state->gone.nelts;

    while (from < to) {
        id = ngx_guildlog_find_ids_at(part, from);
        gone = ngx_guildlog_find_ids_gone(state, id);
        state->left -= 2 * NGX_GUILDLOG_FIND_ID;

        if (gone == last) {
            break;
        }

        if (*gone == id) {
            ngx_guildlog_segment_clear(part->segment->found, from, from + 1);
            from++;

        } else {
            from = ngx_guildlog_find_ids_place(part, from, to, *gone);
        }
    }
}


ngx_int_t
ngx_guildlog_find_ids_newest(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint32_t                    start;
    ngx_int_t                   last;
    ngx_uint_t                  i, n, end, low, high;
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

    for (i = segment->kinds.len; i; /* void */ ) {
        i -= NGX_GUILDLOG_SEGMENT_KIND;

        if (!ngx_guildlog_find_ids_is_shown(find, segment->kinds.data[i])) {
            continue;
        }

        end = ngx_guildlog_segment_get32(segment->kinds.data + i + 1);
        start = i ? ngx_guildlog_segment_get32(segment->kinds.data + i - 4)
                  : 0;

        for (n = 0; n < state->limit; n++) {
            last = ngx_guildlog_segment_last(segment->found, start, end);

            if (last == NGX_DONE) {
                break;
            }

            end = last;

            if (high == 0 || low - end > NGX_GUILDLOG_FIND_NEAR) {
                if (ngx_guildlog_find_ids_slice(find, segment, low, high)
                    != NGX_OK)
                {
                    return NGX_ERROR;
                }

                high = end + 1;
            }

            low = end;
        }

        state->left -= n * NGX_GUILDLOG_FIND_ID;
    }

    return ngx_guildlog_find_ids_slice(find, segment, low, high);
}


static ngx_int_t
ngx_guildlog_find_ids_slice(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_uint_t from, ngx_uint_t to)
{
    ngx_guildlog_find_part_t  *part;

    if (from == to) {
        return NGX_OK;
    }

    part = ngx_guildlog_find_part_want(find, segment,
                                       ngx_guildlog_find_ids_read,
                                       from * NGX_GUILDLOG_SEGMENT_ID,
                                       (to - from) * NGX_GUILDLOG_SEGMENT_ID);
    if (part == NULL) {
        return NGX_ERROR;
    }

    part->nth = from;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_find_ids_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part)
{
    ngx_uint_t    i, from, to, end;
    ngx_str_t    *kinds;

    kinds = &part->segment->kinds;
    from = part->nth;
    to = from + part->size / NGX_GUILDLOG_SEGMENT_ID;

    for (i = 0; i < kinds->len && from < to; i += NGX_GUILDLOG_SEGMENT_KIND) {
        end = ngx_guildlog_segment_get32(kinds->data + i + 1);
        end = ngx_min(end, to);

        if (from >= end) {
            continue;
        }

        if (ngx_guildlog_find_ids_is_shown(find, kinds->data[i])
            && ngx_guildlog_find_ids_take(find, part, from, end) != NGX_OK)
        {
            return NGX_ERROR;
        }

        from = end;
    }

    part->pos = part->size;

    return NGX_OK;
}


/* pushes what was found of these entries of one type, the newest first */

static ngx_int_t
ngx_guildlog_find_ids_take(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_uint_t from, ngx_uint_t to)
{
    int64_t                       id;
    ngx_int_t                     last;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;

    for ( ;; ) {
        last = ngx_guildlog_segment_last(segment->found, from, to);

        if (last == NGX_DONE) {
            return NGX_OK;
        }

        to = last;
        id = ngx_guildlog_find_ids_at(part, to);

        if (ngx_guildlog_segment_day(id) != segment->day) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (find->nids == find->state->limit
            && (find->nids == 0 || id <= find->ids[0]))
        {
            return NGX_OK;
        }

        ngx_guildlog_find_ids_push(find, id);
        find->state->left -= NGX_GUILDLOG_FIND_ID;
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
            ngx_guildlog_find_ids_sift(ids, find->nids, id);
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
ngx_guildlog_find_ids_sift(int64_t *ids, ngx_uint_t n, int64_t id)
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
            ngx_guildlog_find_ids_sift(ids, n, id);
        }

        state->left -= NGX_GUILDLOG_FIND_ID;
    }

    return NGX_OK;
}
