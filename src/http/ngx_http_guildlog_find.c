
/*
 * How matches are found, top-down: search_open() says which segments there are.
 * search_tail() brings the documents that are in none of them, part by part.
 * Then the query says which slices of segments it wants, as often as it needs
 * to, and search_slices() brings them.
 *
 * Each statement has a snapshot of its own.  Segments never change.  Entries
 * that came later do not count.  Where a segment is gone, all begins again.
 */

#include "http/ngx_http_guildlog_find.h"
#include "http/ngx_http_guildlog_response.h"


/* how often it begins again */
#define FIND_AGAIN  3


static void find_cleanup(void *data);
static void find_forget(ngx_http_guildlog_find_t *find);
static ngx_int_t find_begin(ngx_http_guildlog_find_t *find);
static ngx_int_t find_opened(ngx_http_guildlog_find_t *find);
static ngx_int_t find_segments(ngx_http_guildlog_find_t *find);
static ngx_int_t find_tail(ngx_http_guildlog_find_t *find);
static ngx_int_t find_tail_read(ngx_http_guildlog_find_t *find);
static ngx_int_t find_docs(ngx_http_guildlog_find_t *find);
static ngx_int_t find_judge(ngx_http_guildlog_find_t *find);
static ngx_int_t find_pieces(ngx_http_guildlog_find_t *find);
static ngx_int_t find_done(ngx_http_guildlog_find_t *find);
static ngx_int_t find_bad(ngx_http_guildlog_find_t *find);
static ngx_int_t find_retry(ngx_http_guildlog_find_t *find);
static ngx_int_t find_fail(ngx_http_guildlog_find_t *find,
    ngx_guildlog_db_outcome_e outcome);


ngx_int_t
ngx_http_guildlog_find_start(ngx_http_guildlog_call_t *call,
    const ngx_str_t *below, const ngx_str_t *known, ngx_uint_t limit,
    ngx_http_guildlog_find_pt found)
{
    ngx_http_cleanup_t        *cln;
    ngx_http_request_t        *r;
    ngx_http_guildlog_find_t  *find;

    r = call->request;
    find = call->find;

    if (find == NULL) {
        find = ngx_pcalloc(r->pool, sizeof(ngx_http_guildlog_find_t));
        if (find == NULL) {
            return NGX_ERROR;
        }

        find->call = call;
        find->payer = ngx_guildlog_db_share_payer(&call->args[0],
                                                  &call->guild);
        ngx_memcpy(find->args, call->args, sizeof(find->args));

        if (ngx_http_guildlog_filter_read(&find->filter, r->pool, call->args)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        cln = ngx_http_cleanup_add(r, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        cln->handler = find_cleanup;
        cln->data = find;

        call->find = find;
    }

    find->below = *below;
    find->known = *known;
    find->limit = limit;
    find->found = found;
    find->tries = 0;
    find->work = find_begin;

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_http_guildlog_find_line_join(find);

    return NGX_AGAIN;
}


static void
find_cleanup(void *data)
{
    ngx_http_guildlog_find_t *find = data;

    ngx_http_guildlog_find_line_leave(find);
    find_forget(find);
}


static void
find_forget(ngx_http_guildlog_find_t *find)
{
    if (find->rows) {
        ngx_destroy_pool(find->rows);
        find->rows = NULL;
    }

    if (find->pool) {
        ngx_destroy_pool(find->pool);
        find->pool = NULL;
        find->result = NULL;
    }
}


static ngx_int_t
find_begin(ngx_http_guildlog_find_t *find)
{
    if (find->refused) {
        return find_fail(find, NGX_GUILDLOG_DB_SHARE_TAKEN);
    }

    find_forget(find);

    find->pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                                 find->call->request->connection->log);
    if (find->pool == NULL) {
        return NGX_ERROR;
    }

    if (ngx_array_init(&find->slices, find->pool, 16,
                       sizeof(ngx_guildlog_slice_t))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    find->next = find_opened;

    return ngx_http_guildlog_find_stmt_open(find);
}


/* the rows outlive the query, which ends with this handler */

ngx_int_t
ngx_http_guildlog_find_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_find_t  *find;

    find = call->find;

    if (find == NULL || find->next == NULL) {
        return NGX_DECLINED;
    }

    find->work = find->next;
    find->next = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        return NGX_DECLINED;
    }

    if (find->work == find_opened
        && ngx_http_guildlog_response_log_status(result) != NGX_HTTP_OK)
    {
        return NGX_DECLINED;
    }

    find->rows = ngx_create_pool(NGX_MIN_POOL_SIZE,
                                 call->request->connection->log);

    if (find->rows == NULL
        || ngx_guildlog_db_result_keep(result, find->rows) != NGX_OK)
    {
        return NGX_ERROR;
    }

    find->answer = *result;
    find->row = 0;

    ngx_http_guildlog_find_line_turn(find);

    return NGX_BUSY;
}


static ngx_int_t
find_opened(ngx_http_guildlog_find_t *find)
{
    if (ngx_http_guildlog_find_stmt_head(find) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, find->call->request->connection->log, 0,
                   "guildlog find: %ui segments, tail from %L to %L, and below "
                   "id %L", find->answer.rows - 1, find->head.arrival,
                   find->head.until, find->head.back_id);

    find->work = find_segments;

    return NGX_AGAIN;
}


static ngx_int_t
find_segments(ngx_http_guildlog_find_t *find)
{
    if (find->row == find->answer.rows) {
        find->tail.part = 0;
        return find_tail(find);
    }

    return ngx_http_guildlog_find_stmt_segment(find) == NGX_OK
           ? NGX_AGAIN : find_bad(find);
}


