
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c, ngx_guildlog_csv.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * A row has all of its columns and ends with CRLF, and no cell of it is a
 * formula.
 */

#include "log/ngx_guildlog_csv.h"
#include "base/ngx_guildlog.h"
#include "fuzz.h"


#define COLUMNS  22


static ngx_guildlog_csv_t  csv;


/* reads one cell by RFC 4180; returns the position after it */

static u_char *
cell(u_char *p, u_char *last)
{
    u_char  *start;

    start = p;

    if (p < last && *p == '"') {

        for (p++; p < last; p++) {

            if (*p != '"') {
                continue;
            }

            if (p + 1 == last || p[1] != '"') {
                p++;
                break;
            }

            p++;
        }

        start++;

    } else {
        while (p < last && *p != ',' && *p != CR) {
            fuzz_expect(*p != '"' && *p != LF);
            p++;
        }
    }

    fuzz_expect(start == last
                || (*start != '=' && *start != '+' && *start != '@'
                    && *start != '\t'));

    return p;
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    u_char               *last;
    ngx_str_t             doc, status, reason, row;
    ngx_uint_t            n;
    ngx_guildlog_json_t   out;

    ngx_str_set(&status, "not_delivered");
    ngx_str_set(&reason, "channel_gone");

    doc.data = p;
    doc.len = len;

    if (ngx_guildlog_utf8_valid(p, len) != len) {
        return;
    }

    ngx_guildlog_json_init(&out, pool, 16);

    if (ngx_guildlog_csv_row(&csv, &out, &doc, &status, &reason) != NGX_OK) {
        return;
    }

    fuzz_expect(ngx_guildlog_json_written(&out, &row) == NGX_OK);

    last = row.data + row.len - 2;
    fuzz_expect(row.len > 2 && last[0] == CR && last[1] == LF);

    p = cell(row.data, last);

    for (n = 1; n < COLUMNS; n++) {
        fuzz_expect(p < last && *p == ',');
        p = cell(p + 1, last);
    }

    fuzz_expect(p == last);
}
