
/*
 * JSON in: jansson's trees, bounded.  JSON out: a writer into one buffer.
 */

#ifndef _NGX_GUILDLOG_JSON_H_INCLUDED_
#define _NGX_GUILDLOG_JSON_H_INCLUDED_


#include <ngx_config.h>
#include <jansson.h>
#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_JSON_DEPTH  16

/* of a name in an error, in bytes */
#define NGX_GUILDLOG_JSON_NAME   64

/* of a number that is not whole, in bytes */
#define NGX_GUILDLOG_JSON_REAL   32


/*
 * Parses one text: UTF-8, no NUL, no duplicate keys, nesting to 16, nothing
 * behind it, an object or an array.  NULL: *error says why in words a user
 * understands, beginning with the field it happened at where that is known
 * ("count: the number is out of range"), else with "body"; an empty *error:
 * no memory.  The tree lives as long as the memory pool.
 */

json_t *ngx_guildlog_json_parse(ngx_pool_t *pool, const ngx_str_t *text,
    ngx_str_t *error);

/*
 * The same for what a peer answers, who may say what we cannot hold:
 * a NUL or half a character in one of its strings is U+FFFD.
 */

json_t *ngx_guildlog_json_parse_answer(ngx_pool_t *pool, const ngx_str_t *text,
    ngx_str_t *error);

/*
 * What jansson makes of a text, whatever it is, with these of its flags; NULL
 * with an empty cause->text: no memory.
 */
json_t *ngx_guildlog_json_read_any(const u_char *p, size_t len, size_t flags,
    json_error_t *cause);

/*
 * The tree of an object or an array that parse() accepts and that holds nothing
 * out of the ordinary.  NULL: parse() or load() may know more.
 */
json_t *ngx_guildlog_json_read(const u_char *p, size_t len);

/* it stopped at a \u that is half a character: jansson has no code for it */
ngx_uint_t ngx_guildlog_json_parse_is_half(const json_error_t *cause);

/* the bytes of a string, in its tree; empty where it is none */
ngx_str_t ngx_guildlog_json_text(const json_t *json);
ngx_str_t ngx_guildlog_json_get(const json_t *object, const char *key);

/* the shortest text that is read as that number; returns its end */
u_char *ngx_guildlog_json_real(u_char *p, double n);

/* the first byte that is not white space between values, or last */
u_char *ngx_guildlog_json_scan_skip(const u_char *p, const u_char *last);

/* the quote that ends a string; last or behind it: none does */
const u_char *ngx_guildlog_json_scan_quote(const u_char *p, const u_char *last);

/* behind the bracket that closes the one at p, of whichever kind it is; NULL:
   none does */
const u_char *ngx_guildlog_json_scan_bracket(const u_char *p,
    const u_char *last);

/* the code point escaped at a backslash, and moves behind it; NGX_ERROR: none,
   or a NUL */
ngx_int_t ngx_guildlog_json_scan_escape(const u_char **p, const u_char *last);

/*
 * Writer.  Commas are its business: begin(w, '{'), key(w, "a"), number(w, 1),
 * end(w).  Memory doubles as needed from the pool; after a failed allocation
 * everything is a no-op and failed is set.
 */

typedef struct {
    ngx_pool_t                    *pool;
    u_char                        *start;
    u_char                        *pos;
    u_char                        *end;
    ngx_uint_t                     depth;
    unsigned                       comma:1;
    unsigned                       failed:1;
    u_char                         close[NGX_GUILDLOG_JSON_DEPTH];
} ngx_guildlog_json_t;

void ngx_guildlog_json_init(ngx_guildlog_json_t *w, ngx_pool_t *pool,
    size_t size);
void ngx_guildlog_json_begin(ngx_guildlog_json_t *w, u_char bracket);
void ngx_guildlog_json_end(ngx_guildlog_json_t *w);
void ngx_guildlog_json_key(ngx_guildlog_json_t *w, const char *name);
void ngx_guildlog_json_string(ngx_guildlog_json_t *w, const ngx_str_t *s);
void ngx_guildlog_json_number(ngx_guildlog_json_t *w, int64_t n);
void ngx_guildlog_json_bool(ngx_guildlog_json_t *w, ngx_uint_t b);
void ngx_guildlog_json_null(ngx_guildlog_json_t *w);
/* a key and its value */
void ngx_guildlog_json_member(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *s);
void ngx_guildlog_json_member_number(ngx_guildlog_json_t *w, const char *name,
    int64_t n);
/* a finished piece of JSON, as it is */
void ngx_guildlog_json_raw(ngx_guildlog_json_t *w, const ngx_str_t *s);
/* anything, as it is; no comma comes before it, nor before what is next */
void ngx_guildlog_json_literal(ngx_guildlog_json_t *w, const void *data,
    size_t len);

/*
 * Where a finished piece of at most len bytes may be put, which then ends at
 * last; NULL: the writer has failed.
 */
u_char *ngx_guildlog_json_place(ngx_guildlog_json_t *w, size_t len);
void ngx_guildlog_json_placed(ngx_guildlog_json_t *w, u_char *last);

/* all that was written so far; NGX_ERROR: the writer has failed */
ngx_int_t ngx_guildlog_json_written(const ngx_guildlog_json_t *w,
    ngx_str_t *text);


#endif /* _NGX_GUILDLOG_JSON_H_INCLUDED_ */
