
/*
 * GET /logs/export, and the entries of a person: sent in parts, the chunks.
 * Where entries have to be found, the ids of many chunks are found at a time,
 * and each chunk is asked for by its ids.
 */

#include "http/ngx_http_guildlog_search.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_csv.h"


#define EXPORT_ROWS    200   /* a chunk */

/* the last arguments, behind the parameters of the route */

#define EXPORT_SINCE   0
#define EXPORT_BELOW   1
#define EXPORT_MOST    2
#define EXPORT_PERSON  3     /* all arguments of a person's */

#define EXPORT_IDS     3
#define EXPORT_ARGS    4

/* parameters behind the filters, of which the database knows the first */

enum {
    EXPORT_LOCALE = NGX_HTTP_GUILDLOG_FILTER_LAST,
    EXPORT_FORMAT,
    EXPORT_BOM,
    EXPORT_TEXT,
    EXPORT_PARAMS
};

/* ids that are found at once: 80 KB */
#define EXPORT_FOUND  10000


struct ngx_http_guildlog_export_s {
    ngx_guildlog_csv_t             csv;
    ngx_str_t                      args[NGX_GUILDLOG_ARGS_MAX];
    ngx_uint_t                     nargs;
    ngx_str_t                     *last;       /* of the arguments */
    u_char                         since[NGX_INT64_LEN];
    u_char                         below[NGX_INT64_LEN];

    /* what was found; the ids before pos are done, up to stop is a chunk */

    int64_t                       *ids;        /* owned; NULL: nothing has to be
                                                  found */
    ngx_uint_t                     nids;
    ngx_uint_t                     pos;
    ngx_uint_t                     stop;

    unsigned                       begun:1;    /* the answer is */
    unsigned                       headed:1;   /* the titles are written */
    unsigned                       more:1;
    unsigned                       lines:1;    /* NDJSON instead of CSV */
    unsigned                       person:1;   /* of one person */
    unsigned                       bom:1;
    unsigned                       further:1;  /* more can be found */
};


struct ngx_http_guildlog_parts_s {
    ngx_guildlog_json_t            out;        /* a part, with a pool of it */
    const char                    *name;       /* in the log */
};


#define LARGE_STATUS  0
#define LARGE_BODY    1
#define LARGE_MORE    2


