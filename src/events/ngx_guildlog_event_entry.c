
/*
 * The entries that a packet makes: the fields of a row, filled.
 */

#include "api/ngx_guildlog_value.h"
#include "events/ngx_guildlog_event_entry.h"
#include "events/ngx_guildlog_row.h"


#define ENTRY_DAY       86400000
#define ENTRY_ROLES     100      /* that came or went */
#define ENTRY_MESSAGES  100
#define ENTRY_CHANGES   25
#define ENTRY_WANTED    100      /* people without a name, of a batch */
#define ENTRY_ID        64       /* bytes of an event's id */
#define ENTRY_RULES     143      /* actions of automatic moderation */

#define ENTRY_PICTURES  "https://cdn.discordapp.com/"


static ngx_int_t entry_place_of(ngx_guildlog_make_t *m);
static void entry_set(ngx_guildlog_make_t *m, const char *name, json_t *value);
static void entry_fill(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set);
static void entry_part(ngx_guildlog_make_t *m, const char *field,
    const char *part, json_t *value);
static json_t *entry_person(ngx_guildlog_make_t *m, json_t *id);
static void entry_want(ngx_guildlog_make_t *m, json_t *id);
static json_t *entry_place(ngx_guildlog_make_t *m, json_t *id);
static void entry_role(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set, json_t *value);
static void entry_messages(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set);
static json_t *entry_message(ngx_guildlog_make_t *m, json_t *doc);
static json_t *entry_change(const char *key, json_t *old, json_t *now);
static void entry_changes(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set);
static void entry_roles(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set, json_t *ids);
static void entry_image(ngx_guildlog_make_t *m, const char *path);
static json_t *entry_picture(ngx_guildlog_make_t *m, const char *path,
    size_t key, json_t *hash);
static json_t *entry_made(ngx_guildlog_make_t *m, json_t *value);
static void entry_append(ngx_guildlog_make_t *m, json_t *list, json_t *value);
static json_t *entry_text(ngx_guildlog_make_t *m, json_t *value,
    ngx_uint_t most);
static ngx_int_t entry_put(ngx_guildlog_make_t *m,
    ngx_guildlog_event_put_t *put);
static void entry_head(ngx_guildlog_make_t *m);
static u_char *entry_head_other(ngx_guildlog_make_t *m, u_char *p,
    u_char *last);
static int64_t entry_moment(ngx_guildlog_make_t *m);


/* their names, and how many characters texts may have; 0: it is none */

static const struct {
    const char                      *name;
    ngx_uint_t                       most;
} entry_fields[NGX_GUILDLOG_ENTRY_FIELDS] = {
    [NGX_GUILDLOG_ENTRY_EXECUTOR] = { "executor", 0 },
    [NGX_GUILDLOG_ENTRY_TARGET] = { "target", 0 },
    [NGX_GUILDLOG_ENTRY_CHANNEL] = { "channel", 0 },
    [NGX_GUILDLOG_ENTRY_ROLE] = { "role", 100 },
    [NGX_GUILDLOG_ENTRY_NAME] = { "name", 100 },
    [NGX_GUILDLOG_ENTRY_REASON] = { "reason", 512 },
    [NGX_GUILDLOG_ENTRY_COUNT] = { "count", 0 },
    [NGX_GUILDLOG_ENTRY_CONTENT] = { "content", 4000 },
    [NGX_GUILDLOG_ENTRY_CONTENT_AFTER] = { "contentAfter", 4000 },
    [NGX_GUILDLOG_ENTRY_MESSAGES] = { "messages", 0 },
    [NGX_GUILDLOG_ENTRY_EMOJI] = { "emoji", 0 },
    [NGX_GUILDLOG_ENTRY_ACTION] = { "action", 100 },
    [NGX_GUILDLOG_ENTRY_VALUE] = { "value", 4000 },
    [NGX_GUILDLOG_ENTRY_CHANGES] = { "changes", 0 },
    [NGX_GUILDLOG_ENTRY_UNTIL] = { "until", 0 },
    [NGX_GUILDLOG_ENTRY_ROLE_ID] = { "role_id", 0 },
    [NGX_GUILDLOG_ENTRY_IMAGE] = { "image", 0 }
};


