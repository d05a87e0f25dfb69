
/*
 * GET /logs: a page in pieces, or what a search found, becomes a LogPage.
 */

#include "http/ngx_http_guildlog_search.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
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


/* the arguments of a page in pieces, behind those that narrow it */

enum {
    PIECES_LIMIT = NGX_HTTP_GUILDLOG_FILTER_SEARCH,
    PIECES_CURSOR,
    PIECES_KNOWN,
    PIECES_PLACED,
    PIECES_ARGS
};


/* bytes of a page besides its head and its entries, at most */

#define PAGE_HEAD    1024

/* "retentionMs" and "walled" */
#define PAGE_WINDOW  (sizeof("\"retentionMs\":,\"walled\":false")              \
                      + NGX_INT64_LEN)


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


/* a delivery, in the order of the columns of a row */

enum {
    DELIVERY_STATUS = 0,
    DELIVERY_REASON,
    DELIVERY_CHANNEL,
    DELIVERY_MESSAGE,
    DELIVERY_LAST
};


/* and the place by which it is found */

enum {
    SAID_LANE = DELIVERY_LAST,
    SAID_SEQ,
    SAID_LAST
};


struct ngx_http_guildlog_page_s {
    ngx_str_t                      state;
    ngx_str_t                      body;
};


/* a page that is being written */

typedef struct {
    u_char                        *last;      /* there is room for all */
    ngx_uint_t                     n;         /* entries */
    unsigned                       undecided:1; /* a delivery may change
                                                   without a request */
} page_json_t;


static ngx_int_t page_found(ngx_http_guildlog_call_t *call);
static ngx_int_t page_head(ngx_http_guildlog_search_t *search, ngx_pool_t *pool,
    ngx_str_t *head);
static u_char *page_begin(u_char *p, int64_t total, const ngx_str_t *window,
    const int64_t *counts);
static ngx_int_t page_read(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t page_kept(ngx_http_guildlog_call_t *call);
static ngx_int_t page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, page_json_t *page, ngx_str_t *body);
static ngx_int_t page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t page_pieces(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_guildlog_pieces_t *pieces);
static ngx_int_t page_assemble(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_guildlog_pieces_t *pieces,
    page_json_t *page, ngx_str_t *body);
static u_char *page_end(page_json_t *page, int64_t total, int64_t last);
static ngx_int_t page_send(ngx_http_guildlog_call_t *call,
    const page_json_t *page, const ngx_str_t *state, ngx_str_t *body);
static ngx_int_t page_cache_recall(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
static ngx_int_t page_cache_key(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt);
static void log_json_row(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_str_t *delivery);
static void log_json_said(const ngx_str_t *text, ngx_str_t *said);
static ngx_int_t log_json_place(ngx_str_t *said,
    const ngx_guildlog_places_t *places);
static void log_json_add(page_json_t *page, const ngx_str_t *doc,
    const ngx_str_t *delivery);
static u_char *log_json_copy(u_char *p, const ngx_str_t *doc);
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

        *cursor = ngx_guildlog_digits(p, id);
    }

    if (ngx_http_guildlog_filter_finds(args)) {
        stmt = ngx_guildlog_stmt_logs_found;

    } else {
        stmt = ngx_guildlog_stmt_logs_pieces;
        call->nargs = ngx_http_guildlog_filter_narrow(args, call->nargs);
    }

    if (page_cache_recall(call, &ngx_guildlog_stmts[stmt]) != NGX_OK) {
        return NGX_ERROR;
    }

    if (stmt == ngx_guildlog_stmt_logs_found) {
        limit = ngx_atoi(args[PAGE_LIMIT].data, args[PAGE_LIMIT].len);

        /* the last argument is the state of a page that is kept */

        return ngx_http_guildlog_search_start(call, &args[PAGE_CURSOR],
                                              &args[call->nargs - 1], limit,
                                              page_found, page_read);
    }

    ngx_guildlog_assert(call->nargs == PIECES_PLACED);

    ngx_str_set(&args[PIECES_PLACED], "t");
    call->nargs = PIECES_ARGS;

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

    args[FOUND_TOTAL] = ngx_guildlog_digits(total, search->total);

    ngx_str_set(&args[FOUND_MORE], "f");

    if (search->total > search->limit) {
        ngx_str_set(&args[FOUND_MORE], "t");
    }

    args[FOUND_STATE] = search->head.state;

    ngx_str_null(&args[FOUND_ERASED]);

    if (search->head.erased >= 0) {
        args[FOUND_ERASED] = ngx_guildlog_digits(erased, search->head.erased);
    }

    call->nargs = FOUND_ARGS;

    return ngx_http_guildlog_call_ask(call, ngx_guildlog_stmt(logs_found),
                                      page_read);
}


