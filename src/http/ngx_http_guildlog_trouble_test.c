
/*
 * POST /troubleshoot/test-log sends a message to a log channel and tells the
 * result.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_trouble_ask.h"


#define TROUBLE_TEST_MS  10000


typedef struct {
    ngx_guildlog_verdict_class_e   class;
    const char                    *stage;
} trouble_test_stage_t;


static ngx_int_t trouble_test_send(ngx_http_guildlog_call_t *call,
    json_t *send);
static ngx_int_t trouble_test_build(ngx_http_guildlog_probe_t *probe,
    json_t *send);
static void trouble_test_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);
static ngx_int_t trouble_test_count(ngx_http_guildlog_call_t *call);
static ngx_int_t trouble_test_result(ngx_http_guildlog_call_t *call);
static void trouble_test_word(ngx_guildlog_json_t *w, const char *key,
    const char *word);
static ngx_int_t trouble_test_again(ngx_http_guildlog_call_t *call,
    json_t *word);


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
ngx_http_guildlog_trouble_test_start(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_trouble_t  *trouble;

    trouble = ngx_http_guildlog_trouble_ask_create(call);
    if (trouble == NULL) {
        return NGX_ERROR;
    }

    trouble->asks = NGX_GUILDLOG_CALL_EXECUTE;
    trouble->judge = trouble_test_judge;
    trouble->done = trouble_test_count;

    return ngx_http_guildlog_call_ask(call, call->route->stmt);
}


ngx_int_t
ngx_http_guildlog_trouble_test_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    json_t  *word, *send;

    if (call->trouble->asked) {
        return trouble_test_result(call);
    }

    word = ngx_http_guildlog_trouble_ask_word(call, result);

    send = json_object_get(word, "send");
    if (send) {
        return trouble_test_send(call, send);
    }

    if (json_object_get(word, "retryAfter")) {
        return trouble_test_again(call, word);
    }

    return ngx_http_guildlog_response_result(call, result);
}


static ngx_int_t
trouble_test_send(ngx_http_guildlog_call_t *call, json_t *send)
{
    ngx_http_guildlog_probe_t  *probe;

    probe = ngx_http_guildlog_trouble_ask_add(call);

    probe->channel = ngx_guildlog_json_text(json_object_get(send, "channelId"));

    if (trouble_test_build(probe, send) == NGX_OK) {
        ngx_http_guildlog_trouble_ask_start(call, TROUBLE_TEST_MS);
        return NGX_BUSY;
    }

    probe->result = "unknown";
    probe->detail = "the message could not be sent from this machine";

    return trouble_test_result(call);
}


static ngx_int_t
trouble_test_build(ngx_http_guildlog_probe_t *probe, json_t *send)
{
    ngx_str_t                            lane, webhook, secret, token, message;
    ngx_pool_t                          *pool;
    const ngx_guildlog_delivery_conf_t  *conf;

    pool = probe->call->request->pool;

    lane = ngx_guildlog_json_text(json_object_get(send, "lane"));
    webhook = ngx_guildlog_json_text(json_object_get(send, "webhookId"));
    secret = ngx_guildlog_json_text(json_object_get(send, "secret"));
    message = ngx_guildlog_json_text(json_object_get(send, "message"));

    conf = ngx_http_guildlog_trouble_ask_conf(probe->call);

    if (conf == NULL
        || ngx_guildlog_seal_open(pool, conf->key, &lane, &secret, &token)
           != NGX_OK
        || ngx_guildlog_platform_call(pool, NGX_GUILDLOG_CALL_EXECUTE, &webhook,
                                      &token, &probe->request)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    probe->request.body.data = ngx_pstrdup(pool, &message);
    probe->request.body.len = message.len;

    return probe->request.body.data ? NGX_OK : NGX_ERROR;
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
    ngx_int_t  rc;

    if (call->trouble->refused == 0) {
        return trouble_test_result(call);
    }

    call->trouble->asked = 1;

    call->args[0] = call->args[NGX_HTTP_GUILDLOG_PROBE_GUILD];
    ngx_str_set(&call->args[1], "1");
    call->nargs = 2;

    rc = ngx_http_guildlog_call_ask(call,
                       &ngx_guildlog_stmts[ngx_guildlog_stmt_refusals_told]);

    return rc == NGX_AGAIN ? NGX_BUSY : rc;
}


static ngx_int_t
trouble_test_result(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                   text;
    ngx_guildlog_json_t         w;
    ngx_http_guildlog_probe_t  *probe;

    probe = &call->trouble->probes[0];

    ngx_guildlog_json_init(&w, call->request->pool, 256);
    ngx_guildlog_json_begin(&w, '{');

    ngx_guildlog_json_key(&w, "ok");
    ngx_guildlog_json_bool(&w, ngx_strcmp(probe->result, "delivered") == 0);

    trouble_test_word(&w, "stage", probe->result);

    ngx_guildlog_json_key(&w, "channelId");
    ngx_guildlog_json_string(&w, &probe->channel);

    ngx_guildlog_json_key(&w, "httpStatus");

    if (probe->status) {
        ngx_guildlog_json_number(&w, probe->status);
    } else {
        ngx_guildlog_json_null(&w);
    }

    trouble_test_word(&w, "detail", probe->detail);

    ngx_guildlog_json_key(&w, "latencyMs");
    ngx_guildlog_json_number(&w, probe->time_ms);

    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &text) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &text);
}


static void
trouble_test_word(ngx_guildlog_json_t *w, const char *key, const char *word)
{
    ngx_str_t  text;

    text.data = (u_char *) word;
    text.len = ngx_strlen(word);

    ngx_guildlog_json_key(w, key);
    ngx_guildlog_json_string(w, &text);
}


static ngx_int_t
trouble_test_again(ngx_http_guildlog_call_t *call, json_t *word)
{
    ngx_str_t   error;
    json_int_t  after;

    after = json_integer_value(json_object_get(word, "retryAfter"));

    if (ngx_http_guildlog_response_header_number(call->request, "Retry-After",
                                                 after)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    error = ngx_guildlog_json_text(json_object_get(word, "error"));

    return ngx_http_guildlog_response_error(call->request,
                                            NGX_HTTP_TOO_MANY_REQUESTS, &error);
}
