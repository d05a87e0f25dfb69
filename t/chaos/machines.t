#!/usr/bin/perl
# Two machines on one database: if one dies the other goes on, and never do both
# write to one lane.  Only if a machine stands still for longer than its leases,
# a message may come twice.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS says how long it is.

use lib 't/lib';
use Guildlog;
use Guildlog::Chaos;
use Guildlog::Chaos::Audit;
use Time::HiRes qw(sleep time);

my $kills = $ENV{GUILDLOG_KILLS} || 60;
my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
diag("GUILDLOG_SEED=$seed GUILDLOG_KILLS=$kills");

my $world = Guildlog::Chaos->new(seed => $seed, machines => 2);
my ($one, $other) = @{ $world->{nginx} };


# the number of shards of each machine
sub shards {
    my @held = map {
        my %pids = map { $_ => 1 } $_->workers;
        scalar grep { $pids{ ($_->[0] =~ m{/(\d+)/\d+$})[0] } }
            $world->sql('select owner from shard_lease where owner is not null
                and until > now()');
    } $one, $other;
    return "@held";
}


my $is = '';
eval { wait_for { ($is = shards()) eq '32 32' } 40 };
is $is, '32 32', 'the machines share the work';

$world->start;
while ($world->kills < $kills) {
    $world->harm;
    sleep rand 0.8;
}

# one machine is killed and does not come back

$_->{cutter}->rules for $one, $other;
eval { $world->{platform}->faults };
eval { wait_for { ($is = shards()) eq '32 32' } 60 };
is $is, '32 32', 'they share the work again after all this';
my $since = time;
$one->kill_all;
$world->{kills}{'a machine for good'}++;
eval { wait_for { ($is = shards()) eq '0 64' } 60 };
is $is, '0 64', 'the other machine takes over all shards';
note(sprintf 'after %.1f s', time - $since);
$one->start;

$world->settle(120);
Guildlog::Chaos::Audit->audit($world);

done_testing;
