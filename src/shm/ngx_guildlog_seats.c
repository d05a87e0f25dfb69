
/*
 * Lists of seats in shared memory, by a hash of the token.  Lock: the zone's
 * mutex guards all of them.
 */

#include <ngx_config.h>
#include <ngx_sha1.h>
#include "shm/ngx_guildlog_seats.h"
#include "shm/ngx_guildlog_stats.h"


#define SEATS_MAGIC    0x676c7365
#define SEATS_VERSION  1
#define SEATS_LISTS    1024
#define SEATS_DIGEST   20

/* s, between two warnings of a worker that the zone is full */
#define SEATS_QUIET    60


struct ngx_guildlog_seat_s {
    ngx_queue_t                    queue;
    ngx_pid_t                      pid;      /* the worker's */
    uint32_t                       n;        /* taken, never 0 */
    u_char                         kind;
    u_char                         token[SEATS_DIGEST];
};


typedef struct {
    ngx_guildlog_zone_head_t       head;
    ngx_queue_t                    lists[SEATS_LISTS];
} seats_shared_t;


static ngx_guildlog_seat_t *seats_add(ngx_slab_pool_t *shpool,
    ngx_queue_t *list, const u_char *token, ngx_guildlog_seat_e kind);
static void seats_remove(ngx_slab_pool_t *shpool, ngx_guildlog_seat_t *seat);


ngx_int_t
ngx_guildlog_seats_take(ngx_shm_zone_t *zone, const ngx_str_t *token,
    ngx_guildlog_seat_e kind, ngx_uint_t most, ngx_guildlog_seat_t **seat)
{
    u_char                digest[SEATS_DIGEST];
    ngx_sha1_t            sha1;
    ngx_uint_t            n;
    ngx_queue_t          *q, *next, *list;
    seats_shared_t       *shared;
    ngx_slab_pool_t      *shpool;
    ngx_guildlog_seat_t  *other, *own;

    static time_t         quiet;

    shpool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = zone->data;

    ngx_sha1_init(&sha1);
    ngx_sha1_update(&sha1, token->data, token->len);
    ngx_sha1_final(digest, &sha1);

    list = &shared->lists[ngx_crc32_short(digest, sizeof(digest))
                          % SEATS_LISTS];
    own = NULL;
    n = 0;

    ngx_shmtx_lock(&shpool->mutex);

    for (q = ngx_queue_head(list); q != ngx_queue_sentinel(list); q = next) {
        next = ngx_queue_next(q);
        other = ngx_queue_data(q, ngx_guildlog_seat_t, queue);

        if (other->kind != kind
            || ngx_memcmp(other->token, digest, sizeof(digest)) != 0)
        {
            continue;
        }

        ngx_guildlog_assert(other->n > 0);

        if (other->pid == ngx_pid) {
            own = other;

        } else if (ngx_guildlog_stats_dead(other->pid)) {
            seats_remove(shpool, other);
            continue;
        }

        n += other->n;
    }

    if (n >= most) {
        ngx_shmtx_unlock(&shpool->mutex);
        return NGX_BUSY;
    }

    if (own) {
        own->n++;

    } else {
        own = seats_add(shpool, list, digest, kind);
    }

    ngx_shmtx_unlock(&shpool->mutex);

    *seat = own;

    if (own == NULL && ngx_time() >= quiet) {
        quiet = ngx_time() + SEATS_QUIET;

        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "shared zone \"%V\" is full, streams and exports of more "
                      "tokens are not counted", &zone->shm.name);
    }

    return NGX_OK;
}


/* NULL: the zone is full */

static ngx_guildlog_seat_t *
seats_add(ngx_slab_pool_t *shpool, ngx_queue_t *list, const u_char *token,
    ngx_guildlog_seat_e kind)
{
    ngx_guildlog_seat_t  *seat;

    seat = ngx_slab_alloc_locked(shpool, sizeof(ngx_guildlog_seat_t));
    if (seat == NULL) {
        return NULL;
    }

    seat->pid = ngx_pid;
    seat->n = 1;
    seat->kind = kind;
    ngx_memcpy(seat->token, token, SEATS_DIGEST);

    ngx_queue_insert_head(list, &seat->queue);

    return seat;
}


void
ngx_guildlog_seats_give_back(ngx_shm_zone_t *zone, ngx_guildlog_seat_t *seat)
{
    ngx_slab_pool_t  *shpool;

    shpool = (ngx_slab_pool_t *) zone->shm.addr;

    ngx_shmtx_lock(&shpool->mutex);

    ngx_guildlog_assert(seat->pid == ngx_pid && seat->n > 0);

    if (--seat->n == 0) {
        seats_remove(shpool, seat);
    }

    ngx_shmtx_unlock(&shpool->mutex);
}


static void
seats_remove(ngx_slab_pool_t *shpool, ngx_guildlog_seat_t *seat)
{
    ngx_queue_remove(&seat->queue);
    ngx_slab_free_locked(shpool, seat);
}


/*
 * The process id of a dead worker may come back as that of another program,
 * which would keep its seats.  So they go as soon as the next worker starts.
 */

void
ngx_guildlog_seats_enter(ngx_shm_zone_t *zone)
{
    ngx_uint_t            i;
    ngx_queue_t          *q, *next, *list;
    seats_shared_t       *shared;
    ngx_slab_pool_t      *shpool;
    ngx_guildlog_seat_t  *seat;

    shpool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = zone->data;

    ngx_shmtx_lock(&shpool->mutex);

    for (i = 0; i < SEATS_LISTS; i++) {
        list = &shared->lists[i];

        for (q = ngx_queue_head(list);
             q != ngx_queue_sentinel(list);
             q = next)
        {
            next = ngx_queue_next(q);
            seat = ngx_queue_data(q, ngx_guildlog_seat_t, queue);

            if (seat->pid == ngx_pid || ngx_guildlog_stats_dead(seat->pid)) {
                seats_remove(shpool, seat);
            }
        }
    }

    ngx_shmtx_unlock(&shpool->mutex);
}


ngx_int_t
ngx_guildlog_seats_init_zone(ngx_shm_zone_t *zone, void *data)
{
    ngx_int_t        rc;
    ngx_uint_t       i;
    seats_shared_t  *shared;

    rc = ngx_guildlog_zone_open(zone, data, sizeof(seats_shared_t),
                                SEATS_MAGIC, SEATS_VERSION);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    shared = zone->data;

    for (i = 0; i < SEATS_LISTS; i++) {
        ngx_queue_init(&shared->lists[i]);
    }

    return NGX_OK;
}
