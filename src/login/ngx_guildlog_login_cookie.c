
/*
 * What is sealed, in base64url: the cookie that names a session, that of a
 * sign-in that has begun, and the platform's token of a session, which the
 * database keeps.
 */

#include "login/ngx_guildlog_login.h"
#include "api/ngx_guildlog_value.h"
#include <openssl/evp.h>
#include <openssl/kdf.h>


/* what is of one kind is of no other one */
#define COOKIE_START   "guildlog sign-in of "
#define COOKIE_WHO     "guildlog session of "
#define COOKIE_ACCESS  "guildlog access of "


static ngx_int_t cookie_seal(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what,
    const ngx_str_t *plain, ngx_str_t *sealed);
static ngx_int_t cookie_open(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what,
    const ngx_str_t *sealed, ngx_str_t *plain);
static ngx_int_t cookie_owner(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what, ngx_str_t *owner);
static ngx_int_t cookie_part(ngx_str_t *rest, ngx_str_t *part);


ngx_int_t
ngx_guildlog_login_cookie_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_start_t *start, ngx_str_t *cookie)
{
    u_char     *p, buf[NGX_GUILDLOG_LOGIN_BEGUN + NGX_TIME_T_LEN];
    ngx_str_t   plain;

    p = ngx_cpymem(buf, start, NGX_GUILDLOG_LOGIN_BEGUN);
    p = ngx_sprintf(p, "%T", start->expires);

    plain.data = buf;
    plain.len = p - buf;

    return cookie_seal(pool, keys, COOKIE_START, &plain, cookie);
}


ngx_int_t
ngx_guildlog_login_cookie_open_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_start_t *start)
{
    ngx_int_t  rc;
    ngx_str_t  plain;

    rc = cookie_open(pool, keys, COOKIE_START, cookie, &plain);

    if (rc != NGX_OK) {
        return rc;
    }

    /* what was sealed is ours, but perhaps of another version */

    if (plain.len <= NGX_GUILDLOG_LOGIN_BEGUN) {
        return NGX_DECLINED;
    }

    ngx_memcpy(start, plain.data, NGX_GUILDLOG_LOGIN_BEGUN);

    start->expires = ngx_atotm(plain.data + NGX_GUILDLOG_LOGIN_BEGUN,
                               plain.len - NGX_GUILDLOG_LOGIN_BEGUN);

    return start->expires == NGX_ERROR ? NGX_DECLINED : NGX_OK;
}


ngx_int_t
ngx_guildlog_login_cookie(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_person_t *person, ngx_str_t *cookie)
{
    u_char     buf[NGX_GUILDLOG_LOGIN_DIGITS + NGX_INT64_LEN + NGX_TIME_T_LEN
                   + sizeof("..")];
    ngx_str_t  plain;

    ngx_guildlog_assert(person->session.len == NGX_GUILDLOG_LOGIN_DIGITS
                        && person->user.len <= NGX_INT64_LEN);

    plain.data = buf;
    plain.len = ngx_sprintf(buf, "%V.%V.%T", &person->session, &person->user,
                            person->expires)
                - buf;

    return cookie_seal(pool, keys, COOKIE_WHO, &plain, cookie);
}


ngx_int_t
ngx_guildlog_login_cookie_open(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person)
{
    ngx_int_t  rc;
    ngx_str_t  rest;

    ngx_memzero(person, sizeof(ngx_guildlog_login_person_t));

    rc = cookie_open(pool, keys, COOKIE_WHO, cookie, &rest);

    if (rc != NGX_OK) {
        return rc;
    }

    if (cookie_part(&rest, &person->session) != NGX_OK
        || cookie_part(&rest, &person->user) != NGX_OK
        || person->session.len != NGX_GUILDLOG_LOGIN_DIGITS
        || !ngx_guildlog_value_is_id(&person->user))
    {
        return NGX_DECLINED;
    }

    person->expires = ngx_atotm(rest.data, rest.len);

    return person->expires == NGX_ERROR ? NGX_DECLINED : NGX_OK;
}


