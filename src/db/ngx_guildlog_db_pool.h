
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


/* a host, with the addresses found when the configuration was read */

typedef struct {
    const char                    *name;
    ngx_guildlog_db_addr_t        *addrs;   /* numeric; an empty one stands
                                               for a unix socket */
    ngx_uint_t                     naddrs;  /* 0: the name was not found */
    unsigned                       dns:1;   /* a name, a resolver may know
                                               better */
} ngx_guildlog_db_host_t;


/* one guildlog_database directive; const while serving */

typedef struct ngx_guildlog_database_s  ngx_guildlog_database_t;

struct ngx_guildlog_database_s {
    ngx_str_t                      name;
    ngx_array_t                    hosts;       /* ngx_str_t, in order; each a
                                                   name, an address or the
                                                   directory of a socket */
    ngx_uint_t                     port;
    ngx_str_t                      dbname;      /* this and what follows ends in
                                                   a NUL, or has no data */
    ngx_str_t                      user;
    ngx_str_t                      password_file;
    ngx_str_t                      password;    /* read at configuration */
    ngx_str_t                      sslmode;     /* disable or verify-full */
    ngx_str_t                      sslrootcert;
    ngx_uint_t                     connections;  /* for short statements */
    ngx_uint_t                     long_connections;
    ngx_uint_t                     delivery_connections;
    ngx_uint_t                     depth;       /* of a pipeline */
    ngx_uint_t                     queue;
    ngx_msec_t                     connect_timeout;
    ngx_msec_t                     timeout;     /* of a short statement */
    ngx_msec_t                     long_timeout;
    ngx_msec_t                     queue_timeout;
    ngx_flag_t                     prepare;     /* off behind old poolers */
    ngx_flag_t                     standby;     /* only to read: it may be a
                                                   hot standby */
    const ngx_guildlog_database_t *primary;     /* what is read there instead;
                                                   NULL: nothing */
    ngx_uint_t                     keeper;      /* number among those with a
                                                   keeper; 0: no keeper */
    ngx_uint_t                     delivered;   /* 1: its lanes, here */
    ngx_uint_t                     operates;    /* 1: an operator's plane is
                                                   over it */
    ngx_uint_t                     index;       /* of the configuration */
    ngx_guildlog_db_host_t        *resolved;    /* as many as hosts; set by
                                                   resolve() */
};


typedef enum {
    NGX_GUILDLOG_DB_ROWS = 0,    /* the statement ran: rows and values */
    NGX_GUILDLOG_DB_REFUSED,     /* the database says why: sqlstate, message */
    NGX_GUILDLOG_DB_UNAVAILABLE, /* the database is down, the connection was
                                    lost, or none was free in time */
    NGX_GUILDLOG_DB_QUEUE_FULL,
    NGX_GUILDLOG_DB_SHARE_TAKEN, /* its guild has as many in flight or
                                    waiting as it may */
    NGX_GUILDLOG_DB_TIMEOUT      /* it ran past its deadline; may have had
                                    its effect */
} ngx_guildlog_db_outcome_e;


/* of REFUSED: whose fault it is */

typedef enum {
    NGX_GUILDLOG_DB_FAULT_ASKED = 0, /* that of what was asked, or of the
                                        function that was */
    NGX_GUILDLOG_DB_FAULT_SAID,  /* the function says no, and which status */
    NGX_GUILDLOG_DB_FAULT_TAKEN, /* its guild's log is taken by another one */
    NGX_GUILDLOG_DB_FAULT_LOST,  /* another transaction was in its way */
    NGX_GUILDLOG_DB_FAULT_AWAY,  /* nobody's: the database is not as usual */
    NGX_GUILDLOG_DB_FAULT_SCHEMA /* nobody's: rights or names are not there */
} ngx_guildlog_db_fault_e;


struct ngx_guildlog_db_result_s {
    ngx_guildlog_db_outcome_e      outcome;
    ngx_guildlog_db_fault_e        fault;
    ngx_uint_t                     rows;
    ngx_uint_t                     columns;
    char                           sqlstate[6];
    ngx_str_t                      message;  /* of REFUSED; lives with it */
    ngx_uint_t                     time_us;  /* from sent to answered */
    void                          *res;      /* PGresult, owned by the pool */
};


