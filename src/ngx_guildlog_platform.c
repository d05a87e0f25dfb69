
/*
 * What is said to the chat platform, and what its answers mean: one table.
 */

#include "ngx_guildlog_json.h"
#include "ngx_guildlog_platform.h"


#define NGX_GUILDLOG_PLATFORM_RETRY  5000        /* ms, where none is said */
#define NGX_GUILDLOG_PLATFORM_LONG   86400000    /* ms, more is not believed */
#define NGX_GUILDLOG_PLATFORM_EMBEDS 10

#define NGX_GUILDLOG_PLATFORM_ID     20          /* digits */
#define NGX_GUILDLOG_PLATFORM_TOKEN  200         /* characters */

#define NGX_GUILDLOG_CALL_WRITES     (NGX_GUILDLOG_CALL_EXECUTE               \
                                      |NGX_GUILDLOG_CALL_CREATE)
#define NGX_GUILDLOG_CALL_ANY        (NGX_GUILDLOG_CALL_WRITES                \
                                      |NGX_GUILDLOG_CALL_LIST                 \
                                      |NGX_GUILDLOG_CALL_DELETE               \
                                      |NGX_GUILDLOG_CALL_READ)

#define NGX_GUILDLOG_CODE_ANY        ((ngx_uint_t) -1)


/* how an answer looks; the platform itself speaks JSON */

typedef enum {
    NGX_GUILDLOG_FORM_ANY = 0,
    NGX_GUILDLOG_FORM_JSON,
    NGX_GUILDLOG_FORM_BARE,          /* JSON without a code or a limit */
    NGX_GUILDLOG_FORM_TEXT
} ngx_guildlog_platform_form_e;


typedef struct {
    ngx_uint_t                     status;   /* one digit: a class of them */
    ngx_uint_t                     code;
    ngx_uint_t                     calls;
    ngx_guildlog_platform_form_e   form;
    ngx_guildlog_platform_class_e  class;
    const char                    *reason;
} ngx_guildlog_platform_row_t;


static ngx_guildlog_platform_form_e ngx_guildlog_platform_form(
    const ngx_guildlog_answer_t *answer, json_t *json, ngx_uint_t code);
static ngx_uint_t ngx_guildlog_platform_match(
    const ngx_guildlog_platform_row_t *row, ngx_uint_t status,
    ngx_uint_t code, ngx_guildlog_platform_call_e call,
    ngx_guildlog_platform_form_e form);
static ngx_int_t ngx_guildlog_platform_applied(ngx_pool_t *pool,
    json_t *json, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict);
static void ngx_guildlog_platform_bucket(const ngx_guildlog_answer_t *answer,
    ngx_guildlog_verdict_t *verdict);
static void ngx_guildlog_platform_wait(const ngx_guildlog_answer_t *answer,
    json_t *json, ngx_guildlog_verdict_t *verdict);
static ngx_guildlog_platform_scope_e ngx_guildlog_platform_scope(
    const ngx_guildlog_answer_t *answer, json_t *json);
static ngx_int_t ngx_guildlog_platform_embed(json_t *json);
static ngx_int_t ngx_guildlog_platform_seconds(json_t *value);
static ngx_int_t ngx_guildlog_platform_header_seconds(
    const ngx_guildlog_answer_t *answer, const char *name);
static ngx_int_t ngx_guildlog_platform_ms(const u_char *p, size_t len);
static ngx_array_t *ngx_guildlog_platform_array(ngx_pool_t *pool,
    const ngx_str_t *body, size_t size, json_t **json);
static ngx_int_t ngx_guildlog_platform_text(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value);
static ngx_int_t ngx_guildlog_platform_id(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value);
static ngx_uint_t ngx_guildlog_platform_is_id(const ngx_str_t *id);
static ngx_uint_t ngx_guildlog_platform_is_token(const ngx_str_t *token);


/* the first row that matches holds */

