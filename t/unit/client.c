
/*
 * Links ngx_guildlog_client.c, ngx_guildlog_client_url.c and
 * ngx_guildlog_client_response.c.
 *
 * An exchange ends in what can be proved: answered, not sent, or uncertain.
 * It runs in nginx's own event loop against t/lib/Guildlog/Peer.pm, whose
 * table has the expected outcome of each bad answer.
 */

#include "client/ngx_guildlog_client.h"
#include "tap.h"


#define PEER                                                                  \
    "use File::Temp; use Guildlog::Peer; $| = 1;"                             \
    "my $dir = File::Temp::tempdir(DIR => '/tmp', CLEANUP => 1);"             \
    "my %of = (good => [], wrong => [names => 'DNS:other.example'],"          \
    "    own => [self => 1], expired => [expired => 1],"                      \
    "    named => [names => 'DNS:localhost']);"                               \
    "my @peers = my $plain = Guildlog::Peer->new;"                            \
    "my $line = $plain->port;"                                                \
    "for (qw(good wrong own expired named)) {"                                \
    "    push @peers, Guildlog::Peer->new(tls =>"                             \
    "        Guildlog::Peer->certificate($dir, $_, @{$of{$_}}));"             \
    "    $line .= ' ' . $peers[-1]->port;"                                    \
    "}"                                                                       \
    "print \"$line $dir/ca.crt\\n\";"                                         \
    "for (sort keys %Guildlog::Peer::case) {"                                 \
    "    my $case = $Guildlog::Peer::case{$_};"                               \
    "    print join(\"\\t\", $_, $case->{outcome}, $case->{status} || 0,"     \
    "        $case->{kept} || 0, $case->{slow} || 0,"                         \
    "        $case->{early} ? 1 : 0, defined $case->{body} ? 1 : 0), \"\\n\";"\
    "}"                                                                       \
    "print \"\\n\"; 1 while <STDIN>;"

#define BIG       4000000      /* bytes, more than sockets hold */
#define DEADLINE  10000        /* ms */


typedef struct {
    char        name[64];
    char        outcome[16];
    unsigned    status;
    unsigned    kept;
    unsigned    slow;
    unsigned    early;
    unsigned    body;
} case_t;


static case_t           cases[200];
static ngx_uint_t       ncases;
static unsigned         port[6];       /* plain, good, wrong, own, expired … */
static char             authority[256];

static ngx_cycle_t     *cycle;
static ngx_conf_t       cf;

static const ngx_str_t  json = ngx_string("application/json");
static ngx_uint_t       ended;
static ngx_uint_t       outcomes[3];
static ngx_uint_t       status;
static ngx_uint_t       time_ms;
static ngx_str_t        body;
static u_char           body_data[128];
static char             cause[128];

static const char      *names[] = { "answered", "unsent", "uncertain" };


static FILE *
start_peer(FILE **in)
{
    int  to[2], from[2];

    if (pipe(to) == -1 || pipe(from) == -1) {
        abort();
    }

    if (fork() == 0) {
        (void) dup2(to[0], 0);
        (void) dup2(from[1], 1);
        (void) close(to[1]);
        (void) close(from[0]);
        (void) execlp("perl", "perl", "-It/lib", "-e", PEER, NULL);
        _exit(1);
    }

    (void) close(to[0]);
    (void) close(from[1]);

    *in = fdopen(to[1], "w");

    return fdopen(from[0], "r");
}


static void
read_cases(FILE *from)
{
    char     line[512];
    case_t  *c;

    if (fgets(line, sizeof(line), from) == NULL
        || sscanf(line, "%u %u %u %u %u %u %255s", &port[0], &port[1],
                  &port[2], &port[3], &port[4], &port[5], authority)
           != 7)
    {
        printf("Bail out! no peer\n");
        exit(1);
    }

    while (fgets(line, sizeof(line), from) && line[0] != '\n') {
        c = &cases[ncases++];

        if (sscanf(line, "%63[^\t]\t%15s\t%u\t%u\t%u\t%u\t%u", c->name,
                   c->outcome, &c->status, &c->kept, &c->slow, &c->early,
                   &c->body)
            != 7)
        {
            printf("Bail out! no case: %s", line);
            exit(1);
        }
    }
}


