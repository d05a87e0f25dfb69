package Guildlog::Bench::Memory;

# a worker's memory over a million requests

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


sub run {
    my $nginx = start(api => $no_limit, workers => 1);
    my $guild = $nginx->server;
    my $token = $nginx->token($guild);
    my $path  = "/api/servers/$guild";
    my $done  = 0;
    my @rss;

    while ($done < 1_000_000) {
        $done += wrk($nginx, $path, $token)->{requests};
        push @rss, rss($nginx->workers);
    }
    line("a worker's memory at first, KB", $rss[0], '', '', '');
    line("  after $done requests, KB", $rss[-1], '', '', '');
    $nginx->stop;
}


1;
