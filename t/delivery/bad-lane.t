#!/usr/bin/perl
# "Other lanes are unaffected by one that hangs, is limited or is gone"; "a raid
# on one server cannot delay others".

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# a server with that many channels, one for each type: (guild, token, channels)
sub large_server {
    my ($n) = @_;

    my ($guild, $token) = server();
    my @channels = map { ++$channel . '' } 1 .. $n;
    for my $i (0 .. $#channels) {
        my $answer = $g->patch("/servers/$guild/config/logging/settings/$i",
            token => $token, json => { log_channel => $channels[$i] });
        die $answer->text if $answer->status != 202;
    }
    wait_for { !grep { !webhook($_) } @channels } 60, 'webhooks';
    return ($guild, $token, @channels);
}


# records an entry of each of these types
sub record_types {
    my ($guild, @types) = @_;
    return map { (record($guild, 1, type => $_))[0] } @types;
}


subtest 'lanes that work beside lanes that fail' => sub {
    my ($guild, $token, @to) = large_server(5);
    $platform->faults(
        { call => 'execute', channel => $to[0], action => 'hang' },
        { call => 'execute', channel => $to[1], action => 'answer',
            status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
            body => { message => 'limited', retry_after => 60 } },
        { call => 'execute', channel => $to[2], action => 'answer',
            status => 403, body => { code => 50013, message => 'no' } });
    $platform->config(gone => [$to[3]]);
    my @bad = record_types($guild, 0 .. 3);
    wait_for { posts($to[$_]) } 10, "a request for $_" for 0 .. 3;

    for (1 .. 5) {
        my ($id) = record($guild, 1, type => 4);
        becomes($guild, $token, $id, 'delivered',
            'the lane that works goes on');
    }
    is word($guild, $token, $bad[0]), 'unknown in_flight', 'one hangs';
    is word($guild, $token, $bad[1]), 'not_delivered retrying', 'one waits';
    becomes($guild, $token, $bad[2], 'not_delivered retrying',
        'one lacks a permission');
    becomes($guild, $token, $bad[3], 'not_delivered channel_gone',
        'one has no channel any more');
    $platform->config(gone => []);
};


subtest 'one server has at most ten requests under way' => sub {
    my ($guild, $token, @to) = large_server(13);
    my @other = server();
    $platform->faults(map { { call => 'execute', channel => $_,
        action => 'hang' } } @to);
    record_types($guild, 0 .. 12);
    my $asked = sub { scalar map { posts($_) } @to };
    wait_for { $asked->() >= 10 } 60, 'requests';

    for (1 .. 3) {
        my ($id) = record($other[0], 1);
        becomes(@other[0, 1], $id, 'delivered', "other servers' lanes go on");
    }
    is $asked->(), 10, 'ten requests, no more';

    # the requests are never answered; they end when their connections end

    $platform->faults;
    $platform->stop;
    $platform->start;
    wait_for { $asked->() == 13 } 60, 'the other requests';
    pass 'then the other lanes have their turn';
};

$g->stop;


subtest 'a raid' => sub {
    $g->configure(http => $platform->directives($g, rate => 5))->start;
    my ($raid, $token, @to) = large_server(8);
    my @other = server();
    wait_for { webhook($other[2]) } 60, 'a webhook';
    my %raided = map { $_ => 1 } @to;
    my $order = sub { map { $_->{message}{channel_id} }
        grep { $_->{event} eq 'message' } $platform->ledger };

    record($raid, 200, type => $_) for 0 .. 7;
    wait_for { grep { $raided{$_} } $order->() } 60, 'the raid';
    my $before = grep { $raided{$_} } $order->();
    my ($id) = record($other[0], 1);
    becomes(@other[0, 1], $id, 'delivered',
        "another server's lane goes on", 60);

    my @order = $order->();
    my ($at) = grep { $order[$_] eq $other[2] } reverse 0 .. $#order;
    my $meanwhile = (grep { $raided{$_} } @order[0 .. $at]) - $before;
    cmp_ok $meanwhile, '<=', 40,
        'few of 160 messages of the raid were sent before';
    cmp_ok $g->sql('select sum(tail - head) from lane_tail join lane_head
        using (guild_id, lane) where guild_id = ?', $raid), '>', 100,
        'most of its entries still wait';
};

done_testing;
