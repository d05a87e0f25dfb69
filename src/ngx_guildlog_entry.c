
/*
 * Batches of entries to record: each is held against the rules of decisions
 * that need no data, and a bad one does not sink the others.
 */

#include "ngx_guildlog_entry.h"
#include "ngx_guildlog_args.h"


#define NGX_GUILDLOG_ENTRY_PAST_MS    ((int64_t) 30 * 86400 * 1000)
#define NGX_GUILDLOG_ENTRY_FUTURE_MS  ((int64_t) 60 * 1000)

/* for what is parsed and judged of one line */
#define NGX_GUILDLOG_ENTRY_POOL_SIZE  4096


typedef struct ngx_guildlog_entry_field_s  ngx_guildlog_entry_field_t;

struct ngx_guildlog_entry_field_s {
    ngx_guildlog_field_t                 value;   /* if it has no fields */
    const ngx_guildlog_entry_field_t    *fields;  /* of an object */
    ngx_uint_t                           many;    /* an array of objects */
};


typedef struct {
    ngx_str_t                            text;    /* as it was sent */
    ngx_str_t                            error;   /* empty: it is good */
} ngx_guildlog_entry_t;


typedef struct {
    ngx_pool_t                          *pool;
    const ngx_guildlog_entry_field_t    *fields;
    int64_t                              now_ms;
    ngx_uint_t                           nentries;
    ngx_uint_t                           bad;
    ngx_guildlog_entry_t                *entries;
    ngx_str_t                           *error;   /* of the whole */
} ngx_guildlog_batch_t;


