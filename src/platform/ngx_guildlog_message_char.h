
/*
 * What is to be seen of a character.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_CHAR_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_CHAR_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_MESSAGE_CHAR_LAST  0x10ffff


typedef enum {
    NGX_GUILDLOG_MESSAGE_VISIBLE = 0,
    NGX_GUILDLOG_MESSAGE_BLANK,
    NGX_GUILDLOG_MESSAGE_BREAK,
    NGX_GUILDLOG_MESSAGE_HIDDEN,
    NGX_GUILDLOG_MESSAGE_JOINER    /* counts behind what is visible */
} ngx_guildlog_message_char_e;


ngx_guildlog_message_char_e ngx_guildlog_message_char(uint32_t c);

/* nginx's own, but for ASCII; over CHAR_LAST: it is not UTF-8 */
uint32_t ngx_guildlog_message_char_decode(u_char **p, const u_char *last);


#endif /* _NGX_GUILDLOG_MESSAGE_CHAR_H_INCLUDED_ */
