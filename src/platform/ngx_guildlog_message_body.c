
/*
 * What was said; the entry as one text, and as an embed; the buttons below.
 */

#include "platform/ngx_guildlog_message_parts.h"
#include "log/ngx_guildlog_change.h"


/* lengths in UTF-16 units */

#define MESSAGE_BODY_LINE         250  /* one of many messages */
#define MESSAGE_BODY_CLIP         12   /* the number of its files */
#define MESSAGE_BODY_SAID         200  /* in the compact formats */

#define MESSAGE_BODY_SPOILER      "||"

/* between those that stand in one line */

#define MESSAGE_BODY_DOT          " \xc2\xb7 "
#define MESSAGE_BODY_ARROW        " \xe2\x86\x92 "

/* limits of the platform, in UTF-16 units */

#define MESSAGE_EMBED_PERSON       256
#define MESSAGE_EMBED_TITLE        256
#define MESSAGE_EMBED_DESCRIPTION  4096

#define MESSAGE_BUTTON_LABEL       80   /* UTF-16 units, by the platform */

/* followed by an id */
#define MESSAGE_PROFILE            "https://discord.com/users/"

/* of an id and a hash */
#define MESSAGE_PICTURE                                                       \
    "https://cdn.discordapp.com/avatars/%V/%V.png?size=64"

/* numbers of the platform */

#define MESSAGE_BUTTON_ROW         1
#define MESSAGE_BUTTON_LINK        2
#define MESSAGE_BUTTON_STYLE       5


typedef struct {
    ngx_str_t                      person;   /* the name */
    ngx_str_t                      profile;
    ngx_str_t                      picture;
    ngx_str_t                      title;
    ngx_str_t                      description;
    ngx_str_t                      footer;
    ngx_str_t                      page;     /* its entry in the viewer */
    ngx_str_t                      values[NGX_GUILDLOG_MESSAGE_PARTS];
    ngx_uint_t                     units;
} message_embed_t;


typedef struct {
    ngx_uint_t                     bit;
    ngx_guildlog_label_e           label;
    const char                    *user;     /* who; NULL: nobody */
} message_button_link_t;


#define leads(bit, label, user)                                               \
    { NGX_GUILDLOG_BUTTON_##bit, NGX_GUILDLOG_LABEL_##label, user }


#define MESSAGE_BUTTON_LINKS                                                  \
    (sizeof(message_button_links) / sizeof(message_button_link_t))


static void message_body_head(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);
static void message_body(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags);
static void message_body_brief(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);
static ngx_uint_t message_body_what(ngx_guildlog_message_item_t *item,
    ngx_str_t *before, ngx_str_t *after);
static void message_body_section(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *label, const ngx_str_t *s,
    ngx_uint_t max, ngx_uint_t flags);
static void message_body_line(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const json_t *message);
static ngx_uint_t message_body_said(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const ngx_str_t *s, ngx_uint_t max,
    ngx_uint_t flags);
static ngx_int_t message_embed_fill(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_guildlog_message_text_t *all,
    message_embed_t *embed);
static ngx_int_t message_embed_person(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_guildlog_message_text_t *all,
    message_embed_t *embed);
static ngx_int_t message_embed_describe(ngx_pool_t *pool,
    const ngx_str_t *sentence, const ngx_str_t *rest, message_embed_t *embed);
static void message_embed_write(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item, message_embed_t *embed);
static void message_embed_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s);
static ngx_int_t message_button_url(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const message_button_link_t *link,
    ngx_str_t *url);
static ngx_int_t message_button_label(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const message_button_link_t *link,
    ngx_str_t *label);
static ngx_int_t message_profile(ngx_pool_t *pool, const ngx_str_t *id,
    ngx_str_t *url);


/* what they lead to: the platform's pages, or the operator's */

static const message_button_link_t  message_button_links[] = {
    leads(USER_ID, EXECUTOR, "executor"),
    leads(USER_ID, TARGET, "target"),
    leads(SUPPORT_SERVER, SUPPORT, NULL),
    leads(CUSTOMISE, CUSTOMISE, NULL)
};


