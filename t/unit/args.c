
/*
 * Links ngx_guildlog_value.c, ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * For any query string or body, a statement gets arguments of the type and
 * range in its table, or the caller gets an error that names the field and the
 * rule.
 */

#include "api/ngx_guildlog_value.h"
#include "tap.h"


typedef struct {
    const char  *input;
    const char  *expected;  /* arguments, joined; or the error */
    ngx_int_t    rc;
} case_t;


#define LAST  { .name = ngx_null_string }
#define name_of(s)  .name = ngx_string(s)


static const char  *bots[] = { "pro", NULL };
static const char  *roles[] = { "executor", "target", "either", NULL };
static const char  *buttons[] = { "userID", "supportServer", NULL };
static const char  *categories[] = { "categoryText", "a\"b\\c,{}", "NULL",
                                     NULL };

static const ngx_guildlog_field_t  category = {
    name_of("category"), .type = NGX_GUILDLOG_ENUM, .values = categories
};

static const ngx_guildlog_field_t  log_type = {
    name_of("type"), .type = NGX_GUILDLOG_INT, .max = 101
};

static const ngx_guildlog_field_t  query[] = {
    { name_of("search"), .type = NGX_GUILDLOG_TEXT, .max = 5,
      .flags = NGX_GUILDLOG_TRIM },
    { name_of("limit"), .type = NGX_GUILDLOG_INT, .min = 1, .max = 200,
      .fallback = "100" },
    { name_of("after"), .type = NGX_GUILDLOG_INT, .min = -10,
      .max = INT64_MAX },
    { name_of("category"), .type = NGX_GUILDLOG_ITEMS, .item = &category },
    { name_of("type"), .type = NGX_GUILDLOG_ITEMS, .item = &log_type },
    { name_of("channel"), .type = NGX_GUILDLOG_ID, .min = 1 },
    { name_of("memberRole"), .type = NGX_GUILDLOG_ENUM, .values = roles },
    { name_of("bot"), .type = NGX_GUILDLOG_ENUM, .values = bots },
    { name_of("live"), .type = NGX_GUILDLOG_INT, .max = 1 },
    LAST
};


#define ok(in, out)   { in, out, NGX_OK }
#define bad(in, out)  { in, out, NGX_DECLINED }

/* prints the arguments in the order of the table, "-" for a null */

