
/*
 * One table says which fields a sentence has places for, and when an entry has
 * them.
 */

#include "log/ngx_guildlog_sentence.h"


typedef struct {
    const char    *field;
    ngx_uint_t   (*has)(const json_t *value);
} sentence_place_t;


static ngx_uint_t sentence_is_named(const json_t *value);
static ngx_uint_t sentence_is_text(const json_t *value);
static ngx_uint_t sentence_is_number(const json_t *value);


#define place(name, field, has)                                               \
    [NGX_GUILDLOG_PLACE_##name] = { field, sentence_is_##has }


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


#define SENTENCE_PLACES  (sizeof(sentence_places) / sizeof(sentence_place_t))


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

    executor = ngx_guildlog_json_text(
                   json_object_get(json_object_get(entry, "executor"), "id"));
    target = ngx_guildlog_json_text(
                   json_object_get(json_object_get(entry, "target"), "id"));

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
