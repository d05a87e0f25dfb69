
/*
 * GET /logs: the rows of a page become a LogPage.
 */

#include "ngx_http_guildlog.h"
#include "ngx_guildlog_cursor.h"
#include "ngx_guildlog_ranges.h"


/* behind the four of every function, the parameters in the route's order */

#define NGX_HTTP_GUILDLOG_PAGE_SEARCH    4
#define NGX_HTTP_GUILDLOG_PAGE_AFTER     5
#define NGX_HTTP_GUILDLOG_PAGE_BEFORE    6
#define NGX_HTTP_GUILDLOG_PAGE_CATEGORY  7
#define NGX_HTTP_GUILDLOG_PAGE_TYPE      8
#define NGX_HTTP_GUILDLOG_PAGE_CHANNEL   9
#define NGX_HTTP_GUILDLOG_PAGE_MEMBER    10
#define NGX_HTTP_GUILDLOG_PAGE_ROLE      12
#define NGX_HTTP_GUILDLOG_PAGE_LIMIT     13
#define NGX_HTTP_GUILDLOG_PAGE_CURSOR    14


/* where nothing is filtered, these are all that is left */

#define NGX_HTTP_GUILDLOG_PLAIN_AFTER   4
#define NGX_HTTP_GUILDLOG_PLAIN_BEFORE  5
#define NGX_HTTP_GUILDLOG_PLAIN_LIMIT   6
#define NGX_HTTP_GUILDLOG_PLAIN_CURSOR  7
#define NGX_HTTP_GUILDLOG_PLAIN_RANGES  8


/* around what comes from the database, generously */

#define NGX_HTTP_GUILDLOG_PAGE_HEAD    64
#define NGX_HTTP_GUILDLOG_PAGE_ROW                                            \
    (sizeof(",,\"delivery\":{\"status\":\"not_delivered\",\"reason\":"       \
            "\"queued\",\"channelId\":null,\"messageId\":null}}") + 16)


static ngx_uint_t ngx_http_guildlog_page_filtered(
    ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_page_plain(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_page_whole(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_page_ranges(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, ngx_guildlog_ranges_t *ranges);
static void ngx_http_guildlog_page_range(ngx_guildlog_ranges_t *ranges,
    ngx_guildlog_result_t *result, ngx_uint_t row);
static ngx_int_t ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, const ngx_guildlog_ranges_t *ranges,
    ngx_str_t *body, ngx_uint_t *decided);
static ngx_int_t ngx_http_guildlog_page_delivery(
    ngx_guildlog_result_t *result, ngx_uint_t row,
    const ngx_guildlog_ranges_t *ranges, ngx_str_t *said);
static void ngx_http_guildlog_page_said(ngx_guildlog_result_t *result,
    ngx_uint_t row, ngx_str_t *said);
static ngx_uint_t ngx_http_guildlog_page_decided(const ngx_str_t *said);
static int64_t ngx_http_guildlog_page_number(ngx_guildlog_result_t *result,
    ngx_uint_t row, ngx_uint_t column);
static u_char *ngx_http_guildlog_page_entry(u_char *p, const ngx_str_t *doc,
    const ngx_str_t *said);
static u_char *ngx_http_guildlog_page_string(u_char *p,
    const ngx_str_t *name, const ngx_str_t *value);


/* what is said of a delivery, in the order of its columns */

enum {
    NGX_HTTP_GUILDLOG_SAID_STATUS = 0,
    NGX_HTTP_GUILDLOG_SAID_REASON,
    NGX_HTTP_GUILDLOG_SAID_CHANNEL,
    NGX_HTTP_GUILDLOG_SAID_MESSAGE,
    NGX_HTTP_GUILDLOG_SAID_LAST
};


/* by dstatus */

static const ngx_str_t  ngx_http_guildlog_page_words[] = {
    ngx_string("not_delivered"),
    ngx_string("unknown"),
    ngx_string("delivered")
};


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
            return ngx_http_guildlog_refuse(call, NGX_HTTP_BAD_REQUEST,
                                            &malformed);
        }

        p = ngx_pnalloc(call->request->pool, NGX_INT64_LEN);
        if (p == NULL) {
            return NGX_ERROR;
        }

        cursor->data = p;
        cursor->len = ngx_sprintf(p, "%L", id) - p;
    }

    /* a search may have to look at everything */

    if (call->args[NGX_HTTP_GUILDLOG_PAGE_SEARCH].data) {
        stmt = ngx_guildlog_stmt_logs_search;

    } else if (ngx_http_guildlog_page_filtered(call)) {
        stmt = ngx_guildlog_stmt_logs_page;

    } else {
        stmt = ngx_guildlog_stmt_logs_plain;
        ngx_http_guildlog_page_plain(call);
    }

    if (ngx_http_guildlog_page_recall(call, &ngx_guildlog_stmts[stmt])
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_ask(call, &ngx_guildlog_stmts[stmt]);
}


