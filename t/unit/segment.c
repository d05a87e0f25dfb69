
/*
 * Links ngx_guildlog_build.c, ngx_guildlog_find.c, ngx_guildlog_fold.c,
 * ngx_guildlog_fold_table.c, ngx_guildlog_json.c, ngx_guildlog_match.c,
 * ngx_guildlog_segment.c and ngx_guildlog_utf8.c.
 *
 * A segment is stored as it is specified; whatever is stored instead is an
 * error or an answer, never a crash.
 */

#include <ngx_config.h>
#include "entries.h"
#include "tap.h"


#define FIRST  (ENTRIES_DAY * NGX_GUILDLOG_SEGMENT_DAY)


static ngx_pool_t  *pool;


static ngx_guildlog_build_t *
built(const char **docs, ngx_uint_t n)
{
    ngx_str_t              doc;
    ngx_uint_t             i;
    ngx_guildlog_build_t  *build;

    build = ngx_guildlog_build_create(&tap_log);

    for (i = 0; i < n; i++) {
        doc = tap_str(docs[i]);

        if (ngx_guildlog_build_add(build, &doc) != NGX_OK) {
            abort();
        }
    }

    while (ngx_guildlog_build_write(build) == NGX_AGAIN) { /* void */ }

    return build;
}


static uint32_t
place(const ngx_guildlog_segment_t *segment, ngx_uint_t part)
{
    return ngx_guildlog_segment_get32(segment->dir.data + 4 * part);
}


static void
is_part(const ngx_guildlog_segment_t *segment, ngx_uint_t part,
    const char *expected, size_t len, const char *what)
{
    uint32_t  from, to;

    from = place(segment, part);
    to = place(segment, part + 1);

    tap_ok(to - from == len
           && ngx_memcmp(segment->body.data + from, expected, len) == 0,
           "%s", what);
}


/* each byte by hand: what is stored has to be read by later releases */

static void
test_format(void)
{
    u_char                         doc[3][512];
    uint32_t                       hash;
    const char                    *docs[3];
    ngx_guildlog_build_t          *build;
    const ngx_guildlog_segment_t  *segment;

    ngx_sprintf(doc[0], "{\"id\":\"%L\",\"type\":7,\"role\":\"Mod\","
                "\"content\":\"A\"%Z", FIRST + 0x010203);
    ngx_sprintf(doc[1], "{\"id\":\"%L\",\"type\":3,\"channel\":"
                "{\"id\":\"258\",\"name\":\"x\"},\"content\":\"a b a\"%Z",
                FIRST + NGX_GUILDLOG_SEGMENT_DAY - 1);
    ngx_sprintf(doc[2], "{\"id\":\"%L\",\"type\":7,\"name\":\"X\","
                "\"role\":\"\"%Z", FIRST);

    docs[0] = (char *) doc[0];
    docs[1] = (char *) doc[1];
    docs[2] = (char *) doc[2];

    build = built(docs, 3);
    segment = build->segments->elts;

    tap_is(build->segments->nelts, 1, "a segment");
    tap_is(segment->day, ENTRIES_DAY, "its day");
    tap_is(segment->n, 3, "its entries");
    tap_ok(segment->kinds.len == 10
           && ngx_memcmp(segment->kinds.data, "\3\1\0\0\0\7\3\0\0\0", 10) == 0,
           "its types");
    tap_is(segment->dir.len, 4 * 6, "a directory of one bucket");
    tap_is(place(segment, 5), segment->body.len, "it ends with the body");

    is_part(segment, NGX_GUILDLOG_SEGMENT_IDS,
            "\xff\xff\xff\xff\x96\x49\x01" "\0\0\0\0\0\0\0"
            "\3\2\1\0\0\0\0", 21, "ids by type and id");
    is_part(segment, NGX_GUILDLOG_SEGMENT_STRINGS,
            "\2\0\0\0" "\1\0\0\0" "\0\0\0\0" "\5\0\0\0" "mod\0x", 22,
            "each string once");
    is_part(segment, NGX_GUILDLOG_SEGMENT_POSTINGS, "\1\2\2\0\0", 5,
            "which entries have them");
    is_part(segment, NGX_GUILDLOG_SEGMENT_ROLES,
            "\2\0\0\0" "\3mod\1\2" "\0\1\1", 13, "roles, an empty one, too");
    is_part(segment, NGX_GUILDLOG_SEGMENT_BUCKET,
            "\1" "a\2\0\1" "\1" "b\1\0" "\x9\1\0\0\0\0\0\0\1\2\1\0", 21,
            "words and a channel");

    hash = ngx_guildlog_segment_hash((u_char *) "a", 1);
    tap_is(hash, 0xaf63dc4c ^ 0x8601ec8c, "the hash of a term");

    tap_is(ngx_guildlog_segment_buckets(1), 1, "buckets of 1 entry");
    tap_is(ngx_guildlog_segment_buckets(16), 1, "buckets of 16");
    tap_is(ngx_guildlog_segment_buckets(17), 2, "buckets of 17");
    tap_is(ngx_guildlog_segment_buckets(16384), 256, "buckets of the most");

    ngx_guildlog_build_destroy(build);
}


