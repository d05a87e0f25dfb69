
/*
 * An entry, read: what all parts of its message ask of it.
 */

#include "platform/ngx_guildlog_message_item.h"


static ngx_int_t message_item_parse(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_str_t *doc);
static void message_item_cleanup(void *data);
static void message_item_who_is(ngx_guildlog_message_item_t *item);


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
    ngx_int_t   rc;
    json_int_t  type;

    rc = message_item_parse(item, pool, &entry->doc);

    if (rc != NGX_OK) {
        return rc;
    }

    type = -1;
    (void) json_unpack(item->json, "{s:I}", "type", &type);

    ngx_guildlog_message_item_get(item->json, "id", &item->id);

    if (type < 0 || type >= NGX_GUILDLOG_TYPES
        || !ngx_guildlog_value_is_id(&item->id))
    {
        return NGX_DECLINED;
    }

    item->conf = &entry->conf;
    item->type = (ngx_uint_t) type;
    item->marks = ngx_guildlog_type_marks(item->type);

    item->ms = json_integer_value(json_object_get(item->json, "timestamp"));
    item->ms = ngx_max(item->ms, 0);
    item->ms = ngx_min(item->ms, NGX_GUILDLOG_MESSAGE_LAST_MS);

    item->gone = ngx_guildlog_type_kind(item->type) == NGX_GUILDLOG_KIND_GONE;
    item->told = 0;

    message_item_who_is(item);

    item->spoilers = entry->conf.spoilers
                     && (item->marks & NGX_GUILDLOG_MARK_SAID);
    item->plain = entry->conf.format == NGX_GUILDLOG_FORMAT_PLAIN
                  || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;
    item->compact = entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_EMBED
                    || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;

    return NGX_OK;
}


static void
message_item_who_is(ngx_guildlog_message_item_t *item)
{
    ngx_str_t  executor, target, name;

    ngx_guildlog_message_item_named(item, "executor", &executor, &name);
    ngx_guildlog_message_item_named(item, "target", &target, &name);

    item->dashboard = executor.len == 1 && executor.data[0] == '0';
    item->same = executor.len && ngx_guildlog_str_eq(&executor, &target);
}


/* what came from our own store needs no words for what is wrong with it */

static ngx_int_t
message_item_parse(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
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

    cln->handler = message_item_cleanup;
    cln->data = item->json;

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
    return ngx_guildlog_language_title(item->type, item->conf->locale);
}


const char *
ngx_guildlog_message_item_label(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_label_e label)
{
    return ngx_guildlog_language_label(ngx_guildlog_type_label(item->type,
                                                               label),
                                       item->conf->locale);
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

    return message_item_kinds[ngx_guildlog_type_kind(item->type)];
}


ngx_uint_t
ngx_guildlog_message_item_user(const ngx_guildlog_message_item_t *item,
    const char *key, ngx_str_t *id, ngx_str_t *name)
{
    ngx_guildlog_message_item_named(item, key, id, name);

    return (ngx_strcmp(key, "executor") == 0
            || ngx_guildlog_type_target(item->type)
               == NGX_GUILDLOG_TARGET_USER)
           && ngx_guildlog_value_is_id(id)
           && !(id->len == 1 && id->data[0] == '0');
}


void
ngx_guildlog_message_item_named(const ngx_guildlog_message_item_t *item,
    const char *key, ngx_str_t *id, ngx_str_t *name)
{
    json_t  *named;

    named = json_object_get(item->json, key);

    ngx_guildlog_message_item_get(named, "id", id);
    ngx_guildlog_message_item_get(named, "name", name);
}


void
ngx_guildlog_message_item_get(const json_t *object, const char *key,
    ngx_str_t *s)
{
    *s = ngx_guildlog_json_text(json_object_get(object, key));
}
