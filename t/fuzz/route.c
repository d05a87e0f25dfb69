
/*
 * Links ngx_guildlog_route.c, ngx_guildlog_route_match.c,
 * ngx_guildlog_value.c, ngx_guildlog_stmt.c, ngx_guildlog_json.c and
 * ngx_guildlog_utf8.c.
 *
 * A path: its server has a valid id, and a path that has no route has none for
 * the methods in Allow either.
 */

#include "api/ngx_guildlog_route.h"
#include "fuzz.h"


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_str_t                    path, guild;
    ngx_str_t                    pieces[NGX_GUILDLOG_PIECES_MAX];
    ngx_uint_t                   methods, method, others;
    ngx_guildlog_plane_e         plane;
    const ngx_guildlog_route_t  *route;

    static ngx_uint_t  known[] = {
        NGX_GUILDLOG_GET, NGX_GUILDLOG_HEAD, NGX_GUILDLOG_POST,
        NGX_GUILDLOG_PUT, NGX_GUILDLOG_DELETE, NGX_GUILDLOG_PATCH, 0
    };

    plane = fuzz_pick(&p, &len, 2) ? NGX_GUILDLOG_OPERATOR
                                   : NGX_GUILDLOG_API;
    method = known[fuzz_pick(&p, &len, sizeof(known) / sizeof(known[0]))];

    path.data = p;
    path.len = len;

    route = ngx_guildlog_route_match(plane, method, &path, &guild, pieces,
                                     &methods);
    if (route == NULL) {
        fuzz_expect(method == 0 || (methods & method) == 0);
        return;
    }

    fuzz_expect(route->plane == plane);
    fuzz_expect(guild.data == NULL
                || (guild.data >= p && guild.data + guild.len <= p + len));

    /* each method of the route finds it */

    others = route->method;

    fuzz_expect(ngx_guildlog_route_match(plane, others, &path, &guild, pieces,
                                         &methods)
                == route);
}
