
/*
 * Links ngx_guildlog_cache.c.
 *
 * A page is found by its key until there is a newer one, no room, or it is old;
 * who has taken it reads what he took, whatever comes of it meanwhile.
 */

#include "base/ngx_guildlog_cache.h"
#include "tap.h"


#define ROOM(n)  ((n) * (sizeof(ngx_guildlog_cache_entry_t)                   \
                         + sizeof(ngx_guildlog_page_t) + 3))


static ngx_guildlog_shelf_t  *shelf;
static ngx_time_t             clock_time;


static void
put(const char *key, const char *body)
{
    ngx_str_t  k, state, b;

    k = tap_str(key);
    b = tap_str(body);
    state = tap_str("s");

    ngx_guildlog_shelf_put(shelf, &k, &state, &b);
}


static ngx_guildlog_page_t *
take(const char *key)
{
    ngx_str_t  k;

    k = tap_str(key);

    return ngx_guildlog_shelf_take(shelf, &k);
}


static void
is(const char *key, const char *body, const char *what)
{
    ngx_guildlog_page_t  *page;

    page = take(key);

    if (page == NULL || body == NULL) {
        tap_ok(page == NULL && body == NULL, "%s", what);

    } else {
        tap_ok(page->body.len == ngx_strlen(body)
               && ngx_memcmp(page->body.data, body, page->body.len) == 0,
               "%s", what);
    }

    if (page) {
        ngx_guildlog_shelf_give_back(page);
    }
}


static void
test_keys(void)
{
    put("a", "1");
    put("b", "2");
    is("a", "1", "a page by its key");
    is("b", "2", "another");
    is("c", NULL, "none");

    put("a", "3");
    is("a", "3", "a newer one");
    is("b", "2", "beside the other");
}


static void
test_room(void)
{
    char  long_body[ROOM(3)];

    ngx_memset(long_body, 'x', sizeof(long_body) - 1);
    long_body[sizeof(long_body) - 1] = '\0';

    put("a", "1");
    put("b", "2");
    put("c", "3");
    is("a", "1", "three have room");
    put("d", "4");
    is("b", NULL, "the fourth takes that of what was used longest ago");
    is("a", "1", "and no other");
    is("c", "3", "...");
    is("d", "4", "...");

    put("e", long_body);
    is("e", NULL, "what is larger than all is not kept");
}


static void
test_readers(void)
{
    ngx_guildlog_page_t  *old, *older;

    put("a", "1");
    older = take("a");
    old = take("a");
    put("a", "2");
    put("b", "3");
    put("c", "4");
    put("d", "5");
    is("a", NULL, "it is gone");
    tap_ok(old && old->body.data[0] == '1', "but not for who has it");

    ngx_guildlog_shelf_give_back(older);
    tap_ok(old->body.data[0] == '1', "nor when another gives it back");
    ngx_guildlog_shelf_give_back(old);
}


static void
test_asked(void)
{
    ngx_str_t  a, b;

    a = tap_str("a");
    b = tap_str("b");

    tap_ok(!ngx_guildlog_shelf_asked(shelf, &a), "never before");
    tap_ok(!ngx_guildlog_shelf_asked(shelf, &b), "nor another");
    tap_ok(ngx_guildlog_shelf_asked(shelf, &a), "the second time");
}


static void
test_age(void)
{
    put("a", "1");
    clock_time.sec += 60;
    is("a", "1", "a minute");
    clock_time.sec++;
    is("a", NULL, "no longer");
    put("a", "2");
    is("a", "2", "then anew");
}


int
main(void)
{
    ngx_uint_t  i;

    static void  (*tests[])(void) = {
        test_keys, test_room, test_readers, test_asked, test_age
    };

    tap_start();
    ngx_cached_time = &clock_time;
    (void) ngx_crc32_table_init();

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        shelf = ngx_guildlog_shelf_create(ROOM(3), &tap_log);
        tests[i]();
        ngx_guildlog_shelf_destroy(shelf);
    }

    return tap_done();
}
