
/*
 * A model of sql/functions/delivery, and of what recording does to lanes.  A
 * function here has the name of the one that it models, and says what that
 * one says, given the same arguments as text.  compare.c holds one against
 * the other.  It has no clock and no chance: who calls sets store.now.
 */

#ifndef _STORE_H_INCLUDED_
#define _STORE_H_INCLUDED_


#include "api/ngx_guildlog_stmt.h"


#define STORE_SHARDS   64
#define STORE_OWNERS   64         /* those that died within a lease, too */
#define STORE_OPEN     8          /* transactions that go on */
#define STORE_NONE     INT64_MIN  /* null */
#define STORE_TEXT     96
#define STORE_EPOCH    1420070400000LL
#define STORE_SECOND   1000000LL  /* us */
#define STORE_MINUTE   (60 * STORE_SECOND)
#define STORE_HOUR     (60 * STORE_MINUTE)


typedef struct store_lane_s     store_lane_t;
typedef struct store_channel_s  store_channel_t;


typedef enum {
    STORE_REGISTERING = 0,
    STORE_ACTIVE,
    STORE_CLOSING,
    STORE_BROKEN,
    STORE_CLOSED
} store_state_e;


/* times are in us; a row of log_arrival, and its row of replay */

typedef struct {
    int64_t           id;
    char             *doc;
    store_channel_t  *channel;    /* where its type goes */
    int64_t           recorded_at;
    int64_t           held_to;
    store_lane_t     *lane;       /* NULL: none yet */
    int64_t           seq;
    store_lane_t     *again;      /* the lane of its replay; NULL: none */
    int64_t           again_seq;
    int64_t           again_at;

    /* what the platform did, which the database does not see */
    int               poison;
    int64_t           applied;    /* the first message with it; 0: none */
    int               napplied;
    int               failed;     /* some outcome says that it was not */
    int               taken_up;   /* it was sent again */
} store_entry_t;


typedef struct {
    int64_t           from, to, message, done_at;
    int64_t           attempts;
    int               status;
    char              reason[STORE_TEXT];
} store_batch_t;


typedef struct {
    store_lane_t     *lane;
    int64_t           from, to, done_at, webhook, attempt_at, before, looks,
                      look_at;
    int64_t           looked_at;      /* which the database does not note */
} store_doubt_t;


/* rows of lane, lane_head, lane_tail and lane_ready */

struct store_lane_s {
    int64_t           guild, id;
    store_channel_t  *channel;
    int               shard;

    store_state_e     state;
    char              reason[STORE_TEXT];     /* "": null */
    char              told[STORE_TEXT];
    char              secret[STORE_TEXT];
    int64_t           webhook;
    int64_t           state_since, lost_at, forbidden_at, paused_at,
                      resumed_at, asked_at, verified_at, refused_at, look_at;

    int64_t           head, upto, refused_to, step, attempts;
    int64_t           attempt_at, not_before, last, mixed_at;
    int64_t           tail;

    int               ready;
    int64_t           since, parked_to;
    char              parked_for[STORE_TEXT * 3];

    int               deleted;
    int64_t           locked_to;  /* by who records: lane_tail */

    store_entry_t   **places;     /* by seq - 1 */
    int64_t           aplaces;
    store_batch_t    *batches;
    int               nbatches, abatches;
};


/* a channel of a server, for one bot; its settings */

struct store_channel_s {
    int64_t           guild, id;
    int               bot, format, buttons;
    int               used;
    int               astray;     /* the directory has it elsewhere */
    store_lane_t     *lane;       /* that is not closed; NULL: none */
};


typedef struct {
    char              owner[64];  /* "": none */
    int64_t           fence, until;
} store_lease_t;

typedef struct {
    char              owner[64];
    int64_t           until, asked;
} store_owner_t;

typedef struct {
    int64_t           guild, since, n;
} store_refusal_t;


/* rows of text, row by row; a null is -1 */

typedef struct {
    char              sqlstate[6];    /* "": it did not refuse */
    int               columns, n, room;
    int              *at;
    char             *text;
    size_t            used, size;
} store_answer_t;


typedef struct {
    int64_t           now;            /* us */
    int64_t           expires;        /* us: 24 h */
    int64_t           gives_up;       /* us: an hour */
    int64_t           xid;            /* the next transaction */
    int64_t           open[STORE_OPEN];       /* those that go on; 0: free */

    store_channel_t  *channels;
    int               nchannels;
    store_lane_t    **lanes;          /* by server and lane */
    int               nlanes, alanes;
    store_entry_t   **entries;
    int               nentries, aentries;
    store_doubt_t    *doubts;
    int               ndoubts, adoubts;
    store_lease_t     leases[STORE_SHARDS];
    store_owner_t     owners[STORE_OWNERS];
    store_refusal_t  *refusals;
    int               nrefusals;

    /* who looks on; NULL: nobody.  skips: is that row locked by somebody?
       bad: does the database refuse what is about it?
       opened: a lane was made, which gets its id and shard there */
    void            (*decided)(store_lane_t *lane, store_batch_t *batch);
    void            (*proved)(store_lane_t *lane, store_doubt_t *doubt,
                              int64_t message);
    int             (*skips)(store_lane_t *lane);
    int             (*bad)(store_lane_t *lane);
    void            (*opened)(store_lane_t *lane);
} store_t;

extern store_t  store;


/* with so many channels, which the caller fills in; lanes of used ones are
   made by store_sync() */
void store_make(int nchannels);
void store_free(void);

/* a statement of the lane machine; the answer is freed by the caller */
void store_run(const char *name, const ngx_str_t *args,
    store_answer_t *answer);
void store_answer_free(store_answer_t *answer);
const char *store_value(const store_answer_t *answer, int row, int column);

/* 1: it waits for the row of lane_tail that somebody has */
int store_waits(const char *name, const ngx_str_t *args);

/* the lanes of a page of delivery_find(), by its arguments; *i goes through
   them from 0 on; NULL: no more */
store_lane_t *store_ready(const ngx_str_t *args, int *i);

/* what others do */
store_entry_t *store_record(store_channel_t *channel, int64_t id, char *doc,
    int64_t held_to);
void store_sync(store_channel_t *channel, int used);
void store_pause(store_lane_t *lane);
void store_resume(store_lane_t *lane);

/* of these entries, those that are decided and were not delivered for one of
   these reasons are sent again, in any order; how many */
int store_replay(store_entry_t **entries, int n, const char *reasons);

/* questions */
store_lane_t *store_lane(int64_t guild, int64_t lane);
/* does another lane use its webhook? */
int store_shared(const store_lane_t *l);
store_entry_t *store_place(const store_lane_t *lane, int64_t seq);
/* the same, unless it was sent again and went to another place */
store_entry_t *store_stands(const store_lane_t *lane, int64_t seq);
/* since when the entry stands in that place */
int64_t store_since(const store_entry_t *e, const store_lane_t *lane,
    int64_t seq);
int store_mine(const char *me, int shard, int64_t fence);
int64_t store_rest_ms(int64_t guild);
int64_t store_ms(int64_t us);


#endif /* _STORE_H_INCLUDED_ */
