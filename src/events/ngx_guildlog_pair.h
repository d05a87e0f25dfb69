
/*
 * What happened and who did it are two packets, in either order: which of those
 * of a guild belong together.
 */

#ifndef _NGX_GUILDLOG_PAIR_H_INCLUDED_
#define _NGX_GUILDLOG_PAIR_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


/* numbered as the column kind of the table pair */

typedef enum {
    NGX_GUILDLOG_PAIR_FOLLOWER = 0,      /* waits behind its person only */
    NGX_GUILDLOG_PAIR_HANGUP,
    NGX_GUILDLOG_PAIR_SWITCH,
    NGX_GUILDLOG_PAIR_DELETION,
    NGX_GUILDLOG_PAIR_PURGE,
    NGX_GUILDLOG_PAIR_LEAVING,
    NGX_GUILDLOG_PAIR_GAP,               /* the session of a bot was broken */
    NGX_GUILDLOG_PAIR_NONE
} ngx_guildlog_pair_kind_e;


typedef struct {
    uint64_t                       channel;  /* 0: it does not tell */
    uint64_t                       target;
    ngx_uint_t                     count;
    int64_t                        at;       /* ms */
    int64_t                        due;
    ngx_uint_t                     bot;
    ngx_str_t                      event;
    json_t                        *entry;    /* NULL: it only spoils */
    uint8_t                        kind;
    unsigned                       audit:1;
    unsigned                       ended:1;  /* before this turn */
    unsigned                       joined:1; /* it is part of the other one */
    unsigned                       paired:1; /* the other one is part of it */
    unsigned                       ends:1;   /* in this turn */
    unsigned                       goes:1;   /* its row is of no use any more */
} ngx_guildlog_pair_t;


/* of an entry of that type, by the audit log or by the gateway */
ngx_guildlog_pair_kind_e ngx_guildlog_pair_kind(ngx_uint_t type,
    ngx_uint_t audit);

/* how long it waits for the other one, in ms; 0: it does not */
ngx_int_t ngx_guildlog_pair_wait(ngx_guildlog_pair_kind_e kind,
    ngx_uint_t audit);

/*
 * Decides, of all rows of a guild, what ends now: each by itself or, where
 * both are certain, two as one.  The entry of both is then that of the audit
 * log's row.  Leaves the pointers in another order.  NGX_ERROR: memory.
 */
ngx_int_t ngx_guildlog_pair_end(ngx_guildlog_pair_t **pairs, ngx_uint_t n,
    int64_t now);


#endif /* _NGX_GUILDLOG_PAIR_H_INCLUDED_ */