ngx_int_t
ngx_guildlog_event_entries(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event)
{
    ngx_uint_t           i, j;
    ngx_guildlog_make_t  m;

    ngx_memzero(&m, sizeof(m));

    m.known = put->known;
    m.wanted = put->wanted;
    m.event = event;

    m.kind = ngx_guildlog_row_kind(event);

    if (m.kind == NULL) {
        event->fate = event->what == NGX_GUILDLOG_EVENT_NONE
                      ? NGX_GUILDLOG_EVENT_NOTHING
                      : NGX_GUILDLOG_EVENT_UNKNOWN;
        return NGX_OK;
    }

    event->fate = (m.kind == &ngx_guildlog_event_audit_any)
                  ? NGX_GUILDLOG_EVENT_UNKNOWN : NGX_GUILDLOG_EVENT_NOTHING;

    if (event->guild == 0) {
        return NGX_OK;
    }

    m.made = json_array();
    if (m.made == NULL) {
        return NGX_ERROR;
    }

    if (entry_place_of(&m) != NGX_OK) {
        json_decref(m.made);
        return NGX_ERROR;
    }

    if (event->audit) {
        m.changes = json_object_get(event->d, "changes");
        m.changes = json_is_array(m.changes) ? m.changes
                    : ngx_guildlog_row_made(&m, json_array());
    } else {
        m.was = ngx_guildlog_row_was(&m);
    }

    if (ngx_guildlog_row_is_old(&m)) {
        event->fate = NGX_GUILDLOG_EVENT_OLD;
        json_decref(m.made);
        return NGX_OK;
    }

    if (ngx_guildlog_known_count(put->known, event) != NGX_OK) {
        json_decref(m.made);
        return NGX_ERROR;
    }

    for (i = 0; i < m.kind->nrows && !m.failed; i++) {
        m.row = &m.kind->rows[i];

        if (!ngx_guildlog_row_fits(&m)
            || m.row->does >= NGX_GUILDLOG_EVENT_TOLD)
        {
            continue;
        }

        m.entry = json_object();
        m.ntold = 0;

        for (j = 0; j < m.row->nset && m.entry; j++) {
            entry_fill(&m, &m.row->set[j]);
        }

        if (m.entry == NULL || entry_put(&m, put) != NGX_OK) {
            m.failed = 1;
            break;
        }

        if (event->fate == NGX_GUILDLOG_EVENT_NOTHING) {
            event->fate = NGX_GUILDLOG_EVENT_TOOK;
        }
    }

    json_decref(m.made);

    return m.failed ? NGX_ERROR : NGX_OK;
}


/* where somebody or something was, the packet does not say */

static ngx_int_t
entry_place_of(ngx_guildlog_make_t *m)
{
    json_t      *place;
    const char  *name;

    name = m->event->audit ? "target_id" : "user_id";
    place = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_PLACE,
                                   ngx_guildlog_event_id_of(m->event->d, name));

    return ngx_guildlog_known_also(m->known, m->event->guild,
                                   NGX_GUILDLOG_KNOWN_CHANNEL, place);
}


static void
entry_set(ngx_guildlog_make_t *m, const char *name, json_t *value)
{
    m->failed |= json_object_set_new(m->entry, name, value) != 0;
}


