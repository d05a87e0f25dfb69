
/*
 * A lane: what one channel gets by one bot, in order.  ngx_guildlog_delivery.h
 * has the loop that owns the lanes.
 */

#ifndef _NGX_GUILDLOG_LANE_H_INCLUDED_
#define _NGX_GUILDLOG_LANE_H_INCLUDED_


#include "jobs/ngx_guildlog_delivery.h"
#include "platform/ngx_guildlog_message.h"
#include "platform/ngx_guildlog_platform.h"


#define NGX_GUILDLOG_LANE_ENTRIES  20    /* at hand, at most */
#define NGX_GUILDLOG_LANE_BYTES    32768 /* of their documents; one entry
                                            may be larger */
#define NGX_GUILDLOG_LANE_MARGIN   50    /* ms, around a wait's end: nginx's
                                            clock is the system's coarse one,
                                            up to 10 ms behind */
#define NGX_GUILDLOG_LANE_BEGIN    2000  /* ms, from the moment at which an
                                            intent is on its way: later no
                                            byte of the request is sent */

#define NGX_GUILDLOG_LANE_ANSWER   10000 /* ms, without an answer: what was
                                            asked for is made by then, or is
                                            not */
#define NGX_GUILDLOG_LANE_MINUTE   60000 /* ms */
#define NGX_GUILDLOG_LANE_PARK     600000  /* ms, as guildlog.delivery_park */

/* "status" of a delivery */
#define NGX_GUILDLOG_LANE_NOT_DELIVERED  0
#define NGX_GUILDLOG_LANE_UNKNOWN        1
#define NGX_GUILDLOG_LANE_DELIVERED      2


typedef struct ngx_guildlog_lane_s   ngx_guildlog_lane_t;
typedef struct ngx_guildlog_guild_s  ngx_guildlog_guild_t;

typedef void (*ngx_guildlog_lane_pt)(ngx_guildlog_lane_t *lane);


/* in firing order; the table of states in ngx_guildlog_lane.c has the same */

typedef enum {
    NGX_GUILDLOG_STATE_START = 0,    /* begins */
    NGX_GUILDLOG_STATE_VERIFY,       /* asks whose its channel is */
    NGX_GUILDLOG_STATE_VERIFIED,     /* the database knows it now */
    NGX_GUILDLOG_STATE_REGISTER,     /* needs a webhook */
    NGX_GUILDLOG_STATE_LIST,         /* lists those of the channel */
    NGX_GUILDLOG_STATE_NOTE,         /* notes that it will ask for one */
    NGX_GUILDLOG_STATE_CREATE,       /* asks for it */
    NGX_GUILDLOG_STATE_LINE_UP,      /* wants to send */
    NGX_GUILDLOG_STATE_LOOK,         /* asks for its next entries */
    NGX_GUILDLOG_STATE_LOOKED,       /* has them, packs and begins */
    NGX_GUILDLOG_STATE_POST,         /* its intent is committed: sends */
    NGX_GUILDLOG_STATE_DOUBT,        /* it is not known whether it arrived */
    NGX_GUILDLOG_STATE_DOUBT_ASK,    /* it would be there by now */
    NGX_GUILDLOG_STATE_DOUBT_READ,   /* reads its channel */
    NGX_GUILDLOG_STATE_DOUBT_SOLE,   /* knows what else was sent there */
    NGX_GUILDLOG_STATE_NEXT,         /* begins with what is at hand */
    NGX_GUILDLOG_STATE_REST,         /* the outcome is committed */
    NGX_GUILDLOG_STATE_CLOSE,        /* is no longer used */
    NGX_GUILDLOG_STATE_DELETE,       /* deletes its webhook */
    NGX_GUILDLOG_STATE_FORGET,       /* goes */
    NGX_GUILDLOG_STATE_LAST
} ngx_guildlog_lane_state_e;

