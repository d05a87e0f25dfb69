
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
#include "base/ngx_guildlog_json.h"
#include "search/ngx_guildlog_kept.h"
#include "log/ngx_guildlog_language.h"


/* how often it begins again */
#define FIND_AGAIN  3


#define LINE_MOMENT  500    /* us */


#define TAIL_PART  262144    /* bytes of a part, about */


/* the arguments of each, behind the token, the server, the bot and the kind */

enum {
    OPEN_AFTER = 4,
    OPEN_BEFORE,
    OPEN_BELOW,
    OPEN_KNOWN,
    OPEN_ARGS
};

enum {
    TAIL_BY_ARRIVAL = 4,
    TAIL_LOW,
    TAIL_HIGH,
    TAIL_SINCE,
    TAIL_UNTIL,
    TAIL_AT,
    TAIL_CHANNEL,
    TAIL_MEMBER,
    TAIL_SIDE,
    TAIL_BYTES,
    TAIL_ARGS
};

enum {
    SLICES_DAYS = 4,
    SLICES_KEYS,
    SLICES_FROMS,
    SLICES_LENS,
    SLICES_ARGS
};

enum {
    BAD_KEY = 4,
    BAD_ARGS
};


/* their columns */

enum {
    OPEN_KEY = 0,    /* in the head: the status */
    OPEN_DAY,
    OPEN_N,
    OPEN_KINDS,
    OPEN_DIR,
    OPEN_HEAD
};

enum {
    TAIL_ID = 0,     /* in the last row: where it goes on */
    TAIL_DOC
};

enum {
    SLICES_PLACE = 0,
    SLICES_PIECE
};


/* more bytes than a quoted number or name of a category has */
#define FILTER_ITEM  64


static void find_cleanup(void *data);
static void find_forget(ngx_http_guildlog_find_t *find);
static ngx_int_t find_begin(ngx_http_guildlog_find_t *find);
static ngx_int_t find_came(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t find_opened(ngx_http_guildlog_find_t *find);
static ngx_int_t find_segments(ngx_http_guildlog_find_t *find);
static ngx_int_t find_tail(ngx_http_guildlog_find_t *find);
static ngx_int_t find_tail_read(ngx_http_guildlog_find_t *find);
static ngx_int_t find_docs(ngx_http_guildlog_find_t *find);
static ngx_int_t find_judge(ngx_http_guildlog_find_t *find);
static ngx_int_t find_slices(ngx_http_guildlog_find_t *find);
static ngx_int_t find_pieces(ngx_http_guildlog_find_t *find);
static ngx_int_t find_bad(ngx_http_guildlog_find_t *find);
static ngx_int_t find_retry(ngx_http_guildlog_find_t *find);
static ngx_int_t find_fail(ngx_http_guildlog_find_t *find,
    ngx_guildlog_db_outcome_e outcome);
static ngx_int_t find_ask(ngx_http_guildlog_find_t *find, ngx_uint_t stmt,
    ngx_uint_t nargs);
static int64_t find_number(ngx_http_guildlog_find_t *find, ngx_uint_t column);
static ngx_str_t find_value(ngx_http_guildlog_find_t *find, ngx_uint_t column);
static void find_line_join(ngx_http_guildlog_find_t *find);
static ngx_uint_t line_same(ngx_http_guildlog_find_t *find,
    ngx_http_guildlog_find_t *other);
static void line_work(ngx_http_guildlog_find_t *find);
static void line_refuse(ngx_http_guildlog_find_t *find);
static void line_expired(ngx_event_t *ev);
static void find_line_leave(ngx_http_guildlog_find_t *find);
static void find_line_turn(ngx_http_guildlog_find_t *find);
static void line_handler(ngx_event_t *ev);
static ngx_int_t kept_get(void *data, int64_t key, ngx_str_t *strings);
static void kept_put(void *data, int64_t key,
    int32_t day, const ngx_str_t *strings);
static void kept_expire(ngx_event_t *ev);
static ngx_uint_t filter_has(const ngx_str_t *array, const char *item);
static int64_t filter_number(const ngx_str_t *arg, int64_t none);


static struct {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    all;        /* of this worker, as they
                                                  came */
    ngx_queue_t                    turns;
    ngx_event_t                    event;
} line;


#define number_of(name, field)                                                \
    { name, offsetof(ngx_http_guildlog_find_head_t, field) }


static const struct {
    const char                    *name;
    size_t                         offset;
} head_numbers[] = {
    number_of("low", low), number_of("high", high),
    number_of("top", top), number_of("retention", retention),
    number_of("arrival", arrival), number_of("until", until),
    number_of("backId", back_id), number_of("backArrival", back_arrival)
};


static ngx_event_t       kept_timer;
static ngx_connection_t  kept_dumb;


ngx_int_t
ngx_http_guildlog_find_start(ngx_http_guildlog_call_t *call,
    const ngx_str_t *below, const ngx_str_t *known, ngx_uint_t limit,
    ngx_http_guildlog_find_pt found, ngx_http_guildlog_result_pt failed)
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
    find->failed = failed;
    find->tries = 0;
    find->work = find_begin;

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    find_line_join(find);

    return NGX_AGAIN;
}


