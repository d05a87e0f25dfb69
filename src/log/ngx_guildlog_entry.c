
/*
 * What an entry may be, and what may become of it.
 */

#include "log/ngx_guildlog_entry.h"
#include "api/ngx_guildlog_value.h"


#define REQUIRED  NGX_GUILDLOG_REQUIRED
#define OPTIONAL  NGX_GUILDLOG_NULLABLE

#define MAX_EXACT  NGX_GUILDLOG_VALUE_EXACT

#define ENTRY_CHANGE  1024    /* characters of a value of a change */

#define no_more   { .name = ngx_null_string }
#define plain(s, t, f)                                                        \
    .name = ngx_string(s), .type = NGX_GUILDLOG_##t, .flags = f

#define boolean(s)                                                            \
    { plain(s, BOOL, OPTIONAL) }
#define integer(s, f, lo, hi)                                                 \
    { plain(s, INT, f), .min = lo, .max = hi }
#define text(s, f, lo, hi)                                                    \
    { plain(s, TEXT, f), .min = lo, .max = hi }
#define id(s, f, lo)                                                          \
    { plain(s, ID, f), .min = lo }
#define one_of(s, v)                                                          \
    { plain(s, ENUM, 0), .values = v }
#define url(s, hi)                                                            \
    { plain(s, URL, OPTIONAL|NGX_GUILDLOG_HTTPS), .min = 1, .max = hi }
#define hash(s)                                                               \
    { plain(s, HASH, OPTIONAL) }
#define mixed(s, hi, i)                                                       \
    { plain(s, MIXED, OPTIONAL), .max = hi, .item = i }
#define list(s, hi, i)                                                        \
    { plain(s, LIST, OPTIONAL), .max = hi, .item = i }
#define object(s, o)                                                          \
    { plain(s, OBJECT, OPTIONAL), .item = o }


static const char  *entry_bots[] = { "main", "pro", NULL };

static const ngx_guildlog_field_t  entry_role = {
    plain("", ID, 0), .min = 1
};


/* "0" is who works through the dashboard or the API */

static const ngx_guildlog_field_t  entry_actor[] = {
    id("id", REQUIRED, 0),
    text("name", OPTIONAL, 0, 100),
    hash("avatar"),
    boolean("bot"),
    list("roles", 250, &entry_role),
    no_more
};

static const ngx_guildlog_field_t  entry_channel[] = {
    id("id", REQUIRED, 1),
    text("name", OPTIONAL, 0, 100),
    id("parent", OPTIONAL, 1),
    id("category", OPTIONAL, 1),
    no_more
};

static const ngx_guildlog_field_t  entry_emoji[] = {
    id("id", OPTIONAL, 1),
    text("name", OPTIONAL, 0, 100),
    boolean("animated"),
    no_more
};

static const ngx_guildlog_field_t  entry_attachment[] = {
    text("name", OPTIONAL, 0, 1024),
    integer("size", OPTIONAL, 0, MAX_EXACT),
    no_more
};

static const ngx_guildlog_field_t  entry_attachment_item = {
    plain("", OBJECT, 0), .item = entry_attachment
};

static const ngx_guildlog_field_t  entry_message[] = {
    id("id", OPTIONAL, 1),
    text("content", OPTIONAL, 0, 4000),
    id("authorId", OPTIONAL, 0),
    integer("timestamp", OPTIONAL, 0, MAX_EXACT),
    list("attachments", INT64_MAX, &entry_attachment_item),
    no_more
};

static const ngx_guildlog_field_t  entry_message_item = {
    plain("", OBJECT, 0), .item = entry_message
};

static const ngx_guildlog_field_t  entry_named[] = {
    id("id", REQUIRED, 1),
    text("name", OPTIONAL, 0, 100),
    no_more
};

/* old_value and new_value are the platform's names of old and new */

static const ngx_guildlog_field_t  entry_change[] = {
    text("key", REQUIRED, 1, 64),
    mixed("old", ENTRY_CHANGE, entry_named),
    mixed("new", ENTRY_CHANGE, entry_named),
    mixed("old_value", ENTRY_CHANGE, entry_named),
    mixed("new_value", ENTRY_CHANGE, entry_named),
    no_more
};

static const ngx_guildlog_field_t  entry_change_item = {
    plain("", OBJECT, 0), .item = entry_change
};

static const ngx_guildlog_field_t  entry_image[] = {
    url("before", 512),
    url("after", 512),
    no_more
};


/* from NGX_GUILDLOG_ENTRY_EVENT_ID on */