typedef struct {
    const char                    *name;     /* for the debug log */
    ngx_guildlog_lane_pt           handler;
    ngx_uint_t                     next;     /* 1 << state: those that may come
                                                behind it, or its step; any
                                                lane may go */
} ngx_guildlog_lane_state_t;


/* a bot's application as the platform named it; empty: it did not yet */

typedef struct {
    size_t                         len;
    u_char                         data[NGX_INT64_LEN];
} ngx_guildlog_lane_application_t;


/* what all lanes share; const while serving, but for what it points to */

typedef struct {
    const ngx_guildlog_delivery_conf_t  *conf;
    ngx_guildlog_lane_application_t *applications;   /* by bot */
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_client_t         *client;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_traffic_t        *traffic;
    ngx_log_t                     *log;
    ngx_str_t                      me;       /* the owner of its leases */
} ngx_guildlog_lane_env_t;


/* what a step found */

typedef enum {
    NGX_GUILDLOG_LANE_OK = 0,
    NGX_GUILDLOG_LANE_EMPTY,         /* nothing left: it is called again */
    NGX_GUILDLOG_LANE_CLOSING,       /* nothing left, and no longer used */
    NGX_GUILDLOG_LANE_SHARED,        /* the same, and its webhook is used */
    NGX_GUILDLOG_LANE_PAUSED,        /* committed, and it goes on elsewhere */
    NGX_GUILDLOG_LANE_LOST           /* not committed: it is another one's */
} ngx_guildlog_lane_result_e;


typedef enum {
    NGX_GUILDLOG_PERMIT_NONE = 0,
    NGX_GUILDLOG_PERMIT_WAITS,       /* for one */
    NGX_GUILDLOG_PERMIT_GRANTED,     /* it may send one request */
    NGX_GUILDLOG_PERMIT_SENT         /* it has, and waits for the answer */
} ngx_guildlog_permit_e;


typedef struct {
    int64_t                        seq;
    ngx_guildlog_message_entry_t   message;  /* doc: by ngx_alloc(); without
                                                data once it is in a message */
    unsigned                       expired:1;
} ngx_guildlog_lane_entry_t;


/* its part of a step, as guildlog.delivery_work */

typedef struct {
    int64_t                        done_to;    /* 0: nothing is decided */
    ngx_uint_t                     status;     /* delivered: as lane->last */
    const char                    *reason;     /* NULL: none */
    int64_t                        begin_to;   /* 0: nothing begins */
    int64_t                        peek;       /* -1: no entries */
    ngx_msec_t                     wait_ms;
    unsigned                       refused:1;
    unsigned                       changes:1;
    unsigned                       bare:1;     /* is there more?  No entry of
                                                  it comes */
} ngx_guildlog_lane_work_t;


