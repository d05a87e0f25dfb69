
/*
 * The cursor of a page: the id that the next one stays below, as text that
 * means nothing to the reader.  It is bound to nothing: of another guild or
 * query it is simply a position.
 */

#ifndef _NGX_GUILDLOG_CURSOR_H_INCLUDED_
#define _NGX_GUILDLOG_CURSOR_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_CURSOR_LEN  12


/* writes NGX_GUILDLOG_CURSOR_LEN bytes; returns where they end */
u_char *ngx_guildlog_cursor_encode(u_char *dst, int64_t id);

/* NGX_OK, or NGX_DECLINED: not one of ours */
ngx_int_t ngx_guildlog_cursor_decode(const ngx_str_t *cursor, int64_t *id);


#endif /* _NGX_GUILDLOG_CURSOR_H_INCLUDED_ */
