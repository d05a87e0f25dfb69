
/*
 * A lane's webhook: listed before it is made, so that a crash between the
 * two leaves none behind; and what befalls a lane as a whole.  That one was
 * asked for is noted before it is: where no answer came it may be made yet, and
 * no other is asked for until it would be there.
 */

#include "jobs/ngx_guildlog_lane.h"


#define NGX_GUILDLOG_WEBHOOK_RETRY    5000      /* ms */
#define NGX_GUILDLOG_WEBHOOK_NO_BOT   30000     /* ms */
#define NGX_GUILDLOG_WEBHOOK_MINUTE   60000     /* ms */
#define NGX_GUILDLOG_WEBHOOK_GRACE    10000     /* ms, without an answer */
#define NGX_GUILDLOG_WEBHOOK_LOST     (NGX_GUILDLOG_WEBHOOK_GRACE             \
                                       + NGX_GUILDLOG_LANE_BEGIN)  /* ms, since
                                                   it was noted, by who died */


static void ngx_guildlog_webhook_list(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_webhook_listed(void *data,
    ngx_guildlog_client_response_t *answer);
static ngx_guildlog_platform_webhook_t *ngx_guildlog_webhook_own(
    ngx_guildlog_lane_t *lane, ngx_array_t *list);
static ngx_uint_t ngx_guildlog_webhook_same(const ngx_str_t *one,
    const ngx_str_t *other);
static ngx_uint_t ngx_guildlog_webhook_elsewhere(ngx_guildlog_lane_t *lane,
    ngx_array_t *list);
static void ngx_guildlog_webhook_may_come(ngx_guildlog_lane_t *lane,
    ngx_msec_t ms);
static ngx_msec_t ngx_guildlog_webhook_doubt(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_webhook_note(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_webhook_create(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_webhook_created(void *data,
    ngx_guildlog_client_response_t *answer);
static void ngx_guildlog_webhook_undo(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void ngx_guildlog_webhook_keep(ngx_guildlog_lane_t *lane,
    const ngx_str_t *id, const ngx_str_t *token, ngx_uint_t made);
static void ngx_guildlog_webhook_delete(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_webhook_deleted(void *data,
    ngx_guildlog_client_response_t *answer);
static void ngx_guildlog_lane_waits(ngx_guildlog_lane_t *lane,
    const char *reason, const char *final, ngx_msec_t ms);


static const ngx_str_t  ngx_guildlog_webhook_names[NGX_GUILDLOG_BOTS] = {
    ngx_string("Guildlog"),
    ngx_string("Guildlog Pro")
};


void
ngx_guildlog_lane_register(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    if (conf->bots[lane->bot].len == 0) {

        if (lane->closing) {
            ngx_guildlog_lane_closed(lane);
            return;
        }

        ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                      "no \"guildlog_bot_token\" for the webhook of lane %V "
                      "of server %V", &lane->id, &lane->guild);

        ngx_guildlog_lane_waits(lane, "no_bot_token", NULL,
                                NGX_GUILDLOG_WEBHOOK_NO_BOT);
        return;
    }

    if (!lane->verified) {
        ngx_guildlog_lane_verify(lane, ngx_guildlog_lane_register);
        return;
    }

    lane->next = ngx_guildlog_webhook_list;

    ngx_guildlog_delivery_wait(lane);
}


static void
ngx_guildlog_webhook_list(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                         rc;
    ngx_guildlog_platform_request_t   request;

    rc = ngx_guildlog_lane_renew(lane);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_platform_list(lane->work_pool, &lane->channel,
                                        &request);
    }

    ngx_guildlog_lane_ask(lane, rc, &request, ngx_guildlog_webhook_listed,
                             ngx_guildlog_lane_register);
}


static void
ngx_guildlog_webhook_listed(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_msec_t                        doubt;
    ngx_array_t                      *list;
    ngx_guildlog_verdict_t            verdict;
    ngx_guildlog_platform_webhook_t  *own;

    ngx_guildlog_lane_judge(lane, answer, NGX_GUILDLOG_CALL_LIST, &verdict);

    if (verdict.class != NGX_GUILDLOG_PLATFORM_DONE) {
        ngx_guildlog_lane_failed(lane, &verdict, ngx_guildlog_lane_register);
        return;
    }

    list = ngx_guildlog_platform_webhooks(lane->work_pool, &answer->body);

    if (list == NULL) {
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_WEBHOOK_RETRY,
                                ngx_guildlog_lane_register);
        return;
    }

    if (ngx_guildlog_webhook_elsewhere(lane, list)) {
        ngx_guildlog_lane_foreign(lane);
        return;
    }

    own = ngx_guildlog_webhook_own(lane, list);

    if (own) {
        ngx_guildlog_webhook_keep(lane, &own->id, &own->token, 0);
        return;
    }

    doubt = ngx_guildlog_webhook_doubt(lane);

    if (doubt) {
        ngx_guildlog_lane_sleep(lane,
                                ngx_min(doubt, NGX_GUILDLOG_WEBHOOK_RETRY),
                                ngx_guildlog_lane_register);
        return;
    }

    if (lane->closing) {
        ngx_guildlog_lane_closed(lane);
        return;
    }

    lane->next = ngx_guildlog_webhook_note;

    ngx_guildlog_delivery_wait(lane);
}


/*
 * By name and application.  The id in a bot's token is the bot's, and some
 * applications have another: until the platform has named ours, a webhook of
 * an unexpected one is taken where there is none of the expected.  A platform
 * shows a webhook's token to its owner only.
 */

static ngx_guildlog_platform_webhook_t *
ngx_guildlog_webhook_own(ngx_guildlog_lane_t *lane, ngx_array_t *list)
{
    ngx_str_t                           *given;
    ngx_uint_t                           i;
    const ngx_str_t                     *name, *known, *likely;
    ngx_guildlog_platform_webhook_t     *webhook, *own;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    name = &ngx_guildlog_webhook_names[lane->bot];
    known = ngx_guildlog_delivery_application(lane->delivery, lane->bot);
    likely = known->len ? known : &conf->applications[lane->bot];

    webhook = list->elts;
    own = NULL;

    for (i = 0; i < list->nelts; i++) {

        if (webhook[i].token.len == 0
            || !ngx_guildlog_webhook_same(&webhook[i].name, name))
        {
            continue;
        }

        given = &webhook[i].application_id;

        if (likely->len == 0 || ngx_guildlog_webhook_same(given, likely)) {
            return &webhook[i];
        }

        if (known->len == 0 && given->len && own == NULL) {
            own = &webhook[i];
        }
    }

    return own;
}


static ngx_uint_t
ngx_guildlog_webhook_same(const ngx_str_t *one, const ngx_str_t *other)
{
    return one->len == other->len
           && ngx_memcmp(one->data, other->data, one->len) == 0;
}


/* where the channel did not tell whose it is, its webhooks may */

static ngx_uint_t
ngx_guildlog_webhook_elsewhere(ngx_guildlog_lane_t *lane, ngx_array_t *list)
{
    ngx_uint_t                        i;
    ngx_guildlog_platform_webhook_t  *webhook;

    webhook = list->elts;

    for (i = 0; i < list->nelts; i++) {
        if (ngx_guildlog_lane_astray(lane, &webhook[i].guild_id)) {
            return 1;
        }
    }

    return 0;
}


void
ngx_guildlog_lane_asked(ngx_guildlog_lane_t *lane, ngx_msec_t ago)
{
    ngx_guildlog_webhook_may_come(lane, NGX_GUILDLOG_WEBHOOK_LOST
                                  - ngx_min(ago, NGX_GUILDLOG_WEBHOOK_LOST));
}


static void
ngx_guildlog_webhook_may_come(ngx_guildlog_lane_t *lane, ngx_msec_t ms)
{
    lane->asked = 1;
    lane->sure_at = ngx_current_msec + ms;
}


/* so long one that was asked for may be made yet */

static ngx_msec_t
ngx_guildlog_webhook_doubt(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  rest;

    rest = (ngx_msec_int_t) (lane->sure_at - ngx_current_msec);

    return lane->asked ? ngx_max(rest, 0) : 0;
}


/* when nothing but this keeps it from being sent */

static void
ngx_guildlog_webhook_note(ngx_guildlog_lane_t *lane)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[4];

    ngx_guildlog_lane_identity(lane, args, numbers);

    lane->next = ngx_guildlog_webhook_create;
    lane->intent_at = ngx_current_msec;

    ngx_guildlog_delivery_say(lane, ngx_guildlog_stmt_delivery_asks, args, 4);
}


static void
ngx_guildlog_webhook_create(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                         rc;
    ngx_guildlog_platform_request_t   request;

    lane->asked = 0;
    lane->webhook.len = 0;

    rc = ngx_guildlog_lane_renew(lane);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_platform_create(lane->work_pool, &lane->channel,
                                  &ngx_guildlog_webhook_names[lane->bot],
                                  &request);
    }

    ngx_guildlog_lane_ask(lane, rc, &request, ngx_guildlog_webhook_created,
                             ngx_guildlog_lane_register);

    if (lane->exchange) {
        ngx_guildlog_client_begin_by(lane->exchange, lane->intent_at
                                                   + NGX_GUILDLOG_LANE_BEGIN);
    }
}


/* a doubtful one is found by the next list */

static void
ngx_guildlog_webhook_created(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_judge(lane, answer, NGX_GUILDLOG_CALL_CREATE,
                            &verdict);

    if (verdict.class == NGX_GUILDLOG_PLATFORM_DOUBT) {
        ngx_guildlog_webhook_may_come(lane,
                                      ngx_max(NGX_GUILDLOG_WEBHOOK_GRACE,
                                              answer->time_ms));
    }

    if (verdict.class != NGX_GUILDLOG_PLATFORM_DONE) {
        ngx_guildlog_lane_failed(lane, &verdict, ngx_guildlog_lane_register);
        return;
    }

    if (ngx_guildlog_lane_astray(lane, &verdict.guild_id)) {
        ngx_guildlog_webhook_undo(lane, &verdict);
        return;
    }

    ngx_guildlog_delivery_named(lane->delivery, lane->bot,
                                &verdict.application_id);

    ngx_guildlog_webhook_keep(lane, &verdict.webhook_id, &verdict.token, 1);
}


/* what was just made stands in a channel of another server: it goes at once */

static void
ngx_guildlog_webhook_undo(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict)
{
    lane->webhook.data = ngx_pstrdup(lane->pool, &verdict->webhook_id);
    lane->webhook.len = verdict->webhook_id.len;
    lane->token.data = ngx_pstrdup(lane->pool, &verdict->token);
    lane->token.len = verdict->token.len;

    if (lane->webhook.data == NULL || lane->token.data == NULL) {
        ngx_str_null(&lane->webhook);
        ngx_str_null(&lane->token);
        ngx_guildlog_lane_foreign(lane);
        return;
    }

    lane->foreign = 1;

    ngx_guildlog_lane_close(lane);
}


/* made: it was just made, and has sent nothing */

static void
ngx_guildlog_webhook_keep(ngx_guildlog_lane_t *lane, const ngx_str_t *id,
    const ngx_str_t *token, ngx_uint_t made)
{
    u_char                               numbers[2 * NGX_INT64_LEN];
    ngx_str_t                            args[7];
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    ngx_guildlog_lane_identity(lane, args, numbers);

    args[4] = *id;

    if (ngx_guildlog_secret_seal(lane->work_pool, conf->key, &lane->id,
                                 token, &args[5])
        != NGX_OK)
    {
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_WEBHOOK_RETRY,
                                ngx_guildlog_lane_register);
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, lane->log, 0,
                  "lane %V of server %V: channel %V has webhook %V",
                  &lane->id, &lane->guild, &lane->channel, id);

    if (made) {
        ngx_str_set(&args[6], "t");
    } else {
        ngx_str_set(&args[6], "f");
    }

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_registered,
                               args, 7);
}


