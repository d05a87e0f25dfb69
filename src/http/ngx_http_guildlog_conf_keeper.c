
/*
 * guildlog_keeper: which databases are kept, and when.
 */

#include "http/ngx_http_guildlog_conf.h"


static ngx_int_t conf_keeper_param(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_str_t *arg);
static ngx_int_t conf_keeper_hours(ngx_str_t *value, ngx_uint_t *from,
    ngx_uint_t *to);


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
        rc = conf_keeper_param(cf, gmcf, &args[i]);

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
conf_keeper_param(ngx_conf_t *cf, ngx_http_guildlog_main_conf_t *gmcf,
    ngx_str_t *arg)
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
            if (ngx_guildlog_str_eq(&name[i], &value)) {
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
        return conf_keeper_hours(&value, &keeper->from_hour, &keeper->to_hour);
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


/* "2-5" is from 2:00 to 5:00, "22-3" goes over midnight, "0-24" is all day */

static ngx_int_t
conf_keeper_hours(ngx_str_t *value, ngx_uint_t *from, ngx_uint_t *to)
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
