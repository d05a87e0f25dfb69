
/*
 * What fuzz targets share.  A target is a function that gets bytes, in memory
 * of exactly that size, and a pool.  It stops the program where a result breaks
 * the contract of the code under test.
 */

#ifndef _FUZZ_H_INCLUDED_
#define _FUZZ_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


static ngx_log_t    fuzz_log;
static ngx_cycle_t  fuzz_cycle;


static void fuzz(ngx_pool_t *pool, u_char *p, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


#define fuzz_expect(what)                                                     \
    do {                                                                      \
        if (!(what)) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);        \
            abort();                                                          \
        }                                                                     \
    } while (0)


/* takes off the first byte, which chooses one of n */

static inline ngx_uint_t
fuzz_pick(u_char **p, size_t *len, ngx_uint_t n)
{
    if (*len == 0) {
        return 0;
    }

    (*len)--;

    return *(*p)++ % n;
}


/* takes off a line: up to the next line feed, or all of it */

static inline ngx_str_t
fuzz_line(u_char **p, size_t *len)
{
    u_char     *end;
    ngx_str_t   line;

    line.data = *p;
    end = *len ? memchr(*p, LF, *len) : NULL;

    if (end == NULL) {
        line.len = *len;
        *p += *len;
        *len = 0;

        return line;
    }

    line.len = end - *p;
    *len -= line.len + 1;
    *p = end + 1;

    return line;
}


static inline ngx_uint_t
fuzz_is_utf8(u_char *p, size_t len)
{
    u_char  *last;

    last = p + len;

    while (p < last) {
        if (*p < 0x80) {
            p++;

        } else if (ngx_utf8_decode(&p, last - p) > 0x10ffff) {
            return 0;
        }
    }

    return 1;
}


/* checks an error text for the user */

static inline void
fuzz_refused(const ngx_str_t *error)
{
    fuzz_expect(error->len > 0);
    fuzz_expect(fuzz_is_utf8(error->data, error->len));
}


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ngx_uint_t  n;

    ngx_use_stderr = 0;
    ngx_pid = getpid();
    ngx_pagesize = getpagesize();
    ngx_cacheline_size = NGX_CPU_CACHE_LINE;

    for (n = ngx_pagesize; n >>= 1; ngx_pagesize_shift++) { /* void */ }

    ngx_time_init();

    fuzz_cycle.log = &fuzz_log;
    ngx_cycle = &fuzz_cycle;

    return 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    u_char      *p;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(1024, &fuzz_log);

    if (pool == NULL) {
        abort();
    }

    p = malloc(size + (size == 0));

    if (p == NULL) {
        abort();
    }

    ngx_memcpy(p, data, size);

    fuzz(pool, p, size);

    free(p);
    ngx_destroy_pool(pool);

    return 0;
}


#endif /* _FUZZ_H_INCLUDED_ */
