
/*
 * The index of searches: one job after the other, and a pause when there is
 * none.
 *
 * Nothing of a job counts before its last put, which is one transaction.  So a
 * job may be left anywhere: the schema gives it out again.
 */

#include "jobs/ngx_guildlog_indexer.h"


#define INDEXER_MOMENT  250      /* us; a slice; then others work */
#define INDEXER_BURST   20000    /* us of work, then a pause */
#define INDEXER_RETRY   5000     /* ms, the database refused */


typedef struct {
    ngx_pool_t                    *pool;       /* NULL: there is no job */
    ngx_str_t                      what;       /* "run", "back" or "day" */
    ngx_str_t                      guild;
    ngx_str_t                      bot;
    ngx_str_t                      erased;     /* how often entries went */
    ngx_str_t                      low;        /* ids, from this one on */
    ngx_str_t                      high;       /* below this one */
    ngx_str_t                      since;      /* arrivals, behind this one */
    ngx_str_t                      until;      /* up to this one */
    ngx_str_t                      keys;       /* segments of the day so far */
    ngx_str_t                      parts;      /* segments of the day that are
                                                  stored: {1,2} */

    ngx_pool_t                    *page;       /* NULL: there is none */
    ngx_guildlog_db_result_t       docs;
    ngx_uint_t                     row;        /* the next one */
    ngx_str_t                      at;         /* where the next page begins */

    ngx_guildlog_build_t          *build;
    ngx_uint_t                     added;      /* documents */
    ngx_str_t                      done;       /* the last one added */

    unsigned                       run:1;      /* goes by arrival, upwards;
                                                  others by id, downwards */
    unsigned                       day:1;      /* may be stored in parts */
    unsigned                       hurry:1;    /* it is overdue */
    unsigned                       last:1;     /* no page follows */
    unsigned                       ended:1;    /* all documents are added */
} ngx_guildlog_indexer_job_t;


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
    ngx_event_t                    event;      /* the next slice */
    uint64_t                       slice_us;   /* this one began */
    uint64_t                       work_us;    /* since the last pause, here
                                                  and in the database */
};


#define INDEXER_DOCS_ARGS  9     /* of search_docs */
#define INDEXER_PUT_ARGS   10    /* of search_put */

#define INDEXER_JOB_PAGE  "1048576"    /* bytes of documents */
#define INDEXER_JOB_POOL  1024

#define INDEXER_JOB_COLUMNS                                                   \
    (sizeof(indexer_job_columns) / sizeof(indexer_job_columns[0]))


/* the columns of search_docs */

typedef enum {
    INDEXER_JOB_ID = 0,
    INDEXER_JOB_ARRIVAL,
    INDEXER_JOB_DOC
} indexer_job_doc_e;


static void indexer_slice(ngx_event_t *ev);
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
static ngx_int_t indexer_job_begin(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result, ngx_log_t *log);
static ngx_int_t indexer_job_build(ngx_guildlog_indexer_job_t *job);
static ngx_str_t indexer_job_value(ngx_guildlog_indexer_job_t *job,
    indexer_job_doc_e column);
static ngx_int_t indexer_job_add(ngx_guildlog_indexer_job_t *job);
static ngx_int_t indexer_job_part(ngx_guildlog_indexer_job_t *job,
    const ngx_str_t *made);
static void indexer_job_end(ngx_guildlog_indexer_job_t *job);
static void indexer_job_clear(ngx_guildlog_indexer_job_t *job);


static const indexer_state_t  indexer_states[] = {
    { "job",   indexer_ask_job },
    { "docs",  indexer_ask_docs },
    { "add",   indexer_add },
    { "write", indexer_write },
    { "put",   indexer_put }
};


/* the columns of search_job */

static const size_t  indexer_job_columns[] = {
    offsetof(ngx_guildlog_indexer_job_t, what),
    offsetof(ngx_guildlog_indexer_job_t, guild),
    offsetof(ngx_guildlog_indexer_job_t, bot),
    offsetof(ngx_guildlog_indexer_job_t, erased),
    offsetof(ngx_guildlog_indexer_job_t, low),
    offsetof(ngx_guildlog_indexer_job_t, high),
    offsetof(ngx_guildlog_indexer_job_t, since),
    offsetof(ngx_guildlog_indexer_job_t, until),
    offsetof(ngx_guildlog_indexer_job_t, keys)
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

    ngx_guildlog_event_init(&indexer->event, indexer_slice, indexer,
                            cycle->log);
    indexer->event.cancelable = 1;

    ngx_add_timer(&indexer->event, ngx_random() % 1000);

    return indexer;
}


void
ngx_guildlog_indexer_destroy(ngx_guildlog_indexer_t *indexer)
{
    ngx_guildlog_event_stop(&indexer->event);

    ngx_guildlog_db_pool_detach(indexer->query);
    indexer->query = NULL;

    indexer_job_end(&indexer->job);
}


