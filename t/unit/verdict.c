
/*
 * Links ngx_guildlog_platform.c,
 * ngx_guildlog_client_response.c, ngx_guildlog_value.c, ngx_guildlog_json.c
 * and ngx_guildlog_utf8.c.
 *
 * Whatever the platform, or something in front of it, answers has one
 * meaning.  Nothing is delivered without an id, nothing that may have been
 * applied is called refused.
 */

#include "platform/ngx_guildlog_platform.h"
#include "tap.h"


#define EXECUTE  NGX_GUILDLOG_CALL_EXECUTE
#define LIST     NGX_GUILDLOG_CALL_LIST
#define CREATE   NGX_GUILDLOG_CALL_CREATE
#define DELETE   NGX_GUILDLOG_CALL_DELETE
#define READ     NGX_GUILDLOG_CALL_READ
#define CHANNEL  NGX_GUILDLOG_CALL_CHANNEL
#define WEBHOOK  NGX_GUILDLOG_CALL_WEBHOOK

#define is(class)  NGX_GUILDLOG_VERDICT_##class

#define LIMITED_HEADERS  "x-ratelimit-limit: 5\n"                             \
                         "x-ratelimit-remaining: 0\n"                         \
                         "x-ratelimit-reset-after: 1.5\n"


typedef struct {
    const char                     *name;
    ngx_guildlog_platform_call_e    call;
    ngx_uint_t                      status;
    const char                     *headers;
    const char                     *body;
    ngx_guildlog_verdict_class_e   class;
    ngx_uint_t                      code;
    ngx_uint_t                      invalid;
} judged_t;


