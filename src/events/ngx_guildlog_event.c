
/*
 * A packet of the platform's gateway: which guild it is of, and what it is.
 */

#include "events/ngx_guildlog_event.h"
#include "api/ngx_guildlog_value.h"
#include "log/ngx_guildlog_change.h"


/* ms, of the ids of the platform */
#define EVENT_EPOCH  1420070400000

/* bytes: from here on long arrays are read an element at a time, and how long
   these are */
#define EVENT_LARGE  32768
#define EVENT_LONG   4096

#define EVENT_NAME   64     /* bytes of t, at most */


typedef struct {
    u_char                        *dst;
    const u_char                  *p;
    const u_char                  *last;
    ngx_uint_t                     depth;
    ngx_str_t                      keys[2];  /* of the first two levels */
    ngx_uint_t                     large;
} event_copy_t;


static ngx_int_t event_check_ids(ngx_guildlog_event_t *event, ngx_pool_t *pool,
    ngx_str_t *error);
static ngx_int_t event_parse(ngx_guildlog_event_t *event, ngx_pool_t *pool,
    json_t **packet, ngx_str_t *error);
static ngx_int_t event_shorten(ngx_guildlog_event_t *event, ngx_pool_t *pool,
    ngx_str_t *text);
static void event_copy(ngx_guildlog_event_t *event, event_copy_t *c);
static int ngx_libc_cdecl event_compare(const void *key, const void *row);