#define entry_fields                                                          \
    text("event_id", REQUIRED, 1, 64),                                        \
    integer("type", REQUIRED, 0, NGX_GUILDLOG_TYPES - 1),                     \
    integer("timestamp", OPTIONAL, 0, MAX_EXACT),                             \
    object("executor", entry_actor),                                          \
    object("target", entry_actor),                                            \
    object("channel", entry_channel),                                         \
    text("role", OPTIONAL, 0, 100),                                           \
    text("name", OPTIONAL, 0, 100),                                           \
    text("reason", OPTIONAL, 0, 512),                                         \
    integer("count", OPTIONAL, 0, MAX_EXACT),                                 \
    text("content", OPTIONAL, 0, 4000),                                       \
    text("contentAfter", OPTIONAL, 0, 4000),                                  \
    list("messages", INT64_MAX, &entry_message_item),                         \
    object("emoji", entry_emoji),                                             \
    text("action", OPTIONAL, 0, 100),                                         \
    text("value", OPTIONAL, 0, 4000),                                         \
    list("changes", 25, &entry_change_item),                                  \
    integer("until", OPTIONAL, 0, MAX_EXACT),                                 \
    id("role_id", OPTIONAL, 1),                                               \
    object("image", entry_image),                                             \
    boolean("proxied"),                                                       \
    integer("messagesTruncated", OPTIONAL, 0, MAX_EXACT),                     \
    no_more

static const ngx_guildlog_field_t  entry_one_fields[] = {
    entry_fields
};

static const ngx_guildlog_field_t  entry_many_fields[] = {
    id("server", REQUIRED, 10000000000000000),
    one_of("bot", entry_bots),
    entry_fields
};

#define length(fields)  (sizeof(fields) / sizeof(fields[0]) - 1)

_Static_assert(length(entry_many_fields)
               == NGX_GUILDLOG_ENTRY_FIELDS
               && length(entry_one_fields)
                  == NGX_GUILDLOG_ENTRY_FIELDS - NGX_GUILDLOG_ENTRY_EVENT_ID,
               "ngx_guildlog_entry_field_e names each field, in this order");

_Static_assert(length(entry_actor) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(entry_channel) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(entry_emoji) <= NGX_GUILDLOG_ENTRY_KEYS
               && length(entry_attachment)
                  <= NGX_GUILDLOG_ENTRY_KEYS
               && length(entry_message)
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


static ngx_int_t entry_given_value(ngx_pool_t *pool, json_t *change,
    const char *name);


ngx_int_t
ngx_guildlog_entry_check(ngx_pool_t *pool, json_t *json, ngx_uint_t many,
    json_t **values, ngx_str_t *error)
{
    size_t                 i;
    json_t                *changes, *change;
    ngx_guildlog_value_t   v;

    ngx_memzero(values, NGX_GUILDLOG_ENTRY_FIELDS * sizeof(json_t *));

    ngx_guildlog_value_begin(&v, pool, "entry", error);

    if (!json_is_object(json)) {
        return ngx_guildlog_value_refuse(&v, "must be a JSON object");
    }

    changes = json_object_get(json, "changes");

    /* whatever the platform's own names of the values hold is taken */

    json_array_foreach(changes, i, change) {

        if (entry_given_value(pool, change, "old_value") != NGX_OK
            || entry_given_value(pool, change, "new_value") != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return many ? ngx_guildlog_value_object(&v, entry_many_fields, json, values)
                : ngx_guildlog_value_object(&v, entry_one_fields, json,
                                          values + NGX_GUILDLOG_ENTRY_EVENT_ID);
}


/* a value that is none of ours becomes the text of its JSON; texts are cut */

static ngx_int_t
entry_given_value(ngx_pool_t *pool, json_t *change, const char *name)
{
    char                               *made;
    size_t                              n;
    json_t                             *value;
    ngx_int_t                           rc;
    ngx_str_t                           text, error;
    ngx_uint_t                          chars;
    ngx_guildlog_value_t                v;

    static const ngx_guildlog_field_t   field =
        mixed("value", ENTRY_CHANGE, entry_named);

    value = json_object_get(change, name);

    if (value == NULL || json_is_null(value)) {
        return NGX_OK;
    }

    ngx_guildlog_value_begin(&v, pool, name, &error);

    rc = ngx_guildlog_value_json(&v, &field, value);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    made = NULL;
    text = ngx_guildlog_json_text(value);

    if (!json_is_string(value)) {
        made = json_dumps(value, JSON_COMPACT);
        if (made == NULL) {
            return NGX_ERROR;
        }

        text = ngx_guildlog_word(made);
    }

    for (n = 0, chars = 0; n < text.len; n++) {
        if ((text.data[n] & 0xc0) != 0x80 && chars++ == ENTRY_CHANGE) {
            break;
        }
    }

    value = json_stringn((char *) text.data, n);

    if (made) {
        free(made);
    }

    return json_object_set_new(change, name, value) == 0 ? NGX_OK : NGX_ERROR;
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
