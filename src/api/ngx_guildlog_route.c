
/*
 * The endpoints, and the rules of what comes with them.
 */

#include "api/ngx_guildlog_route.h"


#define REQUIRED  NGX_GUILDLOG_REQUIRED
#define NULLABLE  NGX_GUILDLOG_NULLABLE

#define LAST_TYPE  (NGX_GUILDLOG_TYPES - 1)

#define field       static const ngx_guildlog_field_t
#define last        { .name = ngx_null_string }
#define name_of(s)  .name = ngx_string(s)

#define boolean(s, f)                                                         \
    { name_of(s), .type = NGX_GUILDLOG_BOOL, .flags = f }
#define integer(s, f, lo, hi)                                                 \
    { name_of(s), .type = NGX_GUILDLOG_INT, .flags = f, .min = lo, .max = hi }
#define text(s, f, lo, hi)                                                    \
    { name_of(s), .type = NGX_GUILDLOG_TEXT, .flags = f, .min = lo, .max = hi }
#define url(s, f, lo, hi)                                                     \
    { name_of(s), .type = NGX_GUILDLOG_URL, .flags = f, .min = lo, .max = hi }
#define hash(s, f)                                                            \
    { name_of(s), .type = NGX_GUILDLOG_HASH, .flags = f }
#define id(s, f, lo)                                                          \
    { name_of(s), .type = NGX_GUILDLOG_ID, .flags = f, .min = lo }
#define one_of(s, f, v)                                                       \
    { name_of(s), .type = NGX_GUILDLOG_ENUM, .flags = f, .values = v }
#define list(s, f, lo, hi, i)                                                 \
    { name_of(s), .type = NGX_GUILDLOG_LIST, .flags = f, .min = lo,           \
      .max = hi, .item = i }
#define object(s, f, lo, i)                                                   \
    { name_of(s), .type = NGX_GUILDLOG_OBJECT, .flags = f, .min = lo,         \
      .item = i }
#define items(s, i)                                                           \
    { name_of(s), .type = NGX_GUILDLOG_ITEMS, .item = i }
#define integer_or(s, lo, hi, d)                                              \
    { name_of(s), .type = NGX_GUILDLOG_INT, .min = lo, .max = hi,             \
      .fallback = d }
#define one_of_or(s, v, d)                                                    \
    { name_of(s), .type = NGX_GUILDLOG_ENUM, .values = v, .fallback = d }


static const char  *route_bots[] = { "pro", NULL };
static const char  *route_both_bots[] = { "main", "pro", NULL };
static const char  *route_plans[] = { "free", "pro_lite", "pro", NULL };
static const char  *route_levels[] = { "manage", "view", NULL };
static const char  *route_actions[] = { "mask", "drop", NULL };
static const char  *route_subjects[] = {
    "server", "executor", "target", "channel", NULL
};

static const char  *route_methods[] = {
    "POST", "PUT", "PATCH", "DELETE", NULL
};

static const char  *route_buttons[] = {
    "userID", "supportServer", "customise", NULL
};

#define LOCALES                                                               \
    "en-US", "en-GB", "tr", "vi", "en-PR", "pl", "nl", "es-ES", "it", "de",   \
    "fr", "ru", "el", "zh_Hant", "ko", "sl", "ar", "hu", "ja"

static const char  *route_locales[] = { LOCALES, NULL };

/* of the summaries in an export */
static const char  *route_languages[] = { LOCALES, "en", NULL };

static const char  *route_categories[] = {
    "categoryMembers", "categoryText", "categoryVoice", "categoryServer",
    "categoryRoles", "categoryChannels", "categoryService",
    "categoryActions", "categoryModlog", NULL
};

/* the fields of the log channels; and categories by either name */

#define CATEGORY_COLUMNS                                                      \
    "category_modlog", "category_members", "category_actions",                \
    "category_text", "category_voice", "category_files", "category_server",   \
    "category_roles", "category_channels", "category_service"

static const char  *route_columns[] = {
    "main_channel", CATEGORY_COLUMNS, NULL
};

static const char  *route_places[] = {
    "main_channel", CATEGORY_COLUMNS, "categoryMembers", "categoryText",
    "categoryVoice", "categoryServer", "categoryRoles", "categoryChannels",
    "categoryService", "categoryActions", "categoryModlog", NULL
};

