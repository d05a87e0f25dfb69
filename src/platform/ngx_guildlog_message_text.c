
/*
 * What is visible is written piece by piece, a piece being a character with
 * what makes it harmless, or a mention, so that no cut parts them.  A piece of
 * code that is cut is closed.
 */

#include "platform/ngx_guildlog_message_parts.h"


#define MESSAGE_TEXT_MARK    "\xe2\x80\xa6"

#define MESSAGE_TEXT_OWN     256

#define MESSAGE_TEXT_FENCE   3       /* backticks around lines of code */
#define MESSAGE_TEXT_BREAKS  4       /* in a row: three empty lines */

/* of an id, an emoji's name, and a time, as the platform has them */

#define MESSAGE_MARKUP_ID     17, 20
#define MESSAGE_MARKUP_EMOJI  2, 32
#define MESSAGE_MARKUP_TIME   1, 13


typedef enum {
    NGX_GUILDLOG_MESSAGE_VISIBLE = 0,
    NGX_GUILDLOG_MESSAGE_BLANK,
    NGX_GUILDLOG_MESSAGE_BREAK,
    NGX_GUILDLOG_MESSAGE_HIDDEN,
    NGX_GUILDLOG_MESSAGE_JOINER    /* counts behind what is visible */
} ngx_guildlog_message_char_e;


typedef struct {
    u_char                        *pos;
    ngx_uint_t                     used;
    ngx_uint_t                     marks;    /* that close it as code */
} message_text_place_t;


typedef struct {
    const u_char                  *start;
    const u_char                  *last;
    ngx_uint_t                     flags;
    uint32_t                       prev;     /* 0: nothing was written yet */

    /* between what was written and what is next */
    ngx_uint_t                     breaks;
    const u_char                  *blanks;   /* behind the last break */
    const u_char                  *behind;   /* their end; NULL: none */

    /* code */
    const u_char                  *code;     /* its end; NULL: it is none */
    const u_char                  *plain;    /* backticks before it are text */
    unsigned                       line:1;   /* nothing is in this line yet */
} message_text_run_t;


typedef struct {
    uint32_t                       first;
    uint32_t                       last;
    ngx_guildlog_message_char_e    class;
} message_char_range_t;


