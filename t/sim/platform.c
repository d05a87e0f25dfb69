
/*
 * The platform, and in front of it the client: what src/client declares.  An
 * exchange connects, is written in a turn of its node, arrives, is applied or
 * not, and is answered or not.  What was written goes on when its node dies.
 */

#include <ngx_config.h>
#include "sim.h"
#include <stdarg.h>


#define PLATFORM_LATEST   9550    /* ms, from its arrival: applied by then */
#define PLATFORM_MARKS    32
#define PLATFORM_HEADERS  4
#define PLATFORM_SPARE    20000   /* ms, of a lease, when a request begins */
#define PLATFORM_BEGIN    2000    /* ms, from an intent to the first byte */


struct ngx_guildlog_client_exchange_s {
    sim_node_t                     *node;
    int                             epoch;
    ngx_guildlog_client_handler_pt  handler;
    void                           *data;
    char                            method[8];
    char                            path[256];
    char                           *body;
    ngx_msec_t                      sent, begin_by;
    int                             refs;
    int                             begins;    /* by begin_by */
    int                             written;
    int                             done;      /* answered, or cancelled */

    sim_channel_t                  *channel;
    sim_webhook_t                  *webhook;   /* of a message, or the one
                                                  that was made */
    store_lane_t                   *lane;      /* of a message */
    store_entry_t                  *entries[PLATFORM_MARKS];
    int                             n;
    int64_t                         message;
};

typedef struct ngx_guildlog_client_exchange_s  exchange_t;

typedef struct {
    exchange_t                     *x;
    ngx_guildlog_client_outcome_e   outcome;
    int                             status;
    char                           *body;
    int64_t                         retry_ms;  /* of a limit; 0: none */
    int                             global;
    int                             nheaders;
    char                            name[PLATFORM_HEADERS][24];
    char                            value[PLATFORM_HEADERS][24];
} answer_t;


static int64_t  last_id;
static int64_t  limited_to[SIM_NODES];    /* of an address, as it was told */


static void
exchange_unref(exchange_t *x)
{
    if (--x->refs == 0) {
        free(x->body);
        free(x);
    }
}


/* answers */

static answer_t *
answer_make(exchange_t *x, int outcome, int status, char *body)
{
    answer_t  *a;

    a = calloc(1, sizeof(answer_t));
    a->x = x;
    a->outcome = outcome;
    a->status = status;
    a->body = body;
    x->refs++;

    return a;
}


static char *
text_of(const char *fmt, ...)
{
    char     buf[512];
    va_list  args;

    va_start(args, fmt);
    vsnprintf(buf, sizeof(buf), fmt, args);
    va_end(args);

    return strdup(buf);
}


static void
answer_header(answer_t *a, const char *name, const char *fmt, ...)
{
    va_list  args;

    snprintf(a->name[a->nheaders], sizeof(a->name[0]), "%s", name);
    va_start(args, fmt);
    vsnprintf(a->value[a->nheaders++], sizeof(a->value[0]), fmt, args);
    va_end(args);
}


static void
answer_free(answer_t *a)
{
    exchange_unref(a->x);
    free(a->body);
    free(a);
}


/* who asked is held to it; its doubts go then, and are others */

static void
answer_limits(answer_t *a)
{
    exchange_t           *x;
    sim_channel_t        *channel;
    ngx_guildlog_lane_t  *lane;

    x = a->x;
    lane = x->data;
    channel = x->channel;

    if (a->retry_ms && !lane->lone) {
        channel->limited = lane->key;
        channel->limited_to = sim.now + a->retry_ms;
        channel->limited_node = x->node->index;
        channel->limited_epoch = x->epoch;
    }
}


/* what a process was told it is held to */

static void
answer_known(answer_t *a)
{
    exchange_t     *x;
    sim_webhook_t  *w;

    x = a->x;
    w = x->webhook;

    if (a->global) {
        limited_to[x->node->index] = sim.now + a->retry_ms;
    }

    if (w == NULL || x->lane == NULL) {
        answer_limits(a);
        return;
    }

    if (a->status == 404) {
        w->told_node = x->node->index;
        w->told_epoch = x->epoch;
    }

    if (a->retry_ms) {
        w->limited_to = sim.now + a->retry_ms;
        w->limited_node = x->node->index;
        w->limited_epoch = x->epoch;
    }
}


/* in a turn of the node */