/*
 * Called exactly once, from the event loop, never from within submit(); not
 * called if the query was detached.  The result lives until it returns.  The
 * query must not be detached any more.
 */

typedef void (*ngx_guildlog_db_handler_pt)(void *data,
    ngx_guildlog_db_result_t *result);


/*
 * Finds the addresses of a database's hosts: at least one, and none of them
 * empty.  An unknown name is a warning, since nginx has to start without the
 * database.  Returns NGX_CONF_OK or NGX_CONF_ERROR, which is logged.
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
 * a NUL byte is refused), but for a RAW one.  Returns NULL if out of memory or
 * if the pool is being destroyed; otherwise the handler is owed one call,
 * whatever happens.
 */

ngx_guildlog_db_query_t *ngx_guildlog_db_pool_submit(
    ngx_guildlog_db_pool_t *pool, const ngx_guildlog_stmt_t *stmt,
    const ngx_str_t *args, ngx_guildlog_db_handler_pt handler, void *data);

/*
 * Asks another pool what a query that has ended asked, for the same handler.
 * Only that may call this, with its result.  Returns as submit() does.
 */

ngx_guildlog_db_query_t *ngx_guildlog_db_pool_move(
    ngx_guildlog_db_result_t *result, ngx_guildlog_db_pool_t *pool);

/* what a query that has ended asked, copied into a pool; NULL: no memory */
const ngx_guildlog_stmt_t *ngx_guildlog_db_pool_asked(
    ngx_guildlog_db_result_t *result, ngx_pool_t *pool, ngx_str_t *args);

/*
 * Who pays for what is asked with a token, or a session, for a guild: the id
 * of the guild or of the person; not more than 0: nobody.
 */
int64_t ngx_guildlog_db_share_payer(const ngx_str_t *token,
    const ngx_str_t *guild);

/* whose connections they are */
const ngx_guildlog_database_t *ngx_guildlog_db_pool_database(
    ngx_guildlog_db_pool_t *pool);

/* does a short statement, as requests have them, wait or run? */
ngx_uint_t ngx_guildlog_db_pool_requests_running(ngx_guildlog_db_pool_t *pool);

/* did the database answer any statement within the last so many ms? */
ngx_uint_t ngx_guildlog_db_pool_answered(ngx_guildlog_db_pool_t *pool,
    ngx_msec_t recent);

/*
 * The pool of a standby watches how far it is behind, from now on, as long as
 * both pools are there.  NGX_ERROR if out of memory.
 */
ngx_int_t ngx_guildlog_db_standby_follow(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_pool_t *primary);

/*
 * So many milliseconds ago, at most, the primary had what the standby has now.
 * NGX_ERROR: nobody knows, or no connection to the standby is ready.
 */
ngx_msec_int_t ngx_guildlog_db_standby_lag(ngx_guildlog_db_pool_t *pool);

/*
 * Nobody asks any more: the handler will not be called.  A query that waits is
 * dropped, a long read is cancelled, any other one runs to its end.  NULL: none
 * was asked.
 */

void ngx_guildlog_db_pool_detach(ngx_guildlog_db_query_t *query);


/* a value of ROWS, not copied; data is NULL for an SQL null */
ngx_str_t ngx_guildlog_db_result_value(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);

/* a value that is a number from 0 on; NGX_ERROR: it is none, or null */
int64_t ngx_guildlog_db_result_number(ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column);

/* an upper bound of the bytes of all values */
size_t ngx_guildlog_db_result_size(ngx_guildlog_db_result_t *result);

/*
 * Gives the rows to a memory pool: the values are valid as long as the pool.
 * NGX_ERROR if out of memory: they are valid until the handler returns.
 */
ngx_int_t ngx_guildlog_db_result_retain(ngx_guildlog_db_result_t *result,
    ngx_pool_t *pool);


/* puts a message into one line of at most size bytes; line may be text */
void ngx_guildlog_db_result_line(u_char *line, size_t size, const char *text);


#endif /* _NGX_GUILDLOG_DB_POOL_H_INCLUDED_ */
