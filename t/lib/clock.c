
/*
 * Preloaded into PostgreSQL by t/lib/Guildlog/Clock.pm: the time of day is off
 * by so many microseconds as the file says that GUILDLOG_CLOCK names.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>


typedef int (*clock_gettime_pt)(clockid_t id, struct timespec *ts);


static const volatile int64_t  *clock_offset;
static clock_gettime_pt         clock_real;


__attribute__((constructor))
static void
clock_start(void)
{
    int          fd;
    void        *map;
    const char  *path;

    clock_real = (clock_gettime_pt) dlsym(RTLD_NEXT, "clock_gettime");

    path = getenv("GUILDLOG_CLOCK");
    fd = path ? open(path, O_RDONLY) : -1;

    if (fd == -1) {
        return;
    }

    map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);

    if (map != MAP_FAILED) {
        clock_offset = map;
    }
}


static void
clock_now(struct timespec *ts)
{
    int64_t  us;

    us = (int64_t) ts->tv_sec * 1000000 + ts->tv_nsec / 1000 + *clock_offset;

    ts->tv_sec = us / 1000000;
    ts->tv_nsec = us % 1000000 * 1000;
}


int
clock_gettime(clockid_t id, struct timespec *ts)
{
    int  rc;

    rc = clock_real(id, ts);

    if (rc == 0 && clock_offset
        && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    {
        clock_now(ts);
    }

    return rc;
}


int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec  ts;

    (void) tz;
    (void) clock_gettime(CLOCK_REALTIME, &ts);

    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;

    return 0;
}


time_t
time(time_t *t)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_REALTIME, &ts);

    if (t) {
        *t = ts.tv_sec;
    }

    return ts.tv_sec;
}
