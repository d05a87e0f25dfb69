
/*
 * How matches are found, top-down: search_open() says which segments there are.
 * search_tail() brings the documents that are in none of them, part by part.
 * Then the query says which slices of segments it wants, as often as it needs
 * to, and search_slices() brings them.
 *
 * Each statement has a snapshot of its own.  Segments never change.  Entries
 * that came later do not count.  Where a segment is gone, all begins again.
 */

#include "http/ngx_http_guildlog_search.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_language.h"


/* how often it begins again */
#define SEARCH_AGAIN  3


/* us; what is being looked at then ends within as much again, as a rule */
#define LINE_MOMENT  250


#define TAIL_PART  262144    /* bytes of a part, about */


/* the arguments of each, behind the token, the guild, the bot and the kind */

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


static void search_cleanup(void *data);
static void search_forget(ngx_http_guildlog_search_t *search);
static ngx_int_t search_begin(ngx_http_guildlog_search_t *search);
static ngx_int_t search_came(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t search_opened(ngx_http_guildlog_search_t *search);
static ngx_int_t search_segments(ngx_http_guildlog_search_t *search);
static ngx_int_t search_tail(ngx_http_guildlog_search_t *search);
static ngx_int_t search_tail_read(ngx_http_guildlog_search_t *search);
static ngx_int_t search_docs(ngx_http_guildlog_search_t *search);
static ngx_int_t search_judge(ngx_http_guildlog_search_t *search);
static ngx_int_t search_slices(ngx_http_guildlog_search_t *search);
static ngx_int_t search_pieces(ngx_http_guildlog_search_t *search);
static ngx_int_t search_bad(ngx_http_guildlog_search_t *search);
static ngx_int_t search_retry(ngx_http_guildlog_search_t *search);
static ngx_int_t search_fail(ngx_http_guildlog_search_t *search,
    ngx_guildlog_db_outcome_e outcome);
static ngx_int_t search_ask(ngx_http_guildlog_search_t *search, ngx_uint_t stmt,
    ngx_uint_t nargs);
static int64_t search_number(ngx_http_guildlog_search_t *search,
    ngx_uint_t column);
static ngx_str_t search_value(ngx_http_guildlog_search_t *search,
    ngx_uint_t column);
static void line_join(ngx_http_guildlog_search_t *search);
static ngx_uint_t line_same(ngx_http_guildlog_search_t *search,
    ngx_http_guildlog_search_t *other);
static void line_work(ngx_http_guildlog_search_t *search);
static void line_refuse(ngx_http_guildlog_search_t *search);
static void line_expired(ngx_event_t *ev);
static void line_leave(ngx_http_guildlog_search_t *search);
static void line_round(ngx_http_guildlog_search_t *search);
static void line_handler(ngx_event_t *ev);
static ngx_int_t strings_get(void *data, int64_t key, ngx_str_t *strings);
static void strings_put(void *data, int64_t key,
    int32_t day, const ngx_str_t *strings);
static ngx_str_t strings_key(ngx_http_guildlog_search_t *search, int64_t key,
    int64_t numbers[2]);
static void strings_expire(ngx_event_t *ev);
static ngx_uint_t filter_has(const ngx_str_t *array, const char *item);
static int64_t filter_number(const ngx_str_t *arg, int64_t none);


static struct {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    all;        /* of this worker, as they
                                                  came */
    ngx_queue_t                    rounds;
    ngx_event_t                    event;
} line;


static ngx_event_t       strings_timer;
static ngx_connection_t  strings_dumb;


ngx_int_t
ngx_http_guildlog_search_start(ngx_http_guildlog_call_t *call,
    const ngx_str_t *below, const ngx_str_t *known, ngx_uint_t limit,
    ngx_http_guildlog_search_pt found, ngx_http_guildlog_result_pt failed)
{
    ngx_http_request_t          *r;
    ngx_http_guildlog_search_t  *search;

    r = call->request;
    search = call->search;

    if (search == NULL) {
        search = ngx_pcalloc(r->pool, sizeof(ngx_http_guildlog_search_t));
        if (search == NULL) {
            return NGX_ERROR;
        }

        search->call = call;
        search->payer = ngx_guildlog_db_share_payer(&call->args[0],
                                                    &call->guild);
        ngx_memcpy(search->args, call->args, sizeof(search->args));

        if (ngx_http_guildlog_filter_read(&search->filter, r->pool, call->args)
            != NGX_OK
            || ngx_http_guildlog_call_at_end(r, search_cleanup, search)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        call->search = search;
    }

    search->below = *below;
    search->known = *known;
    search->limit = limit;
    search->found = found;
    search->failed = failed;
    search->tries = 0;
    search->work = search_begin;

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    line_join(search);

    return NGX_AGAIN;
}


static void
search_cleanup(void *data)
{
    ngx_http_guildlog_search_t  *search = data;

    line_leave(search);
    search_forget(search);
}


static void
search_forget(ngx_http_guildlog_search_t *search)
{
    ngx_guildlog_pool_drop(&search->rows);

    ngx_guildlog_pool_drop(&search->pool);
    search->result = NULL;
}


static ngx_int_t
search_begin(ngx_http_guildlog_search_t *search)
{
    ngx_str_t  *args;

    if (search->refused) {
        return search_fail(search, NGX_GUILDLOG_DB_SHARE_TAKEN);
    }

    search_forget(search);

    search->pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                                   search->call->request->connection->log);
    if (search->pool == NULL) {
        return NGX_ERROR;
    }

    args = search->call->args;

    args[OPEN_AFTER] = search->args[NGX_HTTP_GUILDLOG_FILTER_AFTER];
    args[OPEN_BEFORE] = search->args[NGX_HTTP_GUILDLOG_FILTER_BEFORE];
    args[OPEN_BELOW] = search->below;
    args[OPEN_KNOWN] = search->known;

    search->work = search_opened;

    return search_ask(search, ngx_guildlog_stmt_search_open, OPEN_ARGS);
}


/* the rows outlive the query, which ends with this handler */

static ngx_int_t
search_came(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_search_t  *search;

    search = call->search;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS
        || (search->work == search_opened
            && ngx_http_guildlog_response_log_status(result) != NGX_HTTP_OK))
    {
        return search->failed(call, result);
    }

    ngx_guildlog_assert(search->at_work && search->pool && !search->rows);

    search->rows = ngx_create_pool(NGX_MIN_POOL_SIZE,
                                   call->request->connection->log);

    if (search->rows == NULL
        || ngx_guildlog_db_result_retain(result, search->rows) != NGX_OK)
    {
        return NGX_ERROR;
    }

    search->answer = *result;
    search->row = 0;

    line_round(search);

    return NGX_AGAIN;
}


