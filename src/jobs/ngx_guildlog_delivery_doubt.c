
/*
 * What is unconfirmed: now and then each such message becomes a lane of its
 * own, which looks for it and vanishes.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define NGX_GUILDLOG_DOUBTS_INTERVAL  5000   /* ms */


static void ngx_guildlog_delivery_doubted(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_doubts_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result);


void
ngx_guildlog_delivery_doubts(ngx_guildlog_delivery_t *d)
{
    u_char     page[NGX_INT_T_LEN];
    ngx_str_t  args[2];

    /* those at hand first, however long it takes */

    if (d->doubt || !ngx_queue_empty(&d->doubts)
        || !ngx_guildlog_delivery_due(d->doubt_at))
    {
        return;
    }

    d->doubt_at = ngx_current_msec + NGX_GUILDLOG_DOUBTS_INTERVAL;

    args[0] = d->me;
    args[1].data = page;
    args[1].len = ngx_sprintf(page, "%ui", d->page_doubts) - page;

    d->doubt = ngx_guildlog_db_pool_submit(d->pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_doubts],
                     args, ngx_guildlog_delivery_doubted, d);
}


static void
ngx_guildlog_delivery_doubted(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t            row, shard;
    ngx_guildlog_lane_t  *lane;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_doubts_refused(d, result);
        return;
    }

    d->page_doubts = ngx_min(2 * d->page_doubts,
                             NGX_GUILDLOG_DELIVERY_DOUBTS);

    if (ngx_exiting) {
        return;
    }

    for (row = 0; row < result->rows; row++) {
        shard = ngx_guildlog_lane_column(result, row,
                                         NGX_GUILDLOG_FACT_SHARD);

        if (d->fences[shard % NGX_GUILDLOG_DELIVERY_SHARDS]
            == ngx_guildlog_lane_column(result, row,
                                        NGX_GUILDLOG_FACT_FENCE))
        {
            (void) ngx_guildlog_delivery_enter(d, result, row, &d->doubts,
                                               &lane);
        }
    }
}


static void
ngx_guildlog_delivery_doubts_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    if (ngx_exiting || !ngx_guildlog_delivery_to_blame(result)) {
        ngx_guildlog_delivery_refused(d, "doubts", result);
        return;
    }

    d->doubt_at = ngx_current_msec;

    if (d->page_doubts > 1) {
        d->page_doubts /= 2;
        return;
    }

    ngx_guildlog_delivery_park_doubt(d, result);
}
