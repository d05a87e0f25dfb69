
/*
 * What an entry says stands in tables; what is written grows in one text, so
 * that no limit is kept by hand.
 */

#include "ngx_guildlog_message.h"
#include "ngx_guildlog_json.h"
#include "ngx_guildlog_text.h"
#include "ngx_guildlog_titles.h"


/* limits of the platform, in UTF-16 units */

#define NGX_GUILDLOG_MESSAGE_EMBEDS       10
#define NGX_GUILDLOG_MESSAGE_TOTAL        6000
#define NGX_GUILDLOG_MESSAGE_DESCRIPTION  4096
#define NGX_GUILDLOG_MESSAGE_CONTENT      2000
#define NGX_GUILDLOG_MESSAGE_BUTTON       80

#define NGX_GUILDLOG_MESSAGE_QUIET        4096   /* SUPPRESS_NOTIFICATIONS */

/* parts of a list, and what is kept free for "and N more" behind it */

#define NGX_GUILDLOG_MESSAGE_LINE         250
#define NGX_GUILDLOG_MESSAGE_FILE         64
#define NGX_GUILDLOG_MESSAGE_REST         48

/* parts of the compact formats */

#define NGX_GUILDLOG_MESSAGE_WHO          60
#define NGX_GUILDLOG_MESSAGE_WORD         80
#define NGX_GUILDLOG_MESSAGE_SAID         200

/* 9999-12-31T23:59:59.999Z */
#define NGX_GUILDLOG_MESSAGE_LAST_MS      253402300799999LL

#define NGX_GUILDLOG_MESSAGE_USERS        "https://discord.com/users/"
#define NGX_GUILDLOG_MESSAGE_SUPPORT      "https://guildlog.invalid/support"
#define NGX_GUILDLOG_MESSAGE_SERVERS      "https://guildlog.invalid/servers/"


/* an entry, read */

typedef struct {
    json_t                              *json;
    const ngx_guildlog_message_conf_t   *conf;
    ngx_uint_t                           type;
    ngx_str_t                            id;
    json_int_t                           ms;
    unsigned                             plain:1;
    unsigned                             compact:1;
} ngx_guildlog_message_item_t;


/* something of an entry; what writes nothing is not there */

typedef struct {
    ngx_guildlog_label_e           label;
    void                         (*write)(ngx_guildlog_message_item_t *item,
                                          ngx_guildlog_text_t *text,
                                          const char *key);
    const char                    *key;
    ngx_uint_t                     embed;    /* units, at most */
    ngx_uint_t                     plain;    /* and in the compact formats */
    unsigned                       aside:1;  /* in one line with others */
} ngx_guildlog_message_part_t;


#define NGX_GUILDLOG_MESSAGE_PARTS  11


typedef struct {
    ngx_str_t                      title;
    ngx_str_t                      description;
    ngx_str_t                      footer;
    ngx_str_t                      values[NGX_GUILDLOG_MESSAGE_PARTS];
    ngx_uint_t                     units;
} ngx_guildlog_message_embed_t;


typedef struct {
    ngx_pool_t                    *pool;
    ngx_guildlog_json_t            json;
    ngx_guildlog_text_t            work;     /* of one embed after another */
    ngx_guildlog_text_t            content;
    ngx_guildlog_message_item_t    first;
    ngx_uint_t                     packed;
    ngx_uint_t                     units;    /* of the embeds */
    unsigned                       alone:1;
} ngx_guildlog_message_t;


static ngx_int_t ngx_guildlog_message_read(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_entry_t *entry);
static ngx_int_t ngx_guildlog_message_start(ngx_guildlog_message_t *message,
    ngx_pool_t *pool);
