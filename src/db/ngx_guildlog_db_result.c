
/*
 * What the handler of a query reads: the values of a result, and messages of
 * the database.
 */

#include "db/ngx_guildlog_db.h"


static void db_result_cleanup(void *data);


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
ngx_guildlog_db_result_keep(ngx_guildlog_db_result_t *result, ngx_pool_t *pool)
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
    query->kept = 1;

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
