
/*
 * Sentences of refusals are written where the mistake is found, in C and in
 * SQL: "<path>: <what is wrong>", or without a path.  Here is the table of all
 * of them, and where a sentence becomes JSON its word joins it.
 */

#include "api/ngx_guildlog_value.h"


typedef struct {
    const char  *code;
    const char  *says;  /* '<' and '>': the least and the most that the rule
                           allows; '#': another number; '*': any end of it
                           without a colon */
} refusal_t;


typedef struct {
    ngx_str_t    path;
    ngx_str_t    min;
    ngx_str_t    max;
} refusal_told_t;


static const refusal_t *refusal_row(u_char *p, u_char *last,
    refusal_told_t *told);
static ngx_uint_t refusal_is(const char *says, u_char *p, u_char *last,
    refusal_told_t *told);


/*
 * A code is never renamed and never means something else: clients know it, and
 * people's words hang on it.  The first row that fits counts.
 */

static const refusal_t  refusal_table[] = {

    /* a field or a parameter */

    { "required", "is required" },
    { "required", "is required for this kind" },
    { "required", "required" },
    { "unknown_field", "unknown field" },
    { "unknown_field", "only targets have it" },
    { "unknown_field", "only the filter \"words\" has them" },
    { "nothing_set", "must set at least one field" },
    { "given_twice", "given twice" },
    { "one_value", "must be one value: repeat the parameter for more" },
    { "wrong_type", "must be a string" },
    { "wrong_type", "must be true or false" },
    { "wrong_type", "must be an array" },
    { "wrong_type", "must be an object" },
    { "wrong_type", "must be a JSON object" },
    { "wrong_type", "must be a JSON object or array" },
    { "wrong_type", "must be a string, or an object with id and name" },
    { "wrong_type",
      "must be null, a string, a number, a boolean or an array of strings" },
    { "out_of_range", "must be an integer from < to >" },
    { "out_of_range", "must be an integer, at least <" },
    { "out_of_range", "must be < to >" },
    { "out_of_range", "must be < or more" },
    { "out_of_range", "the number is out of range" },
    { "wrong_length", "must be < to > characters long" },
    { "wrong_length", "must be at most > characters long" },
    { "wrong_length", "must have < to > characters" },
    { "wrong_length", "must be a text of < to > bytes" },
    { "wrong_count", "must have < to > items" },
    { "wrong_count", "must have at most > items" },
    { "wrong_count", "must have at most > entries" },
    { "wrong_count", "must be an array of < to > objects" },
    { "wrong_count", "at most > items" },
    { "wrong_count", "must name at most > types" },
    { "not_an_id", "must be a string of # to # digits, from # to #" },
    { "not_an_id", "must be # to # digits, at most #" },
    { "not_an_id", "must be an ID" },
    { "not_an_id", "must be the ID of a server" },
    { "not_an_id", "must be the id of an entry" },
    { "not_a_url", "must be an http or https URL" },
    { "not_a_url", "must be an https URL" },
    { "not_a_hash", "must be # to # letters, digits or underscores" },
    { "not_a_time", "must be a time in ms" },
    { "not_a_time",
      "must be an integer from < to >, in milliseconds since 1970" },
    { "not_a_time", "must be the time of an entry" },
    { "not_a_cursor", "must be the cursor of the previous page" },
    { "not_a_cursor", "is not one" },
    { "unknown_value", "must be one of *" },
    { "unknown_value", "unknown language" },
    { "unknown_value", "is no change of the configuration with this method" },
    { "unknown_value", "names nothing that is there" },
    { "has_nul", "must not contain NUL" },
    { "not_utf8", "is not valid UTF-8" },
    { "not_utf8", "\\u is not followed by a character" },
    { "not_decoded", "broken percent-encoding" },

    /* a request, a body or an entry */

    { "malformed", "malformed request, or a header is too large" },
    { "too_large", "must be at most > bytes long" },
    { "wrong_media_type", "must be application/json" },
    { "wrong_media_type", "must be application/json or application/x-ndjson" },
    { "not_json", "not valid JSON at line #, column #" },
    { "not_json", "ends too early" },
    { "not_json", "something stands behind its end" },
    { "not_json", "brackets do not match" },
    { "too_deep", "nested deeper than # levels" },
    { "entry_too_large", "must be at most > bytes" },
    { "entry_too_old",
      "must be within the last # days and at most # s ahead" },

    /* what is configured */

    { "cannot_be_off", "cannot be off" },
    { "taken", "is taken" },
    { "text_or_image", "needed where there is no image" },
    { "unknown_channel", "belongs to another server" },
    { "unknown_role", "is none of this server" },
    { "role_of_everybody", "everybody cannot be mentioned" },
    { "needs_plan", "needs the Pro or Pro Lite plan" },
    { "needs_admin", "takes an Admin token" },
    { "tags_need_plan", "more than 25 tags need the Pro plan" },
    { "too_many_tags", "there are at most 1,000 tags" },
    { "alerts_need_plan", "more than one alert needs a larger plan" },
    { "alerts_need_plan", "more than 5 alerts need the Pro plan" },
    { "too_many_alerts", "there are at most 20 alerts" },
    { "too_many_ignored", "an ignore list has at most 1000 entries" },
    { "too_many_people", "at most 200 users have access" },
    { "too_many_tokens", "a server has at most 5 live tokens" },
    { "too_many_active_ignores", "at most 1,000 requests run at a time" },
    { "too_many_channels", "too many log channels that were used are still "
                           "being left, try again later" },
    { "not_automatic", "cannot be fixed automatically" },
    { "not_replayed", "what is * is not sent again" },
    { "may_duplicate", "has to be true, what is unconfirmed may be there "
                       "already" },

    /* what is not there */

    { "unknown_server", "server: unknown" },
    { "unknown_lane", "lane: unknown" },
    { "forgotten", "server: is being forgotten" },

    /* what passes */

    { "too_many_streams", "a token has at most # streams open" },
    { "too_many_exports", "a token has at most # exports open" },
    { "too_soon", "a test message was asked for less than a minute ago" },
    { "busy", "too many requests of this server at once, try again later" },
    { "send_again", "nothing was recorded, send it again" },
    { "send_again", "was not recorded in time, send it again" },
    { "send_again", "is to be sent again" },
    { "interrupted", "this took longer than a worker that exits may wait, "
                     "try again" },
    { "database_away", "the database is not available, try again later" },
    { "database_away", "you are not signed out: the database is not "
                       "available, try again later" },
    { "platform_away", "the chat platform does not tell who may do this, "
                       "try again later" },
    { "no_partition", "there is no partition for tomorrow: the keeper has not "
                      "made one for two weeks" },
    { "no_signing_key", "no key of this location signs tokens" },
    { "failed", "the request could not be carried out, try again later" },

    /* one of one value; and a sentence of a later schema */

    { "unknown_value", "must be *" },
    { "refused", NULL }
};