/* what logs_page() begins a page with */

static ngx_int_t
page_head(ngx_http_guildlog_search_t *search, ngx_pool_t *pool, ngx_str_t *head)
{
    u_char       text[PAGE_WINDOW];
    int64_t      counts[NGX_GUILDLOG_CATEGORIES];
    ngx_str_t    window;
    ngx_uint_t   i;

    head->data = ngx_pnalloc(pool, PAGE_HEAD);
    if (head->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(counts, sizeof(counts));

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        counts[ngx_guildlog_type_category[i]] += search->result->counts[i];
    }

    window.data = text;
    window.len = ngx_sprintf(text, "\"retentionMs\":%L,\"walled\":%s",
                             search->head.retention,
                             search->head.walled ? "true" : "false")
                 - text;

    head->len = page_begin(head->data, search->total, &window, counts)
                - head->data;

    ngx_guildlog_assert(head->len <= PAGE_HEAD);

    return NGX_OK;
}


static u_char *
page_begin(u_char *p, int64_t total, const ngx_str_t *window,
    const int64_t *counts)
{
    ngx_uint_t   i;
    const char  *comma;

    p = ngx_sprintf(p, "{\"total\":%L,%V,\"categoryCounts\":{", total, window);
    comma = "";

    for (i = 0; i < NGX_GUILDLOG_CATEGORIES; i++) {
        if (counts[i]) {
            p = ngx_sprintf(p, "%s\"%s\":%L", comma,
                            ngx_guildlog_type_categories[i], counts[i]);
            comma = ",";
        }
    }

    *p++ = '}';

    return p;
}


/* the entries that were found; was one removed between two statements? */

static ngx_int_t
page_read(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_int_t    rc;
    ngx_str_t    body, more, state;
    ngx_uint_t   status;
    page_json_t  page;

    status = ngx_http_guildlog_response_log_status(result);

    if (call->page && status == NGX_HTTP_NOT_MODIFIED) {
        return page_kept(call);
    }

    if (status == NGX_HTTP_CONFLICT) {
        return ngx_http_guildlog_search_again(call);
    }

    if (status == NGX_HTTP_OK && result->rows <= call->search->nids) {

        /* the last row says whether it ends a page that has enough bytes */

        more = ngx_http_guildlog_log_text(result, result->rows - 1, MORE);

        if (result->rows == 1 || more.len == 0 || *more.data != 't') {
            return ngx_http_guildlog_search_again(call);
        }
    }

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (page_build(call, result, &page, &body) != NGX_OK) {
        return NGX_ERROR;
    }

    state = ngx_http_guildlog_log_text(result, 0, REASON);

    return page_send(call, &page, &state, &body);
}


/* the page is what it was */

static ngx_int_t
page_kept(ngx_http_guildlog_call_t *call)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog page: not changed");

    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_PAGES_KEPT, 1);

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK,
                                           &call->page->body);
}


/*
 * The room is reserved for the longest page, so writing checks no bounds.
 */

