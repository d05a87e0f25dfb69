
/*
 * Where another server is, read from the configuration: its URL, what its
 * certificate is checked against, and its addresses, should nginx have no
 * resolver to ask at run time.
 */

#include "client/ngx_guildlog_client.h"


/* of certificates between the server's and the trusted one */
#define NGX_GUILDLOG_URL_DEPTH  9


static char *ngx_guildlog_url_parse(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *origin, ngx_url_t *u);
static char *ngx_guildlog_url_addrs(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *origin, ngx_url_t *u);
static char *ngx_guildlog_url_tls(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *origin);
static char *ngx_guildlog_url_error(ngx_conf_t *cf,
    ngx_guildlog_client_url_t *origin, const char *why);


char *
ngx_guildlog_client_url_init(ngx_conf_t *cf, ngx_guildlog_client_url_t *origin,
    ngx_str_t *url, ngx_str_t *trusted)
{
    ngx_url_t   u;
    ngx_uint_t  tls;

    ngx_memzero(origin, sizeof(ngx_guildlog_client_url_t));
    ngx_memzero(&u, sizeof(ngx_url_t));

    origin->url = *url;
    origin->trusted = *trusted;

    tls = 0;
    u.url = *url;

    if (ngx_strncasecmp(url->data, (u_char *) "https://", 8) == 0) {
        u.url.data += 8;
        u.url.len -= 8;
        u.default_port = 443;
        tls = 1;

    } else if (ngx_strncasecmp(url->data, (u_char *) "http://", 7) == 0) {
        u.url.data += 7;
        u.url.len -= 7;
        u.default_port = 80;

    } else {
        return ngx_guildlog_url_error(cf, origin,
                                 "must begin with http:// or https://");
    }

    if (trusted->len && !tls) {
        return ngx_guildlog_url_error(cf, origin,
                                 "must be https:// for trusted=");
    }

    if (ngx_guildlog_url_parse(cf, origin, &u) != NGX_CONF_OK
        || ngx_guildlog_url_addrs(cf, origin, &u) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    return tls ? ngx_guildlog_url_tls(cf, origin) : NGX_CONF_OK;
}


static char *
ngx_guildlog_url_parse(ngx_conf_t *cf, ngx_guildlog_client_url_t *origin,
    ngx_url_t *u)
{
    u_char     *p;
    size_t      i;
    ngx_str_t   host;

    for (i = 0; i < u->url.len; i++) {
        p = &u->url.data[i];

        if (*p <= ' ' || *p >= 0x7f || ngx_strchr("?#@\\\"<>", *p)) {
            return ngx_guildlog_url_error(cf, origin,
                                 "may only have a host, a port and a path");
        }
    }

    u->uri_part = 1;
    u->no_resolve = 1;

    if (ngx_parse_url(cf->pool, u) != NGX_OK) {
        return ngx_guildlog_url_error(cf, origin,
                                 u->err ? u->err : "cannot be parsed");
    }

    if (u->family == AF_UNIX || u->host.len == 0) {
        return ngx_guildlog_url_error(cf, origin, "has no host");
    }

    host = u->host;

    origin->authority.data = u->url.data;
    origin->authority.len = u->url.len - u->uri.len;

    origin->port = u->port;

    ngx_str_set(&origin->path, "");

    if (u->uri.len) {
        origin->path = u->uri;
    }

    while (origin->path.len
           && origin->path.data[origin->path.len - 1] == '/')
    {
        origin->path.len--;
    }

    if (host.data[0] == '[') {
        host.data++;
        host.len -= 2;
    }

    origin->host.len = host.len;
    origin->host.data = ngx_pnalloc(cf->pool, host.len + 1);

    if (origin->host.data == NULL) {
        return NGX_CONF_ERROR;
    }

    /* the resolver would do that to it at run time */

    ngx_strlow(origin->host.data, host.data, host.len);
    origin->host.data[host.len] = '\0';

    return NGX_CONF_OK;
}


static char *
ngx_guildlog_url_addrs(ngx_conf_t *cf, ngx_guildlog_client_url_t *origin,
    ngx_url_t *u)
{
    origin->dns = (u->naddrs == 0);

    if (origin->dns && ngx_inet_resolve_host(cf->pool, u) != NGX_OK) {

        if (u->err == NULL) {
            return NGX_CONF_ERROR;
        }

        /* the resolver may know it once nginx runs */

        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s in \"%V\"", u->err,
                           &origin->url);
    }

    origin->addrs = u->addrs;
    origin->naddrs = u->naddrs;

    return NGX_CONF_OK;
}


/*
 * nginx's callback lets any certificate pass, to be looked at afterwards;
 * here the handshake itself has to fail, before anything is sent.
 */

static char *
ngx_guildlog_url_tls(ngx_conf_t *cf, ngx_guildlog_client_url_t *origin)
{
    ngx_ssl_t           *tls;
    ngx_pool_cleanup_t  *cln;

    tls = ngx_pcalloc(cf->pool, sizeof(ngx_ssl_t));
    cln = ngx_pool_cleanup_add(cf->pool, 0);

    if (tls == NULL || cln == NULL) {
        return NGX_CONF_ERROR;
    }

    tls->log = cf->log;

    if (ngx_ssl_create(tls, NGX_SSL_TLSv1_2|NGX_SSL_TLSv1_3, NULL)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_ssl_cleanup_ctx;
    cln->data = tls;

    if (ngx_ssl_trusted_certificate(cf, tls, &origin->trusted,
                                    NGX_GUILDLOG_URL_DEPTH)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (origin->trusted.len == 0
        && SSL_CTX_set_default_verify_paths(tls->ctx) == 0)
    {
        ngx_ssl_error(NGX_LOG_EMERG, cf->log, 0,
                      "SSL_CTX_set_default_verify_paths() failed");
        return NGX_CONF_ERROR;
    }

    SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER, NULL);

    origin->tls = tls;

    return NGX_CONF_OK;
}


static char *
ngx_guildlog_url_error(ngx_conf_t *cf, ngx_guildlog_client_url_t *origin,
    const char *why)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "URL \"%V\" %s", &origin->url,
                       why);

    return NGX_CONF_ERROR;
}
