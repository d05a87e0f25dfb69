
/*
 * Links ngx_guildlog_route.c, ngx_guildlog_value.c, ngx_guildlog_stmt.c,
 * ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * The query string of any endpoint: every argument is text that PostgreSQL
 * takes.
 */

#include "api/ngx_guildlog_route.h"
#include "base/ngx_guildlog.h"
#include "fuzz.h"


#define ARGS_MAX  32


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_int_t                    rc;
    ngx_str_t                    query, error, args[ARGS_MAX];
    ngx_uint_t                   i;
    const ngx_guildlog_field_t  *fields;

    i = fuzz_pick(&p, &len, ngx_guildlog_nroutes);
    fields = ngx_guildlog_routes[i].query;

    if (fields == NULL) {
        fields = ngx_guildlog_route_bot;
    }

    query.data = p;
    query.len = len;

    rc = ngx_guildlog_args_query(pool, fields, &query, args, &error);

    if (rc == NGX_DECLINED) {
        fuzz_refused(&error);
        return;
    }

    fuzz_expect(rc == NGX_OK);

    for (i = 0; fields[i].name.len; i++) {
        fuzz_expect(i < ARGS_MAX);

        if (args[i].data) {
            fuzz_expect(ngx_guildlog_utf8_valid(args[i].data, args[i].len)
                        == args[i].len);
        }
    }
}
