
/*
 * What the directives say, read into the configuration.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"


#define NGX_HTTP_GUILDLOG_REQUESTS  500
#define NGX_HTTP_GUILDLOG_WINDOW    10000


static ngx_int_t ngx_http_guildlog_keeper_param(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_str_t *arg);
static ngx_int_t ngx_http_guildlog_hours(ngx_str_t *value, ngx_uint_t *from,
    ngx_uint_t *to);
static ngx_shm_zone_t *ngx_http_guildlog_add_zone(ngx_conf_t *cf,
    ngx_str_t *name, size_t size);
static char *ngx_http_guildlog_limit_param(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *arg);
static char *ngx_http_guildlog_init_limit(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit);
static ngx_http_guildlog_limit_conf_t *ngx_http_guildlog_create_limit(
    ngx_conf_t *cf);


char *
ngx_http_guildlog_conf_serve(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_str_t                 *args;
    ngx_uint_t                 i;
    ngx_http_core_loc_conf_t  *clcf;

    if (glcf->serves) {
        return glcf->plane == (ngx_guildlog_plane_e) cmd->offset
               ? "is duplicate"
               : "must not share a location with the other plane: "
                 "the operator's is never exposed";
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return "stands in a location that has another handler";
    }

    args = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_http_guildlog_conf_is(&args[i], "database",
                                      &glcf->database_name))
        {
            continue;
        }

        if (!glcf->open && cmd->offset == NGX_GUILDLOG_OPERATOR
            && ngx_strcmp(args[i].data, "open") == 0)
        {
            glcf->open = 1;
            continue;
        }

        if (glcf->prefix.data || args[i].data[0] != '/') {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\"", &args[i]);
            return NGX_CONF_ERROR;
        }

        glcf->prefix = args[i];
    }

    glcf->serves = 1;
    glcf->plane = (ngx_guildlog_plane_e) cmd->offset;

    clcf->handler = ngx_http_guildlog_request_handler;

    ngx_http_guildlog_conf_used(cf);

    return NGX_CONF_OK;
}


char *
ngx_http_guildlog_conf_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return clcf->handler == ngx_http_guildlog_status_handler
               ? "is duplicate"
               : "stands in a location that has another handler";
    }

    clcf->handler = ngx_http_guildlog_status_handler;

    ngx_http_guildlog_conf_used(cf);

    return NGX_CONF_OK;
}


char *
ngx_http_guildlog_conf_key(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_str_t  *args;

    if (glcf->keys == NGX_CONF_UNSET_PTR) {
        glcf->keys = ngx_pcalloc(cf->pool, sizeof(ngx_guildlog_keys_t));
        if (glcf->keys == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    args = cf->args->elts;

    return ngx_guildlog_keys_add(cf, glcf->keys, args + 1,
                                 cf->args->nelts - 1);
}


char *
ngx_http_guildlog_conf_auth(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_str_t  *args;

    if (glcf->auth != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    args = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(args[1].data, "off") == 0) {
        glcf->auth = 0;
        return NGX_CONF_OK;
    }

    if (ngx_strcmp(args[1].data, "on") != 0
        || (cf->args->nelts == 3 && ngx_strcmp(args[2].data, "admin") != 0))
    {
        return "takes \"off\", \"on\" or \"on admin\"";
    }

    glcf->auth = cf->args->nelts == 3 ? NGX_GUILDLOG_ADMIN
                                      : NGX_GUILDLOG_BASIC;

    ngx_http_guildlog_conf_used(cf);

    return NGX_CONF_OK;
}


/* guildlog_keeper on | off [hours=h-h] [budget=n] [interval=t] [database=n] */

