
/*
 * Entries of a result as they are written: the document that is stored, and
 * what became of the delivery.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_response.h"


/* around what comes from the database, generously */

#define NGX_HTTP_GUILDLOG_ENTRIES_ONE                                         \
    (sizeof(",,\"delivery\":{\"status\":\"not_delivered\",\"reason\":"       \
            "\"queued\",\"channelId\":null,\"messageId\":null}}") + 16)


/* what is said of a delivery, in the order of its columns */

enum {
    NGX_HTTP_GUILDLOG_SAID_STATUS = 0,
    NGX_HTTP_GUILDLOG_SAID_REASON,
    NGX_HTTP_GUILDLOG_SAID_CHANNEL,
    NGX_HTTP_GUILDLOG_SAID_MESSAGE,
    NGX_HTTP_GUILDLOG_SAID_LAST
};


/* and by an entry that is joined to others */

enum {
    NGX_HTTP_GUILDLOG_TOLD_LANE = NGX_HTTP_GUILDLOG_SAID_LAST,
    NGX_HTTP_GUILDLOG_TOLD_SEQ,
    NGX_HTTP_GUILDLOG_TOLD_LAST
};


static ngx_uint_t ngx_http_guildlog_entries_joined(
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static void ngx_http_guildlog_entries_said(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_str_t *said);
static ngx_int_t ngx_http_guildlog_entries_split(
    ngx_http_guildlog_log_json_t *entries, ngx_guildlog_db_result_t *result,
    ngx_uint_t row);
static u_char *ngx_http_guildlog_entries_told(u_char *p, u_char *last,
    ngx_str_t *told);
static ngx_int_t ngx_http_guildlog_entries_delivery(ngx_str_t *told,
    const ngx_guildlog_ranges_t *ranges);
static void ngx_http_guildlog_entries_doc(
    ngx_http_guildlog_log_json_t *entries, const ngx_str_t *doc);
static void ngx_http_guildlog_entries_say(
    ngx_http_guildlog_log_json_t *entries, const ngx_str_t *said);
static ngx_uint_t ngx_http_guildlog_entries_decided(const ngx_str_t *said);
static u_char *ngx_http_guildlog_entries_end(u_char *p,
    const ngx_str_t *said);
static u_char *ngx_http_guildlog_entries_string(u_char *p,
    const ngx_str_t *name, const ngx_str_t *value);


/* by dstatus */

static const ngx_str_t  ngx_http_guildlog_entries_words[] = {
    ngx_string("not_delivered"),
    ngx_string("unknown"),
    ngx_string("delivered")
};


size_t
ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result,
    const ngx_guildlog_ranges_t *ranges)
{
    size_t      size;
    ngx_uint_t  row, n;

    size = ngx_guildlog_db_result_size(result);

    if (ranges == NULL) {
        return size + result->rows * NGX_HTTP_GUILDLOG_ENTRIES_ONE;
    }

    n = result->rows;

    for (row = 1; row < result->rows; row++) {
        n += ngx_http_guildlog_entries_joined(result, row);
    }

    return size + n * (NGX_HTTP_GUILDLOG_ENTRIES_ONE + ranges->longest);
}


/* how many there are in that row; 0: it is an entry itself */

static ngx_uint_t
ngx_http_guildlog_entries_joined(ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    int64_t  n;

    n = ngx_guildlog_db_result_number(result, row, NGX_HTTP_GUILDLOG_LOG_SEQ);

    return n == NGX_ERROR ? 0 : n;
}


u_char *
ngx_http_guildlog_log_json_entry(u_char *p, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    ngx_str_t  doc, said[NGX_HTTP_GUILDLOG_SAID_LAST];

    ngx_http_guildlog_entries_said(result, row, said);

    doc = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    p = ngx_cpymem(p, doc.data, doc.len);

    return ngx_http_guildlog_entries_end(p, said);
}


ngx_int_t
ngx_http_guildlog_log_json_add(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t  doc, said[NGX_HTTP_GUILDLOG_SAID_LAST];

    ngx_http_guildlog_entries_said(result, row, said);

    if (said[NGX_HTTP_GUILDLOG_SAID_STATUS].data == NULL) {
        return ngx_http_guildlog_entries_split(entries, result, row);
    }

    doc = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);
    ngx_http_guildlog_entries_doc(entries, &doc);
    ngx_http_guildlog_entries_say(entries, said);

    return NGX_OK;
}


static void
ngx_http_guildlog_entries_said(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_str_t *said)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_GUILDLOG_SAID_LAST; i++) {
        said[i] = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_STATUS + i);
    }
}


static ngx_int_t
ngx_http_guildlog_entries_split(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    u_char      *p, *last;
    ngx_int_t    rc;
    ngx_str_t    text, doc, line, said, told[NGX_HTTP_GUILDLOG_TOLD_LAST];
    ngx_uint_t   n;

    text = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    p = text.data;
    last = text.data + text.len;
    line.len = 0;

    for (n = ngx_http_guildlog_entries_joined(result, row); n; n--) {
        doc.data = p;

        p = memchr(p, '\t', last - p);
        if (p == NULL) {
            return NGX_ERROR;
        }

        doc.len = p++ - doc.data;
        ngx_http_guildlog_entries_doc(entries, &doc);

        /* most often it is the same as of the one before */

        if (line.len && line.len <= (size_t) (last - p)
            && ngx_memcmp(p, line.data, line.len) == 0)
        {
            entries->last = ngx_cpymem(entries->last, said.data, said.len);
            p += line.len;
            continue;
        }

        line.data = p;
        p = ngx_http_guildlog_entries_told(p, last, told);
        line.len = p - line.data;

        rc = ngx_http_guildlog_entries_delivery(told, entries->ranges);

        if (rc != NGX_OK) {
            return rc;
        }

        said.data = entries->last;
        ngx_http_guildlog_entries_say(entries, told);
        said.len = entries->last - said.data;
    }

    return p == last ? NGX_OK : NGX_ERROR;
}