/* starts nginx's cycle as its main() does, in a single process */

static void
start_nginx(char **argv)
{
    FILE                *conf;
    ngx_log_t           *log;
    ngx_uint_t           i;
    ngx_cycle_t          init;
    static char          file[] = "/tmp/client.XXXXXX";

    conf = fdopen(mkstemp(file), "w");
    fprintf(conf, "daemon off; master_process off; pid %s.pid;"
                  "error_log /dev/null info; events { }", file);
    fclose(conf);

    (void) ngx_strerror_init();

    ngx_time_init();
    ngx_pid = getpid();
    ngx_os_argv = argv;
    ngx_use_stderr = 0;

    log = ngx_log_init((u_char *) "/tmp/", (u_char *) "/dev/null");
    ngx_ssl_init(log);

    ngx_memzero(&init, sizeof(ngx_cycle_t));

    init.log = log;
    init.pool = ngx_create_pool(1024, log);
    ngx_cycle = &init;

    ngx_str_set(&init.prefix, "/tmp/");
    ngx_str_set(&init.conf_prefix, "/tmp/");
    ngx_str_set(&init.conf_param, "");
    ngx_str_set(&init.error_log, "/dev/null");
    init.conf_file = tap_str(file);

    (void) ngx_os_init(log);
    (void) ngx_crc32_table_init();
    ngx_slab_sizes_init();
    (void) ngx_preinit_modules();

    cycle = ngx_init_cycle(&init);
    (void) unlink(file);

    if (cycle == NULL) {
        printf("Bail out! no cycle\n");
        exit(1);
    }

    ngx_cycle = cycle;
    ngx_process = NGX_PROCESS_SINGLE;

    for (i = 0; cycle->modules[i]; i++) {
        if (cycle->modules[i]->init_process) {
            (void) cycle->modules[i]->init_process(cycle);
        }
    }

    cf.pool = cycle->pool;
    cf.cycle = cycle;
    cf.log = cycle->log;
}


static ngx_guildlog_client_t *
make_client(ngx_guildlog_client_url_t *origin, const char *scheme,
    const char *host, unsigned where)
{
    char       text[256];
    ngx_str_t  url;

    (void) snprintf(text, sizeof(text), "%s://%s:%u/", scheme, host, where);

    url = tap_str(text);
    url.data = ngx_pstrdup(cycle->pool, &url);

    ngx_memzero(origin, sizeof(ngx_guildlog_client_url_t));
    origin->trusted = tap_str(scheme[4] ? authority : "");

    if (ngx_guildlog_client_url_init(&cf, origin, &url) != NGX_CONF_OK) {
        printf("Bail out! %s\n", text);
        exit(1);
    }

    return ngx_guildlog_client_create(cycle, origin, NULL, 1000, 4);
}


static void
on_answer(void *data, ngx_guildlog_client_response_t *answer)
{
    ended++;
    outcomes[answer->outcome]++;
    status = answer->status;
    time_ms = answer->time_ms;

    body.data = body_data;
    body.len = ngx_min(answer->body.len, sizeof(body_data));
    memcpy(body_data, answer->body.len ? answer->body.data : body_data,
           body.len);

    (void) snprintf(cause, sizeof(cause), "%s",
                    answer->cause ? answer->cause : "");

    if (data) {
        ngx_guildlog_client_destroy(data);
    }
}


static ngx_guildlog_client_exchange_t *
send_one(ngx_guildlog_client_t *client, const char *method, const char *name,
    size_t size, ngx_msec_t deadline, void *data)
{
    char                             path[256], *p;
    ngx_str_t                        text, none, content;
    ngx_guildlog_client_exchange_t  *x;

    p = path + sprintf(path, "/case/");

    for ( /* void */ ; *name; name++) {
        p += sprintf(p, *name == ' ' ? "%%20" : "%c", *name);
    }

    text = tap_str(path);
    none = tap_str("");
    content.len = size;
    content.data = malloc(size + 1);
    memset(content.data, 'b', size);

    x = ngx_guildlog_client_send(client, method, &text, &none, &json, &content,
                                 deadline, on_answer, data);
    free(content.data);

    return x;
}


