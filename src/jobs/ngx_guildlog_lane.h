
/*
 * One lane's life, between the loop that owns it (ngx_guildlog_delivery) and
 * the platform.
 */

#ifndef _NGX_GUILDLOG_LANE_H_INCLUDED_
#define _NGX_GUILDLOG_LANE_H_INCLUDED_


#include "client/ngx_guildlog_client.h"
#include "jobs/ngx_guildlog_delivery.h"
#include "platform/ngx_guildlog_message.h"
#include "platform/ngx_guildlog_platform.h"


#define NGX_GUILDLOG_LANE_ENTRIES  20    /* at hand, at most */
#define NGX_GUILDLOG_LANE_BYTES    32768 /* of their documents; one entry
                                            may be larger */
#define NGX_GUILDLOG_LANE_MARGIN   50    /* ms, behind a limit's end */
#define NGX_GUILDLOG_LANE_BEGIN    2000  /* ms, from the moment at which an
                                            intent is on its way: later no
                                            byte of the request is sent */

/* "status" of a delivery */
#define NGX_GUILDLOG_LANE_NOT_DELIVERED  0
#define NGX_GUILDLOG_LANE_UNKNOWN        1
#define NGX_GUILDLOG_LANE_DELIVERED      2


typedef struct ngx_guildlog_guild_s  ngx_guildlog_guild_t;

typedef void (*ngx_guildlog_lane_pt)(ngx_guildlog_lane_t *lane);


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
    NGX_GUILDLOG_TURN_NONE = 0,
    NGX_GUILDLOG_TURN_WAITS,
    NGX_GUILDLOG_TURN_GRANTED,       /* it may send one request */
    NGX_GUILDLOG_TURN_SENT           /* and has, and waits for the answer */
} ngx_guildlog_turn_e;


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
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;

    /* the loop's */
    ngx_queue_t                    link;     /* of all lanes */
    ngx_queue_t                    queue;    /* for a step, for its turn, or
                                                to go on */
    ngx_guildlog_guild_t          *server;
    ngx_guildlog_turn_e            turn;
    unsigned                       stepping:1;   /* in a step, queued too */
    unsigned                       submitted:1;  /* and on its way */
    unsigned                       repeated:1;   /* once already */
    ngx_uint_t                     crowd;    /* lanes in its step at most, for
                                                one of them is to blame for a
                                                refusal; 0: any */
    unsigned                       dropped:1;    /* to go after that step */
    unsigned                       goes_on:1;    /* is about to */

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
    unsigned                       asked:1;      /* for one that may come */
    unsigned                       verified:1;   /* its channel is the
                                                    server's */
    unsigned                       denied:1;     /* what was said last was */
    unsigned                       foreign:1;    /* its webhook goes, then it
                                                    ends */

    /* how far it is */
    int64_t                        head;
    int64_t                        upto;
    int64_t                        step;
    ngx_uint_t                     attempts;
    uint64_t                       attempt_ms;   /* wall clock */
    ngx_msec_t                     attempt_at;   /* the same moment */
    uint64_t                       last;     /* message; 0: none */

    /* what is at hand: behind the head, in order; a lane that waits for its
       turn, or for a time, has nothing */
    ngx_guildlog_lane_entry_t     *entries;  /* by ngx_alloc(); NULL: none */
    ngx_uint_t                     n;
    size_t                         bytes;    /* of their documents */
    size_t                         room;     /* and kept free for more */
    unsigned                       starved:1;    /* not all that came */

    /* the message under way */
    ngx_pool_t                    *work_pool;
    ngx_str_t                      body;     /* by ngx_alloc() */
    ngx_uint_t                     packed;
    ngx_msec_t                     intent_at;    /* its step was submitted,
                                                    for the first time */
    ngx_guildlog_lane_work_t       work;
    ngx_guildlog_client_exchange_t  *exchange;
    ngx_guildlog_db_query_t       *query;

    /* in doubt: where reading is */
    uint64_t                       cursor;
    uint64_t                       found;
    uint64_t                       hidden;   /* one without a text */
    ngx_uint_t                     blind;    /* so many of those */
    uint64_t                       ids[NGX_GUILDLOG_LANE_ENTRIES];
    ngx_uint_t                     nids;     /* of the entries in flight */
    unsigned                       taken:1;  /* another one may have sent it */
    unsigned                       lone:1;   /* unconfirmed: the lane is only
                                                this message */
    unsigned                       proved:1;     /* the one before was seen;
                                                    any, if there is none */
    unsigned                       absent:1;     /* once already */
    ngx_msec_t                     sure_at;      /* it would be there, or the
                                                    webhook */

    /* a refused message is taken apart: so many, up to there */
    ngx_uint_t                     limit;
    int64_t                        limit_to;

    ngx_msec_t                     not_before;
    ngx_msec_t                     slow_to;  /* a learnt pace */
    ngx_uint_t                     failures; /* in a row, of anything else */
    unsigned                       waits:1;  /* for not_before */
    unsigned                       slow:1;

    ngx_event_t                    timer;
    ngx_guildlog_lane_pt           next;     /* after time, turn or step */
    ngx_guildlog_lane_pt           then;     /* once it is verified */
};


