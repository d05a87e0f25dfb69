
/*
 * The directives of delivery.
 */

#include "http/ngx_http_guildlog_conf.h"


#define CONF_PLATFORM_RATE         50
#define CONF_PLATFORM_MAX_RATE     100000

#define CONF_DELIVERY_MAX_NODE     100   /* bytes */
#define CONF_DELIVERY_NOT_IN_NODE  "/\"\\{}"


/* of a button, with the ids behind it */
#define CONF_MESSAGE_URL     400

/* of the platform, which has 80; " Pro" stands behind that of the pro bot */
#define CONF_MESSAGE_NAME    76
#define CONF_MESSAGE_PRO     " Pro"
#define CONF_MESSAGE_AVATAR  (256 * 1024)

#define CONF_MESSAGE_WEBHOOK "Guildlog"


static char *conf_delivery_node(ngx_conf_t *cf, void *field, ngx_str_t *value);
static ngx_int_t conf_delivery_file(ngx_conf_t *cf, ngx_str_t *file,
    u_char *buf, size_t size, ngx_str_t *text);
static ngx_int_t conf_delivery_bot_id(ngx_pool_t *pool, const ngx_str_t *token,
    ngx_str_t *id);
static ngx_int_t conf_delivery_name(ngx_conf_t *cf, ngx_str_t *node);
static char *conf_message_url(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_message_name(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_message_avatar(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static ngx_int_t conf_message_init(ngx_conf_t *cf,
    ngx_guildlog_delivery_conf_t *delivery);


static const ngx_http_guildlog_conf_param_t  conf_platform_params[] = {
    conf_file("trusted", ngx_guildlog_client_url_t, trusted),
    conf_other("agent_url", ngx_guildlog_client_url_t, agent, conf_message_url),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_delivery_params[] = {
    conf_string("secret", ngx_http_guildlog_main_conf_t, delivery_secret),
    conf_string("database", ngx_http_guildlog_main_conf_t, delivery_database),
    conf_other("node", ngx_http_guildlog_main_conf_t,
               delivery.node, conf_delivery_node),
    conf_number("connections", ngx_http_guildlog_main_conf_t,
                delivery.connections, 1, 100),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_message_links[] = {
    conf_other("support", ngx_http_guildlog_main_conf_t,
               delivery.style.support, conf_message_url),
    conf_other("viewer", ngx_http_guildlog_main_conf_t,
               delivery.style.viewer, conf_message_url),
    conf_last
};


static const ngx_http_guildlog_conf_param_t  conf_message_webhook[] = {
    conf_other("name", ngx_http_guildlog_main_conf_t,
               delivery.webhook_name, conf_message_name),
    conf_other("avatar", ngx_http_guildlog_main_conf_t,
               delivery.webhook_avatar, conf_message_avatar),
    conf_last
};


/* guildlog_platform url [trusted=file] [agent_url=url] */

char *
ngx_http_guildlog_conf_delivery_platform(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_str_t  *args;

    if (gmcf->delivery.platform.text.data) {
        return "is duplicate";
    }

    if (ngx_http_guildlog_conf_params(cf, conf_platform_params,
                                      &gmcf->delivery.platform, 2)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    args = cf->args->elts;

    return ngx_guildlog_client_url_init(cf, &gmcf->delivery.platform, &args[1]);
}


/* guildlog_platform_rate number | off */

char *
ngx_http_guildlog_conf_delivery_rate(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    ngx_int_t   n;
    ngx_str_t  *args;

    if (gmcf->delivery.rate != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    args = cf->args->elts;

    if (ngx_strcmp(args[1].data, "off") == 0) {
        gmcf->delivery.rate = 0;
        return NGX_CONF_OK;
    }

    n = ngx_atoi(args[1].data, args[1].len);

    if (n < 1 || n > CONF_PLATFORM_MAX_RATE) {
        return "takes a number of requests a second, or \"off\"";
    }

    gmcf->delivery.rate = n;

    return NGX_CONF_OK;
}


/* guildlog_bot_token main|pro file */

char *
ngx_http_guildlog_conf_delivery_bot_token(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    u_char                         buf[512];
    ngx_str_t                     *args, text;
    ngx_uint_t                     bot, i;
    ngx_guildlog_delivery_conf_t  *delivery;

    delivery = &gmcf->delivery;

    args = cf->args->elts;

    if (ngx_strcmp(args[1].data, "main") == 0) {
        bot = NGX_GUILDLOG_BOT_MAIN;

    } else if (ngx_strcmp(args[1].data, "pro") == 0) {
        bot = NGX_GUILDLOG_BOT_PRO;

    } else {
        return "takes \"main\" or \"pro\", and a file";
    }

    if (delivery->bots[bot].data) {
        return "is duplicate";
    }

    if (conf_delivery_file(cf, &args[2], buf, sizeof(buf), &text) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < text.len && text.data[i] > ' ' && text.data[i] < 0x7f;
         i++)
    {
        /* void */
    }

    if (i == 0 || i < text.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" does not hold a bot's token", &args[2]);
        return NGX_CONF_ERROR;
    }

    if (ngx_guildlog_print(cf->pool, &delivery->bots[bot], "Bot %V", &text)
        != NGX_OK
        || conf_delivery_bot_id(cf->pool, &text, &delivery->applications[bot])
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_explicit_memzero(buf, sizeof(buf));

    return NGX_CONF_OK;
}


/* guildlog_delivery secret=file [database=name] [node=name] [connections=n] */

char *
ngx_http_guildlog_conf_delivery(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    u_char      buf[256];
    ngx_str_t  *file, text;

    if (gmcf->delivers) {
        return "is duplicate";
    }

    gmcf->delivers = 1;

    if (ngx_http_guildlog_conf_params(cf, conf_delivery_params, gmcf, 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    file = &gmcf->delivery_secret;

    if (file->len == 0) {
        return "needs \"secret=file\"";
    }

    if (conf_delivery_file(cf, file, buf, sizeof(buf), &text) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (ngx_guildlog_seal_key(gmcf->delivery.key, &text) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" does not hold 32 bytes, hexadecimal or in "
                           "base64", file);
        return NGX_CONF_ERROR;
    }

    ngx_explicit_memzero(buf, sizeof(buf));

    return NGX_CONF_OK;
}


static char *
conf_delivery_node(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *node = field;

    if (value->len > CONF_DELIVERY_MAX_NODE
        || strpbrk((char *) value->data, CONF_DELIVERY_NOT_IN_NODE))
    {
        return NGX_CONF_ERROR;
    }

    *node = *value;

    return NGX_CONF_OK;
}


static ngx_int_t
conf_delivery_file(ngx_conf_t *cf, ngx_str_t *file, u_char *buf, size_t size,
    ngx_str_t *text)
{
    ssize_t  n;

    if (ngx_conf_full_name(cf->cycle, file, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    n = ngx_http_guildlog_conf_read(cf, file, buf, size, NGX_LOG_EMERG);

    if (n == -1) {
        return NGX_ERROR;
    }

    while (n && buf[n - 1] <= ' ') {
        n--;
    }

    text->data = buf;
    text->len = n == (ssize_t) size ? 0 : n;

    return NGX_OK;
}


/*
 * A bot's token begins with the id of its application, in base64.  The id is
 * empty if the token does not.
 */

static ngx_int_t
conf_delivery_bot_id(ngx_pool_t *pool, const ngx_str_t *token, ngx_str_t *id)
{
    u_char     *dot;
    ngx_str_t   src;

    ngx_str_null(id);

    dot = ngx_strlchr(token->data, token->data + token->len, '.');
    if (dot == NULL) {
        return NGX_OK;
    }

    src.data = token->data;
    src.len = dot - token->data;

    id->data = ngx_pnalloc(pool, ngx_base64_decoded_length(src.len) + 3);
    if (id->data == NULL) {
        return NGX_ERROR;
    }

    if (ngx_decode_base64url(id, &src) != NGX_OK
        || !ngx_guildlog_value_is_id(id))
    {
        id->len = 0;
    }

    return NGX_OK;
}


char *
ngx_http_guildlog_conf_delivery_init(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf)
{
    ngx_uint_t                     i;
    ngx_guildlog_database_t      **databases;
    ngx_guildlog_delivery_conf_t  *delivery;

    if (!gmcf->delivers) {
        return NGX_CONF_OK;
    }

    delivery = &gmcf->delivery;

    if (delivery->platform.text.data == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"guildlog_delivery\" needs a "
                           "\"guildlog_platform\"");
        return NGX_CONF_ERROR;
    }

    if (delivery->bots[NGX_GUILDLOG_BOT_MAIN].data == NULL
        && delivery->bots[NGX_GUILDLOG_BOT_PRO].data == NULL)
    {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "\"guildlog_delivery\" has no "
                           "\"guildlog_bot_token\": no channel gets a webhook");
    }

    ngx_conf_init_uint_value(delivery->rate, CONF_PLATFORM_RATE);
    ngx_conf_init_uint_value(delivery->resend, 0);

    if (conf_message_init(cf, delivery) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    gmcf->delivers_to = ngx_http_guildlog_conf_database_find(cf,
                                                  &gmcf->delivery_database, 0);
    if (gmcf->delivers_to == NULL) {
        return NGX_CONF_ERROR;
    }

    gmcf->delivers_to->delivery_connections = delivery->connections;

    databases = gmcf->databases.elts;

    for (i = 0; i < gmcf->databases.nelts; i++) {
        databases[i]->delivered = ngx_http_guildlog_conf_database_same(
                                      databases[i], gmcf->delivers_to);
    }

    if (delivery->node.len == 0
        && conf_delivery_name(cf, &delivery->node) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* names the host and the nginx on it, in the same way after each start */

static ngx_int_t
conf_delivery_name(ngx_conf_t *cf, ngx_str_t *node)
{
    u_char  *p;

    if (ngx_guildlog_print(cf->pool, node, "%V-%08xD", &cf->cycle->hostname,
                           ngx_crc32_long(cf->cycle->prefix.data,
                                          cf->cycle->prefix.len))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    for (p = node->data; p < node->data + node->len; p++) {
        if (ngx_strchr(CONF_DELIVERY_NOT_IN_NODE, *p)) {
            *p = '-';
        }
    }

    return NGX_OK;
}


/*
 * The directives of what channels see: where messages lead, and who seems to
 * send them.
 */

/* guildlog_links [support=url] [viewer=url] */

char *
ngx_http_guildlog_conf_message_links(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    if (gmcf->delivery.style.support.len || gmcf->delivery.style.viewer.len) {
        return "is duplicate";
    }

    return ngx_http_guildlog_conf_params(cf, conf_message_links, gmcf, 1);
}


/* what may stand in a link of a message, with nothing else of it around */

static char *
conf_message_url(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *url = field;

    size_t  i, scheme;

    scheme = ngx_guildlog_scheme(value);

    if (scheme == 0 || value->len == scheme || value->len > CONF_MESSAGE_URL) {
        return NGX_CONF_ERROR;
    }

    for (i = scheme; i < value->len; i++) {
        if (value->data[i] <= ' ' || value->data[i] >= 0x7f
            || ngx_strchr("()<>\"\\#", value->data[i]))
        {
            return NGX_CONF_ERROR;
        }
    }

    *url = *value;

    return NGX_CONF_OK;
}


/* guildlog_webhook [name=name] [avatar=file] */

char *
ngx_http_guildlog_conf_message_webhook(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_guildlog_main_conf_t *gmcf = conf;

    if (gmcf->delivery.webhook_name.len || gmcf->delivery.webhook_avatar.len) {
        return "is duplicate";
    }

    return ngx_http_guildlog_conf_params(cf, conf_message_webhook, gmcf, 1);
}


/* what the platform does not take in a name, it refuses for each channel */

static char *
conf_message_name(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *name = field;

    size_t      i;
    ngx_uint_t  j;

    static const char  *words[] = {
        "clyde", "discord", "everyone", "here", "```"
    };

    if (ngx_guildlog_utf8_valid(value->data, value->len) != value->len
        || ngx_guildlog_utf8_length(value->data, value->len)
           > CONF_MESSAGE_NAME
        || value->data[0] == ' ' || value->data[value->len - 1] == ' ')
    {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < value->len; i++) {
        if (value->data[i] < ' ' || value->data[i] == 0x7f
            || ngx_strchr("@#:", value->data[i]))
        {
            return NGX_CONF_ERROR;
        }
    }

    for (j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
        if (ngx_strcasestrn(value->data, (char *) words[j],
                            ngx_strlen(words[j]) - 1))
        {
            return NGX_CONF_ERROR;
        }
    }

    *name = *value;

    return NGX_CONF_OK;
}


/* as the platform takes it: data:image/png;base64,... */

static char *
conf_message_avatar(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *avatar = field;

    u_char      *p;
    ssize_t      n;
    ngx_str_t    src, dst;
    ngx_uint_t   i;

    static const struct {
        ngx_str_t  begin;
        ngx_str_t  data;
    } kinds[] = {
        { ngx_string("\x89PNG\r\n"), ngx_string("data:image/png;base64,") },
        { ngx_string("\xff\xd8\xff"), ngx_string("data:image/jpeg;base64,") },
        { ngx_string("GIF8"), ngx_string("data:image/gif;base64,") }
    };

    src.data = ngx_pnalloc(cf->temp_pool, CONF_MESSAGE_AVATAR + 1);

    if (src.data == NULL
        || ngx_conf_full_name(cf->cycle, value, 1) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    n = ngx_http_guildlog_conf_read(cf, value, src.data,
                                    CONF_MESSAGE_AVATAR + 1, 0);
    if (n == -1) {
        return NGX_CONF_ERROR;
    }

    src.len = n;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (src.len > kinds[i].begin.len && src.len <= CONF_MESSAGE_AVATAR
            && ngx_memcmp(src.data, kinds[i].begin.data, kinds[i].begin.len)
               == 0)
        {
            break;
        }
    }

    if (i == sizeof(kinds) / sizeof(kinds[0])) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is no PNG, JPEG or GIF of at most 256 KiB",
                           value);
        return NGX_CONF_ERROR;
    }

    p = ngx_pnalloc(cf->pool, kinds[i].data.len
                              + ngx_base64_encoded_length(src.len));
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    avatar->data = p;
    dst.data = ngx_cpymem(p, kinds[i].data.data, kinds[i].data.len);

    ngx_encode_base64(&dst, &src);

    avatar->len = kinds[i].data.len + dst.len;

    return NGX_CONF_OK;
}


/* defaults, and the webhooks to be made; NGX_ERROR: out of memory */

static ngx_int_t
conf_message_init(ngx_conf_t *cf, ngx_guildlog_delivery_conf_t *delivery)
{
    ngx_str_t            *name, *avatar;
    ngx_uint_t            bot;
    ngx_guildlog_json_t   w;

    if (delivery->webhook_name.len == 0) {
        ngx_str_set(&delivery->webhook_name, CONF_MESSAGE_WEBHOOK);
    }

    avatar = &delivery->webhook_avatar;

    for (bot = 0; bot < NGX_GUILDLOG_BOTS; bot++) {
        name = &delivery->webhook_names[bot];

        if (ngx_guildlog_print(cf->pool, name, "%V%s", &delivery->webhook_name,
                               bot == NGX_GUILDLOG_BOT_PRO ? CONF_MESSAGE_PRO
                                                           : "")
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        ngx_guildlog_json_init(&w, cf->pool, 64 + name->len + avatar->len);
        ngx_guildlog_json_begin(&w, '{');
        ngx_guildlog_json_member(&w, "name", name);

        if (avatar->len) {
            ngx_guildlog_json_member(&w, "avatar", avatar);
        }

        ngx_guildlog_json_end(&w);

        if (ngx_guildlog_json_written(&w, &delivery->webhooks[bot])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}
