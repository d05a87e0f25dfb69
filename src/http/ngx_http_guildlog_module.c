
/*
 * The directives, their inheritance, and the handlers of nginx's phases.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_login.h"


#define MODULE_LIMIT_ZONE    (10 * 1024 * 1024)
#define MODULE_PAGE_CACHE    (8 * 1024 * 1024)
#define MODULE_SEARCH_CACHE  (32 * 1024 * 1024)


/* directives by where they may stand */

#define module_main(name, args, set, offset, post)                            \
    { ngx_string(name), NGX_HTTP_MAIN_CONF|args, set,                         \
      NGX_HTTP_MAIN_CONF_OFFSET, offset, post }
#define module_location(name, args, set, offset, post)                        \
    { ngx_string(name), NGX_HTTP_LOC_CONF|args, set,                          \
      NGX_HTTP_LOC_CONF_OFFSET, offset, post }
#define module_any(name, args, set, offset, post)                             \
    module_location(name, NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|args, set,     \
                    offset, post)


#define WORKER_CACHE  4096    /* tokens a worker remembers */
#define WORKER_RESTS  262144  /* bytes, of people who cannot be renewed */
#define WORKER_REST   4       /* whole s, in which this is not tried again */
#define WORKER_IDLE   4       /* connections to the platform */


static void *module_create_main_conf(ngx_conf_t *cf);
static char *module_init_main_conf(ngx_conf_t *cf, void *conf);
static void *module_create_srv_conf(ngx_conf_t *cf);
static void *module_create_loc_conf(ngx_conf_t *cf);
static char *module_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static ngx_int_t module_postconfiguration(ngx_conf_t *cf);
static ngx_int_t worker_init(ngx_cycle_t *cycle);
static ngx_int_t worker_watch(ngx_cycle_t *cycle);
static void worker_expired(ngx_event_t *ev);
static ngx_int_t worker_databases(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);
static ngx_int_t worker_platform(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);
static void worker_exit(ngx_cycle_t *cycle);
static void worker_forget(ngx_guildlog_cache_t **cache);


