
/*
 * GET /logs/stream: one listener, from its first comment to its end.  It holds
 * at most one block that its reader has not taken yet; later events wait in the
 * database.  A listener that is still sending gets nothing of what is read
 * meanwhile.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_stream.h"


#define STREAM_HEARTBEAT  15000   /* ms */


static ngx_int_t stream_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static void stream_cleanup(void *data);
static void stream_wait(ngx_http_guildlog_listener_t *listener);
static void stream_heartbeat(ngx_event_t *ev);
static ngx_int_t stream_say(ngx_http_guildlog_listener_t *listener,
    const ngx_str_t *text);
static ngx_int_t stream_send(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_block_t *block);
static ngx_int_t stream_left(ngx_http_guildlog_call_t *call);


ngx_int_t
ngx_http_guildlog_stream_start(ngx_http_guildlog_call_t *call)
{
    ngx_str_t                     *args;
    ngx_table_elt_t               *id;
    ngx_http_request_t            *r;
    ngx_http_guildlog_filter_t     filter;
    ngx_http_guildlog_listener_t  *listener;

    static const ngx_str_t  malformed =
        ngx_string("Last-Event-ID: must be the id of an entry");

    r = call->request;
    args = call->args;

    /* the header wins: a reader that reconnects by itself sends it */

    id = NULL;

    do {
        id = ngx_http_guildlog_call_header(r, "Last-Event-ID", id);
    } while (id && id->value.len == 0);

    if (id) {
        if (ngx_guildlog_value_id(id->value.data, id->value.len, 1) != NGX_OK) {
            return ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST,
                                                 &malformed);
        }

        args[NGX_HTTP_GUILDLOG_STREAM_LAST_ID] = id->value;
    }

    listener = ngx_pcalloc(r->pool, sizeof(ngx_http_guildlog_listener_t));

    if (listener == NULL
        || ngx_http_guildlog_filter_read(&filter, r->pool, args) != NGX_OK
        || ngx_http_guildlog_call_at_end(r, stream_cleanup, listener) != NGX_OK)
    {
        return NGX_ERROR;
    }

    listener->call = call;
    listener->match = filter.match;
    listener->match.types = filter.shown;

    ngx_guildlog_event_init(&listener->heartbeat, stream_heartbeat,
                            r->connection, r->connection->log);
    listener->heartbeat.cancelable = 1;

    call->listener = listener;
    call->left = stream_left;
    call->ctx->call = call;

    args[NGX_HTTP_GUILDLOG_STREAM_BEGIN] =
                                        args[NGX_HTTP_GUILDLOG_STREAM_LAST_ID];
    call->nargs = NGX_HTTP_GUILDLOG_STREAM_BEGIN + 1;

    return ngx_http_guildlog_call_ask(call, ngx_guildlog_stmt(logs_stream),
                                      stream_answer);
}


static ngx_int_t
stream_answer(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_int_t                      rc;
    ngx_str_t                      text, reset;
    ngx_http_request_t            *r;
    ngx_http_guildlog_listener_t  *listener;

    static const ngx_str_t  none = ngx_string("");

    r = call->request;

    if (!ngx_http_guildlog_response_has_log(call, result, &rc)) {
        return rc;
    }

    ngx_str_set(&r->headers_out.charset, "utf-8");

    if (ngx_http_guildlog_response_header(r, "X-Accel-Buffering", "no")
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_response_head(r, NGX_HTTP_OK, "text/event-stream",
                                         -1);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    listener = call->listener;
    listener->since = ngx_http_guildlog_log_number(result, 0, CHANNEL);

    /*
     * What a reader gets first.  Its id is the arrival to go on behind, so a
     * reader who has got no event resumes from here, too.
     */

    reset = ngx_http_guildlog_log_text(result, 0, REASON);

    if (ngx_guildlog_print(r->pool, &text, ":\nretry: 1000\nid: %L\n%s%V%s\n",
                           listener->since,
                           reset.data ? "event: reset\ndata: " : "",
                           reset.data ? &reset : &none, reset.data ? "\n" : "")
        != NGX_OK
        || stream_say(listener, &text) == NGX_ERROR
        || ngx_http_guildlog_stream_feed_join(listener) != NGX_OK)
    {
        return NGX_ERROR;
    }

    stream_wait(listener);

    return NGX_AGAIN;
}


static void
stream_cleanup(void *data)
{
    ngx_http_guildlog_listener_t *listener = data;

    ngx_http_guildlog_stream_feed_leave(listener);

    if (listener->heartbeat.timer_set) {
        ngx_del_timer(&listener->heartbeat);
    }

    if (listener->block) {
        ngx_http_guildlog_stream_block_free(listener->block);
        listener->block = NULL;
    }
}


/* sets the timer of the next comment, or of the end of the token */

static void
stream_wait(ngx_http_guildlog_listener_t *listener)
{
    time_t      left;
    ngx_msec_t  timeout;

    timeout = STREAM_HEARTBEAT;
    left = listener->call->ctx->token.exp - ngx_time();

    if (left < (time_t) timeout / 1000) {
        timeout = ngx_max(left, 1) * 1000;
    }

    ngx_add_timer(&listener->heartbeat, timeout);
}


static void
stream_heartbeat(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;

    ngx_http_request_t            *r;
    ngx_http_guildlog_listener_t  *listener;

    static const ngx_str_t  comment = ngx_string(":\n\n");

    r = c->data;
    listener = ngx_http_guildlog_call_ctx(r, 0)->call->listener;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "guildlog stream: heartbeat, sending:%d",
                   listener->sending);

    if (ngx_time() >= listener->call->ctx->token.exp) {
        ngx_http_guildlog_stream_end(listener);
        return;
    }

    ngx_http_set_log_request(c->log, r);

    if (!listener->sending
        && stream_say(listener, &comment) == NGX_ERROR)
    {
        ngx_http_guildlog_call_finish(r, NGX_ERROR);
        return;
    }

    stream_wait(listener);
}


