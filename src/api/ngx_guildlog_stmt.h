
/*
 * The statements: the only SQL text in C.
 */

#ifndef _NGX_GUILDLOG_STMT_H_INCLUDED_
#define _NGX_GUILDLOG_STMT_H_INCLUDED_


#include "base/ngx_guildlog.h"


/* has no effect in the database: may be sent again when the answer is lost */
#define NGX_GUILDLOG_STMT_READ  0x01

/* may take long: runs on a connection of its own, never in a pipeline */
#define NGX_GUILDLOG_STMT_LONG  0x02

/* of delivery: runs on connections that no request waits for */
#define NGX_GUILDLOG_STMT_DELIVERY  0x04

/* waits for others of the same server and bot, its first arguments, to end */
#define NGX_GUILDLOG_STMT_SERIAL  0x08

/*
 * Whose share of the connections a statement counts to: that of the server
 * which is its second argument, behind the token; or, where no token asks but
 * the operator or this module, that of its first argument.
 */
#define NGX_GUILDLOG_STMT_FIRST  0x10

/* of several servers, which have one share together; of no server, no share */
#define NGX_GUILDLOG_STMT_SEVERAL  0x20
#define NGX_GUILDLOG_STMT_NONE  0x40

/*
 * Somebody has half of an answer, or would have to begin anew: may wait about
 * as long as it may run, in a line that is not that of its server's share.
 */
#define NGX_GUILDLOG_STMT_PATIENT  0x80

/* of the keeper and the figures: runs on a connection for these alone */
#define NGX_GUILDLOG_STMT_BACKGROUND  0x100

#define NGX_GUILDLOG_STMT_MAX   256
#define NGX_GUILDLOG_ARGS_MAX   32


typedef struct {
    ngx_uint_t                     index;  /* dense, < NGX_GUILDLOG_STMT_MAX */
    const char                    *name;   /* also in the metrics */
    const char                    *text;
    ngx_uint_t                     nargs;
    ngx_uint_t                     flags;
} ngx_guildlog_stmt_t;


/*
 * One endpoint is one statement is one function of the schema: it asks
 * whether the token lives, does the work and makes the body of the answer.
 * S(function, number of arguments, flags)
 */

