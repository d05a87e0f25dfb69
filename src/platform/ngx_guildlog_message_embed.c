
/*
 * An entry as an embed.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* limits of the platform, in UTF-16 units */

#define MESSAGE_EMBED_TITLE        256
#define MESSAGE_EMBED_DESCRIPTION  4096


typedef struct {
    ngx_str_t                      title;
    ngx_str_t                      description;
    ngx_str_t                      footer;
    ngx_str_t                      page;     /* its entry in the viewer */
    ngx_str_t                      values[NGX_GUILDLOG_MESSAGE_PARTS];
    ngx_uint_t                     units;
} message_embed_t;


static ngx_int_t message_embed_fill(ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_guildlog_message_text_t *all,
    message_embed_t *embed);
static ngx_int_t message_embed_describe(ngx_pool_t *pool,
    const ngx_str_t *sentence, const ngx_str_t *rest, message_embed_t *embed);
static void message_embed_write(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item, message_embed_t *embed);
static void message_embed_time(ngx_guildlog_json_t *w, json_int_t ms);
static void message_embed_fields(ngx_guildlog_json_t *w,
    ngx_guildlog_message_item_t *item, message_embed_t *embed);
static void message_embed_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s);
static void message_embed_picture(ngx_guildlog_json_t *w,
    const ngx_guildlog_message_item_t *item);


ngx_int_t
ngx_guildlog_message_embed(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    const ngx_guildlog_message_text_t *work, ngx_uint_t *left,
    ngx_guildlog_json_t *w)
{
    message_embed_t              embed;
    ngx_guildlog_message_text_t  all;

    ngx_memzero(&embed, sizeof(message_embed_t));

    all = *work;

    if (message_embed_fill(item, pool, &all, &embed) != NGX_OK) {
        return NGX_ERROR;
    }

    if (embed.units > *left) {
        return NGX_DECLINED;
    }

    *left -= embed.units;

    message_embed_write(w, item, &embed);

    return w->failed ? NGX_ERROR : NGX_OK;
}


/*
 * The sentence comes first, for the fields to know what it says; the rest of
 * the description may take what the fields left.
 */

static ngx_int_t
message_embed_fill(ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    ngx_guildlog_message_text_t *all, message_embed_t *embed)
{
    const char                         *label;
    ngx_str_t                           sentence, rest;
    ngx_uint_t                          i, left, units;
    ngx_guildlog_message_text_t         text;
    const ngx_guildlog_message_part_t  *part;

    left = all->left;

    ngx_guildlog_message_text_open(&text, all, NGX_GUILDLOG_MESSAGE_FOOTER);
    (void) ngx_guildlog_message_text_add(&text, "%V", &item->id);
    ngx_guildlog_message_text_close(&text, all, &embed->footer);

    if (item->compact) {
        ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_DESCRIPTION);
        text.left -= ngx_min(text.left, NGX_GUILDLOG_MESSAGE_TAIL);

        ngx_guildlog_message_body_whole(item, &text);

        text.left += NGX_GUILDLOG_MESSAGE_TAIL;

        if (ngx_guildlog_message_link_open(item, pool, &text) != NGX_OK) {
            return NGX_ERROR;
        }

        ngx_guildlog_message_text_close(&text, all, &embed->description);

        embed->units = left - all->left;
        return NGX_OK;
    }

    if (ngx_guildlog_message_link_page(item, pool, "logs", &item->id,
                                       &embed->page)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_TITLE);
    (void) ngx_guildlog_message_text_add(&text, "%s",
                                 ngx_guildlog_message_item_title(item));
    ngx_guildlog_message_text_close(&text, all, &embed->title);

    ngx_guildlog_message_text_open(&text, all, MESSAGE_EMBED_DESCRIPTION / 2);
    ngx_guildlog_message_sentence(item, &text);
    ngx_guildlog_message_text_close(&text, all, &sentence);

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (!ngx_guildlog_message_parts_shows(item, part)) {
            continue;
        }

        label = ngx_guildlog_message_item_label(item, part->label);
        units = ngx_guildlog_message_text_units((u_char *) label,
                                                ngx_strlen(label));

        if (units >= all->left) {
            continue;
        }

        all->left -= units;

        ngx_guildlog_message_text_open(&text, all, part->embed);
        part->write(item, &text, part->key);
        ngx_guildlog_message_text_close(&text, all, &embed->values[i]);

        if (embed->values[i].len == 0) {
            all->left += units;
        }
    }

    /* a break stands between the two */

    all->left -= (sentence.len && all->left);

    ngx_guildlog_message_text_open(&text, all,
                                   MESSAGE_EMBED_DESCRIPTION / 2 - 1);
    ngx_guildlog_message_body(item, &text, NGX_GUILDLOG_MESSAGE_TEXT_LINES);
    ngx_guildlog_message_text_close(&text, all, &rest);

    embed->units = left - all->left;

    return message_embed_describe(pool, &sentence, &rest, embed);
}


