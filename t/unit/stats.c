
/*
 * Links ngx_guildlog_stats.c and ngx_guildlog_zone.c.
 *
 * Totals survive a reload; what a worker holds open goes with the worker,
 * also with one that is killed.
 */

#include <ngx_config.h>
#include <sys/wait.h>
#include "shm/ngx_guildlog_stats.h"
#include "zone.h"


static ngx_shm_zone_t        zone;
static ngx_guildlog_stats_t  stats;


static void
test_zone(void)
{
    ngx_shm_zone_t                next;
    ngx_guildlog_stats_shared_t  *shared;

    zone_make(&zone, ngx_guildlog_stats_zone_size());

    tap_is(ngx_guildlog_stats_init_zone(&zone, NULL), NGX_OK,
           "the counters fit into the zone they ask for");

    ngx_guildlog_stats_enter(&stats, &zone);
    tap_ok(stats.slot != NULL, "a worker gets a slot");
    tap_is(stats.slot->pid, ngx_pid, "and stands in it");

    ngx_guildlog_stats_count(&stats, NGX_GUILDLOG_COUNT_RETRIES, 3);
    ngx_guildlog_stats_count(&stats, NGX_GUILDLOG_COUNT_RETRIES, 4);

    next = zone;
    next.data = NULL;
    tap_is(ngx_guildlog_stats_init_zone(&next, zone.data), NGX_OK, "reload");
    shared = next.data;
    tap_is(shared->count[NGX_GUILDLOG_COUNT_RETRIES], 7, "totals survive it");

    next.data = NULL;
    next.shm.exists = 1;
    tap_is(ngx_guildlog_stats_init_zone(&next, NULL), NGX_OK,
           "a zone that exists is taken over");
    tap_ok(next.data == zone.data, "as it is");

    shared->head.version++;
    tap_log_forget();
    tap_is(ngx_guildlog_stats_init_zone(&next, zone.data), NGX_ERROR,
           "another layout is refused");
    tap_ok(tap_log_has("another layout"), "and the log says why");
    shared->head.version--;
}


static void
test_gauges(void)
{
    pid_t                 pid;
    ngx_guildlog_stats_t  other;

    ngx_guildlog_stats_gauge(&stats, NGX_GUILDLOG_GAUGE_BUSY, 5);
    ngx_guildlog_stats_gauge(&stats, NGX_GUILDLOG_GAUGE_BUSY, -2);

    pid = fork();

    if (pid == 0) {
        ngx_pid = getpid();
        ngx_guildlog_stats_enter(&other, &zone);
        ngx_guildlog_stats_gauge(&other, NGX_GUILDLOG_GAUGE_BUSY, 10);
        ngx_guildlog_stats_count(&other, NGX_GUILDLOG_COUNT_RETRIES, 1);
        raise(SIGSTOP);
        _exit(0);
    }

    (void) waitpid(pid, NULL, WUNTRACED);

    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).sum, 13,
           "two workers add up");
    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).most, 10,
           "one of them has the most");
    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).least, 3,
           "and one the least");
    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_QUEUED).least,
           0, "where none has any, none has the least");

    (void) kill(pid, SIGKILL);
    (void) waitpid(pid, NULL, 0);

    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).sum, 3,
           "what a killed worker held is gone");
    tap_is(stats.shared->count[NGX_GUILDLOG_COUNT_RETRIES], 8,
           "what it counted is not");
    tap_is(stats.shared->slots[1].pid, pid, "its slot is still taken");

    ngx_guildlog_stats_enter(&other, &zone);
    tap_is(stats.shared->slots[1].pid, 0,
           "until the next worker comes, who frees it");

    ngx_guildlog_stats_leave(&stats);
    tap_ok(stats.slot == NULL, "a worker leaves");
    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).sum, 0,
           "and takes what it held");

    ngx_guildlog_stats_gauge(&stats, NGX_GUILDLOG_GAUGE_BUSY, 1);
    ngx_guildlog_stats_leave(&stats);
    tap_is(ngx_guildlog_stats_gauges(&stats, NGX_GUILDLOG_GAUGE_BUSY).sum, 0,
           "without a slot there is nothing to hold");
}


static void
test_full(void)
{
    ngx_uint_t            i;
    ngx_guildlog_stats_t  other;

    for (i = 0; i < NGX_GUILDLOG_STATS_WORKERS; i++) {
        stats.shared->slots[i].pid = getppid();
    }

    ngx_guildlog_stats_enter(&other, &zone);
    tap_ok(other.slot == NULL, "no slot where all are taken");
    ngx_guildlog_stats_count(&other, NGX_GUILDLOG_COUNT_RETRIES, 1);
    tap_is(stats.shared->count[NGX_GUILDLOG_COUNT_RETRIES], 9,
           "totals count all the same");
}


static void
test_histogram(void)
{
    ngx_uint_t                 i, n;
    ngx_guildlog_histogram_t   h;
    static const ngx_uint_t    us[] = { 0, 100, 101, 10000000, 10000001 };
    static const ngx_uint_t    bucket[] = { 0, 0, 1, 12, 13 };

    for (i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
        ngx_memzero(&h, sizeof(ngx_guildlog_histogram_t));
        ngx_guildlog_stats_observe(&h, us[i]);

        for (n = 0; h.buckets[n] == 0; n++) { /* void */ }

        tap_is(n, bucket[i], "a time falls into its bucket");
        tap_is(h.sum_us, us[i], "and into the sum");
    }

    tap_is(h.count, 1, "once");
}


static void
test_tasks(void)
{
    pid_t                 pid;
    ngx_guildlog_task_t  *task, *next;

    static ngx_str_t  expiry = ngx_string("expiry");
    static ngx_str_t  counts = ngx_string("counts");

    task = ngx_guildlog_stats_task(&stats, &expiry);
    tap_ok(task == &stats.shared->tasks[0], "a task has its place");
    tap_ok(ngx_guildlog_stats_task(&stats, &expiry) == task, "and keeps it");

    /* a worker is killed while it makes the next one */

    pid = fork();

    if (pid == 0) {
        _exit(0);
    }

    next = &stats.shared->tasks[1];
    next->name.state = pid;
    tap_ok(ngx_guildlog_stats_task(&stats, &counts) == NULL,
           "what another worker makes is not there yet");

    (void) waitpid(pid, NULL, 0);
    tap_ok(ngx_guildlog_stats_task(&stats, &counts) == next,
           "what a killed worker left is made by the next one");
    tap_ok(next->name.state == NGX_GUILDLOG_STATS_NAMED, "and is there");
    tap_ok(next[1].name.state == 0, "as the last one");
}


static void
test_codes(void)
{
    ngx_atomic_t  *row;

    row = stats.shared->requests[5];

    ngx_guildlog_stats_request(&stats, 5, 200, 7);
    ngx_guildlog_stats_request(&stats, 5, 504, 7);
    ngx_guildlog_stats_request(&stats, 5, 418, 7);
    ngx_guildlog_stats_request(&stats, 5, 0, 7);

    tap_is(row[0], 1, "200 has a column");
    tap_is(row[NGX_GUILDLOG_STATS_CODES - 2], 1, "504 too");
    tap_is(row[NGX_GUILDLOG_STATS_CODES - 1], 2, "the others share the last");
    tap_is(stats.shared->route[5].count, 4, "each is timed");
}


int
main(void)
{
    tap_start();

    test_zone();
    test_gauges();
    test_full();
    test_histogram();
    test_tasks();
    test_codes();

    zone_free(&zone);

    return tap_done();
}
