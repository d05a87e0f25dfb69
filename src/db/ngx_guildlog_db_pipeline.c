
/*
 * The queries of a connection that is ready: they are sent one behind the
 * other and answered in that order.  pg->result is what the server has to say
 * next.
 */

#include <ngx_config.h>
#include <openssl/err.h>
#include "db/ngx_guildlog_db.h"


#define NGX_GUILDLOG_PIPELINE_BIG    (8 * 1024 * 1024)  /* bytes */
#define NGX_GUILDLOG_PIPELINE_RENEW  1000               /* ms */

/* the SQLSTATE of a server that takes no writes: by its name another may now */
#define NGX_GUILDLOG_PIPELINE_READ_ONLY  "25006"


static int ngx_guildlog_pipeline_put(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query);
static ngx_int_t ngx_guildlog_pipeline_flush(ngx_guildlog_pg_t *pg);
static ngx_int_t ngx_guildlog_pipeline_results(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pipeline_expect(ngx_guildlog_pg_t *pg);
static ngx_int_t ngx_guildlog_pipeline_prepared(ngx_guildlog_pg_t *pg,
    PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_prepared_end(ngx_guildlog_pg_t *pg,
    PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_executed(ngx_guildlog_pg_t *pg,
    PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_executed_end(ngx_guildlog_pg_t *pg,
    PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_synced(ngx_guildlog_pg_t *pg,
    PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_refused(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query, PGresult *res);
static ngx_int_t ngx_guildlog_pipeline_astray(ngx_guildlog_pg_t *pg,
    PGresult *res);


/* SQLSTATEs by which a prepared form says that it is gone or out of date */

static const char  *ngx_guildlog_pipeline_stale[] = { "26000", "0A000", NULL };


void
ngx_guildlog_pipeline_send(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query)
{
    uint32_t  *generation;

    generation = &pg->prepared[query->stmt->index];

    query->prepares = pg->site->database->prepare
                      && (*generation == 0 || query->fresh);

    if (query->prepares) {
        *generation = ++pg->generation;
    }

    query->generation = *generation;
    query->pg = pg;

    ngx_queue_insert_tail(&pg->flight, &query->queue);

    if (pg->nflight++ == 0) {
        pg->connection->idle = 0;
        ngx_guildlog_pipeline_expect(pg);
    }

    pg->blocked = 1;

    if (!ngx_guildlog_pipeline_put(pg, query) || !PQpipelineSync(pg->conn)) {
        ngx_guildlog_pg_fail(pg, PQerrorMessage(pg->conn));
        return;
    }

    (void) ngx_guildlog_pipeline_flush(pg);

    if (pg->conn && PQsslInUse(pg->conn)) {
        ERR_clear_error();
    }
}


static int
ngx_guildlog_pipeline_put(ngx_guildlog_pg_t *pg, ngx_guildlog_db_query_t *query)
{
    int                         n;
    u_char                      name[NGX_MAX_ERROR_STR];
    const ngx_guildlog_stmt_t  *stmt;

    stmt = query->stmt;
    n = (int) stmt->nargs;

    if (!pg->site->database->prepare) {
        return PQsendQueryParams(pg->conn, stmt->text, n, NULL,
                                 query->values, NULL, NULL, 0);
    }

    ngx_snprintf(name, sizeof(name), "%s_%uD%Z", stmt->name,
                 query->generation);

    if (query->prepares
        && !PQsendPrepare(pg->conn, (char *) name, stmt->text, 0, NULL))
    {
        return 0;
    }

    return PQsendQueryPrepared(pg->conn, (char *) name, n, query->values,
                               NULL, NULL, 0);
}


void
ngx_guildlog_pipeline_io(ngx_guildlog_pg_t *pg, ngx_uint_t write)
{
    u_char      cause[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t  ended;

    ended = !write && !PQconsumeInput(pg->conn);

    if (ended) {
        ngx_guildlog_db_result_line(cause, sizeof(cause),
                                    PQerrorMessage(pg->conn));
    }

    /* answers that came before the end of the stream are answers */

    if (ngx_guildlog_pipeline_results(pg) != NGX_OK) {
        return;
    }

    if (ended) {
        ngx_guildlog_pg_fail(pg, (char *) cause);
        return;
    }

    if (pg->blocked && ngx_guildlog_pipeline_flush(pg) != NGX_OK) {
        return;
    }

    ngx_guildlog_pg_read_pending(pg);
}


/* NGX_ERROR: the connection has ended */

static ngx_int_t
ngx_guildlog_pipeline_flush(ngx_guildlog_pg_t *pg)
{
    int           rc;
    ngx_event_t  *wev;

    wev = pg->connection->write;
    rc = PQflush(pg->conn);

    if (rc == 0) {
        pg->blocked = 0;

        if (wev->active) {
            if (ngx_del_event(wev, NGX_WRITE_EVENT, 0) != NGX_OK) {
                ngx_guildlog_pg_fail(pg, "the socket cannot be watched");
                return NGX_ERROR;
            }

            ngx_guildlog_db_pool_unblocked(pg);
        }

    } else if (rc == 1) {
        if (!wev->active
            && ngx_add_event(wev, NGX_WRITE_EVENT, 0) != NGX_OK)
        {
            ngx_guildlog_pg_fail(pg, "the socket cannot be watched");
            return NGX_ERROR;
        }

    } else {
        ngx_guildlog_pg_fail(pg, PQerrorMessage(pg->conn));
        return NGX_ERROR;
    }

    /* libpq reads while it cannot write: then no event tells of the data */

    if (pg->nflight && !PQisBusy(pg->conn)) {
        ngx_post_event(pg->connection->read, &ngx_posted_next_events);
    }

    ngx_guildlog_pg_read_pending(pg);

    return NGX_OK;
}


/*
 * At most a pipeline's depth of answers a call.  PQisBusy() parses even
 * while nothing is in flight, for what a server says on its own.
 */

static ngx_int_t
ngx_guildlog_pipeline_results(ngx_guildlog_pg_t *pg)
{
    for ( ;; ) {
        ngx_set_errno(0);

        if (PQisBusy(pg->conn)) {
            break;
        }

        if (pg->astray) {
            return ngx_guildlog_pipeline_astray(pg, NULL);
        }

        if (pg->nflight == 0) {
            return NGX_OK;
        }

        if (pg->result(pg, PQgetResult(pg->conn)) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    /* libpq waits on for what it has read and had no memory to tell */

    if (ngx_errno == NGX_ENOMEM) {
        ngx_guildlog_pg_fail(pg, "no memory for an answer");
        return NGX_ERROR;
    }

    return NGX_OK;
}


static void
ngx_guildlog_pipeline_expect(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_db_query_t  *query;

    query = ngx_queue_data(ngx_queue_head(&pg->flight),
                           ngx_guildlog_db_query_t, queue);

    pg->head_since = ngx_current_msec;
    pg->result = query->prepares ? ngx_guildlog_pipeline_prepared
                                 : ngx_guildlog_pipeline_executed;
}


static ngx_int_t
ngx_guildlog_pipeline_prepared(ngx_guildlog_pg_t *pg, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    query = ngx_queue_data(ngx_queue_head(&pg->flight),
                           ngx_guildlog_db_query_t, queue);

    pg->result = ngx_guildlog_pipeline_prepared_end;

    if (res && PQresultStatus(res) == PGRES_COMMAND_OK) {
        PQclear(res);
        return NGX_OK;
    }

    if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) {

        if (pg->prepared[query->stmt->index] == query->generation) {
            pg->prepared[query->stmt->index] = 0;
        }

        return ngx_guildlog_pipeline_refused(pg, query, res);
    }

    return ngx_guildlog_pipeline_astray(pg, res);
}


static ngx_int_t
ngx_guildlog_pipeline_prepared_end(ngx_guildlog_pg_t *pg, PGresult *res)
{
    pg->result = ngx_guildlog_pipeline_executed;

    return res ? ngx_guildlog_pipeline_astray(pg, res) : NGX_OK;
}


static ngx_int_t
ngx_guildlog_pipeline_executed(ngx_guildlog_pg_t *pg, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    query = ngx_queue_data(ngx_queue_head(&pg->flight),
                           ngx_guildlog_db_query_t, queue);

    pg->result = ngx_guildlog_pipeline_executed_end;

    if (res && query->result.res) {

        /* it was not prepared: what depends on that has to be skipped */

        if (PQresultStatus(res) == PGRES_PIPELINE_ABORTED) {
            PQclear(res);
            return NGX_OK;
        }

        return ngx_guildlog_pipeline_astray(pg, res);
    }

    if (res && (PQresultStatus(res) == PGRES_TUPLES_OK
                || PQresultStatus(res) == PGRES_COMMAND_OK))
    {
        query->result.res = res;
        return NGX_OK;
    }

    if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) {
        return ngx_guildlog_pipeline_refused(pg, query, res);
    }

    return ngx_guildlog_pipeline_astray(pg, res);
}


static ngx_int_t
ngx_guildlog_pipeline_executed_end(ngx_guildlog_pg_t *pg, PGresult *res)
{
    pg->result = ngx_guildlog_pipeline_synced;

    return res ? ngx_guildlog_pipeline_astray(pg, res) : NGX_OK;
}


static ngx_int_t
ngx_guildlog_pipeline_synced(ngx_guildlog_pg_t *pg, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    if (res == NULL || PQresultStatus(res) != PGRES_PIPELINE_SYNC) {
        return ngx_guildlog_pipeline_astray(pg, res);
    }

    PQclear(res);

    query = ngx_queue_data(ngx_queue_head(&pg->flight),
                           ngx_guildlog_db_query_t, queue);

    ngx_queue_remove(&query->queue);
    query->pg = NULL;
    pg->nflight--;
    pg->answered = 1;

    /* libpq's buffers never shrink */

    if (query->size + PQresultMemorySize(query->result.res)
        > NGX_GUILDLOG_PIPELINE_BIG)
    {
        pg->worn = 1;
    }

    ngx_guildlog_outcome_answered(pg, query);

    if (pg->nflight) {
        ngx_guildlog_pipeline_expect(pg);
        return NGX_OK;
    }

    if (PQtransactionStatus(pg->conn) != PQTRANS_IDLE) {
        ngx_guildlog_pg_fail(pg, "a statement left a transaction open");
        return NGX_ERROR;
    }

    if (pg->worn) {
        ngx_guildlog_pg_close(pg);
        return NGX_ERROR;
    }

    pg->connection->idle = 1;

    return NGX_OK;
}


/* an error of this statement, or the last one of the connection */

static ngx_int_t
ngx_guildlog_pipeline_refused(ngx_guildlog_pg_t *pg,
    ngx_guildlog_db_query_t *query, PGresult *res)
{
    uint32_t    *generation;
    const char  *sqlstate, *severity, **stale;

    sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (sqlstate == NULL || severity == NULL
        || ngx_strcmp(severity, "ERROR") != 0)
    {
        ngx_guildlog_pg_fail(pg, PQresultErrorMessage(res));
        PQclear(res);
        return NGX_ERROR;
    }

    query->result.res = res;

    if (ngx_strcmp(sqlstate, NGX_GUILDLOG_PIPELINE_READ_ONLY) == 0
        && ngx_current_msec - pg->ready_at > NGX_GUILDLOG_PIPELINE_RENEW)
    {
        pg->worn = 1;
    }

    if (query->prepares || !pg->site->database->prepare) {
        return NGX_OK;
    }

    for (stale = ngx_guildlog_pipeline_stale; *stale; stale++) {
        if (ngx_strcmp(sqlstate, *stale) == 0) {
            generation = &pg->prepared[query->stmt->index];

            if (*generation == query->generation) {
                *generation = 0;
            }

            query->stale = 1;
        }
    }

    return NGX_OK;
}


/*
 * Something came that was not asked for: from here on no answer can be
 * trusted to belong to its query.
 */

static ngx_int_t
ngx_guildlog_pipeline_astray(ngx_guildlog_pg_t *pg, PGresult *res)
{
    if (res) {
        PQclear(res);
    }

    ngx_guildlog_pg_fail(pg, NGX_GUILDLOG_PG_ASTRAY);

    return NGX_ERROR;
}