static void
find_cleanup(void *data)
{
    ngx_http_guildlog_find_t *find = data;

    find_line_leave(find);
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
    ngx_str_t  *args;

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

    args = find->call->args;

    args[OPEN_AFTER] = find->args[NGX_HTTP_GUILDLOG_FILTER_AFTER];
    args[OPEN_BEFORE] = find->args[NGX_HTTP_GUILDLOG_FILTER_BEFORE];
    args[OPEN_BELOW] = find->below;
    args[OPEN_KNOWN] = find->known;

    find->work = find_opened;

    return find_ask(find, ngx_guildlog_stmt_search_open, OPEN_ARGS);
}


/* the rows outlive the query, which ends with this handler */

static ngx_int_t
find_came(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_find_t  *find;

    find = call->find;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS
        || (find->work == find_opened
            && ngx_http_guildlog_response_log_status(result) != NGX_HTTP_OK))
    {
        return find->failed(call, result);
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

    find_line_turn(find);

    return NGX_AGAIN;
}


/* the first row is the head, the others are segments */

static ngx_int_t
find_opened(ngx_http_guildlog_find_t *find)
{
    size_t                          i;
    json_t                         *json, *value, *gone;
    ngx_str_t                       text, error;
    ngx_guildlog_find_t            *result;
    ngx_http_guildlog_find_head_t  *head;

    head = &find->head;
    text = find_value(find, OPEN_HEAD);
    json = text.data ? ngx_guildlog_json_parse(find->pool, &text, &error)
                     : NULL;
    find->row++;

    for (i = 0; i < sizeof(head_numbers) / sizeof(head_numbers[0]); i++) {
        value = json_object_get(json, head_numbers[i].name);

        if (!json_is_integer(value)) {
            ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                          "\"search_open\" returned no head");
            return NGX_ERROR;
        }

        *(int64_t *) ((u_char *) head + head_numbers[i].offset) =
                                                   json_integer_value(value);
    }

    value = json_object_get(json, "erased");

    head->erased = json_is_integer(value) ? json_integer_value(value) : -1;
    head->walled = json_is_true(json_object_get(json, "walled"));
    head->state = ngx_guildlog_json_text(json_object_get(json, "state"));

    result = ngx_guildlog_find_create(find->pool, &find->filter.match,
                                      head->low, head->high, head->top,
                                      find->limit);
    if (result == NULL) {
        return NGX_ERROR;
    }

    result->shown = find->filter.shown;
    find->result = result;

    if (ngx_http_guildlog_worker.kept) {
        result->strings_get = kept_get;
        result->strings_put = kept_put;
        result->strings_data = find;
    }

    gone = json_object_get(json, "gone");

    json_array_foreach(gone, i, value) {
        if (ngx_guildlog_find_gone(result, json_integer_value(value))
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, find->call->request->connection->log, 0,
                   "guildlog find: %ui segments, tail from %L to %L, and below "
                   "id %L", find->answer.rows - 1, head->arrival, head->until,
                   head->back_id);

    find->work = find_segments;

    return NGX_BUSY;
}


static ngx_int_t
find_segments(ngx_http_guildlog_find_t *find)
{
    int64_t    key, day, n;
    ngx_str_t  kinds, dir;

    if (find->row == find->answer.rows) {
        find->tail.part = 0;
        return find_tail(find);
    }

    key = find_number(find, OPEN_KEY);
    day = find_number(find, OPEN_DAY);
    n = find_number(find, OPEN_N);
    kinds = find_value(find, OPEN_KINDS);
    dir = find_value(find, OPEN_DIR);

    find->row++;

    if (ngx_guildlog_find_segment(find->result, key, (int32_t) day,
                                  (ngx_uint_t) n, &kinds, &dir)
        != NGX_OK)
    {
        return find_bad(find);
    }

    return NGX_BUSY;
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
        return NGX_BUSY;
    }

    tail->at = tail->by_arrival ? tail->since : tail->high;

    if (head->low < tail->high && tail->since < tail->until) {
        return find_tail_read(find);
    }

    find->work = find_tail;

    return NGX_BUSY;
}


