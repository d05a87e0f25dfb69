
/*
 * Links ngx_guildlog_value.c, ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * An id of a path, of a body or of Last-Event-ID is accepted only if it is a
 * number in the range of PostgreSQL's bigint.
 */

#include "api/ngx_guildlog_value.h"
#include "fuzz.h"


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    char        text[32];
    size_t      min, digits;
    ngx_uint_t  is_id;

    min = fuzz_pick(&p, &len, 20) + 1;

    for (digits = 0; digits < len && digits <= 20; digits++) {
        if (p[digits] < '0' || p[digits] > '9') {
            break;
        }
    }

    is_id = 0;

    if (digits == len && len >= min && len <= 20) {
        ngx_memcpy(text, p, len);
        text[len] = '\0';

        errno = 0;
        is_id = strtoull(text, NULL, 10) <= INT64_MAX && errno == 0;
    }

    fuzz_expect((ngx_guildlog_value_id(p, len, min) == NGX_OK) == is_id);
}
