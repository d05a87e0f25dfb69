
/*
 * The life of a lane, to be read top-down: wait for a permit, look, pack,
 * commit the intent, send, judge, commit the outcome, and again.  A lane has
 * entries at hand only while it has a permit, for many lanes wait.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"
#include "jobs/ngx_guildlog_lane.h"
#include "jobs/ngx_guildlog_delivery_loop.h"


#define LANE_SHORT     1000     /* ms */


#define LANE_OUTCOME_SLOW      60000    /* ms, after a shared limit */
#define LANE_OUTCOME_PACE      2000     /* ms, meanwhile */


static void lane_go(ngx_guildlog_lane_t *lane);
static void lane_line_up(ngx_guildlog_lane_t *lane);
static void lane_look(ngx_guildlog_lane_t *lane);
static void lane_looked(ngx_guildlog_lane_t *lane);
static void lane_pack(ngx_guildlog_lane_t *lane);
static ngx_int_t lane_build(ngx_guildlog_lane_t *lane);
static ngx_int_t lane_keep(ngx_guildlog_lane_t *lane,
    const ngx_guildlog_message_body_t *body);
static void lane_begin(ngx_guildlog_lane_t *lane);
static void lane_post(ngx_guildlog_lane_t *lane);
static void lane_next(ngx_guildlog_lane_t *lane);
static void lane_rest(ngx_guildlog_lane_t *lane);
static uint64_t lane_entry_id(const ngx_guildlog_lane_entry_t *entry);
static void lane_outcome_posted(void *data,
    ngx_guildlog_client_response_t *answer);
