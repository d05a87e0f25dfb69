
/*
 * GET /logs/export, and the entries of a person: sent in parts, the chunks.
 * With a search, the database finds the ids of many chunks at a time, and each
 * chunk is asked for by its ids, so that the search does not run for each.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_csv.h"


#define NGX_HTTP_GUILDLOG_EXPORT_ROWS   200   /* a chunk */

/* the last arguments, behind the parameters of the route */

#define NGX_HTTP_GUILDLOG_EXPORT_SINCE  0
#define NGX_HTTP_GUILDLOG_EXPORT_BELOW  1
#define NGX_HTTP_GUILDLOG_EXPORT_MOST   2
#define NGX_HTTP_GUILDLOG_EXPORT_LINES  3     /* all arguments of NDJSON */

#define NGX_HTTP_GUILDLOG_EXPORT_IDS    3
#define NGX_HTTP_GUILDLOG_EXPORT_AHEAD  4
#define NGX_HTTP_GUILDLOG_EXPORT_ARGS   5

/* ids that a search finds at once: some 200 KB as text */
#define NGX_HTTP_GUILDLOG_EXPORT_FOUND  10000


struct ngx_http_guildlog_export_s {
    ngx_guildlog_csv_t             csv;
    ngx_str_t                     *args;       /* the last ones */
    u_char                         since[NGX_INT64_LEN];
    u_char                         below[NGX_INT64_LEN];

    /*
     * What a search found: ",id,id…".  The comma before a chunk and the one
     * behind it are replaced by braces while the chunk is asked for.  The ids
     * up to pos are done, those from there up to stop are the next chunk.
     */
    u_char                        *ids;        /* owned; NULL: no search */
    u_char                        *pos;
    u_char                        *stop;
    u_char                        *last;

    unsigned                       begun:1;
    unsigned                       more:1;
    unsigned                       lines:1;    /* NDJSON instead of CSV */
    unsigned                       further:1;  /* the search found more */
};


