
/*
 * GET /log-types: what conf/log-types.tsv tells, the same for all servers.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_language.h"


static ngx_int_t types_etag(ngx_http_request_t *r, const ngx_str_t *body);
static ngx_uint_t types_is_known(ngx_http_request_t *r);


ngx_int_t
ngx_http_guildlog_types_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t            body;
    ngx_http_request_t  *r;

    static const ngx_str_t  type = ngx_string("application/json");

    r = call->request;

    if (ngx_http_guildlog_response_row_status(result) != NGX_HTTP_OK) {
        return ngx_http_guildlog_response_result(call, result);
    }

    body.data = (u_char *) ngx_guildlog_types_json;
    body.len = ngx_guildlog_types_json_size;

    if (types_etag(r, &body) != NGX_OK) {
        return NGX_ERROR;
    }

    if (types_is_known(r)) {
        return ngx_http_guildlog_response_head(r, NGX_HTTP_NOT_MODIFIED, &type,
                                               -1);
    }

    return ngx_http_guildlog_response_json(r, NGX_HTTP_OK, &body);
}


static ngx_int_t
types_etag(ngx_http_request_t *r, const ngx_str_t *body)
{
    ngx_str_t        value;
    ngx_table_elt_t  *h;

    static uint32_t  sum;

    if (sum == 0) {
        sum = ngx_crc32_long(body->data, body->len);
    }

    value.data = ngx_pnalloc(r->pool, sizeof("\"ffffffff\"") - 1);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, "\"%08xD\"", sum) - value.data;

    h = ngx_http_guildlog_response_header(r, "ETag", &value);
    if (h == NULL) {
        return NGX_ERROR;
    }

    r->headers_out.etag = h;

    return NGX_OK;
}


/* If-None-Match has our ETag, in a list or weak, or "*" */

static ngx_uint_t
types_is_known(ngx_http_request_t *r)
{
    ngx_str_t        *etag;
    ngx_table_elt_t  *h;

    h = r->headers_in.if_none_match;
    etag = &r->headers_out.etag->value;

    if (h == NULL) {
        return 0;
    }

    return (h->value.len == 1 && h->value.data[0] == '*')
           || memmem(h->value.data, h->value.len, etag->data, etag->len)
              != NULL;
}
