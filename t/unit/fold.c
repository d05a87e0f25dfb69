
/*
 * Links ngx_guildlog_fold.c, ngx_guildlog_fold_table.c and
 * ngx_guildlog_utf8.c.
 *
 * "words are matched whole, case-insensitively, any language": how texts are
 * folded, cut into words and looked through, also where they are not UTF-8.
 * t/search/fold.t compares all of it with the database.
 */

#include "search/ngx_guildlog_fold.h"
#include "tap.h"


static ngx_str_t
folded(u_char *buf, const char *text, size_t len)
{
    ngx_str_t  s;

    s.data = buf;
    s.len = ngx_guildlog_fold(buf, (u_char *) text, len) - buf;

    return s;
}


static void
test_fold(void)
{
    u_char      buf[64];
    ngx_str_t   s;
    ngx_uint_t  i;

    static const char  *texts[][2] = {
        { "", "" },
        { "Hello, WORLD 42!", "hello, world 42!" },
        { "ÄÖÜß", "äöüß" },
        { "ΣΟΦΟΣ σοφος", "σοφοσ σοφοσ" },
        { "İstanbul I ı", "i̇stanbul i ı" },
        { "ПРИВЕТ", "привет" },
        { "\xe2\x84\xaa\xc8\xba", "k\xe2\xb1\xa5" },     /* Kelvin, U+023A */
        { "\xf0\x90\x90\x80", "\xf0\x90\x90\xa8" },
        { "東京 👍", "東京 👍" },

        /* what is not UTF-8 stays as it is */

        { "A\xff" "B", "a\xff" "b" },
        { "\xc3", "\xc3" },
        { "\xe2\x84" "A", "\xe2\x84" "a" },
        { "\xc1\x81", "\xc1\x81" },
        { "\xf8\x88\x80\x80\x80", "\xf8\x88\x80\x80\x80" },
        { "\xf4\x90\x80\x80", "\xf4\x90\x80\x80" }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        s = folded(buf, texts[i][0], strlen(texts[i][0]));
        tap_is_str(&s, texts[i][1], texts[i][0]);
    }
}


static void
test_words(void)
{
    u_char      buf[256], *p;
    ngx_str_t   text, word;
    ngx_uint_t  i;

    static const char  *texts[][2] = {
        { "", "" },
        { " ,.-_!? ", "" },
        { "hello", "hello" },
        { "don't re-do snake_case", "don|t|re|do|snake|case|" },
        { "東京 नमस्ते 42x", "東京|नमस्ते|42x|" },
        { "a👍b", "a|b|" },
        { "\xff" "a\xff", "a|" }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = tap_str(texts[i][0]);
        p = buf;

        while (ngx_guildlog_fold_word(&text, &word) == NGX_OK) {
            p = ngx_cpymem(p, word.data, word.len);
            *p++ = '|';
        }

        word.data = buf;
        word.len = p - buf;

        if (i == 2) {
            word.len--;
        }

        tap_is_str(&word, texts[i][1], texts[i][0]);
    }
}


static void
test_has_word(void)
{
    ngx_str_t   text, word;
    ngx_uint_t  i;

    static const struct {
        const char  *text, *word;
        ngx_uint_t   has;
    } tests[] = {
        { "hello world", "hello", 1 },
        { "hello world", "world", 1 },
        { "hello world", "hell", 0 },
        { "hello world", "orld", 0 },
        { "shell hell", "hell", 1 },
        { "hellohello hello", "hello", 1 },
        { "aaaaaaaa", "a", 0 },
        { "aaaaaaaa a", "a", 1 },
        { "xéhello", "hello", 0 },
        { "x👍hello", "hello", 1 },
        { "helló", "hello", 0 },               /* a mark is part of it */
        { "", "a", 0 }
    };

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        text = tap_str(tests[i].text);
        word = tap_str(tests[i].word);

        tap_ok(ngx_guildlog_fold_has_word(&text, &word) == tests[i].has,
               "\"%s\" %s \"%s\"", tests[i].text,
               tests[i].has ? "has" : "has not", tests[i].word);
    }
}


static void
test_trim(void)
{
    ngx_str_t   text;
    ngx_uint_t  i;

    static const char  *texts[][2] = {
        { "", "" },
        { " \t\n", "" },
        { "a b", "a b" },
        { "  a b\r\n", "a b" },
        { "\xc2\xa0\xe3\x80\x80" "a\xe2\x80\xa8\xc2\x85", "a" },
        { "\x1c" "a\x1f", "a" }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = tap_str(texts[i][0]);
        ngx_guildlog_fold_trim(&text);
        tap_is_str(&text, texts[i][1], texts[i][0]);
    }
}


int
main(void)
{
    tap_start();

    test_fold();
    test_words();
    test_has_word();
    test_trim();

    return tap_done();
}
