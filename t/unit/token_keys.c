
/*
 * Links ngx_guildlog_token_keys.c.
 *
 * A key serves one algorithm and fits it, or nginx does not start.
 */

#include <ngx_config.h>
#include <sys/stat.h>
#include <openssl/err.h>
#include "keyring.h"


static void
accepted(const char *words)
{
    ngx_guildlog_token_keys_t  keys;

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));

    tap_ok(keyring_add(&keys, words) == NGX_CONF_OK && keys.list.nelts == 1,
           "accepted: %s", words);

    if (tap_logged.len) {
        printf("# %.*s\n", (int) tap_logged.len, tap_logged.data);
    }
}


static void
refused(const char *words, const char *why)
{
    ngx_guildlog_token_keys_t  keys;

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));

    tap_ok(keyring_add(&keys, words) == NGX_CONF_ERROR
           && keys.list.nelts == 0 && tap_log_has(why),
           "refused: %s: %s", words, why);

    if (!tap_log_has(why)) {
        printf("# %.*s\n", (int) tap_logged.len, tap_logged.data);
    }
}


static void
test_secrets(void)
{
    ngx_guildlog_token_key_t  *key;
    ngx_guildlog_token_keys_t  keys;

    keyring_write("secret", KEYRING_SECRET, 32, 0600);
    keyring_write("newline", KEYRING_SECRET "\n", 33, 0640);
    keyring_write("crlf", KEYRING_SECRET "\r\n", 34, 0600);
    keyring_write("short", KEYRING_SECRET, 31, 0600);
    keyring_write("binary", KEYRING_SECRET "\0\xff", 34, 0600);
    keyring_write("empty", "", 0, 0600);
    keyring_write("lf", "\n", 1, 0600);
    keyring_write("open", KEYRING_SECRET, 32, 0644);
    keyring_write("writable", KEYRING_SECRET, 32, 0602);

    accepted("HS256 secret");
    accepted("HS384 secret kid=a");
    accepted("HS512 secret sign");
    accepted("HS256 secret kid=a sign");

    refused("HS256 short", "less than 32 bytes");
    refused("HS256 empty", "is empty");
    refused("HS256 lf", "less than 32 bytes");
    refused("HS256 open", "must be secret");
    refused("HS256 writable", "writable by everyone");
    refused("HS256 absent", "failed (2: ");
    refused("HS256 .", "not a regular file");

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&keys, "HS256 newline sign");
    (void) keyring_add(&keys, "HS256 crlf");
    (void) keyring_add(&keys, "HS256 binary");

    key = keys.list.elts;
    tap_is_str(&key[0].material, KEYRING_SECRET, "a newline is cut off");
    tap_is_str(&key[0].signing, KEYRING_SECRET, "a secret also signs");
    tap_is(key[0].material.data[32], 0, "a NUL stands behind");
    tap_is_str(&key[1].material, KEYRING_SECRET, "so is one of Windows");
    tap_is(key[1].signing.len, 0, "only where it is told");
    tap_is(key[2].material.len, 34, "bytes of any value are kept");
}


static void
test_words(void)
{
    refused("HS257 secret", "unknown key algorithm \"HS257\"");
    refused("hs256 secret", "unknown key algorithm \"hs256\"");
    refused("none secret", "unknown key algorithm \"none\"");
    refused("PS257 secret", "unknown key algorithm \"PS257\"");
    refused("HS256 secret kid=", "\"kid\" must be 1 to 128");
    refused("HS256 secret kid=\x01", "\"kid\" must be printable");
    refused("HS256 secret kid=\xc3\xa4", "\"kid\" must be printable");
    refused("HS256 secret singn", "invalid parameter \"singn\"");
}


static void
test_pem(void)
{
    EVP_PKEY  *rsa, *small, *ec, *ed;

    rsa = EVP_RSA_gen(2048);
    small = EVP_RSA_gen(1024);
    ec = EVP_EC_gen("P-256");
    ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

    keyring_private("ed", ed, 0600);
    keyring_public("ed.pub", ed);
    keyring_private("rsa", rsa, 0600);
    keyring_private("rsa-open", rsa, 0644);
    keyring_public("rsa.pub", rsa);
    keyring_public("small.pub", small);
    keyring_private("small", small, 0600);
    keyring_private("ec", ec, 0600);
    keyring_public("ec.pub", ec);
    keyring_write("garbage",
                  "-----BEGIN PUBLIC KEY-----\nAAAA\n"
                  "-----END PUBLIC KEY-----\n", 57, 0644);
    keyring_write("certificate",
                  "-----BEGIN CERTIFICATE-----\nAAAA\n"
                  "-----END CERTIFICATE-----\n", 59, 0644);

    accepted("RS256 rsa.pub");
    accepted("RS384 rsa.pub kid=a");
    accepted("RS512 rsa sign");
    accepted("RS256 rsa");
    accepted("ES256 ec.pub");
    accepted("ES256 ec sign");
    accepted("PS256 rsa.pub");
    accepted("PS512 rsa sign");
    accepted("EdDSA ed.pub");
    accepted("EdDSA ed sign");

    refused("HS256 rsa.pub", "holds PEM, not a secret");
    refused("RS256 secret", "holds no PEM");
    refused("RS256 rsa.pub sign", "no private key to sign");
    refused("RS256 rsa-open", "must be secret");
    refused("RS256 small.pub", "less than 2048 bits");
    refused("RS256 small sign", "less than 2048 bits");
    refused("RS256 ec.pub", "another type of algorithm");
    refused("ES256 rsa.pub", "another type of algorithm");
    refused("PS256 ed.pub", "another type of algorithm");
    refused("PS384 small.pub", "less than 2048 bits");
    refused("EdDSA ec.pub", "another type of algorithm");
    refused("ES384 ec.pub", "another curve");
    refused("ES512 ec sign", "another curve");
    refused("RS256 garbage", "no readable public key");
    refused("RS256 certificate", "no readable public key");

    tap_is(ERR_peek_error(), 0, "OpenSSL's errors are taken away");

    EVP_PKEY_free(rsa);
    EVP_PKEY_free(small);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(ed);
}


