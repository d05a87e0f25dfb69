
/*
 * The model.  Statements run one after another: what a lock is for is left
 * out, but where a row that somebody has is passed over.
 */

#include <ngx_config.h>
#include <jansson.h>
#include "store.h"


#define STORE_FULL      50          /* refusals */
#define STORE_WINDOW    (10 * STORE_MINUTE)
#define STORE_LEASE     (30 * STORE_SECOND)


/* an argument of a statement: delivery_work */

typedef struct {
    int64_t      guild, lane, shard, fence, step, done_to, status, message;
    int64_t      attempts, wait_ms, begin_to, peek, most, bytes;
    int          changes, refused;
    const char  *reason;
} work_t;

typedef struct {
    int64_t      low, at, next;
} mark_t;

typedef void (*model_pt)(const ngx_str_t *args, store_answer_t *a);

typedef struct {
    const char  *name;
    int          columns;
    int          turns;             /* takes lane_tail */
    model_pt     model;
} model_t;


store_t  store;


/* answers */

static void
put_n(store_answer_t *a, const char *s, size_t n)
{
    if (a->n == a->room) {
        a->room = a->room ? 2 * a->room : 64;
        a->at = realloc(a->at, a->room * sizeof(int));
    }

    if (s == NULL) {
        a->at[a->n++] = -1;
        return;
    }

    while (a->used + n + 1 > a->size) {
        a->size = a->size ? 2 * a->size : 512;
        a->text = realloc(a->text, a->size);
    }

    a->at[a->n++] = (int) a->used;
    memcpy(a->text + a->used, s, n);
    a->used += n;
    a->text[a->used++] = '\0';
}


static void
put(store_answer_t *a, const char *s)
{
    put_n(a, s, s ? strlen(s) : 0);
}


static void
put_number(store_answer_t *a, int64_t v)
{
    char  buf[24];

    if (v == STORE_NONE) {
        put(a, NULL);
        return;
    }

    snprintf(buf, sizeof(buf), "%lld", (long long) v);
    put(a, buf);
}


static void
put_nulls(store_answer_t *a, int n)
{
    while (n--) {
        put(a, NULL);
    }
}


static void
says(store_answer_t *a, const char *status, const char *body)
{
    put(a, status);
    put(a, body);
}


static void
refuse(store_answer_t *a, const char *sqlstate)
{
    memcpy(a->sqlstate, sqlstate, sizeof(a->sqlstate));
}


const char *
store_value(const store_answer_t *a, int row, int column)
{
    int  i;

    i = row * a->columns + column;

    return a->at[i] < 0 ? NULL : a->text + a->at[i];
}


void
store_answer_free(store_answer_t *a)
{
    free(a->at);
    free(a->text);
    memset(a, 0, sizeof(store_answer_t));
}


/* arguments */

static int64_t
number(const ngx_str_t *arg)
{
    char  buf[32];

    if (arg->data == NULL) {
        return STORE_NONE;
    }

    snprintf(buf, sizeof(buf), "%.*s", (int) arg->len, arg->data);

    return strtoll(buf, NULL, 10);
}


static void
text(const ngx_str_t *arg, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int) arg->len, arg->data);
}


static int
is(const ngx_str_t *arg, const char *s)
{
    return arg->len == strlen(s) && memcmp(arg->data, s, arg->len) == 0;
}


/* times */

int64_t
store_ms(int64_t us)
{
    return (us + 500) / 1000;
}


static int64_t
time_id(int64_t us)
{
    return (store_ms(us) - STORE_EPOCH) * (1LL << 22);
}


static int64_t
age_ms(int64_t at)
{
    return at == STORE_NONE
           ? STORE_NONE : ngx_max(0, store_ms(store.now) - store_ms(at));
}


/* refusal.sql */

static store_refusal_t *
refusal(int64_t guild)
{
    int  i;

    for (i = 0; i < store.nrefusals; i++) {
        if (store.refusals[i].guild == guild) {
            return &store.refusals[i];
        }
    }

    return NULL;
}


int64_t
store_rest_ms(int64_t guild)
{
    store_refusal_t  *r;

    r = refusal(guild);

    if (r == NULL || r->n < STORE_FULL || r->since > store.now) {
        return 0;
    }

    return ngx_max(0, store_ms(r->since + STORE_WINDOW)
                      - store_ms(store.now));
}


static void
refusals_add(int64_t guild, int64_t n)
{
    store_refusal_t  *r;

    if (n == 0) {
        return;
    }

    r = refusal(guild);

    if (r == NULL) {
        store.refusals = realloc(store.refusals, ++store.nrefusals
                                                 * sizeof(store_refusal_t));
        r = &store.refusals[store.nrefusals - 1];
        r->guild = guild;
        r->since = store.now;
        r->n = 0;
    }

    if (r->since > store.now || r->since <= store.now - STORE_WINDOW) {
        r->since = store.now;
        r->n = 0;
    }

    r->n += n;
}


/* lanes: lane.sql and lane_tail.sql */

store_lane_t *
store_lane(int64_t guild, int64_t id)
{
    int  a, b, m;

    for (a = 0, b = store.nlanes; a < b; /* void */) {
        m = (a + b) / 2;

        if (store.lanes[m]->guild < guild
            || (store.lanes[m]->guild == guild && store.lanes[m]->id < id))
        {
            a = m + 1;
        } else {
            b = m;
        }
    }

    return a < store.nlanes && store.lanes[a]->guild == guild
           && store.lanes[a]->id == id && !store.lanes[a]->deleted
           ? store.lanes[a] : NULL;
}


static void
lane_call(store_lane_t *l)
{
    if (!l->ready) {
        l->parked_for[0] = '\0';
    }

    l->ready = 1;
    l->since = store.now;
    l->parked_to = STORE_NONE;
}


static void
lane_wake(store_lane_t *l)
{
    if (l->reason[0]
        && (l->attempt_at == STORE_NONE || l->refused_at == STORE_NONE
            || l->attempt_at <= l->refused_at))
    {
        l->not_before = STORE_NONE;
    }

    lane_call(l);
}


