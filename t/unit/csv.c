
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c, ngx_guildlog_csv.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * "CSV columns in order … RFC 4180 with a header row, UTF-8, CRLF; a cell a
 * spreadsheet would run as a formula gets a leading apostrophe."
 */

#include "log/ngx_guildlog_csv.h"
#include "log/ngx_guildlog_language.h"
#include "tap.h"


typedef struct {
    const char  *doc;
    const char  *row;      /* without its line end */
} case_t;


#define HEAD      "\"id\":\"9\",\"type\":5,\"timestamp\":1700000000007"
#define FRONT     "2023-11-14T22:13:20.007Z,9,5,Message deleted,"
#define SAID      FRONT "A message was deleted"
#define BACK      ",delivered,,,,"

static const case_t  cases[] = {

    { HEAD, SAID ",,,,,,,,,,,," BACK },

    { HEAD ",\"executor\":{\"id\":\"1\",\"name\":\"Al\"},"
      "\"target\":{\"id\":\"2\",\"name\":\"Bo\"},"
      "\"channel\":{\"id\":\"3\",\"name\":\"c\"},\"role\":\"r\","
      "\"name\":\"n\",\"reason\":\"why\",\"count\":-4,\"content\":\"a\","
      "\"contentAfter\":\"b\"",
      FRONT "Al deleted a message by Bo in #c,"
      "1,Al,2,Bo,3,c,r,n,why,-4,a,b" BACK },

    /* what has no name, and who is nobody */

    { HEAD ",\"executor\":{\"id\":\"1\",\"name\":\"\"},\"target\":null",
      FRONT "1 deleted a message,1,,,,,,,,,,," BACK },
    { HEAD ",\"executor\":{\"id\":\"0\",\"name\":\"\"}",
      SAID ",0,,,,,,,,,,," BACK },
    { HEAD ",\"executor\":{\"id\":\"1\",\"name\":\"Al\"},"
      "\"target\":{\"id\":\"1\",\"name\":\"Al\"}",
      FRONT "Al deleted a message,1,Al,1,Al,,,,,,,," BACK },

    /* RFC 4180 */

    { HEAD ",\"content\":\"a,b\"", SAID ",,,,,,,,,,,\"a,b\"," BACK },
    { HEAD ",\"content\":\"\\\"\"", SAID ",,,,,,,,,,,\"\"\"\"," BACK },
    { HEAD ",\"content\":\"a\\r\\nb\"",
      SAID ",,,,,,,,,,,\"a\r\nb\"," BACK },
    { HEAD ",\"content\":\" a \"", SAID ",,,,,,,,,,, a ," BACK },
    { HEAD ",\"content\":\"\\u00e4\\ud83d\\ude00\\t\"",
      SAID ",,,,,,,,,,,\"\xc3\xa4\xf0\x9f\x98\x80\t\"," BACK },
    { HEAD ",\"target\":{\"id\":\"2\",\"name\":\"x,\\\"y\\\"\"}",
      FRONT "\"A message by x,\"\"y\"\" was deleted\",,,2,"
      "\"x,\"\"y\"\"\",,,,,,,," BACK },

    /* formulas */

    { HEAD ",\"content\":\"=1\"", SAID ",,,,,,,,,,,'=1," BACK },
    { HEAD ",\"content\":\"+1\"", SAID ",,,,,,,,,,,'+1," BACK },
    { HEAD ",\"content\":\"-1\"", SAID ",,,,,,,,,,,'-1," BACK },
    { HEAD ",\"content\":\"@a\"", SAID ",,,,,,,,,,,'@a," BACK },
    { HEAD ",\"content\":\"\\t=\"", SAID ",,,,,,,,,,,\"'\t=\"," BACK },
    { HEAD ",\"content\":\"\\r=\"",
      SAID ",,,,,,,,,,,\"'\r=\"," BACK },
    { HEAD ",\"content\":\"=a,b\"",
      SAID ",,,,,,,,,,,\"'=a,b\"," BACK },
    { HEAD ",\"content\":\"\xef\xbc\x9d" "1\"",
      SAID ",,,,,,,,,,,'\xef\xbc\x9d" "1," BACK },
    { HEAD ",\"content\":\"a=1\"", SAID ",,,,,,,,,,,a=1," BACK },
    { HEAD ",\"executor\":{\"id\":\"1\",\"name\":\"=Al\"}",
      FRONT "'=Al deleted a message,1,'=Al,,,,,,,,,," BACK },

    /* what happened, and what changed */

    { HEAD ",\"action\":\"a\",\"value\":\"-v\"",
      SAID ",,,,,,,,,,,,,delivered,,a,'-v," },
    { HEAD ",\"value\":null,\"changes\":[{\"key\": \"nick\", \"new\": "
      "\"=B\\\"\", \"old\": \"A, b\"}, {\"key\": \"nsfw\", \"new\": true, "
      "\"old\": false}],\"until\":null,\"role_id\":null,\"image\":null",
      SAID ",,,,,,,,,,,,,delivered,,,,"
      "\"Nickname: A, b \xe2\x86\x92 =B\"\"; "
      "Age-restricted: no \xe2\x86\x92 yes\"" },
    { HEAD ",\"value\":null,\"changes\":[{\"key\": \"=x\", \"new\": 0.5, "
      "\"old\": null}, {\"key\": \"$add\", \"new\": [{\"id\": \"7\", "
      "\"name\": \"Mod\"}, {\"id\": \"8\"}], \"old\": null}, "
      "{\"key\": \"communication_disabled_until\", "
      "\"new\": \"2026-11-24T00:00:00+01:00\", \"old\": null}]",
      SAID ",,,,,,,,,,,,,delivered,,,,"
      "\"'=x: 0.5; Roles: + Mod, + 8; "
      "Timed out until: 2026-11-23T23:00:00.000Z\"" },
    { HEAD ",\"value\":null,\"changes\":[]",
      SAID ",,,,,,,,,,,,,delivered,,,," }
};