char *
ngx_http_guildlog_conf_keeper(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_int_t    rc;
    ngx_str_t   *args;
    ngx_uint_t   i;

    if (gmcf->keeper.on != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    args = cf->args->elts;

    if (ngx_strcmp(args[1].data, "on") == 0) {
        gmcf->keeper.on = 1;

    } else if (cf->args->nelts == 2 && ngx_strcmp(args[1].data, "off") == 0) {
        gmcf->keeper.on = 0;

    } else {
        return "takes \"off\", or \"on\" and its parameters";
    }

    for (i = 2; i < cf->args->nelts; i++) {
        rc = ngx_http_guildlog_keeper_param(cf, gmcf, &args[i]);

        if (rc != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s parameter \"%V\"",
                               rc == NGX_DECLINED ? "duplicate" : "invalid",
                               &args[i]);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* NGX_DECLINED: that database was named before */

static ngx_int_t
ngx_http_guildlog_keeper_param(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_str_t *arg)
{
    ngx_int_t                    n;
    ngx_str_t                    value, *name;
    ngx_uint_t                   i;
    ngx_guildlog_keeper_conf_t  *keeper;

    keeper = &gmcf->keeper;

    if (ngx_http_guildlog_conf_is(arg, "database", &value)) {

        if (gmcf->keeper_databases == NULL) {
            gmcf->keeper_databases = ngx_array_create(cf->pool, 1,
                                                      sizeof(ngx_str_t));
            if (gmcf->keeper_databases == NULL) {
                return NGX_ERROR;
            }
        }

        name = gmcf->keeper_databases->elts;

        for (i = 0; i < gmcf->keeper_databases->nelts; i++) {
            if (name[i].len == value.len
                && ngx_memcmp(name[i].data, value.data, value.len) == 0)
            {
                return NGX_DECLINED;
            }
        }

        name = ngx_array_push(gmcf->keeper_databases);
        if (name == NULL) {
            return NGX_ERROR;
        }

        *name = value;
        return NGX_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "hours", &value)) {
        return ngx_http_guildlog_hours(&value, &keeper->from_hour,
                                       &keeper->to_hour);
    }

    if (ngx_http_guildlog_conf_is(arg, "budget", &value)) {
        n = ngx_atoi(value.data, value.len);

        if (n < 256 || n > 1000000) {
            return NGX_ERROR;
        }

        keeper->budget = n;
        return NGX_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "interval", &value)) {
        n = ngx_parse_time(&value, 0);

        if (n < 1 || n > 3600000) {
            return NGX_ERROR;
        }

        keeper->interval = n;
        return NGX_OK;
    }

    return NGX_ERROR;
}


/* "2-5": from 2:00 to 5:00; "22-3" goes over midnight, "0-24" is all day */

static ngx_int_t
ngx_http_guildlog_hours(ngx_str_t *value, ngx_uint_t *from, ngx_uint_t *to)
{
    u_char     *dash, *end;
    ngx_int_t   first, last;

    end = value->data + value->len;
    dash = ngx_strlchr(value->data, end, '-');

    if (dash == NULL) {
        return NGX_ERROR;
    }

    first = ngx_atoi(value->data, dash - value->data);
    last = ngx_atoi(dash + 1, end - dash - 1);

    if (first < 0 || first > 23 || last < 0 || last > 24 || first == last) {
        return NGX_ERROR;
    }

    *from = first;
    *to = last;

    return NGX_OK;
}


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

    return ngx_http_guildlog_add_zone(cf, &name, size) ? NGX_CONF_OK
                                                       : NGX_CONF_ERROR;
}


static ngx_shm_zone_t *
ngx_http_guildlog_add_zone(ngx_conf_t *cf, ngx_str_t *name, size_t size)
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

    zone = ngx_shared_memory_add(cf, &prefixed, size,
                                 &ngx_http_guildlog_module);
    if (zone == NULL) {
        return NULL;
    }

    zone->init = ngx_guildlog_limit_init_zone;

    ngx_http_guildlog_conf_used(cf);

    /* the zone of this name need not be declared */

    if (name->len == sizeof("guildlog") - 1
        && ngx_strncmp(name->data, "guildlog", sizeof("guildlog") - 1) == 0)
    {
        gmcf = ngx_http_conf_get_module_main_conf(cf,
                                                  ngx_http_guildlog_module);
        gmcf->limit_zone = zone;
    }

    return zone;
}


/* guildlog_limit off | [zone=name] [key=k] [requests=n] [window=t] [dry_run] */

