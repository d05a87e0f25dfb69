
/*
 * What the worker keeps of segments, for the query that looks through them.
 */

#include "http/ngx_http_guildlog_find.h"
#include "search/ngx_guildlog_kept.h"


static ngx_int_t kept_get(void *data, int64_t key,
    ngx_str_t *strings);
static void kept_put(void *data, int64_t key,
    int32_t day, const ngx_str_t *strings);
static void kept_expire(ngx_event_t *ev);


static ngx_event_t       kept_timer;
static ngx_connection_t  kept_dumb;


void
ngx_http_guildlog_find_kept(ngx_http_guildlog_find_t *find)
{
    ngx_guildlog_find_t  *result;

    if (ngx_http_guildlog_worker.kept == NULL) {
        return;
    }

    result = find->result;

    result->strings_get = kept_get;
    result->strings_put = kept_put;
    result->strings_data = find;
}


static ngx_int_t
kept_get(void *data, int64_t key, ngx_str_t *strings)
{
    ngx_http_guildlog_find_t *find = data;

    return ngx_guildlog_kept_get(ngx_http_guildlog_worker.kept,
                                 find->call->conf->database->index, key,
                                 strings);
}


static void
kept_put(void *data, int64_t key, int32_t day,
    const ngx_str_t *strings)
{
    ngx_http_guildlog_find_t *find = data;

    ngx_event_t  *timer;

    ngx_guildlog_kept_put(ngx_http_guildlog_worker.kept,
                          find->call->conf->database->index, key, strings);

    timer = &kept_timer;

    if (!timer->timer_set) {
        kept_dumb.fd = (ngx_socket_t) -1;

        timer->data = &kept_dumb;
        timer->log = ngx_cycle->log;
        timer->handler = kept_expire;
        timer->cancelable = 1;

        ngx_add_timer(timer, NGX_GUILDLOG_KEPT_AGE * 1000);
    }
}


static void
kept_expire(ngx_event_t *ev)
{
    if (ngx_guildlog_kept_expire(ngx_http_guildlog_worker.kept)) {
        ngx_add_timer(ev, NGX_GUILDLOG_KEPT_AGE * 1000);
    }
}
