
/*
 * A sentence has alternatives.  The first one whose places the entry has is
 * said; what is in brackets is left out if the entry has not the place in it.
 */

#include "log/ngx_guildlog_language.h"


/* bytes of a sentence, as ngx_guildlog_language.awk writes it */

#define LANGUAGE_LAST_PLACE  NGX_GUILDLOG_PLACE_UNTIL
#define LANGUAGE_OPEN        034
#define LANGUAGE_CLOSE       035
#define LANGUAGE_OR          036

#define language_bit(place)  ((ngx_uint_t) 1 << (place))


typedef struct {
    const char    *field;
    ngx_uint_t   (*has)(const json_t *value);
} sentence_place_t;


#define place(name, field, has)                                               \
    [NGX_GUILDLOG_PLACE_##name] = { field, sentence_is_##has }


#define SENTENCE_PLACES  (sizeof(sentence_places) / sizeof(sentence_place_t))


static const u_char *language_choose(const u_char *p, ngx_uint_t has);
static const u_char *language_fits(const u_char *p, ngx_uint_t has,
    u_char until);
static ngx_uint_t sentence_is_named(const json_t *value);
static ngx_uint_t sentence_is_text(const json_t *value);
static ngx_uint_t sentence_is_number(const json_t *value);


static const sentence_place_t  sentence_places[] = {
    place(EXECUTOR, "executor", named),
    place(TARGET, "target", named),
    place(CHANNEL, "channel", named),
    place(ROLE, "role", text),
    place(NAME, "name", text),
    place(COUNT, "count", number),
    place(EMOJI, "emoji", named),
    place(ACTION, "action", text),
    place(VALUE, "value", text),
    place(UNTIL, "until", number)
};


ngx_guildlog_label_e
ngx_guildlog_type_label(ngx_uint_t type, ngx_guildlog_label_e label)
{
    return label < NGX_GUILDLOG_TYPE_LABELS
           ? ngx_guildlog_types[type].labels[label] : label;
}


const char *
ngx_guildlog_language_title(ngx_uint_t type, ngx_uint_t locale)
{
    return ngx_guildlog_titles[locale < NGX_GUILDLOG_LOCALES ? locale : 0]
                              [type];
}


const char *
ngx_guildlog_language_label(ngx_guildlog_label_e label, ngx_uint_t locale)
{
    return ngx_guildlog_labels[locale < NGX_GUILDLOG_LOCALES ? locale : 0]
                              [label];
}


ngx_uint_t
ngx_guildlog_language_say(ngx_uint_t type, ngx_uint_t locale, ngx_uint_t has,
    ngx_guildlog_language_pt write, void *data)
{
    ngx_str_t      text;
    ngx_uint_t     all, said;
    const u_char  *p, *sentence, *start;

    sentence = (const u_char *)
               ngx_guildlog_sentences[locale < NGX_GUILDLOG_LOCALES ? locale
                                                                    : 0][type];
    all = has & ~language_bit(NGX_GUILDLOG_PLACE_TEXT);

    if (has == all) {
        p = language_choose(sentence, all);

    } else {
        has = all & ~language_bit(NGX_GUILDLOG_PLACE_TARGET);
        p = language_choose(sentence, has);

        if (p == NULL) {
            has = all & ~language_bit(NGX_GUILDLOG_PLACE_EXECUTOR);
            p = language_choose(sentence, has);
        }
    }

    said = 0;

    while (p && *p != LANGUAGE_OR && *p != '\0') {

        if (*p == LANGUAGE_OPEN) {
            if (language_fits(++p, has, LANGUAGE_CLOSE) == NULL) {
                p = (const u_char *) ngx_strchr(p, LANGUAGE_CLOSE);
            }

        } else if (*p == LANGUAGE_CLOSE) {
            p++;

        } else if (*p <= LANGUAGE_LAST_PLACE) {
            ngx_str_null(&text);
            write(data, *p, &text);
            said |= language_bit(*p++);

        } else {
            start = p;

            while (*p > LANGUAGE_LAST_PLACE
                   && (*p < LANGUAGE_OPEN || *p > LANGUAGE_OR))
            {
                p++;
            }

            text.data = (u_char *) start;
            text.len = p - start;
            write(data, NGX_GUILDLOG_PLACE_TEXT, &text);
        }
    }

    return said;
}


/* the first alternative that fits */

static const u_char *
language_choose(const u_char *p, ngx_uint_t has)
{
    for ( ;; ) {
        if (language_fits(p, has, LANGUAGE_OR)) {
            return p;
        }

        while (*p != LANGUAGE_OR) {
            if (*p++ == '\0') {
                return NULL;
            }
        }

        p++;
    }
}


/* the end, if all places up to it are there: but for those in brackets */

static const u_char *
language_fits(const u_char *p, ngx_uint_t has, u_char until)
{
    ngx_uint_t  aside;

    aside = 0;

    for ( /* void */ ; *p != until && *p != '\0'; p++) {

        if (*p == LANGUAGE_OPEN) {
            aside = 1;

        } else if (*p == LANGUAGE_CLOSE) {
            aside = 0;

        } else if (*p <= LANGUAGE_LAST_PLACE && !aside
                   && !(has & language_bit(*p)))
        {
            return NULL;
        }
    }

    return p;
}


/*
 * One table says which fields a sentence has places for, and when an entry has
 * them.
 */

ngx_uint_t
ngx_guildlog_sentence_has(const json_t *entry)
{
    ngx_str_t                executor, target;
    ngx_uint_t               i, has;
    const sentence_place_t  *place;

    has = 0;

    for (i = NGX_GUILDLOG_PLACE_TEXT + 1; i < SENTENCE_PLACES; i++) {
        place = &sentence_places[i];

        if (place->has(json_object_get(entry, place->field))) {
            has |= 1 << i;
        }
    }

    executor = ngx_guildlog_json_get(json_object_get(entry, "executor"), "id");
    target = ngx_guildlog_json_get(json_object_get(entry, "target"), "id");

    if (executor.len == 1 && executor.data[0] == '0') {
        has &= ~(1 << NGX_GUILDLOG_PLACE_EXECUTOR);
    }

    if (executor.len && ngx_guildlog_str_eq(&executor, &target)) {
        has |= 1 << NGX_GUILDLOG_PLACE_TEXT;
    }

    return has;
}


const char *
ngx_guildlog_sentence_field(ngx_guildlog_place_e place)
{
    return sentence_places[place].field;
}


static ngx_uint_t
sentence_is_named(const json_t *value)
{
    return json_string_length(json_object_get(value, "id"))
           || json_string_length(json_object_get(value, "name"));
}


static ngx_uint_t
sentence_is_text(const json_t *value)
{
    return json_string_length(value) != 0;
}


static ngx_uint_t
sentence_is_number(const json_t *value)
{
    return json_is_integer(value);
}
