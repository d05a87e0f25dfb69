
/*
 * A new token.  By OpenSSL alone: libjwt crashes where it has no memory for
 * the text of one.
 */

#include <ngx_config.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include "base/ngx_guildlog_json.h"
#include "token/ngx_guildlog_token_verify.h"


/* P-521 has the longest: two numbers of 66 bytes, and what DER puts around */
#define TOKEN_OPENSSL_DER_MAX  160


static ngx_int_t token_sign_append(ngx_pool_t *pool, ngx_str_t *text,
    ngx_str_t *piece);
static ngx_int_t token_openssl_sign(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, ngx_pool_t *pool, ngx_str_t *signature);
static EVP_PKEY *token_openssl_pkey(const ngx_guildlog_token_key_t *key,
    ngx_uint_t sign);
static EVP_MD_CTX *token_openssl_begin(const ngx_guildlog_token_key_t *key,
    EVP_PKEY *pkey, ngx_uint_t sign);
static ngx_int_t token_openssl_fits(EVP_MD_CTX *ctx, const ngx_str_t *input,
    const ngx_str_t *signature);
static ngx_int_t token_openssl_raw(ngx_pool_t *pool, size_t width,
    ngx_str_t *signature);
static ngx_int_t token_openssl_der(u_char *der, size_t width,
    ngx_str_t *signature);
static size_t token_openssl_width(EVP_PKEY *pkey);
static ngx_uint_t token_openssl_no_memory(void);


ngx_int_t
ngx_guildlog_token_sign(const ngx_guildlog_token_keys_t *keys,
    const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *text)
{
    ngx_str_t                        header, claims, signature;
    ngx_guildlog_json_t              w;
    const ngx_guildlog_token_key_t  *key;

    static const ngx_str_t  jwt = ngx_string("JWT");
    static const ngx_str_t  bots[] = { ngx_string("main"), ngx_string("pro") };

    key = ngx_guildlog_token_sign_key(keys);
    if (key == NULL) {
        return NGX_DECLINED;
    }

    ngx_guildlog_json_init(&w, pool, 128);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_member(&w, "alg", &key->alg);

    if (key->kid.len) {
        ngx_guildlog_json_member(&w, "kid", &key->kid);
    }

    ngx_guildlog_json_member(&w, "typ", &jwt);
    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &header) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_guildlog_json_init(&w, pool, 256);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_member(&w, "iss", issuer);
    ngx_guildlog_json_member(&w, "sub", &token->guild);
    ngx_guildlog_json_member(&w, "jti", &token->jti);
    ngx_guildlog_json_member(&w, "bot", &bots[token->bot]);
    ngx_guildlog_json_member(&w, "kind",
                             &ngx_guildlog_token_kinds[token->kind]);
    ngx_guildlog_json_member_number(&w, "iat", token->iat);
    ngx_guildlog_json_member_number(&w, "exp", token->exp);
    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &claims) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_str_null(text);

    if (token_sign_append(pool, text, &header) != NGX_OK
        || token_sign_append(pool, text, &claims) != NGX_OK
        || token_openssl_sign(key, text, pool, &signature) != NGX_OK
        || token_sign_append(pool, text, &signature) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


const ngx_guildlog_token_key_t *
ngx_guildlog_token_sign_key(const ngx_guildlog_token_keys_t *keys)
{
    ngx_uint_t                       i;
    const ngx_guildlog_token_key_t  *key;

    if (keys == NULL) {
        return NULL;
    }

    key = keys->list.elts;

    for (i = 0; i < keys->list.nelts; i++) {
        if (key[i].sign) {
            return &key[i];
        }
    }

    return NULL;
}


/* the text, a dot if it is not the first, and the piece in base64url */

static ngx_int_t
token_sign_append(ngx_pool_t *pool, ngx_str_t *text, ngx_str_t *piece)
{
    u_char    *p;
    ngx_str_t  encoded;

    p = ngx_pnalloc(pool, text->len + 1
                          + ngx_base64_encoded_length(piece->len));
    if (p == NULL) {
        return NGX_ERROR;
    }

    encoded.data = p;

    if (text->len) {
        encoded.data = ngx_cpymem(p, text->data, text->len);
        *encoded.data++ = '.';
    }

    ngx_encode_base64url(&encoded, piece);

    text->data = p;
    text->len = encoded.data + encoded.len - p;

    return NGX_OK;
}


/*
 * Signatures by OpenSSL, as RFC 7518 and RFC 8037 have them: with key->signing.
 * NGX_ERROR: no memory.
 */

static ngx_int_t
token_openssl_sign(const ngx_guildlog_token_key_t *key, const ngx_str_t *input,
    ngx_pool_t *pool, ngx_str_t *signature)
{
    ngx_int_t    rc;
    EVP_PKEY    *pkey;
    EVP_MD_CTX  *ctx;

    rc = NGX_ERROR;
    pkey = token_openssl_pkey(key, 1);
    ctx = token_openssl_begin(key, pkey, 1);

    if (ctx
        && EVP_DigestSign(ctx, NULL, &signature->len, input->data,
                          input->len) == 1)
    {
        signature->data = ngx_pnalloc(pool, signature->len);

        if (signature->data
            && EVP_DigestSign(ctx, signature->data, &signature->len,
                              input->data, input->len) == 1)
        {
            rc = NGX_OK;
        }
    }

    if (rc == NGX_OK && EVP_PKEY_base_id(pkey) == EVP_PKEY_EC) {
        rc = token_openssl_raw(pool, token_openssl_width(pkey), signature);
    }

    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);

    /* nginx would report what is left there on another connection */

    ERR_clear_error();

    return rc;
}


