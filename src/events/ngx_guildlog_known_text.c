
/*
 * What a message said, in whatever way the platform lets it: text, files, a
 * poll, what it forwards, stickers, embeds, components.
 */

#include "events/ngx_guildlog_known.h"


#define TEXT_MOST   4000     /* code points that are kept */
#define TEXT_FILES  10
#define TEXT_NAME   1024     /* code points of a file's name */
#define TEXT_DEPTH  8        /* of components in each other */


typedef struct {
    u_char                        *start;
    u_char                        *dst;
    u_char                        *last;
} text_t;


static ngx_int_t text_set(json_t *doc, const char *name, json_t *value);
static ngx_int_t text_author(json_t *doc, json_t *message);
static ngx_int_t text_files(json_t *doc, json_t *message);
static ngx_int_t text_more(json_t *doc, json_t *message);
static void text_of(text_t *t, json_t *message);
static void text_components(text_t *t, json_t *components, ngx_uint_t depth);
static void text_line(text_t *t, json_t *line);
static json_t *text_end(text_t *t);
static void text_poll(text_t *t, json_t *poll);


json_t *
ngx_guildlog_known_message(json_t *message, json_t *was)
{
    json_t     *doc, *value;
    text_t      t;
    int64_t     ms;
    u_char      buf[TEXT_MOST];
    ngx_str_t   text;
    ngx_int_t   rc;

    doc = was ? json_copy(was) : json_object();

    if (doc == NULL) {
        return NULL;
    }

    rc = text_author(doc, message);

    value = json_object_get(message, "content");

    if (json_is_string(value)) {
        text = ngx_guildlog_json_text(value);
        rc |= text_set(doc, "content",
                       text.len ? ngx_guildlog_known_text(&text, TEXT_MOST)
                                : NULL);
    }

    value = json_object_get(message, "channel_id");

    if (ngx_guildlog_event_id(value)) {
        rc |= text_set(doc, "channel", json_incref(value));
    }

    ms = ngx_guildlog_event_time(json_object_get(message, "edited_timestamp"));

    if (ms) {
        rc |= text_set(doc, "edited", json_integer(ms));
    }

    value = json_object_get(message, "poll");

    if (json_is_object(value)) {
        t.start = t.dst = buf;
        t.last = buf + sizeof(buf);

        text_poll(&t, value);

        rc |= text_set(doc, "poll", text_end(&t));
    }

    rc |= text_files(doc, message);
    rc |= text_more(doc, message);

    if (rc != NGX_OK) {
        json_decref(doc);
        return NULL;
    }

    return doc;
}


/* NULL: there is none, any more */

static ngx_int_t
text_set(json_t *doc, const char *name, json_t *value)
{
    if (value == NULL) {
        (void) json_object_del(doc, name);
        return NGX_OK;
    }

    return json_object_set_new(doc, name, value) == 0 ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
text_author(json_t *doc, json_t *message)
{
    json_t      *id, *name, *author;
    ngx_str_t    text;
    ngx_uint_t   bot;

    id = ngx_guildlog_event_reach(message, "author.id");
    name = ngx_guildlog_event_reach(message, "author.username");

    if (ngx_guildlog_event_id(id) == 0) {
        return NGX_OK;
    }

    bot = json_is_true(ngx_guildlog_event_reach(message, "author.bot"))
          || json_is_string(json_object_get(message, "webhook_id"));

    author = json_pack(bot ? "{sO sb}" : "{sO}", "id", id, "bot", 1);

    if (json_is_string(name)) {
        text = ngx_guildlog_json_text(name);

        if (json_object_set_new(author, "name",
                                ngx_guildlog_known_text(&text, 100)) != 0)
        {
            json_decref(author);
            return NGX_ERROR;
        }
    }

    return json_object_set_new(doc, "author", author) == 0 ? NGX_OK
                                                           : NGX_ERROR;
}


static ngx_int_t
text_files(json_t *doc, json_t *message)
{
    size_t      i;
    json_t     *files, *list, *file, *size;
    ngx_str_t   text;

    list = json_object_get(message, "attachments");

    if (!json_is_array(list)) {
        return NGX_OK;
    }

    if (json_array_size(list) == 0) {
        return text_set(doc, "files", NULL);
    }

    files = json_array();

    json_array_foreach(list, i, file) {
        if (i == TEXT_FILES) {
            break;
        }

        text = ngx_guildlog_json_text(json_object_get(file, "filename"));
        size = json_object_get(file, "size");

        if (!json_is_integer(size) || json_integer_value(size) < 0) {
            size = NULL;
        }

        if (json_array_append_new(files,
                json_pack("{so sO*}", "name",
                          ngx_guildlog_known_text(&text, TEXT_NAME),
                          "size", size)) != 0)
        {
            json_decref(files);
            return NGX_ERROR;
        }
    }

    return text_set(doc, "files", files);
}


/* a line each; a packet that has none of them says nothing of them */

static ngx_int_t
text_more(json_t *doc, json_t *message)
{
    size_t      i;
    json_t     *value;
    text_t      t;
    u_char      buf[TEXT_MOST];
    ngx_uint_t  tells;

    static const char *const  names[] = {
        "message_snapshots", "sticker_items", "embeds", "components"
    };

    tells = 0;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tells |= json_is_array(json_object_get(message, names[i]));
    }

    if (!tells) {
        return NGX_OK;
    }

    t.start = t.dst = buf;
    t.last = buf + sizeof(buf);

    json_array_foreach(json_object_get(message, "message_snapshots"), i, value)
    {
        value = json_object_get(value, "message");

        text_line(&t, json_object_get(value, "content"));
        text_of(&t, value);
    }

    text_of(&t, message);

    return text_set(doc, "more", text_end(&t));
}


