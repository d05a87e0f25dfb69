
/*
 * A visit, as its files share it; others know only login.h.
 */

#ifndef _NGX_HTTP_GUILDLOG_VISIT_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_VISIT_H_INCLUDED_


#include "http/ngx_http_guildlog_login.h"


/* a step: takes what was asked for, and returns the status with which the visit
   ends, or NGX_AGAIN */

typedef ngx_int_t (*ngx_http_guildlog_visit_pt)(
    ngx_http_guildlog_visit_t *visit, json_t *json);


struct ngx_http_guildlog_visit_s {
    NGX_GUILDLOG_EVENT_IDENT;

    ngx_queue_t                    queue;     /* of those under way */
    ngx_queue_t                    visitors;
    ngx_pool_t                    *pool;
    const ngx_http_guildlog_login_conf_t  *login;
    ngx_guildlog_login_person_t    person;

    /* what the platform is asked */
    const char                    *method;
    ngx_str_t                      path;
    ngx_str_t                      authorization;
    ngx_str_t                      form;

    ngx_http_guildlog_visit_pt     answered;  /* the step */

    /*
     * What came of a question, from the event loop.  200: the body answers it;
     * 400: the platform does not know the code; 401: the person has taken back
     * what guildlog was allowed; 503: there is no such answer.
     */
    void                         (*told)(ngx_http_guildlog_visit_t *visit,
                                         ngx_uint_t status, ngx_str_t *body);
    ngx_event_t                    timer;     /* of what is asked */
    ngx_msec_t                     until;
    ngx_guildlog_client_exchange_t  *exchange;
    ngx_guildlog_db_query_t       *query;

    ngx_uint_t                     status;    /* when it has ended */
    ngx_str_t                      cookie;

    ngx_guildlog_asks_e            asks;
    ngx_queue_t                    line;      /* of those that wait for a
                                                 grant */
    ngx_uint_t                     rank;      /* in it: the requests of this
                                                 address */

    unsigned                       waits:1;
    unsigned                       renews:1;
    unsigned                       ended:1;
};


/* asks the platform by the method, path, authorization and form of the visit */
void ngx_http_guildlog_visit_ask(ngx_http_guildlog_visit_t *visit);
void ngx_http_guildlog_visit_ask_cancel(ngx_http_guildlog_visit_t *visit);

/* 1: a line may be logged: strangers cause as many as they like, and a second
   has one */
ngx_uint_t ngx_http_guildlog_visit_ask_tells(void);


void ngx_http_guildlog_visit_kept_store(ngx_http_guildlog_visit_t *visit);


#endif /* _NGX_HTTP_GUILDLOG_VISIT_H_INCLUDED_ */
