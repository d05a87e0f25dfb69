
/*
 * Which entries match a request, how many there are, and which are the newest:
 * for a request with a search, a role, a channel or a member.  The database
 * brings what nginx asks for; nginx judges.
 *
 * find.c has the steps, find_stmt.c the statements, find_kept.c what the worker
 * keeps, and find_line.c whose turn it is.
 */

#ifndef _NGX_HTTP_GUILDLOG_FIND_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_FIND_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "http/ngx_http_guildlog_filter.h"
#include "search/ngx_guildlog_find.h"


/*
 * Goes on with the request when all is found.  The call's arguments are those
 * of a statement that found it.  Returns as answer() of an endpoint.
 */
typedef ngx_int_t (*ngx_http_guildlog_find_pt)(ngx_http_guildlog_call_t *call);

/* a piece of work; NGX_AGAIN: there is more, NGX_BUSY: it waits for a result */
typedef ngx_int_t (*ngx_http_guildlog_find_work_pt)(
    ngx_http_guildlog_find_t *find);


/* what search_open says of all */

typedef struct {
    int64_t                        low;        /* the window, of ids */
    int64_t                        high;
    int64_t                        top;        /* what is asked for is below */
    int64_t                        retention;  /* ms */
    int64_t                        arrival;    /* so far entries are in
                                                  segments, */
    int64_t                        until;      /* so far there are any */
    int64_t                        back_id;    /* but those below that id */
    int64_t                        back_arrival;  /* that arrived so far are in
                                                     none */
    int64_t                        erased;     /* grows where entries are
                                                  removed; -1: no index */
    ngx_str_t                      state;      /* of the page; may be NULL */
    unsigned                       walled:1;
} ngx_http_guildlog_find_head_t;


/* a part of what is in no segment */

typedef struct {
    ngx_uint_t                     part;
    ngx_uint_t                     by_arrival; /* else by id, downwards */
    int64_t                        high;       /* of ids */
    int64_t                        since;      /* arrivals */
    int64_t                        until;
    int64_t                        at;         /* an arrival or id: the next
                                                  statement goes on there */
} ngx_http_guildlog_find_tail_t;


/* lives in the pool of its request */

struct ngx_http_guildlog_find_s {
    NGX_GUILDLOG_EVENT_IDENT;

    /* how it was begun */

    ngx_http_guildlog_call_t      *call;
    ngx_http_guildlog_find_pt      found;
    ngx_http_guildlog_filter_t     filter;
    ngx_str_t                      args[NGX_HTTP_GUILDLOG_FILTER_LAST];
    ngx_str_t                      below;      /* an id; NULL: from the top */
    ngx_str_t                      known;      /* of the page; NULL: none */
    ngx_uint_t                     limit;
    ngx_uint_t                     tries;
    int64_t                        payer;

    /* what was found */

    ngx_http_guildlog_find_head_t  head;       /* its state until found()
                                                  returns */
    ngx_guildlog_find_t           *result;     /* likewise */
    uint64_t                       total;      /* below top */
    ngx_uint_t                     nids;

    /* of this try */

    ngx_pool_t                    *pool;
    ngx_array_t                    slices;     /* wanted */
    ngx_http_guildlog_find_tail_t  tail;

    /* the answer of a statement that is being read */

    ngx_http_guildlog_find_work_pt  work;
    ngx_http_guildlog_find_work_pt  next;      /* reads the answer to come */
    ngx_pool_t                    *rows;       /* has it */
    ngx_guildlog_db_result_t       answer;
    ngx_uint_t                     row;

    /* of find_line.c */

    ngx_queue_t                    line;
    ngx_queue_t                    turn;
    ngx_event_t                    timer;

    unsigned                       in_line:1;
    unsigned                       at_work:1;
    unsigned                       in_turn:1;
    unsigned                       refused:1;  /* by the line */
    unsigned                       begun:1;    /* the request has half of an
                                                  answer: it is not refused */
};


/* ngx_http_guildlog_find.c */

/*
 * Begins to find the newest entries, limit at most, below an id (NULL: of all).
 * The first time the call's arguments begin with the filters, which are kept.
 * known: the state of the page that is kept, or NULL.  NGX_AGAIN, or NGX_ERROR.
 */
ngx_int_t ngx_http_guildlog_find_start(ngx_http_guildlog_call_t *call,
    const ngx_str_t *below, const ngx_str_t *known, ngx_uint_t limit,
    ngx_http_guildlog_find_pt found);

/*
 * Takes a result, if it is one of its statements.  NGX_DECLINED: it is none, or
 * it says why nothing is found.
 */
ngx_int_t ngx_http_guildlog_find_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);

/* what was found is no more: finds anew; as answer() of an endpoint */
ngx_int_t ngx_http_guildlog_find_again(ngx_http_guildlog_call_t *call);

/* ids as an SQL array; NGX_ERROR: no memory */
ngx_int_t ngx_http_guildlog_find_ids(ngx_str_t *array, ngx_pool_t *pool,
    const int64_t *ids, ngx_uint_t n);


/* ngx_http_guildlog_find_stmt.c */

/* ask; NGX_BUSY, or NGX_ERROR */
ngx_int_t ngx_http_guildlog_find_stmt_open(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_tail(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_slices(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_bad(ngx_http_guildlog_find_t *find,
    int64_t key);

/*
 * Read a row of the answer: the head of search_open, or one of its segments;
 * where the next part of the tail begins (NGX_ERROR: there is none), or a
 * document of it; a slice.  NGX_ERROR: no memory, or it is not as it must be.
 */
ngx_int_t ngx_http_guildlog_find_stmt_head(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_segment(ngx_http_guildlog_find_t *find);
void ngx_http_guildlog_find_stmt_next(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_doc(ngx_http_guildlog_find_t *find);
ngx_int_t ngx_http_guildlog_find_stmt_piece(ngx_http_guildlog_find_t *find);


/* ngx_http_guildlog_find_kept.c */

/* it uses what the worker keeps */
void ngx_http_guildlog_find_kept(ngx_http_guildlog_find_t *find);


/* ngx_http_guildlog_find_line.c */

/* it gets its turn when others of its server leave it one, or is refused */
void ngx_http_guildlog_find_line_join(ngx_http_guildlog_find_t *find);
void ngx_http_guildlog_find_line_leave(ngx_http_guildlog_find_t *find);

/* its work() is called in the next iteration of the event loop, or later */
void ngx_http_guildlog_find_line_turn(ngx_http_guildlog_find_t *find);


#endif /* _NGX_HTTP_GUILDLOG_FIND_H_INCLUDED_ */