static ngx_uint_t
ngx_http_guildlog_page_filtered(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t  i;

    /* the side of a member alone says nothing */

    static const ngx_uint_t  filters[] = {
        NGX_HTTP_GUILDLOG_PAGE_CATEGORY, NGX_HTTP_GUILDLOG_PAGE_TYPE,
        NGX_HTTP_GUILDLOG_PAGE_CHANNEL, NGX_HTTP_GUILDLOG_PAGE_MEMBER,
        NGX_HTTP_GUILDLOG_PAGE_ROLE
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

    args[NGX_HTTP_GUILDLOG_PLAIN_AFTER] = args[NGX_HTTP_GUILDLOG_PAGE_AFTER];
    args[NGX_HTTP_GUILDLOG_PLAIN_BEFORE] = args[NGX_HTTP_GUILDLOG_PAGE_BEFORE];
    args[NGX_HTTP_GUILDLOG_PLAIN_LIMIT] = args[NGX_HTTP_GUILDLOG_PAGE_LIMIT];
    args[NGX_HTTP_GUILDLOG_PLAIN_CURSOR] = args[NGX_HTTP_GUILDLOG_PAGE_CURSOR];

    ngx_str_set(&args[NGX_HTTP_GUILDLOG_PLAIN_RANGES], "t");

    call->nargs = NGX_HTTP_GUILDLOG_PLAIN_RANGES + 1;
}


ngx_int_t
ngx_http_guildlog_page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result)
{
    ngx_int_t              rc;
    ngx_str_t              body, state;
    ngx_uint_t             decided;
    ngx_guildlog_ranges_t  ranges;

    if (call->page
        && ngx_http_guildlog_log_status(result) == NGX_HTTP_NOT_MODIFIED)
    {
        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_PAGES_KEPT, 1);
        return ngx_http_guildlog_send_json(call->request, NGX_HTTP_OK,
                                           &call->page->body);
    }

    if (!ngx_http_guildlog_has_log(call, result, &rc)) {
        return rc;
    }

    if (ngx_http_guildlog_page_ranges(call, result, &ranges) != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_page_build(call, result, &ranges, &body, &decided);

    if (rc == NGX_DECLINED) {
        return ngx_http_guildlog_page_whole(call);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (decided) {
        state = ngx_guildlog_result_value(result, 0,
                                          NGX_HTTP_GUILDLOG_LOG_REASON);
        ngx_http_guildlog_page_keep(call, &state, &body);
    }

    return ngx_http_guildlog_send_json(call->request, NGX_HTTP_OK, &body);
}


/* the ranges lack what it takes for an entry: the database says all of it */

static ngx_int_t
ngx_http_guildlog_page_whole(ngx_http_guildlog_call_t *call)
{
    const ngx_guildlog_stmt_t  *stmt;

    stmt = &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_whole];
    call->nargs = NGX_HTTP_GUILDLOG_PLAIN_RANGES;

    return ngx_http_guildlog_ask(call, stmt) == NGX_AGAIN ? NGX_BUSY
                                                          : NGX_ERROR;
}


/* the rows behind the entries; these are all that stay in the result */