#define NGX_GUILDLOG_STMTS(S)                                                 \
    S(server_get, 4, NGX_GUILDLOG_STMT_READ)                                  \
    S(server_reset, 4, 0)                                                     \
    S(token_list, 4, NGX_GUILDLOG_STMT_READ)                                  \
    S(token_revoke, 5, 0)                                                     \
    S(settings_get, 4, NGX_GUILDLOG_STMT_READ)                                \
    S(settings_patch, 5, 0)                                                   \
    S(guilds_get, 4, NGX_GUILDLOG_STMT_READ)                                  \
    S(channels_get, 4, NGX_GUILDLOG_STMT_READ)                                \
    S(channels_patch, 5, 0)                                                   \
    S(options_get, 4, NGX_GUILDLOG_STMT_READ)                                 \
    S(options_patch, 5, 0)                                                    \
    S(type_get, 5, NGX_GUILDLOG_STMT_READ)                                    \
    S(type_patch, 6, 0)                                                       \
    S(ignore_get, 5, NGX_GUILDLOG_STMT_READ)                                  \
    S(ignore_add, 6, 0)                                                       \
    S(ignore_remove, 6, 0)                                                    \
    S(tag_create, 5, 0)                                                       \
    S(tag_patch, 6, 0)                                                        \
    S(tag_delete, 5, 0)                                                       \
    S(access_list, 4, NGX_GUILDLOG_STMT_READ)                                 \
    S(access_get, 5, NGX_GUILDLOG_STMT_READ)                                  \
    S(access_put, 6, 0)                                                       \
    S(access_delete, 5, 0)                                                    \
    S(pacing_get, 4, NGX_GUILDLOG_STMT_READ)                                  \
    S(troubleshoot_ask, 4, 0)                                                 \
    S(troubleshoot_get, 7, NGX_GUILDLOG_STMT_READ)                            \
    S(troubleshoot_report, 8, 0)                                              \
    S(refusals_told, 2, NGX_GUILDLOG_STMT_FIRST)                              \
    S(troubleshoot_fix, 5, 0)                                                 \
    S(troubleshoot_test, 5, 0)                                                \
    S(logs_actors, 4, NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG)          \
    S(filters_list, 4, NGX_GUILDLOG_STMT_READ)                                \
    S(filter_get, 5, NGX_GUILDLOG_STMT_READ)                                  \
    S(filter_patch, 6, 0)                                                     \
    S(notifications_list, 4, NGX_GUILDLOG_STMT_READ)                          \
    S(notifications_acknowledge, 4, 0)                                        \
    S(notification_acknowledge, 5, 0)                                         \
    S(search_members, 5, NGX_GUILDLOG_STMT_READ)                              \
    S(search_channels, 5, NGX_GUILDLOG_STMT_READ)                             \
    S(operator_server_put, 2, NGX_GUILDLOG_STMT_FIRST)                        \
    S(operator_server_forget, 1, NGX_GUILDLOG_STMT_FIRST)                     \
    S(operator_token_create, 2, NGX_GUILDLOG_STMT_FIRST)                      \
    S(operator_member_put, 3, NGX_GUILDLOG_STMT_FIRST)                        \
    S(operator_member_delete, 2, NGX_GUILDLOG_STMT_FIRST)                     \
    S(operator_members_put, 2, NGX_GUILDLOG_STMT_FIRST)                       \
    S(operator_person_forget, 2, NGX_GUILDLOG_STMT_FIRST)                     \
    S(operator_channel_put, 3, NGX_GUILDLOG_STMT_FIRST)                       \
    S(operator_channel_delete, 2, NGX_GUILDLOG_STMT_FIRST)                    \
    S(operator_channels_put, 2, NGX_GUILDLOG_STMT_FIRST)                      \
    S(operator_role_put, 3, NGX_GUILDLOG_STMT_FIRST)                          \
    S(operator_role_delete, 2, NGX_GUILDLOG_STMT_FIRST)                       \
    S(operator_roles_put, 2, NGX_GUILDLOG_STMT_FIRST)                         \
    S(operator_backlog, 3,                                                    \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_NONE)   \
    S(operator_undelivered, 8,                                                \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_FIRST)  \
    S(operator_replay, 2, NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_FIRST)     \
    S(operator_lanes, 1, NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_FIRST)      \
    S(operator_lane_pause, 2, NGX_GUILDLOG_STMT_FIRST)                        \
    S(operator_lane_resume, 2, NGX_GUILDLOG_STMT_FIRST)                       \
    S(operator_pause, 1, NGX_GUILDLOG_STMT_FIRST)                             \
    S(operator_resume, 1, NGX_GUILDLOG_STMT_FIRST)                            \
    S(keeper_step, 3,                                                         \
      NGX_GUILDLOG_STMT_BACKGROUND|NGX_GUILDLOG_STMT_PATIENT)                 \
    S(delivery_secret, 1, NGX_GUILDLOG_STMT_DELIVERY)                         \
    S(delivery_release, 0, NGX_GUILDLOG_STMT_DELIVERY)                        \
    S(delivery_figures, 1,                                                    \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_BACKGROUND                     \
      |NGX_GUILDLOG_STMT_PATIENT)                                             \
    S(delivery_park, 4, NGX_GUILDLOG_STMT_DELIVERY)                           \
    S(delivery_park_next, 5, NGX_GUILDLOG_STMT_DELIVERY)                      \
    S(delivery_doubt_park, 2, NGX_GUILDLOG_STMT_DELIVERY)                     \
    S(delivery_sole, 5, NGX_GUILDLOG_STMT_DELIVERY)                           \
    S(delivery_proved, 6, NGX_GUILDLOG_STMT_DELIVERY)                         \
    S(delivery_verified, 6, NGX_GUILDLOG_STMT_DELIVERY)                       \
    S(delivery_asks, 5, NGX_GUILDLOG_STMT_DELIVERY)                           \
    S(delivery_registered, 8, NGX_GUILDLOG_STMT_DELIVERY)                     \
    S(delivery_lost, 5, NGX_GUILDLOG_STMT_DELIVERY)                           \
    S(delivery_broken, 6, NGX_GUILDLOG_STMT_DELIVERY)                         \
    S(delivery_waits, 8, NGX_GUILDLOG_STMT_DELIVERY)                          \
    S(delivery_limited, 6, NGX_GUILDLOG_STMT_DELIVERY)                        \
    S(delivery_closed, 5, NGX_GUILDLOG_STMT_DELIVERY)


