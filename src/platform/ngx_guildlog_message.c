
/*
 * Entries are packed one after another.  Each is written as if it were alone,
 * so that what is said of it never depends on its neighbours.
 */

#include "platform/ngx_guildlog_message_parts.h"


/* limits of the platform, in UTF-16 units but for the first */

#define MESSAGE_ENTRIES  10
#define MESSAGE_TOTAL    6000   /* over all embeds */
#define MESSAGE_CONTENT  2000

#define MESSAGE_SIZE     4096   /* of the body, to begin */

/* behind a plain entry, before its time; nobody's text has "#" as it is */
#define MESSAGE_MARK     "\n-# %V \xc2\xb7 <t:"

/* of the platform: SUPPRESS_NOTIFICATIONS */
#define MESSAGE_QUIET    4096


typedef struct {
    ngx_pool_t                      *pool;
    ngx_guildlog_json_t              json;
    ngx_guildlog_message_text_t      work;     /* of one embed after another */
    ngx_guildlog_message_text_t      content;
    ngx_guildlog_message_item_t      first;
    ngx_uint_t                       packed;
    ngx_uint_t                       left;     /* units, for embeds */
    ngx_guildlog_message_buttons_t   buttons;
    ngx_uint_t                       nfiles;
    size_t                           file_bytes;
    ngx_guildlog_message_file_t      files[MESSAGE_ENTRIES];
} message_t;


