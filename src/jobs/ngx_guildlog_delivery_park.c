
/*
 * What the database refuses because of one lane holds up no other: a statement
 * over many lanes is halved until that lane stands alone, which is parked.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "db/ngx_guildlog_db_pool.h"


#define DELIVERY_PARK_CLASS  2       /* of an SQLSTATE, characters */
#define DELIVERY_PARK_CAUSE  256


/*
 * Classes of SQLSTATEs that have nothing to do with a row: connections,
 * transactions, rights, conflicts, names, resources, locks, operators, disks.
 */

static const char  delivery_park_not[][DELIVERY_PARK_CLASS + 1] = {
    "08", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58"
};


ngx_uint_t
ngx_guildlog_delivery_park_blames(ngx_guildlog_db_result_t *result)
{
    ngx_uint_t  i;

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED
        || ngx_strncmp(result->sqlstate, "GL", DELIVERY_PARK_CLASS) == 0)
    {
        return 0;
    }

    for (i = 0;
         i < sizeof(delivery_park_not) / sizeof(delivery_park_not[0]);
         i++)
    {
        if (ngx_strncmp(result->sqlstate, delivery_park_not[i],
                        DELIVERY_PARK_CLASS)
            == 0)
        {
            return 0;
        }
    }

    return 1;
}


void
ngx_guildlog_delivery_park_cause(ngx_guildlog_db_result_t *result,
    ngx_str_t *cause)
{
    size_t         len;
    static u_char  line[DELIVERY_PARK_CAUSE];

    len = 0;

    if (result->sqlstate[0]) {
        len = ngx_sprintf(line, "SQLSTATE %s: ", result->sqlstate) - line;
    }

    ngx_guildlog_db_result_line(line + len, sizeof(line) - len,
                                result->message.len
                                ? (char *) result->message.data
                                : "no answer in time");

    cause->data = line;
    cause->len = ngx_strlen(line);
}


ngx_uint_t
ngx_guildlog_delivery_park_done(const ngx_guildlog_lane_env_t *env,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t  status, what;

    status = ngx_guildlog_db_result_value(result, 0, 0);
    what = ngx_guildlog_db_result_value(result, 0, 1);

    if (status.len == 0 || status.data[0] != '2') {
        return 0;
    }

    ngx_guildlog_stats_count(env->stats, NGX_GUILDLOG_COUNT_PARKED, 1);

    ngx_log_error(NGX_LOG_ERR, env->log, 0, "%V is parked for %d s", &what,
                  NGX_GUILDLOG_LANE_PARK / 1000);

    return 1;
}


void
ngx_guildlog_delivery_park_log(const ngx_guildlog_lane_env_t *env,
    const char *what, ngx_guildlog_db_result_t *result)
{
    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, env->log, 0,
                      "the delivery of %s failed, SQLSTATE %s: %V", what,
                      result->sqlstate, &result->message);
    }
}