static ngx_int_t ngx_guildlog_entry_array(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_entry_lines(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_entry_line(ngx_guildlog_batch_t *batch,
    ngx_guildlog_entry_t *entry);
static ngx_guildlog_entry_t *ngx_guildlog_entry_add(
    ngx_guildlog_batch_t *batch);
static void ngx_guildlog_entry_split(ngx_guildlog_batch_t *batch,
    const ngx_str_t *body);
static ngx_int_t ngx_guildlog_entry_check(ngx_guildlog_batch_t *batch,
    ngx_pool_t *pool, ngx_guildlog_entry_t *entry, json_t *json);
static ngx_int_t ngx_guildlog_entry_object(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *fields, json_t *json, ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_value(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_objects(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_refuse(ngx_pool_t *pool, ngx_str_t *error,
    const char *fmt, ...);
static ngx_int_t ngx_guildlog_entry_write(ngx_guildlog_batch_t *batch,
    ngx_str_t *array);


#define REQUIRED  NGX_GUILDLOG_REQUIRED
#define OPTIONAL  NGX_GUILDLOG_NULLABLE

#define MAX_EXACT  9007199254740991   /* of a JSON number: 2^53 - 1 */

#define no_more   { .value = { .name = ngx_null_string } }
#define plain(s, t, f)                                                        \
    .name = ngx_string(s), .type = NGX_GUILDLOG_##t, .flags = f

#define boolean(s)                                                            \
    { .value = { plain(s, BOOL, OPTIONAL) } }
#define integer(s, f, lo, hi)                                                 \
    { .value = { plain(s, INT, f), .min = lo, .max = hi } }
#define text(s, f, lo, hi)                                                    \
    { .value = { plain(s, TEXT, f), .min = lo, .max = hi } }
#define id(s, f, lo)                                                          \
    { .value = { plain(s, ID, f), .min = lo } }
#define one_of(s, v)                                                          \
    { .value = { plain(s, ENUM, 0), .values = v } }
#define list(s, hi, i)                                                        \
    { .value = { plain(s, LIST, OPTIONAL), .max = hi, .item = i } }
#define object(s, o)                                                          \
    { .value = { plain(s, TEXT, OPTIONAL) }, .fields = o }
#define objects(s, o)                                                         \
    { .value = { plain(s, LIST, OPTIONAL) }, .fields = o, .many = 1 }


static const char  *ngx_guildlog_entry_bots[] = { "main", "pro", NULL };

static const ngx_guildlog_field_t  ngx_guildlog_entry_role = {
    plain("", ID, 0), .min = 1
};


/* "0" is who works through the dashboard or the API */

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_actor[] = {
    id("id", REQUIRED, 0),
    text("name", OPTIONAL, 0, 100),
    boolean("bot"),
    list("roles", 250, &ngx_guildlog_entry_role),
    no_more
};

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_channel[] = {
    id("id", REQUIRED, 1),
    text("name", OPTIONAL, 0, 100),
    id("parent", OPTIONAL, 1),
    id("category", OPTIONAL, 1),
    no_more
};

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_emoji[] = {
    id("id", OPTIONAL, 1),
    text("name", OPTIONAL, 0, 100),
    boolean("animated"),
    no_more
};

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_attachment[] = {
    text("name", OPTIONAL, 0, 1024),
    integer("size", OPTIONAL, 0, MAX_EXACT),
    no_more
};

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_message[] = {
    id("id", OPTIONAL, 1),
    text("content", OPTIONAL, 0, 4000),
    id("authorId", OPTIONAL, 0),
    integer("timestamp", OPTIONAL, 0, MAX_EXACT),
    objects("attachments", ngx_guildlog_entry_attachment),
    no_more
};


#define entry_fields                                                          \
    text("event_id", REQUIRED, 1, 64),                                        \
    integer("type", REQUIRED, 0, 101),                                        \
    integer("timestamp", OPTIONAL, 0, MAX_EXACT),                             \
    object("executor", ngx_guildlog_entry_actor),                             \
    object("target", ngx_guildlog_entry_actor),                               \
    object("channel", ngx_guildlog_entry_channel),                            \
    text("role", OPTIONAL, 0, 100),                                           \
    text("name", OPTIONAL, 0, 100),                                           \
    text("reason", OPTIONAL, 0, 512),                                         \
    integer("count", OPTIONAL, 0, MAX_EXACT),                                 \
    text("content", OPTIONAL, 0, 4000),                                       \
    text("contentAfter", OPTIONAL, 0, 4000),                                  \
    objects("messages", ngx_guildlog_entry_message),                          \
    object("emoji", ngx_guildlog_entry_emoji),                                \
    text("action", OPTIONAL, 0, 100),                                         \
    text("value", OPTIONAL, 0, 4000),                                         \
    boolean("proxied"),                                                       \
    no_more

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_fields[] = {
    entry_fields
};

static const ngx_guildlog_entry_field_t  ngx_guildlog_entry_many_fields[] = {
    id("server", REQUIRED, 10000000000000000),
    one_of("bot", ngx_guildlog_entry_bots),
    entry_fields
};


/* in the order of ngx_guildlog_entry_e */

const char  *ngx_guildlog_entry_outcomes[] = {
    "recorded",
    "duplicate",
    "error",
    "type_disabled",
    "bot_executor",
    "bot_target",
    "ignored_channel",
    "ignored_category",
    "ignored_executor",
    "ignored_target",
    "ignored_executor_role",
    "ignored_target_role",
    "ignored_content",
    "proxied",
    "active_ignore",
    "filter"
};


ngx_int_t
ngx_guildlog_entry_batch(ngx_pool_t *pool, const ngx_str_t *body,
    ngx_uint_t ndjson, ngx_uint_t many, int64_t now_ms, ngx_str_t *array,
    ngx_str_t *error)
{
    ngx_int_t             rc;
    ngx_guildlog_batch_t  batch;

    ngx_memzero(&batch, sizeof(ngx_guildlog_batch_t));

    batch.pool = pool;
    batch.now_ms = now_ms;
    batch.error = error;
    batch.fields = many ? ngx_guildlog_entry_many_fields
                        : ngx_guildlog_entry_fields;

    batch.entries = ngx_pcalloc(pool, NGX_GUILDLOG_ENTRIES_MAX
                                      * sizeof(ngx_guildlog_entry_t));
    if (batch.entries == NULL) {
        return NGX_ERROR;
    }

    rc = ndjson ? ngx_guildlog_entry_lines(&batch, body)
                : ngx_guildlog_entry_array(&batch, body);

    if (rc != NGX_OK) {
        return rc;
    }

    if (!ndjson && batch.bad == 0) {
        *array = *body;
        return NGX_OK;
    }

    return ngx_guildlog_entry_write(&batch, array);
}


static ngx_int_t
ngx_guildlog_entry_array(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    size_t                 i;
    json_t                *json, *item;
    ngx_guildlog_entry_t  *entry;

    json = ngx_guildlog_json_parse(batch->pool, body, batch->error);

    if (json == NULL) {
        return batch->error->len ? NGX_DECLINED : NGX_ERROR;
    }

    if (!json_is_array(json)) {
        ngx_str_set(batch->error, "body: must be an array");
        return NGX_DECLINED;
    }

    json_array_foreach(json, i, item) {
        if (ngx_guildlog_entry_add(batch) == NULL) {
            return NGX_DECLINED;
        }
    }

    ngx_guildlog_entry_split(batch, body);

    json_array_foreach(json, i, item) {
        entry = &batch->entries[i];

        if (ngx_guildlog_entry_check(batch, batch->pool, entry, item)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* one object a line; lines of nothing but white space are none */

static ngx_int_t
ngx_guildlog_entry_lines(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    u_char                *p, *last, *end, *start;
    ngx_guildlog_entry_t  *entry;

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

        entry = ngx_guildlog_entry_add(batch);
        if (entry == NULL) {
            return NGX_DECLINED;
        }

        entry->text.data = start;
        entry->text.len = p - start;

        if (ngx_guildlog_entry_line(batch, entry) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* what is made of a line lives no longer than it is judged, but its error */

static ngx_int_t
ngx_guildlog_entry_line(ngx_guildlog_batch_t *batch,
    ngx_guildlog_entry_t *entry)
{
    json_t      *json;
    ngx_int_t    rc;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(NGX_GUILDLOG_ENTRY_POOL_SIZE, batch->pool->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    json = ngx_guildlog_json_parse(pool, &entry->text, &entry->error);

    if (json) {
        rc = ngx_guildlog_entry_check(batch, pool, entry, json);

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


static ngx_guildlog_entry_t *
ngx_guildlog_entry_add(ngx_guildlog_batch_t *batch)
{
    if (batch->nentries == NGX_GUILDLOG_ENTRIES_MAX) {
        ngx_str_set(batch->error, "body: must have at most "
                    ngx_value(NGX_GUILDLOG_ENTRIES_MAX) " entries");
        return NULL;
    }

    return &batch->entries[batch->nentries++];
}


/* the text of each entry of an array that is known to be JSON */

static void
ngx_guildlog_entry_split(ngx_guildlog_batch_t *batch, const ngx_str_t *body)
{
    u_char      *p, *last, *start;
    ngx_uint_t   i, depth;

    i = 0;
    depth = 0;
    start = NULL;
    last = body->data + body->len;

    for (p = body->data; p < last; p++) {

        switch (*p) {

        case '"':
            for (p++; *p != '"'; p++) {
                p += (*p == '\\');
            }

            break;

        case '{':
        case '[':
            if (depth++ == 0) {
                start = p + 1;
            }

            break;

        case '}':
        case ']':
            if (--depth) {
                break;
            }

            /* fall through */

        case ',':
            if (depth <= 1 && i < batch->nentries) {
                batch->entries[i].text.data = start;
                batch->entries[i].text.len = p - start;

                start = p + 1;
                i++;
            }

            break;
        }
    }
}


/* sets the entry's error if it breaks a rule; NGX_ERROR: memory */

static ngx_int_t
ngx_guildlog_entry_check(ngx_guildlog_batch_t *batch, ngx_pool_t *pool,
    ngx_guildlog_entry_t *entry, json_t *json)
{
    int64_t     at;
    json_t     *timestamp;
    ngx_int_t   rc;

    if (!json_is_object(json)) {
        ngx_str_set(&entry->error, "entry: must be a JSON object");
        batch->bad++;
        return NGX_OK;
    }

    if (entry->text.len > NGX_GUILDLOG_ENTRY_SIZE_MAX) {
        ngx_str_set(&entry->error, "entry: must be at most "
                    ngx_value(NGX_GUILDLOG_ENTRY_SIZE_MAX) " bytes");
        batch->bad++;
        return NGX_OK;
    }

    rc = ngx_guildlog_entry_object(pool, batch->fields, json, &entry->error);

    if (rc == NGX_OK) {
        timestamp = json_object_get(json, "timestamp");

        if (!json_is_integer(timestamp)) {
            return NGX_OK;
        }

        at = json_integer_value(timestamp);

        if (at >= batch->now_ms - NGX_GUILDLOG_ENTRY_PAST_MS
            && at <= batch->now_ms + NGX_GUILDLOG_ENTRY_FUTURE_MS)
        {
            return NGX_OK;
        }

        ngx_str_set(&entry->error,
                    "timestamp: must be within the last 30 days and "
                    "at most 60 s ahead");
        rc = NGX_DECLINED;
    }

    if (rc != NGX_DECLINED) {
        return NGX_ERROR;
    }

    batch->bad++;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_entry_object(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *fields, json_t *json, ngx_str_t *error)
{
    size_t                             len;
    json_t                            *value;
    ngx_int_t                          rc;
    const char                        *key;
    const ngx_guildlog_entry_field_t  *field;

    json_object_foreach(json, key, value) {
        len = ngx_strlen(key);

        for (field = fields; field->value.name.len; field++) {
            if (field->value.name.len == len
                && ngx_memcmp(field->value.name.data, key, len) == 0)
            {
                break;
            }
        }

        if (field->value.name.len == 0) {
            len = ngx_guildlog_json_cut((u_char *) key, len, 64);
            return ngx_guildlog_entry_refuse(pool, error, "%*s: unknown field",
                                             len, key);
        }

        rc = ngx_guildlog_entry_value(pool, field, value, error);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    for (field = fields; field->value.name.len; field++) {
        if ((field->value.flags & REQUIRED)
            && json_object_get(json, (char *) field->value.name.data) == NULL)
        {
            return ngx_guildlog_entry_refuse(pool, error, "%V: is required",
                                             &field->value.name);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_entry_value(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error)
{
    ngx_int_t  rc;
    ngx_str_t  rule;

    if (field->fields == NULL) {
        return ngx_guildlog_args_value(pool, &field->value, json, error);
    }

    if (json_is_null(json)) {
        return NGX_OK;
    }

    if (field->many) {
        return ngx_guildlog_entry_objects(pool, field, json, error);
    }

    if (!json_is_object(json)) {
        return ngx_guildlog_entry_refuse(pool, error, "%V: must be an object",
                                         &field->value.name);
    }

    rc = ngx_guildlog_entry_object(pool, field->fields, json, &rule);

    if (rc == NGX_DECLINED) {
        return ngx_guildlog_entry_refuse(pool, error, "%V.%V",
                                         &field->value.name, &rule);
    }

    return rc;
}


static ngx_int_t
ngx_guildlog_entry_objects(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error)
{
    size_t      i;
    json_t     *item;
    ngx_int_t   rc;
    ngx_str_t   rule;

    if (!json_is_array(json)) {
        return ngx_guildlog_entry_refuse(pool, error, "%V: must be an array",
                                         &field->value.name);
    }

    json_array_foreach(json, i, item) {

        if (!json_is_object(item)) {
            return ngx_guildlog_entry_refuse(pool, error,
                                             "%V[%uz]: must be an object",
                                             &field->value.name, i);
        }

        rc = ngx_guildlog_entry_object(pool, field->fields, item, &rule);

        if (rc == NGX_DECLINED) {
            return ngx_guildlog_entry_refuse(pool, error, "%V[%uz].%V",
                                             &field->value.name, i, &rule);
        }

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_entry_refuse(ngx_pool_t *pool, ngx_str_t *error,
    const char *fmt, ...)
{
    u_char   *p;
    va_list   args;
    u_char    buf[NGX_MAX_ERROR_STR];

    va_start(args, fmt);
    p = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args);
    va_end(args);

    error->len = p - buf;
    error->data = ngx_pnalloc(pool, error->len);

    if (error->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(error->data, buf, error->len);

    return NGX_DECLINED;
}


/* good entries as they were sent, bad ones as the strings that say why */

static ngx_int_t
ngx_guildlog_entry_write(ngx_guildlog_batch_t *batch, ngx_str_t *array)
{
    size_t                 size;
    ngx_uint_t             i;
    ngx_guildlog_json_t    w;
    ngx_guildlog_entry_t  *entry;

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


void
ngx_guildlog_entry_counts(const ngx_str_t *text, ngx_uint_t *counts)
{
    json_t      *json;
    ngx_uint_t   i;

    json = json_loadb((char *) text->data, text->len, 0, NULL);

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        counts[i] = json_integer_value(json_object_get(json,
                                           ngx_guildlog_entry_outcomes[i]));
    }

    json_decref(json);
}
