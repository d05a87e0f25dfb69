# Logs are read at a hot standby while it is not too far behind.  What it does
# not answer, the primary answers; all else is asked there anyway.

use lib 't/lib';
use Guildlog;
use Guildlog::Export ();
use Guildlog::Index;
use Guildlog::OpenAPI;

my $primary = Guildlog::Cluster->new;
my $standby = $primary->standby;
my $dbname  = $primary->create_database;


sub replica {
    my ($more) = @_;
    return 'guildlog_database name=replica target=any host='
        . $standby->socket_dir . ' port=' . $standby->port
        . " dbname=$dbname password_file=database.password $more;";
}


# /api is the primary; below /late the standby may be far behind

my $locations = <<'CONF';
    location /fresh/ { guildlog_api reads=replica; }
    location /late/  { guildlog_api reads=replica max_lag=1h; }
CONF
my $nginx = Guildlog->new(cluster => $primary, dbname => $dbname,
    keeper => 'on interval=10ms', locations => $locations,
    http => 'guildlog_limit requests=1000000;'
        . replica('timeout=30s long_timeout=30s'));
my $server = $nginx->server;
my $token  = $nginx->new_token($server);
my $of     = "/servers/$server";
my $n      = 0;
my $narrow;    # has one connection to the standby


sub at {
    my ($where, $path, %option) = @_;
    return $nginx->get("/$where$path", raw_path => 1,
        token => $token->{token}, %option);
}


# what Guildlog-Lag says; undef: the primary answered
sub lag {
    return scalar $_[0]->header('Guildlog-Lag');
}


sub record {
    my (@entries) = @_;
    return @{ $nginx->operator('POST', "$of/logs", [map { { type => 5,
        event_id => 'e' . ++$n, %$_ } } @entries])->json->{ids} };
}


sub figure {
    return $nginx->get('/status', raw_path => 1)->json->{$_[0]};
}


# As the superuser of the standby; in a database of its own, where replaying
# ends no statement of the test.
sub on_standby {
    my ($sql, @values) = @_;
    my $dbh = $standby->connect('postgres', 'postgres');
    return $sql =~ /^select/ ? $dbh->selectrow_array($sql, undef, @values)
                             : $dbh->do($sql);
}


# the standby has all that the primary has now
sub replayed {
    my $lsn = $nginx->sql('select pg_current_wal_flush_lsn()');
    wait_for {
        on_standby('select pg_last_wal_replay_lsn() >= ?::pg_lsn', $lsn);
    } 60, 'replayed';
}


sub is_read {
    my ($where, $what) = @_;
    wait_for { defined lag(at($where, "$of/logs?limit=1")) } 60, $what;
}


# everything that is read, with and without an index

Guildlog::Index::index_hold($nginx);
Guildlog::Index::index_begin($nginx, $server);
record(map { {
    type => $_, timestamp => int(time * 1000) - 1000 * $_,
    executor => { id => '300000000000000001', name => 'Ann' },
    channel => { id => '300000000000000002', name => 'general' },
    content => 'a needle',
} } 4 .. 40);
Guildlog::Index::index_all($nginx, $server);
my ($entry) = record({ content => 'a needle behind the index' });
record({ content => 'x' x 3000 }) for 1 .. 3;
replayed();
is_read('late', 'the standby is read');

my @paths = map { "$of/$_" } 'logs', 'logs?limit=200', 'logs?category=categoryText',
    'logs?type=5&type=7', 'logs?search=needle', 'logs?channel=300000000000000002',
    'logs?member=300000000000000001', 'logs?role=none', "logs?bot=pro",
    'logs/export', 'logs/export?format=ndjson', 'logs/export?search=needle',
    'logs/export?type=5', 'logs/actors', "logs/$entry",
    'logs?limit=1&cursor=' . at('api', "$of/logs?limit=1")->json->{cursor};

for my $path (@paths) {
    my ($here, $there) = map { at($_, $path) } 'late', 'api';
    is $here->status, 200, $path =~ s/\d{8,}/…/gr;
    is $here->text, $there->text, '... says what the primary says';
    like lag($here), qr/^\d+$/, '... and comes from the standby';
    is lag($there), undef, '... which the primary does not say';
    is_deeply [Guildlog::OpenAPI->shared->problems('GET', $path, $here)], [],
        '... in the form that is described';
}
is at('late', "$of/logs?limit=7")->text, at('api', "$of/logs?limit=7")->text,
    'a page that is asked for again' for 1 .. 3;
