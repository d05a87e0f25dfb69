
/*
 * The memory of a lane: its entries and message, which the loop counts, and
 * what is freed with it.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


void
ngx_guildlog_lane_memory_free(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_event_stop(&lane->timer);

    if (lane->exchange) {
        ngx_guildlog_client_cancel(lane->exchange);
    }

    if (lane->query) {
        ngx_guildlog_db_pool_detach(lane->query);
    }

    ngx_guildlog_lane_memory_empty(lane);

    ngx_destroy_pool(lane->pool);
}


void
ngx_guildlog_lane_memory_drop(ngx_guildlog_lane_t *lane, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        ngx_guildlog_lane_memory_shed(lane, &lane->entries[i]);
    }

    lane->n -= n;

    if (lane->n) {
        ngx_memmove(lane->entries, &lane->entries[n],
                    lane->n * sizeof(ngx_guildlog_lane_entry_t));

    } else if (lane->entries) {
        ngx_free(lane->entries);
        lane->entries = NULL;
    }
}


void
ngx_guildlog_lane_memory_shed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_entry_t *entry)
{
    if (entry->message.doc.data) {
        ngx_guildlog_lane_memory_hold(lane, -(ssize_t) entry->message.doc.len);
        ngx_free(entry->message.doc.data);
        entry->message.doc.data = NULL;
    }
}


void
ngx_guildlog_lane_memory_spend(ngx_guildlog_lane_t *lane)
{
    if (lane->body.data) {
        ngx_free(lane->body.data);
        lane->body.data = NULL;
    }
}


void
ngx_guildlog_lane_memory_empty(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_memory_drop(lane, lane->n);
    ngx_guildlog_lane_memory_spend(lane);

    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
        lane->work_pool = NULL;
    }
}


ngx_int_t
ngx_guildlog_lane_memory_renew(ngx_guildlog_lane_t *lane)
{
    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
    }

    lane->work_pool = ngx_create_pool(4096, lane->env->log);

    return lane->work_pool ? NGX_OK : NGX_ERROR;
}


void
ngx_guildlog_lane_memory_hold(ngx_guildlog_lane_t *lane, ssize_t bytes)
{
    lane->bytes += bytes;
    lane->delivery->bytes += bytes;
}