/*
 * The same, in parts where it is large: each has in more what the next one is
 * asked for by, with the statement behind its own.
 * S(name, function, number of arguments, flags)
 */

#define NGX_GUILDLOG_PART_STMTS(S)                                            \
    S(tags_get, tags_get, 5, NGX_GUILDLOG_STMT_READ)                          \
    S(tags_get_next, tags_get, 5,                                             \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_PATIENT)                       \
    S(config_get, config_get, 5, NGX_GUILDLOG_STMT_READ)                      \
    S(config_get_next, config_get, 5,                                         \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_PATIENT)


/*
 * Reading logs: rows of guildlog.log_row, the first of which is a head that
 * says the same.
 * S(name, function, number of arguments, flags)
 */

#define NGX_GUILDLOG_LOG_STMTS(S)                                             \
    S(logs_plain, logs_plain, 12, NGX_GUILDLOG_STMT_READ)                     \
    S(person_logs, operator_person_logs, 5,                                   \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_FIRST)  \
    S(person_logs_next, operator_person_logs, 5,                              \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_FIRST   \
      |NGX_GUILDLOG_STMT_PATIENT)                                             \
    S(logs_stream, logs_begin, 14, NGX_GUILDLOG_STMT_READ)                    \
    S(logs_resume, logs_resume, 14,                                           \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG                           \
      |NGX_GUILDLOG_STMT_PATIENT)                                             \
    S(logs_tail, logs_tail, 13,                                               \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_FIRST)                         \
    S(logs_past, logs_tail, 13,                                               \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG|NGX_GUILDLOG_STMT_FIRST   \
      |NGX_GUILDLOG_STMT_PATIENT)

/*
 * Those that end after NGX_GUILDLOG_STMT_BYTES of documents, at the end of an
 * entry, in which "more" says so.  The search is a long one, for it may have to
 * look at every entry; the whole one says all deliveries, without leaving any
 * to ranges; the next ones of an export are all but the first.  logs_page is
 * for pages of ordinary entries: it does not sum up, but leaves out the
 * document of an entry that is longer than its share of a page; then logs_bound
 * is asked.
 * S(name, function, number of arguments, flags)
 */

#define NGX_GUILDLOG_BOUND_STMTS(S)                                           \
    S(logs_whole, logs_plain, 8, NGX_GUILDLOG_STMT_READ)                      \
    S(logs_bound, logs_page, 16, NGX_GUILDLOG_STMT_READ)                      \
    S(logs_search, logs_page, 16,                                             \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG)                          \
    S(logs_export, logs_export, 19,                                           \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG)                          \
    S(logs_export_next, logs_export, 19,                                      \
      NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_LONG                           \
      |NGX_GUILDLOG_STMT_PATIENT)

#define NGX_GUILDLOG_SHARE_STMTS(S)                                           \
    S(logs_page, logs_page, 16, NGX_GUILDLOG_STMT_READ)

#define NGX_GUILDLOG_STMT_BYTES  1048576

/*
 * What is asked for all streams at once: rows of a place in the arrays that
 * came, and an arrival.
 * S(function, number of arguments, flags)
 */

#define NGX_GUILDLOG_POLL_STMTS(S)                                            \
    S(logs_news, 3, NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_NONE)            \
    S(logs_tokens, 2, NGX_GUILDLOG_STMT_READ|NGX_GUILDLOG_STMT_NONE)


