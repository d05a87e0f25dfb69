
/*
 * Links ngx_guildlog_build.c, ngx_guildlog_find.c, ngx_guildlog_fold.c,
 * ngx_guildlog_fold_table.c, ngx_guildlog_json.c, ngx_guildlog_match.c,
 * ngx_guildlog_segment.c and ngx_guildlog_utf8.c.
 *
 * A query of segments and of documents answers as a look at every document
 * does.
 */

#include <ngx_config.h>
#include "entries.h"
#include "tap.h"


/* how the entries are stored */

typedef struct {
    const char  *name;
    ngx_uint_t   entries;
    ngx_uint_t   queries;
    ngx_uint_t   words;      /* of a content, at most */
    ngx_uint_t   runs;       /* each makes segments of its own */
    ngx_uint_t   late;       /* of a hundred: not in the order of ids */
    ngx_uint_t   tail;       /* of a hundred: in no segment, the newest */
    ngx_uint_t   back;       /* of a hundred: in no segment, the oldest */
    ngx_uint_t   text;       /* bytes of random text instead */
} state_t;


static ngx_pool_t              *pool;
static entry_t                 *entries;
static ngx_uint_t               nentries;
static ngx_guildlog_segment_t  *segments;
static ngx_uint_t               nsegments;
static ngx_guildlog_build_t   **builds;

static ngx_str_t               *kept;     /* strings of segments */
static ngx_uint_t               asked;


static int
by_id(const void *one, const void *two)
{
    const entry_t  *first = one;
    const entry_t  *second = two;

    return (first->id > second->id) - (first->id < second->id);
}


static int
downwards(const void *one, const void *two)
{
    const int64_t  *first = one;
    const int64_t  *second = two;

    return (*first < *second) - (*first > *second);
}


static void
make_entries(const state_t *state)
{
    u_char      *p;
    ngx_str_t    text;
    ngx_uint_t   i, k;

    nentries = state->entries;
    entries = ngx_pcalloc(pool, nentries * sizeof(entry_t));
    p = ngx_pnalloc(pool, state->text);

    for (i = 0; i < nentries; i++) {
        entries[i].id = entries_id(state->entries > 5000
                                   ? 1 : entries_random(ENTRIES_DAYS));
    }

    qsort(entries, nentries, sizeof(entry_t), by_id);

    for (i = 1, k = 1; i < nentries; i++) {
        if (entries[i].id != entries[k - 1].id) {
            entries[k++].id = entries[i].id;
        }
    }

    nentries = k;

    for (i = 0; i < nentries; i++) {
        text.data = p;
        text.len = state->text;

        for (k = 0; k < state->text; k++) {
            p[k] = "abcdefghijklmnopqrst    "[entries_random(24)];
        }

        entries_make(pool, &entries[i], entries[i].id, state->words,
                     &text);

        entries[i].stored = (100 * i >= state->back * nentries
                             && 100 * i < (100 - state->tail) * nentries);
    }
}


static void
make_segments(const state_t *state)
{
    ngx_int_t     rc;
    ngx_uint_t    i, k, run, *runs;
    ngx_array_t  *built;

    builds = ngx_pcalloc(pool, state->runs * sizeof(ngx_guildlog_build_t *));
    runs = ngx_palloc(pool, nentries * sizeof(ngx_uint_t));

    for (i = 0; i < nentries; i++) {
        runs[i] = entries_random(100) < state->late
                  ? entries_random(state->runs) : i * state->runs / nentries;
    }

    nsegments = 0;
    segments = ngx_pcalloc(pool, nentries * sizeof(ngx_guildlog_segment_t));

    for (run = 0; run < state->runs; run++) {
        builds[run] = ngx_guildlog_build_create(&tap_log);

        for (i = 0; i < nentries; i++) {

            /* by id upwards, or downwards */

            k = (run % 2) ? i : nentries - 1 - i;

            if (runs[k] != run || !entries[k].stored) {
                continue;
            }

            if (ngx_guildlog_build_add(builds[run], &entries[k].text)
                != NGX_OK)
            {
                abort();
            }
        }

        do {
            rc = ngx_guildlog_build_write(builds[run]);
        } while (rc == NGX_AGAIN);

        built = builds[run]->segments;

        if (rc != NGX_OK || nsegments + built->nelts > nentries) {
            abort();
        }

        ngx_memcpy(segments + nsegments, built->elts,
                   built->nelts * sizeof(ngx_guildlog_segment_t));
        nsegments += built->nelts;
    }

    kept = ngx_pcalloc(pool, nsegments * sizeof(ngx_str_t));
}


