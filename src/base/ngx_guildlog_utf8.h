
/*
 * UTF-8 by its bytes: what is valid, how long it is, where it may be cut.
 */

#ifndef _NGX_GUILDLOG_UTF8_H_INCLUDED_
#define _NGX_GUILDLOG_UTF8_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* how many bytes from the start are UTF-8 without a NUL; len: all of them */
size_t ngx_guildlog_utf8_valid(const u_char *p, size_t len);

/* the number of Unicode code points in valid UTF-8 */
size_t ngx_guildlog_utf8_length(const u_char *p, size_t len);

/* how much of it to keep for at most max bytes of whole code points */
size_t ngx_guildlog_utf8_cut(const u_char *p, size_t len, size_t max);

/* writes a code point in 1 to 4 bytes, returns their end */
u_char *ngx_guildlog_utf8_put(u_char *dst, uint32_t c);


#endif /* _NGX_GUILDLOG_UTF8_H_INCLUDED_ */