ngx_int_t
ngx_guildlog_login_cookie_access(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_person_t *person, ngx_str_t *sealed)
{
    ngx_str_t  plain;

    if (ngx_guildlog_print(pool, &plain, "%V.%V", &person->session,
                           &person->access)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return cookie_seal(pool, keys, COOKIE_ACCESS, &plain, sealed);
}


ngx_int_t
ngx_guildlog_login_cookie_open_access(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *sealed,
    ngx_guildlog_login_person_t *person)
{
    ngx_int_t  rc;
    ngx_str_t  session;

    rc = cookie_open(pool, keys, COOKIE_ACCESS, sealed, &person->access);

    if (rc != NGX_OK) {
        return rc;
    }

    return cookie_part(&person->access, &session) == NGX_OK
           && ngx_guildlog_str_eq(&session, &person->session)
           ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
cookie_seal(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, const ngx_str_t *plain, ngx_str_t *sealed)
{
    ngx_str_t  owner, raw;

    if (cookie_owner(pool, keys, what, &owner) != NGX_OK
        || ngx_guildlog_seal_raw(pool, keys->keys[0], &owner, plain, &raw)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    sealed->data = ngx_pnalloc(pool, ngx_base64_encoded_length(raw.len));
    if (sealed->data == NULL) {
        return NGX_ERROR;
    }

    ngx_encode_base64url(sealed, &raw);

    return NGX_OK;
}


static ngx_int_t
cookie_open(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, const ngx_str_t *sealed, ngx_str_t *plain)
{
    ngx_int_t   rc;
    ngx_str_t   src, raw, owner;
    ngx_uint_t  i;

    if (sealed->len > NGX_GUILDLOG_LOGIN_SEALED) {
        return NGX_DECLINED;
    }

    raw.data = ngx_pnalloc(pool, ngx_base64_decoded_length(sealed->len) + 3);

    if (raw.data == NULL
        || cookie_owner(pool, keys, what, &owner) != NGX_OK)
    {
        return NGX_ERROR;
    }

    src = *sealed;

    if (ngx_decode_base64url(&raw, &src) != NGX_OK) {
        return NGX_DECLINED;
    }

    rc = NGX_DECLINED;

    for (i = 0; i < keys->nkeys && rc == NGX_DECLINED; i++) {
        rc = ngx_guildlog_seal_open_raw(pool, keys->keys[i], &owner, &raw,
                                        plain);
    }

    return rc;
}


static ngx_int_t
cookie_owner(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, ngx_str_t *owner)
{
    return ngx_guildlog_print(pool, owner, "%s%V", what, &keys->client);
}


/* what stands in front of the next dot, which has to be there */

static ngx_int_t
cookie_part(ngx_str_t *rest, ngx_str_t *part)
{
    u_char  *dot;

    dot = ngx_strlchr(rest->data, rest->data + rest->len, '.');
    if (dot == NULL) {
        return NGX_DECLINED;
    }

    part->data = rest->data;
    part->len = dot - rest->data;

    rest->data = dot + 1;
    rest->len -= part->len + 1;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_login_cookie_find(const ngx_str_t *header, const ngx_str_t *name,
    ngx_str_t *value)
{
    u_char  *p, *last, *end;

    p = header->data;
    last = header->data + header->len;

    for ( /* void */ ; p < last; p = end + 1) {

        while (p < last && (*p == ' ' || *p == ';')) {
            p++;
        }

        end = ngx_strlchr(p, last, ';');
        end = end ? end : last;

        if ((size_t) (end - p) > name->len && p[name->len] == '='
            && ngx_memcmp(p, name->data, name->len) == 0)
        {
            value->data = p + name->len + 1;
            value->len = end - value->data;

            while (value->len && value->data[value->len - 1] == ' ') {
                value->len--;
            }

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


/* HKDF by RFC 5869: what was made for cookies is good for nothing else */

ngx_int_t
ngx_guildlog_login_cookie_key(const ngx_str_t *secret,
    u_char key[NGX_GUILDLOG_SEAL_KEY])
{
    size_t         len;
    ngx_int_t      rc;
    EVP_PKEY_CTX  *ctx;

    static const char  info[] = "guildlog cookies";

    len = NGX_GUILDLOG_SEAL_KEY;
    ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);

    rc = ctx != NULL
         && EVP_PKEY_derive_init(ctx) == 1
         && EVP_PKEY_CTX_set_hkdf_md(ctx, EVP_sha256()) == 1
         && EVP_PKEY_CTX_set1_hkdf_key(ctx, secret->data, secret->len) == 1
         && EVP_PKEY_CTX_add1_hkdf_info(ctx, (const u_char *) info,
                                        sizeof(info) - 1)
            == 1
         && EVP_PKEY_derive(ctx, key, &len) == 1 ? NGX_OK : NGX_ERROR;

    EVP_PKEY_CTX_free(ctx);

    return rc;
}
