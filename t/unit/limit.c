
/*
 * Links ngx_guildlog_limit.c, ngx_guildlog_stats.c and ngx_guildlog_zone.c.
 *
 * A key's first request starts its window.  A window lets exactly as many
 * requests in as its limit says, on all workers together.  A full zone drops
 * old windows, but never refuses a request.
 */

#include <ngx_config.h>
#include <sys/wait.h>
#include "shm/ngx_guildlog_limit.h"
#include "zone.h"


#define WORKERS  4
#define KEYS     50
#define TAKES    20000
#define LIMIT    777


static ngx_shm_zone_t        zone;
static ngx_shm_zone_t        stats_zone;
static ngx_guildlog_stats_t  stats;
static ngx_guildlog_limit_t  state;


static ngx_int_t
take(const char *key, ngx_uint_t limit, ngx_msec_t window)
{
    ngx_str_t  s;

    s = tap_str(key);

    return ngx_guildlog_limit_take(&zone, &s, limit, window, &state, &stats);
}


static void
test_window(void)
{
    ngx_current_msec = 1000000;

    tap_is(take("a", 3, 10000), NGX_OK, "the first request");
    tap_is(state.limit, 3, "of three");
    tap_is(state.remaining, 2, "leaves two");
    tap_is(state.reset_ms, 10000, "and starts the window");

    ngx_current_msec += 9000;

    tap_is(take("a", 3, 10000), NGX_OK, "the second");
    tap_is(state.reset_ms, 1000, "does not move its end");
    tap_is(take("b", 3, 10000), NGX_OK, "another key");
    tap_is(state.remaining, 2, "has a window of its own");
    tap_is(take("a", 3, 10000), NGX_OK, "the third");
    tap_is(state.remaining, 0, "is the last");
    tap_is(take("a", 3, 10000), NGX_BUSY, "the fourth is refused");
    tap_is(state.remaining, 0, "nothing is left");

    ngx_current_msec += 999;

    tap_is(take("a", 3, 10000), NGX_BUSY, "until the last millisecond");
    tap_is(state.reset_ms, 1, "of the window");

    ngx_current_msec += 1;

    tap_is(take("a", 3, 10000), NGX_OK, "then a new one starts");
    tap_is(state.remaining, 2, "with all it may have");
    tap_is(state.reset_ms, 10000, "for its whole length");

    tap_is(take("none", 0, 10000), NGX_BUSY, "nothing is let through of 0");
    tap_is(take("", 1, 10000), NGX_OK, "an empty key is a key");
    tap_is(take("", 1, 10000), NGX_BUSY, "as any other");
}


static void
test_changed(void)
{
    tap_is(take("c", 1, 1000), NGX_OK, "a window of one second");
    tap_is(take("c", 5, 60000), NGX_BUSY,
           "another configuration does not touch it");
    tap_is(state.limit, 1, "its limit is told");

    ngx_current_msec += 1000;

    tap_is(take("c", 5, 60000), NGX_OK, "the next window follows the new one");
    tap_is(state.limit, 5, "in its limit");
    tap_is(state.reset_ms, 60000, "and in its length");
}


static void
test_clock(void)
{
    tap_is(take("d", 2, 1000), NGX_OK, "a window");

    ngx_current_msec -= 500;

    tap_is(take("d", 2, 1000), NGX_OK, "a worker whose clock is behind");
    tap_is(state.reset_ms, 1000, "never sees more than the whole window");
    tap_is(take("d", 2, 1000), NGX_BUSY, "and counts in the same one");

    ngx_current_msec = (ngx_msec_t) -10;

    tap_is(take("e", 1, 1000), NGX_OK, "just before the clock wraps");

    ngx_current_msec += 500;

    tap_is(take("e", 1, 1000), NGX_BUSY, "the window goes on behind it");
    tap_is(state.reset_ms, 500, "as long as it should");

    ngx_current_msec = 1000000;
}


static void
test_long_keys(void)
{
    ngx_uint_t  i;
    char        a[200], b[200];

    for (i = 31; i < sizeof(a); i = i * 2 + 1) {
        ngx_memset(a, 'k', i);
        ngx_memset(b, 'k', i);
        a[i] = '\0';
        b[i] = '\0';
        b[i - 1] = 'j';

        tap_is(take(a, 1, 1000), NGX_OK, "a key of any length");
        tap_is(take(b, 1, 1000), NGX_OK, "differs by its last byte");
        tap_is(take(a, 1, 1000), NGX_BUSY, "and is found again");
    }
}


static void
test_reload(void)
{
    uint32_t        *magic;
    ngx_shm_zone_t   old;

    (void) take("r", 1, 100000);

    old = zone;
    zone.data = NULL;
    tap_is(ngx_guildlog_limit_init_zone(&zone, old.data), NGX_OK, "reload");
    tap_is(take("r", 1, 100000), NGX_BUSY, "windows survive it");

    magic = zone.data;
    (*magic)++;
    tap_log_forget();
    tap_is(ngx_guildlog_limit_init_zone(&old, zone.data), NGX_ERROR,
           "another layout is refused");
    tap_ok(tap_log_has("another layout"), "and the log says why");
    (*magic)--;
}