/* the form of an export, and of its ids */
static const char  *route_formats[] = { "csv", "ndjson", NULL };
static const char  *route_ids[] = { "text", NULL };

static const char  *route_sides[] = { "executor", "target", "either", NULL };

/* why an entry is not delivered */
static const char  *route_reasons[] = {
    "queued", "held", "retrying", "in_flight", "unconfirmed", "off",
    "no_channel", "webhook_404", "forbidden", "channel_gone",
    "foreign_channel", "rejected", "expired", NULL
};

static const char  *route_filters[] = {
    "invites", "links", "emails", "phones", "addresses", "secrets", "cards",
    "words", NULL
};


field  route_nothing[] = { last };

const ngx_guildlog_field_t  ngx_guildlog_route_bot[] = {
    one_of("bot", 0, route_bots),
    last
};


/* pieces of paths */

field  route_an_id[] = { id("id", 0, 1), last };
field  route_a_name[] = { text("id", 0, 1, 64), last };
field  route_log_id[] = { integer("log_id", 0, 0, LAST_TYPE), last };
field  route_ignore_type[] = { integer("ignore_type", 0, 0, 6), last };
field  route_filter_id[] = { one_of("filter_id", 0, route_filters), last };


/* parameters */

field  route_token_id[] = { text("tokenId", REQUIRED, 1, 64), last };
field  route_search[] = { text("query", 0, 0, 100), last };
field  route_revoke[] = { integer_or("revoke", 0, 1, "0"), last };
field  route_live[] = { integer_or("live", 0, 1, "1"), last };


/* items of lists */

field  route_button = one_of("", 0, route_buttons);
field  route_word = text("", 0, 1, 100);
field  route_log_type = integer("", 0, 0, LAST_TYPE);
field  route_some_id = id("", 0, 1);
field  route_category = one_of("", 0, route_categories);
field  route_reason = one_of("", 0, route_reasons);


/* who is searched for: by a query, or just these */

field  route_found[] = {
    text("query", 0, 0, 100),
    items("id", &route_some_id),
    last
};


/* what logs are chosen by */

#define MAX_EXACT  NGX_GUILDLOG_VALUE_EXACT

#define log_fields                                                            \
    integer("after", 0, -MAX_EXACT, MAX_EXACT),                               \
    integer("before", 0, -MAX_EXACT, MAX_EXACT),                              \
    items("category", &route_category),                                       \
    items("type", &route_log_type),                                           \
    text("search", NGX_GUILDLOG_TRIM, 1, 200),                                \
    id("channel", 0, 0),                                                      \
    id("member", 0, 0),                                                       \
    one_of_or("memberRole", route_sides, "either"),                           \
    text("role", NGX_GUILDLOG_TRIM, 1, 100)

field  route_page[] = {
    log_fields,
    integer_or("limit", 1, 200, "100"),
    text("cursor", 0, 0, 64),
    last
};

field  route_histogram[] = {
    log_fields,
    integer_or("buckets", 1, 200, "60"),
    last
};

field  route_export[] = {
    log_fields,
    one_of_or("locale", route_languages, "en"),

    /* the database does not know those that follow */

    one_of_or("format", route_formats, "csv"),
    integer_or("bom", 0, 1, "0"),
    one_of("ids", 0, route_ids),
    last
};


field  route_stream[] = {
    log_fields,
    id("lastEventId", 0, 0),
    last
};


/* bodies */

field  route_settings[] = { one_of("locale", REQUIRED, route_locales), last };

field  route_channels[] = {
    id("main_channel", NULLABLE, 1),
    id("category_modlog", NULLABLE, 0),
    id("category_members", NULLABLE, 0),
    id("category_actions", NULLABLE, 0),
    id("category_text", NULLABLE, 0),
    id("category_voice", NULLABLE, 0),
    id("category_files", NULLABLE, 1),
    id("category_server", NULLABLE, 0),
    id("category_roles", NULLABLE, 0),
    id("category_channels", NULLABLE, 0),
    id("category_service", NULLABLE, 0),
    last
};

