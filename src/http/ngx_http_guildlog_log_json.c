
/*
 * Writes the entries of a result: the document as it is stored, and what became
 * of its delivery.
 */

#include "http/ngx_http_guildlog_log.h"
#include "http/ngx_http_guildlog_response.h"


/* bytes of an entry besides the columns of its row, at most */

#define NGX_HTTP_GUILDLOG_LOG_JSON_ONE                                        \
    (sizeof(",,\"delivery\":{\"status\":\"not_delivered\",\"reason\":"        \
            "\"queued\",\"channelId\":null,\"messageId\":null}}") + 16        \
     + sizeof(",\"changes\":null,\"until\":null,\"role_id\":null,"            \
              "\"image\":null"))


/* a delivery, in the order of its columns */

enum {
    NGX_HTTP_GUILDLOG_DELIVERY_STATUS = 0,
    NGX_HTTP_GUILDLOG_DELIVERY_REASON,
    NGX_HTTP_GUILDLOG_DELIVERY_CHANNEL,
    NGX_HTTP_GUILDLOG_DELIVERY_MESSAGE,
    NGX_HTTP_GUILDLOG_DELIVERY_LAST
};


/* and the place of an entry that shares its row with others */

enum {
    NGX_HTTP_GUILDLOG_JOINED_LANE = NGX_HTTP_GUILDLOG_DELIVERY_LAST,
    NGX_HTTP_GUILDLOG_JOINED_SEQ,
    NGX_HTTP_GUILDLOG_JOINED_LAST
};


static ngx_uint_t ngx_http_guildlog_log_json_count(
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static void ngx_http_guildlog_log_json_delivery(
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_str_t *delivery);
static ngx_int_t ngx_http_guildlog_log_json_split(
    ngx_http_guildlog_log_json_t *entries, ngx_guildlog_db_result_t *result,
    ngx_uint_t row);
static u_char *ngx_http_guildlog_log_json_line(u_char *p, u_char *last,
    ngx_str_t *joined);
static ngx_int_t ngx_http_guildlog_log_json_place(ngx_str_t *joined,
    const ngx_guildlog_places_t *ranges);
static void ngx_http_guildlog_log_json_doc(
    ngx_http_guildlog_log_json_t *entries, const ngx_str_t *doc);
static u_char *ngx_http_guildlog_log_json_copy(u_char *p,
    const ngx_str_t *doc);
static void ngx_http_guildlog_log_json_write(
    ngx_http_guildlog_log_json_t *entries, const ngx_str_t *delivery);
static ngx_uint_t ngx_http_guildlog_log_json_decided(const ngx_str_t *delivery);
static u_char *ngx_http_guildlog_log_json_end(u_char *p,
    const ngx_str_t *delivery);
static u_char *ngx_http_guildlog_log_json_string(u_char *p,
    const ngx_str_t *name, const ngx_str_t *value);


/* by dstatus */

static const ngx_str_t  ngx_http_guildlog_log_json_words[] = {
    ngx_string("not_delivered"),
    ngx_string("unknown"),
    ngx_string("delivered")
};


size_t
ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result,
    const ngx_guildlog_places_t *ranges)
{
    size_t      size;
    ngx_uint_t  row, n;

    size = ngx_guildlog_db_result_size(result);

    if (ranges == NULL) {
        return size + result->rows * NGX_HTTP_GUILDLOG_LOG_JSON_ONE;
    }

    n = result->rows;

    for (row = 1; row < result->rows; row++) {
        n += ngx_http_guildlog_log_json_count(result, row);
    }

    return size + n * (NGX_HTTP_GUILDLOG_LOG_JSON_ONE + ranges->longest);
}


/* how many entries that row has; 0: it is a single one, in columns */

static ngx_uint_t
ngx_http_guildlog_log_json_count(ngx_guildlog_db_result_t *result,
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
    ngx_str_t  doc, delivery[NGX_HTTP_GUILDLOG_DELIVERY_LAST];

    ngx_http_guildlog_log_json_delivery(result, row, delivery);

    doc = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    p = ngx_http_guildlog_log_json_copy(p, &doc);

    return ngx_http_guildlog_log_json_end(p, delivery);
}


