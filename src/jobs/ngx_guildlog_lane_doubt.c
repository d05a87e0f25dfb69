
/*
 * A message that may have been applied.  The lane reads what the channel has
 * after the message before it, and not before a request could no longer be
 * under way.  That time counts from the attempt, whoever made it.  A message
 * that is not there is looked for twice, for a platform that had stood still
 * may answer this call before it applies the message.  The first message of a
 * lane has none before it: then any other message of the channel shows that
 * the channel can be read.  If reading proves nothing, the lane goes on,
 * and the message is looked for again later, by a lane made for it alone.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


#define LANE_DOUBT_AGAIN   500       /* ms, from one look to the next */
#define LANE_DOUBT_RETRY   5000      /* ms */
#define LANE_DOUBT_LISTS   3         /* that cannot be read */
#define LANE_DOUBT_LONG    3600000   /* ms, without any list */
#define LANE_DOUBT_EARLY   600000    /* ms, clocks differ */
#define LANE_DOUBT_PAGE    100
#define LANE_DOUBT_EPOCH   1420070400000ULL


static void lane_doubt_answer(void *data,
    ngx_guildlog_client_response_t *answer);
static void lane_doubt_unread(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer);
static ngx_uint_t lane_doubt_page(ngx_guildlog_lane_t *lane, ngx_array_t *list);
static uint64_t lane_doubt_from(ngx_guildlog_lane_t *lane);
static void lane_doubt_message(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message, uint64_t id);
static ngx_uint_t lane_doubt_late(ngx_guildlog_lane_t *lane);
static void lane_doubt_end(ngx_guildlog_lane_t *lane);
static void lane_doubt_present(ngx_guildlog_lane_t *lane);
static void lane_doubt_absent(ngx_guildlog_lane_t *lane);
static void lane_doubt_known(ngx_guildlog_lane_t *lane);
static void lane_doubt_unproved(ngx_guildlog_lane_t *lane);


/*
 * It is known when the intent was committed, and that its sender began within
 * NGX_GUILDLOG_LANE_BEGIN, or not at all.  So the wait ends at the same time
 * for everybody, however often the lane is taken over.  A platform that was
 * slow to answer may be slow to apply.
 */

void
ngx_guildlog_lane_doubt(ngx_guildlog_lane_t *lane)
{
    ngx_msec_t      end;
    ngx_msec_int_t  rest;

    lane->absent = 0;
    lane->failures = 0;

    end = lane->attempt_at + NGX_GUILDLOG_LANE_ANSWER;

    if (lane->taken) {
        end += NGX_GUILDLOG_LANE_BEGIN;
        lane->sure_at = end;

    } else {
        lane->sure_at = ngx_current_msec
                        + ngx_max(NGX_GUILDLOG_LANE_ANSWER, 2 * lane->took);
    }

    /* the ids of its entries tell the message from others of the webhook */

    if (lane->nids == 0) {
        lane_doubt_unproved(lane);
        return;
    }

    rest = (ngx_msec_int_t) (end - ngx_current_msec);

    ngx_guildlog_delivery_queue_sleep(lane, ngx_max(rest, 0),
                                      NGX_GUILDLOG_STATE_DOUBT_ASK);
}


void
ngx_guildlog_lane_doubt_ask(ngx_guildlog_lane_t *lane)
{
    if (lane->env->conf->bots[lane->bot].len == 0) {
        lane_doubt_unproved(lane);
        return;
    }

    lane->proved = 0;
    lane->blind = 0;
    lane->found = 0;
    lane->cursor = lane->last ? lane->last - 1 : 0;

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_DOUBT_READ);
}


void
ngx_guildlog_lane_doubt_read(ngx_guildlog_lane_t *lane)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  after;

    after.data = buf;
    after.len = lane->cursor ? ngx_sprintf(buf, "%uL", lane->cursor) - buf : 0;

    ngx_guildlog_lane_call_ask(lane, NGX_GUILDLOG_CALL_READ, &lane->channel,
                               &after, lane_doubt_answer,
                               NGX_GUILDLOG_STATE_DOUBT_ASK);
}