static void
lanes_open(store_channel_t *channel)
{
    int            i;
    store_lane_t  *l;

    l = calloc(1, sizeof(store_lane_t));
    l->guild = channel->guild;
    l->channel = channel;
    l->state_since = l->mixed_at = l->since = store.now;
    l->ready = 1;
    l->webhook = l->lost_at = l->forbidden_at = l->paused_at = STORE_NONE;
    l->resumed_at = l->asked_at = l->verified_at = STORE_NONE;
    l->refused_at = l->look_at = l->attempt_at = STORE_NONE;
    l->not_before = l->last = l->parked_to = STORE_NONE;
    channel->lane = l;

    store.opened(l);

    if (store.nlanes == store.alanes) {
        store.alanes = store.alanes ? 2 * store.alanes : 16;
        store.lanes = realloc(store.lanes,
                              store.alanes * sizeof(store_lane_t *));
    }

    for (i = store.nlanes++;
         i && (store.lanes[i - 1]->guild > l->guild
               || (store.lanes[i - 1]->guild == l->guild
                   && store.lanes[i - 1]->id > l->id));
         i--)
    {
        store.lanes[i] = store.lanes[i - 1];
    }

    store.lanes[i] = l;
}


static void
lane_end(store_lane_t *l)
{
    l->channel->lane = NULL;
    l->state = STORE_CLOSED;
    l->state_since = store.now;
    l->webhook = l->asked_at = STORE_NONE;
    l->secret[0] = '\0';
    l->look_at = store.now + 24 * STORE_HOUR;
    l->deleted = l->tail == 0;
    l->ready = 0;
}


static void
lanes_leave(store_lane_t *l)
{
    l->state = STORE_CLOSING;
    l->state_since = store.now;
    l->reason[0] = '\0';
    l->lost_at = l->forbidden_at = STORE_NONE;

    if (l->webhook == STORE_NONE && l->asked_at == STORE_NONE
        && l->head == l->tail)
    {
        lane_end(l);
    } else {
        lane_call(l);
    }
}


static void
lanes_return(store_lane_t *l)
{
    if (l->head == l->tail) {
        l->asked_at = l->webhook != STORE_NONE ? store.now : l->asked_at;
        l->webhook = STORE_NONE;
        l->secret[0] = '\0';
    }

    l->state = l->webhook != STORE_NONE ? STORE_ACTIVE : STORE_REGISTERING;
    l->state_since = store.now;
    l->reason[0] = '\0';
    l->lost_at = l->forbidden_at = STORE_NONE;
    lane_call(l);
}


/* lanes_sync(): what that change means to all lanes of the server */

void
store_sync(store_channel_t *channel, int used)
{
    int               i;
    store_lane_t     *l;
    store_channel_t  *c;

    channel->used = used;

    for (i = 0; i < store.nchannels; i++) {
        c = &store.channels[i];

        if (c->guild != channel->guild || c->bot != channel->bot) {
            continue;
        }

        l = c->lane;

        if (l == NULL && c->used) {
            lanes_open(c);

        } else if (l && !c->used && l->state != STORE_CLOSING) {
            lanes_leave(l);

        } else if (l && c->used && l->state == STORE_CLOSING) {
            lanes_return(l);
        }
    }
}


int
store_shared(const store_lane_t *l)
{
    int                  i;
    const store_lane_t  *o;

    for (i = 0; i < store.nlanes; i++) {
        o = store.lanes[i];

        if (o != l && l->webhook != STORE_NONE && o->webhook == l->webhook
            && o->state != STORE_CLOSING && o->state != STORE_CLOSED)
        {
            return 1;
        }
    }

    return 0;
}


/* a place at the end of the lane of that channel, which is opened if it has
   none */

static store_lane_t *
lanes_take(store_channel_t *channel, store_entry_t *e, int64_t *seq)
{
    store_lane_t  *l;

    if (channel->lane == NULL) {
        lanes_open(channel);
    }

    l = channel->lane;

    if (l->tail == l->aplaces) {
        l->aplaces = l->aplaces ? 2 * l->aplaces : 64;
        l->places = realloc(l->places, l->aplaces * sizeof(store_entry_t *));
    }

    l->places[l->tail++] = e;
    *seq = l->tail;

    if (!l->ready) {
        lane_call(l);
    }

    return l;
}


store_entry_t *
store_record(store_channel_t *channel, int64_t id, char *doc, int64_t held_to)
{
    store_entry_t  *e;

    if (store.nentries == store.aentries) {
        store.aentries = store.aentries ? 2 * store.aentries : 64;
        store.entries = realloc(store.entries,
                                store.aentries * sizeof(store_entry_t *));
    }

    e = calloc(1, sizeof(store_entry_t));
    store.entries[store.nentries++] = e;
    e->id = id;
    e->doc = doc;
    e->channel = channel;
    e->recorded_at = store.now;
    e->held_to = held_to;

    if (held_to == STORE_NONE) {
        e->lane = lanes_take(channel, e, &e->seq);
    }

    return e;
}


/* 0: its entry is in another place by now */

store_entry_t *
store_place(const store_lane_t *l, int64_t seq)
{
    store_entry_t  *e;

    e = seq >= 1 && seq <= l->tail ? l->places[seq - 1] : NULL;

    return e && ((e->lane == l && e->seq == seq)
                 || (e->again == l && e->again_seq == seq)) ? e : NULL;
}


/* lane_entries() */

store_entry_t *
store_stands(const store_lane_t *l, int64_t seq)
{
    store_entry_t  *e;

    e = store_place(l, seq);

    return e && (e->again == NULL || (e->again == l && e->again_seq == seq))
           ? e : NULL;
}


int64_t
store_since(const store_entry_t *e, const store_lane_t *l, int64_t seq)
{
    return e->lane == l && e->seq == seq ? e->recorded_at : e->again_at;
}


/* pause.sql */

void
store_pause(store_lane_t *l)
{
    if (l->paused_at == STORE_NONE) {
        l->paused_at = store.now;
    }
}


static void
batch(store_lane_t *l, int64_t from, int64_t to, int64_t attempts, int status,
    int64_t message, const char *reason)
{
    store_batch_t  *b;

    if (l->nbatches == l->abatches) {
        l->abatches = l->abatches ? 2 * l->abatches : 16;
        l->batches = realloc(l->batches,
                             l->abatches * sizeof(store_batch_t));
    }

    b = &l->batches[l->nbatches++];
    b->from = from;
    b->to = to;
    b->attempts = attempts;
    b->status = status;
    b->message = message;
    b->done_at = store.now;
    snprintf(b->reason, STORE_TEXT, "%s", reason ? reason : "");

    if (store.decided) {
        store.decided(l, b);
    }
}


