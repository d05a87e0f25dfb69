
/*
 * What unit tests share: results in the Test Anything Protocol, and just
 * enough of nginx brought up to call its core.
 */

#ifndef _TAP_H_INCLUDED_
#define _TAP_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


static ngx_uint_t   tap_tests;
static ngx_uint_t   tap_failed;

/* the last line that was logged */
static ngx_str_t    tap_logged;
static u_char       tap_logged_data[NGX_MAX_ERROR_STR];

static ngx_log_t    tap_log;
static ngx_cycle_t  tap_cycle;


static inline ngx_uint_t
tap_ok(ngx_uint_t passed, const char *fmt, ...)
{
    char    *p;
    char     name[512];
    va_list  args;

    tap_tests++;
    tap_failed += !passed;

    va_start(args, fmt);
    (void) vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);

    /* names are often the data itself: nothing that means something in TAP */

    for (p = name; *p; p++) {
        if ((u_char) *p < ' ' || *p == '#') {
            *p = '?';
        }
    }

    printf("%sok %u - %s\n", passed ? "" : "not ", (unsigned) tap_tests,
           name);

    return passed;
}


static inline void
tap_is(int64_t got, int64_t expected, const char *what)
{
    if (!tap_ok(got == expected, "%s", what)) {
        printf("# got %lld, expected %lld\n", (long long) got,
               (long long) expected);
    }
}


static inline void
tap_is_str(const ngx_str_t *got, const char *expected, const char *what)
{
    if (!tap_ok(got->len == strlen(expected)
                && (got->len == 0
                    || memcmp(got->data, expected, got->len) == 0),
                "%s", what))
    {
        printf("# got \"%.*s\"\n# expected \"%s\"\n", (int) got->len,
               got->data, expected);
    }
}


static inline int
tap_done(void)
{
    printf("1..%u\n", (unsigned) tap_tests);

    return tap_failed ? 1 : 0;
}


static inline ngx_str_t
tap_str(const char *text)
{
    ngx_str_t  s;

    s.data = (u_char *) text;
    s.len = strlen(text);

    return s;
}


static void
tap_log_writer(ngx_log_t *log, ngx_uint_t level, u_char *buf, size_t len)
{
    ngx_memcpy(tap_logged_data, buf, len);

    tap_logged.data = tap_logged_data;
    tap_logged.len = len;
}


static inline ngx_uint_t
tap_log_has(const char *text)
{
    return tap_logged.len
           && ngx_strnstr(tap_logged.data, (char *) text, tap_logged.len);
}


static inline void
tap_log_forget(void)
{
    tap_logged.len = 0;
}


static inline void
tap_start(void)
{
    ngx_uint_t  n;

    setvbuf(stdout, NULL, _IOLBF, 0);

    ngx_use_stderr = 0;
    ngx_pid = getpid();
    ngx_pagesize = getpagesize();
    ngx_cacheline_size = NGX_CPU_CACHE_LINE;

    for (n = ngx_pagesize; n >>= 1; ngx_pagesize_shift++) { /* void */ }

    ngx_time_init();
    ngx_slab_sizes_init();

    tap_log.log_level = NGX_LOG_INFO;
    tap_log.writer = tap_log_writer;

    tap_cycle.log = &tap_log;
    ngx_cycle = &tap_cycle;
}


static inline ngx_pool_t *
tap_pool(void)
{
    ngx_pool_t  *pool;

    pool = ngx_create_pool(1024, &tap_log);

    if (pool == NULL) {
        abort();
    }

    return pool;
}


/* a malloc() that has memory for so many more */

static ngx_uint_t   tap_mallocs;


static inline void *
tap_malloc(size_t size)
{
    if (tap_mallocs > 0) {
        tap_mallocs--;
        return malloc(size);
    }

    ngx_set_errno(NGX_ENOMEM);

    return NULL;
}


#endif /* _TAP_H_INCLUDED_ */
