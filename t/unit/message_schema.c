
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_message.c, ngx_guildlog_message_body.c,
 * ngx_guildlog_message_text.c, ngx_guildlog_message_item.c,
 * ngx_guildlog_message_parts.c, ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * "Each log type, format and language, with hostile texts, is a message within
 * the limits that the platform publishes": t/unit/webhook.json has them, as a
 * JSON schema.
 */

#include "base/ngx_guildlog_json.h"
#include "log/ngx_guildlog_language.h"
#include "platform/ngx_guildlog_message.h"
#include "tap.h"

#include <regex.h>


#define SCHEMA   "t/unit/webhook.json"

#define FORMATS  4
#define ENTRIES  11
#define LARGE    (10 * 1024 * 1024)    /* bytes of a file, by the platform */
#define ID       "9223372036854775807"
#define HASH     "a_" ID ID "0123456789"


typedef const char *(*keyword_pt)(json_t *rule, json_t *value, json_t *schema);


typedef struct {
    const char  *name;
    keyword_pt   check;                /* NULL: it is no rule of its own */
} keyword_t;


static const char *holds(json_t *schema, json_t *value);
static const char *is_type(json_t *rule, json_t *value, json_t *schema);
static const char *has_properties(json_t *rule, json_t *value, json_t *schema);
static const char *has_no_other(json_t *rule, json_t *value, json_t *schema);
static const char *has_required(json_t *rule, json_t *value, json_t *schema);
static const char *has_items(json_t *rule, json_t *value, json_t *schema);
static const char *is_min(json_t *rule, json_t *value, json_t *schema);
static const char *is_max(json_t *rule, json_t *value, json_t *schema);
static const char *is_min_items(json_t *rule, json_t *value, json_t *schema);
static const char *is_max_items(json_t *rule, json_t *value, json_t *schema);
static const char *is_min_length(json_t *rule, json_t *value, json_t *schema);
static const char *is_max_length(json_t *rule, json_t *value, json_t *schema);
static const char *is_max_total(json_t *rule, json_t *value, json_t *schema);
static const char *is_visible(json_t *rule, json_t *value, json_t *schema);
static const char *is_const(json_t *rule, json_t *value, json_t *schema);
static const char *is_one_of(json_t *rule, json_t *value, json_t *schema);
static const char *is_any_of(json_t *rule, json_t *value, json_t *schema);
static const char *is_like(json_t *rule, json_t *value, json_t *schema);
static const char *is_ref(json_t *rule, json_t *value, json_t *schema);


static const keyword_t  keywords[] = {
    { "type", is_type },
    { "properties", has_properties },
    { "additionalProperties", has_no_other },
    { "required", has_required },
    { "items", has_items },
    { "minimum", is_min },
    { "maximum", is_max },
    { "minItems", is_min_items },
    { "maxItems", is_max_items },
    { "minLength", is_min_length },
    { "maxLength", is_max_length },
    { "maxTotal", is_max_total },
    { "visible", is_visible },
    { "const", is_const },
    { "enum", is_one_of },
    { "anyOf", is_any_of },
    { "pattern", is_like },
    { "$ref", is_ref },
    { "of", NULL },
    { "$defs", NULL },
    { "$comment", NULL }
};

#define KEYWORDS  (sizeof(keywords) / sizeof(keywords[0]))


static json_t  *root;


/* NULL, or what the platform would not take */

static const char *
holds(json_t *schema, json_t *value)
{
    json_t      *rule;
    ngx_uint_t   i;
    const char  *name, *why;

    json_object_foreach(schema, name, rule) {

        for (i = 0; i < KEYWORDS && strcmp(keywords[i].name, name); i++) {
            /* void */
        }

        if (i == KEYWORDS) {
            return "a keyword that nobody checks";
        }

        why = keywords[i].check ? keywords[i].check(rule, value, schema) : NULL;

        if (why) {
            return why;
        }
    }

    return NULL;
}


