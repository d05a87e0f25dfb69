
/*
 * JSON in: what may be read, and what is said of the rest.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog_utf8.h"


#define JSON_PARSE_ERROR  1280


/* where a walk over the text stands, one frame for each open bracket */

typedef struct {
    ngx_str_t                      key;      /* as written, escapes and all */
    ngx_uint_t                     index;
    unsigned                       object:1;
    unsigned                       value:1;  /* the colon has passed */
} json_parse_frame_t;


typedef struct {
    ngx_uint_t                     depth;
    json_parse_frame_t             frames[NGX_GUILDLOG_JSON_DEPTH];
} json_parse_walk_t;


static ngx_int_t json_parse_check(ngx_pool_t *pool, const ngx_str_t *text,
    ngx_str_t *error);
static void json_parse_explain(ngx_pool_t *pool, const ngx_str_t *text,
    json_error_t *cause, ngx_str_t *error);
static void json_parse_error(ngx_pool_t *pool, const ngx_str_t *text,
    size_t offset, const char *why, ngx_str_t *error);
static u_char *json_parse_path(u_char *p, u_char *last,
    json_parse_walk_t *walk);
static ngx_int_t json_parse_walk(json_parse_walk_t *walk, const u_char *p,
    const u_char *last);
static void json_parse_cleanup(void *data);


/* what jansson says, and whether it is said of a field */

static const struct {
    enum json_error_code           code;
    const char                    *why;
    ngx_uint_t                     field;
} json_parse_causes[] = {
    { json_error_numeric_overflow, "the number is out of range", 1 },
    { json_error_duplicate_key, "given twice", 1 },
    { json_error_null_character, "must not contain NUL", 1 },
    { json_error_null_byte_in_key, "must not contain NUL", 1 },
    { json_error_premature_end_of_input, "ends too early", 0 },
    { json_error_end_of_input_expected, "something stands behind its end", 0 },
    { json_error_unknown, NULL, 0 }
};


json_t *
ngx_guildlog_json_parse(ngx_pool_t *pool, const ngx_str_t *text,
    ngx_str_t *error)
{
    json_t              *json;
    json_error_t         cause;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        ngx_str_null(error);
        return NULL;
    }

    json = ngx_guildlog_json_read(text->data, text->len);

    if (json == NULL) {

        if (json_parse_check(pool, text, error) != NGX_OK) {
            return NULL;
        }

        json = ngx_guildlog_json_read_jansson(text->data, text->len,
                                              JSON_REJECT_DUPLICATES, &cause);
        if (json == NULL) {
            json_parse_explain(pool, text, &cause, error);
            return NULL;
        }
    }

    cln->handler = json_parse_cleanup;
    cln->data = json;

    return json;
}


/* what jansson would accept, or say in words of its own */

static ngx_int_t
json_parse_check(ngx_pool_t *pool, const ngx_str_t *text, ngx_str_t *error)
{
    size_t              offset;
    u_char             *p, *last;
    const char         *why;
    json_parse_walk_t   walk;

    last = text->data + text->len;
    p = ngx_guildlog_json_scan_skip(text->data, last);
    offset = 0;

    if (p == last) {
        why = "is required";

    } else if (*p != '{' && *p != '[') {
        why = "must be a JSON object or array";

    } else if (json_parse_walk(&walk, p, last) != NGX_OK) {
        why = "nested deeper than " ngx_value(NGX_GUILDLOG_JSON_DEPTH)
              " levels";

    } else {
        offset = ngx_guildlog_utf8_valid(text->data, text->len);

        if (offset == text->len) {
            return NGX_OK;
        }

        why = text->data[offset] ? "is not valid UTF-8"
                                 : "must not contain NUL";
    }

    json_parse_error(pool, text, offset, why, error);

    return NGX_DECLINED;
}


