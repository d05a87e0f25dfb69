
/*
 * What every file below HTTP shares.  Files named ngx_guildlog_* never see
 * ngx_http_request_t.
 */

#ifndef _NGX_GUILDLOG_H_INCLUDED_
#define _NGX_GUILDLOG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>


#define NGX_GUILDLOG_VERSION    "0.2.0"
#define NGX_GUILDLOG_SCHEMA     83       /* the last of sql/migrations */

/* of conf/viewer/log-types.tsv: 0 and on */
#define NGX_GUILDLOG_TYPES      102
#define NGX_GUILDLOG_TYPE_CHANNEL 27     /* made */
#define NGX_GUILDLOG_TYPE_ALERT 101      /* alert_type() of the schema */

#define NGX_GUILDLOG_BOT_MAIN   0
#define NGX_GUILDLOG_BOT_PRO    1

/* the kinds of a token, numbered as "permissions" in the API */
#define NGX_GUILDLOG_ADMIN      1
#define NGX_GUILDLOG_BASIC      2
#define NGX_GUILDLOG_READ       3

/* sets of kinds: an Admin token may do what any other one may */
#define NGX_GUILDLOG_FOR_ADMIN  (1 << NGX_GUILDLOG_ADMIN)
#define NGX_GUILDLOG_FOR_BASIC  (NGX_GUILDLOG_FOR_ADMIN                       \
                                 | 1 << NGX_GUILDLOG_BASIC)
#define NGX_GUILDLOG_FOR_READ   (NGX_GUILDLOG_FOR_ADMIN                       \
                                 | 1 << NGX_GUILDLOG_READ)
#define NGX_GUILDLOG_FOR_ANY    (NGX_GUILDLOG_FOR_BASIC                       \
                                 | NGX_GUILDLOG_FOR_READ)

#define ngx_guildlog_is_for(kinds, kind)  ((kinds) >> (kind) & 1)


#define ngx_guildlog_str_eq(a, b)                                             \
    ((a)->len == (b)->len && ngx_memcmp((a)->data, (b)->data, (a)->len) == 0)


/*
 * What must hold: checked in builds for debugging, for fuzzing and under the
 * sanitizers, and nowhere else.
 */

#if (NGX_GUILDLOG_ASSERT)

#define ngx_guildlog_assert(e)                                                \
    do {                                                                      \
        if (!(e)) {                                                           \
            ngx_guildlog_fails(#e, __FILE__, __LINE__);                       \
        }                                                                     \
    } while (0)

static ngx_inline void
ngx_guildlog_fails(const char *what, const char *file, ngx_uint_t line)
{
    ngx_log_stderr(0, "guildlog: %s:%ui: this does not hold: %s", file, line,
                   what);
    ngx_debug_point();
    abort();
}

#else
#define ngx_guildlog_assert(e)  ((void) (0 && (e)))
#endif


#define ngx_guildlog_queue_each(q, h)                                         \
    for (q = ngx_queue_head(h); q != ngx_queue_sentinel(h);                   \
         q = ngx_queue_next(q))


/*
 * An event's data must have a descriptor where ngx_connection_t has it:
 * ngx_event_ident() reads it for the debug log.
 */

#define NGX_GUILDLOG_EVENT_IDENT                                              \
    void                          *padding[3];                                \
    ngx_socket_t                   fd


static ngx_inline void
ngx_guildlog_event_init(ngx_event_t *ev, ngx_event_handler_pt handler,
    void *data, ngx_log_t *log)
{
    ev->handler = handler;
    ev->data = data;
    ev->log = log;
}


/* its handler is not called any more, unless it is set anew */

static ngx_inline void
ngx_guildlog_event_stop(ngx_event_t *ev)
{
    if (ev->timer_set) {
        ngx_del_timer(ev);
    }

    if (ev->posted) {
        ngx_delete_posted_event(ev);
    }
}


/*
 * Calls the handler in the next iteration of the event loop.  The posted event
 * does that, and the timer keeps a worker that is to exit, for it waits for
 * timers only; 0 ms could expire in this iteration.  The handler first stops
 * what is left of the two.
 */

static ngx_inline void
ngx_guildlog_event_next(ngx_event_t *ev)
{
    ngx_add_timer(ev, 1);
    ngx_post_event(ev, &ngx_posted_next_events);
}


/* zeroed memory of so many bytes, in a pool of its own; NULL: there is none */

static ngx_inline void *
ngx_guildlog_pool(ngx_pool_t **pool, size_t size, size_t bytes, ngx_log_t *log)
{
    void  *p;

    *pool = ngx_create_pool(size, log);
    p = *pool ? ngx_pcalloc(*pool, bytes) : NULL;

    if (*pool && p == NULL) {
        ngx_destroy_pool(*pool);
    }

    return p;
}


static ngx_inline void
ngx_guildlog_pool_drop(ngx_pool_t **pool)
{
    if (*pool) {
        ngx_destroy_pool(*pool);
        *pool = NULL;
    }
}


static ngx_inline ngx_str_t
ngx_guildlog_word(const char *word)
{
    ngx_str_t  text;

    text.data = (u_char *) word;
    text.len = ngx_strlen(word);

    return text;
}


/* a number in digits, in a buffer of NGX_INT64_LEN bytes */

static ngx_inline ngx_str_t
ngx_guildlog_digits(u_char *buf, int64_t n)
{
    ngx_str_t  digits;

    digits.data = buf;
    digits.len = ngx_sprintf(buf, "%L", n) - buf;

    return digits;
}


/* bytes of the scheme that a URL begins with; 0: it is not of http or https */

static ngx_inline size_t
ngx_guildlog_scheme(const ngx_str_t *url)
{
    return url->len >= 8
           && ngx_strncasecmp(url->data, (u_char *) "https://", 8) == 0 ? 8
           : url->len >= 7
           && ngx_strncasecmp(url->data, (u_char *) "http://", 7) == 0 ? 7
           : 0;
}


/* never goes back; and the time of the day, since 1970 */
uint64_t ngx_guildlog_clock_us(void);
uint64_t ngx_guildlog_clock_wall_ms(void);


/* what the format says, of which text may be a part, in memory of the pool */
ngx_int_t ngx_guildlog_print(ngx_pool_t *pool, ngx_str_t *text,
    const char *fmt, ...);
ngx_int_t ngx_guildlog_vprint(ngx_pool_t *pool, ngx_str_t *text,
    const char *fmt, va_list args);


/* an ASCII letter, a digit, or one of the others; and nothing but these */

static ngx_inline ngx_uint_t
ngx_guildlog_is_letter(u_char c, const char *others)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9')
           || (c && ngx_strchr(others, c) != NULL);
}

ngx_uint_t ngx_guildlog_is_letters(const ngx_str_t *s, const char *others);


/* UTF-8 by its bytes: what is valid, how long it is, where it may be cut */

/* how many bytes from the start are UTF-8 without a NUL; len: all of them */
size_t ngx_guildlog_utf8_valid(const u_char *p, size_t len);

/* the number of Unicode code points in valid UTF-8 */
size_t ngx_guildlog_utf8_length(const u_char *p, size_t len);

/* how much of it to keep for at most max bytes of whole code points */
size_t ngx_guildlog_utf8_cut(const u_char *p, size_t len, size_t max);

/* writes a code point in 1 to 4 bytes, returns their end */
u_char *ngx_guildlog_utf8_put(u_char *dst, uint32_t c);


#endif /* _NGX_GUILDLOG_H_INCLUDED_ */
