
/*
 * Links ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * The error of a refused body names the field; what is written is JSON for any
 * strings.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog.h"
#include "tap.h"


typedef struct {
    const char  *text;
    const char  *error;   /* NULL: accepted */
} case_t;


static const case_t  cases[] = {

    { "{}", NULL },
    { "[]", NULL },
    { " \t\r\n{\"a\": [1, -2, 3.5, 1e2, true, false, null, \"x\"]} \n", NULL },
    { "{\"a\":\"\\u00e4\\ud83d\\ude00\\n\\\"\\\\\"}", NULL },
    { "{\"a\":\"\xf0\x9f\x98\x80\"}", NULL },
    { "{\"n\":9223372036854775807,\"m\":-9223372036854775808}", NULL },

    { "", "body: is required" },
    { " \n", "body: is required" },
    { "1", "body: must be a JSON object or array" },
    { "\"a\"", "body: must be a JSON object or array" },
    { "null", "body: must be a JSON object or array" },
    { "\xef\xbb\xbf{}", "body: must be a JSON object or array" },

    { "{\"a\":1", "body: ends too early" },
    { "[", "body: ends too early" },
    { "{} {}", "body: something stands behind its end" },
    { "{}x", "body: something stands behind its end" },
    { "{a:1}", "body: not valid JSON at line 1, column 2" },
    { "{\"a\":1,}", "body: not valid JSON at line 1, column 8" },
    { "{\n\"a\":tru}", "body: not valid JSON at line 2, column 7" },
    { "{\"a\":01}", "body: not valid JSON at line 1, column 6" },
    { "{\"a\":NaN}", "body: not valid JSON at line 1, column 8" },
    { "{'a':1}", "body: not valid JSON at line 1, column 2" },
    { "{\"a\":\"x\ty\"}", "body: not valid JSON at line 1, column 7" },
    { "[1}", "body: not valid JSON at line 1, column 3" },

    { "{\"count\":9223372036854775808}", "count: the number is out of range" },
    { "{\"a\":1,\"count\":-9223372036854775809}",
      "count: the number is out of range" },
    { "{\"a\":1,\"exp\":1e400,\"b\":2}", "exp: the number is out of range" },
    { "{\"a\":{\"x\":1,\"b\":[0,{\"c\":1e400}]}}",
      "a.b[1].c: the number is out of range" },
    { "[1,2,1e999]", "body[2]: the number is out of range" },
    { "{\"a,b:\\\"{\":1e999}", "a,b:\\\"{: the number is out of range" },

    { "{\"count\":1,\"count\":2}", "count: given twice" },
    { "{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", "a.b: given twice" },
    { "{\"a\":1,\"\\u0061\":2}", "\\u0061: given twice" },
    { "[{\"id\":1},{\"id\":1,\"id\":1}]", "body[1].id: given twice" },

    { "{\"a\":\"x\xff\"}", "a: is not valid UTF-8" },
    { "{\"a\":\"\xc0\x80\"}", "a: is not valid UTF-8" },
    { "{\"a\":\"\xed\xa0\x80\"}", "a: is not valid UTF-8" },
    { "{\"a\":\"\xf4\x90\x80\x80\"}", "a: is not valid UTF-8" },
    { "{\"a\":\"\xe2\x82\"}", "a: is not valid UTF-8" },
    { "{\"a\":1,\"b\xff\":2}", "body: is not valid UTF-8" },

    { "{\"a\":\"\\u0000\"}", "a: must not contain NUL" },
    { "{\"a\\u0000\":1}", "a\\u0000: must not contain NUL" },
    { "{\"a\":\"\\ud800\"}", "a: \\u is not followed by a character" },
    { "{\"a\":\"\\ud800\\u0041\"}", "a: \\u is not followed by a character" },
    { "{\"a\":\"\\udc00\"}", "a: \\u is not followed by a character" },

    { NULL, NULL }
};


