
/*
 * The statements: the only SQL text in C.
 */

#ifndef _NGX_GUILDLOG_STMT_H_INCLUDED_
#define _NGX_GUILDLOG_STMT_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* changes nothing: it is sent once more if its answer is lost */
#define NGX_GUILDLOG_STMT_READ  0x01

/* may take long: it has a connection to itself, and is never in a pipeline */
#define NGX_GUILDLOG_STMT_LONG  0x02

/* delivery's: it runs on connections that no request waits for */
#define NGX_GUILDLOG_STMT_DELIVERY  0x04

/*
 * Ones with the same guild and bot, which are its first two arguments, run one
 * behind the other.
 */
#define NGX_GUILDLOG_STMT_SERIAL  0x08

/*
 * A statement counts to the share of the guild that is its second argument;
 * the first one is the token.  With this flag no token asks, but the operator
 * or the module, and the guild is the first argument.
 */
#define NGX_GUILDLOG_STMT_FIRST  0x10

/* for several guilds: all such statements have one share; for no guild */
#define NGX_GUILDLOG_STMT_SEVERAL  0x20
#define NGX_GUILDLOG_STMT_NONE  0x40

/*
 * Its asker has half of an answer, or would have to begin anew.  It may wait
 * for about as long as it may run, and takes no place in the line of its
 * guild's other statements.
 */
#define NGX_GUILDLOG_STMT_PATIENT  0x80

/* the keeper's or the figures': they have a connection of their own */
#define NGX_GUILDLOG_STMT_BACKGROUND  0x100

/*
 * Its result comes in binary format, so that a bytea is its bytes.  All other
 * columns are of type text, which is the same in both formats.
 */
#define NGX_GUILDLOG_STMT_BINARY  0x200

/*
 * Its last argument is a bytea and is sent as it is.  It is not copied: it has
 * to stay until the handler is called, or the query is detached.
 */
#define NGX_GUILDLOG_STMT_RAW  0x400

#define NGX_GUILDLOG_STMT_MAX   256
#define NGX_GUILDLOG_ARGS_MAX   48


typedef struct {
    ngx_uint_t                     index;  /* dense, < NGX_GUILDLOG_STMT_MAX */
    const char                    *name;   /* also in the metrics */
    const char                    *text;
    ngx_uint_t                     nargs;
    ngx_uint_t                     flags;
} ngx_guildlog_stmt_t;


/*
 * An endpoint has one statement, which calls one function of the schema.  The
 * function checks that the token is valid, does the work, and makes the body
 * of the answer.  The flags of these lists stand here without their prefix.
 * S(function, number of arguments, flags)
 */

