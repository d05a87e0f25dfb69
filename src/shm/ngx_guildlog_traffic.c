
/*
 * What delivery did.
 */

#include "shm/ngx_guildlog_traffic.h"


/* in the order of the bits of ngx_guildlog_platform_call_e */

const char  *ngx_guildlog_traffic_calls[NGX_GUILDLOG_TRAFFIC_CALLS] = {
    "execute", "list", "create", "delete", "read", "channel", "webhook"
};


/* in the order of ngx_guildlog_verdict_class_e */

const char  *ngx_guildlog_traffic_classes[NGX_GUILDLOG_TRAFFIC_CLASSES] = {
    "done", "doubt", "again", "limited", "blocked", "poison", "shrink",
    "content", "webhook_gone", "channel_gone", "forbidden", "token_bad",
    "full"
};


/* in the order of ngx_guildlog_verdict_scope_e */

const char  *ngx_guildlog_traffic_scopes[NGX_GUILDLOG_TRAFFIC_SCOPES] = {
    "user", "shared", "global"
};


const char  *ngx_guildlog_traffic_ends[NGX_GUILDLOG_TRAFFIC_ENDS] = {
    "delivered", "unconfirmed", "expired", "rejected", "webhook_404",
    "channel_gone", "foreign_channel", "forbidden"
};


const char  *ngx_guildlog_traffic_doubts[NGX_GUILDLOG_DOUBT_LAST] = {
    "present", "absent", "unproved"
};


const ngx_uint_t  ngx_guildlog_traffic_codes[NGX_GUILDLOG_TRAFFIC_CODES] = {
    0,
    200, 201, 204,
    400, 401, 403, 404, 405, 413, 429,
    500, 502, 503, 504,
    0
};


void
ngx_guildlog_traffic_call(ngx_guildlog_traffic_t *traffic,
    ngx_uint_t call, ngx_uint_t class, ngx_int_t scope, ngx_uint_t status)
{
    ngx_uint_t  bit, code;

    for (bit = 0; !(call >> bit & 1); bit++) { /* void */ }

    for (code = 0; code < NGX_GUILDLOG_TRAFFIC_CODES - 1; code++) {
        if (ngx_guildlog_traffic_codes[code] == status) {
            break;
        }
    }

    (void) ngx_atomic_fetch_add(&traffic->calls[bit][class][code], 1);

    if (scope != -1) {
        (void) ngx_atomic_fetch_add(&traffic->limited[scope], 1);
    }
}


void
ngx_guildlog_traffic_entries(ngx_guildlog_traffic_t *traffic,
    const ngx_str_t *end, ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_GUILDLOG_TRAFFIC_ENDS; i++) {
        if (end->len == ngx_strlen(ngx_guildlog_traffic_ends[i])
            && ngx_strncmp(end->data, ngx_guildlog_traffic_ends[i], end->len)
               == 0)
        {
            (void) ngx_atomic_fetch_add(&traffic->entries[i], n);
            return;
        }
    }
}


void
ngx_guildlog_traffic_doubt(ngx_guildlog_traffic_t *traffic,
    ngx_guildlog_traffic_doubt_e end)
{
    (void) ngx_atomic_fetch_add(&traffic->doubts[end], 1);
}
