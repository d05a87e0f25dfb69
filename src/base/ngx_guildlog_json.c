
/*
 * JSON out: a writer into one buffer; the bytes of a string of a tree.
 */

#include "base/ngx_guildlog_json.h"


static u_char *json_room(ngx_guildlog_json_t *w, size_t len);
static void json_value(ngx_guildlog_json_t *w, const void *data, size_t len);
static u_char json_letter(u_char c);
static size_t json_escaped(const u_char *p, size_t len);
static u_char *json_escape(u_char *dst, const u_char *p, size_t len);


void
ngx_guildlog_json_init(ngx_guildlog_json_t *w, ngx_pool_t *pool, size_t size)
{
    ngx_memzero(w, sizeof(ngx_guildlog_json_t));

    w->pool = pool;

    w->start = ngx_pnalloc(pool, size);
    if (w->start == NULL) {
        w->failed = 1;
        return;
    }

    w->pos = w->start;
    w->end = w->start + size;
}


void
ngx_guildlog_json_begin(ngx_guildlog_json_t *w, u_char bracket)
{
    if (w->depth == NGX_GUILDLOG_JSON_DEPTH) {
        w->failed = 1;
        return;
    }

    json_value(w, &bracket, 1);

    w->close[w->depth++] = (bracket == '{') ? '}' : ']';
    w->comma = 0;
}


void
ngx_guildlog_json_end(ngx_guildlog_json_t *w)
{
    if (w->depth == 0) {
        w->failed = 1;
        return;
    }

    w->comma = 0;
    json_value(w, &w->close[--w->depth], 1);
}


void
ngx_guildlog_json_key(ngx_guildlog_json_t *w, const char *name)
{
    u_char    *p;
    ngx_str_t  s;

    s.data = (u_char *) name;
    s.len = ngx_strlen(name);

    ngx_guildlog_json_string(w, &s);

    p = json_room(w, 1);
    if (p == NULL) {
        return;
    }

    *p++ = ':';

    w->pos = p;
    w->comma = 0;
}


void
ngx_guildlog_json_string(ngx_guildlog_json_t *w, const ngx_str_t *s)
{
    u_char  *p;

    p = ngx_guildlog_json_place(w,
                                sizeof("\"\"") - 1
                                + json_escaped(s->data, s->len));
    if (p == NULL) {
        return;
    }

    *p++ = '"';
    p = json_escape(p, s->data, s->len);
    *p++ = '"';

    ngx_guildlog_json_placed(w, p);
}


void
ngx_guildlog_json_number(ngx_guildlog_json_t *w, int64_t n)
{
    u_char  *p;
    u_char   buf[NGX_INT64_LEN];

    p = ngx_sprintf(buf, "%L", n);

    json_value(w, buf, p - buf);
}


void
ngx_guildlog_json_double(ngx_guildlog_json_t *w, double n)
{
    u_char  buf[NGX_GUILDLOG_JSON_REAL];

    json_value(w, buf, ngx_guildlog_json_real(buf, n) - buf);
}


void
ngx_guildlog_json_bool(ngx_guildlog_json_t *w, ngx_uint_t b)
{
    if (b) {
        json_value(w, "true", 4);

    } else {
        json_value(w, "false", 5);
    }
}


void
ngx_guildlog_json_null(ngx_guildlog_json_t *w)
{
    json_value(w, "null", 4);
}


void
ngx_guildlog_json_raw(ngx_guildlog_json_t *w, const ngx_str_t *s)
{
    json_value(w, s->data, s->len);
}


void
ngx_guildlog_json_literal(ngx_guildlog_json_t *w, const void *data, size_t len)
{
    w->comma = 0;
    json_value(w, data, len);
    w->comma = 0;
}


u_char *
ngx_guildlog_json_place(ngx_guildlog_json_t *w, size_t len)
{
    u_char  *p;

    p = json_room(w, 1 + len);

    if (p && w->comma) {
        *p++ = ',';
    }

    return p;
}


void
ngx_guildlog_json_placed(ngx_guildlog_json_t *w, u_char *last)
{
    w->pos = last;
    w->comma = 1;
}


ngx_int_t
ngx_guildlog_json_written(const ngx_guildlog_json_t *w, ngx_str_t *text)
{
    if (w->failed) {
        return NGX_ERROR;
    }

    text->data = w->start;
    text->len = w->pos - w->start;

    return NGX_OK;
}


/* the place to write len bytes to; NULL once the writer has failed */

static u_char *
json_room(ngx_guildlog_json_t *w, size_t len)
{
    u_char  *p;
    size_t   used, size;

    if (w->failed) {
        return NULL;
    }

    if ((size_t) (w->end - w->pos) >= len) {
        return w->pos;
    }

    used = w->pos - w->start;
    size = ngx_max(2 * (size_t) (w->end - w->start), used + len);

    p = ngx_pnalloc(w->pool, size);
    if (p == NULL) {
        w->failed = 1;
        return NULL;
    }

    ngx_memcpy(p, w->start, used);
    (void) ngx_pfree(w->pool, w->start);

    w->start = p;
    w->pos = p + used;
    w->end = p + size;

    return w->pos;
}


static void
json_value(ngx_guildlog_json_t *w, const void *data, size_t len)
{
    u_char  *p;

    p = ngx_guildlog_json_place(w, len);

    if (p) {
        ngx_guildlog_json_placed(w, ngx_cpymem(p, data, len));
    }
}


/* the letter behind the backslash; 'u': its number is */

static u_char
json_letter(u_char c)
{
    switch (c) {

    case '"':
    case '\\':
        return c;

    case '\b':
        return 'b';

    case '\f':
        return 'f';

    case LF:
        return 'n';

    case CR:
        return 'r';

    case '\t':
        return 't';

    default:
        return 'u';
    }
}


static size_t
json_escaped(const u_char *p, size_t len)
{
    size_t  i, n;

    n = len;

    for (i = ngx_guildlog_json_scan_bare(p, len);
         i < len;
         i += 1 + ngx_guildlog_json_scan_bare(p + i + 1, len - i - 1))
    {
        n += (json_letter(p[i]) == 'u') ? sizeof("\\u001f") - 1 - 1 : 1;
    }

    return n;
}


static u_char *
json_escape(u_char *dst, const u_char *p, size_t len)
{
    size_t         n;
    u_char         letter;
    const u_char  *last;

    for (last = p + len; p < last; p++) {
        n = ngx_guildlog_json_scan_bare(p, last - p);
        dst = ngx_cpymem(dst, p, n);
        p += n;

        if (p == last) {
            break;
        }

        letter = json_letter(*p);

        if (letter == 'u') {
            dst = ngx_sprintf(dst, "\\u%04xd", *p);

        } else {
            *dst++ = '\\';
            *dst++ = letter;
        }
    }

    return dst;
}


ngx_str_t
ngx_guildlog_json_text(const json_t *json)
{
    ngx_str_t  text;

    text.data = (u_char *) json_string_value(json);
    text.len = json_string_length(json);

    return text;
}


/* 17 digits tell all doubles apart; most need fewer */

u_char *
ngx_guildlog_json_real(u_char *p, double n)
{
    int  digits, len;

    for (digits = 15; /* void */ ; digits++) {
        len = snprintf((char *) p, NGX_GUILDLOG_JSON_REAL, "%.*g", digits, n);

        if (digits == 17 || strtod((char *) p, NULL) == n) {
            return p + len;
        }
    }
}
