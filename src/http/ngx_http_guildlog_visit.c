
/*
 * A visit, top-down: the platform exchanges the code, tells who the person is,
 * and which servers the person manages; the database tells which of these are
 * known.  A renewal begins with the servers.
 */

#include "http/ngx_http_guildlog_visit.h"
#include "http/ngx_http_guildlog_response.h"


static ngx_http_guildlog_visit_t *visit_create(
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t visit_join(ngx_http_guildlog_visit_t *visit,
    ngx_http_request_t *r, ngx_http_guildlog_visitor_t *visitor);
static void visit_leave(void *data);
static ngx_int_t visit_copy(ngx_pool_t *pool, ngx_str_t *text);
static ngx_int_t visit_bearer(ngx_http_guildlog_visit_t *visit);

static ngx_int_t visit_token(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_user(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_servers(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_known(ngx_http_guildlog_visit_t *visit, json_t *json);

static void visit_ask(ngx_http_guildlog_visit_t *visit, const char *path,
    ngx_http_guildlog_visit_pt answered);
static void visit_told(ngx_http_guildlog_visit_t *visit, ngx_uint_t status,
    ngx_str_t *body);
static ngx_int_t visit_submit(ngx_http_guildlog_visit_t *visit,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler);
static void visit_result(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t visit_end_session(ngx_http_guildlog_visit_t *visit);
static void visit_session_ended(void *data, ngx_guildlog_db_result_t *result);

static void visit_step(ngx_http_guildlog_visit_t *visit, ngx_str_t *text);
static void visit_end(ngx_http_guildlog_visit_t *visit, ngx_uint_t status);
static void visit_destroy(ngx_http_guildlog_visit_t *visit);


/* those of this worker that are under way */
static ngx_queue_t  visit_all = { &visit_all, &visit_all };


ngx_int_t
ngx_http_guildlog_visit_begin(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *session,
    const ngx_str_t *form, ngx_http_guildlog_visitor_t *visitor)
{
    ngx_http_guildlog_ctx_t    *ctx;
    ngx_http_guildlog_visit_t  *visit;

    visit = visit_create(login);
    if (visit == NULL) {
        return NGX_ERROR;
    }

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx && ctx->charged) {
        visit->rank = ctx->limit.limit - ctx->limit.remaining;
    }

    visit->person.session = *session;
    visit->person.expires = ngx_time() + NGX_GUILDLOG_LOGIN_LIVES;
    visit->asks = NGX_GUILDLOG_ASKS_STRANGER;
    visit->method = "POST";
    visit->authorization = login->authorization;
    visit->form = *form;

    if (visit_copy(visit->pool, &visit->person.session) != NGX_OK
        || visit_copy(visit->pool, &visit->form) != NGX_OK
        || visit_join(visit, r, visitor) != NGX_OK)
    {
        visit_destroy(visit);
        return NGX_ERROR;
    }

    visit_ask(visit, "/oauth2/token", visit_token);

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_visit_renew(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    const ngx_guildlog_login_person_t *person,
    ngx_http_guildlog_visitor_t *visitor)
{
    ngx_queue_t                  *q;
    ngx_http_guildlog_visit_t    *visit;
    ngx_guildlog_login_person_t  *copy;

    ngx_guildlog_queue_each(q, &visit_all) {
        visit = ngx_queue_data(q, ngx_http_guildlog_visit_t, queue);

        if (visit->renews
            && ngx_guildlog_str_eq(&visit->person.session, &person->session))
        {
            return visit_join(visit, r, visitor);
        }
    }

    visit = visit_create(login);
    if (visit == NULL) {
        return NGX_ERROR;
    }

    visit->renews = 1;

    copy = &visit->person;
    *copy = *person;

    if (visit_copy(visit->pool, &copy->session) != NGX_OK
        || visit_copy(visit->pool, &copy->user) != NGX_OK
        || visit_copy(visit->pool, &copy->name) != NGX_OK
        || visit_copy(visit->pool, &copy->avatar) != NGX_OK
        || visit_copy(visit->pool, &copy->access) != NGX_OK
        || visit_bearer(visit) != NGX_OK
        || visit_join(visit, r, visitor) != NGX_OK)
    {
        visit_destroy(visit);
        return NGX_ERROR;
    }

    visit_ask(visit, "/users/@me/guilds", visit_servers);

    return NGX_OK;
}


static ngx_http_guildlog_visit_t *
visit_create(const ngx_http_guildlog_login_conf_t *login)
{
    ngx_pool_t                 *pool;
    ngx_http_guildlog_visit_t  *visit;

    pool = ngx_create_pool(4096, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    visit = ngx_pcalloc(pool, sizeof(ngx_http_guildlog_visit_t));
    if (visit == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    visit->fd = (ngx_socket_t) -1;
    visit->pool = pool;
    visit->login = login;
    visit->told = visit_told;

    ngx_queue_init(&visit->visitors);
    ngx_queue_insert_tail(&visit_all, &visit->queue);

    return visit;
}


static ngx_int_t
visit_join(ngx_http_guildlog_visit_t *visit, ngx_http_request_t *r,
    ngx_http_guildlog_visitor_t *visitor)
{
    ngx_http_cleanup_t  *cln;

    cln = ngx_http_cleanup_add(r, 0);

    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = visit_leave;
    cln->data = visitor;

    visitor->visit = visit;
    ngx_queue_insert_tail(&visit->visitors, &visitor->queue);

    return NGX_OK;
}


/* the request ends */

static void
visit_leave(void *data)
{
    ngx_http_guildlog_visitor_t *visitor = data;

    if (visitor->visit == NULL) {
        return;
    }

    ngx_queue_remove(&visitor->queue);

    if (ngx_queue_empty(&visitor->visit->visitors)
        && !visitor->visit->ended)
    {
        visit_destroy(visitor->visit);
    }
}


static ngx_int_t
visit_copy(ngx_pool_t *pool, ngx_str_t *text)
{
    u_char  *p;

    p = ngx_pnalloc(pool, text->len + 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(p, text->data, text->len);
    text->data = p;

    return NGX_OK;
}


/* from now on the platform is asked with the person's own token */

static ngx_int_t
visit_bearer(ngx_http_guildlog_visit_t *visit)
{
    u_char     *p;
    ngx_str_t  *access;

    access = &visit->person.access;

    p = ngx_pnalloc(visit->pool, sizeof("Bearer ") - 1 + access->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    visit->asks = NGX_GUILDLOG_ASKS_PERSON;
    visit->rank = 0;
    visit->method = "GET";
    visit->authorization.data = p;
    visit->authorization.len = ngx_sprintf(p, "Bearer %V", access) - p;

    return NGX_OK;
}


/* the steps: the status with which the visit ends, or NGX_AGAIN */

static ngx_int_t
visit_token(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    if (ngx_guildlog_login_answer_token(json, &visit->person.access) != NGX_OK
        || visit_bearer(visit) != NGX_OK)
    {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ngx_str_null(&visit->form);

    visit_ask(visit, "/users/@me", visit_user);

    return NGX_AGAIN;
}


static ngx_int_t
visit_user(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    if (ngx_guildlog_login_answer_user(json, &visit->person) != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    visit_ask(visit, "/users/@me/guilds", visit_servers);

    return NGX_AGAIN;
}


static ngx_int_t
visit_servers(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    ngx_int_t                   rc;
    ngx_str_t                   args[4];
    const ngx_guildlog_stmt_t  *stmt;

    visit->person.asked = ngx_time();

    if (ngx_guildlog_login_answer_servers(visit->pool, json, &visit->person)
        != NGX_OK)
    {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    if (visit->renews) {
        stmt = &ngx_guildlog_stmts[ngx_guildlog_stmt_session_renew];
        rc = ngx_guildlog_login_flow_session(visit->pool, &visit->person, "m",
                                             &args[0]);

    } else {
        stmt = &ngx_guildlog_stmts[ngx_guildlog_stmt_session_begin];
        args[0] = visit->person.session;
        args[1] = visit->person.user;
        args[2] = visit->person.name;
        rc = NGX_OK;
    }

    if (rc != NGX_OK
        || ngx_guildlog_login_answer_ids(visit->pool, &visit->person,
                                         &args[stmt->nargs - 1])
           != NGX_OK)
    {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    visit->answered = visit_known;

    return visit_submit(visit, stmt, args, visit_result);
}


static ngx_int_t
visit_known(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    if (ngx_guildlog_login_answer_known(visit->pool, json, &visit->person)
        != NGX_OK
        || ngx_guildlog_login_cookie(visit->pool, &visit->login->keys,
                                     &visit->person, &visit->cookie)
           != NGX_OK)
    {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                  "user %V %s, manages %ui servers", &visit->person.user,
                  visit->renews ? "was asked for anew" : "signed in",
                  visit->person.nservers);

    return NGX_HTTP_OK;
}


static void
visit_ask(ngx_http_guildlog_visit_t *visit, const char *path,
    ngx_http_guildlog_visit_pt answered)
{
    visit->path.data = (u_char *) path;
    visit->path.len = ngx_strlen(path);
    visit->answered = answered;

    ngx_http_guildlog_visit_ask(visit);
}


static void
visit_told(ngx_http_guildlog_visit_t *visit, ngx_uint_t status,
    ngx_str_t *body)
{
    if (status == NGX_HTTP_OK) {
        visit_step(visit, body);

    } else if (status == NGX_HTTP_UNAUTHORIZED) {

        if (visit_end_session(visit) != NGX_AGAIN) {
            visit_end(visit, NGX_HTTP_SERVICE_UNAVAILABLE);
        }

    } else {
        visit_end(visit, status);
    }
}


static ngx_int_t
visit_submit(ngx_http_guildlog_visit_t *visit, const ngx_guildlog_stmt_t *stmt,
    const ngx_str_t *args, ngx_guildlog_db_handler_pt handler)
{
    visit->query = ngx_guildlog_db_pool_submit(
            ngx_http_guildlog_worker.pools[visit->login->database->index],
            stmt, args, handler, visit);

    return visit->query ? NGX_AGAIN : NGX_HTTP_SERVICE_UNAVAILABLE;
}


static void
visit_result(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_visit_t *visit = data;

    ngx_str_t   text;
    ngx_uint_t  status;

    visit->query = NULL;

    status = ngx_http_guildlog_response_row_status(result);

    if (status == 0) {
        (void) ngx_http_guildlog_response_failed(result, "session",
                                                 ngx_cycle->log);
        status = NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    if (status != NGX_HTTP_OK) {
        visit_end(visit, status);
        return;
    }

    text = ngx_guildlog_db_result_value(result, 0, 1);

    visit_step(visit, &text);
}


static ngx_int_t
visit_end_session(ngx_http_guildlog_visit_t *visit)
{
    ngx_str_t  token;

    if (ngx_guildlog_login_flow_session(visit->pool, &visit->person, "m",
                                        &token)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return visit_submit(visit,
                        &ngx_guildlog_stmts[ngx_guildlog_stmt_session_end],
                        &token, visit_session_ended);
}


static void
visit_session_ended(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_visit_t *visit = data;

    visit->query = NULL;

    visit_end(visit, ngx_http_guildlog_response_row_status(result)
                     ? NGX_HTTP_UNAUTHORIZED : NGX_HTTP_SERVICE_UNAVAILABLE);
}


static void
visit_step(ngx_http_guildlog_visit_t *visit, ngx_str_t *text)
{
    json_t     *json;
    ngx_int_t   rc;
    ngx_str_t   error;

    json = ngx_guildlog_json_parse_answer(visit->pool, text, &error);

    rc = json ? visit->answered(visit, json) : NGX_HTTP_SERVICE_UNAVAILABLE;

    if (rc == NGX_HTTP_SERVICE_UNAVAILABLE
        && ngx_http_guildlog_visit_ask_tells())
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "the answer to \"%V\" for who signed in is not what was "
                      "asked for", &visit->path);
    }

    if (rc != NGX_AGAIN) {
        visit_end(visit, rc);
    }
}


static void
visit_end(ngx_http_guildlog_visit_t *visit, ngx_uint_t status)
{
    ngx_queue_t                  *q;
    ngx_http_guildlog_visitor_t  *visitor;

    visit->status = status;
    visit->ended = 1;

    if (visit->renews) {
        ngx_http_guildlog_visit_kept_store(visit);
    }

    /* who comes from now on joins no more */

    ngx_queue_remove(&visit->queue);
    ngx_queue_init(&visit->queue);

    while (!ngx_queue_empty(&visit->visitors)) {
        q = ngx_queue_head(&visit->visitors);
        ngx_queue_remove(q);

        visitor = ngx_queue_data(q, ngx_http_guildlog_visitor_t, queue);
        visitor->visit = NULL;
        visitor->handler(visitor->data, visit->status, &visit->cookie);
    }

    visit_destroy(visit);
}


void
ngx_http_guildlog_visit_expire(void)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(&visit_all)) {
        q = ngx_queue_head(&visit_all);
        visit_end(ngx_queue_data(q, ngx_http_guildlog_visit_t, queue),
                  NGX_HTTP_SERVICE_UNAVAILABLE);
    }
}


static void
visit_destroy(ngx_http_guildlog_visit_t *visit)
{
    ngx_http_guildlog_visit_ask_cancel(visit);

    if (visit->query) {
        ngx_guildlog_db_pool_detach(visit->query);
    }

    ngx_queue_remove(&visit->queue);
    ngx_destroy_pool(visit->pool);
}
