
/*
 * What there is to deliver, as the database tells it, for the status page:
 * asked for so seldom that it costs next to nothing.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "base/ngx_guildlog_json.h"


#define NGX_GUILDLOG_FIGURES_INTERVAL  2000    /* ms */
#define NGX_GUILDLOG_FIGURES_SHARE     50      /* of the time, one part */


static void ngx_guildlog_figures_told(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_figures_set(ngx_guildlog_delivery_t *d, json_t *json,
    const char *name, ngx_guildlog_gauge_e gauge);
static void ngx_guildlog_figures_forget(ngx_guildlog_delivery_t *d,
    ngx_guildlog_gauge_e from);


void
ngx_guildlog_delivery_figures(ngx_guildlog_delivery_t *d)
{
    if (d->left) {
        ngx_guildlog_figures_forget(d, NGX_GUILDLOG_GAUGE_SENDING);
        return;
    }

    ngx_guildlog_stats_set(d->stats, NGX_GUILDLOG_GAUGE_SENDING,
                           d->pace.open);
    ngx_guildlog_stats_set(d->stats, NGX_GUILDLOG_GAUGE_INVALID,
                           ngx_guildlog_pace_invalid(&d->pace,
                                                     ngx_current_msec));
    ngx_guildlog_stats_set(d->stats, NGX_GUILDLOG_GAUGE_SHARDS, d->mine);

    if (ngx_exiting) {
        ngx_guildlog_figures_forget(d, NGX_GUILDLOG_GAUGE_TOLD);
        return;
    }

    if (d->figures || !ngx_guildlog_delivery_due(d->figures_at)) {
        return;
    }

    d->figures_at = ngx_current_msec + NGX_GUILDLOG_FIGURES_INTERVAL;

    d->figures = ngx_guildlog_db_pool_submit(d->pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_figures],
                     &d->me, ngx_guildlog_figures_told, d);
}


static void
ngx_guildlog_figures_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    json_t                           *json;
    ngx_str_t                         body;
    json_error_t                      cause;
    const ngx_guildlog_lane_gauge_t  *lane;

    d->figures = NULL;

    if (ngx_exiting) {
        return;
    }

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        ngx_guildlog_delivery_refused(d, "figures", result);
        return;
    }

    body = ngx_guildlog_db_result_value(result, 0, 1);
    json = ngx_guildlog_json_load(body.data, body.len, 0, &cause);

    ngx_guildlog_figures_set(d, json, "backlog", NGX_GUILDLOG_GAUGE_BACKLOG);
    ngx_guildlog_figures_set(d, json, "held", NGX_GUILDLOG_GAUGE_HELD);
    ngx_guildlog_figures_set(d, json, "oldest_ms",
                             NGX_GUILDLOG_GAUGE_OLDEST_MS);

    for (lane = ngx_guildlog_stats_lanes; lane->state; lane++) {
        ngx_guildlog_figures_set(d, json, lane->state, lane->gauge);
    }

    json_decref(json);

    ngx_guildlog_stats_set(d->stats, NGX_GUILDLOG_GAUGE_TOLD, ngx_time());

    d->figures_at = ngx_current_msec
                    + ngx_max(NGX_GUILDLOG_FIGURES_INTERVAL,
                              result->time_us / 1000
                              * NGX_GUILDLOG_FIGURES_SHARE);
}


static void
ngx_guildlog_figures_set(ngx_guildlog_delivery_t *d, json_t *json,
    const char *name, ngx_guildlog_gauge_e gauge)
{
    ngx_guildlog_stats_set(d->stats, gauge,
                           json_integer_value(json_object_get(json, name)));
}


/* a worker that leaves may live on for long: others tell what they say */

static void
ngx_guildlog_figures_forget(ngx_guildlog_delivery_t *d,
    ngx_guildlog_gauge_e from)
{
    ngx_uint_t  i;

    for (i = from; i < NGX_GUILDLOG_GAUGE_LAST; i++) {
        ngx_guildlog_stats_set(d->stats, i, 0);
    }
}
