
/*
 * What is visible is written token by token, a token being a character with
 * what makes it harmless, so that no cut parts them.
 */

#include "platform/ngx_guildlog_message_text.h"


#define MESSAGE_TEXT_MARK   "\xe2\x80\xa6"
#define MESSAGE_TEXT_SPLIT  "\xe2\x80\x8b"   /* of no width */

/* "\n> \n> ", a backslash, a character of four bytes or "@" and the split */
#define MESSAGE_TEXT_TOKEN  16

#define MESSAGE_TEXT_OWN    256
#define MESSAGE_TEXT_LAST   0x10ffff


typedef enum {
    MESSAGE_TEXT_VISIBLE = 0,
    MESSAGE_TEXT_BLANK,
    MESSAGE_TEXT_BREAK,
    MESSAGE_TEXT_HIDDEN,
    MESSAGE_TEXT_JOINER    /* counts behind what is visible */
} message_text_class_e;


typedef struct {
    uint32_t                       first;
    uint32_t                       last;
    message_text_class_e           class;
} message_text_range_t;


typedef struct {
    u_char                        *pos;
    ngx_uint_t                     used;
} message_text_place_t;


typedef struct {
    ngx_uint_t                     flags;
    uint32_t                       prev;     /* 0: nothing was written yet */
    ngx_uint_t                     breaks;
    unsigned                       blank:1;
} message_text_run_t;


static uint32_t message_text_decode(u_char **p, const u_char *last);
static message_text_class_e message_text_class(uint32_t c);
static size_t message_text_token(message_text_run_t *run, u_char *token,
    uint32_t c, const u_char *p, size_t len);
static u_char *message_text_gap(message_text_run_t *run, u_char *p);
static ngx_uint_t message_text_special(message_text_run_t *run, uint32_t c);


/* ascending; what is in none is visible */

static const message_text_range_t
    message_text_ranges[] =
{
    { 0x00, 0x08, MESSAGE_TEXT_HIDDEN },
    { '\t', '\t', MESSAGE_TEXT_BLANK },
    { '\n', 0x0c, MESSAGE_TEXT_BREAK },
    { '\r', '\r', MESSAGE_TEXT_BLANK },
    { 0x0e, 0x1f, MESSAGE_TEXT_HIDDEN },
    { ' ', ' ', MESSAGE_TEXT_BLANK },
    { 0x7f, 0x84, MESSAGE_TEXT_HIDDEN },
    { 0x85, 0x85, MESSAGE_TEXT_BREAK },
    { 0x86, 0x9f, MESSAGE_TEXT_HIDDEN },
    { 0xa0, 0xa0, MESSAGE_TEXT_BLANK },
    { 0xad, 0xad, MESSAGE_TEXT_HIDDEN },
    { 0x34f, 0x34f, MESSAGE_TEXT_HIDDEN },
    { 0x61c, 0x61c, MESSAGE_TEXT_HIDDEN },
    { 0x115f, 0x1160, MESSAGE_TEXT_HIDDEN },
    { 0x1680, 0x1680, MESSAGE_TEXT_BLANK },
    { 0x17b4, 0x17b5, MESSAGE_TEXT_HIDDEN },
    { 0x180b, 0x180f, MESSAGE_TEXT_HIDDEN },
    { 0x2000, 0x200a, MESSAGE_TEXT_BLANK },
    { 0x200b, 0x200b, MESSAGE_TEXT_HIDDEN },
    { 0x200c, 0x200d, MESSAGE_TEXT_JOINER },
    { 0x200e, 0x200f, MESSAGE_TEXT_HIDDEN },
    { 0x2028, 0x2029, MESSAGE_TEXT_BREAK },
    { 0x202a, 0x202e, MESSAGE_TEXT_HIDDEN },
    { 0x202f, 0x202f, MESSAGE_TEXT_BLANK },
    { 0x205f, 0x205f, MESSAGE_TEXT_BLANK },
    { 0x2060, 0x206f, MESSAGE_TEXT_HIDDEN },
    { 0x2800, 0x2800, MESSAGE_TEXT_BLANK },
    { 0x3000, 0x3000, MESSAGE_TEXT_BLANK },
    { 0x3164, 0x3164, MESSAGE_TEXT_HIDDEN },
    { 0xfdd0, 0xfdef, MESSAGE_TEXT_HIDDEN },
    { 0xfe00, 0xfe0f, MESSAGE_TEXT_JOINER },
    { 0xfeff, 0xfeff, MESSAGE_TEXT_HIDDEN },
    { 0xffa0, 0xffa0, MESSAGE_TEXT_HIDDEN },
    { 0xfff0, 0xfffc, MESSAGE_TEXT_HIDDEN },
    { 0xfffe, 0xffff, MESSAGE_TEXT_HIDDEN },
    { 0x1bca0, 0x1bca3, MESSAGE_TEXT_HIDDEN },
    { 0x1d173, 0x1d17a, MESSAGE_TEXT_HIDDEN },
    { 0xe0000, 0xe0fff, MESSAGE_TEXT_HIDDEN }
};


#define MESSAGE_TEXT_RANGES                                                   \
    (sizeof(message_text_ranges) / sizeof(message_text_range_t))


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

    behind->pos = text->pos;
    behind->left -= ngx_guildlog_message_text_units(s->data, s->len);
}


