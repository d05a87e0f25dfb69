
/*
 * One value against the rule of its field.
 */

#ifndef _NGX_GUILDLOG_VALUE_H_INCLUDED_
#define _NGX_GUILDLOG_VALUE_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


typedef enum {
    NGX_GUILDLOG_BOOL = 0,
    NGX_GUILDLOG_INT,           /* min..max, both included */
    NGX_GUILDLOG_TEXT,          /* min..max code points */
    NGX_GUILDLOG_ID,            /* 1 to 20 digits, min..2^63-1, in JSON a
                                   string */
    NGX_GUILDLOG_ENUM,          /* one of values */
    NGX_GUILDLOG_URL,           /* http or https, min..max code points */
    NGX_GUILDLOG_HASH,          /* of a picture, as the platform names it */
    NGX_GUILDLOG_MIXED,         /* a number, a boolean, a text of min..max code
                                   points, or up to 100 such texts or objects,
                                   by the table that item begins */
    NGX_GUILDLOG_LIST,          /* of what item says; min..max items */
    NGX_GUILDLOG_OBJECT,        /* at least min fields, by the table that item
                                   begins; NULL: any */
    NGX_GUILDLOG_ITEMS          /* a query parameter that may be repeated,
                                   each as item says; an SQL array */
} ngx_guildlog_type_e;


#define NGX_GUILDLOG_REQUIRED   0x01
#define NGX_GUILDLOG_NULLABLE   0x02
#define NGX_GUILDLOG_CLAMP      0x04   /* body: above max is passed as it is,
                                          SQL clamps */
#define NGX_GUILDLOG_TRIM       0x08   /* query: white space only counts as
                                          absent */
#define NGX_GUILDLOG_HTTPS      0x10   /* URL: not http */


typedef struct ngx_guildlog_field_s  ngx_guildlog_field_t;

struct ngx_guildlog_field_s {
    ngx_str_t                      name;
    ngx_guildlog_type_e            type;
    ngx_uint_t                     flags;
    int64_t                        min;
    int64_t                        max;
    const char                   **values;   /* of ENUM, NULL-terminated */
    const ngx_guildlog_field_t    *item;     /* of MIXED, LIST, OBJECT, ITEMS */
    const char                    *fallback; /* query: where it is absent;
                                                NULL: an SQL null */
};
/* tables of fields end with an empty name */

/*
 * The value in question: errors are written to *error, and begin with the path
 * to it.  A value without an outer one is named, but is no part of the path of
 * its fields unless it stands in a list.
 */

typedef struct ngx_guildlog_value_s  ngx_guildlog_value_t;

struct ngx_guildlog_value_s {
    ngx_pool_t                    *pool;
    ngx_str_t                      name;
    ngx_uint_t                     index;   /* in a list, or NO_INDEX */
    ngx_str_t                     *error;
    const ngx_guildlog_value_t    *outer;   /* the object that it is in */
};


#define NGX_GUILDLOG_VALUE_NO_INDEX  ((ngx_uint_t) -1)

/* a double, thus any JSON number, is exact up to 2^53 - 1 */
#define NGX_GUILDLOG_VALUE_EXACT     9007199254740991

/* digits of a guild's id, at least */
#define NGX_GUILDLOG_VALUE_GUILD     17


/* one that is in nothing, of that name; and one that is in another one, which
   has no name yet */
void ngx_guildlog_value_begin(ngx_guildlog_value_t *v, ngx_pool_t *pool,
    const char *name, ngx_str_t *error);
void ngx_guildlog_value_within(ngx_guildlog_value_t *v,
    const ngx_guildlog_value_t *outer);

/* a JSON value of any type but ITEMS; returns as above */
ngx_int_t ngx_guildlog_value_json(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *field, json_t *value);

/*
 * Holds a JSON object against a table: no unknown field, each required one.
 * values, unless NULL, takes the value of each field by its place in the table,
 * and is not written to where the field is absent.  Returns as above.
 */
ngx_int_t ngx_guildlog_value_object(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *fields, json_t *object, json_t **values);


/* writes "<path>: <what the format makes>"; NGX_DECLINED or NGX_ERROR */
ngx_int_t ngx_guildlog_value_refuse(ngx_guildlog_value_t *v, const char *fmt,
    ...);

/* one of values, NULL-terminated */
ngx_uint_t ngx_guildlog_value_is_one(const char **values,
    const ngx_str_t *value);

/*
 * An element of an SQL array, at most 2 * len + 2 bytes: quoted, so that NULL
 * and commas are plain text.  Returns the end of it.
 */
u_char *ngx_guildlog_value_quote(u_char *p, const ngx_str_t *value);

/*
 * An SQL array of n such elements with size bytes in all: begun, each added,
 * and ended.  A NULL is one of SQL.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_value_array(ngx_str_t *array, ngx_pool_t *pool,
    ngx_uint_t n, size_t size);
void ngx_guildlog_value_array_add(ngx_str_t *array, const ngx_str_t *value);
void ngx_guildlog_value_array_end(ngx_str_t *array);

/* NGX_OK: "0".."9223372036854775807", digits only, min to 20 of them */
ngx_int_t ngx_guildlog_value_id(const u_char *p, size_t len, size_t min);

/* such a one, of any length */
ngx_uint_t ngx_guildlog_value_is_id(const ngx_str_t *s);

/* 1 to 64 letters, digits and underscores: it may stand in a path */
ngx_uint_t ngx_guildlog_value_is_hash(const ngx_str_t *s);


/*
 * Binds the query string to one argument per field of the table, in its
 * order.  Unknown parameters are ignored; a known one twice, or percent
 * sequences that are not UTF-8 or hold a NUL, are refused.  NGX_OK;
 * NGX_DECLINED: *error names the parameter and the rule; NGX_ERROR: memory.
 */
ngx_int_t ngx_guildlog_args_query(ngx_pool_t *pool,
    const ngx_guildlog_field_t *fields, const ngx_str_t *query,
    ngx_str_t *args, ngx_str_t *error);

/*
 * Holds a parsed body against the table: an object, no unknown field, at
 * least one field (a change of nothing is a mistake) unless the table is
 * empty.  Returns as above.
 */
ngx_int_t ngx_guildlog_args_body(ngx_pool_t *pool,
    const ngx_guildlog_field_t *fields, json_t *body, ngx_str_t *error);

/* the same of a value in a body */
ngx_int_t ngx_guildlog_args_object(ngx_guildlog_value_t *v,
    const ngx_guildlog_field_t *fields, json_t *json);

/* the same of an array of 1 to BATCH_MAX such objects */

#define NGX_GUILDLOG_ARGS_BATCH_MAX  1000

ngx_int_t ngx_guildlog_args_batch(ngx_pool_t *pool,
    const ngx_guildlog_field_t *fields, json_t *body, ngx_str_t *error);


/* what is refused, in a word that does not change */

/*
 * Adds to an object "error", the sentence; "code", its word in the table; and
 * where it tells them "field", the path to the value, and "min" and "max" of
 * the rule.
 */
void ngx_guildlog_refusal_write(ngx_guildlog_json_t *w,
    const ngx_str_t *sentence);


#endif /* _NGX_GUILDLOG_VALUE_H_INCLUDED_ */
