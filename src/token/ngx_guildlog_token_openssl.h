
/*
 * Signatures by OpenSSL, as RFC 7518 and RFC 8037 have them.
 */

#ifndef _NGX_GUILDLOG_TOKEN_OPENSSL_H_INCLUDED_
#define _NGX_GUILDLOG_TOKEN_OPENSSL_H_INCLUDED_


#include "token/ngx_guildlog_token_keys.h"


/* with key->signing; NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_token_openssl_sign(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, ngx_pool_t *pool, ngx_str_t *signature);

/* with key->material; NGX_DECLINED: another signature, NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_token_openssl_verify(
    const ngx_guildlog_token_key_t *key, const ngx_str_t *input,
    const ngx_str_t *signature);


#endif /* _NGX_GUILDLOG_TOKEN_OPENSSL_H_INCLUDED_ */