static const char *
is_type(json_t *rule, json_t *value, json_t *schema)
{
    const char  *type;

    type = json_string_value(rule);

    return (strcmp(type, "object") == 0 && json_is_object(value))
           || (strcmp(type, "array") == 0 && json_is_array(value))
           || (strcmp(type, "string") == 0 && json_is_string(value))
           || (strcmp(type, "integer") == 0 && json_is_integer(value))
           || (strcmp(type, "boolean") == 0 && json_is_boolean(value))
           ? NULL : type;
}


static const char *
has_properties(json_t *rule, json_t *value, json_t *schema)
{
    json_t      *one;
    const char  *name, *why;

    char         told[128];
    static char  place[128];

    json_object_foreach(rule, name, one) {

        if (json_object_get(value, name)) {
            why = holds(one, json_object_get(value, name));

            if (why) {
                snprintf(told, sizeof(told), "%s: %.90s", name, why);
                return strcpy(place, told);
            }
        }
    }

    return NULL;
}


static const char *
has_no_other(json_t *rule, json_t *value, json_t *schema)
{
    json_t      *one;
    const char  *name;

    json_object_foreach(value, name, one) {
        if (json_object_get(json_object_get(schema, "properties"), name)
            == NULL)
        {
            return "an unknown property";
        }
    }

    return NULL;
}


static const char *
has_required(json_t *rule, json_t *value, json_t *schema)
{
    size_t   i;
    json_t  *name;

    json_array_foreach(rule, i, name) {
        if (json_object_get(value, json_string_value(name)) == NULL) {
            return "a property is missing";
        }
    }

    return NULL;
}


static const char *
has_items(json_t *rule, json_t *value, json_t *schema)
{
    size_t       i;
    json_t      *item;
    const char  *why;

    json_array_foreach(value, i, item) {
        why = holds(rule, item);

        if (why) {
            return why;
        }
    }

    return NULL;
}


static const char *
is_min(json_t *rule, json_t *value, json_t *schema)
{
    return json_integer_value(value) < json_integer_value(rule) ? "too small"
                                                                : NULL;
}


static const char *
is_max(json_t *rule, json_t *value, json_t *schema)
{
    return json_integer_value(value) > json_integer_value(rule) ? "too large"
                                                                : NULL;
}


static const char *
is_min_items(json_t *rule, json_t *value, json_t *schema)
{
    return (json_int_t) json_array_size(value) < json_integer_value(rule)
           ? "too few items" : NULL;
}


static const char *
is_max_items(json_t *rule, json_t *value, json_t *schema)
{
    return (json_int_t) json_array_size(value) > json_integer_value(rule)
           ? "too many items" : NULL;
}


/* UTF-16 units: a code point of four bytes is two of them */

static json_int_t
units(json_t *value)
{
    json_int_t   n;
    const char  *p;

    n = 0;

    for (p = json_string_value(value); p && *p; p++) {
        n += ((*p & 0xc0) != 0x80) + ((u_char) *p >= 0xf0);
    }

    return n;
}


static const char *
is_min_length(json_t *rule, json_t *value, json_t *schema)
{
    return units(value) < json_integer_value(rule) ? "too short" : NULL;
}


static const char *
is_max_length(json_t *rule, json_t *value, json_t *schema)
{
    return units(value) > json_integer_value(rule) ? "too long" : NULL;
}


/* of all strings at any depth whose names are those of "of" */

static json_int_t
total(json_t *value, json_t *names)
{
    size_t       i, k;
    json_t      *one, *called;
    json_int_t   n;
    const char  *name;

    n = 0;

    json_array_foreach(value, i, one) {
        n += total(one, names);
    }

    json_object_foreach(value, name, one) {
        json_array_foreach(names, k, called) {
            if (strcmp(name, json_string_value(called)) == 0) {
                n += units(one);
            }
        }

        n += total(one, names);
    }

    return n;
}


static const char *
is_max_total(json_t *rule, json_t *value, json_t *schema)
{
    return total(value, json_object_get(schema, "of"))
           > json_integer_value(rule) ? "too long in all" : NULL;
}


/* the platform takes white space from the ends, and refuses what is empty */

static const char *
is_visible(json_t *rule, json_t *value, json_t *schema)
{
    const char  *p;

    p = json_string_value(value);

    return p && strspn(p, " \t\r\n") < strlen(p) ? NULL : "nothing to see";
}


