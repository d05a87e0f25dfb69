
/*
 * Holds the model of the database against the schema, so that it cannot lie:
 * the same random statements, some of them wrong, are made of both.  After
 * each the answers and all tables of delivery are compared.  The functions of
 * the schema get a clock that is made up; all of it follows from a seed.
 */

#include <ngx_config.h>
#include <libpq-fe.h>
#include "store.h"
#include <stdarg.h>


#define COMPARE_GUILDS    2
#define COMPARE_CHANNELS  3       /* of a server */
#define COMPARE_TYPE      7       /* of log entries: the first channel's; */
#define COMPARE_HELD      10      /*   the same, and they are held */
#define COMPARE_WORKS     3       /* lanes of a step */
#define COMPARE_LINES     4096


typedef struct {
    char  *line[COMPARE_LINES];
    int    n;
} lines_t;

typedef void (*make_pt)(void);

typedef struct {
    int      weight;
    make_pt  make;
} op_t;


static PGconn      *conn, *other;     /* other: a transaction goes on there */
static uint64_t     seed, chance;
static int          round_no, nth, verbose, holds, failed;
static int64_t      last_message, last_webhook, events, leases;
static ngx_str_t    args[8];
static char         text[8][4096];
static char         step[4096];       /* the work of the last step */
static char         statement[9000];
static const char  *owners[] = { "a/1/1", "b/1/1", "c/1/1" };
static char         marks[3][2][160]; /* by owner: the schema's, the model's */


/* the pure files of src/ that are linked log nothing */

void
ngx_log_error_core(ngx_uint_t level, ngx_log_t *log, ngx_err_t err,
    const char *fmt, ...)
{
}


/* chance */

static uint64_t
random64(void)
{
    uint64_t  z;

    z = (chance += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;

    return z ^ (z >> 31);
}


static int64_t
between(int64_t a, int64_t b)
{
    return a + (int64_t) (random64() % (uint64_t) (b - a + 1));
}


static int
one_in(int n)
{
    return random64() % n == 0;
}


/* NULL: nothing */

static void
differs(const char *what, const char *model, const char *schema)
{
    if (failed++ == 0) {
        printf("seed %llu, round %d, statement %d: %s differs\n  %s\n",
               (unsigned long long) seed, round_no, nth, what, statement);
    }

    if (model) {
        printf("  model:  %s\n", model);
    }

    if (schema) {
        printf("  schema: %s\n", schema);
    }
}


/* the schema */

static PGresult *
ask(PGconn *c, const char *sql, int n, const char *const *values)
{
    PGresult  *res;

    res = PQexecParams(c, sql, n, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(res) != PGRES_TUPLES_OK
        && PQresultStatus(res) != PGRES_COMMAND_OK
        && PQresultErrorField(res, PG_DIAG_SQLSTATE) == NULL)
    {
        fprintf(stderr, "%s", PQerrorMessage(c));
        exit(2);
    }

    return res;
}


static void
run(const char *fmt, ...)
{
    char       sql[8192];
    va_list    list;
    PGresult  *res;

    va_start(list, fmt);
    vsnprintf(sql, sizeof(sql), fmt, list);
    va_end(list);

    res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_TUPLES_OK
        && PQresultStatus(res) != PGRES_COMMAND_OK)
    {
        fprintf(stderr, "%s\n%s", sql, PQerrorMessage(conn));
        exit(2);
    }

    PQclear(res);
}


/* in ms, so that both sides have the same */

static void
clock_set(int64_t ms)
{
    store.now += ms * 1000;
    run("set sim.ms = '%lld'", (long long) store_ms(store.now));
}


static const char  clock_sql[] =
    "create schema if not exists sim;"
    "set search_path = guildlog, pg_temp;"
    "create or replace function sim.clock() returns timestamptz"
    " language sql volatile as $$ select 'epoch'::timestamptz"
    " + current_setting('sim.ms')::bigint * interval '1 ms' $$;"
    "do $$ declare it record; begin"
    " for it in select p.oid from pg_proc p where p.prokind = 'f'"
    " and p.pronamespace = 'guildlog'::regnamespace"
    " and p.prosrc ~ 'clock_timestamp\\(\\)|\\mnow\\(\\)' loop"
    " execute regexp_replace(pg_get_functiondef(it.oid),"
    " 'clock_timestamp\\(\\)|\\mnow\\(\\)', 'sim.clock()', 'g');"
    " end loop;"
    " for it in select a.attrelid::regclass as t, a.attname as c"
    " from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid"
    " and a.attnum = d.adnum where d.adrelid in ('guildlog.lane'::regclass,"
    " 'guildlog.lane_head'::regclass) and pg_get_expr(d.adbin, d.adrelid)"
    " = 'now()' loop"
    " execute format('alter table %s alter %I set default"
    " sim.clock()', it.t, it.c); end loop; end $$";


#define ms_of(column)  "case when isfinite(" column ") then"                  \
    " (extract(epoch from " column ") * 1000)::bigint end"

