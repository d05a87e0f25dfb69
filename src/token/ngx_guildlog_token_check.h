
/*
 * The signature of a token: by libjwt where it is there, else by OpenSSL.
 */

#ifndef _NGX_GUILDLOG_TOKEN_CHECK_H_INCLUDED_
#define _NGX_GUILDLOG_TOKEN_CHECK_H_INCLUDED_


#include "token/ngx_guildlog_token_keys.h"


/*
 * The text is of three pieces of base64url, none of which is empty, and has a
 * NUL behind it; its header names the algorithm of the key.  NGX_DECLINED: the
 * key did not sign it, NGX_ERROR: no memory.
 */
ngx_int_t ngx_guildlog_token_check(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text, ngx_pool_t *pool);

/* the same by OpenSSL, whatever else is there */
ngx_int_t ngx_guildlog_token_check_openssl(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text, ngx_pool_t *pool);


#endif /* _NGX_GUILDLOG_TOKEN_CHECK_H_INCLUDED_ */
