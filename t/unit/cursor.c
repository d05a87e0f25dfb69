
/*
 * Links ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_pieces.c, ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * "cursor: pass as cursor to get the next page": a cursor is the position and
 * nothing else; any other text is refused.
 */

#include "log/ngx_guildlog_pieces.h"
#include "tap.h"


static ngx_int_t
decode(const char *text, int64_t *id)
{
    ngx_str_t  cursor;

    cursor = tap_str(text);

    return ngx_guildlog_cursor_decode(&cursor, id);
}


static void
test_round_trip(void)
{
    u_char      buf[NGX_GUILDLOG_CURSOR_LEN], *end;
    int64_t     id;
    ngx_str_t   cursor;
    ngx_uint_t  i;

    static const int64_t  ids[] = {
        0, 1, 255, 256, 1573499834139148289, INT64_MAX - 1, INT64_MAX
    };

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        end = ngx_guildlog_cursor_encode(buf, ids[i]);

        cursor.data = buf;
        cursor.len = end - buf;
        id = -1;

        tap_is(cursor.len, NGX_GUILDLOG_CURSOR_LEN, "its length");
        tap_is(ngx_guildlog_cursor_decode(&cursor, &id), NGX_OK, "is read");
        tap_is(id, ids[i], "and says the same");
    }
}


static void
test_malformed(void)
{
    int64_t     id;
    ngx_uint_t  i;

    static const char  *bad[] = {
        "", "1", "1573499834139148289", "AQAAAAAAAAA", "AQAAAAAAAAAAA",
        "AgAAAAAAAAAA", "AAAAAAAAAAAA", "AYAAAAAAAAAA", "Af__________",
        "AQAAAAAA AAA", "AQAAAAAAAAA=", "AQAAAAAA+AAA", "AQAAAAAA/AAA",
        "AQAAAAAA\xc3\xa4" "A", "            "
    };

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tap_ok(decode(bad[i], &id) == NGX_DECLINED, "refused: \"%s\"",
               bad[i]);
    }

    tap_is(decode("AQAAAAAA-_AA", &id), NGX_OK, "the alphabet of URLs");
}


int
main(void)
{
    tap_start();

    test_round_trip();
    test_malformed();

    return tap_done();
}
