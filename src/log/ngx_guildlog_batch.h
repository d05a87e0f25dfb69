
/*
 * Batches of entries to record, or of packets, as a JSON array or a line each;
 * and the columns that entries become.
 */

#ifndef _NGX_GUILDLOG_BATCH_H_INCLUDED_
#define _NGX_GUILDLOG_BATCH_H_INCLUDED_


#include "log/ngx_guildlog_entry.h"


/* entries as the recording functions take them: an SQL array of each column */

/* in the order of the functions' arguments */

typedef enum {
    NGX_GUILDLOG_COLUMN_GUILDS = 0,     /* where there are many */
    NGX_GUILDLOG_COLUMN_BOTS,           /* too */
    NGX_GUILDLOG_COLUMN_EVENTS,
    NGX_GUILDLOG_COLUMN_TYPES,
    NGX_GUILDLOG_COLUMN_TIMES,
    NGX_GUILDLOG_COLUMN_EXECUTORS,
    NGX_GUILDLOG_COLUMN_EXECUTOR_BOTS,
    NGX_GUILDLOG_COLUMN_EXECUTOR_ROLES,
    NGX_GUILDLOG_COLUMN_TARGETS,
    NGX_GUILDLOG_COLUMN_TARGET_BOTS,
    NGX_GUILDLOG_COLUMN_TARGET_ROLES,
    NGX_GUILDLOG_COLUMN_CHANNELS,
    NGX_GUILDLOG_COLUMN_PARENTS,
    NGX_GUILDLOG_COLUMN_CATEGORIES,
    NGX_GUILDLOG_COLUMN_PROXIED,
    NGX_GUILDLOG_COLUMN_PREFIXED,       /* places, from 1 */
    NGX_GUILDLOG_COLUMN_CROWDED,
    NGX_GUILDLOG_COLUMN_DOCS,           /* one a line */
    NGX_GUILDLOG_COLUMN_ERRORS,         /* as they are answered */
    NGX_GUILDLOG_COLUMN_LAST
} ngx_guildlog_column_e;


typedef struct {
    ngx_uint_t                     many;
    ngx_uint_t                     n;       /* entries so far */
    ngx_guildlog_json_t            columns[NGX_GUILDLOG_COLUMN_LAST];
    u_char                         used[NGX_GUILDLOG_COLUMN_LAST];
} ngx_guildlog_columns_t;


/* size: about how many bytes the entries have */
void ngx_guildlog_columns_init(ngx_guildlog_columns_t *c, ngx_pool_t *pool,
    ngx_uint_t many, size_t size);

/* adds a good entry by the fields that ngx_guildlog_entry_check() found */
void ngx_guildlog_columns_add(ngx_guildlog_columns_t *c, json_t **fields);

/* adds an error; the entry keeps its place with nulls */
void ngx_guildlog_columns_refuse(ngx_guildlog_columns_t *c,
    const ngx_str_t *error);

/*
 * Writes one argument for each column, an SQL null for a column without any
 * value.  NGX_ERROR: memory.
 */
ngx_int_t ngx_guildlog_columns_end(ngx_guildlog_columns_t *c, ngx_str_t *args);


/* and who makes them of a body */

#define NGX_GUILDLOG_BATCH_MAX  1000


typedef struct ngx_guildlog_batch_s  ngx_guildlog_batch_t;


/*
 * Makes the arguments of the recording functions of a body, which has to stay:
 * a JSON array, or with ndjson set an object a line.  An entry that breaks a
 * rule keeps its place, and stands among the errors.  With many set each entry
 * says its guild.  With take it is a body of packets, which makes no arguments:
 * each is taken by its text, which is UTF-8; NGX_OK, or NGX_ERROR: memory.
 * NULL: memory.
 */

typedef ngx_int_t (*ngx_guildlog_batch_take_pt)(void *data,
    const ngx_str_t *text);

ngx_guildlog_batch_t *ngx_guildlog_batch_create(ngx_pool_t *pool,
    const ngx_str_t *body, ngx_uint_t ndjson, ngx_uint_t many,
    ngx_guildlog_batch_take_pt take, void *data);

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
