
/*
 * What the handler of a query reads: the values of a result, and messages of
 * the database.
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
