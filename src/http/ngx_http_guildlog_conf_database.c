
/*
 * guildlog_database: where a database is, and how to connect to it.
 */

#include "http/ngx_http_guildlog_conf.h"


static char *conf_database_hosts(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_database_target(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *conf_database_init(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);
static void conf_database_in_clear(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);
static ngx_int_t conf_database_password(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);
static ngx_guildlog_database_t *conf_database_named(
    ngx_http_guildlog_main_conf_t *gmcf, const ngx_str_t *name);
static char *conf_keeper_database(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *conf_keeper_hours(ngx_conf_t *cf, void *field, ngx_str_t *value);


static const ngx_http_guildlog_conf_param_t  conf_database_params[] = {
    conf_string("name", ngx_guildlog_database_t, name),
    conf_other("host", ngx_guildlog_database_t, hosts, conf_database_hosts),
    conf_number("port", ngx_guildlog_database_t, port, 1, 65535),
    conf_string("dbname", ngx_guildlog_database_t, dbname),
    conf_string("user", ngx_guildlog_database_t, user),
    conf_file("password_file", ngx_guildlog_database_t, password_file),
    conf_string("sslmode", ngx_guildlog_database_t, sslmode),
    conf_file("sslrootcert", ngx_guildlog_database_t, sslrootcert),
    conf_number("connections", ngx_guildlog_database_t,
                connections, 1, 1000000),
    conf_number("long_connections", ngx_guildlog_database_t,
                long_connections, 1, 1000000),
    conf_number("depth", ngx_guildlog_database_t, depth, 1, 1000000),
    conf_number("queue", ngx_guildlog_database_t, queue, 1, 1000000),
    conf_time("connect_timeout", ngx_guildlog_database_t,
              connect_timeout, 1, NGX_MAX_INT_T_VALUE),
    conf_time("timeout", ngx_guildlog_database_t,
              timeout, 1, NGX_MAX_INT_T_VALUE),
    conf_time("long_timeout", ngx_guildlog_database_t,
              long_timeout, 1, NGX_MAX_INT_T_VALUE),
    conf_time("queue_timeout", ngx_guildlog_database_t,
              queue_timeout, 1, NGX_MAX_INT_T_VALUE),
    conf_flag("prepare", ngx_guildlog_database_t, prepare),
    conf_other("target", ngx_guildlog_database_t,
               standby, conf_database_target),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_keeper_params[] = {
    conf_other("database", ngx_http_guildlog_main_conf_t,
               keeper_databases, conf_keeper_database),
    conf_other("hours", ngx_http_guildlog_main_conf_t,
               keeper, conf_keeper_hours),
    conf_number("budget", ngx_http_guildlog_main_conf_t,
                keeper.budget, 256, 1000000),
    conf_time("interval", ngx_http_guildlog_main_conf_t,
              keeper.interval, 1, 3600000),
    conf_last
};


char *
ngx_http_guildlog_conf_database(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_guildlog_database_t  *database, **added;

    database = ngx_pcalloc(cf->pool, sizeof(ngx_guildlog_database_t));
    if (database == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_array_init(&database->hosts, cf->pool, 2, sizeof(ngx_str_t))
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_str_set(&database->name, "default");
    ngx_str_set(&database->dbname, "guildlog");
    ngx_str_set(&database->user, "guildlog");
    ngx_str_set(&database->sslmode, "disable");

    database->port = 5432;
    database->connections = 4;
    database->long_connections = 2;
    database->depth = 8;
    database->queue = 1024;
    database->connect_timeout = 2000;
    database->timeout = 5000;
    database->long_timeout = 30000;
    database->queue_timeout = 2000;
    database->prepare = 1;

    if (ngx_http_guildlog_conf_params(cf, conf_database_params, database, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (conf_database_named(gmcf, &database->name)) {
        return "is duplicate";
    }

    database->index = gmcf->databases.nelts;

    added = ngx_array_push(&gmcf->databases);
    if (added == NULL) {
        return NGX_CONF_ERROR;
    }

    *added = database;

    ngx_http_guildlog_conf_used(cf);

    return conf_database_init(cf, database);
}


static char *
conf_database_hosts(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_array_t *hosts = field;

    u_char     *p, *last, *comma;
    ngx_str_t  *host;

    last = value->data + value->len;

    for (p = value->data; p <= last; p = comma + 1) {

        comma = ngx_strlchr(p, last, ',');

        if (comma == NULL) {
            comma = last;
        }

        if (comma == p) {
            return NGX_CONF_ERROR;
        }

        host = ngx_array_push(hosts);
        if (host == NULL) {
            return NGX_CONF_ERROR;
        }

        host->data = p;
        host->len = comma - p;
    }

    return NGX_CONF_OK;
}


static char *
conf_database_target(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_flag_t *standby = field;

    *standby = ngx_strcmp(value->data, "any") == 0;

    return *standby || ngx_strcmp(value->data, "primary") == 0
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
conf_database_init(ngx_conf_t *cf, ngx_guildlog_database_t *database)
{
    ngx_str_t  *host;

    if (database->hosts.nelts == 0) {
        host = ngx_array_push(&database->hosts);
        if (host == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_str_set(host, "/run/postgresql");
    }

    /* of two hosts each has a lag of its own, and an answer could go back */

    if (database->standby && database->hosts.nelts > 1) {
        return "with target=any takes one host";
    }

    if (ngx_strcmp(database->sslmode.data, "disable") != 0
        && ngx_strcmp(database->sslmode.data, "verify-full") != 0)
    {
        return "takes sslmode=disable or sslmode=verify-full: anything else "
               "would be content with a forged server";
    }

    if (database->sslrootcert.len == 0
        && ngx_strcmp(database->sslmode.data, "verify-full") == 0)
    {
        return "with sslmode=verify-full needs sslrootcert";
    }

    if (database->password_file.len
        && conf_database_password(cf, database) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (ngx_strcmp(database->sslmode.data, "disable") == 0) {
        conf_database_in_clear(cf, database);
    }

    return ngx_guildlog_db_host_resolve(cf, database);
}


/* passwords and logs that leave the host as they are */

static void
conf_database_in_clear(ngx_conf_t *cf, ngx_guildlog_database_t *database)
{
    ngx_str_t   *host;
    ngx_uint_t   i;

    host = database->hosts.elts;

    for (i = 0; i < database->hosts.nelts; i++) {

        if (host[i].data[0] == '/'
            || ngx_strncmp(host[i].data, "127.", 4) == 0
            || (host[i].len == 3 && ngx_strncmp(host[i].data, "::1", 3) == 0)
            || (host[i].len == 9
                && ngx_strncmp(host[i].data, "localhost", 9) == 0))
        {
            continue;
        }

        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "\"guildlog_database\" \"%V\" is reached over "
                           "TCP without TLS: sslmode=verify-full encrypts what "
                           "goes to \"%V\"", &database->name, &host[i]);
    }
}


static ngx_int_t
conf_database_password(ngx_conf_t *cf, ngx_guildlog_database_t *database)
{
    u_char      buf[256];
    ssize_t     n;
    ngx_str_t  *file;

    file = &database->password_file;

    n = ngx_http_guildlog_conf_read(cf, file, buf, sizeof(buf), NGX_LOG_WARN);

    if (n == -1) {
        return NGX_ERROR;
    }

    while (n && (buf[n - 1] == LF || buf[n - 1] == CR)) {
        n--;
    }

    if (n == 0 || n == sizeof(buf) || memchr(buf, '\0', n)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" does not hold a password", file);
        return NGX_ERROR;
    }

    database->password.len = n;
    database->password.data = ngx_pcalloc(cf->pool, n + 1);

    if (database->password.data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(database->password.data, buf, n);
    ngx_explicit_memzero(buf, sizeof(buf));

    return NGX_OK;
}


ngx_guildlog_database_t *
ngx_http_guildlog_conf_database_find(ngx_conf_t *cf, ngx_str_t *name,
    ngx_uint_t standby)
{
    ngx_guildlog_database_t        *database;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    if (name->len == 0) {
        ngx_str_set(name, "default");
    }

    database = conf_database_named(gmcf, name);

    if (database == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "no \"guildlog_database\" is named \"%V\"", name);
        return NULL;
    }

    if (database->standby != (ngx_flag_t) standby) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           standby ? "\"reads\" needs target=any of the "
                                     "\"guildlog_database\" \"%V\""
                                   : "\"guildlog_database\" \"%V\" has "
                                     "target=any, which is for \"reads\" only",
                           name);
        return NULL;
    }

    return database;
}


ngx_uint_t
ngx_http_guildlog_conf_database_same(const ngx_guildlog_database_t *one,
    const ngx_guildlog_database_t *other)
{
    ngx_str_t   *host, *others;
    ngx_uint_t   i;

    if (one->port != other->port
        || one->hosts.nelts != other->hosts.nelts
        || !ngx_guildlog_str_eq(&one->dbname, &other->dbname))
    {
        return 0;
    }

    host = one->hosts.elts;
    others = other->hosts.elts;

    for (i = 0; i < one->hosts.nelts; i++) {
        if (!ngx_guildlog_str_eq(&host[i], &others[i])) {
            return 0;
        }
    }

    return 1;
}


static ngx_guildlog_database_t *
conf_database_named(ngx_http_guildlog_main_conf_t *gmcf, const ngx_str_t *name)
{
    ngx_uint_t                 i;
    ngx_guildlog_database_t  **databases;

    databases = gmcf->databases.elts;

    for (i = 0; i < gmcf->databases.nelts; i++) {
        if (ngx_guildlog_str_eq(&databases[i]->name, name)) {
            return databases[i];
        }
    }

    return NULL;
}


/*
 * guildlog_keeper: which databases are kept, and when.
 */

/* guildlog_keeper on | off [budget=n] [interval=t] [database=n] */

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


/* version 0.1 had work to do at night */

static char *
conf_keeper_hours(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                       "the parameter \"hours\" of \"guildlog_keeper\" is "
                       "obsolete, take it out");

    return NGX_CONF_OK;
}


ngx_int_t
ngx_http_guildlog_conf_keeper_init(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf)
{
    ngx_str_t                 *names;
    ngx_uint_t                 i, n;
    ngx_guildlog_database_t   *database, **databases;

    n = 0;
    databases = gmcf->databases.elts;

    if (gmcf->keeper_databases == NULL) {

        for (i = 0; i < gmcf->databases.nelts; i++) {
            databases[i]->keeper = databases[i]->standby ? 0 : ++n;
        }

        return NGX_OK;
    }

    names = gmcf->keeper_databases->elts;

    for (i = 0; i < gmcf->keeper_databases->nelts; i++) {
        database = ngx_http_guildlog_conf_database_find(cf, &names[i], 0);
        if (database == NULL) {
            return NGX_ERROR;
        }

        database->keeper = i + 1;
    }

    return NGX_OK;
}
