
/*
 * A new token.  By OpenSSL alone: libjwt crashes where it has no memory for
 * the text of one.
 */

#include <ngx_config.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include "base/ngx_guildlog_json.h"
#include "token/ngx_guildlog_token_verify.h"


static ngx_int_t token_sign_input(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *input);
static void token_sign_claim(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *value);
static ngx_int_t token_sign_bytes(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *input, ngx_pool_t *pool, ngx_str_t *signature);
static EVP_PKEY *token_sign_pkey(const ngx_guildlog_token_key_t *key);
static ngx_int_t token_sign_raw(ngx_pool_t *pool, size_t width,
    ngx_str_t *signature);


/* by the digits of the algorithm */

static const struct {
    const char                    *bits;
    const EVP_MD                *(*digest)(void);
    size_t                         width;  /* of half an ES signature */
} token_sign_digests[] = {
    { "256", EVP_sha256, 32 },
    { "384", EVP_sha384, 48 },
    { "512", EVP_sha512, 66 },
    { NULL, NULL, 0 }
};


ngx_int_t
ngx_guildlog_token_sign(const ngx_guildlog_token_keys_t *keys,
    const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *text)
{
    u_char                          *p;
    ngx_str_t                        input, signature, encoded;
    const ngx_guildlog_token_key_t  *key;

    key = ngx_guildlog_token_sign_key(keys);
    if (key == NULL) {
        return NGX_DECLINED;
    }

    if (token_sign_input(key, issuer, token, pool, &input) != NGX_OK
        || token_sign_bytes(key, &input, pool, &signature) != NGX_OK)
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, input.len + 1
                          + ngx_base64_encoded_length(signature.len));
    if (p == NULL) {
        return NGX_ERROR;
    }

    text->data = p;

    p = ngx_cpymem(p, input.data, input.len);
    *p++ = '.';

    encoded.data = p;
    ngx_encode_base64url(&encoded, &signature);

    text->len = p + encoded.len - text->data;

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


/* header and claims, as they are signed */

static ngx_int_t
token_sign_input(const ngx_guildlog_token_key_t *key, const ngx_str_t *issuer,
    const ngx_guildlog_token_t *token, ngx_pool_t *pool, ngx_str_t *input)
{
    ngx_str_t            part[2], encoded;
    ngx_uint_t           i;
    ngx_guildlog_json_t  w[2];

    static const ngx_str_t  jwt = ngx_string("JWT");
    static const ngx_str_t  bots[] = {
        ngx_string("main"), ngx_string("pro")
    };
    static const ngx_str_t  admin = ngx_string("admin");
    static const ngx_str_t  basic = ngx_string("basic");

    ngx_guildlog_json_init(&w[0], pool, 128);
    ngx_guildlog_json_begin(&w[0], '{');
    token_sign_claim(&w[0], "alg", &key->alg);

    if (key->kid.len) {
        token_sign_claim(&w[0], "kid", &key->kid);
    }

    token_sign_claim(&w[0], "typ", &jwt);
    ngx_guildlog_json_end(&w[0]);

    ngx_guildlog_json_init(&w[1], pool, 256);
    ngx_guildlog_json_begin(&w[1], '{');
    token_sign_claim(&w[1], "iss", issuer);
    token_sign_claim(&w[1], "sub", &token->guild);
    token_sign_claim(&w[1], "jti", &token->jti);
    token_sign_claim(&w[1], "bot", &bots[token->bot]);
    token_sign_claim(&w[1], "kind",
                     token->kind == NGX_GUILDLOG_ADMIN ? &admin
                                                 : &basic);
    ngx_guildlog_json_key(&w[1], "iat");
    ngx_guildlog_json_number(&w[1], token->iat);
    ngx_guildlog_json_key(&w[1], "exp");
    ngx_guildlog_json_number(&w[1], token->exp);
    ngx_guildlog_json_end(&w[1]);

    if (ngx_guildlog_json_written(&w[0], &part[0]) != NGX_OK
        || ngx_guildlog_json_written(&w[1], &part[1]) != NGX_OK)
    {
        return NGX_ERROR;
    }

    input->data = ngx_pnalloc(pool, ngx_base64_encoded_length(part[0].len)
                                    + ngx_base64_encoded_length(part[1].len)
                                    + 1);
    if (input->data == NULL) {
        return NGX_ERROR;
    }

    input->len = 0;

    for (i = 0; i < 2; i++) {
        if (i) {
            input->data[input->len++] = '.';
        }

        encoded.data = input->data + input->len;

        ngx_encode_base64url(&encoded, &part[i]);

        input->len += encoded.len;
    }

    return NGX_OK;
}


static void
token_sign_claim(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *value)
{
    ngx_guildlog_json_key(w, name);
    ngx_guildlog_json_string(w, value);
}


static ngx_int_t
token_sign_bytes(const ngx_guildlog_token_key_t *key, const ngx_str_t *input,
    ngx_pool_t *pool, ngx_str_t *signature)
{
    ngx_int_t     rc;
    EVP_PKEY     *pkey;
    ngx_uint_t    i;
    EVP_MD_CTX   *ctx;

    for (i = 0; token_sign_digests[i].bits; i++) {
        if (ngx_strncmp(key->alg.data + 2, token_sign_digests[i].bits, 3) == 0)
        {
            break;
        }
    }

    if (token_sign_digests[i].bits == NULL) {
        return NGX_ERROR;
    }

    rc = NGX_ERROR;
    pkey = token_sign_pkey(key);
    ctx = EVP_MD_CTX_new();

    if (pkey && ctx
        && EVP_DigestSignInit(ctx, NULL, token_sign_digests[i].digest(), NULL,
                              pkey) == 1
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

    if (rc == NGX_OK && key->alg.data[0] == 'E') {
        rc = token_sign_raw(pool, token_sign_digests[i].width, signature);
    }

    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);

    /* nginx would report what is left there on another connection */

    ERR_clear_error();

    return rc;
}


static EVP_PKEY *
token_sign_pkey(const ngx_guildlog_token_key_t *key)
{
    BIO       *bio;
    EVP_PKEY  *pkey;

    if (key->alg.data[0] == 'H') {
        return EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, NULL,
                                            key->signing.data,
                                            key->signing.len);
    }

    bio = BIO_new_mem_buf(key->signing.data, (int) key->signing.len);
    if (bio == NULL) {
        return NULL;
    }

    pkey = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

    BIO_free(bio);

    return pkey;
}


/* a token has the two numbers of an ES signature bare, each of the width */

static ngx_int_t
token_sign_raw(ngx_pool_t *pool, size_t width, ngx_str_t *signature)
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
