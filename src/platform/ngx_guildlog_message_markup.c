
/*
 * What of a text the platform would render, and how long it is.
 */

#include "platform/ngx_guildlog_message_char.h"
#include "platform/ngx_guildlog_message_markup.h"


/* of an id, an emoji's name, and a time, as the platform has them */

#define MESSAGE_MARKUP_ID     17, 20
#define MESSAGE_MARKUP_EMOJI  2, 32
#define MESSAGE_MARKUP_TIME   1, 13


static const u_char *message_markup_span(const u_char *p, const u_char *last,
    ngx_uint_t (*is)(u_char c), ngx_uint_t least, ngx_uint_t most);
static ngx_uint_t message_markup_is_digit(u_char c);
static ngx_uint_t message_markup_is_word(u_char c);


size_t
ngx_guildlog_message_markup(const u_char *p, const u_char *last)
{
    const u_char  *start;

    if (last - p < 3) {
        return 0;
    }

    start = p++;

    switch (*p++) {

    case '@':
        p += (*p == '!' || *p == '&');
        p = message_markup_span(p, last, message_markup_is_digit,
                                MESSAGE_MARKUP_ID);
        break;

    case '#':
        p = message_markup_span(p, last, message_markup_is_digit,
                                MESSAGE_MARKUP_ID);
        break;

    case 't':
        if (*p++ != ':') {
            return 0;
        }

        p = message_markup_span(p, last, message_markup_is_digit,
                                MESSAGE_MARKUP_TIME);

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
        p = message_markup_span(p, last, message_markup_is_word,
                                MESSAGE_MARKUP_EMOJI);

        if (p && p < last && *p == ':') {
            p = message_markup_span(p + 1, last, message_markup_is_digit,
                                    MESSAGE_MARKUP_ID);
        } else {
            return 0;
        }

        break;

    default:
        return 0;
    }

    return (p && p < last && *p == '>') ? p + 1 - start : 0;
}


static const u_char *
message_markup_span(const u_char *p, const u_char *last,
    ngx_uint_t (*is)(u_char c), ngx_uint_t least, ngx_uint_t most)
{
    ngx_uint_t  n;

    for (n = 0; p < last && n <= most && is(*p); n++) {
        p++;
    }

    return (n >= least && n <= most) ? p : NULL;
}


static ngx_uint_t
message_markup_is_digit(u_char c)
{
    return c >= '0' && c <= '9';
}


static ngx_uint_t
message_markup_is_word(u_char c)
{
    return message_markup_is_digit(c) || c == '_'
           || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}


/*
 * What is left out behind a backtick, as blanks are at the end, could make an
 * end of it, and two bars would end a spoiler: then it is text.
 */

const u_char *
ngx_guildlog_message_markup_code(const u_char *p, const u_char *last,
    ngx_uint_t marks, ngx_uint_t spoiler)
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
        c = ngx_guildlog_message_char_decode(&next, last);

        if (c > NGX_GUILDLOG_MESSAGE_CHAR_LAST) {
            return NULL;
        }

        class = ngx_guildlog_message_char(c);

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