field  route_options[] = {
    boolean("spoilers", 0),
    boolean("proxy_integration", 0),
    boolean("ignore_bot_targets", 0),
    boolean("ignore_bot_executors", 0),
    integer("format_type", 0, 0, 3),
    list("buttons", 0, 0, 3, &route_button),
    boolean("active_ignore", 0),
    last
};

field  route_type[] = {
    boolean("enabled", NULLABLE),
    id("log_channel", NULLABLE, 0),
    integer("format_type", NULLABLE, 0, 3),
    integer("color", NULLABLE, 0, 16777215),
    boolean("ignore_bot_executors", NULLABLE),
    boolean("ignore_bot_targets", NULLABLE),
    boolean("active_ignore", NULLABLE),
    last
};

field  route_types[] = {
    list("types", REQUIRED, 1, NGX_GUILDLOG_TYPES, &route_log_type),
    object("set", REQUIRED, 1, route_type),
    last
};

field  route_ignore[] = { text("value", REQUIRED, 1, 100), last };

#define tag_fields                                                            \
    text("content", NULLABLE, 0, 4095),                                       \
    integer("color", NULLABLE, 0, 16777215),                                  \
    url("image", NULLABLE, 0, 255),                                           \
    last

field  route_new_tag[] = { text("tag_name", REQUIRED, 1, 31), tag_fields };
field  route_tag[] = { text("tag_name", 0, 1, 31), tag_fields };

field  route_access[] = { one_of("level", REQUIRED, route_levels), last };

field  route_filter[] = {
    boolean("enabled", 0),
    one_of("action", 0, route_actions),
    list("words", 0, 0, 500, &route_word),
    list("log_types", 0, 0, NGX_GUILDLOG_TYPES, &route_log_type),
    last
};

#define alert_fields                                                          \
    id("channel", NULLABLE, 1),                                               \
    id("role", NULLABLE, 1),                                                  \
    boolean("enabled", 0),                                                    \
    last

field  route_new_alert[] = {
    text("name", REQUIRED, 1, 64),
    list("types", REQUIRED, 1, 20, &route_log_type),
    integer("count", REQUIRED, 1, 100),
    integer("seconds", REQUIRED, 1, 3600),
    one_of("by", REQUIRED, route_subjects),
    alert_fields
};

field  route_alert[] = {
    text("name", 0, 1, 64),
    list("types", 0, 1, 20, &route_log_type),
    integer("count", 0, 1, 100),
    integer("seconds", 0, 1, 3600),
    one_of("by", 0, route_subjects),
    alert_fields
};

#define ignored_fields                                                        \
    integer("logType", 0, 0, LAST_TYPE),                                      \
    integer("count", 0, 1, 100),                                              \
    integer("time", NGX_GUILDLOG_CLAMP, 1, 300),                              \
    last

field  route_ignored_target[] = {
    text("id", REQUIRED, 1, 100),
    integer("type", REQUIRED, 0, 13),
    ignored_fields
};

field  route_ignored_executor[] = { id("id", REQUIRED, 1), ignored_fields };

/* what the path is of says what the body may be */

field  route_change_fields[] = {
    one_of("method", REQUIRED, route_methods),
    text("path", REQUIRED, 1, 128),
    object("body", 0, 0, NULL),
    last
};

field  route_change = object("", 0, 0, route_change_fields);

field  route_changes[] = {
    list("changes", REQUIRED, 1, 200, &route_change),
    last
};

field  route_fix[] = {
    text("kind", REQUIRED, 1, 64),
    id("channelId", 0, 1),
    id("webhookId", 0, 1),
    one_of("category", 0, route_columns),
    integer("logType", 0, 0, LAST_TYPE),
    integer("ignoreType", 0, 0, 6),
    text("value", 0, 1, 100),
    last
};

/* the entry is as those that are recorded; the looks may be other ones */

field  route_looks[] = {
    boolean("spoilers", 0),
    integer("format_type", 0, 0, 3),
    integer("color", NULLABLE, 0, 16777215),
    list("buttons", 0, 0, 3, &route_button),
    last
};

field  route_preview[] = {
    object("entry", REQUIRED, 0, NULL),
    one_of("bot", 0, route_both_bots),
    object("settings", 0, 0, route_looks),
    last
};