static void
lane_doubt_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_array_t             *list;
    ngx_guildlog_verdict_t   verdict;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_READ,
                                 &verdict);

    list = NULL;

    switch (verdict.class) {

    case NGX_GUILDLOG_VERDICT_DONE:
        list = ngx_guildlog_platform_messages(lane->work_pool, verdict.json);
        break;

    case NGX_GUILDLOG_VERDICT_LIMITED:
        if (lane->lone) {
            lane_doubt_unproved(lane);
            return;
        }

        ngx_guildlog_lane_tell_limited(lane, verdict.retry_after_ms,
                                       NGX_GUILDLOG_STATE_DOUBT_ASK);
        return;

    case NGX_GUILDLOG_VERDICT_AGAIN:
    case NGX_GUILDLOG_VERDICT_DOUBT:
    case NGX_GUILDLOG_VERDICT_BLOCKED:
        break;

    default:
        lane_doubt_unproved(lane);
        return;
    }

    if (list == NULL) {
        lane_doubt_unread(lane, answer);
        return;
    }

    if (lane_doubt_page(lane, list)) {
        ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_DOUBT_READ);
        return;
    }

    lane_doubt_end(lane);
}


/*
 * An outage ends, but an answer that cannot be read may stay so for good, and
 * so may an answer that is not the channel's.  Then the lane goes on.
 */

static void
lane_doubt_unread(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer)
{
    uint64_t    end;
    ngx_uint_t  vain;

    vain = 0;

    if (answer->outcome == NGX_GUILDLOG_CLIENT_ANSWERED) {
        end = lane->attempt_ms + LANE_DOUBT_LONG;
        lane->failures += answer->status / 100 == 2;

        vain = lane->failures >= LANE_DOUBT_LISTS
               || ngx_guildlog_clock_wall_ms() > end;
    }

    if (lane->lone || vain) {
        lane_doubt_unproved(lane);
        return;
    }

    ngx_guildlog_delivery_queue_sleep(lane, LANE_DOUBT_RETRY,
                                      NGX_GUILDLOG_STATE_DOUBT_ASK);
}


/*
 * 1: the next page may have more.  A full page of messages that were not asked
 * for would come for ever, and does not show that the message is absent.  Where
 * no message before it is known, the newest ones are read: one that is older
 * than the webhook also shows that the channel can be read.
 */

static ngx_uint_t
lane_doubt_page(ngx_guildlog_lane_t *lane, ngx_array_t *list)
{
    uint64_t                          id, from, after, oldest;
    ngx_uint_t                        i, full;
    ngx_guildlog_platform_message_t  *message;

    message = list->elts;
    from = lane_doubt_from(lane);
    after = lane->cursor;
    oldest = 0;
    full = list->nelts >= LANE_DOUBT_PAGE;

    for (i = 0; i < list->nelts; i++) {
        id = ngx_guildlog_lane_row_id(&message[i].id);

        lane->cursor = ngx_max(lane->cursor, id);
        oldest = i ? ngx_min(oldest, id) : id;

        if (lane->last == 0 || id == lane->last) {
            lane->proved = 1;
        }

        if (id > from) {
            lane_doubt_message(lane, &message[i], id);
        }
    }

    if (after == 0 && (!full || oldest <= from)) {
        return 0;
    }

    if (after == 0) {
        lane->cursor = from;
        lane->proved = 0;
        lane->blind = 0;
        return lane->found == 0;
    }

    if (full && lane->cursor == after) {
        lane->proved = 0;
        return 0;
    }

    return full && lane->found == 0 && !lane_doubt_late(lane);
}


/* the message has a greater id than that */

static uint64_t
lane_doubt_from(ngx_guildlog_lane_t *lane)
{
    uint64_t  early;

    if (lane->last) {
        return lane->last;
    }

    early = (lane->attempt_ms - LANE_DOUBT_EARLY - LANE_DOUBT_EPOCH) << 22;

    return ngx_max(early, ngx_guildlog_lane_row_id(&lane->webhook));
}


/* a message of the webhook may have no text, if the bot may not read texts */

static void
lane_doubt_message(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message, uint64_t id)
{
    u_char      buf[NGX_INT64_LEN];
    ngx_str_t   entry;
    ngx_uint_t  i;

    if (!ngx_guildlog_str_eq(&message->webhook_id, &lane->webhook)) {
        return;
    }

    if (message->content.len == 0 && message->footer.len == 0) {
        lane->blind++;
        lane->hidden = id;
        return;
    }

    if (lane->found && id >= lane->found) {
        return;
    }

    entry.data = buf;

    for (i = 0; i < lane->nids; i++) {
        entry.len = ngx_sprintf(buf, "%uL", lane->ids[i]) - buf;

        if (ngx_guildlog_message_names(&message->content, &message->footer,
                                       &entry))
        {
            lane->found = id;
            return;
        }
    }
}


/* the messages read now were sent after the lane had gone on */

