
/*
 * Steps: what lanes have to commit, many lanes at a time.
 */

#include "jobs/ngx_guildlog_delivery_loop.h"
#include "base/ngx_guildlog_json.h"
#include "db/ngx_guildlog_db_pool.h"


#define DELIVERY_STEP_BESIDE  16     /* lanes, beside requests */
#define DELIVERY_STEP_LATE    3      /* times alone, too long */


#define DELIVERY_PARK_CAUSE  256


#define DELIVERY_REFUSED_GUILDS  64    /* at once */


typedef enum {
    DELIVERY_REFUSED_GUILD = 0,
    DELIVERY_REFUSED_REST
} delivery_refused_e;


static ngx_int_t delivery_step_submit(ngx_guildlog_delivery_t *d,
    ngx_guildlog_step_t *step);
static void delivery_step_write(ngx_guildlog_json_t *w,
    ngx_guildlog_lane_t *lane);
static void delivery_step_done(void *data, ngx_guildlog_db_result_t *result);
static void delivery_step_split(ngx_guildlog_step_t *step,
    ngx_guildlog_db_result_t *result);
static ngx_uint_t delivery_step_late(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result);
static void delivery_step_end(ngx_guildlog_lane_t *lane,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);
static void delivery_step_entries(ngx_guildlog_step_t *step,
    ngx_guildlog_db_result_t *result);
static void delivery_refused_told(void *data, ngx_guildlog_db_result_t *result);
static void delivery_refused_again(ngx_guildlog_delivery_t *d);
static void delivery_refused_take(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row);


void
ngx_guildlog_delivery_step(ngx_guildlog_delivery_t *d)
{
    ngx_uint_t            i, lanes;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;
    ngx_guildlog_step_t  *step;

    for (i = 0; i < NGX_GUILDLOG_DELIVERY_STEPS; i++) {
        step = &d->steps[i];
        lanes = NGX_GUILDLOG_DELIVERY_LANES;

        if (step->query || ngx_queue_empty(&d->stepping)
            || !ngx_guildlog_delivery_due(d->step_at))
        {
            continue;
        }

        if (ngx_guildlog_delivery_slot_requests(d)) {

            if (ngx_guildlog_delivery_slot_stepping(d)
                || !ngx_queue_empty(&d->going))
            {
                return;
            }

            lanes = DELIVERY_STEP_BESIDE;
        }

        step->delivery = d;
        step->began = ngx_current_msec;
        step->n = 0;

        while (step->n < lanes && !ngx_queue_empty(&d->stepping)) {
            q = ngx_queue_head(&d->stepping);
            lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);

            if (lane->alone) {

                if (step->n) {
                    break;
                }

                lanes = 1;
            }

            ngx_guildlog_assert(lane->stepping && !lane->submitted);

            ngx_queue_remove(q);
            lane->submitted = 1;

            if (!lane->repeated) {
                lane->repeated = 1;
                lane->intent_at = ngx_current_msec;
            }

            step->lanes[step->n++] = lane;
        }

        if (delivery_step_submit(d, step) == NGX_OK) {
            continue;
        }

        while (step->n) {
            lane = step->lanes[--step->n];
            lane->submitted = 0;
            ngx_queue_insert_head(&d->stepping, &lane->queue);
        }

        d->step_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }
}


static ngx_int_t
delivery_step_submit(ngx_guildlog_delivery_t *d, ngx_guildlog_step_t *step)
{
    ngx_str_t             args[2];
    ngx_pool_t           *pool;
    ngx_uint_t            i;
    ngx_guildlog_json_t   w;

    pool = ngx_create_pool(16384, d->env.log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    ngx_guildlog_json_init(&w, pool, 8192);
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < step->n; i++) {
        delivery_step_write(&w, step->lanes[i]);
    }

    ngx_guildlog_json_end(&w);

    args[0] = d->env.me;

    step->query = ngx_guildlog_json_written(&w, &args[1]) != NGX_OK ? NULL
        : ngx_guildlog_db_pool_submit(d->env.pool,
                                      ngx_guildlog_stmt(delivery_step), args,
                                      delivery_step_done, step);

    ngx_destroy_pool(pool);

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog step of %ui lanes: %s", step->n,
                   step->query ? "submitted" : "not submitted");

    return step->query ? NGX_OK : NGX_ERROR;
}


