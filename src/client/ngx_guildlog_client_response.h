
/*
 * The response of a peer, and the reader that makes it out of the
 * bytes of HTTP/1.1, in pieces of any size.
 */

#ifndef _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef enum {
    NGX_GUILDLOG_CLIENT_ANSWERED = 0,  /* a response came, of any status */
    NGX_GUILDLOG_CLIENT_UNSENT,      /* no byte of the request was written */
    NGX_GUILDLOG_CLIENT_UNCERTAIN    /* written, and no whole response came */
} ngx_guildlog_client_outcome_e;


typedef struct {
    ngx_guildlog_client_outcome_e  outcome;
    ngx_uint_t                     status;   /* 0: none came */
    const char                    *cause;    /* a phrase, unless answered */
    ngx_array_t                    headers;  /* ngx_keyval_t, lower-case */
    ngx_str_t                      body;
    ngx_uint_t                     time_ms;

    unsigned                       cut:1;    /* the body was longer */
} ngx_guildlog_client_response_t;


/* the first header of that name, which is in lower case; NULL: none */
const ngx_str_t *ngx_guildlog_client_response_header(
    const ngx_guildlog_client_response_t *response, const char *name);


typedef struct ngx_guildlog_client_reader_s  ngx_guildlog_client_reader_t;

typedef ngx_int_t (*ngx_guildlog_client_reader_pt)(
    ngx_guildlog_client_reader_t *reader);

struct ngx_guildlog_client_reader_s {
    ngx_pool_t                    *pool;
    ngx_guildlog_client_response_t  *response;
    ngx_guildlog_client_reader_pt  process;  /* the state */

    u_char                        *pos;      /* the piece at hand */
    u_char                        *last;

    ngx_str_t                      line;     /* as far as it came */
    size_t                         line_size;  /* allocated, bytes */
    size_t                         head;     /* bytes of all lines so far */

    uint64_t                       rest;     /* to come of body or chunk */
    size_t                         limit;    /* bytes of the body to keep */
    size_t                         body_size;  /* allocated, bytes */

    unsigned                       chunked:1;
    unsigned                       sized:1;
    unsigned                       keepalive:1;
};


/*
 * Begins a response to any method but HEAD, in memory of the pool.  Of a body
 * longer than limit bytes only the beginning is kept: it is "cut".
 */

ngx_int_t ngx_guildlog_client_response_init(
    ngx_guildlog_client_reader_t *reader,
    ngx_pool_t *pool, ngx_guildlog_client_response_t *response, size_t limit);

/*
 * NGX_OK: the response is whole; the rest of the piece begins at reader->pos,
 * and "keepalive" says whether another response may follow.  NGX_AGAIN: more
 * bytes are needed.  NGX_ERROR: it is no response; response->cause says why.
 */

ngx_int_t ngx_guildlog_client_response_feed(
    ngx_guildlog_client_reader_t *reader, u_char *p, size_t len);


#endif /* _NGX_GUILDLOG_CLIENT_RESPONSE_H_INCLUDED_ */