static void
answer_read(void *data)
{
    answer_t *a = data;

    int                              i;
    exchange_t                      *x;
    ngx_pool_t                      *pool;
    ngx_keyval_t                    *header;
    ngx_guildlog_client_response_t   response;

    x = a->x;

    if (!x->done && sim.current->up) {
        x->done = 1;
        pool = ngx_create_pool(1024, sim.current->cycle.log);
        answer_known(a);

        ngx_memzero(&response, sizeof(response));
        response.outcome = a->outcome;
        response.status = a->status;
        response.cause = a->outcome ? "it was made up" : NULL;
        response.time_ms = ngx_current_msec - x->sent;
        ngx_array_init(&response.headers, pool, 4, sizeof(ngx_keyval_t));

        if (a->body) {
            response.body.data = (u_char *) a->body;
            response.body.len = strlen(a->body);
        }

        for (i = 0; i < a->nheaders; i++) {
            header = ngx_array_push(&response.headers);
            header->key.data = (u_char *) a->name[i];
            header->key.len = strlen(a->name[i]);
            header->value.data = (u_char *) a->value[i];
            header->value.len = strlen(a->value[i]);
        }

        x->handler(x->data, &response);
        ngx_destroy_pool(pool);
        x->refs--;                     /* the node's */
    }

    answer_free(a);
}


static void
answer_arrive(void *data)
{
    answer_t *a = data;

    if (a->x->done) {
        answer_free(a);
        return;
    }

    sim_mail(a->x->node, answer_read, a);
}


static void
answer_at(answer_t *a, int64_t at)
{
    sim_at(at, answer_arrive, a);
}


/* the client */

ngx_guildlog_client_t *
ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_client_url_t *url, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_uint_t keepalive)
{
    return ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_client_t));
}


void
ngx_guildlog_client_destroy(ngx_guildlog_client_t *client)
{
}


const ngx_str_t *
ngx_guildlog_client_response_header(
    const ngx_guildlog_client_response_t *response, const char *name)
{
    ngx_uint_t     i;
    ngx_keyval_t  *header;

    header = response->headers.elts;

    for (i = 0; i < response->headers.nelts; i++) {
        if (strlen(name) == header[i].key.len
            && memcmp(header[i].key.data, name, header[i].key.len) == 0)
        {
            return &header[i].value;
        }
    }

    return NULL;
}


/* does this process have some lane of that channel, for long enough? */

static int
exchange_leased(exchange_t *x, int64_t ms)
{
    int  i;

    for (i = 0; i < store.nlanes; i++) {
        if (sim_channel(store.lanes[i]) == x->channel
            && sim_pool_lease(x->node, store.lanes[i]->shard) >= ms)
        {
            return 1;
        }
    }

    return 0;
}


static int
is_execute(const exchange_t *x)
{
    return x->method[0] == 'P' && strncmp(x->path, "/webhooks/", 10) == 0;
}


static void exchange_connected(void *data);
static void exchange_write(void *data);
static void exchange_deadline(void *data);
static void platform_arrive(void *data);


/* of a webhook, whose token names its channel, or of a channel */

static void
exchange_address(exchange_t *x)
{
    int64_t  id;
    char    *p;

    if (strncmp(x->path, "/webhooks/", 10) != 0) {
        id = strtoll(x->path + sizeof("/channels/") - 1, &p, 10);
        x->channel = &sim.all[id - store.channels[0].id];
        return;
    }

    id = strtoll(x->path + sizeof("/webhooks/") - 1, &p, 10);
    x->channel = &sim.all[atoi(p + 2)];

    for (x->webhook = x->channel->webhooks; x->webhook->id != id;
         x->webhook++)
    {
        /* void */
    }
}


/* the lane that sends, of which this process knows that it waits; its doubts
   are others, as is one of the same channel that closes */

static void
exchange_rests(exchange_t *x, const ngx_guildlog_lane_t *sends)
{
    store_lane_t   *lane;
    sim_channel_t  *channel;

    channel = x->channel;
    lane = channel->row->lane;

    if (lane && sends->key == (uint64_t) lane->id && !sends->lone
        && lane->not_before == channel->rests_to
        && channel->rests_end > sim_wall()
        && channel->rests_node == x->node->index
        && channel->rests_epoch == x->epoch)
    {
        sim_fail("G9", "channel %lld: %s %s, and it waits until %lld",
                 (long long) channel->row->id, x->method, x->path,
                 (long long) (channel->rests_end - SIM_WALL));
    }

    if (sends->key == channel->limited && !sends->lone
        && channel->limited_to > sim.now
        && channel->limited_node == x->node->index
        && channel->limited_epoch == x->epoch)
    {
        sim_fail("G9", "channel %lld: %s %s, and it is limited until %lld",
                 (long long) channel->row->id, x->method, x->path,
                 (long long) channel->limited_to);
    }
}