struct ngx_guildlog_lane_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_guildlog_delivery_t       *delivery;
    const ngx_guildlog_lane_env_t *env;
    ngx_pool_t                    *pool;

    /* the loop's */
    ngx_queue_t                    link;     /* of all lanes */
    ngx_queue_t                    queue;    /* for a step, for a permit, or
                                                to go on */
    ngx_guildlog_guild_t          *round;
    ngx_guildlog_permit_e          permit;
    ngx_uint_t                     late;     /* times its step alone took too
                                                long, in a row */
    ngx_uint_t                     stepped;  /* the loop's, the last time */
    unsigned                       alone:1;  /* in its step, for one lane of
                                                its last one is to blame */
    unsigned                       stepping:1;   /* in a step, or queued */
    unsigned                       submitted:1;  /* its step is under way */
    unsigned                       repeated:1;   /* was submitted before */
    unsigned                       dropped:1;    /* goes after that step */
    unsigned                       goes_on:1;    /* queued to go on */

    /* as it was found */
    ngx_str_t                      guild;
    ngx_str_t                      id;
    ngx_str_t                      channel;
    ngx_str_t                      webhook;
    ngx_str_t                      token;
    ngx_str_t                      since;
    uint64_t                       key;
    int64_t                        fence;
    ngx_uint_t                     shard;
    ngx_uint_t                     bot;
    unsigned                       registering:1;
    unsigned                       closing:1;    /* makes no webhook */
    unsigned                       asked:1;      /* for a webhook, which may
                                                    still be made */
    unsigned                       verified:1;   /* its channel is the
                                                    guild's */
    unsigned                       denied:1;     /* the database said no to
                                                    what it was told last */
    unsigned                       foreign:1;    /* its channel is another
                                                    guild's: its webhook
                                                    goes, then it ends */

    /* how far it is */
    int64_t                        head;
    int64_t                        upto;
    int64_t                        step;
    ngx_uint_t                     attempts;
    uint64_t                       attempt_ms;   /* wall clock */
    ngx_msec_t                     attempt_at;   /* the same moment */
    uint64_t                       last;     /* message; 0: none */

    /* the entries at hand: those behind the head, in order; a lane that waits
       for a permit, or for a time, has none */
    ngx_guildlog_lane_entry_t     *entries;  /* by ngx_alloc(); NULL: none */
    ngx_uint_t                     n;
    size_t                         bytes;    /* of their documents */
    size_t                         room;     /* bytes, reserved for those
                                                that a step will bring */
    unsigned                       starved:1;    /* of memory: some of those
                                                    that came are missing */

    /* the message under way */
    ngx_pool_t                    *work_pool;
    ngx_str_t                      body;     /* by ngx_alloc() */
    ngx_str_t                      type;     /* behind it: its media type */
    ngx_uint_t                     packed;
    ngx_msec_t                     intent_at;    /* its step was first
                                                    submitted */
    ngx_guildlog_lane_work_t       work;
    ngx_guildlog_client_exchange_t *exchange;
    ngx_guildlog_db_query_t       *query;

    /* in doubt: how far it has read */
    ngx_msec_t                     took;     /* ms, without an answer */
    uint64_t                       cursor;
    uint64_t                       found;
    uint64_t                       hidden;   /* one without a text */
    ngx_uint_t                     blind;    /* so many of those */
    uint64_t                       ids[NGX_GUILDLOG_LANE_ENTRIES];
    ngx_uint_t                     nids;     /* of the entries in flight */
    unsigned                       taken:1;  /* another one may have sent it */
    unsigned                       lone:1;   /* unconfirmed: the lane is only
                                                this message */
    unsigned                       proved:1;     /* the message before it was
                                                    seen; any one, if there is
                                                    none before */
    unsigned                       absent:1;     /* was not there once */
    ngx_msec_t                     sure_at;      /* the message, or the webhook,
                                                    would be there then */

    /* a refused message is taken apart: so many entries a message, up to that
       place */
    ngx_uint_t                     limit;
    int64_t                        limit_to;

    ngx_msec_t                     not_before;
    ngx_msec_t                     slow_to;  /* a learnt pace */
    ngx_uint_t                     failures; /* in a row, of anything else */
    ngx_uint_t                     limited;  /* so many 429 in a row */
    unsigned                       waits:1;  /* for not_before */
    unsigned                       owes:1;   /* that to the database, which
                                                does not know it yet */
    unsigned                       slow:1;

    ngx_event_t                    timer;
    ngx_guildlog_lane_state_e      state;    /* after time, permit or step */
    ngx_guildlog_lane_state_e      then;     /* behind VERIFY */
};


/* columns of guildlog.delivery_row, delivery_lane and delivery_doubt */

typedef enum {
    NGX_GUILDLOG_ROW_PLACE = 0,
    NGX_GUILDLOG_ROW_RESULT,
    NGX_GUILDLOG_ROW_SEQ,
    NGX_GUILDLOG_ROW_EXPIRED,
    NGX_GUILDLOG_ROW_DOC,
    NGX_GUILDLOG_ROW_LOOKS       /* the first of as many columns */
} ngx_guildlog_row_e;

