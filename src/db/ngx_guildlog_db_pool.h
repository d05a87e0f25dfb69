
/*
 * A worker's connections to one database.  The only face of PostgreSQL that
 * the rest of the module sees; libpq stays behind it.
 */

#ifndef _NGX_GUILDLOG_DB_POOL_H_INCLUDED_
#define _NGX_GUILDLOG_DB_POOL_H_INCLUDED_


#include <ngx_event.h>
#include "api/ngx_guildlog_stmt.h"
#include "shm/ngx_guildlog_stats.h"


typedef struct ngx_guildlog_db_pool_s    ngx_guildlog_db_pool_t;
typedef struct ngx_guildlog_db_query_s   ngx_guildlog_db_query_t;
typedef struct ngx_guildlog_db_result_s  ngx_guildlog_db_result_t;


typedef struct {
    char                           text[NGX_INET6_ADDRSTRLEN + 1];
} ngx_guildlog_db_addr_t;


/* what a host became when the configuration was read */

typedef struct {
    const char                    *name;
    ngx_guildlog_db_addr_t        *addrs;   /* numeric; an empty one stands
                                               for a unix socket */
    ngx_uint_t                     naddrs;  /* 0: the name was not found */
    unsigned                       dns:1;   /* a name, a resolver may know
                                               better */
} ngx_guildlog_db_host_t;


/* one guildlog_database directive; const while serving */

typedef struct {
    ngx_str_t                      name;
    ngx_array_t                    hosts;       /* of ngx_str_t, in order:
                                                   name, address, directory
                                                   of a unix socket */
    in_port_t                      port;
    ngx_str_t                      dbname;
    ngx_str_t                      user;
    ngx_str_t                      password_file;
    ngx_str_t                      password;    /* read at configuration */
    ngx_str_t                      sslmode;     /* disable or verify-full */
    ngx_str_t                      sslrootcert;
    ngx_uint_t                     connections; /* for short statements */
    ngx_uint_t                     long_connections;
    ngx_uint_t                     delivery_connections;
    ngx_uint_t                     depth;       /* of a pipeline */
    ngx_uint_t                     queue;
    ngx_msec_t                     connect_timeout;
    ngx_msec_t                     timeout;     /* of a short statement */
    ngx_msec_t                     long_timeout;
    ngx_msec_t                     queue_timeout;
    ngx_flag_t                     prepare;     /* off behind old poolers */
    ngx_uint_t                     kept;        /* place among those with a
                                                   keeper; 0: none */
    ngx_uint_t                     index;       /* of the configuration */
    ngx_guildlog_db_host_t        *resolved;    /* as many as hosts; set by
                                                   resolve() */
} ngx_guildlog_database_t;


typedef enum {
    NGX_GUILDLOG_DB_ROWS = 0,    /* the statement ran: rows and values */
    NGX_GUILDLOG_DB_REFUSED,     /* the server says why: sqlstate, message */
    NGX_GUILDLOG_DB_UNAVAILABLE, /* PostgreSQL is not there, went away, or
                                    no connection was free in time */
    NGX_GUILDLOG_DB_QUEUE_FULL,
    NGX_GUILDLOG_DB_SHARE_TAKEN, /* its server has as many in flight or
                                    waiting as it may */
    NGX_GUILDLOG_DB_TIMEOUT      /* it ran past its deadline; may have had
                                    its effect */
} ngx_guildlog_db_outcome_e;


struct ngx_guildlog_db_result_s {
    ngx_guildlog_db_outcome_e      outcome;
    ngx_uint_t                     rows;
    ngx_uint_t                     columns;
    char                           sqlstate[6];
    ngx_str_t                      message;  /* of REFUSED; lives with it */
    ngx_uint_t                     time_us;  /* from sent to answered */
    void                          *res;      /* PGresult, owned by the pool */
};


/*
 * Called exactly once, from the event loop, never from within submit(),
 * unless the query was detached before.  The result lives until it returns;
 * the query is gone when it is called, and must not be detached any more.
 */

typedef void (*ngx_guildlog_db_handler_pt)(void *data,
    ngx_guildlog_db_result_t *result);


/*
 * Finds the addresses of a database's hosts, of which there is one at least
 * and none is empty.  A name that nobody knows is a warning: nginx has to start
 * without the database.  Returns NGX_CONF_OK or NGX_CONF_ERROR, logged.
 */

char *ngx_guildlog_db_host_resolve(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);


/* a pool for this worker; NULL if out of memory.  Connects on first use */

ngx_guildlog_db_pool_t *ngx_guildlog_db_pool_create(ngx_cycle_t *cycle,
    const ngx_guildlog_database_t *database, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_guildlog_stats_t *stats);

/*
 * Fails what is queued or in flight (their handlers are called with
 * UNAVAILABLE), closes every connection.  May be called by a handler.
 */

void ngx_guildlog_db_pool_destroy(ngx_guildlog_db_pool_t *pool);


/*
 * Takes copies of the arguments (text format; a NULL data is an SQL null;
 * a NUL byte is refused).  Returns NULL if out of memory or if the pool is
 * being destroyed; otherwise the handler is owed one call, whatever happens.
 */

ngx_guildlog_db_query_t *ngx_guildlog_db_pool_submit(
    ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler, void *data);

/* do short statements, of requests, wait or run? */
ngx_uint_t ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool);

/*
 * The asker is gone: the handler will not be called.  A query that waits is
 * dropped, a long read is cancelled, any other one ends alone.
 */

void ngx_guildlog_db_pool_detach(ngx_guildlog_db_query_t *query);


/* a value of ROWS, not copied; data is NULL for an SQL null */
ngx_str_t ngx_guildlog_db_result_value(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);

/* a value that is a number from 0 on; NGX_ERROR: it is none, or null */
int64_t ngx_guildlog_db_result_number(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);

/* what all the values together have at most */
size_t ngx_guildlog_db_result_size(ngx_guildlog_db_result_t *result);

/*
 * Hands the rows to a memory pool, so that values stay valid as long as it;
 * NGX_ERROR if out of memory (then they still end with the handler).
 */
ngx_int_t ngx_guildlog_db_result_keep(ngx_guildlog_db_result_t *result,
    ngx_pool_t *pool);


/* a message of the database in one line of the log; line may be the text */
void ngx_guildlog_db_result_line(u_char *line, size_t size, const char *text);


#endif /* _NGX_GUILDLOG_DB_POOL_H_INCLUDED_ */