static void
entry_fill(ngx_guildlog_make_t *m, const ngx_guildlog_event_set_t *set)
{
    json_t      *value;
    int64_t      number;
    const char  *name;

    name = entry_fields[set->field].name;

    switch (set->field) {

    case NGX_GUILDLOG_ENTRY_MESSAGES:
        entry_messages(m, set);
        return;

    case NGX_GUILDLOG_ENTRY_CHANGES:
        if (set->part) {
            entry_roles(m, set, ngx_guildlog_row_first(m, set));
        } else {
            entry_changes(m, set);
        }

        return;

    case NGX_GUILDLOG_ENTRY_IMAGE:
        entry_image(m, set->paths[0]);
        return;
    }

    value = ngx_guildlog_row_first(m, set);

    if (value == NULL) {
        return;
    }

    if (set->part) {
        entry_part(m, name, set->part, value);
        return;
    }

    switch (set->field) {

    case NGX_GUILDLOG_ENTRY_EXECUTOR:
    case NGX_GUILDLOG_ENTRY_TARGET:
        if (ngx_guildlog_event_id(value)) {
            entry_set(m, name, entry_person(m, value));
        }

        return;

    case NGX_GUILDLOG_ENTRY_CHANNEL:
        if (ngx_guildlog_event_id(value)) {
            entry_set(m, name, entry_place(m, value));
        }

        return;

    case NGX_GUILDLOG_ENTRY_ROLE:
    case NGX_GUILDLOG_ENTRY_ROLE_ID:
        entry_role(m, set, value);
        return;

    case NGX_GUILDLOG_ENTRY_COUNT:
        if (json_is_array(value)) {
            number = json_array_size(value);

        } else if (json_is_string(value)) {
            number = ngx_atoi((u_char *) json_string_value(value),
                              json_string_length(value));
        } else {
            number = json_integer_value(value);
        }

        if (number >= 0) {
            entry_set(m, name, json_integer(number));
        }

        return;

    case NGX_GUILDLOG_ENTRY_UNTIL:
        number = ngx_guildlog_event_time(value);

        if (number) {
            entry_set(m, name, json_integer(number));
        }

        return;

    case NGX_GUILDLOG_ENTRY_EMOJI:
        if (json_is_object(value)) {
            entry_part(m, name, "id", json_object_get(value, "id"));
            entry_part(m, name, "name", json_object_get(value, "name"));

            if (json_is_true(json_object_get(value, "animated"))) {
                entry_part(m, name, "animated",
                           json_object_get(value, "animated"));
            }
        }

        return;

    default:
        value = entry_text(m, value, entry_fields[set->field].most);

        if (value && json_string_length(value) == 0) {
            json_decref(value);
            return;
        }

        entry_set(m, name, value);
    }
}


/* a part of an object, unless it has it already */

static void
entry_part(ngx_guildlog_make_t *m, const char *field, const char *part,
    json_t *value)
{
    json_t  *object, *text;

    if (!ngx_guildlog_row_given(value)) {
        return;
    }

    object = json_object_get(m->entry, field);

    if (object == NULL) {

        /* a channel without an id is none */

        if (ngx_strcmp(field, "channel") == 0) {
            return;
        }

        entry_set(m, field, json_object());
        object = json_object_get(m->entry, field);
    }

    if (object == NULL
        || ngx_guildlog_row_given(json_object_get(object, part)))
    {
        return;
    }

    if (ngx_strcmp(part, "id") == 0 && ngx_guildlog_event_id(value) == 0) {
        return;
    }

    text = json_is_boolean(value) ? json_incref(value)
                                  : entry_text(m, value, 100);

    m->failed |= json_object_set_new(object, part, text) != 0;
}


static json_t *
entry_person(ngx_guildlog_make_t *m, json_t *id)
{
    json_t      *known, *d, *user, *roles, *name, *bot, *avatar;
    uint64_t     who;
    ngx_str_t    hash;
    ngx_uint_t   i;

    /* where a user of a packet stands, and its roles */

    static const struct {
        const char  *user;
        const char  *roles;
    } places[] = {
        { "user", "roles" },
        { "member.user", "member.roles" },
        { "author", "member.roles" }
    };

    d = m->event->d;
    who = ngx_guildlog_event_id(id);

    known = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_MEMBER, who);

    /* what the packet tells itself is newer */

    name = json_object_get(known, "name");
    bot = json_object_get(known, "bot");
    roles = json_object_get(known, "roles");
    avatar = json_object_get(known, "avatar");

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        user = ngx_guildlog_event_reach(d, places[i].user);

        if (ngx_guildlog_event_id_of(user, "id") == who) {
            name = json_object_get(user, "username");
            bot = json_object_get(user, "bot");
            avatar = json_object_get(user, "avatar");

            if (ngx_guildlog_event_reach(d, places[i].roles)) {
                roles = ngx_guildlog_event_reach(d, places[i].roles);
            }
        }
    }

    user = json_is_object(m->was) ? json_object_get(m->was, "author") : NULL;

    if (ngx_guildlog_event_id_of(user, "id") == who) {
        name = name ? name : json_object_get(user, "name");
        bot = bot ? bot : json_object_get(user, "bot");
    }

    if (!json_is_string(name)) {
        entry_want(m, id);
    }

    hash = ngx_guildlog_json_text(avatar);
    roles = json_array_size(roles)
            ? entry_made(m, ngx_guildlog_event_ids(roles,
                                                   NGX_GUILDLOG_EVENT_ROLES))
            : NULL;

    return json_pack("{sO sO* so* sO* so*}", "id", id,
                "avatar", ngx_guildlog_value_is_hash(&hash) ? avatar : NULL,
                "name", json_is_string(name) ? entry_text(m, name, 100) : NULL,
                "bot", json_is_true(bot) ? bot : NULL, "roles", roles);
}