void
store_resume(store_lane_t *l)
{
    int64_t  seq;

    if (l->paused_at == STORE_NONE) {
        return;
    }

    l->paused_at = STORE_NONE;
    l->resumed_at = store.now;

    /* lane_skip() */

    if (l->tail > l->head && l->upto == l->head) {

        for (seq = l->head + 1; seq <= l->tail; seq++) {
            if (store_stands(l, seq)) {
                break;
            }
        }

        if (seq > l->tail) {
            batch(l, l->head + 1, l->tail, 0, 0, STORE_NONE, "expired");
            l->head = l->upto = l->tail;
            l->step += 2;
            l->attempts = 0;
        }
    }

    lane_wake(l);
}


/* lease.sql */

int
store_mine(const char *me, int shard, int64_t fence)
{
    return shard >= 0 && shard < STORE_SHARDS
           && strcmp(store.leases[shard].owner, me) == 0
           && store.leases[shard].fence == fence
           && store.leases[shard].until > store.now;
}


static int
its_shard(const char *me, int shard)
{
    return store_mine(me, shard, store.leases[shard].fence);
}


/* "{a,b}", where an owner may stand in quotes */

static int
among(const char *list, const char *owner)
{
    char    word[72];

    snprintf(word, sizeof(word), "\"%s\"", owner);

    return owner[0] && strstr(list, word) != NULL;
}


static int
lease_owners(const char *me, const char *dead, int leaves, int64_t asked)
{
    int             i, n;
    store_owner_t  *o, *slot;

    for (i = 0, slot = NULL; i < STORE_OWNERS; i++) {
        o = &store.owners[i];

        if (o->owner[0] && (o->until < store.now || strcmp(o->owner, me) == 0
                            || among(dead, o->owner)))
        {
            o->owner[0] = '\0';
        }

        o->until = ngx_min(o->until, store.now + STORE_LEASE);

        if (o->owner[0] == '\0') {
            slot = o;
        }
    }

    if (!leaves) {
        snprintf(slot->owner, sizeof(slot->owner), "%s", me);
        slot->until = store.now + STORE_LEASE;
        slot->asked = asked;
    }

    for (i = 0, n = 0; i < STORE_OWNERS; i++) {
        n += store.owners[i].owner[0] != '\0';
    }

    return (STORE_SHARDS + ngx_max(n, 1) - 1) / ngx_max(n, 1);
}


static void
delivery_lease(const ngx_str_t *args, store_answer_t *a)
{
    int             i, j, have, share, leaves, given[STORE_SHARDS];
    char            me[64], dead[160], give[400], *p;
    int64_t         asked;
    store_lease_t  *l;

    text(&args[0], me, sizeof(me));
    text(&args[1], dead, sizeof(dead));
    text(&args[2], give, sizeof(give));
    leaves = args[3].data[0] == 't';
    asked = number(&args[4]);

    for (i = 0; i < STORE_OWNERS; i++) {
        if (strcmp(store.owners[i].owner, me) == 0
            && store.owners[i].asked > asked)
        {
            return;
        }
    }

    share = lease_owners(me, dead, leaves, asked);

    memset(given, 0, sizeof(given));

    for (p = give; *p; p++) {
        if (*p >= '0' && *p <= '9') {
            given[strtol(p, &p, 10) % STORE_SHARDS] = 1;
            p--;
        }
    }

    for (i = 0, have = 0; i < STORE_SHARDS; i++) {
        l = &store.leases[i];

        if ((strcmp(l->owner, me) == 0 && l->until > store.now)
            || l->until > store.now + STORE_LEASE)
        {
            l->until = store.now + STORE_LEASE;
        }

        if ((strcmp(l->owner, me) == 0 && given[i]) || among(dead, l->owner)
            || l->until <= store.now)
        {
            l->owner[0] = '\0';
            l->until = STORE_NONE;
        }

        have += strcmp(l->owner, me) == 0;
    }

    for (i = 0; i < STORE_SHARDS && have < share && !leaves; i++) {
        l = &store.leases[i];

        if (l->owner[0] == '\0') {
            snprintf(l->owner, sizeof(l->owner), "%s", me);
            l->fence++;
            l->until = store.now + STORE_LEASE;
            have++;
        }
    }

    for (i = 0; i < STORE_SHARDS; i++) {
        l = &store.leases[i];
        put_number(a, i);
        put(a, l->owner[0] ? l->owner : NULL);
        put_number(a, l->fence);
        put(a, strcmp(l->owner, me) == 0 ? "t" : "f");
        put_number(a, share);
    }

    for (i = 0; i < STORE_OWNERS; i++) {
        p = store.owners[i].owner;

        for (j = 0; j < STORE_SHARDS; j++) {
            if (strcmp(store.leases[j].owner, p) == 0) {
                break;
            }
        }

        if (*p && strcmp(p, me) != 0 && j == STORE_SHARDS) {
            put(a, NULL);
            put(a, p);
            put(a, NULL);
            put(a, "f");
            put_number(a, share);
        }
    }
}


/* delivery_step.sql */

static int64_t
field(json_t *o, const char *name)
{
    json_t  *v;

    v = json_object_get(o, name);

    return json_is_integer(v) ? json_integer_value(v) : STORE_NONE;
}


static void
work_read(work_t *w, json_t *o)
{
#define get(name)  w->name = field(o, #name)

    get(guild); get(lane); get(shard); get(fence); get(step); get(done_to);
    get(status); get(message); get(attempts); get(wait_ms); get(begin_to);
    get(peek); get(most); get(bytes);

#undef get

    w->changes = json_is_true(json_object_get(o, "changes"));
    w->refused = json_is_true(json_object_get(o, "refused"));
    w->reason = json_string_value(json_object_get(o, "reason"));
}


/* in that place, where it may stand for the second time */

static int
expired(const store_lane_t *l, int64_t seq)
{
    int64_t         old;
    store_entry_t  *e;

    e = store_place(l, seq);
    old = store.now - store.expires;

    return e->id < time_id(old)
           && store_since(e, l, seq) < old
           && (l->resumed_at == STORE_NONE || l->resumed_at < old);
}


/* the first place behind that one which has an entry; 0: none */