static ngx_int_t
page_build(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    page_json_t *page, ngx_str_t *body)
{
    int64_t     total, last;
    ngx_str_t   head, doc, delivery[DELIVERY_LAST];
    ngx_uint_t  row;

    body->data = ngx_pnalloc(call->request->pool,
                             PAGE_HEAD
                             + ngx_http_guildlog_log_json_size(result));
    if (body->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(page, sizeof(page_json_t));

    head = ngx_http_guildlog_log_text(result, 0, DOC);
    page->last = ngx_cpymem(body->data, head.data, head.len);
    page->last = ngx_cpymem(page->last, ",\"entries\":[",
                            sizeof(",\"entries\":[") - 1);

    for (row = 1; row < result->rows; row++) {
        doc = ngx_http_guildlog_log_text(result, row, DOC);
        log_json_row(result, row, delivery);
        log_json_add(page, &doc, delivery);
    }

    total = ngx_http_guildlog_log_number(result, 0, SEQ);

    last = ngx_http_guildlog_log_number(result, result->rows - 1, ID);

    body->len = page_end(page, total, last) - body->data;

    return NGX_OK;
}


static ngx_int_t
page_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_int_t               rc;
    ngx_str_t               body, state;
    page_json_t             page;
    ngx_guildlog_pieces_t  *pieces;

    if (call->page
        && ngx_http_guildlog_response_log_status(result)
           == NGX_HTTP_NOT_MODIFIED)
    {
        return page_kept(call);
    }

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    pieces = ngx_guildlog_pieces_create(call->request->pool);
    if (pieces == NULL) {
        return NGX_ERROR;
    }

    rc = page_pieces(call, result, pieces);

    if (rc == NGX_OK) {
        rc = page_assemble(call, result, pieces, &page, &body);
    }

    if (rc == NGX_BUSY) {

        /* the places lack that of an entry: each tells its delivery */

        ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                       "guildlog page: asks once more");

        ngx_str_null(&call->args[PIECES_KNOWN]);
        ngx_str_set(&call->args[PIECES_PLACED], "f");

        return ngx_http_guildlog_call_ask(call, ngx_guildlog_stmt(logs_pieces),
                                          page_answer);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    state = ngx_guildlog_db_result_value(result, 0,
                                         NGX_GUILDLOG_PIECE_TYPES);

    return page_send(call, &page, &state, &body);
}


static ngx_int_t
page_pieces(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    ngx_guildlog_pieces_t *pieces)
{
    ngx_int_t   rc;
    ngx_str_t   columns[NGX_GUILDLOG_PIECE_COLUMNS];
    ngx_uint_t  row, i;

    rc = NGX_OK;

    for (row = 1; row < result->rows && rc == NGX_OK; row++) {

        for (i = 0; i < NGX_GUILDLOG_PIECE_COLUMNS; i++) {
            columns[i] = ngx_guildlog_db_result_value(result, row, i);
        }

        rc = ngx_guildlog_pieces_add(pieces,
                                     ngx_guildlog_db_result_number(result, row,
                                                       NGX_GUILDLOG_PIECE_N),
                                     columns);
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "\"logs_pieces\" returned what is no piece of a page");
    }

    return rc;
}


/*
 * NGX_BUSY: the delivery of an entry is not known.  The room is reserved for
 * the longest page, so writing checks no bounds.
 */

