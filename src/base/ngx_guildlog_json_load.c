
/*
 * JSON in: who reads a text, and the memory that it is read into.
 */

#include "base/ngx_guildlog_json.h"
#include <setjmp.h>


#define NGX_GUILDLOG_JSON_ROOM  4096    /* pointers */


/* behind each block of jansson's memory that was got since watch() */

typedef struct {
    ngx_queue_t                    queue;    /* of one text */
    void                          *start;
} ngx_guildlog_json_block_t;


/* where trees are made that go at once: begun anew when all have gone */

typedef struct {
    void                          *room[NGX_GUILDLOG_JSON_ROOM];
    ngx_uint_t                     used;
    ngx_uint_t                     blocks;
    ngx_uint_t                     open;
} ngx_guildlog_json_arena_t;


static json_t *ngx_guildlog_json_jansson(const u_char *p, size_t len,
    size_t flags, json_error_t *cause);
static void *ngx_guildlog_json_alloc(size_t size);
static void *ngx_guildlog_json_alloc_brief(size_t size);
static void ngx_guildlog_json_free(void *p);
static ngx_guildlog_json_block_t *ngx_guildlog_json_block(void *p);


static ngx_uint_t   ngx_guildlog_json_failures;

/* while a text is loaded */
static ngx_uint_t   ngx_guildlog_json_loading;
static ngx_queue_t  ngx_guildlog_json_blocks;
static jmp_buf      ngx_guildlog_json_escape;

static ngx_guildlog_json_arena_t  ngx_guildlog_json_arena;


json_t *
ngx_guildlog_json_load(const u_char *p, size_t len, size_t flags,
    json_error_t *cause)
{
    json_t  *json;

    json = ngx_guildlog_json_read(p, len);

    return json ? json : ngx_guildlog_json_jansson(p, len, flags, cause);
}


json_t *
ngx_guildlog_json_glance(const u_char *p, size_t len)
{
    json_t  *json;

    ngx_guildlog_json_arena.open = 1;
    json = ngx_guildlog_json_read(p, len);
    ngx_guildlog_json_arena.open = 0;

    return json;
}


static json_t *
ngx_guildlog_json_jansson(const u_char *p, size_t len, size_t flags,
    json_error_t *cause)
{
    json_t                     *json;
    ngx_queue_t                *q;
    ngx_guildlog_json_block_t  *block;

    ngx_queue_init(&ngx_guildlog_json_blocks);
    ngx_guildlog_json_loading = 1;

    if (setjmp(ngx_guildlog_json_escape) == 0) {
        json = json_loadb((char *) p, len, flags, cause);

        ngx_guildlog_json_loading = 0;
        ngx_queue_remove(&ngx_guildlog_json_blocks);

        return json;
    }

    ngx_guildlog_json_loading = 0;

    while (!ngx_queue_empty(&ngx_guildlog_json_blocks)) {
        q = ngx_queue_head(&ngx_guildlog_json_blocks);
        ngx_queue_remove(q);

        block = ngx_queue_data(q, ngx_guildlog_json_block_t, queue);
        free(block->start);
    }

    cause->text[0] = '\0';

    return NULL;
}


ngx_uint_t
ngx_guildlog_json_starved(void)
{
    return ngx_guildlog_json_failures;
}


void
ngx_guildlog_json_watch(void)
{
    json_set_alloc_funcs(ngx_guildlog_json_alloc, ngx_guildlog_json_free);
}


/*
 * Without memory jansson goes on with a string that lacks a character, and
 * aborts if that made nonsense of an escape: it is left at once, and what it
 * had is freed.  What others have it make may be freed by free().
 */

static void *
ngx_guildlog_json_alloc(size_t size)
{
    void                       *p;
    ngx_guildlog_json_block_t  *block;

    p = ngx_guildlog_json_alloc_brief(size);
    if (p) {
        return p;
    }

    p = malloc(ngx_align(size, sizeof(void *))
               + sizeof(ngx_guildlog_json_block_t));

    if (p == NULL) {
        ngx_guildlog_json_failures++;

        if (ngx_guildlog_json_loading) {
            longjmp(ngx_guildlog_json_escape, 1);
        }

        return NULL;
    }

    block = ngx_guildlog_json_block(p);
    block->start = p;

    if (ngx_guildlog_json_loading) {
        ngx_queue_insert_tail(&ngx_guildlog_json_blocks, &block->queue);

    } else {
        ngx_queue_init(&block->queue);
    }

    return p;
}


/* NULL: it is not for a tree that goes at once, or there is no room */

static void *
ngx_guildlog_json_alloc_brief(size_t size)
{
    void                       *p;
    ngx_uint_t                  n;
    ngx_guildlog_json_arena_t  *arena;

    arena = &ngx_guildlog_json_arena;
    n = (size + sizeof(void *) - 1) / sizeof(void *);

    if (!arena->open || n > NGX_GUILDLOG_JSON_ROOM - arena->used) {
        return NULL;
    }

    p = &arena->room[arena->used];

    arena->used += n;
    arena->blocks++;

    return p;
}


static void
ngx_guildlog_json_free(void *p)
{
    ngx_guildlog_json_arena_t  *arena;
    ngx_guildlog_json_block_t  *block;

    arena = &ngx_guildlog_json_arena;

    if ((void **) p >= arena->room
        && (void **) p < arena->room + NGX_GUILDLOG_JSON_ROOM)
    {
        if (--arena->blocks == 0) {
            arena->used = 0;
        }

        return;
    }

    /* another module may have had it made before watch(): nothing is behind */

    if (malloc_usable_size(p) >= sizeof(ngx_guildlog_json_block_t)) {
        block = ngx_guildlog_json_block(p);

        if (block->start == p) {
            ngx_queue_remove(&block->queue);
        }
    }

    free(p);
}


static ngx_guildlog_json_block_t *
ngx_guildlog_json_block(void *p)
{
    size_t  at;

    at = malloc_usable_size(p) - sizeof(ngx_guildlog_json_block_t);

    return (void *) ((u_char *) p + at / sizeof(void *) * sizeof(void *));
}
