
/*
 * What the files of a lane share: its facts, numbers out of rows, calls.
 */

#include "jobs/ngx_guildlog_lane.h"


static void ngx_guildlog_lane_read_ids(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static ngx_int_t ngx_guildlog_lane_copy(ngx_pool_t *pool, ngx_str_t *to,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_uint_t column);


ngx_int_t
ngx_guildlog_lane_read(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_int_t                            rc;
    ngx_str_t                            sealed, state, age;
    ngx_uint_t                           i;
    const ngx_guildlog_delivery_conf_t  *conf;

    struct {
        ngx_str_t  *to;
        ngx_uint_t  column;

    } texts[] = {
        { &lane->guild, NGX_GUILDLOG_FACT_GUILD },
        { &lane->id, NGX_GUILDLOG_FACT_LANE },
        { &lane->channel, NGX_GUILDLOG_FACT_CHANNEL },
        { &lane->webhook, NGX_GUILDLOG_FACT_WEBHOOK },
        { &lane->since, NGX_GUILDLOG_FACT_SINCE },
        { &sealed, NGX_GUILDLOG_FACT_SECRET }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {

        if (ngx_guildlog_lane_copy(lane->pool, texts[i].to, result, row,
                                   texts[i].column)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    state = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FACT_STATE);
    age = ngx_guildlog_db_result_value(result, row,
                                       NGX_GUILDLOG_FACT_ATTEMPT_MS);

    ngx_guildlog_lane_read_ids(lane, result, row);

    lane->key = ngx_guildlog_lane_number(&lane->id);
    lane->registering = state.data[0] == 'r';
    lane->lone = state.data[0] == 'd';
    lane->taken = 1;

#define ngx_guildlog_fact(name)                                               \
    ngx_guildlog_lane_column(result, row, NGX_GUILDLOG_FACT_##name)

    lane->shard = ngx_guildlog_fact(SHARD);
    lane->fence = ngx_guildlog_fact(FENCE);
    lane->bot = ngx_min(ngx_guildlog_fact(BOT), NGX_GUILDLOG_BOTS - 1);
    lane->head = ngx_guildlog_fact(HEAD);
    lane->upto = ngx_guildlog_fact(UPTO);
    lane->step = ngx_guildlog_fact(STEP);
    lane->attempts = ngx_guildlog_fact(ATTEMPTS);
    lane->attempt_ms = ngx_guildlog_lane_clock()
                       - ngx_guildlog_fact(ATTEMPT_MS);
    lane->attempt_at = ngx_current_msec - ngx_guildlog_fact(ATTEMPT_MS);
    lane->last = ngx_guildlog_fact(MESSAGE);
    lane->verified = ngx_guildlog_lane_true(result, row,
                                            NGX_GUILDLOG_FACT_VERIFIED);
    lane->waits = ngx_guildlog_fact(WAIT_MS) != 0;
    lane->not_before = ngx_current_msec + ngx_guildlog_fact(WAIT_MS);

    if (lane->webhook.len == 0 && age.len) {
        ngx_guildlog_lane_asked(lane, ngx_guildlog_fact(ATTEMPT_MS));
    }

#undef ngx_guildlog_fact

    if (sealed.len == 0) {
        return NGX_OK;
    }

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    rc = ngx_guildlog_secret_open(lane->pool, conf->key, &lane->id, &sealed,
                                  &lane->token);

    /* nothing is sent by the webhook that it had */

    if (rc == NGX_DECLINED && lane->registering) {
        return NGX_OK;
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, lane->log, 0,
                      "the webhook of lane %V of server %V was sealed with "
                      "another secret than that of \"guildlog_delivery\"",
                      &lane->id, &lane->guild);
    }

    return rc;
}


/* with commas between them */

static void
ngx_guildlog_lane_read_ids(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    u_char     *p, *last;
    ngx_str_t   value, id;

    value = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FACT_IDS);
    last = value.data + value.len;

    for (p = value.data;
         p < last && lane->nids < NGX_GUILDLOG_LANE_ENTRIES;
         p = id.data + id.len + 1)
    {
        id.data = p;
        p = ngx_strlchr(p, last, ',');
        id.len = (p ? p : last) - id.data;

        lane->ids[lane->nids++] = ngx_guildlog_lane_number(&id);
    }
}


static ngx_int_t
ngx_guildlog_lane_copy(ngx_pool_t *pool, ngx_str_t *to,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    to->len = value.len;
    to->data = NULL;

    if (value.len == 0) {
        return NGX_OK;
    }

    to->data = ngx_pstrdup(pool, &value);

    return to->data ? NGX_OK : NGX_ERROR;
}


int64_t
ngx_guildlog_lane_column(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return (int64_t) ngx_guildlog_lane_number(&value);
}


ngx_uint_t
ngx_guildlog_lane_true(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return value.len && value.data[0] == 't';
}


uint64_t
ngx_guildlog_lane_number(const ngx_str_t *digits)
{
    size_t    i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < digits->len; i++) {
        n = n * 10 + (digits->data[i] - '0');
    }

    return n;
}


uint64_t
ngx_guildlog_lane_clock(void)
{
    ngx_time_t  *tp;

    tp = ngx_timeofday();

    return (uint64_t) tp->sec * 1000 + tp->msec;
}


ngx_msec_t
ngx_guildlog_lane_backoff(ngx_uint_t attempts)
{
    static const ngx_msec_t  table[] = {
        1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000
    };

    ngx_msec_t  wait;

    wait = table[ngx_min(ngx_max(attempts, 1),
                         sizeof(table) / sizeof(table[0])) - 1];

    return wait / 2 + ngx_random() % (wait / 2 + 1);
}


ngx_int_t
ngx_guildlog_lane_renew(ngx_guildlog_lane_t *lane)
{
    if (lane->work_pool) {
        ngx_destroy_pool(lane->work_pool);
    }

    lane->work_pool = ngx_create_pool(4096, lane->log);

    return lane->work_pool ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_guildlog_lane_call(ngx_guildlog_lane_t *lane,
    ngx_guildlog_platform_request_t *request,
    ngx_guildlog_client_handler_pt handler)
{
    ngx_str_t                            none;
    const ngx_guildlog_delivery_conf_t  *conf;

    conf = ngx_guildlog_delivery_conf(lane->delivery);

    ngx_str_null(&none);

    return ngx_guildlog_delivery_send(lane, request->method, &request->path,
                                      request->bot ? &conf->bots[lane->bot]
                                                   : &none,
                                      &request->body, handler);
}


void
ngx_guildlog_lane_judge(ngx_guildlog_lane_t *lane,
    ngx_guildlog_client_response_t *answer, ngx_guildlog_platform_call_e call,
    ngx_guildlog_verdict_t *verdict)
{
    lane->exchange = NULL;

    ngx_guildlog_platform_judge(lane->work_pool, answer, call, verdict);
    ngx_guildlog_traffic_call(ngx_guildlog_delivery_traffic(lane->delivery),
                              call, verdict, answer->status);
    ngx_guildlog_delivery_answered(lane, verdict);
}
