# An export of any size takes one chunk of a worker's memory, whether its reader
# is fast or stalls, and does not delay other requests.  If the database fails,
# the export ends so that no client takes it for a whole file.
# GUILDLOG_EXPORT_ROWS is the number of entries (20000).

use lib 't/lib';
use Guildlog;
use Guildlog::Export;
use Guildlog::H2;
use List::Util qw(max);

my $rows    = $ENV{GUILDLOG_EXPORT_ROWS} || 20_000;
my $cluster = Guildlog::Cluster->new;
my $h2      = free_port;

# small buffers, so that little of an export is in the sockets
my $nginx = Guildlog->new(cluster => $cluster,
    listen => 'sndbuf=32k', api => 'send_timeout 60s;',
    http   => <<~"HTTP");
        server {
            listen 127.0.0.1:$h2 http2 sndbuf=32k;
            location /api/ { guildlog_api; }
        }
        HTTP
my $server = $nginx->server;
my $token  = $nginx->token($server);
my $export = "/servers/$server/logs/export";
my $all    = "$export?type=7";

fill($nginx, $server, int(time * 1000), $rows);
is drain(ask($nginx, "$export?after=0&search=no", $token, '1.0'))->{end},
    'closed', 'an export that finds nothing';

# the sanitizer keeps freed memory: no figure with it

my $plain  = ($ENV{GUILDLOG_BUILD} || '') !~ /^asan/;
my $before = memory($nginx);
my $most   = 0;
my $read   = drain(ask($nginx, $all, $token, '1.0'),
    each => sub { $most = max($most, memory($nginx)) });
is_deeply $read, { rows => $rows, end => 'closed' }, 'read at once: all rows';
cmp_ok $most - $before, '<', 10_000, '... in constant memory' if $plain;

my @stalled = map { ask($nginx, $all, $token, '1.0') } 1 .. 4;
wait_for { $_->readable || return 0 for @stalled; 1 } 60, 'all exports begin';
is $nginx->get("/servers/$server/logs?limit=1", token => $token)->status, 200,
    'others are served while four stall';
cmp_ok memory($nginx) - $before, '<', 10_000, '... in constant memory'
    if $plain;
is_deeply drain(shift @stalled), { rows => $rows, end => 'closed' },
    'a reader that had stalled gets all rows';
$_->close(reset => 1) for @stalled;

# filters

for my $filter ('search=needle', 'search=needle&type=5', 'type=7&after=1',
    'search=x*+needle')
{
    my $total = $nginx->get("/servers/$server/logs?limit=1&$filter",
        token => $token)->json->{total};
    my $export = drain(ask($nginx, "$export?$filter", $token, '1.0'));
    is max($export->{rows}, 0), $total,
        "an export has as many rows as GET /logs counts: $filter";
}

# a search runs once for 10,000 results, not for each chunk

sub searches {
    return $nginx->get('/status', raw_path => 1)->json
        ->{statement_seconds}{search_open}{count};
}

my $searches = searches();
is drain(ask($nginx, "$export?search=needle", $token, '1.0'))->{rows},
    $rows / 10, 'an export of a search, in many chunks';
is searches() - $searches, 1, '... runs the search once';

my $second = $nginx->server;
my $its    = $nginx->token($second);
$nginx->sql(<<~'SQL', $second, int(time * 1000));
    insert into log_arrival (guild_id, id, arrival, recorded_at, bot, type,
                             event_id, doc)
    select g, i.id, h.arrival + i.n, clock_timestamp(), 0, 7, i.n,
           format('{"id":"%s","type":7,"timestamp":%s,"role":"mod %s",'
                  '"content":"pin"', i.id, now - 1000 - i.n, i.n % 3)
      from (values (?::bigint, ?::bigint)) v (g, now)
      join log_head h on h.guild_id = g and h.bot = 0,
           lateral (select n, time_id(now - 1000 - n) as id
                      from generate_series(1, 10450) n) i
    SQL
arrived($nginx, $second);
my @ids = map { $_->[0] } $nginx->sql('select id, 1 from entries
    where guild_id = ? and type = 7 order by id desc', $second);
$searches = searches();
for my $filter ('search=pin', 'role=mod', 'search=pin&role=MOD&type=7') {
    my $csv = $nginx->get("/servers/$second/logs/export?$filter",
        token => $its)->text;
    my @got = $csv =~ /^[^,]+,(\d+),7,/mg;
    is scalar @got, 10_450, "$filter: all rows";
    is_deeply \@got, \@ids, '... newest first, each once';
}
is searches() - $searches, 6, 'two searches for each export of 10,450 rows';

# entries that are deleted meanwhile are left out: no rows are read ahead

my $slow = ask($nginx, "/servers/$second/logs/export?search=pin", $its, '1.0');
wait_for { $slow->readable } 60, 'the export begins';
$nginx->take_back($second, @ids[9000 .. 9199, 10_449]);
is drain($slow)->{rows}, 10_450 - 201, 'deleted entries are left out';

# the database stops: exports that have begun end unfinished

my $chunked = ask($nginx, $all, $token);
my $closing = ask($nginx, $all, $token, '1.0');
my $frames  = Guildlog::H2->new(port => $h2);
my $stream  = $frames->open('GET', "/api$all", token => $token);

wait_for { $_->readable || return 0
    for $chunked, $closing, $frames->client; 1 } 60, 'all exports begin';
$cluster->stop('immediate');

my $answer = $chunked->response;
is $answer->status, 200, 'the database stops: the answer had begun';
ok $answer->truncated, 'HTTP/1.1: the last chunk is missing';
$read = drain($closing);
is $read->{end}, 'reset', 'HTTP/1.0: the connection is reset';
cmp_ok $read->{rows}, '<', $rows, '... before all rows are sent';
$answer = $frames->response($stream);
is $answer->{status}, 200, 'HTTP/2: the answer had begun';
ok !$answer->{ended}, '... and does not end';
ok defined $answer->{reset}, '... but is reset';

sub restart {
    delete $nginx->{dbh};
    $cluster->start;
    wait_for { $nginx->get("/servers/$server", token => $token)->status == 200
    } 60, 'the database answers again';
}

# a backend is killed while it works for an export.  The chunk is asked for once
# more, so either all rows come or the export ends unfinished

restart();
my $connection = ask($nginx, $all, $token);
wait_for { $connection->readable } 60, 'the export begins';
my $holder = $cluster->connect($nginx->dbname);
$holder->begin_work;
$holder->do('lock table guildlog.token in access exclusive mode');

my $reading = fork // die "fork: $!";
if (!$reading) {
    my $answer = eval { $connection->response };
    my $n = () = ($answer ? $answer->text : '') =~ /\r\n/g;
    POSIX::_exit(!$answer ? 2 : $answer->truncated || $n == $rows + 1 ? 0 : 1);
}
my $watcher = $cluster->connect($nginx->dbname, 'postgres');
my $backend = wait_for {
    ($watcher->selectrow_array(q(select pid from pg_stat_activity
        where usename = 'guildlog' and datname = current_database()
          and wait_event_type = 'Lock')))[0]
} 60, 'a chunk waits for the lock';
kill 'KILL', $backend;
eval { $_->disconnect } for $holder, $watcher;
waitpid $reading, 0;
is $? >> 8, 0, 'a backend is killed: all rows, or an unfinished export';

delete $nginx->{dbh};
wait_for { $nginx->get("/servers/$server", token => $token)->status == 200 }
    60, 'PostgreSQL recovers';
is drain(ask($nginx, $all, $token, '1.0'))->{rows}, $rows,
    'afterwards an export is complete';

done_testing;
