
/*
 * Batches of entries to record, as a JSON array or a line each.
 */

#include "ngx_guildlog_batch.h"
#include "ngx_guildlog_entry.h"


/* for what is parsed and judged of one line */
#define NGX_GUILDLOG_BATCH_POOL_SIZE  4096


typedef struct {
    ngx_str_t                      text;     /* as it was sent */
    ngx_str_t                      error;    /* empty: it is good */
} ngx_guildlog_batch_entry_t;


typedef struct {
    ngx_pool_t                    *pool;
    ngx_uint_t                     many;
    int64_t                        now_ms;
    ngx_uint_t                     nentries;
    ngx_uint_t                     bad;
    ngx_guildlog_batch_entry_t    *entries;
    ngx_str_t                     *error;    /* of the whole */
} ngx_guildlog_batch_t;


static ngx_int_t ngx_guildlog_batch_array(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_uint_t ngx_guildlog_batch_is_separable(const ngx_str_t *body);
static ngx_int_t ngx_guildlog_batch_lines(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_batch_line(ngx_guildlog_batch_t *batch,
    ngx_guildlog_batch_entry_t *entry);
static ngx_guildlog_batch_entry_t *ngx_guildlog_batch_add(
    ngx_guildlog_batch_t *batch);
static ngx_int_t ngx_guildlog_batch_split(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_uint_t ngx_guildlog_batch_is_blank(const u_char *p,
    const u_char *last);
static ngx_int_t ngx_guildlog_batch_check(ngx_guildlog_batch_t *batch,
    ngx_pool_t *pool, ngx_guildlog_batch_entry_t *entry, json_t *json);
static ngx_int_t ngx_guildlog_batch_write(ngx_guildlog_batch_t *batch,
    ngx_str_t *array);


ngx_int_t
ngx_guildlog_batch(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_uint_t many, int64_t now_ms, ngx_str_t *array,
    ngx_str_t *error)
{
    ngx_int_t             rc;
    ngx_guildlog_batch_t  batch;

    ngx_memzero(&batch, sizeof(ngx_guildlog_batch_t));

    batch.pool = pool;
    batch.now_ms = now_ms;
    batch.error = error;
    batch.many = many;

    batch.entries = ngx_pcalloc(pool, NGX_GUILDLOG_BATCH_MAX
                                      * sizeof(ngx_guildlog_batch_entry_t));
    if (batch.entries == NULL) {
        return NGX_ERROR;
    }

    rc = ndjson ? ngx_guildlog_batch_lines(&batch, body)
                : ngx_guildlog_batch_array(&batch, body);

    if (rc != NGX_OK) {
        return rc;
    }

    if (!ndjson && batch.bad == 0) {
        *array = *body;
        return NGX_OK;
    }

    return ngx_guildlog_batch_write(&batch, array);
}


static ngx_int_t
ngx_guildlog_batch_array(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    json_t                *json;
    ngx_int_t              rc;
    ngx_uint_t             i;
    ngx_guildlog_batch_entry_t  *entry;

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

    if (ngx_guildlog_batch_split(batch, body) != NGX_OK) {
        return NGX_DECLINED;
    }

    for (i = 0; i < batch->nentries; i++) {
        entry = &batch->entries[i];

        rc = json ? ngx_guildlog_batch_check(batch, batch->pool, entry,
                                             json_array_get(json, i))
                  : ngx_guildlog_batch_line(batch, entry);

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

    json = json_loadb((char *) body->data, body->len, JSON_REJECT_DUPLICATES,
                      &cause);
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
    u_char                *p, *last, *end, *start;
    ngx_guildlog_batch_entry_t  *entry;

    p = body->data;
    last = p + body->len;

    for ( /* void */ ; p < last; p = end + 1) {

        end = ngx_strlchr(p, last, LF);
        end = end ? end : last;

        start = p;
        p = end;

        while (start < p && (*start == ' ' || *start == '\t' || *start == CR))
        {
            start++;
        }

        while (start < p && (p[-1] == ' ' || p[-1] == '\t' || p[-1] == CR)) {
            p--;
        }

        if (start == p) {
            continue;
        }

        entry = ngx_guildlog_batch_add(batch);
        if (entry == NULL) {
            return NGX_DECLINED;
        }

        entry->text.data = start;
        entry->text.len = p - start;

        if (ngx_guildlog_batch_line(batch, entry) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* what is made of a line lives no longer than it is judged, but its error */

static ngx_int_t
ngx_guildlog_batch_line(ngx_guildlog_batch_t *batch,
    ngx_guildlog_batch_entry_t *entry)
{
    json_t      *json;
    ngx_int_t    rc;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(NGX_GUILDLOG_BATCH_POOL_SIZE, batch->pool->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    json = ngx_guildlog_json_parse(pool, &entry->text, &entry->error);

    if (json) {
        rc = ngx_guildlog_batch_check(batch, pool, entry, json);

    } else {
        batch->bad++;
        rc = entry->error.len ? NGX_OK : NGX_ERROR;
    }

    if (rc == NGX_OK && entry->error.len) {
        entry->error.data = ngx_pstrdup(batch->pool, &entry->error);

        if (entry->error.data == NULL) {
            rc = NGX_ERROR;
        }
    }

    ngx_destroy_pool(pool);

    return rc;
}


static ngx_guildlog_batch_entry_t *
ngx_guildlog_batch_add(ngx_guildlog_batch_t *batch)
{
    if (batch->nentries == NGX_GUILDLOG_BATCH_MAX) {
        ngx_str_set(batch->error, "body: must have at most "
                    ngx_value(NGX_GUILDLOG_BATCH_MAX) " entries");
        return NULL;
    }

    return &batch->entries[batch->nentries++];
}


/*
 * The text of each entry of an array, by its brackets.  NGX_DECLINED: there
 * are too many, or it is not one array and nothing else.  It is nested no
 * deeper than NGX_GUILDLOG_JSON_DEPTH.
 */

static ngx_int_t
ngx_guildlog_batch_split(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    u_char                *p, *last, *start;
    u_char                 close[NGX_GUILDLOG_JSON_DEPTH];
    ngx_uint_t             depth;
    ngx_guildlog_batch_entry_t  *entry;

    p = body->data;
    last = p + body->len;

    while (p < last && ngx_guildlog_batch_is_blank(p, p + 1)) {
        p++;
    }

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

            if (batch->nentries == 0
                && ngx_guildlog_batch_is_blank(start, p))
            {
                break;
            }

            /* fall through */

        case ',':
            if (depth > 1) {
                break;
            }

            entry = ngx_guildlog_batch_add(batch);
            if (entry == NULL) {
                return NGX_DECLINED;
            }

            entry->text.data = start;
            entry->text.len = p - start;

            start = p + 1;

            break;
        }
    }

    if (depth || !ngx_guildlog_batch_is_blank(p, last)) {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_guildlog_batch_is_blank(const u_char *p, const u_char *last)
{
    while (p < last && (*p == ' ' || *p == '\t' || *p == CR || *p == LF)) {
        p++;
    }

    return p == last;
}


static ngx_int_t
ngx_guildlog_batch_check(ngx_guildlog_batch_t *batch, ngx_pool_t *pool,
    ngx_guildlog_batch_entry_t *entry, json_t *json)
{
    ngx_int_t  rc;

    if (entry->text.len > NGX_GUILDLOG_ENTRY_SIZE_MAX) {
        ngx_str_set(&entry->error, "entry: must be at most "
                    ngx_value(NGX_GUILDLOG_ENTRY_SIZE_MAX) " bytes");
        rc = NGX_DECLINED;

    } else {
        rc = ngx_guildlog_entry_check(pool, json, batch->many, batch->now_ms,
                                      &entry->error);
    }

    if (rc != NGX_DECLINED) {
        return rc;
    }

    batch->bad++;

    return NGX_OK;
}


/* good entries as they were sent, bad ones as the strings that say why */

static ngx_int_t
ngx_guildlog_batch_write(ngx_guildlog_batch_t *batch, ngx_str_t *array)
{
    size_t                 size;
    ngx_uint_t             i;
    ngx_guildlog_json_t    w;
    ngx_guildlog_batch_entry_t  *entry;

    size = sizeof("[]") - 1;

    for (i = 0; i < batch->nentries; i++) {
        entry = &batch->entries[i];
        size += 1 + (entry->error.len ? 2 * entry->error.len + 2
                                      : entry->text.len);
    }

    ngx_guildlog_json_init(&w, batch->pool, size);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < batch->nentries; i++) {
        entry = &batch->entries[i];

        if (entry->error.len) {
            ngx_guildlog_json_string(&w, &entry->error);
        } else {
            ngx_guildlog_json_raw(&w, &entry->text);
        }
    }

    ngx_guildlog_json_end(&w);

    array->data = w.start;
    array->len = w.pos - w.start;

    return w.failed ? NGX_ERROR : NGX_OK;
}
