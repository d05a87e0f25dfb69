
/*
 * Is an entry one that a query asks for?  Judged by its stored document, as
 * the database does by entry_fits() and entry_has_member().  Pure.
 */

#ifndef _NGX_GUILDLOG_MATCH_H_INCLUDED_
#define _NGX_GUILDLOG_MATCH_H_INCLUDED_


#include "search/ngx_guildlog_fold.h"


#define NGX_GUILDLOG_MATCH_TYPES  102
#define NGX_GUILDLOG_MATCH_NONE   -1    /* in place of an id */

/* the folded texts of a document of that many bytes, at most */

#define NGX_GUILDLOG_MATCH_SIZE(len)  NGX_GUILDLOG_FOLD_SIZE(len)


typedef enum {
    NGX_GUILDLOG_MATCH_EITHER = 0,
    NGX_GUILDLOG_MATCH_EXECUTOR,
    NGX_GUILDLOG_MATCH_TARGET
} ngx_guildlog_match_side_e;


/* the strings of a document that a search looks at */

typedef enum {
    NGX_GUILDLOG_MATCH_EXECUTOR_NAME = 0,
    NGX_GUILDLOG_MATCH_TARGET_NAME,
    NGX_GUILDLOG_MATCH_CHANNEL_NAME,
    NGX_GUILDLOG_MATCH_ROLE,
    NGX_GUILDLOG_MATCH_NAME,
    NGX_GUILDLOG_MATCH_REASON,
    NGX_GUILDLOG_MATCH_PARTS,    /* how many of them have parts of it */

    NGX_GUILDLOG_MATCH_CONTENT = NGX_GUILDLOG_MATCH_PARTS,
    NGX_GUILDLOG_MATCH_CONTENT_AFTER,
    NGX_GUILDLOG_MATCH_STRINGS
} ngx_guildlog_match_string_e;


/* what is read of a document, most of which goes on lying there */

typedef struct {
    int64_t                        id;
    int64_t                        executor;   /* or NONE, as the others */
    int64_t                        target;
    int64_t                        channel;
    ngx_uint_t                     type;
    ngx_str_t                      strings[NGX_GUILDLOG_MATCH_STRINGS];
                                               /* as in JSON; NULL: null */
    ngx_str_t                      messages;   /* the array */

    /* by fold(): the role; those with parts, then the texts with words, each
       with a NUL behind */

    ngx_str_t                      role;
    ngx_str_t                      parts;
    ngx_str_t                      texts;
} ngx_guildlog_match_doc_t;


/* a query; all zero but for the ids it asks for everything */

typedef struct {
    int64_t                        after;      /* ms; or the least there is */
    int64_t                        before;     /* ms; or the greatest */
    int64_t                        channel;    /* or NONE */
    int64_t                        member;
    ngx_guildlog_match_side_e      side;
    ngx_str_t                      role;       /* folded; NULL: any */
    ngx_str_t                      part;       /* folded; NULL: no search */
    ngx_str_t                     *words;      /* of it, each once */
    ngx_uint_t                     nwords;
    u_char                        *types;      /* by type: '1' if asked for;
                                                  NULL: all */
} ngx_guildlog_match_t;


/* everything, of which no more is asked */
void ngx_guildlog_match_init(ngx_guildlog_match_t *match);

/* both keep what they need in the pool; NGX_ERROR: no memory */
ngx_int_t ngx_guildlog_match_role(ngx_guildlog_match_t *match,
    ngx_pool_t *pool, const ngx_str_t *role);
ngx_int_t ngx_guildlog_match_search(ngx_guildlog_match_t *match,
    ngx_pool_t *pool, const ngx_str_t *search);

/* does it ask for anything that has to be looked for in documents? */
ngx_uint_t ngx_guildlog_match_reads(const ngx_guildlog_match_t *match);

/*
 * Reads a document; its closing brace may be missing.  NGX_ERROR: that is no
 * document of an entry.
 */
ngx_int_t ngx_guildlog_match_read(ngx_guildlog_match_doc_t *doc,
    const ngx_str_t *text);

/*
 * Folds the texts of a document into a buffer, of which MATCH_SIZE() of the
 * document's length is enough.  Returns the end of what was written; NULL: the
 * document is none.
 */
u_char *ngx_guildlog_match_fold(ngx_guildlog_match_doc_t *doc, u_char *buf);

/* of a document that was read and folded */
ngx_uint_t ngx_guildlog_match(const ngx_guildlog_match_t *match,
    const ngx_guildlog_match_doc_t *doc);


#endif /* _NGX_GUILDLOG_MATCH_H_INCLUDED_ */