static ngx_int_t ngx_http_guildlog_export_begin(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_export_header(
    ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_export_cleanup(void *data);
static ngx_int_t ngx_http_guildlog_export_chunk(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_export_found(
    ngx_http_guildlog_export_t *ex, ngx_guildlog_db_result_t *result,
    ngx_log_t *log);
static u_char *ngx_http_guildlog_export_stop(ngx_http_guildlog_export_t *ex);
static ngx_int_t ngx_http_guildlog_export_fill(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_export_advance(ngx_http_guildlog_export_t *ex,
    const ngx_str_t *id, ngx_uint_t cut);
static void ngx_http_guildlog_export_move(ngx_http_guildlog_export_t *ex,
    const ngx_str_t *below);
static size_t ngx_http_guildlog_export_size(ngx_http_guildlog_export_t *ex,
    ngx_guildlog_db_result_t *result);
static ngx_int_t ngx_http_guildlog_export_ask(ngx_http_guildlog_call_t *call);


ngx_int_t
ngx_http_guildlog_export_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t  *args;

    args = &call->args[call->nargs];

    ngx_str_null(&args[NGX_HTTP_GUILDLOG_EXPORT_SINCE]);
    ngx_str_null(&args[NGX_HTTP_GUILDLOG_EXPORT_BELOW]);

    ngx_str_set(&args[NGX_HTTP_GUILDLOG_EXPORT_MOST],
                ngx_value(NGX_HTTP_GUILDLOG_EXPORT_ROWS));

    ngx_str_null(&args[NGX_HTTP_GUILDLOG_EXPORT_IDS]);

    ngx_str_set(&args[NGX_HTTP_GUILDLOG_EXPORT_AHEAD],
                ngx_value(NGX_HTTP_GUILDLOG_EXPORT_FOUND));

    call->nargs += (call->route->flags & NGX_GUILDLOG_ROUTE_LINES)
                   ? NGX_HTTP_GUILDLOG_EXPORT_LINES
                   : NGX_HTTP_GUILDLOG_EXPORT_ARGS;

    return ngx_http_guildlog_call_ask(call, call->route->stmt);
}


/* the first result decides the status of the answer */

ngx_int_t
ngx_http_guildlog_export_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;

    static const ngx_str_t  nothing = ngx_null_string;

    if (call->export) {
        return ngx_http_guildlog_export_chunk(call, result);
    }

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    if (result->rows == 1
        && !(call->route->flags & NGX_GUILDLOG_ROUTE_LINES))
    {
        return ngx_http_guildlog_response_send(call->request,
                                               NGX_HTTP_NO_CONTENT, &nothing,
                                               &nothing);
    }

    if (ngx_http_guildlog_export_begin(call, result) != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_export_header(call);

    if (rc == NGX_ERROR || rc > NGX_OK || call->request->header_only) {
        return rc;
    }

    return ngx_http_guildlog_export_chunk(call, result);
}


static ngx_int_t
ngx_http_guildlog_export_begin(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t                    head, since;
    ngx_pool_t                  *pool;
    ngx_pool_cleanup_t          *cln;
    ngx_http_guildlog_export_t  *ex;

    pool = call->request->pool;

    cln = ngx_pool_cleanup_add(pool, sizeof(ngx_http_guildlog_export_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    ex = cln->data;
    ngx_memzero(ex, sizeof(ngx_http_guildlog_export_t));

    cln->handler = ngx_http_guildlog_export_cleanup;
    call->export = ex;

    if (ngx_http_guildlog_parts_begin(call, "an export",
                                      ngx_http_guildlog_export_ask)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ex->lines = (call->route->flags & NGX_GUILDLOG_ROUTE_LINES) != 0;

    head = ngx_guildlog_db_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_DOC);

    if (!ex->lines
        && (head.data == NULL
            || ngx_guildlog_csv_init(&ex->csv, pool, &head) != NGX_OK))
    {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "\"%s\" returned no titles", call->route->stmt->name);
        return NGX_ERROR;
    }

    ex->args = &call->args[call->nargs
                           - (ex->lines ? NGX_HTTP_GUILDLOG_EXPORT_LINES
                                        : NGX_HTTP_GUILDLOG_EXPORT_ARGS)];
    ex->args[NGX_HTTP_GUILDLOG_EXPORT_SINCE].data = ex->since;
    ex->args[NGX_HTTP_GUILDLOG_EXPORT_BELOW].data = ex->below;

    since = ngx_guildlog_db_result_value(result, 0,
                                         NGX_HTTP_GUILDLOG_LOG_CHANNEL);
    since.len = ngx_min(since.len, NGX_INT64_LEN);

    ngx_memcpy(ex->since, since.data, since.len);
    ex->args[NGX_HTTP_GUILDLOG_EXPORT_SINCE].len = since.len;

    return NGX_OK;
}


static void
ngx_http_guildlog_export_cleanup(void *data)
{
    ngx_http_guildlog_export_t *ex = data;

    if (ex->ids) {
        ngx_free(ex->ids);
    }
}


static ngx_int_t
ngx_http_guildlog_export_header(ngx_http_guildlog_call_t *call)
{
    u_char              *p;
    ngx_tm_t             tm;
    ngx_str_t            value;
    const char          *suffix;
    ngx_http_request_t  *r;

    static const ngx_str_t  csv = ngx_string("text/csv");
    static const ngx_str_t  lines = ngx_string("application/x-ndjson");

    r = call->request;

    p = ngx_pnalloc(r->pool,
                    sizeof("attachment; filename="
                           "\"logs--19700101-000000.ndjson\"")
                    + call->guild.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_gmtime(ngx_time(), &tm);
    suffix = call->export->lines ? "ndjson" : "csv";

    value.data = p;
    value.len = ngx_sprintf(p, "attachment; filename=\"logs-%V-%4d%02d%02d"
                            "-%02d%02d%02d.%s\"",
                            &call->guild, tm.ngx_tm_year, tm.ngx_tm_mon,
                            tm.ngx_tm_mday, tm.ngx_tm_hour, tm.ngx_tm_min,
                            tm.ngx_tm_sec, suffix)
                - p;

    if (ngx_http_guildlog_response_header(r, "Content-Disposition", &value)
        == NULL)
    {
        return NGX_ERROR;
    }

    ngx_str_set(&r->headers_out.charset, "utf-8");

    return ngx_http_guildlog_response_head(r, NGX_HTTP_OK,
                                           call->export->lines ? &lines : &csv,
                                           -1);
}


static ngx_int_t
ngx_http_guildlog_export_chunk(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    if (ngx_http_guildlog_parts_fits(call, result,
                               ngx_http_guildlog_response_log_status(result))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_guildlog_export_found(call->export, result,
                                       call->request->connection->log)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_export_fill(call, result);
}


/* the head of a search has the ids it found, those of this chunk first */

static ngx_int_t
ngx_http_guildlog_export_found(ngx_http_guildlog_export_t *ex,
    ngx_guildlog_db_result_t *result, ngx_log_t *log)
{
    ngx_str_t  found, more;

    found = ngx_guildlog_db_result_value(result, 0,
                                         NGX_HTTP_GUILDLOG_LOG_REASON);
    if (found.data == NULL) {
        return NGX_OK;
    }

    if (ex->ids) {
        ngx_free(ex->ids);
    }

    ex->ids = ngx_alloc(found.len + 2, log);
    if (ex->ids == NULL) {
        return NGX_ERROR;
    }

    ex->pos = ex->ids;
    ex->last = ex->ids;

    if (found.len) {
        *ex->last++ = ',';
        ex->last = ngx_cpymem(ex->last, found.data, found.len);
    }

    ex->stop = ngx_http_guildlog_export_stop(ex);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, log, 0,
                   "guildlog export: %uz bytes of ids", found.len);

    more = ngx_guildlog_db_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_MORE);
    ex->further = (more.len && *more.data == 't');

    return NGX_OK;
}


/* the end of the next chunk of ids */

static u_char *
ngx_http_guildlog_export_stop(ngx_http_guildlog_export_t *ex)
{
    u_char      *p;
    ngx_uint_t   n;

    p = ex->pos;

    for (n = 0; n < NGX_HTTP_GUILDLOG_EXPORT_ROWS && p < ex->last; n++) {

        do {
            p++;
        } while (p < ex->last && *p != ',');
    }

    return p;
}


static ngx_int_t
ngx_http_guildlog_export_fill(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    u_char                      *p;
    ngx_str_t                    id, doc, status, reason, more, below;
    ngx_uint_t                   row, cut;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;

    p = ngx_http_guildlog_parts_reserve(call,
                                  ngx_http_guildlog_export_size(ex, result));
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_str_null(&below);

    if (!ex->begun && !ex->lines) {
        ex->begun = 1;
        p = ngx_cpymem(p, ngx_guildlog_csv_header.data,
                       ngx_guildlog_csv_header.len);
    }

    for (row = 1; row < result->rows; row++) {
        below = ngx_guildlog_db_result_value(result, row,
                                             NGX_HTTP_GUILDLOG_LOG_ID);

        if (ex->lines) {
            p = ngx_http_guildlog_log_json_entry(p, result, row);
            *p++ = '\n';
            continue;
        }

        doc = ngx_guildlog_db_result_value(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DOC);
        status = ngx_guildlog_db_result_value(result, row,
                                              NGX_HTTP_GUILDLOG_LOG_STATUS);
        reason = ngx_guildlog_db_result_value(result, row,
                                              NGX_HTTP_GUILDLOG_LOG_REASON);

        p = ngx_guildlog_csv_row(&ex->csv, p, &doc, &status, &reason);

        if (p == NULL) {
            return ngx_http_guildlog_parts_abort(call, "an entry is broken");
        }
    }

    /* a chunk with fewer rows is the last one, unless its bytes cut it */

    more = ngx_guildlog_db_result_value(result, result->rows - 1,
                                        NGX_HTTP_GUILDLOG_LOG_MORE);
    cut = (result->rows > 1 && more.len && *more.data == 't');

    if (ex->ids) {
        ngx_http_guildlog_export_advance(ex, &below, cut);

    } else if (below.data) {
        ex->more = (cut || result->rows > NGX_HTTP_GUILDLOG_EXPORT_ROWS);
        ngx_http_guildlog_export_move(ex, &below);

    } else {
        ex->more = 0;
    }

    if (ex->lines) {
        id = ngx_guildlog_db_result_value(result, 0,
                                          NGX_HTTP_GUILDLOG_LOG_MESSAGE);
        ex->more = (id.data != NULL);

        if (ex->more) {
            ngx_http_guildlog_export_move(ex, &id);
        }
    }

    return ngx_http_guildlog_parts_send(call, p, ex->more);
}


/*
 * Moves pos behind the chunk, or behind that id if the chunk was cut there.  An
 * id whose entry is gone by now is passed over like any other.
 */

static void
ngx_http_guildlog_export_advance(ngx_http_guildlog_export_t *ex,
    const ngx_str_t *id, ngx_uint_t cut)
{
    u_char     *p;
    ngx_str_t   one;

    p = cut ? ex->pos : ex->stop;

    while (p < ex->stop) {
        one.data = ++p;

        while (p < ex->stop && *p != ',') {
            p++;
        }

        one.len = p - one.data;

        if (id->len && one.len == id->len
            && ngx_memcmp(one.data, id->data, id->len) == 0)
        {
            break;
        }
    }

    /* another search would begin below the last id */

    if (p > ex->pos) {
        one.data = p;

        while (one.data[-1] != ',') {
            one.data--;
        }

        one.len = p - one.data;
        ngx_http_guildlog_export_move(ex, &one);
    }

    ex->pos = p;
    ex->stop = ngx_http_guildlog_export_stop(ex);
    ex->more = (p < ex->last || ex->further);
}


/* sets the id below which the next chunk begins */

static void
ngx_http_guildlog_export_move(ngx_http_guildlog_export_t *ex,
    const ngx_str_t *below)
{
    size_t  len;

    len = ngx_min(below->len, NGX_INT64_LEN);

    ngx_memcpy(ex->below, below->data, len);
    ex->args[NGX_HTTP_GUILDLOG_EXPORT_BELOW].len = len;
}


static size_t
ngx_http_guildlog_export_size(ngx_http_guildlog_export_t *ex,
    ngx_guildlog_db_result_t *result)
{
    size_t      size;
    ngx_str_t   doc;
    ngx_uint_t  row;

    if (ex->lines) {
        return ngx_http_guildlog_log_json_size(result, NULL) + result->rows;
    }

    size = ngx_guildlog_csv_header.len;

    for (row = 1; row < result->rows; row++) {
        doc = ngx_guildlog_db_result_value(result, row,
                                           NGX_HTTP_GUILDLOG_LOG_DOC);
        size += ngx_guildlog_csv_size(&ex->csv, &doc);
    }

    return size;
}


/* call_ask() copies the arguments, so the braces are undone behind it */

static ngx_int_t
ngx_http_guildlog_export_ask(ngx_http_guildlog_call_t *call)
{
    u_char                       c;
    ngx_int_t                    rc;
    ngx_str_t                   *ids;
    const ngx_guildlog_stmt_t   *stmt;
    ngx_http_guildlog_export_t  *ex;

    ex = call->export;
    ids = &ex->args[NGX_HTTP_GUILDLOG_EXPORT_IDS];
    stmt = ex->lines ? &ngx_guildlog_stmts[ngx_guildlog_stmt_person_logs_next]
                     : &ngx_guildlog_stmts[ngx_guildlog_stmt_logs_export_next];

    if (ex->ids == NULL || ex->pos == ex->last) {
        ngx_str_null(ids);
        return ngx_http_guildlog_call_ask(call, stmt);
    }

    ids->data = ex->pos;
    ids->len = ex->stop + 1 - ex->pos;

    c = *ex->stop;
    *ex->pos = '{';
    *ex->stop = '}';

    rc = ngx_http_guildlog_call_ask(call, stmt);

    *ex->pos = ',';
    *ex->stop = c;

    return rc;
}
