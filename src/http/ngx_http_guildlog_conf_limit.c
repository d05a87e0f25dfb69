
/*
 * guildlog_limit and guildlog_limit_zone.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "shm/ngx_guildlog_limit.h"


static ngx_shm_zone_t *conf_limit_add_zone(ngx_conf_t *cf, ngx_str_t *name,
    size_t size);
static char *conf_limit_key(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_limit_init(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit);
static ngx_http_guildlog_limit_conf_t *conf_limit_create(ngx_conf_t *cf);


static const ngx_http_guildlog_conf_param_t  conf_limit_params[] = {
    { "zone", offsetof(ngx_http_guildlog_limit_conf_t, zone_name),
      NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL },
    { "key", offsetof(ngx_http_guildlog_limit_conf_t, key),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_limit_key },
    { "requests", offsetof(ngx_http_guildlog_limit_conf_t, requests),
      NGX_HTTP_GUILDLOG_CONF_NUMBER, 1, 1000000000, NULL },
    { "window", offsetof(ngx_http_guildlog_limit_conf_t, window),
      NGX_HTTP_GUILDLOG_CONF_TIME, 1, NGX_MAX_INT_T_VALUE, NULL },
    { "dry_run", offsetof(ngx_http_guildlog_limit_conf_t, dry_run),
      NGX_HTTP_GUILDLOG_CONF_WORD, 0, 0, NULL },
    { NULL, 0, NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL }
};


char *
ngx_http_guildlog_conf_limit_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    u_char     *p;
    ssize_t     size;
    ngx_str_t  *args, name, s;

    args = cf->args->elts;
    name = args[1];

    p = (u_char *) ngx_strchr(name.data, ':');

    if (p == NULL || p == name.data) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid zone \"%V\", must be name:size", &name);
        return NGX_CONF_ERROR;
    }

    s.data = p + 1;
    s.len = name.data + name.len - s.data;
    name.len = p - name.data;

    size = ngx_parse_size(&s);

    if (size == NGX_ERROR || size < (ssize_t) (8 * ngx_pagesize)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid or too small zone size \"%V\"", &s);
        return NGX_CONF_ERROR;
    }

    return conf_limit_add_zone(cf, &name, size) ? NGX_CONF_OK
                                                : NGX_CONF_ERROR;
}


static ngx_shm_zone_t *
conf_limit_add_zone(ngx_conf_t *cf, ngx_str_t *name, size_t size)
{
    ngx_str_t                       prefixed;
    ngx_shm_zone_t                 *zone;
    ngx_http_guildlog_main_conf_t  *gmcf;

    prefixed.len = sizeof("guildlog_limit_") - 1 + name->len;
    prefixed.data = ngx_pnalloc(cf->pool, prefixed.len);

    if (prefixed.data == NULL) {
        return NULL;
    }

    ngx_sprintf(prefixed.data, "guildlog_limit_%V", name);

    zone = ngx_http_guildlog_conf_zone(cf, &prefixed, size,
                                       ngx_guildlog_limit_init_zone);
    if (zone == NULL) {
        return NULL;
    }

    ngx_http_guildlog_conf_used(cf);

    /* a zone of this name exists without guildlog_limit_zone */

    if (name->len == sizeof("guildlog") - 1
        && ngx_strncmp(name->data, "guildlog", sizeof("guildlog") - 1) == 0)
    {
        gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
        gmcf->limit_zone = zone;
    }

    return zone;
}


/* guildlog_limit off | [zone=name] [key=k] [requests=n] [window=t] [dry_run] */

char *
ngx_http_guildlog_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_str_t                       *args;
    ngx_http_guildlog_limit_conf_t  *limit;

    if (glcf->own_limit != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    args = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(args[1].data, "off") == 0) {
        glcf->own_limit = NULL;
        return NGX_CONF_OK;
    }

    limit = conf_limit_create(cf);
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_guildlog_conf_params(cf, conf_limit_params, limit, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    glcf->own_limit = limit;

    return conf_limit_init(cf, limit);
}


static char *
conf_limit_key(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_http_complex_value_t **key = field;

    ngx_http_compile_complex_value_t  ccv;

    *key = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (*key == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = value;
    ccv.complex_value = *key;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK ? NGX_CONF_OK
                                                          : NGX_CONF_ERROR;
}


static char *
conf_limit_init(ngx_conf_t *cf, ngx_http_guildlog_limit_conf_t *limit)
{
    u_char           *p;
    const ngx_str_t  *key;

    static const ngx_str_t  none = ngx_null_string;

    limit->zone = conf_limit_add_zone(cf, &limit->zone_name, 0);
    if (limit->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    /* different limits may share a zone: the prefix tells their keys apart */

    key = limit->key ? &limit->key->value : &none;

    p = ngx_pnalloc(cf->pool, sizeof("/ : ") + 3 * NGX_INT_T_LEN + key->len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->prefix.data = p;
    limit->prefix.len = ngx_sprintf(p, "%ui/%M %uz:%V ", limit->requests,
                                    limit->window, key->len, key)
                        - p;

    p = ngx_pnalloc(cf->pool, sizeof("\"default\";q=;w=") + 2 * NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->policy.data = p;
    limit->policy.len = ngx_sprintf(p, "\"default\";q=%ui;w=%M",
                                    limit->requests,
                                    (limit->window + 999) / 1000)
                        - p;

    return NGX_CONF_OK;
}


ngx_http_guildlog_limit_conf_t *
ngx_http_guildlog_conf_limit_default(ngx_conf_t *cf, ngx_uint_t requests,
    ngx_msec_t window)
{
    ngx_http_guildlog_limit_conf_t  *limit;

    limit = conf_limit_create(cf);
    if (limit == NULL) {
        return NULL;
    }

    limit->requests = requests;
    limit->window = window;

    if (conf_limit_init(cf, limit) != NGX_CONF_OK) {
        return NULL;
    }

    return limit;
}


static ngx_http_guildlog_limit_conf_t *
conf_limit_create(ngx_conf_t *cf)
{
    ngx_http_guildlog_limit_conf_t  *limit;

    limit = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_limit_conf_t));
    if (limit == NULL) {
        return NULL;
    }

    ngx_str_set(&limit->zone_name, "guildlog");
    limit->requests = NGX_HTTP_GUILDLOG_CONF_LIMIT_REQUESTS;
    limit->window = NGX_HTTP_GUILDLOG_CONF_LIMIT_WINDOW;

    return limit;
}
