
/*
 * A job of the index of searches: some entries of one server and bot become
 * segments.  What it does here takes a moment; between any two steps the event
 * loop may turn.
 *
 *   begin   the job, as the schema gives it
 *   page    documents of its entries
 *   add     hands a document to the builder; page and add take turns
 *   write   makes segments, and arguments of these
 *   stored  the segments are stored; a day goes on with add
 *   end
 */

#ifndef _NGX_GUILDLOG_INDEXER_JOB_H_INCLUDED_
#define _NGX_GUILDLOG_INDEXER_JOB_H_INCLUDED_


#include "db/ngx_guildlog_db_pool.h"
#include "search/ngx_guildlog_build.h"


#define NGX_GUILDLOG_INDEXER_JOB_DOCS  9     /* arguments of search_docs */
#define NGX_GUILDLOG_INDEXER_JOB_PUT   10    /* and of search_put */


typedef struct {
    ngx_log_t                     *log;

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
    ngx_guildlog_pack_t           *pack;       /* NULL: not written yet */
    ngx_uint_t                     added;      /* documents */
    ngx_str_t                      done;       /* the last one added */

    unsigned                       run:1;      /* goes by arrival, upwards;
                                                  others by id, downwards */
    unsigned                       day:1;      /* may be stored in parts */
    unsigned                       hurry:1;    /* it is overdue */
    unsigned                       last:1;     /* no page follows */
    unsigned                       ended:1;    /* all documents are added */
} ngx_guildlog_indexer_job_t;


/* takes a row of search_job; NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_indexer_job_begin(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result);

/* what the next page is asked for by */
void ngx_guildlog_indexer_job_docs(const ngx_guildlog_indexer_job_t *job,
    ngx_str_t *args);

/* takes the result of search_docs; NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_indexer_job_page(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result);

/*
 * The next document; one that cannot be read is left out.  NGX_AGAIN: another
 * one is at hand.  NGX_OK: another page is needed.  NGX_DONE: these are to be
 * written.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_indexer_job_add(ngx_guildlog_indexer_job_t *job);

/* NGX_AGAIN: call it again.  NGX_OK: it may be stored.  NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_indexer_job_write(ngx_guildlog_indexer_job_t *job);

/* what is stored */
void ngx_guildlog_indexer_job_put(const ngx_guildlog_indexer_job_t *job,
    ngx_str_t *args);

/*
 * After search_put.  NGX_OK: the job is done.  NGX_DECLINED: somebody else was
 * first, or entries went meanwhile, and nothing is stored.  NGX_AGAIN: a part
 * of a day is stored, which counts as soon as the last one is.  NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_guildlog_indexer_job_stored(ngx_guildlog_indexer_job_t *job,
    ngx_guildlog_db_result_t *result);

/* lets go of all it has, whatever was done of it */
void ngx_guildlog_indexer_job_end(ngx_guildlog_indexer_job_t *job);


#endif /* _NGX_GUILDLOG_INDEXER_JOB_H_INCLUDED_ */