/* the first row is the head, the others are segments */

static ngx_int_t
search_opened(ngx_http_guildlog_search_t *search)
{
    json_t                           *json, *value;
    ngx_str_t                         text, error;
    ngx_guildlog_find_t              *result;
    ngx_http_guildlog_search_head_t  *head;

    head = &search->head;
    text = search_value(search, OPEN_HEAD);
    json = text.data ? ngx_guildlog_json_parse(search->pool, &text, &error)
                     : NULL;
    search->row++;

    if (json == NULL
        || json_unpack(json, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                       "low", &head->low, "high", &head->high,
                       "top", &head->top, "retention", &head->retention,
                       "arrival", &head->arrival, "until", &head->until,
                       "backId", &head->back_id,
                       "backArrival", &head->back_arrival)
           != 0)
    {
        ngx_log_error(NGX_LOG_ERR, search->call->request->connection->log, 0,
                      "\"search_open\" returned no head");
        return NGX_ERROR;
    }

    value = json_object_get(json, "erased");

    head->erased = json_is_integer(value) ? json_integer_value(value) : -1;
    head->walled = json_is_true(json_object_get(json, "walled"));
    head->state = ngx_guildlog_json_get(json, "state");

    result = ngx_guildlog_find_create(search->pool, &search->filter.match,
                                      head->low, head->high, head->top,
                                      search->limit);
    if (result == NULL) {
        return NGX_ERROR;
    }

    result->shown = search->filter.shown;
    result->slots = search->slots;
    search->result = result;

    if (search->slots) {
        ngx_memzero(search->slots->counts,
                    search->slots->n * sizeof(search->slots->counts[0]));
    }

    if (ngx_http_guildlog_worker.strings) {
        result->strings_get = strings_get;
        result->strings_put = strings_put;
        result->strings_data = search;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, search->call->request->connection->log,
                   0, "guildlog search: %ui segments, tail from %L to %L, and "
                   "below id %L", search->answer.rows - 1, head->arrival,
                   head->until, head->back_id);

    search->work = search_segments;

    return NGX_BUSY;
}


