
/*
 * Tokens: strict checks around the signature, and a worker's cache of those
 * found good.
 */

#ifndef _NGX_GUILDLOG_TOKEN_VERIFY_H_INCLUDED_
#define _NGX_GUILDLOG_TOKEN_VERIFY_H_INCLUDED_


#include "base/ngx_guildlog_cache.h"
#include "token/ngx_guildlog_token_keys.h"
#include "shm/ngx_guildlog_stats.h"


#define NGX_GUILDLOG_TOKEN_JTI_MAX  64

/* the names of NGX_GUILDLOG_ADMIN to NGX_GUILDLOG_READ, in the claim "kind" */
extern const ngx_str_t  ngx_guildlog_token_kinds[];


typedef struct {
    u_char                         jti_data[NGX_GUILDLOG_TOKEN_JTI_MAX];
    u_char                         guild_data[20];
    ngx_str_t                      jti;      /* points into jti_data */
    ngx_str_t                      guild;    /* 17 to 20 digits, <= 2^63-1 */
    ngx_uint_t                     bot;
    ngx_uint_t                     kind;
    time_t                         iat;
    time_t                         nbf;      /* of one that was verified */
    time_t                         exp;
} ngx_guildlog_token_t;


/*
 * Judges a token as sent behind "Bearer ".  NGX_GUILDLOG_AUTH_OK fills
 * *token; anything else is the cause, *token is undefined.  The keys may be
 * NULL.  NGX_GUILDLOG_AUTH_UNVERIFIED says nothing of the token: memory was
 * short.
 *
 * The cache, which may be NULL, has what is good, so that nobody without a key
 * of ours pushes anything out of it.  Each of them costs 1, and takes less than
 * 1 KB.  Its key is the set of keys, the issuer and a digest of the token.
 */
ngx_guildlog_auth_e ngx_guildlog_token_verify(ngx_guildlog_cache_t *cache,
    const ngx_guildlog_token_keys_t *keys, const ngx_str_t *issuer,
    const ngx_str_t *text, time_t now, ngx_guildlog_token_t *token,
    ngx_log_t *log);

/* the key that signs new tokens, NULL: there is none */
const ngx_guildlog_token_key_t *ngx_guildlog_token_sign_key(
    const ngx_guildlog_token_keys_t *keys);

/* signs with that key; NGX_DECLINED if there is none */
ngx_int_t ngx_guildlog_token_sign(const ngx_guildlog_token_keys_t *keys,
    const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *text);

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


/* a signature by OpenSSL, as RFC 7518 and RFC 8037 have it */

/* with key->material; NGX_DECLINED: another signature, NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_token_sign_verify(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, const ngx_str_t *signature);


#endif /* _NGX_GUILDLOG_TOKEN_VERIFY_H_INCLUDED_ */
