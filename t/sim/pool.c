
/*
 * The way to the database: what db/ngx_guildlog_db_pool.h declares.  A
 * statement has its effect at one moment, all of it or nothing, and its answer
 * comes later, or says that nobody knows.
 */

#include <ngx_config.h>
#include "sim.h"


struct ngx_guildlog_db_query_s {
    ngx_queue_t                  link;
    sim_node_t                  *node;
    const ngx_guildlog_stmt_t   *stmt;
    ngx_str_t                   *args;
    ngx_guildlog_db_handler_pt   handler;    /* NULL: nobody waits */
    void                        *data;
    ngx_guildlog_db_result_t     result;
    int                          dies;       /* has no effect any more */
    int64_t                      made;       /* ms of the wall */
    store_lane_t                *rests;      /* it made that one wait, */
    int64_t                      rests_to;   /*   until then */
    store_answer_t               answer;
};

typedef struct ngx_guildlog_db_query_s  query_t;


static ngx_queue_t  queries;


ngx_str_t
ngx_guildlog_db_result_value(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    query_t     *q;
    ngx_str_t    value;
    const char  *s;

    ngx_str_null(&value);

    if (row < result->rows && column < result->columns) {
        q = result->res;
        s = store_value(&q->answer, (int) row, (int) column);

        if (s) {
            value.data = (u_char *) s;
            value.len = strlen(s);
        }
    }

    return value;
}


void
ngx_guildlog_db_result_line(u_char *line, size_t size, const char *text)
{
    snprintf((char *) line, size, "%s", text);
}


ngx_uint_t
ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool)
{
    return 0;
}


static void
query_name(const sim_node_t *node, char *name, size_t size)
{
    snprintf(name, size, "%d/%d", node->index, node->epoch);
}


int64_t
sim_pool_lease(const sim_node_t *node, int shard)
{
    char  me[32];

    query_name(node, me, sizeof(me));

    return strcmp(store.leases[shard].owner, me) == 0
           ? store.leases[shard].until / 1000 - sim_wall() : -1;
}


/* a row that the database does not bear is in the way */

int
sim_pool_bad(store_lane_t *lane)
{
    return lane && sim_channel(lane)->bad_to > sim.now && !sim.calm;
}


static int64_t
query_number(query_t *q, int i)
{
    return strtoll((char *) q->args[i].data, NULL, 10);
}


static int
query_bad(query_t *q)
{
    int            i;
    char          *p;
    int64_t        guild, most;
    store_lane_t  *lane;
    const char    *name;

    name = q->stmt->name;

    if (strcmp(name, "delivery_step") == 0) {
        p = (char *) q->args[1].data;

        while ((p = strstr(p, "{\"guild\":")) != NULL) {
            guild = strtoll(p + sizeof("{\"guild\":") - 1, &p, 10);

            p += sizeof(",\"lane\":") - 1;

            if (sim_pool_bad(store_lane(guild, strtoll(p, NULL, 10)))) {
                return 1;
            }
        }

        return 0;
    }

    if (strcmp(name, "delivery_find") == 0) {
        most = q->args[5].data[0] == 't' ? 0 : query_number(q, 4);

        for (i = 0; most-- > 0 && (lane = store_ready(q->args, &i)); ) {
            if (sim_pool_bad(lane)) {
                return 1;
            }
        }

        return 0;
    }

    /* to set it aside does not touch it, as a rule */

    return q->stmt->nargs >= 4
           && strcmp(name, "delivery_lease") != 0
           && sim_pool_bad(store_lane(query_number(q, 1), query_number(q, 2)))
           && (strcmp(name, "delivery_park") != 0 || sim_random() % 8 == 0);
}


static void
query_refuse(query_t *q, const char *sqlstate, ngx_guildlog_db_fault_e fault)
{
    q->result.outcome = NGX_GUILDLOG_DB_REFUSED;
    q->result.fault = fault;
    memcpy(q->result.sqlstate, sqlstate, sizeof(q->result.sqlstate));
    ngx_str_set(&q->result.message, "it was made up");
}


/* what is told to be used no more is gone from the platform */

static void
query_closed(store_lane_t *lane, int64_t webhook)
{
    int             i;
    sim_channel_t  *channel;

    channel = sim_channel(lane);

    for (i = 0; i < channel->nwebhooks; i++) {
        if (channel->webhooks[i].id == webhook && !channel->webhooks[i].gone
            && !store_shared(lane))
        {
            sim_fail("KEPT", "lane %lld is told to be closed, and its webhook "
                     "%lld is there", (long long) lane->id,
                     (long long) webhook);
        }
    }
}


