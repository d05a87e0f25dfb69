
/*
 * Query strings and bodies to the typed arguments of a statement, by tables.
 */

#ifndef _NGX_GUILDLOG_ARGS_H_INCLUDED_
#define _NGX_GUILDLOG_ARGS_H_INCLUDED_


#include "api/ngx_guildlog_value.h"


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

/* the same of an array of 1 to BATCH_MAX such objects */

#define NGX_GUILDLOG_ARGS_BATCH_MAX  1000

ngx_int_t ngx_guildlog_args_batch(ngx_pool_t *pool,
    const ngx_guildlog_field_t *fields, json_t *body, ngx_str_t *error);


#endif /* _NGX_GUILDLOG_ARGS_H_INCLUDED_ */
