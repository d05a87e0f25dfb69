
/*
 * The endpoint of a path, and whether a body is one for it.
 */

#include "api/ngx_guildlog_route.h"


static ngx_uint_t route_match_path(const ngx_guildlog_route_t *route,
    const ngx_str_t *path, ngx_str_t *guild, ngx_str_t *pieces);
static ngx_uint_t route_match_piece(const ngx_guildlog_field_t *field,
    const ngx_str_t *piece);


const ngx_guildlog_route_t *
ngx_guildlog_route_match(ngx_guildlog_plane_e plane, ngx_uint_t method,
    const ngx_str_t *path, ngx_str_t *guild, ngx_str_t *pieces,
    ngx_uint_t *methods)
{
    ngx_uint_t                   i;
    const ngx_guildlog_route_t  *route;

    *methods = 0;

    if (method == NGX_GUILDLOG_HEAD) {
        method = NGX_GUILDLOG_GET;
    }

    for (i = 0; i < ngx_guildlog_nroutes; i++) {
        route = &ngx_guildlog_routes[i];

        if (route->plane != plane
            || !route_match_path(route, path, guild, pieces))
        {
            continue;
        }

        if (route->method == method) {
            return route;
        }

        *methods |= route->method;
    }

    if (*methods & NGX_GUILDLOG_GET) {
        *methods |= NGX_GUILDLOG_HEAD;
    }

    return NULL;
}


static ngx_uint_t
route_match_path(const ngx_guildlog_route_t *route, const ngx_str_t *path,
    ngx_str_t *guild, ngx_str_t *pieces)
{
    u_char                      *p, *end;
    ngx_str_t                    piece;
    ngx_uint_t                   n;
    const char                  *s;
    const ngx_guildlog_field_t  *field;

    n = 0;
    field = route->pieces;

    ngx_str_null(guild);
    ngx_memzero(pieces, NGX_GUILDLOG_PIECES_MAX * sizeof(ngx_str_t));

    p = path->data;
    end = p + path->len;

    for (s = route->pattern; *s; /* void */ ) {

        if (*s != '{') {
            if (p == end || *p != (u_char) *s) {
                return 0;
            }

            p++;
            s++;
            continue;
        }

        piece.data = p;

        while (p < end && *p != '/') {
            p++;
        }

        piece.len = p - piece.data;

        if (piece.len == 0) {
            return 0;
        }

        if (s[1] != '}') {
            *guild = piece;

        } else if (route_match_piece(field++, &piece)) {
            pieces[n++] = piece;

        } else {
            return 0;
        }

        s = ngx_strchr(s, '}') + 1;
    }

    return p == end;
}


static ngx_uint_t
route_match_piece(const ngx_guildlog_field_t *field, const ngx_str_t *piece)
{
    size_t     len;
    ngx_int_t  n;

    switch (field->type) {

    case NGX_GUILDLOG_INT:

        /* one way to write a number, so that a path is one resource */

        if (piece->len > 1 && piece->data[0] == '0') {
            return 0;
        }

        n = ngx_atoi(piece->data, piece->len);

        return n != NGX_ERROR && n >= field->min && n <= field->max;

    case NGX_GUILDLOG_ID:

        /* the same; and nothing has the ID 0 */

        return piece->data[0] != '0'
               && ngx_guildlog_value_id(piece->data, piece->len, 1) == NGX_OK;

    case NGX_GUILDLOG_ENUM:

        return ngx_guildlog_value_is_one(field->values, piece);

    default: /* NGX_GUILDLOG_TEXT: of ASCII, in a path */

        for (len = 0; len < piece->len; len++) {
            if (piece->data[len] < 0x20 || piece->data[len] > 0x7e) {
                return 0;
            }
        }

        return (int64_t) piece->len >= field->min
               && (int64_t) piece->len <= field->max;
    }
}


ngx_int_t
ngx_guildlog_route_match_body(ngx_pool_t *pool,
    const ngx_guildlog_route_t *route, const ngx_str_t *text, json_t **body,
    ngx_str_t *error)
{
    *body = ngx_guildlog_json_parse(pool, text, error);

    if (*body == NULL) {
        return error->len ? NGX_DECLINED : NGX_ERROR;
    }

    if (route->flags & NGX_GUILDLOG_ROUTE_BATCH) {
        return ngx_guildlog_args_batch(pool, route->body, *body, error);
    }

    if ((route->flags & NGX_GUILDLOG_ROUTE_EMPTY)
        && json_is_object(*body) && json_object_size(*body) == 0)
    {
        return NGX_OK;
    }

    return ngx_guildlog_args_body(pool, route->body, *body, error);
}
