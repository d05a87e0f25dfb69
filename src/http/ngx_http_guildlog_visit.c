
/*
 * A visit, top-down: the platform exchanges the code, tells who the person is,
 * and which guilds the person manages; the database keeps that.  A renewal gets
 * the platform's token from the database, and asks for the guilds.
 */

#include "http/ngx_http_guildlog_login.h"
#include "http/ngx_http_guildlog_response.h"
#include "http/ngx_http_guildlog_ask.h"


/* ms: for the turn of a question to the platform, and again for its answer */
#define VISIT_ASK_PLATFORM  5000

/* ms: after a limit that tells no time, and the longest that is believed */
#define VISIT_ASK_AFTER     1000
#define VISIT_ASK_PAUSE     600000


#define VISIT_ARGS  7


/* a step: takes what was asked for, and returns the status with which the visit
   ends, or NGX_AGAIN */

typedef ngx_int_t (*ngx_http_guildlog_visit_pt)(
    ngx_http_guildlog_visit_t *visit, json_t *json);


struct ngx_http_guildlog_visit_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;     /* of those under way */
    ngx_queue_t                    visitors;
    ngx_pool_t                    *pool;
    const ngx_http_guildlog_login_conf_t  *login;
    ngx_guildlog_login_person_t    person;

    ngx_http_guildlog_ask_t        ask;       /* what the platform is asked */
    ngx_event_t                    timer;     /* then it is asked again */
    ngx_http_guildlog_visit_pt     answered;  /* the step */

    ngx_guildlog_db_query_t       *query;

    ngx_uint_t                     status;    /* when it has ended */
    ngx_str_t                      cookie;

    unsigned                       renews:1;
    unsigned                       ended:1;
};


