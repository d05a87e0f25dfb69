
/*
 * One value against the rule of its field.
 */

#include "api/ngx_guildlog_value.h"


#define VALUE_ID_LEN   20
#define VALUE_INT_LEN  19   /* digits of 2^63 - 1 */
#define VALUE_MESSAGE  512
#define VALUE_MIXED    100  /* items */
#define VALUE_HASH     64


static ngx_int_t value_text(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg);
static ngx_int_t value_int(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, const ngx_str_t *value, ngx_str_t *arg);
static ngx_uint_t value_is_url(const ngx_str_t *value, ngx_uint_t flags);
static ngx_int_t value_mixed(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, json_t *value);
static ngx_int_t value_list(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, json_t *value);
static const ngx_guildlog_field_t *value_field(
    const ngx_guildlog_field_t *fields, const u_char *name, size_t len);
static ngx_uint_t value_blank(const u_char *p, size_t len);
static ngx_int_t value_bad(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field);
static u_char *value_path(u_char *p, u_char *last,
    const ngx_guildlog_value_t *v);
static ngx_int_t args_item(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, ngx_str_t *value, ngx_array_t *items);
static ngx_int_t args_complete(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, ngx_array_t *items, ngx_str_t *arg);
static u_char *args_decode(u_char *dst, const u_char *p, const u_char *last);


/*
 * Decoded text to the text of an argument, empty where TRIM left nothing; any
 * type but BOOL, MIXED, LIST, OBJECT and ITEMS.  NGX_OK; NGX_DECLINED: the
 * error is written; NGX_ERROR: memory.
 */

static ngx_int_t
value_text(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    const ngx_str_t *value, ngx_str_t *arg)
{
    size_t   valid;
    int64_t  n;

    valid = ngx_guildlog_utf8_valid(value->data, value->len);

    if (valid < value->len) {
        return ngx_guildlog_value_refuse(v, value->data[valid]
                                            ? "is not valid UTF-8"
                                            : "must not contain NUL");
    }

    if ((field->flags & NGX_GUILDLOG_TRIM)
        && value_blank(value->data, value->len))
    {
        ngx_str_set(arg, "");
        return NGX_OK;
    }

    *arg = *value;

    switch (field->type) {

    case NGX_GUILDLOG_INT:
        return value_int(v, field, value, arg);

    case NGX_GUILDLOG_ID:
        return ngx_guildlog_value_is_id(value)
               && ngx_atoi(value->data, value->len) >= field->min
               ? NGX_OK : value_bad(v, field);

    case NGX_GUILDLOG_ENUM:
        return ngx_guildlog_value_is_one(field->values, value)
               ? NGX_OK : value_bad(v, field);

    case NGX_GUILDLOG_HASH:
        return ngx_guildlog_value_is_hash(value) ? NGX_OK
                                                 : value_bad(v, field);

    case NGX_GUILDLOG_URL:
        if (!value_is_url(value, field->flags)) {
            return value_bad(v, field);
        }

        break;

    default: /* NGX_GUILDLOG_TEXT */
        break;
    }

    n = ngx_guildlog_utf8_length(value->data, value->len);

    if (n >= field->min && n <= field->max) {
        return NGX_OK;
    }

    if (field->min == 0) {
        return ngx_guildlog_value_refuse(v,
                              "must be at most %L characters long",
                              field->max);
    }

    return ngx_guildlog_value_refuse(v, "must be %L to %L characters long",
                                     field->min, field->max);
}


static ngx_int_t
value_int(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    const ngx_str_t *value, ngx_str_t *arg)
{
    size_t       len;
    u_char      *p, *last;
    int64_t      n;
    ngx_uint_t   negative;

    p = value->data;
    last = p + value->len;

    negative = (p < last && *p == '-');
    p += negative;

    len = last - p;

    n = (len > VALUE_INT_LEN) ? NGX_ERROR : ngx_atoi(p, len);

    if (n == NGX_ERROR) {
        return value_bad(v, field);
    }

    n = negative ? -n : n;

    if (n < field->min || n > field->max) {
        return value_bad(v, field);
    }

    return ngx_guildlog_print(v->pool, arg, "%L", n);
}