field  route_test[] = { one_of("category", 0, route_places), last };


/* bodies of the operator */

field  route_server[] = {
    text("name", 0, 0, 100),
    id("owner_id", 0, 1),
    one_of("plan", 0, route_plans),
    one_of("locale", 0, route_locales),
    last
};

field  route_new_token[] = {
    integer("permissions", REQUIRED, NGX_GUILDLOG_ADMIN,
            NGX_GUILDLOG_READ),
    id("creator", REQUIRED, 1),
    one_of("bot", 0, route_both_bots),
    last
};

/* of who signed in */

field  route_own_token[] = {
    integer("permissions", REQUIRED, NGX_GUILDLOG_ADMIN,
            NGX_GUILDLOG_READ),
    text("name", 0, 1, 64),
    last
};

field  route_backlog[] = {
    items("reason", &route_reason),
    integer_or("limit", 1, 1000, "100"),
    id("cursor", 0, 0),
    last
};

field  route_undelivered[] = {
    items("reason", &route_reason),
    id("channel", 0, 1),
    id("lane", 0, 1),
    integer("after", 0, -MAX_EXACT, MAX_EXACT),
    integer("before", 0, -MAX_EXACT, MAX_EXACT),
    integer_or("limit", 1, 1000, "100"),
    text("cursor", 0, 0, 64),
    last
};

field  route_replay[] = {
    list("ids", 0, 1, 1000, &route_some_id),
    list("reasons", 0, 1, 12, &route_reason),
    id("channel", 0, 1),
    id("lane", 0, 1),
    integer("after", 0, -MAX_EXACT, MAX_EXACT),
    integer("before", 0, -MAX_EXACT, MAX_EXACT),
    boolean("mayDuplicate", 0),
    integer("limit", 0, 1, 10000),
    text("cursor", NULLABLE, 0, 64),
    last
};

/* by the clock of who sends it, in ms */

field  route_events[] = {
    integer("sent", 0, 0, MAX_EXACT),
    last
};

#define member_fields                                                         \
    text("name", 0, 0, 100),                                                  \
    boolean("bot", 0),                                                        \
    list("roles", 0, 0, 250, &route_some_id),                                 \
    hash("avatar", NULLABLE),                                                 \
    last

#define channel_fields                                                        \
    text("name", 0, 0, 100),                                                  \
    integer("type", 0, 0, 255),                                               \
    id("parent", NULLABLE, 1),                                                \
    integer("position", 0, 0, NGX_MAX_INT32_VALUE),                           \
    last

#define role_fields                                                           \
    text("name", 0, 0, 100),                                                  \
    integer("color", 0, 0, 16777215),                                         \
    integer("position", 0, 0, NGX_MAX_INT32_VALUE),                           \
    last

field  route_member[] = { member_fields };
field  route_channel[] = { channel_fields };
field  route_role[] = { role_fields };
field  route_members[] = { id("id", REQUIRED, 1), member_fields };
field  route_directory_channels[] = { id("id", REQUIRED, 1), channel_fields };
field  route_roles[] = { id("id", REQUIRED, 1), role_fields };


#define GET       NGX_GUILDLOG_GET
#define POST      NGX_GUILDLOG_POST
#define PUT       NGX_GUILDLOG_PUT
#define PATCH     NGX_GUILDLOG_PATCH
#define DELETE    NGX_GUILDLOG_DELETE

#define FOR_ADMIN  NGX_GUILDLOG_FOR_ADMIN
#define FOR_BASIC  NGX_GUILDLOG_FOR_BASIC
#define FOR_READ   NGX_GUILDLOG_FOR_READ
#define FOR_ANY    NGX_GUILDLOG_FOR_ANY

#define stmt(f)   ngx_guildlog_stmt(f)

/* function, method, path, pieces, query, body */

#define admin(f, m, p, x, q, b)                                               \
    { #f, m, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_ADMIN,               \
      x, q, b, stmt(f), 0, NGX_GUILDLOG_ROW }
#define change(f, m, p, x, q, b)                                              \
    { #f, m, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_ADMIN,               \
      x, q, b, stmt(f), CHANGE, NGX_GUILDLOG_ROW }