/* a path may hold what a client has written, so it ends at any colon */

void
ngx_guildlog_refusal_write(ngx_guildlog_json_t *w, const ngx_str_t *sentence)
{
    u_char           *p, *last;
    ngx_str_t         code;
    refusal_told_t    told;
    const refusal_t  *row;

    last = sentence->data + sentence->len;
    ngx_memzero(&told, sizeof(refusal_told_t));

    row = refusal_row(sentence->data, last, &told);

    for (p = sentence->data; row->says == NULL && last - p > 2; p++) {

        if (p[0] != ':' || p[1] != ' ') {
            continue;
        }

        row = refusal_row(p + 2, last, &told);

        if (row->says) {
            told.path.data = sentence->data;
            told.path.len = p - sentence->data;
        }
    }

    code = ngx_guildlog_word(row->code);

    ngx_guildlog_json_member(w, "error", sentence);
    ngx_guildlog_json_member(w, "code", &code);

    if (told.path.len) {
        ngx_guildlog_json_member(w, "field", &told.path);
    }

    if (told.min.len) {
        ngx_guildlog_json_key(w, "min");
        ngx_guildlog_json_raw(w, &told.min);
    }

    if (told.max.len) {
        ngx_guildlog_json_key(w, "max");
        ngx_guildlog_json_raw(w, &told.max);
    }
}


/* the row that says so, or the last one */

static const refusal_t *
refusal_row(u_char *p, u_char *last, refusal_told_t *told)
{
    const refusal_t  *row;

    for (row = refusal_table; row->says; row++) {

        ngx_str_null(&told->min);
        ngx_str_null(&told->max);

        if (refusal_is(row->says, p, last, told)) {
            break;
        }
    }

    return row;
}


static ngx_uint_t
refusal_is(const char *says, u_char *p, u_char *last, refusal_told_t *told)
{
    ngx_str_t  number;

    for ( /* void */ ; *says; says++) {

        if (*says == '*') {
            while (p < last && *p != ':' && *p != (u_char) says[1]) {
                p++;
            }

            continue;
        }

        if (*says != '<' && *says != '>' && *says != '#') {
            if (p == last || *p++ != (u_char) *says) {
                return 0;
            }

            continue;
        }

        number.data = p;

        if (p < last && *p == '-') {
            p++;
        }

        while (p < last && *p >= '0' && *p <= '9') {
            p++;
        }

        number.len = p - number.data;

        if (number.len == 0) {
            return 0;
        }

        if (*says == '<') {
            told->min = number;

        } else if (*says == '>') {
            told->max = number;
        }
    }

    return p == last;
}