static ngx_int_t
ngx_http_guildlog_page_ranges(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, ngx_guildlog_ranges_t *ranges)
{
    ngx_str_t   doc;
    ngx_uint_t  row, rows;

    ngx_memzero(ranges, sizeof(ngx_guildlog_ranges_t));

    rows = result->rows;

    while (rows > 1) {
        doc = ngx_guildlog_result_value(result, rows - 1,
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
                              * NGX_GUILDLOG_RANGES_OF_LANE
                              * sizeof(ngx_guildlog_range_t));
    if (ranges->elts == NULL) {
        return NGX_ERROR;
    }

    for (row = rows; row < result->rows; row++) {
        ngx_http_guildlog_page_range(ranges, result, row);
    }

    ngx_guildlog_ranges_sort(ranges);

    result->rows = rows;

    return NGX_OK;
}


static void
ngx_http_guildlog_page_range(ngx_guildlog_ranges_t *ranges,
    ngx_guildlog_result_t *result, ngx_uint_t row)
{
    int64_t               status;
    ngx_guildlog_range_t  range;

    range.lane = ngx_http_guildlog_page_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_LANE);
    range.first = ngx_http_guildlog_page_number(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_ID);
    range.last = ngx_http_guildlog_page_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_SEQ);
    range.reason = ngx_guildlog_result_value(result, row,
                                             NGX_HTTP_GUILDLOG_LOG_REASON);
    range.message = ngx_guildlog_result_value(result, row,
                                              NGX_HTTP_GUILDLOG_LOG_MESSAGE);

    status = ngx_http_guildlog_page_number(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DSTATUS);

    if (status == NGX_ERROR) {
        ngx_guildlog_ranges_add_lane(ranges, range.lane, range.first,
                                     range.last,
                                     ngx_atoi(range.message.data,
                                              range.message.len));
        return;
    }

    range.status = status;
    ngx_guildlog_ranges_add(ranges, &range);
}


/*
 * Room for all of it is known before, so nothing is checked twice.
 * NGX_DECLINED: the delivery of an entry is not known.  decided: nothing more
 * becomes of any of them by itself.
 */

static ngx_int_t
ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, const ngx_guildlog_ranges_t *ranges,
    ngx_str_t *body, ngx_uint_t *decided)
{
    u_char     *p;
    int64_t     id;
    ngx_int_t   rc;
    ngx_str_t   head, more, doc, said[NGX_HTTP_GUILDLOG_SAID_LAST];
    ngx_uint_t  row;

    p = ngx_pnalloc(call->request->pool,
                    NGX_HTTP_GUILDLOG_PAGE_HEAD
                    + ngx_http_guildlog_entries_size(result)
                    + result->rows * ranges->longest);
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->data = p;
    *decided = 1;

    head = ngx_guildlog_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_DOC);
    p = ngx_cpymem(p, head.data, head.len);
    p = ngx_cpymem(p, ",\"entries\":[", sizeof(",\"entries\":[") - 1);

    for (row = 1; row < result->rows; row++) {
        rc = ngx_http_guildlog_page_delivery(result, row, ranges, said);

        if (rc != NGX_OK) {
            return rc;
        }

        if (!ngx_http_guildlog_page_decided(said)) {
            *decided = 0;
        }

        if (row > 1) {
            *p++ = ',';
        }

        doc = ngx_guildlog_result_value(result, row,
                                        NGX_HTTP_GUILDLOG_LOG_DOC);
        p = ngx_http_guildlog_page_entry(p, &doc, said);
    }

    p = ngx_cpymem(p, "],\"cursor\":", sizeof("],\"cursor\":") - 1);

    more = ngx_guildlog_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_MORE);

    if (more.len && *more.data == 't' && result->rows > 1) {
        id = ngx_http_guildlog_page_number(result, result->rows - 1,
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


/* the entry says it, or what became of its place in a lane */

static ngx_int_t
ngx_http_guildlog_page_delivery(ngx_guildlog_result_t *result,
    ngx_uint_t row, const ngx_guildlog_ranges_t *ranges, ngx_str_t *said)
{
    int64_t                      status, lane;
    const ngx_guildlog_range_t  *range;

    ngx_http_guildlog_page_said(result, row, said);

    if (said[NGX_HTTP_GUILDLOG_SAID_STATUS].data) {
        return NGX_OK;
    }

    status = ngx_http_guildlog_page_number(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DSTATUS);
    lane = ngx_http_guildlog_page_number(result, row,
                                         NGX_HTTP_GUILDLOG_LOG_LANE);

    if (status == NGX_ERROR && lane == NGX_ERROR) {
        status = 0;
        ngx_str_set(&said[NGX_HTTP_GUILDLOG_SAID_REASON], "queued");

    } else if (status == NGX_ERROR) {
        range = ngx_guildlog_ranges_find(ranges, lane,
                    ngx_http_guildlog_page_number(result, row,
                                                  NGX_HTTP_GUILDLOG_LOG_SEQ));
        if (range == NULL) {
            return NGX_DECLINED;
        }

        status = range->status;
        said[NGX_HTTP_GUILDLOG_SAID_REASON] = range->reason;
        said[NGX_HTTP_GUILDLOG_SAID_MESSAGE] = range->message;
    }

    if ((size_t) status >= sizeof(ngx_http_guildlog_page_words)
                           / sizeof(ngx_http_guildlog_page_words[0]))
    {
        return NGX_ERROR;
    }

    said[NGX_HTTP_GUILDLOG_SAID_STATUS] =
                                        ngx_http_guildlog_page_words[status];
    return NGX_OK;
}


static void
ngx_http_guildlog_page_said(ngx_guildlog_result_t *result, ngx_uint_t row,
    ngx_str_t *said)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_GUILDLOG_SAID_LAST; i++) {
        said[i] = ngx_guildlog_result_value(result, row,
                                            NGX_HTTP_GUILDLOG_LOG_STATUS + i);
    }
}