static void
query_run(query_t *q)
{
    int64_t        webhook;
    store_lane_t  *lane;

    sim.statements++;

    if (query_bad(q)) {
        query_refuse(q, "22003", NGX_GUILDLOG_DB_FAULT_ASKED);
        return;
    }

    sim_clock();
    q->result.outcome = NGX_GUILDLOG_DB_ROWS;

    lane = strcmp(q->stmt->name, "delivery_closed") == 0
           ? store_lane(query_number(q, 1), query_number(q, 2)) : NULL;
    webhook = lane ? lane->webhook : STORE_NONE;

    store_run(q->stmt->name, q->args, &q->answer);

    if (q->answer.sqlstate[0]) {
        query_refuse(q, q->answer.sqlstate, NGX_GUILDLOG_DB_FAULT_SAID);
        return;
    }

    if (lane && webhook != STORE_NONE
        && strcmp(store_value(&q->answer, 0, 0), "200") == 0)
    {
        query_closed(lane, webhook);
    }

    if (strcmp(q->stmt->name, "delivery_waits") == 0
        || strcmp(q->stmt->name, "delivery_limited") == 0)
    {
        q->rests = store_lane(query_number(q, 1), query_number(q, 2));
        q->rests_to = q->rests->not_before;
    }

    q->result.columns = q->answer.columns;
    q->result.rows = q->answer.n / q->answer.columns;
}


static void
query_free(query_t *q)
{
    ngx_uint_t  i;

    for (i = 0; i < q->stmt->nargs; i++) {
        free(q->args[i].data);
    }

    ngx_queue_remove(&q->link);
    store_answer_free(&q->answer);
    free(q->args);
    free(q);
}


static void query_answer(void *data);


static void
query_commit(void *data)
{
    query_t  *q = data;

    if (!q->dies && store_waits(q->stmt->name, q->args)) {
        sim_at(sim.now + 1, query_commit, q);
        return;
    }

    if (!q->dies) {
        query_run(q);
    }

    if (q->handler) {
        sim_at(sim.now + (sim_chance(SIM_db_tardy) ? sim_between(1, 3000)
                          : sim_between(1, 3)), query_answer, q);
        return;
    }

    query_free(q);
}


/* a statement that nobody waits for */

static void
query_late(void *data)
{
    query_t  *q = data;

    q->handler = NULL;
    query_commit(q);
}


/* what the node is told of leases is what it knows */

static void
query_fences(query_t *q)
{
    int          i, shard;
    int64_t      fence;
    const char  *s;

    for (i = 0; i < (int) q->result.rows; i++) {
        s = store_value(&q->answer, i, 0);

        if (s) {
            shard = atoi(s);
            fence = store_value(&q->answer, i, 3)[0] == 't'
                ? strtoll(store_value(&q->answer, i, 2), NULL, 10) : -1;

            /* those of a shard that is new, or was given away in vain */

            if (fence != -1 && (fence != q->node->fences[shard]
                                || q->node->gave))
            {
                q->node->swept = 0;
            }

            q->node->fences[shard] = fence;
        }
    }

    q->node->gave = 0;
}


/* that a lane waits is known to who made it wait: so many ms, the last word,
   which its operator may take back.  What the platform said is a little less */

static void
query_rests(query_t *q)
{
    sim_channel_t  *channel;

    channel = sim_channel(q->rests);
    channel->rests_to = q->rests_to;
    channel->rests_end = q->made + query_number(q, q->stmt->nargs - 1);

    if (strcmp(q->stmt->name, "delivery_limited") == 0) {
        channel->rests_end -= NGX_GUILDLOG_LANE_MARGIN;
    }

    channel->rests_node = q->node->index;
    channel->rests_epoch = q->node->epoch;
    channel->limited = 0;
}


/* that a webhook is gone could not be told: it may be used once more */

static void
query_forgive(query_t *q)
{
    int             i;
    store_lane_t   *lane;
    sim_channel_t  *channel;

    if (strcmp(q->stmt->name, "delivery_lost") != 0) {
        return;
    }

    lane = store_lane(query_number(q, 1), query_number(q, 2));

    if (lane == NULL) {
        return;
    }

    channel = sim_channel(lane);

    for (i = 0; i < channel->nwebhooks; i++) {
        channel->webhooks[i].told_epoch = 0;
    }
}


static void
query_told(void *data)
{
    query_t  *q = data;

    ngx_guildlog_db_handler_pt  handler;

    handler = q->handler;
    q->handler = NULL;

    if (handler && sim.current->up) {
        if (strcmp(q->stmt->name, "delivery_lease") == 0) {
            sim.current->told = q->result.outcome == NGX_GUILDLOG_DB_ROWS;
        }

        if (q->result.outcome == NGX_GUILDLOG_DB_ROWS
            && strcmp(q->stmt->name, "delivery_lease") == 0)
        {
            query_fences(q);
        }

        if (q->result.outcome != NGX_GUILDLOG_DB_ROWS) {
            query_forgive(q);
        }

        if (q->rests) {
            query_rests(q);
        }

        handler(q->data, &q->result);
    }

    query_free(q);
}


static void
query_answer(void *data)
{
    query_t  *q = data;

    if (q->handler == NULL) {
        query_free(q);
        return;
    }

    sim_mail(q->node, query_told, q);
}


static void
query_lost(void *data)
{
    query_t  *q = data;

    q->result.outcome = q->result.time_us ? NGX_GUILDLOG_DB_TIMEOUT
                                          : NGX_GUILDLOG_DB_UNAVAILABLE;
    query_answer(q);
}


