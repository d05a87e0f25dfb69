
/*
 * The pairs whose time is over: read with all that waits or has just ended in
 * their guilds, decided, and ended in one statement.
 */

#include "jobs/ngx_guildlog_pairs.h"
#include "events/ngx_guildlog_event_put.h"


#define PAIRS_TURN    250      /* ms */
#define PAIRS_IDLE    30000    /* ms, nobody has told that something waits */
#define PAIRS_SOON    10       /* ms, more is due */
#define PAIRS_RETRY   5000     /* ms, the database refused */
#define PAIRS_REST    3        /* times as long as a turn took, up to one */
#define PAIRS_GUILDS  "100"    /* of a turn */
#define PAIRS_POOL    16384    /* bytes */


struct ngx_guildlog_pairs_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_database_t *database;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_db_query_t       *query;
    ngx_pool_t                    *turn;     /* NULL: between two turns */
    ngx_msec_t                     wait;     /* for the next one */
    ngx_msec_t                     asked;    /* the database, last */
    ngx_atomic_uint_t              waiting;  /* what requests had told then */
    ngx_event_t                    timer;
    ngx_log_t                     *log;
    unsigned                       refused:1;
    unsigned                       due:1;    /* something is, or will be */
};


static void pairs_turn(ngx_event_t *ev);
static void pairs_due(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t pairs_decide(ngx_guildlog_pairs_t *pairs,
    ngx_guildlog_db_result_t *result);
static void pairs_ended(void *data, ngx_guildlog_db_result_t *result);
static void pairs_refused(ngx_guildlog_pairs_t *pairs,
    ngx_guildlog_db_result_t *result);
static void pairs_next(ngx_guildlog_pairs_t *pairs);


ngx_guildlog_pairs_t *
ngx_guildlog_pairs_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats)
{
    ngx_guildlog_pairs_t  *pairs;

    pairs = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_pairs_t));
    if (pairs == NULL) {
        return NULL;
    }

    pairs->fd = (ngx_socket_t) -1;
    pairs->database = database;
    pairs->pool = pool;
    pairs->stats = stats;
    pairs->log = cycle->log;

    ngx_guildlog_event_init(&pairs->timer, pairs_turn, pairs, cycle->log);
    pairs->timer.cancelable = 1;

    /* another worker may have left what waited before this one */

    pairs->asked = ngx_current_msec;
    pairs->waiting = stats->shared->events[NGX_GUILDLOG_EVENTS_WAITING];
    pairs->due = pairs->waiting != 0;

    ngx_add_timer(&pairs->timer, PAIRS_TURN);

    return pairs;
}


void
ngx_guildlog_pairs_destroy(ngx_guildlog_pairs_t *pairs)
{
    ngx_guildlog_event_stop(&pairs->timer);

    ngx_guildlog_db_pool_detach(pairs->query);
    pairs->query = NULL;

    ngx_guildlog_pool_drop(&pairs->turn);
}


static void
pairs_turn(ngx_event_t *ev)
{
    ngx_guildlog_pairs_t *pairs = ev->data;

    ngx_atomic_uint_t  waiting;

    static const ngx_str_t  most = ngx_string(PAIRS_GUILDS);

    if (ngx_exiting) {
        return;
    }

    /* all workers count what waits: while nothing does, nobody is asked */

    waiting = pairs->stats->shared->events[NGX_GUILDLOG_EVENTS_WAITING];

    if (!pairs->due && waiting == pairs->waiting
        && (ngx_msec_int_t) (ngx_current_msec - pairs->asked) < PAIRS_IDLE)
    {
        ngx_add_timer(&pairs->timer, PAIRS_TURN);
        return;
    }

    pairs->waiting = waiting;
    pairs->asked = ngx_current_msec;
    pairs->wait = PAIRS_RETRY;

    pairs->query = ngx_guildlog_db_pool_submit(pairs->pool,
                                               ngx_guildlog_stmt(events_due),
                                               &most, pairs_due, pairs);

    if (pairs->query == NULL) {
        pairs_next(pairs);
    }
}