/* unknown may become known */

static ngx_uint_t
ngx_http_guildlog_page_decided(const ngx_str_t *said)
{
    ngx_uint_t  i;

    static const ngx_str_t  open[] = {
        ngx_string("held"), ngx_string("queued"), ngx_string("retrying"),
        ngx_string("in_flight")
    };

    switch (said[NGX_HTTP_GUILDLOG_SAID_STATUS].data[0]) {

    case 'd':
        return 1;

    case 'u':
        return 0;
    }

    for (i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        if (open[i].len == said[NGX_HTTP_GUILDLOG_SAID_REASON].len
            && ngx_memcmp(open[i].data,
                          said[NGX_HTTP_GUILDLOG_SAID_REASON].data,
                          open[i].len)
               == 0)
        {
            return 0;
        }
    }

    return 1;
}


/* NGX_ERROR: there is none */

static int64_t
ngx_http_guildlog_page_number(ngx_guildlog_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_result_value(result, row, column);

    return ngx_atoi(value.data, value.len);
}


size_t
ngx_http_guildlog_entries_size(ngx_guildlog_result_t *result)
{
    return ngx_guildlog_result_size(result)
           + result->rows * NGX_HTTP_GUILDLOG_PAGE_ROW;
}


u_char *
ngx_http_guildlog_entry(u_char *p, ngx_guildlog_result_t *result,
    ngx_uint_t row)
{
    ngx_str_t  doc, said[NGX_HTTP_GUILDLOG_SAID_LAST];

    ngx_http_guildlog_page_said(result, row, said);

    doc = ngx_guildlog_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    return ngx_http_guildlog_page_entry(p, &doc, said);
}


static u_char *
ngx_http_guildlog_page_entry(u_char *p, const ngx_str_t *doc,
    const ngx_str_t *said)
{
    ngx_uint_t  i;

    static const ngx_str_t  names[] = {
        ngx_string(",\"delivery\":{\"status\":"), ngx_string(",\"reason\":"),
        ngx_string(",\"channelId\":"), ngx_string(",\"messageId\":")
    };

    p = ngx_cpymem(p, doc->data, doc->len);

    for (i = 0; i < NGX_HTTP_GUILDLOG_SAID_LAST; i++) {
        p = ngx_http_guildlog_page_string(p, &names[i], &said[i]);
    }

    *p++ = '}';
    *p++ = '}';

    return p;
}


/* words and ids, in which nothing has to be escaped */

static u_char *
ngx_http_guildlog_page_string(u_char *p, const ngx_str_t *name,
    const ngx_str_t *value)
{
    p = ngx_cpymem(p, name->data, name->len);

    if (value->data == NULL) {
        return ngx_cpymem(p, "null", sizeof("null") - 1);
    }

    *p++ = '"';
    p = ngx_cpymem(p, value->data, value->len);
    *p++ = '"';

    return p;
}
