#!/usr/bin/perl
# A worker that delivers asks for the lanes that were called for since it last
# asked, and misses none: not those of a long transaction, and not those that
# were called for while the worker itself stood still.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;

my $me      = 'here/1/1';
my $cluster = Guildlog::Cluster->new;
my $dbname  = $cluster->create_database;
my ($asker, $slow, $other) = map { $cluster->connect($dbname) } 1 .. 3;
my ($mark, $lanes);

$asker->do("select delivery_lease('$me', '{}', '{}', false)");


# the lanes that the answer has
sub found {
    my ($next, @rows) = @{ $asker->selectall_arrayref('select state, lane
        from delivery_find(?, ?, 0, 0)', {}, $me, $mark) };
    $mark = $next->[0];
    return join ' ', map { $_->[1] } @rows;
}


# calls for a new lane
sub call {
    my ($dbh) = @_;

    my $lane = ++$lanes;
    $dbh->do("insert into lane (guild_id, lane, bot, channel_id, shard, state,
        webhook_id) values (1, $lane, 0, $lane, 0, 'active', 1)");
    $dbh->do("insert into lane_tail values (1, $lane)");
    $dbh->do("insert into lane_head (guild_id, lane) values (1, $lane)");
    $dbh->do("insert into lane_ready values (1, $lane, 0,
        clock_timestamp())");
    return $lane;
}


# waits until the call is older than any wait in the service
sub grows_old {
    my ($dbh) = @_;
    wait_for { $dbh->selectrow_array("select max(since) < clock_timestamp()
        - interval '3.5 s' from lane_ready") } 60, 'time';
}


$asker->do("insert into server (guild_id) values (1)");
is found(), '', 'at first no lane is called for';
my $first = call($other);
is found(), $first, 'a lane that is called for is found';

# a call is written long before its commit, while other calls come and go

$slow->begin_work;
my $late = call($slow);
my @quick;
wait_for {
    push @quick, call($other) if @quick < 3;
    found();
    $slow->selectrow_array("select since < clock_timestamp() - interval '3.5 s'
        from lane_ready where lane = $late");
} 60, 'a slow transaction';
$slow->commit;
like found(), qr/\b$late\b/, 'what a slow transaction called for is found';

# the worker does not ask for some time

grows_old($other);
found();
my $meanwhile = call($other);
grows_old($other);
like found(), qr/\b$meanwhile\b/, 'a lane called for meanwhile is found';

# a lane is not named for ever

wait_for { found() eq '' } 60, 'nothing new';
pass 'known lanes are not named again';

done_testing;
