
/*
 * The text of every statement.
 */

#include "api/ngx_guildlog_stmt.h"


#define stmt_args_0  ""
#define stmt_args_1  "$1"
#define stmt_args_2  stmt_args_1 ",$2"
#define stmt_args_3  stmt_args_2 ",$3"
#define stmt_args_4  stmt_args_3 ",$4"
#define stmt_args_5  stmt_args_4 ",$5"
#define stmt_args_6  stmt_args_5 ",$6"
#define stmt_args_7  stmt_args_6 ",$7"
#define stmt_args_8  stmt_args_7 ",$8"
#define stmt_args_9  stmt_args_8 ",$9"
#define stmt_args_10  stmt_args_9 ",$10"
#define stmt_args_11  stmt_args_10 ",$11"
#define stmt_args_12  stmt_args_11 ",$12"
#define stmt_args_13  stmt_args_12 ",$13"
#define stmt_args_14  stmt_args_13 ",$14"
#define stmt_args_15  stmt_args_14 ",$15"
#define stmt_args_16  stmt_args_15 ",$16"
#define stmt_args_17  stmt_args_16 ",$17"
#define stmt_args_18  stmt_args_17 ",$18"
#define stmt_args_19  stmt_args_18 ",$19"
#define stmt_args_20  stmt_args_19 ",$20"
#define stmt_args_32  stmt_args_20                                            \
    ",$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32"
#define stmt_args_41  stmt_args_32                                            \
    ",$33,$34,$35,$36,$37,$38,$39,$40,$41"

#define READ        NGX_GUILDLOG_STMT_READ
#define LONG        NGX_GUILDLOG_STMT_LONG
#define DELIVERY    NGX_GUILDLOG_STMT_DELIVERY
#define SERIAL      NGX_GUILDLOG_STMT_SERIAL
#define FIRST       NGX_GUILDLOG_STMT_FIRST
#define SEVERAL     NGX_GUILDLOG_STMT_SEVERAL
#define NONE        NGX_GUILDLOG_STMT_NONE
#define PATIENT     NGX_GUILDLOG_STMT_PATIENT
#define BACKGROUND  NGX_GUILDLOG_STMT_BACKGROUND
#define BINARY      NGX_GUILDLOG_STMT_BINARY
#define RAW         NGX_GUILDLOG_STMT_RAW

#define COUNTS      "status, body, counts"
#define PART        "status, body, more"
#define PIECES      "n, what, types, doc, said"
#define ARRIVALS    "place, arrival"
#define LOOKS       "format, color, buttons, locale, spoilers"
#define ENTRIES     "id, more, status, reason, channel_id, message_id, doc, " \
                    "dstatus, lane, seq"
#define LANES       "guild, lane, shard, fence, bot, channel, state, "        \
                    "webhook, secret, head, upto, step, attempts, "           \
                    "attempt_ms, wait_ms, message, since, ids, verified"

#define stmt_select(name, columns, function, nargs, flags)                    \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select " columns " from guildlog." function "(" stmt_args_##nargs ")", \
      nargs, flags },
#define stmt_row(name, nargs, flags)                                          \
    stmt_select(name, "status, body", #name, nargs, flags)
#define stmt_column_row(name, nargs, columns, flags)                          \
    stmt_select(name, columns, #name, nargs, flags)
#define stmt_other_row(name, function, nargs, columns, flags)                 \
    stmt_select(name, columns, #function, nargs, flags)
#define stmt_own_row(name, text, nargs, flags)                                \
    { ngx_guildlog_stmt_##name, #name, text, nargs, flags },

/* the sum needs no order: rows come in the order the function returns them */

#define stmt_bound_row(name, function, nargs, flags)                          \
    { ngx_guildlog_stmt_##name, #name,                                        \
      "select id, coalesce(more, bytes >= "                                   \
          ngx_value(NGX_GUILDLOG_STMT_BYTES) "), status, reason,"             \
          " channel_id, message_id, doc, dstatus, lane, seq"                  \
          " from (select r.*, sum(octet_length(doc)) over ("                  \
                         "rows unbounded preceding) as bytes"                 \
                  " from guildlog." #function                                 \
                      "(" stmt_args_##nargs ") r) r"                          \
         " where doc is null or bytes - octet_length(doc) < "                 \
                 ngx_value(NGX_GUILDLOG_STMT_BYTES),                          \
      nargs, flags },


const ngx_guildlog_stmt_t  ngx_guildlog_stmts[] = {
    NGX_GUILDLOG_STMTS(stmt_row)
    NGX_GUILDLOG_COLUMN_STMTS(stmt_column_row)
    NGX_GUILDLOG_OTHER_STMTS(stmt_other_row)
    NGX_GUILDLOG_BOUND_STMTS(stmt_bound_row)
    NGX_GUILDLOG_OWN_STMTS(stmt_own_row)
};