char *
ngx_http_guildlog_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    char                            *error;
    ngx_str_t                       *args;
    ngx_uint_t                       i;
    ngx_http_guildlog_limit_conf_t  *limit;

    if (glcf->own_limit != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    args = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(args[1].data, "off") == 0) {
        glcf->own_limit = NULL;
        return NGX_CONF_OK;
    }

    limit = ngx_http_guildlog_create_limit(cf);
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 1; i < cf->args->nelts; i++) {
        error = ngx_http_guildlog_limit_param(cf, limit, &args[i]);

        if (error != NGX_CONF_OK) {
            return error;
        }
    }

    glcf->own_limit = limit;

    return ngx_http_guildlog_init_limit(cf, limit);
}


static char *
ngx_http_guildlog_limit_param(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *arg)
{
    ngx_int_t                          n;
    ngx_str_t                          value;
    ngx_http_compile_complex_value_t   ccv;

    if (ngx_strcmp(arg->data, "dry_run") == 0) {
        limit->dry_run = 1;
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "zone", &limit->zone_name)) {
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "requests", &value)) {
        n = ngx_atoi(value.data, value.len);

        if (n < 1 || n > 1000000000) {
            goto invalid;
        }

        limit->requests = n;
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "window", &value)) {
        n = ngx_parse_time(&value, 0);

        if (n < 1) {
            goto invalid;
        }

        limit->window = n;
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_conf_is(arg, "key", &value)) {
        limit->key = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
        if (limit->key == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

        ccv.cf = cf;
        ccv.value = &value;
        ccv.complex_value = limit->key;

        if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
            return NGX_CONF_ERROR;
        }

        return NGX_CONF_OK;
    }

invalid:

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", arg);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_guildlog_init_limit(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit)
{
    u_char           *p;
    const ngx_str_t  *key;

    static const ngx_str_t  none = ngx_null_string;

    limit->zone = ngx_http_guildlog_add_zone(cf, &limit->zone_name, 0);
    if (limit->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    /*
     * Limits that differ may share a zone: what tells their windows apart
     * stands before the key.
     */

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
ngx_http_guildlog_conf_default_limit(ngx_conf_t *cf)
{
    ngx_http_guildlog_limit_conf_t  *limit;

    limit = ngx_http_guildlog_create_limit(cf);

    if (limit == NULL
        || ngx_http_guildlog_init_limit(cf, limit) != NGX_CONF_OK)
    {
        return NULL;
    }

    return limit;
}


static ngx_http_guildlog_limit_conf_t *
ngx_http_guildlog_create_limit(ngx_conf_t *cf)
{
    ngx_http_guildlog_limit_conf_t  *limit;

    limit = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_limit_conf_t));
    if (limit == NULL) {
        return NULL;
    }

    ngx_str_set(&limit->zone_name, "guildlog");
    limit->requests = NGX_HTTP_GUILDLOG_REQUESTS;
    limit->window = NGX_HTTP_GUILDLOG_WINDOW;

    return limit;
}


ssize_t
ngx_http_guildlog_conf_read(ngx_conf_t *cf, ngx_str_t *file, u_char *buf,
    size_t size, ngx_file_info_t *fi)
{
    ssize_t   n;
    ngx_fd_t  fd;

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE || ngx_fd_info(fd, fi) == NGX_FILE_ERROR) {
        n = -1;

    } else {
        n = ngx_read_fd(fd, buf, size);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "could not read \"%V\"", file);
    }

    if (fd != NGX_INVALID_FILE) {
        (void) ngx_close_file(fd);
    }

    return n;
}


void
ngx_http_guildlog_conf_used(ngx_conf_t *cf)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    gmcf->used = 1;
}


/* "name=value": splits a parameter of a directive; the value is not empty */

ngx_uint_t
ngx_http_guildlog_conf_is(ngx_str_t *arg, const char *name, ngx_str_t *value)
{
    size_t  len;

    len = ngx_strlen(name);

    if (arg->len <= len + 1 || arg->data[len] != '='
        || ngx_strncmp(arg->data, name, len) != 0)
    {
        return 0;
    }

    value->data = arg->data + len + 1;
    value->len = arg->len - len - 1;

    return 1;
}
