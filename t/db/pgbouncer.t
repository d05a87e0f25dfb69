# "Works with PgBouncer in front": in transaction mode the whole service works
# with fewer connections to PostgreSQL than nginx has to PgBouncer.

use lib 't/lib';
use Guildlog;
use Guildlog::Bouncer;
use Guildlog::Platform;

my $cluster = Guildlog::Cluster->shared;
my $bouncer = Guildlog::Bouncer->new($cluster, size => 3);

my $g = Guildlog->new(start => 0, workers => 2, openapi => 1,
    api => 'guildlog_limit requests=100000;', keeper => 'on interval=50ms',
    database => { $bouncer->database });
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $server  = $g->server;
my %as      = (token => $g->token($server));
my $at      = "/servers/$server";
my $channel = '300000000000000001';


sub record {
    my (@entries) = @_;

    my $answer = $g->operator('POST', "$at/logs", \@entries);
    is $answer->status, 200, 'recorded' or diag $answer->text;
    return @{ $answer->json->{ids} };
}


sub entries {
    my ($query) = @_;
    return @{ $g->get("$at/logs?$query", %as)->json->{entries} };
}


subtest 'the configuration' => sub {
    is $g->patch("$at/config/settings", %as, json => { locale => 'de' })
        ->status, 202, 'a change';
    is $g->get("$at/config/settings", %as)->json->[0]{locale}, 9, 'is read';
    is $g->patch("$at/config/logging/channels", %as,
        json => { main_channel => $channel })->status, 202, 'a channel';
    is $g->get("$at/config", %as)->json->{serverlogConfigChannels}[0]
        {main_channel}, $channel, 'the whole configuration';
};


subtest 'recording, reading, delivery' => sub {
    my ($id) = record({ event_id => 'a', type => 7, content => 'first words' },
        { event_id => 'b', type => 7, content => 'other words' });
    is scalar(entries('type=7')), 2, 'a page';
    is_deeply [map { $_->{id} } entries('search=first')], [$id], 'a search';

    my $delivery;
    ok eval { wait_for {
        ($delivery) = map { $_->{delivery} } entries('search=first');
        $delivery->{status} eq 'delivered';
    } 30 }, 'it is delivered';
    is $delivery->{channelId}, $channel, 'in its channel';
    is scalar(grep { ($_->{id} // '') eq $delivery->{messageId} }
        $platform->ledger), 1, '... by that message';
};


subtest 'an export of many pages' => sub {
    for my $batch (1 .. 3) {
        record(map { { event_id => "e$batch-$_", type => 5,
            content => "row $batch-$_" } } 1 .. 1000);
    }
    my $answer = $g->get("$at/logs/export?type=5", %as);
    is $answer->status, 200, 'CSV';
    my %row = map { $_ => 1 } $answer->text =~ /\brow (\d-\d+)\b/g;
    is scalar(keys %row), 3000, 'it has every row';
};


subtest 'the live tail' => sub {
    my $tail = $g->connection;
    $tail->send("GET /api$at/logs/stream?type=39 HTTP/1.1\r\nHost: localhost"
        . "\r\nAuthorization: Bearer $as{token}\r\n\r\n");
    like $tail->line, qr/ 200 /, 'it is open';
    record({ event_id => 't', type => 39, reason => 'seen' });
    my $got = '';
    ok eval { wait_for { $got .= $tail->some if $tail->readable(0.1);
        $got =~ /"reason":"seen"/ } 60 }, 'it gets the event';
    $tail->close;
};


subtest 'many requests at once get their own answers' => sub {
    my @servers = map { $g->server(name => "server $_") } 1 .. 8;
    my @tokens = map { $g->token($_) } @servers;
    my @clients = map { $g->connection } 1 .. 48;
    my $wrong = 0;

    for my $round (1 .. 5) {
        for my $i (0 .. $#clients) {
            my $s = $i % @servers;
            $clients[$i]->send("GET /api/servers/$servers[$s] HTTP/1.1\r\n"
                . "Host: localhost\r\nAuthorization: Bearer $tokens[$s]\r\n"
                . "\r\n");
        }
        for my $i (0 .. $#clients) {
            my $answer = $clients[$i]->response('GET');
            $wrong++ if $answer->status != 200
                || $answer->json->{id} ne $servers[$i % @servers];
        }
    }
    is $wrong, 0, '240 answers';

    my ($pool) = grep { $_->{database} eq $g->dbname } $bouncer->show('pools');
    cmp_ok $pool->{sv_active} + $pool->{sv_idle} + $pool->{sv_used}
        + $pool->{sv_tested} + $pool->{sv_login}, '<=', 3,
        '... by three connections to PostgreSQL';
    cmp_ok $pool->{cl_active} + $pool->{cl_waiting}, '>', 3,
        'nginx has more connections to PgBouncer';
};


subtest "the role's statement_timeout cancels a slow statement" => sub {
    $g->sql('alter role guildlog in database ' . $g->dbname
        . q{ set statement_timeout = '4s'});
    $g->cluster->connect('postgres', 'postgres')->do(
        'select pg_terminate_backend(pid) from pg_stat_activity
          where usename = ? and datname = ?', undef, 'guildlog', $g->dbname);
    ok eval { wait_for { $g->get($at, %as)->status == 200 } 60 },
        'new sessions have the timeout';

    $g->sql('begin');
    $g->sql('lock table guildlog.settings in access exclusive mode');
    is $g->patch("$at/config/settings", %as, json => { locale => 'fr' })
        ->status, 500, 'a change that waits for a lock fails';
    ok eval { wait_for { !$g->sql(q{select count(*) from pg_stat_activity
        where usename = 'guildlog' and wait_event_type = 'Lock'
          and datname = current_database()
          and query !~ 'delivery_step'}) } 60 },
        'it holds no connection of the pool';
    is $g->get("$at/auth", %as)->status, 200, 'other requests are served';
    $g->sql('rollback');
    is $g->patch("$at/config/settings", %as, json => { locale => 'fr' })
        ->status, 202, 'the same change succeeds later';
};


subtest 'PgBouncer stops and starts' => sub {
    $bouncer->stop;
    is $g->get($at, %as)->status, 503, 'requests are refused';
    $bouncer->start;
    ok eval { wait_for { $g->operator('POST', "$at/logs", [{
        event_id => 'z', type => 7, content => 'last' }])->status == 200
        } 30 }, 'available';
    ok eval { wait_for {
        my $answer = $g->get("$at/logs?search=last", %as);
        $answer->status == 200
            && $answer->json->{entries}[0]{delivery}{status} eq 'delivered';
    } 60 }, 'delivery goes on';
};


subtest 'prepare=on with PgBouncer' => sub {
    my $wrong = Guildlog->new(name => 'wrong', dbname => $g->dbname,
        database => { $bouncer->database, prepare => 'on',
            queue_timeout => '2s' });
    is $wrong->get($at, %as)->status, 503, 'requests are refused';
    ok eval { wait_for {
        $wrong->error_log =~ /unsupported startup parameter/ } 60 },
        'the error log has the cause';
};

done_testing;