/* both in lines of their own */

static ngx_int_t
message_embed_describe(ngx_pool_t *pool, const ngx_str_t *sentence,
    const ngx_str_t *rest, message_embed_t *embed)
{
    if (sentence->len == 0 || rest->len == 0) {
        embed->description = sentence->len ? *sentence : *rest;
        return NGX_OK;
    }

    embed->description.data = ngx_pnalloc(pool, sentence->len + 1 + rest->len);
    if (embed->description.data == NULL) {
        return NGX_ERROR;
    }

    embed->description.len = ngx_sprintf(embed->description.data, "%V\n%V",
                                         sentence, rest)
                             - embed->description.data;

    return NGX_OK;
}


static void
message_embed_write(ngx_guildlog_json_t *w, ngx_guildlog_message_item_t *item,
    message_embed_t *embed)
{
    ngx_guildlog_json_begin(w, '{');

    message_embed_string(w, "title", &embed->title);
    message_embed_string(w, "url", &embed->page);
    message_embed_string(w, "description", &embed->description);
    message_embed_time(w, item->ms);

    ngx_guildlog_json_key(w, "color");
    ngx_guildlog_json_number(w, ngx_guildlog_message_item_color(item));

    ngx_guildlog_json_key(w, "footer");
    ngx_guildlog_json_begin(w, '{');
    message_embed_string(w, "text", &embed->footer);
    ngx_guildlog_json_end(w);

    if (!item->compact) {
        message_embed_fields(w, item, embed);
        message_embed_picture(w, item);
    }

    ngx_guildlog_json_end(w);
}


static void
message_embed_time(ngx_guildlog_json_t *w, json_int_t ms)
{
    u_char     *p;
    ngx_tm_t    tm;
    ngx_str_t   s;
    u_char      buf[sizeof("1970-01-01T00:00:00.000Z")];

    ngx_gmtime((time_t) (ms / 1000), &tm);

    p = ngx_sprintf(buf, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.ngx_tm_year,
                    tm.ngx_tm_mon, tm.ngx_tm_mday, tm.ngx_tm_hour,
                    tm.ngx_tm_min, tm.ngx_tm_sec, (int) (ms % 1000));

    s.data = buf;
    s.len = p - buf;

    message_embed_string(w, "timestamp", &s);
}


static void
message_embed_fields(ngx_guildlog_json_t *w, ngx_guildlog_message_item_t *item,
    message_embed_t *embed)
{
    ngx_str_t                           name;
    ngx_uint_t                          i;
    const ngx_guildlog_message_part_t  *part;

    ngx_guildlog_json_key(w, "fields");
    ngx_guildlog_json_begin(w, '[');

    for (i = 0; i < NGX_GUILDLOG_MESSAGE_PARTS; i++) {
        part = &ngx_guildlog_message_parts[i];

        if (embed->values[i].len == 0) {
            continue;
        }

        name.data = (u_char *) ngx_guildlog_message_item_label(item,
                                                               part->label);
        name.len = ngx_strlen(name.data);

        ngx_guildlog_json_begin(w, '{');
        message_embed_string(w, "name", &name);
        message_embed_string(w, "value", &embed->values[i]);
        ngx_guildlog_json_key(w, "inline");
        ngx_guildlog_json_bool(w, part->aside);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);
}


/* the platform refuses what is empty */

static void
message_embed_string(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *s)
{
    if (s->len) {
        ngx_guildlog_json_key(w, key);
        ngx_guildlog_json_string(w, s);
    }
}


static void
message_embed_picture(ngx_guildlog_json_t *w,
    const ngx_guildlog_message_item_t *item)
{
    ngx_str_t  url;

    url = ngx_guildlog_message_link_picture(item);

    if (url.len) {
        ngx_guildlog_json_key(w, "thumbnail");
        ngx_guildlog_json_begin(w, '{');
        message_embed_string(w, "url", &url);
        ngx_guildlog_json_end(w);
    }
}
