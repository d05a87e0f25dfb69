
/*
 * The parts of which a segment is made.
 */

#include "search/ngx_guildlog_segment.h"
#include "search/ngx_guildlog_match.h"


u_char *
ngx_guildlog_segment_put32(u_char *p, uint32_t n)
{
    p[0] = (u_char) n;
    p[1] = (u_char) (n >> 8);
    p[2] = (u_char) (n >> 16);
    p[3] = (u_char) (n >> 24);

    return p + 4;
}


u_char *
ngx_guildlog_segment_put_id(u_char *p, uint64_t id)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_SEGMENT_ID; i++) {
        *p++ = (u_char) (id >> 8 * i);
    }

    return p;
}


u_char *
ngx_guildlog_segment_put(u_char *p, uint32_t n)
{
    while (n >= 0x80) {
        *p++ = (u_char) (n | 0x80);
        n >>= 7;
    }

    *p++ = (u_char) n;

    return p;
}


size_t
ngx_guildlog_segment_size(uint32_t n)
{
    size_t  size;

    for (size = 1; n >= 0x80; size++) {
        n >>= 7;
    }

    return size;
}


void
ngx_guildlog_segment_term(u_char *term, ngx_uint_t kind, int64_t id)
{
    ngx_uint_t  i;

    term[0] = (u_char) kind;

    for (i = 1; i < NGX_GUILDLOG_SEGMENT_TERM; i++) {
        term[i] = (u_char) (id >> 8 * (8 - i));
    }
}


uint32_t
ngx_guildlog_segment_hash(const u_char *p, size_t len)
{
    uint64_t       hash;
    const u_char  *last;

    hash = 0xcbf29ce484222325;

    for (last = p + len; p < last; p++) {
        hash = (hash ^ *p) * 0x100000001b3;
    }

    return (uint32_t) (hash ^ hash >> 32);
}


ngx_uint_t
ngx_guildlog_segment_buckets(ngx_uint_t n)
{
    ngx_uint_t  buckets;

    buckets = 1;

    while (16 * buckets < n && buckets < NGX_GUILDLOG_SEGMENT_BUCKETS) {
        buckets *= 2;
    }

    return buckets;
}


uint32_t
ngx_guildlog_segment_get32(const u_char *p)
{
    return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16
           | (uint32_t) p[3] << 24;
}


uint64_t
ngx_guildlog_segment_get_id(const u_char *p)
{
    return ngx_guildlog_segment_get32(p) | (uint64_t) p[4] << 32
           | (uint64_t) p[5] << 40 | (uint64_t) p[6] << 48;
}


ngx_int_t
ngx_guildlog_segment_check(ngx_uint_t n, const ngx_str_t *kinds,
    const ngx_str_t *dir)
{
    u_char     *p;
    uint32_t    end, next;
    ngx_int_t   type;
    ngx_uint_t  i, places;

    places = NGX_GUILDLOG_SEGMENT_BUCKET + ngx_guildlog_segment_buckets(n) + 1;

    if (n == 0 || n > NGX_GUILDLOG_SEGMENT_ENTRIES
        || kinds->len % NGX_GUILDLOG_SEGMENT_KIND || dir->len != 4 * places)
    {
        return NGX_ERROR;
    }

    type = -1;
    end = 0;

    for (i = 0; i < kinds->len; i += NGX_GUILDLOG_SEGMENT_KIND) {
        p = kinds->data + i;
        next = ngx_guildlog_segment_get32(p + 1);

        if (*p <= type || *p >= NGX_GUILDLOG_TYPES || next <= end) {
            return NGX_ERROR;
        }

        type = *p;
        end = next;
    }

    if (end != n
        || ngx_guildlog_segment_get32(dir->data) != 0
        || ngx_guildlog_segment_get32(dir->data + 4)
           != n * NGX_GUILDLOG_SEGMENT_ID)
    {
        return NGX_ERROR;
    }

    end = 0;

    for (i = 0; i < dir->len; i += 4) {
        next = ngx_guildlog_segment_get32(dir->data + i);

        if (next < end || next > NGX_GUILDLOG_SEGMENT_BODY) {
            return NGX_ERROR;
        }

        end = next;
    }

    /* what stands before strings and roles is there */

    p = dir->data + 4 * NGX_GUILDLOG_SEGMENT_STRINGS;

    if (ngx_guildlog_segment_get32(p + 4) - ngx_guildlog_segment_get32(p) < 12
        || ngx_guildlog_segment_get32(p + 12)
           - ngx_guildlog_segment_get32(p + 8) < 4)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_segment_bytes(const u_char **p, const u_char *last,
    ngx_str_t *bytes)
{
    size_t         len;
    ngx_uint_t     shift;
    const u_char  *next;

    next = *p;
    len = 0;
    shift = 0;

    do {
        if (next == last || shift > 28) {
            return NGX_ERROR;
        }

        len |= (size_t) (*next & 0x7f) << shift;
        shift += 7;

    } while (*next++ & 0x80);

    if (len > (size_t) (last - next)) {
        return NGX_ERROR;
    }

    bytes->data = (u_char *) next;
    bytes->len = len;

    *p = next + len;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_segment_postings(const ngx_str_t *postings, ngx_uint_t n,
    uint64_t *bits)
{
    ngx_uint_t     next, more, shift;
    const u_char  *p, *last;

    p = postings->data;
    last = p + postings->len;

    for (next = 0; p < last; next++) {
        more = *p & 0x7f;

        for (shift = 7; *p++ & 0x80; shift += 7) {
            if (p == last || shift > 14) {
                return NGX_ERROR;
            }

            more |= (ngx_uint_t) (*p & 0x7f) << shift;
        }

        next += more;

        if (next >= n) {
            return NGX_ERROR;
        }

        ngx_guildlog_segment_set(bits, next);
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_segment_count(const uint64_t *bits, ngx_uint_t from,
    ngx_uint_t to)
{
    uint64_t    word;
    ngx_uint_t  n;

    n = 0;

    while (from < to) {
        word = bits[from / 64] >> from % 64;

        if (to - from < 64 - from % 64) {
            word &= ((uint64_t) 1 << (to - from)) - 1;
        }

        if (word) {
            n += __builtin_popcountll(word);
        }

        from += 64 - from % 64;
    }

    return n;
}


void
ngx_guildlog_segment_clear(uint64_t *bits, ngx_uint_t from, ngx_uint_t to)
{
    uint64_t  word;

    while (from < to) {
        word = (uint64_t) -1 << from % 64;

        if (to - from < 64 - from % 64) {
            word &= ((uint64_t) 1 << to % 64) - 1;
        }

        bits[from / 64] &= ~word;
        from += 64 - from % 64;
    }
}


ngx_int_t
ngx_guildlog_segment_last(const uint64_t *bits, ngx_uint_t from,
    ngx_uint_t to)
{
    uint64_t    word;
    ngx_uint_t  i;

    while (from < to) {
        i = (to - 1) / 64;
        word = bits[i] << (63 - (to - 1) % 64);

        if (word) {
            to -= __builtin_clzll(word) + 1;
            return to >= from ? (ngx_int_t) to : NGX_DONE;
        }

        to = 64 * i;
    }

    return NGX_DONE;
}
