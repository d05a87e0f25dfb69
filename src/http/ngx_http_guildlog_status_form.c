
/*
 * The two forms of the status page.
 */

#include "http/ngx_http_guildlog_status_form.h"


#define STATUS_FORM_NUMBER  (2 * NGX_INT_T_LEN)
#define STATUS_FORM_LINE    1024


static u_char *status_form_labels(ngx_http_guildlog_status_form_t *form,
    u_char *p, u_char *last, const char *one, const char *two);
static ngx_str_t status_form_number(u_char *buf, ngx_uint_t n, ngx_uint_t us);
static void status_form_line(ngx_http_guildlog_status_form_t *form,
    const char *fmt, ...);


void
ngx_http_guildlog_status_form_init(ngx_http_guildlog_status_form_t *form,
    ngx_pool_t *pool, ngx_uint_t prometheus)
{
    ngx_guildlog_json_init(&form->out, pool, 16384);

    form->prometheus = prometheus;

    if (!prometheus) {
        ngx_guildlog_json_begin(&form->out, '{');
    }
}


ngx_int_t
ngx_http_guildlog_status_form_done(ngx_http_guildlog_status_form_t *form,
    ngx_str_t *text)
{
    if (!form->prometheus) {
        ngx_guildlog_json_end(&form->out);
    }

    return ngx_guildlog_json_written(&form->out, text);
}


void
ngx_http_guildlog_status_form_metric(ngx_http_guildlog_status_form_t *form,
    const ngx_http_guildlog_metric_t *metric)
{
    form->metric = metric;
    form->group = NULL;

    if (form->prometheus) {
        status_form_line(form, "# HELP guildlog_%s %s\n"
                         "# TYPE guildlog_%s %s\n",
                         metric->name, metric->help,
                         metric->name, metric->type);
        metric->write(form);
        return;
    }

    ngx_guildlog_json_key(&form->out, metric->name);

    if (metric->labels == NULL) {
        metric->write(form);
        return;
    }

    ngx_guildlog_json_begin(&form->out, '{');

    metric->write(form);

    if (form->group) {
        ngx_guildlog_json_end(&form->out);
    }

    ngx_guildlog_json_end(&form->out);
}


void
ngx_http_guildlog_status_form_group(ngx_http_guildlog_status_form_t *form,
    const char *value)
{
    if (!form->prometheus) {
        if (form->group) {
            ngx_guildlog_json_end(&form->out);
        }

        ngx_guildlog_json_key(&form->out, value);
        ngx_guildlog_json_begin(&form->out, '{');
    }

    form->group = value;
}


void
ngx_http_guildlog_status_form_sample(ngx_http_guildlog_status_form_t *form,
    const char *one, const char *two, ngx_uint_t n)
{
    u_char      buf[STATUS_FORM_NUMBER],
                key[STATUS_FORM_LINE], *p;
    ngx_str_t   number;

    number = status_form_number(buf, n, form->metric->us);

    if (form->prometheus) {
        p = status_form_labels(form, key, key + sizeof(key), one, two);

        status_form_line(form, "guildlog_%s%*s %V\n", form->metric->name,
                         (size_t) (p - key), key, &number);
        return;
    }

    if (one) {
        p = ngx_slprintf(key, key + sizeof(key) - 1, two ? "%s %s" : "%s",
                         one, two);
        *p = '\0';

        ngx_guildlog_json_key(&form->out, (char *) key);
    }

    ngx_guildlog_json_raw(&form->out, &number);
}


/* the labels of a sample, as {call="execute",status="200"} */

static u_char *
status_form_labels(ngx_http_guildlog_status_form_t *form, u_char *p,
    u_char *last, const char *one, const char *two)
{
    size_t        len;
    ngx_uint_t    i;
    const char   *label;
    const char   *values[] = { form->group, one, two };

    i = form->group ? 0 : 1;

    for (label = form->metric->labels; label && *label && i < 3; label += len) {
        label += (*label == ' ');
        len = strcspn(label, " ");

        p = ngx_slprintf(p, last, "%c%*s=\"%s\"",
                         label == form->metric->labels ? '{' : ',', len,
                         label, values[i++]);
    }

    return form->metric->labels ? ngx_slprintf(p, last, "}") : p;
}


/* buckets of Prometheus include the smaller ones; in JSON count and sum do */

void
ngx_http_guildlog_status_form_histogram(ngx_http_guildlog_status_form_t *form,
    const char *value, const ngx_guildlog_histogram_t *h)
{
    u_char       buf[STATUS_FORM_NUMBER];
    ngx_str_t    seconds;
    ngx_uint_t   i, n;
    const char  *name, *label;

    if (h->count == 0) {
        return;
    }

    if (!form->prometheus) {
        ngx_http_guildlog_status_form_group(form, value);
        ngx_guildlog_json_key(&form->out, "count");
        ngx_guildlog_json_number(&form->out, h->count);
        ngx_guildlog_json_key(&form->out, "sum_us");
        ngx_guildlog_json_number(&form->out, h->sum_us);
        return;
    }

    n = 0;
    name = form->metric->name;
    label = form->metric->labels;

    for (i = 0; i < NGX_GUILDLOG_STATS_BUCKETS - 1; i++) {
        n += h->buckets[i];
        seconds = status_form_number(buf, ngx_guildlog_stats_bounds_us[i], 1);

        status_form_line(form, "guildlog_%s_bucket{%s=\"%s\","
                         "le=\"%V\"} %ui\n", name, label,
                         value, &seconds, n);
    }

    n += h->buckets[i];
    seconds = status_form_number(buf, h->sum_us, 1);

    status_form_line(form,
        "guildlog_%s_bucket{%s=\"%s\",le=\"+Inf\"} %ui\n"
        "guildlog_%s_sum{%s=\"%s\"} %V\n"
        "guildlog_%s_count{%s=\"%s\"} %ui\n",
        name, label, value, n, name, label, value, &seconds,
        name, label, value, n);
}


static ngx_str_t
status_form_number(u_char *buf, ngx_uint_t n, ngx_uint_t us)
{
    ngx_str_t  number;

    number.data = buf;
    number.len = (us ? ngx_sprintf(buf, "%ui.%06ui", n / 1000000, n % 1000000)
                     : ngx_sprintf(buf, "%ui", n))
                 - buf;

    return number;
}


static void
status_form_line(ngx_http_guildlog_status_form_t *form, const char *fmt, ...)
{
    u_char   buf[STATUS_FORM_LINE], *last;
    va_list  args;

    va_start(args, fmt);
    last = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args);
    va_end(args);

    ngx_guildlog_json_literal(&form->out, buf, last - buf);
}