static ngx_int_t
get(void *data, int64_t key, ngx_str_t *strings)
{
    /* now and then it has just been dropped */

    if (kept[key].len == 0 || ++asked % 7 == 0) {
        return NGX_DECLINED;
    }

    *strings = kept[key];

    return NGX_OK;
}


static void
put(void *data, int64_t key, int32_t day, const ngx_str_t *strings)
{
    if (segments[key].day != day) {
        abort();
    }

    kept[key].data = ngx_pnalloc(pool, strings->len);
    kept[key].len = strings->len;
    ngx_memcpy(kept[key].data, strings->data, strings->len);
}


/* what a query of all documents answers is what find does */

static ngx_uint_t
answers(const ngx_guildlog_match_t *match, u_char *shown, int64_t low,
    int64_t high, int64_t top, ngx_uint_t limit, ngx_uint_t keep)
{
    int64_t                   *ids;
    uint64_t                   counts[NGX_GUILDLOG_TYPES];
    uint64_t                   rest[NGX_GUILDLOG_TYPES];
    ngx_uint_t                 i, n, type, same;
    ngx_pool_t                *temp;
    ngx_guildlog_find_t       *find;

    temp = tap_pool();
    find = ngx_guildlog_find_create(temp, match, low, high, top, limit);
    find->shown = shown;

    if (keep) {
        find->strings_get = get;
        find->strings_put = put;
    }

    for (i = 0; i < nsegments; i++) {
        if (ngx_guildlog_find_segment(find, i, segments[i].day, segments[i].n,
                                      &segments[i].kinds, &segments[i].dir)
            != NGX_OK)
        {
            abort();
        }
    }

    ids = ngx_palloc(temp, nentries * sizeof(int64_t));
    ngx_memzero(counts, sizeof(counts));
    ngx_memzero(rest, sizeof(rest));
    n = 0;

    for (i = 0; i < nentries; i++) {

        if (!entries[i].stored
            && ngx_guildlog_find_doc(find, entries[i].id, &entries[i].text)
               != NGX_OK)
        {
            abort();
        }

        if (entries[i].id < low || entries[i].id >= high
            || !ngx_guildlog_match(match, &entries[i].doc))
        {
            continue;
        }

        type = entries[i].doc.type;
        counts[type]++;

        if (entries[i].id < top) {
            rest[type]++;

            if (shown == NULL || shown[type] == '1') {
                ids[n++] = entries[i].id;
            }
        }
    }

    qsort(ids, n, sizeof(int64_t), downwards);
    n = ngx_min(n, limit);

    same = (entries_find(find, segments, nsegments) == NGX_OK
            && ngx_memcmp(find->counts, counts, sizeof(counts)) == 0
            && ngx_memcmp(find->rest, rest, sizeof(rest)) == 0
            && find->nids == n
            && ngx_memcmp(find->ids, ids, n * sizeof(int64_t)) == 0);

    ngx_destroy_pool(temp);

    return same;
}