ngx_uint_t
ngx_guildlog_message_text_add(ngx_guildlog_message_text_t *text,
    const char *fmt, ...)
{
    size_t      len;
    u_char     *p;
    u_char      own[MESSAGE_TEXT_OWN];
    va_list     args;
    ngx_uint_t  units;

    va_start(args, fmt);
    p = ngx_vslprintf(own, own + MESSAGE_TEXT_OWN, fmt, args);
    va_end(args);

    len = p - own;
    units = ngx_guildlog_message_text_units(own, len);

    if (units > text->left) {
        return 0;
    }

    text->pos = ngx_cpymem(text->pos, own, len);
    text->left -= units;

    return 1;
}


ngx_uint_t
ngx_guildlog_message_text_user(ngx_guildlog_message_text_t *text,
    const ngx_str_t *s, ngx_uint_t max, ngx_uint_t flags)
{
    size_t                len;
    u_char               *p, *next, *last;
    u_char                token[MESSAGE_TEXT_TOKEN];
    uint32_t              c;
    ngx_uint_t            units;
    message_text_run_t    run;
    message_text_place_t  now, seen, keep;
    message_text_class_e  class;

    ngx_memzero(&run, sizeof(message_text_run_t));
    run.flags = flags;

    max = ngx_min(max, text->left);
    last = s->data + s->len;

    now.pos = text->pos;
    now.used = 0;

    seen = now;    /* the end of what is visible */
    keep = now;    /* the last such with room for the mark behind it */

    for (p = s->data; p < last; p = next) {

        next = p;
        c = message_text_decode(&next, last);

        if (c > MESSAGE_TEXT_LAST) {
            break;
        }

        class = message_text_class(c);

        if (class == MESSAGE_TEXT_HIDDEN) {
            continue;
        }

        if (class == MESSAGE_TEXT_BLANK || class == MESSAGE_TEXT_BREAK) {
            run.blank = 1;
            run.breaks += (class == MESSAGE_TEXT_BREAK);
            continue;
        }

        if (class == MESSAGE_TEXT_JOINER
            && (run.prev == 0 || run.blank
                || message_text_class(run.prev) == class))
        {
            continue;
        }

        len = message_text_token(&run, token, c, p, next - p);
        units = ngx_guildlog_message_text_units(token, len);

        if (now.used + units > max) {

            if (max) {
                seen.pos = ngx_cpymem(keep.pos, MESSAGE_TEXT_MARK,
                                      sizeof(MESSAGE_TEXT_MARK) - 1);
                seen.used = keep.used + 1;
            }

            break;
        }

        now.pos = ngx_cpymem(now.pos, token, len);
        now.used += units;

        if (class == MESSAGE_TEXT_VISIBLE) {
            seen = now;

            if (now.used < max) {
                keep = now;
            }
        }
    }

    text->pos = seen.pos;
    text->left -= seen.used;

    return seen.used;
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


/* nginx's own decodes what is not ASCII */

static uint32_t
message_text_decode(u_char **p, const u_char *last)
{
    return (**p < 0x80) ? *(*p)++ : ngx_utf8_decode(p, last - *p);
}


static message_text_class_e
message_text_class(uint32_t c)
{
    ngx_uint_t  low, high, middle;

    if (c > ' ' && c < 0x7f) {
        return MESSAGE_TEXT_VISIBLE;
    }

    low = 0;
    high = MESSAGE_TEXT_RANGES;

    while (low < high) {
        middle = (low + high) / 2;

        if (c > message_text_ranges[middle].last) {
            low = middle + 1;

        } else if (c < message_text_ranges[middle].first) {
            high = middle;

        } else {
            return message_text_ranges[middle].class;
        }
    }

    return MESSAGE_TEXT_VISIBLE;
}


static size_t
message_text_token(message_text_run_t *run, u_char *token, uint32_t c,
    const u_char *p, size_t len)
{
    u_char  *t;

    t = message_text_gap(run, token);

    if ((run->flags & NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN)
        && message_text_special(run, c))
    {
        *t++ = '\\';
    }

    t = ngx_cpymem(t, p, len);

    /* a backslash would not keep the platform from seeing a mention */

    if (c == '@') {
        t = ngx_cpymem(t, MESSAGE_TEXT_SPLIT, sizeof(MESSAGE_TEXT_SPLIT) - 1);
    }

    run->prev = c;
    run->blank = 0;
    run->breaks = 0;

    return t - token;
}


/* blanks are written once something follows them: one, or an empty line */

static u_char *
message_text_gap(message_text_run_t *run, u_char *p)
{
    ngx_uint_t  i;

    if (run->prev == 0 || !run->blank) {
        return p;
    }

    if (run->breaks == 0 || !(run->flags & NGX_GUILDLOG_MESSAGE_TEXT_LINES)) {
        *p++ = ' ';
        return p;
    }

    for (i = 0; i < ngx_min(run->breaks, 2); i++) {
        *p++ = LF;

        if (run->flags & NGX_GUILDLOG_MESSAGE_TEXT_QUOTE) {
            *p++ = '>';
            *p++ = ' ';
        }
    }

    return p;
}


/* a name with a dot may be a link even without a scheme before it */

static ngx_uint_t
message_text_special(message_text_run_t *run, uint32_t c)
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
        return run->prev == 0 || run->breaks;

    case '.':
        return (run->prev >= '0' && run->prev <= '9')
               || ((run->prev | 0x20) >= 'a' && (run->prev | 0x20) <= 'z');

    default:
        return 0;
    }
}
