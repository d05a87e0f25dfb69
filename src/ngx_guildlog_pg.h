
/*
 * Between pool.c, pg.c and host.c: one connection, one query, and what the
 * connections of a pool share.  Nobody else includes this.
 */

#ifndef _NGX_GUILDLOG_PG_H_INCLUDED_
#define _NGX_GUILDLOG_PG_H_INCLUDED_


#include <ngx_config.h>
#include <libpq-fe.h>
#include "ngx_guildlog_pool.h"


typedef struct ngx_guildlog_pg_s  ngx_guildlog_pg_t;

typedef void (*ngx_guildlog_pg_handler_pt)(ngx_guildlog_pg_t *pg,
    ngx_uint_t write);
typedef ngx_int_t (*ngx_guildlog_pg_result_pt)(ngx_guildlog_pg_t *pg,
    PGresult *res);


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
} ngx_guildlog_site_t;


/*
 * A query is one allocation with its arguments.  It is owned by the pool's
 * waiting queue, by the connection it is in flight on, or by the pool's
 * queue of the finished ones.
 */

struct ngx_guildlog_query_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;
    ngx_guildlog_pool_t           *pool;
    ngx_guildlog_pg_t             *pg;           /* in flight on */
    const ngx_guildlog_stmt_t     *stmt;
    const char                   **values;
    size_t                         size;         /* of the values, bytes */
    ngx_guildlog_query_handler_pt  handler;      /* NULL: detached */
    void                          *data;
    ngx_event_t                    timer;
    uint64_t                       start_us;     /* queued, then sent */
    ngx_uint_t                     turn;         /* of the pool, queued at */
    ngx_uint_t                     epoch;        /* not on one older */
    uint32_t                       generation;   /* of the prepared form */
    ngx_guildlog_result_t          result;

    unsigned                       prepares:1;   /* brings its own Prepare */
    unsigned                       fresh:1;      /* must bring it */
    unsigned                       stale:1;      /* the prepared form is */
    unsigned                       retried:1;
    unsigned                       late:1;       /* missed its deadline */
    unsigned                       kept:1;       /* the result, by a pool */
};


struct ngx_guildlog_pg_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* the pool's */
    ngx_guildlog_pool_t           *pool;
    ngx_guildlog_site_t           *site;
    void                          *set;          /* the pool's */
    ngx_msec_t                     timeout;      /* of a statement */

    PGconn                        *conn;         /* NULL: closed */
    ngx_connection_t              *connection;   /* NULL: not watched */
    ngx_guildlog_pg_handler_pt     handler;      /* the state */
    ngx_guildlog_pg_result_pt      result;       /* what must come next */
    ngx_event_t                    timer;        /* connecting, then age */

    ngx_uint_t                     host;
    ngx_uint_t                     hosts_left;
    const ngx_guildlog_addr_t     *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     addr;
    ngx_guildlog_addr_t           *found;        /* by the resolver, ours */
    ngx_resolver_ctx_t            *resolving;

    ngx_queue_t                    flight;       /* queries, as sent */
    ngx_uint_t                     nflight;
    ngx_msec_t                     head_since;   /* the first one runs */
    ngx_uint_t                     epoch;        /* of the pool, when ready */

    uint32_t                       prepared[NGX_GUILDLOG_STMT_MAX];
    uint32_t                       generation;

    unsigned                       ready:1;
    unsigned                       blocked:1;    /* the last query in flight
                                                    has bytes unsent */
    unsigned                       answered:1;   /* a query, ever */
    unsigned                       worn:1;       /* takes no more queries */
    unsigned                       astray:1;     /* libpq lost step */
    unsigned                       closing:1;    /* wanted: not a loss */

    u_char                         farewell[256]; /* the server's last word */
};


/* pg.c: none of these calls a handler of a query */

/* NULL if out of memory */
ngx_guildlog_pg_t *ngx_guildlog_pg_create(ngx_guildlog_pool_t *pool,
    ngx_guildlog_site_t *site, void *set, ngx_msec_t timeout);

/* tries the hosts in turn; ends in pool_ready() or pool_ended() */
void ngx_guildlog_pg_open(ngx_guildlog_pg_t *pg);

/* takes the query; whatever goes wrong shows in pool_ended() */
void ngx_guildlog_pg_send(ngx_guildlog_pg_t *pg,
    ngx_guildlog_query_t *query);

/* ends at once: wanted, or by a cause that is logged */
void ngx_guildlog_pg_close(ngx_guildlog_pg_t *pg);
void ngx_guildlog_pg_fail(ngx_guildlog_pg_t *pg, const char *cause);

/* of an ended one */
void ngx_guildlog_pg_free(ngx_guildlog_pg_t *pg);

/* for host.c: to the address found; on to the next one */
void ngx_guildlog_pg_connect(ngx_guildlog_pg_t *pg);
void ngx_guildlog_pg_next(ngx_guildlog_pg_t *pg, const char *cause);


/* host.c: finds the addresses of pg->host, then pg_connect() or pg_next() */

ngx_guildlog_site_t *ngx_guildlog_site_create(ngx_pool_t *pool,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_log_t *log);
void ngx_guildlog_host_find(ngx_guildlog_pg_t *pg);
void ngx_guildlog_host_forget(ngx_guildlog_pg_t *pg);


/*
 * pool.c: news of a connection.  They only note it and post the pool's
 * event, so a connection is never freed, nor used again, under its own feet.
 */

void ngx_guildlog_pool_ready(ngx_guildlog_pg_t *pg);
void ngx_guildlog_pool_answered(ngx_guildlog_pg_t *pg,
    ngx_guildlog_query_t *query);
void ngx_guildlog_pool_unblocked(ngx_guildlog_pg_t *pg);
void ngx_guildlog_pool_ended(ngx_guildlog_pg_t *pg);

/* the worker may wait no longer (worker_shutdown_timeout) */
void ngx_guildlog_pool_terminate(ngx_guildlog_pool_t *pool);


#endif /* _NGX_GUILDLOG_PG_H_INCLUDED_ */
