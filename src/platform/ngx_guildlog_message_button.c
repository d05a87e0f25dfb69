
/*
 * The buttons below a message, which belong to all of its entries.
 */

#include "platform/ngx_guildlog_message_parts.h"


#define MESSAGE_BUTTON_LABEL    80   /* UTF-16 units, by the platform */
#define MESSAGE_BUTTON_IN_A_ROW 5

/* followed by an id */
#define MESSAGE_BUTTON_USERS    "https://discord.com/users/"

/* numbers of the platform */

#define MESSAGE_BUTTON_ROW      1
#define MESSAGE_BUTTON_LINK     2
#define MESSAGE_BUTTON_STYLE    5


typedef struct {
    ngx_uint_t                     bit;
    ngx_guildlog_label_e           label;
    const char                    *user;     /* who; NULL: nobody */
    ngx_int_t                    (*url)(ngx_pool_t *pool,
                                        const ngx_guildlog_message_item_t *item,
                                        const ngx_str_t *id, ngx_str_t *url);
} message_button_link_t;


static ngx_int_t message_button_add(ngx_guildlog_message_buttons_t *buttons,
    ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link);
static ngx_uint_t message_button_has(const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link, ngx_str_t *id, ngx_str_t *name);
static ngx_int_t message_button_user(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const ngx_str_t *id,
    ngx_str_t *url);
static ngx_int_t message_button_support(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const ngx_str_t *id,
    ngx_str_t *url);
static ngx_int_t message_button_config(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const ngx_str_t *id,
    ngx_str_t *url);
static ngx_int_t message_button_label(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const message_button_link_t *link,
    const ngx_str_t *id, const ngx_str_t *name, ngx_str_t *label);


#define leads(bit, label, user, url)                                          \
    { NGX_GUILDLOG_BUTTON_##bit, NGX_GUILDLOG_LABEL_##label, user,            \
      message_button_##url }


/* what they lead to: the platform's pages, or the operator's */

static const message_button_link_t  message_button_links[] = {
    leads(USER_ID, EXECUTOR, "executor", user),
    leads(USER_ID, TARGET, "target", user),
    leads(SUPPORT_SERVER, SUPPORT, NULL, support),
    leads(CUSTOMISE, CUSTOMISE, NULL, config)
};


#define MESSAGE_BUTTON_LINKS                                                  \
    (sizeof(message_button_links) / sizeof(message_button_link_t))


ngx_int_t
ngx_guildlog_message_button(ngx_guildlog_message_buttons_t *buttons,
    ngx_pool_t *pool, const ngx_guildlog_message_item_t *item)
{
    ngx_uint_t  i;

    for (i = 0; i < MESSAGE_BUTTON_LINKS; i++) {
        if (message_button_add(buttons, pool, item, &message_button_links[i])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* entries of one user share theirs */

static ngx_int_t
message_button_add(ngx_guildlog_message_buttons_t *buttons, ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const message_button_link_t *link)
{
    ngx_str_t                       id, name, url;
    ngx_uint_t                      i;
    ngx_guildlog_message_button_t  *button;

    if (!message_button_has(item, link, &id, &name)) {
        return NGX_OK;
    }

    if (link->url(pool, item, &id, &url) != NGX_OK) {
        return NGX_ERROR;
    }

    if (url.len == 0) {
        return NGX_OK;
    }

    for (i = 0; i < buttons->n; i++) {
        if (ngx_guildlog_str_eq(&buttons->all[i].url, &url)) {
            return NGX_OK;
        }
    }

    button = &buttons->all[buttons->n++];
    button->url = url;

    return message_button_label(pool, item, link, &id, &name, &button->label);
}


/* the id that ends its link, if any, and the name of whose id that is */

static ngx_uint_t
message_button_has(const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link, ngx_str_t *id, ngx_str_t *name)
{
    ngx_str_t  executor, ignored;

    ngx_str_set(id, "");

    if (!(item->conf->buttons & link->bit)) {
        return 0;
    }

    if (link->user == NULL) {
        return 1;
    }

    if (!ngx_guildlog_message_item_user(item, link->user, id, name)) {
        return 0;
    }

    /* one link for those who did it to themselves */

    return link->label == NGX_GUILDLOG_LABEL_EXECUTOR
           || !ngx_guildlog_message_item_user(item, "executor", &executor,
                                              &ignored)
           || !ngx_guildlog_str_eq(&executor, id);
}


static ngx_int_t
message_button_user(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const ngx_str_t *id, ngx_str_t *url)
{
    url->data = ngx_pnalloc(pool, sizeof(MESSAGE_BUTTON_USERS) + id->len);
    if (url->data == NULL) {
        return NGX_ERROR;
    }

    url->len = ngx_sprintf(url->data, MESSAGE_BUTTON_USERS "%V", id)
               - url->data;

    return NGX_OK;
}


static ngx_int_t
message_button_support(ngx_pool_t *pool,
    const ngx_guildlog_message_item_t *item, const ngx_str_t *id,
    ngx_str_t *url)
{
    *url = item->conf->style->support;

    return NGX_OK;
}


static ngx_int_t
message_button_config(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const ngx_str_t *id, ngx_str_t *url)
{
    return ngx_guildlog_message_link_page(item, pool, "config", NULL, url);
}


static ngx_int_t
message_button_label(ngx_pool_t *pool, const ngx_guildlog_message_item_t *item,
    const message_button_link_t *link, const ngx_str_t *id,
    const ngx_str_t *name, ngx_str_t *label)
{
    ngx_guildlog_message_text_t  text;

    if (ngx_guildlog_message_text_init(&text, pool, MESSAGE_BUTTON_LABEL)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    (void) ngx_guildlog_message_text_add(&text, "%s",
                                         ngx_guildlog_message_item_label(item,
                                                                 link->label));
    if (link->user) {
        (void) ngx_guildlog_message_text_add(&text, ": ");

        if (ngx_guildlog_message_text_user(&text, name, text.left, 0) == 0) {
            (void) ngx_guildlog_message_text_add(&text, "%V", id);
        }
    }

    label->data = text.start;
    label->len = text.pos - text.start;

    return NGX_OK;
}


void
ngx_guildlog_message_button_write(
    const ngx_guildlog_message_buttons_t *buttons, ngx_guildlog_json_t *w)
{
    ngx_uint_t                            i;
    const ngx_guildlog_message_button_t  *button;

    if (buttons->n == 0) {
        return;
    }

    ngx_guildlog_json_key(w, "components");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < buttons->n; i++) {
        button = &buttons->all[i];

        if (i % MESSAGE_BUTTON_IN_A_ROW == 0) {

            if (i) {
                ngx_guildlog_json_end(w);
                ngx_guildlog_json_end(w);
            }

            ngx_guildlog_json_begin(w, '{');
            ngx_guildlog_json_key(w, "type");
            ngx_guildlog_json_number(w, MESSAGE_BUTTON_ROW);
            ngx_guildlog_json_key(w, "components");
            ngx_guildlog_json_begin(w, '[');
        }

        ngx_guildlog_json_begin(w, '{');
        ngx_guildlog_json_key(w, "type");
        ngx_guildlog_json_number(w, MESSAGE_BUTTON_LINK);
        ngx_guildlog_json_key(w, "style");
        ngx_guildlog_json_number(w, MESSAGE_BUTTON_STYLE);
        ngx_guildlog_json_key(w, "label");
        ngx_guildlog_json_string(w, &button->label);
        ngx_guildlog_json_key(w, "url");
        ngx_guildlog_json_string(w, &button->url);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
    ngx_guildlog_json_end(w);
    ngx_guildlog_json_end(w);
}
