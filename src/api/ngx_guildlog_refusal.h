
/*
 * What is refused, in a word that does not change.
 */

#ifndef _NGX_GUILDLOG_REFUSAL_H_INCLUDED_
#define _NGX_GUILDLOG_REFUSAL_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


/*
 * Adds to an object "error", the sentence; "code", its word in the table; and
 * where it tells them "field", the path to the value, and "min" and "max" of
 * the rule.
 */
void ngx_guildlog_refusal_write(ngx_guildlog_json_t *w,
    const ngx_str_t *sentence);

/* the word alone */
const char *ngx_guildlog_refusal_code(const ngx_str_t *sentence);


#endif /* _NGX_GUILDLOG_REFUSAL_H_INCLUDED_ */
