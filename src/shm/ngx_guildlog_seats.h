
/*
 * Streams and exports that a token keeps open, counted in shared memory over
 * all workers.  The seats of a worker that dies count no longer: each has the
 * process id of its worker.
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
 * Takes a seat unless the token has "most" of them.  NGX_OK: *seat has to be
 * given back.  It is NULL if the zone is full: then the seat is not counted,
 * for nobody is refused for lack of memory.  NGX_BUSY: there are "most".
 */

ngx_int_t ngx_guildlog_seats_take(ngx_shm_zone_t *zone, const ngx_str_t *token,
    ngx_guildlog_seat_e kind, ngx_uint_t most, ngx_guildlog_seat_t **seat);
void ngx_guildlog_seats_give_back(ngx_shm_zone_t *zone,
    ngx_guildlog_seat_t *seat);


#endif /* _NGX_GUILDLOG_SEATS_H_INCLUDED_ */
