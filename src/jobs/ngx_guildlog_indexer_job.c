
/*
 * A job of the index of searches.  It has one page of documents and one builder
 * at a time, however large it is.
 */

#include "jobs/ngx_guildlog_indexer_job.h"


#define INDEXER_JOB_PAGE  "1048576"    /* bytes of documents */
#define INDEXER_JOB_POOL  1024


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

#define INDEXER_JOB_COLUMNS                                                   \
    (sizeof(indexer_job_columns) / sizeof(indexer_job_columns[0]))


/* the columns of search_docs */

typedef enum {
    INDEXER_JOB_ID = 0,
    INDEXER_JOB_ARRIVAL,
    INDEXER_JOB_DOC
} indexer_job_doc_e;


static ngx_str_t indexer_job_value(ngx_guildlog_indexer_job_t *job,
    indexer_job_doc_e column);
static ngx_int_t indexer_job_build(ngx_guildlog_indexer_job_t *job);
static void indexer_job_clear(ngx_guildlog_indexer_job_t *job);
static ngx_int_t indexer_job_part(ngx_guildlog_indexer_job_t *job,
    const ngx_str_t *made);


ngx_int_t
ngx_guildlog_indexer_job_begin(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result)
{
    ngx_str_t   value, *to;
    ngx_uint_t  i;

    job->pool = ngx_create_pool(INDEXER_JOB_POOL, job->log);
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
    job->build = ngx_guildlog_build_create(job->log);

    return job->build ? NGX_OK : NGX_ERROR;
}


void
ngx_guildlog_indexer_job_docs(const ngx_guildlog_indexer_job_t *job,
    ngx_str_t *args)
{
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
}


/* the id of the last row tells where the next page begins; null: nowhere */

ngx_int_t
ngx_guildlog_indexer_job_page(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result)
{
    if (job->page) {
        ngx_destroy_pool(job->page);
    }

    job->page = ngx_create_pool(INDEXER_JOB_POOL, job->log);

    if (job->page == NULL
        || ngx_guildlog_db_result_keep(result, job->page) != NGX_OK)
    {
        return NGX_ERROR;
    }

    job->docs = *result;
    job->docs.rows--;
    job->row = 0;

    job->at = ngx_guildlog_db_result_value(result, job->docs.rows,
                                           INDEXER_JOB_ID);
    job->last = (job->at.data == NULL);

    return NGX_OK;
}


static ngx_str_t
indexer_job_value(ngx_guildlog_indexer_job_t *job, indexer_job_doc_e column)
{
    return ngx_guildlog_db_result_value(&job->docs, job->row, column);
}


ngx_int_t
ngx_guildlog_indexer_job_add(ngx_guildlog_indexer_job_t *job)
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

            ngx_log_error(NGX_LOG_ERR, job->log, 0,
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


ngx_int_t
ngx_guildlog_indexer_job_write(ngx_guildlog_indexer_job_t *job)
{
    ngx_int_t  rc;

    if (job->pack) {
        return ngx_guildlog_pack_piece(job->pack);
    }

    rc = ngx_guildlog_build_write(job->build);
    if (rc != NGX_OK) {
        return rc;
    }

    job->pack = ngx_guildlog_pack_create(job->build->segments, job->log);

    return job->pack ? NGX_AGAIN : NGX_ERROR;
}


/*
 * A run tells up to which arrival all is indexed from then on, a back part down
 * to which id.
 */

void
ngx_guildlog_indexer_job_put(const ngx_guildlog_indexer_job_t *job,
    ngx_str_t *args)
{
    args[0] = job->guild;
    args[1] = job->bot;
    args[2] = job->what;
    args[3] = job->erased;
    args[4] = job->run ? job->since : job->high;
    args[5] = !job->ended ? job->done : job->run ? job->until : job->low;
    args[6] = job->keys;
    args[7] = job->parts;
    args[8] = job->pack->shape;
    args[9] = job->pack->blob;

    if (job->day && !job->ended) {
        ngx_str_set(&args[2], "part");
        ngx_str_set(&args[6], "{}");
        ngx_str_set(&args[7], "{}");
    }
}


ngx_int_t
ngx_guildlog_indexer_job_stored(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result)
{
    ngx_int_t  status;
    ngx_str_t  made;

    status = ngx_guildlog_db_result_number(result, 0, 0);
    made = ngx_guildlog_db_result_value(result, 0, 1);

    ngx_log_debug3(NGX_LOG_DEBUG_CORE, job->log, 0,
                   "guildlog index: %ui entries, %ui segments, status %i",
                   job->added, job->pack->n, status);

    if (status != 200) {
        return NGX_DECLINED;
    }

    if (job->ended || !job->day) {
        return NGX_OK;
    }

    if (indexer_job_part(job, &made) != NGX_OK) {
        return NGX_ERROR;
    }

    return indexer_job_build(job) == NGX_OK ? NGX_AGAIN : NGX_ERROR;
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


void
ngx_guildlog_indexer_job_end(ngx_guildlog_indexer_job_t *job)
{
    ngx_log_t  *log;

    indexer_job_clear(job);

    if (job->page) {
        ngx_destroy_pool(job->page);
    }

    if (job->pool) {
        ngx_destroy_pool(job->pool);
    }

    log = job->log;
    ngx_memzero(job, sizeof(ngx_guildlog_indexer_job_t));
    job->log = log;
}


static void
indexer_job_clear(ngx_guildlog_indexer_job_t *job)
{
    if (job->pack) {
        ngx_guildlog_pack_destroy(job->pack);
        job->pack = NULL;
    }

    if (job->build) {
        ngx_guildlog_build_destroy(job->build);
        job->build = NULL;
    }
}
