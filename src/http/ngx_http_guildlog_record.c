
/*
 * Recording entries.  The body is parsed in slices, between which the worker
 * serves other requests.  One statement records the entries of many guilds.
 * If it fails, a second one records each guild by itself, so that one guild
 * does not fail the others.  That is safe: recording is idempotent by event_id.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


/* bytes of entries in a slice, which takes a few ms */
#define RECORD_SLICE  (128 * 1024)


static ngx_int_t record_read(ngx_http_guildlog_call_t *call);
static ngx_int_t record_apart(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);
static ngx_int_t record_send(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


ngx_int_t
ngx_http_guildlog_record_bound(ngx_http_guildlog_call_t *call)
{
    call->batch = ngx_guildlog_batch_create(call->request->pool, &call->body,
                                         ngx_http_guildlog_body_has_lines(call),
                                         call->guild.len == 0, NULL, NULL);
    if (call->batch == NULL) {
        return NGX_ERROR;
    }

    return record_read(call);
}


static ngx_int_t
record_read(ngx_http_guildlog_call_t *call)
{
    ngx_int_t  rc;
    ngx_str_t  error;

    ngx_guildlog_assert(call->nargs
                        + ngx_guildlog_batch_nargs(call->guild.len == 0)
                        <= NGX_GUILDLOG_ARGS_MAX);

    rc = ngx_guildlog_batch_read(call->batch, RECORD_SLICE,
                                 &call->args[call->nargs], &error);

    if (rc == NGX_AGAIN) {
        return ngx_http_guildlog_call_yield(call, record_read);
    }

    if (rc != NGX_OK) {
        return ngx_http_guildlog_call_invalid(call, rc, &error);
    }

    call->nargs += ngx_guildlog_batch_nargs(call->guild.len == 0);

    return call->endpoint->start(call);
}


ngx_int_t
ngx_http_guildlog_record_answer(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    /* the cause may be one guild of the batch */

    if (call->guild.len
        || !(result->outcome == NGX_GUILDLOG_DB_TIMEOUT
             || (result->outcome == NGX_GUILDLOG_DB_REFUSED
                 && result->fault != NGX_GUILDLOG_DB_FAULT_SAID
                 && result->fault < NGX_GUILDLOG_DB_FAULT_AWAY)))
    {
        return record_send(call, result);
    }

    (void) ngx_http_guildlog_response_failed(result, call->route->stmt->name,
                                             call->request->connection->log);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog record: each server by itself");

    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_APART, 1);

    return ngx_http_guildlog_call_ask(call,
                  ngx_guildlog_stmt(operator_record_apart),
                  record_apart);
}


/* logs which guilds failed, and why */

static ngx_int_t
record_apart(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    size_t         i;
    json_t        *counts, *fault;
    ngx_str_t      text;
    json_error_t   cause;

    text = ngx_guildlog_db_result_value(result, 0, 2);

    if (text.data) {
        counts = ngx_guildlog_json_read_any(text.data, text.len, 0, &cause);

        json_array_foreach(json_object_get(counts, "faults"), i, fault) {
            ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                          "a batch of many servers: %s",
                          json_string_value(fault));
        }

        json_decref(counts);
    }

    if (ngx_guildlog_db_result_number(result, 0, 0)
           == NGX_HTTP_SERVICE_UNAVAILABLE
        && ngx_http_guildlog_response_header(call->request, "Retry-After", "1")
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return record_send(call, result);
}


static ngx_int_t
record_send(ngx_http_guildlog_call_t *call, ngx_guildlog_db_result_t *result)
{
    ngx_str_t                     counts;
    ngx_uint_t                    i, n[NGX_GUILDLOG_ENTRY_LAST];
    ngx_guildlog_stats_shared_t  *shared;

    shared = ngx_http_guildlog_worker.stats.shared;

    if (ngx_http_guildlog_response_row_status(result)) {
        counts = ngx_guildlog_db_result_value(result, 0, 2);
        ngx_guildlog_entry_counts(&counts, n);

        for (i = 0; i < NGX_GUILDLOG_ENTRY_LAST; i++) {
            (void) ngx_atomic_fetch_add(&shared->entries[i], n[i]);
        }
    }

    return ngx_http_guildlog_response_result(call, result);
}