static int64_t
peek(const store_lane_t *l, int64_t behind)
{
    int64_t  seq;

    for (seq = ngx_max(behind, 0) + 1; seq <= l->tail; seq++) {
        if (store_place(l, seq)) {
            return seq;
        }
    }

    return 0;
}


static void
doubt_open(work_t *w, store_lane_t *l)
{
    store_doubt_t  *d;

    if (w->done_to <= l->head || l->webhook == STORE_NONE
        || l->attempt_at == STORE_NONE)
    {
        return;
    }

    if (store.ndoubts == store.adoubts) {
        store.adoubts = store.adoubts ? 2 * store.adoubts : 16;
        store.doubts = realloc(store.doubts,
                               store.adoubts * sizeof(store_doubt_t));
    }

    d = &store.doubts[store.ndoubts++];
    d->lane = l;
    d->from = l->head + 1;
    d->to = w->done_to;
    d->done_at = store.now;
    d->webhook = l->webhook;
    d->attempt_at = l->attempt_at;
    d->before = l->last;
    d->looks = 0;
    d->looked_at = 0;
    d->look_at = store.now + STORE_MINUTE;
}


static void
delivery_change(work_t *w, store_lane_t *l, int begins)
{
    if (!begins) {
        w->begin_to = STORE_NONE;
    }

    if (w->done_to > l->head) {
        batch(l, l->head + 1, w->done_to, w->attempts, w->status,
              w->message, w->reason);
    }

    if (w->status == 1) {
        doubt_open(w, l);
        l->mixed_at = store.now;
    }

    if (w->refused) {
        l->refused_to = ngx_max(l->refused_to, l->upto);
    }

    if (w->done_to != STORE_NONE) {
        l->head = w->done_to;
        l->attempts = 0;
    }

    l->upto = w->begin_to != STORE_NONE ? w->begin_to : l->head;
    l->step = w->step;

    if (w->begin_to != STORE_NONE) {
        l->attempts++;
        l->attempt_at = store.now;
    }

    l->not_before = w->wait_ms == STORE_NONE
                    ? STORE_NONE : store.now + w->wait_ms * 1000;

    if (w->message != STORE_NONE) {
        l->last = w->message;
    }
}


static const char *
delivery_rest(work_t *w, store_lane_t *l)
{
    int  idle;

    idle = !w->changes && (l->attempt_at == STORE_NONE
                           || l->attempt_at < store.now - 24 * STORE_HOUR);

    if ((store.skips && store.skips(l)) || l->upto > l->head) {
        return "ok";
    }

    if ((l->state != STORE_ACTIVE && l->state != STORE_CLOSING)
        || l->paused_at != STORE_NONE)
    {
        return "paused";
    }

    if ((l->tail != l->head && !idle) || l->locked_to > store.now
        || (l->tail > l->head && peek(l, l->head)))
    {
        return "ok";
    }

    if (l->head < l->tail) {
        l->head = l->upto = l->tail;
    }

    if (l->state == STORE_CLOSING) {
        return store_shared(l) ? "shared" : "closing";
    }

    l->ready = 0;

    return "empty";
}


static const char *
delivery_step_one(const char *me, work_t *w, store_lane_t *l)
{
    int  goes_on, same;

    if (!store_mine(me, (int) w->shard, w->fence) || l == NULL) {
        return "lost";
    }

    same = (w->done_to == STORE_NONE || w->done_to == l->head)
           && (l->upto == l->head || l->upto == w->begin_to);
    goes_on = (l->state == STORE_ACTIVE || l->state == STORE_CLOSING)
              && l->paused_at == STORE_NONE && store_rest_ms(w->guild) == 0;

    if (l->step == w->step) {
        if (w->changes && !same) {
            return "lost";
        }

        if (w->begin_to != STORE_NONE && l->upto == l->head) {
            return "paused";
        }

    } else if (!w->changes || l->step != w->step - 1) {
        return "lost";

    } else {
        delivery_change(w, l, goes_on);

        /* delivery_healed() */

        if (w->status == 2 && (l->reason[0] || l->told[0])
            && (l->state == STORE_ACTIVE || l->state == STORE_CLOSING)
            && !(store.skips && store.skips(l)))
        {
            l->reason[0] = l->told[0] = '\0';
            l->forbidden_at = STORE_NONE;
        }

        if (!goes_on) {
            return "paused";
        }
    }

    return w->peek == STORE_NONE ? "ok" : delivery_rest(w, l);
}


static void
delivery_load(store_answer_t *a, int place, work_t *w, store_lane_t *l)
{
    char            format[8], buttons[8];
    int64_t         seq, most, bytes;
    size_t          len;
    store_entry_t  *e;

    snprintf(format, sizeof(format), "%d", l->channel->format);
    snprintf(buttons, sizeof(buttons), "%d", l->channel->buttons);
    most = w->most == STORE_NONE ? INT64_MAX : w->most;
    bytes = 0;

    for (seq = w->peek; most-- > 0 && (seq = peek(l, seq)) != 0; /* void */) {
        e = store_place(l, seq);
        len = strlen(e->doc);
        bytes += len;

        if (w->bytes != STORE_NONE && bytes > w->bytes
            && bytes != (int64_t) len)
        {
            break;
        }

        put_number(a, place);
        put(a, NULL);
        put_number(a, seq);
        put(a, expired(l, seq) ? "t" : "f");
        put_n(a, e->doc, len);
        put(a, format);
        put(a, "-1");
        put(a, buttons);
        put(a, "0");
        put(a, "f");
    }
}


static void
delivery_step(const ngx_str_t *args, store_answer_t *a)
{
    int            i, n;
    char           me[64];
    json_t        *json;
    work_t        *w;
    store_lane_t  *l;
    const char   **ends;

    text(&args[0], me, sizeof(me));
    json = json_loadb((char *) args[1].data, args[1].len, 0, NULL);
    n = (int) json_array_size(json);
    w = calloc(n + 1, sizeof(work_t));
    ends = calloc(n + 1, sizeof(char *));

    for (i = 0; i < n; i++) {
        work_read(&w[i], json_array_get(json, i));
        ends[i] = delivery_step_one(me, &w[i],
                                    store_lane(w[i].guild, w[i].lane));
        put_number(a, i + 1);
        put(a, ends[i]);
        put_nulls(a, 8);
    }

    for (i = 0; i < n; i++) {
        l = store_lane(w[i].guild, w[i].lane);

        if (strcmp(ends[i], "ok") == 0 && w[i].peek != STORE_NONE
            && w[i].most != 0)
        {
            delivery_load(a, i + 1, &w[i], l);
        }
    }

    free(ends);
    free(w);
    json_decref(json);
}


