
/*
 * The HTTP layer: configuration, a request's context, and what its files
 * offer each other.
 */

#ifndef _NGX_HTTP_GUILDLOG_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "base/ngx_guildlog.h"
#include "log/ngx_guildlog_batch.h"
#include "jobs/ngx_guildlog_delivery.h"
#include "log/ngx_guildlog_entry.h"
#include "token/ngx_guildlog_token_verify.h"
#include "jobs/ngx_guildlog_keeper.h"
#include "shm/ngx_guildlog_limit.h"
#include "db/ngx_guildlog_db_pool.h"
#include "log/ngx_guildlog_places.h"
#include "api/ngx_guildlog_route.h"
#include "shm/ngx_guildlog_seats.h"
#include "base/ngx_guildlog_shelf.h"
#include "shm/ngx_guildlog_stats.h"


typedef struct {
    ngx_array_t                    databases;  /* of database_t pointers */
    ngx_array_t                   *operators;  /* locations to be fenced */
    ngx_shm_zone_t                *limit_zone; /* of the name "guildlog" */
    ngx_shm_zone_t                *stats_zone;
    ngx_shm_zone_t                *seats_zone;
    ngx_guildlog_keeper_conf_t     keeper;
    ngx_array_t                   *keeper_databases;  /* names; NULL: all */
    ngx_guildlog_delivery_conf_t  *delivery;   /* NULL: nothing is said */
    ngx_str_t                      delivery_database;
    ngx_guildlog_database_t       *delivers_to;
    ngx_flag_t                     delivers;
    size_t                         page_cache; /* of each worker */
    ngx_flag_t                     used;       /* any directive at all */
} ngx_http_guildlog_main_conf_t;


typedef struct {
    ngx_str_t                      zone_name;
    ngx_shm_zone_t                *zone;
    ngx_http_complex_value_t      *key;        /* NULL: token or address */
    ngx_uint_t                     requests;
    ngx_msec_t                     window;
    ngx_str_t                      prefix;     /* of keys in a shared zone:
                                                  requests, window, the
                                                  key's source */
    ngx_str_t                      policy;     /* the RateLimit-Policy */
    ngx_flag_t                     dry_run;
} ngx_http_guildlog_limit_conf_t;


typedef struct {
    ngx_guildlog_keys_t           *keys;
    ngx_str_t                      issuer;
    ngx_uint_t                     auth;       /* 0: off, else the weakest
                                                  kind let in */
    ngx_http_guildlog_limit_conf_t  *own_limit;  /* said or inherited */
    ngx_http_guildlog_limit_conf_t  *limit;    /* in force; NULL: off */
    ngx_uint_t                     limit_log_level;
    ngx_flag_t                     serves;     /* a plane is mounted here */
    ngx_flag_t                     open;       /* the operator's plane needs
                                                  no fence of nginx */
    ngx_guildlog_plane_e           plane;
    ngx_str_t                      prefix;     /* without a closing slash */
    ngx_str_t                      database_name;
    ngx_guildlog_database_t       *database;
    size_t                         max_body;
} ngx_http_guildlog_loc_conf_t;


typedef struct ngx_http_guildlog_call_s      ngx_http_guildlog_call_t;
typedef struct ngx_http_guildlog_endpoint_s  ngx_http_guildlog_endpoint_t;
typedef struct ngx_http_guildlog_export_s    ngx_http_guildlog_export_t;
typedef struct ngx_http_guildlog_parts_s     ngx_http_guildlog_parts_t;
typedef struct ngx_http_guildlog_listener_s  ngx_http_guildlog_listener_t;
typedef struct ngx_http_guildlog_feed_s      ngx_http_guildlog_feed_t;
typedef struct ngx_http_guildlog_trouble_s   ngx_http_guildlog_trouble_t;


/*
 * Who asks and how often: one a main request, kept through internal
 * redirects, so that nothing is judged or charged twice.
 */

typedef struct {
    ngx_guildlog_token_t           token;      /* valid if authenticated */
    ngx_guildlog_auth_e            cause;
    ngx_guildlog_limit_t           limit;
    const ngx_http_guildlog_loc_conf_t    *judged;   /* by whose keys */
    const ngx_http_guildlog_limit_conf_t  *charged;  /* by whose limit */
    const ngx_guildlog_route_t    *route;
    ngx_http_guildlog_call_t      *call;       /* of the main request */
    uint64_t                       start_us;
    ngx_uint_t                     db_us;
    unsigned                       authenticated:1;
    unsigned                       over:1;     /* the limit, dry run too */
    unsigned                       limited:1;  /* and refused for it */
    unsigned                       served:1;   /* by a plane of ours */
    unsigned                       asked:1;    /* the database, for db_us */
} ngx_http_guildlog_ctx_t;


