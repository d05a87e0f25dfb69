
/*
 * The two forms of the status page, JSON and Prometheus text, from one walk
 * over the metrics.
 */

#ifndef _NGX_HTTP_GUILDLOG_STATUS_FORM_H_INCLUDED_
#define _NGX_HTTP_GUILDLOG_STATUS_FORM_H_INCLUDED_


#include "http/ngx_http_guildlog.h"
#include "base/ngx_guildlog_json.h"


typedef struct ngx_http_guildlog_metric_s  ngx_http_guildlog_metric_t;


typedef struct {
    ngx_guildlog_json_t                out;
    ngx_uint_t                         prometheus;
    const ngx_http_guildlog_metric_t  *metric;  /* that is written */
    const char                        *group;   /* NULL: no group is open */
} ngx_http_guildlog_status_form_t;


/* writes the samples of form->metric */
typedef void (*ngx_http_guildlog_metric_pt)(
    ngx_http_guildlog_status_form_t *form);


struct ngx_http_guildlog_metric_s {
    const char                        *name;
    const char                        *type;
    const char                        *help;
    ngx_http_guildlog_metric_pt        write;
    ngx_uint_t                         index;   /* or offset, for write() */
    ngx_uint_t                         us;      /* 1: values are microseconds
                                                   and shown as seconds */
    const char                        *labels;  /* names with spaces between;
                                                   NULL: one bare value */
    const char *const                 *words;   /* values of the label, for
                                                   write(); NULL: others */
    ngx_uint_t                         nwords;
};


void ngx_http_guildlog_status_form_init(ngx_http_guildlog_status_form_t *form,
    ngx_pool_t *pool, ngx_uint_t prometheus);

/* NGX_ERROR: out of memory */
ngx_int_t ngx_http_guildlog_status_form_done(
    ngx_http_guildlog_status_form_t *form, ngx_str_t *text);

/* head, samples and tail of a metric */
void ngx_http_guildlog_status_form_metric(ngx_http_guildlog_status_form_t *form,
    const ngx_http_guildlog_metric_t *metric);

/*
 * The samples that follow have this value of the first label, until the next
 * group or the end of the metric.  In JSON they are one object.
 */
void ngx_http_guildlog_status_form_group(
    ngx_http_guildlog_status_form_t *form, const char *value);

/* one and two are values of the labels that no group has set, or NULL */
void ngx_http_guildlog_status_form_sample(ngx_http_guildlog_status_form_t *form,
    const char *one, const char *two, ngx_uint_t n);

/* value: of the only label; nothing is written for an empty histogram */
void ngx_http_guildlog_status_form_histogram(
    ngx_http_guildlog_status_form_t *form, const char *value,
    const ngx_guildlog_histogram_t *h);


#endif /* _NGX_HTTP_GUILDLOG_STATUS_FORM_H_INCLUDED_ */
