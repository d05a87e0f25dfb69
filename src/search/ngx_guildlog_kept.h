
/*
 * Strings of segments in the memory of a worker.  What was used longest ago
 * makes room for others.  Nothing is kept for long: what a segment says goes
 * with its day, and a database that was restored from a backup may give its key
 * to another one.
 */

#ifndef _NGX_GUILDLOG_KEPT_H_INCLUDED_
#define _NGX_GUILDLOG_KEPT_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_KEPT_AGE  600    /* s */


typedef struct ngx_guildlog_kept_s  ngx_guildlog_kept_t;


/* for so many bytes in all; NULL: no memory */
ngx_guildlog_kept_t *ngx_guildlog_kept_create(size_t size, ngx_log_t *log);
void ngx_guildlog_kept_destroy(ngx_guildlog_kept_t *kept);

/*
 * A key is of one database.  The strings stay where they are until the next
 * call; NGX_DECLINED: none are kept.
 */
ngx_int_t ngx_guildlog_kept_get(ngx_guildlog_kept_t *kept, ngx_uint_t database,
    int64_t key, ngx_str_t *strings);

/* copies them, unless the key is there; no-op without memory */
void ngx_guildlog_kept_put(ngx_guildlog_kept_t *kept, ngx_uint_t database,
    int64_t key, const ngx_str_t *strings);

/* drops what has been kept for too long; 1: something else is kept */
ngx_uint_t ngx_guildlog_kept_expire(ngx_guildlog_kept_t *kept);


#endif /* _NGX_GUILDLOG_KEPT_H_INCLUDED_ */
