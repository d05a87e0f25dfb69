
/*
 * Between pool.c, share.c, outcome.c, query.c, set.c, pg.c, pipeline.c and
 * host.c: one query, one connection, and what the connections of a pool share.
 * Nobody else includes this.
 */

#ifndef _NGX_GUILDLOG_DB_H_INCLUDED_
#define _NGX_GUILDLOG_DB_H_INCLUDED_


#include <ngx_config.h>
#include <libpq-fe.h>
#include "db/ngx_guildlog_db_pool.h"


#define NGX_GUILDLOG_DB_CONN_GRACE   500  /* ms, the server gives up first */
#define NGX_GUILDLOG_DB_CONN_DESYNCED  "the server sent what was not asked for"


typedef struct ngx_guildlog_db_conn_s     ngx_guildlog_db_conn_t;
typedef struct ngx_guildlog_db_group_s    ngx_guildlog_db_group_t;
typedef struct ngx_guildlog_db_share_s  ngx_guildlog_db_share_t;

typedef void (*ngx_guildlog_db_conn_handler_pt)(ngx_guildlog_db_conn_t *conn,
    ngx_uint_t write);
typedef ngx_int_t (*ngx_guildlog_db_conn_result_pt)(
    ngx_guildlog_db_conn_t *conn, PGresult *res);


/* where to connect: shared by the connections of a pool, owned by it */

typedef struct {
    const ngx_guildlog_database_t *database;
    ngx_resolver_t                *resolver;     /* NULL: none configured */
    ngx_msec_t                     resolver_timeout;
    ngx_log_t                     *log;
    ngx_uint_t                     host;         /* the last that worked */
    u_char                        *failing;      /* by host: it is logged */
    time_t                         lost;         /* logged the last time */

    /* as libpq takes them; NULL stands for its default */
    const char                    *port;
    const char                    *dbname;
    const char                    *user;
    const char                    *password;
    const char                    *sslmode;
    const char                    *sslrootcert;
} ngx_guildlog_db_site_t;


/*
 * A query is one allocation with its arguments.  It is owned by the queue of
 * its share, by the connection it is in flight on, or by the pool's queue of
 * the finished ones.
 */

struct ngx_guildlog_db_query_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_conn_t        *conn;         /* in flight on */
    ngx_guildlog_db_share_t       *share;
    const ngx_guildlog_stmt_t     *stmt;
    const char                   **values;
    size_t                         size;         /* of the values, bytes */
    ngx_guildlog_db_handler_pt     handler;      /* NULL: detached */
    void                          *data;
    ngx_event_t                    timer;
    uint64_t                       start_us;     /* queued, then sent */
    ngx_uint_t                     round;/* of the pool, queued at */
    ngx_uint_t                     epoch;        /* not on one older */
    uint32_t                       generation;   /* of the prepared form */
    ngx_guildlog_db_result_t       result;

    unsigned                       prepares:1;   /* brings its own Prepare */
    unsigned                       fresh:1;      /* must bring it */
    unsigned                       stale:1;      /* the prepared form is */
    unsigned                       retried:1;
    unsigned                       late:1;       /* missed its deadline */
    unsigned                       behind:1;     /* one in flight ends first */
    unsigned                       held:1;       /* its server has as many
                                                    connections as it may */
    unsigned                       kept:1;       /* the result, by a pool */
    unsigned                       cancelled:1;  /* nobody asks any more */
};


struct ngx_guildlog_db_conn_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* the pool's */
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_site_t        *site;
    ngx_guildlog_db_group_t       *group;        /* the pool's */
    ngx_msec_t                     timeout;      /* of a statement */

    PGconn                        *pg;           /* NULL: closed */
    ngx_connection_t              *connection;   /* NULL: not watched */
    ngx_guildlog_db_conn_handler_pt  handler;    /* the state */
    ngx_guildlog_db_conn_result_pt  result;      /* what must come next */
    ngx_event_t                    timer;        /* connecting, then age */

    ngx_uint_t                     host;
    ngx_uint_t                     hosts_left;
    const ngx_guildlog_db_addr_t  *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     addr;
    ngx_guildlog_db_addr_t        *found;        /* by the resolver, ours */
    ngx_resolver_ctx_t            *resolving;

    ngx_queue_t                    flight;       /* queries, as sent */
    ngx_uint_t                     nflight;
    ngx_msec_t                     head_since;   /* the first one runs */
    ngx_msec_t                     ready_at;
    ngx_uint_t                     epoch;        /* of the pool, when ready */
    ngx_guildlog_db_query_t       *cancel;       /* of what runs here, on
                                                    another connection */

    uint32_t                       prepared[NGX_GUILDLOG_STMT_MAX];
    uint32_t                       generation;

    unsigned                       ready:1;
    unsigned                       blocked:1;    /* the last query in flight
                                                    has bytes unsent */
    unsigned                       answered:1;   /* a query, ever */
    unsigned                       retiring:1;   /* takes no more queries */
    unsigned                       desynced:1;   /* libpq lost step */
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
 * What a server has of a set: its statements in flight, and those that wait.
 * Servers take turns, one statement a turn.  A share lives as long as it has
 * queries.
 */

