
/*
 * Two clocks: one that is finer than nginx's and never goes back, and the wall
 * clock.
 */

#include "base/ngx_guildlog.h"


uint64_t
ngx_guildlog_clock_us(void)
{
    struct timespec  now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);

    return (uint64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}


uint64_t
ngx_guildlog_clock_wall_ms(void)
{
    ngx_time_t  *tp;

    tp = ngx_timeofday();

    return (uint64_t) tp->sec * 1000 + tp->msec;
}