static const judged_t  judged[] = {

    { "a message", EXECUTE, 200, "", "{\"id\":\"1234567890123456789\","
      "\"channel_id\":\"42\",\"embeds\":[{\"title\":\"x\"}]}",
      is(DONE), 0, 0 },
    { "one with a number that is too long", EXECUTE, 200, "",
      "{\"id\":\"12\",\"nonce\":123456789012345678901234567890}",
      is(DOUBT), 0, 0 },
    { "one with what is no text", EXECUTE, 200, "",
      "{\"id\":\"12\",\"content\":\"\\u0000\\ud83d\"}", is(DONE), 0, 0 },
    { "no body", EXECUTE, 204, "", "", is(DOUBT), 0, 0 },
    { "an empty object", EXECUTE, 200, "", "{}", is(DOUBT), 0, 0 },
    { "an id that is a number", EXECUTE, 200, "", "{\"id\":12}",
      is(DOUBT), 0, 0 },
    { "an id that is none", EXECUTE, 200, "", "{\"id\":\"12a\"}",
      is(DOUBT), 0, 0 },
    { "an id beyond the largest", EXECUTE, 200, "",
      "{\"id\":\"9223372036854775808\"}", is(DOUBT), 0, 0 },
    { "one that would begin anew at 0", EXECUTE, 200, "",
      "{\"id\":\"18446744073709551616\"}", is(DOUBT), 0, 0 },
    { "the largest", EXECUTE, 200, "",
      "{\"id\":\"9223372036854775807\"}", is(DONE), 0, 0 },
    { "an empty id", EXECUTE, 200, "", "{\"id\":\"\"}", is(DOUBT), 0, 0 },
    { "half an object", EXECUTE, 200, "", "{\"id\":\"12\",", is(DOUBT), 0,
      0 },
    { "a page", EXECUTE, 200, "", "<html>", is(DOUBT), 0, 0 },
    { "a list", EXECUTE, 200, "", "[{\"id\":\"12\"}]", is(DOUBT), 0, 0 },
    { "201", EXECUTE, 201, "", "{\"id\":\"12\"}", is(DONE), 0, 0 },

    { "an error of the server", EXECUTE, 500, "", "{\"code\":0}",
      is(DOUBT), 0, 0 },
    { "502", EXECUTE, 502, "", "<html>", is(DOUBT), 0, 0 },
    { "503", EXECUTE, 503, "retry-after: 7\n", "", is(DOUBT), 0, 0 },
    { "overloaded", EXECUTE, 503, "", "{\"code\":130000}", is(DOUBT),
      130000, 0 },
    { "504", EXECUTE, 504, "", "", is(DOUBT), 0, 0 },
    { "522", EXECUTE, 522, "", "error code: 522", is(DOUBT), 0, 0 },
    { "one with a code of a refusal", EXECUTE, 500, "",
      "{\"code\":10015}", is(DOUBT), 10015, 0 },
    { "a status that there is not", EXECUTE, 700, "", "", is(DOUBT), 0, 0 },
    { "408", EXECUTE, 408, "", "", is(DOUBT), 0, 0 },
    { "a redirect", EXECUTE, 302, "location: /\n", "", is(AGAIN), 0, 0 },
    { "405", EXECUTE, 405, "", "{\"code\":0}", is(AGAIN), 0, 0 },
    { "400 of a page", EXECUTE, 400, "", "<html>", is(AGAIN), 0, 0 },

    { "a limit", EXECUTE, 429, LIMITED_HEADERS,
      "{\"retry_after\":1.5,\"global\":false}", is(LIMITED), 0, 1 },
    { "a limit with a code", EXECUTE, 429, "", "{\"code\":20028}",
      is(LIMITED), 20028, 1 },
    { "a limit on the channel", EXECUTE, 429, "x-ratelimit-scope: shared\n",
      "{\"retry_after\":1.5}", is(LIMITED), 0, 0 },
    { "a limit in headers only", EXECUTE, 429, "retry-after: 2\n",
      "{\"code\":0}", is(LIMITED), 0, 1 },
    { "a limit without a body", EXECUTE, 429, "retry-after: 2\n", "",
      is(LIMITED), 0, 1 },
    { "a limit on a page", EXECUTE, 429, LIMITED_HEADERS, "<html>",
      is(LIMITED), 0, 1 },
    { "a limit in JSON that is broken", EXECUTE, 429,
      "content-type: application/json; charset=utf-8\nretry-after: 2\n",
      "{\"retry_after\":Infinity}", is(LIMITED), 0, 1 },
    { "JSON that is broken, and no limit", EXECUTE, 429,
      "content-type: application/json\n", "{\"retry_after\":Infinity}",
      is(BLOCKED), 0, 1 },
    { "a limit in the body only", EXECUTE, 429, "",
      "{\"retry_after\":1,\"code\":0}", is(LIMITED), 0, 1 },
    { "a ban", EXECUTE, 429, "", "{\"message\":\"You are being blocked\","
      "\"code\":0}", is(BLOCKED), 0, 1 },
    { "a page that bans", EXECUTE, 429, "retry-after: 3600\n", "<html>",
      is(BLOCKED), 0, 1 },
    { "1015 as text", EXECUTE, 429, "", "error code: 1015", is(BLOCKED), 0,
      1 },
    { "1015 as JSON", EXECUTE, 429, "", "{\"code\":1015}", is(BLOCKED),
      1015, 1 },
    { "1010 as text", EXECUTE, 403, "", "error code: 1010", is(BLOCKED), 0,
      1 },
    { "1010 as JSON", EXECUTE, 403, "", "{\"code\":1010}", is(BLOCKED),
      1010, 1 },
    { "40333", EXECUTE, 403, "", "{\"code\":40333}", is(BLOCKED), 40333, 1 },
    { "40333 with headers", EXECUTE, 403, LIMITED_HEADERS,
      "{\"code\":40333}", is(BLOCKED), 40333, 1 },
    { "403 of a page", EXECUTE, 403, "", "<html>", is(BLOCKED), 0, 1 },
    { "403 of nothing", EXECUTE, 403, "", "", is(BLOCKED), 0, 1 },
    { "403 without a code", EXECUTE, 403, "", "{\"code\":0}", is(BLOCKED),
      0, 1 },
    { "403 without a code, with headers", EXECUTE, 403, LIMITED_HEADERS,
      "{\"code\":0}", is(FORBIDDEN), 0, 1 },
    { "401 of a page", EXECUTE, 401, "", "<html>", is(BLOCKED), 0, 1 },
    { "404 of a page", EXECUTE, 404, "", "<html>", is(BLOCKED), 0, 0 },

    { "an unknown webhook", EXECUTE, 404, "", "{\"code\":10015}",
      is(WEBHOOK_GONE), 10015, 0 },
    { "404 without a code", EXECUTE, 404, "", "{\"code\":0}",
      is(WEBHOOK_GONE), 0, 0 },
    { "an invalid token", EXECUTE, 401, "", "{\"code\":50027}",
      is(WEBHOOK_GONE), 50027, 1 },
    { "401 without a code", EXECUTE, 401, "", "{\"code\":0}",
      is(WEBHOOK_GONE), 0, 1 },
    { "an unknown channel", EXECUTE, 404, "", "{\"code\":10003}",
      is(CHANNEL_GONE), 10003, 0 },
    { "an unknown guild", EXECUTE, 404, "", "{\"code\":10004}",
      is(CHANNEL_GONE), 10004, 0 },
    { "not for this channel", EXECUTE, 400, "", "{\"code\":50008}",
      is(CHANNEL_GONE), 50008, 0 },
    { "not for this type", EXECUTE, 400, "", "{\"code\":50024}",
      is(CHANNEL_GONE), 50024, 0 },
    { "a forum", EXECUTE, 400, "", "{\"code\":220001}", is(CHANNEL_GONE),
      220001, 0 },
    { "a forum without a name", EXECUTE, 400, "", "{\"code\":220002}",
      is(CHANNEL_GONE), 220002, 0 },
    { "no forum", EXECUTE, 400, "", "{\"code\":220003}", is(CHANNEL_GONE),
      220003, 0 },
    { "a forum without threads", EXECUTE, 400, "", "{\"code\":220004}",
      is(CHANNEL_GONE), 220004, 0 },
    { "no access", EXECUTE, 403, LIMITED_HEADERS, "{\"code\":50001}",
      is(FORBIDDEN), 50001, 1 },
    { "no permission", EXECUTE, 403, "", "{\"code\":50013}", is(FORBIDDEN),
      50013, 1 },
    { "another refusal", EXECUTE, 403, "", "{\"code\":99999}",
      is(FORBIDDEN), 99999, 1 },
    { "a locked thread", EXECUTE, 400, "", "{\"code\":160005}",
      is(FORBIDDEN), 160005, 0 },

    { "an invalid form", EXECUTE, 400, "", "{\"code\":50035}", is(POISON),
      50035, 0 },
    { "an empty message", EXECUTE, 400, "", "{\"code\":50006}", is(POISON),
      50006, 0 },
    { "400 without a code", EXECUTE, 400, "", "{\"code\":0}", is(POISON), 0,
      0 },
    { "a code that is text", EXECUTE, 400, "", "{\"code\":\"50035\"}",
      is(POISON), 0, 0 },
    { "a code that is negative", EXECUTE, 400, "", "{\"code\":-1}",
      is(POISON), 0, 0 },
    { "a word filter", EXECUTE, 400, "", "{\"code\":200000}", is(CONTENT),
      200000, 0 },
    { "a word filter on a title", EXECUTE, 403, "", "{\"code\":200001}",
      is(CONTENT), 200001, 1 },
    { "a link", EXECUTE, 400, "", "{\"code\":240000}", is(CONTENT), 240000,
      0 },
    { "too large", EXECUTE, 400, "", "{\"code\":40005}", is(SHRINK), 40005,
      0 },
    { "a file too large", EXECUTE, 400, "", "{\"code\":50045}", is(SHRINK),
      50045, 0 },
    { "413", EXECUTE, 413, "", "{\"code\":40005}", is(SHRINK), 40005, 0 },
    { "413 of a page", EXECUTE, 413, "", "<html>", is(SHRINK), 0, 0 },

    { "webhooks", LIST, 200, "", "[{\"id\":\"1\"}]", is(DONE), 0, 0 },
    { "none", LIST, 200, "", "[]", is(DONE), 0, 0 },
    { "an object", LIST, 200, "", "{}", is(AGAIN), 0, 0 },
    { "half a list", LIST, 200, "", "[{", is(AGAIN), 0, 0 },
    { "an error", LIST, 500, "", "", is(AGAIN), 0, 0 },
    { "a bad token", LIST, 401, "", "{\"code\":0}", is(TOKEN_BAD), 0, 1 },
    { "a bad token with a code", LIST, 401, "", "{\"code\":40001}",
      is(TOKEN_BAD), 40001, 1 },
    { "no permission", LIST, 403, "", "{\"code\":50013}", is(FORBIDDEN),
      50013, 1 },
    { "no channel", LIST, 404, "", "{\"code\":10003}", is(CHANNEL_GONE),
      10003, 0 },
    { "404 without a code", LIST, 404, "", "{\"code\":0}",
      is(CHANNEL_GONE), 0, 0 },
    { "a limit", LIST, 429, "", "{\"retry_after\":1}", is(LIMITED), 0, 1 },

    { "a webhook", CREATE, 200, "", "{\"id\":\"7\",\"token\":\"a-b_c.D9\","
      "\"channel_id\":\"42\"}", is(DONE), 0, 0 },
    { "one without a token", CREATE, 200, "", "{\"id\":\"7\"}", is(DOUBT),
      0, 0 },
    { "one with a token that is none", CREATE, 200, "",
      "{\"id\":\"7\",\"token\":\"a/../b\"}", is(DOUBT), 0, 0 },
    { "an error", CREATE, 500, "", "", is(DOUBT), 0, 0 },
    { "fifteen in the channel", CREATE, 400, "", "{\"code\":30007}",
      is(FULL), 30007, 0 },
    { "a thousand in the guild", CREATE, 400, "", "{\"code\":30058}",
      is(FULL), 30058, 0 },
    { "an invalid name", CREATE, 400, "", "{\"code\":50035}", is(POISON),
      50035, 0 },
    { "a bad token", CREATE, 401, "", "{\"code\":0}", is(TOKEN_BAD), 0, 1 },
    { "no permission", CREATE, 403, "", "{\"code\":50013}", is(FORBIDDEN),
      50013, 1 },
    { "413 of a page", CREATE, 413, "", "<html>", is(AGAIN), 0, 0 },

    { "deleted", DELETE, 204, "", "", is(DONE), 0, 0 },
    { "gone before", DELETE, 404, "", "{\"code\":10015}", is(DONE), 10015,
      0 },
    { "gone before, without a code", DELETE, 404, "", "{\"code\":0}",
      is(DONE), 0, 0 },
    { "gone with its token", DELETE, 401, "", "{\"code\":50027}", is(DONE),
      50027, 1 },
    { "an error", DELETE, 500, "", "", is(AGAIN), 0, 0 },
    { "a page", DELETE, 404, "", "<html>", is(BLOCKED), 0, 0 },

    { "messages", READ, 200, "", "[]", is(DONE), 0, 0 },
    { "no history", READ, 403, "", "{\"code\":50001}", is(FORBIDDEN),
      50001, 1 },
    { "an error", READ, 502, "", "", is(AGAIN), 0, 0 },
    { "408", READ, 408, "", "", is(AGAIN), 0, 0 },
    { "a page", READ, 200, "", "<html>", is(AGAIN), 0, 0 },

    { "a channel", CHANNEL, 200, "", "{\"id\":\"7\"}", is(DONE), 0, 0 },
    { "half a channel", CHANNEL, 200, "", "{\"id\":", is(AGAIN), 0, 0 },
    { "a list", CHANNEL, 200, "", "[]", is(AGAIN), 0, 0 },
    { "no channel", CHANNEL, 404, "", "{\"code\":10003}", is(CHANNEL_GONE),
      10003, 0 },
    { "no access", CHANNEL, 403, "", "{\"code\":50001}", is(FORBIDDEN),
      50001, 1 },
    { "a bad token", CHANNEL, 401, "", "{\"code\":0}", is(TOKEN_BAD), 0, 1 },
    { "no such question", CHANNEL, 404, "", "{\"code\":0}", is(DONE), 0, 0 },
    { "nor a page for it", CHANNEL, 404, "", "<html>", is(DONE), 0, 0 },
    { "nor a method", CHANNEL, 405, "", "", is(DONE), 0, 0 },
    { "an error", CHANNEL, 500, "", "", is(AGAIN), 0, 0 },
    { "a webhook", WEBHOOK, 200, "", "{\"id\":\"7\"}", is(DONE), 0, 0 },
    { "no webhook", WEBHOOK, 404, "", "{\"code\":10015}", is(WEBHOOK_GONE),
      10015, 0 },
    { "no such token", WEBHOOK, 401, "", "{\"code\":50027}",
      is(WEBHOOK_GONE), 50027, 1 },
    { "no such question", WEBHOOK, 404, "", "{\"code\":0}", is(DONE), 0, 0 },

    { NULL, 0, 0, NULL, NULL, 0, 0, 0 }
};