void
ngx_guildlog_lane_ask(ngx_guildlog_lane_t *lane, ngx_int_t built,
    ngx_guildlog_platform_request_t *request,
    ngx_guildlog_client_handler_pt handler, ngx_guildlog_lane_pt again)
{
    ngx_int_t  rc;

    if (built == NGX_OK) {
        rc = ngx_guildlog_lane_call(lane, request, handler);

    } else {
        rc = built;
        ngx_guildlog_delivery_give_back(lane);
    }

    if (rc != NGX_OK) {
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_WEBHOOK_RETRY, again);
    }
}


void
ngx_guildlog_lane_failed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_lane_pt again)
{
    ngx_msec_t  wait;

    ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                  "lane %V of server %V: no webhook for channel %V: %s",
                  &lane->id, &lane->guild, &lane->channel, verdict->reason);

    if (lane->closing && verdict->refused) {
        ngx_guildlog_lane_closed(lane);
        return;
    }

    wait = ngx_guildlog_lane_backoff(++lane->failures);

    switch (verdict->class) {

    case NGX_GUILDLOG_PLATFORM_CHANNEL_GONE:
    case NGX_GUILDLOG_PLATFORM_POISON:
    case NGX_GUILDLOG_PLATFORM_CONTENT:
        ngx_guildlog_lane_broken(lane, "channel_gone");
        return;

    case NGX_GUILDLOG_PLATFORM_FORBIDDEN:
        ngx_guildlog_lane_forbidden(lane, verdict->reason, "forbidden");
        return;

    case NGX_GUILDLOG_PLATFORM_FULL:
        ngx_guildlog_lane_forbidden(lane, verdict->reason, "webhook_404");
        return;

    case NGX_GUILDLOG_PLATFORM_LIMITED:
        wait = verdict->retry_after_ms + NGX_GUILDLOG_LANE_MARGIN;
        break;

    case NGX_GUILDLOG_PLATFORM_TOKEN_BAD:
        ngx_log_error(NGX_LOG_ERR, lane->log, 0,
                      "the platform refuses the token of the %s bot",
                      lane->bot == NGX_GUILDLOG_BOT_PRO ? "pro" : "main");
        ngx_guildlog_lane_waits(lane, "bad_bot_token", NULL,
                                NGX_GUILDLOG_WEBHOOK_MINUTE);
        return;

    default:
        break;
    }

    ngx_guildlog_lane_sleep(lane, wait, again);
}


