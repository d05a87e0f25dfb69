
/*
 * Signing in: the location of guildlog_login, and the person of a cookie at the
 * API of the same server{}.
 */

#ifndef _NGX_HTTP_GUILDLOG_LOGIN_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_LOGIN_H_INCLUDED_


#include "http/ngx_http_guildlog_call.h"


/*
 * The platform is asked who a person is, and what the person manages, and the
 * database keeps that.  A visit belongs to the worker:
 * several requests may wait for one, and it ends when none does.
 */

typedef struct ngx_http_guildlog_visit_s  ngx_http_guildlog_visit_t;


/*
 * A request that waits for a visit.  The handler is called from the event loop,
 * once, unless the request has ended before.  The status: 200: the session is
 * as new, or there is the cookie of one that has begun; 400: the platform does
 * not know the code; 401: the session is over; 403: it was begun before; 503:
 * the platform or the database did not answer as it should.
 */

typedef struct {
    ngx_queue_t                    queue;
    ngx_http_guildlog_visit_t     *visit;     /* NULL: it has ended */
    void                         (*handler)(void *data, ngx_uint_t status,
                                            const ngx_str_t *cookie);
    void                          *data;
} ngx_http_guildlog_visitor_t;


/*
 * Exchanges the code in a form, for a session of that id.  NGX_OK: the
 * visitor's handler will be called; NGX_ERROR: out of memory.
 */
ngx_int_t ngx_http_guildlog_visit_begin(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login, const ngx_str_t *session,
    const ngx_str_t *form, ngx_http_guildlog_visitor_t *visitor);

/* asks anew for the person of a session, or joins who does; the same */
ngx_int_t ngx_http_guildlog_visit_renew(ngx_http_request_t *r,
    const ngx_http_guildlog_login_conf_t *login,
    const ngx_guildlog_login_person_t *person,
    ngx_http_guildlog_visitor_t *visitor);

/* the worker may wait no longer: all visits end with 503 */
void ngx_http_guildlog_visit_expire(void);


#endif /* _NGX_HTTP_GUILDLOG_LOGIN_H_INCLUDED_ */
