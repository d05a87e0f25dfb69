
/*
 * A lane's webhook.  Those of the channel are listed before one is made, so
 * that a crash between the two leaves none behind.  That a webhook was asked
 * for is committed before the request is sent: if no answer came, it may still
 * be made, and no other one is asked for until it would be there.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


#define LANE_WEBHOOK_RETRY    5000      /* ms */
#define LANE_WEBHOOK_NO_BOT   30000     /* ms */


static void lane_webhook_listed(void *data,
    ngx_guildlog_client_response_t *answer);
static ngx_guildlog_platform_webhook_t *lane_webhook_own(
    ngx_guildlog_lane_t *lane, ngx_array_t *list);
static void lane_webhook_created(void *data,
    ngx_guildlog_client_response_t *answer);
static void lane_webhook_undo(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_webhook_keep(ngx_guildlog_lane_t *lane, const ngx_str_t *id,
    const ngx_str_t *token, ngx_uint_t made);
static void lane_webhook_deleted(void *data,
    ngx_guildlog_client_response_t *answer);


void
ngx_guildlog_lane_webhook_register(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = lane->env->conf;

    if (conf->bots[lane->bot].len == 0) {

        if (lane->closing) {
            ngx_guildlog_lane_tell_closed(lane);
            return;
        }

        ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                      "no \"guildlog_bot_token\" for the webhook of lane %V "
                      "of server %V", &lane->id, &lane->guild);

        ngx_guildlog_lane_tell_waits(lane, "no_bot_token", NULL,
                                     LANE_WEBHOOK_NO_BOT);
        return;
    }

    if (!lane->verified) {
        ngx_guildlog_lane_verify(lane, NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_LIST);
}


void
ngx_guildlog_lane_webhook_list(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_call_ask(lane, NGX_GUILDLOG_CALL_LIST, &lane->channel,
                               NULL, lane_webhook_listed,
                               NGX_GUILDLOG_STATE_REGISTER);
}


static void
lane_webhook_listed(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_uint_t                        i;
    ngx_array_t                      *list;
    ngx_msec_int_t                    rest;
    ngx_guildlog_verdict_t            verdict;
    ngx_guildlog_platform_webhook_t  *webhook, *own;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_LIST,
                                 &verdict);

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_guildlog_lane_call_failed(lane, &verdict,
                                      NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    list = ngx_guildlog_platform_webhooks(lane->work_pool, verdict.json);

    if (list == NULL) {
        ngx_guildlog_delivery_queue_sleep(lane, LANE_WEBHOOK_RETRY,
                                          NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    /* if the channel did not tell whose it is, its webhooks may */

    webhook = list->elts;

    for (i = 0; i < list->nelts; i++) {
        if (ngx_guildlog_lane_verify_foreign(lane, &webhook[i].guild_id)) {
            ngx_guildlog_lane_tell_foreign(lane);
            return;
        }
    }

    own = lane_webhook_own(lane, list);

    if (own) {
        lane_webhook_keep(lane, &own->id, &own->token, 0);
        return;
    }

    /* one that was asked for may still have been made behind this list, which
       is as old as its question */

    rest = (ngx_msec_int_t) (lane->sure_at
                             - (ngx_current_msec - answer->time_ms));

    if (lane->asked && rest > 0) {
        ngx_guildlog_delivery_queue_sleep(lane,
                                          ngx_min(rest, LANE_WEBHOOK_RETRY),
                                          NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    if (lane->closing) {
        ngx_guildlog_lane_tell_closed(lane);
        return;
    }

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_NOTE);
}


/*
 * Ours is found by its name and application.  The id in a bot's token is the
 * bot's, and some applications have another id: until the platform has named
 * ours, a webhook of an unexpected application is taken if there is none of the
 * expected one.  The platform shows a webhook's token to its owner only.
 */

static ngx_guildlog_platform_webhook_t *
lane_webhook_own(ngx_guildlog_lane_t *lane, ngx_array_t *list)
{
    ngx_str_t                         known, *given;
    ngx_uint_t                        i;
    const ngx_str_t                  *name, *likely;
    ngx_guildlog_platform_webhook_t  *webhook, *own;

    known.data = lane->env->applications[lane->bot].data;
    known.len = lane->env->applications[lane->bot].len;

    name = &lane->env->conf->webhook_names[lane->bot];
    likely = known.len ? &known : &lane->env->conf->applications[lane->bot];

    webhook = list->elts;
    own = NULL;

    for (i = 0; i < list->nelts; i++) {

        if (webhook[i].token.len == 0
            || !ngx_guildlog_str_eq(&webhook[i].name, name))
        {
            continue;
        }

        given = &webhook[i].application_id;

        if (likely->len == 0 || ngx_guildlog_str_eq(given, likely)) {
            return &webhook[i];
        }

        if (known.len == 0 && given->len && own == NULL) {
            own = &webhook[i];
        }
    }

    return own;
}


/* the request is sent as soon as this is committed */

void
ngx_guildlog_lane_webhook_note(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_args_t  args;

    ngx_guildlog_lane_tell_args(lane, &args);

    lane->intent_at = ngx_current_msec;

    ngx_guildlog_lane_tell(lane, ngx_guildlog_stmt_delivery_asks, &args,
                           NGX_GUILDLOG_STATE_CREATE);
}


void
ngx_guildlog_lane_webhook_create(ngx_guildlog_lane_t *lane)
{
    lane->asked = 0;
    lane->webhook.len = 0;

    ngx_guildlog_lane_call_ask(lane, NGX_GUILDLOG_CALL_CREATE, &lane->channel,
                               &lane->env->conf->webhooks[lane->bot],
                               lane_webhook_created,
                               NGX_GUILDLOG_STATE_REGISTER);

    if (lane->exchange) {
        ngx_guildlog_client_begin_by(lane->exchange,
                                     lane->intent_at + NGX_GUILDLOG_LANE_BEGIN
                                     - NGX_GUILDLOG_LANE_MARGIN);
    }
}


/* if it is in doubt whether one was made, the next list tells */

static void
lane_webhook_created(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    const ngx_str_t                  *application;
    ngx_guildlog_verdict_t            verdict;
    ngx_guildlog_lane_application_t  *known;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_CREATE,
                                 &verdict);

    if (verdict.class == NGX_GUILDLOG_VERDICT_DOUBT) {
        lane->asked = 1;
        lane->sure_at = ngx_current_msec + ngx_max(NGX_GUILDLOG_LANE_ANSWER,
                                                   answer->time_ms);
    }

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_guildlog_lane_call_failed(lane, &verdict,
                                      NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    if (ngx_guildlog_lane_verify_foreign(lane, &verdict.guild_id)) {
        lane_webhook_undo(lane, &verdict);
        return;
    }

    /* the platform named the bot's application */

    application = &verdict.application_id;
    known = &lane->env->applications[lane->bot];

    if (application->len && application->len <= sizeof(known->data)) {
        known->len = application->len;
        ngx_memcpy(known->data, application->data, application->len);
    }

    lane_webhook_keep(lane, &verdict.webhook_id, &verdict.token, 1);
}


/* the webhook just made is in a channel of another guild: it goes at once */

static void
lane_webhook_undo(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    lane->webhook.data = ngx_pstrdup(lane->pool, &verdict->webhook_id);
    lane->webhook.len = verdict->webhook_id.len;
    lane->token.data = ngx_pstrdup(lane->pool, &verdict->token);
    lane->token.len = verdict->token.len;

    if (lane->webhook.data == NULL || lane->token.data == NULL) {
        ngx_str_null(&lane->webhook);
        ngx_str_null(&lane->token);
        ngx_guildlog_lane_tell_foreign(lane);
        return;
    }

    lane->foreign = 1;

    ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_CLOSE);
}


/* made: the webhook was just made, and has sent nothing yet */

static void
lane_webhook_keep(ngx_guildlog_lane_t *lane, const ngx_str_t *id,
    const ngx_str_t *token, ngx_uint_t made)
{
    ngx_guildlog_lane_args_t  args;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = lane->env->conf;

    ngx_guildlog_lane_tell_args(lane, &args);

    args.value[5] = *id;

    if (ngx_guildlog_seal(lane->work_pool, conf->key, &lane->id,
                          token, &args.value[6])
        != NGX_OK)
    {
        ngx_guildlog_delivery_queue_sleep(lane, LANE_WEBHOOK_RETRY,
                                          NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, lane->env->log, 0,
                  "lane %V of server %V: channel %V has webhook %V",
                  &lane->id, &lane->guild, &lane->channel, id);

    ngx_guildlog_lane_tell_bool(&args.value[7], made);

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_registered,
                               &args);
}


/* a webhook that may have been made, and is not known, has to go too */

void
ngx_guildlog_lane_webhook_close(ngx_guildlog_lane_t *lane)
{
    if (lane->webhook.len == 0 && !lane->asked) {
        ngx_guildlog_lane_tell_closed(lane);
        return;
    }

    if (lane->webhook.len == 0) {
        lane->closing = 1;
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    if (!lane->verified) {
        lane->closing = 1;
        ngx_guildlog_lane_verify(lane, NGX_GUILDLOG_STATE_CLOSE);
        return;
    }

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_DELETE);
}


void
ngx_guildlog_lane_webhook_delete(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_call_ask(lane, NGX_GUILDLOG_CALL_DELETE, &lane->webhook,
                               &lane->token, lane_webhook_deleted,
                               NGX_GUILDLOG_STATE_CLOSE);
}


static void
lane_webhook_deleted(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_msec_t              wait;
    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_DELETE,
                                 &verdict);

    switch (verdict.class) {

    case NGX_GUILDLOG_VERDICT_LIMITED:
        ngx_guildlog_lane_tell_limited(lane, verdict.retry_after_ms,
                                       NGX_GUILDLOG_STATE_CLOSE);
        return;

    case NGX_GUILDLOG_VERDICT_AGAIN:
    case NGX_GUILDLOG_VERDICT_DOUBT:
    case NGX_GUILDLOG_VERDICT_BLOCKED:
        wait = ngx_guildlog_lane_call_backoff(++lane->failures);
        wait = ngx_max(wait, verdict.retry_after_ms + NGX_GUILDLOG_LANE_MARGIN);
        ngx_guildlog_delivery_queue_sleep(lane, wait, NGX_GUILDLOG_STATE_CLOSE);
        return;

    default:
        if (lane->foreign) {
            ngx_guildlog_lane_tell_foreign(lane);
            return;
        }

        ngx_guildlog_lane_tell_closed(lane);
    }
}
