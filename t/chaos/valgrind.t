# Every endpoint, good and bad requests, deliveries, and readers that leave,
# over five reloads: no process of nginx reads or writes memory that is not its
# own, or leaks memory.  (With util/build debug, each allocation from a pool is
# one of malloc().)

use lib 't/lib';
BEGIN { $ENV{GUILDLOG_BUILD} = 'debug' }
use Guildlog;
use Guildlog::Delivery;
use Guildlog::OpenAPI;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, patience => 120,
    database => { map { $_ => '60s' } qw(timeout connect_timeout
        queue_timeout) },
    api => 'guildlog_limit requests=100000;', keeper => 'on',
    locations => 'location /guarded { guildlog_auth on; return 204; }');
my $dir = $g->prefix;
my $platform = Guildlog::Platform->new(dir => "$dir/platform");
$g->configure(http => $platform->directives($g),
    under => ['valgrind', '--leak-check=full', '--keep-debuginfo=yes',
        '--show-leak-kinds=definite,indirect', '--num-callers=40',
        '--errors-for-leak-kinds=definite,indirect', '--error-exitcode=99',
        "--suppressions=$Guildlog::TOP/t/lib/valgrind.supp",
        "--log-file=$dir/logs/valgrind.%p"])->start;
deliver_with($g, $platform);

my ($server, $token, $to) = server();
my %slow = (connect => { timeout => 120 });
my %answers;


sub processes {
    my $pid = $g->pid;
    open my $in, '<', "/proc/$pid/task/$pid/children" or return;
    return split ' ', <$in> // '';
}


sub reload {
    my %old = map { $_ => 1 } processes();
    $g->signal('HUP');
    wait_for { my @now = processes(); @now == 2 && !grep { $old{$_} } @now }
        120, 'new workers';
}


# one request for each endpoint, as in the examples of conf/openapi.yaml
sub everything {
    for my $it (Guildlog::OpenAPI->shared->operations) {
        next if $it->{id} =~ /stream|revoke|server_reset/;

        my $path = $it->{path} =~ s/\{guild_id\}/$server/r =~ s/\{\w+\}/7/gr;
        my $answer = $g->request($it->{method}, $path, token => $token, %slow,
            $it->{body} ? (json => $it->{example} // {}) : ());
        $answers{$answer->status}++;
    }
}


sub bad {
    my $connection = $g->connection(timeout => 120);
    my $claims = $g->claims($server);

    for (undef, 'x', "${token}x", $g->sign($claims),
        $g->sign({ %$claims, exp => 1 }), $g->sign('[' x 50))
    {
        $g->get("/servers/$server", token => $_, connection => $connection);
    }
    $g->patch("/servers/$server/config/logging/settings", token => $token,
        connection => $connection, body => $_,
        headers => ['Content-Type', 'application/json'])
        for '', '{', '{"a":1,"a":2}', '[' x 1000, 'x' x 100_000;
    $g->get("/servers/$server/logs?$_", token => $token,
        connection => $connection)
        for 'limit=0', 'cursor=x', 'search=' . '%25' x 200, 'x=%zz';
    $g->get('/guarded', raw_path => 1, token => $_, connection => $connection)
        for $token, 'x';
    $g->operator('POST', "/servers/$server/logs", $_)
        for [{}], [{ event_id => 'bad', type => 1000 }], 'x',
            [map { { event_id => "bad $_", type => 7 } } 1 .. 1100];
}


# clients that leave before they are answered
sub leaving {
    for my $path ('', '/logs', '/logs/export', '/logs/stream') {
        my $client = $g->connection;
        $client->send("GET /api/servers/$server$path HTTP/1.1\r\n"
            . "Host: x\r\nAuthorization: Bearer $token\r\n\r\n");
        $client->some(1) if $path =~ /stream/;
        $client->close(reset => 1);
    }
}


for my $round (0 .. 5) {
    reload() if $round;

    everything();
    bad();
    leaving();
    $platform->faults({ call => 'execute', action => 'apply-reset' })
        if $round % 2;
    my ($id) = record($server, 25, content => 'x' x 3000);
    set_channel($server, $token, $to);
    becomes($server, $token, $id, 'delivered', "round $round: delivered", 120);
}

cmp_ok $answers{200}, '>', 100, 'most requests succeed';

$g->stop;
my @reports = glob "$dir/logs/valgrind.*";
is @reports, 1 + 6 * 2, 'each process has a report';

for my $file (@reports) {
    open my $in, '<', $file or die "$file: $!";
    my $report = do { local $/; <$in> };
    ok $report =~ /ERROR SUMMARY: 0 errors/, 'it has no error'
        or diag($report =~ s/^==\d+== ?//gmr);
}

done_testing;
