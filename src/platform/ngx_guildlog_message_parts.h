
/*
 * What an entry says, part by part, in its guild's language.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_PARTS_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_message.h"
#include "log/ngx_guildlog_language.h"
#include "api/ngx_guildlog_value.h"


/*
 * Text for the chat platform: counted as the platform counts, in UTF-16
 * units, and harmless, whoever wrote it.
 */

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


/*
 * An entry, read.
 */

/* 9999-12-31T23:59:59.999Z */
#define NGX_GUILDLOG_MESSAGE_LAST_MS  253402300799999LL


/* who or what an entry names; empty texts where it tells none */

typedef struct {
    ngx_str_t                            id;
    ngx_str_t                            name;
    ngx_str_t                            avatar;   /* the hash of a picture */
    const char                          *mention;  /* what stands before the
                                                      id; NULL: nobody knows
                                                      what it is, or it is no
                                                      more */
    ngx_uint_t                           places;   /* of a sentence, as bits */
    unsigned                             known:1;  /* by an id */
    unsigned                             user:1;
    unsigned                             zero:1;   /* that id: of an executor,
                                                      the dashboard */
} ngx_guildlog_message_who_t;


/* lives as long as the pool it was read with */

typedef struct {
    json_t                              *json;
    const ngx_guildlog_message_conf_t   *conf;
    ngx_uint_t                           type;
    ngx_uint_t                           marks;   /* of the type */
    ngx_str_t                            id;
    json_int_t                           ms;
    unsigned                             plain:1;
    unsigned                             compact:1;
    unsigned                             spoilers:1;  /* what it says is a
                                                         message's content */
    unsigned                             gone:1;
    unsigned                             same:1;   /* executor and target */
    unsigned                             alert:1;  /* of the guild */
    ngx_guildlog_message_who_t           executor;
    ngx_guildlog_message_who_t           target;
    ngx_guildlog_message_who_t           channel;
    ngx_str_t                            role;    /* that the message of an
                                                     alert mentions; empty:
                                                     none */
    ngx_uint_t                           told;    /* bits of places, by its
                                                     sentence */
} ngx_guildlog_message_item_t;


/* NGX_DECLINED: it is none; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_message_item_read(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, const ngx_guildlog_message_entry_t *entry);

const char *ngx_guildlog_message_item_title(
    const ngx_guildlog_message_item_t *item);
const char *ngx_guildlog_message_item_label(
    const ngx_guildlog_message_item_t *item, ngx_guildlog_label_e label);
ngx_int_t ngx_guildlog_message_item_color(
    const ngx_guildlog_message_item_t *item);

/* by one of the three names; others are not asked for */
const ngx_guildlog_message_who_t *ngx_guildlog_message_item_who(
    const ngx_guildlog_message_item_t *item, const char *key);

/* the person it is about: the target, else who did it; NULL: nobody */
const ngx_guildlog_message_who_t *ngx_guildlog_message_item_person(
    const ngx_guildlog_message_item_t *item);


/* something under a label, and what is around all of them */

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