static void
test_cases(void)
{
    json_t        *json;
    ngx_str_t      text, error;
    ngx_pool_t    *pool;
    const case_t  *c;

    for (c = cases; c->text; c++) {
        pool = tap_pool();
        text = tap_str(c->text);
        ngx_str_set(&error, "");

        json = ngx_guildlog_json_parse(pool, &text, &error);

        if (c->error) {
            tap_ok(json == NULL, "refused: %s", c->error);
            tap_is_str(&error, c->error, "in these words");

        } else {
            tap_ok(json != NULL, "accepted");
        }

        ngx_destroy_pool(pool);
    }
}


static void
test_raw_nul(void)
{
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    pool = tap_pool();
    ngx_str_set(&text, "{\"name\":\"a\0b\"}");

    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "a NUL byte is refused");
    tap_is_str(&error, "name: must not contain NUL", "with the field's name");

    ngx_str_set(&text, "{}\0");
    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "also behind the end");

    ngx_destroy_pool(pool);
}


/* a NUL and half a character; the rest stays as it is */

static void
test_answer(void)
{
    size_t       i;
    json_t      *json;
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    static const struct {
        const char  *text;
        const char  *value;
    } answers[] = {
        { "[\"a\\u0000b\"]", "a\xef\xbf\xbd" "b" },
        { "[\"\\ud83dx\"]", "\xef\xbf\xbd" "x" },
        { "[\"\\ud83d\\ud83d\\udc69\\udc69\"]",
          "\xef\xbf\xbd\xf0\x9f\x91\xa9\xef\xbf\xbd" },
        { "[\"\\u0000\\\\u0000\\n\\u00e9\"]",
          "\xef\xbf\xbd\\u0000\n\xc3\xa9" },
        { "[\"\\u0000\\u12\"]", NULL },
        { "[\"\\u0000\"", NULL }
    };

    pool = tap_pool();

    for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        text = tap_str(answers[i].text);
        json = ngx_guildlog_json_parse_answer(pool, &text, &error);

        if (answers[i].value) {
            text = ngx_guildlog_json_text(json_array_get(json, 0));
            tap_is_str(&text, answers[i].value, answers[i].text);

        } else {
            tap_ok(json == NULL && error.len, answers[i].text);
        }
    }

    ngx_destroy_pool(pool);
}


/* the text need not end where a NUL stands */

static void
test_length(void)
{
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    pool = tap_pool();

    text.len = 8;
    text.data = ngx_pnalloc(pool, text.len);
    ngx_memcpy(text.data, "{\"ab\": 1", text.len);

    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "a cut text is not read over its end");
    tap_is_str(&error, "body: ends too early", "and said to be cut");

    text.len = 7;
    text.data = ngx_pnalloc(pool, text.len);
    ngx_memcpy(text.data, "{\"ab\\\\\"", text.len);

    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "nor one cut behind a backslash");

    ngx_destroy_pool(pool);
}


static void
test_depth(void)
{
    u_char       buf[200000];
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    pool = tap_pool();
    text.data = buf;

    ngx_memset(buf, '[', 16);
    ngx_memset(buf + 16, ']', 16);
    text.len = 32;
    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) != NULL,
           "16 levels are accepted");

    ngx_memset(buf, '[', 17);
    ngx_memset(buf + 17, ']', 17);
    text.len = 34;
    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "17 levels are refused");
    tap_is_str(&error, "body: nested deeper than 16 levels", "in words");

    ngx_memset(buf, '[', sizeof(buf));
    text.len = sizeof(buf);
    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL,
           "so are 200,000");

    text = tap_str("{\"a\":\"[[[[[[[[[[[[[[[[[[[[{{{{{{{{{{{{{{{{{{{{{{\"}");
    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) != NULL,
           "brackets in a string do not count");

    ngx_destroy_pool(pool);
}


static void
test_long_name(void)
{
    u_char       buf[512];
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    pool = tap_pool();

    /* 63 bytes, then a character of two that does not fit any more */

    text.data = buf;
    text.len = ngx_sprintf(buf, "{\"%063d\xc3\xa4zzzz\":1e400}", 0) - buf;

    tap_ok(ngx_guildlog_json_parse(pool, &text, &error) == NULL, "refused");
    tap_is(error.len, 63 + sizeof(": the number is out of range") - 1,
           "a long name is cut before a character that does not fit");

    ngx_destroy_pool(pool);
}


