
/*
 * Who is served next.  Listeners near the newest arrival are served together;
 * those far behind it one after the other, each with all others who happen to
 * be at the same place.  No listener holds a connection to the database.
 */

#include "http/ngx_http_guildlog_stream.h"


#define NGX_HTTP_GUILDLOG_FETCH_NEAR   1000    /* arrivals */
#define NGX_HTTP_GUILDLOG_FETCH_PAUSE  20      /* ms, in which others join */

#define ngx_http_guildlog_fetch_is_behind(listener)                    \
    (!(listener)->sending && (listener)->since < (listener)->topic->arrival)


static void ngx_http_guildlog_fetch_handler(ngx_event_t *ev);
static void ngx_http_guildlog_fetch_done(
    ngx_http_guildlog_topic_t *topic);


void
ngx_http_guildlog_stream_fetch_create(ngx_http_guildlog_topic_t *topic)
{
    topic->done = ngx_http_guildlog_fetch_done;
    topic->fd = (ngx_socket_t) -1;

    topic->look.data = topic;
    topic->look.log = ngx_cycle->log;
    topic->look.handler = ngx_http_guildlog_fetch_handler;
    topic->look.cancelable = 1;
}


void
ngx_http_guildlog_stream_fetch_end(ngx_http_guildlog_topic_t *topic)
{
    if (topic->serving) {
        return;
    }

    ngx_http_guildlog_stream_serve_end(topic);

    if (topic->look.timer_set) {
        ngx_del_timer(&topic->look);
    }

    ngx_free(topic);
}


/* looks after a pause, in which other listeners fall behind, too */

void
ngx_http_guildlog_stream_fetch_next(ngx_http_guildlog_listener_t *listener)
{
    ngx_http_guildlog_topic_t  *topic;

    topic = listener->topic;

    if (!ngx_http_guildlog_fetch_is_behind(listener)) {
        return;
    }

    topic->behind = 1;

    if (!topic->serving && !topic->look.timer_set) {
        ngx_add_timer(&topic->look, NGX_HTTP_GUILDLOG_FETCH_PAUSE);
    }
}


void
ngx_http_guildlog_stream_fetch_leave(ngx_http_guildlog_listener_t *listener)
{
    if (listener->served) {
        ngx_http_guildlog_stream_serve_leave(listener);
    }
}


static void
ngx_http_guildlog_fetch_handler(ngx_event_t *ev)
{
    ngx_http_guildlog_stream_fetch_look(ev->data);
}


/*
 * Finds who is behind.  Those who are far have every other turn, the one first
 * whose last one is the longest ago.
 */

void
ngx_http_guildlog_stream_fetch_look(ngx_http_guildlog_topic_t *topic)
{
    int64_t                        since;
    ngx_queue_t                   *q;
    ngx_http_guildlog_listener_t  *listener, *far;

    /* what is asked for or judged now calls fetch_done() when it ends */

    if (topic->query || topic->news) {
        return;
    }

    topic->behind = 0;
    since = topic->arrival;
    far = NULL;

    ngx_http_guildlog_stream_each(q, &topic->listeners) {
        listener = ngx_queue_data(q, ngx_http_guildlog_listener_t, queue);

        if (!ngx_http_guildlog_fetch_is_behind(listener)) {
            continue;
        }

        if (topic->arrival - listener->since <= NGX_HTTP_GUILDLOG_FETCH_NEAR) {
            since = ngx_min(since, listener->since);

        } else if (far == NULL || listener->turn < far->turn) {
            far = listener;
        }
    }

    topic->near = (since < topic->arrival && !(far && topic->near));

    if (!topic->near) {
        if (far == NULL) {
            return;
        }

        far->turn = ++topic->turns;
        since = far->since;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "guildlog fetch: server %V, arrival %L, from %L, near:%d",
                   &topic->guild, topic->arrival, since, topic->near);

    ngx_http_guildlog_stream_serve_ask(topic, since);
}


/* Race: all listeners may have left meanwhile */

static void
ngx_http_guildlog_fetch_done(ngx_http_guildlog_topic_t *topic)
{
    topic->serving = 0;

    if (ngx_queue_empty(&topic->listeners)) {
        ngx_http_guildlog_stream_fetch_end(topic);
        return;
    }

    ngx_http_guildlog_stream_fetch_look(topic);
}
