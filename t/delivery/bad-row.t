#!/usr/bin/perl
# "One bad row, lane, server or batch never holds up others: a statement over
# many that fails is run again item by item; what fails alone is parked, counted,
# logged and shown on the status page."  The bad ones here are made bad by
# triggers; one of them takes for ever.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::File;
use Guildlog::Platform;
use Time::HiRes qw(time);

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;',
    allow => [qr/is bad/, qr/parked/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);

# a long message: the cut after so many bytes falls into a character
$g->sql(q{create function bad() returns trigger language plpgsql as
    $$ begin raise 'it is bad %', repeat(chr(8364), 200); end $$});


# from now on, refuses that change of that server
sub bad {
    my ($guild, $table, $event, $when) = @_;

    $when = defined $when ? " and $when" : '';
    $g->sql("create trigger bad before $event on $table for each row
        when (new.guild_id = $guild$when) execute function bad()");
}


sub good {
    my ($table) = @_;
    $g->sql("drop trigger bad on $table");
}


sub status {
    return $g->get('/status', raw_path => 1)->json;
}


sub parked { status()->{delivery_parked_total} }


# the state of the server's only channel
sub pacing {
    my ($guild, $token) = @_;
    return $g->get("/servers/$guild/config/logging/pacing", token => $token)
        ->json->{channels}[0];
}


# wakes the lane, as an operator does after a repair
sub let_go_on {
    my ($guild) = @_;

    for my $what ('pause', 'resume') {
        my $answer = $g->operator('POST', "/servers/$guild/$what");
        die $answer->text if $answer->status != 200;
    }
}


my @servers = map { [server()] } 1 .. 64;
for (@servers) {
    my ($guild, $token) = @$_;
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'a lane');
}

subtest 'a step of 64 lanes' => sub {
    my ($guild, $token) = @{ $servers[20] };
    bad($guild, 'lane_head', 'update');
    my $before = parked();

    my %id = map { ($_->[0] => (record($_->[0], 1))[0]) } @servers;
    for (@servers) {
        my ($other, $its) = @$_;
        next if $other == $guild;
        becomes($other, $its, $id{$other}, 'delivered',
            'each other lane delivers');
    }

    wait_for { parked() > $before } 60, 'the bad lane is parked';
    is word($guild, $token, $id{$guild}), 'not_delivered queued',
        'its entry waits';
    my $it = pacing($guild, $token);
    is "$it->{state} $it->{stateReason}", 'paused internal_error',
        "the channel's state has the reason";
    ok $it->{unhealthy}, '... and is unhealthy';
    wait_for { status()->{delivery_lanes}{parked} == 1 } 60,
        'the status page counts one lane';
    my ($lane) = $g->sql('select lane from lane where guild_id = ?', $guild);
    my @lines = $g->error_log =~ /(.*lane \d+ of server \d+.*parked.*)/g;
    is scalar @lines, 1, 'the log has one line';
    like $lines[0], qr/lane $lane->[0] of server $guild, SQLSTATE P0001: it is bad/,
        '... with the cause';

    my ($more) = record($guild, 1);
    my ($late) = record($servers[21][0], 1);
    becomes(@{ $servers[21] }[0, 1], $late, 'delivered', 'other lanes go on');
    is parked(), $before + 1, 'a parked lane is not tried again meanwhile';

    good('lane_head');
    let_go_on($guild);
    becomes($guild, $token, $_, 'delivered', 'after the repair it delivers')
        for $id{$guild}, $more;
    is pacing($guild, $token)->{state}, 'active', 'its state is active again';
};


subtest 'a page of lanes' => sub {
    my ($guild, $token) = @{ $servers[0] };
    my $before = parked();

    $platform->config(gone => [$servers[0][2]]);
    bad($guild, 'lane_batch', 'insert');
    my ($id) = record($guild, 1);
    wait_for { parked() > $before } 60, 'the bad lane is parked';

    for my $server (@servers[1 .. 3]) {
        my ($other, $its) = @$server;
        becomes($other, $its, (record($other, 1))[0], 'delivered',
            'the lanes after it are found');
    }
    $g->reload;
    my ($other, $its) = server();
    becomes($other, $its, (record($other, 1))[0], 'delivered',
        'all are found by another worker');

    good('lane_batch');
    $platform->config(gone => []);
    let_go_on($guild);
    becomes($guild, $token, $id, 'not_delivered channel_gone',
        'after the repair its entry has its final outcome');
};


# the store is too busy to park the lane

