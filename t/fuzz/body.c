
/*
 * Links ngx_guildlog_route.c, ngx_guildlog_route_match.c,
 * ngx_guildlog_value.c, ngx_guildlog_stmt.c, ngx_guildlog_json.c and
 * ngx_guildlog_utf8.c.
 *
 * A body for any endpoint that takes one.
 */

#include "api/ngx_guildlog_route.h"
#include "fuzz.h"


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    json_t                      *body;
    ngx_int_t                    rc;
    ngx_str_t                    text, error, calls;
    const ngx_guildlog_route_t  *route;

    route = &ngx_guildlog_routes[fuzz_pick(&p, &len, ngx_guildlog_nroutes)];

    if (route->body == NULL) {
        return;
    }

    text.data = p;
    text.len = len;

    rc = ngx_guildlog_route_match_body(pool, route, &text, &body, &error);

    if (rc == NGX_OK && (route->flags & NGX_GUILDLOG_ROUTE_CHANGES)) {
        rc = ngx_guildlog_route_match_changes(pool, body, &calls, &error);
    }

    if (rc == NGX_DECLINED) {
        fuzz_refused(&error);
        return;
    }

    fuzz_expect(rc == NGX_OK);
}
