
/*
 * Questions that a request asks the platform.  Each one waits until the worker
 * that delivers has granted it.
 */

#include "http/ngx_http_guildlog_trouble_ask.h"
#include "shm/ngx_guildlog_quota.h"


/* ms from one look for a grant to the next, as delivery ticks */
#define TROUBLE_ASK_WAIT  20


static void trouble_ask_cleanup(void *data);
static void trouble_ask_handler(ngx_event_t *ev);
static void trouble_ask_send(ngx_http_guildlog_probe_t *probe, ngx_msec_t ms);
static void trouble_ask_answered(void *data,
    ngx_guildlog_client_response_t *answer);
static void trouble_ask_unsent(ngx_http_guildlog_probe_t *probe,
    const char *result, const char *detail);
static void trouble_ask_finish(ngx_http_guildlog_call_t *call);


const ngx_guildlog_delivery_conf_t *
ngx_http_guildlog_trouble_ask_conf(ngx_http_guildlog_call_t *call)
{
    const ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_get_module_main_conf(call->request,
                                         ngx_http_guildlog_module);

    return call->conf->database->delivered ? &gmcf->delivery : NULL;
}


ngx_http_guildlog_trouble_t *
ngx_http_guildlog_trouble_ask_create(ngx_http_guildlog_call_t *call)
{
    ngx_http_cleanup_t           *cln;
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = ngx_pcalloc(call->request->pool,
                          sizeof(ngx_http_guildlog_trouble_t));
    if (trouble == NULL) {
        return NULL;
    }

    cln = ngx_http_cleanup_add(call->request, 0);
    if (cln == NULL) {
        return NULL;
    }

    cln->handler = trouble_ask_cleanup;
    cln->data = trouble;

    trouble->fd = (ngx_socket_t) -1;
    trouble->call = call;

    trouble->timer.handler = trouble_ask_handler;
    trouble->timer.data = trouble;
    trouble->timer.log = ngx_cycle->log;

    call->trouble = trouble;

    return trouble;
}


static void
trouble_ask_cleanup(void *data)
{
    ngx_http_guildlog_trouble_t *trouble = data;

    ngx_uint_t                  i;
    ngx_http_guildlog_probe_t  *probe;

    if (trouble->timer.timer_set) {
        ngx_del_timer(&trouble->timer);
    }

    for (i = 0; i < trouble->n; i++) {
        probe = &trouble->probes[i];

        if (probe->waits) {
            ngx_guildlog_quota_give_up(&ngx_http_guildlog_worker.stats,
                                       NGX_GUILDLOG_ASKS_REPORT);
            probe->waits = 0;
        }

        if (probe->exchange) {
            ngx_guildlog_client_cancel(probe->exchange);
            probe->exchange = NULL;
        }
    }
}


ngx_http_guildlog_probe_t *
ngx_http_guildlog_trouble_ask_add(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_probe_t    *probe;
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = call->trouble;

    if (trouble->n == NGX_HTTP_GUILDLOG_PROBES) {
        return NULL;
    }

    probe = &trouble->probes[trouble->n++];
    probe->call = call;

    return probe;
}


void
ngx_http_guildlog_trouble_ask_start(ngx_http_guildlog_call_t *call,
    ngx_msec_t ms)
{
    ngx_uint_t                    i;
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = call->trouble;
    trouble->pending = trouble->n;
    trouble->until = ngx_current_msec + ms;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog trouble: %ui questions wait for %M ms at most",
                   trouble->n, ms);

    for (i = 0; i < trouble->n; i++) {
        trouble->probes[i].waits = 1;
        ngx_guildlog_quota_want(&ngx_http_guildlog_worker.stats,
                                NGX_GUILDLOG_ASKS_REPORT);
    }

    ngx_add_timer(&trouble->timer, TROUBLE_ASK_WAIT);
}


