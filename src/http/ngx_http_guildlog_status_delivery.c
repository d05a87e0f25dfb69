
/*
 * What delivery did, and what it has before it, for the status page.
 */

#include "http/ngx_http_guildlog_status.h"


static void ngx_http_guildlog_status_calls(ngx_http_guildlog_status_t *st);
static void ngx_http_guildlog_status_call(ngx_http_guildlog_status_t *st,
    ngx_uint_t call);
static void ngx_http_guildlog_status_words(ngx_http_guildlog_status_t *st,
    const char *label, const char **words, ngx_atomic_t *n, ngx_uint_t count);
static void ngx_http_guildlog_status_figures(ngx_http_guildlog_status_t *st);


static const ngx_http_guildlog_metric_t  ngx_http_guildlog_figures[] = {
    { "platform_sending", "gauge",
      "Requests of delivery that the platform has not answered yet.",
      NGX_GUILDLOG_GAUGE_SENDING, 0 },
    { "platform_invalid_requests", "gauge",
      "Requests of the last ten minutes that count for a ban at 10000.",
      NGX_GUILDLOG_GAUGE_INVALID, 0 },
    { "delivery_shards", "gauge",
      "Shards, of 64, whose lanes are delivered here.",
      NGX_GUILDLOG_GAUGE_SHARDS, 0 },
    { "delivery_secret_mismatch", "gauge",
      "1: the secret is not that of the stored webhooks, nothing is delivered "
      "here.",
      NGX_GUILDLOG_GAUGE_MISFIT, 0 },
    { "delivery_backlog", "gauge",
      "Entries that wait in lanes delivered here.",
      NGX_GUILDLOG_GAUGE_BACKLOG, 0 },
    { "delivery_held", "gauge",
      "Entries held for active ignore.", NGX_GUILDLOG_GAUGE_HELD, 0 },
    { NULL, NULL, NULL, 0, 0 }
};


static const ngx_http_guildlog_metric_t  ngx_http_guildlog_oldest = {
    "delivery_oldest_seconds", "gauge",
    "Age of the oldest entry that waits in a lane that is not paused.", 0, 1
};


static const ngx_http_guildlog_metric_t  ngx_http_guildlog_told = {
    "delivery_figures_age_seconds", "gauge",
    "Since the database told backlog, lanes and the oldest entry.", 0, 1
};


void
ngx_http_guildlog_status_delivery(ngx_http_guildlog_status_t *st)
{
    ngx_guildlog_traffic_t  *traffic;

    traffic = &ngx_http_guildlog_worker.stats.shared->traffic;

    ngx_http_guildlog_status_calls(st);

    ngx_http_guildlog_status_begin(st, "platform_limited_total", "counter",
                                   "Requests that the platform limited, by "
                                   "the limit's scope.");
    ngx_http_guildlog_status_words(st, "scope", ngx_guildlog_traffic_scopes,
                                   traffic->limited,
                                   NGX_GUILDLOG_TRAFFIC_SCOPES);

    ngx_http_guildlog_status_begin(st, "delivery_entries_total", "counter",
                                   "Entries by how their delivery ended.");
    ngx_http_guildlog_status_words(st, "outcome", ngx_guildlog_traffic_ends,
                                   traffic->entries,
                                   NGX_GUILDLOG_TRAFFIC_ENDS);

    ngx_http_guildlog_status_begin(st, "delivery_doubts_total", "counter",
                                   "Messages in doubt, by what reading the "
                                   "channel told.");
    ngx_http_guildlog_status_words(st, "result", ngx_guildlog_traffic_doubts,
                                   traffic->doubts, NGX_GUILDLOG_DOUBT_LAST);

    ngx_http_guildlog_status_figures(st);
}


