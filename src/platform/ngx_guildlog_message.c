
/*
 * Entries are packed one after another.  Each is written as if it were alone,
 * so that what is said of it never depends on its neighbours.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* limits of the platform, in UTF-16 units but for the first */

#define MESSAGE_ENTRIES      10
#define MESSAGE_TOTAL        6000   /* over all embeds */
#define MESSAGE_TITLE        256
#define MESSAGE_DESCRIPTION  4096
#define MESSAGE_FOOTER       64
#define MESSAGE_CONTENT      2000
#define MESSAGE_TAIL         700    /* behind a plain entry */
#define MESSAGE_LABEL        80     /* of a button */
#define MESSAGE_IN_A_ROW     5      /* buttons */
#define MESSAGE_BUTTONS      25     /* of 10 entries at most 22 */

/* followed by an id */
#define MESSAGE_USERS        "https://discord.com/users/"

#define MESSAGE_SIZE         4096   /* of the body, to begin */

/* behind a plain entry, before its time; nobody's text has "#" as it is */
#define MESSAGE_MARK         "\n-# %V \xc2\xb7 <t:"

/* numbers of the platform */

#define MESSAGE_QUIET        4096   /* SUPPRESS_NOTIFICATIONS */
#define MESSAGE_ROW          1
#define MESSAGE_LINK_BUTTON  2
#define MESSAGE_LINK_STYLE   5


typedef struct {
    ngx_str_t                      title;
    ngx_str_t                      description;
    ngx_str_t                      footer;
    ngx_str_t                      page;     /* its entry in the viewer */
    ngx_str_t                      values[NGX_GUILDLOG_MESSAGE_PARTS];
    ngx_uint_t                     units;
} message_embed_t;


typedef struct {
    ngx_str_t                      label;
    ngx_str_t                      url;
} message_button_t;


typedef struct {
    ngx_pool_t                    *pool;
    ngx_guildlog_json_t            json;
    ngx_guildlog_message_text_t    work;     /* of one embed after another */
    ngx_guildlog_message_text_t    content;
    ngx_guildlog_message_item_t    first;
    ngx_uint_t                     packed;
    ngx_uint_t                     units;    /* of the embeds */
    ngx_uint_t                     nbuttons;
    message_button_t               buttons[MESSAGE_BUTTONS];
    ngx_uint_t                     nfiles;
    size_t                         file_bytes;
    ngx_guildlog_message_file_t    files[MESSAGE_ENTRIES];
} message_t;


typedef struct {
    ngx_uint_t                     bit;
    ngx_guildlog_label_e           label;
    const char                    *user;     /* who; NULL: nobody */
    ngx_int_t                    (*url)(message_t *message,
                                        ngx_guildlog_message_item_t *item,
                                        const ngx_str_t *id, ngx_str_t *url);
} message_link_t;