static void lane_outcome_pace(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_outcome_of(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict, ngx_guildlog_client_response_t *answer);
static void lane_outcome_isolate(ngx_guildlog_lane_t *lane,
    ngx_guildlog_verdict_t *verdict);
static void lane_outcome_end(ngx_guildlog_lane_t *lane);
static ngx_int_t lane_row_read(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static void lane_row_ids(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static ngx_int_t lane_row_copy(ngx_pool_t *pool, ngx_str_t *to,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_uint_t column);
static void lane_memory_drop(ngx_guildlog_lane_t *lane, ngx_uint_t n);
static void lane_memory_shed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_entry_t *entry);
static void lane_memory_spend(ngx_guildlog_lane_t *lane);
static void lane_memory_hold(ngx_guildlog_lane_t *lane, ssize_t bytes);


#define lane_may(state)  (1 << NGX_GUILDLOG_STATE_##state)

/* an outcome is committed: alone, with the next intent, or with a look */
#define LANE_ENDS  (lane_may(REST) | lane_may(NEXT) | lane_may(LOOKED))


/* in firing order, by ngx_guildlog_lane_state_e */

const ngx_guildlog_lane_state_t
    ngx_guildlog_lane_states[NGX_GUILDLOG_STATE_LAST] =
{
    { "starts", lane_go,
      lane_may(DOUBT) | lane_may(REGISTER) | lane_may(LINE_UP) },

    { "verifies its channel", ngx_guildlog_lane_verify_ask,
      lane_may(VERIFIED) | lane_may(LINE_UP) | lane_may(REGISTER)
      | lane_may(CLOSE) },
    { "told what it verified", ngx_guildlog_lane_verify_told,
      lane_may(LINE_UP) | lane_may(REGISTER) | lane_may(CLOSE) },

    { "needs a webhook", ngx_guildlog_lane_webhook_register,
      lane_may(VERIFY) | lane_may(LIST) },
    { "lists webhooks", ngx_guildlog_lane_webhook_list,
      lane_may(REGISTER) | lane_may(NOTE) },
    { "notes that it asks for a webhook", ngx_guildlog_lane_webhook_note,
      lane_may(CREATE) },
    { "asks for a webhook", ngx_guildlog_lane_webhook_create,
      lane_may(REGISTER) | lane_may(CLOSE) },

    { "lines up", lane_line_up,
      lane_may(VERIFY) | lane_may(LOOK) },
    { "looks", lane_look, lane_may(LOOKED) },
    { "has looked", lane_looked,
      lane_may(LINE_UP) | lane_may(REGISTER) | lane_may(POST) | lane_may(CLOSE)
      | LANE_ENDS },
    { "sends", lane_post,
      lane_may(DOUBT) | lane_may(LINE_UP) | LANE_ENDS },

    { "is in doubt", ngx_guildlog_lane_doubt,
      lane_may(DOUBT_ASK) | LANE_ENDS },
    { "asks whether its message arrived", ngx_guildlog_lane_doubt_ask,
      lane_may(DOUBT_READ) | LANE_ENDS },
    { "reads its channel", ngx_guildlog_lane_doubt_read,
      lane_may(DOUBT_ASK) | lane_may(DOUBT_READ) | lane_may(DOUBT_SOLE)
      | LANE_ENDS },
    { "knows what else was sent", ngx_guildlog_lane_doubt_sole, LANE_ENDS },

    { "sends at once", lane_next, lane_may(POST) | LANE_ENDS },
    { "has ended a message", lane_rest,
      lane_may(LINE_UP) | lane_may(CLOSE) },

    { "closes", ngx_guildlog_lane_webhook_close,
      lane_may(REGISTER) | lane_may(VERIFY) | lane_may(DELETE) },
    { "deletes its webhook", ngx_guildlog_lane_webhook_delete,
      lane_may(CLOSE) },
    { "goes", ngx_guildlog_delivery_queue_forget, 0 }
};


ngx_int_t
ngx_guildlog_lane_create(ngx_guildlog_delivery_t *delivery,
    const ngx_guildlog_lane_env_t *env, ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_guildlog_lane_t **created)
{
    ngx_int_t             rc;
    ngx_pool_t           *pool;
    ngx_guildlog_lane_t  *lane;

    pool = ngx_create_pool(sizeof(ngx_guildlog_lane_t) + 1024, env->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    lane = ngx_pcalloc(pool, sizeof(ngx_guildlog_lane_t));
    if (lane == NULL) {
        ngx_destroy_pool(pool);
        return NGX_ERROR;
    }

    lane->fd = (ngx_socket_t) -1;
    lane->delivery = delivery;
    lane->env = env;
    lane->pool = pool;
    lane->work.peek = -1;

    rc = lane_row_read(lane, result, row);

    if (rc != NGX_OK) {
        ngx_guildlog_lane_memory_free(lane);
        return rc;
    }

    *created = lane;

    return NGX_OK;
}


void
ngx_guildlog_lane_start(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_delivery_queue_sleep(lane,
                                      ngx_guildlog_lane_outcome_wait(lane),
                                      NGX_GUILDLOG_STATE_START);
}


void
ngx_guildlog_lane_to(ngx_guildlog_lane_t *lane, ngx_guildlog_lane_state_e state)
{
    ngx_guildlog_assert(state == lane->state
                        || state == NGX_GUILDLOG_STATE_FORGET
                        || ngx_guildlog_lane_states[lane->state].next
                           & (1 << state));

    lane->state = state;
}


static void
lane_go(ngx_guildlog_lane_t *lane)
{
    if (lane->lone) {
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_DOUBT);
        return;
    }

    /* Race: it may have been found before its outcome was committed.  The step
       tells whether it is still in doubt */

    if (lane->upto > lane->head) {
        ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_DOUBT);
        return;
    }

    if (lane->registering) {
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_LINE_UP);
}


static void
lane_line_up(ngx_guildlog_lane_t *lane)
{
    if (lane->webhook.len && !lane->verified) {
        ngx_guildlog_lane_verify(lane, NGX_GUILDLOG_STATE_LINE_UP);
        return;
    }

    ngx_guildlog_delivery_queue_wait(lane, NGX_GUILDLOG_STATE_LOOK);
}


static void
lane_look(ngx_guildlog_lane_t *lane)
{
    lane->work.peek = lane->head;

    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_LOOKED);
}


static void
lane_looked(ngx_guildlog_lane_t *lane)
{
    /* a recording transaction holds the lane, or its entries expired: it looks
       again soon */

    if (lane->n == 0) {
        lane->failures = ngx_min(lane->failures + 1, 8);
        ngx_guildlog_delivery_queue_sleep(lane, 10 << lane->failures,
                                          NGX_GUILDLOG_STATE_LINE_UP);
        return;
    }

    lane->failures = 0;

    lane_pack(lane);
}


