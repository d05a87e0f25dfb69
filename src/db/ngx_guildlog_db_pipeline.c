
/*
 * The queries of a connection that is ready.  They are sent one behind the
 * other and answered in that order.  conn->result handles what the database has
 * to answer next.
 */

#include <ngx_config.h>
#include <openssl/err.h>
#include "db/ngx_guildlog_db.h"


#define DB_PIPELINE_BIG    (8 * 1024 * 1024)  /* bytes */
#define DB_PIPELINE_RENEW  1000               /* ms */


static int db_pipeline_put(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query);
static ngx_int_t db_pipeline_flush(ngx_guildlog_db_conn_t *conn);
static ngx_guildlog_db_query_t *db_pipeline_head(ngx_guildlog_db_conn_t *conn);
static void db_pipeline_expect(ngx_guildlog_db_conn_t *conn);
static ngx_int_t db_pipeline_prepared(ngx_guildlog_db_conn_t *conn,
    PGresult *res);
static ngx_int_t db_pipeline_prepared_end(ngx_guildlog_db_conn_t *conn,
    PGresult *res);
static ngx_int_t db_pipeline_executed(ngx_guildlog_db_conn_t *conn,
    PGresult *res);
static ngx_int_t db_pipeline_executed_end(ngx_guildlog_db_conn_t *conn,
    PGresult *res);
static ngx_int_t db_pipeline_synced(ngx_guildlog_db_conn_t *conn,
    PGresult *res);
static ngx_int_t db_pipeline_refused(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query, PGresult *res);
static ngx_uint_t db_pipeline_again(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query, ngx_uint_t again);
static ngx_int_t db_pipeline_desynced(ngx_guildlog_db_conn_t *conn,
    PGresult *res);


void
ngx_guildlog_db_pipeline_send(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query)
{
    uint32_t  *generation;

    ngx_guildlog_assert(conn->pg && conn->ready);
    ngx_guildlog_assert(!conn->blocked || conn->nflight);
    ngx_guildlog_assert(query->conn == NULL);
    ngx_guildlog_assert(query->stmt->index < NGX_GUILDLOG_STMT_MAX);

    generation = &conn->prepared[query->stmt->index];

    query->prepares = conn->pool->database->prepare
                      && (*generation == 0 || query->fresh);

    if (query->prepares) {
        *generation = ++conn->generation;
    }

    query->generation = *generation;
    query->conn = conn;

    ngx_queue_insert_tail(&conn->flight, &query->queue);

    if (conn->nflight++ == 0) {
        conn->connection->idle = 0;
        db_pipeline_expect(conn);
    }

    conn->blocked = 1;

    if (!db_pipeline_put(conn, query) || !PQpipelineSync(conn->pg)) {
        ngx_guildlog_db_conn_fail(conn, PQerrorMessage(conn->pg));
        return;
    }

    (void) db_pipeline_flush(conn);

    if (conn->pg && PQsslInUse(conn->pg)) {
        ERR_clear_error();
    }
}


static int
db_pipeline_put(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query)
{
    int                         n, binary;
    int                         lengths[NGX_GUILDLOG_ARGS_MAX];
    int                         formats[NGX_GUILDLOG_ARGS_MAX];
    u_char                      name[NGX_MAX_ERROR_STR];
    const ngx_guildlog_stmt_t  *stmt;

    stmt = query->stmt;
    n = (int) stmt->nargs;
    binary = (stmt->flags & NGX_GUILDLOG_STMT_BINARY) != 0;

    /* 1: an argument of so many bytes; 0: text */

    ngx_memzero(formats, sizeof(formats));

    if (stmt->flags & NGX_GUILDLOG_STMT_RAW) {
        formats[n - 1] = 1;
        lengths[n - 1] = (int) query->raw;
    }

    if (!conn->pool->database->prepare) {
        return PQsendQueryParams(conn->pg, stmt->text, n, NULL,
                                 query->values, lengths, formats, binary);
    }

    ngx_snprintf(name, sizeof(name), "%s_%uD%Z", stmt->name,
                 query->generation);

    if (query->prepares
        && !PQsendPrepare(conn->pg, (char *) name, stmt->text, 0, NULL))
    {
        return 0;
    }

    return PQsendQueryPrepared(conn->pg, (char *) name, n, query->values,
                               lengths, formats, binary);
}


/*
 * A call handles as many answers as the pipeline is deep at most.  PQisBusy()
 * is called while nothing is in flight, too: it parses what the database sends
 * by itself.
 */

