
/*
 * What others keep for us and must not be able to read: AES-256-GCM under a key
 * of our own, for the database as the text of a bytea.  Pure.
 */

#ifndef _NGX_GUILDLOG_SEAL_H_INCLUDED_
#define _NGX_GUILDLOG_SEAL_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_SEAL_KEY  32


/* 64 hexadecimal digits, or 32 bytes in base64; NGX_DECLINED: neither */
ngx_int_t ngx_guildlog_seal_key(u_char key[NGX_GUILDLOG_SEAL_KEY],
    const ngx_str_t *text);

/*
 * The owner goes into the seal: what was made for one opens for no other.
 * NGX_ERROR: out of memory.  NGX_DECLINED: not what seal() made.
 */
ngx_int_t ngx_guildlog_seal(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *plain, ngx_str_t *sealed);
ngx_int_t ngx_guildlog_seal_open(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *sealed, ngx_str_t *plain);

/* the same in bytes, as they are */
ngx_int_t ngx_guildlog_seal_raw(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *plain, ngx_str_t *raw);
ngx_int_t ngx_guildlog_seal_open_raw(ngx_pool_t *pool, const u_char *key,
    const ngx_str_t *owner, const ngx_str_t *raw, ngx_str_t *plain);


#endif /* _NGX_GUILDLOG_SEAL_H_INCLUDED_ */
