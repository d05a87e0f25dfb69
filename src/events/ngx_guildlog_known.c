
/*
 * What is known of the guilds of a batch of packets.
 */

#include "events/ngx_guildlog_known.h"


#define KNOWN_SIZE  256     /* items, at first: a power of two */
#define KNOWN_WAY   1000    /* ms: clocks that differ by less are one */


struct ngx_guildlog_known_s {
    ngx_pool_t                    *pool;
    ngx_array_t                    items;    /* of known_item_t */
    uint32_t                      *table;    /* of places from 1; 0: free */
    ngx_uint_t                     size;     /* of the table: a power of two */
    ngx_uint_t                     asked;    /* items that the database is
                                                asked for: the first ones */
};


static ngx_guildlog_known_item_t *known_find(ngx_guildlog_known_t *known,
    uint64_t guild, ngx_guildlog_known_kind_e kind, uint64_t id,
    ngx_uint_t create);
static uint32_t *known_place(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id);
static ngx_int_t known_grow(ngx_guildlog_known_t *known);
static void known_cleanup(void *data);


ngx_guildlog_known_t *
ngx_guildlog_known_create(ngx_pool_t *pool)
{
    ngx_pool_cleanup_t    *cln;
    ngx_guildlog_known_t  *known;

    known = ngx_pcalloc(pool, sizeof(ngx_guildlog_known_t));
    cln = ngx_pool_cleanup_add(pool, 0);

    if (known == NULL || cln == NULL
        || ngx_array_init(&known->items, pool, KNOWN_SIZE,
                          sizeof(ngx_guildlog_known_item_t)) != NGX_OK)
    {
        return NULL;
    }

    known->pool = pool;

    if (known_grow(known) != NGX_OK) {
        return NULL;
    }

    cln->handler = known_cleanup;
    cln->data = known;

    return known;
}


static void
known_cleanup(void *data)
{
    ngx_guildlog_known_t *known = data;

    ngx_uint_t                  i;
    ngx_guildlog_known_item_t  *item;

    item = known->items.elts;

    for (i = 0; i < known->items.nelts; i++) {
        json_decref(item[i].doc);
    }
}