typedef struct {
    ngx_guildlog_platform_call_e    call;
    ngx_uint_t                      status;
    const char                     *body;
    const char                     *guild;
    ngx_uint_t                      refused;
} guild_t;


/* whose it is, and whether it counts for a server */

static const guild_t  guilds[] = {
    { CHANNEL, 200, "{\"guild_id\":\"12345678901234567\"}",
      "12345678901234567", 0 },
    { CHANNEL, 200, "{\"guild_id\":null}", "", 0 },
    { CHANNEL, 200, "{\"guild_id\":12345678901234567}", "", 0 },
    { CHANNEL, 200, "{\"guild_id\":\"1\"}", "", 0 },
    { CHANNEL, 200, "{\"guild_id\":\"9223372036854775808\"}", "", 0 },
    { CHANNEL, 404, "{\"guild_id\":\"12345678901234567\"}", "", 0 },
    { WEBHOOK, 200, "{\"guild_id\":\"12345678901234567\"}",
      "12345678901234567", 0 },
    { CREATE, 200, "{\"id\":\"7\",\"token\":\"t\",\"guild_id\":"
      "\"12345678901234567\"}", "12345678901234567", 0 },
    { CREATE, 200, "{\"id\":\"7\",\"token\":\"t\"}", "", 0 },
    { CHANNEL, 404, "{\"code\":10003}", "", 1 },
    { CHANNEL, 403, "{\"code\":50001}", "", 1 },
    { LIST, 403, "{\"code\":50013}", "", 1 },
    { LIST, 400, "{\"code\":50035}", "", 1 },
    { LIST, 401, "{\"code\":0}", "", 0 },
    { LIST, 403, "<html>", "", 0 },
    { LIST, 429, "{\"retry_after\":1}", "", 0 },
    { CREATE, 400, "{\"code\":30007}", "", 1 },
    { EXECUTE, 404, "{\"code\":10015}", "", 1 },
    { EXECUTE, 403, "{\"code\":50013}", "", 1 },
    { EXECUTE, 400, "{\"code\":50035}", "", 0 },
    { EXECUTE, 400, "{\"code\":200000}", "", 0 },
    { EXECUTE, 500, "{}", "", 0 },
    { READ, 403, "{\"code\":50001}", "", 1 },
    { DELETE, 404, "{\"code\":10015}", "", 0 },
    { 0, 0, NULL, NULL, 0 }
};