/* one that was made and is not known has to go, too */

void
ngx_guildlog_lane_close(ngx_guildlog_lane_t *lane)
{
    if (lane->webhook.len == 0 && !lane->asked) {
        ngx_guildlog_lane_closed(lane);
        return;
    }

    if (lane->webhook.len == 0) {
        lane->closing = 1;
        ngx_guildlog_lane_register(lane);
        return;
    }

    if (!lane->verified) {
        lane->closing = 1;
        ngx_guildlog_lane_verify(lane, ngx_guildlog_lane_close);
        return;
    }

    lane->next = ngx_guildlog_webhook_delete;

    ngx_guildlog_delivery_wait(lane);
}


static void
ngx_guildlog_webhook_delete(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                         rc;
    ngx_guildlog_platform_request_t   request;

    rc = ngx_guildlog_lane_renew(lane);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_platform_delete(lane->work_pool, &lane->webhook,
                                          &lane->token, &request);
    }

    ngx_guildlog_lane_ask(lane, rc, &request, ngx_guildlog_webhook_deleted,
                             ngx_guildlog_lane_close);
}


static void
ngx_guildlog_webhook_deleted(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_msec_t              wait;
    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_judge(lane, answer, NGX_GUILDLOG_CALL_DELETE,
                            &verdict);

    switch (verdict.class) {

    case NGX_GUILDLOG_PLATFORM_LIMITED:
    case NGX_GUILDLOG_PLATFORM_AGAIN:
    case NGX_GUILDLOG_PLATFORM_DOUBT:
    case NGX_GUILDLOG_PLATFORM_BLOCKED:
        wait = ngx_guildlog_lane_backoff(++lane->failures);
        ngx_guildlog_lane_sleep(lane, ngx_max(verdict.retry_after_ms
                                              + NGX_GUILDLOG_LANE_MARGIN,
                                              wait),
                                ngx_guildlog_lane_close);
        return;

    default:
        if (lane->foreign) {
            ngx_guildlog_lane_foreign(lane);
            return;
        }

        ngx_guildlog_lane_closed(lane);
    }
}