/* nginx must not stop to ask for a password */

static void
test_encrypted(void)
{
    FILE      *file;
    EVP_PKEY  *ec;

    ec = EVP_EC_gen("P-256");
    file = keyring_open("encrypted", 0600);
    (void) PEM_write_PrivateKey(file, ec, EVP_aes_128_cbc(),
                                (u_char *) "secret", 6, NULL, NULL);
    (void) fclose(file);
    EVP_PKEY_free(ec);

    refused("ES256 encrypted sign", "or an encrypted one");
}


static void
test_fifo(void)
{
    char  path[256];

    snprintf(path, sizeof(path), "%s/fifo", keyring_dir);
    (void) mkfifo(path, 0600);

    refused("HS256 fifo", "not a regular file");
}


static void
test_set(void)
{
    ngx_uint_t                 generation;
    ngx_guildlog_token_key_t  *key;
    ngx_guildlog_token_keys_t  keys, other;

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    ngx_memzero(&other, sizeof(ngx_guildlog_token_keys_t));

    tap_ok(keyring_add(&keys, "HS256 secret kid=a sign") == NGX_CONF_OK,
           "a first key");
    generation = keys.generation;
    tap_ok(keyring_add(&keys, "RS256 rsa.pub kid=b") == NGX_CONF_OK,
           "a second one, of another algorithm");
    tap_ok(keys.generation != generation, "makes it another set");
    tap_ok(keyring_add(&keys, "HS256 newline") == NGX_CONF_OK,
           "a third one, without a kid");
    tap_ok(keyring_add(&keys, "ES256 ec kid=a") == NGX_CONF_ERROR
           && tap_log_has("duplicate kid \"a\""), "a kid is not given twice");
    tap_ok(keyring_add(&keys, "ES256 ec kid=c sign") == NGX_CONF_ERROR
           && tap_log_has("only one key may"), "nor do two keys sign");
    tap_is(keys.list.nelts, 3, "three keys are left");

    key = keys.list.elts;
    tap_is_str(&key[0].kid, "a", "with their names");
    tap_is_str(&key[1].alg, "RS256", "and algorithms");

    tap_ok(keyring_add(&other, "HS256 secret kid=a sign") == NGX_CONF_OK
           && other.generation != keys.generation,
           "another level's set may have the same, and is not the same");
}


static void
test_private(void)
{
    ngx_guildlog_token_key_t  *key;
    ngx_guildlog_token_keys_t  keys;

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&keys, "RS256 rsa sign");
    (void) keyring_add(&keys, "ES256 ec");

    key = keys.list.elts;
    tap_ok(ngx_strncmp(key[0].material.data, "-----BEGIN PUBLIC KEY-----", 26)
           == 0, "the public half verifies");
    tap_ok(ngx_strncmp(key[0].signing.data, "-----BEGIN PRIVATE KEY-----", 27)
           == 0, "the private one signs");
    tap_ok(key[1].signing.data == NULL, "or is not kept");
}


static void
test_wiped(void)
{
    ngx_pool_t                *pool;
    ngx_guildlog_token_key_t  *key;
    ngx_guildlog_token_keys_t  keys;
    ngx_pool_cleanup_t        *cln;

    pool = keyring_conf.pool;
    keyring_conf.pool = tap_pool();

    ngx_memzero(&keys, sizeof(ngx_guildlog_token_keys_t));
    (void) keyring_add(&keys, "HS256 secret");
    key = keys.list.elts;

    for (cln = keyring_conf.pool->cleanup; cln; cln = cln->next) {
        cln->handler(cln->data);
    }

    keyring_conf.pool->cleanup = NULL;

    tap_ok(key->material.data[0] == 0
           && ngx_memcmp(key->material.data, key->material.data + 1, 31) == 0,
           "a secret is wiped when its configuration goes");

    ngx_destroy_pool(keyring_conf.pool);
    keyring_conf.pool = pool;
}


int
main(void)
{
    tap_start();
    keyring_start();

    test_secrets();
    test_words();
    test_pem();
    test_encrypted();
    test_fifo();
    test_set();
    test_private();
    test_wiped();

    keyring_stop();

    return tap_done();
}
