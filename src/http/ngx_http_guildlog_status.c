
/*
 * What the service did and holds: JSON, or Prometheus text with
 * ?format=prometheus.  Read from shared memory alone, so it answers when the
 * database does not.
 *
 * One walk over the counters feeds both forms: it names a family, then its
 * samples; a form is what it makes of them.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_status.h"


#define NGX_HTTP_GUILDLOG_STATUS_NUMBER  (2 * NGX_INT_T_LEN)


static void ngx_http_guildlog_status_walk(ngx_http_guildlog_status_t *st);
static void ngx_http_guildlog_status_keeper(ngx_http_guildlog_status_t *st);
static void ngx_http_guildlog_status_requests(ngx_http_guildlog_status_t *st);
static void ngx_http_guildlog_status_histograms(
    ngx_http_guildlog_status_t *st);
static void ngx_http_guildlog_status_seconds(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_uint_t us);
static ngx_str_t ngx_http_guildlog_status_number(u_char *buf, ngx_uint_t n,
    ngx_uint_t us);
static void ngx_http_guildlog_status_histogram(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_guildlog_histogram_t *h);
static const char *ngx_http_guildlog_route_name(ngx_uint_t i);


static const ngx_http_guildlog_metric_t  ngx_http_guildlog_gauges[] = {
    { "database_connections", "gauge", "Open connections to PostgreSQL.",
      NGX_GUILDLOG_GAUGE_CONNECTIONS, 0 },
    { "database_busy", "gauge", "Connections with a statement in flight.",
      NGX_GUILDLOG_GAUGE_BUSY, 0 },
    { "database_queued", "gauge", "Statements that wait for a connection.",
      NGX_GUILDLOG_GAUGE_QUEUED, 0 },
    { "stream_listeners", "gauge", "Open live tails.",
      NGX_GUILDLOG_GAUGE_LISTENERS, 0 },
    { NULL, NULL, NULL, 0, 0 }
};


static const ngx_http_guildlog_metric_t  ngx_http_guildlog_counts[] = {
    { "database_connects_total", "counter", "Connections established.",
      NGX_GUILDLOG_COUNT_CONNECTS, 0 },
    { "database_connect_failures_total", "counter",
      "Connections that could not be established.",
      NGX_GUILDLOG_COUNT_CONNECT_FAILURES, 0 },
    { "database_lost_total", "counter",
      "Connections that broke after they were established.",
      NGX_GUILDLOG_COUNT_LOST, 0 },
    { "database_waits_total", "counter",
      "Statements that had to wait for a connection.",
      NGX_GUILDLOG_COUNT_WAITS, 0 },
    { "database_wait_seconds_total", "counter",
      "Time that statements waited for a connection.",
      NGX_GUILDLOG_COUNT_WAIT_US, 1 },
    { "database_queue_full_total", "counter",
      "Statements refused because the queue was full.",
      NGX_GUILDLOG_COUNT_QUEUE_FULL, 0 },
    { "database_share_waits_total", "counter",
      "Statements that waited for others of their server.",
      NGX_GUILDLOG_COUNT_SHARE_WAITS, 0 },
    { "database_share_refused_total", "counter",
      "Statements refused because their server's share was in use.",
      NGX_GUILDLOG_COUNT_SHARE_TAKEN, 0 },
    { "database_timeouts_total", "counter",
      "Statements that missed their deadline.",
      NGX_GUILDLOG_COUNT_TIMEOUTS, 0 },
    { "database_retries_total", "counter", "Statements sent a second time.",
      NGX_GUILDLOG_COUNT_RETRIES, 0 },
    { "limited_total", "counter", "Requests refused by a rate limit.",
      NGX_GUILDLOG_COUNT_LIMITED, 0 },
    { "limited_dry_run_total", "counter",
      "Requests that a rate limit in dry run would have refused.",
      NGX_GUILDLOG_COUNT_LIMITED_DRY, 0 },
    { "limit_evicted_total", "counter",
      "Windows dropped early because the zone was full.",
      NGX_GUILDLOG_COUNT_EVICTED, 0 },
    { "held_taken_back_total", "counter",
      "Held entries that active ignore took back.",
      NGX_GUILDLOG_COUNT_TAKEN_BACK, 0 },
    { "batches_apart_total", "counter",
      "Batches of many servers that had to be recorded server by server.",
      NGX_GUILDLOG_COUNT_APART, 0 },
    { "page_cache_hits_total", "counter",
      "Pages of a log that were answered from a worker's memory.",
      NGX_GUILDLOG_COUNT_PAGES_KEPT, 0 },
    { "delivery_leases_lost_total", "counter",
      "Shards that went to another machine without being given away.",
      NGX_GUILDLOG_COUNT_LEASES_LOST, 0 },
    { "delivery_parked_total", "counter",
      "Times that a lane was set aside because the database refused "
      "something of it.",
      NGX_GUILDLOG_COUNT_PARKED, 0 },
    { NULL, NULL, NULL, 0, 0 }
};


ngx_int_t
ngx_http_guildlog_status_handler(ngx_http_request_t *r)
{
    ngx_int_t                   rc;
    ngx_str_t                   value, body;
    ngx_http_guildlog_status_t  st;

    static const ngx_str_t  json = ngx_string("application/json");
    static const ngx_str_t  text = ngx_string("text/plain; version=0.0.4");

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    st.prometheus = ngx_http_arg(r, (u_char *) "format", 6, &value) == NGX_OK
                    && value.len == sizeof("prometheus") - 1
                    && ngx_strncmp(value.data, "prometheus", value.len) == 0;
    st.family = NULL;

    ngx_guildlog_json_init(&st.out, r->pool, 16384);

    if (!st.prometheus) {
        ngx_guildlog_json_begin(&st.out, '{');
    }

    ngx_http_guildlog_status_walk(&st);

    if (!st.prometheus) {
        ngx_guildlog_json_end(&st.out);
    }

    if (ngx_guildlog_json_written(&st.out, &body) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_guildlog_response_send(r, NGX_HTTP_OK,
                                           st.prometheus ? &text : &json,
                                          &body);
}


static void
ngx_http_guildlog_status_walk(ngx_http_guildlog_status_t *st)
{
    ngx_uint_t                         i;
    ngx_guildlog_stats_t              *stats;
    const ngx_http_guildlog_metric_t  *m;

    stats = &ngx_http_guildlog_worker.stats;

    for (m = ngx_http_guildlog_gauges; m->name; m++) {
        ngx_http_guildlog_status_value(st, m,
                                ngx_guildlog_stats_gauge_sum(stats, m->index));
    }

    for (m = ngx_http_guildlog_counts; m->name; m++) {
        ngx_http_guildlog_status_value(st, m, stats->shared->count[m->index]);
    }

    ngx_http_guildlog_status_begin(st, "auth_total", "counter",
                                   "Tokens verified, by the result.");

    for (i = 0; i < NGX_GUILDLOG_AUTH_LAST; i++) {
        ngx_http_guildlog_status_sample(st, "cause",
                                        ngx_http_guildlog_access_causes[i],
                                        stats->shared->auth[i]);
    }

    ngx_http_guildlog_status_end(st);

    ngx_http_guildlog_status_begin(st, "entries_total", "counter",
                                   "Entries sent to be recorded, by what "
                                   "became of them.");

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        ngx_http_guildlog_status_sample(st, "outcome",
                                        ngx_guildlog_entry_outcomes[i],
                                        stats->shared->entries[i]);
    }

    ngx_http_guildlog_status_end(st);

    ngx_http_guildlog_status_delivery(st);
    ngx_http_guildlog_status_keeper(st);
    ngx_http_guildlog_status_requests(st);
    ngx_http_guildlog_status_histograms(st);
}


static void
ngx_http_guildlog_status_keeper(ngx_http_guildlog_status_t *st)
{
    ngx_uint_t             i, j, n;
    ngx_guildlog_task_t   *task;
    ngx_guildlog_stats_t  *stats;

    static const struct {
        const char  *name;
        const char  *type;
        const char  *help;
        size_t       offset;

    } families[] = {
        { "keeper_age_seconds", "gauge", "Since a task last succeeded.",
          offsetof(ngx_guildlog_task_t, at) },
        { "keeper_last_seconds", "gauge", "What its last turn took.",
          offsetof(ngx_guildlog_task_t, took_us) },
        { "keeper_lag", "gauge", "What is left to it, in its own unit.",
          offsetof(ngx_guildlog_task_t, lag) },
        { "keeper_errors_total", "counter", "Its turns that failed.",
          offsetof(ngx_guildlog_task_t, errors) },
        { "keeper_parked", "gauge", "Servers that it leaves out.",
          offsetof(ngx_guildlog_task_t, parked) }
    };

    stats = &ngx_http_guildlog_worker.stats;

    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {

        ngx_http_guildlog_status_begin(st, families[i].name,
                                       families[i].type, families[i].help);

        for (j = 0; (task = ngx_guildlog_stats_task_at(stats, j)); j++) {
            n = *(ngx_atomic_t *) ((u_char *) task + families[i].offset);

            switch (families[i].offset) {

            case offsetof(ngx_guildlog_task_t, at):
                n = ngx_max(ngx_time() - (time_t) n, 0);
                break;

            case offsetof(ngx_guildlog_task_t, took_us):
                ngx_http_guildlog_status_seconds(st, "task",
                                                 (char *) task->name, n);
                continue;
            }

            ngx_http_guildlog_status_sample(st, "task", (char *) task->name,
                                            n);
        }

        ngx_http_guildlog_status_end(st);
    }
}


static void
ngx_http_guildlog_status_requests(ngx_http_guildlog_status_t *st)
{
    u_char                        status[NGX_HTTP_GUILDLOG_STATUS_CODE];
    ngx_uint_t                    i, j, n;
    const char                   *name;
    ngx_guildlog_stats_shared_t  *shared;

    shared = ngx_http_guildlog_worker.stats.shared;

    ngx_http_guildlog_status_begin(st, "requests_total", "counter",
                                   "Requests by endpoint and status.");

    for (i = 0; i <= ngx_guildlog_nroutes; i++) {

        if (shared->route[i].count == 0) {
            continue;
        }

        name = ngx_http_guildlog_route_name(i);

        ngx_http_guildlog_status_open(st, name);

        for (j = 0; j < NGX_GUILDLOG_STATS_CODES; j++) {

            n = shared->requests[i][j];

            if (n == 0) {
                continue;
            }

            ngx_http_guildlog_status_code(status, ngx_guildlog_stats_codes[j],
                                          "other");

            if (st->prometheus) {
                ngx_http_guildlog_status_line(st,
                    "guildlog_requests_total{endpoint=\"%s\",status=\"%s\"} "
                    "%ui\n", name, status, n);
                continue;
            }

            ngx_guildlog_json_key(&st->out, (char *) status);
            ngx_guildlog_json_number(&st->out, n);
        }

        ngx_http_guildlog_status_close(st);
    }

    ngx_http_guildlog_status_end(st);
}


static void
ngx_http_guildlog_status_histograms(ngx_http_guildlog_status_t *st)
{
    ngx_uint_t                    i;
    ngx_guildlog_stats_shared_t  *shared;

    shared = ngx_http_guildlog_worker.stats.shared;

    ngx_http_guildlog_status_begin(st, "request_seconds", "histogram",
                                   "Time from request to answer.");

    for (i = 0; i <= ngx_guildlog_nroutes; i++) {
        ngx_http_guildlog_status_histogram(st, "endpoint",
                                           ngx_http_guildlog_route_name(i),
                                           &shared->route[i]);
    }

    ngx_http_guildlog_status_end(st);

    ngx_http_guildlog_status_begin(st, "statement_seconds", "histogram",
                                   "Time from sent to answered.");

    for (i = 0; i < ngx_guildlog_stmt_last; i++) {
        ngx_http_guildlog_status_histogram(st, "statement",
                                           ngx_guildlog_stmts[i].name,
                                           &shared->stmt[i]);
    }

    ngx_http_guildlog_status_end(st);

    ngx_http_guildlog_status_begin(st, "statement_errors_total", "counter",
                                   "Statements that failed.");

    for (i = 0; i < ngx_guildlog_stmt_last; i++) {
        if (shared->stmt_errors[i]) {
            ngx_http_guildlog_status_sample(st, "statement",
                                            ngx_guildlog_stmts[i].name,
                                            shared->stmt_errors[i]);
        }
    }

    ngx_http_guildlog_status_end(st);
}


void
ngx_http_guildlog_status_begin(ngx_http_guildlog_status_t *st,
    const char *name, const char *type, const char *help)
{
    st->family = name;

    if (st->prometheus) {
        ngx_http_guildlog_status_line(st, "# HELP guildlog_%s %s\n"
                                      "# TYPE guildlog_%s %s\n",
                                      name, help, name, type);
        return;
    }

    ngx_guildlog_json_key(&st->out, name);
    ngx_guildlog_json_begin(&st->out, '{');
}


void
ngx_http_guildlog_status_end(ngx_http_guildlog_status_t *st)
{
    if (!st->prometheus) {
        ngx_guildlog_json_end(&st->out);
    }
}


void
ngx_http_guildlog_status_open(ngx_http_guildlog_status_t *st,
    const char *value)
{
    if (!st->prometheus) {
        ngx_guildlog_json_key(&st->out, value);
        ngx_guildlog_json_begin(&st->out, '{');
    }
}


void
ngx_http_guildlog_status_close(ngx_http_guildlog_status_t *st)
{
    if (!st->prometheus) {
        ngx_guildlog_json_end(&st->out);
    }
}


void
ngx_http_guildlog_status_value(ngx_http_guildlog_status_t *st,
    const ngx_http_guildlog_metric_t *metric, ngx_uint_t n)
{
    u_char     buf[NGX_HTTP_GUILDLOG_STATUS_NUMBER];
    ngx_str_t  value;

    value = ngx_http_guildlog_status_number(buf, n, metric->us);

    if (st->prometheus) {
        ngx_http_guildlog_status_line(st, "# HELP guildlog_%s %s\n"
                                      "# TYPE guildlog_%s %s\n"
                                      "guildlog_%s %V\n",
                                      metric->name, metric->help,
                                      metric->name, metric->type,
                                      metric->name, &value);
        return;
    }

    ngx_guildlog_json_key(&st->out, metric->name);
    ngx_guildlog_json_raw(&st->out, &value);
}


void
ngx_http_guildlog_status_sample(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_uint_t n)
{
    if (st->prometheus) {
        ngx_http_guildlog_status_line(st, "guildlog_%s{%s=\"%s\"} %ui\n",
                                      st->family, label, value, n);
        return;
    }

    ngx_guildlog_json_key(&st->out, value);
    ngx_guildlog_json_number(&st->out, n);
}


static void
ngx_http_guildlog_status_seconds(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_uint_t us)
{
    u_char     buf[NGX_HTTP_GUILDLOG_STATUS_NUMBER];
    ngx_str_t  seconds;

    seconds = ngx_http_guildlog_status_number(buf, us, 1);

    if (st->prometheus) {
        ngx_http_guildlog_status_line(st, "guildlog_%s{%s=\"%s\"} %V\n",
                                      st->family, label, value, &seconds);
        return;
    }

    ngx_guildlog_json_key(&st->out, value);
    ngx_guildlog_json_raw(&st->out, &seconds);
}


/* with us, of a number of microseconds, in seconds */

