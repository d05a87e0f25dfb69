
/*
 * conf/events.tsv as C: what becomes of each event of the platform's
 * gateway, and of each action of its audit log.  The head of
 * ngx_guildlog_event_table.awk, which makes it when nginx is configured and
 * holds it against conf/events-known.tsv, says what the words mean.  Constants.
 */

#ifndef _NGX_GUILDLOG_EVENT_TABLE_H_INCLUDED_
#define _NGX_GUILDLOG_EVENT_TABLE_H_INCLUDED_


#include "log/ngx_guildlog_entry.h"


#define NGX_GUILDLOG_EVENT_PATHS  4       /* of one field, at most */


/* what a condition asks; those from COMES on are of a change */

typedef enum {
    NGX_GUILDLOG_WHEN_OTHERWISE = 0,      /* alone, without a path */
    NGX_GUILDLOG_WHEN_UNKNOWN,            /* without a path */
    NGX_GUILDLOG_WHEN_GIVEN,
    NGX_GUILDLOG_WHEN_IS,                 /* value */
    NGX_GUILDLOG_WHEN_HAS,                /* a list: value */
    NGX_GUILDLOG_WHEN_FRESH,
    NGX_GUILDLOG_WHEN_THREAD,
    NGX_GUILDLOG_WHEN_BOT,
    NGX_GUILDLOG_WHEN_COMES,
    NGX_GUILDLOG_WHEN_GOES,
    NGX_GUILDLOG_WHEN_DIFFERS,
    NGX_GUILDLOG_WHEN_STAYS,
    NGX_GUILDLOG_WHEN_SHRINKS
} ngx_guildlog_event_when_e;


/*
 * Of a change the path is a key, without a prefix; the value is the path of
 * the same in what is known, where it has another name there, or NULL
 */

typedef struct {
    uint8_t                            verb;
    const char                        *path;
    const char                        *value;
} ngx_guildlog_event_when_t;


/*
 * The first of the paths that is there is what the field holds, or its part
 * ("name", "id", "$remove"; or NULL).  Those of NGX_GUILDLOG_ENTRY_CHANGES
 * without a part are keys: none are all that the row is for.  Words begin with
 * "'" and have none at the end.
 */

typedef struct {
    uint8_t                            field;  /* ngx_guildlog_entry_field_e */
    const char                        *part;
    const char                        *paths[NGX_GUILDLOG_EVENT_PATHS];
                                               /* NULL ends fewer */
} ngx_guildlog_event_set_t;


typedef enum {
    NGX_GUILDLOG_EVENT_MAKES = 0,         /* an entry, and takes */
    NGX_GUILDLOG_EVENT_BESIDES,           /* an entry, whatever was taken */
    NGX_GUILDLOG_EVENT_TOLD,              /* takes: another event makes it */
    NGX_GUILDLOG_EVENT_IGNORED            /* takes: nobody is told */
} ngx_guildlog_event_does_e;


/* the row is of the change that its first condition asks for, if it does */

#define ngx_guildlog_event_row_key(row)                                       \
    ((row)->nwhen && (row)->when[0].verb >= NGX_GUILDLOG_WHEN_COMES           \
     ? (row)->when[0].path : NULL)


typedef struct {
    uint8_t                            does;
    uint8_t                            type;  /* 0, of what is ignored */
    uint8_t                            nwhen;
    uint8_t                            nset;
    const ngx_guildlog_event_when_t   *when;  /* all have to fit */
    const ngx_guildlog_event_set_t    *set;
} ngx_guildlog_event_row_t;


/* what has to be known of the id that a path of the packet leads to: rows ask
   for it, or its name is told */

typedef struct {
    uint8_t                            what;  /* ngx_guildlog_known_kind_e */
    const char                        *path;  /* NULL: the guild itself */
} ngx_guildlog_event_need_t;


typedef struct {
    const char                        *name;
    ngx_uint_t                         code;  /* of the audit log, or 0 */
    ngx_uint_t                         nrows; /* 0: another event tells it */
    const ngx_guildlog_event_row_t    *rows;
    ngx_uint_t                         nneeds;
    const ngx_guildlog_event_need_t   *needs;
    ngx_uint_t                         what;  /* ngx_guildlog_event_what_e */
    const char                        *ids[NGX_GUILDLOG_EVENT_PATHS];
                                              /* paths of those that a packet
                                                 of a guild has to have; NULL
                                                 ends */
} ngx_guildlog_event_kind_t;


/* ngx_guildlog_event_table_data.c; by name, and by code */

extern const ngx_guildlog_event_kind_t  ngx_guildlog_event_gateway[];
extern const ngx_uint_t                 ngx_guildlog_event_gateway_n;
extern const ngx_guildlog_event_kind_t  ngx_guildlog_event_audit[];
extern const ngx_uint_t                 ngx_guildlog_event_audit_n;

/* the actions that the table does not know: "*" */

extern const ngx_guildlog_event_kind_t  ngx_guildlog_event_audit_any;

/* keys of changes that nobody wants to be told; NULL ends */

extern const char *const                ngx_guildlog_event_untold[];


#endif /* _NGX_GUILDLOG_EVENT_TABLE_H_INCLUDED_ */