static const ngx_guildlog_platform_row_t  ngx_guildlog_platform_rows[] = {

    /* not the platform, but what stands in front of it */

    { 4, 40333, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 4, 1010, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 4, 1015, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 429, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_BARE,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 403, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_BARE,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 429, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_TEXT,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 403, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_TEXT,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "blocked_address" },
    { 401, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_TEXT,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "not_the_platform" },
    { 404, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_TEXT,
      NGX_GUILDLOG_PLATFORM_BLOCKED, "not_the_platform" },

    { 429, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_LIMITED, "rate_limited" },

    /* the webhook */

    { 4, 10015, NGX_GUILDLOG_CALL_EXECUTE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE, "unknown_webhook" },
    { 4, 50027, NGX_GUILDLOG_CALL_EXECUTE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE, "invalid_webhook_token" },
    { 4, 10015, NGX_GUILDLOG_CALL_DELETE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_DONE, "unknown_webhook" },
    { 4, 50027, NGX_GUILDLOG_CALL_DELETE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_DONE, "invalid_webhook_token" },
    { 4, 30007, NGX_GUILDLOG_CALL_CREATE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_FULL, "webhook_limit" },
    { 4, 30058, NGX_GUILDLOG_CALL_CREATE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_FULL, "webhook_limit" },

    /* the channel */

    { 4, 10003, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "unknown_channel" },
    { 4, 10004, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "unknown_guild" },
    { 4, 50008, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },
    { 4, 50024, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },
    { 4, 220001, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },
    { 4, 220002, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },
    { 4, 220003, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },
    { 4, 220004, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "wrong_channel_type" },

    /* who asks */

    { 4, 50001, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_FORBIDDEN, "missing_access" },
    { 4, 50013, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_FORBIDDEN, "missing_permissions" },
    { 4, 160005, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_FORBIDDEN, "thread_locked" },

    /* what is said */

    { 4, 200000, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CONTENT, "blocked_by_automod" },
    { 4, 200001, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CONTENT, "blocked_by_automod" },
    { 4, 240000, NGX_GUILDLOG_CALL_ANY, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_CONTENT, "harmful_link" },
    { 4, 40005, NGX_GUILDLOG_CALL_EXECUTE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_SHRINK, "too_large" },
    { 4, 50045, NGX_GUILDLOG_CALL_EXECUTE, NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_SHRINK, "too_large" },
    { 413, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_EXECUTE,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_SHRINK, "too_large" },
    { 400, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_JSON,
      NGX_GUILDLOG_PLATFORM_POISON, "invalid_form" },
    { 400, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_BARE,
      NGX_GUILDLOG_PLATFORM_POISON, "invalid_form" },

    /* codes not known yet */

    { 401, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_EXECUTE,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE, "invalid_webhook_token" },
    { 401, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_DELETE,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_DONE, "invalid_webhook_token" },
    { 401, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_TOKEN_BAD, "bad_bot_token" },
    { 403, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_FORBIDDEN, "forbidden" },
    { 404, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_EXECUTE,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_WEBHOOK_GONE, "not_found" },
    { 404, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_DELETE,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_DONE, "not_found" },
    { 404, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_CHANNEL_GONE, "not_found" },

    /* a server that gave up on a request may have read it all */

    { 408, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_WRITES,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_DOUBT, "request_timeout" },

    { 3, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_AGAIN, "redirected" },
    { 4, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_AGAIN, "refused" },
    { 2, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_WRITES,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_DOUBT, "response_unreadable" },
    { 2, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_AGAIN, "response_unreadable" },
    { 0, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_WRITES,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_DOUBT, "server_error" },
    { 0, NGX_GUILDLOG_CODE_ANY, NGX_GUILDLOG_CALL_ANY,
      NGX_GUILDLOG_FORM_ANY,
      NGX_GUILDLOG_PLATFORM_AGAIN, "server_error" }
};