static void
test_no_memory(void)
{
    json_t      *json;
    ngx_str_t    text, error;
    ngx_uint_t   i, told, made, whole;
    ngx_pool_t  *pool;

    /* the point and the long string are for jansson's lexer */

    text = tap_str("{\"a\":[2.5,1,\"text\",{\"b\":null}],\"c\":\"\\u00e4"
                   "0123456789012345678901234567890123456789\"}");
    told = 0;
    whole = 0;

    json_set_alloc_funcs(tap_malloc, free);

    for (i = 0; i < 60; i++) {
        pool = tap_pool();
        tap_mallocs = i;
        ngx_str_set(&error, "unset");

        json = ngx_guildlog_json_parse(pool, &text, &error);

        made = (json != NULL);
        told += (json == NULL && error.len == 0);
        whole += (json_string_length(json_object_get(json, "c")) == 42);

        ngx_destroy_pool(pool);

        if (made) {
            break;
        }
    }

    json_set_alloc_funcs(malloc, free);

    tap_ok(i > 10 && i < 60, "parses once there is memory enough");
    tap_is(told, i, "and says where there is not");
    tap_is(whole, 1, "no string lacks a character");
}


/* a text is read as jansson reads it, or left to jansson */

static void
read_as(const char *body, ngx_uint_t enough)
{
    char          *ours, *theirs;
    json_t        *json, *other;
    json_error_t   cause;

    json = ngx_guildlog_json_read((u_char *) body, ngx_strlen(body));
    tap_ok((json != NULL) == enough, "%s: %s",
           enough ? "read" : "left to jansson", body);

    if (json == NULL) {
        return;
    }

    other = json_loadb(body, ngx_strlen(body), JSON_REJECT_DUPLICATES, &cause);
    ours = json_dumps(json, JSON_COMPACT);
    theirs = json_dumps(other, JSON_COMPACT);

    tap_ok(other && ngx_strcmp(ours, theirs) == 0, "as jansson reads it");

    free(ours);
    free(theirs);
    json_decref(other);
    json_decref(json);
}


static void
test_read(void)
{
    ngx_uint_t           i;
    static const char  *texts[] = {
        "{}", "[]", " { } ", "\n[ ]\t",
        "{\"b\":1,\"a\":2,\"\":3}",
        "[0,-0,-1,999999999999999999,-999999999999999999]",
        "[true,false,null,\"\",[[]],{\"a\":{}}]",
        " { \"a\" : [ 1 , 2 ] , \"b\" : \"c\" } ",
        "[\"a text of more than eight bytes\"]",
        "[\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbf \x7f\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
        "[\"a\\u0001\\u007f\\u0080\\u07ff\\u0800\\ud7ff\\ue000\\uFFFFb\"]",
        "[\"\\ud800\\udc00\\uDBFF\\uDFFF and\\u0020more\"]",
        "{\"k\\u0065y\":\"1234567\\n\"}",
        "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        read_as(texts[i], 1);
    }
}


static void
test_read_rest(void)
{
    ngx_uint_t           i;
    static const char  *texts[] = {
        "", " ", "1", "\"a\"", "null", "{", "[", "[1", "[1,", "{\"a\"",
        "{\"a\":", "{\"a\":1", "{\"a\":1,", "[]]", "{}x", "[] []",
        "[,]", "[1,]", "{,}", "{\"a\":1,}", "{\"a\",1}", "{1:1}", "{a:1}",
        "[1}", "{\"a\":1]", "[1 2]", "[\"a\" \"b\"]",
        "[-]", "[01]", "[-01]", "[+1]", "[.5]", "[1.5]", "[1e5]", "[1.]",
        "[1000000000000000000]", "[1a]", "[tru]", "[truex]", "[nul", "[True]",
        "[\"a", "[\"a\\", "[\"a\\\"", "[\"\\u\"]", "[\"\\u12g4\"]",
        "[\"\\u004", "[\"\\a\"]", "[\"\\u0000\"]", "{\"\\u0000\":1}",
        "[\"\\ud800\"]", "[\"\\ud800a\"]", "[\"\\ud800\\n\"]",
        "[\"\\ud800\\u0041\"]", "[\"\\udc00\"]", "[\"\\U0041\"]",
        "[\"a\tb\"]", "[\"12345678\n\"]", "[\"\xff\"]", "[\"\xc0\x80\"]",
        "[\"\xed\xa0\x80\"]", "[\"\\n\xe2\x82\"]", "[\v1]", "[1]\f",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        read_as(texts[i], 0);
    }
}


