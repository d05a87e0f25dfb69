
/*
 * The addresses of the operator's plane.
 *
 * Its fence: whoever reaches it can mint tokens, so the configuration has to
 * tell who may.  The folder of a unix socket does; over TCP an access directive
 * must, or "open".
 *
 * Its socket: nginx does not bind a path that exists.  So the socket of an
 * nginx that was killed would keep the next one from starting, with all its
 * sites.  A socket that nobody listens on is removed.
 */

#include "http/ngx_http_guildlog_conf.h"

#if (NGX_HTTP_SSL)
#include <ngx_http_ssl_module.h>
#endif


typedef struct {
    ngx_http_core_loc_conf_t       *clcf;
    ngx_http_core_srv_conf_t       *cscf;
    ngx_uint_t                      open;
} conf_operator_t;


/* a rule of ngx_http_access_module, whose types are private */

typedef struct {
    in_addr_t                       mask;
    in_addr_t                       addr;
    ngx_uint_t                      deny;
} conf_operator_rule_t;


static ngx_int_t conf_operator_check_address(ngx_conf_t *cf,
    conf_operator_t *operator, ngx_http_conf_addr_t *addr);
#if (NGX_HAVE_UNIX_DOMAIN)
static void conf_operator_clear(ngx_conf_t *cf, struct sockaddr *sockaddr);
#endif
static ngx_uint_t conf_operator_serves_address(ngx_http_conf_addr_t *addr,
    ngx_http_core_srv_conf_t *cscf);
static ngx_uint_t conf_operator_has_fence(ngx_conf_t *cf,
    conf_operator_t *operator);
static ngx_uint_t conf_operator_denies(ngx_array_t *rules);
static void *conf_operator_said(ngx_conf_t *cf, const char *module,
    ngx_http_core_loc_conf_t *clcf);


ngx_int_t
ngx_http_guildlog_conf_operator_add(ngx_conf_t *cf, ngx_uint_t open)
{
    conf_operator_t                *operator;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);

    if (gmcf->operators == NULL) {
        gmcf->operators = ngx_array_create(cf->pool, 2,
                                      sizeof(conf_operator_t));
        if (gmcf->operators == NULL) {
            return NGX_ERROR;
        }
    }

    operator = ngx_array_push(gmcf->operators);
    if (operator == NULL) {
        return NGX_ERROR;
    }

    operator->clcf = ngx_http_conf_get_module_loc_conf(cf,
                                                       ngx_http_core_module);
    operator->cscf = ngx_http_conf_get_module_srv_conf(cf,
                                                       ngx_http_core_module);
    operator->open = open;

    return NGX_OK;
}


ngx_int_t
ngx_http_guildlog_conf_operator_check(ngx_conf_t *cf)
{
    ngx_uint_t                      i, j, n;
    conf_operator_t                *operator;
    ngx_http_conf_addr_t           *addr;
    ngx_http_conf_port_t           *port;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_guildlog_main_conf_t  *gmcf;

    gmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_guildlog_module);
    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    if (gmcf->operators == NULL || cmcf->ports == NULL) {
        return NGX_OK;
    }

    operator = gmcf->operators->elts;
    port = cmcf->ports->elts;

    for (i = 0; i < cmcf->ports->nelts; i++) {

        addr = port[i].addrs.elts;

        for (j = 0; j < port[i].addrs.nelts; j++) {
            for (n = 0; n < gmcf->operators->nelts; n++) {

                if (conf_operator_check_address(cf, &operator[n], &addr[j])
                    != NGX_OK)
                {
                    return NGX_ERROR;
                }
            }
        }
    }

    return NGX_OK;
}


static ngx_int_t
conf_operator_check_address(ngx_conf_t *cf, conf_operator_t *operator,
    ngx_http_conf_addr_t *addr)
{
    if (!conf_operator_serves_address(addr, operator->cscf)) {
        return NGX_OK;
    }

#if (NGX_HAVE_UNIX_DOMAIN)
    if (addr->opt.sockaddr->sa_family == AF_UNIX) {
        conf_operator_clear(cf, addr->opt.sockaddr);
        return NGX_OK;
    }
#endif

    if (operator->open || conf_operator_has_fence(cf, operator)) {
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"guildlog_operator\" in location \"%V\" can be "
                       "reached over TCP by everybody: use a unix socket, "
                       "\"allow\" and \"deny\", \"auth_basic\", "
                       "\"auth_request\" or \"ssl_verify_client\", or say "
                       "\"open\" if something else guards it",
                       &operator->clcf->name);

    return NGX_ERROR;
}