ngx_guildlog_client_exchange_t *
ngx_guildlog_client_send(ngx_guildlog_client_t *client, const char *method,
    const ngx_str_t *path, const ngx_str_t *authorization,
    const ngx_str_t *type, const ngx_str_t *body, ngx_msec_t deadline_ms,
    ngx_guildlog_client_handler_pt handler, void *data)
{
    exchange_t  *x;

    if (sim_chance(SIM_memory)) {
        return NULL;
    }

    x = calloc(1, sizeof(exchange_t));
    x->node = sim.current;
    x->epoch = sim.current->epoch;
    x->handler = handler;
    x->data = data;
    x->sent = ngx_current_msec;
    x->refs = 3;
    snprintf(x->method, sizeof(x->method), "%s", method);
    snprintf(x->path, sizeof(x->path), "%.*s", (int) path->len, path->data);
    exchange_address(x);

    x->body = malloc(body->len + 1);

    if (body->len) {
        memcpy(x->body, body->data, body->len);
    }

    x->body[body->len] = '\0';

    if (!sim.black && !exchange_leased(x, PLATFORM_SPARE - (sim.tick - 1))) {
        sim_fail("SPARE", "channel %lld: a request, and too little is left "
                 "of the lease", (long long) x->channel->row->id);
    }

    if (limited_to[x->node->index] > sim.now) {
        sim_fail("G9", "node %d sends, and was told to wait until %lld",
                 x->node->index, (long long) limited_to[x->node->index]);
    }

    exchange_rests(x, data);

    sim_at(sim.now + (sim_chance(SIM_slow_connect)
                      ? sim_delay(0, sim_random() % 2 ? PLATFORM_BEGIN : 6000)
                      : sim_between(0, 20)),
           exchange_connected, x);
    sim_at(sim_timer((int64_t) deadline_ms), exchange_deadline, x);

    return x;
}


void
ngx_guildlog_client_begin_by(ngx_guildlog_client_exchange_t *x,
    ngx_msec_t moment)
{
    x->begins = 1;
    x->begin_by = moment;

    if (!sim.black && is_execute(x)
        && (ngx_msec_int_t) (moment - ngx_current_msec) <= 0)
    {
        sim_fail("LATE", "channel %lld: a message is given to the client, "
                 "and is too late", (long long) x->channel->row->id);
    }
}


void
ngx_guildlog_client_cancel(ngx_guildlog_client_exchange_t *x)
{
    x->done = 1;
    exchange_unref(x);
}


static void
exchange_connected(void *data)
{
    exchange_t *x = data;

    if (x->done) {
        exchange_unref(x);

    } else if (sim_chance(SIM_unsent)) {
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_UNSENT, 0, NULL),
                  sim.now);
        exchange_unref(x);

    } else {
        sim_mail(x->node, exchange_write, x);
    }
}


static void
exchange_deadline(void *data)
{
    exchange_t *x = data;

    if (!x->done) {
        answer_at(answer_make(x, x->written ? NGX_GUILDLOG_CLIENT_UNCERTAIN
                              : NGX_GUILDLOG_CLIENT_UNSENT, 0, NULL),
                  sim.now);
    }

    exchange_unref(x);
}


/* each entry names itself, in whatever format */

static void
exchange_entries(exchange_t *x)
{
    char           *p;
    const char     *what;
    store_entry_t  *e;

    what = strstr(x->body, "\"content\"") ? "-# " : "\"text\":\"";

    for (p = strstr(x->body, what); p; p = strstr(p, what)) {
        p += strlen(what);
        e = sim_entry(strtoll(p, &p, 10));

        if (e && (x->n == 0 || x->entries[x->n - 1] != e)
            && x->n < PLATFORM_MARKS)
        {
            x->entries[x->n++] = e;
        }
    }
}


/* the lane in which exactly these are in flight, as is committed; NULL */

