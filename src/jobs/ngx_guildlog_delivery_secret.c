
/*
 * Does the secret fit?  The database keeps a mark that was sealed with the
 * secret of the webhooks.  A machine that cannot open the mark could deliver
 * nothing of its shards, so it leases none.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define DELIVERY_SECRET_MISFIT  5000    /* ms, then it asks again */
#define DELIVERY_SECRET_REMIND  60      /* s, between lines of the log */


static void delivery_secret_told(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t delivery_secret_open(ngx_guildlog_delivery_t *d,
    ngx_pool_t *pool, const ngx_str_t *told);


void
ngx_guildlog_delivery_secret(ngx_guildlog_delivery_t *d)
{
    ngx_str_t    mark, sealed;
    ngx_pool_t  *pool;

    ngx_str_set(&mark, "guildlog");

    d->lease_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, d->env.log);
    if (pool == NULL) {
        return;
    }

    if (ngx_guildlog_seal(pool, d->env.conf->key, &mark, &mark, &sealed)
        == NGX_OK)
    {
        d->lease = ngx_guildlog_db_pool_submit(d->env.pool,
                      &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_secret],
                      &sealed, delivery_secret_told, d);
    }

    ngx_destroy_pool(pool);
}


static void
delivery_secret_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_int_t    rc;
    ngx_str_t    told;
    ngx_pool_t  *pool;

    d->lease = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows != 1) {
        ngx_guildlog_delivery_park_log(&d->env, "leases", result);
        return;
    }

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, d->env.log);
    if (pool == NULL) {
        return;
    }

    told = ngx_guildlog_db_result_value(result, 0, 1);
    rc = delivery_secret_open(d, pool, &told);

    ngx_destroy_pool(pool);

    if (rc == NGX_ERROR) {
        return;
    }

    d->fits = rc == NGX_OK;

    ngx_guildlog_stats_set(d->env.stats, NGX_GUILDLOG_GAUGE_MISFIT, !d->fits);

    if (d->fits) {
        d->lease_at = ngx_current_msec;
        return;
    }

    d->lease_at = ngx_current_msec + DELIVERY_SECRET_MISFIT;

    if (ngx_time() < d->remind_at) {
        return;
    }

    d->remind_at = ngx_time() + DELIVERY_SECRET_REMIND;

    ngx_log_error(NGX_LOG_ERR, d->env.log, 0,
                  "the secret of \"guildlog_delivery\" is not the one that "
                  "the stored webhooks were sealed with: this machine "
                  "delivers nothing");
}


/* told: the owner of the mark, a blank, the mark.  Returns as
   ngx_guildlog_seal_open() */

static ngx_int_t
delivery_secret_open(ngx_guildlog_delivery_t *d, ngx_pool_t *pool,
    const ngx_str_t *told)
{
    u_char     *blank, *last;
    ngx_str_t   owner, sealed, plain;

    last = told->data + told->len;
    blank = ngx_strlchr(told->data, last, ' ');

    if (blank == NULL) {
        return NGX_DECLINED;
    }

    owner.data = told->data;
    owner.len = blank - told->data;
    sealed.data = blank + 1;
    sealed.len = last - sealed.data;

    return ngx_guildlog_seal_open(pool, d->env.conf->key, &owner, &sealed,
                                  &plain);
}