/* delivery.sql */

static int
mark_read(const ngx_str_t *arg, mark_t *mark)
{
    char  buf[128], *p;

    if (arg->data == NULL) {
        return 0;
    }

    text(arg, buf, sizeof(buf));

    if (buf[1] == '-') {
        mark->low = mark->at = -INT64_MAX;
        mark->next = 0;
        return 1;
    }

    mark->low = buf[1] == ',' ? STORE_NONE : strtoll(buf + 1, NULL, 10);
    p = strchr(buf, ',');
    mark->at = strtoll(p + 1, &p, 10);
    mark->next = strtoll(p + 1, NULL, 10);

    return 1;
}


/* lanes that were called for after that are looked for */

static int64_t
mark_from(const ngx_str_t *arg)
{
    mark_t  mark;

    if (!mark_read(arg, &mark) || mark.low == STORE_NONE) {
        return STORE_NONE;
    }

    return ngx_max(mark.low, -INT64_MAX + STORE_SECOND) - STORE_SECOND;
}


static void
delivery_marked(mark_t *mark, int given)
{
    int      i;
    int64_t  oldest;

    for (i = 0, oldest = store.xid; i < STORE_OPEN; i++) {
        if (store.open[i]) {
            oldest = ngx_min(oldest, store.open[i]);
        }
    }

    if (!given || mark->next <= oldest) {
        mark->low = given ? mark->at : STORE_NONE;
        mark->at = store.now;
        mark->next = store.xid;
    }

    mark->low = ngx_max(mark->low, store.now - 30 * STORE_SECOND);
}


/* the lane of the page behind that one; NULL: no more.  *i goes through them */

static store_lane_t *
delivery_ready(const char *me, int64_t low, const ngx_str_t *args, int *i)
{
    int64_t        guild, lane;
    store_lane_t  *l;

    guild = number(&args[2]);
    lane = number(&args[3]);

    while (*i < store.nlanes) {
        l = store.lanes[(*i)++];

        if (l->ready && !l->deleted && its_shard(me, l->shard)
            && (low == STORE_NONE || l->since > low)
            && (l->guild > guild || (l->guild == guild && l->id > lane))
            && (l->parked_to == STORE_NONE || l->parked_to < store.now))
        {
            return l;
        }
    }

    return NULL;
}


store_lane_t *
store_ready(const ngx_str_t *args, int *i)
{
    char  me[64];

    text(&args[0], me, sizeof(me));

    return delivery_ready(me, mark_from(&args[1]), args, i);
}


static void
ids_put(store_answer_t *a, const store_lane_t *l, int64_t from, int64_t to)
{
    char            ids[2048], *p;
    int64_t         seq;
    store_entry_t  *e;

    for (p = ids, seq = from; seq <= to; seq++) {
        e = store_place(l, seq);

        if (e && p < ids + sizeof(ids) - 32) {
            p += sprintf(p, p == ids ? "%lld" : ",%lld", (long long) e->id);
        }
    }

    put(a, p == ids ? NULL : ids);
}


static void
delivery_lane(store_answer_t *a, const store_lane_t *l)
{
    int      goes;
    int64_t  rest, wait;

    static const char  *states[] = { "registering", "active", "closing" };

    rest = store_rest_ms(l->guild);
    goes = l->state <= STORE_CLOSING && l->paused_at == STORE_NONE
           && (l->not_before == STORE_NONE
               || l->not_before < store.now + 40 * STORE_SECOND)
           && rest < 40000;
    wait = l->not_before == STORE_NONE
           ? STORE_NONE : store_ms(l->not_before) - store_ms(store.now);

    put_number(a, l->guild);
    put_number(a, l->id);
    put_number(a, l->shard);
    put_number(a, store.leases[l->shard].fence);
    put_number(a, l->channel->bot);
    put_number(a, l->channel->id);
    put(a, goes ? states[l->state] : NULL);
    put_number(a, l->webhook);
    put(a, l->secret[0] ? l->secret : NULL);
    put_number(a, l->head);
    put_number(a, l->upto);
    put_number(a, l->step);
    put_number(a, l->attempts);
    put_number(a, age_ms(l->webhook == STORE_NONE ? l->asked_at
                         : l->attempt_at));
    put_number(a, ngx_max(rest, wait));
    put_number(a, l->last);
    put_number(a, l->since);

    if (l->upto > l->head) {
        ids_put(a, l, l->head + 1, l->upto);
    } else {
        put(a, NULL);
    }

    put(a, l->verified_at != STORE_NONE ? "t" : "f");
}


/* a row of a find that says what came to an end */

static void
ended_put(store_answer_t *a, const char *reason, int64_t n)
{
    put_nulls(a, 6);
    put(a, reason);
    put_nulls(a, 2);
    put_number(a, n);
    put_nulls(a, 9);
}


static void
park(store_lane_t *l, const char *cause)
{
    l->parked_to = store.now + 10 * STORE_MINUTE;
    snprintf(l->parked_for, sizeof(l->parked_for), "%s", cause);
}


static void
parked_put(store_answer_t *a, const store_lane_t *l)
{
    put_number(a, l->guild);
    put_number(a, l->id);
    put_nulls(a, 4);
    put(a, "parked");
    put_nulls(a, 10);
    put(a, "a lane");
    put(a, NULL);
}


static int
delivery_fail(store_answer_t *a, store_lane_t *l)
{
    if (l->state != STORE_BROKEN || l->paused_at != STORE_NONE
        || (store.skips && store.skips(l)) || l->locked_to > store.now)
    {
        return 0;
    }

    ended_put(a, l->reason, l->tail - l->head);

    if (l->tail > l->head) {
        batch(l, l->head + 1, l->tail, l->attempts, 0, STORE_NONE, l->reason);
    }

    l->head = l->upto = l->tail;
    l->step += 2;
    l->attempts = 0;
    l->ready = 0;

    if (!l->channel->used) {
        lanes_leave(l);
    }

    put_number(a, l->guild);
    put_number(a, l->id);
    put_nulls(a, 17);

    return 1;
}


static int
is_bad(const ngx_str_t *apart, store_lane_t *l)
{
    return apart->data[0] == 't' && store.bad && store.bad(l);
}


