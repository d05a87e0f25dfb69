
/*
 * How far a standby is behind its primary, as one worker knows it.
 *
 * The primary tells where its write-ahead log ends and what time it is there.
 * Then the standby tells whether it has replayed up to that place.  If so, it
 * has what was committed when the primary was asked.  If not, its last replayed
 * commit tells how old it was then, by the clock of the primary alone.  From
 * that moment on the lag grows with nginx's own clock, until they are asked
 * again.
 *
 * So it does not matter what the standby has received, or whether its receiver
 * lives: where either of the two does not answer, or the standby gets nothing,
 * the lag grows.  It is an upper bound, never a guess.
 */

#include "db/ngx_guildlog_db.h"


#define DB_STANDBY_INTERVAL  500  /* ms */


struct ngx_guildlog_db_standby_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_db_pool_t        *primary;
    ngx_guildlog_db_query_t       *query;        /* NULL: nobody is asked */
    ngx_event_t                    timer;
    ngx_msec_t                     asked;        /* the primary was, then */
    ngx_msec_t                     fresh;        /* it has all until then */
    ngx_uint_t                     epoch;        /* of the pool, at "fresh" */
    unsigned                       known:1;      /* "fresh" is */
};


static void standby_ask(ngx_event_t *ev);
static void standby_told(void *data, ngx_guildlog_db_result_t *result);
static void standby_answered(void *data, ngx_guildlog_db_result_t *result);
static void standby_rest(ngx_guildlog_db_standby_t *standby);


ngx_int_t
ngx_guildlog_db_standby_follow(ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_db_pool_t *primary)
{
    ngx_guildlog_db_standby_t  *standby;

    standby = ngx_pcalloc(pool->pool, sizeof(ngx_guildlog_db_standby_t));
    if (standby == NULL) {
        return NGX_ERROR;
    }

    standby->fd = (ngx_socket_t) -1;
    standby->pool = pool;
    standby->primary = primary;

    ngx_guildlog_event_init(&standby->timer, standby_ask, standby, pool->log);
    standby->timer.cancelable = 1;

    pool->standby = standby;

    ngx_add_timer(&standby->timer, 1);

    return NGX_OK;
}


static void
standby_ask(ngx_event_t *ev)
{
    ngx_guildlog_db_standby_t *standby = ev->data;

    standby->asked = ngx_current_msec;
    standby->query = ngx_guildlog_db_pool_submit(standby->primary,
                         ngx_guildlog_stmt(primary_at),
                         NULL, standby_told, standby);

    if (standby->query == NULL) {
        standby_rest(standby);
    }
}


static void
standby_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_db_standby_t *standby = data;

    ngx_str_t  args[2];

    standby->query = NULL;

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        args[0] = ngx_guildlog_db_result_value(result, 0, 0);
        args[1] = ngx_guildlog_db_result_value(result, 0, 1);

        standby->query = ngx_guildlog_db_pool_submit(standby->pool,
                             ngx_guildlog_stmt(standby_at),
                             args, standby_answered, standby);
    }

    if (standby->query == NULL) {
        standby_rest(standby);
    }
}


/*
 * A standby that was quiet, and gets something new at this moment, says the age
 * of its last commit, which may be large.  What was known before is a better
 * bound then: a standby never goes back, unless its connections ended.
 */

static void
standby_answered(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_db_standby_t *standby = data;

    int64_t     behind;
    ngx_msec_t  fresh;

    standby->query = NULL;

    behind = (result->outcome == NGX_GUILDLOG_DB_ROWS)
             ? ngx_guildlog_db_result_number(result, 0, 0) : NGX_ERROR;

    if (behind != NGX_ERROR) {
        fresh = standby->asked - (ngx_msec_t) behind;

        if (ngx_guildlog_db_standby_lag(standby->pool) == NGX_ERROR
            || (ngx_msec_int_t) (fresh - standby->fresh) > 0)
        {
            standby->known = 1;
            standby->fresh = fresh;
            standby->epoch = standby->pool->epoch;
        }
    }

    standby_rest(standby);
}


static void
standby_rest(ngx_guildlog_db_standby_t *standby)
{
    if (!standby->pool->closed && !ngx_exiting) {
        ngx_add_timer(&standby->timer, DB_STANDBY_INTERVAL);
    }
}


ngx_msec_int_t
ngx_guildlog_db_standby_lag(ngx_guildlog_db_pool_t *pool)
{
    ngx_guildlog_db_standby_t  *standby;

    standby = pool->standby;

    if (standby == NULL || !standby->known || standby->epoch != pool->epoch
        || pool->nready == 0)
    {
        return NGX_ERROR;
    }

    return ngx_max((ngx_msec_int_t) (ngx_current_msec - standby->fresh), 0);
}


void
ngx_guildlog_db_standby_leave(ngx_guildlog_db_standby_t *standby)
{
    ngx_guildlog_event_stop(&standby->timer);

    ngx_guildlog_db_pool_detach(standby->query);
    standby->query = NULL;
}
