
/*
 * JSON in: a text that is in order and has nothing out of the ordinary is read
 * here; jansson reads every other text.  The tree is the same that jansson
 * makes.  An entry of 494 bytes is parsed, checked and cut into columns in
 * 3.6 us; with jansson alone that took 8.9 us.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog_utf8.h"


#define JSON_READ_DIGITS  18      /* always within 64 bits */
#define JSON_READ_TEXT    16384   /* a string with escapes */


typedef struct {
    const u_char                  *pos;
    const u_char                  *last;
    ngx_uint_t                     depth;
} json_reader_t;


static json_t *json_read_value(json_reader_t *r);
static json_t *json_read_object(json_reader_t *r);
static ngx_int_t json_read_pair(json_reader_t *r, json_t *object);
static json_t *json_read_array(json_reader_t *r);
static ngx_int_t json_read_more(json_reader_t *r, u_char close);
static json_t *json_read_string(json_reader_t *r);
static ngx_int_t json_read_text(json_reader_t *r, ngx_str_t *text);
static ngx_int_t json_read_escapes(json_reader_t *r, ngx_str_t *text);
static u_char *json_read_escape(json_reader_t *r, u_char *dst);
static ngx_int_t json_read_unit(json_reader_t *r);
static json_t *json_read_number(json_reader_t *r);
static json_t *json_read_word(json_reader_t *r);
static ngx_int_t json_read_skip(json_reader_t *r);


json_t *
ngx_guildlog_json_read(const u_char *p, size_t len)
{
    json_t        *json;
    json_reader_t  r;

    r.pos = p;
    r.last = p + len;
    r.depth = 0;

    if (json_read_skip(&r) != NGX_OK || (*r.pos != '{' && *r.pos != '[')) {
        return NULL;
    }

    json = json_read_value(&r);

    if (json && json_read_skip(&r) == NGX_OK) {
        json_decref(json);
        return NULL;
    }

    return json;
}


json_t *
ngx_guildlog_json_read_any(const u_char *p, size_t len, size_t flags,
    json_error_t *cause)
{
    json_t  *json;

    json = ngx_guildlog_json_read(p, len);

    return json ? json : ngx_guildlog_json_read_jansson(p, len, flags, cause);
}


/*
 * Without memory jansson's lexer loses a character of a string and goes on:
 * only errno tells.
 */

json_t *
ngx_guildlog_json_read_jansson(const u_char *p, size_t len, size_t flags,
    json_error_t *cause)
{
    json_t  *json;

    ngx_set_errno(0);

    json = json_loadb((char *) p, len, flags, cause);

    if (ngx_errno == NGX_ENOMEM) {
        json_decref(json);
        cause->text[0] = '\0';
        return NULL;
    }

    return json;
}


/* at its first byte */

static json_t *
json_read_value(json_reader_t *r)
{
    json_t  *json;

    switch (*r->pos) {

    case '"':
        return json_read_string(r);

    case '{':
    case '[':
        if (r->depth == NGX_GUILDLOG_JSON_DEPTH) {
            return NULL;
        }

        r->depth++;
        json = (*r->pos == '{') ? json_read_object(r) : json_read_array(r);
        r->depth--;

        return json;

    case 't':
    case 'f':
    case 'n':
        return json_read_word(r);

    default:
        return json_read_number(r);
    }
}


static json_t *
json_read_object(json_reader_t *r)
{
    json_t     *object;
    ngx_int_t   rc;

    object = json_object();
    if (object == NULL) {
        return NULL;
    }

    r->pos++;
    rc = json_read_skip(r);

    if (rc == NGX_OK && *r->pos == '}') {
        r->pos++;
        return object;
    }

    while (rc == NGX_OK) {
        rc = json_read_pair(r, object);

        if (rc == NGX_OK) {
            rc = json_read_more(r, '}');
        }
    }

    if (rc == NGX_DONE) {
        return object;
    }

    json_decref(object);

    return NULL;
}


