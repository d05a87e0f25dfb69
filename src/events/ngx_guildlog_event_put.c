
/*
 * What a batch of packets, or a turn of its pairs, has to tell the database.
 */

#include "events/ngx_guildlog_event_put.h"
#include "api/ngx_guildlog_value.h"


#define PUT_ENTRY    (NGX_GUILDLOG_ENTRY_SIZE_MAX - 1024)   /* bytes */
#define PUT_ENTRIES  65536     /* bytes, about, at first */
#define PUT_SIZE     1024
#define PUT_COUNT    1000000   /* more is as good as this */
#define PUT_TURN     128       /* of what is known, in a turn */
#define PUT_OLDEST   2591940000LL  /* ms: 30 days but for a minute */


/* arguments of operator_events() */

typedef enum {
    PUT_GUILDS = 0,
    PUT_VERSIONS,
    PUT_KEEP_GUILDS,
    PUT_KEEP_KINDS,
    PUT_KEEP_IDS,
    PUT_KEEP_AUTHORS,
    PUT_KEEP_CHANNELS,
    PUT_KEEP_DOCS,
    PUT_SERVERS,
    PUT_PAIR_GUILDS,
    PUT_PAIR_BOTS,
    PUT_PAIR_EVENTS,
    PUT_PAIR_KINDS,
    PUT_PAIR_AUDITS,
    PUT_PAIR_STATES,
    PUT_PAIR_ATS,
    PUT_PAIR_DUES,
    PUT_PAIR_CHANNELS,
    PUT_PAIR_TARGETS,
    PUT_PAIR_PERSONS,
    PUT_PAIR_COUNTS,
    PUT_PAIR_DOCS
} put_arg_e;


/* and of events_end() */

typedef enum {
    END_ENDED = 2,               /* guilds, bots, events */
    END_GONE = 5,
    END_ABSORBED = 8,
    END_JOINED = 11,             /* by guild; behind the columns of entries */
    END_ALONE
} put_end_e;


typedef struct {
    uint64_t                       guild;
    ngx_guildlog_pair_t            pair;
} put_row_t;


static ngx_int_t put_record(ngx_guildlog_columns_t *columns, ngx_pool_t *pool,
    json_t *entry);
static void put_shorten(json_t *entry);
static ngx_int_t put_pair(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event, const ngx_guildlog_pair_t *pair,
    uint64_t person);
static ngx_int_t put_waits(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event, const ngx_guildlog_pair_t *pair,
    uint64_t person);
static int64_t put_due(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event, uint64_t person);
static ngx_int_t put_keep(ngx_guildlog_event_put_t *put);
static ngx_int_t put_item(ngx_guildlog_event_put_t *put,
    ngx_guildlog_known_item_t *item);
static ngx_int_t put_doc(ngx_guildlog_json_t *w, json_t *doc);
static void put_id(ngx_guildlog_json_t *w, uint64_t id);
static void put_array_text(ngx_guildlog_json_t *w, const ngx_str_t *text);
static ngx_int_t put_read(ngx_pool_t *pool, const ngx_str_t *rows,
    ngx_array_t *list);
static void put_end_key(ngx_guildlog_json_t *w, const put_row_t *row);


void
ngx_guildlog_event_put_init(ngx_guildlog_event_put_t *put, ngx_pool_t *pool,
    ngx_guildlog_known_t *known, const ngx_str_t *plan, int64_t now)
{
    ngx_uint_t  i;

    ngx_memzero(put, sizeof(ngx_guildlog_event_put_t));

    put->pool = pool;
    put->known = known;
    put->plan = *plan;
    put->now = now;

    ngx_guildlog_columns_init(&put->columns, pool, 1, PUT_ENTRIES);

    for (i = 0; i < NGX_GUILDLOG_EVENT_PUT_NARGS; i++) {
        ngx_guildlog_json_init(&put->args[i], pool, PUT_SIZE);

        if (i == PUT_SERVERS) {
            ngx_guildlog_json_begin(&put->args[i], '[');

        } else if (i != PUT_KEEP_DOCS && i != PUT_PAIR_DOCS) {
            ngx_guildlog_json_begin(&put->args[i], '{');
        }
    }
}


