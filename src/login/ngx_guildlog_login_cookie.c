
/*
 * Cookies: a person, or a sign-in that has begun, sealed, in base64url.
 *
 * A person, as bytes: session, user, expires, asked; name, access and avatar
 * behind their lengths; the number of guilds, and of each its id and its icon.
 * Most icons are hexadecimal digits, and take half of their length.
 */

#include "login/ngx_guildlog_login.h"
#include "api/ngx_guildlog_value.h"
#include <openssl/evp.h>
#include <openssl/kdf.h>


#define COOKIE_START  "guildlog sign-in of "
#define COOKIE_WHO    "guildlog session of "

/* nonce and tag of the seal */
#define COOKIE_SEAL   28

/* bytes of an icon, behind the first one, which tells its kind */
#define COOKIE_HEX    16
#define COOKIE_ICON   40

#define COOKIE_PLAIN  (NGX_GUILDLOG_LOGIN_COOKIE / 4 * 3 - COOKIE_SEAL)


/* of the byte in front of an icon; else the length of its text */

typedef enum {
    COOKIE_ICON_NONE = 0,
    COOKIE_ICON_STILL = 0xfe,    /* 32 hexadecimal digits */
    COOKIE_ICON_MOVING = 0xff    /* the same, with "a_" before them */
} cookie_icon_e;


typedef struct {
    u_char                        *pos;
    u_char                        *last;
    unsigned                       failed:1;  /* it ended too early */
} cookie_reader_t;


static ngx_int_t cookie_seal(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what,
    const ngx_str_t *plain, ngx_str_t *cookie);
static ngx_int_t cookie_open(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what,
    const ngx_str_t *cookie, cookie_reader_t *r);
static ngx_int_t cookie_owner(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const char *what, ngx_str_t *owner);
static u_char *cookie_put_number(u_char *p, uint64_t n);
static u_char *cookie_put_text(u_char *p, const ngx_str_t *text);
static u_char *cookie_put_bytes(u_char *p, const ngx_str_t *text);
static u_char *cookie_put_icon(u_char *p, const ngx_str_t *icon);
static ngx_uint_t cookie_is_hex(const u_char *p, size_t len);
static u_char *cookie_take(cookie_reader_t *r, size_t len);
static uint64_t cookie_take_number(cookie_reader_t *r);
static void cookie_take_text(cookie_reader_t *r, ngx_str_t *text);
static ngx_int_t cookie_take_id(ngx_pool_t *pool, cookie_reader_t *r,
    ngx_str_t *id);
static ngx_int_t cookie_take_icon(ngx_pool_t *pool, cookie_reader_t *r,
    ngx_str_t *icon);


ngx_int_t
ngx_guildlog_login_cookie_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_start_t *start, ngx_str_t *cookie)
{
    u_char     *p, buf[sizeof(ngx_guildlog_login_start_t)];
    ngx_str_t   plain;

    p = ngx_cpymem(buf, start->state, sizeof(start->state));
    p = ngx_cpymem(p, start->session, sizeof(start->session));
    p = ngx_cpymem(p, start->verifier, sizeof(start->verifier));
    p = cookie_put_number(p, start->expires);

    plain.data = buf;
    plain.len = p - buf;

    return cookie_seal(pool, keys, COOKIE_START, &plain, cookie);
}