static ngx_int_t
stream_say(ngx_http_guildlog_listener_t *listener, const ngx_str_t *text)
{
    ngx_int_t                   rc;
    ngx_http_guildlog_block_t  *block;

    block = ngx_http_guildlog_stream_block_create(text->len);
    if (block == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(block->data, text->data, text->len);
    block->len = text->len;

    rc = stream_send(listener, block);

    ngx_http_guildlog_stream_block_free(block);

    return rc;
}


void
ngx_http_guildlog_stream_deliver(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_block_t *block)
{
    ngx_http_request_t  *r;

    r = listener->call->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog stream: %uz bytes of events up to %L",
                   block->len, listener->since);

    ngx_http_guildlog_call_finish(r, stream_send(listener, block));
}


static ngx_int_t
stream_send(ngx_http_guildlog_listener_t *listener,
    ngx_http_guildlog_block_t *block)
{
    ngx_guildlog_assert(!listener->sending && listener->block == NULL);

    listener->block = block;
    listener->sending = 1;
    block->refs++;

    return ngx_http_guildlog_response_write(listener->call, block->data,
                                            block->data + block->len, 1);
}


/* the block has left */

static ngx_int_t
stream_left(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_listener_t  *listener;

    listener = call->listener;

    ngx_guildlog_assert(listener->sending && listener->block);

    ngx_http_guildlog_stream_block_free(listener->block);
    listener->block = NULL;
    listener->sending = 0;

    if (listener->topic) {
        ngx_http_guildlog_stream_fetch_next(listener);
    }

    return NGX_AGAIN;
}


/* ends the answer in order, or cuts it while its reader is not reading */

void
ngx_http_guildlog_stream_end(ngx_http_guildlog_listener_t *listener)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = listener->call->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog stream: ends, sending:%d", listener->sending);

    ngx_http_guildlog_stream_feed_leave(listener);

    r->keepalive = 0;

    rc = NGX_ERROR;

    if (!listener->sending
        && ngx_http_send_special(r, NGX_HTTP_LAST) != NGX_ERROR)
    {
        rc = NGX_OK;
    }

    ngx_http_guildlog_call_finish(r, rc);
}


/*
 * Blocks of a live tail: bytes that several listeners send.
 */

ngx_http_guildlog_block_t *
ngx_http_guildlog_stream_block_create(size_t size)
{
    ngx_http_guildlog_block_t  *block;

    block = ngx_alloc(sizeof(ngx_http_guildlog_block_t) + size, ngx_cycle->log);

    if (block) {
        block->refs = 1;
        block->len = 0;
        block->data = (u_char *) (block + 1);
    }

    return block;
}


void
ngx_http_guildlog_stream_block_free(ngx_http_guildlog_block_t *block)
{
    ngx_guildlog_assert(block->refs > 0);

    if (--block->refs == 0) {
        ngx_free(block);
    }
}