static ngx_int_t
page_assemble(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    ngx_guildlog_pieces_t *pieces, page_json_t *page, ngx_str_t *body)
{
    int64_t                       total, limit, id;
    int64_t                       counts[NGX_GUILDLOG_CATEGORIES];
    ngx_int_t                     rc;
    ngx_str_t                     window, *arg, said[SAID_LAST];
    ngx_guildlog_places_t         places;
    ngx_guildlog_pieces_entry_t   entry;

    arg = &call->args[PIECES_LIMIT];
    limit = ngx_atoi(arg->data, arg->len);
    total = ngx_guildlog_pieces_total(pieces);

    rc = ngx_guildlog_pieces_places(pieces, &places);

    if (rc != NGX_OK) {
        return rc;
    }

    body->data = ngx_pnalloc(call->request->pool,
                             PAGE_HEAD + ngx_guildlog_db_result_size(result)
                             + ngx_min(limit, total)
                               * (LOG_JSON_ONE + places.longest));
    if (body->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(page, sizeof(page_json_t));

    window = ngx_guildlog_db_result_value(result, 0, NGX_GUILDLOG_PIECE_DOC);
    ngx_guildlog_pieces_categories(pieces, counts);

    page->last = page_begin(body->data, total, &window, counts);
    page->last = ngx_cpymem(page->last, ",\"entries\":[",
                            sizeof(",\"entries\":[") - 1);

    id = 0;

    while ((int64_t) page->n < limit) {

        rc = ngx_guildlog_pieces_next(pieces, &entry);

        if (rc == NGX_DONE) {
            break;
        }

        if (rc == NGX_OK) {
            log_json_said(&entry.said, said);
            rc = log_json_place(said, &places);
        }

        if (rc != NGX_OK) {
            return rc;
        }

        log_json_add(page, &entry.doc, said);
        id = entry.id;
    }

    body->len = page_end(page, total, id) - body->data;

    return NGX_OK;
}


/* last: the id of the last entry, behind which more follow */

static u_char *
page_end(page_json_t *page, int64_t total, int64_t last)
{
    u_char  *p;

    p = ngx_cpymem(page->last, "],\"cursor\":", sizeof("],\"cursor\":") - 1);

    if ((int64_t) page->n < total && page->n) {
        *p++ = '"';
        p = ngx_guildlog_cursor_encode(p, last);
        *p++ = '"';

    } else {
        p = ngx_cpymem(p, "null", sizeof("null") - 1);
    }

    *p++ = '}';

    return p;
}


/* a page is kept if it was asked for before */

static ngx_int_t
page_send(ngx_http_guildlog_call_t *call, const page_json_t *page,
    const ngx_str_t *state, ngx_str_t *body)
{
    u_char                    *p;
    ngx_http_guildlog_page_t  *kept;

    kept = NULL;

    if (!page->undecided && call->page_key.data && state->len) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                       "guildlog page cache: keeps %uz bytes", body->len);

        kept = ngx_guildlog_cache_store(ngx_http_guildlog_worker.pages,
                                        &call->page_key,
                                        sizeof(ngx_http_guildlog_page_t)
                                        + state->len + body->len, 0);
    }

    if (kept) {
        p = (u_char *) (kept + 1);

        kept->state.data = p;
        kept->state.len = state->len;
        p = ngx_cpymem(p, state->data, state->len);

        kept->body.data = p;
        kept->body.len = body->len;
        ngx_memcpy(p, body->data, body->len);
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, body);
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
    uint32_t             hash, *asked;
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

        } else {

            /* a page is kept from the second request on */

            hash = ngx_crc32_long(call->page_key.data, call->page_key.len);
            asked = &page_asked[hash % PAGE_ASKED];

            if (*asked != hash) {
                *asked = hash;
                ngx_str_null(&call->page_key);
            }
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
                            ngx_http_guildlog_log_json_size(result));
    if (body.data == NULL) {
        return NGX_ERROR;
    }

    body.len = ngx_http_guildlog_log_json_entry(body.data, result, 1)
               - body.data;

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}


/*
 * Writes entries: the document as it is stored, and what became of its
 * delivery.
 */

size_t
ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result)
{
    return ngx_guildlog_db_result_size(result) + result->rows * LOG_JSON_ONE;
}


u_char *
ngx_http_guildlog_log_json_entry(u_char *p, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    ngx_str_t  doc, delivery[DELIVERY_LAST];

    log_json_row(result, row, delivery);

    doc = ngx_http_guildlog_log_text(result, row, DOC);

    p = log_json_copy(p, &doc);

    return log_json_end(p, delivery);
}