static const char *
is_const(json_t *rule, json_t *value, json_t *schema)
{
    return json_equal(rule, value) ? NULL : "another value";
}


static const char *
is_one_of(json_t *rule, json_t *value, json_t *schema)
{
    size_t   i;
    json_t  *one;

    json_array_foreach(rule, i, one) {
        if (json_equal(one, value)) {
            return NULL;
        }
    }

    return "none of the values";
}


static const char *
is_any_of(json_t *rule, json_t *value, json_t *schema)
{
    size_t   i;
    json_t  *one;

    json_array_foreach(rule, i, one) {
        if (holds(one, value) == NULL) {
            return NULL;
        }
    }

    return "none of the forms";
}


static const char *
is_like(json_t *rule, json_t *value, json_t *schema)
{
    int      rc;
    regex_t  re;

    if (regcomp(&re, json_string_value(rule), REG_EXTENDED|REG_NOSUB) != 0) {
        return "a pattern that is none";
    }

    rc = regexec(&re, json_string_value(value), 0, NULL, 0);
    regfree(&re);

    return rc == 0 ? NULL : "another pattern";
}


static const char *
is_ref(json_t *rule, json_t *value, json_t *schema)
{
    return holds(json_object_get(json_object_get(root, "$defs"),
                                 strrchr(json_string_value(rule), '/') + 1),
                 value);
}


/* what the schema is for: each of these is refused */

static const struct {
    const char  *what;
    const char  *body;
} bad[] = {
    { "nothing", "{'allowed_mentions':{'parse':[]}}" },
    { "an empty text", "{'content':'','allowed_mentions':{'parse':[]}}" },
    { "white space", "{'content':' \\n','allowed_mentions':{'parse':[]}}" },
    { "mentions", "{'content':'a'}" },
    { "everyone", "{'content':'a','allowed_mentions':{'parse':['everyone']}}" },
    { "two roles", "{'content':'a','allowed_mentions':{'parse':[],"
                   "'roles':['1','2']}}" },
    { "a role and all others", "{'content':'a','allowed_mentions':{"
                               "'parse':['roles'],'roles':['1']}}" },
    { "a role, and who is answered", "{'content':'a','allowed_mentions':{"
                                     "'parse':[],'roles':['1'],"
                                     "'replied_user':true}}" },
    { "no embed", "{'embeds':[],'allowed_mentions':{'parse':[]}}" },
    { "an unknown flag",
      "{'content':'a','flags':1,'allowed_mentions':{'parse':[]}}" },
    { "an unknown property",
      "{'content':'a','nonce':'1','allowed_mentions':{'parse':[]}}" },
    { "a color", "{'embeds':[{'title':'a','color':16777216}],"
                 "'allowed_mentions':{'parse':[]}}" },
    { "a field without a value",
      "{'embeds':[{'fields':[{'name':'a'}]}],'allowed_mentions':{'parse':[]}}"
    },
    { "a time", "{'embeds':[{'timestamp':'12:00'}],"
                "'allowed_mentions':{'parse':[]}}" },
    { "a page that is none", "{'embeds':[{'url':'javascript:a'}],"
                             "'allowed_mentions':{'parse':[]}}" },
    { "a button without a page",
      "{'content':'a','components':[{'type':1,'components':[{'type':2,"
      "'style':5,'label':'a'}]}],'allowed_mentions':{'parse':[]}}" }
};

#define BAD  (sizeof(bad) / sizeof(bad[0]))


static json_t *
filled(const char *with, ngx_uint_t n)
{
    char        *text;
    json_t      *s;
    ngx_uint_t   i;

    text = malloc(n * strlen(with) + 1);
    text[0] = '\0';

    for (i = 0; i < n; i++) {
        strcpy(text + i * strlen(with), with);
    }

    s = json_string(text);
    free(text);

    return s;
}


static json_t *
around(const char *name, json_t *value)
{
    return json_pack("{s:o,s:{s:[]}}", name, value, "allowed_mentions",
                     "parse");
}


static json_t *
many(ngx_uint_t n, json_t *one)
{
    json_t  *all;

    all = json_array();

    while (n--) {
        json_array_append(all, one);
    }

    json_decref(one);

    return all;
}


/* one is taken, and one more is not */

