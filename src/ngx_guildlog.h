
/*
 * What every file below HTTP shares.  Files named ngx_guildlog_* never see
 * ngx_http_request_t.
 */

#ifndef _NGX_GUILDLOG_H_INCLUDED_
#define _NGX_GUILDLOG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_GUILDLOG_BOT_MAIN   0
#define NGX_GUILDLOG_BOT_PRO    1

/* the kinds of a token, numbered as "permissions" in the API */
#define NGX_GUILDLOG_ADMIN      1
#define NGX_GUILDLOG_BASIC      2


#endif /* _NGX_GUILDLOG_H_INCLUDED_ */
