
/*
 * The configuration, what a worker holds, and the module itself.
 */

#ifndef _NGX_HTTP_GUILDLOG_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "base/ngx_guildlog.h"
#include "base/ngx_guildlog_cache.h"
#include "client/ngx_guildlog_client.h"
#include "db/ngx_guildlog_db_pool.h"
#include "jobs/ngx_guildlog_delivery.h"
#include "jobs/ngx_guildlog_keeper.h"
#include "jobs/ngx_guildlog_pairs.h"
#include "api/ngx_guildlog_route.h"
#include "login/ngx_guildlog_login.h"
#include "shm/ngx_guildlog_stats.h"
#include "token/ngx_guildlog_token_keys.h"


typedef struct {
    ngx_array_t                    databases;  /* of database_t pointers */
    ngx_array_t                   *operators;  /* their locations */
    ngx_shm_zone_t                *limit_zone; /* of the name "guildlog" */
    ngx_shm_zone_t                *stats_zone;
    ngx_shm_zone_t                *seats_zone;
    ngx_guildlog_keeper_conf_t     keeper;
    ngx_array_t                   *keeper_databases;  /* names; NULL: all */
    ngx_guildlog_delivery_conf_t   delivery;
    ngx_str_t                      delivery_secret;    /* its file */
    ngx_str_t                      delivery_database;
    ngx_guildlog_database_t       *delivers_to;
    ngx_flag_t                     delivers;
    ngx_flag_t                     logs_in;    /* a guildlog_login */
    size_t                         page_cache; /* of each worker */
    size_t                         search_cache;  /* likewise */
    ngx_flag_t                     used;       /* any directive at all */
} ngx_http_guildlog_main_conf_t;


typedef struct {
    ngx_str_t                      zone_name;
    ngx_shm_zone_t                *zone;
    ngx_http_complex_value_t      *key;        /* NULL: token or address */
    ngx_uint_t                     requests;
    ngx_msec_t                     window;
    ngx_str_t                      prefix;     /* of keys in a shared zone:
                                                  requests, window, the
                                                  key's source */
    ngx_str_t                      policy;     /* the RateLimit-Policy */
    ngx_flag_t                     dry_run;
} ngx_http_guildlog_limit_conf_t;


/* one guildlog_login directive */

typedef struct {
    ngx_guildlog_login_keys_t      keys;
    ngx_array_t                    secrets;    /* ngx_str_t, of files */
    ngx_str_t                      redirect;   /* empty: the callback here */
    ngx_str_t                      scope;
    ngx_str_t                      database_name;
    ngx_str_t                      authorization;  /* of the client */
    ngx_str_t                      authorize;  /* the platform's page */
    ngx_str_t                      origin;     /* of redirect, or empty */
    ngx_str_t                      prefix;     /* without a closing slash */
    ngx_str_t                      viewer;     /* a path of this origin */
    ngx_guildlog_database_t       *database;
    ngx_http_guildlog_limit_conf_t  *starts;   /* each state is good once */
} ngx_http_guildlog_login_conf_t;


typedef struct {
    ngx_http_guildlog_login_conf_t  *login;    /* NULL: nobody signs in */
} ngx_http_guildlog_srv_conf_t;


typedef struct {
    ngx_guildlog_token_keys_t     *keys;
    ngx_str_t                      issuer;
    ngx_uint_t                     auth;       /* 0: off, else the weakest
                                                  kind let in */
    ngx_http_guildlog_limit_conf_t  *own_limit;  /* said or inherited */
    ngx_http_guildlog_limit_conf_t  *limit;    /* in force; NULL: off */
    ngx_uint_t                     limit_log_level;
    ngx_flag_t                     serves;     /* a plane is mounted here */
    ngx_flag_t                     open;       /* the operator's plane needs
                                                  no fence of nginx */
    ngx_guildlog_plane_e           plane;
    ngx_str_t                      prefix;     /* without a closing slash */
    ngx_str_t                      database_name;
    ngx_guildlog_database_t       *database;
    ngx_str_t                      plan;       /* of guilds that events make
                                                  known */
    ngx_str_t                      reads_name;
    ngx_guildlog_database_t       *reads;      /* a standby of it; or NULL */
    ngx_msec_t                     max_lag;    /* of it, to be asked */
    size_t                         max_body;
    ngx_http_guildlog_login_conf_t  *login;    /* this is its location */
    ngx_str_t                      frames;     /* who may frame the viewer */
    ngx_str_t                      viewer;     /* its policy, or empty */
    ngx_flag_t                     images;     /* of people, from elsewhere */
} ngx_http_guildlog_loc_conf_t;


/*
 * Seconds for which a worker keeps pages, and strings of segments.  A database
 * that was restored from a backup, or a standby that had not received
 * everything, may give another page the same state.  The limit bounds how long
 * the old page is then sent.
 */

#define NGX_HTTP_GUILDLOG_PAGE_AGE     60
#define NGX_HTTP_GUILDLOG_STRINGS_AGE  600


typedef struct ngx_http_guildlog_feed_s  ngx_http_guildlog_feed_t;


/* what a worker holds; NULL pools in processes that serve no requests */

typedef struct {
    ngx_guildlog_stats_t           stats;
    ngx_guildlog_pace_t            pace;       /* of what requests ask */
    ngx_connection_t              *watch;      /* tells of the last moment */
    ngx_shm_zone_t                *seats;
    ngx_guildlog_cache_t          *cache;
    ngx_guildlog_cache_t          *pages;      /* NULL: none is wanted */
    ngx_guildlog_cache_t          *strings;    /* likewise, of segments */
    ngx_guildlog_cache_t          *rests;      /* likewise, of people */
    ngx_guildlog_db_pool_t       **pools;      /* by database->index */
    ngx_guildlog_keeper_t        **keepers;    /* the same, in one worker */
    ngx_guildlog_pairs_t         **pairs;      /* of operators, likewise */
    ngx_uint_t                     npools;
    ngx_guildlog_delivery_t       *delivery;   /* in one worker */
    ngx_guildlog_client_t         *client;     /* of requests; or NULL */
    ngx_http_guildlog_feed_t     **feeds;      /* likewise; NULL: not used */
} ngx_http_guildlog_worker_t;


extern ngx_module_t                ngx_http_guildlog_module;
extern ngx_http_guildlog_worker_t  ngx_http_guildlog_worker;


#endif /* _NGX_HTTP_GUILDLOG_H_INCLUDED_ */
