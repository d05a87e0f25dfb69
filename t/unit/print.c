
/*
 * Links ngx_guildlog_utf8.c.
 *
 * A text is what its format says, however long it is, and may be a part of it.
 */

#include "base/ngx_guildlog.h"
#include "tap.h"


#define LONGEST  5000


int
main(void)
{
    u_char       a[LONGEST];
    size_t       n, bad;
    ngx_str_t    text, part;
    ngx_pool_t  *pool;

    tap_start();

    ngx_memset(a, 'a', sizeof(a));

    part.data = a;
    bad = 0;

    for (n = 0; n < LONGEST; n++) {
        pool = tap_pool();
        part.len = n;

        bad += ngx_guildlog_print(pool, &text, "%V", &part) != NGX_OK
               || text.len != n || ngx_memcmp(text.data, a, n) != 0;

        bad += ngx_guildlog_print(pool, &text, "<%V>%ui", &text, n) != NGX_OK
               || text.len < n + 3 || text.data[0] != '<'
               || ngx_memcmp(text.data + 1, a, n) != 0
               || text.data[n + 1] != '>'
               || (size_t) ngx_atoi(text.data + n + 2, text.len - n - 2) != n;

        ngx_destroy_pool(pool);
    }

    tap_is(bad, 0, "texts of all lengths");

    return tap_done();
}