static store_lane_t *
exchange_intent(exchange_t *x)
{
    int            i, j;
    store_lane_t  *l;

    for (i = 0; i < store.nlanes; i++) {
        l = store.lanes[i];

        if (sim_channel(l) != x->channel || l->upto - l->head != x->n) {
            continue;
        }

        for (j = 0; j < x->n; j++) {
            if (store_place(l, l->head + 1 + j) != x->entries[j]) {
                break;
            }
        }

        if (j == x->n) {
            return l;
        }
    }

    return NULL;
}


/* what has to be, when the first byte of a message leaves */

static void
exchange_look(exchange_t *x)
{
    sim_webhook_t  *w;

    exchange_entries(x);

    if (x->n == 0) {
        sim_fail("SIM", "a message without an entry: %.300s", x->body);
        return;
    }

    w = x->webhook;
    x->lane = exchange_intent(x);

    sim_note("POST %lld: %lld, %d", (long long) x->channel->row->id,
             (long long) x->entries[0]->id, x->n);

    if (w->told_epoch == x->epoch && w->told_node == x->node->index) {
        sim_fail("G9", "channel %lld: a webhook is used that was told to be "
                 "gone", (long long) x->channel->row->id);
    }

    if (w->limited_to > sim.now && w->limited_epoch == x->epoch
        && w->limited_node == x->node->index)
    {
        sim_fail("G9", "channel %lld: it is limited until %lld",
                 (long long) x->channel->row->id, (long long) w->limited_to);
    }

    if (sim.black) {
        x->lane = x->lane ? x->lane : x->entries[0]->lane;

    } else if (x->lane == NULL) {
        sim_fail("INTENT", "channel %lld: entry %lld and others, %d, are "
                 "sent, and no lane has them in flight",
                 (long long) x->channel->row->id,
                 (long long) x->entries[0]->id, x->n);
        x->lane = x->entries[0]->lane;

    } else if (sim_pool_lease(x->node, x->lane->shard) <= 0) {
        sim_fail("LEASE", "lane %lld: sent without a lease",
                 (long long) x->lane->id);

    } else if (sim_wall() * 1000
               > x->lane->attempt_at + PLATFORM_BEGIN * 1000)
    {
        sim_fail("LATE", "lane %lld: sent %lld ms behind its intent",
                 (long long) x->lane->id,
                 (long long) (sim_wall() - x->lane->attempt_at / 1000));
    }

    x->channel->waits = 0;
}


static void
exchange_write(void *data)
{
    exchange_t *x = data;

    if (x->done || !sim.current->up) {
        exchange_unref(x);
        return;
    }

    if (x->begins && (ngx_msec_int_t) (ngx_current_msec - x->begin_by) > 0) {
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_UNSENT, 0, NULL),
                  sim.now);
        exchange_unref(x);
        return;
    }

    x->written = 1;

    if (is_execute(x)) {
        exchange_look(x);
    }

    sim_at(sim.now + (sim_chance(SIM_hang) ? sim_delay(0, 400)
                      : sim_between(0, 30)), platform_arrive, x);
}


/* the platform */

static int64_t
platform_id(void)
{
    last_id = ngx_max(sim_id(), last_id + 1);

    return last_id;
}


sim_webhook_t *
sim_platform_webhook(sim_channel_t *channel)
{
    int             i, live;
    sim_webhook_t  *w;

    for (i = 0, live = 0; i < channel->nwebhooks; i++) {
        live += !channel->webhooks[i].gone;
    }

    if (live && sim.strict) {
        sim_fail("G10", "channel %lld: another webhook",
                 (long long) channel->row->id);
    }

    w = &channel->webhooks[channel->nwebhooks++];
    w->id = platform_id();
    snprintf(w->token, sizeof(w->token), "t%d-%d",
             (int) (channel - sim.all), channel->nwebhooks);

    return w;
}


static sim_message_t *
message_add(sim_channel_t *channel)
{
    sim_message_t  *m;

    if (channel->nmessages == channel->amessages) {
        channel->amessages = channel->amessages ? 2 * channel->amessages : 16;
        channel->messages = realloc(channel->messages,
                                    channel->amessages
                                    * sizeof(sim_message_t));
    }

    m = &channel->messages[channel->nmessages++];
    ngx_memzero(m, sizeof(sim_message_t));
    m->id = platform_id();

    return m;
}


/* somebody else says something */

