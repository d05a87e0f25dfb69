
/*
 * An entry, read.
 */

#ifndef _NGX_GUILDLOG_MESSAGE_ITEM_H_INCLUDED_
#define _NGX_GUILDLOG_MESSAGE_ITEM_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_message.h"
#include "log/ngx_guildlog_language.h"
#include "api/ngx_guildlog_value.h"


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

/* a string's bytes in the tree; empty where there is no such string */
void ngx_guildlog_message_item_get(const json_t *object, const char *key,
    ngx_str_t *s);


#endif /* _NGX_GUILDLOG_MESSAGE_ITEM_H_INCLUDED_ */