ngx_int_t
ngx_guildlog_event_put_entry(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event, ngx_uint_t type, json_t *entry)
{
    json_t                    *server;
    uint64_t                   person;
    ngx_int_t                  wait;
    ngx_uint_t                *index;
    ngx_guildlog_pair_t        pair;
    ngx_guildlog_pair_kind_e   kind;

    put_shorten(entry);

    kind = ngx_guildlog_pair_kind(type, event->audit);

    /* where files are logged apart, the database says */

    if (type == 0 && event->what == NGX_GUILDLOG_EVENT_MESSAGE_DELETE) {
        server = ngx_guildlog_known_get(put->known, event->guild,
                                        NGX_GUILDLOG_KNOWN_SERVER,
                                        event->guild);

        if (!(json_integer_value(json_object_get(server, "files"))
              & (1 << event->bot)))
        {
            return NGX_OK;
        }
    }

    ngx_memzero(&pair, sizeof(pair));

    pair.kind = kind;
    pair.audit = event->audit;
    pair.bot = event->bot;
    pair.at = event->at;
    pair.event = ngx_guildlog_json_text(json_object_get(entry, "event_id"));
    pair.channel = ngx_guildlog_event_id_of(entry, "channel.id");
    pair.target = ngx_guildlog_event_id_of(entry, "target.id");
    pair.count = event->audit
                 ? ngx_guildlog_event_id_of(event->d, "options.count")
                 : (ngx_uint_t) json_integer_value(json_object_get(entry,
                                                                   "count"));

    person = 0;

    if (event->what == NGX_GUILDLOG_EVENT_VOICE) {
        person = ngx_guildlog_event_id_of(event->d, "user_id");

    } else if (event->what == NGX_GUILDLOG_EVENT_MEMBER_ADD
               || event->what == NGX_GUILDLOG_EVENT_MEMBER_REMOVE)
    {
        person = ngx_guildlog_event_id_of(event->d, "user.id");
    }

    wait = ngx_guildlog_pair_wait(kind, event->audit);
    pair.due = put->later ? put->now : 0;

    /* the oldest ones are recorded now, or refused */

    if (event->at > put->now - PUT_OLDEST) {
        pair.due = ngx_max(pair.due, put_due(put, event, person));

        if (wait) {
            pair.due = ngx_max(pair.due, ngx_max(put->now, event->at) + wait);
        }
    }

    if (pair.due) {
        pair.entry = entry;

        if (kind == NGX_GUILDLOG_PAIR_NONE) {
            pair.kind = NGX_GUILDLOG_PAIR_FOLLOWER;
            pair.audit = 0;
        }

        return put_waits(put, event, &pair, person);
    }

    if (kind != NGX_GUILDLOG_PAIR_NONE) {
        pair.due = put->now;

        if (put_pair(put, event, &pair, person) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if (put->packets.elts == NULL
        && ngx_array_init(&put->packets, put->pool, 64, sizeof(ngx_uint_t))
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    index = ngx_array_push(&put->packets);

    if (index == NULL) {
        return NGX_ERROR;
    }

    *index = event->index;

    return put_record(&put->columns, put->pool, entry);
}


static ngx_int_t
put_record(ngx_guildlog_columns_t *columns, ngx_pool_t *pool, json_t *entry)
{
    json_t     *fields[NGX_GUILDLOG_ENTRY_FIELDS];
    ngx_int_t   rc;
    ngx_str_t   error;

    rc = ngx_guildlog_entry_check(pool, entry, 1, fields, &error);

    if (rc == NGX_OK) {
        ngx_guildlog_columns_add(columns, fields);

    } else if (rc == NGX_DECLINED) {
        ngx_guildlog_columns_refuse(columns, &error);
        rc = NGX_OK;
    }

    return rc;
}


/* of many long messages the last ones go, and are counted */

static void
put_shorten(json_t *entry)
{
    size_t   n, gone;
    json_t  *messages;

    messages = json_object_get(entry, "messages");
    gone = json_integer_value(json_object_get(entry, "messagesTruncated"));

    for (n = json_array_size(messages);
         n && json_dumpb(entry, NULL, 0, JSON_COMPACT) > PUT_ENTRY;
         n--)
    {
        (void) json_array_remove(messages, n - 1);
        (void) json_object_set_new(entry, "messagesTruncated",
                                   json_integer(++gone));
    }
}


/* when the newest of that person that waits has its time; 0: none waits */

static int64_t
put_due(ngx_guildlog_event_put_t *put, ngx_guildlog_event_t *event,
    uint64_t person)
{
    json_t   *waits;
    int64_t   due;

    waits = ngx_guildlog_known_get(put->known, event->guild,
                                   NGX_GUILDLOG_KNOWN_WAITS, person);

    due = json_integer_value(json_object_get(waits, "due"));

    return due > put->now ? due : 0;
}


static ngx_int_t
put_waits(ngx_guildlog_event_put_t *put, ngx_guildlog_event_t *event,
    const ngx_guildlog_pair_t *pair, uint64_t person)
{
    json_t  *waits;

    if (put_pair(put, event, pair, person) != NGX_OK) {
        return NGX_ERROR;
    }

    put->waiting++;

    if (person == 0) {
        return NGX_OK;
    }

    waits = json_pack("{sI}", "due", (json_int_t) pair->due);

    return ngx_guildlog_known_put(put->known, event->guild,
                                  NGX_GUILDLOG_KNOWN_WAITS, person, waits);
}


static ngx_int_t
put_pair(ngx_guildlog_event_put_t *put, ngx_guildlog_event_t *event,
    const ngx_guildlog_pair_t *pair, uint64_t person)
{
    ngx_guildlog_json_t  *w;

    w = put->args;

    ngx_guildlog_json_number(&w[PUT_PAIR_GUILDS], event->guild);
    ngx_guildlog_json_number(&w[PUT_PAIR_BOTS], event->bot);
    put_array_text(&w[PUT_PAIR_EVENTS], &pair->event);
    ngx_guildlog_json_number(&w[PUT_PAIR_KINDS], pair->kind);
    ngx_guildlog_json_bool(&w[PUT_PAIR_AUDITS], pair->audit);
    ngx_guildlog_json_number(&w[PUT_PAIR_STATES], pair->ended);
    ngx_guildlog_json_number(&w[PUT_PAIR_ATS], pair->at);
    ngx_guildlog_json_number(&w[PUT_PAIR_DUES], pair->due);
    put_id(&w[PUT_PAIR_CHANNELS], pair->channel);
    put_id(&w[PUT_PAIR_TARGETS], pair->target);
    put_id(&w[PUT_PAIR_PERSONS], person);
    put_id(&w[PUT_PAIR_COUNTS], ngx_min(pair->count, PUT_COUNT));

    if (put->npairs++) {
        ngx_guildlog_json_literal(&w[PUT_PAIR_DOCS], "\n", 1);
    }

    return pair->entry ? put_doc(&w[PUT_PAIR_DOCS], pair->entry) : NGX_OK;
}


ngx_int_t
ngx_guildlog_event_put_packet(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event)
{
    u_char                buf[64];
    uint64_t              user;
    ngx_str_t             text;
    ngx_guildlog_json_t  *w;
    ngx_guildlog_pair_t   pair;

    if (event->guild == 0 || json_is_true(json_object_get(event->d,
                                                          "unavailable")))
    {
        return NGX_OK;
    }

    ngx_memzero(&pair, sizeof(pair));

    pair.bot = event->bot;
    pair.at = event->at;
    pair.due = put->now;
    pair.event.data = buf;

    switch (event->what) {

    case NGX_GUILDLOG_EVENT_BAN:
        user = ngx_guildlog_event_id_of(event->d, "user.id");
        pair.kind = NGX_GUILDLOG_PAIR_LEAVING;
        pair.audit = 1;
        pair.target = user;
        pair.event.len = ngx_sprintf(buf, "ban.%uL.%L", user, event->at) - buf;

        return put_pair(put, event, &pair, 0);

    case NGX_GUILDLOG_EVENT_GUILD:
        pair.kind = NGX_GUILDLOG_PAIR_GAP;
        pair.ended = 1;
        pair.event.len = ngx_sprintf(buf, "gap.%L", event->at) - buf;

        if (put_pair(put, event, &pair, 0) != NGX_OK) {
            return NGX_ERROR;
        }

        break;

    case NGX_GUILDLOG_EVENT_GUILD_UPDATE:
        break;

    default:
        return NGX_OK;
    }

    w = &put->args[PUT_SERVERS];

    ngx_guildlog_json_begin(w, '{');
    ngx_guildlog_json_key(w, "id");
    text.data = buf;
    text.len = ngx_sprintf(buf, "%uL", event->guild) - buf;
    ngx_guildlog_json_string(w, &text);

    text = ngx_guildlog_json_text(json_object_get(event->d, "name"));

    if (text.len) {
        ngx_guildlog_json_member(w, "name", &text);
    }

    text = ngx_guildlog_json_text(json_object_get(event->d, "owner_id"));

    if (ngx_guildlog_event_id_of(event->d, "owner_id")) {
        ngx_guildlog_json_member(w, "owner_id", &text);
    }

    ngx_guildlog_json_member(w, "plan", &put->plan);
    ngx_guildlog_json_end(w);

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_event_put_args(ngx_guildlog_event_put_t *put, ngx_str_t *args)
{
    ngx_int_t   rc;
    ngx_uint_t  i;

    rc = put_keep(put);

    if (rc != NGX_OK) {
        return rc;
    }

    for (i = 0; i < NGX_GUILDLOG_EVENT_PUT_NARGS; i++) {
        if (i != PUT_KEEP_DOCS && i != PUT_PAIR_DOCS) {
            ngx_guildlog_json_end(&put->args[i]);
        }

        if (ngx_guildlog_json_written(&put->args[i], &args[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return ngx_guildlog_columns_end(&put->columns, args + i);
}


/* what differs from what was read, so many in a turn */

static ngx_int_t
put_keep(ngx_guildlog_event_put_t *put)
{
    ngx_int_t                   rc;
    ngx_uint_t                  n, last;
    ngx_guildlog_known_item_t  *item;

    item = ngx_guildlog_known_items(put->known, &n);
    last = ngx_min(n, put->item + PUT_TURN);

    for ( /* void */ ; put->item < last; put->item++) {
        rc = put_item(put, &item[put->item]);

        if (rc != NGX_OK) {
            return rc;
        }

        json_decref(item[put->item].doc);
        item[put->item].doc = NULL;
    }

    return last < n ? NGX_AGAIN : NGX_OK;
}


static ngx_int_t
put_item(ngx_guildlog_event_put_t *put, ngx_guildlog_known_item_t *item)
{
    json_t               *server, *author;
    ngx_str_t             version;
    ngx_guildlog_json_t  *w;

    w = put->args;

    if (item->kind == NGX_GUILDLOG_KNOWN_SERVER) {
        server = ngx_guildlog_known_get(put->known, item->guild, item->kind,
                                        item->id);
        version = ngx_guildlog_json_text(json_object_get(server, "version"));

        if (version.len == 0 || json_object_get(server, "obstacle")) {
            return NGX_OK;
        }

        ngx_guildlog_json_number(&w[PUT_GUILDS], item->guild);

        if (item->taught) {
            ngx_guildlog_json_raw(&w[PUT_VERSIONS], &version);
        } else {
            ngx_guildlog_json_number(&w[PUT_VERSIONS], -1);
        }

        return NGX_OK;
    }

    if (!item->taught || item->kind == NGX_GUILDLOG_KNOWN_WAITS
        || item->kind == NGX_GUILDLOG_KNOWN_ROLES
        || item->kind == NGX_GUILDLOG_KNOWN_PLACE)
    {
        return NGX_OK;
    }

    if (put->nkeep++) {
        ngx_guildlog_json_literal(&w[PUT_KEEP_DOCS], "\n", 1);
    }

    ngx_guildlog_json_number(&w[PUT_KEEP_GUILDS], item->guild);
    ngx_guildlog_json_number(&w[PUT_KEEP_KINDS], item->kind);
    ngx_guildlog_json_number(&w[PUT_KEEP_IDS], item->id);

    put_id(&w[PUT_KEEP_AUTHORS],
           ngx_guildlog_event_id_of(item->doc, "author.id"));
    put_id(&w[PUT_KEEP_CHANNELS],
           item->kind == NGX_GUILDLOG_KNOWN_MESSAGE
           ? ngx_guildlog_event_id_of(item->doc, "channel") : 0);

    /* said_told() puts these two in again, before the author's name */

    author = json_object_get(item->doc, "author");

    if (item->kind == NGX_GUILDLOG_KNOWN_MESSAGE
        && json_object_get(author, "name"))
    {
        (void) json_object_del(author, "id");
        (void) json_object_del(item->doc, "channel");
    }

    return item->doc ? put_doc(&w[PUT_KEEP_DOCS], item->doc) : NGX_OK;
}


static ngx_int_t
put_doc(ngx_guildlog_json_t *w, json_t *doc)
{
    char  *text;

    text = json_dumps(doc, JSON_COMPACT);

    if (text == NULL) {
        return NGX_ERROR;
    }

    ngx_guildlog_json_literal(w, text, ngx_strlen(text));
    free(text);

    return NGX_OK;
}


static void
put_id(ngx_guildlog_json_t *w, uint64_t id)
{
    if (id) {
        ngx_guildlog_json_number(w, id);
    } else {
        ngx_guildlog_json_null(w);
    }
}


static void
put_array_text(ngx_guildlog_json_t *w, const ngx_str_t *text)
{
    u_char  *p;

    p = ngx_guildlog_json_place(w, 2 * text->len + 2);

    if (p) {
        ngx_guildlog_json_placed(w, ngx_guildlog_value_quote(p, text));
    }
}


ngx_int_t
ngx_guildlog_event_put_ends(ngx_pool_t *pool, const ngx_str_t *rows,
    int64_t now, ngx_str_t *args)
{
    put_row_t               *row;
    ngx_uint_t               i, j, n, joined, alone;
    ngx_array_t              list;
    ngx_guildlog_pair_t    **pairs;
    ngx_guildlog_json_t      w[NGX_GUILDLOG_EVENT_END_NARGS];
    ngx_guildlog_columns_t   columns;

    if (ngx_array_init(&list, pool, 64, sizeof(put_row_t)) != NGX_OK
        || put_read(pool, rows, &list) != NGX_OK)
    {
        return NGX_ERROR;
    }

    row = list.elts;
    pairs = ngx_palloc(pool, list.nelts * sizeof(ngx_guildlog_pair_t *));

    if (pairs == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < list.nelts; i++) {
        pairs[i] = &row[i].pair;
    }

    ngx_guildlog_columns_init(&columns, pool, 1, PUT_ENTRIES);

    for (i = END_ENDED; i < NGX_GUILDLOG_EVENT_END_NARGS; i++) {
        ngx_guildlog_json_init(&w[i], pool, PUT_SIZE);
        ngx_guildlog_json_begin(&w[i], '{');
    }

    for (i = 0; i < list.nelts; i += n) {

        for (n = 1; i + n < list.nelts; n++) {
            if (row[i + n].guild != row[i].guild) {
                break;
            }
        }

        if (ngx_guildlog_pair_end(pairs + i, n, now) != NGX_OK) {
            return NGX_ERROR;
        }

        joined = 0;
        alone = 0;

        for (j = i; j < i + n; j++) {

            if (row[j].pair.goes) {
                put_end_key(&w[END_GONE], &row[j]);

            } else if (row[j].pair.ends) {
                put_end_key(&w[END_ENDED], &row[j]);
            }

            if (!row[j].pair.ends) {
                continue;
            }

            if (row[j].pair.joined) {
                put_end_key(&w[END_ABSORBED], &row[j]);
                joined++;

            } else if (row[j].pair.entry) {
                alone += row[j].pair.audit && !row[j].pair.paired;

                if (put_record(&columns, pool, row[j].pair.entry) != NGX_OK) {
                    return NGX_ERROR;
                }
            }
        }

        ngx_guildlog_json_number(&w[END_JOINED], joined);
        ngx_guildlog_json_number(&w[END_ALONE], alone);
    }

    for (i = END_ENDED; i < NGX_GUILDLOG_EVENT_END_NARGS; i++) {
        ngx_guildlog_json_end(&w[i]);

        j = i < END_JOINED ? i : i + NGX_GUILDLOG_COLUMN_LAST;

        if (ngx_guildlog_json_written(&w[i], &args[j]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return ngx_guildlog_columns_end(&columns, args + END_JOINED);
}


static ngx_int_t
put_read(ngx_pool_t *pool, const ngx_str_t *rows, ngx_array_t *list)
{
    u_char               *p, *last, *lf;
    json_t               *json;
    put_row_t            *row;
    ngx_str_t             line, error;
    ngx_guildlog_pair_t  *pair;

    last = rows->data + rows->len;

    for (p = rows->data; p < last; p = lf + 1) {
        lf = ngx_strlchr(p, last, LF);
        lf = lf ? lf : last;

        line.data = p;
        line.len = lf - p;

        json = ngx_guildlog_json_parse(pool, &line, &error);
        row = ngx_array_push(list);

        if (json == NULL || row == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(row, sizeof(put_row_t));

        row->guild = ngx_guildlog_event_id_of(json, "guild");

        pair = &row->pair;

#define number(name)  json_integer_value(json_object_get(json, name))

        pair->bot = number("bot");
        pair->kind = number("kind");
        pair->ended = number("state") != 0;
        pair->at = number("at");
        pair->due = number("due");
        pair->count = number("count");

#undef number

        pair->audit = json_is_true(json_object_get(json, "audit"));
        pair->event = ngx_guildlog_json_text(json_object_get(json, "event"));
        pair->channel = ngx_guildlog_event_id_of(json, "channel");
        pair->target = ngx_guildlog_event_id_of(json, "target");
        pair->entry = json_object_get(json, "doc");

        if (!json_is_object(pair->entry)) {
            pair->entry = NULL;
        }
    }

    return NGX_OK;
}


static void
put_end_key(ngx_guildlog_json_t *w, const put_row_t *row)
{
    ngx_guildlog_json_number(&w[0], row->guild);
    ngx_guildlog_json_number(&w[1], row->pair.bot);
    put_array_text(&w[2], &row->pair.event);
}
