
/*
 * What the service did and holds: JSON, or Prometheus text with
 * ?format=prometheus.  Read from shared memory alone, so it answers when the
 * database does not.
 *
 * One table lists the metrics, in the order of the page.  A metric writes its
 * samples, and the form makes JSON or text of them.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "base/ngx_guildlog_json.h"


#define STATUS_CODE  (NGX_INT_T_LEN + 1)

/* what a metric's row may be; us: values are microseconds, shown as seconds */

#define gauge(what, name, help)                                               \
    { name, "gauge", help, status_gauge, NGX_GUILDLOG_GAUGE_##what, 0,        \
      NULL, NULL, 0 }
#define count(what, us, name, help)                                           \
    { name, "counter", help, status_words,                                    \
      offsetof(ngx_guildlog_stats_shared_t, count[NGX_GUILDLOG_COUNT_##what]),\
      us, NULL, NULL, 1 }
#define task(field, us, type, name, help)                                     \
    { name, type, help, status_tasks, offsetof(ngx_guildlog_task_t, field),   \
      us, "task", NULL, 0 }
#define words(field, label, list, last, name, help)                           \
    { name, "counter", help, status_words,                                    \
      offsetof(ngx_guildlog_stats_shared_t, field), 0, label, list, last }
#define other(write, us, labels, type, name, help)                            \
    { name, type, help, write, 0, us, labels, NULL, 0 }


#define STATUS_FORM_NUMBER  (2 * NGX_INT_T_LEN)
#define STATUS_FORM_LINE    1024


#define HEALTH_RECENT       5000     /* ms */
#define HEALTH_NO_FUNCTION  "42883"  /* of such a name: SQLSTATE */


typedef struct ngx_http_guildlog_metric_s  ngx_http_guildlog_metric_t;


typedef struct {
    ngx_guildlog_json_t                out;
    ngx_uint_t                         prometheus;
    const ngx_http_guildlog_metric_t  *metric;  /* that is written */
    const char                        *group;   /* NULL: no group is open */
} ngx_http_guildlog_status_form_t;


/* writes the samples of form->metric */
typedef void (*ngx_http_guildlog_metric_pt)(
    ngx_http_guildlog_status_form_t *form);


struct ngx_http_guildlog_metric_s {
    const char                        *name;
    const char                        *type;
    const char                        *help;
    ngx_http_guildlog_metric_pt        write;
    ngx_uint_t                         index;   /* or offset, for write() */
    ngx_uint_t                         us;      /* 1: values are microseconds
                                                   and shown as seconds */
    const char                        *labels;  /* names with spaces between;
                                                   NULL: one bare value */
    const char *const                 *words;   /* values of the label, for
                                                   write(); NULL: others, or
                                                   no label */
    ngx_uint_t                         nwords;
};


typedef struct {
    ngx_http_request_t             *request;
    ngx_guildlog_db_query_t        *query;
    ngx_uint_t                      database;
} health_ask_t;


static void status_version(ngx_http_guildlog_status_form_t *form);
static void status_gauge(ngx_http_guildlog_status_form_t *form);
static ngx_guildlog_gauges_t status_all(ngx_guildlog_gauge_e what);
static void status_oldest(ngx_http_guildlog_status_form_t *form);
static void status_figures_age(ngx_http_guildlog_status_form_t *form);
static void status_lag(ngx_http_guildlog_status_form_t *form);
static void status_lanes(ngx_http_guildlog_status_form_t *form);
static void status_words(ngx_http_guildlog_status_form_t *form);
static void status_calls(ngx_http_guildlog_status_form_t *form);
static void status_tasks(ngx_http_guildlog_status_form_t *form);
static void status_unknown(ngx_http_guildlog_status_form_t *form);
static void status_requests(ngx_http_guildlog_status_form_t *form);
static void status_request_times(ngx_http_guildlog_status_form_t *form);
static void status_statement_times(ngx_http_guildlog_status_form_t *form);
static void status_statement_errors(ngx_http_guildlog_status_form_t *form);
static const char *status_code(u_char *buf, ngx_uint_t code, const char *word);
static const char *status_route(ngx_uint_t i);
static void status_form_metric(ngx_http_guildlog_status_form_t *form,
    const ngx_http_guildlog_metric_t *metric);
static void status_form_group(ngx_http_guildlog_status_form_t *form,
    const char *value);
static void status_form_sample(ngx_http_guildlog_status_form_t *form,
    const char *one, const char *two, ngx_uint_t n);
static void status_form_histogram(ngx_http_guildlog_status_form_t *form,
    const char *value, const ngx_guildlog_histogram_t *h);
static ngx_str_t status_form_number(u_char *buf, ngx_uint_t n, ngx_uint_t us);
static void status_form_line(ngx_http_guildlog_status_form_t *form,
    const char *fmt, ...);
static ngx_int_t health(ngx_http_request_t *r);
static ngx_uint_t health_is(ngx_http_request_t *r, const char *word);
static ngx_int_t health_ask(health_ask_t *ask);
static void health_cleanup(void *data);
static void health_told(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t health_answer(ngx_http_request_t *r, const char *obstacle);


static const ngx_http_guildlog_metric_t  status_metrics[] = {
    other(status_version, 0, "version", "gauge", "version",
          "1 for the version that runs."),
    gauge(CONNECTIONS, "database_connections",
          "Open connections to PostgreSQL."),
    gauge(BUSY, "database_busy", "Connections with a statement in flight."),
    gauge(QUEUED, "database_queued", "Statements that wait for a connection."),
    gauge(LISTENERS, "stream_listeners", "Open live tails."),
    count(CONNECTS, 0, "database_connects_total", "Connections established."),
    count(CONNECT_FAILURES, 0, "database_connect_failures_total",
          "Connections that could not be established."),
    count(LOST, 0, "database_lost_total",
          "Connections that broke after they were established."),
    count(WAITS, 0, "database_waits_total",
          "Statements that had to wait for a connection."),
    count(WAIT_US, 1, "database_wait_seconds_total",
          "Time that statements waited for a connection."),
    count(QUEUE_FULL, 0, "database_queue_full_total",
          "Statements refused because the queue was full."),
    count(SHARE_WAITS, 0, "database_share_waits_total",
          "Statements that waited for others of their server."),
    count(SHARE_TAKEN, 0, "database_share_refused_total",
          "Statements refused because their server's share was in use."),
    count(TIMEOUTS, 0, "database_timeouts_total",
          "Statements that missed their deadline."),
    count(RETRIES, 0, "database_retries_total",
          "Statements sent a second time."),
    count(LIMITED, 0, "limited_total", "Requests refused by a rate limit."),
    count(LIMITED_DRY, 0, "limited_dry_run_total",
          "Requests that a rate limit in dry run would have refused."),
    count(EVICTED, 0, "limit_evicted_total",
          "Windows dropped early because the zone was full."),
    count(TAKEN_BACK, 0, "held_taken_back_total",
          "Held entries that active ignore took back."),
    count(APART, 0, "batches_apart_total",
          "Batches of many servers that had to be recorded server by server."),
    count(PAGES_KEPT, 0, "page_cache_hits_total",
          "Pages of a log that were answered from a worker's memory."),
    other(status_lag, 1, "database", "gauge", "standby_lag_seconds",
          "How far standbys are behind, at most, as far as this is known."),
    count(STANDBY_READS, 0, "standby_reads_total",
          "Statements that a standby answered."),
    count(STANDBY_BEHIND, 0, "standby_behind_total",
          "Requests that the primary answered because a standby was behind, or "
          "away."),
    count(STANDBY_AGAIN, 0, "standby_again_total",
          "Statements that the primary answered after a standby had not."),
    count(LEASES_LOST, 0, "delivery_leases_lost_total",
          "Shards that went to another machine without being given away."),
    count(PARKED, 0, "delivery_parked_total",
          "Times that a lane was set aside because the database refused "
          "something of it."),
    words(auth, "cause", ngx_http_guildlog_access_causes,
          NGX_GUILDLOG_AUTH_LAST, "auth_total",
          "Tokens verified, by the result."),
    words(entries, "outcome", ngx_guildlog_entry_outcomes,
          NGX_GUILDLOG_ENTRY_LAST, "entries_total",
          "Entries sent to be recorded, by what became of them."),
    words(events, "result", ngx_guildlog_events_results,
          NGX_GUILDLOG_EVENTS_LAST, "events_total",
          "Packets of the platform, and their entries, by what became of "
          "them."),
    other(status_unknown, 0, "event", "counter", "events_unknown_total",
          "Packets of the platform that nobody knows, by event or action."),
    count(PAIRS_JOINED, 0, "events_joined_total",
          "Pairs of packets that became one entry."),
    count(PAIRS_ALONE, 0, "events_alone_total",
          "Entries of the audit log of which nobody can tell what they belong "
          "to."),
    count(MESSAGES_KEPT, 0, "events_messages_total",
          "Messages that were kept for what becomes of them."),
    other(status_calls, 0, "call class status", "counter",
          "platform_requests_total",
          "Requests to the platform by what was asked, what it came to and the "
          "status."),
    words(traffic.limited, "scope", ngx_guildlog_traffic_scopes,
          NGX_GUILDLOG_TRAFFIC_SCOPES, "platform_limited_total",
          "Requests that the platform limited, by the limit's scope."),
    words(traffic.entries, "outcome", ngx_guildlog_traffic_ends,
          NGX_GUILDLOG_TRAFFIC_ENDS, "delivery_entries_total",
          "Entries by how their delivery ended."),
    words(traffic.doubts, "result", ngx_guildlog_traffic_doubts,
          NGX_GUILDLOG_DOUBT_LAST, "delivery_doubts_total",
          "Messages in doubt, by what reading the channel told."),
    gauge(SENDING, "platform_sending",
          "Requests of delivery that the platform has not answered yet."),
    gauge(INVALID, "platform_invalid_requests",
          "Requests of the last ten minutes that count for a ban at 10000."),
    gauge(SHARDS, "delivery_shards",
          "Shards, of 64, whose lanes are delivered here."),
    gauge(MISFIT, "delivery_secret_mismatch",
          "1: the secret is not that of the stored webhooks, nothing is "
          "delivered here."),
    gauge(BACKLOG, "delivery_backlog",
          "Entries that wait in lanes delivered here."),
    gauge(HELD, "delivery_held", "Entries held for active ignore."),
    other(status_oldest, 1, NULL, "gauge", "delivery_oldest_seconds",
          "Age of the oldest entry that waits in a lane that is not paused."),
    other(status_figures_age, 1, NULL, "gauge", "delivery_figures_age_seconds",
          "Since the database told backlog, lanes and the oldest entry."),
    other(status_lanes, 0, "state", "gauge", "delivery_lanes",
          "Lanes delivered here, by state."),
    task(at, 0, "gauge", "keeper_age_seconds", "Since a task last succeeded."),
    task(took_us, 1, "gauge", "keeper_last_seconds",
         "What its last turn took."),
    task(lag, 0, "gauge", "keeper_lag", "What is left to it, in its own unit."),
    task(errors, 0, "counter", "keeper_errors_total", "Its turns that failed."),
    task(parked, 0, "gauge", "keeper_parked", "Servers that it leaves out."),
    other(status_requests, 0, "endpoint status", "counter", "requests_total",
          "Requests by endpoint and status."),
    other(status_request_times, 0, "endpoint", "histogram", "request_seconds",
          "Time from request to answer."),
    other(status_statement_times, 0, "statement", "histogram",
          "statement_seconds", "Time from sent to answered."),
    other(status_statement_errors, 0, "statement", "counter",
          "statement_errors_total", "Statements that failed."),
    { NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0 }
};


/* so many databases, the first ones, told this worker: the schema fits */

static ngx_uint_t  health_fits;


ngx_int_t
ngx_http_guildlog_status_handler(ngx_http_request_t *r)
{
    ngx_int_t                          rc;
    ngx_str_t                          value, body;
    ngx_http_guildlog_status_form_t    form;
    const ngx_http_guildlog_metric_t  *metric;

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    /* told here: an error_page may lead to the API, which asks for a token */

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_guildlog_response_header(r, "Allow", "GET, HEAD")
               == NGX_OK
               ? ngx_http_guildlog_response_error(r, NGX_HTTP_NOT_ALLOWED, NULL)
               : NGX_ERROR;
    }

    rc = health(r);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    form.prometheus = ngx_http_arg(r, (u_char *) "format", 6, &value) == NGX_OK
                      && value.len == sizeof("prometheus") - 1
                      && ngx_strncmp(value.data, "prometheus", value.len) == 0;

    ngx_guildlog_json_init(&form.out, r->pool, 16384);

    if (!form.prometheus) {
        ngx_guildlog_json_begin(&form.out, '{');
    }

    for (metric = status_metrics; metric->name; metric++) {
        status_form_metric(&form, metric);
    }

    if (!form.prometheus) {
        ngx_guildlog_json_end(&form.out);
    }

    if (ngx_guildlog_json_written(&form.out, &body) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_guildlog_response_send(r, NGX_HTTP_OK,
                                           form.prometheus
                                           ? "text/plain; version=0.0.4"
                                           : "application/json", &body);
}


static void
status_version(ngx_http_guildlog_status_form_t *form)
{
    status_form_sample(form, NGX_GUILDLOG_VERSION, NULL, 1);
}


static void
status_gauge(ngx_http_guildlog_status_form_t *form)
{
    status_form_sample(form, NULL, NULL, status_all(form->metric->index).sum);
}


static ngx_guildlog_gauges_t
status_all(ngx_guildlog_gauge_e what)
{
    return ngx_guildlog_stats_gauges(&ngx_http_guildlog_worker.stats, what);
}


static void
status_oldest(ngx_http_guildlog_status_form_t *form)
{
    status_form_sample(form, NULL, NULL,
                       status_all(NGX_GUILDLOG_GAUGE_OLDEST_MS).most * 1000);
}


static void
status_figures_age(ngx_http_guildlog_status_form_t *form)
{
    time_t  age, told;

    told = status_all(NGX_GUILDLOG_GAUGE_TOLD).least;

    /* figures that nobody has told yet have no age */

    age = told ? ngx_max(ngx_time() - told, 0) : 0;

    status_form_sample(form, NULL, NULL, (ngx_uint_t) age * 1000000);
}


/* each worker measures by itself: this one answers */

static void
status_lag(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t                     i;
    ngx_msec_int_t                 lag;
    ngx_guildlog_db_pool_t        *pool;
    const ngx_guildlog_database_t *database;

    for (i = 0; i < ngx_http_guildlog_worker.npools; i++) {
        pool = ngx_http_guildlog_worker.pools[i];
        database = ngx_guildlog_db_pool_database(pool);
        lag = ngx_guildlog_db_standby_lag(pool);

        if (lag != NGX_ERROR) {
            status_form_sample(form, (char *) database->name.data, NULL,
                               lag * 1000);
        }
    }
}


static void
status_lanes(ngx_http_guildlog_status_form_t *form)
{
    const ngx_guildlog_lane_gauge_t  *lane;

    for (lane = ngx_guildlog_stats_lanes; lane->state; lane++) {
        status_form_sample(form, lane->state, NULL,
                           status_all(lane->gauge).sum);
    }
}


/* a count for each word, or one without */

static void
status_words(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t                         i;
    ngx_atomic_t                      *n;
    const ngx_http_guildlog_metric_t  *metric;

    metric = form->metric;
    n = (ngx_atomic_t *) ((u_char *) ngx_http_guildlog_worker.stats.shared
                          + metric->index);

    for (i = 0; i < metric->nwords; i++) {
        status_form_sample(form, metric->words ? metric->words[i] : NULL, NULL,
                           n[i]);
    }
}


static void
status_calls(ngx_http_guildlog_status_form_t *form)
{
    u_char                   buf[STATUS_CODE];
    ngx_uint_t               i, j, k, n;
    const char              *code;
    ngx_guildlog_traffic_t  *traffic;

    traffic = &ngx_http_guildlog_worker.stats.shared->traffic;

    for (i = 0; i < NGX_GUILDLOG_TRAFFIC_CALLS; i++) {

        status_form_group(form, ngx_guildlog_traffic_calls[i]);

        for (j = 0; j < NGX_GUILDLOG_TRAFFIC_CLASSES; j++) {
            for (k = 0; k < NGX_GUILDLOG_TRAFFIC_CODES; k++) {

                n = traffic->calls[i][j][k];

                if (n == 0) {
                    continue;
                }

                code = status_code(buf, ngx_guildlog_traffic_codes[k],
                                   k ? "other" : "none");

                status_form_sample(form,
                                   ngx_guildlog_traffic_classes[j], code, n);
            }
        }
    }
}


static void
status_tasks(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t            i, n;
    ngx_guildlog_task_t  *task;

    task = ngx_http_guildlog_worker.stats.shared->tasks;

    for (i = 0;
         i < NGX_GUILDLOG_STATS_TASKS
         && task->name.state == NGX_GUILDLOG_STATS_NAMED;
         i++, task++)
    {
        n = *(ngx_atomic_t *) ((u_char *) task + form->metric->index);

        if (form->metric->index == offsetof(ngx_guildlog_task_t, at)) {
            n = ngx_max(ngx_time() - (time_t) n, 0);
        }

        status_form_sample(form, (char *) task->name.text, NULL, n);
    }
}


static void
status_unknown(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t               i;
    ngx_guildlog_unknown_t  *unknown;

    unknown = ngx_http_guildlog_worker.stats.shared->unknown;

    for (i = 0;
         i < NGX_GUILDLOG_STATS_UNKNOWN
         && unknown->name.state == NGX_GUILDLOG_STATS_NAMED;
         i++, unknown++)
    {
        status_form_sample(form, (char *) unknown->name.text, NULL, unknown->n);
    }
}


static void
status_requests(ngx_http_guildlog_status_form_t *form)
{
    u_char                        status[STATUS_CODE];
    ngx_uint_t                    i, j, n;
    ngx_guildlog_stats_shared_t  *shared;

    shared = ngx_http_guildlog_worker.stats.shared;

    for (i = 0; i <= ngx_guildlog_nroutes; i++) {

        if (shared->route[i].count == 0) {
            continue;
        }

        status_form_group(form, status_route(i));

        for (j = 0; j < NGX_GUILDLOG_STATS_CODES; j++) {

            n = shared->requests[i][j];

            if (n) {
                status_form_sample(form,
                    status_code(status, ngx_guildlog_stats_codes[j], "other"),
                    NULL, n);
            }
        }
    }
}


static void
status_request_times(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t  i;

    for (i = 0; i <= ngx_guildlog_nroutes; i++) {
        status_form_histogram(form,
                          status_route(i),
                          &ngx_http_guildlog_worker.stats.shared->route[i]);
    }
}


static void
status_statement_times(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t  i;

    for (i = 0; i < ngx_guildlog_stmt_last; i++) {
        status_form_histogram(form,
                          ngx_guildlog_stmts[i].name,
                          &ngx_http_guildlog_worker.stats.shared->stmt[i]);
    }
}


static void
status_statement_errors(ngx_http_guildlog_status_form_t *form)
{
    ngx_uint_t  i, n;

    for (i = 0; i < ngx_guildlog_stmt_last; i++) {

        n = ngx_http_guildlog_worker.stats.shared->stmt_errors[i];

        if (n) {
            status_form_sample(form, ngx_guildlog_stmts[i].name, NULL, n);
        }
    }
}


/* an HTTP status in digits; word: what stands for 0 */

static const char *
status_code(u_char *buf, ngx_uint_t code, const char *word)
{
    if (code == 0) {
        return word;
    }

    *ngx_sprintf(buf, "%ui", code) = '\0';

    return (char *) buf;
}


/* the last one counts the requests that reached no endpoint */

static const char *
status_route(ngx_uint_t i)
{
    return i < ngx_guildlog_nroutes ? ngx_guildlog_routes[i].name : "none";
}


/*
 * The two forms of the status page.
 */

/* head, samples and tail of a metric */

static void
status_form_metric(ngx_http_guildlog_status_form_t *form,
    const ngx_http_guildlog_metric_t *metric)
{
    form->metric = metric;
    form->group = NULL;

    if (form->prometheus) {
        status_form_line(form, "# HELP guildlog_%s %s\n"
                         "# TYPE guildlog_%s %s\n",
                         metric->name, metric->help,
                         metric->name, metric->type);
        metric->write(form);
        return;
    }

    ngx_guildlog_json_key(&form->out, metric->name);

    if (metric->labels == NULL) {
        metric->write(form);
        return;
    }

    ngx_guildlog_json_begin(&form->out, '{');

    metric->write(form);

    if (form->group) {
        ngx_guildlog_json_end(&form->out);
    }

    ngx_guildlog_json_end(&form->out);
}


/*
 * The samples that follow have this value of the first label, until the next
 * group or the end of the metric.  In JSON they are one object.
 */

static void
status_form_group(ngx_http_guildlog_status_form_t *form, const char *value)
{
    if (!form->prometheus) {
        if (form->group) {
            ngx_guildlog_json_end(&form->out);
        }

        ngx_guildlog_json_key(&form->out, value);
        ngx_guildlog_json_begin(&form->out, '{');
    }

    form->group = value;
}


/*
 * One and two are values of the labels that no group has set, or NULL.  The
 * labels are written as {call="execute",status="200"}.
 */

static void
status_form_sample(ngx_http_guildlog_status_form_t *form, const char *one,
    const char *two, ngx_uint_t n)
{
    size_t       len;
    u_char       buf[STATUS_FORM_NUMBER], key[STATUS_FORM_LINE], *p, *last;
    ngx_str_t    number;
    ngx_uint_t   i;
    const char  *label, *labels;
    const char  *values[] = { form->group, one, two };

    number = status_form_number(buf, n, form->metric->us);

    p = key;
    last = key + sizeof(key) - 1;

    if (form->prometheus) {
        labels = form->metric->labels;
        i = form->group ? 0 : 1;

        for (label = labels; label && *label && i < 3; label += len) {
            label += (*label == ' ');
            len = strcspn(label, " ");

            p = ngx_slprintf(p, last, "%c%*s=\"%s\"",
                             label == labels ? '{' : ',', len, label,
                             values[i++]);
        }

        status_form_line(form, "guildlog_%s%*s%s %V\n", form->metric->name,
                         (size_t) (p - key), key, labels ? "}" : "", &number);
        return;
    }

    if (one) {
        p = ngx_slprintf(p, last, two ? "%s %s" : "%s", one, two);
        *p = '\0';

        ngx_guildlog_json_key(&form->out, (char *) key);
    }

    ngx_guildlog_json_raw(&form->out, &number);
}


/*
 * value: of the only label; nothing is written for an empty histogram.  Buckets
 * of Prometheus include the smaller ones; in JSON there are count and sum.
 */

static void
status_form_histogram(ngx_http_guildlog_status_form_t *form, const char *value,
    const ngx_guildlog_histogram_t *h)
{
    u_char       buf[STATUS_FORM_NUMBER];
    ngx_str_t    seconds;
    ngx_uint_t   i, n;
    const char  *name, *label;

    if (h->count == 0) {
        return;
    }

    if (!form->prometheus) {
        status_form_group(form, value);
        ngx_guildlog_json_member_number(&form->out, "count", h->count);
        ngx_guildlog_json_member_number(&form->out, "sum_us", h->sum_us);
        return;
    }

    n = 0;
    name = form->metric->name;
    label = form->metric->labels;

    for (i = 0; i < NGX_GUILDLOG_STATS_BUCKETS - 1; i++) {
        n += h->buckets[i];
        seconds = status_form_number(buf, ngx_guildlog_stats_bounds_us[i], 1);

        status_form_line(form, "guildlog_%s_bucket{%s=\"%s\","
                         "le=\"%V\"} %ui\n", name, label,
                         value, &seconds, n);
    }

    n += h->buckets[i];
    seconds = status_form_number(buf, h->sum_us, 1);

    status_form_line(form,
        "guildlog_%s_bucket{%s=\"%s\",le=\"+Inf\"} %ui\n"
        "guildlog_%s_sum{%s=\"%s\"} %V\n"
        "guildlog_%s_count{%s=\"%s\"} %ui\n",
        name, label, value, n, name, label, value, &seconds,
        name, label, value, n);
}


static ngx_str_t
status_form_number(u_char *buf, ngx_uint_t n, ngx_uint_t us)
{
    ngx_str_t  number;

    number.data = buf;
    number.len = (us ? ngx_sprintf(buf, "%ui.%06ui", n / 1000000, n % 1000000)
                     : ngx_sprintf(buf, "%ui", n))
                 - buf;

    return number;
}


static void
status_form_line(ngx_http_guildlog_status_form_t *form, const char *fmt, ...)
{
    u_char   buf[STATUS_FORM_LINE], *last;
    va_list  args;

    va_start(args, fmt);
    last = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args);
    va_end(args);

    ngx_guildlog_json_literal(&form->out, buf, last - buf);
}


/*
 * What a load balancer asks: does nginx answer, and would a request be served?
 *
 * A request is served if each database answers and its schema is not older than
 * the module.  Requests show the former by themselves.  So a database is asked
 * only where it has answered nobody for a while, and until it has told this
 * worker its schema once.  They are asked one after another: the first that is
 * in the way gives the answer.
 */

/* answers /live and /ready; NGX_DECLINED: it is neither */

static ngx_int_t
health(ngx_http_request_t *r)
{
    ngx_int_t      rc;
    health_ask_t  *ask;

    if (health_is(r, "/live")) {
        return health_answer(r, NULL);
    }

    if (!health_is(r, "/ready")) {
        return NGX_DECLINED;
    }

    ask = ngx_pcalloc(r->pool, sizeof(health_ask_t));

    if (ask == NULL
        || ngx_http_guildlog_call_at_end(r, health_cleanup, ask) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ask->request = r;

    rc = health_ask(ask);

    if (rc != NGX_AGAIN) {
        return rc;
    }

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static ngx_uint_t
health_is(ngx_http_request_t *r, const char *word)
{
    size_t  len;

    len = ngx_strlen(word);

    return r->uri.len >= len
           && ngx_memcmp(r->uri.data + r->uri.len - len, word, len) == 0;
}


/*
 * Asks the next one; the answer where there is none, as for limits alone.  Who
 * serves requests shows by that that it is there, and need not be asked.  Nor
 * need a standby: the primary answers where that does not.
 */

static ngx_int_t
health_ask(health_ask_t *ask)
{
    ngx_guildlog_db_pool_t      *pool;
    ngx_http_guildlog_worker_t  *worker;

    static const ngx_str_t  schema = ngx_string(
                                         ngx_value(NGX_GUILDLOG_SCHEMA));

    worker = &ngx_http_guildlog_worker;

    for ( /* void */ ; ask->database < worker->npools; ask->database++) {
        pool = worker->pools[ask->database];

        if (!ngx_guildlog_db_pool_database(pool)->standby
            && (ask->database >= health_fits
                || !ngx_guildlog_db_pool_answered(pool, HEALTH_RECENT)))
        {
            break;
        }
    }

    if (ask->database == worker->npools) {
        return health_answer(ask->request, NULL);
    }

    ask->query = ngx_guildlog_db_pool_submit(worker->pools[ask->database],
                             ngx_guildlog_stmt(schema_fits),
                             &schema, health_told, ask);

    return ask->query ? NGX_AGAIN : NGX_ERROR;
}


static void
health_cleanup(void *data)
{
    health_ask_t *ask = data;

    ngx_guildlog_db_pool_detach(ask->query);
}


static void
health_told(void *data, ngx_guildlog_db_result_t *result)
{
    health_ask_t *ask = data;

    ngx_int_t            rc;
    ngx_uint_t           status;
    ngx_http_request_t  *r;

    r = ask->request;
    ask->query = NULL;

    ngx_http_set_log_request(r->connection->log, r);

    status = ngx_http_guildlog_response_failed(result, "schema_fits",
                                               r->connection->log);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS
        && ngx_guildlog_db_result_value(result, 0, 0).data[0] == 't')
    {
        ask->database++;
        health_fits = ngx_max(health_fits, ask->database);

        rc = health_ask(ask);

    } else if (result->outcome == NGX_GUILDLOG_DB_ROWS
               || (status == NGX_HTTP_INTERNAL_SERVER_ERROR
                   && ngx_strcmp(result->sqlstate, HEALTH_NO_FUNCTION) == 0))
    {
        rc = health_answer(r, "the schema is older than the module\n");

    } else {
        rc = health_answer(r, status == NGX_HTTP_INTERNAL_SERVER_ERROR
                              ? "the database refuses to tell its schema; "
                                "the error log says why\n"
                              : "the database is not available\n");
    }

    if (rc != NGX_AGAIN) {
        ngx_http_guildlog_call_finish(r, rc);
    }
}


static ngx_int_t
health_answer(ngx_http_request_t *r, const char *obstacle)
{
    ngx_str_t  body;

    body = ngx_guildlog_word(obstacle ? obstacle : "ok\n");

    return ngx_http_guildlog_response_send(r, obstacle
                                              ? NGX_HTTP_SERVICE_UNAVAILABLE
                                              : NGX_HTTP_OK,
                                           "text/plain", &body);
}
