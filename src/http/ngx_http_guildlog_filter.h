
/*
 * What a request asks for of a log, as the matcher takes it.
 */

#ifndef _NGX_HTTP_GUILDLOG_FILTER_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_FILTER_H_INCLUDED_


#include "http/ngx_http_guildlog.h"
#include "search/ngx_guildlog_match.h"


/*
 * The arguments of pages, exports and live tails begin with the token, the
 * server, the bot and the kind; then come these.
 */

enum {
    NGX_HTTP_GUILDLOG_FILTER_AFTER = 4,
    NGX_HTTP_GUILDLOG_FILTER_BEFORE,
    NGX_HTTP_GUILDLOG_FILTER_CATEGORY,
    NGX_HTTP_GUILDLOG_FILTER_TYPE,

    /* the database does not know those that follow */

    NGX_HTTP_GUILDLOG_FILTER_SEARCH,
    NGX_HTTP_GUILDLOG_FILTER_CHANNEL,
    NGX_HTTP_GUILDLOG_FILTER_MEMBER,
    NGX_HTTP_GUILDLOG_FILTER_SIDE,
    NGX_HTTP_GUILDLOG_FILTER_ROLE,
    NGX_HTTP_GUILDLOG_FILTER_LAST
};


/* both masks: by type, '1' if it is asked for; NULL: all are */

typedef struct {
    ngx_guildlog_match_t           match;   /* types: as "type" says */
    u_char                        *shown;   /* of these, the types of the
                                               categories that are asked for */
} ngx_http_guildlog_filter_t;


/* copies what it needs into the pool; NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_filter_read(ngx_http_guildlog_filter_t *filter,
    ngx_pool_t *pool, const ngx_str_t *args);

/* 1: only a look into entries, or into the index of searches, tells */
ngx_uint_t ngx_http_guildlog_filter_finds(const ngx_str_t *args);

/* leaves out what the database does not know; returns how many are left */
ngx_uint_t ngx_http_guildlog_filter_narrow(ngx_str_t *args, ngx_uint_t nargs);


#endif /* _NGX_HTTP_GUILDLOG_FILTER_H_INCLUDED_ */
