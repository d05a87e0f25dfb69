# Several hosts are tried in turn until one accepts writes; that one is kept.
# Looking up a name never blocks a worker.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use Guildlog::Names;
use Time::HiRes qw(time sleep);


sub server {
    my ($address, $port) = @_;

    return FakePostgres->new(sub {
        my ($peer) = @_;
        my $standby = $peer->mode eq 'standby' ? 'on' : 'off';
        $peer->welcome(in_hot_standby => $standby,
            default_transaction_read_only => $standby);
        $peer->note('welcome');
        $peer->serve(execute => sub { { body => qq({"at":"$address"}) } });
    }, address => $address, port => $port);
}


# the first is down, then both are, then the first is back

my $one = server('127.0.0.1');
my $two = server('127.0.0.2', $one->port);
my $nginx = $one->nginx(name => 'two', start => 0,
    database => { host => '127.0.0.1,127.0.0.2', queue_timeout => '10s' });
$one->stop;
$nginx->start;

is $one->ask($nginx, 'PATCH')->response->text, '{"at":"127.0.0.2"}',
    'the second host serves when the first is down';
my $failures = $nginx->get('/status', raw_path => 1)
    ->json->{database_connect_failures_total};
is $failures, 0, 'this does not count as a failure to connect';
like $nginx->error_log, qr/host "127\.0\.0\.1": connect failed/,
    'the log names the first host';

$one->start;
is $one->ask($nginx, 'PATCH')->response->text, '{"at":"127.0.0.2"}',
    'a host that works is kept';
$two->stop;
wait_for { $one->ask($nginx, 'GET')->response->status == 200 };
is $one->ask($nginx, 'PATCH')->response->text, '{"at":"127.0.0.1"}',
    '... until it stops';

# roles change

$two->start;
$one->mode('standby');
$one->stop;
$one->start;
wait_for {
    !$nginx->get('/status', raw_path => 1)->json->{database_connections}
};
is $one->ask($nginx, 'PATCH')->response->text, '{"at":"127.0.0.2"}',
    'a standby is skipped';
is $one->ask($nginx, 'PATCH')->response->status, 200, '... later, too';


# roles change behind one address, and no connection is lost

my $moved = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        $peer->number == 1 && $peer->mode eq 'standby' ? { error => '25006' }
                                                       : { body => '{}' }
    });
});
$nginx = $moved->nginx(name => 'moved');
is $moved->ask($nginx, 'PATCH')->response->status, 200,
    'a server accepts writes';
$moved->mode('standby');
is $moved->ask($nginx, 'PATCH')->response->status, 503,
    '... until it becomes a standby';
ok eval { wait_for { $moved->ask($nginx, 'PATCH')->response->status == 200 } },
    'a new connection reaches the server that accepts writes';


# names, by nginx's resolver

my $names = Guildlog::Names->new('db.test' => ['127.0.0.2'],
    'two.test' => ['127.0.0.3', '127.0.0.2'], 'silent.test' => undef,
    'localhost' => undef);


sub named {
    my ($name, $patience) = @_;
    return $two->nginx(name => $name,
        http => 'guildlog_limit off;' . $names->resolver,
        database => { host => $name, queue_timeout => $patience || '10s' });
}


is $two->ask(named('db.test'), 'GET')->response->text, '{"at":"127.0.0.2"}',
    'a name is looked up';
is $two->ask(named('two.test'), 'GET')->response->text, '{"at":"127.0.0.2"}',
    'each of its addresses is tried';

my $missing = named('missing.test', '2s');
is $two->ask($missing, 'GET')->response->status, 503,
    'a name that does not exist';
wait_for { $missing->error_log =~ /connect failed/ };
like $missing->error_log, qr/host "missing\.test": connect failed: .*not found/,
    'the log has the cause';

my $silent = named('silent.test', '5s');
my $waiting = $two->ask($silent, 'GET');
my $others = 0;
until ($waiting->readable(0)) {
    $others += $silent->get('/status', raw_path => 1)->status == 200;
}
is $waiting->response->status, 503, 'a name server that does not answer';
cmp_ok $others, '>', 1, 'other requests are served meanwhile';

my $local = server('127.0.0.1');
$nginx = $local->nginx(name => 'known',
    http => 'guildlog_limit off;' . $names->resolver('', '60s'),
    database => { host => 'localhost', connect_timeout => '1s' });
is $local->ask($nginx, 'GET')->response->text, '{"at":"127.0.0.1"}',
    'an expired address is used until the name is looked up again';


# without a resolver, names are looked up when the configuration is read

$nginx = $local->nginx(name => 'configured', database => {
    host => 'localhost' });
is $local->ask($nginx, 'GET')->response->text, '{"at":"127.0.0.1"}',
    'localhost needs no resolver';

$nginx = $local->nginx(name => 'unknown', database => {
    host => 'unknown.invalid', queue_timeout => '500ms' });
is $local->ask($nginx, 'GET')->response->status, 503,
    'nginx starts with a name that does not resolve';
like $nginx->error_log, qr/\[warn\].*unknown\.invalid/,
    '... and logs a warning';

done_testing;
