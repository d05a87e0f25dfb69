
/*
 * Does an entry match a query?  Its stored document decides.
 * t/search/words.sql says once more what a search means.  Pure.
 */

#ifndef _NGX_GUILDLOG_MATCH_H_INCLUDED_
#define _NGX_GUILDLOG_MATCH_H_INCLUDED_


#include "search/ngx_guildlog_fold.h"


#define NGX_GUILDLOG_MATCH_NONE  -1    /* in place of an id */

/* the most bytes that the folded texts of a document of len bytes need */

#define NGX_GUILDLOG_MATCH_SIZE(len)  NGX_GUILDLOG_FOLD_SIZE(len)


typedef enum {
    NGX_GUILDLOG_MATCH_EITHER = 0,
    NGX_GUILDLOG_MATCH_EXECUTOR,
    NGX_GUILDLOG_MATCH_TARGET
} ngx_guildlog_match_side_e;


/* the strings of a document that a search reads */

typedef enum {
    NGX_GUILDLOG_MATCH_EXECUTOR_NAME = 0,
    NGX_GUILDLOG_MATCH_TARGET_NAME,
    NGX_GUILDLOG_MATCH_CHANNEL_NAME,
    NGX_GUILDLOG_MATCH_ROLE,
    NGX_GUILDLOG_MATCH_NAME,
    NGX_GUILDLOG_MATCH_REASON,
    NGX_GUILDLOG_MATCH_PARTS,    /* a search finds any part of those above, and
                                    of what changed */

    NGX_GUILDLOG_MATCH_CONTENT = NGX_GUILDLOG_MATCH_PARTS,
    NGX_GUILDLOG_MATCH_CONTENT_AFTER,
    NGX_GUILDLOG_MATCH_STRINGS
} ngx_guildlog_match_string_e;


/* a document as it was read; the strings point into its text */

typedef struct {
    int64_t                        id;
    int64_t                        executor;   /* or NONE, as the others */
    int64_t                        target;
    int64_t                        channel;
    ngx_uint_t                     type;
    ngx_str_t                      strings[NGX_GUILDLOG_MATCH_STRINGS];
                                               /* as in JSON; NULL: null */
    ngx_str_t                      messages;   /* the array, as in JSON */
    ngx_str_t                      changes;    /* too */

    /* set by match_doc_fold(); a NUL ends each string of parts and texts */

    ngx_str_t                      role;
    ngx_str_t                      parts;      /* the strings before PARTS, and
                                                  those of the changes */
    ngx_str_t                      texts;      /* the others, the messages */
} ngx_guildlog_match_doc_t;


/* a query */

typedef struct {
    int64_t                        after;      /* ms; INT64_MIN: any */
    int64_t                        before;     /* ms; INT64_MAX: any */
    int64_t                        channel;    /* or NONE */
    int64_t                        member;     /* or NONE */
    ngx_guildlog_match_side_e      side;
    ngx_str_t                      role;       /* folded; NULL: any */
    ngx_str_t                      part;       /* folded; NULL: no search */
    ngx_str_t                     *words;      /* of the search, each once */
    ngx_uint_t                     nwords;
    u_char                        *types;      /* by type: '1' if asked for;
                                                  NULL: all */
} ngx_guildlog_match_t;


/* matches every entry */
void ngx_guildlog_match_init(ngx_guildlog_match_t *match);

/*
 * Both copy what they need into the pool.  A search of white space alone is
 * none.  NGX_ERROR: out of memory.
 */
ngx_int_t ngx_guildlog_match_role(ngx_guildlog_match_t *match,
    ngx_pool_t *pool, const ngx_str_t *role);
ngx_int_t ngx_guildlog_match_search(ngx_guildlog_match_t *match,
    ngx_pool_t *pool, const ngx_str_t *search);

/* 0: every entry matches, no document has to be read */
ngx_uint_t ngx_guildlog_match_reads(const ngx_guildlog_match_t *match);

/*
 * Reads a document; its closing brace may be missing.  NGX_ERROR: the text is
 * no document of an entry.
 */
ngx_int_t ngx_guildlog_match_doc_read(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *text);

/*
 * A buffer of the pool, for documents of that length or less, in the place of
 * one that is too small.  NGX_ERROR: out of memory.
 */
ngx_int_t ngx_guildlog_match_doc_buf(ngx_str_t *buf, ngx_pool_t *pool,
    size_t len);

/*
 * Folds the strings of a document into a buffer of MATCH_SIZE() of the
 * document's length.  Returns the end of what was written; NULL: a string is
 * not JSON.
 */
u_char *ngx_guildlog_match_doc_fold(ngx_guildlog_match_doc_t *doc, u_char *buf);

/* 1: the document matches; it was read and folded before */
ngx_uint_t ngx_guildlog_match(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc);


#endif /* _NGX_GUILDLOG_MATCH_H_INCLUDED_ */
