
/*
 * The endpoints.  Adding one is a row here, an SQL function and a test.
 */

#ifndef _NGX_GUILDLOG_ROUTE_H_INCLUDED_
#define _NGX_GUILDLOG_ROUTE_H_INCLUDED_


#include "api/ngx_guildlog_value.h"
#include "api/ngx_guildlog_stmt.h"


#define NGX_GUILDLOG_ROUTES_MAX  95
#define NGX_GUILDLOG_PIECES_MAX  3


typedef enum {
    NGX_GUILDLOG_API = 0,
    NGX_GUILDLOG_OPERATOR
} ngx_guildlog_plane_e;


/* the kinds of endpoints: how each answers */

typedef enum {
    NGX_GUILDLOG_ROW = 0,        /* status and body, as the function says */
    NGX_GUILDLOG_LARGE,          /* status and body, in parts where large */
    NGX_GUILDLOG_TOKEN,          /* a row: the token it describes, signed */
    NGX_GUILDLOG_KNOWN,          /* what the module knows by itself */
    NGX_GUILDLOG_ENTRY,          /* a row that becomes a LogEntry, or none */
    NGX_GUILDLOG_HISTOGRAM,      /* pieces that are counted by time */
    NGX_GUILDLOG_PAGE,           /* rows that become a LogPage */
    NGX_GUILDLOG_EXPORT,         /* rows of a file, chunk by chunk */
    NGX_GUILDLOG_STREAM,         /* events, as long as somebody listens */
    NGX_GUILDLOG_TROUBLE,        /* a row, after the platform was asked */
    NGX_GUILDLOG_TEST,           /* what came of a message */
    NGX_GUILDLOG_PREVIEW,        /* the message of an entry */
    NGX_GUILDLOG_RECORD,         /* a row, for a body of entries */
    NGX_GUILDLOG_EVENTS          /* what became of a body of packets */
} ngx_guildlog_route_kind_e;


/* methods, by the bits that nginx gives them */

#define NGX_GUILDLOG_GET         0x0002
#define NGX_GUILDLOG_HEAD        0x0004
#define NGX_GUILDLOG_POST        0x0008
#define NGX_GUILDLOG_PUT         0x0010
#define NGX_GUILDLOG_DELETE      0x0020
#define NGX_GUILDLOG_PATCH       0x4000


typedef struct {
    const char                    *name;       /* in the metrics */
    ngx_uint_t                     method;
    const char                    *pattern;    /* "/guilds/{guild}/tags" */
    ngx_guildlog_plane_e           plane;
    ngx_uint_t                     kinds;      /* of tokens: FOR_… */
    const ngx_guildlog_field_t    *pieces;     /* {…} behind the guild */
    const ngx_guildlog_field_t    *query;
    const ngx_guildlog_field_t    *body;       /* NULL: none is read */
    const ngx_guildlog_stmt_t     *stmt;
    ngx_uint_t                     flags;
    ngx_guildlog_route_kind_e      kind;
} ngx_guildlog_route_t;


/* the body is an array of objects by the table */
#define NGX_GUILDLOG_ROUTE_BATCH  0x01

/* an empty object is a change of nothing, and welcome */
#define NGX_GUILDLOG_ROUTE_EMPTY  0x02

/* behind the body goes the plan that a server gets that is new */
#define NGX_GUILDLOG_ROUTE_PLAN  0x04

/* no body at all is an empty object */
#define NGX_GUILDLOG_ROUTE_BODILESS  0x10

/* the row has how many held entries were taken back, too */
#define NGX_GUILDLOG_ROUTE_TAKES  0x20


/* an export is that of a person: NDJSON, and its head's message_id is where the
   next chunk begins (null: nowhere) */
#define NGX_GUILDLOG_ROUTE_PERSON  0x40

/* for who signed in: no token suffices */
#define NGX_GUILDLOG_ROUTE_COOKIE  0x80

/* what it reads may be read at a standby */
#define NGX_GUILDLOG_ROUTE_STANDBY  0x100

/* it may be one of several changes; before the body goes what these are */
#define NGX_GUILDLOG_ROUTE_CHANGE  0x200
#define NGX_GUILDLOG_ROUTE_CHANGES  0x400


extern const ngx_guildlog_route_t  ngx_guildlog_routes[];
extern const ngx_uint_t            ngx_guildlog_nroutes;

/* the parameter that every path of the API takes */
extern const ngx_guildlog_field_t  ngx_guildlog_route_bot[];


/*
 * The route of a path that follows the prefix.  Fills what stands for the
 * guild and for the other pieces (NULL data: none); a piece that breaks the
 * rule of its field makes the path unknown.  NULL: *methods are those the
 * path does allow, 0 if there is no such path.
 */
const ngx_guildlog_route_t *ngx_guildlog_route_match(
    ngx_guildlog_plane_e plane, ngx_uint_t method, const ngx_str_t *path,
    ngx_str_t *guild, ngx_str_t *pieces, ngx_uint_t *methods);

/* parses a body, and holds it against the route's table; returns as args_body()
   does */
ngx_int_t ngx_guildlog_route_match_body(ngx_pool_t *pool,
    const ngx_guildlog_route_t *route, const ngx_str_t *text, json_t **body,
    ngx_str_t *error);

/*
 * Holds each of several changes against the table of its own endpoint.  *calls
 * says to the database what they are, as JSON: [name of the endpoint, the piece
 * of its path if it has one]...  Returns as args_body() does.
 */
ngx_int_t ngx_guildlog_route_match_changes(ngx_pool_t *pool, json_t *body,
    ngx_str_t *calls, ngx_str_t *error);


/* the number of a language by its name; that of "en" is 0 */
ngx_uint_t ngx_guildlog_route_locale(const ngx_str_t *name);


#endif /* _NGX_GUILDLOG_ROUTE_H_INCLUDED_ */
