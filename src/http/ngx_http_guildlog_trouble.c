
/*
 * GET /troubleshoot.  The database lists the log channels, the platform is
 * asked about each of them, and the database makes the report of the answers.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_ask.h"


#define TROUBLE_PROBE_MS       5000

/*
 * troubleshoot_ask has the first four arguments, troubleshoot_get also the
 * bot's id and the answers, troubleshoot_report also the number of refusals.
 */
#define TROUBLE_ASK_ARGS       4
#define TROUBLE_GET_ARGS       7
#define TROUBLE_REPORT_ARGS    8
#define TROUBLE_ARG_LIVE       4
#define TROUBLE_ARG_BOT_ID     5
#define TROUBLE_ARG_PROBES     6
#define TROUBLE_ARG_REFUSED    7


#define TROUBLE_TEST_MS  10000


#define PROBES       25   /* a request */
#define PROBE_GUILD  1    /* of the call's arguments */


typedef struct {
    ngx_http_guildlog_call_t         *call;
    ngx_http_guildlog_ask_t           ask;
    ngx_str_t                         channel;
    const char                       *result;    /* a word */
    const char                       *detail;
    ngx_uint_t                        status;    /* 0: none came */
    ngx_uint_t                        time_ms;
    ngx_array_t                      *webhooks;  /* NULL: none were told */
} ngx_http_guildlog_probe_t;


/* sets probe->result, and what else it needs of the answer */
typedef void (*ngx_http_guildlog_probe_pt)(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);

/* all are answered: returns as the handler of a result */
typedef ngx_int_t (*ngx_http_guildlog_probes_pt)(
    ngx_http_guildlog_call_t *call);


struct ngx_http_guildlog_trouble_s {
    ngx_http_guildlog_probe_t      probes[PROBES];
    ngx_uint_t                     n;
    ngx_uint_t                     pending;
    ngx_uint_t                     refused;  /* how many the platform refused */
    ngx_guildlog_platform_call_e   asks;
    ngx_http_guildlog_probe_pt     judge;
    ngx_http_guildlog_probes_pt    done;
};


typedef struct {
    ngx_guildlog_verdict_class_e   class;
    const char                    *stage;
} trouble_test_stage_t;


static ngx_int_t trouble_asked(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static void trouble_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);
static ngx_uint_t trouble_is_elsewhere(ngx_http_guildlog_probe_t *probe);
static ngx_int_t trouble_report(ngx_http_guildlog_call_t *call);
static const ngx_guildlog_delivery_conf_t *trouble_ask_conf(
    ngx_http_guildlog_call_t *call);
static ngx_http_guildlog_trouble_t *trouble_ask_create(
    ngx_http_guildlog_call_t *call);
static void trouble_ask_cleanup(void *data);
static ngx_http_guildlog_probe_t *trouble_ask_add(
    ngx_http_guildlog_call_t *call);
static void trouble_ask_start(ngx_http_guildlog_call_t *call, ngx_msec_t ms);
static void trouble_ask_answered(void *data,
    ngx_guildlog_client_response_t *answer, const char *phrase);
static json_t *trouble_ask_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t trouble_test_asked(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t trouble_test_build(ngx_http_guildlog_probe_t *probe,
    json_t *send);
static void trouble_test_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);
static ngx_int_t trouble_test_count(ngx_http_guildlog_call_t *call);
static ngx_int_t trouble_test_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static void trouble_word(ngx_guildlog_json_t *w, const char *key,
    const char *word);


/* the stage of a class that is not here is "unknown" */

static const trouble_test_stage_t  trouble_test_stages[] = {
    { NGX_GUILDLOG_VERDICT_DONE, "delivered" },
    { NGX_GUILDLOG_VERDICT_DOUBT, "request_timeout_or_network" },
    { NGX_GUILDLOG_VERDICT_AGAIN, "request_timeout_or_network" },
    { NGX_GUILDLOG_VERDICT_LIMITED, "rate_limited" },
    { NGX_GUILDLOG_VERDICT_WEBHOOK_GONE, "webhook_404" },
    { NGX_GUILDLOG_VERDICT_FORBIDDEN, "forbidden" }
};


