
/*
 * Query strings and bodies to the typed arguments of a statement, by tables.
 */

#include "api/ngx_guildlog_args.h"


static ngx_int_t args_item(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items);
static ngx_int_t args_complete(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, ngx_array_t *items, ngx_str_t *arg);
static ngx_int_t args_array(ngx_pool_t *pool, ngx_array_t *items,
    ngx_str_t *arg);
static u_char *args_decode(u_char *dst, const u_char *p, const u_char *last);
static ngx_int_t args_object(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *fields, json_t *json);
static void args_begin(ngx_guildlog_value_t *v, ngx_pool_t *pool,
    ngx_str_t *error);


ngx_int_t
ngx_guildlog_args_query(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    const ngx_str_t *query, ngx_str_t *args, ngx_str_t *error)
{
    u_char                      *buf, *p, *last, *end, *eq;
    ngx_int_t                    rc;
    ngx_str_t                    value;
    ngx_uint_t                   i, n;
    ngx_array_t                 *items;
    ngx_guildlog_value_t         v;
    const ngx_guildlog_field_t  *field;

    for (n = 0; fields[n].name.len; n++) {
        ngx_str_null(&args[n]);
    }

    if (n == 0) {
        return NGX_OK;
    }

    /* decoded text is never longer; values stay here, names are overwritten */

    buf = ngx_pnalloc(pool, query->len + 1);
    items = ngx_pcalloc(pool, n * sizeof(ngx_array_t));

    if (buf == NULL || items == NULL) {
        return NGX_ERROR;
    }

    args_begin(&v, pool, error);

    last = query->data + query->len;

    for (p = query->data; p < last; p = end + 1) {

        end = ngx_strlchr(p, last, '&');
        end = end ? end : last;

        eq = ngx_strlchr(p, end, '=');
        eq = eq ? eq : end;

        value.data = args_decode(buf, p, eq);

        if (value.data == NULL) {
            continue;
        }

        /* some clients send the name of a list as "name[]" */

        value.len = value.data - buf;

        if (value.len > 2 && ngx_memcmp(value.data - 2, "[]", 2) == 0) {
            value.len -= 2;
        }

        field = ngx_guildlog_value_field(fields, buf, value.len);

        if (field == NULL) {
            continue;
        }

        i = field - fields;
        v.name = field->name;

        value.data = buf;
        buf = args_decode(buf, (eq < end) ? eq + 1 : end, end);

        if (buf == NULL) {
            return ngx_guildlog_value_refuse(&v, "broken percent-encoding");
        }

        value.len = buf - value.data;

        if (field->type == NGX_GUILDLOG_ITEMS) {
            rc = args_item(&v, field, &value, &items[i]);

        } else if (args[i].data) {
            rc = ngx_guildlog_value_refuse(&v, "given twice");

        } else {
            rc = ngx_guildlog_value_text(&v, field, &value, &args[i]);
        }

        if (rc != NGX_OK) {
            return rc;
        }
    }

    for (i = 0; i < n; i++) {
        rc = args_complete(&v, &fields[i], &items[i], &args[i]);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


static ngx_int_t
args_item(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    ngx_str_t *value, ngx_array_t *items)
{
    ngx_int_t    rc;
    ngx_str_t    item, *known;
    ngx_uint_t   i;

    rc = ngx_guildlog_value_text(v, field->item, value, &item);

    if (rc != NGX_OK) {
        return rc;
    }

    known = items->elts;

    for (i = 0; i < items->nelts; i++) {
        if (ngx_guildlog_str_eq(&known[i], &item)) {
            return NGX_OK;
        }
    }

    if (items->elts == NULL
        && ngx_array_init(items, v->pool, 4, sizeof(ngx_str_t)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    known = ngx_array_push(items);
    if (known == NULL) {
        return NGX_ERROR;
    }

    *known = item;

    return NGX_OK;
}


/* after all pairs: what came, or the fallback */

static ngx_int_t
args_complete(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    ngx_array_t *items, ngx_str_t *arg)
{
    if (items->nelts) {
        return args_array(v->pool, items, arg);
    }

    /* empty where white space was trimmed */

    if (arg->data && (arg->len || !(field->flags & NGX_GUILDLOG_TRIM))) {
        return NGX_OK;
    }

    ngx_str_null(arg);

    if (field->flags & NGX_GUILDLOG_REQUIRED) {
        v->name = field->name;
        return ngx_guildlog_value_refuse(v, "is required");
    }

    if (field->fallback) {
        arg->data = (u_char *) field->fallback;
        arg->len = ngx_strlen(field->fallback);
    }

    return NGX_OK;
}


static ngx_int_t
args_array(ngx_pool_t *pool, ngx_array_t *items, ngx_str_t *arg)
{
    size_t       size;
    ngx_str_t   *item;
    ngx_uint_t   i;

    item = items->elts;
    size = 0;

    for (i = 0; i < items->nelts; i++) {
        size += item[i].len;
    }

    if (ngx_guildlog_value_array(arg, pool, items->nelts, size) != NGX_OK) {
        return NGX_ERROR;
    }

    for (i = 0; i < items->nelts; i++) {
        ngx_guildlog_value_array_add(arg, &item[i]);
    }

    ngx_guildlog_value_array_end(arg);

    return NGX_OK;
}


/* returns the end of what was written, NULL where a %XX is broken */

static u_char *
args_decode(u_char *dst, const u_char *p, const u_char *last)
{
    ngx_int_t  n;

    for ( /* void */ ; p < last; p++) {

        if (*p != '%') {
            *dst++ = (*p == '+') ? ' ' : *p;
            continue;
        }

        if (last - p < 3) {
            return NULL;
        }

        n = ngx_hextoi((u_char *) p + 1, 2);
        if (n == NGX_ERROR) {
            return NULL;
        }

        *dst++ = (u_char) n;
        p += 2;
    }

    return dst;
}


ngx_int_t
ngx_guildlog_args_body(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    json_t *body, ngx_str_t *error)
{
    ngx_guildlog_value_t  v;

    args_begin(&v, pool, error);

    return args_object(&v, fields, body);
}


ngx_int_t
ngx_guildlog_args_batch(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    json_t *body, ngx_str_t *error)
{
    size_t                i, n;
    ngx_int_t             rc;
    ngx_guildlog_value_t  v;

    args_begin(&v, pool, error);

    n = json_array_size(body);

    if (!json_is_array(body) || n == 0 || n > NGX_GUILDLOG_ARGS_BATCH_MAX) {
        return ngx_guildlog_value_refuse(&v, "must be an array of 1 to "
                   ngx_value(NGX_GUILDLOG_ARGS_BATCH_MAX) " objects");
    }

    for (i = 0; i < n; i++) {
        v.index = i;

        rc = args_object(&v, fields, json_array_get(body, i));

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


static ngx_int_t
args_object(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *fields,
    json_t *json)
{
    ngx_int_t  rc;

    if (!json_is_object(json)) {
        return ngx_guildlog_value_refuse(v, "must be a JSON object");
    }

    rc = ngx_guildlog_value_object(v, fields, json, NULL);

    if (rc == NGX_OK && fields->name.len && json_object_size(json) == 0) {
        return ngx_guildlog_value_refuse(v, "must set at least one field");
    }

    return rc;
}


static void
args_begin(ngx_guildlog_value_t *v, ngx_pool_t *pool, ngx_str_t *error)
{
    ngx_str_set(&v->name, "body");

    v->pool = pool;
    v->index = NGX_GUILDLOG_VALUE_NO_INDEX;
    v->error = error;
    v->outer = NULL;
}