static void
loop(ngx_uint_t until)
{
    while (ended < until) {
        ngx_process_events_and_timers(cycle);
    }
}


static void
wake(ngx_event_t *ev)
{
    ended = (ngx_uint_t) -1;
}


static void
loop_for(ngx_msec_t ms)
{
    static ngx_event_t  ev;
    static struct { NGX_GUILDLOG_EVENT_IDENT; }  ident;

    ev.data = &ident;
    ev.log = cycle->log;
    ev.handler = wake;
    ident.fd = (ngx_socket_t) -1;

    ended = 0;
    ngx_add_timer(&ev, ms);
    loop((ngx_uint_t) -1);
}


/* its outcome */

static const char *
exchange(ngx_guildlog_client_t *client, const char *method,
    const char *name, size_t size, ngx_msec_t deadline)
{
    ended = 0;
    memset(outcomes, 0, sizeof(outcomes));

    (void) send_one(client, method, name, size, deadline, NULL);
    loop(1);

    return outcomes[0] ? names[0] : outcomes[1] ? names[1] : names[2];
}


static void
is_outcome(const char *got, const char *expected, const char *what)
{
    if (!tap_ok(strcmp(got, expected) == 0, "%s: %s", what, expected)) {
        printf("# %s, %s\n", got, cause);
    }
}


static void
test_case(ngx_guildlog_client_t *client, const case_t *c, const char *scheme,
    const char *method)
{
    char         what[160];
    size_t       size;
    ngx_uint_t   n;
    ngx_msec_t   deadline;
    const char  *outcome;

    if (strstr(c->name, "second request")) {
        return;
    }

    size = c->early ? BIG : method[0] == 'P' ? 100 : 0;
    deadline = DEADLINE;

    if (c->slow) {
        /* its time is not that of a handshake */
        (void) exchange(client, "GET", "well", 0, DEADLINE);
        deadline = 400;
    }

    (void) snprintf(what, sizeof(what), "%s %s, %s", scheme, method,
                    c->name);

    outcome = exchange(client, method, c->name, size, deadline);

    /* on a busy machine the request may time out before it is sent */

    while (c->slow && strcmp(outcome, "unsent") == 0 && deadline < DEADLINE) {
        deadline *= 2;
        outcome = exchange(client, method, c->name, size, deadline);
    }

    is_outcome(outcome, c->outcome, what);

    if (strcmp(c->outcome, "answered") == 0) {
        tap_is(status, c->status, "  its status");
    }

    if (c->status && !c->body && !c->early) {
        tap_ok(body.len > 30
               && memcmp(body.data, "{\"channel_id\":\"", 15) == 0
               && memcmp(body.data + body.len - 2, "\"}", 2) == 0,
               "  its body");
    }

    tap_ok(c->slow ? time_ms >= 400 : time_ms < DEADLINE, "  its time");

    if (c->status && strncmp(c->name, "a body of", 9) != 0) {

        for (n = 0; !c->kept && client->nidle && n < 100; n++) {
            loop_for(20);
        }

        tap_is(client->nidle, c->kept, "  its connection");
    }
}


static void
test_cases(const char *scheme, unsigned where)
{
    ngx_uint_t                 i;
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;

    client = make_client(&origin, scheme, "127.0.0.1", where);

    for (i = 0; i < ncases; i++) {
        test_case(client, &cases[i], scheme, "GET");
        test_case(client, &cases[i], scheme, "POST");
    }

    ngx_guildlog_client_destroy(client);
}


/* a connection that was idle may be closed just as it is used again */