#define changes(f, p, b)                                                      \
    { #f, PATCH, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_ADMIN,           \
      none, none, b, stmt(f), CHANGES, NGX_GUILDLOG_ROW }
#define large(f, p)                                                           \
    { #f, GET, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_ADMIN,             \
      none, none, NULL, stmt(f), 0, NGX_GUILDLOG_LARGE }
#define basic(f, m, p, x, q, b)                                               \
    { #f, m, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_BASIC,               \
      x, q, b, stmt(f), TAKES, NGX_GUILDLOG_ROW }
#define read(f, p, q)                                                         \
    { #f, GET, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_READ,              \
      none, q, NULL, stmt(f), 0, NGX_GUILDLOG_ROW }
#define operator(f, m, p, x, b, flags)                                        \
    { #f, m, "/servers/{guild}" p, NGX_GUILDLOG_OPERATOR, 0,                  \
      x, none, b, stmt(f), flags, NGX_GUILDLOG_ROW }
#define delivers(f, m, p, x, q, b)                                            \
    { #f, m, "/servers/{guild}" p, NGX_GUILDLOG_OPERATOR, 0,                  \
      x, q, b, stmt(f), EMPTY|BODILESS, NGX_GUILDLOG_ROW }
#define makes(f, p, b, a)                                                     \
    { #f, POST, "/servers/{guild}" p, NGX_GUILDLOG_OPERATOR, 0,               \
      none, none, b, stmt(f), 0, a }
#define person(f, s, p, x)                                                    \
    { #f, GET, "/servers/{guild}" p, NGX_GUILDLOG_OPERATOR, 0,                \
      x, none, NULL, stmt(s), PERSON, NGX_GUILDLOG_EXPORT }
#define logs(n, f, p, q, flags, a)                                            \
    { #n, GET, "/servers/{guild}/logs" p, NGX_GUILDLOG_API, FOR_READ,         \
      none, q, NULL, stmt(f), flags, a }
#define entry(f, p, x)                                                        \
    { #f, GET, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_READ,              \
      x, none, NULL, stmt(f), STANDBY, NGX_GUILDLOG_ENTRY }

#define own(f, m, p, x, b, a)                                                 \
    { #f, m, p, NGX_GUILDLOG_API, FOR_ADMIN,                                  \
      x, none, b, stmt(f), COOKIE, a }

#define shows(f, p, b, a)                                                     \
    { #f, POST, "/servers/{guild}" p, NGX_GUILDLOG_API, FOR_ADMIN,            \
      none, none, b, stmt(f), 0, a }

#define trouble(f, m, p, q, b, flags, a)                                      \
    { #f, m, "/servers/{guild}/troubleshoot" p, NGX_GUILDLOG_API, FOR_ADMIN,  \
      none, q, b, stmt(f), flags, a }

#define none      route_nothing
#define BATCH     NGX_GUILDLOG_ROUTE_BATCH
#define EMPTY     NGX_GUILDLOG_ROUTE_EMPTY
#define BODILESS  NGX_GUILDLOG_ROUTE_BODILESS
#define TAKES     NGX_GUILDLOG_ROUTE_TAKES
#define PERSON    NGX_GUILDLOG_ROUTE_PERSON
#define PLAN      NGX_GUILDLOG_ROUTE_PLAN
#define COOKIE    NGX_GUILDLOG_ROUTE_COOKIE
#define STANDBY   NGX_GUILDLOG_ROUTE_STANDBY
#define CHANGE    NGX_GUILDLOG_ROUTE_CHANGE
#define CHANGES   NGX_GUILDLOG_ROUTE_CHANGES


