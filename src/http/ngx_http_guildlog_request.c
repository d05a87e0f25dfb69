
/*
 * The life of a request at a plane of ours, top-down: admit, match, permit,
 * bind, read the body, submit; then the endpoint takes the results.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


static void request_cleanup(void *data);
static ngx_int_t request_admit(ngx_http_guildlog_call_t *call);
static ngx_int_t request_refuse_unread(ngx_http_guildlog_call_t *call);
static ngx_int_t request_match(ngx_http_guildlog_call_t *call);
static ngx_uint_t request_is_ambiguous(ngx_http_request_t *r, ngx_str_t *sent);
static ngx_int_t request_method_not_allowed(ngx_http_guildlog_call_t *call,
    ngx_uint_t methods);
static ngx_int_t request_permit(ngx_http_guildlog_call_t *call);
static ngx_int_t request_bind(ngx_http_guildlog_call_t *call);
static ngx_int_t request_skip(ngx_http_guildlog_call_t *call);
static ngx_int_t request_bind_body(ngx_http_guildlog_call_t *call);
static ngx_int_t request_submit(ngx_http_guildlog_call_t *call);
static void call_ctx_cleanup(void *data);
static void call_slice(ngx_event_t *ev);
static ngx_guildlog_db_pool_t *call_pool(ngx_http_guildlog_call_t *call);
static void call_done(void *data, ngx_guildlog_db_result_t *result);
static ngx_int_t body_read(ngx_http_guildlog_call_t *call);
static ngx_uint_t body_is_type(ngx_http_request_t *r,
    const ngx_str_t *expected);
static ngx_int_t body_refuse_size(ngx_http_guildlog_call_t *call);
static void body_read_handler(ngx_http_request_t *r);
static ngx_int_t body_read_more(ngx_http_guildlog_call_t *call);
static ngx_int_t body_take(ngx_http_guildlog_call_t *call);


/* of a session: the platform has to be asked first, see session.sql */
#define CALL_ASK_ANEW  "GL419"


_Static_assert(NGX_GUILDLOG_GET == NGX_HTTP_GET
               && NGX_GUILDLOG_HEAD == NGX_HTTP_HEAD
               && NGX_GUILDLOG_POST == NGX_HTTP_POST
               && NGX_GUILDLOG_PUT == NGX_HTTP_PUT
               && NGX_GUILDLOG_DELETE == NGX_HTTP_DELETE
               && NGX_GUILDLOG_PATCH == NGX_HTTP_PATCH,
               "the table of endpoints has nginx's bits for the methods");


static const ngx_str_t  body_json = ngx_string("application/json");
static const ngx_str_t  body_ndjson = ngx_string("application/x-ndjson");


/* those of this worker */
static ngx_queue_t  request_all = { &request_all, &request_all };


/* in the order of ngx_guildlog_route_kind_e */

static const ngx_http_guildlog_endpoint_t  request_endpoints[] = {
    { request_bind_body, request_submit, ngx_http_guildlog_response_result },
    { NULL, ngx_http_guildlog_large_start, NULL },
    { request_bind_body, ngx_http_guildlog_token_start, NULL },
    { NULL, request_submit, ngx_http_guildlog_types_answer },
    { NULL, request_submit, ngx_http_guildlog_entry_answer },
    { NULL, ngx_http_guildlog_histogram_start, NULL },
    { NULL, ngx_http_guildlog_page_start, NULL },
    { NULL, ngx_http_guildlog_export_start, NULL },
    { NULL, ngx_http_guildlog_stream_start, NULL },
    { NULL, ngx_http_guildlog_troubleshoot_start, NULL },
    { request_bind_body, ngx_http_guildlog_trouble_test_start, NULL },
    { ngx_http_guildlog_preview_bound, request_submit,
      ngx_http_guildlog_preview_answer },
    { ngx_http_guildlog_record_bound, request_submit,
      ngx_http_guildlog_record_answer },
    { ngx_http_guildlog_events_bound, NULL, NULL }
};


/*
 * The planes.  A step returns NGX_OK to go on, NGX_DONE where it has
 * answered, NGX_AGAIN where the answer comes later (and holds a reference to
 * the request), or what finalizes the request.
 */

