
/*
 * What is unconfirmed: now and then each such message becomes a lane of its
 * own, which looks for it and vanishes.
 */

#include "ngx_guildlog_delivery_loop.h"


#define NGX_GUILDLOG_DELIVERY_DOUBTS  5000   /* ms */


static void ngx_guildlog_delivery_doubted(void *data,
    ngx_guildlog_result_t *result);


void
ngx_guildlog_delivery_doubts(ngx_guildlog_delivery_t *d)
{
    ngx_str_t  args[1];

    /* those at hand first, however long it takes */

    if (d->doubt || !ngx_queue_empty(&d->doubts)
        || !ngx_guildlog_delivery_due(d->doubt_at))
    {
        return;
    }

    d->doubt_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_DOUBTS;

    args[0] = d->me;

    d->doubt = ngx_guildlog_pool_submit(d->pool,
                     &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_doubts],
                     args, ngx_guildlog_delivery_doubted, d);
}


static void
ngx_guildlog_delivery_doubted(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t            row, shard;
    ngx_guildlog_lane_t  *lane;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_ROWS) {
        ngx_guildlog_delivery_refused(d, "doubts", result);
        return;
    }

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
