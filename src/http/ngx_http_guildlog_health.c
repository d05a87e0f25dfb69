
/*
 * What a load balancer asks: does nginx answer, and would a request be served?
 *
 * A request is served if each database answers and its schema is not older than
 * the module.  Requests show the former by themselves.  So a database is asked
 * only where it has answered nobody for a while, and until it has told this
 * worker its schema once.  They are asked one after another: the first that is
 * in the way gives the answer.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


#define HEALTH_RECENT  5000   /* ms */


typedef struct {
    ngx_http_request_t             *request;
    ngx_guildlog_db_query_t        *query;
    ngx_uint_t                      database;
} health_ask_t;


static ngx_uint_t health_is(ngx_http_request_t *r, const char *word);
static ngx_int_t health_ask(health_ask_t *ask);
static void health_cleanup(void *data);
static void health_told(void *data, ngx_guildlog_db_result_t *result);
static const char *health_obstacle(ngx_guildlog_db_result_t *result,
    ngx_log_t *log);
static ngx_int_t health_answer(ngx_http_request_t *r, const char *obstacle);


/* so many databases, the first ones, told this worker: the schema fits */

static ngx_uint_t  health_fits;


ngx_int_t
ngx_http_guildlog_health(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    health_ask_t        *ask;
    ngx_http_cleanup_t  *cln;

    if (health_is(r, "/live")) {
        return health_answer(r, NULL);
    }

    if (!health_is(r, "/ready")) {
        return NGX_DECLINED;
    }

    cln = ngx_http_cleanup_add(r, sizeof(health_ask_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    ask = cln->data;
    ask->request = r;
    ask->query = NULL;
    ask->database = 0;

    cln->handler = health_cleanup;

    rc = health_ask(ask);

    if (rc != NGX_AGAIN) {
        return rc;
    }

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static ngx_uint_t
health_is(ngx_http_request_t *r, const char *word)
{
    size_t  len;

    len = ngx_strlen(word);

    return r->uri.len >= len
           && ngx_memcmp(r->uri.data + r->uri.len - len, word, len) == 0;
}


/* asks the next one; the answer where there is none, as for limits alone */

static ngx_int_t
health_ask(health_ask_t *ask)
{
    ngx_http_guildlog_worker_t  *worker;

    static const ngx_str_t  schema = ngx_string(
                                         ngx_value(NGX_GUILDLOG_SCHEMA));

    worker = &ngx_http_guildlog_worker;

    while (ask->database < ngx_min(worker->npools, health_fits)
           && ngx_guildlog_db_pool_answered(worker->pools[ask->database],
                                            HEALTH_RECENT))
    {
        ask->database++;
    }

    if (ask->database == worker->npools) {
        return health_answer(ask->request, NULL);
    }

    ask->query = ngx_guildlog_db_pool_submit(worker->pools[ask->database],
                             &ngx_guildlog_stmts[ngx_guildlog_stmt_schema_fits],
                             &schema, health_told, ask);

    return ask->query ? NGX_AGAIN : NGX_ERROR;
}


static void
health_cleanup(void *data)
{
    health_ask_t *ask = data;

    if (ask->query) {
        ngx_guildlog_db_pool_detach(ask->query);
    }
}


static void
health_told(void *data, ngx_guildlog_db_result_t *result)
{
    health_ask_t *ask = data;

    ngx_int_t            rc;
    const char          *obstacle;
    ngx_http_request_t  *r;

    r = ask->request;
    ask->query = NULL;

    ngx_http_set_log_request(r->connection->log, r);

    obstacle = health_obstacle(result, r->connection->log);

    if (obstacle) {
        rc = health_answer(r, obstacle);

    } else {
        ask->database++;
        health_fits = ngx_max(health_fits, ask->database);

        rc = health_ask(ask);
    }

    if (rc != NGX_AGAIN) {
        ngx_http_guildlog_call_finish(r, rc);
    }
}


static const char *
health_obstacle(ngx_guildlog_db_result_t *result, ngx_log_t *log)
{
    ngx_uint_t  status;

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        return ngx_guildlog_db_result_value(result, 0, 0).data[0] == 't'
               ? NULL : "the schema is older than the module\n";
    }

    status = ngx_http_guildlog_response_failed(result, "schema_fits", log);

    if (status != NGX_HTTP_INTERNAL_SERVER_ERROR) {
        return "the database is not available\n";
    }

    /* a schema without that function */

    if (ngx_strcmp(result->sqlstate, "42883") == 0) {
        return "the schema is older than the module\n";
    }

    return "the database refuses to tell its schema; "
           "the error log says why\n";
}


static ngx_int_t
health_answer(ngx_http_request_t *r, const char *obstacle)
{
    ngx_str_t  body;

    static const ngx_str_t  text = ngx_string("text/plain");

    body.data = (u_char *) (obstacle ? obstacle : "ok\n");
    body.len = ngx_strlen(body.data);

    return ngx_http_guildlog_response_send(r, obstacle
                                              ? NGX_HTTP_SERVICE_UNAVAILABLE
                                              : NGX_HTTP_OK,
                                           &text, &body);
}
