
/*
 * The answer of an exchange with another server, and the reader that makes
 * it out of bytes: HTTP/1.1, in pieces of any size.
 */

#ifndef _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef enum {
    NGX_GUILDLOG_CLIENT_ANSWERED = 0,  /* an answer came, of any status */
    NGX_GUILDLOG_CLIENT_UNSENT,      /* no byte of the request was written */
    NGX_GUILDLOG_CLIENT_UNCERTAIN    /* written, and no whole answer came */
} ngx_guildlog_client_outcome_e;


typedef struct {
    ngx_guildlog_client_outcome_e  outcome;
    ngx_uint_t                     status;   /* if it came so far, else 0 */
    const char                    *cause;    /* a phrase, unless answered */
    ngx_array_t                    headers;  /* ngx_keyval_t, lower-case */
    ngx_str_t                      body;
    ngx_uint_t                     time_ms;

    unsigned                       cut:1;    /* there was more of the body */
} ngx_guildlog_client_response_t;


/* the first of that name, given in lower case; NULL: none */
const ngx_str_t *ngx_guildlog_client_response_header(
    const ngx_guildlog_client_response_t *answer, const char *name);


typedef struct ngx_guildlog_client_reader_s  ngx_guildlog_client_reader_t;

typedef ngx_int_t (*ngx_guildlog_client_reader_pt)(
    ngx_guildlog_client_reader_t *reader);

struct ngx_guildlog_client_reader_s {
    ngx_pool_t                    *pool;
    ngx_guildlog_client_response_t  *answer;
    ngx_guildlog_client_reader_pt  process;  /* the state */

    u_char                        *pos;      /* of the piece at hand */
    u_char                        *last;

    ngx_str_t                      line;     /* as far as it came */
    size_t                         line_size;
    size_t                         head;     /* bytes, of all lines */

    uint64_t                       rest;     /* of the body or the chunk */
    size_t                         limit;    /* of the body, to keep */
    size_t                         body_size;

    unsigned                       chunked:1;
    unsigned                       sized:1;
    unsigned                       keepalive:1;
};


/*
 * Of the answer to anything but HEAD; everything is allocated from the pool.
 * Of a longer body than limit the answer has the beginning, and is "cut".
 */

ngx_int_t ngx_guildlog_client_response_init(
    ngx_guildlog_client_reader_t *reader,
    ngx_pool_t *pool, ngx_guildlog_client_response_t *answer, size_t limit);

/*
 * NGX_OK: the answer is whole, what is left of the piece begins at
 * reader->pos, and "keepalive" says whether another one may follow.
 * NGX_AGAIN: more is needed.  NGX_ERROR: answer->cause says why it is none.
 */

ngx_int_t ngx_guildlog_client_response_feed(
    ngx_guildlog_client_reader_t *reader, u_char *p,
    size_t len);


#endif /* _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_ */