ngx_int_t
ngx_http_guildlog_request_handler(ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_http_guildlog_ctx_t   *ctx;
    ngx_http_guildlog_call_t  *call;

    call = ngx_pcalloc(r->pool, sizeof(ngx_http_guildlog_call_t));
    ctx = ngx_http_guildlog_call_ctx(r, 1);

    if (call == NULL || ctx == NULL
        || ngx_http_guildlog_call_at_end(r, request_cleanup, call) != NGX_OK)
    {
        return ngx_http_guildlog_response_final(r, NGX_ERROR);
    }

    call->request = r;
    call->conf = ngx_http_get_module_loc_conf(r, ngx_http_guildlog_module);
    call->ctx = ctx;
    ctx->served = 1;

    ngx_queue_insert_tail(&request_all, &call->queue);

    rc = request_admit(call);

    if (rc == NGX_OK) {
        rc = request_match(call);
    }

    if (rc == NGX_OK) {
        rc = request_permit(call);
    }

    if (rc == NGX_OK) {
        rc = request_bind(call);
    }

    if (rc == NGX_OK) {
        rc = call->route->body ? body_read(call) : request_skip(call);
    }

    if (rc == NGX_AGAIN) {
        return NGX_DONE;
    }

    return ngx_http_guildlog_response_final(r, rc);
}


static void
request_cleanup(void *data)
{
    ngx_http_guildlog_call_t *call = data;

    ngx_queue_remove(&call->queue);

    ngx_guildlog_event_stop(&call->slice);

    ngx_guildlog_db_pool_detach(call->query);
    call->query = NULL;
}


/*
 * Race: each end may end others, or begin one.  What has begun to answer is
 * left to nginx, which cuts it.
 */

void
ngx_http_guildlog_request_expire(void)
{
    ngx_int_t                  rc;
    ngx_queue_t               *q;
    ngx_http_request_t        *r;
    ngx_http_guildlog_call_t  *call;

    static const ngx_str_t  ended =
        ngx_string("this took longer than a worker that exits may wait, "
                   "try again");

    while (!ngx_queue_empty(&request_all)) {
        q = ngx_queue_head(&request_all);
        ngx_queue_remove(q);
        ngx_queue_init(q);

        call = ngx_queue_data(q, ngx_http_guildlog_call_t, queue);
        r = call->request;

        ngx_http_set_log_request(r->connection->log, r);

        if (r->header_sent) {
            if (call->parts) {
                (void) ngx_http_guildlog_parts_abort(call,
                                            "worker_shutdown_timeout is over");
            }

            continue;
        }

        rc = ngx_http_guildlog_response_header(r, "Retry-After", "1");

        if (rc == NGX_OK) {
            rc = ngx_http_guildlog_call_refuse(call,
                                               NGX_HTTP_SERVICE_UNAVAILABLE,
                                               &ended);
        }

        ngx_http_guildlog_call_finish(r, rc);
    }
}


/* verifies the token, or the cookie, and charges the rate limit */

static ngx_int_t
request_admit(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                 rc;
    ngx_http_request_t       *r;
    ngx_http_guildlog_ctx_t  *ctx;

    r = call->request;
    ctx = call->ctx;

    if (call->conf->plane == NGX_GUILDLOG_OPERATOR) {
        return NGX_OK;
    }

    rc = ngx_http_guildlog_access_authenticate(r, ctx, call->conf);

    if (rc == NGX_OK) {
        rc = ngx_http_guildlog_session_authenticate(r, ctx);
    }

    ngx_http_guildlog_access_count(ctx);

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_limit_charge(r, ctx, call->conf);

    if (rc == NGX_BUSY) {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_TOO_MANY_REQUESTS,
                                             NULL);
    }

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (ctx->authenticated) {
        return NGX_OK;
    }

    /* nginx has not read all headers: the token may be in the rest */

    if (r->http_state == NGX_HTTP_READING_REQUEST_STATE
        && r->headers_in.authorization == NULL)
    {
        return request_refuse_unread(call);
    }

    if (ngx_http_guildlog_response_challenge(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_UNAUTHORIZED, NULL);
}


/*
 * With "error_page 400 /api/" a request comes here that nginx has refused.
 * With "error_page 400 = /api/" nginx does not tell the status.
 */

static ngx_int_t
request_refuse_unread(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t  status;

    status = ngx_max(call->request->err_status, NGX_HTTP_BAD_REQUEST);

    return ngx_http_guildlog_call_refuse(call, status, NULL);
}


