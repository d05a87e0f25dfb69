
/*
 * GET /logs: the rows of a page become a LogPage.
 */

#include "http/ngx_http_guildlog_filter.h"
#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_cursor.h"


/* the arguments behind the filters */

#define NGX_HTTP_GUILDLOG_PAGE_LIMIT     NGX_HTTP_GUILDLOG_FILTER_LAST
#define NGX_HTTP_GUILDLOG_PAGE_CURSOR    (NGX_HTTP_GUILDLOG_FILTER_LAST + 1)


/* the arguments of a page without filters */

#define NGX_HTTP_GUILDLOG_PLAIN_AFTER   4
#define NGX_HTTP_GUILDLOG_PLAIN_BEFORE  5
#define NGX_HTTP_GUILDLOG_PLAIN_LIMIT   6
#define NGX_HTTP_GUILDLOG_PLAIN_CURSOR  7
#define NGX_HTTP_GUILDLOG_PLAIN_RANGES  8


/* bytes of a page besides its head and its entries, at most */

#define NGX_HTTP_GUILDLOG_PAGE_HEAD  64


static ngx_uint_t ngx_http_guildlog_page_filtered(
    ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_page_plain(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_page_again(ngx_http_guildlog_call_t *call,
    ngx_uint_t stmt);
static ngx_uint_t ngx_http_guildlog_page_lacks(
    ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_page_ranges(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_guildlog_places_t *ranges);
static void ngx_http_guildlog_page_range(ngx_guildlog_places_t *ranges,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static ngx_int_t ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_http_guildlog_log_json_t *entries,
    ngx_str_t *body);


ngx_int_t
ngx_http_guildlog_page_start(ngx_http_guildlog_call_t *call)
{
    u_char      *p;
    int64_t      id;
    ngx_str_t   *cursor;
    ngx_uint_t   stmt;

    static const ngx_str_t  malformed =
        ngx_string("cursor: must be the cursor of the previous page");

    cursor = &call->args[NGX_HTTP_GUILDLOG_PAGE_CURSOR];

    if (cursor->data) {
        if (ngx_guildlog_cursor_decode(cursor, &id) != NGX_OK) {
            return ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST,
                                                 &malformed);
        }

        p = ngx_pnalloc(call->request->pool, NGX_INT64_LEN);
        if (p == NULL) {
            return NGX_ERROR;
        }

        cursor->data = p;
        cursor->len = ngx_sprintf(p, "%L", id) - p;
    }

    /* these may read all entries, or the names of all roles */

    if (call->args[NGX_HTTP_GUILDLOG_FILTER_SEARCH].data
        || call->args[NGX_HTTP_GUILDLOG_FILTER_ROLE].data)
    {
        stmt = ngx_guildlog_stmt_logs_search;

    } else if (ngx_http_guildlog_page_filtered(call)) {
        stmt = ngx_guildlog_stmt_logs_page;

    } else {
        stmt = ngx_guildlog_stmt_logs_plain;
        ngx_http_guildlog_page_plain(call);
    }

    if (ngx_http_guildlog_page_cache_recall(call, &ngx_guildlog_stmts[stmt])
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (stmt == ngx_guildlog_stmt_logs_plain) {
        ngx_str_set(&call->args[call->nargs], "t");
        call->nargs++;

        ngx_str_set(&call->args[call->nargs],
                    ngx_value(NGX_GUILDLOG_STMT_BYTES));
        call->nargs++;
    }

    return ngx_http_guildlog_call_ask(call, &ngx_guildlog_stmts[stmt]);
}


static ngx_uint_t
ngx_http_guildlog_page_filtered(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t  i;

    /* the side of a member alone says nothing */

    static const ngx_uint_t  filters[] = {
        NGX_HTTP_GUILDLOG_FILTER_CATEGORY, NGX_HTTP_GUILDLOG_FILTER_TYPE,
        NGX_HTTP_GUILDLOG_FILTER_CHANNEL, NGX_HTTP_GUILDLOG_FILTER_MEMBER
    };

    for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        if (call->args[filters[i]].data) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_guildlog_page_plain(ngx_http_guildlog_call_t *call)
{
    ngx_str_t  *args;

    args = call->args;

    args[NGX_HTTP_GUILDLOG_PLAIN_AFTER] = args[NGX_HTTP_GUILDLOG_FILTER_AFTER];
    args[NGX_HTTP_GUILDLOG_PLAIN_BEFORE] =
                                         args[NGX_HTTP_GUILDLOG_FILTER_BEFORE];
    args[NGX_HTTP_GUILDLOG_PLAIN_LIMIT] = args[NGX_HTTP_GUILDLOG_PAGE_LIMIT];
    args[NGX_HTTP_GUILDLOG_PLAIN_CURSOR] = args[NGX_HTTP_GUILDLOG_PAGE_CURSOR];

    ngx_str_set(&args[NGX_HTTP_GUILDLOG_PLAIN_RANGES], "t");

    call->nargs = NGX_HTTP_GUILDLOG_PLAIN_RANGES + 1;
}


ngx_int_t
ngx_http_guildlog_page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t                     rc;
    ngx_str_t                     body, state;
    ngx_guildlog_places_t         ranges;
    ngx_http_guildlog_log_json_t  entries;

    if (call->page
        && ngx_http_guildlog_response_log_status(result)
           == NGX_HTTP_NOT_MODIFIED)
    {
        ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                       "guildlog page: not changed");

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_PAGES_KEPT, 1);
        return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK,
                                               &call->page->body);
    }

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (ngx_http_guildlog_page_lacks(result)) {
        return ngx_http_guildlog_page_again(call, ngx_guildlog_stmt_logs_bound);
    }

    if (ngx_http_guildlog_page_ranges(call, result, &ranges) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&entries, sizeof(ngx_http_guildlog_log_json_t));
    entries.ranges = &ranges;

    rc = ngx_http_guildlog_page_build(call, result, &entries, &body);

    /* the ranges lack the place of an entry: each entry tells its delivery */

    if (rc == NGX_DECLINED) {
        call->nargs = NGX_HTTP_GUILDLOG_PLAIN_RANGES;
        return ngx_http_guildlog_page_again(call, ngx_guildlog_stmt_logs_whole);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (!entries.undecided) {
        state = ngx_guildlog_db_result_value(result, 0,
                                             NGX_HTTP_GUILDLOG_LOG_REASON);
        ngx_http_guildlog_page_cache_keep(call, &state, &body);
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}


static ngx_int_t
ngx_http_guildlog_page_again(ngx_http_guildlog_call_t *call, ngx_uint_t stmt)
{
    ngx_int_t  rc;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog page: asks once more");

    rc = ngx_http_guildlog_call_ask(call, &ngx_guildlog_stmts[stmt]);

    return rc == NGX_AGAIN ? NGX_BUSY : NGX_ERROR;
}


/* did the database leave out a document, because it is too long? */

static ngx_uint_t
ngx_http_guildlog_page_lacks(ngx_guildlog_db_result_t *result)
{
    ngx_str_t   doc, status;
    ngx_uint_t  row;

    for (row = 1; row < result->rows; row++) {
        doc = ngx_guildlog_db_result_value(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DOC);
        status = ngx_guildlog_db_result_value(result, row,
                                              NGX_HTTP_GUILDLOG_LOG_STATUS);

        if (doc.data == NULL && status.data) {
            return 1;
        }
    }

    return 0;
}


/* takes the ranges, which are the rows behind the entries, off the result */

static ngx_int_t
ngx_http_guildlog_page_ranges(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_guildlog_places_t *ranges)
{
    ngx_str_t   doc;
    ngx_uint_t  row, rows;

    ngx_memzero(ranges, sizeof(ngx_guildlog_places_t));

    rows = result->rows;

    while (rows > 1) {
        doc = ngx_guildlog_db_result_value(result, rows - 1,
                                           NGX_HTTP_GUILDLOG_LOG_DOC);
        if (doc.data) {
            break;
        }

        rows--;
    }

    if (rows == result->rows) {
        return NGX_OK;
    }

    ranges->elts = ngx_palloc(call->request->pool,
                              (result->rows - rows)
                              * NGX_GUILDLOG_PLACES_OF_LANE
                              * sizeof(ngx_guildlog_places_range_t));
    if (ranges->elts == NULL) {
        return NGX_ERROR;
    }

    for (row = rows; row < result->rows; row++) {
        ngx_http_guildlog_page_range(ranges, result, row);
    }

    ngx_guildlog_places_sort(ranges);

    result->rows = rows;

    return NGX_OK;
}


static void
ngx_http_guildlog_page_range(ngx_guildlog_places_t *ranges,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    int64_t                      status;
    ngx_guildlog_places_range_t  range;

    range.lane = ngx_guildlog_db_result_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_LANE);
    range.first = ngx_guildlog_db_result_number(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_ID);
    range.last = ngx_guildlog_db_result_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_SEQ);
    range.reason = ngx_guildlog_db_result_value(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_REASON);
    range.message = ngx_guildlog_db_result_value(result, row,
                                                 NGX_HTTP_GUILDLOG_LOG_MESSAGE);

    status = ngx_guildlog_db_result_number(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DSTATUS);

    if (status == NGX_ERROR) {
        ngx_guildlog_places_add_lane(ranges, range.lane, range.first,
                                     range.last,
                              ngx_guildlog_db_result_number(result, row,
                                              NGX_HTTP_GUILDLOG_LOG_MESSAGE));
        return;
    }

    range.status = status;
    ngx_guildlog_places_add(ranges, &range);
}


