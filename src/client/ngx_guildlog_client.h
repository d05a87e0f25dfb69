
/*
 * Exchanges with one peer over HTTP/1.1: resolve, connect, TLS, send,
 * read the answer.  The User-Agent is what the platform asks for; the rest
 * does not know the platform.
 */

#ifndef _NGX_GUILDLOG_CLIENT_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_H_INCLUDED_


#include <ngx_event.h>
#include "client/ngx_guildlog_client_response.h"


typedef struct ngx_guildlog_client_s    ngx_guildlog_client_t;
typedef struct ngx_guildlog_client_exchange_s  ngx_guildlog_client_exchange_t;


/* where the peer is; const while serving */

typedef struct {
    ngx_str_t                      text;     /* as configured */
    ngx_str_t                      host;     /* no brackets; ends in a NUL */
    ngx_str_t                      authority;  /* for the header "Host" */
    ngx_str_t                      path;     /* in front of every path */
    ngx_str_t                      trusted;  /* a file in PEM; empty: what the
                                                system trusts */
    ngx_str_t                      agent;    /* a page about who asks; empty:
                                                none is named */
    in_port_t                      port;

    ngx_ssl_t                     *tls;      /* NULL: plain */
    ngx_addr_t                    *addrs;    /* of when it was configured */
    ngx_uint_t                     naddrs;

    unsigned                       dns:1;    /* a name, not a number */
} ngx_guildlog_client_url_t;


/*
 * text: http[s]://host[:port][/path].  The URL begins zeroed, but for trusted
 * and agent.
 */

char *ngx_guildlog_client_url_init(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *url, ngx_str_t *text);


/* called once, from the event loop; the response lives until it returns */
typedef void (*ngx_guildlog_client_handler_pt)(void *data,
    ngx_guildlog_client_response_t *response);


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


/*
 * Each process has its own.  resolver: NULL if none is configured.
 * keepalive: how many idle connections to keep.  NULL: out of memory.
 */

ngx_guildlog_client_t *ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_client_url_t *url, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_uint_t keepalive);

/* cancels what is under way; a handler may call it */
void ngx_guildlog_client_destroy(ngx_guildlog_client_t *client);

/*
 * The path is appended to that of the URL.  An empty authorization sends no
 * such header.  type: the media type of the body.  All are copied, and nothing
 * happens before the event loop runs.  NULL: out of memory, or a CR, LF, NUL or
 * space where none may be.
 */

ngx_guildlog_client_exchange_t *ngx_guildlog_client_send(
    ngx_guildlog_client_t *client, const char *method, const ngx_str_t *path,
    const ngx_str_t *authorization, const ngx_str_t *type,
    const ngx_str_t *body, ngx_msec_t deadline_ms,
    ngx_guildlog_client_handler_pt handler, void *data);

/*
 * After that moment, in ngx_current_msec, no byte is sent.  A request of which
 * nothing was sent by then ends as unsent, and its connection is kept.
 */
void ngx_guildlog_client_begin_by(ngx_guildlog_client_exchange_t *exchange,
    ngx_msec_t moment);

/* the handler will not be called.  Must not follow its call */
void ngx_guildlog_client_cancel(ngx_guildlog_client_exchange_t *exchange);


#endif /* _NGX_GUILDLOG_CLIENT_H_INCLUDED_ */
