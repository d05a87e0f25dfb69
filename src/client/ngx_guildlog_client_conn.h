
/*
 * What client.c and client_conn.c share: an exchange, the connection it runs
 * on, and the client that has them.  No other room includes this file.
 */

#ifndef _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_


#include "client/ngx_guildlog_client.h"


/*
 * A connection has its own pool and log, since it serves one exchange after
 * the other.  Its exchange owns it; the client owns it while it is idle.
 */

typedef struct {
    ngx_queue_t                    queue;        /* client->idle */
    ngx_guildlog_client_t         *client;
    ngx_guildlog_client_exchange_t  *exchange;   /* NULL: idle */
    ngx_connection_t              *connection;
    ngx_pool_t                    *pool;         /* has this, too */
    ngx_log_t                      log;
    ngx_str_t                      name;         /* its address, for the log */
    ngx_msec_t                     start;
    ngx_uint_t                     requests;

    unsigned                       clean:1;      /* no answer is under way */
} ngx_guildlog_client_conn_t;


struct ngx_guildlog_client_s {
    ngx_pool_t                    *pool;
    ngx_log_t                     *log;          /* the cycle's */
    const ngx_guildlog_client_url_t  *url;
    ngx_resolver_t                *resolver;     /* NULL: none */
    ngx_msec_t                     resolver_timeout;

    ngx_queue_t                    exchanges;
    ngx_queue_t                    idle;         /* the last used first */
    ngx_uint_t                     nidle;
    ngx_uint_t                     keepalive;

    ngx_sockaddr_t                 reached;      /* the last address that
                                                    answered */
    socklen_t                      reached_len;

    unsigned                       failing:1;    /* and that is logged */
};


struct ngx_guildlog_client_exchange_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;        /* client->exchanges */
    ngx_guildlog_client_t         *client;
    ngx_pool_t                    *pool;         /* has this, too */
    ngx_guildlog_client_handler_pt  handler;
    void                          *data;

    /*
     * The connection calls one of these.  ready: send the request on x->conn.
     * lost: the connection is of no use, another one may be.  ended: no
     * connection is to be had.
     */
    void                         (*ready)(ngx_guildlog_client_exchange_t *x);
    void                         (*lost)(ngx_guildlog_client_exchange_t *x,
                                       const char *cause);
    void                         (*ended)(ngx_guildlog_client_exchange_t *x,
                                       const char *cause);

    ngx_msec_t                     start;
    ngx_msec_t                     begin_by;     /* if "bounded" */
    ngx_event_t                    begin;
    ngx_event_t                    deadline;

    ngx_resolver_ctx_t            *resolving;
    ngx_addr_t                    *addrs;
    ngx_uint_t                     naddrs;
    ngx_uint_t                     first;        /* address to try */
    ngx_uint_t                     tried;

    ngx_guildlog_client_conn_t    *conn;
    ngx_buf_t                     *request;
    ngx_guildlog_client_reader_t   reader;
    ngx_guildlog_client_response_t  response;

    unsigned                       get:1;
    unsigned                       idempotent:1;
    unsigned                       reused:1;     /* its connection was idle */
    unsigned                       written:1;    /* a byte, on conn */
    unsigned                       uncertain:1;  /* a byte, on any of them */
    unsigned                       bounded:1;
    unsigned                       answering:1;  /* a byte came on conn */
};


/* an idle one that still works, or NULL */
ngx_guildlog_client_conn_t *ngx_guildlog_client_conn_take(
    ngx_guildlog_client_t *client);

/* finds the server and connects: x->ready(), lost() or ended() */
void ngx_guildlog_client_conn_find(ngx_guildlog_client_exchange_t *x);

/* connects to the next of its addresses; NGX_DECLINED: there is none */
ngx_int_t ngx_guildlog_client_conn_next(ngx_guildlog_client_exchange_t *x);

/* idle_ms: how long it may stay idle; it may be closed at once */
void ngx_guildlog_client_conn_keep(ngx_guildlog_client_conn_t *conn,
    ngx_msec_t idle_ms);
void ngx_guildlog_client_conn_close(ngx_guildlog_client_conn_t *conn);

/* the handler of an event that nobody waits for */
void ngx_guildlog_client_conn_wait(ngx_event_t *ev);


#endif /* _NGX_GUILDLOG_CLIENT_CONN_H_INCLUDED_ */