static void
lane_pack(ngx_guildlog_lane_t *lane)
{
    ngx_uint_t  n;

    for (n = 0; n < lane->n && lane->entries[n].expired; n++) { /* void */ }

    if (n) {
        lane->work.reason = "expired";
        ngx_guildlog_lane_outcome_decide(lane, lane->entries[n - 1].seq,
                                         NGX_GUILDLOG_LANE_NOT_DELIVERED);
        return;
    }

    /* its channel was given up before it had a webhook */

    if (lane->webhook.len == 0) {
        ngx_guildlog_delivery_queue_give_back(lane);
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_REGISTER);
        return;
    }

    switch (lane_build(lane)) {

    case NGX_OK:
        lane_begin(lane);
        return;

    case NGX_DECLINED:
        lane->work.reason = "rejected";
        ngx_guildlog_lane_outcome_decide(lane, lane->entries[0].seq,
                                         NGX_GUILDLOG_LANE_NOT_DELIVERED);
        return;

    default: /* NGX_ERROR */
        ngx_guildlog_delivery_queue_sleep(lane, LANE_SHORT,
                                          NGX_GUILDLOG_STATE_LINE_UP);
    }
}


/* the message depends on nothing but the entries at hand */

static ngx_int_t
lane_build(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                      rc;
    ngx_uint_t                     i, n;
    ngx_pool_t                    *pool;
    ngx_guildlog_message_body_t    body;
    ngx_guildlog_message_entry_t   entries[NGX_GUILDLOG_LANE_ENTRIES];

    pool = ngx_create_pool(4096, lane->env->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    n = lane->n;

    if (lane->head < lane->limit_to) {
        n = ngx_min(n, lane->limit);
    }

    for (i = 0; i < n && !lane->entries[i].expired; i++) {
        entries[i] = lane->entries[i].message;
    }

    rc = ngx_guildlog_message_build(pool, entries, i, &body, &lane->packed);

    if (rc == NGX_OK) {
        rc = lane_keep(lane, &body);
    }

    ngx_destroy_pool(pool);

    return rc;
}


/* keeps the message, and of its entries the ids */

static ngx_int_t
lane_keep(ngx_guildlog_lane_t *lane, const ngx_guildlog_message_body_t *body)
{
    ngx_uint_t  i;

    lane->body.data = ngx_alloc(body->text.len + body->type.len,
                                lane->env->log);
    if (lane->body.data == NULL) {
        return NGX_ERROR;
    }

    lane->type.data = ngx_cpymem(lane->body.data, body->text.data,
                                 body->text.len);
    lane->type.len = body->type.len;
    lane->body.len = body->text.len;

    ngx_memcpy(lane->type.data, body->type.data, body->type.len);

    for (i = 0; i < lane->packed; i++) {
        lane->ids[i] = lane_entry_id(&lane->entries[i]);
        lane_memory_shed(lane, &lane->entries[i]);
    }

    lane->nids = lane->packed;

    return NGX_OK;
}


/* Invariant: not a byte is sent before this is committed */

static void
lane_begin(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_assert(lane->packed > 0 && lane->packed <= lane->n);

    lane->work.changes = 1;
    lane->work.begin_to = lane->entries[lane->packed - 1].seq;

    if (lane->n < NGX_GUILDLOG_LANE_ENTRIES
        && lane->bytes < NGX_GUILDLOG_LANE_BYTES
        && ngx_guildlog_delivery_queue_room(lane->delivery))
    {
        lane->work.peek = lane->entries[lane->n - 1].seq;
    }

    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_POST);
}