typedef struct {
    const char                     *headers;
    const char                     *body;
    ngx_uint_t                      retry_after_ms;
    ngx_guildlog_verdict_scope_e   scope;
} limited_t;


#define USER    NGX_GUILDLOG_SCOPE_USER
#define SHARED  NGX_GUILDLOG_SCOPE_SHARED
#define GLOBAL  NGX_GUILDLOG_SCOPE_GLOBAL

#define body(value)  "{\"retry_after\":" value ",\"code\":1}"


static const limited_t  limited[] = {
    { "", body("1.5"), 1500, USER },
    { "", body("0.0641"), 65, USER },
    { "", body("2"), 2000, USER },
    { "", body("0"), 0, USER },
    { "", body("\"2.25\""), 2250, USER },
    { "", body("\"2\""), 2000, USER },
    { "", body("1e2"), 100000, USER },
    { "", body("1e300"), 86400000, USER },
    { "", body("100000"), 86400000, USER },
    { "", body("-1"), 5000, USER },
    { "", body("-0.5"), 5000, USER },
    { "", body("null"), 5000, USER },
    { "", body("true"), 5000, USER },
    { "", body("[1]"), 5000, USER },
    { "", body("\"\""), 5000, USER },
    { "", body("\"soon\""), 5000, USER },
    { "", body("\"1.5s\""), 5000, USER },
    { "", body("\"inf\""), 5000, USER },
    { "", body("\"99999999999999999999\""), 86400000, USER },
    { "", "{\"code\":1}", 5000, USER },

    { "retry-after: 3\n", body("1.5"), 1500, USER },
    { "retry-after: 3\n", body("-1"), 3000, USER },
    { "retry-after: 3\n", "{}", 3000, USER },
    { "retry-after: 0.25\n", "{}", 250, USER },
    { "retry-after: 0.0001\n", "{}", 1, USER },
    { "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\n", "{}", 5000, USER },
    { "retry-after: \n", "{}", 5000, USER },
    { "retry-after: -3\n", "{}", 5000, USER },
    { "x-ratelimit-reset-after: 1.25\n", "{}", 1250, USER },
    { "retry-after: x\nx-ratelimit-reset-after: 1.25\n", "{}", 1250, USER },
    { "x-ratelimit-reset-after: soon\n", "{}", 5000, USER },

    { "x-ratelimit-scope: user\n", "{}", 5000, USER },
    { "x-ratelimit-scope: shared\n", "{}", 5000, SHARED },
    { "x-ratelimit-scope: Shared\n", "{}", 5000, SHARED },
    { "x-ratelimit-scope: global\n", "{}", 5000, GLOBAL },
    { "x-ratelimit-scope: galactic\n", "{}", 5000, USER },
    { "x-ratelimit-scope: \n", "{}", 5000, USER },
    { "x-ratelimit-global: true\n", "{}", 5000, GLOBAL },
    { "x-ratelimit-global: false\n", "{}", 5000, USER },
    { "", "{\"retry_after\":1,\"global\":true}", 1000, GLOBAL },
    { "", "{\"retry_after\":1,\"global\":\"true\"}", 1000, USER },
    { "x-ratelimit-scope: shared\n", "{\"retry_after\":1,\"global\":true}",
      1000, GLOBAL },

    { NULL, NULL, 0, 0 }
};