#define NGX_GUILDLOG_STMTS(S)                                                 \
    S(server_get, 4, READ)                                                    \
    S(server_reset, 4, 0)                                                     \
    S(token_list, 4, READ)                                                    \
    S(token_check, 4, READ)                                                   \
    S(token_create, 5, 0)                                                     \
    S(token_revoke, 5, 0)                                                     \
    S(session_begin, 7, NONE)                                                 \
    S(session_ask, 1, READ|NONE)                                              \
    S(session_renew, 3, NONE)                                                 \
    S(session_end, 2, NONE)                                                   \
    S(me, 4, READ)                                                            \
    S(sessions_list, 4, READ)                                                 \
    S(sessions_remove, 5, 0)                                                  \
    S(sessions_remove_all, 4, 0)                                              \
    S(settings_get, 4, READ)                                                  \
    S(settings_patch, 5, 0)                                                   \
    S(config_patch, 6, LONG)                                                  \
    S(guilds_get, 4, READ)                                                    \
    S(channels_get, 4, READ)                                                  \
    S(channels_patch, 5, 0)                                                   \
    S(options_get, 4, READ)                                                   \
    S(options_patch, 5, 0)                                                    \
    S(type_get, 5, READ)                                                      \
    S(type_patch, 6, 0)                                                       \
    S(types_patch, 5, 0)                                                      \
    S(ignore_get, 5, READ)                                                    \
    S(ignore_add, 6, 0)                                                       \
    S(ignore_remove, 6, 0)                                                    \
    S(tag_create, 5, 0)                                                       \
    S(tag_patch, 6, 0)                                                        \
    S(tag_delete, 5, 0)                                                       \
    S(access_list, 4, READ)                                                   \
    S(access_get, 5, READ)                                                    \
    S(access_put, 6, 0)                                                       \
    S(access_delete, 6, 0)                                                    \
    S(pacing_get, 4, READ)                                                    \
    S(troubleshoot_ask, 4, 0)                                                 \
    S(troubleshoot_get, 7, READ)                                              \
    S(troubleshoot_report, 8, 0)                                              \
    S(refusals_told, 2, FIRST)                                                \
    S(troubleshoot_fix, 5, 0)                                                 \
    S(troubleshoot_test, 5, 0)                                                \
    S(logs_actors, 4, READ|LONG)                                              \
    S(filters_list, 4, READ)                                                  \
    S(filter_get, 5, READ)                                                    \
    S(filter_patch, 6, 0)                                                     \
    S(alerts_list, 4, READ)                                                   \
    S(alert_get, 5, READ)                                                     \
    S(alert_create, 5, 0)                                                     \
    S(alert_patch, 6, 0)                                                      \
    S(alert_delete, 5, 0)                                                     \
    S(notifications_list, 4, READ)                                            \
    S(notifications_acknowledge, 4, 0)                                        \
    S(notification_acknowledge, 5, 0)                                         \
    S(search_bad, 5, 0)                                                       \
    S(search_members, 6, READ)                                                \
    S(search_channels, 5, READ)                                               \
    S(search_roles, 5, READ)                                                  \
    S(operator_server_put, 3, FIRST)                                          \
    S(operator_server_forget, 1, FIRST)                                       \
    S(operator_token_create, 2, FIRST)                                        \
    S(operator_member_put, 3, FIRST)                                          \
    S(operator_member_delete, 2, FIRST)                                       \
    S(operator_members_put, 2, FIRST)                                         \
    S(operator_person_forget, 2, FIRST)                                       \
    S(operator_channel_put, 3, FIRST)                                         \
    S(operator_channel_delete, 2, FIRST)                                      \
    S(operator_channels_put, 2, FIRST)                                        \
    S(operator_role_put, 3, FIRST)                                            \
    S(operator_role_delete, 2, FIRST)                                         \
    S(operator_roles_put, 2, FIRST)                                           \
    S(operator_backlog, 3, READ|LONG|NONE)                                    \
    S(operator_undelivered, 8, READ|LONG|FIRST)                               \
    S(operator_replay, 2, LONG|FIRST)                                         \
    S(operator_lanes, 1, READ|FIRST)                                          \
    S(operator_lane_pause, 2, FIRST)                                          \
    S(operator_lane_resume, 2, FIRST)                                         \
    S(operator_pause, 1, FIRST)                                               \
    S(operator_resume, 1, FIRST)                                              \
    S(keeper_step, 1, BACKGROUND|PATIENT)                                     \
    S(delivery_secret, 1, DELIVERY)                                           \
    S(delivery_release, 0, DELIVERY)                                          \
    S(delivery_figures, 1, READ|BACKGROUND|PATIENT)                           \
    S(delivery_park, 4, DELIVERY)                                             \
    S(delivery_sole, 5, DELIVERY)                                             \
    S(delivery_proved, 6, DELIVERY)                                           \
    S(delivery_verified, 6, DELIVERY)                                         \
    S(delivery_asks, 5, DELIVERY)                                             \
    S(delivery_registered, 8, DELIVERY)                                       \
    S(delivery_lost, 5, DELIVERY)                                             \
    S(delivery_broken, 6, DELIVERY)                                           \
    S(delivery_waits, 8, DELIVERY)                                            \
    S(delivery_limited, 6, DELIVERY)                                          \
    S(delivery_closed, 5, DELIVERY)


/*
 * These return other columns: the words for some of them stand in stmt.c.  The
 * first row of ENTRIES (guildlog.log_row), of PIECES (see sql/functions/read/)
 * and of search_open is a head, which tells of the rows as a whole.  A row of
 * ARRIVALS is a place in the arrays that were the arguments, and an arrival.
 * COUNTS are what became of entries, or one number.
 * S(function, number of arguments, columns, flags)
 */

#define NGX_GUILDLOG_COLUMN_STMTS(S)                                          \
    S(operator_record, 19, COUNTS, SERIAL|FIRST)                              \
    S(operator_record_many, 19, COUNTS, SEVERAL)                              \
    S(operator_record_apart, 19, COUNTS, SEVERAL)                             \
    S(operator_events, 41, COUNTS, SEVERAL)                                   \
    S(operator_events_known, 3, "status, places, docs", READ|SEVERAL)         \
    S(events_due, 1, "guilds, versions, rows, now, next", READ|BACKGROUND)    \
    S(events_end, 32, COUNTS ", joined, alone, fault", BACKGROUND)            \
    S(active_ignore_targets, 5, COUNTS, 0)                                    \
    S(active_ignore_executors, 5, COUNTS, 0)                                  \
    S(logs_one, 5, ENTRIES, READ)                                             \
    S(logs_tail, 5, ENTRIES, READ|FIRST)                                      \
    S(logs_pieces, 12, PIECES, READ)                                          \
    S(logs_histogram, 8, PIECES, READ|LONG)                                   \
    S(logs_news, 3, ARRIVALS, READ|NONE)                                      \
    S(logs_tokens, 2, ARRIVALS, READ|NONE)                                    \
    S(search_open, 8, "key, day, n, kinds, dir, head", READ|BINARY)           \
    S(search_tail, 14, "id, doc", READ|BINARY|PATIENT)                        \
    S(search_slices, 8, "place, piece", READ|BINARY|PATIENT)                  \
    S(search_job, 1, "what, guild, bot, erased, low, high, since, until, "    \
      "keys, hurry", BACKGROUND|PATIENT)                                      \
    S(search_put, 10, "status, made", RAW|BACKGROUND|PATIENT)                 \
    S(search_fail, 3, "status", BACKGROUND|PATIENT)                           \
    S(schema_fits, 1, "schema_fits", READ|NONE)                               \
    S(preview, 5, "status, body, doc, " LOOKS, READ|LONG)                     \
    S(delivery_lease, 5, "shard, owner, fence, mine, share", DELIVERY)        \
    S(delivery_find, 6, LANES, DELIVERY)                                      \
    S(delivery_doubts, 3, LANES, DELIVERY)                                    \
    S(delivery_refused, 2, "guild, rest", DELIVERY)                           \
    S(delivery_step, 2, "place, result, seq, expired, doc, " LOOKS, DELIVERY)


