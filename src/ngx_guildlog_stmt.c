
/*
 * The text of every statement.
 */

#include "ngx_guildlog_stmt.h"


#define ngx_guildlog_args_1  "$1"
#define ngx_guildlog_args_2  ngx_guildlog_args_1 ",$2"
#define ngx_guildlog_args_3  ngx_guildlog_args_2 ",$3"
#define ngx_guildlog_args_4  ngx_guildlog_args_3 ",$4"
#define ngx_guildlog_args_5  ngx_guildlog_args_4 ",$5"
#define ngx_guildlog_args_6  ngx_guildlog_args_5 ",$6"

#define ngx_guildlog_stmt_row(function, nargs, flags)                         \
    { ngx_guildlog_stmt_##function, #function,                                \
      "select status, body from guildlog." #function                          \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },


const ngx_guildlog_stmt_t  ngx_guildlog_stmts[] = {
    NGX_GUILDLOG_STMTS(ngx_guildlog_stmt_row)
};
