
/*
 * Links ngx_guildlog_json.c, ngx_guildlog_language.c,
 * ngx_guildlog_language_data.c, ngx_guildlog_pieces.c and
 * ngx_guildlog_utf8.c.
 *
 * Pages in pieces, cut at random, say what a walk over all entries would say:
 * how many there are, and which ones are the newest.
 */

#include "log/ngx_guildlog_pieces.h"
#include "log/ngx_guildlog_language.h"
#include "tap.h"


#define ENTRIES  300


typedef struct {
    int64_t        id;
    ngx_uint_t     type;
    ngx_uint_t     hot;        /* in no block */
} entry_t;


static entry_t      entries[ENTRIES];
static ngx_uint_t   nentries;


static ngx_uint_t
under(ngx_uint_t n)
{
    return (ngx_uint_t) random() % n;
}


static ngx_int_t
add(ngx_guildlog_pieces_t *pieces, int64_t n, const char *what,
    const char *types, const char *doc, const char *said)
{
    ngx_uint_t   i;
    ngx_str_t    columns[NGX_GUILDLOG_PIECE_COLUMNS];
    const char  *texts[] = { "", what, types, doc, said };

    for (i = 0; i < NGX_GUILDLOG_PIECE_COLUMNS; i++) {
        columns[i].data = (u_char *) texts[i];
        columns[i].len = texts[i] ? strlen(texts[i]) : 0;
    }

    return ngx_guildlog_pieces_add(pieces, n, columns);
}


/* some entries in the order of their ids, of a few types */

static void
make(void)
{
    int64_t     id;
    ngx_uint_t  i;

    nentries = under(ENTRIES);
    id = 1000;

    for (i = 0; i < nentries; i++) {
        id += 1 + under(5);
        entries[i].id = id;
        entries[i].type = under(7) ? under(4) : 101;
        entries[i].hot = under(4) == 0 || (i > nentries - 10 && under(2));
    }
}


/* a piece of those up to the i-th that are hot, or are not: how many */

static ngx_uint_t
piece(ngx_guildlog_pieces_t *pieces, ngx_pool_t *pool, ngx_uint_t from,
    ngx_uint_t to, ngx_uint_t hot, int64_t low, int64_t high,
    const u_char *wanted)
{
    char        *types, *docs, *said, *p, *q;
    ngx_uint_t   i, n, first, last;

    types = ngx_pcalloc(pool, ENTRIES + 1);
    docs = p = ngx_pcalloc(pool, ENTRIES * 64);
    said = q = ngx_pcalloc(pool, ENTRIES * 16);
    first = 0;
    last = 0;
    n = 0;

    for (i = from; i < to; i++) {
        if (entries[i].hot != hot
            || (hot && (entries[i].id < low || entries[i].id >= high
                        || (wanted && !wanted[entries[i].type]))))
        {
            continue;
        }

        first += entries[i].id < low;
        last += entries[i].id < high;
        types[n] = 26 + entries[i].type;
        p += sprintf(p, "%s{\"id\":\"%lld\",\"type\":%u", n ? "\n" : "",
                     (long long) entries[i].id, (unsigned) entries[i].type);
        q += sprintf(q, "%s2 m%u", n ? "\n" : "", (unsigned) i);
        n++;
    }

    if (n == 0 || first == last) {
        return 0;
    }

    tap_ok(add(pieces, hot ? (int64_t) n : (int64_t) (first << 16 | last),
               hot ? "h" : "e", wanted && !hot ? types : NULL, docs, said)
           == NGX_OK, "a piece");

    return n;
}


static void
test_random(void)
{
    char                          types[3][ENTRIES + 1], text[64];
    u_char                        wanted[NGX_GUILDLOG_TYPES];
    int64_t                       low, high, top, total, id,
                                  counts[NGX_GUILDLOG_CATEGORIES],
                                  expected[NGX_GUILDLOG_CATEGORIES];
    ngx_pool_t                   *pool;
    ngx_uint_t                    i, from, to, flag, n[3], some, wrong;
    ngx_guildlog_pieces_t        *pieces;
    ngx_guildlog_pieces_entry_t   entry;

    pool = tap_pool();
    pieces = ngx_guildlog_pieces_create(pool);

    make();
    low = 1000 + (int64_t) under(200);
    high = low + (int64_t) under(1000);
    top = under(3) ? high : low + (int64_t) under(high - low + 1);
    some = under(2);

    ngx_memzero(wanted, sizeof(wanted));
    wanted[1] = 1;
    wanted[101] = 1;

    if (some) {
        text[0] = 26 + 1;
        text[1] = 26 + 101;
        text[2] = '\0';
        (void) add(pieces, 0, "w", text, NULL, NULL);

        text[1] = '\0';
        (void) add(pieces, 0, "k", text, NULL, NULL);
    }

    ngx_memzero(n, sizeof(n));
    ngx_memzero(types, sizeof(types));
    ngx_memzero(expected, sizeof(expected));
    total = 0;

    /* every third is counted by its day */

    for (i = 0; i < nentries; i++) {
        if (entries[i].id < low || entries[i].id >= high) {
            continue;
        }

        flag = entries[i].id < top ? 2 : 0;
        total += (flag != 0 && (!some || wanted[entries[i].type]));
        expected[ngx_guildlog_type_category[entries[i].type]] +=
                                             !some || entries[i].type == 1;

        if (i % 3) {
            types[flag][n[flag]++] = 26 + entries[i].type;
            continue;
        }

        snprintf(text, sizeof(text), "{%u}\n{}",
                 (unsigned) (1 << 7 | entries[i].type));
        (void) add(pieces, 1 | flag, "d", NULL, text, NULL);
    }

    (void) add(pieces, 1, "c", types[0], NULL, NULL);
    (void) add(pieces, 3, "c", types[2], NULL, NULL);

    (void) piece(pieces, pool, 0, nentries, 1, low, top, some ? wanted : NULL);

    for (to = nentries; to > 0; to = from) {
        from = to > 40 ? to - 1 - under(40) : 0;
        (void) piece(pieces, pool, from, to, 0, low, top,
                     some ? wanted : NULL);
    }

    tap_is(ngx_guildlog_pieces_total(pieces), total, "the total");

    ngx_guildlog_pieces_categories(pieces, counts);
    tap_ok(ngx_memcmp(counts, expected, sizeof(counts)) == 0,
           "the counts by category");

    wrong = 0;

    for (i = nentries; i > 0; i--) {
        id = entries[i - 1].id;

        if (id < low || id >= top
            || (some && !wanted[entries[i - 1].type]))
        {
            continue;
        }

        snprintf(text, sizeof(text), "2 m%u", (unsigned) (i - 1));

        if (ngx_guildlog_pieces_next(pieces, &entry) != NGX_OK
            || entry.id != id
            || entry.said.len != strlen(text)
            || ngx_memcmp(entry.said.data, text, entry.said.len) != 0)
        {
            wrong++;
        }
    }

    tap_is(wrong, 0, "the entries, from the newest on");
    tap_is(ngx_guildlog_pieces_next(pieces, &entry), NGX_DONE,
           "and no other one");

    ngx_destroy_pool(pool);
}