static ngx_guildlog_csv_t  csv;


/* the row by a writer that has to grow; empty: the document is no entry */

static ngx_str_t
row_of(ngx_pool_t *pool, const ngx_str_t *doc, const ngx_str_t *status,
    const ngx_str_t *reason)
{
    ngx_str_t            row;
    ngx_guildlog_json_t  out;

    ngx_str_set(&row, "");
    ngx_guildlog_json_init(&out, pool, 16);

    if (ngx_guildlog_csv_row(&csv, &out, doc, status, reason) == NGX_OK) {
        (void) ngx_guildlog_json_written(&out, &row);
    }

    return row;
}


static void
test_rows(ngx_pool_t *pool)
{
    ngx_str_t   doc, status, reason, row;
    ngx_uint_t  i;
    char        want[1024];

    status = tap_str("delivered");
    ngx_str_null(&reason);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        doc.data = ngx_palloc(pool, 1024);
        doc.len = ngx_sprintf(doc.data, "{%s", cases[i].doc) - doc.data;

        row = row_of(pool, &doc, &status, &reason);

        snprintf(want, sizeof(want), "%s\r\n", cases[i].row);
        tap_is_str(&row, want, cases[i].doc);
    }
}


/* as texts, for programs that would take them for numbers */

static void
test_text_ids(ngx_pool_t *pool)
{
    ngx_str_t  doc, status, reason, row;

    static const char  text[] =
        "{" HEAD ",\"target\":{\"id\":\"12345678901234567890\",\"name\":\"\"}";

    doc = tap_str(text);
    status = tap_str("delivered");
    ngx_str_null(&reason);

    csv.text_ids = 1;

    row = row_of(pool, &doc, &status, &reason);

    tap_is_str(&row, "2023-11-14T22:13:20.007Z,\"=\"\"9\"\"\",5,"
               "Message deleted,"
               "A message by 12345678901234567890 was deleted,,,"
               "\"=\"\"12345678901234567890\"\"\",,,,,,,,,,delivered,,,,\r\n",
               "ids as texts");

    csv.text_ids = 0;
}


/* an id has all permissions: no text grows more */