static ngx_int_t message_start(message_t *message, ngx_pool_t *pool);
static ngx_int_t message_append(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_plain(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_tail(message_t *message,
    ngx_guildlog_message_item_t *item, ngx_guildlog_message_text_t *text);
static void message_finish(message_t *message);


ngx_int_t
ngx_guildlog_message_build(ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entries, ngx_uint_t n,
    ngx_guildlog_message_body_t *body, ngx_uint_t *packed)
{
    ngx_int_t                    rc;
    ngx_str_t                    json;
    message_t                    message;
    ngx_uint_t                   i;
    ngx_guildlog_message_item_t  item;

    ngx_memzero(&message, sizeof(message_t));

    for (i = 0; i < n; i++) {

        rc = ngx_guildlog_message_item_read(&item, pool, &entries[i]);

        if (rc == NGX_OK && i == 0) {
            message.first = item;
            rc = message_start(&message, pool);
        }

        if (rc == NGX_OK) {
            rc = message_append(&message, &item);
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED) {
            break;
        }
    }

    if (message.packed == 0) {
        return NGX_DECLINED;
    }

    message_finish(&message);

    *packed = message.packed;

    ngx_str_set(&body->type, "application/json");

    if (ngx_guildlog_json_written(&message.json, &body->text) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message.nfiles == 0) {
        return NGX_OK;
    }

    json = body->text;

    return ngx_guildlog_message_file_body(pool, &json, message.files,
                                          message.nfiles, body);
}


ngx_uint_t
ngx_guildlog_message_names(const ngx_str_t *content, const ngx_str_t *footer,
    const ngx_str_t *id)
{
    u_char  *last;
    u_char   mark[sizeof(MESSAGE_MARK) + NGX_GUILDLOG_MESSAGE_FOOTER];

    if (id->len == 0 || id->len > NGX_GUILDLOG_MESSAGE_FOOTER) {
        return 0;
    }

    if (footer->len == id->len
        && ngx_memcmp(footer->data, id->data, id->len) == 0)
    {
        return 1;
    }

    last = ngx_sprintf(mark, MESSAGE_MARK, id);

    return content->len
           && memmem(content->data, content->len, mark, last - mark) != NULL;
}


static ngx_int_t
message_start(message_t *message, ngx_pool_t *pool)
{
    message->pool = pool;
    ngx_guildlog_json_init(&message->json, pool, MESSAGE_SIZE);
    ngx_guildlog_json_begin(&message->json, '{');

    if (message->first.plain) {
        return ngx_guildlog_message_text_init(&message->content, pool,
                                              MESSAGE_CONTENT);
    }

    message->left = MESSAGE_TOTAL;

    ngx_guildlog_json_key(&message->json, "embeds");
    ngx_guildlog_json_begin(&message->json, '[');

    return ngx_guildlog_message_text_init(&message->work, pool, MESSAGE_TOTAL);
}


/* NGX_DECLINED: the entry belongs to the next message */

static ngx_int_t
message_append(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_int_t                     rc;
    ngx_uint_t                    nbuttons;
    ngx_guildlog_message_file_t  *file;

    if (message->packed == MESSAGE_ENTRIES
        || (message->packed && item->plain != message->first.plain))
    {
        return NGX_DECLINED;
    }

    nbuttons = message->buttons.n;
    file = &message->files[message->nfiles];

    if (ngx_guildlog_message_file(item, message->pool, &file->text) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message->packed
        && message->file_bytes + file->text.len > NGX_GUILDLOG_MESSAGE_FILES)
    {
        return NGX_DECLINED;
    }

    rc = ngx_guildlog_message_button(&message->buttons, message->pool, item);

    if (rc == NGX_OK) {
        rc = item->plain ? message_plain(message, item)
             : ngx_guildlog_message_embed(item, message->pool, &message->work,
                                          &message->left, &message->json);
    }

    if (rc == NGX_OK) {
        message->packed++;

        file->id = item->id;
        file->spoiler = item->spoilers;

        message->file_bytes += file->text.len;
        message->nfiles += (file->text.len != 0);

    } else {
        message->buttons.n = nbuttons;
    }

    return rc;
}


static ngx_int_t
message_plain(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_str_t                    tail;
    ngx_uint_t                   units, room;
    ngx_guildlog_message_text_t  text, end, *content;

    if (ngx_guildlog_message_text_init(&text, message->pool, MESSAGE_CONTENT)
        != NGX_OK
        || ngx_guildlog_message_text_init(&end, message->pool,
                                          NGX_GUILDLOG_MESSAGE_TAIL)
           != NGX_OK
        || message_tail(message, item, &end) != NGX_OK)
    {
        return NGX_ERROR;
    }

    room = NGX_GUILDLOG_MESSAGE_TAIL - end.left;

    text.left -= room;

    ngx_guildlog_message_body_whole(item, &text);

    text.left += room;

    tail.data = end.start;
    tail.len = end.pos - end.start;

    (void) ngx_guildlog_message_text_put(&text, &tail);

    units = MESSAGE_CONTENT - text.left;
    content = &message->content;

    if (message->packed) {
        if (units + 1 > content->left) {
            return NGX_DECLINED;
        }

        (void) ngx_guildlog_message_text_add(content, "\n");
    }

    content->pos = ngx_cpymem(content->pos, text.start, text.pos - text.start);
    content->left -= units;

    return NGX_OK;
}


/* its last line: the id, the time, and the way to the log viewer */

static ngx_int_t
message_tail(message_t *message, ngx_guildlog_message_item_t *item,
    ngx_guildlog_message_text_t *text)
{
    (void) ngx_guildlog_message_text_add(text, MESSAGE_MARK "%L:F>", &item->id,
                                         (int64_t) (item->ms / 1000));

    return ngx_guildlog_message_link_open(item, message->pool, text);
}


static void
message_finish(message_t *message)
{
    ngx_str_t               content;
    ngx_guildlog_json_t    *w;

    static const ngx_str_t  mentions = ngx_string("{\"parse\":[]}");

    w = &message->json;

    if (message->first.plain) {
        content.data = message->content.start;
        content.len = message->content.pos - message->content.start;

        ngx_guildlog_json_key(w, "content");
        ngx_guildlog_json_string(w, &content);

    } else {
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_key(w, "allowed_mentions");
    ngx_guildlog_json_raw(w, &mentions);

    ngx_guildlog_json_key(w, "flags");
    ngx_guildlog_json_number(w, MESSAGE_QUIET);

    ngx_guildlog_message_button_write(&message->buttons, w);

    ngx_guildlog_json_end(w);
}