subtest 'a lane that cannot be parked now' => sub {
    my ($guild, $token) = @{ $servers[30] };
    my $before = parked();

    $g->sql(q{create function busy() returns trigger language plpgsql as
        $$ begin raise 'it is bad now' using errcode = '55P03'; end $$});
    $g->sql('create trigger busy before update of parked_to on lane_ready
        for each row execute function busy()');
    bad($guild, 'lane_head', 'update');
    my ($id) = record($guild, 1);
    wait_for { $g->error_log =~ /parked failed, SQLSTATE 55P03/ } 60,
        'the parking cannot be stored';
    $g->sql('drop trigger busy on lane_ready');
    wait_for { parked() > $before } 60, 'the lane is parked soon after';

    good('lane_head');
    let_go_on($guild);
    becomes($guild, $token, $id, 'delivered', 'after the repair it delivers');
};


subtest 'a webhook that cannot be stored' => sub {
    my ($guild, $token) = ($g->server);
    bad($guild, 'lane', 'update', q{new.state = 'active'});
    my $before = parked();

    $token = $g->token($guild);
    my $to = ++$channel . '';
    set_channel($guild, $token, $to);
    wait_for { parked() > $before } 60, 'the bad lane is parked';
    is scalar(() = $platform->webhooks($to)), 1,
        'the platform is not asked again and again';
    good('lane');
    let_go_on($guild);
    becomes($guild, $token, (record($guild, 1))[0], 'delivered',
        'after the repair the lane has a webhook');
    is scalar(() = $platform->webhooks($to)), 1, '... the same one';
};


subtest 'doubts' => sub {
    my @lost = @servers[5 .. 8];
    $platform->config(no_history => [map { $_->[2] } @lost]);
    $platform->faults(map { { call => 'execute', channel => $_->[2],
        action => 'apply-reset' } } @lost);
    my @ids = map { (record($_->[0], 1))[0] } @lost;
    becomes(@{ $lost[$_] }[0, 1], $ids[$_], 'unknown unconfirmed',
        'the outcome is in doubt') for 0 .. $#lost;

    my $before = parked();
    bad($lost[0][0], 'doubt', 'update of looks');
    $platform->config(no_history => []);
    $g->sql(q{update doubt set look_at = now() - case when guild_id = ?
        then interval '1 hour' else interval '0' end}, $lost[0][0]);
    becomes(@{ $lost[$_] }[0, 1], $ids[$_], 'delivered',
        'the other outcomes become known')
        for 1 .. $#lost;
    wait_for { parked() > $before } 60, 'the bad lane is parked';
    is word(@{ $lost[0] }[0, 1], $ids[0]), 'unknown unconfirmed',
        'its outcome stays unknown';
    good('doubt');
    $g->sql('update doubt set look_at = now()');
    becomes(@{ $lost[0] }[0, 1], $ids[0], 'delivered',
        'after the repair it becomes known');
};

# the other lanes show that it is not the database that is slow

subtest 'a step that takes too long each time' => sub {
    my ($guild, $token) = @{ $servers[40] };
    my ($other, $its) = @{ $servers[41] };

    $g->stop;
    $g->configure(database => { timeout => '3s' })->start;
    $g->sql(q{create function slow() returns trigger language plpgsql as
        $$ begin perform pg_sleep(3600); return new; end $$});
    $g->sql("create trigger bad before update on lane_head for each row
        when (new.guild_id = $guild) execute function slow()");
    my $before = parked();
    my $id = wait_for { eval { (record($guild, 1))[0] } } 60, 'an entry';
    my $end = time + 120;
    while (parked() == $before && time < $end) {
        my $next = wait_for { eval { (record($other, 1))[0] } } 60, 'an entry';
        wait_for { word($other, $its, $next) eq 'delivered' } 60,
            'another lane to go on';
    }
    is parked(), $before + 1, 'its lane is parked';
    is pacing($guild, $token)->{stateReason}, 'internal_error',
        "the channel's state has the reason";
    like $g->error_log,
        qr/of server $guild, SQLSTATE 57014: .*, is parked for 600 s/,
        'the log has the cause';

    good('lane_head');
    let_go_on($guild);
    becomes($guild, $token, $id, 'delivered', 'after the repair it delivers');
};

# nginx and the schema say alike for which codes a lane is to blame; those of
# class GL no statement of delivery raises

my @fault = slurp('src/db/ngx_guildlog_db_result.c')
    =~ /\{ "(\w*)",\s*NGX_GUILDLOG_DB_FAULT_(\w+)/g;
my @begins = map { $fault[2 * $_] } 0 .. $#fault / 2;
cmp_ok scalar @begins, '>', 20, 'the table is read';
for my $code (map { substr "${_}00000", 0, 5 } @begins, qw(21 22 23 54 P0 57014)) {
    next if $code =~ /^GL/;
    my ($first) = grep { index($code, $begins[$_]) == 0 } 0 .. $#begins;
    is $g->sql('select delivery_blames(?)', $code) ? 1 : 0,
        $fault[2 * $first + 1] eq 'ASKED' ? 1 : 0, "SQLSTATE $code";
}

done_testing;