static void
test_changes_room(ngx_pool_t *pool)
{
    u_char     *p;
    ngx_str_t   doc, status, reason, row;
    ngx_uint_t  i;

    doc.data = ngx_palloc(pool, 65536);
    p = ngx_sprintf(doc.data, "{" HEAD ",\"changes\":[");

    for (i = 0; i < 25; i++) {
        p = ngx_sprintf(p, "%s{\"key\": \"%s\", "
                        "\"new\": \"9223372036854775807\", \"old\": \"\\\"\"}",
                        i ? ", " : "", i % 2 ? "permissions" : "\\\"");
    }

    p = ngx_sprintf(p, ", {\"key\": \"allow\", \"new\": 9223372036854775807}]");
    doc.len = p - doc.data;

    status = tap_str("delivered");
    ngx_str_null(&reason);

    for (i = 0; i < NGX_GUILDLOG_LOCALES; i++) {
        csv.locale = i;
        row = row_of(pool, &doc, &status, &reason);
        tap_ok(row.len > doc.len, "all permissions, in words");
    }

    csv.locale = 0;
}


/* each sentence in each language, with all that it has places for */

static void
test_sentences(ngx_pool_t *pool)
{
    ngx_str_t   doc, status, reason, row;
    ngx_uint_t  locale, type, wrong;

    doc.data = ngx_palloc(pool, 1024);

    status = tap_str("not_delivered");
    reason = tap_str("channel_gone");

    for (locale = 0; locale < NGX_GUILDLOG_LOCALES; locale++) {
        csv.locale = locale;
        csv.text_ids = 1;
        wrong = 0;

        for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
            doc.len = ngx_sprintf(doc.data, "{\"id\":\"9\",\"type\":%ui,"
                         "\"executor\":{\"id\":\"1\"},"
                         "\"target\":{\"id\":\"2\"},"
                         "\"channel\":{\"id\":\"3\"},\"role\":\"r\","
                         "\"name\":\"n\",\"count\":-9223372036854775807,"
                         "\"emoji\":{\"name\":\"e\"},\"action\":\"a\","
                         "\"value\":\"v\",\"until\":1", type) - doc.data;

            row = row_of(pool, &doc, &status, &reason);
            wrong += (row.len == 0);
        }

        tap_is(wrong, 0, "each sentence is there");
    }

    csv.locale = 0;
    csv.text_ids = 0;
}


/* the longest row: every text grows by quotes */

static void
test_room(ngx_pool_t *pool)
{
    u_char     *p;
    ngx_str_t   doc, status, reason, row;
    ngx_uint_t  i;

    doc.data = ngx_palloc(pool, 65536);
    p = ngx_sprintf(doc.data,
                    "{" HEAD ",\"target\":{\"id\":\"1\",\"name\":\"=");

    for (i = 0; i < 10000; i++) {
        *p++ = '\\';
        *p++ = '"';
    }

    p = ngx_sprintf(p, "\"}");
    doc.len = p - doc.data;

    status = tap_str("delivered");
    reason = tap_str("a reason far longer than any reason ought to be");

    row = row_of(pool, &doc, &status, &reason);

    tap_ok(row.len > 2 * 2 * 10000, "quotes are doubled, and the row grows");
}


static void
test_broken(ngx_pool_t *pool)
{
    ngx_str_t   doc, text, row;
    ngx_uint_t  i;

    static const char  *bad[] = {
        "", "[1", "{\"type\":102", "{\"type\":-1", "{\"type\":5,",
        "{\"type\":5,\"content\":\"\xff\""
    };

    text = tap_str("delivered");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        doc = tap_str(bad[i]);
        row = row_of(pool, &doc, &text, &text);
        tap_is(row.len, 0, bad[i]);
    }
}


int
main(void)
{
    ngx_pool_t  *pool;

    tap_start();

    pool = ngx_create_pool(65536, &tap_log);

    test_rows(pool);
    test_room(pool);
    test_text_ids(pool);
    test_changes_room(pool);
    test_sentences(pool);
    test_broken(pool);

    ngx_destroy_pool(pool);

    return tap_done();
}
