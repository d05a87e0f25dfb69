
/*
 * Links ngx_guildlog_token_verify.c, ngx_guildlog_token_sign.c,
 * ngx_guildlog_cache.c, ngx_guildlog_token_keys.c, ngx_guildlog_value.c,
 * ngx_guildlog_json.c and ngx_guildlog_utf8.c.
 *
 * A token is believed only as signed by a key of ours with that key's
 * algorithm, for our issuer, in its time.
 */

#include <ngx_config.h>
#include <jansson.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include "token/ngx_guildlog_token_verify.h"
#include "keyring.h"


#define NOW      1700000000
#define GUILD    "123456789012345678"
#define CLAIMS   "\"iss\":\"guildlog\",\"sub\":\"" GUILD "\",\"jti\":\"t_-1\","
#define PAYLOAD  "{" CLAIMS "\"kind\":\"admin\",\"exp\":1700000100}"
#define HEADER   "{\"alg\":\"HS256\"}"

#define OK         NGX_GUILDLOG_AUTH_OK
#define MALFORMED  NGX_GUILDLOG_AUTH_MALFORMED
#define ALGORITHM  NGX_GUILDLOG_AUTH_ALGORITHM
#define KEY        NGX_GUILDLOG_AUTH_KEY
#define SIGNATURE  NGX_GUILDLOG_AUTH_SIGNATURE
#define ISSUER     NGX_GUILDLOG_AUTH_ISSUER
#define EXPIRED    NGX_GUILDLOG_AUTH_EXPIRED
#define BAD        NGX_GUILDLOG_AUTH_CLAIMS


static ngx_str_t                  issuer = ngx_string("guildlog");
static ngx_guildlog_token_keys_t        secrets;
static ngx_guildlog_cache_t  *cache;
static ngx_guildlog_token_t       token;
static EVP_PKEY                  *rsa;


static ngx_str_t
base64url(const void *data, size_t len)
{
    ngx_str_t  src, dst;

    src.data = (u_char *) data;
    src.len = len;

    dst.data = ngx_pnalloc(keyring_conf.pool, ngx_base64_encoded_length(len));
    ngx_encode_base64url(&dst, &src);

    return dst;
}


/* signs anything, as somebody with the key could */

static ngx_str_t
forge_raw(const void *header, size_t header_len, const void *payload,
    size_t payload_len, const void *key, size_t key_len)
{
    u_char        mac[EVP_MAX_MD_SIZE];
    ngx_str_t     h, p, s, text;
    unsigned int  len;

    h = base64url(header, header_len);
    p = base64url(payload, payload_len);

    text.data = ngx_pnalloc(keyring_conf.pool, h.len + p.len + 64);
    text.len = ngx_sprintf(text.data, "%V.%V", &h, &p) - text.data;

    (void) HMAC(EVP_sha256(), key, key_len, text.data, text.len, mac, &len);

    s = base64url(mac, len);
    text.len = ngx_sprintf(text.data + text.len, ".%V", &s) - text.data;

    return text;
}


static ngx_str_t
forge(const char *header, const char *payload, const char *key)
{
    return forge_raw(header, strlen(header), payload, strlen(payload), key,
                     strlen(key));
}


static void
spoil(ngx_str_t *text)
{
    u_char  *p;

    p = &text->data[text->len - 3];
    *p = (*p == 'A') ? 'B' : 'A';
}


static ngx_guildlog_auth_e
verify(const ngx_guildlog_token_keys_t *keys, const ngx_str_t *text, time_t now)
{
    ngx_str_t            copy;
    ngx_guildlog_auth_e  cause;

    /* without anything behind it, so that reading further is seen */

    copy.len = text->len;
    copy.data = malloc(text->len + !text->len);
    ngx_memcpy(copy.data, text->data, text->len);

    cause = ngx_guildlog_token_verify(cache, keys, &issuer, &copy, now, &token,
                                      &tap_log);
    free(copy.data);

    if (ERR_peek_error() != 0) {
        tap_ok(0, "OpenSSL's errors are taken away");
        ERR_clear_error();
    }

    return cause;
}


