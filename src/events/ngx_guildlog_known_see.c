
/*
 * What packets teach: who and what is there, and what it was like.
 */

#include "api/ngx_guildlog_value.h"
#include "events/ngx_guildlog_known.h"


#define SEE_TYPE   32767    /* the highest of a channel, a smallint */
#define SEE_COLOR  0xffffff


/* takes an element of an array; NGX_ERROR: memory */
typedef ngx_int_t (*see_pt)(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *item);

typedef struct {
    const char                    *name;
    see_pt                         see;
} see_part_t;


static ngx_int_t see_parts(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_uint_t most);
static ngx_int_t see_one(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);
static ngx_int_t see_audit(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);
static ngx_int_t see_guild(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);
static ngx_int_t see_channel(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *channel);
static ngx_int_t see_role(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *role);
static ngx_int_t see_thing(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *thing);
static ngx_int_t see_member(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *member);
static ngx_int_t see_who(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *member, json_t *user);
static json_t *see_was(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_guildlog_known_kind_e kind, uint64_t id);
static json_t *see_named(json_t *user, json_t *was);
static ngx_int_t see_left(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *user);
static ngx_int_t see_people(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);
static ngx_int_t see_voice(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *state);
static ngx_int_t see_user(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, json_t *user);
static ngx_int_t see_message(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);
static ngx_int_t see_copy(json_t *to, const char *name, json_t *from,
    const char *key);
static ngx_int_t see_number(json_t *to, json_t *from, const char *key,
    json_int_t most);
static ngx_int_t see_since(json_t *doc, ngx_guildlog_event_t *event);
static ngx_int_t see_put(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_guildlog_known_kind_e kind, uint64_t id,
    json_t *doc, ngx_int_t rc);


/* of a packet: roles before members, channels before the threads in them */

static const see_part_t  see_lists[] = {
    { "roles", see_role },
    { "channels", see_channel },
    { "threads", see_channel },
    { "members", see_member },
    { "voice_states", see_voice },
    { "guild_scheduled_events", see_thing },
    { "stickers", see_thing },
    { "emojis", see_thing },
    { "soundboard_sounds", see_thing },
    { "stage_instances", see_thing },
    { NULL, NULL }
};

/* of the guild itself */

static const char *const  see_guild_fields[] = {
    "id", "name", "owner_id", "icon", "member_count", "premium_tier",
    "premium_subscription_count", NULL
};

static const char *const  see_voice_fields[] = {
    "channel_id", "self_stream", "self_video", "suppress",
    "request_to_speak_timestamp", NULL
};


