
/*
 * A query: its memory, and what its end means.  A query that had no effect is
 * sent once more.
 */

#include "db/ngx_guildlog_db.h"


static ngx_uint_t db_query_lost_a_race(ngx_guildlog_db_result_t *result);


/*
 * SQLSTATEs of a statement that lost against another one, or whose functions,
 * types or tables were replaced while it ran: it had no effect.
 */

static const char *const  db_query_races[] = {
    "40001", "40P01", "42703", "42704", "42804", "42809", "42883", "42P01",
    "XX000", NULL
};


/* one allocation: the query, its values, their bytes but those of a RAW one */

ngx_guildlog_db_query_t *
ngx_guildlog_db_query_create(ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args)
{
    size_t                    size;
    u_char                   *p;
    ngx_uint_t                i, n;
    ngx_guildlog_db_query_t  *query;

    size = 0;
    n = stmt->nargs - ((stmt->flags & NGX_GUILDLOG_STMT_RAW) != 0);

    for (i = 0; i < n; i++) {
        size += args[i].len + 1;
    }

    query = ngx_alloc(sizeof(ngx_guildlog_db_query_t)
                      + stmt->nargs * sizeof(char *) + size, pool->log);
    if (query == NULL) {
        return NULL;
    }

    ngx_memzero(query, sizeof(ngx_guildlog_db_query_t)
                       + stmt->nargs * sizeof(char *));

    query->fd = (ngx_socket_t) -1;
    query->pool = pool;
    query->stmt = stmt;
    query->size = size;
    query->values = (const char **) (query + 1);

    query->timer.data = query;
    query->timer.log = pool->log;

    p = (u_char *) (query->values + stmt->nargs);

    if (n < stmt->nargs) {
        query->values[n] = (const char *) args[n].data;
        query->raw = args[n].len;
        query->size += query->raw;
    }

    for (i = 0; i < n; i++) {

        if (args[i].data == NULL) {
            continue;
        }

        if (memchr(args[i].data, '\0', args[i].len)) {
            query->result.outcome = NGX_GUILDLOG_DB_REFUSED;
            ngx_memcpy(query->result.sqlstate, "22021", 6);
            ngx_str_set(&query->result.message, "a NUL byte in an argument");
            break;
        }

        query->values[i] = (const char *) p;
        p = ngx_cpymem(p, args[i].data, args[i].len);
        *p++ = '\0';
    }

    return query;
}


ngx_int_t
ngx_guildlog_db_query_answered(ngx_guildlog_db_query_t *query)
{
    char                      *text;
    PGresult                  *res;
    ngx_guildlog_db_result_t  *result;

    result = &query->result;
    res = result->res;

    if (PQresultStatus(res) != PGRES_FATAL_ERROR) {
        result->outcome = NGX_GUILDLOG_DB_ROWS;
        result->rows = PQntuples(res);
        result->columns = PQnfields(res);
        return NGX_OK;
    }

    text = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    ngx_cpystrn((u_char *) result->sqlstate, (u_char *) text,
                sizeof(result->sqlstate));

    if (query->stale) {
        query->stale = 0;
        query->fresh = 1;
        return NGX_AGAIN;
    }

    if (!query->retried && db_query_lost_a_race(result)) {
        query->retried = 1;
        return NGX_AGAIN;
    }

    text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    /* only the schema's own messages, class GL, are one line for sure */

    if (text && ngx_strncmp(result->sqlstate, "GL", 2) != 0) {
        ngx_guildlog_db_result_line((u_char *) text, ngx_strlen(text) + 1,
                                    text);
    }

    if (text) {
        result->message.data = (u_char *) text;
        result->message.len = ngx_strlen(text);
    }

    /* 57014: cancelled, by the server's clock or by us */

    if (query->cancelled) {
        result->outcome = NGX_GUILDLOG_DB_ROWS;

    } else if (ngx_strcmp(result->sqlstate, "57014") == 0) {
        result->outcome = NGX_GUILDLOG_DB_TIMEOUT;

    } else {
        result->outcome = NGX_GUILDLOG_DB_REFUSED;
    }

    return NGX_OK;
}


static ngx_uint_t
db_query_lost_a_race(ngx_guildlog_db_result_t *result)
{
    const char *const  *sqlstate;

    for (sqlstate = db_query_races; *sqlstate; sqlstate++) {
        if (ngx_strcmp(result->sqlstate, *sqlstate) == 0) {
            return 1;
        }
    }

    return 0;
}


/*
 * Where one connection is lost the others often are: the query takes only a
 * connection that was opened after this loss.
 */

ngx_int_t
ngx_guildlog_db_query_orphaned(ngx_guildlog_db_query_t *query,
    ngx_uint_t unsent)
{
    query->conn = NULL;

    if (query->late) {
        query->result.outcome = NGX_GUILDLOG_DB_TIMEOUT;
        return NGX_OK;
    }

    if (!query->retried
        && (unsent || (query->stmt->flags & NGX_GUILDLOG_STMT_READ)))
    {
        query->retried = 1;
        query->epoch = query->pool->epoch;
        return NGX_AGAIN;
    }

    query->result.outcome = NGX_GUILDLOG_DB_UNAVAILABLE;

    return NGX_OK;
}


void
ngx_guildlog_db_query_free(ngx_guildlog_db_query_t *query)
{
    if (!query->kept) {
        PQclear(query->result.res);
    }

    ngx_guildlog_db_share_quit(query);
    ngx_free(query);
}