struct ngx_guildlog_db_share_s {
    ngx_rbtree_node_t              node;         /* key: the server, 0 for
                                                    none; the last bit: no
                                                    token asks */
    ngx_guildlog_db_group_t       *group;
    ngx_queue_t                    queue;        /* the group's, while any of
                                                    its queries waits */
    ngx_queue_t                    waiting;      /* queries */
    ngx_uint_t                     nwaiting;
    ngx_uint_t                     nflight;
    ngx_uint_t                     refs;         /* queries, also finished */
    ngx_uint_t                     held;         /* the turn of the pool in
                                                    which a query could not go
                                                    for others of its own */
};


/* the connections for one kind of statements, and who waits for them */

struct ngx_guildlog_db_group_s {
    ngx_queue_t                    waiting;      /* shares with queries that
                                                    wait, the next one first */
    ngx_rbtree_t                   shares;
    ngx_rbtree_node_t              sentinel;
    ngx_uint_t                     nwaiting;     /* queries */
    ngx_uint_t                     nheld;        /* of them, for their own */
    ngx_queue_t                    connections;  /* the last used first */
    ngx_uint_t                     nconnections;
    ngx_uint_t                     nconnecting;
    ngx_uint_t                     queued_behind;  /* sent behind others in
                                                    this turn */
    ngx_uint_t                     max;
    ngx_uint_t                     depth;

    /* of a server, at most */
    ngx_uint_t                     share_flight;  /* queries in flight */
    ngx_uint_t                     share_connections;  /* with them */
    ngx_uint_t                     share_line;   /* queries that wait */
    ngx_uint_t                     share_half;   /* the same of patient ones */

    ngx_msec_t                     timeout;
    ngx_msec_t                     pace;         /* of the last statements,
                                                    1/16 ms each */
};


struct ngx_guildlog_db_pool_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_database_t *database;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_db_site_t        *site;
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;

    ngx_guildlog_db_group_t        groups[NGX_GUILDLOG_DB_GROUP_LAST];
    ngx_queue_t                    ended;        /* connections */
    ngx_queue_t                    finished;     /* queries */

    ngx_event_t                    run;
    ngx_event_t                    retry;        /* set: no new connection
                                                    until then */
    ngx_uint_t                     round;
    ngx_uint_t                     epoch;        /* connections lost so far */
    ngx_uint_t                     nready;
    ngx_msec_t                     backoff;
    ngx_msec_t                     since;        /* no connection: lost or
                                                    asked for then */
    time_t                         complained;

    unsigned                       failing:1;    /* the last attempt did */
    unsigned                       wanted_while_down:1;
    unsigned                       terminated:1; /* the worker may not wait */
    unsigned                       closed:1;
    unsigned                       delivering:1;
};


/* query.c: memory */

/* NULL if out of memory; its values are NULL, and it has no share */
ngx_guildlog_db_query_t *ngx_guildlog_db_query_create(
    ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args);

/* NGX_DECLINED: there is a NUL in one of them */
ngx_int_t ngx_guildlog_db_query_copy(ngx_guildlog_db_query_t *query,
    const ngx_str_t *args);

void ngx_guildlog_db_query_free(ngx_guildlog_db_query_t *query);


/* pg.c: none of these calls a handler of a query */

/* NULL if out of memory */
ngx_guildlog_db_conn_t *ngx_guildlog_db_conn_create(
    ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_site_t *site, ngx_guildlog_db_group_t *group,
    ngx_msec_t timeout);

/* tries the hosts in turn; ends in set_ready() or set_ended() */
void ngx_guildlog_db_conn_open(ngx_guildlog_db_conn_t *conn);

