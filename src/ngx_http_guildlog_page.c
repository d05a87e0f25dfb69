
/*
 * GET /logs: the rows of a page become a LogPage.
 */

#include "ngx_http_guildlog.h"
#include "ngx_guildlog_cursor.h"


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
#define NGX_HTTP_GUILDLOG_PLAIN_ARGS    8


/* around what comes from the database, generously */

#define NGX_HTTP_GUILDLOG_PAGE_HEAD    64
#define NGX_HTTP_GUILDLOG_PAGE_ROW                                            \
    (sizeof(",,\"delivery\":{\"status\":\"\",\"reason\":\"\","                \
            "\"channelId\":\"\",\"messageId\":\"\"}}") + 16)


static ngx_uint_t ngx_http_guildlog_page_filtered(
    ngx_http_guildlog_call_t *call);
static void ngx_http_guildlog_page_plain(ngx_http_guildlog_call_t *call);
static ngx_int_t ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, ngx_str_t *body);
static u_char *ngx_http_guildlog_page_string(u_char *p,
    const ngx_str_t *name, const ngx_str_t *value);


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

    call->nargs = NGX_HTTP_GUILDLOG_PLAIN_ARGS;
}


ngx_int_t
ngx_http_guildlog_page_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result)
{
    ngx_int_t  rc;
    ngx_str_t  body;

    if (!ngx_http_guildlog_has_log(call, result, &rc)) {
        return rc;
    }

    if (ngx_http_guildlog_page_build(call, result, &body) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_send_json(call->request, NGX_HTTP_OK, &body);
}


/* room for all of it is known before, so nothing is checked twice */

static ngx_int_t
ngx_http_guildlog_page_build(ngx_http_guildlog_call_t *call,
    ngx_guildlog_result_t *result, ngx_str_t *body)
{
    u_char     *p;
    int64_t     id;
    ngx_str_t   head, more, last;
    ngx_uint_t  row;

    p = ngx_pnalloc(call->request->pool,
                    NGX_HTTP_GUILDLOG_PAGE_HEAD
                    + ngx_http_guildlog_entries_size(result));
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->data = p;

    head = ngx_guildlog_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_DOC);
    p = ngx_cpymem(p, head.data, head.len);
    p = ngx_cpymem(p, ",\"entries\":[", sizeof(",\"entries\":[") - 1);

    for (row = 1; row < result->rows; row++) {
        if (row > 1) {
            *p++ = ',';
        }

        p = ngx_http_guildlog_entry(p, result, row);
    }

    p = ngx_cpymem(p, "],\"cursor\":", sizeof("],\"cursor\":") - 1);

    more = ngx_guildlog_result_value(result, 0, NGX_HTTP_GUILDLOG_LOG_MORE);

    if (more.len && *more.data == 't' && result->rows > 1) {
        last = ngx_guildlog_result_value(result, result->rows - 1,
                                         NGX_HTTP_GUILDLOG_LOG_ID);
        id = ngx_atoi(last.data, last.len);

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
    ngx_str_t   doc, value;
    ngx_uint_t  i;

    static const ngx_str_t  names[] = {
        ngx_string(",\"delivery\":{\"status\":"), ngx_string(",\"reason\":"),
        ngx_string(",\"channelId\":"), ngx_string(",\"messageId\":")
    };

    doc = ngx_guildlog_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);
    p = ngx_cpymem(p, doc.data, doc.len);

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        value = ngx_guildlog_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_STATUS + i);
        p = ngx_http_guildlog_page_string(p, &names[i], &value);
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
