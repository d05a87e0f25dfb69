
/*
 * A page in pieces, as guildlog.logs_pieces() tells it: they are counted, and
 * their entries come one after the other, the newest first; the places of
 * entries, and the cursor of the next page.  Pure.
 */

#ifndef _NGX_GUILDLOG_PIECES_H_INCLUDED_
#define _NGX_GUILDLOG_PIECES_H_INCLUDED_


#include "base/ngx_guildlog.h"


/*
 * What became of places in lanes, as ranges of them: a page has the places of
 * its entries, and the ranges come behind it.
 */

#define NGX_GUILDLOG_PLACES_OF_LANE  3


typedef struct {
    int64_t                        lane;
    int64_t                        first;
    int64_t                        last;
    ngx_uint_t                     status;     /* as in log_arrival */
    ngx_str_t                      reason;     /* no data: none */
    ngx_str_t                      message;    /* likewise */
} ngx_guildlog_places_range_t;


typedef struct {
    ngx_guildlog_places_range_t   *elts;  /* room for all, not owned */
    ngx_uint_t                     n;
    size_t                         longest;    /* reason and message */
} ngx_guildlog_places_t;


/* an empty one is left out */
void ngx_guildlog_places_add(ngx_guildlog_places_t *ranges,
    const ngx_guildlog_places_range_t *range);

/*
 * The undecided places of a lane, at most NGX_GUILDLOG_PLACES_OF_LANE ranges:
 * up to head all is decided, what is in flight goes up to upto, what was
 * refused for now up to refused, and nothing was sent of all that follows.
 */
void ngx_guildlog_places_add_lane(ngx_guildlog_places_t *ranges,
    int64_t lane, int64_t head, int64_t upto, int64_t refused);

/* once, when all are added; they do not overlap, but the same may come twice */
void ngx_guildlog_places_sort(ngx_guildlog_places_t *ranges);

/* NULL: nothing is known of that place */
const ngx_guildlog_places_range_t *ngx_guildlog_places_find(
    const ngx_guildlog_places_t *ranges, int64_t lane, int64_t place);


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


/*
 * The cursor of a page: the id that the next one stays below, as text that
 * means nothing to the reader.  It is bound to nothing: of another guild or
 * query it is simply a position.
 */

#define NGX_GUILDLOG_CURSOR_LEN  12


/* writes NGX_GUILDLOG_CURSOR_LEN bytes; returns where they end */
u_char *ngx_guildlog_cursor_encode(u_char *dst, int64_t id);

/* NGX_OK, or NGX_DECLINED: not one of ours */
ngx_int_t ngx_guildlog_cursor_decode(const ngx_str_t *cursor, int64_t *id);


#endif /* _NGX_GUILDLOG_PIECES_H_INCLUDED_ */
