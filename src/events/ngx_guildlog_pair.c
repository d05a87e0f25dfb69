
/*
 * Which packets belong together.  Only time ends one: so neither the order in
 * which they came nor the cutting of batches matters.
 *
 * Invariant: an act of a person is never told as somebody else's.  Whatever
 * might be the other one spoils, also if it has been recorded, is ignored, or
 * if nobody knows whose message it was.
 */

#include "events/ngx_guildlog_pair.h"


/* ms: behind an audit entry, before it, and how long a row spoils */
#define PAIR_BEHIND     500
#define PAIR_OTHER      10000
#define PAIR_KEPT       11000
#define PAIR_LEFT       2000       /* ms: a leaving behind its kick or ban */


/* rows that may be one act: those of the audit log, and those of the gateway */

typedef struct {
    ngx_guildlog_pair_t  **audits;
    ngx_uint_t             naudits;
    ngx_guildlog_pair_t  **events;
    ngx_uint_t             nevents;
    ngx_guildlog_pair_t  **gaps;
    ngx_uint_t             ngaps;
} pair_group_t;


static ngx_uint_t pair_in_time(const ngx_guildlog_pair_t *audit,
    const ngx_guildlog_pair_t *event);
static uint64_t pair_key(const ngx_guildlog_pair_t *pair);
static int ngx_libc_cdecl pair_compare(const void *one, const void *two);
static ngx_int_t pair_group(pair_group_t *group, int64_t now);
static ngx_uint_t pair_asked(const pair_group_t *group,
    const ngx_guildlog_pair_t *event);
static ngx_uint_t pair_fits(const ngx_guildlog_pair_t *audit,
    const ngx_guildlog_pair_t *event);
static ngx_guildlog_pair_t *pair_choose(const pair_group_t *group,
    const ngx_guildlog_pair_t *audit);
static ngx_int_t pair_join(ngx_guildlog_pair_t *audit,
    ngx_guildlog_pair_t *event);


/* by the number of a log type */

static const struct {
    uint8_t                        type;
    uint8_t                        audit;
    uint8_t                        kind;
} pair_kinds[] = {
    { 18, 0, NGX_GUILDLOG_PAIR_HANGUP },       /* voiceLeave */
    { 22, 1, NGX_GUILDLOG_PAIR_HANGUP },       /* voiceDisconnected */
    { 15, 0, NGX_GUILDLOG_PAIR_SWITCH },       /* voiceSwitch */
    { 14, 1, NGX_GUILDLOG_PAIR_SWITCH },       /* voiceMoved */
    { 4, 0, NGX_GUILDLOG_PAIR_DELETION },      /* threadMessageDelete */
    { 5, 0, NGX_GUILDLOG_PAIR_DELETION },      /* messageDelete */
    { 86, 0, NGX_GUILDLOG_PAIR_DELETION },     /* pollDelete */
    { 4, 1, NGX_GUILDLOG_PAIR_DELETION },
    { 5, 1, NGX_GUILDLOG_PAIR_DELETION },
    { 3, 0, NGX_GUILDLOG_PAIR_PURGE },         /* messageDeleteBulk */
    { 3, 1, NGX_GUILDLOG_PAIR_PURGE },
    { 2, 0, NGX_GUILDLOG_PAIR_LEAVING },       /* memberLeave */
    { 58, 0, NGX_GUILDLOG_PAIR_LEAVING },      /* botRemove */
    { 41, 1, NGX_GUILDLOG_PAIR_LEAVING },      /* kick */
    { 39, 1, NGX_GUILDLOG_PAIR_LEAVING },      /* ban */
    { 58, 1, NGX_GUILDLOG_PAIR_LEAVING }
};


/* ms, by kind: how long an event and an audit entry wait, and from how long
   before itself an entry takes one.  Who was kicked or banned the audit log
   says itself, at once */

static const struct {
    ngx_int_t                      event;
    ngx_int_t                      audit;
    ngx_int_t                      back;
} pair_times[NGX_GUILDLOG_PAIR_NONE + 1] = {
    [NGX_GUILDLOG_PAIR_HANGUP] = { 1500, PAIR_BEHIND, 4500 },
    [NGX_GUILDLOG_PAIR_SWITCH] = { 1500, PAIR_BEHIND, 4500 },
    [NGX_GUILDLOG_PAIR_DELETION] = { 1500, PAIR_BEHIND, PAIR_OTHER },
    [NGX_GUILDLOG_PAIR_PURGE] = { 1500, PAIR_BEHIND, PAIR_OTHER },
    [NGX_GUILDLOG_PAIR_LEAVING] = { 5000, 0, 0 }
};


