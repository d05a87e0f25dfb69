
/*
 * What tests of segments share: made-up entries with texts of all kinds,
 * queries that find some of them, and a store that answers find.
 */

#ifndef _ENTRIES_H_INCLUDED_
#define _ENTRIES_H_INCLUDED_


#include "search/ngx_guildlog_build.h"
#include "search/ngx_guildlog_find.h"


#define ENTRIES_DAY   17000     /* the first of them */
#define ENTRIES_DAYS  5


typedef struct {
    int64_t                    id;
    ngx_str_t                  text;
    ngx_guildlog_match_doc_t   doc;    /* read and folded */
    ngx_uint_t                 stored; /* in a segment */
} entry_t;


static const char  *entries_words[] = {
    "alpha", "Beta", "GAMMA", "b1", "a", "7",
    "\xce\x9f\xce\x94\xce\x9f\xce\xa3",
    "\xce\xbf\xce\xb4\xce\xbf\xcf\x82", "\xcf\x83", "\xc4\xb0stanbul",
    "i\xcc\x87stanbul", "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
    "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
    "\xd0\xbc\xd0\xb8\xd1\x80", "na\xc3\xafve", "NA\xc3\x8fVE", "e\xcc\x81t",
    "don't", "_under_", "x-y", "%", "\xf0\x9f\x98\x80", "\\\"quoted\\\"",
    "\\\\", "\\u00cbve", "\\ud83d\\ude00",
    "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "line\\nfeed", "\xcc\x81",
    "ALPHAbeta", "alphabet", "\xc2\xa0", "stra\xc3\x9f""e"
};

#define ENTRIES_WORDS  (sizeof(entries_words) / sizeof(entries_words[0]))


static uint64_t  entries_seed = 1;


static inline uint64_t
entries_random(uint64_t n)
{
    entries_seed ^= entries_seed << 13;
    entries_seed ^= entries_seed >> 7;
    entries_seed ^= entries_seed << 17;

    return (entries_seed >> 11) % n;
}


static u_char *
entries_text(u_char *p, ngx_uint_t words)
{
    const char  *word;

    while (words--) {
        word = entries_words[entries_random(4) ? entries_random(6)
                                               : entries_random(ENTRIES_WORDS)];
        p = ngx_cpymem(p, word, strlen(word));

        if (words) {
            *p++ = " -_\t"[entries_random(8) ? 0 : entries_random(3)];
        }
    }

    return p;
}


static u_char *
entries_field(u_char *p, const char *name, ngx_uint_t words)
{
    p = ngx_sprintf(p, ",\"%s\":", name);

    if (entries_random(3) == 0) {
        return ngx_cpymem(p, "null", 4);
    }

    *p++ = '"';
    p = entries_text(p, entries_random(words + 1));
    *p++ = '"';

    return p;
}


static u_char *
entries_named(u_char *p, const char *name, ngx_uint_t n)
{
    if (entries_random(5) == 0) {
        return entries_random(2) ? p : ngx_sprintf(p, ",\"%s\":null", name);
    }

    p = ngx_sprintf(p, ",\"%s\":{\"id\":\"%uL\"", name, entries_random(n));
    p = entries_field(p, "name", 2);
    *p++ = '}';

    return p;
}


/* an id of one of the days; its first, its last, or any */

static int64_t
entries_id(ngx_uint_t day)
{
    int64_t  first;

    first = (ENTRIES_DAY + day) * NGX_GUILDLOG_SEGMENT_DAY;

    switch (entries_random(16)) {

    case 0:
        return first;

    case 1:
        return first + NGX_GUILDLOG_SEGMENT_DAY - 1;

    default:
        return first + entries_random(NGX_GUILDLOG_SEGMENT_DAY);
    }
}


static inline ngx_uint_t
entries_type(void)
{
    static const ngx_uint_t  types[] = { 0, 1, 5, 30, 100, 101 };

    return entries_random(4) ? types[entries_random(6)] : entries_random(102);
}


/* so many words in the content at most; or long, as the reason, too */

