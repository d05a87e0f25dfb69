
/*
 * What the directives say, read into the configuration.
 */

#include "ngx_http_guildlog.h"


#define NGX_HTTP_GUILDLOG_REQUESTS  500
#define NGX_HTTP_GUILDLOG_WINDOW    10000


typedef char *(*ngx_http_guildlog_param_pt)(ngx_conf_t *cf, void *field,
    ngx_str_t *value);

typedef struct {
    const char                    *name;
    size_t                         offset;
    ngx_http_guildlog_param_pt     set;
} ngx_http_guildlog_param_t;


static char *ngx_http_guildlog_param_hosts(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_port(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_string(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_file(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_number(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_time(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_param_flag(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static char *ngx_http_guildlog_init_database(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);
static ngx_int_t ngx_http_guildlog_read_password(ngx_conf_t *cf,
    ngx_guildlog_database_t *database);
static ngx_shm_zone_t *ngx_http_guildlog_add_zone(ngx_conf_t *cf,
    ngx_str_t *name, size_t size);
static char *ngx_http_guildlog_limit_param(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit, ngx_str_t *arg);
static char *ngx_http_guildlog_init_limit(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit);
static ngx_http_guildlog_limit_conf_t *ngx_http_guildlog_create_limit(
    ngx_conf_t *cf);
static void ngx_http_guildlog_used(ngx_conf_t *cf);
static ngx_uint_t ngx_http_guildlog_is(ngx_str_t *arg, const char *name,
    ngx_str_t *value);


static const ngx_http_guildlog_param_t
    ngx_http_guildlog_database_params[] =
{
    { "host", offsetof(ngx_guildlog_database_t, hosts),
      ngx_http_guildlog_param_hosts },
    { "port", offsetof(ngx_guildlog_database_t, port),
      ngx_http_guildlog_param_port },
    { "dbname", offsetof(ngx_guildlog_database_t, dbname),
      ngx_http_guildlog_param_string },
    { "user", offsetof(ngx_guildlog_database_t, user),
      ngx_http_guildlog_param_string },
    { "password_file", offsetof(ngx_guildlog_database_t, password_file),
      ngx_http_guildlog_param_file },
    { "sslmode", offsetof(ngx_guildlog_database_t, sslmode),
      ngx_http_guildlog_param_string },
    { "sslrootcert", offsetof(ngx_guildlog_database_t, sslrootcert),
      ngx_http_guildlog_param_file },
    { "connections", offsetof(ngx_guildlog_database_t, connections),
      ngx_http_guildlog_param_number },
    { "long_connections", offsetof(ngx_guildlog_database_t, long_connections),
      ngx_http_guildlog_param_number },
    { "depth", offsetof(ngx_guildlog_database_t, depth),
      ngx_http_guildlog_param_number },
    { "queue", offsetof(ngx_guildlog_database_t, queue),
      ngx_http_guildlog_param_number },
    { "connect_timeout", offsetof(ngx_guildlog_database_t, connect_timeout),
      ngx_http_guildlog_param_time },
    { "timeout", offsetof(ngx_guildlog_database_t, timeout),
      ngx_http_guildlog_param_time },
    { "long_timeout", offsetof(ngx_guildlog_database_t, long_timeout),
      ngx_http_guildlog_param_time },
    { "queue_timeout", offsetof(ngx_guildlog_database_t, queue_timeout),
      ngx_http_guildlog_param_time },
    { "prepare", offsetof(ngx_guildlog_database_t, prepare),
      ngx_http_guildlog_param_flag },
    { NULL, 0, NULL }
};


char *
ngx_http_guildlog_conf_database(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    char                              *error;
    ngx_str_t                         *args, value;
    ngx_uint_t                         i, j;
    ngx_guildlog_database_t           *database, **databases;
    const ngx_http_guildlog_param_t   *param;

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

    args = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_guildlog_is(&args[i], "name", &database->name)) {
            continue;
        }

        for (param = ngx_http_guildlog_database_params; param->name; param++)
        {
            if (ngx_http_guildlog_is(&args[i], param->name, &value)) {
                break;
            }
        }

        error = param->name
                ? param->set(cf, (char *) database + param->offset, &value)
                : "unknown";

        if (error != NGX_CONF_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\"", &args[i]);
            return NGX_CONF_ERROR;
        }
    }

    databases = gmcf->databases.elts;

    for (j = 0; j < gmcf->databases.nelts; j++) {
        if (databases[j]->name.len == database->name.len
            && ngx_strncmp(databases[j]->name.data, database->name.data,
                           database->name.len)
               == 0)
        {
            return "is duplicate";
        }
    }

    database->index = gmcf->databases.nelts;

    databases = ngx_array_push(&gmcf->databases);
    if (databases == NULL) {
        return NGX_CONF_ERROR;
    }

    *databases = database;

    ngx_http_guildlog_used(cf);

    return ngx_http_guildlog_init_database(cf, database);
}


static char *
ngx_http_guildlog_param_hosts(ngx_conf_t *cf, void *field, ngx_str_t *value)
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
ngx_http_guildlog_param_port(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    in_port_t *port = field;

    ngx_int_t  n;

    n = ngx_atoi(value->data, value->len);

    if (n < 1 || n > 65535) {
        return NGX_CONF_ERROR;
    }

    *port = (in_port_t) n;

    return NGX_CONF_OK;
}


static char *
ngx_http_guildlog_param_string(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *s = field;

    *s = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_guildlog_param_file(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *s = field;

    *s = *value;

    return ngx_conf_full_name(cf->cycle, s, 1) == NGX_OK ? NGX_CONF_OK
                                                         : NGX_CONF_ERROR;
}


static char *
ngx_http_guildlog_param_number(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_uint_t *number = field;

    ngx_int_t  n;

    n = ngx_atoi(value->data, value->len);

    if (n < 1 || n > 1000000) {
        return NGX_CONF_ERROR;
    }

    *number = n;

    return NGX_CONF_OK;
}


static char *
ngx_http_guildlog_param_time(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_msec_t *time_ms = field;

    ngx_int_t  n;

    n = ngx_parse_time(value, 0);

    if (n < 1) {
        return NGX_CONF_ERROR;
    }

    *time_ms = n;

    return NGX_CONF_OK;
}


static char *
ngx_http_guildlog_param_flag(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_flag_t *flag = field;

    *flag = ngx_strcmp(value->data, "on") == 0;

    return *flag || ngx_strcmp(value->data, "off") == 0 ? NGX_CONF_OK
                                                        : NGX_CONF_ERROR;
}


static char *
ngx_http_guildlog_init_database(ngx_conf_t *cf,
    ngx_guildlog_database_t *database)
{
    ngx_str_t  *host;

    if (database->hosts.nelts == 0) {
        host = ngx_array_push(&database->hosts);
        if (host == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_str_set(host, "/run/postgresql");
    }

    if (ngx_strcmp(database->sslmode.data, "disable") != 0
        && ngx_strcmp(database->sslmode.data, "verify-full") != 0)
    {
        return "takes sslmode=disable or sslmode=verify-full: anything else "
               "would be content with a forged server";
    }

    if (database->password_file.len
        && ngx_http_guildlog_read_password(cf, database) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return ngx_guildlog_database_resolve(cf, database);
}


static ngx_int_t
ngx_http_guildlog_read_password(ngx_conf_t *cf,
    ngx_guildlog_database_t *database)
{
    u_char      buf[256];
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_str_t  *file;

    file = &database->password_file;

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    n = fd == NGX_INVALID_FILE ? -1 : ngx_read_fd(fd, buf, sizeof(buf));

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "could not read \"%V\"", file);
    }

    if (fd != NGX_INVALID_FILE) {
        (void) ngx_close_file(fd);
    }

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
        if (ngx_http_guildlog_is(&args[i], "database", &glcf->database_name)) {
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

    clcf->handler = ngx_http_guildlog_content_handler;

    ngx_http_guildlog_used(cf);

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

    ngx_http_guildlog_used(cf);

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

        if (ngx_array_init(&glcf->keys->list, cf->pool, 2,
                           sizeof(ngx_guildlog_key_t))
            != NGX_OK)
        {
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

    ngx_http_guildlog_used(cf);

    return NGX_CONF_OK;
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

    ngx_http_guildlog_used(cf);

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

    if (ngx_http_guildlog_is(arg, "zone", &limit->zone_name)) {
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_is(arg, "requests", &value)) {
        n = ngx_atoi(value.data, value.len);

        if (n < 1 || n > 1000000000) {
            goto invalid;
        }

        limit->requests = n;
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_is(arg, "window", &value)) {
        n = ngx_parse_time(&value, 0);

        if (n < 1) {
            goto invalid;
        }

        limit->window = n;
        return NGX_CONF_OK;
    }

    if (ngx_http_guildlog_is(arg, "key", &value)) {
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
    u_char  *p;

    limit->zone = ngx_http_guildlog_add_zone(cf, &limit->zone_name, 0);
    if (limit->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    /*
     * Limits that differ may share a zone: what tells their windows apart
     * stands before the key.
     */

    p = ngx_pnalloc(cf->pool, 2 * (NGX_INT_T_LEN + 2));
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->prefix.data = p;
    limit->prefix.len = ngx_sprintf(p, "%ui/%M ", limit->requests,
                                    limit->window)
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
ngx_http_guildlog_default_limit(ngx_conf_t *cf)
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


static void
ngx_http_guildlog_used(ngx_conf_t *cf)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    gmcf->used = 1;
}


/* "name=value": splits a parameter of a directive; the value is not empty */

static ngx_uint_t
ngx_http_guildlog_is(ngx_str_t *arg, const char *name, ngx_str_t *value)
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