static void
pairs_due(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_pairs_t *pairs = data;

    int64_t    next;
    ngx_str_t  rows;

    pairs->query = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        pairs->due = 1;
        pairs_refused(pairs, result);
        pairs_next(pairs);
        return;
    }

    pairs->refused = 0;

    /* what a request brings meanwhile waits for longer than a turn */

    next = ngx_guildlog_db_result_number(result, 0, 4);
    pairs->wait = next == NGX_ERROR ? PAIRS_TURN
                  : (ngx_msec_t) ngx_min(ngx_max(next, PAIRS_SOON), PAIRS_TURN);

    rows = ngx_guildlog_db_result_value(result, 0, 2);
    pairs->due = rows.len || next != NGX_ERROR;

    if (rows.len == 0 || pairs_decide(pairs, result) != NGX_OK) {
        pairs_next(pairs);
    }
}


static ngx_int_t
pairs_decide(ngx_guildlog_pairs_t *pairs, ngx_guildlog_db_result_t *result)
{
    int64_t    now;
    ngx_str_t  rows, args[NGX_GUILDLOG_EVENT_END_ALL];

    pairs->turn = ngx_create_pool(PAIRS_POOL, pairs->log);
    if (pairs->turn == NULL) {
        return NGX_ERROR;
    }

    args[0] = ngx_guildlog_db_result_value(result, 0, 0);
    args[1] = ngx_guildlog_db_result_value(result, 0, 1);
    rows = ngx_guildlog_db_result_value(result, 0, 2);
    now = ngx_guildlog_db_result_number(result, 0, 3);

    if (ngx_guildlog_event_put_ends(pairs->turn, &rows, now, args) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, pairs->log, 0,
                      "guildlog database \"%V\": pairs of events cannot be "
                      "ended", &pairs->database->name);
        return NGX_ERROR;
    }

    pairs->query = ngx_guildlog_db_pool_submit(pairs->pool,
                                               ngx_guildlog_stmt(events_end),
                                               args, pairs_ended, pairs);

    return pairs->query ? NGX_OK : NGX_ERROR;
}


/* of a guild of which somebody else has packets, or has ended them, nothing was
   done; 409: of all of them */

static void
pairs_ended(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_pairs_t *pairs = data;

    ngx_str_t   counts, fault;
    ngx_uint_t  i, n[NGX_GUILDLOG_ENTRY_LAST];

    pairs->query = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        pairs_refused(pairs, result);

    } else if (ngx_guildlog_db_result_number(result, 0, 0) == 200) {
        counts = ngx_guildlog_db_result_value(result, 0, 2);
        ngx_guildlog_entry_counts(&counts, n);

        for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
            (void) ngx_atomic_fetch_add(&pairs->stats->shared->entries[i],
                                        n[i]);
        }

        ngx_guildlog_stats_count(pairs->stats, NGX_GUILDLOG_COUNT_PAIRS_JOINED,
                                 ngx_guildlog_db_result_number(result, 0, 3));
        ngx_guildlog_stats_count(pairs->stats, NGX_GUILDLOG_COUNT_PAIRS_ALONE,
                                 ngx_guildlog_db_result_number(result, 0, 4));

        fault = ngx_guildlog_db_result_value(result, 0, 5);

        if (fault.len) {
            ngx_log_error(NGX_LOG_ERR, pairs->log, 0,
                          "guildlog database \"%V\": pairs of events cannot "
                          "be ended, %V", &pairs->database->name, &fault);
        }
    }

    pairs_next(pairs);
}


static void
pairs_refused(ngx_guildlog_pairs_t *pairs, ngx_guildlog_db_result_t *result)
{
    pairs->wait = PAIRS_RETRY;

    if (result->outcome == NGX_GUILDLOG_DB_REFUSED && !pairs->refused) {
        pairs->refused = 1;

        ngx_log_error(NGX_LOG_ERR, pairs->log, 0,
                      "guildlog database \"%V\": pairs of events cannot be "
                      "ended, SQLSTATE %s: %V", &pairs->database->name,
                      result->sqlstate, &result->message);
    }
}


static void
pairs_next(ngx_guildlog_pairs_t *pairs)
{
    ngx_msec_t  rest;

    /* where many wait something is always due soon */

    rest = PAIRS_REST * (ngx_current_msec - pairs->asked);
    rest = ngx_min(rest, PAIRS_TURN);

    ngx_guildlog_pool_drop(&pairs->turn);

    if (!ngx_exiting) {
        ngx_add_timer(&pairs->timer, ngx_max(pairs->wait, rest));
    }
}