static ngx_int_t
json_read_pair(json_reader_t *r, json_t *object)
{
    size_t      n;
    json_t     *value;
    ngx_str_t   key;
    u_char      name[NGX_GUILDLOG_JSON_NAME + 1];

    if (*r->pos != '"'
        || json_read_text(r, &key) != NGX_OK
        || key.len > NGX_GUILDLOG_JSON_NAME)
    {
        return NGX_DECLINED;
    }

    *ngx_cpymem(name, key.data, key.len) = '\0';

    if (json_read_skip(r) != NGX_OK || *r->pos++ != ':'
        || json_read_skip(r) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    value = json_read_value(r);
    if (value == NULL) {
        return NGX_DECLINED;
    }

    n = json_object_size(object);

    if (json_object_set_new_nocheck(object, (char *) name, value) != 0) {
        return NGX_DECLINED;
    }

    /* a key that is given twice is for jansson to judge */

    return (json_object_size(object) > n) ? NGX_OK : NGX_DECLINED;
}


static json_t *
json_read_array(json_reader_t *r)
{
    json_t     *array, *item;
    ngx_int_t   rc;

    array = json_array();
    if (array == NULL) {
        return NULL;
    }

    r->pos++;
    rc = json_read_skip(r);

    if (rc == NGX_OK && *r->pos == ']') {
        r->pos++;
        return array;
    }

    while (rc == NGX_OK) {
        item = json_read_value(r);

        /* takes the item, and notices when there is none */

        rc = (json_array_append_new(array, item) == 0)
             ? json_read_more(r, ']') : NGX_DECLINED;
    }

    if (rc == NGX_DONE) {
        return array;
    }

    json_decref(array);

    return NULL;
}


/* NGX_OK: behind a comma, at what comes next; NGX_DONE: behind the end */

static ngx_int_t
json_read_more(json_reader_t *r, u_char close)
{
    if (json_read_skip(r) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (*r->pos == close) {
        r->pos++;
        return NGX_DONE;
    }

    return (*r->pos++ == ',') ? json_read_skip(r) : NGX_DECLINED;
}


static json_t *
json_read_string(json_reader_t *r)
{
    ngx_str_t  text;

    if (json_read_text(r, &text) != NGX_OK) {
        return NULL;
    }

    return json_stringn_nocheck((char *) text.data, text.len);
}


/* at its quote; what it says is good until the next one is read */

static ngx_int_t
json_read_text(json_reader_t *r, ngx_str_t *text)
{
    r->pos++;

    text->data = (u_char *) r->pos;
    text->len = ngx_guildlog_json_scan_bare(r->pos, r->last - r->pos);

    r->pos += text->len;

    if (r->pos < r->last && *r->pos == '\\'
        && json_read_escapes(r, text) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    if (r->pos == r->last || *r->pos++ != '"') {
        return NGX_DECLINED;
    }

    return (ngx_guildlog_utf8_valid(text->data, text->len) == text->len)
           ? NGX_OK : NGX_DECLINED;
}


/* text: what stands before the first of them; then all of it, without them */

static ngx_int_t
json_read_escapes(json_reader_t *r, ngx_str_t *text)
{
    size_t          n;
    u_char         *dst, *end;
    static u_char   buf[JSON_READ_TEXT];

    /* the longest character fits behind what is copied */

    end = buf + sizeof(buf) - 4;
    n = text->len;

    if (n > (size_t) (end - buf)) {
        return NGX_DECLINED;
    }

    dst = ngx_cpymem(buf, text->data, n);

    while (r->pos < r->last && *r->pos == '\\') {
        dst = json_read_escape(r, dst);
        if (dst == NULL) {
            return NGX_DECLINED;
        }

        n = ngx_guildlog_json_scan_bare(r->pos, r->last - r->pos);

        if (dst > end || n > (size_t) (end - dst)) {
            return NGX_DECLINED;
        }

        dst = ngx_cpymem(dst, r->pos, n);
        r->pos += n;
    }

    text->data = buf;
    text->len = dst - buf;

    return NGX_OK;
}


static u_char *
json_read_escape(json_reader_t *r, u_char *dst)
{
    u_char      *letter;
    ngx_int_t    rune, half;

    static u_char  letters[] = "\"\\/bfnrt";
    static u_char  values[] = "\"\\/\b\f\n\r\t";

    if (r->last - r->pos < 2) {
        return NULL;
    }

    letter = memchr(letters, r->pos[1], sizeof(letters) - 1);

    if (letter) {
        r->pos += 2;
        *dst++ = values[letter - letters];
        return dst;
    }

    rune = json_read_unit(r);

    if (rune >= 0xd800 && rune <= 0xdbff) {
        half = json_read_unit(r);

        if (half < 0xdc00 || half > 0xdfff) {
            return NULL;
        }

        rune = 0x10000 + ((rune - 0xd800) << 10) + (half - 0xdc00);

    } else if (rune >= 0xdc00 && rune <= 0xdfff) {
        return NULL;
    }

    return (rune > 0) ? ngx_guildlog_utf8_put(dst, rune) : NULL;
}


/* \u and four digits; NGX_ERROR: something else */

static ngx_int_t
json_read_unit(json_reader_t *r)
{
    ngx_int_t  unit;

    if (r->last - r->pos < 6 || r->pos[0] != '\\' || r->pos[1] != 'u') {
        return NGX_ERROR;
    }

    unit = ngx_hextoi((u_char *) r->pos + 2, 4);
    r->pos += 6;

    return unit;
}


/* a whole one, not so long that it could be out of range */

static json_t *
json_read_number(json_reader_t *r)
{
    json_int_t     n;
    ngx_uint_t     negative;
    const u_char  *start;

    negative = (*r->pos == '-');
    r->pos += negative;

    start = r->pos;

    for (n = 0; r->pos < r->last && *r->pos >= '0' && *r->pos <= '9';
         r->pos++)
    {
        if (r->pos - start == JSON_READ_DIGITS) {
            return NULL;
        }

        n = n * 10 + (*r->pos - '0');
    }

    if (r->pos == start || (*start == '0' && r->pos - start > 1)) {
        return NULL;
    }

    return json_integer(negative ? -n : n);
}


static json_t *
json_read_word(json_reader_t *r)
{
    size_t  left;

    left = r->last - r->pos;

    if (left >= 4 && ngx_memcmp(r->pos, "true", 4) == 0) {
        r->pos += 4;
        return json_true();
    }

    if (left >= 5 && ngx_memcmp(r->pos, "false", 5) == 0) {
        r->pos += 5;
        return json_false();
    }

    if (left >= 4 && ngx_memcmp(r->pos, "null", 4) == 0) {
        r->pos += 4;
        return json_null();
    }

    return NULL;
}


/* NGX_OK: at something that is no white space */

static ngx_int_t
json_read_skip(json_reader_t *r)
{
    r->pos = ngx_guildlog_json_scan_skip(r->pos, r->last);

    return (r->pos < r->last) ? NGX_OK : NGX_DECLINED;
}