static const struct {
    const char  *headers;
    ngx_int_t    remaining;
    ngx_int_t    reset_after_ms;
} buckets[] = {
    { LIMITED_HEADERS, 0, 1500 },
    { "x-ratelimit-remaining: 4\n", 4, -1 },
    { "x-ratelimit-remaining: -1\nx-ratelimit-reset-after: -1\n", -1, -1 },
    { "x-ratelimit-remaining: many\nx-ratelimit-reset-after: .5\n", -1, -1 },
    { "x-ratelimit-remaining: \nx-ratelimit-reset-after: \n", -1, -1 },
    { "x-ratelimit-remaining: 1.5\nx-ratelimit-reset-after: 1.5.5\n", -1,
      -1 },
    { "x-ratelimit-remaining: 99999999999999999999\n"
      "x-ratelimit-reset-after: 99999999999999999999\n", -1, 86400000 },
    { "x-ratelimit-reset-after: 0.000\n", -1, 0 },
    { "x-ratelimit-reset: 1470173023\n", -1, -1 },
    { NULL, 0, 0 }
};


static const struct {
    const char  *errors;
    ngx_int_t    embed;
} poisons[] = {
    { "{\"embeds\":{\"3\":{\"description\":{\"_errors\":[{}]}}}}", 3 },
    { "{\"embeds\":{\"7\":{},\"2\":{},\"9\":{}}}", 2 },
    { "{\"embeds\":{\"0\":{}}}", 0 },
    { "{\"embeds\":{\"_errors\":[{\"code\":\"BASE_TYPE_MAX_LENGTH\"}]}}",
      -1 },
    { "{\"embeds\":{\"10\":{}}}", -1 },
    { "{\"embeds\":{\"-1\":{}}}", -1 },
    { "{\"embeds\":{}}", -1 },
    { "{\"embeds\":[1]}", -1 },
    { "{\"content\":{}}", -1 },
    { "[]", -1 },
    { "null", -1 },
    { NULL, 0 }
};


/* "name: value" lines */

static void
make_answer(ngx_guildlog_client_response_t *answer, ngx_pool_t *pool,
    ngx_uint_t status, const char *headers, const char *body)
{
    char          *line, *value, *copy;
    ngx_keyval_t  *header;

    ngx_memzero(answer, sizeof(ngx_guildlog_client_response_t));

    answer->status = status;
    answer->body = tap_str(body);

    (void) ngx_array_init(&answer->headers, pool, 4, sizeof(ngx_keyval_t));

    copy = ngx_palloc(pool, strlen(headers) + 1);
    strcpy(copy, headers);

    for (line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        value = strchr(line, ':');
        *value = '\0';

        header = ngx_array_push(&answer->headers);
        header->key = tap_str(line);
        header->value = tap_str(value + 2);
    }
}