ngx_int_t
ngx_guildlog_login_cookie_open_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_start_t *start)
{
    u_char           *p;
    ngx_int_t         rc;
    cookie_reader_t   r;

    rc = cookie_open(pool, keys, COOKIE_START, cookie, &r);

    if (rc != NGX_OK) {
        return rc;
    }

    p = cookie_take(&r, sizeof(start->state) + sizeof(start->session)
                        + sizeof(start->verifier));
    start->expires = cookie_take_number(&r);

    if (r.failed || r.pos != r.last) {
        return NGX_DECLINED;
    }

    ngx_memcpy(start->state, p, sizeof(start->state));
    p += sizeof(start->state);
    ngx_memcpy(start->session, p, sizeof(start->session));
    p += sizeof(start->session);
    ngx_memcpy(start->verifier, p, sizeof(start->verifier));

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_login_cookie(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_person_t *person, ngx_str_t *cookie)
{
    u_char     *p, buf[COOKIE_PLAIN], icon[1 + COOKIE_ICON];
    size_t      len, rest;
    ngx_str_t   plain;
    ngx_uint_t  i;

    rest = (person->nguilds) * 9;

    if (person->session.len != NGX_GUILDLOG_LOGIN_DIGITS
        || person->nguilds > NGX_GUILDLOG_LOGIN_GUILDS
        || NGX_GUILDLOG_LOGIN_DIGITS + 3 * 8 + 3 * 2 + person->name.len
           + person->access.len + person->avatar.len + 1 + rest
           > sizeof(buf))
    {
        return NGX_ERROR;
    }

    p = ngx_cpymem(buf, person->session.data, person->session.len);
    p = cookie_put_number(p, ngx_atoi(person->user.data, person->user.len));
    p = cookie_put_number(p, person->expires);
    p = cookie_put_number(p, person->asked);
    p = cookie_put_text(p, &person->name);
    p = cookie_put_text(p, &person->access);
    p = cookie_put_text(p, &person->avatar);
    *p++ = (u_char) person->nguilds;

    for (i = 0; i < person->nguilds; i++) {
        rest -= 9;
        p = cookie_put_number(p, ngx_atoi(person->guilds[i].id.data,
                                          person->guilds[i].id.len));

        len = cookie_put_icon(icon, &person->guilds[i].icon) - icon;

        if ((size_t) (buf + sizeof(buf) - p) < len + rest) {
            icon[0] = COOKIE_ICON_NONE;
            len = 1;
        }

        p = ngx_cpymem(p, icon, len);
    }

    plain.data = buf;
    plain.len = p - buf;

    return cookie_seal(pool, keys, COOKIE_WHO, &plain, cookie);
}


ngx_int_t
ngx_guildlog_login_cookie_open(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person)
{
    u_char                      *n;
    ngx_int_t                    rc;
    ngx_uint_t                   i;
    cookie_reader_t              r;
    ngx_guildlog_login_guild_t  *s;

    rc = cookie_open(pool, keys, COOKIE_WHO, cookie, &r);

    if (rc != NGX_OK) {
        return rc;
    }

    /* what was sealed is ours, but perhaps of another version */

    person->session.data = cookie_take(&r, NGX_GUILDLOG_LOGIN_DIGITS);
    person->session.len = NGX_GUILDLOG_LOGIN_DIGITS;

    if (cookie_take_id(pool, &r, &person->user) != NGX_OK) {
        return NGX_ERROR;
    }

    person->expires = cookie_take_number(&r);
    person->asked = cookie_take_number(&r);

    cookie_take_text(&r, &person->name);
    cookie_take_text(&r, &person->access);
    cookie_take_text(&r, &person->avatar);

    n = cookie_take(&r, 1);

    if (n == NULL || *n > NGX_GUILDLOG_LOGIN_GUILDS) {
        return NGX_DECLINED;
    }

    s = ngx_pcalloc(pool, (*n + 1) * sizeof(ngx_guildlog_login_guild_t));
    if (s == NULL) {
        return NGX_ERROR;
    }

    person->guilds = s;
    person->nguilds = *n;

    for (i = 0; i < person->nguilds; i++, s++) {
        if (cookie_take_id(pool, &r, &s->id) != NGX_OK
            || cookie_take_icon(pool, &r, &s->icon) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return !r.failed && r.pos == r.last ? NGX_OK : NGX_DECLINED;
}


/* what: a cookie of one kind is none of the other */

static ngx_int_t
cookie_seal(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, const ngx_str_t *plain, ngx_str_t *cookie)
{
    ngx_str_t  owner, raw;

    if (cookie_owner(pool, keys, what, &owner) != NGX_OK
        || ngx_guildlog_seal_raw(pool, keys->keys[0], &owner, plain, &raw)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    cookie->data = ngx_pnalloc(pool, ngx_base64_encoded_length(raw.len));
    if (cookie->data == NULL) {
        return NGX_ERROR;
    }

    ngx_encode_base64url(cookie, &raw);

    return NGX_OK;
}


static ngx_int_t
cookie_open(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, const ngx_str_t *cookie, cookie_reader_t *r)
{
    ngx_int_t   rc;
    ngx_str_t   src, raw, owner, plain;
    ngx_uint_t  i;

    if (cookie->len > NGX_GUILDLOG_LOGIN_COOKIE) {
        return NGX_DECLINED;
    }

    raw.data = ngx_pnalloc(pool, ngx_base64_decoded_length(cookie->len) + 3);

    if (raw.data == NULL
        || cookie_owner(pool, keys, what, &owner) != NGX_OK)
    {
        return NGX_ERROR;
    }

    src = *cookie;

    if (ngx_decode_base64url(&raw, &src) != NGX_OK) {
        return NGX_DECLINED;
    }

    rc = NGX_DECLINED;

    for (i = 0; i < keys->nkeys && rc == NGX_DECLINED; i++) {
        rc = ngx_guildlog_seal_open_raw(pool, keys->keys[i], &owner, &raw,
                                        &plain);
    }

    if (rc == NGX_OK) {
        r->pos = plain.data;
        r->last = plain.data + plain.len;
        r->failed = 0;
    }

    return rc;
}


static ngx_int_t
cookie_owner(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
    const char *what, ngx_str_t *owner)
{
    owner->data = ngx_pnalloc(pool, ngx_strlen(what) + keys->client.len);
    if (owner->data == NULL) {
        return NGX_ERROR;
    }

    owner->len = ngx_sprintf(owner->data, "%s%V", what, &keys->client)
                 - owner->data;

    return NGX_OK;
}


static u_char *
cookie_put_number(u_char *p, uint64_t n)
{
    int  shift;

    for (shift = 56; shift >= 0; shift -= 8) {
        *p++ = (u_char) (n >> shift);
    }

    return p;
}


static u_char *
cookie_put_text(u_char *p, const ngx_str_t *text)
{
    *p++ = (u_char) (text->len >> 8);
    *p++ = (u_char) text->len;

    return cookie_put_bytes(p, text);
}


/* what the platform has not has no data */

static u_char *
cookie_put_bytes(u_char *p, const ngx_str_t *text)
{
    return text->len ? ngx_cpymem(p, text->data, text->len) : p;
}


static u_char *
cookie_put_icon(u_char *p, const ngx_str_t *icon)
{
    size_t   i;
    u_char  *text;

    text = icon->data;

    if (cookie_is_hex(text, icon->len)) {
        *p++ = COOKIE_ICON_STILL;

    } else if (icon->len > 2 && ngx_strncmp(text, "a_", 2) == 0
               && cookie_is_hex(text + 2, icon->len - 2))
    {
        *p++ = COOKIE_ICON_MOVING;
        text += 2;

    } else if (icon->len <= COOKIE_ICON) {
        *p++ = (u_char) icon->len;
        return cookie_put_bytes(p, icon);

    } else {
        *p++ = COOKIE_ICON_NONE;
        return p;
    }

    for (i = 0; i < COOKIE_HEX; i++) {
        *p++ = (u_char) ngx_hextoi(text + 2 * i, 2);
    }

    return p;
}


/* 32 digits, as ngx_hex_dump() writes them */

static ngx_uint_t
cookie_is_hex(const u_char *p, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f'))) {
            return 0;
        }
    }

    return len == 2 * COOKIE_HEX;
}


/* NULL: there are not so many, and failed is set */

static u_char *
cookie_take(cookie_reader_t *r, size_t len)
{
    u_char  *p;

    if (r->failed || (size_t) (r->last - r->pos) < len) {
        r->failed = 1;
        return NULL;
    }

    p = r->pos;
    r->pos += len;

    return p;
}


static uint64_t
cookie_take_number(cookie_reader_t *r)
{
    u_char    *p;
    uint64_t   n;

    p = cookie_take(r, 8);
    n = 0;

    if (p) {
        while (p < r->pos) {
            n = n << 8 | *p++;
        }
    }

    return n;
}


static void
cookie_take_text(cookie_reader_t *r, ngx_str_t *text)
{
    u_char  *p;

    ngx_str_null(text);

    p = cookie_take(r, 2);

    if (p) {
        text->len = p[0] << 8 | p[1];
        text->data = cookie_take(r, text->len);
    }

    if (r->failed) {
        text->len = 0;
    }
}


static ngx_int_t
cookie_take_id(ngx_pool_t *pool, cookie_reader_t *r, ngx_str_t *id)
{
    id->data = ngx_pnalloc(pool, NGX_INT64_LEN);
    if (id->data == NULL) {
        return NGX_ERROR;
    }

    id->len = ngx_sprintf(id->data, "%uL", cookie_take_number(r)) - id->data;

    return NGX_OK;
}


static ngx_int_t
cookie_take_icon(ngx_pool_t *pool, cookie_reader_t *r, ngx_str_t *icon)
{
    u_char  *p, *kind;

    kind = cookie_take(r, 1);

    if (kind == NULL || *kind < COOKIE_ICON_STILL) {
        icon->len = kind ? *kind : 0;
        icon->data = cookie_take(r, icon->len);
        icon->len = icon->data ? icon->len : 0;
        return NGX_OK;
    }

    p = cookie_take(r, COOKIE_HEX);
    if (p == NULL) {
        return NGX_OK;
    }

    icon->data = ngx_pnalloc(pool, 2 + 2 * COOKIE_HEX);
    if (icon->data == NULL) {
        return NGX_ERROR;
    }

    icon->len = 0;

    if (*kind == COOKIE_ICON_MOVING) {
        icon->data[icon->len++] = 'a';
        icon->data[icon->len++] = '_';
    }

    icon->len = ngx_hex_dump(icon->data + icon->len, p, COOKIE_HEX)
                - icon->data;

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
