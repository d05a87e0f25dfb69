#!/usr/bin/perl
# "An entry is stored and ends in exactly one outcome; what is delivered was
# applied, and what failed never was; nothing is applied twice, and all in
# order": the lane machine of src/jobs in a world that is made up.  Each seed
# has crashes, frozen processes, lost answers and a weather of its own.

use lib 't/lib';
use Guildlog;

my $sim = '.build/sim/sim';

is system('t/sim/build'), 0, 'it is built' or BAIL_OUT 'no simulation';


sub simulates {
    my ($like, $why) = @_;

    my @lines = `$sim $like -q 2>&1`;
    ok $? == 0, $why or diag @lines;
    return "@lines";
}


my $seed = $ENV{GUILDLOG_SEED} // 1;
my $many = simulates("-s $seed -r 400 -c 1 -e 100", "one lane, from seed $seed");
simulates("-s $seed -r 40 -c 20 -e 40 -n 2", "20 lanes, from seed $seed");
simulates("-s $seed -r 20 -c 8 -e 60 -n 3 -f 300",
    "three nodes in a storm, from seed $seed");

# What seeds told once, each before its mend; -k where it was by an exact clock

# shards that were given away after their owner had heard that they are still his
simulates('-s 375 -k 1 -r 1 -c 8 -e 60 -n 3 -f 300', 'what was asked first comes last');

# an entry is to be sent, and the lane has no webhook any more
simulates('-s 91 -k 1 -r 1 -c 20 -e 40 -n 2', 'no message without a webhook');

# its permission is missing; a find read it just before, resumed by its operator
simulates($_, 'who was told to wait is not found as it was')
    for '-s 4 -r 1 -c 20 -e 40 -n 2', '-s 930 -r 1 -c 1 -e 100';

# its bot was limited, and a find that read it before comes later
simulates('-s 148 -r 1 -c 8 -e 60 -n 3 -f 300', 'nor is who was limited');

# it was told to wait, and its lease ends, or the database is not there, before
# that is committed
simulates($_, 'nor is who has it again')
    for '-s 36 -r 1 -c 20 -e 40 -n 2', '-s 2689 -r 1 -c 1 -e 100';

# it gave shards away, for which there was no memory, and has them still
simulates('-s 1796135966 -k 1 -r 1 -c 8 -e 60 -n 3 -f 300',
    'it looks at them again');

# a node ends, and the other one stands still for longer than that
simulates('-s 501232 -k 1 -r 1 -c 20 -e 40 -n 2', 'nobody is there for a while');

# it is not quiet because nothing happens
my ($sums) = $many =~ /^(\d+ posts.*)/m;
unlike $sums // '', qr/(?:^|, )0 /, 'each kind of event happened'
    or diag $sums // $many;

my @twice = map { join '', grep { /hash/ } `$sim -s 7 -c 3 -n 2` } 1, 2;
is $twice[0], $twice[1], 'a seed repeats to the same hash';
like $twice[0], qr/hash [0-9a-f]{16}/, 'which is told';

done_testing;
