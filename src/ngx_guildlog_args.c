
/*
 * Query strings and bodies to the typed arguments of a statement, by tables.
 */

#include "ngx_guildlog_args.h"


#define NGX_GUILDLOG_ARGS_ID_LEN   20
#define NGX_GUILDLOG_ARGS_INT_LEN  19   /* digits of 2^63 - 1 */
#define NGX_GUILDLOG_ARGS_NAME     64   /* of an unknown field, in bytes */
#define NGX_GUILDLOG_ARGS_MESSAGE  512

#define NGX_GUILDLOG_ARGS_NO_INDEX  ((ngx_uint_t) -1)


/* what errors are written to, and the name they begin with */

typedef struct {
    ngx_pool_t                    *pool;
    ngx_str_t                      name;
    ngx_uint_t                     index;  /* in a list */
    ngx_str_t                     *error;
} ngx_guildlog_args_t;


typedef ngx_int_t (*ngx_guildlog_args_text_pt)(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
typedef ngx_int_t (*ngx_guildlog_args_json_pt)(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);


static ngx_int_t ngx_guildlog_args_pair(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_item(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items);
static ngx_int_t ngx_guildlog_args_array(ngx_pool_t *pool, ngx_array_t *items,
    ngx_str_t *arg);
static u_char *ngx_guildlog_args_decode(u_char *dst, const u_char *p,
    const u_char *last);

static ngx_int_t ngx_guildlog_args_text(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_bool(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_int(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_text(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_id(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_enum(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);
static ngx_int_t ngx_guildlog_args_text_url(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value,
    ngx_str_t *arg);

static ngx_int_t ngx_guildlog_args_json(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);
static ngx_int_t ngx_guildlog_args_json_bool(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);
static ngx_int_t ngx_guildlog_args_json_int(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);
static ngx_int_t ngx_guildlog_args_json_string(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);
static ngx_int_t ngx_guildlog_args_json_list(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value);

static const ngx_guildlog_field_t *ngx_guildlog_args_find(
    const ngx_guildlog_field_t *fields, const u_char *name, size_t len);
static ngx_uint_t ngx_guildlog_args_blank(const u_char *p, size_t len);
static ngx_int_t ngx_guildlog_args_length(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value);
static ngx_int_t ngx_guildlog_args_bad(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field);
static ngx_int_t ngx_guildlog_args_refuse(ngx_guildlog_args_t *a,
    const char *fmt, ...);


/* both in the order of ngx_guildlog_type_e */

static const ngx_guildlog_args_text_pt  ngx_guildlog_args_texts[] = {
    ngx_guildlog_args_text_bool,
    ngx_guildlog_args_text_int,
    ngx_guildlog_args_text_text,
    ngx_guildlog_args_text_id,
    ngx_guildlog_args_text_enum,
    ngx_guildlog_args_text_url
};


static const ngx_guildlog_args_json_pt  ngx_guildlog_args_jsons[] = {
    ngx_guildlog_args_json_bool,
    ngx_guildlog_args_json_int,
    ngx_guildlog_args_json_string,
    ngx_guildlog_args_json_string,
    ngx_guildlog_args_json_string,
    ngx_guildlog_args_json_string,
    ngx_guildlog_args_json_list
};


ngx_int_t
ngx_guildlog_args_query(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    const ngx_str_t *query, ngx_str_t *args, ngx_str_t *error)
{
    u_char                      *buf, *p, *last, *end, *eq;
    ngx_int_t                    rc;
    ngx_str_t                    value;
    ngx_uint_t                   i, n;
    ngx_array_t                 *items;
    ngx_guildlog_args_t          a;
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

    a.pool = pool;
    a.index = NGX_GUILDLOG_ARGS_NO_INDEX;
    a.error = error;

    last = query->data + query->len;

    for (p = query->data; p < last; p = end + 1) {

        end = ngx_strlchr(p, last, '&');
        end = end ? end : last;

        eq = ngx_strlchr(p, end, '=');
        eq = eq ? eq : end;

        value.data = ngx_guildlog_args_decode(buf, p, eq);

        if (value.data == NULL) {
            continue;
        }

        field = ngx_guildlog_args_find(fields, buf, value.data - buf);

        if (field == NULL) {
            continue;
        }

        i = field - fields;
        a.name = field->name;

        value.data = buf;
        buf = ngx_guildlog_args_decode(buf, (eq < end) ? eq + 1 : end, end);

        if (buf == NULL) {
            return ngx_guildlog_args_refuse(&a, "broken percent-encoding");
        }

        value.len = buf - value.data;

        rc = ngx_guildlog_args_pair(&a, field, &value, &items[i], &args[i]);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    for (i = 0; i < n; i++) {

        if (items[i].nelts) {
            if (ngx_guildlog_args_array(pool, &items[i], &args[i]) != NGX_OK) {
                return NGX_ERROR;
            }

            continue;
        }

        /* empty where white space was trimmed */

        if (args[i].data
            && !((fields[i].flags & NGX_GUILDLOG_TRIM) && args[i].len == 0))
        {
            continue;
        }

        ngx_str_null(&args[i]);

        if (fields[i].flags & NGX_GUILDLOG_REQUIRED) {
            a.name = fields[i].name;
            return ngx_guildlog_args_refuse(&a, "is required");
        }

        if (fields[i].fallback) {
            args[i].data = (u_char *) fields[i].fallback;
            args[i].len = ngx_strlen(fields[i].fallback);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_args_pair(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items,
    ngx_str_t *arg)
{
    if (field->type == NGX_GUILDLOG_ITEMS) {
        return ngx_guildlog_args_item(a, field, value, items);
    }

    if (arg->data) {
        return ngx_guildlog_args_refuse(a, "given twice");
    }

    return ngx_guildlog_args_text(a, field, value, arg);
}


static ngx_int_t
ngx_guildlog_args_item(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items)
{
    ngx_int_t    rc;
    ngx_str_t    item, *known;
    ngx_uint_t   i;

    rc = ngx_guildlog_args_text(a, field->item, value, &item);

    if (rc != NGX_OK) {
        return rc;
    }

    known = items->elts;

    for (i = 0; i < items->nelts; i++) {
        if (known[i].len == item.len
            && ngx_memcmp(known[i].data, item.data, item.len) == 0)
        {
            return NGX_OK;
        }
    }

    if (field->max && items->nelts == (ngx_uint_t) field->max) {
        return ngx_guildlog_args_refuse(a, "at most %L values", field->max);
    }

    if (items->elts == NULL
        && ngx_array_init(items, a->pool, 4, sizeof(ngx_str_t)) != NGX_OK)
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


/* {"a","b\"c"}: everything quoted, so that NULL and commas are plain text */

static ngx_int_t
ngx_guildlog_args_array(ngx_pool_t *pool, ngx_array_t *items, ngx_str_t *arg)
{
    size_t       len, j;
    u_char      *p;
    ngx_str_t   *item;
    ngx_uint_t   i;

    item = items->elts;
    len = sizeof("{}") - 1;

    for (i = 0; i < items->nelts; i++) {
        len += sizeof("\"\",") - 1 + 2 * item[i].len;
    }

    p = ngx_pnalloc(pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    arg->data = p;

    for (i = 0; i < items->nelts; i++) {
        *p++ = (i == 0) ? '{' : ',';
        *p++ = '"';

        for (j = 0; j < item[i].len; j++) {
            if (item[i].data[j] == '"' || item[i].data[j] == '\\') {
                *p++ = '\\';
            }

            *p++ = item[i].data[j];
        }

        *p++ = '"';
    }

    *p++ = '}';
    arg->len = p - arg->data;

    return NGX_OK;
}


/* returns the end of what was written, NULL where a %XX is broken */

static u_char *
ngx_guildlog_args_decode(u_char *dst, const u_char *p, const u_char *last)
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


static ngx_int_t
ngx_guildlog_args_text(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    size_t  valid;

    valid = ngx_guildlog_json_valid(value->data, value->len);

    if (valid < value->len) {
        return ngx_guildlog_args_refuse(a, value->data[valid]
                                           ? "is not valid UTF-8"
                                           : "must not contain NUL");
    }

    if ((field->flags & NGX_GUILDLOG_TRIM)
        && ngx_guildlog_args_blank(value->data, value->len))
    {
        ngx_str_set(arg, "");
        return NGX_OK;
    }

    return ngx_guildlog_args_texts[field->type](a, field, value, arg);
}


static ngx_int_t
ngx_guildlog_args_text_bool(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    if ((value->len == 4 && ngx_memcmp(value->data, "true", 4) == 0)
        || (value->len == 1 && value->data[0] == '1'))
    {
        ngx_str_set(arg, "true");
        return NGX_OK;
    }

    if ((value->len == 5 && ngx_memcmp(value->data, "false", 5) == 0)
        || (value->len == 1 && value->data[0] == '0'))
    {
        ngx_str_set(arg, "false");
        return NGX_OK;
    }

    return ngx_guildlog_args_bad(a, field);
}


static ngx_int_t
ngx_guildlog_args_text_int(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    size_t       len;
    int64_t      n;
    uint64_t     u;
    ngx_uint_t   negative;
    u_char      *p, *last;

    p = value->data;
    last = p + value->len;

    negative = (p < last && *p == '-');
    p += negative;

    len = last - p;

    if (len == 0 || len > NGX_GUILDLOG_ARGS_INT_LEN) {
        return ngx_guildlog_args_bad(a, field);
    }

    for (u = 0; p < last; p++) {
        if (*p < '0' || *p > '9') {
            return ngx_guildlog_args_bad(a, field);
        }

        u = u * 10 + (*p - '0');
    }

    if (!negative && u > (uint64_t) field->max && field->max >= 0) {

        if (!(field->flags & NGX_GUILDLOG_CLAMP)) {
            return ngx_guildlog_args_bad(a, field);
        }

        u = field->max;
    }

    if (u > INT64_MAX) {
        return ngx_guildlog_args_bad(a, field);
    }

    n = negative ? - (int64_t) u : (int64_t) u;

    if (n < field->min || n > field->max) {
        return ngx_guildlog_args_bad(a, field);
    }

    arg->data = ngx_pnalloc(a->pool, NGX_INT64_LEN);
    if (arg->data == NULL) {
        return NGX_ERROR;
    }

    arg->len = ngx_sprintf(arg->data, "%L", n) - arg->data;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_args_text_text(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    *arg = *value;

    return ngx_guildlog_args_length(a, field, value);
}


static ngx_int_t
ngx_guildlog_args_text_id(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    size_t   i;
    int64_t  n;

    *arg = *value;

    if (ngx_guildlog_args_id(value->data, value->len, 1) != NGX_OK) {
        return ngx_guildlog_args_bad(a, field);
    }

    for (i = 0, n = 0; i < value->len; i++) {
        n = n * 10 + (value->data[i] - '0');
    }

    return (n < field->min) ? ngx_guildlog_args_bad(a, field) : NGX_OK;
}


static ngx_int_t
ngx_guildlog_args_text_enum(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    const char  **allowed;

    *arg = *value;

    for (allowed = field->values; *allowed; allowed++) {
        if (ngx_strlen(*allowed) == value->len
            && ngx_memcmp(*allowed, value->data, value->len) == 0)
        {
            return NGX_OK;
        }
    }

    return ngx_guildlog_args_bad(a, field);
}


static ngx_int_t
ngx_guildlog_args_text_url(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg)
{
    u_char  *p, *last, *host;

    *arg = *value;

    p = value->data;
    last = p + value->len;

    if (value->len > 7 && ngx_strncasecmp(p, (u_char *) "http://", 7) == 0) {
        host = p + 7;

    } else if (value->len > 8
               && ngx_strncasecmp(p, (u_char *) "https://", 8) == 0)
    {
        host = p + 8;

    } else {
        return ngx_guildlog_args_bad(a, field);
    }

    if (ngx_strchr("/?#:@", *host)) {
        return ngx_guildlog_args_bad(a, field);
    }

    for ( /* void */ ; p < last; p++) {
        if (*p <= ' ' || *p == 0x7f || ngx_strchr("\"<>\\^`{|}", *p)) {
            return ngx_guildlog_args_bad(a, field);
        }
    }

    return ngx_guildlog_args_length(a, field, value);
}


ngx_int_t
ngx_guildlog_args_body(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    json_t *body, ngx_str_t *error)
{
    json_t                      *value;
    ngx_int_t                    rc;
    const char                  *key;
    ngx_guildlog_args_t          a;
    const ngx_guildlog_field_t  *field;

    a.pool = pool;
    a.index = NGX_GUILDLOG_ARGS_NO_INDEX;
    a.error = error;

    ngx_str_set(&a.name, "body");

    if (!json_is_object(body)) {
        return ngx_guildlog_args_refuse(&a, "must be a JSON object");
    }

    json_object_foreach(body, key, value) {
        a.name.data = (u_char *) key;
        a.name.len = ngx_strlen(key);

        field = ngx_guildlog_args_find(fields, a.name.data, a.name.len);

        if (field == NULL) {
            a.name.len = ngx_guildlog_json_cut(a.name.data, a.name.len,
                                               NGX_GUILDLOG_ARGS_NAME);

            return ngx_guildlog_args_refuse(&a, "unknown field");
        }

        rc = ngx_guildlog_args_json(&a, field, value);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    for (field = fields; field->name.len; field++) {
        if ((field->flags & NGX_GUILDLOG_REQUIRED)
            && json_object_get(body, (char *) field->name.data) == NULL)
        {
            a.name = field->name;
            return ngx_guildlog_args_refuse(&a, "is required");
        }
    }

    if (fields->name.len && json_object_size(body) == 0) {
        ngx_str_set(&a.name, "body");
        return ngx_guildlog_args_refuse(&a, "must set at least one field");
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_args_value(ngx_pool_t *pool, const ngx_guildlog_field_t *field,
    json_t *value, ngx_str_t *error)
{
    ngx_guildlog_args_t  a;

    a.pool = pool;
    a.name = field->name;
    a.index = NGX_GUILDLOG_ARGS_NO_INDEX;
    a.error = error;

    return ngx_guildlog_args_json(&a, field, value);
}


static ngx_int_t
ngx_guildlog_args_json(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value)
{
    if (json_is_null(value) && (field->flags & NGX_GUILDLOG_NULLABLE)) {
        return NGX_OK;
    }

    return ngx_guildlog_args_jsons[field->type](a, field, value);
}


static ngx_int_t
ngx_guildlog_args_json_bool(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value)
{
    return json_is_boolean(value) ? NGX_OK : ngx_guildlog_args_bad(a, field);
}


static ngx_int_t
ngx_guildlog_args_json_int(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value)
{
    json_int_t  n;

    if (!json_is_integer(value)) {
        return ngx_guildlog_args_bad(a, field);
    }

    n = json_integer_value(value);

    if (n < field->min
        || (n > field->max && !(field->flags & NGX_GUILDLOG_CLAMP)))
    {
        return ngx_guildlog_args_bad(a, field);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_args_json_string(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value)
{
    ngx_int_t  rc;
    ngx_str_t  text, arg;

    if (!json_is_string(value)) {
        return ngx_guildlog_args_bad(a, field);
    }

    text.data = (u_char *) json_string_value(value);
    text.len = json_string_length(value);

    rc = ngx_guildlog_args_text(a, field, &text, &arg);

    if (rc == NGX_OK && arg.len == 0 && (field->flags & NGX_GUILDLOG_TRIM)
        && (field->flags & NGX_GUILDLOG_REQUIRED))
    {
        return ngx_guildlog_args_refuse(a, "is required");
    }

    return rc;
}


static ngx_int_t
ngx_guildlog_args_json_list(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, json_t *value)
{
    size_t      i, j;
    int64_t     n;
    json_t     *item;
    ngx_int_t   rc;

    if (!json_is_array(value)) {
        return ngx_guildlog_args_refuse(a, "must be an array");
    }

    n = json_array_size(value);

    if (n < field->min || n > field->max) {
        return ngx_guildlog_args_bad(a, field);
    }

    json_array_foreach(value, i, item) {
        a->index = i;

        rc = ngx_guildlog_args_json(a, field->item, item);

        if (rc != NGX_OK) {
            return rc;
        }

        if (field->item->type != NGX_GUILDLOG_ENUM) {
            continue;
        }

        for (j = 0; j < i; j++) {
            if (json_equal(json_array_get(value, j), item)) {
                return ngx_guildlog_args_refuse(a, "given twice");
            }
        }
    }

    a->index = NGX_GUILDLOG_ARGS_NO_INDEX;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_args_id(const u_char *p, size_t len, size_t min)
{
    size_t  i;

    if (len < min || len == 0 || len > NGX_GUILDLOG_ARGS_ID_LEN) {
        return NGX_DECLINED;
    }

    for (i = 0; i < len; i++) {
        if (p[i] < '0' || p[i] > '9') {
            return NGX_DECLINED;
        }
    }

    while (len && *p == '0') {
        p++;
        len--;
    }

    if (len > NGX_GUILDLOG_ARGS_INT_LEN
        || (len == NGX_GUILDLOG_ARGS_INT_LEN
            && ngx_memcmp(p, "9223372036854775807", len) > 0))
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static const ngx_guildlog_field_t *
ngx_guildlog_args_find(const ngx_guildlog_field_t *fields, const u_char *name,
    size_t len)
{
    for ( /* void */ ; fields->name.len; fields++) {
        if (fields->name.len == len
            && ngx_memcmp(fields->name.data, name, len) == 0)
        {
            return fields;
        }
    }

    return NULL;
}


/* only what Unicode calls white space, in valid UTF-8 */

static ngx_uint_t
ngx_guildlog_args_blank(const u_char *p, size_t len)
{
    size_t                         n;
    const ngx_str_t               *space;
    static const ngx_str_t         spaces[] = {
        ngx_string(" "), ngx_string("\t"), ngx_string("\n"),
        ngx_string("\v"), ngx_string("\f"), ngx_string("\r"),
        ngx_string("\xc2\x85"), ngx_string("\xc2\xa0"),
        ngx_string("\xe1\x9a\x80"), ngx_string("\xe2\x80\x80"),
        ngx_string("\xe2\x80\x81"), ngx_string("\xe2\x80\x82"),
        ngx_string("\xe2\x80\x83"), ngx_string("\xe2\x80\x84"),
        ngx_string("\xe2\x80\x85"), ngx_string("\xe2\x80\x86"),
        ngx_string("\xe2\x80\x87"), ngx_string("\xe2\x80\x88"),
        ngx_string("\xe2\x80\x89"), ngx_string("\xe2\x80\x8a"),
        ngx_string("\xe2\x80\xa8"), ngx_string("\xe2\x80\xa9"),
        ngx_string("\xe2\x80\xaf"), ngx_string("\xe2\x81\x9f"),
        ngx_string("\xe3\x80\x80"), ngx_null_string
    };

    while (len) {

        for (space = spaces; space->len; space++) {
            n = space->len;

            if (n <= len && ngx_memcmp(p, space->data, n) == 0) {
                break;
            }
        }

        if (space->len == 0) {
            return 0;
        }

        p += space->len;
        len -= space->len;
    }

    return 1;
}


static ngx_int_t
ngx_guildlog_args_length(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field, const ngx_str_t *value)
{
    int64_t  n;

    n = ngx_guildlog_json_length(value->data, value->len);

    if (n >= field->min && n <= field->max) {
        return NGX_OK;
    }

    if (field->min == 0) {
        return ngx_guildlog_args_refuse(a,
                              "must be at most %L characters long",
                              field->max);
    }

    return ngx_guildlog_args_refuse(a, "must be %L to %L characters long",
                                    field->min, field->max);
}


/* the value is not what its type says */

static ngx_int_t
ngx_guildlog_args_bad(ngx_guildlog_args_t *a,
    const ngx_guildlog_field_t *field)
{
    u_char       *p, *last;
    const char  **allowed;
    u_char        list[NGX_GUILDLOG_ARGS_MESSAGE];

    switch (field->type) {

    case NGX_GUILDLOG_BOOL:
        return ngx_guildlog_args_refuse(a, "must be true or false");

    case NGX_GUILDLOG_INT:

        if ((field->flags & NGX_GUILDLOG_CLAMP) || field->max == INT64_MAX) {
            return ngx_guildlog_args_refuse(a,
                                            "must be an integer, at least %L",
                                            field->min);
        }

        return ngx_guildlog_args_refuse(a,
                                        "must be an integer from %L to %L",
                                        field->min, field->max);

    case NGX_GUILDLOG_ID:
        return ngx_guildlog_args_refuse(a,
                             "must be a string of 1 to %d digits, "
                             "from %L to 9223372036854775807",
                             NGX_GUILDLOG_ARGS_ID_LEN, field->min);

    case NGX_GUILDLOG_ENUM:
        p = list;
        last = list + sizeof(list) - 1;

        for (allowed = field->values; *allowed; allowed++) {
            p = ngx_slprintf(p, last, "%s%s", p == list ? "" : ", ", *allowed);
        }

        *p = '\0';

        return ngx_guildlog_args_refuse(a, "must be %s%s",
                                        field->values[1] ? "one of " : "",
                                        list);

    case NGX_GUILDLOG_URL:
        return ngx_guildlog_args_refuse(a, "must be an http or https URL");

    case NGX_GUILDLOG_LIST:

        if (field->min == 0) {
            return ngx_guildlog_args_refuse(a, "must have at most %L items",
                                            field->max);
        }

        return ngx_guildlog_args_refuse(a, "must have %L to %L items",
                                        field->min, field->max);

    default: /* NGX_GUILDLOG_TEXT */
        return ngx_guildlog_args_refuse(a, "must be a string");
    }
}


/* "<name>: <what the format makes>" */

static ngx_int_t
ngx_guildlog_args_refuse(ngx_guildlog_args_t *a, const char *fmt, ...)
{
    u_char   *p, *last;
    va_list   args;

    p = ngx_pnalloc(a->pool, NGX_GUILDLOG_ARGS_MESSAGE);
    if (p == NULL) {
        return NGX_ERROR;
    }

    last = p + NGX_GUILDLOG_ARGS_MESSAGE;
    a->error->data = p;

    p = ngx_slprintf(p, last, "%V", &a->name);

    if (a->index != NGX_GUILDLOG_ARGS_NO_INDEX) {
        p = ngx_slprintf(p, last, "[%ui]", a->index);
    }

    p = ngx_slprintf(p, last, ": ");

    va_start(args, fmt);
    p = ngx_vslprintf(p, last, fmt, args);
    va_end(args);

    a->error->len = p - a->error->data;

    return NGX_DECLINED;
}