/* one run of the spine: a request or a subrequest at a plane of ours */

struct ngx_http_guildlog_call_s {
    NGX_GUILDLOG_EVENT_IDENT;

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
    size_t                         body_size;  /* allocated */
    ngx_guildlog_batch_t          *batch;      /* of entries, being read */
    ngx_event_t                    turn;       /* to go on with it */
    ngx_str_t                      page_key;   /* no data: not to be kept */
    ngx_guildlog_page_t           *page;       /* as it was; NULL: unknown */
    ngx_guildlog_db_query_t       *query;
    ngx_guildlog_seat_t           *seat;       /* NULL: none, or uncounted */
    ngx_http_guildlog_parts_t     *parts;      /* NULL: none was sent */
    ngx_http_guildlog_export_t    *export;
    ngx_http_guildlog_listener_t  *listener;
    ngx_http_guildlog_trouble_t   *trouble;
    unsigned                       cleaned:1;  /* its cleanup is set */
    unsigned                       apart:1;    /* each server for itself */
};


/*
 * What an endpoint does.  bound: the body has been read; it ends in start.
 * start: all arguments are there; it returns as ask() does.  answer: what
 * finalizes the request, or NGX_BUSY: more is to come, by another result or by
 * the writing of this one.
 */

struct ngx_http_guildlog_endpoint_s {
    ngx_int_t  (*bound)(ngx_http_guildlog_call_t *call);
    ngx_int_t  (*start)(ngx_http_guildlog_call_t *call);
    ngx_int_t  (*answer)(ngx_http_guildlog_call_t *call,
                         ngx_guildlog_db_result_t *result);
};


/* what a worker holds; NULL pools in processes that serve no requests */

typedef struct {
    ngx_guildlog_stats_t           stats;
    ngx_shm_zone_t                *seats;
    ngx_guildlog_cache_t          *cache;
    ngx_guildlog_shelf_t          *shelf;      /* NULL: none is wanted */
    ngx_guildlog_db_pool_t       **pools;      /* by database->index */
    ngx_guildlog_keeper_t        **keepers;    /* the same, in one worker */
    ngx_uint_t                     npools;
    ngx_guildlog_asker_t          *asker;      /* NULL: nothing delivers */
    ngx_guildlog_delivery_t       *delivery;   /* in one worker */
    ngx_guildlog_client_t         *client;     /* of requests; or NULL */
    ngx_http_guildlog_feed_t     **feeds;      /* likewise; NULL: not used */
} ngx_http_guildlog_worker_t;


/*
 * The columns of guildlog.log_row.  A row is the head, which comes first, an
 * entry, several of them, or tells of places in a lane.
 */

typedef enum {
    NGX_HTTP_GUILDLOG_LOG_ID = 0,       /* in the head: the status; of places:
                                           the first, or the lane's head */
    NGX_HTTP_GUILDLOG_LOG_MORE,         /* in an entry: the answer ends here,
                                           for it has enough bytes */
    NGX_HTTP_GUILDLOG_LOG_STATUS,
    NGX_HTTP_GUILDLOG_LOG_REASON,       /* in a page's head: its state */
    NGX_HTTP_GUILDLOG_LOG_CHANNEL,      /* in the head: since, where the next
                                           one goes on */
    NGX_HTTP_GUILDLOG_LOG_MESSAGE,      /* of a whole lane: refused up to it */
    NGX_HTTP_GUILDLOG_LOG_DOC,          /* in the head: the body's start; null
                                           of places */
    NGX_HTTP_GUILDLOG_LOG_DSTATUS,      /* null of a whole lane */
    NGX_HTTP_GUILDLOG_LOG_LANE,
    NGX_HTTP_GUILDLOG_LOG_SEQ,          /* of several: how many; of places:
                                           the last; in a page's head: the
                                           total */
    NGX_HTTP_GUILDLOG_LOG_COLUMNS
} ngx_http_guildlog_log_e;


extern ngx_module_t                ngx_http_guildlog_module;
extern ngx_http_guildlog_worker_t  ngx_http_guildlog_worker;


/* ngx_http_guildlog_request.c */

