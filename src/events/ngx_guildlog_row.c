
/*
 * The rows of the table that a packet fits, and what their paths lead to.  What
 * the words of the table mean stands at the head of
 * ngx_guildlog_event_table.awk.
 */

#include "events/ngx_guildlog_row.h"
#include "events/ngx_guildlog_pair.h"


#define ROW_FRESH  60000    /* ms */


static int ngx_libc_cdecl row_compare(const void *key, const void *row);
static ngx_int_t row_need(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, const ngx_guildlog_event_need_t *need);
static json_t *row_thing(ngx_guildlog_event_t *event, const char *path);
static void row_note(const char **keys, ngx_uint_t *n, const char *key);
static ngx_uint_t row_is(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_when_t *when);
static ngx_uint_t row_changed(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_when_t *when);
static ngx_uint_t row_same(json_t *one, json_t *two);
static ngx_uint_t row_text_is(json_t *value, const char *text);


const ngx_guildlog_event_kind_t *
ngx_guildlog_row_kind(ngx_guildlog_event_t *event)
{
    json_t                           *type;
    ngx_uint_t                        code;
    const ngx_guildlog_event_kind_t  *kind;

    if (!event->audit) {
        return event->kind;
    }

    type = json_object_get(event->d, "action_type");
    code = json_is_integer(type) && json_integer_value(type) > 0
           ? (ngx_uint_t) json_integer_value(type) : 0;

    kind = bsearch(&code, ngx_guildlog_event_audit, ngx_guildlog_event_audit_n,
                   sizeof(ngx_guildlog_event_kind_t), row_compare);

    return kind ? kind : &ngx_guildlog_event_audit_any;
}


static int ngx_libc_cdecl
row_compare(const void *key, const void *row)
{
    const ngx_uint_t                 *code = key;
    const ngx_guildlog_event_kind_t  *kind = row;

    return (*code > kind->code) - (*code < kind->code);
}


ngx_int_t
ngx_guildlog_row_needs(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event)
{
    ngx_int_t                         rc;
    ngx_uint_t                        i;
    const ngx_guildlog_event_kind_t  *kind;

    kind = ngx_guildlog_row_kind(event);
    rc = NGX_OK;

    for (i = 0; kind && i < kind->nneeds; i++) {
        rc |= row_need(known, event, &kind->needs[i]);
    }

    return rc;
}


static ngx_int_t
row_need(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    const ngx_guildlog_event_need_t *need)
{
    size_t      i;
    json_t     *change;
    uint64_t    id;
    ngx_int_t   rc;

    if (need->path == NULL) {
        id = event->guild;

    } else if (ngx_strncmp(need->path, "change.", 7) == 0) {
        rc = NGX_OK;

        json_array_foreach(json_object_get(event->d, "changes"), i, change) {
            if (row_text_is(json_object_get(change, "key"), need->path + 7)) {
                rc |= ngx_guildlog_known_need(known, event->guild, need->what,
                           ngx_guildlog_event_id_of(change, "new_value"));
                rc |= ngx_guildlog_known_need(known, event->guild, need->what,
                           ngx_guildlog_event_id_of(change, "old_value"));
            }
        }

        return rc;

    } else {
        id = ngx_guildlog_event_id_of(event->d, need->path);
    }

    return ngx_guildlog_known_need(known, event->guild, need->what, id);
}


/* the id of the thing that "@rule_id.name" is of */

static json_t *
row_thing(ngx_guildlog_event_t *event, const char *path)
{
    u_char  name[64], *dot;

    (void) ngx_cpystrn(name, (u_char *) path + 1, sizeof(name));

    dot = (u_char *) ngx_strchr(name, '.');

    if (dot) {
        *dot = '\0';
    }

    return json_object_get(event->d, (char *) name);
}