static void
indexer_slice(ngx_event_t *ev)
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

    indexer->slice_us = ngx_guildlog_clock_us();

    state->handler(indexer);

    indexer->work_us += ngx_guildlog_clock_us() - indexer->slice_us;
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
        || indexer_job_begin(&indexer->job, result, indexer->log) != NGX_OK)
    {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    indexer_go(indexer, INDEXER_DOCS);
}


static void
indexer_ask_docs(ngx_guildlog_indexer_t *indexer)
{
    ngx_str_t                          args[INDEXER_DOCS_ARGS];
    const ngx_guildlog_indexer_job_t  *job;

    job = &indexer->job;

    args[0] = job->guild;
    args[1] = job->bot;
    args[2].data = (u_char *) (job->run ? "t" : "f");
    args[2].len = 1;
    args[3] = job->low;
    args[4] = job->high;
    args[5] = job->since;
    args[6] = job->until;
    args[7] = job->at;
    ngx_str_set(&args[8], INDEXER_JOB_PAGE);

    indexer_ask(indexer, ngx_guildlog_stmt_search_docs, args,
                indexer_docs_done);
}


/* the id of the last row tells where the next page begins; null: nowhere */

static void
indexer_docs_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    ngx_guildlog_indexer_job_t  *job;

    job = &indexer->job;

    indexer_answered(indexer, result);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS || result->rows == 0) {
        indexer_refused(indexer, result);
        return;
    }

    ngx_guildlog_pool_drop(&job->page);

    job->page = ngx_create_pool(INDEXER_JOB_POOL, indexer->log);

    if (job->page == NULL
        || ngx_guildlog_db_result_retain(result, job->page) != NGX_OK)
    {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    job->docs = *result;
    job->docs.rows--;
    job->row = 0;

    job->at = ngx_guildlog_db_result_value(result, job->docs.rows,
                                           INDEXER_JOB_ID);
    job->last = (job->at.data == NULL);

    indexer_go(indexer, INDEXER_ADD);
}


static void
indexer_add(ngx_guildlog_indexer_t *indexer)
{
    ngx_int_t  rc;

    do {
        rc = indexer_job_add(&indexer->job);
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
        rc = ngx_guildlog_build_write(indexer->job.build);
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


/*
 * A run tells up to which arrival all is indexed from then on, a back part down
 * to which id.
 */

static void
indexer_put(ngx_guildlog_indexer_t *indexer)
{
    ngx_str_t                          args[INDEXER_PUT_ARGS];
    const ngx_guildlog_indexer_job_t  *job;

    job = &indexer->job;

    args[0] = job->guild;
    args[1] = job->bot;
    args[2] = job->what;
    args[3] = job->erased;
    args[4] = job->run ? job->since : job->high;
    args[5] = !job->ended ? job->done : job->run ? job->until : job->low;
    args[6] = job->keys;
    args[7] = job->parts;
    args[8] = job->build->shape;
    args[9] = job->build->blob;

    if (job->day && !job->ended) {
        ngx_str_set(&args[2], "part");
        ngx_str_set(&args[6], "{}");
        ngx_str_set(&args[7], "{}");
    }

    indexer_ask(indexer, ngx_guildlog_stmt_search_put, args, indexer_put_done);
}


/*
 * Without an answer it is stored or not; the schema knows.  Another status than
 * 200: somebody else was first, or entries went meanwhile, and nothing is
 * stored.  A part of a day counts as soon as the last one is stored.
 */

static void
indexer_put_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_indexer_t *indexer = data;

    ngx_int_t                    status;
    ngx_str_t                    made;
    ngx_guildlog_indexer_job_t  *job;

    job = &indexer->job;

    indexer_answered(indexer, result);

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        indexer_refused(indexer, result);
        return;
    }

    status = ngx_guildlog_db_result_number(result, 0, 0);
    made = ngx_guildlog_db_result_value(result, 0, 1);

    ngx_log_debug3(NGX_LOG_DEBUG_CORE, indexer->log, 0,
                   "guildlog index: %ui entries, %ui segments, status %i",
                   job->added, job->build->segments->nelts, status);

    if (status != 200 || job->ended || !job->day) {
        indexer_end(indexer, 0);
        return;
    }

    if (indexer_job_part(job, &made) != NGX_OK
        || indexer_job_build(job) != NGX_OK)
    {
        indexer_end(indexer, INDEXER_RETRY);
        return;
    }

    indexer_go(indexer, INDEXER_ADD);
}


/*
 * What is wrong with a guild's entries or segments must not stop the others:
 * the schema leaves that guild out for a while.
 */