ngx_int_t
ngx_guildlog_known_need(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id)
{
    if (guild == 0 || id == 0) {
        return NGX_OK;
    }

    return known_find(known, guild, kind, id, 1) ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_guildlog_known_args(ngx_guildlog_known_t *known, ngx_str_t *args)
{
    ngx_uint_t                  i, n;
    ngx_guildlog_json_t         w[NGX_GUILDLOG_KNOWN_NARGS];
    ngx_guildlog_known_item_t  *item;

    for (n = 0; n < NGX_GUILDLOG_KNOWN_NARGS; n++) {
        ngx_guildlog_json_init(&w[n], known->pool, 20 * known->items.nelts);
        ngx_guildlog_json_begin(&w[n], '{');
    }

    item = known->items.elts;
    known->asked = known->items.nelts;

    for (i = 0; i < known->asked; i++) {
        ngx_guildlog_json_number(&w[0], item[i].guild);
        ngx_guildlog_json_number(&w[1], item[i].kind);
        ngx_guildlog_json_number(&w[2], item[i].id);
    }

    for (n = 0; n < NGX_GUILDLOG_KNOWN_NARGS; n++) {
        ngx_guildlog_json_end(&w[n]);

        if (ngx_guildlog_json_written(&w[n], &args[n]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_known_load(ngx_guildlog_known_t *known, const ngx_str_t *places,
    const ngx_str_t *docs)
{
    u_char                     *p, *last, *doc, *end, *lf;
    ngx_uint_t                  i, place;
    ngx_guildlog_known_item_t  *item;

    item = known->items.elts;

    for (i = 0; i < known->items.nelts; i++) {
        json_decref(item[i].doc);

        item[i].doc = NULL;
        item[i].found = 0;
        item[i].gone = 0;
        item[i].taught = 0;
    }

    doc = docs->data;
    end = docs->data + docs->len;

    last = places->data + places->len;

    for (p = places->data; p < last; p++) {

        if (*p < '0' || *p > '9') {
            continue;
        }

        for (place = 0; p < last && *p >= '0' && *p <= '9'; p++) {
            place = place * 10 + (*p - '0');
        }

        if (place == 0 || place > known->asked || doc == NULL) {
            return NGX_ERROR;
        }

        lf = doc < end ? ngx_strlchr(doc, end, LF) : NULL;
        lf = lf ? lf : end;

        item[place - 1].text.data = doc;
        item[place - 1].text.len = lf - doc;
        item[place - 1].found = 1;

        if (item[place - 1].kind == NGX_GUILDLOG_KNOWN_MESSAGE && lf == doc) {
            item[place - 1].gone = 1;
        }

        doc = lf < end ? lf + 1 : end;
    }

    return NGX_OK;
}


json_t *
ngx_guildlog_known_get(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id)
{
    json_error_t                cause;
    ngx_guildlog_known_item_t  *item;

    item = known_find(known, guild, kind, id, 0);

    if (item == NULL) {
        return NULL;
    }

    if (item->doc == NULL && item->found && !item->taught && !item->gone) {
        item->doc = ngx_guildlog_json_read_any(item->text.data, item->text.len,
                                               0, &cause);
    }

    return item->doc;
}


ngx_int_t
ngx_guildlog_known_also(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, json_t *doc)
{
    uint64_t                    id;
    ngx_guildlog_known_item_t  *item;

    id = ngx_guildlog_event_id_of(doc, "id");

    if (id == 0 || known_find(known, guild, kind, id, 0)) {
        return NGX_OK;
    }

    item = known_find(known, guild, kind, id, 1);

    if (item == NULL) {
        return NGX_ERROR;
    }

    item->doc = json_incref(doc);

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_known_is_thread(json_t *channel)
{
    json_int_t  type;

    type = json_integer_value(json_object_get(channel, "type"));

    return type >= 10 && type <= 12;
}


ngx_uint_t
ngx_guildlog_known_is_gone(ngx_guildlog_known_t *known, uint64_t guild,
    uint64_t id)
{
    ngx_guildlog_known_item_t  *item;

    item = known_find(known, guild, NGX_GUILDLOG_KNOWN_MESSAGE, id, 0);

    return item && item->gone;
}


ngx_uint_t
ngx_guildlog_known_is_old(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_guildlog_known_kind_e kind, uint64_t id)
{
    json_t      *was;
    int64_t      at, ahead, by, heard, joined;
    ngx_uint_t   gone;

    was = ngx_guildlog_known_get(known, event->guild, kind, id);
    at = json_integer_value(json_object_get(was, "at"));
    ahead = json_integer_value(json_object_get(was, "ahead"));
    gone = json_object_get(was, "gone") != NULL;

    by = event->ahead - ahead;
    heard = (by > -KNOWN_WAY && by < KNOWN_WAY) ? event->at + by : event->at;

    if (event->what == NGX_GUILDLOG_EVENT_MEMBER_ADD) {
        joined = ngx_guildlog_event_time(json_object_get(event->d,
                                                         "joined_at"));

        /* by one clock, the platform's: what they have left they had joined */

        if (joined
            && joined < json_integer_value(json_object_get(was, "joined"))
                        + (int64_t) gone)
        {
            return 1;
        }

    } else if (gone) {
        at += NGX_GUILDLOG_EVENT_MOMENT;
    }

    if (heard < at) {
        return 1;
    }

    if (event->at < at) {
        event->at = heard;
        event->ahead = ahead;
    }

    return 0;
}


ngx_int_t
ngx_guildlog_known_put(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id, json_t *doc)
{
    json_t                     *was;
    ngx_guildlog_known_item_t  *item;

    if (doc == NULL) {
        return NGX_ERROR;
    }

    if (id == 0) {
        json_decref(doc);
        return NGX_OK;
    }

    item = known_find(known, guild, kind, id, 1);

    if (item == NULL) {
        json_decref(doc);
        return NGX_ERROR;
    }

    was = ngx_guildlog_known_get(known, guild, kind, id);

    if (was && json_equal(was, doc)) {
        json_decref(doc);
        return NGX_OK;
    }

    json_decref(was);

    item->doc = doc;
    item->taught = 1;
    item->gone = 0;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_known_drop(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id)
{
    ngx_guildlog_known_item_t  *item;

    if (id == 0) {
        return NGX_OK;
    }

    item = known_find(known, guild, kind, id, 1);

    if (item == NULL) {
        return NGX_ERROR;
    }

    if (item->gone) {
        return NGX_OK;
    }

    json_decref(item->doc);

    item->doc = NULL;
    item->taught = 1;
    item->gone = kind == NGX_GUILDLOG_KNOWN_MESSAGE;

    return NGX_OK;
}


void
ngx_guildlog_known_depends(ngx_guildlog_known_t *known, uint64_t guild)
{
    ngx_guildlog_known_item_t  *item;

    (void) ngx_guildlog_known_get(known, guild, NGX_GUILDLOG_KNOWN_SERVER,
                                  guild);

    item = known_find(known, guild, NGX_GUILDLOG_KNOWN_SERVER, guild, 0);

    if (item) {
        item->taught = 1;
    }
}


/* an id of 0 stands for all of them that are older */

ngx_int_t
ngx_guildlog_known_clear(ngx_guildlog_known_t *known, uint64_t guild,
    int64_t at)
{
    json_t                     *doc;
    ngx_uint_t                  i;
    ngx_guildlog_known_item_t  *item;

    item = known->items.elts;

    for (i = 0; i < known->items.nelts; i++) {
        if (item[i].guild != guild || item[i].kind != NGX_GUILDLOG_KNOWN_VOICE)
        {
            continue;
        }

        doc = ngx_guildlog_known_get(known, guild, NGX_GUILDLOG_KNOWN_VOICE,
                                     item[i].id);

        if (json_integer_value(json_object_get(doc, "at")) < at) {
            json_decref(doc);

            item[i].doc = NULL;
            item[i].found = 0;
        }
    }

    item = known_find(known, guild, NGX_GUILDLOG_KNOWN_VOICE, 0, 1);

    if (item == NULL) {
        return NGX_ERROR;
    }

    json_decref(item->doc);

    item->doc = json_pack("{sI}", "at", (json_int_t) at);
    item->taught = 1;

    return item->doc ? NGX_OK : NGX_ERROR;
}


ngx_guildlog_known_item_t *
ngx_guildlog_known_items(ngx_guildlog_known_t *known, ngx_uint_t *n)
{
    *n = known->items.nelts;

    return known->items.elts;
}


static ngx_guildlog_known_item_t *
known_find(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id, ngx_uint_t create)
{
    uint32_t                   *place;
    ngx_guildlog_known_item_t  *item;

    place = known_place(known, guild, kind, id);

    if (*place || !create) {
        item = known->items.elts;
        return *place ? &item[*place - 1] : NULL;
    }

    item = ngx_array_push(&known->items);
    if (item == NULL) {
        return NULL;
    }

    ngx_memzero(item, sizeof(ngx_guildlog_known_item_t));

    item->guild = guild;
    item->kind = kind;
    item->id = id;

    *place = known->items.nelts;

    if (known->items.nelts * 2 > known->size && known_grow(known) != NGX_OK) {
        return NULL;
    }

    item = known->items.elts;

    return &item[known->items.nelts - 1];
}


static uint32_t *
known_place(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id)
{
    uint64_t                    hash;
    ngx_uint_t                  i;
    ngx_guildlog_known_item_t  *item;

    item = known->items.elts;

    hash = (guild * 31 + id) * 31 + kind;
    hash *= 0x9e3779b97f4a7c15;

    for (i = hash >> 32; /* void */ ; i++) {
        i &= known->size - 1;

        if (known->table[i] == 0
            || (item[known->table[i] - 1].id == id
                && item[known->table[i] - 1].guild == guild
                && item[known->table[i] - 1].kind == kind))
        {
            return &known->table[i];
        }
    }
}


static ngx_int_t
known_grow(ngx_guildlog_known_t *known)
{
    ngx_uint_t                  i;
    ngx_guildlog_known_item_t  *item;

    known->size = known->size ? known->size * 4 : KNOWN_SIZE * 2;
    known->table = ngx_pcalloc(known->pool, known->size * sizeof(uint32_t));

    if (known->table == NULL) {
        return NGX_ERROR;
    }

    item = known->items.elts;

    for (i = 0; i < known->items.nelts; i++) {
        *known_place(known, item[i].guild, item[i].kind, item[i].id) = i + 1;
    }

    return NGX_OK;
}
