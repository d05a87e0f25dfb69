
/*
 * Does an entry match a query?
 */

#include "search/ngx_guildlog_match.h"
#include "base/ngx_guildlog_json.h"


#define NGX_GUILDLOG_MATCH_EPOCH  1420070400000    /* ms, of the ids */


typedef ngx_int_t (*match_field_pt)(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *value, ngx_uint_t which);


typedef struct {
    ngx_str_t                      name;
    match_field_pt                 read;
    ngx_uint_t                     which;   /* of match_string_e; of an array
                                               its place in the document */
} match_field_t;


static ngx_int_t match_member(const u_char **p, const u_char *last,
    ngx_str_t *key, ngx_str_t *value);
static ngx_int_t match_value(const u_char **p, const u_char *last,
    ngx_str_t *value);
static ngx_int_t match_id(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which);
static ngx_int_t match_type(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *value, ngx_uint_t which);
static ngx_int_t match_named(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *value, ngx_uint_t which);
static ngx_int_t match_string(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *value, ngx_uint_t which);
static ngx_int_t match_array(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *value, ngx_uint_t which);
static ngx_int_t match_text(const ngx_str_t *value, ngx_str_t *text);
static ngx_int_t match_digits(const ngx_str_t *value, int64_t *id);
static u_char *match_fold_messages(u_char *dst, const ngx_str_t *messages);
static u_char *match_fold_changes(u_char *dst, const ngx_str_t *changes);
static u_char *match_fold_string(u_char *dst, const ngx_str_t *s);


static const match_field_t  match_fields[] = {
    { ngx_string("id"), match_id, 0 },
    { ngx_string("type"), match_type, 0 },
    { ngx_string("executor"), match_named, NGX_GUILDLOG_MATCH_EXECUTOR_NAME },
    { ngx_string("target"), match_named, NGX_GUILDLOG_MATCH_TARGET_NAME },
    { ngx_string("channel"), match_named, NGX_GUILDLOG_MATCH_CHANNEL_NAME },
    { ngx_string("role"), match_string, NGX_GUILDLOG_MATCH_ROLE },
    { ngx_string("name"), match_string, NGX_GUILDLOG_MATCH_NAME },
    { ngx_string("reason"), match_string, NGX_GUILDLOG_MATCH_REASON },
    { ngx_string("content"), match_string, NGX_GUILDLOG_MATCH_CONTENT },
    { ngx_string("contentAfter"), match_string,
      NGX_GUILDLOG_MATCH_CONTENT_AFTER },
    { ngx_string("messages"), match_array,
      offsetof(ngx_guildlog_match_doc_t, messages) },
    { ngx_string("changes"), match_array,
      offsetof(ngx_guildlog_match_doc_t, changes) },
    { ngx_null_string, NULL, 0 }
};


void
ngx_guildlog_match_init(ngx_guildlog_match_t *match)
{
    ngx_memzero(match, sizeof(ngx_guildlog_match_t));

    match->after = INT64_MIN;
    match->before = INT64_MAX;
    match->channel = NGX_GUILDLOG_MATCH_NONE;
    match->member = NGX_GUILDLOG_MATCH_NONE;
}