static void
query_refused(void *data)
{
    query_t  *q = data;

    if (sim_random() & 1) {
        query_refuse(q, "40P01", NGX_GUILDLOG_DB_FAULT_LOST);
    } else {
        query_refuse(q, "57P01", NGX_GUILDLOG_DB_FAULT_AWAY);
    }

    query_answer(q);
}


static query_t *
query_make(const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args)
{
    query_t     *q;
    ngx_uint_t   i;

    q = calloc(1, sizeof(query_t));
    q->node = sim.current;
    q->stmt = stmt;
    q->made = sim_wall();
    q->result.res = q;
    q->args = calloc(stmt->nargs + 1, sizeof(ngx_str_t));
    ngx_queue_insert_tail(&queries, &q->link);

    for (i = 0; i < stmt->nargs; i++) {
        if (args[i].data) {
            q->args[i].len = args[i].len;
            q->args[i].data = malloc(args[i].len + 1);
            memcpy(q->args[i].data, args[i].data, args[i].len);
            q->args[i].data[args[i].len] = '\0';
        }
    }

    return q;
}


/* who knows how far it has looked looks at all lanes now and then only; one by
   one, where that was refused because of one of them */

static void
query_sweep(query_t *q)
{
    if (q->args[1].data || query_number(q, 3) || q->args[5].data[0] == 't') {
        return;
    }

    if (sim.current->swept + 500 - sim.tick >= sim.now) {
        sim_fail("SWEEP", "node %d looks at all lanes, and did at %lld",
                 sim.current->index, (long long) sim.current->swept);
    }

    sim.current->swept = sim.now;
}


/* nothing is asked of a lane under a lease that the node knows to be over */

static void
query_check(query_t *q)
{
    char          *p;
    int64_t        shard, fence;
    store_lane_t  *lane;

    if (strcmp(q->stmt->name, "delivery_step") == 0) {
        p = (char *) q->args[1].data;

        while ((p = strstr(p, "\"shard\":")) != NULL) {
            shard = strtoll(p + sizeof("\"shard\":") - 1, &p, 10);
            fence = strtoll(p + sizeof(",\"fence\":") - 1, &p, 10);

            if (sim.current->fences[shard] != fence) {
                sim_fail("FENCE", "a step of shard %lld with the fence %lld",
                         (long long) shard, (long long) fence);
            }
        }

    } else if (strcmp(q->stmt->name, "delivery_find") == 0) {
        query_sweep(q);

    } else if (q->stmt->nargs >= 5) {
        lane = store_lane(query_number(q, 1), query_number(q, 2));

        if (lane && sim.current->fences[lane->shard] != query_number(q, 3)) {
            sim_fail("FENCE", "%s of lane %lld with the fence %lld",
                     q->stmt->name, (long long) lane->id,
                     (long long) query_number(q, 3));
        }
    }
}


ngx_guildlog_db_query_t *
ngx_guildlog_db_pool_submit(ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler, void *data)
{
    query_t  *q;
    int64_t   commit;

    q = query_make(stmt, args);

    /* what it gives away it has no more, whether anybody hears of it or not */

    if (strcmp(stmt->name, "delivery_lease") == 0) {
        sim.current->gave |= q->args[2].len > sizeof("{}") - 1;
    }

    if (sim_chance(SIM_memory)) {
        if (strcmp(stmt->name, "delivery_lease") == 0) {
            sim.current->told = 0;
        }

        query_forgive(q);
        query_free(q);
        return NULL;
    }

    q->handler = handler;
    q->data = data;

    if (!sim.black) {
        query_check(q);
    }

    commit = sim.now + (sim_chance(SIM_db_slow) ? sim_between(0, 3000)
                        : sim_between(0, 4));

    if (sim_chance(SIM_db_refused)) {
        sim_at(commit + 1, query_refused, q);

    } else if (sim_chance(SIM_db_lost)) {
        sim_at(commit + 1, query_lost, q);

    } else if (sim_chance(SIM_db_lost_after)) {
        sim_at(commit, query_late, query_make(stmt, args));
        sim_at(commit + 1, query_lost, q);

    } else if (sim_chance(SIM_db_late)) {
        sim_at(commit + sim_between(0, 600), query_late,
               query_make(stmt, args));
        sim_at(commit, query_lost, q);

    } else if (sim_chance(SIM_db_timeout)) {
        q->result.time_us = 1;
        sim_at(sim.now + 5000, query_lost, q);

        if (sim_random() & 1) {
            sim_at(sim.now + sim_between(0, 4999), query_late,
                   query_make(stmt, args));
        }

    } else {
        sim_at(commit, query_commit, q);
    }

    return q;
}


void
ngx_guildlog_db_pool_detach(ngx_guildlog_db_query_t *q)
{
    if (q) {
        q->handler = NULL;
    }
}


/* what was sent may be done, or not */

void
sim_pool_crash(sim_node_t *node)
{
    query_t      *q;
    ngx_queue_t  *link;

    ngx_guildlog_queue_each(link, &queries) {
        q = ngx_queue_data(link, query_t, link);

        if (q->node == node) {
            q->dies |= (int) (sim_random() & 1);
        }
    }
}


void
sim_pool_start(void)
{
    ngx_queue_init(&queries);
}