typedef enum {
    NGX_GUILDLOG_FOUND_GUILD = 0,
    NGX_GUILDLOG_FOUND_LANE,
    NGX_GUILDLOG_FOUND_SHARD,
    NGX_GUILDLOG_FOUND_FENCE,
    NGX_GUILDLOG_FOUND_BOT,
    NGX_GUILDLOG_FOUND_CHANNEL,
    NGX_GUILDLOG_FOUND_STATE,
    NGX_GUILDLOG_FOUND_WEBHOOK,
    NGX_GUILDLOG_FOUND_SECRET,
    NGX_GUILDLOG_FOUND_HEAD,
    NGX_GUILDLOG_FOUND_UPTO,
    NGX_GUILDLOG_FOUND_STEP,
    NGX_GUILDLOG_FOUND_ATTEMPTS,
    NGX_GUILDLOG_FOUND_ATTEMPT_MS,
    NGX_GUILDLOG_FOUND_WAIT_MS,
    NGX_GUILDLOG_FOUND_MESSAGE,
    NGX_GUILDLOG_FOUND_SINCE,
    NGX_GUILDLOG_FOUND_IDS,
    NGX_GUILDLOG_FOUND_VERIFIED
} ngx_guildlog_found_e;


/* ngx_guildlog_lane.c: what the loop does with a lane */

extern const ngx_guildlog_lane_state_t  ngx_guildlog_lane_states[];

/* it goes on with that state, which may come behind the one that it is in */
void ngx_guildlog_lane_to(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state);

/*
 * Of a row of guildlog.delivery_lane or delivery_doubt.  NGX_ERROR: out of
 * memory.  NGX_DECLINED: its secret does not open, which is logged.
 */
ngx_int_t ngx_guildlog_lane_create(ngx_guildlog_delivery_t *delivery,
    const ngx_guildlog_lane_env_t *env, ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_guildlog_lane_t **created);
void ngx_guildlog_lane_start(ngx_guildlog_lane_t *lane);