static void
verdict(const ngx_guildlog_token_keys_t *keys, ngx_str_t text,
    ngx_guildlog_auth_e expected, const char *what)
{
    tap_is(verify(keys, &text, NOW), expected, what);

    /* what was judged once may come from the cache the second time */

    if (verify(keys, &text, NOW) != expected) {
        tap_ok(0, "%s, asked again", what);
    }
}


static void
good(void)
{
    ngx_str_t  text;

    text = forge(HEADER, PAYLOAD, KEYRING_SECRET);

    if (verify(&secrets, &text, NOW) != OK) {
        tap_ok(0, "a good token is good after a bad one");
    }
}


static void
test_good(void)
{
    verdict(&secrets, forge(HEADER, PAYLOAD, KEYRING_SECRET), OK,
            "a good token");

    tap_is_str(&token.guild, GUILD, "names its server");
    tap_is_str(&token.jti, "t_-1", "itself");
    tap_is(token.bot, NGX_GUILDLOG_BOT_MAIN, "its bot");
    tap_is(token.kind, NGX_GUILDLOG_ADMIN, "its kind");
    tap_is(token.exp, 1700000100, "and its end");
    tap_ok(token.jti.data == token.jti_data
           && token.guild.data == token.guild_data,
           "in memory of its own");
}


static void
test_shapes(void)
{
    u_char     *p;
    ngx_str_t   text, good_one;

    static const char  *shapes[] = {
        "", ".", "..", "...", ".x.", "x", "x.x", "abcd.abcd", "abcd..abcd",
        "abcd.abcd.", ".abcd.abcd", "e30.e30.", "e30..", "..e30", ".e30.",
        "e30.e30.e30.e30", "e30.e30.a", "a.e30.e30", "e30.abcde.e30",
        "e30.e3 0.e30", "e30.e30.e30=", "e30.e30.e+0", "e30.e30.e/0",
        "e30.e30.\xff" "30", "e30.e30.e30\n", "Bearer e30.e30.e30",
        "abcd.abcd.abcd", "e30.abcd.abcd", "W10.e30.abcd", "e30.W10.abcd",
        NULL
    };

    const char  **shape;

    for (shape = shapes; *shape; shape++) {
        verdict(&secrets, tap_str(*shape), MALFORMED, *shape);
        good();
    }

    ngx_str_set(&text, "e30.e30.\0" "30");
    verdict(&secrets, text, MALFORMED, "a NUL byte");

    good_one = forge(HEADER, PAYLOAD, KEYRING_SECRET);

    p = malloc(1048576);
    ngx_memset(p, 'a', 1048576);
    ngx_memcpy(p, good_one.data, good_one.len);
    text.data = p;
    text.len = 1048576;
    verdict(&secrets, text, MALFORMED, "1 MB");

    text.len = 8193;
    verdict(&secrets, text, MALFORMED, "one byte over the limit");

    text.len = 8192;
    verdict(&secrets, text, SIGNATURE, "at the limit it is judged");
    free(p);

    text = good_one;
    spoil(&text);
    verdict(&secrets, text, SIGNATURE, "a character of the signature changed");

    text.len -= 3;
    verdict(&secrets, text, SIGNATURE, "a signature that is cut");

    good();
}