static void
delivery_expire(store_answer_t *a, const char *me, const ngx_str_t *args,
    int64_t most)
{
    int             i;
    int64_t         seq, last;
    store_lane_t   *l;

    for (i = 0;
         most-- > 0 && (l = delivery_ready(me, STORE_NONE, args, &i));
         /* void */)
    {
        if (l->state != STORE_REGISTERING || l->paused_at != STORE_NONE
            || l->state_since >= store.now - store.gives_up
            || l->upto != l->head || l->tail <= l->head
            || is_bad(&args[5], l))
        {
            continue;
        }

        seq = peek(l, l->head);

        if (seq == 0 || !expired(l, seq)) {
            continue;
        }

        for (last = seq; seq && expired(l, seq); seq = peek(l, seq)) {
            last = seq;
        }

        last = seq ? seq - 1 : last;

        batch(l, l->head + 1, last, 0, 0, STORE_NONE, "expired");
        ended_put(a, "expired", last - l->head);
        l->head = l->upto = last;
        l->step += 2;
    }
}


static void
delivery_find(const ngx_str_t *args, store_answer_t *a)
{
    int            i, given;
    char           me[64], line[128], low[24];
    mark_t         mark;
    int64_t        from, most;
    store_lane_t  *l;

    text(&args[0], me, sizeof(me));
    most = number(&args[4]);
    given = mark_read(&args[1], &mark);
    from = mark_from(&args[1]);

    delivery_marked(&mark, given);

    snprintf(low, sizeof(low), "%lld", (long long) mark.low);
    snprintf(line, sizeof(line), "(%s,%lld,%lld)", low, (long long) mark.at,
             (long long) mark.next);
    put_nulls(a, 6);
    put(a, line);
    put_nulls(a, 12);

    if (!given) {
        delivery_expire(a, me, args, most);
    }

    for (i = 0; most-- > 0 && (l = delivery_ready(me, from, args, &i)); ) {
        if (is_bad(&args[5], l)) {
            park(l, "made up");
            parked_put(a, l);

        } else if (!delivery_fail(a, l)) {
            delivery_lane(a, l);
        }
    }
}


static void
delivery_park(const ngx_str_t *args, store_answer_t *a)
{
    int            found;
    char           me[64], cause[200], body[512];
    store_lane_t  *l;

    text(&args[0], me, sizeof(me));
    text(&args[3], cause, sizeof(cause));
    l = store_lane(number(&args[1]), number(&args[2]));
    found = l && l->ready && its_shard(me, l->shard);

    if (found) {
        park(l, cause);
    }

    snprintf(body, sizeof(body), "lane %lld of server %lld, %s,",
             (long long) number(&args[2]), (long long) number(&args[1]), cause);
    says(a, found ? "200" : "404", body);
}


/* held.sql: what is due gets its place, in the order in which it came */

static void
delivery_release(const ngx_str_t *args, store_answer_t *a)
{
    int             i, n;
    char            body[24];
    store_entry_t  *e;

    for (i = 0, n = 0; i < store.nentries; i++) {
        e = store.entries[i];

        if (e->held_to != STORE_NONE && e->held_to <= store.now) {
            e->held_to = STORE_NONE;
            e->lane = lanes_take(e->channel, e, &e->seq);
            n++;
        }
    }

    snprintf(body, sizeof(body), "%d", n);
    says(a, "200", body);
}


/* lane_state.sql.  The lane, if it is the caller's and did not go on; turns:
   as delivery_turn() leaves it */

static store_lane_t *
its(const ngx_str_t *args, store_answer_t *a, int turns)
{
    char           me[64];
    store_lane_t  *l;

    text(&args[0], me, sizeof(me));
    l = store_lane(number(&args[1]), number(&args[2]));

    if (l == NULL || !store_mine(me, l->shard, number(&args[3]))
        || l->step != number(&args[4])
        || (turns && l->state == STORE_CLOSED))
    {
        refuse(a, "GL409");
        return NULL;
    }

    if (turns) {
        l->refused_to = ngx_max(l->refused_to, l->upto);
        l->upto = l->head;
        l->step += 2;
    }

    return l;
}


static void
delivery_verified(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = its(args, a, 0);

    if (l == NULL) {
        return;
    }

    if (args[5].data[0] != 't' && l->channel->astray) {
        says(a, "403", "{}");
        return;
    }

    l->verified_at = store.now;
    says(a, "200", "{}");
}


static void
delivery_asks(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = store_lane(number(&args[1]), number(&args[2]));

    if (l && (l->state == STORE_CLOSED
              || (l->webhook != STORE_NONE && l->state != STORE_REGISTERING)))
    {
        refuse(a, "GL409");
        return;
    }

    l = its(args, a, 0);

    if (l) {
        l->asked_at = store.now;
        l->webhook = STORE_NONE;
        l->secret[0] = '\0';
        says(a, "200", "{}");
    }
}


static void
delivery_registered(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = its(args, a, 1);

    if (l) {
        l->state = l->state == STORE_REGISTERING && l->channel->used
                   ? STORE_ACTIVE : STORE_CLOSING;
        l->state_since = store.now;
        l->reason[0] = l->told[0] = '\0';
        l->forbidden_at = l->asked_at = STORE_NONE;
        l->webhook = number(&args[5]);
        text(&args[6], l->secret, STORE_TEXT);
        l->mixed_at = is(&args[7], "t") ? STORE_NONE : store.now;
        lane_wake(l);
        says(a, "200", "{}");
    }
}


/* delivery_trouble(): told once */

static void
trouble(store_lane_t *l, const char *reason)
{
    snprintf(l->told, STORE_TEXT, "%s", reason);
}


static void
delivery_lost(const ngx_str_t *args, store_answer_t *a)
{
    int            again;
    store_lane_t  *l;

    l = its(args, a, 1);

    if (l) {
        again = l->lost_at != STORE_NONE
                && l->lost_at > store.now - STORE_HOUR;
        l->state = again ? STORE_BROKEN : STORE_REGISTERING;
        strcpy(l->reason, again ? "webhook_404" : "");
        l->state_since = l->lost_at = l->refused_at = store.now;
        l->webhook = STORE_NONE;
        l->secret[0] = '\0';

        if (again) {
            trouble(l, "webhook_404");
        }

        lane_wake(l);
        says(a, "200", "{}");
    }
}


