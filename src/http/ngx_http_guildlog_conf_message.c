
/*
 * The directives of what channels see: where messages lead, and who seems to
 * send them.
 */

#include "http/ngx_http_guildlog_conf.h"
#include "base/ngx_guildlog_utf8.h"


/* of a button, with the ids behind it */
#define CONF_MESSAGE_URL     400

/* of the platform, which has 80; " Pro" stands behind that of the pro bot */
#define CONF_MESSAGE_NAME    76
#define CONF_MESSAGE_PRO     " Pro"
#define CONF_MESSAGE_AVATAR  (256 * 1024)

#define CONF_MESSAGE_WEBHOOK "Guildlog"


static char *conf_message_url(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_message_name(ngx_conf_t *cf, void *field, ngx_str_t *value);
static char *conf_message_avatar(ngx_conf_t *cf, void *field,
    ngx_str_t *value);
static ngx_int_t conf_message_image(ngx_conf_t *cf, const ngx_str_t *file,
    ngx_str_t *image);
static ngx_int_t conf_message_body(ngx_conf_t *cf, const ngx_str_t *name,
    const ngx_str_t *avatar, ngx_str_t *body);


static const ngx_http_guildlog_conf_param_t  conf_message_links[] = {
    { "support", offsetof(ngx_http_guildlog_main_conf_t,
                          delivery.style.support),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_message_url },
    { "viewer", offsetof(ngx_http_guildlog_main_conf_t, delivery.style.viewer),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_message_url },
    { NULL, 0, NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL }
};


static const ngx_http_guildlog_conf_param_t  conf_message_webhook[] = {
    { "name", offsetof(ngx_http_guildlog_main_conf_t, delivery.webhook_name),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_message_name },
    { "avatar", offsetof(ngx_http_guildlog_main_conf_t,
                         delivery.webhook_avatar),
      NGX_HTTP_GUILDLOG_CONF_OTHER, 0, 0, conf_message_avatar },
    { NULL, 0, NGX_HTTP_GUILDLOG_CONF_STRING, 0, 0, NULL }
};


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

    scheme = ngx_strncasecmp(value->data, (u_char *) "https://", 8) == 0 ? 8
           : ngx_strncasecmp(value->data, (u_char *) "http://", 7) == 0 ? 7
           : 0;

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


char *
ngx_http_guildlog_conf_message_page(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *url, ngx_str_t *value)
{
    return conf_message_url(cf, url, value) == NGX_CONF_OK
           ? NGX_CONF_OK : ngx_http_guildlog_conf_invalid(cf, arg);
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


static char *
conf_message_avatar(ngx_conf_t *cf, void *field, ngx_str_t *value)
{
    ngx_str_t *avatar = field;

    if (ngx_conf_full_name(cf->cycle, value, 1) != NGX_OK
        || conf_message_image(cf, value, avatar) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* as the platform takes it: data:image/png;base64,... */

static ngx_int_t
conf_message_image(ngx_conf_t *cf, const ngx_str_t *file, ngx_str_t *image)
{
    size_t        len;
    u_char       *p;
    ssize_t       n;
    ngx_fd_t      fd;
    ngx_str_t     src, dst;
    ngx_uint_t    i;

    static const struct {
        ngx_str_t  begin;
        ngx_str_t  data;
    } kinds[] = {
        { ngx_string("\x89PNG\r\n"), ngx_string("data:image/png;base64,") },
        { ngx_string("\xff\xd8\xff"), ngx_string("data:image/jpeg;base64,") },
        { ngx_string("GIF8"), ngx_string("data:image/gif;base64,") }
    };

    src.data = ngx_pnalloc(cf->temp_pool, CONF_MESSAGE_AVATAR + 1);
    if (src.data == NULL) {
        return NGX_ERROR;
    }

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    n = -1;

    if (fd != NGX_INVALID_FILE) {
        n = ngx_read_fd(fd, src.data, CONF_MESSAGE_AVATAR + 1);
        (void) ngx_close_file(fd);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "could not read \"%V\"", file);
        return NGX_ERROR;
    }

    src.len = n;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        len = kinds[i].begin.len;

        if (src.len > len && src.len <= CONF_MESSAGE_AVATAR
            && ngx_memcmp(src.data, kinds[i].begin.data, len) == 0)
        {
            break;
        }
    }

    if (i == sizeof(kinds) / sizeof(kinds[0])) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is no PNG, JPEG or GIF of at most 256 KiB",
                           file);
        return NGX_ERROR;
    }

    p = ngx_pnalloc(cf->pool, kinds[i].data.len
                              + ngx_base64_encoded_length(src.len));
    if (p == NULL) {
        return NGX_ERROR;
    }

    image->data = p;
    dst.data = ngx_cpymem(p, kinds[i].data.data, kinds[i].data.len);

    ngx_encode_base64(&dst, &src);

    image->len = kinds[i].data.len + dst.len;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_conf_message_init(ngx_conf_t *cf,
    ngx_guildlog_delivery_conf_t *delivery)
{
    ngx_str_t   *name;
    ngx_uint_t   bot;

    ngx_conf_init_uint_value(delivery->style.by_category, 0);

    if (delivery->webhook_name.len == 0) {
        ngx_str_set(&delivery->webhook_name, CONF_MESSAGE_WEBHOOK);
    }

    for (bot = 0; bot < NGX_GUILDLOG_BOTS; bot++) {
        name = &delivery->webhook_names[bot];

        name->data = ngx_pnalloc(cf->pool, delivery->webhook_name.len
                                           + sizeof(CONF_MESSAGE_PRO) - 1);
        if (name->data == NULL) {
            return NGX_ERROR;
        }

        name->len = ngx_sprintf(name->data, "%V%s", &delivery->webhook_name,
                                bot == NGX_GUILDLOG_BOT_PRO ? CONF_MESSAGE_PRO
                                                            : "")
                    - name->data;

        if (conf_message_body(cf, name, &delivery->webhook_avatar,
                              &delivery->webhooks[bot])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
conf_message_body(ngx_conf_t *cf, const ngx_str_t *name,
    const ngx_str_t *avatar, ngx_str_t *body)
{
    ngx_guildlog_json_t  w;

    ngx_guildlog_json_init(&w, cf->pool, 64 + name->len + avatar->len);
    ngx_guildlog_json_begin(&w, '{');
    ngx_guildlog_json_key(&w, "name");
    ngx_guildlog_json_string(&w, name);

    if (avatar->len) {
        ngx_guildlog_json_key(&w, "avatar");
        ngx_guildlog_json_string(&w, avatar);
    }

    ngx_guildlog_json_end(&w);

    return ngx_guildlog_json_written(&w, body);
}