static void
test_algorithms(void)
{
    BIO                       *bio;
    char                      *pem;
    size_t                     len;
    ngx_guildlog_token_keys_t  public, both;
    const char               **none;

    static const char     *nones[] = { "none", "NONE", "nOnE", "", "HS257",
                                       "hs256", "HS256 ", "PS256", NULL };

    ngx_memzero(&public, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&public, "RS256 rsa.pub kid=r");

    ngx_memzero(&both, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&both, "RS256 rsa.pub kid=r");
    (void) keyring_add(&both, "HS256 secret kid=h");

    for (none = nones; *none; none++) {
        char  header[64];

        snprintf(header, sizeof(header), "{\"alg\":\"%s\"}", *none);
        verdict(&secrets, forge(header, PAYLOAD, KEYRING_SECRET), ALGORITHM,
                header);
        verdict(&public, forge(header, PAYLOAD, ""), ALGORITHM, header);
        good();
    }

    verdict(&secrets, forge("{}", PAYLOAD, KEYRING_SECRET), ALGORITHM,
            "no algorithm");
    verdict(&secrets, forge("{\"alg\":null}", PAYLOAD, KEYRING_SECRET),
            ALGORITHM, "null for an algorithm");
    verdict(&secrets, forge("{\"alg\":[\"HS256\"]}", PAYLOAD, KEYRING_SECRET),
            ALGORITHM, "a list of algorithms");
    verdict(&secrets, forge("{\"alg\":\"HS384\"}", PAYLOAD, KEYRING_SECRET),
            ALGORITHM, "an algorithm no key serves");

    /* the public key is no secret: libjwt would take it for one */

    bio = BIO_new(BIO_s_mem());
    (void) PEM_write_bio_PUBKEY(bio, rsa);
    len = BIO_get_mem_data(bio, &pem);

    verdict(&public, forge_raw(HEADER, sizeof(HEADER) - 1, PAYLOAD,
                               sizeof(PAYLOAD) - 1, pem, len),
            ALGORITHM, "HS256 with the public key for a secret");
    verdict(&public, forge_raw("{\"alg\":\"HS256\",\"kid\":\"r\"}", 25,
                               PAYLOAD, sizeof(PAYLOAD) - 1, pem, len),
            ALGORITHM, "the same, with the key's id");
    verdict(&both, forge_raw(HEADER, sizeof(HEADER) - 1, PAYLOAD,
                             sizeof(PAYLOAD) - 1, pem, len),
            SIGNATURE, "the same, where HS256 is served");
    verdict(&both, forge_raw("{\"alg\":\"HS256\",\"kid\":\"r\"}", 25,
                             PAYLOAD, sizeof(PAYLOAD) - 1, pem, len),
            ALGORITHM, "by another key than it names");

    BIO_free(bio);
    good();
}


static void
test_headers(void)
{
    ngx_uint_t   i;
    char         header[1024], *p;

    static const struct {
        const char           *header;
        ngx_guildlog_auth_e   expected;
    } cases[] = {
        { "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", OK },
        { "{\"alg\":\"HS256\",\"typ\":\"jwt\"}", OK },
        { "{\"alg\":\"HS256\",\"x\":[1,{\"y\":null}]}", OK },
        { "{\"alg\":\"HS256\",\"typ\":\"JOSE\"}", MALFORMED },
        { "{\"alg\":\"HS256\",\"typ\":1}", MALFORMED },
        { "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", MALFORMED },
        { "{\"alg\":\"HS256\",\"crit\":null}", MALFORMED },
        { "{\"alg\":\"HS256\",\"alg\":\"HS256\"}", MALFORMED },
        { "{\"alg\":\"none\",\"alg\":\"HS256\"}", MALFORMED },
        { "{\"alg\":\"HS256\",\"kid\":1}", MALFORMED },
        { "{\"alg\":\"HS256\",\"kid\":null}", MALFORMED },
        { "{\"alg\":\"HS256\",\"kid\":\"\"}", MALFORMED },
        { "{\"alg\":\"HS256\",\"kid\":\"x\"}", KEY },
        { "{\"alg\":\"HS256\"} x", MALFORMED },
        { "{\"alg\":\"HS256\"", MALFORMED },
        { "[\"HS256\"]", MALFORMED },
        { "\"HS256\"", MALFORMED },
        { "{\"alg\":\"HS256\",\"a\":\"\\u0000\"}", MALFORMED },
        { "{\"alg\":\"HS256\",\"a\":\"\xff\"}", MALFORMED },
        { NULL, OK }
    };

    for (i = 0; cases[i].header; i++) {
        verdict(&secrets, forge(cases[i].header, PAYLOAD, KEYRING_SECRET),
                cases[i].expected, cases[i].header);
        good();
    }

    verdict(&secrets, forge_raw("{\"alg\":\"HS256\"}\0{}", 18, PAYLOAD,
                                sizeof(PAYLOAD) - 1, KEYRING_SECRET, 32),
            MALFORMED, "a NUL that hides the rest");

    snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"kid\":\"%0128d\"}",
             0);
    verdict(&secrets, forge(header, PAYLOAD, KEYRING_SECRET), KEY,
            "a kid of 128 bytes");
    snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"kid\":\"%0129d\"}",
             0);
    verdict(&secrets, forge(header, PAYLOAD, KEYRING_SECRET), MALFORMED,
            "one of 129");

    p = header + snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"x\":");
    memset(p, '[', 400);
    memset(p + 400, ']', 400);
    strcpy(p + 800, "}");
    verdict(&secrets, forge(header, PAYLOAD, KEYRING_SECRET), MALFORMED,
            "deep JSON");
    verdict(&secrets, forge(HEADER, header, KEYRING_SECRET), MALFORMED,
            "in the payload too");
    good();
}


