package Guildlog::Bench::Changes;

# a change of the configuration; reads of a large one and of the
# directory; against pgbench on the same statements

use strict;
use warnings;
use utf8;

use Guildlog::Bench;

my @reads = (
    ['the whole configuration: 1,000 ignored, 25 tags', 'config_get', ''],
    ['a search of 100,000 members by a name', 'search_members', 'Member a1'],
    ['by a part of a name', 'search_members', 'f3b'],
    ['by the start of an id', 'search_members', '2000000000000045'],
);


sub run {
    my $nginx = start(api => $no_limit);
    my $guild = $nginx->server;
    my $token = $nginx->new_token($guild);

    changes($nginx, $guild, $token);
    large($nginx, $guild);
    reads($nginx, $guild, $token, @$_) for @reads;
}


# each of them an option, in turn off and on
sub changes {
    my ($nginx, $guild, $token) = @_;

    my $lua = $nginx->file('change.lua', <<"LUA");
local n = 0
request = function()
    n = n + 1
    return wrk.format("PATCH", "/api/servers/$guild/config/logging/settings",
        { ["Content-Type"] = "application/json",
          ["Authorization"] = "Bearer $token->{token}" },
        '{"spoilers": ' .. tostring(n % 2 == 0) .. '}')
end
LUA
    my $script = script($nginx, "\\set on random(0, 1)\n"
        . "select status, body from guildlog.options_patch("
        . "'$token->{unique_id}', $guild, 0::smallint, 1::smallint, "
        . "jsonb_build_object('spoilers', :on = 1));\n");

    figures {
        [wrk($nginx, '/', lua => $lua, connections => 8)->{rate},
            pgbench($nginx, $script)->{rate}];
    } 'a change of an option, requests/s; pgbench -c8 -j2 on the statement';
}


sub large {
    my ($nginx, $guild) = @_;

    $nginx->sql("insert into ignore_entry select ?, 0, n % 7, n from "
        . "generate_series(1, 1000) n", $guild);
    $nginx->sql("insert into tag select ?, 0, n, n, repeat('x', 400) from "
        . "generate_series(1, 25) n", $guild);
    $nginx->sql("insert into directory (guild_id, kind, id, name) select ?, 0, "
        . "200000000000000000 + n, 'Member ' || md5(n::text) from "
        . "generate_series(1, ?::int) n", $guild,
        option('smoke') ? 1000 : 100_000);
    $nginx->sql('analyze directory');
}


sub reads {
    my ($nginx, $guild, $token, $what, $function, $query) = @_;

    my $path = "/api/servers/$guild/" . (length $query
        ? 'search/members?query=' . $query =~ s/ /%20/r : 'config');
    my $script = script($nginx, "select status, body from guildlog.$function("
        . "'$token->{unique_id}', $guild, 0::smallint, 1::smallint"
        . (length $query ? ", '$query'" : '') . ");\n");

    figures {
        [wrk($nginx, $path, token => $token->{token},
            connections => 1)->{p50}, pgbench_p50($nginx, $script)];
    } "$what, p50 ms; pgbench -c1 on the statement";
}


1;