ngx_int_t
ngx_guildlog_event_read(ngx_guildlog_event_t *event, ngx_pool_t *pool,
    int64_t ahead, ngx_str_t *error)
{
    json_t     *packet, *value;
    ngx_int_t   rc;

    rc = event_parse(event, pool, &packet, error);

    if (rc != NGX_OK) {
        return rc;
    }

    value = ngx_guildlog_event_reach(packet, "at");
    event->placed = value == NULL;

    if (value) {
        if (!json_is_integer(value) || json_integer_value(value) < 0
            || json_integer_value(value) > NGX_GUILDLOG_VALUE_EXACT)
        {
            ngx_str_set(error, "at: must be a time in ms");
            return NGX_DECLINED;
        }

        event->at = json_integer_value(value) - ahead;
        event->ahead = ahead;
    }

    value = ngx_guildlog_event_reach(packet, "t");

    /* what the connection is about, and no event, has none */

    if (value == NULL) {
        if (json_integer_value(json_object_get(packet, "op")) == 0) {
            ngx_str_set(error, "t: required");
            return NGX_DECLINED;
        }

        ngx_str_set(&event->name, "none");
        event->d = packet;
        return NGX_OK;
    }

    event->name = ngx_guildlog_json_text(value);

    if (event->name.len == 0 || event->name.len > EVENT_NAME) {
        ngx_str_set(error, "t: must be a text of 1 to "
                    ngx_value(EVENT_NAME) " bytes");
        return NGX_DECLINED;
    }

    event->kind = bsearch(&event->name, ngx_guildlog_event_gateway,
                          ngx_guildlog_event_gateway_n,
                          sizeof(ngx_guildlog_event_kind_t), event_compare);

    event->what = event->kind ? event->kind->what : NGX_GUILDLOG_EVENT_OTHER;
    event->audit = event->what == NGX_GUILDLOG_EVENT_AUDIT;

    event->d = json_object_get(packet, "d");

    if (!json_is_object(event->d)) {

        /* RESUMED has none worth the name */

        if (event->what == NGX_GUILDLOG_EVENT_OTHER) {
            return NGX_OK;
        }

        ngx_str_set(error, "d: must be an object");
        return NGX_DECLINED;
    }

    value = ngx_guildlog_event_reach(event->d, "guild_id");

    if (event->what == NGX_GUILDLOG_EVENT_GUILD
        || event->what == NGX_GUILDLOG_EVENT_GUILD_UPDATE
        || event->what == NGX_GUILDLOG_EVENT_GUILD_DELETE)
    {
        value = ngx_guildlog_event_reach(event->d, "id");

        if (value == NULL) {
            ngx_str_set(error, "d.id: required");
            return NGX_DECLINED;
        }

    } else if (value == NULL
               && event->name.len > 6
               && ngx_strncmp(event->name.data, "GUILD_", 6) == 0)
    {
        ngx_str_set(error, "d.guild_id: required");
        return NGX_DECLINED;
    }

    if (value) {
        event->guild = ngx_guildlog_event_id(value);

        if (event->guild < 10000000000000000) {
            ngx_str_set(error, "d.guild_id: must be the ID of a server");
            return NGX_DECLINED;
        }
    }

    if (event->guild && event->kind) {
        rc = event_check_ids(event, pool, error);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    value = json_object_get(event->d, "id");

    if (event->audit) {
        if (ngx_guildlog_event_id(value) == 0) {
            ngx_str_set(error, "d.id: must be an ID");
            return NGX_DECLINED;
        }

        event->made = ngx_guildlog_event_id_ms(ngx_guildlog_event_id(value));

        value = json_object_get(event->d, "action_type");

        event->action.data = ngx_pnalloc(pool, NGX_INT64_LEN);
        if (event->action.data == NULL) {
            return NGX_ERROR;
        }

        event->action = ngx_guildlog_digits(event->action.data,
                                            json_integer_value(value));
    }

    return NGX_OK;
}


static ngx_int_t
event_check_ids(ngx_guildlog_event_t *event, ngx_pool_t *pool,
    ngx_str_t *error)
{
    const char *const  *path;

    for (path = event->kind->ids; *path; path++) {

        if (ngx_guildlog_event_id_of(event->d, *path)) {
            continue;
        }

        error->data = ngx_pnalloc(pool, 64);
        if (error->data == NULL) {
            return NGX_ERROR;
        }

        error->len = ngx_snprintf(error->data, 64, "d.%s: must be an ID",
                                  *path)
                     - error->data;
        return NGX_DECLINED;
    }

    return NGX_OK;
}


void
ngx_guildlog_event_drop(ngx_guildlog_event_t *event)
{
    if (event->cln) {
        event->cln->handler(event->cln->data);
        event->cln->handler = NULL;
        event->cln = NULL;
        event->d = NULL;
    }
}


static ngx_int_t
event_parse(ngx_guildlog_event_t *event, ngx_pool_t *pool, json_t **packet,
    ngx_str_t *error)
{
    ngx_str_t  text;

    event->nlongs = 0;
    event->cln = NULL;

    if (event->text.len <= EVENT_LARGE) {
        *packet = ngx_guildlog_json_parse_answer(pool, &event->text, error);

        if (*packet == NULL && error->len == 0) {
            return NGX_ERROR;
        }

    } else {
        *packet = NULL;
    }

    if (*packet == NULL) {
        if (event_shorten(event, pool, &text) != NGX_OK) {
            return NGX_ERROR;
        }

        *packet = ngx_guildlog_json_parse_answer(pool, &text, error);
    }

    if (*packet == NULL) {
        return error->len ? NGX_DECLINED : NGX_ERROR;
    }

    event->cln = pool->cleanup;

    if (!json_is_object(*packet)) {
        ngx_str_set(error, "packet: must be an object");
        return NGX_DECLINED;
    }

    /* what a first reading complained of has been replaced */

    ngx_str_null(error);

    return NGX_OK;
}


/* a copy without the long arrays of d, and without what lies too deep */

static ngx_int_t
event_shorten(ngx_guildlog_event_t *event, ngx_pool_t *pool, ngx_str_t *text)
{
    event_copy_t  c;

    ngx_memzero(&c, sizeof(c));

    /* null may be longer than what it stands for, [1] */

    text->data = ngx_pnalloc(pool, event->text.len * 2 + 4);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    c.dst = text->data;
    c.p = event->text.data;
    c.last = event->text.data + event->text.len;
    c.large = event->text.len > EVENT_LARGE;

    while (c.p < c.last) {
        event_copy(event, &c);
    }

    text->len = c.dst - text->data;

    return NGX_OK;
}


/* copies what is next: a string, a bracket, or a character between them */

static void
event_copy(ngx_guildlog_event_t *event, event_copy_t *c)
{
    ngx_str_t                   key;
    const u_char               *end;
    ngx_guildlog_event_long_t  *l;

    switch (*c->p) {

    case '"':
        end = ngx_guildlog_json_scan_quote(c->p + 1, c->last);
        end = end < c->last ? end + 1 : c->last;

        key.data = (u_char *) c->p + 1;
        key.len = end - c->p > 2 ? end - c->p - 2 : 0;

        c->dst = ngx_cpymem(c->dst, c->p, end - c->p);
        c->p = end;

        if (c->depth > 0 && c->depth <= 2) {
            end = ngx_guildlog_json_scan_skip((u_char *) c->p,
                                              (u_char *) c->last);

            if (end < c->last && *end == ':') {
                c->keys[c->depth - 1] = key;
            }
        }

        return;

    case '{':
    case '[':
        if (c->depth >= NGX_GUILDLOG_JSON_DEPTH) {
            c->dst = ngx_cpymem(c->dst, "null", 4);
            end = ngx_guildlog_json_scan_bracket(c->p, c->last);
            c->p = end ? end : c->last;
            return;
        }

        if (c->large && *c->p == '[' && c->depth == 2
            && c->keys[0].len == 1 && c->keys[0].data[0] == 'd'
            && event->nlongs < NGX_GUILDLOG_EVENT_LONGS)
        {
            end = ngx_guildlog_json_scan_bracket(c->p, c->last);
            end = end ? end : c->last;

            if (end - c->p > EVENT_LONG) {
                l = &event->longs[event->nlongs++];

                l->name = c->keys[1];
                l->text.data = (u_char *) c->p + 1;
                l->text.len = end - c->p - 2;

                c->dst = ngx_cpymem(c->dst, "[]", 2);
                c->p = end;
                return;
            }
        }

        c->depth++;
        break;

    case '}':
    case ']':
        if (c->depth) {
            c->depth--;
        }

        break;
    }

    *c->dst++ = *c->p++;
}


static int ngx_libc_cdecl
event_compare(const void *key, const void *row)
{
    const ngx_str_t                  *name = key;
    const ngx_guildlog_event_kind_t  *kind = row;

    return ngx_memn2cmp(name->data, (u_char *) kind->name, name->len,
                        ngx_strlen(kind->name));
}


ngx_int_t
ngx_guildlog_event_next_of(ngx_guildlog_event_t *event, const char *name,
    ngx_uint_t *i, json_t **item)
{
    u_char                     *p, *last, *end;
    ngx_uint_t                  n;
    json_error_t                cause;
    ngx_guildlog_event_long_t  *l;

    l = NULL;

    for (n = 0; n < event->nlongs; n++) {
        if (event->longs[n].name.len == ngx_strlen(name)
            && ngx_strncmp(event->longs[n].name.data, name,
                           event->longs[n].name.len) == 0)
        {
            l = &event->longs[n];
        }
    }

    if (l == NULL) {
        *item = json_array_get(json_object_get(event->d, name), (*i)++);
        json_incref(*item);
        return NGX_OK;
    }

    last = l->text.data + l->text.len;

    for ( ;; ) {
        p = (*i)++ ? event->pos : l->text.data;
        p = ngx_guildlog_json_scan_skip(p, last);

        if (p >= last) {
            *item = NULL;
            return NGX_OK;
        }

        end = (*p == '{' || *p == '[')
              ? (u_char *) ngx_guildlog_json_scan_bracket(p, last)
              : ngx_strlchr(p, last, ',');
        end = end ? end : last;
        event->pos = ngx_strlchr(end, last, ',');
        event->pos = event->pos ? event->pos + 1 : last;

        *item = ngx_guildlog_json_read_any(p, end - p, 0, &cause);

        if (json_is_object(*item)) {
            return NGX_OK;
        }

        json_decref(*item);
    }
}


uint64_t
ngx_guildlog_event_id(const json_t *json)
{
    uint64_t    id;
    ngx_str_t   text;
    ngx_uint_t  i;

    text = ngx_guildlog_json_text(json);

    if (ngx_guildlog_value_id(text.data, text.len, 1) != NGX_OK) {
        return 0;
    }

    for (id = 0, i = 0; i < text.len; i++) {
        id = id * 10 + (text.data[i] - '0');
    }

    return id;
}


uint64_t
ngx_guildlog_event_id_of(json_t *json, const char *path)
{
    return ngx_guildlog_event_id(ngx_guildlog_event_reach(json, path));
}


json_t *
ngx_guildlog_event_ids(json_t *list, size_t most)
{
    size_t   i;
    json_t  *ids, *id;

    ids = json_array();

    json_array_foreach(list, i, id) {
        if (ngx_guildlog_event_id(id) && json_array_size(ids) < most
            && json_array_append(ids, id) != 0)
        {
            json_decref(ids);
            return NULL;
        }
    }

    return ids;
}


int64_t
ngx_guildlog_event_id_ms(uint64_t id)
{
    return (int64_t) (id >> 22) + EVENT_EPOCH;
}


int64_t
ngx_guildlog_event_time(const json_t *json)
{
    int64_t    ms;
    ngx_str_t  text;

    text = ngx_guildlog_json_text(json);
    ms = ngx_guildlog_change_time(&text);

    return ms == NGX_ERROR ? 0 : ms;
}


json_t *
ngx_guildlog_event_reach(json_t *json, const char *path)
{
    size_t       len;
    const char  *dot;

    while (json) {
        dot = ngx_strchr(path, '.');
        len = dot ? (size_t) (dot - path) : ngx_strlen(path);
        json = json_object_getn(json, path, len);

        if (dot == NULL) {
            break;
        }

        path = dot + 1;
    }

    return json_is_null(json) ? NULL : json;
}