#define WITH(rest)  "{" CLAIMS "\"kind\":\"admin\"," rest "}"
#define LIVE        "\"exp\":1700000100"
#define SUBJECT(s)  "{\"iss\":\"guildlog\",\"jti\":\"a\",\"kind\":\"basic\"," \
                    LIVE ",\"sub\":" s "}"
#define JTI(s)      "{\"iss\":\"guildlog\",\"kind\":\"basic\"," LIVE ","      \
                    "\"sub\":\"" GUILD "\",\"jti\":" s "}"

#define C64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"


static void
test_claims(void)
{
    ngx_uint_t  i;

    static const struct {
        const char           *payload;
        ngx_guildlog_auth_e   expected;
    } cases[] = {
        { WITH(LIVE ",\"bot\":\"pro\",\"iat\":1600000000"), OK },
        { WITH("\"exp\":1700000000.9"), EXPIRED },
        { WITH("\"exp\":1700000001.1"), OK },
        { WITH("\"exp\":16999999.99e2"), EXPIRED },
        { WITH("\"exp\":17000000.1e2"), OK },
        { WITH("\"exp\":1.8e9"), OK },
        { WITH("\"exp\":1e300"), OK },
        { WITH("\"exp\":-1e300"), EXPIRED },
        { WITH("\"exp\":9223372036854775807"), OK },
        { WITH("\"exp\":1700000000"), EXPIRED },
        { WITH("\"exp\":1700000001"), OK },
        { WITH("\"exp\":0"), EXPIRED },
        { WITH("\"exp\":-1"), EXPIRED },
        { WITH("\"exp\":1e400"), MALFORMED },
        { WITH("\"exp\":99999999999999999999"), MALFORMED },
        { WITH("\"exp\":\"1700000100\""), BAD },
        { WITH("\"exp\":null"), BAD },
        { WITH("\"exp\":true"), BAD },
        { WITH("\"exp\":[1700000100]"), BAD },
        { WITH("\"iat\":1"), BAD },
        { WITH(LIVE "," LIVE), MALFORMED },
        { WITH(LIVE ",\"nbf\":1700000030"), OK },
        { WITH(LIVE ",\"nbf\":1700000031"), EXPIRED },
        { WITH(LIVE ",\"nbf\":1e300"), EXPIRED },
        { WITH(LIVE ",\"nbf\":\"1\""), BAD },
        { WITH(LIVE ",\"iat\":1700000030"), OK },
        { WITH(LIVE ",\"iat\":1700000031"), EXPIRED },
        { WITH(LIVE ",\"iat\":false"), BAD },
        { WITH(LIVE ",\"bot\":\"other\""), BAD },
        { WITH(LIVE ",\"bot\":null"), BAD },
        { WITH(LIVE ",\"aud\":[\"x\"],\"x\":{}"), OK },
        { "{" CLAIMS LIVE "}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"Admin\"}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":1}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":3}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"3\"}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"\"}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"rea\"}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"reads\"}", BAD },
        { "{" CLAIMS LIVE ",\"kind\":\"read\"}", OK },
        { "{" CLAIMS LIVE ",\"kind\":\"basic\"}", OK },
        { "{" CLAIMS LIVE ",\"kind\":\"admin\",\"kind\":\"basic\"}",
          MALFORMED },
        { "{}", ISSUER },
        { "{\"iss\":\"guildlo\"}", ISSUER },
        { "{\"iss\":\"guildlogg\"}", ISSUER },
        { "{\"iss\":[\"guildlog\"]}", ISSUER },
        { SUBJECT("\"12345678901234567\""), OK },
        { SUBJECT("\"9223372036854775807\""), OK },
        { SUBJECT("\"09223372036854775807\""), OK },
        { SUBJECT("\"9223372036854775808\""), BAD },
        { SUBJECT("\"1234567890123456\""), BAD },
        { SUBJECT("\"009223372036854775807\""), BAD },
        { SUBJECT("\"12345678901234567x\""), BAD },
        { SUBJECT("\"-12345678901234567\""), BAD },
        { SUBJECT("123456789012345678"), BAD },
        { SUBJECT("\"\""), BAD },
        { SUBJECT("null"), BAD },
        { SUBJECT("\"" GUILD "\\u0000\""), MALFORMED },
        { SUBJECT("\"" GUILD "\\u0000,\""), MALFORMED },
        { "{\"iss\":\"guildlog\",\"jti\":\"a\",\"kind\":\"basic\"," LIVE "}",
          BAD },
        { JTI("\"~m\""), BAD },
        { JTI("\"" C64 "\""), OK },
        { JTI("\"" C64 "0\""), BAD },
        { JTI("\"\""), BAD },
        { JTI("\"a b\""), BAD },
        { JTI("\"a'b\""), BAD },
        { JTI("\"\xc3\xa4\""), BAD },
        { JTI("7"), BAD },
        { "[]", MALFORMED },
        { "null", MALFORMED },
        { "{" CLAIMS LIVE, MALFORMED },
        { NULL, OK }
    };

    for (i = 0; cases[i].payload; i++) {
        verdict(&secrets, forge(HEADER, cases[i].payload, KEYRING_SECRET),
                cases[i].expected, cases[i].payload);
        good();
    }

    verdict(&secrets, forge(HEADER, cases[0].payload, KEYRING_SECRET), OK,
            "a token of the other bot");
    tap_is(token.bot, NGX_GUILDLOG_BOT_PRO, "tells its bot");
    tap_is(token.iat, 1600000000, "and its beginning");

    verdict(&secrets, forge(HEADER, SUBJECT("\"" GUILD "\""), KEYRING_SECRET),
            OK, "a token of the other kind");
    tap_is(token.kind, NGX_GUILDLOG_BASIC, "tells its kind");
    tap_is(token.bot, NGX_GUILDLOG_BOT_MAIN, "and no other's bot");

    verdict(&secrets, forge(HEADER, "{" CLAIMS LIVE ",\"kind\":\"read\"}",
                            KEYRING_SECRET),
            OK, "a token of the third kind");
    tap_is(token.kind, NGX_GUILDLOG_READ, "tells its kind, too");

    verdict(&secrets, forge(HEADER, WITH("\"exp\":1"), "another secret"),
            SIGNATURE, "a signature is judged before the claims");
}


