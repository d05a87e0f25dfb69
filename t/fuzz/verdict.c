
/*
 * Links ngx_guildlog_platform.c,
 * ngx_guildlog_client_response.c, ngx_guildlog_value.c, ngx_guildlog_json.c
 * and ngx_guildlog_utf8.c.
 *
 * An answer of the platform to any call: a verdict has the fields it needs, and
 * ids and tokens in it may be sent back to the platform.
 */

#include "platform/ngx_guildlog_platform.h"
#include "fuzz.h"


#define LIMIT  65536


static ngx_uint_t
is_id(const ngx_str_t *id)
{
    char    text[32];
    size_t  digits;

    if (id->len == 0 || id->len > 20) {
        return 0;
    }

    ngx_memcpy(text, id->data, id->len);
    text[id->len] = '\0';

    digits = strspn(text, "0123456789");
    errno = 0;

    return strtoull(text, NULL, 10) <= INT64_MAX && errno == 0
           && digits == id->len;
}


static void
judge(ngx_pool_t *pool, ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call)
{
    ngx_guildlog_verdict_t             v;
    ngx_guildlog_platform_request_t    request;

    ngx_guildlog_verdict(pool, answer, call, &v);

    fuzz_expect(v.class <= NGX_GUILDLOG_VERDICT_FULL);
    fuzz_expect(v.class == NGX_GUILDLOG_VERDICT_DONE || v.reason != NULL);

    if (v.class == NGX_GUILDLOG_VERDICT_LIMITED) {
        fuzz_expect(v.scope <= NGX_GUILDLOG_SCOPE_GLOBAL);
    }

    if (v.class != NGX_GUILDLOG_VERDICT_DONE) {
        return;
    }

    /* what is not there need not be deleted */

    fuzz_expect((answer->status >= 200 && answer->status < 300)
                || call == NGX_GUILDLOG_CALL_DELETE);

    if (call == NGX_GUILDLOG_CALL_EXECUTE) {
        fuzz_expect(is_id(&v.message_id));
    }

    if (call == NGX_GUILDLOG_CALL_CREATE) {
        fuzz_expect(is_id(&v.webhook_id));
        fuzz_expect(ngx_guildlog_platform_call(pool, NGX_GUILDLOG_CALL_DELETE,
                                               &v.webhook_id, &v.token,
                                               &request)
                    == NGX_OK);
        fuzz_expect(ngx_strlchr(request.path.data,
                                request.path.data + request.path.len, ' ')
                    == NULL);
    }
}


static void
lists(ngx_pool_t *pool, ngx_guildlog_client_response_t *answer)
{
    json_t                           *json;
    ngx_str_t                         error;
    ngx_uint_t                        i;
    ngx_array_t                      *list;
    ngx_guildlog_platform_message_t  *message;
    ngx_guildlog_platform_webhook_t  *webhook;

    json = ngx_guildlog_json_parse(pool, &answer->body, &error);
    list = ngx_guildlog_platform_webhooks(pool, json);

    if (list) {
        webhook = list->elts;

        for (i = 0; i < list->nelts; i++) {
            fuzz_expect(is_id(&webhook[i].id));
        }
    }

    list = ngx_guildlog_platform_messages(pool, json);

    if (list) {
        message = list->elts;

        for (i = 0; i < list->nelts; i++) {
            fuzz_expect(is_id(&message[i].id));
        }
    }
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    ngx_guildlog_client_reader_t    reader;
    ngx_guildlog_platform_call_e    call;
    ngx_guildlog_client_response_t  answer;

    call = 1 << fuzz_pick(&p, &len, 5);

    ngx_memzero(&answer, sizeof(ngx_guildlog_client_response_t));

    fuzz_expect(ngx_guildlog_client_response_init(&reader, pool, &answer, LIMIT)
                == NGX_OK);

    switch (ngx_guildlog_client_response_feed(&reader, p, len)) {

    case NGX_OK:
        answer.outcome = NGX_GUILDLOG_CLIENT_ANSWERED;
        break;

    case NGX_AGAIN:
        answer.outcome = NGX_GUILDLOG_CLIENT_UNCERTAIN;
        answer.cause = "it ended too early";
        break;

    default:
        answer.outcome = NGX_GUILDLOG_CLIENT_UNCERTAIN;
        fuzz_expect(answer.cause != NULL);
    }

    judge(pool, &answer, call);

    if (answer.outcome == NGX_GUILDLOG_CLIENT_ANSWERED) {
        lists(pool, &answer);
    }
}