static void
test_again(const char *scheme, unsigned where)
{
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;

    client = make_client(&origin, scheme, "127.0.0.1", where);

    (void) exchange(client, "GET", "closes at the second request", 0,
                    DEADLINE);
    is_outcome(exchange(client, "GET", "closes at the second request", 0,
                        DEADLINE),
               "answered", "what is safe to repeat is");

    is_outcome(exchange(client, "POST", "closes at the second request", 0,
                        DEADLINE),
               "uncertain", "what is not is not");

    (void) exchange(client, "GET", "answers the second request by half", 0,
                    DEADLINE);
    is_outcome(exchange(client, "GET", "answers the second request by half",
                        0, DEADLINE),
               "uncertain", "nor what was answered by half");

    is_outcome(exchange(client, "DELETE", "close without a word", 0,
                        DEADLINE),
               "uncertain", "nor on a new connection");

    ngx_guildlog_client_destroy(client);
}


static void
test_unsent(void)
{
    ngx_uint_t                 i;
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;
    static const char      *wrong[] = { "another name", "no authority",
                                        "expired", "no address" };

    for (i = 0; i < 4; i++) {
        client = make_client(&origin, "https", "127.0.0.1", port[2 + i]);

        is_outcome(exchange(client, "POST", "well", 10, DEADLINE), "unsent",
                   wrong[i]);
        tap_ok(strstr(cause, "certificate") != NULL, "  for its certificate");

        ngx_guildlog_client_destroy(client);
    }

    client = make_client(&origin, "https", "localhost", port[5]);
    is_outcome(exchange(client, "POST", "well", 10, DEADLINE), "answered",
               "a certificate with the name, behind a dead address");
    ngx_guildlog_client_destroy(client);

    client = make_client(&origin, "https", "127.0.0.1", port[0]);
    is_outcome(exchange(client, "POST", "well", 10, 300), "unsent",
               "a handshake nobody answers");
    ngx_guildlog_client_destroy(client);

    client = make_client(&origin, "http", "127.0.0.1", 1);
    is_outcome(exchange(client, "POST", "well", 10, DEADLINE), "unsent",
               "nobody there");
    ngx_guildlog_client_destroy(client);

    client = make_client(&origin, "http", "nobody.invalid", port[0]);
    is_outcome(exchange(client, "POST", "well", 10, DEADLINE), "unsent",
               "a name nobody has");
    ngx_guildlog_client_destroy(client);
}


/* the process stands still after that many turns of the event loop, for longer
   than an exchange may take: another worker may have its lane by then */

static void
test_stopped(const char *scheme, unsigned where, ngx_uint_t turns)
{
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;

    client = make_client(&origin, scheme, "127.0.0.1", where);
    ended = 0;
    memset(outcomes, 0, sizeof(outcomes));

    (void) send_one(client, "POST", "never a word", 10, 2000, NULL);

    while (turns--) {
        ngx_process_events_and_timers(cycle);
    }

    usleep(2500000);
    loop(1);

    is_outcome(outcomes[0] ? names[0] : outcomes[1] ? names[1] : names[2],
               "unsent", scheme);

    ngx_guildlog_client_destroy(client);
}


static void
test_refused_bytes(void)
{
    ngx_str_t                  path, value, none;
    ngx_uint_t                 i;
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;
    static const ngx_str_t  bad[] = {
        ngx_string("/a\r\nb"), ngx_string("/a\nb"), ngx_string("/a\rb"),
        ngx_string("/a\0b"), ngx_string("/a\tb"), ngx_string("/a\177b")
    };

    client = make_client(&origin, "http", "127.0.0.1", port[0]);

    none = tap_str("");
    path = tap_str("/case/well");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        value = bad[i];

        tap_ok(ngx_guildlog_client_send(client, "GET", &value, &none, &json,
                                        &none, DEADLINE, on_answer, NULL)
               == NULL, "no such path");
        tap_ok(ngx_guildlog_client_send(client, "GET", &path, &value, &json,
                                        &none, DEADLINE, on_answer, NULL)
               == NULL, "no such authorization");
    }

    value = tap_str("/a b");
    tap_ok(ngx_guildlog_client_send(client, "GET", &value, &none, &json,
                                    &none, DEADLINE, on_answer, NULL)
           == NULL, "no space in a path");

    ngx_guildlog_client_destroy(client);
}


