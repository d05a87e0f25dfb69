
/*
 * What of a text the platform would render.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_MARKUP_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_MARKUP_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* the length of a mention, a custom emoji or a time; 0: there is none */
size_t ngx_guildlog_message_markup(const u_char *p, const u_char *last);

/*
 * The end of the code that so many backticks begin, before those that end it;
 * NULL: they are text.  In a spoiler nothing may end it.
 */
const u_char *ngx_guildlog_message_markup_code(const u_char *p,
    const u_char *last, ngx_uint_t marks, ngx_uint_t spoiler);


#endif /* _NGX_GUILDLOG_MESSAGE_MARKUP_H_INCLUDED_ */