const ngx_guildlog_route_t  ngx_guildlog_routes[] = {

    read(server_get, "", none),
    admin(server_reset, DELETE, "", none, none, NULL),

    { "log_types", GET, "/log-types", NGX_GUILDLOG_API, FOR_ANY, none, none,
      NULL, stmt(token_check), 0, NGX_GUILDLOG_KNOWN },

    own(me, GET, "/me", none, NULL, NGX_GUILDLOG_ROW),
    own(sessions_list, GET, "/me/sessions", none, NULL, NGX_GUILDLOG_ROW),
    own(sessions_remove, DELETE, "/me/sessions/{}", route_a_name, NULL,
        NGX_GUILDLOG_ROW),
    own(sessions_remove_all, DELETE, "/me/sessions", none, NULL,
        NGX_GUILDLOG_ROW),

    admin(token_list, GET, "/auth", none, none, NULL),
    own(token_create, POST, "/servers/{guild}/auth", none, route_own_token,
        NGX_GUILDLOG_TOKEN),
    admin(token_revoke, DELETE, "/auth", none, route_token_id, NULL),

    admin(channels_get, GET, "/config/logging/channels", none, none, NULL),
    change(channels_patch, PATCH, "/config/logging/channels", none, none,
           route_channels),

    admin(options_get, GET, "/config/logging/settings", none, none, NULL),
    change(options_patch, PATCH, "/config/logging/settings", none, none,
           route_options),

    admin(type_get, GET, "/config/logging/settings/{}",
          route_log_id, none, NULL),
    change(type_patch, PATCH, "/config/logging/settings/{}",
           route_log_id, none, route_type),
    change(types_patch, PATCH, "/config/logging/settings/types", none, none,
           route_types),

    admin(ignore_get, GET, "/config/logging/ignore/{}",
          route_ignore_type, none, NULL),
    change(ignore_add, POST, "/config/logging/ignore/{}",
           route_ignore_type, none, route_ignore),
    change(ignore_remove, DELETE, "/config/logging/ignore/{}",
           route_ignore_type, none, route_ignore),

    admin(settings_get, GET, "/config/settings", none, none, NULL),
    change(settings_patch, PATCH, "/config/settings", none, none,
           route_settings),

    admin(guilds_get, GET, "/config/guilds", none, none, NULL),

    large(tags_get, "/config/tags"),
    change(tag_create, POST, "/tags", none, none, route_new_tag),
    change(tag_patch, PATCH, "/tags/{}", route_a_name, none, route_tag),
    change(tag_delete, DELETE, "/tags/{}", route_a_name, none, NULL),

    admin(access_list, GET, "/config/access", none, none, NULL),
    admin(access_get, GET, "/config/access/{}", route_an_id, none, NULL),
    change(access_put, PUT, "/config/access/{}", route_an_id, none,
           route_access),
    change(access_delete, DELETE, "/config/access/{}", route_an_id,
           route_revoke, NULL),

    large(config_get, "/config"),
    changes(config_patch, "/config", route_changes),

    admin(pacing_get, GET, "/config/logging/pacing", none, none, NULL),

    trouble(troubleshoot_get, GET, "", route_live, NULL, 0,
            NGX_GUILDLOG_TROUBLE),
    trouble(troubleshoot_fix, POST, "/fix", none, route_fix, 0,
            NGX_GUILDLOG_ROW),
    trouble(troubleshoot_test, POST, "/test-log", none, route_test,
            EMPTY|BODILESS, NGX_GUILDLOG_TEST),

    shows(preview, "/preview", route_preview, NGX_GUILDLOG_PREVIEW),

    logs(logs_page, logs_pieces, "", route_page, STANDBY, NGX_GUILDLOG_PAGE),
    logs(logs_export, logs_export, "/export", route_export, STANDBY,
         NGX_GUILDLOG_EXPORT),
    logs(logs_stream, logs_stream, "/stream", route_stream, 0,
         NGX_GUILDLOG_STREAM),
    logs(logs_histogram, logs_histogram, "/histogram", route_histogram,
         STANDBY, NGX_GUILDLOG_HISTOGRAM),
    logs(logs_actors, logs_actors, "/actors", none, STANDBY,
         NGX_GUILDLOG_ROW),
    entry(logs_one, "/logs/{}", route_an_id),

    admin(filters_list, GET, "/filters", none, none, NULL),
    admin(filter_get, GET, "/filters/{}", route_filter_id, none, NULL),
    change(filter_patch, PATCH, "/filters/{}", route_filter_id, none,
           route_filter),

    admin(alerts_list, GET, "/alerts", none, none, NULL),
    admin(alert_get, GET, "/alerts/{}", route_a_name, none, NULL),
    change(alert_create, POST, "/alerts", none, none, route_new_alert),
    change(alert_patch, PATCH, "/alerts/{}", route_a_name, none, route_alert),
    change(alert_delete, DELETE, "/alerts/{}", route_a_name, none, NULL),

    basic(active_ignore_targets, POST, "/active/ignore/targets", none, none,
          route_ignored_target),
    basic(active_ignore_executors, POST, "/active/ignore/executors", none,
          none, route_ignored_executor),

    admin(notifications_list, GET, "/notifications", none, none, NULL),
    admin(notifications_acknowledge, POST, "/notifications/acknowledge",
          none, none, NULL),
    admin(notification_acknowledge, POST, "/notifications/{}/acknowledge",
          route_a_name, none, NULL),

    read(search_members, "/search/members", route_found),
    read(search_channels, "/search/channels", route_search),
    read(search_roles, "/search/roles", route_search),

    operator(operator_server_put, PUT, "", none, route_server, EMPTY|PLAN),
    operator(operator_server_forget, DELETE, "", none, NULL, 0),
    makes(operator_token_create, "/tokens", route_new_token,
          NGX_GUILDLOG_TOKEN),

    makes(operator_record, "/logs", route_nothing, NGX_GUILDLOG_RECORD),
    { "operator_record_many", POST, "/logs", NGX_GUILDLOG_OPERATOR, 0, none,
      none, route_nothing, stmt(operator_record_many), 0,
      NGX_GUILDLOG_RECORD },

    { "operator_events", POST, "/events", NGX_GUILDLOG_OPERATOR, 0, none,
      route_events, route_nothing, stmt(operator_events), 0,
      NGX_GUILDLOG_EVENTS },

    operator(operator_member_put, PUT, "/members/{}", route_an_id,
             route_member, EMPTY),
    operator(operator_member_delete, DELETE, "/members/{}",
             route_an_id, NULL, 0),
    operator(operator_members_put, PUT, "/members", none, route_members, BATCH),
    operator(operator_person_forget, DELETE, "/members/{}/logs",
             route_an_id, NULL, 0),
    person(operator_person_logs, person_logs, "/members/{}/logs", route_an_id),

    operator(operator_channel_put, PUT, "/channels/{}", route_an_id,
             route_channel, EMPTY),
    operator(operator_channel_delete, DELETE, "/channels/{}",
             route_an_id, NULL, 0),
    operator(operator_channels_put, PUT, "/channels", none,
             route_directory_channels, BATCH),

    operator(operator_role_put, PUT, "/roles/{}", route_an_id,
             route_role, EMPTY),
    operator(operator_role_delete, DELETE, "/roles/{}", route_an_id, NULL, 0),
    operator(operator_roles_put, PUT, "/roles", none, route_roles, BATCH),

    { "operator_backlog", GET, "/undelivered", NGX_GUILDLOG_OPERATOR, 0, none,
      route_backlog, NULL, stmt(operator_backlog), 0,
      NGX_GUILDLOG_ROW },
    delivers(operator_undelivered, GET, "/undelivered", none,
             route_undelivered, NULL),
    delivers(operator_replay, POST, "/replay", none, none, route_replay),
    delivers(operator_lanes, GET, "/lanes", none, none, NULL),
    delivers(operator_lane_pause, POST, "/lanes/{}/pause",
             route_an_id, none, NULL),
    delivers(operator_lane_resume, POST, "/lanes/{}/resume",
             route_an_id, none, NULL),
    delivers(operator_pause, POST, "/pause", none, none, NULL),
    delivers(operator_resume, POST, "/resume", none, none, NULL)
};

const ngx_uint_t  ngx_guildlog_nroutes = sizeof(ngx_guildlog_routes)
                                         / sizeof(ngx_guildlog_route_t);

_Static_assert(sizeof(ngx_guildlog_routes) / sizeof(ngx_guildlog_route_t)
               <= NGX_GUILDLOG_ROUTES_MAX,
               "NGX_GUILDLOG_ROUTES_MAX is less than the number of routes");


ngx_uint_t
ngx_guildlog_route_locale(const ngx_str_t *name)
{
    ngx_uint_t  i;

    for (i = 0; route_locales[i]; i++) {
        if (name->len == ngx_strlen(route_locales[i])
            && ngx_memcmp(name->data, route_locales[i], name->len) == 0)
        {
            return i;
        }
    }

    return 0;
}
