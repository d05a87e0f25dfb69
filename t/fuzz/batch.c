
/*
 * Links ngx_guildlog_batch.c, ngx_guildlog_entry.c, ngx_guildlog_args.c,
 * ngx_guildlog_value.c and ngx_guildlog_json.c.
 *
 * A batch of entries: what is handed on is an array of objects, and of
 * strings in the place of those that are refused.
 */

#include "ngx_guildlog_batch.h"
#include "ngx_guildlog_entry.h"
#include "fuzz.h"


#define NOW  1700000000000


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    json_t        *entries, *entry;
    size_t         i;
    ngx_int_t      rc;
    ngx_str_t      body, array, error;
    ngx_uint_t     ndjson, many;
    json_error_t   cause;

    ndjson = fuzz_pick(&p, &len, 2);
    many = fuzz_pick(&p, &len, 2);

    body.data = p;
    body.len = len;

    rc = ngx_guildlog_batch(pool, &body, ndjson, many, NOW, &array, &error);

    if (rc == NGX_DECLINED) {
        fuzz_refused(&error);
        return;
    }

    fuzz_expect(rc == NGX_OK);

    entries = json_loadb((char *) array.data, array.len, 0, &cause);

    fuzz_expect(json_is_array(entries));
    fuzz_expect(json_array_size(entries) <= NGX_GUILDLOG_BATCH_MAX);

    json_array_foreach(entries, i, entry) {

        if (json_is_string(entry)) {
            continue;
        }

        fuzz_expect(ngx_guildlog_entry_check(pool, entry, many, NOW, &error)
                    == NGX_OK);
    }

    json_decref(entries);
}