ngx_guildlog_pair_kind_e
ngx_guildlog_pair_kind(ngx_uint_t type, ngx_uint_t audit)
{
    ngx_uint_t  i;

    for (i = 0; i < sizeof(pair_kinds) / sizeof(pair_kinds[0]); i++) {
        if (pair_kinds[i].type == type && pair_kinds[i].audit == audit) {
            return pair_kinds[i].kind;
        }
    }

    return NGX_GUILDLOG_PAIR_NONE;
}


ngx_int_t
ngx_guildlog_pair_wait(ngx_guildlog_pair_kind_e kind, ngx_uint_t audit)
{
    return audit ? pair_times[kind].audit : pair_times[kind].event;
}


/* does the event wait for an audit entry of that time? */

static ngx_uint_t
pair_in_time(const ngx_guildlog_pair_t *audit, const ngx_guildlog_pair_t *event)
{
    return audit->at <= event->at + ngx_guildlog_pair_wait(event->kind, 0);
}


ngx_int_t
ngx_guildlog_pair_end(ngx_guildlog_pair_t **pairs, ngx_uint_t n, int64_t now)
{
    int64_t               latest, waits;
    ngx_uint_t            i, end;
    pair_group_t          group;
    ngx_guildlog_pair_t  *pair;

    /* a raid is as long as it is: only what may belong together is compared */

    ngx_qsort(pairs, n, sizeof(ngx_guildlog_pair_t *), pair_compare);

    for (i = n; i > 0 && pairs[i - 1]->kind == NGX_GUILDLOG_PAIR_GAP; i--) {
        /* they are last */
    }

    group.gaps = pairs + i;
    group.ngaps = n - i;

    for (i = 0; i < n; i = end) {
        group.audits = pairs + i;
        group.naudits = 0;

        for (end = i; end < n; end++) {
            pair = pairs[end];

            if (pair->kind != pairs[i]->kind || pair->bot != pairs[i]->bot
                || pair_key(pair) != pair_key(pairs[i]))
            {
                break;
            }

            group.naudits += pair->audit;
        }

        group.events = group.audits + group.naudits;
        group.nevents = end - i - group.naudits;

        if (pair_group(&group, now) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    /* what comes late, after an outage, finds what it came behind */

    latest = 0;
    waits = INT64_MAX;

    for (i = 0; i < n; i++) {
        pair = pairs[i];
        latest = ngx_max(latest, pair->at);

        if (!pair->ended && !pair->ends) {
            waits = ngx_min(waits, pair->at);
        }
    }

    for (i = 0; i < n; i++) {
        pair = pairs[i];

        pair->goes = (pair->ended || pair->ends)
                     && pair->at + PAIR_KEPT < ngx_min(latest, waits)
                     && pair->due + PAIR_KEPT < now;
    }

    return NGX_OK;
}


/* what is equal of those that may belong together */

static uint64_t
pair_key(const ngx_guildlog_pair_t *pair)
{
    switch (pair->kind) {

    case NGX_GUILDLOG_PAIR_SWITCH:
    case NGX_GUILDLOG_PAIR_DELETION:
    case NGX_GUILDLOG_PAIR_PURGE:
        return pair->channel;

    case NGX_GUILDLOG_PAIR_LEAVING:
        return pair->target;

    default:
        return 0;
    }
}


/* by what may belong together, the audit log first */

static int ngx_libc_cdecl
pair_compare(const void *one, const void *two)
{
    uint64_t                    a, b;
    const ngx_guildlog_pair_t  *first, *second;

    first = *(ngx_guildlog_pair_t *const *) one;
    second = *(ngx_guildlog_pair_t *const *) two;

    if (first->kind != second->kind) {
        return first->kind < second->kind ? -1 : 1;
    }

    if (first->bot != second->bot) {
        return first->bot < second->bot ? -1 : 1;
    }

    a = pair_key(first);
    b = pair_key(second);

    if (a != b) {
        return a < b ? -1 : 1;
    }

    return second->audit - first->audit;
}


static ngx_int_t
pair_group(pair_group_t *group, int64_t now)
{
    ngx_uint_t            i, j;
    ngx_guildlog_pair_t  *audit, *event;

    /* an audit entry decides when nothing that is before it can come any more;
       one that has found its event takes it along */

    for (i = 0; i < group->naudits; i++) {
        audit = group->audits[i];

        if (audit->ended || audit->due > now) {
            continue;
        }

        audit->ends = 1;
        event = pair_choose(group, audit);

        if (event) {
            if (pair_join(audit, event) != NGX_OK) {
                return NGX_ERROR;
            }

            audit->paired = 1;
            event->joined = 1;
            event->ends = 1;
        }
    }

    for (i = 0; i < group->nevents; i++) {
        event = group->events[i];

        if (event->ended || event->ends) {
            continue;
        }

        event->ends = event->due <= now && !pair_asked(group, event);

        /* whoever was kicked or banned did not leave */

        if (event->kind == NGX_GUILDLOG_PAIR_LEAVING) {
            for (j = 0; j < group->naudits; j++) {
                if (pair_fits(group->audits[j], event)) {
                    event->joined = 1;
                    event->ends = 1;
                }
            }
        }
    }

    return NGX_OK;
}


/* has an audit entry come in time for it that decides only later? */

static ngx_uint_t
pair_asked(const pair_group_t *group, const ngx_guildlog_pair_t *event)
{
    ngx_uint_t                  i;
    const ngx_guildlog_pair_t  *audit;

    for (i = 0; i < group->naudits; i++) {
        audit = group->audits[i];

        if (!audit->ended && !audit->ends && pair_in_time(audit, event)
            && pair_fits(audit, event))
        {
            return 1;
        }
    }

    return 0;
}


/* may these two of a group be one act? */

static ngx_uint_t
pair_fits(const ngx_guildlog_pair_t *audit, const ngx_guildlog_pair_t *event)
{
    switch (audit->kind) {

    case NGX_GUILDLOG_PAIR_LEAVING:
        return pair_in_time(audit, event)
               && event->at <= audit->at + PAIR_LEFT;

    case NGX_GUILDLOG_PAIR_DELETION:
        if (event->target != 0 && event->target != audit->target) {
            return 0;
        }

        break;

    case NGX_GUILDLOG_PAIR_PURGE:
        if (event->count != audit->count) {
            return 0;
        }

        break;

    case NGX_GUILDLOG_PAIR_HANGUP:
    case NGX_GUILDLOG_PAIR_SWITCH:
        break;

    default:
        return 0;
    }

    return event->at >= audit->at - pair_times[audit->kind].back
           && event->at <= audit->at + PAIR_BEHIND;
}


/* the one event that it must have been, or NULL */

static ngx_guildlog_pair_t *
pair_choose(const pair_group_t *group, const ngx_guildlog_pair_t *audit)
{
    ngx_uint_t                  i;
    ngx_guildlog_pair_t        *event;
    const ngx_guildlog_pair_t  *other;

    if (audit->entry == NULL || audit->kind == NGX_GUILDLOG_PAIR_LEAVING
        || (audit->count > 1 && audit->kind != NGX_GUILDLOG_PAIR_PURGE))
    {
        return NULL;
    }

    for (i = 0; i < group->ngaps; i++) {
        if (group->gaps[i]->at >= audit->at - PAIR_OTHER
            && group->gaps[i]->at <= audit->at + PAIR_BEHIND)
        {
            return NULL;
        }
    }

    event = NULL;

    for (i = 0; i < group->nevents; i++) {
        if (pair_fits(audit, group->events[i])) {
            if (event) {
                return NULL;
            }

            event = group->events[i];
        }
    }

    /* an entry of the audit log that comes too late would find it recorded */

    if (event == NULL || event->ended || event->ends || event->entry == NULL
        || !pair_in_time(audit, event))
    {
        return NULL;
    }

    /* of those that may have come by then, whenever this is decided */

    for (i = 0; i < group->naudits; i++) {
        other = group->audits[i];

        if (other != audit && other->at <= audit->at + PAIR_BEHIND
            && pair_fits(other, event))
        {
            return NULL;
        }
    }

    return event;
}


/* what the gateway saw, by whom the audit log says */

static ngx_int_t
pair_join(ngx_guildlog_pair_t *audit, ngx_guildlog_pair_t *event)
{
    json_t             *value;
    const char *const  *name;

    /* of voice its person is whom it was done to */

    static const char *const  voice[] = {
        "channel", "name", NULL
    };

    static const char *const  messages[] = {
        "type", "timestamp", "target", "channel", "content", "messages",
        "messagesTruncated", "count", NULL
    };

    name = messages;

    if (audit->kind == NGX_GUILDLOG_PAIR_HANGUP
        || audit->kind == NGX_GUILDLOG_PAIR_SWITCH)
    {
        name = voice;
        value = json_object_get(event->entry, "executor");
        (void) json_object_del(audit->entry, "count");

        if (value && json_object_set(audit->entry, "target", value) != 0) {
            return NGX_ERROR;
        }
    }

    for ( /* void */ ; *name; name++) {
        value = json_object_get(event->entry, *name);

        if (value && json_object_set(audit->entry, *name, value) != 0) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}
