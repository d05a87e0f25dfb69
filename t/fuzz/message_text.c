
/*
 * Links ngx_guildlog_message_text.c and ngx_guildlog_utf8.c.
 *
 * Text of others stays within its limit and valid UTF-8.
 */

#include "platform/ngx_guildlog_message_parts.h"
#include "base/ngx_guildlog.h"
#include "fuzz.h"


#define UNITS  100


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    size_t                       n;
    ngx_str_t                    s;
    ngx_uint_t                   flags, max, units;
    ngx_guildlog_message_text_t  text;

    flags = fuzz_pick(&p, &len, 32);
    max = fuzz_pick(&p, &len, 2 * UNITS) + 1;

    if (ngx_guildlog_utf8_valid(p, len) != len) {
        return;
    }

    s.data = p;
    s.len = len;

    fuzz_expect(ngx_guildlog_message_text_init(&text, pool, UNITS) == NGX_OK);

    units = ngx_guildlog_message_text_user(&text, &s, max, flags);
    n = text.pos - text.start;

    fuzz_expect(units <= ngx_min(max, UNITS));
    fuzz_expect(ngx_guildlog_message_text_units(text.start, n) == units);
    fuzz_expect(text.left == UNITS - units);
    fuzz_expect(ngx_guildlog_utf8_valid(text.start, n) == n);
}
