
/*
 * Links ngx_guildlog_cache.c.
 *
 * A value is found by its key until there is another one, no room, or it is
 * old; old ones go whether they are asked for or not.  Who holds one reads what
 * was found, whatever comes of it meanwhile.
 */

#include "base/ngx_guildlog_cache.h"
#include "tap.h"


#define AGE      60
#define ROOM(n)  ((n) * (sizeof(ngx_guildlog_cache_entry_t) + 3))


static ngx_guildlog_cache_t  *cache;
static ngx_time_t             clock_time;


static void
put(const char *key, const char *text, size_t cost)
{
    char       *value;
    ngx_str_t   k;

    k = tap_str(key);

    value = ngx_guildlog_cache_store(cache, &k, ngx_strlen(text) + 1, cost);
    if (value) {
        ngx_memcpy(value, text, ngx_strlen(text) + 1);
    }
}


static char *
find(const char *key)
{
    ngx_str_t  k;

    k = tap_str(key);

    return ngx_guildlog_cache_find(cache, &k);
}


static void
is(const char *key, const char *text, const char *what)
{
    char  *value;

    value = find(key);

    if (value == NULL || text == NULL) {
        tap_ok(value == NULL && text == NULL, "%s", what);
        return;
    }

    tap_ok(ngx_strcmp(value, text) == 0, "%s", what);
}


static void
test_keys(void)
{
    put("a", "1", 0);
    put("b", "2", 0);
    is("a", "1", "a value by its key");
    is("b", "2", "another");
    is("c", NULL, "none");

    put("a", "3", 0);
    is("a", "3", "another one of that key");
    is("b", "2", "beside the other");
}


static void
test_room(void)
{
    char  text[ROOM(3)], key[2] = "a";

    ngx_memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';

    put("a", "1", 0);
    put("b", "2", 0);
    put("c", "3", 0);
    is("a", "1", "three have room");
    put("d", "4", 0);
    is("b", NULL, "the fourth takes that of what was used longest ago");
    is("a", "1", "and no other");
    is("c", "3", "...");
    is("d", "4", "...");

    put("e", text, 0);
    is("e", NULL, "what is larger than all has no room");
    is("d", "4", "and drops nothing");

    for (key[0] = 'A'; key[0] <= 'Z'; key[0]++) {
        put(key, "5", 1);
    }

    is("A", "5", "what costs little leaves room");
    is("Z", "5", "to many");
}


static void
test_holders(void)
{
    char  *old, *older;

    put("a", "1", 0);
    older = find("a");
    ngx_guildlog_cache_hold(older);
    old = find("a");
    ngx_guildlog_cache_hold(old);
    put("a", "2", 0);
    put("b", "3", 0);
    put("c", "4", 0);
    put("d", "5", 0);
    is("a", NULL, "it is gone");
    tap_ok(old[0] == '1', "but not for who holds it");

    ngx_guildlog_cache_release(older);
    tap_ok(old[0] == '1', "nor when another releases it");
    ngx_guildlog_cache_release(old);

    old = find("d");
    ngx_guildlog_cache_hold(old);
    ngx_guildlog_cache_release(old);
    is("d", "5", "what is released stays in the cache");
}


static void
test_age(void)
{
    put("a", "1", 0);
    clock_time.sec += AGE;
    put("b", "2", 0);
    is("a", "1", "values stay for a while");
    tap_is(ngx_guildlog_cache_expire(cache), 1, "all do");

    clock_time.sec++;

    is("a", NULL, "no longer");
    put("a", "3", 0);
    is("a", "3", "then anew");
    tap_is(ngx_guildlog_cache_expire(cache), 1, "younger ones stay");
    is("b", "2", "...");

    clock_time.sec += AGE + 1;

    tap_is(ngx_guildlog_cache_expire(cache), 0, "then nothing is left");
    is("b", NULL, "and nothing is found");
}


static void
test_no_age(void)
{
    ngx_guildlog_cache_destroy(cache);
    cache = ngx_guildlog_cache_create(ROOM(3), 0, &tap_log);

    put("a", "1", 0);
    clock_time.sec += 1000 * AGE;
    is("a", "1", "without an age a value stays");
    tap_is(ngx_guildlog_cache_expire(cache), 1, "also here");
}


int
main(void)
{
    ngx_uint_t  i;

    static void  (*tests[])(void) = {
        test_keys, test_room, test_holders, test_age, test_no_age
    };

    tap_start();
    ngx_cached_time = &clock_time;
    (void) ngx_crc32_table_init();

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        cache = ngx_guildlog_cache_create(ROOM(3), AGE, &tap_log);
        tests[i]();
        ngx_guildlog_cache_destroy(cache);
    }

    return tap_done();
}
