
/*
 * The search as a part of a string: it is looked for in all strings of a
 * segment at once; then the postings are read of those that have it.
 */

#include "search/ngx_guildlog_find_part.h"


#define FIND_STRINGS_NEAR  4096    /* so near, two slices become one */
#define FIND_STRINGS_HIT   24      /* the work of one */
#define FIND_STRINGS_NEXT  3       /* of one that is passed over */


static ngx_int_t find_strings_came(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_head(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_strings_hit(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment);
static ngx_uint_t find_strings_between(const u_char *p, const u_char *last);
static ngx_int_t find_strings_entries(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);


ngx_int_t
ngx_guildlog_find_strings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint32_t                   from, len;
    ngx_int_t                  rc;
    ngx_str_t                  kept;
    ngx_guildlog_find_part_t   part;

    if (!find->state->asks[NGX_GUILDLOG_FIND_STRINGS]
        || !ngx_guildlog_find_part_fits(find, segment))
    {
        return NGX_OK;
    }

    from = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_STRINGS);
    len = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_POSTINGS)
          - from;

    if (find->strings_get == NULL
        || find->strings_get(find->strings_data, segment->key, &kept)
           != NGX_OK
        || kept.len != len)
    {
        /* what was read before, while it was kept, is not read again */

        return ngx_guildlog_find_part_want(find, segment, find_strings_came,
                                           from + segment->pos,
                                           len - segment->pos)
               ? NGX_OK : NGX_ERROR;
    }

    ngx_memzero(&part, sizeof(ngx_guildlog_find_part_t));

    part.segment = segment;
    part.bytes = kept.data;
    part.size = len;
    part.pos = segment->pos;

    rc = find_strings_read(find, &part);
    segment->pos = part.pos;

    if (rc == NGX_OK && part.pos != len) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    return rc;
}


static ngx_int_t
find_strings_came(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t                     rc;
    ngx_str_t                     whole;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;

    rc = find_strings_read(find, part);

    if (rc == NGX_OK && find->strings_put && part->pos == part->len
        && part->from == ngx_guildlog_find_part_from(segment,
                                            NGX_GUILDLOG_SEGMENT_STRINGS))
    {
        whole.data = part->bytes;
        whole.len = part->len;

        find->strings_put(find->strings_data, segment->key, segment->day,
                          &whole);
    }

    return rc;
}


static ngx_int_t
find_strings_read(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    u_char                       *p, *last, *end, *hit;
    const ngx_str_t              *text;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    text = &find->state->match->part;

    if (segment->offsets == NULL && find_strings_head(find, part) != NGX_OK) {
        return NGX_ERROR;
    }

    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    end = memrchr(p, '\0', last - p);
    last = end ? end + 1 : p;

    while (p < last) {

        if (find->state->left <= 0) {
            return NGX_BUSY;
        }

        hit = memmem(p, last - p, text->data, text->len);
        end = hit ? hit : last;

        find->state->left -= (end - p) / 4 + FIND_STRINGS_HIT;

        if (hit || part->size < part->len) {
            segment->nread += find_strings_between(p, end);
        }

        p = last;

        if (hit) {
            if (find_strings_hit(find, segment) != NGX_OK) {
                return NGX_ERROR;
            }

            p = (u_char *) memchr(hit, '\0', last - hit) + 1;
        }

        part->pos = p - part->bytes;
    }

    return NGX_OK;
}


/* how many they are, and where the postings of each group begin */