ngx_int_t ngx_http_guildlog_content_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_guildlog_log_handler(ngx_http_request_t *r);


/* ngx_http_guildlog_call.c */

/* NULL: none yet, or out of memory if one is to be created */
ngx_http_guildlog_ctx_t *ngx_http_guildlog_get_ctx(ngx_http_request_t *r,
    ngx_uint_t create);

/*
 * Submits the statement with the call's arguments; what comes of it goes to
 * the route's answer.  NGX_AGAIN, or what finalizes the request.
 */
ngx_int_t ngx_http_guildlog_ask(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);

/*
 * The end of a handler that the event loop has called for a request, whose log
 * it has set: what finalizes it, or NGX_BUSY.
 */
void ngx_http_guildlog_finish(ngx_http_request_t *r, ngx_int_t rc);

/* answers with an error before any work was done */
ngx_int_t ngx_http_guildlog_refuse(ngx_http_guildlog_call_t *call,
    ngx_uint_t status, const ngx_str_t *error);


/* ngx_http_guildlog_page.c */

ngx_int_t ngx_http_guildlog_page_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_log_json.c */

typedef struct {
    u_char                        *last;      /* there is room for all */
    ngx_uint_t                     n;
    const ngx_guildlog_ranges_t   *ranges;

    unsigned                       undecided:1; /* more may become of one of
                                                   them by itself */
} ngx_http_guildlog_entries_t;

/* the room that all may take; without ranges none of them are joined */
size_t ngx_http_guildlog_entries_size(ngx_guildlog_db_result_t *result,
    const ngx_guildlog_ranges_t *ranges);

/* an entry with its delivery, as JSON */
u_char *ngx_http_guildlog_entry(u_char *p, ngx_guildlog_db_result_t *result,
    ngx_uint_t row);

/*
 * Those of a row, behind a comma if there were others.  NGX_DECLINED: the
 * delivery of one is not known.
 */
ngx_int_t ngx_http_guildlog_entries_add(ngx_http_guildlog_entries_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);

/* ngx_http_guildlog_page_cache.c */

/*
 * The page of these arguments may be one that was sent before: puts that into
 * the call, with the key to keep another one by, and what it is known by behind
 * the arguments.
 */