static ngx_uint_t
value_is_url(const ngx_str_t *value, ngx_uint_t flags)
{
    u_char  *p, *last;
    size_t   scheme;

    p = value->data;
    last = p + value->len;
    scheme = ngx_guildlog_scheme(value);

    if (scheme == 0
        || scheme == value->len
        || (scheme == sizeof("http://") - 1 && (flags & NGX_GUILDLOG_HTTPS))
        || ngx_strchr("/?#:@", p[scheme]))
    {
        return 0;
    }

    for ( /* void */ ; p < last; p++) {
        if (*p <= ' ' || *p == 0x7f || ngx_strchr("\"<>\\^`{|}", *p)) {
            return 0;
        }
    }

    return 1;
}


void
ngx_guildlog_value_begin(ngx_guildlog_value_t *v, ngx_pool_t *pool,
    const char *name, ngx_str_t *error)
{
    v->pool = pool;
    v->name = ngx_guildlog_word(name);
    v->index = NGX_GUILDLOG_VALUE_NO_INDEX;
    v->error = error;
    v->outer = NULL;
}


void
ngx_guildlog_value_within(ngx_guildlog_value_t *v,
    const ngx_guildlog_value_t *outer)
{
    v->pool = outer->pool;
    v->index = NGX_GUILDLOG_VALUE_NO_INDEX;
    v->error = outer->error;
    v->outer = outer;
}


ngx_int_t
ngx_guildlog_value_json(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, json_t *value)
{
    ngx_str_t   text, arg;
    json_int_t  n;

    if (json_is_null(value) && (field->flags & NGX_GUILDLOG_NULLABLE)) {
        return NGX_OK;
    }

    switch (field->type) {

    case NGX_GUILDLOG_BOOL:
        return json_is_boolean(value) ? NGX_OK : value_bad(v, field);

    case NGX_GUILDLOG_INT:
        n = json_integer_value(value);

        return json_is_integer(value) && n >= field->min
               && (n <= field->max || (field->flags & NGX_GUILDLOG_CLAMP))
               ? NGX_OK : value_bad(v, field);

    case NGX_GUILDLOG_MIXED:
        return value_mixed(v, field, value);

    case NGX_GUILDLOG_LIST:
        return value_list(v, field, value);

    case NGX_GUILDLOG_OBJECT:
        if (!json_is_object(value)) {
            return ngx_guildlog_value_refuse(v, "must be an object");
        }

        return (int64_t) json_object_size(value) < field->min
               ? ngx_guildlog_value_refuse(v, "must set at least one field")
               : field->item == NULL ? NGX_OK
               : ngx_guildlog_value_object(v, field->item, value, NULL);

    default: /* a string */
        text = ngx_guildlog_json_text(value);

        return json_is_string(value)
               ? value_text(v, field, &text, &arg)
               : value_bad(v, field);
    }
}


static ngx_int_t
value_mixed(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    json_t *value)
{
    size_t      i;
    json_t     *item;
    ngx_int_t   rc;
    ngx_str_t   text, arg;

    if (json_is_number(value) || json_is_boolean(value)) {
        return NGX_OK;
    }

    if (json_is_string(value)) {
        text = ngx_guildlog_json_text(value);
        return value_text(v, field, &text, &arg);
    }

    if (!json_is_array(value)) {
        return value_bad(v, field);
    }

    if (json_array_size(value) > VALUE_MIXED) {
        return ngx_guildlog_value_refuse(v, "must have at most %d items",
                                         VALUE_MIXED);
    }

    json_array_foreach(value, i, item) {
        v->index = i;

        if (json_is_object(item)) {
            rc = ngx_guildlog_value_object(v, field->item, item, NULL);

        } else if (json_is_string(item)) {
            text = ngx_guildlog_json_text(item);
            rc = value_text(v, field, &text, &arg);

        } else {
            rc = ngx_guildlog_value_refuse(v, "must be a string, or an object "
                                           "with id and name");
        }

        if (rc != NGX_OK) {
            return rc;
        }
    }

    v->index = NGX_GUILDLOG_VALUE_NO_INDEX;

    return NGX_OK;
}


