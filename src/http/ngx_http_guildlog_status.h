
/*
 * Between the files of the status page: a form is JSON or Prometheus text, and
 * gets families with samples, or single values.
 */

#ifndef _NGX_HTTP_GUILDLOG_STATUS_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_STATUS_H_INCLUDED_


#include "http/ngx_http_guildlog.h"


typedef struct {
    ngx_guildlog_json_t            out;
    ngx_uint_t                     prometheus;
    const char                    *family;
} ngx_http_guildlog_status_t;


typedef struct {
    const char                    *name;
    const char                    *type;
    const char                    *help;
    ngx_uint_t                     index;
    ngx_uint_t                     us;      /* shown as seconds */
} ngx_http_guildlog_metric_t;


void ngx_http_guildlog_status_begin(ngx_http_guildlog_status_t *st,
    const char *name, const char *type, const char *help);
void ngx_http_guildlog_status_end(ngx_http_guildlog_status_t *st);

/* a sample of the family; one with an object around it only in JSON */
void ngx_http_guildlog_status_sample(ngx_http_guildlog_status_t *st,
    const char *label, const char *value, ngx_uint_t n);
void ngx_http_guildlog_status_open(ngx_http_guildlog_status_t *st,
    const char *value);
void ngx_http_guildlog_status_close(ngx_http_guildlog_status_t *st);

/* a family of one */
void ngx_http_guildlog_status_value(ngx_http_guildlog_status_t *st,
    const ngx_http_guildlog_metric_t *metric, ngx_uint_t n);

/* as it is, Prometheus only */
void ngx_http_guildlog_status_line(ngx_http_guildlog_status_t *st,
    const char *fmt, ...);

/* a status of HTTP in letters, with a zero behind it; 0: the word for that */
#define NGX_HTTP_GUILDLOG_STATUS_CODE  (NGX_INT_T_LEN + 1)

void ngx_http_guildlog_status_code(u_char *buf, ngx_uint_t code,
    const char *word);

/* ngx_http_guildlog_status_delivery.c */

void ngx_http_guildlog_status_delivery(ngx_http_guildlog_status_t *st);


#endif /* _NGX_HTTP_GUILDLOG_STATUS_H_INCLUDED_ */
