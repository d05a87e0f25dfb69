
/*
 * Links ngx_guildlog_client_response.c.
 *
 * An answer is read the same in whatever pieces it comes.  What is cut off or
 * is not HTTP/1.1 is not an answer.
 */

#include "client/ngx_guildlog_client_response.h"
#include "tap.h"


#define LIMIT  64


typedef struct {
    const char  *name;
    const char  *bytes;
    ngx_int_t    rc;
    ngx_uint_t   status;
    const char  *body;       /* or the cause */
    ngx_uint_t   left;       /* bytes that are not of the answer */
    ngx_uint_t   keepalive;
} answer_t;


#define HEAD     "HTTP/1.1 200 OK\r\n"
#define CHUNKED  HEAD "Transfer-Encoding: chunked\r\n\r\n"


static const answer_t  answers[] = {

    { "a body", HEAD "Content-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "no body", HEAD "Content-Length: 0\r\n\r\n",
      NGX_OK, 200, "", 0, 1 },
    { "more behind it", HEAD "Content-Length: 2\r\n\r\nhello",
      NGX_OK, 200, "he", 3, 1 },
    { "white space", HEAD "Content-Length: \t 5 \t\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "names in any case", HEAD "cONTENT-lENGTH:5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "lines without CR", "HTTP/1.1 200\nContent-Length: 5\n\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "the same length twice", HEAD "Content-Length: 5\r\n"
      "Content-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "no reason", "HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n",
      NGX_OK, 599, "", 0, 1 },
    { "HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 0 },
    { "close", HEAD "Connection: Close\r\nContent-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 0 },
    { "close among others", HEAD "Connection: te, close\r\n"
      "Content-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 0 },
    { "keep-alive", HEAD "Connection: keep-alive\r\n"
      "Content-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },
    { "204", "HTTP/1.1 204 No Content\r\n\r\nhello",
      NGX_OK, 204, "", 5, 1 },
    { "304 with a length", "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n",
      NGX_OK, 304, "", 0, 1 },
    { "interim answers", "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n"
      "Connection: close\r\n\r\n" HEAD "Content-Length: 5\r\n\r\nhello",
      NGX_OK, 200, "hello", 0, 1 },

    { "chunks", CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
      NGX_OK, 200, "hello", 0, 1 },
    { "no chunk", CHUNKED "0\r\n\r\n",
      NGX_OK, 200, "", 0, 1 },
    { "a size in any case", CHUNKED "00A\r\n0123456789\r\n"
      "b\r\n0123456789a\r\n000\r\n\r\n",
      NGX_OK, 200, "01234567890123456789a", 0, 1 },
    { "extensions", CHUNKED "5;a=b;c=\"d\"\r\nhello\r\n0 ;x\r\n\r\n",
      NGX_OK, 200, "hello", 0, 1 },
    { "trailers", CHUNKED "5\r\nhello\r\n0\r\nExpires: 0\r\nA: b\r\n\r\nx",
      NGX_OK, 200, "hello", 1, 1 },
    { "chunks and a length", HEAD "Content-Length: 3\r\n"
      "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      NGX_OK, 200, "hello", 0, 0 },

    { "a body over the limit", HEAD "Content-Length: 1000000\r\n\r\n"
      "0123456789012345678901234567890123456789012345678901234567890123"
      "4567",
      NGX_OK, 200,
      "0123456789012345678901234567890123456789012345678901234567890123",
      4, 0 },
    { "chunks over the limit", CHUNKED "28\r\n"
      "0123456789012345678901234567890123456789\r\n28\r\n"
      "0123456789012345678901234567890123456789\r\n",
      NGX_OK, 200,
      "0123456789012345678901234567890123456789012345678901234567890123",
      18, 0 },

    { "nothing yet", "HTTP/1.1", NGX_AGAIN, 0, "", 0, 0 },
    { "half a head", HEAD "Content-Length: 5\r\n",
      NGX_AGAIN, 200, "", 0, 1 },
    { "half a body", HEAD "Content-Length: 5\r\n\r\nhell",
      NGX_AGAIN, 200, "hell", 0, 1 },
    { "half a chunk", CHUNKED "5\r\nhell",
      NGX_AGAIN, 200, "hell", 0, 1 },
    { "no last chunk", CHUNKED "5\r\nhello\r\n",
      NGX_AGAIN, 200, "hello", 0, 1 },
    { "half of the trailers", CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n",
      NGX_AGAIN, 200, "hello", 0, 1 },
    { "only an interim one", "HTTP/1.1 100 Continue\r\n\r\n",
      NGX_AGAIN, 0, "", 0, 1 },

    { "no length", HEAD "\r\nhello",
      NGX_ERROR, 200, "it does not say its length", 0, 0 },
    { "HTTP/2", "HTTP/2 200 OK\r\n",
      NGX_ERROR, 0, "it is not HTTP/1.1", 0, 0 },
    { "an empty line", "\r\n" HEAD,
      NGX_ERROR, 0, "it is not HTTP/1.1", 0, 0 },
    { "a status of two digits", "HTTP/1.1 20 OK\r\n",
      NGX_ERROR, 0, "it is not HTTP/1.1", 0, 0 },
    { "a status of four digits", "HTTP/1.1 2000\r\n",
      NGX_ERROR, 0, "it is not HTTP/1.1", 0, 0 },
    { "a status of letters", "HTTP/1.1 2xx OK\r\n",
      NGX_ERROR, 0, "its status is invalid", 0, 0 },
    { "a status too small", "HTTP/1.1 099 OK\r\n",
      NGX_ERROR, 0, "its status is invalid", 0, 0 },
    { "101", "HTTP/1.1 101 Switching\r\n\r\n",
      NGX_ERROR, 101, "it changes the protocol", 0, 0 },
    { "no colon", HEAD "nonsense\r\n",
      NGX_ERROR, 200, "a header is invalid", 0, 0 },
    { "no name", HEAD ": value\r\n",
      NGX_ERROR, 200, "a header is invalid", 0, 0 },
    { "a space in a name", HEAD "Content-Length : 5\r\n",
      NGX_ERROR, 200, "a header is invalid", 0, 0 },
    { "a folded line", HEAD "A: b\r\n c: d\r\n",
      NGX_ERROR, 200, "a header is invalid", 0, 0 },
    { "a CR in a header", HEAD "A: b\rc\r\n",
      NGX_ERROR, 200, "a header is invalid", 0, 0 },
    { "two lengths", HEAD "Content-Length: 5\r\nContent-Length: 6\r\n",
      NGX_ERROR, 200, "its length is invalid", 0, 0 },
    { "a list of lengths", HEAD "Content-Length: 5, 5\r\n",
      NGX_ERROR, 200, "its length is invalid", 0, 0 },
    { "a negative length", HEAD "Content-Length: -5\r\n",
      NGX_ERROR, 200, "its length is invalid", 0, 0 },
    { "an empty length", HEAD "Content-Length:\r\n",
      NGX_ERROR, 200, "its length is invalid", 0, 0 },
    { "an endless length", HEAD "Content-Length: 9999999999999999\r\n",
      NGX_ERROR, 200, "its length is invalid", 0, 0 },
    { "another coding", HEAD "Transfer-Encoding: gzip\r\n",
      NGX_ERROR, 200, "its coding is unknown", 0, 0 },
    { "two codings", HEAD "Transfer-Encoding: gzip, chunked\r\n",
      NGX_ERROR, 200, "its coding is unknown", 0, 0 },
    { "chunked twice", HEAD "Transfer-Encoding: chunked\r\n"
      "Transfer-Encoding: chunked\r\n",
      NGX_ERROR, 200, "its coding is unknown", 0, 0 },
    { "a chunk without a size", CHUNKED "\r\nhello",
      NGX_ERROR, 200, "a chunk is invalid", 0, 0 },
    { "a chunk's size of letters", CHUNKED "5x\r\nhello",
      NGX_ERROR, 200, "a chunk is invalid", 0, 0 },
    { "a negative chunk", CHUNKED "-5\r\nhello",
      NGX_ERROR, 200, "a chunk is invalid", 0, 0 },
    { "an endless chunk", CHUNKED "ffffffffffffffff\r\nhello",
      NGX_ERROR, 200, "a chunk is invalid", 0, 0 },
    { "a chunk longer than it says", CHUNKED "4\r\nhello\r\n",
      NGX_ERROR, 200, "a chunk is invalid", 0, 0 },

    { NULL, NULL, 0, 0, NULL, 0, 0 }
};


/* reads it in pieces of that many bytes; returns the bytes it took */

static ngx_int_t
feed(ngx_guildlog_client_reader_t *reader, const char *bytes, size_t len,
    size_t size, size_t *left)
{
    u_char     *copy;
    size_t      n;
    ngx_int_t   rc;

    rc = NGX_AGAIN;

    while (len && rc == NGX_AGAIN) {
        n = ngx_min(size, len);

        /* a copy, so that the sanitizer sees reads beyond it or later */

        copy = malloc(n);
        memcpy(copy, bytes, n);

        rc = ngx_guildlog_client_response_feed(reader, copy, n);

        len -= n - (reader->last - reader->pos);
        bytes += n;
        free(copy);
    }

    *left = len;

    return rc;
}


static void
test_answer(const answer_t *test, size_t size)
{
    char                            name[128];
    size_t                          left;
    ngx_int_t                       rc;
    ngx_str_t                       cause;
    ngx_pool_t                     *pool;
    ngx_guildlog_client_reader_t    reader;
    ngx_guildlog_client_response_t  answer;

    pool = tap_pool();

    (void) ngx_guildlog_client_response_init(&reader, pool, &answer, LIMIT);
    rc = feed(&reader, test->bytes, strlen(test->bytes), size, &left);

    (void) snprintf(name, sizeof(name), "%s, by %u", test->name,
                    (unsigned) size);

    tap_is(rc, test->rc, name);
    tap_is(answer.status, test->status, "  its status");

    if (rc == NGX_ERROR) {
        cause = tap_str(answer.cause);
        tap_is_str(&cause, test->body, "  its cause");

    } else {
        tap_is_str(&answer.body, test->body, "  its body");
        tap_is(reader.keepalive, test->keepalive, "  its connection");
    }

    if (rc == NGX_OK) {
        tap_is(left, test->left, "  what follows");
        tap_is(answer.cut, test->body && strlen(test->body) == LIMIT,
               "  whether it is cut");
    }

    ngx_destroy_pool(pool);
}


static void
test_headers(void)
{
    size_t                          left;
    ngx_pool_t                     *pool;
    ngx_guildlog_client_reader_t    reader;
    ngx_guildlog_client_response_t  answer;
    static const char       bytes[] = HEAD
        "X-RateLimit-Remaining:4\r\n"
        "Empty:   \r\n"
        "Two: a b\tc  \r\n"
        "TWO: second\r\n"
        "Content-Length: 0\r\n\r\n";

    pool = tap_pool();

    (void) ngx_guildlog_client_response_init(&reader, pool, &answer, LIMIT);

    tap_is(feed(&reader, bytes, sizeof(bytes) - 1, 7, &left), NGX_OK,
           "headers");
    tap_is(answer.headers.nelts, 5, "all of them");
    tap_is_str(ngx_guildlog_client_response_header(&answer,
                                                   "x-ratelimit-remaining"),
               "4", "found in lower case");
    tap_is_str(ngx_guildlog_client_response_header(&answer, "empty"), "",
               "without a value");
    tap_is_str(ngx_guildlog_client_response_header(&answer, "two"), "a b\tc",
               "the first of two");
    tap_ok(ngx_guildlog_client_response_header(&answer, "x-ratelimit") == NULL,
           "not by the beginning of a name");

    ngx_destroy_pool(pool);
}


/* feeds the head, then n times the unit */

static ngx_int_t
flood(const char *head, const char *unit, ngx_uint_t n)
{
    size_t                          left;
    ngx_int_t                       rc;
    ngx_pool_t                     *pool;
    ngx_guildlog_client_reader_t    reader;
    ngx_guildlog_client_response_t  answer;

    pool = tap_pool();

    (void) ngx_guildlog_client_response_init(&reader, pool, &answer, LIMIT);

    rc = feed(&reader, head, strlen(head), 8192, &left);

    while (n-- && rc == NGX_AGAIN) {
        rc = feed(&reader, unit, strlen(unit), 8192, &left);
    }

    ngx_destroy_pool(pool);

    return rc;
}


static void
test_floods(void)
{
    tap_is(flood(HEAD "A: ", "aaaaaaaa", 4000), NGX_AGAIN,
           "a header of 32,000 bytes is read");
    tap_is(flood(HEAD "A: ", "aaaaaaaa", 4100), NGX_ERROR,
           "one of 32,800 is refused");
    tap_is(flood(HEAD, "A: b\r\n", 100), NGX_AGAIN, "100 headers are read");
    tap_is(flood(HEAD, "A: b\r\n", 101), NGX_ERROR, "101 are refused");
    tap_is(flood("", "HTTP/1.1 100 Continue\r\n\r\n", 2000), NGX_ERROR,
           "interim answers without an end are refused");
    tap_is(flood(CHUNKED "5;", "aaaaaaaa", 4100), NGX_ERROR,
           "an extension without an end is refused");
    tap_is(flood(CHUNKED "0\r\n", "A: b\r\n", 6000), NGX_ERROR,
           "trailers without an end are refused");
}


int
main(void)
{
    size_t           size;
    const answer_t  *test;

    tap_start();

    for (test = answers; test->name; test++) {
        test_answer(test, 1000);

        for (size = 1; size < 8; size++) {
            test_answer(test, size);
        }
    }

    test_headers();
    test_floods();

    return tap_done();
}
