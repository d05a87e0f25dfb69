
/*
 * Preloaded into nginx by t/lib/Guildlog/Fault.pm: allocations fail when the
 * test says so, whoever makes them (nginx's pools, libpq, jansson, OpenSSL).
 * GUILDLOG_FAULT names the file by which it is said; the stack of what failed
 * goes to the file of that name with ".stack" behind it.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>


#define FAULT_DEPTH  40


typedef struct {
    atomic_long  pid;    /* whose allocations are counted; 0: nobody's */
    atomic_long  left;   /* to the first that fails */
    atomic_long  run;    /* how many fail in a row */
    atomic_long  failed;
    char         within[64];  /* only those of that function; "": of any */
} fault_t;


typedef void *(*fault_malloc_pt)(size_t size);
typedef void *(*fault_calloc_pt)(size_t n, size_t size);
typedef void *(*fault_realloc_pt)(void *p, size_t size);
typedef int (*fault_posix_memalign_pt)(void **p, size_t alignment,
    size_t size);
typedef void (*fault_free_pt)(void *p);


static void *fault_early_alloc(size_t size);
static int fault_is_early(void *p);
static void fault_find(void);
static int fault_due(void);
static int fault_within(void);
static void fault_tell(void);


static fault_t                  fault_idle, *fault = &fault_idle;
static int                      fault_stack = -1;
static __thread int             fault_inside;

/* dlsym() allocates before there is anything to allocate with */
static char                     fault_early[65536];
static atomic_size_t            fault_early_used;
static atomic_int               fault_found;

static fault_malloc_pt          fault_malloc;
static fault_calloc_pt          fault_calloc;
static fault_realloc_pt         fault_realloc;
static fault_posix_memalign_pt  fault_posix_memalign;
static fault_free_pt            fault_free;


__attribute__((constructor))
static void
fault_start(void)
{
    int          fd;
    char         name[4096];
    void        *map, *frames[1];
    const char  *path;

    fault_find();

    path = getenv("GUILDLOG_FAULT");

    if (path == NULL || strlen(path) + sizeof(".stack") > sizeof(name)) {
        return;
    }

    fd = open(path, O_RDWR);
    if (fd == -1) {
        return;
    }

    map = mmap(NULL, sizeof(fault_t), PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);

    if (map == MAP_FAILED) {
        return;
    }

    strcpy(name, path);
    strcat(name, ".stack");
    fault_stack = open(name, O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC, 0666);

    /* the first call loads a library */
    (void) backtrace(frames, 1);

    fault = map;
}


void *
malloc(size_t size)
{
    if (!fault_found) {
        return fault_early_alloc(size);
    }

    return fault_due() ? NULL : fault_malloc(size);
}


void *
calloc(size_t n, size_t size)
{
    if (!fault_found) {
        return fault_early_alloc(n * size);
    }

    return fault_due() ? NULL : fault_calloc(n, size);
}


void *
realloc(void *p, size_t size)
{
    void  *copy;

    if (!fault_found || fault_is_early(p)) {
        copy = malloc(size);

        if (copy && p) {
            memcpy(copy, p, size);
        }

        return copy;
    }

    return size && fault_due() ? NULL : fault_realloc(p, size);
}


int
posix_memalign(void **p, size_t alignment, size_t size)
{
    if (!fault_found) {
        fault_find();
    }

    return fault_due() ? ENOMEM : fault_posix_memalign(p, alignment, size);
}


void
free(void *p)
{
    if (p == NULL || fault_is_early(p)) {
        return;
    }

    if (!fault_found) {
        fault_find();
    }

    fault_free(p);
}


static void *
fault_early_alloc(size_t size)
{
    size_t  at;

    at = atomic_fetch_add(&fault_early_used, (size + 15) & ~(size_t) 15);

    return at + size <= sizeof(fault_early) ? fault_early + at : NULL;
}


static int
fault_is_early(void *p)
{
    return (char *) p >= fault_early
           && (char *) p < fault_early + sizeof(fault_early);
}


static void
fault_find(void)
{
    if (fault_found) {
        return;
    }

    fault_malloc = (fault_malloc_pt) dlsym(RTLD_NEXT, "malloc");
    fault_calloc = (fault_calloc_pt) dlsym(RTLD_NEXT, "calloc");
    fault_realloc = (fault_realloc_pt) dlsym(RTLD_NEXT, "realloc");
    fault_posix_memalign = (fault_posix_memalign_pt)
                               dlsym(RTLD_NEXT, "posix_memalign");
    fault_free = (fault_free_pt) dlsym(RTLD_NEXT, "free");

    fault_found = 1;
}


static int
fault_due(void)
{
    long  left;

    if (fault->pid == 0 || fault->pid != getpid() || fault_inside
        || (fault->within[0] && !fault_within()))
    {
        return 0;
    }

    left = atomic_fetch_sub(&fault->left, 1);

    if (left > 1 || left <= 1 - fault->run) {
        return 0;
    }

    if (atomic_fetch_add(&fault->failed, 1) == 0) {
        fault_tell();
    }

    errno = ENOMEM;
    return 1;
}


/* is that function, one that others can call, about to get it? */

static int
fault_within(void)
{
    int      i, n;
    void    *frames[FAULT_DEPTH];
    Dl_info  info;

    fault_inside = 1;

    n = backtrace(frames, FAULT_DEPTH);

    for (i = 0; i < n; i++) {
        if (dladdr(frames[i], &info) && info.dli_sname
            && strcmp(info.dli_sname, fault->within) == 0)
        {
            break;
        }
    }

    fault_inside = 0;

    return i < n;
}


static void
fault_tell(void)
{
    int    n;
    void  *frames[FAULT_DEPTH];

    if (fault_stack == -1) {
        return;
    }

    fault_inside = 1;

    n = backtrace(frames, FAULT_DEPTH);
    backtrace_symbols_fd(frames, n, fault_stack);

    fault_inside = 0;
}
