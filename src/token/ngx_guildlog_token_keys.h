
/*
 * Key files, read when the configuration is.
 */

#ifndef _NGX_GUILDLOG_TOKEN_KEYS_H_INCLUDED_
#define _NGX_GUILDLOG_TOKEN_KEYS_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_TOKEN_KEYS_KID_MAX  128


typedef struct {
    ngx_str_t                      kid;       /* empty: none */
    ngx_str_t                      file;
    ngx_str_t                      alg;       /* the only one it serves */
    ngx_str_t                      material;  /* verifies: secret or public
                                                 PEM; NUL-terminated */
    ngx_str_t                      signing;   /* signs: secret or private PEM;
                                                 empty unless sign */
    unsigned                       sign:1;    /* signs new tokens */
} ngx_guildlog_token_key_t;


typedef struct {
    ngx_array_t                    list;      /* of ngx_guildlog_token_key_t */
    ngx_uint_t                     generation;  /* no two sets that differ
                                                   ever had the same */
} ngx_guildlog_token_keys_t;


/*
 * guildlog_key algorithm file [kid=id] [sign];
 *
 * args begins with the algorithm, nargs is at least 2, the set begins zeroed.
 * A public PEM verifies; a secret or a private PEM verifies, and signs new
 * tokens where "sign" stands (at most one key of a set).  Returns NGX_CONF_OK,
 * or NGX_CONF_ERROR with the cause logged.  The material is wiped when
 * cf->pool goes.
 */
char *ngx_guildlog_token_keys_add(ngx_conf_t *cf,
    ngx_guildlog_token_keys_t *keys, ngx_str_t *args, ngx_uint_t nargs);


#endif /* _NGX_GUILDLOG_TOKEN_KEYS_H_INCLUDED_ */