static void
log_json_row(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_str_t *delivery)
{
    ngx_uint_t  i;

    for (i = 0; i < DELIVERY_LAST; i++) {
        delivery[i] = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_STATUS + i);
    }
}


/* parses the words of what is said of a delivery */

static void
log_json_said(const ngx_str_t *text, ngx_str_t *said)
{
    u_char     *p, *last;
    ngx_str_t  *word;

    ngx_memzero(said, SAID_LAST * sizeof(ngx_str_t));

    p = text->data;
    last = p + text->len;

    while (p < last) {

        if (*p <= ' ') {
            p++;
            continue;
        }

        switch (*p++) {

        case 'r':
            word = &said[DELIVERY_REASON];
            break;

        case 'c':
            word = &said[DELIVERY_CHANNEL];
            break;

        case 'm':
            word = &said[DELIVERY_MESSAGE];
            break;

        case 'l':
            word = &said[SAID_LANE];
            break;

        case 's':
            word = &said[SAID_SEQ];
            break;

        default:
            word = &said[DELIVERY_STATUS];
            p--;
        }

        word->data = p;

        while (p < last && *p > ' ') {
            p++;
        }

        word->len = p - word->data;
    }
}


/* finds the delivery: it is said, or that of its place; NGX_BUSY: it is not */

static ngx_int_t
log_json_place(ngx_str_t *said, const ngx_guildlog_places_t *places)
{
    ngx_int_t                           status;
    ngx_str_t                          *lane, *seq, *word;
    const ngx_guildlog_places_range_t  *range;

    lane = &said[SAID_LANE];
    seq = &said[SAID_SEQ];
    word = &said[DELIVERY_STATUS];

    if (word->data) {
        status = ngx_atoi(word->data, word->len);

    } else if (lane->data == NULL) {
        status = 0;
        ngx_str_set(&said[DELIVERY_REASON], "queued");

    } else {
        range = ngx_guildlog_places_find(places,
                                         ngx_atoi(lane->data, lane->len),
                                         ngx_atoi(seq->data, seq->len));
        if (range == NULL) {
            return NGX_BUSY;
        }

        status = range->status;
        said[DELIVERY_REASON] = range->reason;
        said[DELIVERY_MESSAGE] = range->message;
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
log_json_add(page_json_t *page, const ngx_str_t *doc,
    const ngx_str_t *delivery)
{
    if (page->n++) {
        *page->last++ = ',';
    }

    if (!log_json_decided(delivery)) {
        page->undecided = 1;
    }

    page->last = log_json_copy(page->last, doc);
    page->last = log_json_end(page->last, delivery);
}


/*
 * Without the hashes of pictures, which are for messages alone.  No text has
 * what they begin with, for its quotes are escaped.
 *
 * A document with changes, or another of the fields that few entries have, ends
 * with all of them.  The last one is an object or null; a string never ends in
 * bare quotes and null.
 */

static u_char *
log_json_copy(u_char *p, const ngx_str_t *doc)
{
    u_char  *from, *last, *found;

    static const ngx_str_t  avatar = ngx_string(",\"avatar\":\"");
    static const ngx_str_t  none = ngx_string(",\"changes\":null,"
                                     "\"until\":null,\"role_id\":null"
                                     ",\"image\":null");
    static const ngx_str_t  image = ngx_string(",\"image\":null");

    from = doc->data;
    last = doc->data + doc->len;

    while ((found = memmem(from, last - from, avatar.data, avatar.len))) {
        p = ngx_cpymem(p, from, found - from);
        from = ngx_strlchr(found + avatar.len, last, '"') + 1;
    }

    p = ngx_cpymem(p, from, last - from);

    if (p[-1] == '}'
        || (doc->len > image.len
            && ngx_memcmp(p - image.len, image.data, image.len) == 0))
    {
        return p;
    }

    return ngx_cpymem(p, none.data, none.len);
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
