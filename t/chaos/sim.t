#!/usr/bin/perl
# An hour of the simulation of delivery.

use lib 't/lib';
use Guildlog;

my $seed    = $ENV{GUILDLOG_SEED} // time;
my $seconds = $ENV{GUILDLOG_SECONDS} // 3600;

is system("t/sim/run $seconds $seed"), 0,
    "nothing fails in $seconds s from seed $seed";

done_testing;