void
ngx_guildlog_db_pipeline_io(ngx_guildlog_db_conn_t *conn, ngx_uint_t write)
{
    u_char      cause[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t  ended;

    ended = !write && !PQconsumeInput(conn->pg);

    if (ended) {
        ngx_guildlog_db_result_line(cause, sizeof(cause),
                                    PQerrorMessage(conn->pg));
    }

    /* what came before the end of the stream is answered */

    for ( ;; ) {
        ngx_set_errno(0);

        if (PQisBusy(conn->pg)) {

            /* libpq had no memory for a message, and waits as if it had not
               come */

            if (ngx_errno == NGX_ENOMEM) {
                ngx_guildlog_db_conn_fail(conn, "no memory for an answer");
                return;
            }

            break;
        }

        if (conn->desynced) {
            (void) db_pipeline_desynced(conn, NULL);
            return;
        }

        if (conn->nflight == 0) {
            break;
        }

        if (conn->result(conn, PQgetResult(conn->pg)) != NGX_OK) {
            return;
        }
    }

    if (ended) {
        ngx_guildlog_db_conn_fail(conn, (char *) cause);
        return;
    }

    if (conn->blocked && db_pipeline_flush(conn) != NGX_OK) {
        return;
    }

    ngx_guildlog_db_conn_read_pending(conn);
}


/* NGX_ERROR: the connection has ended */

static ngx_int_t
db_pipeline_flush(ngx_guildlog_db_conn_t *conn)
{
    int           rc;
    ngx_event_t  *wev;

    wev = conn->connection->write;
    rc = PQflush(conn->pg);

    if (rc == 0) {
        conn->blocked = 0;

        if (wev->active) {
            if (ngx_del_event(wev, NGX_WRITE_EVENT, 0) != NGX_OK) {
                ngx_guildlog_db_conn_fail(conn, "the socket cannot be watched");
                return NGX_ERROR;
            }

            /* every byte is sent: another query may follow */

            ngx_post_event(&conn->pool->run, &ngx_posted_events);
        }

    } else if (rc == 1) {
        if (!wev->active
            && ngx_add_event(wev, NGX_WRITE_EVENT, 0) != NGX_OK)
        {
            ngx_guildlog_db_conn_fail(conn, "the socket cannot be watched");
            return NGX_ERROR;
        }

    } else {
        ngx_guildlog_db_conn_fail(conn, PQerrorMessage(conn->pg));
        return NGX_ERROR;
    }

    /* libpq reads while it cannot write, and no event tells of that data */

    if (conn->nflight && !PQisBusy(conn->pg)) {
        ngx_post_event(conn->connection->read, &ngx_posted_next_events);
    }

    ngx_guildlog_db_conn_read_pending(conn);

    return NGX_OK;
}


static ngx_guildlog_db_query_t *
db_pipeline_head(ngx_guildlog_db_conn_t *conn)
{
    ngx_queue_t  *q;

    ngx_guildlog_assert(conn->nflight > 0);
    ngx_guildlog_assert(!ngx_queue_empty(&conn->flight));

    q = ngx_queue_head(&conn->flight);

    return ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
}


static void
db_pipeline_expect(ngx_guildlog_db_conn_t *conn)
{
    ngx_guildlog_db_query_t  *query;

    query = db_pipeline_head(conn);

    conn->head_since = ngx_current_msec;
    conn->result = query->prepares ? db_pipeline_prepared
                                   : db_pipeline_executed;
}


static ngx_int_t
db_pipeline_prepared(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    query = db_pipeline_head(conn);

    conn->result = db_pipeline_prepared_end;

    if (res && PQresultStatus(res) == PGRES_COMMAND_OK) {
        PQclear(res);
        return NGX_OK;
    }

    if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) {

        if (conn->prepared[query->stmt->index] == query->generation) {
            conn->prepared[query->stmt->index] = 0;
        }

        return db_pipeline_refused(conn, query, res);
    }

    return db_pipeline_desynced(conn, res);
}


static ngx_int_t
db_pipeline_prepared_end(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    conn->result = db_pipeline_executed;

    return res ? db_pipeline_desynced(conn, res) : NGX_OK;
}


