
/*
 * GET /logs: the rows of a page become a LogPage.
 */

#include "http/ngx_http_guildlog_search.h"
#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "base/ngx_guildlog_json.h"
#include "log/ngx_guildlog_cursor.h"
#include "log/ngx_guildlog_language.h"


/* the arguments behind the filters */

#define PAGE_LIMIT     NGX_HTTP_GUILDLOG_FILTER_LAST
#define PAGE_CURSOR    (NGX_HTTP_GUILDLOG_FILTER_LAST + 1)


/* the arguments of a page of what was found */

enum {
    FOUND_IDS = NGX_HTTP_GUILDLOG_FILTER_AFTER,
    FOUND_HEAD,
    FOUND_TOTAL,
    FOUND_MORE,
    FOUND_STATE,
    FOUND_ERASED,
    FOUND_ARGS
};


/* the arguments of a page without filters, behind the times */

#define PLAIN_LIMIT   6
#define PLAIN_CURSOR  7
#define PLAIN_RANGES  8


/* bytes of a page besides its head and its entries, at most */

#define PAGE_HEAD  64


/* the key is all arguments from the guild on, without the token's kind */

#define KEY_FROM  1
#define KEY_KIND  3


/* hashes of keys that were asked for, at most */

#define PAGE_ASKED  4096


/* bytes of an entry besides the columns of its row, at most */

#define LOG_JSON_ONE                                                          \
    (sizeof(",,\"delivery\":{\"status\":\"not_delivered\",\"reason\":"        \
            "\"queued\",\"channelId\":null,\"messageId\":null}}") + 16        \
     + sizeof(",\"changes\":null,\"until\":null,\"role_id\":null,"            \
              "\"image\":null"))


/* a delivery, in the order of its columns */

enum {
    DELIVERY_STATUS = 0,
    DELIVERY_REASON,
    DELIVERY_CHANNEL,
    DELIVERY_MESSAGE,
    DELIVERY_LAST
};


/* and the place of an entry that shares its row with others */

enum {
    JOINED_LANE = DELIVERY_LAST,
    JOINED_SEQ,
    JOINED_LAST
};


struct ngx_http_guildlog_page_s {
    ngx_str_t                      state;
    ngx_str_t                      body;
};


static ngx_int_t page_found(ngx_http_guildlog_call_t *call);
static ngx_int_t page_head(ngx_http_guildlog_search_t *search, ngx_pool_t *pool,
    ngx_str_t *head);
static ngx_int_t page_read(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t page_again(ngx_http_guildlog_call_t *call, ngx_uint_t stmt);
static ngx_uint_t page_lacks(ngx_guildlog_db_result_t *result);
static ngx_int_t page_ranges(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_guildlog_places_t *ranges);
static ngx_int_t page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_http_guildlog_log_json_t *entries,
    ngx_str_t *body);
