
/*
 * Signing in with the chat platform: what is sealed, what the platform is
 * asked and what it answers.  Pure.
 */

#ifndef _NGX_GUILDLOG_LOGIN_H_INCLUDED_
#define _NGX_GUILDLOG_LOGIN_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog_seal.h"


/* s */
#define NGX_GUILDLOG_LOGIN_LIVES     43200
#define NGX_GUILDLOG_LOGIN_STARTS    600

/* bytes; random, and as hexadecimal digits */
#define NGX_GUILDLOG_LOGIN_RANDOM    16
#define NGX_GUILDLOG_LOGIN_DIGITS    32
#define NGX_GUILDLOG_LOGIN_VERIFIER  32

/* of what is sealed, at most */
#define NGX_GUILDLOG_LOGIN_SEALED    1024


/* the keys of what is sealed, and whom they are for */

typedef struct {
    ngx_str_t                      client;   /* the id at the platform */
    u_char                       (*keys)[NGX_GUILDLOG_SEAL_KEY];
    ngx_uint_t                     nkeys;    /* the first one seals */
} ngx_guildlog_login_keys_t;


/* a sign-in that has begun; a browser keeps it for NGX_GUILDLOG_LOGIN_STARTS */

typedef struct {
    u_char                         state[NGX_GUILDLOG_LOGIN_RANDOM];
    u_char                         session[NGX_GUILDLOG_LOGIN_RANDOM];
    u_char                         verifier[NGX_GUILDLOG_LOGIN_VERIFIER];
    time_t                         expires;
} ngx_guildlog_login_start_t;

/* bytes of it, which are random, in front of when it ends */
#define NGX_GUILDLOG_LOGIN_BEGUN                                              \
    offsetof(ngx_guildlog_login_start_t, expires)


/* a session; what stands behind expires only a visit knows */

typedef struct {
    ngx_str_t                      session;  /* hexadecimal */
    ngx_str_t                      user;
    time_t                         expires;
    ngx_str_t                      name;
    ngx_str_t                      avatar;   /* empty: none */
    ngx_str_t                      access;   /* the platform's token */
    ngx_str_t                      guilds;   /* that the person manages: ids */
    ngx_str_t                      icons;    /* and pictures, as SQL arrays */
    ngx_uint_t                     nguilds;
} ngx_guildlog_login_person_t;


/*
 * ngx_guildlog_login_cookie.c
 *
 * open: NGX_DECLINED if none of the keys made it, or not for this.  What is
 * found lives as long as the pool.
 */

ngx_int_t ngx_guildlog_login_cookie_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_start_t *start, ngx_str_t *cookie);
ngx_int_t ngx_guildlog_login_cookie_open_start(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_start_t *start);

/* names the session */
ngx_int_t ngx_guildlog_login_cookie(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_person_t *person, ngx_str_t *cookie);
ngx_int_t ngx_guildlog_login_cookie_open(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *cookie,
    ngx_guildlog_login_person_t *person);

/* the platform's token, as the database keeps it for this session alone */
ngx_int_t ngx_guildlog_login_cookie_access(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys,
    const ngx_guildlog_login_person_t *person, ngx_str_t *sealed);
ngx_int_t ngx_guildlog_login_cookie_open_access(ngx_pool_t *pool,
    const ngx_guildlog_login_keys_t *keys, const ngx_str_t *sealed,
    ngx_guildlog_login_person_t *person);

/* the cookie of that name in a header "Cookie"; NGX_DECLINED: there is none */
ngx_int_t ngx_guildlog_login_cookie_find(const ngx_str_t *header,
    const ngx_str_t *name, ngx_str_t *value);

/* a key for cookies, made of the client's secret; NGX_ERROR: OpenSSL failed */
ngx_int_t ngx_guildlog_login_cookie_key(const ngx_str_t *secret,
    u_char key[NGX_GUILDLOG_SEAL_KEY]);


/*
 * ngx_guildlog_login_flow.c
 *
 * All return NGX_ERROR if out of memory.
 */

/* the query of the platform's page; the redirect is an URL */
ngx_int_t ngx_guildlog_login_flow_query(ngx_pool_t *pool,
    const ngx_str_t *client, const ngx_str_t *scope, const ngx_str_t *redirect,
    const ngx_guildlog_login_start_t *start, ngx_str_t *query);

/* the body that exchanges a code for a token of the platform */
ngx_int_t ngx_guildlog_login_flow_form(ngx_pool_t *pool, const ngx_str_t *code,
    const ngx_str_t *redirect, const ngx_guildlog_login_start_t *start,
    ngx_str_t *form);

/*
 * The session where a token's id stands for the database: for rights see
 * sql/functions/core/session.sql.
 */
ngx_int_t ngx_guildlog_login_flow_session(ngx_pool_t *pool,
    const ngx_guildlog_login_person_t *person, const char *rights,
    ngx_str_t *text);

/* "Basic ..." of the client, by RFC 6749 */
ngx_int_t ngx_guildlog_login_flow_basic(ngx_pool_t *pool,
    const ngx_str_t *client, const ngx_str_t *secret, ngx_str_t *basic);


/*
 * ngx_guildlog_login_answer.c
 *
 * What the platform answers; strings live as long as the tree.  NGX_DECLINED:
 * it is not what was asked for.  NGX_ERROR: out of memory.
 */

ngx_int_t ngx_guildlog_login_answer_token(const json_t *json,
    ngx_str_t *access);
ngx_int_t ngx_guildlog_login_answer_user(const json_t *json,
    ngx_guildlog_login_person_t *person);

/* the guilds that the person manages, as many as there are, in the pool */
ngx_int_t ngx_guildlog_login_answer_guilds(ngx_pool_t *pool,
    const json_t *json, ngx_guildlog_login_person_t *person);


#endif /* _NGX_GUILDLOG_LOGIN_H_INCLUDED_ */
