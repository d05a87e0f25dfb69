
/*
 * What a token keeps open for long, counted in shared memory over all workers.
 * A worker that dies takes its seats with it: they count by its process id.
 */

#ifndef _NGX_GUILDLOG_SEATS_H_INCLUDED_
#define _NGX_GUILDLOG_SEATS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_GUILDLOG_SEATS_ZONE_SIZE  (1024 * 1024)


typedef enum {
    NGX_GUILDLOG_SEAT_STREAM = 0,
    NGX_GUILDLOG_SEAT_EXPORT
} ngx_guildlog_seat_e;


/* one token's seats of one kind, in one worker */

typedef struct ngx_guildlog_seat_s  ngx_guildlog_seat_t;


ngx_int_t ngx_guildlog_seats_init_zone(ngx_shm_zone_t *zone, void *data);

/* at the start of a worker: frees the seats of workers that died */
void ngx_guildlog_seats_enter(ngx_shm_zone_t *zone);

/*
 * Takes a seat unless the token has so many.  NGX_OK: *seat is to be given
 * back; it is NULL where the zone is full, for nobody is refused for lack of
 * memory, and then this seat is not counted.  NGX_BUSY: there are so many.
 */

ngx_int_t ngx_guildlog_seats_take(ngx_shm_zone_t *zone, const ngx_str_t *token,
    ngx_guildlog_seat_e kind, ngx_uint_t most, ngx_guildlog_seat_t **seat);
void ngx_guildlog_seats_give_back(ngx_shm_zone_t *zone,
    ngx_guildlog_seat_t *seat);


#endif /* _NGX_GUILDLOG_SEATS_H_INCLUDED_ */