static void
delivery_broken(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = its(args, a, 1);

    if (l) {
        l->state = STORE_BROKEN;
        text(&args[5], l->reason, STORE_TEXT);
        l->state_since = l->refused_at = store.now;
        l->webhook = l->asked_at = l->verified_at = STORE_NONE;
        l->secret[0] = '\0';

        if (strcmp(l->reason, "foreign_channel") == 0) {
            refusals_add(l->guild, 1);
        }

        trouble(l, l->reason);
        lane_wake(l);
        says(a, "200", "{}");
    }
}


static void
delivery_waits(const ngx_str_t *args, store_answer_t *a)
{
    int            final, over;
    store_lane_t  *l;

    l = its(args, a, 1);

    if (l == NULL) {
        return;
    }

    final = args[6].data != NULL;
    over = final && l->forbidden_at != STORE_NONE
           && l->forbidden_at < store.now - STORE_HOUR;

    text(&args[over ? 6 : 5], l->reason, STORE_TEXT);
    trouble(l, l->reason);
    l->refused_at = store.now;

    if (over) {
        l->state = STORE_BROKEN;
    }

    if (final) {
        l->forbidden_at = l->forbidden_at == STORE_NONE
                          ? store.now : l->forbidden_at;
        l->asked_at = STORE_NONE;
        l->refused_to = ngx_max(l->refused_to, l->tail);

    } else {
        l->forbidden_at = STORE_NONE;
    }

    lane_wake(l);
    l->not_before = store.now + number(&args[7]) * 1000;
    says(a, "200", "{}");
}


static void
delivery_limited(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = its(args, a, 0);

    if (l) {
        l->not_before = store.now + number(&args[5]) * 1000;
        says(a, "200", "{}");
    }
}


static void
delivery_closed(const ngx_str_t *args, store_answer_t *a)
{
    store_lane_t  *l;

    l = its(args, a, 1);

    if (l == NULL) {
        return;
    }

    if (l->state == STORE_CLOSING && l->tail == l->head) {
        lane_end(l);

    } else {
        l->state = STORE_REGISTERING;
        l->state_since = store.now;
        l->webhook = l->asked_at = STORE_NONE;
        l->secret[0] = '\0';
        lane_wake(l);
    }

    says(a, "200", "{}");
}


static void
delivery_sole(const ngx_str_t *args, store_answer_t *a)
{
    int64_t        sure;
    store_lane_t  *l;

    l = its(args, a, 0);

    if (l) {
        sure = l->mixed_at == STORE_NONE
               ? STORE_NONE : l->mixed_at + 10 * STORE_MINUTE;
        says(a, sure == STORE_NONE
                || (l->last != STORE_NONE && l->last > time_id(sure))
                ? "200" : "403", "{}");
    }
}


static void
delivery_refused(const ngx_str_t *args, store_answer_t *a)
{
    char     guilds[2048], counts[2048], *g, *n;
    int64_t  guild;

    text(&args[0], guilds, sizeof(guilds));
    text(&args[1], counts, sizeof(counts));

    for (g = guilds + 1, n = counts + 1; *g && *g != '}'; /* void */) {
        guild = strtoll(g, &g, 10);
        refusals_add(guild, strtol(n, &n, 10));
        put_number(a, guild);
        put_number(a, store_rest_ms(guild));
        g += *g == ',';
        n += *n == ',';
    }
}


/* doubt.sql */

static void
doubt_remove(int i)
{
    store.doubts[i] = store.doubts[--store.ndoubts];
}


/* the one of that owner that is to be looked at first; -1: none */

static int
doubt_due(const char *me)
{
    int             i, first;
    store_doubt_t  *d;

    for (i = 0, first = -1; i < store.ndoubts; i++) {
        d = &store.doubts[i];

        if (d->look_at <= store.now && its_shard(me, d->lane->shard)
            && (first < 0 || d->look_at < store.doubts[first].look_at))
        {
            first = i;
        }
    }

    return first;
}


static void
doubt_lane(store_answer_t *a, const store_doubt_t *d)
{
    put_number(a, d->lane->guild);
    put_number(a, d->lane->id);
    put_number(a, d->lane->shard);
    put_number(a, store.leases[d->lane->shard].fence);
    put_number(a, d->lane->channel->bot);
    put_number(a, d->lane->channel->id);
    put(a, "doubt");
    put_number(a, d->webhook);
    put(a, NULL);
    put_number(a, d->from - 1);
    put_number(a, d->to);
    put(a, "0");
    put(a, "0");
    put_number(a, age_ms(d->attempt_at));
    put(a, "0");
    put_number(a, d->before);
    put(a, "0");
    ids_put(a, d->lane, d->from, d->to);
    put(a, "t");
}


static void
delivery_doubts(const ngx_str_t *args, store_answer_t *a)
{
    int             i;
    char            me[64];
    int64_t         most, seq;
    store_doubt_t  *d;

    text(&args[0], me, sizeof(me));
    most = number(&args[1]);

    for (i = store.ndoubts - 1; i >= 0; i--) {
        if (its_shard(me, store.doubts[i].lane->shard)
            && store.doubts[i].done_at < store.now - 24 * STORE_HOUR)
        {
            doubt_remove(i);
        }
    }

    while (most-- > 0 && (i = doubt_due(me)) >= 0) {
        d = &store.doubts[i];
        d->looks++;
        d->looked_at = store.now;
        d->look_at = store.now
                     + ngx_min(ngx_max(store.now - d->done_at, STORE_MINUTE),
                               4 * STORE_HOUR);
        seq = peek(d->lane, d->from - 1);

        /* all of it may be elsewhere by now */

        if (seq && seq <= d->to) {
            doubt_lane(a, d);
        }
    }
}


/* some of it went again since */

static int
doubt_replayed(const store_doubt_t *d)
{
    int64_t         seq;
    store_entry_t  *e;

    for (seq = d->from; seq <= d->to; seq++) {
        e = store_place(d->lane, seq);

        if (e && e->again && e->again_at > d->done_at) {
            return 1;
        }
    }

    return 0;
}


static int
by_id(const void *a, const void *b)
{
    const store_entry_t  *x = *(store_entry_t *const *) a;
    const store_entry_t  *y = *(store_entry_t *const *) b;

    return (x->id > y->id) - (x->id < y->id);
}


/* replay.sql: each goes where its type goes; how many did */

