
/*
 * Links ngx_guildlog_batch.c, ngx_guildlog_entry.c,
 * ngx_guildlog_refusal.c, ngx_guildlog_value.c, ngx_guildlog_json.c and
 * ngx_guildlog_utf8.c.
 *
 * For any batch, SQL gets arrays with one element for every entry, and each
 * entry that is refused has its reason.
 */

#include "log/ngx_guildlog_batch.h"
#include "tap.h"


#define ONE  "{\"event_id\":\"1\",\"type\":5}"
#define TWO  "{ \"event_id\": \"2\" , \"type\": 5 }"
#define FIRST  NGX_GUILDLOG_COLUMN_EVENTS
#define MANY "{\"server\":\"12345678901234567\",\"event_id\":\"1\",\"type\":5}"


typedef struct {
    const char  *what;
    ngx_uint_t   ndjson;
    ngx_uint_t   many;
    const char  *body;
    ngx_int_t    rc;
    const char  *expected;   /* events and errors, or the error */
} case_t;


static const case_t  cases[] = {
    { "an array", 0, 0, "[" ONE "," TWO "]", NGX_OK, "{\"1\",\"2\"} []" },
    { "white space", 0, 0, " [ " ONE " ] ", NGX_OK, "{\"1\"} []" },
    { "an empty one", 0, 0, "[]", NGX_OK, "{} []" },
    { "a bad entry first", 0, 0, "[1," ONE "," TWO "]", NGX_OK,
      "{null,\"1\",\"2\"} "
      "[{\"index\":0,\"error\":\"entry: must be a JSON object\","
      "\"code\":\"wrong_type\",\"field\":\"entry\"}]" },
    { "last", 0, 0, "[" ONE "," TWO ", {} ]", NGX_OK,
      "{\"1\",\"2\",null} "
      "[{\"index\":2,\"error\":\"event_id: is required\","
      "\"code\":\"required\",\"field\":\"event_id\"}]" },
    { "brackets in strings", 0, 0,
      "[{\"event_id\":\"]}\\\",[{\\\\\",\"type\":5},{\"count\":1e999}]", NGX_OK,
      "{\"]}\\\",[{\\\\\",null} "
      "[{\"index\":1,\"error\":\"count: the number is out of range\","
      "\"code\":\"out_of_range\",\"field\":\"count\"}]" },
    { "brackets in entries", 0, 0,
      "[{\"event_id\":\"1\",\"type\":5,\"messages\":[{\"attachments\":[]},{}]},"
      "null,[[],{}],1e999]", NGX_OK,
      "{\"1\",null,null,null} "
      "[{\"index\":1,\"error\":\"body: must be a JSON object or array\","
      "\"code\":\"wrong_type\",\"field\":\"body\"},"
      "{\"index\":2,\"error\":\"entry: must be a JSON object\","
      "\"code\":\"wrong_type\",\"field\":\"entry\"},"
      "{\"index\":3,\"error\":\"body: must be a JSON object or array\","
      "\"code\":\"wrong_type\",\"field\":\"body\"}]" },
    { "a name with quotes", 0, 0, "[{\"a\\\"b\":1}]", NGX_OK,
      "{null} [{\"index\":0,\"error\":\"a\\\"b: unknown field\","
      "\"code\":\"unknown_field\",\"field\":\"a\\\"b\"}]" },
    { "what an array of SQL would not take as it is", 0, 0,
      "[{\"event_id\":\"NULL\",\"type\":5},"
      "{\"event_id\":\"a,{}\\n\",\"type\":5}]", NGX_OK,
      "{\"NULL\",\"a,{}\n\"} []" },
    { "no array", 0, 0, ONE, NGX_DECLINED, "body: must be an array" },
    { "broken", 0, 0, "[" ONE ",", NGX_DECLINED, "body: ends too early" },
    { "a number out of range", 0, 0,
      "[" ONE ",{\"event_id\":\"1\",\"type\":5,\"count\":1e999}," TWO "]",
      NGX_OK, "{\"1\",null,\"2\"} "
      "[{\"index\":1,\"error\":\"count: the number is out of range\","
      "\"code\":\"out_of_range\",\"field\":\"count\"}]" },
    { "a NUL", 0, 0, "[{\"event_id\":\"\\u0000\",\"type\":5}," ONE "]", NGX_OK,
      "{null,\"1\"} "
      "[{\"index\":0,\"error\":\"event_id: must not contain NUL\","
      "\"code\":\"has_nul\",\"field\":\"event_id\"}]" },
    { "a NUL in a name", 0, 0, "[{\"a\\u0000\":1}," ONE "]", NGX_OK,
      "{null,\"1\"} [{\"index\":0,\"error\":"
      "\"a\\\\u0000: must not contain NUL\","
      "\"code\":\"has_nul\",\"field\":\"a\\\\u0000\"}]" },
    /* the output of JSON.stringify() for a text cut inside an emoji */
    { "half a character", 0, 0,
      "[" ONE ",{\"event_id\":\"\\ud83d\",\"type\":5}," TWO "]", NGX_OK,
      "{\"1\",null,\"2\"} [{\"index\":1,\"error\":"
      "\"event_id: \\\\u is not followed by a character\","
      "\"code\":\"not_utf8\",\"field\":\"event_id\"}]" },
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
    /* once wrote beyond the array of open brackets */
    { "it and brackets too deep", 0, 0,
      "[1e999,[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]", NGX_DECLINED,
      "body: nested deeper than 16 levels" },
    { "it and another array", 0, 0, "[{\"a\":1e999}],[1]", NGX_DECLINED,
      "body[0].a: the number is out of range" },
    /* once called a null pointer: the entries have no beginning */
    { "it and no array", 0, 0, "1e999,1", NGX_DECLINED,
      "body: must be a JSON object or array" },
    { "it in an object", 0, 0, "{\"a\":1e999,\"b\":1}", NGX_DECLINED,
      "a: the number is out of range" },
    { "a key twice", 0, 0, "[{\"type\":5,\"type\":5}]", NGX_DECLINED,
      "body[0].type: given twice" },

    { "lines", 1, 0, ONE "\n" TWO, NGX_OK, "{\"1\",\"2\"} []" },
    { "their ends", 1, 0, "\r\n" ONE " \r\n\t\n" TWO "\n\n", NGX_OK,
      "{\"1\",\"2\"} []" },
    { "none", 1, 0, " \n", NGX_OK, "{} []" },
    { "a broken line", 1, 0, "{\n" ONE "\n" TWO "x\n5", NGX_OK,
      "{null,\"1\",null,null} "
      "[{\"index\":0,\"error\":\"body: ends too early\","
      "\"code\":\"not_json\",\"field\":\"body\"},"
      "{\"index\":2,\"error\":\"body: something stands behind its end\","
      "\"code\":\"not_json\",\"field\":\"body\"},"
      "{\"index\":3,\"error\":\"body: must be a JSON object or array\","
      "\"code\":\"wrong_type\",\"field\":\"body\"}]" },
    { "a key twice in a line", 1, 0, "{\"type\":5,\"type\":5}\n" ONE, NGX_OK,
      "{null,\"1\"} [{\"index\":0,\"error\":\"type: given twice\","
      "\"code\":\"given_twice\",\"field\":\"type\"}]" },

    { "many servers", 0, 1, "[" MANY "," ONE "]", NGX_OK,
      "{\"1\",null} [{\"index\":1,\"error\":\"server: is required\","
      "\"code\":\"required\",\"field\":\"server\"}]" },
    { "one server", 0, 0, "[" MANY "]", NGX_OK,
      "{null} [{\"index\":0,\"error\":\"server: unknown field\","
      "\"code\":\"unknown_field\",\"field\":\"server\"}]" },
};


