
/*
 * Rows of the log, and how they are written as JSON.
 */

#ifndef _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "log/ngx_guildlog_pieces.h"


/*
 * The columns of guildlog.log_row.  A row is the head, which comes first, or an
 * entry.
 */

typedef enum {
    NGX_HTTP_GUILDLOG_LOG_ID = 0,       /* in the head: the status */
    NGX_HTTP_GUILDLOG_LOG_MORE,         /* in an entry: the answer ends here,
                                           for it has enough bytes */
    NGX_HTTP_GUILDLOG_LOG_STATUS,
    NGX_HTTP_GUILDLOG_LOG_REASON,       /* in a page's head: its state */
    NGX_HTTP_GUILDLOG_LOG_CHANNEL,      /* in the head: since, where the next
                                           one goes on */
    NGX_HTTP_GUILDLOG_LOG_MESSAGE,
    NGX_HTTP_GUILDLOG_LOG_DOC,          /* in the head: the body's start */
    NGX_HTTP_GUILDLOG_LOG_DSTATUS,
    NGX_HTTP_GUILDLOG_LOG_LANE,
    NGX_HTTP_GUILDLOG_LOG_SEQ           /* of a live tail: the arrival; in a
                                           page's head: the total */
} ngx_http_guildlog_log_e;


/* any result with a head has so many columns, as the pieces of a page have */
#define NGX_HTTP_GUILDLOG_LOG_HEAD  5


/* bytes for all entries, at most */
size_t ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result);

/* writes an entry with its delivery */
u_char *ngx_http_guildlog_log_json_entry(u_char *p,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);


#endif /* _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_ */
