# "Across machines the token stays on one edge by nginx's own hash … consistent
# in front: exact there too, without a counter service": conf/front.conf with
# two edges on one database.

use lib 't/lib';
use Guildlog;

use File::Temp qw(tempdir);

my $limit = 20;
my $tls = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0755, $tls;
system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    . " -subj /CN=guildlog.example -addext subjectAltName=DNS:guildlog.example"
    . " -keyout $tls/server.key -out $tls/server.crt 2>/dev/null") == 0
    or die 'openssl';

my %edge = (api => "guildlog_limit zone=guildlog requests=$limit window=1h;",
    listen => 'ssl', connect => { tls => 1 }, server => <<"CONF");
        ssl_certificate $tls/server.crt;
        ssl_certificate_key $tls/server.key;
        set_real_ip_from 127.0.0.1;
        real_ip_header X-Forwarded-For;
        location /cookie {
            add_header Set-Cookie guildlog=@{[ 'a' x 512 ]};
            return 204;
        }
CONF
my $first = Guildlog->new(%edge);
my $second = Guildlog->new(%edge, dbname => $first->dbname);

my $conf = do { local (@ARGV, $/) = "$Guildlog::TOP/conf/front.conf"; <> };
my ($n, @ports) = (0, $first->port, $second->port);
$conf =~ s/\b10\.0\.0\.[12]:443\b/'127.0.0.1:' . $ports[$n++]/ge;
is $n, 2, 'the sample has two edges';
$conf =~ s/listen +443 ssl http2;/listen 127.0.0.1:%%PORT%% ssl;/ or die;
$conf =~ s/listen +\[::\]:443 ssl http2;// or die;
$conf =~ s{guildlog/edges.crt}{guildlog/server.crt};
$conf =~ s{guildlog/server\.}{$tls/server.}g;
my $front = Guildlog->new(conf => $conf, dbname => $first->dbname,
    connect => { tls => 1 });

my @servers = map { $first->server } 1 .. 24;
my @tokens = map { $first->token($_) } @servers;


# the number of requests that an edge got
sub asked {
    my ($edge) = @_;
    return scalar(() = $edge->access_log =~ m{/api/servers}g);
}


sub config_of {
    my ($i, %option) = @_;
    return $front->get("/servers/$servers[$i]/auth", token => $tokens[$i],
        %option);
}


subtest 'a limit is exact' => sub {
    for my $i (0, 1) {
        my @statuses = map { config_of($i)->status } 1 .. $limit + 5;
        is_deeply \@statuses, [(200) x $limit, (429) x 5],
            "over that many connections, token $i";
    }
};


subtest 'tokens are spread, each on one edge' => sub {
    # an edge writes its log line after the answer
    wait_for { asked($first) + asked($second) == 2 * ($limit + 5) };

    for my $i (2 .. $#servers) {
        my @before = map { asked($_) } $first, $second;
        my @answers = map { config_of($i) } 1 .. 4;
        wait_for { asked($first) + asked($second)
            == $before[0] + $before[1] + 4 };

        is_deeply [map { $_->header('X-RateLimit-Remaining') } @answers],
            [map { $limit - $_ } 1 .. 4], "token $i is counted";
        is grep({ $_ == 4 } asked($first) - $before[0],
            asked($second) - $before[1]), 1, 'on one edge';
    }
    ok asked($_), 'each edge has some of the tokens' for $first, $second;
};


subtest 'any spelling of the header reaches the same edge' => sub {
    my $server = $first->server;
    my $token = $first->token($server);
    my @spelled = map { "$_$token" } 'Bearer ', 'bearer ', 'BEARER  ',
        'bEARER ', 'Bearer   ', 'beareR    ';
    my %statuses;
    ++$statuses{$front->get("/servers/$server", headers =>
        [Authorization => $spelled[$_ % @spelled]])->status}
        for 0 .. 2 * $limit;
    is $statuses{200}, $limit, 'it is one token, on one edge';
};


subtest 'a client without a token is counted by its address' => sub {
    my @one = map { $front->get('/servers/1', connect =>
        { from => '127.0.0.11' })->status } 1 .. $limit + 1;
    is $one[-1], 429, 'too many bad tokens of one address are refused';
    is $front->get('/servers/1', connect => { from => '127.0.0.12' })->status,
        401, 'another address is not refused';
};


subtest 'people sign in' => sub {
    is $front->get('/cookie', raw_path => 1)->status, 204,
        'a cookie as large as guildlog_login makes it comes through';
};


subtest 'a change at one edge is seen at the other' => sub {
    my $server = $first->server;
    my $made = $second->new_token($server);
    my @ask = ("/servers/$server", token => $made->{token});
    is $_->get(@ask)->status, 200,
        'both edges accept the token' for $first, $second;

    is $front->delete("/servers/$server/auth?tokenId=$made->{unique_id}",
        token => $made->{token})->status, 200, 'revoked';
    is $_->get(@ask)->status, 401, 'everywhere' for $first, $second, $front;
};


subtest 'the live tail is passed on as it is written' => sub {
    my $server = $first->server;
    my $token = $first->token($server);
    my $client = $front->connection;
    $client->send("GET /api/servers/$server/logs/stream HTTP/1.1\r\n"
        . "Host: localhost\r\nAuthorization: Bearer $token\r\n\r\n");
    like $client->line, qr/ 200 /, 'a live tail begins';

    is $second->operator('POST', "/servers/$server/logs", [{ event_id => 'a',
        type => 5, name => 'now' }])->status, 200, 'an entry is recorded';
    my $got = '';
    wait_for { $got .= $client->some if $client->readable(0.1);
        $got =~ /"name":"now"/ } 30, 'the tail gets it';
    pass '... while it stays open';
};


subtest 'an edge stops' => sub {
    $first->stop('TERM');
    for my $i (2 .. $#servers) {
        is config_of($i)->status, 200, "token $i is served";
    }
};


subtest 'an edge of another certificate gets nothing' => sub {
    system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
        . " -nodes -subj /CN=guildlog.example -keyout $tls/server.key"
        . " -out $tls/server.crt 2>/dev/null") == 0 or die 'openssl';
    $second->reload;
    my $before = asked($second);
    is config_of(2)->status, 502, 'a token is not handed to it';
    is asked($second), $before, 'and it is not asked';
};

done_testing;
