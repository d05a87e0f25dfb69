
/*
 * guildlog_key, guildlog_auth, and what the directives share.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"
#include "shm/ngx_guildlog_limit.h"


/* ms: a standby is looked at twice a second */
#define CONF_LAG_LEAST   1000

/* how the names of zones of limits begin, for nginx */
#define CONF_LIMIT_ZONE  "guildlog_limit_"


typedef struct {
    ngx_http_core_loc_conf_t       *clcf;
    ngx_http_core_srv_conf_t       *cscf;
    ngx_uint_t                      open;
} conf_operator_t;


static ngx_uint_t conf_is_meant(const ngx_http_guildlog_conf_param_t *param,
    void *conf, ngx_str_t *arg, ngx_str_t *value);
static char *conf_set(ngx_conf_t *cf,
    const ngx_http_guildlog_conf_param_t *param, void *conf, ngx_str_t *value);
static char *conf_plane_plan(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_plane_reads(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf);
static ngx_shm_zone_t *conf_limit_add_zone(ngx_conf_t *cf, ngx_str_t *name,
    size_t size);
static char *conf_limit_key(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_limit_init(ngx_conf_t *cf,
    ngx_http_guildlog_limit_conf_t *limit);
static ngx_http_guildlog_limit_conf_t *conf_limit_create(ngx_conf_t *cf);
static ngx_int_t conf_operator_add(ngx_conf_t *cf, ngx_uint_t open);
static ngx_int_t conf_operator_check_address(ngx_conf_t *cf,
    conf_operator_t *operator, ngx_http_conf_addr_t *addr);
#if (NGX_HAVE_UNIX_DOMAIN)
static void conf_operator_clear(ngx_conf_t *cf, struct sockaddr *sockaddr);
#endif


static const ngx_http_guildlog_conf_param_t  conf_api_params[] = {
    conf_path("a prefix", ngx_http_guildlog_loc_conf_t, prefix),
    conf_string("database", ngx_http_guildlog_loc_conf_t, database_name),
    conf_string("reads", ngx_http_guildlog_loc_conf_t, reads_name),
    conf_time("max_lag", ngx_http_guildlog_loc_conf_t, max_lag, CONF_LAG_LEAST,
              NGX_MAX_INT_T_VALUE),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_operator_params[] = {
    conf_path("a prefix", ngx_http_guildlog_loc_conf_t, prefix),
    conf_string("database", ngx_http_guildlog_loc_conf_t, database_name),
    conf_other("plan", ngx_http_guildlog_loc_conf_t, plan, conf_plane_plan),
    conf_word_once("open", ngx_http_guildlog_loc_conf_t, open),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_limit_params[] = {
    conf_string("zone", ngx_http_guildlog_limit_conf_t, zone_name),
    conf_other("key", ngx_http_guildlog_limit_conf_t, key, conf_limit_key),
    conf_number("requests", ngx_http_guildlog_limit_conf_t,
                requests, 1, 1000000000),
    conf_time("window", ngx_http_guildlog_limit_conf_t,
              window, 1, NGX_MAX_INT_T_VALUE),
    conf_word("dry_run", ngx_http_guildlog_limit_conf_t, dry_run),
    conf_last
};


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

    glcf->auth = cf->args->nelts == 3 ? NGX_GUILDLOG_FOR_ADMIN
                                      : NGX_GUILDLOG_FOR_ANY;

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


ngx_int_t
ngx_http_guildlog_conf_zones_check(ngx_conf_t *cf)
{
    ngx_str_t         name;
    ngx_uint_t        i;
    ngx_shm_zone_t   *zone;
    ngx_list_part_t  *part;

    for (part = &cf->cycle->shared_memory.part; part; part = part->next) {
        zone = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (zone[i].tag != &ngx_http_guildlog_module
                || zone[i].shm.size != 0)
            {
                continue;
            }

            name = zone[i].shm.name;
            name.data += sizeof(CONF_LIMIT_ZONE) - 1;
            name.len -= sizeof(CONF_LIMIT_ZONE) - 1;

            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "no \"guildlog_limit_zone\" is named \"%V\", "
                          "which a \"guildlog_limit\" uses", &name);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
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

    } else if (level && (ngx_file_access(&fi) & S_IRWXO)) {
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


void
ngx_http_guildlog_conf_used(ngx_conf_t *cf)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    gmcf->used = 1;
}


char *
ngx_http_guildlog_conf_params(ngx_conf_t *cf,
    const ngx_http_guildlog_conf_param_t *params, void *conf, ngx_uint_t from)
{
    char                                  *error;
    u_char                                *p, known[256];
    ngx_str_t                             *arg, *last, value;
    const ngx_http_guildlog_conf_param_t  *param;

    arg = cf->args->elts;
    last = arg + cf->args->nelts;

    for (arg += from; arg < last; arg++) {
        p = known;

        for (param = params; param->name; param++) {
            if (conf_is_meant(param, conf, arg, &value)) {
                break;
            }

            p = ngx_slprintf(p, known + sizeof(known), "%s%s%s",
                             param == params ? "" : ", ", param->name,
                             param->type == NGX_HTTP_GUILDLOG_CONF_WORD
                             || param->type == NGX_HTTP_GUILDLOG_CONF_PATH
                             ? "" : "=");
        }

        if (param->name == NULL) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\", it takes %*s", arg,
                               (size_t) (p - known), known);
            return NGX_CONF_ERROR;
        }

        error = conf_set(cf, param, conf, &value);

        if (error != NGX_CONF_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s parameter \"%V\"",
                               error == NGX_CONF_ERROR ? "invalid" : error,
                               arg);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static ngx_uint_t
conf_is_meant(const ngx_http_guildlog_conf_param_t *param, void *conf,
    ngx_str_t *arg, ngx_str_t *value)
{
    void    *field;
    size_t   len;

    len = ngx_strlen(param->name);
    field = (u_char *) conf + param->offset;

    switch (param->type) {

    case NGX_HTTP_GUILDLOG_CONF_WORD:
        return ngx_strcmp(arg->data, param->name) == 0
               && !(param->min && *(ngx_flag_t *) field);

    case NGX_HTTP_GUILDLOG_CONF_PATH:
        *value = *arg;
        return arg->data[0] == '/' && ((ngx_str_t *) field)->len == 0;

    default: /* "name=value", with a value */

        if (arg->len <= len + 1 || arg->data[len] != '='
            || ngx_strncmp(arg->data, param->name, len) != 0)
        {
            return 0;
        }

        value->data = arg->data + len + 1;
        value->len = arg->len - len - 1;

        return 1;
    }
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

    case NGX_HTTP_GUILDLOG_CONF_PATH:
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


/*
 * guildlog_api, guildlog_operator, guildlog_status: what a location serves.
 */

char *
ngx_http_guildlog_conf_plane(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_loc_conf_t *glcf = conf;

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

    if (ngx_http_guildlog_conf_params(cf, cmd->offset == NGX_GUILDLOG_API
                                          ? conf_api_params
                                          : conf_operator_params, glcf, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (glcf->max_lag && glcf->reads_name.len == 0) {
        return "with max_lag needs reads";
    }

    if (glcf->plan.len == 0) {
        ngx_str_set(&glcf->plan, "free");
    }

    glcf->max_lag = glcf->max_lag ? glcf->max_lag : 5000;
    glcf->serves = 1;
    glcf->plane = (ngx_guildlog_plane_e) cmd->offset;

    clcf->handler = ngx_http_guildlog_request_handler;

    ngx_http_guildlog_conf_used(cf);

    return NGX_CONF_OK;
}


static char *
conf_plane_plan(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *plan = field;

    static const char  *plans[] = { "free", "pro_lite", "pro", NULL };

    *plan = *value;

    return ngx_guildlog_value_is_one(plans, value) ? NGX_CONF_OK
                                                   : NGX_CONF_ERROR;
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
                                                   &conf->database_name, 0);
    if (conf->database == NULL) {
        return NGX_CONF_ERROR;
    }

    if (conf->reads_name.len
        && conf_plane_reads(cf, conf) != NGX_CONF_OK)
    {
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

    if (conf->plane == NGX_GUILDLOG_OPERATOR) {
        conf->database->operates = 1;

        if (conf_operator_add(cf, conf->open) != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
conf_plane_reads(ngx_conf_t *cf, ngx_http_guildlog_loc_conf_t *conf)
{
    conf->reads = ngx_http_guildlog_conf_database_find(cf, &conf->reads_name,
                                                       1);
    if (conf->reads == NULL) {
        return NGX_CONF_ERROR;
    }

    if (conf->reads->primary && conf->reads->primary != conf->database) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"guildlog_database\" \"%V\" is read for two "
                           "databases, \"%V\" and \"%V\"", &conf->reads_name,
                           &conf->reads->primary->name, &conf->database->name);
        return NGX_CONF_ERROR;
    }

    conf->reads->primary = conf->database;

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


/*
 * guildlog_limit and guildlog_limit_zone.
 */

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

    if (ngx_guildlog_print(cf->pool, &prefixed, CONF_LIMIT_ZONE "%V", name)
        != NGX_OK)
    {
        return NULL;
    }

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
    const ngx_str_t  *key;

    static const ngx_str_t  none = ngx_null_string;

    limit->zone = conf_limit_add_zone(cf, &limit->zone_name, 0);
    if (limit->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    /* different limits may share a zone: the prefix tells their keys apart */

    key = limit->key ? &limit->key->value : &none;

    return ngx_guildlog_print(cf->pool, &limit->prefix, "%ui/%M %uz:%V ",
                              limit->requests, limit->window, key->len, key)
           == NGX_OK
           && ngx_guildlog_print(cf->pool, &limit->policy,
                                 "\"default\";q=%ui;w=%M", limit->requests,
                                 (limit->window + 999) / 1000)
              == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
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


/*
 * The addresses of the operator's plane.
 *
 * Its fence: whoever reaches it can mint tokens.  The folder of a unix socket
 * tells who may; over TCP "open" says that something else does.
 *
 * Its socket: nginx does not bind a path that exists.  So the socket of an
 * nginx that was killed would keep the next one from starting, with all its
 * sites.  A socket that nobody listens on is removed.
 */

/* remembers the location that is being merged; NGX_ERROR: out of memory */

static ngx_int_t
conf_operator_add(ngx_conf_t *cf, ngx_uint_t open)
{
    conf_operator_t                *operator;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    if (gmcf->operators == NULL) {
        gmcf->operators = ngx_array_create(cf->pool, 2,
                                      sizeof(conf_operator_t));
        if (gmcf->operators == NULL) {
            return NGX_ERROR;
        }
    }

    operator = ngx_array_push(gmcf->operators);
    if (operator == NULL) {
        return NGX_ERROR;
    }

    operator->clcf = ngx_http_conf_get_module_loc_conf(cf,
                                                       ngx_http_core_module);
    operator->cscf = ngx_http_conf_get_module_srv_conf(cf,
                                                       ngx_http_core_module);
    operator->open = open;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_conf_operator_check(ngx_conf_t *cf)
{
    ngx_uint_t                      i, j, n;
    conf_operator_t                *operator;
    ngx_http_conf_addr_t           *addr;
    ngx_http_conf_port_t           *port;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    if (gmcf->operators == NULL || cmcf->ports == NULL) {
        return NGX_OK;
    }

    operator = gmcf->operators->elts;
    port = cmcf->ports->elts;

    for (i = 0; i < cmcf->ports->nelts; i++) {

        addr = port[i].addrs.elts;

        for (j = 0; j < port[i].addrs.nelts; j++) {
            for (n = 0; n < gmcf->operators->nelts; n++) {

                if (conf_operator_check_address(cf, &operator[n], &addr[j])
                    != NGX_OK)
                {
                    return NGX_ERROR;
                }
            }
        }
    }

    return NGX_OK;
}


static ngx_int_t
conf_operator_check_address(ngx_conf_t *cf, conf_operator_t *operator,
    ngx_http_conf_addr_t *addr)
{
    ngx_uint_t                  i;
    ngx_http_core_srv_conf_t  **server;

    server = addr->servers.elts;

    for (i = 0; i < addr->servers.nelts; i++) {
        if (server[i] == operator->cscf) {
            break;
        }
    }

    if (i == addr->servers.nelts) {
        return NGX_OK;
    }

#if (NGX_HAVE_UNIX_DOMAIN)
    if (addr->opt.sockaddr->sa_family == AF_UNIX) {
        conf_operator_clear(cf, addr->opt.sockaddr);
        return NGX_OK;
    }
#endif

    if (operator->open) {
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"guildlog_operator\" in location \"%V\" can be "
                       "reached over TCP: use a unix socket, or say \"open\" "
                       "where something guards the location",
                       &operator->clcf->name);

    return NGX_ERROR;
}


#if (NGX_HAVE_UNIX_DOMAIN)

static void
conf_operator_clear(ngx_conf_t *cf, struct sockaddr *sockaddr)
{
    int                  rc;
    char                *path;
    ngx_err_t            err;
    ngx_socket_t         s;
    ngx_file_info_t      info;
    struct sockaddr_un  *address;

    if (ngx_test_config || ngx_process == NGX_PROCESS_SIGNALLER) {
        return;
    }

    address = (struct sockaddr_un *) sockaddr;
    path = address->sun_path;

    /* connect() is refused by a file that is no socket, too */

    if (ngx_link_info(path, &info) == NGX_FILE_ERROR
        || !S_ISSOCK(info.st_mode))
    {
        return;
    }

    s = ngx_socket(AF_UNIX, SOCK_STREAM, 0);
    if (s == (ngx_socket_t) -1) {
        return;
    }

    /* a listener that is busy must not hold this up: it is there */

    rc = ngx_nonblocking(s);

    if (rc == 0) {
        rc = connect(s, sockaddr, sizeof(struct sockaddr_un));
    }

    err = rc == -1 ? ngx_socket_errno : 0;

    (void) ngx_close_socket(s);

    if (err != NGX_ECONNREFUSED) {
        return;
    }

    if (ngx_delete_file(path) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, ngx_errno,
                           ngx_delete_file_n " \"%s\" failed", path);
        return;
    }

    ngx_conf_log_error(NGX_LOG_NOTICE, cf, 0,
                       "nobody listened on \"unix:%s\", it is removed", path);
}

#endif
