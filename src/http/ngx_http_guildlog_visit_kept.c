
/*
 * What came of renewals, not long ago: in the worker's cache.
 */

#include "http/ngx_http_guildlog_visit.h"


/* s for which a renewal that failed is not tried again */
#define VISIT_KEPT_REST  5


/* the cookie is behind it */

typedef struct {
    time_t                         until;
    ngx_uint_t                     status;
    size_t                         len;
} visit_kept_t;


/*
 * A browser sends several requests with the same old cookie, and a script may
 * never take the new one: the platform is not asked for each of them.  What
 * failed counts for all sessions of a person.
 */

void
ngx_http_guildlog_visit_kept_store(ngx_http_guildlog_visit_t *visit)
{
    time_t         until;
    ngx_str_t     *key;
    visit_kept_t  *kept;

    key = &visit->person.session;
    until = ngx_time() + NGX_GUILDLOG_LOGIN_FRESH;

    if (visit->status == NGX_HTTP_OK) {
        until = visit->person.asked + NGX_GUILDLOG_LOGIN_FRESH;

    } else if (visit->status != NGX_HTTP_UNAUTHORIZED) {
        key = &visit->person.user;
        until = ngx_time() + VISIT_KEPT_REST;
    }

    kept = ngx_guildlog_cache_store(ngx_http_guildlog_worker.visits, key,
                                    sizeof(visit_kept_t) + visit->cookie.len,
                                    0);
    if (kept == NULL) {
        return;
    }

    kept->until = until;
    kept->status = visit->status;
    kept->len = visit->cookie.len;

    if (kept->len) {
        ngx_memcpy(kept + 1, visit->cookie.data, kept->len);
    }
}


ngx_uint_t
ngx_http_guildlog_visit_kept(const ngx_guildlog_login_person_t *person,
    ngx_str_t *cookie)
{
    ngx_str_t      key;
    visit_kept_t  *kept;

    key = person->session;
    kept = ngx_guildlog_cache_find(ngx_http_guildlog_worker.visits, &key);

    if (kept == NULL || kept->until <= ngx_time()) {
        key = person->user;
        kept = ngx_guildlog_cache_find(ngx_http_guildlog_worker.visits, &key);
    }

    if (kept == NULL || kept->until <= ngx_time()) {
        return 0;
    }

    cookie->data = (u_char *) (kept + 1);
    cookie->len = kept->len;

    return kept->status;
}
