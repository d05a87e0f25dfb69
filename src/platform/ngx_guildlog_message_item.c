
/*
 * An entry, read: what all parts of its message ask of it.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* the first moment of an id, and what a young account is, in ms */
#define MESSAGE_LINK_EPOCH   1420070400000
#define MESSAGE_LINK_YOUNG   (7 * 86400 * 1000LL)

#define MESSAGE_LINK_LAST    253402300799LL  /* s: in the year 9999 */

#define MESSAGE_LINK_WARN    "\xe2\x9a\xa0\xef\xb8\x8f "


static void message_item_cleanup(void *data);
static void message_item_name(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_who_t *who, const char *key, ngx_uint_t user,
    const char *other);
static void message_item_alert(ngx_guildlog_message_item_t *item);
static void message_link_time(ngx_guildlog_message_text_t *text,
    const char *mark, int64_t ms, ngx_uint_t ago);
static ngx_uint_t message_link_is_plain(const ngx_str_t *url);


/* by the place of the category among their names */

static const ngx_int_t  message_item_categories[NGX_GUILDLOG_CATEGORIES] = {
    0xe67e22,    /* actions */
    0x3498db,    /* channels */
    0x57f287,    /* members */
    0xed4245,    /* modlog */
    0xf1c40f,    /* roles */
    0x9b59b6,    /* server */
    0x95a5a6,    /* service */
    0x5865f2,    /* text */
    0x1abc9c     /* voice */
};


static const ngx_int_t  message_item_kinds[] = {
    [NGX_GUILDLOG_KIND_OTHER] = 0x95a5a6,
    [NGX_GUILDLOG_KIND_NEW] = 0x57f287,
    [NGX_GUILDLOG_KIND_CHANGED] = 0xe67e22,
    [NGX_GUILDLOG_KIND_GONE] = 0xed4245
};


ngx_int_t
ngx_guildlog_message_item_read(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_entry_t *entry)
{
    u_char              *p, *text;
    json_int_t           type;
    ngx_uint_t           target;
    json_error_t         error;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    text = ngx_pnalloc(pool, entry->doc.len + 1);
    if (text == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(text, entry->doc.data, entry->doc.len);
    *p = '}';

    /* what came from our own store needs no words for what is wrong with it */

    item->json = ngx_guildlog_json_read_any(text, entry->doc.len + 1, 0,
                                            &error);

    (void) ngx_pfree(pool, text);

    if (item->json == NULL) {
        return error.text[0] ? NGX_DECLINED : NGX_ERROR;
    }

    cln->handler = message_item_cleanup;
    cln->data = item->json;

    type = -1;
    (void) json_unpack(item->json, "{s:I}", "type", &type);

    item->id = ngx_guildlog_json_get(item->json, "id");

    if (type < 0 || type >= NGX_GUILDLOG_TYPES
        || !ngx_guildlog_value_is_id(&item->id))
    {
        return NGX_DECLINED;
    }

    item->conf = &entry->conf;
    item->type = (ngx_uint_t) type;
    item->marks = ngx_guildlog_types[item->type].marks;

    item->ms = json_integer_value(json_object_get(item->json, "timestamp"));
    item->ms = ngx_max(item->ms, 0);
    item->ms = ngx_min(item->ms, NGX_GUILDLOG_MESSAGE_LAST_MS);

    item->gone = ngx_guildlog_types[item->type].kind == NGX_GUILDLOG_KIND_GONE;
    item->told = 0;

    target = ngx_guildlog_types[item->type].target;

    message_item_name(item, &item->executor, "executor", 1, NULL);
    message_item_name(item, &item->target, "target",
                      target == NGX_GUILDLOG_TARGET_USER, item->gone ? NULL
                      : target == NGX_GUILDLOG_TARGET_CHANNEL ? "#"
                      : target == NGX_GUILDLOG_TARGET_ROLE ? "@&" : NULL);
    message_item_name(item, &item->channel, "channel", 0,
                      item->gone && (item->marks & NGX_GUILDLOG_MARK_CHANNEL)
                      ? NULL : "#");

    item->same = item->executor.id.len
                 && ngx_guildlog_str_eq(&item->executor.id, &item->target.id);

    item->executor.places = 1 << NGX_GUILDLOG_PLACE_EXECUTOR;
    item->target.places = 1 << NGX_GUILDLOG_PLACE_TARGET;
    item->channel.places = 1 << NGX_GUILDLOG_PLACE_CHANNEL;

    if (item->same) {
        item->executor.places |= item->target.places;
        item->target.places = item->executor.places;
    }

    message_item_alert(item);

    item->spoilers = entry->conf.spoilers
                     && (item->marks & NGX_GUILDLOG_MARK_SAID);
    item->plain = entry->conf.format == NGX_GUILDLOG_FORMAT_PLAIN
                  || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;
    item->compact = entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_EMBED
                    || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;

    return NGX_OK;
}


static void
message_item_cleanup(void *data)
{
    json_decref(data);
}


const char *
ngx_guildlog_message_item_title(const ngx_guildlog_message_item_t *item)
{
    return item->alert ? ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_ALERT,
                                                     item->conf->locale)
           : ngx_guildlog_language_title(item->type, item->conf->locale);
}


