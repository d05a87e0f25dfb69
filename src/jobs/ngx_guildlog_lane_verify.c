
/*
 * Whose is the channel?  Nothing is made, used or deleted in a channel of
 * another server, so that is asked once before: of the channel, or of the
 * webhook that the lane has.  A platform that does not say whose it is is taken
 * at the directory's word, and where that knows nothing at the server's.
 */

#include "jobs/ngx_guildlog_lane.h"


static void ngx_guildlog_verify_ask(ngx_guildlog_lane_t *lane);
static ngx_uint_t ngx_guildlog_verify_webhook(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_verify_answer(void *data,
    ngx_guildlog_client_response_t *answer);
static void ngx_guildlog_verify_said(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_verify_again(ngx_guildlog_lane_t *lane);


void
ngx_guildlog_lane_verify(ngx_guildlog_lane_t *lane, ngx_guildlog_lane_pt then)
{
    lane->then = then;
    lane->next = ngx_guildlog_verify_ask;

    ngx_guildlog_delivery_wait(lane);
}


static void
ngx_guildlog_verify_ask(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                         rc;
    ngx_guildlog_platform_request_t   request;

    rc = ngx_guildlog_lane_renew(lane);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_verify_webhook(lane)
             ? ngx_guildlog_platform_look(lane->work_pool, &lane->webhook,
                                          &lane->token, &request)
             : ngx_guildlog_platform_channel(lane->work_pool, &lane->channel,
                                             &request);
    }

    ngx_guildlog_lane_ask(lane, rc, &request, ngx_guildlog_verify_answer,
                          ngx_guildlog_verify_again);
}


/* the one that is registered anew may be gone */

static ngx_uint_t
ngx_guildlog_verify_webhook(ngx_guildlog_lane_t *lane)
{
    return lane->webhook.len && !lane->registering;
}


static void
ngx_guildlog_verify_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    u_char                  numbers[2 * NGX_INT64_LEN];
    ngx_str_t               args[5];
    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_judge(lane, answer, ngx_guildlog_verify_webhook(lane)
                                          ? NGX_GUILDLOG_CALL_WEBHOOK
                                          : NGX_GUILDLOG_CALL_CHANNEL,
                            &verdict);

    if (verdict.class == NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE) {
        ngx_guildlog_lane_lost(lane);
        return;
    }

    if (verdict.class != NGX_GUILDLOG_PLATFORM_DONE) {
        ngx_guildlog_lane_failed(lane, &verdict, ngx_guildlog_verify_again);
        return;
    }

    if (ngx_guildlog_lane_astray(lane, &verdict.guild_id)) {
        ngx_guildlog_lane_foreign(lane);
        return;
    }

    ngx_guildlog_lane_identity(lane, args, numbers);

    if (verdict.guild_id.len) {
        ngx_str_set(&args[4], "t");
    } else {
        ngx_str_set(&args[4], "f");
    }

    lane->next = ngx_guildlog_verify_said;

    ngx_guildlog_delivery_say(lane, ngx_guildlog_stmt_delivery_verified, args,
                              5);
}


static void
ngx_guildlog_verify_said(ngx_guildlog_lane_t *lane)
{
    if (lane->denied) {
        ngx_guildlog_lane_foreign(lane);
        return;
    }

    lane->verified = 1;
    lane->then(lane);
}


static void
ngx_guildlog_verify_again(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_verify(lane, lane->then);
}


ngx_uint_t
ngx_guildlog_lane_astray(ngx_guildlog_lane_t *lane, const ngx_str_t *guild_id)
{
    return guild_id->len
           && (guild_id->len != lane->guild.len
               || ngx_memcmp(guild_id->data, lane->guild.data,
                             guild_id->len) != 0);
}


void
ngx_guildlog_lane_foreign(ngx_guildlog_lane_t *lane)
{
    ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                  "lane %V of server %V: channel %V belongs to another server",
                  &lane->id, &lane->guild, &lane->channel);

    ngx_guildlog_lane_broken(lane, "foreign_channel");
}
