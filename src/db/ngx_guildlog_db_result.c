
/*
 * A query and its result: its memory, what its end means, and what its handler
 * reads.  A file of its own, for clang's analyzer does not follow queues from a
 * query to another one.
 */

#include "db/ngx_guildlog_db.h"


static void db_result_cleanup(void *data);


/* the first that an SQLSTATE begins with counts; what is not here is ASKED */

static const ngx_guildlog_db_sqlstate_t  db_result_sqlstates[] = {

    /* class GL is raised by our functions: the other digits are the status */
    { "GL",    NGX_GUILDLOG_DB_FAULT_SAID, 0 },

    { "08",    NGX_GUILDLOG_DB_FAULT_AWAY, 0 },     /* connection */
    { "25006", NGX_GUILDLOG_DB_FAULT_AWAY,          /* takes no writes */
               NGX_GUILDLOG_DB_RETIRE },
    { "53",    NGX_GUILDLOG_DB_FAULT_AWAY, 0 },     /* disk full, no memory */
    { "57P",   NGX_GUILDLOG_DB_FAULT_AWAY, 0 },     /* shutting down */
    { "58",    NGX_GUILDLOG_DB_FAULT_AWAY, 0 },     /* input, output */

    { "40001", NGX_GUILDLOG_DB_FAULT_LOST,          /* serialization */
               NGX_GUILDLOG_DB_RACE },
    { "40P01", NGX_GUILDLOG_DB_FAULT_LOST,          /* deadlock */
               NGX_GUILDLOG_DB_RACE },
    { "40",    NGX_GUILDLOG_DB_FAULT_LOST, 0 },
    { "55006", NGX_GUILDLOG_DB_FAULT_TAKEN, 0 },
    { "55P03", NGX_GUILDLOG_DB_FAULT_LOST, 0 },     /* a lock not got in time */

    /* functions, types or tables that are replaced while a statement runs */
    { "42703", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "42704", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "42804", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "42809", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "42883", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "42P01", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_REPLACED },
    { "XX000", NGX_GUILDLOG_DB_FAULT_ASKED, NGX_GUILDLOG_DB_REPLACED },

    /* the prepared form is gone, or out of date */
    { "26000", NGX_GUILDLOG_DB_FAULT_SCHEMA, NGX_GUILDLOG_DB_STALE },
    { "0A000", NGX_GUILDLOG_DB_FAULT_ASKED, NGX_GUILDLOG_DB_STALE },

    { "25",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },   /* transactions */
    { "26",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },
    { "28",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },   /* roles */
    { "3D",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },
    { "3F",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },
    { "42",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },   /* rights, names */
    { "55",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },   /* states of objects */
    { "57",    NGX_GUILDLOG_DB_FAULT_SCHEMA, 0 },   /* operators */

    { "",      NGX_GUILDLOG_DB_FAULT_ASKED, 0 }
};


const ngx_guildlog_db_sqlstate_t *
ngx_guildlog_db_result_sqlstate(const char *sqlstate)
{
    const ngx_guildlog_db_sqlstate_t  *s;

    for (s = db_result_sqlstates;
         ngx_strncmp(sqlstate, s->begins, ngx_strlen(s->begins)) != 0;
         s++)
    {
        /* void */
    }

    return s;
}


/* libpq would raise a notice for a row or column that is out of bounds */

ngx_str_t
ngx_guildlog_db_result_value(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    ngx_str_null(&value);

    if (row < result->rows && column < result->columns) {
        value.len = PQgetlength(result->res, row, column);

        /* only a value of no bytes may be null */

        if (value.len || !PQgetisnull(result->res, row, column)) {
            value.data = (u_char *) PQgetvalue(result->res, row, column);
        }
    }

    return value;
}


int64_t
ngx_guildlog_db_result_number(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return ngx_atoi(value.data, value.len);
}


size_t
ngx_guildlog_db_result_size(ngx_guildlog_db_result_t *result)
{
    return PQresultMemorySize(result->res);
}


ngx_int_t
ngx_guildlog_db_result_retain(ngx_guildlog_db_result_t *result,
    ngx_pool_t *pool)
{
    ngx_pool_cleanup_t       *cln;
    ngx_guildlog_db_query_t  *query;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = db_result_cleanup;
    cln->data = result->res;

    query = ngx_queue_data(result, ngx_guildlog_db_query_t, result);
    query->retained = 1;

    return NGX_OK;
}


static void
db_result_cleanup(void *data)
{
    PQclear(data);
}


/* libpq's messages have several lines, and a line feed at the end */

void
ngx_guildlog_db_result_line(u_char *line, size_t size, const char *text)
{
    u_char  *p, *last;

    last = line + size - 1;

    for (p = line; *text && p < last; text++) {

        if ((u_char) *text > ' ') {
            *p++ = *text;

        } else if (p > line && p[-1] != ' ') {
            *p++ = ' ';
        }
    }

    /* no part of a UTF-8 character is left at the end */

    if (((u_char) *text & 0xc0) == 0x80) {
        while (p > line && (*--p & 0xc0) == 0x80) { /* void */ }
    }

    if (p > line && p[-1] == ' ') {
        p--;
    }

    *p = '\0';
}


/*
 * One allocation: the query, its values, their bytes but those of a RAW one.
 * It has no share.  An argument with a NUL byte: its outcome is REFUSED.
 */

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


/*
 * The database answered.  NGX_OK: result.outcome says how it ended.
 * NGX_AGAIN: it had no effect and has to be sent once more.
 */

ngx_int_t
ngx_guildlog_db_query_answered(ngx_guildlog_db_query_t *query)
{
    char                              *text;
    PGresult                          *res;
    ngx_guildlog_db_result_t          *result;
    const ngx_guildlog_db_sqlstate_t  *sqlstate;

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

    sqlstate = ngx_guildlog_db_result_sqlstate(result->sqlstate);
    result->fault = sqlstate->fault;

    if (query->again) {
        query->again = 0;
        return NGX_AGAIN;
    }

    text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    /* only the schema's own messages, class GL, are one line for sure */

    if (text && result->fault != NGX_GUILDLOG_DB_FAULT_SAID) {
        ngx_guildlog_db_result_line((u_char *) text, ngx_strlen(text) + 1,
                                    text);
    }

    if (text) {
        result->message = ngx_guildlog_word(text);
    }

    /* 57014: cancelled, by the database's clock or by us */

    if (query->cancelled) {
        result->outcome = NGX_GUILDLOG_DB_ROWS;

    } else if (ngx_strcmp(result->sqlstate, "57014") == 0) {
        result->outcome = NGX_GUILDLOG_DB_TIMEOUT;

    } else {
        result->outcome = NGX_GUILDLOG_DB_REFUSED;
    }

    return NGX_OK;
}


void
ngx_guildlog_db_query_free(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_t  *share;

    share = query->share;

    if (!query->retained) {
        PQclear(query->result.res);
    }

    ngx_guildlog_assert(share == NULL || share->refs > 0);

    if (share && --share->refs == 0) {
        ngx_guildlog_assert(share->nwaiting == 0 && share->nflight == 0);

        ngx_rbtree_delete(&share->group->shares, &share->node);
        ngx_free(share);
    }

    ngx_free(query);
}