static ngx_conf_enum_t  module_log_levels[] = {
    { ngx_string("info"), NGX_LOG_INFO },
    { ngx_string("notice"), NGX_LOG_NOTICE },
    { ngx_string("warn"), NGX_LOG_WARN },
    { ngx_string("error"), NGX_LOG_ERR },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  module_colors[] = {
    { ngx_string("kind"), 0 },
    { ngx_string("category"), 1 },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  module_unproved[] = {
    { ngx_string("keep"), 0 },
    { ngx_string("resend"), 1 },
    { ngx_null_string, 0 }
};


static ngx_command_t  module_commands[] = {

    module_main("guildlog_database", NGX_CONF_ANY,
                ngx_http_guildlog_conf_database, 0, NULL),
    module_main("guildlog_keeper", NGX_CONF_1MORE,
                ngx_http_guildlog_conf_keeper, 0, NULL),
    module_main("guildlog_platform", NGX_CONF_TAKE123,
                ngx_http_guildlog_conf_delivery_platform, 0, NULL),
    module_main("guildlog_links", NGX_CONF_TAKE12,
                ngx_http_guildlog_conf_message_links, 0, NULL),
    module_main("guildlog_webhook", NGX_CONF_TAKE12,
                ngx_http_guildlog_conf_message_webhook, 0, NULL),
    module_main("guildlog_colors", NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
                offsetof(ngx_http_guildlog_main_conf_t,
                         delivery.style.by_category),
                &module_colors),
    module_main("guildlog_platform_rate", NGX_CONF_TAKE1,
                ngx_http_guildlog_conf_delivery_rate, 0, NULL),
    module_main("guildlog_bot_token", NGX_CONF_TAKE2,
                ngx_http_guildlog_conf_delivery_bot_token, 0, NULL),
    module_main("guildlog_delivery", NGX_CONF_TAKE123|NGX_CONF_TAKE4,
                ngx_http_guildlog_conf_delivery, 0, NULL),
    module_main("guildlog_delivery_unproved", NGX_CONF_TAKE1,
                ngx_conf_set_enum_slot,
                offsetof(ngx_http_guildlog_main_conf_t, delivery.resend),
                &module_unproved),
    module_any("guildlog_key", NGX_CONF_TAKE23|NGX_CONF_TAKE4,
               ngx_http_guildlog_conf_key, 0, NULL),
    module_any("guildlog_issuer", NGX_CONF_TAKE1, ngx_conf_set_str_slot,
               offsetof(ngx_http_guildlog_loc_conf_t, issuer), NULL),
    module_any("guildlog_auth", NGX_CONF_TAKE12, ngx_http_guildlog_conf_auth,
               0, NULL),
    module_main("guildlog_limit_zone", NGX_CONF_TAKE1,
                ngx_http_guildlog_conf_limit_zone, 0, NULL),
    module_any("guildlog_limit", NGX_CONF_1MORE, ngx_http_guildlog_conf_limit,
               0, NULL),
    module_any("guildlog_limit_log_level", NGX_CONF_TAKE1,
               ngx_conf_set_enum_slot,
               offsetof(ngx_http_guildlog_loc_conf_t, limit_log_level),
               &module_log_levels),
    module_location("guildlog_api",
                    NGX_CONF_NOARGS|NGX_CONF_TAKE123|NGX_CONF_TAKE4,
                    ngx_http_guildlog_conf_plane, NGX_GUILDLOG_API, NULL),
    module_location("guildlog_operator", NGX_CONF_NOARGS|NGX_CONF_TAKE1234,
                    ngx_http_guildlog_conf_plane, NGX_GUILDLOG_OPERATOR, NULL),
    module_any("guildlog_max_body", NGX_CONF_TAKE1, ngx_conf_set_size_slot,
               offsetof(ngx_http_guildlog_loc_conf_t, max_body), NULL),
    module_main("guildlog_page_cache", NGX_CONF_TAKE1, ngx_conf_set_size_slot,
                offsetof(ngx_http_guildlog_main_conf_t, page_cache), NULL),
    module_main("guildlog_search_cache", NGX_CONF_TAKE1,
                ngx_http_guildlog_conf_size_or_off,
                offsetof(ngx_http_guildlog_main_conf_t, search_cache), NULL),
    module_location("guildlog_status", NGX_CONF_NOARGS,
                    ngx_http_guildlog_conf_plane_status, 0, NULL),
    module_location("guildlog_login", NGX_CONF_2MORE,
                    ngx_http_guildlog_conf_login, 0, NULL),
    module_location("guildlog_viewer", NGX_CONF_ANY,
                    ngx_http_guildlog_viewer, 0, NULL),
    module_any("guildlog_viewer_images", NGX_CONF_FLAG, ngx_conf_set_flag_slot,
               offsetof(ngx_http_guildlog_loc_conf_t, images), NULL),

      ngx_null_command
};


static ngx_http_module_t  module_ctx = {
    ngx_http_guildlog_variables_add,       /* preconfiguration */
    module_postconfiguration,              /* postconfiguration */

    module_create_main_conf,               /* create main configuration */
    module_init_main_conf,                 /* init main configuration */

    module_create_srv_conf,                /* create server configuration */
    NULL,                                  /* merge server configuration */

    module_create_loc_conf,                /* create location configuration */
    module_merge_loc_conf                  /* merge location configuration */
};


ngx_module_t  ngx_http_guildlog_module = {
    NGX_MODULE_V1,
    &module_ctx,                           /* module context */
    module_commands,                       /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    worker_init,         /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    worker_exit,         /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


ngx_http_guildlog_worker_t  ngx_http_guildlog_worker;


static void *
module_create_main_conf(ngx_conf_t *cf)
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
    gmcf->search_cache = NGX_CONF_UNSET_SIZE;
    gmcf->keeper.on = NGX_CONF_UNSET;
    gmcf->keeper.budget = 20000;
    gmcf->keeper.interval = 1000;
    gmcf->delivery.rate = NGX_CONF_UNSET_UINT;
    gmcf->delivery.resend = NGX_CONF_UNSET_UINT;
    gmcf->delivery.style.by_category = NGX_CONF_UNSET_UINT;
    gmcf->delivery.connections = 3;

    return gmcf;
}


static char *
module_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_conf_init_value(gmcf->keeper.on, 1);
    ngx_conf_init_size_value(gmcf->page_cache, MODULE_PAGE_CACHE);
    ngx_conf_init_size_value(gmcf->search_cache, MODULE_SEARCH_CACHE);
    ngx_conf_init_uint_value(gmcf->delivery.style.by_category, 0);

    if (gmcf->keeper.on
        && ngx_http_guildlog_conf_keeper_init(cf, gmcf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return ngx_http_guildlog_conf_delivery_init(cf, gmcf);
}


static void *
module_create_srv_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_srv_conf_t));
}


