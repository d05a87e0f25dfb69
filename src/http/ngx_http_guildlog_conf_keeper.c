
/*
 * guildlog_keeper: which databases are kept, and when.
 */

#include "http/ngx_http_guildlog_conf.h"


static char *conf_keeper_database(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *conf_keeper_hours(ngx_conf_t *cf, void *field, ngx_str_t *value);


static const ngx_http_guildlog_conf_param_t  conf_keeper_params[] = {
    { "database", offsetof(ngx_http_guildlog_main_conf_t, keeper_databases),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_keeper_database },
    { "hours", offsetof(ngx_http_guildlog_main_conf_t, keeper),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_keeper_hours },
    { "budget", offsetof(ngx_http_guildlog_main_conf_t, keeper.budget),
      NGX_HTTP_GUILDLOG_CONF_NUMBER, 256, 1000000, NULL },
    { "interval", offsetof(ngx_http_guildlog_main_conf_t, keeper.interval),
      NGX_HTTP_GUILDLOG_CONF_TIME, 1, 3600000, NULL },
    { NULL, 0, NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL }
};


/* guildlog_keeper on | off [hours=h-h] [budget=n] [interval=t] [database=n] */

char *
ngx_http_guildlog_conf_keeper(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_str_t  *args;

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

    return ngx_http_guildlog_conf_params(cf, conf_keeper_params, gmcf, 2);
}


static char *
conf_keeper_database(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_array_t **databases = field;

    ngx_str_t   *name;
    ngx_uint_t   i;

    if (*databases == NULL) {
        *databases = ngx_array_create(cf->pool, 1, sizeof(ngx_str_t));
        if (*databases == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    name = (*databases)->elts;

    for (i = 0; i < (*databases)->nelts; i++) {
        if (ngx_guildlog_str_eq(&name[i], value)) {
            return "duplicate";
        }
    }

    name = ngx_array_push(*databases);
    if (name == NULL) {
        return NGX_CONF_ERROR;
    }

    *name = *value;

    return NGX_CONF_OK;
}


/* "2-5" is from 2:00 to 5:00, "22-3" goes over midnight, "0-24" is all day */

static char *
conf_keeper_hours(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_guildlog_keeper_conf_t *keeper = field;

    u_char     *dash, *end;
    ngx_int_t   first, last;

    end = value->data + value->len;
    dash = ngx_strlchr(value->data, end, '-');

    if (dash == NULL) {
        return NGX_CONF_ERROR;
    }

    first = ngx_atoi(value->data, dash - value->data);
    last = ngx_atoi(dash + 1, end - dash - 1);

    if (first < 0 || first > 23 || last < 0 || last > 24 || first == last) {
        return NGX_CONF_ERROR;
    }

    keeper->from_hour = first;
    keeper->to_hour = last;

    return NGX_CONF_OK;
}


ngx_int_t
ngx_http_guildlog_conf_keeper_init(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf)
{
    ngx_str_t                 *names;
    ngx_uint_t                 i;
    ngx_guildlog_database_t   *database, **databases;

    databases = gmcf->databases.elts;

    if (gmcf->keeper_databases == NULL) {

        for (i = 0; i < gmcf->databases.nelts; i++) {
            databases[i]->kept = i + 1;
        }

        return NGX_OK;
    }

    names = gmcf->keeper_databases->elts;

    for (i = 0; i < gmcf->keeper_databases->nelts; i++) {
        database = ngx_http_guildlog_conf_database_find(cf, &names[i]);
        if (database == NULL) {
            return NGX_ERROR;
        }

        database->kept = i + 1;
    }

    return NGX_OK;
}
