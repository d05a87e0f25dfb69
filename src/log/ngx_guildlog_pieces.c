
/*
 * Counting in pieces of a page, and putting their entries in order; what became
 * of places, and cursors.
 */

#include "log/ngx_guildlog_pieces.h"
#include "log/ngx_guildlog_language.h"


/* a type is a character: the lowest one is of type 0 */

#define PIECES_TYPE  26

/* a number of a day's counts: entries, and behind them the bits of the type */

#define PIECES_TYPE_BITS  7

/* flags of counts */

#define PIECES_WINDOW  1
#define PIECES_BELOW   2


/* entries of one piece: those of the lines from low to high - 1 */

typedef struct {
    ngx_str_t                      types;      /* no data: all are wanted */
    ngx_str_t                      doc;
    ngx_str_t                      said;
    ngx_uint_t                     low;
    ngx_uint_t                     high;
    ngx_str_t                     *lines;      /* of doc, then of said; NULL:
                                                  not looked for yet */
} pieces_part_t;


typedef ngx_int_t (*pieces_count_pt)(const ngx_str_t *text, int64_t *counts);


struct ngx_guildlog_pieces_s {
    ngx_pool_t                    *pool;
    const u_char                  *want;       /* by type: 1, wanted; NULL:
                                                  all are */
    const u_char                  *asked;
    int64_t                        window[NGX_GUILDLOG_TYPES];
    int64_t                        below[NGX_GUILDLOG_TYPES];
    ngx_str_t                      decided;
    ngx_str_t                      lanes;
    pieces_part_t                  hot;
    ngx_array_t                    blocks;     /* of parts */
    ngx_uint_t                     block;      /* the next one */
};


#define CURSOR_VERSION  1
#define CURSOR_BYTES    9


static ngx_int_t pieces_types(ngx_guildlog_pieces_t *pieces,
    const ngx_str_t *types, const u_char **set);
static ngx_int_t pieces_count(ngx_guildlog_pieces_t *pieces, int64_t flags,
    const ngx_str_t *text, pieces_count_pt count);
static ngx_int_t pieces_part(ngx_guildlog_pieces_t *pieces,
    pieces_part_t *part, const ngx_str_t *columns);
static ngx_int_t pieces_places_decided(const ngx_str_t *text,
    ngx_guildlog_places_t *places);
static ngx_int_t pieces_places_lanes(const ngx_str_t *text,
    ngx_guildlog_places_t *places);
static u_char *pieces_words(u_char *p, u_char *last, ngx_str_t *words,
    ngx_uint_t n);
static ngx_uint_t pieces_lines(const ngx_str_t *text);
static ngx_int_t pieces_last(ngx_guildlog_pieces_t *pieces,
    pieces_part_t *part, ngx_guildlog_pieces_entry_t *entry);
static ngx_int_t pieces_split_text(const ngx_str_t *text, ngx_str_t *lines,
    ngx_uint_t n);
static int ngx_libc_cdecl places_cmp(const void *one, const void *two);


ngx_guildlog_pieces_t *
ngx_guildlog_pieces_create(ngx_pool_t *pool)
{
    ngx_guildlog_pieces_t  *pieces;

    pieces = ngx_pcalloc(pool, sizeof(ngx_guildlog_pieces_t));

    if (pieces == NULL
        || ngx_array_init(&pieces->blocks, pool, 8, sizeof(pieces_part_t))
           != NGX_OK)
    {
        return NULL;
    }

    pieces->pool = pool;

    return pieces;
}