static void
test_kids(void)
{
    ngx_guildlog_token_keys_t  named, mixed;

    ngx_memzero(&named, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&named, "HS256 secret kid=a");
    (void) keyring_add(&named, "HS256 secret2 kid=b");

    ngx_memzero(&mixed, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&mixed, "HS256 secret kid=a");
    (void) keyring_add(&mixed, "HS256 secret2");

    verdict(&named, forge("{\"alg\":\"HS256\",\"kid\":\"a\"}", PAYLOAD,
                          KEYRING_SECRET), OK, "the key it names");
    verdict(&named, forge("{\"alg\":\"HS256\",\"kid\":\"b\"}", PAYLOAD,
                          KEYRING_SECRET), SIGNATURE,
            "another key than it names");
    verdict(&named, forge("{\"alg\":\"HS256\",\"kid\":\"c\"}", PAYLOAD,
                          KEYRING_SECRET), KEY, "a key that is not there");
    verdict(&named, forge(HEADER, PAYLOAD, "x" KEYRING_SECRET), OK,
            "any key, where it names none and all have names");

    verdict(&mixed, forge(HEADER, PAYLOAD, "x" KEYRING_SECRET), OK,
            "the key without a name, where it names none");
    verdict(&mixed, forge(HEADER, PAYLOAD, KEYRING_SECRET), SIGNATURE,
            "and only that one");

    tap_is(ngx_guildlog_token_verify(NULL, NULL, &issuer,
                                     &(ngx_str_t) ngx_string("e30.e30.e30"),
                                     NOW, &token, &tap_log),
           KEY, "no keys at all");
}