static void
lane_post(ngx_guildlog_lane_t *lane)
{
    ngx_int_t   rc;
    ngx_msec_t  late;

    /* Invariant: no byte is sent later than this.  Whoever takes the lane over
       relies on it */

    late = lane->intent_at + NGX_GUILDLOG_LANE_BEGIN - NGX_GUILDLOG_LANE_MARGIN;

    ngx_guildlog_assert(lane->upto > lane->head);
    ngx_guildlog_assert(lane->permit == NGX_GUILDLOG_PERMIT_GRANTED);
    ngx_guildlog_assert(lane->body.data && lane->webhook.len);
    ngx_guildlog_assert(lane->nids > 0);

    lane->attempts++;
    lane->attempt_ms = ngx_guildlog_clock_wall_ms();
    lane->attempt_at = ngx_current_msec;
    lane->taken = 0;

    if ((ngx_msec_int_t) (late - ngx_current_msec) > 0) {
        rc = ngx_guildlog_lane_call(lane, NGX_GUILDLOG_CALL_EXECUTE,
                                    &lane->webhook, &lane->token,
                                    lane_outcome_posted);

    } else {
        rc = NGX_DECLINED;
        ngx_guildlog_delivery_queue_give_back(lane);
    }

    lane_memory_spend(lane);

    if (rc != NGX_OK) {
        ngx_guildlog_lane_outcome_refused(lane, LANE_SHORT);
        return;
    }

    ngx_guildlog_client_begin_by(lane->exchange, late);
}


static void
lane_next(ngx_guildlog_lane_t *lane)
{
    if (lane_build(lane) != NGX_OK) {
        ngx_guildlog_delivery_queue_give_back(lane);
        lane_outcome_end(lane);
        return;
    }

    lane_begin(lane);
}


static void
lane_rest(ngx_guildlog_lane_t *lane)
{
    ngx_msec_t  wait;

    wait = ngx_guildlog_lane_outcome_wait(lane);

    if (wait) {
        ngx_guildlog_delivery_queue_sleep(lane, wait,
                                          NGX_GUILDLOG_STATE_LINE_UP);
        return;
    }

    ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_LINE_UP);
}


void
ngx_guildlog_lane_committed(ngx_guildlog_lane_t *lane)
{
    ngx_str_t                  end;
    ngx_guildlog_lane_work_t  *work;

    work = &lane->work;

    if (work->changes) {
        lane->step++;
        lane->upto = lane->head;
        lane->owes = 0;

        if (work->done_to) {
            end.data = (u_char *) (work->reason ? work->reason : "delivered");
            end.len = ngx_strlen(end.data);

            ngx_guildlog_traffic_entries(lane->env->traffic, &end,
                                         work->done_to - lane->head);

            lane->head = work->done_to;
            lane->upto = work->done_to;
            lane->attempts = 0;
        }

        if (work->begin_to) {
            lane->upto = work->begin_to;
        }
    }

    ngx_guildlog_assert(lane->head <= lane->upto);

    ngx_memzero(work, sizeof(ngx_guildlog_lane_work_t));
    work->peek = -1;
}


void
ngx_guildlog_lane_stepped(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_result_e result)
{
    ngx_msec_int_t  rest;

    switch (result) {

    case NGX_GUILDLOG_LANE_EMPTY:
        ngx_guildlog_delivery_queue_give_back(lane);

        /* it stays while it knows a pace that the database does not know */

        rest = (ngx_msec_int_t) (lane->slow_to - ngx_current_msec);

        if (lane->slow && rest > 0) {
            ngx_guildlog_delivery_queue_sleep(lane, rest,
                                              NGX_GUILDLOG_STATE_FORGET);
            return;
        }

        ngx_guildlog_delivery_queue_forget(lane);
        return;

    case NGX_GUILDLOG_LANE_CLOSING:
        ngx_guildlog_delivery_queue_give_back(lane);
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_CLOSE);
        return;

    case NGX_GUILDLOG_LANE_SHARED:
        ngx_guildlog_delivery_queue_give_back(lane);
        ngx_guildlog_lane_tell_closed(lane);
        return;

    default:
        ngx_guildlog_delivery_queue_go_on(lane, lane->state);
    }
}


/* {"id":"123", */

static uint64_t
lane_entry_id(const ngx_guildlog_lane_entry_t *entry)
{
    u_char     *last;
    ngx_str_t   id;

    last = entry->message.doc.data + entry->message.doc.len;

    id.data = entry->message.doc.data + sizeof("{\"id\":\"") - 1;
    id.len = 0;

    while (id.data + id.len < last
           && id.data[id.len] >= '0' && id.data[id.len] <= '9')
    {
        id.len++;
    }

    return ngx_guildlog_lane_row_id(&id);
}


/*
 * What the platform answers to a message, and what becomes of the message.
 */

