# GET /config/logging/pacing: "per log channel: channelId, ratePerMinute,
# ceilingPerMinute, overCeiling, failureRatio, unhealthy, queued,
# oldestQueuedMs, state, stateReason".

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, openapi => 1);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $guild = $g->server;
my $token = $g->token($guild);
my $to    = '300000000000000001';


sub channels {
    my (%option) = @_;
    my $query = $option{bot} ? '?bot=pro' : '';
    return $g->get("/servers/$guild/config/logging/pacing$query",
        token => $token)->json->{channels};
}


sub channel { return channels()->[0] }


sub set {
    my (%channels) = @_;
    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => \%channels);
    die $answer->text if $answer->status != 202;
}


my $events = 0;
sub record {
    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$events, type => 7,
        executor => { id => '500000000000000001', name => 'Ann' },
        content => "content $_" } } 1 .. $_[0]]);
    die $answer->text if $answer->status != 200;
}


is_deeply channels(), [], 'without log channels the list is empty';

set(main_channel => $to);
wait_for { channel()->{ratePerMinute} == 1 };
is_deeply channel(), { channelId => $to, ratePerMinute => 1,
    ceilingPerMinute => 30, overCeiling => json->decode('false'),
    failureRatio => 0, unhealthy => json->decode('false'), queued => 0,
    oldestQueuedMs => 0, state => 'active', stateReason => undef },
    'a channel after its first message';
is_deeply channels(bot => 'pro'), [], 'the other bot has none';

record(1);
wait_for { channel()->{ratePerMinute} == 2 };
is channel()->{queued}, 0, 'an entry was delivered';

$platform->faults({ call => 'execute', action => 'answer', status => 403,
    body => { code => 50013, message => 'Missing Permissions' }, times => 99 });
record(3);
wait_for { channel()->{state} eq 'paused' };
my $waits = channel();
is $waits->{stateReason}, 'missing_permissions',
    'a channel without the permission waits';
ok $waits->{unhealthy}, '... it is unhealthy';
is $waits->{queued}, 3, '... it has its queued entries';
ok $waits->{oldestQueuedMs} > 0 && $waits->{oldestQueuedMs} < 60_000,
    '... and the age of the oldest';

$platform->faults;
set(main_channel => $to);
wait_for { channel()->{queued} == 0 };
is channel()->{state}, 'active', 'after it is set again, it delivers';

$platform->config(gone => [$to . 1]);
set(main_channel => $to . 1);
wait_for { channel()->{state} eq 'broken' };
is channel()->{stateReason}, 'channel_gone', 'a deleted channel is broken';
is @{ channels() }, 1, 'the channel before is not listed any more';

done_testing;