/* ends at once: wanted, or by a cause that is logged */
void ngx_guildlog_db_conn_close(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_conn_fail(ngx_guildlog_db_conn_t *conn, const char *cause);

/* of an ended one */
void ngx_guildlog_db_conn_free(ngx_guildlog_db_conn_t *conn);

/* for host.c: to the address found; on to the next one */
void ngx_guildlog_db_conn_connect(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_conn_next(ngx_guildlog_db_conn_t *conn, const char *cause);

/* for pipeline.c: bytes that raise no event */
void ngx_guildlog_db_conn_read_pending(ngx_guildlog_db_conn_t *conn);


/* pipeline.c: no handler of a query is called here either */

/* takes the query; whatever goes wrong shows in set_ended() */
void ngx_guildlog_db_pipeline_send(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);

/* pg->handler once it is ready */
void ngx_guildlog_db_pipeline_io(ngx_guildlog_db_conn_t *conn,
    ngx_uint_t write);


/* host.c: finds the addresses of pg->host, then pg_connect() or pg_next() */

ngx_guildlog_db_site_t *ngx_guildlog_db_host_site(ngx_pool_t *pool,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_log_t *log);
void ngx_guildlog_db_host_find(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_host_forget(ngx_guildlog_db_conn_t *conn);


/* set.c: which connections there are, and which one is taken */

void ngx_guildlog_db_group_init(ngx_guildlog_db_pool_t *pool);

/* NULL: none is free that was opened after so many had been lost, or it goes
   behind another one, and cannot yet, or its server has its part of them */
ngx_guildlog_db_conn_t *ngx_guildlog_db_group_choose(
    ngx_guildlog_db_group_t *group,
    ngx_guildlog_db_query_t *query);

/* could another server's query go now, or as soon as one more is opened? */
ngx_uint_t ngx_guildlog_db_group_spare(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_group_t *group);

/* opens what is missing, closes what nobody will need */
void ngx_guildlog_db_group_grow(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_group_t *group);
void ngx_guildlog_db_group_shrink(ngx_guildlog_db_group_t *group);

/*
 * a server that is down is tried again even if nobody asks for it, by a worker
 * that exits only if somebody did
 */
void ngx_guildlog_db_group_revive(ngx_guildlog_db_pool_t *pool);

/* no connection for so long that waiting for one makes no sense */
ngx_uint_t ngx_guildlog_db_group_down(ngx_guildlog_db_pool_t *pool);


/* share.c: whose turn it is */

void ngx_guildlog_db_share_init(ngx_guildlog_db_group_t *group);

/* the query has the share of its server from now on, until it quits; NGX_ERROR
   if out of memory */
ngx_int_t ngx_guildlog_db_share_join(ngx_guildlog_db_query_t *query);
void ngx_guildlog_db_share_quit(ngx_guildlog_db_query_t *query);

/* the query waits: first of all, or last of its server's, and a server that had
   none waiting comes last; it waits no longer */
void ngx_guildlog_db_share_wait(ngx_guildlog_db_query_t *query,
    ngx_uint_t first);
void ngx_guildlog_db_share_leave(ngx_guildlog_db_query_t *query);

/* one more is in flight, or one less */
void ngx_guildlog_db_share_count(ngx_guildlog_db_query_t *query, ngx_int_t n);

/* has its server got as many in flight, as many that wait, as it may? */
ngx_uint_t ngx_guildlog_db_share_full(ngx_guildlog_db_query_t *query);
ngx_uint_t ngx_guildlog_db_share_line_full(ngx_guildlog_db_query_t *query);

/* are both of one server, or of none? */
ngx_uint_t ngx_guildlog_db_share_same(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_query_t *other);


/* outcome.c: a query is taken, and goes to the finished ones or waits again */

/* unsent: not all of it had left this machine when its connection died */
void ngx_guildlog_db_query_orphaned(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_uint_t unsent);

void ngx_guildlog_db_query_finish(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query, ngx_guildlog_db_outcome_e outcome);

/* only tells */
void ngx_guildlog_db_query_late(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);


/* pool.c */

ngx_guildlog_db_group_t *ngx_guildlog_db_pool_group(
    ngx_guildlog_db_query_t *query);

/* waits once more, before all others */
void ngx_guildlog_db_pool_requeue(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_query_t *query);


/*
 * News of a connection.  They only note it and post the pool's event, so a
 * connection is never freed, nor used again, under its own feet.
 */

/* set.c */
void ngx_guildlog_db_group_ready(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_group_ended(ngx_guildlog_db_conn_t *conn);

/* outcome.c */
void ngx_guildlog_db_query_answered(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);

/* pool.c */
void ngx_guildlog_db_pool_unblocked(ngx_guildlog_db_conn_t *conn);
void ngx_guildlog_db_pool_not_cancelled(ngx_guildlog_db_conn_t *conn);

/* the worker may wait no longer (worker_shutdown_timeout) */
void ngx_guildlog_db_pool_terminate(ngx_guildlog_db_pool_t *pool);


#endif /* _NGX_GUILDLOG_DB_H_INCLUDED_ */
