
/*
 * What the files of this room share: a query, a connection, a group of
 * connections, a guild's share of a group, and the pool that has them all.
 * No other room includes this file.
 *
 * A pool has groups, a group has connections, a connection has queries in
 * flight.  What happens to a connection is only noted, and the pool's event
 * posted: a connection is never freed or used while one of its own functions
 * runs.
 */

#ifndef _NGX_GUILDLOG_DB_H_INCLUDED_
#define _NGX_GUILDLOG_DB_H_INCLUDED_


#include <ngx_config.h>
#include <libpq-fe.h>
#include "db/ngx_guildlog_db_pool.h"


#define NGX_GUILDLOG_DB_CONN_GRACE   500  /* ms, the database gives up first */
#define NGX_GUILDLOG_DB_CONN_ADDRS   16   /* of a host, as the resolver told */
#define NGX_GUILDLOG_DB_CONN_DESYNCED                                         \
    "the server sent what was not asked for"


typedef struct ngx_guildlog_db_conn_s   ngx_guildlog_db_conn_t;
typedef struct ngx_guildlog_db_group_s  ngx_guildlog_db_group_t;
typedef struct ngx_guildlog_db_share_s  ngx_guildlog_db_share_t;
typedef struct ngx_guildlog_db_standby_s  ngx_guildlog_db_standby_t;

typedef void (*ngx_guildlog_db_conn_handler_pt)(ngx_guildlog_db_conn_t *conn,
    ngx_uint_t write);
typedef ngx_int_t (*ngx_guildlog_db_conn_result_pt)(
    ngx_guildlog_db_conn_t *conn, PGresult *res);


/*
 * A query is one allocation with its arguments.  It stands in one queue: its
 * share's while it waits, its connection's in flight, the pool's when it has
 * finished.
 */

struct ngx_guildlog_db_query_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_conn_t        *conn;         /* NULL: not in flight */
    ngx_guildlog_db_share_t       *share;
    const ngx_guildlog_stmt_t     *stmt;
    const char                   **values;
    size_t                         size;         /* of the values, bytes */
    size_t                         raw;          /* of a last one as it is */
    ngx_guildlog_db_handler_pt     handler;      /* NULL: detached */
    void                          *data;
    ngx_event_t                    timer;
    uint64_t                       start_us;     /* queued, then sent */
    ngx_uint_t                     round;        /* of the pool, queued in */
    ngx_uint_t                     epoch;        /* takes a connection of this
                                                    epoch or a later one */
    uint32_t                       generation;   /* of the prepared form */
    ngx_guildlog_db_result_t       result;

    unsigned                       prepares:1;   /* brings its own Prepare */
    unsigned                       fresh:1;      /* has to bring it */
    unsigned                       again:1;      /* is to be sent once more */
    unsigned                       retried:1;
    unsigned                       renewed:1;    /* ... on a new connection */
    unsigned                       late:1;       /* missed its deadline */
    unsigned                       behind:1;     /* SERIAL: waits for one in
                                                    flight */
    unsigned                       held:1;       /* its guild has as many
                                                    connections as it may */
    unsigned                       retained:1;   /* a memory pool has the
                                                    result */
    unsigned                       cancelled:1;  /* nobody asks any more */
};


struct ngx_guildlog_db_conn_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* the group's, then that of
                                                    pool->ended */
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_group_t       *group;

    PGconn                        *pg;           /* NULL: closed */
    ngx_connection_t              *connection;   /* NULL: not watched */
    ngx_guildlog_db_conn_handler_pt  handler;    /* the state */
    ngx_guildlog_db_conn_result_pt   result;     /* what must come next */
    ngx_event_t                    timer;        /* connecting, then age */

    ngx_uint_t                     host;
    ngx_uint_t                     hosts_left;
    const ngx_guildlog_db_addr_t  *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     addr;
    ngx_guildlog_db_addr_t         resolved[NGX_GUILDLOG_DB_CONN_ADDRS];
    ngx_resolver_ctx_t            *resolving;

    ngx_queue_t                    flight;       /* queries, as sent */
    ngx_uint_t                     nflight;
    ngx_msec_t                     head_since;   /* the first one runs */
    ngx_msec_t                     ready_at;
    ngx_uint_t                     epoch;        /* of the pool, when ready */
    ngx_guildlog_db_query_t       *cancel;       /* cancels, on another
                                                    connection, what runs */

    uint32_t                       prepared[NGX_GUILDLOG_STMT_MAX];
    uint32_t                       generation;

    unsigned                       ready:1;
    unsigned                       blocked:1;    /* the last query in flight
                                                    has bytes unsent */
    unsigned                       answered:1;   /* a query, ever */
    unsigned                       retiring:1;   /* takes no more queries */
    unsigned                       desynced:1;   /* libpq dropped a message */
    unsigned                       closing:1;    /* wanted: not a loss */

    u_char                         last_notice[256];  /* a fatal one */
};