ngx_int_t
ngx_http_guildlog_troubleshoot_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                           *args;
    ngx_uint_t                           bot;
    ngx_http_guildlog_trouble_t         *trouble;
    const ngx_guildlog_delivery_conf_t  *conf;

    args = call->args;

    ngx_str_null(&args[TROUBLE_ARG_BOT_ID]);
    ngx_str_null(&args[TROUBLE_ARG_PROBES]);

    bot = args[NGX_HTTP_GUILDLOG_CALL_BOT].data[0] - '0';
    conf = trouble_ask_conf(call);

    if (conf && conf->applications[bot].len) {
        args[TROUBLE_ARG_BOT_ID] = conf->applications[bot];
    }

    if (conf == NULL || conf->bots[bot].len == 0
        || args[TROUBLE_ARG_LIVE].data[0] == '0')
    {
        call->nargs = TROUBLE_GET_ARGS;

        return ngx_http_guildlog_call_ask(call, call->route->stmt,
                                          ngx_http_guildlog_response_result);
    }

    trouble = trouble_ask_create(call);
    if (trouble == NULL) {
        return NGX_ERROR;
    }

    trouble->asks = NGX_GUILDLOG_CALL_LIST;
    trouble->judge = trouble_judge;
    trouble->done = trouble_report;

    call->nargs = TROUBLE_ASK_ARGS;

    return ngx_http_guildlog_call_ask(call,
                                      ngx_guildlog_stmt(troubleshoot_ask),
                                      trouble_asked);
}


/* the channels that the platform is to be asked about */

static ngx_int_t
trouble_asked(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    size_t                      i;
    json_t                     *channels, *channel;
    ngx_http_guildlog_probe_t  *probe;

    channels = trouble_ask_word(call, result);

    if (!json_is_array(channels)) {
        return ngx_http_guildlog_response_result(call, result);
    }

    json_array_foreach(channels, i, channel) {
        probe = trouble_ask_add(call);
        if (probe == NULL) {
            break;
        }

        probe->channel = ngx_guildlog_json_text(channel);

        if (ngx_guildlog_platform_call(call->request->pool,
                                       NGX_GUILDLOG_CALL_LIST, &probe->channel,
                                       NULL, &probe->ask.request)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (call->trouble->n == 0) {
        return trouble_report(call);
    }

    trouble_ask_start(call, TROUBLE_PROBE_MS);

    return NGX_AGAIN;
}


static void
trouble_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict)
{
    switch (verdict->class) {

    case NGX_GUILDLOG_VERDICT_DONE:
        probe->webhooks = answer->cut ? NULL
                          : ngx_guildlog_platform_webhooks(
                                probe->call->request->pool, verdict->json);

        probe->result = probe->webhooks ? "ok" : "response_unreadable";

        if (trouble_is_elsewhere(probe)) {
            probe->webhooks = NULL;
            probe->result = "foreign_channel";
        }

        break;

    case NGX_GUILDLOG_VERDICT_CHANNEL_GONE:
        probe->result = "channel_gone";
        break;

    case NGX_GUILDLOG_VERDICT_FORBIDDEN:
        probe->result = "forbidden";
        break;

    default:
        probe->result = verdict->reason;
    }
}


/* 1: a webhook of the channel belongs to another guild */

static ngx_uint_t
trouble_is_elsewhere(ngx_http_guildlog_probe_t *probe)
{
    ngx_str_t                        *guild, *told;
    ngx_uint_t                        i;
    ngx_guildlog_platform_webhook_t  *webhook;

    if (probe->webhooks == NULL) {
        return 0;
    }

    guild = &probe->call->args[PROBE_GUILD];
    webhook = probe->webhooks->elts;

    for (i = 0; i < probe->webhooks->nelts; i++) {
        told = &webhook[i].guild_id;

        if (told->len && !ngx_guildlog_str_eq(told, guild)) {
            return 1;
        }
    }

    return 0;
}


static ngx_int_t
trouble_report(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t                        i, j;
    ngx_guildlog_json_t               w;
    ngx_http_guildlog_probe_t        *probe;
    ngx_guildlog_platform_webhook_t  *webhook;

    ngx_guildlog_json_init(&w, call->request->pool, 1024);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < call->trouble->n; i++) {
        probe = &call->trouble->probes[i];

        ngx_guildlog_json_begin(&w, '{');
        ngx_guildlog_json_member(&w, "channelId", &probe->channel);
        trouble_word(&w, "result", probe->result);

        if (probe->webhooks) {
            ngx_guildlog_json_key(&w, "webhooks");
            ngx_guildlog_json_begin(&w, '[');

            webhook = probe->webhooks->elts;

            for (j = 0; j < probe->webhooks->nelts; j++) {
                ngx_guildlog_json_string(&w, &webhook[j].id);
            }

            ngx_guildlog_json_end(&w);
        }

        ngx_guildlog_json_end(&w);
    }

    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &call->args[TROUBLE_ARG_PROBES])
        != NGX_OK
        || ngx_guildlog_print(call->request->pool,
                              &call->args[TROUBLE_ARG_REFUSED], "%ui",
                              call->trouble->refused)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    call->nargs = TROUBLE_REPORT_ARGS;

    return ngx_http_guildlog_call_ask(call,
                                      ngx_guildlog_stmt(troubleshoot_report),
                                      ngx_http_guildlog_response_result);
}


