
/*
 * The world: time, chance, nodes, what becomes of them, and what the lane
 * machine needs of nginx.
 */

#include <ngx_config.h>
#include "sim.h"
#include <stdarg.h>


typedef struct {
    ngx_queue_t  queue;
    sim_pt       handler;
    void        *data;
} mail_t;

typedef struct {
    int64_t      at;
    uint64_t     order;
    sim_pt       fn;
    void        *data;
} event_t;

typedef struct {
    const char  *name;
    int          usual;
} fault_t;


#define fault_row(name, n)  { #name, n },

static const fault_t  faults[] = {
    SIM_CHANCES(fault_row)
    SIM_TIMES(fault_row)
};


sim_t  sim;

static uint64_t        chance;
static event_t        *heap;
static size_t          heap_n, heap_a;
static uint64_t        heap_order;
static ngx_log_t       world_log;
static ngx_cycle_t     world_cycle;
static ngx_time_t      world_time;
static uint64_t        world_us;
static int64_t         last_us;
static int             last_entry;


/* nginx's variables and functions that the lane machine links */

volatile ngx_msec_t      ngx_current_msec;
volatile ngx_time_t     *ngx_cached_time;
volatile ngx_cycle_t    *ngx_cycle;
ngx_uint_t               ngx_exiting;
sig_atomic_t             ngx_terminate;


void
ngx_log_error_core(ngx_uint_t level, ngx_log_t *log, ngx_err_t err,
    const char *fmt, ...)
{
    u_char   line[1024], *p;
    va_list  args;

    if (sim.verbose < 2) {
        return;
    }

    va_start(args, fmt);
    p = ngx_vslprintf(line, line + sizeof(line) - 1, fmt, args);
    va_end(args);
    *p = '\0';

    printf("%9lld.%d  %s\n", (long long) sim.now,
           sim.current ? sim.current->index : 9, line);
}


/* what does not hold in the lane machine ends the run, and says so */

void ngx_cdecl
ngx_log_stderr(ngx_err_t err, const char *fmt, ...)
{
    u_char   line[1024], *p;
    va_list  args;

    va_start(args, fmt);
    p = ngx_vslprintf(line, line + sizeof(line) - 1, fmt, args);
    va_end(args);
    *p = '\0';

    printf("seed %llu: ASSERT at %lld ms: %s\n",
           (unsigned long long) sim.seed, (long long) sim.now, line);
    fflush(stdout);
}


void
ngx_debug_point(void)
{
}


void
ngx_time_update(void)
{
    ngx_current_msec = (ngx_msec_t) (sim.now - sim.now % sim.tick);
    world_time.sec = sim_wall() / 1000;
    world_time.msec = sim_wall() % 1000;
    ngx_cached_time = &world_time;
}


void
ngx_gmtime(time_t t, ngx_tm_t *tp)
{
    gmtime_r(&t, tp);
}


void
ngx_process_events_and_timers(ngx_cycle_t *cycle)
{
    abort();    /* of a process without a master */
}


uint64_t
ngx_guildlog_clock_us(void)
{
    world_us += 20;     /* so that a moment of 500 us ends */

    return sim.now * 1000 + world_us;
}


uint64_t
ngx_guildlog_clock_wall_ms(void)
{
    return sim_wall();
}


/* others of the module: nobody looks at these counters */

const ngx_guildlog_lane_gauge_t  ngx_guildlog_stats_lanes[] = { { NULL, 0 } };


void
ngx_guildlog_stats_count(ngx_guildlog_stats_t *stats,
    ngx_guildlog_count_e what, ngx_uint_t n)
{
    sim.parked += what == NGX_GUILDLOG_COUNT_PARKED;
}


void
ngx_guildlog_stats_set(ngx_guildlog_stats_t *stats,
    ngx_guildlog_gauge_e what, ngx_uint_t n)
{
}


ngx_uint_t
ngx_guildlog_stats_requests(ngx_guildlog_stats_t *stats)
{
    return 0;
}


void
ngx_guildlog_traffic_call(ngx_guildlog_traffic_t *traffic, ngx_uint_t call,
    ngx_uint_t class, ngx_int_t scope, ngx_uint_t status)
{
}


void
ngx_guildlog_traffic_entries(ngx_guildlog_traffic_t *traffic,
    const ngx_str_t *end, ngx_uint_t n)
{
}


void
ngx_guildlog_traffic_doubt(ngx_guildlog_traffic_t *traffic,
    ngx_guildlog_traffic_doubt_e end)
{
}


/* the seal: the owner, a colon, the text */