static ngx_int_t
search_segments(ngx_http_guildlog_search_t *search)
{
    int64_t    key, day, n;
    ngx_str_t  kinds, dir;

    if (search->row == search->answer.rows) {
        search->tail.part = 0;
        return search_tail(search);
    }

    key = search_number(search, OPEN_KEY);
    day = search_number(search, OPEN_DAY);
    n = search_number(search, OPEN_N);
    kinds = search_value(search, OPEN_KINDS);
    dir = search_value(search, OPEN_DIR);

    search->row++;

    if (ngx_guildlog_find_segment(search->result, key, (int32_t) day,
                                  (ngx_uint_t) n, &kinds, &dir)
        != NGX_OK)
    {
        return search_bad(search);
    }

    return NGX_BUSY;
}


/*
 * What is in no segment: first the entries that arrived behind what is in
 * segments, then those that arrived before and are older than what is.
 */

static ngx_int_t
search_tail(ngx_http_guildlog_search_t *search)
{
    ngx_http_guildlog_search_head_t  *head;
    ngx_http_guildlog_search_tail_t  *tail;

    head = &search->head;
    tail = &search->tail;

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
        search->work = search_judge;
        return NGX_BUSY;
    }

    tail->at = tail->by_arrival ? tail->since : tail->high;

    if (head->low < tail->high && tail->since < tail->until) {
        return search_tail_read(search);
    }

    search->work = search_tail;

    return NGX_BUSY;
}


static ngx_int_t
search_tail_read(ngx_http_guildlog_search_t *search)
{
    u_char       buf[5][NGX_INT64_LEN];
    ngx_str_t   *args;
    ngx_uint_t   i;

    const int64_t  numbers[] = {
        search->head.low, search->tail.high, search->tail.since,
        search->tail.until, search->tail.at
    };

    args = search->call->args;

    ngx_str_set(&args[TAIL_BY_ARRIVAL], "f");

    if (search->tail.by_arrival) {
        ngx_str_set(&args[TAIL_BY_ARRIVAL], "t");
    }

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        args[TAIL_LOW + i] = ngx_guildlog_digits(buf[i], numbers[i]);
    }

    args[TAIL_CHANNEL] = search->args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL];
    args[TAIL_MEMBER] = search->args[NGX_HTTP_GUILDLOG_FILTER_MEMBER];
    args[TAIL_SIDE] = search->args[NGX_HTTP_GUILDLOG_FILTER_SIDE];

    ngx_str_set(&args[TAIL_BYTES], ngx_value(TAIL_PART));

    search->work = search_docs;

    return search_ask(search, ngx_guildlog_stmt_search_tail, TAIL_ARGS);
}


/*
 * The last row says where the next part begins.  Without it the token is not
 * valid any more.
 */

static ngx_int_t
search_docs(ngx_http_guildlog_search_t *search)
{
    int64_t    id;
    ngx_int_t  rc;
    ngx_str_t  doc;

    if (search->answer.rows == 0) {
        return search_retry(search);
    }

    id = search_number(search, TAIL_ID);

    if (search->row == search->answer.rows - 1) {
        search->tail.at = id;
        return id == NGX_ERROR ? search_tail(search) : search_tail_read(search);
    }

    doc = search_value(search, TAIL_DOC);

    search->row++;

    rc = ngx_guildlog_find_doc(search->result, id, &doc);

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, search->call->request->connection->log, 0,
                      "a search cannot read the entry %L", id);
        return NGX_BUSY;
    }

    return rc == NGX_OK ? NGX_BUSY : NGX_ERROR;
}


