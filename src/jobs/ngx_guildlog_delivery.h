
/*
 * Delivery: the loop in the one worker of a machine that delivers.  It leases
 * shards, finds lanes with something to do, gives each its slots, and
 * commits their steps many at a time.
 */

#ifndef _NGX_GUILDLOG_DELIVERY_H_INCLUDED_
#define _NGX_GUILDLOG_DELIVERY_H_INCLUDED_


#include "client/ngx_guildlog_client.h"
#include "db/ngx_guildlog_db_pool.h"
#include "base/ngx_guildlog_seal.h"
#include "platform/ngx_guildlog_message.h"


#define NGX_GUILDLOG_BOTS  2


typedef struct ngx_guildlog_delivery_s  ngx_guildlog_delivery_t;


/* one guildlog_delivery directive, and what it needs; const while serving */

typedef struct {
    ngx_guildlog_client_url_t      platform;
    ngx_str_t                      bots[NGX_GUILDLOG_BOTS];  /* "Bot ..." */
    ngx_str_t                      applications[NGX_GUILDLOG_BOTS];
    ngx_str_t                      webhook_name;   /* as configured */
    ngx_str_t                      webhook_avatar;
    ngx_str_t                      webhook_names[NGX_GUILDLOG_BOTS];
    ngx_str_t                      webhooks[NGX_GUILDLOG_BOTS];  /* new ones,
                                                                    in JSON */
    ngx_guildlog_message_style_t   style;
    ngx_str_t                      node;
    ngx_uint_t                     rate;      /* requests a second; 0: any */
    ngx_uint_t                     connections;  /* to the database */
    ngx_uint_t                     resend;    /* a message of which it cannot
                                                 be proved that it arrived */
    u_char                         key[NGX_GUILDLOG_SEAL_KEY];
} ngx_guildlog_delivery_conf_t;


/* owned by the cycle's pool; NULL: out of memory */

ngx_guildlog_delivery_t *ngx_guildlog_delivery_create(ngx_cycle_t *cycle,
    const ngx_guildlog_delivery_conf_t *conf, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout);
void ngx_guildlog_delivery_destroy(ngx_guildlog_delivery_t *delivery);

/*
 * A process without a master ends at once: this runs its event loop until the
 * requests under way have ended and the leases are given away, for 5 s at most.
 * nginx calls nothing sooner there, so this is in the exit hook, and events of
 * other modules may run after theirs: without it a message under way would be
 * in doubt, and its lanes would rest until their leases end, at every stop.
 */
void ngx_guildlog_delivery_leave(ngx_guildlog_delivery_t *delivery,
    ngx_cycle_t *cycle);


#endif /* _NGX_GUILDLOG_DELIVERY_H_INCLUDED_ */
