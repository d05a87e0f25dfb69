
/*
 * The person of a cookie: at the API in place of a token, if the request has
 * the header "X-Guildlog: 1" and no page of another origin sends it.
 */

#include "http/ngx_http_guildlog_access.h"
#include "http/ngx_http_guildlog_login.h"
#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


/* s: so much may the clock of another machine be ahead */
#define SESSION_AHEAD  60


typedef struct {
    ngx_http_guildlog_visitor_t    visitor;
    ngx_http_guildlog_call_t      *call;
    void                         (*resume)(ngx_http_guildlog_call_t *call,
                                           ngx_int_t rc);
} session_wait_t;


static const ngx_http_guildlog_login_conf_t *session_login(
    ngx_http_request_t *r);
static ngx_table_elt_t *session_header(ngx_http_request_t *r,
    const ngx_str_t *name, ngx_table_elt_t *after);
static const ngx_str_t *session_name(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which);
static ngx_uint_t session_is_secure(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login);
static ngx_int_t session_take(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_str_t *cookie);
static void session_renewed(void *data, ngx_uint_t status,
    const ngx_str_t *cookie);
static ngx_int_t session_replace(ngx_http_guildlog_call_t *call,
    ngx_uint_t status, const ngx_str_t *cookie);


ngx_int_t
ngx_http_guildlog_session_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx)
{
    ngx_int_t                              rc;
    ngx_str_t                              cookie;
    ngx_table_elt_t                       *h;
    const ngx_http_guildlog_login_conf_t  *login;

    static const ngx_str_t  header = ngx_string("X-Guildlog");

    login = session_login(r);

    if (login == NULL || ctx->cause != NGX_GUILDLOG_AUTH_MISSING) {
        return NGX_OK;
    }

    h = session_header(r, &header, NULL);

    if (h == NULL || h->value.len != 1 || h->value.data[0] != '1'
        || ngx_http_guildlog_session_find(r, login,
                                          NGX_HTTP_GUILDLOG_SESSION_COOKIE,
                                          &cookie)
           != NGX_OK)
    {
        return NGX_OK;
    }

    rc = ngx_http_guildlog_session_is_foreign(r, login);

    if (rc == 0) {
        rc = session_take(r, ctx, &cookie);

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "guildlog cookie: %s, user \"%V\"",
                       ngx_http_guildlog_access_causes[ctx->cause],
                       &ctx->token.jti);
        return rc;
    }

    return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


static const ngx_http_guildlog_login_conf_t *
session_login(ngx_http_request_t *r)
{
    ngx_http_guildlog_srv_conf_t  *gscf;

    gscf = ngx_http_get_module_srv_conf(r, ngx_http_guildlog_module);

    return gscf->login;
}


/* the first header of that name behind the other one; NULL: there is none */

static ngx_table_elt_t *
session_header(ngx_http_request_t *r, const ngx_str_t *name,
    ngx_table_elt_t *after)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (after) {
                after = after == &h[i] ? NULL : after;
                continue;
            }

            if (h[i].key.len == name->len
                && ngx_strncasecmp(h[i].key.data, name->data, name->len) == 0)
            {
                return &h[i];
            }
        }
    }

    return NULL;
}


/* HTTP/2 may send each cookie in a header of its own */