ngx_int_t
ngx_http_guildlog_log_json_add(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t  doc, delivery[NGX_HTTP_GUILDLOG_DELIVERY_LAST];

    ngx_http_guildlog_log_json_delivery(result, row, delivery);

    if (delivery[NGX_HTTP_GUILDLOG_DELIVERY_STATUS].data == NULL) {
        return ngx_http_guildlog_log_json_split(entries, result, row);
    }

    doc = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);
    ngx_http_guildlog_log_json_doc(entries, &doc);
    ngx_http_guildlog_log_json_write(entries, delivery);

    return NGX_OK;
}


static void
ngx_http_guildlog_log_json_delivery(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_str_t *delivery)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_GUILDLOG_DELIVERY_LAST; i++) {
        delivery[i] = ngx_guildlog_db_result_value(result, row,
                                          NGX_HTTP_GUILDLOG_LOG_STATUS + i);
    }
}


static ngx_int_t
ngx_http_guildlog_log_json_split(ngx_http_guildlog_log_json_t *entries,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    u_char      *p, *last;
    ngx_int_t    rc;
    ngx_str_t    text, doc, line, same, joined[NGX_HTTP_GUILDLOG_JOINED_LAST];
    ngx_uint_t   n;

    text = ngx_guildlog_db_result_value(result, row, NGX_HTTP_GUILDLOG_LOG_DOC);

    p = text.data;
    last = text.data + text.len;
    line.len = 0;

    for (n = ngx_http_guildlog_log_json_count(result, row); n; n--) {
        doc.data = p;

        p = memchr(p, '\t', last - p);
        if (p == NULL) {
            return NGX_ERROR;
        }

        doc.len = p++ - doc.data;
        ngx_http_guildlog_log_json_doc(entries, &doc);

        /* most often the delivery is the same as before */

        if (line.len && line.len <= (size_t) (last - p)
            && ngx_memcmp(p, line.data, line.len) == 0)
        {
            entries->last = ngx_cpymem(entries->last, same.data, same.len);
            p += line.len;
            continue;
        }

        line.data = p;
        p = ngx_http_guildlog_log_json_line(p, last, joined);
        line.len = p - line.data;

        rc = ngx_http_guildlog_log_json_place(joined, entries->ranges);

        if (rc != NGX_OK) {
            return rc;
        }

        same.data = entries->last;
        ngx_http_guildlog_log_json_write(entries, joined);
        same.len = entries->last - same.data;
    }

    return p == last ? NGX_OK : NGX_ERROR;
}


/* parses the words of a line; returns where the next line begins */

