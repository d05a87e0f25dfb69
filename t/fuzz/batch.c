
/*
 * Links ngx_guildlog_batch.c, ngx_guildlog_entry.c,
 * ngx_guildlog_refusal.c, ngx_guildlog_value.c, ngx_guildlog_json.c and
 * ngx_guildlog_utf8.c.
 *
 * A batch of entries.  Each entry becomes a document, which is JSON, or an
 * error with the entry's index.
 */

#include "log/ngx_guildlog_batch.h"
#include "fuzz.h"


/* the documents that are not empty; *n becomes the number of all */

static ngx_uint_t
documents(ngx_pool_t *pool, const ngx_str_t *docs, ngx_uint_t *n)
{
    u_char         *p, *start, *last;
    json_t         *doc;
    ngx_str_t       text;
    ngx_uint_t      good;
    json_error_t    cause;

    last = docs->data + docs->len;
    good = 0;
    *n = 1;

    for (p = start = docs->data; /* void */ ; p++) {

        if (p < last && *p != '\n') {
            continue;
        }

        if (p > start) {
            text.data = ngx_pnalloc(pool, p - start + 2);
            text.len = ngx_sprintf(text.data, "{%*s}", p - start, start)
                       - text.data;

            doc = json_loadb((char *) text.data, text.len,
                             JSON_REJECT_DUPLICATES, &cause);

            fuzz_expect(json_is_object(doc));
            fuzz_expect(json_object_size(doc)
                        == (json_object_get(doc, "changes") ? 18 : 14));
            json_decref(doc);
            good++;
        }

        if (p == last) {
            return good;
        }

        start = p + 1;
        (*n)++;
    }
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    json_t        *errors;
    ngx_int_t      rc;
    ngx_str_t      body, columns[NGX_GUILDLOG_COLUMN_LAST], error, *text;
    ngx_uint_t     ndjson, many, good, n;
    json_error_t   cause;
    ngx_guildlog_batch_t  *batch;

    ndjson = fuzz_pick(&p, &len, 2);
    many = fuzz_pick(&p, &len, 2);

    body.data = p;
    body.len = len;

    batch = ngx_guildlog_batch_create(pool, &body, ndjson, many, NULL, NULL);
    fuzz_expect(batch != NULL);

    do {
        rc = ngx_guildlog_batch_read(batch, 1, columns
                                     + (many ? 0 : NGX_GUILDLOG_COLUMN_EVENTS),
                                     &error);
    } while (rc == NGX_AGAIN);

    if (rc == NGX_DECLINED) {
        fuzz_refused(&error);
        return;
    }

    fuzz_expect(rc == NGX_OK);

    text = &columns[NGX_GUILDLOG_COLUMN_ERRORS];
    errors = json_loadb((char *) text->data, text->len, 0, &cause);

    fuzz_expect(json_is_array(errors));

    good = documents(pool, &columns[NGX_GUILDLOG_COLUMN_DOCS], &n);

    fuzz_expect(n <= NGX_GUILDLOG_BATCH_MAX);
    fuzz_expect(good + json_array_size(errors) == n
                || (good == 0 && json_array_size(errors) == 0));

    json_decref(errors);
}
