
/*
 * Times as the platform writes them: a date, a time, a fraction, an offset.
 */

#include "log/ngx_guildlog_change.h"


static int64_t change_time_digits(const u_char **p, const u_char *last,
    ngx_uint_t n);
static int64_t change_time_day(int64_t year, int64_t month, int64_t day);


int64_t
ngx_guildlog_change_time(const ngx_str_t *s)
{
    int64_t        date[6], offset, minutes, ms, unit;
    ngx_uint_t     i, negative;
    const u_char  *p, *last;

    static const u_char  behind[] = "--T::";

    p = s->data;
    last = p + s->len;

    for (i = 0; i < 6; i++) {
        date[i] = change_time_digits(&p, last, i ? 2 : 4);

        if (date[i] < 0 || (i < 5 && (p == last || *p++ != behind[i]))) {
            return NGX_ERROR;
        }
    }

    if (date[0] < 1970 || date[1] < 1 || date[1] > 12 || date[2] < 1
        || date[2] > 31 || date[3] > 23 || date[4] > 59 || date[5] > 60)
    {
        return NGX_ERROR;
    }

    ms = 0;

    if (p < last && *p == '.') {
        for (p++, unit = 100; p < last && *p >= '0' && *p <= '9'; p++) {
            ms += (*p - '0') * unit;
            unit /= 10;
        }
    }

    offset = 0;

    if (p < last && (*p == '+' || *p == '-')) {
        negative = (*p++ == '-');
        offset = change_time_digits(&p, last, 2);

        if (offset < 0 || p == last || *p++ != ':') {
            return NGX_ERROR;
        }

        minutes = change_time_digits(&p, last, 2);

        if (minutes < 0) {
            return NGX_ERROR;
        }

        offset = offset * 60 + minutes;
        offset = negative ? -offset : offset;

    } else if (p < last && *p == 'Z') {
        p++;
    }

    if (p != last) {
        return NGX_ERROR;
    }

    return (((change_time_day(date[0], date[1], date[2]) * 24 + date[3]) * 60
             + date[4] - offset) * 60 + date[5]) * 1000 + ms;
}


static int64_t
change_time_digits(const u_char **p, const u_char *last, ngx_uint_t n)
{
    int64_t  value;

    if ((size_t) (last - *p) < n) {
        return NGX_ERROR;
    }

    value = ngx_atoi((u_char *) *p, n);
    *p += n;

    return value;
}


/* days since 1970-01-01: years begin with March, so that leap days end them */

static int64_t
change_time_day(int64_t year, int64_t month, int64_t day)
{
    if (month < 3) {
        month += 12;
        year--;
    }

    return 365 * year + year / 4 - year / 100 + year / 400
           + (153 * (month - 3) + 2) / 5 + day - 1 - 719468;
}
