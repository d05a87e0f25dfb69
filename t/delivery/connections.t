#!/usr/bin/perl
# Delivery has its own connections to the database.  However long its statements
# take, no request waits for them, and other lanes go on beside requests.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 1, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g),
    database => { connections => 1, depth => 1, timeout => '60s' })->start;
deliver_with($g, $platform);

my ($guild, $token, $to) = server();
my ($first) = record($guild, 1);
becomes($guild, $token, $first, 'delivered', 'the first');

my $locker = $g->cluster->connect($g->dbname);
$locker->begin_work;
$locker->do('select from lane_head where guild_id = ? for update', {}, $guild);
my ($id) = record($guild, 1);
wait_for { $g->waiting('delivery_step') } 60, 'a step that waits';

is $g->get("/servers/$guild/config/logging/settings", token => $token)->status, 200,
    'a request is answered' for 1 .. 3;
my $status = $g->get('/status', raw_path => 1)->json;
is $status->{database_queued}, 0, 'no request waits in the queue';
cmp_ok $status->{database_connections}, '>=', 2,
    'connections of delivery are counted apart';
cmp_ok $g->sql(q{select count(*) from pg_stat_activity
    where usename = 'guildlog' and datname = current_database()}), '<=',
    1 + 2 + 3, 'no more connections than are configured';

my @other = server();
my ($its) = record($other[0], 1);
becomes(@other[0, 1], $its, 'delivered', "other servers' lanes go on");

$locker->rollback;
becomes($guild, $token, $id, 'delivered', 'the lane goes on when it can');

# delivery yields to waiting requests, but only for a limited time
$locker->begin_work;
$locker->do('select from lane_head where guild_id = ? for update', {}, $guild);
my @ids = record($guild, 30);
my $waiter = $g->cluster->connect($g->dbname);
$waiter->begin_work;
$waiter->do('lock table guildlog.settings in exclusive mode');
my $waits = $g->connection;
$waits->send("PATCH /api/servers/$guild/config/settings HTTP/1.1\r\n"
    . "Host: a\r\nAuthorization: Bearer $token\r\nContent-Length: 15\r\n"
    . "Content-Type: application/json\r\n\r\n{\"locale\":\"de\"}");
wait_for { $g->waiting('settings_patch') } 60, 'a request that waits';
$locker->rollback;
ok wait_for {
    $g->get("/servers/$other[0]/logs", token => $token);    # is refused
    times_applied($to, $ids[-1]);
} 60, 'an entry is delivered while a request waits';
$waiter->rollback;
is $waits->response('PATCH')->status, 202, 'the request is answered in the end';

done_testing;