void
sim_platform_stranger(sim_channel_t *channel)
{
    message_add(channel)->content = strdup("hello");
}


/* a message gets lost; by a person, or a bot, its entries are in the channel
   all the same */

static void
platform_loses(exchange_t *x)
{
    sim_message_t  *m;

    if (sim_chance(SIM_copied)) {
        m = message_add(x->channel);
        m->webhook = sim_random() & 1 ? m->id : 0;
        m->content = text_of("-# %lld", (long long) x->entries[0]->id);
    }
}


static void
platform_ready(void *data)
{
    exchange_t *x = data;

    x->webhook->open--;
    exchange_unref(x);
}


static int64_t
place_of(const store_entry_t *e, const store_lane_t *l)
{
    return e->again == l ? e->again_seq : e->lane == l ? e->seq : 0;
}


/* an entry is in a message: once, behind those before it, and not after it
   was said to have failed */

static void
platform_entry(exchange_t *x, store_entry_t *e, sim_message_t *m)
{
    int64_t         place;
    sim_channel_t  *channel;

    channel = x->channel;
    place = place_of(e, x->lane);

    if (e->napplied++) {
        sim_fail("G4", "entry %lld is in %lld and in %lld",
                 (long long) e->id, (long long) e->applied,
                 (long long) m->id);
    }

    if (e->failed) {
        sim_fail("G3", "entry %lld had failed, and is applied",
                 (long long) e->id);
    }

    if (channel->of == x->lane && place <= channel->order
        && (sim.strict || x->lane->head < place))
    {
        sim_fail("G6", "lane %lld: entry %lld comes behind %lld",
                 (long long) x->lane->id, (long long) place,
                 (long long) channel->order);
    }

    e->applied = m->id;
    channel->order = channel->of == x->lane
                     ? ngx_max(channel->order, place) : place;
    channel->of = x->lane;
}


static void
platform_apply(void *data)
{
    exchange_t *x = data;

    int             i;
    json_t         *json, *embeds, *footer;
    const char     *text;
    sim_message_t  *m;

    /* what it had to do comes behind the questions that came meanwhile */

    if (sim.now < sim.still_to) {
        sim_at(sim.still_to + sim_delay(0, 400), platform_apply, x);
        return;
    }

    sim.applied++;

    if (sim_random() % 8 == 0) {
        sim_platform_stranger(x->channel);
    }

    m = message_add(x->channel);
    x->message = m->id;
    m->webhook = x->webhook->id;

    json = json_loads(x->body, 0, NULL);
    text = json_string_value(json_object_get(json, "content"));
    m->content = text ? strdup(text) : NULL;
    embeds = json_object_get(json, "embeds");
    footer = json_object_get(json_array_get(embeds,
                                            json_array_size(embeds) - 1),
                             "footer");
    text = json_string_value(json_object_get(footer, "text"));
    m->footer = text ? strdup(text) : NULL;
    json_decref(json);

    for (i = 0; i < x->n; i++) {
        platform_entry(x, x->entries[i], m);
    }

    sim_note("applied %lld: %lld, %d", (long long) x->lane->id,
             (long long) x->entries[0]->id, x->n);

    platform_ready(x);
}


static answer_t *
platform_code(exchange_t *x, int status, int code)
{
    return answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, status,
                       text_of("{\"code\":%d,\"message\":\"no\"}", code));
}


static answer_t *
platform_limited(exchange_t *x, const char *scope)
{
    answer_t  *a;
    int64_t    ms;

    ms = sim_between(300, 5000);
    a = answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 429, NULL);
    a->retry_ms = ms;
    a->global = scope[0] == 'g';
    a->body = text_of("{\"message\":\"slow\",\"retry_after\":%.3f,"
                      "\"global\":%s}", ms / 1000.0,
                      a->global ? "true" : "false");
    answer_header(a, "retry-after", "%.3f", ms / 1000.0);
    answer_header(a, "x-ratelimit-scope", "%s", scope);

    return a;
}


static void
platform_posted(void *data)
{
    answer_t *a = data;

    if (a->x->message == 0) {        /* it stands still */
        sim_at(sim.now + 50, platform_posted, a);
        return;
    }

    a->body = text_of("{\"id\":\"%lld\",\"channel_id\":\"%lld\"}",
                      (long long) a->x->message,
                      (long long) a->x->channel->row->id);
    answer_arrive(a);
}


