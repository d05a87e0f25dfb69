
/*
 * The text of every statement.
 */

#include "api/ngx_guildlog_stmt.h"


#define ngx_guildlog_args_0  ""
#define ngx_guildlog_args_1  "$1"
#define ngx_guildlog_args_2  ngx_guildlog_args_1 ",$2"
#define ngx_guildlog_args_3  ngx_guildlog_args_2 ",$3"
#define ngx_guildlog_args_4  ngx_guildlog_args_3 ",$4"
#define ngx_guildlog_args_5  ngx_guildlog_args_4 ",$5"
#define ngx_guildlog_args_6  ngx_guildlog_args_5 ",$6"
#define ngx_guildlog_args_7  ngx_guildlog_args_6 ",$7"
#define ngx_guildlog_args_8  ngx_guildlog_args_7 ",$8"
#define ngx_guildlog_args_9  ngx_guildlog_args_8 ",$9"
#define ngx_guildlog_args_10  ngx_guildlog_args_9 ",$10"
#define ngx_guildlog_args_11  ngx_guildlog_args_10 ",$11"
#define ngx_guildlog_args_12  ngx_guildlog_args_11 ",$12"
#define ngx_guildlog_args_13  ngx_guildlog_args_12 ",$13"
#define ngx_guildlog_args_14  ngx_guildlog_args_13 ",$14"
#define ngx_guildlog_args_15  ngx_guildlog_args_14 ",$15"
#define ngx_guildlog_args_16  ngx_guildlog_args_15 ",$16"
#define ngx_guildlog_args_17  ngx_guildlog_args_16 ",$17"
#define ngx_guildlog_args_18  ngx_guildlog_args_17 ",$18"
#define ngx_guildlog_args_19  ngx_guildlog_args_18 ",$19"
#define ngx_guildlog_args_20  ngx_guildlog_args_19 ",$20"

#define ngx_guildlog_stmt_row(function, nargs, flags)                         \
    { ngx_guildlog_stmt_##function, #function,                                \
      "select status, body from guildlog." #function                          \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },
#define ngx_guildlog_poll_stmt_row(function, nargs, flags)                    \
    { ngx_guildlog_stmt_##function, #function,                                \
      "select place, arrival from guildlog." #function                        \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },
#define ngx_guildlog_own_stmt_row(name, text, nargs, flags)                   \
    { ngx_guildlog_stmt_##name, #name, text, nargs, flags },
#define ngx_guildlog_record_stmt_row(function, nargs, flags)                  \
    { ngx_guildlog_stmt_##function, #function,                                \
      "select status, body, counts from guildlog." #function                  \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },
#define ngx_guildlog_part_stmt_row(name, function, nargs, flags)              \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select status, body, more from guildlog." #function                    \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },
#define ngx_guildlog_log_stmt_row(name, function, nargs, flags)               \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select id, more, status, reason, channel_id, message_id, doc,"         \
          " dstatus, lane, seq"                                               \
          " from guildlog." #function "(" ngx_guildlog_args_##nargs ")",      \
      nargs, flags },
/* the sum needs no order: rows come in the order the function returns them */

#define ngx_guildlog_bound_stmt_row(name, function, nargs, flags)             \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select id, coalesce(more, bytes >= "                                   \
          ngx_value(NGX_GUILDLOG_STMT_BYTES) "), status, reason,"             \
          " channel_id, message_id, doc, dstatus, lane, seq"                  \
          " from (select r.*, sum(octet_length(doc)) over ("                  \
                         "rows unbounded preceding) as bytes"                 \
                  " from guildlog." #function                                 \
                      "(" ngx_guildlog_args_##nargs ") r) r"                  \
         " where doc is null or bytes - octet_length(doc) < "                 \
                 ngx_value(NGX_GUILDLOG_STMT_BYTES),                          \
      nargs, flags },

/* $14: how many entries a page has; a head is shorter than any part of it */

#define ngx_guildlog_share_stmt_row(name, function, nargs, flags)             \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select id, more, status, reason, channel_id, message_id,"              \
          " case when octet_length(doc) <= "                                  \
                      ngx_value(NGX_GUILDLOG_STMT_BYTES) " / $14"             \
               " then doc end as doc, dstatus, lane, seq"                     \
          " from guildlog." #function "(" ngx_guildlog_args_##nargs ")",      \
      nargs, flags },
#define ngx_guildlog_columns_stmt_row(function, nargs, columns, flags)        \
    { ngx_guildlog_stmt_##function, #function,                                \
      "select " columns " from guildlog." #function                           \
          "(" ngx_guildlog_args_##nargs ")",                                  \
      nargs, flags },


const ngx_guildlog_stmt_t  ngx_guildlog_stmts[] = {
    NGX_GUILDLOG_STMTS(ngx_guildlog_stmt_row)
    NGX_GUILDLOG_RECORD_STMTS(ngx_guildlog_record_stmt_row)
    NGX_GUILDLOG_PART_STMTS(ngx_guildlog_part_stmt_row)
    NGX_GUILDLOG_LOG_STMTS(ngx_guildlog_log_stmt_row)
    NGX_GUILDLOG_BOUND_STMTS(ngx_guildlog_bound_stmt_row)
    NGX_GUILDLOG_SHARE_STMTS(ngx_guildlog_share_stmt_row)
    NGX_GUILDLOG_POLL_STMTS(ngx_guildlog_poll_stmt_row)
    NGX_GUILDLOG_OWN_STMTS(ngx_guildlog_own_stmt_row)
    NGX_GUILDLOG_SEARCH_STMTS(ngx_guildlog_columns_stmt_row)
    NGX_GUILDLOG_DELIVERY_STMTS(ngx_guildlog_columns_stmt_row)
};
