package Guildlog::Bench::Memory;

# a worker's memory over as many requests as --entries

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


sub run {
    my $nginx = start(api => $no_limit, workers => 1);
    my $guild = $nginx->server;
    my $token = $nginx->token($guild);
    my $left  = option('entries');

    once {
        my @rss;
        while ($left > 0 || @rss < 2) {
            $left -= wrk($nginx, "/api/servers/$guild",
                token => $token)->{requests};
            push @rss, rss($nginx->workers);
        }
        [@rss[-1, 0]];
    } "a worker's memory after " . Guildlog::Figures::number($left)
        . ' requests, KB; after some seconds of them';
}


1;
