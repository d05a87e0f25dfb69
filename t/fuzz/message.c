
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_message.c, ngx_guildlog_message_body.c,
 * ngx_guildlog_message_text.c, ngx_guildlog_message_item.c,
 * ngx_guildlog_message_parts.c, ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * Entries, one a line, as messages: for any entries the platform's limits hold
 * and nobody is mentioned.
 */

#include "platform/ngx_guildlog_message.h"
#include "base/ngx_guildlog.h"
#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_message_parts.h"
#include "fuzz.h"


#define ENTRIES_MAX  16


typedef struct {
    const char  *key;
    ngx_uint_t   max;
} limit_t;


/* adds the lengths of an object's texts, each within its limit */

static ngx_uint_t
sum(json_t *object, const limit_t *limits)
{
    json_t      *value;
    ngx_uint_t   n, total;

    for (total = 0; limits->key; limits++) {
        value = json_object_get(object, limits->key);

        if (value) {
            n = ngx_guildlog_message_text_units(
                    (u_char *) json_string_value(value),
                    json_string_length(value));

            fuzz_expect(n >= 1 && n <= limits->max);
            total += n;
        }
    }

    return total;
}


static ngx_uint_t
embed(json_t *object)
{
    json_t     *fields, *field;
    size_t      i;
    ngx_uint_t  total;

    static const limit_t  texts[] = {
        { "title", 256 }, { "description", 4096 }, { NULL, 0 }
    };
    static const limit_t  footer[] = { { "text", 2048 }, { NULL, 0 } };
    static const limit_t  author[] = { { "name", 256 }, { NULL, 0 } };
    static const limit_t  pair[] = {
        { "name", 256 }, { "value", 1024 }, { NULL, 0 }
    };

    total = sum(object, texts)
            + sum(json_object_get(object, "footer"), footer)
            + sum(json_object_get(object, "author"), author);

    fields = json_object_get(object, "fields");
    fuzz_expect(json_array_size(fields) <= 25);

    json_array_foreach(fields, i, field) {
        total += sum(field, pair);
    }

    return total;
}


/* of a message with files its first part */

static ngx_str_t
json_of(const ngx_str_t *body)
{
    u_char     *end;
    ngx_str_t   json;

    static u_char  blank[] = CRLF CRLF, next[] = CRLF "--guildlog-";

    json = *body;

    if (json.data[0] == '-') {
        json.data = ngx_strnstr(body->data, (char *) blank, body->len);
        fuzz_expect(json.data != NULL);

        json.data += sizeof(blank) - 1;
        json.len = body->data + body->len - json.data;

        end = ngx_strnstr(json.data, (char *) next, json.len);
        fuzz_expect(end != NULL);

        json.len = end - json.data;
    }

    return json;
}


static void
check(const ngx_str_t *body)
{
    json_t       *message, *embeds, *object, *mentions;
    size_t        i;
    ngx_uint_t    total;
    ngx_str_t     json;
    json_error_t  error;

    static const limit_t  content[] = { { "content", 2000 }, { NULL, 0 } };

    json = json_of(body);
    message = json_loadb((char *) json.data, json.len,
                         JSON_REJECT_DUPLICATES, &error);
    fuzz_expect(json_is_object(message));

    (void) sum(message, content);

    embeds = json_object_get(message, "embeds");
    fuzz_expect(json_array_size(embeds) <= 10);
    fuzz_expect(json_array_size(embeds) > 0
                || json_object_get(message, "content"));

    total = 0;

    json_array_foreach(embeds, i, object) {
        total += embed(object);
    }

    fuzz_expect(total <= 6000);

    mentions = json_object_get(json_object_get(message, "allowed_mentions"),
                               "parse");
    fuzz_expect(json_is_array(mentions) && json_array_size(mentions) == 0);

    json_decref(message);
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_int_t                      rc;
    ngx_uint_t                     n, packed;
    ngx_guildlog_message_body_t    body;
    ngx_guildlog_message_conf_t    conf;
    ngx_guildlog_message_entry_t   entries[ENTRIES_MAX];

    static const ngx_guildlog_message_style_t  style = {
        ngx_string("https://support.example/x"),
        ngx_string("https://log.example/viewer/"), 0
    };

    ngx_memzero(&conf, sizeof(ngx_guildlog_message_conf_t));

    conf.format = fuzz_pick(&p, &len, 4);
    conf.locale = fuzz_pick(&p, &len, 19);
    conf.buttons = fuzz_pick(&p, &len, 8);
    conf.spoilers = fuzz_pick(&p, &len, 2);
    conf.color = -1;
    conf.style = &style;
    ngx_str_set(&conf.guild, "123456789012345678");

    if (ngx_guildlog_utf8_valid(p, len) != len) {
        return;
    }

    for (n = 0; n < ENTRIES_MAX && (n == 0 || len); n++) {
        entries[n].doc = fuzz_line(&p, &len);
        entries[n].conf = conf;
    }

    rc = ngx_guildlog_message_build(pool, entries, n, &body, &packed);

    if (rc == NGX_DECLINED) {
        return;
    }

    fuzz_expect(rc == NGX_OK);
    fuzz_expect(packed >= 1 && packed <= n && packed <= 10);

    check(&body.text);
}