static const char  lines_sql[] =
    "set search_path = guildlog;"
    "select x collate \"C\" from ("
    "select format('lane %s %s %s %s %s %s|%s|%s|%s|%s|%s %s %s %s %s %s %s"
    " %s', l.guild_id, l.lane, l.bot, l.channel_id, l.shard, l.state,"
    " l.reason, l.told, l.secret, l.webhook_id, " ms_of("l.since") ", "
    ms_of("l.lost_at") ", " ms_of("l.forbidden_at") ", "
    ms_of("l.paused_at") ", " ms_of("l.resumed_at") ", "
    ms_of("l.asked_at") ", " ms_of("l.verified_at") ", "
    ms_of("l.refused_at") ") || ' ' || coalesce((" ms_of("l.look_at")
    ")::text, '') from lane l union all "
    "select format('lane_head %s %s %s %s %s %s %s|%s|%s|%s|%s', h.guild_id,"
    " h.lane, h.head, h.upto, h.refused_to, h.step, h.attempts, "
    ms_of("h.attempt_at") ", " ms_of("h.not_before") ", h.last_message_id, "
    ms_of("h.mixed_at") ") from lane_head h union all "
    "select format('lane_tail %s %s %s', t.guild_id, t.lane, t.tail)"
    " from lane_tail t union all "
    "select format('lane_ready %s %s %s %s|%s|%s', r.guild_id, r.lane,"
    " r.shard, " ms_of("r.since") ", " ms_of("r.parked_to")
    ", r.parked_for) from lane_ready r union all "
    "select format('lane_batch %s %s %s %s|%s|%s %s %s %s', b.guild_id,"
    " b.lane, b.seq_from, b.seq_to, b.message_id, " ms_of("b.done_at")
    ", b.attempts, b.status, b.reason) from lane_batch b union all "
    "select format('doubt %s %s %s %s %s %s %s %s|%s|%s %s', d.guild_id,"
    " d.lane, d.seq_from, d.seq_to, " ms_of("d.done_at")
    ", d.shard, d.webhook_id, " ms_of("d.attempt_at") ", d.before_id,"
    " d.looks, " ms_of("d.look_at") ") from doubt d union all "
    "select format('shard_lease %s|%s|%s %s', s.shard, s.owner, s.fence, "
    ms_of("s.until") ") from shard_lease s union all "
    "select format('delivery_node %s %s %s', n.owner, " ms_of("n.until")
    ", n.asked) from delivery_node n union all "
    "select format('refusal %s %s %s', f.guild_id, " ms_of("f.since")
    ", f.n) from refusal f union all "
    "select format('replay %s %s %s %s %s', p.guild_id, p.id, p.lane, p.seq, "
    ms_of("p.at") ") from replay p union all "
    "select format('log_arrival %s %s|%s|%s', a.id, a.lane, a.seq, "
    ms_of("a.held_to") ") from log_arrival a where a.dchannel_id is not null"
    ") t (x) order by 1";


/* the tables of the model, in the same words */

static void
line(lines_t *lines, const char *fmt, ...)
{
    char     buf[1024];
    va_list  list;

    va_start(list, fmt);
    vsnprintf(buf, sizeof(buf), fmt, list);
    va_end(list);

    if (lines->n < COMPARE_LINES) {
        lines->line[lines->n++] = strdup(buf);
    }
}


/* numbers and times as text; empty: null */

static const char *
number(int64_t n)
{
    static int   i;
    static char  buf[32][24];

    i = (i + 1) % 32;
    buf[i][0] = '\0';

    if (n != STORE_NONE) {
        snprintf(buf[i], sizeof(buf[i]), "%lld", (long long) n);
    }

    return buf[i];
}


static const char *
ms(int64_t us)
{
    return number(us == STORE_NONE ? STORE_NONE : store_ms(us));
}


static void
lane_lines(lines_t *lines, store_lane_t *l)
{
    int             i;
    store_batch_t  *b;

    static const char  *states[] = {
        "registering", "active", "closing", "broken", "closed"
    };

    for (i = 0; i < l->nbatches; i++) {
        b = &l->batches[i];
        line(lines, "lane_batch %s %s %s %s|%s|%s %s %d %s",
             number(l->guild), number(l->id), number(b->from), number(b->to),
             number(b->message), ms(b->done_at), number(b->attempts),
             b->status, b->reason);
    }

    if (l->deleted) {
        return;
    }

    line(lines, "lane %s %s %d %s %d %s|%s|%s|%s|%s|%s %s %s %s %s %s %s %s "
         "%s", number(l->guild), number(l->id), l->channel->bot,
         number(l->channel->id), l->shard, states[l->state], l->reason,
         l->told, l->secret, number(l->webhook), ms(l->state_since),
         ms(l->lost_at), ms(l->forbidden_at), ms(l->paused_at),
         ms(l->resumed_at), ms(l->asked_at), ms(l->verified_at),
         ms(l->refused_at), ms(l->look_at));
    line(lines, "lane_head %s %s %s %s %s %s %s|%s|%s|%s|%s",
         number(l->guild), number(l->id), number(l->head), number(l->upto),
         number(l->refused_to), number(l->step), number(l->attempts),
         ms(l->attempt_at), ms(l->not_before), number(l->last),
         ms(l->mixed_at));
    line(lines, "lane_tail %s %s %s", number(l->guild), number(l->id),
         number(l->tail));

    if (l->ready) {
        line(lines, "lane_ready %s %s %d %s|%s|%s", number(l->guild),
             number(l->id), l->shard, ms(l->since), ms(l->parked_to),
             l->parked_for);
    }
}


static void
model_lines(lines_t *lines)
{
    int             i;
    store_doubt_t  *d;
    store_entry_t  *e;
    store_lease_t  *s;

    for (i = 0; i < store.nlanes; i++) {
        lane_lines(lines, store.lanes[i]);
    }

    for (i = 0; i < store.ndoubts; i++) {
        d = &store.doubts[i];
        line(lines, "doubt %s %s %s %s %s %d %s %s|%s|%s %s",
             number(d->lane->guild), number(d->lane->id), number(d->from),
             number(d->to), ms(d->done_at), d->lane->shard,
             number(d->webhook), ms(d->attempt_at), number(d->before),
             number(d->looks), ms(d->look_at));
    }

    for (i = 0; i < STORE_SHARDS; i++) {
        s = &store.leases[i];
        line(lines, "shard_lease %d|%s|%s %s", i, s->owner, number(s->fence),
             ms(s->until));
    }

    for (i = 0; i < STORE_OWNERS; i++) {
        if (store.owners[i].owner[0]) {
            line(lines, "delivery_node %s %s %s", store.owners[i].owner,
                 ms(store.owners[i].until), number(store.owners[i].asked));
        }
    }

    for (i = 0; i < store.nrefusals; i++) {
        line(lines, "refusal %s %s %s", number(store.refusals[i].guild),
             ms(store.refusals[i].since), number(store.refusals[i].n));
    }

    for (i = 0; i < store.nentries; i++) {
        e = store.entries[i];
        line(lines, "log_arrival %s %s|%s|%s", number(e->id),
             e->lane ? number(e->lane->id) : "",
             e->lane ? number(e->seq) : "", ms(e->held_to));

        if (e->again) {
            line(lines, "replay %s %s %s %s %s", number(e->again->guild),
                 number(e->id), number(e->again->id), number(e->again_seq),
                 ms(e->again_at));
        }
    }
}


