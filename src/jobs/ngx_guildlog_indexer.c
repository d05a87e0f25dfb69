
/*
 * The index of searches: one job after the other, and a pause when there is
 * none.
 *
 * Nothing of a job counts before its last put, which is one transaction.  So a
 * job may be left anywhere: the schema gives it out again.
 */

#include "jobs/ngx_guildlog_indexer.h"
#include "jobs/ngx_guildlog_indexer_job.h"


#define INDEXER_MOMENT  250      /* us; then others have a turn */
#define INDEXER_BURST   20000    /* us of work, then a pause */
#define INDEXER_RETRY   5000     /* ms, the database refused */


/* in the order in which they run; DOCS and ADD take turns */

typedef enum {
    INDEXER_JOB = 0,
    INDEXER_DOCS,
    INDEXER_ADD,
    INDEXER_WRITE,
    INDEXER_PUT
} indexer_state_e;


typedef struct {
    const char                    *name;
    void                         (*handler)(ngx_guildlog_indexer_t *indexer);
} indexer_state_t;


struct ngx_guildlog_indexer_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_msec_t                     interval;
    const ngx_guildlog_database_t *database;
    ngx_guildlog_db_pool_t        *pool;
    ngx_log_t                     *log;

    indexer_state_e                state;
    ngx_guildlog_indexer_job_t     job;
    ngx_guildlog_db_query_t       *query;      /* NULL: none is asked */
    ngx_event_t                    event;      /* the next turn */
    uint64_t                       turn_us;    /* this one began */
    uint64_t                       work_us;    /* since the last pause, here
                                                  and in the database */
};


static void indexer_turn(ngx_event_t *ev);
static void indexer_ask_job(ngx_guildlog_indexer_t *indexer);
static void indexer_job_done(void *data, ngx_guildlog_db_result_t *result);
static void indexer_ask_docs(ngx_guildlog_indexer_t *indexer);
static void indexer_docs_done(void *data, ngx_guildlog_db_result_t *result);
static void indexer_add(ngx_guildlog_indexer_t *indexer);
static void indexer_write(ngx_guildlog_indexer_t *indexer);
static void indexer_put(ngx_guildlog_indexer_t *indexer);
static void indexer_put_done(void *data, ngx_guildlog_db_result_t *result);
static void indexer_refused(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_db_result_t *result);
static void indexer_fail(ngx_guildlog_indexer_t *indexer,
    const ngx_str_t *cause);
static void indexer_fail_done(void *data, ngx_guildlog_db_result_t *result);
static void indexer_ask(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_stmt_e stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler);
static void indexer_answered(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_db_result_t *result);
static ngx_uint_t indexer_late(ngx_guildlog_indexer_t *indexer);
static void indexer_go(ngx_guildlog_indexer_t *indexer, indexer_state_e state);
static void indexer_end(ngx_guildlog_indexer_t *indexer, ngx_msec_t wait);


static const indexer_state_t  indexer_states[] = {
    { "job",   indexer_ask_job },
    { "docs",  indexer_ask_docs },
    { "add",   indexer_add },
    { "write", indexer_write },
    { "put",   indexer_put }
};


/*
 * Classes of SQLSTATEs that are no server's fault: read only, no resources,
 * stopped, an error of the system.
 */

static const char *const  indexer_excused[] = {
    "25", "53", "57", "58", NULL
};


ngx_guildlog_indexer_t *
ngx_guildlog_indexer_create(ngx_cycle_t *cycle, ngx_msec_t interval,
    const ngx_guildlog_database_t *database, ngx_guildlog_db_pool_t *pool)
{
    ngx_guildlog_indexer_t  *indexer;

    indexer = ngx_pcalloc(cycle->pool, sizeof(ngx_guildlog_indexer_t));
    if (indexer == NULL) {
        return NULL;
    }

    indexer->fd = (ngx_socket_t) -1;
    indexer->interval = interval;
    indexer->database = database;
    indexer->pool = pool;
    indexer->log = cycle->log;
    indexer->job.log = cycle->log;

    indexer->event.handler = indexer_turn;
    indexer->event.data = indexer;
    indexer->event.log = cycle->log;
    indexer->event.cancelable = 1;

    ngx_add_timer(&indexer->event, ngx_random() % 1000);

    return indexer;
}


void
ngx_guildlog_indexer_destroy(ngx_guildlog_indexer_t *indexer)
{
    ngx_guildlog_event_stop(&indexer->event);

    if (indexer->query) {
        ngx_guildlog_db_pool_detach(indexer->query);
        indexer->query = NULL;
    }

    ngx_guildlog_indexer_job_end(&indexer->job);
}


