
/*
 * Beside requests: they find a processor free if delivery takes one at most,
 * and the worker's event loop if it takes a little at a time.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define NGX_GUILDLOG_REST_LATELY  500        /* ms */
#define NGX_GUILDLOG_REST_SLOW    100        /* ms */


/* have there been requests lately, of any worker? */

ngx_uint_t
ngx_guildlog_delivery_beside(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  n;

    if (ngx_guildlog_delivery_due(d->requests_at)) {
        n = ngx_guildlog_stats_requests(d->stats);

        d->beside = (n != d->requests);
        d->requests = n;
        d->requests_at = ngx_current_msec + NGX_GUILDLOG_REST_LATELY;
    }

    return d->beside;
}


/* is a step under way?  Those behind one that hangs do not wait for it */

ngx_uint_t
ngx_guildlog_delivery_stepping(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        if (d->steps[i].query
            && ngx_current_msec - d->steps[i].began < NGX_GUILDLOG_REST_SLOW)
        {
            return 1;
        }
    }

    return 0;
}
