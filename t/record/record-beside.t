# A server whose recording has to wait takes only one connection: its batches
# are recorded one after another.  The other connections serve the others.

use lib 't/lib';
use Guildlog;
use FakePostgres;

my $nginx = Guildlog->new(
    database => { connections => 2, queue_timeout => '60s', timeout => '60s' },
    locations => 'location /op/ { guildlog_operator open; }',
);
my ($stuck, $other) = ($nginx->server, $nginx->server);
my $token = $nginx->token($other);
my $n = 0;


# sends a batch and does not wait for its answer
sub ask {
    my ($guild, $query) = @_;

    my $body = '[{"event_id":"' . ++$n . '","type":0}]';
    my $client = $nginx->connection;
    $client->send("POST /op/servers/$guild/logs$query HTTP/1.1\r\n"
        . "Host: localhost\r\nContent-Type: application/json\r\n"
        . 'Content-Length: ' . length($body) . "\r\n\r\n$body");
    return $client;
}


sub counter {
    my ($name) = @_;
    return $nginx->get('/status', raw_path => 1)->json->{"database_$name"};
}


# locks a bot's log until the transaction ends
sub hold {
    my (@bots) = @_;

    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('select from log_head where guild_id = ? and bot = ? for update',
        undef, $stuck, $_) for @bots;
    return $lock;
}


# opens both connections

is ask($stuck, $_)->response->status, 200, 'the server records'
    for '', '?bot=pro';
my $lock    = hold(0, 1);
my @batches = map { ask($stuck, $_) } '', '?bot=pro';
ok wait_for { counter('connections') == 2 }, 'there are two connections';
$lock->rollback;
is $_->response->status, 200, 'the server still records' for @batches;

# recording for this server waits for the lock

$lock    = hold(0);
@batches = map { ask($stuck, '') } 1 .. 6;
ok wait_for { $nginx->waiting }, 'a batch waits for the lock';

for my $round (1 .. 4) {
    is $nginx->get("/servers/$other", token => $token)->status, 200,
        "another request is answered ($round)";
    is ask($other, '')->response->status, 200, 'another server records';
    is ask($stuck, '?bot=pro')->response->status, 200,
        'so does the other bot of the same server';
}
is $nginx->waiting, 1, 'only one connection waits';

$lock->rollback;
is $_->response->json->{recorded}, 1, 'each batch that waited is recorded'
    for @batches;
is scalar $nginx->sql('select count(*) from entries '
    . 'where guild_id = ? and bot = 0', $stuck), 8, 'each once';


# a batch that is still being sent to the database counts as running, too

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->outlast('deaf') if $peer->number == 1;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        $peer->note('recorded') if $call->{text} =~ /record/;
        return {};
    });
}, mode => 'deaf');
$nginx = $fake->nginx(name => 'deaf', database => { connections => 2,
    queue_timeout => '60s', timeout => '60s' },
    locations => 'location /op/ { guildlog_operator open; }');

my $large = join ',', map {
    qq({"event_id":"l$_","type":4,"content":") . 'x' x 4000 . '"}'
} 1 .. 1000;
@batches = map {
    my $client = $nginx->connection;
    $client->send("POST /op/servers/$FakePostgres::guild/logs HTTP/1.1\r\n"
        . "Host: localhost\r\nContent-Type: application/json\r\n"
        . 'Content-Length: ' . (2 + length $large) . "\r\n\r\n[$large]");
    wait_for { counter('busy') >= 1 };
    $client;
} 1 .. 3;

is $fake->ask($nginx, 'GET')->response->status, 200,
    'requests of others are answered while a batch is being sent';
is $fake->count('recorded'), 0, 'no other batch of its server overtakes it';

$fake->mode('hears');
is $_->response->status, 200, 'then each batch is recorded' for @batches;

done_testing;