static int
by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}


/* prints what one side has alone */

static void
lines_compare(const char *what, lines_t *model, lines_t *schema)
{
    int  i, j, order;

    qsort(model->line, model->n, sizeof(char *), by_text);
    qsort(schema->line, schema->n, sizeof(char *), by_text);

    for (i = 0, j = 0; i < model->n || j < schema->n; /* void */) {
        order = i == model->n ? 1 : j == schema->n ? -1
                : strcmp(model->line[i], schema->line[j]);

        if (order) {
            differs(what, order < 0 ? model->line[i] : NULL,
                    order < 0 ? NULL : schema->line[j]);
        }

        i += order <= 0;
        j += order >= 0;
    }

    while (model->n) {
        free(model->line[--model->n]);
    }

    while (schema->n) {
        free(schema->line[--schema->n]);
    }
}


static void
tables_compare(void)
{
    int             i;
    PGresult       *res;

    static lines_t  model, schema;

    res = PQexec(conn, lines_sql);

    if (PQresultStatus(res) != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s", PQerrorMessage(conn));
        exit(2);
    }

    for (i = 0; i < PQntuples(res); i++) {
        line(&schema, "%s", PQgetvalue(res, i, 0));
    }

    PQclear(res);
    model_lines(&model);
    lines_compare("a table", &model, &schema);
}


/* statements of the lane machine */

static void
arg(int i, const char *fmt, ...)
{
    va_list  list;

    va_start(list, fmt);
    vsnprintf(text[i], sizeof(text[i]), fmt, list);
    va_end(list);

    args[i].data = (u_char *) text[i];
    args[i].len = strlen(text[i]);
}


static void
arg_null(int i)
{
    args[i].data = NULL;
    args[i].len = 0;
}


static const ngx_guildlog_stmt_t *
stmt_of(const char *name)
{
    int  i;

    for (i = 0; strcmp(ngx_guildlog_stmts[i].name, name) != 0; i++) {
        /* void */
    }

    return &ngx_guildlog_stmts[i];
}


/* ids of entries in any order, a null as "-"; the place of a mark is not
   compared */

static char *
cell(const char *value, int sorts)
{
    char  *copy, *p, *ids[64], *out;
    int    i, n;

    copy = strdup(value ? value : "-");

    if (!sorts || value == NULL) {
        return copy;
    }

    for (n = 0, p = strtok(copy, ","); p && n < 64; p = strtok(NULL, ",")) {
        ids[n++] = p;
    }

    qsort(ids, n, sizeof(char *), by_text);
    out = calloc(1, strlen(value) + 2);

    for (i = 0; i < n; i++) {
        strcat(strcat(out, i ? "," : ""), ids[i]);
    }

    free(copy);

    return out;
}


/* a row: its place counts where the order is promised */

static void
row_line(lines_t *lines, int row, const store_answer_t *a, PGresult *res)
{
    int     i, n;
    char    buf[8192], *p, *value;

    p = buf;
    p += snprintf(p, 16, "%3d", row);
    n = a ? a->columns : PQnfields(res);

    for (i = 0; i < n; i++) {
        value = cell(a ? store_value(a, row, i)
                     : PQgetisnull(res, row, i) ? NULL
                     : PQgetvalue(res, row, i), n == 19 && i == 17);

        /* the mark of a find is compared by what it says */

        p += snprintf(p, sizeof(buf) - (p - buf), "|%s",
                      n == 19 && row == 0 && i == 6 && value[0] == '('
                      ? "mark" : value);
        p = ngx_min(p, buf + sizeof(buf) - 1);
        free(value);
    }

    line(lines, "%s", buf);
}


/* rows of a lease that name no shard, and of what expired, come in any order */

static void
rows_unplace(lines_t *lines)
{
    int    i;
    char  *s;

    for (i = 0; i < lines->n; i++) {
        s = lines->line[i];

        if (strncmp(s + 3, "|-|", 3) == 0 || strstr(s, "|doubt|")) {
            memcpy(s, "   ", 3);
        }
    }
}


static void
answer_compare(store_answer_t *a, PGresult *res)
{
    int             i;
    const char     *state;

    static lines_t  model, schema;

    state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    if (a->sqlstate[0] || state) {
        if (strcmp(a->sqlstate, state ? state : "") != 0) {
            differs("what is refused", a->sqlstate,
                    state ? PQresultErrorMessage(res) : "");
        }

        return;
    }

    for (i = 0; i < a->n / a->columns; i++) {
        row_line(&model, i, a, NULL);
    }

    for (i = 0; i < PQntuples(res); i++) {
        row_line(&schema, i, NULL, res);
    }

    rows_unplace(&model);
    rows_unplace(&schema);
    lines_compare("the answer", &model, &schema);
}


static void
mark_numbers(const char *mark, int64_t *low, int64_t *at, int64_t *next)
{
    char  *p;

    *low = strtoll(mark + 1, &p, 10);
    *at = strtoll(p + 1, &p, 10);
    *next = strtoll(p + 1, NULL, 10);
}


/*
 * What the marks say: how far was looked, and when.  The schema may have waited
 * for a transaction of another database of the cluster: then its mark stays as
 * it was, and so does the model's.
 */

