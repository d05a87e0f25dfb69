
/*
 * guildlog_key, guildlog_auth, and what the directives share.
 */

#include "http/ngx_http_guildlog_conf.h"


static char *conf_set(ngx_conf_t *cf,
    const ngx_http_guildlog_conf_param_t *param, void *conf, ngx_str_t *value);


char *
ngx_http_guildlog_conf_key(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

    ngx_str_t  *args;

    if (glcf->keys == NGX_CONF_UNSET_PTR) {
        glcf->keys = ngx_pcalloc(cf->pool, sizeof(ngx_guildlog_token_keys_t));
        if (glcf->keys == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    args = cf->args->elts;

    return ngx_guildlog_token_keys_add(cf, glcf->keys, args + 1,
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


char *
ngx_http_guildlog_conf_size_or_off(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_str_t  *args;

    args = cf->args->elts;

    if (ngx_strcmp(args[1].data, "off") == 0) {
        ngx_str_set(&args[1], "0");
    }

    return ngx_conf_set_size_slot(cf, cmd, conf);
}


ngx_shm_zone_t *
ngx_http_guildlog_conf_zone(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    ngx_shm_zone_init_pt init)
{
    ngx_shm_zone_t  *zone;

    zone = ngx_shared_memory_add(cf, name, size, &ngx_http_guildlog_module);

    if (zone) {
        zone->init = init;
    }

    return zone;
}


ssize_t
ngx_http_guildlog_conf_read(ngx_conf_t *cf, ngx_str_t *file, u_char *buf,
    size_t size, ngx_uint_t level)
{
    ssize_t          n;
    ngx_fd_t         fd;
    ngx_file_info_t  fi;

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE || ngx_fd_info(fd, &fi) == NGX_FILE_ERROR) {
        n = -1;

    } else {
        n = ngx_read_fd(fd, buf, size);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "could not read \"%V\"", file);

    } else if (ngx_file_access(&fi) & S_IRWXO) {
        ngx_conf_log_error(level, cf, 0,
                           "\"%V\" %s not be readable by everybody", file,
                           level == NGX_LOG_EMERG ? "must" : "should");
        n = level == NGX_LOG_EMERG ? -1 : n;
    }

    if (fd != NGX_INVALID_FILE) {
        (void) ngx_close_file(fd);
    }

    return n;
}


char *
ngx_http_guildlog_conf_invalid(ngx_conf_t *cf, ngx_str_t *arg)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", arg);

    return NGX_CONF_ERROR;
}


void
ngx_http_guildlog_conf_used(ngx_conf_t *cf)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    gmcf->used = 1;
}


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


char *
ngx_http_guildlog_conf_params(ngx_conf_t *cf,
    const ngx_http_guildlog_conf_param_t *params, void *conf, ngx_uint_t from)
{
    char                                  *error;
    ngx_str_t                             *arg, *last, value;
    const ngx_http_guildlog_conf_param_t  *param;

    arg = cf->args->elts;
    last = arg + cf->args->nelts;

    for (arg += from; arg < last; arg++) {

        for (param = params; param->name; param++) {
            if (param->type == NGX_HTTP_GUILDLOG_CONF_WORD
                ? ngx_strcmp(arg->data, param->name) == 0
                : ngx_http_guildlog_conf_is(arg, param->name, &value))
            {
                break;
            }
        }

        error = param->name ? conf_set(cf, param, conf, &value)
                            : NGX_CONF_ERROR;

        if (error == NGX_CONF_ERROR) {
            return ngx_http_guildlog_conf_invalid(cf, arg);
        }

        if (error != NGX_CONF_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s parameter \"%V\"",
                               error, arg);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
conf_set(ngx_conf_t *cf, const ngx_http_guildlog_conf_param_t *param,
    void *conf, ngx_str_t *value)
{
    void        *field;
    ngx_int_t    n;
    ngx_flag_t  *flag;

    field = (char *) conf + param->offset;
    flag = field;

    switch (param->type) {

    case NGX_HTTP_GUILDLOG_CONF_STRING:
        *(ngx_str_t *) field = *value;
        return NGX_CONF_OK;

    case NGX_HTTP_GUILDLOG_CONF_FILE:
        *(ngx_str_t *) field = *value;
        return ngx_conf_full_name(cf->cycle, field, 1) == NGX_OK
               ? NGX_CONF_OK : NGX_CONF_ERROR;

    case NGX_HTTP_GUILDLOG_CONF_FLAG:
        *flag = ngx_strcmp(value->data, "on") == 0;
        return *flag || ngx_strcmp(value->data, "off") == 0 ? NGX_CONF_OK
                                                            : NGX_CONF_ERROR;

    case NGX_HTTP_GUILDLOG_CONF_WORD:
        *flag = 1;
        return NGX_CONF_OK;

    case NGX_HTTP_GUILDLOG_CONF_OTHER:
        return param->set(cf, field, value);

    default: /* NGX_HTTP_GUILDLOG_CONF_NUMBER, NGX_HTTP_GUILDLOG_CONF_TIME */
        break;
    }

    n = param->type == NGX_HTTP_GUILDLOG_CONF_TIME
        ? ngx_parse_time(value, 0) : ngx_atoi(value->data, value->len);

    if (n < param->min || n > param->max) {
        return NGX_CONF_ERROR;
    }

    *(ngx_uint_t *) field = n;

    return NGX_CONF_OK;
}
