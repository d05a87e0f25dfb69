
/*
 * Exchanges with one other server over HTTP/1.1: resolve, connect, TLS, send,
 * read the answer.  Names itself as the platform wants it, and knows neither
 * who asks nor what else is said.
 */

#ifndef _NGX_GUILDLOG_CLIENT_H_INCLUDED_
#define _NGX_GUILDLOG_CLIENT_H_INCLUDED_


#include <ngx_event.h>
#include "client/ngx_guildlog_client_response.h"


typedef struct ngx_guildlog_client_s    ngx_guildlog_client_t;
typedef struct ngx_guildlog_client_exchange_s  ngx_guildlog_client_exchange_t;


/* where the server is; const while serving */

typedef struct {
    ngx_str_t                      url;      /* as configured */
    ngx_str_t                      host;     /* no brackets; ends in a NUL */
    ngx_str_t                      authority;  /* for the header "Host" */
    ngx_str_t                      path;     /* in front of every path */
    ngx_str_t                      trusted;
    in_port_t                      port;

    ngx_ssl_t                     *tls;      /* NULL: plain */
    ngx_addr_t                    *addrs;    /* found at configuration */
    ngx_uint_t                     naddrs;

    unsigned                       dns:1;    /* a name, not a number */
} ngx_guildlog_client_url_t;


/*
 * Of http[s]://host[:port][/path].  trusted: a file of certificates in PEM,
 * empty for those that the system trusts.
 */

char *ngx_guildlog_client_url_init(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *origin,
    ngx_str_t *url, ngx_str_t *trusted);


/* called once, from the event loop; the answer lives until it returns */
typedef void (*ngx_guildlog_client_handler_pt)(void *data,
    ngx_guildlog_client_response_t *answer);


/*
 * Belongs to its process.  resolver: of the main configuration, or NULL.
 * keepalive: how many idle connections to keep.  NULL: out of memory.
 */

ngx_guildlog_client_t *ngx_guildlog_client_create(ngx_cycle_t *cycle,
    const ngx_guildlog_client_url_t *origin, ngx_resolver_t *resolver,
    ngx_msec_t resolver_timeout, ngx_uint_t keepalive);

/* cancels what is under way; also called from a handler */
void ngx_guildlog_client_destroy(ngx_guildlog_client_t *client);

/*
 * The path goes behind the origin's; an empty authorization sends no such
 * header; a body is JSON.  All are copied, and nothing happens before the
 * event loop runs.  NULL: out of memory, or CR, LF, NUL, a space where none
 * may be.
 */

ngx_guildlog_client_exchange_t *ngx_guildlog_client_send(
    ngx_guildlog_client_t *client, const char *method, const ngx_str_t *path,
    const ngx_str_t *authorization, const ngx_str_t *body,
    ngx_msec_t deadline_ms, ngx_guildlog_client_handler_pt handler,
    void *data);

/*
 * After that moment no byte is sent: what was not begun is unsent, and its
 * connection serves the next one.
 */
void ngx_guildlog_client_begin_by(ngx_guildlog_client_exchange_t *exchange,
    ngx_msec_t moment);

/* the handler will not be called; not after it was */
void ngx_guildlog_client_cancel(ngx_guildlog_client_exchange_t *exchange);


#endif /* _NGX_GUILDLOG_CLIENT_H_INCLUDED_ */
