
/*
 * Questions that a request asks the platform: each waits until this machine's
 * address may send it, all end by one deadline.
 */

#ifndef _NGX_HTTP_GUILDLOG_TROUBLE_ASK_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_TROUBLE_ASK_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"
#include "base/ngx_guildlog_json.h"
#include "platform/ngx_guildlog_verdict.h"


#define NGX_HTTP_GUILDLOG_PROBES     25     /* a request */
#define NGX_HTTP_GUILDLOG_PROBE_GUILD  1    /* the call's arguments */
#define NGX_HTTP_GUILDLOG_PROBE_BOT  2


typedef struct {
    ngx_http_guildlog_call_t         *call;
    ngx_guildlog_client_exchange_t   *exchange;  /* NULL: not under way */
    ngx_guildlog_platform_request_t   request;
    ngx_str_t                         channel;
    const char                       *result;    /* a word */
    const char                       *detail;
    ngx_uint_t                        status;    /* 0: none came */
    ngx_uint_t                        time_ms;
    ngx_array_t                      *webhooks;  /* NULL: none were told */
    unsigned                          waits:1;   /* for its turn */
} ngx_http_guildlog_probe_t;


/* takes from an answer what it wants, and at least a result */
typedef void (*ngx_http_guildlog_probe_pt)(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);

/* all are answered: what finalizes the request, NGX_BUSY: it goes on */
typedef ngx_int_t (*ngx_http_guildlog_probes_pt)(
    ngx_http_guildlog_call_t *call);


struct ngx_http_guildlog_trouble_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_http_guildlog_call_t      *call;
    ngx_http_guildlog_probe_t      probes[NGX_HTTP_GUILDLOG_PROBES];
    ngx_uint_t                     n;
    ngx_uint_t                     pending;
    ngx_uint_t                     refused;  /* of them: the database counts */
    ngx_event_t                    timer;
    ngx_msec_t                     until;
    ngx_guildlog_platform_call_e   asks;
    ngx_http_guildlog_probe_pt     judge;
    ngx_http_guildlog_probes_pt    done;
    unsigned                       asked:1;
};


/* whom to ask; NULL: nobody, this nginx does not deliver for that database */
const ngx_guildlog_delivery_conf_t *ngx_http_guildlog_probe_conf(
    ngx_http_guildlog_call_t *call);

/* NULL: out of memory; asks, judge and done are to be set */
ngx_http_guildlog_trouble_t *ngx_http_guildlog_probes_create(
    ngx_http_guildlog_call_t *call);

/* the next one, to be filled; NULL: there are enough */
ngx_http_guildlog_probe_t *ngx_http_guildlog_probe_add(
    ngx_http_guildlog_call_t *call);

/* asks; the result of what cannot be sent in time is "local_rate_limit" */
void ngx_http_guildlog_probes_start(ngx_http_guildlog_call_t *call,
    ngx_msec_t ms);

/* what the database said to go on with; NULL: its answer is the answer */
json_t *ngx_http_guildlog_probe_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


#endif /* _NGX_HTTP_GUILDLOG_TROUBLE_ASK_H_INCLUDED_ */
