
/*
 * Does an entry match a query?
 */

#include "search/ngx_guildlog_match.h"


#define NGX_GUILDLOG_MATCH_EPOCH  1420070400000    /* ms, of the ids */


static ngx_uint_t ngx_guildlog_match_has_member(
    const ngx_guildlog_match_t *match, const ngx_guildlog_match_doc_t *doc);
static ngx_uint_t ngx_guildlog_match_found(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc);


void
ngx_guildlog_match_init(ngx_guildlog_match_t *match)
{
    ngx_memzero(match, sizeof(ngx_guildlog_match_t));

    match->after = INT64_MIN;
    match->before = INT64_MAX;
    match->channel = NGX_GUILDLOG_MATCH_NONE;
    match->member = NGX_GUILDLOG_MATCH_NONE;
}


ngx_int_t
ngx_guildlog_match_role(ngx_guildlog_match_t *match, ngx_pool_t *pool,
    const ngx_str_t *role)
{
    match->role.data = ngx_pnalloc(pool, NGX_GUILDLOG_FOLD_SIZE(role->len));
    if (match->role.data == NULL) {
        return NGX_ERROR;
    }

    match->role.len = ngx_guildlog_fold(match->role.data, role->data,
                                        role->len)
                      - match->role.data;

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_match_search(ngx_guildlog_match_t *match, ngx_pool_t *pool,
    const ngx_str_t *search)
{
    u_char      *p;
    ngx_str_t    text, word, *words;
    ngx_uint_t   i;

    text = *search;
    ngx_guildlog_fold_trim(&text);

    if (text.len == 0) {
        return NGX_OK;
    }

    /* two words have at least one byte between them */

    p = ngx_pnalloc(pool, NGX_GUILDLOG_FOLD_SIZE(text.len));
    words = ngx_palloc(pool, (text.len / 2 + 1) * sizeof(ngx_str_t));

    if (p == NULL || words == NULL) {
        return NGX_ERROR;
    }

    match->part.data = p;
    match->part.len = ngx_guildlog_fold(p, text.data, text.len) - p;
    match->words = words;
    match->nwords = 0;

    text = match->part;

    while (ngx_guildlog_fold_word(&text, &word) == NGX_OK) {
        for (i = 0; i < match->nwords; i++) {
            if (words[i].len == word.len
                && ngx_memcmp(words[i].data, word.data, word.len) == 0)
            {
                break;
            }
        }

        if (i == match->nwords) {
            words[match->nwords++] = word;
        }
    }

    return NGX_OK;
}


ngx_uint_t
ngx_guildlog_match_reads(const ngx_guildlog_match_t *match)
{
    return match->types || match->after > INT64_MIN
           || match->before < INT64_MAX || match->channel >= 0
           || match->member >= 0 || match->role.data || match->part.data;
}


ngx_uint_t
ngx_guildlog_match(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc)
{
    int64_t  at;

    at = (doc->id >> 22) + NGX_GUILDLOG_MATCH_EPOCH;

    if (at <= match->after || at >= match->before
        || (match->types && match->types[doc->type] != '1')
        || (match->channel >= 0 && doc->channel != match->channel))
    {
        return 0;
    }

    return ngx_guildlog_match_has_member(match, doc)
           && (match->role.data == NULL
               || (doc->role.data
                   && memmem(doc->role.data, doc->role.len, match->role.data,
                             match->role.len)))
           && (match->part.data == NULL
               || ngx_guildlog_match_found(match, doc));
}


static ngx_uint_t
ngx_guildlog_match_has_member(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc)
{
    return match->member < 0
           || (match->side != NGX_GUILDLOG_MATCH_TARGET
               && doc->executor == match->member)
           || (match->side != NGX_GUILDLOG_MATCH_EXECUTOR
               && doc->target == match->member);
}


/* the search is a part of one string, or each of its words is in a text */

static ngx_uint_t
ngx_guildlog_match_found(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc)
{
    ngx_uint_t  i;

    if (doc->parts.len
        && memmem(doc->parts.data, doc->parts.len, match->part.data,
                  match->part.len))
    {
        return 1;
    }

    for (i = 0; i < match->nwords; i++) {
        if (!ngx_guildlog_fold_has_word(&doc->texts, &match->words[i])) {
            return 0;
        }
    }

    return match->nwords > 0;
}
