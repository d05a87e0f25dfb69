
/*
 * Between client.c and wire.c: an exchange, the connection it runs on, and
 * what those of a client share.  Nobody else includes this.
 */

#ifndef _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_


#include "client/ngx_guildlog_client.h"


/*
 * A connection.  It has its own pool and log, so that nothing needs to be
 * switched when it goes from one exchange to the next.  Owned by its
 * exchange, or idle by the client.
 */

typedef struct {
    ngx_queue_t                    queue;        /* of the idle ones */
    ngx_guildlog_client_t         *client;
    ngx_guildlog_client_exchange_t  *exchange;   /* NULL: idle */
    ngx_connection_t              *connection;
    ngx_pool_t                    *pool;         /* it stands in */
    ngx_log_t                      log;
    ngx_str_t                      name;         /* of the address */
    ngx_msec_t                     start;
    ngx_uint_t                     requests;

    unsigned                       clean:1;      /* between two answers */
} ngx_guildlog_client_conn_t;


struct ngx_guildlog_client_s {
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;          /* the cycle's */
    const ngx_guildlog_client_url_t  *origin;
    ngx_resolver_t                *resolver;     /* NULL: none */
    ngx_msec_t                     resolver_timeout;

    ngx_queue_t                    exchanges;
    ngx_queue_t                    idle;         /* the last used first */
    ngx_uint_t                     nidle;
    ngx_uint_t                     keepalive;

    ngx_sockaddr_t                 reached;      /* the last time */
    socklen_t                      reached_len;

    unsigned                       failing:1;    /* it is logged */
};


struct ngx_guildlog_client_exchange_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* the client's */
    ngx_guildlog_client_t         *client;
    ngx_pool_t                    *pool;         /* it stands in */
    ngx_guildlog_client_handler_pt    handler;
    void                          *data;
    ngx_msec_t                     start;
    ngx_msec_t                     begin_by;     /* if it is bounded */
    ngx_event_t                    begin;        /* posted */
    ngx_event_t                    deadline;

    ngx_resolver_ctx_t            *resolving;
    ngx_addr_t                    *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     first;        /* of them, to try */
    ngx_uint_t                     tried;

    ngx_guildlog_client_conn_t    *wire;
    ngx_buf_t                     *request;
    ngx_guildlog_client_reader_t   reader;
    ngx_guildlog_client_response_t  answer;

    unsigned                       get:1;
    unsigned                       idempotent:1;
    unsigned                       reused:1;     /* the wire was idle */
    unsigned                       written:1;    /* a byte, on this wire */
    unsigned                       uncertain:1;  /* a byte, on any */
    unsigned                       bounded:1;    /* by begin_by */
    unsigned                       answering:1;  /* a byte came, on this */
};


/* wire.c */

/* an idle one that still works, or NULL */
ngx_guildlog_client_conn_t *ngx_guildlog_client_conn_take(
    ngx_guildlog_client_t *client);

/* finds the server: client_transmit(), client_lost() or client_end() */
void ngx_guildlog_client_conn_find(ngx_guildlog_client_exchange_t *x);

/* the same with the next of its addresses; NGX_DECLINED: that was the last */
ngx_int_t ngx_guildlog_client_conn_next(ngx_guildlog_client_exchange_t *x);

/* for so long at most; it may be closed at once */
void ngx_guildlog_client_conn_keep(ngx_guildlog_client_conn_t *wire,
    ngx_msec_t idle_ms);
void ngx_guildlog_client_conn_close(ngx_guildlog_client_conn_t *wire);

/* for an event nobody waits for */
void ngx_guildlog_client_conn_wait(ngx_event_t *ev);


/* client.c */

/* on the wire of the exchange */
void ngx_guildlog_client_transmit(ngx_guildlog_client_exchange_t *x);

/* with its connection; there may be another way */
void ngx_guildlog_client_lost(ngx_guildlog_client_exchange_t *x,
    const char *cause);

/* for good; without a cause it was answered */
void ngx_guildlog_client_end(ngx_guildlog_client_exchange_t *x,
    const char *cause);


#endif /* _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_ */
