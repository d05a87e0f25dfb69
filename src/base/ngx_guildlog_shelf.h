
/*
 * Finished pages in a process's own memory, each with what the database has to
 * know it by for it to be true still.  A full shelf drops what was used longest
 * ago.
 */

#ifndef _NGX_GUILDLOG_SHELF_H_INCLUDED_
#define _NGX_GUILDLOG_SHELF_H_INCLUDED_


#include "base/ngx_guildlog.h"


typedef struct ngx_guildlog_shelf_s  ngx_guildlog_shelf_t;


typedef struct {
    ngx_str_node_t                 sn;       /* the key */
    ngx_queue_t                    queue;
    ngx_uint_t                     readers;
    time_t                         since;
    size_t                         size;     /* of all of it */
    ngx_str_t                      state;
    ngx_str_t                      body;
    unsigned                       kept:1;   /* on the shelf still */
} ngx_guildlog_page_t;


/* for so many bytes in all; NULL: no memory */
ngx_guildlog_shelf_t *ngx_guildlog_shelf_create(size_t size, ngx_log_t *log);
void ngx_guildlog_shelf_destroy(ngx_guildlog_shelf_t *shelf);

/* the page, which stays until it is given back; NULL: there is none */
ngx_guildlog_page_t *ngx_guildlog_shelf_take(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);
void ngx_guildlog_shelf_give_back(ngx_guildlog_page_t *page);

/* was it asked for before?  it will have been: only then it is worth a place */
ngx_uint_t ngx_guildlog_shelf_asked(ngx_guildlog_shelf_t *shelf,
    ngx_str_t *key);

/* copies all three, in place of what is there; without memory, nothing */
void ngx_guildlog_shelf_put(ngx_guildlog_shelf_t *shelf, ngx_str_t *key,
    const ngx_str_t *state, const ngx_str_t *body);


#endif /* _NGX_GUILDLOG_SHELF_H_INCLUDED_ */
