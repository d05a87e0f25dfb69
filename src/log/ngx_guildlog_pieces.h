
/*
 * A page in pieces, as guildlog.logs_pieces() tells it: they are counted, and
 * their entries come one after the other, the newest first.  Pure.
 */

#ifndef _NGX_GUILDLOG_PIECES_H_INCLUDED_
#define _NGX_GUILDLOG_PIECES_H_INCLUDED_


#include "log/ngx_guildlog_places.h"


/* the columns of a piece */

typedef enum {
    NGX_GUILDLOG_PIECE_N = 0,                  /* in the head: the status */
    NGX_GUILDLOG_PIECE_WHAT,
    NGX_GUILDLOG_PIECE_TYPES,                  /* in the head: the state */
    NGX_GUILDLOG_PIECE_DOC,                    /* in the head: what the answer
                                                  has of the window */
    NGX_GUILDLOG_PIECE_SAID,
    NGX_GUILDLOG_PIECE_COLUMNS
} ngx_guildlog_piece_e;


/* an entry; both point into the pieces */

typedef struct {
    int64_t                        id;
    ngx_str_t                      doc;
    ngx_str_t                      said;
} ngx_guildlog_pieces_entry_t;


typedef struct ngx_guildlog_pieces_s  ngx_guildlog_pieces_t;


/* NULL: out of memory */
ngx_guildlog_pieces_t *ngx_guildlog_pieces_create(ngx_pool_t *pool);

/*
 * Takes a row of columns, whose texts have to stay.  NGX_DECLINED: it is no
 * piece; NGX_ERROR: out of memory.
 */
ngx_int_t ngx_guildlog_pieces_add(ngx_guildlog_pieces_t *pieces, int64_t n,
    const ngx_str_t *columns);

/* adds to the counts by type what such a text says; NGX_DECLINED: it is none */
ngx_int_t ngx_guildlog_pieces_count_types(const ngx_str_t *types,
    int64_t *counts);
ngx_int_t ngx_guildlog_pieces_count_days(const ngx_str_t *days,
    int64_t *counts);

/* entries below the position, of the types that are wanted */
int64_t ngx_guildlog_pieces_total(const ngx_guildlog_pieces_t *pieces);

/* entries of the window by category */
void ngx_guildlog_pieces_categories(const ngx_guildlog_pieces_t *pieces,
    int64_t *counts);

/* what became of places; NGX_DECLINED, NGX_ERROR as above */
ngx_int_t ngx_guildlog_pieces_places(const ngx_guildlog_pieces_t *pieces,
    ngx_guildlog_places_t *places);

/* NGX_DONE: there is none; NGX_DECLINED: a piece is not what it has to be */
ngx_int_t ngx_guildlog_pieces_next(ngx_guildlog_pieces_t *pieces,
    ngx_guildlog_pieces_entry_t *entry);


#endif /* _NGX_GUILDLOG_PIECES_H_INCLUDED_ */
