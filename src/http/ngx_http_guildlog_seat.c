
/*
 * A stream or an export takes a seat of its token until the request ends.
 */

#include "http/ngx_http_guildlog_request.h"
#include "http/ngx_http_guildlog_response.h"


/* s; when a seat will be free is not known */
#define SEAT_RETRY  10


typedef struct {
    ngx_uint_t                     most;     /* a token */
    ngx_str_t                      error;
} seat_rule_t;


static void seat_cleanup(void *data);


/* in the order of ngx_guildlog_seat_e */

static const seat_rule_t  seat_rules[] = {
    { 20, ngx_string("a token has at most 20 streams open") },
    { 4, ngx_string("a token has at most 4 exports open") }
};


ngx_int_t
ngx_http_guildlog_seat(ngx_http_guildlog_call_t *call)
{
    ngx_int_t            rc;
    const seat_rule_t   *seats;
    ngx_http_cleanup_t  *cln;
    ngx_guildlog_seat_e  kind;

    /* there is no token on the operator plane */

    if (call->route->plane == NGX_GUILDLOG_OPERATOR
        || (call->route->kind != NGX_GUILDLOG_STREAM
            && call->route->kind != NGX_GUILDLOG_EXPORT))
    {
        return NGX_OK;
    }

    kind = call->route->kind == NGX_GUILDLOG_STREAM ? NGX_GUILDLOG_SEAT_STREAM
                                                    : NGX_GUILDLOG_SEAT_EXPORT;

    cln = ngx_http_cleanup_add(call->request, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    seats = &seat_rules[kind];

    rc = ngx_guildlog_seats_take(ngx_http_guildlog_worker.seats,
                                 &call->ctx->token.jti, kind, seats->most,
                                 &call->seat);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "guildlog seat of kind %ui: %i", (ngx_uint_t) kind, rc);

    if (rc == NGX_OK) {
        if (call->seat) {
            cln->handler = seat_cleanup;
            cln->data = call;
        }

        return NGX_OK;
    }

    if (ngx_http_guildlog_response_header_number(call->request, "Retry-After",
                                                 SEAT_RETRY)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_refuse(call, NGX_HTTP_TOO_MANY_REQUESTS,
                                         &seats->error);
}


static void
seat_cleanup(void *data)
{
    ngx_http_guildlog_call_t *call = data;

    ngx_guildlog_seats_give_back(ngx_http_guildlog_worker.seats, call->seat);
}
