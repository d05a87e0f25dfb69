# guildlog_status shows what was done and what is in use, as JSON or as
# Prometheus text.  It does not ask the database.  It counts every request once,
# keeps its counters through reloads, and shows no secrets.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use List::Util qw(sum0);

my $nginx = Guildlog->new(
    workers => 2,
    http    => 'guildlog_limit requests=100000;',
    status  => 'allow 127.0.0.1; deny all;',
);
my $server = $nginx->server;
my $made   = $nginx->new_token($server);
my $token  = $made->{token};
my $basic  = $nginx->token($server, kind => 'basic');
my $at     = "/servers/$server";


sub status {
    my ($query, %option) = @_;
    return $nginx->get('/status' . ($query // ''), raw_path => 1, %option);
}


# {"name{labels}": value}, from Prometheus text
sub samples {
    my %sample = map { /^([^# ]\S*) (\S+)$/ ? ($1, $2) : () }
        split /\n/, status('?format=prometheus')->text;
    return \%sample;
}


# runs the code; returns by how much it raised the samples of a family, which
# is by so much in all: a worker counts a request after its answer
sub added {
    my ($family, $code, $all) = @_;

    my $before = samples();
    my %added;
    $code->();
    eval { wait_for {
        my $after = samples();
        %added = map {
            my $more = $after->{$_} - ($before->{$_} // 0);
            /^guildlog_$family\{(.*)\}$/ && $more ? ($1 => $more) : ();
        } keys %$after;
        sum0(values %added) >= ($all // 0);
    } };
    return \%added;
}


# the two formats

my $json = status();
is $json->status, 200, 'JSON';
is $json->header('Content-Type'), 'application/json', '... with its type';
is $json->header('Cache-Control'), 'no-store', '... never from a cache';
is ref $json->json, 'HASH', '... an object';

my ($version) = slurp("$Guildlog::TOP/src/base/ngx_guildlog.h")
    =~ /GUILDLOG_VERSION +"(.*?)"/;
is_deeply $json->json->{version}, { $version => 1 }, '... tells the version';
is samples()->{qq(guildlog_version{version="$version"})}, 1, '... so do both';

my $text = status('?format=prometheus');
is $text->status, 200, 'Prometheus text';
is $text->header('Content-Type'), 'text/plain; version=0.0.4',
    '... with its type';

{
    my $file = $nginx->file('metrics', $text->text);
    my $said = qx{promtool check metrics < '$file' 2>&1};
    is $said, '', 'promtool does not complain';
    is $?, 0, '... and succeeds';
    unlike $text->text, qr/[^\x20-\x7e\n]/, 'ASCII, line by line';
}

is status('?format=xml')->header('Content-Type'), 'application/json',
    'any other format is JSON';
is $nginx->head('/status', raw_path => 1)->status, 200, 'HEAD';
for ('', '/live', '/ready') {
    my $post = $nginx->post("/status$_", raw_path => 1, json => {});
    is $post->status, 405, "no POST of /status$_";
    is $post->header('Allow'), 'GET, HEAD', '... and what there is';
}
is status('', connect => { from => '127.0.0.2' })->status, 403,
    "nginx's own rules apply";

{
    my ($in_json, $in_text) = ($json->json, samples());
    my @both = grep { !ref $in_json->{$_} } keys %$in_json;
    cmp_ok @both, '>', 10, 'the formats share figures';
    is join(' ', grep { !exists $in_text->{"guildlog_$_"} } @both), '',
        '... which have the same names';
}


# each request is counted once

is_deeply added(requests_total => sub {
    $nginx->get($at, token => $token) for 1 .. 3;
    $nginx->get("$at/config/tags", token => $token);
    $nginx->get($at, token => $basic);
    $nginx->get("$at?bot=x", token => $token);
    $nginx->post("$at/tags", token => $token,
        json => { tag_name => 'a', content => 'b' }) for 1 .. 2;
    $nginx->head($at, token => $token);
    $nginx->get("$at/nothing", token => $token);
    $nginx->put($at, token => $token);
    $nginx->get($at) for 1 .. 2;
    $nginx->operator('GET', '/nothing');
    status() for 1 .. 5;
}, 14), {
    'endpoint="server_get",status="200"' => 4,
    'endpoint="server_get",status="400"' => 1,
    'endpoint="server_get",status="403"' => 1,
    'endpoint="tags_get",status="404"'   => 1,
    'endpoint="tag_create",status="201"' => 1,
    'endpoint="tag_create",status="409"' => 1,
    'endpoint="none",status="401"'       => 2,
    'endpoint="none",status="404"'       => 2,
    'endpoint="none",status="405"'       => 1,
}, 'requests by endpoint and status';

is_deeply added(auth_total => sub {
    my $claims = sub { $nginx->claims($server, @_) };
    $nginx->get($at, token => $_) for $token, $basic, undef, 'x', '..',
        $nginx->sign($claims->(), kid => 'other'),
        $nginx->sign($claims->(), key => 'another'),
        $nginx->sign($claims->(), header => { alg => 'none' }),
        $nginx->sign($claims->(iss => 'somebody')),
        $nginx->sign($claims->(exp => 1)),
        $nginx->sign($claims->(kind => 'owner')),
        $nginx->sign($claims->());
}), {
    'cause="ok"'      => 3, 'cause="missing"'   => 1,
    'cause="malformed"' => 2, 'cause="key"'     => 1,
    'cause="signature"' => 1, 'cause="algorithm"' => 1,
    'cause="issuer"'  => 1, 'cause="expired"'   => 1,
    'cause="claims"'  => 1, 'cause="revoked"'   => 1,
}, 'tokens by the result of their check';

is added(statement_seconds_count => sub {
    $nginx->get($at, token => $token) for 1 .. 4;
})->{'statement="server_get"'}, 4, 'statements';

{
    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    my $more = added(requests_total => sub {
        my $client = $nginx->connection;
        $client->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        wait_for { $nginx->waiting('server_get') };
        $client->close;
        wait_for { samples()->{
            'guildlog_requests_total{endpoint="server_get",status="499"}'} };
    });
    is $more->{'endpoint="server_get",status="499"'}, 1,
        'a client that left is counted';
    $lock->rollback;
    $lock->disconnect;
    ok eval { wait_for { status()->json->{database_busy} == 0 } },
        'its query ends';
}


# histograms

{
    my $samples = samples();
    my @wrong;
    my $sum = 0;

    for my $count (grep { /_seconds_count\{/ } keys %$samples) {
        my ($family, $label) = $count =~ /^(\w+)_count\{(.*)\}$/;
        my @buckets = map {
            /^\Q${family}_bucket{$label,\Ele="(.*)"\}$/
                ? [$1 eq '+Inf' ? 9e9 : $1, $samples->{$_}] : ()
        } keys %$samples;
        my $last = 0;
        for (sort { $a->[0] <=> $b->[0] } @buckets) {
            push @wrong, "$count at $_->[0]" if $_->[1] < $last;
            $last = $_->[1];
        }
        push @wrong, $count if @buckets < 10 || $last != $samples->{$count}
            || !exists $samples->{"${family}_sum{$label}"};
    }
    is "@wrong", '', 'the buckets add up to the count';

    my %requests;
    for (keys %$samples) {
        $requests{$1} += $samples->{$_}
            if /^guildlog_requests_total\{endpoint="(\w+)",/;
    }
    is_deeply \%requests, { map {
        /^guildlog_request_seconds_count\{endpoint="(\w+)"\}$/
            ? ($1 => $samples->{$_}) : ()
    } keys %$samples }, 'which is the number of requests';
}


# a reload

{
    my $tail = $nginx->connection;
    $tail->send("GET /api$at/logs/stream HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\n\r\n");
    like $tail->line, qr/ 200 /, 'a live tail begins';
    is_deeply added(entries_total => sub {
        $nginx->operator('POST', "$at/logs", [map { { type => 5,
            event_id => $_ } } '1', '2', '2', '']);
    }), { 'outcome="recorded"' => 2, 'outcome="duplicate"' => 1,
        'outcome="error"' => 1 }, 'entries by their outcome';
    $nginx->patch("$at/config/logging/settings/7", token => $token,
        json => { enabled => JSON::PP::false });
    is_deeply added(entries_total => sub {
        $nginx->operator('POST', "$at/logs", [{ type => 7, event_id => '3' }]);
    }), { 'outcome="type_disabled"' => 1 },
        'entries by the rule that refused them';
    is status()->json->{stream_listeners}, 1, 'the live tail is counted';

    # after it has ended, nothing of this nginx polls the database

    $nginx->reload;
    ok eval { wait_for { !status()->json->{stream_listeners} } },
        'after a reload no live tail is counted';
    my %counts = map { $_ => 1 } status('?format=prometheus')->text
        =~ /^# TYPE guildlog_(\S+) (?:counter|histogram)$/mg;
    delete $counts{database_connects_total};
    my $totals = join '|', keys %counts;
    my $before = samples();
    $nginx->reload for 1 .. 3;
    my $after = samples();

    cmp_ok scalar(grep { /^guildlog_(?:$totals)/ && $before->{$_} }
        keys %$before), '>', 50, 'totals';
    is join("\n", grep { /^guildlog_(?:$totals)(?:_|\{|$)/
        && $before->{$_} ne $after->{$_} } sort keys %$before), '',
        'no counter changes by a reload';

    $nginx->get($at, token => $token);
    ok eval { wait_for {
        status()->json->{database_connections} == $nginx->sql(<<'SQL');
            select count(*) from pg_stat_activity
             where usename = 'guildlog' and datname = current_database()
SQL
    } }, 'connections of exited workers are not counted';
}


# no secrets

for my $page (status(), status('?format=prometheus')) {
    is join(' ', grep { index($page->text, $_) >= 0 } $token, $basic,
        split(/\./, $token), $made->{unique_id}, $server, 'module',
        'a secret of the tests', $nginx->dbname, $nginx->prefix), '',
        'no secret, no name of the database';
}


# the database is down

{
    my $alone = Guildlog->new(name => 'alone', database => {
        host => '/nonexistent', queue_timeout => '100ms',
        connect_timeout => '100ms' });

    is $alone->get("/servers/$server", token => $token)->status, 503,
        'a request without a database';
    my $status = $alone->get('/status', raw_path => 1);
    is $status->status, 200, 'the status page still answers';
    is $status->json->{requests_total}{server_get}{503}, 1,
        '... and counts what failed';
    cmp_ok $status->json->{database_connect_failures_total}, '>', 0,
        '... and why';
}

done_testing;
