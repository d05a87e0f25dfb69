
/*
 * Links ngx_guildlog_fold.c, ngx_guildlog_fold_table.c, ngx_guildlog_json.c,
 * ngx_guildlog_match.c and ngx_guildlog_utf8.c.
 *
 * For any document: nothing beyond its end is read, folded text fits its
 * buffer, and what is found is there.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog.h"
#include "search/ngx_guildlog_match.h"
#include "fuzz.h"


static void
folds(ngx_pool_t *pool, ngx_str_t *s)
{
    size_t      len;
    u_char     *once, *twice;
    ngx_str_t   text, word;

    once = malloc(NGX_GUILDLOG_FOLD_SIZE(s->len));
    len = ngx_guildlog_fold(once, s->data, s->len) - once;
    fuzz_expect(len <= NGX_GUILDLOG_FOLD_SIZE(s->len));

    twice = malloc(NGX_GUILDLOG_FOLD_SIZE(len));
    text.data = once;
    text.len = len;

    if (ngx_guildlog_utf8_valid(s->data, s->len) == s->len) {
        fuzz_expect(ngx_guildlog_utf8_valid(once, len) == len);
        fuzz_expect(ngx_guildlog_fold(twice, once, len) == twice + len);
        fuzz_expect(ngx_memcmp(once, twice, len) == 0);
    }

    while (ngx_guildlog_fold_word(&text, &word) == NGX_OK) {
        fuzz_expect(word.len > 0);
        fuzz_expect(word.data >= once && word.data + word.len <= once + len);
        fuzz_expect(text.data >= word.data + word.len);
    }

    free(once);
    free(twice);
}


static void
fuzz(ngx_pool_t *pool, u_char *p, size_t len)
{
    u_char                    *buf, *end;
    ngx_str_t                  search, role, text;
    ngx_uint_t                 found;
    ngx_guildlog_match_t       match, none;
    ngx_guildlog_match_doc_t   doc;

    search = fuzz_line(&p, &len);
    role = fuzz_line(&p, &len);

    folds(pool, &search);

    ngx_guildlog_match_init(&none);
    ngx_guildlog_match_init(&match);

    fuzz_expect(ngx_guildlog_match_search(&match, pool, &search) == NGX_OK);
    fuzz_expect(ngx_guildlog_match_reads(&match) == (match.part.len > 0));

    if (role.len) {
        fuzz_expect(ngx_guildlog_match_role(&match, pool, &role) == NGX_OK);
    }

    /* of exactly that size, so that the sanitizer sees a byte beyond it */

    text.len = len;
    text.data = malloc(len + (len == 0));
    ngx_memcpy(text.data, p, len);
    buf = malloc(NGX_GUILDLOG_MATCH_SIZE(len));

    if (ngx_guildlog_match_doc_read(&doc, &text) == NGX_OK) {
        fuzz_expect(doc.type < NGX_GUILDLOG_TYPES);
        end = ngx_guildlog_match_doc_fold(&doc, buf);

        if (end) {
            fuzz_expect(ngx_guildlog_match(&none, &doc));
            fuzz_expect(end <= buf + NGX_GUILDLOG_MATCH_SIZE(len));
            fuzz_expect(doc.parts.len + doc.texts.len == (size_t) (end - buf));

            found = ngx_guildlog_match(&match, &doc);
            fuzz_expect(!found || match.part.len == 0 || doc.parts.len
                        || match.nwords);
            fuzz_expect(!found || role.len == 0 || doc.role.data);
        }
    }

    free(text.data);
    free(buf);
}
