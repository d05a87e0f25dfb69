
/*
 * Requests of a server that the platform refused.  The database counts them,
 * for all machines, and says when the server has to rest.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"


#define DELIVERY_REFUSED_SERVERS  64    /* at once */


typedef enum {
    DELIVERY_REFUSED_GUILD = 0,
    DELIVERY_REFUSED_REST
} delivery_refused_e;


static void delivery_refused_told(void *data, ngx_guildlog_db_result_t *result);
static void delivery_refused_again(ngx_guildlog_delivery_t *d);
static void delivery_refused_take(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);


void
ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild)
{
    guild->refused++;

    if (!guild->tells) {
        guild->tells = 1;
        ngx_queue_insert_tail(&d->refused, &guild->tell);
    }

    ngx_guildlog_delivery_queue_post(d);
}


void
ngx_guildlog_delivery_refused_tell(ngx_guildlog_delivery_t *d)
{
    u_char                *g, *n;
    u_char                 guilds[DELIVERY_REFUSED_SERVERS
                                  * (NGX_INT64_LEN + 1) + 2];
    u_char                 counts[DELIVERY_REFUSED_SERVERS
                                  * (NGX_INT_T_LEN + 1) + 2];
    ngx_str_t              args[2];
    ngx_uint_t             i;
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild;

    if (d->tell || ngx_queue_empty(&d->refused)
        || !ngx_guildlog_delivery_due(d->tell_at))
    {
        return;
    }

    g = guilds;
    n = counts;

    q = ngx_queue_head(&d->refused);

    for (i = 0;
         i < DELIVERY_REFUSED_SERVERS && q != ngx_queue_sentinel(&d->refused);
         i++)
    {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, tell);
        q = ngx_queue_next(q);

        g = ngx_sprintf(g, "%c%V", i ? ',' : '{', &guild->id);
        n = ngx_sprintf(n, "%c%ui", i ? ',' : '{', guild->refused);

        guild->telling = guild->refused;
        guild->refused = 0;
    }

    *g++ = '}';
    *n++ = '}';

    args[0].data = guilds;
    args[0].len = g - guilds;
    args[1].data = counts;
    args[1].len = n - counts;

    d->tell = ngx_guildlog_db_pool_submit(d->env.pool,
                      &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_refused],
                      args, delivery_refused_told, d);

    if (d->tell == NULL) {
        delivery_refused_again(d);
    }
}


static void
delivery_refused_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t  row;

    d->tell = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "refusals", result);
        delivery_refused_again(d);
        return;
    }

    for (row = 0; row < result->rows; row++) {
        delivery_refused_take(d, result, row);
    }
}


/* what was not told is told again, after a while */

static void
delivery_refused_again(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild;

    ngx_guildlog_queue_each(q, &d->refused) {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, tell);
        guild->refused += guild->telling;
        guild->telling = 0;
    }

    d->tell_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
}


/* the row of a server: has it to rest? */

static void
delivery_refused_take(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t              id;
    ngx_msec_t             rest;
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild, *told;

    id = ngx_guildlog_db_result_value(result, row, DELIVERY_REFUSED_GUILD);
    rest = ngx_guildlog_lane_row_number(result, row, DELIVERY_REFUSED_REST);
    guild = NULL;

    ngx_guildlog_queue_each(q, &d->refused) {
        told = ngx_queue_data(q, ngx_guildlog_guild_t, tell);

        if (told->telling && ngx_guildlog_str_eq(&told->id, &id)) {
            guild = told;
            break;
        }
    }

    if (guild == NULL) {
        return;
    }

    guild->telling = 0;

    if (rest) {
        ngx_log_error(NGX_LOG_WARN, d->env.log, 0,
                      "server %V was refused too often, its lanes rest "
                      "for %M ms", &guild->id, rest);
        guild->rests = 1;
        guild->rests_to = ngx_current_msec + rest;
    }

    if (guild->refused == 0) {
        guild->tells = 0;
        ngx_queue_remove(&guild->tell);
    }

    ngx_guildlog_delivery_queue_line_up(d, guild);
    ngx_guildlog_delivery_queue_let_guild(guild);
}


ngx_uint_t
ngx_guildlog_delivery_refused_rests(ngx_guildlog_guild_t *guild)
{
    if (guild->rests && ngx_guildlog_delivery_due(guild->rests_to)) {
        guild->rests = 0;
    }

    return guild->tells || guild->rests;
}


void
ngx_guildlog_delivery_refused_put_off(ngx_guildlog_guild_t *guild)
{
    ngx_uint_t            n;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    if (!guild->rests) {
        return;
    }

    n = 0;

    ngx_guildlog_queue_each(q, &guild->waiting) {
        n++;
    }

    /* the server goes with its last lane */

    while (n--) {
        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
        ngx_guildlog_delivery_queue_forget(lane);
    }
}
