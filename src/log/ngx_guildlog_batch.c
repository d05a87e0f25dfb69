
/*
 * Batches of entries to record, or of packets, as a JSON array or a line each;
 * and the columns that entries become.
 */

#include "log/ngx_guildlog_batch.h"
#include "api/ngx_guildlog_value.h"


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


#define COLUMNS_KEPT    100   /* messages of an entry */
#define COLUMNS_SIZE    1024  /* of a column, at first */
#define COLUMNS_NUMBER  9223372036854775808.0  /* whole ones have 64 bits */

#define columns_put(w, s)  ngx_guildlog_json_literal(w, s, sizeof(s) - 1)
#define columns_size(a)    (sizeof(a) / sizeof(a[0]))


typedef struct columns_column_s  columns_column_t;

typedef void (*columns_column_pt)(ngx_guildlog_json_t *w, json_t *value);

struct columns_column_s {
    ngx_guildlog_entry_field_e     field;
    const char                    *key;      /* of the object it is in */
    columns_column_pt              write;    /* what is not null */
};


typedef struct {
    ngx_str_t                      name;     /* with what stands around it */
    ngx_guildlog_entry_field_e     field;
    ngx_str_t                      fallback; /* where it is null */
    columns_column_pt              write;
} columns_column_doc_t;


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
static void columns_place(ngx_guildlog_columns_t *c, json_t **fields);
static void columns_mark(ngx_guildlog_columns_t *c,
    ngx_guildlog_column_e column);
static void columns_text(ngx_guildlog_json_t *w, json_t *value);
static void columns_digits(ngx_guildlog_json_t *w, json_t *value);
static void columns_number(ngx_guildlog_json_t *w, json_t *value);
static void columns_bool(ngx_guildlog_json_t *w, json_t *value);
static void columns_bot(ngx_guildlog_json_t *w, json_t *value);
static void columns_ids(ngx_guildlog_json_t *w, json_t *value);
static void columns_string(ngx_guildlog_json_t *w, json_t *value);
static void columns_named(ngx_guildlog_json_t *w, json_t *value);
static void columns_jsonb(ngx_guildlog_json_t *w, json_t *value);
static void columns_object(ngx_guildlog_json_t *w, json_t *value);
static void columns_changes(ngx_guildlog_json_t *w, json_t *value);
static void columns_change(ngx_guildlog_json_t *w, json_t *change,
    const char *name, const char *other);
static void columns_image(ngx_guildlog_json_t *w, json_t *value);
static void columns_fields(ngx_guildlog_json_t *w, json_t **fields,
    const columns_column_doc_t *docs, ngx_uint_t n);
static ngx_int_t columns_cmp(const char *one, const char *two);


/* the columns that have one element for each entry, in their order */

static const columns_column_t  columns_table[] = {
    { NGX_GUILDLOG_ENTRY_SERVER, NULL, columns_digits },
    { NGX_GUILDLOG_ENTRY_BOT, NULL, columns_bot },
    { NGX_GUILDLOG_ENTRY_EVENT_ID, NULL, columns_text },
    { NGX_GUILDLOG_ENTRY_TYPE, NULL, columns_number },
    { NGX_GUILDLOG_ENTRY_TIMESTAMP, NULL, columns_number },
    { NGX_GUILDLOG_ENTRY_EXECUTOR, "id", columns_digits },
    { NGX_GUILDLOG_ENTRY_EXECUTOR, "bot", columns_bool },
    { NGX_GUILDLOG_ENTRY_EXECUTOR, "roles", columns_ids },
    { NGX_GUILDLOG_ENTRY_TARGET, "id", columns_digits },
    { NGX_GUILDLOG_ENTRY_TARGET, "bot", columns_bool },
    { NGX_GUILDLOG_ENTRY_TARGET, "roles", columns_ids },
    { NGX_GUILDLOG_ENTRY_CHANNEL, "id", columns_digits },
    { NGX_GUILDLOG_ENTRY_CHANNEL, "parent", columns_digits },
    { NGX_GUILDLOG_ENTRY_CHANNEL, "category", columns_digits },
    { NGX_GUILDLOG_ENTRY_PROXIED, NULL, columns_bool }
};


/*
 * The document, byte for byte as the SQL function entry_doc() makes it.  What
 * is more than the messages that are kept, the rules still look at: it is cut
 * when it is stored.
 */