/*
 * Of a row of guildlog.delivery_lane or delivery_doubt.  NGX_ERROR: out of
 * memory.  NGX_DECLINED: its secret does not open, which is logged.
 */
ngx_int_t ngx_guildlog_lane_create(ngx_guildlog_delivery_t *delivery,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_log_t *log,
    ngx_guildlog_lane_t **created);
void ngx_guildlog_lane_start(ngx_guildlog_lane_t *lane);

/* without memory the lane is starved: those behind wait for the next step */
void ngx_guildlog_lane_add(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);

/* its step is committed; then it goes on, unless it is paused or lost */
void ngx_guildlog_lane_committed(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_stepped(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_result_e result);

/* nothing of it stays, what is under way is dropped */
void ngx_guildlog_lane_destroy(ngx_guildlog_lane_t *lane);


/*
 * Between the files of a lane.
 */

/* columns of guildlog.delivery_row, delivery_lane and delivery_doubt */

typedef enum {
    NGX_GUILDLOG_ROW_PLACE = 0,
    NGX_GUILDLOG_ROW_RESULT,
    NGX_GUILDLOG_ROW_SEQ,
    NGX_GUILDLOG_ROW_EXPIRED,
    NGX_GUILDLOG_ROW_DOC,
    NGX_GUILDLOG_ROW_FORMAT,
    NGX_GUILDLOG_ROW_COLOR,
    NGX_GUILDLOG_ROW_BUTTONS,
    NGX_GUILDLOG_ROW_LOCALE,
    NGX_GUILDLOG_ROW_SPOILERS
} ngx_guildlog_row_e;

typedef enum {
    NGX_GUILDLOG_FACT_GUILD = 0,
    NGX_GUILDLOG_FACT_LANE,
    NGX_GUILDLOG_FACT_SHARD,
    NGX_GUILDLOG_FACT_FENCE,
    NGX_GUILDLOG_FACT_BOT,
    NGX_GUILDLOG_FACT_CHANNEL,
    NGX_GUILDLOG_FACT_STATE,
    NGX_GUILDLOG_FACT_WEBHOOK,
    NGX_GUILDLOG_FACT_SECRET,
    NGX_GUILDLOG_FACT_HEAD,
    NGX_GUILDLOG_FACT_UPTO,
    NGX_GUILDLOG_FACT_STEP,
    NGX_GUILDLOG_FACT_ATTEMPTS,
    NGX_GUILDLOG_FACT_ATTEMPT_MS,
    NGX_GUILDLOG_FACT_WAIT_MS,
    NGX_GUILDLOG_FACT_MESSAGE,
    NGX_GUILDLOG_FACT_SINCE,
    NGX_GUILDLOG_FACT_IDS,
    NGX_GUILDLOG_FACT_VERIFIED
} ngx_guildlog_fact_e;


/* a number of a row; 0: null.  A boolean */
int64_t ngx_guildlog_lane_column(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);
ngx_uint_t ngx_guildlog_lane_true(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);
uint64_t ngx_guildlog_lane_number(const ngx_str_t *digits);
uint64_t ngx_guildlog_lane_clock(void);
ngx_msec_t ngx_guildlog_lane_backoff(ngx_uint_t attempts);

/* ngx_guildlog_lane.c */

/* waits for its turn, then looks what there is to send */
void ngx_guildlog_lane_line_up(ngx_guildlog_lane_t *lane);
/* nothing stays at hand of what is to be sent */
void ngx_guildlog_lane_empty(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_sleep(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_guildlog_lane_pt next);
/* all up to there has that status, for work.reason */
void ngx_guildlog_lane_decide(ngx_guildlog_lane_t *lane, int64_t to,
    ngx_uint_t status);
void ngx_guildlog_lane_refused(ngx_guildlog_lane_t *lane, ngx_msec_t wait);

/* ngx_guildlog_lane_outcome.c: the answer to its message */

void ngx_guildlog_lane_posted(void *data,
    ngx_guildlog_client_response_t *answer);

/* ngx_guildlog_lane_doubt.c: was it applied?  The channel tells; the platform
   took so long before there was no answer */

void ngx_guildlog_lane_doubt(ngx_guildlog_lane_t *lane, ngx_msec_t took);

/* ngx_guildlog_lane_verify.c: is its channel the server's?  Then that is next.
   An id of a server that is told, and another one */

void ngx_guildlog_lane_verify(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_pt then);
ngx_uint_t ngx_guildlog_lane_astray(ngx_guildlog_lane_t *lane,
    const ngx_str_t *guild_id);
void ngx_guildlog_lane_foreign(ngx_guildlog_lane_t *lane);

/* ngx_guildlog_lane_webhook.c: the bot's calls, and what befalls a lane */

/* sends what was built, if it was; else it begins anew a moment later */
void ngx_guildlog_lane_ask(ngx_guildlog_lane_t *lane, ngx_int_t built,
    ngx_guildlog_platform_request_t *request,
    ngx_guildlog_client_handler_pt handler, ngx_guildlog_lane_pt again);
void ngx_guildlog_lane_failed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_lane_pt again);
/* its first arguments of a statement; numbers: room for two */
void ngx_guildlog_lane_identity(ngx_guildlog_lane_t *lane, ngx_str_t *args,
    u_char *numbers);

void ngx_guildlog_lane_register(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_close(ngx_guildlog_lane_t *lane);
/* it has no webhook any more, or leaves it to another one */
void ngx_guildlog_lane_closed(ngx_guildlog_lane_t *lane);
/* somebody asked for a webhook so long ago, and had no answer */
void ngx_guildlog_lane_asked(ngx_guildlog_lane_t *lane, ngx_msec_t ago);
void ngx_guildlog_lane_lost(ngx_guildlog_lane_t *lane);
void ngx_guildlog_lane_broken(ngx_guildlog_lane_t *lane, const char *reason);
void ngx_guildlog_lane_forbidden(ngx_guildlog_lane_t *lane,
    const char *reason, const char *final);

/* reads the lane's facts */
ngx_int_t ngx_guildlog_lane_read(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);

/* NGX_DECLINED: not now.  The turn is granted */
ngx_int_t ngx_guildlog_lane_call(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_request_t *request,
    ngx_guildlog_client_handler_pt handler);

/* takes note of the answer; the verdict lives as long as lane->work_pool */
void ngx_guildlog_lane_judge(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict);

/* a fresh pool for one piece of work; NGX_ERROR: out of memory */
ngx_int_t ngx_guildlog_lane_renew(ngx_guildlog_lane_t *lane);


#endif /* _NGX_GUILDLOG_LANE_H_INCLUDED_ */
