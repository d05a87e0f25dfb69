
/*
 * Links ngx_guildlog_fold.c, ngx_guildlog_fold_table.c, ngx_guildlog_json.c,
 * ngx_guildlog_match.c and ngx_guildlog_utf8.c.
 *
 * Which entries match a query; what is not a document is recognized.
 * t/search/fold.t compares this with the database for many entries.
 */

#include "search/ngx_guildlog_match.h"
#include "tap.h"


#define ENTRY                                                                 \
    "{\"id\":\"1573499834139148289\",\"type\":5,\"timestamp\":1795221994672," \
    "\"executor\":{\"id\":\"7\",\"name\":\"Zo\\u00eb\"},"                     \
    "\"target\":{\"id\":\"08\",\"name\":\"\"},"                               \
    "\"channel\":{\"id\":\"9\",\"name\":\"general\"},\"role\":\"Moderator\"," \
    "\"name\":null,\"reason\":\"a \\\"b\\\" \\\\ \\ud83d\\udc4d\","           \
    "\"count\":3,\"content\":\"Hello\\nthere\",\"contentAfter\":\"Mod\","     \
    "\"messages\":[{\"id\": \"1\", \"content\": \"first\", \"attachments\": " \
    "[{\"name\": \"content\", \"size\": 1}]}, {\"id\": \"2\"}, "              \
    "{\"content\": null}, {\"content\": \"World\"}],"                         \
    "\"messagesTruncated\":null,\"emoji\":{\"id\":\"5\",\"name\":\"smile\"}," \
    "\"action\":\"kick\",\"value\":null,\"changes\":["                     \
    "{\"key\": \"nick\", \"new\": [{\"id\": \"4321\", \"name\": \"Guest\"}, "  \
    "{\"id\": \"4322\"}, \"Boss\"], \"old\": \"So \\\"far\\\": away\"}, "      \
    "{\"key\": \"nsfw\", \"new\": true, \"old\": null}],\"until\":null,"      \
    "\"role_id\":null,\"image\":null"

#define AT  1795221994672


static ngx_pool_t  *pool;


static ngx_int_t
judge(const ngx_guildlog_match_t *match, const char *text)
{
    u_char                    *buf, *end, *copy;
    ngx_int_t                  rc;
    ngx_str_t                  s;
    ngx_guildlog_match_doc_t   doc;

    /* of exactly that size, for the sanitizers */

    s.len = strlen(text);
    copy = malloc(s.len + 1);
    s.data = copy;
    ngx_memcpy(copy, text, s.len);
    buf = malloc(NGX_GUILDLOG_MATCH_SIZE(s.len));

    rc = ngx_guildlog_match_doc_read(&doc, &s);

    if (rc == NGX_OK) {
        end = ngx_guildlog_match_doc_fold(&doc, buf);
        rc = end ? (ngx_int_t) ngx_guildlog_match(match, &doc) : NGX_ERROR;
    }

    free(copy);
    free(buf);

    return rc;
}


static void
test_ids(void)
{
    ngx_guildlog_match_t  match;

    static u_char  none[NGX_GUILDLOG_TYPES + 1];

    ngx_guildlog_match_init(&match);
    tap_ok(!ngx_guildlog_match_reads(&match), "everything needs no reading");
    tap_is(judge(&match, ENTRY), 1, "everything");
    tap_is(judge(&match, ENTRY "}"), 1, "with its closing brace");

    match.channel = 9;
    tap_ok(ngx_guildlog_match_reads(&match), "a channel is read");
    tap_is(judge(&match, ENTRY), 1, "its channel");
    match.channel = 8;
    tap_is(judge(&match, ENTRY), 0, "another");

    ngx_guildlog_match_init(&match);
    match.member = 7;
    tap_is(judge(&match, ENTRY), 1, "who did it");
    match.side = NGX_GUILDLOG_MATCH_TARGET;
    tap_is(judge(&match, ENTRY), 0, "not as its target");
    match.member = 8;
    tap_is(judge(&match, ENTRY), 1, "whom it was done to, by the number");
    match.side = NGX_GUILDLOG_MATCH_EXECUTOR;
    tap_is(judge(&match, ENTRY), 0, "not as who did it");
    match.side = NGX_GUILDLOG_MATCH_EITHER;
    tap_is(judge(&match, ENTRY), 1, "either");
    match.member = 0;
    tap_is(judge(&match, ENTRY), 0, "neither");

    ngx_guildlog_match_init(&match);
    ngx_memset(none, '0', NGX_GUILDLOG_TYPES);
    match.types = none;
    tap_is(judge(&match, ENTRY), 0, "no type");
    none[5] = '1';
    tap_is(judge(&match, ENTRY), 1, "its type");

    ngx_guildlog_match_init(&match);
    match.after = AT - 1;
    tap_is(judge(&match, ENTRY), 1, "after the millisecond before");
    match.after = AT;
    tap_is(judge(&match, ENTRY), 0, "not after its own");
    match.after = INT64_MIN;
    match.before = AT + 1;
    tap_is(judge(&match, ENTRY), 1, "before the one behind");
    match.before = AT;
    tap_is(judge(&match, ENTRY), 0, "not before its own");
    match.before = -1;
    tap_is(judge(&match, ENTRY), 0, "nothing is before all time");
}