/* a lane's part of the step, as guildlog.delivery_work */

static void
delivery_step_write(ngx_guildlog_json_t *w, ngx_guildlog_lane_t *lane)
{
    ngx_str_t                  reason;
    ngx_guildlog_lane_work_t  *work;

    work = &lane->work;

    ngx_guildlog_json_begin(w, '{');

    ngx_guildlog_json_key(w, "guild");
    ngx_guildlog_json_raw(w, &lane->guild);
    ngx_guildlog_json_key(w, "lane");
    ngx_guildlog_json_raw(w, &lane->id);
    ngx_guildlog_json_member_number(w, "shard", lane->shard);
    ngx_guildlog_json_member_number(w, "fence", lane->fence);
    ngx_guildlog_json_member_number(w, "step", lane->step + work->changes);
    ngx_guildlog_json_key(w, "changes");
    ngx_guildlog_json_bool(w, work->changes);

    if (work->done_to) {
        ngx_guildlog_json_member_number(w, "done_to", work->done_to);
        ngx_guildlog_json_member_number(w, "status", work->status);
        ngx_guildlog_json_member_number(w, "attempts", lane->attempts);
    }

    if (work->done_to && work->reason) {
        reason = ngx_guildlog_word(work->reason);
        ngx_guildlog_json_member(w, "reason", &reason);
    }

    if (work->done_to && work->status == NGX_GUILDLOG_LANE_DELIVERED) {
        ngx_guildlog_json_member_number(w, "message", lane->last);
    }

    ngx_guildlog_json_key(w, "refused");
    ngx_guildlog_json_bool(w, work->refused);

    if (work->wait_ms) {
        ngx_guildlog_json_member_number(w, "wait_ms", work->wait_ms);
    }

    if (work->begin_to) {
        ngx_guildlog_json_member_number(w, "begin_to", work->begin_to);
    }

    if (work->peek >= 0) {
        ngx_guildlog_json_member_number(w, "peek", work->peek);
        ngx_guildlog_json_key(w, "most");
        ngx_guildlog_json_number(w, work->bare ? 0 : NGX_GUILDLOG_LANE_ENTRIES
                                                     - lane->n);
        ngx_guildlog_json_member_number(w, "bytes", lane->room);
    }

    ngx_guildlog_json_end(w);
}


/*
 * Without an answer the step may have been committed or not: it is submitted
 * again, which changes nothing if it was committed.
 */

static void
delivery_step_done(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_step_t *step = data;

    ngx_uint_t                i, n, answered;
    ngx_guildlog_lane_t      *lane;
    ngx_guildlog_delivery_t  *d;

    d = step->delivery;
    step->query = NULL;
    n = step->n;
    answered = result->outcome == NGX_GUILDLOG_DB_ROWS && result->rows >= n;

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, d->env.log, 0,
                   "guildlog step of %ui lanes: %s", n,
                   answered ? "committed" : "not committed, or not known");

    for (i = 0; answered && i < n; i++) {
        ngx_guildlog_delivery_queue_settle(step->lanes[i]);
    }

    if (answered) {
        d->stepped++;
        delivery_step_entries(step, result);

    } else if (ngx_guildlog_delivery_park_blames(result)
               || result->outcome == NGX_GUILDLOG_DB_TIMEOUT)
    {
        delivery_step_split(step, result);
        return;

    } else {
        ngx_guildlog_delivery_park_log(&d->env, "a step", result);
        d->step_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
    }

    for (i = 0; i < n; i++) {
        lane = step->lanes[i];

        ngx_guildlog_assert(lane->stepping && lane->submitted);

        lane->submitted = 0;

        if (answered) {
            lane->stepping = 0;
            lane->alone = 0;
            lane->late = 0;
            delivery_step_end(lane, result, i);

        } else if (lane->dropped) {
            lane->stepping = 0;
            ngx_guildlog_delivery_queue_forget(lane);

        } else {
            ngx_queue_insert_tail(&d->stepping, &lane->queue);
        }
    }

    ngx_guildlog_delivery_queue_post_go(d);
    ngx_guildlog_delivery_step(d);
}


