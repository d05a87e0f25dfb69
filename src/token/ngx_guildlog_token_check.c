
/*
 * The signature of a token.  libjwt 1 and 2 verify it.  libjwt 3 takes no PEM,
 * so there, and where there is no libjwt, OpenSSL does; and it always does for
 * algorithms that libjwt has learnt late.
 */

#include <ngx_config.h>
#include <ngx_core.h>
#if (NGX_GUILDLOG_LIBJWT)
#include <jwt.h>
#endif
#include <openssl/err.h>
#include "token/ngx_guildlog_token_check.h"
#include "token/ngx_guildlog_token_openssl.h"


#if (NGX_GUILDLOG_LIBJWT)
static ngx_uint_t token_check_is_old(const ngx_str_t *alg);
static ngx_int_t token_check_libjwt(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text);
#endif


ngx_int_t
ngx_guildlog_token_check(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text, ngx_pool_t *pool)
{
#if (NGX_GUILDLOG_LIBJWT)
    if (token_check_is_old(&key->alg)) {
        return token_check_libjwt(key, text);
    }
#endif

    return ngx_guildlog_token_check_openssl(key, text, pool);
}


ngx_int_t
ngx_guildlog_token_check_openssl(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text, ngx_pool_t *pool)
{
    u_char     *dot;
    ngx_str_t   input, piece, signature;

    dot = text->data + text->len;

    while (*--dot != '.') { /* void */ }

    input.data = text->data;
    input.len = dot - text->data;

    piece.data = dot + 1;
    piece.len = text->len - input.len - 1;

    signature.data = ngx_pnalloc(pool, ngx_base64_decoded_length(piece.len));
    if (signature.data == NULL) {
        return NGX_ERROR;
    }

    if (ngx_decode_base64url(&signature, &piece) != NGX_OK) {
        return NGX_DECLINED;
    }

    return ngx_guildlog_token_openssl_verify(key, &input, &signature);
}


#if (NGX_GUILDLOG_LIBJWT)

/* HS, RS and ES, which every libjwt has */

static ngx_uint_t
token_check_is_old(const ngx_str_t *alg)
{
    return alg->data[0] != 'P' && alg->data[1] == 'S';
}


static ngx_int_t
token_check_libjwt(const ngx_guildlog_token_key_t *key, const ngx_str_t *text)
{
    int        rc;
    jwt_t     *jwt;
    ngx_int_t  checked;

    checked = NGX_DECLINED;

    /* where memory is short libjwt often takes it for a bad signature */

    ngx_set_errno(0);

    rc = jwt_decode(&jwt, (char *) text->data, key->material.data,
                    key->material.len);

    if (rc == NGX_ENOMEM || (rc && ngx_errno == NGX_ENOMEM)) {
        checked = NGX_ERROR;
    }

    if (rc == 0) {

        /*
         * Without memory for the key it says yes to a token that it has not
         * looked at: the algorithm is none.
         */

        checked = (jwt_get_alg(jwt) == jwt_str_alg((char *) key->alg.data))
                  ? NGX_OK : NGX_ERROR;

        jwt_free(jwt);
    }

    /* nginx would log what is left in OpenSSL's queue for another connection */

    ERR_clear_error();

    return checked;
}

#endif
