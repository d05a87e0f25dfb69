
/*
 * One connection to PostgreSQL: find the host, connect, be ready (then
 * pipeline.c has it), end.  A state is pg->handler.  Nothing here blocks.
 */

#include <ngx_config.h>
#include <openssl/ssl.h>
#include <openssl/err.h>
#include "db/ngx_guildlog_db.h"


#define NGX_GUILDLOG_PG_AGE        3600000            /* ms, about */
#define NGX_GUILDLOG_PG_PARAMS     32

/* a file that cannot exist: libpq looks into a home directory otherwise */
#define NGX_GUILDLOG_PG_NOWHERE    "/dev/null/none"


typedef struct {
    const char  *keys[NGX_GUILDLOG_PG_PARAMS];
    const char  *values[NGX_GUILDLOG_PG_PARAMS];
    ngx_uint_t   n;
} ngx_guildlog_pg_params_t;


static PGconn *ngx_guildlog_pg_start(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pg_param(ngx_guildlog_pg_params_t *params,
    const char *key, const char *value);
static void ngx_guildlog_pg_event_handler(ngx_event_t *ev);
static void ngx_guildlog_pg_poll(ngx_guildlog_pg_t *pg, ngx_uint_t write);
static void ngx_guildlog_pg_setup(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pg_notice(void *data, const PGresult *res);
static void ngx_guildlog_pg_connect_expired(ngx_event_t *ev);
static void ngx_guildlog_pg_aged(ngx_event_t *ev);
static ngx_int_t ngx_guildlog_pg_watch(ngx_guildlog_pg_t *pg,
    ngx_uint_t write);
static void ngx_guildlog_pg_unwatch(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pg_drop(ngx_guildlog_pg_t *pg);
static void ngx_guildlog_pg_end(ngx_guildlog_pg_t *pg);


ngx_guildlog_pg_t *
ngx_guildlog_pg_create(ngx_guildlog_db_pool_t *pool, ngx_guildlog_site_t *site,
    ngx_guildlog_set_t *set, ngx_msec_t timeout)
{
    ngx_guildlog_pg_t  *pg;

    pg = ngx_calloc(sizeof(ngx_guildlog_pg_t), site->log);
    if (pg == NULL) {
        return NULL;
    }

    pg->fd = (ngx_socket_t) -1;
    pg->pool = pool;
    pg->site = site;
    pg->set = set;
    pg->timeout = timeout;

    pg->timer.data = pg;
    pg->timer.log = site->log;

    ngx_queue_init(&pg->flight);

    return pg;
}


void
ngx_guildlog_pg_open(ngx_guildlog_pg_t *pg)
{
    pg->host = pg->site->host;
    pg->hosts_left = pg->site->database->hosts.nelts;

    ngx_guildlog_host_find(pg);
}


void
ngx_guildlog_pg_connect(ngx_guildlog_pg_t *pg)
{
    pg->astray = 0;
    pg->conn = ngx_guildlog_pg_start(pg);

    if (pg->conn == NULL) {
        ngx_guildlog_pg_next(pg, "out of memory");
        return;
    }

    if (PQstatus(pg->conn) == CONNECTION_BAD
        || PQsetnonblocking(pg->conn, 1) != 0)
    {
        ngx_guildlog_pg_next(pg, PQerrorMessage(pg->conn));
        return;
    }

    (void) PQsetNoticeReceiver(pg->conn, ngx_guildlog_pg_notice, pg);

    pg->handler = ngx_guildlog_pg_poll;
    pg->timer.handler = ngx_guildlog_pg_connect_expired;
    ngx_add_timer(&pg->timer, pg->site->database->connect_timeout);

    if (ngx_guildlog_pg_watch(pg, 1) != NGX_OK) {
        ngx_guildlog_pg_next(pg, "the socket cannot be watched");
    }
}


static PGconn *
ngx_guildlog_pg_start(ngx_guildlog_pg_t *pg)
{
    u_char                          timeout[NGX_INT_T_LEN + 1];
    u_char                          options[256];
    ngx_guildlog_site_t            *site;
    const ngx_guildlog_database_t  *database;
    ngx_guildlog_pg_params_t        params;

    site = pg->site;
    database = site->database;

    ngx_sprintf(timeout, "%M%Z", pg->timeout);
    ngx_sprintf(options, "-c statement_timeout=%M"
                         " -c client_connection_check_interval=500"
                         " -c idle_in_transaction_session_timeout=10000%Z",
                pg->timeout);

    ngx_memzero(&params, sizeof(ngx_guildlog_pg_params_t));

    ngx_guildlog_pg_param(&params, "host",
                          database->resolved[pg->host].name);
    ngx_guildlog_pg_param(&params, "hostaddr", pg->addrs[pg->addr].text);
    ngx_guildlog_pg_param(&params, "port", site->port);
    ngx_guildlog_pg_param(&params, "dbname", site->dbname);
    ngx_guildlog_pg_param(&params, "user", site->user);
    ngx_guildlog_pg_param(&params, "password", site->password);
    ngx_guildlog_pg_param(&params, "passfile", NGX_GUILDLOG_PG_NOWHERE);

    ngx_guildlog_pg_param(&params, "sslmode", site->sslmode);
    ngx_guildlog_pg_param(&params, "sslrootcert", site->sslrootcert);
    ngx_guildlog_pg_param(&params, "sslcert", NGX_GUILDLOG_PG_NOWHERE);
    ngx_guildlog_pg_param(&params, "sslkey", NGX_GUILDLOG_PG_NOWHERE);
    ngx_guildlog_pg_param(&params, "sslcrl", NGX_GUILDLOG_PG_NOWHERE);
    ngx_guildlog_pg_param(&params, "gssencmode", "disable");

    ngx_guildlog_pg_param(&params, "application_name", "guildlog");
    ngx_guildlog_pg_param(&params, "client_encoding", "UTF8");
    ngx_guildlog_pg_param(&params, "tcp_user_timeout", (char *) timeout);
    ngx_guildlog_pg_param(&params, "keepalives_idle", "30");
    ngx_guildlog_pg_param(&params, "keepalives_interval", "5");
    ngx_guildlog_pg_param(&params, "keepalives_count", "3");

    if (database->hosts.nelts > 1) {
        ngx_guildlog_pg_param(&params, "target_session_attrs", "read-write");
    }

    if (database->prepare) {
        ngx_guildlog_pg_param(&params, "options", (char *) options);
    }

    return PQconnectStartParams(params.keys, params.values, 0);
}


/* libpq takes an empty value for a missing one */

static void
ngx_guildlog_pg_param(ngx_guildlog_pg_params_t *params, const char *key,
    const char *value)
{
    params->keys[params->n] = key;
    params->values[params->n] = value;
    params->n++;
}


static void
ngx_guildlog_pg_event_handler(ngx_event_t *ev)
{
    ngx_connection_t   *c;
    ngx_guildlog_pg_t  *pg;

    c = ev->data;
    pg = c->data;

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "guildlog pg event fd:%d write:%d", c->fd, ev->write);

    if (c->close) {
        if (c->error) {
            ngx_guildlog_db_pool_terminate(pg->pool);
        }

        ngx_guildlog_pg_close(pg);
        return;
    }

    pg->handler(pg, ev->write);

    if (!pg->ready || (pg->conn && PQsslInUse(pg->conn))) {
        ERR_clear_error();
    }
}


/*
 * libpq may close its socket and open another one under the same number in
 * any of these steps, hence nginx forgets the old one before each of them.
 */

static void
ngx_guildlog_pg_poll(ngx_guildlog_pg_t *pg, ngx_uint_t write)
{
    ngx_guildlog_pg_unwatch(pg);

    switch (PQconnectPoll(pg->conn)) {

    case PGRES_POLLING_OK:
        ngx_guildlog_pg_setup(pg);
        return;

    case PGRES_POLLING_READING:
        write = 0;
        break;

    case PGRES_POLLING_WRITING:
        write = 1;
        break;

    default: /* PGRES_POLLING_FAILED */
        ngx_guildlog_pg_next(pg, PQerrorMessage(pg->conn));
        return;
    }

    if (ngx_guildlog_pg_watch(pg, write) != NGX_OK) {
        ngx_guildlog_pg_next(pg, "the socket cannot be watched");
        return;
    }

    if (!write) {
        ngx_guildlog_pg_read_pending(pg);
    }
}


static void
ngx_guildlog_pg_setup(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_site_t  *site;

    site = pg->site;

    if (pg->astray) {
        ngx_guildlog_pg_next(pg, NGX_GUILDLOG_PG_ASTRAY);
        return;
    }

    if (PQenterPipelineMode(pg->conn) != 1) {
        ngx_guildlog_pg_next(pg, PQerrorMessage(pg->conn));
        return;
    }

    if (ngx_guildlog_pg_watch(pg, 0) != NGX_OK) {
        ngx_guildlog_pg_next(pg, "the socket cannot be watched");
        return;
    }

    if (site->failing[pg->host]) {
        site->failing[pg->host] = 0;
        ngx_log_error(NGX_LOG_NOTICE, site->log, 0,
                      "guildlog database \"%V\", host \"%s\": connected again",
                      &site->database->name,
                      site->database->resolved[pg->host].name);
    }

    site->host = pg->host;
    ngx_guildlog_host_forget(pg);

    pg->handler = ngx_guildlog_pipeline_io;
    pg->ready = 1;
    pg->ready_at = ngx_current_msec;
    pg->connection->idle = 1;

    pg->timer.handler = ngx_guildlog_pg_aged;
    pg->timer.cancelable = 1;
    ngx_del_timer(&pg->timer);
    ngx_add_timer(&pg->timer, NGX_GUILDLOG_PG_AGE / 10 * 9
                              + ngx_random() % (NGX_GUILDLOG_PG_AGE / 5));

    ngx_guildlog_pg_read_pending(pg);
    ngx_guildlog_set_ready(pg);
}


/*
 * A notice without SQLSTATE is libpq's own: it threw away a message it had
 * not expected.  One that is fatal is why the server is about to hang up.
 */

static void
ngx_guildlog_pg_notice(void *data, const PGresult *res)
{
    ngx_guildlog_pg_t *pg = data;

    const char  *severity;

    if (PQresultErrorField(res, PG_DIAG_SQLSTATE) == NULL) {
        pg->astray = 1;
        return;
    }

    severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity && (ngx_strcmp(severity, "FATAL") == 0
                     || ngx_strcmp(severity, "PANIC") == 0))
    {
        ngx_guildlog_db_result_line(pg->farewell, sizeof(pg->farewell),
                                    PQresultErrorMessage(res));
    }
}


static void
ngx_guildlog_pg_connect_expired(ngx_event_t *ev)
{
    ngx_guildlog_pg_next(ev->data, "timed out");
}


static void
ngx_guildlog_pg_aged(ngx_event_t *ev)
{
    ngx_guildlog_pg_t *pg = ev->data;

    if (pg->nflight == 0) {
        ngx_guildlog_pg_close(pg);
        return;
    }

    pg->worn = 1;
}


/*
 * Level-triggered, unlike nginx's own connections: libpq does not read until
 * EAGAIN, so an edge would be lost with data left in the kernel.
 */

static ngx_int_t
ngx_guildlog_pg_watch(ngx_guildlog_pg_t *pg, ngx_uint_t write)
{
    int                fd;
    ngx_connection_t  *c;

    fd = PQsocket(pg->conn);
    if (fd == -1) {
        return NGX_ERROR;
    }

    c = ngx_get_connection(fd, pg->site->log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = pg;
    c->read->handler = ngx_guildlog_pg_event_handler;
    c->read->log = pg->site->log;
    c->write->handler = ngx_guildlog_pg_event_handler;
    c->write->log = pg->site->log;

    pg->connection = c;

    return write ? ngx_add_event(c->write, NGX_WRITE_EVENT, 0)
                 : ngx_add_event(c->read, NGX_READ_EVENT, 0);
}


static void
ngx_guildlog_pg_unwatch(ngx_guildlog_pg_t *pg)
{
    ngx_uint_t         flags;
    ngx_connection_t  *c;

    c = pg->connection;

    if (c == NULL) {
        return;
    }

    /* libpq closes the socket on its own when the stream ends */

    flags = (PQsocket(pg->conn) == c->fd) ? 0 : NGX_CLOSE_EVENT;

    if (c->read->active) {
        (void) ngx_del_event(c->read, NGX_READ_EVENT, flags);
    }

    if (c->write->active) {
        (void) ngx_del_event(c->write, NGX_WRITE_EVENT, flags);
    }

    if (c->read->posted) {
        ngx_delete_posted_event(c->read);
    }

    if (c->write->posted) {
        ngx_delete_posted_event(c->write);
    }

    ngx_free_connection(c);
    c->fd = (ngx_socket_t) -1;

    pg->connection = NULL;
}


/* what OpenSSL has decrypted and not handed out raises no event */

void
ngx_guildlog_pg_read_pending(ngx_guildlog_pg_t *pg)
{
    SSL  *ssl;

    ssl = PQsslStruct(pg->conn, "OpenSSL");

    if (ssl && SSL_pending(ssl) > 0) {
        ngx_post_event(pg->connection->read, &ngx_posted_next_events);
    }
}


void
ngx_guildlog_pg_next(ngx_guildlog_pg_t *pg, const char *cause)
{
    u_char                line[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t            level;
    ngx_guildlog_site_t  *site;

    site = pg->site;

    level = site->failing[pg->host] ? NGX_LOG_INFO : NGX_LOG_ERR;
    site->failing[pg->host] = 1;

    ngx_guildlog_db_result_line(line, sizeof(line), cause);
    ngx_log_error(level, site->log, 0,
                  "guildlog database \"%V\", host \"%s\": connect failed: %s",
                  &site->database->name,
                  site->database->resolved[pg->host].name, line);

    ngx_guildlog_pg_drop(pg);

    if (++pg->addr < pg->naddrs) {
        ngx_guildlog_pg_connect(pg);
        return;
    }

    ngx_guildlog_host_forget(pg);

    if (--pg->hosts_left == 0) {
        ngx_guildlog_pg_end(pg);
        return;
    }

    pg->host = (pg->host + 1) % site->database->hosts.nelts;
    ngx_guildlog_host_find(pg);
}


void
ngx_guildlog_pg_fail(ngx_guildlog_pg_t *pg, const char *cause)
{
    u_char                line[NGX_MAX_ERROR_STR / 4];
    ngx_uint_t            level;
    ngx_guildlog_site_t  *site;

    site = pg->site;

    /* a restart of the server loses all of them for one cause */

    level = (ngx_time() - site->lost < 2) ? NGX_LOG_INFO : NGX_LOG_ERR;
    site->lost = ngx_time();

    ngx_guildlog_db_result_line(line, sizeof(line), cause);
    ngx_log_error(level, site->log, 0,
                  "guildlog database \"%V\", host \"%s\": connection lost: %s",
                  &site->database->name,
                  site->database->resolved[pg->host].name,
                  pg->farewell[0] ? pg->farewell : line);

    ngx_guildlog_pg_end(pg);
}


void
ngx_guildlog_pg_close(ngx_guildlog_pg_t *pg)
{
    pg->closing = 1;
    ngx_guildlog_pg_end(pg);
}


static void
ngx_guildlog_pg_end(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_pg_drop(pg);
    ngx_guildlog_host_forget(pg);
    ngx_guildlog_set_ended(pg);
}


/* nginx lets go of the socket, then libpq closes it */

static void
ngx_guildlog_pg_drop(ngx_guildlog_pg_t *pg)
{
    ngx_guildlog_pg_unwatch(pg);

    if (pg->timer.timer_set) {
        ngx_del_timer(&pg->timer);
    }

    if (pg->conn) {
        PQfinish(pg->conn);
        pg->conn = NULL;
        ERR_clear_error();
    }
}


void
ngx_guildlog_pg_free(ngx_guildlog_pg_t *pg)
{
    ngx_free(pg);
}


/* libpq's messages have several lines, and end in a line feed */

void
ngx_guildlog_db_result_line(u_char *line, size_t size, const char *text)
{
    u_char  *p, *last;

    last = line + size - 1;

    for (p = line; *text && p < last; text++) {

        if ((u_char) *text > ' ') {
            *p++ = *text;

        } else if (p > line && p[-1] != ' ') {
            *p++ = ' ';
        }
    }

    /* a character of UTF-8 is left out as a whole */

    if (((u_char) *text & 0xc0) == 0x80) {
        while (p > line && (*--p & 0xc0) == 0x80) { /* void */ }
    }

    if (p > line && p[-1] == ' ') {
        p--;
    }

    *p = '\0';
}
