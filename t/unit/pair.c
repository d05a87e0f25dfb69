
/*
 * Links ngx_guildlog_pair.c.
 *
 * Which packets belong together, against the rule as it is told: each row is
 * compared with each other one.  The order of the rows does not matter.
 */

#include "events/ngx_guildlog_pair.h"
#include "tap.h"


#define ROUNDS  20000
#define ROWS    14


static uint32_t    seed = 1;
static json_t     *entry;


static ngx_uint_t
any(ngx_uint_t n)
{
    seed = seed * 1103515245 + 12345;

    return (seed >> 16) % n;
}


/* rows of few kinds, people and channels within some seconds */

static ngx_uint_t
make(ngx_guildlog_pair_t *rows)
{
    ngx_uint_t            i, n, kinds, audits;
    ngx_guildlog_pair_t  *row;

    n = 1 + any(ROWS);
    kinds = 1 + any(6);
    audits = 2 + any(4);

    for (i = 0; i < n; i++) {
        row = &rows[i];

        ngx_memzero(row, sizeof(ngx_guildlog_pair_t));

        row->kind = any(8) ? 1 + any(kinds) : any(NGX_GUILDLOG_PAIR_NONE);
        row->audit = any(audits) == 0 && row->kind != NGX_GUILDLOG_PAIR_GAP;
        row->bot = any(8) == 0;
        row->channel = any(3);
        row->target = any(3);
        row->count = any(3);
        row->at = 100000 + 250 * any(any(2) ? 12 : 100);
        row->due = row->at
                   + ngx_guildlog_pair_wait(row->kind, row->audit);
        row->ended = any(4) == 0;
        row->entry = any(8) ? entry : NULL;
    }

    return n;
}


static ngx_uint_t
fits(const ngx_guildlog_pair_t *audit, const ngx_guildlog_pair_t *event)
{
    int64_t  behind;

    behind = audit->at - event->at;

    if (!audit->audit || event->audit || audit->kind != event->kind
        || audit->bot != event->bot)
    {
        return 0;
    }

    switch (audit->kind) {

    case NGX_GUILDLOG_PAIR_HANGUP:
        return behind <= 4500 && behind >= -500;

    case NGX_GUILDLOG_PAIR_SWITCH:
        return behind <= 4500 && behind >= -500
               && audit->channel == event->channel;

    case NGX_GUILDLOG_PAIR_DELETION:
        return behind <= 10000 && behind >= -500
               && audit->channel == event->channel
               && (event->target == 0 || event->target == audit->target);

    case NGX_GUILDLOG_PAIR_PURGE:
        return behind <= 10000 && behind >= -500
               && audit->channel == event->channel
               && audit->count == event->count;

    case NGX_GUILDLOG_PAIR_LEAVING:
        return behind <= 5000 && behind >= -2000
               && audit->target == event->target;

    default:
        return 0;
    }
}


/* is it certain that these two are one act? */

static ngx_uint_t
one_act(const ngx_guildlog_pair_t *rows, ngx_uint_t n,
    const ngx_guildlog_pair_t *audit, const ngx_guildlog_pair_t *event)
{
    ngx_uint_t                  i;
    const ngx_guildlog_pair_t  *row;

    if (!fits(audit, event) || event->ended || !event->entry || !audit->entry
        || audit->kind == NGX_GUILDLOG_PAIR_LEAVING
        || audit->at - event->at > 1500
        || (audit->count > 1 && audit->kind != NGX_GUILDLOG_PAIR_PURGE))
    {
        return 0;
    }

    for (i = 0; i < n; i++) {
        row = &rows[i];

        if (row->kind == NGX_GUILDLOG_PAIR_GAP
            && row->at >= audit->at - 10000 && row->at <= audit->at + 500)
        {
            return 0;
        }

        if (row != event && fits(audit, row)) {
            return 0;
        }

        if (row != audit && row->at <= audit->at + 500 && fits(row, event)) {
            return 0;
        }
    }

    return 1;
}


/* what becomes of it: 0 nothing now, 1 alone, 2 part of another, 3 of both */

static ngx_uint_t
becomes(const ngx_guildlog_pair_t *rows, ngx_uint_t n,
    const ngx_guildlog_pair_t *row, int64_t now)
{
    ngx_uint_t                  i, asked;
    const ngx_guildlog_pair_t  *other;

    asked = 0;

    if (row->ended || (row->audit && row->due > now)) {
        return 0;
    }

    for (i = 0; i < n; i++) {
        other = &rows[i];

        if (row->audit) {
            if (one_act(rows, n, row, other)) {
                return 3;
            }

            continue;
        }

        if (!fits(other, row)) {
            continue;
        }

        if (row->kind == NGX_GUILDLOG_PAIR_LEAVING) {
            return 2;
        }

        if (other->ended) {
            continue;
        }

        if (other->due <= now) {
            if (one_act(rows, n, other, row)) {
                return 2;
            }

        } else if (other->at - row->at <= 1500) {
            asked = 1;
        }
    }

    return row->audit || (row->due <= now && !asked);
}


static void
shuffle(ngx_guildlog_pair_t **pairs, ngx_uint_t n)
{
    ngx_uint_t            i, j;
    ngx_guildlog_pair_t  *pair;

    for (i = n; i > 1; i--) {
        j = any(i);
        pair = pairs[j];
        pairs[j] = pairs[i - 1];
        pairs[i - 1] = pair;
    }
}


int
main(void)
{
    int64_t               now;
    ngx_uint_t            i, n, round, got, wrong, seen[4];
    ngx_guildlog_pair_t   rows[ROWS], was[ROWS], *pairs[ROWS];

    entry = json_object();
    wrong = 0;
    ngx_memzero(seen, sizeof(seen));

    for (round = 0; round < ROUNDS; round++) {
        n = make(rows);
        now = 100000 + 250 * any(110);

        for (i = 0; i < n; i++) {
            was[i] = rows[i];
            pairs[i] = &rows[i];
        }

        shuffle(pairs, n);

        if (ngx_guildlog_pair_end(pairs, n, now) != NGX_OK) {
            wrong++;
        }

        for (i = 0; i < n; i++) {
            got = !rows[i].ends ? 0 : rows[i].joined ? 2
                                                     : rows[i].paired ? 3 : 1;
            wrong += got != becomes(was, n, &was[i], now);
            seen[got]++;
        }
    }

    tap_is(wrong, 0, "each row ends as the rule says");

    for (i = 0; i < 4; i++) {
        tap_ok(seen[i] > ROUNDS / 200, "in each way (%u)", (unsigned) i);
    }

    json_decref(entry);

    return tap_done();
}