static void
edge(const char *what, json_t *good, json_t *over)
{
    const char  *why;

    why = holds(root, good);
    tap_ok(why == NULL, "%s: %s", what, why ? why : "taken");
    tap_ok(holds(root, over) != NULL, "%s: one more is refused", what);

    json_decref(good);
    json_decref(over);
}


static void
test_edges(void)
{
    char        *p, *text;
    json_t      *body;
    ngx_uint_t   i;

    for (i = 0; i < BAD; i++) {
        text = strdup(bad[i].body);

        for (p = text; *p; p++) {
            *p = (*p == '\'') ? '"' : *p;
        }

        body = json_loads(text, 0, NULL);
        tap_ok(body && holds(root, body), "refused: %s", bad[i].what);

        json_decref(body);
        free(text);
    }

    edge("content", around("content", filled("a", 2000)),
         around("content", filled("a", 2001)));
    edge("units", around("content", filled("\xf0\x9f\x98\x80", 1000)),
         around("content", filled("\xf0\x9f\x98\x80", 1001)));

#define embeds(n, ...)  around("embeds", many(n, json_pack(__VA_ARGS__)))

    edge("embeds", embeds(10, "{s:s}", "title", "a"),
         embeds(11, "{s:s}", "title", "a"));
    edge("title", embeds(1, "{s:o}", "title", filled("a", 256)),
         embeds(1, "{s:o}", "title", filled("a", 257)));
    edge("description", embeds(1, "{s:o}", "description", filled("a", 4096)),
         embeds(1, "{s:o}", "description", filled("a", 4097)));
    edge("all embeds", embeds(2, "{s:o}", "description", filled("a", 3000)),
         embeds(2, "{s:o}", "description", filled("a", 3001)));
    edge("fields",
         embeds(1, "{s:o}", "fields",
                many(25, json_pack("{s:s,s:s}", "name", "a", "value", "b"))),
         embeds(1, "{s:o}", "fields",
                many(26, json_pack("{s:s,s:s}", "name", "a", "value", "b"))));
    edge("value",
         embeds(1, "{s:[{s:s,s:o}]}", "fields", "name", "a", "value",
                filled("a", 1024)),
         embeds(1, "{s:[{s:s,s:o}]}", "fields", "name", "a", "value",
                filled("a", 1025)));
}


/* texts that people write to break something */

static const char  *texts[] = {
    "W",
    "\xf0\x9f\x98\x80",
    "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d",
    "\xe2\x80\xae\xd7\x90\xd8\xa8 ",
    "\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf\xe2\x81\xa0",
    "a\xcc\x81\xcd\x82\xcc\xb6",
    "**_~~||`*",
    "```c\nint x;\n```",
    "`",
    "|| ",
    "@everyone <@" ID "> <@&" ID "> <#" ID "> <:ab:" ID "> <t:1:R> ",
    "[a](https://evil.example/) https://evil.example/?a=b&c ",
    "\n\n\n\n",
    "\t \xc2\xa0\xe3\x80\x80",
    "\\",
    "\"\x01\x1f\x7f\xe2\x80\xa8\xe2\x80\xa9\xef\xbf\xbf",
    "> # -# - 1. ",
    ""
};

#define TEXTS  (sizeof(texts) / sizeof(texts[0]))


static const char  *keys[] = {
    "name", "nick", "topic", "permissions", "allow", "$add", "$remove",
    "color", "owner_id", "channel_id", "communication_disabled_until",
    "rate_limit_per_user", "nsfw", "icon_hash", "verification_level",
    "trigger_metadata", "main_channel", "ignored_executors"
};

#define KEYS  (sizeof(keys) / sizeof(keys[0]))


static json_t *
text_of(ngx_uint_t kind, ngx_uint_t most)
{
    size_t       i, n;
    const char  *with;

    with = texts[kind % TEXTS];

    for (i = 0, n = 0; with[i]; i++) {
        n += (with[i] & 0xc0) != 0x80;
    }

    return filled(with, n ? most / n : 0);
}


static json_t *
roles(ngx_uint_t kind, ngx_uint_t n)
{
    return many(n, json_pack("{s:s,s:o}", "id", ID, "name",
                             text_of(kind, 100)));
}


