
/*
 * What the stages of find have in common.
 */

#include "search/ngx_guildlog_find_part.h"


ngx_guildlog_find_part_t *
ngx_guildlog_find_part_want(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_guildlog_find_read_pt read,
    uint32_t from, uint32_t len)
{
    ngx_guildlog_find_part_t   *part;
    ngx_guildlog_find_state_t  *state;

    state = find->state;

    part = ngx_array_push(&state->parts);
    if (part == NULL) {
        return NULL;
    }

    ngx_memzero(part, sizeof(ngx_guildlog_find_part_t));

    part->segment = segment;
    part->read = read;
    part->from = from;
    part->len = len;

    state->queued += len;

    return part;
}


uint32_t
ngx_guildlog_find_part_from(const ngx_guildlog_find_segment_t *segment,
    ngx_uint_t part)
{
    return ngx_guildlog_segment_get32(segment->dir + 4 * part);
}


ngx_int_t
ngx_guildlog_find_part_add(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, ngx_guildlog_find_set_e set,
    const ngx_str_t *postings)
{
    uint64_t  **bits;

    bits = &segment->sets[set];

    if (*bits == NULL) {
        *bits = ngx_pcalloc(find->state->pool,
                            ngx_guildlog_segment_words(segment->n)
                            * sizeof(uint64_t));
        if (*bits == NULL) {
            return NGX_ERROR;
        }
    }

    find->state->left -= 2 * postings->len;

    if (ngx_guildlog_segment_postings(postings, segment->n, *bits)
        != NGX_OK)
    {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_find_part_fits(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint64_t                   *fits, *bits, any;
    ngx_uint_t                  i, n, set;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    fits = state->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memset(fits, 0xff, n * sizeof(uint64_t));
    ngx_guildlog_segment_clear(fits, segment->n, 64 * n);

    any = 1;

    for (set = NGX_GUILDLOG_FIND_CHANNEL; set < NGX_GUILDLOG_FIND_SETS; set++)
    {
        if (!state->asks[set]) {
            continue;
        }

        bits = segment->sets[set];

        if (bits == NULL) {
            return 0;
        }

        for (any = 0, i = 0; i < n; i++) {
            fits[i] &= bits[i];
            any |= fits[i];
        }
    }

    return any != 0;
}


ngx_int_t
ngx_guildlog_find_part_bad(ngx_guildlog_find_t *find,
    const ngx_guildlog_find_segment_t *segment)
{
    find->bad = 1;
    find->bad_key = segment->key;

    return NGX_ERROR;
}