static ngx_int_t export_search(ngx_http_guildlog_call_t *call);
static ngx_int_t export_found(ngx_http_guildlog_call_t *call);
static ngx_int_t export_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static void export_cleanup(void *data);
static ngx_int_t export_header(ngx_http_guildlog_call_t *call);
static ngx_int_t export_chunk(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static void export_advance(ngx_http_guildlog_export_t *ex, const ngx_str_t *id,
    ngx_uint_t cut);
static void export_move(ngx_http_guildlog_export_t *ex,
    const ngx_str_t *below);
static ngx_int_t export_ask(ngx_http_guildlog_call_t *call);
static ngx_int_t parts_begin(ngx_http_guildlog_call_t *call, const char *name,
    ngx_http_guildlog_slice_pt ask);
static void parts_cleanup(void *data);
static ngx_int_t parts_judge(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result, ngx_uint_t status);
static ngx_guildlog_json_t *parts_open(ngx_http_guildlog_call_t *call,
    size_t size);
static ngx_int_t parts_send(ngx_http_guildlog_call_t *call, ngx_uint_t more);
static ngx_int_t large_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t large_part(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t large_ask(ngx_http_guildlog_call_t *call);


ngx_int_t
ngx_http_guildlog_export_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                   *args, *last;
    ngx_pool_cleanup_t          *cln;
    ngx_http_guildlog_export_t  *ex;

    cln = ngx_pool_cleanup_add(call->request->pool,
                               sizeof(ngx_http_guildlog_export_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    ex = cln->data;
    ngx_memzero(ex, sizeof(ngx_http_guildlog_export_t));

    cln->handler = export_cleanup;
    call->export = ex;

    args = call->args;
    ngx_memcpy(ex->args, args, sizeof(ex->args));

    if (call->route->flags & NGX_GUILDLOG_ROUTE_PERSON) {
        ex->person = 1;
        ex->lines = 1;
        ex->nargs = call->nargs;

    } else {
        ex->lines = (args[EXPORT_FORMAT].data[0] == 'n');
        ex->bom = (args[EXPORT_BOM].data[0] == '1');

        ex->csv.locale = ngx_guildlog_route_locale(&args[EXPORT_LOCALE]);
        ex->csv.text_ids = (args[EXPORT_TEXT].data != NULL);

        ex->nargs = ngx_http_guildlog_filter_narrow(ex->args, EXPORT_FORMAT);
    }

    last = &ex->args[ex->nargs];
    ex->last = last;

    ngx_str_null(&last[EXPORT_SINCE]);
    ngx_str_null(&last[EXPORT_BELOW]);

    ngx_str_set(&last[EXPORT_MOST], ngx_value(EXPORT_ROWS));

    ngx_str_null(&last[EXPORT_IDS]);

    ex->nargs += ex->person ? EXPORT_PERSON : EXPORT_ARGS;

    ngx_guildlog_assert(ex->nargs <= NGX_GUILDLOG_ARGS_MAX);

    if (!ex->person && ngx_http_guildlog_filter_finds(args)) {
        return export_search(call);
    }

    return export_ask(call);
}


static ngx_int_t
export_search(ngx_http_guildlog_call_t *call)
{
    static const ngx_str_t  none = ngx_null_string;

    return ngx_http_guildlog_search_start(call,
                                          &call->export->last[EXPORT_BELOW],
                                          &none, EXPORT_FOUND, export_found,
                                          call->export->begun ? export_chunk
                                                            : export_answer);
}


static ngx_int_t
export_found(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_search_t  *search;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;
    search = call->search;

    if (ex->ids == NULL) {
        ex->ids = ngx_alloc(EXPORT_FOUND * sizeof(int64_t),
                            call->request->connection->log);
        if (ex->ids == NULL) {
            return NGX_ERROR;
        }

        ex->last[EXPORT_SINCE] = ngx_guildlog_digits(ex->since,
                                                     search->head.low);
    }

    ngx_guildlog_assert(search->nids <= EXPORT_FOUND);

    ngx_memcpy(ex->ids, search->result->ids, search->nids * sizeof(int64_t));

    ex->nids = search->nids;
    ex->pos = 0;
    ex->further = (search->total > search->nids);

    /* what was left to be found has gone */

    if (ex->begun && ex->nids == 0) {
        return parts_open(call, 0) ? parts_send(call, 0) : NGX_ERROR;
    }

    return export_ask(call);
}


/* the first result decides the status of the answer */

static ngx_int_t
export_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_int_t                    rc;
    ngx_str_t                    since;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (result->rows == 1 && !ex->person
        && (ex->ids == NULL || (ex->stop == ex->nids && !ex->further)))
    {
        return ngx_http_guildlog_response_send(call->request,
                                               NGX_HTTP_NO_CONTENT, "", NULL);
    }

    ex->begun = 1;

    if (parts_begin(call, "an export", export_ask) != NGX_OK) {
        return NGX_ERROR;
    }

    ex->last[EXPORT_SINCE].data = ex->since;
    ex->last[EXPORT_BELOW].data = ex->below;

    since = ngx_http_guildlog_log_text(result, 0, CHANNEL);
    since.len = ngx_min(since.len, NGX_INT64_LEN);

    ngx_memcpy(ex->since, since.data, since.len);
    ex->last[EXPORT_SINCE].len = since.len;

    rc = export_header(call);

    if (rc == NGX_ERROR || rc > NGX_OK || call->request->header_only) {
        return rc;
    }

    return export_chunk(call, result);
}


static void
export_cleanup(void *data)
{
    ngx_http_guildlog_export_t *ex = data;

    if (ex->ids) {
        ngx_free(ex->ids);
    }
}


static ngx_int_t
export_header(ngx_http_guildlog_call_t *call)
{
    ngx_tm_t             tm;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_gmtime(ngx_time(), &tm);

    if (ngx_http_guildlog_response_header(r, "Content-Disposition",
                           "attachment; filename="
                           "\"logs-%V-%4d%02d%02d-%02d%02d%02d.%s\"",
                           &call->guild, tm.ngx_tm_year, tm.ngx_tm_mon,
                           tm.ngx_tm_mday, tm.ngx_tm_hour, tm.ngx_tm_min,
                           tm.ngx_tm_sec, call->export->lines ? "ndjson"
                                                              : "csv")
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_str_set(&r->headers_out.charset, "utf-8");

    return ngx_http_guildlog_response_head(r, NGX_HTTP_OK,
                                           call->export->lines
                                           ? "application/x-ndjson"
                                           : "text/csv", -1);
}


static ngx_int_t
export_chunk(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    size_t                       size;
    u_char                      *p;
    ngx_str_t                    id, doc, status, reason, more, below;
    ngx_uint_t                   row, cut;
    ngx_guildlog_json_t         *out;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;

    if (parts_judge(call, result, ngx_http_guildlog_response_log_status(result))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* all of NDJSON; CSV is shorter, unless its changes are long */

    size = ngx_http_guildlog_log_json_size(result) + result->rows;

    out = parts_open(call, size + 1);
    if (out == NULL) {
        return NGX_ERROR;
    }

    p = ex->lines ? ngx_guildlog_json_place(out, size) : NULL;

    if (ex->lines && p == NULL) {
        return NGX_ERROR;
    }

    ngx_str_null(&below);

    if (!ex->headed && !ex->lines) {
        ex->headed = 1;

        if (ex->bom) {
            ngx_guildlog_json_literal(out, NGX_GUILDLOG_CSV_BOM,
                                      sizeof(NGX_GUILDLOG_CSV_BOM) - 1);
        }

        ngx_guildlog_json_literal(out, ngx_guildlog_csv_header.data,
                                  ngx_guildlog_csv_header.len);
    }

    for (row = 1; row < result->rows; row++) {
        below = ngx_http_guildlog_log_text(result, row, ID);

        if (ex->lines) {
            p = ngx_http_guildlog_log_json_entry(p, result, row);
            *p++ = '\n';
            continue;
        }

        doc = ngx_http_guildlog_log_text(result, row, DOC);
        status = ngx_http_guildlog_log_text(result, row, STATUS);
        reason = ngx_http_guildlog_log_text(result, row, REASON);

        if (ngx_guildlog_csv_row(&ex->csv, out, &doc, &status, &reason)
            == NGX_DECLINED)
        {
            return ngx_http_guildlog_parts_abort(call, "an entry is broken");
        }
    }

    if (ex->lines) {
        ngx_guildlog_json_placed(out, p);
    }

    /* a chunk with fewer rows is the last one, unless its bytes cut it */

    more = ngx_http_guildlog_log_text(result, result->rows - 1, MORE);
    cut = (result->rows > 1 && more.len && *more.data == 't');

    if (ex->ids) {
        export_advance(ex, &below, cut);

    } else if (below.data) {
        ex->more = (cut || result->rows > EXPORT_ROWS);
        export_move(ex, &below);

    } else {
        ex->more = 0;
    }

    if (ex->person) {
        id = ngx_http_guildlog_log_text(result, 0, MESSAGE);
        ex->more = (id.data != NULL);

        if (ex->more) {
            export_move(ex, &id);
        }
    }

    return parts_send(call, ex->more);
}


/*
 * Moves pos behind the chunk, or behind that id if the chunk was cut there.  An
 * id whose entry is gone by now is passed over like any other.
 */

static void
export_advance(ngx_http_guildlog_export_t *ex, const ngx_str_t *id,
    ngx_uint_t cut)
{
    u_char     buf[NGX_INT64_LEN];
    int64_t    last;
    ngx_str_t  below;

    ngx_guildlog_assert(ex->pos <= ex->stop && ex->stop <= ex->nids);
    ngx_guildlog_assert(ex->stop > 0);

    last = cut ? ngx_atoof(id->data, id->len) : ex->ids[ex->stop - 1];

    while (ex->pos < ex->stop && ex->ids[ex->pos] >= last) {
        ex->pos++;
    }

    /* what is found next begins below the last id */

    below = ngx_guildlog_digits(buf, last);
    export_move(ex, &below);

    ex->more = (ex->pos < ex->nids || ex->further);
}


/* sets the id below which the next chunk begins */

static void
export_move(ngx_http_guildlog_export_t *ex, const ngx_str_t *below)
{
    size_t  len;

    len = ngx_min(below->len, NGX_INT64_LEN);

    ngx_memcpy(ex->below, below->data, len);
    ex->last[EXPORT_BELOW].len = len;
}


/* submits the statement, which copies the arguments */

static ngx_int_t
export_ask(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                    rc;
    ngx_str_t                   *ids;
    ngx_uint_t                   next;
    ngx_pool_t                  *pool;
    const ngx_guildlog_stmt_t   *stmt;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;

    if (ex->ids && ex->pos == ex->nids && ex->further) {
        call->search->begun = 1;
        return export_search(call);
    }

    next = ex->person ? ngx_guildlog_stmt_person_logs_next
                      : ngx_guildlog_stmt_logs_export_next;
    stmt = ex->begun ? &ngx_guildlog_stmts[next] : call->route->stmt;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                           call->request->connection->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    rc = NGX_OK;

    if (ex->ids) {
        ids = &ex->last[EXPORT_IDS];
        ex->stop = ngx_min(ex->pos + EXPORT_ROWS, ex->nids);
        rc = ngx_http_guildlog_search_ids(ids, pool, &ex->ids[ex->pos],
                                          ex->stop - ex->pos);
    }

    if (rc == NGX_OK) {
        ngx_memcpy(call->args, ex->args, sizeof(ex->args));
        call->nargs = ex->nargs;

        rc = ngx_http_guildlog_call_ask(call, stmt, ex->begun
                                              ? export_chunk
                                              : export_answer);
    }

    ngx_destroy_pool(pool);

    return rc;
}


/*
 * An answer in parts.  A part is asked for when the part before it has left,
 * so a slow reader costs one buffer and no connection to the database.
 */

/* the log calls the answer by that name if it is cut short */

static ngx_int_t
parts_begin(ngx_http_guildlog_call_t *call, const char *name,
    ngx_http_guildlog_slice_pt ask)
{
    ngx_pool_cleanup_t         *cln;
    ngx_http_guildlog_parts_t  *parts;

    cln = ngx_pool_cleanup_add(call->request->pool,
                               sizeof(ngx_http_guildlog_parts_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    parts = cln->data;
    ngx_memzero(parts, sizeof(ngx_http_guildlog_parts_t));

    parts->name = name;

    cln->handler = parts_cleanup;
    call->parts = parts;
    call->left = ask;
    call->ctx->call = call;

    return NGX_OK;
}


static void
parts_cleanup(void *data)
{
    ngx_http_guildlog_parts_t *parts = data;

    ngx_guildlog_pool_drop(&parts->out.pool);
}


/*
 * The result of a part has that status.  NGX_ERROR: it is not 200, and the
 * answer is cut short.
 */

static ngx_int_t
parts_judge(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result,
    ngx_uint_t status)
{
    switch (status) {

    case NGX_HTTP_OK:
        return NGX_OK;

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_http_guildlog_parts_abort(call, "the token was revoked");

    default:
        (void) ngx_http_guildlog_response_failed(result,
                                               call->route->stmt->name,
                                               call->request->connection->log);
        return ngx_http_guildlog_parts_abort(call, "the database failed");
    }
}


/*
 * One part, of about so many bytes, until the next one is opened: the part
 * before has left then.  NULL: out of memory.
 */

static ngx_guildlog_json_t *
parts_open(ngx_http_guildlog_call_t *call, size_t size)
{
    ngx_http_guildlog_parts_t  *parts;

    parts = call->parts;

    ngx_guildlog_assert(call->busy == NULL);

    parts_cleanup(parts);

    parts->out.pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE,
                                      call->request->connection->log);
    if (parts->out.pool == NULL) {
        return NULL;
    }

    ngx_guildlog_json_init(&parts->out, parts->out.pool, size);

    return &parts->out;
}


/* with more, the next part is asked for when this one has left */

static ngx_int_t
parts_send(ngx_http_guildlog_call_t *call, ngx_uint_t more)
{
    ngx_str_t  part;

    if (ngx_guildlog_json_written(&call->parts->out, &part) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_write(call, part.data,
                                            part.data + part.len, more);
}


/*
 * It is too late for a status.  nginx closes the connection (resets the stream
 * of HTTP/2) before the end of the answer.  HTTP/1.0 has no mark of the end,
 * so there the connection is reset.
 */

ngx_int_t
ngx_http_guildlog_parts_abort(ngx_http_guildlog_call_t *call, const char *cause)
{
    struct linger        linger;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "%s was cut short: %s", call->parts->name, cause);

    if (r->http_version < NGX_HTTP_VERSION_11) {
        linger.l_onoff = 1;
        linger.l_linger = 0;

        (void) setsockopt(r->connection->fd, SOL_SOCKET, SO_LINGER,
                          (const void *) &linger, sizeof(struct linger));
    }

    return NGX_ERROR;
}


/*
 * A row whose body may be large.  It is sent in parts, unless the first part
 * is all of it.
 */

/* in a subrequest the answer comes at once: parts need the connection */

ngx_int_t
ngx_http_guildlog_large_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t  *rest;

    rest = &call->args[call->nargs++];

    if (call->request == call->request->main) {
        ngx_str_set(rest, "");

    } else {
        ngx_str_null(rest);
    }

    return ngx_http_guildlog_call_ask(call, call->route->stmt, large_answer);
}


static ngx_int_t
large_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1
        || ngx_guildlog_db_result_value(result, 0, LARGE_MORE).data == NULL)
    {
        return ngx_http_guildlog_response_result(call, result);
    }

    if (parts_begin(call, "an answer", large_ask) != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_response_head(call->request, NGX_HTTP_OK,
                                         "application/json", -1);

    if (rc == NGX_ERROR || rc > NGX_OK || call->request->header_only) {
        return rc;
    }

    return large_part(call, result);
}


/* the argument for the next part lives as long as this one */

static ngx_int_t
large_part(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    int64_t               status;
    ngx_str_t             body, more, *rest;
    ngx_guildlog_json_t  *out;

    status = 0;
    ngx_str_null(&body);
    ngx_str_null(&more);

    if (result->outcome == NGX_GUILDLOG_DB_ROWS && result->rows == 1) {
        status = ngx_guildlog_db_result_number(result, 0, LARGE_STATUS);
        body = ngx_guildlog_db_result_value(result, 0, LARGE_BODY);
        more = ngx_guildlog_db_result_value(result, 0, LARGE_MORE);
    }

    if (parts_judge(call, result, status) != NGX_OK) {
        return NGX_ERROR;
    }

    out = parts_open(call, body.len);
    if (out == NULL) {
        return NGX_ERROR;
    }

    if (body.len) {
        ngx_guildlog_json_literal(out, body.data, body.len);
    }

    if (more.data) {
        rest = &call->args[call->nargs - 1];
        rest->len = more.len;
        rest->data = ngx_pstrdup(out->pool, &more);

        if (rest->data == NULL) {
            return NGX_ERROR;
        }
    }

    return parts_send(call, more.data != NULL);
}


static ngx_int_t
large_ask(ngx_http_guildlog_call_t *call)
{
    return ngx_http_guildlog_call_ask(call, call->route->stmt + 1, large_part);
}
