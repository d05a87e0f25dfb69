
/*
 * GET /troubleshoot, and POST /troubleshoot/test-log: between two words of
 * the database the platform is asked, for each log channel or to take a
 * message.  What it all means, the database says.
 */

#include "ngx_http_guildlog.h"
#include "ngx_guildlog_json.h"
#include "ngx_guildlog_platform.h"


#define NGX_HTTP_GUILDLOG_PROBES         25     /* channels a report */
#define NGX_HTTP_GUILDLOG_PROBE_MS       5000
#define NGX_HTTP_GUILDLOG_TEST_MS        10000

/* arguments of troubleshoot_get: behind them, the bot's id and the answers */
#define NGX_HTTP_GUILDLOG_ASK_ARGS       4
#define NGX_HTTP_GUILDLOG_REPORT_ARGS    7
#define NGX_HTTP_GUILDLOG_ARG_BOT        2
#define NGX_HTTP_GUILDLOG_ARG_LIVE       4
#define NGX_HTTP_GUILDLOG_ARG_BOT_ID     5
#define NGX_HTTP_GUILDLOG_ARG_PROBES     6


typedef struct {
    ngx_http_guildlog_call_t      *call;
    ngx_guildlog_exchange_t       *exchange;   /* NULL: not under way */
    ngx_str_t                      channel;
    ngx_str_t                      result;
    ngx_array_t                   *webhooks;   /* NULL: none were told */
} ngx_http_guildlog_probe_t;


struct ngx_http_guildlog_trouble_s {
    ngx_http_guildlog_probe_t      probes[NGX_HTTP_GUILDLOG_PROBES];
    ngx_uint_t                     n;
    ngx_uint_t                     pending;
    unsigned                       asked:1;
};


typedef struct {
    ngx_guildlog_platform_class_e  class;
    const char                    *stage;
} ngx_http_guildlog_stage_t;


static const ngx_guildlog_delivery_conf_t *ngx_http_guildlog_trouble_conf(
    ngx_http_guildlog_call_t *call);
static ngx_http_guildlog_trouble_t *ngx_http_guildlog_trouble_create(
    ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_trouble_cleanup(void *data);
static json_t *ngx_http_guildlog_trouble_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result);
static ngx_int_t ngx_http_guildlog_probe(ngx_http_guildlog_call_t *call,
    json_t *channel);
static ngx_int_t ngx_http_guildlog_probe_send(
    ngx_http_guildlog_call_t *call, ngx_http_guildlog_probe_t *probe);
static void ngx_http_guildlog_probed(void *data,
    ngx_guildlog_answer_t *answer);