static ngx_int_t
db_pipeline_executed(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    query = db_pipeline_head(conn);

    conn->result = db_pipeline_executed_end;

    if (res && query->result.res) {

        /* the Prepare failed: the database skips the rest up to the sync */

        if (PQresultStatus(res) == PGRES_PIPELINE_ABORTED) {
            PQclear(res);
            return NGX_OK;
        }

        return db_pipeline_desynced(conn, res);
    }

    if (res && (PQresultStatus(res) == PGRES_TUPLES_OK
                || PQresultStatus(res) == PGRES_COMMAND_OK))
    {
        query->result.res = res;
        return NGX_OK;
    }

    if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) {
        return db_pipeline_refused(conn, query, res);
    }

    return db_pipeline_desynced(conn, res);
}


static ngx_int_t
db_pipeline_executed_end(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    conn->result = db_pipeline_synced;

    return res ? db_pipeline_desynced(conn, res) : NGX_OK;
}


static ngx_int_t
db_pipeline_synced(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    ngx_guildlog_db_query_t  *query;

    if (res == NULL || PQresultStatus(res) != PGRES_PIPELINE_SYNC) {
        return db_pipeline_desynced(conn, res);
    }

    PQclear(res);

    query = db_pipeline_head(conn);

    ngx_guildlog_assert(query->conn == conn);
    ngx_guildlog_assert(query->result.res);

    ngx_queue_remove(&query->queue);
    query->conn = NULL;
    conn->nflight--;
    conn->answered = 1;

    /* libpq's buffers never shrink */

    if (query->size + PQresultMemorySize(query->result.res) > DB_PIPELINE_BIG) {
        conn->retiring = 1;
    }

    ngx_guildlog_db_pool_result(conn, query);

    if (conn->nflight) {
        db_pipeline_expect(conn);
        return NGX_OK;
    }

    if (PQtransactionStatus(conn->pg) != PQTRANS_IDLE) {
        ngx_guildlog_db_conn_fail(conn, "a statement left a transaction open");
        return NGX_ERROR;
    }

    if (conn->retiring) {
        ngx_guildlog_db_conn_close(conn);
        return NGX_ERROR;
    }

    conn->connection->idle = 1;

    return NGX_OK;
}


/* an error of this statement, or a fatal one of the connection */

static ngx_int_t
db_pipeline_refused(ngx_guildlog_db_conn_t *conn,
    ngx_guildlog_db_query_t *query, PGresult *res)
{
    const char  *sqlstate, *severity;

    sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (sqlstate == NULL || severity == NULL
        || ngx_strcmp(severity, "ERROR") != 0)
    {
        ngx_guildlog_db_conn_fail(conn, PQresultErrorMessage(res));
        PQclear(res);
        return NGX_ERROR;
    }

    query->result.res = res;

    query->again = db_pipeline_again(conn, query,
                       ngx_guildlog_db_result_sqlstate(sqlstate)->again);

    return NGX_OK;
}


/*
 * Is it to be sent once more, by what its error says?  While functions are
 * replaced a connection learns of them bit by bit, and may do so in the middle
 * of each attempt; a new one has nothing to learn.
 */

static ngx_uint_t
db_pipeline_again(ngx_guildlog_db_conn_t *conn, ngx_guildlog_db_query_t *query,
    ngx_uint_t again)
{
    uint32_t    *generation;
    ngx_uint_t   first, old;

    first = !query->retried;
    old = ngx_current_msec - conn->ready_at > DB_PIPELINE_RENEW;

    switch (again) {

    case NGX_GUILDLOG_DB_RACE:
        query->retried = 1;
        return first;

    case NGX_GUILDLOG_DB_REPLACED:
        query->retried = 1;

        if (first) {
            return 1;
        }

        if (!old || query->renewed) {
            return 0;
        }

        query->renewed = 1;
        query->epoch = ++conn->pool->epoch;
        conn->retiring = 1;
        return 1;

    case NGX_GUILDLOG_DB_STALE:
        if (query->prepares || !conn->pool->database->prepare) {
            return 0;
        }

        generation = &conn->prepared[query->stmt->index];

        if (*generation == query->generation) {
            *generation = 0;
        }

        query->fresh = 1;
        return 1;

    case NGX_GUILDLOG_DB_RETIRE:
        conn->retiring |= old;
        return 0;

    default:
        return 0;
    }
}


/*
 * Something came that was not asked for.  From here on an answer might belong
 * to another query: the connection is closed.
 */

static ngx_int_t
db_pipeline_desynced(ngx_guildlog_db_conn_t *conn, PGresult *res)
{
    if (res) {
        PQclear(res);
    }

    ngx_guildlog_db_conn_fail(conn, NGX_GUILDLOG_DB_CONN_DESYNCED);

    return NGX_ERROR;
}