static void
mark_compare(int owner, store_answer_t *a, PGresult *res)
{
    int64_t      was[3], low, at, its[2];
    PGresult    *said;
    const char  *values[1];

    snprintf(marks[owner][0], sizeof(marks[0][0]), "%s",
             PQgetvalue(res, 0, 6));
    snprintf(marks[owner][1], sizeof(marks[0][0]), "%s",
             store_value(a, 0, 6));

    values[0] = marks[owner][0];
    said = ask(conn, "select (extract(epoch from ($1::guildlog.delivery_mark)"
               ".low) * 1000000)::bigint, (extract(epoch from"
               " ($1::guildlog.delivery_mark).at) * 1000000)::bigint", 1,
               values);
    its[0] = strtoll(PQgetvalue(said, 0, 0), NULL, 10);
    its[1] = strtoll(PQgetvalue(said, 0, 1), NULL, 10);
    PQclear(said);

    mark_numbers(marks[owner][1], &low, &at, &was[2]);

    if (args[1].data && at != its[1]) {
        mark_numbers(text[1], &was[0], &was[1], &was[2]);
        low = ngx_max(was[0], store.now - 30 * STORE_SECOND);
        at = was[1];
        snprintf(marks[owner][1], sizeof(marks[0][0]), "(%lld,%lld,%lld)",
                 (long long) low, (long long) at, (long long) was[2]);
    }

    if (low != its[0] || at != its[1]) {
        differs("a mark", marks[owner][1], marks[owner][0]);
    }
}


/* mark: the argument that is the schema's mark, of that owner; -1: none */

static void
both_with(const char *name, int mark, int owner)
{
    int                         i, n;
    char                       *p;
    PGresult                   *res;
    const char                 *values[8];
    store_answer_t              answer;
    const ngx_guildlog_stmt_t  *stmt;

    stmt = stmt_of(name);
    n = (int) stmt->nargs;
    p = statement + snprintf(statement, sizeof(statement), "%s", name);

    for (i = 0; i < n; i++) {
        values[i] = (char *) args[i].data;
        p += snprintf(p, sizeof(statement) - (p - statement), " %s",
                      values[i] ? values[i] : "null");
        p = ngx_min(p, statement + sizeof(statement) - 1);
    }

    memset(&answer, 0, sizeof(answer));
    store_run(name, args, &answer);

    if (mark >= 0 && values[mark]) {
        values[mark] = marks[owner][0];
    }

    res = ask(conn, stmt->text, n, values);
    answer_compare(&answer, res);

    if (strcmp(name, "delivery_find") == 0 && !failed) {
        mark_compare(owner, &answer, res);
    }

    PQclear(res);
    store_answer_free(&answer);
}


static void
both(const char *name)
{
    both_with(name, -1, 0);
}


/* what is asked */

static int
an_owner(void)
{
    return one_in(4) ? (int) between(0, 2) : 0;
}


static store_lane_t *
a_lane(void)
{
    return store.lanes[random64() % store.nlanes];
}


static store_channel_t *
a_channel(void)
{
    return &store.channels[random64() % store.nchannels];
}


/* mostly right: of the lane's owner, with its fence and step */

static void
args_its(store_lane_t *l)
{
    const char  *owner;

    owner = store.leases[l->shard].owner;

    arg(0, "%s", owner[0] && !one_in(20) ? owner : owners[an_owner()]);
    arg(1, "%lld", (long long) l->guild);
    arg(2, "%lld", (long long) (one_in(50) ? l->id + 1 : l->id));
    arg(3, "%lld", (long long) (store.leases[l->shard].fence
                                + (one_in(20) ? between(-1, 1) : 0)));
    arg(4, "%lld", (long long) (l->step + (one_in(10) ? between(-2, 2) : 0)));
}


static void
op_lease(void)
{
    int    i;
    char   give[128], *p;

    p = give + snprintf(give, 8, "{");

    for (i = one_in(4) ? (int) between(1, 20) : 0; i; i--) {
        p += snprintf(p, 8, "%d%s", (int) between(0, 63), i > 1 ? "," : "");
    }

    snprintf(p, 8, "}");

    arg(0, "%s", owners[an_owner()]);
    arg(1, one_in(8) ? "{\"%s\"}" : "{}", owners[between(0, 2)]);
    arg(2, "%s", give);
    arg(3, one_in(12) ? "true" : "false");
    arg(4, "%d", (int) (between(1, 4) + leases++ / 2));
    both("delivery_lease");
}


/* time passes until about then, and somebody has the shards */

static void
passes(int64_t at)
{
    int64_t  rest;

    rest = store_ms(at) - store_ms(store.now) + between(-50, 50);
    clock_set(ngx_max(rest, 0));
    op_lease();
}


static void
args_page(int owner)
{
    store_lane_t  *l;

    arg(0, "%s", owners[owner]);

    if (marks[owner][0][0] && !one_in(4)) {
        arg(1, "%s", marks[owner][1]);
    } else {
        arg_null(1);
    }

    l = a_lane();
    arg(2, "%lld", (long long) (one_in(4) ? l->guild : 0));
    arg(3, "%lld", (long long) (one_in(4) ? l->id : 0));
}


static void
op_find(void)
{
    int  owner;

    owner = an_owner();
    args_page(owner);
    arg(4, "%d", (int) (one_in(3) ? between(1, 4) : 1000));
    arg(5, one_in(3) ? "true" : "false");
    both_with("delivery_find", 1, owner);
}


static void
op_park(void)
{
    store_lane_t  *l;

    l = a_lane();
    arg(0, "%s", owners[an_owner()]);
    arg(1, "%lld", (long long) l->guild);
    arg(2, "%lld", (long long) l->id);
    arg(3, "no answer in time");
    both("delivery_park");
}


/* what a lane may say of a message, and what none says */

