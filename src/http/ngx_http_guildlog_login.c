
/*
 * The location of guildlog_login: a person is sent to the platform, comes back
 * with a code, and gets a cookie; or signs out.
 */

#include <ngx_config.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include "http/ngx_http_guildlog_login.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


typedef enum {
    SESSION_COOKIE = 0,
    SESSION_START    /* of a sign-in that has begun */
} ngx_http_guildlog_session_e;


typedef struct {
    const char                    *path;      /* behind the prefix */
    ngx_uint_t                     methods;
    const char                    *allow;
    ngx_int_t                    (*handler)(ngx_http_request_t *r,
                                    const ngx_http_guildlog_login_conf_t *l);
} login_page_t;


/* what a page for a person is about, where the status does not tell */
#define LOGIN_CODE  1


/* a page for a person, in place of the dashboard */

typedef struct {
    ngx_uint_t                     about;     /* the status, or as above */
    ngx_uint_t                     status;
    const char                    *text;
} login_text_t;


typedef struct {
    ngx_http_guildlog_visitor_t    visitor;
    ngx_http_request_t            *request;
    const ngx_http_guildlog_login_conf_t  *login;
    ngx_guildlog_db_query_t       *query;
} login_wait_t;


typedef struct {
    ngx_http_guildlog_visitor_t    visitor;
    ngx_http_guildlog_call_t      *call;
    const ngx_guildlog_stmt_t     *stmt;      /* is asked again */
} session_wait_t;


