
/*
 * A message that may have been applied: what the channel has after the one
 * before it, read no sooner than a request may still be on its way.  The time
 * for that counts from the attempt, whoever made it.  The message is absent if
 * it is not there twice, for a platform that had stood still may answer this
 * before it does that.  Before the first one of a lane there is none: what else
 * the channel has shows that it can be read.  If reading proves nothing the
 * lane goes on, and the message is looked for again later, by a lane made for
 * it alone.
 */

#include "jobs/ngx_guildlog_lane.h"


#define NGX_GUILDLOG_DOUBT_GRACE   10000     /* ms, since the attempt */
#define NGX_GUILDLOG_DOUBT_AGAIN   500       /* ms, from one look to the next */
#define NGX_GUILDLOG_DOUBT_RETRY   5000      /* ms */
#define NGX_GUILDLOG_DOUBT_LISTS   3         /* that cannot be read */
#define NGX_GUILDLOG_DOUBT_LONG    3600000   /* ms, without any list */
#define NGX_GUILDLOG_DOUBT_EARLY   600000    /* ms, clocks differ */
#define NGX_GUILDLOG_DOUBT_PAGE    100
#define NGX_GUILDLOG_DOUBT_EPOCH   1420070400000ULL


static void ngx_guildlog_doubt_ask(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_read(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_answer(void *data,
    ngx_guildlog_client_response_t *answer);
static void ngx_guildlog_doubt_unread(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer);
static ngx_uint_t ngx_guildlog_doubt_page(ngx_guildlog_lane_t *lane,
    ngx_array_t *list);
static uint64_t ngx_guildlog_doubt_from(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_message(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message, uint64_t id);
static ngx_uint_t ngx_guildlog_doubt_late(ngx_guildlog_lane_t *lane);
static ngx_uint_t ngx_guildlog_doubt_names(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message);
static void ngx_guildlog_doubt_end(ngx_guildlog_lane_t *lane);
static ngx_uint_t ngx_guildlog_doubt_one(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_sole(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_present(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_absent(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_known(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_doubt_unproved(ngx_guildlog_lane_t *lane);


/*
 * When an intent was committed is known, and that its sender began within
 * NGX_GUILDLOG_LANE_BEGIN, or not at all: the wait ends at the same time for
 * everybody, however often the lane is taken over.  Who was slow to answer may
 * be slow to apply.
 */

void
ngx_guildlog_lane_doubt(ngx_guildlog_lane_t *lane, ngx_msec_t took)
{
    ngx_msec_t      end;
    ngx_msec_int_t  rest;

    lane->absent = 0;
    lane->failures = 0;

    end = lane->attempt_at + NGX_GUILDLOG_DOUBT_GRACE;

    if (lane->taken) {
        end += NGX_GUILDLOG_LANE_BEGIN;
        lane->sure_at = end;

    } else {
        lane->sure_at = ngx_current_msec
                        + ngx_max(NGX_GUILDLOG_DOUBT_GRACE, 2 * took);
    }

    /* its entries tell the message from others of the same webhook */

    if (lane->nids == 0) {
        ngx_guildlog_doubt_unproved(lane);
        return;
    }

    rest = (ngx_msec_int_t) (end - ngx_current_msec);

    ngx_guildlog_lane_sleep(lane, ngx_max(rest, 0), ngx_guildlog_doubt_ask);
}


static void
ngx_guildlog_doubt_ask(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    if (conf->bots[lane->bot].len == 0) {
        ngx_guildlog_doubt_unproved(lane);
        return;
    }

    lane->proved = 0;
    lane->blind = 0;
    lane->found = 0;
    lane->cursor = lane->last ? lane->last - 1 : 0;

    lane->next = ngx_guildlog_doubt_read;

    ngx_guildlog_delivery_wait(lane);
}


static void
ngx_guildlog_doubt_read(ngx_guildlog_lane_t *lane)
{
    u_char                            buf[NGX_INT64_LEN];
    ngx_int_t                         rc;
    ngx_str_t                         after;
    ngx_guildlog_platform_request_t   request;

    after.data = buf;
    after.len = lane->cursor ? ngx_sprintf(buf, "%uL", lane->cursor) - buf : 0;

    rc = ngx_guildlog_lane_renew(lane);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_platform_read(lane->work_pool, &lane->channel,
                                        &after, &request);
    }

    if (rc == NGX_OK) {
        rc = ngx_guildlog_lane_call(lane, &request,
                                    ngx_guildlog_doubt_answer);

    } else {
        ngx_guildlog_delivery_give_back(lane);
    }

    if (rc != NGX_OK) {
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_DOUBT_RETRY,
                                ngx_guildlog_doubt_ask);
    }
}


static void
ngx_guildlog_doubt_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_array_t             *list;
    ngx_guildlog_verdict_t   verdict;

    ngx_guildlog_lane_judge(lane, answer, NGX_GUILDLOG_CALL_READ, &verdict);

    list = NULL;

    switch (verdict.class) {

    case NGX_GUILDLOG_PLATFORM_DONE:
        list = ngx_guildlog_platform_messages(lane->work_pool, &answer->body);
        break;

    case NGX_GUILDLOG_PLATFORM_LIMITED:
        if (lane->lone) {
            ngx_guildlog_doubt_unproved(lane);
            return;
        }

        ngx_guildlog_lane_sleep(lane, verdict.retry_after_ms
                                      + NGX_GUILDLOG_LANE_MARGIN,
                                ngx_guildlog_doubt_ask);
        return;

    case NGX_GUILDLOG_PLATFORM_AGAIN:
    case NGX_GUILDLOG_PLATFORM_DOUBT:
    case NGX_GUILDLOG_PLATFORM_BLOCKED:
        break;

    default:
        ngx_guildlog_doubt_unproved(lane);
        return;
    }

    if (list == NULL) {
        ngx_guildlog_doubt_unread(lane, answer);
        return;
    }

    if (ngx_guildlog_doubt_page(lane, list)) {
        lane->next = ngx_guildlog_doubt_read;
        ngx_guildlog_delivery_wait(lane);
        return;
    }

    ngx_guildlog_doubt_end(lane);
}


/*
 * An outage ends, but an answer that cannot be read may be so for good, and so
 * may one that is none of the channel's.  What is looked for again later does
 * not keep others from being looked for.
 */

static void
ngx_guildlog_doubt_unread(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer)
{
    uint64_t    end;
    ngx_uint_t  vain;

    vain = 0;

    if (answer->outcome == NGX_GUILDLOG_CLIENT_ANSWERED) {
        end = lane->attempt_ms + NGX_GUILDLOG_DOUBT_LONG;
        lane->failures += answer->status / 100 == 2;

        vain = lane->failures >= NGX_GUILDLOG_DOUBT_LISTS
               || ngx_guildlog_lane_clock() > end;
    }

    if (lane->lone || vain) {
        ngx_guildlog_doubt_unproved(lane);
        return;
    }

    ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_DOUBT_RETRY,
                            ngx_guildlog_doubt_ask);
}


/*
 * 1: there may be more behind it.  A full page of what was not asked for would
 * come for ever, and tells of nothing that it is absent.  Where no message is
 * known that came before, the newest are read, for one that is older than the
 * webhook shows as well that the channel can be read.
 */

static ngx_uint_t
ngx_guildlog_doubt_page(ngx_guildlog_lane_t *lane, ngx_array_t *list)
{
    uint64_t                          id, from, after, oldest;
    ngx_uint_t                        i, full;
    ngx_guildlog_platform_message_t  *message;

    message = list->elts;
    from = ngx_guildlog_doubt_from(lane);
    after = lane->cursor;
    oldest = 0;
    full = list->nelts >= NGX_GUILDLOG_DOUBT_PAGE;

    for (i = 0; i < list->nelts; i++) {
        id = ngx_guildlog_lane_number(&message[i].id);

        lane->cursor = ngx_max(lane->cursor, id);
        oldest = i ? ngx_min(oldest, id) : id;

        if (lane->last == 0 || id == lane->last) {
            lane->proved = 1;
        }

        if (id > from) {
            ngx_guildlog_doubt_message(lane, &message[i], id);
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

    return full && lane->found == 0 && !ngx_guildlog_doubt_late(lane);
}


/* what is looked for came after that */

static uint64_t
ngx_guildlog_doubt_from(ngx_guildlog_lane_t *lane)
{
    uint64_t  early;

    if (lane->last) {
        return lane->last;
    }

    early = (lane->attempt_ms - NGX_GUILDLOG_DOUBT_EARLY
             - NGX_GUILDLOG_DOUBT_EPOCH) << 22;

    return ngx_max(early, ngx_guildlog_lane_number(&lane->webhook));
}


/* one of the webhook's may show nothing of itself, for want of a permission */

static void
ngx_guildlog_doubt_message(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message, uint64_t id)
{
    if (message->webhook_id.len != lane->webhook.len
        || ngx_memcmp(message->webhook_id.data, lane->webhook.data,
                      lane->webhook.len)
           != 0)
    {
        return;
    }

    if (message->content.len == 0 && message->footer.len == 0) {
        lane->blind++;
        lane->hidden = id;
        return;
    }

    if (ngx_guildlog_doubt_names(lane, message)
        && (lane->found == 0 || id < lane->found))
    {
        lane->found = id;
    }
}


/* what comes now was sent after the lane had gone on */

static ngx_uint_t
ngx_guildlog_doubt_late(ngx_guildlog_lane_t *lane)
{
    return lane->lone
           && (lane->cursor >> 22) + NGX_GUILDLOG_DOUBT_EPOCH
              > lane->attempt_ms + NGX_GUILDLOG_DOUBT_EARLY;
}


static ngx_uint_t
ngx_guildlog_doubt_names(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_platform_message_t *message)
{
    u_char      buf[NGX_INT64_LEN];
    ngx_str_t   id;
    ngx_uint_t  i;

    id.data = buf;

    for (i = 0; i < lane->nids; i++) {
        id.len = ngx_sprintf(buf, "%uL", lane->ids[i]) - buf;

        if (ngx_guildlog_message_names(&message->content, &message->footer,
                                       &id))
        {
            return 1;
        }
    }

    return 0;
}


static void
ngx_guildlog_doubt_end(ngx_guildlog_lane_t *lane)
{
    u_char     numbers[2 * NGX_INT64_LEN];
    ngx_str_t  args[4];

    if (lane->found) {
        ngx_guildlog_doubt_present(lane);
        return;
    }

    if (ngx_guildlog_doubt_one(lane)) {
        ngx_guildlog_lane_identity(lane, args, numbers);

        lane->next = ngx_guildlog_doubt_sole;

        ngx_guildlog_delivery_say(lane, ngx_guildlog_stmt_delivery_sole, args,
                                  4);
        return;
    }

    if (lane->proved && lane->blind == 0) {
        ngx_guildlog_doubt_absent(lane);
        return;
    }

    ngx_guildlog_doubt_unproved(lane);
}


/*
 * The only one that the webhook sent since the one before is this one, if
 * nothing else was sent by it.  An attempt before, of which nothing is known,
 * may have had fewer entries.
 */

static ngx_uint_t
ngx_guildlog_doubt_one(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    return lane->blind == 1 && !lane->lone
           && (!conf->resend || lane->attempts <= 1);
}


/* the channel was read after what else may have been sent was noted */

static void
ngx_guildlog_doubt_sole(ngx_guildlog_lane_t *lane)
{
    if (lane->denied) {
        ngx_guildlog_doubt_unproved(lane);
        return;
    }

    lane->found = lane->hidden;

    ngx_guildlog_doubt_present(lane);
}


static void
ngx_guildlog_doubt_present(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_traffic_doubt(ngx_guildlog_delivery_traffic(lane->delivery),
                               NGX_GUILDLOG_DOUBT_PRESENT);

    if (lane->lone) {
        ngx_guildlog_doubt_known(lane);
        return;
    }

    lane->last = lane->found;
    ngx_guildlog_lane_decide(lane, lane->upto, NGX_GUILDLOG_LANE_DELIVERED);
}


static void
ngx_guildlog_doubt_absent(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  rest;

    rest = (ngx_msec_int_t) (lane->sure_at - ngx_current_msec);

    if (!lane->lone && (!lane->absent || rest > 0)) {
        lane->absent = 1;

        ngx_guildlog_lane_sleep(lane, ngx_max(NGX_GUILDLOG_DOUBT_AGAIN, rest),
                                ngx_guildlog_doubt_ask);
        return;
    }

    ngx_guildlog_traffic_doubt(ngx_guildlog_delivery_traffic(lane->delivery),
                               NGX_GUILDLOG_DOUBT_ABSENT);

    if (lane->lone) {
        ngx_guildlog_doubt_known(lane);
        return;
    }

    /* what got lost more than once is not sent as fast as it gets lost */

    ngx_guildlog_lane_refused(lane, lane->attempts > 1
                                    ? ngx_guildlog_lane_backoff(lane->attempts)
                                    : 0);
}


/* what was unconfirmed: found, or never applied */

static void
ngx_guildlog_doubt_known(ngx_guildlog_lane_t *lane)
{
    u_char      numbers[3][NGX_INT64_LEN];
    ngx_str_t   args[5];

    ngx_log_error(NGX_LOG_NOTICE, lane->log, 0,
                  "lane %V of server %V: an unconfirmed message was %s",
                  &lane->id, &lane->guild,
                  lane->found ? "found" : "never applied");

    args[0] = lane->guild;
    args[1] = lane->id;
    args[2].data = numbers[0];
    args[2].len = ngx_sprintf(numbers[0], "%L", lane->fence) - numbers[0];
    args[3].data = numbers[1];
    args[3].len = ngx_sprintf(numbers[1], "%L", lane->head + 1) - numbers[1];

    ngx_str_null(&args[4]);

    if (lane->found) {
        args[4].data = numbers[2];
        args[4].len = ngx_sprintf(numbers[2], "%uL", lane->found)
                      - numbers[2];
    }

    ngx_guildlog_delivery_turn(lane, ngx_guildlog_stmt_delivery_proved, args,
                               5);
}


static void
ngx_guildlog_doubt_unproved(ngx_guildlog_lane_t *lane)
{
    const ngx_guildlog_delivery_conf_t  *conf;

    if (lane->lone) {
        ngx_guildlog_delivery_forget(lane);
        return;
    }

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    ngx_guildlog_traffic_doubt(ngx_guildlog_delivery_traffic(lane->delivery),
                               NGX_GUILDLOG_DOUBT_UNPROVED);

    ngx_log_error(NGX_LOG_WARN, lane->log, 0,
                  "lane %V of server %V: it cannot be proved whether its "
                  "last message was applied", &lane->id, &lane->guild);

    if (conf->resend) {
        ngx_guildlog_lane_refused(lane,
                                  ngx_guildlog_lane_backoff(lane->attempts));
        return;
    }

    lane->work.reason = "unconfirmed";

    ngx_guildlog_lane_decide(lane, lane->upto, NGX_GUILDLOG_LANE_UNKNOWN);
}
