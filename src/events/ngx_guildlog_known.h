
/*
 * What is known of the guilds of a batch of packets: what the database had, and
 * what the packets have taught since.
 */

#ifndef _NGX_GUILDLOG_KNOWN_H_INCLUDED_
#define _NGX_GUILDLOG_KNOWN_H_INCLUDED_


#include "events/ngx_guildlog_event.h"


/* the kinds, as the SQL functions of events number them */

typedef enum {
    NGX_GUILDLOG_KNOWN_SERVER = 0,
    NGX_GUILDLOG_KNOWN_MEMBER,           /* these three: the directory */
    NGX_GUILDLOG_KNOWN_CHANNEL,
    NGX_GUILDLOG_KNOWN_ROLE,
    NGX_GUILDLOG_KNOWN_PERSON,           /* what a member was */
    NGX_GUILDLOG_KNOWN_VOICE,
    NGX_GUILDLOG_KNOWN_GUILD,
    NGX_GUILDLOG_KNOWN_THING,
    NGX_GUILDLOG_KNOWN_WAITS,            /* what waits of a person */
    NGX_GUILDLOG_KNOWN_MESSAGE,
    NGX_GUILDLOG_KNOWN_ROLES,            /* of a member, with their names */
    NGX_GUILDLOG_KNOWN_PLACE             /* the channel of a voice state or a
                                            thing */
} ngx_guildlog_known_kind_e;

#define NGX_GUILDLOG_KNOWN_NARGS  3


typedef struct ngx_guildlog_known_s  ngx_guildlog_known_t;


typedef struct {
    uint64_t                       guild;
    uint64_t                       id;
    ngx_guildlog_known_kind_e      kind;
    ngx_str_t                      text;     /* as it was read */
    json_t                        *doc;      /* NULL: not known, or read yet */
    unsigned                       found:1;  /* in the database */
    unsigned                       gone:1;   /* a message: deleted */
    unsigned                       taught:1; /* differs from what was read */
} ngx_guildlog_known_item_t;


/* NULL: memory */
ngx_guildlog_known_t *ngx_guildlog_known_create(ngx_pool_t *pool);

/* notes what the database is to be asked; an id of 0 is none */
ngx_int_t ngx_guildlog_known_need(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id);

/* what is known of one more item, unless the database was asked for it */
ngx_int_t ngx_guildlog_known_also(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, json_t *doc);

/* the question: NGX_GUILDLOG_KNOWN_NARGS arguments */
ngx_int_t ngx_guildlog_known_args(ngx_guildlog_known_t *known, ngx_str_t *args);

/*
 * Takes its answer in place of all that was known; the texts have to stay.
 * NGX_ERROR: memory, or it is none.
 */
ngx_int_t ngx_guildlog_known_load(ngx_guildlog_known_t *known,
    const ngx_str_t *places, const ngx_str_t *docs);

/* borrowed; NULL: not known */
json_t *ngx_guildlog_known_get(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id);

/* of a channel's document */
ngx_uint_t ngx_guildlog_known_is_thread(json_t *channel);

/* has the message been deleted? */
ngx_uint_t ngx_guildlog_known_is_gone(ngx_guildlog_known_t *known,
    uint64_t guild, uint64_t id);

/*
 * Was what is known of the person, or of its voice, learnt later?  Of who has
 * gone, others may still hear for a moment; only who comes, has come, unless
 * it is the coming before that going.
 *
 * A clock is told wrongly by the time that a batch is on its way, which is
 * another one each time.  What one clock has heard is in its own order: what is
 * not older is put behind what is known.
 */
ngx_uint_t ngx_guildlog_known_is_old(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_guildlog_known_kind_e kind, uint64_t id);

/* from now on it is this; the document is taken over.  NULL: memory */
ngx_int_t ngx_guildlog_known_put(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id, json_t *doc);

/* from now on it is not there */
ngx_int_t ngx_guildlog_known_drop(ngx_guildlog_known_t *known, uint64_t guild,
    ngx_guildlog_known_kind_e kind, uint64_t id);

/*
 * Something of the guild depends on what was read: nobody else may have changed
 * it since.  Where all is new messages, nothing does.
 */
void ngx_guildlog_known_depends(ngx_guildlog_known_t *known, uint64_t guild);

/* nobody of the guild was in voice at that time, but who comes next */
ngx_int_t ngx_guildlog_known_clear(ngx_guildlog_known_t *known, uint64_t guild,
    int64_t at);

/* the items there are, in the order in which they came */
ngx_guildlog_known_item_t *ngx_guildlog_known_items(
    ngx_guildlog_known_t *known, ngx_uint_t *n);


/*
 * What of the packet's guild has to be known for its entries and for what it
 * teaches.
 */
ngx_int_t ngx_guildlog_known_needs(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);

/* counts the members of its guild, before the making of its entries */
ngx_int_t ngx_guildlog_known_count(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);

/*
 * Takes in a packet, behind the making of its entries: about so many elements
 * of its arrays.  NGX_AGAIN: there is more of it; NGX_ERROR: memory.
 */
ngx_int_t ngx_guildlog_known_see(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event, ngx_uint_t most);


/*
 * The document of a message as the platform tells it, over what was known of
 * it, which may be NULL.  NULL: memory.
 */
json_t *ngx_guildlog_known_message(json_t *message, json_t *was);

/* all that it said, a line each; a new reference, NULL: nothing, or memory */
json_t *ngx_guildlog_known_said(json_t *doc);

/* cuts a text to so many code points */
json_t *ngx_guildlog_known_text(const ngx_str_t *text, ngx_uint_t most);


#endif /* _NGX_GUILDLOG_KNOWN_H_INCLUDED_ */