static void
test_judged(void)
{
    ngx_pool_t                     *pool;
    const judged_t                 *test;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    for (test = judged; test->name; test++) {
        pool = tap_pool();

        make_answer(&answer, pool, test->status, test->headers, test->body);
        ngx_guildlog_verdict(pool, &answer, test->call, &verdict);

        tap_is(verdict.class, test->class, test->name);
        tap_is(verdict.code, test->code, "  its code");
        tap_is(verdict.invalid, test->invalid, "  whether it counts");
        tap_ok(verdict.reason != NULL, "  it has a reason");
        tap_ok(verdict.class != is(BLOCKED)
               || verdict.retry_after_ms >= NGX_GUILDLOG_VERDICT_BLOCK_MS,
               "  a block is long");
        tap_ok((verdict.message_id.len > 0)
               == (verdict.class == is(DONE) && test->call == EXECUTE),
               "  no id without a message, no message without its id");

        ngx_destroy_pool(pool);
    }
}


static void
test_unanswered(void)
{
    ngx_uint_t                      i;
    ngx_pool_t                     *pool;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;
    static const struct {
        ngx_guildlog_platform_call_e   call;
        ngx_guildlog_verdict_class_e  uncertain;
    } calls[] = {
        { EXECUTE, is(DOUBT) }, { CREATE, is(DOUBT) }, { LIST, is(AGAIN) },
        { DELETE, is(AGAIN) }, { READ, is(AGAIN) }
    };

    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        pool = tap_pool();

        make_answer(&answer, pool, 404, "", "{\"code\":10015}");

        answer.outcome = NGX_GUILDLOG_CLIENT_UNCERTAIN;
        ngx_guildlog_verdict(pool, &answer, calls[i].call, &verdict);
        tap_is(verdict.class, calls[i].uncertain,
               "no whole answer, whatever its beginning");

        answer.outcome = NGX_GUILDLOG_CLIENT_UNSENT;
        ngx_guildlog_verdict(pool, &answer, calls[i].call, &verdict);
        tap_is(verdict.class, is(AGAIN), "nothing sent");
        tap_is(verdict.invalid, 0, "  nothing counts");
        tap_is(verdict.remaining, -1, "  nothing is known");

        ngx_destroy_pool(pool);
    }
}


static void
test_limited(void)
{
    ngx_pool_t                     *pool;
    const limited_t                *test;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    for (test = limited; test->headers; test++) {
        pool = tap_pool();

        make_answer(&answer, pool, 429, test->headers, test->body);
        ngx_guildlog_verdict(pool, &answer, EXECUTE, &verdict);

        tap_is(verdict.class, is(LIMITED), test->body);
        tap_is(verdict.retry_after_ms, test->retry_after_ms, test->headers);
        tap_is(verdict.scope, test->scope, "  its scope");

        ngx_destroy_pool(pool);
    }

    pool = tap_pool();

    make_answer(&answer, pool, 429, "retry-after: 3600\n", "<html>");
    ngx_guildlog_verdict(pool, &answer, EXECUTE, &verdict);
    tap_is(verdict.retry_after_ms, 3600000, "a block may be longer");

    make_answer(&answer, pool, 503, "retry-after: 7\n", "");
    ngx_guildlog_verdict(pool, &answer, READ, &verdict);
    tap_is(verdict.retry_after_ms, 7000, "so may an outage");

    ngx_destroy_pool(pool);
}


static void
test_buckets(void)
{
    ngx_uint_t                      i;
    ngx_pool_t                     *pool;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    for (i = 0; buckets[i].headers; i++) {
        pool = tap_pool();

        make_answer(&answer, pool, 200, buckets[i].headers,
                    "{\"id\":\"12\",\"channel_id\":\"42\"}");
        ngx_guildlog_verdict(pool, &answer, EXECUTE, &verdict);

        tap_is(verdict.class, is(DONE), buckets[i].headers);
        tap_is(verdict.remaining, buckets[i].remaining, "  what remains");
        tap_is(verdict.reset_after_ms, buckets[i].reset_after_ms,
               "  when it begins anew");
        tap_is_str(&verdict.message_id, "12", "  the message");
        tap_is_str(&verdict.channel_id, "42", "  the channel");

        ngx_destroy_pool(pool);
    }
}


static void
test_poisons(void)
{
    char                            body[256];
    ngx_uint_t                      i;
    ngx_pool_t                     *pool;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    for (i = 0; poisons[i].errors; i++) {
        pool = tap_pool();

        (void) snprintf(body, sizeof(body), "{\"code\":50035,\"errors\":%s}",
                        poisons[i].errors);

        make_answer(&answer, pool, 400, "", body);
        ngx_guildlog_verdict(pool, &answer, EXECUTE, &verdict);

        tap_is(verdict.class, is(POISON), poisons[i].errors);
        tap_is(verdict.embed, poisons[i].embed, "  the first bad embed");

        ngx_destroy_pool(pool);
    }
}


static void *
no_memory(size_t size)
{
    if (size == 0) {
        return &tap_log;
    }

    ngx_set_errno(NGX_ENOMEM);

    return NULL;
}


/* what it says is not known, nor is it taken for something else */