/* what a message is refused with; NULL: it is not */

static answer_t *
platform_refusal(exchange_t *x)
{
    int  i;

    if (sim_chance(SIM_gone) && x->channel->nwebhooks < SIM_WEBHOOKS - 4) {
        x->webhook->gone = 1;
    }

    if (x->webhook->gone) {
        return platform_code(x, 404, 10015);
    }

    if (sim_chance(SIM_limited)) {
        return platform_limited(x, "user");
    }

    if (sim_chance(SIM_limited_shared)) {
        return platform_limited(x, "shared");
    }

    if (sim_chance(SIM_limited_global)) {
        return platform_limited(x, "global");
    }

    if (sim_chance(SIM_err500)) {
        platform_loses(x);
        return platform_code(x, 503, 0);     /* in doubt, too */
    }

    if (sim_chance(SIM_forbidden)) {
        return platform_code(x, 403, 50013);
    }

    for (i = 0; i < x->n; i++) {
        if (x->entries[i]->poison) {
            return sim_random() & 1 ? platform_code(x, 400, 50035)
                : answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 400,
                      text_of("{\"code\":50035,\"errors\":{\"embeds\":"
                              "{\"%d\":{}}}}", i));
        }
    }

    return NULL;
}


/* quiet weather: what becomes of all messages to one server */

static void
platform_fails(exchange_t *x)
{
    answer_t  *a;

    a = NULL;

    switch (sim.seed % 4) {
    case 0:
        a = platform_code(x, 500, 0);
        break;
    case 1:
        a = platform_code(x, 403, 50013);
        break;
    case 2:
        a = answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL);
        break;
    default:
        break;                              /* it hangs */
    }

    sim_at(sim.now, platform_ready, x);

    if (a) {
        answer_at(a, sim.now + 1);
    }
}


/* was a message of this lane given up, and may still come? */

static int
given_up(const exchange_t *x)
{
    int64_t         i;
    store_entry_t  *e;

    for (i = 1; i <= x->lane->head; i++) {
        e = store_place(x->lane, i);

        if (e && !e->applied && !e->failed) {
            return 1;
        }
    }

    return x->lane != x->channel->of;
}


static void
platform_execute(exchange_t *x)
{
    int64_t    apply, answer;
    answer_t  *a;

    sim.posts++;

    if (x->webhook->open++ && (sim.strict || !given_up(x))) {
        sim_fail("G6", "lane %lld: two requests at once",
                 (long long) x->lane->id);
    }

    x->refs++;

    if (x->channel->bad && !sim.calm) {
        platform_fails(x);
        return;
    }

    apply = sim.now + sim_between(2, 60);
    answer = apply + sim_between(1, 30);
    a = platform_refusal(x);

    if (a) {
        sim_note("refused %lld: %d", (long long) x->channel->row->id,
                 a->status);
        sim_at(apply, platform_ready, x);
        answer_at(a, answer);
        return;
    }

    if (sim_chance(SIM_cut)) {
        sim.lost++;
        sim_note("cut, not applied");
        platform_loses(x);
        sim_at(apply, platform_ready, x);
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL),
                  answer);
        return;
    }

    if (sim_chance(SIM_hang)) {
        apply = sim.now + sim_delay(60, PLATFORM_LATEST);
        answer = apply + sim_delay(0, 8000);
    }

    sim_at(apply, platform_apply, x);

    /* the lost answer may come before the message is applied */

    if (sim_chance(SIM_cut_applied)) {
        sim.lost++;
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL),
                  sim_between(sim.now, answer));

    } else if (sim_chance(SIM_err500_applied)) {
        sim.lost++;
        answer_at(platform_code(x, sim_random() & 1 ? 502 : 504, 0),
                  sim_between(sim.now, answer));

    } else if (sim_chance(SIM_garbled)) {
        sim.lost++;
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200,
                              strdup(sim_random() & 1 ? "<html>" : "{}")),
                  answer);

    } else {
        /* its body is made when it is sent: the id is not known yet */

        a = answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200, NULL);

        if (!sim.quiet && sim_random() % 4 == 0) {
            answer_header(a, "x-ratelimit-remaining", "0");
            answer_header(a, "x-ratelimit-reset-after", "%.3f",
                          sim_between(100, 2000) / 1000.0);
        }

        sim_at(ngx_max(answer, apply + 1), platform_posted, a);
    }
}


