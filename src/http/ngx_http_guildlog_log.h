
/*
 * Rows of the log, and how they are written as JSON.
 */

#ifndef _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "log/ngx_guildlog_places.h"


/*
 * The columns of guildlog.log_row.  A row is the head, which comes first, an
 * entry, several of them, or tells of places in a lane.
 */

typedef enum {
    NGX_HTTP_GUILDLOG_LOG_ID = 0,       /* in the head: the status; of places:
                                           the first, or the lane's head */
    NGX_HTTP_GUILDLOG_LOG_MORE,         /* in an entry: the answer ends here,
                                           for it has enough bytes */
    NGX_HTTP_GUILDLOG_LOG_STATUS,
    NGX_HTTP_GUILDLOG_LOG_REASON,       /* in a page's head: its state */
    NGX_HTTP_GUILDLOG_LOG_CHANNEL,      /* in the head: since, where the next
                                           one goes on */
    NGX_HTTP_GUILDLOG_LOG_MESSAGE,      /* of a whole lane: refused up to it */
    NGX_HTTP_GUILDLOG_LOG_DOC,          /* in the head: the body's start; null
                                           of places */
    NGX_HTTP_GUILDLOG_LOG_DSTATUS,      /* null of a whole lane */
    NGX_HTTP_GUILDLOG_LOG_LANE,
    NGX_HTTP_GUILDLOG_LOG_SEQ           /* of several: how many; of places:
                                           the last; in a page's head: the
                                           total */
} ngx_http_guildlog_log_e;


/* any result with a head has so many columns; search_open's has no more */
#define NGX_HTTP_GUILDLOG_LOG_HEAD  6


typedef struct {
    u_char                        *last;      /* there is room for all */
    ngx_uint_t                     n;
    const ngx_guildlog_places_t   *ranges;

    unsigned                       undecided:1; /* a delivery may change
                                                   without a request */
} ngx_http_guildlog_log_json_t;

/* bytes for all entries, at most; without ranges no row has several */
size_t ngx_http_guildlog_log_json_size(ngx_guildlog_db_result_t *result,
    const ngx_guildlog_places_t *ranges);

/* writes an entry with its delivery */
u_char *ngx_http_guildlog_log_json_entry(u_char *p,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);


#endif /* _NGX_HTTP_GUILDLOG_LOG_H_INCLUDED_ */
