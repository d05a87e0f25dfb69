
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

/* an alert's role, before it */
#define MESSAGE_ROLE     "<@&%V>"

/* behind a plain entry, before its time; nobody's text has "#" as it is */
#define MESSAGE_MARK     "\n-# %V \xc2\xb7 <t:"

/* between plain entries */
#define MESSAGE_NEXT     "\n\n"

/* of the platform: SUPPRESS_NOTIFICATIONS */
#define MESSAGE_QUIET    4096

#define MESSAGE_FILE_TYPE                                                     \
    "multipart/form-data; boundary=guildlog-%V"

#define MESSAGE_FILE_FIRST                                                    \
    "--guildlog-%V" CRLF                                                      \
    "Content-Disposition: form-data; name=\"payload_json\"" CRLF              \
    "Content-Type: application/json" CRLF CRLF "%V" CRLF

#define MESSAGE_FILE_NEXT                                                     \
    "--guildlog-%V" CRLF                                                      \
    "Content-Disposition: form-data; name=\"files[%ui]\"; "                   \
    "filename=\"%smessages-%V.txt\"" CRLF                                     \
    "Content-Type: text/plain; charset=utf-8" CRLF CRLF "%V" CRLF

#define MESSAGE_FILE_LAST  "--guildlog-%V--" CRLF

/* of a message in the file: its time, its ids, what parts it from the next */
#define MESSAGE_FILE_ROW   128


typedef struct {
    ngx_pool_t                      *pool;
    ngx_guildlog_json_t              json;
    ngx_guildlog_message_text_t      work;     /* of one embed after another */
    ngx_guildlog_message_text_t      content;
    ngx_guildlog_message_item_t      first;
    ngx_uint_t                       packed;
    ngx_uint_t                       left;     /* units, for embeds */
    ngx_uint_t                       nfiles;
    size_t                           file_bytes;
    ngx_guildlog_message_file_t      files[MESSAGE_ENTRIES];
} message_t;