static void
lane_outcome_posted(void *data, ngx_guildlog_client_response_t *answer)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_verdict_t  verdict;

    ngx_guildlog_lane_call_judge(lane, answer, NGX_GUILDLOG_CALL_EXECUTE,
                                 &verdict);

    if (verdict.class != NGX_GUILDLOG_VERDICT_DONE) {
        ngx_log_error(NGX_LOG_INFO, lane->env->log, 0,
                      "lane %V of server %V: %s, HTTP %ui, code %ui%s%s",
                      &lane->id, &lane->guild, verdict.reason,
                      answer->status, verdict.code,
                      answer->cause ? ", " : "",
                      answer->cause ? answer->cause : "");
    }

    lane_outcome_pace(lane, &verdict);
    lane_outcome_of(lane, &verdict, answer);
}


static void
lane_outcome_pace(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    ngx_msec_t  wait;

    wait = 0;

    if (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED
        && verdict->scope == NGX_GUILDLOG_SCOPE_SHARED)
    {
        lane->slow = 1;
        lane->slow_to = ngx_current_msec + verdict->retry_after_ms
                        + LANE_OUTCOME_SLOW;
    }

    if (lane->slow
        && (ngx_msec_int_t) (lane->slow_to - ngx_current_msec) <= 0)
    {
        lane->slow = 0;
    }

    if (lane->slow) {
        wait = LANE_OUTCOME_PACE;
    }

    if (verdict->remaining == 0 && verdict->reset_after_ms > 0) {
        wait = ngx_max(wait, (ngx_msec_t) verdict->reset_after_ms
                             + NGX_GUILDLOG_LANE_MARGIN);
    }

    if (wait) {
        lane->work.wait_ms = wait;
        ngx_guildlog_lane_outcome_put_off(lane, wait);
    }
}


static void
lane_outcome_of(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict,
    ngx_guildlog_client_response_t *answer)
{
    ngx_msec_t  wait;
    ngx_uint_t  attempts;

    switch (verdict->class) {

    case NGX_GUILDLOG_VERDICT_DONE:
        lane->last = ngx_guildlog_lane_row_id(&verdict->message_id);
        ngx_guildlog_lane_outcome_decide(lane, lane->upto,
                                         NGX_GUILDLOG_LANE_DELIVERED);
        return;

    case NGX_GUILDLOG_VERDICT_DOUBT:
        lane->took = answer->time_ms;
        ngx_guildlog_delivery_queue_run(lane, NGX_GUILDLOG_STATE_DOUBT);
        return;

    case NGX_GUILDLOG_VERDICT_LIMITED:
        ngx_guildlog_lane_outcome_refused(lane, verdict->retry_after_ms);
        return;

    case NGX_GUILDLOG_VERDICT_POISON:
    case NGX_GUILDLOG_VERDICT_CONTENT:
    case NGX_GUILDLOG_VERDICT_SHRINK:
        lane_outcome_isolate(lane, verdict);
        return;

    case NGX_GUILDLOG_VERDICT_WEBHOOK_GONE:
        ngx_guildlog_lane_tell_lost(lane);
        return;

    case NGX_GUILDLOG_VERDICT_CHANNEL_GONE:
        ngx_guildlog_lane_tell_broken(lane, "channel_gone");
        return;

    case NGX_GUILDLOG_VERDICT_FORBIDDEN:
        ngx_guildlog_lane_tell_waits(lane, verdict->reason, "forbidden",
                                     NGX_GUILDLOG_LANE_MINUTE);
        return;

    default:
        /* while nobody answers, ngx_guildlog_pace.c lets few requests pass */

        attempts = answer->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
                   ? lane->attempts : 1;
        wait = ngx_guildlog_lane_call_backoff(attempts);
        ngx_guildlog_lane_outcome_refused(lane, wait);
    }
}


/* one entry is refused for what it is, and its neighbours are not */

