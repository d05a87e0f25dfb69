
/*
 * What delivery did, in shared memory: calls of the platform by what was
 * answered, entries by how their delivery ended, doubts by how they ended.
 */

#ifndef _NGX_GUILDLOG_TRAFFIC_H_INCLUDED_
#define _NGX_GUILDLOG_TRAFFIC_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_TRAFFIC_CALLS    7
#define NGX_GUILDLOG_TRAFFIC_CLASSES  13
#define NGX_GUILDLOG_TRAFFIC_CODES    16
#define NGX_GUILDLOG_TRAFFIC_SCOPES   3
#define NGX_GUILDLOG_TRAFFIC_ENDS     8


typedef enum {
    NGX_GUILDLOG_DOUBT_PRESENT = 0,      /* the message was there */
    NGX_GUILDLOG_DOUBT_ABSENT,           /* it was not, and is sent again */
    NGX_GUILDLOG_DOUBT_UNPROVED,
    NGX_GUILDLOG_DOUBT_LAST
} ngx_guildlog_traffic_doubt_e;


typedef struct {
    ngx_atomic_t                   calls[NGX_GUILDLOG_TRAFFIC_CALLS]
                                        [NGX_GUILDLOG_TRAFFIC_CLASSES]
                                        [NGX_GUILDLOG_TRAFFIC_CODES];
    ngx_atomic_t                   limited[NGX_GUILDLOG_TRAFFIC_SCOPES];
    ngx_atomic_t                   entries[NGX_GUILDLOG_TRAFFIC_ENDS];
    ngx_atomic_t                   doubts[NGX_GUILDLOG_DOUBT_LAST];
} ngx_guildlog_traffic_t;


/* words for the numbers, in their order */

extern const char  *ngx_guildlog_traffic_calls[];
extern const char  *ngx_guildlog_traffic_classes[];
extern const char  *ngx_guildlog_traffic_scopes[];
extern const char  *ngx_guildlog_traffic_ends[];
extern const char  *ngx_guildlog_traffic_doubts[];

/* 0, the first: no answer; the last, 0 too, stands for all others */
extern const ngx_uint_t  ngx_guildlog_traffic_codes[];


/* call: one bit, class, and scope if it was limited, else -1, as
   ngx_guildlog_verdict_t has them */
void ngx_guildlog_traffic_call(ngx_guildlog_traffic_t *traffic,
    ngx_uint_t call, ngx_uint_t class, ngx_int_t scope, ngx_uint_t status);

/* so many have reached that end: a reason, or "delivered" */
void ngx_guildlog_traffic_entries(ngx_guildlog_traffic_t *traffic,
    const ngx_str_t *end, ngx_uint_t n);

void ngx_guildlog_traffic_doubt(ngx_guildlog_traffic_t *traffic,
    ngx_guildlog_traffic_doubt_e end);


#endif /* _NGX_GUILDLOG_TRAFFIC_H_INCLUDED_ */
