
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_message.c, ngx_guildlog_message_body.c,
 * ngx_guildlog_message_text.c, ngx_guildlog_message_item.c,
 * ngx_guildlog_message_parts.c, ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * The message of each log type, with the fields that log-types.tsv names,
 * is that of t/unit/messages.txt: in English, German and Japanese, as plain
 * text.  With "write" as its argument this program writes that file, to be read
 * by eye.
 */

#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_message.h"
#include "tap.h"


#define TYPES  "conf/viewer/log-types.tsv"
#define TABLE  "t/unit/messages.txt"


static const struct {
    const char  *field;
    const char  *json;
} samples[] = {
    { "executor", "{\"id\":\"200000000000000001\",\"name\":\"Ann\"}" },
    { "target", "{\"id\":\"200000000000000002\",\"name\":\"Bob\"}" },
    { "channel", "{\"id\":\"300000000000000001\",\"name\":\"general\"}" },
    { "role", "\"Helpers\"" },
    { "role_id", "\"500000000000000001\"" },
    { "name", "\"the name\"" },
    { "reason", "\"Rule 3\"" },
    { "count", "4" },
    { "content", "\"Hello <@200000000000000001>!\"" },
    { "contentAfter", "\"Hello again!\"" },
    { "emoji", "{\"id\":\"600000000000000001\",\"name\":\"wave\"}" },
    { "action", "\"an action\"" },
    { "value", "\"a value\"" },
    { "until", "1754003600000" },
    { "changes", "[{\"key\":\"name\",\"old\":\"old\",\"new\":\"new\"}]" },
    { "image", "{\"before\":\"https://cdn.example/a.png\","
               "\"after\":\"https://cdn.example/b.png\"}" },
    { "messages", "[{\"id\":\"700000000000000001\",\"content\":\"Hello\","
                  "\"authorId\":\"200000000000000002\","
                  "\"timestamp\":1753990000000,"
                  "\"attachments\":[{\"name\":\"a.png\",\"size\":2048}]}]" }
};

#define SAMPLES  (sizeof(samples) / sizeof(samples[0]))


/* in place of them, in entries that guildlog writes itself */

static const struct {
    ngx_uint_t   type;
    const char  *field;
    const char  *json;
} others[] = {
    { 68, "changes", "[{\"key\":\"category_voice\","
          "\"old\":\"300000000000000001\",\"new\":\"0\"},"
          "{\"key\":\"main_channel\",\"old\":null,"
          "\"new\":\"300000000000000002\"}]" },
    { 69, "name", "\"channels\"" },
    { 69, "value", "\"300000000000000001\"" },
    { 69, "changes", "[{\"key\":\"ignored_channels\",\"old\":null,"
          "\"new\":\"300000000000000001\"}]" },
    { 70, "changes", "[{\"key\":\"locale\",\"old\":\"en-GB\","
          "\"new\":\"de\"}]" },
    { 75, "changes", "[{\"key\":\"color\",\"old\":null,\"new\":255}]" },
    { 76, "name", "\"filter links\"" },
    { 76, "changes", "[{\"key\":\"enabled\",\"old\":false,\"new\":true},"
          "{\"key\":\"format_type\",\"old\":0,\"new\":3}]" },
    { 77, "name", "\"messageDelete\"" },
    { 77, "changes", "[{\"key\":\"log_channel\","
          "\"old\":\"300000000000000001\",\"new\":null}]" },
    { 99, "changes", "[{\"key\":\"level\",\"old\":\"view\","
          "\"new\":\"manage\"}]" }
};

#define OTHERS  (sizeof(others) / sizeof(others[0]))


static const ngx_guildlog_message_style_t  style = {
    ngx_null_string, ngx_null_string, 0
};


/* is it one of "field[=label]: meaning; field: ..."? */

static ngx_uint_t
uses(const char *fields, const char *field)
{
    size_t       len;
    const char  *p;

    len = strlen(field);

    for (p = fields; p; p = strstr(p, "; ")) {
        p += (p != fields) ? 2 : 0;

        if (strncmp(p, field, len) == 0 && strchr(":=", p[len])) {
            return 1;
        }
    }

    return 0;
}