static ngx_int_t login_page(ngx_http_request_t *r);
static ngx_int_t login_begin(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t login_callback(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t login_start(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *state,
    ngx_guildlog_login_start_t *start);
static ngx_int_t login_use(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *state);
static ngx_int_t login_exchange(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *code,
    const ngx_guildlog_login_start_t *start);
static void login_visited(void *data, ngx_uint_t status,
    const ngx_str_t *cookie);
static ngx_int_t login_logout(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static void login_cleanup(void *data);
static void login_ended(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t login_redirect_uri(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, ngx_str_t *uri);
static ngx_int_t login_go(ngx_http_request_t *r, const ngx_str_t *to);
static ngx_int_t login_tell(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, ngx_uint_t about);
static ngx_int_t login_headers(ngx_http_request_t *r);
static const ngx_http_guildlog_login_conf_t *session_login(
    ngx_http_request_t *r);
static ngx_int_t session_find(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, ngx_str_t *value);
static const ngx_str_t *session_name(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which);
static ngx_uint_t session_is_secure(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t session_set(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, const ngx_str_t *value, time_t lives);
static ngx_int_t session_origin(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, ngx_str_t *origin);
static ngx_int_t session_is_foreign(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t session_open(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person);
static void session_renewed(void *data, ngx_uint_t status,
    const ngx_str_t *cookie);
static ngx_int_t session_refuse(ngx_http_guildlog_call_t *call,
    ngx_uint_t status);


static const login_page_t  login_pages[] = {
    { "", NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD", login_begin },
    { "/callback", NGX_HTTP_GET, "GET", login_callback },
    { "/logout", NGX_HTTP_POST, "POST", login_logout }
};


/* the last one stands for all others */

static const login_text_t  login_texts[] = {
    { LOGIN_CODE, NGX_HTTP_BAD_REQUEST,
      "You are not signed in: the chat platform does not know this sign-in, "
      "or not any more." },
    { NGX_HTTP_BAD_REQUEST, NGX_HTTP_BAD_REQUEST,
      "This sign-in was not begun in this browser, or too long ago." },
    { NGX_HTTP_FORBIDDEN, NGX_HTTP_FORBIDDEN,
      "You were not signed in: it was not allowed, or this sign-in was used "
      "before." },
    { NGX_HTTP_NOT_FOUND, NGX_HTTP_NOT_FOUND, "There is no such page." },
    { NGX_HTTP_NOT_ALLOWED, NGX_HTTP_NOT_ALLOWED,
      "This page is not asked for like that." },
    { NGX_HTTP_TOO_MANY_REQUESTS, NGX_HTTP_TOO_MANY_REQUESTS,
      "Too many people sign in from your address. Please wait a minute." },
    { NGX_HTTP_SERVICE_UNAVAILABLE, NGX_HTTP_SERVICE_UNAVAILABLE,
      "You are not signed in: the chat platform or our database did not "
      "answer. Please try again in a moment." },
};


/* the query of the callback */

static const ngx_guildlog_field_t  login_fields[] = {
    { .name = ngx_string("state"), .type = NGX_GUILDLOG_TEXT, .max = 128 },
    { .name = ngx_string("code"), .type = NGX_GUILDLOG_TEXT, .max = 512 },
    { .name = ngx_null_string }
};


/* without memory the answer is the API's, and none of nginx's pages */

ngx_int_t
ngx_http_guildlog_login_handler(ngx_http_request_t *r)
{
    ngx_int_t  rc;

    rc = login_page(r);

    return rc == NGX_ERROR ? ngx_http_guildlog_response_final(r, rc) : rc;
}


static ngx_int_t
login_page(ngx_http_request_t *r)
{
    size_t                                 i;
    ngx_int_t                              rc;
    ngx_str_t                              path;
    ngx_http_guildlog_ctx_t               *ctx;
    const ngx_http_guildlog_loc_conf_t    *conf;
    const ngx_http_guildlog_login_conf_t  *login;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);
    login = conf->login;

    ctx = ngx_http_guildlog_call_ctx(r, 1);

    if (ctx == NULL || ngx_http_discard_request_body(r) != NGX_OK) {
        return NGX_ERROR;
    }

    /* HEAD is every view of the viewer, by which nobody is to lose a sign-in */

    rc = r->method == NGX_HTTP_HEAD
         ? NGX_OK : ngx_http_guildlog_limit_charge(r, ctx, conf);

    if (rc != NGX_OK) {
        return rc == NGX_BUSY
               ? login_tell(r, login, NGX_HTTP_TOO_MANY_REQUESTS)
               : NGX_ERROR;
    }

    path = r->uri;
    path.data += login->prefix.len;
    path.len -= login->prefix.len;

    for (i = 0; i < sizeof(login_pages) / sizeof(login_page_t); i++) {

        if (path.len != ngx_strlen(login_pages[i].path)
            || ngx_strncmp(path.data, login_pages[i].path, path.len) != 0)
        {
            continue;
        }

        if (r->method & login_pages[i].methods) {
            return login_pages[i].handler(r, login);
        }

        return ngx_http_guildlog_response_header(r, "Allow", "%s",
                                                 login_pages[i].allow)
               == NGX_OK ? login_tell(r, login, NGX_HTTP_NOT_ALLOWED)
                         : NGX_ERROR;
    }

    return login_tell(r, login, NGX_HTTP_NOT_FOUND);
}


/* the state is bound to this browser by a cookie, which holds the verifier */

static ngx_int_t
login_begin(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login)
{
    ngx_str_t                    cookie, uri, query, to;
    ngx_guildlog_login_start_t   start;
    ngx_guildlog_login_person_t  person;

    /* a page asks so whether somebody is signed in */

    if (r->method == NGX_HTTP_HEAD
        && session_find(r, login, SESSION_COOKIE, &cookie)
           == NGX_OK
        && session_open(r, login, &cookie, &person) == NGX_OK)
    {
        return login_headers(r) != NGX_OK
               ? NGX_ERROR
               : ngx_http_guildlog_response_send(r, NGX_HTTP_NO_CONTENT, "",
                                                 NULL);
    }

    if (RAND_bytes((u_char *) &start, NGX_GUILDLOG_LOGIN_BEGUN) != 1) {
        return NGX_ERROR;
    }

    start.expires = ngx_time() + NGX_GUILDLOG_LOGIN_STARTS;

    if (ngx_guildlog_login_cookie_start(r->pool, &login->keys, &start, &cookie)
        != NGX_OK
        || login_redirect_uri(r, login, &uri) != NGX_OK
        || ngx_guildlog_login_flow_query(r->pool, &login->keys.client,
                                         &login->scope, &uri, &start, &query)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* HEAD only looks: a sign-in that another tab has begun goes on */

    if (r->method != NGX_HTTP_HEAD
        && session_set(r, login, SESSION_START, &cookie,
                       NGX_GUILDLOG_LOGIN_STARTS)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_guildlog_print(r->pool, &to, "%V?%V", &login->authorize, &query)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return login_go(r, &to);
}


static ngx_int_t
login_callback(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login)
{
    ngx_int_t                    rc;
    ngx_str_t                    values[2], error, none;
    ngx_guildlog_login_start_t   start;

    rc = ngx_guildlog_args_query(r->pool, login_fields, &r->args, values,
                                 &error);

    if (rc == NGX_OK) {
        rc = login_start(r, login, &values[0], &start);
    }

    if (rc != NGX_OK) {
        return rc == NGX_DECLINED ? login_tell(r, login, NGX_HTTP_BAD_REQUEST)
                                  : NGX_ERROR;
    }

    /* the platform sends the person back without a code: it was not allowed */

    rc = values[1].len ? login_use(r, login, &values[0]) : NGX_DECLINED;

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_DECLINED) {
        ngx_str_null(&none);

        if (session_set(r, login, SESSION_START, &none, 0) != NGX_OK) {
            return NGX_ERROR;
        }

        return login_tell(r, login, NGX_HTTP_FORBIDDEN);
    }

    if (login_exchange(r, login, &values[1], &start) != NGX_OK) {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


/* NGX_DECLINED: this browser has not begun a sign-in with that state */

static ngx_int_t
login_start(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login,
    const ngx_str_t *state, ngx_guildlog_login_start_t *start)
{
    u_char     digits[NGX_GUILDLOG_LOGIN_DIGITS];
    ngx_int_t  rc;
    ngx_str_t  cookie;

    rc = session_find(r, login, SESSION_START, &cookie);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_login_cookie_open_start(r->pool, &login->keys,
                                                  &cookie, start);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    (void) ngx_hex_dump(digits, start->state, sizeof(start->state));

    return start->expires > ngx_time() && state->len == sizeof(digits)
           && CRYPTO_memcmp(state->data, digits, sizeof(digits)) == 0
           ? NGX_OK : NGX_DECLINED;
}


/*
 * NGX_DECLINED: the state was used before.  Each exchange is a question to the
 * platform, and who has one cookie could ask as many as they like.  Race: who
 * asks two machines gets two, and so does who makes the zone drop the window,
 * for which it has to overflow.
 */

static ngx_int_t
login_use(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login,
    const ngx_str_t *state)
{
    ngx_str_t                        key;
    ngx_guildlog_limit_t             limit;
    ngx_http_guildlog_limit_conf_t  *starts;

    starts = login->starts;

    if (ngx_guildlog_print(r->pool, &key, "%V%V", &starts->prefix, state)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_guildlog_limit_take(starts->zone, &key, starts->requests,
                                   starts->window, &limit,
                                   &ngx_http_guildlog_worker.stats)
           == NGX_OK ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
login_exchange(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *code,
    const ngx_guildlog_login_start_t *start)
{
    u_char         digits[NGX_GUILDLOG_LOGIN_DIGITS];
    ngx_str_t      uri, form, session;
    login_wait_t  *wait;

    wait = ngx_pcalloc(r->pool, sizeof(login_wait_t));

    if (wait == NULL
        || login_redirect_uri(r, login, &uri) != NGX_OK
        || ngx_guildlog_login_flow_form(r->pool, code, &uri, start, &form)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    session.data = digits;
    session.len = ngx_hex_dump(digits, (u_char *) start->session,
                               sizeof(start->session))
                  - digits;

    wait->request = r;
    wait->login = login;
    wait->visitor.handler = login_visited;
    wait->visitor.data = wait;

    return ngx_http_guildlog_visit_begin(r, login, &session, &form,
                                         &wait->visitor);
}


static void
login_visited(void *data, ngx_uint_t status, const ngx_str_t *cookie)
{
    login_wait_t *wait = data;

    ngx_int_t            rc;
    ngx_str_t            none;
    ngx_http_request_t  *r;

    r = wait->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_str_null(&none);

    if (status != NGX_HTTP_OK) {
        rc = login_tell(r, wait->login,
                        status == NGX_HTTP_BAD_REQUEST ? LOGIN_CODE : status);

    } else if (session_set(r, wait->login, SESSION_COOKIE, cookie,
                           NGX_GUILDLOG_LOGIN_LIVES)
               != NGX_OK
               || session_set(r, wait->login, SESSION_START, &none, 0)
                  != NGX_OK)
    {
        rc = NGX_ERROR;

    } else {
        rc = login_go(r, &wait->login->viewer);
    }

    ngx_http_guildlog_call_finish(r, rc);
}


/*
 * The session ends in the database: its cookie is worth nothing any more, on
 * no machine.  A page of another origin ends nothing.
 */

static ngx_int_t
login_logout(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login)
{
    ngx_int_t                     rc;
    ngx_str_t                     cookie, args[2];
    login_wait_t                 *wait;
    ngx_guildlog_login_person_t   person;

    rc = session_is_foreign(r, login);

    if (rc != 0) {
        return rc == NGX_ERROR
               ? NGX_ERROR
               : ngx_http_guildlog_response_error(r, NGX_HTTP_FORBIDDEN, NULL);
    }

    rc = session_find(r, login, SESSION_COOKIE, &cookie);

    if (rc == NGX_OK) {
        rc = session_open(r, login, &cookie, &person);
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_guildlog_response_error(r, NGX_HTTP_UNAUTHORIZED, NULL);
    }

    wait = ngx_pcalloc(r->pool, sizeof(login_wait_t));

    if (rc != NGX_OK || wait == NULL
        || ngx_http_guildlog_call_at_end(r, login_cleanup, wait) != NGX_OK
        || ngx_guildlog_login_flow_session(r->pool, &person, "r0", &args[0])
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_str_set(&args[1], "f");

    wait->request = r;
    wait->login = login;

    wait->query = ngx_guildlog_db_pool_submit(
                      ngx_http_guildlog_worker.pools[login->database->index],
                      ngx_guildlog_stmt(session_end),
                      args, login_ended, wait);

    if (wait->query == NULL) {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static void
login_cleanup(void *data)
{
    login_wait_t *wait = data;

    ngx_guildlog_db_pool_detach(wait->query);
}


static void
login_ended(void *data, ngx_guildlog_db_result_t *result)
{
    login_wait_t *wait = data;

    ngx_int_t            rc;
    ngx_str_t            none;
    ngx_uint_t           status;
    ngx_http_request_t  *r;

    static const ngx_str_t  failed =
        ngx_string("you are not signed out: the database is not available, "
                   "try again later");

    r = wait->request;
    wait->query = NULL;

    ngx_http_set_log_request(r->connection->log, r);

    status = ngx_http_guildlog_response_row_status(result);

    if (status == 0) {
        (void) ngx_http_guildlog_response_failed(result, "session_end",
                                                 r->connection->log);
        rc = ngx_http_guildlog_response_error(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                              &failed);

    } else {
        ngx_str_null(&none);

        rc = session_set(r, wait->login, SESSION_COOKIE, &none, 0);
        if (rc == NGX_OK) {
            rc = ngx_http_guildlog_response_error(r, status, NULL);
        }
    }

    ngx_http_guildlog_call_finish(r, rc);
}


static ngx_int_t
login_redirect_uri(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, ngx_str_t *uri)
{
    ngx_str_t  origin;

    if (login->redirect.len) {
        *uri = login->redirect;
        return NGX_OK;
    }

    if (session_origin(r, login, &origin) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_guildlog_print(r->pool, uri, "%V%V/callback", &origin,
                              &login->prefix);
}


/* nginx makes an absolute address of a Location that it knows: not of this */

static ngx_int_t
login_go(ngx_http_request_t *r, const ngx_str_t *to)
{
    if (login_headers(r) != NGX_OK
        || ngx_http_guildlog_response_header(r, "Location", "%V", to)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_send(r, NGX_HTTP_MOVED_TEMPORARILY,
                                           "text/plain", NULL);
}


static ngx_int_t
login_tell(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login,
    ngx_uint_t about)
{
    ngx_str_t   page;
    ngx_uint_t  i;

    static const char  format[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>Sign in - guildlog</title>\n</head>\n<body>\n"
        "<h1>Sign in</h1>\n<p>%s</p>\n"
        "<p><a href=\"%V\">Sign in again</a></p>\n"
        "</body>\n</html>\n";

    for (i = 0; i < sizeof(login_texts) / sizeof(login_text_t) - 1; i++) {
        if (login_texts[i].about == about) {
            break;
        }
    }

    if (ngx_guildlog_print(r->pool, &page, format, login_texts[i].text,
                           &login->prefix)
        != NGX_OK
        || login_headers(r) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_response_send(r, login_texts[i].status,
                                           "text/html; charset=utf-8", &page);
}


/* no other page shows these in a frame, or is told where people come from */

static ngx_int_t
login_headers(ngx_http_request_t *r)
{
    return ngx_http_guildlog_response_header(r, "Content-Security-Policy",
                           "default-src 'none'; frame-ancestors 'none'; "
                           "base-uri 'none'; form-action 'none'")
           == NGX_OK
           && ngx_http_guildlog_response_header(r, "X-Frame-Options", "DENY")
              == NGX_OK
           && ngx_http_guildlog_response_header(r, "X-Content-Type-Options",
                                                "nosniff")
              == NGX_OK
           && ngx_http_guildlog_response_header(r, "Referrer-Policy",
                                                "no-referrer")
              == NGX_OK
           ? NGX_OK : NGX_ERROR;
}


/*
 * The person of a cookie: at the API in place of a token, if the request has
 * the header "X-Guildlog: 1" and no page of another origin sends it.
 */

ngx_int_t
ngx_http_guildlog_session_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx)
{
    ngx_int_t                              rc;
    ngx_str_t                              cookie;
    ngx_table_elt_t                       *h;
    ngx_guildlog_token_t                  *token;
    ngx_guildlog_login_person_t           *person;
    const ngx_http_guildlog_login_conf_t  *login;

    login = session_login(r);

    if (login == NULL || ctx->cause != NGX_GUILDLOG_AUTH_MISSING) {
        return NGX_OK;
    }

    h = ngx_http_guildlog_call_header(r, "X-Guildlog", NULL);

    if (h == NULL || h->value.len != 1 || h->value.data[0] != '1'
        || session_find(r, login, SESSION_COOKIE, &cookie)
           != NGX_OK)
    {
        return NGX_OK;
    }

    rc = session_is_foreign(r, login);

    if (rc != 0) {
        return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
    }

    person = ngx_palloc(r->main->pool, sizeof(ngx_guildlog_login_person_t));
    if (person == NULL) {
        return NGX_ERROR;
    }

    rc = session_open(r->main, login, &cookie, person);

    if (rc == NGX_OK) {
        token = &ctx->token;
        ngx_memzero(token, sizeof(ngx_guildlog_token_t));

        token->jti = person->user;
        token->kind = NGX_GUILDLOG_ADMIN;
        token->exp = person->expires;

        ctx->person = person;
        ctx->cause = NGX_GUILDLOG_AUTH_OK;
        ctx->authenticated = 1;

    } else if (rc == NGX_DECLINED) {
        ctx->cause = NGX_GUILDLOG_AUTH_SIGNATURE;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog cookie: %s, user \"%V\"",
                   ngx_http_guildlog_access_causes[ctx->cause],
                   &ctx->token.jti);

    return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


static const ngx_http_guildlog_login_conf_t *
session_login(ngx_http_request_t *r)
{
    ngx_http_guildlog_srv_conf_t  *gscf;

    gscf = ngx_http_get_module_srv_conf(r, ngx_http_guildlog_module);

    return gscf->login;
}


/*
 * The value of a cookie of the request; NGX_DECLINED: there is none.  HTTP/2
 * may send each cookie in a header of its own.
 */

static ngx_int_t
session_find(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = NULL;

    while ((h = ngx_http_guildlog_call_header(r, "Cookie", h))) {
        if (ngx_guildlog_login_cookie_find(&h->value,
                                           session_name(r, login, which),
                                           value)
            == NGX_OK)
        {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


/* with "__Host-" no other host, and nobody without TLS, can set it */

static const ngx_str_t *
session_name(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which)
{
    static const ngx_str_t  names[][2] = {
        { ngx_string("guildlog"), ngx_string("__Host-guildlog") },
        { ngx_string("guildlog_start"), ngx_string("__Host-guildlog_start") }
    };

    return &names[which][session_is_secure(r, login)];
}


/* something in front may have taken the TLS away: redirect= tells */

static ngx_uint_t
session_is_secure(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login)
{
    if (login->origin.len) {
        return ngx_strncasecmp(login->origin.data, (u_char *) "https:", 6)
               == 0;
    }

#if (NGX_HTTP_SSL)
    return r->connection->ssl != NULL;
#else
    return 0;
#endif
}


/* sets a cookie for so many seconds; 0: the browser forgets it */

static ngx_int_t
session_set(ngx_http_request_t *r, const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, const ngx_str_t *value, time_t lives)
{
    ngx_str_t  text;

    return ngx_guildlog_print(r->pool, &text, "%V=%V; Path=/; Max-Age=%T; "
                              "HttpOnly; SameSite=Lax%s",
                              session_name(r, login, which), value, lives,
                              session_is_secure(r, login) ? "; Secure" : "")
           == NGX_OK
           && ngx_http_guildlog_response_header_add(r->main, "Set-Cookie",
                                                    &text)
           ? NGX_OK : NGX_ERROR;
}


/* scheme and host of this service, as a browser says them */

static ngx_int_t
session_origin(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, ngx_str_t *origin)
{
    ngx_str_t  host;

    if (login->origin.len) {
        *origin = login->origin;
        return NGX_OK;
    }

    ngx_str_null(&host);

    if (r->headers_in.host) {
        host = r->headers_in.host->value;

    } else if (r->host_start) {

        /* HTTP/3, of whose ":authority" nginx makes no header */

        host.data = r->host_start;
        host.len = r->host_end - r->host_start;
    }

    return ngx_guildlog_print(r->pool, origin, "%s://%V",
                              session_is_secure(r, login) ? "https" : "http",
                              &host);
}


/*
 * Does a page of another origin ask?  NGX_ERROR: out of memory.  A browser
 * leaves "Origin" out where a page of ours reads.
 */

static ngx_int_t
session_is_foreign(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login)
{
    ngx_str_t         own;
    ngx_table_elt_t  *h;

    h = ngx_http_guildlog_call_header(r, "Origin", NULL);
    if (h == NULL) {
        return 0;
    }

    if (session_origin(r, login, &own) != NGX_OK) {
        return NGX_ERROR;
    }

    return h->value.len != own.len
           || ngx_strncasecmp(h->value.data, own.data, own.len) != 0
           || ngx_http_guildlog_call_header(r, "Origin", h) != NULL;
}


/* who the cookie is of; NGX_DECLINED: nobody, or no longer */

static ngx_int_t
session_open(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person)
{
    ngx_int_t  rc;

    rc = ngx_guildlog_login_cookie_open(r->pool, &login->keys, cookie, person);

    return rc == NGX_OK && person->expires <= ngx_time() ? NGX_DECLINED : rc;
}


ngx_int_t
ngx_http_guildlog_session_renew(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    session_wait_t      *wait;
    ngx_http_request_t  *r;

    r = call->request;

    /* what was asked for that person failed a moment ago */

    if (ngx_guildlog_cache_find(ngx_http_guildlog_worker.rests,
                                &call->ctx->person->user))
    {
        return session_refuse(call, NGX_HTTP_SERVICE_UNAVAILABLE);
    }

    wait = ngx_pcalloc(r->pool, sizeof(session_wait_t));
    if (wait == NULL) {
        return NGX_ERROR;
    }

    wait->call = call;
    wait->stmt = ngx_guildlog_db_pool_asked(result, r->pool, call->args);
    wait->visitor.handler = session_renewed;
    wait->visitor.data = wait;

    if (wait->stmt == NULL
        || ngx_http_guildlog_visit_renew(r, session_login(r),
                                         call->ctx->person, &wait->visitor)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


static void
session_renewed(void *data, ngx_uint_t status, const ngx_str_t *cookie)
{
    session_wait_t *wait = data;

    ngx_int_t                  rc;
    ngx_http_request_t        *r;
    ngx_http_guildlog_call_t  *call;

    call = wait->call;
    r = call->request;

    ngx_http_set_log_request(r->connection->log, r);

    if (status == NGX_HTTP_OK) {

        /* a standby may not have heard of it */

        call->standby = NULL;
        call->nargs = wait->stmt->nargs;

        rc = ngx_http_guildlog_call_ask(call, wait->stmt, call->handler);

    } else {
        rc = session_refuse(call, status);
    }

    ngx_http_guildlog_call_finish(r, rc);
}


static ngx_int_t
session_refuse(ngx_http_guildlog_call_t *call, ngx_uint_t status)
{
    ngx_http_request_t  *r;

    static const ngx_str_t  failed =
        ngx_string("the chat platform does not tell who may do this, "
                   "try again later");

    r = call->request;

    if (r->header_sent) {
        return ngx_http_guildlog_parts_abort(call, "what the platform said of "
                                                   "the person is too old");
    }

    if (status == NGX_HTTP_SERVICE_UNAVAILABLE) {
        if (ngx_http_guildlog_response_header(r, "Retry-After", "5")
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        return ngx_http_guildlog_call_refuse(call, status, &failed);
    }

    call->ctx->cause = NGX_GUILDLOG_AUTH_REVOKED;

    if (ngx_http_guildlog_response_challenge(r, call->ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_UNAUTHORIZED, NULL);
}
