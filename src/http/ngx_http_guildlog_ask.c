
/*
 * Questions of this worker's requests to the platform.
 */

#include "http/ngx_http_guildlog_ask.h"


/* ms: no answer is to be had in less */
#define ASK_LEAST  500


static void ask_line(void);
static void ask_line_look(ngx_event_t *ev);
static ngx_msec_t ask_next(ngx_guildlog_asks_e who);
static void ask_leave(ngx_http_guildlog_ask_t *ask);
static void ask_answered(void *data, ngx_guildlog_client_response_t *response);
static void ask_fail(ngx_http_guildlog_ask_t *ask, ngx_uint_t late);
static void ask_late(ngx_event_t *ev);
static void ask_unsent(ngx_event_t *ev);


/* those that wait, by who asks */

static ngx_queue_t  ask_lines[NGX_GUILDLOG_ASKS_LAST] = {
    { &ask_lines[0], &ask_lines[0] },
    { &ask_lines[1], &ask_lines[1] },
    { &ask_lines[2], &ask_lines[2] }
};


static struct {
    NGX_GUILDLOG_EVENT_IDENT;
    ngx_event_t                    look;
} ask_all = {
    { NULL }, (ngx_socket_t) -1,
    { .data = &ask_all, .handler = ask_line_look, .cancelable = 1 }
};


void
ngx_http_guildlog_ask_start(ngx_http_guildlog_ask_t *ask, ngx_msec_t ms)
{
    ngx_queue_t              *q, *line;
    ngx_http_guildlog_ask_t  *other;

    ngx_guildlog_assert(!ask->waits && ask->exchange == NULL);

    ask->fd = (ngx_socket_t) -1;
    ask->until = ngx_current_msec + ms;
    ngx_guildlog_event_init(&ask->timer, ask_late, ask, ngx_cycle->log);
    ngx_add_timer(&ask->timer, ms);

    line = &ask_lines[ask->who];

    for (q = ngx_queue_last(line); q != line; q = ngx_queue_prev(q)) {
        other = ngx_queue_data(q, ngx_http_guildlog_ask_t, queue);

        if (other->rank <= ask->rank) {
            break;
        }
    }

    ngx_queue_insert_after(q, &ask->queue);
    ask->waits = 1;

    ask_line();
}


/* all that may be sent is sent: of persons, then of the others one each */

static void
ask_line(void)
{
    ngx_uint_t  who, sent;
    ngx_msec_t  ms, least;

    ngx_guildlog_event_stop(&ask_all.look);
    ngx_time_update();

    do {
        sent = 0;
        least = NGX_TIMER_INFINITE;

        for (who = 0; who < NGX_GUILDLOG_ASKS_LAST; who++) {

            if (ngx_queue_empty(&ask_lines[who])) {
                continue;
            }

            ms = ask_next(who);

            if (ms) {
                least = ngx_min(least, ms);
                continue;
            }

            sent = 1;

            if (who == NGX_GUILDLOG_ASKS_PERSON) {
                break;
            }
        }

    } while (sent);

    if (least != NGX_TIMER_INFINITE) {
        ask_all.look.log = ngx_cycle->log;
        ngx_add_timer(&ask_all.look, least);
    }
}


static void
ask_line_look(ngx_event_t *ev)
{
    ask_line();
}


/* the first one of a line leaves it; else ms for which it waits at least */

static ngx_msec_t
ask_next(ngx_guildlog_asks_e who)
{
    ngx_msec_t                        ms;
    ngx_msec_int_t                    left;
    ngx_http_guildlog_ask_t          *ask;
    ngx_guildlog_platform_request_t  *request;

    ask = ngx_queue_data(ngx_queue_head(&ask_lines[who]),
                         ngx_http_guildlog_ask_t, queue);
    request = &ask->request;

    left = (ngx_msec_int_t) (ask->until - ngx_current_msec)
           - (ask->answer ? 0 : ASK_LEAST);

    ms = left > 0 ? ngx_guildlog_pace_ask(&ngx_http_guildlog_worker.pace,
                                          ngx_current_msec, who, ask->rank)
                  : 1;

    if (ms && (ngx_msec_int_t) ms < left) {
        return ms;
    }

    if (ms) {
        ask_fail(ask, 1);
        return 0;
    }

    ask_leave(ask);

    ask->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          request->method, &request->path, &ask->authorization,
                          &request->type, &request->body,
                          ask->answer ? ask->answer
                                      : ask->until - ngx_current_msec,
                          ask_answered, ask);

    if (ask->exchange == NULL) {
        ask_fail(ask, 0);
    }

    return 0;
}


static void
ask_leave(ngx_http_guildlog_ask_t *ask)
{
    if (ask->waits) {
        ngx_queue_remove(&ask->queue);
        ask->waits = 0;
    }

    ngx_guildlog_event_stop(&ask->timer);
}


static void
ask_answered(void *data, ngx_guildlog_client_response_t *response)
{
    ngx_http_guildlog_ask_t *ask = data;

    ask->exchange = NULL;
    ask->handler(ask->data, response, NULL);
}


static void
ask_fail(ngx_http_guildlog_ask_t *ask, ngx_uint_t late)
{
    ask_leave(ask);

    ask->late = late;
    ask->timer.handler = ask_unsent;
    ngx_add_timer(&ask->timer, 0);
}


static void
ask_late(ngx_event_t *ev)
{
    ngx_http_guildlog_ask_t *ask = ev->data;

    ask_leave(ask);

    ask->late = 1;
    ask_unsent(ev);
}


static void
ask_unsent(ngx_event_t *ev)
{
    ngx_http_guildlog_ask_t *ask = ev->data;

    ask->handler(ask->data, NULL,
                 ask->late ? "this machine may not send more for now"
                 : "the request could not be sent from this machine");
}


void
ngx_http_guildlog_ask_cancel(ngx_http_guildlog_ask_t *ask)
{
    ask_leave(ask);

    if (ask->exchange) {
        ngx_guildlog_client_cancel(ask->exchange);
        ask->exchange = NULL;
    }
}


void
ngx_http_guildlog_ask_told(ngx_uint_t failed, ngx_uint_t invalid,
    ngx_msec_t pause_ms)
{
    ngx_guildlog_pace_t  *pace;

    pace = &ngx_http_guildlog_worker.pace;

    /* only what lanes send tells that the platform is not there */

    if (!failed
        && ngx_guildlog_pace_answered(pace, ngx_current_msec, 0, invalid))
    {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "the platform is there");
    }

    if (pause_ms) {
        ngx_guildlog_pace_pause(pace, ngx_current_msec, pause_ms);
    }
}