/* the bytes of a batch that are read at a time */

static size_t  turn = 1;


static ngx_int_t
read_batch(ngx_pool_t *pool, const ngx_str_t *body, ngx_uint_t ndjson,
    ngx_uint_t many, ngx_str_t *columns, ngx_str_t *error)
{
    ngx_int_t              rc;
    ngx_uint_t             turns;
    ngx_guildlog_batch_t  *b;

    b = ngx_guildlog_batch_create(pool, body, ndjson, many, NULL, NULL);
    turns = 0;

    do {
        rc = ngx_guildlog_batch_read(b, turn, columns, error);

        if (++turns > 2 * body->len + 3) {
            tap_ok(0, "reading comes to an end");
            return NGX_ERROR;
        }

    } while (rc == NGX_AGAIN);

    return rc;
}


static ngx_int_t
batch(ngx_pool_t *pool, const char *text, ngx_uint_t ndjson, ngx_uint_t many,
    ngx_str_t *columns, ngx_str_t *error)
{
    ngx_str_t  body;

    body = tap_str(text);

    return read_batch(pool, &body, ndjson, many,
                      columns + (many ? 0 : FIRST), error);
}


static void
test_cases(void)
{
    ngx_int_t    rc;
    ngx_str_t    columns[NGX_GUILDLOG_COLUMN_LAST], error, got;
    ngx_uint_t   i;
    ngx_pool_t  *pool;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pool = tap_pool();

        rc = batch(pool, cases[i].body, cases[i].ndjson, cases[i].many,
                   columns, &error);
        got = error;

        if (rc == NGX_OK) {
            got.data = ngx_pnalloc(pool, 4096);
            got.len = ngx_sprintf(got.data, "%V %V",
                                  &columns[NGX_GUILDLOG_COLUMN_EVENTS],
                                  &columns[NGX_GUILDLOG_COLUMN_ERRORS])
                      - got.data;
        }

        tap_is(rc, cases[i].rc, cases[i].what);
        tap_is_str(&got, cases[i].expected, cases[i].what);

        ngx_destroy_pool(pool);
    }
}


