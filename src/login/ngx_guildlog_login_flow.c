
/*
 * What the platform is asked when somebody signs in: OAuth 2, with PKCE.
 */

#include "login/ngx_guildlog_login.h"
#include <openssl/evp.h>


#define FLOW_CODE  43    /* 32 bytes in base64url */


static ngx_int_t flow_escape(ngx_pool_t *pool, const ngx_str_t *text,
    ngx_str_t *escaped);
static void flow_base64url(const u_char *p, size_t len, u_char *buf,
    ngx_str_t *text);


ngx_int_t
ngx_guildlog_login_flow_query(ngx_pool_t *pool, const ngx_str_t *client,
    const ngx_str_t *scope, const ngx_str_t *redirect,
    const ngx_guildlog_login_start_t *start, ngx_str_t *query)
{
    u_char     hash[32], code[FLOW_CODE], state[NGX_GUILDLOG_LOGIN_DIGITS];
    u_char     buf[FLOW_CODE];
    ngx_str_t  who, what, where, verifier, challenge, nonce;

    if (flow_escape(pool, client, &who) != NGX_OK
        || flow_escape(pool, scope, &what) != NGX_OK
        || flow_escape(pool, redirect, &where) != NGX_OK)
    {
        return NGX_ERROR;
    }

    flow_base64url(start->verifier, sizeof(start->verifier), buf, &verifier);

    if (EVP_Digest(verifier.data, verifier.len, hash, NULL, EVP_sha256(), NULL)
        != 1)
    {
        return NGX_ERROR;
    }

    flow_base64url(hash, sizeof(hash), code, &challenge);

    nonce.data = state;
    nonce.len = ngx_hex_dump(state, (u_char *) start->state,
                             sizeof(start->state))
                - state;

    return ngx_guildlog_print(pool, query, "response_type=code&client_id=%V"
                              "&scope=%V&redirect_uri=%V&state=%V"
                              "&code_challenge=%V&code_challenge_method=S256",
                              &who, &what, &where, &nonce, &challenge);
}


ngx_int_t
ngx_guildlog_login_flow_form(ngx_pool_t *pool, const ngx_str_t *code,
    const ngx_str_t *redirect, const ngx_guildlog_login_start_t *start,
    ngx_str_t *form)
{
    u_char     buf[FLOW_CODE];
    ngx_str_t  what, where, verifier;

    if (flow_escape(pool, code, &what) != NGX_OK
        || flow_escape(pool, redirect, &where) != NGX_OK)
    {
        return NGX_ERROR;
    }

    flow_base64url(start->verifier, sizeof(start->verifier), buf, &verifier);

    return ngx_guildlog_print(pool, form, "grant_type=authorization_code"
                              "&code=%V&redirect_uri=%V&code_verifier=%V",
                              &what, &where, &verifier);
}


ngx_int_t
ngx_guildlog_login_flow_session(ngx_pool_t *pool,
    const ngx_guildlog_login_person_t *person, const char *rights,
    ngx_str_t *text)
{
    return ngx_guildlog_print(pool, text, "~%V.%V.%s", &person->session,
                              &person->user, rights);
}


ngx_int_t
ngx_guildlog_login_flow_basic(ngx_pool_t *pool, const ngx_str_t *client,
    const ngx_str_t *secret, ngx_str_t *basic)
{
    u_char     *p;
    ngx_str_t   who, what, plain, code;

    if (flow_escape(pool, client, &who) != NGX_OK
        || flow_escape(pool, secret, &what) != NGX_OK
        || ngx_guildlog_print(pool, &plain, "%V:%V", &who, &what) != NGX_OK)
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("Basic ") - 1
                          + ngx_base64_encoded_length(plain.len));
    if (p == NULL) {
        return NGX_ERROR;
    }

    basic->data = p;

    code.data = ngx_cpymem(p, "Basic ", sizeof("Basic ") - 1);
    ngx_encode_base64(&code, &plain);

    basic->len = sizeof("Basic ") - 1 + code.len;

    return NGX_OK;
}


/* all but letters, digits and - . _ ~ */

static ngx_int_t
flow_escape(ngx_pool_t *pool, const ngx_str_t *text, ngx_str_t *escaped)
{
    uintptr_t  n;

    n = ngx_escape_uri(NULL, text->data, text->len, NGX_ESCAPE_URI_COMPONENT);

    escaped->len = text->len + 2 * n;
    escaped->data = ngx_pnalloc(pool, escaped->len);

    if (escaped->data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_escape_uri(escaped->data, text->data, text->len,
                          NGX_ESCAPE_URI_COMPONENT);

    return NGX_OK;
}


static void
flow_base64url(const u_char *p, size_t len, u_char *buf, ngx_str_t *text)
{
    ngx_str_t  src;

    src.data = (u_char *) p;
    src.len = len;

    text->data = buf;
    ngx_encode_base64url(text, &src);
}