#define doc(s, f, w)                                                          \
    { ngx_string(s), NGX_GUILDLOG_ENTRY_##f, ngx_string("null"),              \
      columns_##w }

static const columns_column_doc_t  columns_docs[] = {
    doc("\"executor\":", EXECUTOR, named),
    doc(",\"target\":", TARGET, named),
    doc(",\"channel\":", CHANNEL, named),
    doc(",\"role\":", ROLE, string),
    doc(",\"name\":", NAME, string),
    doc(",\"reason\":", REASON, string),
    doc(",\"count\":", COUNT, number),
    doc(",\"content\":", CONTENT, string),
    doc(",\"contentAfter\":", CONTENT_AFTER, string),
    { ngx_string(",\"messages\":"), NGX_GUILDLOG_ENTRY_MESSAGES,
      ngx_string("[]"), columns_jsonb },
    doc(",\"messagesTruncated\":", TRUNCATED, number),
    doc(",\"emoji\":", EMOJI, jsonb),
    doc(",\"action\":", ACTION, string),
    doc(",\"value\":", VALUE, string)
};


/* all of them stand behind these, or none: most entries have none */

static const columns_column_doc_t  columns_rare[] = {
    doc(",\"changes\":", CHANGES, changes),
    doc(",\"until\":", UNTIL, number),
    doc(",\"role_id\":", ROLE_ID, string),
    doc(",\"image\":", IMAGE, image)
};


ngx_guildlog_batch_t *
ngx_guildlog_batch_create(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_uint_t many, ngx_guildlog_batch_take_pt take,
    void *data)
{
    ngx_guildlog_batch_t  *batch;

    batch = ngx_pcalloc(pool, sizeof(ngx_guildlog_batch_t));
    if (batch == NULL) {
        return NULL;
    }

    batch->pool = pool;
    batch->body = *body;
    batch->many = many;
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

    if (batch->take == NULL) {
        ngx_guildlog_columns_init(&batch->columns, batch->pool, batch->many,
                                  batch->body.len);
    }
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


/*
 * Entries as the recording functions take them: an SQL array of each column.
 */

void
ngx_guildlog_columns_init(ngx_guildlog_columns_t *c, ngx_pool_t *pool,
    ngx_uint_t many, size_t size)
{
    ngx_uint_t  i;

    c->many = many;
    c->n = 0;

    ngx_memzero(c->used, sizeof(c->used));

    for (i = 0; i < NGX_GUILDLOG_COLUMN_LAST; i++) {
        ngx_guildlog_json_init(&c->columns[i], pool,
                               COLUMNS_SIZE
                               + (i == NGX_GUILDLOG_COLUMN_DOCS ? size : 0));

        if (i != NGX_GUILDLOG_COLUMN_DOCS) {
            ngx_guildlog_json_begin(&c->columns[i],
                                    (i == NGX_GUILDLOG_COLUMN_ERRORS)
                                    ? '[' : '{');
        }
    }

    /* these are arrays even where they are empty */

    c->used[NGX_GUILDLOG_COLUMN_GUILDS] = 1;
    c->used[NGX_GUILDLOG_COLUMN_EVENTS] = 1;
    c->used[NGX_GUILDLOG_COLUMN_DOCS] = 1;
    c->used[NGX_GUILDLOG_COLUMN_ERRORS] = 1;
}


void
ngx_guildlog_columns_add(ngx_guildlog_columns_t *c, json_t **fields)
{
    json_t               *value;
    ngx_str_t             reason;
    ngx_uint_t            i;
    ngx_guildlog_json_t  *w;

    columns_place(c, fields);

    w = &c->columns[NGX_GUILDLOG_COLUMN_DOCS];

    columns_fields(w, fields, columns_docs, columns_size(columns_docs));

    for (i = 0; i < columns_size(columns_rare); i++) {
        value = fields[columns_rare[i].field];

        if (value && !json_is_null(value)) {
            columns_fields(w, fields, columns_rare, columns_size(columns_rare));
            break;
        }
    }

    value = fields[NGX_GUILDLOG_ENTRY_REASON];

    if (json_is_string(value)) {
        reason = ngx_guildlog_json_text(value);

        if (reason.len && reason.data[0] == '[') {
            columns_mark(c, NGX_GUILDLOG_COLUMN_PREFIXED);
        }
    }

    if (json_array_size(fields[NGX_GUILDLOG_ENTRY_MESSAGES]) > COLUMNS_KEPT) {
        columns_mark(c, NGX_GUILDLOG_COLUMN_CROWDED);
    }
}


void
ngx_guildlog_columns_refuse(ngx_guildlog_columns_t *c, const ngx_str_t *error)
{
    json_t               *none[NGX_GUILDLOG_ENTRY_FIELDS];
    ngx_guildlog_json_t  *w;

    ngx_memzero(none, sizeof(none));
    columns_place(c, none);

    w = &c->columns[NGX_GUILDLOG_COLUMN_ERRORS];

    ngx_guildlog_json_begin(w, '{');
    ngx_guildlog_json_member_number(w, "index", c->n - 1);
    ngx_guildlog_refusal_write(w, error);
    ngx_guildlog_json_end(w);
}


static void
columns_place(ngx_guildlog_columns_t *c, json_t **fields)
{
    json_t                  *value;
    ngx_uint_t               i;
    const columns_column_t  *column;

    if (c->n++) {
        ngx_guildlog_json_literal(&c->columns[NGX_GUILDLOG_COLUMN_DOCS],
                                  "\n", 1);
    }

    for (i = c->many ? 0 : NGX_GUILDLOG_COLUMN_EVENTS;
         i < columns_size(columns_table);
         i++)
    {
        column = &columns_table[i];
        value = fields[column->field];

        if (value && column->key) {
            value = json_object_get(value, column->key);
        }

        if (value && !json_is_null(value)) {
            c->used[i] = 1;
            column->write(&c->columns[i], value);

        } else {
            ngx_guildlog_json_null(&c->columns[i]);
        }
    }
}


static void
columns_mark(ngx_guildlog_columns_t *c, ngx_guildlog_column_e column)
{
    c->used[column] = 1;
    ngx_guildlog_json_number(&c->columns[column], c->n);
}


ngx_int_t
ngx_guildlog_columns_end(ngx_guildlog_columns_t *c, ngx_str_t *args)
{
    ngx_uint_t            i;
    ngx_guildlog_json_t  *w;

    for (i = c->many ? 0 : NGX_GUILDLOG_COLUMN_EVENTS;
         i < NGX_GUILDLOG_COLUMN_LAST;
         i++, args++)
    {
        w = &c->columns[i];

        ngx_guildlog_assert(w->failed
                            || w->depth == (i != NGX_GUILDLOG_COLUMN_DOCS));

        if (i != NGX_GUILDLOG_COLUMN_DOCS) {
            ngx_guildlog_json_end(w);
        }

        if (ngx_guildlog_json_written(w, args) != NGX_OK) {
            return NGX_ERROR;
        }

        if (!c->used[i]) {
            ngx_str_null(args);
        }
    }

    return NGX_OK;
}


static void
columns_fields(ngx_guildlog_json_t *w, json_t **fields,
    const columns_column_doc_t *docs, ngx_uint_t n)
{
    json_t                      *value;
    ngx_uint_t                   i;
    const columns_column_doc_t  *doc;

    for (i = 0; i < n; i++) {
        doc = &docs[i];
        value = fields[doc->field];

        ngx_guildlog_json_literal(w, doc->name.data, doc->name.len);

        if (value && !json_is_null(value)) {
            doc->write(w, value);

        } else {
            ngx_guildlog_json_literal(w, doc->fallback.data, doc->fallback.len);
        }
    }
}


/* the elements of arrays */


static void
columns_text(ngx_guildlog_json_t *w, json_t *value)
{
    u_char     *p;
    ngx_str_t   text;

    text = ngx_guildlog_json_text(value);

    p = ngx_guildlog_json_place(w, 2 * text.len + 2);

    if (p) {
        ngx_guildlog_json_placed(w, ngx_guildlog_value_quote(p, &text));
    }
}


static void
columns_digits(ngx_guildlog_json_t *w, json_t *value)
{
    ngx_str_t  digits;

    digits = ngx_guildlog_json_text(value);

    ngx_guildlog_json_raw(w, &digits);
}


static void
columns_number(ngx_guildlog_json_t *w, json_t *value)
{
    ngx_guildlog_json_number(w, json_integer_value(value));
}


static void
columns_bool(ngx_guildlog_json_t *w, json_t *value)
{
    ngx_guildlog_json_bool(w, json_is_true(value));
}


static void
columns_bot(ngx_guildlog_json_t *w, json_t *value)
{
    ngx_guildlog_json_number(w, ngx_strcmp(json_string_value(value), "pro")
                                == 0);
}


static void
columns_ids(ngx_guildlog_json_t *w, json_t *value)
{
    size_t   i, len;
    u_char  *p;
    json_t  *id;

    len = sizeof("\"{}\"") - 1;

    json_array_foreach(value, i, id) {
        len += json_string_length(id) + 1;
    }

    p = ngx_guildlog_json_place(w, len);
    if (p == NULL) {
        return;
    }

    *p++ = '"';
    *p++ = '{';

    json_array_foreach(value, i, id) {
        if (i) {
            *p++ = ',';
        }

        p = ngx_cpymem(p, json_string_value(id), json_string_length(id));
    }

    *p++ = '}';
    *p++ = '"';

    ngx_guildlog_json_placed(w, p);
}


/* the values of documents */

static void
columns_string(ngx_guildlog_json_t *w, json_t *value)
{
    ngx_str_t  text;

    text = ngx_guildlog_json_text(value);

    ngx_guildlog_json_string(w, &text);
}


static void
columns_named(ngx_guildlog_json_t *w, json_t *value)
{
    json_t  *name, *avatar;

    columns_put(w, "{\"id\":");
    columns_string(w, json_object_get(value, "id"));
    columns_put(w, ",\"name\":");

    name = json_object_get(value, "name");

    if (json_is_string(name)) {
        columns_string(w, name);
    } else {
        columns_put(w, "\"\"");
    }

    avatar = json_object_get(value, "avatar");

    if (json_is_string(avatar)) {
        columns_put(w, ",\"avatar\":");
        columns_string(w, avatar);
    }

    columns_put(w, "}");
}


/*
 * As PostgreSQL writes a jsonb.  It would write a number beyond 64 bits with
 * all its digits, which nobody here can read any more: that becomes a text.
 */

static void
columns_jsonb(ngx_guildlog_json_t *w, json_t *value)
{
    size_t      i;
    double      n;
    u_char      buf[NGX_GUILDLOG_JSON_REAL];
    json_t     *item;
    ngx_str_t   text;

    switch (json_typeof(value)) {

    case JSON_OBJECT:
        columns_object(w, value);
        return;

    case JSON_ARRAY:
        columns_put(w, "[");

        json_array_foreach(value, i, item) {
            if (i) {
                columns_put(w, ", ");
            }

            columns_jsonb(w, item);
        }

        columns_put(w, "]");
        return;

    case JSON_STRING:
        columns_string(w, value);
        break;

    case JSON_INTEGER:
        columns_number(w, value);
        break;

    case JSON_REAL:
        n = json_real_value(value);

        text.data = buf;
        text.len = ngx_guildlog_json_real(buf, n) - buf;

        if (n >= -COLUMNS_NUMBER && n < COLUMNS_NUMBER) {
            ngx_guildlog_json_raw(w, &text);
        } else {
            ngx_guildlog_json_string(w, &text);
        }

        break;

    case JSON_NULL:
        ngx_guildlog_json_null(w);
        break;

    default:
        columns_bool(w, value);
        break;
    }
}


/* its keys are in the order of their lengths */

static void
columns_object(ngx_guildlog_json_t *w, json_t *value)
{
    json_t      *item;
    ngx_str_t    name;
    ngx_uint_t   i, n;
    const char  *key, *keys[NGX_GUILDLOG_ENTRY_KEYS];

    n = 0;

    json_object_foreach(value, key, item) {
        ngx_guildlog_assert(n < NGX_GUILDLOG_ENTRY_KEYS);

        for (i = n++; i && columns_cmp(key, keys[i - 1]) < 0; i--) {
            keys[i] = keys[i - 1];
        }

        keys[i] = key;
    }

    columns_put(w, "{");

    for (i = 0; i < n; i++) {
        if (i) {
            columns_put(w, ", ");
        }

        name = ngx_guildlog_word(keys[i]);

        ngx_guildlog_json_string(w, &name);
        columns_put(w, ": ");
        columns_jsonb(w, json_object_get(value, keys[i]));
    }

    columns_put(w, "}");
}


static void
columns_changes(ngx_guildlog_json_t *w, json_t *value)
{
    size_t      i;
    json_t     *change;

    columns_put(w, "[");

    json_array_foreach(value, i, change) {
        if (i) {
            columns_put(w, ", ");
        }

        columns_put(w, "{\"key\": ");
        columns_string(w, json_object_get(change, "key"));
        columns_put(w, ", \"new\": ");
        columns_change(w, change, "new", "new_value");
        columns_put(w, ", \"old\": ");
        columns_change(w, change, "old", "old_value");
        columns_put(w, "}");
    }

    columns_put(w, "]");
}


static void
columns_change(ngx_guildlog_json_t *w, json_t *change, const char *name,
    const char *other)
{
    json_t  *value;

    value = json_object_get(change, name);

    if (value == NULL || json_is_null(value)) {
        value = json_object_get(change, other);
    }

    if (value) {
        columns_jsonb(w, value);
    } else {
        ngx_guildlog_json_null(w);
    }
}


static void
columns_image(ngx_guildlog_json_t *w, json_t *value)
{
    columns_put(w, "{\"after\": ");
    columns_change(w, value, "after", "after");
    columns_put(w, ", \"before\": ");
    columns_change(w, value, "before", "before");
    columns_put(w, "}");
}


static ngx_int_t
columns_cmp(const char *one, const char *two)
{
    size_t  n, m;

    n = ngx_strlen(one);
    m = ngx_strlen(two);

    return (n == m) ? ngx_memcmp(one, two, n) : (n < m) ? -1 : 1;
}
