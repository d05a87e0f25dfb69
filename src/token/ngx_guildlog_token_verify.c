
/*
 * Tokens: strict checks around the signature, and a worker's cache of those
 * found good.
 */

#include <ngx_config.h>
#include <ngx_core.h>
#include <openssl/evp.h>
#if (NGX_GUILDLOG_LIBJWT)
#include <jwt.h>
#endif
#include <openssl/err.h>
#include "token/ngx_guildlog_token_verify.h"
#include "base/ngx_guildlog_json.h"
#include "api/ngx_guildlog_value.h"


#define TOKEN_VERIFY_TEXT_MAX    8192

/* how far the clock of who made a token may be ahead of ours */
#define TOKEN_VERIFY_LEEWAY_S    30

/* of base64url, and of the id of a token, beside letters and digits */
#define TOKEN_VERIFY_BEYOND      "-_"

#define TOKEN_VERIFY_DIGEST      32    /* bytes of a SHA-256 */
#define TOKEN_VERIFY_KEY_MAX     512
#define TOKEN_VERIFY_POOL_SIZE   4096


typedef struct {
    ngx_pool_t                    *pool;
    const ngx_guildlog_token_keys_t  *keys;
    const ngx_str_t               *issuer;
    ngx_str_t                      text;     /* NUL-terminated */
    json_t                        *header;
    json_t                        *payload;
    ngx_guildlog_token_t          *token;
    ngx_uint_t                     no_memory;
} token_verify_t;


static ngx_int_t token_verify_shape(const ngx_str_t *text);
static ngx_guildlog_auth_e token_verify_text(ngx_guildlog_token_t *token,
    const ngx_guildlog_token_keys_t *keys, const ngx_str_t *issuer,
    const ngx_str_t *text, ngx_log_t *log);
static ngx_guildlog_auth_e token_verify_parts(token_verify_t *t,
    const ngx_str_t *text);
static json_t *token_verify_segment(token_verify_t *t, u_char *p, u_char *last);
static ngx_guildlog_auth_e token_verify_header(token_verify_t *t);
static ngx_guildlog_auth_e token_verify_signature(token_verify_t *t);
static ngx_guildlog_auth_e token_verify_signed_by(token_verify_t *t,
    const ngx_guildlog_token_key_t *key);
static ngx_guildlog_auth_e token_verify_claims(token_verify_t *t);
static ngx_int_t token_verify_seconds(json_t *value, time_t *seconds);
static ngx_uint_t token_verify_is(json_t *value, const void *data, size_t len);
static size_t token_verify_cache_key(u_char *key,
    const ngx_guildlog_token_keys_t *keys, const ngx_str_t *issuer,
    const ngx_str_t *text);
#if (NGX_GUILDLOG_LIBJWT)
static ngx_int_t token_check_libjwt(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text);
#endif


const ngx_str_t  ngx_guildlog_token_kinds[] = {
    ngx_null_string, ngx_string("admin"), ngx_string("basic"),
    ngx_string("read")
};


