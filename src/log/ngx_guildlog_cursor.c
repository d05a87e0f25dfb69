
/*
 * A cursor is nine bytes in base64url: the version of the format, then the
 * id, the highest byte first.
 */

#include "log/ngx_guildlog_cursor.h"


#define CURSOR_VERSION  1
#define CURSOR_BYTES    9


u_char *
ngx_guildlog_cursor_encode(u_char *dst, int64_t id)
{
    u_char      bytes[CURSOR_BYTES];
    ngx_str_t   text, raw;
    ngx_uint_t  i;

    bytes[0] = CURSOR_VERSION;

    for (i = 1; i < CURSOR_BYTES; i++) {
        bytes[i] = (u_char) ((uint64_t) id >> (8 * (8 - i)));
    }

    raw.data = bytes;
    raw.len = CURSOR_BYTES;
    text.data = dst;

    ngx_encode_base64url(&text, &raw);

    return dst + text.len;
}


ngx_int_t
ngx_guildlog_cursor_decode(const ngx_str_t *cursor, int64_t *id)
{
    u_char      bytes[NGX_GUILDLOG_CURSOR_LEN];
    uint64_t    n;
    ngx_str_t   text, raw;
    ngx_uint_t  i;

    if (cursor->len != NGX_GUILDLOG_CURSOR_LEN) {
        return NGX_DECLINED;
    }

    text = *cursor;
    raw.data = bytes;

    if (ngx_decode_base64url(&raw, &text) != NGX_OK
        || raw.len != CURSOR_BYTES
        || bytes[0] != CURSOR_VERSION)
    {
        return NGX_DECLINED;
    }

    n = 0;

    for (i = 1; i < CURSOR_BYTES; i++) {
        n = n << 8 | bytes[i];
    }

    if (n > INT64_MAX) {
        return NGX_DECLINED;
    }

    *id = (int64_t) n;

    return NGX_OK;
}
