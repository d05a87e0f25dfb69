
/*
 * Log entries as messages of the chat platform.  Pure.
 *
 * A message is for a webhook's "execute" with with_components=true in the
 * query: without it the platform silently drops the buttons.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* "format_type" */
#define NGX_GUILDLOG_FORMAT_EMBED           0
#define NGX_GUILDLOG_FORMAT_COMPACT_EMBED   1
#define NGX_GUILDLOG_FORMAT_PLAIN           2
#define NGX_GUILDLOG_FORMAT_COMPACT_PLAIN   3

/* bits */
#define NGX_GUILDLOG_BUTTON_USER_ID         1
#define NGX_GUILDLOG_BUTTON_SUPPORT_SERVER  2
#define NGX_GUILDLOG_BUTTON_CUSTOMISE       4


/* the same for all guilds */

typedef struct {
    ngx_str_t                      support;  /* pages; empty: there is none */
    ngx_str_t                      viewer;
    ngx_uint_t                     by_category;  /* colors */
} ngx_guildlog_message_style_t;


typedef struct {
    const ngx_guildlog_message_style_t  *style;
    ngx_uint_t                     format;
    ngx_int_t                      color;    /* -1: that of its type */
    ngx_uint_t                     buttons;
    ngx_uint_t                     locale;
    ngx_str_t                      guild;
    unsigned                       spoilers:1;
    unsigned                       pro:1;    /* of the pro bot */
} ngx_guildlog_message_conf_t;


typedef struct {
    /* as log_arrival.doc: without the delivery and the closing brace */
    ngx_str_t                      doc;
    ngx_guildlog_message_conf_t    conf;
} ngx_guildlog_message_entry_t;


/* what is sent, its media type, and the message in it: all, or beside files */

typedef struct {
    ngx_str_t                      text;
    ngx_str_t                      type;
    ngx_str_t                      json;
} ngx_guildlog_message_body_t;


/* of the database: format, color (-1: none), buttons, locale, spoilers */

#define NGX_GUILDLOG_MESSAGE_LOOKS  5

void ngx_guildlog_message_looks(ngx_guildlog_message_conf_t *conf,
    const ngx_str_t *looks);


/*
 * One message of as many of the n entries, from the first on, as fit: at most
 * 10 entries or 2,000 units of text, embeds and text never together; several
 * entries have no buttons.  An alert that mentions a role is a message by
 * itself, with the mention as text.  The same entries give the same bytes, and
 * which ones are packed does not depend on those behind them.
 *
 * NGX_OK: *packed entries, at least one.  NGX_DECLINED: the first is no entry
 * and never will be.  NGX_ERROR: out of memory.
 */

ngx_int_t ngx_guildlog_message_build(ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entries, ngx_uint_t n,
    ngx_guildlog_message_body_t *body, ngx_uint_t *packed);

/*
 * Is an entry with that id in a message that has this content, and this footer
 * in its last embed?  Of several embeds only the last one says so.  What is
 * quoted in an entry says nothing.
 */

ngx_uint_t ngx_guildlog_message_names(const ngx_str_t *content,
    const ngx_str_t *footer, const ngx_str_t *id);


#endif /* _NGX_GUILDLOG_MESSAGE_H_INCLUDED_ */
