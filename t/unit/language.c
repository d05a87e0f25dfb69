
/*
 * Links ngx_guildlog_json.c, ngx_guildlog_language.c,
 * ngx_guildlog_language_data.c and ngx_guildlog_utf8.c.
 *
 * Every log type has a title in every language; the English ones are those of
 * conf/viewer/log-types.tsv.
 */

#include "log/ngx_guildlog_language.h"
#include "tap.h"


#define EN_US       0
#define EN_GB       1
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

    text = calloc(1, 1 << 17);
    n = fread(text, 1, (1 << 17) - 1, file);
    fclose(file);

    tap_ok(n > 1000 && n < (1 << 17) - 1, "%s can be read", name);

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
    ngx_uint_t  type, i;

    text = slurp("conf/viewer/log-types.tsv");
    line = strchr(text, '\n') + 1;

    for (type = 0; *line; type++, line = next) {
        next = strchr(line, '\n');
        *next++ = '\0';

        for (i = 0, title = line; i < 6; i++) {
            title = strchr(title, '\t') + 1;
        }

        *strchr(title, '\t') = '\0';

        tap_ok((ngx_uint_t) atoi(line) == type
               && type < NGX_GUILDLOG_TYPES
               && strcmp(title, ngx_guildlog_language_title(type, EN_US)) == 0,
               "type %s", title);
    }

    tap_is(type, NGX_GUILDLOG_TYPES, "the table has all types");

    free(text);
}


/* what is said of an entry that has the fields */

#define has(place)  (1 << NGX_GUILDLOG_PLACE_##place)


static const char *const  places[] = {
    "", "EXECUTOR", "TARGET", "#CHANNEL", "ROLE", "NAME", "COUNT", "EMOJI",
    "ACTION", "VALUE", "UNTIL"
};


static void
append(void *data, ngx_guildlog_place_e place, const ngx_str_t *text)
{
    char  *said;

    said = data;
    said += strlen(said);

    if (place == NGX_GUILDLOG_PLACE_TEXT) {
        sprintf(said, "%.*s", (int) text->len, text->data);

    } else {
        strcpy(said, places[place]);
    }
}


static void
test_sentences(void)
{
    char        said[1024];
    ngx_uint_t  i, rc;

    static const struct {
        ngx_uint_t   type;
        ngx_uint_t   has;
        ngx_uint_t   rc;
        const char  *said;
    } cases[] = {
        { 25, has(EXECUTOR)|has(TARGET), has(EXECUTOR)|has(TARGET),
          "EXECUTOR changed the nickname of TARGET" },
        { 25, has(TEXT)|has(EXECUTOR)|has(TARGET), has(EXECUTOR),
          "EXECUTOR changed their nickname" },
        { 25, has(TARGET), has(TARGET),
          "The nickname of TARGET was changed" },
        { 25, 0, 0, "" },
        { 5, has(EXECUTOR)|has(TARGET)|has(CHANNEL),
          has(EXECUTOR)|has(TARGET)|has(CHANNEL),
          "EXECUTOR deleted a message by TARGET in #CHANNEL" },
        { 5, has(EXECUTOR), has(EXECUTOR), "EXECUTOR deleted a message" },
        { 5, has(CHANNEL), has(CHANNEL), "A message was deleted in #CHANNEL" },
        { 1, has(TEXT)|has(EXECUTOR)|has(TARGET), has(TARGET),
          "TARGET joined the server" },
        { 1, has(EXECUTOR), 0, "" },
        { 3, has(COUNT), has(COUNT),
          "Several messages were deleted (COUNT)" },
        { 59, has(EXECUTOR)|has(NAME), has(EXECUTOR)|has(NAME),
          "EXECUTOR started a stage: NAME" }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        said[0] = '\0';
        rc = ngx_guildlog_language_say(cases[i].type, EN_US, cases[i].has,
                                       append, said);

        tap_ok(strcmp(said, cases[i].said) == 0, "it says \"%s\"", said);
        tap_is(rc, cases[i].rc, "and tells what it said");
    }
}


/* whoever is in a sentence of all that there is, is said once */

static void
test_all_sentences(void)
{
    char        said[1024];
    ngx_uint_t  locale, type, silent;

    for (locale = 0; locale < NGX_GUILDLOG_LOCALES; locale++) {
        silent = 0;

        for (type = 0; type < NGX_GUILDLOG_TYPES; type++) {
            said[0] = '\0';
            silent += ngx_guildlog_language_say(type, locale, 0x7fe, append,
                                                said) == 0
                      || strpbrk(said, "{}[]|\034\035\036");
        }

        tap_is(silent, 0, "each log type has a sentence in a language");
    }
}


static void
test_types(void)
{
    tap_is(ngx_guildlog_type_label(5, NGX_GUILDLOG_LABEL_TARGET),
           NGX_GUILDLOG_LABEL_AUTHOR, "a message has an author");
    tap_is(ngx_guildlog_type_label(5, NGX_GUILDLOG_LABEL_REASON),
           NGX_GUILDLOG_LABEL_REASON, "most fields keep their names");
    tap_is(ngx_guildlog_type_label(5, NGX_GUILDLOG_LABEL_UNTIL),
           NGX_GUILDLOG_LABEL_UNTIL, "other words, too");
    tap_is(ngx_guildlog_types[1].kind, NGX_GUILDLOG_KIND_NEW, "who joins");
    tap_is(ngx_guildlog_types[39].kind, NGX_GUILDLOG_KIND_GONE, "who goes");
    tap_is(ngx_guildlog_types[39].target, NGX_GUILDLOG_TARGET_USER,
           "a user is banned");
    tap_is(ngx_guildlog_types[28].target, NGX_GUILDLOG_TARGET_OTHER,
           "a deleted channel is no target");
    tap_is(ngx_guildlog_types[6].marks,
           NGX_GUILDLOG_MARK_SAID|NGX_GUILDLOG_MARK_EDIT
           |NGX_GUILDLOG_MARK_JUMP, "an edit has three marks");
    tap_is(ngx_guildlog_types[39].marks, 0, "a ban has none");
}


/* the categories are those of the list, in the order of their names */

static void
test_categories(void)
{
    char        *text, *line, *column;
    size_t       len;
    ngx_uint_t   type, i, unsorted;
    const char  *name;

    text = slurp("conf/viewer/log-types.tsv");
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


int
main(void)
{
    tap_start();

    test_complete();
    test_own();
    test_english();
    test_sentences();
    test_all_sentences();
    test_types();
    test_categories();

    return tap_done();
}