json_t *
ngx_guildlog_row_known(ngx_guildlog_make_t *m, ngx_guildlog_known_kind_e kind,
    uint64_t id)
{
    return ngx_guildlog_known_get(m->known, m->event->guild, kind, id);
}


/* what was known before of what the event is about */

json_t *
ngx_guildlog_row_was(ngx_guildlog_make_t *m)
{
    json_t      *was, *roles, *doc, *id;
    size_t       i;
    uint64_t     who;

    switch (m->event->what) {

    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:
    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
        return ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_MESSAGE,
                    ngx_guildlog_event_id_of(m->event->d, "id"));

    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:
        was = ngx_guildlog_row_made(m, json_array());

        json_array_foreach(json_object_get(m->event->d, "ids"), i, id) {
            doc = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_MESSAGE,
                                         ngx_guildlog_event_id(id));

            if (doc == NULL) {
                continue;
            }

            doc = json_copy(doc);

            if (json_object_set(doc, "id", id) != 0
                || json_array_append_new(was, doc) != 0)
            {
                m->failed = 1;
            }
        }

        return was;

    case NGX_GUILDLOG_EVENT_MEMBER:
    case NGX_GUILDLOG_EVENT_MEMBER_REMOVE:
        who = ngx_guildlog_event_id_of(m->event->d, "user.id");
        was = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_PERSON, who);
        doc = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_MEMBER, who);

        /* who has come back unseen, was nothing before */

        was = json_object_get(was, "gone") ? NULL : was;

        /* of a member who was seen, nothing is kept that is nothing */

        if (was == NULL && json_array_size(json_object_get(doc, "roles"))) {
            was = ngx_guildlog_row_made(m, json_object());
        }

        if (m->event->what == NGX_GUILDLOG_EVENT_MEMBER) {
            return was;
        }

        was = was ? json_copy(was) : json_object();
        roles = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_ROLES, who);
        roles = roles ? roles : json_object_get(doc, "roles");

        if (roles && json_object_set(was, "roles", roles) != 0) {
            m->failed = 1;
        }

        return ngx_guildlog_row_made(m, was);

    case NGX_GUILDLOG_EVENT_VOICE:
        who = ngx_guildlog_event_id_of(m->event->d, "user_id");
        was = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_VOICE, who);

        return was ? was : ngx_guildlog_row_made(m, json_object());

    case NGX_GUILDLOG_EVENT_GUILD_UPDATE:
        return ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_GUILD,
                                      m->event->guild);

    default:
        return NULL;
    }
}


/* was it told before: by another bot, or the same one once more? */

ngx_uint_t
ngx_guildlog_row_is_old(ngx_guildlog_make_t *m)
{
    size_t       i;
    json_t      *d, *id;
    int64_t      at;
    uint64_t     guild;
    ngx_uint_t   n;

    d = m->event->d;
    guild = m->event->guild;

    switch (m->event->what) {

    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:

        /* null: what it was before all edits, with a link's picture */

        id = json_object_get(d, "edited_timestamp");
        at = json_integer_value(json_object_get(m->was, "edited"));

        if (id && ngx_guildlog_event_time(id) < at) {
            return 1;
        }

        /* fall through */

    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
        return ngx_guildlog_known_is_gone(m->known, guild,
                              ngx_guildlog_event_id_of(d, "id"));

    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:
        n = 0;

        json_array_foreach(json_object_get(d, "ids"), i, id) {
            if (!ngx_guildlog_known_is_gone(m->known, guild,
                                            ngx_guildlog_event_id(id)))
            {
                n++;
            }
        }

        return n == 0;

    case NGX_GUILDLOG_EVENT_VOICE:
        return ngx_guildlog_known_is_old(m->known, m->event,
                         NGX_GUILDLOG_KNOWN_VOICE,
                         ngx_guildlog_event_id_of(d, "user_id"));

    case NGX_GUILDLOG_EVENT_MEMBER:
    case NGX_GUILDLOG_EVENT_MEMBER_REMOVE:
        return ngx_guildlog_known_is_old(m->known, m->event,
                         NGX_GUILDLOG_KNOWN_PERSON,
                         ngx_guildlog_event_id_of(d, "user.id"));

    case NGX_GUILDLOG_EVENT_GUILD_UPDATE:
        return ngx_guildlog_known_is_old(m->known, m->event,
                                         NGX_GUILDLOG_KNOWN_GUILD, guild);

    default:
        return 0;
    }
}


