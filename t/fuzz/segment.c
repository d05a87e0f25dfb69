
/*
 * Links ngx_guildlog_build.c, ngx_guildlog_find.c, ngx_guildlog_fold.c,
 * ngx_guildlog_fold_table.c, ngx_guildlog_json.c, ngx_guildlog_match.c,
 * ngx_guildlog_segment.c and ngx_guildlog_utf8.c.
 *
 * Any document: a segment that is made of it answers as the document does.  Any
 * segment: a query of it ends, and never wants more than it has.
 */

#include "base/ngx_guildlog.h"
#include "search/ngx_guildlog_build.h"
#include "search/ngx_guildlog_find.h"
#include "fuzz.h"


static ngx_int_t
fuzz_find(ngx_guildlog_find_t *find, const ngx_guildlog_segment_t *segment)
{
    u_char                *copy;
    ngx_int_t              rc;
    ngx_str_t              bytes;
    ngx_uint_t             i, turns;
    ngx_guildlog_slice_t  *slice;

    if (ngx_guildlog_find_segment(find, 0, segment->day, segment->n,
                                  &segment->kinds, &segment->dir)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    for (turns = 0; /* void */ ; turns++) {
        fuzz_expect(turns < 100);

        rc = ngx_guildlog_find_wants(find);

        if (rc == NGX_BUSY) {
            continue;
        }

        if (rc != NGX_AGAIN) {
            fuzz_expect(rc == NGX_OK || find->bad);
            return rc;
        }

        fuzz_expect(find->slices.nelts);

        for (i = 0; i < find->slices.nelts; i++) {
            slice = (ngx_guildlog_slice_t *) find->slices.elts + i;

            fuzz_expect(slice->from + (size_t) slice->len
                        <= NGX_GUILDLOG_SEGMENT_BODY);

            if (slice->from + (size_t) slice->len > segment->body.len) {
                return NGX_ERROR;
            }

            bytes.len = slice->len;
            copy = malloc(bytes.len + (bytes.len == 0));
            ngx_memcpy(copy, segment->body.data + slice->from, bytes.len);
            bytes.data = copy;
            rc = ngx_guildlog_find_slice(find, i, &bytes);
            free(copy);

            if (rc != NGX_OK) {
                fuzz_expect(find->bad);
                return rc;
            }
        }
    }
}


static ngx_guildlog_find_t *
fuzz_query(ngx_pool_t *pool, ngx_guildlog_match_t *match, ngx_uint_t what,
    const ngx_str_t *search)
{
    ngx_guildlog_find_t  *find;

    ngx_guildlog_match_init(match);

    if (what & 1) {
        fuzz_expect(ngx_guildlog_match_search(match, pool, search) == NGX_OK);
    }

    if (what & 2) {
        fuzz_expect(ngx_guildlog_match_role(match, pool, search) == NGX_OK);
    }

    match->channel = (what & 4) ? 9 : NGX_GUILDLOG_MATCH_NONE;
    match->member = (what & 8) ? 7 : NGX_GUILDLOG_MATCH_NONE;
    match->side = (what >> 4) % 3;

    find = ngx_guildlog_find_create(pool, match, 0, INT64_MAX,
                                    (what & 64) ? 1000 : INT64_MAX, 2);
    fuzz_expect(find);

    return find;
}


/* the bytes are a document */

static void
fuzz_doc(ngx_pool_t *pool, ngx_uint_t what, const ngx_str_t *search,
    const ngx_str_t *text)
{
    ngx_int_t                  rc;
    ngx_guildlog_find_t       *one, *two;
    ngx_guildlog_build_t      *build;
    ngx_guildlog_match_t       match;
    ngx_guildlog_match_doc_t   doc;

    /* what the database stores is such text */

    if (ngx_guildlog_utf8_valid(text->data, text->len) < text->len
        || ngx_guildlog_utf8_valid(search->data, search->len) < search->len
        || ngx_guildlog_match_doc_read(&doc, text) != NGX_OK)
    {
        return;
    }

    build = ngx_guildlog_build_create(pool->log);
    fuzz_expect(build);

    if (ngx_guildlog_build_add(build, text) == NGX_OK) {

        while ((rc = ngx_guildlog_build_write(build)) == NGX_AGAIN) {
            /* void */
        }

        fuzz_expect(rc == NGX_OK && build->segments->nelts == 1);

        one = fuzz_query(pool, &match, what, search);
        two = fuzz_query(pool, &match, what, search);

        fuzz_expect(ngx_guildlog_find_doc(one, doc.id, text) == NGX_OK);

        if (doc.id < INT64_MAX) {
            fuzz_expect(fuzz_find(two, build->segments->elts) == NGX_OK);
            fuzz_expect(ngx_memcmp(one->counts, two->counts,
                                   sizeof(one->counts)) == 0);
            fuzz_expect(ngx_memcmp(one->rest, two->rest, sizeof(one->rest))
                        == 0);
            fuzz_expect(one->nids == two->nids);
            fuzz_expect(one->nids == 0 || one->ids[0] == two->ids[0]);
        }
    }

    ngx_guildlog_build_destroy(build);
}


/* the bytes are kinds, a directory and a body, each behind its length */

static void
fuzz_segment(ngx_pool_t *pool, ngx_uint_t what, const ngx_str_t *search,
    const ngx_str_t *text)
{
    size_t                   len;
    u_char                  *p;
    ngx_uint_t               n;
    ngx_guildlog_match_t     match;
    ngx_guildlog_segment_t   segment;

    p = text->data;
    len = text->len;

    segment.day = 0;
    segment.n = 1 + fuzz_pick(&p, &len, 64);

    n = fuzz_pick(&p, &len, 256);
    segment.kinds.data = p;
    segment.kinds.len = ngx_min(n, len);
    p += segment.kinds.len;
    len -= segment.kinds.len;

    n = fuzz_pick(&p, &len, 256);
    segment.dir.data = p;
    segment.dir.len = ngx_min(n, len);
    p += segment.dir.len;
    len -= segment.dir.len;

    segment.body.data = p;
    segment.body.len = len;

    (void) fuzz_find(fuzz_query(pool, &match, what, search), &segment);
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_str_t   search, text;
    ngx_uint_t  what;

    what = fuzz_pick(&p, &len, 256);
    search = fuzz_line(&p, &len);

    text.data = p;
    text.len = len;

    if (what & 128) {
        fuzz_segment(pool, what, &search, &text);

    } else {
        fuzz_doc(pool, what, &search, &text);
    }
}