static const char *
sample(ngx_uint_t type, ngx_uint_t i)
{
    ngx_uint_t  k;

    for (k = 0; k < OTHERS; k++) {
        if (others[k].type == type
            && strcmp(others[k].field, samples[i].field) == 0)
        {
            return others[k].json;
        }
    }

    return samples[i].json;
}


static void
show(FILE *out, ngx_uint_t type, const char *title, const char *fields)
{
    char                          doc[8192], *p;
    json_t                       *json;
    ngx_uint_t                    i, packed, same;
    ngx_pool_t                   *pool;
    ngx_guildlog_message_body_t   body;
    ngx_guildlog_message_entry_t  e;

    static const ngx_uint_t       locales[] = { 0, 9, 18 };

    p = doc + sprintf(doc, "{\"id\":\"900000000000000001\",\"type\":%u,"
                      "\"timestamp\":1754000000123", (unsigned) type);

    same = strstr(fields, "target=author: the same") != NULL;

    for (i = 0; i < SAMPLES; i++) {
        if (uses(fields, samples[i].field)) {
            p += sprintf(p, ",\"%s\":%s", samples[i].field,
                         sample(type, same && i == 1 ? 0 : i));
        }
    }

    fprintf(out, "==== %u %s\n", (unsigned) type, title);

    for (i = 0; i < 3; i++) {
        pool = tap_pool();

        ngx_memzero(&e, sizeof(e));
        e.doc = tap_str(doc);
        e.conf.style = &style;
        e.conf.format = NGX_GUILDLOG_FORMAT_PLAIN;
        e.conf.color = -1;
        e.conf.locale = locales[i];
        e.conf.guild = tap_str("100000000000000001");

        if (ngx_guildlog_message_build(pool, &e, 1, &body, &packed) != NGX_OK) {
            fprintf(out, "(refused)\n");

        } else {
            /* it may be a part of several */

            p = memmem(body.text.data, body.text.len, "{\"content\"", 10);
            json = json_loadb(p, (char *) body.text.data + body.text.len - p,
                              JSON_DISABLE_EOF_CHECK, NULL);

            fprintf(out, "%s\n\n",
                    json_string_value(json_object_get(json, "content")));
            json_decref(json);
        }

        ngx_destroy_pool(pool);
    }
}


static void
show_all(FILE *out)
{
    char         line[8192], *column[11], *p;
    FILE        *in;
    ngx_uint_t   n, type;

    in = fopen(TYPES, "r");

    if (in == NULL || fgets(line, sizeof(line), in) == NULL) {
        printf("Bail out! there is no " TYPES "\n");
        exit(1);
    }

    for (type = 0; fgets(line, sizeof(line), in); type++) {

        for (n = 0, p = line; n < 11; n++) {
            column[n] = strsep(&p, "\t");
        }

        show(out, type, column[6], column[9]);
    }

    fclose(in);
}


int
main(int argc, char **argv)
{
    char     *made, a[8192], b[8192];
    FILE     *out, *table, *shown;
    size_t    size;

    tap_start();

    if (argc > 1) {
        out = fopen(TABLE, "w");
        show_all(out);
        return fclose(out);
    }

    out = open_memstream(&made, &size);
    show_all(out);
    fclose(out);

    table = fopen(TABLE, "r");
    shown = fmemopen(made, size, "r");

    tap_ok(table != NULL, "there is a table of messages");

    while (table && fgets(a, sizeof(a), shown)) {
        if (fgets(b, sizeof(b), table) == NULL || strcmp(a, b) != 0) {
            printf("# %s", a);
            break;
        }
    }

    tap_ok(table && feof(shown) && fgets(b, sizeof(b), table) == NULL,
           "each message is as it was read");

    if (table) {
        fclose(table);
    }

    fclose(shown);
    free(made);

    return tap_done();
}