static char *
platform_list(sim_channel_t *channel)
{
    int             i;
    char           *text, id[32], its[32], guild[32];
    json_t         *list;
    sim_webhook_t  *w;

    list = json_array();
    snprintf(its, sizeof(its), "%lld", (long long) channel->row->id);
    snprintf(guild, sizeof(guild), "%lld", (long long) channel->row->guild);

    for (i = 0; i < channel->nwebhooks; i++) {
        w = &channel->webhooks[i];
        snprintf(id, sizeof(id), "%lld", (long long) w->id);

        if (!w->gone) {
            json_array_append_new(list, json_pack("{ssssssssssss}", "id", id,
                "token", w->token, "name", "guildlog", "channel_id", its,
                "guild_id", guild, "application_id", "500000000000000001"));
        }
    }

    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);

    return text;
}


/* up to 100, the newest one first: of those behind, the oldest.  hides: the
   bot may not read texts */

static char *
platform_messages(sim_channel_t *channel, int64_t after, int hides)
{
    int             i, from, to;
    char           *text, id[32], webhook[32], its[32];
    json_t         *list, *one;
    sim_message_t  *m;

    for (from = 0; from < channel->nmessages; from++) {
        if (channel->messages[from].id > after) {
            break;
        }
    }

    to = ngx_min(from + 100, channel->nmessages);

    if (after == 0) {
        to = channel->nmessages;
        from = ngx_max(0, to - 100);
    }

    list = json_array();
    snprintf(its, sizeof(its), "%lld", (long long) channel->row->id);

    for (i = to - 1; i >= from; i--) {
        m = &channel->messages[i];
        snprintf(id, sizeof(id), "%lld", (long long) m->id);
        snprintf(webhook, sizeof(webhook), "%lld", (long long) m->webhook);
        one = json_pack("{ssss}", "id", id, "channel_id", its);

        if (m->webhook) {
            json_object_set_new(one, "webhook_id", json_string(webhook));
        }

        if (m->content) {
            json_object_set_new(one, "content",
                                json_string(hides ? "" : m->content));
        }

        if (m->footer && !hides) {
            json_object_set_new(one, "embeds", json_pack("[{s{ss}}]",
                                "footer", "text", m->footer));
        }

        json_array_append_new(list, one);
    }

    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);

    return text;
}


static void
platform_created(void *data)
{
    exchange_t *x = data;

    if (sim.strict && sim.now < sim.still_to) {
        sim_at(sim.still_to + sim_delay(0, 400), platform_created, x);
        return;
    }

    sim.creates++;
    x->webhook = sim_platform_webhook(x->channel);
    sim_note("webhook for %lld", (long long) x->channel->row->id);
    exchange_unref(x);
}


/* the body of what was made, as late as it is known */

static void
platform_made(void *data)
{
    answer_t *a = data;

    exchange_t  *x;

    x = a->x;

    if (x->webhook == NULL) {
        sim_at(sim.now + 50, platform_made, a);
        return;
    }

    a->body = text_of("{\"id\":\"%lld\",\"token\":\"%s\",\"name\":"
                      "\"guildlog\",\"channel_id\":\"%lld\",\"guild_id\":"
                      "\"%lld\",\"application_id\":\"500000000000000001\"}",
                      (long long) x->webhook->id, x->webhook->token,
                      (long long) x->channel->row->id,
                      (long long) x->channel->row->guild);
    answer_arrive(a);
}


static void
platform_create(exchange_t *x)
{
    int64_t  made;

    made = sim.now + (sim_chance(SIM_hang) ? sim_delay(2, PLATFORM_LATEST)
                      : sim_between(2, 50));
    x->refs++;
    sim_at(made, platform_created, x);

    if (sim_chance(SIM_cut_applied)) {
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL),
                  sim_between(sim.now, made + 10));
        return;
    }

    sim_at(made + 1 + sim_between(0, 20), platform_made,
           answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200, NULL));
}


/* a channel that cannot be read, or whose texts cannot, stays so for a while */

