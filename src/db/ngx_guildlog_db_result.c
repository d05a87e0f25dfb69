
/*
 * What the handler of a query reads: the values of a result, and messages of
 * the database.
 */

#include "db/ngx_guildlog_db.h"


static void ngx_guildlog_db_result_cleanup(void *data);


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


/* libpq's messages have several lines, and end in a line feed */

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

    /* a character of UTF-8 is left out as a whole */

    if (((u_char) *text & 0xc0) == 0x80) {
        while (p > line && (*--p & 0xc0) == 0x80) { /* void */ }
    }

    if (p > line && p[-1] == ' ') {
        p--;
    }

    *p = '\0';
}