static ngx_int_t
request_match(ngx_http_guildlog_call_t *call)
{
    u_char              *p;
    ngx_str_t            sent, path;
    ngx_uint_t           method, methods;
    ngx_http_request_t  *r;

    r = call->request;

    sent = r->unparsed_uri;
    p = ngx_strlchr(sent.data, sent.data + sent.len, '?');

    if (p) {
        sent.len = p - sent.data;
    }

    path = r->uri;
    method = r->method;

    switch (r->err_status) {

    case 0:
        if (r->error_page && path.len <= call->conf->prefix.len + 1) {
            return request_refuse_unread(call);
        }

        break;

    case NGX_HTTP_NOT_ALLOWED: /* TRACE; nginx replaced path and method */
        path = sent;
        method = 0;
        break;

    default:
        return request_refuse_unread(call);
    }

    if (path.len < call->conf->prefix.len
        || ngx_strncmp(path.data, call->conf->prefix.data,
                       call->conf->prefix.len)
           != 0)
    {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_NOT_FOUND, NULL);
    }

    path.data += call->conf->prefix.len;
    path.len -= call->conf->prefix.len;

    if (request_is_ambiguous(r, &sent)) {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_NOT_FOUND, NULL);
    }

    call->route = ngx_guildlog_route_match(call->conf->plane, method, &path,
                                           &call->guild, call->pieces,
                                           &methods);
    call->ctx->route = call->route;

    if (call->route) {
        call->endpoint = &request_endpoints[call->route->kind];

        if (call->conf->reads
            && (call->route->flags & NGX_GUILDLOG_ROUTE_STANDBY))
        {
            call->standby = ngx_http_guildlog_worker.pools[
                                                   call->conf->reads->index];
        }

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "guildlog endpoint \"%s\", server \"%V\"",
                       call->route->name, &call->guild);
        return NGX_OK;
    }

    if (methods) {
        return request_method_not_allowed(call, methods);
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_NOT_FOUND, NULL);
}


/*
 * r->uri is decoded, its slashes are merged, and "." and ".." are resolved, so
 * it no longer shows a slash within a piece, or a piece that was left out.
 * What was sent does: it has another number of slashes.  Unless it is the path
 * of another request: after an internal redirect, and in a subrequest.
 */

static ngx_uint_t
request_is_ambiguous(ngx_http_request_t *r, ngx_str_t *sent)
{
    size_t     i;
    ngx_int_t  n;

    if (r->quoted_uri
        && ngx_strlcasestrn(sent->data, sent->data + sent->len,
                            (u_char *) "%2f", 3 - 1))
    {
        return 1;
    }

    if (r != r->main || r->internal) {
        return 0;
    }

    n = 0;

    for (i = 0; i < sent->len; i++) {
        n += (sent->data[i] == '/');
    }

    for (i = 0; i < r->uri.len; i++) {
        n -= (r->uri.data[i] == '/');
    }

    return n != 0;
}


static ngx_int_t
request_method_not_allowed(ngx_http_guildlog_call_t *call, ngx_uint_t methods)
{
    u_char      allow[sizeof("GET, HEAD, POST, PUT, PATCH, DELETE")], *p;
    ngx_uint_t  i;

    static const struct {
        ngx_uint_t   bit;
        const char  *name;
    } names[] = {
        { NGX_HTTP_GET, "GET" },
        { NGX_HTTP_HEAD, "HEAD" },
        { NGX_HTTP_POST, "POST" },
        { NGX_HTTP_PUT, "PUT" },
        { NGX_HTTP_PATCH, "PATCH" },
        { NGX_HTTP_DELETE, "DELETE" }
    };

    p = allow;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (methods & names[i].bit) {
            p = ngx_sprintf(p, "%s%s", p == allow ? "" : ", ", names[i].name);
        }
    }

    if (ngx_http_guildlog_response_header(call->request, "Allow", "%*s",
                                          (size_t) (p - allow), allow)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_NOT_ALLOWED, NULL);
}


