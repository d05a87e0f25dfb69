
/*
 * Batches of entries to record, as a JSON array or a line each.
 */

#include "ngx_guildlog_batch.h"


/* for what is parsed and judged of one line */
#define NGX_GUILDLOG_BATCH_POOL_SIZE  4096


typedef struct {
    ngx_pool_t                    *pool;
    ngx_uint_t                     many;
    int64_t                        now_ms;
    ngx_uint_t                     n;        /* entries so far */
    ngx_str_t                     *texts;    /* of an array's, as sent */
    ngx_str_t                     *error;    /* of the whole */
    ngx_guildlog_columns_t         columns;
} ngx_guildlog_batch_t;


static ngx_int_t ngx_guildlog_batch_array(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_uint_t ngx_guildlog_batch_is_separable(const ngx_str_t *body);
static ngx_int_t ngx_guildlog_batch_lines(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_batch_line(ngx_guildlog_batch_t *batch,
    const ngx_str_t *text);
static ngx_int_t ngx_guildlog_batch_count(ngx_guildlog_batch_t *batch);
static ngx_int_t ngx_guildlog_batch_split(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_batch_text(ngx_guildlog_batch_t *batch,
    const u_char *start, const u_char *end);
static ngx_int_t ngx_guildlog_batch_check(ngx_guildlog_batch_t *batch,
    ngx_pool_t *pool, size_t len, json_t *json);


ngx_int_t
ngx_guildlog_batch(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_uint_t many, int64_t now_ms, ngx_str_t *args,
    ngx_str_t *error)
{
    ngx_int_t             rc;
    ngx_guildlog_batch_t  batch;

    batch.pool = pool;
    batch.many = many;
    batch.now_ms = now_ms;
    batch.n = 0;
    batch.texts = NULL;
    batch.error = error;

    ngx_guildlog_columns_init(&batch.columns, pool, many, body->len);

    rc = ndjson ? ngx_guildlog_batch_lines(&batch, body)
                : ngx_guildlog_batch_array(&batch, body);

    if (rc != NGX_OK) {
        return rc;
    }

    return ngx_guildlog_columns_end(&batch.columns, args);
}


static ngx_int_t
ngx_guildlog_batch_array(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    json_t      *json, *item;
    ngx_int_t    rc;
    ngx_str_t   *text;
    ngx_uint_t   i;

    json = ngx_guildlog_json_parse(batch->pool, body, batch->error);

    if (json == NULL && batch->error->len == 0) {
        return NGX_ERROR;
    }

    if (json && !json_is_array(json)) {
        ngx_str_set(batch->error, "body: must be an array");
        return NGX_DECLINED;
    }

    if (json == NULL && !ngx_guildlog_batch_is_separable(body)) {
        return NGX_DECLINED;
    }

    /* where no entry can be too long, how long each is need not be known */

    if (json && body->len <= NGX_GUILDLOG_ENTRY_SIZE_MAX) {

        for (i = 0; i < json_array_size(json); i++) {
            if (ngx_guildlog_batch_count(batch) != NGX_OK) {
                return NGX_DECLINED;
            }
        }

    } else {
        rc = ngx_guildlog_batch_split(batch, body);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    for (i = 0; i < batch->n; i++) {
        item = json_array_get(json, i);
        text = batch->texts ? &batch->texts[i] : NULL;

        if (text == NULL) {
            rc = ngx_guildlog_batch_check(batch, batch->pool, 0, item);

        } else if (json) {
            rc = ngx_guildlog_batch_check(batch, batch->pool, text->len,
                                          item);

        } else {
            rc = ngx_guildlog_batch_line(batch, text);
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* refused for a value of one entry, which need not sink the others */

static ngx_uint_t
ngx_guildlog_batch_is_separable(const ngx_str_t *body)
{
    json_t                *json;
    json_error_t           cause;
    enum json_error_code   code;

    json = ngx_guildlog_json_load(body->data, body->len,
                                  JSON_REJECT_DUPLICATES, &cause);
    if (json) {
        json_decref(json);
        return 0;
    }

    code = json_error_code(&cause);

    return code == json_error_numeric_overflow
           || code == json_error_null_character
           || ngx_guildlog_json_is_half(&cause);
}


/* one object a line; lines of nothing but white space are none */

static ngx_int_t
ngx_guildlog_batch_lines(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    u_char     *p, *last, *end;
    ngx_str_t   line;

    p = body->data;
    last = p + body->len;

    for ( /* void */ ; p < last; p = end + 1) {

        end = ngx_strlchr(p, last, LF);
        end = end ? end : last;

        line.data = ngx_guildlog_json_skip(p, end);

        for (p = end; line.data < p; p--) {
            if (ngx_guildlog_json_skip(p - 1, p) != p) {
                break;
            }
        }

        if (line.data == p) {
            continue;
        }

        line.len = p - line.data;

        if (ngx_guildlog_batch_count(batch) != NGX_OK) {
            return NGX_DECLINED;
        }

        if (ngx_guildlog_batch_line(batch, &line) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* what is made of a line lives no longer than it is judged */

static ngx_int_t
ngx_guildlog_batch_line(ngx_guildlog_batch_t *batch, const ngx_str_t *text)
{
    json_t      *json;
    ngx_int_t    rc;
    ngx_str_t    error;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(NGX_GUILDLOG_BATCH_POOL_SIZE, batch->pool->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    rc = NGX_OK;
    json = ngx_guildlog_json_parse(pool, text, &error);

    if (json) {
        rc = ngx_guildlog_batch_check(batch, pool, text->len, json);

    } else if (error.len) {
        ngx_guildlog_columns_refuse(&batch->columns, &error);

    } else {
        rc = NGX_ERROR;
    }

    ngx_destroy_pool(pool);

    return rc;
}


static ngx_int_t
ngx_guildlog_batch_count(ngx_guildlog_batch_t *batch)
{
    if (batch->n == NGX_GUILDLOG_BATCH_MAX) {
        ngx_str_set(batch->error, "body: must have at most "
                    ngx_value(NGX_GUILDLOG_BATCH_MAX) " entries");
        return NGX_DECLINED;
    }

    batch->n++;

    return NGX_OK;
}


/*
 * The text of each entry of an array, by its brackets.  NGX_DECLINED: there
 * are too many, or it is not one array and nothing else, or nested too deep.
 */

static ngx_int_t
ngx_guildlog_batch_split(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    u_char                *p, *last, *start;
    u_char                 close[NGX_GUILDLOG_JSON_DEPTH];
    ngx_uint_t             depth;

    batch->texts = ngx_pnalloc(batch->pool, NGX_GUILDLOG_BATCH_MAX
                                            * sizeof(ngx_str_t));
    if (batch->texts == NULL) {
        return NGX_ERROR;
    }

    last = body->data + body->len;
    p = ngx_guildlog_json_skip(body->data, last);

    if (p == last || *p != '[') {
        return NGX_DECLINED;
    }

    start = ++p;
    close[0] = ']';

    for (depth = 1; p < last && depth; p++) {

        switch (*p) {

        case '"':
            for (p++; p < last && *p != '"'; p++) {
                p += (*p == '\\');
            }

            break;

        case '{':
        case '[':
            if (depth == NGX_GUILDLOG_JSON_DEPTH) {
                return NGX_DECLINED;
            }

            close[depth++] = (*p == '{') ? '}' : ']';
            break;

        case '}':
        case ']':
            if (*p != close[--depth]) {
                ngx_str_set(batch->error, "body: brackets do not match");
                return NGX_DECLINED;
            }

            if (depth) {
                break;
            }

            if (batch->n == 0 && ngx_guildlog_json_skip(start, p) == p) {
                break;
            }

            /* fall through */

        case ',':
            if (depth > 1) {
                break;
            }

            if (ngx_guildlog_batch_text(batch, start, p) != NGX_OK) {
                return NGX_DECLINED;
            }

            start = p + 1;

            break;
        }
    }

    if (depth || ngx_guildlog_json_skip(p, last) != last) {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_batch_text(ngx_guildlog_batch_t *batch, const u_char *start,
    const u_char *end)
{
    if (ngx_guildlog_batch_count(batch) != NGX_OK) {
        return NGX_DECLINED;
    }

    batch->texts[batch->n - 1].data = (u_char *) start;
    batch->texts[batch->n - 1].len = end - start;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_batch_check(ngx_guildlog_batch_t *batch, ngx_pool_t *pool,
    size_t len, json_t *json)
{
    json_t     *fields[NGX_GUILDLOG_ENTRY_FIELDS];
    ngx_int_t   rc;
    ngx_str_t   error;

    if (len > NGX_GUILDLOG_ENTRY_SIZE_MAX) {
        ngx_str_set(&error, "entry: must be at most "
                    ngx_value(NGX_GUILDLOG_ENTRY_SIZE_MAX) " bytes");
        rc = NGX_DECLINED;

    } else {
        rc = ngx_guildlog_entry_check(pool, json, batch->many, batch->now_ms,
                                      fields, &error);
    }

    if (rc == NGX_OK) {
        ngx_guildlog_columns_add(&batch->columns, fields);

    } else if (rc == NGX_DECLINED) {
        ngx_guildlog_columns_refuse(&batch->columns, &error);
        rc = NGX_OK;
    }

    return rc;
}