static ngx_int_t
value_list(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field,
    json_t *value)
{
    size_t      i, j;
    int64_t     n;
    json_t     *item;
    ngx_int_t   rc;

    if (!json_is_array(value)) {
        return ngx_guildlog_value_refuse(v, "must be an array");
    }

    n = json_array_size(value);

    if (n < field->min || n > field->max) {
        return value_bad(v, field);
    }

    json_array_foreach(value, i, item) {
        v->index = i;

        rc = ngx_guildlog_value_json(v, field->item, item);

        if (rc != NGX_OK) {
            return rc;
        }

        if (field->item->type != NGX_GUILDLOG_ENUM) {
            continue;
        }

        for (j = 0; j < i; j++) {
            if (json_equal(json_array_get(value, j), item)) {
                return ngx_guildlog_value_refuse(v, "given twice");
            }
        }
    }

    v->index = NGX_GUILDLOG_VALUE_NO_INDEX;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_value_object(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *fields, json_t *object, json_t **values)
{
    json_t                      *value;
    ngx_int_t                    rc;
    const char                  *key;
    ngx_guildlog_value_t         inner;
    const ngx_guildlog_field_t  *field;

    ngx_guildlog_value_within(&inner, v);

    json_object_foreach(object, key, value) {
        inner.name = ngx_guildlog_word(key);

        field = value_field(fields, inner.name.data, inner.name.len);

        if (field == NULL) {
            inner.name.len = ngx_guildlog_utf8_cut(inner.name.data,
                                                   inner.name.len,
                                                   NGX_GUILDLOG_JSON_NAME);

            return ngx_guildlog_value_refuse(&inner, "unknown field");
        }

        rc = ngx_guildlog_value_json(&inner, field, value);

        if (rc != NGX_OK) {
            return rc;
        }

        if (values) {
            values[field - fields] = value;
        }
    }

    for (field = fields; field->name.len; field++) {
        if ((field->flags & NGX_GUILDLOG_REQUIRED)
            && json_object_get(object, (char *) field->name.data) == NULL)
        {
            inner.name = field->name;
            return ngx_guildlog_value_refuse(&inner, "is required");
        }
    }

    return NGX_OK;
}


/* the field of that name, NULL: there is none */

static const ngx_guildlog_field_t *
value_field(const ngx_guildlog_field_t *fields, const u_char *name, size_t len)
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


ngx_uint_t
ngx_guildlog_value_is_one(const char **values, const ngx_str_t *value)
{
    for ( /* void */ ; *values; values++) {
        if (ngx_strlen(*values) == value->len
            && ngx_memcmp(*values, value->data, value->len) == 0)
        {
            return 1;
        }
    }

    return 0;
}


u_char *
ngx_guildlog_value_quote(u_char *p, const ngx_str_t *value)
{
    size_t  i;

    *p++ = '"';

    for (i = 0; i < value->len; i++) {
        if (value->data[i] == '"' || value->data[i] == '\\') {
            *p++ = '\\';
        }

        *p++ = value->data[i];
    }

    *p++ = '"';

    return p;
}


ngx_int_t
ngx_guildlog_value_array(ngx_str_t *array, ngx_pool_t *pool, ngx_uint_t n,
    size_t size)
{
    array->len = 0;
    array->data = ngx_pnalloc(pool, sizeof("{}") - 1
                                    + n * (sizeof("NULL,") - 1) + 2 * size);

    return array->data ? NGX_OK : NGX_ERROR;
}


void
ngx_guildlog_value_array_add(ngx_str_t *array, const ngx_str_t *value)
{
    u_char  *p;

    p = array->data + array->len;

    *p++ = array->len ? ',' : '{';
    p = value ? ngx_guildlog_value_quote(p, value) : ngx_cpymem(p, "NULL", 4);

    array->len = p - array->data;
}


void
ngx_guildlog_value_array_end(ngx_str_t *array)
{
    if (array->len == 0) {
        array->data[array->len++] = '{';
    }

    array->data[array->len++] = '}';
}


/* ngx_atoi() reads up to 2^63 - 1: configure asks for 64 bits */

ngx_int_t
ngx_guildlog_value_id(const u_char *p, size_t len, size_t min)
{
    if (len < min || len > VALUE_ID_LEN
        || ngx_atoi((u_char *) p, len) == NGX_ERROR)
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_value_is_id(const ngx_str_t *s)
{
    return ngx_guildlog_value_id(s->data, s->len, 1) == NGX_OK;
}


ngx_uint_t
ngx_guildlog_value_is_hash(const ngx_str_t *s)
{
    return s->len > 0 && s->len <= VALUE_HASH
           && ngx_guildlog_is_letters(s, "_");
}


/* only what Unicode calls white space, in valid UTF-8 */

static ngx_uint_t
value_blank(const u_char *p, size_t len)
{
    size_t            n;
    const ngx_str_t  *space;

    static const ngx_str_t  spaces[] = {
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


/* refuses a value that breaks the rule of its type */

static ngx_int_t
value_bad(ngx_guildlog_value_t *v, const ngx_guildlog_field_t *field)
{
    u_char       *p, *last;
    const char  **allowed;
    u_char        list[VALUE_MESSAGE];

    switch (field->type) {

    case NGX_GUILDLOG_BOOL:
        return ngx_guildlog_value_refuse(v, "must be true or false");

    case NGX_GUILDLOG_INT:

        if ((field->flags & NGX_GUILDLOG_CLAMP) || field->max == INT64_MAX) {
            return ngx_guildlog_value_refuse(v,
                                             "must be an integer, at least %L",
                                             field->min);
        }

        return ngx_guildlog_value_refuse(v,
                             (field->min == -NGX_GUILDLOG_VALUE_EXACT)
                             ? "must be an integer from %L to %L, "
                               "in milliseconds since 1970"
                             : "must be an integer from %L to %L",
                             field->min, field->max);

    case NGX_GUILDLOG_ID:
        return ngx_guildlog_value_refuse(v,
                             "must be a string of 1 to %d digits, "
                             "from %L to 9223372036854775807",
                             VALUE_ID_LEN, field->min);

    case NGX_GUILDLOG_ENUM:
        p = list;
        last = list + sizeof(list) - 1;

        for (allowed = field->values; *allowed; allowed++) {
            p = ngx_slprintf(p, last, "%s%s", p == list ? "" : ", ", *allowed);
        }

        *p = '\0';

        return ngx_guildlog_value_refuse(v, "must be %s%s",
                                         field->values[1] ? "one of " : "",
                                         list);

    case NGX_GUILDLOG_URL:
        return ngx_guildlog_value_refuse(v, "must be an %shttps URL",
                                         (field->flags & NGX_GUILDLOG_HTTPS)
                                         ? "" : "http or ");

    case NGX_GUILDLOG_HASH:
        return ngx_guildlog_value_refuse(v,
                             "must be 1 to %d letters, digits or underscores",
                             VALUE_HASH);

    case NGX_GUILDLOG_MIXED:
        return ngx_guildlog_value_refuse(v,
                             "must be null, a string, a number, a boolean "
                             "or an array of strings");

    case NGX_GUILDLOG_LIST:

        if (field->min == 0) {
            return ngx_guildlog_value_refuse(v, "must have at most %L items",
                                            field->max);
        }

        return ngx_guildlog_value_refuse(v, "must have %L to %L items",
                                        field->min, field->max);

    default: /* NGX_GUILDLOG_TEXT */
        return ngx_guildlog_value_refuse(v, "must be a string");
    }
}


/* "<path>: <what the format makes>" */

ngx_int_t
ngx_guildlog_value_refuse(ngx_guildlog_value_t *v, const char *fmt, ...)
{
    u_char   *p, *last;
    va_list   args;

    p = ngx_pnalloc(v->pool, VALUE_MESSAGE);
    if (p == NULL) {
        return NGX_ERROR;
    }

    last = p + VALUE_MESSAGE;
    v->error->data = p;

    p = value_path(p, last, v);
    p = ngx_slprintf(p, last, ": ");

    va_start(args, fmt);
    p = ngx_vslprintf(p, last, fmt, args);
    va_end(args);

    v->error->len = p - v->error->data;

    return NGX_DECLINED;
}


static u_char *
value_path(u_char *p, u_char *last, const ngx_guildlog_value_t *v)
{
    const ngx_guildlog_value_t  *outer;

    outer = v->outer;

    if (outer
        && (outer->outer || outer->index != NGX_GUILDLOG_VALUE_NO_INDEX))
    {
        p = value_path(p, last, outer);
        p = ngx_slprintf(p, last, ".");
    }

    p = ngx_slprintf(p, last, "%V", &v->name);

    if (v->index != NGX_GUILDLOG_VALUE_NO_INDEX) {
        p = ngx_slprintf(p, last, "[%ui]", v->index);
    }

    return p;
}


/*
 * Query strings and bodies to the typed arguments of a statement, by tables.
 */

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

    ngx_guildlog_value_begin(&v, pool, "body", error);

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

        field = value_field(fields, buf, value.len);

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
            rc = value_text(&v, field, &value, &args[i]);
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

    rc = value_text(v, field->item, value, &item);

    if (rc == NGX_DECLINED
        && ngx_strlchr(value->data, value->data + value->len, ','))
    {
        return ngx_guildlog_value_refuse(v, "must be one value: "
                                         "repeat the parameter for more");
    }

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
    size_t       size;
    ngx_str_t   *item;
    ngx_uint_t   i;

    if (items->nelts) {
        item = items->elts;
        size = 0;

        for (i = 0; i < items->nelts; i++) {
            size += item[i].len;
        }

        if (ngx_guildlog_value_array(arg, v->pool, items->nelts, size)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        for (i = 0; i < items->nelts; i++) {
            ngx_guildlog_value_array_add(arg, &item[i]);
        }

        ngx_guildlog_value_array_end(arg);

        return NGX_OK;
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
        *arg = ngx_guildlog_word(field->fallback);
    }

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

    ngx_guildlog_value_begin(&v, pool, "body", error);

    return ngx_guildlog_args_object(&v, fields, body);
}


ngx_int_t
ngx_guildlog_args_batch(ngx_pool_t *pool, const ngx_guildlog_field_t *fields,
    json_t *body, ngx_str_t *error)
{
    size_t                i, n;
    ngx_int_t             rc;
    ngx_guildlog_value_t  v;

    ngx_guildlog_value_begin(&v, pool, "body", error);

    n = json_array_size(body);

    if (!json_is_array(body) || n == 0 || n > NGX_GUILDLOG_ARGS_BATCH_MAX) {
        return ngx_guildlog_value_refuse(&v, "must be an array of 1 to "
                   ngx_value(NGX_GUILDLOG_ARGS_BATCH_MAX) " objects");
    }

    for (i = 0; i < n; i++) {
        v.index = i;

        rc = ngx_guildlog_args_object(&v, fields, json_array_get(body, i));

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_args_object(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *fields, json_t *json)
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