static void *
module_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_guildlog_loc_conf_t  *glcf;

    glcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_guildlog_loc_conf_t));
    if (glcf == NULL) {
        return NULL;
    }

    glcf->keys = NGX_CONF_UNSET_PTR;
    glcf->auth = NGX_CONF_UNSET_UINT;
    glcf->own_limit = NGX_CONF_UNSET_PTR;
    glcf->limit_log_level = NGX_CONF_UNSET_UINT;
    glcf->max_body = NGX_CONF_UNSET_SIZE;
    glcf->images = NGX_CONF_UNSET;

    return glcf;
}


static char *
module_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_guildlog_loc_conf_t *prev = parent;
    ngx_http_guildlog_loc_conf_t *conf = child;

    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /* "if" and "limit_except" serve what their location does, by default */

    if (clcf->noname && prev->serves && clcf->handler == NULL) {
        conf->serves = 1;
        conf->open = prev->open;
        conf->plan = prev->plan;
        conf->plane = prev->plane;
        conf->prefix = prev->prefix;
        conf->database_name = prev->database_name;
        conf->reads_name = prev->reads_name;
        conf->max_lag = prev->max_lag;
        clcf->handler = ngx_http_guildlog_request_handler;
    }

    if (clcf->noname && prev->login && clcf->handler == NULL) {
        conf->login = prev->login;
        clcf->handler = ngx_http_guildlog_login_handler;
    }

    ngx_conf_merge_str_value(conf->frames, prev->frames, "");
    ngx_conf_merge_value(conf->images, prev->images, 0);

    if (conf->frames.len
        && ngx_http_guildlog_viewer_policy(cf, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_conf_merge_ptr_value(conf->keys, prev->keys, NULL);
    ngx_conf_merge_str_value(conf->issuer, prev->issuer, "guildlog");
    ngx_conf_merge_uint_value(conf->auth, prev->auth, 0);
    ngx_conf_merge_uint_value(conf->limit_log_level, prev->limit_log_level,
                              NGX_LOG_INFO);

    /* the default depends on the plane: outside of one it stays unset */

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
        conf->limit = ngx_http_guildlog_conf_limit_default(cf,
                                      NGX_HTTP_GUILDLOG_CONF_LIMIT_REQUESTS,
                                      NGX_HTTP_GUILDLOG_CONF_LIMIT_WINDOW);

        if (conf->limit == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    if (conf->serves) {
        return ngx_http_guildlog_conf_plane_merge(cf, conf);
    }

    if (conf->login) {
        return ngx_http_guildlog_conf_login_merge(cf, conf);
    }

    /* a server, which has no name, may have its keys in its locations */

    if (conf->auth && conf->keys == NULL && clcf->name.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"guildlog_auth\" needs a \"guildlog_key\"");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
module_postconfiguration(ngx_conf_t *cf)
{
    ngx_str_t                       name;
    ngx_http_handler_pt            *h;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    ngx_http_guildlog_viewer_init();

    if (!gmcf->used) {
        return NGX_OK;
    }

    if (ngx_http_guildlog_conf_operator_check(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    if (gmcf->limit_zone && gmcf->limit_zone->shm.size == 0) {
        gmcf->limit_zone->shm.size = MODULE_LIMIT_ZONE;
    }

    if (ngx_http_guildlog_conf_zones_check(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_str_set(&name, "guildlog_stats");

    gmcf->stats_zone = ngx_http_guildlog_conf_zone(cf, &name,
                                               ngx_guildlog_stats_zone_size(),
                                               ngx_guildlog_stats_init_zone);
    if (gmcf->stats_zone == NULL) {
        return NGX_ERROR;
    }

    ngx_str_set(&name, "guildlog_seats");

    gmcf->seats_zone = ngx_http_guildlog_conf_zone(cf, &name,
                                               NGX_GUILDLOG_SEATS_ZONE_SIZE,
                                               ngx_guildlog_seats_init_zone);
    if (gmcf->seats_zone == NULL) {
        return NGX_ERROR;
    }

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


/*
 * What a worker holds: made at its start, let go at its end.
 */

/* at the start and the end of a process */

static ngx_int_t
worker_init(ngx_cycle_t *cycle)
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

    gmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_guildlog_module);
    if (gmcf == NULL || !gmcf->used) {
        return NGX_OK;
    }

    worker = &ngx_http_guildlog_worker;

    json_object_seed(0);

    if (worker_watch(cycle) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_guildlog_stats_enter(&worker->stats, gmcf->stats_zone);

    worker->seats = gmcf->seats_zone;
    ngx_guildlog_seats_enter(worker->seats);

    worker->cache = ngx_guildlog_cache_create(WORKER_CACHE, 0, cycle->log);
    if (worker->cache == NULL) {
        return NGX_ERROR;
    }

    if (gmcf->page_cache) {
        worker->pages = ngx_guildlog_cache_create(gmcf->page_cache,
                                                  NGX_HTTP_GUILDLOG_PAGE_AGE,
                                                  cycle->log);
        if (worker->pages == NULL) {
            return NGX_ERROR;
        }
    }

    if (gmcf->logs_in) {
        worker->rests = ngx_guildlog_cache_create(WORKER_RESTS, WORKER_REST,
                                                  cycle->log);
        if (worker->rests == NULL) {
            return NGX_ERROR;
        }
    }

    if (gmcf->search_cache) {
        worker->strings = ngx_guildlog_cache_create(gmcf->search_cache,
                                               NGX_HTTP_GUILDLOG_STRINGS_AGE,
                                               cycle->log);
        if (worker->strings == NULL) {
            return NGX_ERROR;
        }
    }

    ctx = (ngx_http_conf_ctx_t *) ngx_get_conf(cycle->conf_ctx,
                                               ngx_http_module);
    clcf = ctx->loc_conf[ngx_http_core_module.ctx_index];

    if (worker_databases(cycle, gmcf, clcf) != NGX_OK) {
        return NGX_ERROR;
    }

    return gmcf->delivers || gmcf->logs_in
           ? worker_platform(cycle, gmcf, clcf) : NGX_OK;
}


/*
 * When worker_shutdown_timeout is over, nginx closes all connections, the older
 * ones of a worker first.  This one, without a socket, is older than any of a
 * client: who still waits gets an answer before that.
 */

static ngx_int_t
worker_watch(ngx_cycle_t *cycle)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(0, cycle->log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->fd = (ngx_socket_t) -2;
    c->read->handler = worker_expired;

    ngx_http_guildlog_worker.watch = c;

    return NGX_OK;
}


static void
worker_expired(ngx_event_t *ev)
{
    ngx_http_guildlog_visit_expire();
    ngx_http_guildlog_request_expire();
}


static ngx_int_t
worker_databases(ngx_cycle_t *cycle, ngx_http_guildlog_main_conf_t *gmcf,
    ngx_http_core_loc_conf_t *clcf)
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
    worker->pairs = ngx_pcalloc(cycle->pool,
                                n * sizeof(ngx_guildlog_pairs_t *));

    if (worker->pools == NULL || worker->keepers == NULL
        || worker->pairs == NULL)
    {
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

        if (ngx_worker != 0) {
            continue;
        }

        if (databases[i]->operates) {
            worker->pairs[i] = ngx_guildlog_pairs_create(cycle, databases[i],
                                                         worker->pools[i],
                                                         &worker->stats);
            if (worker->pairs[i] == NULL) {
                return NGX_ERROR;
            }
        }

        if (!databases[i]->keeper) {
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

    for (i = 0; i < n; i++) {
        if (databases[i]->primary
            && ngx_guildlog_db_standby_follow(worker->pools[i],
                                   worker->pools[databases[i]->primary->index])
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* every worker asks the platform, one delivers to it */

static ngx_int_t
worker_platform(ngx_cycle_t *cycle, ngx_http_guildlog_main_conf_t *gmcf,
    ngx_http_core_loc_conf_t *clcf)
{
    ngx_http_guildlog_worker_t  *worker;

    worker = &ngx_http_guildlog_worker;

    worker->client = ngx_guildlog_client_create(cycle,
                                 &gmcf->delivery.platform, clcf->resolver,
                                 clcf->resolver_timeout,
                                 WORKER_IDLE);
    if (worker->client == NULL) {
        return NGX_ERROR;
    }

    ngx_guildlog_pace_init(&worker->pace, &worker->stats.shared->pace,
                           &gmcf->delivery.platform.text,
                           gmcf->delivers ? gmcf->delivery.rate : 0);

    if (ngx_worker != 0 || !gmcf->delivers) {
        return NGX_OK;
    }

    worker->delivery = ngx_guildlog_delivery_create(cycle, &gmcf->delivery,
                                 worker->pools[gmcf->delivers_to->index],
                                 &worker->stats,
                                 clcf->resolver, clcf->resolver_timeout);

    return worker->delivery ? NGX_OK : NGX_ERROR;
}


static void
worker_exit(ngx_cycle_t *cycle)
{
    ngx_uint_t                   i;
    ngx_http_guildlog_worker_t  *worker;

    worker = &ngx_http_guildlog_worker;

    if (worker->watch) {
        ngx_free_connection(worker->watch);
        worker->watch->fd = (ngx_socket_t) -1;
        worker->watch = NULL;
    }

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

    /* what is asked at a standby goes to its primary, which is there still */

    for (i = 0; i < worker->npools; i++) {
        if (ngx_guildlog_db_pool_database(worker->pools[i])->standby) {
            ngx_guildlog_db_pool_destroy(worker->pools[i]);
            worker->pools[i] = NULL;
        }
    }

    for (i = 0; i < worker->npools; i++) {
        if (worker->keepers[i]) {
            ngx_guildlog_keeper_destroy(worker->keepers[i]);
        }

        if (worker->pairs[i]) {
            ngx_guildlog_pairs_destroy(worker->pairs[i]);
        }

        if (worker->pools[i]) {
            ngx_guildlog_db_pool_destroy(worker->pools[i]);
        }
    }

    worker->npools = 0;

    worker_forget(&worker->cache);
    worker_forget(&worker->rests);
    worker_forget(&worker->pages);
    worker_forget(&worker->strings);

    if (worker->stats.shared) {
        ngx_guildlog_stats_leave(&worker->stats);
    }
}


static void
worker_forget(ngx_guildlog_cache_t **cache)
{
    if (*cache) {
        ngx_guildlog_cache_destroy(*cache);
        *cache = NULL;
    }
}
