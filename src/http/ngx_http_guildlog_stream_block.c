
/*
 * Blocks of a live tail: bytes that several listeners send.
 */

#include "http/ngx_http_guildlog_stream.h"


ngx_http_guildlog_block_t *
ngx_http_guildlog_stream_block_create(size_t size)
{
    ngx_http_guildlog_block_t  *block;

    block = ngx_alloc(sizeof(ngx_http_guildlog_block_t) + size,
                      ngx_cycle->log);

    if (block) {
        block->refs = 1;
        block->len = 0;
        block->data = (u_char *) (block + 1);
    }

    return block;
}


void
ngx_http_guildlog_stream_block_free(ngx_http_guildlog_block_t *block)
{
    if (--block->refs == 0) {
        ngx_free(block);
    }
}
