
/*
 * Reads a response of HTTP/1.1: status, headers, body, trailers.  A state is
 * reader->process.  It returns NGX_DONE when it has set the next one.
 */

#include "client/ngx_guildlog_client_response.h"


/* bytes of a head with interim responses, of a chunk's line, of trailers */
#define CLIENT_RESPONSE_HEAD     32768

#define CLIENT_RESPONSE_HEADERS  100
#define CLIENT_RESPONSE_LINE     256
#define CLIENT_RESPONSE_BODY     1024

#define CLIENT_RESPONSE_DIGITS   15


static ngx_int_t client_response_status(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_field(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_keyval(ngx_guildlog_client_reader_t *reader,
    ngx_keyval_t *header);
static ngx_int_t client_response_length(ngx_guildlog_client_reader_t *reader,
    ngx_str_t *value);
static ngx_int_t client_response_coding(ngx_guildlog_client_reader_t *reader,
    ngx_str_t *value);
static ngx_int_t client_response_connection(
    ngx_guildlog_client_reader_t *reader, ngx_str_t *value);
static ngx_int_t client_response_head(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_body(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_chunk(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_chunk_end(
    ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_trailer(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_line(ngx_guildlog_client_reader_t *reader,
    ngx_str_t *line);
static ngx_int_t client_response_append(ngx_guildlog_client_reader_t *reader);
static ngx_int_t client_response_error(ngx_guildlog_client_reader_t *reader,
    const char *cause);


static const struct {
    ngx_str_t                      name;
    ngx_int_t                    (*handler)(
                                       ngx_guildlog_client_reader_t *reader,
                                       ngx_str_t *value);
} client_response_headers[] = {
    { ngx_string("content-length"), client_response_length },
    { ngx_string("transfer-encoding"), client_response_coding },
    { ngx_string("connection"), client_response_connection },
    { ngx_null_string, NULL }
};


const ngx_str_t *
ngx_guildlog_client_response_header(
    const ngx_guildlog_client_response_t *response, const char *name)
{
    ngx_uint_t           i;
    const ngx_keyval_t  *header;

    header = response->headers.elts;

    for (i = 0; i < response->headers.nelts; i++) {
        if (ngx_strcmp(header[i].key.data, name) == 0) {
            return &header[i].value;
        }
    }

    return NULL;
}


ngx_int_t
ngx_guildlog_client_response_init(ngx_guildlog_client_reader_t *reader,
    ngx_pool_t *pool, ngx_guildlog_client_response_t *response, size_t limit)
{
    ngx_memzero(reader, sizeof(ngx_guildlog_client_reader_t));
    ngx_memzero(response, sizeof(ngx_guildlog_client_response_t));

    ngx_str_set(&response->body, "");

    reader->pool = pool;
    reader->response = response;
    reader->limit = limit;
    reader->process = client_response_status;
    reader->line_size = CLIENT_RESPONSE_LINE;

    reader->line.data = ngx_pnalloc(pool, reader->line_size);
    if (reader->line.data == NULL) {
        return NGX_ERROR;
    }

    return ngx_array_init(&response->headers, pool, 16, sizeof(ngx_keyval_t));
}


ngx_int_t
ngx_guildlog_client_response_feed(ngx_guildlog_client_reader_t *reader,
    u_char *p, size_t len)
{
    ngx_int_t  rc;

    reader->pos = p;
    reader->last = p + len;

    do {
        rc = reader->process(reader);
    } while (rc == NGX_DONE);

    ngx_guildlog_assert(rc != NGX_AGAIN || reader->pos == reader->last);

    return rc;
}


static ngx_int_t
client_response_status(ngx_guildlog_client_reader_t *reader)
{
    u_char     *p;
    ngx_int_t   rc, status;
    ngx_str_t   line;

    rc = client_response_line(reader, &line);

    if (rc != NGX_OK) {
        return rc;
    }

    p = line.data;

    if (line.len < sizeof("HTTP/1.1 200") - 1
        || ngx_strncmp(p, "HTTP/1.", 7) != 0
        || p[7] < '0' || p[7] > '9'
        || p[8] != ' '
        || (line.len > 12 && p[12] != ' '))
    {
        return client_response_error(reader, "it is not HTTP/1.1");
    }

    status = ngx_atoi(&p[9], 3);

    if (status < 100) {
        return client_response_error(reader, "its status is invalid");
    }

    reader->response->status = status;
    reader->keepalive = (p[7] != '0');
    reader->chunked = 0;
    reader->sized = 0;
    reader->rest = 0;
    reader->process = client_response_field;

    return NGX_DONE;
}


static ngx_int_t
client_response_field(ngx_guildlog_client_reader_t *reader)
{
    ngx_int_t      rc;
    ngx_str_t      line;
    ngx_uint_t     i;
    ngx_keyval_t  *header, keyval;

    rc = client_response_line(reader, &line);

    if (rc != NGX_OK) {
        return rc;
    }

    if (line.len == 0) {
        return client_response_head(reader);
    }

    if (reader->response->headers.nelts == CLIENT_RESPONSE_HEADERS) {
        return client_response_error(reader, "it has too many headers");
    }

    keyval.key = line;

    if (client_response_keyval(reader, &keyval) != NGX_OK) {
        return NGX_ERROR;
    }

    header = ngx_array_push(&reader->response->headers);
    if (header == NULL) {
        return client_response_error(reader, "out of memory");
    }

    *header = keyval;

    for (i = 0; client_response_headers[i].name.len; i++) {
        if (ngx_strcmp(header->key.data, client_response_headers[i].name.data)
            == 0)
        {
            return client_response_headers[i].handler(reader, &header->value);
        }
    }

    return NGX_DONE;
}


/* splits the line, which header->key has, into name and value */

static ngx_int_t
client_response_keyval(ngx_guildlog_client_reader_t *reader,
    ngx_keyval_t *header)
{
    u_char  *p, *last, *name;

    p = header->key.data;
    last = p + header->key.len;

    while (p < last && *p > ' ' && *p < 0x7f && *p != ':') {
        p++;
    }

    header->key.len = p - header->key.data;

    if (header->key.len == 0 || p == last || *p != ':') {
        return client_response_error(reader, "a header is invalid");
    }

    do { p++; } while (p < last && (*p == ' ' || *p == '\t'));

    while (last > p && (last[-1] == ' ' || last[-1] == '\t')) {
        last--;
    }

    header->value.data = p;
    header->value.len = last - p;

    for ( /* void */ ; p < last; p++) {
        if ((*p < ' ' && *p != '\t') || *p == 0x7f) {
            return client_response_error(reader, "a header is invalid");
        }
    }

    name = ngx_pnalloc(reader->pool, header->key.len + 1);
    header->value.data = ngx_pstrdup(reader->pool, &header->value);

    if (name == NULL || header->value.data == NULL) {
        return client_response_error(reader, "out of memory");
    }

    ngx_strlow(name, header->key.data, header->key.len);
    name[header->key.len] = '\0';
    header->key.data = name;

    return NGX_OK;
}


static ngx_int_t
client_response_length(ngx_guildlog_client_reader_t *reader, ngx_str_t *value)
{
    off_t  length;

    length = (value->len <= CLIENT_RESPONSE_DIGITS)
             ? ngx_atoof(value->data, value->len) : NGX_ERROR;

    if (length == NGX_ERROR
        || (reader->sized && reader->rest != (uint64_t) length))
    {
        return client_response_error(reader, "its length is invalid");
    }

    reader->sized = 1;
    reader->rest = length;

    return NGX_DONE;
}


static ngx_int_t
client_response_coding(ngx_guildlog_client_reader_t *reader, ngx_str_t *value)
{
    if (reader->chunked
        || value->len != sizeof("chunked") - 1
        || ngx_strncasecmp(value->data, (u_char *) "chunked", value->len)
           != 0)
    {
        return client_response_error(reader, "its coding is unknown");
    }

    reader->chunked = 1;

    return NGX_DONE;
}


static ngx_int_t
client_response_connection(ngx_guildlog_client_reader_t *reader,
    ngx_str_t *value)
{
    if (value->len >= sizeof("close") - 1
        && ngx_strlcasestrn(value->data, value->data + value->len,
                            (u_char *) "close", sizeof("close") - 2))
    {
        reader->keepalive = 0;
    }

    return NGX_DONE;
}


static ngx_int_t
client_response_head(ngx_guildlog_client_reader_t *reader)
{
    ngx_guildlog_client_response_t  *response;

    response = reader->response;

    if (response->status == 101) {
        return client_response_error(reader, "it changes the protocol");
    }

    if (response->status < 200) {
        response->status = 0;
        response->headers.nelts = 0;
        reader->process = client_response_status;
        return NGX_DONE;
    }

    if (response->status == 204 || response->status == 304) {
        return NGX_OK;
    }

    if (reader->chunked) {

        /* a proxy may have gone by the length, and read on elsewhere */

        if (reader->sized) {
            reader->keepalive = 0;
        }

        reader->head = 0;
        reader->process = client_response_chunk;
        return NGX_DONE;
    }

    if (reader->sized) {
        reader->process = client_response_body;
        return NGX_DONE;
    }

    /* a body that ends with its connection may have been cut short */

    return client_response_error(reader, "it does not say its length");
}


/* all of it, or a chunk */

static ngx_int_t
client_response_body(ngx_guildlog_client_reader_t *reader)
{
    ngx_int_t  rc;

    rc = client_response_append(reader);

    if (rc != NGX_DONE) {
        return rc;
    }

    if (reader->rest) {
        return NGX_AGAIN;
    }

    if (!reader->chunked) {
        return NGX_OK;
    }

    reader->process = client_response_chunk_end;

    return NGX_DONE;
}


static ngx_int_t
client_response_chunk(ngx_guildlog_client_reader_t *reader)
{
    u_char     *p, *last, c;
    ngx_int_t   rc;
    ngx_str_t   line;

    rc = client_response_line(reader, &line);

    if (rc != NGX_OK) {
        return rc;
    }

    reader->rest = 0;
    last = line.data + line.len;

    for (p = line.data; p < last; p++) {
        c = ngx_tolower(*p);

        if (c >= '0' && c <= '9') {
            reader->rest = reader->rest * 16 + (c - '0');

        } else if (c >= 'a' && c <= 'f') {
            reader->rest = reader->rest * 16 + (c - 'a' + 10);

        } else {
            break;
        }
    }

    if (p == line.data || p - line.data > CLIENT_RESPONSE_DIGITS
        || (p < last && *p != ';' && *p != ' ' && *p != '\t'))
    {
        return client_response_error(reader, "a chunk is invalid");
    }

    reader->head = 0;
    reader->process = reader->rest ? client_response_body
                                   : client_response_trailer;

    return NGX_DONE;
}


static ngx_int_t
client_response_chunk_end(ngx_guildlog_client_reader_t *reader)
{
    ngx_int_t  rc;
    ngx_str_t  line;

    rc = client_response_line(reader, &line);

    if (rc != NGX_OK) {
        return rc;
    }

    if (line.len) {
        return client_response_error(reader, "a chunk is invalid");
    }

    reader->head = 0;
    reader->process = client_response_chunk;

    return NGX_DONE;
}


static ngx_int_t
client_response_trailer(ngx_guildlog_client_reader_t *reader)
{
    ngx_int_t  rc;
    ngx_str_t  line;

    rc = client_response_line(reader, &line);

    if (rc != NGX_OK) {
        return rc;
    }

    return line.len ? NGX_DONE : NGX_OK;
}


/* the line has no CR LF, and is valid until the next call */

static ngx_int_t
client_response_line(ngx_guildlog_client_reader_t *reader, ngx_str_t *line)
{
    u_char  *p, *lf;
    size_t   n, size;

    lf = ngx_strlchr(reader->pos, reader->last, LF);
    n = (lf ? lf + 1 : reader->last) - reader->pos;

    reader->head += n;

    if (reader->head > CLIENT_RESPONSE_HEAD) {
        return client_response_error(reader, "its head is too long");
    }

    if (reader->line_size - reader->line.len < n) {

        size = reader->line_size;

        while (size - reader->line.len < n) {
            size *= 2;
        }

        p = ngx_pnalloc(reader->pool, size);
        if (p == NULL) {
            return client_response_error(reader, "out of memory");
        }

        ngx_memcpy(p, reader->line.data, reader->line.len);
        reader->line.data = p;
        reader->line_size = size;
    }

    ngx_guildlog_assert(reader->line.len + n <= reader->line_size);

    ngx_memcpy(reader->line.data + reader->line.len, reader->pos, n);
    reader->line.len += n;
    reader->pos += n;

    if (lf == NULL) {
        return NGX_AGAIN;
    }

    *line = reader->line;
    line->len--;

    if (line->len && line->data[line->len - 1] == CR) {
        line->len--;
    }

    reader->line.len = 0;

    return NGX_OK;
}


/* NGX_DONE: the piece is used up.  NGX_OK: the body has reached its limit */

static ngx_int_t
client_response_append(ngx_guildlog_client_reader_t *reader)
{
    u_char     *p;
    size_t      n, size;
    ngx_str_t  *body;

    body = &reader->response->body;
    n = (size_t) ngx_min(reader->rest, (uint64_t) (reader->last - reader->pos));

    ngx_guildlog_assert(body->len <= reader->limit);

    if (n > reader->limit - body->len) {
        n = reader->limit - body->len;
        reader->response->cut = 1;
        reader->keepalive = 0;
    }

    if (n == 0) {
        return reader->response->cut ? NGX_OK : NGX_DONE;
    }

    if (reader->body_size - body->len < n) {

        if (reader->chunked) {
            size = ngx_max(reader->body_size * 2, body->len + n);
            size = ngx_max(size, CLIENT_RESPONSE_BODY);

        } else {
            size = (size_t) ngx_min(reader->rest, (uint64_t) reader->limit);
        }

        p = ngx_pnalloc(reader->pool, size);
        if (p == NULL) {
            return client_response_error(reader, "out of memory");
        }

        if (reader->body_size) {
            ngx_memcpy(p, body->data, body->len);
            (void) ngx_pfree(reader->pool, body->data);
        }

        body->data = p;
        reader->body_size = size;
    }

    ngx_guildlog_assert(body->len + n <= reader->body_size);

    ngx_memcpy(body->data + body->len, reader->pos, n);
    body->len += n;
    reader->pos += n;
    reader->rest -= n;

    return reader->response->cut ? NGX_OK : NGX_DONE;
}


static ngx_int_t
client_response_error(ngx_guildlog_client_reader_t *reader, const char *cause)
{
    reader->response->cause = cause;

    return NGX_ERROR;
}
