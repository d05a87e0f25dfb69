
/*
 * Links ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_pieces.c, ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * A cursor that is read and written again is the same text.
 */

#include "log/ngx_guildlog_pieces.h"
#include "fuzz.h"


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    u_char     buf[NGX_GUILDLOG_CURSOR_LEN];
    int64_t    id;
    ngx_str_t  cursor;

    cursor.data = p;
    cursor.len = len;

    if (ngx_guildlog_cursor_decode(&cursor, &id) != NGX_OK) {
        return;
    }

    fuzz_expect(len == NGX_GUILDLOG_CURSOR_LEN);
    fuzz_expect(id >= 0);

    (void) ngx_guildlog_cursor_encode(buf, id);

    fuzz_expect(ngx_memcmp(buf, p, len) == 0);
}
