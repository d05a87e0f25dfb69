
/*
 * Entries of many servers: recorded by one statement, or, where that fails,
 * each server for itself, so that the trouble of one is not that of others.
 * Recording is idempotent by event_id: what the first statement did, if
 * anything, is found to be known.
 */

#include "http/ngx_http_guildlog.h"


static ngx_uint_t ngx_http_guildlog_record_is_apart(
    ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result);
static void ngx_http_guildlog_record_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


ngx_int_t
ngx_http_guildlog_record_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    const ngx_guildlog_stmt_t  *stmt;

    static const ngx_str_t      one = ngx_string("1");

    if (call->apart) {
        ngx_http_guildlog_record_log(call, result);

        if (ngx_http_guildlog_number_at(result, 0, 0)
               == NGX_HTTP_SERVICE_UNAVAILABLE
            && ngx_http_guildlog_set_header(call->request, "Retry-After", &one)
               == NULL)
        {
            return NGX_ERROR;
        }

        return ngx_http_guildlog_send_result(call, result);
    }

    if (!ngx_http_guildlog_record_is_apart(call, result)) {
        return ngx_http_guildlog_send_result(call, result);
    }

    call->apart = 1;
    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_APART, 1);

    stmt = &ngx_guildlog_stmts[ngx_guildlog_stmt_operator_record_apart];

    return ngx_http_guildlog_ask(call, stmt) == NGX_AGAIN ? NGX_BUSY
                                                          : NGX_ERROR;
}


/* might one server alone be the cause? */

static ngx_uint_t
ngx_http_guildlog_record_is_apart(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    static const char *const   others[] = {
        "08", "25", "53", "57", "58", "GL", NULL
    };

    const char *const  *class;

    if (result->outcome == NGX_GUILDLOG_DB_TIMEOUT) {
        return 1;
    }

    if (result->outcome != NGX_GUILDLOG_DB_REFUSED) {
        return 0;
    }

    for (class = others; *class; class++) {
        if (ngx_strncmp(result->sqlstate, *class, 2) == 0) {
            return 0;
        }
    }

    (void) ngx_http_guildlog_failed(result, call->route->stmt->name,
                                    call->request->connection->log);
    return 1;
}


/* which servers failed, and why */

static void
ngx_http_guildlog_record_log(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    size_t         i;
    json_t        *counts, *fault;
    ngx_str_t      text;
    json_error_t   cause;

    text = ngx_guildlog_db_result_value(result, 0, 2);

    if (text.data == NULL) {
        return;
    }

    counts = ngx_guildlog_json_load(text.data, text.len, 0, &cause);

    json_array_foreach(json_object_get(counts, "faults"), i, fault) {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "a batch of many servers: %s",
                      json_string_value(fault));
    }

    json_decref(counts);
}
