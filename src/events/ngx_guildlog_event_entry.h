
/*
 * The entries that a packet makes, by the rows of the table and what is known.
 */

#ifndef _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_
#define _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_


#include "events/ngx_guildlog_known.h"


/* takes an entry as POST /logs does, over; NGX_ERROR: memory */
typedef ngx_int_t (*ngx_guildlog_event_entry_pt)(void *data,
    ngx_guildlog_event_t *event, ngx_uint_t type, json_t *entry);


/* NGX_ERROR: memory */
ngx_int_t ngx_guildlog_event_entries(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_guildlog_event_entry_pt put, void *data,
    ngx_guildlog_event_fate_e *fate);


#endif /* _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_ */