static ngx_int_t
request_permit(ngx_http_guildlog_call_t *call)
{
    ngx_http_guildlog_ctx_t  *ctx;

    static const ngx_str_t  bad_guild =
        ngx_string("guild_id: must be 17 to 20 digits, "
                   "at most 9223372036854775807");

    ctx = call->ctx;

    if (call->guild.len
        && ngx_guildlog_value_id(call->guild.data, call->guild.len,
                                 NGX_GUILDLOG_VALUE_GUILD)
           != NGX_OK)
    {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST,
                                             &bad_guild);
    }

    if (call->conf->plane == NGX_GUILDLOG_OPERATOR) {
        return NGX_OK;
    }

    /* what a person may do there, the database knows: see request_bind() */

    if (ctx->person) {
        if (call->guild.data == NULL) {
            ngx_str_set(&call->guild, "0");
        }

        ctx->token.guild = call->guild;

        return NGX_OK;
    }

    /* a path without a guild is for the token's */

    if (call->guild.data == NULL) {
        call->guild = ctx->token.guild;
    }

    if (!ngx_guildlog_str_eq(&call->guild, &ctx->token.guild)
        || !ngx_guildlog_is_for(call->route->kinds, ctx->token.kind)
        || (call->route->flags & NGX_GUILDLOG_ROUTE_COOKIE))
    {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_FORBIDDEN, NULL);
    }

    return NGX_OK;
}


/*
 * The arguments, in the order of every function: the token, the guild, the
 * bot and the kind (the guild alone for an operator), pieces of the path,
 * parameters; the body comes last.
 */

static ngx_int_t
request_bind(ngx_http_guildlog_call_t *call)
{
    ngx_int_t                     rc;
    ngx_str_t                     error, bot;
    ngx_uint_t                    i;
    ngx_http_request_t           *r;
    const ngx_guildlog_field_t   *f;
    const ngx_guildlog_route_t   *route;

    r = call->request;
    route = call->route;

    rc = ngx_guildlog_args_query(r->pool, ngx_guildlog_route_bot, &r->args,
                                 &bot, &error);

    if (rc == NGX_OK && route->plane == NGX_GUILDLOG_API) {
        call->args[call->nargs++] = call->ctx->token.jti;
        call->args[call->nargs++] = call->guild;

        if (ngx_http_guildlog_call_bot(call, bot.data != NULL) != NGX_OK) {
            return NGX_ERROR;
        }

        call->nargs++;
        call->args[call->nargs].data =
                                  (u_char *) &"0123"[call->ctx->token.kind];
        call->args[call->nargs++].len = 1;

    } else if (rc == NGX_OK) {
        if (call->guild.len) {
            call->args[call->nargs++] = call->guild;
        }

        if ((route->kind == NGX_GUILDLOG_RECORD && call->guild.len)
            || route->kind == NGX_GUILDLOG_EVENTS)
        {
            call->args[call->nargs].data = (u_char *) (bot.data ? "1" : "0");
            call->args[call->nargs++].len = 1;
        }
    }

    if (rc == NGX_OK) {
        for (i = 0; i < NGX_GUILDLOG_PIECES_MAX; i++) {
            if (call->pieces[i].data) {
                call->args[call->nargs++] = call->pieces[i];
            }
        }

        rc = ngx_guildlog_args_query(r->pool, route->query, &r->args,
                                     &call->args[call->nargs], &error);
    }

    if (rc != NGX_OK) {
        return ngx_http_guildlog_call_invalid(call, rc, &error);
    }

    for (f = route->query; f->name.len; f++) {
        call->nargs++;
    }

    ngx_guildlog_assert(call->nargs <= NGX_GUILDLOG_ARGS_MAX);

    return NGX_OK;
}


/* a session stands where the id of a token does */

ngx_int_t
ngx_http_guildlog_call_bot(ngx_http_guildlog_call_t *call, ngx_uint_t pro)
{
    char  rights[3];

    ngx_str_set(&call->args[NGX_HTTP_GUILDLOG_CALL_BOT], "0");

    if (pro) {
        ngx_str_set(&call->args[NGX_HTTP_GUILDLOG_CALL_BOT], "1");
    }

    if (call->ctx->person == NULL) {
        return NGX_OK;
    }

    rights[0] = (call->route->method & NGX_GUILDLOG_GET) ? 'r' : 'w';
    rights[1] = pro ? '1' : '0';
    rights[2] = '\0';

    return ngx_guildlog_login_flow_session(call->request->pool,
                                           call->ctx->person, rights,
                                           &call->args[0]);
}


/* the endpoint takes no body: one that comes is discarded */

