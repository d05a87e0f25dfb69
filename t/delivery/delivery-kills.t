#!/usr/bin/perl
# "Lanes in doubt resume after the 10 s": these count from the attempt, however
# often another worker takes the lane over.  Workers that are killed every three
# seconds still find a message that is in the channel, and send again one that
# is not.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;
use Time::HiRes qw(sleep time);

use constant {
    EVERY => 3,     # s, from one kill to the next
    MOST  => 45,    # s: 12, once more if a kill strikes what is sent again,
                    # and some for a busy machine
};

my $g = Guildlog->new(start => 0, workers => 2,
    database => { queue_timeout => '1s' },
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


sub requests {
    my ($call, $to) = @_;
    return grep { $_->{event} eq 'request' && $_->{call} eq $call }
        $platform->ledger($to);
}


# kills all workers every few seconds until the condition holds for all lanes
sub kill_until {
    my ($seconds, $what, $done, @of) = @_;

    my $next  = 0;
    my $kills = 0;
    wait_for {
        if (time >= $next) {
            $g->signal('KILL', $g->workers);
            $next = time + EVERY;
            $kills++;
        }
        @of = grep { !eval { $done->($_) } } @of;
        !@of;
    } $seconds, $what;
    return $kills;
}


# messages that were applied or lost, and never answered

my @lanes;
for my $applied (1, 0) {
    for (1 .. 4) {
        my ($guild, $token, $to) = server();
        becomes($guild, $token, (record($guild, 1))[0], 'delivered',
            'one before it');
        push @lanes, { guild => $guild, token => $token, to => $to,
            applied => $applied };
    }
}
$platform->faults(map { { call => 'execute', channel => $_->{to},
    action => $_->{applied} ? 'apply-hang' : 'hang' } } @lanes);

for my $lane (@lanes) {
    my $before = posts($lane->{to});
    ($lane->{id}) = record($lane->{guild}, 1);
    $lane->{attempt} = wait_for {
        (map { $_->{at} / 1000 } posts($lane->{to}))[$before]
    } 30, 'an attempt';

    # the platform may have stood still when it came
    $lane->{intent} = $g->sql('select extract(epoch from attempt_at)
        from lane_head where guild_id = ?', $lane->{guild});
}

my $kills = kill_until(120, 'all to be known', sub {
    my ($lane) = @_;
    return 0 if word(@{$lane}{qw(guild token id)}) ne 'delivered';
    $lane->{known} = time;
}, @lanes);
cmp_ok $kills, '>', 3, "$kills kills";

for my $lane (@lanes) {
    my $what = $lane->{applied} ? 'applied' : 'lost';
    my @read = map { $_->{at} / 1000 } requests('read', $lane->{to});
    cmp_ok $read[0] - $lane->{intent}, '>=', 11.9,
        "$what: the channel is read no sooner than 10 s after the 2 s in which "
        . 'it may be sent';
    cmp_ok $lane->{known} - $lane->{attempt}, '<', MOST,
        '... the outcome is known soon after that';
    is times_applied(@{$lane}{qw(to id)}), 1,
        '... the message is in the channel once';
    note sprintf '%s: %.1f s, known after %.1f s', $what,
        $read[0] - $lane->{attempt}, $lane->{known} - $lane->{attempt};
}


# webhooks that were made or not, and whose creation was never answered

@lanes = ();
my $first = $channel + 1;
$platform->faults(map { { call => 'create', channel => $first + $_ . '',
    action => $_ % 2 ? 'apply-hang' : 'hang' } } 0 .. 3);
for my $i (0 .. 3) {
    my ($guild, $token, $to) = server();
    my $attempt = wait_for {
        (map { $_->{at} / 1000 } requests('create', $to))[0]
    } 30, 'a request for a webhook';
    push @lanes, { guild => $guild, token => $token, to => $to,
        id => (record($guild, 1))[0], attempt => $attempt,
        applied => $i % 2 };
}
kill_until(120, 'webhooks', sub {
    my ($lane) = @_;
    return 0 if word(@{$lane}{qw(guild token id)}) ne 'delivered';
    $lane->{known} = time;
}, @lanes);

for my $lane (@lanes) {
    cmp_ok $lane->{known} - $lane->{attempt}, '<', MOST, 'a webhook '
        . ($lane->{applied} ? 'that was made' : 'that was not') . ': soon';
    is scalar(() = $platform->webhooks($lane->{to})), 1,
        '... there is one webhook';
    note sprintf 'webhook: %.1f s', $lane->{known} - $lane->{attempt};
}

done_testing;
