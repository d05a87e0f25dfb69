
/*
 * Links ngx_guildlog_token_verify.c, ngx_guildlog_token_sign.c,
 * ngx_guildlog_cache.c, ngx_guildlog_token_keys.c, ngx_guildlog_value.c,
 * ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * A token as it is; or a header and claims, one line each, with the right
 * signature, so that the checks after the signature are reached.  No token is
 * good that we did not sign, and a good one names its server.
 */

#include "token/ngx_guildlog_token_verify.h"
#include "api/ngx_guildlog_value.h"
#include <openssl/hmac.h>
#include "fuzz.h"


#define NOW     1700000000
#define SECRET  "0123456789abcdef0123456789abcdef"


static ngx_guildlog_token_key_t   key;
static ngx_guildlog_token_keys_t  keys;
static ngx_str_t            issuer = ngx_string("guildlog");


static void
keyring(void)
{
    ngx_str_set(&key.alg, "HS256");
    ngx_str_set(&key.material, SECRET);

    keys.list.elts = &key;
    keys.list.nelts = 1;
    keys.list.size = sizeof(ngx_guildlog_token_key_t);
    keys.generation = 1;
}


static void
encode(ngx_str_t *text, const u_char *p, size_t len)
{
    ngx_str_t  piece, raw;

    raw.data = (u_char *) p;
    raw.len = len;

    piece.data = text->data + text->len;

    ngx_encode_base64url(&piece, &raw);

    text->len += piece.len;
}


static ngx_str_t
signed_token(ngx_pool_t *pool, u_char *p, size_t len)
{
    u_char        mac[EVP_MAX_MD_SIZE];
    unsigned int  n;
    ngx_str_t     line, token;

    token.data = ngx_pnalloc(pool, 2 * len + 128);
    token.len = 0;

    fuzz_expect(token.data != NULL);

    line = fuzz_line(&p, &len);
    encode(&token, line.data, line.len);
    token.data[token.len++] = '.';
    encode(&token, p, len);

    (void) HMAC(EVP_sha256(), SECRET, sizeof(SECRET) - 1, token.data,
                token.len, mac, &n);

    token.data[token.len++] = '.';
    encode(&token, mac, n);

    return token;
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_str_t              text;
    ngx_uint_t             ours;
    ngx_guildlog_auth_e    rc;
    ngx_guildlog_token_t   token;

    if (keys.generation == 0) {
        keyring();
    }

    ours = fuzz_pick(&p, &len, 2);

    if (ours) {
        text = signed_token(pool, p, len);

    } else {
        text.data = p;
        text.len = len;
    }

    rc = ngx_guildlog_token_verify(NULL, &keys, &issuer, &text, NOW, &token,
                                   &fuzz_log);

    if (rc != NGX_GUILDLOG_AUTH_OK) {
        return;
    }

    fuzz_expect(ours);
    fuzz_expect(token.jti.len >= 1
                && token.jti.len <= NGX_GUILDLOG_TOKEN_JTI_MAX);
    fuzz_expect(ngx_guildlog_value_id(token.guild.data, token.guild.len, 17)
                == NGX_OK);
    fuzz_expect(token.exp > NOW);
    fuzz_expect(token.bot <= 1);
    fuzz_expect(token.kind >= NGX_GUILDLOG_ADMIN
                && token.kind <= NGX_GUILDLOG_READ);
}