static ngx_int_t page_cache_recall(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
static ngx_int_t page_cache_key(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
static ngx_uint_t page_cache_asked(const ngx_str_t *key);
static void page_cache_put(ngx_str_t *key, const ngx_str_t *state,
    const ngx_str_t *body);
static ngx_uint_t log_json_count(ngx_guildlog_db_result_t *result,
    ngx_uint_t row);
static ngx_int_t log_json_add(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static void log_json_delivery(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_str_t *delivery);
static u_char *log_json_line(u_char *p, u_char *last, ngx_str_t *joined);
static ngx_int_t log_json_place(ngx_str_t *joined,
    const ngx_guildlog_places_t *ranges);
static void log_json_doc(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *doc);
static u_char *log_json_copy(u_char *p, const ngx_str_t *doc);
static void log_json_write(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *delivery);
static ngx_uint_t log_json_decided(const ngx_str_t *delivery);
static u_char *log_json_end(u_char *p, const ngx_str_t *delivery);


static uint32_t  page_asked[PAGE_ASKED];


/* by dstatus */

static const ngx_str_t  log_json_words[] = {
    ngx_string("not_delivered"),
    ngx_string("unknown"),
    ngx_string("delivered")
};


ngx_int_t
ngx_http_guildlog_page_start(ngx_http_guildlog_call_t *call)
{
    u_char      *p;
    int64_t      id;
    ngx_int_t    limit;
    ngx_str_t   *args, *cursor;
    ngx_uint_t   stmt;

    static const ngx_str_t  malformed =
        ngx_string("cursor: must be the cursor of the previous page");

    args = call->args;
    cursor = &args[PAGE_CURSOR];

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

    if (ngx_http_guildlog_filter_finds(args)) {
        stmt = ngx_guildlog_stmt_logs_found;

    } else if (args[NGX_HTTP_GUILDLOG_FILTER_CATEGORY].data
               || args[NGX_HTTP_GUILDLOG_FILTER_TYPE].data)
    {
        stmt = ngx_guildlog_stmt_logs_page;
        call->nargs = ngx_http_guildlog_filter_narrow(args, call->nargs);

    } else {
        stmt = ngx_guildlog_stmt_logs_plain;

        args[PLAIN_LIMIT] = args[PAGE_LIMIT];
        args[PLAIN_CURSOR] = args[PAGE_CURSOR];
        ngx_str_set(&args[PLAIN_RANGES], "t");

        call->nargs = PLAIN_RANGES + 1;
    }

    if (page_cache_recall(call, &ngx_guildlog_stmts[stmt]) != NGX_OK) {
        return NGX_ERROR;
    }

    if (stmt == ngx_guildlog_stmt_logs_found) {
        limit = ngx_atoi(args[PAGE_LIMIT].data, args[PAGE_LIMIT].len);

        /* the last argument is the state of a page that is kept */

        return ngx_http_guildlog_search_start(call, &args[PAGE_CURSOR],
                                              &args[call->nargs - 1], limit,
                                              page_found, page_answer);
    }

    if (stmt == ngx_guildlog_stmt_logs_plain) {
        ngx_str_set(&args[call->nargs], "t");
        call->nargs++;

        ngx_str_set(&args[call->nargs], ngx_value(NGX_GUILDLOG_STMT_BYTES));
        call->nargs++;
    }

    return ngx_http_guildlog_call_ask(call, &ngx_guildlog_stmts[stmt],
                                      page_answer);
}


static ngx_int_t
page_found(ngx_http_guildlog_call_t *call)
{
    u_char                       total[NGX_INT64_LEN], erased[NGX_INT64_LEN];
    ngx_str_t                   *args;
    ngx_pool_t                  *pool;
    ngx_http_guildlog_search_t  *search;

    search = call->search;
    pool = call->request->pool;
    args = call->args;

    if (ngx_http_guildlog_search_ids(&args[FOUND_IDS], pool,
                                     search->result->ids, search->nids)
        != NGX_OK
        || page_head(search, pool, &args[FOUND_HEAD]) != NGX_OK)
    {
        return NGX_ERROR;
    }

    args[FOUND_TOTAL].data = total;
    args[FOUND_TOTAL].len = ngx_sprintf(total, "%uL", search->total) - total;

    ngx_str_set(&args[FOUND_MORE], "f");

    if (search->total > search->limit) {
        ngx_str_set(&args[FOUND_MORE], "t");
    }

    args[FOUND_STATE] = search->head.state;

    ngx_str_null(&args[FOUND_ERASED]);

    if (search->head.erased >= 0) {
        args[FOUND_ERASED].data = erased;
        args[FOUND_ERASED].len = ngx_sprintf(erased, "%L", search->head.erased)
                                 - erased;
    }

    call->nargs = FOUND_ARGS;

    return page_again(call, ngx_guildlog_stmt_logs_found);
}


/* what logs_page() begins a page with */

static ngx_int_t
page_head(ngx_http_guildlog_search_t *search, ngx_pool_t *pool, ngx_str_t *head)
{
    uint64_t              n[NGX_GUILDLOG_CATEGORIES];
    ngx_uint_t            i;
    ngx_guildlog_json_t   w;

    ngx_memzero(n, sizeof(n));

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        n[ngx_guildlog_type_category[i]] += search->result->counts[i];
    }

    ngx_guildlog_json_init(&w, pool, 256);
    ngx_guildlog_json_begin(&w, '{');

    ngx_guildlog_json_key(&w, "total");
    ngx_guildlog_json_number(&w, search->total);
    ngx_guildlog_json_key(&w, "retentionMs");
    ngx_guildlog_json_number(&w, search->head.retention);
    ngx_guildlog_json_key(&w, "walled");
    ngx_guildlog_json_bool(&w, search->head.walled);
    ngx_guildlog_json_key(&w, "categoryCounts");
    ngx_guildlog_json_begin(&w, '{');

    for (i = 0; i < NGX_GUILDLOG_CATEGORIES; i++) {
        if (n[i]) {
            ngx_guildlog_json_key(&w, ngx_guildlog_type_categories[i]);
            ngx_guildlog_json_number(&w, n[i]);
        }
    }

    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, head);
}


/* the entries that were found; was one removed between two statements? */

static ngx_int_t
page_read(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_str_t   more;
    ngx_uint_t  status;

    status = ngx_http_guildlog_response_log_status(result);

    if (status == NGX_HTTP_CONFLICT) {
        return ngx_http_guildlog_search_again(call);
    }

    if (status == NGX_HTTP_OK && result->rows <= call->search->nids) {

        /* the last row says whether it ends a page that has enough bytes */

        more = ngx_guildlog_db_result_value(result, result->rows - 1,
                                            NGX_HTTP_GUILDLOG_LOG_MORE);

        if (result->rows == 1 || more.len == 0 || *more.data != 't') {
            return ngx_http_guildlog_search_again(call);
        }
    }

    return page_answer(call, result);
}


static ngx_int_t
page_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
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

    if (page_lacks(result)) {
        return page_again(call, ngx_guildlog_stmt_logs_bound);
    }

    if (page_ranges(call, result, &ranges) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&entries, sizeof(ngx_http_guildlog_log_json_t));
    entries.ranges = &ranges;

    rc = page_build(call, result, &entries, &body);

    /* the ranges lack the place of an entry: each entry tells its delivery */

    if (rc == NGX_DECLINED) {
        call->nargs = PLAIN_RANGES;
        return page_again(call, ngx_guildlog_stmt_logs_whole);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (!entries.undecided) {
        state = ngx_guildlog_db_result_value(result, 0,
                                             NGX_HTTP_GUILDLOG_LOG_REASON);

        /* kept if it was asked for before */

        if (call->page_key.data && state.len) {
            ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->request->connection->log,
                           0, "guildlog page cache: keeps %uz bytes", body.len);

            page_cache_put(&call->page_key, &state, &body);
        }
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}


static ngx_int_t
page_again(ngx_http_guildlog_call_t *call, ngx_uint_t stmt)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog page: asks once more");

    return ngx_http_guildlog_call_ask(call, &ngx_guildlog_stmts[stmt],
                                      call->search ? page_read : page_answer);
}


