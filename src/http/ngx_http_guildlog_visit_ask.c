
/*
 * What a visit asks the platform: it waits for a grant, sends the question, and
 * judges whether the answer is one.
 */

#include "http/ngx_http_guildlog_visit.h"
#include "shm/ngx_guildlog_quota.h"


/* ms: for one answer of the platform, and from one look for a grant to the
   next */
#define VISIT_ASK_PLATFORM  5000
#define VISIT_ASK_GRANT     20

/* ms: after a limit that tells no time, and the longest that is believed */
#define VISIT_ASK_AFTER     1000
#define VISIT_ASK_PAUSE     600000


static void visit_ask_begin(ngx_http_guildlog_visit_t *visit);
static ngx_msec_t visit_ask_held(ngx_http_guildlog_visit_t *visit);
static ngx_uint_t visit_ask_put_off(ngx_http_guildlog_visit_t *visit,
    ngx_msec_t after);
static void visit_ask_line_up(ngx_http_guildlog_visit_t *visit);
static void visit_ask_look(ngx_event_t *ev);
static void visit_ask_leave(ngx_http_guildlog_visit_t *visit);
static void visit_ask_give_up(ngx_http_guildlog_visit_t *visit);
static void visit_ask_send(ngx_http_guildlog_visit_t *visit);
static void visit_ask_fail(ngx_http_guildlog_visit_t *visit);
static void visit_ask_unsent(ngx_event_t *ev);
static void visit_ask_answered(void *data,
    ngx_guildlog_client_response_t *response);
static void visit_ask_again(ngx_event_t *ev);
static ngx_msec_t visit_ask_after(ngx_guildlog_client_response_t *response);
static void visit_ask_pace(ngx_guildlog_client_response_t *response,
    ngx_msec_t after);
static ngx_uint_t visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response);


/* persons and strangers of this worker that wait for a grant */
static ngx_queue_t  visit_ask_lines[] = {
    { &visit_ask_lines[0], &visit_ask_lines[0] },
    { &visit_ask_lines[1], &visit_ask_lines[1] }
};


void
ngx_http_guildlog_visit_ask(ngx_http_guildlog_visit_t *visit)
{
    visit->until = ngx_current_msec + VISIT_ASK_PLATFORM;

    visit->timer.data = visit;
    visit->timer.log = ngx_cycle->log;

    visit_ask_begin(visit);
}


/*
 * If this nginx delivers, what is asked counts in what its address may send:
 * the worker that delivers grants it.
 */

static void
visit_ask_begin(ngx_http_guildlog_visit_t *visit)
{
    ngx_msec_t  after;

    after = visit_ask_held(visit);

    if (after) {
        if (!visit_ask_put_off(visit, after)) {
            visit_ask_fail(visit);
        }

        return;
    }

    if (!visit->login->delivers) {
        visit_ask_send(visit);
        return;
    }

    visit_ask_line_up(visit);

    ngx_guildlog_quota_want(&ngx_http_guildlog_worker.stats, visit->asks);

    visit->timer.handler = visit_ask_look;
    ngx_add_timer(&visit->timer, VISIT_ASK_GRANT);
}


/*
 * ms: a limit of what strangers ask is one for all of them, and each more
 * question until it ends would be one more bad request of this address.
 */

static ngx_msec_t
visit_ask_held(ngx_http_guildlog_visit_t *visit)
{
    return visit->asks == NGX_GUILDLOG_ASKS_STRANGER
           ? ngx_guildlog_pace_held(
                         &ngx_http_guildlog_worker.stats.shared->pace,
                         ngx_current_msec)
           : 0;
}


/* 0: it would come too late */

static ngx_uint_t
visit_ask_put_off(ngx_http_guildlog_visit_t *visit, ngx_msec_t after)
{
    if ((ngx_msec_int_t) (visit->until - ngx_current_msec - after) <= 0) {
        return 0;
    }

    visit->timer.handler = visit_ask_again;
    ngx_add_timer(&visit->timer, after);

    return 1;
}


/*
 * Of strangers those come first whose address has asked least in this minute,
 * so that who comes again and again holds up nobody else.
 */

static void
visit_ask_line_up(ngx_http_guildlog_visit_t *visit)
{
    ngx_queue_t                *q, *line;
    ngx_http_guildlog_visit_t  *other;

    line = &visit_ask_lines[visit->asks];

    for (q = ngx_queue_last(line); q != line; q = ngx_queue_prev(q)) {
        other = ngx_queue_data(q, ngx_http_guildlog_visit_t, line);

        if (other->rank <= visit->rank) {
            break;
        }
    }

    ngx_queue_insert_after(q, &visit->line);
    visit->waits = 1;
}


/* a grant is the next one's, whoever finds it */

static void
visit_ask_look(ngx_event_t *ev)
{
    ngx_http_guildlog_visit_t *visit = ev->data;

    ngx_http_guildlog_visit_t  *next;

    if (visit_ask_held(visit)) {
        visit_ask_give_up(visit);
        visit_ask_begin(visit);
        return;
    }

    if (ngx_guildlog_quota_take(&ngx_http_guildlog_worker.stats, visit->asks)) {
        next = ngx_queue_data(ngx_queue_head(&visit_ask_lines[visit->asks]),
                              ngx_http_guildlog_visit_t, line);

        visit_ask_leave(next);
        visit_ask_send(next);

        if (next == visit) {
            return;
        }
    }

    if ((ngx_msec_int_t) (visit->until - ngx_current_msec) > 0) {
        ngx_add_timer(&visit->timer, VISIT_ASK_GRANT);
        return;
    }

    if (ngx_http_guildlog_visit_ask_tells()) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "the requests to the platform that this machine may send "
                      "were used up: \"%V\" was not asked", &visit->path);
    }

    visit->told(visit, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
}