static const case_t  query_cases[] = {

    ok("", "-|100|-|-|-|-|-|-|-"),
    ok("&&=&=x&?", "-|100|-|-|-|-|-|-|-"),
    ok("unknown=1&unknown=%zz&%zz=1", "-|100|-|-|-|-|-|-|-"),
    ok("LIMIT=5", "-|100|-|-|-|-|-|-|-"),
    ok("limit=7&bot=pro", "-|7|-|-|-|-|-|pro|-"),
    ok("li%6Dit=7", "-|7|-|-|-|-|-|-|-"),
    ok("type[]=5&type%5B%5D=7&type=9&limit[]=7",
       "-|7|-|-|{\"5\",\"7\",\"9\"}|-|-|-|-"),
    ok("[]=1&%5B%5D&x[]=5&type[0]=5&type[=5", "-|100|-|-|-|-|-|-|-"),
    bad("type[]=x", "type: must be an integer from 0 to 101"),
    bad("limit[]=7&limit=7", "limit: given twice"),
    ok("search=a+b%2B", "a b+|100|-|-|-|-|-|-|-"),
    ok("search=%25", "%|100|-|-|-|-|-|-|-"),
    ok("search=a=b", "a=b|100|-|-|-|-|-|-|-"),
    ok("search=+%09%E3%80%80%C2%A0", "-|100|-|-|-|-|-|-|-"),
    ok("search", "-|100|-|-|-|-|-|-|-"),
    ok("search=%F0%9F%98%80%F0%9F%98%80%F0%9F%98%80%C3%A4x",
       "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xc3\xa4x"
       "|100|-|-|-|-|-|-|-"),
    ok("limit=0000200", "-|200|-|-|-|-|-|-|-"),
    ok("after=-10", "-|100|-10|-|-|-|-|-|-"),
    ok("after=-0", "-|100|0|-|-|-|-|-|-"),
    ok("after=9223372036854775807",
       "-|100|9223372036854775807|-|-|-|-|-|-"),
    ok("category=categoryText", "-|100|-|{\"categoryText\"}|-|-|-|-|-"),
    ok("category=a%22b%5Cc,%7B%7D&category=NULL&category=NULL",
       "-|100|-|{\"a\\\"b\\\\c,{}\",\"NULL\"}|-|-|-|-|-"),
    ok("type=1&type=02&type=2&type=101&type=1",
       "-|100|-|-|{\"1\",\"2\",\"101\"}|-|-|-|-"),
    ok("channel=9223372036854775807&memberRole=either",
       "-|100|-|-|-|9223372036854775807|either|-|-"),
    ok("channel=00000000000000000001",
       "-|100|-|-|-|00000000000000000001|-|-|-"),
    ok("live=0", "-|100|-|-|-|-|-|-|0"),

    bad("limit=1&limit=1", "limit: given twice"),
    bad("limit=1&l%69mit=2", "limit: given twice"),
    bad("search=&search=", "search: given twice"),
    bad("search=%20&search=a", "search: given twice"),
    bad("limit=0", "limit: must be an integer from 1 to 200"),
    bad("limit=201", "limit: must be an integer from 1 to 200"),
    bad("limit=-1", "limit: must be an integer from 1 to 200"),
    bad("limit=", "limit: must be an integer from 1 to 200"),
    bad("limit", "limit: must be an integer from 1 to 200"),
    bad("limit=-", "limit: must be an integer from 1 to 200"),
    bad("limit=%2B5", "limit: must be an integer from 1 to 200"),
    bad("limit=+5", "limit: must be an integer from 1 to 200"),
    bad("limit=5+", "limit: must be an integer from 1 to 200"),
    bad("limit=1e1", "limit: must be an integer from 1 to 200"),
    bad("limit=0x10", "limit: must be an integer from 1 to 200"),
    bad("limit=5.0", "limit: must be an integer from 1 to 200"),
    bad("limit=%D9%A3", "limit: must be an integer from 1 to 200"),
    bad("limit=18446744073709551617",
        "limit: must be an integer from 1 to 200"),
    bad("limit=00000000000000000001",
        "limit: must be an integer from 1 to 200"),
    bad("after=9223372036854775808", "after: must be an integer, at least -10"),
    bad("after=-9223372036854775808",
        "after: must be an integer, at least -10"),
    bad("after=-9999999999999999999",
        "after: must be an integer, at least -10"),
    bad("search=abcdef", "search: must be at most 5 characters long"),
    bad("search=%ff", "search: is not valid UTF-8"),
    bad("search=%ed%a0%80", "search: is not valid UTF-8"),
    bad("search=%00", "search: must not contain NUL"),
    bad("search=a%", "search: broken percent-encoding"),
    bad("search=a%2", "search: broken percent-encoding"),
    bad("search=%2&limit=5", "search: broken percent-encoding"),
    bad("search=%zz", "search: broken percent-encoding"),
    bad("category=", "category: must be one of categoryText, a\"b\\c,{}, NULL"),
    bad("category=CATEGORYTEXT",
        "category: must be one of categoryText, a\"b\\c,{}, NULL"),
    bad("type=102", "type: must be an integer from 0 to 101"),
    bad("channel=", "channel: must be a string of 1 to 20 digits, "
                    "from 1 to 9223372036854775807"),
    bad("channel=0", "channel: must be a string of 1 to 20 digits, "
                     "from 1 to 9223372036854775807"),
    bad("channel=9223372036854775808",
        "channel: must be a string of 1 to 20 digits, "
        "from 1 to 9223372036854775807"),
    bad("channel=000000000000000000001",
        "channel: must be a string of 1 to 20 digits, "
        "from 1 to 9223372036854775807"),
    bad("channel=1%27%3B--", "channel: must be a string of 1 to 20 digits, "
                             "from 1 to 9223372036854775807"),
    bad("bot=main", "bot: must be pro"),
    bad("bot=", "bot: must be pro"),
    bad("memberRole=x", "memberRole: must be one of executor, target, either"),
    bad("live=true", "live: must be an integer from 0 to 1"),

    { NULL, NULL, 0 }
};