/* texts with escapes, up to the size of the buffer for them, and longer */

static void
test_read_long(void)
{
    size_t   len;
    json_t  *json;
    u_char   text[32768];

    for (len = 16370; len < 16400; len++) {
        text[0] = '[';
        text[1] = '"';
        text[2] = '\\';
        text[3] = 'n';
        ngx_memset(text + 4, 'a', len);
        ngx_memcpy(text + 4 + len, "\\ud83d\\ude00\"]", 14);

        json = ngx_guildlog_json_read(text, len + 18);

        if (json == NULL) {
            break;
        }

        tap_is(json_string_length(json_array_get(json, 0)), len + 5,
               "a long text");
        json_decref(json);
    }

    tap_ok(len > 16370 && len < 16400, "one that is too long is left");
}


/* a half-made tree is freed: the sanitizers would report it */

static void
test_read_no_memory(void)
{
    json_t      *json;
    ngx_str_t    text;
    ngx_uint_t   i, made;

    text = tap_str("{\"a\":[1,2,\"text\",{\"b\":null}],\"c\":\"\\u00e4\"}");
    made = 0;

    json_set_alloc_funcs(tap_malloc, free);

    for (i = 0; i < 60; i++) {
        tap_mallocs = i;

        json = ngx_guildlog_json_read(text.data, text.len);
        made += (json != NULL);
        json_decref(json);
    }

    json_set_alloc_funcs(malloc, free);

    tap_ok(made > 0 && made < 60, "there is memory, or no tree");
}


/* what follows the first value of a text; NULL: its bracket is not closed */

static void
test_brackets(void)
{
    ngx_uint_t     i;
    const u_char  *p, *last, *end;

    static const struct {
        const char  *text;
        const char  *rest;
    } tests[] = {
        { "{}", "" },
        { "[1,[2],{\"a\":[]}],3", ",3" },
        { "{\"]}\":\"\\\"}\"}]", "]" },
        { "[{]}]", "]" },
        { "[", NULL },
        { "[[1]", NULL },
        { "[\"]", NULL },
        { "[\"\\", NULL }
    };

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        p = (const u_char *) tests[i].text;
        last = p + strlen(tests[i].text);
        end = ngx_guildlog_json_scan_bracket(p, last);

        tap_ok(tests[i].rest ? end && end == last - strlen(tests[i].rest)
                             : end == NULL,
               "the bracket that closes the first of %s", tests[i].text);
    }
}


static void
test_utf8(void)
{
    tap_is(ngx_guildlog_utf8_valid((u_char *) "a\xc3\xa4\xe2\x82\xac", 6), 6,
           "valid UTF-8");
    tap_is(ngx_guildlog_utf8_valid((u_char *) "a\xc3\xa4\xe2\x82", 5), 3,
           "up to a character that is cut");
    tap_is(ngx_guildlog_utf8_valid((u_char *) "a\xe0\x80\xaf", 4), 1,
           "an overlong form is invalid");
    tap_is(ngx_guildlog_utf8_valid((u_char *) "\xf8\x88\x80\x80\x80", 5), 0,
           "so are five bytes");
    tap_is(ngx_guildlog_utf8_length((u_char *) "a\xc3\xa4\xe2\x82\xac"
                                    "\xf0\x9f\x98\x80", 10), 4,
           "code points are counted");
    tap_is(ngx_guildlog_utf8_cut((u_char *) "a\xe2\x82\xac", 4, 3), 1,
           "cut before a character that does not fit");
    tap_is(ngx_guildlog_utf8_cut((u_char *) "a\xe2\x82\xac", 4, 4), 4,
           "not cut where all fits");
}


