
/*
 * The objects in the answers of the chat platform, and what an answer means.
 */

#include "platform/ngx_guildlog_platform.h"
#include "api/ngx_guildlog_value.h"


#define PLATFORM_TOKEN  200         /* characters */


/* the token of a webhook is enough: neither a bot nor a permission is needed */

#define PLATFORM_CALL_BY_TOKEN  (NGX_GUILDLOG_CALL_EXECUTE                    \
                                 |NGX_GUILDLOG_CALL_DELETE                    \
                                 |NGX_GUILDLOG_CALL_WEBHOOK)

/* READ, where there is no message to begin behind */

#define PLATFORM_CALL_NEWEST  "/channels/%V/messages?limit=100"


typedef struct {
    ngx_guildlog_platform_call_e   call;
    const char                    *method;
    const char                    *path;     /* with the id, and what else */
} platform_call_t;

/* NGX_DECLINED: the item has no id */
typedef ngx_int_t (*platform_read_pt)(const json_t *json, void *item);


#define VERDICT_RETRY  5000        /* ms, where none is said */
#define VERDICT_LONG   86400000    /* ms, more is not believed */
#define VERDICT_EMBEDS 10
#define VERDICT_JSON   "application/json"

#define NGX_GUILDLOG_CALL_WRITES     (NGX_GUILDLOG_CALL_EXECUTE               \
                                      |NGX_GUILDLOG_CALL_CREATE)
#define NGX_GUILDLOG_CALL_LOOKS      (NGX_GUILDLOG_CALL_CHANNEL               \
                                      |NGX_GUILDLOG_CALL_WEBHOOK)
#define NGX_GUILDLOG_CALL_ANY        (NGX_GUILDLOG_CALL_WRITES                \
                                      |NGX_GUILDLOG_CALL_LIST                 \
                                      |NGX_GUILDLOG_CALL_DELETE               \
                                      |NGX_GUILDLOG_CALL_READ                 \
                                      |NGX_GUILDLOG_CALL_LOOKS)

#define VERDICT_CODE_ANY        ((ngx_uint_t) -1)


/* how an answer looks; the platform itself speaks JSON */

typedef enum {
    VERDICT_FORM_ANY = 0,
    VERDICT_FORM_JSON,
    VERDICT_FORM_BARE,  /* JSON without a code or a limit */
    VERDICT_FORM_TEXT
} verdict_form_e;


typedef struct {
    ngx_uint_t                     status;   /* one digit: a class of them */
    ngx_uint_t                     code;
    ngx_uint_t                     calls;
    verdict_form_e                 form;
    ngx_guildlog_verdict_class_e   class;
    const char                    *reason;
} verdict_row_t;


static ngx_array_t *platform_array(ngx_pool_t *pool, const json_t *json,
    platform_read_pt read, size_t size);
static ngx_int_t platform_webhook(const json_t *json, void *item);
static ngx_int_t platform_message(const json_t *json, void *item);
static ngx_str_t platform_id(const json_t *object, const char *name);
static ngx_uint_t platform_is_token(const ngx_str_t *token);
static void verdict_read(ngx_pool_t *pool,
    const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict);
static void verdict_unread(const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict);
static verdict_form_e verdict_form(const ngx_guildlog_client_response_t *answer,
    json_t *json, ngx_uint_t code);
static ngx_uint_t verdict_match(const verdict_row_t *row, ngx_uint_t status,
    ngx_uint_t code, ngx_guildlog_platform_call_e call, verdict_form_e form);
static ngx_int_t verdict_applied(ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict);
static void verdict_bucket(const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_verdict_t *verdict);
static void verdict_wait(const ngx_guildlog_client_response_t *answer,
    json_t *json, ngx_guildlog_verdict_t *verdict);
static ngx_guildlog_verdict_scope_e verdict_scope(
    const ngx_guildlog_client_response_t *answer, json_t *json);
static ngx_int_t verdict_embed(json_t *json);
static ngx_int_t verdict_seconds(json_t *value);
static ngx_int_t verdict_header_seconds(
    const ngx_guildlog_client_response_t *answer, const char *name);
static ngx_int_t verdict_ms(const u_char *p, size_t len);