static ngx_str_t
ngx_http_guildlog_status_number(u_char *buf, ngx_uint_t n, ngx_uint_t us)
{
    ngx_str_t  number;

    number.data = buf;
    number.len = (us ? ngx_sprintf(buf, "%ui.%06ui", n / 1000000, n % 1000000)
                     : ngx_sprintf(buf, "%ui", n))
                 - buf;

    return number;
}


/* buckets of Prometheus include the smaller ones; in JSON count and sum do */

static void
ngx_http_guildlog_status_histogram(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_guildlog_histogram_t *h)
{
    u_char      buf[NGX_HTTP_GUILDLOG_STATUS_NUMBER];
    ngx_str_t   seconds;
    ngx_uint_t  i, n;

    if (h->count == 0) {
        return;
    }

    if (!st->prometheus) {
        ngx_guildlog_json_key(&st->out, value);
        ngx_guildlog_json_begin(&st->out, '{');
        ngx_guildlog_json_key(&st->out, "count");
        ngx_guildlog_json_number(&st->out, h->count);
        ngx_guildlog_json_key(&st->out, "sum_us");
        ngx_guildlog_json_number(&st->out, h->sum_us);
        ngx_guildlog_json_end(&st->out);
        return;
    }

    n = 0;

    for (i = 0; i < NGX_GUILDLOG_STATS_BUCKETS - 1; i++) {
        n += h->buckets[i];
        seconds = ngx_http_guildlog_status_number(buf,
                                         ngx_guildlog_stats_bounds_us[i], 1);

        ngx_http_guildlog_status_line(st, "guildlog_%s_bucket{%s=\"%s\","
                                      "le=\"%V\"} %ui\n", st->family,
                                      label, value, &seconds, n);
    }

    n += h->buckets[i];
    seconds = ngx_http_guildlog_status_number(buf, h->sum_us, 1);

    ngx_http_guildlog_status_line(st,
        "guildlog_%s_bucket{%s=\"%s\",le=\"+Inf\"} %ui\n"
        "guildlog_%s_sum{%s=\"%s\"} %V\n"
        "guildlog_%s_count{%s=\"%s\"} %ui\n",
        st->family, label, value, n,
        st->family, label, value, &seconds,
        st->family, label, value, n);
}


void
ngx_http_guildlog_status_line(ngx_http_guildlog_status_t *st,
    const char *fmt, ...)
{
    u_char     buf[1024];
    va_list    args;
    ngx_str_t  line;

    va_start(args, fmt);
    line.data = buf;
    line.len = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args) - buf;
    va_end(args);

    ngx_guildlog_json_literal(&st->out, line.data, line.len);
}


void
ngx_http_guildlog_status_code(u_char *buf, ngx_uint_t code, const char *word)
{
    *(code ? ngx_sprintf(buf, "%ui", code) : ngx_sprintf(buf, "%s", word))
        = '\0';
}


/* behind the last one: requests that reached no endpoint */

static const char *
ngx_http_guildlog_route_name(ngx_uint_t i)
{
    return i < ngx_guildlog_nroutes ? ngx_guildlog_routes[i].name : "none";
}
