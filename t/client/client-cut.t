#!/usr/bin/perl
# A connection to the platform ends somewhere (as it is opened, in the TLS
# handshake, in the request, in the head, the body or a chunk of the answer), or
# it is slow.  Every entry arrives once, in order, and its status says so.

use lib 't/lib';
use Guildlog;
use Guildlog::Cutter;
use Guildlog::Delivery;
use Guildlog::Peer;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $between  = Guildlog::Cutter->new(to => $platform->{port});


sub through {
    my ($cutter, %option) = @_;
    return $platform->directives($g, %option,
        at => ($option{trusted} ? 'https' : 'http') . '://localhost:'
            . $cutter->port);
}


# a server with a channel and an entry for it: {guild, token, to, ids}
sub lane {
    my %lane;
    @lane{qw(guild token to)} = server();
    send_one(\%lane);
    return \%lane;
}


sub send_one {
    my ($lane) = @_;
    push @{ $lane->{ids} }, record($lane->{guild}, 1);
}


# checks that all entries are in the channel and have that status
sub arrives {
    my ($lane, $why) = @_;

    becomes($lane->{guild}, $lane->{token}, $lane->{ids}[-1], 'delivered',
        "$why: it is delivered", 60);
    is_deeply [grep { my $id = $_; grep { $_ eq $id } @{ $lane->{ids} } }
        map { $platform->entries_in($_) } $platform->messages($lane->{to})],
        $lane->{ids}, '... once, in order';
    is scalar(grep { word($lane->{guild}, $lane->{token}, $_) ne 'delivered' }
        @{ $lane->{ids} }), 0, '... each of them';
}


$g->configure(http => through($between))->start;
deliver_with($g, $platform);

my @head = (at => 'answered', past => 'HTTP/1.1 200');
my @body = (at => 'answered', past => '\r\n\r\n');
my @cuts = (
    ['in the head of the request',   at => 'sent', bytes => 60],
    ['in the body of the request',   at => 'sent', bytes => 400],
    ['all but the end of a request', at => 'sent', bytes => 400, reset => 1],
    ['before the answer',            at => 'answered', bytes => 0],
    ['before the answer, reset',     at => 'answered', bytes => 0, reset => 1],
    ['in the line of the status',    at => 'answered', bytes => 6],
    ['in the head of the answer',    @head, bytes => 20],
    ['before the body',              @body, bytes => 0],
    ['in the body',                  @body, bytes => 30],
    ['in the body, reset',           @body, bytes => 30, reset => 1],
);
my @chunks = (
    ['in the size of a chunk',       @body, bytes => 1],
    ['in a chunk',                   @body, bytes => 15],
    ['behind a chunk',               @body, bytes => 26],
);

# each case has a lane of its own; all run at once

my @lanes = map { lane() } @cuts, @chunks;
arrives($_, 'at first') for @lanes;
$platform->config(chunked => [map { $_->{to} } @lanes[@cuts .. $#lanes]]);
push @cuts, @chunks;
$between->rules(map { { tag => $cuts[$_][0],
    @{ $cuts[$_] }[1 .. $#{ $cuts[$_] }],
    match => '^POST \S+/webhooks/' . webhook($lanes[$_]{to})->{id} . '/'
} } 0 .. $#cuts);
send_one($_) for @lanes, @lanes;
arrives($lanes[$_], $cuts[$_][0]) for 0 .. $#cuts;
is_deeply [sort $between->hits], [sort map { $_->[0] } @cuts],
    'each connection was cut at its place';

my $lane = $lanes[0];
$between->throttle(7);
send_one($lane) for 1 .. 3;
arrives($lane, 'seven bytes at a time');
$between->throttle(0);
my $before = posts($lane->{to});
$between->cut;
$between->rules({ at => 'connect', tag => 'connect' });
send_one($lane);
arrives($lane, 'as it is made');
is_deeply [$between->hits], ['connect'], 'it was cut there';
is posts($lane->{to}), $before + 1, 'no second message was sent';

# over TLS, which another server block of this nginx terminates

Guildlog::Peer->certificate($g->prefix, 'front',
    names => 'DNS:localhost');
my $port = free_port();
my $secure = Guildlog::Cutter->new(to => $port);
my $there = "http://127.0.0.1:$platform->{port}";
$g->configure(http => through($secure, trusted => 'trusted=ca.crt') . <<"CONF");
    server {
        listen               127.0.0.1:$port ssl;
        ssl_certificate      front.crt;
        ssl_certificate_key  front.key;

        location / {
            proxy_pass          $there;
            proxy_http_version  1.1;
        }
    }
CONF
$g->reload;
send_one($lane);
arrives($lane, 'over TLS');

for my $cut (['its first word', at => 'sent', bytes => 100],
    ['its first word, reset', at => 'sent', bytes => 1, reset => 1],
    ["the server's", at => 'answered', bytes => 60],
    ["the server's certificate", at => 'answered', bytes => 400])
{
    my ($name, %rule) = @$cut;
    $before = posts($lane->{to});
    $secure->cut;
    $secure->rules({ match => '^\x16', tag => $name, %rule });
    send_one($lane);
    arrives($lane, "in $name of the handshake");
    is_deeply [$secure->hits], [$name], 'it was cut there';
    is posts($lane->{to}), $before + 1, 'no second message was sent';
}

$secure->rules({ match => '^\x17', at => 'sent', bytes => 100,
    tag => 'record' });
$lane = lane();
arrives($lane, 'in a record');
is_deeply [$secure->hits], ['record'], 'it was cut there';

done_testing;