ngx_int_t
ngx_guildlog_known_needs(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event)
{
    json_t      *d;
    size_t       i;
    json_t      *id, *member;
    uint64_t     guild, user, author;
    ngx_int_t    rc;

    guild = event->guild;
    d = event->d;
    member = json_object_get(d, "member");

    user = ngx_guildlog_event_id_of(d, "user.id");
    author = json_object_get(d, "webhook_id") ? 0
             : ngx_guildlog_event_id_of(d, "author.id");

    rc = ngx_guildlog_known_need(known, guild, NGX_GUILDLOG_KNOWN_SERVER,
                                 guild);

#define need(kind, id)                                                        \
    rc |= ngx_guildlog_known_need(known, guild, NGX_GUILDLOG_KNOWN_##kind, id)

    need(MEMBER, user);
    need(MEMBER, author);
    need(MEMBER, ngx_guildlog_event_id_of(d, "member.user.id"));

    /* see_who() is to know who has gone, and puts what such a member is */

    if (json_is_string(json_object_get(member, "avatar"))
        || json_is_string(json_object_get(member, "premium_since")))
    {
        need(PERSON, author);
        need(PERSON, ngx_guildlog_event_id_of(d, "member.user.id"));
    }

    switch (event->what) {

    case NGX_GUILDLOG_EVENT_GUILD:
    case NGX_GUILDLOG_EVENT_GUILD_UPDATE:
        need(GUILD, guild);
        break;

    case NGX_GUILDLOG_EVENT_MEMBER_REMOVE:
        need(ROLES, user);
        /* fall through */

    case NGX_GUILDLOG_EVENT_MEMBER_ADD:
    case NGX_GUILDLOG_EVENT_MEMBER:
    case NGX_GUILDLOG_EVENT_BAN:
        need(GUILD, guild);
        need(PERSON, user);
        need(WAITS, user);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE:
    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:
    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
        need(MESSAGE, ngx_guildlog_event_id_of(d, "id"));
        break;

    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:
        json_array_foreach(json_object_get(d, "ids"), i, id) {
            need(MESSAGE, ngx_guildlog_event_id(id));
        }

        break;

    case NGX_GUILDLOG_EVENT_VOICE:
        user = ngx_guildlog_event_id_of(d, "user_id");
        need(VOICE, user);
        need(PLACE, user);
        need(WAITS, user);
        break;

    case NGX_GUILDLOG_EVENT_AUDIT:
        need(THING, ngx_guildlog_event_id_of(d, "target_id"));
        need(PLACE, ngx_guildlog_event_id_of(d, "target_id"));
        break;

    default:
        break;
    }

#undef need

    return rc;
}


ngx_int_t
ngx_guildlog_known_see(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_uint_t most)
{
    ngx_int_t  rc;

    if (event->guild == 0 || !json_is_object(event->d)) {
        return NGX_OK;
    }

    if (!event->done) {
        event->done = 1;
        event->part = 0;
        event->nth = 0;

        rc = see_one(known, event);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    if (event->what == NGX_GUILDLOG_EVENT_LISTS
        || (event->what == NGX_GUILDLOG_EVENT_GUILD
            && !json_is_true(json_object_get(event->d, "unavailable"))))
    {
        return see_parts(known, event, most);
    }

    return NGX_OK;
}


static ngx_int_t
see_parts(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    ngx_uint_t most)
{
    json_t            *item;
    ngx_int_t          rc;
    const see_part_t  *list;

    for ( ;; ) {
        list = &see_lists[event->part];

        if (list->name == NULL) {
            return NGX_OK;
        }

        if (most-- == 0) {
            return NGX_AGAIN;
        }

        if (ngx_guildlog_event_next_of(event, list->name, &event->nth, &item)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (item == NULL) {
            event->part++;
            event->nth = 0;
            continue;
        }

        rc = list->see(known, event, item);
        json_decref(item);

        if (rc != NGX_OK) {
            return rc;
        }
    }
}


/* the packet itself */

static ngx_int_t
see_one(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event)
{
    size_t      i;
    json_t     *d, *id;
    uint64_t    guild;
    ngx_int_t   rc;

    d = event->d;
    guild = event->guild;
    rc = NGX_OK;

    switch (event->what) {

    case NGX_GUILDLOG_EVENT_AUDIT:
        rc = see_audit(known, event);
        break;

    case NGX_GUILDLOG_EVENT_GUILD:
    case NGX_GUILDLOG_EVENT_GUILD_UPDATE:
        return see_guild(known, event);

    case NGX_GUILDLOG_EVENT_MEMBER_ADD:
    case NGX_GUILDLOG_EVENT_MEMBER:
        return see_member(known, event, d);

    case NGX_GUILDLOG_EVENT_MEMBER_REMOVE:
        return see_left(known, event, json_object_get(d, "user"));

    case NGX_GUILDLOG_EVENT_CHANNEL:
        return see_channel(known, event, d);

    case NGX_GUILDLOG_EVENT_CHANNEL_DELETE:
        return ngx_guildlog_known_drop(known, guild, NGX_GUILDLOG_KNOWN_CHANNEL,
                             ngx_guildlog_event_id_of(d, "id"));

    case NGX_GUILDLOG_EVENT_ROLE:
        return see_role(known, event, json_object_get(d, "role"));

    case NGX_GUILDLOG_EVENT_ROLE_DELETE:
        return ngx_guildlog_known_drop(known, guild, NGX_GUILDLOG_KNOWN_ROLE,
                        ngx_guildlog_event_id_of(d, "role_id"));

    case NGX_GUILDLOG_EVENT_MESSAGE:
    case NGX_GUILDLOG_EVENT_MESSAGE_UPDATE:
        rc = see_message(known, event);
        break;

    case NGX_GUILDLOG_EVENT_MESSAGE_DELETE:
        return ngx_guildlog_known_drop(known, guild, NGX_GUILDLOG_KNOWN_MESSAGE,
                             ngx_guildlog_event_id_of(d, "id"));

    case NGX_GUILDLOG_EVENT_MESSAGES_DELETE:
        json_array_foreach(json_object_get(d, "ids"), i, id) {
            if (ngx_guildlog_known_drop(known, guild,
                                        NGX_GUILDLOG_KNOWN_MESSAGE,
                                        ngx_guildlog_event_id(id))
                != NGX_OK)
            {
                return NGX_ERROR;
            }
        }

        return NGX_OK;

    case NGX_GUILDLOG_EVENT_VOICE:
        rc = see_voice(known, event, d);
        break;

    case NGX_GUILDLOG_EVENT_THING:
        rc = see_thing(known, event, d);
        break;

    case NGX_GUILDLOG_EVENT_THING_DELETE:
        return ngx_guildlog_known_drop(known, guild, NGX_GUILDLOG_KNOWN_THING,
                             ngx_guildlog_event_id_of(d, "id"));

    default:
        break;
    }

    return rc == NGX_OK ? see_people(known, event) : rc;
}


static json_t *
see_was(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    ngx_guildlog_known_kind_e kind, uint64_t id)
{
    return ngx_guildlog_known_get(known, event->guild, kind, id);
}


/*
 * What the directory calls somebody, with the picture that was known if the
 * user does not tell any; NULL: memory.
 */

static json_t *
see_named(json_t *user, json_t *was)
{
    json_t     *doc, *avatar;
    ngx_int_t   rc;
    ngx_str_t   hash;

    doc = json_object();
    rc = see_copy(doc, "name", user, "username");

    if (json_is_true(json_object_get(user, "bot"))) {
        rc |= see_copy(doc, "bot", user, "bot");
    }

    avatar = json_object_get(user, "avatar");
    hash = ngx_guildlog_json_text(avatar);

    if (!json_is_null(avatar) && !ngx_guildlog_value_is_hash(&hash)) {
        avatar = json_object_get(was, "avatar");
    }

    if (avatar) {
        rc |= json_object_set(doc, "avatar", avatar);
    }

    if (rc != NGX_OK) {
        json_decref(doc);
        return NULL;
    }

    return doc;
}


/* who has left keeps a name, for entries about them, and no roles */

static ngx_int_t
see_left(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event, json_t *user)
{
    json_t     *doc, *was;
    uint64_t    id;
    ngx_int_t   rc;

    id = ngx_guildlog_event_id_of(user, "id");

    if (id == 0
        || ngx_guildlog_known_is_old(known, event, NGX_GUILDLOG_KNOWN_PERSON,
                                     id))
    {
        return NGX_OK;
    }

    doc = see_named(user, see_was(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id));
    rc = json_object_set_new(doc, "roles", json_array());
    rc = see_put(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id, doc, rc);

    if (rc != NGX_OK) {
        return rc;
    }

    was = see_was(known, event, NGX_GUILDLOG_KNOWN_PERSON, id);
    doc = json_pack("{sb}", "gone", 1);
    rc = see_copy(doc, "joined", was, "joined");

    return see_put(known, event, NGX_GUILDLOG_KNOWN_PERSON, id, doc,
                   rc | see_since(doc, event));
}


/* whoever is named in it, but for webhooks; a message has its author's roles */

static ngx_int_t
see_people(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event)
{
    size_t       i;
    json_t      *d, *member, *user, *one;

    static const char *const  names[] = {
        "user", "inviter", "creator"
    };

    d = event->d;
    member = json_object_get(d, "member");
    user = json_object_get(d, "author");

    if (json_object_get(d, "webhook_id")) {
        return NGX_OK;
    }

    if (json_object_get(member, "user")) {
        user = json_object_get(member, "user");
    }

    if (user && member) {
        if (see_who(known, event, member, user) != NGX_OK) {
            return NGX_ERROR;
        }

    } else if (see_user(known, event, user) != NGX_OK) {
        return NGX_ERROR;
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (see_user(known, event, json_object_get(d, names[i])) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    json_array_foreach(json_object_get(d, "added_members"), i, one) {
        if (see_user(known, event,
                     ngx_guildlog_event_reach(one, "member.user"))
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* what the audit log calls a thing that is new, or has another name */

static ngx_int_t
see_audit(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event)
{
    size_t       i;
    json_t      *thing, *was, *change, *value;
    uint64_t     id;
    ngx_str_t    key;

    id = ngx_guildlog_event_id_of(event->d, "target_id");
    was = see_was(known, event, NGX_GUILDLOG_KNOWN_THING, id);
    thing = was ? json_copy(was) : json_object();

    if (thing == NULL) {
        return NGX_ERROR;
    }

    json_array_foreach(json_object_get(event->d, "changes"), i, change) {
        key = ngx_guildlog_json_text(json_object_get(change, "key"));
        value = json_object_get(change, "new_value");

        if (value == NULL || json_is_null(value)) {
            continue;
        }

        if ((key.len == 4 && ngx_strncmp(key.data, "name", 4) == 0)
            || (key.len == 4 && ngx_strncmp(key.data, "type", 4) == 0)
            || (key.len == 10 && ngx_strncmp(key.data, "channel_id", 10) == 0))
        {
            if (json_object_set(thing, (char *) key.data, value) != 0) {
                json_decref(thing);
                return NGX_ERROR;
            }
        }
    }

    if (json_object_get(thing, "name") == NULL) {
        json_decref(thing);
        return NGX_OK;
    }

    return ngx_guildlog_known_put(known, event->guild, NGX_GUILDLOG_KNOWN_THING,
                                  id, thing);
}


static ngx_int_t
see_guild(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event)
{
    json_t      *doc, *was;
    ngx_int_t    rc;
    ngx_uint_t   i;

    if (json_is_true(json_object_get(event->d, "unavailable"))) {
        return NGX_OK;
    }

    if (event->what == NGX_GUILDLOG_EVENT_GUILD
        && ngx_guildlog_known_clear(known, event->guild, event->at) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_guildlog_known_is_old(known, event, NGX_GUILDLOG_KNOWN_GUILD,
                                  event->guild))
    {
        return NGX_OK;
    }

    was = see_was(known, event, NGX_GUILDLOG_KNOWN_GUILD, event->guild);
    doc = was ? json_copy(was) : json_object();

    rc = NGX_OK;

    for (i = 0; see_guild_fields[i]; i++) {
        rc |= see_copy(doc, see_guild_fields[i], event->d,
                       see_guild_fields[i]);
    }

    rc |= see_copy(doc, "incidents", event->d, "incidents_data");

    if (was == NULL || !json_equal(was, doc)) {
        rc |= see_since(doc, event);
    }

    return see_put(known, event, NGX_GUILDLOG_KNOWN_GUILD, event->guild, doc,
                   rc);
}


static ngx_int_t
see_channel(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    json_t *channel)
{
    json_t     *doc, *parent;
    ngx_int_t   rc;

    doc = json_object();
    rc = see_copy(doc, "name", channel, "name");

    rc |= see_number(doc, channel, "type", SEE_TYPE);
    rc |= see_number(doc, channel, "position", NGX_MAX_INT32_VALUE);

    parent = json_object_get(channel, "parent_id");

    if (ngx_guildlog_event_id(parent) || json_is_null(parent)) {
        rc |= json_object_set(doc, "parent", parent);
    }

    return see_put(known, event, NGX_GUILDLOG_KNOWN_CHANNEL,
                   ngx_guildlog_event_id_of(channel, "id"), doc, rc);
}


static ngx_int_t
see_role(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event, json_t *role)
{
    json_t     *doc;
    ngx_int_t   rc;

    doc = json_object();
    rc = see_copy(doc, "name", role, "name");
    rc |= see_number(doc, role, "color", SEE_COLOR);
    rc |= see_number(doc, role, "position", NGX_MAX_INT32_VALUE);

    return see_put(known, event, NGX_GUILDLOG_KNOWN_ROLE,
                   ngx_guildlog_event_id_of(role, "id"), doc, rc);
}


/* an integration has a bot, a stage a topic, a sound an id of its own name */

static ngx_int_t
see_thing(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    json_t *thing)
{
    json_t     *doc, *id;
    ngx_int_t   rc;

    id = json_object_get(thing, "id");
    id = id ? id : json_object_get(thing, "sound_id");

    doc = json_object();

    rc = see_copy(doc, "name", thing, "topic");
    rc |= see_copy(doc, "name", thing, "name");
    rc |= see_copy(doc, "type", thing, "type");
    rc |= see_copy(doc, "channel_id", thing, "channel_id");
    rc |= see_copy(doc, "bot",
                   ngx_guildlog_event_reach(thing, "application.bot"), "id");

    return see_put(known, event, NGX_GUILDLOG_KNOWN_THING,
                   ngx_guildlog_event_id(id), doc, rc);
}


static ngx_int_t
see_member(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    json_t *member)
{
    return see_who(known, event, member, json_object_get(member, "user"));
}


/*
 * What a member is called is the directory's.  What it was like is kept of
 * those who have something to lose, and of those of whom a change was heard.
 */

static ngx_int_t
see_who(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    json_t *member, json_t *user)
{
    json_t     *doc, *was;
    int64_t     joined, before;
    uint64_t    id;
    ngx_int_t   rc;

    id = ngx_guildlog_event_id_of(user, "id");

    if (id == 0
        || ngx_guildlog_known_is_old(known, event, NGX_GUILDLOG_KNOWN_PERSON,
                                     id))
    {
        return NGX_OK;
    }

    doc = see_named(user, see_was(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id));
    rc = NGX_OK;

    if (json_is_array(json_object_get(member, "roles"))) {
        rc = json_object_set_new(doc, "roles",
                 ngx_guildlog_event_ids(json_object_get(member, "roles"),
                                        NGX_GUILDLOG_EVENT_ROLES));
    }

    rc = see_put(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id, doc, rc);

    if (rc != NGX_OK) {
        return rc;
    }

    doc = json_object();

    rc = see_copy(doc, "avatar", member, "avatar");
    rc |= see_copy(doc, "premium_since", member, "premium_since");

    if (rc != NGX_OK) {
        json_decref(doc);
        return NGX_ERROR;
    }

    if (json_object_size(doc) == 0
        && event->what != NGX_GUILDLOG_EVENT_MEMBER
        && event->what != NGX_GUILDLOG_EVENT_MEMBER_ADD)
    {
        json_decref(doc);
        return NGX_OK;
    }

    was = see_was(known, event, NGX_GUILDLOG_KNOWN_PERSON, id);

    joined = ngx_guildlog_event_time(json_object_get(member, "joined_at"));
    before = json_integer_value(json_object_get(was, "joined"));
    joined = ngx_max(joined, before);

    if (joined) {
        rc |= json_object_set_new(doc, "joined", json_integer(joined));
    }

    /* since when it has been so */

    rc |= see_copy(doc, "at", was, "at");
    rc |= see_copy(doc, "ahead", was, "ahead");

    if (was && json_equal(was, doc)) {
        json_decref(doc);
        return rc;
    }

    rc |= see_since(doc, event);

    return see_put(known, event, NGX_GUILDLOG_KNOWN_PERSON, id, doc, rc);
}


/* who is known comes once more, and nobody leaves twice: see
   ngx_guildlog_row_is_old() */

ngx_int_t
ngx_guildlog_known_count(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event)
{
    json_t     *guild, *count, *doc, *was;
    uint64_t    who;
    ngx_int_t   more, rc;

    who = ngx_guildlog_event_id_of(event->d, "user.id");
    was = see_was(known, event, NGX_GUILDLOG_KNOWN_PERSON, who);

    if (event->what == NGX_GUILDLOG_EVENT_MEMBER_REMOVE) {
        more = -1;

    } else if (event->what == NGX_GUILDLOG_EVENT_MEMBER_ADD
               && (was == NULL || json_object_get(was, "gone"))
               && !ngx_guildlog_known_is_old(known, event,
                                             NGX_GUILDLOG_KNOWN_PERSON, who))
    {
        more = 1;

    } else {
        return NGX_OK;
    }

    guild = see_was(known, event, NGX_GUILDLOG_KNOWN_GUILD, event->guild);
    count = json_object_get(guild, "member_count");

    if (count == NULL) {
        return NGX_OK;
    }

    doc = json_copy(guild);
    rc = json_object_set_new(doc, "member_count",
                             json_integer(json_integer_value(count) + more));

    return see_put(known, event, NGX_GUILDLOG_KNOWN_GUILD, event->guild, doc,
                   rc);
}


static ngx_int_t
see_voice(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    json_t *state)
{
    json_t      *doc;
    uint64_t     id;
    ngx_int_t    rc;
    ngx_uint_t   i, is_in;

    id = ngx_guildlog_event_id_of(state, "user_id");

    if (ngx_guildlog_known_is_old(known, event, NGX_GUILDLOG_KNOWN_VOICE, id)) {
        return NGX_OK;
    }

    doc = json_object();
    rc = NGX_OK;
    is_in = ngx_guildlog_event_id_of(state, "channel_id") != 0;

    for (i = 0; is_in && see_voice_fields[i]; i++) {
        if (!json_is_false(json_object_get(state, see_voice_fields[i]))) {
            rc |= see_copy(doc, see_voice_fields[i], state,
                           see_voice_fields[i]);
        }
    }

    rc |= see_since(doc, event);

    return see_put(known, event, NGX_GUILDLOG_KNOWN_VOICE, id, doc, rc);
}


/* gives a name to who has none, or another one, or another picture */

static ngx_int_t
see_user(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event, json_t *user)
{
    json_t     *doc, *was, *name;
    uint64_t    id;
    ngx_int_t   rc;

    id = ngx_guildlog_event_id_of(user, "id");
    name = json_object_get(user, "username");

    if (id == 0 || !json_is_string(name)) {
        return NGX_OK;
    }

    was = see_was(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id);

    doc = see_named(user, was);
    rc = was ? json_object_update_missing(doc, was) : NGX_OK;

    return see_put(known, event, NGX_GUILDLOG_KNOWN_MEMBER, id, doc, rc);
}


/* what was deleted is not said again, what was edited since is not unsaid */

static ngx_int_t
see_message(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event)
{
    json_t    *doc, *was;
    int64_t    edited, before;
    uint64_t   id;

    id = ngx_guildlog_event_id_of(event->d, "id");

    if (ngx_guildlog_known_is_gone(known, event->guild, id)) {
        return NGX_OK;
    }

    was = see_was(known, event, NGX_GUILDLOG_KNOWN_MESSAGE, id);

    edited = ngx_guildlog_event_time(json_object_get(event->d,
                                                     "edited_timestamp"));
    before = json_integer_value(json_object_get(was, "edited"));

    if (was && (edited < before
                || event->what == NGX_GUILDLOG_EVENT_MESSAGE))
    {
        return NGX_OK;
    }

    if (was == NULL && json_object_get(event->d, "author") == NULL) {
        return NGX_OK;
    }

    doc = ngx_guildlog_known_message(event->d, was);

    return ngx_guildlog_known_put(known, event->guild,
                                  NGX_GUILDLOG_KNOWN_MESSAGE, id, doc);
}


/* what is null is not there */

static ngx_int_t
see_copy(json_t *to, const char *name, json_t *from, const char *key)
{
    json_t  *value;

    if (to == NULL) {
        return NGX_ERROR;
    }

    value = json_object_get(from, key);

    if (value == NULL) {
        return NGX_OK;
    }

    if (json_is_null(value)) {
        (void) json_object_del(to, name);
        return NGX_OK;
    }

    return json_object_set(to, name, value) == 0 ? NGX_OK : NGX_ERROR;
}


/* a number that the database takes */

static ngx_int_t
see_number(json_t *to, json_t *from, const char *key, json_int_t most)
{
    json_t  *value;

    value = json_object_get(from, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0
        || json_integer_value(value) > most)
    {
        return NGX_OK;
    }

    return see_copy(to, key, from, key);
}


/* since when it has been so, and by what clock */

static ngx_int_t
see_since(json_t *doc, ngx_guildlog_event_t *event)
{
    return json_object_set_new(doc, "at", json_integer(event->at))
           | json_object_set_new(doc, "ahead", json_integer(event->ahead));
}


/* the end of all these: what could not be made whole is not put */

static ngx_int_t
see_put(ngx_guildlog_known_t *known, ngx_guildlog_event_t *event,
    ngx_guildlog_known_kind_e kind, uint64_t id, json_t *doc, ngx_int_t rc)
{
    if (rc != NGX_OK) {
        json_decref(doc);
        return NGX_ERROR;
    }

    return ngx_guildlog_known_put(known, event->guild, kind, id, doc);
}
