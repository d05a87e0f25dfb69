
/*
 * Directives, configuration, and the life of a process.  No request logic.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"


#define NGX_HTTP_GUILDLOG_ZONE_SIZE   (10 * 1024 * 1024)
#define NGX_HTTP_GUILDLOG_CACHE       4096    /* tokens a worker remembers */
#define NGX_HTTP_GUILDLOG_IDLE        4       /* connections to the platform */
#define NGX_HTTP_GUILDLOG_PAGE_CACHE  (8 * 1024 * 1024)


static void *ngx_http_guildlog_create_main_conf(ngx_conf_t *cf);
static char *ngx_http_guildlog_init_main_conf(ngx_conf_t *cf, void *conf);
static ngx_int_t ngx_http_guildlog_init_keeper(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf);
static void *ngx_http_guildlog_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_guildlog_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static char *ngx_http_guildlog_merge_plane(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf);
static ngx_uint_t ngx_http_guildlog_is_pattern(
    ngx_http_core_loc_conf_t *clcf);
static ngx_int_t ngx_http_guildlog_preconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_guildlog_postconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_guildlog_init_process(ngx_cycle_t *cycle);
static ngx_int_t ngx_http_guildlog_init_databases(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);
static ngx_int_t ngx_http_guildlog_init_platform(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);
static void ngx_http_guildlog_exit_process(ngx_cycle_t *cycle);


#define NGX_HTTP_GUILDLOG_ANY_CONF                                            \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)


static ngx_conf_enum_t  ngx_http_guildlog_log_levels[] = {
    { ngx_string("info"), NGX_LOG_INFO },
    { ngx_string("notice"), NGX_LOG_NOTICE },
    { ngx_string("warn"), NGX_LOG_WARN },
    { ngx_string("error"), NGX_LOG_ERR },
    { ngx_null_string, 0 }
};