const char *
ngx_guildlog_message_item_label(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_label_e label)
{
    /* what an alert counted was not found by a rule */

    if (!item->alert || label != NGX_GUILDLOG_LABEL_VALUE) {
        label = ngx_guildlog_type_label(item->type, label);
    }

    return ngx_guildlog_language_label(label, item->conf->locale);
}


ngx_int_t
ngx_guildlog_message_item_color(const ngx_guildlog_message_item_t *item)
{
    ngx_int_t  color;

    color = item->conf->color;

    if (color >= 0 && color <= 0xffffff) {
        return color;
    }

    if (item->conf->style->by_category) {
        return message_item_categories[ngx_guildlog_type_category[item->type]];
    }

    return message_item_kinds[ngx_guildlog_types[item->type].kind];
}


const ngx_guildlog_message_who_t *
ngx_guildlog_message_item_who(const ngx_guildlog_message_item_t *item,
    const char *key)
{
    return *key == 'e' ? &item->executor : *key == 't' ? &item->target
                       : &item->channel;
}


const ngx_guildlog_message_who_t *
ngx_guildlog_message_item_person(const ngx_guildlog_message_item_t *item)
{
    return item->target.user ? &item->target
           : item->executor.user ? &item->executor : NULL;
}


/* user: it is one, unless by its id; other: the mention of what is none */

static void
message_item_name(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_who_t *who, const char *key, ngx_uint_t user,
    const char *other)
{
    json_t  *named;

    named = json_object_get(item->json, key);

    who->id = ngx_guildlog_json_get(named, "id");
    who->name = ngx_guildlog_json_get(named, "name");
    who->avatar = ngx_guildlog_json_get(named, "avatar");

    who->known = ngx_guildlog_value_is_id(&who->id);
    who->zero = who->id.len == 1 && who->id.data[0] == '0';
    who->user = user && who->known && !who->zero;
    who->mention = who->user ? "@" : who->known ? other : NULL;
}


/* what rules of the platform did has somebody else's id, or none */

static void
message_item_alert(ngx_guildlog_message_item_t *item)
{
    ngx_str_t  action;

    static const ngx_str_t  alert = ngx_string("alert");

    action = ngx_guildlog_json_get(item->json, "action");

    item->alert = item->type == NGX_GUILDLOG_TYPE_ALERT && item->executor.zero
                  && ngx_guildlog_str_eq(&action, &alert);

    item->role = ngx_guildlog_json_get(item->json, "role_id");

    if (!item->alert || !ngx_guildlog_value_is_id(&item->role)) {
        ngx_str_null(&item->role);
    }
}


/*
 * Times, and where a message leads to: the log viewer, and the platform.
 */

ngx_int_t
ngx_guildlog_message_link_page(const ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const char *view, const ngx_str_t *id, ngx_str_t *url)
{
    const ngx_str_t  *viewer;

    static const ngx_str_t  none = ngx_string("");

    viewer = &item->conf->style->viewer;

    if (viewer->len == 0) {
        ngx_str_null(url);
        return NGX_OK;
    }

    return ngx_guildlog_print(pool, url, "%V#/%s?server=%V%s%s%V", viewer,
                              view, &item->conf->guild,
                              item->conf->pro ? "&bot=pro" : "",
                              id ? "&entry=" : "", id ? id : &none);
}


ngx_int_t
ngx_guildlog_message_link_open(const ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_guildlog_message_text_t *text)
{
    ngx_str_t                    url;
    ngx_guildlog_message_text_t  before;

    if (ngx_guildlog_message_link_page(item, pool, "logs", &item->id,
                                       &url)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    before = *text;

    if (url.len
        && (!ngx_guildlog_message_text_add(text, " \xc2\xb7 [%s](<",
                        ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_OPEN,
                                                    item->conf->locale))
            || !ngx_guildlog_message_text_put(text, &url)
            || !ngx_guildlog_message_text_add(text, ">)")))
    {
        *text = before;
    }

    return NGX_OK;
}


void
ngx_guildlog_message_link_until(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t  *value;

    value = json_object_get(item->json, key);

    if (json_is_integer(value)) {
        message_link_time(text, "", json_integer_value(value), 1);
    }
}


/* when the one message was written */

void
ngx_guildlog_message_link_written(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t  *messages, *value;

    messages = json_object_get(item->json, key);

    value = json_object_get(json_array_get(messages, 0), "timestamp");

    if (json_is_integer(value) && json_array_size(messages) <= 2) {
        message_link_time(text, "", json_integer_value(value), 0);
    }
}


