
/*
 * Text: what a format makes, and UTF-8 by its bytes.
 */

#include "base/ngx_guildlog.h"


#define PRINT_SHORT  1024


static size_t utf8_plain(const u_char *p, size_t len);
static size_t utf8_rune(const u_char *p, size_t len);


ngx_int_t
ngx_guildlog_print(ngx_pool_t *pool, ngx_str_t *text, const char *fmt, ...)
{
    va_list    args;
    ngx_int_t  rc;

    va_start(args, fmt);
    rc = ngx_guildlog_vprint(pool, text, fmt, args);
    va_end(args);

    return rc;
}


ngx_int_t
ngx_guildlog_vprint(ngx_pool_t *pool, ngx_str_t *text, const char *fmt,
    va_list args)
{
    u_char     buf[PRINT_SHORT], *last;
    size_t     size;
    va_list    copy;
    ngx_str_t  made;

    size = sizeof(buf);
    made.data = buf;

    for ( ;; ) {
        va_copy(copy, args);
        last = ngx_vslprintf(made.data, made.data + size, fmt, copy);
        va_end(copy);

        made.len = last - made.data;

        if (made.len < size) {
            break;
        }

        size *= 2;

        /* it may be a secret */

        ngx_explicit_memzero(made.data, made.len);

        made.data = ngx_pnalloc(pool, size);
        if (made.data == NULL) {
            return NGX_ERROR;
        }
    }

    if (made.data == buf) {
        made.data = ngx_pstrdup(pool, &made);
        ngx_explicit_memzero(buf, made.len);
    }

    *text = made;

    return text->data ? NGX_OK : NGX_ERROR;
}


ngx_uint_t
ngx_guildlog_is_letters(const ngx_str_t *s, const char *others)
{
    size_t  i;

    for (i = 0; i < s->len; i++) {
        if (!ngx_guildlog_is_letter(s->data[i], others)) {
            return 0;
        }
    }

    return 1;
}


size_t
ngx_guildlog_utf8_valid(const u_char *p, size_t len)
{
    size_t  i, n;

    for (i = 0; i < len; i += n) {
        n = utf8_plain(p + i, len - i);

        if (n) {
            continue;
        }

        n = utf8_rune(p + i, len - i);

        if (n == 0) {
            break;
        }
    }

    return i;
}


/* eight bytes at once: how many of the first ones are ASCII without a NUL */

static size_t
utf8_plain(const u_char *p, size_t len)
{
    size_t    i;
    uint64_t  word;

    for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
        ngx_memcpy(&word, p + i, sizeof(word));

        if ((word | (word - 0x0101010101010101)) & 0x8080808080808080) {
            break;
        }
    }

    return i;
}


/* the length of the character at p, 0 if it is none or NUL */

static size_t
utf8_rune(const u_char *p, size_t len)
{
    size_t  i, n;
    u_char  min, max;

    if (*p < 0x80) {
        return *p ? 1 : 0;
    }

    /* the range of the second byte keeps out overlong forms and surrogates */

    min = 0x80;
    max = 0xbf;

    if (*p >= 0xc2 && *p <= 0xdf) {
        n = 2;

    } else if (*p >= 0xe0 && *p <= 0xef) {
        n = 3;
        min = (*p == 0xe0) ? 0xa0 : min;
        max = (*p == 0xed) ? 0x9f : max;

    } else if (*p >= 0xf0 && *p <= 0xf4) {
        n = 4;
        min = (*p == 0xf0) ? 0x90 : min;
        max = (*p == 0xf4) ? 0x8f : max;

    } else {
        return 0;
    }

    if (len < n || p[1] < min || p[1] > max) {
        return 0;
    }

    for (i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }

    return n;
}


size_t
ngx_guildlog_utf8_length(const u_char *p, size_t len)
{
    size_t  i, n;

    n = 0;

    for (i = 0; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            n++;
        }
    }

    return n;
}


size_t
ngx_guildlog_utf8_cut(const u_char *p, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }

    while (max && (p[max] & 0xc0) == 0x80) {
        max--;
    }

    return max;
}


u_char *
ngx_guildlog_utf8_put(u_char *dst, uint32_t c)
{
    if (c < 0x80) {
        *dst++ = (u_char) c;
        return dst;
    }

    if (c < 0x800) {
        *dst++ = (u_char) (0xc0 | c >> 6);

    } else {

        if (c < 0x10000) {
            *dst++ = (u_char) (0xe0 | c >> 12);

        } else {
            *dst++ = (u_char) (0xf0 | c >> 18);
            *dst++ = (u_char) (0x80 | (c >> 12 & 0x3f));
        }

        *dst++ = (u_char) (0x80 | (c >> 6 & 0x3f));
    }

    *dst++ = (u_char) (0x80 | (c & 0x3f));

    return dst;
}
