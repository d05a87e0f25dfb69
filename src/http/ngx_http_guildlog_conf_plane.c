
/*
 * guildlog_api, guildlog_operator, guildlog_status: what a location serves.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"


char *
ngx_http_guildlog_conf_plane(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
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
            return ngx_http_guildlog_conf_invalid(cf, &args[i]);
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
ngx_http_guildlog_conf_plane_status(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
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
ngx_http_guildlog_conf_plane_merge(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf)
{
    const char                *name;
    ngx_http_core_loc_conf_t  *clcf;

    name = conf->plane == NGX_GUILDLOG_API ? "guildlog_api"
                                           : "guildlog_operator";

    conf->database = ngx_http_guildlog_conf_database_find(cf,
                                                          &conf->database_name);
    if (conf->database == NULL) {
        return NGX_CONF_ERROR;
    }

    if (conf->keys == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%s\" needs a \"guildlog_key\"", name);
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler != ngx_http_guildlog_request_handler) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "location \"%V\" has another handler beside "
                           "\"%s\"", &clcf->name, name);
        return NGX_CONF_ERROR;
    }

    if (conf->prefix.data == NULL) {

        if (ngx_http_guildlog_conf_plane_is_pattern(clcf)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "location \"%V\" does not tell the prefix of "
                               "its paths, \"%s\" needs it",
                               &clcf->name, name);
            return NGX_CONF_ERROR;
        }

        conf->prefix = clcf->name;
    }

    while (conf->prefix.len && conf->prefix.data[conf->prefix.len - 1] == '/') {
        conf->prefix.len--;
    }

    /*
     * nginx would refuse a long body with a page of its own, before the token
     * is verified.  guildlog_max_body is checked after that.
     */

    clcf->client_max_body_size = 0;

    if (conf->plane == NGX_GUILDLOG_OPERATOR
        && ngx_http_guildlog_conf_operator_add(cf, conf->open) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


ngx_uint_t
ngx_http_guildlog_conf_plane_is_pattern(ngx_http_core_loc_conf_t *clcf)
{
#if (NGX_PCRE)
    if (clcf->regex) {
        return 1;
    }
#endif

    return clcf->name.len == 0 || clcf->name.data[0] != '/';
}
