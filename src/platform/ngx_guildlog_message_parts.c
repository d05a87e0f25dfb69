
/*
 * The parts stand in one table, whatever the format.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* 9999-12-31T23:59:59.999Z */
#define MESSAGE_PARTS_LAST_MS    253402300799999LL

/* lengths in UTF-16 units */

#define MESSAGE_PARTS_ID         26   /* behind a name */
#define MESSAGE_PARTS_FILE       90   /* one of many, and its size */
#define MESSAGE_PARTS_FILE_NAME  60
#define MESSAGE_PARTS_NAME       60   /* in the compact formats */

/* bytes: behind the address of the viewer */
#define MESSAGE_PARTS_PAGE       100

#define MESSAGE_PARTS_TIMES      "\xc3\x97"


static ngx_int_t message_parts_parse(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_str_t *doc);
static ngx_uint_t message_parts_said(ngx_uint_t type);
static void message_parts_cleanup(void *data);
static void message_parts_who(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static const char *message_parts_mention(
    const ngx_guildlog_message_item_t *item, const char *key);
static void message_parts_named(const ngx_guildlog_message_item_t *item,
    const char *key, ngx_str_t *id, ngx_str_t *name);
static void message_parts_text(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_words(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_number(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_emoji(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_files(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_file(ngx_guildlog_message_text_t *text,
    const json_t *file);
static ngx_uint_t message_parts_is_emoji(const ngx_str_t *s);


#define part(label, write, key, embed, plain, aside)                          \
    { NGX_GUILDLOG_LABEL_##label, message_parts_##write, key, embed, plain,   \
      aside }


/* in the order of their appearance; all at their limits fit a message */

const ngx_guildlog_message_part_t
    ngx_guildlog_message_parts[NGX_GUILDLOG_MESSAGE_PARTS] =
{
    part(EXECUTOR, who, "executor", 320, 110, 1),
    part(TARGET, who, "target", 320, 110, 1),
    part(CHANNEL, who, "channel", 320, 110, 1),
    part(ROLE, text, "role", 256, 80, 1),
    part(NAME, text, "name", 256, 80, 1),
    part(COUNT, number, "count", 24, 24, 1),
    part(EMOJI, emoji, "emoji", 160, 100, 1),
    part(ACTION, text, "action", 160, 60, 1),
    part(VALUE, words, "value", 512, 120, 0),
    part(REASON, words, "reason", 1024, 240, 0),
    part(ATTACHMENTS, files, "messages", 512, 200, 0)
};


/*
 * The category of each type, ten a row, in capitals where the target is a
 * user: members, text, voice, server, roles, channels, service (x), actions,
 * modlog (l).
 */

static const char  message_parts_types[] =
    "TMMTTTTTVV"
    "ttVVVVVVVV"
    "VVVaaMMccc"
    "srrrTTaaaL"
    "LLLLMMmccc"
    "rTsrvSSMMv"
    "vvVVVaaaxx"
    "xxxxxxxxxc"
    "ccccccTtVs"
    "aaaaaasssX"
    "TX";


static const struct {
    u_char                         category;
    ngx_int_t                      color;
} message_parts_colors[] = {
    { 'm', 0x57f287 },
    { 't', 0x5865f2 },
    { 'v', 0x1abc9c },
    { 's', 0x9b59b6 },
    { 'r', 0xf1c40f },
    { 'c', 0x3498db },
    { 'x', 0x95a5a6 },
    { 'a', 0xe67e22 },
    { 'l', 0xed4245 }
};


#define MESSAGE_PARTS_COLORS                                                  \
    (sizeof(message_parts_colors) / sizeof(message_parts_colors[0]))


ngx_int_t
ngx_guildlog_message_parts_read(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_entry_t *entry)
{
    ngx_int_t   rc;
    json_int_t  type;

    rc = message_parts_parse(item, pool, &entry->doc);

    if (rc != NGX_OK) {
        return rc;
    }

    type = -1;
    (void) json_unpack(item->json, "{s:I}", "type", &type);

    ngx_guildlog_message_parts_get(item->json, "id", &item->id);

    if (type < 0 || type >= NGX_GUILDLOG_TYPES
        || !ngx_guildlog_value_is_id(&item->id))
    {
        return NGX_DECLINED;
    }

    item->conf = &entry->conf;
    item->type = (ngx_uint_t) type;

    item->ms = json_integer_value(json_object_get(item->json, "timestamp"));
    item->ms = ngx_max(item->ms, 0);
    item->ms = ngx_min(item->ms, MESSAGE_PARTS_LAST_MS);

    item->spoilers = entry->conf.spoilers && message_parts_said(item->type);
    item->plain = entry->conf.format == NGX_GUILDLOG_FORMAT_PLAIN
                  || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;
    item->compact = entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_EMBED
                    || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;

    return NGX_OK;
}


/* is what stands in "content" what people wrote? */

static ngx_uint_t
message_parts_said(ngx_uint_t type)
{
    return message_parts_types[type] == 't' || message_parts_types[type] == 'T';
}


/* what came from our own store needs no words for what is wrong with it */

static ngx_int_t
message_parts_parse(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const ngx_str_t *doc)
{
    u_char              *p, *text;
    json_error_t         error;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    text = ngx_pnalloc(pool, doc->len + 1);
    if (text == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(text, doc->data, doc->len);
    *p = '}';

    item->json = ngx_guildlog_json_read_any(text, doc->len + 1, 0, &error);

    (void) ngx_pfree(pool, text);

    if (item->json == NULL) {
        return error.text[0] ? NGX_DECLINED : NGX_ERROR;
    }

    cln->handler = message_parts_cleanup;
    cln->data = item->json;

    return NGX_OK;
}


static void
message_parts_cleanup(void *data)
{
    json_decref(data);
}


const char *
ngx_guildlog_message_parts_title(const ngx_guildlog_message_item_t *item)
{
    return ngx_guildlog_language_title(item->type, item->conf->locale);
}


const char *
ngx_guildlog_message_parts_label(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_label_e label)
{
    return ngx_guildlog_language_label(label, item->conf->locale);
}


ngx_int_t
ngx_guildlog_message_parts_color(const ngx_guildlog_message_item_t *item)
{
    ngx_int_t   color;
    ngx_uint_t  i;

    color = item->conf->color;

    if (color >= 0 && color <= 0xffffff) {
        return color;
    }

    for (i = 0; i < MESSAGE_PARTS_COLORS; i++) {
        if (message_parts_colors[i].category
            == ngx_tolower(message_parts_types[item->type]))
        {
            return message_parts_colors[i].color;
        }
    }

    return 0;
}


ngx_int_t
ngx_guildlog_message_parts_page(const ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const char *view, const ngx_str_t *id, ngx_str_t *url)
{
    u_char           *p;
    const ngx_str_t  *viewer;

    ngx_str_null(url);

    viewer = &item->conf->style->viewer;

    if (viewer->len == 0) {
        return NGX_OK;
    }

    p = ngx_pnalloc(pool, viewer->len + MESSAGE_PARTS_PAGE);
    if (p == NULL) {
        return NGX_ERROR;
    }

    url->data = p;

    p = ngx_sprintf(p, "%V#/%s?server=%V%s", viewer, view, &item->conf->guild,
                    item->conf->pro ? "&bot=pro" : "");

    if (id) {
        p = ngx_sprintf(p, "&entry=%V", id);
    }

    url->len = p - url->data;

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_message_parts_user(const ngx_guildlog_message_item_t *item,
    const char *key, ngx_str_t *id, ngx_str_t *name)
{
    char  type;

    type = message_parts_types[item->type];

    message_parts_named(item, key, id, name);

    return (ngx_strcmp(key, "executor") == 0 || (type >= 'A' && type <= 'Z'))
           && ngx_guildlog_value_is_id(id)
           && !(id->len == 1 && id->data[0] == '0');
}


static void
message_parts_who(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t                    id, name;
    ngx_uint_t                   known, max;
    const char                  *mention;
    ngx_guildlog_message_text_t  before;

    message_parts_named(item, key, &id, &name);

    known = ngx_guildlog_value_is_id(&id);
    mention = message_parts_mention(item, key);

    if (known && id.len == 1 && id.data[0] == '0') {
        (void) ngx_guildlog_message_text_add(text, "%s",
                     ngx_guildlog_message_parts_label(item,
                                                NGX_GUILDLOG_LABEL_DASHBOARD));
        return;
    }

    if (item->compact) {
        if (ngx_guildlog_message_text_user(text, &name, MESSAGE_PARTS_NAME,
                                           NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
            || !known)
        {
            return;
        }
    }

    if (known && mention) {
        (void) ngx_guildlog_message_text_add(text, "<%s%V>", mention, &id);

        if (item->compact) {
            return;
        }
    }

    before = *text;
    max = text->left - ngx_min(text->left, MESSAGE_PARTS_ID);

    if (text->pos != text->start) {
        (void) ngx_guildlog_message_text_add(text, " ");
    }

    if (ngx_guildlog_message_text_user(text, &name, max,
                                       NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        == 0)
    {
        *text = before;
    }

    if (known) {
        (void) ngx_guildlog_message_text_add(text, text->pos == text->start
                                           ? "`%V`" : " (`%V`)", &id);
    }
}


/* NULL: nobody knows what it is */

static const char *
message_parts_mention(const ngx_guildlog_message_item_t *item, const char *key)
{
    ngx_str_t  id, name;

    if (ngx_strcmp(key, "channel") == 0) {
        return "#";
    }

    return ngx_guildlog_message_parts_user(item, key, &id, &name) ? "@" : NULL;
}


static void
message_parts_named(const ngx_guildlog_message_item_t *item, const char *key,
    ngx_str_t *id, ngx_str_t *name)
{
    json_t  *named;

    named = json_object_get(item->json, key);

    ngx_guildlog_message_parts_get(named, "id", id);
    ngx_guildlog_message_parts_get(named, "name", name);
}


static void
message_parts_text(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t  s;

    ngx_guildlog_message_parts_get(item->json, key, &s);

    (void) ngx_guildlog_message_text_user(text, &s, text->left,
                                          NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN);
}


/* the same of what somebody wrote, not only named */

static void
message_parts_words(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t   s;
    ngx_uint_t  flags;

    ngx_guildlog_message_parts_get(item->json, key, &s);

    flags = NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN|NGX_GUILDLOG_MESSAGE_TEXT_SAID;

    if (!item->compact) {
        flags |= NGX_GUILDLOG_MESSAGE_TEXT_LINES;
    }

    (void) ngx_guildlog_message_text_user(text, &s, text->left, flags);
}


static void
message_parts_number(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t      *value;
    json_int_t   n;

    value = json_object_get(item->json, key);

    if (json_is_integer(value)) {
        n = json_integer_value(value);

        /* nginx cannot print the smallest of all */

        (void) ngx_guildlog_message_text_add(text, "%s%L",
                           item->compact ? MESSAGE_PARTS_TIMES : "",
                           (int64_t) ngx_max(n, -INT64_MAX));
    }
}


/* one of the server's own is shown, as long as it is there */

static void
message_parts_emoji(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t                      *emoji;
    ngx_str_t                    id, name;
    ngx_guildlog_message_text_t  before;

    message_parts_named(item, key, &id, &name);

    if (ngx_guildlog_value_is_id(&id) && message_parts_is_emoji(&name)) {
        emoji = json_object_get(item->json, key);

        (void) ngx_guildlog_message_text_add(text, "<%s:%V:%V> ",
                   json_is_true(json_object_get(emoji, "animated")) ? "a" : "",
                   &name, &id);
    }

    before = *text;

    if (ngx_guildlog_message_text_user(text, &name, text->left,
                                       NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        == 0 && ngx_guildlog_value_is_id(&id))
    {
        *text = before;
        (void) ngx_guildlog_message_text_add(text, "`%V`", &id);
    }
}


static void
message_parts_files(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    size_t      i, j;
    json_t     *message, *file, *files;
    ngx_uint_t  hidden;

    hidden = 0;

    json_array_foreach(json_object_get(item->json, key), i, message) {
        files = json_object_get(message, "attachments");

        json_array_foreach(files, j, file) {

            if (hidden || text->left < MESSAGE_PARTS_FILE
                                       + NGX_GUILDLOG_MESSAGE_MORE)
            {
                hidden++;
                continue;
            }

            if (text->pos != text->start) {
                (void) ngx_guildlog_message_text_add(text, ", ");
            }

            message_parts_file(text, file);
        }
    }

    if (hidden) {
        (void) ngx_guildlog_message_text_add(text, " ");
        ngx_guildlog_message_parts_more(item, text, hidden);
    }
}


static void
message_parts_file(ngx_guildlog_message_text_t *text, const json_t *file)
{
    u_char       unit;
    json_t      *size;
    ngx_str_t    name;
    json_int_t   tenths;

    ngx_guildlog_message_parts_get(file, "name", &name);

    if (ngx_guildlog_message_text_user(text, &name, MESSAGE_PARTS_FILE_NAME,
                                       NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        == 0)
    {
        (void) ngx_guildlog_message_text_add(text, "?");
    }

    size = json_object_get(file, "size");

    if (!json_is_integer(size) || json_integer_value(size) < 0) {
        return;
    }

    tenths = json_integer_value(size) / 1024 * 10
             + json_integer_value(size) % 1024 * 10 / 1024;

    unit = 'K';

    if (tenths >= 10240) {
        tenths /= 1024;
        unit = 'M';
    }

    (void) ngx_guildlog_message_text_add(text, " (%L.%L %cB)",
                                         (int64_t) tenths / 10,
                                         (int64_t) tenths % 10, unit);
}


void
ngx_guildlog_message_parts_more(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t n)
{
    if (n) {
        (void) ngx_guildlog_message_text_add(text,
                   ngx_guildlog_message_parts_label(item,
                                                    NGX_GUILDLOG_LABEL_MORE),
                   n);
    }
}


static ngx_uint_t
message_parts_is_emoji(const ngx_str_t *s)
{
    size_t  i;
    u_char  c;

    for (i = 0; i < s->len; i++) {
        c = s->data[i] | 0x20;

        if ((c < 'a' || c > 'z') && (s->data[i] < '0' || s->data[i] > '9')
            && s->data[i] != '_')
        {
            return 0;
        }
    }

    return s->len >= 2 && s->len <= 32;
}


void
ngx_guildlog_message_parts_get(const json_t *object, const char *key,
    ngx_str_t *s)
{
    *s = ngx_guildlog_json_text(json_object_get(object, key));
}