ngx_int_t ngx_http_guildlog_page_recall(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
void ngx_http_guildlog_page_keep(ngx_http_guildlog_call_t *call,
    const ngx_str_t *state, const ngx_str_t *body);

/* ngx_http_guildlog_seat.c */

/*
 * For what stays open for long: NGX_OK until the request ends; otherwise as a
 * step of the spine, the token has as many as it may.
 */
ngx_int_t ngx_http_guildlog_seat(ngx_http_guildlog_call_t *call);

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

/* ngx_http_guildlog_large.c */

ngx_int_t ngx_http_guildlog_large_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_large_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_export.c */

ngx_int_t ngx_http_guildlog_export_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_export_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_stream.c */

ngx_int_t ngx_http_guildlog_stream_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_stream_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_trouble.c and ngx_http_guildlog_trouble_test.c */

ngx_int_t ngx_http_guildlog_troubleshoot_start(
    ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_troubleshoot_answer(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);

ngx_int_t ngx_http_guildlog_test_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_test_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_token.c */

ngx_int_t ngx_http_guildlog_token_start(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_token_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* ngx_http_guildlog_record.c */

ngx_int_t ngx_http_guildlog_record_bound(ngx_http_guildlog_call_t *call);
ngx_int_t ngx_http_guildlog_record_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


/* ngx_http_guildlog_body.c */

/*
 * Reads the body, then submits the call with it.  NGX_AGAIN: goes on by
 * itself, with a reference to the request; otherwise as a step of the spine.
 */
ngx_int_t ngx_http_guildlog_read_body(ngx_http_guildlog_call_t *call);

ngx_uint_t ngx_http_guildlog_body_is_ndjson(ngx_http_request_t *r);


/* ngx_http_guildlog_access.c */

ngx_int_t ngx_http_guildlog_access_handler(ngx_http_request_t *r);

/* words for ngx_guildlog_auth_e */
extern const char *const  ngx_http_guildlog_causes[];

/*
 * Fills ctx->cause and, if it is OK, ctx->token; once by the same keys.
 * NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


/* ngx_http_guildlog_limit.c */

/*
 * Charges the token, or the client's address where there is none, once a
 * request for the same limit, and sets the rate headers.  NGX_OK; NGX_BUSY:
 * over the limit, or over one before; NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_charge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


/* ngx_http_guildlog_response.c: each returns what finalizes the request */

/* WWW-Authenticate for ctx->cause; NGX_ERROR if out of memory */
ngx_int_t ngx_http_guildlog_challenge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx);

ngx_int_t ngx_http_guildlog_send(ngx_http_request_t *r, ngx_uint_t status,
    const ngx_str_t *type, const ngx_str_t *body);

/* of what has failed, NGX_ERROR, before anything was said: answers with 500 */
ngx_int_t ngx_http_guildlog_never_empty(ngx_http_request_t *r, ngx_int_t rc);

/* {} where there is no error text */
ngx_int_t ngx_http_guildlog_send_error(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *error);

ngx_int_t ngx_http_guildlog_send_json(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *body);

/* answers with the one row of the result, or with why there is none */
ngx_int_t ngx_http_guildlog_send_result(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/*
 * Where the database refused that statement the log says why; the status that
 * it comes to, or 0: it did not refuse.
 */
ngx_uint_t ngx_http_guildlog_failed(ngx_guildlog_db_result_t *result,
    const char *name, ngx_log_t *log);

/* the header of an answer whose body follows; length -1: not known yet */
ngx_int_t ngx_http_guildlog_send_head(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *type, off_t length);

/* what the one row of the result says; 0: it has none */
ngx_uint_t ngx_http_guildlog_row_status(ngx_guildlog_db_result_t *result);

/* what the head of log rows says; 0: none came */
ngx_uint_t ngx_http_guildlog_log_status(ngx_guildlog_db_result_t *result);

/* a value that is not negative; NGX_ERROR: it is none, or null */
int64_t ngx_http_guildlog_number_at(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);

/*
 * True if log rows have come, behind their head; otherwise the request is
 * answered, and *rc is what finalizes it.
 */
ngx_uint_t ngx_http_guildlog_has_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_int_t *rc);

/* in place of one of this name, which an internal redirect may have kept */
ngx_table_elt_t *ngx_http_guildlog_set_header(ngx_http_request_t *r,
    const char *name, const ngx_str_t *value);


/* ngx_http_guildlog_conf_database.c */

char *ngx_http_guildlog_conf_database(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* NULL: logged.  An empty name is the default's */
ngx_guildlog_database_t *ngx_http_guildlog_find_database(ngx_conf_t *cf,
    ngx_str_t *name);

/* one database by two roles: the same hosts, port and dbname */
ngx_uint_t ngx_http_guildlog_same_database(const ngx_guildlog_database_t *one,
    const ngx_guildlog_database_t *other);


/* ngx_http_guildlog_conf.c */

char *ngx_http_guildlog_conf_key(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_auth(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_keeper(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_limit_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_serve(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_status(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* "name=value": the value, where the name is this one */
ngx_uint_t ngx_http_guildlog_conf_is(ngx_str_t *arg, const char *name,
    ngx_str_t *value);

/* of a file, by its full name, as much as the buffer takes; -1: logged */
ssize_t ngx_http_guildlog_conf_read(ngx_conf_t *cf, ngx_str_t *file,
    u_char *buf, size_t size, ngx_file_info_t *fi);

/* the module has something to do */
void ngx_http_guildlog_conf_used(ngx_conf_t *cf);

/* what an API location without guildlog_limit gets; NULL: logged */
ngx_http_guildlog_limit_conf_t *ngx_http_guildlog_default_limit(
    ngx_conf_t *cf);


/* ngx_http_guildlog_conf_delivery.c */

char *ngx_http_guildlog_conf_platform(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_rate(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_bot_token(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_delivery(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_unproved(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* when all of the configuration is read */
char *ngx_http_guildlog_init_delivery(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf);


/* ngx_http_guildlog_conf_operator.c */

/* remembers the location that is being merged; NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_add_operator(ngx_conf_t *cf);

/* NGX_ERROR, logged: one of them is open to everybody over TCP */
ngx_int_t ngx_http_guildlog_check_operators(ngx_conf_t *cf);


/* ngx_http_guildlog_status.c */

ngx_int_t ngx_http_guildlog_status_handler(ngx_http_request_t *r);


/* ngx_http_guildlog_variables.c */

ngx_int_t ngx_http_guildlog_add_variables(ngx_conf_t *cf);


#endif /* _NGX_HTTP_GUILDLOG_H_INCLUDED_ */