void
ngx_guildlog_message_body_whole(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    ngx_str_t                           value;
    ngx_uint_t                          i;
    const char                         *label;
    ngx_guildlog_message_text_t         before, part_text;
    const ngx_guildlog_message_part_t  *part;

    message_body_head(item, text);

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (!ngx_guildlog_message_parts_shows(item, part)) {
            continue;
        }

        label = ngx_guildlog_message_item_label(item, part->label);

        before = *text;

        (void) ngx_guildlog_message_text_add(text, "%s**%s:** ",
                   item->compact && part->aside ? MESSAGE_BODY_DOT : "\n",
                   label);

        ngx_guildlog_message_text_open(&part_text, text, part->plain);
        part->write(item, &part_text, part->key);
        ngx_guildlog_message_text_close(&part_text, text, &value);

        if (value.len == 0) {
            *text = before;
        }
    }

    ngx_guildlog_message_link_jump(item, text, item->compact ? MESSAGE_BODY_DOT
                                                             : "\n");

    if (item->compact) {
        ngx_guildlog_message_sentence_changes(item, text);
        message_body_brief(item, text);

    } else {
        message_body(item, text,
                     NGX_GUILDLOG_MESSAGE_TEXT_LINES
                     | NGX_GUILDLOG_MESSAGE_TEXT_QUOTE);
    }
}


/* the title, unless in a compact format the sentence says the same */

static void
message_body_head(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    ngx_guildlog_message_text_t  before;

    before = *text;

    if (item->compact) {
        ngx_guildlog_message_sentence(item, text);

        if (item->told) {
            return;
        }

        *text = before;
    }

    (void) ngx_guildlog_message_text_add(text, "**%s**",
                                 ngx_guildlog_message_item_title(item));

    if (item->compact) {
        return;
    }

    before = *text;

    (void) ngx_guildlog_message_text_add(text, "\n");

    ngx_guildlog_message_sentence(item, text);

    if (!item->told) {
        *text = before;
    }
}


/* what was said: content, before and after, messages */

static void
message_body(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags)
{
    json_t                      *messages;
    ngx_str_t                    before, after, s;
    ngx_uint_t                   i, n, listed;
    const char                  *label, *mark;
    ngx_guildlog_message_text_t  line;

    ngx_guildlog_message_sentence_changes(item, text);

    listed = message_body_what(item, &before, &after);

    label = NULL;

    if (after.len) {
        label = ngx_guildlog_message_item_label(item,
                                                NGX_GUILDLOG_LABEL_BEFORE);
    }

    message_body_section(item, text, label, &before,
                         (after.len || listed) ? text->left / 2
                                               : text->left,
                         flags);

    label = ngx_guildlog_message_item_label(item, NGX_GUILDLOG_LABEL_AFTER);

    message_body_section(item, text, label, &after, text->left, flags);

    if (listed == 0) {
        return;
    }

    messages = json_object_get(item->json, "messages");
    n = json_array_size(messages);
    mark = (flags & NGX_GUILDLOG_MESSAGE_TEXT_QUOTE) ? "> " : "";
    label = ngx_guildlog_message_item_label(item, NGX_GUILDLOG_LABEL_MESSAGES);

    (void) ngx_guildlog_message_text_add(text, "%s**%s: %ui**",
                                         text->pos == text->start ? "" : "\n",
                                         label, listed);

    for (i = 0; i < n; i++) {

        if (text->left < sizeof("\n> ") - 1 + MESSAGE_BODY_LINE
                         + NGX_GUILDLOG_MESSAGE_MORE)
        {
            break;
        }

        (void) ngx_guildlog_message_text_add(text, "\n%s", mark);

        ngx_guildlog_message_text_open(&line, text, MESSAGE_BODY_LINE);
        message_body_line(item, &line, json_array_get(messages, i));
        ngx_guildlog_message_text_close(&line, text, &s);
    }

    if (i < listed) {
        (void) ngx_guildlog_message_text_add(text, "\n%s", mark);
        ngx_guildlog_message_parts_more(item, text, listed - i);
    }
}