/* do the blob and its shape tell of the segments, one behind the other? */

static ngx_uint_t
is_stored(const ngx_guildlog_build_t *build)
{
    u_char                        *p, shape[256], *last;
    ngx_uint_t                     i;
    const ngx_guildlog_segment_t  *segment;

    p = build->blob.data;
    last = ngx_sprintf(shape, "{");
    segment = build->segments->elts;

    for (i = 0; i < build->segments->nelts; i++, segment++) {
        if (segment->kinds.data != p
            || segment->dir.data != p + segment->kinds.len
            || segment->body.data != segment->dir.data + segment->dir.len)
        {
            return 0;
        }

        p = segment->body.data + segment->body.len;

        last = ngx_sprintf(last, "%s%D,%ui,%uz,%uz,%uz", i ? "," : "",
                           segment->day, segment->n, segment->kinds.len,
                           segment->dir.len, segment->body.len);
    }

    last = ngx_sprintf(last, "}");

    return build->blob.len == (size_t) (p - build->blob.data)
           && build->shape.len == (size_t) (last - shape)
           && ngx_memcmp(build->shape.data, shape, last - shape) == 0;
}


/* days, documents that are none, more entries than a segment has */

static void
test_build(void)
{
    u_char                         doc[128];
    int64_t                        id;
    ngx_str_t                      text;
    ngx_uint_t                     i, full, pieces;
    ngx_guildlog_build_t          *build;
    const ngx_guildlog_segment_t  *segment;

    build = ngx_guildlog_build_create(&tap_log);

    tap_is(ngx_guildlog_build_write(build), NGX_OK, "nothing to write");
    tap_is(build->segments->nelts, 0, "is no segment");
    tap_ok(is_stored(build), "... and no bytes");

    ngx_guildlog_build_destroy(build);
    build = ngx_guildlog_build_create(&tap_log);

    text = tap_str("{\"id\":\"1\",\"type\":102");
    tap_is(ngx_guildlog_build_add(build, &text), NGX_DECLINED,
           "an unknown type is no document");
    text = tap_str("{\"id\":\"1\",\"type\":1,\"name\":\"\\x\"");
    tap_is(ngx_guildlog_build_add(build, &text), NGX_DECLINED,
           "nor is a string that is no JSON");

    full = 0;
    text.data = doc;

    for (i = 0; i <= NGX_GUILDLOG_SEGMENT_ENTRIES; i++) {
        id = FIRST + NGX_GUILDLOG_SEGMENT_DAY - 1 - i;
        text.len = ngx_sprintf(doc, "{\"id\":\"%L\",\"type\":%ui", id, i % 102)
                   - doc;

        if (ngx_guildlog_build_add(build, &text) != NGX_OK) {
            abort();
        }

        full += !build->full;
    }

    tap_is(full, NGX_GUILDLOG_SEGMENT_ENTRIES - 1, "full with so many");

    text.len = ngx_sprintf(doc, "{\"id\":\"%L\",\"type\":1", FIRST - 1) - doc;
    (void) ngx_guildlog_build_add(build, &text);

    pieces = 1;

    while (ngx_guildlog_build_write(build) == NGX_AGAIN) {
        pieces++;
    }

    tap_ok(pieces > 2, "they are written in pieces");

    segment = build->segments->elts;
    tap_is(build->segments->nelts, 3, "three segments");
    tap_is(segment[0].n, NGX_GUILDLOG_SEGMENT_ENTRIES, "one is full");
    tap_is(segment[1].n, 1, "the next has the rest");
    tap_is(segment[1].day, ENTRIES_DAY, "of the same day");
    tap_is(segment[2].day, ENTRIES_DAY - 1, "another has the day before");

    tap_ok(is_stored(build), "one behind the other, as they are stored");

    ngx_guildlog_build_destroy(build);
}