ngx_int_t
ngx_guildlog_pieces_add(ngx_guildlog_pieces_t *pieces, int64_t n,
    const ngx_str_t *columns)
{
    pieces_part_t    *part;
    const ngx_str_t  *what, *types, *doc;

    what = &columns[NGX_GUILDLOG_PIECE_WHAT];
    types = &columns[NGX_GUILDLOG_PIECE_TYPES];
    doc = &columns[NGX_GUILDLOG_PIECE_DOC];

    if (what->len != 1) {
        return NGX_DECLINED;
    }

    switch (*what->data) {

    case 'w':
        return pieces_types(pieces, types, &pieces->want);

    case 'k':
        return pieces_types(pieces, types, &pieces->asked);

    case 'c':
        return pieces_count(pieces, n, types, ngx_guildlog_pieces_count_types);

    case 'd':
        return pieces_count(pieces, n, doc, ngx_guildlog_pieces_count_days);

    case 'h':
        if (pieces->hot.doc.data || n <= 0) {
            return NGX_DECLINED;
        }

        pieces->hot.high = n;

        return pieces_part(pieces, &pieces->hot, columns);

    case 'e':
        part = ngx_array_push(&pieces->blocks);
        if (part == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(part, sizeof(pieces_part_t));
        part->low = n >> 16;
        part->high = n & 65535;

        return pieces_part(pieces, part, columns);

    case 'r':
        pieces->decided = *doc;
        return NGX_OK;

    case 'l':
        pieces->lanes = *doc;
        return NGX_OK;
    }

    return NGX_DECLINED;
}


static ngx_int_t
pieces_types(ngx_guildlog_pieces_t *pieces, const ngx_str_t *types,
    const u_char **set)
{
    u_char  *types_set;
    size_t   i;

    types_set = ngx_pcalloc(pieces->pool, NGX_GUILDLOG_TYPES);
    if (types_set == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < types->len; i++) {
        if (types->data[i] < PIECES_TYPE
            || types->data[i] >= PIECES_TYPE + NGX_GUILDLOG_TYPES)
        {
            return NGX_DECLINED;
        }

        types_set[types->data[i] - PIECES_TYPE] = 1;
    }

    *set = types_set;

    return NGX_OK;
}


static ngx_int_t
pieces_count(ngx_guildlog_pieces_t *pieces, int64_t flags,
    const ngx_str_t *text, pieces_count_pt count)
{
    int64_t     n[NGX_GUILDLOG_TYPES];
    ngx_uint_t  i;

    ngx_memzero(n, sizeof(n));

    if (count(text, n) != NGX_OK) {
        return NGX_DECLINED;
    }

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        pieces->window[i] += (flags & PIECES_WINDOW) ? n[i] : 0;
        pieces->below[i] += (flags & PIECES_BELOW) ? n[i] : 0;
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_pieces_count_types(const ngx_str_t *types, int64_t *counts)
{
    size_t    i;
    uint32_t  n[256];

    ngx_memzero(n, sizeof(n));

    for (i = 0; i < types->len; i++) {
        n[types->data[i]]++;
    }

    for (i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        if (n[i] == 0) {
            continue;
        }

        if (i < PIECES_TYPE || i >= PIECES_TYPE + NGX_GUILDLOG_TYPES) {
            return NGX_DECLINED;
        }

        counts[i - PIECES_TYPE] += n[i];
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_pieces_count_days(const ngx_str_t *days, int64_t *counts)
{
    u_char      *p, *last;
    uint64_t     n;
    ngx_uint_t   type;

    p = days->data;
    last = p + days->len;

    while (p < last) {

        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }

        for (n = 0; p < last && *p >= '0' && *p <= '9'; p++) {
            n = n * 10 + (*p - '0');
        }

        type = n & ((1 << PIECES_TYPE_BITS) - 1);

        if (type >= NGX_GUILDLOG_TYPES || n > INT64_MAX) {
            return NGX_DECLINED;
        }

        counts[type] += n >> PIECES_TYPE_BITS;
    }

    return NGX_OK;
}


static ngx_int_t
pieces_part(ngx_guildlog_pieces_t *pieces, pieces_part_t *part,
    const ngx_str_t *columns)
{
    part->types = columns[NGX_GUILDLOG_PIECE_TYPES];
    part->doc = columns[NGX_GUILDLOG_PIECE_DOC];
    part->said = columns[NGX_GUILDLOG_PIECE_SAID];

    if (part->low > part->high || part->doc.data == NULL
        || part->high > part->doc.len
        || (part->types.data && part->types.len < part->high))
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


int64_t
ngx_guildlog_pieces_total(const ngx_guildlog_pieces_t *pieces)
{
    int64_t     total;
    ngx_uint_t  i;

    total = 0;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (pieces->want == NULL || pieces->want[i]) {
            total += pieces->below[i];
        }
    }

    return total;
}


void
ngx_guildlog_pieces_categories(const ngx_guildlog_pieces_t *pieces,
    int64_t *counts)
{
    ngx_uint_t  i;

    ngx_memzero(counts, NGX_GUILDLOG_CATEGORIES * sizeof(int64_t));

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (pieces->asked == NULL || pieces->asked[i]) {
            counts[ngx_guildlog_type_category[i]] += pieces->window[i];
        }
    }
}


ngx_int_t
ngx_guildlog_pieces_places(const ngx_guildlog_pieces_t *pieces,
    ngx_guildlog_places_t *places)
{
    ngx_int_t   rc;
    ngx_uint_t  n;

    ngx_memzero(places, sizeof(ngx_guildlog_places_t));

    n = pieces_lines(&pieces->decided)
        + pieces_lines(&pieces->lanes) * NGX_GUILDLOG_PLACES_OF_LANE;

    if (n == 0) {
        return NGX_OK;
    }

    places->elts = ngx_palloc(pieces->pool,
                              n * sizeof(ngx_guildlog_places_range_t));
    if (places->elts == NULL) {
        return NGX_ERROR;
    }

    rc = pieces_places_decided(&pieces->decided, places);

    if (rc == NGX_OK) {
        rc = pieces_places_lanes(&pieces->lanes, places);
    }

    ngx_guildlog_places_sort(places);

    return rc;
}


static ngx_int_t
pieces_places_decided(const ngx_str_t *text, ngx_guildlog_places_t *places)
{
    u_char                       *p, *last;
    ngx_str_t                     words[6];
    ngx_guildlog_places_range_t   range;

    p = text->data;
    last = p + text->len;

    while (p < last) {
        p = pieces_words(p, last, words, 6);
        if (p == NULL) {
            return NGX_DECLINED;
        }

        range.lane = ngx_atoi(words[0].data, words[0].len);
        range.first = ngx_atoi(words[1].data, words[1].len);
        range.last = ngx_atoi(words[2].data, words[2].len);
        range.status = ngx_atoi(words[3].data, words[3].len);
        range.message = words[4];
        range.reason = words[5];

        if (*range.message.data == '-') {
            ngx_str_null(&range.message);
        }

        if (*range.reason.data == '-') {
            ngx_str_null(&range.reason);
        }

        ngx_guildlog_places_add(places, &range);
    }

    return NGX_OK;
}


static ngx_int_t
pieces_places_lanes(const ngx_str_t *text, ngx_guildlog_places_t *places)
{
    u_char     *p, *last;
    ngx_str_t   words[4];

    p = text->data;
    last = p + text->len;

    while (p < last) {
        p = pieces_words(p, last, words, 4);
        if (p == NULL) {
            return NGX_DECLINED;
        }

        ngx_guildlog_places_add_lane(places,
                                     ngx_atoi(words[0].data, words[0].len),
                                     ngx_atoi(words[1].data, words[1].len),
                                     ngx_atoi(words[2].data, words[2].len),
                                     ngx_atoi(words[3].data, words[3].len));
    }

    return NGX_OK;
}


/* the words of a line; where the next one begins, NULL: they are not so many */

static u_char *
pieces_words(u_char *p, u_char *last, ngx_str_t *words, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        words[i].data = p;

        while (p < last && *p != ' ' && *p != '\n') {
            p++;
        }

        words[i].len = p - words[i].data;

        if (words[i].len == 0
            || (i < n - 1 && (p == last || *p != ' '))
            || (i == n - 1 && p < last && *p != '\n'))
        {
            return NULL;
        }

        p += (p < last);
    }

    return p;
}


static ngx_uint_t
pieces_lines(const ngx_str_t *text)
{
    size_t      i;
    ngx_uint_t  n;

    n = (text->len > 0);

    for (i = 0; i < text->len; i++) {
        n += (text->data[i] == '\n');
    }

    return n;
}


ngx_int_t
ngx_guildlog_pieces_next(ngx_guildlog_pieces_t *pieces,
    ngx_guildlog_pieces_entry_t *entry)
{
    ngx_int_t                     rc;
    pieces_part_t                *part, *blocks;
    ngx_guildlog_pieces_entry_t   other;

    blocks = pieces->blocks.elts;
    part = NULL;

    /* the newest one that is in a block */

    while (pieces->block < pieces->blocks.nelts) {
        part = &blocks[pieces->block];
        rc = pieces_last(pieces, part, entry);

        if (rc == NGX_OK) {
            break;
        }

        if (rc != NGX_DONE) {
            return rc;
        }

        pieces->block++;
        part = NULL;
    }

    rc = pieces_last(pieces, &pieces->hot, &other);

    if (rc == NGX_OK && (part == NULL || other.id > entry->id)) {
        part = &pieces->hot;
        *entry = other;

    } else if (rc != NGX_OK && rc != NGX_DONE) {
        return rc;
    }

    if (part == NULL) {
        return NGX_DONE;
    }

    part->high--;

    return NGX_OK;
}


/* the last one of a part that is left and wanted */

static ngx_int_t
pieces_last(ngx_guildlog_pieces_t *pieces, pieces_part_t *part,
    ngx_guildlog_pieces_entry_t *entry)
{
    u_char      *p, *last;
    ngx_uint_t   n;

    static const ngx_str_t  begins = ngx_string("{\"id\":\"");

    if (part->types.data && pieces->want) {
        while (part->high > part->low) {
            n = part->types.data[part->high - 1] - PIECES_TYPE;

            if (n >= NGX_GUILDLOG_TYPES) {
                return NGX_DECLINED;
            }

            if (pieces->want[n]) {
                break;
            }

            part->high--;
        }
    }

    if (part->high <= part->low) {
        return NGX_DONE;
    }

    if (part->lines == NULL) {
        part->lines = ngx_palloc(pieces->pool,
                                 2 * part->high * sizeof(ngx_str_t));
        if (part->lines == NULL) {
            return NGX_ERROR;
        }

        if (pieces_split_text(&part->doc, part->lines, part->high) != NGX_OK
            || pieces_split_text(&part->said, part->lines + 1, part->high)
               != NGX_OK)
        {
            return NGX_DECLINED;
        }
    }

    n = part->high - 1;
    entry->doc = part->lines[2 * n];
    entry->said = part->lines[2 * n + 1];

    p = entry->doc.data;
    last = p + entry->doc.len;

    if (entry->doc.len <= begins.len
        || ngx_memcmp(p, begins.data, begins.len) != 0)
    {
        return NGX_DECLINED;
    }

    entry->id = 0;

    for (p += begins.len; p < last && *p >= '0' && *p <= '9'; p++) {
        entry->id = entry->id * 10 + (*p - '0');
    }

    return NGX_OK;
}


/* the first n lines, each behind the place of another one */

static ngx_int_t
pieces_split_text(const ngx_str_t *text, ngx_str_t *lines, ngx_uint_t n)
{
    u_char      *p, *last, *end;
    ngx_uint_t   i;

    p = text->data;
    last = p + text->len;

    for (i = 0; i < n; i++) {
        if (p == NULL) {
            return NGX_DECLINED;
        }

        end = memchr(p, '\n', last - p);

        lines[2 * i].data = p;
        lines[2 * i].len = (end ? end : last) - p;

        p = end ? end + 1 : NULL;
    }

    return NGX_OK;
}


/*
 * Ranges of places, in the order of lanes and places.
 */

void
ngx_guildlog_places_add(ngx_guildlog_places_t *ranges,
    const ngx_guildlog_places_range_t *range)
{
    if (range->first > range->last) {
        return;
    }

    ranges->elts[ranges->n++] = *range;
    ranges->longest = ngx_max(ranges->longest,
                              range->reason.len + range->message.len);
}


void
ngx_guildlog_places_add_lane(ngx_guildlog_places_t *ranges, int64_t lane,
    int64_t head, int64_t upto, int64_t refused)
{
    ngx_guildlog_places_range_t  range;

    ngx_memzero(&range, sizeof(ngx_guildlog_places_range_t));
    range.lane = lane;

    range.first = head + 1;
    range.last = upto;
    range.status = 1;
    ngx_str_set(&range.reason, "in_flight");
    ngx_guildlog_places_add(ranges, &range);

    range.first = ngx_max(head, upto) + 1;
    range.last = refused;
    range.status = 0;
    ngx_str_set(&range.reason, "retrying");
    ngx_guildlog_places_add(ranges, &range);

    range.first = ngx_max(range.first, refused + 1);
    range.last = INT64_MAX;
    ngx_str_set(&range.reason, "queued");
    ngx_guildlog_places_add(ranges, &range);
}


void
ngx_guildlog_places_sort(ngx_guildlog_places_t *ranges)
{
    ngx_qsort(ranges->elts, ranges->n, sizeof(ngx_guildlog_places_range_t),
              places_cmp);
}


static int ngx_libc_cdecl
places_cmp(const void *one, const void *two)
{
    const ngx_guildlog_places_range_t  *a = one, *b = two;

    if (a->lane != b->lane) {
        return (a->lane < b->lane) ? -1 : 1;
    }

    return (a->first > b->first) - (a->first < b->first);
}


const ngx_guildlog_places_range_t *
ngx_guildlog_places_find(const ngx_guildlog_places_t *ranges, int64_t lane,
    int64_t place)
{
    ngx_uint_t                          low, high, middle;
    const ngx_guildlog_places_range_t  *range;

    low = 0;
    high = ranges->n;

    /* the last one that begins no later is below "low" */

    while (low < high) {
        middle = (low + high) / 2;
        range = &ranges->elts[middle];

        if (range->lane < lane
            || (range->lane == lane && range->first <= place))
        {
            low = middle + 1;

        } else {
            high = middle;
        }
    }

    if (low == 0) {
        return NULL;
    }

    range = &ranges->elts[low - 1];

    return (range->lane == lane && place <= range->last) ? range : NULL;
}


/*
 * A cursor is nine bytes in base64url: the version of the format, then the
 * id, the highest byte first.
 */

u_char *
ngx_guildlog_cursor_encode(u_char *dst, int64_t id)
{
    u_char      bytes[CURSOR_BYTES];
    ngx_str_t   text, raw;
    ngx_uint_t  i;

    bytes[0] = CURSOR_VERSION;

    for (i = 1; i < CURSOR_BYTES; i++) {
        bytes[i] = (u_char) ((uint64_t) id >> (8 * (8 - i)));
    }

    raw.data = bytes;
    raw.len = CURSOR_BYTES;
    text.data = dst;

    ngx_encode_base64url(&text, &raw);

    return dst + text.len;
}


ngx_int_t
ngx_guildlog_cursor_decode(const ngx_str_t *cursor, int64_t *id)
{
    u_char      bytes[NGX_GUILDLOG_CURSOR_LEN];
    uint64_t    n;
    ngx_str_t   text, raw;
    ngx_uint_t  i;

    if (cursor->len != NGX_GUILDLOG_CURSOR_LEN) {
        return NGX_DECLINED;
    }

    text = *cursor;
    raw.data = bytes;

    if (ngx_decode_base64url(&raw, &text) != NGX_OK
        || raw.len != CURSOR_BYTES
        || bytes[0] != CURSOR_VERSION)
    {
        return NGX_DECLINED;
    }

    n = 0;

    for (i = 1; i < CURSOR_BYTES; i++) {
        n = n << 8 | bytes[i];
    }

    if (n > INT64_MAX) {
        return NGX_DECLINED;
    }

    *id = (int64_t) n;

    return NGX_OK;
}
