
/*
 * Links ngx_guildlog_segment.c.
 *
 * Segments become two arguments: five numbers for each, and their bytes.
 */

#include "search/ngx_guildlog_segment.h"
#include "tap.h"


/* bytes of a body: more than a piece */
#define BODY  100000


static ngx_pool_t  *pool;


static ngx_array_t *
segments(ngx_uint_t n)
{
    u_char                  *p;
    size_t                   len;
    ngx_uint_t               i;
    ngx_array_t             *array;
    ngx_guildlog_segment_t  *segment;

    array = ngx_array_create(pool, 1, sizeof(ngx_guildlog_segment_t));

    while (n--) {
        segment = ngx_array_push(array);
        len = array->nelts == 1 ? 2 : BODY;

        segment->day = (int32_t) array->nelts - 3;
        segment->n = array->nelts;
        ngx_str_set(&segment->kinds, "ab");
        ngx_str_set(&segment->dir, "\xff\x01z");

        p = ngx_palloc(pool, len);

        for (i = 0; i < len; i++) {
            p[i] = (u_char) (i * 7 + array->nelts);
        }

        segment->body.data = p;
        segment->body.len = len;
    }

    return array;
}


/* the bytes of these segments, as they should be */

static ngx_uint_t
matches(const ngx_str_t *blob, const ngx_array_t *array)
{
    u_char                  *p, *all;
    ngx_uint_t               i;
    ngx_guildlog_segment_t  *segment;

    segment = array->elts;
    p = all = ngx_palloc(pool, (BODY + 16) * array->nelts + 1);

    for (i = 0; i < array->nelts; i++) {
        p = ngx_cpymem(p, segment[i].kinds.data, segment[i].kinds.len);
        p = ngx_cpymem(p, segment[i].dir.data, segment[i].dir.len);
        p = ngx_cpymem(p, segment[i].body.data, segment[i].body.len);
    }

    return blob->len == (size_t) (p - all)
           && ngx_memcmp(blob->data, all, p - all) == 0;
}


static void
test_segments(ngx_uint_t n, const char *shape)
{
    ngx_int_t             rc;
    ngx_uint_t            pieces;
    ngx_array_t          *array;
    ngx_guildlog_pack_t  *pack;

    array = segments(n);
    pack = ngx_guildlog_pack_create(array, &tap_log);
    pieces = 0;

    do {
        rc = ngx_guildlog_pack_piece(pack);
        pieces++;
    } while (rc == NGX_AGAIN);

    tap_is(rc, NGX_OK, "segments are packed");
    tap_is_str(&pack->shape, shape, "their shape");
    tap_ok(matches(&pack->blob, array), "... and their bytes");
    tap_ok((pieces > 2) == (n > 1), "... in pieces where they are many");

    ngx_guildlog_pack_destroy(pack);
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    test_segments(0, "{}");
    test_segments(1, "{-2,1,2,3,2}");
    test_segments(3, "{-2,1,2,3,2,-1,2,2,3,100000,0,3,2,3,100000}");

    ngx_destroy_pool(pool);

    return tap_done();
}