static void
written(ngx_guildlog_json_t *w, const char *expected, const char *what)
{
    ngx_str_t  text;

    text.data = w->start;
    text.len = w->pos - w->start;

    tap_is_str(&text, expected, what);
}


static void
test_writer(void)
{
    ngx_str_t            s;
    ngx_pool_t          *pool;
    ngx_guildlog_json_t  w;

    pool = tap_pool();

    ngx_guildlog_json_init(&w, pool, 1);

    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "n");
    ngx_guildlog_json_number(&w, INT64_MIN + 1);
    ngx_guildlog_json_key(&w, "list");
    ngx_guildlog_json_begin(&w, '[');
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_end(&w);
    ngx_guildlog_json_bool(&w, 1);
    ngx_guildlog_json_bool(&w, 0);
    ngx_guildlog_json_null(&w);
    ngx_str_set(&s, "\"\\/\n\r\t\x01\x1f\x7f\xc3\xa4");
    ngx_guildlog_json_string(&w, &s);
    ngx_str_set(&s, "{\"raw\":1}");
    ngx_guildlog_json_raw(&w, &s);
    ngx_guildlog_json_end(&w);
    ngx_guildlog_json_key(&w, "last");
    ngx_str_null(&s);
    ngx_guildlog_json_string(&w, &s);
    ngx_guildlog_json_end(&w);

    tap_is(w.failed, 0, "nothing failed");
    written(&w, "{\"n\":-9223372036854775807,\"list\":[{},true,false,null,"
                "\"\\\"\\\\/\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa4\","
                "{\"raw\":1}],\"last\":\"\"}",
            "commas, brackets and escapes stand where they should");

    ngx_destroy_pool(pool);
}


static void
test_writer_grows(void)
{
    json_t              *json;
    ngx_str_t            s, error;
    ngx_uint_t           i;
    ngx_pool_t          *pool;
    ngx_guildlog_json_t  w;

    pool = tap_pool();
    ngx_str_set(&s, "a\"b");

    ngx_guildlog_json_init(&w, pool, 16);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < 10000; i++) {
        ngx_guildlog_json_string(&w, &s);
    }

    ngx_guildlog_json_end(&w);

    s.data = w.start;
    s.len = w.pos - w.start;
    json = ngx_guildlog_json_parse(pool, &s, &error);

    tap_is(json_array_size(json), 10000, "what was written can be read");

    ngx_destroy_pool(pool);
}


static void
test_writer_misuse(void)
{
    ngx_uint_t           i;
    ngx_pool_t          *pool;
    ngx_guildlog_json_t  w;

    pool = tap_pool();

    ngx_guildlog_json_init(&w, pool, 16);

    for (i = 0; i <= NGX_GUILDLOG_JSON_DEPTH; i++) {
        ngx_guildlog_json_begin(&w, '[');
    }

    tap_is(w.failed, 1, "too many levels fail");

    ngx_guildlog_json_init(&w, pool, 16);
    ngx_guildlog_json_end(&w);
    tap_is(w.failed, 1, "so does an end without a beginning");

    ngx_guildlog_json_number(&w, 1);
    tap_ok(w.pos == w.start, "then nothing is written any more");

    ngx_destroy_pool(pool);
}


int
main(void)
{
    tap_start();

    test_cases();
    test_raw_nul();
    test_answer();
    test_length();
    test_depth();
    test_long_name();
    test_no_memory();
    test_read();
    test_read_rest();
    test_read_long();
    test_read_no_memory();
    test_brackets();
    test_utf8();
    test_writer();
    test_writer_grows();
    test_writer_misuse();

    return tap_done();
}
