
/*
 * A change of an entry, {key, old, new}, as people read it: in the language of
 * a guild, and piece by piece, so that each reader writes a user or a time in
 * its own way.  Pure.
 */

#ifndef _NGX_GUILDLOG_CHANGE_H_INCLUDED_
#define _NGX_GUILDLOG_CHANGE_H_INCLUDED_


#include "base/ngx_guildlog_json.h"


typedef enum {
    NGX_GUILDLOG_CHANGE_WORD = 0,  /* text: ours, harmless */
    NGX_GUILDLOG_CHANGE_TEXT,      /* text: somebody wrote it */
    NGX_GUILDLOG_CHANGE_USER,      /* id; text: the name, or empty */
    NGX_GUILDLOG_CHANGE_ROLE,
    NGX_GUILDLOG_CHANGE_CHANNEL,
    NGX_GUILDLOG_CHANGE_TIME       /* ms */
} ngx_guildlog_change_piece_e;


typedef struct {
    ngx_guildlog_change_piece_e    kind;
    ngx_str_t                      text;
    ngx_str_t                      id;
    int64_t                        ms;
} ngx_guildlog_change_piece_t;


/* the piece lives until it returns */

typedef void (*ngx_guildlog_change_pt)(void *data,
    const ngx_guildlog_change_piece_t *piece);


/* what changed: in the language, or the key where nothing is known of it */
void ngx_guildlog_change_name(const json_t *change, ngx_uint_t locale,
    ngx_guildlog_change_pt write, void *data);

/*
 * "old → new"; the new one alone where there was none before; what came and
 * what went of permissions and of roles.  type: the entry's.  What is gone has
 * no new values.  Nothing is written of what says nothing.
 */
void ngx_guildlog_change_value(const json_t *change, ngx_uint_t locale,
    ngx_uint_t type, ngx_guildlog_change_pt write, void *data);


/* ms of "2026-11-24T00:00:00.000+00:00"; NGX_ERROR: it is no such time */
int64_t ngx_guildlog_change_time(const ngx_str_t *s);

/* and such a text of them, of so many bytes, which ends in "Z" */
#define NGX_GUILDLOG_CHANGE_TIME_LEN  (sizeof("1970-01-01T00:00:00.000Z") - 1)

u_char *ngx_guildlog_change_time_write(u_char *p, int64_t ms);


/* ngx_guildlog_change_data.c, which ngx_guildlog_change.awk makes */

typedef enum {
    NGX_GUILDLOG_CHANGE_IS_TEXT = 0,
    NGX_GUILDLOG_CHANGE_IS_NUMBER,
    NGX_GUILDLOG_CHANGE_IS_LIMIT,       /* 0: none */
    NGX_GUILDLOG_CHANGE_IS_FLAG,
    NGX_GUILDLOG_CHANGE_IS_COLOR,
    NGX_GUILDLOG_CHANGE_IS_PERMISSIONS,
    NGX_GUILDLOG_CHANGE_IS_TIME,
    NGX_GUILDLOG_CHANGE_IS_SECONDS,
    NGX_GUILDLOG_CHANGE_IS_MINUTES,
    NGX_GUILDLOG_CHANGE_IS_DAYS,
    NGX_GUILDLOG_CHANGE_IS_BITRATE,
    NGX_GUILDLOG_CHANGE_IS_PERCENT,     /* 1 is all */
    NGX_GUILDLOG_CHANGE_IS_IMAGE,       /* the hash of one */
    NGX_GUILDLOG_CHANGE_IS_USER,
    NGX_GUILDLOG_CHANGE_IS_ROLE,
    NGX_GUILDLOG_CHANGE_IS_CHANNEL,
    NGX_GUILDLOG_CHANGE_IS_CHOICE,
    NGX_GUILDLOG_CHANGE_IS_TYPE,        /* a choice, of channels alone */
    NGX_GUILDLOG_CHANGE_IS_VALUE        /* of a choice: "key.number" */
} ngx_guildlog_change_kind_e;


typedef struct {
    ngx_str_t                      key;
    ngx_guildlog_change_kind_e     kind;
    ngx_uint_t                     label;
} ngx_guildlog_change_key_t;


/* labels that are no key's */

typedef enum {
    NGX_GUILDLOG_CHANGE_YES = 0,
    NGX_GUILDLOG_CHANGE_NO,
    NGX_GUILDLOG_CHANGE_NONE,
    NGX_GUILDLOG_CHANGE_ADDED,
    NGX_GUILDLOG_CHANGE_CHANGED,
    NGX_GUILDLOG_CHANGE_REMOVED,
    NGX_GUILDLOG_CHANGE_OFF
} ngx_guildlog_change_word_e;


#define NGX_GUILDLOG_CHANGE_BITS  64


/* the last key is empty */
extern const ngx_guildlog_change_key_t  ngx_guildlog_change_keys[];

/* by bit: the label of the permission, 0 where it has none */
extern const ngx_uint_t
    ngx_guildlog_change_bits[NGX_GUILDLOG_CHANGE_BITS];

/* by language and label */
extern const ngx_uint_t   ngx_guildlog_change_locales;
extern const ngx_uint_t   ngx_guildlog_change_nlabels;

/* the language that is read from right to left */
extern const ngx_uint_t   ngx_guildlog_change_back;
extern const char *const  ngx_guildlog_change_labels[];


#endif /* _NGX_GUILDLOG_CHANGE_H_INCLUDED_ */