/*
 * The room is reserved for the longest page, so writing checks no bounds.
 * NGX_DECLINED: the delivery of an entry is not known.
 */

static ngx_int_t
ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_http_guildlog_log_json_t *entries,
    ngx_str_t *body)
{
    u_char     *p;
    int64_t     id, total;
    ngx_int_t   rc;
    ngx_str_t   head;
    ngx_uint_t  row;

    p = ngx_pnalloc(call->request->pool,
                    NGX_HTTP_GUILDLOG_PAGE_HEAD
                    + ngx_http_guildlog_log_json_size(result, entries->ranges));
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->data = p;

    head = ngx_guildlog_db_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_DOC);
    p = ngx_cpymem(p, head.data, head.len);
    p = ngx_cpymem(p, ",\"entries\":[", sizeof(",\"entries\":[") - 1);

    entries->last = p;

    for (row = 1; row < result->rows; row++) {
        rc = ngx_http_guildlog_log_json_add(entries, result, row);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    p = entries->last;
    p = ngx_cpymem(p, "],\"cursor\":", sizeof("],\"cursor\":") - 1);

    total = ngx_guildlog_db_result_number(result, 0,
                                          NGX_HTTP_GUILDLOG_LOG_SEQ);

    if ((int64_t) entries->n < total && entries->n) {
        id = ngx_guildlog_db_result_number(result, result->rows - 1,
                                           NGX_HTTP_GUILDLOG_LOG_ID);

        *p++ = '"';
        p = ngx_guildlog_cursor_encode(p, id);
        *p++ = '"';

    } else {
        p = ngx_cpymem(p, "null", sizeof("null") - 1);
    }

    *p++ = '}';

    body->len = p - body->data;

    return NGX_OK;
}
