
/*
 * How a request is answered: at once, or part by part.  What returns ngx_int_t
 * returns what finalizes the request.
 */

#ifndef _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "log/ngx_guildlog_pieces.h"


/* WWW-Authenticate for ctx->cause; NGX_ERROR if out of memory */
ngx_int_t ngx_http_guildlog_response_challenge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);

/* the type of what has no body is "", and its body NULL */
ngx_int_t ngx_http_guildlog_response_send(ngx_http_request_t *r,
    ngx_uint_t status, const char *type, const ngx_str_t *body);

/*
 * What finalizes the request, by what a step or an answer returned.  After
 * NGX_ERROR the answer is 500, unless another one has begun.
 */
ngx_int_t ngx_http_guildlog_response_final(ngx_http_request_t *r, ngx_int_t rc);

/* {"error": …, "code": …}, or {} without a text */
ngx_int_t ngx_http_guildlog_response_error(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *error);

ngx_int_t ngx_http_guildlog_response_json(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *body);

/* answers with the one row of the result, or says why there is none */
ngx_int_t ngx_http_guildlog_response_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/*
 * Logs why the database refused the statement of that name, and returns the
 * status of the answer; 0: it did not refuse.
 */
ngx_uint_t ngx_http_guildlog_response_failed(ngx_guildlog_db_result_t *result,
    const char *name, ngx_log_t *log);

/* the header of an answer whose body follows; length -1: not known yet */
ngx_int_t ngx_http_guildlog_response_head(ngx_http_request_t *r,
    ngx_uint_t status, const char *type, off_t length);

/* the status in the only row of the result; 0: there is none */
ngx_uint_t ngx_http_guildlog_response_row_status(
    ngx_guildlog_db_result_t *result);

/* the status in the head of log rows; 0: there is none */
ngx_uint_t ngx_http_guildlog_response_log_status(
    ngx_guildlog_db_result_t *result);

/*
 * True if the result is a head and its log rows.  Otherwise the request is
 * answered, and *rc is what finalizes it.
 */
ngx_uint_t ngx_http_guildlog_response_has_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_int_t *rc);

/*
 * Sets a header, or replaces one of this name that an internal redirect has
 * left behind; NULL, NGX_ERROR: out of memory.
 */
ngx_table_elt_t *ngx_http_guildlog_response_header_set(ngx_http_request_t *r,
    const char *name, const ngx_str_t *value);
ngx_int_t ngx_http_guildlog_response_header(ngx_http_request_t *r,
    const char *name, const char *fmt, ...);
/* sets one more of this name */
ngx_table_elt_t *ngx_http_guildlog_response_header_add(ngx_http_request_t *r,
    const char *name, const ngx_str_t *value);


/*
 * Sends the bytes behind the header of an answer, which stay until they have
 * left.  NGX_OK: they were the last ones.  With more, call->left() is called
 * when they have left, which may be at once: returns as that does, or
 * NGX_AGAIN.  The request ends if its reader takes nothing for send_timeout.
 */
ngx_int_t ngx_http_guildlog_response_write(ngx_http_guildlog_call_t *call,
    u_char *start, u_char *last, ngx_uint_t more);

/* ends the answer so that no client takes it for complete; NGX_ERROR */
ngx_int_t ngx_http_guildlog_parts_abort(ngx_http_guildlog_call_t *call,
    const char *cause);


/* rows of the log, and how they are written as JSON */

/*
 * The columns of guildlog.log_row.  A row is the head, which comes first, or an
 * entry.
 */

typedef enum {
    NGX_HTTP_GUILDLOG_LOG_ID = 0,       /* in the head: the status */
    NGX_HTTP_GUILDLOG_LOG_MORE,         /* in an entry: the answer ends here,
                                           for it has enough bytes */
    NGX_HTTP_GUILDLOG_LOG_STATUS,
    NGX_HTTP_GUILDLOG_LOG_REASON,       /* in a page's head: its state */
    NGX_HTTP_GUILDLOG_LOG_CHANNEL,      /* in the head: since, where the next
                                           one goes on */
    NGX_HTTP_GUILDLOG_LOG_MESSAGE,
    NGX_HTTP_GUILDLOG_LOG_DOC,          /* in the head: the body's start */
    NGX_HTTP_GUILDLOG_LOG_DSTATUS,
    NGX_HTTP_GUILDLOG_LOG_LANE,
    NGX_HTTP_GUILDLOG_LOG_SEQ           /* of a live tail: the arrival; in a
                                           page's head: the total */
} ngx_http_guildlog_log_e;


#define ngx_http_guildlog_log_text(result, row, column)                       \
    ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_##column)
#define ngx_http_guildlog_log_number(result, row, column)                     \
    ngx_guildlog_db_result_number(result, row, NGX_HTTP_GUILDLOG_LOG_##column)


/* any result with a head has so many columns, as the pieces of a page have */
#define NGX_HTTP_GUILDLOG_LOG_HEAD  5


/* bytes for all entries, at most */
size_t ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result);

/* writes an entry with its delivery */
u_char *ngx_http_guildlog_log_json_entry(u_char *p,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);


#endif /* _NGX_HTTP_GUILDLOG_RESPONSE_H_INCLUDED_ */