static u_char *
ngx_http_guildlog_log_json_line(u_char *p, u_char *last, ngx_str_t *joined)
{
    ngx_str_t  *word;

    ngx_memzero(joined, NGX_HTTP_GUILDLOG_JOINED_LAST * sizeof(ngx_str_t));

    while (p < last && *p != '\n') {

        if (*p <= ' ') {
            p++;
            continue;
        }

        switch (*p++) {

        case 'r':
            word = &joined[NGX_HTTP_GUILDLOG_DELIVERY_REASON];
            break;

        case 'c':
            word = &joined[NGX_HTTP_GUILDLOG_DELIVERY_CHANNEL];
            break;

        case 'm':
            word = &joined[NGX_HTTP_GUILDLOG_DELIVERY_MESSAGE];
            break;

        case 'l':
            word = &joined[NGX_HTTP_GUILDLOG_JOINED_LANE];
            break;

        case 's':
            word = &joined[NGX_HTTP_GUILDLOG_JOINED_SEQ];
            break;

        default:
            word = &joined[NGX_HTTP_GUILDLOG_DELIVERY_STATUS];
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


/* finds the delivery of an entry: in its line, or by its place in a lane */

static ngx_int_t
ngx_http_guildlog_log_json_place(ngx_str_t *joined,
    const ngx_guildlog_places_t *ranges)
{
    ngx_int_t                           status;
    ngx_str_t                          *lane, *seq, *word;
    const ngx_guildlog_places_range_t  *range;

    lane = &joined[NGX_HTTP_GUILDLOG_JOINED_LANE];
    seq = &joined[NGX_HTTP_GUILDLOG_JOINED_SEQ];
    word = &joined[NGX_HTTP_GUILDLOG_DELIVERY_STATUS];

    if (word->data) {
        status = ngx_atoi(word->data, word->len);

    } else if (lane->data == NULL) {
        status = 0;
        ngx_str_set(&joined[NGX_HTTP_GUILDLOG_DELIVERY_REASON], "queued");

    } else {
        range = ngx_guildlog_places_find(ranges,
                                         ngx_atoi(lane->data, lane->len),
                                         ngx_atoi(seq->data, seq->len));
        if (range == NULL) {
            return NGX_DECLINED;
        }

        status = range->status;
        joined[NGX_HTTP_GUILDLOG_DELIVERY_REASON] = range->reason;
        joined[NGX_HTTP_GUILDLOG_DELIVERY_MESSAGE] = range->message;
    }

    if ((size_t) status >= sizeof(ngx_http_guildlog_log_json_words)
                           / sizeof(ngx_http_guildlog_log_json_words[0]))
    {
        return NGX_ERROR;
    }

    *word = ngx_http_guildlog_log_json_words[status];

    return NGX_OK;
}


static void
ngx_http_guildlog_log_json_doc(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *doc)
{
    if (entries->n++) {
        *entries->last++ = ',';
    }

    entries->last = ngx_http_guildlog_log_json_copy(entries->last, doc);
}


/*
 * A document with changes, or another of the fields that few entries have, ends
 * with all of them.  The last one is an object or null; a string never ends in
 * bare quotes and null.
 */

static u_char *
ngx_http_guildlog_log_json_copy(u_char *p, const ngx_str_t *doc)
{
    static const ngx_str_t  none = ngx_string(",\"changes\":null,"
                                     "\"until\":null,\"role_id\":null"
                                     ",\"image\":null");
    static const ngx_str_t  last = ngx_string(",\"image\":null");

    p = ngx_cpymem(p, doc->data, doc->len);

    if (p[-1] == '}'
        || (doc->len > last.len
            && ngx_memcmp(p - last.len, last.data, last.len) == 0))
    {
        return p;
    }

    return ngx_cpymem(p, none.data, none.len);
}


static void
ngx_http_guildlog_log_json_write(ngx_http_guildlog_log_json_t *entries,
    const ngx_str_t *delivery)
{
    if (!ngx_http_guildlog_log_json_decided(delivery)) {
        entries->undecided = 1;
    }

    entries->last = ngx_http_guildlog_log_json_end(entries->last, delivery);
}


/* can the delivery no longer change without a request? */

static ngx_uint_t
ngx_http_guildlog_log_json_decided(const ngx_str_t *delivery)
{
    ngx_uint_t  i;

    static const ngx_str_t  open[] = {
        ngx_string("held"), ngx_string("queued"), ngx_string("retrying"),
        ngx_string("in_flight")
    };

    switch (delivery[NGX_HTTP_GUILDLOG_DELIVERY_STATUS].data[0]) {

    case 'd':
        return 1;

    case 'u':
        return 0;
    }

    for (i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        if (ngx_guildlog_str_eq(&open[i],
                                &delivery[NGX_HTTP_GUILDLOG_DELIVERY_REASON]))
        {
            return 0;
        }
    }

    return 1;
}


static u_char *
ngx_http_guildlog_log_json_end(u_char *p, const ngx_str_t *delivery)
{
    ngx_uint_t  i;

    static const ngx_str_t  names[] = {
        ngx_string(",\"delivery\":{\"status\":"), ngx_string(",\"reason\":"),
        ngx_string(",\"channelId\":"), ngx_string(",\"messageId\":")
    };

    for (i = 0; i < NGX_HTTP_GUILDLOG_DELIVERY_LAST; i++) {
        p = ngx_http_guildlog_log_json_string(p, &names[i], &delivery[i]);
    }

    *p++ = '}';
    *p++ = '}';

    return p;
}


/* writes a word or an id, in which nothing has to be escaped */

static u_char *
ngx_http_guildlog_log_json_string(u_char *p, const ngx_str_t *name,
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