/* the same in a line or two */

static void
message_body_brief(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    json_t                      *messages;
    ngx_str_t                    before, after, s;
    ngx_uint_t                   listed;
    ngx_guildlog_message_text_t  rest, line;

    listed = message_body_what(item, &before, &after);

    rest = *text;

    if (!ngx_guildlog_message_text_add(text, "\n")
        || !message_body_said(item, text, &before, MESSAGE_BODY_SAID, 0))
    {
        *text = rest;
    }

    rest = *text;

    if (!ngx_guildlog_message_text_add(text, MESSAGE_BODY_ARROW)
        || !message_body_said(item, text, &after, MESSAGE_BODY_SAID, 0))
    {
        *text = rest;
    }

    if (listed) {
        messages = json_object_get(item->json, "messages");

        (void) ngx_guildlog_message_text_add(text, "\n");

        ngx_guildlog_message_text_open(&line, text, MESSAGE_BODY_LINE);
        message_body_line(item, &line, json_array_get(messages, 0));
        ngx_guildlog_message_text_close(&line, text, &s);

        (void) ngx_guildlog_message_text_add(text, " ");
        ngx_guildlog_message_parts_more(item, text, listed - 1);
    }
}


/*
 * The number of messages to list, with those that were not kept.  A single
 * message is what was said, and so are the two of an edit.
 */

static ngx_uint_t
message_body_what(ngx_guildlog_message_item_t *item, ngx_str_t *before,
    ngx_str_t *after)
{
    size_t       n;
    json_t      *messages;
    json_int_t   truncated;
    ngx_uint_t   edit;

    messages = json_object_get(item->json, "messages");

    n = json_array_size(messages);
    edit = (n == 2 && (item->marks & NGX_GUILDLOG_MARK_EDIT));

    *before = ngx_guildlog_json_get(item->json, "content");
    *after = ngx_guildlog_json_get(item->json, "contentAfter");

    if (before->len == 0 && after->len == 0 && (n == 1 || edit)) {
        *before = ngx_guildlog_json_get(json_array_get(messages, 0), "content");
        *after = ngx_guildlog_json_get(json_array_get(messages, 1), "content");
    }

    if (n <= 1 || edit) {
        return 0;
    }

    truncated = json_integer_value(json_object_get(item->json,
                                                   "messagesTruncated"));

    return n + (ngx_uint_t) ngx_max(truncated, 0);
}


/* what was said under its label, if that is not NULL, in lines of its own */

static void
message_body_section(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *label, const ngx_str_t *s,
    ngx_uint_t max, ngx_uint_t flags)
{
    ngx_guildlog_message_text_t  before;

    before = *text;

    if (text->pos != text->start) {
        (void) ngx_guildlog_message_text_add(text, "\n");
    }

    if (label) {
        (void) ngx_guildlog_message_text_add(text, "**%s**\n", label);
    }

    if (flags & NGX_GUILDLOG_MESSAGE_TEXT_QUOTE) {
        (void) ngx_guildlog_message_text_add(text, "> ");
    }

    if (message_body_said(item, text, s, max, flags) == 0) {
        *text = before;
    }
}


/* its author, its content, the number of its files */

static void
message_body_line(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const json_t *message)
{
    size_t     files;
    ngx_str_t  author, content;

    author = ngx_guildlog_json_get(message, "authorId");
    content = ngx_guildlog_json_get(message, "content");

    files = json_array_size(json_object_get(message, "attachments"));

    if (ngx_guildlog_value_is_id(&author)) {
        (void) ngx_guildlog_message_text_add(text, "<@%V> ", &author);

    } else {
        (void) ngx_guildlog_message_text_add(text, "\xe2\x80\xa2 ");
    }

    (void) message_body_said(item, text, &content,
                             text->left - ngx_min(text->left,
                                                  MESSAGE_BODY_CLIP),
                             0);
    if (files) {
        (void) ngx_guildlog_message_text_add(text, " (\xf0\x9f\x93\x8e %uz)",
                                             files);
    }
}