/*
 * Questions that a request asks the platform.
 */

/* NULL: this nginx does not deliver for the database of the call */

static const ngx_guildlog_delivery_conf_t *
trouble_ask_conf(ngx_http_guildlog_call_t *call)
{
    const ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_get_module_main_conf(call->request,
                                         ngx_http_guildlog_module);

    return call->conf->database->delivered ? &gmcf->delivery : NULL;
}


/* NULL: out of memory; the caller sets asks, judge and done */

static ngx_http_guildlog_trouble_t *
trouble_ask_create(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = ngx_pcalloc(call->request->pool,
                          sizeof(ngx_http_guildlog_trouble_t));
    if (trouble == NULL
        || ngx_http_guildlog_call_at_end(call->request, trouble_ask_cleanup,
                                         trouble)
           != NGX_OK)
    {
        return NULL;
    }

    call->trouble = trouble;

    return trouble;
}


static void
trouble_ask_cleanup(void *data)
{
    ngx_http_guildlog_trouble_t *trouble = data;

    ngx_uint_t  i;

    for (i = 0; i < trouble->n; i++) {
        ngx_http_guildlog_ask_cancel(&trouble->probes[i].ask);
    }
}


/* the next one, for the caller to fill; NULL: there are as many as may be */

static ngx_http_guildlog_probe_t *
trouble_ask_add(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_probe_t    *probe;
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = call->trouble;

    if (trouble->n == PROBES) {
        return NULL;
    }

    probe = &trouble->probes[trouble->n++];
    probe->call = call;

    return probe;
}


/* asks; "local_rate_limit" is the result of a question not sent within ms */

static void
trouble_ask_start(ngx_http_guildlog_call_t *call, ngx_msec_t ms)
{
    ngx_uint_t                           i, bot;
    ngx_http_guildlog_ask_t             *ask;
    ngx_http_guildlog_trouble_t         *trouble;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = trouble_ask_conf(call);
    bot = call->args[NGX_HTTP_GUILDLOG_CALL_BOT].data[0] - '0';

    trouble = call->trouble;
    trouble->pending = trouble->n;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog trouble: %ui questions wait for %M ms at most",
                   trouble->n, ms);

    for (i = 0; i < trouble->n; i++) {
        ask = &trouble->probes[i].ask;

        if (ask->request.bot) {
            ask->authorization = conf->bots[bot];
        }

        ask->who = NGX_GUILDLOG_ASKS_REPORT;
        ask->handler = trouble_ask_answered;
        ask->data = &trouble->probes[i];

        ngx_http_guildlog_ask_start(ask, ms);
    }
}


/* called from the event loop, as the handler of a result is */

static void
trouble_ask_answered(void *data, ngx_guildlog_client_response_t *answer,
    const char *phrase)
{
    ngx_http_guildlog_probe_t *probe = data;

    ngx_int_t                     scope;
    ngx_http_request_t           *r;
    ngx_guildlog_verdict_t        verdict;
    ngx_http_guildlog_trouble_t  *trouble;

    r = probe->call->request;
    trouble = probe->call->trouble;

    if (answer) {
        ngx_guildlog_verdict(r->pool, answer, trouble->asks, &verdict);

        scope = verdict.class == NGX_GUILDLOG_VERDICT_LIMITED
                ? (ngx_int_t) verdict.scope : -1;

        ngx_guildlog_traffic_call(
                         &ngx_http_guildlog_worker.stats.shared->traffic,
                         trouble->asks, verdict.class, scope, answer->status);
        ngx_http_guildlog_ask_told(verdict.failed, verdict.invalid,
                                   verdict.pause_ms);

        probe->status = answer->status;
        probe->time_ms = answer->time_ms;
        trouble->refused += verdict.refused;

        trouble->judge(probe, answer, &verdict);

    } else {
        probe->result = probe->ask.late ? "local_rate_limit" : "unknown";
        probe->detail = phrase;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog trouble: channel %V: status %ui, %s",
                   &probe->channel, probe->status, probe->result);

    if (--trouble->pending) {
        return;
    }

    ngx_http_set_log_request(r->connection->log, r);

    ngx_http_guildlog_call_finish(r, trouble->done(probe->call));
}


/* the body of the result; NULL: the result is the answer of the request */