static ngx_int_t message_start(message_t *message, ngx_pool_t *pool);
static ngx_int_t message_append(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_plain(message_t *message,
    ngx_guildlog_message_item_t *item);
static ngx_int_t message_finish(message_t *message);
static ngx_int_t message_file(const ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_str_t *text);
static u_char *message_file_row(u_char *p, const json_t *message);
static u_char *message_file_put(u_char *p, const ngx_str_t *s,
    ngx_uint_t lines);
static ngx_int_t message_file_body(ngx_pool_t *pool,
    const ngx_guildlog_message_file_t *files, ngx_uint_t n,
    ngx_guildlog_message_body_t *body);


ngx_int_t
ngx_guildlog_message_build(ngx_pool_t *pool,
    const ngx_guildlog_message_entry_t *entries, ngx_uint_t n,
    ngx_guildlog_message_body_t *body, ngx_uint_t *packed)
{
    ngx_int_t                    rc;
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

    if (message_finish(&message) != NGX_OK) {
        return NGX_ERROR;
    }

    *packed = message.packed;

    ngx_str_set(&body->type, "application/json");

    if (ngx_guildlog_json_written(&message.json, &body->json) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message.nfiles == 0) {
        body->text = body->json;
        return NGX_OK;
    }

    return message_file_body(pool, message.files, message.nfiles, body);
}


void
ngx_guildlog_message_looks(ngx_guildlog_message_conf_t *conf,
    const ngx_str_t *looks)
{
    conf->format = ngx_atoi(looks[0].data, looks[0].len);
    conf->color = ngx_atoi(looks[1].data, looks[1].len);
    conf->buttons = ngx_atoi(looks[2].data, looks[2].len);
    conf->locale = ngx_atoi(looks[3].data, looks[3].len);
    conf->spoilers = (looks[4].len && looks[4].data[0] == 't');
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

    if (ngx_guildlog_str_eq(footer, id)) {
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

    if ((message->first.plain || message->first.role.len)
        && ngx_guildlog_message_text_init(&message->content, pool,
                                          MESSAGE_CONTENT)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (message->first.role.len) {
        (void) ngx_guildlog_message_text_add(&message->content, MESSAGE_ROLE,
                                             &message->first.role);
    }

    if (message->first.plain) {
        return NGX_OK;
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
    ngx_guildlog_message_file_t  *file;

    if (message->packed == MESSAGE_ENTRIES
        || (message->packed && (item->plain != message->first.plain
                                || item->role.len
                                || message->first.role.len)))
    {
        return NGX_DECLINED;
    }

    file = &message->files[message->nfiles];

    if (message_file(item, message->pool, &file->text) != NGX_OK) {
        return NGX_ERROR;
    }

    if (message->packed
        && message->file_bytes + file->text.len > NGX_GUILDLOG_MESSAGE_FILES)
    {
        return NGX_DECLINED;
    }

    rc = item->plain ? message_plain(message, item)
         : ngx_guildlog_message_embed(item, message->pool, &message->work,
                                      &message->left, &message->json);

    if (rc == NGX_OK) {
        message->packed++;

        file->id = item->id;
        file->spoiler = item->spoilers;

        message->file_bytes += file->text.len;
        message->nfiles += (file->text.len != 0);
    }

    return rc;
}


static ngx_int_t
message_plain(message_t *message, ngx_guildlog_message_item_t *item)
{
    ngx_str_t                    tail;
    ngx_uint_t                   most, units, room;
    ngx_guildlog_message_text_t  text, end, *content;

    content = &message->content;

    /* but for the role, nothing is before an alert */

    most = item->role.len ? content->left - (sizeof(MESSAGE_NEXT) - 1)
           : MESSAGE_CONTENT;

    if (ngx_guildlog_message_text_init(&text, message->pool, most) != NGX_OK
        || ngx_guildlog_message_text_init(&end, message->pool,
                                          NGX_GUILDLOG_MESSAGE_TAIL)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* its last line: the id, the time, and the way to the log viewer */

    (void) ngx_guildlog_message_text_add(&end, MESSAGE_MARK "%L:F>", &item->id,
                                         (int64_t) (item->ms / 1000));

    if (ngx_guildlog_message_link_open(item, message->pool, &end) != NGX_OK) {
        return NGX_ERROR;
    }

    room = NGX_GUILDLOG_MESSAGE_TAIL - end.left;

    text.left -= room;

    ngx_guildlog_message_body_whole(item, &text);

    text.left += room;

    tail.data = end.start;
    tail.len = end.pos - end.start;

    (void) ngx_guildlog_message_text_put(&text, &tail);

    units = most - text.left;

    if (content->pos != content->start) {
        if (units + sizeof(MESSAGE_NEXT) - 1 > content->left) {
            return NGX_DECLINED;
        }

        (void) ngx_guildlog_message_text_add(content, MESSAGE_NEXT);
    }

    ngx_guildlog_assert(units <= content->left);

    content->pos = ngx_cpymem(content->pos, text.start, text.pos - text.start);
    content->left -= units;

    return NGX_OK;
}


static ngx_int_t
message_finish(message_t *message)
{
    ngx_str_t               content;
    ngx_guildlog_json_t    *w;

    w = &message->json;

    if (!message->first.plain) {
        ngx_guildlog_json_end(w);
    }

    content.data = message->content.start;
    content.len = message->content.pos - message->content.start;

    if (content.len) {
        ngx_guildlog_json_member(w, "content", &content);
    }

    ngx_guildlog_json_key(w, "allowed_mentions");
    ngx_guildlog_json_begin(w, '{');
    ngx_guildlog_json_key(w, "parse");
    ngx_guildlog_json_begin(w, '[');
    ngx_guildlog_json_end(w);

    if (message->first.role.len) {
        ngx_guildlog_json_key(w, "roles");
        ngx_guildlog_json_begin(w, '[');
        ngx_guildlog_json_string(w, &message->first.role);
        ngx_guildlog_json_end(w);
    }

    ngx_guildlog_json_end(w);

    /* nobody is woken by a log, but whom an alert mentions */

    ngx_guildlog_json_key(w, "flags");
    ngx_guildlog_json_number(w, message->first.role.len ? 0 : MESSAGE_QUIET);

    if (message->packed == 1
        && ngx_guildlog_message_buttons(message->pool, &message->first, w)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_guildlog_json_end(w);

    return NGX_OK;
}


/*
 * All that was said in many messages, as a file of text beside their message.
 * Empty: the entry has none; NGX_ERROR: no memory.
 */

static ngx_int_t
message_file(const ngx_guildlog_message_item_t *item, ngx_pool_t *pool,
    ngx_str_t *text)
{
    size_t      i, j, size;
    u_char     *p;
    json_t     *messages, *message, *file, *files;
    ngx_str_t   s;

    ngx_str_null(text);

    messages = json_object_get(item->json, "messages");

    if (!(item->marks & NGX_GUILDLOG_MARK_FILE)
        || json_array_size(messages) == 0)
    {
        return NGX_OK;
    }

    size = 0;

    json_array_foreach(messages, i, message) {
        s = ngx_guildlog_json_get(message, "content");
        size += MESSAGE_FILE_ROW + s.len;

        files = json_object_get(message, "attachments");

        json_array_foreach(files, j, file) {
            s = ngx_guildlog_json_get(file, "name");
            size += sizeof("[]\n") + s.len;
        }
    }

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text->data = p;

    json_array_foreach(messages, i, message) {
        p = message_file_row(p, message);
    }

    text->len = p - text->data;

    ngx_guildlog_assert(text->len <= size);

    return NGX_OK;
}


static u_char *
message_file_row(u_char *p, const json_t *message)
{
    size_t      i;
    time_t      s;
    json_t     *file, *files, *value;
    ngx_tm_t    tm;
    ngx_str_t   id, author, text;

    id = ngx_guildlog_json_get(message, "id");
    author = ngx_guildlog_json_get(message, "authorId");
    text = ngx_guildlog_json_get(message, "content");
    value = json_object_get(message, "timestamp");

    if (json_is_integer(value)) {
        s = json_integer_value(value) / 1000;
        s = ngx_max(s, 0);
        ngx_gmtime(ngx_min(s, NGX_GUILDLOG_MESSAGE_LAST_MS / 1000), &tm);

        p = ngx_sprintf(p, "%4d-%02d-%02d %02d:%02d:%02d UTC  ",
                        tm.ngx_tm_year, tm.ngx_tm_mon, tm.ngx_tm_mday,
                        tm.ngx_tm_hour, tm.ngx_tm_min, tm.ngx_tm_sec);
    }

    if (ngx_guildlog_value_is_id(&author)) {
        p = ngx_sprintf(p, "author %V  ", &author);
    }

    if (ngx_guildlog_value_is_id(&id)) {
        p = ngx_sprintf(p, "message %V", &id);
    }

    *p++ = LF;

    if (text.len) {
        p = message_file_put(p, &text, 1);
        *p++ = LF;
    }

    files = json_object_get(message, "attachments");

    json_array_foreach(files, i, file) {
        text = ngx_guildlog_json_get(file, "name");

        *p++ = '[';
        p = message_file_put(p, &text, 0);
        *p++ = ']';
        *p++ = LF;
    }

    *p++ = LF;

    return p;
}


/* as it is, but for what has no place in a line.  No CR: none ends a part */

static u_char *
message_file_put(u_char *p, const ngx_str_t *s, ngx_uint_t lines)
{
    size_t  i;
    u_char  c;

    for (i = 0; i < s->len; i++) {
        c = s->data[i];

        if (c >= ' ' || c == '\t' || (c == LF && lines)) {
            *p++ = c;
        }
    }

    return p;
}


/* the message with its files: at least one */

static ngx_int_t
message_file_body(ngx_pool_t *pool, const ngx_guildlog_message_file_t *files,
    ngx_uint_t n, ngx_guildlog_message_body_t *body)
{
    size_t            size;
    u_char           *p;
    ngx_uint_t        i;
    const ngx_str_t  *mark;

    /* nobody knew the id when they wrote what is in the message */

    mark = &files[0].id;

    size = sizeof(MESSAGE_FILE_FIRST) + sizeof(MESSAGE_FILE_LAST)
           + 2 * mark->len + body->json.len;

    for (i = 0; i < n; i++) {
        size += sizeof(MESSAGE_FILE_NEXT) + sizeof("SPOILER_") + NGX_INT_T_LEN
                + mark->len + files[i].id.len + files[i].text.len;
    }

    p = ngx_pnalloc(pool, size + sizeof(MESSAGE_FILE_TYPE) + mark->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->text.data = p;

    p = ngx_sprintf(p, MESSAGE_FILE_FIRST, mark, &body->json);

    for (i = 0; i < n; i++) {
        p = ngx_sprintf(p, MESSAGE_FILE_NEXT, mark, i,
                        files[i].spoiler ? "SPOILER_" : "", &files[i].id,
                        &files[i].text);
    }

    p = ngx_sprintf(p, MESSAGE_FILE_LAST, mark);

    body->text.len = p - body->text.data;

    ngx_guildlog_assert(body->text.len <= size);

    body->type.data = p;
    body->type.len = ngx_sprintf(p, MESSAGE_FILE_TYPE, mark) - p;

    return NGX_OK;
}