#define range(first, last, class)                                             \
    { first, last, NGX_GUILDLOG_MESSAGE_##class }


#define MESSAGE_CHAR_RANGES                                                   \
    (sizeof(message_char_ranges) / sizeof(message_char_range_t))


static ngx_uint_t message_text_open_code(message_text_run_t *run,
    const u_char *p);
static ngx_uint_t message_text_is_said(const message_text_run_t *run,
    const u_char *p);
static void message_text_skip(message_text_run_t *run, const u_char *p,
    const u_char *next, ngx_guildlog_message_char_e class);
static ngx_uint_t message_text_gap(const message_text_run_t *run, u_char **pos);
static ngx_uint_t message_text_special(const message_text_run_t *run,
    uint32_t c);
static size_t message_markup(const u_char *p, const u_char *last);
static const u_char *message_markup_span(const u_char *p, const u_char *last,
    ngx_uint_t word, ngx_uint_t least, ngx_uint_t most);
static const u_char *message_markup_code(const u_char *p, const u_char *last,
    ngx_uint_t marks, ngx_uint_t spoiler);
static ngx_guildlog_message_char_e message_char(uint32_t c);
static uint32_t message_char_decode(u_char **p, const u_char *last);


/* ascending; what is in none is visible */

static const message_char_range_t  message_char_ranges[] = {
    range(0x00, 0x08, HIDDEN),
    range('\t', '\t', BLANK),
    range('\n', 0x0c, BREAK),
    range('\r', '\r', BLANK),
    range(0x0e, 0x1f, HIDDEN),
    range(' ', ' ', BLANK),
    range(0x7f, 0x84, HIDDEN),
    range(0x85, 0x85, BREAK),
    range(0x86, 0x9f, HIDDEN),
    range(0xa0, 0xa0, BLANK),
    range(0xad, 0xad, HIDDEN),
    range(0x34f, 0x34f, HIDDEN),
    range(0x61c, 0x61c, HIDDEN),
    range(0x115f, 0x1160, HIDDEN),
    range(0x1680, 0x1680, BLANK),
    range(0x17b4, 0x17b5, HIDDEN),
    range(0x180b, 0x180f, HIDDEN),
    range(0x2000, 0x200a, BLANK),
    range(0x200b, 0x200b, HIDDEN),
    range(0x200c, 0x200d, JOINER),
    range(0x200e, 0x200f, HIDDEN),
    range(0x2028, 0x2029, BREAK),
    range(0x202a, 0x202e, HIDDEN),
    range(0x202f, 0x202f, BLANK),
    range(0x205f, 0x205f, BLANK),
    range(0x2060, 0x206f, HIDDEN),
    range(0x2800, 0x2800, BLANK),
    range(0x3000, 0x3000, BLANK),
    range(0x3164, 0x3164, HIDDEN),
    range(0xfdd0, 0xfdef, HIDDEN),
    range(0xfe00, 0xfe0f, JOINER),
    range(0xfeff, 0xfeff, HIDDEN),
    range(0xffa0, 0xffa0, HIDDEN),
    range(0xfff0, 0xfffc, HIDDEN),
    range(0xfffe, 0xffff, HIDDEN),
    range(0x1bca0, 0x1bca3, HIDDEN),
    range(0x1d173, 0x1d17a, HIDDEN),
    range(0xe0000, 0xe0fff, HIDDEN)
};


ngx_int_t
ngx_guildlog_message_text_init(ngx_guildlog_message_text_t *text,
    ngx_pool_t *pool, ngx_uint_t units)
{
    text->start = ngx_pnalloc(pool,
                              units * NGX_GUILDLOG_MESSAGE_TEXT_UNIT_BYTES);
    if (text->start == NULL) {
        return NGX_ERROR;
    }

    text->pos = text->start;
    text->left = units;

    return NGX_OK;
}


void
ngx_guildlog_message_text_open(ngx_guildlog_message_text_t *text,
    const ngx_guildlog_message_text_t *behind, ngx_uint_t units)
{
    text->start = behind->pos;
    text->pos = text->start;
    text->left = ngx_min(units, behind->left);
}


void
ngx_guildlog_message_text_close(const ngx_guildlog_message_text_t *text,
    ngx_guildlog_message_text_t *behind, ngx_str_t *s)
{
    s->data = text->start;
    s->len = text->pos - text->start;

    ngx_guildlog_assert(text->start == behind->pos);
    ngx_guildlog_assert(ngx_guildlog_message_text_units(s->data, s->len)
                        <= behind->left);

    behind->pos = text->pos;
    behind->left -= ngx_guildlog_message_text_units(s->data, s->len);
}


ngx_uint_t
ngx_guildlog_message_text_add(ngx_guildlog_message_text_t *text,
    const char *fmt, ...)
{
    u_char     own[MESSAGE_TEXT_OWN];
    va_list    args;
    ngx_str_t  s;

    s.data = own;

    va_start(args, fmt);
    s.len = ngx_vslprintf(own, own + MESSAGE_TEXT_OWN, fmt, args) - own;
    va_end(args);

    return ngx_guildlog_message_text_put(text, &s);
}


ngx_uint_t
ngx_guildlog_message_text_put(ngx_guildlog_message_text_t *text,
    const ngx_str_t *s)
{
    ngx_uint_t  units;

    units = ngx_guildlog_message_text_units(s->data, s->len);

    if (units > text->left) {
        return 0;
    }

    if (s->len) {
        text->pos = ngx_cpymem(text->pos, s->data, s->len);
        text->left -= units;
    }

    return 1;
}


ngx_uint_t
ngx_guildlog_message_text_units(const u_char *p, size_t len)
{
    size_t      i;
    ngx_uint_t  units;

    units = 0;

    for (i = 0; i < len; i++) {
        units += (p[i] & 0xc0) != 0x80;
        units += p[i] >= 0xf0;
    }

    return units;
}


ngx_uint_t
ngx_guildlog_message_text_user(ngx_guildlog_message_text_t *text,
    const ngx_str_t *s, ngx_uint_t max, ngx_uint_t flags)
{
    u_char                       *p, *next, *last;
    uint32_t                      c;
    ngx_uint_t                    units, escape, marks;
    message_text_run_t            run;
    message_text_place_t          now, seen, keep;
    ngx_guildlog_message_char_e   class;

    ngx_memzero(&run, sizeof(message_text_run_t));

    last = s->data + s->len;

    run.start = s->data;
    run.last = last;
    run.plain = s->data;
    run.flags = flags;
    run.line = 1;

    max = ngx_min(max, text->left);

    now.pos = text->pos;
    now.used = 0;
    now.marks = 0;

    seen = now;    /* the end of what is visible */
    keep = now;    /* the last such with room for the mark behind it */

    for (p = s->data; p < last; p = next) {

        if (run.code && p == run.code) {
            next = p + now.marks;

            now.pos = ngx_cpymem(now.pos, p, now.marks);
            now.used += now.marks;
            now.marks = 0;
            seen = now;

            if (now.used < max) {
                keep = now;
            }

            run.code = NULL;
            run.prev = '`';
            run.behind = NULL;
            run.breaks = 0;
            continue;
        }

        next = p;
        c = message_char_decode(&next, last);

        if (c > NGX_GUILDLOG_MESSAGE_CHAR_LAST) {
            break;
        }

        class = message_char(c);

        if (class == NGX_GUILDLOG_MESSAGE_HIDDEN) {
            continue;
        }

        if (class == NGX_GUILDLOG_MESSAGE_BLANK
            || class == NGX_GUILDLOG_MESSAGE_BREAK)
        {
            message_text_skip(&run, p, next, class);
            continue;
        }

        if (class == NGX_GUILDLOG_MESSAGE_JOINER
            && (run.prev == 0 || run.behind
                || message_char(run.prev) == class))
        {
            continue;
        }

        marks = 0;
        escape = 0;

        if (run.code == NULL) {

            if (c == '`') {
                marks = message_text_open_code(&run, p);
                next = p + ngx_max(marks, 1);

            } else if (c == '<' && message_text_is_said(&run, p)) {
                next = p + ngx_max(message_markup(p, last), 1);
            }

            escape = marks == 0 && next - p == 1
                     && (flags & NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
                     && message_text_special(&run, c);
        }

        units = message_text_gap(&run, NULL) + escape
                + ngx_guildlog_message_text_units(p, next - p);

        /* what closes a piece of code always fits, and something in it */

        if (now.used + units + now.marks + (marks ? marks + 1 : 0) > max) {

            if (max) {
                seen = keep;
                seen.pos = ngx_cpymem(seen.pos, MESSAGE_TEXT_MARK,
                                      sizeof(MESSAGE_TEXT_MARK) - 1);
                seen.used++;
            }

            break;
        }

        (void) message_text_gap(&run, &now.pos);

        if (escape) {
            *now.pos++ = '\\';
        }

        now.pos = ngx_cpymem(now.pos, p, next - p);
        now.used += units;

        run.prev = c;
        run.behind = NULL;
        run.breaks = 0;
        run.line = 0;

        if (marks) {
            now.marks = marks;

        } else if (class == NGX_GUILDLOG_MESSAGE_VISIBLE) {
            seen = now;

            if (now.used + now.marks < max) {
                keep = now;
            }
        }
    }

    while (seen.marks) {
        *seen.pos++ = '`';
        seen.used++;
        seen.marks--;
    }

    ngx_guildlog_assert(seen.used <= max);
    ngx_guildlog_assert(seen.used == ngx_guildlog_message_text_units(text->pos,
                                                   seen.pos - text->pos));

    text->pos = seen.pos;
    text->left -= seen.used;

    return seen.used;
}


/*
 * Does code begin at that backtick?  The number of backticks around it; 0: they
 * are text, up to run->plain.
 */

static ngx_uint_t
message_text_open_code(message_text_run_t *run, const u_char *p)
{
    ngx_uint_t     n;
    const u_char  *q;

    if (p < run->plain || !message_text_is_said(run, p)
        || (run->prev == '`' && run->behind == NULL))
    {
        return 0;
    }

    for (q = p; q < run->last && *q == '`'; q++) { /* void */ }

    n = ngx_min(q - p, MESSAGE_TEXT_FENCE);

    if (n == 1 || (n == MESSAGE_TEXT_FENCE
                   && (run->flags & NGX_GUILDLOG_MESSAGE_TEXT_LINES)))
    {
        run->code = message_markup_code(p, run->last, n,
                        run->flags & NGX_GUILDLOG_MESSAGE_TEXT_SPOILER);
    }

    if (run->code) {
        return n;
    }

    run->plain = q;

    return 0;
}


/* is what begins there rendered, if it is markup? */

static ngx_uint_t
message_text_is_said(const message_text_run_t *run, const u_char *p)
{
    return (run->flags & NGX_GUILDLOG_MESSAGE_TEXT_SAID)
           && !(p > run->start && p[-1] == '\\');
}


static void
message_text_skip(message_text_run_t *run, const u_char *p, const u_char *next,
    ngx_guildlog_message_char_e class)
{
    if (class == NGX_GUILDLOG_MESSAGE_BREAK) {
        run->breaks += (run->breaks < MESSAGE_TEXT_BREAKS);
        run->blanks = next;
        run->line = 1;

    } else if (run->behind == NULL) {
        run->blanks = p;
    }

    run->behind = next;
}


/*
 * Blanks are written once something follows them: as they are, or as one.
 * Returns their units; pos: NULL, if they are only counted.
 */

static ngx_uint_t
message_text_gap(const message_text_run_t *run, u_char **pos)
{
    u_char        *p, *next, *start, *to;
    u_char         own[4];
    uint32_t       c;
    ngx_uint_t     i, units;
    const u_char  *mark;

    if (run->prev == 0 || run->behind == NULL) {
        return 0;
    }

    to = pos ? *pos : own;

    if (!(run->flags & NGX_GUILDLOG_MESSAGE_TEXT_LINES)) {
        *to++ = ' ';
        units = 1;

    } else {
        mark = (u_char *) ((run->flags & NGX_GUILDLOG_MESSAGE_TEXT_QUOTE)
                           ? "\n> " : "\n");
        units = 0;

        for (i = 0; i < run->breaks; i++) {
            units += ngx_strlen(mark);
            start = pos ? to : own;
            to = ngx_cpymem(start, mark, ngx_strlen(mark));
        }

        for (p = (u_char *) run->blanks; p < run->behind; p = next) {
            next = p;
            c = message_char_decode(&next, run->behind);

            if (message_char(c) != NGX_GUILDLOG_MESSAGE_BLANK) {
                continue;
            }

            units++;
            start = pos ? to : own;

            if (c == ' ' || c == '\t' || c == 0xa0 || c == 0x3000) {
                to = ngx_cpymem(start, p, next - p);

            } else {
                *start = ' ';
                to = start + 1;
            }
        }
    }

    if (pos) {
        *pos = to;
    }

    return units;
}


/* a name with a dot may be a link even without a scheme before it */

static ngx_uint_t
message_text_special(const message_text_run_t *run, uint32_t c)
{
    switch (c) {

    case '\\':
    case '*':
    case '_':
    case '~':
    case '|':
    case '`':
    case '<':
    case '>':
    case '[':
    case ']':
    case ':':
    case '#':
        return 1;

    case '-':
        return run->line;

    case '.':
        return (run->prev >= '0' && run->prev <= '9')
               || ((run->prev | 0x20) >= 'a' && (run->prev | 0x20) <= 'z');

    default:
        return 0;
    }
}


/*
 * What of a text the platform would render: the length of a mention, a custom
 * emoji or a time; 0: there is none.
 */

static size_t
message_markup(const u_char *p, const u_char *last)
{
    const u_char  *start;

    if (last - p < 3) {
        return 0;
    }

    start = p++;

    switch (*p++) {

    case '@':
        p += (*p == '!' || *p == '&');
        p = message_markup_span(p, last, 0, MESSAGE_MARKUP_ID);
        break;

    case '#':
        p = message_markup_span(p, last, 0, MESSAGE_MARKUP_ID);
        break;

    case 't':
        if (*p++ != ':') {
            return 0;
        }

        p = message_markup_span(p, last, 0, MESSAGE_MARKUP_TIME);

        if (p && last - p > 2 && *p == ':' && ngx_strchr("tTdDfFR", p[1])) {
            p += 2;
        }

        break;

    case 'a':
        if (*p++ != ':') {
            return 0;
        }

        /* fall through */

    case ':':
        p = message_markup_span(p, last, 1, MESSAGE_MARKUP_EMOJI);

        if (p && p < last && *p == ':') {
            p = message_markup_span(p + 1, last, 0, MESSAGE_MARKUP_ID);
        } else {
            return 0;
        }

        break;

    default:
        return 0;
    }

    return (p && p < last && *p == '>') ? p + 1 - start : 0;
}


/* behind so many digits, or characters of a word; NULL: they are not so many */

static const u_char *
message_markup_span(const u_char *p, const u_char *last, ngx_uint_t word,
    ngx_uint_t least, ngx_uint_t most)
{
    ngx_uint_t  n;

    for (n = 0; p < last && n <= most; n++, p++) {
        if ((*p < '0' || *p > '9')
            && !(word && ngx_guildlog_is_letter(*p, "_")))
        {
            break;
        }
    }

    return (n >= least && n <= most) ? p : NULL;
}


/*
 * The end of the code that so many backticks begin, before those that end it;
 * NULL: they are text.  What is left out behind a backtick, as blanks are at
 * the end, could make an end of it, and two bars would end a spoiler: then it
 * is text.
 */

static const u_char *
message_markup_code(const u_char *p, const u_char *last, ngx_uint_t marks,
    ngx_uint_t spoiler)
{
    u_char                       *q, *next;
    uint32_t                      c, prev;
    ngx_uint_t                    n, visible, tail;
    ngx_guildlog_message_char_e   class;

    n = 0;
    prev = 0;
    tail = 0;
    visible = 0;

    for (q = (u_char *) p + marks; q < last; q = next) {

        next = q;
        c = message_char_decode(&next, last);

        if (c > NGX_GUILDLOG_MESSAGE_CHAR_LAST) {
            return NULL;
        }

        class = message_char(c);

        if (class == NGX_GUILDLOG_MESSAGE_HIDDEN
            || (c == '|' && prev == '|' && spoiler)
            || (class == NGX_GUILDLOG_MESSAGE_BREAK && marks == 1))
        {
            return NULL;
        }

        if (class == NGX_GUILDLOG_MESSAGE_VISIBLE && c != '`') {
            visible = 1;
            tail = 0;

        } else if (prev == '`' && c != '`') {
            tail = 1;
        }

        prev = c;
        n = (c == '`') ? n + 1 : 0;

        if (n == marks) {
            if (!visible || tail
                || (marks == 1 && next < last && *next == '`'))
            {
                return NULL;
            }

            return next - marks;
        }
    }

    return NULL;
}


/*
 * What is to be seen of a character.
 */

static ngx_guildlog_message_char_e
message_char(uint32_t c)
{
    ngx_uint_t  low, high, middle;

    if (c > ' ' && c < 0x7f) {
        return NGX_GUILDLOG_MESSAGE_VISIBLE;
    }

    low = 0;
    high = MESSAGE_CHAR_RANGES;

    while (low < high) {
        middle = (low + high) / 2;

        if (c > message_char_ranges[middle].last) {
            low = middle + 1;

        } else if (c < message_char_ranges[middle].first) {
            high = middle;

        } else {
            return message_char_ranges[middle].class;
        }
    }

    return NGX_GUILDLOG_MESSAGE_VISIBLE;
}


/* nginx's own, but for ASCII; over CHAR_LAST: it is not UTF-8 */

static uint32_t
message_char_decode(u_char **p, const u_char *last)
{
    return (**p < 0x80) ? *(*p)++ : ngx_utf8_decode(p, last - *p);
}
