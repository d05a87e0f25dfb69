
/*
 * Packets of the platform's gateway.  They are read in slices, as entries are;
 * one statement tells what is known of their guilds, src/events makes of it
 * what is to be recorded, kept and waited for, a second statement does all of
 * that or nothing: if somebody else's packets of one of the guilds came in
 * between, all begins again from the first.  So it does if filters take longer
 * than a statement may: their entries are then recorded as what waits is, in
 * turns.  If a batch of many guilds fails, each guild is taken by itself.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"
#include "events/ngx_guildlog_event_entry.h"
#include "events/ngx_guildlog_row.h"
#include "api/ngx_guildlog_value.h"


#define EVENTS_SLICE   (64 * 1024)  /* bytes of packets to read in a turn */
#define EVENTS_PLAIN   16           /* packets to be read in a turn */
#define EVENTS_PARTS   16           /* and to be seen, or elements of arrays */
#define EVENTS_AGAIN   8            /* somebody else came in between */
#define EVENTS_POOL    16384


struct ngx_http_guildlog_events_s {
    ngx_pool_t                    *pool;     /* of one try */
    ngx_guildlog_known_t          *known;
    ngx_guildlog_event_put_t       put;
    ngx_array_t                    packets;  /* of ngx_guildlog_event_t */
    ngx_uint_t                     next;
    ngx_uint_t                     again;
    ngx_uint_t                     bot;
    int64_t                        now;
    int64_t                        ahead;    /* the bot's clock, ms */
    uint64_t                       only;     /* this guild; 0: all of them */
    ngx_uint_t                     tried;    /* guilds, one by one */
    ngx_uint_t                     failed;
    unsigned                       later:1;  /* entries are left to the pairs */

    ngx_uint_t                     n[NGX_GUILDLOG_ENTRY_LAST];
    ngx_uint_t                     waiting;
    json_t                        *dropped;
    json_t                        *wanted;
};


static ngx_int_t events_read(ngx_http_guildlog_call_t *call);
static ngx_int_t events_take(void *data, const ngx_str_t *text);
static ngx_int_t events_parse(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event, ngx_pool_t *pool);
static ngx_int_t events_stays(ngx_http_guildlog_events_t *events,
    ngx_str_t *text);