static void
ngx_http_guildlog_status_calls(ngx_http_guildlog_status_t *st)
{
    ngx_uint_t  i;

    ngx_http_guildlog_status_begin(st, "platform_requests_total", "counter",
                                   "Requests to the platform by what was "
                                   "asked, what it came to and the status.");

    for (i = 0; i < NGX_GUILDLOG_TRAFFIC_CALLS; i++) {
        ngx_http_guildlog_status_open(st, ngx_guildlog_traffic_calls[i]);
        ngx_http_guildlog_status_call(st, i);
        ngx_http_guildlog_status_close(st);
    }

    ngx_http_guildlog_status_end(st);
}


static void
ngx_http_guildlog_status_call(ngx_http_guildlog_status_t *st, ngx_uint_t call)
{
    u_char         status[NGX_HTTP_GUILDLOG_STATUS_CODE], key[64];
    ngx_uint_t     i, j, n;
    const char    *class;
    ngx_atomic_t  *codes;

    for (i = 0; i < NGX_GUILDLOG_TRAFFIC_CLASSES; i++) {

        class = ngx_guildlog_traffic_classes[i];
        codes = ngx_http_guildlog_worker.stats.shared->traffic.calls[call][i];

        for (j = 0; j < NGX_GUILDLOG_TRAFFIC_CODES; j++) {

            n = codes[j];

            if (n == 0) {
                continue;
            }

            ngx_http_guildlog_status_code(status,
                                          ngx_guildlog_traffic_codes[j],
                                          j ? "other" : "none");

            if (st->prometheus) {
                ngx_http_guildlog_status_line(st,
                    "guildlog_platform_requests_total{call=\"%s\","
                    "class=\"%s\",status=\"%s\"} %ui\n",
                    ngx_guildlog_traffic_calls[call], class, status, n);
                continue;
            }

            *ngx_sprintf(key, "%s %s", class, status) = '\0';
            ngx_guildlog_json_key(&st->out, (char *) key);
            ngx_guildlog_json_number(&st->out, n);
        }
    }
}


static void
ngx_http_guildlog_status_words(ngx_http_guildlog_status_t *st,
    const char *label, const char **words, ngx_atomic_t *n, ngx_uint_t count)
{
    ngx_uint_t  i;

    for (i = 0; i < count; i++) {
        ngx_http_guildlog_status_sample(st, label, words[i], n[i]);
    }

    ngx_http_guildlog_status_end(st);
}


/* what was never told by anybody has no age */

static void
ngx_http_guildlog_status_figures(ngx_http_guildlog_status_t *st)
{
    ngx_uint_t                         told;
    ngx_guildlog_stats_t              *stats;
    const ngx_guildlog_lane_gauge_t   *lane;
    const ngx_http_guildlog_metric_t  *m;

    stats = &ngx_http_guildlog_worker.stats;

    for (m = ngx_http_guildlog_figures; m->name; m++) {
        ngx_http_guildlog_status_value(st, m,
                                ngx_guildlog_stats_gauge_sum(stats, m->index));
    }

    ngx_http_guildlog_status_value(st, &ngx_http_guildlog_oldest,
                                   ngx_guildlog_stats_gauge_most(stats,
                                          NGX_GUILDLOG_GAUGE_OLDEST_MS)
                                   * 1000);

    told = ngx_guildlog_stats_gauge_least(stats, NGX_GUILDLOG_GAUGE_TOLD);

    ngx_http_guildlog_status_value(st, &ngx_http_guildlog_told,
                                   told ? (ngx_uint_t) (ngx_time()
                                          - ngx_min(ngx_time(),
                                                    (time_t) told))
                                          * 1000000
                                        : 0);

    ngx_http_guildlog_status_begin(st, "delivery_lanes", "gauge",
                                   "Lanes delivered here, by state.");

    for (lane = ngx_guildlog_stats_lanes; lane->state; lane++) {
        ngx_http_guildlog_status_sample(st, "state", lane->state,
                            ngx_guildlog_stats_gauge_sum(stats, lane->gauge));
    }

    ngx_http_guildlog_status_end(st);
}
