
/*
 * POST /preview: the message of an entry, made by what delivery makes it with,
 * by the server's settings.  Nothing is stored, and nothing is sent.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "platform/ngx_guildlog_message.h"


/* columns of the answer of the database */

enum {
    PREVIEW_DOC = 2,
    PREVIEW_LOOKS
};


static void preview_overlay(ngx_guildlog_message_conf_t *conf,
    const json_t *settings);


ngx_int_t
ngx_http_guildlog_preview_bound(ngx_http_guildlog_call_t *call)
{
    json_t      *bot, *fields[NGX_GUILDLOG_ENTRY_FIELDS];
    ngx_int_t    rc;
    ngx_str_t    error;
    ngx_pool_t  *pool;

    pool = call->request->pool;

    rc = ngx_guildlog_route_match_body(pool, call->route, &call->body,
                                       &call->json, &error);

    if (rc != NGX_OK) {
        return ngx_http_guildlog_call_invalid(call, rc, &error);
    }

    /* the entry is held against the rules of those that are recorded */

    rc = ngx_guildlog_entry_check(pool, json_object_get(call->json, "entry"),
                                  0, fields, &error);

    if (rc == NGX_DECLINED
        && ngx_guildlog_print(pool, &error, "entry.%V", &error) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (rc != NGX_OK) {
        return ngx_http_guildlog_call_invalid(call, rc, &error);
    }

    bot = json_object_get(call->json, "bot");

    if (bot
        && ngx_http_guildlog_call_bot(call,
               ngx_strcmp(json_string_value(bot), "pro") == 0)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    call->args[call->nargs++] = call->body;

    return call->endpoint->start(call);
}


ngx_int_t
ngx_http_guildlog_preview_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t                             body;
    ngx_str_t                             looks[NGX_GUILDLOG_MESSAGE_LOOKS];
    ngx_uint_t                            i, packed;
    ngx_http_request_t                   *r;
    ngx_guildlog_message_body_t           message;
    ngx_guildlog_message_entry_t          entry;
    const ngx_http_guildlog_main_conf_t  *gmcf;

    r = call->request;

    if (ngx_http_guildlog_response_row_status(result) != NGX_HTTP_OK) {
        return ngx_http_guildlog_response_result(call, result);
    }

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_LOOKS; i++) {
        looks[i] = ngx_guildlog_db_result_value(result, 0, PREVIEW_LOOKS + i);
    }

    gmcf = ngx_http_get_module_main_conf(r, ngx_http_guildlog_module);

    entry.doc = ngx_guildlog_db_result_value(result, 0, PREVIEW_DOC);
    entry.conf.style = &gmcf->delivery.style;
    entry.conf.guild = call->guild;
    entry.conf.pro = (call->args[NGX_HTTP_GUILDLOG_CALL_BOT].data[0] == '1');

    ngx_guildlog_message_looks(&entry.conf, looks);
    preview_overlay(&entry.conf, json_object_get(call->json, "settings"));

    if (ngx_guildlog_message_build(r->pool, &entry, 1, &message, &packed)
        != NGX_OK
        || ngx_guildlog_print(r->pool, &body, "{\"message\":%V}",
                              &message.json)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(r, NGX_HTTP_OK, &body);
}


/* what somebody would set, and has not as yet */

static void
preview_overlay(ngx_guildlog_message_conf_t *conf, const json_t *settings)
{
    size_t       i;
    json_t      *value, *button;
    const char  *name;

    value = json_object_get(settings, "format_type");

    if (value) {
        conf->format = json_integer_value(value);
    }

    value = json_object_get(settings, "color");

    if (value) {
        conf->color = json_is_null(value) ? -1 : json_integer_value(value);
    }

    value = json_object_get(settings, "spoilers");

    if (value) {
        conf->spoilers = json_is_true(value);
    }

    value = json_object_get(settings, "buttons");

    if (value == NULL) {
        return;
    }

    conf->buttons = 0;

    json_array_foreach(value, i, button) {
        name = json_string_value(button);

        conf->buttons |= *name == 'u' ? NGX_GUILDLOG_BUTTON_USER_ID
                         : *name == 's' ? NGX_GUILDLOG_BUTTON_SUPPORT_SERVER
                         : NGX_GUILDLOG_BUTTON_CUSTOMISE;
    }
}