static ngx_int_t
search_judge(ngx_http_guildlog_search_t *search)
{
    ngx_int_t             rc;
    ngx_uint_t            i;
    ngx_guildlog_find_t  *result;

    result = search->result;

    switch (ngx_guildlog_find_wants(result)) {

    case NGX_OK:
        break;

    case NGX_BUSY:
        return NGX_BUSY;

    case NGX_AGAIN:
        return search_slices(search);

    default:
        return search_bad(search);
    }

    search->nids = result->nids;
    search->total = 0;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (search->filter.shown == NULL || search->filter.shown[i] == '1') {
            search->total += result->rest[i];
        }
    }

    ngx_guildlog_assert(search->nids <= search->limit
                        && search->nids <= search->total);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, search->call->request->connection->log,
                   0, "guildlog search: %uL in all, %ui of them known",
                   search->total, search->nids);

    line_leave(search);

    rc = search->found(search->call);

    search_forget(search);

    return rc;
}


static ngx_int_t
search_slices(ngx_http_guildlog_search_t *search)
{
    u_char                *p[4];
    ngx_int_t              rc;
    ngx_str_t             *args;
    ngx_uint_t             i, n;
    ngx_pool_t            *pool;
    ngx_guildlog_slice_t  *slice;

    n = search->result->slices.nelts;
    slice = search->result->slices.elts;
    args = &search->call->args[SLICES_DAYS];

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                           search->call->request->connection->log);
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

    search->work = search_pieces;

    rc = search_ask(search, ngx_guildlog_stmt_search_slices, SLICES_ARGS);

    ngx_destroy_pool(pool);

    return rc;
}


/* the place 0 says that the token is not valid any more */

static ngx_int_t
search_pieces(ngx_http_guildlog_search_t *search)
{
    int64_t     place;
    ngx_str_t   piece;
    ngx_uint_t  n;

    n = search->result->slices.nelts;

    if (search->answer.rows != n) {
        return search_retry(search);
    }

    if (search->row == search->answer.rows) {
        search->work = search_judge;
        return NGX_BUSY;
    }

    place = search_number(search, SLICES_PLACE);
    piece = search_value(search, SLICES_PIECE);

    search->row++;

    if (place < 1 || (ngx_uint_t) place > n) {
        return search_retry(search);
    }

    return ngx_guildlog_find_slice(search->result, place - 1, &piece) == NGX_OK
           ? NGX_BUSY : search_bad(search);
}


/* the keeper makes the segments of that guild anew */

static ngx_int_t
search_bad(ngx_http_guildlog_search_t *search)
{
    u_char                buf[NGX_INT64_LEN];
    ngx_guildlog_find_t  *result;

    result = search->result;

    if (!result->bad) {
        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_ERR, search->call->request->connection->log, 0,
                  "segment %L of server %V is broken", result->bad_key,
                  &search->call->guild);

    /* the primary may have it whole */

    if (search->call->standby) {
        search->call->standby = NULL;
        return search_retry(search);
    }

    search->call->args[BAD_KEY] = ngx_guildlog_digits(buf, result->bad_key);

    search->work = search_retry;

    return search_ask(search, ngx_guildlog_stmt_search_bad, BAD_ARGS);
}


/* begins again, some times */

static ngx_int_t
search_retry(ngx_http_guildlog_search_t *search)
{
    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, search->call->request->connection->log,
                   0, "guildlog search: begins again, try %ui", search->tries);

    if (search->tries++ == SEARCH_AGAIN) {
        ngx_log_error(NGX_LOG_ERR, search->call->request->connection->log, 0,
                      "a search was given up: its segments or entries "
                      "went away %ui times", search->tries);

        return search_fail(search, NGX_GUILDLOG_DB_UNAVAILABLE);
    }

    search->work = search_begin;

    return NGX_BUSY;
}


ngx_int_t
ngx_http_guildlog_search_again(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_search_t  *search;

    search = call->search;

    search->begun = 1;
    search->work = search_retry;

    line_join(search);

    return NGX_AGAIN;
}


/* the request ends as if a statement had ended so, which has no rows */

static ngx_int_t
search_fail(ngx_http_guildlog_search_t *search,
    ngx_guildlog_db_outcome_e outcome)
{
    ngx_guildlog_db_result_t  result;

    ngx_memzero(&result, sizeof(ngx_guildlog_db_result_t));
    result.outcome = outcome;

    return search->failed(search->call, &result);
}


