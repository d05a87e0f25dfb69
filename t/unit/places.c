
/*
 * Links ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_pieces.c, ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * The delivery of an entry is what became of its place in a lane: decided in
 * a range of places, or as far as the lane has come.
 */

#include "log/ngx_guildlog_pieces.h"
#include "tap.h"


static ngx_guildlog_places_range_t  room[1000];


static ngx_guildlog_places_t
none(void)
{
    ngx_guildlog_places_t  ranges;

    ngx_memzero(&ranges, sizeof(ngx_guildlog_places_t));
    ranges.elts = room;

    return ranges;
}


static void
add(ngx_guildlog_places_t *ranges, int64_t lane, int64_t first, int64_t last,
    const char *message)
{
    ngx_guildlog_places_range_t  range;

    range.lane = lane;
    range.first = first;
    range.last = last;
    range.status = 2;
    ngx_str_null(&range.reason);
    range.message = tap_str(message);

    ngx_guildlog_places_add(ranges, &range);
}


/* "2 message", "1 reason", or "?" where nothing is known */

static void
is(const ngx_guildlog_places_t *ranges, int64_t lane, int64_t place,
    const char *expected)
{
    u_char                              text[64], *p;
    const ngx_guildlog_places_range_t  *range;

    range = ngx_guildlog_places_find(ranges, lane, place);

    p = range ? ngx_sprintf(text, "%ui %V", range->status,
                            range->reason.data ? &range->reason
                                               : &range->message)
              : ngx_sprintf(text, "?");

    tap_ok((size_t) (p - text) == ngx_strlen(expected)
           && ngx_memcmp(text, expected, p - text) == 0,
           "place %lld of lane %lld: %s", (long long) place,
           (long long) lane, expected);
}


static void
test_nothing(void)
{
    ngx_guildlog_places_t  ranges;

    ranges = none();
    ngx_guildlog_places_sort(&ranges);

    is(&ranges, 1, 1, "?");
}


static void
test_ranges(void)
{
    ngx_guildlog_places_t  ranges;

    ranges = none();

    add(&ranges, 7, 21, 30, "third");
    add(&ranges, 5, 11, 20, "other");
    add(&ranges, 7, 1, 10, "first");
    add(&ranges, 7, 11, 11, "second");
    add(&ranges, 7, 21, 30, "third");
    add(&ranges, 7, 41, 40, "empty");

    tap_is(ranges.n, 5, "an empty range is left out");
    tap_is(ranges.longest, sizeof("second") - 1, "the longest text");

    ngx_guildlog_places_sort(&ranges);

    is(&ranges, 7, 0, "?");
    is(&ranges, 7, 1, "2 first");
    is(&ranges, 7, 10, "2 first");
    is(&ranges, 7, 11, "2 second");
    is(&ranges, 7, 12, "?");
    is(&ranges, 7, 20, "?");
    is(&ranges, 7, 21, "2 third");
    is(&ranges, 7, 30, "2 third");
    is(&ranges, 7, 31, "?");
    is(&ranges, 7, 40, "?");
    is(&ranges, 5, 10, "?");
    is(&ranges, 5, 11, "2 other");
    is(&ranges, 5, 21, "?");
    is(&ranges, 4, 11, "?");
    is(&ranges, 6, 11, "?");
    is(&ranges, 8, 11, "?");
}


static void
test_lanes(void)
{
    ngx_guildlog_places_t  ranges;

    ranges = none();

    add(&ranges, 1, 4, 6, "sent");
    ngx_guildlog_places_add_lane(&ranges, 1, 6, 8, 10);  /* tried again */
    ngx_guildlog_places_add_lane(&ranges, 2, 6, 9, 8);   /* all once more */
    ngx_guildlog_places_add_lane(&ranges, 3, 6, 6, 0);   /* nothing to do */
    ngx_guildlog_places_add_lane(&ranges, 4, 6, 6, 9);   /* refused, waits */
    ngx_guildlog_places_add_lane(&ranges, 5, 0, 0, 0);   /* new */
    ngx_guildlog_places_sort(&ranges);

    is(&ranges, 1, 3, "?");
    is(&ranges, 1, 6, "2 sent");
    is(&ranges, 1, 7, "1 in_flight");
    is(&ranges, 1, 8, "1 in_flight");
    is(&ranges, 1, 9, "0 retrying");
    is(&ranges, 1, 10, "0 retrying");
    is(&ranges, 1, 11, "0 queued");
    is(&ranges, 1, INT64_MAX, "0 queued");
    is(&ranges, 2, 6, "?");
    is(&ranges, 2, 7, "1 in_flight");
    is(&ranges, 2, 9, "1 in_flight");
    is(&ranges, 2, 10, "0 queued");
    is(&ranges, 3, 6, "?");
    is(&ranges, 3, 7, "0 queued");
    is(&ranges, 4, 7, "0 retrying");
    is(&ranges, 4, 9, "0 retrying");
    is(&ranges, 4, 10, "0 queued");
    is(&ranges, 5, 1, "0 queued");
    is(&ranges, 6, 1, "?");
}


/* each place of a hundred lanes, added in any order */

static void
test_many(void)
{
    int64_t                lane, place;
    ngx_uint_t             i, wrong;
    ngx_guildlog_places_t  ranges;

    ranges = none();

    for (i = 0; i < 1000; i++) {
        lane = (i * 37 % 1000) / 10;
        place = (i * 37 % 1000) % 10;
        add(&ranges, lane, place * 4 + 1, place * 4 + 3, "m");
    }

    ngx_guildlog_places_sort(&ranges);

    wrong = 0;

    for (lane = 0; lane < 100; lane++) {
        for (place = 1; place <= 40; place++) {
            if ((ngx_guildlog_places_find(&ranges, lane, place) == NULL)
                != (place % 4 == 0))
            {
                wrong++;
            }
        }
    }

    tap_is(wrong, 0, "a thousand ranges");
}


int
main(void)
{
    tap_start();

    test_nothing();
    test_ranges();
    test_lanes();
    test_many();

    return tap_done();
}
