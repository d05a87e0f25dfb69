
/*
 * What a sentence says of an entry.  Pure.
 */

#ifndef _NGX_GUILDLOG_SENTENCE_H_INCLUDED_
#define _NGX_GUILDLOG_SENTENCE_H_INCLUDED_


#include "base/ngx_guildlog_json.h"
#include "log/ngx_guildlog_language.h"


/*
 * 1 << place of each field that the entry has, as ngx_guildlog_language_say()
 * takes them.  The dashboard, executor 0, is nobody.
 */
ngx_uint_t ngx_guildlog_sentence_has(const json_t *entry);

/* the field that a place is for */
const char *ngx_guildlog_sentence_field(ngx_guildlog_place_e place);


#endif /* _NGX_GUILDLOG_SENTENCE_H_INCLUDED_ */
