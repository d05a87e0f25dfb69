package Guildlog::Bench::Config;

# a configuration read with token and limit, against pgbench on
# the same statement

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# a read of one row: everything but the work itself is in it
sub run {
    my $nginx  = start(api => $no_limit);
    my $guild  = $nginx->server;
    my $token  = $nginx->new_token($guild);
    my $path   = "/api/servers/$guild/config/settings";
    my $script = script($nginx, "select status, body from guildlog."
        . "settings_get('$token->{unique_id}', $guild, 0::smallint, "
        . "1::smallint);\n");

    $nginx->patch("/servers/$guild/config/settings",
        token => $token->{token}, json => { locale => 'de' });

    my (@cpu, @ours, @theirs);
    for (1 .. option('rounds')) {
        my $before = cpu($nginx);
        my $run    = wrk($nginx, $path, $token->{token});
        push @cpu,    (cpu($nginx) - $before) / $run->{requests} * 1e6;
        push @ours,   $run->{rate};
        push @theirs, pgbench($nginx, $script);
    }
    row('config read, token and limit / pgbench -c8 -j2', \@ours, \@theirs);
    line('  nginx CPU, µs a request', sprintf('%.1f', median(@cpu)),
        '', '', '');
    $nginx->stop;
}


1;