static void
test_unread(void)
{
    ngx_uint_t                      i;
    ngx_pool_t                     *pool;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    static const struct {
        ngx_uint_t                     status;
        const char                    *body;
        ngx_guildlog_platform_call_e   call;
        ngx_guildlog_verdict_class_e  class;
    } tests[] = {
        { 200, "{\"id\":\"12\"}", EXECUTE, is(DOUBT) },
        { 502, "{\"code\":0}", EXECUTE, is(DOUBT) },
        { 200, "[{\"id\":\"12\"}]", READ, is(AGAIN) },
        { 400, "{\"code\":50035}", EXECUTE, is(AGAIN) },
        { 403, "{\"code\":50013}", LIST, is(AGAIN) },
        { 404, "{\"code\":10015}", EXECUTE, is(AGAIN) }
    };

    json_set_alloc_funcs(no_memory, free);

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        pool = tap_pool();

        make_answer(&answer, pool, tests[i].status, LIMITED_HEADERS,
                    tests[i].body);
        ngx_guildlog_verdict(pool, &answer, tests[i].call, &verdict);
        tap_is(verdict.class, tests[i].class, "no memory to read it");

        ngx_destroy_pool(pool);
    }

    pool = tap_pool();

    make_answer(&answer, pool, 429, "retry-after: 2\n"
                "x-ratelimit-scope: global\n", "{\"retry_after\":1.5}");
    ngx_guildlog_verdict(pool, &answer, EXECUTE, &verdict);
    tap_is(verdict.class, is(LIMITED), "a limit");
    tap_is(verdict.retry_after_ms, 2000, "  as its headers have it");
    tap_is(verdict.scope, NGX_GUILDLOG_SCOPE_GLOBAL, "  and its scope");

    make_answer(&answer, pool, 200, "", "[{\"id\":\"12\"}]");
    ngx_guildlog_verdict(pool, &answer, READ, &verdict);
    tap_ok(ngx_guildlog_platform_messages(pool, verdict.json) == NULL,
           "no list without memory");

    ngx_destroy_pool(pool);

    json_set_alloc_funcs(malloc, free);
}


static void
test_created(void)
{
    ngx_pool_t                     *pool;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    pool = tap_pool();

    make_answer(&answer, pool, 200, "", "{\"id\":\"7\",\"token\":\"t-1\","
                                        "\"channel_id\":\"42\"}");
    ngx_guildlog_verdict(pool, &answer, CREATE, &verdict);

    tap_is_str(&verdict.webhook_id, "7", "the webhook made");
    tap_is_str(&verdict.token, "t-1", "with its token");
    tap_is_str(&verdict.channel_id, "42", "in its channel");

    ngx_destroy_pool(pool);
}


static void
test_guilds(void)
{
    ngx_pool_t                     *pool;
    const guild_t                  *test;
    ngx_guildlog_verdict_t          verdict;
    ngx_guildlog_client_response_t  answer;

    pool = tap_pool();

    for (test = guilds; test->body; test++) {
        make_answer(&answer, pool, test->status, "", test->body);
        ngx_guildlog_verdict(pool, &answer, test->call, &verdict);

        tap_is_str(&verdict.guild_id, test->guild, test->body);
        tap_is(verdict.refused, test->refused, "  whether it counts");
    }

    ngx_destroy_pool(pool);
}


static json_t *
parse(ngx_pool_t *pool, const char *text)
{
    ngx_str_t  body, error;

    body = tap_str(text);

    return ngx_guildlog_json_parse(pool, &body, &error);
}


static void
test_lists(void)
{
    json_t                           *json;
    ngx_pool_t                       *pool;
    ngx_array_t                      *list;
    ngx_guildlog_platform_webhook_t  *webhook;
    ngx_guildlog_platform_message_t  *message;

    pool = tap_pool();

    json = parse(pool, "[{\"id\":\"1\",\"token\":\"t\",\"name\":\"\\u00e9\","
                       "\"application_id\":\"9\"},"
                       "{\"id\":\"2\",\"token\":null,\"application_id\":null},"
                       "{\"id\":\"3\",\"token\":\"../x\",\"name\":7}]");
    list = ngx_guildlog_platform_webhooks(pool, json);
    webhook = list->elts;

    tap_is(list->nelts, 3, "webhooks");
    tap_is_str(&webhook[0].id, "1", "an id");
    tap_is_str(&webhook[0].token, "t", "a token");
    tap_is_str(&webhook[0].name, "\xc3\xa9", "a name");
    tap_is_str(&webhook[0].application_id, "9", "who made it");
    tap_is(webhook[1].token.len, 0, "no token");
    tap_is(webhook[1].application_id.len, 0, "made by nobody");
    tap_is(webhook[2].token.len, 0, "a token that is none");

    json = parse(pool, "[{\"id\":\"11\",\"webhook_id\":\"1\",\"content\":\"c\","
                       "\"embeds\":[{\"footer\":{\"text\":\"a\"}},"
                       "{\"footer\":{\"text\":\"b\"}}]},"
                       "{\"id\":\"12\",\"embeds\":[]},"
                       "{\"id\":\"13\",\"embeds\":[{}],\"content\":5}]");
    list = ngx_guildlog_platform_messages(pool, json);
    message = list->elts;

    tap_is(list->nelts, 3, "messages");
    tap_is_str(&message[0].id, "11", "an id");
    tap_is_str(&message[0].webhook_id, "1", "a webhook");
    tap_is_str(&message[0].content, "c", "its text");
    tap_is_str(&message[0].footer, "b", "the last embed's footer");
    tap_is(message[1].webhook_id.len, 0, "written by a user");
    tap_is(message[1].footer.len, 0, "no embed");
    tap_is(message[2].footer.len, 0, "no footer");

    json = parse(pool, "[]");
    tap_is(ngx_guildlog_platform_messages(pool, json)->nelts, 0, "none");

    json = parse(pool, "[{\"id\":null}]");
    tap_ok(ngx_guildlog_platform_messages(pool, json) == NULL,
           "a message without an id");
    tap_ok(ngx_guildlog_platform_webhooks(pool, json) == NULL,
           "a webhook without an id");

    json = parse(pool, "[1,\"2\"]");
    tap_ok(ngx_guildlog_platform_messages(pool, json) == NULL,
           "a list of something else");

    json = parse(pool, "{\"id\":\"1\"}");
    tap_ok(ngx_guildlog_platform_webhooks(pool, json) == NULL, "no list");

    ngx_destroy_pool(pool);
}


