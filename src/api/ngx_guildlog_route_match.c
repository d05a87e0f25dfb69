
/*
 * The endpoint of a path, and whether a body is one for it.
 */

#include "api/ngx_guildlog_route.h"


/* in "types" of all changes of a request: for most, a row each is written */
#define ROUTE_CHANGES_TYPES  1000


static ngx_uint_t route_match_path(const ngx_guildlog_route_t *route,
    const ngx_str_t *path, ngx_str_t *guild, ngx_str_t *pieces);
static ngx_uint_t route_match_piece(const ngx_guildlog_field_t *field,
    const ngx_str_t *piece);
static ngx_int_t route_match_change(ngx_guildlog_value_t *v, json_t *change,
    ngx_guildlog_json_t *calls);


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


ngx_int_t
ngx_guildlog_route_match_changes(ngx_pool_t *pool, json_t *body,
    ngx_str_t *calls, ngx_str_t *error)
{
    size_t                i, types;
    json_t               *change;
    ngx_int_t             rc;
    ngx_guildlog_json_t   w;
    ngx_guildlog_value_t  v;

    types = 0;

    ngx_guildlog_value_begin(&v, pool, "changes", error);
    ngx_guildlog_json_init(&w, pool, 1024);
    ngx_guildlog_json_begin(&w, '[');

    json_array_foreach(json_object_get(body, "changes"), i, change) {
        v.index = i;

        rc = route_match_change(&v, change, &w);

        if (rc != NGX_OK) {
            return rc;
        }

        types += json_array_size(json_object_get(
                                     json_object_get(change, "body"), "types"));
    }

    if (types > ROUTE_CHANGES_TYPES) {
        v.index = NGX_GUILDLOG_VALUE_NO_INDEX;
        return ngx_guildlog_value_refuse(&v, "must name at most %d types",
                                         ROUTE_CHANGES_TYPES);
    }

    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, calls);
}


static ngx_int_t
route_match_change(ngx_guildlog_value_t *v, json_t *change,
    ngx_guildlog_json_t *calls)
{
    json_t                      *body;
    ngx_str_t                    path, guild, name;
    ngx_str_t                    pieces[NGX_GUILDLOG_PIECES_MAX];
    ngx_uint_t                   method, methods;
    ngx_guildlog_value_t         inner;
    const ngx_guildlog_route_t  *route;

    ngx_guildlog_value_within(&inner, v);

    /* one of the four that the table of the body has */

    name = ngx_guildlog_json_get(change, "method");
    method = name.data[0] == 'D' ? NGX_GUILDLOG_DELETE
             : name.data[1] == 'A' ? NGX_GUILDLOG_PATCH
             : name.data[1] == 'U' ? NGX_GUILDLOG_PUT
             : NGX_GUILDLOG_POST;

    name = ngx_guildlog_json_get(change, "path");

    if (ngx_guildlog_print(v->pool, &path, "/servers/-%V", &name) != NGX_OK) {
        return NGX_ERROR;
    }

    route = ngx_guildlog_route_match(NGX_GUILDLOG_API, method, &path, &guild,
                                     pieces, &methods);

    if (route == NULL || guild.len != 1
        || !(route->flags & NGX_GUILDLOG_ROUTE_CHANGE))
    {
        ngx_str_set(&inner.name, "path");
        return ngx_guildlog_value_refuse(&inner, "is no change of the "
                                         "configuration with this method");
    }

    name = ngx_guildlog_word(route->name);

    ngx_guildlog_json_begin(calls, '[');
    ngx_guildlog_json_string(calls, &name);

    if (pieces[0].data) {
        ngx_guildlog_json_string(calls, &pieces[0]);
    }

    ngx_guildlog_json_end(calls);

    body = json_object_get(change, "body");
    ngx_str_set(&inner.name, "body");

    if ((body == NULL) == (route->body == NULL)) {
        return body ? ngx_guildlog_args_object(&inner, route->body, body)
                    : NGX_OK;
    }

    return ngx_guildlog_value_refuse(&inner, body ? "unknown field"
                                                  : "is required");
}
