
/*
 * Texts as a search compares them.
 */

#include "search/ngx_guildlog_fold.h"
#include "base/ngx_guildlog.h"


/* the only letter of which folding makes two characters: i and a dot above */

#define NGX_GUILDLOG_FOLD_DOTTED_I   0x130
#define NGX_GUILDLOG_FOLD_DOT_ABOVE  0x307


/* of an ASCII character; unsigned: one comparison for each range */

#define ngx_guildlog_fold_is_ascii_word(c)                                    \
    ((uint32_t) ((c) | 0x20) - 'a' < 26 || (uint32_t) (c) - '0' < 10)


static uint32_t fold_next(const u_char **p, const u_char *last);
static u_char *fold_write(u_char *dst, uint32_t c);
static ngx_uint_t fold_in(uint32_t c, const uint32_t *edges, ngx_uint_t n);
static uint32_t fold_before(const u_char *p, const u_char *start);


/* the code point at *p, which lies before last; *p is behind it then */

static uint32_t
fold_next(const u_char **p, const u_char *last)
{
    u_char    c;
    size_t    n, i;
    uint32_t  point;

    static const uint32_t  least[] = { 0, 0x80, 0x800, 0x10000 };

    c = *(*p)++;

    if (c < 0x80) {
        return c;
    }

    n = (c >= 0xf0) ? 3 : (c >= 0xe0) ? 2 : 1;
    point = c & (0x3f >> n);

    if (c < 0xc0 || c >= 0xf8 || (size_t) (last - *p) < n) {
        return NGX_GUILDLOG_FOLD_BYTE + c;
    }

    for (i = 0; i < n; i++) {
        if (((*p)[i] & 0xc0) != 0x80) {
            return NGX_GUILDLOG_FOLD_BYTE + c;
        }

        point = point << 6 | ((*p)[i] & 0x3f);
    }

    if (point < least[n] || point >= NGX_GUILDLOG_FOLD_BYTE) {
        return NGX_GUILDLOG_FOLD_BYTE + c;
    }

    *p += n;

    return point;
}


static u_char *
fold_write(u_char *dst, uint32_t c)
{
    if (c >= NGX_GUILDLOG_FOLD_BYTE) {
        *dst++ = (u_char) c;
        return dst;
    }

    return ngx_guildlog_utf8_put(dst, c);
}


u_char *
ngx_guildlog_fold_put(u_char *dst, uint32_t c)
{
    ngx_uint_t                      low, high, i;
    const ngx_guildlog_fold_run_t  *run;

    if (c == NGX_GUILDLOG_FOLD_DOTTED_I) {
        *dst++ = 'i';
        return fold_write(dst, NGX_GUILDLOG_FOLD_DOT_ABOVE);
    }

    if (c < 0x80) {
        *dst++ = ngx_tolower(c);
        return dst;
    }

    /* the last run that begins at c or before */

    low = 0;
    high = ngx_guildlog_fold_nruns;

    while (high - low > 1) {
        i = (low + high) / 2;

        if (ngx_guildlog_fold_runs[i].first <= c) {
            low = i;

        } else {
            high = i;
        }
    }

    run = &ngx_guildlog_fold_runs[low];
    i = c - run->first;

    if (i % run->step == 0 && i / run->step < run->n) {
        c += run->delta;
    }

    return fold_write(dst, c);
}


u_char *
ngx_guildlog_fold(u_char *dst, const u_char *p, size_t len)
{
    const u_char  *last;

    last = p + len;

    while (p < last) {
        if (*p < 0x80) {
            *dst++ = ngx_tolower(*p);
            p++;
            continue;
        }

        dst = ngx_guildlog_fold_put(dst, fold_next(&p, last));
    }

    ngx_guildlog_assert(p == last);

    return dst;
}


/* edges: where what is asked for begins and where it ends, in turns */

static ngx_uint_t
fold_in(uint32_t c, const uint32_t *edges, ngx_uint_t n)
{
    ngx_uint_t  low, high, i;

    low = 0;
    high = n;

    /* how many edges lie at c or before: behind an odd one it is inside */

    while (low < high) {
        i = (low + high) / 2;

        if (edges[i] <= c) {
            low = i + 1;

        } else {
            high = i;
        }
    }

    return low & 1;
}


ngx_uint_t
ngx_guildlog_fold_is_word(uint32_t c)
{
    if (c < 0x80) {
        return ngx_guildlog_fold_is_ascii_word(c);
    }

    return fold_in(c, ngx_guildlog_fold_words, ngx_guildlog_fold_nwords);
}


ngx_int_t
ngx_guildlog_fold_word(ngx_str_t *text, ngx_str_t *word)
{
    ngx_uint_t     is;
    const u_char  *p, *next, *last;

    p = text->data;
    last = p + text->len;
    word->len = 0;

    while (p < last) {
        next = p;

        if (*p < 0x80) {
            is = ngx_guildlog_fold_is_ascii_word(*p);
            next++;

        } else {
            is = ngx_guildlog_fold_is_word(fold_next(&next, last));
        }

        if (is) {
            if (word->len == 0) {
                word->data = (u_char *) p;
            }

            word->len = next - word->data;

        } else if (word->len) {
            break;
        }

        p = next;
    }

    text->data = (u_char *) p;
    text->len = last - p;

    return word->len ? NGX_OK : NGX_DONE;
}


ngx_uint_t
ngx_guildlog_fold_has_word(const ngx_str_t *text, const ngx_str_t *word)
{
    const u_char  *p, *end, *last;

    p = text->data;
    last = p + text->len;

    while (p < last) {
        p = memmem(p, last - p, word->data, word->len);
        if (p == NULL) {
            break;
        }

        end = p + word->len;

        if ((p == text->data
             || !ngx_guildlog_fold_is_word(fold_before(p, text->data)))
            && (end == last
                || !ngx_guildlog_fold_is_word(fold_next(&end, last))))
        {
            return 1;
        }

        p++;
    }

    return 0;
}


/* the code point that ends at p, which lies behind start */

static uint32_t
fold_before(const u_char *p, const u_char *start)
{
    const u_char  *q;

    q = p - 1;

    while (q > start && p - q < 4 && (*q & 0xc0) == 0x80) {
        q--;
    }

    return fold_next(&q, p);
}


void
ngx_guildlog_fold_trim(ngx_str_t *text)
{
    const u_char  *p, *next, *last, *start, *end;

    p = text->data;
    last = p + text->len;
    start = last;
    end = last;

    while (p < last) {
        next = p;

        if (!fold_in(fold_next(&next, last), ngx_guildlog_fold_spaces,
                     ngx_guildlog_fold_nspaces))
        {
            start = ngx_min(start, p);
            end = next;
        }

        p = next;
    }

    text->data = (u_char *) start;
    text->len = end - start;
}
