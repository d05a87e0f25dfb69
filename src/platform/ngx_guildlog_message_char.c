
/*
 * What is to be seen of a character.
 */

#include "platform/ngx_guildlog_message_char.h"


typedef struct {
    uint32_t                       first;
    uint32_t                       last;
    ngx_guildlog_message_char_e    class;
} message_char_range_t;


#define range(first, last, class)                                             \
    { first, last, NGX_GUILDLOG_MESSAGE_##class }


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


#define MESSAGE_CHAR_RANGES                                                   \
    (sizeof(message_char_ranges) / sizeof(message_char_range_t))


ngx_guildlog_message_char_e
ngx_guildlog_message_char(uint32_t c)
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


uint32_t
ngx_guildlog_message_char_decode(u_char **p, const u_char *last)
{
    return (**p < 0x80) ? *(*p)++ : ngx_utf8_decode(p, last - *p);
}