static ngx_int_t
find_tail_read(ngx_http_guildlog_find_t *find)
{
    u_char       buf[5][NGX_INT64_LEN];
    ngx_str_t   *args, *arg;
    ngx_uint_t   i;

    const int64_t  numbers[] = {
        find->head.low, find->tail.high, find->tail.since, find->tail.until,
        find->tail.at
    };

    args = find->call->args;

    ngx_str_set(&args[TAIL_BY_ARRIVAL], "f");

    if (find->tail.by_arrival) {
        ngx_str_set(&args[TAIL_BY_ARRIVAL], "t");
    }

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        arg = &args[TAIL_LOW + i];
        arg->data = buf[i];
        arg->len = ngx_sprintf(buf[i], "%L", numbers[i]) - buf[i];
    }

    args[TAIL_CHANNEL] = find->args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL];
    args[TAIL_MEMBER] = find->args[NGX_HTTP_GUILDLOG_FILTER_MEMBER];
    args[TAIL_SIDE] = find->args[NGX_HTTP_GUILDLOG_FILTER_SIDE];

    ngx_str_set(&args[TAIL_BYTES], ngx_value(TAIL_PART));

    find->work = find_docs;

    return find_ask(find, ngx_guildlog_stmt_search_tail, TAIL_ARGS);
}


/*
 * The last row says where the next part begins.  Without it the token is not
 * valid any more.
 */

static ngx_int_t
find_docs(ngx_http_guildlog_find_t *find)
{
    int64_t    id;
    ngx_int_t  rc;
    ngx_str_t  doc;

    if (find->answer.rows == 0) {
        return find_retry(find);
    }

    id = find_number(find, TAIL_ID);

    if (find->row == find->answer.rows - 1) {
        find->tail.at = id;
        return id == NGX_ERROR ? find_tail(find) : find_tail_read(find);
    }

    doc = find_value(find, TAIL_DOC);

    find->row++;

    rc = ngx_guildlog_find_doc(find->result, id, &doc);

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                      "a search cannot read the entry %L", id);
        return NGX_BUSY;
    }

    return rc == NGX_OK ? NGX_BUSY : NGX_ERROR;
}


static ngx_int_t
find_judge(ngx_http_guildlog_find_t *find)
{
    ngx_int_t             rc;
    ngx_uint_t            i;
    ngx_guildlog_find_t  *result;

    result = find->result;

    switch (ngx_guildlog_find_wants(result, &find->slices)) {

    case NGX_OK:
        break;

    case NGX_BUSY:
        return NGX_BUSY;

    case NGX_AGAIN:
        return find_slices(find);

    default:
        return find_bad(find);
    }

    find->nids = result->nids;
    find->total = 0;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (find->filter.shown == NULL || find->filter.shown[i] == '1') {
            find->total += result->rest[i];
        }
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, find->call->request->connection->log, 0,
                   "guildlog find: %uL in all, %ui of them known",
                   find->total, find->nids);

    find_line_leave(find);

    rc = find->found(find->call);

    find_forget(find);

    return rc;
}


static ngx_int_t
find_slices(ngx_http_guildlog_find_t *find)
{
    u_char                *p[4];
    ngx_int_t              rc;
    ngx_str_t             *args;
    ngx_uint_t             i, n;
    ngx_pool_t            *pool;
    ngx_guildlog_slice_t  *slice;

    n = find->slices.nelts;
    slice = find->slices.elts;
    args = &find->call->args[SLICES_DAYS];

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                           find->call->request->connection->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < 4; i++) {
        p[i] = ngx_pnalloc(pool, n * (NGX_INT64_LEN + 1) + 1);
        if (p[i] == NULL) {
            ngx_destroy_pool(pool);
            return NGX_ERROR;
        }

        args[i].data = p[i];
    }

    for (i = 0; i < n; i++, slice++) {
        p[0] = ngx_sprintf(p[0], ",%D", slice->day);
        p[1] = ngx_sprintf(p[1], ",%L", slice->key);
        p[2] = ngx_sprintf(p[2], ",%uD", slice->from);
        p[3] = ngx_sprintf(p[3], ",%uD", slice->len);
    }

    for (i = 0; i < 4; i++) {
        *args[i].data = '{';
        *p[i]++ = '}';
        args[i].len = p[i] - args[i].data;
    }

    find->work = find_pieces;

    rc = find_ask(find, ngx_guildlog_stmt_search_slices, SLICES_ARGS);

    ngx_destroy_pool(pool);

    return rc;
}


