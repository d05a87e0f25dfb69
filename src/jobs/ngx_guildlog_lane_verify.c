
/*
 * Whose is the channel?  Nothing is made, used or deleted in a channel of
 * another server, so a lane asks the platform once before that: for the
 * channel, or for the webhook that the lane has.  If the platform does not say
 * whose the channel is, the directory decides; if that does not know it, the
 * server's own word counts.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


static ngx_guildlog_platform_call_e lane_verify_call(
    ngx_guildlog_lane_t *lane);
static void lane_verify_answer(void *data,
    ngx_guildlog_client_response_t *answer);


void
ngx_guildlog_lane_verify(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_state_e then)
{
    lane->then = then;

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_VERIFY);
}


void
ngx_guildlog_lane_verify_ask(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_platform_call_e  call;

    call = lane_verify_call(lane);

    ngx_guildlog_lane_call_ask(lane, call,
                               call == NGX_GUILDLOG_CALL_WEBHOOK
                               ? &lane->webhook : &lane->channel,
                               &lane->token, lane_verify_answer,
                               NGX_GUILDLOG_STATE_VERIFY_AGAIN);
}


/* asks for its webhook; but one that is registered anew may be gone */

static ngx_guildlog_platform_call_e
lane_verify_call(ngx_guildlog_lane_t *lane)
{
    return lane->webhook.len && !lane->registering
           ? NGX_GUILDLOG_CALL_WEBHOOK : NGX_GUILDLOG_CALL_CHANNEL;
}


static void
lane_verify_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t    verdict;
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_call_judge(lane, answer, lane_verify_call(lane),
                                 &verdict);

    if (verdict.class == NGX_GUILDLOG_VERDICT_WEBHOOK_GONE) {
        ngx_guildlog_lane_tell_lost(lane);
        return;
    }

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_guildlog_lane_call_failed(lane, &verdict,
                                      NGX_GUILDLOG_STATE_VERIFY_AGAIN);
        return;
    }

    if (ngx_guildlog_lane_verify_foreign(lane, &verdict.guild_id)) {
        ngx_guildlog_lane_tell_foreign(lane);
        return;
    }

    ngx_guildlog_lane_tell_args(lane, &args);

    if (verdict.guild_id.len) {
        ngx_str_set(&args.value[5], "t");
    } else {
        ngx_str_set(&args.value[5], "f");
    }

    ngx_guildlog_lane_tell(lane, ngx_guildlog_stmt_delivery_verified, &args,
                           NGX_GUILDLOG_STATE_VERIFIED);
}


void
ngx_guildlog_lane_verify_told(ngx_guildlog_lane_t *lane)
{
    if (lane->denied) {
        ngx_guildlog_lane_tell_foreign(lane);
        return;
    }

    lane->verified = 1;

    ngx_guildlog_delivery_queue_run(lane, lane->then);
}


void
ngx_guildlog_lane_verify_again(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_verify(lane, lane->then);
}


ngx_uint_t
ngx_guildlog_lane_verify_foreign(ngx_guildlog_lane_t *lane,
    const ngx_str_t *guild_id)
{
    return guild_id->len && !ngx_guildlog_str_eq(guild_id, &lane->guild);
}