/* a bot that can asks who that is */

static void
entry_want(ngx_guildlog_make_t *m, json_t *id)
{
    size_t   i;
    json_t  *other;

    json_array_foreach(m->wanted, i, other) {
        if (json_equal(id, other)) {
            return;
        }
    }

    if (json_array_size(m->wanted) < ENTRY_WANTED) {
        (void) json_array_append(m->wanted, id);
    }
}


/* with what it is in: a thread is in a channel, a channel in a category */

static json_t *
entry_place(ngx_guildlog_make_t *m, json_t *id)
{
    json_t  *known, *parent, *category, *name, *above;

    known = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_CHANNEL,
                                   ngx_guildlog_event_id(id));

    parent = json_object_get(known, "parent");
    category = json_object_get(known, "category");
    name = json_object_get(known, "name");

    if (ngx_guildlog_known_is_thread(known)) {
        above = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_CHANNEL,
                                       ngx_guildlog_event_id(parent));

        if (category == NULL) {
            category = json_object_get(above, "category");
            category = category ? category : json_object_get(above, "parent");
        }

    } else {
        category = category ? category : parent;
        parent = NULL;
    }

    return json_pack("{sO so* sO* sO*}", "id", id,
                "name", json_is_string(name) ? entry_text(m, name, 100) : NULL,
                "parent", json_is_string(parent) ? parent : NULL,
                "category", json_is_string(category) ? category : NULL);
}


/* by its id, by its name, or the one that came or went */

static void
entry_role(ngx_guildlog_make_t *m, const ngx_guildlog_event_set_t *set,
    json_t *value)
{
    json_t  *role;

    if (set->field == NGX_GUILDLOG_ENTRY_ROLE_ID) {
        if (ngx_guildlog_event_id(value) == 0) {
            return;
        }

        entry_set(m, "role_id", json_incref(value));

        role = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_ROLE,
                                      ngx_guildlog_event_id(value));
        role = json_object_get(role, "name");

        if (json_is_string(role) && json_object_get(m->entry, "role") == NULL) {
            entry_set(m, "role", entry_text(m, role, 100));
        }

        return;
    }

    if (!json_is_array(value)) {
        entry_set(m, "role", entry_text(m, value, 100));
        return;
    }

    if (json_array_size(value) != 1) {
        m->ntold = 0;
        return;
    }

    role = json_array_get(value, 0);

    if (json_is_string(json_object_get(role, "name"))) {
        entry_set(m, "role", entry_text(m, json_object_get(role, "name"), 100));
    }

    if (ngx_guildlog_event_id_of(role, "id")) {
        entry_set(m, "role_id", json_incref(json_object_get(role, "id")));
    }
}


static void
entry_messages(ngx_guildlog_make_t *m, const ngx_guildlog_event_set_t *set)
{
    size_t       n;
    json_t      *list, *value, *item;
    ngx_uint_t   i;

    list = json_array();

    for (i = 0; i < NGX_GUILDLOG_EVENT_PATHS && set->paths[i]; i++) {
        value = ngx_guildlog_row_at(m, set->paths[i]);

        if (value == NULL || json_is_null(value)) {
            continue;
        }

        if (set->part) {
            if (ngx_guildlog_event_id(value)) {
                entry_append(m, list, json_pack("{sO}", "id", value));
            }

        } else if (json_is_object(value)) {
            entry_append(m, list, entry_message(m, value));

        } else {
            json_array_foreach(value, n, item) {
                entry_append(m, list, entry_message(m, item));
            }
        }
    }

    n = json_array_size(list);

    if (n == 0) {
        json_decref(list);
        return;
    }

    if (n > ENTRY_MESSAGES) {
        entry_set(m, "messagesTruncated", json_integer(n - ENTRY_MESSAGES));

        while (n > ENTRY_MESSAGES) {
            (void) json_array_remove(list, --n);
        }
    }

    entry_set(m, "messages", list);
}


/* as an entry has it; when it was said, its id tells */

