
/*
 * What an entry may be, and what may become of it.
 */

#ifndef _NGX_GUILDLOG_ENTRY_H_INCLUDED_
#define _NGX_GUILDLOG_ENTRY_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


#define NGX_GUILDLOG_ENTRY_SIZE_MAX  65536   /* bytes, as it was sent */


/* what became of an entry: stored, or not for one of these reasons */

typedef enum {
    NGX_GUILDLOG_ENTRY_RECORDED = 0,
    NGX_GUILDLOG_ENTRY_DUPLICATE,
    NGX_GUILDLOG_ENTRY_ERROR,
    NGX_GUILDLOG_ENTRY_POSTPONED,         /* to be sent again */
    NGX_GUILDLOG_DROP_TYPE_DISABLED,
    NGX_GUILDLOG_DROP_BOT_EXECUTOR,
    NGX_GUILDLOG_DROP_BOT_TARGET,
    NGX_GUILDLOG_DROP_CHANNEL,
    NGX_GUILDLOG_DROP_CATEGORY,
    NGX_GUILDLOG_DROP_EXECUTOR,
    NGX_GUILDLOG_DROP_TARGET,
    NGX_GUILDLOG_DROP_EXECUTOR_ROLE,
    NGX_GUILDLOG_DROP_TARGET_ROLE,
    NGX_GUILDLOG_DROP_CONTENT,
    NGX_GUILDLOG_DROP_PROXIED,
    NGX_GUILDLOG_DROP_ACTIVE_IGNORE,
    NGX_GUILDLOG_DROP_FILTER,
    NGX_GUILDLOG_ENTRY_LAST
} ngx_guildlog_entry_e;


extern const char *const  ngx_guildlog_entry_outcomes[];


/* what it may say */

typedef enum {
    NGX_GUILDLOG_ENTRY_SERVER = 0,
    NGX_GUILDLOG_ENTRY_BOT,
    NGX_GUILDLOG_ENTRY_EVENT_ID,
    NGX_GUILDLOG_ENTRY_TYPE,
    NGX_GUILDLOG_ENTRY_TIMESTAMP,
    NGX_GUILDLOG_ENTRY_EXECUTOR,
    NGX_GUILDLOG_ENTRY_TARGET,
    NGX_GUILDLOG_ENTRY_CHANNEL,
    NGX_GUILDLOG_ENTRY_ROLE,
    NGX_GUILDLOG_ENTRY_NAME,
    NGX_GUILDLOG_ENTRY_REASON,
    NGX_GUILDLOG_ENTRY_COUNT,
    NGX_GUILDLOG_ENTRY_CONTENT,
    NGX_GUILDLOG_ENTRY_CONTENT_AFTER,
    NGX_GUILDLOG_ENTRY_MESSAGES,
    NGX_GUILDLOG_ENTRY_EMOJI,
    NGX_GUILDLOG_ENTRY_ACTION,
    NGX_GUILDLOG_ENTRY_VALUE,
    NGX_GUILDLOG_ENTRY_CHANGES,
    NGX_GUILDLOG_ENTRY_UNTIL,
    NGX_GUILDLOG_ENTRY_ROLE_ID,
    NGX_GUILDLOG_ENTRY_IMAGE,
    NGX_GUILDLOG_ENTRY_PROXIED,
    NGX_GUILDLOG_ENTRY_TRUNCATED,
    NGX_GUILDLOG_ENTRY_FIELDS
} ngx_guildlog_entry_field_e;


#define NGX_GUILDLOG_ENTRY_KEYS  8        /* of an object in it, at most */


/*
 * Holds a parsed entry against the rules that need neither data nor a clock;
 * with many set it says its guild.  NGX_OK: values are those of its
 * NGX_GUILDLOG_ENTRY_FIELDS fields, NULL for what is absent; NGX_DECLINED:
 * *error names the field and the rule; NGX_ERROR: memory.
 */

ngx_int_t ngx_guildlog_entry_check(ngx_pool_t *pool, json_t *json,
    ngx_uint_t many, json_t **values, ngx_str_t *error);

/*
 * Reads the counts that the recording functions return, {"recorded": 5, …};
 * there are NGX_GUILDLOG_ENTRY_LAST of them.
 */

void ngx_guildlog_entry_counts(const ngx_str_t *text, ngx_uint_t *counts);


#endif /* _NGX_GUILDLOG_ENTRY_H_INCLUDED_ */