ngx_int_t
ngx_guildlog_seal(ngx_pool_t *pool, const u_char *key, const ngx_str_t *owner,
    const ngx_str_t *plain, ngx_str_t *sealed)
{
    sealed->data = ngx_pnalloc(pool, owner->len + 1 + plain->len);
    sealed->len = ngx_sprintf(sealed->data, "%V:%V", owner, plain)
                  - sealed->data;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_seal_open(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *sealed, ngx_str_t *plain)
{
    if (sealed->len <= owner->len
        || memcmp(sealed->data, owner->data, owner->len) != 0)
    {
        return NGX_DECLINED;
    }

    plain->len = sealed->len - owner->len - 1;
    plain->data = ngx_pnalloc(pool, plain->len);
    ngx_memcpy(plain->data, sealed->data + owner->len + 1, plain->len);

    return NGX_OK;
}


/* who delivers: a node and which process of it, of which one lives */

ngx_int_t
ngx_guildlog_owner_self(ngx_pool_t *pool, const ngx_str_t *node,
    ngx_str_t *owner)
{
    owner->data = ngx_pnalloc(pool, 64);
    owner->len = ngx_sprintf(owner->data, "%d/%d", sim.current->index,
                             sim.current->epoch) - owner->data;

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_owner_dead(const ngx_str_t *me, const ngx_str_t *owner)
{
    return me->data[0] == owner->data[0] && !ngx_guildlog_str_eq(me, owner);
}


/* chance and time */

uint64_t
sim_random(void)
{
    uint64_t  z;

    z = (chance += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;

    return z ^ (z >> 31);
}


int
sim_chance(sim_fault_e fault)
{
    int  hit;

    hit = (int) (sim_random() % 10000)
          < sim.fault[fault] * sim.strength / 100;

    return hit && !sim.calm;
}


int64_t
sim_between(int64_t a, int64_t b)
{
    return a + (int64_t) (sim_random() % (uint64_t) (b - a + 1));
}


/* a timer of nginx's ends when its clock is there */

int64_t
sim_timer(int64_t ms)
{
    int64_t  at;

    at = sim.now - sim.now % sim.tick + ms + sim.tick - 1;

    return at - at % sim.tick;
}


int64_t
sim_delay(int64_t a, int64_t b)
{
    int64_t  edge;

    edge = ngx_min(b - a, 20);

    switch (sim_random() % 4) {
    case 0:
        return sim_between(b - edge, b);
    case 1:
        return sim_between(a, a + edge);
    default:
        return sim_between(a, b);
    }
}


void
sim_clock(void)
{
    store.now = ngx_max(sim_wall() * 1000, last_us + 1);
    last_us = store.now;
}


/* ids are of their time, and unique; an entry is found by the low bits */

int64_t
sim_id(void)
{
    return (sim_wall() - STORE_EPOCH) << 22;
}


store_entry_t *
sim_entry(int64_t id)
{
    int64_t  i;

    i = (id & 0x3fffff) - 1;

    return i >= 0 && i < store.nentries && store.entries[i]->id == id
           ? store.entries[i] : NULL;
}


sim_channel_t *
sim_channel(const store_lane_t *lane)
{
    return &sim.all[lane->channel - store.channels];
}


static int
before(const event_t *a, const event_t *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}


/* events of one ms come in any order */

void
sim_at(int64_t at, sim_pt fn, void *data)
{
    size_t   i;
    event_t  e = { at, 0, fn, data };

    e.order = (sim_random() & 0xffffffff00000000ULL) | heap_order++;

    if (heap_n == heap_a) {
        heap_a = heap_a ? 2 * heap_a : 1024;
        heap = realloc(heap, heap_a * sizeof(event_t));
    }

    for (i = heap_n++; i && before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
    }

    heap[i] = e;
}


static event_t
world_pop(void)
{
    size_t   i, c;
    event_t  top, last;

    top = heap[0];
    last = heap[--heap_n];

    for (i = 0; (c = 2 * i + 1) < heap_n; i = c) {
        c += c + 1 < heap_n && before(&heap[c + 1], &heap[c]);

        if (!before(&heap[c], &last)) {
            break;
        }

        heap[i] = heap[c];
    }

    heap[i] = last;

    return top;
}


void
sim_mail(sim_node_t *node, sim_pt fn, void *data)
{
    mail_t  *mail;

    mail = malloc(sizeof(mail_t));
    mail->handler = fn;
    mail->data = data;
    ngx_queue_insert_tail(&node->inbox, &mail->queue);
}


void
sim_fail(const char *rule, const char *fmt, ...)
{
    va_list  args;
    size_t   n;

    if (sim.failed++) {
        return;
    }

    snprintf(sim.rule, sizeof(sim.rule), "%s", rule);
    n = snprintf(sim.failure, sizeof(sim.failure), "%s at %lld ms: ", rule,
                 (long long) sim.now);
    va_start(args, fmt);
    vsnprintf(sim.failure + n, sizeof(sim.failure) - n, fmt, args);
    va_end(args);
}


/* what happened: hashed, so that two runs can be compared; and printed */

void
sim_note(const char *fmt, ...)
{
    int      i, n;
    char     line[512];
    va_list  args;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);

    for (i = 0; i < n && i < (int) sizeof(line) - 1; i++) {
        sim.hash = (sim.hash ^ (u_char) line[i]) * 0x100000001b3ULL;
    }

    sim.hash = (sim.hash ^ (uint64_t) sim.now) * 0x100000001b3ULL;

    if (sim.verbose) {
        printf("%9lld    %s\n", (long long) sim.now, line);
    }
}


/* nodes */

static void
move(ngx_queue_t *to, ngx_queue_t *from)
{
    ngx_queue_init(to);

    if (!ngx_queue_empty(from)) {
        ngx_queue_add(to, from);
    }

    ngx_queue_init(from);
}


static void
node_enter(sim_node_t *node)
{
    sim.current = node;
    ngx_exiting = node->exiting;
    ngx_event_timer_rbtree = node->timers;
    move(&ngx_posted_events, &node->posted);
    move(&ngx_posted_next_events, &node->next);
    ngx_time_update();
}


static void
node_leave(sim_node_t *node)
{
    node->timers = ngx_event_timer_rbtree;
    move(&node->posted, &ngx_posted_events);
    move(&node->next, &ngx_posted_next_events);
    sim.current = NULL;
}


static void
node_start(sim_node_t *node)
{
    int                                   i;
    static ngx_guildlog_delivery_conf_t   conf;

    ngx_str_set(&conf.platform.text, "http://sim");
    ngx_str_set(&conf.bots[0], "Bot x");
    ngx_str_set(&conf.applications[0], "500000000000000001");
    ngx_str_set(&conf.webhook_name, "guildlog");
    ngx_str_set(&conf.webhook_names[0], "guildlog");
    ngx_str_set(&conf.webhooks[0], "{\"name\":\"guildlog\"}");
    ngx_str_set(&conf.node, "sim");

    ngx_queue_init(&node->inbox);
    ngx_queue_init(&node->posted);
    ngx_queue_init(&node->next);

    if (ngx_event_timer_init(&world_log) != NGX_OK) {
        abort();
    }

    node->timers = ngx_event_timer_rbtree;
    node->epoch++;
    node->frozen_to = 0;
    node->exiting = 0;
    node->since = sim.now;
    node->swept = 0;

    for (i = 0; i < STORE_SHARDS; i++) {
        node->fences[i] = -1;
    }

    if (node->stats.shared == NULL) {
        node->stats.shared = calloc(1, sizeof(ngx_guildlog_stats_shared_t));
    }

    node_enter(node);

    node->pool = ngx_create_pool(16384, &world_log);
    ngx_memzero(&node->cycle, sizeof(ngx_cycle_t));
    node->cycle.pool = node->pool;
    node->cycle.log = &world_log;
    ngx_cycle = &node->cycle;

    node->d = ngx_guildlog_delivery_create(&node->cycle, &conf, NULL,
                                           &node->stats, NULL, 0);
    node->up = node->d != NULL;

    node_leave(node);
}


/*
 * Its memory goes.  destroy() is called for the sake of the memory alone: the
 * database was told before that the process has ended.
 */

static void
node_end(sim_node_t *node)
{
    mail_t       *mail;
    ngx_queue_t  *q;

    sim_note("node %d ends", node->index);

    sim_pool_crash(node);

    node_enter(node);
    node->up = 0;
    ngx_guildlog_delivery_destroy(node->d);

    while (!ngx_queue_empty(&node->inbox)) {
        q = ngx_queue_head(&node->inbox);
        ngx_queue_remove(q);
        mail = ngx_queue_data(q, mail_t, queue);
        mail->handler(mail->data);  /* frees what it has: the node is down */
        free(mail);
    }

    ngx_destroy_pool(node->pool);
    node_leave(node);
}


static int64_t
node_due(sim_node_t *node)
{
    int64_t     at;
    ngx_msec_t  wait;

    if (!node->up) {
        return node->back_at;
    }

    if (!ngx_queue_empty(&node->inbox) || !ngx_queue_empty(&node->next)) {
        at = sim.now;

    } else {
        node_enter(node);
        wait = ngx_event_find_timer();
        node_leave(node);
        at = wait == NGX_TIMER_INFINITE ? INT64_MAX
                                        : sim_timer((int64_t) wait);
    }

    return ngx_max(at, node->frozen_to);
}


/* as ngx_process_events_and_timers() */

static void
node_turn(sim_node_t *node)
{
    int           i;
    mail_t       *mail;
    ngx_queue_t  *q, now;

    sim.turns++;

    node_enter(node);

    if (!ngx_queue_empty(&ngx_posted_next_events)) {
        ngx_event_move_posted_next(&node->cycle);
    }

    move(&now, &node->inbox);

    while (!ngx_queue_empty(&now)) {
        q = ngx_queue_head(&now);
        ngx_queue_remove(q);
        mail = ngx_queue_data(q, mail_t, queue);
        mail->handler(mail->data);
        free(mail);
    }

    ngx_event_expire_timers();
    ngx_event_process_posted(&node->cycle, &ngx_posted_events);

    node_leave(node);

    for (i = 0; i < STORE_SHARDS && node->d->left && node->told; i++) {
        if (node->exiting && node->fences[i] != -1) {
            sim_fail("LEFT", "node %d leaves, and was told that shard %d is "
                     "its own", node->index, i);
        }
    }

    if (node->exiting && (node->d->left || sim.now > node->ends_at)) {
        node_end(node);
        node->back_at = sim.now + sim_between(0, 50);
    }
}


/* mischief: each comes again, until it is calm */

static void
world_again(sim_fault_e fault, sim_pt fn, void *data)
{
    if (!sim.calm) {
        sim_at(sim.now + 1 + (int64_t) (sim_random()
                                        % (2 * sim.fault[fault])), fn, data);
    }
}


static void
world_crash(void *data)
{
    sim_node_t  *node = data;

    if (!sim.calm && node->up) {
        sim.crashes++;
        sim.harmed = ngx_max(sim.harmed, sim.now);
        node_end(node);
        node->back_at = sim.now + (sim_random() % 3 ? sim_delay(5, 500)
                                   : sim_delay(5, 45000));
    }

    world_again(SIM_crash, world_crash, data);
}


static void
world_leave(void *data)
{
    sim_node_t  *node = data;

    if (!sim.calm && node->up && !node->exiting) {
        sim_note("node %d leaves", node->index);
        sim.harmed = ngx_max(sim.harmed, sim.now);
        node->exiting = 1;
        node->ends_at = sim.now + sim_between(0, 40000);
    }

    world_again(SIM_leave, world_leave, data);
}


static void
world_freeze(void *data)
{
    sim_node_t  *node = data;

    if (!sim.calm && node->up && node->frozen_to < sim.now) {
        sim.freezes++;
        node->frozen_to = sim.now + (sim_random() % 4
                                     ? sim_delay(10, 3000)
                                     : sim_delay(3000, 50000));
        sim.harmed = ngx_max(sim.harmed, node->frozen_to);
        sim_note("node %d stands still until %lld", node->index,
                 (long long) node->frozen_to);
    }

    world_again(SIM_freeze, world_freeze, data);
}


/* what the platform has by then is done when it goes on */

static void
world_still(void *data)
{
    if (!sim.calm && sim.still_to + 1000 < sim.now) {
        sim.still_to = sim.now + sim_delay(100, 20000);
        sim_note("the platform stands still until %lld",
                 (long long) sim.still_to);
    }

    world_again(SIM_still, world_still, NULL);
}


static void
world_resume(void *data)
{
    store_lane_t  *lane = data;

    if (!lane->deleted) {
        sim_note("lane %lld goes on", (long long) lane->id);
        sim_clock();
        store_resume(lane);
    }
}


static void
world_pause(void *data)
{
    store_lane_t  *lane;

    lane = sim.all[sim_random() % sim.channels].row->lane;

    if (!sim.calm && lane && lane->paused_at == STORE_NONE) {
        sim_note("lane %lld is paused", (long long) lane->id);
        sim_clock();
        store_pause(lane);
        sim_at(sim.now + sim_delay(1, 5000), world_resume, lane);
    }

    world_again(SIM_pause, world_pause, NULL);
}


static void
world_use(void *data)
{
    sim_channel_t  *channel = data;

    if (!channel->row->used) {
        sim_note("channel %lld is used", (long long) channel->row->id);
        sim_clock();
        store_sync(channel->row, 1);
        channel->used_at = sim.now;
    }
}


static void
world_unused(void *data)
{
    sim_channel_t  *channel;

    channel = &sim.all[sim_random() % sim.channels];

    if (!sim.calm && channel->row->used) {
        sim_note("channel %lld is used no more", (long long) channel->row->id);
        sim_clock();
        store_sync(channel->row, 0);
        sim_at(sim.now + (sim_random() % 2 ? sim_delay(1, 2000)
                          : sim_delay(2000, 90000)), world_use, channel);
    }

    world_again(SIM_unused, world_unused, NULL);
}


static void
world_bad(void *data)
{
    sim_channel_t  *channel;

    channel = &sim.all[sim_random() % sim.channels];

    if (!sim.calm) {
        channel->bad_to = sim.now + sim_delay(10, 20000);
        sim_note("the database refuses channel %lld until %lld",
                 (long long) channel->row->id, (long long) channel->bad_to);
    }

    world_again(SIM_bad, world_bad, NULL);
}


static const sim_pt  mischief[] = {
    world_crash, world_leave, world_freeze, world_pause, world_still,
    world_unused, world_bad
};


/* entries come now and then, in bursts */

static void
world_put(sim_channel_t *channel, int64_t since)
{
    char            doc[160];
    int64_t         id, held;
    store_lane_t   *lane;
    store_entry_t  *e;

    lane = channel->row->lane;

    id = sim_id() | ++last_entry;
    held = sim_chance(SIM_held) ? store.now + 3 * STORE_SECOND : STORE_NONE;

    if (sim.quiet && held == STORE_NONE && !channel->bad && lane
        && !lane->ready
        && lane->state == STORE_ACTIVE && lane->verified_at != STORE_NONE
        && lane->head == lane->tail && channel->waits == 0
        && (lane->not_before == STORE_NONE
            || lane->not_before <= store.now))
    {
        channel->waits = sim.now;
    }

    snprintf(doc, sizeof(doc), "{\"id\":\"%lld\",\"type\":5,\"timestamp\":"
             "%lld,\"executor\":{\"id\":\"200000000000000001\",\"name\":"
             "\"zq%dq\"}", (long long) id, (long long) sim_wall(),
             last_entry);

    lane = channel->row->lane;
    e = store_record(channel->row, id, strdup(doc), held);
    e->poison = sim_chance(SIM_poison);
    sim.held += held != STORE_NONE;
    channel->recorded++;

    /* called for before it was there */

    if (e->lane && e->lane == lane && lane->ready && lane->since > since) {
        lane->since = since;
    }
}


typedef struct {
    sim_channel_t  *channel;
    int             n, xid;
    int64_t         since;
} open_t;


static void
world_commit(void *data)
{
    open_t *o = data;

    store.open[o->xid] = 0;
    sim_clock();

    while (o->n-- && o->channel->row->used
           && o->channel->recorded < o->channel->goal)
    {
        world_put(o->channel, o->channel->row->lane
                              && !o->channel->row->lane->ready
                              ? o->since : store.now);
    }

    free(o);
}


/* a transaction that goes on for a while has the lane */

static int
world_open(sim_channel_t *channel, int n)
{
    int      i;
    open_t  *o;

    for (i = 0; i < STORE_OPEN && store.open[i]; i++) { /* void */ }

    if (i == STORE_OPEN || channel->row->lane == NULL
        || channel->row->lane->locked_to > store.now)
    {
        return 0;
    }

    o = malloc(sizeof(open_t));
    o->channel = channel;
    o->n = n;
    o->xid = i;
    o->since = store.now;
    store.open[i] = store.xid++;
    channel->row->lane->locked_to = store.now + sim_delay(1, 900) * 1000;
    sim_at(channel->row->lane->locked_to / 1000 - SIM_WALL, world_commit, o);

    return 1;
}


static void
world_record(void *data)
{
    sim_channel_t  *channel = data;

    int  i, n;

    n = sim_random() % 4 ? 1 : (int) sim_between(1, 25);
    sim_clock();

    if (channel->row->used
        && !(channel->row->lane && channel->row->lane->locked_to > store.now)
        && !(sim_chance(SIM_open) && world_open(channel, n)))
    {
        while (n-- && channel->recorded < channel->goal) {
            world_put(channel, store.now);
        }

        for (i = 0; i < sim.nodes; i++) {
            if (sim.node[i].stats.shared) {
                sim.node[i].stats.shared->changes++;
            }
        }
    }

    if (channel->recorded < channel->goal) {
        sim_at(sim.now + (sim_random() % 3 ? sim_between(0, 300)
                          : sim_between(0, 8000)), world_record, channel);
    }
}


/* what is not at its end yet */

static int
world_left(void)
{
    int            i, n;
    store_lane_t  *l;

    for (i = 0, n = 0; i < sim.channels; i++) {
        n += sim.all[i].recorded < sim.all[i].goal;
    }

    for (i = 0; i < store.nentries; i++) {
        n += store.entries[i]->held_to != STORE_NONE;
    }

    for (i = 0; i < store.nlanes; i++) {
        l = store.lanes[i];
        n += !l->deleted && l->state != STORE_CLOSED
             && (l->head < l->tail || l->ready);
    }

    return n;
}


/* what is unconfirmed, and was not looked for to an end since it is calm, and
   since what is absent has a channel to go to again */

static int
world_doubts(void)
{
    int      i, n;
    int64_t  at, from;

    for (i = 0, n = 0; i < store.ndoubts; i++) {
        at = store.doubts[i].looked_at / 1000 - SIM_WALL;
        from = ngx_max(sim.calm_at,
                       sim_channel(store.doubts[i].lane)->used_at) + SIM_HARM;
        n += at < from || at > sim.now - SIM_HARM;
    }

    return n;
}


static void
world_calm(void)
{
    int          i;
    sim_node_t  *node;

    sim.calm = 1;
    sim.calm_at = sim.now;
    sim_note("calm");

    for (i = 0; i < sim.nodes; i++) {
        node = &sim.node[i];
        node->frozen_to = ngx_min(node->frozen_to, sim.now);
        node->back_at = ngx_min(node->back_at, sim.now);
    }
}


/* is somebody there for each shard, soon after each crash?  And does nobody
   wait for those that fail? */

static void
world_look(void)
{
    int          i, j;
    int64_t      since;
    sim_node_t  *node, *other;

    for (i = 0; i < STORE_SHARDS && !sim.calm; i++) {
        node = other = NULL;

        for (j = 0; j < sim.nodes; j++) {
            if (sim.node[j].up && !sim.node[j].exiting
                && sim_pool_lease(&sim.node[j], i) > 0)
            {
                node = &sim.node[j];
            }

            if (sim.node[j].up && !sim.node[j].exiting
                && (other == NULL || sim.node[j].since < other->since))
            {
                other = &sim.node[j];
            }
        }

        if (node) {
            sim.orphan[i] = 0;
        } else if (sim.orphan[i] == 0) {
            sim.orphan[i] = sim.now;
        }

        since = other ? ngx_max(sim.orphan[i], other->since) : 0;

        if (sim.quiet && node == NULL && other
            && sim.now - ngx_max(since, sim.harmed) > 36000)
        {
            sim_fail("G8", "nobody has shard %d since %lld", i,
                     (long long) sim.orphan[i]);
        }

        if (sim.quiet && node == NULL && store.leases[i].owner[0]) {
            other = &sim.node[atoi(store.leases[i].owner)];
            since = ngx_max(ngx_max(sim.orphan[i], other->since),
                            other->frozen_to);

            if (other->up && !other->exiting && sim.now - since > 2250) {
                sim_fail("G8", "shard %d is still that of a process that "
                         "ended at %lld", i, (long long) sim.orphan[i]);
            }
        }
    }

    for (i = 0; i < sim.channels && sim.quiet; i++) {
        if (sim.harmed + SIM_HARM > sim.now || sim.all[i].row->lane == NULL) {
            sim.all[i].waits = 0;
        }

        if (sim.all[i].waits && sim.all[i].waits + SIM_QUIET < sim.now) {
            sim_fail("G7", "channel %d waits since %lld", i,
                     (long long) sim.all[i].waits);
        }
    }
}


/* each seed has its own weather: most faults are rare or absent, a few are
   frequent */

static void
world_weather(void)
{
    int               i, usual;
    static const int  ticks[] = { 1, 4, 10 };

    /* apart from all that is drawn: the same weather by another clock */

    if (sim.tick == 0) {
        sim.tick = ticks[(sim.seed * 0x9e3779b97f4a7c15ULL >> 40) % 3];
    }

    sim.quiet = sim_random() % 8 == 0;

    for (i = 0; i < SIM_FAULTS; i++) {
        usual = faults[i].usual;

        if (i >= SIM_CHANCES_END) {
            sim.fault[i] = sim_random() % 3
                           ? 0 : (int) sim_between(usual, 30 * usual);

        } else {
            switch (sim_random() % 8) {
            case 0: case 1: case 2:
                sim.fault[i] = 0;
                break;
            case 3:
                sim.fault[i] = ngx_min(2500, usual * 8);
                break;
            default:
                sim.fault[i] = (int) (sim_random() % (usual + 1));
            }
        }

        if (sim.off[i]
            || (sim.quiet && i != SIM_crash && i != SIM_freeze
                && i != SIM_held))
        {
            sim.fault[i] = 0;
        }
    }

    /* what takes a day, or an hour, is to happen */

    if (sim_random() % 4 == 0 && !sim.quiet) {
        store.expires = sim_between(10, 600) * STORE_SECOND;
        store.gives_up = sim_between(1, 60) * STORE_SECOND;
    }
}


static void
world_run(void)
{
    int          i;
    int64_t      at, due, calm_at, end, looked;
    event_t      e;
    sim_node_t  *node, *next;

    calm_at = SIM_START + 300000 + sim.entries * 2000;
    end = calm_at + 2 * 3600000;
    looked = 0;

    while (!sim.failed && sim.now < end) {
        at = heap_n ? heap[0].at : INT64_MAX;
        next = NULL;

        for (i = 0; i < sim.nodes; i++) {
            node = &sim.node[i];

            if (!node->up && node->back_at <= sim.now) {
                node_start(node);
            }

            due = node_due(node);

            if (due < at || (due == at && sim_random() & 1)) {
                at = due;
                next = node;
            }
        }

        if (at == INT64_MAX) {
            break;
        }

        sim.now = ngx_max(sim.now, at);
        world_us = 0;

        if (next == NULL) {
            e = world_pop();
            e.fn(e.data);

        } else if (next->up) {
            node_turn(next);
        }

        if (!sim.calm && sim.now >= calm_at) {
            world_calm();
        }

        if (sim.now >= looked + 250) {
            looked = sim.now;
            world_look();

            if (world_left() == 0) {
                if (store.ndoubts && !sim.calm) {
                    world_calm();
                }

                if (store.ndoubts == 0 || world_doubts() == 0) {
                    break;
                }
            }
        }
    }
}


/* all came to its end */

static void
world_ended(void)
{
    int             i;
    store_lane_t   *l;
    store_entry_t  *e;

    for (i = 0; i < store.nlanes && !sim.failed; i++) {
        l = store.lanes[i];

        if (!l->deleted && (l->head < l->tail
                            || (l->ready && l->state != STORE_CLOSED)))
        {
            sim_fail("END", "lane %lld: head %lld upto %lld of %lld, state "
                     "%d reason '%s' ready %d step %lld", (long long) l->id,
                     (long long) l->head, (long long) l->upto,
                     (long long) l->tail, l->state, l->reason, l->ready,
                     (long long) l->step);
        }
    }

    for (i = 0; i < store.ndoubts && !sim.failed; i++) {
        if (sim_platform_shows(&store.doubts[i])) {
            sim_fail("G5", "lane %lld: %lld is unconfirmed still, though its "
                     "channel can be read",
                     (long long) store.doubts[i].lane->id,
                     (long long) store.doubts[i].from);
        }
    }

    for (i = 0; i < store.nentries && !sim.failed; i++) {
        e = store.entries[i];

        if (e->lane == NULL || e->seq > e->lane->head) {
            sim_fail("G1", "entry %lld has no outcome", (long long) e->id);
        }
    }
}


/* an outcome, when it is committed */

static void
world_decided(store_lane_t *l, store_batch_t *b)
{
    int64_t         i;
    store_entry_t  *e;

    sim_note("batch %lld: %lld..%lld %d %lld %s", (long long) l->id,
             (long long) b->from, (long long) b->to, b->status,
             (long long) b->message, b->reason);

    sim.expired += strcmp(b->reason, "expired") == 0;

    if (b->to > l->tail
        || (l->nbatches > 1 && b->from != b[-1].to + 1)
        || (l->nbatches == 1 && b->from != 1))
    {
        sim_fail("G1", "lane %lld: %lld..%lld is decided, of %lld",
                 (long long) l->id, (long long) b->from, (long long) b->to,
                 (long long) l->tail);
        return;
    }

    for (i = b->from; i <= b->to; i++) {
        e = store_place(l, i);

        if (e == NULL) {
            continue;
        }

        if (b->status == 2 && e->applied != b->message) {
            sim_fail("G2", "lane %lld: entry %lld is delivered as %lld, and "
                     "is in %lld", (long long) l->id, (long long) i,
                     (long long) b->message, (long long) e->applied);
        }

        if (b->status == 0 && e->applied) {
            sim_fail("G3", "lane %lld: entry %lld failed (%s), and is in "
                     "%lld", (long long) l->id, (long long) i, b->reason,
                     (long long) e->applied);
        }

        if (b->status == 0 && strcmp(b->reason, "rejected") == 0
            && !e->poison)
        {
            sim_fail("G3", "lane %lld: entry %lld is rejected, and was good",
                     (long long) l->id, (long long) i);
        }

        if (strcmp(b->reason, "expired") == 0
            && store_since(e, l, i) >= store.now - store.expires)
        {
            sim_fail("G3", "lane %lld: entry %lld is said to have expired, "
                     "and is young", (long long) l->id, (long long) i);
        }

        e->failed = b->status == 0;
    }

    if (b->status == 1) {
        sim.unknown++;

        if (sim_platform_proves(sim_channel(l), l, b)) {
            sim_fail("G5", "lane %lld: entry %lld is unknown, though its "
                     "channel can be read", (long long) l->id,
                     (long long) b->from);
        }
    }
}


/* an unconfirmed message was found, or never applied */

static void
world_proved(store_lane_t *l, store_doubt_t *d, int64_t message)
{
    int64_t         i;
    store_entry_t  *e;

    sim_note("proved %lld: %lld..%lld %lld", (long long) l->id,
             (long long) d->from, (long long) d->to, (long long) message);
    sim.proved++;

    for (i = d->from; i <= d->to; i++) {
        e = store_place(l, i);

        if (e && message != STORE_NONE && e->applied != message
            && !e->taken_up)
        {
            sim_fail("G2", "lane %lld: entry %lld is proved to be in %lld, "
                     "and is in %lld", (long long) l->id, (long long) i,
                     (long long) message, (long long) e->applied);
        }

        if (e && message == STORE_NONE && e->applied && !e->taken_up) {
            sim_fail("G3", "lane %lld: entry %lld is proved absent, and is "
                     "in %lld", (long long) l->id, (long long) i,
                     (long long) e->applied);
        }
    }
}


static int
world_skips(store_lane_t *l)
{
    return sim_chance(SIM_db_locked) || l->locked_to > store.now;
}


static void
world_opened(store_lane_t *l)
{
    static int64_t  last;

    if (store.nlanes == 0) {
        last = 700000000000000000LL;
    }

    l->id = ++last;
    l->shard = (int) (sim_random() % STORE_SHARDS);
}


static void
world_make(void)
{
    int             i, j, bad;
    store_lane_t   *l;
    sim_channel_t  *channel;
    sim_webhook_t  *w;

    sim.now = SIM_START;
    sim.harmed = SIM_START - SIM_HARM + 3000;
    last_us = 0;
    last_entry = 0;
    sim.all = calloc(sim.channels, sizeof(sim_channel_t));

    store_make(sim.channels);
    store.decided = world_decided;
    store.proved = world_proved;
    store.skips = world_skips;
    store.bad = sim_pool_bad;
    store.opened = world_opened;

    world_weather();
    sim_pool_start();
    sim_platform_start();
    sim_clock();

    bad = sim.quiet && sim.channels > 3;

    for (i = 0; i < sim.channels; i++) {
        channel = &sim.all[i];
        channel->row = &store.channels[i];
        channel->row->guild = 100000000000000001LL + i / 3;
        channel->row->id = 300000000000000001LL + i;
        channel->row->format = i % 4;
        channel->goal = sim.entries;
        channel->bad = bad && i < 3;    /* of one server */
        store_sync(channel->row, 1);
        l = channel->row->lane;

        if (sim_random() & 1) {
            w = sim_platform_webhook(channel);
            l->state = STORE_ACTIVE;
            l->webhook = w->id;
            snprintf(l->secret, sizeof(l->secret), "%lld:%s",
                     (long long) l->id, w->token);
            l->verified_at = sim_random() & 1 ? store.now : STORE_NONE;
        }

        sim_at(sim.now + sim_between(0, 2000), world_record, channel);

        if (sim_random() & 1) {
            sim_platform_stranger(channel);
        }
    }

    for (i = SIM_CHANCES_END; i < SIM_FAULTS; i++) {
        for (j = 0;
             sim.fault[i] && j < (i <= SIM_freeze ? sim.nodes : 1);
             j++)
        {
            sim_at(sim.now + sim_between(0, sim.fault[i]),
                   mischief[i - SIM_CHANCES_END], &sim.node[j]);
        }
    }

    for (i = 0; i < sim.nodes; i++) {
        sim.node[i].index = i;
        sim.node[i].back_at = sim.now + sim_between(0, 1000);
    }
}


static void
world_end(void)
{
    int      i;
    size_t   j;
    event_t  e;

    for (i = 0; i < sim.nodes; i++) {
        if (sim.node[i].up) {
            node_end(&sim.node[i]);
        }

        free(sim.node[i].stats.shared);
    }

    sim.calm = 1;

    while (heap_n) {        /* what is under way frees itself */
        e = world_pop();

        for (j = 0; j < sizeof(mischief) / sizeof(mischief[0]); j++) {
            if (e.fn == mischief[j]) {
                break;
            }
        }

        if (j == sizeof(mischief) / sizeof(mischief[0])
            && e.fn != world_record && e.fn != world_use
            && e.fn != world_resume)
        {
            sim.now = ngx_max(sim.now, e.at);
            e.fn(e.data);
        }
    }

    sim_platform_free();
    store_free();
    free(sim.all);
}


/* one seed, from its beginning; the options of "like" count */

static void
world_seed(const sim_t *like, uint64_t seed)
{
    sim = *like;
    sim.seed = seed;
    chance = seed * 0x2545f4914f6cdd1dULL;
    heap_order = 0;
    sim.hash = 0xcbf29ce484222325ULL;
    srandom((unsigned) seed);

    world_make();
    world_run();
    world_ended();
}


/* which faults does that failure need?  One after the other is left out; with
   another chance, where that changes what happens */

static void
world_shrink(const sim_t *like, uint64_t seed)
{
    int    i, fails;
    char   rule[sizeof(sim.rule)];
    sim_t  less;

    less = *like;
    less.verbose = 0;
    world_seed(&less, seed);
    memcpy(rule, sim.rule, sizeof(rule));
    world_end();

    printf("%s needs", rule);

    for (i = 0; i < SIM_FAULTS; i++) {
        less.off[i] = 1;
        world_seed(&less, seed);
        fails = sim.failed && strcmp(rule, sim.rule) == 0;
        world_end();

        if (!fails) {
            less.off[i] = like->off[i];
            printf(" %s", faults[i].name);
        }
    }

    printf("; leave out -x");

    for (i = 0; i < SIM_FAULTS; i++) {
        if (less.off[i]) {
            printf("%c%s", i ? ',' : ' ', faults[i].name);
        }
    }

    printf("\n");
}


static double
world_seconds(void)
{
    struct timespec  t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);

    return t.tv_sec + t.tv_nsec / 1e9;
}


static const struct {
    const char  *name;
    size_t       offset;
} sums[] = {
#define sum(name)  { #name, offsetof(sim_t, name) }
    sum(posts), sum(applied), sum(reads), sum(creates), sum(deletes),
    sum(crashes), sum(freezes), sum(statements), sum(lost), sum(unknown),
    sum(proved), sum(parked), sum(expired), sum(held)
#undef sum
};

#define sum_of(s, i)  (*(uint64_t *) ((char *) (s) + sums[i].offset))


static void
world_sums(sim_t *s)
{
    size_t  i;

    for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        printf("%s%llu %s", i ? ", " : "", (unsigned long long) sum_of(s, i),
               sums[i].name);
    }

    printf("\n");
}