static ngx_int_t
request_skip(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    /* streams and answers in parts write to the connection themselves */

    if (r != r->main && call->route->kind > NGX_GUILDLOG_PAGE) {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_NOT_FOUND, NULL);
    }

    rc = ngx_http_discard_request_body(r);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        r->keepalive = 0;
        return ngx_http_guildlog_call_refuse(call, rc, NULL);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_http_guildlog_seat(call);

    if (rc != NGX_OK) {
        return rc;
    }

    rc = call->endpoint->start(call);

    if (rc == NGX_AGAIN) {
        r->main->count++;
    }

    return rc;
}


/*
 * The body, an object or an array of objects, is the last argument but for the
 * plan.
 */

static ngx_int_t
request_bind_body(ngx_http_guildlog_call_t *call)
{
    json_t     *json;
    ngx_int_t   rc;
    ngx_str_t   error;

    static const ngx_str_t  missing =
        ngx_string("body: must be a JSON object");

    if (call->body.len == 0
        && (call->route->flags & NGX_GUILDLOG_ROUTE_BODILESS))
    {
        ngx_str_set(&call->body, "{}");
    }

    if (call->body.len == 0) {
        return ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST,
                                             &missing);
    }

    rc = ngx_guildlog_route_match_body(call->request->pool, call->route,
                                       &call->body, &json, &error);

    if (rc == NGX_OK && (call->route->flags & NGX_GUILDLOG_ROUTE_CHANGES)) {
        rc = ngx_guildlog_route_match_changes(call->request->pool, json,
                                              &call->args[call->nargs++],
                                              &error);
    }

    if (rc != NGX_OK) {
        return ngx_http_guildlog_call_invalid(call, rc, &error);
    }

    ngx_guildlog_assert(call->nargs < NGX_GUILDLOG_ARGS_MAX);

    call->args[call->nargs++] = call->body;

    if (call->route->flags & NGX_GUILDLOG_ROUTE_PLAN) {
        call->args[call->nargs++] = call->conf->plan;
    }

    return call->endpoint->start(call);
}


ngx_int_t
ngx_http_guildlog_call_yield(ngx_http_guildlog_call_t *call,
    ngx_http_guildlog_slice_pt sliced)
{
    ngx_http_request_t  *r;

    call->sliced = sliced;

    if (call->slice.handler == NULL) {
        r = call->request;

        call->fd = r->connection->fd;

        ngx_guildlog_event_init(&call->slice, call_slice, call,
                                r->connection->log);

        r->read_event_handler = ngx_http_test_reading;
    }

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog: the request gives way");

    ngx_guildlog_event_next(&call->slice);

    return NGX_AGAIN;
}


static void
call_slice(ngx_event_t *ev)
{
    ngx_http_guildlog_call_t *call = ev->data;

    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_guildlog_event_stop(ev);
    ngx_http_set_log_request(r->connection->log, r);

    rc = call->sliced(call);

    ngx_http_guildlog_call_finish(r, rc);
}


static ngx_int_t
request_submit(ngx_http_guildlog_call_t *call)
{
    return ngx_http_guildlog_call_ask(call, call->route->stmt,
                                      call->endpoint->answer);
}


ngx_int_t
ngx_http_guildlog_request_log_handler(ngx_http_request_t *r)
{
    ngx_uint_t                route;
    ngx_http_guildlog_ctx_t  *ctx;

    ctx = ngx_http_guildlog_call_ctx(r, 0);

    if (ctx == NULL || !ctx->served) {
        return NGX_OK;
    }

    route = ctx->route ? (ngx_uint_t) (ctx->route - ngx_guildlog_routes)
                       : ngx_guildlog_nroutes;

    ngx_guildlog_stats_request(&ngx_http_guildlog_worker.stats, route,
                               r->err_status ? r->err_status
                                             : r->headers_out.status,
                               ngx_guildlog_clock_us() - ctx->start_us);

    return NGX_OK;
}


ngx_table_elt_t *
ngx_http_guildlog_call_header(ngx_http_request_t *r, const char *name,
    const ngx_table_elt_t *after)
{
    size_t            len;
    ngx_uint_t        i;
    ngx_table_elt_t  *h;
    ngx_list_part_t  *part;

    len = ngx_strlen(name);

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (after) {
                after = after == &h[i] ? NULL : after;
                continue;
            }

            if (h[i].key.len == len
                && ngx_strncasecmp(h[i].key.data, (u_char *) name, len) == 0)
            {
                return &h[i];
            }
        }
    }

    return NULL;
}