static ngx_uint_t
message_body_said(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const ngx_str_t *s, ngx_uint_t max,
    ngx_uint_t flags)
{
    ngx_uint_t                   n, marks;
    ngx_guildlog_message_text_t  before;

    max = ngx_min(max, text->left);
    flags |= NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN
             | NGX_GUILDLOG_MESSAGE_TEXT_SAID;

    if (!item->spoilers) {
        return ngx_guildlog_message_text_user(text, s, max, flags);
    }

    marks = 2 * (sizeof(MESSAGE_BODY_SPOILER) - 1);

    if (max <= marks) {
        return 0;
    }

    before = *text;

    (void) ngx_guildlog_message_text_add(text, MESSAGE_BODY_SPOILER);

    flags |= NGX_GUILDLOG_MESSAGE_TEXT_SPOILER;
    n = ngx_guildlog_message_text_user(text, s, max - marks, flags);

    if (n == 0) {
        *text = before;
        return 0;
    }

    (void) ngx_guildlog_message_text_add(text, MESSAGE_BODY_SPOILER);

    return n + marks;
}


/*
 * An entry as an embed.
 */

ngx_int_t
ngx_guildlog_message_embed(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const ngx_guildlog_message_text_t *work, ngx_uint_t *left,
    ngx_guildlog_json_t *w)
{
    message_embed_t              embed;
    ngx_guildlog_message_text_t  all;

    ngx_memzero(&embed, sizeof(message_embed_t));

    all = *work;

    if (message_embed_fill(item, pool, &all, &embed) != NGX_OK) {
        return NGX_ERROR;
    }

    if (embed.units > *left) {
        return NGX_DECLINED;
    }

    *left -= embed.units;

    message_embed_write(w, item, &embed);

    return w->failed ? NGX_ERROR : NGX_OK;
}


/*
 * The sentence comes first, for the fields to know what it says; the rest of
 * the description may take what the fields left.
 */

static ngx_int_t
message_embed_fill(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    ngx_guildlog_message_text_t *all, message_embed_t *embed)
{
    const char                         *label;
    ngx_str_t                           sentence, rest;
    ngx_uint_t                          i, left, units;
    ngx_guildlog_message_text_t         text;
    const ngx_guildlog_message_part_t  *part;

    left = all->left;

    ngx_guildlog_message_text_open(&text, all, NGX_GUILDLOG_MESSAGE_FOOTER);
    (void) ngx_guildlog_message_text_add(&text, "%V", &item->id);
    ngx_guildlog_message_text_close(&text, all, &embed->footer);

    if (message_embed_person(item, pool, all, embed) != NGX_OK) {
        return NGX_ERROR;
    }

    if (item->compact) {
        ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_DESCRIPTION);
        text.left -= ngx_min(text.left, NGX_GUILDLOG_MESSAGE_TAIL);

        ngx_guildlog_message_body_whole(item, &text);

        text.left += NGX_GUILDLOG_MESSAGE_TAIL;

        if (ngx_guildlog_message_link_open(item, pool, &text) != NGX_OK) {
            return NGX_ERROR;
        }

        ngx_guildlog_message_text_close(&text, all, &embed->description);

        embed->units = left - all->left;
        return NGX_OK;
    }

    if (ngx_guildlog_message_link_page(item, pool, "logs", &item->id,
                                       &embed->page)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_TITLE);
    (void) ngx_guildlog_message_text_add(&text, "%s",
                                 ngx_guildlog_message_item_title(item));
    ngx_guildlog_message_text_close(&text, all, &embed->title);

    ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_DESCRIPTION / 2);
    ngx_guildlog_message_sentence(item, &text);
    ngx_guildlog_message_link_jump(item, &text, MESSAGE_BODY_DOT);
    ngx_guildlog_message_text_close(&text, all, &sentence);

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (!ngx_guildlog_message_parts_shows(item, part)) {
            continue;
        }

        label = ngx_guildlog_message_item_label(item, part->label);
        units = ngx_guildlog_message_text_units((u_char *) label,
                                                ngx_strlen(label));

        if (units >= all->left) {
            continue;
        }

        all->left -= units;

        ngx_guildlog_message_text_open(&text, all, part->embed);
        part->write(item, &text, part->key);
        ngx_guildlog_message_text_close(&text, all, &embed->values[i]);

        if (embed->values[i].len == 0) {
            all->left += units;
        }
    }

    /* a break stands between the two */

    all->left -= (sentence.len && all->left);

    ngx_guildlog_message_text_open(&text, all,
                                   MESSAGE_EMBED_DESCRIPTION / 2 - 1);
    message_body(item, &text, NGX_GUILDLOG_MESSAGE_TEXT_LINES);
    ngx_guildlog_message_text_close(&text, all, &rest);

    embed->units = left - all->left;

    return message_embed_describe(pool, &sentence, &rest, embed);
}


