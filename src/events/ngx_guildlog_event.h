
/*
 * A packet of the platform's gateway: which guild it is of, and what it is.
 */

#ifndef _NGX_GUILDLOG_EVENT_H_INCLUDED_
#define _NGX_GUILDLOG_EVENT_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "events/ngx_guildlog_event_table.h"


/* what a packet teaches: who and what is there, what was said */

typedef enum {
    NGX_GUILDLOG_EVENT_NONE = 0,         /* of the connection */
    NGX_GUILDLOG_EVENT_OTHER,
    NGX_GUILDLOG_EVENT_AUDIT,
    NGX_GUILDLOG_EVENT_GUILD,            /* all of a guild */
    NGX_GUILDLOG_EVENT_GUILD_UPDATE,
    NGX_GUILDLOG_EVENT_GUILD_DELETE,
    NGX_GUILDLOG_EVENT_MEMBER_ADD,
    NGX_GUILDLOG_EVENT_MEMBER,
    NGX_GUILDLOG_EVENT_MEMBER_REMOVE,
    NGX_GUILDLOG_EVENT_BAN,
    NGX_GUILDLOG_EVENT_CHANNEL,
    NGX_GUILDLOG_EVENT_CHANNEL_DELETE,
    NGX_GUILDLOG_EVENT_ROLE,
    NGX_GUILDLOG_EVENT_ROLE_DELETE,
    NGX_GUILDLOG_EVENT_MESSAGE,
    NGX_GUILDLOG_EVENT_MESSAGE_UPDATE,
    NGX_GUILDLOG_EVENT_MESSAGE_DELETE,
    NGX_GUILDLOG_EVENT_MESSAGES_DELETE,
    NGX_GUILDLOG_EVENT_VOICE,
    NGX_GUILDLOG_EVENT_THING,
    NGX_GUILDLOG_EVENT_THING_DELETE,
    NGX_GUILDLOG_EVENT_LISTS
} ngx_guildlog_event_what_e;


/* what became of a packet, beside its entries */

typedef enum {
    NGX_GUILDLOG_EVENT_TOOK = 0,         /* entries were made */
    NGX_GUILDLOG_EVENT_NOTHING,          /* the table says that it makes none */
    NGX_GUILDLOG_EVENT_OLD,              /* it was told before */
    NGX_GUILDLOG_EVENT_UNKNOWN           /* the table does not know it */
} ngx_guildlog_event_fate_e;


#define NGX_GUILDLOG_EVENT_LONGS   12
#define NGX_GUILDLOG_EVENT_ROLES   250    /* of a member */
#define NGX_GUILDLOG_EVENT_MOMENT  10000  /* ms: what has no time of its own is
                                             told twice within it */

/* a long array of it, which is read an element at a time */

typedef struct {
    ngx_str_t                      name;
    ngx_str_t                      text;     /* between the brackets */
} ngx_guildlog_event_long_t;


typedef struct {
    ngx_str_t                      text;
    ngx_uint_t                     index;    /* in the batch */
    ngx_uint_t                     bot;
    uint64_t                       guild;    /* 0: it is of none */
    int64_t                        at;       /* ms, when it was heard */
    int64_t                        ahead;    /* ms, by what clock: its bot's */
    int64_t                        made;     /* ms, by an id of the platform;
                                                0: none tells it */
    ngx_str_t                      name;
    ngx_str_t                      action;   /* of the audit log, a number */
    ngx_str_t                      error;    /* empty: it is good */
    ngx_guildlog_event_fate_e      fate;
    ngx_guildlog_event_what_e      what;
    const ngx_guildlog_event_kind_t  *kind;  /* NULL: nobody knows it */
    json_t                        *d;
    ngx_pool_cleanup_t            *cln;      /* of what d is in */
    ngx_guildlog_event_long_t      longs[NGX_GUILDLOG_EVENT_LONGS];
    ngx_uint_t                     nlongs;
    ngx_uint_t                     part;     /* the array that is being seen */
    ngx_uint_t                     nth;      /* element of it */
    u_char                        *pos;      /* in a long one */
    unsigned                       audit:1;
    unsigned                       placed:1; /* does not say when: its place
                                                in the batch does */
    unsigned                       retry:1;  /* its error passes */
    unsigned                       apart:1;  /* its guild is to be taken by
                                                itself */
    unsigned                       done:1;   /* seen, but for its arrays */
} ngx_guildlog_event_t;


/*
 * Reads the packet of event->text, heard at event->at unless it says so itself,
 * by a clock that is so many ms ahead.  What lies deeper than
 * NGX_GUILDLOG_JSON_DEPTH is null.  NGX_DECLINED: *error says why it is none;
 * NGX_ERROR: memory.
 */

ngx_int_t ngx_guildlog_event_read(ngx_guildlog_event_t *event,
    ngx_pool_t *pool, int64_t ahead, ngx_str_t *error);

/* its JSON, which would go with the pool, goes now: nobody needs it further */
void ngx_guildlog_event_drop(ngx_guildlog_event_t *event);

/*
 * The next element of an array in it, long or not: *item is NULL behind the
 * last one.  *i begins as 0.  An element that is no JSON is left out.
 */

ngx_int_t ngx_guildlog_event_next_of(ngx_guildlog_event_t *event,
    const char *name, ngx_uint_t *i, json_t **item);

/* an id as the platform writes it; 0: it is none */
uint64_t ngx_guildlog_event_id(const json_t *json);

/* the one that a path of names leads to */
uint64_t ngx_guildlog_event_id_of(json_t *json, const char *path);

/* those of a list that are ids, so many at most; NULL: memory */
json_t *ngx_guildlog_event_ids(json_t *list, size_t most);

/* the time that is in an id, ms */
int64_t ngx_guildlog_event_id_ms(uint64_t id);

/* a time as the platform writes it, in ms; 0: it is none */
int64_t ngx_guildlog_event_time(const json_t *json);

/* what a path of names leads to; NULL: nothing */
json_t *ngx_guildlog_event_reach(json_t *json, const char *path);


#endif /* _NGX_GUILDLOG_EVENT_H_INCLUDED_ */
