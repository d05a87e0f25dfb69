
/*
 * Batches of entries to record, or of packets, as a JSON array or a line each.
 */

#include "log/ngx_guildlog_batch.h"
#include "base/ngx_guildlog.h"


/* bytes, for what is parsed of one line */
#define BATCH_POOL_SIZE  4096


/* takes the next entry; NGX_DONE: there is none */
typedef ngx_int_t (*batch_pt)(ngx_guildlog_batch_t *batch);


struct ngx_guildlog_batch_s {
    ngx_pool_t                    *pool;
    ngx_str_t                      body;
    u_char                        *pos;
    ngx_uint_t                     many;
    ngx_uint_t                     n;        /* entries so far */
    batch_pt                       next;
    ngx_str_t                     *error;    /* of the whole */
    ngx_guildlog_columns_t         columns;
    ngx_guildlog_batch_take_pt     take;     /* of packets */
    void                          *data;
    unsigned                       ended:1;  /* the array */
    unsigned                       apart:1;  /* a bad entry sinks no other */
};


static void batch_begin(ngx_guildlog_batch_t *batch, batch_pt next);
static ngx_int_t batch_array(ngx_guildlog_batch_t *batch);
static ngx_int_t batch_item(ngx_guildlog_batch_t *batch);
static ngx_int_t batch_refuse(ngx_guildlog_batch_t *batch);
static ngx_int_t batch_row(ngx_guildlog_batch_t *batch);
static ngx_int_t batch_line(ngx_guildlog_batch_t *batch, const ngx_str_t *text);
static ngx_int_t batch_packet(ngx_guildlog_batch_t *batch, ngx_str_t *text);
static ngx_int_t batch_count(ngx_guildlog_batch_t *batch);
static ngx_int_t batch_cut(ngx_guildlog_batch_t *batch, ngx_str_t *text);
static ngx_int_t batch_check(ngx_guildlog_batch_t *batch, ngx_pool_t *pool,
    size_t len, json_t *json);


ngx_guildlog_batch_t *
ngx_guildlog_batch_create(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_uint_t many)
{
    ngx_guildlog_batch_t  *batch;

    batch = ngx_pcalloc(pool, sizeof(ngx_guildlog_batch_t));
    if (batch == NULL) {
        return NULL;
    }

    batch->pool = pool;
    batch->body = *body;
    batch->many = many;

    batch_begin(batch, ndjson ? batch_row : batch_array);

    ngx_guildlog_columns_init(&batch->columns, pool, many, body->len);

    return batch;
}


ngx_guildlog_batch_t *
ngx_guildlog_batch_packets(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_guildlog_batch_take_pt take, void *data)
{
    ngx_guildlog_batch_t  *batch;

    batch = ngx_pcalloc(pool, sizeof(ngx_guildlog_batch_t));
    if (batch == NULL) {
        return NULL;
    }

    batch->pool = pool;
    batch->body = *body;
    batch->take = take;
    batch->data = data;

    batch_begin(batch, ndjson ? batch_row : batch_array);
    return batch;
}


static void
batch_begin(ngx_guildlog_batch_t *batch, batch_pt next)
{
    batch->next = next;
    batch->pos = batch->body.data;
    batch->n = 0;
}


ngx_int_t
ngx_guildlog_batch_read(ngx_guildlog_batch_t *batch, size_t size,
    ngx_str_t *args, ngx_str_t *error)
{
    u_char     *start;
    ngx_int_t   rc;

    batch->error = error;
    start = batch->pos;

    do {
        rc = batch->next(batch);

        /* a line that no LF ends, ends with one behind the body */

        ngx_guildlog_assert(batch->pos >= batch->body.data
                            && batch->pos <= batch->body.data
                                             + batch->body.len + 1);

        if (rc == NGX_DONE && batch->take) {
            return NGX_OK;
        }

        if (rc == NGX_DONE) {
            ngx_guildlog_assert(batch->columns.n == batch->n);

            return ngx_guildlog_columns_end(&batch->columns, args);
        }

        if (rc != NGX_OK) {
            return rc;
        }

        /* a batch that began anew waits for the next call */

    } while (batch->pos > start && (size_t) (batch->pos - start) < size);

    return NGX_AGAIN;
}