/*
 * Whoever looks at the signature, libjwt or OpenSSL, takes this one and no
 * other.
 */

static void
checked(const ngx_guildlog_token_key_t *key, const ngx_str_t *text)
{
    u_char      *p, ch;
    ngx_str_t    other;
    ngx_uint_t   wrong;

    other.data = ngx_pcalloc(keyring_conf.pool, text->len + 5);
    ngx_memcpy(other.data, text->data, text->len);
    other.len = text->len;
    wrong = 0;

    tap_ok(ngx_guildlog_token_check(key, &other, keyring_conf.pool) == NGX_OK
           && ngx_guildlog_token_check_openssl(key, &other, keyring_conf.pool)
              == NGX_OK,
           "each way of looking takes it");

    /* the last character has bits that nobody reads */

    for (p = other.data + text->len - 2; *p != '.'; p--) {
        ch = *p;
        *p = (ch == 'A') ? 'B' : 'A';

        wrong += (ngx_guildlog_token_check(key, &other, keyring_conf.pool)
                  != NGX_DECLINED)
                 + (ngx_guildlog_token_check_openssl(key, &other,
                                                     keyring_conf.pool)
                    != NGX_DECLINED);
        *p = ch;
    }

    ngx_memcpy(other.data + text->len, "AAAA", 4);

    for (other.len = text->len + 4; other.len != text->len - 8; other.len -= 4)
    {
        ch = other.data[other.len];
        other.data[other.len] = '\0';

        wrong += (other.len != text->len)
                 && (ngx_guildlog_token_check(key, &other, keyring_conf.pool)
                     != NGX_DECLINED
                     || ngx_guildlog_token_check_openssl(key, &other,
                                                         keyring_conf.pool)
                        != NGX_DECLINED);
        other.data[other.len] = ch;
    }

    tap_is(wrong, 0, "and no other");
}


