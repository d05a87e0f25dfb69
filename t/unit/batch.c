
/*
 * Links ngx_guildlog_batch.c, ngx_guildlog_entry.c, ngx_guildlog_args.c,
 * ngx_guildlog_value.c and ngx_guildlog_json.c.
 *
 * Whatever a batch holds, what goes to SQL is a JSON array with a place for
 * every entry: as it was sent, or the reason why it is refused.
 */

#include "ngx_guildlog_batch.h"
#include "ngx_guildlog_entry.h"
#include "tap.h"


#define NOW  1790000000000

#define ONE  "{\"event_id\":\"1\",\"type\":5}"
#define TWO  "{ \"event_id\": \"2\" , \"type\": 5 }"
#define MANY "{\"server\":\"12345678901234567\",\"event_id\":\"1\",\"type\":5}"


typedef struct {
    const char  *what;
    ngx_uint_t   ndjson;
    ngx_uint_t   many;
    const char  *body;
    ngx_int_t    rc;
    const char  *expected;   /* the array, or the error */
} case_t;


static const case_t  cases[] = {
    { "an array", 0, 0, "[" ONE "," TWO "]", NGX_OK, "[" ONE "," TWO "]" },
    { "white space", 0, 0, " [ " ONE " ] ", NGX_OK, " [ " ONE " ] " },
    { "an empty one", 0, 0, "[]", NGX_OK, "[]" },
    { "a bad entry first", 0, 0, "[1," ONE "," TWO "]", NGX_OK,
      "[\"entry: must be a JSON object\"," ONE "," TWO "]" },
    { "last", 0, 0, "[" ONE "," TWO ", {} ]", NGX_OK,
      "[" ONE "," TWO ",\"event_id: is required\"]" },
    { "brackets in strings", 0, 0,
      "[{\"event_id\":\"]}\\\",[{\\\\\",\"type\":5},{}]", NGX_OK,
      "[{\"event_id\":\"]}\\\",[{\\\\\",\"type\":5},"
      "\"event_id: is required\"]" },
    { "brackets in entries", 0, 0,
      "[{\"event_id\":\"1\",\"type\":5,\"messages\":[{\"attachments\":[]},{}]},"
      "null,[[],{}]]", NGX_OK,
      "[{\"event_id\":\"1\",\"type\":5,\"messages\":[{\"attachments\":[]},{}]},"
      "\"entry: must be a JSON object\",\"entry: must be a JSON object\"]" },
    { "a name with quotes", 0, 0, "[{\"a\\\"b\":1}]", NGX_OK,
      "[\"a\\\"b: unknown field\"]" },
    { "no array", 0, 0, ONE, NGX_DECLINED, "body: must be an array" },
    { "broken", 0, 0, "[" ONE ",", NGX_DECLINED, "body: ends too early" },
    { "a number out of range", 0, 0,
      "[" ONE ",{\"event_id\":\"1\",\"type\":5,\"count\":1e999}," TWO "]",
      NGX_OK,
      "[" ONE ",\"count: the number is out of range\"," TWO "]" },
    { "a NUL", 0, 0, "[{\"event_id\":\"\\u0000\",\"type\":5}," ONE "]", NGX_OK,
      "[\"event_id: must not contain NUL\"," ONE "]" },
    /* what JSON.stringify() makes of a text cut within an emoji */
    { "half a character", 0, 0,
      "[" ONE ",{\"event_id\":\"\\ud83d\",\"type\":5}," TWO "]", NGX_OK,
      "[" ONE ",\"event_id: \\\\u is not followed by a character\"," TWO "]" },
    { "it and broken", 0, 0, "[{\"a\":1e999}", NGX_DECLINED,
      "body[0].a: the number is out of range" },
    { "it and a string without an end", 0, 0, "[{\"a\":1e999},\"x]\\",
      NGX_DECLINED, "body[0].a: the number is out of range" },
    { "it and a bracket too many", 0, 0, "[{\"a\":1e999}]]", NGX_DECLINED,
      "body[0].a: the number is out of range" },
    { "it and an end of another kind", 0, 0, "[{\"a\":1e999}," ONE "}",
      NGX_DECLINED, "body: brackets do not match" },
    { "it and one in an entry", 0, 0, "[{\"a\":1e999},{\"b\":[}]}]",
      NGX_DECLINED, "body: brackets do not match" },
    { "it and another array", 0, 0, "[{\"a\":1e999}],[1]", NGX_DECLINED,
      "body[0].a: the number is out of range" },
    /* was a jump through a null pointer: where would the entries begin? */
    { "it and no array", 0, 0, "1e999,1", NGX_DECLINED,
      "body: must be a JSON object or array" },
    { "it in an object", 0, 0, "{\"a\":1e999,\"b\":1}", NGX_DECLINED,
      "a: the number is out of range" },
    { "a key twice", 0, 0, "[{\"type\":5,\"type\":5}]", NGX_DECLINED,
      "body[0].type: given twice" },

    { "lines", 1, 0, ONE "\n" TWO, NGX_OK, "[" ONE "," TWO "]" },
    { "their ends", 1, 0, "\r\n" ONE " \r\n\t\n" TWO "\n\n", NGX_OK,
      "[" ONE "," TWO "]" },
    { "none", 1, 0, " \n", NGX_OK, "[]" },
    { "a broken line", 1, 0, "{\n" ONE "\n" TWO "x\n5", NGX_OK,
      "[\"body: ends too early\"," ONE ",\"body: something stands behind its "
      "end\",\"body: must be a JSON object or array\"]" },
    { "a key twice in a line", 1, 0, "{\"type\":5,\"type\":5}\n" ONE, NGX_OK,
      "[\"type: given twice\"," ONE "]" },

    { "many servers", 0, 1, "[" MANY "," ONE "]", NGX_OK,
      "[" MANY ",\"server: is required\"]" },
    { "one server", 0, 0, "[" MANY "]", NGX_OK,
      "[\"server: unknown field\"]" },
};


