
/*
 * What lanes wait for: a time, a permit to send, a step, or a moment of the
 * worker.  The functions here only put a lane into its queue and post the
 * event of the loop.  The loop then runs the lane by its table of states,
 * never from within the call.
 */

#ifndef _NGX_GUILDLOG_DELIVERY_QUEUE_H_INCLUDED_
#define _NGX_GUILDLOG_DELIVERY_QUEUE_H_INCLUDED_


#include "jobs/ngx_guildlog_lane.h"


/* a guild with lanes; freed with the last of them */

struct ngx_guildlog_guild_s {
    ngx_queue_t                    link;     /* of all guilds */
    ngx_queue_t                    queue;    /* of those that are next */
    ngx_queue_t                    waiting;  /* its lanes that want a permit */
    ngx_queue_t                    tell;     /* of those with refusals */
    ngx_uint_t                     lanes;
    ngx_uint_t                     sending;  /* permits granted to them */
    ngx_uint_t                     refused;  /* requests, not told yet */
    ngx_uint_t                     telling;  /* and being told */
    ngx_msec_t                     rests_to;
    ngx_str_t                      id;
    unsigned                       queued:1;
    unsigned                       tells:1;  /* is one with refusals */
    unsigned                       rests:1;
};


/* runs a state at once, in the place of the one that runs */
void ngx_guildlog_delivery_queue_run(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state);

/*
 * The lane goes on with that state: after a time, with nothing at hand; as
 * soon as it may send one request, with nothing at hand; as soon as lane->work
 * is committed; or after requests had their chance, for it takes a while.
 */
void ngx_guildlog_delivery_queue_sleep(ngx_guildlog_lane_t *lane,
    ngx_msec_t ms, ngx_guildlog_lane_state_e state);
void ngx_guildlog_delivery_queue_wait(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state);
void ngx_guildlog_delivery_queue_step(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state);
void ngx_guildlog_delivery_queue_go_on(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e state);

/* gives its permit back, if it has one that is not used */
void ngx_guildlog_delivery_queue_give_back(ngx_guildlog_lane_t *lane);

/* the lane goes; if its step is under way, after that */
void ngx_guildlog_delivery_queue_forget(ngx_guildlog_lane_t *lane);

/* lanes are looked for in so many ms; sweep: all, also those that were found
   before */
void ngx_guildlog_delivery_queue_find(ngx_guildlog_lane_t *lane,
    ngx_msec_t ms, ngx_uint_t sweep);

/* is there memory for the entries of one lane more? */
ngx_uint_t ngx_guildlog_delivery_queue_room(ngx_guildlog_delivery_t *delivery);


/* ngx_guildlog_delivery_lanes.c: who sends next */

/* a permit without waiting, if nobody waits; 1: the lane has it */
ngx_uint_t ngx_guildlog_delivery_slot_take(ngx_guildlog_lane_t *lane);

/*
 * Uses the permit; authorization as for ngx_guildlog_client_send().  The
 * handler gets the lane, and has to call answered().  NGX_DECLINED: not now,
 * the permit is given back and nothing was sent.
 */
ngx_int_t ngx_guildlog_delivery_slot_send(ngx_guildlog_lane_t *lane,
    const char *method, const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body,
    ngx_guildlog_client_handler_pt handler);

void ngx_guildlog_delivery_slot_answered(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_verdict_t *verdict);


#endif /* _NGX_GUILDLOG_DELIVERY_QUEUE_H_INCLUDED_ */
