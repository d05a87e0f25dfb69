
/*
 * Which entries match a request, how many there are, and which are the newest:
 * for a request with a search, a role, a channel or a member.  The database
 * brings what nginx asks for; nginx judges.
 *
 * One after the other: the steps, the line, what the worker keeps, and the
 * filters.
 */

#ifndef _NGX_HTTP_GUILDLOG_SEARCH_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_SEARCH_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "search/ngx_guildlog_find.h"
#include "search/ngx_guildlog_match.h"


/*
 * The arguments of pages, exports and live tails begin with the token, the
 * guild, the bot and the kind; then come these.
 */

enum {
    NGX_HTTP_GUILDLOG_FILTER_AFTER = 4,
    NGX_HTTP_GUILDLOG_FILTER_BEFORE,
    NGX_HTTP_GUILDLOG_FILTER_CATEGORY,
    NGX_HTTP_GUILDLOG_FILTER_TYPE,

    /* the database does not know those that follow */

    NGX_HTTP_GUILDLOG_FILTER_SEARCH,
    NGX_HTTP_GUILDLOG_FILTER_CHANNEL,
    NGX_HTTP_GUILDLOG_FILTER_MEMBER,
    NGX_HTTP_GUILDLOG_FILTER_SIDE,
    NGX_HTTP_GUILDLOG_FILTER_ROLE,
    NGX_HTTP_GUILDLOG_FILTER_LAST
};


/* both masks: by type, '1' if it is asked for; NULL: all are */

typedef struct {
    ngx_guildlog_match_t           match;   /* types: as "type" says */
    u_char                        *shown;   /* of these, the types of the
                                               categories that are asked for */
} ngx_http_guildlog_filter_t;


/* copies what it needs into the pool; NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_filter_read(ngx_http_guildlog_filter_t *filter,
    ngx_pool_t *pool, const ngx_str_t *args);

/* 1: only a look into entries, or into the index of searches, tells */
ngx_uint_t ngx_http_guildlog_filter_finds(const ngx_str_t *args);

/* leaves out what the database does not know; returns how many are left */
ngx_uint_t ngx_http_guildlog_filter_narrow(ngx_str_t *args, ngx_uint_t nargs);


/*
 * Goes on with the request when all is found.  The call's arguments are those
 * of a statement that found it.  Returns as the handler of a result.
 */
typedef ngx_int_t (*ngx_http_guildlog_search_pt)(
    ngx_http_guildlog_call_t *call);

/* a piece of work; NGX_BUSY: there is more, NGX_AGAIN: it waits for a result */
typedef ngx_int_t (*ngx_http_guildlog_search_work_pt)(
    ngx_http_guildlog_search_t *search);


/* what search_open says of all */

typedef struct {
    json_int_t                     low;        /* the window, of ids */
    json_int_t                     high;
    json_int_t                     top;        /* what is asked for is below */
    json_int_t                     retention;  /* ms */
    json_int_t                     arrival;    /* so far entries are in
                                                  segments, */
    json_int_t                     until;      /* so far there are any */
    json_int_t                     back_id;    /* but those below that id */
    json_int_t                     back_arrival;  /* that arrived so far are in
                                                     none */
    int64_t                        erased;     /* grows where entries are
                                                  removed; -1: no index */
    ngx_str_t                      state;      /* of the page; may be NULL */
    unsigned                       walled:1;
} ngx_http_guildlog_search_head_t;


/* a part of what is in no segment */

typedef struct {
    ngx_uint_t                     part;
    ngx_uint_t                     by_arrival; /* else by id, downwards */
    int64_t                        high;       /* of ids */
    int64_t                        since;      /* arrivals */
    int64_t                        until;
    int64_t                        at;         /* an arrival or id: the next
                                                  statement goes on there */
} ngx_http_guildlog_search_tail_t;


/* lives in the pool of its request */

struct ngx_http_guildlog_search_s {
    NGX_GUILDLOG_EVENT_IDENT;

    /* how it was begun */

    ngx_http_guildlog_call_t      *call;
    ngx_http_guildlog_search_pt    found;
    ngx_http_guildlog_result_pt    failed;     /* says why nothing is found */
    ngx_http_guildlog_filter_t     filter;
    ngx_str_t                      args[NGX_HTTP_GUILDLOG_FILTER_LAST];
    ngx_str_t                      below;      /* an id; NULL: from the top */
    ngx_str_t                      known;      /* of the page; NULL: none */
    ngx_uint_t                     limit;
    ngx_uint_t                     tries;
    int64_t                        payer;

    /* may be set behind start(): what was found is counted in them */

    ngx_guildlog_find_slots_t     *slots;

    /* what was found */

    ngx_http_guildlog_search_head_t  head;     /* its state until found()
                                                  returns */
    ngx_guildlog_find_t           *result;     /* likewise */
    uint64_t                       total;      /* below top */
    ngx_uint_t                     nids;

    /* of this try */

    ngx_pool_t                      *pool;
    ngx_http_guildlog_search_tail_t  tail;

    /* the answer of a statement that is being read */

    ngx_http_guildlog_search_work_pt  work;
    ngx_pool_t                       *rows;    /* has it */
    ngx_guildlog_db_result_t          answer;
    ngx_uint_t                        row;

    /* of the line */

    ngx_queue_t                    line;
    ngx_queue_t                    round;
    ngx_event_t                    timer;

    unsigned                       in_line:1;
    unsigned                       at_work:1;
    unsigned                       in_round:1;
    unsigned                       refused:1;  /* by the line */
    unsigned                       begun:1;    /* the request has half of an
                                                  answer: it is not refused */
};


/*
 * Begins to find the newest entries, limit at most, below an id (NULL: of all).
 * The first time the call's arguments begin with the filters, which are kept.
 * known: the state of the page that is kept, or NULL.  NGX_AGAIN, or NGX_ERROR.
 */
ngx_int_t ngx_http_guildlog_search_start(ngx_http_guildlog_call_t *call,
    const ngx_str_t *below, const ngx_str_t *known, ngx_uint_t limit,
    ngx_http_guildlog_search_pt found, ngx_http_guildlog_result_pt failed);

/* what was found is no more: finds anew; as the handler of a result */
ngx_int_t ngx_http_guildlog_search_again(ngx_http_guildlog_call_t *call);

/* ids as an SQL array; NGX_ERROR: no memory */
ngx_int_t ngx_http_guildlog_search_ids(ngx_str_t *array, ngx_pool_t *pool,
    const int64_t *ids, ngx_uint_t n);


#endif /* _NGX_HTTP_GUILDLOG_SEARCH_H_INCLUDED_ */