static void
test_places(void)
{
    ngx_pool_t                         *pool;
    ngx_guildlog_pieces_t              *pieces;
    ngx_guildlog_places_t               places;
    const ngx_guildlog_places_range_t  *range;

    pool = tap_pool();
    pieces = ngx_guildlog_pieces_create(pool);

    tap_is(ngx_guildlog_pieces_places(pieces, &places), NGX_OK, "no places");
    tap_is(places.n, 0, "are none");

    (void) add(pieces, 0, "r", NULL,
               "7 1 4 2 99 -\n7 5 5 0 - webhook_404", NULL);
    (void) add(pieces, 0, "l", NULL, "7 5 6 8", NULL);

    tap_is(ngx_guildlog_pieces_places(pieces, &places), NGX_OK, "places");

    range = ngx_guildlog_places_find(&places, 7, 3);
    tap_ok(range && range->status == 2 && range->reason.data == NULL
           && range->message.len == 2, "one that was delivered");
    range = ngx_guildlog_places_find(&places, 7, 5);
    tap_ok(range && range->status == 0 && range->reason.len == 11
           && range->message.data == NULL, "one that was not");
    range = ngx_guildlog_places_find(&places, 7, 6);
    tap_ok(range && range->status == 1, "one that is in flight");
    range = ngx_guildlog_places_find(&places, 7, 8);
    tap_ok(range && range->reason.len == 8, "one that was refused for now");
    tap_ok(ngx_guildlog_places_find(&places, 8, 1) == NULL, "one of no lane");

    ngx_destroy_pool(pool);
}


/* what no database of ours says */

static void
test_bad(void)
{
    ngx_uint_t                    i;
    ngx_pool_t                   *pool;
    ngx_guildlog_pieces_t        *pieces;
    ngx_guildlog_places_t         places;
    ngx_guildlog_pieces_entry_t   entry;

    static const struct {
        int64_t      n;
        const char  *what;
        const char  *types;
        const char  *doc;
        const char  *said;
    } bad[] = {
        { 0, "", NULL, NULL, NULL },
        { 0, "x", NULL, NULL, NULL },
        { 3, "c", "\x19", NULL, NULL },
        { 3, "c", "\xc3\xa4", NULL, NULL },
        { 0, "w", "\xc3\xa4", NULL, NULL },
        { 3, "d", NULL, "{255}", NULL },
        { 3, "d", NULL, "{99999999999999999999}", NULL },
        { 0, "h", NULL, "", "" },
        { 5, "h", NULL, NULL, NULL },
        { 5, "h", NULL, "a", "b" },
        { 2 << 16 | 1, "e", NULL, "a\nb", "a\nb" },
        { 2, "e", "\x1a", "a\nb", "a\nb" },
    };

    pool = tap_pool();

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pieces = ngx_guildlog_pieces_create(pool);
        tap_ok(add(pieces, bad[i].n, bad[i].what, bad[i].types, bad[i].doc,
                   bad[i].said) == NGX_DECLINED, "no piece: %u", (unsigned) i);
    }

    pieces = ngx_guildlog_pieces_create(pool);
    (void) add(pieces, 2, "e", NULL, "{\"id\":\"1\"", "2");
    tap_is(ngx_guildlog_pieces_next(pieces, &entry), NGX_DECLINED,
           "a block of fewer lines");

    pieces = ngx_guildlog_pieces_create(pool);
    (void) add(pieces, 1, "h", NULL, "{\"type\":1", "2");
    tap_is(ngx_guildlog_pieces_next(pieces, &entry), NGX_DECLINED,
           "an entry without an id");

    pieces = ngx_guildlog_pieces_create(pool);
    (void) add(pieces, 0, "r", NULL, "7 1 4 2 99", NULL);
    tap_is(ngx_guildlog_pieces_places(pieces, &places), NGX_DECLINED,
           "a place of five words");

    ngx_destroy_pool(pool);
}


int
main(void)
{
    ngx_uint_t  i;

    tap_start();
    srandom(1);

    for (i = 0; i < 300; i++) {
        test_random();
    }

    test_places();
    test_bad();

    return tap_done();
}