static void
visit_ask_leave(ngx_http_guildlog_visit_t *visit)
{
    ngx_queue_remove(&visit->line);
    visit->waits = 0;

    ngx_guildlog_event_stop(&visit->timer);
}


static void
visit_ask_give_up(ngx_http_guildlog_visit_t *visit)
{
    visit_ask_leave(visit);
    ngx_guildlog_quota_give_up(&ngx_http_guildlog_worker.stats, visit->asks);
}


static void
visit_ask_send(ngx_http_guildlog_visit_t *visit)
{
    static const ngx_str_t  type =
        ngx_string("application/x-www-form-urlencoded");

    visit->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          visit->method, &visit->path, &visit->authorization,
                          &type, &visit->form, VISIT_ASK_PLATFORM,
                          visit_ask_answered, visit);

    if (visit->exchange == NULL) {
        visit_ask_fail(visit);
    }
}


/* told() is called from the event loop only */

static void
visit_ask_fail(ngx_http_guildlog_visit_t *visit)
{
    visit->timer.handler = visit_ask_unsent;
    ngx_add_timer(&visit->timer, 0);
}


static void
visit_ask_unsent(ngx_event_t *ev)
{
    ngx_http_guildlog_visit_t *visit = ev->data;

    visit->told(visit, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
}


/*
 * Each worker, and each machine, asks for itself: the platform may find that
 * too often for one person, and says when to come again.
 */

static void
visit_ask_answered(void *data, ngx_guildlog_client_response_t *response)
{
    ngx_http_guildlog_visit_t *visit = data;

    ngx_msec_t  after;

    visit->exchange = NULL;

    after = visit_ask_after(response);

    visit_ask_pace(response, after);

    if (after && visit->asks == NGX_GUILDLOG_ASKS_STRANGER) {
        ngx_guildlog_pace_hold(&ngx_http_guildlog_worker.stats.shared->pace,
                               ngx_current_msec, after);
    }

    if (after && visit_ask_put_off(visit, after)) {
        return;
    }

    visit->told(visit, visit_ask_judge(visit, response), &response->body);
}


static void
visit_ask_again(ngx_event_t *ev)
{
    visit_ask_begin(ev->data);
}


/* ms until the platform may be asked again; 0: it did not limit this */

static ngx_msec_t
visit_ask_after(ngx_guildlog_client_response_t *response)
{
    ngx_int_t         ms;
    const ngx_str_t  *value;

    if (response->status != NGX_HTTP_TOO_MANY_REQUESTS) {
        return 0;
    }

    value = ngx_guildlog_client_response_header(response, "retry-after");
    ms = value ? ngx_atofp(value->data, value->len, 3) : NGX_ERROR;

    return ms > 0 ? ngx_min((ngx_msec_t) ms, VISIT_ASK_PAUSE)
                  : VISIT_ASK_AFTER;
}


/*
 * What delivery has to know of it: it sends from the same address.  No other
 * refusal makes it pause: whoever signs in could cause one.
 */

static void
visit_ask_pace(ngx_guildlog_client_response_t *response, ngx_msec_t after)
{
    if (ngx_guildlog_client_response_header(response, "x-ratelimit-global")
        == NULL)
    {
        after = 0;
    }

    ngx_guildlog_pace_told(&ngx_http_guildlog_worker.stats.shared->pace,
                  ngx_current_msec,
                  response->outcome != NGX_GUILDLOG_CLIENT_ANSWERED
                  || response->status >= NGX_HTTP_INTERNAL_SERVER_ERROR,
                  response->status == NGX_HTTP_UNAUTHORIZED
                  || response->status == NGX_HTTP_FORBIDDEN
                  || response->status == NGX_HTTP_TOO_MANY_REQUESTS,
                  after);
}


/* the status that told() takes */

static ngx_uint_t
visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response)
{
    u_char  *end;

    if (response->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
        && response->status == NGX_HTTP_OK && !response->cut)
    {
        return NGX_HTTP_OK;
    }

    end = response->body.data + response->body.len;

    if (visit->form.len && response->status == NGX_HTTP_BAD_REQUEST
        && ngx_strlcasestrn(response->body.data, end,
                            (u_char *) "invalid_grant", 13 - 1))
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    if (ngx_http_guildlog_visit_ask_tells()) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "the platform did not answer \"%V\" for who signed in: "
                      "status %ui%s%s", &visit->path, response->status,
                      response->cause ? ", " : "",
                      response->cause ? response->cause : "");
    }

    /* the person has taken back what guildlog was allowed */

    if (visit->renews && response->status == NGX_HTTP_UNAUTHORIZED) {
        return NGX_HTTP_UNAUTHORIZED;
    }

    return NGX_HTTP_SERVICE_UNAVAILABLE;
}


void
ngx_http_guildlog_visit_ask_cancel(ngx_http_guildlog_visit_t *visit)
{
    if (visit->waits) {
        visit_ask_give_up(visit);
    }

    ngx_guildlog_event_stop(&visit->timer);

    if (visit->exchange) {
        ngx_guildlog_client_cancel(visit->exchange);
    }
}


ngx_uint_t
ngx_http_guildlog_visit_ask_tells(void)
{
    static time_t  told;

    if (told == ngx_time()) {
        return 0;
    }

    told = ngx_time();

    return 1;
}
