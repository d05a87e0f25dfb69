# "A reload loses nothing: searches, exports and streams included."  Of all kinds
# of requests some are at work, by HTTP/1.1 and by HTTP/2, when nginx reloads or
# quits.  Each of them is answered whole: its rows are counted.  A live tail ends
# in order, and goes on where it ended: each entry comes once.
# GUILDLOG_RELOADS is the number of reloads (4).

use lib 't/lib';
use Guildlog;
use Guildlog::H2;
use Guildlog::Platform;
use Guildlog::SignIn;

my $rounds  = $ENV{GUILDLOG_RELOADS} || 4;
my $entries = 1000;    # a search of these takes several turns
my $found   = 100;
my $somebody = '200000000000000007';

my $h2 = free_port;
my $g = Guildlog->new(start => 0,
    database => { connections => 16, depth => 1, timeout => '60s',
        long_timeout => '60s', queue_timeout => '60s' });
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');

login($g, $platform, 'guildlog_login client=4000 secret=login.secret',
    http => <<~"HTTP");
        guildlog_limit off;
        server {
            listen 127.0.0.1:$h2 http2;
            location /api/ { guildlog_api; }
        }
        HTTP
$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => ['http://localhost/login/callback'] });


sub record {
    my ($server, @entries) = @_;
    my $answer = $g->operator('POST', "/servers/$server/logs", \@entries);
    die $answer->text if $answer->status != 200;
}


# a server with so many entries, of which each tenth is found

my $server = $g->server;
my $token  = $g->token($server);
record($server, map { {
    event_id => "a $_", type => 7,
    content  => 'x' x 500 . ($_ % 10 ? '' : ' needle'),
    executor => { id => $_ % 10 ? '7' : $somebody, name => 'somebody' },
} } 1 .. $entries);

# one that is recorded and followed; ones whose reports ask the platform, ten of
# which a minute each server may have

my $followed = $g->server;
my $follower = $g->token($followed);
my @reported = map { { server => $g->server } } 0 .. $rounds / 8;
for my $i (0 .. $#reported) {
    my ($at, $to) = ($reported[$i], 300000000000000000 + $i . '');
    $at->{token} = $g->token($at->{server});
    $g->patch("/servers/$at->{server}/config/logging/channels",
        token => $at->{token}, json => { main_channel => $to });
    wait_for { $platform->webhooks($to) } 30, 'there is a webhook';
}
manages($ada => [$server]);


# what is asked in each round, and what the answer has to be

my $after = 0;
my $path  = "/api/servers/$server";
my %asked = (
    search => [ sub { "/logs?search=needle&limit=1&after=" . ++$after },
        qr/"total":\s*$found\b/ ],
    member => [ sub { "/logs?member=$somebody&limit=1&after=" . ++$after },
        qr/"total":\s*$found\b/ ],
    export => [ sub { '/logs/export?type=7' }, $entries + 1 ],
    'export of a search' => [ sub { '/logs/export?search=needle' },
        $found + 1 ],
);


# the bytes of a request
sub get {
    my ($of, $as, @headers) = @_;
    return join "\r\n", "GET $of HTTP/1.1", 'Host: localhost',
        "Authorization: Bearer $as", @headers, '', '';
}


# a client sends this; what it gets is [status, whole, body]
sub http1 {
    my ($bytes, @how) = @_;
    my $client = $g->connection(@how);
    $client->send($bytes);
    return sub {
        my $answer = $client->response or return ['none', 0, ''];
        return [$answer->status, !$answer->truncated, $answer->text];
    };
}


sub http2 {
    my ($connection, $of, $as, @headers) = @_;
    my $stream = $connection->open('GET', $of, token => $as,
        headers => \@headers);
    return sub {
        my $answer = $connection->response($stream);
        return [$answer->{status} // 'none',
            $answer->{ended} && !$answer->{reset}, $answer->{body}];
    };
}


# tails: by protocol what came last, and all that came

my %last;
my %seen = (1 => [], 2 => []);

sub follow {
    my ($protocol) = @_;

    my $of = "/api/servers/$followed/logs/stream?type=6";
    my @last = defined $last{$protocol}
        ? ('last-event-id', $last{$protocol}) : ();
    return http1(get($of, $follower, map { join ': ', @last } @last ? 1 : ()))
        if $protocol == 1;

    my $connection = Guildlog::H2->new(port => $h2);
    my $tail = http2($connection, $of, $follower, @last);
    $connection->settle;
    return $tail;
}