/* its step is committed; then it goes on, unless it is paused or lost */
void ngx_guildlog_lane_committed(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_stepped(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_result_e result);


/* all entries up to that place get that status, for work.reason */
void ngx_guildlog_lane_outcome_decide(ngx_guildlog_lane_t *lane, int64_t to,
    ngx_uint_t status);
/* nothing of it was applied: it is sent again, after so many ms */
void ngx_guildlog_lane_outcome_refused(ngx_guildlog_lane_t *lane,
    ngx_msec_t wait);
/* it may not send for so many ms, of which the database does not know yet */
void ngx_guildlog_lane_outcome_put_off(ngx_guildlog_lane_t *lane,
    ngx_msec_t ms);
/* ms until it may send; 0: at once */
ngx_msec_t ngx_guildlog_lane_outcome_wait(ngx_guildlog_lane_t *lane);


/* ngx_guildlog_lane_doubt.c: was its message applied?  The channel tells */

void ngx_guildlog_lane_doubt(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_doubt_ask(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_doubt_read(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_doubt_sole(ngx_guildlog_lane_t *lane);


/* ngx_guildlog_lane_webhook.c: its webhook is found, made, and deleted */

void ngx_guildlog_lane_webhook_register(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_webhook_list(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_webhook_note(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_webhook_create(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_webhook_close(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_webhook_delete(ngx_guildlog_lane_t *lane);


/* ngx_guildlog_lane_call.c: is its channel the guild's? */

/* asks; then the lane goes on with that state, which asks again if no answer
   came */
void ngx_guildlog_lane_verify(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e then);
void ngx_guildlog_lane_verify_ask(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_verify_told(ngx_guildlog_lane_t *lane);
/* is that the id of another guild?  Empty: the platform did not tell it */
ngx_uint_t ngx_guildlog_lane_verify_foreign(ngx_guildlog_lane_t *lane,
    const ngx_str_t *guild_id);


/* ngx_guildlog_lane_call.c: its calls of the platform */

/*
 * Sends it, with the lane's body if it is a message; see
 * ngx_guildlog_platform_call().  NGX_ERROR, NGX_DECLINED: nothing was sent.
 * The permit is granted, and given back if nothing was sent.
 */
ngx_int_t ngx_guildlog_lane_call(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_call_e call, const ngx_str_t *id,
    const ngx_str_t *more, ngx_guildlog_client_handler_pt handler);

/* the same; if nothing was sent that state comes 5 s later */
void ngx_guildlog_lane_call_ask(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_call_e call, const ngx_str_t *id,
    const ngx_str_t *more, ngx_guildlog_client_handler_pt handler,
    ngx_guildlog_lane_state_e again);

/* takes note of the answer; the verdict lives as long as lane->work_pool, and a
   lane that is limited may go on after its retry_after_ms */
void ngx_guildlog_lane_call_judge(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict);

/* a call of the bot was refused: ends the lane, or that state comes later */
void ngx_guildlog_lane_call_failed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_lane_state_e again);

ngx_msec_t ngx_guildlog_lane_call_backoff(ngx_uint_t attempts);


/*
 * ngx_guildlog_lane_call.c: what it tells the database, apart from its steps.
 * If it is lost meanwhile it is gone.
 */

typedef struct {
    ngx_str_t                      value[8];
    u_char                         numbers[8][NGX_INT64_LEN];
} ngx_guildlog_lane_args_t;

/* sets the first five: the owner, guild, lane, fence and step */
void ngx_guildlog_lane_tell_args(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_args_t *args);
/* sets the i-th */
void ngx_guildlog_lane_tell_number(ngx_guildlog_lane_args_t *args,
    ngx_uint_t i, int64_t n);
void ngx_guildlog_lane_tell_bool(ngx_str_t *arg, ngx_uint_t yes);
/* it goes on with that state, once it need not wait any more; lane->denied: the
   database said no */
void ngx_guildlog_lane_tell(ngx_guildlog_lane_t *lane, ngx_guildlog_stmt_e stmt,
    ngx_guildlog_lane_args_t *args, ngx_guildlog_lane_state_e next);

/* a call of its bot was limited: it goes on with that state after so many ms */
void ngx_guildlog_lane_tell_limited(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_guildlog_lane_state_e next);

/* these concern the lane as a whole: it is forgotten, and found anew */
void ngx_guildlog_lane_tell_end(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, ngx_guildlog_lane_args_t *args);
void ngx_guildlog_lane_tell_closed(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_tell_lost(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_tell_broken(ngx_guildlog_lane_t *lane,
    const char *reason);
void ngx_guildlog_lane_tell_foreign(ngx_guildlog_lane_t *lane);
/* final: the reason for which its entries end, some day; NULL: they wait */
void ngx_guildlog_lane_tell_waits(ngx_guildlog_lane_t *lane,
    const char *reason, const char *final, ngx_msec_t ms);
/* the database refused what concerns nobody else: it rests for 10 minutes */
void ngx_guildlog_lane_tell_park(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result);


/* one more entry.  Without memory the lane is starved: the entries behind it
   wait for the next step */
void ngx_guildlog_lane_row_entry(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
/* a number of a row; 0: null.  A boolean */
int64_t ngx_guildlog_lane_row_number(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);
ngx_uint_t ngx_guildlog_lane_row_true(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);
uint64_t ngx_guildlog_lane_row_id(const ngx_str_t *digits);


/* ngx_guildlog_lane.c: what it has at hand */

/* nothing of the lane stays, what is under way is dropped */
void ngx_guildlog_lane_memory_free(ngx_guildlog_lane_t *lane);
/* the same, but for the lane */
void ngx_guildlog_lane_memory_stop(ngx_guildlog_lane_t *lane);
/* nothing stays at hand of what is to be sent */
void ngx_guildlog_lane_memory_empty(ngx_guildlog_lane_t *lane);
/* a fresh pool for one piece of work; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_lane_memory_renew(ngx_guildlog_lane_t *lane);


#endif /* _NGX_GUILDLOG_LANE_H_INCLUDED_ */
