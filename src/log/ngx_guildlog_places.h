
/*
 * What became of places in lanes, as ranges of them: a page has the places of
 * its entries, and the ranges come behind it.
 */

#ifndef _NGX_GUILDLOG_PLACES_H_INCLUDED_
#define _NGX_GUILDLOG_PLACES_H_INCLUDED_


#include "base/ngx_guildlog.h"


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


#endif /* _NGX_GUILDLOG_PLACES_H_INCLUDED_ */