/* one in six entries has as much as there may be */

static json_t *
changes(ngx_uint_t kind)
{
    json_t      *all, *old, *new;
    ngx_uint_t   i, most, n;
    const char  *key;

    all = json_array();
    most = kind % 6 ? 30 : 1024;
    n = kind % 6 ? 3 : 100;

    for (i = 0; i < 25; i++) {
        key = keys[(i + kind) % KEYS];
        old = i % 5 == 1 ? json_null() : i % 5 == 2 ? json_integer(INT64_MAX)
              : text_of(kind + i, most);
        new = key[0] == '$' ? roles(kind, n) : i % 5 == 3 ? json_false()
              : i % 5 == 4 ? json_string(ID) : text_of(kind, most);

        json_array_append_new(all, json_pack("{s:s,s:o,s:o}", "key", key,
                                             "old", old, "new", new));
    }

    return all;
}


static json_t *
messages(ngx_uint_t kind, ngx_uint_t n)
{
    return many(n, json_pack("{s:s,s:s,s:I,s:o,s:o}", "id", ID, "authorId", ID,
                             "timestamp", (json_int_t) 9007199254740991LL,
                             "content", text_of(kind, n > 2 ? 60 : 500),
                             "attachments",
                             many(n > 2 ? 1 : 3,
                                  json_pack("{s:o,s:I}", "name",
                                            text_of(kind, 60), "size",
                                            (json_int_t) INT64_MAX))));
}


/* as full as an entry may be; what is odd has no changes, to show the rest */

static json_t *
entry_of(ngx_uint_t type, ngx_uint_t kind)
{
    json_t       *e, *who;
    ngx_uint_t    i;

    static const struct {
        const char  *name;
        ngx_uint_t   most;
    } fields[] = {
        { "role", 100 }, { "name", 100 }, { "reason", 512 },
        { "content", 4000 }, { "contentAfter", 4000 }, { "action", 100 },
        { "value", 4000 }
    };

    e = json_pack("{s:s,s:i,s:I}", "id", ID, "type", (int) type, "timestamp",
                  kind % 3 ? (json_int_t) 1754000000123LL
                           : (json_int_t) 9007199254740991LL);

    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_object_set_new(e, fields[i].name,
                            text_of(kind + (kind % 4 ? 0 : i),
                                    fields[i].most));
    }

    who = json_pack("{s:s,s:o}", "id", kind % 2 ? ID : "0", "name",
                    text_of(kind, 100));
    json_object_set_new(e, "executor", who);
    json_object_set_new(e, "target", json_pack("{s:s,s:o,s:s}", "id", ID,
                                               "name", text_of(kind + 1, 100),
                                               "avatar", kind % 3 ? HASH
                                                         : "\"><@1>"));
    json_object_set(e, "channel", who);
    json_object_set(e, "emoji", who);

    json_object_set_new(e, "count", json_integer(INT64_MIN));
    json_object_set_new(e, "until", json_integer(9007199254740991LL));
    json_object_set_new(e, "role_id", json_string(ID));
    json_object_set_new(e, "messages", messages(kind, kind % 2 ? 2 : type == 3
                                                      || kind % 8 == 0 ? 100
                                                      : 3));
    json_object_set_new(e, "messagesTruncated", json_integer(INT64_MAX));

    if (kind % 2 == 0) {
        json_object_set_new(e, "changes", changes(kind));
    }

    who = filled("a", 490);
    json_object_set_new(e, "image",
                        json_pack("{s:s++,s:s++}",
                                  "before", "https://a.b/",
                                  json_string_value(who), ".png",
                                  "after", "https://a.b/",
                                  json_string_value(who), ".gif"));
    json_decref(who);

    return e;
}


/* the JSON of a message, and NULL; or what is wrong with its files */

