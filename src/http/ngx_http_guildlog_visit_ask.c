
/*
 * What a visit asks the platform: it waits for a grant, sends the question, and
 * judges whether the answer is one.
 */

#include "http/ngx_http_guildlog_visit.h"
#include "shm/ngx_guildlog_quota.h"


/* ms: for one answer of the platform, and from one look for a grant to the
   next */
#define VISIT_ASK_PLATFORM  5000
#define VISIT_ASK_GRANT     20


static void visit_ask_handler(ngx_event_t *ev);
static void visit_ask_send(ngx_http_guildlog_visit_t *visit);
static void visit_ask_answered(void *data,
    ngx_guildlog_client_response_t *response);
static void visit_ask_pace(ngx_guildlog_client_response_t *response);
static ngx_uint_t visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response);


/*
 * If this nginx delivers, what is asked counts in what its address may send:
 * the worker that delivers grants it.
 */

void
ngx_http_guildlog_visit_ask(ngx_http_guildlog_visit_t *visit)
{
    visit->until = ngx_current_msec + VISIT_ASK_PLATFORM;

    visit->timer.handler = visit_ask_handler;
    visit->timer.data = visit;
    visit->timer.log = ngx_cycle->log;

    if (visit->login->delivers) {
        visit->waits = 1;
        ngx_guildlog_quota_want(&ngx_http_guildlog_worker.stats);
        ngx_add_timer(&visit->timer, VISIT_ASK_GRANT);
        return;
    }

    visit_ask_send(visit);
}


static void
visit_ask_handler(ngx_event_t *ev)
{
    ngx_http_guildlog_visit_t *visit = ev->data;

    if (!visit->waits) {
        visit->told(visit, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
        return;
    }

    if (ngx_guildlog_quota_take(&ngx_http_guildlog_worker.stats)) {
        visit->waits = 0;
        visit_ask_send(visit);
        return;
    }

    if ((ngx_msec_int_t) (visit->until - ngx_current_msec) > 0) {
        ngx_add_timer(&visit->timer, VISIT_ASK_GRANT);
        return;
    }

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "the requests to the platform that this machine may send "
                  "were used up: \"%V\" was not asked", &visit->path);

    visit->told(visit, NGX_HTTP_SERVICE_UNAVAILABLE, NULL);
}


static void
visit_ask_send(ngx_http_guildlog_visit_t *visit)
{
    static const ngx_str_t  type =
        ngx_string("application/x-www-form-urlencoded");

    visit->exchange = ngx_guildlog_client_send(ngx_http_guildlog_worker.client,
                          visit->method, &visit->path, &visit->authorization,
                          &type, &visit->form, VISIT_ASK_PLATFORM,
                          visit_ask_answered, visit);

    /* visitors are called from the event loop only */

    if (visit->exchange == NULL) {
        ngx_add_timer(&visit->timer, 0);
    }
}


static void
visit_ask_answered(void *data, ngx_guildlog_client_response_t *response)
{
    ngx_http_guildlog_visit_t *visit = data;

    visit->exchange = NULL;

    visit_ask_pace(response);

    visit->told(visit, visit_ask_judge(visit, response), &response->body);
}


/* what delivery has to know of it: it sends from the same address */

static void
visit_ask_pace(ngx_guildlog_client_response_t *response)
{
    ngx_int_t         after;
    ngx_msec_t        pause;
    const ngx_str_t  *value;

    pause = 0;

    if (response->status == NGX_HTTP_TOO_MANY_REQUESTS
        && ngx_guildlog_client_response_header(response,
                                               "x-ratelimit-global"))
    {
        value = ngx_guildlog_client_response_header(response, "retry-after");
        after = value ? ngx_atofp(value->data, value->len, 3) : NGX_ERROR;
        pause = after > 0 ? (ngx_msec_t) ngx_min(after, 600000) : 1000;
    }

    ngx_guildlog_pace_told(&ngx_http_guildlog_worker.stats.shared->pace,
                  ngx_current_msec,
                  response->outcome != NGX_GUILDLOG_CLIENT_ANSWERED
                  || response->status >= NGX_HTTP_INTERNAL_SERVER_ERROR,
                  response->status == NGX_HTTP_UNAUTHORIZED
                  || response->status == NGX_HTTP_FORBIDDEN
                  || response->status == NGX_HTTP_TOO_MANY_REQUESTS,
                  pause);
}


/* as visit->told() takes it */

static ngx_uint_t
visit_ask_judge(ngx_http_guildlog_visit_t *visit,
    ngx_guildlog_client_response_t *response)
{
    u_char  *end;

    if (response->outcome == NGX_GUILDLOG_CLIENT_ANSWERED
        && response->status == NGX_HTTP_OK && !response->cut)
    {
        return NGX_HTTP_OK;
    }

    end = response->body.data + response->body.len;

    if (visit->form.len && response->status == NGX_HTTP_BAD_REQUEST
        && ngx_strlcasestrn(response->body.data, end,
                            (u_char *) "invalid_grant", 13 - 1))
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "the platform did not answer \"%V\" for who signed in: "
                  "status %ui%s%s", &visit->path, response->status,
                  response->cause ? ", " : "",
                  response->cause ? response->cause : "");

    /* the person has taken back what guildlog was allowed */

    if (visit->renews && response->status == NGX_HTTP_UNAUTHORIZED) {
        return NGX_HTTP_UNAUTHORIZED;
    }

    return NGX_HTTP_SERVICE_UNAVAILABLE;
}


void
ngx_http_guildlog_visit_ask_cancel(ngx_http_guildlog_visit_t *visit)
{
    ngx_guildlog_event_stop(&visit->timer);

    if (visit->waits) {
        ngx_guildlog_quota_give_up(&ngx_http_guildlog_worker.stats);
    }

    if (visit->exchange) {
        ngx_guildlog_client_cancel(visit->exchange);
    }
}
