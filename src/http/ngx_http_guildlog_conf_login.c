
/*
 * guildlog_login.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


/* requests a minute and address: each sign-in asks the platform three times */
#define CONF_LOGIN_REQUESTS  60
#define CONF_LOGIN_WINDOW    60000

/* bytes: at most, and what a platform's secret has at least */
#define CONF_LOGIN_SECRET    512
#define CONF_LOGIN_STRONG    16


/* where the platform has the pictures of people and guilds */
#define VIEWER_IMAGES  "https://cdn.discordapp.com"

/* digits in the name of a folder that util/viewer makes */
#define VIEWER_HASH    12


static char *conf_login_secret(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_login_redirect(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *conf_login_keys(ngx_conf_t *cf,
    ngx_http_guildlog_login_conf_t *login);
static void conf_login_split(ngx_str_t *url, ngx_str_t *origin,
    ngx_str_t *path);
static char *viewer_ancestor(ngx_conf_t *cf, void *field, ngx_str_t *value);
static ngx_int_t viewer_header_filter(ngx_http_request_t *r);
static ngx_uint_t viewer_stays(ngx_http_request_t *r);
static ngx_uint_t viewer_is_part(ngx_http_request_t *r);


static const ngx_http_guildlog_conf_param_t  conf_login_params[] = {
    conf_string("client", ngx_http_guildlog_login_conf_t, keys.client),
    conf_other("secret", ngx_http_guildlog_login_conf_t,
               secrets, conf_login_secret),
    conf_other("redirect", ngx_http_guildlog_login_conf_t,
               redirect, conf_login_redirect),
    conf_string("scope", ngx_http_guildlog_login_conf_t, scope),
    conf_string("database", ngx_http_guildlog_login_conf_t, database_name),
    conf_last
};


static ngx_http_output_header_filter_pt  viewer_next_header_filter;


static const ngx_http_guildlog_conf_param_t  viewer_params[] = {
    conf_row("frame-ancestors", 0, OTHER, 0, 0, viewer_ancestor),
    conf_last
};


/*
 * guildlog_login client=id secret=file [secret=file ...] [redirect=url]
 *                [scope=words] [database=name]
 */

char *
ngx_http_guildlog_conf_login(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_http_core_loc_conf_t        *clcf;
    ngx_http_guildlog_srv_conf_t    *gscf;
    ngx_http_guildlog_main_conf_t   *gmcf;
    ngx_http_guildlog_login_conf_t  *login;

    gscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_guildlog_module);
    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (gscf->login) {
        return "is duplicate: a server has one";
    }

    if (clcf->handler) {
        return "stands in a location that has another handler";
    }

    login = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_login_conf_t));

    if (login == NULL
        || ngx_array_init(&login->secrets, cf->pool, 2, sizeof(ngx_str_t))
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_str_set(&login->scope, "identify guilds");

    if (ngx_http_guildlog_conf_params(cf, conf_login_params, login, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (login->keys.client.len == 0 || login->secrets.nelts == 0) {
        return "needs \"client=\" and \"secret=\"";
    }

    /* "/login" is a page, and the others are below it */

    if (ngx_http_guildlog_conf_plane_is_pattern(clcf) || clcf->exact_match
        || clcf->name.data[clcf->name.len - 1] == '/')
    {
        return "needs a location by a prefix without a closing slash, "
               "as \"location /login\"";
    }

    login->prefix = clcf->name;

    gscf->login = login;
    glcf->login = login;
    gmcf->logs_in = 1;

    clcf->handler = ngx_http_guildlog_login_handler;

    ngx_http_guildlog_conf_used(cf);

    return conf_login_keys(cf, login);
}


static char *
conf_login_secret(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t  *file;

    file = ngx_array_push(field);
    if (file == NULL) {
        return NGX_CONF_ERROR;
    }

    *file = *value;

    return ngx_conf_full_name(cf->cycle, file, 1) == NGX_OK ? NGX_CONF_OK
                                                            : NGX_CONF_ERROR;
}


static char *
conf_login_redirect(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *redirect = field;

    ngx_str_t  origin, path;

    conf_login_split(value, &origin, &path);

    if (origin.len == 0
        || ngx_strlchr(value->data, value->data + value->len, '#'))
    {
        return NGX_CONF_ERROR;
    }

    *redirect = *value;

    return NGX_CONF_OK;
}


/*
 * The first secret is the client's at the platform.  A key for cookies is made
 * of each one: who has the file of another machine has its cookies' key, too.
 */

static char *
conf_login_keys(ngx_conf_t *cf, ngx_http_guildlog_login_conf_t *login)
{
    u_char       buf[CONF_LOGIN_SECRET];
    ssize_t      n;
    ngx_int_t    rc;
    ngx_str_t   *file, secret;
    ngx_uint_t   i;

    file = login->secrets.elts;

    login->keys.nkeys = login->secrets.nelts;
    login->keys.keys = ngx_pcalloc(cf->pool,
                                login->keys.nkeys * NGX_GUILDLOG_SEAL_KEY);
    if (login->keys.keys == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < login->secrets.nelts; i++) {
        n = ngx_http_guildlog_conf_read(cf, &file[i], buf, sizeof(buf),
                                        NGX_LOG_EMERG);
        if (n == -1) {
            return NGX_CONF_ERROR;
        }

        while (n && buf[n - 1] <= ' ') {
            n--;
        }

        if (n == 0 || n == sizeof(buf)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" does not hold a client's secret",
                               &file[i]);
            return NGX_CONF_ERROR;
        }

        if (n < CONF_LOGIN_STRONG) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "the secret in \"%V\" is short: cookies are "
                               "sealed with it", &file[i]);
        }

        secret.data = buf;
        secret.len = n;

        rc = ngx_guildlog_login_cookie_key(&secret, login->keys.keys[i]);

        if (rc == NGX_OK && i == 0) {
            rc = ngx_guildlog_login_flow_basic(cf->pool, &login->keys.client,
                                               &secret,
                                               &login->authorization);
        }

        ngx_explicit_memzero(buf, sizeof(buf));

        if (rc != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/*
 * An URL of http or https; an empty origin: it is none.  As in browsers, the
 * scheme's own port is no part of an origin.
 */

static void
conf_login_split(ngx_str_t *url, ngx_str_t *origin, ngx_str_t *path)
{
    u_char      *p, *last;
    size_t       scheme, len;
    const char  *port;

    ngx_str_null(origin);
    ngx_str_set(path, "/");

    last = url->data + url->len;
    scheme = ngx_guildlog_scheme(url);

    if (scheme == 0 || scheme == url->len || url->data[scheme] == '/') {
        return;
    }

    p = ngx_strlchr(url->data + scheme, last, '/');

    origin->data = url->data;
    origin->len = (p ? p : last) - url->data;

    port = scheme == sizeof("https://") - 1 ? ":443" : ":80";
    len = ngx_strlen(port);

    if (origin->len > len
        && ngx_strncmp(origin->data + origin->len - len, port, len) == 0)
    {
        origin->len -= len;
    }

    if (p) {
        path->data = p;
        path->len = last - p;
    }
}


/* when the platform, the databases and the pages are known */

char *
ngx_http_guildlog_conf_login_merge(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf)
{
    ngx_str_t                        origin, path;
    ngx_http_core_loc_conf_t        *clcf;
    ngx_http_guildlog_main_conf_t   *gmcf;
    ngx_http_guildlog_login_conf_t  *login;

    static const ngx_str_t  page = ngx_string("/oauth2/authorize");

    login = conf->login;
    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    if (clcf->handler != ngx_http_guildlog_login_handler) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "location \"%V\" has another handler beside "
                           "\"guildlog_login\"", &clcf->name);
        return NGX_CONF_ERROR;
    }

    if (gmcf->delivery.platform.text.data == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"guildlog_login\" needs a \"guildlog_platform\"");
        return NGX_CONF_ERROR;
    }

    login->database = ngx_http_guildlog_conf_database_find(cf,
                                                    &login->database_name, 0);
    if (login->database == NULL) {
        return NGX_CONF_ERROR;
    }

    login->starts = ngx_http_guildlog_conf_limit_default(cf, 1,
                                             NGX_GUILDLOG_LOGIN_STARTS * 1000);
    if (login->starts == NULL) {
        return NGX_CONF_ERROR;
    }

    if (conf->limit == NULL && conf->own_limit == NGX_CONF_UNSET_PTR) {
        conf->limit = ngx_http_guildlog_conf_limit_default(cf,
                                                          CONF_LOGIN_REQUESTS,
                                                          CONF_LOGIN_WINDOW);
        if (conf->limit == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    conf_login_split(&login->redirect, &login->origin, &path);
    conf_login_split(&gmcf->delivery.style.viewer, &origin, &login->viewer);
    conf_login_split(&gmcf->delivery.platform.text, &origin, &path);

    return ngx_guildlog_print(cf->pool, &login->authorize, "%V%V", &origin,
                              &page)
           == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/*
 * guildlog_viewer: the headers that a browser guards the log viewer by, on what
 * its location answers.  Its files are served as any others.
 */

/* guildlog_viewer [frame-ancestors=origin ...] */

char *
ngx_http_guildlog_viewer(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    if (glcf->frames.data) {
        return "is duplicate";
    }

    if (ngx_http_guildlog_conf_params(cf, viewer_params, &glcf->frames, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (glcf->frames.len == 0) {
        ngx_str_set(&glcf->frames, " 'none'");
    }

    return NGX_CONF_OK;
}


/* when it is known whether pictures are wanted */

ngx_int_t
ngx_http_guildlog_viewer_policy(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf)
{
    static const char  policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'%s; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors%V; "
        "require-trusted-types-for 'script'; trusted-types 'none'";

    return ngx_guildlog_print(cf->pool, &conf->viewer, policy,
                              conf->images ? " " VIEWER_IMAGES : "",
                              &conf->frames);
}


/* an origin, which goes behind those of before */

static char *
viewer_ancestor(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *ancestors = field;

    u_char      *p, *last;
    ngx_uint_t   slashes;

    last = value->data + value->len;
    slashes = 0;

    for (p = value->data; p < last; p++) {
        slashes += (*p == '/');

        if (*p <= ' ' || *p > '~' || ngx_strchr("'\";,?#*@", *p)) {
            return NGX_CONF_ERROR;
        }
    }

    if (slashes != 2
        || last[-1] == '/'
        || (ngx_strncmp(value->data, "https://", 8) != 0
            && ngx_strncmp(value->data, "http://", 7) != 0))
    {
        return NGX_CONF_ERROR;
    }

    return ngx_guildlog_print(cf->pool, ancestors, "%V %V", ancestors, value)
           == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


void
ngx_http_guildlog_viewer_init(void)
{
    viewer_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = viewer_header_filter;
}


static ngx_int_t
viewer_header_filter(ngx_http_request_t *r)
{
    ngx_http_guildlog_loc_conf_t  *conf;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);

    if (conf->viewer.len == 0 || r != r->main) {
        return viewer_next_header_filter(r);
    }

    if (ngx_http_guildlog_response_header(r, "Cache-Control",
                                          viewer_stays(r)
                                          ? "max-age=31536000, immutable"
                                          : "no-cache")
        != NGX_OK
        || ngx_http_guildlog_response_header(r, "Referrer-Policy",
                                             "no-referrer")
           != NGX_OK
        || ngx_http_guildlog_response_header(r, "X-Content-Type-Options",
                                             "nosniff")
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (viewer_is_part(r)) {
        return viewer_next_header_filter(r);
    }

    /* the second is what a page can read of its own answer */

    if (ngx_http_guildlog_response_header(r, "Content-Security-Policy", "%V",
                                          &conf->viewer)
        != NGX_OK
        || (conf->images
            && ngx_http_guildlog_response_header(r, "Server-Timing",
                                         "images;desc=\"" VIEWER_IMAGES "\"")
               != NGX_OK))
    {
        return NGX_ERROR;
    }

    return viewer_next_header_filter(r);
}


/* what is there, in a folder that util/viewer named after what is in it */

static ngx_uint_t
viewer_stays(ngx_http_request_t *r)
{
    u_char  *p, *end;

    p = ngx_strnstr(r->uri.data, "/v-", r->uri.len);

    if (p == NULL || r->headers_out.status >= NGX_HTTP_BAD_REQUEST) {
        return 0;
    }

    p += sizeof("/v-") - 1;
    end = p + VIEWER_HASH;

    if (end >= r->uri.data + r->uri.len || *end != '/') {
        return 0;
    }

    while (p < end && ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'))) {
        p++;
    }

    return p == end;
}


/* a page's own policy counts for these, and fifty of them are loaded at once */

static ngx_uint_t
viewer_is_part(ngx_http_request_t *r)
{
    ngx_uint_t  i;
    ngx_str_t  *type;

    static const ngx_str_t  parts[] = {
        ngx_string("application/javascript"),
        ngx_string("text/javascript"),
        ngx_string("text/css")
    };

    type = &r->headers_out.content_type;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (type->len >= parts[i].len
            && ngx_strncasecmp(type->data, parts[i].data, parts[i].len) == 0)
        {
            return 1;
        }
    }

    return 0;
}
