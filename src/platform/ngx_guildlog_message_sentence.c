
/*
 * What happened, as one sentence, and what changed, a line each.
 */

#include "platform/ngx_guildlog_message_parts.h"
#include "log/ngx_guildlog_change.h"
#include "log/ngx_guildlog_language.h"


/* lengths in UTF-16 units */

#define MESSAGE_SENTENCE_NAME     100
#define MESSAGE_SENTENCE_CHANGED  300  /* of a text before, or after */
#define MESSAGE_SENTENCE_LINE     160  /* what a line needs at least */
#define MESSAGE_SENTENCE_BRIEF    3    /* lines, in the compact formats */

#define MESSAGE_SENTENCE_BOLD     "**"


typedef struct {
    ngx_guildlog_message_item_t   *item;
    ngx_guildlog_message_text_t   *text;
    unsigned                       failed:1;
} message_sentence_t;


typedef void (*message_sentence_pt)(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);


static void message_sentence_write(void *data, ngx_guildlog_place_e place,
    const ngx_str_t *words);
static void message_sentence_name(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_sentence_title(const ngx_guildlog_message_item_t *item,
    ngx_str_t *s);
static void message_sentence_piece(void *data,
    const ngx_guildlog_change_piece_t *piece);


/* how the field of a place is written */

#define place(name, write)  [NGX_GUILDLOG_PLACE_##name] = write


static const message_sentence_pt  message_sentence_places[] = {
    place(EXECUTOR, ngx_guildlog_message_parts_mention),
    place(TARGET, ngx_guildlog_message_parts_mention),
    place(CHANNEL, ngx_guildlog_message_parts_mention),
    place(ROLE, message_sentence_name),
    place(NAME, message_sentence_name),
    place(COUNT, ngx_guildlog_message_parts_number),
    place(EMOJI, ngx_guildlog_message_parts_emoji),
    place(ACTION, message_sentence_name),
    place(VALUE, message_sentence_name),
    place(UNTIL, ngx_guildlog_message_link_until)
};


void
ngx_guildlog_message_sentence(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    message_sentence_t           sentence;
    ngx_guildlog_message_text_t  before;

    before = *text;

    sentence.item = item;
    sentence.text = text;
    sentence.failed = 0;

    item->told = ngx_guildlog_language_say(item->type, item->conf->locale,
                                       ngx_guildlog_sentence_has(item->json),
                                       message_sentence_write, &sentence);
    if (sentence.failed) {
        item->told = 0;
        *text = before;
    }
}


static void
message_sentence_write(void *data, ngx_guildlog_place_e place,
    const ngx_str_t *words)
{
    message_sentence_t *sentence = data;

    if (place == NGX_GUILDLOG_PLACE_TEXT) {
        sentence->failed |= !ngx_guildlog_message_text_put(sentence->text,
                                                           words);
        return;
    }

    message_sentence_places[place](sentence->item, sentence->text,
                                   ngx_guildlog_sentence_field(place));
}


/*
 * The role by a mention, as long as there is one; a log type by its title; or
 * what is called so.
 */

static void
message_sentence_name(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t                    s, id;
    ngx_uint_t                   max;
    ngx_guildlog_message_text_t  before;

    ngx_guildlog_message_item_get(item->json, "role_id", &id);

    if (ngx_strcmp(key, "role") == 0 && ngx_guildlog_value_is_id(&id)
        && !item->gone)
    {
        (void) ngx_guildlog_message_text_add(text, "<@&%V>", &id);
        return;
    }

    ngx_guildlog_message_item_get(item->json, key, &s);

    if (ngx_strcmp(key, "name") == 0
        && ngx_guildlog_type_label(item->type, NGX_GUILDLOG_LABEL_NAME)
           == NGX_GUILDLOG_LABEL_TYPE)
    {
        message_sentence_title(item, &s);
    }

    before = *text;
    max = ngx_min(text->left, MESSAGE_SENTENCE_NAME);

    if (!ngx_guildlog_message_text_add(text, MESSAGE_SENTENCE_BOLD)
        || !ngx_guildlog_message_text_user(text, &s, max,
                                           NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        || !ngx_guildlog_message_text_add(text, MESSAGE_SENTENCE_BOLD))
    {
        *text = before;
        (void) ngx_guildlog_message_text_add(text, "?");
    }
}


static void
message_sentence_title(const ngx_guildlog_message_item_t *item, ngx_str_t *s)
{
    ngx_uint_t  type;

    for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
        if (ngx_strlen(ngx_guildlog_types[type].key) == s->len
            && ngx_memcmp(ngx_guildlog_types[type].key, s->data, s->len) == 0)
        {
            s->data = (u_char *) ngx_guildlog_language_title(type,
                                                       item->conf->locale);
            s->len = ngx_strlen(s->data);
            return;
        }
    }
}


void
ngx_guildlog_message_sentence_changes(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    size_t                       i, n, most;
    json_t                      *changes, *change;
    ngx_str_t                    value;
    message_sentence_t           sentence;
    ngx_guildlog_message_text_t  before, line;

    changes = json_object_get(item->json, "changes");
    n = json_array_size(changes);
    most = item->compact ? MESSAGE_SENTENCE_BRIEF : n;

    sentence.item = item;
    sentence.text = text;

    json_array_foreach(changes, i, change) {

        if (i == most || text->left < MESSAGE_SENTENCE_LINE) {
            break;
        }

        before = *text;

        (void) ngx_guildlog_message_text_add(text, "%s**",
                                             text->pos == text->start ? ""
                                                                      : "\n");
        sentence.failed = 0;

        ngx_guildlog_change_name(change, item->conf->locale,
                                 message_sentence_piece, &sentence);

        (void) ngx_guildlog_message_text_add(text, ":** ");

        ngx_guildlog_message_text_open(&line, text,
                                       text->left - NGX_GUILDLOG_MESSAGE_MORE);
        sentence.text = &line;

        ngx_guildlog_change_value(change, item->conf->locale, item->gone,
                                  message_sentence_piece, &sentence);

        ngx_guildlog_message_text_close(&line, text, &value);
        sentence.text = text;

        if (value.len == 0) {
            *text = before;
        }
    }

    if (i < n) {
        (void) ngx_guildlog_message_text_add(text, "\n");
        ngx_guildlog_message_parts_more(item, text, n - i);
    }
}


static void
message_sentence_piece(void *data, const ngx_guildlog_change_piece_t *piece)
{
    message_sentence_t *sentence = data;

    ngx_uint_t                    i;
    ngx_guildlog_message_text_t  *text;

    static const char            *marks[] = {
        [NGX_GUILDLOG_CHANGE_USER] = "@",
        [NGX_GUILDLOG_CHANGE_ROLE] = "@&",
        [NGX_GUILDLOG_CHANGE_CHANNEL] = "#"
    };

    text = sentence->text;

    if (sentence->failed) {
        return;
    }

    switch (piece->kind) {

    case NGX_GUILDLOG_CHANGE_WORD:
        sentence->failed = !ngx_guildlog_message_text_put(text, &piece->text);
        return;

    case NGX_GUILDLOG_CHANGE_TIME:
        sentence->failed = !ngx_guildlog_message_text_add(text, "<t:%L:f>",
                                                          piece->ms / 1000);
        return;

    case NGX_GUILDLOG_CHANGE_USER:
    case NGX_GUILDLOG_CHANGE_ROLE:
    case NGX_GUILDLOG_CHANGE_CHANNEL:

        if (ngx_guildlog_value_is_id(&piece->id)) {
            i = piece->kind;
            sentence->failed = !ngx_guildlog_message_text_add(text, "<%s%V>",
                                                              marks[i],
                                                              &piece->id);
            return;
        }

        /* fall through */

    default: /* NGX_GUILDLOG_CHANGE_TEXT */

        if (ngx_guildlog_message_text_user(text, &piece->text,
                                           MESSAGE_SENTENCE_CHANGED,
                                           NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
            == 0)
        {
            sentence->failed = !ngx_guildlog_message_text_add(text,
                                                              "\xe2\x80\xa6");
        }
    }
}