/* one lane is to blame, and it is not known which one: each is tried alone */

static void
delivery_step_split(ngx_guildlog_step_t *step, ngx_guildlog_db_result_t *result)
{
    ngx_uint_t                i;
    ngx_guildlog_lane_t      *lane;
    ngx_guildlog_delivery_t  *d;

    d = step->delivery;

    for (i = step->n; i > 0; i--) {
        lane = step->lanes[i - 1];
        lane->submitted = 0;
        lane->alone = 1;

        if (lane->dropped) {
            lane->stepping = 0;
            ngx_guildlog_delivery_queue_forget(lane);

        } else if (step->n > 1) {
            ngx_queue_insert_head(&d->stepping, &lane->queue);

        } else if (delivery_step_late(lane, result)) {
            ngx_queue_insert_tail(&d->stepping, &lane->queue);

        } else {
            lane->stepping = 0;
            ngx_guildlog_lane_tell_park(lane, result);
        }
    }

    ngx_guildlog_delivery_queue_post_go(d);
    ngx_guildlog_delivery_step(d);
}


/* 1: it took too long, and is tried again.  What happens while no other step
   goes through either does not count, for then the database is slow */

static ngx_uint_t
delivery_step_late(ngx_guildlog_lane_t *lane, ngx_guildlog_db_result_t *result)
{
    if (result->outcome != NGX_GUILDLOG_DB_TIMEOUT) {
        return 0;
    }

    if (lane->stepped != lane->delivery->stepped) {
        lane->late++;
        lane->stepped = lane->delivery->stepped;
    }

    return lane->late < DELIVERY_STEP_LATE;
}


static void
delivery_step_end(ngx_guildlog_lane_t *lane, ngx_guildlog_db_result_t *result,
    ngx_uint_t row)
{
    ngx_str_t                 value;
    ngx_uint_t                became;
    ngx_guildlog_delivery_t  *d;

    /* "ok", "empty" ... by ngx_guildlog_lane_result_e; the last is "lost" */

    static const u_char       letters[] = "oecsp";

    d = lane->delivery;
    value = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_ROW_RESULT);

    for (became = 0; letters[became]; became++) {
        if (value.len && value.data[0] == letters[became]) {
            break;
        }
    }

    if (became != NGX_GUILDLOG_LANE_LOST) {
        ngx_guildlog_lane_committed(lane);
    }

    if (lane->dropped) {
        ngx_guildlog_delivery_queue_forget(lane);
        return;
    }

    if (became == NGX_GUILDLOG_LANE_LOST
        || became == NGX_GUILDLOG_LANE_PAUSED)
    {
        ngx_guildlog_delivery_queue_forget(lane);
        d->sweep_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
        return;
    }

    ngx_guildlog_lane_stepped(lane, became);
}


/* the entries, which follow the results, in the order of places */

static void
delivery_step_entries(ngx_guildlog_step_t *step,
    ngx_guildlog_db_result_t *result)
{
    ngx_uint_t            row, place;
    ngx_guildlog_lane_t  *lane;

    for (row = step->n; row < result->rows; row++) {
        place = ngx_guildlog_lane_row_number(result, row,
                                             NGX_GUILDLOG_ROW_PLACE);

        if (place < 1 || place > step->n) {
            continue;
        }

        lane = step->lanes[place - 1];

        if (!lane->dropped) {
            ngx_guildlog_lane_row_entry(lane, result, row);
        }
    }
}