/* a search looks through strings and their postings in one go: few enough */

static void
test_look(void)
{
    u_char                        *p, doc[4096];
    ngx_str_t                      text;
    ngx_uint_t                     i, k, how, n, wrong;
    ngx_guildlog_build_t          *build;
    const ngx_guildlog_segment_t  *segment;

    static const struct {
        const char  *what;
        const char  *string;
        ngx_uint_t   entries;
        ngx_uint_t   segments;
    } tests[] = {
        { "long names, each of one entry", ",\"name\":\"%0120ui\"", 6000, 3 },
        { "roles", ",\"role\":\"%0120ui\"", 3000, 3 },
        { "short names", ",\"name\":\"%ui\"", 6000, 1 },
        { "many strings of each entry", ",\"changes\":[", 6000, 3 }
    };

    text.data = doc;

    for (how = 0; how < sizeof(tests) / sizeof(tests[0]); how++) {
        build = ngx_guildlog_build_create(&tap_log);

        for (i = 0; i < tests[how].entries; i++) {
            p = ngx_sprintf(doc, "{\"id\":\"%L\",\"type\":1", FIRST + i);
            p = ngx_sprintf(p, tests[how].string, i);

            for (k = 0; how == 3 && k < 100; k++) {
                p = ngx_sprintf(p, "%s{\"new\":\"%ui\"}", k ? "," : "", k);
            }

            text.len = ngx_sprintf(p, how == 3 ? "]" : "") - doc;

            if (ngx_guildlog_build_add(build, &text) != NGX_OK) {
                abort();
            }
        }

        while (ngx_guildlog_build_write(build) == NGX_AGAIN) { /* void */ }

        segment = build->segments->elts;
        n = 0;
        wrong = 0;

        for (i = 0; i < build->segments->nelts; i++, segment++) {
            wrong += place(segment, NGX_GUILDLOG_SEGMENT_ROLES)
                     - place(segment, NGX_GUILDLOG_SEGMENT_STRINGS) > 340000
                     || place(segment, NGX_GUILDLOG_SEGMENT_BUCKET)
                        - place(segment, NGX_GUILDLOG_SEGMENT_ROLES) > 340000;
            n += segment->n;
        }

        tap_is(build->segments->nelts, tests[how].segments, tests[how].what);
        tap_is(n, tests[how].entries, "... each entry once");
        tap_is(wrong, 0, "... in segments that are small enough");

        ngx_guildlog_build_destroy(build);
    }
}


static void
test_sets(void)
{
    uint64_t    bits[4];
    ngx_int_t   last;
    ngx_uint_t  i, k, n, from, to, wrong;

    wrong = 0;

    for (i = 0; i < 2000; i++) {
        ngx_memzero(bits, sizeof(bits));

        for (k = entries_random(40); k; k--) {
            ngx_guildlog_segment_set(bits, entries_random(256));
        }

        from = entries_random(257);
        to = from + entries_random(257 - from);
        last = NGX_DONE;
        n = 0;

        for (k = from; k < to; k++) {
            if (ngx_guildlog_segment_has(bits, k)) {
                last = k;
                n++;
            }
        }

        k = ngx_guildlog_segment_count(bits, 0, 256);

        wrong += ngx_guildlog_segment_count(bits, from, to) != n
                 || ngx_guildlog_segment_last(bits, from, to) != last;

        ngx_guildlog_segment_clear(bits, from, to);

        wrong += ngx_guildlog_segment_count(bits, 0, 256) != k - n
                 || ngx_guildlog_segment_count(bits, from, to) != 0;
    }

    tap_is(wrong, 0, "sets of ordinals");
}


