
/*
 * What nginx calls, the steps of a request, and the endpoints.
 */

#ifndef _NGX_HTTP_GUILDLOG_REQUEST_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_REQUEST_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"


ngx_int_t ngx_http_guildlog_request_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_guildlog_request_log_handler(ngx_http_request_t *r);

/* the worker may wait no longer: ends all that have no answer yet with 503 */
void ngx_http_guildlog_request_expire(void);

ngx_int_t ngx_http_guildlog_status_handler(ngx_http_request_t *r);

ngx_int_t ngx_http_guildlog_variables_add(ngx_conf_t *cf);


/* NDJSON: it begins with "{", or its Content-Type says so */
ngx_uint_t ngx_http_guildlog_body_has_lines(ngx_http_guildlog_call_t *call);

/*
 * Takes a seat of the token for a stream or an export, until the request ends;
 * as a step of request.c.
 */
ngx_int_t ngx_http_guildlog_seat(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_entry_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

ngx_int_t ngx_http_guildlog_page_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_histogram_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_large_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_export_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_stream_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_troubleshoot_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_trouble_test_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_preview_bound(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_preview_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
ngx_int_t ngx_http_guildlog_token_start(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_login_handler(ngx_http_request_t *r);

/*
 * Takes the cookie of a request without a token: ctx->cause and ctx->person.
 * NGX_ERROR: out of memory.
 */
ngx_int_t ngx_http_guildlog_session_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);

/*
 * The database does not do it before the platform is asked anew: asks both.
 * Returns as the handler of the result, which gets the next one.
 */
ngx_int_t ngx_http_guildlog_session_renew(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

ngx_int_t ngx_http_guildlog_types_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

ngx_int_t ngx_http_guildlog_events_bound(ngx_http_guildlog_call_t *call);

ngx_int_t ngx_http_guildlog_record_bound(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_record_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


#endif /* _NGX_HTTP_GUILDLOG_REQUEST_H_INCLUDED_ */