/* is the row for it? */

ngx_uint_t
ngx_guildlog_row_fits(ngx_guildlog_make_t *m)
{
    const char                      *key;
    ngx_uint_t                       i, besides;
    const ngx_guildlog_event_row_t  *row;

    row = m->row;
    key = ngx_guildlog_event_row_key(row);
    m->mine = key;

    besides = row->does == NGX_GUILDLOG_EVENT_BESIDES;

    if (!besides
        && (m->all
            || (key && ngx_guildlog_row_has(m->taken, m->ntaken, key))
            || (row->does == NGX_GUILDLOG_EVENT_IGNORED && m->fitted)))
    {
        return 0;
    }

    for (i = 0; i < row->nwhen; i++) {
        if (!row_is(m, &row->when[i])) {
            return 0;
        }
    }

    if (besides) {
        return 1;
    }

    m->fitted = 1;

    if (key) {
        row_note(m->taken, &m->ntaken, key);
    } else {
        m->all = 1;
    }

    return 1;
}


ngx_uint_t
ngx_guildlog_row_has(const char **keys, ngx_uint_t n, const char *key)
{
    while (n--) {
        if (ngx_strcmp(keys[n], key) == 0) {
            return 1;
        }
    }

    return 0;
}


static void
row_note(const char **keys, ngx_uint_t *n, const char *key)
{
    if (*n < NGX_GUILDLOG_EVENT_KEYS) {
        keys[(*n)++] = key;
    }
}


/* a change that no row was for, of those that people want to be told */

ngx_uint_t
ngx_guildlog_row_is_left(ngx_guildlog_make_t *m, json_t *change)
{
    ngx_uint_t   i;
    const char  *key;

    key = json_string_value(json_object_get(change, "key"));

    if (key == NULL || ngx_guildlog_row_has(m->taken, m->ntaken, key)) {
        return 0;
    }

    for (i = 0; ngx_guildlog_event_untold[i]; i++) {
        if (ngx_strcmp(ngx_guildlog_event_untold[i], key) == 0) {
            return 0;
        }
    }

    return ngx_guildlog_row_given(json_object_get(change, "old_value"))
           || ngx_guildlog_row_given(json_object_get(change, "new_value"));
}


static ngx_uint_t
row_is(ngx_guildlog_make_t *m, const ngx_guildlog_event_when_t *when)
{
    json_t    *value, *item;
    size_t     i;
    int64_t    at;
    uint64_t   id;

    switch (when->verb) {

    case NGX_GUILDLOG_WHEN_UNKNOWN:
        return m->was == NULL;

    case NGX_GUILDLOG_WHEN_GIVEN:
        return ngx_guildlog_row_given(ngx_guildlog_row_at(m, when->path));

    case NGX_GUILDLOG_WHEN_IS:
        return row_text_is(ngx_guildlog_row_at(m, when->path), when->value);

    case NGX_GUILDLOG_WHEN_HAS:
        json_array_foreach(ngx_guildlog_row_at(m, when->path), i, item) {
            if (row_text_is(item, when->value)) {
                return 1;
            }
        }

        return 0;

    case NGX_GUILDLOG_WHEN_FRESH:
        at = ngx_guildlog_event_time(ngx_guildlog_row_at(m, when->path));

        return at && at > m->event->at - ROW_FRESH
               && at < m->event->at + ROW_FRESH;

    case NGX_GUILDLOG_WHEN_THREAD:
        id = ngx_guildlog_event_id(ngx_guildlog_row_at(m, when->path));
        value = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_CHANNEL, id);

        return ngx_guildlog_known_is_thread(value);

    case NGX_GUILDLOG_WHEN_BOT:
        id = ngx_guildlog_event_id(ngx_guildlog_row_at(m, when->path));

        value = json_object_get(m->event->d, "user");

        if (ngx_guildlog_event_id_of(value, "id") == id
            && json_is_true(json_object_get(value, "bot")))
        {
            return 1;
        }

        value = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_MEMBER, id);

        return json_is_true(json_object_get(value, "bot"));

    case NGX_GUILDLOG_WHEN_OTHERWISE:
        json_array_foreach(m->changes, i, item) {
            if (ngx_guildlog_row_is_left(m, item)) {
                return 1;
            }
        }

        return !m->fitted;

    default:
        return row_changed(m, when);
    }
}