static ngx_int_t events_begin(ngx_http_guildlog_call_t *call);
static ngx_uint_t events_is_mine(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event);
static ngx_int_t events_known(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t events_make(ngx_http_guildlog_call_t *call);
static ngx_int_t events_make_one(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event, ngx_uint_t *most);
static ngx_int_t events_obstacle(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event);
static ngx_int_t events_done(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t events_count(ngx_http_guildlog_events_t *events,
    ngx_guildlog_db_result_t *result);
static ngx_int_t events_apart(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t events_next(ngx_http_guildlog_call_t *call);
static ngx_int_t events_answer(ngx_http_guildlog_call_t *call);
static void events_write(ngx_guildlog_json_t *w, const char *key,
    json_t *value);
static void events_told(json_t *object, const char *prefix,
    const ngx_str_t *name);
static void events_cleanup(void *data);


ngx_int_t
ngx_http_guildlog_events_bound(ngx_http_guildlog_call_t *call)
{
    ngx_http_request_t          *r;
    ngx_pool_cleanup_t          *cln;
    ngx_http_guildlog_events_t  *events;

    r = call->request;

    events = ngx_pcalloc(r->pool, sizeof(ngx_http_guildlog_events_t));
    cln = ngx_pool_cleanup_add(r->pool, 0);

    if (events == NULL || cln == NULL
        || ngx_array_init(&events->packets, r->pool, 16,
                          sizeof(ngx_guildlog_event_t)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    events->dropped = json_object();
    events->wanted = json_array();

    cln->handler = events_cleanup;
    cln->data = events;

    if (events->dropped == NULL || events->wanted == NULL) {
        return NGX_ERROR;
    }

    call->events = events;

    events->now = ngx_guildlog_clock_wall_ms();
    events->bot = call->args[0].data[0] - '0';

    /* sent as the first byte came, or somewhat earlier: see
       ngx_guildlog_known_is_old() */

    if (call->args[1].data) {
        events->ahead = ngx_atotm(call->args[1].data, call->args[1].len)
                        - ((int64_t) r->start_sec * 1000 + r->start_msec);
    }

    call->batch = ngx_guildlog_batch_create(r->pool, &call->body,
                                         ngx_http_guildlog_body_has_lines(call),
                                         0, events_take, events);
    if (call->batch == NULL) {
        return NGX_ERROR;
    }

    return events_read(call);
}


static void
events_cleanup(void *data)
{
    ngx_http_guildlog_events_t *events = data;

    json_decref(events->dropped);
    json_decref(events->wanted);

    ngx_guildlog_pool_drop(&events->pool);
}


static ngx_int_t
events_read(ngx_http_guildlog_call_t *call)
{
    ngx_int_t  rc;
    ngx_str_t  error;

    rc = ngx_guildlog_batch_read(call->batch, EVENTS_SLICE, NULL, &error);

    if (rc == NGX_AGAIN) {
        return ngx_http_guildlog_call_yield(call, events_read);
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST,
                                             &error);
    }

    return rc == NGX_OK ? events_begin(call) : NGX_ERROR;
}


static ngx_int_t
events_take(void *data, const ngx_str_t *text)
{
    ngx_http_guildlog_events_t *events = data;

    ngx_guildlog_event_t  *event;

    event = ngx_array_push(&events->packets);
    if (event == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(event, sizeof(ngx_guildlog_event_t));

    event->text = *text;
    event->index = events->packets.nelts - 1;
    event->bot = events->bot;

    return NGX_OK;
}


static ngx_int_t
events_parse(ngx_http_guildlog_events_t *events, ngx_guildlog_event_t *event,
    ngx_pool_t *pool)
{
    ngx_int_t  rc;

    event->at = events->now;
    event->ahead = 0;
    event->done = 0;

    rc = ngx_guildlog_event_read(event, pool, events->ahead, &event->error);

    /* nothing happened later than now, whatever a clock says */

    if (event->at > events->now) {
        event->ahead += event->at - events->now;
        event->at = events->now;
    }

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    /* what the answer tells outlives this try */

    return events_stays(events, &event->name) == NGX_OK
           && events_stays(events, &event->action) == NGX_OK
           && events_stays(events, &event->error) == NGX_OK
           ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
events_stays(ngx_http_guildlog_events_t *events, ngx_str_t *text)
{
    if (text->len) {
        text->data = ngx_pstrdup(events->packets.pool, text);
    }

    return text->len && text->data == NULL ? NGX_ERROR : NGX_OK;
}


/* reads the packets that are meant, and asks what is known of their guilds */

static ngx_int_t
events_begin(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t                   i;
    ngx_guildlog_event_t        *event, *it;
    ngx_http_guildlog_events_t  *events;

    events = call->events;

    if (events->pool == NULL) {
        events->pool = ngx_create_pool(EVENTS_POOL,
                                       call->request->connection->log);
        if (events->pool == NULL) {
            return NGX_ERROR;
        }

        events->known = ngx_guildlog_known_create(events->pool);
        if (events->known == NULL) {
            return NGX_ERROR;
        }

        events->next = 0;
    }

    event = events->packets.elts;

    for (i = 0; i < EVENTS_PLAIN; events->next++) {

        if (events->next == events->packets.nelts) {
            events->next = 0;
            call->nargs = NGX_GUILDLOG_KNOWN_NARGS;

            if (ngx_guildlog_known_args(events->known, call->args) != NGX_OK) {
                return NGX_ERROR;
            }

            return ngx_http_guildlog_call_ask(call,
                  ngx_guildlog_stmt(operator_events_known), events_known);
        }

        it = &event[events->next];

        if (!events_is_mine(events, it)) {
            continue;
        }

        i++;

        if (events_parse(events, it, events->pool) != NGX_OK) {
            return NGX_ERROR;
        }

        if (it->error.len || it->guild == 0) {
            continue;
        }

        if (ngx_guildlog_known_needs(events->known, it) != NGX_OK
            || ngx_guildlog_row_needs(events->known, it) != NGX_OK)
        {
            return NGX_ERROR;
        }

        i += it->text.len / 4096;
    }

    return ngx_http_guildlog_call_yield(call, events_begin);
}


static ngx_int_t
events_known(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_str_t                    places, docs;
    ngx_http_guildlog_events_t  *events;

    events = call->events;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        return ngx_http_guildlog_response_result(call, result);
    }

    if (ngx_guildlog_db_result_retain(result, events->pool) != NGX_OK) {
        return NGX_ERROR;
    }

    places = ngx_guildlog_db_result_value(result, 0, 1);
    docs = ngx_guildlog_db_result_value(result, 0, 2);

    if (ngx_guildlog_known_load(events->known, &places, &docs) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_guildlog_event_put_init(&events->put, events->pool, events->known,
                                &call->conf->plan, events->now);
    events->put.later = events->later;
    events->put.wanted = events->wanted;

    return events_make(call);
}


static ngx_int_t
events_make(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                    rc;
    ngx_uint_t                   most;
    ngx_guildlog_event_t        *event;
    ngx_http_guildlog_events_t  *events;

    events = call->events;
    event = events->packets.elts;
    most = EVENTS_PARTS;

    while (events->next < events->packets.nelts) {

        if (events_is_mine(events, &event[events->next])) {
            rc = events_make_one(events, &event[events->next], &most);

            if (rc == NGX_ERROR) {
                return NGX_ERROR;
            }

            if (rc == NGX_AGAIN || most == 0) {
                if (rc == NGX_OK) {
                    ngx_guildlog_event_drop(&event[events->next++]);
                }

                return ngx_http_guildlog_call_yield(call, events_make);
            }

            ngx_guildlog_event_drop(&event[events->next]);
        }

        events->next++;
    }

    rc = ngx_guildlog_event_put_args(&events->put, call->args);

    if (rc != NGX_OK) {
        return rc == NGX_AGAIN ? ngx_http_guildlog_call_yield(call, events_make)
                               : NGX_ERROR;
    }

    call->nargs = NGX_GUILDLOG_EVENT_PUT_ALL;

    return ngx_http_guildlog_call_ask(call, call->route->stmt, events_done);
}


static ngx_uint_t
events_is_mine(ngx_http_guildlog_events_t *events, ngx_guildlog_event_t *event)
{
    return events->only == 0 || event->guild == events->only;
}


static ngx_int_t
events_make_one(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event, ngx_uint_t *most)
{
    ngx_int_t  rc;

    if (event->error.len) {
        return NGX_OK;
    }

    if (!event->done) {
        rc = events_obstacle(events, event);

        if (rc != NGX_OK) {
            return rc == NGX_DECLINED ? NGX_OK : NGX_ERROR;
        }

        if (ngx_guildlog_event_entries(&events->put, event) != NGX_OK
            || ngx_guildlog_event_put_packet(&events->put, event) != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (event->what != NGX_GUILDLOG_EVENT_MESSAGE
            || event->fate == NGX_GUILDLOG_EVENT_TOOK)
        {
            ngx_guildlog_known_depends(events->known, event->guild);
        }
    }

    (*most)--;

    return ngx_guildlog_known_see(events->known, event, EVENTS_PARTS);
}


/* of a guild that nobody has told of, or that is being forgotten */

static ngx_int_t
events_obstacle(ngx_http_guildlog_events_t *events,
    ngx_guildlog_event_t *event)
{
    json_t  *server, *obstacle;

    server = ngx_guildlog_known_get(events->known, event->guild,
                                    NGX_GUILDLOG_KNOWN_SERVER, event->guild);
    obstacle = json_object_get(server, "obstacle");

    if (obstacle == NULL) {
        return NGX_OK;
    }

    if ((event->what == NGX_GUILDLOG_EVENT_GUILD
         || event->what == NGX_GUILDLOG_EVENT_GUILD_UPDATE)
        && !json_is_true(json_object_get(event->d, "unavailable"))
        && ngx_strcmp(json_string_value(obstacle), "server: unknown") == 0)
    {
        return ngx_guildlog_known_put(events->known, event->guild,
                                      NGX_GUILDLOG_KNOWN_SERVER, event->guild,
                                      json_pack("{ss}", "version", "0"));
    }

    event->error = ngx_guildlog_json_text(obstacle);

    return events_stays(events, &event->error) == NGX_OK ? NGX_DECLINED
                                                         : NGX_ERROR;
}


static ngx_int_t
events_done(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_uint_t                   status;
    ngx_http_guildlog_events_t  *events;

    events = call->events;
    status = ngx_http_guildlog_response_row_status(result);

    if (!events->later
        && (result->outcome == NGX_GUILDLOG_DB_TIMEOUT
            || (result->outcome == NGX_GUILDLOG_DB_REFUSED
                && result->fault == NGX_GUILDLOG_DB_FAULT_SAID)))
    {
        events->later = 1;
        status = NGX_HTTP_CONFLICT;
    }

    if (status == NGX_HTTP_CONFLICT && events->again++ < EVENTS_AGAIN) {
        ngx_guildlog_pool_drop(&events->pool);

        return events_begin(call);
    }

    if (status != NGX_HTTP_OK) {
        return events_apart(call, result);
    }

    if (events_count(events, result) != NGX_OK) {
        return NGX_ERROR;
    }

    return events->only ? events_next(call) : events_answer(call);
}


static ngx_int_t
events_count(ngx_http_guildlog_events_t *events,
    ngx_guildlog_db_result_t *result)
{
    size_t                 i;
    json_t                *body, *errors, *error, *count;
    ngx_str_t              text;
    ngx_uint_t             n[NGX_GUILDLOG_ENTRY_LAST], *packet, index;
    const char            *rule;
    json_error_t           cause;
    ngx_guildlog_event_t  *event;

    text = ngx_guildlog_db_result_value(result, 0, 2);
    ngx_guildlog_entry_counts(&text, n);

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        events->n[i] += n[i];
    }

    events->waiting += events->put.waiting;

    text = ngx_guildlog_db_result_value(result, 0, 1);
    body = ngx_guildlog_json_read_any(text.data, text.len, 0, &cause);

    if (body == NULL) {
        return NGX_ERROR;
    }

    json_object_foreach(json_object_get(body, "dropped"), rule, count) {
        (void) json_object_set_new(events->dropped, rule,
                  json_integer(json_integer_value(count)
                               + json_integer_value(
                                     json_object_get(events->dropped, rule))));
    }

    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_MESSAGES_KEPT,
                             json_integer_value(json_object_get(body, "kept")));

    errors = json_object_get(body, "errors");
    packet = events->put.packets.elts;
    event = events->packets.elts;

    json_array_foreach(errors, i, error) {
        index = json_integer_value(json_object_get(error, "index"));

        if (index < events->put.packets.nelts) {
            text = ngx_guildlog_json_get(error, "error");

            event[packet[index]].retry =
                                json_is_true(json_object_get(error, "retry"));
            event[packet[index]].error.len = text.len;
            event[packet[index]].error.data =
                                    ngx_pstrdup(events->packets.pool, &text);
        }
    }

    json_decref(body);

    return NGX_OK;
}


/* may the cause be one guild of the batch?  Then each by itself */

static ngx_int_t
events_apart(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_uint_t                   i;
    ngx_guildlog_event_t        *event;
    ngx_http_guildlog_events_t  *events;

    events = call->events;

    if (ngx_http_guildlog_response_row_status(result) == 0
        && (result->outcome != NGX_GUILDLOG_DB_REFUSED
            || result->fault >= NGX_GUILDLOG_DB_FAULT_AWAY)
        && result->outcome != NGX_GUILDLOG_DB_TIMEOUT)
    {
        return ngx_http_guildlog_response_result(call, result);
    }

    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        (void) ngx_http_guildlog_response_failed(result,
                                             call->route->stmt->name,
                                             call->request->connection->log);
    }

    event = events->packets.elts;

    for (i = 0; i < events->packets.nelts; i++) {

        if (event[i].error.len || event[i].guild == 0) {
            continue;
        }

        if (events->only == 0) {
            event[i].apart = 1;

        } else if (event[i].guild == events->only) {
            ngx_str_set(&event[i].error, "is to be sent again");
            event[i].retry = 1;
        }
    }

    if (events->only) {
        events->failed++;
        return events_next(call);
    }

    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_APART, 1);

    return events_next(call);
}


/* the next guild that is to be taken by itself */

static ngx_int_t
events_next(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t                   i;
    ngx_guildlog_event_t        *event;
    ngx_http_guildlog_events_t  *events;

    static const ngx_str_t  nothing =
        ngx_string("nothing was recorded, send it again");

    events = call->events;
    event = events->packets.elts;

    for (i = 0; i < events->packets.nelts; i++) {
        if (event[i].apart && event[i].guild == events->only) {
            event[i].apart = 0;
        }
    }

    for (i = 0; i < events->packets.nelts; i++) {
        if (event[i].apart) {
            break;
        }
    }

    ngx_guildlog_pool_drop(&events->pool);

    if (i < events->packets.nelts) {
        events->only = event[i].guild;
        events->again = 0;
        events->tried++;

        return events_begin(call);
    }

    if (events->failed == events->tried) {
        if (ngx_http_guildlog_response_header(call->request, "Retry-After", "1")
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        return ngx_http_guildlog_response_error(call->request,
                                                NGX_HTTP_SERVICE_UNAVAILABLE,
                                                &nothing);
    }

    return events_answer(call);
}


static ngx_int_t
events_answer(ngx_http_guildlog_call_t *call)
{
    json_t                      *ignored, *unknown;
    ngx_str_t                    answer;
    ngx_uint_t                   i, n[NGX_GUILDLOG_EVENTS_LAST];
    ngx_guildlog_json_t          w;
    ngx_guildlog_event_t        *event;
    ngx_guildlog_stats_shared_t *shared;
    ngx_http_guildlog_events_t  *events;

    events = call->events;
    event = events->packets.elts;

    ignored = json_object();
    unknown = json_object();

    ngx_memzero(n, sizeof(n));

    ngx_guildlog_json_init(&w, call->request->pool, 512);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "errors");
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < events->packets.nelts; i++) {

        if (event[i].error.len) {
            n[NGX_GUILDLOG_EVENTS_ERROR]++;

            ngx_guildlog_json_begin(&w, '{');
            ngx_guildlog_json_member_number(&w, "index", i);
            ngx_guildlog_refusal_write(&w, &event[i].error);

            if (event[i].retry) {
                ngx_guildlog_json_key(&w, "retry");
                ngx_guildlog_json_bool(&w, 1);
            }

            ngx_guildlog_json_end(&w);
            continue;
        }

        switch (event[i].fate) {

        case NGX_GUILDLOG_EVENT_NOTHING:
            n[NGX_GUILDLOG_EVENTS_IGNORED]++;
            events_told(ignored, "", &event[i].name);
            break;

        case NGX_GUILDLOG_EVENT_UNKNOWN:
            n[NGX_GUILDLOG_EVENTS_UNKNOWN]++;
            events_told(unknown, event[i].audit ? "audit " : "",
                        event[i].audit ? &event[i].action : &event[i].name);
            ngx_guildlog_stats_unknown(&ngx_http_guildlog_worker.stats,
                        event[i].audit ? &event[i].action : &event[i].name);
            break;

        case NGX_GUILDLOG_EVENT_OLD:
            events->n[NGX_GUILDLOG_ENTRY_DUPLICATE]++;
            break;

        default:
            break;
        }
    }

    n[NGX_GUILDLOG_EVENTS_RECORDED] = events->n[NGX_GUILDLOG_ENTRY_RECORDED];
    n[NGX_GUILDLOG_EVENTS_DUPLICATE] = events->n[NGX_GUILDLOG_ENTRY_DUPLICATE];
    n[NGX_GUILDLOG_EVENTS_WAITING] = events->waiting;

    shared = ngx_http_guildlog_worker.stats.shared;

    for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
        (void) ngx_atomic_fetch_add(&shared->entries[i], events->n[i]);

        if (i > NGX_GUILDLOG_ENTRY_POSTPONED) {
            n[NGX_GUILDLOG_EVENTS_DROPPED] += events->n[i];
        }
    }

    for (i = 0; i < NGX_GUILDLOG_EVENTS_LAST; i++) {
        (void) ngx_atomic_fetch_add(&shared->events[i], n[i]);
    }

    ngx_guildlog_json_end(&w);

    ngx_guildlog_json_member_number(&w, "packets", events->packets.nelts);
    ngx_guildlog_json_member_number(&w, "recorded",
                                    n[NGX_GUILDLOG_EVENTS_RECORDED]);
    ngx_guildlog_json_member_number(&w, "duplicates",
                                    n[NGX_GUILDLOG_EVENTS_DUPLICATE]);
    ngx_guildlog_json_member_number(&w, "waiting", events->waiting);
    events_write(&w, "dropped", events->dropped);
    events_write(&w, "ignored", ignored);
    events_write(&w, "unknown", unknown);
    events_write(&w, "wanted", events->wanted);
    ngx_guildlog_json_end(&w);

    json_decref(ignored);
    json_decref(unknown);

    if (ngx_guildlog_json_written(&w, &answer) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_json(call->request, NGX_HTTP_OK,
                                           &answer);
}


static void
events_write(ngx_guildlog_json_t *w, const char *key, json_t *value)
{
    char       *p;
    ngx_str_t   text;

    p = json_dumps(value, JSON_COMPACT);

    if (p == NULL) {
        w->failed = 1;
        return;
    }

    text = ngx_guildlog_word(p);

    ngx_guildlog_json_key(w, key);
    ngx_guildlog_json_raw(w, &text);
    free(p);
}


static void
events_told(json_t *object, const char *prefix, const ngx_str_t *name)
{
    u_char  key[128];

    (void) ngx_snprintf(key, sizeof(key), "%s%V%Z", prefix, name);
    key[sizeof(key) - 1] = '\0';

    (void) json_object_set_new(object, (char *) key,
                  json_integer(1 + json_integer_value(
                                       json_object_get(object, (char *) key))));
}