ngx_guildlog_auth_e
ngx_guildlog_token_verify(ngx_guildlog_cache_t *cache,
    const ngx_guildlog_token_keys_t *keys, const ngx_str_t *issuer,
    const ngx_str_t *text, time_t now, ngx_guildlog_token_t *token,
    ngx_log_t *log)
{
    u_char                 buf[TOKEN_VERIFY_KEY_MAX];
    time_t                 soon;
    ngx_str_t              key;
    ngx_guildlog_auth_e    cause;
    ngx_guildlog_token_t  *known;

    if (token_verify_shape(text) != NGX_OK) {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    if (keys == NULL) {
        return NGX_GUILDLOG_AUTH_KEY;
    }

    key.data = buf;
    key.len = cache ? token_verify_cache_key(buf, keys, issuer, text) : 0;

    known = key.len ? ngx_guildlog_cache_find(cache, &key) : NULL;

    if (known) {
        *token = *known;

    } else {
        cause = token_verify_text(token, keys, issuer, text, log);

        if (cause != NGX_GUILDLOG_AUTH_OK) {
            return cause;
        }

        known = key.len ? ngx_guildlog_cache_store(cache, &key,
                                              sizeof(ngx_guildlog_token_t), 1)
                        : NULL;
        if (known) {
            *known = *token;
        }
    }

    ngx_guildlog_assert(token->jti.len
                        && token->jti.len <= sizeof(token->jti_data));
    ngx_guildlog_assert(token->guild.len <= sizeof(token->guild_data));

    token->jti.data = token->jti_data;
    token->guild.data = token->guild_data;

    /* what is good is so until its times say something else */

    soon = now + TOKEN_VERIFY_LEEWAY_S;

    return now >= token->exp || token->nbf > soon || token->iat > soon
           ? NGX_GUILDLOG_AUTH_EXPIRED : NGX_GUILDLOG_AUTH_OK;
}


/*
 * Three pieces of base64url and nothing else.  libjwt writes behind its
 * buffer where a piece is empty.
 */

static ngx_int_t
token_verify_shape(const ngx_str_t *text)
{
    size_t      i, len;
    u_char      ch;
    ngx_uint_t  dots;

    if (text->len > TOKEN_VERIFY_TEXT_MAX) {
        return NGX_DECLINED;
    }

    len = 0;
    dots = 0;

    for (i = 0; i <= text->len; i++) {
        ch = (i < text->len) ? text->data[i] : '.';

        if (ch == '.') {
            if (len == 0 || len % 4 == 1) {
                return NGX_DECLINED;
            }

            dots++;
            len = 0;
            continue;
        }

        if (!ngx_guildlog_is_letter(ch, TOKEN_VERIFY_BEYOND)) {
            return NGX_DECLINED;
        }

        len++;
    }

    return (dots == 3) ? NGX_OK : NGX_DECLINED;
}


static ngx_guildlog_auth_e
token_verify_text(ngx_guildlog_token_t *token,
    const ngx_guildlog_token_keys_t *keys, const ngx_str_t *issuer,
    const ngx_str_t *text, ngx_log_t *log)
{
    token_verify_t       t;
    ngx_guildlog_auth_e  cause;

    ngx_memzero(token, sizeof(ngx_guildlog_token_t));
    ngx_memzero(&t, sizeof(token_verify_t));

    t.pool = ngx_create_pool(TOKEN_VERIFY_POOL_SIZE, log);
    if (t.pool == NULL) {
        return NGX_GUILDLOG_AUTH_UNVERIFIED;
    }

    t.keys = keys;
    t.issuer = issuer;
    t.token = token;

    cause = token_verify_parts(&t, text);

    ngx_destroy_pool(t.pool);

    return t.no_memory ? NGX_GUILDLOG_AUTH_UNVERIFIED : cause;
}


static ngx_guildlog_auth_e
token_verify_parts(token_verify_t *t, const ngx_str_t *text)
{
    u_char               *payload, *signature, *last;
    ngx_guildlog_auth_e   cause;

    t->text.data = ngx_pnalloc(t->pool, text->len + 1);
    if (t->text.data == NULL) {
        t->no_memory = 1;
        return NGX_GUILDLOG_AUTH_SIGNATURE;
    }

    last = ngx_cpymem(t->text.data, text->data, text->len);
    t->text.len = text->len;
    *last = '\0';

    payload = ngx_strlchr(t->text.data, last, '.') + 1;
    signature = ngx_strlchr(payload, last, '.') + 1;

    ngx_guildlog_assert(payload < signature && signature < last);

    t->header = token_verify_segment(t, t->text.data, payload - 1);
    t->payload = token_verify_segment(t, payload, signature - 1);

    if (t->header == NULL || t->payload == NULL) {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    cause = token_verify_header(t);

    if (cause == NGX_GUILDLOG_AUTH_OK) {
        cause = token_verify_signature(t);
    }

    if (cause == NGX_GUILDLOG_AUTH_OK) {
        cause = token_verify_claims(t);
    }

    return cause;
}


static json_t *
token_verify_segment(token_verify_t *t, u_char *p, u_char *last)
{
    json_t     *json;
    ngx_str_t   src, text, error;

    src.data = p;
    src.len = last - p;

    text.data = ngx_pnalloc(t->pool, ngx_base64_decoded_length(src.len));
    if (text.data == NULL) {
        t->no_memory = 1;
        return NULL;
    }

    if (ngx_decode_base64url(&text, &src) != NGX_OK) {
        return NULL;
    }

    json = ngx_guildlog_json_parse(t->pool, &text, &error);

    if (json == NULL) {
        t->no_memory |= (error.len == 0);
        return NULL;
    }

    return json_is_object(json) ? json : NULL;
}


static ngx_guildlog_auth_e
token_verify_header(token_verify_t *t)
{
    json_t  *typ, *kid;

    /* the token requires extensions, and none is known here */

    if (json_object_get(t->header, "crit")) {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    typ = json_object_get(t->header, "typ");

    if (typ && (!json_is_string(typ)
                || ngx_strcasecmp((u_char *) json_string_value(typ),
                                  (u_char *) "JWT")
                   != 0))
    {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    kid = json_object_get(t->header, "kid");

    if (kid && (json_string_length(kid) == 0
                || json_string_length(kid) > NGX_GUILDLOG_TOKEN_KEYS_KID_MAX))
    {
        return NGX_GUILDLOG_AUTH_MALFORMED;
    }

    return NGX_GUILDLOG_AUTH_OK;
}


/*
 * The keys decide which algorithms are allowed.  The token only names one, and
 * is verified with the keys of that algorithm.
 */

static ngx_guildlog_auth_e
token_verify_signature(token_verify_t *t)
{
    json_t                    *alg, *kid;
    ngx_uint_t                 i, serve, anonymous;
    ngx_guildlog_token_key_t  *key;

    alg = json_object_get(t->header, "alg");
    kid = json_object_get(t->header, "kid");

    key = t->keys->list.elts;
    serve = 0;
    anonymous = 0;

    for (i = 0; i < t->keys->list.nelts; i++) {
        if (token_verify_is(alg, key[i].alg.data, key[i].alg.len)) {
            serve++;
            anonymous += (key[i].kid.len == 0);
        }
    }

    if (serve == 0) {
        return NGX_GUILDLOG_AUTH_ALGORITHM;
    }

    for (i = 0; i < t->keys->list.nelts; i++) {

        if (kid) {
            if (token_verify_is(kid, key[i].kid.data, key[i].kid.len)) {
                return token_verify_is(alg, key[i].alg.data, key[i].alg.len)
                       ? token_verify_signed_by(t, &key[i])
                       : NGX_GUILDLOG_AUTH_ALGORITHM;
            }

            continue;
        }

        if (token_verify_is(alg, key[i].alg.data, key[i].alg.len)
            && (anonymous == 0 || key[i].kid.len == 0)
            && token_verify_signed_by(t, &key[i])
               == NGX_GUILDLOG_AUTH_OK)
        {
            return NGX_GUILDLOG_AUTH_OK;
        }
    }

    return kid ? NGX_GUILDLOG_AUTH_KEY : NGX_GUILDLOG_AUTH_SIGNATURE;
}


static ngx_guildlog_auth_e
token_verify_signed_by(token_verify_t *t, const ngx_guildlog_token_key_t *key)
{
    ngx_int_t  rc;

    rc = ngx_guildlog_token_check(key, &t->text, t->pool);

    t->no_memory |= (rc == NGX_ERROR);

    return (rc == NGX_OK) ? NGX_GUILDLOG_AUTH_OK : NGX_GUILDLOG_AUTH_SIGNATURE;
}


static ngx_guildlog_auth_e
token_verify_claims(token_verify_t *t)
{
    json_t                *value;
    ngx_str_t              sub, jti;
    ngx_uint_t             i;
    ngx_guildlog_token_t  *token;

    token = t->token;

    value = json_object_get(t->payload, "iss");

    if (!token_verify_is(value, t->issuer->data, t->issuer->len)) {
        return NGX_GUILDLOG_AUTH_ISSUER;
    }

    value = json_object_get(t->payload, "exp");

    if (value == NULL
        || token_verify_seconds(value, &token->exp) != NGX_OK
        || token_verify_seconds(json_object_get(t->payload, "nbf"), &token->nbf)
           != NGX_OK
        || token_verify_seconds(json_object_get(t->payload, "iat"), &token->iat)
           != NGX_OK)
    {
        return NGX_GUILDLOG_AUTH_CLAIMS;
    }

    sub = ngx_guildlog_json_get(t->payload, "sub");
    jti = ngx_guildlog_json_get(t->payload, "jti");

    /*
     * Invariant: no id begins with "~", which is how a session is told from the
     * id of a token; see sql/functions/core/session.sql.
     */

    if (ngx_guildlog_value_id(sub.data, sub.len, NGX_GUILDLOG_VALUE_GUILD)
        != NGX_OK
        || jti.len == 0 || jti.len > NGX_GUILDLOG_TOKEN_JTI_MAX
        || !ngx_guildlog_is_letters(&jti, TOKEN_VERIFY_BEYOND))
    {
        return NGX_GUILDLOG_AUTH_CLAIMS;
    }

    ngx_memcpy(token->guild_data, sub.data, sub.len);
    ngx_memcpy(token->jti_data, jti.data, jti.len);

    token->guild.len = sub.len;
    token->jti.len = jti.len;

    value = json_object_get(t->payload, "bot");

    if (value == NULL || token_verify_is(value, "main", 4)) {
        token->bot = NGX_GUILDLOG_BOT_MAIN;

    } else if (token_verify_is(value, "pro", 3)) {
        token->bot = NGX_GUILDLOG_BOT_PRO;

    } else {
        return NGX_GUILDLOG_AUTH_CLAIMS;
    }

    value = json_object_get(t->payload, "kind");

    for (i = NGX_GUILDLOG_ADMIN; i <= NGX_GUILDLOG_READ; i++) {
        if (token_verify_is(value, ngx_guildlog_token_kinds[i].data,
                            ngx_guildlog_token_kinds[i].len))
        {
            token->kind = i;
            return NGX_GUILDLOG_AUTH_OK;
        }
    }

    return NGX_GUILDLOG_AUTH_CLAIMS;
}


/* any JSON number, without its fraction; absent: 0 */

static ngx_int_t
token_verify_seconds(json_t *value, time_t *seconds)
{
    double  d;

    *seconds = 0;

    if (json_is_integer(value)) {
        *seconds = json_integer_value(value);

    } else if (json_is_real(value)) {
        d = json_real_value(value);

        if (d >= 9.2e18) {
            *seconds = INT64_MAX;

        } else if (d <= -9.2e18) {
            *seconds = INT64_MIN;

        } else {
            *seconds = (time_t) d;
        }

    } else if (value) {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_uint_t
token_verify_is(json_t *value, const void *data, size_t len)
{
    return json_is_string(value)
           && json_string_length(value) == len
           && ngx_memcmp(json_string_value(value), data, len) == 0;
}


/*
 * All that a verdict depends on; 0 where that is too long to keep.  Of the
 * token itself only a digest stays in memory.
 */

static size_t
token_verify_cache_key(u_char *key, const ngx_guildlog_token_keys_t *keys,
    const ngx_str_t *issuer, const ngx_str_t *text)
{
    u_char  *p;

    if (sizeof(ngx_uint_t) + issuer->len + TOKEN_VERIFY_DIGEST
        > TOKEN_VERIFY_KEY_MAX)
    {
        return 0;
    }

    p = ngx_cpymem(key, &keys->generation, sizeof(ngx_uint_t));
    p = ngx_cpymem(p, issuer->data, issuer->len);

    if (EVP_Digest(text->data, text->len, p, NULL, EVP_sha256(), NULL) != 1) {
        return 0;
    }

    return p + TOKEN_VERIFY_DIGEST - key;
}


/*
 * The signature of a token.  libjwt 1 and 2 verify it.  libjwt 3 takes no PEM,
 * so there, and where there is no libjwt, OpenSSL does; and it always does for
 * algorithms that libjwt has learnt late.
 */

ngx_int_t
ngx_guildlog_token_check(const ngx_guildlog_token_key_t *key,
    const ngx_str_t *text, ngx_pool_t *pool)
{
#if (NGX_GUILDLOG_LIBJWT)

    /* HS, RS and ES, which every libjwt has */

    if (key->alg.data[0] != 'P' && key->alg.data[1] == 'S') {
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

    ngx_guildlog_assert(dot > text->data);

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

    return ngx_guildlog_token_sign_verify(key, &input, &signature);
}


#if (NGX_GUILDLOG_LIBJWT)

/* HS, RS and ES, which every libjwt has */


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
