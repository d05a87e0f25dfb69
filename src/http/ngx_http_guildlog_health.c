
/*
 * What a load balancer asks: does nginx answer, and would a request be served?
 *
 * A request is served if the database answers and its schema is not older than
 * the module.  Requests show the former by themselves.  So the database is
 * asked only where it has answered nobody for a while, and until it has told
 * this worker its schema once.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


#define HEALTH_RECENT  5000   /* ms */


typedef struct {
    ngx_http_request_t             *request;
    ngx_guildlog_db_query_t        *query;
} health_ask_t;


static ngx_uint_t health_is(ngx_http_request_t *r, const char *word);
static ngx_int_t health_ask(ngx_http_request_t *r,
    ngx_guildlog_db_pool_t *pool);
static void health_cleanup(void *data);
static void health_told(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t health_answer(ngx_http_request_t *r, const char *obstacle);


static ngx_uint_t  health_fits;   /* this worker was told: the schema does */


ngx_int_t
ngx_http_guildlog_health(ngx_http_request_t *r)
{
    ngx_guildlog_db_pool_t  *pool;

    if (health_is(r, "/live")) {
        return health_answer(r, NULL);
    }

    if (!health_is(r, "/ready")) {
        return NGX_DECLINED;
    }

    /* nothing but limits, which need no database */

    if (ngx_http_guildlog_worker.npools == 0) {
        return health_answer(r, NULL);
    }

    pool = ngx_http_guildlog_worker.pools[0];

    if (health_fits && ngx_guildlog_db_pool_answered(pool, HEALTH_RECENT)) {
        return health_answer(r, NULL);
    }

    return health_ask(r, pool);
}


static ngx_uint_t
health_is(ngx_http_request_t *r, const char *word)
{
    size_t  len;

    len = ngx_strlen(word);

    return r->uri.len >= len
           && ngx_memcmp(r->uri.data + r->uri.len - len, word, len) == 0;
}


static ngx_int_t
health_ask(ngx_http_request_t *r, ngx_guildlog_db_pool_t *pool)
{
    health_ask_t        *ask;
    ngx_http_cleanup_t  *cln;

    static const ngx_str_t  schema = ngx_string(
                                         ngx_value(NGX_GUILDLOG_SCHEMA));

    cln = ngx_http_cleanup_add(r, sizeof(health_ask_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    ask = cln->data;
    ask->request = r;

    cln->handler = health_cleanup;

    ask->query = ngx_guildlog_db_pool_submit(pool,
                             &ngx_guildlog_stmts[ngx_guildlog_stmt_schema_fits],
                             &schema, health_told, ask);

    if (ask->query == NULL || ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
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

    const char          *obstacle;
    ngx_http_request_t  *r;

    r = ask->request;
    ask->query = NULL;

    ngx_http_set_log_request(r->connection->log, r);

    /* a schema without that function is older than it */

    if (result->outcome == NGX_GUILDLOG_DB_ROWS
        && ngx_guildlog_db_result_value(result, 0, 0).data[0] == 't')
    {
        health_fits = 1;
        obstacle = NULL;

    } else if (result->outcome == NGX_GUILDLOG_DB_ROWS
               || ngx_http_guildlog_response_failed(result, "schema_fits",
                                                    r->connection->log))
    {
        obstacle = "the schema is older than the module\n";

    } else {
        obstacle = "the database is not available\n";
    }

    ngx_http_guildlog_call_finish(r, health_answer(r, obstacle));
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