static void
lane_outcome_isolate(ngx_guildlog_lane_t *lane, ngx_guildlog_verdict_t *verdict)
{
    if (lane->packed == 1 || verdict->embed == 0) {
        ngx_log_error(NGX_LOG_WARN, lane->env->log, 0,
                      "lane %V of server %V: an entry was refused: %s, code "
                      "%ui", &lane->id, &lane->guild, verdict->reason,
                      verdict->code);

        lane->work.refused = 1;
        lane->work.reason = "rejected";

        ngx_guildlog_lane_outcome_decide(lane, lane->entries[0].seq,
                                         NGX_GUILDLOG_LANE_NOT_DELIVERED);
        return;
    }

    lane->limit = lane->packed / 2;
    lane->limit_to = lane->upto;

    if (verdict->embed > 0 && (ngx_uint_t) verdict->embed < lane->packed) {
        lane->limit = verdict->embed;
    }

    lane->work.changes = 1;
    lane->work.refused = 1;
    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_LINE_UP);
}


/*
 * The next intent is committed with the outcome, if it may be sent at once.  If
 * no entry is at hand for it, the permit is kept for what may have come
 * meanwhile.
 */

void
ngx_guildlog_lane_outcome_decide(ngx_guildlog_lane_t *lane, int64_t to,
    ngx_uint_t status)
{
    ngx_uint_t  n;

    lane->work.changes = 1;
    lane->work.done_to = to;
    lane->work.status = status;

    for (n = 0; n < lane->n && lane->entries[n].seq <= to; n++) { /* void */ }

    lane_memory_drop(lane, n);

    /* entries whose documents went into a message are read anew */

    if (lane->n && lane->entries[0].message.doc.data == NULL) {
        lane_memory_drop(lane, lane->n);
    }

    /* whose channel was given up before it had a webhook has to look for it */

    if (ngx_guildlog_lane_outcome_wait(lane) || !lane->verified
        || lane->webhook.len == 0
        || !(lane->permit == NGX_GUILDLOG_PERMIT_GRANTED
             || ngx_guildlog_delivery_slot_take(lane)))
    {
        ngx_guildlog_delivery_queue_give_back(lane);
        lane_outcome_end(lane);
        return;
    }

    if (lane->n && !lane->entries[0].expired) {
        ngx_guildlog_delivery_queue_go_on(lane, NGX_GUILDLOG_STATE_NEXT);
        return;
    }

    lane_outcome_end(lane);
}


/* without a next intent */

static void
lane_outcome_end(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_memory_empty(lane);

    lane->work.peek = lane->work.done_to;

    if (lane->permit == NGX_GUILDLOG_PERMIT_GRANTED) {
        ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_LOOKED);
        return;
    }

    lane->work.bare = 1;

    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_REST);
}


void
ngx_guildlog_lane_outcome_refused(ngx_guildlog_lane_t *lane, ngx_msec_t wait)
{
    lane->work.changes = 1;
    lane->work.refused = 1;
    lane->work.wait_ms = ngx_max(wait, lane->work.wait_ms);

    ngx_guildlog_lane_outcome_put_off(lane, lane->work.wait_ms);
    ngx_guildlog_delivery_queue_step(lane, NGX_GUILDLOG_STATE_REST);
}


void
ngx_guildlog_lane_outcome_put_off(ngx_guildlog_lane_t *lane, ngx_msec_t ms)
{
    lane->not_before = ngx_current_msec
                       + ngx_max(ms, ngx_guildlog_lane_outcome_wait(lane));
    lane->waits = 1;
    lane->owes = 1;
}


ngx_msec_t
ngx_guildlog_lane_outcome_wait(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  wait;

    wait = (ngx_msec_int_t) (lane->not_before - ngx_current_msec);

    lane->waits = lane->waits && wait > 0;

    return lane->waits ? wait : 0;
}


/*
 * Reads rows of the database: a lane as it was found, and entries.
 */