static void
test_round_trip(void)
{
    EVP_PKEY                  *pkey;
    ngx_str_t                  text;
    ngx_uint_t                 i;
    ngx_guildlog_token_keys_t  signer, verifier;
    ngx_guildlog_token_t       made;
    char                       words[64];

    static const struct {
        const char  *alg;
        const char  *curve;
    } algs[] = {
        { "HS256", NULL }, { "HS384", NULL }, { "HS512", NULL },
        { "RS256", "" }, { "RS384", "" }, { "RS512", "" },
        { "PS256", "" }, { "PS384", "" }, { "PS512", "" },
        { "ES256", "P-256" }, { "ES384", "P-384" }, { "ES512", "P-521" },
        { "EdDSA", "ED25519" }
    };

    for (i = 0; i < sizeof(algs) / sizeof(algs[0]); i++) {
        ngx_memzero(&signer, sizeof(ngx_guildlog_token_keys_t));
        ngx_memzero(&verifier, sizeof(ngx_guildlog_token_keys_t));

        if (algs[i].curve == NULL) {
            snprintf(words, sizeof(words), "%s secret kid=k1 sign",
                     algs[i].alg);
            (void) keyring_add(&signer, words);
            (void) keyring_add(&verifier, words);

        } else {
            pkey = rsa;

            if (algs[i].curve[0]) {
                pkey = (algs[i].curve[0] == 'P')
                       ? EVP_EC_gen(algs[i].curve)
                       : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
            }

            keyring_private("private", pkey, 0600);
            keyring_public("public", pkey);

            if (pkey != rsa) {
                EVP_PKEY_free(pkey);
            }

            snprintf(words, sizeof(words), "%s private kid=k1 sign",
                     algs[i].alg);
            (void) keyring_add(&signer, words);
            snprintf(words, sizeof(words), "%s public kid=k1", algs[i].alg);
            (void) keyring_add(&verifier, words);
        }

        ngx_memzero(&made, sizeof(ngx_guildlog_token_t));
        ngx_str_set(&made.jti, "token-1");
        ngx_str_set(&made.guild, GUILD);
        made.bot = i % 2;
        made.kind = 1 + i % 2;
        made.iat = NOW;
        made.exp = NOW + 90 * 86400;

        tap_is(ngx_guildlog_token_sign(&signer, &issuer, &made,
                                       keyring_conf.pool, &text),
               NGX_OK, algs[i].alg);
        verdict(&signer, text, OK, "is known by who signed it");
        verdict(&verifier, text, OK, "and by who may only verify");

        tap_ok(token.kind == made.kind && token.bot == made.bot
               && token.iat == made.iat && token.exp == made.exp
               && token.jti.len == made.jti.len,
               "says what it was told to");

        checked(verifier.list.elts, &text);

        spoil(&text);
        verdict(&verifier, text, SIGNATURE, "is not, once changed");

        if (algs[i].curve) {
            tap_is(ngx_guildlog_token_sign(&verifier, &issuer, &made,
                                           keyring_conf.pool, &text),
                   NGX_DECLINED, "a public key signs nothing");
        }
    }

    tap_is(ngx_guildlog_token_sign(&secrets, &issuer, &made, keyring_conf.pool,
                                   &text),
           NGX_DECLINED, "nor does a set without a signing key");
}


/* a changed secret shows what is answered without looking at it */