static char *
work_outcome(char *p, store_lane_t *l, int *doubts)
{
    int      status;
    int64_t  to;

    to = one_in(12) ? l->head
         : one_in(4) ? between(l->head + 1, l->upto) : l->upto;
    status = (int) between(0, 2);

    if (status == 1 && ++*doubts > 1) {
        status = 0;                      /* two would be due at one time */
    }

    p += sprintf(p, ",\"done_to\":%lld,\"status\":%d,\"attempts\":%lld",
                 (long long) to, status, (long long) l->attempts);

    if (status == 2) {
        last_message += between(1, 5) << 22;
        p += sprintf(p, ",\"message\":%lld", (long long) last_message);
    } else {
        p += sprintf(p, ",\"reason\":\"%s\"",
                     status ? "unconfirmed" : "rejected");
    }

    if (one_in(3) && to < l->tail) {
        p += sprintf(p, ",\"begin_to\":%lld",
                     (long long) between(to + 1, ngx_min(to + 10, l->tail)));
    }

    return p;
}


static char *
work_one(char *p, store_lane_t *l, int *doubts)
{
    int      changes;
    int64_t  number, fence;

    changes = !one_in(3);
    number = l->step + changes + (one_in(12) ? between(-2, 2) : 0);

    /* somebody who had the lane before did something else with it */

    if (l->upto > l->head && one_in(6)) {
        number = l->step;
    }

    fence = store.leases[l->shard].fence + (one_in(20) ? between(-1, 1) : 0);

    p += sprintf(p, "{\"guild\":%lld,\"lane\":%lld,\"shard\":%d,\"fence\":"
                 "%lld,\"step\":%lld,\"changes\":%s,\"refused\":%s",
                 (long long) l->guild, (long long) l->id, l->shard,
                 (long long) fence, (long long) number,
                 changes ? "true" : "false",
                 changes && one_in(4) ? "true" : "false");

    if (changes && l->upto > l->head && !one_in(4)) {
        p = work_outcome(p, l, doubts);

    } else if (changes && l->tail > l->head && !one_in(4)) {
        p += sprintf(p, ",\"begin_to\":%lld",
                     (long long) between(l->head + 1,
                                         ngx_min(l->head + 10, l->tail)));
    }

    if (changes && one_in(3)) {
        p += sprintf(p, ",\"wait_ms\":%lld", (long long) between(1, 90000));
    }

    if (!changes || one_in(2)) {
        p += sprintf(p, ",\"peek\":%lld,\"most\":%d", (long long)
                     (one_in(3) ? between(l->head, l->tail) : l->head),
                     (int) (one_in(4) ? 0 : between(1, 20)));
    }

    if (one_in(2)) {
        p += sprintf(p, ",\"bytes\":%lld", (long long) between(0, 3000));
    }

    return p + sprintf(p, "}");
}


static void
op_step(void)
{
    int            i, n, doubts;
    char          *p;
    store_lane_t  *l, *of[COMPARE_WORKS];

    p = step + sprintf(step, "[");
    doubts = 0;

    for (n = (int) between(1, COMPARE_WORKS), i = 0; i < n; i++) {
        l = of[i] = a_lane();

        if ((i && of[i - 1] == l) || (i > 1 && of[0] == l)) {
            continue;
        }

        p += sprintf(p, "%s", i ? "," : "");
        p = work_one(p, l, &doubts);
    }

    sprintf(p, "]");
    arg(0, "%s", store.leases[of[0]->shard].owner[0] && !one_in(20)
        ? store.leases[of[0]->shard].owner : owners[an_owner()]);
    arg(1, "%s", step);
    both("delivery_step");

    /* the answer got lost: the same again, by now or soon */

    if (one_in(4) && !failed) {
        tables_compare();
        clock_set(between(1, 600));
        both("delivery_step");
    }
}


/* one step of that lane, which has to be right */

static void
step_right(store_lane_t *l, const char *changes)
{
    arg(0, "%s", store.leases[l->shard].owner);
    arg(1, "[{\"guild\":%lld,\"lane\":%lld,\"shard\":%d,\"fence\":%lld,"
        "\"step\":%lld,\"changes\":true,%s}]", (long long) l->guild,
        (long long) l->id, l->shard,
        (long long) store.leases[l->shard].fence, (long long) l->step + 1,
        changes);
    both("delivery_step");
}


/* a lane is paused, or goes on */

static void
pause_turn(store_lane_t *l)
{
    if (l->deleted || l->state == STORE_CLOSED) {
        return;
    }

    snprintf(statement, sizeof(statement), "lane %lld %s",
             (long long) l->id, l->paused_at == STORE_NONE ? "is paused"
                                                           : "goes on");

    if (l->paused_at == STORE_NONE) {
        run("select guildlog.operator_lane_pause(%lld, %lld)",
            (long long) l->guild, (long long) l->id);
        store_pause(l);
    } else {
        run("select guildlog.operator_lane_resume(%lld, %lld)",
            (long long) l->guild, (long long) l->id);
        store_resume(l);
    }
}


/* its owner looks for more, while a message is under way in a lane that was
   paused */

static void
looks_paused(store_lane_t *l)
{
    pause_turn(l);
    tables_compare();

    arg(0, "%s", store.leases[l->shard].owner);
    arg(1, "[{\"guild\":%lld,\"lane\":%lld,\"shard\":%d,\"fence\":%lld,"
        "\"step\":%lld,\"changes\":false,\"peek\":%lld,\"most\":5}]",
        (long long) l->guild, (long long) l->id, l->shard,
        (long long) store.leases[l->shard].fence, (long long) l->step,
        (long long) l->head);
    both("delivery_step");
}


/* what did not arrive is sent again: some of a message that is unconfirmed, or
   what is in a lane */

