
/*
 * The keeper: one small step after the other, and a pause when nothing is left
 * to do.
 */

#include "jobs/ngx_guildlog_keeper.h"
#include "jobs/ngx_guildlog_indexer.h"
#include "base/ngx_guildlog_json.h"


#define KEEPER_PAUSE  20       /* ms, between steps, at least */
#define KEEPER_RETRY  5000     /* ms, the database refused */


struct ngx_guildlog_keeper_s {
    NGX_GUILDLOG_EVENT_IDENT;

    const ngx_guildlog_keeper_conf_t  *conf;
    const ngx_guildlog_database_t     *database;
    ngx_guildlog_db_pool_t        *pool;
    ngx_guildlog_stats_t          *stats;
    ngx_guildlog_db_query_t       *query;
    ngx_guildlog_indexer_t        *indexer;
    ngx_event_t                    timer;
    ngx_log_t                     *log;
};


static void keeper_step(ngx_event_t *ev);
static void keeper_done(void *data, ngx_guildlog_db_result_t *result);
static void keeper_task(ngx_guildlog_keeper_t *keeper, const char *name,
    json_t *facts);


ngx_guildlog_keeper_t *
ngx_guildlog_keeper_create(ngx_cycle_t *cycle,
    const ngx_guildlog_keeper_conf_t *conf,
    const ngx_guildlog_database_t *database, ngx_guildlog_db_pool_t *pool,
    ngx_guildlog_stats_t *stats)
{
    ngx_guildlog_keeper_t  *keeper;

    keeper = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_keeper_t));
    if (keeper == NULL) {
        return NULL;
    }

    keeper->fd = (ngx_socket_t) -1;
    keeper->conf = conf;
    keeper->database = database;
    keeper->pool = pool;
    keeper->stats = stats;
    keeper->log = cycle->log;

    ngx_guildlog_event_init(&keeper->timer, keeper_step, keeper, cycle->log);
    keeper->timer.cancelable = 1;

    keeper->indexer = ngx_guildlog_indexer_create(cycle, conf->interval,
                                                  database, pool);
    if (keeper->indexer == NULL) {
        return NULL;
    }

    ngx_add_timer(&keeper->timer, ngx_random() % 1000);

    return keeper;
}


void
ngx_guildlog_keeper_destroy(ngx_guildlog_keeper_t *keeper)
{
    ngx_guildlog_event_stop(&keeper->timer);

    ngx_guildlog_db_pool_detach(keeper->query);
    keeper->query = NULL;

    ngx_guildlog_indexer_destroy(keeper->indexer);
}


static void
keeper_step(ngx_event_t *ev)
{
    ngx_guildlog_keeper_t *keeper = ev->data;

    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  budget;

    if (ngx_exiting) {
        return;
    }

    budget = ngx_guildlog_digits(buf, keeper->conf->budget);

    keeper->query = ngx_guildlog_db_pool_submit(keeper->pool,
                                                ngx_guildlog_stmt(keeper_step),
                                                &budget, keeper_done, keeper);

    if (keeper->query == NULL) {
        ngx_add_timer(&keeper->timer, KEEPER_RETRY);
    }
}


/*
 * 200: there is more to do.  204: there is not.  It pauses for as long as the
 * step took, so that it takes at most half of a processor.  202: it is far
 * behind, or forgets a person, and pauses for a quarter of that, for half of a
 * processor might never be enough.
 */

static void
keeper_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_keeper_t *keeper = data;

    json_t        *tasks, *facts;
    ngx_int_t      status;
    ngx_str_t      body;
    ngx_msec_t     wait;
    const char    *name;
    json_error_t   cause;

    keeper->query = NULL;
    wait = KEEPER_RETRY;

    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, keeper->log, 0,
                      "guildlog database \"%V\": the keeper's step "
                      "failed, SQLSTATE %s: %V", &keeper->database->name,
                      result->sqlstate, &result->message);
    }

    if (result->outcome == NGX_GUILDLOG_DB_ROWS && result->rows == 1) {
        status = ngx_guildlog_db_result_number(result, 0, 0);
        body = ngx_guildlog_db_result_value(result, 0, 1);

        if (body.data) {
            tasks = ngx_guildlog_json_read_any(body.data, body.len, 0, &cause);

            json_object_foreach(tasks, name, facts) {
                keeper_task(keeper, name, facts);
            }

            json_decref(tasks);
        }

        wait = ngx_max(result->time_us / 1000, KEEPER_PAUSE);

        if (status == 202) {
            wait /= 4;

        } else if (status != 200) {
            wait = ngx_max(wait, keeper->conf->interval);
        }
    }

    if (!ngx_exiting) {
        ngx_add_timer(&keeper->timer, wait);
    }
}


/* if there are several databases, all but the first show their name */

static void
keeper_task(ngx_guildlog_keeper_t *keeper, const char *name,
    json_t *facts)
{
    u_char                buf[256], line[NGX_MAX_ERROR_STR / 4];
    ngx_str_t             label;
    const char           *error;
    ngx_guildlog_task_t  *task;

    label.data = buf;
    label.len = (keeper->database->keeper == 1
                 ? ngx_snprintf(buf, sizeof(buf), "%s", name)
                 : ngx_snprintf(buf, sizeof(buf), "%s of %V", name,
                                &keeper->database->name))
                - buf;

    error = json_string_value(json_object_get(facts, "error"));

    if (error) {
        ngx_guildlog_db_result_line(line, sizeof(line), error);
        ngx_log_error(NGX_LOG_ERR, keeper->log, 0,
                      "the keeper's task \"%V\" failed: %s", &label, line);
    }

    task = ngx_guildlog_stats_task(keeper->stats, &label);

    if (task == NULL) {
        return;
    }

#define ngx_guildlog_fact(key)                                                \
    json_integer_value(json_object_get(facts, key))

    task->at = ngx_time() - ngx_guildlog_fact("age_ms") / 1000;
    task->took_us = ngx_guildlog_fact("took_us");
    task->lag = ngx_guildlog_fact("lag");
    task->errors = ngx_guildlog_fact("errors");
    task->parked = ngx_guildlog_fact("parked");

#undef ngx_guildlog_fact
}
