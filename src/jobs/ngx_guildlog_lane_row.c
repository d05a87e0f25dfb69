
/*
 * Reads rows of the database: a lane as it was found, and entries.
 */

#include "jobs/ngx_guildlog_lane.h"


static void lane_row_ids(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static ngx_int_t lane_row_copy(ngx_pool_t *pool, ngx_str_t *to,
    ngx_guildlog_db_result_t *result, ngx_uint_t row, ngx_uint_t column);


ngx_int_t
ngx_guildlog_lane_row_read(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_int_t                            rc;
    ngx_str_t                            sealed, state, age;
    ngx_uint_t                           i;

    struct {
        ngx_str_t  *to;
        ngx_uint_t  column;

    } texts[] = {
        { &lane->guild, NGX_GUILDLOG_FOUND_GUILD },
        { &lane->id, NGX_GUILDLOG_FOUND_LANE },
        { &lane->channel, NGX_GUILDLOG_FOUND_CHANNEL },
        { &lane->webhook, NGX_GUILDLOG_FOUND_WEBHOOK },
        { &lane->since, NGX_GUILDLOG_FOUND_SINCE },
        { &sealed, NGX_GUILDLOG_FOUND_SECRET }
    };

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {

        if (lane_row_copy(lane->pool, texts[i].to, result, row, texts[i].column)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    state = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_STATE);
    age = ngx_guildlog_db_result_value(result, row,
                                       NGX_GUILDLOG_FOUND_ATTEMPT_MS);

    lane_row_ids(lane, result, row);

    lane->key = ngx_guildlog_lane_row_id(&lane->id);
    lane->registering = state.data[0] == 'r';
    lane->lone = state.data[0] == 'd';
    lane->taken = 1;

#define lane_row_found(name)                                                   \
    ngx_guildlog_lane_row_number(result, row, NGX_GUILDLOG_FOUND_##name)

    lane->shard = lane_row_found(SHARD);
    lane->fence = lane_row_found(FENCE);
    lane->bot = ngx_min(lane_row_found(BOT), NGX_GUILDLOG_BOTS - 1);
    lane->head = lane_row_found(HEAD);
    lane->upto = lane_row_found(UPTO);
    lane->step = lane_row_found(STEP);
    lane->attempts = lane_row_found(ATTEMPTS);
    lane->attempt_ms = ngx_guildlog_clock_wall_ms()
                       - lane_row_found(ATTEMPT_MS);
    lane->attempt_at = ngx_current_msec - lane_row_found(ATTEMPT_MS);
    lane->last = lane_row_found(MESSAGE);
    lane->verified = ngx_guildlog_lane_row_true(result, row,
                                                NGX_GUILDLOG_FOUND_VERIFIED);
    lane->waits = lane_row_found(WAIT_MS) != 0;
    lane->not_before = ngx_current_msec + lane_row_found(WAIT_MS);

    /* somebody asked for a webhook, and nobody knows of an answer */

    if (lane->webhook.len == 0 && age.len) {
        lane->asked = 1;
        lane->sure_at = lane->attempt_at + NGX_GUILDLOG_LANE_ANSWER
                        + NGX_GUILDLOG_LANE_BEGIN;
    }

#undef lane_row_found

    if (sealed.len == 0) {
        return NGX_OK;
    }

    rc = ngx_guildlog_seal_open(lane->pool, lane->env->conf->key, &lane->id,
                                &sealed, &lane->token);

    /* it will get another webhook, so the secret of this one is not needed */

    if (rc == NGX_DECLINED && lane->registering) {
        return NGX_OK;
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, lane->env->log, 0,
                      "the webhook of lane %V of server %V was sealed with "
                      "another secret than that of \"guildlog_delivery\"",
                      &lane->id, &lane->guild);
    }

    return rc;
}


/* with commas between them */

static void
lane_row_ids(ngx_guildlog_lane_t *lane, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    u_char     *p, *last;
    ngx_str_t   value, id;

    value = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_IDS);
    last = value.data + value.len;

    for (p = value.data;
         p < last && lane->nids < NGX_GUILDLOG_LANE_ENTRIES;
         p = id.data + id.len + 1)
    {
        id.data = p;
        p = ngx_strlchr(p, last, ',');
        id.len = (p ? p : last) - id.data;

        lane->ids[lane->nids++] = ngx_guildlog_lane_row_id(&id);
    }
}


static ngx_int_t
lane_row_copy(ngx_pool_t *pool, ngx_str_t *to, ngx_guildlog_db_result_t *result,
    ngx_uint_t row, ngx_uint_t column)
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


void
ngx_guildlog_lane_row_entry(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t                    doc, color;
    ngx_guildlog_lane_entry_t   *entry;

    if (lane->n == NGX_GUILDLOG_LANE_ENTRIES || lane->starved) {
        return;
    }

    if (lane->entries == NULL) {
        lane->entries = ngx_alloc(NGX_GUILDLOG_LANE_ENTRIES
                                  * sizeof(ngx_guildlog_lane_entry_t),
                                  lane->env->log);
        if (lane->entries == NULL) {
            lane->starved = 1;
            return;
        }
    }

    entry = &lane->entries[lane->n];
    ngx_memzero(entry, sizeof(ngx_guildlog_lane_entry_t));

    doc = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_DOC);
    color = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_COLOR);

    entry->message.doc.data = ngx_alloc(doc.len, lane->env->log);
    if (entry->message.doc.data == NULL) {
        lane->starved = 1;
        return;
    }

    ngx_memcpy(entry->message.doc.data, doc.data, doc.len);
    entry->message.doc.len = doc.len;
    ngx_guildlog_lane_memory_hold(lane, doc.len);

#define lane_row_value(name)                                                  \
    ngx_guildlog_lane_row_number(result, row, NGX_GUILDLOG_ROW_##name)

    entry->seq = lane_row_value(SEQ);
    entry->expired = ngx_guildlog_lane_row_true(result, row,
                                                NGX_GUILDLOG_ROW_EXPIRED);

    entry->message.conf.style = &lane->env->conf->style;
    entry->message.conf.guild = lane->guild;
    entry->message.conf.pro = (lane->bot == NGX_GUILDLOG_BOT_PRO);
    entry->message.conf.format = lane_row_value(FORMAT);
    entry->message.conf.color = color.data[0] == '-'
                                ? -1 : ngx_atoi(color.data, color.len);
    entry->message.conf.buttons = lane_row_value(BUTTONS);
    entry->message.conf.locale = lane_row_value(LOCALE);
    entry->message.conf.spoilers =
        ngx_guildlog_lane_row_true(result, row, NGX_GUILDLOG_ROW_SPOILERS);

#undef lane_row_value

    lane->n++;
}


int64_t
ngx_guildlog_lane_row_number(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return (int64_t) ngx_guildlog_lane_row_id(&value);
}


ngx_uint_t
ngx_guildlog_lane_row_true(ngx_guildlog_db_result_t *result, ngx_uint_t row,
    ngx_uint_t column)
{
    ngx_str_t  value;

    value = ngx_guildlog_db_result_value(result, row, column);

    return value.len && value.data[0] == 't';
}


uint64_t
ngx_guildlog_lane_row_id(const ngx_str_t *digits)
{
    size_t    i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < digits->len; i++) {
        n = n * 10 + (digits->data[i] - '0');
    }

    return n;
}
