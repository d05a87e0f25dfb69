
/*
 * Where a peer is, read from the configuration: its URL, what its
 * certificate is checked against, and its addresses, should nginx have no
 * resolver to ask at run time.
 */

#include "client/ngx_guildlog_client.h"


/* of certificates between the peer's and the trusted one */
#define CLIENT_URL_DEPTH  9


static char *client_url_parse(ngx_conf_t *cf, ngx_guildlog_client_url_t *url,
    ngx_url_t *u);
static char *client_url_tls(ngx_conf_t *cf, ngx_guildlog_client_url_t *url);
static char *client_url_error(ngx_conf_t *cf, ngx_guildlog_client_url_t *url,
    const char *why);


char *
ngx_guildlog_client_url_init(ngx_conf_t *cf, ngx_guildlog_client_url_t *url,
    ngx_str_t *text)
{
    size_t      scheme;
    ngx_url_t   u;
    ngx_uint_t  tls;

    ngx_memzero(&u, sizeof(ngx_url_t));

    url->text = *text;

    scheme = ngx_guildlog_scheme(text);

    if (scheme == 0) {
        return client_url_error(cf, url, "must begin with http:// or https://");
    }

    tls = (scheme == sizeof("https://") - 1);

    u.url.data = text->data + scheme;
    u.url.len = text->len - scheme;
    u.default_port = tls ? 443 : 80;

    if (url->trusted.len && !tls) {
        return client_url_error(cf, url, "must be https:// for trusted=");
    }

    if (client_url_parse(cf, url, &u) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    url->dns = (u.naddrs == 0);

    if (url->dns && ngx_inet_resolve_host(cf->pool, &u) != NGX_OK) {

        if (u.err == NULL) {
            return NGX_CONF_ERROR;
        }

        /* the resolver may know it once nginx runs */

        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s in \"%V\"", u.err,
                           &url->text);
    }

    url->addrs = u.addrs;
    url->naddrs = u.naddrs;

    return tls ? client_url_tls(cf, url) : NGX_CONF_OK;
}


static char *
client_url_parse(ngx_conf_t *cf, ngx_guildlog_client_url_t *url, ngx_url_t *u)
{
    u_char     *p;
    size_t      i;
    ngx_str_t   host;

    for (i = 0; i < u->url.len; i++) {
        p = &u->url.data[i];

        if (*p <= ' ' || *p >= 0x7f || ngx_strchr("?#@\\\"<>", *p)) {
            return client_url_error(cf, url,
                                    "may only have a host, a port and a path");
        }
    }

    u->uri_part = 1;
    u->no_resolve = 1;

    if (ngx_parse_url(cf->pool, u) != NGX_OK) {
        return client_url_error(cf, url, u->err ? u->err : "cannot be parsed");
    }

    if (u->family == AF_UNIX || u->host.len == 0) {
        return client_url_error(cf, url, "has no host");
    }

    host = u->host;

    url->authority.data = u->url.data;
    url->authority.len = u->url.len - u->uri.len;

    url->port = u->port;

    ngx_str_set(&url->path, "");

    if (u->uri.len) {
        url->path = u->uri;
    }

    while (url->path.len && url->path.data[url->path.len - 1] == '/') {
        url->path.len--;
    }

    if (host.data[0] == '[') {
        host.data++;
        host.len -= 2;
    }

    url->host.len = host.len;
    url->host.data = ngx_pnalloc(cf->pool, host.len + 1);

    if (url->host.data == NULL) {
        return NGX_CONF_ERROR;
    }

    /* the resolver would do that to it at run time */

    ngx_strlow(url->host.data, host.data, host.len);
    url->host.data[host.len] = '\0';

    return NGX_CONF_OK;
}


/*
 * nginx's callback lets any certificate pass, to be looked at afterwards;
 * here the handshake itself has to fail, before anything is sent.
 */

static char *
client_url_tls(ngx_conf_t *cf, ngx_guildlog_client_url_t *url)
{
    ngx_ssl_t           *tls;
    ngx_pool_cleanup_t  *cln;

    tls = ngx_pcalloc(cf->pool, sizeof(ngx_ssl_t));
    cln = ngx_pool_cleanup_add(cf->pool, 0);

    if (tls == NULL || cln == NULL) {
        return NGX_CONF_ERROR;
    }

    tls->log = cf->log;

    if (ngx_ssl_create(tls, NGX_SSL_TLSv1_2|NGX_SSL_TLSv1_3, NULL) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_ssl_cleanup_ctx;
    cln->data = tls;

    if (ngx_ssl_trusted_certificate(cf, tls, &url->trusted, CLIENT_URL_DEPTH)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (url->trusted.len == 0
        && SSL_CTX_set_default_verify_paths(tls->ctx) == 0)
    {
        ngx_ssl_error(NGX_LOG_EMERG, cf->log, 0,
                      "SSL_CTX_set_default_verify_paths() failed");
        return NGX_CONF_ERROR;
    }

    SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER, NULL);

    url->tls = tls;

    return NGX_CONF_OK;
}


static char *
client_url_error(ngx_conf_t *cf, ngx_guildlog_client_url_t *url,
    const char *why)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "URL \"%V\" %s", &url->text, why);

    return NGX_CONF_ERROR;
}