sub followed {
    my ($protocol, $tail) = @_;

    my ($status, $whole, $body) = @{ $tail->() };
    push @{ $seen{$protocol} },
        $body =~ /^id: \d+\ndata: .*"content":"(\d+ \d+)/mg;
    $last{$protocol} = $1 while $body =~ /^id: (\d+)$/mg;
    return $status == 200 && $whole;
}


# all are at work, nginx gets the signal, and then they may go on

my (%lost, $told);

sub round {
    my ($n, $signal) = @_;

    my %tail = map { $_ => follow($_) } 1, 2;
    my $browser = {};
    my $back = allowed($browser, $ada);
    wait_for { $g->get('/status', raw_path => 1)->json->{stream_listeners} == 2 };

    my $lock = $g->cluster->connect($g->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    my (@answers, $connection);
    $connection = Guildlog::H2->new(port => $h2);
    for my $kind (sort keys %asked) {
        my ($of, $expected) = @{ $asked{$kind} };
        push @answers,
            ["$kind, HTTP/1.1", $expected, http1(get($path . $of->(), $token))],
            ["$kind, HTTP/2", $expected,
                http2($connection, $path . $of->(), $token)];
    }

    my $report = $reported[$n % @reported];
    push @answers, ['report', qr/"incomplete"\s*:\s*\[\]/, http1(get(
        "/api/servers/$report->{server}/troubleshoot", $report->{token}))];

    my $body = json->encode([map { {
        event_id => "$n $_", type => $_ % 30 ? 5 : 6,
        content  => "$n $_ " . 'x' x 400,
    } } 1 .. 300]);
    push @answers, ['record', qr/"recorded":\s*300\b/,
        http1("POST /servers/$followed/logs HTTP/1.1\r\nHost: localhost\r\n"
            . "Content-Type: application/json\r\nContent-Length: "
            . length($body) . "\r\n\r\n$body", unix => $g->{operator})];

    my $person = started($browser, 'GET', $back);
    $connection->settle;

    wait_for {
        $g->accepted($h2) && 5 == grep { $g->waiting($_) }
            qw(search_open logs_export troubleshoot operator_record
            session_begin);
    } 30, 'all are at work';

    my @old = $g->workers;
    $g->signal($signal);
    wait_for { $g->leaving(@old) } 30, 'the old workers are to exit';
    $lock->rollback;

    for (@answers) {
        my ($kind, $expected, $answer) = @$_;
        my ($status, $whole, $text) = @{ $answer->() };
        my $right = ref $expected ? $text =~ $expected
                                  : ($text =~ tr/\n//) == $expected;
        $lost{$kind}++ if $status ne 200 || !$whole || !$right;
    }

    my $answer = $person->response;
    $lost{'sign-in'}++
        if !$answer || ($answer->header('Location') // '') eq ''
            || ($answer->header('Set-Cookie') // '') !~ /^guildlog=/;
    for (1, 2) {
        $lost{"tail, HTTP/$_"}++ if !followed($_, $tail{$_});
    }
    wait_for { !grep { kill 0, $_ } @old } 30, 'the old workers exit';
}


round($_, 'HUP') for 1 .. $rounds;
is_deeply \%lost, {}, "in $rounds reloads no answer was lost or cut";

%lost = ();
round($rounds + 1, 'QUIT');
is_deeply \%lost, {}, 'nor when nginx quit';
$g->stop;
$g->start;

my @recorded = map { my $n = $_; map { "$n " . $_ * 30 } 1 .. 10 }
    1 .. $rounds + 1;

# a tail that is ended before it has read what came gets it the next time

for (1 .. 10) {
    my %tail = map { $_ => follow($_) } 1, 2;
    wait_for { $g->get('/status', raw_path => 1)->json->{stream_listeners} == 2 };
    $g->reload;
    followed($_, $tail{$_}) for 1, 2;
    last if !grep { @{ $seen{$_} } < @recorded } 1, 2;
}
is_deeply $seen{$_}, \@recorded, "HTTP/$_: a tail got each entry, once" for 1, 2;

done_testing;
