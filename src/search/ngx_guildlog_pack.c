
/*
 * Puts segments together, piece by piece: they may be megabytes.
 */

#include "search/ngx_guildlog_pack.h"


#define PACK_PIECE   65536    /* bytes */
#define PACK_SHAPE   (5 * sizeof("-2147483648"))


static void pack_shape(ngx_guildlog_pack_t *pack);
static const ngx_str_t *pack_at(const ngx_guildlog_pack_t *pack,
    ngx_uint_t place);


ngx_guildlog_pack_t *
ngx_guildlog_pack_create(const ngx_array_t *segments, ngx_log_t *log)
{
    size_t                size;
    ngx_uint_t            i;
    ngx_pool_t           *pool;
    ngx_guildlog_pack_t  *pack;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, log);
    if (pool == NULL) {
        return NULL;
    }

    pack = ngx_pcalloc(pool, sizeof(ngx_guildlog_pack_t));
    if (pack == NULL) {
        goto failed;
    }

    pack->pool = pool;
    pack->segments = segments->elts;
    pack->n = segments->nelts;

    size = 1;

    for (i = 0; i < 3 * pack->n; i++) {
        size += pack_at(pack, i)->len;
    }

    pack->blob.data = ngx_pnalloc(pool, size);
    pack->shape.data = ngx_pnalloc(pool, sizeof("{}")
                                         + pack->n * PACK_SHAPE);

    if (pack->blob.data == NULL || pack->shape.data == NULL) {
        goto failed;
    }

    pack_shape(pack);

    return pack;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


static void
pack_shape(ngx_guildlog_pack_t *pack)
{
    u_char                        *p;
    ngx_uint_t                     i;
    const ngx_guildlog_segment_t  *segment;

    p = pack->shape.data;
    *p++ = '{';

    for (i = 0; i < pack->n; i++) {
        segment = &pack->segments[i];

        p = ngx_sprintf(p, "%s%D,%ui,%uz,%uz,%uz", i ? "," : "", segment->day,
                        segment->n, segment->kinds.len, segment->dir.len,
                        segment->body.len);
    }

    *p++ = '}';
    pack->shape.len = p - pack->shape.data;
}


static const ngx_str_t *
pack_at(const ngx_guildlog_pack_t *pack, ngx_uint_t place)
{
    const ngx_guildlog_segment_t  *segment;

    segment = &pack->segments[place / 3];

    switch (place % 3) {
    case 0:
        return &segment->kinds;
    case 1:
        return &segment->dir;
    default:
        return &segment->body;
    }
}


void
ngx_guildlog_pack_destroy(ngx_guildlog_pack_t *pack)
{
    ngx_destroy_pool(pack->pool);
}


ngx_int_t
ngx_guildlog_pack_piece(ngx_guildlog_pack_t *pack)
{
    size_t            n, room;
    const ngx_str_t  *bytes;

    room = PACK_PIECE;

    while (pack->place < 3 * pack->n) {

        if (room == 0) {
            return NGX_AGAIN;
        }

        bytes = pack_at(pack, pack->place);
        n = ngx_min(bytes->len - pack->byte, room);

        ngx_memcpy(pack->blob.data + pack->blob.len, bytes->data + pack->byte,
                   n);

        pack->blob.len += n;
        pack->byte += n;
        room -= n;

        if (pack->byte == bytes->len) {
            pack->place++;
            pack->byte = 0;
        }
    }

    return NGX_OK;
}