/*
 * What is in no segment: first the entries that arrived behind what is in
 * segments, then those that arrived before and are older than what is.
 */

static ngx_int_t
find_tail(ngx_http_guildlog_find_t *find)
{
    ngx_http_guildlog_find_head_t  *head;
    ngx_http_guildlog_find_tail_t  *tail;

    head = &find->head;
    tail = &find->tail;

    switch (tail->part++) {

    case 0:
        tail->by_arrival = 1;
        tail->high = head->high;
        tail->since = head->arrival;
        tail->until = head->until;
        break;

    case 1:
        tail->by_arrival = 0;
        tail->high = ngx_min(head->high, head->back_id);
        tail->since = 0;
        tail->until = head->back_arrival;
        break;

    default:
        find->work = find_judge;
        return NGX_AGAIN;
    }

    tail->at = tail->by_arrival ? tail->since : tail->high;

    if (head->low < tail->high && tail->since < tail->until) {
        return find_tail_read(find);
    }

    find->work = find_tail;

    return NGX_AGAIN;
}


static ngx_int_t
find_tail_read(ngx_http_guildlog_find_t *find)
{
    find->next = find_docs;

    return ngx_http_guildlog_find_stmt_tail(find);
}


/* without a last row the token is not valid any more */

static ngx_int_t
find_docs(ngx_http_guildlog_find_t *find)
{
    if (find->answer.rows == 0) {
        return find_retry(find);
    }

    if (find->row < find->answer.rows - 1) {
        return ngx_http_guildlog_find_stmt_doc(find) == NGX_OK ? NGX_AGAIN
                                                               : NGX_ERROR;
    }

    ngx_http_guildlog_find_stmt_next(find);

    return find->tail.at == NGX_ERROR ? find_tail(find)
                                      : find_tail_read(find);
}


static ngx_int_t
find_judge(ngx_http_guildlog_find_t *find)
{
    switch (ngx_guildlog_find_wants(find->result, &find->slices)) {

    case NGX_BUSY:
        return NGX_AGAIN;

    case NGX_AGAIN:
        find->next = find_pieces;
        return ngx_http_guildlog_find_stmt_slices(find);

    case NGX_OK:
        return find_done(find);

    default:
        return find_bad(find);
    }
}


static ngx_int_t
find_pieces(ngx_http_guildlog_find_t *find)
{
    if (find->answer.rows != find->slices.nelts) {
        return find_retry(find);
    }

    if (find->row == find->answer.rows) {
        find->work = find_judge;
        return NGX_AGAIN;
    }

    if (ngx_http_guildlog_find_stmt_piece(find) == NGX_OK) {
        return NGX_AGAIN;
    }

    return find->result->bad ? find_bad(find) : find_retry(find);
}


static ngx_int_t
find_done(ngx_http_guildlog_find_t *find)
{
    ngx_int_t                  rc;
    ngx_uint_t                 i;
    ngx_guildlog_find_t       *result;
    ngx_http_guildlog_call_t  *call;

    call = find->call;
    result = find->result;

    find->nids = result->nids;
    find->total = 0;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (find->filter.shown == NULL || find->filter.shown[i] == '1') {
            find->total += result->rest[i];
        }
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog find: %uL in all, %ui of them known",
                   find->total, find->nids);

    ngx_http_guildlog_find_line_leave(find);

    rc = find->found(call);

    find_forget(find);

    return rc;
}


/* the keeper makes the segments of that server anew */

static ngx_int_t
find_bad(ngx_http_guildlog_find_t *find)
{
    ngx_guildlog_find_t  *result;

    result = find->result;

    if (!result->bad) {
        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                  "segment %L of server %V is broken", result->bad_key,
                  &find->call->guild);

    find->next = find_retry;

    return ngx_http_guildlog_find_stmt_bad(find, result->bad_key);
}


/* begins again, some times */

static ngx_int_t
find_retry(ngx_http_guildlog_find_t *find)
{
    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, find->call->request->connection->log, 0,
                   "guildlog find: begins again, try %ui", find->tries);

    if (find->tries++ == FIND_AGAIN) {
        ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                      "a search was given up: its segments or entries "
                      "went away %ui times", find->tries);

        return find_fail(find, NGX_GUILDLOG_DB_UNAVAILABLE);
    }

    find->work = find_begin;

    return NGX_AGAIN;
}


ngx_int_t
ngx_http_guildlog_find_again(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_find_t  *find;

    find = call->find;

    find->begun = 1;
    find->work = find_retry;

    ngx_http_guildlog_find_line_join(find);

    return NGX_BUSY;
}


/* the endpoint answers as if a statement had ended so */

static ngx_int_t
find_fail(ngx_http_guildlog_find_t *find,
    ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_db_result_t   result;
    ngx_http_guildlog_call_t  *call;

    ngx_memzero(&result, sizeof(ngx_guildlog_db_result_t));
    result.outcome = outcome;

    call = find->call;

    return call->endpoint->answer(call, &result);
}


ngx_int_t
ngx_http_guildlog_find_ids(ngx_str_t *array, ngx_pool_t *pool,
    const int64_t *ids, ngx_uint_t n)
{
    u_char      *p;
    ngx_uint_t   i;

    p = ngx_pnalloc(pool, n * (NGX_INT64_LEN + 1) + sizeof("{}"));
    if (p == NULL) {
        return NGX_ERROR;
    }

    array->data = p;
    *p++ = '{';

    for (i = 0; i < n; i++) {
        p = ngx_sprintf(p, "%s%L", i ? "," : "", ids[i]);
    }

    *p++ = '}';
    array->len = p - array->data;

    return NGX_OK;
}