static void
platform_read(exchange_t *x, int64_t answer)
{
    int             hides;
    char           *p;
    int64_t         after;
    sim_channel_t  *channel;

    channel = x->channel;

    if (channel->blind_to <= sim.now && sim_chance(SIM_blind)) {
        channel->blind_to = sim.now + sim_delay(1000, 200000);
    }

    hides = channel->blind_to > sim.now && !sim.calm;
    p = strstr(x->path, "after=");
    after = p ? strtoll(p + 6, NULL, 10) : 0;
    sim.reads++;
    sim_note("READ %lld after %lld", (long long) channel->row->id,
             (long long) after);

    answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200,
                          hides && channel->blind_to % 2 ? strdup("[]")
                          : platform_messages(channel, after, hides)),
              answer);
}


static answer_t *
platform_list_fails(exchange_t *x, int64_t *answer)
{
    if (sim_chance(SIM_list_limited)) {
        return platform_limited(x, "user");
    }

    if (!sim_chance(SIM_list_fails)) {
        return NULL;
    }

    switch (sim_random() % 4) {
    case 0:
        return platform_code(x, 500, 0);
    case 1:
        *answer += sim_delay(0, 14000);
        return NULL;
    default:
        return answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL);
    }
}


static void
platform_other(exchange_t *x)
{
    int64_t    answer;
    answer_t  *a;

    answer = sim.now + sim_between(2, 60);
    a = platform_list_fails(x, &answer);

    if (a) {
        answer_at(a, answer);

    } else if (x->webhook == NULL && strstr(x->path, "/messages") == NULL
               && sim_chance(SIM_no_right))
    {
        answer_at(platform_code(x, 403, 50013), answer);

    } else if (x->webhook && x->webhook->gone) {
        answer_at(platform_code(x, 404, 10015), answer);

    } else if (x->method[0] == 'D') {
        sim.deletes++;
        x->webhook->gone = 1;
        answer_at(sim_chance(SIM_cut_applied)
                  ? answer_make(x, NGX_GUILDLOG_CLIENT_UNCERTAIN, 0, NULL)
                  : answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 204, NULL),
                  answer);

    } else if (x->method[0] == 'P') {
        platform_create(x);

    } else if (strstr(x->path, "/messages")) {
        platform_read(x, answer);

    } else if (strstr(x->path, "/webhooks") > x->path) {
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200,
                              platform_list(x->channel)), answer);

    } else {
        answer_at(answer_make(x, NGX_GUILDLOG_CLIENT_ANSWERED, 200,
                              text_of("{\"id\":\"1\",\"guild_id\":\"%lld\"}",
                                      (long long) x->channel->row->guild)),
                  answer);
    }
}


static void
platform_arrive(void *data)
{
    exchange_t *x = data;

    if (sim.now < sim.still_to && !is_execute(x)
        && (sim.strict || x->method[0] != 'P'))
    {
        sim_at(sim.still_to + sim_between(0, 20), platform_arrive, x);
        return;
    }

    if (is_execute(x)) {
        if (x->lane) {
            platform_execute(x);
        }
    } else {
        platform_other(x);
    }

    exchange_unref(x);
}


int
sim_platform_proves(sim_channel_t *channel, const store_lane_t *l,
    const store_batch_t *b)
{
    if (channel->nmessages == 0
        || channel->blind_to + SIM_WALL > l->attempt_at / 1000)
    {
        return 0;
    }

    if (l->last != STORE_NONE) {
        return channel->messages[0].id <= l->last;
    }

    return channel->messages[0].webhook == 0
           && (channel->messages[0].id >> 22) + STORE_EPOCH
              < l->attempt_at / 1000;
}


int
sim_platform_shows(const store_doubt_t *d)
{
    int64_t         seq;
    sim_channel_t  *channel;
    store_entry_t  *e;

    channel = sim_channel(d->lane);

    if (!channel->row->used || channel->nmessages == 0 || channel->row->lane
        == NULL || channel->row->lane->state == STORE_BROKEN)
    {
        return 0;
    }

    for (seq = d->from; seq <= d->to; seq++) {
        e = store_place(d->lane, seq);

        if (e == NULL || e->taken_up) {
            return 0;
        }
    }

    return d->before != STORE_NONE
           && channel->messages[0].id <= d->before;
}


void
sim_platform_start(void)
{
    last_id = 0;
    memset(limited_to, 0, sizeof(limited_to));
}


void
sim_platform_free(void)
{
    int  i, j;

    for (i = 0; i < sim.channels; i++) {
        for (j = 0; j < sim.all[i].nmessages; j++) {
            free(sim.all[i].messages[j].content);
            free(sim.all[i].messages[j].footer);
        }

        free(sim.all[i].messages);
    }
}
