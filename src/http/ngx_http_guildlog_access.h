
/*
 * Who asks, and how often: guildlog_auth and guildlog_limit.
 */

#ifndef _NGX_HTTP_GUILDLOG_ACCESS_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_ACCESS_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"


ngx_int_t ngx_http_guildlog_access_handler(ngx_http_request_t *r);

/* the words for ngx_guildlog_auth_e */
extern const char *const  ngx_http_guildlog_access_causes[];

/*
 * Fills ctx->cause and, if it is OK, ctx->token; once by the same keys.
 * NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_access_authenticate(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);

/* counts the cause for the status page, once it is final; once */
void ngx_http_guildlog_access_count(ngx_http_guildlog_ctx_t *ctx);


/*
 * Charges the token, or the client's address where there is none, once a
 * request for the same limit, and sets the rate headers.  NGX_OK; NGX_BUSY:
 * over the limit, or over one before; NGX_ERROR if out of memory.
 */
ngx_int_t ngx_http_guildlog_limit_charge(ngx_http_request_t *r,
    ngx_http_guildlog_ctx_t *ctx, const ngx_http_guildlog_loc_conf_t *conf);


#endif /* _NGX_HTTP_GUILDLOG_ACCESS_H_INCLUDED_ */
