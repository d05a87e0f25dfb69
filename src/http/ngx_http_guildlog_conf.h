
/*
 * What the directives say, read into the configuration.
 */

#ifndef _NGX_HTTP_GUILDLOG_CONF_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_CONF_H_INCLUDED_


#include "http/ngx_http_guildlog.h"


char *ngx_http_guildlog_conf_database(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/*
 * An empty name becomes "default".  NULL, logged: there is none, or it is a
 * standby although none is wanted, or the other way round.
 */
ngx_guildlog_database_t *ngx_http_guildlog_conf_database_find(ngx_conf_t *cf,
    ngx_str_t *name, ngx_uint_t standby);

/* do both have the same hosts, port and dbname, perhaps by another role? */
ngx_uint_t ngx_http_guildlog_conf_database_same(
    const ngx_guildlog_database_t *one, const ngx_guildlog_database_t *other);


char *ngx_http_guildlog_conf_key(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_auth(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* a size; "off" is 0 */
char *ngx_http_guildlog_conf_size_or_off(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

typedef enum {
    NGX_HTTP_GUILDLOG_CONF_STRING = 0,
    NGX_HTTP_GUILDLOG_CONF_FILE,    /* its full name */
    NGX_HTTP_GUILDLOG_CONF_NUMBER,
    NGX_HTTP_GUILDLOG_CONF_TIME,    /* in milliseconds */
    NGX_HTTP_GUILDLOG_CONF_FLAG,    /* "on" or "off" */
    NGX_HTTP_GUILDLOG_CONF_WORD,    /* a flag, by its name alone; min 1: once */
    NGX_HTTP_GUILDLOG_CONF_PATH,    /* what begins with a slash, once */
    NGX_HTTP_GUILDLOG_CONF_OTHER    /* what set() makes of it */
} ngx_http_guildlog_conf_type_e;


/* a parameter of a directive, and the field that it sets */

typedef struct {
    const char                    *name;
    size_t                         offset;
    ngx_http_guildlog_conf_type_e  type;
    ngx_int_t                      min;      /* of a number, or of a time */
    ngx_int_t                      max;

    /* NGX_CONF_ERROR: the value is invalid; otherwise what else it is */
    char                        *(*set)(ngx_conf_t *cf, void *field,
                                        ngx_str_t *value);
} ngx_http_guildlog_conf_param_t;

/* rows of a table of them, whose fields are of a structure of that type */

#define conf_row(name, offset, type, min, max, set)                           \
    { name, offset, NGX_HTTP_GUILDLOG_CONF_##type, min, max, set }

#define conf_string(name, type, field)                                        \
    conf_row(name, offsetof(type, field), STRING, 0, 0, NULL)
#define conf_file(name, type, field)                                          \
    conf_row(name, offsetof(type, field), FILE, 0, 0, NULL)
#define conf_number(name, type, field, min, max)                              \
    conf_row(name, offsetof(type, field), NUMBER, min, max, NULL)
#define conf_time(name, type, field, min, max)                                \
    conf_row(name, offsetof(type, field), TIME, min, max, NULL)
#define conf_flag(name, type, field)                                          \
    conf_row(name, offsetof(type, field), FLAG, 0, 0, NULL)
#define conf_word(name, type, field)                                          \
    conf_row(name, offsetof(type, field), WORD, 0, 0, NULL)
#define conf_word_once(name, type, field)                                     \
    conf_row(name, offsetof(type, field), WORD, 1, 0, NULL)
#define conf_path(name, type, field)                                          \
    conf_row(name, offsetof(type, field), PATH, 0, 0, NULL)
#define conf_other(name, type, field, set)                                    \
    conf_row(name, offsetof(type, field), OTHER, 0, 0, set)
#define conf_last  conf_row(NULL, 0, STRING, 0, 0, NULL)

/*
 * Sets the fields of a configuration by the arguments from that one on.  The
 * table ends with a NULL name.  NGX_CONF_ERROR: logged.
 */
char *ngx_http_guildlog_conf_params(ngx_conf_t *cf,
    const ngx_http_guildlog_conf_param_t *params, void *conf, ngx_uint_t from);

/*
 * Reads a file, given by its full name, as far as the buffer goes.  One that
 * everybody may read is logged at that level (0: it is no secret), and refused
 * if it is NGX_LOG_EMERG.  -1: logged.
 */
ssize_t ngx_http_guildlog_conf_read(ngx_conf_t *cf, ngx_str_t *file,
    u_char *buf, size_t size, ngx_uint_t level);

/* NULL: logged */
ngx_shm_zone_t *ngx_http_guildlog_conf_zone(ngx_conf_t *cf, ngx_str_t *name,
    size_t size, ngx_shm_zone_init_pt init);

/* that each zone of a limit has a size; NGX_ERROR: logged */
ngx_int_t ngx_http_guildlog_conf_zones_check(ngx_conf_t *cf);

/* the module has something to do */
void ngx_http_guildlog_conf_used(ngx_conf_t *cf);


char *ngx_http_guildlog_conf_keeper(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* marks the databases that get a keeper, when all are known */
ngx_int_t ngx_http_guildlog_conf_keeper_init(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf);


char *ngx_http_guildlog_conf_limit_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* the limit of a location without guildlog_limit; NULL: logged */
ngx_http_guildlog_limit_conf_t *ngx_http_guildlog_conf_limit_default(
    ngx_conf_t *cf, ngx_uint_t requests, ngx_msec_t window);

#define NGX_HTTP_GUILDLOG_CONF_LIMIT_REQUESTS  500
#define NGX_HTTP_GUILDLOG_CONF_LIMIT_WINDOW    10000


char *ngx_http_guildlog_conf_login(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* completes a location that is a sign-in */
char *ngx_http_guildlog_conf_login_merge(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf);


/* guildlog_api and guildlog_operator */
char *ngx_http_guildlog_conf_plane(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_plane_status(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* is a location a regular expression, or named, so that it has no prefix? */
ngx_uint_t ngx_http_guildlog_conf_plane_is_pattern(
    ngx_http_core_loc_conf_t *clcf);

/* checks a location that serves a plane, and finds its database */
char *ngx_http_guildlog_conf_plane_merge(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf);


char *ngx_http_guildlog_conf_delivery_platform(ngx_conf_t *cf,
    ngx_command_t *cmd, void *conf);
char *ngx_http_guildlog_conf_delivery_rate(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_delivery_bot_token(ngx_conf_t *cf,
    ngx_command_t *cmd, void *conf);
char *ngx_http_guildlog_conf_delivery(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* when all of the configuration is read */
char *ngx_http_guildlog_conf_delivery_init(ngx_conf_t *cf,
    ngx_http_guildlog_main_conf_t *gmcf);


char *ngx_http_guildlog_conf_message_links(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_guildlog_conf_message_webhook(ngx_conf_t *cf,
    ngx_command_t *cmd, void *conf);


/*
 * NGX_ERROR, logged: one of them can be reached by everybody over TCP.  Removes
 * the sockets that an nginx left behind.
 */
ngx_int_t ngx_http_guildlog_conf_operator_check(ngx_conf_t *cf);


char *ngx_http_guildlog_viewer(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_int_t ngx_http_guildlog_viewer_policy(ngx_conf_t *cf,
    ngx_http_guildlog_loc_conf_t *conf);

/* puts its filter of headers before the others */
void ngx_http_guildlog_viewer_init(void);


#endif /* _NGX_HTTP_GUILDLOG_CONF_H_INCLUDED_ */
