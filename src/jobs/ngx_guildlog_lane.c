
/*
 * The life of a lane, to be read top-down: wait for a permit, look, pack,
 * commit the intent, send, judge, commit the outcome, and again.  A lane has
 * entries at hand only while it has a permit, for many lanes wait.
 */

#include "jobs/ngx_guildlog_delivery_queue.h"


#define LANE_SHORT     1000     /* ms */


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
static void lane_leave(ngx_guildlog_lane_t *lane);
static void lane_count(ngx_guildlog_lane_t *lane);
static uint64_t lane_entry_id(const ngx_guildlog_lane_entry_t *entry);


/* in firing order, by ngx_guildlog_lane_state_e */

const ngx_guildlog_lane_state_t
    ngx_guildlog_lane_states[NGX_GUILDLOG_STATE_LAST] =
{
    { "starts", lane_go },

    { "verifies its channel", ngx_guildlog_lane_verify_ask },
    { "told what it verified", ngx_guildlog_lane_verify_told },
    { "verifies again", ngx_guildlog_lane_verify_again },

    { "needs a webhook", ngx_guildlog_lane_webhook_register },
    { "lists webhooks", ngx_guildlog_lane_webhook_list },
    { "notes that it asks for a webhook", ngx_guildlog_lane_webhook_note },
    { "asks for a webhook", ngx_guildlog_lane_webhook_create },

    { "lines up", lane_line_up },
    { "looks", lane_look },
    { "has looked", lane_looked },
    { "sends", lane_post },

    { "is in doubt", ngx_guildlog_lane_doubt },
    { "asks whether its message arrived", ngx_guildlog_lane_doubt_ask },
    { "reads its channel", ngx_guildlog_lane_doubt_read },
    { "knows what else was sent", ngx_guildlog_lane_doubt_sole },

    { "sends at once", lane_next },
    { "has ended a message", lane_rest },

    { "closes", ngx_guildlog_lane_webhook_close },
    { "deletes its webhook", ngx_guildlog_lane_webhook_delete },
    { "goes", ngx_guildlog_delivery_queue_forget }
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

    rc = ngx_guildlog_lane_row_read(lane, result, row);

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
        ngx_guildlog_lane_memory_shed(lane, &lane->entries[i]);
    }

    lane->nids = lane->packed;

    return NGX_OK;
}


/* Invariant: not a byte is sent before this is committed */

static void
lane_begin(ngx_guildlog_lane_t *lane)
{
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

    late = lane->intent_at + NGX_GUILDLOG_LANE_BEGIN;

    lane->attempts++;
    lane->attempt_ms = ngx_guildlog_clock_wall_ms();
    lane->attempt_at = ngx_current_msec;
    lane->taken = 0;

    if ((ngx_msec_int_t) (late - ngx_current_msec) > 0) {
        rc = ngx_guildlog_lane_call(lane, NGX_GUILDLOG_CALL_EXECUTE,
                                    &lane->webhook, &lane->token,
                                    ngx_guildlog_lane_outcome_posted);

    } else {
        rc = NGX_DECLINED;
        ngx_guildlog_delivery_queue_give_back(lane);
    }

    ngx_guildlog_lane_memory_spend(lane);

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
        ngx_guildlog_lane_outcome_end(lane);
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
    ngx_guildlog_lane_work_t  *work;

    work = &lane->work;

    if (work->changes) {
        lane->step++;
        lane->upto = lane->head;

        if (work->done_to) {
            lane_count(lane);

            lane->head = work->done_to;
            lane->upto = work->done_to;
            lane->attempts = 0;
        }

        if (work->begin_to) {
            lane->upto = work->begin_to;
        }
    }

    ngx_memzero(work, sizeof(ngx_guildlog_lane_work_t));
    work->peek = -1;
}


void
ngx_guildlog_lane_stepped(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_result_e result)
{
    switch (result) {

    case NGX_GUILDLOG_LANE_EMPTY:
        ngx_guildlog_delivery_queue_give_back(lane);
        lane_leave(lane);
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


/* it stays while it has learnt a pace, which the database does not know */

static void
lane_leave(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  rest;

    rest = (ngx_msec_int_t) (lane->slow_to - ngx_current_msec);

    if (lane->slow && rest > 0) {
        ngx_guildlog_delivery_queue_sleep(lane, rest,
                                          NGX_GUILDLOG_STATE_FORGET);
        return;
    }

    ngx_guildlog_delivery_queue_forget(lane);
}


/* counts the entries that have come to their end */

static void
lane_count(ngx_guildlog_lane_t *lane)
{
    ngx_str_t  end;

    end.data = (u_char *) (lane->work.reason ? lane->work.reason : "delivered");
    end.len = ngx_strlen(end.data);

    ngx_guildlog_traffic_entries(lane->env->traffic, &end,
                                 lane->work.done_to - lane->head);
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