/* NGX_AGAIN, or NGX_ERROR; it copies the arguments, the rows before are done */

static ngx_int_t
search_ask(ngx_http_guildlog_search_t *search, ngx_uint_t stmt,
    ngx_uint_t nargs)
{
    ngx_guildlog_pool_drop(&search->rows);

    search->call->nargs = nargs;

    return ngx_http_guildlog_call_ask(search->call, &ngx_guildlog_stmts[stmt],
                                      search_came);
}


/* NGX_ERROR: null */

static int64_t
search_number(ngx_http_guildlog_search_t *search, ngx_uint_t column)
{
    return ngx_guildlog_db_result_number(&search->answer, search->row, column);
}


static ngx_str_t
search_value(ngx_http_guildlog_search_t *search, ngx_uint_t column)
{
    return ngx_guildlog_db_result_value(&search->answer, search->row, column);
}


ngx_int_t
ngx_http_guildlog_search_ids(ngx_str_t *array, ngx_pool_t *pool,
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
 * Who may search now.  A guild, or a person who signed in, has one request of a
 * worker at work at a time, and a line of others that wait.  Those at work
 * judge in one moment of each iteration of the event loop together, in rounds.
 */

/* it may begin when others of its guild leave it one, or is refused */

static void
line_join(ngx_http_guildlog_search_t *search)
{
    ngx_uint_t                      waiting, working;
    ngx_queue_t                    *q;
    ngx_http_guildlog_search_t     *other;
    const ngx_guildlog_database_t  *database;

    if (line.event.handler == NULL) {
        line.fd = (ngx_socket_t) -1;

        ngx_queue_init(&line.all);
        ngx_queue_init(&line.rounds);

        ngx_guildlog_event_init(&line.event, line_handler, &line,
                                ngx_cycle->log);
    }

    ngx_guildlog_assert(!search->in_line && !search->at_work
                        && !search->in_round && !search->timer.timer_set);

    waiting = 0;
    working = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_search_t, line);

        if (line_same(search, other)) {
            waiting += !other->at_work;
            working = 1;
        }
    }

    ngx_queue_insert_tail(&line.all, &search->line);
    search->in_line = 1;

    if (!working) {
        line_work(search);
        return;
    }

    if (search->begun) {
        return;
    }

    /* as many may wait as queries of one payer */

    database = search->call->conf->database;

    if (waiting >= (database->queue + 1) / 2) {
        line_refuse(search);
        return;
    }

    ngx_guildlog_event_init(&search->timer, line_expired, search,
                            search->call->request->connection->log);

    ngx_add_timer(&search->timer, database->queue_timeout);
}


static ngx_uint_t
line_same(ngx_http_guildlog_search_t *search, ngx_http_guildlog_search_t *other)
{
    return search->call->conf->database == other->call->conf->database
           && search->payer == other->payer;
}


static void
line_work(ngx_http_guildlog_search_t *search)
{
    if (search->timer.timer_set) {
        ngx_del_timer(&search->timer);

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_SHARE_WAITS, 1);
    }

    search->at_work = 1;

    line_round(search);
}


static void
line_refuse(ngx_http_guildlog_search_t *search)
{
    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_SHARE_TAKEN, 1);

    line_leave(search);

    search->refused = 1;

    line_round(search);
}


static void
line_expired(ngx_event_t *ev)
{
    line_refuse(ev->data);
}


/* the next one of its guild comes in its place */

static void
line_leave(ngx_http_guildlog_search_t *search)
{
    ngx_queue_t                 *q;
    ngx_http_guildlog_search_t  *other;

    if (search->timer.timer_set) {
        ngx_del_timer(&search->timer);
    }

    if (search->in_round) {
        ngx_queue_remove(&search->round);
        search->in_round = 0;
    }

    if (!search->in_line) {
        return;
    }

    ngx_queue_remove(&search->line);
    search->in_line = 0;

    if (!search->at_work) {
        return;
    }

    search->at_work = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_search_t, line);

        if (!other->at_work && line_same(search, other)) {
            line_work(other);
            return;
        }
    }
}


/* its work() is called in the next iteration of the event loop, or later */

