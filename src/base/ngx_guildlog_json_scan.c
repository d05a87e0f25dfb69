
/*
 * JSON as bytes: what a text is looked through for, without making a tree.
 */

#include "base/ngx_guildlog_json.h"


u_char *
ngx_guildlog_json_scan_skip(const u_char *p, const u_char *last)
{
    while (p < last && (*p == ' ' || *p == '\t' || *p == CR || *p == LF)) {
        p++;
    }

    return (u_char *) p;
}


const u_char *
ngx_guildlog_json_scan_quote(const u_char *p, const u_char *last)
{
    const u_char  *end;

    for (end = NULL; p < last; p += 2) {

        if (end == NULL || end < p) {
            end = memchr(p, '"', last - p);

            if (end == NULL) {
                break;
            }
        }

        p = memchr(p, '\\', end - p);

        if (p == NULL) {
            return end;
        }
    }

    return last;
}


size_t
ngx_guildlog_json_scan_bare(const u_char *p, size_t len)
{
    size_t          i;
    uint64_t        word, quote, slash;
    const uint64_t  ones = 0x0101010101010101;

    for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
        ngx_memcpy(&word, p + i, sizeof(word));

        quote = word ^ ('"' * ones);
        slash = word ^ ('\\' * ones);

        /* a byte that was less than what is taken from it has its high bit */

        if ((((word - ' ' * ones) & ~word)
             | ((quote - ones) & ~quote)
             | ((slash - ones) & ~slash))
            & (0x80 * ones))
        {
            break;
        }
    }

    while (i < len && p[i] >= ' ' && p[i] != '"' && p[i] != '\\') {
        i++;
    }

    return i;
}