static ngx_http_guildlog_visit_t *visit_create(
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t visit_join(ngx_http_guildlog_visit_t *visit,
    ngx_http_request_t *r, ngx_http_guildlog_visitor_t *visitor);
static void visit_leave(void *data);
static ngx_int_t visit_copy(ngx_pool_t *pool, ngx_str_t *text);
static ngx_int_t visit_bearer(ngx_http_guildlog_visit_t *visit);
static ngx_int_t visit_access(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_token(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_user(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_guilds(ngx_http_guildlog_visit_t *visit, json_t *json);
static ngx_int_t visit_kept(ngx_http_guildlog_visit_t *visit, json_t *json);
static void visit_ask(ngx_http_guildlog_visit_t *visit, const char *path,
    ngx_http_guildlog_visit_pt answered);
static void visit_told(ngx_http_guildlog_visit_t *visit, ngx_uint_t status,
    ngx_str_t *body);
static ngx_int_t visit_submit(ngx_http_guildlog_visit_t *visit,
    const ngx_guildlog_stmt_t *stmt, const ngx_str_t *args,
    ngx_guildlog_db_handler_pt handler);
static void visit_result(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t visit_session(ngx_http_guildlog_visit_t *visit,
    ngx_str_t *token);
static ngx_int_t visit_end_session(ngx_http_guildlog_visit_t *visit,
    const char *whole);
static void visit_session_ended(void *data, ngx_guildlog_db_result_t *result);
static void visit_step(ngx_http_guildlog_visit_t *visit, ngx_str_t *text);
static void visit_end(ngx_http_guildlog_visit_t *visit, ngx_uint_t status);
static void visit_destroy(ngx_http_guildlog_visit_t *visit);
static void visit_ask_answered(void *data,
    ngx_guildlog_client_response_t *response, const char *phrase);
static void visit_ask_again(ngx_event_t *ev);
static void visit_ask_unsent(ngx_event_t *ev);
static ngx_msec_t visit_ask_after(ngx_guildlog_client_response_t *response);
static ngx_uint_t visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response);
static ngx_uint_t visit_ask_tells(void);


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

    /*
     * Of strangers those come first whose address has asked least in this
     * minute, so that who comes again and again holds up nobody else.
     */

    if (ctx && ctx->charged) {
        visit->ask.rank = ctx->limit.limit - ctx->limit.remaining;
    }

    visit->person.session = *session;
    visit->person.expires = ngx_time() + NGX_GUILDLOG_LOGIN_LIVES;
    visit->ask.who = NGX_GUILDLOG_ASKS_STRANGER;
    visit->ask.authorization = login->authorization;
    visit->ask.request.method = "POST";
    visit->ask.request.body = *form;
    ngx_str_set(&visit->ask.request.type, "application/x-www-form-urlencoded");

    if (visit_copy(visit->pool, &visit->person.session) != NGX_OK
        || visit_copy(visit->pool, &visit->ask.request.body) != NGX_OK
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
    ngx_str_t                   token;
    ngx_queue_t                *q;
    ngx_http_guildlog_visit_t  *visit;

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

    visit->person.session = person->session;
    visit->person.user = person->user;
    visit->answered = visit_access;

    if (visit_copy(visit->pool, &visit->person.session) != NGX_OK
        || visit_copy(visit->pool, &visit->person.user) != NGX_OK
        || visit_session(visit, &token) != NGX_OK
        || visit_join(visit, r, visitor) != NGX_OK)
    {
        visit_destroy(visit);
        return NGX_ERROR;
    }

    /* visit_told() is called from the event loop only */

    if (visit_submit(visit, ngx_guildlog_stmt(session_ask),
                     &token, visit_result)
        != NGX_AGAIN)
    {
        visit->timer.handler = visit_ask_unsent;
        ngx_add_timer(&visit->timer, 0);
    }

    return NGX_OK;
}


static ngx_http_guildlog_visit_t *
visit_create(const ngx_http_guildlog_login_conf_t *login)
{
    ngx_pool_t                 *pool;
    ngx_http_guildlog_visit_t  *visit;

    visit = ngx_guildlog_pool(&pool, 4096, sizeof(ngx_http_guildlog_visit_t),
                              ngx_cycle->log);
    if (visit == NULL) {
        return NULL;
    }

    visit->fd = (ngx_socket_t) -1;
    visit->pool = pool;
    visit->login = login;
    visit->timer.data = visit;
    visit->timer.log = ngx_cycle->log;
    visit->ask.handler = visit_ask_answered;
    visit->ask.data = visit;

    ngx_queue_init(&visit->visitors);
    ngx_queue_insert_tail(&visit_all, &visit->queue);

    return visit;
}


static ngx_int_t
visit_join(ngx_http_guildlog_visit_t *visit, ngx_http_request_t *r,
    ngx_http_guildlog_visitor_t *visitor)
{
    if (ngx_http_guildlog_call_at_end(r, visit_leave, visitor) != NGX_OK) {
        return NGX_ERROR;
    }

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
    text->data = ngx_pstrdup(pool, text);

    return text->data ? NGX_OK : NGX_ERROR;
}


/* from now on the platform is asked with the person's own token */

static ngx_int_t
visit_bearer(ngx_http_guildlog_visit_t *visit)
{
    ngx_memzero(&visit->ask.request, sizeof(ngx_guildlog_platform_request_t));

    visit->ask.who = NGX_GUILDLOG_ASKS_PERSON;
    visit->ask.rank = 0;
    visit->ask.request.method = "GET";

    return ngx_guildlog_print(visit->pool, &visit->ask.authorization,
                              "Bearer %V", &visit->person.access);
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

    visit_ask(visit, "/users/@me", visit_user);

    return NGX_AGAIN;
}


static ngx_int_t
visit_user(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    if (ngx_guildlog_login_answer_user(json, &visit->person) != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    visit_ask(visit, "/users/@me/guilds", visit_guilds);

    return NGX_AGAIN;
}


static ngx_int_t
visit_access(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    ngx_int_t   rc;
    ngx_str_t   sealed;

    /* another worker, or another machine, was faster */

    if (json_object_size(json) == 0) {
        return NGX_HTTP_OK;
    }

    sealed = ngx_guildlog_json_get(json, "access");

    rc = ngx_guildlog_login_cookie_open_access(visit->pool,
                                               &visit->login->keys, &sealed,
                                               &visit->person);

    /* it was sealed with a secret that is not there any more */

    if (rc == NGX_DECLINED) {
        return visit_end_session(visit, "f");
    }

    if (rc != NGX_OK || visit_bearer(visit) != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    visit_ask(visit, "/users/@me/guilds", visit_guilds);

    return NGX_AGAIN;
}


static ngx_int_t
visit_guilds(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    ngx_int_t                     rc;
    ngx_str_t                     args[VISIT_ARGS];
    const ngx_guildlog_stmt_t    *stmt;
    ngx_guildlog_login_person_t  *person;

    person = &visit->person;

    if (ngx_guildlog_login_answer_guilds(visit->pool, json, person) != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    if (visit->renews) {
        stmt = ngx_guildlog_stmt(session_renew);
        rc = visit_session(visit, &args[0]);
        args[1] = person->guilds;
        args[2] = person->icons;

    } else {
        stmt = ngx_guildlog_stmt(session_begin);
        args[0] = person->session;
        args[1] = person->user;
        args[2] = person->name;
        args[3] = person->guilds;
        args[4] = person->avatar;
        args[5] = person->icons;
        rc = ngx_guildlog_login_cookie_access(visit->pool,
                                              &visit->login->keys, person,
                                              &args[6]);

        if (person->avatar.len == 0) {
            ngx_str_null(&args[4]);
        }
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    visit->answered = visit_kept;

    return visit_submit(visit, stmt, args, visit_result);
}


static ngx_int_t
visit_kept(ngx_http_guildlog_visit_t *visit, json_t *json)
{
    if (!visit->renews
        && ngx_guildlog_login_cookie(visit->pool, &visit->login->keys,
                                     &visit->person, &visit->cookie)
           != NGX_OK)
    {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                  "user %V %s, manages %ui servers", &visit->person.user,
                  visit->renews ? "was asked for anew" : "signed in",
                  visit->person.nguilds);

    return NGX_HTTP_OK;
}


/* the session, where a token's id stands: of no server, so with any right */

static ngx_int_t
visit_session(ngx_http_guildlog_visit_t *visit, ngx_str_t *token)
{
    return ngx_guildlog_login_flow_session(visit->pool, &visit->person, "r0",
                                           token);
}


static void
visit_ask(ngx_http_guildlog_visit_t *visit, const char *path,
    ngx_http_guildlog_visit_pt answered)
{
    visit->ask.request.path = ngx_guildlog_word(path);
    visit->ask.answer = VISIT_ASK_PLATFORM;
    visit->answered = answered;

    ngx_http_guildlog_ask_start(&visit->ask, VISIT_ASK_PLATFORM);
}


/*
 * What came of a question, from the event loop.  200: the body answers it;
 * 400: the platform does not know the code; 401: the person has taken back
 * what guildlog was allowed; 503: there is no such answer.
 */

static void
visit_told(ngx_http_guildlog_visit_t *visit, ngx_uint_t status,
    ngx_str_t *body)
{
    if (status == NGX_HTTP_OK) {
        visit_step(visit, body);

    } else if (status == NGX_HTTP_UNAUTHORIZED) {

        if (visit_end_session(visit, "t") != NGX_AGAIN) {
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


/* whole: "t": all that the person has */

static ngx_int_t
visit_end_session(ngx_http_guildlog_visit_t *visit, const char *whole)
{
    ngx_str_t  args[2];

    args[1].data = (u_char *) whole;
    args[1].len = 1;

    if (visit_session(visit, &args[0]) != NGX_OK) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    return visit_submit(visit, ngx_guildlog_stmt(session_end), args,
                        visit_session_ended);
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
        && visit_ask_tells())
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "the answer to \"%V\" for who signed in is not what was "
                      "asked for", &visit->ask.request.path);
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

    /*
     * The platform is not asked for each request of a person whom it does not
     * answer for.
     */

    if (visit->renews && status == NGX_HTTP_SERVICE_UNAVAILABLE) {
        (void) ngx_guildlog_cache_store(ngx_http_guildlog_worker.rests,
                                        &visit->person.user, 0, 0);
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
    ngx_http_guildlog_ask_cancel(&visit->ask);
    ngx_guildlog_event_stop(&visit->timer);

    ngx_guildlog_db_pool_detach(visit->query);

    ngx_queue_remove(&visit->queue);
    ngx_destroy_pool(visit->pool);
}


/*
 * Each worker, and each machine, asks for itself: the platform may find that
 * too often for one person, and says when to come again.  A limit of what
 * strangers ask is one for all of them, and each more question until it ends
 * would be one more bad request of this address.
 */

static void
visit_ask_answered(void *data, ngx_guildlog_client_response_t *response,
    const char *phrase)
{
    ngx_http_guildlog_visit_t *visit = data;

    ngx_msec_t        after;
    const ngx_str_t  *global;

    if (response == NULL) {

        if (visit_ask_tells()) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "the platform was not asked \"%V\" for who signed "
                          "in: %s", &visit->ask.request.path, phrase);
        }

        visit_told(visit, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
        return;
    }

    after = visit_ask_after(response);
    global = ngx_guildlog_client_response_header(response,
                                                 "x-ratelimit-global");

    /*
     * What delivery has to know of it: it sends from the same address.  No
     * other refusal makes it pause: whoever signs in could cause one.
     */

    ngx_http_guildlog_ask_told(
                  response->outcome != NGX_GUILDLOG_CLIENT_ANSWERED
                  || response->status >= NGX_HTTP_INTERNAL_SERVER_ERROR,
                  response->status == NGX_HTTP_UNAUTHORIZED
                  || response->status == NGX_HTTP_FORBIDDEN
                  || response->status == NGX_HTTP_TOO_MANY_REQUESTS,
                  global ? after : 0);

    if (after && visit->ask.who == NGX_GUILDLOG_ASKS_STRANGER) {
        ngx_guildlog_pace_hold(&ngx_http_guildlog_worker.pace, ngx_current_msec,
                               after);
    }

    if (after
        && (ngx_msec_int_t) (visit->ask.until - ngx_current_msec - after) > 0)
    {
        visit->timer.handler = visit_ask_again;
        ngx_add_timer(&visit->timer, after);
        return;
    }

    visit_told(visit, visit_ask_judge(visit, response), &response->body);
}


static void
visit_ask_again(ngx_event_t *ev)
{
    ngx_http_guildlog_visit_t *visit = ev->data;

    ngx_http_guildlog_ask_start(&visit->ask,
                                visit->ask.until - ngx_current_msec);
}


static void
visit_ask_unsent(ngx_event_t *ev)
{
    visit_told(ev->data, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
}


/* ms until the platform may be asked again; 0: it did not limit this */

static ngx_msec_t
visit_ask_after(ngx_guildlog_client_response_t *response)
{
    ngx_int_t         ms;
    const ngx_str_t  *value;

    if (response->status != NGX_HTTP_TOO_MANY_REQUESTS) {
        return 0;
    }

    value = ngx_guildlog_client_response_header(response, "retry-after");
    ms = value ? ngx_atofp(value->data, value->len, 3) : NGX_ERROR;

    return ms > 0 ? ngx_min((ngx_msec_t) ms, VISIT_ASK_PAUSE)
                  : VISIT_ASK_AFTER;
}


/* the status that visit_told() takes */

static ngx_uint_t
visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response)
{
    u_char  *end;

    if (response->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
        && response->status == NGX_HTTP_OK && !response->cut)
    {
        return NGX_HTTP_OK;
    }

    end = response->body.data + response->body.len;

    if (visit->ask.request.body.len && response->status == NGX_HTTP_BAD_REQUEST
        && ngx_strlcasestrn(response->body.data, end,
                            (u_char *) "invalid_grant", 13 - 1))
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    if (visit_ask_tells()) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "the platform did not answer \"%V\" for who signed in: "
                      "status %ui%s%s", &visit->ask.request.path,
                      response->status,
                      response->cause ? ", " : "",
                      response->cause ? response->cause : "");
    }

    /* the person has taken back what guildlog was allowed */

    if (visit->renews && response->status == NGX_HTTP_UNAUTHORIZED) {
        return NGX_HTTP_UNAUTHORIZED;
    }

    return NGX_HTTP_SERVICE_UNAVAILABLE;
}


/* 1: a line may be logged: strangers cause as many as they like, and a second
   has one */

static ngx_uint_t
visit_ask_tells(void)
{
    static time_t  told;

    if (told == ngx_time()) {
        return 0;
    }

    told = ngx_time();

    return 1;
}
