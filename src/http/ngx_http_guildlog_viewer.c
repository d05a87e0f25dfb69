
/*
 * guildlog_viewer: the headers that a browser guards the log viewer by, on what
 * its location answers.  Its files are served as any others.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_response.h"


static char *viewer_ancestor(ngx_conf_t *cf, void *field, ngx_str_t *value);
static ngx_int_t viewer_header_filter(ngx_http_request_t *r);
static ngx_uint_t viewer_is_part(ngx_http_request_t *r);


static ngx_http_output_header_filter_pt  viewer_next_header_filter;


static const ngx_http_guildlog_conf_param_t  viewer_params[] = {
    { "frame-ancestors", 0, NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0,
      viewer_ancestor },
    { NULL, 0, NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL }
};


/* guildlog_viewer [frame-ancestors=origin ...] */

char *
ngx_http_guildlog_viewer(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    u_char     *p;
    ngx_str_t   ancestors;

    static const ngx_str_t  none = ngx_string(" 'none'");
    static const char  policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors%V; "
        "require-trusted-types-for 'script'; trusted-types 'none'";

    if (glcf->viewer.data) {
        return "is duplicate";
    }

    ngx_str_null(&ancestors);

    if (ngx_http_guildlog_conf_params(cf, viewer_params, &ancestors, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (ancestors.len == 0) {
        ancestors = none;
    }

    p = ngx_pnalloc(cf->pool, sizeof(policy) + ancestors.len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    glcf->viewer.data = p;
    glcf->viewer.len = ngx_sprintf(p, policy, &ancestors) - p;

    return NGX_CONF_OK;
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

    p = ngx_pnalloc(cf->pool, ancestors->len + 1 + value->len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    ancestors->len = ngx_sprintf(p, "%V %V", ancestors, value) - p;
    ancestors->data = p;

    return NGX_CONF_OK;
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
    ngx_uint_t                     i;
    ngx_http_guildlog_loc_conf_t  *conf;

    static const struct {
        const char                *name;
        ngx_str_t                  value;
    } headers[] = {
        { "Cache-Control", ngx_string("no-cache") },
        { "Referrer-Policy", ngx_string("no-referrer") },
        { "X-Content-Type-Options", ngx_string("nosniff") }
    };

    conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);

    if (conf->viewer.len == 0 || r != r->main) {
        return viewer_next_header_filter(r);
    }

    for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (ngx_http_guildlog_response_header(r, headers[i].name,
                                              &headers[i].value)
            == NULL)
        {
            return NGX_ERROR;
        }
    }

    if (!viewer_is_part(r)
        && ngx_http_guildlog_response_header(r, "Content-Security-Policy",
                                             &conf->viewer)
           == NULL)
    {
        return NGX_ERROR;
    }

    return viewer_next_header_filter(r);
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