static ngx_int_t ngx_http_guildlog_report(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_test_send(ngx_http_guildlog_call_t *call,
    json_t *send);
static ngx_int_t ngx_http_guildlog_test_post(ngx_http_guildlog_call_t *call,
    json_t *send);
static void ngx_http_guildlog_tested(void *data,
    ngx_guildlog_answer_t *answer);
static ngx_int_t ngx_http_guildlog_test_result(
    ngx_http_guildlog_call_t *call, const char *stage, ngx_uint_t status,
    const char *detail, ngx_uint_t time_ms);
static ngx_int_t ngx_http_guildlog_test_again(ngx_http_guildlog_call_t *call,
    json_t *word);
static ngx_str_t ngx_http_guildlog_json_text(json_t *json, const char *name);
static void ngx_http_guildlog_trouble_finish(ngx_http_guildlog_call_t *call,
    ngx_int_t rc);


/* the others are "unknown" */

static const ngx_http_guildlog_stage_t  ngx_http_guildlog_stages[] = {
    { NGX_GUILDLOG_PLATFORM_DONE, "delivered" },
    { NGX_GUILDLOG_PLATFORM_DOUBT, "request_timeout_or_network" },
    { NGX_GUILDLOG_PLATFORM_AGAIN, "request_timeout_or_network" },
    { NGX_GUILDLOG_PLATFORM_LIMITED, "rate_limited" },
    { NGX_GUILDLOG_PLATFORM_BLOCKED, "rate_limited" },
    { NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE, "webhook_404" },
    { NGX_GUILDLOG_PLATFORM_FORBIDDEN, "forbidden" }
};


/* whom to ask; NULL: nobody, this nginx does not deliver for that database */

static const ngx_guildlog_delivery_conf_t *
ngx_http_guildlog_trouble_conf(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_get_module_main_conf(call->request,
                                         ngx_http_guildlog_module);

    if (!gmcf->delivers || gmcf->delivers_to != call->conf->database) {
        return NULL;
    }

    return gmcf->delivery;
}


ngx_int_t
ngx_http_guildlog_troubleshoot_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                           *args;
    ngx_uint_t                           bot;
    const ngx_guildlog_delivery_conf_t  *conf;

    args = call->args;

    ngx_str_null(&args[NGX_HTTP_GUILDLOG_ARG_BOT_ID]);
    ngx_str_null(&args[NGX_HTTP_GUILDLOG_ARG_PROBES]);

    bot = args[NGX_HTTP_GUILDLOG_ARG_BOT].data[0] - '0';
    conf = ngx_http_guildlog_trouble_conf(call);

    if (conf && conf->applications[bot].len) {
        args[NGX_HTTP_GUILDLOG_ARG_BOT_ID] = conf->applications[bot];
    }

    if (conf == NULL || conf->bots[bot].len == 0
        || args[NGX_HTTP_GUILDLOG_ARG_LIVE].data[0] == '0')
    {
        call->nargs = NGX_HTTP_GUILDLOG_REPORT_ARGS;

        return ngx_http_guildlog_ask(call, call->route->stmt);
    }

    call->trouble = ngx_http_guildlog_trouble_create(call);
    if (call->trouble == NULL) {
        return NGX_ERROR;
    }

    call->nargs = NGX_HTTP_GUILDLOG_ASK_ARGS;

    return ngx_http_guildlog_ask(call,
                   &ngx_guildlog_stmts[ngx_guildlog_stmt_troubleshoot_ask]);
}


static ngx_http_guildlog_trouble_t *
ngx_http_guildlog_trouble_create(ngx_http_guildlog_call_t *call)
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

    cln->handler = ngx_http_guildlog_trouble_cleanup;
    cln->data = trouble;

    return trouble;
}


static void
ngx_http_guildlog_trouble_cleanup(void *data)
{
    ngx_http_guildlog_trouble_t *trouble = data;

    ngx_uint_t  i;

    for (i = 0; i < trouble->n; i++) {
        if (trouble->probes[i].exchange) {
            ngx_guildlog_exchange_cancel(trouble->probes[i].exchange);
            trouble->probes[i].exchange = NULL;
        }
    }
}