static json_t *
entry_message(ngx_guildlog_make_t *m, json_t *doc)
{
    json_t   *id, *content, *author;
    int64_t   said;

    id = json_object_get(doc, "id");
    id = id ? id : json_object_get(m->event->d, "id");
    said = ngx_guildlog_event_id_ms(ngx_guildlog_event_id(id));
    author = ngx_guildlog_event_reach(doc, "author.id");
    content = m->event->what == NGX_GUILDLOG_EVENT_MESSAGE_UPDATE
              ? json_incref(json_object_get(doc, "content"))
              : ngx_guildlog_known_said(doc);

    return json_pack("{so* sO sO* so* sO*}", "content", content, "id", id,
                "authorId", author,
                "timestamp", author ? entry_made(m, json_integer(said)) : NULL,
                "attachments", json_object_get(doc, "files"));
}


static json_t *
entry_change(const char *key, json_t *old, json_t *now)
{
    return json_pack("{ss sO* sO*}", "key", key, "old_value", old,
                     "new_value", now);
}


/* those of the row, but for what another field tells of a thing that is new or
   gone */

static void
entry_changes(ngx_guildlog_make_t *m, const ngx_guildlog_event_set_t *set)
{
    size_t       i;
    json_t      *list, *change, *old, *now;
    ngx_uint_t   n, wanted;
    const char  *key;

    list = json_array();

    if (m->changes == NULL && m->mine && m->was) {
        old = ngx_guildlog_event_reach(m->was, m->row->when[0].value
                                               ? m->row->when[0].value
                                               : m->mine);
        now = ngx_guildlog_event_reach(m->event->d, m->mine);

        entry_append(m, list, entry_change(m->mine, old, now));
    }

    json_array_foreach(m->changes, i, change) {
        key = json_string_value(json_object_get(change, "key"));

        if (key == NULL || ngx_strlen(key) > 64
            || json_array_size(list) == ENTRY_CHANGES)
        {
            continue;
        }

        wanted = set->paths[0] == NULL;

        for (n = 0; n < NGX_GUILDLOG_EVENT_PATHS && set->paths[n]; n++) {
            wanted |= ngx_strcmp(set->paths[n], key) == 0;
        }

        if (!wanted
            || (m->mine ? ngx_strcmp(m->mine, key) != 0
                        : !ngx_guildlog_row_is_left(m, change)))
        {
            continue;
        }

        old = json_object_get(change, "old_value");
        now = json_object_get(change, "new_value");

        if (ngx_guildlog_row_has(m->told, m->ntold, key)
            && (!ngx_guildlog_row_given(old)
                || !ngx_guildlog_row_given(now)))
        {
            continue;
        }

        entry_append(m, list, entry_change(key, old, now));
    }

    if (json_array_size(list)) {
        entry_set(m, "changes", list);
    } else {
        json_decref(list);
    }
}


/* ids, or what has an id and a name */

static void
entry_roles(ngx_guildlog_make_t *m, const ngx_guildlog_event_set_t *set,
    json_t *ids)
{
    size_t   i;
    json_t  *list, *id, *role, *name;

    if (json_array_size(ids) == 0) {
        return;
    }

    list = json_array();

    json_array_foreach(ids, i, role) {
        if (i == ENTRY_ROLES) {
            break;
        }

        id = json_is_object(role) ? json_object_get(role, "id") : role;
        name = json_object_get(role, "name");

        if (ngx_guildlog_event_id(id) == 0) {
            continue;
        }

        if (name == NULL) {
            name = ngx_guildlog_row_known(m, NGX_GUILDLOG_KNOWN_ROLE,
                                          ngx_guildlog_event_id(id));
            name = json_object_get(name, "name");
        }

        entry_append(m, list, json_pack("{sO so*}", "id", id, "name",
                                      entry_text(m, name ? name : id, 100)));
    }

    entry_set(m, "changes", json_pack("[{ssso}]", "key", set->part,
                                      "new", list));
}


/* the last of its places is what changed */

