#!/usr/bin/perl
# Whatever crashes: no entry is lost or delivered twice; the platform has what
# is "delivered" and does not have what is "not_delivered"; each lane keeps its
# order and has one webhook; every acknowledged change is stored.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS says how long it is.

use lib 't/lib';
use Guildlog;
use Guildlog::Chaos;
use Guildlog::Chaos::Audit;
use Time::HiRes qw(sleep time);

my $kills = $ENV{GUILDLOG_KILLS} || 300;
my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
diag("GUILDLOG_SEED=$seed GUILDLOG_KILLS=$kills");

my $world = Guildlog::Chaos->new(seed => $seed);
$world->start;
sleep 1;

while ($world->kills < $kills) {
    $world->harm;
    sleep rand 0.8;
}

$world->settle(120);
Guildlog::Chaos::Audit->audit($world);

done_testing;