/*
 * What the database refuses because of one lane holds up no other: a statement
 * over many is made again item by item, and what fails alone is parked.
 */

ngx_uint_t
ngx_guildlog_delivery_park_blames(ngx_guildlog_db_result_t *result)
{
    return result->outcome == NGX_GUILDLOG_DB_REFUSED
           && result->fault == NGX_GUILDLOG_DB_FAULT_ASKED;
}


void
ngx_guildlog_delivery_park_cause(ngx_guildlog_db_result_t *result,
    ngx_str_t *cause)
{
    size_t         len;
    static u_char  line[DELIVERY_PARK_CAUSE];

    len = 0;

    if (result->sqlstate[0]) {
        len = ngx_sprintf(line, "SQLSTATE %s: ", result->sqlstate) - line;
    }

    ngx_guildlog_db_result_line(line + len, sizeof(line) - len,
                                result->message.len
                                ? (char *) result->message.data
                                : "no answer in time");

    cause->data = line;
    cause->len = ngx_strlen(line);
}


ngx_uint_t
ngx_guildlog_delivery_park_row(const ngx_guildlog_lane_env_t *env,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t  state, what;

    static const ngx_str_t  parked = ngx_string("parked");

    state = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_STATE);

    if (!ngx_guildlog_str_eq(&state, &parked)) {
        return 0;
    }

    what = ngx_guildlog_db_result_value(result, row, NGX_GUILDLOG_FOUND_IDS);
    ngx_guildlog_delivery_park_done(env, &what);

    return 1;
}


void
ngx_guildlog_delivery_park_done(const ngx_guildlog_lane_env_t *env,
    const ngx_str_t *what)
{
    ngx_guildlog_stats_count(env->stats, NGX_GUILDLOG_COUNT_PARKED, 1);

    ngx_log_error(NGX_LOG_ERR, env->log, 0, "%V is parked for %d s", what,
                  NGX_GUILDLOG_LANE_PARK / 1000);
}


void
ngx_guildlog_delivery_park_log(const ngx_guildlog_lane_env_t *env,
    const char *what, ngx_guildlog_db_result_t *result)
{
    if (result->outcome == NGX_GUILDLOG_DB_REFUSED) {
        ngx_log_error(NGX_LOG_ERR, env->log, 0,
                      "the delivery of %s failed, SQLSTATE %s: %V", what,
                      result->sqlstate, &result->message);
    }
}


/*
 * Requests of a guild that the platform refused.  The database counts them,
 * for all machines, and says when the guild has to rest.
 */

void
ngx_guildlog_delivery_refused(ngx_guildlog_delivery_t *d,
    ngx_guildlog_guild_t *guild)
{
    guild->refused++;

    if (!guild->tells) {
        guild->tells = 1;
        ngx_queue_insert_tail(&d->refused, &guild->tell);
    }

    ngx_guildlog_delivery_queue_post(d);
}


void
ngx_guildlog_delivery_refused_tell(ngx_guildlog_delivery_t *d)
{
    u_char                *g, *n;
    u_char                 guilds[DELIVERY_REFUSED_GUILDS
                                  * (NGX_INT64_LEN + 1) + 2];
    u_char                 counts[DELIVERY_REFUSED_GUILDS
                                  * (NGX_INT_T_LEN + 1) + 2];
    ngx_str_t              args[2];
    ngx_uint_t             i;
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild;

    if (d->tell || ngx_queue_empty(&d->refused)
        || !ngx_guildlog_delivery_due(d->tell_at))
    {
        return;
    }

    g = guilds;
    n = counts;

    q = ngx_queue_head(&d->refused);

    for (i = 0;
         i < DELIVERY_REFUSED_GUILDS && q != ngx_queue_sentinel(&d->refused);
         i++)
    {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, tell);
        q = ngx_queue_next(q);

        g = ngx_sprintf(g, "%c%V", i ? ',' : '{', &guild->id);
        n = ngx_sprintf(n, "%c%ui", i ? ',' : '{', guild->refused);

        guild->telling = guild->refused;
        guild->refused = 0;
    }

    *g++ = '}';
    *n++ = '}';

    args[0].data = guilds;
    args[0].len = g - guilds;
    args[1].data = counts;
    args[1].len = n - counts;

    d->tell = ngx_guildlog_db_pool_submit(d->env.pool,
                                          ngx_guildlog_stmt(delivery_refused),
                                          args, delivery_refused_told, d);

    if (d->tell == NULL) {
        delivery_refused_again(d);
    }
}


