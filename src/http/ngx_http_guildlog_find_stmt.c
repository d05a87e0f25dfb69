
/*
 * The statements that find: what they are asked, and what their rows say.
 */

#include "http/ngx_http_guildlog_find.h"
#include "base/ngx_guildlog_json.h"


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


#define number_of(name, field)                                                \
    { name, offsetof(ngx_http_guildlog_find_head_t, field) }


static ngx_int_t stmt_ask(ngx_http_guildlog_find_t *find, ngx_uint_t stmt,
    ngx_uint_t nargs);
static ngx_int_t stmt_gone(ngx_guildlog_find_t *result, json_t *gone);
static int64_t stmt_number(ngx_http_guildlog_find_t *find, ngx_uint_t column);
static ngx_str_t stmt_value(ngx_http_guildlog_find_t *find, ngx_uint_t column);


ngx_int_t
ngx_http_guildlog_find_stmt_open(ngx_http_guildlog_find_t *find)
{
    ngx_str_t  *args;

    args = find->call->args;

    args[OPEN_AFTER] = find->args[NGX_HTTP_GUILDLOG_FILTER_AFTER];
    args[OPEN_BEFORE] = find->args[NGX_HTTP_GUILDLOG_FILTER_BEFORE];
    args[OPEN_BELOW] = find->below;
    args[OPEN_KNOWN] = find->known;

    return stmt_ask(find, ngx_guildlog_stmt_search_open, OPEN_ARGS);
}


ngx_int_t
ngx_http_guildlog_find_stmt_tail(ngx_http_guildlog_find_t *find)
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

    return stmt_ask(find, ngx_guildlog_stmt_search_tail, TAIL_ARGS);
}


ngx_int_t
ngx_http_guildlog_find_stmt_slices(ngx_http_guildlog_find_t *find)
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

    rc = stmt_ask(find, ngx_guildlog_stmt_search_slices, SLICES_ARGS);

    ngx_destroy_pool(pool);

    return rc;
}


ngx_int_t
ngx_http_guildlog_find_stmt_bad(ngx_http_guildlog_find_t *find, int64_t key)
{
    u_char      buf[NGX_INT64_LEN];
    ngx_str_t  *arg;

    arg = &find->call->args[BAD_KEY];
    arg->data = buf;
    arg->len = ngx_sprintf(buf, "%L", key) - buf;

    return stmt_ask(find, ngx_guildlog_stmt_search_bad, BAD_ARGS);
}


/* the arguments are copied; the rows before are done */

static ngx_int_t
stmt_ask(ngx_http_guildlog_find_t *find, ngx_uint_t stmt, ngx_uint_t nargs)
{
    if (find->rows) {
        ngx_destroy_pool(find->rows);
        find->rows = NULL;
    }

    find->call->nargs = nargs;

    return ngx_http_guildlog_call_ask(find->call, &ngx_guildlog_stmts[stmt])
           == NGX_AGAIN ? NGX_BUSY : NGX_ERROR;
}


ngx_int_t
ngx_http_guildlog_find_stmt_head(ngx_http_guildlog_find_t *find)
{
    json_t                         *json, *value;
    ngx_str_t                       text, error;
    ngx_uint_t                      i;
    ngx_guildlog_find_t            *result;
    ngx_http_guildlog_find_head_t  *head;

    static const struct {
        const char  *name;
        size_t       offset;
    } numbers[] = {
        number_of("low", low), number_of("high", high),
        number_of("top", top), number_of("retention", retention),
        number_of("arrival", arrival), number_of("until", until),
        number_of("backId", back_id), number_of("backArrival", back_arrival)
    };

    head = &find->head;
    text = stmt_value(find, OPEN_HEAD);
    json = text.data ? ngx_guildlog_json_parse(find->pool, &text, &error)
                     : NULL;
    find->row++;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        value = json_object_get(json, numbers[i].name);

        if (!json_is_integer(value)) {
            ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                          "\"search_open\" returned no head");
            return NGX_ERROR;
        }

        *(int64_t *) ((u_char *) head + numbers[i].offset) =
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

    ngx_http_guildlog_find_kept(find);

    return stmt_gone(result, json_object_get(json, "gone"));
}


static ngx_int_t
stmt_gone(ngx_guildlog_find_t *result, json_t *gone)
{
    size_t   i;
    json_t  *id;

    json_array_foreach(gone, i, id) {
        if (ngx_guildlog_find_gone(result, json_integer_value(id)) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_find_stmt_segment(ngx_http_guildlog_find_t *find)
{
    int64_t    key, day, n;
    ngx_str_t  kinds, dir;

    key = stmt_number(find, OPEN_KEY);
    day = stmt_number(find, OPEN_DAY);
    n = stmt_number(find, OPEN_N);
    kinds = stmt_value(find, OPEN_KINDS);
    dir = stmt_value(find, OPEN_DIR);

    find->row++;

    return ngx_guildlog_find_segment(find->result, key, (int32_t) day,
                                     (ngx_uint_t) n, &kinds, &dir);
}


void
ngx_http_guildlog_find_stmt_next(ngx_http_guildlog_find_t *find)
{
    find->tail.at = stmt_number(find, TAIL_ID);
}


ngx_int_t
ngx_http_guildlog_find_stmt_doc(ngx_http_guildlog_find_t *find)
{
    int64_t    id;
    ngx_int_t  rc;
    ngx_str_t  doc;

    id = stmt_number(find, TAIL_ID);
    doc = stmt_value(find, TAIL_DOC);

    find->row++;

    rc = ngx_guildlog_find_doc(find->result, id, &doc);

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, find->call->request->connection->log, 0,
                      "a search cannot read the entry %L", id);
        return NGX_OK;
    }

    return rc;
}


/* the place 0 says that the token is not valid any more */

ngx_int_t
ngx_http_guildlog_find_stmt_piece(ngx_http_guildlog_find_t *find)
{
    int64_t    place;
    ngx_str_t  piece;

    place = stmt_number(find, SLICES_PLACE);
    piece = stmt_value(find, SLICES_PIECE);

    find->row++;

    if (place < 1 || (ngx_uint_t) place > find->slices.nelts) {
        return NGX_ERROR;
    }

    return ngx_guildlog_find_slice(find->result, place - 1, &piece);
}


/* NGX_ERROR: null */

static int64_t
stmt_number(ngx_http_guildlog_find_t *find, ngx_uint_t column)
{
    return ngx_guildlog_db_result_number(&find->answer, find->row, column);
}


static ngx_str_t
stmt_value(ngx_http_guildlog_find_t *find, ngx_uint_t column)
{
    return ngx_guildlog_db_result_value(&find->answer, find->row, column);
}
