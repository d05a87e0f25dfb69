
/*
 * Text for the chat platform: counted as the platform counts, in UTF-16
 * units, and harmless, whoever wrote it.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_TEXT_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_TEXT_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* of a unit, at most: the code points that take four bytes are two units */
#define NGX_GUILDLOG_MESSAGE_TEXT_UNIT_BYTES  3

#define NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN  1  /* the platform renders it */
#define NGX_GUILDLOG_MESSAGE_TEXT_LINES     2  /* breaks and blanks stay, else
                                                  each of them is one space */
#define NGX_GUILDLOG_MESSAGE_TEXT_QUOTE     4  /* other lines begin with "> " */
#define NGX_GUILDLOG_MESSAGE_TEXT_SAID      8  /* somebody said it: code,
                                                  mentions, custom emoji and
                                                  times are rendered */
#define NGX_GUILDLOG_MESSAGE_TEXT_SPOILER   16 /* stands in a spoiler */


/* may be copied, and put back to what it was */

typedef struct {
    u_char                        *start;
    u_char                        *pos;
    ngx_uint_t                     left;     /* units, until it is full */
} ngx_guildlog_message_text_t;


/* NGX_ERROR: no memory; the text lives as long as the pool */
ngx_int_t ngx_guildlog_message_text_init(ngx_guildlog_message_text_t *text,
    ngx_pool_t *pool, ngx_uint_t units);

/*
 * A text of at most that many units that grows behind another, in its memory
 * and, once it is closed, at its cost.  *s is what was written.
 */
void ngx_guildlog_message_text_open(ngx_guildlog_message_text_t *text,
    const ngx_guildlog_message_text_t *behind, ngx_uint_t units);
void ngx_guildlog_message_text_close(const ngx_guildlog_message_text_t *text,
    ngx_guildlog_message_text_t *behind, ngx_str_t *s);

/* words and marks of our own, short, the whole or nothing; 1: the whole */
ngx_uint_t ngx_guildlog_message_text_add(ngx_guildlog_message_text_t *text,
    const char *fmt, ...);

/* the same of any length, as it is */
ngx_uint_t ngx_guildlog_message_text_put(ngx_guildlog_message_text_t *text,
    const ngx_str_t *s);

/*
 * Somebody else's text, cut with a "…" to at most max units.  Nothing
 * of it is markup or becomes a link, but for what SAID says.  What cannot be
 * seen is left out, and nothing such is added.  Returns the number of units,
 * 0: there was nothing to see.
 */
ngx_uint_t ngx_guildlog_message_text_user(ngx_guildlog_message_text_t *text,
    const ngx_str_t *s, ngx_uint_t max, ngx_uint_t flags);

ngx_uint_t ngx_guildlog_message_text_units(const u_char *p, size_t len);


#define NGX_GUILDLOG_MESSAGE_CHAR_LAST  0x10ffff


#endif /* _NGX_GUILDLOG_MESSAGE_TEXT_H_INCLUDED_ */