void
ngx_guildlog_platform_judge(ngx_pool_t *pool,
    const ngx_guildlog_answer_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict)
{
    json_t                             *root, *json;
    ngx_str_t                           error;
    ngx_guildlog_platform_form_e        form;
    const ngx_guildlog_platform_row_t  *row;

    ngx_memzero(verdict, sizeof(ngx_guildlog_verdict_t));

    verdict->embed = -1;
    verdict->remaining = -1;
    verdict->reset_after_ms = -1;

    if (answer->outcome != NGX_GUILDLOG_ANSWERED) {
        verdict->reason = "unreached";
        verdict->class = NGX_GUILDLOG_PLATFORM_AGAIN;

        if (answer->outcome == NGX_GUILDLOG_UNCERTAIN) {
            verdict->reason = "no_answer";

            if (call & NGX_GUILDLOG_CALL_WRITES) {
                verdict->class = NGX_GUILDLOG_PLATFORM_DOUBT;
            }
        }

        return;
    }

    ngx_guildlog_platform_bucket(answer, verdict);

    root = ngx_guildlog_json_parse(pool, &answer->body, &error);
    json = json_is_object(root) ? root : NULL;

    if (answer->status / 100 == 2
        && ngx_guildlog_platform_applied(pool, root, call, verdict)
           == NGX_OK)
    {
        verdict->class = NGX_GUILDLOG_PLATFORM_DONE;
        verdict->reason = "ok";
        return;
    }

    if (json_is_integer(json_object_get(json, "code"))
        && json_integer_value(json_object_get(json, "code")) > 0)
    {
        verdict->code = json_integer_value(json_object_get(json, "code"));
    }

    form = ngx_guildlog_platform_form(answer, json, verdict->code);

    row = ngx_guildlog_platform_rows;

    while (!ngx_guildlog_platform_match(row, answer->status, verdict->code,
                                        call, form))
    {
        row++;
    }

    verdict->class = row->class;
    verdict->reason = row->reason;
    verdict->scope = ngx_guildlog_platform_scope(answer, json);

    ngx_guildlog_platform_wait(answer, json, verdict);

    if (verdict->class == NGX_GUILDLOG_PLATFORM_POISON) {
        verdict->embed = ngx_guildlog_platform_embed(json);
    }

    verdict->invalid = answer->status == 401 || answer->status == 403
                       || (answer->status == 429
                           && verdict->scope != NGX_GUILDLOG_SCOPE_SHARED);
}


static ngx_guildlog_platform_form_e
ngx_guildlog_platform_form(const ngx_guildlog_answer_t *answer, json_t *json,
    ngx_uint_t code)
{
    ngx_uint_t     i;
    ngx_keyval_t  *header;

    if (json == NULL) {
        return NGX_GUILDLOG_FORM_TEXT;
    }

    if (code || json_object_get(json, "retry_after")) {
        return NGX_GUILDLOG_FORM_JSON;
    }

    header = answer->headers.elts;

    for (i = 0; i < answer->headers.nelts; i++) {
        if (ngx_strncmp(header[i].key.data, "x-ratelimit-", 12) == 0
            || ngx_strcmp(header[i].key.data, "retry-after") == 0)
        {
            return NGX_GUILDLOG_FORM_JSON;
        }
    }

    return NGX_GUILDLOG_FORM_BARE;
}


static ngx_uint_t
ngx_guildlog_platform_match(const ngx_guildlog_platform_row_t *row,
    ngx_uint_t status, ngx_uint_t code, ngx_guildlog_platform_call_e call,
    ngx_guildlog_platform_form_e form)
{
    return (row->status == 0 || row->status == status
            || row->status == status / 100)
           && (row->code == NGX_GUILDLOG_CODE_ANY || row->code == code)
           && (row->calls & call)
           && (row->form == NGX_GUILDLOG_FORM_ANY || row->form == form);
}


/* of a 2xx: is what was asked for in it? */