/*
 * What the columns have of an entry that says everything, one that says
 * nothing and one that is bad.  t/record/record.t holds the documents against
 * those of the SQL function.
 */

static void
test_columns(void)
{
    ngx_str_t    columns[NGX_GUILDLOG_COLUMN_LAST], error;
    ngx_uint_t   i;
    ngx_pool_t  *pool;

    static const char  text[] =
        "[{\"server\":\"12345678901234567\",\"bot\":\"pro\","
        "\"event_id\":\"a\",\"type\":5,\"timestamp\":1790000000000,"
        "\"executor\":{\"id\":\"07\",\"name\":\"A\\n\",\"bot\":false,"
        "\"avatar\":\"a_0f\","
        "\"roles\":[\"1\",\"2\"]},"
        "\"target\":{\"id\":\"8\",\"bot\":true,\"roles\":[]},"
        "\"channel\":{\"id\":\"3\",\"name\":\"c\",\"parent\":\"4\","
        "\"category\":\"5\"},"
        "\"role\":\"r\\\"\",\"name\":\"n\",\"reason\":\"[1] r\",\"count\":4,"
        "\"content\":\"\\u0001\\t\\/\",\"contentAfter\":\"\","
        "\"messages\":[{\"authorId\":\"2\",\"content\":null,\"id\":\"9\","
        "\"attachments\":[{\"size\":7,\"name\":\"f\"}],\"timestamp\":1},{}],"
        "\"emoji\":{\"animated\":true,\"name\":\"e\",\"id\":\"6\"},"
        "\"action\":\"act\",\"value\":\"v\",\"proxied\":true},"
        "{\"server\":\"12345678901234568\",\"event_id\":\"b\\\"\",\"type\":7,"
        "\"executor\":null},{}]";

    static const char  *expected[] = {
        "{12345678901234567,12345678901234568,null}",
        "{1,null,null}",
        "{\"a\",\"b\\\"\",null}",
        "{5,7,null}",
        "{1790000000000,null,null}",
        "{07,null,null}",
        "{false,null,null}",
        "{\"{1,2}\",null,null}",
        "{8,null,null}",
        "{true,null,null}",
        "{\"{}\",null,null}",
        "{3,null,null}",
        "{4,null,null}",
        "{5,null,null}",
        "{true,null,null}",
        "{1}",
        NULL,
        "\"executor\":{\"id\":\"07\",\"name\":\"A\\n\","
        "\"avatar\":\"a_0f\"},"
        "\"target\":{\"id\":\"8\",\"name\":\"\"},"
        "\"channel\":{\"id\":\"3\",\"name\":\"c\"},\"role\":\"r\\\"\","
        "\"name\":\"n\",\"reason\":\"[1] r\",\"count\":4,"
        "\"content\":\"\\u0001\\t/\",\"contentAfter\":\"\","
        "\"messages\":[{\"id\": \"9\", \"content\": null, "
        "\"authorId\": \"2\", \"timestamp\": 1, "
        "\"attachments\": [{\"name\": \"f\", \"size\": 7}]}, {}],"
        "\"messagesTruncated\":null,"
        "\"emoji\":{\"id\": \"6\", \"name\": \"e\", \"animated\": true},"
        "\"action\":\"act\",\"value\":\"v\"\n"
        "\"executor\":null,\"target\":null,\"channel\":null,\"role\":null,"
        "\"name\":null,\"reason\":null,\"count\":null,\"content\":null,"
        "\"contentAfter\":null,\"messages\":[],\"messagesTruncated\":null,"
        "\"emoji\":null,\"action\":null,\"value\":null\n",
        "[{\"index\":2,\"error\":\"server: is required\","
      "\"code\":\"required\",\"field\":\"server\"}]"
    };

    pool = tap_pool();

    tap_is(batch(pool, text, 0, 1, columns, &error), NGX_OK, "columns");

    for (i = 0; i < NGX_GUILDLOG_COLUMN_LAST; i++) {
        if (expected[i]) {
            tap_is_str(&columns[i], expected[i], "a column");
        } else {
            tap_ok(columns[i].data == NULL, "a column that says nothing");
        }
    }

    ngx_destroy_pool(pool);
}


