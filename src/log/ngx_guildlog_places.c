
/*
 * Ranges of places, in the order of lanes and places.
 */

#include "log/ngx_guildlog_places.h"


static int ngx_libc_cdecl places_cmp(const void *one, const void *two);


void
ngx_guildlog_places_add(ngx_guildlog_places_t *ranges,
    const ngx_guildlog_places_range_t *range)
{
    if (range->first > range->last) {
        return;
    }

    ranges->elts[ranges->n++] = *range;
    ranges->longest = ngx_max(ranges->longest,
                              range->reason.len + range->message.len);
}


void
ngx_guildlog_places_add_lane(ngx_guildlog_places_t *ranges, int64_t lane,
    int64_t head, int64_t upto, int64_t refused)
{
    ngx_guildlog_places_range_t  range;

    ngx_memzero(&range, sizeof(ngx_guildlog_places_range_t));
    range.lane = lane;

    range.first = head + 1;
    range.last = upto;
    range.status = 1;
    ngx_str_set(&range.reason, "in_flight");
    ngx_guildlog_places_add(ranges, &range);

    range.first = ngx_max(head, upto) + 1;
    range.last = refused;
    range.status = 0;
    ngx_str_set(&range.reason, "retrying");
    ngx_guildlog_places_add(ranges, &range);

    range.first = ngx_max(range.first, refused + 1);
    range.last = INT64_MAX;
    ngx_str_set(&range.reason, "queued");
    ngx_guildlog_places_add(ranges, &range);
}


void
ngx_guildlog_places_sort(ngx_guildlog_places_t *ranges)
{
    ngx_qsort(ranges->elts, ranges->n, sizeof(ngx_guildlog_places_range_t),
              places_cmp);
}


static int ngx_libc_cdecl
places_cmp(const void *one, const void *two)
{
    const ngx_guildlog_places_range_t  *a = one, *b = two;

    if (a->lane != b->lane) {
        return (a->lane < b->lane) ? -1 : 1;
    }

    return (a->first > b->first) - (a->first < b->first);
}


const ngx_guildlog_places_range_t *
ngx_guildlog_places_find(const ngx_guildlog_places_t *ranges, int64_t lane,
    int64_t place)
{
    ngx_uint_t                          low, high, middle;
    const ngx_guildlog_places_range_t  *range;

    low = 0;
    high = ranges->n;

    /* the last one that begins no later is below "low" */

    while (low < high) {
        middle = (low + high) / 2;
        range = &ranges->elts[middle];

        if (range->lane < lane
            || (range->lane == lane && range->first <= place))
        {
            low = middle + 1;

        } else {
            high = middle;
        }
    }

    if (low == 0) {
        return NULL;
    }

    range = &ranges->elts[low - 1];

    return (range->lane == lane && place <= range->last) ? range : NULL;
}
