
/*
 * A process by its pid and the time it was started, as /proc tells it.
 */

#include "ngx_guildlog_owner.h"


#define NGX_GUILDLOG_OWNER_START  22    /* the field of /proc/pid/stat */


static uint64_t ngx_guildlog_owner_start(ngx_pid_t pid);


ngx_int_t
ngx_guildlog_owner_self(ngx_pool_t *pool, const ngx_str_t *node,
    ngx_str_t *owner)
{
    size_t  size;

    size = node->len + sizeof("//") + NGX_INT64_LEN * 2;

    owner->data = ngx_pnalloc(pool, size);
    if (owner->data == NULL) {
        return NGX_ERROR;
    }

    owner->len = ngx_snprintf(owner->data, size, "%V/%P/%uL", node, ngx_pid,
                              ngx_guildlog_owner_start(ngx_pid))
                 - owner->data;

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_owner_dead(const ngx_str_t *node, const ngx_str_t *owner)
{
    u_char    *p, *last, *slash;
    uint64_t   start;
    ngx_int_t  pid, told;

    p = owner->data;
    last = p + owner->len;

    if (owner->len <= node->len + 1
        || ngx_memcmp(p, node->data, node->len) != 0 || p[node->len] != '/')
    {
        return 0;
    }

    p += node->len + 1;

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

    start = ngx_guildlog_owner_start((ngx_pid_t) pid);

    return start && start != (uint64_t) told;
}


/* 0: not known */

static uint64_t
ngx_guildlog_owner_start(ngx_pid_t pid)
{
    u_char      name[sizeof("/proc//stat") + NGX_INT64_LEN], buf[1024], *p;
    ssize_t     n;
    uint64_t    start;
    ngx_fd_t    fd;
    ngx_uint_t  field;

    (void) ngx_sprintf(name, "/proc/%P/stat%Z", pid);

    fd = ngx_open_file(name, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        return 0;
    }

    n = ngx_read_fd(fd, buf, sizeof(buf) - 1);

    (void) ngx_close_file(fd);

    if (n <= 0) {
        return 0;
    }

    buf[n] = '\0';

    /* the second field, the name, may have anything in it but this */

    p = (u_char *) strrchr((char *) buf, ')');

    for (field = 2; p && field < NGX_GUILDLOG_OWNER_START; field++) {
        p = (u_char *) strchr((char *) p + 1, ' ');
    }

    start = 0;

    for (p = p ? p + 1 : (u_char *) ""; *p >= '0' && *p <= '9'; p++) {
        start = start * 10 + (*p - '0');
    }

    return start;
}