ngx_int_t
ngx_http_guildlog_troubleshoot_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result)
{
    size_t   i;
    json_t  *channels;

    if (call->trouble == NULL || call->trouble->asked) {
        return ngx_http_guildlog_send_result(call, result);
    }

    channels = ngx_http_guildlog_trouble_word(call, result);

    if (!json_is_array(channels)) {
        return ngx_http_guildlog_send_result(call, result);
    }

    call->trouble->asked = 1;

    for (i = 0; i < json_array_size(channels)
                && i < NGX_HTTP_GUILDLOG_PROBES; i++)
    {
        if (ngx_http_guildlog_probe(call, json_array_get(channels, i))
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return call->trouble->pending ? NGX_BUSY : ngx_http_guildlog_report(call);
}


/* what the database said to go on with; NULL: its answer is the answer */

static json_t *
ngx_http_guildlog_trouble_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result)
{
    ngx_str_t  status, body, error;

    if (result->outcome != NGX_GUILDLOG_ROWS || result->rows != 1) {
        return NULL;
    }

    status = ngx_guildlog_result_value(result, 0, 0);
    body = ngx_guildlog_result_value(result, 0, 1);

    if (status.len == 3 && ngx_strncmp(status.data, "401", 3) == 0) {
        return NULL;
    }

    return ngx_guildlog_json_parse(call->request->pool, &body, &error);
}


static ngx_int_t
ngx_http_guildlog_probe(ngx_http_guildlog_call_t *call, json_t *channel)
{
    ngx_http_guildlog_probe_t  *probe;

    probe = &call->trouble->probes[call->trouble->n];

    probe->call = call;
    probe->channel = ngx_http_guildlog_json_text(channel, NULL);
    ngx_str_set(&probe->result, "unreached");

    if (ngx_http_guildlog_probe_send(call, probe) != NGX_OK) {
        return NGX_ERROR;
    }

    call->trouble->n++;
    call->trouble->pending++;

    return NGX_OK;
}


static ngx_int_t
ngx_http_guildlog_probe_send(ngx_http_guildlog_call_t *call,
    ngx_http_guildlog_probe_t *probe)
{
    ngx_uint_t                           bot;
    ngx_guildlog_platform_request_t      request;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_http_guildlog_trouble_conf(call);
    bot = call->args[NGX_HTTP_GUILDLOG_ARG_BOT].data[0] - '0';

    if (ngx_guildlog_platform_list(call->request->pool, &probe->channel,
                                   &request)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    probe->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          request.method, &request.path, &conf->bots[bot],
                          &request.body, NGX_HTTP_GUILDLOG_PROBE_MS,
                          ngx_http_guildlog_probed, probe);

    return probe->exchange ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_guildlog_probed(void *data, ngx_guildlog_answer_t *answer)
{
    ngx_http_guildlog_probe_t *probe = data;

    ngx_pool_t                *pool;
    ngx_guildlog_verdict_t     verdict;
    ngx_http_guildlog_call_t  *call;

    call = probe->call;
    pool = call->request->pool;
    probe->exchange = NULL;

    ngx_guildlog_platform_judge(pool, answer, NGX_GUILDLOG_CALL_LIST,
                                &verdict);

    switch (verdict.class) {

    case NGX_GUILDLOG_PLATFORM_DONE:
        probe->webhooks = answer->cut ? NULL
                          : ngx_guildlog_platform_webhooks(pool,
                                                           &answer->body);
        if (probe->webhooks) {
            ngx_str_set(&probe->result, "ok");
        } else {
            ngx_str_set(&probe->result, "response_unreadable");
        }

        break;

    case NGX_GUILDLOG_PLATFORM_CHANNEL_GONE:
        ngx_str_set(&probe->result, "channel_gone");
        break;

    case NGX_GUILDLOG_PLATFORM_FORBIDDEN:
        ngx_str_set(&probe->result, "forbidden");
        break;

    default:
        probe->result.data = (u_char *) verdict.reason;
        probe->result.len = ngx_strlen(verdict.reason);
    }

    if (--call->trouble->pending == 0) {
        ngx_http_guildlog_trouble_finish(call,
                                         ngx_http_guildlog_report(call));
    }
}


/* NGX_BUSY, or what finalizes the request */

static ngx_int_t
ngx_http_guildlog_report(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                         rc;
    ngx_str_t                        *arg;
    ngx_uint_t                        i, n;
    ngx_guildlog_json_t               w;
    ngx_http_guildlog_probe_t        *probe;
    ngx_guildlog_platform_webhook_t  *webhook;

    ngx_guildlog_json_init(&w, call->request->pool, 1024);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < call->trouble->n; i++) {
        probe = &call->trouble->probes[i];

        ngx_guildlog_json_begin(&w, '{');
        ngx_guildlog_json_key(&w, "channelId");
        ngx_guildlog_json_string(&w, &probe->channel);
        ngx_guildlog_json_key(&w, "result");
        ngx_guildlog_json_string(&w, &probe->result);

        if (probe->webhooks) {
            ngx_guildlog_json_key(&w, "webhooks");
            ngx_guildlog_json_begin(&w, '[');

            webhook = probe->webhooks->elts;

            for (n = 0; n < probe->webhooks->nelts; n++) {
                ngx_guildlog_json_string(&w, &webhook[n].id);
            }

            ngx_guildlog_json_end(&w);
        }

        ngx_guildlog_json_end(&w);
    }

    ngx_guildlog_json_end(&w);

    if (w.failed) {
        return NGX_ERROR;
    }

    arg = &call->args[NGX_HTTP_GUILDLOG_ARG_PROBES];
    arg->data = w.start;
    arg->len = w.pos - w.start;

    call->nargs = NGX_HTTP_GUILDLOG_REPORT_ARGS;

    rc = ngx_http_guildlog_ask(call, call->route->stmt);

    return rc == NGX_AGAIN ? NGX_BUSY : rc;
}


ngx_int_t
ngx_http_guildlog_test_start(ngx_http_guildlog_call_t *call)
{
    call->trouble = ngx_http_guildlog_trouble_create(call);
    if (call->trouble == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_ask(call, call->route->stmt);
}


ngx_int_t
ngx_http_guildlog_test_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result)
{
    json_t  *word, *send;

    word = ngx_http_guildlog_trouble_word(call, result);

    send = json_object_get(word, "send");
    if (send) {
        return ngx_http_guildlog_test_send(call, send);
    }

    if (json_object_get(word, "retryAfter")) {
        return ngx_http_guildlog_test_again(call, word);
    }

    return ngx_http_guildlog_send_result(call, result);
}


static ngx_int_t
ngx_http_guildlog_test_send(ngx_http_guildlog_call_t *call, json_t *send)
{
    ngx_http_guildlog_probe_t  *probe;

    probe = &call->trouble->probes[0];

    probe->call = call;
    probe->channel = ngx_http_guildlog_json_text(send, "channelId");

    if (ngx_http_guildlog_test_post(call, send) == NGX_OK) {
        call->trouble->n = 1;
        return NGX_BUSY;
    }

    return ngx_http_guildlog_test_result(call, "unknown", 0,
                       "the message could not be sent from this machine", 0);
}


static ngx_int_t
ngx_http_guildlog_test_post(ngx_http_guildlog_call_t *call, json_t *send)
{
    ngx_str_t                            none, lane, webhook, secret, token;
    ngx_str_t                            message;
    ngx_pool_t                          *pool;
    ngx_http_guildlog_probe_t           *probe;
    ngx_guildlog_platform_request_t      request;
    const ngx_guildlog_delivery_conf_t  *conf;

    pool = call->request->pool;
    probe = &call->trouble->probes[0];

    ngx_str_null(&none);
    lane = ngx_http_guildlog_json_text(send, "lane");
    webhook = ngx_http_guildlog_json_text(send, "webhookId");
    secret = ngx_http_guildlog_json_text(send, "secret");
    message = ngx_http_guildlog_json_text(send, "message");

    conf = ngx_http_guildlog_trouble_conf(call);

    if (conf == NULL
        || ngx_guildlog_secret_open(pool, conf->key, &lane, &secret, &token)
           != NGX_OK
        || ngx_guildlog_platform_execute(pool, &webhook, &token, &none,
                                         &request)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    probe->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          request.method, &request.path, &none, &message,
                          NGX_HTTP_GUILDLOG_TEST_MS,
                          ngx_http_guildlog_tested, probe);

    return probe->exchange ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_guildlog_tested(void *data, ngx_guildlog_answer_t *answer)
{
    ngx_http_guildlog_probe_t *probe = data;

    ngx_uint_t                 i;
    const char                *stage;
    ngx_guildlog_verdict_t     verdict;
    ngx_http_guildlog_call_t  *call;

    call = probe->call;
    probe->exchange = NULL;

    ngx_guildlog_platform_judge(call->request->pool, answer,
                                NGX_GUILDLOG_CALL_EXECUTE, &verdict);

    stage = "unknown";

    for (i = 0; i < sizeof(ngx_http_guildlog_stages)
                    / sizeof(ngx_http_guildlog_stage_t); i++)
    {
        if (ngx_http_guildlog_stages[i].class == verdict.class) {
            stage = ngx_http_guildlog_stages[i].stage;
        }
    }

    ngx_http_guildlog_trouble_finish(call,
        ngx_http_guildlog_test_result(call, stage, answer->status,
                                      verdict.reason, answer->time_ms));
}


static ngx_int_t
ngx_http_guildlog_test_result(ngx_http_guildlog_call_t *call,
    const char *stage, ngx_uint_t status, const char *detail,
    ngx_uint_t time_ms)
{
    ngx_str_t             text;
    ngx_guildlog_json_t   w;

    ngx_guildlog_json_init(&w, call->request->pool, 256);
    ngx_guildlog_json_begin(&w, '{');

    ngx_guildlog_json_key(&w, "ok");
    ngx_guildlog_json_bool(&w, ngx_strcmp(stage, "delivered") == 0);

    ngx_guildlog_json_key(&w, "stage");
    text.data = (u_char *) stage;
    text.len = ngx_strlen(stage);
    ngx_guildlog_json_string(&w, &text);

    ngx_guildlog_json_key(&w, "channelId");
    ngx_guildlog_json_string(&w, &call->trouble->probes[0].channel);

    ngx_guildlog_json_key(&w, "httpStatus");

    if (status) {
        ngx_guildlog_json_number(&w, status);
    } else {
        ngx_guildlog_json_null(&w);
    }

    ngx_guildlog_json_key(&w, "detail");
    text.data = (u_char *) detail;
    text.len = ngx_strlen(detail);
    ngx_guildlog_json_string(&w, &text);

    ngx_guildlog_json_key(&w, "latencyMs");
    ngx_guildlog_json_number(&w, time_ms);

    ngx_guildlog_json_end(&w);

    if (w.failed) {
        return NGX_ERROR;
    }

    text.data = w.start;
    text.len = w.pos - w.start;

    return ngx_http_guildlog_send_json(call->request, NGX_HTTP_OK, &text);
}


static ngx_int_t
ngx_http_guildlog_test_again(ngx_http_guildlog_call_t *call, json_t *word)
{
    ngx_str_t            error, after;
    ngx_http_request_t  *r;

    r = call->request;

    after.data = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (after.data == NULL) {
        return NGX_ERROR;
    }

    after.len = ngx_sprintf(after.data, "%L", (int64_t) json_integer_value(
                                json_object_get(word, "retryAfter")))
                - after.data;

    if (ngx_http_guildlog_set_header(r, "Retry-After", &after) == NULL) {
        return NGX_ERROR;
    }

    error = ngx_http_guildlog_json_text(word, "error");

    return ngx_http_guildlog_send_error(r, NGX_HTTP_TOO_MANY_REQUESTS,
                                        &error);
}


/* of the value itself, or of that field; lives as long as the tree */

static ngx_str_t
ngx_http_guildlog_json_text(json_t *json, const char *name)
{
    ngx_str_t  text;

    json = name ? json_object_get(json, name) : json;

    text.data = (u_char *) json_string_value(json);
    text.len = json_string_length(json);

    return text;
}


/* from the event loop: what ngx_http_guildlog_done() does with a result */

static void
ngx_http_guildlog_trouble_finish(ngx_http_guildlog_call_t *call,
    ngx_int_t rc)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = call->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    if (rc != NGX_BUSY) {
        ngx_http_finalize_request(r, rc);
    }

    ngx_http_run_posted_requests(c);
}