static const platform_call_t  platform_calls[] = {
    { NGX_GUILDLOG_CALL_EXECUTE, "POST",
      "/webhooks/%V/%V?wait=true&with_components=true" },
    { NGX_GUILDLOG_CALL_LIST, "GET", "/channels/%V/webhooks" },
    { NGX_GUILDLOG_CALL_CREATE, "POST", "/channels/%V/webhooks" },
    { NGX_GUILDLOG_CALL_DELETE, "DELETE", "/webhooks/%V/%V" },
    { NGX_GUILDLOG_CALL_READ, "GET",
      "/channels/%V/messages?after=%V&limit=100" },
    { NGX_GUILDLOG_CALL_CHANNEL, "GET", "/channels/%V" },
    { NGX_GUILDLOG_CALL_WEBHOOK, "GET", "/webhooks/%V/%V" }
};


#define with_code(number, calls, class, reason)                               \
    { 4, number, NGX_GUILDLOG_CALL_##calls, VERDICT_FORM_JSON,                \
      NGX_GUILDLOG_VERDICT_##class, reason }
#define with_status(number, calls, form, class, reason)                       \
    { number, VERDICT_CODE_ANY, NGX_GUILDLOG_CALL_##calls,                    \
      VERDICT_FORM_##form, NGX_GUILDLOG_VERDICT_##class, reason }


/* the first row that matches holds */

static const verdict_row_t  verdict_rows[] = {

    /* a platform without this endpoint does not tell the guild */

    { 404, 0, NGX_GUILDLOG_CALL_LOOKS, VERDICT_FORM_ANY,
      NGX_GUILDLOG_VERDICT_DONE, "not_told" },
    { 405, 0, NGX_GUILDLOG_CALL_LOOKS, VERDICT_FORM_ANY,
      NGX_GUILDLOG_VERDICT_DONE, "not_told" },

    /* an answer of a proxy in front of the platform */

    with_code(40333, ANY, BLOCKED, "blocked_address"),
    with_code(1010, ANY, BLOCKED, "blocked_address"),
    with_code(1015, ANY, BLOCKED, "blocked_address"),
    with_status(429, ANY, BARE, BLOCKED, "blocked_address"),
    with_status(403, ANY, BARE, BLOCKED, "blocked_address"),
    with_status(429, ANY, TEXT, BLOCKED, "blocked_address"),
    with_status(403, ANY, TEXT, BLOCKED, "blocked_address"),
    with_status(401, ANY, TEXT, BLOCKED, "not_the_platform"),
    with_status(404, ANY, TEXT, BLOCKED, "not_the_platform"),
    with_status(429, ANY, ANY, LIMITED, "rate_limited"),

    /* the webhook */

    with_code(10015, EXECUTE, WEBHOOK_GONE, "unknown_webhook"),
    with_code(50027, EXECUTE, WEBHOOK_GONE, "invalid_webhook_token"),
    with_code(10015, WEBHOOK, WEBHOOK_GONE, "unknown_webhook"),
    with_code(50027, WEBHOOK, WEBHOOK_GONE, "invalid_webhook_token"),
    with_code(10015, DELETE, DONE, "unknown_webhook"),
    with_code(50027, DELETE, DONE, "invalid_webhook_token"),
    with_code(30007, CREATE, FULL, "webhook_limit"),
    with_code(30058, CREATE, FULL, "webhook_limit"),

    /* the channel */

    with_code(10003, ANY, CHANNEL_GONE, "unknown_channel"),
    with_code(10004, ANY, CHANNEL_GONE, "unknown_guild"),
    with_code(50008, ANY, CHANNEL_GONE, "wrong_channel_type"),
    with_code(50024, ANY, CHANNEL_GONE, "wrong_channel_type"),
    with_code(220001, ANY, CHANNEL_GONE, "wrong_channel_type"),
    with_code(220002, ANY, CHANNEL_GONE, "wrong_channel_type"),
    with_code(220003, ANY, CHANNEL_GONE, "wrong_channel_type"),
    with_code(220004, ANY, CHANNEL_GONE, "wrong_channel_type"),

    /* who asks */

    with_code(50001, ANY, FORBIDDEN, "missing_access"),
    with_code(50013, ANY, FORBIDDEN, "missing_permissions"),
    with_code(160005, ANY, FORBIDDEN, "thread_locked"),

    /* what is said */

    with_code(200000, ANY, CONTENT, "blocked_by_automod"),
    with_code(200001, ANY, CONTENT, "blocked_by_automod"),
    with_code(240000, ANY, CONTENT, "harmful_link"),
    with_code(40005, EXECUTE, SHRINK, "too_large"),
    with_code(50045, EXECUTE, SHRINK, "too_large"),
    with_status(413, EXECUTE, ANY, SHRINK, "too_large"),
    with_status(400, ANY, JSON, POISON, "invalid_form"),
    with_status(400, ANY, BARE, POISON, "invalid_form"),

    /* codes not known yet */

    with_status(401, EXECUTE, ANY, WEBHOOK_GONE, "invalid_webhook_token"),
    with_status(401, WEBHOOK, ANY, WEBHOOK_GONE, "invalid_webhook_token"),
    with_status(401, DELETE, ANY, DONE, "invalid_webhook_token"),
    with_status(401, ANY, ANY, TOKEN_BAD, "bad_bot_token"),
    with_status(403, ANY, ANY, FORBIDDEN, "forbidden"),
    with_status(404, EXECUTE, ANY, WEBHOOK_GONE, "not_found"),
    with_status(404, WEBHOOK, ANY, WEBHOOK_GONE, "not_found"),
    with_status(404, DELETE, ANY, DONE, "not_found"),
    with_status(404, ANY, ANY, CHANNEL_GONE, "not_found"),

    /* a peer that gave up on a request may have read it all */

    with_status(408, WRITES, ANY, DOUBT, "request_timeout"),
    with_status(3, ANY, ANY, AGAIN, "redirected"),
    with_status(4, ANY, ANY, AGAIN, "refused"),
    with_status(2, WRITES, ANY, DOUBT, "response_unreadable"),
    with_status(2, ANY, ANY, AGAIN, "response_unreadable"),
    with_status(0, WRITES, ANY, DOUBT, "server_error"),
    with_status(0, ANY, ANY, AGAIN, "server_error")
};


ngx_array_t *
ngx_guildlog_platform_webhooks(ngx_pool_t *pool, const json_t *json)
{
    return platform_array(pool, json, platform_webhook,
                          sizeof(ngx_guildlog_platform_webhook_t));
}


ngx_array_t *
ngx_guildlog_platform_messages(ngx_pool_t *pool, const json_t *json)
{
    return platform_array(pool, json, platform_message,
                          sizeof(ngx_guildlog_platform_message_t));
}


static ngx_array_t *
platform_array(ngx_pool_t *pool, const json_t *json, platform_read_pt read,
    size_t size)
{
    size_t        i;
    json_t       *item;
    ngx_array_t  *array;

    if (!json_is_array(json)) {
        return NULL;
    }

    array = ngx_array_create(pool, ngx_max(json_array_size(json), 1), size);
    if (array == NULL) {
        return NULL;
    }

    json_array_foreach(json, i, item) {
        if (read(item, ngx_array_push(array)) != NGX_OK) {
            return NULL;
        }
    }

    return array;
}


/* of a channel or a webhook */

static ngx_str_t
platform_guild(const json_t *json)
{
    ngx_str_t  id;

    id = platform_id(json, "guild_id");

    if (id.len < NGX_GUILDLOG_VALUE_GUILD) {
        ngx_str_null(&id);
    }

    return id;
}


static ngx_int_t
platform_webhook(const json_t *json, void *item)
{
    ngx_guildlog_platform_webhook_t *webhook = item;

    webhook->id = platform_id(json, "id");
    webhook->token = ngx_guildlog_json_get(json, "token");
    webhook->name = ngx_guildlog_json_get(json, "name");
    webhook->guild_id = platform_guild(json);
    webhook->channel_id = platform_id(json, "channel_id");
    webhook->application_id = platform_id(json, "application_id");

    if (!platform_is_token(&webhook->token)) {
        ngx_str_null(&webhook->token);
    }

    return webhook->id.len ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
platform_message(const json_t *json, void *item)
{
    ngx_guildlog_platform_message_t *message = item;

    size_t   n;
    json_t  *embeds, *footer;

    embeds = json_object_get(json, "embeds");
    n = json_array_size(embeds);
    footer = n ? json_object_get(json_array_get(embeds, n - 1), "footer")
               : NULL;

    message->id = platform_id(json, "id");
    message->channel_id = platform_id(json, "channel_id");
    message->webhook_id = platform_id(json, "webhook_id");
    message->content = ngx_guildlog_json_get(json, "content");
    message->footer = ngx_guildlog_json_get(footer, "text");

    return message->id.len ? NGX_OK : NGX_DECLINED;
}


static ngx_str_t
platform_id(const json_t *object, const char *name)
{
    ngx_str_t  id;

    id = ngx_guildlog_json_get(object, name);

    if (!ngx_guildlog_value_is_id(&id)) {
        ngx_str_null(&id);
    }

    return id;
}


/* may it stand in a path? */

static ngx_uint_t
platform_is_token(const ngx_str_t *token)
{
    return token->len > 0 && token->len <= PLATFORM_TOKEN
           && ngx_guildlog_is_letters(token, "-_.");
}


/*
 * What the chat platform is asked: a method, a path and a body.
 */

ngx_int_t
ngx_guildlog_platform_call(ngx_pool_t *pool, ngx_guildlog_platform_call_e call,
    const ngx_str_t *id, const ngx_str_t *more,
    ngx_guildlog_platform_request_t *request)
{
    const char             *path;
    const platform_call_t  *row;

    for (row = platform_calls; row->call != call; row++) { /* void */ }

    path = (call == NGX_GUILDLOG_CALL_READ && more->len == 0)
           ? PLATFORM_CALL_NEWEST : row->path;

    if (!ngx_guildlog_value_is_id(id)
        || ((call & PLATFORM_CALL_BY_TOKEN)
            && !platform_is_token(more))
        || (call == NGX_GUILDLOG_CALL_READ && more->len
            && !ngx_guildlog_value_is_id(more)))
    {
        return NGX_ERROR;
    }

    ngx_memzero(request, sizeof(ngx_guildlog_platform_request_t));

    ngx_str_set(&request->type, "application/json");

    if (call == NGX_GUILDLOG_CALL_CREATE) {
        request->body = *more;
        more = NULL;
    }

    request->method = row->method;
    request->bot = !(call & PLATFORM_CALL_BY_TOKEN);

    return ngx_guildlog_print(pool, &request->path, path, id, more);
}


/*
 * What the chat platform's answers mean: one table.
 */

void
ngx_guildlog_verdict(ngx_pool_t *pool,
    const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict)
{
    ngx_memzero(verdict, sizeof(ngx_guildlog_verdict_t));

    verdict->embed = -1;
    verdict->remaining = -1;
    verdict->reset_after_ms = -1;

    verdict_read(pool, answer, call, verdict);

    verdict->failed = answer->outcome != NGX_GUILDLOG_CLIENT_ANSWERED
                      || answer->status >= 500;

    if (verdict->class == NGX_GUILDLOG_VERDICT_BLOCKED
        || (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED
            && verdict->scope == NGX_GUILDLOG_SCOPE_GLOBAL))
    {
        verdict->pause_ms = verdict->retry_after_ms;
    }

    /*
     * Only the peer itself can correct the cause of what is refused.  It is
     * not responsible for the content of a message or for the token of a bot.
     */

    switch (verdict->class) {

    case NGX_GUILDLOG_VERDICT_WEBHOOK_GONE:
    case NGX_GUILDLOG_VERDICT_CHANNEL_GONE:
    case NGX_GUILDLOG_VERDICT_FORBIDDEN:
    case NGX_GUILDLOG_VERDICT_FULL:
        verdict->refused = 1;
        break;

    case NGX_GUILDLOG_VERDICT_POISON:
    case NGX_GUILDLOG_VERDICT_CONTENT:
        verdict->refused = (call != NGX_GUILDLOG_CALL_EXECUTE);
        break;

    default:
        break;
    }
}


static void
verdict_read(ngx_pool_t *pool, const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict)
{
    json_t               *json;
    ngx_str_t             error;
    verdict_form_e        form;
    const verdict_row_t  *row;

    if (answer->outcome == NGX_GUILDLOG_CLIENT_UNSENT) {
        verdict->class = NGX_GUILDLOG_VERDICT_AGAIN;
        verdict->reason = "unreached";
        return;
    }

    if (answer->outcome == NGX_GUILDLOG_CLIENT_UNCERTAIN) {
        verdict->class = (call & NGX_GUILDLOG_CALL_WRITES)
                         ? NGX_GUILDLOG_VERDICT_DOUBT
                         : NGX_GUILDLOG_VERDICT_AGAIN;
        verdict->reason = "no_answer";
        return;
    }

    verdict_bucket(answer, verdict);

    json = ngx_guildlog_json_parse_answer(pool, &answer->body, &error);

    if (json == NULL && error.len == 0) {
        verdict_unread(answer, call, verdict);
        return;
    }

    verdict->json = json;

    if (answer->status / 100 == 2 && verdict_applied(call, verdict) == NGX_OK) {
        verdict->class = NGX_GUILDLOG_VERDICT_DONE;
        verdict->reason = "ok";
        return;
    }

    if (!json_is_object(json)) {
        json = NULL;
    }

    if (json_is_integer(json_object_get(json, "code"))
        && json_integer_value(json_object_get(json, "code")) > 0)
    {
        verdict->code = json_integer_value(json_object_get(json, "code"));
    }

    form = verdict_form(answer, json, verdict->code);

    row = verdict_rows;

    while (!verdict_match(row, answer->status, verdict->code, call, form)) {
        row++;
    }

    verdict->class = row->class;
    verdict->reason = row->reason;
    verdict->scope = verdict_scope(answer, json);

    verdict_wait(answer, json, verdict);

    if (verdict->class == NGX_GUILDLOG_VERDICT_POISON) {
        verdict->embed = verdict_embed(json);
    }

    verdict->invalid = answer->status == 401 || answer->status == 403
                       || (answer->status == 429
                           && verdict->scope != NGX_GUILDLOG_SCOPE_SHARED);
}


/* out of memory for the body: only the status and the headers are known */

static void
verdict_unread(const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_platform_call_e call, ngx_guildlog_verdict_t *verdict)
{
    verdict->class = NGX_GUILDLOG_VERDICT_AGAIN;
    verdict->reason = "out_of_memory";

    if (answer->status == 429) {
        verdict->class = NGX_GUILDLOG_VERDICT_LIMITED;
        verdict->scope = verdict_scope(answer, NULL);
        verdict->invalid = verdict->scope != NGX_GUILDLOG_SCOPE_SHARED;

        verdict_wait(answer, NULL, verdict);

    } else if ((call & NGX_GUILDLOG_CALL_WRITES)
               && (answer->status / 100 == 2 || answer->status >= 500))
    {
        verdict->class = NGX_GUILDLOG_VERDICT_DOUBT;
    }
}


/* a body that is said to be JSON, and cannot be read, is the platform's own */

static verdict_form_e
verdict_form(const ngx_guildlog_client_response_t *answer, json_t *json,
    ngx_uint_t code)
{
    ngx_uint_t        i, own;
    ngx_keyval_t     *header;
    const ngx_str_t  *type;

    if (json == NULL && answer->status != 429) {
        return VERDICT_FORM_TEXT;
    }

    if (code || json_object_get(json, "retry_after")) {
        return VERDICT_FORM_JSON;
    }

    type = ngx_guildlog_client_response_header(answer, "content-type");

    own = json || answer->body.len == 0
          || (type && type->len >= sizeof(VERDICT_JSON) - 1
              && ngx_strncasecmp(type->data, (u_char *) VERDICT_JSON,
                                 sizeof(VERDICT_JSON) - 1)
                 == 0);

    header = answer->headers.elts;

    for (i = 0; i < answer->headers.nelts; i++) {
        if (ngx_strncmp(header[i].key.data, "x-ratelimit-", 12) == 0
            || (own && ngx_strcmp(header[i].key.data, "retry-after") == 0))
        {
            return VERDICT_FORM_JSON;
        }
    }

    return json ? VERDICT_FORM_BARE : VERDICT_FORM_TEXT;
}


static ngx_uint_t
verdict_match(const verdict_row_t *row, ngx_uint_t status, ngx_uint_t code,
    ngx_guildlog_platform_call_e call, verdict_form_e form)
{
    return (row->status == 0 || row->status == status
            || row->status == status / 100)
           && (row->code == VERDICT_CODE_ANY || row->code == code)
           && (row->calls & call)
           && (row->form == VERDICT_FORM_ANY || row->form == form);
}


/* NGX_OK: the 2xx answer has what the call asked for */

static ngx_int_t
verdict_applied(ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict)
{
    json_t                           *json;
    ngx_guildlog_platform_message_t  message;
    ngx_guildlog_platform_webhook_t  webhook;

    json = verdict->json;

    switch (call) {

    case NGX_GUILDLOG_CALL_EXECUTE:
        if (platform_message(json, &message) != NGX_OK) {
            return NGX_ERROR;
        }

        verdict->message_id = message.id;
        verdict->channel_id = message.channel_id;

        return NGX_OK;

    case NGX_GUILDLOG_CALL_CREATE:
        if (platform_webhook(json, &webhook) != NGX_OK
            || webhook.token.len == 0)
        {
            return NGX_ERROR;
        }

        verdict->guild_id = webhook.guild_id;
        verdict->webhook_id = webhook.id;
        verdict->application_id = webhook.application_id;
        verdict->token = webhook.token;
        verdict->channel_id = webhook.channel_id;

        return NGX_OK;

    case NGX_GUILDLOG_CALL_DELETE:
        return NGX_OK;

    case NGX_GUILDLOG_CALL_CHANNEL:
    case NGX_GUILDLOG_CALL_WEBHOOK:
        verdict->guild_id = platform_guild(json);

        return json_is_object(json) ? NGX_OK : NGX_ERROR;

    default: /* NGX_GUILDLOG_CALL_LIST, NGX_GUILDLOG_CALL_READ */
        return json_is_array(json) ? NGX_OK : NGX_ERROR;
    }
}


static void
verdict_bucket(const ngx_guildlog_client_response_t *answer,
    ngx_guildlog_verdict_t *verdict)
{
    const ngx_str_t  *value;

    value = ngx_guildlog_client_response_header(answer,
                                                "x-ratelimit-remaining");

    if (value) {
        verdict->remaining = ngx_atoi(value->data, value->len);
    }

    verdict->reset_after_ms = verdict_header_seconds(answer,
                                                     "x-ratelimit-reset-after");
}


/* the body has fractions of a second, the header only whole seconds */

static void
verdict_wait(const ngx_guildlog_client_response_t *answer, json_t *json,
    ngx_guildlog_verdict_t *verdict)
{
    ngx_int_t  ms;

    ms = verdict_seconds(json_object_get(json, "retry_after"));

    if (ms < 0) {
        ms = verdict_header_seconds(answer, "retry-after");
    }

    if (verdict->class == NGX_GUILDLOG_VERDICT_LIMITED) {

        if (ms < 0) {
            ms = verdict->reset_after_ms;
        }

        if (ms < 0) {
            ms = VERDICT_RETRY;
        }

    } else if (verdict->class == NGX_GUILDLOG_VERDICT_BLOCKED) {
        ms = ngx_max(ms, NGX_GUILDLOG_VERDICT_BLOCK_MS);
    }

    verdict->retry_after_ms = ngx_max(ms, 0);
}


static ngx_guildlog_verdict_scope_e
verdict_scope(const ngx_guildlog_client_response_t *answer, json_t *json)
{
    const ngx_str_t  *scope, *global;

    scope = ngx_guildlog_client_response_header(answer, "x-ratelimit-scope");
    global = ngx_guildlog_client_response_header(answer, "x-ratelimit-global");

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


/* {"errors": {"embeds": {"3": {...}}}}: the lowest index; -1: none */

static ngx_int_t
verdict_embed(json_t *json)
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

        if (n >= 0 && n < VERDICT_EMBEDS && (first < 0 || n < first)) {
            first = n;
        }
    }

    return first;
}


/* milliseconds of seconds, -1: none */

static ngx_int_t
verdict_seconds(json_t *value)
{
    double  seconds;

    if (json_is_string(value)) {
        return verdict_ms((u_char *) json_string_value(value),
                          json_string_length(value));
    }

    seconds = json_number_value(value);

    if (!json_is_number(value) || seconds < 0) {
        return -1;
    }

    if (seconds * 1000 >= VERDICT_LONG) {
        return VERDICT_LONG;
    }

    return (ngx_int_t) (seconds * 1000 + 0.999);
}


static ngx_int_t
verdict_header_seconds(const ngx_guildlog_client_response_t *answer,
    const char *name)
{
    const ngx_str_t  *value;

    value = ngx_guildlog_client_response_header(answer, name);

    return value ? verdict_ms(value->data, value->len) : -1;
}


/* rounded up */

static ngx_int_t
verdict_ms(const u_char *p, size_t len)
{
    ngx_int_t      ms, unit, more;
    const u_char  *last;

    last = p + len;
    more = 0;

    if (len == 0 || *p < '0' || *p > '9') {
        return -1;
    }

    for (ms = 0; p < last && *p >= '0' && *p <= '9'; p++) {
        ms = ngx_min(ms * 10 + (*p - '0') * 1000, VERDICT_LONG);
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

    return p == last ? ngx_min(ms, VERDICT_LONG) : -1;
}
