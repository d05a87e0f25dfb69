
/*
 * Links ngx_guildlog_fold.c, ngx_guildlog_fold_table.c, ngx_guildlog_json.c,
 * ngx_guildlog_match.c and ngx_guildlog_utf8.c.
 *
 * What folding and matching say, for tests that ask the database the same.
 * A question is a line of words, texts in hexadecimal, "-" for none:
 *
 *   points                  for each code point: folded, is it of words?
 *   fold TEXT               folded, then each of its words
 *   query TYPES AFTER BEFORE CHANNEL MEMBER SIDE ROLE SEARCH
 *                           nothing; this is the query from now on
 *   match DOC               1 or 0; e: that is no document
 */

#include "search/ngx_guildlog_match.h"


static ngx_log_t              log;
static ngx_cycle_t            cycle;
static ngx_pool_t            *pool;
static ngx_guildlog_match_t   match;


/* the next word of the line, NULL data for "-" */

static ngx_str_t
word(char **line)
{
    char       *p;
    ngx_str_t   s;

    p = strsep(line, " \n");

    s.data = (p == NULL || *p == '-') ? NULL : (u_char *) p;
    s.len = s.data ? strlen(p) : 0;

    return s;
}


static ngx_str_t
text(char **line)
{
    size_t     i;
    ngx_str_t  s;

    s = word(line);

    if (s.data && *s.data == '=') {
        s.len = (s.len - 1) / 2;

        for (i = 0; i < s.len; i++) {
            s.data[i] = (u_char) ngx_hextoi(s.data + 1 + 2 * i, 2);
        }
    }

    return s;
}


static int64_t
number(char **line, int64_t none)
{
    ngx_str_t  s;

    s = word(line);

    return s.data ? strtoll((char *) s.data, NULL, 10) : none;
}


static void
say(const u_char *p, size_t len)
{
    putchar('=');

    while (len--) {
        printf("%02x", *p++);
    }
}


static ngx_str_t
folded(const u_char *p, size_t len)
{
    ngx_str_t  s;

    s.data = ngx_palloc(pool, NGX_GUILDLOG_FOLD_SIZE(len));
    s.len = ngx_guildlog_fold(s.data, p, len) - s.data;

    return s;
}


static void
points(void)
{
    u_char     utf8[4], *end;
    uint32_t   c;
    ngx_str_t  s;

    for (c = 1; c < 0x110000; c++) {
        if (c >= 0xd800 && c < 0xe000) {
            continue;
        }

        end = ngx_guildlog_utf8_put(utf8, c);
        s = folded(utf8, end - utf8);
        say(s.data, s.len);
        printf(" %d\n", (int) ngx_guildlog_fold_is_word(c));

        ngx_reset_pool(pool);
    }
}


static void
fold(char *line)
{
    ngx_str_t  s, one;

    s = text(&line);
    s = folded(s.data, s.len);
    say(s.data, s.len);

    while (ngx_guildlog_fold_word(&s, &one) == NGX_OK) {
        putchar(' ');
        say(one.data, one.len);
    }

    putchar('\n');
}


static void
query(char *line)
{
    ngx_str_t  s;

    ngx_reset_pool(pool);
    ngx_guildlog_match_init(&match);

    s = word(&line);

    if (s.data) {
        match.types = ngx_pstrdup(pool, &s);
    }

    match.after = number(&line, match.after);
    match.before = number(&line, match.before);
    match.channel = number(&line, match.channel);
    match.member = number(&line, match.member);
    match.side = number(&line, 0);

    s = text(&line);

    if (s.data) {
        (void) ngx_guildlog_match_role(&match, pool, &s);
    }

    s = text(&line);

    if (s.data) {
        (void) ngx_guildlog_match_search(&match, pool, &s);
    }
}


static void
judge(char *line)
{
    u_char                    *buf;
    ngx_str_t                  s;
    ngx_guildlog_match_doc_t   doc;

    s = text(&line);
    buf = malloc(NGX_GUILDLOG_MATCH_SIZE(s.len));

    if (ngx_guildlog_match_doc_read(&doc, &s) != NGX_OK
        || ngx_guildlog_match_doc_fold(&doc, buf) == NULL)
    {
        puts("e");

    } else {
        puts(ngx_guildlog_match(&match, &doc) ? "1" : "0");
    }

    free(buf);
}


int
main(void)
{
    char    *line;
    size_t   size, i;

    static const struct {
        const char  *name;
        void       (*handler)(char *line);
    } questions[] = {
        { "fold ", fold }, { "query ", query }, { "match ", judge }
    };

    ngx_pagesize = getpagesize();
    ngx_cycle = &cycle;
    cycle.log = &log;

    pool = ngx_create_pool(4096, &log);
    line = NULL;
    size = 0;

    while (getline(&line, &size, stdin) > 0) {

        if (strcmp(line, "points\n") == 0) {
            points();
        }

        for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
            if (strncmp(line, questions[i].name, strlen(questions[i].name))
                == 0)
            {
                questions[i].handler(line + strlen(questions[i].name));
            }
        }
    }

    free(line);
    ngx_destroy_pool(pool);

    return 0;
}