/* the place 0 says that the token is not valid any more */

static ngx_int_t
find_pieces(ngx_http_guildlog_find_t *find)
{
    int64_t    place;
    ngx_str_t  piece;

    if (find->answer.rows != find->slices.nelts) {
        return find_retry(find);
    }

    if (find->row == find->answer.rows) {
        find->work = find_judge;
        return NGX_BUSY;
    }

    place = find_number(find, SLICES_PLACE);
    piece = find_value(find, SLICES_PIECE);

    find->row++;

    if (place >= 1
        && (ngx_uint_t) place <= find->slices.nelts
        && ngx_guildlog_find_slice(find->result, place - 1, &piece) == NGX_OK)
    {
        return NGX_BUSY;
    }

    return find->result->bad ? find_bad(find) : find_retry(find);
}


/* the keeper makes the segments of that server anew */

static ngx_int_t
find_bad(ngx_http_guildlog_find_t *find)
{
    u_char                buf[NGX_INT64_LEN];
    ngx_str_t            *arg;
    ngx_guildlog_find_t  *result;

    result = find->result;

    if (!result->bad) {
        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                  "segment %L of server %V is broken", result->bad_key,
                  &find->call->guild);

    arg = &find->call->args[BAD_KEY];
    arg->data = buf;
    arg->len = ngx_sprintf(buf, "%L", result->bad_key) - buf;

    find->work = find_retry;

    return find_ask(find, ngx_guildlog_stmt_search_bad, BAD_ARGS);
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

    return NGX_BUSY;
}


ngx_int_t
ngx_http_guildlog_find_again(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_find_t  *find;

    find = call->find;

    find->begun = 1;
    find->work = find_retry;

    find_line_join(find);

    return NGX_AGAIN;
}


/* the request ends as if a statement had ended so, which has no rows */

static ngx_int_t
find_fail(ngx_http_guildlog_find_t *find, ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_db_result_t  result;

    ngx_memzero(&result, sizeof(ngx_guildlog_db_result_t));
    result.outcome = outcome;

    return find->failed(find->call, &result);
}


/* NGX_AGAIN, or NGX_ERROR; it copies the arguments, the rows before are done */

static ngx_int_t
find_ask(ngx_http_guildlog_find_t *find, ngx_uint_t stmt, ngx_uint_t nargs)
{
    if (find->rows) {
        ngx_destroy_pool(find->rows);
        find->rows = NULL;
    }

    find->call->nargs = nargs;

    return ngx_http_guildlog_call_ask(find->call, &ngx_guildlog_stmts[stmt],
                                      find_came);
}


/* NGX_ERROR: null */

static int64_t
find_number(ngx_http_guildlog_find_t *find, ngx_uint_t column)
{
    return ngx_guildlog_db_result_number(&find->answer, find->row, column);
}


static ngx_str_t
find_value(ngx_http_guildlog_find_t *find, ngx_uint_t column)
{
    return ngx_guildlog_db_result_value(&find->answer, find->row, column);
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


/*
 * Whose turn it is to find.  A server, or a person whose right to it only the
 * database knows, has one request of a worker at work at a time, and a line of
 * others that wait.  Those at work judge in one moment of each iteration of the
 * event loop together, and take turns.
 */

/* it gets its turn when others of its server leave it one, or is refused */

static void
find_line_join(ngx_http_guildlog_find_t *find)
{
    ngx_uint_t                      waiting, working;
    ngx_queue_t                    *q;
    ngx_http_guildlog_find_t       *other;
    const ngx_guildlog_database_t  *database;

    if (line.event.handler == NULL) {
        line.fd = (ngx_socket_t) -1;

        ngx_queue_init(&line.all);
        ngx_queue_init(&line.turns);

        line.event.data = &line;
        line.event.log = ngx_cycle->log;
        line.event.handler = line_handler;
    }

    waiting = 0;
    working = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_find_t, line);

        if (line_same(find, other)) {
            waiting += !other->at_work;
            working = 1;
        }
    }

    ngx_queue_insert_tail(&line.all, &find->line);
    find->in_line = 1;

    if (!working) {
        line_work(find);
        return;
    }

    if (find->begun) {
        return;
    }

    /* as many may wait as queries of one payer */

    database = find->call->conf->database;

    if (waiting >= (database->queue + 1) / 2) {
        line_refuse(find);
        return;
    }

    find->timer.data = find;
    find->timer.log = find->call->request->connection->log;
    find->timer.handler = line_expired;

    ngx_add_timer(&find->timer, database->queue_timeout);
}