static ngx_int_t
batch_array(ngx_guildlog_batch_t *batch)
{
    u_char  *last;

    last = batch->body.data + batch->body.len;
    batch->pos = ngx_guildlog_json_scan_skip(batch->body.data, last);

    if (batch->pos == last || *batch->pos != '[') {
        return batch_refuse(batch);
    }

    batch->pos++;
    batch->ended = 0;
    batch->next = batch_item;

    return NGX_OK;
}


static ngx_int_t
batch_item(ngx_guildlog_batch_t *batch)
{
    json_t                *json;
    ngx_int_t              rc;
    ngx_str_t              text;
    json_error_t           cause;
    enum json_error_code   code;

    ngx_str_null(batch->error);

    rc = batch_cut(batch, &text);

    if (rc == NGX_OK) {
        rc = batch_count(batch);
    }

    if (rc == NGX_DONE) {
        return NGX_DONE;
    }

    if (rc != NGX_OK) {
        return (batch->apart && batch->error->len)
               ? NGX_DECLINED : batch_refuse(batch);
    }

    if (batch->take) {
        return batch_packet(batch, &text);
    }

    if (batch->apart) {
        return batch_line(batch, &text);
    }

    json = ngx_guildlog_json_read_any(text.data, text.len,
                                      JSON_REJECT_DUPLICATES|JSON_DECODE_ANY,
                                      &cause);
    if (json) {
        rc = batch_check(batch, batch->pool, text.len, json);
        json_decref(json);
        return rc;
    }

    if (cause.text[0] == '\0') {
        return NGX_ERROR;
    }

    code = json_error_code(&cause);

    if (code != json_error_numeric_overflow
        && code != json_error_null_character
        && code != json_error_null_byte_in_key
        && !ngx_guildlog_json_parse_is_half(&cause))
    {
        return batch_refuse(batch);
    }

    /*
     * The mistake is in one value: the other entries can be recorded.  From
     * the first one on again, so that all are treated alike.
     */

    batch->apart = 1;
    batch_begin(batch, batch_array);

    ngx_guildlog_columns_init(&batch->columns, batch->pool, batch->many,
                              batch->body.len);

    return NGX_OK;
}


/* parses all of the body once more, to say why it is refused as a whole */

static ngx_int_t
batch_refuse(ngx_guildlog_batch_t *batch)
{
    json_t  *json;

    json = ngx_guildlog_json_parse(batch->pool, &batch->body, batch->error);

    if (json == NULL) {
        return batch->error->len ? NGX_DECLINED : NGX_ERROR;
    }

    if (!json_is_array(json)) {
        ngx_str_set(batch->error, "body: must be an array");
        return NGX_DECLINED;
    }

    batch->n = json_array_size(json);

    return (batch_count(batch) == NGX_OK) ? NGX_ERROR : NGX_DECLINED;
}


/* one object a line; lines of nothing but white space are none */

static ngx_int_t
batch_row(ngx_guildlog_batch_t *batch)
{
    u_char     *p, *last, *end;
    ngx_str_t   line;

    p = batch->pos;
    last = batch->body.data + batch->body.len;

    if (p >= last) {
        return NGX_DONE;
    }

    end = ngx_strlchr(p, last, LF);
    end = end ? end : last;
    batch->pos = end + 1;

    line.data = ngx_guildlog_json_scan_skip(p, end);

    for (p = end; line.data < p; p--) {
        if (ngx_guildlog_json_scan_skip(p - 1, p) != p) {
            break;
        }
    }

    line.len = p - line.data;

    if (line.len == 0) {
        return NGX_OK;
    }

    if (batch_count(batch) != NGX_OK) {
        return NGX_DECLINED;
    }

    return batch->take ? batch_packet(batch, &line) : batch_line(batch, &line);
}


/* what is not JSON may be anything: it sinks no other either */

static ngx_int_t
batch_packet(ngx_guildlog_batch_t *batch, ngx_str_t *text)
{
    while (text->len
           && ngx_guildlog_json_scan_skip(text->data, text->data + 1)
              != text->data)
    {
        text->data++;
        text->len--;
    }

    return batch->take(batch->data, text);
}


/* an entry by itself; what is made of it is freed when it is checked */