ngx_int_t
ngx_http_guildlog_session_find(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    static const ngx_str_t  header = ngx_string("Cookie");

    for (h = session_header(r, &header, NULL); h;
         h = session_header(r, &header, h))
    {
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


ngx_int_t
ngx_http_guildlog_session_set(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    ngx_http_guildlog_session_e which, const ngx_str_t *value, time_t lives)
{
    ngx_str_t         text;
    const ngx_str_t  *name;

    static const char  format[] =
        "%V=%V; Path=/; Max-Age=%T; HttpOnly; SameSite=Lax%s";

    name = session_name(r, login, which);

    text.data = ngx_pnalloc(r->pool, sizeof(format) + name->len + value->len
                                     + NGX_TIME_T_LEN + sizeof("; Secure"));
    if (text.data == NULL) {
        return NGX_ERROR;
    }

    text.len = ngx_sprintf(text.data, format, name, value, lives,
                           session_is_secure(r, login) ? "; Secure" : "")
               - text.data;

    return ngx_http_guildlog_response_header_add(r->main, "Set-Cookie", &text)
           ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_http_guildlog_session_origin(ngx_http_request_t *r,
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

    origin->data = ngx_pnalloc(r->pool, sizeof("https://") + host.len);
    if (origin->data == NULL) {
        return NGX_ERROR;
    }

    origin->len = ngx_sprintf(origin->data, "%s://%V",
                              session_is_secure(r, login) ? "https" : "http",
                              &host)
                  - origin->data;

    return NGX_OK;
}


/* a browser leaves "Origin" out where a page of ours reads */

ngx_int_t
ngx_http_guildlog_session_is_foreign(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login)
{
    ngx_str_t         own;
    ngx_table_elt_t  *h;

    static const ngx_str_t  header = ngx_string("Origin");

    h = session_header(r, &header, NULL);
    if (h == NULL) {
        return 0;
    }

    if (ngx_http_guildlog_session_origin(r, login, &own) != NGX_OK) {
        return NGX_ERROR;
    }

    return h->value.len != own.len
           || ngx_strncasecmp(h->value.data, own.data, own.len) != 0
           || session_header(r, &header, h) != NULL;
}


static ngx_int_t
session_take(ngx_http_request_t *r, ngx_http_guildlog_ctx_t *ctx,
    const ngx_str_t *cookie)
{
    ngx_int_t                     rc;
    ngx_guildlog_token_t         *token;
    ngx_guildlog_login_person_t  *person;

    person = ngx_palloc(r->main->pool, sizeof(ngx_guildlog_login_person_t));
    if (person == NULL) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_session_open(r->main, session_login(r), cookie,
                                        person);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc != NGX_OK) {
        ctx->cause = NGX_GUILDLOG_AUTH_SIGNATURE;
        return NGX_OK;
    }

    token = &ctx->token;
    ngx_memzero(token, sizeof(ngx_guildlog_token_t));

    token->jti = person->user;
    token->kind = NGX_GUILDLOG_ADMIN;

    /* what lasts longer than a request has to ask anew */

    token->exp = ngx_min(person->expires,
                         person->asked + NGX_GUILDLOG_LOGIN_FRESH);

    ctx->person = person;
    ctx->cause = NGX_GUILDLOG_AUTH_OK;
    ctx->authenticated = 1;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_session_open(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person)
{
    ngx_int_t  rc;

    rc = ngx_guildlog_login_cookie_open(r->pool, &login->keys, cookie, person);

    if (rc != NGX_OK) {
        return rc;
    }

    if (person->asked > ngx_time() + SESSION_AHEAD) {
        person->asked = 0;
    }

    return person->expires <= ngx_time() ? NGX_DECLINED : NGX_OK;
}


ngx_int_t
ngx_http_guildlog_session_renew(ngx_http_guildlog_call_t *call,
    void (*resume)(ngx_http_guildlog_call_t *call, ngx_int_t rc))
{
    ngx_str_t                     cookie;
    ngx_uint_t                    status;
    session_wait_t               *wait;
    ngx_http_request_t           *r;
    ngx_guildlog_login_person_t  *person;

    r = call->request;
    person = call->ctx->person;

    if (person == NULL
        || ngx_time() < person->asked + NGX_GUILDLOG_LOGIN_FRESH)
    {
        return NGX_OK;
    }

    status = ngx_http_guildlog_visit_kept(person, &cookie);

    if (status) {
        return session_replace(call, status, &cookie);
    }

    wait = ngx_pcalloc(r->pool, sizeof(session_wait_t));
    if (wait == NULL) {
        return NGX_ERROR;
    }

    wait->call = call;
    wait->resume = resume;
    wait->visitor.handler = session_renewed;
    wait->visitor.data = wait;

    if (ngx_http_guildlog_visit_renew(r, session_login(r), person,
                                      &wait->visitor)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    r->main->count++;

    return NGX_AGAIN;
}


static void
session_renewed(void *data, ngx_uint_t status, const ngx_str_t *cookie)
{
    session_wait_t *wait = data;

    ngx_http_request_t  *r;

    r = wait->call->request;

    ngx_http_set_log_request(r->connection->log, r);

    wait->resume(wait->call, session_replace(wait->call, status, cookie));
}


/* the request goes on with the new cookie, and the browser gets it */

static ngx_int_t
session_replace(ngx_http_guildlog_call_t *call, ngx_uint_t status,
    const ngx_str_t *cookie)
{
    ngx_int_t                 rc;
    ngx_str_t                 value;
    ngx_http_request_t       *r;
    ngx_http_guildlog_ctx_t  *ctx;

    static const ngx_str_t  failed =
        ngx_string("the chat platform does not tell who may do this, "
                   "try again later");

    r = call->request;
    ctx = call->ctx;

    if (status == NGX_HTTP_OK) {
        value.len = cookie->len;
        value.data = ngx_pstrdup(r->main->pool, (ngx_str_t *) cookie);

        if (value.data == NULL) {
            return NGX_ERROR;
        }

        rc = session_take(r, ctx, &value);

        if (rc != NGX_OK || ctx->cause == NGX_GUILDLOG_AUTH_OK) {
            return rc == NGX_OK
                   ? ngx_http_guildlog_session_set(r, session_login(r),
                                              NGX_HTTP_GUILDLOG_SESSION_COOKIE,
                                              &value,
                                              ctx->person->expires - ngx_time())
                   : rc;
        }
    }

    if (status == NGX_HTTP_SERVICE_UNAVAILABLE) {
        if (ngx_http_guildlog_response_header_number(r, "Retry-After", 5)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        return ngx_http_guildlog_call_refuse(call, status, &failed);
    }

    ctx->cause = NGX_GUILDLOG_AUTH_REVOKED;

    if (ngx_http_guildlog_response_challenge(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_UNAUTHORIZED, NULL);
}
