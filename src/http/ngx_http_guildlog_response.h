
/*
 * How a request is answered: at once, or part by part.  What returns ngx_int_t
 * returns what finalizes the request.
 */

#ifndef _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"


/* WWW-Authenticate for ctx->cause; NGX_ERROR if out of memory */
ngx_int_t ngx_http_guildlog_response_challenge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);

ngx_int_t ngx_http_guildlog_response_send(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *type, const ngx_str_t *body);

/* of what has failed, NGX_ERROR, before anything was said: answers with 500 */
ngx_int_t ngx_http_guildlog_response_never_empty(ngx_http_request_t *r,
    ngx_int_t rc);

/* {} where there is no error text */
ngx_int_t ngx_http_guildlog_response_error(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *error);

ngx_int_t ngx_http_guildlog_response_json(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *body);

/* answers with the one row of the result, or with why there is none */
ngx_int_t ngx_http_guildlog_response_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/*
 * Where the database refused that statement the log says why; the status that
 * it comes to, or 0: it did not refuse.
 */
ngx_uint_t ngx_http_guildlog_response_failed(ngx_guildlog_db_result_t *result,
    const char *name, ngx_log_t *log);

/* the header of an answer whose body follows; length -1: not known yet */
ngx_int_t ngx_http_guildlog_response_head(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *type, off_t length);

/* what the one row of the result says; 0: it has none */
ngx_uint_t ngx_http_guildlog_response_row_status(
    ngx_guildlog_db_result_t *result);

/* what the head of log rows says; 0: none came */
ngx_uint_t ngx_http_guildlog_response_log_status(
    ngx_guildlog_db_result_t *result);

/*
 * True if log rows have come, behind their head; otherwise the request is
 * answered, and *rc is what finalizes it.
 */
ngx_uint_t ngx_http_guildlog_response_has_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_int_t *rc);

/* in place of one of this name, which an internal redirect may have kept */
ngx_table_elt_t *ngx_http_guildlog_response_header(ngx_http_request_t *r,
    const char *name, const ngx_str_t *value);


/* ngx_http_guildlog_parts.c */

/* submits the statement of the next part; returns as ask() does */
typedef ngx_int_t (*ngx_http_guildlog_parts_ask_pt)(
    ngx_http_guildlog_call_t *call);

/* the name is what the log calls the answer, where it is cut short */
ngx_int_t ngx_http_guildlog_parts_begin(ngx_http_guildlog_call_t *call,
    const char *name, ngx_http_guildlog_parts_ask_pt ask);

/* the result of a part has that status; NGX_ERROR: the answer is cut short */
ngx_int_t ngx_http_guildlog_parts_fits(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_uint_t status);

/* room for the part that is to be sent, until the next one's; or NULL */
u_char *ngx_http_guildlog_parts_reserve(ngx_http_guildlog_call_t *call,
    size_t size);

/*
 * Sends what is there from the room's start up to last.  With more, asks for
 * the next part as soon as this one has left.
 */
ngx_int_t ngx_http_guildlog_parts_send(ngx_http_guildlog_call_t *call,
    u_char *last, ngx_uint_t more);

/* ends the answer in a way that nobody takes for its end; NGX_ERROR */
ngx_int_t ngx_http_guildlog_parts_abort(ngx_http_guildlog_call_t *call,
    const char *cause);


#endif /* _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_ */