static void
indexer_refused(ngx_guildlog_indexer_t *indexer,
    ngx_guildlog_db_result_t *result)
{
    u_char     buf[NGX_MAX_ERROR_STR / 4], *p;
    ngx_str_t  cause;

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

    if (result->outcome == NGX_GUILDLOG_DB_REFUSED
        && result->fault > NGX_GUILDLOG_DB_FAULT_SAID)
    {
        ngx_log_error(NGX_LOG_ERR, indexer->log, 0,
                      "guildlog database \"%V\": the index of searches has to "
                      "wait, %V", &indexer->database->name, &cause);
        indexer_end(indexer, INDEXER_RETRY);
        return;
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
    return ngx_guildlog_clock_us() - indexer->slice_us >= INDEXER_MOMENT;
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
    indexer_job_end(&indexer->job);

    if (wait == 0) {
        indexer_go(indexer, INDEXER_JOB);
        return;
    }

    indexer->state = INDEXER_JOB;
    indexer->work_us = 0;
    indexer->event.cancelable = 1;

    ngx_add_timer(&indexer->event, wait);
}


/*
 * A job of the index of searches.  It has one page of documents and one builder
 * at a time, however large it is.
 */

/* takes a row of search_job; NGX_ERROR: no memory */

static ngx_int_t
indexer_job_begin(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result, ngx_log_t *log)
{
    ngx_str_t   value, *to;
    ngx_uint_t  i;

    job->pool = ngx_create_pool(INDEXER_JOB_POOL, log);
    if (job->pool == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < INDEXER_JOB_COLUMNS; i++) {
        to = (ngx_str_t *) ((u_char *) job + indexer_job_columns[i]);
        value = ngx_guildlog_db_result_value(result, 0, i);

        ngx_str_null(to);

        if (value.data == NULL) {
            continue;
        }

        to->len = value.len;
        to->data = ngx_pstrdup(job->pool, &value);

        if (to->data == NULL) {
            return NGX_ERROR;
        }
    }

    value = ngx_guildlog_db_result_value(result, 0, INDEXER_JOB_COLUMNS);

    job->hurry = value.len && value.data[0] == 't';
    job->run = job->what.len && job->what.data[0] == 'r';
    job->day = job->what.len && job->what.data[0] == 'd';

    job->at = job->run ? job->since : job->high;
    ngx_str_set(&job->parts, "{}");

    return indexer_job_build(job);
}


/* a builder without documents */

static ngx_int_t
indexer_job_build(ngx_guildlog_indexer_job_t *job)
{
    indexer_job_clear(job);

    job->added = 0;
    job->build = ngx_guildlog_build_create(job->pool->log);

    return job->build ? NGX_OK : NGX_ERROR;
}


static ngx_str_t
indexer_job_value(ngx_guildlog_indexer_job_t *job, indexer_job_doc_e column)
{
    return ngx_guildlog_db_result_value(&job->docs, job->row, column);
}


/*
 * The next document; one that cannot be read is left out.  NGX_AGAIN: another
 * one is at hand.  NGX_OK: another page is needed.  NGX_DONE: these are to be
 * written.  NGX_ERROR: no memory.
 */

static ngx_int_t
indexer_job_add(ngx_guildlog_indexer_job_t *job)
{
    ngx_int_t  rc;
    ngx_str_t  id, doc;

    if (job->row < job->docs.rows) {
        doc = indexer_job_value(job, INDEXER_JOB_DOC);

        rc = ngx_guildlog_build_add(job->build, &doc);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        /* it never should be: what was recorded is JSON */

        if (rc == NGX_DECLINED) {
            id = indexer_job_value(job, INDEXER_JOB_ID);

            ngx_log_error(NGX_LOG_ERR, job->pool->log, 0,
                          "entry %V of server %V cannot be read, and is not "
                          "found by searches", &id, &job->guild);
        }

        job->done = indexer_job_value(job, job->run ? INDEXER_JOB_ARRIVAL
                                                    : INDEXER_JOB_ID);
        job->row++;
        job->added++;
    }

    job->ended = job->last && job->row >= job->docs.rows;

    if (job->ended || job->build->full
        || job->added == NGX_GUILDLOG_SEGMENT_ENTRIES)
    {
        return NGX_DONE;
    }

    return job->row < job->docs.rows ? NGX_AGAIN : NGX_OK;
}


/* {1,2} and {3} make {1,2,3} */

static ngx_int_t
indexer_job_part(ngx_guildlog_indexer_job_t *job, const ngx_str_t *made)
{
    u_char  *p, *data;

    data = ngx_pnalloc(job->pool, job->parts.len + made->len);
    if (data == NULL || made->len == 0) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(data, job->parts.data, job->parts.len - 1);

    if (job->parts.len > 2) {
        *p++ = ',';
    }

    p = ngx_cpymem(p, made->data + 1, made->len - 1);

    job->parts.data = data;
    job->parts.len = p - data;

    return NGX_OK;
}


/* lets go of all it has, whatever was done of it */

static void
indexer_job_end(ngx_guildlog_indexer_job_t *job)
{
    indexer_job_clear(job);

    ngx_guildlog_pool_drop(&job->page);
    ngx_guildlog_pool_drop(&job->pool);

    ngx_memzero(job, sizeof(ngx_guildlog_indexer_job_t));
}


static void
indexer_job_clear(ngx_guildlog_indexer_job_t *job)
{
    if (job->build) {
        ngx_guildlog_build_destroy(job->build);
        job->build = NULL;
    }
}
