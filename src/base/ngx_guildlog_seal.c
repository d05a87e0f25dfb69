
/*
 * nonce, ciphertext, tag: as they are, or as "\x" and hexadecimal digits.
 */

#include "base/ngx_guildlog_seal.h"
#include <openssl/evp.h>
#include <openssl/rand.h>


#define SEAL_NONCE  12
#define SEAL_TAG    16
#define SEAL_MORE   (SEAL_NONCE + SEAL_TAG)


static ngx_int_t seal_unhex(u_char *dst, const u_char *src, size_t n);


ngx_int_t
ngx_guildlog_seal_key(u_char key[NGX_GUILDLOG_SEAL_KEY], const ngx_str_t *text)
{
    u_char     buf[64];
    ngx_str_t  src, dst;

    src = *text;

    while (src.len && src.data[src.len - 1] <= ' ') {
        src.len--;
    }

    if (src.len == 2 * NGX_GUILDLOG_SEAL_KEY) {
        return seal_unhex(key, src.data, NGX_GUILDLOG_SEAL_KEY)
               == NGX_OK ? NGX_OK : NGX_DECLINED;
    }

    if (src.len < 43 || src.len > 44) {
        return NGX_DECLINED;
    }

    dst.data = buf;

    if (ngx_decode_base64(&dst, &src) != NGX_OK
        || dst.len != NGX_GUILDLOG_SEAL_KEY)
    {
        return NGX_DECLINED;
    }

    ngx_memcpy(key, buf, NGX_GUILDLOG_SEAL_KEY);
    ngx_explicit_memzero(buf, sizeof(buf));

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_seal(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *plain, ngx_str_t *sealed)
{
    u_char     *p;
    ngx_str_t   raw;

    if (ngx_guildlog_seal_raw(pool, key, owner, plain, &raw) != NGX_OK) {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, 2 + 2 * raw.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    sealed->data = p;
    *p++ = '\\';
    *p++ = 'x';
    sealed->len = ngx_hex_dump(p, raw.data, raw.len) - sealed->data;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_seal_raw(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *plain, ngx_str_t *raw)
{
    int              n;
    u_char          *nonce, *text;
    ngx_int_t        rc;
    EVP_CIPHER_CTX  *ctx;

    raw->len = plain->len + SEAL_MORE;
    raw->data = ngx_pnalloc(pool, raw->len);
    ctx = EVP_CIPHER_CTX_new();

    if (raw->data == NULL || ctx == NULL) {
        EVP_CIPHER_CTX_free(ctx);
        return NGX_ERROR;
    }

    nonce = raw->data;
    text = raw->data + SEAL_NONCE;

    rc = RAND_bytes(nonce, SEAL_NONCE) == 1
         && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce) == 1
         && EVP_EncryptUpdate(ctx, NULL, &n, owner->data, owner->len) == 1
         && EVP_EncryptUpdate(ctx, text, &n, plain->data, plain->len) == 1
         && EVP_EncryptFinal_ex(ctx, text + n, &n) == 1
         && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG,
                                SEAL_TAG, text + plain->len)
            == 1 ? NGX_OK : NGX_ERROR;

    EVP_CIPHER_CTX_free(ctx);

    return rc;
}


ngx_int_t
ngx_guildlog_seal_open(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *sealed, ngx_str_t *plain)
{
    ngx_str_t  raw;

    if (sealed->len < 2 + 2 * SEAL_MORE
        || sealed->data[0] != '\\' || sealed->data[1] != 'x')
    {
        return NGX_DECLINED;
    }

    raw.len = (sealed->len - 2) / 2;
    raw.data = ngx_pnalloc(pool, raw.len);

    if (raw.data == NULL) {
        return NGX_ERROR;
    }

    if (seal_unhex(raw.data, sealed->data + 2, raw.len) != NGX_OK) {
        return NGX_DECLINED;
    }

    return ngx_guildlog_seal_open_raw(pool, key, owner, &raw, plain);
}


ngx_int_t
ngx_guildlog_seal_open_raw(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *raw, ngx_str_t *plain)
{
    int              n;
    u_char          *text;
    ngx_int_t        rc;
    EVP_CIPHER_CTX  *ctx;

    if (raw->len < SEAL_MORE) {
        return NGX_DECLINED;
    }

    plain->len = raw->len - SEAL_MORE;
    plain->data = ngx_pnalloc(pool, raw->len);
    ctx = EVP_CIPHER_CTX_new();

    if (plain->data == NULL || ctx == NULL) {
        EVP_CIPHER_CTX_free(ctx);
        return NGX_ERROR;
    }

    rc = NGX_ERROR;
    text = raw->data + SEAL_NONCE;

    if (EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, raw->data) == 1
        && EVP_DecryptUpdate(ctx, NULL, &n, owner->data, owner->len) == 1
        && EVP_DecryptUpdate(ctx, plain->data, &n, text, plain->len) == 1
        && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, SEAL_TAG,
                               text + plain->len)
           == 1)
    {
        rc = EVP_DecryptFinal_ex(ctx, plain->data + n, &n) == 1
             ? NGX_OK : NGX_DECLINED;
    }

    EVP_CIPHER_CTX_free(ctx);

    return rc;
}


static ngx_int_t
seal_unhex(u_char *dst, const u_char *src, size_t n)
{
    ngx_int_t  byte;

    while (n--) {
        byte = ngx_hextoi((u_char *) src, 2);

        if (byte == NGX_ERROR) {
            return NGX_ERROR;
        }

        *dst++ = (u_char) byte;
        src += 2;
    }

    return NGX_OK;
}
