
/*
 * Delivery: the loop of the one worker of a machine that delivers.  It leases
 * shards, finds lanes with something to do, gives each its turn to send, and
 * commits their steps many at a time.
 */

#ifndef _NGX_GUILDLOG_DELIVERY_H_INCLUDED_
#define _NGX_GUILDLOG_DELIVERY_H_INCLUDED_


#include "client/ngx_guildlog_client.h"
#include "platform/ngx_guildlog_platform.h"
#include "db/ngx_guildlog_db_pool.h"
#include "base/ngx_guildlog_seal.h"


#define NGX_GUILDLOG_BOTS  2


typedef struct ngx_guildlog_delivery_s  ngx_guildlog_delivery_t;
typedef struct ngx_guildlog_lane_s      ngx_guildlog_lane_t;


/* one guildlog_delivery directive, and what it needs; const while serving */

typedef struct {
    ngx_guildlog_client_url_t      platform;
    ngx_str_t                      bots[NGX_GUILDLOG_BOTS];  /* "Bot ..." */
    ngx_str_t                      applications[NGX_GUILDLOG_BOTS];
    ngx_str_t                      node;
    ngx_uint_t                     rate;      /* a second; 0: any */
    ngx_uint_t                     connections;  /* to the database */
    ngx_flag_t                     resend;    /* what cannot be proved */
    u_char                         key[NGX_GUILDLOG_SECRET_KEY];
} ngx_guildlog_delivery_conf_t;


/* NULL: out of memory; of the cycle's pool */

ngx_guildlog_delivery_t *ngx_guildlog_delivery_create(ngx_cycle_t *cycle,
    const ngx_guildlog_delivery_conf_t *conf, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout);
void ngx_guildlog_delivery_destroy(ngx_guildlog_delivery_t *delivery);

/*
 * A process without a master ends at once: this runs its event loop until what
 * is under way has ended and the leases are given away, for a while at most.
 */
void ngx_guildlog_delivery_leave(ngx_guildlog_delivery_t *delivery,
    ngx_cycle_t *cycle);


/*
 * For lanes.  What they wait for comes by lane->next, never from within the
 * call.
 */

/* commits lane->work, as often as it takes; a lane that is lost is gone */
void ngx_guildlog_delivery_step(ngx_guildlog_lane_t *lane);

/* so many bytes more (or less) of entries at hand; is there room for more? */
void ngx_guildlog_delivery_holds(ngx_guildlog_lane_t *lane, ssize_t bytes);
ngx_uint_t ngx_guildlog_delivery_room(ngx_guildlog_delivery_t *delivery);

/* does what takes a while, after others have had their chance */
void ngx_guildlog_delivery_go_on(ngx_guildlog_lane_t *lane);

/*
 * Waits for its turn to send one request, with nothing at hand; 1 from take():
 * it has it now.
 */
void ngx_guildlog_delivery_wait(ngx_guildlog_lane_t *lane);
ngx_uint_t ngx_guildlog_delivery_take(ngx_guildlog_lane_t *lane);
void ngx_guildlog_delivery_give_back(ngx_guildlog_lane_t *lane);

/*
 * Sends by its turn; authorization as for ngx_guildlog_client_send().  The
 * handler gets the lane, and owes answered().  NGX_DECLINED: not now, the turn
 * is over and nothing was sent.
 */
ngx_int_t ngx_guildlog_delivery_send(ngx_guildlog_lane_t *lane,
    const char *method, const ngx_str_t *path,
    const ngx_str_t *authorization, const ngx_str_t *body,
    ngx_guildlog_client_handler_pt handler);

void ngx_guildlog_delivery_answered(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_verdict_t *verdict);

/* tells the database before it goes on; lane->denied: that said no.  A lane
   that is lost is gone */
void ngx_guildlog_delivery_say(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs);

/* what happens to it as a whole; it is gone then, and found anew */
void ngx_guildlog_delivery_turn(ngx_guildlog_lane_t *lane,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args, ngx_uint_t nargs);
void ngx_guildlog_delivery_forget(ngx_guildlog_lane_t *lane);

const ngx_guildlog_delivery_conf_t *ngx_guildlog_delivery_conf(
    ngx_guildlog_delivery_t *delivery);

/* a bot's application as the platform named it; empty: it did not yet */
const ngx_str_t *ngx_guildlog_delivery_application(
    ngx_guildlog_delivery_t *delivery, ngx_uint_t bot);
void ngx_guildlog_delivery_named(ngx_guildlog_delivery_t *delivery,
    ngx_uint_t bot, const ngx_str_t *application);

/* what it counts */
ngx_guildlog_traffic_t *ngx_guildlog_delivery_traffic(
    ngx_guildlog_delivery_t *delivery);


#endif /* _NGX_GUILDLOG_DELIVERY_H_INCLUDED_ */
