
/*
 * Links ngx_guildlog_seal.c.
 *
 * What is sealed opens for the same owner under the same key, and not if a
 * bit of it is another.
 */

#include "base/ngx_guildlog_seal.h"
#include "tap.h"


static ngx_pool_t  *pool;


static void
test_keys(void)
{
    u_char     key[NGX_GUILDLOG_SEAL_KEY];
    ngx_str_t  text;

    text = tap_str("000102030405060708090a0b0c0d0e0f"
                   "101112131415161718191A1B1C1D1E1F\n");
    tap_is(ngx_guildlog_seal_key(key, &text), NGX_OK, "hexadecimal");
    tap_is(key[31], 31, "32 bytes of it");

    text = tap_str("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    tap_is(ngx_guildlog_seal_key(key, &text), NGX_OK, "base64");
    tap_is(key[31], 31, "32 bytes of it");

    text = tap_str("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==");
    tap_is(ngx_guildlog_seal_key(key, &text), NGX_DECLINED, "31 bytes");
    text = tap_str("zz0102030405060708090a0b0c0d0e0f"
                   "101112131415161718191a1b1c1d1e1f");
    tap_is(ngx_guildlog_seal_key(key, &text), NGX_DECLINED, "no digits");
    text = tap_str("");
    tap_is(ngx_guildlog_seal_key(key, &text), NGX_DECLINED, "nothing");
}


static void
test_seal(void)
{
    u_char     key[NGX_GUILDLOG_SEAL_KEY];
    ngx_str_t  owner, other, plain, sealed, again, opened;

    ngx_memset(key, 7, sizeof(key));

    owner = tap_str("1573507786497592146");
    other = tap_str("1573507786497592147");
    plain = tap_str("a webhook's token");

    tap_is(ngx_guildlog_seal(pool, key, &owner, &plain, &sealed),
           NGX_OK, "sealed");
    tap_is(ngx_guildlog_seal(pool, key, &owner, &plain, &again),
           NGX_OK, "twice");
    tap_ok(ngx_memcmp(sealed.data, again.data, sealed.len) != 0,
           "never the same");
    tap_is(ngx_guildlog_seal_open(pool, key, &owner, &sealed, &opened),
           NGX_OK, "opened");
    tap_is_str(&opened, "a webhook's token", "as it was");

    tap_is(ngx_guildlog_seal_open(pool, key, &other, &sealed, &opened),
           NGX_DECLINED, "for nobody else");

    sealed.data[30] ^= 1;
    tap_is(ngx_guildlog_seal_open(pool, key, &owner, &sealed, &opened),
           NGX_DECLINED, "not changed");
    sealed.data[30] ^= 1;

    key[0]++;
    tap_is(ngx_guildlog_seal_open(pool, key, &owner, &sealed, &opened),
           NGX_DECLINED, "not by another key");

    sealed.len = 20;
    tap_is(ngx_guildlog_seal_open(pool, key, &owner, &sealed, &opened),
           NGX_DECLINED, "not cut");
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    test_keys();
    test_seal();

    ngx_destroy_pool(pool);

    return tap_done();
}