/*
 * A request at a plane of ours, from the statement to the end.  Every endpoint
 * uses this; nothing here knows a certain endpoint.
 */

/* the context outlives internal redirects, which wipe r->ctx */

ngx_http_guildlog_ctx_t *
ngx_http_guildlog_call_ctx(ngx_http_request_t *r, ngx_uint_t create)
{
    ngx_pool_cleanup_t       *cln;
    ngx_http_guildlog_ctx_t  *ctx;

    r = r->main;

    ctx = ngx_http_get_module_ctx(r, ngx_http_guildlog_module);

    if (ctx) {
        return ctx;
    }

    if (r->internal || r->filter_finalize) {
        for (cln = r->pool->cleanup; cln; cln = cln->next) {
            if (cln->handler == call_ctx_cleanup) {
                ngx_http_set_ctx(r, cln->data, ngx_http_guildlog_module);
                return cln->data;
            }
        }
    }

    if (!create) {
        return NULL;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_guildlog_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_http_guildlog_ctx_t));

    cln->handler = call_ctx_cleanup;
    ctx->start_us = ngx_guildlog_clock_us();

    ngx_http_set_ctx(r, ctx, ngx_http_guildlog_module);

    return ctx;
}


static void
call_ctx_cleanup(void *data)
{
    /* void: call_ctx() finds the context by this handler */
}


ngx_int_t
ngx_http_guildlog_call_ask(ngx_http_guildlog_call_t *call,
    const ngx_guildlog_stmt_t *stmt, ngx_http_guildlog_result_pt handler)
{
    ngx_http_request_t  *r;

    r = call->request;

    ngx_guildlog_assert(call->query == NULL);

    if (call->nargs != stmt->nargs) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                      "\"%s\" takes %ui arguments, the route has %ui",
                      stmt->name, stmt->nargs, call->nargs);
        return NGX_ERROR;
    }

    if (ngx_http_guildlog_call_watch(r) != NGX_OK) {
        return NGX_ERROR;
    }

    call->query = ngx_guildlog_db_pool_submit(call_pool(call), stmt,
                                              call->args, call_done, call);

    if (call->query == NULL) {
        return NGX_ERROR;
    }

    call->handler = handler;
    call->ctx->statement = stmt->name;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog submits \"%s\"", stmt->name);

    return NGX_AGAIN;
}


/*
 * A request that left the standby does not come back to it: what it asks next
 * must not be older than what it was told.
 */

static ngx_guildlog_db_pool_t *
call_pool(ngx_http_guildlog_call_t *call)
{
    ngx_msec_int_t  lag;

    if (call->standby) {
        lag = ngx_guildlog_db_standby_lag(call->standby);

        if (lag != NGX_ERROR && (ngx_msec_t) lag <= call->conf->max_lag) {
            call->ctx->lag = lag;
            return call->standby;
        }

        call->standby = NULL;

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_STANDBY_BEHIND, 1);
    }

    return ngx_http_guildlog_worker.pools[call->conf->database->index];
}


ngx_int_t
ngx_http_guildlog_call_primary(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog asks the primary once more");

    ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                             NGX_GUILDLOG_COUNT_STANDBY_AGAIN, 1);

    /* what was said is not used */

    if (result->outcome == NGX_GUILDLOG_DB_ROWS) {
        call->ctx->stale = 0;
    }

    call->standby = NULL;
    call->query = ngx_guildlog_db_pool_move(result, call_pool(call));

    return call->query ? NGX_AGAIN : NGX_ERROR;
}


ngx_int_t
ngx_http_guildlog_call_at_end(ngx_http_request_t *r,
    ngx_http_cleanup_pt handler, void *data)
{
    ngx_http_cleanup_t  *cln;

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = handler;
    cln->data = data;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_call_watch(ngx_http_request_t *r)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    /* a client that has gone already would cause no further event */

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);

    } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    r->read_event_handler = ngx_http_test_reading;

    return NGX_OK;
}


