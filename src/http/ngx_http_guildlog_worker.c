
/*
 * What a worker holds: made at its start, let go at its end.
 */

#include "http/ngx_http_guildlog_login.h"
#include "http/ngx_http_guildlog_request.h"
#include "shm/ngx_guildlog_seats.h"
#include "token/ngx_guildlog_token_verify.h"


#define WORKER_CACHE  4096    /* tokens a worker remembers */
#define WORKER_VISITS 4194304 /* bytes, of renewed cookies */
#define WORKER_IDLE   4       /* connections to the platform */


static ngx_int_t worker_watch(ngx_cycle_t *cycle);
static void worker_expired(ngx_event_t *ev);
static ngx_int_t worker_databases(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);
static ngx_int_t worker_platform(ngx_cycle_t *cycle,
    ngx_http_guildlog_main_conf_t *gmcf, ngx_http_core_loc_conf_t *clcf);


ngx_http_guildlog_worker_t  ngx_http_guildlog_worker;


ngx_int_t
ngx_http_guildlog_worker_init(ngx_cycle_t *cycle)
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

    worker->cache = ngx_guildlog_cache_create(WORKER_CACHE, cycle->log);
    if (worker->cache == NULL) {
        return NGX_ERROR;
    }

    if (gmcf->page_cache) {
        worker->shelf = ngx_guildlog_shelf_create(gmcf->page_cache, cycle->log);
        if (worker->shelf == NULL) {
            return NGX_ERROR;
        }
    }

    if (gmcf->logs_in) {
        worker->visits = ngx_guildlog_cache_create(WORKER_VISITS, cycle->log);
        if (worker->visits == NULL) {
            return NGX_ERROR;
        }
    }

    if (gmcf->search_cache) {
        worker->kept = ngx_guildlog_kept_create(gmcf->search_cache,
                                                cycle->log);
        if (worker->kept == NULL) {
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

    if (ngx_worker != 0 || !gmcf->delivers) {
        return NGX_OK;
    }

    worker->delivery = ngx_guildlog_delivery_create(cycle, &gmcf->delivery,
                                 worker->pools[gmcf->delivers_to->index],
                                 &worker->stats,
                                 clcf->resolver, clcf->resolver_timeout);

    return worker->delivery ? NGX_OK : NGX_ERROR;
}


void
ngx_http_guildlog_worker_exit(ngx_cycle_t *cycle)
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

    if (worker->visits) {
        ngx_guildlog_cache_destroy(worker->visits);
        worker->visits = NULL;
    }

    if (worker->shelf) {
        ngx_guildlog_shelf_destroy(worker->shelf);
        worker->shelf = NULL;
    }

    if (worker->kept) {
        ngx_guildlog_kept_destroy(worker->kept);
        worker->kept = NULL;
    }

    if (worker->stats.shared) {
        ngx_guildlog_stats_leave(&worker->stats);
    }
}