ngx_int_t
ngx_guildlog_match_role(ngx_guildlog_match_t *match, ngx_pool_t *pool,
    const ngx_str_t *role)
{
    match->role.data = ngx_pnalloc(pool, NGX_GUILDLOG_FOLD_SIZE(role->len));
    if (match->role.data == NULL) {
        return NGX_ERROR;
    }

    match->role.len = ngx_guildlog_fold(match->role.data, role->data,
                                        role->len)
                      - match->role.data;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_match_search(ngx_guildlog_match_t *match, ngx_pool_t *pool,
    const ngx_str_t *search)
{
    u_char      *p;
    ngx_str_t    text, word, *words;
    ngx_uint_t   i;

    text = *search;
    ngx_guildlog_fold_trim(&text);

    if (text.len == 0) {
        return NGX_OK;
    }

    /* two words have at least one byte between them */

    p = ngx_pnalloc(pool, NGX_GUILDLOG_FOLD_SIZE(text.len));
    words = ngx_palloc(pool, (text.len / 2 + 1) * sizeof(ngx_str_t));

    if (p == NULL || words == NULL) {
        return NGX_ERROR;
    }

    match->part.data = p;
    match->part.len = ngx_guildlog_fold(p, text.data, text.len) - p;
    ngx_guildlog_assert(match->part.len <= NGX_GUILDLOG_FOLD_SIZE(text.len));

    match->words = words;
    match->nwords = 0;

    text = match->part;

    while (ngx_guildlog_fold_word(&text, &word) == NGX_OK) {
        for (i = 0; i < match->nwords; i++) {
            if (ngx_guildlog_str_eq(&words[i], &word)) {
                break;
            }
        }

        if (i == match->nwords) {
            words[match->nwords++] = word;
        }
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_match_reads(const ngx_guildlog_match_t *match)
{
    return match->types || match->after > INT64_MIN
           || match->before < INT64_MAX || match->channel >= 0
           || match->member >= 0 || match->role.data || match->part.data;
}


ngx_uint_t
ngx_guildlog_match(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc)
{
    int64_t     at;
    ngx_uint_t  i;

    at = (doc->id >> 22) + NGX_GUILDLOG_MATCH_EPOCH;

    if (at <= match->after || at >= match->before
        || (match->types && match->types[doc->type] != '1')
        || (match->channel >= 0 && doc->channel != match->channel))
    {
        return 0;
    }

    if (match->member >= 0
        && (match->side == NGX_GUILDLOG_MATCH_TARGET
            || doc->executor != match->member)
        && (match->side == NGX_GUILDLOG_MATCH_EXECUTOR
            || doc->target != match->member))
    {
        return 0;
    }

    if (match->role.data
        && (doc->role.data == NULL
            || memmem(doc->role.data, doc->role.len, match->role.data,
                      match->role.len)
               == NULL))
    {
        return 0;
    }

    if (match->part.data == NULL) {
        return 1;
    }

    /* the search is a part of one string, or each of its words is in a text */

    if (doc->parts.len
        && memmem(doc->parts.data, doc->parts.len, match->part.data,
                  match->part.len))
    {
        return 1;
    }

    for (i = 0; i < match->nwords; i++) {
        if (!ngx_guildlog_fold_has_word(&doc->texts, &match->words[i])) {
            return 0;
        }
    }

    return match->nwords > 0;
}


/*
 * The document of an entry, read once, from its beginning to its end.  A
 * condition on ids, type or time needs no text of it: texts are folded when a
 * search asks for them.
 */

ngx_int_t
ngx_guildlog_match_doc_read(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *text)
{
    ngx_int_t             rc;
    ngx_str_t             key, value;
    const u_char         *p, *last;
    const match_field_t  *field;

    ngx_memzero(doc, sizeof(ngx_guildlog_match_doc_t));

    doc->id = NGX_GUILDLOG_MATCH_NONE;
    doc->executor = NGX_GUILDLOG_MATCH_NONE;
    doc->target = NGX_GUILDLOG_MATCH_NONE;
    doc->channel = NGX_GUILDLOG_MATCH_NONE;

    p = text->data;
    last = p + text->len;

    if (p == last || *p++ != '{') {
        return NGX_ERROR;
    }

    for ( ;; ) {
        rc = match_member(&p, last, &key, &value);

        if (rc != NGX_OK) {
            break;
        }

        for (field = match_fields; field->name.len; field++) {
            if (ngx_guildlog_str_eq(&field->name, &key)) {
                rc = field->read(doc, &value, field->which);
                break;
            }
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return (rc == NGX_DONE && doc->id >= 0) ? NGX_OK : NGX_ERROR;
}


/* the next member of an object; NGX_DONE: the object ends, or the text does */

static ngx_int_t
match_member(const u_char **p, const u_char *last, ngx_str_t *key,
    ngx_str_t *value)
{
    *p = ngx_guildlog_json_scan_skip(*p, last);

    if (*p == last || **p == '}') {
        return NGX_DONE;
    }

    if (**p == ',') {
        *p = ngx_guildlog_json_scan_skip(*p + 1, last);
    }

    if (*p == last || **p != '"'
        || match_value(p, last, key) != NGX_OK)
    {
        return NGX_ERROR;
    }

    key->data++;
    key->len -= 2;

    *p = ngx_guildlog_json_scan_skip(*p, last);

    if (*p == last || **p != ':') {
        return NGX_ERROR;
    }

    *p = ngx_guildlog_json_scan_skip(*p + 1, last);

    return match_value(p, last, value);
}


/* a value of any type, as it stands in the text */

static ngx_int_t
match_value(const u_char **p, const u_char *last, ngx_str_t *value)
{
    value->data = (u_char *) *p;

    if (*p == last) {
        return NGX_ERROR;
    }

    switch (**p) {

    case '"':
        *p = ngx_guildlog_json_scan_quote(*p + 1, last);

        if (*p >= last) {
            return NGX_ERROR;
        }

        (*p)++;
        break;

    case '{':
    case '[':
        *p = ngx_guildlog_json_scan_bracket(*p, last);

        if (*p == NULL) {
            return NGX_ERROR;
        }

        break;

    default:
        while (*p < last && **p > ' ' && **p != ',' && **p != '}'
               && **p != ']')
        {
            (*p)++;
        }
    }

    value->len = *p - value->data;

    return value->len ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
match_id(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which)
{
    return match_digits(value, &doc->id);
}


static ngx_int_t
match_type(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which)
{
    doc->type = ngx_atoi(value->data, value->len);

    return doc->type < NGX_GUILDLOG_TYPES ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
match_named(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which)
{
    int64_t       *id;
    ngx_int_t      rc;
    ngx_str_t      key, one;
    const u_char  *p, *last;

    if (*value->data == 'n') {
        return NGX_OK;
    }

    if (*value->data != '{') {
        return NGX_ERROR;
    }

    id = (which == NGX_GUILDLOG_MATCH_EXECUTOR_NAME) ? &doc->executor
         : (which == NGX_GUILDLOG_MATCH_TARGET_NAME) ? &doc->target
         : &doc->channel;

    p = value->data + 1;
    last = value->data + value->len;

    for ( ;; ) {
        rc = match_member(&p, last, &key, &one);

        if (rc != NGX_OK) {
            return rc == NGX_DONE ? NGX_OK : NGX_ERROR;
        }

        if (key.len == 2 && ngx_memcmp(key.data, "id", 2) == 0) {
            rc = match_digits(&one, id);

        } else if (key.len == 4 && ngx_memcmp(key.data, "name", 4) == 0) {
            rc = match_text(&one, &doc->strings[which]);
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }
    }
}


static ngx_int_t
match_string(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which)
{
    return match_text(value, &doc->strings[which]);
}


/* a null leaves it as it is */

static ngx_int_t
match_array(ngx_guildlog_match_doc_t *doc, const ngx_str_t *value,
    ngx_uint_t which)
{
    if (*value->data == '[') {
        *(ngx_str_t *) ((u_char *) doc + which) = *value;
        return NGX_OK;
    }

    return *value->data == 'n' ? NGX_OK : NGX_ERROR;
}


/* the bytes between the quotes; a null leaves text as it is */

static ngx_int_t
match_text(const ngx_str_t *value, ngx_str_t *text)
{
    if (*value->data == '"') {
        text->data = value->data + 1;
        text->len = value->len - 2;
        return NGX_OK;
    }

    return *value->data == 'n' ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
match_digits(const ngx_str_t *value, int64_t *id)
{
    ngx_str_t  text;

    ngx_str_null(&text);

    if (match_text(value, &text) != NGX_OK || text.len == 0) {
        return NGX_ERROR;
    }

    *id = ngx_atoof(text.data, text.len);

    return *id >= 0 ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_guildlog_match_doc_buf(ngx_str_t *buf, ngx_pool_t *pool, size_t len)
{
    len = NGX_GUILDLOG_MATCH_SIZE(len);

    if (len <= buf->len) {
        return NGX_OK;
    }

    if (buf->data) {
        (void) ngx_pfree(pool, buf->data);
    }

    len = ngx_max(len, 2 * ngx_pagesize);

    buf->len = 0;
    buf->data = ngx_pnalloc(pool, len);

    if (buf->data == NULL) {
        return NGX_ERROR;
    }

    buf->len = len;

    return NGX_OK;
}


u_char *
ngx_guildlog_match_doc_fold(ngx_guildlog_match_doc_t *doc, u_char *buf)
{
    u_char      *p, *start;
    ngx_uint_t   i;

    p = buf;
    doc->parts.data = buf;

    for (i = 0; i < NGX_GUILDLOG_MATCH_STRINGS; i++) {

        if (i == NGX_GUILDLOG_MATCH_PARTS) {
            p = match_fold_changes(p, &doc->changes);
            if (p == NULL) {
                return NULL;
            }

            doc->parts.len = p - doc->parts.data;
            doc->texts.data = p;
        }

        if (doc->strings[i].data == NULL) {
            continue;
        }

        start = p;

        p = match_fold_string(p, &doc->strings[i]);
        if (p == NULL) {
            return NULL;
        }

        if (i == NGX_GUILDLOG_MATCH_ROLE) {
            doc->role.data = start;
            doc->role.len = p - 1 - start;
        }
    }

    p = match_fold_messages(p, &doc->messages);

    if (p) {
        doc->texts.len = p - doc->texts.data;
    }

    return p;
}


static u_char *
match_fold_messages(u_char *dst, const ngx_str_t *messages)
{
    ngx_int_t      rc;
    ngx_str_t      key, value, text;
    const u_char  *p, *last;

    if (messages->data == NULL) {
        return dst;
    }

    p = messages->data + 1;
    last = messages->data + messages->len - 1;

    while (p < last) {

        if (*p != '{') {
            p++;
            continue;
        }

        p++;

        for ( ;; ) {
            rc = match_member(&p, last, &key, &value);

            if (rc != NGX_OK) {
                break;
            }

            if (key.len != 7 || ngx_memcmp(key.data, "content", 7) != 0) {
                continue;
            }

            ngx_str_null(&text);

            if (match_text(&value, &text) != NGX_OK) {
                return NULL;
            }

            if (text.data) {
                dst = match_fold_string(dst, &text);
                if (dst == NULL) {
                    return NULL;
                }
            }
        }

        if (rc == NGX_ERROR) {
            return NULL;
        }
    }

    return dst;
}


/* what was there before and after, and the names of that: no keys, no ids */

static u_char *
match_fold_changes(u_char *dst, const ngx_str_t *changes)
{
    ngx_str_t      s;
    ngx_uint_t     told;
    const u_char  *p, *last;

    if (changes->data == NULL) {
        return dst;
    }

    p = changes->data;
    last = p + changes->len;
    told = 0;

    for ( ;; ) {
        p = memchr(p, '"', last - p);
        if (p == NULL) {
            return dst;
        }

        s.data = (u_char *) p + 1;
        p = ngx_guildlog_json_scan_quote(p + 1, last);

        if (p >= last) {
            return NULL;
        }

        s.len = p++ - s.data;

        if (*ngx_guildlog_json_scan_skip(p, last) == ':') {
            told = !(s.len == 3 && ngx_memcmp(s.data, "key", 3) == 0)
                   && !(s.len == 2 && ngx_memcmp(s.data, "id", 2) == 0);

            continue;
        }

        if (told) {
            dst = match_fold_string(dst, &s);
            if (dst == NULL) {
                return NULL;
            }
        }

        /* the text behind {"id": "1"} in a list is told again */

        told = 1;
    }
}


/* and a NUL; NULL: a \ begins no escape of JSON */

static u_char *
match_fold_string(u_char *dst, const ngx_str_t *s)
{
    ngx_int_t      c;
    const u_char  *p, *slash, *last;

    p = s->data;
    last = p + s->len;

    for ( ;; ) {
        slash = p < last ? memchr(p, '\\', last - p) : NULL;

        if (slash == NULL) {
            dst = ngx_guildlog_fold(dst, p, last - p);
            *dst++ = '\0';
            return dst;
        }

        dst = ngx_guildlog_fold(dst, p, slash - p);
        p = slash;

        c = ngx_guildlog_json_scan_escape(&p, last);
        if (c == NGX_ERROR) {
            return NULL;
        }

        dst = ngx_guildlog_fold_put(dst, (uint32_t) c);
    }
}
