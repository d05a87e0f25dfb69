
/*
 * Batches of entries to record, or of packets, as a JSON array or a line each.
 */

#ifndef _NGX_GUILDLOG_BATCH_H_INCLUDED_
#define _NGX_GUILDLOG_BATCH_H_INCLUDED_


#include "log/ngx_guildlog_columns.h"


#define NGX_GUILDLOG_BATCH_MAX  1000


typedef struct ngx_guildlog_batch_s  ngx_guildlog_batch_t;


/*
 * Makes the arguments of the recording functions of a body, which has to stay:
 * a JSON array, or with ndjson set an object a line.  An entry that breaks a
 * rule keeps its place, and stands among the errors.  With many set each entry
 * says its guild.  NULL: memory.
 */

ngx_guildlog_batch_t *ngx_guildlog_batch_create(ngx_pool_t *pool,
    const ngx_str_t *body, ngx_uint_t ndjson, ngx_uint_t many);

/*
 * The same of a body of packets: each is taken by its text, which is UTF-8.
 * take: NGX_OK, or NGX_ERROR: memory.
 */

typedef ngx_int_t (*ngx_guildlog_batch_take_pt)(void *data,
    const ngx_str_t *text);

ngx_guildlog_batch_t *ngx_guildlog_batch_packets(ngx_pool_t *pool,
    const ngx_str_t *body, ngx_uint_t ndjson, ngx_guildlog_batch_take_pt take,
    void *data);

/*
 * Reads about size bytes of it, in whole entries.  NGX_AGAIN: there is more;
 * NGX_OK: so many arguments are written, none of packets; NGX_DECLINED: *error
 * says why the batch as a whole is refused; NGX_ERROR: memory.
 */

#define ngx_guildlog_batch_nargs(many)                                        \
    ((many) ? NGX_GUILDLOG_COLUMN_LAST                                        \
            : NGX_GUILDLOG_COLUMN_LAST - NGX_GUILDLOG_COLUMN_EVENTS)

ngx_int_t ngx_guildlog_batch_read(ngx_guildlog_batch_t *batch, size_t size,
    ngx_str_t *args, ngx_str_t *error);


#endif /* _NGX_GUILDLOG_BATCH_H_INCLUDED_ */
