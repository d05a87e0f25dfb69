
/*
 * What an entry may be, and what may become of it.
 */

#include "log/ngx_guildlog_entry.h"
#include "api/ngx_guildlog_args.h"
#include "base/ngx_guildlog_utf8.h"


typedef struct ngx_guildlog_entry_field_s  ngx_guildlog_entry_field_t;

struct ngx_guildlog_entry_field_s {
    ngx_guildlog_field_t                 value;   /* if it has no fields */
    const ngx_guildlog_entry_field_t    *fields;  /* of an object */
    ngx_uint_t                           many;    /* an array of objects */
};


static ngx_int_t ngx_guildlog_entry_object(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *fields, json_t *json, json_t **values,
    ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_value(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_objects(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *field, json_t *json, ngx_str_t *error);
static ngx_int_t ngx_guildlog_entry_refuse(ngx_pool_t *pool, ngx_str_t *error,
    const char *fmt, ...);


#define REQUIRED  NGX_GUILDLOG_REQUIRED
#define OPTIONAL  NGX_GUILDLOG_NULLABLE

#define MAX_EXACT  NGX_GUILDLOG_VALUE_EXACT

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


/* from NGX_GUILDLOG_ENTRY_EVENT_ID on */

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

#define length(fields)  (sizeof(fields) / sizeof(fields[0]) - 1)

_Static_assert(length(ngx_guildlog_entry_many_fields)
               == NGX_GUILDLOG_ENTRY_FIELDS
               && length(ngx_guildlog_entry_fields)
                  == NGX_GUILDLOG_ENTRY_FIELDS - NGX_GUILDLOG_ENTRY_EVENT_ID,
               "ngx_guildlog_entry_field_e names each field, in this order");

_Static_assert(length(ngx_guildlog_entry_actor) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(ngx_guildlog_entry_channel) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(ngx_guildlog_entry_emoji) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(ngx_guildlog_entry_attachment)
                  <= NGX_GUILDLOG_ENTRY_KEYS
               && length(ngx_guildlog_entry_message)
                  <= NGX_GUILDLOG_ENTRY_KEYS,
               "the columns sort the keys of an object on the stack");


/* in the order of ngx_guildlog_entry_e */

const char *const  ngx_guildlog_entry_outcomes[] = {
    "recorded",
    "duplicate",
    "error",
    "postponed",
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
ngx_guildlog_entry_check(ngx_pool_t *pool, json_t *json, ngx_uint_t many,
    json_t **values, ngx_str_t *error)
{
    ngx_memzero(values, NGX_GUILDLOG_ENTRY_FIELDS * sizeof(json_t *));

    if (!json_is_object(json)) {
        ngx_str_set(error, "entry: must be a JSON object");
        return NGX_DECLINED;
    }

    return many ? ngx_guildlog_entry_object(pool,
                                          ngx_guildlog_entry_many_fields,
                                          json, values, error)
                : ngx_guildlog_entry_object(pool, ngx_guildlog_entry_fields,
                                  json, values + NGX_GUILDLOG_ENTRY_EVENT_ID,
                                  error);
}


/* values: by the places of fields; NULL: nobody asks for them */

static ngx_int_t
ngx_guildlog_entry_object(ngx_pool_t *pool,
    const ngx_guildlog_entry_field_t *fields, json_t *json, json_t **values,
    ngx_str_t *error)
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
            len = ngx_guildlog_utf8_cut((u_char *) key, len,
                                        NGX_GUILDLOG_JSON_NAME);
            return ngx_guildlog_entry_refuse(pool, error, "%*s: unknown field",
                                             len, key);
        }

        rc = ngx_guildlog_entry_value(pool, field, value, error);

        if (rc != NGX_OK) {
            return rc;
        }

        if (values) {
            values[field - fields] = value;
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

    rc = ngx_guildlog_entry_object(pool, field->fields, json, NULL, &rule);

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

        rc = ngx_guildlog_entry_object(pool, field->fields, item, NULL,
                                       &rule);

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


void
ngx_guildlog_entry_counts(const ngx_str_t *text, ngx_uint_t *counts)
{
    json_t        *json;
    ngx_uint_t     i;
    json_error_t   cause;

    json = ngx_guildlog_json_read_any(text->data, text->len, 0, &cause);

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        counts[i] = json_integer_value(json_object_get(json,
                                           ngx_guildlog_entry_outcomes[i]));
    }

    json_decref(json);
}