static void
world_off(sim_t *like, char *names)
{
    int    i;
    char  *name;

    for (name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        for (i = 0; i < SIM_FAULTS; i++) {
            like->off[i] |= strcmp(faults[i].name, name) == 0;
        }
    }
}


/*
 * sim [-s seed] [-r runs] [-t seconds] [-c channels] [-e entries] [-n nodes]
 *     [-f per cent] [-k ms] [-x fault,...] [-z] [-b] [-w] [-i] [-q] [-v]
 *
 * -t as many runs as that CPU time has; -f how frequent faults are; -k a tick
 * of nginx's clock, which is that much behind at most (1, 4 or 10, by the
 * seed); -x without those; -z tells which faults a failure needs; -b ends with
 * the first failure; -w asserts also what is known, -i only what a user sees;
 * -q tells only of failures; -v of what happens, -vv of the log.
 */

int
main(int argc, char **argv)
{
    int       c, runs, n, bad, brief, quiet, shrink;
    size_t    i;
    sim_t     like, sum;
    double    began, took, seconds;
    uint64_t  first;

    ngx_memzero(&like, sizeof(sim_t));
    ngx_memzero(&sum, sizeof(sim_t));
    like.channels = 1;
    like.entries = 100;
    like.nodes = 1;
    like.strength = 100;
    first = 1;
    runs = 1;
    seconds = 0;
    brief = quiet = shrink = 0;

    while ((c = getopt(argc, argv, "s:r:t:c:e:n:f:k:x:zbwiqv")) != -1) {
        switch (c) {
        case 's': first = strtoull(optarg, NULL, 10); break;
        case 'r': runs = atoi(optarg); break;
        case 't': seconds = atof(optarg); runs = INT_MAX; break;
        case 'c': like.channels = ngx_max(atoi(optarg), 1); break;
        case 'e': like.entries = atoi(optarg); break;
        case 'n': like.nodes = ngx_min(atoi(optarg), SIM_NODES); break;
        case 'f': like.strength = atoi(optarg); break;
        case 'k': like.tick = ngx_max(atoi(optarg), 1); break;
        case 'x': world_off(&like, optarg); break;
        case 'z': shrink = 1; break;
        case 'b': brief = 1; break;
        case 'w': like.strict = 1; break;
        case 'i': like.black = 1; break;
        case 'q': quiet = 1; break;
        case 'v': like.verbose++; break;
        default: return 2;
        }
    }

    ngx_pagesize = getpagesize();
    ngx_cacheline_size = 64;
    ngx_memzero(&world_cycle, sizeof(world_cycle));
    world_cycle.log = &world_log;
    ngx_cycle = &world_cycle;
    ngx_crc32_table_init();
    world_log.log_level = like.verbose > 1
                          ? (like.verbose > 2 ? NGX_LOG_DEBUG
                                                | NGX_LOG_DEBUG_CORE
                             : NGX_LOG_INFO) : NGX_LOG_EMERG;

    began = world_seconds();
    bad = 0;

    for (n = 0; n < runs && !(brief && bad); n++) {
        if (seconds > 0 && world_seconds() - began >= seconds) {
            break;
        }

        world_seed(&like, first + n);

        if (sim.failed) {
            bad++;
            printf("seed %llu: %s\n", (unsigned long long) sim.seed,
                   sim.failure);

        } else if (!quiet) {
            printf("seed %llu: ok, %lld s, hash %016llx: ",
                   (unsigned long long) sim.seed,
                   (long long) (sim.now - SIM_START) / 1000,
                   (unsigned long long) sim.hash);
            world_sums(&sim);
        }

        for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
            sum_of(&sum, i) += sum_of(&sim, i);
        }

        c = sim.failed;
        world_end();

        if (c && shrink) {
            world_shrink(&like, first + n);
        }
    }

    took = world_seconds() - began;
    printf("%d runs from seed %llu, %d failed; %d channels of %d entries, "
           "%d nodes; %.2f s of a core, %.0f lives of lanes a minute\n",
           n, (unsigned long long) first, bad, like.channels, like.entries,
           like.nodes, took, n * like.channels / took * 60);
    world_sums(&sum);

    return bad != 0;
}