static void
test_cases(void)
{
    ngx_int_t    rc;
    ngx_str_t    body, array, error;
    ngx_uint_t   i;
    ngx_pool_t  *pool;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pool = tap_pool();
        body = tap_str(cases[i].body);

        rc = ngx_guildlog_batch(pool, &body, cases[i].ndjson, cases[i].many,
                                NOW, &array, &error);

        tap_is(rc, cases[i].rc, cases[i].what);
        tap_is_str(rc == NGX_OK ? &array : &error, cases[i].expected,
                   cases[i].what);

        ngx_destroy_pool(pool);
    }
}


/* an entry whose text is that long, in an array or in a line */

static void
test_size(size_t size, ngx_uint_t ndjson, const char *expected)
{
    size_t       len;
    ngx_str_t    body, array, error;
    ngx_pool_t  *pool;

    static const char  head[] = "{\"event_id\":\"1\",\"type\":5,"
                                "\"messages\":[";
    static const char  item[] = "{},";

    pool = tap_pool();

    body.data = ngx_pnalloc(pool, size + 2);
    body.len = 0;

    if (!ndjson) {
        body.data[body.len++] = '[';
    }

    ngx_memcpy(body.data + body.len, head, sizeof(head) - 1);
    body.len += sizeof(head) - 1;

    len = size + !ndjson - (sizeof("{}]}") - 1);

    while (body.len + sizeof(item) - 1 <= len) {
        ngx_memcpy(body.data + body.len, item, sizeof(item) - 1);
        body.len += sizeof(item) - 1;
    }

    while (body.len < len) {
        body.data[body.len++] = ' ';
    }

    ngx_memcpy(body.data + body.len, "{}]}", 4);
    body.len += 4;

    if (!ndjson) {
        body.data[body.len++] = ']';
    }

    tap_is(ngx_guildlog_batch(pool, &body, ndjson, 0, NOW, &array, &error),
           NGX_OK, "a long entry");
    tap_ok(ngx_strnstr(array.data, (char *) expected, array.len) != NULL,
           "%lu bytes", size);

    ngx_destroy_pool(pool);
}


static void
test_number(ngx_uint_t n, ngx_uint_t ndjson, ngx_int_t rc)
{
    u_char      *p;
    ngx_uint_t   i;
    ngx_str_t    body, array, error;
    ngx_pool_t  *pool;

    pool = tap_pool();

    p = ngx_pnalloc(pool, n * sizeof(ONE) + 2);
    body.data = p;

    for (i = 0; i < n; i++) {
        *p++ = ndjson ? '\n' : i ? ',' : '[';
        p = ngx_cpymem(p, ONE, sizeof(ONE) - 1);
    }

    if (!ndjson) {
        *p++ = ']';
    }

    body.len = p - body.data;

    tap_is(ngx_guildlog_batch(pool, &body, ndjson, 0, NOW, &array, &error),
           rc, "so many entries");

    if (rc == NGX_DECLINED) {
        tap_is_str(&error, "body: must have at most 1000 entries",
                   "are too many");
    }

    ngx_destroy_pool(pool);
}


static void
test_time(int64_t at, ngx_uint_t good)
{
    u_char       buf[128];
    ngx_str_t    body, array, error;
    ngx_pool_t  *pool;

    pool = tap_pool();

    body.data = buf;
    body.len = ngx_sprintf(buf, "[{\"event_id\":\"1\",\"type\":5,"
                                "\"timestamp\":%L}]", at) - buf;

    (void) ngx_guildlog_batch(pool, &body, 0, 0, NOW, &array, &error);

    tap_is(array.data[1] == '{', good, "a time");

    ngx_destroy_pool(pool);
}


static void
test_counts(void)
{
    ngx_str_t   text;
    ngx_uint_t  i, n[NGX_GUILDLOG_ENTRY_LAST];

    text = tap_str("{\"recorded\": 7, \"filter\": 2, \"other\": 9}");
    ngx_guildlog_entry_counts(&text, n);

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        tap_is(n[i], i == NGX_GUILDLOG_ENTRY_RECORDED ? 7
                     : i == NGX_GUILDLOG_DROP_FILTER ? 2 : 0,
               ngx_guildlog_entry_outcomes[i]);
    }

    ngx_str_null(&text);
    ngx_guildlog_entry_counts(&text, n);
    tap_is(n[0], 0, "no counts");
}


int
main(void)
{
    tap_start();

    test_cases();

    test_size(65536, 0, "event_id");
    test_size(65537, 0, "entry: must be at most 65536 bytes");
    test_size(65536, 1, "event_id");
    test_size(65537, 1, "entry: must be at most 65536 bytes");

    test_number(1000, 0, NGX_OK);
    test_number(1001, 0, NGX_DECLINED);
    test_number(1000, 1, NGX_OK);
    test_number(1001, 1, NGX_DECLINED);

    test_time(NOW + 60000, 1);
    test_time(NOW + 60001, 0);
    test_time(NOW - (int64_t) 30 * 86400 * 1000, 1);
    test_time(NOW - (int64_t) 30 * 86400 * 1000 - 1, 0);

    test_counts();

    return tap_done();
}