static ngx_int_t message_start(message_t *message, ngx_pool_t *pool);
static ngx_int_t message_append(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_collect(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_button(message_t *message,
    ngx_guildlog_message_item_t *item, const message_link_t *link);
static ngx_int_t message_url_of_user(message_t *message,
    ngx_guildlog_message_item_t *item, const ngx_str_t *id, ngx_str_t *url);
static ngx_int_t message_url_of_support(message_t *message,
    ngx_guildlog_message_item_t *item, const ngx_str_t *id, ngx_str_t *url);
static ngx_int_t message_url_of_config(message_t *message,
    ngx_guildlog_message_item_t *item, const ngx_str_t *id, ngx_str_t *url);
static ngx_int_t message_label_of(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const message_link_t *link,
    const ngx_str_t *id, const ngx_str_t *name, ngx_str_t *label);
static ngx_uint_t message_has(const ngx_guildlog_message_item_t *item,
    const message_link_t *link, ngx_str_t *id, ngx_str_t *name);
static ngx_int_t message_plain(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_tail(message_t *message,
    ngx_guildlog_message_item_t *item, ngx_guildlog_message_text_t *text);
static ngx_int_t message_open(message_t *message,
    ngx_guildlog_message_item_t *item, ngx_guildlog_message_text_t *text);
static ngx_int_t message_embed(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_fill(message_t *message,
    ngx_guildlog_message_item_t *item, ngx_guildlog_message_text_t *all,
    message_embed_t *embed);
static ngx_int_t message_describe(message_t *message,
    const ngx_str_t *sentence, const ngx_str_t *rest, message_embed_t *embed);
static void message_write(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item, message_embed_t *embed);
static void message_write_time(ngx_guildlog_json_t *w, json_int_t ms);
static void message_write_fields(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item, message_embed_t *embed);
static void message_write_picture(ngx_guildlog_json_t *w,
    const ngx_guildlog_message_item_t *item);
static void message_write_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s);
static void message_finish(message_t *message);
static void message_write_buttons(message_t *message);


#define leads(bit, label, user, url)                                          \
    { NGX_GUILDLOG_BUTTON_##bit, NGX_GUILDLOG_LABEL_##label, user,            \
      message_url_of_##url }


/* what an entry's buttons lead to: the platform's pages, or the operator's */

static const message_link_t  message_links[] = {
    leads(USER_ID, EXECUTOR, "executor", user),
    leads(USER_ID, TARGET, "target", user),
    leads(SUPPORT_SERVER, SUPPORT, NULL, support),
    leads(CUSTOMISE, CUSTOMISE, NULL, config)
};


#define MESSAGE_LINKS  (sizeof(message_links) / sizeof(message_link_t))


ngx_int_t
ngx_guildlog_message_build(ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entries, ngx_uint_t n,
    ngx_guildlog_message_body_t *body, ngx_uint_t *packed)
{
    ngx_int_t                    rc;
    ngx_str_t                    json;
    message_t                    message;
    ngx_uint_t                   i;
    ngx_guildlog_message_item_t  item;

    ngx_memzero(&message, sizeof(message_t));

    for (i = 0; i < n; i++) {

        rc = ngx_guildlog_message_parts_read(&item, pool, &entries[i]);

        if (rc == NGX_OK && i == 0) {
            message.first = item;
            rc = message_start(&message, pool);
        }

        if (rc == NGX_OK) {
            rc = message_append(&message, &item);
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

    message_finish(&message);

    *packed = message.packed;

    ngx_str_set(&body->type, "application/json");

    if (ngx_guildlog_json_written(&message.json, &body->text) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message.nfiles == 0) {
        return NGX_OK;
    }

    json = body->text;

    return ngx_guildlog_message_file_body(pool, &json, message.files,
                                          message.nfiles, body);
}


ngx_uint_t
ngx_guildlog_message_names(const ngx_str_t *content, const ngx_str_t *footer,
    const ngx_str_t *id)
{
    u_char  *last;
    u_char   mark[sizeof(MESSAGE_MARK) + MESSAGE_FOOTER];

    if (id->len == 0 || id->len > MESSAGE_FOOTER) {
        return 0;
    }

    if (footer->len == id->len
        && ngx_memcmp(footer->data, id->data, id->len) == 0)
    {
        return 1;
    }

    last = ngx_sprintf(mark, MESSAGE_MARK, id);

    return content->len
           && memmem(content->data, content->len, mark, last - mark) != NULL;
}


static ngx_int_t
message_start(message_t *message, ngx_pool_t *pool)
{
    message->pool = pool;
    ngx_guildlog_json_init(&message->json, pool, MESSAGE_SIZE);
    ngx_guildlog_json_begin(&message->json, '{');

    if (message->first.plain) {
        return ngx_guildlog_message_text_init(&message->content, pool,
                                              MESSAGE_CONTENT);
    }

    ngx_guildlog_json_key(&message->json, "embeds");
    ngx_guildlog_json_begin(&message->json, '[');

    return ngx_guildlog_message_text_init(&message->work, pool, MESSAGE_TOTAL);
}


/* NGX_DECLINED: the entry belongs to the next message */

static ngx_int_t
message_append(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_int_t                     rc;
    ngx_uint_t                    nbuttons;
    ngx_guildlog_message_file_t  *file;

    if (message->packed == MESSAGE_ENTRIES
        || (message->packed && item->plain != message->first.plain))
    {
        return NGX_DECLINED;
    }

    nbuttons = message->nbuttons;
    file = &message->files[message->nfiles];

    if (ngx_guildlog_message_file(item, message->pool, &file->text) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message->packed
        && message->file_bytes + file->text.len > NGX_GUILDLOG_MESSAGE_FILES)
    {
        return NGX_DECLINED;
    }

    rc = message_collect(message, item);

    if (rc == NGX_OK) {
        rc = item->plain ? message_plain(message, item)
                         : message_embed(message, item);
    }

    if (rc == NGX_OK) {
        message->packed++;

        file->id = item->id;
        file->spoiler = item->spoilers;

        message->file_bytes += file->text.len;
        message->nfiles += (file->text.len != 0);

    } else {
        message->nbuttons = nbuttons;
    }

    return rc;
}


static ngx_int_t
message_collect(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_int_t   rc;
    ngx_uint_t  i;

    for (i = 0; i < MESSAGE_LINKS; i++) {
        rc = message_button(message, item, &message_links[i]);
        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


/* buttons belong to a message: entries of one user share theirs */

static ngx_int_t
message_button(message_t *message, ngx_guildlog_message_item_t *item,
    const message_link_t *link)
{
    ngx_str_t          id, name, url;
    ngx_uint_t         i;
    message_button_t  *button;

    if (!message_has(item, link, &id, &name)) {
        return NGX_OK;
    }

    if (link->url(message, item, &id, &url) != NGX_OK) {
        return NGX_ERROR;
    }

    if (url.len == 0) {
        return NGX_OK;
    }

    for (i = 0; i < message->nbuttons; i++) {
        button = &message->buttons[i];

        if (button->url.len == url.len
            && ngx_memcmp(button->url.data, url.data, url.len) == 0)
        {
            return NGX_OK;
        }
    }

    button = &message->buttons[message->nbuttons++];
    button->url = url;

    return message_label_of(message->pool, item, link, &id,
                            &name, &button->label);
}


static ngx_int_t
message_url_of_user(message_t *message, ngx_guildlog_message_item_t *item,
    const ngx_str_t *id, ngx_str_t *url)
{
    url->data = ngx_pnalloc(message->pool, sizeof(MESSAGE_USERS) + id->len);
    if (url->data == NULL) {
        return NGX_ERROR;
    }

    url->len = ngx_sprintf(url->data, MESSAGE_USERS "%V", id) - url->data;

    return NGX_OK;
}


static ngx_int_t
message_url_of_support(message_t *message, ngx_guildlog_message_item_t *item,
    const ngx_str_t *id, ngx_str_t *url)
{
    *url = item->conf->style->support;

    return NGX_OK;
}


static ngx_int_t
message_url_of_config(message_t *message, ngx_guildlog_message_item_t *item,
    const ngx_str_t *id, ngx_str_t *url)
{
    return ngx_guildlog_message_link_page(item, message->pool, "config", NULL,
                                          url);
}


static ngx_int_t
message_label_of(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const message_link_t *link, const ngx_str_t *id, const ngx_str_t *name,
    ngx_str_t *label)
{
    ngx_guildlog_message_text_t  text;

    if (ngx_guildlog_message_text_init(&text, pool, MESSAGE_LABEL) != NGX_OK) {
        return NGX_ERROR;
    }

    (void) ngx_guildlog_message_text_add(&text, "%s",
                                         ngx_guildlog_message_parts_label(item,
                                                            link->label));
    if (link->user) {
        (void) ngx_guildlog_message_text_add(&text, ": ");

        if (ngx_guildlog_message_text_user(&text, name, text.left, 0) == 0) {
            (void) ngx_guildlog_message_text_add(&text, "%V", id);
        }
    }

    label->data = text.start;
    label->len = text.pos - text.start;

    return NGX_OK;
}


/* the id that ends its link, if any, and the name of whose id that is */

static ngx_uint_t
message_has(const ngx_guildlog_message_item_t *item, const message_link_t *link,
    ngx_str_t *id, ngx_str_t *name)
{
    ngx_str_t  executor, ignored;

    ngx_str_set(id, "");

    if (!(item->conf->buttons & link->bit)) {
        return 0;
    }

    if (link->user == NULL) {
        return 1;
    }

    if (!ngx_guildlog_message_parts_user(item, link->user, id, name)) {
        return 0;
    }

    /* one link for those who did it to themselves */

    return link->label == NGX_GUILDLOG_LABEL_EXECUTOR
           || !ngx_guildlog_message_parts_user(item, "executor", &executor,
                                               &ignored)
           || executor.len != id->len
           || ngx_memcmp(executor.data, id->data, id->len) != 0;
}


static ngx_int_t
message_plain(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_str_t                    tail;
    ngx_uint_t                   units, room;
    ngx_guildlog_message_text_t  text, end, *content;

    if (ngx_guildlog_message_text_init(&text, message->pool, MESSAGE_CONTENT)
        != NGX_OK
        || ngx_guildlog_message_text_init(&end, message->pool, MESSAGE_TAIL)
           != NGX_OK
        || message_tail(message, item, &end) != NGX_OK)
    {
        return NGX_ERROR;
    }

    room = MESSAGE_TAIL - end.left;

    text.left -= room;

    ngx_guildlog_message_body_whole(item, &text);

    text.left += room;

    tail.data = end.start;
    tail.len = end.pos - end.start;

    (void) ngx_guildlog_message_text_put(&text, &tail);

    units = MESSAGE_CONTENT - text.left;
    content = &message->content;

    if (message->packed) {
        if (units + 1 > content->left) {
            return NGX_DECLINED;
        }

        (void) ngx_guildlog_message_text_add(content, "\n");
    }

    content->pos = ngx_cpymem(content->pos, text.start, text.pos - text.start);
    content->left -= units;

    return NGX_OK;
}


/* its last line: the id, the time, and the way to the log viewer */

static ngx_int_t
message_tail(message_t *message, ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    (void) ngx_guildlog_message_text_add(text, MESSAGE_MARK "%L:F>", &item->id,
                                         (int64_t) (item->ms / 1000));

    return message_open(message, item, text);
}


/* "Open in the log", if there is a viewer */

static ngx_int_t
message_open(message_t *message, ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    ngx_str_t                    url;
    ngx_guildlog_message_text_t  before;

    if (ngx_guildlog_message_link_page(item, message->pool, "logs", &item->id,
                                       &url)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    before = *text;

    if (url.len
        && (!ngx_guildlog_message_text_add(text, " \xc2\xb7 [%s](<",
                        ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_OPEN,
                                                    item->conf->locale))
            || !ngx_guildlog_message_text_put(text, &url)
            || !ngx_guildlog_message_text_add(text, ">)")))
    {
        *text = before;
    }

    return NGX_OK;
}


static ngx_int_t
message_embed(message_t *message, ngx_guildlog_message_item_t *item)
{
    message_embed_t              embed;
    ngx_guildlog_message_text_t  all;

    ngx_memzero(&embed, sizeof(message_embed_t));

    all = message->work;

    if (message_fill(message, item, &all, &embed) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message->units + embed.units > MESSAGE_TOTAL) {
        return NGX_DECLINED;
    }

    message->units += embed.units;

    message_write(&message->json, item, &embed);

    return message->json.failed ? NGX_ERROR : NGX_OK;
}


/*
 * The sentence comes first, for the fields to know what it says; the rest of
 * the description may take what the fields left.
 */

static ngx_int_t
message_fill(message_t *message, ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *all, message_embed_t *embed)
{
    const char                         *label;
    ngx_str_t                           sentence, rest;
    ngx_uint_t                          i, left;
    ngx_guildlog_message_text_t         text;
    const ngx_guildlog_message_part_t  *part;

    left = all->left;

    ngx_guildlog_message_text_open(&text, all, MESSAGE_FOOTER);
    (void) ngx_guildlog_message_text_add(&text, "%V", &item->id);
    ngx_guildlog_message_text_close(&text, all, &embed->footer);

    if (item->compact) {
        ngx_guildlog_message_text_open(&text, all, MESSAGE_DESCRIPTION);
        text.left -= ngx_min(text.left, MESSAGE_TAIL);

        ngx_guildlog_message_body_whole(item, &text);

        text.left += MESSAGE_TAIL;

        if (message_open(message, item, &text) != NGX_OK) {
            return NGX_ERROR;
        }

        ngx_guildlog_message_text_close(&text, all, &embed->description);

        embed->units = left - all->left;
        return NGX_OK;
    }

    if (ngx_guildlog_message_link_page(item, message->pool, "logs", &item->id,
                                       &embed->page)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_message_text_open(&text, all, MESSAGE_TITLE);
    (void) ngx_guildlog_message_text_add(&text, "%s",
                                 ngx_guildlog_message_parts_title(item));
    ngx_guildlog_message_text_close(&text, all, &embed->title);

    ngx_guildlog_message_text_open(&text, all, MESSAGE_DESCRIPTION / 2);
    ngx_guildlog_message_sentence(item, &text);
    ngx_guildlog_message_text_close(&text, all, &sentence);

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (!ngx_guildlog_message_parts_shows(item, part)) {
            continue;
        }

        ngx_guildlog_message_text_open(&text, all, part->embed);
        part->write(item, &text, part->key);
        ngx_guildlog_message_text_close(&text, all, &embed->values[i]);

        if (embed->values[i].len) {
            label = ngx_guildlog_message_parts_label(item, part->label);
            all->left -= ngx_guildlog_message_text_units((u_char *) label,
                                                         ngx_strlen(label));
        }
    }

    /* a break stands between the two */

    all->left -= (sentence.len && all->left);

    ngx_guildlog_message_text_open(&text, all, MESSAGE_DESCRIPTION / 2 - 1);
    ngx_guildlog_message_body(item, &text, NGX_GUILDLOG_MESSAGE_TEXT_LINES);
    ngx_guildlog_message_text_close(&text, all, &rest);

    embed->units = left - all->left;

    return message_describe(message, &sentence, &rest, embed);
}


/* both in lines of their own */

static ngx_int_t
message_describe(message_t *message, const ngx_str_t *sentence,
    const ngx_str_t *rest, message_embed_t *embed)
{
    if (sentence->len == 0 || rest->len == 0) {
        embed->description = sentence->len ? *sentence : *rest;
        return NGX_OK;
    }

    embed->description.data = ngx_pnalloc(message->pool, sentence->len + 1
                                                         + rest->len);
    if (embed->description.data == NULL) {
        return NGX_ERROR;
    }

    embed->description.len = ngx_sprintf(embed->description.data, "%V\n%V",
                                         sentence, rest)
                             - embed->description.data;

    return NGX_OK;
}


static void
message_write(ngx_guildlog_json_t *w, ngx_guildlog_message_item_t *item,
    message_embed_t *embed)
{
    ngx_guildlog_json_begin(w, '{');

    message_write_string(w, "title", &embed->title);
    message_write_string(w, "url", &embed->page);
    message_write_string(w, "description", &embed->description);
    message_write_time(w, item->ms);

    ngx_guildlog_json_key(w, "color");
    ngx_guildlog_json_number(w, ngx_guildlog_message_parts_color(item));

    ngx_guildlog_json_key(w, "footer");
    ngx_guildlog_json_begin(w, '{');
    message_write_string(w, "text", &embed->footer);
    ngx_guildlog_json_end(w);

    if (!item->compact) {
        message_write_fields(w, item, embed);
        message_write_picture(w, item);
    }

    ngx_guildlog_json_end(w);
}


static void
message_write_time(ngx_guildlog_json_t *w, json_int_t ms)
{
    u_char     *p;
    ngx_tm_t    tm;
    ngx_str_t   s;
    u_char      buf[sizeof("1970-01-01T00:00:00.000Z")];

    ngx_gmtime((time_t) (ms / 1000), &tm);

    p = ngx_sprintf(buf, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.ngx_tm_year,
                    tm.ngx_tm_mon, tm.ngx_tm_mday, tm.ngx_tm_hour,
                    tm.ngx_tm_min, tm.ngx_tm_sec, (int) (ms % 1000));

    s.data = buf;
    s.len = p - buf;

    message_write_string(w, "timestamp", &s);
}


static void
message_write_fields(ngx_guildlog_json_t *w, ngx_guildlog_message_item_t *item,
    message_embed_t *embed)
{
    ngx_str_t                           name;
    ngx_uint_t                          i;
    const ngx_guildlog_message_part_t  *part;

    ngx_guildlog_json_key(w, "fields");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (embed->values[i].len == 0) {
            continue;
        }

        name.data = (u_char *) ngx_guildlog_message_parts_label(item,
                                                                part->label);
        name.len = ngx_strlen(name.data);

        ngx_guildlog_json_begin(w, '{');
        message_write_string(w, "name", &name);
        message_write_string(w, "value", &embed->values[i]);
        ngx_guildlog_json_key(w, "inline");
        ngx_guildlog_json_bool(w, part->aside);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
}


/* the platform refuses what is empty */

static void
message_write_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s)
{
    if (s->len) {
        ngx_guildlog_json_key(w, key);
        ngx_guildlog_json_string(w, s);
    }
}


static void
message_write_picture(ngx_guildlog_json_t *w,
    const ngx_guildlog_message_item_t *item)
{
    ngx_str_t  url;

    url = ngx_guildlog_message_link_picture(item);

    if (url.len) {
        ngx_guildlog_json_key(w, "thumbnail");
        ngx_guildlog_json_begin(w, '{');
        message_write_string(w, "url", &url);
        ngx_guildlog_json_end(w);
    }
}


static void
message_finish(message_t *message)
{
    ngx_str_t               content;
    ngx_guildlog_json_t    *w;

    static const ngx_str_t  mentions = ngx_string("{\"parse\":[]}");

    w = &message->json;

    if (message->first.plain) {
        content.data = message->content.start;
        content.len = message->content.pos - message->content.start;

        message_write_string(w, "content", &content);

    } else {
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_key(w, "allowed_mentions");
    ngx_guildlog_json_raw(w, &mentions);

    ngx_guildlog_json_key(w, "flags");
    ngx_guildlog_json_number(w, MESSAGE_QUIET);

    if (message->nbuttons) {
        message_write_buttons(message);
    }

    ngx_guildlog_json_end(w);
}


static void
message_write_buttons(message_t *message)
{
    ngx_uint_t            i;
    message_button_t     *button;
    ngx_guildlog_json_t  *w;

    w = &message->json;

    ngx_guildlog_json_key(w, "components");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < message->nbuttons; i++) {
        button = &message->buttons[i];

        if (i % MESSAGE_IN_A_ROW == 0) {

            if (i) {
                ngx_guildlog_json_end(w);
                ngx_guildlog_json_end(w);
            }

            ngx_guildlog_json_begin(w, '{');
            ngx_guildlog_json_key(w, "type");
            ngx_guildlog_json_number(w, MESSAGE_ROW);
            ngx_guildlog_json_key(w, "components");
            ngx_guildlog_json_begin(w, '[');
        }

        ngx_guildlog_json_begin(w, '{');
        ngx_guildlog_json_key(w, "type");
        ngx_guildlog_json_number(w, MESSAGE_LINK_BUTTON);
        ngx_guildlog_json_key(w, "style");
        ngx_guildlog_json_number(w, MESSAGE_LINK_STYLE);
        message_write_string(w, "label", &button->label);
        message_write_string(w, "url", &button->url);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
    ngx_guildlog_json_end(w);
    ngx_guildlog_json_end(w);
}
