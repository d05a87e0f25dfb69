
/*
 * Finished pages in the memory of a worker.  A page is valid as long as the
 * database reports the state that is kept with it.  A full shelf drops the page
 * that was used longest ago.
 */

#ifndef _NGX_GUILDLOG_SHELF_H_INCLUDED_
#define _NGX_GUILDLOG_SHELF_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef struct ngx_guildlog_shelf_s  ngx_guildlog_shelf_t;


typedef struct {
    time_t                         since;
    ngx_str_t                      state;
    ngx_str_t                      body;
} ngx_guildlog_page_t;


/* for so many bytes in all; NULL: no memory */
ngx_guildlog_shelf_t *ngx_guildlog_shelf_create(size_t size, ngx_log_t *log);
void ngx_guildlog_shelf_destroy(ngx_guildlog_shelf_t *shelf);

/* the page, which stays until it is given back; NULL: there is none */
ngx_guildlog_page_t *ngx_guildlog_shelf_take(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);
void ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page);

/*
 * 1: the key was asked for before.  The call remembers the key, so that a page
 * is kept from the second request on.
 */
ngx_uint_t ngx_guildlog_shelf_asked(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);

/* copies all three and replaces a page of that key; no-op without memory */
void ngx_guildlog_shelf_put(ngx_guildlog_shelf_t *shelf, ngx_str_t *key,
    const ngx_str_t *state, const ngx_str_t *body);


#endif /* _NGX_GUILDLOG_SHELF_H_INCLUDED_ */
