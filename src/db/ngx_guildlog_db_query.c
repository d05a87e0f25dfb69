
/*
 * A query's memory, from its arguments to the rows that answer it.
 */

#include "db/ngx_guildlog_db.h"


static void ngx_guildlog_db_result_cleanup(void *data);


/* one allocation: the query, its values, their bytes */

ngx_guildlog_db_query_t *
ngx_guildlog_db_query_create(ngx_guildlog_db_pool_t *pool,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args)
{
    size_t                    size;
    ngx_uint_t                i;
    ngx_guildlog_db_query_t  *query;

    size = 0;

    for (i = 0; i < stmt->nargs; i++) {
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

    return query;
}


ngx_int_t
ngx_guildlog_db_query_copy(ngx_guildlog_db_query_t *query,
    const ngx_str_t *args)
{
    u_char      *p;
    ngx_uint_t   i, nargs;

    nargs = query->stmt->nargs;
    p = (u_char *) (query->values + nargs);

    for (i = 0; i < nargs; i++) {

        if (args[i].data == NULL) {
            query->values[i] = NULL;
            continue;
        }

        if (memchr(args[i].data, '\0', args[i].len)) {
            return NGX_DECLINED;
        }

        query->values[i] = (const char *) p;
        p = ngx_cpymem(p, args[i].data, args[i].len);
        *p++ = '\0';
    }

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


/* out of bounds is not left to libpq, which would tell the connection */

ngx_str_t
ngx_guildlog_db_result_value(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    ngx_str_null(&value);

    if (row < result->rows && column < result->columns) {
        value.len = PQgetlength(result->res, row, column);

        /* a null has no bytes either */

        if (value.len || !PQgetisnull(result->res, row, column)) {
            value.data = (u_char *) PQgetvalue(result->res, row, column);
        }
    }

    return value;
}


size_t
ngx_guildlog_db_result_size(ngx_guildlog_db_result_t *result)
{
    return PQresultMemorySize(result->res);
}


ngx_int_t
ngx_guildlog_db_result_keep(ngx_guildlog_db_result_t *result, ngx_pool_t *pool)
{
    ngx_pool_cleanup_t       *cln;
    ngx_guildlog_db_query_t  *query;

    cln = ngx_pool_cleanup_add(pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_guildlog_db_result_cleanup;
    cln->data = result->res;

    query = ngx_queue_data(result, ngx_guildlog_db_query_t, result);
    query->kept = 1;

    return NGX_OK;
}


static void
ngx_guildlog_db_result_cleanup(void *data)
{
    PQclear(data);
}