static void
delivery_refused_told(void *data, ngx_guildlog_db_result_t *result)
{
    ngx_guildlog_delivery_t *d = data;

    ngx_uint_t  row;

    d->tell = NULL;

    if (result->outcome != NGX_GUILDLOG_DB_ROWS) {
        ngx_guildlog_delivery_park_log(&d->env, "refusals", result);
        delivery_refused_again(d);
        return;
    }

    for (row = 0; row < result->rows; row++) {
        delivery_refused_take(d, result, row);
    }
}


/* what was not told is told again, after a while */

static void
delivery_refused_again(ngx_guildlog_delivery_t *d)
{
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild;

    ngx_guildlog_queue_each(q, &d->refused) {
        guild = ngx_queue_data(q, ngx_guildlog_guild_t, tell);
        guild->refused += guild->telling;
        guild->telling = 0;
    }

    d->tell_at = ngx_current_msec + NGX_GUILDLOG_DELIVERY_RETRY;
}


/* the row of a guild: has it to rest? */

static void
delivery_refused_take(ngx_guildlog_delivery_t *d,
    ngx_guildlog_db_result_t *result, ngx_uint_t row)
{
    ngx_str_t              id;
    ngx_msec_t             rest;
    ngx_queue_t           *q;
    ngx_guildlog_guild_t  *guild, *told;

    id = ngx_guildlog_db_result_value(result, row, DELIVERY_REFUSED_GUILD);
    rest = ngx_guildlog_lane_row_number(result, row, DELIVERY_REFUSED_REST);
    guild = NULL;

    ngx_guildlog_queue_each(q, &d->refused) {
        told = ngx_queue_data(q, ngx_guildlog_guild_t, tell);

        if (told->telling && ngx_guildlog_str_eq(&told->id, &id)) {
            guild = told;
            break;
        }
    }

    if (guild == NULL) {
        return;
    }

    guild->telling = 0;

    if (rest) {
        ngx_log_error(NGX_LOG_WARN, d->env.log, 0,
                      "server %V was refused too often, its lanes rest "
                      "for %M ms", &guild->id, rest);
        guild->rests = 1;
        guild->rests_to = ngx_current_msec + rest;
    }

    if (guild->refused == 0) {
        guild->tells = 0;
        ngx_queue_remove(&guild->tell);
    }

    ngx_guildlog_delivery_queue_line_up(d, guild);
    ngx_guildlog_delivery_queue_let_guild(guild);
}


ngx_uint_t
ngx_guildlog_delivery_refused_rests(ngx_guildlog_guild_t *guild)
{
    if (guild->rests && ngx_guildlog_delivery_due(guild->rests_to)) {
        guild->rests = 0;
    }

    return guild->tells || guild->rests;
}


void
ngx_guildlog_delivery_refused_put_off(ngx_guildlog_guild_t *guild)
{
    ngx_uint_t            n;
    ngx_queue_t          *q;
    ngx_guildlog_lane_t  *lane;

    if (!guild->rests) {
        return;
    }

    n = 0;

    ngx_guildlog_queue_each(q, &guild->waiting) {
        n++;
    }

    /* the guild goes with its last lane */

    while (n--) {
        q = ngx_queue_head(&guild->waiting);
        lane = ngx_queue_data(q, ngx_guildlog_lane_t, queue);
        ngx_guildlog_delivery_queue_forget(lane);
    }
}
