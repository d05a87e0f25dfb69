
/*
 * Links ngx_guildlog_kept.c.
 *
 * Strings are found by their database and key until there is no room, or they
 * are old; old ones go whether they are asked for or not.
 */

#include "search/ngx_guildlog_kept.h"
#include "tap.h"


static ngx_guildlog_kept_t  *kept;
static ngx_time_t            clock_time;


static void
put(ngx_uint_t database, int64_t key, const char *strings)
{
    ngx_str_t  s;

    s = tap_str(strings);

    ngx_guildlog_kept_put(kept, database, key, &s);
}


static void
is(ngx_uint_t database, int64_t key, const char *strings, const char *what)
{
    ngx_int_t  rc;
    ngx_str_t  s;

    rc = ngx_guildlog_kept_get(kept, database, key, &s);

    if (strings == NULL) {
        tap_is(rc, NGX_DECLINED, what);
        return;
    }

    tap_ok(rc == NGX_OK && s.len == strlen(strings)
           && ngx_memcmp(s.data, strings, s.len) == 0, "%s", what);
}


static void
test_keys(void)
{
    put(0, 1, "one");
    put(0, 2, "");
    put(1, 1, "other");

    is(0, 1, "one", "strings by their key");
    is(0, 2, "", "none are strings, too");
    is(1, 1, "other", "the same key of another database");
    is(1, 2, NULL, "a key that is not kept");

    put(0, 1, "two");
    is(0, 1, "one", "strings never change");
}


static void
test_room(void)
{
    char     text[1000];
    int64_t  key;

    ngx_memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';

    for (key = 1; key <= 3; key++) {
        put(0, key, text);
    }

    is(0, 1, text, "three have room");
    put(0, 4, text);
    is(0, 2, NULL, "the fourth takes that of what was used longest ago");
    is(0, 1, text, "and no other");
    is(0, 3, text, "...");
    is(0, 4, text, "...");

    for (key = 5; key < 100; key++) {
        put(0, key, "");
    }

    is(0, 99, "", "many that are small");
    is(0, 4, NULL, "need room for themselves");
}


static void
test_large(void)
{
    char  text[5000];

    ngx_memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';

    put(0, 1, "one");
    put(0, 2, text);

    is(0, 2, NULL, "what is larger than all is not kept");
    is(0, 1, "one", "and drops nothing");
}


static void
test_age(void)
{
    put(0, 1, "one");
    clock_time.sec += NGX_GUILDLOG_KEPT_AGE;
    put(0, 2, "two");

    is(0, 1, "one", "strings are kept for a while");
    tap_is(ngx_guildlog_kept_expire(kept), 1, "all are");

    clock_time.sec++;

    is(0, 1, NULL, "no longer");
    tap_is(ngx_guildlog_kept_expire(kept), 1, "the younger ones are");

    clock_time.sec += NGX_GUILDLOG_KEPT_AGE;

    tap_is(ngx_guildlog_kept_expire(kept), 0, "then nothing is left");
    is(0, 2, NULL, "and nothing is found");
}


int
main(void)
{
    ngx_uint_t  i;

    static void  (*tests[])(void) = {
        test_keys, test_room, test_large, test_age
    };

    tap_start();
    ngx_cached_time = &clock_time;

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        kept = ngx_guildlog_kept_create(3600, &tap_log);
        tests[i]();
        ngx_guildlog_kept_destroy(kept);
    }

    return tap_done();
}