static ngx_uint_t
line_same(ngx_http_guildlog_find_t *find, ngx_http_guildlog_find_t *other)
{
    return find->call->conf->database == other->call->conf->database
           && find->payer == other->payer;
}


static void
line_work(ngx_http_guildlog_find_t *find)
{
    if (find->timer.timer_set) {
        ngx_del_timer(&find->timer);

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_SHARE_WAITS, 1);
    }

    find->at_work = 1;

    find_line_turn(find);
}


static void
line_refuse(ngx_http_guildlog_find_t *find)
{
    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_SHARE_TAKEN, 1);

    find_line_leave(find);

    find->refused = 1;

    find_line_turn(find);
}


static void
line_expired(ngx_event_t *ev)
{
    line_refuse(ev->data);
}


/* the next one of its server comes in its place */

static void
find_line_leave(ngx_http_guildlog_find_t *find)
{
    ngx_queue_t               *q;
    ngx_http_guildlog_find_t  *other;

    if (find->timer.timer_set) {
        ngx_del_timer(&find->timer);
    }

    if (find->in_turn) {
        ngx_queue_remove(&find->turn);
        find->in_turn = 0;
    }

    if (!find->in_line) {
        return;
    }

    ngx_queue_remove(&find->line);
    find->in_line = 0;

    if (!find->at_work) {
        return;
    }

    find->at_work = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_find_t, line);

        if (!other->at_work && line_same(find, other)) {
            line_work(other);
            return;
        }
    }
}


/* its work() is called in the next iteration of the event loop, or later */

static void
find_line_turn(ngx_http_guildlog_find_t *find)
{
    ngx_queue_insert_tail(&line.turns, &find->turn);
    find->in_turn = 1;

    ngx_guildlog_event_next(&line.event);
}


static void
line_handler(ngx_event_t *ev)
{
    uint64_t                   end;
    ngx_int_t                  rc;
    ngx_queue_t               *q;
    ngx_http_request_t        *r;
    ngx_http_guildlog_find_t  *find;

    ngx_guildlog_event_stop(ev);

    end = ngx_guildlog_clock_us() + LINE_MOMENT;

    while (!ngx_queue_empty(&line.turns)) {

        q = ngx_queue_head(&line.turns);
        find = ngx_queue_data(q, ngx_http_guildlog_find_t, turn);

        ngx_queue_remove(q);
        find->in_turn = 0;

        r = find->call->request;
        ngx_http_set_log_request(r->connection->log, r);

        do {
            rc = find->work(find);
        } while (rc == NGX_BUSY && ngx_guildlog_clock_us() < end);

        if (rc == NGX_BUSY) {
            find_line_turn(find);
            return;
        }

        ngx_http_guildlog_call_finish(r, rc);

        if (ngx_guildlog_clock_us() >= end) {
            break;
        }
    }

    if (!ngx_queue_empty(&line.turns)) {
        ngx_guildlog_event_next(ev);
    }
}


/*
 * What the worker keeps of segments, for the query that looks through them.
 */

static ngx_int_t
kept_get(void *data, int64_t key, ngx_str_t *strings)
{
    ngx_http_guildlog_find_t *find = data;

    return ngx_guildlog_kept_get(ngx_http_guildlog_worker.kept,
                                 find->call->conf->database->index, key,
                                 strings);
}


static void
kept_put(void *data, int64_t key, int32_t day, const ngx_str_t *strings)
{
    ngx_http_guildlog_find_t *find = data;

    ngx_event_t  *timer;

    ngx_guildlog_kept_put(ngx_http_guildlog_worker.kept,
                          find->call->conf->database->index, key, strings);

    timer = &kept_timer;

    if (!timer->timer_set) {
        kept_dumb.fd = (ngx_socket_t) -1;

        timer->data = &kept_dumb;
        timer->log = ngx_cycle->log;
        timer->handler = kept_expire;
        timer->cancelable = 1;

        ngx_add_timer(timer, NGX_GUILDLOG_KEPT_AGE * 1000);
    }
}


