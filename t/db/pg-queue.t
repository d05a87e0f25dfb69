# The queue for a connection is bounded in length and time.  A request that
# leaves it early leaves nothing behind.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use Time::HiRes qw(time);

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        $peer->outlast('slow');
        return {};
    });
}, mode => 'slow');
my $nginx = $fake->nginx(database => { connections => 1, depth => 1,
    queue => 3, queue_timeout => '8s', timeout => '60s' });


sub counter {
    my ($name) = @_;
    return $nginx->get('/status', raw_path => 1)->json->{"database_$name"};
}


# each request is of another server: one server may not fill the queue
sub waits {
    my ($n) = @_;
    return $fake->ask($nginx, 'PATCH', guild => 100_000_000_000_000_100 + $n);
}


# all connections are busy

my $first = $fake->ask($nginx, 'GET');
wait_for { $fake->count('execute') == 1 };
my @waiting = map { waits($_) } 1 .. 3;
wait_for { counter('queued') == 3 };

my $start = time;
my $answer = $fake->ask($nginx, 'GET')->response;
is $answer->status, 503, 'one request too many is refused';
is counter('queued'), 3, '... at once: who came before waits still';
ok $answer->header('Retry-After') >= 1, '... with Retry-After';
is counter('queue_full_total'), 1, 'the status counts it';

# clients leave

close((shift @waiting)->socket);
wait_for { counter('queued') == 2 };
pass 'a client leaves, its request leaves the queue';
push @waiting, waits(4);
wait_for { counter('queued') == 3 };
pass 'its place in the queue is free';

# requests wait for too long

is $_->response->status, 503,
    'a request that waits too long is refused' for @waiting;
cmp_ok time - $start, '>', 7, '... not too early';
is counter('timeouts_total'), 3, 'the status counts them';
is counter('queued'), 0, 'the queue is empty';

# afterwards

$fake->mode('fast');
is $first->response->status, 200, 'the first request is answered';
is $fake->ask($nginx, 'GET')->response->status, 200, 'so is the next one';
is $fake->count('execute'), 2, 'nothing was done for the others';
cmp_ok counter('waits_total'), '>=', 1,
    'the status counts requests that waited';
ok wait_for { counter('busy') == 0 }, 'no connection is busy';


# two servers have filled the queue: the newest of theirs make room for those of
# another one, until it has as many

{
    $fake->mode('slow');
    my $calm = $nginx;
    $nginx = $fake->nginx(name => 'crowded', database => { connections => 1,
        depth => 1, queue => 8, queue_timeout => '60s', timeout => '60s' });
    my ($other, @crowd) = map { 100_000_000_000_000_200 + $_ } 1 .. 3;

    my $runs = $fake->count('execute');
    my $busy = $fake->ask($nginx, 'GET');
    wait_for { $fake->count('execute') == $runs + 1 };
    my @answer;
    for my $n (1 .. 8) {
        push @answer, $fake->ask($nginx, 'GET', guild => $crowd[$n > 4]);
        wait_for { counter('queued') == $n };
    }
    for my $n (1, 2) {
        push @answer, $fake->ask($nginx, 'GET', guild => $other);
        wait_for { counter('share_refused_total') == $n
            || counter('queue_full_total') };
    }
    is $fake->ask($nginx, 'GET', guild => $other)->response->status, 503,
        'no one has more: the queue is full';
    $fake->mode('fast');
    is $busy->response->status, 200, 'the one that runs is answered';
    is_deeply [map { $_->response->status } @answer],
        [(200, 200, 200, 429) x 2, 200, 200],
        'who fills the queue is refused, not who comes';
    is counter('queued'), 0, 'nobody waits any more';
    $nginx->stop;
    $nginx = $calm;
}


# a client leaves while its statement runs

$fake->mode('slow');
my ($runs, $sessions) = ($fake->count('execute'), $fake->count('session'));
my $client = $fake->ask($nginx, 'PATCH');
wait_for { $fake->count('execute') == $runs + 1 };
close $client->socket;
$answer = $fake->ask($nginx, 'GET');
$fake->mode('fast');
is $answer->response->text, '{}', 'the next request gets its own answer';
is $fake->count('session'), $sessions, '... on the same connection';
ok wait_for { counter('busy') == 0 }, 'no connection is busy';


# worker_connections are used up

$fake = FakePostgres->new(sub { $_[0]->welcome; $_[0]->serve });
$nginx = $fake->nginx(name => 'exhausted', connections => 8,
    allow => [qr/worker_connections are not enough/],
    database => { queue_timeout => '500ms' });
my @idle = grep { defined } map { eval { $nginx->connection } } 1 .. 5;
my $last = $nginx->connection;
$last->send("GET /api/servers/$FakePostgres::guild HTTP/1.1\r\n"
    . "Host: localhost\r\nAuthorization: Bearer $fake->{token}\r\n\r\n");
my $status = eval { $last->response->status } // 'none';
like $status, qr/^(?:200|503|none)$/,
    'without free connections the worker does not crash';
close $_->socket for @idle;
wait_for {
    (eval { $fake->ask($nginx, 'GET')->response->status } // 0) == 200
};
pass 'afterwards requests are served';

done_testing;
