package Guildlog::Bench::Config;

# a configuration read with token and limit, against pgbench on
# the same statement

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# a read of one row: everything but the work itself is in it
sub run {
    my $nginx  = start(api => $no_limit,
        locations => 'location = /ok { default_type application/json; '
            . q(return 200 '[{"id":"100000000000000001","locale":3}]'; }));
    my $guild  = $nginx->server;
    my $token  = $nginx->new_token($guild);
    my $path   = "/api/servers/$guild/config/settings";
    my $script = script($nginx, "select status, body from guildlog."
        . "settings_get('$token->{unique_id}', $guild, 0::smallint, "
        . "1::smallint);\n");

    $nginx->patch("/servers/$guild/config/settings",
        token => $token->{token}, json => { locale => 'de' });

    figures {
        my ($ours, $cpu) = costs($nginx, $path, $token->{token});
        my ($bare, $least) = costs($nginx, '/ok', $token->{token});
        [$ours, pgbench($nginx, $script)->{rate}], [$cpu, $least];
    } 'a configuration read with token and limit, requests/s; pgbench -c8 -j2 '
        . 'on the statement',
      'nginx CPU for it, µs; for `return 200`';
}


# (requests a second, µs of nginx's CPU for one)
sub costs {
    my ($nginx, $path, $token) = @_;

    my $before = cpu($nginx);
    my $run    = wrk($nginx, $path, token => $token);
    return ($run->{rate}, (cpu($nginx) - $before) / $run->{requests} * 1e6);
}


1;
