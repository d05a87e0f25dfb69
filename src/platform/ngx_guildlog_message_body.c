
/*
 * What was said, and the entry as one text.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* lengths in UTF-16 units */

#define MESSAGE_BODY_LINE         250  /* one of many messages */
#define MESSAGE_BODY_CLIP         12   /* the number of its files */
#define MESSAGE_BODY_SAID         200  /* in the compact formats */

#define MESSAGE_BODY_SPOILER      "||"

/* between those that stand in one line */

#define MESSAGE_BODY_DOT          " \xc2\xb7 "
#define MESSAGE_BODY_ARROW        " \xe2\x86\x92 "


static void message_body_head(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);
static void message_body_brief(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);
static ngx_uint_t message_body_what(ngx_guildlog_message_item_t *item,
    ngx_str_t *before, ngx_str_t *after);
static void message_body_section(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *label, const ngx_str_t *s,
    ngx_uint_t max, ngx_uint_t flags);
static void message_body_list(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags);
static void message_body_line(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const json_t *message);
static ngx_uint_t message_body_truncated(
    const ngx_guildlog_message_item_t *item);
static ngx_uint_t message_body_said(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const ngx_str_t *s, ngx_uint_t max,
    ngx_uint_t flags);


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

        if (part->label == NGX_GUILDLOG_LABEL_JUMP) {
            (void) ngx_guildlog_message_text_add(text, item->compact
                                                       ? MESSAGE_BODY_DOT
                                                       : "\n");
        } else {
            (void) ngx_guildlog_message_text_add(text, "%s**%s:** ",
                       item->compact && part->aside ? MESSAGE_BODY_DOT : "\n",
                       label);
        }

        ngx_guildlog_message_text_open(&part_text, text, part->plain);
        part->write(item, &part_text, part->key);
        ngx_guildlog_message_text_close(&part_text, text, &value);

        if (value.len == 0) {
            *text = before;
        }
    }

    if (item->compact) {
        ngx_guildlog_message_sentence_changes(item, text);
        message_body_brief(item, text);

    } else {
        ngx_guildlog_message_body(item, text,
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


void
ngx_guildlog_message_body(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags)
{
    ngx_str_t    before, after;
    ngx_uint_t   listed;
    const char  *label;

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

    if (listed) {
        message_body_list(item, text, flags);
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
    ngx_uint_t   edit;

    messages = json_object_get(item->json, "messages");

    n = json_array_size(messages);
    edit = (n == 2 && (item->marks & NGX_GUILDLOG_MARK_EDIT));

    ngx_guildlog_message_item_get(item->json, "content", before);
    ngx_guildlog_message_item_get(item->json, "contentAfter", after);

    if (before->len == 0 && after->len == 0 && (n == 1 || edit)) {
        ngx_guildlog_message_item_get(json_array_get(messages, 0), "content",
                                      before);
        ngx_guildlog_message_item_get(json_array_get(messages, 1), "content",
                                      after);
    }

    if (n <= 1 || edit) {
        return 0;
    }

    return n + message_body_truncated(item);
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


static void
message_body_list(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags)
{
    json_t                      *messages;
    ngx_str_t                    s;
    ngx_uint_t                   i, n, total;
    const char                  *mark;
    ngx_guildlog_message_text_t  line;

    messages = json_object_get(item->json, "messages");
    n = json_array_size(messages);
    total = n + message_body_truncated(item);
    mark = (flags & NGX_GUILDLOG_MESSAGE_TEXT_QUOTE) ? "> " : "";

    (void) ngx_guildlog_message_text_add(text, "%s**%s: %ui**",
                     text->pos == text->start ? "" : "\n",
                     ngx_guildlog_message_item_label(item,
                                                NGX_GUILDLOG_LABEL_MESSAGES),
                     total);

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

    if (i < total) {
        (void) ngx_guildlog_message_text_add(text, "\n%s", mark);
        ngx_guildlog_message_parts_more(item, text, total - i);
    }
}


/* its author, its content, the number of its files */

static void
message_body_line(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const json_t *message)
{
    size_t     files;
    ngx_str_t  author, content;

    ngx_guildlog_message_item_get(message, "authorId", &author);
    ngx_guildlog_message_item_get(message, "content", &content);

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


/* messages that were not kept in the entry */

static ngx_uint_t
message_body_truncated(const ngx_guildlog_message_item_t *item)
{
    json_int_t  n;

    n = json_integer_value(json_object_get(item->json, "messagesTruncated"));

    return (ngx_uint_t) ngx_max(n, 0);
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