static void
call_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_http_guildlog_call_t *call = data;

    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog result: outcome %ui, %ui rows, %ui us",
                   (ngx_uint_t) result->outcome, result->rows,
                   result->time_us);

    call->query = NULL;
    call->ctx->db_us += result->time_us;
    call->ctx->asked = 1;

    /* the worker that delivers may have something to do */

    if (!(call->route->stmt->flags & NGX_GUILDLOG_STMT_READ)) {
        (void) ngx_atomic_fetch_add(
                         &ngx_http_guildlog_worker.stats.shared->changes, 1);
    }

    if (call->standby && result->outcome == NGX_GUILDLOG_DB_ROWS) {
        call->ctx->stale = 1;

        ngx_guildlog_stats_count(&ngx_http_guildlog_worker.stats,
                                 NGX_GUILDLOG_COUNT_STANDBY_READS, 1);
    }

    /* nobody has a share of the primary on top of that of the standby */

    if (call->standby && result->outcome != NGX_GUILDLOG_DB_ROWS
        && result->outcome != NGX_GUILDLOG_DB_SHARE_TAKEN)
    {
        rc = ngx_http_guildlog_call_primary(call, result);

    } else if (call->ctx->person
               && result->outcome == NGX_GUILDLOG_DB_REFUSED
               && ngx_strcmp(result->sqlstate, CALL_ASK_ANEW) == 0)
    {
        rc = ngx_http_guildlog_session_renew(call, result);

    } else {
        rc = call->handler(call, result);
    }

    ngx_http_guildlog_call_finish(r, rc);
}


void
ngx_http_guildlog_call_finish(ngx_http_request_t *r, ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "guildlog request ends with %i", rc);

    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, ngx_http_guildlog_response_final(r, rc));
    }

    ngx_http_run_posted_requests(c);
}


ngx_int_t
ngx_http_guildlog_call_refuse(ngx_http_guildlog_call_t *call, ngx_uint_t status,
    const ngx_str_t *error)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    static const ngx_str_t  malformed =
        ngx_string("malformed request, or a header is too large");

    r = call->request;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog refuses the request: %ui", status);

    /* nginx refused it: its head, or the chunks of its body */

    if (status == NGX_HTTP_BAD_REQUEST && error == NULL) {
        error = &malformed;
    }

    /*
     * A client that waits for "100 Continue" may send its body or not: the
     * next bytes could be a body or a request, so the connection is closed.
     */

    if (r->headers_in.expect && !r->expect_tested) {
        r->expect_tested = 1;
        r->keepalive = 0;
    }

    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }

    rc = ngx_http_guildlog_response_error(r, status, error);

    if (rc == NGX_ERROR || rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    return NGX_DONE;
}


ngx_int_t
ngx_http_guildlog_call_invalid(ngx_http_guildlog_call_t *call, ngx_int_t rc,
    const ngx_str_t *error)
{
    return rc == NGX_DECLINED
           ? ngx_http_guildlog_call_refuse(call, NGX_HTTP_BAD_REQUEST, error)
           : NGX_ERROR;
}


/*
 * Reading the body of a request, in pieces that are bounded here.
 */

/*
 * Reads the body, then calls the endpoint's bound().  NGX_AGAIN: this goes on
 * by itself, and holds a reference to the request; otherwise as a step of
 * request.c.
 */

static ngx_int_t
body_read(ngx_http_guildlog_call_t *call)
{
    off_t                n;
    ngx_int_t            rc;
    ngx_uint_t           lines;
    ngx_http_request_t  *r;

    static const ngx_str_t  other[] = {
        ngx_string("Content-Type: must be application/json"),
        ngx_string("Content-Type: must be application/json "
                   "or application/x-ndjson")
    };

    r = call->request;

    n = r->headers_in.content_length_n;
    lines = call->route->kind >= NGX_GUILDLOG_RECORD;

    if (n > (off_t) call->conf->max_body) {
        return body_refuse_size(call);
    }

    if ((n > 0 || r->headers_in.chunked)
        && !body_is_type(r, &body_json)
        && !(lines && body_is_type(r, &body_ndjson)))
    {
        return ngx_http_guildlog_call_refuse(call,
                                             NGX_HTTP_UNSUPPORTED_MEDIA_TYPE,
                                             &other[lines]);
    }

    call->body_size = n > 0 ? (size_t) n : 1024;
    call->body.data = ngx_pnalloc(r->pool, call->body_size);

    if (call->body.data == NULL) {
        return NGX_ERROR;
    }

    call->ctx->call = call;

    /*
     * nginx would compare the body with client_max_body_size instead of
     * guildlog_max_body, and could write it into a file.  Here the pieces are
     * taken as they come, and counted.
     */

    r->request_body_no_buffering = 1;

    rc = ngx_http_read_client_request_body(r, body_read_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        r->keepalive = 0;
        return ngx_http_guildlog_call_refuse(call, rc, NULL);
    }

    /* the query keeps the reference that was taken for the body */

    return NGX_AGAIN;
}