/* did the database leave out a document, because it is too long? */

static ngx_uint_t
page_lacks(ngx_guildlog_db_result_t *result)
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
page_ranges(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    ngx_guildlog_places_t *ranges)
{
    int64_t                      status, message;
    ngx_str_t                    doc;
    ngx_uint_t                   row, rows;
    ngx_guildlog_places_range_t  range;

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
        range.lane = ngx_guildlog_db_result_number(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_LANE);
        range.first = ngx_guildlog_db_result_number(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_ID);
        range.last = ngx_guildlog_db_result_number(result, row,
                                                NGX_HTTP_GUILDLOG_LOG_SEQ);
        status = ngx_guildlog_db_result_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_DSTATUS);

        if (status == NGX_ERROR) {
            message = ngx_guildlog_db_result_number(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_MESSAGE);
            ngx_guildlog_places_add_lane(ranges, range.lane, range.first,
                                         range.last, message);
            continue;
        }

        range.status = status;
        range.reason = ngx_guildlog_db_result_value(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_REASON);
        range.message = ngx_guildlog_db_result_value(result, row,
                                               NGX_HTTP_GUILDLOG_LOG_MESSAGE);

        ngx_guildlog_places_add(ranges, &range);
    }

    ngx_guildlog_places_sort(ranges);

    result->rows = rows;

    return NGX_OK;
}


/*
 * The room is reserved for the longest page, so writing checks no bounds.
 * NGX_DECLINED: the delivery of an entry is not known.
 */