static ngx_uint_t
evicted(void)
{
    return stats.shared->count[NGX_GUILDLOG_COUNT_EVICTED];
}


static void
fill(const char *prefix, ngx_uint_t n, ngx_uint_t *refused)
{
    char        key[32];
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        *ngx_sprintf((u_char *) key, "%s%ui", prefix, i) = '\0';
        *refused += (take(key, 1, 10000) != NGX_OK);
    }
}


static void
test_full(void)
{
    ngx_uint_t  i, n, refused, warned;
    char        key[32];

    zone_free(&zone);
    zone_make(&zone, 16 * ngx_pagesize);
    tap_is(ngx_guildlog_limit_init_zone(&zone, NULL), NGX_OK, "a small zone");

    ngx_current_msec = 5000000;
    refused = 0;

    for (n = 0; evicted() == 0; n++) {
        *ngx_sprintf((u_char *) key, "n%ui", n) = '\0';
        refused += (take(key, 1, 10000) != NGX_OK);
    }

    tap_is(refused, 0, "a full zone refuses nobody");
    tap_ok(n > 200, "%u windows fit into 16 pages", (unsigned) n);
    tap_ok(tap_log_has("limit zone \"test\" is full"), "the log says so");

    tap_is(take("n0", 1, 10000), NGX_OK, "the oldest was dropped for it");

    *ngx_sprintf((u_char *) key, "n%ui", n - 1) = '\0';
    tap_is(take(key, 1, 10000), NGX_BUSY, "the newest was not");

    tap_log_forget();
    warned = 0;

    for (i = 0; i < 5000; i++) {
        (void) take("busy", 1, 10000);
        *ngx_sprintf((u_char *) key, "m%ui", i) = '\0';
        refused += (take(key, 1, 10000) != NGX_OK);
        warned += tap_logged.len;
    }

    tap_is(refused, 0, "still nobody is refused");
    tap_is(warned, 0, "nor is the log filled");
    tap_is(take("busy", 1, 10000), NGX_BUSY,
           "a window in use is not dropped");

    ngx_current_msec += 10000;
    n = evicted();
    fill("p", 100, &refused);
    tap_is(evicted(), n, "windows that ended make room by themselves");

    ngx_current_msec += 50000;
    fill("q", 1000, &refused);
    tap_ok(tap_log_has("is full"), "a minute later the log may say it again");
}


static void
worker(ngx_uint_t n, ngx_atomic_t *passed)
{
    u_char                key[32];
    ngx_str_t             s;
    ngx_uint_t            i;
    ngx_guildlog_limit_t  limit;

    for (i = 0; i < TAKES * KEYS / 10; i++) {
        s.data = key;
        s.len = ngx_sprintf(key, "key%ui", (i * 7 + n) % KEYS) - key;

        if (ngx_guildlog_limit_take(&zone, &s, LIMIT, 100000, &limit, &stats)
            == NGX_OK)
        {
            (void) ngx_atomic_fetch_add(&passed[(i * 7 + n) % KEYS], 1);
        }
    }
}


static void
test_workers(void)
{
    pid_t          pids[WORKERS];
    ngx_uint_t     i, wrong;
    ngx_atomic_t  *passed;

    zone_free(&zone);
    zone_make(&zone, 64 * ngx_pagesize);
    (void) ngx_guildlog_limit_init_zone(&zone, NULL);

    passed = mmap(NULL, ngx_pagesize, PROT_READ|PROT_WRITE,
                  MAP_ANON|MAP_SHARED, -1, 0);

    for (i = 0; i < WORKERS; i++) {
        pids[i] = fork();

        if (pids[i] == 0) {
            ngx_pid = getpid();
            worker(i, passed);
            _exit(0);
        }
    }

    for (i = 0; i < WORKERS; i++) {
        (void) waitpid(pids[i], NULL, 0);
    }

    for (i = 0, wrong = 0; i < KEYS; i++) {
        wrong += (passed[i] != LIMIT);
    }

    tap_is(wrong, 0, "four processes let through exactly what each key may");

    munmap((void *) passed, ngx_pagesize);
}


int
main(void)
{
    tap_start();

    ngx_ncpu = 2;

    zone_make(&stats_zone, ngx_guildlog_stats_zone_size());
    (void) ngx_guildlog_stats_init_zone(&stats_zone, NULL);
    ngx_guildlog_stats_enter(&stats, &stats_zone);

    zone_make(&zone, 64 * ngx_pagesize);
    tap_is(ngx_guildlog_limit_init_zone(&zone, NULL), NGX_OK, "a zone");

    test_window();
    test_changed();
    test_clock();
    test_long_keys();
    test_reload();
    test_full();
    test_workers();

    zone_free(&zone);
    zone_free(&stats_zone);

    return tap_done();
}
