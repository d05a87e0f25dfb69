
/*
 * Links ngx_guildlog_owner.c and ngx_guildlog_utf8.c.
 *
 * "Two containers of one name do not bury each other": an owner is called dead
 * only if it is a process of this boot and this namespace of pids.
 */

#include <ngx_config.h>
#include <sys/wait.h>
#include "jobs/ngx_guildlog_owner.h"
#include "tap.h"


enum { NODE, BOOT, SPACE, PID, START, PIECES };

static ngx_str_t  me;


/* this process's name with one or two pieces changed */

static ngx_uint_t
dead_with(ngx_uint_t piece, const char *value, ngx_uint_t other,
    const char *other_value)
{
    char         mine[512], name[512], *pieces[PIECES];
    ngx_str_t    owner;
    ngx_uint_t   i;

    (void) snprintf(mine, sizeof(mine), "%.*s", (int) me.len, me.data);

    pieces[0] = mine;

    for (i = 1; i < PIECES; i++) {
        pieces[i] = strchr(pieces[i - 1], '/');
        *pieces[i]++ = '\0';
    }

    pieces[piece] = (char *) value;
    pieces[other] = (char *) other_value;

    (void) snprintf(name, sizeof(name), "%s/%s/%s/%s/%s", pieces[NODE],
                    pieces[BOOT], pieces[SPACE], pieces[PID],
                    pieces[START]);

    owner = tap_str(name);

    return ngx_guildlog_owner_dead(&me, &owner);
}


/* the pid of a process that has ended */

static const char *
ended(void)
{
    pid_t        pid;

    static char  text[NGX_INT64_LEN + 1];

    pid = fork();

    if (pid == 0) {
        _exit(0);
    }

    (void) waitpid(pid, NULL, 0);
    (void) snprintf(text, sizeof(text), "%ld", (long) pid);

    return text;
}


int
main(void)
{
    ngx_str_t    node, other;
    ngx_pool_t  *pool;
    const char  *gone;

    tap_start();

    pool = tap_pool();

    ngx_pid = getpid();
    node = tap_str("host-1");

    tap_is(ngx_guildlog_owner_self(pool, &node, &me), NGX_OK,
           "has a name");
    tap_is(ngx_guildlog_owner_dead(&me, &me), 0, "lives");

    gone = ended();

    tap_is(dead_with(PID, gone, PID, gone), 1, "one that ended is dead");
    tap_is(dead_with(START, "1", START, "1"), 1,
           "so is one whose pid is another's now");

    tap_is(dead_with(PID, gone, SPACE, "pid:[1]"), 0,
           "of another container nothing is known");
    tap_is(dead_with(PID, gone, BOOT, "0"), 0, "nor of another boot");
    tap_is(dead_with(PID, gone, NODE, "host-2"), 0, "nor of another machine");

    tap_is(dead_with(PID, "x", PID, "x"), 0, "not a pid");
    tap_is(dead_with(START, "x", START, "x"), 0, "not a time");

    other = tap_str("host-1/7/9");
    tap_is(ngx_guildlog_owner_dead(&me, &other), 0,
           "a name as it was before the upgrade");
    other = tap_str("");
    tap_is(ngx_guildlog_owner_dead(&me, &other), 0, "no name");

    ngx_destroy_pool(pool);

    return tap_done();
}