static void
test_numbers(void)
{
    u_char          buf[8];
    uint64_t        bits;
    ngx_str_t       s;
    ngx_uint_t      i;
    const u_char   *p;

    static const uint32_t  sizes[] = { 0, 0x7f, 0x80, 0x3fff, 0x4000 };

    static const struct {
        const char  *bytes;
        size_t       len;
        ngx_int_t    rc;
    } tests[] = {
        { "", 0, NGX_ERROR }, { "\0", 1, NGX_OK }, { "\1", 1, NGX_ERROR },
        { "\1x", 2, NGX_OK }, { "\x80", 1, NGX_ERROR },
        { "\x81\0x", 3, NGX_OK }, { "\x80\x80\x80\x80\x80\0", 6, NGX_ERROR },
        { "\xff\xff\xff\xff\x7f", 5, NGX_ERROR }
    }, postings[] = {
        { "", 0, NGX_OK }, { "\0", 1, NGX_OK }, { "\x3f", 1, NGX_OK },
        { "\x3f\0", 2, NGX_ERROR }, { "\x40", 1, NGX_ERROR },
        { "\0\x80", 2, NGX_ERROR }, { "\x81\0", 2, NGX_OK },
        { "\x80\x80\x80\0", 4, NGX_ERROR }
    };

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        tap_is(ngx_guildlog_segment_put(buf, sizes[i]) - buf,
               ngx_guildlog_segment_size(sizes[i]), "a varint and its size");
    }

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        p = (u_char *) tests[i].bytes;
        tap_is(ngx_guildlog_segment_bytes(&p, p + tests[i].len, &s),
               tests[i].rc, "bytes behind their number");
    }

    for (i = 0; i < sizeof(postings) / sizeof(postings[0]); i++) {
        bits = 0;
        s.data = (u_char *) postings[i].bytes;
        s.len = postings[i].len;
        tap_is(ngx_guildlog_segment_postings(&s, 64, &bits), postings[i].rc,
               "postings of 64 entries");
    }
}


/* queries of one segment, whatever it is made of; how many were answered */

static ngx_uint_t
ask(const ngx_guildlog_segment_t *segment, ngx_uint_t queries)
{
    u_char                 types[NGX_GUILDLOG_TYPES];
    ngx_uint_t             answered;
    ngx_pool_t            *temp;
    ngx_guildlog_find_t   *find;
    ngx_guildlog_match_t   match;

    answered = 0;

    while (queries--) {
        temp = tap_pool();
        entries_query(temp, &match, types);
        find = ngx_guildlog_find_create(temp, &match,
                                        entries_random(2) ? 0 : entries_end(),
                                        entries_random(2) ? INT64_MAX
                                                          : entries_end(),
                                        INT64_MAX, 3);
        answered += (ngx_guildlog_find_segment(find, 0, segment->day,
                                               segment->n, &segment->kinds,
                                               &segment->dir)
                     == NGX_OK
                     && entries_find(find, segment, 1) == NGX_OK);

        ngx_destroy_pool(temp);
    }

    return answered;
}


static void
test_bad(void)
{
    entry_t                  entry;
    ngx_str_t                none, *parts[3];
    ngx_uint_t               i, k, part, bit, asked, answered;
    ngx_guildlog_build_t    *build;
    ngx_guildlog_segment_t   segment;

    build = ngx_guildlog_build_create(&tap_log);
    ngx_str_null(&none);

    for (i = 0; i < 20; i++) {
        entries_make(pool, &entry, FIRST + 1000 * i + entries_random(1000), 4,
                     &none);
        (void) ngx_guildlog_build_add(build, &entry.text);
    }

    while (ngx_guildlog_build_write(build) == NGX_AGAIN) { /* void */ }

    segment = *(ngx_guildlog_segment_t *) build->segments->elts;

    tap_is(ask(&segment, 200), 200, "a good one answers");

    parts[0] = &segment.kinds;
    parts[1] = &segment.dir;
    parts[2] = &segment.body;

    asked = 0;
    answered = 0;

    for (part = 0; part < 3; part++) {
        for (i = 0; i < parts[part]->len; i++) {
            for (bit = 0; bit < 9; bit++) {
                k = (bit == 8) ? 0xff : 1 << bit;

                parts[part]->data[i] ^= k;
                answered += ask(&segment, 10);
                parts[part]->data[i] ^= k;

                asked += 10;
            }
        }
    }

    tap_ok(answered > 0 && answered < asked,
           "%d of %d with one byte changed answer", (int) answered,
           (int) asked);

    for (i = 0; i < 3; i++) {
        parts[i]->len--;
        tap_ok(ask(&segment, 100) < 100, "a part that is too short");
        parts[i]->len++;
    }

    segment.n++;
    tap_is(ask(&segment, 10), 0, "another number of entries");
    segment.n--;
    segment.day = -1;
    tap_is(ask(&segment, 10), 0, "a day before all time");

    ngx_guildlog_build_destroy(build);
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    test_format();
    test_build();
    test_look();
    test_sets();
    test_numbers();
    test_bad();

    ngx_destroy_pool(pool);

    return tap_done();
}