/* an entry with more messages than are kept is named, with their number */

static void
test_crowded(ngx_uint_t n, const char *places)
{
    u_char      *p;
    ngx_str_t    columns[NGX_GUILDLOG_COLUMN_LAST], error, *got, *docs;
    ngx_uint_t   i;
    ngx_pool_t  *pool;
    u_char       buf[4096];

    pool = tap_pool();

    p = ngx_sprintf(buf, "[" ONE ",{\"event_id\":\"2\",\"type\":3,"
                         "\"messages\":[{}");

    for (i = 1; i < n; i++) {
        p = ngx_sprintf(p, ",{}");
    }

    *ngx_sprintf(p, "]}]") = '\0';

    tap_is(batch(pool, (char *) buf, 0, 0, columns, &error), NGX_OK,
           "messages");

    got = &columns[NGX_GUILDLOG_COLUMN_CROWDED];

    if (places) {
        tap_is_str(got, places, "too many messages");
    } else {
        tap_ok(got->data == NULL, "not too many messages");
    }

    docs = &columns[NGX_GUILDLOG_COLUMN_DOCS];

    for (i = 0, p = docs->data; p + 1 < docs->data + docs->len; p++) {
        i += (p[0] == '{' && p[1] == '}');
    }

    tap_is(i, n, "all of them are there");

    ngx_destroy_pool(pool);
}


/* an entry with a text of that length, in an array or in a line */

static void
test_size(size_t size, ngx_uint_t ndjson, const char *expected)
{
    size_t       len;
    ngx_str_t    body, columns[NGX_GUILDLOG_COLUMN_LAST], error, *errors;
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

    tap_is(read_batch(pool, &body, ndjson, 0, columns + FIRST, &error),
           NGX_OK, "a long entry");

    errors = &columns[NGX_GUILDLOG_COLUMN_ERRORS];
    tap_ok(ngx_strnstr(errors->data, (char *) expected, errors->len) != NULL,
           "%lu bytes", size);

    ngx_destroy_pool(pool);
}


static void
test_number(ngx_uint_t n, ngx_uint_t ndjson, ngx_int_t rc)
{
    u_char      *p;
    ngx_uint_t   i;
    ngx_str_t    body, columns[NGX_GUILDLOG_COLUMN_LAST], error;
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

    tap_is(read_batch(pool, &body, ndjson, 0, columns + FIRST, &error), rc,
           "so many entries");

    if (rc == NGX_DECLINED) {
        tap_is_str(&error, "body: must have at most 1000 entries",
                   "are too many");
    }

    ngx_destroy_pool(pool);
}


static void
test_turns(void)
{
    ngx_str_t              body, columns[NGX_GUILDLOG_COLUMN_LAST], error;
    ngx_uint_t             i;
    ngx_pool_t            *pool;
    ngx_guildlog_batch_t  *b;

    pool = tap_pool();
    body = tap_str(ONE "\n" TWO "\n" ONE);
    b = ngx_guildlog_batch_create(pool, &body, 1, 0, NULL, NULL);

    for (i = 0; i < 3; i++) {
        tap_is(ngx_guildlog_batch_read(b, 1, columns + FIRST, &error),
               NGX_AGAIN, "an entry a turn");
    }

    tap_is(ngx_guildlog_batch_read(b, 1, columns + FIRST, &error), NGX_OK,
           "then that was all");
    tap_is_str(&columns[FIRST], "{\"1\",\"2\",\"1\"}", "each once");

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

    test_turns();
    test_cases();

    /* all at once */

    turn = 1024 * 1024;

    test_cases();
    test_columns();

    test_crowded(100, NULL);
    test_crowded(101, "{2}");

    test_size(65536, 0, "[]");
    test_size(65537, 0, "entry: must be at most 65536 bytes");
    test_size(65536, 1, "[]");
    test_size(65537, 1, "entry: must be at most 65536 bytes");

    test_number(1000, 0, NGX_OK);
    test_number(1001, 0, NGX_DECLINED);
    test_number(1000, 1, NGX_OK);
    test_number(1001, 1, NGX_DECLINED);

    test_counts();

    return tap_done();
}
