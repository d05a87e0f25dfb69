
/*
 * What a batch of packets, or a turn of its pairs, has to tell the database.
 */

#ifndef _NGX_GUILDLOG_EVENT_PUT_H_INCLUDED_
#define _NGX_GUILDLOG_EVENT_PUT_H_INCLUDED_


#include "events/ngx_guildlog_known.h"
#include "events/ngx_guildlog_pair.h"
#include "log/ngx_guildlog_batch.h"


/* of operator_events(), and of events_end(), without the columns of entries */

#define NGX_GUILDLOG_EVENT_PUT_NARGS  22
#define NGX_GUILDLOG_EVENT_END_NARGS  13

#define NGX_GUILDLOG_EVENT_PUT_ALL                                            \
    (NGX_GUILDLOG_EVENT_PUT_NARGS + NGX_GUILDLOG_COLUMN_LAST)
#define NGX_GUILDLOG_EVENT_END_ALL                                            \
    (NGX_GUILDLOG_EVENT_END_NARGS + NGX_GUILDLOG_COLUMN_LAST)


typedef struct {
    ngx_pool_t                    *pool;
    ngx_guildlog_known_t          *known;
    json_t                        *wanted;   /* the ids of people without a
                                                name; or NULL */
    int64_t                        now;      /* ms */
    ngx_str_t                      plan;     /* of servers that are new */
    ngx_guildlog_columns_t         columns;
    ngx_array_t                    packets;  /* ngx_uint_t: the packet of each
                                                entry, by its index */
    ngx_guildlog_json_t            args[NGX_GUILDLOG_EVENT_PUT_NARGS];
    ngx_uint_t                     waiting;  /* pairs with an entry */
    ngx_uint_t                     item;     /* of known, the next one */
    ngx_uint_t                     nkeep;
    ngx_uint_t                     npairs;
    unsigned                       later:1;  /* no entry is recorded at once */
} ngx_guildlog_event_put_t;


void ngx_guildlog_event_put_init(ngx_guildlog_event_put_t *put,
    ngx_pool_t *pool, ngx_guildlog_known_t *known, const ngx_str_t *plan,
    int64_t now);

/* an entry as POST /logs takes it is recorded, or waits for its other half */
ngx_int_t ngx_guildlog_event_put_entry(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event, ngx_uint_t type, json_t *entry);

/* what a packet means to those that wait, and to the list of servers */
ngx_int_t ngx_guildlog_event_put_packet(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event);

/* NGX_GUILDLOG_EVENT_PUT_ALL arguments; NGX_AGAIN: there is more to do.  What
   is known is gone behind it */
ngx_int_t ngx_guildlog_event_put_args(ngx_guildlog_event_put_t *put,
    ngx_str_t *args);


/*
 * Of the lines of events_due(): decides, and writes the arguments of
 * events_end(), NGX_GUILDLOG_EVENT_END_ALL, of which the first two are the
 * caller's.  NGX_ERROR: memory.
 */
ngx_int_t ngx_guildlog_event_put_ends(ngx_pool_t *pool, const ngx_str_t *rows,
    int64_t now, ngx_str_t *args);


#endif /* _NGX_GUILDLOG_EVENT_PUT_H_INCLUDED_ */