static ngx_command_t  ngx_http_guildlog_commands[] = {

    { ngx_string("guildlog_database"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_ANY,
      ngx_http_guildlog_conf_database,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_keeper"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_guildlog_conf_keeper,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_platform"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE12,
      ngx_http_guildlog_conf_delivery_platform,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_platform_rate"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_guildlog_conf_delivery_rate,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_bot_token"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE2,
      ngx_http_guildlog_conf_delivery_bot_token,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_delivery"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE123|NGX_CONF_TAKE4,
      ngx_http_guildlog_conf_delivery,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_delivery_unproved"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_guildlog_conf_delivery_unproved,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_key"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_TAKE23|NGX_CONF_TAKE4,
      ngx_http_guildlog_conf_key,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_issuer"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_guildlog_loc_conf_t, issuer),
      NULL },

    { ngx_string("guildlog_auth"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_TAKE12,
      ngx_http_guildlog_conf_auth,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_limit_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_guildlog_conf_limit_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_limit"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_guildlog_conf_limit,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("guildlog_limit_log_level"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_guildlog_loc_conf_t, limit_log_level),
      &ngx_http_guildlog_log_levels },

    { ngx_string("guildlog_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE12,
      ngx_http_guildlog_conf_serve,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_GUILDLOG_API,
      NULL },

    { ngx_string("guildlog_operator"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE123,
      ngx_http_guildlog_conf_serve,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_GUILDLOG_OPERATOR,
      NULL },

    { ngx_string("guildlog_max_body"),
      NGX_HTTP_GUILDLOG_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_size_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_guildlog_loc_conf_t, max_body),
      NULL },

    { ngx_string("guildlog_page_cache"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_size_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_http_guildlog_main_conf_t, page_cache),
      NULL },

    { ngx_string("guildlog_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_guildlog_conf_status,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_guildlog_module_ctx = {
    ngx_http_guildlog_preconfiguration,    /* preconfiguration */
    ngx_http_guildlog_postconfiguration,   /* postconfiguration */

    ngx_http_guildlog_create_main_conf,    /* create main configuration */
    ngx_http_guildlog_init_main_conf,      /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_guildlog_create_loc_conf,     /* create location configuration */
    ngx_http_guildlog_merge_loc_conf       /* merge location configuration */
};


ngx_module_t  ngx_http_guildlog_module = {
    NGX_MODULE_V1,
    &ngx_http_guildlog_module_ctx,         /* module context */
    ngx_http_guildlog_commands,            /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    ngx_http_guildlog_init_process,        /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_guildlog_exit_process,        /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


ngx_http_guildlog_worker_t  ngx_http_guildlog_worker;


static ngx_int_t
ngx_http_guildlog_init_process(ngx_cycle_t *cycle)
{
    ngx_http_guildlog_worker_t     *worker;
    ngx_http_core_loc_conf_t       *clcf;
    ngx_http_conf_ctx_t            *ctx;
    ngx_http_guildlog_main_conf_t  *gmcf;

    /* a cache manager or loader comes here too, and serves no request */

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    gmcf = ngx_http_cycle_get_module_main_conf(cycle,
                                               ngx_http_guildlog_module);
    if (gmcf == NULL || !gmcf->used) {
        return NGX_OK;
    }

    worker = &ngx_http_guildlog_worker;

    json_object_seed(0);

    ngx_guildlog_stats_enter(&worker->stats, gmcf->stats_zone);

    worker->seats = gmcf->seats_zone;
    ngx_guildlog_seats_enter(worker->seats);

    worker->cache = ngx_guildlog_jwt_cache_create(NGX_HTTP_GUILDLOG_CACHE,
                                                  cycle->log);
    if (worker->cache == NULL) {
        return NGX_ERROR;
    }

    if (gmcf->page_cache) {
        worker->shelf = ngx_guildlog_shelf_create(gmcf->page_cache,
                                                  cycle->log);
        if (worker->shelf == NULL) {
            return NGX_ERROR;
        }
    }

    ctx = (ngx_http_conf_ctx_t *) ngx_get_conf(cycle->conf_ctx,
                                               ngx_http_module);
    clcf = ctx->loc_conf[ngx_http_core_module.ctx_index];

    if (ngx_http_guildlog_init_databases(cycle, gmcf, clcf) != NGX_OK) {
        return NGX_ERROR;
    }

    return gmcf->delivers ? ngx_http_guildlog_init_platform(cycle, gmcf, clcf)
                          : NGX_OK;
}


static ngx_int_t
ngx_http_guildlog_init_databases(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf)
{
    ngx_uint_t                    i, n;
    ngx_guildlog_database_t     **databases;
    ngx_http_guildlog_worker_t   *worker;

    worker = &ngx_http_guildlog_worker;

    n = gmcf->databases.nelts;
    databases = gmcf->databases.elts;

    worker->pools = ngx_pcalloc(cycle->pool,
                                n * sizeof(ngx_guildlog_db_pool_t *));
    worker->keepers = ngx_pcalloc(cycle->pool,
                                  n * sizeof(ngx_guildlog_keeper_t *));

    if (worker->pools == NULL || worker->keepers == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < n; i++) {
        worker->pools[i] = ngx_guildlog_db_pool_create(cycle, databases[i],
                                                       clcf->resolver,
                                                       clcf->resolver_timeout,
                                                       &worker->stats);
        if (worker->pools[i] == NULL) {
            return NGX_ERROR;
        }

        worker->npools++;

        if (ngx_worker != 0 || !databases[i]->kept) {
            continue;
        }

        worker->keepers[i] = ngx_guildlog_keeper_create(cycle, &gmcf->keeper,
                                                        databases[i],
                                                        worker->pools[i],
                                                        &worker->stats);
        if (worker->keepers[i] == NULL) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* every worker asks the platform, one delivers to it */

static ngx_int_t
ngx_http_guildlog_init_platform(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf)
{
    ngx_http_guildlog_worker_t  *worker;

    worker = &ngx_http_guildlog_worker;

    worker->asker = ngx_guildlog_asks_enter(&worker->stats.shared->asks,
                                            ngx_process_slot);

    worker->client = ngx_guildlog_client_create(cycle,
                                 &gmcf->delivery->platform, clcf->resolver,
                                 clcf->resolver_timeout,
                                 NGX_HTTP_GUILDLOG_IDLE);
    if (worker->client == NULL) {
        return NGX_ERROR;
    }

    if (ngx_worker != 0) {
        return NGX_OK;
    }

    worker->delivery = ngx_guildlog_delivery_create(cycle, gmcf->delivery,
                                 worker->pools[gmcf->delivers_to->index],
                                 &worker->stats,
                                 clcf->resolver, clcf->resolver_timeout);

    return worker->delivery ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_guildlog_exit_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                   i;
    ngx_http_guildlog_worker_t  *worker;

    worker = &ngx_http_guildlog_worker;

    if (worker->delivery && ngx_process == NGX_PROCESS_SINGLE && ngx_quit) {
        ngx_guildlog_delivery_leave(worker->delivery, cycle);
    }

    if (worker->delivery) {
        ngx_guildlog_delivery_destroy(worker->delivery);
        worker->delivery = NULL;
    }

    if (worker->client) {
        ngx_guildlog_client_destroy(worker->client);
        worker->client = NULL;
    }

    for (i = 0; i < worker->npools; i++) {
        if (worker->keepers[i]) {
            ngx_guildlog_keeper_destroy(worker->keepers[i]);
        }

        ngx_guildlog_db_pool_destroy(worker->pools[i]);
    }

    worker->npools = 0;

    if (worker->cache) {
        ngx_guildlog_cache_destroy(worker->cache);
        worker->cache = NULL;
    }

    if (worker->shelf) {
        ngx_guildlog_shelf_destroy(worker->shelf);
        worker->shelf = NULL;
    }

    if (worker->stats.shared) {
        ngx_guildlog_stats_leave(&worker->stats);
    }
}


static void *
ngx_http_guildlog_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_main_conf_t));
    if (gmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&gmcf->databases, cf->pool, 2,
                       sizeof(ngx_guildlog_database_t *))
        != NGX_OK)
    {
        return NULL;
    }

    gmcf->page_cache = NGX_CONF_UNSET_SIZE;
    gmcf->keeper.on = NGX_CONF_UNSET;
    gmcf->keeper.budget = 20000;
    gmcf->keeper.from_hour = 2;
    gmcf->keeper.to_hour = 5;
    gmcf->keeper.interval = 1000;

    return gmcf;
}


static char *
ngx_http_guildlog_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_conf_init_value(gmcf->keeper.on, 1);
    ngx_conf_init_size_value(gmcf->page_cache, NGX_HTTP_GUILDLOG_PAGE_CACHE);

    if (gmcf->keeper.on
        && ngx_http_guildlog_init_keeper(cf, gmcf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return ngx_http_guildlog_conf_delivery_init(cf, gmcf);
}


static ngx_int_t
ngx_http_guildlog_init_keeper(ngx_conf_t *cf,
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


static void *
ngx_http_guildlog_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_guildlog_loc_conf_t  *glcf;

    glcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_loc_conf_t));
    if (glcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     glcf->issuer = { 0, NULL };
     *     glcf->serves = 0;
     *     glcf->open = 0;
     *     glcf->prefix = { 0, NULL };
     *     glcf->limit = NULL;
     *     glcf->database = NULL;
     */

    glcf->keys = NGX_CONF_UNSET_PTR;
    glcf->auth = NGX_CONF_UNSET_UINT;
    glcf->own_limit = NGX_CONF_UNSET_PTR;
    glcf->limit_log_level = NGX_CONF_UNSET_UINT;
    glcf->max_body = NGX_CONF_UNSET_SIZE;

    return glcf;
}


static char *
ngx_http_guildlog_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_guildlog_loc_conf_t *prev = parent;
    ngx_http_guildlog_loc_conf_t *conf = child;

    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /*
     * "if" and "limit_except" within the location belong to it, unless they
     * have a handler of their own
     */

    if (clcf->noname && prev->serves && clcf->handler == NULL) {
        conf->serves = 1;
        conf->open = prev->open;
        conf->plane = prev->plane;
        conf->prefix = prev->prefix;
        conf->database_name = prev->database_name;
        clcf->handler = ngx_http_guildlog_request_handler;
    }

    ngx_conf_merge_ptr_value(conf->keys, prev->keys, NULL);
    ngx_conf_merge_str_value(conf->issuer, prev->issuer, "guildlog");
    ngx_conf_merge_uint_value(conf->auth, prev->auth, 0);
    ngx_conf_merge_uint_value(conf->limit_log_level, prev->limit_log_level,
                              NGX_LOG_INFO);

    /* the default depends on the plane, so a level without one has none */

    if (conf->max_body == NGX_CONF_UNSET_SIZE) {
        conf->max_body = prev->max_body;
    }

    if (conf->serves && conf->max_body == NGX_CONF_UNSET_SIZE) {
        conf->max_body = conf->plane == NGX_GUILDLOG_OPERATOR
                         ? 8 * 1024 * 1024 : 64 * 1024;
    }

    ngx_conf_merge_ptr_value(conf->own_limit, prev->own_limit,
                             NGX_CONF_UNSET_PTR);

    if (conf->own_limit != NGX_CONF_UNSET_PTR) {
        conf->limit = conf->own_limit;

    } else if (conf->serves) {
        conf->limit = ngx_http_guildlog_conf_default_limit(cf);

        if (conf->limit == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    if (conf->serves) {
        return ngx_http_guildlog_merge_plane(cf, conf);
    }

    /* the keys may stand in the locations of a server, which has no name */

    if (conf->auth && conf->keys == NULL && clcf->name.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"guildlog_auth\" needs a \"guildlog_key\"");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_guildlog_merge_plane(ngx_conf_t *cf,
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

        if (ngx_http_guildlog_is_pattern(clcf)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "location \"%V\" does not tell the prefix of "
                               "its paths, \"%s\" needs it",
                               &clcf->name, name);
            return NGX_CONF_ERROR;
        }

        conf->prefix = clcf->name;
    }

    while (conf->prefix.len
           && conf->prefix.data[conf->prefix.len - 1] == '/')
    {
        conf->prefix.len--;
    }

    /*
     * nginx would answer a long body with a page of its own, and before the
     * token was looked at; guildlog_max_body bounds it behind the token.
     */

    clcf->client_max_body_size = 0;

    if (conf->plane == NGX_GUILDLOG_OPERATOR && !conf->open
        && ngx_http_guildlog_conf_operator_add(cf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* a regular expression, or a name for redirects: no path begins with it */

static ngx_uint_t
ngx_http_guildlog_is_pattern(ngx_http_core_loc_conf_t *clcf)
{
#if (NGX_PCRE)
    if (clcf->regex) {
        return 1;
    }
#endif

    return clcf->name.len == 0 || clcf->name.data[0] != '/';
}


static ngx_int_t
ngx_http_guildlog_preconfiguration(ngx_conf_t *cf)
{
    return ngx_http_guildlog_variables_add(cf);
}


static ngx_int_t
ngx_http_guildlog_postconfiguration(ngx_conf_t *cf)
{
    ngx_str_t                       name;
    ngx_http_handler_pt            *h;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    if (!gmcf->used) {
        return NGX_OK;
    }

    if (ngx_http_guildlog_conf_operator_check(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    if (gmcf->limit_zone && gmcf->limit_zone->shm.size == 0) {
        gmcf->limit_zone->shm.size = NGX_HTTP_GUILDLOG_ZONE_SIZE;
    }

    ngx_str_set(&name, "guildlog_stats");

    gmcf->stats_zone = ngx_shared_memory_add(cf, &name,
                                             ngx_guildlog_stats_zone_size(),
                                             &ngx_http_guildlog_module);
    if (gmcf->stats_zone == NULL) {
        return NGX_ERROR;
    }

    gmcf->stats_zone->init = ngx_guildlog_stats_init_zone;

    ngx_str_set(&name, "guildlog_seats");

    gmcf->seats_zone = ngx_shared_memory_add(cf, &name,
                                             NGX_GUILDLOG_SEATS_ZONE_SIZE,
                                             &ngx_http_guildlog_module);
    if (gmcf->seats_zone == NULL) {
        return NGX_ERROR;
    }

    gmcf->seats_zone->init = ngx_guildlog_seats_init_zone;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_guildlog_access_handler;

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_LOG_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_guildlog_request_log_handler;

    return NGX_OK;
}