static void
line_round(ngx_http_guildlog_search_t *search)
{
    ngx_guildlog_assert(!search->in_round
                        && (search->at_work || search->refused));

    ngx_queue_insert_tail(&line.rounds, &search->round);
    search->in_round = 1;

    ngx_guildlog_event_next(&line.event);
}


static void
line_handler(ngx_event_t *ev)
{
    uint64_t                     end;
    ngx_int_t                    rc;
    ngx_queue_t                 *q;
    ngx_http_request_t          *r;
    ngx_http_guildlog_search_t  *search;

    ngx_guildlog_event_stop(ev);

    end = ngx_guildlog_clock_us() + LINE_MOMENT;

    while (!ngx_queue_empty(&line.rounds)) {

        q = ngx_queue_head(&line.rounds);
        search = ngx_queue_data(q, ngx_http_guildlog_search_t, round);

        ngx_queue_remove(q);
        search->in_round = 0;

        ngx_guildlog_assert(search->call->query == NULL);

        r = search->call->request;
        ngx_http_set_log_request(r->connection->log, r);

        do {
            rc = search->work(search);
        } while (rc == NGX_BUSY && ngx_guildlog_clock_us() < end);

        if (rc == NGX_BUSY) {
            line_round(search);
            return;
        }

        ngx_http_guildlog_call_finish(r, rc);

        if (ngx_guildlog_clock_us() >= end) {
            break;
        }
    }

    if (!ngx_queue_empty(&line.rounds)) {
        ngx_guildlog_event_next(ev);
    }
}


/*
 * Strings of segments that the worker keeps, for the query that looks through
 * them.  Not for long: what a segment says goes with its day, and a database
 * that was restored from a backup may give its key to another one.
 */

static ngx_int_t
strings_get(void *data, int64_t key, ngx_str_t *strings)
{
    ngx_http_guildlog_search_t  *search = data;

    size_t     *len;
    int64_t     numbers[2];
    ngx_str_t   place;

    place = strings_key(search, key, numbers);

    len = ngx_guildlog_cache_find(ngx_http_guildlog_worker.strings, &place);
    if (len == NULL) {
        return NGX_DECLINED;
    }

    strings->len = *len;
    strings->data = (u_char *) (len + 1);

    return NGX_OK;
}


static void
strings_put(void *data, int64_t key, int32_t day, const ngx_str_t *strings)
{
    ngx_http_guildlog_search_t  *search = data;

    size_t       *len;
    int64_t       numbers[2];
    ngx_str_t     place;
    ngx_event_t  *timer;

    place = strings_key(search, key, numbers);

    len = ngx_guildlog_cache_store(ngx_http_guildlog_worker.strings, &place,
                                   sizeof(size_t) + strings->len, 0);
    if (len == NULL) {
        return;
    }

    *len = strings->len;
    ngx_memcpy(len + 1, strings->data, strings->len);

    timer = &strings_timer;

    if (!timer->timer_set) {
        strings_dumb.fd = (ngx_socket_t) -1;

        ngx_guildlog_event_init(timer, strings_expire, &strings_dumb,
                                ngx_cycle->log);
        timer->cancelable = 1;

        ngx_add_timer(timer, NGX_HTTP_GUILDLOG_STRINGS_AGE * 1000);
    }
}


/* of two databases, the keys come from two sequences that begin with 1 */

static ngx_str_t
strings_key(ngx_http_guildlog_search_t *search, int64_t key,
    int64_t numbers[2])
{
    ngx_str_t  place;

    numbers[0] = search->call->conf->database->index;
    numbers[1] = key;

    place.data = (u_char *) numbers;
    place.len = 2 * sizeof(int64_t);

    return place;
}


static void
strings_expire(ngx_event_t *ev)
{
    if (ngx_guildlog_cache_expire(ngx_http_guildlog_worker.strings)) {
        ngx_add_timer(ev, NGX_HTTP_GUILDLOG_STRINGS_AGE * 1000);
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
    const ngx_str_t       *side, *role, *text, *type, *category;
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

    text = &args[NGX_HTTP_GUILDLOG_FILTER_SEARCH];

    if (text->data
        && ngx_guildlog_match_search(match, pool, text) != NGX_OK)
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
