# Of a server that asks 1,000 times at once one statement at most goes before
# each one of another server, however many wait; what it may not have in the
# queue is refused.  Where there are more connections, nobody else waits at all.

use lib 't/lib';
use Guildlog;
use FakePostgres;

my ($greedy, @others) = map { 100_000_000_000_000_000 + $_ } 1 .. 3;
my $nginx;

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        $peer->outlast('all') if $peer->mode eq 'all';
        $peer->outlast('greedy')
            if ($call->{arguments}[1] // '') eq $greedy;
        return {};
    });
}, mode => 'all');


sub start {
    my ($name, %database) = @_;

    $fake->mode('all');
    $nginx = $fake->nginx(name => $name, database => { %database,
        queue_timeout => '60s', timeout => '60s' });
}

sub counter { $nginx->get('/status', raw_path => 1)->json->{"database_$_[0]"} }


# 1,000 requests of the greedy one: one runs, "may" wait, and the others are
# refused; returns the clients of those that are to be answered
sub crowd {
    my ($may, $path) = @_;

    my $ran = $fake->count('execute');
    my @crowd;
    for (0 .. $may) {
        push @crowd, $fake->ask($nginx, 'GET', guild => $greedy,
            path => $path);
        wait_for { $fake->count('execute') > $ran };
    }
    wait_for { counter('queued') == $may };

    my ($client, %refused) = $nginx->connection;
    $refused{ $client->request('GET', "/api/servers/$greedy$path",
        token => $fake->{token})->status }++ for $may + 2 .. 1000;
    is_deeply \%refused, { 429 => 999 - $may },
        "one runs, $may wait, the others are refused";
    return @crowd;
}


# How many statements of the greedy one run, at most, while a server waits for
# its first one, or from one to the next?  On one connection, one at a time,
# they run in the order in which they are sent.
sub between {
    my ($may, $path) = @_;

    my $before = $fake->count('execute');
    my @asked = crowd($may, $path);
    my $queued = $may;

    for (1 .. 4) {
        for my $other (@others) {
            push @asked, $fake->ask($nginx, 'GET', guild => $other,
                path => $path);
            wait_for { counter('queued') == ++$queued };
        }
    }
    $fake->mode('free');
    my %count;
    $count{ $_->response->status }++ for @asked;
    is_deeply \%count, { 200 => $may + 9 }, 'all of these are answered';

    my ($first, @order) = map { (split ' ', $_->{detail})[2] }
        ($fake->seen('execute'))[$before .. $before + $may + 8];
    is $first, $greedy, 'the first one came first';

    my ($most, %run) = 0;
    for my $guild (@order) {
        if ($guild == $greedy) {
            $run{$_}++ for @others;
            next;
        }
        $most = $run{$guild} if ($run{$guild} // 0) > $most;
        $run{$guild} = 0;
    }
    return $most;
}


# short statements: half of the queue may wait

start('short', connections => 1, depth => 1);
is between(512, ''), 1, 'one statement at most goes before each other one';
$nginx->stop;


# long ones: four may wait

start('long', long_connections => 1);
is between(4, '/logs/actors'), 1, '... and so it is with long ones';
$nginx->stop;


# as many connections as there are if nobody says how many

start('usual');
$fake->mode('greedy');
my $ran = $fake->count('execute');
my @crowd = map { $fake->ask($nginx, 'GET', guild => $greedy) } 1 .. 500;
wait_for { counter('queued') >= 496 && $fake->count('execute') > $ran };
for my $other ((@others) x 5) {
    is $fake->ask($nginx, 'GET', guild => $other)->response->status, 200,
        'another server is answered';
}
cmp_ok counter('queued'), '>=', 496, '... while the greedy one stands still';
$fake->mode('free');
my %count;
$count{ $_->response->status }++ for @crowd;
is_deeply \%count, { 200 => 500 }, 'which is answered in the end';

done_testing;