static void
is_request(ngx_guildlog_platform_request_t *request, const char *method,
    const char *path, const char *body, ngx_uint_t bot)
{
    tap_ok(strcmp(request->method, method) == 0, "%s", path);
    tap_is_str(&request->path, path, "  its path");
    tap_is(request->bot, bot, "  whose token it has");
    tap_is(request->body.len, strlen(body), "  its body");
    tap_ok(request->body.len == 0
           || memcmp(request->body.data, body, request->body.len) == 0,
           "  in full");
}


#define asked(call, id, more)                                                 \
    ngx_guildlog_platform_call(pool, NGX_GUILDLOG_CALL_##call, id, more, &r)


static void
test_requests(void)
{
    ngx_str_t                        id, other, token, body, bad;
    ngx_uint_t                       i;
    ngx_pool_t                      *pool;
    ngx_guildlog_platform_request_t  r;
    static const char               *ids[] = { "", "1a", "1/", "-1", " 1",
                                               "9223372036854775808",
                                               "123456789012345678901" };
    static const char               *tokens[] = { "", "a/b", "a?b", "a b",
                                                  "a\r\nb", "%41" };

    pool = tap_pool();

    id = tap_str("17");
    other = tap_str("9223372036854775807");
    token = tap_str("aZ09-_.");
    body = tap_str("{\"name\":\"a log\"}");

    tap_is(asked(EXECUTE, &id, &token), NGX_OK, "a message");
    is_request(&r, "POST", "/webhooks/17/aZ09-_.?wait=true"
                           "&with_components=true", "", 0);

    tap_is(asked(LIST, &id, NULL), NGX_OK, "a list");
    is_request(&r, "GET", "/channels/17/webhooks", "", 1);

    tap_is(asked(CREATE, &id, &body), NGX_OK, "a new webhook");
    is_request(&r, "POST", "/channels/17/webhooks",
               "{\"name\":\"a log\"}", 1);

    tap_is(asked(CHANNEL, &id, NULL), NGX_OK, "a channel");
    is_request(&r, "GET", "/channels/17", "", 1);

    tap_is(asked(WEBHOOK, &id, &token), NGX_OK, "a webhook");
    is_request(&r, "GET", "/webhooks/17/aZ09-_.", "", 0);

    tap_is(asked(DELETE, &id, &token), NGX_OK, "the end of one");
    is_request(&r, "DELETE", "/webhooks/17/aZ09-_.", "", 0);

    tap_is(asked(READ, &id, &other), NGX_OK, "messages");
    is_request(&r, "GET", "/channels/17/messages?after="
                          "9223372036854775807&limit=100", "", 1);

    other.len = 0;
    tap_is(asked(READ, &id, &other), NGX_OK, "the newest ones");
    is_request(&r, "GET", "/channels/17/messages?limit=100", "", 1);

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        bad = tap_str(ids[i]);

        tap_ok(asked(EXECUTE, &bad, &token) == NGX_ERROR
               && asked(LIST, &bad, NULL) == NGX_ERROR
               && asked(CREATE, &bad, &body) == NGX_ERROR
               && asked(DELETE, &bad, &token) == NGX_ERROR
               && asked(WEBHOOK, &bad, &token) == NGX_ERROR
               && asked(CHANNEL, &bad, NULL) == NGX_ERROR
               && asked(READ, &bad, &id) == NGX_ERROR
               && (bad.len == 0
                   || asked(READ, &id, &bad) == NGX_ERROR),
               "\"%s\" is no id", ids[i]);
    }

    for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        bad = tap_str(tokens[i]);

        tap_ok(asked(EXECUTE, &id, &bad) == NGX_ERROR
               && asked(DELETE, &id, &bad) == NGX_ERROR,
               "\"%s\" is no token", tokens[i]);
    }

    ngx_destroy_pool(pool);
}


int
main(void)
{
    tap_start();

    test_judged();
    test_unanswered();
    test_limited();
    test_buckets();
    test_poisons();
    test_unread();
    test_created();
    test_guilds();
    test_lists();
    test_requests();

    return tap_done();
}