/*
 * What PostgreSQL offers itself.
 * S(name, text, number of arguments, flags)
 */

#define NGX_GUILDLOG_OWN_STMTS(S)                                             \
    S(cancel,                                                                 \
      "select pg_cancel_backend(pid) from pg_stat_activity"                   \
      " where pid = $1::int and usename = session_user"                       \
      " and application_name = 'guildlog' and state = 'active'", 1,           \
      NGX_GUILDLOG_STMT_NONE)


/* the same, and counts: of what became of entries, or one number */

#define NGX_GUILDLOG_RECORD_STMTS(S)                                          \
    S(operator_record, 20, NGX_GUILDLOG_STMT_SERIAL|NGX_GUILDLOG_STMT_FIRST)  \
    S(operator_record_many, 20, NGX_GUILDLOG_STMT_SEVERAL)                    \
    S(operator_record_apart, 20, NGX_GUILDLOG_STMT_SEVERAL)                   \
    S(active_ignore_targets, 5, 0)                                            \
    S(active_ignore_executors, 5, 0)


/*
 * The loop of delivery: rows of the types guildlog.delivery_*.
 * S(function, number of arguments, columns, flags)
 */

#define NGX_GUILDLOG_DELIVERY_STMTS(S)                                        \
    S(delivery_lease, 4, "shard, owner, fence, mine, share",                  \
      NGX_GUILDLOG_STMT_DELIVERY)                                             \
    S(delivery_find, 5, "guild, lane, shard, fence, bot, channel, state, "    \
      "webhook, secret, head, upto, step, attempts, attempt_ms, wait_ms, "    \
      "message, since, ids, verified", NGX_GUILDLOG_STMT_DELIVERY)            \
    S(delivery_doubts, 2, "guild, lane, shard, fence, bot, channel, state, "  \
      "webhook, secret, head, upto, step, attempts, attempt_ms, wait_ms, "    \
      "message, since, ids, verified", NGX_GUILDLOG_STMT_DELIVERY)            \
    S(delivery_refused, 2, "guild, rest", NGX_GUILDLOG_STMT_DELIVERY)         \
    S(delivery_step, 2, "place, result, seq, expired, doc, format, color, "   \
      "buttons, locale, spoilers", NGX_GUILDLOG_STMT_DELIVERY)


#define ngx_guildlog_delivery_stmt_id(function, nargs, columns, flags)        \
    ngx_guildlog_stmt_##function,
#define ngx_guildlog_log_stmt_id(name, function, nargs, flags)                \
    ngx_guildlog_stmt_##name,
#define ngx_guildlog_own_stmt_id(name, text, nargs, flags)                    \
    ngx_guildlog_stmt_##name,
#define ngx_guildlog_stmt_id(function, nargs, flags)                          \
    ngx_guildlog_stmt_##function,

typedef enum {
    NGX_GUILDLOG_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_RECORD_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_PART_STMTS(ngx_guildlog_log_stmt_id)
    NGX_GUILDLOG_LOG_STMTS(ngx_guildlog_log_stmt_id)
    NGX_GUILDLOG_BOUND_STMTS(ngx_guildlog_log_stmt_id)
    NGX_GUILDLOG_SHARE_STMTS(ngx_guildlog_log_stmt_id)
    NGX_GUILDLOG_POLL_STMTS(ngx_guildlog_stmt_id)
    NGX_GUILDLOG_OWN_STMTS(ngx_guildlog_own_stmt_id)
    NGX_GUILDLOG_DELIVERY_STMTS(ngx_guildlog_delivery_stmt_id)
    ngx_guildlog_stmt_last
} ngx_guildlog_stmt_e;


_Static_assert(ngx_guildlog_stmt_last <= NGX_GUILDLOG_STMT_MAX,
               "what is kept by statement has a place for each");


extern const ngx_guildlog_stmt_t  ngx_guildlog_stmts[];


#endif /* _NGX_GUILDLOG_STMT_H_INCLUDED_ */