static ngx_int_t
page_build(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    ngx_http_guildlog_log_json_t *entries, ngx_str_t *body)
{
    u_char     *p;
    int64_t     id, total;
    ngx_int_t   rc;
    ngx_str_t   head;
    ngx_uint_t  row;

    p = ngx_pnalloc(call->request->pool,
                    PAGE_HEAD
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
        rc = log_json_add(entries, result, row);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    p = entries->last;
    p = ngx_cpymem(p, "],\"cursor\":", sizeof("],\"cursor\":") - 1);

    total = ngx_guildlog_db_result_number(result, 0, NGX_HTTP_GUILDLOG_LOG_SEQ);

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


/*
 * Pages that are asked for again: a worker keeps them, and asks the database
 * only whether one has changed.
 */

/*
 * Looks for the page of these arguments in the cache: sets call->page and
 * call->page_key, and appends the page's state to the arguments (null without
 * a page).  NGX_ERROR: out of memory.
 */

static ngx_int_t
page_cache_recall(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt)
{
    ngx_str_t           *known;
    ngx_pool_cleanup_t  *cln;

    known = &call->args[call->nargs];
    ngx_str_null(known);

    if (ngx_http_guildlog_worker.pages) {

        if (page_cache_key(call, stmt) != NGX_OK) {
            return NGX_ERROR;
        }

        cln = ngx_pool_cleanup_add(call->request->pool, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        call->page = ngx_guildlog_cache_find(ngx_http_guildlog_worker.pages,
                                             &call->page_key);
        if (call->page) {
            ngx_guildlog_cache_hold(call->page);

            cln->handler = ngx_guildlog_cache_release;
            cln->data = call->page;
            *known = call->page->state;

        } else if (!page_cache_asked(&call->page_key)) {
            ngx_str_null(&call->page_key);
        }
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog page cache: %s",
                   call->page ? "known" : "not known");

    call->nargs++;

    return NGX_OK;
}


static ngx_int_t
page_cache_key(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt)
{
    u_char      *p;
    size_t       len;
    ngx_str_t   *arg;
    ngx_uint_t   i;

    len = 2 * NGX_INT_T_LEN + 1;

    for (i = KEY_FROM; i < call->nargs; i++) {
        len += NGX_INT_T_LEN + 2 + call->args[i].len;
    }

    p = ngx_pnalloc(call->request->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    call->page_key.data = p;
    p = ngx_sprintf(p, "%ui %ui", call->conf->database->index, stmt->index);

    for (i = KEY_FROM; i < call->nargs; i++) {
        arg = &call->args[i];

        if (i == KEY_KIND) {
            continue;
        }

        p = arg->data ? ngx_sprintf(p, " %uz:%V", arg->len, arg)
                      : ngx_cpymem(p, " -", 2);
    }

    call->page_key.len = p - call->page_key.data;

    return NGX_OK;
}


/*
 * 1: the key was asked for before.  The call remembers the key, so that a page
 * is kept from the second request on.
 */

static ngx_uint_t
page_cache_asked(const ngx_str_t *key)
{
    uint32_t  hash, *asked;

    hash = ngx_crc32_long(key->data, key->len);
    asked = &page_asked[hash % PAGE_ASKED];

    if (*asked == hash) {
        return 1;
    }

    *asked = hash;

    return 0;
}


static void
page_cache_put(ngx_str_t *key, const ngx_str_t *state, const ngx_str_t *body)
{
    u_char                    *p;
    ngx_http_guildlog_page_t  *page;

    page = ngx_guildlog_cache_store(ngx_http_guildlog_worker.pages, key,
                                    sizeof(ngx_http_guildlog_page_t)
                                    + state->len + body->len, 0);
    if (page == NULL) {
        return;
    }

    p = (u_char *) (page + 1);

    page->state.data = p;
    page->state.len = state->len;
    p = ngx_cpymem(p, state->data, state->len);

    page->body.data = p;
    page->body.len = body->len;
    ngx_memcpy(p, body->data, body->len);
}


/*
 * GET /logs/{id}: one entry.
 */

ngx_int_t
ngx_http_guildlog_entry_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;
    ngx_str_t  body;

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (result->rows == 1) {
        return call->standby
               ? ngx_http_guildlog_call_primary(call, result)
               : ngx_http_guildlog_response_error(call->request,
                                                  NGX_HTTP_NOT_FOUND, NULL);
    }

    body.data = ngx_pnalloc(call->request->pool,
                            ngx_http_guildlog_log_json_size(result, NULL));
    if (body.data == NULL) {
        return NGX_ERROR;
    }

    body.len = ngx_http_guildlog_log_json_entry(body.data, result, 1)
               - body.data;

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}


/*
 * Writes the entries of a result: the document as it is stored, and what became
 * of its delivery.
 */

size_t
ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result,
    const ngx_guildlog_places_t *ranges)
{
    size_t      size;
    ngx_uint_t  row, n;

    size = ngx_guildlog_db_result_size(result);

    if (ranges == NULL) {
        return size + result->rows * LOG_JSON_ONE;
    }

    n = result->rows;

    for (row = 1; row < result->rows; row++) {
        n += log_json_count(result, row);
    }

    return size + n * (LOG_JSON_ONE + ranges->longest);
}


/* how many entries that row has; 0: it is a single one, in columns */

static ngx_uint_t
log_json_count(ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    int64_t  n;

    n = ngx_guildlog_db_result_number(result, row, NGX_HTTP_GUILDLOG_LOG_SEQ);

    return n == NGX_ERROR ? 0 : n;
}


u_char *
ngx_http_guildlog_log_json_entry(u_char *p, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    ngx_str_t  doc, delivery[DELIVERY_LAST];

    log_json_delivery(result, row, delivery);

    doc = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    p = log_json_copy(p, &doc);

    return log_json_end(p, delivery);
}


/*
 * Appends the entries of a row.  NGX_DECLINED: the ranges lack the place of an
 * entry, so its delivery is not known.
 */

static ngx_int_t
log_json_add(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    u_char      *p, *last;
    ngx_int_t    rc;
    ngx_str_t    text, doc, line, same, delivery[DELIVERY_LAST],
                 joined[JOINED_LAST];
    ngx_uint_t   n;

    text = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    log_json_delivery(result, row, delivery);

    if (delivery[DELIVERY_STATUS].data) {
        log_json_doc(entries, &text);
        log_json_write(entries, delivery);
        return NGX_OK;
    }

    p = text.data;
    last = text.data + text.len;
    line.len = 0;

    for (n = log_json_count(result, row); n; n--) {
        doc.data = p;

        p = memchr(p, '\t', last - p);
        if (p == NULL) {
            return NGX_ERROR;
        }

        doc.len = p++ - doc.data;
        log_json_doc(entries, &doc);

        /* most often the delivery is the same as before */

        if (line.len && line.len <= (size_t) (last - p)
            && ngx_memcmp(p, line.data, line.len) == 0)
        {
            entries->last = ngx_cpymem(entries->last, same.data, same.len);
            p += line.len;
            continue;
        }

        line.data = p;
        p = log_json_line(p, last, joined);
        line.len = p - line.data;

        rc = log_json_place(joined, entries->ranges);

        if (rc != NGX_OK) {
            return rc;
        }

        same.data = entries->last;
        log_json_write(entries, joined);
        same.len = entries->last - same.data;
    }

    return p == last ? NGX_OK : NGX_ERROR;
}


static void
log_json_delivery(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_str_t *delivery)
{
    ngx_uint_t  i;

    for (i = 0; i < DELIVERY_LAST; i++) {
        delivery[i] = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_STATUS + i);
    }
}


/* parses the words of a line; returns where the next line begins */

static u_char *
log_json_line(u_char *p, u_char *last, ngx_str_t *joined)
{
    ngx_str_t  *word;

    ngx_memzero(joined, JOINED_LAST * sizeof(ngx_str_t));

    while (p < last && *p != '\n') {

        if (*p <= ' ') {
            p++;
            continue;
        }

        switch (*p++) {

        case 'r':
            word = &joined[DELIVERY_REASON];
            break;

        case 'c':
            word = &joined[DELIVERY_CHANNEL];
            break;

        case 'm':
            word = &joined[DELIVERY_MESSAGE];
            break;

        case 'l':
            word = &joined[JOINED_LANE];
            break;

        case 's':
            word = &joined[JOINED_SEQ];
            break;

        default:
            word = &joined[DELIVERY_STATUS];
            p--;
        }

        word->data = p;

        while (p < last && *p > ' ') {
            p++;
        }

        word->len = p - word->data;
    }

    return p < last ? p + 1 : p;
}


/* finds the delivery of an entry: in its line, or by its place in a lane */

static ngx_int_t
log_json_place(ngx_str_t *joined, const ngx_guildlog_places_t *ranges)
{
    ngx_int_t                           status;
    ngx_str_t                          *lane, *seq, *word;
    const ngx_guildlog_places_range_t  *range;

    lane = &joined[JOINED_LANE];
    seq = &joined[JOINED_SEQ];
    word = &joined[DELIVERY_STATUS];

    if (word->data) {
        status = ngx_atoi(word->data, word->len);

    } else if (lane->data == NULL) {
        status = 0;
        ngx_str_set(&joined[DELIVERY_REASON], "queued");

    } else {
        range = ngx_guildlog_places_find(ranges,
                                         ngx_atoi(lane->data, lane->len),
                                         ngx_atoi(seq->data, seq->len));
        if (range == NULL) {
            return NGX_DECLINED;
        }

        status = range->status;
        joined[DELIVERY_REASON] = range->reason;
        joined[DELIVERY_MESSAGE] = range->message;
    }

    if ((size_t) status >= sizeof(log_json_words)
                           / sizeof(log_json_words[0]))
    {
        return NGX_ERROR;
    }

    *word = log_json_words[status];

    return NGX_OK;
}


static void
log_json_doc(ngx_http_guildlog_log_json_t *entries, const ngx_str_t *doc)
{
    if (entries->n++) {
        *entries->last++ = ',';
    }

    entries->last = log_json_copy(entries->last, doc);
}


/*
 * A document with changes, or another of the fields that few entries have, ends
 * with all of them.  The last one is an object or null; a string never ends in
 * bare quotes and null.
 */

static u_char *
log_json_copy(u_char *p, const ngx_str_t *doc)
{
    static const ngx_str_t  none = ngx_string(",\"changes\":null,"
                                     "\"until\":null,\"role_id\":null"
                                     ",\"image\":null");
    static const ngx_str_t  last = ngx_string(",\"image\":null");

    p = ngx_cpymem(p, doc->data, doc->len);

    if (p[-1] == '}'
        || (doc->len > last.len
            && ngx_memcmp(p - last.len, last.data, last.len) == 0))
    {
        return p;
    }

    return ngx_cpymem(p, none.data, none.len);
}


static void
log_json_write(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *delivery)
{
    if (!log_json_decided(delivery)) {
        entries->undecided = 1;
    }

    entries->last = log_json_end(entries->last, delivery);
}


/* can the delivery no longer change without a request? */

static ngx_uint_t
log_json_decided(const ngx_str_t *delivery)
{
    ngx_uint_t  i;

    static const ngx_str_t  open[] = {
        ngx_string("held"), ngx_string("queued"), ngx_string("retrying"),
        ngx_string("in_flight")
    };

    switch (delivery[DELIVERY_STATUS].data[0]) {

    case 'd':
        return 1;

    case 'u':
        return 0;
    }

    for (i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        if (ngx_guildlog_str_eq(&open[i], &delivery[DELIVERY_REASON])) {
            return 0;
        }
    }

    return 1;
}


/* words and ids, in which nothing has to be escaped */

static u_char *
log_json_end(u_char *p, const ngx_str_t *delivery)
{
    ngx_uint_t  i;

    static const ngx_str_t  names[] = {
        ngx_string(",\"delivery\":{\"status\":"), ngx_string(",\"reason\":"),
        ngx_string(",\"channelId\":"), ngx_string(",\"messageId\":")
    };

    for (i = 0; i < DELIVERY_LAST; i++) {
        p = ngx_cpymem(p, names[i].data, names[i].len);

        if (delivery[i].data == NULL) {
            p = ngx_cpymem(p, "null", sizeof("null") - 1);
            continue;
        }

        *p++ = '"';
        p = ngx_cpymem(p, delivery[i].data, delivery[i].len);
        *p++ = '"';
    }

    *p++ = '}';
    *p++ = '}';

    return p;
}