static ngx_uint_t
body_is_type(ngx_http_request_t *r, const ngx_str_t *expected)
{
    u_char     *p, *last;
    ngx_str_t  *type;

    if (r->headers_in.content_type == NULL) {
        return 0;
    }

    type = &r->headers_in.content_type->value;

    if (type->len < expected->len
        || ngx_strncasecmp(type->data, expected->data, expected->len) != 0)
    {
        return 0;
    }

    p = type->data + expected->len;
    last = type->data + type->len;

    while (p < last && (*p == ' ' || *p == '\t')) {
        p++;
    }

    return p == last || *p == ';';
}


static ngx_int_t
body_refuse_size(ngx_http_guildlog_call_t *call)
{
    u_char     text[128];
    ngx_str_t  error;

    error.data = text;
    error.len = ngx_sprintf(text, "body: must be at most %uz bytes long",
                            call->conf->max_body) - text;

    return ngx_http_guildlog_call_refuse(call,
                                         NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
                                         &error);
}


ngx_uint_t
ngx_http_guildlog_body_has_lines(ngx_http_guildlog_call_t *call)
{
    u_char  *p, *last;

    last = call->body.data + call->body.len;
    p = ngx_guildlog_json_scan_skip(call->body.data, last);

    return (p < last && *p == '{')
           || body_is_type(call->request, &body_ndjson);
}


static void
body_read_handler(ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_http_guildlog_call_t  *call;

    call = ngx_http_guildlog_call_ctx(r, 0)->call;

    rc = body_read_more(call);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "guildlog body: %uz bytes, %i", call->body.len, rc);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_OK) {
        rc = call->endpoint->bound(call);
    }

    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, ngx_http_guildlog_response_final(r, rc));
    }
}


static ngx_int_t
body_read_more(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    for ( ;; ) {

        rc = body_take(call);

        if (rc != NGX_OK) {
            return rc;
        }

        if (!r->reading_body) {
            return NGX_OK;
        }

        rc = ngx_http_read_unbuffered_request_body(r);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return ngx_http_guildlog_call_refuse(call, rc, NULL);
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_AGAIN && r->request_body->bufs == NULL) {
            r->read_event_handler = body_read_handler;
            return NGX_AGAIN;
        }
    }
}


/*
 * Copies the pieces that have come.  A body that another module has read
 * (before an internal redirect, for a mirror) may be in a file, and is left as
 * it is.  The buffers of a body that is read here go back to nginx.
 */

static ngx_int_t
body_take(ngx_http_guildlog_call_t *call)
{
    size_t               n, size;
    u_char              *p;
    ngx_buf_t           *b;
    ngx_chain_t         *cl;
    ngx_http_request_t  *r;

    r = call->request;

    if (r->request_body == NULL) {
        return NGX_OK;
    }

    for (cl = r->request_body->bufs; cl; cl = cl->next) {

        b = cl->buf;
        n = ngx_buf_size(b);

        if (n == 0) {
            continue;
        }

        if (call->body.len + n > call->conf->max_body) {
            return body_refuse_size(call);
        }

        if (call->body.len + n > call->body_size) {
            size = ngx_max(call->body_size * 2, call->body.len + n);

            p = ngx_pnalloc(r->pool, size);
            if (p == NULL) {
                return NGX_ERROR;
            }

            ngx_memcpy(p, call->body.data, call->body.len);
            ngx_pfree(r->pool, call->body.data);

            call->body.data = p;
            call->body_size = size;
        }

        p = call->body.data + call->body.len;

        if (ngx_buf_in_memory(b)) {
            ngx_memcpy(p, b->pos, n);

        } else if (ngx_read_file(b->file, p, n, b->file_pos) != (ssize_t) n) {
            return NGX_ERROR;
        }

        call->body.len += n;

        ngx_guildlog_assert(call->body.len <= call->body_size);

        if (r->request_body_no_buffering) {
            b->pos = b->last;
        }
    }

    if (r->request_body_no_buffering) {
        r->request_body->bufs = NULL;
    }

    return NGX_OK;
}
