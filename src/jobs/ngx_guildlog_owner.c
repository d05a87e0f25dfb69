
/*
 * A process by its pid and the time it was started, as /proc tells it, within
 * a place where pids mean something: one boot of one kernel and one namespace
 * of pids.  Two containers may have the same name, and see neither each other's
 * processes nor whether they live.
 */

#include "jobs/ngx_guildlog_owner.h"


#define OWNER_START  22    /* the field of /proc/pid/stat */
#define OWNER_BOOT   36    /* bytes of the boot's id */
#define OWNER_SPACE  64    /* bytes, at most, of a namespace */


static size_t owner_place(const ngx_str_t *owner);
static uint64_t owner_start(ngx_pid_t pid);
static size_t owner_file(const char *name, u_char *buf, size_t size);


/* what /proc does not tell is left out, by every process of that place */

ngx_int_t
ngx_guildlog_owner_self(ngx_pool_t *pool, const ngx_str_t *node,
    ngx_str_t *owner)
{
    ssize_t    n;
    u_char     boot_id[OWNER_BOOT];
    u_char     link[OWNER_SPACE];
    ngx_str_t  boot, space;

    boot.data = boot_id;
    boot.len = owner_file("/proc/sys/kernel/random/boot_id",
                          boot_id, sizeof(boot_id));

    n = readlink("/proc/self/ns/pid", (char *) link, sizeof(link));

    space.data = link;
    space.len = n > 0 ? n : 0;

    return ngx_guildlog_print(pool, owner, "%V/%V/%V/%P/%uL", node, &boot,
                              &space, ngx_pid, owner_start(ngx_pid));
}


ngx_uint_t
ngx_guildlog_owner_dead(const ngx_str_t *me, const ngx_str_t *owner)
{
    size_t      place;
    u_char     *p, *last, *slash;
    uint64_t    start;
    ngx_int_t   pid, told;

    place = owner_place(me);

    if (owner_place(owner) != place
        || ngx_memcmp(owner->data, me->data, place) != 0)
    {
        return 0;
    }

    p = owner->data + place;
    last = owner->data + owner->len;

    slash = ngx_strlchr(p, last, '/');
    if (slash == NULL) {
        return 0;
    }

    pid = ngx_atoi(p, slash - p);
    told = ngx_atoi(slash + 1, last - slash - 1);

    if (pid == NGX_ERROR || told == NGX_ERROR) {
        return 0;
    }

    if (kill((ngx_pid_t) pid, 0) == -1 && ngx_errno == NGX_ESRCH) {
        return 1;
    }

    start = owner_start((ngx_pid_t) pid);

    return start && start != (uint64_t) told;
}


/* the length of "node/boot/namespace/" in an owner's name */

static size_t
owner_place(const ngx_str_t *owner)
{
    size_t      len;
    ngx_uint_t  slashes;

    slashes = 0;

    for (len = owner->len; len; len--) {
        if (owner->data[len - 1] == '/' && ++slashes == 2) {
            break;
        }
    }

    return len;
}


/* 0: not known */

static uint64_t
owner_start(ngx_pid_t pid)
{
    u_char      name[sizeof("/proc//stat") + NGX_INT64_LEN], buf[1024], *p;
    uint64_t    start;
    ngx_uint_t  field;

    (void) ngx_sprintf(name, "/proc/%P/stat%Z", pid);

    buf[owner_file((char *) name, buf, sizeof(buf) - 1)] = '\0';

    /* the second field is the program's name, in parentheses: it may contain
       anything, so the last one is looked for */

    p = (u_char *) strrchr((char *) buf, ')');

    for (field = 2; p && field < OWNER_START; field++) {
        p = (u_char *) strchr((char *) p + 1, ' ');
    }

    start = 0;

    for (p = p ? p + 1 : (u_char *) ""; *p >= '0' && *p <= '9'; p++) {
        start = start * 10 + (*p - '0');
    }

    return start;
}


/* reads as much of a file as the buffer takes; 0: it cannot be read */

static size_t
owner_file(const char *name, u_char *buf, size_t size)
{
    ssize_t   n;
    ngx_fd_t  fd;

    fd = ngx_open_file(name, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        return 0;
    }

    n = ngx_read_fd(fd, buf, size);

    (void) ngx_close_file(fd);

    return n > 0 ? n : 0;
}
