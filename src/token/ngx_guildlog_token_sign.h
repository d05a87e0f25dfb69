
/*
 * Signatures by OpenSSL, as RFC 7518 and RFC 8037 have them.
 */

#ifndef _NGX_GUILDLOG_TOKEN_SIGN_H_INCLUDED_
#define _NGX_GUILDLOG_TOKEN_SIGN_H_INCLUDED_


#include "token/ngx_guildlog_token_keys.h"


/* with key->material; NGX_DECLINED: another signature, NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_token_sign_verify(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, const ngx_str_t *signature);


#endif /* _NGX_GUILDLOG_TOKEN_SIGN_H_INCLUDED_ */