static void
entry_image(ngx_guildlog_make_t *m, const char *path)
{
    size_t       key, len;
    u_char       name[64];
    json_t      *change, *old, *now;
    const char  *p;

    key = 0;

    for (p = path; *p; p++) {
        if (*p == '{') {
            key = p - path;
        }
    }

    len = ngx_strlen(path + key);
    (void) ngx_cpystrn(name, (u_char *) path + key + 1,
                       ngx_min(len - 1, sizeof(name)));

    if (m->changes) {
        change = ngx_guildlog_row_change(m, (char *) name);
        old = json_object_get(change, "old_value");
        now = json_object_get(change, "new_value");

    } else {
        old = ngx_guildlog_event_reach(m->was, (char *) name);
        now = ngx_guildlog_event_reach(m->event->d, (char *) name);
    }

    old = ngx_guildlog_row_given(old) ? entry_picture(m, path, key, old) : NULL;
    now = ngx_guildlog_row_given(now) ? entry_picture(m, path, key, now) : NULL;

    if (old || now) {
        entry_set(m, "image", json_pack("{so* so*}", "before", old,
                                        "after", now));
    }
}


/* what stands in braces is a path; the last one is the hash */

static json_t *
entry_picture(ngx_guildlog_make_t *m, const char *path, size_t key,
    json_t *hash)
{
    u_char       url[512], name[64], *dst, *last;
    size_t       len;
    json_t      *value;
    ngx_str_t    text;
    const char  *p, *end;

    last = url + sizeof(url);
    dst = ngx_cpymem(url, ENTRY_PICTURES, sizeof(ENTRY_PICTURES) - 1);

    for (p = path; *p; p++) {

        if (*p != '{') {
            dst = ngx_slprintf(dst, last, "%c", *p);
            continue;
        }

        end = ngx_strchr(p, '}');
        len = end - p - 1;
        (void) ngx_cpystrn(name, (u_char *) p + 1,
                           ngx_min(len + 1, sizeof(name)));

        value = ((size_t) (p - path) == key) ? hash
                : ngx_guildlog_event_reach(m->event->d, (char *) name);
        text = ngx_guildlog_json_text(value);

        dst = ngx_slprintf(dst, last, "%V", &text);
        p = end;
    }

    dst = ngx_slprintf(dst, last, ".png");

    return entry_made(m, json_stringn((char *) url, dst - url));
}


/* notes that there was no memory for it */

static json_t *
entry_made(ngx_guildlog_make_t *m, json_t *value)
{
    m->failed |= value == NULL;

    return value;
}


static void
entry_append(ngx_guildlog_make_t *m, json_t *list, json_t *value)
{
    m->failed |= json_array_append_new(list, value) != 0;
}


/* cut to so many characters */

static json_t *
entry_text(ngx_guildlog_make_t *m, json_t *value, ngx_uint_t most)
{
    char       *made;
    json_t     *text;
    ngx_str_t   s;

    if (json_is_string(value)) {
        s = ngx_guildlog_json_text(value);

        return entry_made(m, ngx_guildlog_known_text(&s, most));
    }

    made = json_dumps(value, JSON_COMPACT|JSON_ENCODE_ANY);
    s = ngx_guildlog_word(made ? made : "");
    text = made ? ngx_guildlog_known_text(&s, most) : NULL;
    free(made);

    return entry_made(m, text);
}


static ngx_int_t
entry_put(ngx_guildlog_make_t *m, ngx_guildlog_event_put_t *put)
{
    json_t     *entry, *executor;
    ngx_int_t   rc;

    entry_head(m);

    /* what a rule did the platform tells in the name of who broke it */

    executor = json_object_get(m->entry, "executor");

    if (m->kind->code >= ENTRY_RULES && m->kind->code <= ENTRY_RULES + 3
        && json_equal(executor, json_object_get(m->entry, "target")))
    {
        (void) json_object_del(m->entry, "executor");
    }

    entry = m->entry;
    m->entry = NULL;
    m->n++;

    rc = m->failed ? NGX_ERROR
                   : ngx_guildlog_event_put_entry(put, m->event, m->row->type,
                                                  entry);
    json_decref(entry);

    return rc;
}


/* what every entry has */