ngx_int_t
ngx_guildlog_token_sign_verify(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, const ngx_str_t *signature)
{
    u_char       der[TOKEN_OPENSSL_DER_MAX];
    ngx_int_t    rc;
    EVP_PKEY    *pkey;
    ngx_str_t    text;
    ngx_uint_t   sign;
    EVP_MD_CTX  *ctx;

    /* who verifies a MAC makes it once more */

    sign = (key->alg.data[0] == 'H');

    rc = NGX_ERROR;
    text = *signature;
    pkey = token_openssl_pkey(key, sign);
    ctx = token_openssl_begin(key, pkey, sign);

    if (ctx) {
        rc = NGX_OK;

        if (EVP_PKEY_base_id(pkey) == EVP_PKEY_EC) {
            rc = token_openssl_der(der, token_openssl_width(pkey), &text);
        }

        if (rc == NGX_OK) {
            rc = sign ? token_openssl_fits(ctx, input, &text)
                      : EVP_DigestVerify(ctx, text.data, text.len,
                                         input->data, input->len) == 1
                        ? NGX_OK : NGX_DECLINED;
        }

        if (rc == NGX_DECLINED && token_openssl_no_memory()) {
            rc = NGX_ERROR;
        }
    }

    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);

    ERR_clear_error();

    return rc;
}


static EVP_PKEY *
token_openssl_pkey(const ngx_guildlog_token_key_t *key, ngx_uint_t sign)
{
    BIO              *bio;
    EVP_PKEY         *pkey;
    const ngx_str_t  *text;

    if (key->alg.data[0] == 'H') {
        return EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, NULL,
                                            key->material.data,
                                            key->material.len);
    }

    text = sign ? &key->signing : &key->material;

    bio = BIO_new_mem_buf(text->data, (int) text->len);
    if (bio == NULL) {
        return NULL;
    }

    pkey = sign ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL)
                : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);

    BIO_free(bio);

    return pkey;
}


/* the digest and the padding of the algorithm; EdDSA has neither */