static void
replay(store_lane_t *l, store_doubt_t *d)
{
    int             n;
    char            sql[4096], *p;
    int64_t         seq, to;
    PGresult       *res;
    const char     *reasons;
    store_entry_t  *e, **chosen;

    static const char  all[] =
        "\"webhook_404\",\"channel_gone\",\"foreign_channel\","
        "\"forbidden\",\"expired\",\"rejected\",\"unconfirmed\"";
    static const char  usual[] =
        "webhook_404,channel_gone,foreign_channel,forbidden,expired";

    to = d ? d->to : l->tail;
    reasons = one_in(6) ? usual : all;

    p = sql + sprintf(sql, "select body::json ->> 'replayed' from guildlog"
                      ".operator_replay(%lld, '{", (long long) l->guild);

    if (reasons == all) {
        p += sprintf(p, "\"reasons\":[%s],\"mayDuplicate\":true,", all);
    }

    p += sprintf(p, d ? "\"ids\":[\"1\"" : "\"lane\":\"%lld\"",
                 (long long) l->id);
    chosen = calloc(to + 1, sizeof(store_entry_t *));

    for (seq = d ? d->from : 1, n = 0; seq <= to; seq++) {
        e = d ? store_place(l, seq) : store_stands(l, seq);

        if (e == NULL || (d && one_in(3))) {
            continue;
        }

        chosen[n++] = e;

        if (d) {
            p += sprintf(p, ",\"%lld\"", (long long) e->id);
        }
    }

    sprintf(p, "%s}')", d ? "]" : "");
    snprintf(statement, sizeof(statement), "%s", sql);

    n = store_replay(chosen, n, reasons);
    free(chosen);
    res = ask(conn, sql, 0, NULL);

    if (strcmp(number(n), PQgetvalue(res, 0, 0)) != 0) {
        differs("what is sent again", number(n), PQgetvalue(res, 0, 0));
    }

    PQclear(res);
}


/* it is found, and was sent again meanwhile */

static void
proves_replayed(store_lane_t *l, store_doubt_t *d)
{
    replay(l, d);
    clock_set(1);

    arg(0, "%s", store.leases[l->shard].owner);
    arg(1, "%lld", (long long) l->guild);
    arg(2, "%lld", (long long) l->id);
    arg(3, "%lld", (long long) store.leases[l->shard].fence);
    arg(4, "%lld", (long long) d->from);
    arg(5, "%lld", (long long) last_message);
    both("delivery_proved");
}


/* a message of a lane that can send is not confirmed */

static void
op_unconfirmed(void)
{
    int             i;
    char            changes[128];
    store_lane_t   *l;
    store_doubt_t  *d;

    for (i = 0, l = NULL; i < 10; i++) {
        l = a_lane();

        if (!l->deleted && l->state <= STORE_CLOSING && l->tail > l->head
            && l->webhook != STORE_NONE && l->paused_at == STORE_NONE)
        {
            break;
        }
    }

    if (i == 10) {
        return;
    }

    snprintf(changes, sizeof(changes), "\"begin_to\":%lld",
             (long long) between(l->head + 1, ngx_min(l->head + 6, l->tail)));
    step_right(l, changes);

    if (l->upto > l->head && !failed && one_in(4)) {
        looks_paused(l);
        return;
    }

    if (l->upto > l->head && !failed) {
        tables_compare();
        clock_set(between(1, 9000));
        snprintf(changes, sizeof(changes), "\"done_to\":%lld,\"status\":1,"
                 "\"attempts\":1,\"reason\":\"unconfirmed\"",
                 (long long) l->upto);
        step_right(l, changes);
    }

    d = store.ndoubts ? &store.doubts[store.ndoubts - 1] : NULL;

    if (d && d->lane == l && !failed && one_in(2)) {
        tables_compare();
        proves_replayed(l, d);
    }
}


static void
op_state(void)
{
    store_lane_t  *l;

    static const char  *reasons[] = { "channel_gone", "foreign_channel" };

    l = a_lane();
    args_its(l);

    switch (between(0, 10)) {
    case 0:
    case 1:
        arg(5, one_in(2) ? "t" : "f");
        both("delivery_verified");
        return;
    case 2:
        both("delivery_asks");
        return;
    case 3:
    case 4:
        last_webhook = one_in(6) && last_webhook ? last_webhook
                       : last_message + between(1, 1000);
        arg(5, "%lld", (long long) last_webhook);
        arg(6, "\\x6162%02x", (int) between(0, 255));
        arg(7, one_in(2) ? "t" : "f");
        both("delivery_registered");
        return;
    case 5:
        both("delivery_lost");
        return;
    case 6:
        if (one_in(3)) {
            arg(5, "%s", reasons[between(0, 1)]);
            both("delivery_broken");
        }
        return;
    case 7:
        arg(5, "missing_permissions");
        arg(6, "forbidden");
        arg(7, "%lld", (long long) between(1, 90000));

        if (one_in(3)) {
            arg(5, "bad_bot_token");
            arg_null(6);
        }

        both("delivery_waits");
        return;
    case 8:
        arg(5, "%lld", (long long) between(1, 90000));
        both("delivery_limited");
        return;
    case 9:
        both("delivery_sole");
        return;
    default:
        both("delivery_closed");
    }
}


static void
op_doubts(void)
{
    arg(0, "%s", owners[an_owner()]);
    arg(1, "%d", (int) (one_in(3) ? 1 : 16));
    arg(2, one_in(3) ? "true" : "false");
    both("delivery_doubts");
}


/* one of them is looked at, or is given up */

static void
op_doubts_later(void)
{
    store_doubt_t  *d;

    if (store.ndoubts == 0) {
        return;
    }

    d = &store.doubts[random64() % store.ndoubts];
    passes(one_in(2) ? d->look_at
           : d->done_at + (one_in(2) ? 24 : between(1, 23)) * STORE_HOUR);
    op_doubts();
}


static void
op_replay(void)
{
    replay(a_lane(), NULL);
}


