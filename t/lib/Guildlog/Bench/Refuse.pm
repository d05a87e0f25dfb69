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

    my @runs = (["/api/servers/$guild", undef], ["/api/servers/$guild", $bad],
        ["/limited/servers/$guild", $good]);

    figures {
        my $ok = wrk($nginx, '/ok', token => $good)->{rate};
        map { [wrk($nginx, $_->[0], token => $_->[1], refused => 1)->{rate},
            $ok] } @runs;
    } map { "$_, requests/s; nginx's `return 200`" } '401 without a token',
        '401 for a bad signature', '429 over the limit';
}


1;