/* the name of the person above it all, with their picture if it is known */

static ngx_int_t
message_embed_person(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    ngx_guildlog_message_text_t *all, message_embed_t *embed)
{
    ngx_guildlog_message_text_t        text;
    const ngx_guildlog_message_who_t  *who;

    who = ngx_guildlog_message_item_person(item);

    if (who == NULL) {
        return NGX_OK;
    }

    ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_PERSON);
    (void) ngx_guildlog_message_text_user(&text, &who->name, text.left, 0);
    ngx_guildlog_message_text_close(&text, all, &embed->person);

    if (ngx_guildlog_value_is_hash(&who->avatar)
        && ngx_guildlog_print(pool, &embed->picture, MESSAGE_PICTURE, &who->id,
                              &who->avatar)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return message_profile(pool, &who->id, &embed->profile);
}


/* both in lines of their own */

static ngx_int_t
message_embed_describe(ngx_pool_t *pool, const ngx_str_t *sentence,
    const ngx_str_t *rest, message_embed_t *embed)
{
    if (sentence->len == 0 || rest->len == 0) {
        embed->description = sentence->len ? *sentence : *rest;
        return NGX_OK;
    }

    return ngx_guildlog_print(pool, &embed->description, "%V\n%V", sentence,
                              rest);
}


static void
message_embed_write(ngx_guildlog_json_t *w, ngx_guildlog_message_item_t *item,
    message_embed_t *embed)
{
    ngx_str_t                           s;
    ngx_uint_t                          i;
    const ngx_guildlog_message_part_t  *part;
    u_char                              buf[NGX_GUILDLOG_CHANGE_TIME_LEN];

    ngx_guildlog_json_begin(w, '{');

    if (embed->person.len) {
        ngx_guildlog_json_key(w, "author");
        ngx_guildlog_json_begin(w, '{');
        message_embed_string(w, "name", &embed->person);
        message_embed_string(w, "url", &embed->profile);
        message_embed_string(w, "icon_url", &embed->picture);
        ngx_guildlog_json_end(w);
    }

    message_embed_string(w, "title", &embed->title);
    message_embed_string(w, "url", &embed->page);
    message_embed_string(w, "description", &embed->description);

    s.data = buf;
    s.len = ngx_guildlog_change_time_write(buf, item->ms) - buf;

    message_embed_string(w, "timestamp", &s);

    ngx_guildlog_json_member_number(w, "color",
                                    ngx_guildlog_message_item_color(item));

    ngx_guildlog_json_key(w, "footer");
    ngx_guildlog_json_begin(w, '{');
    message_embed_string(w, "text", &embed->footer);
    ngx_guildlog_json_end(w);

    if (item->compact) {
        ngx_guildlog_json_end(w);
        return;
    }

    ngx_guildlog_json_key(w, "fields");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (embed->values[i].len == 0) {
            continue;
        }

        s = ngx_guildlog_word(ngx_guildlog_message_item_label(item,
                                                              part->label));

        ngx_guildlog_json_begin(w, '{');
        message_embed_string(w, "name", &s);
        message_embed_string(w, "value", &embed->values[i]);
        ngx_guildlog_json_key(w, "inline");
        ngx_guildlog_json_bool(w, part->aside);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);

    s = ngx_guildlog_message_link_picture(item);

    if (s.len) {
        ngx_guildlog_json_key(w, "thumbnail");
        ngx_guildlog_json_begin(w, '{');
        message_embed_string(w, "url", &s);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
}


