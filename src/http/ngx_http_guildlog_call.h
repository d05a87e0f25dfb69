
/*
 * A request at a plane of ours: who asks, what is asked, and the functions that
 * every endpoint needs.
 */

#ifndef _NGX_HTTP_GUILDLOG_CALL_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_CALL_H_INCLUDED_


#include "http/ngx_http_guildlog.h"
#include "log/ngx_guildlog_batch.h"
#include "shm/ngx_guildlog_limit.h"
#include "shm/ngx_guildlog_seats.h"
#include "token/ngx_guildlog_token_verify.h"


typedef struct ngx_http_guildlog_call_s      ngx_http_guildlog_call_t;
typedef struct ngx_http_guildlog_endpoint_s  ngx_http_guildlog_endpoint_t;
typedef struct ngx_http_guildlog_export_s    ngx_http_guildlog_export_t;
typedef struct ngx_http_guildlog_search_s    ngx_http_guildlog_search_t;
typedef struct ngx_http_guildlog_histogram_s
                                          ngx_http_guildlog_histogram_t;
typedef struct ngx_http_guildlog_page_s      ngx_http_guildlog_page_t;
typedef struct ngx_http_guildlog_parts_s     ngx_http_guildlog_parts_t;
typedef struct ngx_http_guildlog_listener_s  ngx_http_guildlog_listener_t;
typedef struct ngx_http_guildlog_trouble_s   ngx_http_guildlog_trouble_t;
typedef struct ngx_http_guildlog_events_s    ngx_http_guildlog_events_t;


/*
 * Takes the result of a statement.  It returns what finalizes the request, or
 * NGX_AGAIN: the request goes on, with another statement or with its writing.
 */

typedef ngx_int_t (*ngx_http_guildlog_result_pt)(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);


/*
 * Goes on with what took too long for one turn, or when what was sent has
 * left; returns as that does.
 */
typedef ngx_int_t (*ngx_http_guildlog_slice_pt)(ngx_http_guildlog_call_t *call);


/*
 * Who asks and how often: one for each main request.  It outlives internal
 * redirects, so that a token is verified and charged once.
 */

typedef struct {
    ngx_guildlog_token_t           token;      /* valid if authenticated */
    ngx_guildlog_login_person_t   *person;     /* in place of a token, of which
                                                  only jti (the user), kind and
                                                  exp are set; or NULL */
    ngx_guildlog_auth_e            cause;
    ngx_guildlog_limit_t           limit;
    const ngx_http_guildlog_loc_conf_t    *verified; /* by whose keys */
    const ngx_http_guildlog_limit_conf_t  *charged;  /* by whose limit */
    const ngx_guildlog_route_t    *route;
    ngx_http_guildlog_call_t      *call;       /* of the main request */
    const char                    *statement;  /* the last one; NULL: none */
    uint64_t                       start_us;
    ngx_uint_t                     db_us;      /* of all statements */
    ngx_msec_t                     lag;        /* if stale, at most, ms */
    unsigned                       authenticated:1;
    unsigned                       counted:1;  /* the cause */
    unsigned                       over:1;     /* the limit, dry run too */
    unsigned                       limited:1;  /* and refused for it */
    unsigned                       served:1;   /* by a plane of ours */
    unsigned                       asked:1;    /* the database, for db_us */
    unsigned                       stale:1;    /* what a standby said is in
                                                  the answer */
} ngx_http_guildlog_ctx_t;


/* a request or a subrequest at a plane of ours */

struct ngx_http_guildlog_call_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;      /* of the worker's */
    ngx_http_request_t            *request;
    ngx_http_guildlog_ctx_t       *ctx;
    const ngx_http_guildlog_loc_conf_t  *conf;
    const ngx_guildlog_route_t    *route;
    const ngx_http_guildlog_endpoint_t  *endpoint;  /* of the route */
    ngx_str_t                      guild;
    ngx_str_t                      pieces[NGX_GUILDLOG_PIECES_MAX];
    ngx_str_t                      args[NGX_GUILDLOG_ARGS_MAX];
    ngx_uint_t                     nargs;
    ngx_str_t                      body;
    json_t                        *json;       /* of a preview: the body */
    size_t                         body_size;  /* allocated */
    ngx_guildlog_batch_t          *batch;      /* of entries, being read */
    ngx_event_t                    slice;      /* goes on with it */
    ngx_http_guildlog_slice_pt     sliced;     /* how */
    ngx_http_guildlog_events_t    *events;     /* packets that came */
    ngx_str_t                      page_key;   /* no data: not to be cached */
    ngx_http_guildlog_page_t      *page;       /* of the cache, or NULL */
    ngx_guildlog_db_pool_t        *standby;    /* is asked; NULL: the primary
                                                  is, from now on */
    ngx_guildlog_db_query_t       *query;
    ngx_http_guildlog_result_pt    handler;    /* of its result */
    ngx_guildlog_seat_t           *seat;       /* NULL: none, or uncounted */
    ngx_http_guildlog_search_t    *search;     /* NULL: nothing is searched */
    ngx_http_guildlog_histogram_t *histogram;
    ngx_chain_t                   *free;       /* of an answer in parts */
    ngx_chain_t                   *busy;
    ngx_http_guildlog_slice_pt     left;       /* the last part has */
    ngx_http_guildlog_parts_t     *parts;      /* NULL: none was sent */
    ngx_http_guildlog_export_t    *export;
    ngx_http_guildlog_listener_t  *listener;
    ngx_http_guildlog_trouble_t   *trouble;
};