static ngx_int_t
ngx_guildlog_platform_applied(ngx_pool_t *pool, json_t *json,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict)
{
    switch (call) {

    case NGX_GUILDLOG_CALL_EXECUTE:
        (void) ngx_guildlog_platform_id(pool, json, "channel_id",
                                        &verdict->channel_id);

        return ngx_guildlog_platform_id(pool, json, "id",
                                        &verdict->message_id);

    case NGX_GUILDLOG_CALL_CREATE:
        (void) ngx_guildlog_platform_id(pool, json, "channel_id",
                                        &verdict->channel_id);

        if (ngx_guildlog_platform_id(pool, json, "id", &verdict->webhook_id)
                != NGX_OK
            || ngx_guildlog_platform_text(pool, json, "token",
                                          &verdict->token)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        return ngx_guildlog_platform_is_token(&verdict->token) ? NGX_OK
                                                               : NGX_ERROR;

    case NGX_GUILDLOG_CALL_DELETE:
        return NGX_OK;

    default: /* NGX_GUILDLOG_CALL_LIST, NGX_GUILDLOG_CALL_READ */
        return json_is_array(json) ? NGX_OK : NGX_ERROR;
    }
}


static void
ngx_guildlog_platform_bucket(const ngx_guildlog_answer_t *answer,
    ngx_guildlog_verdict_t *verdict)
{
    const ngx_str_t  *value;

    value = ngx_guildlog_answer_header(answer, "x-ratelimit-remaining");

    if (value) {
        verdict->remaining = ngx_atoi(value->data, value->len);
    }

    verdict->reset_after_ms = ngx_guildlog_platform_header_seconds(answer,
                                                "x-ratelimit-reset-after");
}


/* the body is exact where the header is whole seconds */

static void
ngx_guildlog_platform_wait(const ngx_guildlog_answer_t *answer, json_t *json,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_int_t  ms;

    ms = ngx_guildlog_platform_seconds(json_object_get(json, "retry_after"));

    if (ms < 0) {
        ms = ngx_guildlog_platform_header_seconds(answer, "retry-after");
    }

    if (verdict->class == NGX_GUILDLOG_PLATFORM_LIMITED) {

        if (ms < 0) {
            ms = verdict->reset_after_ms;
        }

        if (ms < 0) {
            ms = NGX_GUILDLOG_PLATFORM_RETRY;
        }

    } else if (verdict->class == NGX_GUILDLOG_PLATFORM_BLOCKED) {
        ms = ngx_max(ms, NGX_GUILDLOG_PLATFORM_BLOCK);
    }

    verdict->retry_after_ms = ngx_max(ms, 0);
}


static ngx_guildlog_platform_scope_e
ngx_guildlog_platform_scope(const ngx_guildlog_answer_t *answer, json_t *json)
{
    const ngx_str_t  *scope, *global;

    scope = ngx_guildlog_answer_header(answer, "x-ratelimit-scope");
    global = ngx_guildlog_answer_header(answer, "x-ratelimit-global");

    if (json_is_true(json_object_get(json, "global"))
        || (global && global->len == 4
            && ngx_strncasecmp(global->data, (u_char *) "true", 4) == 0)
        || (scope && scope->len == 6
            && ngx_strncasecmp(scope->data, (u_char *) "global", 6) == 0))
    {
        return NGX_GUILDLOG_SCOPE_GLOBAL;
    }

    if (scope && scope->len == 6
        && ngx_strncasecmp(scope->data, (u_char *) "shared", 6) == 0)
    {
        return NGX_GUILDLOG_SCOPE_SHARED;
    }

    return NGX_GUILDLOG_SCOPE_USER;
}


/* {"errors": {"embeds": {"3": {...}}}}: the first of them */

static ngx_int_t
ngx_guildlog_platform_embed(json_t *json)
{
    void        *iter;
    json_t      *embeds;
    ngx_int_t    n, first;
    const char  *key;

    first = -1;
    embeds = json_object_get(json_object_get(json, "errors"), "embeds");

    for (iter = json_object_iter(embeds);
         iter;
         iter = json_object_iter_next(embeds, iter))
    {
        key = json_object_iter_key(iter);
        n = ngx_atoi((u_char *) key, ngx_strlen(key));

        if (n >= 0 && n < NGX_GUILDLOG_PLATFORM_EMBEDS
            && (first < 0 || n < first))
        {
            first = n;
        }
    }

    return first;
}


/* milliseconds of seconds, -1: none */

static ngx_int_t
ngx_guildlog_platform_seconds(json_t *value)
{
    double  seconds;

    if (json_is_string(value)) {
        return ngx_guildlog_platform_ms(
                                     (u_char *) json_string_value(value),
                                     json_string_length(value));
    }

    seconds = json_number_value(value);

    if (!json_is_number(value) || seconds < 0) {
        return -1;
    }

    if (seconds >= NGX_GUILDLOG_PLATFORM_LONG / 1000) {
        return NGX_GUILDLOG_PLATFORM_LONG;
    }

    return (ngx_int_t) (seconds * 1000 + 0.999);
}


static ngx_int_t
ngx_guildlog_platform_header_seconds(const ngx_guildlog_answer_t *answer,
    const char *name)
{
    const ngx_str_t  *value;

    value = ngx_guildlog_answer_header(answer, name);

    return value ? ngx_guildlog_platform_ms(value->data, value->len) : -1;
}


/* rounded up */

static ngx_int_t
ngx_guildlog_platform_ms(const u_char *p, size_t len)
{
    ngx_int_t      ms, unit, more;
    const u_char  *last;

    last = p + len;
    more = 0;

    if (len == 0 || *p < '0' || *p > '9') {
        return -1;
    }

    for (ms = 0; p < last && *p >= '0' && *p <= '9'; p++) {
        ms = ngx_min(ms * 10 + (*p - '0') * 1000,
                     NGX_GUILDLOG_PLATFORM_LONG);
    }

    if (p < last && *p == '.') {
        p++;

        for (unit = 100; p < last && *p >= '0' && *p <= '9'; p++) {
            ms += (*p - '0') * unit;
            more |= (unit == 0 && *p != '0');
            unit /= 10;
        }
    }

    ms += more;

    return p == last ? ngx_min(ms, NGX_GUILDLOG_PLATFORM_LONG) : -1;
}


ngx_array_t *
ngx_guildlog_platform_webhooks(ngx_pool_t *pool, const ngx_str_t *body)
{
    size_t                            i;
    json_t                           *json, *item;
    ngx_array_t                      *array;
    ngx_guildlog_platform_webhook_t  *webhook;

    array = ngx_guildlog_platform_array(pool, body,
                                     sizeof(ngx_guildlog_platform_webhook_t),
                                        &json);
    if (array == NULL) {
        return NULL;
    }

    json_array_foreach(json, i, item) {

        webhook = ngx_array_push(array);
        if (webhook == NULL) {
            return NULL;
        }

        ngx_memzero(webhook, sizeof(ngx_guildlog_platform_webhook_t));

        if (ngx_guildlog_platform_id(pool, item, "id", &webhook->id)
            != NGX_OK)
        {
            return NULL;
        }

        (void) ngx_guildlog_platform_text(pool, item, "token",
                                          &webhook->token);
        (void) ngx_guildlog_platform_text(pool, item, "name",
                                          &webhook->name);
        (void) ngx_guildlog_platform_id(pool, item, "application_id",
                                        &webhook->application_id);

        if (!ngx_guildlog_platform_is_token(&webhook->token)) {
            ngx_str_null(&webhook->token);
        }
    }

    return array;
}


ngx_array_t *
ngx_guildlog_platform_messages(ngx_pool_t *pool, const ngx_str_t *body)
{
    size_t                            i;
    json_t                           *json, *item, *embeds, *embed;
    ngx_array_t                      *array;
    ngx_guildlog_platform_message_t  *message;

    array = ngx_guildlog_platform_array(pool, body,
                                     sizeof(ngx_guildlog_platform_message_t),
                                        &json);
    if (array == NULL) {
        return NULL;
    }

    json_array_foreach(json, i, item) {

        message = ngx_array_push(array);
        if (message == NULL) {
            return NULL;
        }

        ngx_memzero(message, sizeof(ngx_guildlog_platform_message_t));

        if (ngx_guildlog_platform_id(pool, item, "id", &message->id)
            != NGX_OK)
        {
            return NULL;
        }

        embeds = json_object_get(item, "embeds");
        embed = json_array_size(embeds)
                ? json_array_get(embeds, json_array_size(embeds) - 1) : NULL;

        (void) ngx_guildlog_platform_id(pool, item, "webhook_id",
                                        &message->webhook_id);
        (void) ngx_guildlog_platform_text(pool, item, "content",
                                          &message->content);
        (void) ngx_guildlog_platform_text(pool,
                                          json_object_get(embed, "footer"),
                                          "text", &message->footer);
    }

    return array;
}


static ngx_array_t *
ngx_guildlog_platform_array(ngx_pool_t *pool, const ngx_str_t *body,
    size_t size, json_t **json)
{
    ngx_str_t  error;

    *json = ngx_guildlog_json_parse(pool, body, &error);

    if (!json_is_array(*json)) {
        return NULL;
    }

    return ngx_array_create(pool, ngx_max(json_array_size(*json), 1), size);
}


static ngx_int_t
ngx_guildlog_platform_text(ngx_pool_t *pool, json_t *object,
    const char *name, ngx_str_t *value)
{
    json_t     *string;
    ngx_str_t   text;

    string = json_object_get(object, name);

    if (!json_is_string(string)) {
        return NGX_ERROR;
    }

    text.data = (u_char *) json_string_value(string);
    text.len = json_string_length(string);

    value->data = ngx_pstrdup(pool, &text);
    if (value->data == NULL) {
        return NGX_ERROR;
    }

    value->len = text.len;

    return NGX_OK;
}


static ngx_int_t
ngx_guildlog_platform_id(ngx_pool_t *pool, json_t *object, const char *name,
    ngx_str_t *value)
{
    if (ngx_guildlog_platform_text(pool, object, name, value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (!ngx_guildlog_platform_is_id(value)) {
        ngx_str_null(value);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_guildlog_platform_is_id(const ngx_str_t *id)
{
    size_t  i;

    for (i = 0; i < id->len; i++) {
        if (id->data[i] < '0' || id->data[i] > '9') {
            return 0;
        }
    }

    return i > 0 && i <= NGX_GUILDLOG_PLATFORM_ID;
}


static ngx_uint_t
ngx_guildlog_platform_is_token(const ngx_str_t *token)
{
    u_char  c;
    size_t  i;

    for (i = 0; i < token->len; i++) {
        c = ngx_tolower(token->data[i]);

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')
            && c != '-' && c != '_' && c != '.')
        {
            return 0;
        }
    }

    return i > 0 && i <= NGX_GUILDLOG_PLATFORM_TOKEN;
}


ngx_int_t
ngx_guildlog_platform_execute(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, const ngx_str_t *thread_id,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_platform_is_id(webhook_id)
        || !ngx_guildlog_platform_is_token(token)
        || (thread_id->len && !ngx_guildlog_platform_is_id(thread_id)))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/webhooks//?wait=true&thread_id=") - 1
                          + webhook_id->len + token->len + thread_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "POST";
    request->path.data = p;

    p = ngx_sprintf(p, "/webhooks/%V/%V?wait=true", webhook_id, token);

    if (thread_id->len) {
        p = ngx_sprintf(p, "&thread_id=%V", thread_id);
    }

    request->path.len = p - request->path.data;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_list(ngx_pool_t *pool, const ngx_str_t *channel_id,
    ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_platform_is_id(channel_id)) {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/channels//webhooks") - 1
                          + channel_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "GET";
    request->bot = 1;
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/channels/%V/webhooks", channel_id)
                        - p;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_create(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *name, ngx_guildlog_platform_request_t *request)
{
    ngx_guildlog_json_t  w;

    if (ngx_guildlog_platform_list(pool, channel_id, request) != NGX_OK) {
        return NGX_ERROR;
    }

    request->method = "POST";

    ngx_guildlog_json_init(&w, pool, 128);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "name");
    ngx_guildlog_json_string(&w, name);
    ngx_guildlog_json_end(&w);

    request->body.data = w.start;
    request->body.len = w.pos - w.start;

    return w.failed ? NGX_ERROR : NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_delete(ngx_pool_t *pool, const ngx_str_t *webhook_id,
    const ngx_str_t *token, ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_platform_is_id(webhook_id)
        || !ngx_guildlog_platform_is_token(token))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/webhooks//") - 1
                          + webhook_id->len + token->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "DELETE";
    request->path.data = p;
    request->path.len = ngx_sprintf(p, "/webhooks/%V/%V", webhook_id, token)
                        - p;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_platform_read(ngx_pool_t *pool, const ngx_str_t *channel_id,
    const ngx_str_t *after_id, ngx_guildlog_platform_request_t *request)
{
    u_char  *p;

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    if (!ngx_guildlog_platform_is_id(channel_id)
        || !ngx_guildlog_platform_is_id(after_id))
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(pool, sizeof("/channels//messages?after=&limit=100") - 1
                          + channel_id->len + after_id->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    request->method = "GET";
    request->bot = 1;
    request->path.data = p;
    request->path.len = ngx_sprintf(p,
                                "/channels/%V/messages?after=%V&limit=100",
                                    channel_id, after_id)
                        - p;

    return NGX_OK;
}
