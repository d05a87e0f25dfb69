
/*
 * A query: its memory, and what its end means.  A file of its own, for clang's
 * analyzer does not follow queues from a query to another one.
 */

#include "db/ngx_guildlog_db.h"


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
        result->message.data = (u_char *) text;
        result->message.len = ngx_strlen(text);
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