static ngx_uint_t
conf_operator_serves_address(ngx_http_conf_addr_t *addr,
    ngx_http_core_srv_conf_t *cscf)
{
    ngx_uint_t                  i;
    ngx_http_core_srv_conf_t  **server;

    server = addr->servers.elts;

    for (i = 0; i < addr->servers.nelts; i++) {
        if (server[i] == cscf) {
            return 1;
        }
    }

    return 0;
}


#if (NGX_HAVE_UNIX_DOMAIN)

static void
conf_operator_clear(ngx_conf_t *cf, struct sockaddr *sockaddr)
{
    int                  rc;
    char                *path;
    ngx_err_t            err;
    ngx_socket_t         s;
    ngx_file_info_t      info;
    struct sockaddr_un  *address;

    if (ngx_test_config || ngx_process == NGX_PROCESS_SIGNALLER) {
        return;
    }

    address = (struct sockaddr_un *) sockaddr;
    path = address->sun_path;

    /* connect() is refused by a file that is no socket, too */

    if (ngx_link_info(path, &info) == NGX_FILE_ERROR
        || !S_ISSOCK(info.st_mode))
    {
        return;
    }

    s = ngx_socket(AF_UNIX, SOCK_STREAM, 0);
    if (s == (ngx_socket_t) -1) {
        return;
    }

    /* a listener that is busy must not hold this up: it is there */

    rc = ngx_nonblocking(s);

    if (rc == 0) {
        rc = connect(s, sockaddr, sizeof(struct sockaddr_un));
    }

    err = rc == -1 ? ngx_socket_errno : 0;

    (void) ngx_close_socket(s);

    if (err != NGX_ECONNREFUSED) {
        return;
    }

    if (ngx_delete_file(path) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, ngx_errno,
                           ngx_delete_file_n " \"%s\" failed", path);
        return;
    }

    ngx_conf_log_error(NGX_LOG_NOTICE, cf, 0,
                       "nobody listened on \"unix:%s\", it is removed", path);
}

#endif


static ngx_uint_t
conf_operator_has_fence(ngx_conf_t *cf, conf_operator_t *operator)
{
    ngx_http_complex_value_t  *realm;
#if (NGX_HTTP_SSL)
    ngx_http_ssl_srv_conf_t   *sscf;

    sscf = operator->cscf->ctx->srv_conf[ngx_http_ssl_module.ctx_index];

    if (sscf->verify == 1) {
        return 1;
    }
#endif

    realm = conf_operator_said(cf, "ngx_http_auth_basic_module",
                               operator->clcf);

    if (realm && !(realm->lengths == NULL && realm->value.len == 3
                   && ngx_strncmp(realm->value.data, "off", 3) == 0))
    {
        return 1;
    }

    return conf_operator_denies(conf_operator_said(cf,
                                   "ngx_http_access_module", operator->clcf))
           || conf_operator_said(cf, "ngx_http_auth_request_module",
                                 operator->clcf) != NULL;
}


/*
 * nginx lets in whom no rule matches.  So the rules are a fence if the first
 * one that matches everybody denies.
 */

static ngx_uint_t
conf_operator_denies(ngx_array_t *rules)
{
    ngx_uint_t             i;
    conf_operator_rule_t  *rule;

    if (rules == NULL || rules->size != sizeof(conf_operator_rule_t)) {
        return 0;
    }

    rule = rules->elts;

    for (i = 0; i < rules->nelts; i++) {
        if (rule[i].mask == 0) {
            return rule[i].deny;
        }
    }

    return 0;
}


/*
 * The first field of a module's configuration for that location, NULL if it is
 * not set.  These structures are private to their modules.  Each begins with
 * the field that matters here: the rules for IPv4 (of which "deny all" is one),
 * the realm, the length of the URI.
 */

static void *
conf_operator_said(ngx_conf_t *cf, const char *module,
    ngx_http_core_loc_conf_t *clcf)
{
    void         **conf;
    ngx_uint_t     i;
    ngx_module_t  *m;

    for (i = 0; cf->cycle->modules[i]; i++) {
        m = cf->cycle->modules[i];

        if (m->type == NGX_HTTP_MODULE && ngx_strcmp(m->name, module) == 0) {
            conf = clcf->loc_conf[m->ctx_index];
            return conf[0];
        }
    }

    return NULL;
}