typedef enum {
    NGX_GUILDLOG_DB_GROUP_SHORT = 0,
    NGX_GUILDLOG_DB_GROUP_LONG,
    NGX_GUILDLOG_DB_GROUP_DELIVERY,
    NGX_GUILDLOG_DB_GROUP_BACKGROUND,
    NGX_GUILDLOG_DB_GROUP_LAST
} ngx_guildlog_db_group_e;


/*
 * What one guild has in a group: its queries in flight, and those that wait.
 * Guilds take rounds, one query a round.  A share lives as long as it has
 * queries.
 */

struct ngx_guildlog_db_share_s {
    ngx_rbtree_node_t              node;         /* key: twice the payer's id,
                                                    plus 1 if no token asks; 0
                                                    for no guild */
    ngx_guildlog_db_group_t       *group;
    ngx_queue_t                    queue;        /* group->waiting, if any of
                                                    its queries waits */
    ngx_queue_t                    waiting;      /* queries */
    ngx_uint_t                     nwaiting;
    ngx_uint_t                     npatient;     /* of these */
    ngx_uint_t                     nflight;
    ngx_uint_t                     refs;         /* queries, also finished */
    ngx_uint_t                     held;         /* the last round in which a
                                                    query waited for others of
                                                    its own share */
};


/* the connections for one kind of statements, and who waits for them */

struct ngx_guildlog_db_group_s {
    ngx_guildlog_db_pool_t        *pool;
    ngx_queue_t                    waiting;      /* shares, the next one
                                                    first */
    ngx_rbtree_t                   shares;
    ngx_rbtree_node_t              sentinel;
    ngx_uint_t                     nwaiting;     /* queries */
    ngx_uint_t                     nheld;        /* those of them that no new
                                                    connection helps */
    ngx_queue_t                    connections;  /* the last used first */
    ngx_uint_t                     nconnections;
    ngx_uint_t                     nconnecting;
    ngx_uint_t                     nbusy;        /* with queries in flight */
    ngx_uint_t                     queued_behind;  /* sent behind others in
                                                      this round */
    ngx_uint_t                     max;
    ngx_uint_t                     depth;

    /* one guild may have at most */
    ngx_uint_t                     share_flight; /* queries in flight */
    ngx_uint_t                     share_connections;  /* with them */
    ngx_uint_t                     share_half;   /* queries that wait */
    ngx_uint_t                     share_line;   /* of these, not PATIENT */

    ngx_msec_t                     timeout;
    ngx_msec_t                     pace;         /* of the last statements,
                                                    1/16 ms each */
};


struct ngx_guildlog_db_pool_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_database_t *database;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_db_standby_t     *standby;      /* NULL: follows nobody */
    ngx_resolver_t                *resolver;     /* NULL: none configured */
    ngx_msec_t                     resolver_timeout;
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;

    ngx_uint_t                     host;         /* the last that worked */
    u_char                        *told;         /* by host: it is logged that
                                                    it fails */
    time_t                         lost;         /* a loss was logged, s */

    ngx_guildlog_db_group_t        groups[NGX_GUILDLOG_DB_GROUP_LAST];
    ngx_queue_t                    ended;        /* connections to free */
    ngx_queue_t                    finished;     /* queries to deliver */

    ngx_event_t                    run;
    ngx_event_t                    retry;        /* set: no new connection
                                                    until then */
    ngx_uint_t                     round;        /* how often "run" ran */
    ngx_uint_t                     epoch;        /* connections lost so far */
    ngx_uint_t                     nready;
    ngx_msec_t                     backoff;
    ngx_msec_t                     since;        /* no connection: lost or
                                                    wanted then */
    time_t                         overloaded;   /* was logged, s */
    uint64_t                       answered_us;  /* the last statement was */

    unsigned                       failing:1;    /* the last connect failed */
    unsigned                       wanted_while_down:1;
    unsigned                       terminated:1; /* the worker may not wait */
    unsigned                       closed:1;
    unsigned                       delivering:1;
};


/* NULL if out of memory; the pool frees it after group_ended() */
ngx_guildlog_db_conn_t *ngx_guildlog_db_conn_create(
    ngx_guildlog_db_group_t *group);