/*
 * The same of a function of another name.  What may be large comes in parts:
 * each PART has in more what the next one is asked for by, with the statement
 * behind its own.
 * S(name, function, number of arguments, columns, flags)
 */

#define NGX_GUILDLOG_OTHER_STMTS(S)                                           \
    S(tags_get, tags_get, 5, PART, READ)                                      \
    S(tags_get_next, tags_get, 5, PART, READ|PATIENT)                         \
    S(config_get, config_get, 5, PART, READ)                                  \
    S(config_get_next, config_get, 5, PART, READ|PATIENT)                     \
    S(person_logs, operator_person_logs, 5, ENTRIES, READ|LONG|FIRST)         \
    S(person_logs_next, operator_person_logs, 5, ENTRIES,                     \
      READ|LONG|FIRST|PATIENT)                                                \
    S(logs_stream, logs_begin, 5, ENTRIES, READ)


/*
 * ENTRIES up to the one that completes NGX_GUILDLOG_STMT_BYTES of documents:
 * its "more" says so.  logs_found returns the entries that a search found.
 * logs_export_next reads all blocks of an export but the first.
 * S(name, function, number of arguments, flags)
 */

#define NGX_GUILDLOG_BOUND_STMTS(S)                                           \
    S(logs_found, logs_found, 10, READ|PATIENT)                               \
    S(logs_export, logs_export, 13, READ|LONG)                                \
    S(logs_export_next, logs_export, 13, READ|LONG|PATIENT)

#define NGX_GUILDLOG_STMT_BYTES  1048576


/*
 * Each of these is a text of its own.  The first three use only what PostgreSQL
 * has itself, the last one makes segments.  standby_at gets what primary_at
 * said, and says how many milliseconds of it are missing: null if nobody knows.
 * S(name, text, number of arguments, flags)
 */

#define NGX_GUILDLOG_OWN_STMTS(S)                                             \
    S(cancel,                                                                 \
      "select pg_cancel_backend(pid) from pg_stat_activity"                   \
      " where pid = $1::int and usename = session_user"                       \
      " and application_name = 'guildlog' and state = 'active'", 1,           \
      NONE)                                                                   \
    S(primary_at,                                                             \
      "select pg_current_wal_flush_lsn(),"                                    \
      " extract(epoch from clock_timestamp())", 0,                            \
      READ|NONE|PATIENT)                                                      \
    S(standby_at,                                                             \
      "select case when not pg_is_in_recovery()"                              \
      " or pg_last_wal_replay_lsn() >= $1::pg_lsn then 0"                     \
      " else greatest(1000 * ($2::numeric - extract(epoch from"               \
      " pg_last_xact_replay_timestamp())), 0)::bigint end", 2,                \
      READ|NONE|PATIENT)                                                      \
    S(search_docs,                                                            \
      "select id, arrival, doc from guildlog.search_tail(null,$1,$2,null,$3," \
      "$4,$5,$6,$7,$8,null,null,null,$9)", 9,                                 \
      READ|BACKGROUND|PATIENT)


#define ngx_guildlog_stmt_id(name, ...)  ngx_guildlog_stmt_##name,

typedef enum {
    NGX_GUILDLOG_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_COLUMN_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_OTHER_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_BOUND_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_OWN_STMTS(ngx_guildlog_stmt_id)
    ngx_guildlog_stmt_last
} ngx_guildlog_stmt_e;


_Static_assert(ngx_guildlog_stmt_last <= NGX_GUILDLOG_STMT_MAX,
               "what is kept by statement has a place for each");


extern const ngx_guildlog_stmt_t  ngx_guildlog_stmts[];

#define ngx_guildlog_stmt(name)                                               \
    (&ngx_guildlog_stmts[ngx_guildlog_stmt_##name])


#endif /* _NGX_GUILDLOG_STMT_H_INCLUDED_ */
