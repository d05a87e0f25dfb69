package Guildlog::Bench::Changes;

# a change of the configuration, against pgbench on the same
# statement; reads of a large one and of the directory

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# a change is one round trip, too
sub run {
    my $nginx  = start(api => $no_limit);
    my $guild  = $nginx->server;
    my $token  = $nginx->new_token($guild);
    my $bearer = $token->{token};
    my $lua    = $nginx->file('change.lua', <<"LUA");
local n = 0
request = function()
    n = n + 1
    return wrk.format("PATCH", "/api/servers/$guild/config/logging/settings",
        { ["Content-Type"] = "application/json",
          ["Authorization"] = "Bearer $bearer" },
        '{"spoilers": ' .. tostring(n % 2 == 0) .. '}')
end
LUA
    my $script = script($nginx, "\\set on random(0, 1)\n"
        . "select status, body from guildlog.options_patch("
        . "'$token->{unique_id}', $guild, 0::smallint, 1::smallint, "
        . "jsonb_build_object('spoilers', :on = 1));\n");

    my (@ours, @theirs);
    for (1 .. option('rounds')) {
        push @ours,   wrk($nginx, '/', undef, 8, $lua)->{rate};
        push @theirs, pgbench($nginx, $script);
    }
    row('change of an option / pgbench -c8 -j2', \@ours, \@theirs);

    $nginx->sql("insert into ignore_entry select ?, 0, n % 7, n from "
        . "generate_series(1, 1000) n", $guild);
    $nginx->sql("insert into tag select ?, 0, n, n, repeat('x', 400) from "
        . "generate_series(1, 25) n", $guild);
    $nginx->sql("insert into directory (guild_id, kind, id, name) select ?, 0, "
        . "200000000000000000 + n, 'Member ' || md5(n::text) from "
        . "generate_series(1, 100000) n", $guild);
    $nginx->sql('analyze directory');

    for my $path ('config', 'search/members?query=Member%20a1',
        'search/members?query=f3b', 'search/members?query=2000000000000045')
    {
        my $run = wrk($nginx, "/api/servers/$guild/$path", $bearer, 1);
        line("GET /$path, p50 ms", $run->{p50}, '', '', '');
    }
    $nginx->stop;
}


1;
