
/*
 * The entries that a packet makes, by the rows of the table and what is known.
 */

#ifndef _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_
#define _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_


#include "events/ngx_guildlog_event_put.h"


/* puts them, and says what became of the packet.  NGX_ERROR: memory */
ngx_int_t ngx_guildlog_event_entries(ngx_guildlog_event_put_t *put,
    ngx_guildlog_event_t *event);


#endif /* _NGX_GUILDLOG_EVENT_ENTRY_H_INCLUDED_ */
