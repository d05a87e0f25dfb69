
/*
 * Entries as the recording functions take them: an SQL array of each column.
 */

#ifndef _NGX_GUILDLOG_COLUMNS_H_INCLUDED_
#define _NGX_GUILDLOG_COLUMNS_H_INCLUDED_


#include "log/ngx_guildlog_entry.h"


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


#endif /* _NGX_GUILDLOG_COLUMNS_H_INCLUDED_ */
