
/*
 * The keeper: one small step after the other, and a rest where nothing is
 * left to do.
 */

#include "ngx_guildlog_keeper.h"


#define NGX_GUILDLOG_KEEPER_REST   1000     /* ms, nothing was left to do */
#define NGX_GUILDLOG_KEEPER_PAUSE  20       /* ms, between steps */
#define NGX_GUILDLOG_KEEPER_RETRY  5000     /* ms, the database refused */


struct ngx_guildlog_keeper_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_guildlog_pool_t           *pool;
    ngx_guildlog_query_t          *query;
    ngx_event_t                    timer;
    ngx_log_t                     *log;
};


static void ngx_guildlog_keeper_step(ngx_event_t *ev);
static void ngx_guildlog_keeper_done(void *data,
    ngx_guildlog_result_t *result);


ngx_guildlog_keeper_t *
ngx_guildlog_keeper_create(ngx_cycle_t *cycle, ngx_guildlog_pool_t *pool)
{
    ngx_guildlog_keeper_t  *keeper;

    keeper = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_keeper_t));
    if (keeper == NULL) {
        return NULL;
    }

    keeper->fd = (ngx_socket_t) -1;
    keeper->pool = pool;
    keeper->log = cycle->log;

    keeper->timer.handler = ngx_guildlog_keeper_step;
    keeper->timer.data = keeper;
    keeper->timer.log = cycle->log;
    keeper->timer.cancelable = 1;

    ngx_add_timer(&keeper->timer, ngx_random() % NGX_GUILDLOG_KEEPER_REST);

    return keeper;
}


void
ngx_guildlog_keeper_destroy(ngx_guildlog_keeper_t *keeper)
{
    if (keeper->timer.timer_set) {
        ngx_del_timer(&keeper->timer);
    }

    if (keeper->query) {
        ngx_guildlog_query_detach(keeper->query);
        keeper->query = NULL;
    }
}


static void
ngx_guildlog_keeper_step(ngx_event_t *ev)
{
    ngx_guildlog_keeper_t *keeper = ev->data;

    if (ngx_exiting) {
        return;
    }

    keeper->query = ngx_guildlog_pool_submit(keeper->pool,
                         &ngx_guildlog_stmts[ngx_guildlog_stmt_keeper_step],
                         NULL, ngx_guildlog_keeper_done, keeper);

    if (keeper->query == NULL) {
        ngx_add_timer(&keeper->timer, NGX_GUILDLOG_KEEPER_RETRY);
    }
}


/* 200: there is more to do, 204: there is not */

static void
ngx_guildlog_keeper_done(void *data, ngx_guildlog_result_t *result)
{
    ngx_guildlog_keeper_t *keeper = data;

    ngx_str_t   status;
    ngx_msec_t  wait;

    keeper->query = NULL;

    if (result->outcome == NGX_GUILDLOG_ROWS && result->rows == 1) {
        status = ngx_guildlog_result_value(result, 0, 0);
        wait = ngx_atoi(status.data, status.len) == 200
               ? NGX_GUILDLOG_KEEPER_PAUSE : NGX_GUILDLOG_KEEPER_REST;

    } else {
        wait = NGX_GUILDLOG_KEEPER_RETRY;

        if (result->outcome == NGX_GUILDLOG_REFUSED) {
            ngx_log_error(NGX_LOG_ERR, keeper->log, 0,
                          "the keeper's step failed, SQLSTATE %s: %V",
                          result->sqlstate, &result->message);
        }
    }

    if (!ngx_exiting) {
        ngx_add_timer(&keeper->timer, wait);
    }
}