static void
json_parse_explain(ngx_pool_t *pool, const ngx_str_t *text, json_error_t *cause,
    ngx_str_t *error)
{
    u_char      *p;
    u_char       why[NGX_GUILDLOG_JSON_NAME];
    ngx_uint_t   i;

    if (cause->text[0] == '\0') {
        ngx_str_null(error);
        return;
    }

    if (ngx_guildlog_json_parse_is_half(cause)) {
        json_parse_error(pool, text, cause->position,
                         "\\u is not followed by a character", error);
        return;
    }

    for (i = 0; json_parse_causes[i].why; i++) {
        if (json_parse_causes[i].code == json_error_code(cause)) {
            json_parse_error(pool, text,
                             json_parse_causes[i].field ? cause->position : 0,
                             json_parse_causes[i].why, error);
            return;
        }
    }

    p = ngx_snprintf(why, sizeof(why) - 1,
                     "not valid JSON at line %d, column %d",
                     cause->line, cause->column);
    *p = '\0';

    json_parse_error(pool, text, 0, (char *) why, error);
}


ngx_uint_t
ngx_guildlog_json_parse_is_half(const json_error_t *cause)
{
    return ngx_strncmp(cause->text, "invalid Unicode", 15) == 0;
}


/* "<the field at this offset>: <why>" */

static void
json_parse_error(ngx_pool_t *pool, const ngx_str_t *text, size_t offset,
    const char *why, ngx_str_t *error)
{
    u_char            *p, *last;
    json_parse_walk_t  walk;

    p = ngx_pnalloc(pool, JSON_PARSE_ERROR);
    if (p == NULL) {
        ngx_str_null(error);
        return;
    }

    last = p + JSON_PARSE_ERROR;
    error->data = p;

    (void) json_parse_walk(&walk, text->data, text->data + offset);

    p = json_parse_path(p, last, &walk);
    p = ngx_slprintf(p, last, ": %s", why);

    error->len = p - error->data;
}


static u_char *
json_parse_path(u_char *p, u_char *last, json_parse_walk_t *walk)
{
    u_char              *start;
    ngx_str_t            name;
    ngx_uint_t           i;
    json_parse_frame_t  *frame;

    start = p;

    for (i = 0; i < walk->depth; i++) {
        frame = &walk->frames[i];

        if (!frame->object) {
            p = ngx_slprintf(p, last, "%s[%ui]", p == start ? "body" : "",
                             frame->index);
            continue;
        }

        if (frame->key.data) {
            name = frame->key;
            name.len = ngx_guildlog_utf8_cut(name.data, name.len,
                                             NGX_GUILDLOG_JSON_NAME);

            p = ngx_slprintf(p, last, "%s%V", p == start ? "" : ".", &name);
        }
    }

    if (p == start) {
        p = ngx_slprintf(p, last, "body");
    }

    return p;
}


/*
 * Follows brackets and keys without judging the rest.  NGX_DECLINED: nested
 * too deep.
 */

static ngx_int_t
json_parse_walk(json_parse_walk_t *walk, const u_char *p, const u_char *last)
{
    const u_char        *start;
    json_parse_frame_t  *frame;

    walk->depth = 0;
    frame = NULL;

    for ( /* void */ ; p < last; p++) {

        switch (*p) {

        case '{':
        case '[':
            if (walk->depth == NGX_GUILDLOG_JSON_DEPTH) {
                return NGX_DECLINED;
            }

            frame = &walk->frames[walk->depth++];
            ngx_memzero(frame, sizeof(json_parse_frame_t));
            frame->object = (*p == '{');
            break;

        case '}':
        case ']':
            if (walk->depth) {
                walk->depth--;
            }

            frame = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
            break;

        case '"':
            start = ++p;
            p = ngx_guildlog_json_scan_quote(p, last);

            if (p < last && frame && !frame->value) {
                frame->key.data = (u_char *) start;
                frame->key.len = p - start;
            }

            break;

        case ':':
            if (frame) {
                frame->value = 1;
            }

            break;

        case ',':
            if (frame) {
                frame->value = 0;
                ngx_str_null(&frame->key);
                frame->index++;
            }

            break;
        }
    }

    return NGX_OK;
}


static void
json_parse_cleanup(void *data)
{
    json_decref(data);
}