/*
 * What an endpoint does.
 *
 * bound: the body has been read.  It ends by calling start, and returns what
 * start does; NULL: the endpoint reads no body.
 *
 * start: all arguments are bound.  NGX_AGAIN: a statement was submitted;
 * otherwise as a step of request.c.
 *
 * answer: of the route's statement, where start does no more than submit it.
 */

struct ngx_http_guildlog_endpoint_s {
    ngx_int_t                    (*bound)(ngx_http_guildlog_call_t *call);
    ngx_int_t                    (*start)(ngx_http_guildlog_call_t *call);
    ngx_http_guildlog_result_pt    answer;
};


/* NULL: none yet, or out of memory if one is to be created */
ngx_http_guildlog_ctx_t *ngx_http_guildlog_call_ctx(ngx_http_request_t *r,
    ngx_uint_t create);

/*
 * The first header of that name, or the next one behind another: nginx keeps
 * them in a list only.  NULL: there is none.
 */
ngx_table_elt_t *ngx_http_guildlog_call_header(ngx_http_request_t *r,
    const char *name, const ngx_table_elt_t *after);

/*
 * Submits the statement with the call's arguments; its result goes to the
 * handler.  NGX_AGAIN, or NGX_ERROR.
 */
ngx_int_t ngx_http_guildlog_call_ask(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt, ngx_http_guildlog_result_pt handler);

/*
 * Asks the primary what a standby has just answered: the result goes to the
 * same handler.  Returns as ask() does.
 */
ngx_int_t ngx_http_guildlog_call_primary(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/*
 * The bot that is meant becomes an argument; a person has a right to each.
 * NGX_ERROR: out of memory.
 */

#define NGX_HTTP_GUILDLOG_CALL_BOT  2

ngx_int_t ngx_http_guildlog_call_bot(ngx_http_guildlog_call_t *call,
    ngx_uint_t pro);

/* goes on in the next iteration of the event loop; NGX_AGAIN */
ngx_int_t ngx_http_guildlog_call_yield(ngx_http_guildlog_call_t *call,
    ngx_http_guildlog_slice_pt sliced);

/* calls the handler when the request ends; NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_call_at_end(ngx_http_request_t *r,
    ngx_http_cleanup_pt handler, void *data);

/* the request ends when its client leaves; NGX_ERROR: no event tells of that */
ngx_int_t ngx_http_guildlog_call_watch(ngx_http_request_t *r);

/*
 * Ends a handler that the event loop has called for a request: finalizes the
 * request by rc, unless that is NGX_AGAIN.  The handler has set the log's
 * request.
 */
void ngx_http_guildlog_call_finish(ngx_http_request_t *r, ngx_int_t rc);

/*
 * Answers with an error in place of submitting a statement, and discards the
 * body.  NGX_DONE, or what finalizes the request.
 */
ngx_int_t ngx_http_guildlog_call_refuse(ngx_http_guildlog_call_t *call,
    ngx_uint_t status, const ngx_str_t *error);

/*
 * The same of what a check returned that is not NGX_OK: after NGX_DECLINED 400
 * with the error, else NGX_ERROR.
 */
ngx_int_t ngx_http_guildlog_call_invalid(ngx_http_guildlog_call_t *call,
    ngx_int_t rc, const ngx_str_t *error);


/* who asks, and how often: guildlog_auth and guildlog_limit */

ngx_int_t ngx_http_guildlog_access_handler(ngx_http_request_t *r);

/* the words for ngx_guildlog_auth_e */
extern const char *const  ngx_http_guildlog_access_causes[];

/*
 * Fills ctx->cause and, if it is OK, ctx->token; once by the same keys.
 * NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_access_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);

/* counts the cause for the status page, once it is final; once */
void ngx_http_guildlog_access_count(ngx_http_guildlog_ctx_t *ctx);


/*
 * Charges the token, or the client's address where there is none, once a
 * request for the same limit, and sets the rate headers.  NGX_OK; NGX_BUSY:
 * over the limit, or over one before; NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_limit_charge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


#endif /* _NGX_HTTP_GUILDLOG_CALL_H_INCLUDED_ */