static int
replay_place(store_entry_t **chosen, int n)
{
    int               i, went;
    store_entry_t    *e;
    store_channel_t  *way;

    qsort(chosen, n, sizeof(store_entry_t *), by_id);

    for (i = 0, went = 0; i < n; i++) {
        e = chosen[i];
        way = e->channel;

        if (!way->used || (way->lane && way->lane->state == STORE_BROKEN)) {
            continue;
        }

        e->taken_up = 1;
        e->again = lanes_take(way, e, &e->again_seq);
        e->again_at = store.now;
        went++;
    }

    return went;
}


/* what was decided in that place; NULL: nothing yet */

static const store_batch_t *
decided(const store_lane_t *l, int64_t seq)
{
    int  i;

    for (i = 0; l && i < l->nbatches; i++) {
        if (l->batches[i].from <= seq && seq <= l->batches[i].to) {
            return &l->batches[i];
        }
    }

    return NULL;
}


int
store_replay(store_entry_t **entries, int n, const char *reasons)
{
    int                   i, m;
    store_entry_t        *e;
    const store_batch_t  *b;

    for (i = 0, m = 0; i < n; i++) {
        e = entries[i];
        b = decided(e->lane, e->seq);

        if (e->again && (b == NULL || b->status < 2)) {
            b = decided(e->again, e->again_seq);
        }

        if (b && b->status < 2 && b->reason[0]
            && strstr(reasons, b->reason))
        {
            entries[m++] = e;
        }
    }

    return replay_place(entries, m);
}


/* 0: some have no way to go */

static int
doubt_again(const store_doubt_t *d)
{
    int             n, all;
    int64_t         seq;
    store_entry_t  *e, **chosen;

    chosen = calloc(d->to - d->from + 1, sizeof(store_entry_t *));

    for (seq = d->from, n = 0; seq <= d->to; seq++) {
        e = store_place(d->lane, seq);

        if (e && !(e->again && e->again_at > d->done_at)) {
            chosen[n++] = e;
        }
    }

    all = replay_place(chosen, n) == n;
    free(chosen);

    return all;
}


static void
delivery_proved(const ngx_str_t *args, store_answer_t *a)
{
    int             i, j;
    char            me[64];
    int64_t         message, from;
    store_lane_t   *l;
    store_doubt_t  *d;
    store_batch_t  *b;

    text(&args[0], me, sizeof(me));
    l = store_lane(number(&args[1]), number(&args[2]));
    from = number(&args[4]);
    message = number(&args[5]);

    for (i = 0; i < store.ndoubts; i++) {
        if (store.doubts[i].lane == l && store.doubts[i].from == from) {
            break;
        }
    }

    if (i == store.ndoubts || !store_mine(me, l->shard, number(&args[3]))) {
        refuse(a, "GL409");
        return;
    }

    d = &store.doubts[i];
    says(a, "200", "{}");

    if (store.proved) {
        store.proved(l, d, message);
    }

    if (message == STORE_NONE) {
        if (!doubt_again(d)) {
            return;
        }

    } else if (doubt_replayed(d)) {
        return;
    }

    for (j = 0; message != STORE_NONE && j < l->nbatches; j++) {
        b = &l->batches[j];

        if (b->from == d->from && b->done_at == d->done_at) {
            b->status = 2;
            b->reason[0] = '\0';
            b->message = message;
        }
    }

    doubt_remove(i);
}


static void
delivery_secret(const ngx_str_t *args, store_answer_t *a)
{
    says(a, "200", "guildlog guildlog:guildlog");
}


static void
delivery_figures(const ngx_str_t *args, store_answer_t *a)
{
    says(a, "200", "{}");
}


#define model_row(name, columns, turns)  { #name, columns, turns, name }

static const model_t  models[] = {
    model_row(delivery_step, 10, 0),
    model_row(delivery_find, 19, 0),
    model_row(delivery_lease, 5, 0),
    model_row(delivery_release, 2, 0),
    model_row(delivery_figures, 2, 0),
    model_row(delivery_secret, 2, 0),
    model_row(delivery_doubts, 19, 0),
    model_row(delivery_proved, 2, 0),
    model_row(delivery_sole, 2, 0),
    model_row(delivery_refused, 2, 0),
    model_row(delivery_park, 2, 0),
    model_row(delivery_verified, 2, 0),
    model_row(delivery_asks, 2, 0),
    model_row(delivery_limited, 2, 0),
    model_row(delivery_registered, 2, 1),
    model_row(delivery_lost, 2, 1),
    model_row(delivery_broken, 2, 1),
    model_row(delivery_waits, 2, 1),
    model_row(delivery_closed, 2, 1),
    { NULL, 0, 0, NULL }
};


void
store_run(const char *name, const ngx_str_t *args, store_answer_t *a)
{
    const model_t  *m;

    for (m = models; m->name && strcmp(m->name, name) != 0; m++) {
        /* void */
    }

    if (m->name == NULL) {
        fprintf(stderr, "no model of %s\n", name);
        abort();
    }

    store.xid++;
    a->columns = m->columns;
    m->model(args, a);
}


int
store_waits(const char *name, const ngx_str_t *args)
{
    const model_t  *m;
    store_lane_t   *l;

    for (m = models; m->name && strcmp(m->name, name) != 0; m++) {
        /* void */
    }

    if (m->name == NULL || !m->turns) {
        return 0;
    }

    l = store_lane(number(&args[1]), number(&args[2]));

    return l && l->locked_to > store.now;
}


void
store_make(int nchannels)
{
    int  i;

    memset(&store, 0, sizeof(store));
    store.expires = 24 * STORE_HOUR;
    store.gives_up = STORE_HOUR;
    store.xid = 1;
    store.nchannels = nchannels;
    store.channels = calloc(nchannels, sizeof(store_channel_t));

    for (i = 0; i < STORE_SHARDS; i++) {
        store.leases[i].until = STORE_NONE;
    }
}


void
store_free(void)
{
    int  i;

    for (i = 0; i < store.nlanes; i++) {
        free(store.lanes[i]->places);
        free(store.lanes[i]->batches);
        free(store.lanes[i]);
    }

    for (i = 0; i < store.nentries; i++) {
        free(store.entries[i]->doc);
        free(store.entries[i]);
    }

    free(store.lanes);
    free(store.entries);
    free(store.channels);
    free(store.doubts);
    free(store.refusals);
}