static void
entries_make(ngx_pool_t *pool, entry_t *entry, int64_t id, ngx_uint_t words,
    const ngx_str_t *text)
{
    u_char      *p, *buf;
    ngx_uint_t   n;

    buf = ngx_pnalloc(pool, 4096 + 60 * words + 2 * text->len);
    p = ngx_sprintf(buf, "{\"id\":\"%L\",\"type\":%ui,\"timestamp\":%L", id,
                    entries_type(), id >> 22);

    p = entries_named(p, "executor", 6);
    p = entries_named(p, "target", 6);
    p = entries_named(p, "channel", 4);
    p = entries_field(p, "role", 2);
    p = entries_field(p, "name", 2);

    p = ngx_sprintf(p, ",\"count\":3");

    if (text->len) {
        p = ngx_sprintf(p, ",\"reason\":\"%V\",\"content\":\"%V\"", text,
                        text);

    } else {
        p = entries_field(p, "reason", 3);
        p = entries_field(p, "content", words);
    }

    p = entries_field(p, "contentAfter", 3);

    if (entries_random(8) == 0) {
        p = ngx_sprintf(p, ",\"messages\":[");

        for (n = entries_random(4); n; n--) {
            p = ngx_sprintf(p, "{\"id\":\"1\"");
            p = entries_field(p, "content", 3);
            p = ngx_sprintf(p, n > 1 ? "}," : "}");
        }

        *p++ = ']';
    }

    ngx_memzero(entry, sizeof(entry_t));
    entry->id = id;
    entry->text.data = buf;
    entry->text.len = p - buf;

    buf = ngx_pnalloc(pool, NGX_GUILDLOG_MATCH_SIZE(entry->text.len));

    if (ngx_guildlog_match_doc_read(&entry->doc, &entry->text) != NGX_OK
        || ngx_guildlog_match_doc_fold(&entry->doc, buf) == NULL)
    {
        abort();
    }
}


/* a word, some words, a part of a text, one code point, no word */

static ngx_str_t
entries_search(u_char *buf)
{
    size_t      from, to;
    u_char     *p;
    ngx_str_t   search;

    p = entries_text(buf, 1 + entries_random(entries_random(3) ? 1 : 3));
    search.data = buf;
    search.len = p - buf;

    switch (entries_random(4)) {

    case 0:
        for (p = buf; p < buf + search.len; p++) {
            *p = ngx_toupper(*p);
        }

        break;

    case 1:
        from = entries_random(search.len);
        to = from + 1 + entries_random(search.len - from);

        while (from > 0 && (buf[from] & 0xc0) == 0x80) {
            from--;
        }

        while (to < search.len && (buf[to] & 0xc0) == 0x80) {
            to++;
        }

        search.data += from;
        search.len = to - from;
        break;
    }

    return search;
}


/* any query; types: space for what it asks for */

static void
entries_query(ngx_pool_t *pool, ngx_guildlog_match_t *match, u_char *types)
{
    u_char      buf[256];
    ngx_str_t   text;
    ngx_uint_t  i;

    ngx_guildlog_match_init(match);

    if (entries_random(5)) {
        do {
            text = entries_search(buf);
            (void) ngx_guildlog_match_search(match, pool, &text);
        } while (match->part.len == 0);
    }

    if (entries_random(5) == 0) {
        text.data = buf;
        text.len = entries_text(buf, entries_random(2)) - buf;
        (void) ngx_guildlog_match_role(match, pool, &text);
    }

    if (entries_random(5) == 0) {
        match->channel = entries_random(5);
    }

    if (entries_random(4) == 0) {
        match->member = entries_random(7);
        match->side = entries_random(3);
    }

    if (entries_random(3) == 0) {
        match->types = types;

        for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
            types[i] = entries_random(2) ? '1' : '0';
        }
    }
}


/* a place of the window: any, an end of a day, outside of all days */

static int64_t
entries_end(void)
{
    switch (entries_random(4)) {

    case 0:
        return 0;

    case 1:
        return (ENTRIES_DAY + ENTRIES_DAYS) * NGX_GUILDLOG_SEGMENT_DAY;

    default:
        return entries_id(entries_random(ENTRIES_DAYS));
    }
}


/* brings what is wanted until the answer is there */

static ngx_int_t
entries_find(ngx_guildlog_find_t *find,
    const ngx_guildlog_segment_t *segments, ngx_uint_t n)
{
    u_char                        *copy;
    ngx_int_t                      rc;
    ngx_str_t                      bytes;
    ngx_uint_t                     i;
    ngx_guildlog_slice_t          *slice;
    const ngx_guildlog_segment_t  *segment;

    for ( ;; ) {
        rc = ngx_guildlog_find_wants(find);

        if (rc == NGX_BUSY) {
            continue;
        }

        if (rc != NGX_AGAIN) {
            return rc;
        }

        if (find->slices.nelts == 0) {
            abort();
        }

        /* from the last one on */

        for (i = find->slices.nelts; i-- > 0; /* void */ ) {
            slice = (ngx_guildlog_slice_t *) find->slices.elts + i;
            segment = &segments[slice->key];

            if (slice->key < 0 || slice->key >= (int64_t) n
                || slice->day != segment->day)
            {
                abort();
            }

            /* a body may be shorter than its directory says */

            if (slice->from > segment->body.len
                || slice->len > segment->body.len - slice->from)
            {
                return NGX_ERROR;
            }

            /* of exactly that size, for the sanitizers */

            copy = malloc(slice->len + (slice->len == 0));
            ngx_memcpy(copy, segment->body.data + slice->from, slice->len);
            bytes.data = copy;
            bytes.len = slice->len;
            rc = ngx_guildlog_find_slice(find, i, &bytes);
            free(copy);

            if (rc != NGX_OK) {
                return rc;
            }
        }
    }
}


#endif /* _ENTRIES_H_INCLUDED_ */