/* the words up to the end of a line; where the next one begins */

static u_char *
ngx_http_guildlog_entries_told(u_char *p, u_char *last, ngx_str_t *told)
{
    ngx_str_t  *word;

    ngx_memzero(told, NGX_HTTP_GUILDLOG_TOLD_LAST * sizeof(ngx_str_t));

    while (p < last && *p != '\n') {

        if (*p <= ' ') {
            p++;
            continue;
        }

        switch (*p++) {

        case 'r':
            word = &told[NGX_HTTP_GUILDLOG_SAID_REASON];
            break;

        case 'c':
            word = &told[NGX_HTTP_GUILDLOG_SAID_CHANNEL];
            break;

        case 'm':
            word = &told[NGX_HTTP_GUILDLOG_SAID_MESSAGE];
            break;

        case 'l':
            word = &told[NGX_HTTP_GUILDLOG_TOLD_LANE];
            break;

        case 's':
            word = &told[NGX_HTTP_GUILDLOG_TOLD_SEQ];
            break;

        default:
            word = &told[NGX_HTTP_GUILDLOG_SAID_STATUS];
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


/* the entry tells it, or what became of its place in a lane */

static ngx_int_t
ngx_http_guildlog_entries_delivery(ngx_str_t *told,
    const ngx_guildlog_ranges_t *ranges)
{
    ngx_int_t                    status;
    ngx_str_t                   *lane, *seq, *said;
    const ngx_guildlog_range_t  *range;

    lane = &told[NGX_HTTP_GUILDLOG_TOLD_LANE];
    seq = &told[NGX_HTTP_GUILDLOG_TOLD_SEQ];
    said = &told[NGX_HTTP_GUILDLOG_SAID_STATUS];

    if (said->data) {
        status = ngx_atoi(said->data, said->len);

    } else if (lane->data == NULL) {
        status = 0;
        ngx_str_set(&told[NGX_HTTP_GUILDLOG_SAID_REASON], "queued");

    } else {
        range = ngx_guildlog_ranges_find(ranges,
                                         ngx_atoi(lane->data, lane->len),
                                         ngx_atoi(seq->data, seq->len));
        if (range == NULL) {
            return NGX_DECLINED;
        }

        status = range->status;
        told[NGX_HTTP_GUILDLOG_SAID_REASON] = range->reason;
        told[NGX_HTTP_GUILDLOG_SAID_MESSAGE] = range->message;
    }

    if ((size_t) status >= sizeof(ngx_http_guildlog_entries_words)
                           / sizeof(ngx_http_guildlog_entries_words[0]))
    {
        return NGX_ERROR;
    }

    *said = ngx_http_guildlog_entries_words[status];

    return NGX_OK;
}


static void
ngx_http_guildlog_entries_doc(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *doc)
{
    if (entries->n++) {
        *entries->last++ = ',';
    }

    entries->last = ngx_cpymem(entries->last, doc->data, doc->len);
}


static void
ngx_http_guildlog_entries_say(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *said)
{
    if (!ngx_http_guildlog_entries_decided(said)) {
        entries->undecided = 1;
    }

    entries->last = ngx_http_guildlog_entries_end(entries->last, said);
}


/* unknown may become known */

static ngx_uint_t
ngx_http_guildlog_entries_decided(const ngx_str_t *said)
{
    ngx_uint_t  i;

    static const ngx_str_t  open[] = {
        ngx_string("held"), ngx_string("queued"), ngx_string("retrying"),
        ngx_string("in_flight")
    };

    switch (said[NGX_HTTP_GUILDLOG_SAID_STATUS].data[0]) {

    case 'd':
        return 1;

    case 'u':
        return 0;
    }

    for (i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        if (open[i].len == said[NGX_HTTP_GUILDLOG_SAID_REASON].len
            && ngx_memcmp(open[i].data,
                          said[NGX_HTTP_GUILDLOG_SAID_REASON].data,
                          open[i].len)
               == 0)
        {
            return 0;
        }
    }

    return 1;
}


static u_char *
ngx_http_guildlog_entries_end(u_char *p, const ngx_str_t *said)
{
    ngx_uint_t  i;

    static const ngx_str_t  names[] = {
        ngx_string(",\"delivery\":{\"status\":"), ngx_string(",\"reason\":"),
        ngx_string(",\"channelId\":"), ngx_string(",\"messageId\":")
    };

    for (i = 0; i < NGX_HTTP_GUILDLOG_SAID_LAST; i++) {
        p = ngx_http_guildlog_entries_string(p, &names[i], &said[i]);
    }

    *p++ = '}';
    *p++ = '}';

    return p;
}


/* words and ids, in which nothing has to be escaped */

static u_char *
ngx_http_guildlog_entries_string(u_char *p, const ngx_str_t *name,
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