static void
indexer_turn(ngx_event_t *ev)
{
    ngx_guildlog_indexer_t *indexer = ev->data;

    ngx_str_t               none;
    const indexer_state_t  *state;

    ngx_guildlog_event_stop(ev);

    if (ngx_exiting) {

        /* somebody else may do it at once */

        if (indexer->job.pool) {
            ngx_str_null(&none);
            indexer_fail(indexer, &none);
        }

        return;
    }

    state = &indexer_states[indexer->state];

    ngx_log_debug4(NGX_LOG_DEBUG_CORE, indexer->log, 0,
                   "guildlog index: %s, \"%V\" of server \"%V\" bot \"%V\"",
                   state->name, &indexer->job.what, &indexer->job.guild,
                   &indexer->job.bot);

    indexer->turn_us = ngx_guildlog_clock_us();

    state->handler(indexer);

    indexer->work_us += ngx_guildlog_clock_us() - indexer->turn_us;
}


static void
indexer_ask_job(ngx_guildlog_indexer_t *indexer)
{
    ngx_str_t  format = ngx_string(ngx_value(NGX_GUILDLOG_SEGMENT_FORMAT));

    indexer_ask(indexer, ngx_guildlog_stmt_search_job, &format,
                indexer_job_done);
}


static void
indexer_job_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    indexer_answered(indexer, result);

    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, indexer->log, 0,
                      "guildlog database \"%V\": what is to be indexed is "
                      "not told, SQLSTATE %s: %V", &indexer->database->name,
                      result->sqlstate, &result->message);
    }

    if (result->outcome == NGX_GUILDLOG_DB_ROWS && result->rows == 0) {
        indexer_end(indexer, indexer->interval);
        return;
    }

    if (result->outcome != NGX_GUILDLOG_DB_ROWS
        || ngx_guildlog_indexer_job_begin(&indexer->job, result) != NGX_OK)
    {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    indexer_go(indexer, INDEXER_DOCS);
}


static void
indexer_ask_docs(ngx_guildlog_indexer_t *indexer)
{
    ngx_str_t  args[NGX_GUILDLOG_INDEXER_JOB_DOCS];

    ngx_guildlog_indexer_job_docs(&indexer->job, args);

    indexer_ask(indexer, ngx_guildlog_stmt_search_docs, args,
                indexer_docs_done);
}


static void
indexer_docs_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    indexer_answered(indexer, result);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows == 0) {
        indexer_refused(indexer, result);
        return;
    }

    if (ngx_guildlog_indexer_job_page(&indexer->job, result) != NGX_OK) {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    indexer_go(indexer, INDEXER_ADD);
}


static void
indexer_add(ngx_guildlog_indexer_t *indexer)
{
    ngx_int_t  rc;

    do {
        rc = ngx_guildlog_indexer_job_add(&indexer->job);
    } while (rc == NGX_AGAIN && !indexer_late(indexer));

    switch (rc) {

    case NGX_AGAIN:
        indexer_go(indexer, INDEXER_ADD);
        break;

    case NGX_OK:
        indexer_go(indexer, INDEXER_DOCS);
        break;

    case NGX_DONE:
        indexer_go(indexer, INDEXER_WRITE);
        break;

    default:
        indexer_end(indexer, INDEXER_RETRY);
    }
}


static void
indexer_write(ngx_guildlog_indexer_t *indexer)
{
    ngx_int_t  rc;

    do {
        rc = ngx_guildlog_indexer_job_write(&indexer->job);
    } while (rc == NGX_AGAIN && !indexer_late(indexer));

    switch (rc) {

    case NGX_AGAIN:
        indexer_go(indexer, INDEXER_WRITE);
        break;

    case NGX_OK:
        indexer_go(indexer, INDEXER_PUT);
        break;

    default:
        indexer_end(indexer, INDEXER_RETRY);
    }
}


static void
indexer_put(ngx_guildlog_indexer_t *indexer)
{
    ngx_str_t  args[NGX_GUILDLOG_INDEXER_JOB_PUT];

    ngx_guildlog_indexer_job_put(&indexer->job, args);

    indexer_ask(indexer, ngx_guildlog_stmt_search_put, args, indexer_put_done);
}


/* without an answer it is stored or not; the schema knows */

