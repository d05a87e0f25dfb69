
/*
 * Texts as a search compares them: folded, which makes letter case and the
 * final form of sigma not count, and cut into words.  Pure.  The same as
 * PostgreSQL has them by t/search/words.sql, for every code point of the
 * Unicode that the table is of.
 */

#ifndef _NGX_GUILDLOG_FOLD_H_INCLUDED_
#define _NGX_GUILDLOG_FOLD_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* so long may that many bytes be once they are folded */

#define NGX_GUILDLOG_FOLD_SIZE(len)  ((len) + (len) / 2 + 1)

/* from here on it is no code point, but a byte that is not UTF-8 */

#define NGX_GUILDLOG_FOLD_BYTE  0x110000


typedef struct {
    uint32_t                       first;
    uint16_t                       n;
    uint16_t                       step;   /* from each to the next */
    int32_t                        delta;  /* from each to its lower case */
} ngx_guildlog_fold_run_t;


/* writes it folded, 4 bytes at most; returns the end of it */
u_char *ngx_guildlog_fold_put(u_char *dst, uint32_t c);

/* writes all of a text folded, FOLD_SIZE(len) at most; returns the end of it */
u_char *ngx_guildlog_fold(u_char *dst, const u_char *p, size_t len);

ngx_uint_t ngx_guildlog_fold_is_word(uint32_t c);

/* takes the next word off a folded text; NGX_DONE: there is none */
ngx_int_t ngx_guildlog_fold_word(ngx_str_t *text, ngx_str_t *word);

/* is the word in that text, a whole one?  Both are folded */
ngx_uint_t ngx_guildlog_fold_has_word(const ngx_str_t *text,
    const ngx_str_t *word);

/* takes the white space off both ends */
void ngx_guildlog_fold_trim(ngx_str_t *text);


extern const ngx_guildlog_fold_run_t  ngx_guildlog_fold_runs[];
extern const uint32_t                 ngx_guildlog_fold_words[];
extern const uint32_t                 ngx_guildlog_fold_spaces[];

extern const ngx_uint_t               ngx_guildlog_fold_nruns;
extern const ngx_uint_t               ngx_guildlog_fold_nwords;
extern const ngx_uint_t               ngx_guildlog_fold_nspaces;


#endif /* _NGX_GUILDLOG_FOLD_H_INCLUDED_ */