static ngx_uint_t
row_changed(ngx_guildlog_make_t *m, const ngx_guildlog_event_when_t *when)
{
    json_t      *old, *now, *change;
    ngx_uint_t   same;

    if (m->changes) {
        change = ngx_guildlog_row_change(m, when->path);

        if (change == NULL) {
            return 0;
        }

        old = json_object_get(change, "old_value");
        now = json_object_get(change, "new_value");
        same = row_same(old, now);

    } else {
        if (m->was == NULL) {
            return 0;
        }

        old = ngx_guildlog_event_reach(m->was,
                                       when->value ? when->value : when->path);
        now = ngx_guildlog_event_reach(m->event->d, when->path);

        if (now == NULL
            && (when->verb == NGX_GUILDLOG_WHEN_DIFFERS
                || when->verb == NGX_GUILDLOG_WHEN_SHRINKS)
            && json_object_get(m->event->d, when->path) == NULL)
        {
            return 0;
        }

        /* times are kept as numbers */

        if (json_is_integer(old) && json_is_string(now)) {
            same = ngx_guildlog_event_time(now) == json_integer_value(old);

        } else {
            same = row_same(old, now);
        }
    }

    switch (when->verb) {

    case NGX_GUILDLOG_WHEN_COMES:
        return !ngx_guildlog_row_given(old) && ngx_guildlog_row_given(now);

    case NGX_GUILDLOG_WHEN_GOES:
        return ngx_guildlog_row_given(old) && !ngx_guildlog_row_given(now);

    case NGX_GUILDLOG_WHEN_DIFFERS:
        return !same;

    case NGX_GUILDLOG_WHEN_STAYS:
        return ngx_guildlog_row_given(now) && same;

    default:
        return json_array_size(old) > json_array_size(now);
    }
}


json_t *
ngx_guildlog_row_change(ngx_guildlog_make_t *m, const char *key)
{
    size_t   i;
    json_t  *change;

    json_array_foreach(m->changes, i, change) {
        if (row_text_is(json_object_get(change, "key"), key)) {
            return change;
        }
    }

    return NULL;
}


ngx_uint_t
ngx_guildlog_row_given(json_t *value)
{
    ngx_str_t  text;

    if (value == NULL) {
        return 0;
    }

    switch (json_typeof(value)) {

    case JSON_NULL:
    case JSON_FALSE:
        return 0;

    case JSON_INTEGER:
        return json_integer_value(value) != 0;

    case JSON_REAL:
        return json_real_value(value) != 0;

    case JSON_STRING:
        text = ngx_guildlog_json_text(value);

        return text.len && !(text.len == 1 && text.data[0] == '0');

    case JSON_ARRAY:
        return json_array_size(value) != 0;

    default:
        return 1;
    }
}


static ngx_uint_t
row_same(json_t *one, json_t *two)
{
    ngx_uint_t  no_one, no_two;

    no_one = one == NULL || json_is_null(one);
    no_two = two == NULL || json_is_null(two);

    if (no_one || no_two) {
        return no_one && no_two;
    }

    return json_equal(one, two);
}


