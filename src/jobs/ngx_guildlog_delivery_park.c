
/*
 * What the database refuses for the sake of one lane holds up no other: a
 * statement over many is halved until that lane stands alone, which is parked.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "db/ngx_guildlog_db_pool.h"


#define NGX_GUILDLOG_PARK_TIME   600000  /* ms, as guildlog.delivery_park */
#define NGX_GUILDLOG_PARK_CLASS  2       /* of an SQLSTATE, characters */
#define NGX_GUILDLOG_PARK_CAUSE  256


static void ngx_guildlog_delivery_parked(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_found_parked(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_doubt_parked(void *data,
    ngx_guildlog_db_result_t *result);
static void ngx_guildlog_delivery_cause(ngx_guildlog_db_result_t *result,
    ngx_str_t *cause);
static ngx_uint_t ngx_guildlog_delivery_is_parked(
    ngx_guildlog_delivery_t *d, ngx_guildlog_db_result_t *result);


/*
 * Classes of refusals that have nothing to do with a row: connections,
 * transactions, rights, conflicts, names, resources, locks, operators, disks.
 */

static const char  ngx_guildlog_park_not[][NGX_GUILDLOG_PARK_CLASS + 1] = {
    "08", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58"
};


ngx_uint_t
ngx_guildlog_delivery_to_blame(ngx_guildlog_db_result_t *result)
{
    ngx_uint_t  i;

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED
        || ngx_strncmp(result->sqlstate, "GL", NGX_GUILDLOG_PARK_CLASS) == 0)
    {
        return 0;
    }

    for (i = 0;
         i < sizeof(ngx_guildlog_park_not) / sizeof(ngx_guildlog_park_not[0]);
         i++)
    {
        if (ngx_strncmp(result->sqlstate, ngx_guildlog_park_not[i],
                        NGX_GUILDLOG_PARK_CLASS)
            == 0)
        {
            return 0;
        }
    }

    return 1;
}


void
ngx_guildlog_delivery_park(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  args[3];

    ngx_guildlog_delivery_give_back(lane);
    ngx_guildlog_delivery_settle(lane);
    ngx_guildlog_lane_empty(lane);

    args[0] = lane->guild;
    args[1] = lane->id;
    ngx_guildlog_delivery_cause(result, &args[2]);

    ngx_guildlog_delivery_ask(lane, ngx_guildlog_stmt_delivery_park, args, 3,
                              ngx_guildlog_delivery_parked);
}


/*
 * If the database refuses even that for the sake of the lane, the lane stays at
 * hand, and rests.  If the database could not be asked, the lane is found again
 * soon, and fails again.
 */

static void
ngx_guildlog_delivery_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_lane_t *lane = data;

    ngx_guildlog_delivery_t  *d;

    d = lane->delivery;
    lane->query = NULL;

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        (void) ngx_guildlog_delivery_is_parked(d, result);
        ngx_guildlog_delivery_forget(lane);
        return;
    }

    ngx_guildlog_delivery_refused(d, "a lane to be parked", result);

    if (ngx_guildlog_delivery_to_blame(result)) {
        ngx_guildlog_lane_sleep(lane, NGX_GUILDLOG_PARK_TIME,
                                ngx_guildlog_delivery_forget);
        return;
    }

    d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    d->find_at = d->sweep_at;

    ngx_guildlog_delivery_forget(lane);
}


/* a page of one lane: which one it is, is not known here */

void
ngx_guildlog_delivery_park_found(ngx_guildlog_delivery_t *d, ngx_str_t *args,
    ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_cause(result, &args[4]);

    d->find = ngx_guildlog_db_pool_submit(d->pool,
                   &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_park_next],
                   args, ngx_guildlog_delivery_found_parked, d);

    if (d->find == NULL) {
        ngx_guildlog_delivery_find_again(d);
    }
}


static void
ngx_guildlog_delivery_found_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->find = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_refused(d, "a lane to be parked", result);
        ngx_guildlog_delivery_find_again(d);
        return;
    }

    if (!ngx_guildlog_delivery_is_parked(d, result)) {
        ngx_guildlog_delivery_find_again(d);
    }
}


/* the same of doubts, of which one is first */

void
ngx_guildlog_delivery_park_doubt(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  args[2];

    args[0] = d->me;
    ngx_guildlog_delivery_cause(result, &args[1]);

    d->doubt = ngx_guildlog_db_pool_submit(d->pool,
                  &ngx_guildlog_stmts[ngx_guildlog_stmt_delivery_doubt_park],
                  args, ngx_guildlog_delivery_doubt_parked, d);
}


static void
ngx_guildlog_delivery_doubt_parked(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    d->doubt = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_refused(d, "a doubt to be parked", result);
        return;
    }

    (void) ngx_guildlog_delivery_is_parked(d, result);
}


/* one line, that lives until the next one is made */

static void
ngx_guildlog_delivery_cause(ngx_guildlog_db_result_t *result, ngx_str_t *cause)
{
    size_t         len;
    static u_char  line[NGX_GUILDLOG_PARK_CAUSE];

    len = ngx_sprintf(line, "SQLSTATE %s: ", result->sqlstate) - line;

    ngx_guildlog_db_result_line(line + len, sizeof(line) - len,
                                result->message.len
                                ? (char *) result->message.data : "refused");

    cause->data = line;
    cause->len = ngx_strlen(line);
}


/* 1: one is parked, and which one is known by the answer */

static ngx_uint_t
ngx_guildlog_delivery_is_parked(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  status, what;

    status = ngx_guildlog_db_result_value(result, 0, 0);
    what = ngx_guildlog_db_result_value(result, 0, 1);

    if (status.len == 0 || status.data[0] != '2') {
        return 0;
    }

    ngx_guildlog_stats_count(d->stats, NGX_GUILDLOG_COUNT_PARKED, 1);

    ngx_log_error(NGX_LOG_ERR, d->log, 0,
                  "%V is parked for %d s", &what,
                  NGX_GUILDLOG_PARK_TIME / 1000);

    return 1;
}
