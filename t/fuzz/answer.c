
/*
 * Links ngx_guildlog_client_response.c.
 *
 * An answer of another server is read the same in whatever pieces it comes.
 */

#include "client/ngx_guildlog_client_response.h"
#include "fuzz.h"


#define LIMIT  64


static ngx_int_t
feed(ngx_pool_t *pool, ngx_guildlog_client_response_t *answer,
    ngx_guildlog_client_reader_t *reader, u_char *p, size_t len, size_t piece,
    size_t *used)
{
    u_char     *copy;
    size_t      n, done;
    ngx_int_t   rc;

    ngx_memzero(answer, sizeof(ngx_guildlog_client_response_t));

    fuzz_expect(ngx_guildlog_client_response_init(reader, pool, answer, LIMIT)
                == NGX_OK);

    rc = NGX_AGAIN;

    for (done = 0; done < len && rc == NGX_AGAIN; done += n) {
        n = ngx_min(piece, len - done);

        /* a new place for each piece: the reader must not keep pointers */

        copy = malloc(n);
        fuzz_expect(copy != NULL);
        ngx_memcpy(copy, p + done, n);

        rc = ngx_guildlog_client_response_feed(reader, copy, n);

        if (rc == NGX_OK) {
            fuzz_expect(reader->pos >= copy && reader->pos <= copy + n);
            *used = done + (reader->pos - copy);
        }

        free(copy);
    }

    return rc;
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    size_t                          piece, used[2];
    ngx_int_t                       rc;
    ngx_guildlog_client_reader_t    reader[2];
    ngx_guildlog_client_response_t  whole, pieces;

    piece = fuzz_pick(&p, &len, 32) + 1;

    rc = feed(pool, &whole, &reader[0], p, len, len + 1, &used[0]);

    fuzz_expect(feed(pool, &pieces, &reader[1], p, len, piece, &used[1])
                == rc);

    fuzz_expect(whole.status == pieces.status);

    if (rc == NGX_ERROR) {
        fuzz_expect(whole.cause && whole.cause == pieces.cause);
        return;
    }

    fuzz_expect(whole.body.len <= LIMIT);
    fuzz_expect(whole.body.len == pieces.body.len);
    fuzz_expect(whole.body.len == 0
                || ngx_memcmp(whole.body.data, pieces.body.data,
                              whole.body.len)
                   == 0);

    if (rc == NGX_OK) {
        fuzz_expect(used[0] == used[1]);
        fuzz_expect(reader[0].keepalive == reader[1].keepalive);
        fuzz_expect(whole.status >= 200 && whole.status <= 999);
        fuzz_expect(whole.headers.nelts == pieces.headers.nelts);
        fuzz_expect(whole.cut == pieces.cut);
    }
}
