
/*
 * Entries as CSV: RFC 4180, UTF-8, CRLF, and no cell that a spreadsheet would
 * run as a formula.
 */

#ifndef _NGX_GUILDLOG_CSV_H_INCLUDED_
#define _NGX_GUILDLOG_CSV_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


/* by which some programs know that a file is UTF-8 */
#define NGX_GUILDLOG_CSV_BOM    "\xef\xbb\xbf"


/* what rows are made with */

typedef struct {
    ngx_uint_t                     locale;     /* of sentences and changes */
    unsigned                       text_ids:1; /* ="1": no program takes it for
                                                  a number */
} ngx_guildlog_csv_t;


/* the names of the columns, with their line end */
extern const ngx_str_t  ngx_guildlog_csv_header;


/*
 * Writes the row of an entry: doc is its JSON without the closing brace,
 * reason may be null.  NGX_DECLINED: doc is no entry; NGX_ERROR: no memory.
 */

ngx_int_t ngx_guildlog_csv_row(const ngx_guildlog_csv_t *csv,
    ngx_guildlog_json_t *out, const ngx_str_t *doc, const ngx_str_t *status,
    const ngx_str_t *reason);


#endif /* _NGX_GUILDLOG_CSV_H_INCLUDED_ */