/* tries one host after the other; ends in group_ready() or group_ended() */
void ngx_guildlog_db_conn_open(ngx_guildlog_db_conn_t *conn);

/* both end in group_ended(): close() is wanted, fail() logs the cause */
void ngx_guildlog_db_conn_close(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_conn_fail(ngx_guildlog_db_conn_t *conn,
    const char *cause);

/* in another file than its queues, which clang's analyzer does not follow */
void ngx_guildlog_db_conn_free(ngx_guildlog_db_conn_t *conn);

/* posts the read event if TLS has bytes that raise none */
void ngx_guildlog_db_conn_read_pending(ngx_guildlog_db_conn_t *conn);


/* db_result.c */

ngx_guildlog_db_query_t *ngx_guildlog_db_query_create(
    ngx_guildlog_db_pool_t *pool, const ngx_guildlog_stmt_t *stmt,
    const ngx_str_t *args);
ngx_int_t ngx_guildlog_db_query_answered(ngx_guildlog_db_query_t *query);
void ngx_guildlog_db_query_free(ngx_guildlog_db_query_t *query);


/* takes the query; an error ends the connection */
void ngx_guildlog_db_pipeline_send(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);

/* conn->handler once it is ready */
void ngx_guildlog_db_pipeline_io(ngx_guildlog_db_conn_t *conn,
    ngx_uint_t write);


/* db_group.c: which connections there are, and which one takes a query */

void ngx_guildlog_db_group_init(ngx_guildlog_db_pool_t *pool);

ngx_guildlog_db_group_t *ngx_guildlog_db_group_of(
    ngx_guildlog_db_query_t *query);

/*
 * The connection to send the query on.  NULL: the query has to wait.  Then
 * "behind" and "held" say whether it waits for others of its own.
 */
ngx_guildlog_db_conn_t *ngx_guildlog_db_group_choose(
    ngx_guildlog_db_group_t *group, ngx_guildlog_db_query_t *query);

/* could another guild's query go now, or as soon as one more is opened? */
ngx_uint_t ngx_guildlog_db_group_spare(ngx_guildlog_db_group_t *group);

/* opens what is missing; closes what is idle while nobody waits */
void ngx_guildlog_db_group_grow(ngx_guildlog_db_group_t *group);
void ngx_guildlog_db_group_shrink(ngx_guildlog_db_group_t *group);

/*
 * Connects again while the database is down, whether anybody asks or not.  A
 * worker that exits does so only if somebody asked.
 */
void ngx_guildlog_db_group_revive(ngx_guildlog_db_pool_t *pool);

/* the database is away for so long that no query should wait for it */
ngx_uint_t ngx_guildlog_db_group_down(ngx_guildlog_db_pool_t *pool);

/*
 * Of a connection: it is in pipeline mode; it is closed, and what is in flight
 * gets no answer; it has answered a query, whose result is not judged yet.
 */
void ngx_guildlog_db_group_ready(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_group_ended(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_group_answered(ngx_guildlog_db_conn_t *conn);

/* n: 1 when a connection gets work, -1 when it has none any more */
void ngx_guildlog_db_group_busy(ngx_guildlog_db_group_t *group, ngx_int_t n);


/* db_standby.c: its primary is asked no more */

void ngx_guildlog_db_standby_leave(ngx_guildlog_db_standby_t *standby);


/* db_result.c: what an SQLSTATE means; again: what may be done about it */

#define NGX_GUILDLOG_DB_RACE      1  /* had no effect: is to be run again */
#define NGX_GUILDLOG_DB_REPLACED  2  /* ... and then on a new connection */
#define NGX_GUILDLOG_DB_STALE     3  /* is to be prepared again, if it was */
#define NGX_GUILDLOG_DB_RETIRE    4  /* the same name may lead elsewhere now */

typedef struct {
    const char                    *begins;
    ngx_guildlog_db_fault_e        fault;
    ngx_uint_t                     again;
} ngx_guildlog_db_sqlstate_t;

const ngx_guildlog_db_sqlstate_t *ngx_guildlog_db_result_sqlstate(
    const char *sqlstate);


/* db_pool.c: the query has its result, and is in flight no longer */

void ngx_guildlog_db_pool_result(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);

/* the worker waits no longer (worker_shutdown_timeout) */
void ngx_guildlog_db_pool_terminate(ngx_guildlog_db_pool_t *pool);


#endif /* _NGX_GUILDLOG_DB_H_INCLUDED_ */