static EVP_MD_CTX *
token_openssl_begin(const ngx_guildlog_token_key_t *key, EVP_PKEY *pkey,
    ngx_uint_t sign)
{
    int                rc;
    char               digest[] = "SHA...";
    EVP_MD_CTX        *ctx;
    const char        *name;
    const OSSL_PARAM  *params;

    static const OSSL_PARAM  pss[] = {
        OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PAD_MODE, "pss", 3),
        OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, "digest", 6),
        OSSL_PARAM_END
    };

    ctx = pkey ? EVP_MD_CTX_new() : NULL;
    if (ctx == NULL) {
        return NULL;
    }

    ngx_memcpy(digest + 3, key->alg.data + 2, 3);

    name = (EVP_PKEY_base_id(pkey) == EVP_PKEY_ED25519) ? NULL : digest;
    params = (key->alg.data[0] == 'P') ? pss : NULL;

    rc = sign ? EVP_DigestSignInit_ex(ctx, NULL, name, NULL, NULL, pkey, params)
              : EVP_DigestVerifyInit_ex(ctx, NULL, name, NULL, NULL, pkey,
                                        params);
    if (rc != 1) {
        EVP_MD_CTX_free(ctx);
        return NULL;
    }

    return ctx;
}


static ngx_int_t
token_openssl_fits(EVP_MD_CTX *ctx, const ngx_str_t *input,
    const ngx_str_t *signature)
{
    size_t  len;
    u_char  mac[EVP_MAX_MD_SIZE];

    len = EVP_MAX_MD_SIZE;

    if (EVP_DigestSign(ctx, mac, &len, input->data, input->len) != 1) {
        return NGX_ERROR;
    }

    return (signature->len == len
            && CRYPTO_memcmp(signature->data, mac, len) == 0)
           ? NGX_OK : NGX_DECLINED;
}


/* a token has the two numbers of an ES signature bare, each of the width */

static ngx_int_t
token_openssl_raw(ngx_pool_t *pool, size_t width, ngx_str_t *signature)
{
    u_char        *raw;
    ngx_int_t      rc;
    ECDSA_SIG     *numbers;
    const u_char  *p;

    p = signature->data;
    rc = NGX_ERROR;

    numbers = d2i_ECDSA_SIG(NULL, &p, (long) signature->len);
    raw = ngx_pnalloc(pool, 2 * width);

    if (numbers && raw
        && BN_bn2binpad(ECDSA_SIG_get0_r(numbers), raw, (int) width) > 0
        && BN_bn2binpad(ECDSA_SIG_get0_s(numbers), raw + width, (int) width)
           > 0)
    {
        signature->data = raw;
        signature->len = 2 * width;
        rc = NGX_OK;
    }

    ECDSA_SIG_free(numbers);

    return rc;
}


/* and OpenSSL wants them in DER */

static ngx_int_t
token_openssl_der(u_char *der, size_t width, ngx_str_t *signature)
{
    u_char     *p;
    BIGNUM     *r, *s;
    ngx_int_t   rc;
    ECDSA_SIG  *numbers;

    if (signature->len != 2 * width) {
        return NGX_DECLINED;
    }

    rc = NGX_ERROR;
    p = signature->data;

    r = BN_bin2bn(p, (int) width, NULL);
    s = BN_bin2bn(p + width, (int) width, NULL);
    numbers = ECDSA_SIG_new();

    if (r && s && numbers && ECDSA_SIG_set0(numbers, r, s) == 1) {
        r = NULL;    /* the numbers' now */
        s = NULL;
        p = der;

        signature->len = i2d_ECDSA_SIG(numbers, &p);

        ngx_guildlog_assert(p - der <= TOKEN_OPENSSL_DER_MAX);

        signature->data = der;

        rc = (p > der) ? NGX_OK : NGX_ERROR;
    }

    ECDSA_SIG_free(numbers);
    BN_free(r);
    BN_free(s);

    return rc;
}


static size_t
token_openssl_width(EVP_PKEY *pkey)
{
    return (EVP_PKEY_bits(pkey) + 7) / 8;
}


/* where memory is short OpenSSL may take it for a bad signature */

static ngx_uint_t
token_openssl_no_memory(void)
{
    unsigned long  error;

    while ((error = ERR_get_error()) != 0) {
        if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
            return 1;
        }
    }

    return 0;
}
