#!/usr/bin/perl
# "A paused owner longer than its lease is the one case where two POSTs can
# meet; the fence keeps the database right": messages that such a worker had
# begun may be repeated.  They are counted here; everything else is guaranteed.
#
#
# GUILDLOG_SEED repeats a run, GUILDLOG_FREEZES is the number of pauses.

use lib 't/lib';
use Guildlog;
use Guildlog::Chaos;
use Guildlog::Chaos::Audit;
use Time::HiRes qw(sleep time);

my $times = $ENV{GUILDLOG_FREEZES} || 2;
my $seed  = $ENV{GUILDLOG_SEED}    || time ^ $$;
diag("GUILDLOG_SEED=$seed GUILDLOG_FREEZES=$times");

my $world = Guildlog::Chaos->new(seed => $seed, machines => 2);
$world->start;
sleep 2;

for (1 .. $times) {
    my @pids = wait_for { my @it = $world->deliverers; @it == 2 && \@it } 60;
    my $pid = $pids[0][rand 2];
    my ($owner) = map { $_->[0] } $world->sql('select distinct owner
        from shard_lease where owner like ?', "%/$pid/%");

    # while a message is under way, if there is one

    eval { $world->{platform}->faults(map { { call => 'execute',
        action => 'apply-answer', status => 200, body => {} } } 1 .. 2) };
    kill 'STOP', $pid;
    my $since = time;
    wait_for { !$world->sql('select count(*) from shard_lease
        where owner = ? and until > now()', $owner) } 60, 'its leases end';
    wait_for { !$world->sql(q{select count(*) from shard_lease
        where until < now()}) } 60, 'the other worker has the leases';
    note(sprintf 'leases moved after %.1f s', time - $since);
    sleep 40 - (time - $since) if time - $since < 40;
    kill 'CONT', $pid;
    $world->{others}{'frozen for 40 s'}++;
    sleep 2;
}

$world->settle(120);
Guildlog::Chaos::Audit->audit($world, frozen => 1);

done_testing;
