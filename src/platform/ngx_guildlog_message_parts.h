
/*
 * What an entry says, part by part, in its guild's language.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_


#include "platform/ngx_guildlog_message_item.h"
#include "platform/ngx_guildlog_message_text.h"


#define NGX_GUILDLOG_MESSAGE_PARTS    16

/* UTF-16 units: of an embed's footer, and of what ends an entry as text */
#define NGX_GUILDLOG_MESSAGE_FOOTER   64
#define NGX_GUILDLOG_MESSAGE_TAIL     700

/* of an embed, by the platform; of all files of a message, in bytes */
#define NGX_GUILDLOG_MESSAGE_URL      512
#define NGX_GUILDLOG_MESSAGE_FILES    (256 * 1024)

/* what "and N more" takes at most, in UTF-16 units */
#define NGX_GUILDLOG_MESSAGE_MORE   48


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
    ngx_guildlog_place_e           place;    /* of a sentence; TEXT: none */
} ngx_guildlog_message_part_t;


extern const ngx_guildlog_message_part_t
    ngx_guildlog_message_parts[NGX_GUILDLOG_MESSAGE_PARTS];


/* is a part to be shown under a label, behind the sentence? */
ngx_uint_t ngx_guildlog_message_parts_shows(
    const ngx_guildlog_message_item_t *item,
    const ngx_guildlog_message_part_t *part);

/* everything: title, parts and body */
void ngx_guildlog_message_body_whole(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);

/* "and N more", unless N is 0 */
void ngx_guildlog_message_parts_more(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, ngx_uint_t n);


/* ngx_guildlog_message_parts.c: what happened; item->told is what it says */

void ngx_guildlog_message_sentence(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);
/* "changes", a line each */
void ngx_guildlog_message_sentence_changes(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text);


/* ngx_guildlog_message_item.c: times, and where a message leads to */

/*
 * The address of a view of the log viewer, for the entry of that id, or for the
 * whole guild; empty if the operator named no viewer.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_message_link_page(
    const ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const char *view, const ngx_str_t *id, ngx_str_t *url);
/* "Open in the log", if there is a viewer */
ngx_int_t ngx_guildlog_message_link_open(
    const ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    ngx_guildlog_message_text_t *text);
/* "Go to message", behind what is there, if the message still is */
void ngx_guildlog_message_link_jump(const ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *between);
/* the picture to show beside it, or nothing */
ngx_str_t ngx_guildlog_message_link_picture(
    const ngx_guildlog_message_item_t *item);

void ngx_guildlog_message_link_until(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
void ngx_guildlog_message_link_written(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
void ngx_guildlog_message_link_id(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
void ngx_guildlog_message_link_registered(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);
void ngx_guildlog_message_link_image(ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text, const char *key);


/* those of an entry that stands alone in its message; NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_message_buttons(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, ngx_guildlog_json_t *w);


/*
 * Writes the entry, unless it takes more than *left units: NGX_DECLINED.
 * work is the memory for its texts.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_message_embed(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_text_t *work,
    ngx_uint_t *left, ngx_guildlog_json_t *w);


/* ngx_guildlog_message.c: the messages of a bulk deletion as a file */

typedef struct {
    ngx_str_t                      id;       /* of the entry */
    ngx_str_t                      text;
    unsigned                       spoiler:1;
} ngx_guildlog_message_file_t;


#endif /* _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_ */
