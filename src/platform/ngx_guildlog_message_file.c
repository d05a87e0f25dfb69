
/*
 * All that was said in many messages, as a file of text beside their message.
 */

#include "platform/ngx_guildlog_message_parts.h"


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


static size_t message_file_size(const json_t *messages);
static u_char *message_file_row(u_char *p, const json_t *message);
static u_char *message_file_put(u_char *p, const ngx_str_t *s,
    ngx_uint_t lines);


ngx_int_t
ngx_guildlog_message_file(const ngx_guildlog_message_item_t *item,
    ngx_pool_t *pool, ngx_str_t *text)
{
    size_t   i;
    u_char  *p;
    json_t  *messages, *message;

    ngx_str_null(text);

    messages = json_object_get(item->json, "messages");

    if (!(item->marks & NGX_GUILDLOG_MARK_FILE)
        || json_array_size(messages) == 0)
    {
        return NGX_OK;
    }

    p = ngx_pnalloc(pool, message_file_size(messages));
    if (p == NULL) {
        return NGX_ERROR;
    }

    text->data = p;

    json_array_foreach(messages, i, message) {
        p = message_file_row(p, message);
    }

    text->len = p - text->data;

    return NGX_OK;
}


static size_t
message_file_size(const json_t *messages)
{
    size_t      i, j, size;
    ngx_str_t   s;
    json_t     *message, *file, *files;

    size = 0;

    json_array_foreach(messages, i, message) {
        s = ngx_guildlog_json_text(json_object_get(message, "content"));
        size += MESSAGE_FILE_ROW + s.len;

        files = json_object_get(message, "attachments");

        json_array_foreach(files, j, file) {
            s = ngx_guildlog_json_text(json_object_get(file, "name"));
            size += sizeof("[]\n") + s.len;
        }
    }

    return size;
}


static u_char *
message_file_row(u_char *p, const json_t *message)
{
    size_t      i;
    time_t      s;
    json_t     *file, *files, *value;
    ngx_tm_t    tm;
    ngx_str_t   id, author, text;

    id = ngx_guildlog_json_text(json_object_get(message, "id"));
    author = ngx_guildlog_json_text(json_object_get(message, "authorId"));
    text = ngx_guildlog_json_text(json_object_get(message, "content"));
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
        text = ngx_guildlog_json_text(json_object_get(file, "name"));

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


ngx_int_t
ngx_guildlog_message_file_body(ngx_pool_t *pool, const ngx_str_t *json,
    const ngx_guildlog_message_file_t *files, ngx_uint_t n,
    ngx_guildlog_message_body_t *body)
{
    size_t            size;
    u_char           *p;
    ngx_uint_t        i;
    const ngx_str_t  *mark;

    /* nobody knew the id when they wrote what is in the message */

    mark = &files[0].id;

    size = sizeof(MESSAGE_FILE_FIRST) + sizeof(MESSAGE_FILE_LAST)
           + 2 * mark->len + json->len;

    for (i = 0; i < n; i++) {
        size += sizeof(MESSAGE_FILE_NEXT) + sizeof("SPOILER_") + NGX_INT_T_LEN
                + mark->len + files[i].id.len + files[i].text.len;
    }

    p = ngx_pnalloc(pool, size + sizeof(MESSAGE_FILE_TYPE) + mark->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->text.data = p;

    p = ngx_sprintf(p, MESSAGE_FILE_FIRST, mark, json);

    for (i = 0; i < n; i++) {
        p = ngx_sprintf(p, MESSAGE_FILE_NEXT, mark, i,
                        files[i].spoiler ? "SPOILER_" : "", &files[i].id,
                        &files[i].text);
    }

    p = ngx_sprintf(p, MESSAGE_FILE_LAST, mark);

    body->text.len = p - body->text.data;
    body->type.data = p;
    body->type.len = ngx_sprintf(p, MESSAGE_FILE_TYPE, mark) - p;

    return NGX_OK;
}
