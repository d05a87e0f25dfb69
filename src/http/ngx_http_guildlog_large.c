
/*
 * A row whose body may be large.  It is sent in parts, unless the first part
 * is all of it.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


#define LARGE_STATUS  0
#define LARGE_BODY    1
#define LARGE_MORE    2


static ngx_int_t large_ask(ngx_http_guildlog_call_t *call);


/* in a subrequest the answer comes at once: parts need the connection */

ngx_int_t
ngx_http_guildlog_large_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t  *rest;

    rest = &call->args[call->nargs++];

    if (call->request == call->request->main) {
        ngx_str_set(rest, "");

    } else {
        ngx_str_null(rest);
    }

    return ngx_http_guildlog_call_ask(call, call->route->stmt);
}


/* the argument for the next part is stored behind the bytes of this one */

ngx_int_t
ngx_http_guildlog_large_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    u_char     *p;
    int64_t     status;
    ngx_int_t   rc;
    ngx_str_t   body, more;

    static const ngx_str_t  type = ngx_string("application/json");

    status = 0;
    ngx_str_null(&body);
    ngx_str_null(&more);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS && result->rows == 1) {
        status = ngx_guildlog_db_result_number(result, 0, LARGE_STATUS);
        body = ngx_guildlog_db_result_value(result, 0, LARGE_BODY);
        more = ngx_guildlog_db_result_value(result, 0, LARGE_MORE);
    }

    if (call->parts == NULL) {

        if (more.data == NULL) {
            return ngx_http_guildlog_response_result(call, result);
        }

        if (ngx_http_guildlog_parts_begin(call, "an answer", large_ask)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        rc = ngx_http_guildlog_response_head(call->request, NGX_HTTP_OK, &type,
                                             -1);

        if (rc == NGX_ERROR || rc > NGX_OK || call->request->header_only) {
            return rc;
        }
    }

    if (ngx_http_guildlog_parts_fits(call, result, status) != NGX_OK) {
        return NGX_ERROR;
    }

    p = ngx_http_guildlog_parts_reserve(call, body.len + more.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    if (body.len) {
        p = ngx_cpymem(p, body.data, body.len);
    }

    if (more.data) {
        ngx_memcpy(p, more.data, more.len);

        call->args[call->nargs - 1].data = p;
        call->args[call->nargs - 1].len = more.len;
    }

    return ngx_http_guildlog_parts_send(call, p, more.data != NULL);
}


static ngx_int_t
large_ask(ngx_http_guildlog_call_t *call)
{
    return ngx_http_guildlog_call_ask(call, call->route->stmt + 1);
}
