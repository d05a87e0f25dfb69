
/*
 * A new token.  By OpenSSL alone: libjwt crashes where it has no memory for
 * the text of one.
 */

#include <ngx_config.h>
#include "base/ngx_guildlog_json.h"
#include "token/ngx_guildlog_token_openssl.h"
#include "token/ngx_guildlog_token_verify.h"


static ngx_int_t token_sign_header(const ngx_guildlog_token_key_t *key,
    ngx_pool_t *pool, ngx_str_t *header);
static ngx_int_t token_sign_claims(const ngx_str_t *issuer,
    const ngx_guildlog_token_t *token, ngx_pool_t *pool, ngx_str_t *claims);
static void token_sign_claim(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *value);
static ngx_int_t token_sign_append(ngx_pool_t *pool, ngx_str_t *text,
    ngx_str_t *piece);


ngx_int_t
ngx_guildlog_token_sign(const ngx_guildlog_token_keys_t *keys,
    const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *text)
{
    ngx_str_t                        header, claims, signature;
    const ngx_guildlog_token_key_t  *key;

    key = ngx_guildlog_token_sign_key(keys);
    if (key == NULL) {
        return NGX_DECLINED;
    }

    ngx_str_null(text);

    if (token_sign_header(key, pool, &header) != NGX_OK
        || token_sign_append(pool, text, &header) != NGX_OK
        || token_sign_claims(issuer, token, pool, &claims) != NGX_OK
        || token_sign_append(pool, text, &claims) != NGX_OK
        || ngx_guildlog_token_openssl_sign(key, text, pool, &signature)
           != NGX_OK
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


static ngx_int_t
token_sign_header(const ngx_guildlog_token_key_t *key, ngx_pool_t *pool,
    ngx_str_t *header)
{
    ngx_guildlog_json_t  w;

    static const ngx_str_t  jwt = ngx_string("JWT");

    ngx_guildlog_json_init(&w, pool, 128);
    ngx_guildlog_json_begin(&w, '{');
    token_sign_claim(&w, "alg", &key->alg);

    if (key->kid.len) {
        token_sign_claim(&w, "kid", &key->kid);
    }

    token_sign_claim(&w, "typ", &jwt);
    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, header);
}


static ngx_int_t
token_sign_claims(const ngx_str_t *issuer, const ngx_guildlog_token_t *token,
    ngx_pool_t *pool, ngx_str_t *claims)
{
    ngx_guildlog_json_t  w;

    static const ngx_str_t  bots[] = {
        ngx_string("main"), ngx_string("pro")
    };
    static const ngx_str_t  admin = ngx_string("admin");
    static const ngx_str_t  basic = ngx_string("basic");

    ngx_guildlog_json_init(&w, pool, 256);
    ngx_guildlog_json_begin(&w, '{');
    token_sign_claim(&w, "iss", issuer);
    token_sign_claim(&w, "sub", &token->guild);
    token_sign_claim(&w, "jti", &token->jti);
    token_sign_claim(&w, "bot", &bots[token->bot]);
    token_sign_claim(&w, "kind",
                     token->kind == NGX_GUILDLOG_ADMIN ? &admin : &basic);
    ngx_guildlog_json_key(&w, "iat");
    ngx_guildlog_json_number(&w, token->iat);
    ngx_guildlog_json_key(&w, "exp");
    ngx_guildlog_json_number(&w, token->exp);
    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, claims);
}


static void
token_sign_claim(ngx_guildlog_json_t *w, const char *name,
    const ngx_str_t *value)
{
    ngx_guildlog_json_key(w, name);
    ngx_guildlog_json_string(w, value);
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
