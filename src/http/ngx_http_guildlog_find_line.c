
/*
 * Whose turn it is to find.  A server, or a person whose right to it only the
 * database knows, has one request of a worker at work at a time, and a line of
 * others that wait.  Those at work judge in one moment of each iteration of the
 * event loop together, and take turns.
 */

#include "http/ngx_http_guildlog_find.h"


#define LINE_MOMENT  500    /* us */


static ngx_uint_t line_same(ngx_http_guildlog_find_t *find,
    ngx_http_guildlog_find_t *other);
static void line_work(ngx_http_guildlog_find_t *find);
static void line_refuse(ngx_http_guildlog_find_t *find);
static void line_expired(ngx_event_t *ev);
static void line_handler(ngx_event_t *ev);


static struct {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    all;        /* of this worker, as they
                                                  came */
    ngx_queue_t                    turns;
    ngx_event_t                    event;
} line;


void
ngx_http_guildlog_find_line_join(ngx_http_guildlog_find_t *find)
{
    ngx_uint_t                      waiting, working;
    ngx_queue_t                    *q;
    ngx_http_guildlog_find_t       *other;
    const ngx_guildlog_database_t  *database;

    if (line.event.handler == NULL) {
        line.fd = (ngx_socket_t) -1;

        ngx_queue_init(&line.all);
        ngx_queue_init(&line.turns);

        line.event.data = &line;
        line.event.log = ngx_cycle->log;
        line.event.handler = line_handler;
    }

    waiting = 0;
    working = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_find_t, line);

        if (line_same(find, other)) {
            waiting += !other->at_work;
            working = 1;
        }
    }

    ngx_queue_insert_tail(&line.all, &find->line);
    find->in_line = 1;

    if (!working) {
        line_work(find);
        return;
    }

    if (find->begun) {
        return;
    }

    /* as many may wait as queries of one payer */

    database = find->call->conf->database;

    if (waiting >= (database->queue + 1) / 2) {
        line_refuse(find);
        return;
    }

    find->timer.data = find;
    find->timer.log = find->call->request->connection->log;
    find->timer.handler = line_expired;

    ngx_add_timer(&find->timer, database->queue_timeout);
}


static ngx_uint_t
line_same(ngx_http_guildlog_find_t *find,
    ngx_http_guildlog_find_t *other)
{
    return find->call->conf->database == other->call->conf->database
           && find->payer == other->payer;
}


static void
line_work(ngx_http_guildlog_find_t *find)
{
    if (find->timer.timer_set) {
        ngx_del_timer(&find->timer);

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_SHARE_WAITS, 1);
    }

    find->at_work = 1;

    ngx_http_guildlog_find_line_turn(find);
}


static void
line_refuse(ngx_http_guildlog_find_t *find)
{
    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_SHARE_TAKEN, 1);

    ngx_http_guildlog_find_line_leave(find);

    find->refused = 1;

    ngx_http_guildlog_find_line_turn(find);
}


static void
line_expired(ngx_event_t *ev)
{
    line_refuse(ev->data);
}


/* the next one of its server comes in its place */

void
ngx_http_guildlog_find_line_leave(ngx_http_guildlog_find_t *find)
{
    ngx_queue_t               *q;
    ngx_http_guildlog_find_t  *other;

    if (find->timer.timer_set) {
        ngx_del_timer(&find->timer);
    }

    if (find->in_turn) {
        ngx_queue_remove(&find->turn);
        find->in_turn = 0;
    }

    if (!find->in_line) {
        return;
    }

    ngx_queue_remove(&find->line);
    find->in_line = 0;

    if (!find->at_work) {
        return;
    }

    find->at_work = 0;

    ngx_guildlog_queue_each(q, &line.all) {
        other = ngx_queue_data(q, ngx_http_guildlog_find_t, line);

        if (!other->at_work && line_same(find, other)) {
            line_work(other);
            return;
        }
    }
}


void
ngx_http_guildlog_find_line_turn(ngx_http_guildlog_find_t *find)
{
    ngx_queue_insert_tail(&line.turns, &find->turn);
    find->in_turn = 1;

    ngx_guildlog_event_next(&line.event);
}


static void
line_handler(ngx_event_t *ev)
{
    uint64_t                   end;
    ngx_int_t                  rc;
    ngx_queue_t               *q;
    ngx_http_request_t        *r;
    ngx_http_guildlog_find_t  *find;

    ngx_guildlog_event_stop(ev);

    end = ngx_guildlog_clock_us() + LINE_MOMENT;

    while (!ngx_queue_empty(&line.turns)) {

        q = ngx_queue_head(&line.turns);
        find = ngx_queue_data(q, ngx_http_guildlog_find_t, turn);

        ngx_queue_remove(q);
        find->in_turn = 0;

        r = find->call->request;
        ngx_http_set_log_request(r->connection->log, r);

        do {
            rc = find->work(find);
        } while (rc == NGX_AGAIN && ngx_guildlog_clock_us() < end);

        if (rc == NGX_AGAIN) {
            ngx_http_guildlog_find_line_turn(find);
            return;
        }

        ngx_http_guildlog_call_finish(r, rc);

        if (ngx_guildlog_clock_us() >= end) {
            break;
        }
    }

    if (!ngx_queue_empty(&line.turns)) {
        ngx_guildlog_event_next(ev);
    }
}