static ngx_uint_t
row_text_is(json_t *value, const char *text)
{
    u_char      buf[NGX_INT64_LEN + 1];
    ngx_str_t   s;

    if (json_is_string(value)) {
        s = ngx_guildlog_json_text(value);

    } else if (json_is_integer(value)) {
        s = ngx_guildlog_digits(buf, json_integer_value(value));

    } else if (json_is_boolean(value)) {
        s.data = (u_char *) (json_is_true(value) ? "true" : "false");
        s.len = ngx_strlen(s.data);

    } else {
        return 0;
    }

    return s.len == ngx_strlen(text)
           && ngx_strncmp(s.data, text, s.len) == 0;
}


/* it lives until all entries are made */

json_t *
ngx_guildlog_row_made(ngx_guildlog_make_t *m, json_t *value)
{
    if (value == NULL || json_array_append_new(m->made, value) != 0) {
        m->failed = 1;
        return NULL;
    }

    return value;
}


json_t *
ngx_guildlog_row_at(ngx_guildlog_make_t *m, const char *path)
{
    json_t      *change, *value;
    ngx_str_t    text;
    const char  *dot;

    if (path[0] == '\'') {
        return ngx_guildlog_row_made(m, json_string(path + 1));
    }

    if (ngx_strcmp(path, "#number") == 0) {
        value = json_object_get(m->event->d, "action_type");

        return ngx_guildlog_row_made(m, json_sprintf("audit %lld",
                                     (long long) json_integer_value(value)));
    }

    if (path[0] == '#') {
        value = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_CHANNEL,
                                 ngx_guildlog_event_id(
                                     ngx_guildlog_row_at(m, path + 1)));
        return json_object_get(value, "name");
    }

    if (path[0] == '@') {
        value = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_THING,
                                       ngx_guildlog_event_id(
                                           row_thing(m->event, path)));
        dot = ngx_strchr(path, '.');

        return dot ? ngx_guildlog_event_reach(value, dot + 1) : value;
    }

    if (ngx_strncmp(path, "change.", 7) == 0) {
        change = ngx_guildlog_row_change(m, path + 7);

        row_note(m->told, &m->ntold, path + 7);

        value = json_object_get(change, "new_value");

        return (value == NULL || json_is_null(value))
               ? json_object_get(change, "old_value") : value;
    }

    if (ngx_strcmp(path, "was.said") == 0) {
        value = ngx_guildlog_known_said(m->was);
        return value ? ngx_guildlog_row_made(m, value) : NULL;
    }

    if (ngx_strncmp(path, "was.", 4) == 0) {
        return ngx_guildlog_event_reach(m->was, path + 4);
    }

    if (ngx_strncmp(path, "guild.", 6) == 0) {
        value = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_GUILD,
                                       m->event->guild);
        return ngx_guildlog_event_reach(value, path + 6);
    }

    /* of what is not known there is the id, at least */

    if (ngx_strcmp(path, "was") == 0) {
        return m->was ? m->was : ngx_guildlog_row_made(m, json_object());
    }

    if (ngx_strcmp(path, "now") == 0) {
        return ngx_guildlog_row_made(m,
                           ngx_guildlog_known_message(m->event->d, m->was));
    }

    value = ngx_guildlog_event_reach(m->event->d, path);
    text = ngx_guildlog_json_text(value);

    return (json_is_string(value) && text.len == 0) ? NULL : value;
}


json_t *
ngx_guildlog_row_first(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set)
{
    json_t      *value;
    ngx_uint_t   i;

    for (i = 0; i < NGX_GUILDLOG_EVENT_PATHS && set->paths[i]; i++) {
        value = ngx_guildlog_row_at(m, set->paths[i]);

        if (value && !json_is_null(value)) {
            return value;
        }
    }

    return NULL;
}
