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


# records an entry of each of these types, all at once
sub record_types {
    my ($guild, @types) = @_;

    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => $_, content => 'it' } } @types]);
    die $answer->text if $answer->status != 200;
    return @{ $answer->json->{ids} };
}


# how many requests to these channels were open at a time, at most.  One that
# ends in the second after another one came may have ended before that
sub most_at_once {
    my %to = map { $_ => 1 } @_;
    my (%from, %end);

    for ($platform->ledger) {
        if ($_->{event} eq 'request') {
            $from{ $_->{number} } = $_->{at}
                if $_->{call} eq 'execute' && $to{ $_->{channel} };
        } elsif ($_->{event} eq 'gone') {
            $end{ $_->{number} } = $_->{at};
        }
    }
    my @open = map { my $at = $_; scalar grep { $from{$_} <= $at
        && ($end{$_} // $at + 1001) > $at + 1000 } keys %from } values %from;
    return (sort { $b <=> $a } @open)[0];
}


subtest 'lanes that work beside lanes that fail' => sub {
    my ($guild, $token, @to) = large_server(5);
    $platform->faults(
        { call => 'execute', channel => $to[0], action => 'hang' },
        { call => 'execute', channel => $to[1], action => 'answer',
            status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
            body => { message => 'limited', retry_after => 600 } },
        { call => 'execute', channel => $to[2], action => 'answer', times => 99,
            status => 403, body => { code => 50013, message => 'no' } });
    $platform->config(gone => [$to[3]]);
    my @bad = record_types($guild, 0 .. 3);
    wait_for { posts($to[$_]) } 60, "a request for $_" for 0 .. 3;

    for (1 .. 5) {
        my ($id) = record($guild, 1, type => 4);
        becomes($guild, $token, $id, 'delivered',
            'the lane that works goes on');
    }
    like word($guild, $token, $bad[0]), qr/^unknown/, 'one hangs';
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
    my $asked = sub { scalar grep { posts($_) } @to };
    wait_for { $asked->() >= 10 } 60, 'requests';

    for (1 .. 3) {
        my ($id) = record($other[0], 1);
        becomes(@other[0, 1], $id, 'delivered', "other servers' lanes go on");
    }
    is most_at_once(@to), 10, 'ten requests, no more';

    # no answer comes: they end when they have waited for 15 s

    $platform->faults;
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
    my ($id) = record($other[0], 1);
    my $before = grep { $raided{$_} } $order->();
    becomes(@other[0, 1], $id, 'delivered',
        "another server's lane goes on", 60);

    my @order = $order->();
    my ($at) = grep { $order[$_] eq $other[2] } reverse 0 .. $#order;
    my $meanwhile = (grep { $raided{$_} } @order[0 .. $at]) - $before;
    cmp_ok $meanwhile, '<=', 40,
        'few of 160 messages of the raid were sent before';
    wait_for { @order = $order->(); $raided{ $order[-1] } } 60,
        'more messages of the raid';
    pass 'the others come behind it';
};

done_testing;
