#!/usr/bin/perl
# Machines share the shards.  A machine begins no message in a shard from the
# moment it offers the shard to another machine, so that no message is in doubt.
# A shard that was handed over is not lost, even if the answer to that is lost.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Cutter;
use Guildlog::Delivery;
use Guildlog::Platform;

my $cluster = Guildlog::Cluster->new;
my $dbname  = $cluster->create_database;
my @shared  = (start => 0, workers => 1, cluster => $cluster,
    dbname => $dbname, api => 'guildlog_limit off;');
my $g = Guildlog->new(name => 'first', @shared);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $cutter = Guildlog::Cutter->new(dir => $g->prefix . '/cutter',
    to => $cluster);
$g->configure(http => $platform->directives($g),
    database => { %{ $cutter->database }, timeout => '30s' })->start;
deliver_with($g, $platform);


# the number of shards of each owner
sub shards {
    return join ' ', map { $_->[0] } $g->sql('select count(*)
        from shard_lease where until > now() group by owner');
}


sub status {
    return $g->get('/status', raw_path => 1)->json;
}


# a server with lanes in shards that are handed over and in others

my ($guild, $token) = server();
my (%given, %kept);
for my $type (0 .. 30) {
    my $to = ++$channel . '';
    my $answer = $g->patch("/servers/$guild/config/logging/settings/$type",
        token => $token, json => { log_channel => $to });
    die $answer->text if $answer->status != 202;
    my $shard = $g->sql('select shard from lane where channel_id = ?', $to);
    ($shard < 32 ? \%given : \%kept)->{$type} = $to;
    last if %given && %kept;
}
wait_for { !grep { !webhook($_) } values %given, values %kept } 60, 'webhooks';
is shards(), '64', 'one machine has all shards';

# a second machine comes; the first one learns of it by its next lease

my $other = Guildlog->new(name => 'second', @shared);
$other->configure(http => $platform->directives($other))->start;
wait_for { $g->sql('select count(*) from delivery_node') == 2 } 60,
    'the second machine';
my $until = $g->sql('select max(until) from shard_lease');
wait_for { $g->sql('select min(until) > ? from shard_lease', $until) } 60,
    'a lease of the first machine';

# entries come while shards are handed over

$cutter->rules({ match => 'delivery_lease.*\{\d+(?:,\d+)+\}', at => 'after',
    tag => 'given' });
my ($locker, $watch) = map { $cluster->connect($dbname, 'postgres') } 1, 2;
$locker->begin_work;
$locker->do('select from guildlog.shard_lease for update');
wait_for { $watch->selectrow_array(q{select count(*) = 2
    from pg_stat_activity where wait_event_type = 'Lock'
     and query like '%delivery_lease%'}) } 60,
         'the lease that hands shards over';

my @given  = map { record($guild, 1, type => 0 + $_) } sort keys %given;
my ($kept) = map { record($guild, 1, type => 0 + $_) } (keys %kept)[0];
eval { wait_for { word($guild, $token, $kept) eq 'delivered' } 3 };
is scalar(map { posts($_) } values %given), 0,
    'no message begins in those shards';
$locker->rollback;

becomes($guild, $token, $_, 'delivered', 'the other machine delivers the entry')
    for @given, $kept;
is scalar(map { posts($_) } values %given), scalar @given, '... once';
wait_for { $cutter->hits } 60, 'the lost answer';
wait_for { shards() eq '32 32' && status()->{delivery_shards} == 32 } 60,
    'each machine has half of the shards';
is status()->{delivery_leases_lost_total}, 0, 'no lease was lost';

# a machine that exits before it had a share takes none from the others

my $third = Guildlog->new(name => 'third', @shared);
$locker->begin_work;
$locker->do('select from guildlog.shard_lease for update');
$third->configure(http => $platform->directives($third))->start;
wait_for { $watch->selectrow_array(q{select count(*) = 3
    from pg_stat_activity where wait_event_type = 'Lock'
     and query like '%delivery_lease%'}) } 60, 'leases of all three machines';
$third->signal('QUIT');
wait_for { $third->error_log =~ /gracefully shutting down/ } 60,
    'the third machine exits';
$locker->rollback;
$third->stop;
is $g->sql('select count(*) from delivery_node'), 2,
    'an exiting machine leaves the list';

$g->sql("insert into delivery_node (owner, until) select regexp_replace(owner,
    '/[^/]*/[^/]*\$', '/999999999/1'), now() + interval '1 hour'
    from delivery_node limit 1");
ok eval { wait_for { $g->sql('select count(*) from delivery_node') == 2 } 25 },
    'a dead machine is removed from the list';

done_testing;
