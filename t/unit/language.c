
/*
 * Links ngx_guildlog_language.c and ngx_guildlog_language_data.c.
 *
 * Every log type has a title in every language; the English ones are those of
 * conf/log-types.tsv, the German and Japanese ones those of the exports.
 */

#include "log/ngx_guildlog_language.h"
#include "tap.h"


#define EN_US       0
#define EN_GB       1
#define DE          9
#define JA          18
#define TITLE       100    /* characters: far below what a message takes */


static size_t
length(const char *s)
{
    size_t  n;

    for (n = 0; *s; s++) {
        n += (*s & 0xc0) != 0x80;
    }

    return n;
}


/* a file of the repository, whole, to be freed */

static char *
slurp(const char *name)
{
    char    path[1024], *text;
    FILE   *file;
    size_t  n;

    snprintf(path, sizeof(path), "%.*s/../../%s",
             (int) (strrchr(__FILE__, '/') - __FILE__), __FILE__, name);

    file = fopen(path, "r");
    if (file == NULL) {
        abort();
    }

    text = calloc(1, 1 << 16);
    n = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);

    tap_ok(n > 1000 && n < (1 << 16) - 1, "%s can be read", name);

    return text;
}


static void
test_complete(void)
{
    const char  *title;
    ngx_uint_t   locale, type, i, label, missing, long_ones, twice;

    for (locale = 0; locale < NGX_GUILDLOG_LOCALES; locale++) {
        missing = 0;
        long_ones = 0;
        twice = 0;

        for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
            title = ngx_guildlog_language_title(type, locale);

            missing += title == NULL || *title == '\0';
            long_ones += title != NULL && length(title) > TITLE;

            for (i = 0; i < type; i++) {
                twice += strcmp(title, ngx_guildlog_language_title(i,
                                                                 locale)) == 0;
            }
        }

        for (label = 0; label < NGX_GUILDLOG_LABELS; label++) {
            title = ngx_guildlog_language_label(label, locale);

            missing += title == NULL || *title == '\0';
            long_ones += title != NULL && length(title) > 30;
        }

        tap_is(missing, 0, "a language has all its titles and labels");
        tap_is(long_ones, 0, "none of them is too long");
        tap_is(twice, 0, "no title stands for two types");

        title = ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_MORE, locale);

        tap_ok(strchr(title, '%') && strncmp(strchr(title, '%'), "%ui", 3) == 0
               && strchr(title, '%') == strrchr(title, '%'),
               "\"%s\" has one place for a number", title);
    }
}


static void
test_own(void)
{
    ngx_uint_t  locale, type, same;

    for (locale = EN_GB + 1; locale < NGX_GUILDLOG_LOCALES; locale++) {
        same = 0;

        for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
            same += strcmp(ngx_guildlog_language_title(type, locale),
                           ngx_guildlog_language_title(type, EN_US)) == 0;
        }

        tap_ok(same <= 2, "language %u has titles of its own",
               (unsigned) locale);
    }

    tap_ok(strcmp(ngx_guildlog_language_title(12, EN_GB),
                  "Camera switched on") == 0,
           "British English differs where it does");
    tap_ok(strcmp(ngx_guildlog_language_title(5, EN_GB),
                  ngx_guildlog_language_title(5, EN_US)) == 0,
           "and is the same elsewhere");

    tap_ok(ngx_guildlog_language_title(5, NGX_GUILDLOG_LOCALES)
           == ngx_guildlog_language_title(5, EN_US),
           "a language that nobody knows is English");
    tap_ok(ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_REASON, 1000)
           == ngx_guildlog_language_label(NGX_GUILDLOG_LABEL_REASON, EN_US),
           "for labels too");
}


static void
test_english(void)
{
    char       *text, *line, *next, *title;
    ngx_uint_t  type;

    text = slurp("conf/log-types.tsv");
    line = strchr(text, '\n') + 1;

    for (type = 0; *line; type++, line = next) {
        next = strchr(line, '\n');
        *next++ = '\0';

        title = strrchr(line, '\t') + 1;

        tap_ok((ngx_uint_t) atoi(line) == type
               && type < NGX_GUILDLOG_TYPES
               && strcmp(title, ngx_guildlog_language_title(type, EN_US)) == 0,
               "type %s", title);
    }

    tap_is(type, NGX_GUILDLOG_TYPES, "the table has all types");

    free(text);
}


/* the categories are those of the list, in the order of their names */

static void
test_categories(void)
{
    char        *text, *line, *column;
    size_t       len;
    ngx_uint_t   type, i, unsorted;
    const char  *name;

    text = slurp("conf/log-types.tsv");
    line = strchr(text, '\n') + 1;

    for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
        column = strchr(strchr(line, '\t') + 1, '\t') + 1;

        name = ngx_guildlog_type_categories[
                                           ngx_guildlog_type_category[type]];
        len = strlen(name);

        tap_ok(strncmp(column, name, len) == 0 && column[len] == '\t',
               "the category of type %u", (unsigned) type);

        line = strchr(line, '\n') + 1;
    }

    unsorted = 0;

    for (i = 1; i < NGX_GUILDLOG_CATEGORIES; i++) {
        unsorted += strcmp(ngx_guildlog_type_categories[i - 1],
                           ngx_guildlog_type_categories[i]) >= 0;
    }

    tap_is(unsorted, 0, "they are sorted");

    free(text);
}


static void
test_exports(void)
{
    char       *text, entry[512];
    ngx_uint_t  type, locale, missing;

    static const ngx_uint_t  locales[] = { DE, JA };

    text = slurp("sql/summaries.sql");
    missing = 0;

    for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
        for (locale = 0; locale < 2; locale++) {
            snprintf(entry, sizeof(entry), "'%s'",
                     ngx_guildlog_language_title(type, locales[locale]));

            missing += strstr(text, entry) == NULL;
        }
    }

    tap_is(missing, 0, "exports say the same in German and Japanese");

    free(text);
}


int
main(void)
{
    tap_start();

    test_complete();
    test_own();
    test_english();
    test_categories();
    test_exports();

    return tap_done();
}
