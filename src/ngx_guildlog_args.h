
/*
 * Query strings and bodies to the typed arguments of a statement, by tables.
 */

#ifndef _NGX_GUILDLOG_ARGS_H_INCLUDED_
#define _NGX_GUILDLOG_ARGS_H_INCLUDED_


#include "ngx_guildlog_json.h"


typedef enum {
    NGX_GUILDLOG_BOOL = 0,
    NGX_GUILDLOG_INT,           /* min..max, both included */
    NGX_GUILDLOG_TEXT,          /* min..max code points */
    NGX_GUILDLOG_ID,            /* 1 to 20 digits, min..2^63-1, in JSON a
                                   string */
    NGX_GUILDLOG_ENUM,          /* one of values */
    NGX_GUILDLOG_URL,           /* http or https, min..max code points */
    NGX_GUILDLOG_LIST,          /* of what item says; min..max items */
    NGX_GUILDLOG_ITEMS          /* a query parameter that may be repeated,
                                   each as item says; an SQL array */
} ngx_guildlog_type_e;


#define NGX_GUILDLOG_REQUIRED   0x01
#define NGX_GUILDLOG_NULLABLE   0x02
#define NGX_GUILDLOG_CLAMP      0x04   /* above max becomes max (body: passed
                                          as it is, SQL clamps) */
#define NGX_GUILDLOG_TRIM       0x08   /* white space only counts as absent */


typedef struct ngx_guildlog_field_s  ngx_guildlog_field_t;

struct ngx_guildlog_field_s {
    ngx_str_t                      name;
    ngx_guildlog_type_e            type;
    ngx_uint_t                     flags;
    int64_t                        min;
    int64_t                        max;
    const char                   **values;   /* of ENUM, NULL-terminated */
    const ngx_guildlog_field_t    *item;     /* of LIST and ITEMS */
    const char                    *fallback; /* query: where it is absent;
                                                NULL: an SQL null */
};
/* tables of fields end with an empty name */


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

/* one value of a body against its field; returns as above */

ngx_int_t ngx_guildlog_args_value(ngx_pool_t *pool,
    const ngx_guildlog_field_t *field, json_t *value, ngx_str_t *error);

/* "0".."9223372036854775807", digits only, min to 20 of them */
ngx_int_t ngx_guildlog_args_id(const u_char *p, size_t len, size_t min);


#endif /* _NGX_GUILDLOG_ARGS_H_INCLUDED_ */