/* what is not its content */

static void
text_of(text_t *t, json_t *message)
{
    size_t   i, n;
    json_t  *value, *field;

    json_array_foreach(json_object_get(message, "sticker_items"), i, value) {
        text_line(t, json_object_get(value, "name"));
    }

    json_array_foreach(json_object_get(message, "embeds"), i, value) {
        text_line(t, ngx_guildlog_event_reach(value, "author.name"));
        text_line(t, json_object_get(value, "title"));
        text_line(t, json_object_get(value, "description"));

        json_array_foreach(json_object_get(value, "fields"), n, field) {
            text_line(t, json_object_get(field, "name"));
            text_line(t, json_object_get(field, "value"));
        }

        text_line(t, ngx_guildlog_event_reach(value, "footer.text"));
    }

    text_components(t, json_object_get(message, "components"), 0);
}


static void
text_components(text_t *t, json_t *components, ngx_uint_t depth)
{
    size_t   i;
    json_t  *one;

    if (depth == TEXT_DEPTH) {
        return;
    }

    json_array_foreach(components, i, one) {
        text_line(t, json_object_get(one, "content"));
        text_line(t, json_object_get(one, "label"));
        text_line(t, json_object_get(one, "description"));
        text_components(t, json_object_get(one, "components"), depth + 1);
    }
}


static void
text_poll(text_t *t, json_t *poll)
{
    size_t   i;
    json_t  *answer;

    text_line(t, ngx_guildlog_event_reach(poll, "question.text"));

    json_array_foreach(json_object_get(poll, "answers"), i, answer) {
        text_line(t, ngx_guildlog_event_reach(answer, "poll_media.text"));
    }
}


/* as much of it as there is room for */

static void
text_line(text_t *t, json_t *line)
{
    size_t     len;
    ngx_str_t  text;

    text = ngx_guildlog_json_text(line);

    if (text.len == 0 || t->last - t->dst < 2) {
        return;
    }

    if (t->dst > t->start) {
        *t->dst++ = LF;
    }

    len = ngx_min(text.len, (size_t) (t->last - t->dst));
    len = ngx_guildlog_utf8_cut(text.data, text.len, len);

    t->dst = ngx_cpymem(t->dst, text.data, len);
}


/* all of it; NULL: nothing, or memory */

static json_t *
text_end(text_t *t)
{
    ngx_str_t  text;

    text.data = t->start;
    text.len = t->dst - t->start;

    return text.len ? ngx_guildlog_known_text(&text, TEXT_MOST) : NULL;
}


json_t *
ngx_guildlog_known_said(json_t *doc)
{
    text_t  t;
    u_char  buf[TEXT_MOST * 4];

    t.start = t.dst = buf;
    t.last = buf + sizeof(buf);

    text_line(&t, json_object_get(doc, "content"));
    text_line(&t, json_object_get(doc, "more"));
    text_line(&t, json_object_get(doc, "poll"));

    return text_end(&t);
}


json_t *
ngx_guildlog_known_text(const ngx_str_t *text, ngx_uint_t most)
{
    size_t      n;
    ngx_uint_t  chars;

    if (text->len == 0) {
        return json_stringn("", 0);
    }

    for (n = 0, chars = 0; n < text->len; n++) {
        if ((text->data[n] & 0xc0) != 0x80 && chars++ == most) {
            break;
        }
    }

    return json_stringn((char *) text->data, n);
}
