# A statement that runs past its timeout is answered with 500.  Statements on
# the same connection are still answered.  The backend does not stay behind.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use Time::HiRes qw(time);

# the server cancels the statement

my $nginx = Guildlog->new(name => 'locked', http => 'guildlog_limit off;',
    database => { timeout => '3s' });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config/settings";
is $nginx->patch($path, %as, json => { locale => 'de' })->status, 202,
    'a setting is stored';

$nginx->sql('begin');
$nginx->sql('lock table guildlog.settings in access exclusive mode');

my $start = time;
my $answer = $nginx->patch($path, %as, json => { locale => 'fr' });
my $took = time - $start;

is $answer->status, 500, 'a statement that waits for a lock is 500';
cmp_ok $took, '>', 2.9, '... after its timeout';
$nginx->sql('rollback');
is $nginx->patch($path, %as, json => { locale => 'fr' })->status, 202,
    'the next one is served';

my $status = $nginx->get('/status', raw_path => 1)->json;
is $status->{database_timeouts_total}, 1, 'the status counts the timeout';
is $status->{database_lost_total}, 0,
    'the server cancelled it: no connection is lost';
like $nginx->error_log, qr/statement "settings_patch" ran past 3000 ms/,
    'the log names the statement';


# a client leaves while its statement waits

$nginx->configure(database => { timeout => '8s' })->reload;
$nginx->sql('begin');
$nginx->sql('lock table guildlog.settings in access exclusive mode');
my $client = $nginx->connection;
$client->send("PATCH /api$path HTTP/1.1\r\nHost: localhost\r\n"
    . "Authorization: Bearer $as{token}\r\nContent-Type: application/json\r\n"
    . "Content-Length: 15\r\n\r\n{\"locale\":\"it\"}");


wait_for { $nginx->waiting };
close $client->socket;
wait_for { !$nginx->waiting };
$nginx->sql('rollback');
pass 'the statement of a client that left is cancelled';
wait_for { !$nginx->get('/status', raw_path => 1)->json->{database_busy} };
is $nginx->get("/servers/$server", %as)->status, 200, 'others are served';


# the server does not cancel the statement

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        $peer->hang if $peer->number == 1 && $call->{text} =~ /settings_patch/;
        return { body => '{"answer":' . $peer->number . '}' };
    });
});
$nginx = $fake->nginx(name => 'hangs',
    database => { timeout => '5s', connections => 1 });

$start = time;
my $slow = $fake->ask($nginx, 'PATCH');
wait_for { $fake->count('hang') };
my $read = $fake->ask($nginx, 'GET');

is $slow->response->status, 500, 'a server that hangs is 500';
$took = time - $start;
cmp_ok $took, '>', 5, '... a little after the server should have cancelled it';
is $read->response->text, '{"answer":2}',
    'a read behind it is answered by another connection';
wait_for { $fake->count('gone') };
pass 'the connection is closed';


# nothing more is sent on a connection whose statement is slow

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        return {} if $call->{text} !~ /settings_patch/;
        $peer->note('slow');
        $peer->outlast('slow');
        return { status => 202 };
    });
}, mode => 'slow');
$nginx = $fake->nginx(name => 'slow', database => { connections => 1 });
$slow = $fake->ask($nginx, 'PATCH');
wait_for { $fake->count('slow') };
Time::HiRes::sleep(0.2);
$read = $fake->ask($nginx, 'PATCH', guild => '100000000000000002');
wait_for { $nginx->get('/status', raw_path => 1)->json->{database_queued} };
is $fake->count('execute'), 1, 'the second request waits in the queue';
$fake->mode('fast');
is $slow->response->status, 202, 'the slow one is answered';
is $read->response->status, 202, '... then the second';

done_testing;