/* of the one message, where nothing leads to it any more */

void
ngx_guildlog_message_link_id(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t     *messages;
    ngx_str_t   id;

    messages = json_object_get(item->json, key);

    id = ngx_guildlog_json_get(json_array_get(messages, 0), "id");

    if (!(item->marks & NGX_GUILDLOG_MARK_JUMP)
        && json_array_size(messages) == 1 && ngx_guildlog_value_is_id(&id))
    {
        (void) ngx_guildlog_message_text_add(text, "`%V`", &id);
    }
}


/* when the account of one who joins was made: the id tells it */

void
ngx_guildlog_message_link_registered(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    size_t      i;
    int64_t     ms;
    uint64_t    n;
    ngx_str_t  *id;

    if (!(item->marks & NGX_GUILDLOG_MARK_ACCOUNT) || !item->target.known) {
        return;
    }

    id = &item->target.id;

    for (i = 0, n = 0; i < id->len; i++) {
        n = n * 10 + (id->data[i] - '0');
    }

    ms = (int64_t) (n >> 22) + MESSAGE_LINK_EPOCH;

    if ((n >> 22) && ms <= item->ms) {
        message_link_time(text, item->ms - ms < MESSAGE_LINK_YOUNG
                                ? MESSAGE_LINK_WARN : "", ms, 1);
    }
}


static void
message_link_time(ngx_guildlog_message_text_t *text, const char *mark,
    int64_t ms, ngx_uint_t ago)
{
    int64_t  s;

    s = ms / 1000;

    if (s < 0 || s > MESSAGE_LINK_LAST) {
        return;
    }

    if (ago) {
        (void) ngx_guildlog_message_text_add(text, "%s<t:%L:f> (<t:%L:R>)",
                                             mark, s, s);
    } else {
        (void) ngx_guildlog_message_text_add(text, "%s<t:%L:f>", mark, s);
    }
}


/* to the message, as it is now */

void
ngx_guildlog_message_link_jump(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *between)
{
    json_t     *messages;
    ngx_str_t   id;

    if (!(item->marks & NGX_GUILDLOG_MARK_JUMP)) {
        return;
    }

    messages = json_object_get(item->json, "messages");

    id = ngx_guildlog_json_get(json_array_get(messages, 0), "id");

    if (item->channel.known && ngx_guildlog_value_is_id(&id)) {
        (void) ngx_guildlog_message_text_add(text,
                   "%s[%s](<https://discord.com/channels/%V/%V/%V>)",
                   text->pos == text->start ? "" : between,
                   ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_JUMP,
                                               item->conf->locale),
                   &item->conf->guild, &item->channel.id, &id);
    }
}


/* two pictures: before and after */

void
ngx_guildlog_message_link_image(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t                      *image;
    ngx_str_t                    url;
    ngx_uint_t                   i;
    const char                  *word;
    ngx_guildlog_message_text_t  before;

    static const char           *sides[] = { "before", "after" };

    static const ngx_guildlog_label_e  labels[] = {
        NGX_GUILDLOG_LABEL_BEFORE, NGX_GUILDLOG_LABEL_AFTER
    };

    image = json_object_get(item->json, key);

    for (i = 0; i < 2; i++) {
        url = ngx_guildlog_json_get(image, sides[i]);
        word = ngx_guildlog_language_label(labels[i], item->conf->locale);

        if (!message_link_is_plain(&url)) {
            continue;
        }

        before = *text;

        if (!ngx_guildlog_message_text_add(text, "%s[%s](<",
                                           text->pos == text->start ? ""
                                           : " \xe2\x86\x92 ", word)
            || !ngx_guildlog_message_text_put(text, &url)
            || !ngx_guildlog_message_text_add(text, ">)"))
        {
            *text = before;
        }
    }
}


ngx_str_t
ngx_guildlog_message_link_picture(const ngx_guildlog_message_item_t *item)
{
    json_t     *image;
    ngx_str_t   url;

    image = json_object_get(item->json, "image");
    url = ngx_guildlog_json_get(image, "after");

    if (!message_link_is_plain(&url)) {
        url = ngx_guildlog_json_get(image, "before");
    }

    if (!message_link_is_plain(&url)) {
        ngx_str_null(&url);
    }

    return url;
}


/* nothing in it ends a link, nor is it more than one */

static ngx_uint_t
message_link_is_plain(const ngx_str_t *url)
{
    size_t  i;

    if (url->len <= 8 || url->len > NGX_GUILDLOG_MESSAGE_URL
        || ngx_strncmp(url->data, "https://", 8) != 0)
    {
        return 0;
    }

    for (i = 0; i < url->len; i++) {
        if (url->data[i] <= ' ' || url->data[i] >= 0x7f
            || ngx_strchr("()<>[]\"\\`|", url->data[i]))
        {
            return 0;
        }
    }

    return 1;
}