static void
op_proved(void)
{
    store_doubt_t  *d;

    if (store.ndoubts == 0) {
        return;
    }

    d = &store.doubts[random64() % store.ndoubts];

    /* an operator did not wait for that */

    if (one_in(2)) {
        replay(d->lane, d);
        clock_set(1);
    }

    args_its(d->lane);
    arg(4, "%lld", (long long) (d->from + (one_in(10) ? 1 : 0)));

    if (one_in(2)) {
        arg_null(5);
    } else {
        arg(5, "%lld", (long long) last_message);
    }

    both("delivery_proved");
}


static void
op_refused(void)
{
    int64_t  one, two;

    one = store.channels[0].guild;
    two = store.channels[store.nchannels - 1].guild;

    if (one_in(2)) {
        arg(0, "{%lld,%lld}", (long long) one, (long long) two);
        arg(1, "{%lld,%lld}", (long long) between(0, 8),
            (long long) between(1, 40));
    } else {
        arg(0, "{%lld}", (long long) one);
        arg(1, "{%lld}", (long long) between(1, 40));
    }

    both("delivery_refused");
}


static void
op_release(void)
{
    both("delivery_release");
}


/* statements of others: each side in its own way */

static int
channel_number(const store_channel_t *c)
{
    return (int) (c - store.channels) % COMPARE_CHANNELS;
}


static void
op_record(void)
{
    int               i, n, held;
    char              sql[4096], *p;
    PGresult         *res;
    store_channel_t  *c;

    c = a_channel();

    if (!c->used) {
        return;
    }

    held = one_in(4);
    n = (int) (one_in(5) ? between(5, 25) : 1);
    snprintf(statement, sizeof(statement), "record of %d in %lld, held: %d",
             n, (long long) c->id, held);
    p = sql + sprintf(sql, "select guildlog.record(%lld, 0::smallint, '[",
                      (long long) c->guild);

    for (i = 0; i < n; i++) {
        p += sprintf(p, "%s{\"event_id\":\"e%lld\",\"type\":%d}",
                     i ? "," : "", (long long) ++events,
                     (held ? COMPARE_HELD : COMPARE_TYPE)
                     + channel_number(c));
    }

    sprintf(p, "]'::jsonb)");
    run("%s", sql);

    snprintf(sql, sizeof(sql), "select a.id, a.doc from guildlog.log_arrival"
             " a where a.guild_id = %lld order by a.arrival desc limit %d",
             (long long) c->guild, n);
    res = ask(conn, sql, 0, NULL);

    for (i = n - 1; i >= 0; i--) {
        (void) store_record(c, strtoll(PQgetvalue(res, i, 0), NULL, 10),
                            strdup(PQgetvalue(res, i, 1)),
                            held ? store.now + 3 * STORE_SECOND
                                 : STORE_NONE);
    }

    PQclear(res);
}


static void
channel_use(store_channel_t *c, int used)
{
    snprintf(statement, sizeof(statement), "channel %lld is used: %d",
             (long long) c->id, used);

    run("update guildlog.logging_type set log_channel = %s where guild_id ="
        " %lld and log_type in (%d, %d)",
        used ? number(c->id) : "null", (long long) c->guild,
        COMPARE_TYPE + channel_number(c), COMPARE_HELD + channel_number(c));
    run("set search_path = guildlog; select lanes_sync(%lld, 0::smallint)",
        (long long) c->guild);
    store_sync(c, used);
}


static void
op_sync(void)
{
    store_channel_t  *c;

    c = a_channel();
    channel_use(c, !c->used);
}


/* a channel is used no more: what its lane has comes to an end, then the lane
   does */

static void
op_leave(void)
{
    char           changes[128];
    store_lane_t  *l;

    l = a_lane();

    if (l->deleted || l->state == STORE_CLOSED || !l->channel->used) {
        return;
    }

    channel_use(l->channel, 0);

    if (l->deleted || l->state == STORE_CLOSED) {
        return;
    }

    if (l->tail > l->head) {
        snprintf(changes, sizeof(changes), "\"done_to\":%lld,\"status\":0,"
                 "\"attempts\":1,\"reason\":\"rejected\"",
                 (long long) l->tail);
        step_right(l, changes);
    }

    args_its(l);
    both("delivery_closed");
}


static void
op_pause(void)
{
    pause_turn(a_lane());
}


static void
op_astray(void)
{
    store_channel_t  *c;

    c = a_channel();
    c->astray = !c->astray;
    snprintf(statement, sizeof(statement), "channel %lld is astray: %d",
             (long long) c->id, c->astray);

    if (c->astray) {
        run("insert into guildlog.directory (guild_id, kind, id, name)"
            " values (5, 1, %lld, 'x')", (long long) c->id);
    } else {
        run("delete from guildlog.directory where id = %lld",
            (long long) c->id);
    }
}


/* a transaction that has a number goes on for a while */

static void
op_open(void)
{
    if (holds) {
        PQclear(PQexec(other, "rollback"));
        store.open[0] = 0;
    } else {
        PQclear(PQexec(other, "begin; select txid_current()"));
        store.open[0] = store.xid++;
    }

    holds = !holds;
    snprintf(statement, sizeof(statement), "a transaction goes on: %d",
             holds);
}


static void
op_time(void)
{
    static const int64_t  most[] = { 1000, 30000, 70000, 700000, 4000000,
                                     90000000 };

    snprintf(statement, sizeof(statement), "time passes");
    clock_set(between(1, most[random64() % (one_in(4) ? 6 : 3)]));
}


static const op_t  ops[] = {
    { 8, op_lease }, { 14, op_find }, { 34, op_step }, { 22, op_state },
    { 8, op_unconfirmed }, { 5, op_doubts }, { 3, op_doubts_later },
    { 8, op_proved },
    { 2, op_refused }, { 2, op_park },
    { 14, op_record }, { 4, op_release }, { 3, op_sync }, { 2, op_leave },
    { 4, op_pause }, { 2, op_replay },
    { 1, op_astray }, { 2, op_open }, { 6, op_time }
};


