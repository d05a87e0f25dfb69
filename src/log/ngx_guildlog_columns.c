
/*
 * Entries as the recording functions take them: an SQL array of each column.
 */

#include "log/ngx_guildlog_columns.h"
#include "api/ngx_guildlog_refusal.h"
#include "api/ngx_guildlog_value.h"


#define COLUMNS_KEPT   100   /* messages of an entry */
#define COLUMNS_SIZE   1024  /* of a column, at first */

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

static const columns_column_t  ngx_guildlog_columns[] = {
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
         i < columns_size(ngx_guildlog_columns);
         i++)
    {
        column = &ngx_guildlog_columns[i];
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


/* as PostgreSQL writes a jsonb */

static void
columns_jsonb(ngx_guildlog_json_t *w, json_t *value)
{
    size_t   i;
    json_t  *item;

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
        ngx_guildlog_json_double(w, json_real_value(value));
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

        name.data = (u_char *) keys[i];
        name.len = ngx_strlen(keys[i]);

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
