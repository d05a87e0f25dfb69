
/*
 * The life of a lane, to be read top-down: wait for the turn, look, pack,
 * commit the intent, send, judge, commit the outcome, and again.  A lane has
 * entries at hand only while it has its turn: lanes that wait are many.
 */

#include "jobs/ngx_guildlog_lane.h"


#define NGX_GUILDLOG_LANE_SHORT     1000     /* ms */


static void ngx_guildlog_lane_go(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_found_in_doubt(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_look(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_looked(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_pack(ngx_guildlog_lane_t *lane);
static ngx_int_t ngx_guildlog_lane_build(ngx_guildlog_lane_t *lane);
static ngx_int_t ngx_guildlog_lane_keep(ngx_guildlog_lane_t *lane,
    const ngx_str_t *body);
static ngx_uint_t ngx_guildlog_lane_paced(ngx_guildlog_lane_t *lane);
static ngx_msec_t ngx_guildlog_lane_wait(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_begin(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_post(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_follow(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_next(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_end(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_rest(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_leave(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_count(ngx_guildlog_lane_t *lane);
static uint64_t ngx_guildlog_lane_entry_id(
    const ngx_guildlog_lane_entry_t *entry);
static void ngx_guildlog_lane_drop(ngx_guildlog_lane_t *lane, ngx_uint_t n);
static void ngx_guildlog_lane_shed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_entry_t *entry);
static void ngx_guildlog_lane_spend(ngx_guildlog_lane_t *lane);
static void ngx_guildlog_lane_timer(ngx_event_t *ev);


void
ngx_guildlog_lane_start(ngx_guildlog_lane_t *lane)
{
    lane->timer.handler = ngx_guildlog_lane_timer;
    lane->timer.data = lane;
    lane->timer.log = lane->log;
    lane->timer.cancelable = 1;

    ngx_guildlog_lane_sleep(lane, ngx_guildlog_lane_wait(lane),
                            ngx_guildlog_lane_go);
}


static void
ngx_guildlog_lane_go(ngx_guildlog_lane_t *lane)
{
    if (lane->lone) {
        ngx_guildlog_lane_found_in_doubt(lane);
        return;
    }

    /* is it still so?  It may have been found a moment too early */

    if (lane->upto > lane->head) {
        lane->next = ngx_guildlog_lane_found_in_doubt;

        ngx_guildlog_delivery_step(lane);
        return;
    }

    if (lane->registering) {
        ngx_guildlog_lane_register(lane);
        return;
    }

    ngx_guildlog_lane_line_up(lane);
}


static void
ngx_guildlog_lane_found_in_doubt(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_doubt(lane, 0);
}


void
ngx_guildlog_lane_line_up(ngx_guildlog_lane_t *lane)
{
    if (lane->webhook.len && !lane->verified) {
        ngx_guildlog_lane_verify(lane, ngx_guildlog_lane_line_up);
        return;
    }

    lane->next = ngx_guildlog_lane_look;

    ngx_guildlog_delivery_wait(lane);
}


static void
ngx_guildlog_lane_look(ngx_guildlog_lane_t *lane)
{
    lane->work.peek = lane->head;
    lane->next = ngx_guildlog_lane_looked;

    ngx_guildlog_delivery_step(lane);
}


static void
ngx_guildlog_lane_looked(ngx_guildlog_lane_t *lane)
{
    /* whoever records has the lane, and more is coming; or it expired */

    if (lane->n == 0) {
        lane->failures = ngx_min(lane->failures + 1, 8);
        ngx_guildlog_lane_sleep(lane, 10 << lane->failures,
                                ngx_guildlog_lane_line_up);
        return;
    }

    lane->failures = 0;

    ngx_guildlog_lane_pack(lane);
}


static void
ngx_guildlog_lane_pack(ngx_guildlog_lane_t *lane)
{
    ngx_uint_t  n;

    for (n = 0; n < lane->n && lane->entries[n].expired; n++) { /* void */ }

    if (n) {
        lane->work.reason = "expired";
        ngx_guildlog_lane_decide(lane, lane->entries[n - 1].seq,
                                 NGX_GUILDLOG_LANE_NOT_DELIVERED);
        return;
    }

    /* its channel was given up before there was one */

    if (lane->webhook.len == 0) {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_register(lane);
        return;
    }

    switch (ngx_guildlog_lane_build(lane)) {

    case NGX_OK:
        ngx_guildlog_lane_begin(lane);
        return;

    case NGX_DECLINED:
        lane->work.reason = "rejected";
        ngx_guildlog_lane_decide(lane, lane->entries[0].seq,
                                 NGX_GUILDLOG_LANE_NOT_DELIVERED);
        return;

    default: /* NGX_ERROR */
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_LANE_SHORT,
                                ngx_guildlog_lane_line_up);
    }
}


/* the message of what is at hand; a pure function of it */

static ngx_int_t
ngx_guildlog_lane_build(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                      rc;
    ngx_str_t                      body;
    ngx_uint_t                     i, n;
    ngx_pool_t                    *pool;
    ngx_guildlog_message_entry_t   entries[NGX_GUILDLOG_LANE_ENTRIES];

    pool = ngx_create_pool(4096, lane->log);
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
        rc = ngx_guildlog_lane_keep(lane, &body);
    }

    ngx_destroy_pool(pool);

    return rc;
}


/* the message, and of its entries what names them */

static ngx_int_t
ngx_guildlog_lane_keep(ngx_guildlog_lane_t *lane, const ngx_str_t *body)
{
    ngx_uint_t  i;

    lane->body.data = ngx_alloc(body->len, lane->log);
    if (lane->body.data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(lane->body.data, body->data, body->len);
    lane->body.len = body->len;

    for (i = 0; i < lane->packed; i++) {
        lane->ids[i] = ngx_guildlog_lane_entry_id(&lane->entries[i]);
        ngx_guildlog_lane_shed(lane, &lane->entries[i]);
    }

    lane->nids = lane->packed;

    return NGX_OK;
}


static ngx_uint_t
ngx_guildlog_lane_paced(ngx_guildlog_lane_t *lane)
{
    lane->waits = ngx_guildlog_lane_wait(lane) > 0;

    return lane->waits;
}


static ngx_msec_t
ngx_guildlog_lane_wait(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  wait;

    wait = (ngx_msec_int_t) (lane->not_before - ngx_current_msec);

    return lane->waits ? ngx_max(wait, 0) : 0;
}


/* not a byte is sent before this is committed */

static void
ngx_guildlog_lane_begin(ngx_guildlog_lane_t *lane)
{
    lane->work.changes = 1;
    lane->work.begin_to = lane->entries[lane->packed - 1].seq;

    if (lane->n < NGX_GUILDLOG_LANE_ENTRIES
        && lane->bytes < NGX_GUILDLOG_LANE_BYTES
        && ngx_guildlog_delivery_room(lane->delivery))
    {
        lane->work.peek = lane->entries[lane->n - 1].seq;
    }

    lane->next = ngx_guildlog_lane_post;

    ngx_guildlog_delivery_step(lane);
}


static void
ngx_guildlog_lane_post(ngx_guildlog_lane_t *lane)
{
    ngx_int_t                        rc;
    ngx_msec_t                       late;
    ngx_guildlog_platform_request_t  request;

    /* who takes the lane over counts on that nothing is sent any more */

    late = lane->intent_at + NGX_GUILDLOG_LANE_BEGIN;

    lane->attempts++;
    lane->attempt_ms = ngx_guildlog_lane_clock();
    lane->attempt_at = ngx_current_msec;
    lane->taken = 0;

    if ((ngx_msec_int_t) (late - ngx_current_msec) <= 0) {
        rc = NGX_DECLINED;

    } else {
        rc = ngx_guildlog_lane_renew(lane);
    }

    if (rc == NGX_OK) {
        rc = ngx_guildlog_platform_execute(lane->work_pool, &lane->webhook,
                                           &lane->token, &request);
    }

    if (rc == NGX_OK) {
        request.body = lane->body;
        rc = ngx_guildlog_lane_call(lane, &request, ngx_guildlog_lane_posted);

    } else {
        ngx_guildlog_delivery_give_back(lane);
    }

    ngx_guildlog_lane_spend(lane);

    if (rc != NGX_OK) {
        ngx_guildlog_lane_refused(lane, NGX_GUILDLOG_LANE_SHORT);
        return;
    }

    ngx_guildlog_client_begin_by(lane->exchange, late);
}


void
ngx_guildlog_lane_decide(ngx_guildlog_lane_t *lane, int64_t to,
    ngx_uint_t status)
{
    ngx_uint_t  n;

    lane->work.changes = 1;
    lane->work.done_to = to;
    lane->work.status = status;

    for (n = 0; n < lane->n && lane->entries[n].seq <= to; n++) { /* void */ }

    ngx_guildlog_lane_drop(lane, n);

    /* those that were in a message are to be in another one */

    if (lane->n && lane->entries[0].message.doc.data == NULL) {
        ngx_guildlog_lane_drop(lane, lane->n);
    }

    ngx_guildlog_lane_follow(lane);
}


/*
 * With the outcome the next intent, if it may be sent at once; if nothing is
 * at hand for it the turn is kept for what may have come meanwhile.
 */

static void
ngx_guildlog_lane_follow(ngx_guildlog_lane_t *lane)
{
    if (ngx_guildlog_lane_paced(lane) || !lane->verified
        || !(lane->turn == NGX_GUILDLOG_TURN_GRANTED
             || ngx_guildlog_delivery_take(lane)))
    {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_end(lane);
        return;
    }

    if (lane->n && !lane->entries[0].expired) {
        lane->next = ngx_guildlog_lane_next;

        ngx_guildlog_delivery_go_on(lane);
        return;
    }

    ngx_guildlog_lane_end(lane);
}


static void
ngx_guildlog_lane_next(ngx_guildlog_lane_t *lane)
{
    if (ngx_guildlog_lane_build(lane) != NGX_OK) {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_end(lane);
        return;
    }

    ngx_guildlog_lane_begin(lane);
}


/* without a next one */

static void
ngx_guildlog_lane_end(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_empty(lane);

    lane->work.peek = lane->work.done_to;
    lane->next = ngx_guildlog_lane_looked;

    if (lane->turn != NGX_GUILDLOG_TURN_GRANTED) {
        lane->work.bare = 1;
        lane->next = ngx_guildlog_lane_rest;
    }

    ngx_guildlog_delivery_step(lane);
}


/* nothing of it was applied: again, later */

void
ngx_guildlog_lane_refused(ngx_guildlog_lane_t *lane, ngx_msec_t wait)
{
    lane->work.changes = 1;
    lane->work.refused = 1;
    lane->work.wait_ms = ngx_max(wait, lane->work.wait_ms);

    lane->waits = 1;
    lane->not_before = ngx_current_msec + lane->work.wait_ms;
    lane->next = ngx_guildlog_lane_rest;

    ngx_guildlog_delivery_step(lane);
}


static void
ngx_guildlog_lane_rest(ngx_guildlog_lane_t *lane)
{
    if (ngx_guildlog_lane_paced(lane)) {
        ngx_guildlog_lane_sleep(lane, ngx_guildlog_lane_wait(lane),
                                ngx_guildlog_lane_line_up);
        return;
    }

    ngx_guildlog_lane_line_up(lane);
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
            ngx_guildlog_lane_count(lane);

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
    if (result == NGX_GUILDLOG_LANE_EMPTY) {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_leave(lane);
        return;
    }

    if (result == NGX_GUILDLOG_LANE_CLOSING) {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_close(lane);
        return;
    }

    if (result == NGX_GUILDLOG_LANE_SHARED) {
        ngx_guildlog_delivery_give_back(lane);
        ngx_guildlog_lane_closed(lane);
        return;
    }

    ngx_guildlog_delivery_go_on(lane);
}


/* it stays as long as it knows what is not in the database: a learnt pace */

static void
ngx_guildlog_lane_leave(ngx_guildlog_lane_t *lane)
{
    ngx_msec_int_t  rest;

    rest = (ngx_msec_int_t) (lane->slow_to - ngx_current_msec);

    if (lane->slow && rest > 0) {
        ngx_guildlog_lane_sleep(lane, rest, ngx_guildlog_delivery_forget);
        return;
    }

    ngx_guildlog_delivery_forget(lane);
}


/* entries that have come to their end */

static void
ngx_guildlog_lane_count(ngx_guildlog_lane_t *lane)
{
    ngx_str_t  end;

    end.data = (u_char *) (lane->work.reason ? lane->work.reason
                                             : "delivered");
    end.len = ngx_strlen(end.data);

    ngx_guildlog_traffic_entries(ngx_guildlog_delivery_traffic(
                                                        lane->delivery),
                                 &end, lane->work.done_to - lane->head);
}


void
ngx_guildlog_lane_add(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t                    doc, color;
    ngx_guildlog_lane_entry_t   *entry;

    if (lane->n == NGX_GUILDLOG_LANE_ENTRIES || lane->starved) {
        return;
    }

    if (lane->entries == NULL) {
        lane->entries = ngx_alloc(NGX_GUILDLOG_LANE_ENTRIES
                                  * sizeof(ngx_guildlog_lane_entry_t),
                                  lane->log);
        if (lane->entries == NULL) {
            lane->starved = 1;
            return;
        }
    }

    entry = &lane->entries[lane->n];
    ngx_memzero(entry, sizeof(ngx_guildlog_lane_entry_t));

    doc = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_DOC);
    color = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_COLOR);

    entry->message.doc.data = ngx_alloc(doc.len, lane->log);
    if (entry->message.doc.data == NULL) {
        lane->starved = 1;
        return;
    }

    ngx_memcpy(entry->message.doc.data, doc.data, doc.len);
    entry->message.doc.len = doc.len;
    ngx_guildlog_delivery_holds(lane, doc.len);

    entry->seq = ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_ROW_SEQ);
    entry->expired = ngx_guildlog_lane_true(result, row,
                                            NGX_GUILDLOG_ROW_EXPIRED);

    entry->message.conf.guild = lane->guild;
    entry->message.conf.format = ngx_guildlog_lane_column(result, row,
                                                 NGX_GUILDLOG_ROW_FORMAT);
    entry->message.conf.color = color.data[0] == '-'
                                ? -1 : ngx_atoi(color.data, color.len);
    entry->message.conf.buttons = ngx_guildlog_lane_column(result, row,
                                                 NGX_GUILDLOG_ROW_BUTTONS);
    entry->message.conf.locale = ngx_guildlog_lane_column(result, row,
                                                 NGX_GUILDLOG_ROW_LOCALE);
    entry->message.conf.spoilers = ngx_guildlog_lane_true(result, row,
                                                 NGX_GUILDLOG_ROW_SPOILERS);
    lane->n++;
}


/* {"id":"123", */

static uint64_t
ngx_guildlog_lane_entry_id(const ngx_guildlog_lane_entry_t *entry)
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

    return ngx_guildlog_lane_number(&id);
}


/* the first n are done with */

static void
ngx_guildlog_lane_drop(ngx_guildlog_lane_t *lane, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        ngx_guildlog_lane_shed(lane, &lane->entries[i]);
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


static void
ngx_guildlog_lane_shed(ngx_guildlog_lane_t *lane,
    ngx_guildlog_lane_entry_t *entry)
{
    if (entry->message.doc.data) {
        ngx_guildlog_delivery_holds(lane, -(ssize_t) entry->message.doc.len);
        ngx_free(entry->message.doc.data);
        entry->message.doc.data = NULL;
    }
}


/* its message was sent, or will not be */

static void
ngx_guildlog_lane_spend(ngx_guildlog_lane_t *lane)
{
    if (lane->body.data) {
        ngx_free(lane->body.data);
        lane->body.data = NULL;
    }
}


void
ngx_guildlog_lane_empty(ngx_guildlog_lane_t *lane)
{
    ngx_guildlog_lane_drop(lane, lane->n);
    ngx_guildlog_lane_spend(lane);

    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
        lane->work_pool = NULL;
    }
}


void
ngx_guildlog_lane_sleep(ngx_guildlog_lane_t *lane, ngx_msec_t ms,
    ngx_guildlog_lane_pt next)
{
    ngx_guildlog_delivery_give_back(lane);
    ngx_guildlog_lane_empty(lane);

    lane->next = next;

    ngx_add_timer(&lane->timer, ms);
}


static void
ngx_guildlog_lane_timer(ngx_event_t *ev)
{
    ngx_guildlog_lane_t *lane = ev->data;

    lane->next(lane);
}


ngx_int_t
ngx_guildlog_lane_create(ngx_guildlog_delivery_t *delivery,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_log_t *log,
    ngx_guildlog_lane_t **created)
{
    ngx_int_t             rc;
    ngx_pool_t           *pool;
    ngx_guildlog_lane_t  *lane;

    pool = ngx_create_pool(sizeof(ngx_guildlog_lane_t) + 1024, log);
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
    lane->pool = pool;
    lane->log = log;
    lane->work.peek = -1;

    rc = ngx_guildlog_lane_read(lane, result, row);

    if (rc != NGX_OK) {
        ngx_guildlog_lane_destroy(lane);
        return rc;
    }

    *created = lane;

    return NGX_OK;
}


void
ngx_guildlog_lane_destroy(ngx_guildlog_lane_t *lane)
{
    if (lane->timer.timer_set) {
        ngx_del_timer(&lane->timer);
    }

    if (lane->exchange) {
        ngx_guildlog_client_cancel(lane->exchange);
    }

    if (lane->query) {
        ngx_guildlog_db_pool_detach(lane->query);
    }

    ngx_guildlog_lane_empty(lane);

    if (lane->token.len) {
        ngx_explicit_memzero(lane->token.data, lane->token.len);
    }

    ngx_destroy_pool(lane->pool);
}
