#!/usr/bin/perl
# A bot's call that the platform limits, of whatever kind, is sent again when
# the time is over: not before, by whichever worker, and whatever happens
# meanwhile.  Nobody is told that the channel does not work.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

use constant WAIT => 12;    # s

my $g = Guildlog->new(start => 0, workers => 2,
    database => { queue_timeout => '1s' },
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# when that was asked of a channel, or answered, in ms
sub moments {
    my ($event, $lane) = @_;
    return map { $_->{at} } grep { $_->{event} eq $event
        && $_->{call} eq $lane->{call} } $platform->ledger($lane->{of});
}


sub limits {
    my ($call, $to) = @_;
    return { call => $call, channel => $to, action => 'answer',
        status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => WAIT } };
}


# there is something to do for them while they wait, and another worker does it
sub overtake {
    for my $lane (@_) {
        $lane->{limited} = wait_for { (moments('answer', $lane))[0] } 60,
            "a limit: $lane->{call}";
        my ($id) = record($lane->{guild}, 1);
        $lane->{id} //= $id;
    }

    # this one has another channel: its first message there, if it were under
    # way as the workers are killed, could not be proved

    becomes(@{$_}{qw(guild token id)}, 'delivered', 'into another channel')
        for grep { $_->{call} eq 'delete' } @_;
    $g->signal('KILL', $g->workers);
    wait_for { $g->workers == 2 } 30, 'new workers';

    for my $lane (@_) {
        my $again = wait_for { (moments('request', $lane))[1] } 60,
            "it is sent again: $lane->{call}";
        cmp_ok $again - $lane->{limited}, '>=', WAIT * 1000,
            "$lane->{call}: not before the time is over";
        becomes(@{$lane}{qw(guild token id)}, 'delivered', '... and it goes on');

        my $told = $g->get("/servers/$lane->{guild}/notifications",
            token => $lane->{token});
        is_deeply [grep { $_ eq 'A log channel does not work' }
            map { $_->{notificationData}{title} } @{ $told->json }], [],
            '... without a word to the people';
    }
}


my @calls = qw(read channel list create delete);
my @lanes = map { { call => $calls[$_], of => $channel + 1 + $_ . '' } } 0 .. $#calls;
my $read  = $lanes[0];
@$read{qw(guild token)} = server();
becomes(@$read{qw(guild token)}, (record($read->{guild}, 1))[0], 'delivered',
    'one that has a message already');

$platform->faults((map { limits(@$_{qw(call of)}) } @lanes),
    { call => 'execute', channel => $read->{of}, action => 'hang' });
($read->{id}) = record($read->{guild}, 1);
@$_{qw(guild token)} = server() for @lanes[1 .. 4];

my $delete = $lanes[4];
becomes(@$delete{qw(guild token)}, (record($delete->{guild}, 1))[0],
    'delivered', 'one that is left');
set_channel(@$delete{qw(guild token)}, ++$channel . '');

overtake(@lanes[1 .. 4]);
overtake($read);

wait_for { !$platform->webhooks($delete->{of}) } 30, 'the webhook to go';
is scalar(() = $platform->webhooks($_->{of})), 1, "$_->{call}: one webhook"
    for grep { $_ != $delete } @lanes;

# "retry_after: 0" is obeyed more and more slowly: each refusal counts against the
# address

my $eager = { call => 'execute', of => $channel + 1 . '' };
@$eager{qw(guild token)} = server();
becomes(@$eager{qw(guild token)}, (record($eager->{guild}, 1))[0], 'delivered',
    'one that is limited for no time');
my $before = () = moments('request', $eager);
my $limit = limits('execute', $eager->{of});
$limit->{body}{retry_after} = 0;
$limit->{times} = 5;
$platform->faults($limit);
becomes(@$eager{qw(guild token)}, (record($eager->{guild}, 1))[0], 'delivered',
    '... five times');
my @at = moments('request', $eager);
splice @at, 0, $before;
is scalar(@at), 6, 'it is sent six times';
cmp_ok $at[$_ + 1] - $at[$_], '>=', 100 << $_, "... after the limit $_, later"
    for 0 .. 4;

done_testing;