static void
entry_head(ngx_guildlog_make_t *m)
{
    u_char      *p, *last, id[ENTRY_ID];
    json_t      *d, *value;
    int64_t      moment;
    uint64_t     thing;

    d = m->event->d;
    p = id;
    last = id + sizeof(id);
    moment = entry_moment(m);
    thing = ngx_guildlog_event_id_of(d, "id");

    switch (m->event->what) {

    case NGX_GUILDLOG_EVENT_AUDIT:
        p = ngx_slprintf(p, last, "%uL", thing);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE:
        p = ngx_slprintf(p, last, "message.%uL", thing);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:
        p = ngx_slprintf(p, last, "edit.%uL.%L", thing, moment);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
        p = ngx_slprintf(p, last, "delete.%uL", thing);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:
        value = json_object_get(d, "ids");
        p = ngx_slprintf(p, last, "purge.%uL.%uz",
                         ngx_guildlog_event_id(json_array_get(value, 0)),
                         json_array_size(value));
        break;

    case NGX_GUILDLOG_EVENT_MEMBER_ADD:
        p = ngx_slprintf(p, last, "join.%uL.%L",
                         ngx_guildlog_event_id_of(d, "user.id"), moment);
        break;

    default:
        p = entry_head_other(m, p, last);
    }

    if (m->n) {
        p = ngx_slprintf(p, last, ".%ui", m->n);
    }

    entry_set(m, "server", json_sprintf("%llu",
                                   (unsigned long long) m->event->guild));
    entry_set(m, "bot", json_string(m->event->bot == NGX_GUILDLOG_BOT_PRO
                                    ? "pro" : "main"));
    entry_set(m, "event_id", json_stringn((char *) id, p - id));
    entry_set(m, "type", json_integer(m->row->type));
    entry_set(m, "timestamp", json_integer(moment));
}


/*
 * What changes what is known is told once; many packets may come in the same
 * ms.  Its moment is what its bot says: corrected for its clock, which each
 * batch does anew, two of them may have the same.  If its bot says none, it
 * has that of its batch, and its place there.  What changes nothing has no
 * moment of its own either: the same within some seconds is once, for two
 * bots hear it at about the same time.  But what a rule did to a message it
 * did once.  Ids of one moment are in the order of what they tell of a person:
 * so are the rows that wait.
 */

static u_char *
entry_head_other(ngx_guildlog_make_t *m, u_char *p, u_char *last)
{
    char     *text;
    json_t   *d, *user;
    int64_t   moment;

    d = m->event->d;
    user = json_object_get(d, "user_id");
    user = user ? user : ngx_guildlog_event_reach(d, "user.id");
    text = json_dumps(d, JSON_COMPACT|JSON_SORT_KEYS);

    if (text == NULL) {
        m->failed = 1;
        return p;
    }

    p = ngx_slprintf(p, last, "%08xD.%xL",
                     ngx_crc32_long(m->event->name.data, m->event->name.len),
                     ngx_guildlog_event_id(user));

    if (json_object_get(d, "rule_id") == NULL
        || (ngx_guildlog_event_id_of(d, "message_id") == 0
            && ngx_guildlog_event_id_of(d, "alert_system_message_id") == 0))
    {
        moment = m->was ? m->event->at + m->event->ahead
                        : m->event->at / NGX_GUILDLOG_EVENT_MOMENT;
        p = ngx_slprintf(p, last, ".%L", moment);
    }

    if (m->was && m->event->placed) {
        p = ngx_slprintf(p, last, "-%03ui", m->event->index);
    }

    p = ngx_slprintf(p, last, ".%08xD",
                     ngx_crc32_long((u_char *) text, ngx_strlen(text)));
    free(text);

    return p;
}


/* when it happened: the platform's own time, if it tells one */

static int64_t
entry_moment(ngx_guildlog_make_t *m)
{
    int64_t    at;
    json_t    *value;
    uint64_t   id;

    at = 0;

    switch (m->event->what) {

    case NGX_GUILDLOG_EVENT_AUDIT:
        at = m->event->made;
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:
        at = ngx_guildlog_event_time(json_object_get(m->event->d,
                                                     "edited_timestamp"));
        break;

    case NGX_GUILDLOG_EVENT_MEMBER_ADD:
        at = ngx_guildlog_event_time(json_object_get(m->event->d, "joined_at"));
        at = at > m->event->at - ENTRY_DAY ? at : 0;
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:

        /* not before it was said */

        value = json_object_get(m->event->d, "ids");
        value = value ? json_array_get(value, 0)
                      : json_object_get(m->event->d, "id");
        id = ngx_guildlog_event_id(value);
        at = ngx_guildlog_event_id_ms(id);
        at = ngx_max(m->event->at, at);
        break;

    default:
        break;
    }

    return at ? at : m->event->at;
}
