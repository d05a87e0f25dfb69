#!/usr/bin/perl
# "A machine whose secret is not the one the stored webhooks were sealed with
# takes no shards and says so in the log and on the status page, instead of
# holding them up."

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Delivery;
use Guildlog::Platform;

my $cluster = Guildlog::Cluster->new;
my $dbname  = $cluster->create_database;
my @shared  = (start => 0, workers => 2, cluster => $cluster,
    dbname => $dbname, api => 'guildlog_limit off;');
my $right = Guildlog->new(name => 'right', @shared);
my $platform = Guildlog::Platform->new(dir => $right->prefix . '/platform');
$right->configure(http => $platform->directives($right))->start;
deliver_with($right, $platform);

my $wrong = Guildlog->new(name => 'wrong', @shared);
$wrong->configure(http => $platform->directives($wrong));
$wrong->file('delivery.key', 'e1' x 32, 0600);


sub status {
    my ($g) = @_;
    return $g->get('/status', raw_path => 1)->json;
}


# checks that a machine asked for shards and was refused
sub misfits {
    my ($why) = @_;

    ok wait_for { status($wrong)->{delivery_secret_mismatch} == 1 } 60,
        "$why: the status page says so";
    like $wrong->error_log,
        qr/the secret of "guildlog_delivery" is not the one/,
        "$why: so does the log";
    is status($wrong)->{delivery_shards}, 0, "$why: it has no shard";
}


# nothing is sealed yet, so the first machine's secret becomes the right one

my ($guild, $token, $to) = server();
my ($first) = record($guild, 1);
becomes($guild, $token, $first, 'delivered', 'the first machine delivers');

$wrong->start;
misfits('a wrong secret beside the first machine');
is status($right)->{delivery_shards}, 64, 'the first machine keeps all shards';
is status($right)->{delivery_secret_mismatch}, 0, 'its secret is right';
is $right->sql('select count(*) from delivery_node'), 1,
    'the other machine has no share';
my ($second) = record($guild, 1);
becomes($guild, $token, $second, 'delivered', 'entries are delivered');

# alone, a machine with a wrong secret takes no shards either

$right->stop;
$wrong->sql('delete from delivery_secret');    # as in a store before the mark
$wrong->stop;
unlink $wrong->prefix . '/logs/error.log';
$wrong->start;
deliver_with($wrong, $platform);
misfits('a wrong secret in an old store, which has webhooks and no mark');
my ($third) = record($guild, 1);

$right->start;
becomes($guild, $token, $third, 'delivered',
    'the machine with the right secret delivers');

# the secret is changed

$_->stop for $right, $wrong;
$wrong->sql('select delivery_secret_reset()');
$right->file('delivery.key', 'e1' x 32, 0600);
$_->start for $wrong, $right;
ok wait_for {
    status($wrong)->{delivery_shards} == 32
        && status($right)->{delivery_shards} == 32
} 60, 'both machines have shards after the secret was changed';
my ($fourth) = record($guild, 1);
becomes($guild, $token, $fourth, 'delivered', 'an entry is delivered');
is scalar(my @now = $platform->webhooks($to)), 1,
    'no second webhook was made';

# What this mends: if the channel was left before anybody had looked its webhook
# up again, the lane was closed, and the webhook stayed at the platform.

$_->stop for $right, $wrong;
$wrong->sql('select delivery_secret_reset()');
$wrong->sql('update logging_channels set main_channel = null
    where guild_id = ?', $guild);
$wrong->sql('select lanes_sync(?, 0::smallint)', $guild);
$_->start for $wrong, $right;
ok wait_for { !$platform->webhooks($to) } 60,
    'the webhook of a channel that was left meanwhile is deleted';
ok wait_for { !$wrong->sql(q{select 1 from lane
    where guild_id = ? and state <> 'closed'}, $guild) } 60,
    '... and its lane is closed';

done_testing;
