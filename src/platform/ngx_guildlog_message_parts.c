
/*
 * The parts stand in one table, whatever the format.
 */

#include "platform/ngx_guildlog_message_parts.h"
#include "log/ngx_guildlog_change.h"
#include "log/ngx_guildlog_language.h"


/* lengths in UTF-16 units */

#define MESSAGE_PARTS_ID         26   /* behind a name */
#define MESSAGE_PARTS_FILE       90   /* one of many, and its size */
#define MESSAGE_PARTS_FILE_NAME  60
#define MESSAGE_PARTS_NAME       60   /* in the compact formats */

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


#define part(label, write, key, embed, plain, aside, place)                   \
    { NGX_GUILDLOG_LABEL_##label, write, key, embed, plain, aside,            \
      NGX_GUILDLOG_PLACE_##place }


/* how the field of a place is written */

#define place(name, write)  [NGX_GUILDLOG_PLACE_##name] = write


static void message_parts_who(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_mention(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_role(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_text(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_words(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_number(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_emoji(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_parts_files(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static ngx_uint_t message_parts_is_known(
    const ngx_guildlog_message_item_t *item, json_t *file);
static void message_parts_file(ngx_guildlog_message_text_t *text,
    const json_t *file);
static void message_sentence_write(void *data, ngx_guildlog_place_e place,
    const ngx_str_t *words);
static void message_sentence_name(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
static void message_sentence_title(const ngx_guildlog_message_item_t *item,
    ngx_str_t *s);
static void message_sentence_piece(void *data,
    const ngx_guildlog_change_piece_t *piece);


static const message_sentence_pt  message_sentence_places[] = {
    place(EXECUTOR, message_parts_mention),
    place(TARGET, message_parts_mention),
    place(CHANNEL, message_parts_mention),
    place(ROLE, message_sentence_name),
    place(NAME, message_sentence_name),
    place(COUNT, message_parts_number),
    place(EMOJI, message_parts_emoji),
    place(ACTION, message_sentence_name),
    place(VALUE, message_sentence_name),
    place(UNTIL, ngx_guildlog_message_link_until)
};


/* in the order of their appearance; all at their limits fit a message */

const ngx_guildlog_message_part_t
    ngx_guildlog_message_parts[NGX_GUILDLOG_MESSAGE_PARTS] =
{
    part(EXECUTOR, message_parts_who, "executor", 320, 110, 1, EXECUTOR),
    part(TARGET, message_parts_who, "target", 320, 110, 1, TARGET),
    part(CHANNEL, message_parts_who, "channel", 320, 110, 1, CHANNEL),
    part(ROLE, message_parts_role, "role", 256, 80, 1, ROLE),
    part(NAME, message_parts_text, "name", 256, 80, 1, NAME),
    part(COUNT, message_parts_number, "count", 24, 24, 1,
         COUNT),
    part(EMOJI, message_parts_emoji, "emoji", 160, 100, 1,
         EMOJI),
    part(ACTION, message_parts_text, "action", 160, 60, 1, ACTION),
    part(UNTIL, ngx_guildlog_message_link_until, "until", 60, 60, 1, UNTIL),
    part(WRITTEN, ngx_guildlog_message_link_written, "messages", 30, 30, 1,
         TEXT),
    part(MESSAGE, ngx_guildlog_message_link_id, "messages", 24, 24, 1, TEXT),
    part(REGISTERED, ngx_guildlog_message_link_registered, "target", 64, 64, 1,
         TEXT),
    part(VALUE, message_parts_words, "value", 512, 120, 0, VALUE),
    part(REASON, message_parts_words, "reason", 1024, 240, 0, TEXT),
    part(ATTACHMENTS, message_parts_files, "messages", 512, 200, 0, TEXT),
    part(IMAGE, ngx_guildlog_message_link_image, "image", 1024, 300, 0, TEXT)
};


/*
 * What the sentence leaves open: all of it, or the id of what it has only the
 * name of.  Where there is no line for the person, here are name and id.
 */

static void
message_parts_who(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_uint_t                         max, told, person;
    ngx_guildlog_message_text_t        before;
    const ngx_guildlog_message_who_t  *who;

    who = ngx_guildlog_message_item_who(item, key);

    if (who == &item->executor && who->zero) {
        (void) ngx_guildlog_message_text_add(text, "%s",
                   ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_DASHBOARD,
                                               item->conf->locale));
        return;
    }

    if (item->compact) {
        if (who->known || who->name.len) {
            message_parts_mention(item, text, key);
        }

        return;
    }

    told = item->told & who->places;
    person = item->plain && who == ngx_guildlog_message_item_person(item);

    if (who->mention && !told) {
        (void) ngx_guildlog_message_text_add(text, "<%s%V>", who->mention,
                                             &who->id);
    }

    if (who->mention && !person) {
        return;
    }

    before = *text;
    max = text->left - ngx_min(text->left, MESSAGE_PARTS_ID);

    if (text->pos != text->start) {
        (void) ngx_guildlog_message_text_add(text, " ");
    }

    if ((told && !person)
        || ngx_guildlog_message_text_user(text, &who->name, max,
                                          NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
           == 0)
    {
        *text = before;
    }

    if (who->known && !(told && !person && who->name.len == 0)) {
        (void) ngx_guildlog_message_text_add(text, text->pos == text->start
                                           ? "`%V`" : " (`%V`)", &who->id);
    }
}


/* somebody or some channel in a sentence: a mention, else the name */

static void
message_parts_mention(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_guildlog_message_text_t        before;
    const ngx_guildlog_message_who_t  *who;

    who = ngx_guildlog_message_item_who(item, key);

    if (who->mention) {
        (void) ngx_guildlog_message_text_add(text, "<%s%V>", who->mention,
                                             &who->id);
        return;
    }

    before = *text;

    if (ngx_guildlog_message_text_add(text, "**")
        && ngx_guildlog_message_text_user(text, &who->name, MESSAGE_PARTS_NAME,
                                          NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        && ngx_guildlog_message_text_add(text, "**"))
    {
        return;
    }

    *text = before;

    if (who->known) {
        (void) ngx_guildlog_message_text_add(text, "`%V`", &who->id);

    } else {
        (void) ngx_guildlog_message_text_add(text, "?");
    }
}


/*
 * What the sentence says is not said again; how much it says of whom it names,
 * their part knows.  Those who did it to themselves are named once.
 */

ngx_uint_t
ngx_guildlog_message_parts_shows(const ngx_guildlog_message_item_t *item,
    const ngx_guildlog_message_part_t *part)
{
    ngx_uint_t            own;
    ngx_guildlog_label_e  label;

    if (item->same && part->place == NGX_GUILDLOG_PLACE_EXECUTOR) {
        return 0;
    }

    /* nobody made an alert but the service, and it mentions its role */

    if (item->alert && (part->place == NGX_GUILDLOG_PLACE_EXECUTOR
                        || part->place == NGX_GUILDLOG_PLACE_ACTION
                        || part->place == NGX_GUILDLOG_PLACE_ROLE))
    {
        return 0;
    }

    if (part->place == NGX_GUILDLOG_PLACE_TEXT) {
        return 1;
    }

    if (item->told & (1 << part->place)) {
        return !item->compact && (part->place <= NGX_GUILDLOG_PLACE_CHANNEL
                                  || part->place == NGX_GUILDLOG_PLACE_ROLE);
    }

    if (item->compact && item->same
        && part->place == NGX_GUILDLOG_PLACE_TARGET)
    {
        return !(item->told & (1 << NGX_GUILDLOG_PLACE_EXECUTOR));
    }

    /*
     * Before and after of what "changes" tells are no values of their own; nor
     * is, in an entry of ours, what has a word for programs.
     */

    own = item->marks & NGX_GUILDLOG_MARK_OWN;
    label = ngx_guildlog_type_label(item->type, part->label);

    if (own && label == NGX_GUILDLOG_LABEL_ACTION) {
        return 0;
    }

    if (json_array_size(json_object_get(item->json, "changes")) == 0) {
        return 1;
    }

    return label != NGX_GUILDLOG_LABEL_BEFORE
           && label != NGX_GUILDLOG_LABEL_AFTER
           && !(own && (label == NGX_GUILDLOG_LABEL_LIST
                        || label == NGX_GUILDLOG_LABEL_VALUE
                        || label == NGX_GUILDLOG_LABEL_ACCESS));
}


/*
 * A role that is there by a mention, one that is gone by name and id; of that
 * the id alone where the sentence has the name.
 */

static void
message_parts_role(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t   id;
    ngx_uint_t  told, known;

    id = ngx_guildlog_json_get(item->json, "role_id");

    told = item->told & (1 << NGX_GUILDLOG_PLACE_ROLE);
    known = ngx_guildlog_value_is_id(&id);

    if (known && !item->gone) {
        if (!told) {
            (void) ngx_guildlog_message_text_add(text, "<@&%V>", &id);
        }

        return;
    }

    if (!told) {
        message_parts_text(item, text, key);
    }

    if (known) {
        (void) ngx_guildlog_message_text_add(text, text->pos == text->start
                                           ? "`%V`" : " (`%V`)", &id);
    }
}


/* what is the target's name, too, is said there */

static void
message_parts_text(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t  s;

    s = ngx_guildlog_json_get(item->json, key);

    if (s.len && ngx_guildlog_str_eq(&s, &item->target.name)) {
        return;
    }

    (void) ngx_guildlog_message_text_user(text, &s, text->left,
                                          NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN);
}


/* the same of what somebody wrote, not only named */

static void
message_parts_words(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    ngx_str_t   s;
    ngx_uint_t  flags;

    s = ngx_guildlog_json_get(item->json, key);

    flags = NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN|NGX_GUILDLOG_MESSAGE_TEXT_SAID;

    if (!item->compact) {
        flags |= NGX_GUILDLOG_MESSAGE_TEXT_LINES;
    }

    (void) ngx_guildlog_message_text_user(text, &s, text->left, flags);
}


static void
message_parts_number(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t      *value;
    json_int_t   n;

    value = json_object_get(item->json, key);

    if (json_is_integer(value)) {
        n = json_integer_value(value);

        /* nginx cannot print the smallest of all */

        (void) ngx_guildlog_message_text_add(text, "%L",
                           (int64_t) ngx_max(n, -INT64_MAX));
    }
}


/* one of the guild's own is shown, as long as it is there */

static void
message_parts_emoji(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    json_t                      *emoji;
    ngx_str_t                    id, name;
    ngx_guildlog_message_text_t  before;

    emoji = json_object_get(item->json, key);

    id = ngx_guildlog_json_get(emoji, "id");
    name = ngx_guildlog_json_get(emoji, "name");

    if (ngx_guildlog_value_is_id(&id) && name.len >= 2 && name.len <= 32
        && ngx_guildlog_is_letters(&name, "_"))
    {
        (void) ngx_guildlog_message_text_add(text, "<%s:%V:%V> ",
                   json_is_true(json_object_get(emoji, "animated")) ? "a" : "",
                   &name, &id);
    }

    before = *text;

    if (ngx_guildlog_message_text_user(text, &name, text->left,
                                       NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        == 0 && ngx_guildlog_value_is_id(&id))
    {
        *text = before;
        (void) ngx_guildlog_message_text_add(text, "`%V`", &id);
    }
}


static void
message_parts_files(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key)
{
    size_t      i, j;
    json_t     *message, *file, *files;
    ngx_uint_t  hidden;

    hidden = 0;

    json_array_foreach(json_object_get(item->json, key), i, message) {
        files = json_object_get(message, "attachments");

        json_array_foreach(files, j, file) {

            if (i && message_parts_is_known(item, file)) {
                continue;
            }

            if (hidden || text->left < MESSAGE_PARTS_FILE
                                       + NGX_GUILDLOG_MESSAGE_MORE)
            {
                hidden++;
                continue;
            }

            if (text->pos != text->start) {
                (void) ngx_guildlog_message_text_add(text, ", ");
            }

            message_parts_file(text, file);
        }
    }

    if (hidden) {
        (void) ngx_guildlog_message_text_add(text, " ");
        ngx_guildlog_message_parts_more(item, text, hidden);
    }
}


/* a file that stays when its message is edited stands in both versions */

static ngx_uint_t
message_parts_is_known(const ngx_guildlog_message_item_t *item, json_t *file)
{
    size_t   i;
    json_t  *before, *messages;

    if (!(item->marks & NGX_GUILDLOG_MARK_EDIT)) {
        return 0;
    }

    messages = json_object_get(item->json, "messages");

    json_array_foreach(json_object_get(json_array_get(messages, 0),
                                       "attachments"), i, before)
    {
        if (json_equal(before, file)) {
            return 1;
        }
    }

    return 0;
}


static void
message_parts_file(ngx_guildlog_message_text_t *text, const json_t *file)
{
    u_char       unit;
    json_t      *size;
    ngx_str_t    name;
    json_int_t   tenths;

    name = ngx_guildlog_json_get(file, "name");

    if (ngx_guildlog_message_text_user(text, &name, MESSAGE_PARTS_FILE_NAME,
                                       NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        == 0)
    {
        (void) ngx_guildlog_message_text_add(text, "?");
    }

    size = json_object_get(file, "size");

    if (!json_is_integer(size) || json_integer_value(size) < 0) {
        return;
    }

    tenths = json_integer_value(size) / 1024 * 10
             + json_integer_value(size) % 1024 * 10 / 1024;

    unit = 'K';

    if (tenths >= 10240) {
        tenths /= 1024;
        unit = 'M';
    }

    (void) ngx_guildlog_message_text_add(text, " (%L.%L %cB)",
                                         (int64_t) tenths / 10,
                                         (int64_t) tenths % 10, unit);
}


void
ngx_guildlog_message_parts_more(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t n)
{
    if (n) {
        (void) ngx_guildlog_message_text_add(text,
                   ngx_guildlog_message_item_label(item,
                                                   NGX_GUILDLOG_LABEL_MORE),
                   n);
    }
}


/*
 * What happened, as one sentence, and what changed, a line each.
 */

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

    id = ngx_guildlog_json_get(item->json, "role_id");

    if (ngx_strcmp(key, "role") == 0 && ngx_guildlog_value_is_id(&id)
        && !item->gone)
    {
        (void) ngx_guildlog_message_text_add(text, "<@&%V>", &id);
        return;
    }

    s = ngx_guildlog_json_get(item->json, key);

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
            *s = ngx_guildlog_word(
                     ngx_guildlog_language_title(type, item->conf->locale));
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

        ngx_guildlog_change_value(change, item->conf->locale, item->type,
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