static void
test_state(const state_t *state)
{
    u_char                 types[NGX_GUILDLOG_TYPES];
    u_char                 shown[NGX_GUILDLOG_TYPES];
    int64_t                low, high, top;
    ngx_uint_t             i, k, limit, narrow, wrong, differ;
    ngx_guildlog_match_t   match;

    pool = tap_pool();

    make_entries(state);
    make_segments(state);

    wrong = 0;
    differ = 0;

    for (i = 0; i < state->queries; i++) {
        entries_query(pool, &match, types);

        for (k = 0; k < NGX_GUILDLOG_TYPES; k++) {
            shown[k] = entries_random(3) ? '1' : '0';
        }

        narrow = entries_random(3);
        low = entries_random(2) ? 0 : entries_end();
        high = entries_random(2) ? INT64_MAX : entries_end();
        top = entries_random(2) ? high : ngx_min(high, entries_end());
        limit = entries_random(8) ? 1 + entries_random(200)
                                  : 10000 * entries_random(2);

        wrong += !answers(&match, narrow ? shown : NULL, low, high, top,
                          limit, 0);
        differ += !answers(&match, narrow ? shown : NULL, low, high, top,
                           limit, 1);
    }

    tap_ok(wrong == 0, "%s: %d segments, %d queries, %d wrong", state->name,
           (int) nsegments, (int) state->queries, (int) wrong);
    tap_ok(differ == 0, "%s: the same with strings that are kept, %d wrong",
           state->name, (int) differ);

    for (i = 0; i < state->runs; i++) {
        ngx_guildlog_build_destroy(builds[i]);
    }

    ngx_destroy_pool(pool);
}


/* 100,000 entries within one hour, each with a reason of its own */

static void
make_crowd(void)
{
    u_char      *p;
    entry_t     *entry;
    ngx_uint_t   i;

    nentries = 100000;
    entries = ngx_pcalloc(pool, nentries * sizeof(entry_t));

    for (i = 0; i < nentries; i++) {
        entry = &entries[i];
        entry->id = ENTRIES_DAY * NGX_GUILDLOG_SEGMENT_DAY
                    + i * (NGX_GUILDLOG_SEGMENT_DAY / 24 / nentries);
        entry->stored = 1;

        p = ngx_pnalloc(pool, 128);
        entry->text.data = p;
        entry->text.len = ngx_sprintf(p, "{\"id\":\"%L\",\"type\":%ui,"
                                      "\"reason\":\"No%05ui\"", entry->id,
                                      i % 3, i) - p;

        p = ngx_pnalloc(pool, NGX_GUILDLOG_MATCH_SIZE(entry->text.len));

        if (ngx_guildlog_match_doc_read(&entry->doc, &entry->text) != NGX_OK
            || ngx_guildlog_match_doc_fold(&entry->doc, p) == NULL)
        {
            abort();
        }
    }
}


static void
test_crowd(void)
{
    ngx_str_t              search;
    ngx_uint_t             i;
    ngx_guildlog_match_t   match;

    static const state_t      state = { .runs = 1 };
    static const char *const  searches[] = {
        "no00000", "NO65536", "no99999", "6553", "o1234", "9", "no"
    };

    pool = tap_pool();

    make_crowd();
    make_segments(&state);

    for (i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
        search = tap_str(searches[i]);
        ngx_guildlog_match_init(&match);
        (void) ngx_guildlog_match_search(&match, pool, &search);

        tap_ok(answers(&match, NULL, 0, INT64_MAX, INT64_MAX, 100, i % 2),
               "\"%s\" in 100,000 reasons of one hour", searches[i]);
    }

    ngx_guildlog_build_destroy(builds[0]);
    ngx_destroy_pool(pool);
}


int
main(void)
{
    ngx_uint_t  i;

    static const state_t  states[] = {
        /* entries queries words runs late tail back text */
        { "one run", 400, 1000, 8, 1, 0, 0, 0, 0 },
        { "runs", 400, 1000, 8, 12, 0, 0, 0, 0 },
        { "late ones", 400, 1000, 8, 12, 20, 0, 0, 0 },
        { "a tail", 400, 1000, 8, 6, 5, 20, 0, 0 },
        { "half is made again", 400, 1000, 8, 6, 5, 5, 50, 0 },
        { "nothing but a tail", 400, 1000, 8, 1, 0, 100, 0, 0 },
        { "few entries", 7, 1000, 4, 2, 0, 20, 0, 0 },
        { "a large day", 36000, 30, 2, 2, 1, 1, 1, 0 },
        { "many long texts", 1500, 20, 2, 1, 0, 0, 0, 4000 },
        { "very long ones", 100, 50, 2, 1, 0, 0, 0, 100000 },
    };

    tap_start();

    for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        test_state(&states[i]);
    }

    test_crowd();

    return tap_done();
}