static json_t *
trouble_ask_word(ngx_http_guildlog_call_t *call,
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


/*
 * POST /troubleshoot/test-log sends a message to a log channel and tells the
 * result.
 */

ngx_int_t
ngx_http_guildlog_trouble_test_start(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = trouble_ask_create(call);
    if (trouble == NULL) {
        return NGX_ERROR;
    }

    trouble->asks = NGX_GUILDLOG_CALL_EXECUTE;
    trouble->judge = trouble_test_judge;
    trouble->done = trouble_test_count;

    return ngx_http_guildlog_call_ask(call, call->route->stmt,
                                      trouble_test_asked);
}


static ngx_int_t
trouble_test_asked(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    json_t                     *word, *send, *after;
    ngx_str_t                   error;
    ngx_http_guildlog_probe_t  *probe;

    word = trouble_ask_word(call, result);
    send = json_object_get(word, "send");
    after = json_object_get(word, "retryAfter");

    if (send) {
        probe = trouble_ask_add(call);
        probe->channel = ngx_guildlog_json_get(send, "channelId");

        if (trouble_test_build(probe, send) == NGX_OK) {
            trouble_ask_start(call, TROUBLE_TEST_MS);
            return NGX_AGAIN;
        }

        probe->result = "unknown";
        probe->detail = "the message could not be sent from this machine";

        return trouble_test_result(call, NULL);
    }

    if (after == NULL) {
        return ngx_http_guildlog_response_result(call, result);
    }

    if (ngx_http_guildlog_response_header(call->request, "Retry-After", "%L",
                                          json_integer_value(after))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    error = ngx_guildlog_json_get(word, "error");

    return ngx_http_guildlog_response_error(call->request,
                                            NGX_HTTP_TOO_MANY_REQUESTS, &error);
}


static ngx_int_t
trouble_test_build(ngx_http_guildlog_probe_t *probe, json_t *send)
{
    ngx_str_t                            lane, webhook, secret, token, message;
    ngx_pool_t                          *pool;
    const ngx_guildlog_delivery_conf_t  *conf;

    pool = probe->call->request->pool;

    lane = ngx_guildlog_json_get(send, "lane");
    webhook = ngx_guildlog_json_get(send, "webhookId");
    secret = ngx_guildlog_json_get(send, "secret");
    message = ngx_guildlog_json_get(send, "message");

    conf = trouble_ask_conf(probe->call);

    if (conf == NULL
        || ngx_guildlog_seal_open(pool, conf->key, &lane, &secret, &token)
           != NGX_OK
        || ngx_guildlog_platform_call(pool, NGX_GUILDLOG_CALL_EXECUTE, &webhook,
                                      &token, &probe->ask.request)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    probe->ask.request.body.data = ngx_pstrdup(pool, &message);
    probe->ask.request.body.len = message.len;

    return probe->ask.request.body.data ? NGX_OK : NGX_ERROR;
}


static void
trouble_test_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict)
{
    ngx_uint_t  i;

    probe->result = "unknown";
    probe->detail = verdict->reason;

    for (i = 0; i < sizeof(trouble_test_stages)
                    / sizeof(trouble_test_stage_t); i++)
    {
        if (trouble_test_stages[i].class == verdict->class) {
            probe->result = trouble_test_stages[i].stage;
        }
    }
}


/* the database counts a refusal before the request is answered */

static ngx_int_t
trouble_test_count(ngx_http_guildlog_call_t *call)
{
    if (call->trouble->refused == 0) {
        return trouble_test_result(call, NULL);
    }

    call->args[0] = call->args[PROBE_GUILD];
    ngx_str_set(&call->args[1], "1");
    call->nargs = 2;

    return ngx_http_guildlog_call_ask(call, ngx_guildlog_stmt(refusals_told),
                                      trouble_test_result);
}


/* counted or not, the message was sent: no result is looked at */

static ngx_int_t
trouble_test_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t                   text;
    ngx_guildlog_json_t         w;
    ngx_http_guildlog_probe_t  *probe;

    probe = &call->trouble->probes[0];

    ngx_guildlog_json_init(&w, call->request->pool, 256);
    ngx_guildlog_json_begin(&w, '{');

    ngx_guildlog_json_key(&w, "ok");
    ngx_guildlog_json_bool(&w, ngx_strcmp(probe->result, "delivered") == 0);

    trouble_word(&w, "stage", probe->result);

    ngx_guildlog_json_member(&w, "channelId", &probe->channel);

    ngx_guildlog_json_key(&w, "httpStatus");

    if (probe->status) {
        ngx_guildlog_json_number(&w, probe->status);
    } else {
        ngx_guildlog_json_null(&w);
    }

    trouble_word(&w, "detail", probe->detail);

    ngx_guildlog_json_member_number(&w, "latencyMs", probe->time_ms);

    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &text) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &text);
}


static void
trouble_word(ngx_guildlog_json_t *w, const char *key, const char *word)
{
    ngx_str_t  text;

    text = ngx_guildlog_word(word);

    ngx_guildlog_json_member(w, key, &text);
}
