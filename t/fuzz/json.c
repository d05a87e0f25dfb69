
/*
 * Links ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * Parsed text is valid UTF-8; a written value is read as the same value.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog.h"
#include "fuzz.h"


static void
cut(u_char *p, size_t len, size_t max)
{
    size_t  kept;

    kept = ngx_guildlog_utf8_cut(p, len, max);

    fuzz_expect(kept <= max && kept <= len);
    fuzz_expect(ngx_guildlog_utf8_valid(p, kept) == kept);
    fuzz_expect(kept == len || kept + 4 > max);
}


static void
written(ngx_pool_t *pool, ngx_str_t *s)
{
    json_t               *json, *value;
    ngx_str_t             text, error;
    ngx_guildlog_json_t   w;

    ngx_guildlog_json_init(&w, pool, 16);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "key");
    ngx_guildlog_json_string(&w, s);
    ngx_guildlog_json_end(&w);
    fuzz_expect(!w.failed);

    text.data = w.start;
    text.len = w.pos - w.start;

    json = ngx_guildlog_json_parse(pool, &text, &error);
    fuzz_expect(json != NULL);

    value = json_object_get(json, "key");
    fuzz_expect(json_string_length(value) == s->len);
    fuzz_expect(ngx_memcmp(json_string_value(value), s->data, s->len) == 0);
}


/* our own reader and jansson read the same */

static void
read_alike(json_t *json, u_char *p, size_t len)
{
    char          *ours, *theirs;
    json_t        *other;
    json_error_t   cause;

    if (json == NULL) {
        return;
    }

    other = json_loadb((char *) p, len, JSON_REJECT_DUPLICATES, &cause);
    fuzz_expect(json_equal(json, other));

    /* the keys come in the same order, too */

    ours = json_dumps(json, JSON_COMPACT);
    theirs = json_dumps(other, JSON_COMPACT);
    fuzz_expect(ngx_strcmp(ours, theirs) == 0);

    free(ours);
    free(theirs);
    json_decref(other);
    json_decref(json);
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    json_t     *json;
    ngx_str_t   text, error;

    text.data = p;
    text.len = len;

    ngx_str_null(&error);

    json = ngx_guildlog_json_parse(pool, &text, &error);

    if (json == NULL) {
        fuzz_refused(&error);
        fuzz_expect(ngx_guildlog_json_read(p, len) == NULL);

    } else {
        fuzz_expect(json_is_object(json) || json_is_array(json));
        fuzz_expect(ngx_guildlog_utf8_valid(p, len) == len);
    }

    read_alike(ngx_guildlog_json_read(p, len), p, len);

    text.len = ngx_guildlog_utf8_valid(p, len);
    fuzz_expect(text.len <= len);
    fuzz_expect(ngx_guildlog_utf8_length(p, text.len) <= text.len);

    cut(p, text.len, len / 2);
    written(pool, &text);
}