static ngx_int_t
lane_row_read(ngx_guildlog_lane_t *lane, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    ngx_int_t                            rc;
    ngx_str_t                            sealed, state, age;
    ngx_uint_t                           i;

    struct {
        ngx_str_t  *to;
        ngx_uint_t  column;

    } texts[] = {
        { &lane->guild, NGX_GUILDLOG_FOUND_GUILD },
        { &lane->id, NGX_GUILDLOG_FOUND_LANE },
        { &lane->channel, NGX_GUILDLOG_FOUND_CHANNEL },
        { &lane->webhook, NGX_GUILDLOG_FOUND_WEBHOOK },
        { &lane->since, NGX_GUILDLOG_FOUND_SINCE },
        { &sealed, NGX_GUILDLOG_FOUND_SECRET }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {

        if (lane_row_copy(lane->pool, texts[i].to, result, row, texts[i].column)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    state = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_STATE);
    age = ngx_guildlog_db_result_value(result, row,
                                       NGX_GUILDLOG_FOUND_ATTEMPT_MS);

    lane_row_ids(lane, result, row);

    lane->key = ngx_guildlog_lane_row_id(&lane->id);
    lane->registering = state.data[0] == 'r';
    lane->lone = state.data[0] == 'd';
    lane->taken = 1;

#define lane_row_found(name)                                                   \
    ngx_guildlog_lane_row_number(result, row, NGX_GUILDLOG_FOUND_##name)

    lane->shard = lane_row_found(SHARD);
    lane->fence = lane_row_found(FENCE);
    lane->bot = ngx_min(lane_row_found(BOT), NGX_GUILDLOG_BOTS - 1);
    lane->head = lane_row_found(HEAD);
    lane->upto = lane_row_found(UPTO);
    lane->step = lane_row_found(STEP);
    lane->attempts = lane_row_found(ATTEMPTS);
    lane->attempt_ms = ngx_guildlog_clock_wall_ms()
                       - lane_row_found(ATTEMPT_MS);
    lane->attempt_at = ngx_current_msec - lane_row_found(ATTEMPT_MS);
    lane->last = lane_row_found(MESSAGE);
    lane->verified = ngx_guildlog_lane_row_true(result, row,
                                                NGX_GUILDLOG_FOUND_VERIFIED);
    lane->waits = lane_row_found(WAIT_MS) != 0;
    lane->not_before = ngx_current_msec + lane_row_found(WAIT_MS)
                       + NGX_GUILDLOG_LANE_MARGIN;

    /* somebody asked for a webhook, and nobody knows of an answer */

    if (lane->webhook.len == 0 && age.len) {
        lane->asked = 1;
        lane->sure_at = lane->attempt_at + NGX_GUILDLOG_LANE_ANSWER
                        + NGX_GUILDLOG_LANE_BEGIN;
    }

#undef lane_row_found

    if (sealed.len == 0) {
        return NGX_OK;
    }

    rc = ngx_guildlog_seal_open(lane->pool, lane->env->conf->key, &lane->id,
                                &sealed, &lane->token);

    /* it will get another webhook, so the secret of this one is not needed */

    if (rc == NGX_DECLINED && lane->registering) {
        return NGX_OK;
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, lane->env->log, 0,
                      "the webhook of lane %V of server %V was sealed with "
                      "another secret than that of \"guildlog_delivery\"",
                      &lane->id, &lane->guild);
    }

    return rc;
}


/* with commas between them */

static void
lane_row_ids(ngx_guildlog_lane_t *lane, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    u_char     *p, *last;
    ngx_str_t   value, id;

    value = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_IDS);
    last = value.data + value.len;

    for (p = value.data;
         p < last && lane->nids < NGX_GUILDLOG_LANE_ENTRIES;
         p = id.data + id.len + 1)
    {
        id.data = p;
        p = ngx_strlchr(p, last, ',');
        id.len = (p ? p : last) - id.data;

        lane->ids[lane->nids++] = ngx_guildlog_lane_row_id(&id);
    }
}


static ngx_int_t
lane_row_copy(ngx_pool_t *pool, ngx_str_t *to, ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    to->len = value.len;
    to->data = NULL;

    if (value.len == 0) {
        return NGX_OK;
    }

    to->data = ngx_pstrdup(pool, &value);

    return to->data ? NGX_OK : NGX_ERROR;
}


void
ngx_guildlog_lane_row_entry(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t                    doc, looks[NGX_GUILDLOG_MESSAGE_LOOKS];
    ngx_uint_t                   i;
    ngx_guildlog_lane_entry_t   *entry;

    if (lane->n == NGX_GUILDLOG_LANE_ENTRIES || lane->starved) {
        return;
    }

    if (lane->entries == NULL) {
        lane->entries = ngx_alloc(NGX_GUILDLOG_LANE_ENTRIES
                                  * sizeof(ngx_guildlog_lane_entry_t),
                                  lane->env->log);
        if (lane->entries == NULL) {
            lane->starved = 1;
            return;
        }
    }

    entry = &lane->entries[lane->n];
    ngx_memzero(entry, sizeof(ngx_guildlog_lane_entry_t));

    doc = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_DOC);

    entry->message.doc.data = ngx_alloc(doc.len, lane->env->log);
    if (entry->message.doc.data == NULL) {
        lane->starved = 1;
        return;
    }

    ngx_memcpy(entry->message.doc.data, doc.data, doc.len);
    entry->message.doc.len = doc.len;
    lane_memory_hold(lane, doc.len);

    entry->seq = ngx_guildlog_lane_row_number(result, row,
                                              NGX_GUILDLOG_ROW_SEQ);
    entry->expired = ngx_guildlog_lane_row_true(result, row,
                                                NGX_GUILDLOG_ROW_EXPIRED);

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_LOOKS; i++) {
        looks[i] = ngx_guildlog_db_result_value(result, row,
                                                NGX_GUILDLOG_ROW_LOOKS + i);
    }

    entry->message.conf.style = &lane->env->conf->style;
    entry->message.conf.guild = lane->guild;
    entry->message.conf.pro = (lane->bot == NGX_GUILDLOG_BOT_PRO);
    ngx_guildlog_message_looks(&entry->message.conf, looks);

    lane->n++;
}