static void
test_query(void)
{
    u_char        *p, joined[1024];
    ngx_int_t      rc;
    ngx_str_t      text, error, all, args[16];
    ngx_uint_t     i;
    ngx_pool_t    *pool;
    const case_t  *c;

    for (c = query_cases; c->input; c++) {
        pool = tap_pool();

        /* a copy, so that the sanitizer sees a read beyond its end */

        text.len = strlen(c->input);
        text.data = ngx_pnalloc(pool, text.len + !text.len);
        ngx_memcpy(text.data, c->input, text.len);

        rc = ngx_guildlog_args_query(pool, query, &text, args, &error);

        if (rc == c->rc && rc == NGX_OK) {
            for (i = 0, p = joined; query[i].name.len; i++) {
                p = args[i].data ? ngx_sprintf(p, "%V|", &args[i])
                                 : ngx_sprintf(p, "-|");
            }

            all.data = joined;
            all.len = p - joined - 1;
            tap_is_str(&all, c->expected, c->input);

        } else if (rc == c->rc) {
            tap_is_str(&error, c->expected, c->input);

        } else {
            tap_is(rc, c->rc, c->input);
        }

        ngx_destroy_pool(pool);
    }
}


static void
test_query_required(void)
{
    ngx_int_t                          rc;
    ngx_str_t                          text, error, args[1];
    ngx_pool_t                        *pool;
    static const ngx_guildlog_field_t  fields[] = {
        { name_of("tokenId"), .type = NGX_GUILDLOG_TEXT, .min = 1, .max = 64,
          .flags = NGX_GUILDLOG_REQUIRED },
        LAST
    };

    pool = tap_pool();

    ngx_str_null(&text);
    rc = ngx_guildlog_args_query(pool, fields, &text, args, &error);
    tap_is(rc, NGX_DECLINED, "a required parameter is missing");
    tap_is_str(&error, "tokenId: is required", "the error names it");

    ngx_str_set(&text, "tokenId=");
    rc = ngx_guildlog_args_query(pool, fields, &text, args, &error);
    tap_is(rc, NGX_DECLINED, "a required parameter is empty");
    tap_is_str(&error, "tokenId: must be 1 to 64 characters long",
               "the error has its length");

    rc = ngx_guildlog_args_query(pool, &fields[1], &text, args, &error);
    tap_is(rc, NGX_OK, "a table without fields takes anything");

    ngx_destroy_pool(pool);
}


static const ngx_guildlog_field_t  button = {
    name_of(""), .type = NGX_GUILDLOG_ENUM, .values = buttons
};

static const ngx_guildlog_field_t  word = {
    name_of(""), .type = NGX_GUILDLOG_TEXT, .min = 1, .max = 3
};

static const ngx_guildlog_field_t  role = {
    name_of(""), .type = NGX_GUILDLOG_ID
};

static const ngx_guildlog_field_t  body[] = {
    { name_of("spoilers"), .type = NGX_GUILDLOG_BOOL },
    { name_of("enabled"), .type = NGX_GUILDLOG_BOOL,
      .flags = NGX_GUILDLOG_NULLABLE },
    { name_of("format_type"), .type = NGX_GUILDLOG_INT, .max = 3 },
    { name_of("time"), .type = NGX_GUILDLOG_INT, .min = 1, .max = 300,
      .flags = NGX_GUILDLOG_CLAMP },
    { name_of("name"), .type = NGX_GUILDLOG_TEXT, .min = 1, .max = 3 },
    { name_of("main_channel"), .type = NGX_GUILDLOG_ID, .min = 1,
      .flags = NGX_GUILDLOG_NULLABLE },
    { name_of("category_text"), .type = NGX_GUILDLOG_ID },
    { name_of("image"), .type = NGX_GUILDLOG_URL, .max = 20 },
    { name_of("avatar"), .type = NGX_GUILDLOG_HASH },
    { name_of("buttons"), .type = NGX_GUILDLOG_LIST, .max = 2,
      .item = &button },
    { name_of("words"), .type = NGX_GUILDLOG_LIST, .min = 1, .max = 3,
      .item = &word },
    { name_of("roles"), .type = NGX_GUILDLOG_LIST, .max = 3, .item = &role },
    LAST
};


#define EIGHT  "01234567"

#define HASH_RULE                                                             \
    "avatar: must be 1 to 64 letters, digits or underscores"

#define ID_RULE(lo)                                                           \
    ": must be a string of 1 to 20 digits, from " lo " to 9223372036854775807"