static void
trouble_ask_handler(ngx_event_t *ev)
{
    ngx_http_guildlog_trouble_t *trouble = ev->data;

    ngx_uint_t                  i, waiting;
    ngx_msec_int_t              left;
    ngx_http_guildlog_probe_t  *probe;

    left = (ngx_msec_int_t) (trouble->until - ngx_current_msec);
    waiting = 0;

    for (i = 0; i < trouble->n; i++) {
        probe = &trouble->probes[i];

        if (!probe->waits) {
            continue;
        }

        if (left <= 0) {
            probe->waits = 0;
            ngx_guildlog_quota_give_up(&ngx_http_guildlog_worker.stats,
                                       NGX_GUILDLOG_ASKS_REPORT);
            trouble_ask_unsent(probe, "local_rate_limit",
                       "the requests this machine may send were used up");
            continue;
        }

        if (ngx_guildlog_quota_take(&ngx_http_guildlog_worker.stats,
                                    NGX_GUILDLOG_ASKS_REPORT))
        {
            probe->waits = 0;
            trouble_ask_send(probe, left);
            continue;
        }

        waiting = 1;
    }

    if (trouble->pending == 0) {
        trouble_ask_finish(trouble->call);

    } else if (waiting) {
        ngx_add_timer(&trouble->timer, TROUBLE_ASK_WAIT);
    }
}


static void
trouble_ask_send(ngx_http_guildlog_probe_t *probe, ngx_msec_t ms)
{
    ngx_str_t                            none;
    ngx_uint_t                           bot;
    const ngx_str_t                     *authorization;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_http_guildlog_trouble_ask_conf(probe->call);

    ngx_str_null(&none);
    authorization = &none;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP,
                   probe->call->request->connection->log, 0,
                   "guildlog trouble: question for channel %V is sent, "
                   "%M ms left", &probe->channel, ms);

    if (probe->request.bot) {
        bot = probe->call->args[NGX_HTTP_GUILDLOG_PROBE_BOT].data[0] - '0';
        authorization = &conf->bots[bot];
    }

    probe->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          probe->request.method, &probe->request.path,
                          authorization, &probe->request.type,
                          &probe->request.body, ms, trouble_ask_answered,
                          probe);

    if (probe->exchange == NULL) {
        trouble_ask_unsent(probe, "unknown",
                      "the request could not be sent from this machine");
    }
}


static void
trouble_ask_answered(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_http_guildlog_probe_t *probe = data;

    ngx_int_t                      scope;
    ngx_guildlog_verdict_t         verdict;
    ngx_guildlog_stats_shared_t   *shared;
    ngx_http_guildlog_trouble_t   *trouble;

    trouble = probe->call->trouble;
    shared = ngx_http_guildlog_worker.stats.shared;

    probe->exchange = NULL;

    ngx_guildlog_verdict(probe->call->request->pool, answer,
                         trouble->asks, &verdict);

    scope = verdict.class == NGX_GUILDLOG_VERDICT_LIMITED
            ? (ngx_int_t) verdict.scope : -1;

    ngx_guildlog_traffic_call(&shared->traffic, trouble->asks, verdict.class,
                              scope, answer->status);
    ngx_guildlog_pace_told(&shared->pace, ngx_current_msec, verdict.failed,
                           verdict.invalid, verdict.pause_ms);

    probe->status = answer->status;
    probe->time_ms = answer->time_ms;

    trouble->judge(probe, answer, &verdict);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, probe->call->request->connection->log, 0,
                   "guildlog trouble: channel %V: status %ui, %s",
                   &probe->channel, probe->status, probe->result);

    trouble->refused += verdict.refused;

    if (--trouble->pending == 0) {
        trouble_ask_finish(probe->call);
    }
}


static void
trouble_ask_unsent(ngx_http_guildlog_probe_t *probe, const char *result,
    const char *detail)
{
    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, probe->call->request->connection->log, 0,
                   "guildlog trouble: channel %V: not asked, %s",
                   &probe->channel, result);

    probe->result = result;
    probe->detail = detail;
    probe->call->trouble->pending--;
}


/* called from the event loop, as the handler of a result is */

static void
trouble_ask_finish(ngx_http_guildlog_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_http_guildlog_call_finish(r, call->trouble->done(call));
}


json_t *
ngx_http_guildlog_trouble_ask_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  body, error;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1
        || ngx_guildlog_db_result_number(result, 0, 0) == NGX_HTTP_UNAUTHORIZED)
    {
        return NULL;
    }

    body = ngx_guildlog_db_result_value(result, 0, 1);

    return ngx_guildlog_json_parse(call->request->pool, &body, &error);
}