void
ngx_guildlog_lane_closed(ngx_guildlog_lane_t *lane)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[4];

    ngx_guildlog_lane_identity(lane, args, numbers);

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_closed, args,
                               4);
}


void
ngx_guildlog_lane_lost(ngx_guildlog_lane_t *lane)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[4];

    ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                  "lane %V of server %V: webhook %V is gone",
                  &lane->id, &lane->guild, &lane->webhook);

    ngx_guildlog_lane_identity(lane, args, numbers);

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_lost, args,
                               4);
}


void
ngx_guildlog_lane_broken(ngx_guildlog_lane_t *lane, const char *reason)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[5];

    ngx_guildlog_lane_identity(lane, args, numbers);

    args[4].data = (u_char *) reason;
    args[4].len = ngx_strlen(reason);

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_broken, args,
                               5);
}


/* for want of a permission or of room, which may be given yet */

void
ngx_guildlog_lane_forbidden(ngx_guildlog_lane_t *lane, const char *reason,
    const char *final)
{
    ngx_guildlog_lane_waits(lane, reason, final, NGX_GUILDLOG_WEBHOOK_MINUTE);
}


/* final: for what its entries end, some day; NULL: they wait */

static void
ngx_guildlog_lane_waits(ngx_guildlog_lane_t *lane, const char *reason,
    const char *final, ngx_msec_t ms)
{
    u_char     numbers[2 * NGX_INT64_LEN], wait[NGX_INT64_LEN];
    ngx_str_t  args[7];

    ngx_guildlog_lane_identity(lane, args, numbers);

    args[4].data = (u_char *) reason;
    args[4].len = ngx_strlen(reason);
    args[5].data = (u_char *) final;
    args[5].len = final ? ngx_strlen(final) : 0;
    args[6].data = wait;
    args[6].len = ngx_sprintf(wait, "%M", ms) - wait;

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_waits, args,
                               7);
}


void
ngx_guildlog_lane_identity(ngx_guildlog_lane_t *lane, ngx_str_t *args,
    u_char *numbers)
{
    args[0] = lane->guild;
    args[1] = lane->id;
    args[2].data = numbers;
    args[2].len = ngx_sprintf(numbers, "%L", lane->fence) - numbers;
    args[3].data = numbers + NGX_INT64_LEN;
    args[3].len = ngx_sprintf(args[3].data, "%L", lane->step)
                  - args[3].data;
}