static const case_t  body_cases[] = {

    ok("{\"spoilers\":true}", NULL),
    ok("{\"enabled\":null,\"main_channel\":null}", NULL),
    ok("{\"format_type\":3,\"time\":4000000000}", NULL),
    ok("{\"name\":\"\xc3\xa4\xc3\xa4\xc3\xa4\"}", NULL),
    ok("{\"main_channel\":\"123456789012345678\"}", NULL),
    ok("{\"category_text\":\"0\"}", NULL),
    ok("{\"image\":\"HTTPS://a/b?c#d\"}", NULL),
    ok("{\"avatar\":\"a_09AZaz\"}", NULL),
    ok("{\"avatar\":\"" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "\"}",
       NULL),
    ok("{\"buttons\":[],\"roles\":[\"1\",\"1\"]}", NULL),
    ok("{\"buttons\":[\"supportServer\",\"userID\"]}", NULL),

    bad("{}", "body: must set at least one field"),
    bad("[]", "body: must be a JSON object"),
    bad("[{}]", "body: must be a JSON object"),
    bad("{\"nmae\":1}", "nmae: unknown field"),
    bad("{\"\":1}", ": unknown field"),
    bad("{\"Spoilers\":true}", "Spoilers: unknown field"),
    bad("{\"spoilers\":true,\"x\":1}", "x: unknown field"),
    bad("{\"spoilers\":1}", "spoilers: must be true or false"),
    bad("{\"spoilers\":\"true\"}", "spoilers: must be true or false"),
    bad("{\"spoilers\":null}", "spoilers: must be true or false"),
    bad("{\"format_type\":4}", "format_type: must be an integer from 0 to 3"),
    bad("{\"format_type\":-1}", "format_type: must be an integer from 0 to 3"),
    bad("{\"format_type\":1.0}",
        "format_type: must be an integer from 0 to 3"),
    bad("{\"format_type\":1e0}",
        "format_type: must be an integer from 0 to 3"),
    bad("{\"format_type\":\"1\"}",
        "format_type: must be an integer from 0 to 3"),
    bad("{\"format_type\":true}",
        "format_type: must be an integer from 0 to 3"),
    bad("{\"time\":0}", "time: must be an integer, at least 1"),
    bad("{\"time\":1e2}", "time: must be an integer, at least 1"),
    bad("{\"name\":\"\"}", "name: must be 1 to 3 characters long"),
    bad("{\"name\":\"abcd\"}", "name: must be 1 to 3 characters long"),
    bad("{\"name\":7}", "name: must be a string"),
    bad("{\"name\":null}", "name: must be a string"),
    bad("{\"main_channel\":\"0\"}", "main_channel" ID_RULE("1")),
    bad("{\"main_channel\":\"\"}", "main_channel" ID_RULE("1")),
    bad("{\"main_channel\":123456789012345678}", "main_channel" ID_RULE("1")),
    bad("{\"main_channel\":\"9223372036854775808\"}",
        "main_channel" ID_RULE("1")),
    bad("{\"category_text\":\"-1\"}", "category_text" ID_RULE("0")),
    bad("{\"category_text\":null}", "category_text" ID_RULE("0")),
    bad("{\"image\":\"ftp://a/\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"javascript:x\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http://\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http:///a\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http://a b\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http://a\\nb\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http://a/\\\"\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"\"}", "image: must be an http or https URL"),
    bad("{\"image\":\"http://abcdefghijklmn\"}",
        "image: must be at most 20 characters long"),
    bad("{\"avatar\":\"\"}", HASH_RULE),
    bad("{\"avatar\":\"a/b\"}", HASH_RULE),
    bad("{\"avatar\":\"../b\"}", HASH_RULE),
    bad("{\"avatar\":\"a b\"}", HASH_RULE),
    bad("{\"avatar\":\"\xc3\xa4\"}", HASH_RULE),
    bad("{\"avatar\":\"" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "0\"}",
        HASH_RULE),
    bad("{\"avatar\":null}", HASH_RULE),
    bad("{\"buttons\":\"userID\"}", "buttons: must be an array"),
    bad("{\"buttons\":{}}", "buttons: must be an array"),
    bad("{\"buttons\":[\"userID\",\"x\"]}",
        "buttons[1]: must be one of userID, supportServer"),
    bad("{\"buttons\":[null]}",
        "buttons[0]: must be one of userID, supportServer"),
    bad("{\"buttons\":[\"userID\",\"userID\"]}", "buttons[1]: given twice"),
    bad("{\"buttons\":[\"userID\",\"supportServer\",\"userID\"]}",
        "buttons: must have at most 2 items"),
    bad("{\"words\":[]}", "words: must have 1 to 3 items"),
    bad("{\"words\":[\"a\",\"\"]}", "words[1]: must be 1 to 3 characters long"),
    bad("{\"roles\":[\"1\",2]}", "roles[1]" ID_RULE("0")),

    { NULL, NULL, 0 }
};


static void
test_body(void)
{
    json_t        *json;
    ngx_int_t      rc;
    ngx_str_t      text, error;
    ngx_pool_t    *pool;
    const case_t  *c;

    for (c = body_cases; c->input; c++) {
        pool = tap_pool();
        text = tap_str(c->input);
        json = ngx_guildlog_json_parse(pool, &text, &error);

        rc = ngx_guildlog_args_body(pool, body, json, &error);

        if (rc == c->rc && rc == NGX_DECLINED) {
            tap_is_str(&error, c->expected, c->input);

        } else {
            tap_is(rc, c->rc, c->input);
        }

        ngx_destroy_pool(pool);
    }
}


static void
test_body_required(void)
{
    json_t                            *json;
    ngx_str_t                          text, error;
    ngx_pool_t                        *pool;
    static const ngx_guildlog_field_t  fields[] = {
        { name_of("id"), .type = NGX_GUILDLOG_TEXT, .min = 1, .max = 10,
          .flags = NGX_GUILDLOG_REQUIRED },
        { name_of("count"), .type = NGX_GUILDLOG_INT, .min = 1, .max = 9 },
        LAST
    };

    pool = tap_pool();

    ngx_str_set(&text, "{\"count\":1}");
    json = ngx_guildlog_json_parse(pool, &text, &error);
    (void) ngx_guildlog_args_body(pool, fields, json, &error);
    tap_is_str(&error, "id: is required", "a missing field is named");

    ngx_str_set(&text, "{}");
    json = ngx_guildlog_json_parse(pool, &text, &error);
    (void) ngx_guildlog_args_body(pool, fields, json, &error);
    tap_is_str(&error, "id: is required", "also if no field is given");


    ngx_str_set(&text, "{}");
    json = ngx_guildlog_json_parse(pool, &text, &error);
    tap_is(ngx_guildlog_args_body(pool, &fields[2], json, &error), NGX_OK,
           "{} is right where there are no fields");

    ngx_str_set(&text, "{\"id\":1}");
    json = ngx_guildlog_json_parse(pool, &text, &error);
    tap_is(ngx_guildlog_args_body(pool, &fields[2], json, &error),
           NGX_DECLINED, "any other body is not");

    ngx_destroy_pool(pool);
}


static void
test_long_name(void)
{
    json_t      *json;
    u_char       buf[2048];
    ngx_str_t    text, error;
    ngx_pool_t  *pool;

    pool = tap_pool();

    text.data = buf;
    text.len = ngx_sprintf(buf, "{\"%063d\xc3\xa4%01000d\":1}", 0, 0) - buf;

    json = ngx_guildlog_json_parse(pool, &text, &error);
    (void) ngx_guildlog_args_body(pool, body, json, &error);

    tap_is(error.len, 63 + sizeof(": unknown field") - 1,
           "a long name is cut before a character that does not fit");

    ngx_destroy_pool(pool);
}


static void
test_id(void)
{
    tap_is(ngx_guildlog_value_id((u_char *) "12345678901234567", 17, 17),
           NGX_OK, "17 digits");
    tap_is(ngx_guildlog_value_id((u_char *) "1234567890123456", 16, 17),
           NGX_DECLINED, "16 are too few");
    tap_is(ngx_guildlog_value_id((u_char *) "9223372036854775807", 19, 17),
           NGX_OK, "the largest");
    tap_is(ngx_guildlog_value_id((u_char *) "9223372036854775808", 19, 17),
           NGX_DECLINED, "one more");
    tap_is(ngx_guildlog_value_id((u_char *) "09223372036854775807", 20, 17),
           NGX_OK, "20 digits with a zero in front");
    tap_is(ngx_guildlog_value_id((u_char *) "10000000000000000000", 20, 17),
           NGX_DECLINED, "20 digits that are too large");
    tap_is(ngx_guildlog_value_id((u_char *) "1234567890123456a", 17, 17),
           NGX_DECLINED, "a letter");
    tap_is(ngx_guildlog_value_id((u_char *) "", 0, 0), NGX_DECLINED, "nothing");
}


int
main(void)
{
    tap_start();

    test_query();
    test_query_required();
    test_body();
    test_body_required();
    test_long_name();
    test_id();

    return tap_done();
}