static const char *
files_wrong(const ngx_guildlog_message_body_t *body, ngx_str_t *json)
{
    u_char      *p, *last, *end;
    ngx_uint_t   n;

    *json = body->text;

    if (body->type.len == strlen("application/json")) {
        return NULL;
    }

    last = body->text.data + body->text.len;
    p = memmem(body->text.data, body->text.len, "\r\n\r\n", 4);

    for (n = 0; p; n++) {
        p += 4;
        end = memmem(p, last - p, "\r\n--guildlog-", 13);

        if (end == NULL) {
            return "a part without an end";
        }

        if (n == 0) {
            json->data = p;
            json->len = end - p;

        } else if (end - p > LARGE) {
            return "a file is too large";
        }

        p = memmem(end, last - end, "\r\n\r\n", 4);
    }

    return n < 2 || n > 11 ? "the number of files" : NULL;
}


static const char *
wrong(ngx_pool_t *pool, ngx_guildlog_message_entry_t *e, ngx_uint_t n,
    ngx_uint_t *packed)
{
    json_t                       *body;
    ngx_str_t                     json;
    const char                   *why;
    ngx_guildlog_message_body_t   made;

    if (ngx_guildlog_message_build(pool, e, n, &made, packed) != NGX_OK) {
        return "refused by ourselves";
    }

    why = files_wrong(&made, &json);

    if (why) {
        return why;
    }

    body = json_loadb((char *) json.data, json.len, JSON_REJECT_DUPLICATES,
                      NULL);
    why = body ? holds(root, body) : "no JSON";
    json_decref(body);

    return why;
}


static void
conf_of(ngx_guildlog_message_conf_t *conf, ngx_uint_t format,
    ngx_uint_t locale, ngx_uint_t kind)
{
    static char                          page[401] = "https://a.b/";
    static ngx_guildlog_message_style_t  style;

    memset(page + strlen("https://a.b/"), 'p', 400 - strlen("https://a.b/"));
    style.support = tap_str(page);
    style.viewer = style.support;

    ngx_memzero(conf, sizeof(*conf));
    conf->style = &style;
    conf->format = format;
    conf->color = kind % 2 ? -1 : 0xffffff;
    conf->buttons = 7;
    conf->locale = locale;
    conf->guild = tap_str(ID);
    conf->spoilers = kind % 2;
    conf->pro = 1;
}


/* one format and language: all types, each with another kind of text */

static ngx_uint_t
test_all(ngx_uint_t format, ngx_uint_t locale)
{
    char                          *doc[NGX_GUILDLOG_TYPES];
    json_t                        *entry;
    ngx_uint_t                     type, kind, n, packed, messages;
    ngx_pool_t                    *pool;
    const char                    *why;
    ngx_guildlog_message_entry_t   e[NGX_GUILDLOG_TYPES];

    for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
        kind = type * 5 + locale * 7 + format;

        entry = entry_of(type, kind);
        doc[type] = json_dumps(entry, JSON_COMPACT);
        json_decref(entry);

        e[type].doc = tap_str(doc[type]);
        e[type].doc.len--;
        conf_of(&e[type].conf, format, locale, kind);
    }

    why = NULL;
    messages = 0;

    for (type = 0; type < NGX_GUILDLOG_TYPES && why == NULL; type += packed) {
        pool = tap_pool();
        n = ngx_min(NGX_GUILDLOG_TYPES - type, ENTRIES);
        packed = 1;
        why = wrong(pool, &e[type], n, &packed);
        ngx_destroy_pool(pool);
        messages++;

        if (why) {
            printf("# type %u, format %u, language %u: %s\n", (unsigned) type,
                   (unsigned) format, (unsigned) locale, why);
        }
    }

    for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
        free(doc[type]);
    }

    return why == NULL ? messages : 0;
}


int
main(int argc, char **argv)
{
    ngx_uint_t  format, locale, messages, failed, n;

    tap_start();

    root = json_load_file(SCHEMA, 0, NULL);

    if (root == NULL) {
        printf("Bail out! there is no " SCHEMA "\n");
        return 1;
    }

    test_edges();

    for (format = 0; format < FORMATS; format++) {
        messages = 0;
        failed = 0;

        for (locale = 0; locale < NGX_GUILDLOG_LOCALES; locale++) {
            n = test_all(format, locale);
            messages += n;
            failed += (n == 0);
        }

        tap_ok(failed == 0, "format %u: each of %u messages is taken",
               (unsigned) format, (unsigned) messages);
    }

    json_decref(root);

    return tap_done();
}
