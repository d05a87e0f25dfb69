
/*
 * What an entry says, part by part, in its server's language.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_message.h"
#include "platform/ngx_guildlog_message_text.h"
#include "log/ngx_guildlog_language.h"
#include "api/ngx_guildlog_value.h"


#define NGX_GUILDLOG_MESSAGE_PARTS  11

/* what "and N more" takes at most, in UTF-16 units */
#define NGX_GUILDLOG_MESSAGE_MORE   48


/* an entry, read; lives as long as the pool it was read with */

typedef struct {
    json_t                              *json;
    const ngx_guildlog_message_conf_t   *conf;
    ngx_uint_t                           type;
    ngx_str_t                            id;
    json_int_t                           ms;
    unsigned                             plain:1;
    unsigned                             compact:1;
    unsigned                             spoilers:1;  /* what it says is a
                                                         message's content */
} ngx_guildlog_message_item_t;


/* something of an entry under a label; what writes nothing is not there */

typedef struct {
    ngx_guildlog_label_e           label;
    void                         (*write)(ngx_guildlog_message_item_t *item,
                                          ngx_guildlog_message_text_t *text,
                                          const char *key);
    const char                    *key;
    ngx_uint_t                     embed;    /* units, at most */
    ngx_uint_t                     plain;    /* and in the compact formats */
    unsigned                       aside:1;  /* in one line with others */
} ngx_guildlog_message_part_t;


extern const ngx_guildlog_message_part_t
    ngx_guildlog_message_parts[NGX_GUILDLOG_MESSAGE_PARTS];


/* NGX_DECLINED: it is none; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_message_parts_read(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_entry_t *entry);

const char *ngx_guildlog_message_parts_title(
    const ngx_guildlog_message_item_t *item);
const char *ngx_guildlog_message_parts_label(
    const ngx_guildlog_message_item_t *item, ngx_guildlog_label_e label);
ngx_int_t ngx_guildlog_message_parts_color(
    const ngx_guildlog_message_item_t *item);

/* what was said: content, before and after, messages */
void ngx_guildlog_message_body(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t flags);

/* everything: title, parts and body */
void ngx_guildlog_message_body_whole(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);

/*
 * The address of a view of the log viewer, for the entry of that id, or for the
 * whole server; empty if the operator named no viewer.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_message_parts_page(
    const ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const char *view, const ngx_str_t *id, ngx_str_t *url);

/* the id and the name of "executor" or "target"; 0: it is not a user */
ngx_uint_t ngx_guildlog_message_parts_user(
    const ngx_guildlog_message_item_t *item, const char *key, ngx_str_t *id,
    ngx_str_t *name);

/* "and N more", unless N is 0 */
void ngx_guildlog_message_parts_more(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t n);

/* a string's bytes in the tree; empty where there is no such string */
void ngx_guildlog_message_parts_get(const json_t *object, const char *key,
    ngx_str_t *s);


#endif /* _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_ */
