
/*
 * Links ngx_guildlog_batch.c, ngx_guildlog_change.c,
 * ngx_guildlog_change_data.c, ngx_guildlog_clock.c,
 * ngx_guildlog_entry.c, ngx_guildlog_event.c, ngx_guildlog_event_entry.c,
 * ngx_guildlog_event_put.c, ngx_guildlog_event_table_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_known.c, ngx_guildlog_known_see.c,
 * ngx_guildlog_known_text.c, ngx_guildlog_language.c,
 * ngx_guildlog_language_data.c, ngx_guildlog_pair.c,
 * ngx_guildlog_refusal.c, ngx_guildlog_row.c, ngx_guildlog_utf8.c,
 * ngx_guildlog_value.c.
 *
 * A body of packets of the platform, as an array or a line each.  Whatever they
 * hold, what is made of them can be told the database, and entries keep the
 * rules.
 */

#include "events/ngx_guildlog_event_entry.h"
#include "events/ngx_guildlog_row.h"
#include "log/ngx_guildlog_batch.h"
#include "fuzz.h"


typedef struct {
    ngx_pool_t                *pool;
    ngx_guildlog_known_t      *known;
    ngx_guildlog_event_put_t   put;
} fuzz_events_t;


static ngx_int_t
take(void *data, const ngx_str_t *text)
{
    fuzz_events_t *events = data;

    ngx_int_t             rc;
    ngx_str_t             error;
    ngx_guildlog_event_t  event;

    ngx_memzero(&event, sizeof(event));

    event.text = *text;
    event.at = 1795936098614;

    rc = ngx_guildlog_event_read(&event, events->pool, 0, &error);

    if (rc == NGX_DECLINED) {
        fuzz_refused(&error);
        return NGX_OK;
    }

    fuzz_expect(rc == NGX_OK);

    if (event.guild) {
        fuzz_expect(ngx_guildlog_known_needs(events->known, &event) == NGX_OK);
        fuzz_expect(ngx_guildlog_row_needs(events->known, &event) == NGX_OK);
    }

    fuzz_expect(ngx_guildlog_event_entries(&events->put, &event) == NGX_OK);
    fuzz_expect(ngx_guildlog_event_put_packet(&events->put, &event) == NGX_OK);

    while (ngx_guildlog_known_see(events->known, &event, 3) == NGX_AGAIN) {
        /* void */
    }

    return NGX_OK;
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    json_t                *errors;
    ngx_int_t              rc;
    ngx_str_t              body, plan, error, *text;
    ngx_str_t              args[NGX_GUILDLOG_EVENT_PUT_ALL];
    fuzz_events_t          events;
    json_error_t           cause;
    ngx_guildlog_batch_t  *batch;

    events.pool = pool;
    events.known = ngx_guildlog_known_create(pool);

    ngx_str_set(&plan, "free");
    ngx_guildlog_event_put_init(&events.put, pool, events.known, &plan,
                                1795936098614);

    body.data = p;
    body.len = len;

    batch = ngx_guildlog_batch_create(pool, &body, len && *p != '[', 0, take,
                                      &events);
    fuzz_expect(batch != NULL);

    do {
        rc = ngx_guildlog_batch_read(batch, 64, NULL, &error);
    } while (rc == NGX_AGAIN);

    do {
        rc = ngx_guildlog_event_put_args(&events.put, args);
    } while (rc == NGX_AGAIN);

    fuzz_expect(rc == NGX_OK);

    /* what is too long was cut */

    text = &args[NGX_GUILDLOG_EVENT_PUT_NARGS + NGX_GUILDLOG_COLUMN_ERRORS];
    errors = json_loadb((char *) text->data, text->len, 0, &cause);

    fuzz_expect(json_is_array(errors));
    fuzz_expect(ngx_strnstr(text->data, "at most", text->len) == NULL);
    json_decref(errors);
}
