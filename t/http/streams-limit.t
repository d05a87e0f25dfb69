# A token has at most 20 open streams and 4 exports on all workers together.
# One more is refused with 429.  The places of a worker that is killed or
# replaced become free when its streams end, not earlier and not later.

use lib 't/lib';
use Guildlog;
use Guildlog::Export;

my $nginx = Guildlog->new(openapi => 1, workers => 2, listen => 'reuseport',
    api => 'guildlog_limit requests=100000; send_timeout 60s;',
    allow => [qr/exited on signal 9/]);
my $server = $nginx->server;
my $token  = $nginx->token($server);
my $logs   = "/servers/$server/logs";


# a connection with its request, and the status of its answer
sub opened {
    my ($what, $as) = @_;

    my $connection = ask($nginx, "$logs/$what", $as // $token);
    my ($status) = $connection->line(30) =~ m{^HTTP/1.1 (\d+)};
    return ($connection, $status);
}


# repeats a request until it is accepted; returns the connection
sub let_in {
    my ($what, $as) = @_;

    return wait_for {
        my ($connection, $status) = opened($what, $as);
        return $connection if $status == 200;
        $connection->close;
        0;
    } 30, "accepted: $what";
}


sub refused {
    my ($what, $why, $as) = @_;

    my ($connection, $status) = opened($what, $as);
    $connection->close;
    is $status, 429, "$why: refused";
    return if $status != 429;

    my $answer = $nginx->get("$logs/$what", token => $as // $token);
    like $answer->json->{error}, qr/at most/, 'and the error says why';
    like $answer->header('Retry-After'), qr/^[1-9]\d*$/, 'and when to retry';
    ok defined $answer->header('X-RateLimit-Remaining'),
        'with the headers of the rate limit';
}


sub alive { !$_[0]->closed(0.02) }


# streams

my (@open, @status);
for (1 .. 20) {
    my ($connection, $status) = opened('stream');
    push @open, $connection;
    push @status, $status;
}
is "@status", join(' ', (200) x 20), '20 streams';
refused('stream', 'one more stream');
my $other = $nginx->token($server);
let_in('stream', $other)->close;
is $nginx->get("$logs?limit=1", token => $token)->status, 200,
    'pages are served to the same token';

(shift @open)->close;
push @open, let_in('stream');
refused('stream', 'the place of an ended stream is given once');

# a worker is killed: its streams end and count no more

my ($victim) = $nginx->workers;
kill 'KILL', $victim;
$nginx->gone($victim);
my @left;
wait_for {
    @left = grep { alive($_) } @open;
    @left < @open && $nginx->workers == 2;
} 30, 'the streams of a killed worker end';
cmp_ok scalar @left, '>', 0, 'those of the other worker go on';
cmp_ok scalar @left, '<', 20, '... which are not all';
push @left, let_in('stream') while @left < 20;
refused('stream', 'only the places of the killed worker become free');
@open = @left;

# exports go on in old workers after a reload

fill($nginx, $server, int(time * 1000), 60_000);
my @exports = map { let_in('export?type=7') } 1 .. 4;
refused('export?type=7', 'a fifth export');
refused('export?search=x', 'a fifth export, with a search');

my %old = map { $_ => 1 } $nginx->workers;
$nginx->reload(nowait => 1);
wait_for { 2 <= grep { !$old{$_} } $nginx->workers } 30, 'the new workers run';
refused('export?type=7', 'exports of old workers count after a reload');
$_->close(reset => 1) for splice @exports, 0, 2;
push @exports, let_in('export?type=7') for 1 .. 2;
refused('export?type=7', 'two exports that ended made room for two');
$_->close(reset => 1) for @exports;

# a reload ends streams, which the clients open again

wait_for { !grep { alive($_) } @open } 30, 'the reload ended the streams';
@open = map { let_in('stream') } 1 .. 20;
refused('stream', 'a 21st stream after the reload');

# a request that fails another check takes no place

$_->close for @open;
for my $query (map { "stream?after=$_" } ('x') x 25) {
    $nginx->get("$logs/$query", token => $token);
}
@open = map { let_in('stream') } 1 .. 20;
is scalar @open, 20, 'bad requests took no place';

done_testing;