static ngx_int_t
batch_line(ngx_guildlog_batch_t *batch, const ngx_str_t *text)
{
    json_t      *json;
    ngx_int_t    rc;
    ngx_str_t    error;
    ngx_pool_t  *pool;

    json = ngx_guildlog_json_read(text->data, text->len);

    if (json) {
        rc = batch_check(batch, batch->pool, text->len, json);
        json_decref(json);
        return rc;
    }

    pool = ngx_create_pool(BATCH_POOL_SIZE, batch->pool->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    rc = NGX_OK;
    json = ngx_guildlog_json_parse(pool, text, &error);

    if (json) {
        rc = batch_check(batch, pool, text->len, json);

    } else if (error.len) {
        ngx_guildlog_columns_refuse(&batch->columns, &error);

    } else {
        rc = NGX_ERROR;
    }

    ngx_destroy_pool(pool);

    return rc;
}


static ngx_int_t
batch_count(ngx_guildlog_batch_t *batch)
{
    if (batch->n >= NGX_GUILDLOG_BATCH_MAX) {
        ngx_str_set(batch->error, "body: must have at most "
                    ngx_value(NGX_GUILDLOG_BATCH_MAX) " entries");
        return NGX_DECLINED;
    }

    batch->n++;

    return NGX_OK;
}


/*
 * The text of the next entry of an array, by its brackets.  NGX_DONE: there is
 * none; NGX_DECLINED: it is not one array and nothing else, or nested too
 * deep, or not UTF-8.
 */

static ngx_int_t
batch_cut(ngx_guildlog_batch_t *batch, ngx_str_t *text)
{
    u_char         close[NGX_GUILDLOG_JSON_DEPTH];
    ngx_uint_t     depth;
    const u_char  *p, *last;

    if (batch->ended) {
        return NGX_DONE;
    }

    last = batch->body.data + batch->body.len;
    text->data = batch->pos;
    close[0] = ']';

    for (p = batch->pos, depth = 1; p < last; p++) {

        switch (*p) {

        case '"':
            p = ngx_guildlog_json_scan_quote(p + 1, last);
            break;

        case '{':
        case '[':
            if (depth < NGX_GUILDLOG_JSON_DEPTH) {
                close[depth] = (*p == '{') ? '}' : ']';

            } else if (batch->take == NULL) {
                return NGX_DECLINED;
            }

            depth++;
            break;

        case '}':
        case ']':
            if (--depth < NGX_GUILDLOG_JSON_DEPTH && *p != close[depth]) {
                ngx_str_set(batch->error, "body: brackets do not match");
                return NGX_DECLINED;
            }

            if (depth == 0) {
                batch->ended = 1;
                goto found;
            }

            break;

        case ',':
            if (depth == 1) {
                goto found;
            }

            break;
        }
    }

    return NGX_DECLINED;

found:

    text->len = p - text->data;
    batch->pos = (u_char *) p + 1;

    if (batch->ended) {

        if (ngx_guildlog_json_scan_skip(batch->pos, last) != last) {
            return NGX_DECLINED;
        }

        if (batch->n == 0 && ngx_guildlog_json_scan_skip(text->data, p) == p) {
            return NGX_DONE;
        }
    }

    return (ngx_guildlog_utf8_valid(text->data, text->len) == text->len)
           ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
batch_check(ngx_guildlog_batch_t *batch, ngx_pool_t *pool, size_t len,
    json_t *json)
{
    json_t     *fields[NGX_GUILDLOG_ENTRY_FIELDS];
    ngx_int_t   rc;
    ngx_str_t   error;

    if (len > NGX_GUILDLOG_ENTRY_SIZE_MAX) {
        ngx_str_set(&error, "entry: must be at most "
                    ngx_value(NGX_GUILDLOG_ENTRY_SIZE_MAX) " bytes");
        rc = NGX_DECLINED;

    } else {
        rc = ngx_guildlog_entry_check(pool, json, batch->many, fields, &error);
    }

    if (rc == NGX_OK) {
        ngx_guildlog_columns_add(&batch->columns, fields);

    } else if (rc == NGX_DECLINED) {
        ngx_guildlog_columns_refuse(&batch->columns, &error);
        rc = NGX_OK;
    }

    return rc;
}
