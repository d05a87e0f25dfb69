#!/usr/bin/perl
# Who delivers asks for what was called for since it last asked, and misses
# nothing of it: not what a transaction wrote that went on for long, nor what
# came while it was held up itself.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;

my $me      = 'here/1/1';
my $cluster = Guildlog::Cluster->new;
my $dbname  = $cluster->create_database;
my ($asker, $slow, $other) = map { $cluster->connect($dbname) } 1 .. 3;
my ($mark, $lanes);

$asker->do("select delivery_lease('$me', '{}', '{}', false)");


# the lanes that it is told of
sub found {
    my ($next, @rows) = @{ $asker->selectall_arrayref('select state, lane
        from delivery_find(?, ?, 0, 0)', {}, $me, $mark) };
    $mark = $next->[0];
    return join ' ', map { $_->[1] } @rows;
}


# called for, a new one
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


# it has been so for longer than anybody waits
sub grows_old {
    my ($dbh) = @_;
    wait_for { $dbh->selectrow_array("select max(since) < clock_timestamp()
        - interval '3.5 s' from lane_ready") } 60, 'time';
}


$asker->do("insert into server (guild_id) values (1)");
is found(), '', 'at first there is nothing';
my $first = call($other);
is found(), $first, 'what is called for is found';

# written long before it is committed, while others come and go

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

# nobody asks for a while

grows_old($other);
found();
my $meanwhile = call($other);
grows_old($other);
like found(), qr/\b$meanwhile\b/, 'what came while nobody asked is found';

# what is known is not told for ever

wait_for { found() eq '' } 60, 'nothing new';
pass 'and not told again and again';

done_testing;
