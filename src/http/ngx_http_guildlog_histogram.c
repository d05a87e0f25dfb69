
/*
 * GET /logs/histogram: the database says what the buckets are, and brings what
 * is in each, in pieces; or a search counts what it finds in slots of time.
 */

#include "http/ngx_http_guildlog_search.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "log/ngx_guildlog_language.h"


/* the arguments behind the window */

enum {
    HISTOGRAM_BUCKETS = NGX_HTTP_GUILDLOG_FILTER_BEFORE + 1,
    HISTOGRAM_COUNTED,
    HISTOGRAM_ARGS
};


/* bytes of a bucket, and of what stands around them, at most */

#define HISTOGRAM_BUCKET  64
#define HISTOGRAM_COUNT   (sizeof("\"categoryChannels\":,") + NGX_INT64_LEN)
#define HISTOGRAM_HEAD    256


/* times are ms */

struct ngx_http_guildlog_histogram_s {
    ngx_http_guildlog_filter_t     filter;
    ngx_str_t                      args[NGX_HTTP_GUILDLOG_FILTER_LAST];
    int64_t                        from;
    int64_t                        to;
    int64_t                        step;
    ngx_uint_t                     walled;
    ngx_guildlog_find_slots_t      slots;
};


static ngx_int_t histogram_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t histogram_head(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t histogram_count(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t histogram_search(ngx_http_guildlog_call_t *call);
static ngx_int_t histogram_failed(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t histogram_send(ngx_http_guildlog_call_t *call);
static u_char *histogram_bucket(u_char *p,
    const ngx_http_guildlog_histogram_t *histogram, ngx_uint_t n);


ngx_int_t
ngx_http_guildlog_histogram_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                      *args;
    ngx_http_guildlog_histogram_t  *histogram;

    args = call->args;

    histogram = ngx_pcalloc(call->request->pool,
                            sizeof(ngx_http_guildlog_histogram_t));
    if (histogram == NULL
        || ngx_http_guildlog_filter_read(&histogram->filter,
                                         call->request->pool, args)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    call->histogram = histogram;
    ngx_memcpy(histogram->args, args, sizeof(histogram->args));

    args[HISTOGRAM_BUCKETS] = args[NGX_HTTP_GUILDLOG_FILTER_LAST];
    ngx_str_set(&args[HISTOGRAM_COUNTED], "t");

    if (ngx_http_guildlog_filter_finds(histogram->args)) {
        ngx_str_set(&args[HISTOGRAM_COUNTED], "f");
    }

    call->nargs = HISTOGRAM_ARGS;

    return ngx_http_guildlog_call_ask(call, ngx_guildlog_stmt(logs_histogram),
                                      histogram_answer);
}


static ngx_int_t
histogram_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    rc = histogram_head(call, result);

    if (rc == NGX_OK && ngx_http_guildlog_filter_finds(call->histogram->args)) {
        return histogram_search(call);
    }

    if (rc == NGX_OK) {
        rc = histogram_count(call, result);
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "\"logs_histogram\" returned what is no histogram");
    }

    return rc == NGX_OK ? histogram_send(call) : NGX_ERROR;
}


static ngx_int_t
histogram_head(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    json_t                         *head;
    ngx_str_t                       text, error;
    ngx_guildlog_find_slots_t      *slots;
    ngx_http_guildlog_histogram_t  *histogram;

    histogram = call->histogram;
    slots = &histogram->slots;

    text = ngx_guildlog_db_result_value(result, 0, NGX_GUILDLOG_PIECE_DOC);
    head = ngx_guildlog_json_parse(call->request->pool, &text, &error);

    histogram->from = json_integer_value(json_object_get(head, "from"));
    histogram->to = json_integer_value(json_object_get(head, "to"));
    histogram->step = json_integer_value(json_object_get(head, "step"));
    histogram->walled = json_is_true(json_object_get(head, "walled"));

    if (histogram->step <= 0 || histogram->from > histogram->to) {
        return NGX_DECLINED;
    }

    slots->first = json_integer_value(json_object_get(head, "first"));
    slots->step = json_integer_value(json_object_get(head, "ids"));
    slots->n = (histogram->to - histogram->from + histogram->step - 1)
               / histogram->step;
    slots->counts = ngx_pcalloc(call->request->pool,
                                (slots->n + 1) * sizeof(slots->counts[0]));

    return slots->counts ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
histogram_count(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    int64_t                     n;
    ngx_int_t                   rc;
    ngx_str_t                   what, types, days;
    ngx_uint_t                  row;
    ngx_guildlog_find_slots_t  *slots;

    slots = &call->histogram->slots;
    rc = NGX_OK;

    for (row = 1; row < result->rows && rc == NGX_OK; row++) {
        n = ngx_guildlog_db_result_number(result, row, NGX_GUILDLOG_PIECE_N);
        what = ngx_guildlog_db_result_value(result, row,
                                            NGX_GUILDLOG_PIECE_WHAT);
        types = ngx_guildlog_db_result_value(result, row,
                                             NGX_GUILDLOG_PIECE_TYPES);
        days = ngx_guildlog_db_result_value(result, row,
                                            NGX_GUILDLOG_PIECE_DOC);

        if (n < 0 || n >= (int64_t) slots->n || what.len != 1) {
            return NGX_DECLINED;
        }

        rc = (*what.data == 'd')
             ? ngx_guildlog_pieces_count_days(&days, slots->counts[n])
             : ngx_guildlog_pieces_count_types(&types, slots->counts[n]);
    }

    return rc;
}


/* all that matches, between the borders that are fixed by now */

static ngx_int_t
histogram_search(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                       rc;
    ngx_str_t                      *args;
    ngx_pool_t                     *pool;
    ngx_http_guildlog_histogram_t  *histogram;

    static const ngx_str_t  none = ngx_null_string;

    pool = call->request->pool;
    histogram = call->histogram;

    if (histogram->slots.n == 0) {
        return histogram_send(call);
    }

    args = call->args;
    ngx_memcpy(args, histogram->args, sizeof(histogram->args));

    if (ngx_guildlog_print(pool, &args[NGX_HTTP_GUILDLOG_FILTER_AFTER], "%L",
                           histogram->from - 1)
        != NGX_OK
        || ngx_guildlog_print(pool, &args[NGX_HTTP_GUILDLOG_FILTER_BEFORE],
                              "%L", histogram->to)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_search_start(call, &none, &none, 0, histogram_send,
                                        histogram_failed);

    if (rc == NGX_AGAIN) {
        call->search->slots = &histogram->slots;
    }

    return rc;
}


static ngx_int_t
histogram_failed(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  rc;

    return ngx_http_guildlog_response_has_log(call, result, &rc) ? NGX_ERROR
                                                                 : rc;
}


/* the room is reserved for the longest answer, so writing checks no bounds */

static ngx_int_t
histogram_send(ngx_http_guildlog_call_t *call)
{
    u_char                         *p;
    ngx_str_t                       body;
    ngx_uint_t                      i;
    ngx_http_guildlog_histogram_t  *histogram;

    histogram = call->histogram;

    body.data = ngx_pnalloc(call->request->pool, HISTOGRAM_HEAD
                            + histogram->slots.n
                              * (HISTOGRAM_BUCKET + NGX_GUILDLOG_CATEGORIES
                                                    * HISTOGRAM_COUNT));
    if (body.data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_sprintf(body.data,
                    "{\"from\":%L,\"to\":%L,\"step\":%L,\"walled\":%s,"
                    "\"buckets\":[",
                    histogram->from, histogram->to, histogram->step,
                    histogram->walled ? "true" : "false");

    for (i = 0; i < histogram->slots.n; i++) {
        p = histogram_bucket(p, histogram, i);
    }

    p -= (p[-1] == ',');
    p = ngx_cpymem(p, "]}", 2);

    body.len = p - body.data;

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK, &body);
}


/* with a comma behind it; nothing, where it is empty */

static u_char *
histogram_bucket(u_char *p, const ngx_http_guildlog_histogram_t *histogram,
    ngx_uint_t n)
{
    u_char           *begin;
    int64_t           counts[NGX_GUILDLOG_CATEGORIES];
    ngx_uint_t        i;
    const u_char     *shown;

    shown = histogram->filter.shown;
    ngx_memzero(counts, sizeof(counts));

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        if (shown == NULL || shown[i] == '1') {
            counts[ngx_guildlog_type_category[i]]
                += histogram->slots.counts[n][i];
        }
    }

    begin = p;
    p = ngx_sprintf(p, "{\"at\":%L,\"counts\":{",
                    histogram->from + n * histogram->step);

    for (i = 0; i < NGX_GUILDLOG_CATEGORIES; i++) {
        if (counts[i]) {
            p = ngx_sprintf(p, "\"%s\":%L,", ngx_guildlog_type_categories[i],
                            counts[i]);
        }
    }

    return p[-1] == '{' ? begin : ngx_cpymem(p - 1, "}},", 3);
}
