
/*
 * GET /troubleshoot.  The database lists the log channels, the platform is
 * asked about each of them, and the database makes the report of the answers.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_trouble_ask.h"


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


static ngx_int_t trouble_probe(ngx_http_guildlog_call_t *call, json_t *channel);
static void trouble_judge(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);
static ngx_uint_t trouble_is_elsewhere(ngx_http_guildlog_probe_t *probe);
static ngx_int_t trouble_report(ngx_http_guildlog_call_t *call);
static void trouble_report_probe(ngx_guildlog_json_t *w,
    const ngx_http_guildlog_probe_t *probe);


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

    bot = args[NGX_HTTP_GUILDLOG_PROBE_BOT].data[0] - '0';
    conf = ngx_http_guildlog_trouble_ask_conf(call);

    if (conf && conf->applications[bot].len) {
        args[TROUBLE_ARG_BOT_ID] = conf->applications[bot];
    }

    if (conf == NULL || conf->bots[bot].len == 0
        || args[TROUBLE_ARG_LIVE].data[0] == '0')
    {
        call->nargs = TROUBLE_GET_ARGS;

        return ngx_http_guildlog_call_ask(call, call->route->stmt);
    }

    trouble = ngx_http_guildlog_trouble_ask_create(call);
    if (trouble == NULL) {
        return NGX_ERROR;
    }

    trouble->asks = NGX_GUILDLOG_CALL_LIST;
    trouble->judge = trouble_judge;
    trouble->done = trouble_report;

    call->nargs = TROUBLE_ASK_ARGS;

    return ngx_http_guildlog_call_ask(call,
                   &ngx_guildlog_stmts[ngx_guildlog_stmt_troubleshoot_ask]);
}


ngx_int_t
ngx_http_guildlog_troubleshoot_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    size_t   i;
    json_t  *channels;

    if (call->trouble == NULL || call->trouble->asked) {
        return ngx_http_guildlog_response_result(call, result);
    }

    channels = ngx_http_guildlog_trouble_ask_word(call, result);

    if (!json_is_array(channels)) {
        return ngx_http_guildlog_response_result(call, result);
    }

    call->trouble->asked = 1;

    for (i = 0; i < json_array_size(channels); i++) {
        if (trouble_probe(call, json_array_get(channels, i)) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if (call->trouble->n == 0) {
        return trouble_report(call);
    }

    ngx_http_guildlog_trouble_ask_start(call, TROUBLE_PROBE_MS);

    return NGX_BUSY;
}


static ngx_int_t
trouble_probe(ngx_http_guildlog_call_t *call, json_t *channel)
{
    ngx_http_guildlog_probe_t  *probe;

    probe = ngx_http_guildlog_trouble_ask_add(call);
    if (probe == NULL) {
        return NGX_OK;
    }

    probe->channel = ngx_guildlog_json_text(channel);

    return ngx_guildlog_platform_call(call->request->pool,
                                      NGX_GUILDLOG_CALL_LIST, &probe->channel,
                                      NULL, &probe->request);
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


/* 1: a webhook of the channel belongs to another server */

static ngx_uint_t
trouble_is_elsewhere(ngx_http_guildlog_probe_t *probe)
{
    ngx_str_t                        *guild, *told;
    ngx_uint_t                        i;
    ngx_guildlog_platform_webhook_t  *webhook;

    if (probe->webhooks == NULL) {
        return 0;
    }

    guild = &probe->call->args[NGX_HTTP_GUILDLOG_PROBE_GUILD];
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
    ngx_int_t             rc;
    ngx_str_t            *refused;
    ngx_uint_t            i;
    ngx_guildlog_json_t   w;

    ngx_guildlog_json_init(&w, call->request->pool, 1024);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < call->trouble->n; i++) {
        trouble_report_probe(&w, &call->trouble->probes[i]);
    }

    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &call->args[TROUBLE_ARG_PROBES])
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    refused = &call->args[TROUBLE_ARG_REFUSED];

    refused->data = ngx_pnalloc(call->request->pool, NGX_INT_T_LEN);
    if (refused->data == NULL) {
        return NGX_ERROR;
    }

    refused->len = ngx_sprintf(refused->data, "%ui", call->trouble->refused)
                   - refused->data;

    call->nargs = TROUBLE_REPORT_ARGS;

    rc = ngx_http_guildlog_call_ask(call,
                &ngx_guildlog_stmts[ngx_guildlog_stmt_troubleshoot_report]);

    return rc == NGX_AGAIN ? NGX_BUSY : rc;
}


static void
trouble_report_probe(ngx_guildlog_json_t *w,
    const ngx_http_guildlog_probe_t *probe)
{
    ngx_str_t                         result;
    ngx_uint_t                        i;
    ngx_guildlog_platform_webhook_t  *webhook;

    result.data = (u_char *) probe->result;
    result.len = ngx_strlen(probe->result);

    ngx_guildlog_json_begin(w, '{');
    ngx_guildlog_json_key(w, "channelId");
    ngx_guildlog_json_string(w, &probe->channel);
    ngx_guildlog_json_key(w, "result");
    ngx_guildlog_json_string(w, &result);

    if (probe->webhooks) {
        ngx_guildlog_json_key(w, "webhooks");
        ngx_guildlog_json_begin(w, '[');

        webhook = probe->webhooks->elts;

        for (i = 0; i < probe->webhooks->nelts; i++) {
            ngx_guildlog_json_string(w, &webhook[i].id);
        }

        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
}