static ngx_int_t ngx_guildlog_message_append(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t ngx_guildlog_message_embed(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item);
static void ngx_guildlog_message_fill(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *all, ngx_guildlog_message_embed_t *embed);
static void ngx_guildlog_message_write(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item,
    const ngx_guildlog_message_embed_t *embed);
static void ngx_guildlog_message_field(ngx_guildlog_json_t *w,
    const char *name, const ngx_str_t *value);
static ngx_int_t ngx_guildlog_message_plain(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item);
static void ngx_guildlog_message_whole(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text);
static void ngx_guildlog_message_finish(ngx_guildlog_message_t *message);

static void ngx_guildlog_message_body(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, ngx_uint_t flags);
static void ngx_guildlog_message_brief(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text);
static ngx_uint_t ngx_guildlog_message_what(ngx_guildlog_message_item_t *item,
    ngx_str_t *before, ngx_str_t *after);
static void ngx_guildlog_message_section(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *label, const ngx_str_t *s,
    ngx_uint_t max, ngx_uint_t flags);
static void ngx_guildlog_message_list(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, ngx_uint_t flags);
static void ngx_guildlog_message_line(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const json_t *message);
static ngx_uint_t ngx_guildlog_message_said(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const ngx_str_t *s, ngx_uint_t max,
    ngx_uint_t flags);

static void ngx_guildlog_message_who(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *key);
static void ngx_guildlog_message_text(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *key);
static void ngx_guildlog_message_number(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *key);
static void ngx_guildlog_message_emoji(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *key);
static void ngx_guildlog_message_files(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *text, const char *key);
static void ngx_guildlog_message_file(ngx_guildlog_text_t *text,
    const json_t *file);

static void ngx_guildlog_message_write_buttons(
    ngx_guildlog_message_t *message);
static void ngx_guildlog_message_write_user(ngx_guildlog_message_t *message,
    const char *key, ngx_guildlog_label_e label);
static void ngx_guildlog_message_write_button(ngx_guildlog_json_t *w,
    const char *label, size_t len, const char *link, const ngx_str_t *id);
static ngx_uint_t ngx_guildlog_message_buttons(
    ngx_guildlog_message_item_t *item);
static ngx_uint_t ngx_guildlog_message_user(ngx_guildlog_message_item_t *item,
    const char *key, ngx_str_t *id);

static const char *ngx_guildlog_message_label(
    ngx_guildlog_message_item_t *item, ngx_guildlog_label_e label);
static ngx_int_t ngx_guildlog_message_color(ngx_guildlog_message_item_t *item);
static ngx_uint_t ngx_guildlog_message_is_id(const ngx_str_t *s);
static ngx_uint_t ngx_guildlog_message_is_emoji(const ngx_str_t *s);
static void ngx_guildlog_message_get(const json_t *object, const char *key,
    ngx_str_t *s);
static void ngx_guildlog_message_string(ngx_guildlog_json_t *w,
    const char *key, const char *s);


/*
 * The category of each type, ten a row; in capitals, where the target is a
 * user.  Members, Text, Voice, Server, Roles, Channels, service (x), Actions,
 * modLog.
 */

static const char  ngx_guildlog_message_types[] =
    "TMMTTTTTVV"
    "ttVVVVVVVV"
    "VVVaaMMccc"
    "srrrTTaaaL"
    "LLLLMMmccc"
    "rTsrvSSMMv"
    "vvVVVaaaxx"
    "xxxxxxxxxc"
    "ccccccTtVs"
    "aaaaaasssX"
    "TX";


static const struct {
    char                           category;
    ngx_int_t                      color;
} ngx_guildlog_message_colors[] = {
    { 'm', 0x57f287 },
    { 't', 0x5865f2 },
    { 'v', 0x1abc9c },
    { 's', 0x9b59b6 },
    { 'r', 0xf1c40f },
    { 'c', 0x3498db },
    { 'x', 0x95a5a6 },
    { 'a', 0xe67e22 },
    { 'l', 0xed4245 }
};


#define NGX_GUILDLOG_MESSAGE_COLORS                                           \
    (sizeof(ngx_guildlog_message_colors)                                      \
     / sizeof(ngx_guildlog_message_colors[0]))


/* in the order of their appearance; all at their limits fit a message */

static const ngx_guildlog_message_part_t
    ngx_guildlog_message_parts[NGX_GUILDLOG_MESSAGE_PARTS] =
{

    { NGX_GUILDLOG_LABEL_EXECUTOR, ngx_guildlog_message_who,
      "executor", 320, 110, 1 },

    { NGX_GUILDLOG_LABEL_TARGET, ngx_guildlog_message_who,
      "target", 320, 110, 1 },

    { NGX_GUILDLOG_LABEL_CHANNEL, ngx_guildlog_message_who,
      "channel", 320, 110, 1 },

    { NGX_GUILDLOG_LABEL_ROLE, ngx_guildlog_message_text,
      "role", 256, 80, 1 },

    { NGX_GUILDLOG_LABEL_NAME, ngx_guildlog_message_text,
      "name", 256, 80, 1 },

    { NGX_GUILDLOG_LABEL_COUNT, ngx_guildlog_message_number,
      "count", 24, 24, 1 },

    { NGX_GUILDLOG_LABEL_EMOJI, ngx_guildlog_message_emoji,
      "emoji", 160, 100, 1 },

    { NGX_GUILDLOG_LABEL_ACTION, ngx_guildlog_message_text,
      "action", 160, 60, 1 },

    { NGX_GUILDLOG_LABEL_VALUE, ngx_guildlog_message_text,
      "value", 512, 120, 0 },

    { NGX_GUILDLOG_LABEL_REASON, ngx_guildlog_message_text,
      "reason", 1024, 240, 0 },

    { NGX_GUILDLOG_LABEL_ATTACHMENTS, ngx_guildlog_message_files,
      "messages", 512, 200, 0 }
};


ngx_int_t
ngx_guildlog_message_build(ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entries, ngx_uint_t n,
    ngx_str_t *body, ngx_uint_t *packed)
{
    ngx_int_t                     rc;
    ngx_uint_t                    i;
    ngx_guildlog_message_t        message;
    ngx_guildlog_message_item_t   item;

    ngx_memzero(&message, sizeof(ngx_guildlog_message_t));

    for (i = 0; i < n; i++) {

        rc = ngx_guildlog_message_read(&item, pool, &entries[i]);

        if (rc == NGX_OK && i == 0) {
            message.first = item;
            rc = ngx_guildlog_message_start(&message, pool);
        }

        if (rc == NGX_OK) {
            rc = ngx_guildlog_message_append(&message, &item);
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED) {
            break;
        }
    }

    if (message.packed == 0) {
        return NGX_DECLINED;
    }

    ngx_guildlog_message_finish(&message);

    if (message.json.failed) {
        return NGX_ERROR;
    }

    body->data = message.json.start;
    body->len = message.json.pos - message.json.start;

    *packed = message.packed;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_message_read(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entry)
{
    u_char      *p;
    ngx_str_t    text, error;
    json_int_t   type;

    text.len = entry->doc.len + 1;

    text.data = ngx_pnalloc(pool, text.len);
    if (text.data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(text.data, entry->doc.data, entry->doc.len);
    *p = '}';

    item->json = ngx_guildlog_json_parse(pool, &text, &error);
    if (item->json == NULL) {
        return error.len ? NGX_DECLINED : NGX_ERROR;
    }

    type = json_integer_value(json_object_get(item->json, "type"));
    ngx_guildlog_message_get(item->json, "id", &item->id);

    if (type < 0 || type >= NGX_GUILDLOG_TYPES
        || !ngx_guildlog_message_is_id(&item->id))
    {
        return NGX_DECLINED;
    }

    item->conf = &entry->conf;
    item->type = (ngx_uint_t) type;

    item->ms = json_integer_value(json_object_get(item->json, "timestamp"));
    item->ms = ngx_max(item->ms, 0);
    item->ms = ngx_min(item->ms, NGX_GUILDLOG_MESSAGE_LAST_MS);

    item->plain = entry->conf.format == NGX_GUILDLOG_FORMAT_PLAIN
                  || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;
    item->compact = entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_EMBED
                    || entry->conf.format == NGX_GUILDLOG_FORMAT_COMPACT_PLAIN;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_message_start(ngx_guildlog_message_t *message, ngx_pool_t *pool)
{
    message->pool = pool;
    message->alone = ngx_guildlog_message_buttons(&message->first);

    ngx_guildlog_json_init(&message->json, pool, NGX_GUILDLOG_MESSAGE_SIZE);
    ngx_guildlog_json_begin(&message->json, '{');

    if (message->first.plain) {
        return ngx_guildlog_text_init(&message->content, pool,
                                      NGX_GUILDLOG_MESSAGE_CONTENT);
    }

    ngx_guildlog_json_key(&message->json, "embeds");
    ngx_guildlog_json_begin(&message->json, '[');

    return ngx_guildlog_text_init(&message->work, pool,
                                  NGX_GUILDLOG_MESSAGE_TOTAL);
}


/* NGX_DECLINED: the entry belongs to the next message */

static ngx_int_t
ngx_guildlog_message_append(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item)
{
    ngx_int_t  rc;

    if (message->packed
        && (message->alone || ngx_guildlog_message_buttons(item)
            || item->plain != message->first.plain))
    {
        return NGX_DECLINED;
    }

    rc = item->plain ? ngx_guildlog_message_plain(message, item)
                     : ngx_guildlog_message_embed(message, item);

    if (rc == NGX_OK) {
        message->packed++;
    }

    return rc;
}


static ngx_int_t
ngx_guildlog_message_embed(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item)
{
    ngx_guildlog_text_t           all;
    ngx_guildlog_message_embed_t  embed;

    if (message->packed == NGX_GUILDLOG_MESSAGE_EMBEDS) {
        return NGX_DECLINED;
    }

    ngx_memzero(&embed, sizeof(ngx_guildlog_message_embed_t));

    all = message->work;

    ngx_guildlog_message_fill(item, &all, &embed);

    if (message->units + embed.units > NGX_GUILDLOG_MESSAGE_TOTAL) {
        return NGX_DECLINED;
    }

    message->units += embed.units;

    ngx_guildlog_message_write(&message->json, item, &embed);

    return message->json.failed ? NGX_ERROR : NGX_OK;
}


/* the description comes last: it may take what the others left */

static void
ngx_guildlog_message_fill(ngx_guildlog_message_item_t *item,
    ngx_guildlog_text_t *all, ngx_guildlog_message_embed_t *embed)
{
    size_t                              len;
    ngx_uint_t                          i, left;
    const char                         *label;
    ngx_guildlog_text_t                 text;
    const ngx_guildlog_message_part_t  *part;

    left = all->left;

    ngx_guildlog_text_open(&text, all, NGX_GUILDLOG_MESSAGE_FOOTER);
    (void) ngx_guildlog_text_add(&text, "%V", &item->id);
    ngx_guildlog_text_str(&text, &embed->footer);
    ngx_guildlog_text_close(&text, all);

    if (!item->compact) {
        ngx_guildlog_text_open(&text, all, NGX_GUILDLOG_MESSAGE_TITLE);
        (void) ngx_guildlog_text_add(&text, "%s",
                                     ngx_guildlog_title(item->type,
                                                        item->conf->locale));
        ngx_guildlog_text_str(&text, &embed->title);
        ngx_guildlog_text_close(&text, all);
    }

    for (i = 0; !item->compact && i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        ngx_guildlog_text_open(&text, all, part->embed);
        part->write(item, &text, part->key);

        if (text.pos == text.start) {
            continue;
        }

        ngx_guildlog_text_str(&text, &embed->values[i]);
        ngx_guildlog_text_close(&text, all);

        label = ngx_guildlog_message_label(item, part->label);
        len = ngx_strlen(label);
        all->left -= ngx_guildlog_text_units((u_char *) label, len);
    }

    ngx_guildlog_text_open(&text, all, NGX_GUILDLOG_MESSAGE_DESCRIPTION);

    if (item->compact) {
        ngx_guildlog_message_whole(item, &text);

    } else {
        ngx_guildlog_message_body(item, &text, 0);
    }

    ngx_guildlog_text_str(&text, &embed->description);
    ngx_guildlog_text_close(&text, all);

    embed->units = left - all->left;
}


static void
ngx_guildlog_message_write(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item,
    const ngx_guildlog_message_embed_t *embed)
{
    ngx_tm_t                            tm;
    u_char                              time[sizeof("YYYY-MM-DDThh:mm:ss.mmmZ")];
    ngx_str_t                           s;
    ngx_uint_t                          i;
    const ngx_guildlog_message_part_t  *part;

    ngx_gmtime((time_t) (item->ms / 1000), &tm);

    s.data = time;
    s.len = ngx_sprintf(time, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                        tm.ngx_tm_year, tm.ngx_tm_mon, tm.ngx_tm_mday,
                        tm.ngx_tm_hour, tm.ngx_tm_min, tm.ngx_tm_sec,
                        (int) (item->ms % 1000))
            - time;

    ngx_guildlog_json_begin(w, '{');

    ngx_guildlog_message_field(w, "title", &embed->title);
    ngx_guildlog_message_field(w, "description", &embed->description);
    ngx_guildlog_message_field(w, "timestamp", &s);

    ngx_guildlog_json_key(w, "color");
    ngx_guildlog_json_number(w, ngx_guildlog_message_color(item));

    ngx_guildlog_json_key(w, "footer");
    ngx_guildlog_json_begin(w, '{');
    ngx_guildlog_message_field(w, "text", &embed->footer);
    ngx_guildlog_json_end(w);

    ngx_guildlog_json_key(w, "fields");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (embed->values[i].len == 0) {
            continue;
        }

        ngx_guildlog_json_begin(w, '{');
        ngx_guildlog_message_string(w, "name",
                                    ngx_guildlog_message_label(item,
                                                               part->label));
        ngx_guildlog_message_field(w, "value", &embed->values[i]);
        ngx_guildlog_json_key(w, "inline");
        ngx_guildlog_json_bool(w, part->aside);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
    ngx_guildlog_json_end(w);
}


/* the platform refuses what is empty */

static void
ngx_guildlog_message_field(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *value)
{
    if (value->len) {
        ngx_guildlog_json_key(w, name);
        ngx_guildlog_json_string(w, value);
    }
}


static ngx_int_t
ngx_guildlog_message_plain(ngx_guildlog_message_t *message,
    ngx_guildlog_message_item_t *item)
{
    u_char               *p;
    ngx_str_t             foot, whole;
    ngx_guildlog_text_t   text;
    u_char                buf[NGX_GUILDLOG_MESSAGE_FOOTER];

    foot.data = buf;
    p = ngx_snprintf(buf, sizeof(buf), "\n-# %V \xc2\xb7 <t:%L:F>", &item->id,
                     (int64_t) (item->ms / 1000));
    foot.len = p - buf;

    /* as if it were alone: else it would be cut for what stands before it */

    if (ngx_guildlog_text_init(&text, message->pool,
                               NGX_GUILDLOG_MESSAGE_CONTENT - foot.len)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_message_whole(item, &text);
    ngx_guildlog_text_str(&text, &whole);

    text = message->content;

    if (!ngx_guildlog_text_copy(&text, message->packed ? "\n" : "", &whole)
        || !ngx_guildlog_text_copy(&text, "", &foot))
    {
        return NGX_DECLINED;
    }

    message->content = text;

    return NGX_OK;
}
