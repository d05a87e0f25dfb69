
/*
 * Questions that a request asks the platform.  Each waits until this machine's
 * address may send it.  All of them end by one deadline.
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
    unsigned                          waits:1;   /* for a grant */
} ngx_http_guildlog_probe_t;


/* sets probe->result, and what else it needs of the answer */
typedef void (*ngx_http_guildlog_probe_pt)(ngx_http_guildlog_probe_t *probe,
    ngx_guildlog_client_response_t *answer,
    const ngx_guildlog_verdict_t *verdict);

/* all are answered: returns what finalizes the request, or NGX_BUSY */
typedef ngx_int_t (*ngx_http_guildlog_probes_pt)(
    ngx_http_guildlog_call_t *call);


struct ngx_http_guildlog_trouble_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_http_guildlog_call_t      *call;
    ngx_http_guildlog_probe_t      probes[NGX_HTTP_GUILDLOG_PROBES];
    ngx_uint_t                     n;
    ngx_uint_t                     pending;
    ngx_uint_t                     refused;  /* how many the platform refused */
    ngx_event_t                    timer;
    ngx_msec_t                     until;
    ngx_guildlog_platform_call_e   asks;
    ngx_http_guildlog_probe_pt     judge;
    ngx_http_guildlog_probes_pt    done;
    unsigned                       asked:1;
};


/* NULL: this nginx does not deliver for the database of the call */
const ngx_guildlog_delivery_conf_t *ngx_http_guildlog_trouble_ask_conf(
    ngx_http_guildlog_call_t *call);

/* NULL: out of memory; the caller sets asks, judge and done */
ngx_http_guildlog_trouble_t *ngx_http_guildlog_trouble_ask_create(
    ngx_http_guildlog_call_t *call);

/* the next one, for the caller to fill; NULL: there are as many as may be */
ngx_http_guildlog_probe_t *ngx_http_guildlog_trouble_ask_add(
    ngx_http_guildlog_call_t *call);

/* asks; "local_rate_limit" is the result of a question not sent within ms */
void ngx_http_guildlog_trouble_ask_start(ngx_http_guildlog_call_t *call,
    ngx_msec_t ms);

/* the body of the result; NULL: the result is the answer of the request */
json_t *ngx_http_guildlog_trouble_ask_word(ngx_http_guildlog_call_t *call,
    ngx_guildlog_db_result_t *result);


#endif /* _NGX_HTTP_GUILDLOG_TROUBLE_ASK_H_INCLUDED_ */