static ngx_int_t
find_strings_head(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    u_char                       *p;
    size_t                        size;
    uint32_t                      offset, next;
    ngx_uint_t                    i, n;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    p = part->bytes;

    segment->nstrings = ngx_guildlog_segment_get32(p);

    n = ngx_guildlog_segment_groups(segment->nstrings);
    size = 4 * (n + 1);

    if (ngx_guildlog_segment_get32(p + 4) != n || part->size - 8 < size) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    offset = 0;

    for (i = 0; i <= n; i++) {
        next = ngx_guildlog_segment_get32(p + 8 + 4 * i);

        if (next < offset || (i == 0 && next)) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        offset = next;
    }

    if (offset != ngx_guildlog_find_part_from(segment,
                                              NGX_GUILDLOG_SEGMENT_ROLES)
                  - ngx_guildlog_find_part_from(segment,
                                              NGX_GUILDLOG_SEGMENT_POSTINGS))
    {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    segment->offsets = ngx_pnalloc(find->state->pool, size);
    if (segment->offsets == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(segment->offsets, p + 8, size);
    part->pos = 8 + size;

    return NGX_OK;
}


/* the string behind those that were read has it */

static ngx_int_t
find_strings_hit(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    if (segment->nread >= segment->nstrings) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    if (segment->hits == NULL) {
        segment->hits = ngx_pcalloc(find->state->pool,
                                 ngx_guildlog_segment_words(segment->nstrings)
                                 * sizeof(uint64_t));
        if (segment->hits == NULL) {
            return NGX_ERROR;
        }
    }

    ngx_guildlog_segment_set(segment->hits, segment->nread);
    segment->nread++;

    return NGX_OK;
}


/* how many strings end there: NULs, eight bytes at a time */

static ngx_uint_t
find_strings_between(const u_char *p, const u_char *last)
{
    uint64_t    word, sum;
    ngx_uint_t  i, n;

    const uint64_t  ones = 0x0101010101010101;

    n = 0;

    /* where many are hit, they are one behind the other */

    if (memchr(p, '\0', last - p) == NULL) {
        return 0;
    }

    while (last - p >= (ssize_t) sizeof(word)) {
        sum = 0;

        /* the bytes of the sum, and what they come to, are below 256 */

        for (i = 0; i < 31 && last - p >= (ssize_t) sizeof(word); i++) {
            ngx_memcpy(&word, p, sizeof(word));
            p += sizeof(word);

            /* the high bit of each byte that is not 0 */

            word |= (word & (0x7f * ones)) + 0x7f * ones;
            sum += (~word >> 7) & ones;
        }

        n += sum * ones >> 56;
    }

    while (p < last) {
        n += (*p++ == '\0');
    }

    return n;
}


ngx_int_t
ngx_guildlog_find_strings_postings(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    u_char                    *p;
    uint32_t                   from, to, start;
    uint64_t                  *hits;
    ngx_uint_t                 i, n, words;
    ngx_guildlog_find_part_t  *part;

    hits = segment->hits;

    if (hits == NULL) {
        return NGX_OK;
    }

    part = NULL;
    start = ngx_guildlog_find_part_from(segment,
                                        NGX_GUILDLOG_SEGMENT_POSTINGS);
    n = ngx_guildlog_segment_groups(segment->nstrings);
    words = ngx_guildlog_segment_words(segment->nstrings);

    for (i = 0; i < n; i++) {
        if (hits[2 * i] == 0 && (2 * i + 1 == words || hits[2 * i + 1] == 0)) {
            continue;
        }

        p = segment->offsets + 4 * i;
        from = start + ngx_guildlog_segment_get32(p);
        to = start + ngx_guildlog_segment_get32(p + 4);

        if (from == to) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (part && from - (part->from + part->len) < FIND_STRINGS_NEAR) {
            find->state->queued += to - (part->from + part->len);
            part->len = to - part->from;
            continue;
        }

        part = ngx_guildlog_find_part_want(find, segment, find_strings_entries,
                                           from, to - from);
        if (part == NULL) {
            return NGX_ERROR;
        }

        part->nth = i * NGX_GUILDLOG_SEGMENT_GROUP;
    }

    return NGX_OK;
}


static ngx_int_t
find_strings_entries(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t                     rc;
    ngx_str_t                     postings;
    const u_char                 *p, *last;
    ngx_guildlog_find_segment_t  *segment;

    segment = part->segment;
    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    for ( ;; ) {

        if (find->state->left <= 0) {
            return NGX_BUSY;
        }

        rc = ngx_guildlog_segment_bytes(&p, last, &postings);

        if (rc == NGX_AGAIN) {
            return NGX_OK;
        }

        if (rc == NGX_ERROR || part->nth >= segment->nstrings) {
            return ngx_guildlog_find_part_bad(find, segment);
        }

        if (ngx_guildlog_segment_has(segment->hits, part->nth)
            && ngx_guildlog_find_part_add(find, segment,
                                          NGX_GUILDLOG_FIND_STRINGS,
                                          &postings)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        part->nth++;
        part->pos = p - part->bytes;
        find->state->left -= FIND_STRINGS_NEXT;
    }
}
