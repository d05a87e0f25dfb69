
/*
 * What a server reads in its own language: the titles of the log types and
 * the few words around them.  Languages are numbered as in "locale".  And the
 * categories of the log types.
 */

#ifndef _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_
#define _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_


#include "base/ngx_guildlog.h"


#define NGX_GUILDLOG_LOCALES     19
#define NGX_GUILDLOG_CATEGORIES  9


/* the words of conf/languages/en-US.tsv */

typedef enum {
    NGX_GUILDLOG_LABEL_EXECUTOR = 0,
    NGX_GUILDLOG_LABEL_TARGET,
    NGX_GUILDLOG_LABEL_CHANNEL,
    NGX_GUILDLOG_LABEL_ROLE,
    NGX_GUILDLOG_LABEL_NAME,
    NGX_GUILDLOG_LABEL_REASON,
    NGX_GUILDLOG_LABEL_COUNT,
    NGX_GUILDLOG_LABEL_EMOJI,
    NGX_GUILDLOG_LABEL_ACTION,
    NGX_GUILDLOG_LABEL_VALUE,
    NGX_GUILDLOG_LABEL_ATTACHMENTS,
    NGX_GUILDLOG_LABEL_BEFORE,
    NGX_GUILDLOG_LABEL_AFTER,
    NGX_GUILDLOG_LABEL_MESSAGES,
    NGX_GUILDLOG_LABEL_MORE,         /* "%ui" stands for how many */
    NGX_GUILDLOG_LABEL_DASHBOARD,    /* the executor "0" */
    NGX_GUILDLOG_LABEL_SUPPORT,
    NGX_GUILDLOG_LABEL_CUSTOMISE,
    NGX_GUILDLOG_LABELS
} ngx_guildlog_label_e;


/* in the language, or in en-US if there is none of that number */

const char *ngx_guildlog_language_title(ngx_uint_t type, ngx_uint_t locale);
const char *ngx_guildlog_language_label(ngx_guildlog_label_e label,
    ngx_uint_t locale);


/* ngx_guildlog_language_data.c, which ngx_guildlog_language.awk makes */

extern const char *const
    ngx_guildlog_titles[NGX_GUILDLOG_LOCALES][NGX_GUILDLOG_TYPES];
extern const char *const
    ngx_guildlog_labels[NGX_GUILDLOG_LOCALES][NGX_GUILDLOG_LABELS];

/* by their names; and which of these each type has */

extern const char *const
    ngx_guildlog_type_categories[NGX_GUILDLOG_CATEGORIES];
extern const u_char  ngx_guildlog_type_category[NGX_GUILDLOG_TYPES];


#endif /* _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_ */