/* a cancelled exchange calls no handler, whatever it waits for */

static void
test_cancel(const char *scheme, unsigned where)
{
    ngx_uint_t                       i;
    ngx_guildlog_client_t           *client;
    ngx_guildlog_client_url_t        origin;
    ngx_guildlog_client_exchange_t  *x;

    client = make_client(&origin, scheme, "127.0.0.1", where);

    for (i = 0; i < 20; i++) {
        memset(outcomes, 0, sizeof(outcomes));

        x = send_one(client, "POST", "never a word", i % 2 ? BIG : 10,
                     DEADLINE, NULL);

        if (i) {
            loop_for(i);
        }

        ngx_guildlog_client_cancel(x);
        loop_for(5);

        tap_is(outcomes[0] + outcomes[1] + outcomes[2], 0,
               "cancelled, and silent");
    }

    ended = 0;
    (void) send_one(client, "GET", "never a word", 0, DEADLINE, NULL);
    (void) send_one(client, "GET", "well", 0, DEADLINE, client);
    loop(1);
    loop_for(50);

    tap_is(outcomes[0] + outcomes[1] + outcomes[2], 1,
           "the client destroyed by a handler, the other one is silent");
}


/* a request that is late does not begin; the next one has the connection */

static void
test_bounded(const char *scheme, unsigned where)
{
    ngx_guildlog_client_t           *client;
    ngx_guildlog_client_url_t        origin;
    ngx_guildlog_client_exchange_t  *x;

    client = make_client(&origin, scheme, "127.0.0.1", where);
    memset(outcomes, 0, sizeof(outcomes));
    ended = 0;

    x = send_one(client, "POST", "well", 100, DEADLINE, NULL);
    ngx_guildlog_client_begin_by(x, ngx_current_msec - 1);
    loop(1);

    is_outcome(outcomes[1] ? names[1] : names[0], "unsent",
               "too late to begin");
    tap_is(client->nidle, 1, "its connection is kept");

    memset(outcomes, 0, sizeof(outcomes));
    ended = 0;

    x = send_one(client, "POST", "well", 100, DEADLINE, NULL);
    ngx_guildlog_client_begin_by(x, ngx_current_msec + DEADLINE);
    loop(1);

    tap_is(outcomes[0], 1, "the next one, in time, is answered");
    tap_is(client->nidle, 1, "on that connection");

    ngx_guildlog_client_destroy(client);
}


static void
test_crowd(const char *scheme, unsigned where, ngx_uint_t width,
    ngx_uint_t times)
{
    ngx_uint_t                 i, n;
    ngx_guildlog_client_t     *client;
    ngx_guildlog_client_url_t  origin;

    client = make_client(&origin, scheme, "127.0.0.1", where);
    memset(outcomes, 0, sizeof(outcomes));

    for (n = 0; n < times; n++) {
        ended = 0;

        for (i = 0; i < width; i++) {
            (void) send_one(client, "POST", "well", 100, 60000, NULL);
        }

        loop(width);
    }

    tap_is(outcomes[0], width * times, "all of many at once are answered");
    tap_ok(client->nidle <= 4, "no more than wanted are kept");

    ngx_guildlog_client_destroy(client);
}


int
main(int argc, char **argv)
{
    FILE  *in, *from;

    setvbuf(stdout, NULL, _IOLBF, 0);
    (void) signal(SIGPIPE, SIG_IGN);

    from = start_peer(&in);
    read_cases(from);
    start_nginx(argv);

    test_cases("http", port[0]);
    test_cases("https", port[1]);
    test_again("http", port[0]);
    test_again("https", port[1]);
    test_unsent();
    test_stopped("http", port[0], 1);
    test_stopped("https", port[1], 2);
    test_refused_bytes();
    test_cancel("http", port[0]);
    test_cancel("https", port[1]);
    test_bounded("http", port[0]);
    test_bounded("https", port[1]);
    test_crowd("http", port[0], 20, 50);
    test_crowd("https", port[1], 5, 20);

    fclose(in);
    (void) wait(NULL);

    return tap_done();
}
