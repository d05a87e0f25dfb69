package Guildlog::Bench::Refuse;

# a refused request (401, 429), against nginx's "return 200"

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# neither reaches the database
sub run {
    my $nginx = start(
        api       => $no_limit,
        locations => 'location = /ok { default_type application/json; '
            . 'return 200 "{}"; } '
            . 'location /limited/ { guildlog_api; '
            . 'guildlog_limit requests=1 window=1d; }',
    );
    my $guild = $nginx->server;
    my $good  = $nginx->token($guild);
    my $bad   = $nginx->sign($nginx->claims($guild), alg => 'HS256',
        kid => 'main', key => 'the secret of somebody else, of 32 bytes');

    $nginx->get("/limited/servers/$guild", raw_path => 1, token => $good);

    my %run = (
        '401, no token'       => ["/api/servers/$guild", undef],
        '401, bad signature'  => ["/api/servers/$guild", $bad],
        '429, over the limit' => ["/limited/servers/$guild", $good],
    );
    my (%ours, @theirs);
    for (1 .. option('rounds')) {
        push @{ $ours{$_} }, wrk($nginx, @{ $run{$_} })->{rate}
            for sort keys %run;
        push @theirs, wrk($nginx, '/ok', $good)->{rate};
    }
    row("$_ / return 200", $ours{$_}, \@theirs) for sort keys %run;
    $nginx->stop;
}


1;