static void
test_texts(void)
{
    ngx_str_t             s;
    ngx_uint_t            i;
    ngx_guildlog_match_t  match;

    static const struct {
        const char  *search;
        ngx_int_t    found;
    } tests[] = {
        { "hello", 1 }, { "HELLO", 1 }, { "hell", 0 }, { "world Hello", 1 },
        { "hello missing", 0 }, { "there", 1 }, { "nthere", 0 },
        { "first", 1 }, { "smile", 0 }, { "kick", 0 }, { "attachments", 0 },
        { "zoë", 1 }, { "ZO", 1 }, { "ener", 1 }, { "oder", 1 },
        { "a \"B\" \\", 1 }, { "👍", 1 }, { "\\ud83d", 0 },
        { "moderator a", 0 }, { " \n hello\t", 1 }, { "mod hello", 1 },
        { "%", 0 }, { "\"", 1 },

        /* what changed, in parts */

        { "so \"FAR\": a", 1 }, { "guest", 1 }, { "oss", 1 },
        { "nick", 0 }, { "4321", 0 }, { "432", 0 }, { "true", 0 },
        { "guest boss", 0 }
    };

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        ngx_guildlog_match_init(&match);
        s = tap_str(tests[i].search);
        (void) ngx_guildlog_match_search(&match, pool, &s);

        tap_ok(judge(&match, ENTRY) == tests[i].found, "\"%s\" is %s",
               tests[i].search, tests[i].found ? "found" : "not found");
    }

    ngx_guildlog_match_init(&match);
    s = tap_str("DERA");
    (void) ngx_guildlog_match_role(&match, pool, &s);
    tap_is(judge(&match, ENTRY), 1, "a part of its role");
    tap_is(judge(&match, "{\"id\":\"1\",\"type\":1,\"name\":\"dera\""), 0,
           "not of another field");

    ngx_guildlog_match_init(&match);
    s = tap_str("a b A c");
    (void) ngx_guildlog_match_search(&match, pool, &s);
    tap_is(match.nwords, 3, "each word once");

    ngx_guildlog_match_init(&match);
    s = tap_str(" \xc2\xa0\n");
    (void) ngx_guildlog_match_search(&match, pool, &s);
    tap_ok(!ngx_guildlog_match_reads(&match), "white space is no search");
}


static void
test_documents(void)
{
    ngx_uint_t            i;
    ngx_guildlog_match_t  match;

    static const char  *bad[] = {
        "", "[", "{", "{}", "null", "{\"type\":5", "{\"id\":\"1\",\"type\":102",
        "{\"id\":\"1\",\"type\":-1", "{\"id\":1", "{\"id\":\"\"",
        "{\"id\":\"99999999999999999999\"", "{\"id\":\"1\",\"role\":5",
        "{\"id\":\"1\",\"role\":\"x", "{\"id\":\"1\",\"role\":\"x\\",
        "{\"id\":\"1\",\"role\":\"x\\\"", "{\"id\":\"1\",\"role\":\"\\x\"",
        "{\"id\":\"1\",\"role\":\"\\u12\"",
        "{\"id\":\"1\",\"role\":\"\\u0000\"",
        "{\"id\":\"1\",\"role\":\"\\ud83d\"",
        "{\"id\":\"1\",\"role\":\"\\ud83d\\u0041\"",
        "{\"id\":\"1\",\"role\":\"\\udc4d\"", "{\"id\":\"1\",\"role\"",
        "{\"id\":\"1\",\"role\":", "{\"id\":\"1\",role:\"x\"",
        "{\"id\":\"1\",\"executor\":[1]",
        "{\"id\":\"1\",\"executor\":{\"id\":7}",
        "{\"id\":\"1\",\"executor\":{\"id\":\"x\"}",
        "{\"id\":\"1\",\"emoji\":{",
        "{\"id\":\"1\",\"messages\":{}", "{\"id\":\"1\",\"messages\":[{\"a\"}]",
        "{\"id\":\"1\",\"messages\":[{\"content\":1}]", "{\"id\":\"1\",,",
        "{\"id\":\"1\",\"changes\":{}",
        "{\"id\":\"1\",\"changes\":[{\"old\":\"\\x\"}]",
        "{\"id\":\"1\",\"changes\":[{\"old\":\"x]"
    };

    ngx_guildlog_match_init(&match);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tap_is(judge(&match, bad[i]), NGX_ERROR, bad[i]);
    }

    tap_is(judge(&match, "{ \"id\" : \"1\" , \"a\" : [1, {\"b\": \"}\"}] }"), 1,
           "white space and unknown fields");
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    test_ids();
    test_texts();
    test_documents();

    ngx_destroy_pool(pool);

    return tap_done();
}