static void
test_cache(void)
{
    u_char                    *secret;
    ngx_str_t                  text, other, another, dotted, unused;
    ngx_uint_t                 i;
    ngx_guildlog_token_keys_t  keys, next;
    ngx_guildlog_token_key_t  *key;
    char                       payload[4096];

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&keys, "HS256 secret");
    ngx_memzero(&next, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&next, "HS256 secret2");

    key = keys.list.elts;
    secret = key->material.data;

    text = forge(HEADER, PAYLOAD, KEYRING_SECRET);
    other = forge(HEADER, PAYLOAD, "X123456789abcdef0123456789abcdef");

    tap_is(verify(&keys, &text, NOW), OK, "a token is judged");
    tap_is(verify(&keys, &other, NOW), SIGNATURE, "so is a bad one");

    secret[0] = 'X';

    tap_is(verify(&keys, &text, NOW), OK, "and not judged again");
    tap_is(verify(&keys, &other, NOW), OK, "a bad one is");
    tap_is(verify(&keys, &text, NOW + 99), OK, "to the last second");
    tap_is(verify(&keys, &text, NOW + 100), EXPIRED, "but not beyond");
    tap_is(verify(&keys, &text, NOW - 1000000), OK, "whatever the clock does");
    tap_is(verify(&next, &text, NOW), SIGNATURE,
           "other keys judge for themselves");

    ngx_str_set(&issuer, "guildlo");
    tap_is(verify(&keys, &other, NOW), ISSUER,
           "another issuer is judged for itself");
    ngx_str_set(&issuer, "guildlog");

    /* a token and an issuer are not divided elsewhere */

    dotted = forge(HEADER, "{\"iss\":\"one.two\",\"sub\":\"" GUILD "\","
                   "\"jti\":\"t_-1\",\"kind\":\"admin\",\"exp\":1700000100}",
                   "X123456789abcdef0123456789abcdef");
    ngx_str_set(&issuer, "one.two");
    tap_is(verify(&keys, &dotted, NOW), OK, "a token of an issuer with a dot");

    for (i = 0; i < 2; i++) {
        another.data = ngx_pnalloc(keyring_conf.pool, dotted.len + 4);
        another.len = ngx_sprintf(another.data, i ? "one.%V" : "%V.one",
                                  &dotted)
                      - another.data;
        ngx_str_set(&issuer, "two");
        tap_is(verify(&keys, &another, NOW), MALFORMED,
               "a piece of the issuer is none of a token");
    }

    ngx_str_set(&issuer, "guildlog");

    /* forged tokens push out nothing, good ones what is not used */

    for (i = 0; i < 64; i++) {
        snprintf(payload, sizeof(payload), "{\"n\":%u}", (unsigned) i);
        another = forge(HEADER, payload, KEYRING_SECRET);
        (void) verify(&keys, &another, NOW);
    }

    tap_is(verify(&keys, &text, NOW), OK, "forged tokens push out nothing");

    secret[0] = '0';
    unused = forge(HEADER, "{" CLAIMS "\"kind\":\"basic\"," LIVE "}",
                   KEYRING_SECRET);
    (void) verify(&keys, &unused, NOW);

    for (i = 0; i < 64; i++) {
        snprintf(payload, sizeof(payload), "{" CLAIMS "\"kind\":\"admin\","
                 LIVE ",\"n\":%u}", (unsigned) i);
        another = forge(HEADER, payload, KEYRING_SECRET);
        (void) verify(&keys, &another, NOW);
        (void) verify(&keys, &text, NOW);
    }

    secret[0] = 'X';
    tap_is(verify(&keys, &text, NOW), OK, "what is used stays");
    tap_is(verify(&keys, &unused, NOW), SIGNATURE, "what is not goes");

    /* a token of any length is kept, as a digest: nobody finds it in memory */

    secret[0] = '0';
    snprintf(payload, sizeof(payload), "{" CLAIMS "\"kind\":\"admin\"," LIVE
             ",\"x\":\"%02000d\"}", 0);
    text = forge(HEADER, payload, KEYRING_SECRET);

    tap_is(verify(&keys, &text, NOW), OK, "a long token is judged");
    secret[0] = 'X';
    tap_is(verify(&keys, &text, NOW), OK, "once");
}


static void
test_no_memory(void)
{
    ngx_str_t                  text;
    ngx_uint_t                 passed;
    ngx_guildlog_token_keys_t  keys;

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&keys, "HS256 secret");

    text = forge(HEADER, PAYLOAD, KEYRING_SECRET);
    passed = 0;

    json_set_alloc_funcs(tap_malloc, free);

    tap_mallocs = 0;
    passed += (verify(&keys, &text, NOW) == OK);
    tap_mallocs = 1;
    passed += (verify(&keys, &text, NOW) == OK);

    json_set_alloc_funcs(malloc, free);

    tap_is(passed, 0, "nobody is let in for lack of memory");
    tap_is(verify(&keys, &text, NOW), OK, "nor kept out when there is some");
}


int
main(void)
{
    tap_start();
    keyring_start();

    keyring_write("secret", KEYRING_SECRET, 32, 0600);
    keyring_write("secret2", "x" KEYRING_SECRET, 33, 0600);
    rsa = EVP_RSA_gen(2048);
    keyring_public("rsa.pub", rsa);

    (void) keyring_add(&secrets, "HS256 secret");

    cache = ngx_guildlog_cache_create(32, 0, &tap_log);

    test_good();
    test_shapes();
    test_algorithms();
    test_headers();
    test_claims();
    test_kids();
    test_round_trip();
    test_cache();
    test_no_memory();

    ngx_guildlog_cache_destroy(cache);
    cache = NULL;

    test_good();
    test_claims();

    EVP_PKEY_free(rsa);
    keyring_stop();

    return tap_done();
}