static void
kept_expire(ngx_event_t *ev)
{
    if (ngx_guildlog_kept_expire(ngx_http_guildlog_worker.kept)) {
        ngx_add_timer(ev, NGX_GUILDLOG_KEPT_AGE * 1000);
    }
}


/*
 * What a request asks for of a log, as the matcher takes it.
 */

ngx_int_t
ngx_http_guildlog_filter_read(ngx_http_guildlog_filter_t *filter,
    ngx_pool_t *pool, const ngx_str_t *args)
{
    u_char                 number[NGX_INT_T_LEN + 1], *types;
    ngx_uint_t             i, asked;
    const char            *name;
    const ngx_str_t       *side, *role, *search, *type, *category;
    ngx_guildlog_match_t  *match;

    match = &filter->match;
    ngx_guildlog_match_init(match);

    match->after = filter_number(
                          &args[NGX_HTTP_GUILDLOG_FILTER_AFTER], match->after);
    match->before = filter_number(
                        &args[NGX_HTTP_GUILDLOG_FILTER_BEFORE], match->before);
    match->channel = filter_number(
                      &args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL], match->channel);
    match->member = filter_number(
                        &args[NGX_HTTP_GUILDLOG_FILTER_MEMBER], match->member);

    side = &args[NGX_HTTP_GUILDLOG_FILTER_SIDE];

    if (side->len == sizeof("executor") - 1) {
        match->side = NGX_GUILDLOG_MATCH_EXECUTOR;

    } else if (side->data && *side->data == 't') {
        match->side = NGX_GUILDLOG_MATCH_TARGET;
    }

    role = &args[NGX_HTTP_GUILDLOG_FILTER_ROLE];

    if (role->data && ngx_guildlog_match_role(match, pool, role) != NGX_OK) {
        return NGX_ERROR;
    }

    search = &args[NGX_HTTP_GUILDLOG_FILTER_SEARCH];

    if (search->data
        && ngx_guildlog_match_search(match, pool, search) != NGX_OK)
    {
        return NGX_ERROR;
    }

    filter->shown = NULL;

    type = &args[NGX_HTTP_GUILDLOG_FILTER_TYPE];
    category = &args[NGX_HTTP_GUILDLOG_FILTER_CATEGORY];

    if (type->data == NULL && category->data == NULL) {
        return NGX_OK;
    }

    types = ngx_pnalloc(pool, 2 * NGX_GUILDLOG_TYPES);
    if (types == NULL) {
        return NGX_ERROR;
    }

    match->types = type->data ? types : NULL;
    filter->shown = types + NGX_GUILDLOG_TYPES;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        ngx_sprintf(number, "%ui%Z", i);
        asked = filter_has(type, (char *) number);

        types[i] = asked ? '1' : '0';

        name = ngx_guildlog_type_categories[ngx_guildlog_type_category[i]];
        asked = asked && filter_has(category, name);

        filter->shown[i] = asked ? '1' : '0';
    }

    return NGX_OK;
}


/* is it in the SQL array, where each item is quoted?  Without one all are */

static ngx_uint_t
filter_has(const ngx_str_t *array, const char *item)
{
    u_char  *p, quoted[FILTER_ITEM];

    p = ngx_snprintf(quoted, sizeof(quoted), "\"%s\"", item);

    return array->data == NULL
           || memmem(array->data, array->len, quoted, p - quoted) != NULL;
}


static int64_t
filter_number(const ngx_str_t *arg, int64_t none)
{
    if (arg->data == NULL) {
        return none;
    }

    return *arg->data == '-' ? -ngx_atoof(arg->data + 1, arg->len - 1)
                             : ngx_atoof(arg->data, arg->len);
}


/* the side of a member alone says nothing */

ngx_uint_t
ngx_http_guildlog_filter_finds(const ngx_str_t *args)
{
    return args[NGX_HTTP_GUILDLOG_FILTER_SEARCH].data
           || args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL].data
           || args[NGX_HTTP_GUILDLOG_FILTER_MEMBER].data
           || args[NGX_HTTP_GUILDLOG_FILTER_ROLE].data;
}


ngx_uint_t
ngx_http_guildlog_filter_narrow(ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_memmove(&args[NGX_HTTP_GUILDLOG_FILTER_SEARCH],
                &args[NGX_HTTP_GUILDLOG_FILTER_LAST],
                (nargs - NGX_HTTP_GUILDLOG_FILTER_LAST) * sizeof(ngx_str_t));

    return nargs - NGX_HTTP_GUILDLOG_FILTER_LAST
           + NGX_HTTP_GUILDLOG_FILTER_SEARCH;
}