static void
op_any(void)
{
    int      n;
    size_t   i;

    for (i = 0, n = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        n += ops[i].weight;
    }

    n = (int) between(0, n - 1);

    for (i = 0; n >= ops[i].weight; i++) {
        n -= ops[i].weight;
    }

    statement[0] = '\0';
    ops[i].make();
}


/* a lane was made on both sides: the schema says which number it has */

static void
lane_opened(store_lane_t *l)
{
    (void) l;
}


/* the numbers of new lanes are known when the schema has made them */

static void
lanes_number(void)
{
    int            i, n;
    char           sql[256];
    PGresult      *res;
    store_lane_t  *l;

    for (i = 0; i < store.nlanes; i++) {
        l = store.lanes[i];

        if (l->id) {
            continue;
        }

        snprintf(sql, sizeof(sql), "select lane, shard from guildlog.lane"
                 " where guild_id = %lld and channel_id = %lld"
                 " and state <> 'closed'", (long long) l->guild,
                 (long long) l->channel->id);
        res = ask(conn, sql, 0, NULL);

        if (PQntuples(res) != 1) {
            differs("the lanes of a channel", "1", number(PQntuples(res)));
            PQclear(res);
            return;
        }

        l->id = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
        l->shard = atoi(PQgetvalue(res, 0, 1));
        PQclear(res);

        /* it stood first among those of its server, and is the newest */

        for (n = i; n + 1 < store.nlanes
                    && store.lanes[n + 1]->guild == l->guild
                    && store.lanes[n + 1]->id < l->id; n++)
        {
            store.lanes[n] = store.lanes[n + 1];
            store.lanes[n + 1] = l;
        }

        i = -1;
    }
}


static void
round_begin(int64_t wall)
{
    int               i;
    store_channel_t  *c;

    if (holds) {
        op_open();
    }

    store_make(COMPARE_GUILDS * COMPARE_CHANNELS);
    store.opened = lane_opened;
    store.now = wall * 1000;
    clock_set(0);
    memset(marks, 0, sizeof(marks));
    last_message = (wall - STORE_EPOCH - 1000000) << 22;
    last_webhook = 0;
    leases = 0;

    run("truncate guildlog.server, guildlog.lane, guildlog.lane_head,"
        " guildlog.lane_tail, guildlog.lane_ready, guildlog.lane_batch,"
        " guildlog.doubt, guildlog.replay, guildlog.refusal,"
        " guildlog.log_arrival, guildlog.log_head, guildlog.delivery_node,"
        " guildlog.directory, guildlog.keeper_parked cascade");
    run("update guildlog.shard_lease set owner = null, fence = 0,"
        " until = '-infinity'");

    for (i = 0; i < store.nchannels; i++) {
        c = &store.channels[i];
        c->guild = 900000000000000001LL + i / COMPARE_CHANNELS;
        c->id = 300000000000000001LL + i;

        if (channel_number(c) == 0) {
            run("insert into guildlog.server (guild_id, plan) values"
                " (%lld, 'pro')", (long long) c->guild);
        }

        run("insert into guildlog.logging_type (guild_id, bot, log_type,"
            " log_channel, active_ignore, format_type) values"
            " (%lld, 0, %d, %lld, false, 1), (%lld, 0, %d, %lld, true, 1)",
            (long long) c->guild, COMPARE_TYPE + channel_number(c),
            (long long) c->id, (long long) c->guild,
            COMPARE_HELD + channel_number(c), (long long) c->id);
        c->format = 1;
        c->buttons = 7;
        run("set search_path = guildlog; select lanes_sync(%lld,"
            " 0::smallint)", (long long) c->guild);
        store_sync(c, 1);
        lanes_number();
    }
}


static double
seconds(void)
{
    struct timespec  t;

    clock_gettime(CLOCK_MONOTONIC, &t);

    return t.tv_sec + t.tv_nsec / 1e9;
}


/* compare [-s seed] [-r rounds] [-n statements] [-t seconds] [-v] conninfo:
   -t ends with the round in which so many have passed */

int
main(int argc, char **argv)
{
    int              c, rounds, most, all;
    double           began, time;
    struct timespec  t;

    seed = 1;
    rounds = 10;
    most = 300;
    time = 0;

    while ((c = getopt(argc, argv, "s:r:n:t:v")) != -1) {
        switch (c) {
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'r': rounds = atoi(optarg); break;
        case 'n': most = atoi(optarg); break;
        case 't': time = atof(optarg); rounds = INT_MAX; break;
        case 'v': verbose = 1; break;
        default: return 2;
        }
    }

    if (optind != argc - 1) {
        return 2;
    }

    conn = PQconnectdb(argv[optind]);
    other = PQconnectdb(argv[optind]);

    if (PQstatus(conn) != CONNECTION_OK || PQstatus(other) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(conn));
        return 2;
    }

    run("set client_min_messages = warning");
    run("set sim.ms = '0'");
    run("%s", clock_sql);

    clock_gettime(CLOCK_REALTIME, &t);
    began = seconds();
    all = 0;

    for (round_no = 1; round_no <= rounds && !failed; round_no++) {
        if (time > 0 && seconds() - began >= time) {
            break;
        }

        chance = (seed * 1000003 + round_no) * 0x2545f4914f6cdd1dULL;
        round_begin((int64_t) t.tv_sec * 1000);
        tables_compare();

        for (nth = 1; nth <= most && !failed; nth++, all++) {
            clock_set(between(1, 50));
            op_any();
            lanes_number();
            tables_compare();

            if (verbose) {
                printf("%d %s\n", nth, statement);
            }
        }

        store_free();
    }

    printf("%d statements in %d rounds from seed %llu: %s\n", all,
           round_no - 1, (unsigned long long) seed,
           failed ? "model and schema differ" : "model and schema agree");

    PQfinish(conn);
    PQfinish(other);

    return failed != 0;
}