cmp_ok figure('standby_reads_total'), '>=', @paths,
    'the status page counts these statements';
is figure('standby_again_total'), 0, '... of which none was asked twice';
like figure('standby_lag_seconds')->{replica}, qr/^\d+\.\d+$/,
    '... and tells the lag';


# what is not read there

for my $path ('', '/config', '/config/logging/settings', '/auth',
    '/search/members?query=a', '/filters', '/notifications', '/troubleshoot')
{
    is lag(at('late', "$of$path")), undef, "the primary answers $path";
}
is $nginx->patch("/late$of/config/settings", raw_path => 1,
    token => $token->{token}, json => { locale => 'de' })->status, 202,
    'a change';
like at('late', "$of/config/settings")->text, qr/"locale":9/,
    '... can be read at once';
my $tail = $nginx->connection;
$tail->send("GET /late$of/logs/stream HTTP/1.1\r\nHost: x\r\n"
    . "Authorization: Bearer $token->{token}\r\n\r\n");
my $head = '';
wait_for { ($head .= $tail->some(1) // '') =~ /\r\n\r\n/ } 30, 'a live tail';
like $head, qr/ 200 /, 'a live tail is served';
unlike $head, qr/Guildlog-Lag/i, '... by the primary';
$tail->close;
unlike $standby->log, qr/read-only transaction|during recovery/,
    'nothing was asked that a standby cannot do';


# it is behind, in two ways

sub behind {
    my ($what, $stop, $go) = @_;

    replayed();
    is_read('fresh', 'before');
    $stop->();
    my ($new) = record({ content => "while it is $what" });
    ok wait_for { !defined lag(at('fresh', "$of/logs?limit=1")) } 60, $what;
    is at('fresh', "$of/logs?limit=1")->json->{entries}[0]{id}, $new,
        "$what: the primary is read";
    my $late = at('late', "$of/logs?limit=1");
    isnt $late->json->{entries}[0]{id}, $new,
        '... but for who takes what is old';
    ok lag($late) >= 5, '... and is told how old';

    # a client may know more than the standby

    my $id = at('late', "$of/logs/$new");
    is $id->status, 200, '... an entry that it has not is found';
    is lag($id), undef, '... at the primary';
    my $other = $nginx->token($server);
    is at('late', "$of/logs?limit=1", token => $other)->status, 200,
        '... a token that it does not know is valid';

    $go->();
    is_read('fresh', 'caught up');
    replayed();
    is at('late', "$of/logs?limit=3")->text, at('api', "$of/logs?limit=3")->text,
        '... until it has caught up';
}


behind('paused', sub { on_standby('select pg_wal_replay_pause()') },
    sub { on_standby('select pg_wal_replay_resume()') });
is at('late', "$of/logs/100")->status, 404, 'an entry that nobody has';

# received and replayed are equal then, and stay so

my $from = on_standby('select setting from pg_settings
    where name = $$primary_conninfo$$');
behind('cut off', sub {
    on_standby("alter system set primary_conninfo = 'host=/nowhere'");
    on_standby('select pg_reload_conf()');
    wait_for { !on_standby('select count(*) from pg_stat_wal_receiver') } 60,
        'no receiver';
}, sub {
    on_standby("alter system set primary_conninfo = '"
        . $from =~ s/'/''/gr . "'");
    on_standby('select pg_reload_conf()');
});


# a token that was revoked is known until that is replayed

my $gone = $nginx->new_token($server);
replayed();
on_standby('select pg_wal_replay_pause()');
$nginx->delete("$of/auth?tokenId=$gone->{unique_id}",
    token => $token->{token});
is at('late', "$of/logs?limit=1", token => $gone->{token})->status, 200,
    'a token lives as long as the lag';
is at('api', "$of/logs?limit=1", token => $gone->{token})->status, 401,
    '... and is dead at the primary';
on_standby('select pg_wal_replay_resume()');
replayed();
is at('late', "$of/logs?limit=1", token => $gone->{token})->status, 401,
    '... and then here';


# statements that the standby ends, or never does: each runs into a sleep there

$nginx->sql('create table slow (on_standby boolean)');
$nginx->sql('insert into slow values (false)');
$nginx->sql(scalar $nginx->sql("select replace(
    pg_get_functiondef('token_live'::regproc), 'token_live(', 'token_lives(')"));
$nginx->sql(<<~'SQL');
    create or replace function token_live(guild bigint, token text)
    returns boolean language plpgsql stable as $$
    begin
        if pg_is_in_recovery() and (select s.on_standby from slow s) then
            perform pg_sleep(600);
        end if;
        return token_lives(guild, token);
    end $$
    SQL
on_standby('alter system set max_standby_streaming_delay = 0');
on_standby('select pg_reload_conf()');

# replaying a vacuum would end them, too

for ('alter system set autovacuum = off', 'select pg_reload_conf()') {
    $primary->connect('postgres', 'postgres')->do($_);
}


sub slow {
    my ($on) = @_;
    $nginx->sql('update slow set on_standby = ?', $on);
    replayed();
}


sub sleepers {
    return on_standby("select count(*) from pg_stat_activity
        where wait_event = 'PgSleep'");
}


sub asleep {
    wait_for { sleepers() } 60, 'asleep';
}


# replaying this ends who reads that table
sub conflict {
    my $dbh = $primary->connect($dbname);
    $dbh->do('begin; lock table slow in access exclusive mode; commit');
}


sub started {
    my ($path, $where) = @_;
    my $connection = ($where || $nginx)->connection;
    $connection->send("GET /late$of$path HTTP/1.1\r\nHost: x\r\n"
        . "Authorization: Bearer $token->{token}\r\n\r\n");
    return $connection;
}


sub at_narrow {
    my ($guild, $as) = @_;
    return $narrow->get("/late/servers/$guild/logs?limit=1", raw_path => 1,
        token => $as);
}


sub again {
    my ($what, $path, $end, $after) = @_;

    slow(1);
    my $before = figure('standby_again_total');
    my $connection = started($path);
    asleep();
    $end->();
    my $answer = $connection->response;
    is $answer->status, 200, "$what: $path is answered";
    is $answer->text, at('api', "$of$path")->text, '... as by the primary';

    # what a search knew by then it knew from the standby
    is defined lag($answer), $path =~ /search/, '... which did';
    cmp_ok figure('standby_again_total'), '>', $before, '... and is counted';
    $after->() if $after;
    slow(0);
    is_read('late', $what);
}


again('a conflict with recovery', $_, \&conflict)
    for "/logs/$entry", '/logs?search=needle', '/logs/actors', '/logs/export';
again('a connection is lost', $_, sub {
    on_standby("select pg_terminate_backend(pid) from pg_stat_activity
        where wait_event = 'PgSleep'");
}) for "/logs/$entry", '/logs/actors';
like $standby->log, qr/canceling statement due to conflict with recovery/,
    'these were conflicts';

# an export that has begun, and is longer than what is on its way

Guildlog::Export::fill($nginx, $server, int(time * 1000), 40_000);
replayed();
my $export = started('/logs/export?format=ndjson');
my $bytes  = $export->some(60);
like $bytes, qr/Guildlog-Lag/i, 'the standby begins an export';
slow(1);
wait_for {
    $bytes .= $export->some(0.1) // '';
    sleepers();
} 60, 'a part is asked for';
conflict();
$export->{buffer} = $bytes . $export->{buffer};
ok $export->response->text eq at('api', "$of/logs/export?format=ndjson")->text,
    '... and the primary ends it';


# a standby that is busy, one that is killed, and one that is none any more

$narrow = Guildlog->new(cluster => $primary, dbname => $dbname,
    locations => $locations, http => 'guildlog_limit requests=1000000;' . replica(
        'connections=1 depth=1 queue=1 queue_timeout=100ms timeout=30s'));
slow(0);
wait_for { defined lag(at_narrow($server, $token->{token})) } 60, 'narrow';
slow(1);
my $sleeping = started("/logs/$entry", $narrow);
asleep();
my $second = $narrow->server;
my $answer = at_narrow($second, $narrow->token($second));
is $answer->status, 200, 'where no connection is free the request is answered';
is lag($answer), undef, '... by the primary';
$narrow->stop('TERM');

again('the standby is killed', "/logs/$entry", sub { $standby->kill_all },
    sub {
        $answer = at('late', "$of/logs?limit=1");
        is $answer->status, 200, '... so are those that come then';
        is lag($answer), undef, '... by the primary';
        is_deeply figure('standby_lag_seconds'), {}, '... the lag is not known';
        is $nginx->get('/status/ready', raw_path => 1)->status, 200,
            '... and nginx is ready';
        $standby->start;
    });

on_standby('select pg_promote()');
record({ content => 'nobody replays this' });
wait_for { !on_standby('select pg_is_in_recovery()') } 60, 'promoted';
is_read('fresh', 'a server that follows nobody is not behind');
cmp_ok lag(at('late', "$of/logs?limit=1")), '<', 60, '... and says so';

done_testing;