static void
indexer_put_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    indexer_answered(indexer, result);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        indexer_refused(indexer, result);
        return;
    }

    switch (ngx_guildlog_indexer_job_stored(&indexer->job, result)) {

    case NGX_AGAIN:
        indexer_go(indexer, INDEXER_ADD);
        break;

    case NGX_ERROR:
        indexer_end(indexer, INDEXER_RETRY);
        break;

    default:
        indexer_end(indexer, 0);
    }
}


/*
 * What is wrong with a server's entries or segments must not stop the others:
 * the schema leaves that server out for a while.
 */

static void
indexer_refused(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_db_result_t *result)
{
    u_char              buf[NGX_MAX_ERROR_STR / 4], *p;
    ngx_str_t           cause;
    const char *const  *class;

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED
        && result->outcome != NGX_GUILDLOG_DB_TIMEOUT)
    {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    p = ngx_sprintf(buf, "%s: %s ", indexer_states[indexer->state].name,
                    result->sqlstate);

    ngx_guildlog_db_result_line(p, buf + sizeof(buf) - p,
                                result->message.data
                                ? (char *) result->message.data : "too late");
    cause.data = buf;
    cause.len = ngx_strlen(buf);

    for (class = indexer_excused; *class; class++) {

        if (result->outcome == NGX_GUILDLOG_DB_REFUSED
            && ngx_strncmp(result->sqlstate, *class, 2) == 0)
        {
            ngx_log_error(NGX_LOG_ERR, indexer->log, 0,
                          "guildlog database \"%V\": the index of searches "
                          "has to wait, %V", &indexer->database->name, &cause);
            indexer_end(indexer, INDEXER_RETRY);
            return;
        }
    }

    indexer_fail(indexer, &cause);
}


/* the keeper tells of it, as of its task "search"; no cause: a job goes back */

static void
indexer_fail(ngx_guildlog_indexer_t *indexer, const ngx_str_t *cause)
{
    ngx_str_t  args[3];

    args[0] = indexer->job.guild;
    args[1] = indexer->job.bot;
    args[2] = *cause;

    indexer_ask(indexer, ngx_guildlog_stmt_search_fail, args,
                indexer_fail_done);
}


static void
indexer_fail_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    indexer_answered(indexer, result);

    indexer_end(indexer, result->outcome == NGX_GUILDLOG_DB_ROWS
                         ? 0 : INDEXER_RETRY);
}


static void
indexer_ask(ngx_guildlog_indexer_t *indexer, ngx_guildlog_stmt_e stmt,
    const ngx_str_t *args, ngx_guildlog_db_handler_pt handler)
{
    indexer->query = ngx_guildlog_db_pool_submit(indexer->pool,
                                                 &ngx_guildlog_stmts[stmt],
                                                 args, handler, indexer);

    if (indexer->query == NULL) {
        indexer_end(indexer, INDEXER_RETRY);
    }
}


static void
indexer_answered(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_db_result_t *result)
{
    indexer->query = NULL;
    indexer->work_us += result->time_us;
}


/* has it had its moment of this iteration of the event loop? */

static ngx_uint_t
indexer_late(ngx_guildlog_indexer_t *indexer)
{
    return ngx_guildlog_clock_us() - indexer->turn_us >= INDEXER_MOMENT;
}


/*
 * Goes on in the next iteration of the event loop.  After some work it pauses
 * for as long as that took, so that it takes at most half of a processor; in a
 * hurry for a quarter of that, since half of a processor might never be enough.
 */

static void
indexer_go(ngx_guildlog_indexer_t *indexer, indexer_state_e state)
{
    ngx_msec_t  pause;

    indexer->state = state;

    /* a worker that is to exit stays until it has given its job back */

    indexer->event.cancelable = (indexer->job.pool == NULL);

    if (indexer->work_us < INDEXER_BURST) {
        ngx_guildlog_event_next(&indexer->event);
        return;
    }

    pause = indexer->work_us / 1000;
    indexer->work_us = 0;

    ngx_add_timer(&indexer->event, indexer->job.hurry ? pause / 4 : pause);
}


/* leaves the job, done or not; asks for another one, after so many ms */

static void
indexer_end(ngx_guildlog_indexer_t *indexer, ngx_msec_t wait)
{
    ngx_guildlog_indexer_job_end(&indexer->job);

    if (wait == 0) {
        indexer_go(indexer, INDEXER_JOB);
        return;
    }

    indexer->state = INDEXER_JOB;
    indexer->work_us = 0;
    indexer->event.cancelable = 1;

    ngx_add_timer(&indexer->event, wait);
}
