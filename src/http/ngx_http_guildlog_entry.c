
/*
 * GET /logs/{id}: one entry.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


ngx_int_t
ngx_http_guildlog_entry_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;
    ngx_str_t  body;

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (result->rows == 1) {
        return ngx_http_guildlog_response_error(call->request,
                                                NGX_HTTP_NOT_FOUND, NULL);
    }

    body.data = ngx_pnalloc(call->request->pool,
                            ngx_http_guildlog_log_json_size(result, NULL));
    if (body.data == NULL) {
        return NGX_ERROR;
    }

    body.len = ngx_http_guildlog_log_json_entry(body.data, result, 1)
               - body.data;

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}