int64_t
ngx_guildlog_lane_row_number(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return (int64_t) ngx_guildlog_lane_row_id(&value);
}


ngx_uint_t
ngx_guildlog_lane_row_true(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return value.len && value.data[0] == 't';
}


uint64_t
ngx_guildlog_lane_row_id(const ngx_str_t *digits)
{
    size_t    i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < digits->len; i++) {
        n = n * 10 + (digits->data[i] - '0');
    }

    return n;
}


/*
 * The memory of a lane: its entries and message, which the loop counts, and
 * what is freed with it.
 */

void
ngx_guildlog_lane_memory_free(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_memory_stop(lane);

    ngx_destroy_pool(lane->pool);
}


void
ngx_guildlog_lane_memory_stop(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_event_stop(&lane->timer);

    if (lane->exchange) {
        ngx_guildlog_client_cancel(lane->exchange);
        lane->exchange = NULL;
    }

    ngx_guildlog_db_pool_detach(lane->query);
    lane->query = NULL;

    ngx_guildlog_lane_memory_empty(lane);
}


/* the first n entries are done with */

static void
lane_memory_drop(ngx_guildlog_lane_t *lane, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        lane_memory_shed(lane, &lane->entries[i]);
    }

    lane->n -= n;

    if (lane->n) {
        ngx_memmove(lane->entries, &lane->entries[n],
                    lane->n * sizeof(ngx_guildlog_lane_entry_t));

    } else if (lane->entries) {
        ngx_free(lane->entries);
        lane->entries = NULL;
    }
}


/* an entry is in the message: its document goes */

static void
lane_memory_shed(ngx_guildlog_lane_t *lane, ngx_guildlog_lane_entry_t *entry)
{
    if (entry->message.doc.data) {
        lane_memory_hold(lane, -(ssize_t) entry->message.doc.len);
        ngx_free(entry->message.doc.data);
        entry->message.doc.data = NULL;
    }
}


/* the message was sent, or will not be */

static void
lane_memory_spend(ngx_guildlog_lane_t *lane)
{
    if (lane->body.data) {
        ngx_free(lane->body.data);
        lane->body.data = NULL;
    }
}


void
ngx_guildlog_lane_memory_empty(ngx_guildlog_lane_t *lane)
{
    lane_memory_drop(lane, lane->n);
    lane_memory_spend(lane);

    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
        lane->work_pool = NULL;
    }
}


ngx_int_t
ngx_guildlog_lane_memory_renew(ngx_guildlog_lane_t *lane)
{
    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
    }

    lane->work_pool = ngx_create_pool(4096, lane->env->log);

    return lane->work_pool ? NGX_OK : NGX_ERROR;
}


/* so many bytes more, or less, of entries at hand */

static void
lane_memory_hold(ngx_guildlog_lane_t *lane, ssize_t bytes)
{
    lane->bytes += bytes;
    lane->delivery->bytes += bytes;
}