static ngx_uint_t
lane_doubt_late(ngx_guildlog_lane_t *lane)
{
    return lane->lone
           && (lane->cursor >> 22) + LANE_DOUBT_EPOCH
              > lane->attempt_ms + LANE_DOUBT_EARLY;
}


static void
lane_doubt_end(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t            rest;
    ngx_guildlog_lane_args_t  args;

    if (lane->found) {
        lane_doubt_present(lane);
        return;
    }

    /*
     * If the webhook sent one message since the one before, and nothing else
     * was sent by it, it is this one.  After an attempt of which nothing is
     * known that is not so: that message may have had fewer entries.
     */

    if (lane->blind == 1 && !lane->lone
        && (!lane->env->conf->resend || lane->attempts <= 1))
    {
        ngx_guildlog_lane_tell_args(lane, &args);

        ngx_guildlog_lane_tell(lane, ngx_guildlog_stmt_delivery_sole, &args,
                               NGX_GUILDLOG_STATE_DOUBT_SOLE);
        return;
    }

    rest = (ngx_msec_int_t) (lane->sure_at - ngx_current_msec);

    if (!lane->lone && (!lane->absent || rest > 0)) {
        lane->absent = 1;

        rest = ngx_max(LANE_DOUBT_AGAIN, rest);
        ngx_guildlog_delivery_queue_sleep(lane, rest,
                                          NGX_GUILDLOG_STATE_DOUBT_ASK);
        return;
    }

    if (lane->proved && lane->blind == 0) {
        lane_doubt_absent(lane);
        return;
    }

    lane_doubt_unproved(lane);
}


/* denied: another message may have been sent by the webhook.  Race: the channel
   was read after that was noted */

void
ngx_guildlog_lane_doubt_sole(ngx_guildlog_lane_t *lane)
{
    if (lane->denied) {
        lane_doubt_unproved(lane);
        return;
    }

    lane->found = lane->hidden;

    lane_doubt_present(lane);
}


static void
lane_doubt_present(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_traffic_doubt(lane->env->traffic, NGX_GUILDLOG_DOUBT_PRESENT);

    if (lane->lone) {
        lane_doubt_known(lane);
        return;
    }

    lane->last = lane->found;
    ngx_guildlog_lane_outcome_decide(lane, lane->upto,
                                     NGX_GUILDLOG_LANE_DELIVERED);
}


static void
lane_doubt_absent(ngx_guildlog_lane_t *lane)
{
    ngx_msec_t  wait;

    ngx_guildlog_traffic_doubt(lane->env->traffic, NGX_GUILDLOG_DOUBT_ABSENT);

    if (lane->lone) {
        lane_doubt_known(lane);
        return;
    }

    /* a message that got lost more than once is not sent as fast as that */

    wait = lane->attempts > 1 ? ngx_guildlog_lane_call_backoff(lane->attempts)
                              : 0;

    ngx_guildlog_lane_outcome_refused(lane, wait);
}


/* an unconfirmed message was found, or was never applied */

static void
lane_doubt_known(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_args_t  args;

    ngx_log_error(NGX_LOG_NOTICE, lane->env->log, 0,
                  "lane %V of server %V: an unconfirmed message was %s",
                  &lane->id, &lane->guild,
                  lane->found ? "found" : "never applied");

    ngx_guildlog_lane_tell_args(lane, &args);
    ngx_guildlog_lane_tell_number(&args, 4, lane->head + 1);

    ngx_str_null(&args.value[5]);

    if (lane->found) {
        ngx_guildlog_lane_tell_number(&args, 5, lane->found);
    }

    ngx_guildlog_lane_tell_end(lane, ngx_guildlog_stmt_delivery_proved, &args);
}


static void
lane_doubt_unproved(ngx_guildlog_lane_t *lane)
{
    ngx_msec_t  wait;

    if (lane->lone) {
        ngx_guildlog_delivery_queue_forget(lane);
        return;
    }

    ngx_guildlog_traffic_doubt(lane->env->traffic, NGX_GUILDLOG_DOUBT_UNPROVED);

    ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                  "lane %V of server %V: it cannot be proved whether its "
                  "last message was applied", &lane->id, &lane->guild);

    if (lane->env->conf->resend) {
        wait = ngx_guildlog_lane_call_backoff(lane->attempts);
        ngx_guildlog_lane_outcome_refused(lane, wait);
        return;
    }

    lane->work.reason = "unconfirmed";

    ngx_guildlog_lane_outcome_decide(lane, lane->upto,
                                     NGX_GUILDLOG_LANE_UNKNOWN);
}