/* the platform refuses what is empty */

static void
message_embed_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s)
{
    if (s->len) {
        ngx_guildlog_json_member(w, key, s);
    }
}


/*
 * The buttons below a message of one entry.  Of several entries nobody could
 * tell whose they are.
 */

ngx_int_t
ngx_guildlog_message_buttons(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, ngx_guildlog_json_t *w)
{
    ngx_str_t                     label, url;
    ngx_uint_t                    i, n;
    const message_button_link_t  *link;

    for (i = 0, n = 0; i < MESSAGE_BUTTON_LINKS; i++) {
        link = &message_button_links[i];

        if (message_button_url(pool, item, link, &url) != NGX_OK) {
            return NGX_ERROR;
        }

        if (url.len == 0) {
            continue;
        }

        if (message_button_label(pool, item, link, &label) != NGX_OK) {
            return NGX_ERROR;
        }

        if (n++ == 0) {
            ngx_guildlog_json_key(w, "components");
            ngx_guildlog_json_begin(w, '[');
            ngx_guildlog_json_begin(w, '{');
            ngx_guildlog_json_member_number(w, "type", MESSAGE_BUTTON_ROW);
            ngx_guildlog_json_key(w, "components");
            ngx_guildlog_json_begin(w, '[');
        }

        ngx_guildlog_json_begin(w, '{');
        ngx_guildlog_json_member_number(w, "type", MESSAGE_BUTTON_LINK);
        ngx_guildlog_json_member_number(w, "style", MESSAGE_BUTTON_STYLE);
        ngx_guildlog_json_member(w, "label", &label);
        ngx_guildlog_json_member(w, "url", &url);
        ngx_guildlog_json_end(w);
    }

    if (n) {
        ngx_guildlog_json_end(w);
        ngx_guildlog_json_end(w);
        ngx_guildlog_json_end(w);
    }

    return NGX_OK;
}


/* where it leads; empty: there is no such button */

static ngx_int_t
message_button_url(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link, ngx_str_t *url)
{
    const ngx_guildlog_message_who_t  *who;

    ngx_str_null(url);

    if (!(item->conf->buttons & link->bit)) {
        return NGX_OK;
    }

    switch (link->bit) {

    case NGX_GUILDLOG_BUTTON_SUPPORT_SERVER:
        *url = item->conf->style->support;
        return NGX_OK;

    case NGX_GUILDLOG_BUTTON_CUSTOMISE:
        return ngx_guildlog_message_link_page(item, pool, "config", NULL, url);

    default: /* NGX_GUILDLOG_BUTTON_USER_ID */
        who = ngx_guildlog_message_item_who(item, link->user);

        /* one link for those who did it to themselves */

        return !who->user || (item->same && who == &item->target) ? NGX_OK
               : message_profile(pool, &who->id, url);
    }
}


static ngx_int_t
message_button_label(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link, ngx_str_t *label)
{
    ngx_guildlog_message_text_t        text;
    const ngx_guildlog_message_who_t  *who;

    if (ngx_guildlog_message_text_init(&text, pool, MESSAGE_BUTTON_LABEL)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    (void) ngx_guildlog_message_text_add(&text, "%s",
                                         ngx_guildlog_message_item_label(item,
                                                                 link->label));
    if (link->user) {
        who = ngx_guildlog_message_item_who(item, link->user);

        (void) ngx_guildlog_message_text_add(&text, ": ");

        if (ngx_guildlog_message_text_user(&text, &who->name, text.left, 0)
            == 0)
        {
            (void) ngx_guildlog_message_text_add(&text, "%V", &who->id);
        }
    }

    label->data = text.start;
    label->len = text.pos - text.start;

    return NGX_OK;
}


static ngx_int_t
message_profile(ngx_pool_t *pool, const ngx_str_t *id, ngx_str_t *url)
{
    return ngx_guildlog_print(pool, url, MESSAGE_PROFILE "%V", id);
}
