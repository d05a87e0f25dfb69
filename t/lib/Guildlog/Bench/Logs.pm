package Guildlog::Bench::Logs;

# a page of 100 entries with exact total and counts over 30 days of
# the largest of many servers (--entries), as the keeper leaves them,
# against pgbench on the bare select of those 100 rows of one plain
# table, and on our whole statement: each page another one, and the same
# page again and again; what the filters take

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Index;
use Guildlog::Zipf;


sub run {
    my $entries = option('entries');
    my $nginx   = start(api => $no_limit, keeper => 'on interval=20ms',
        locations => 'location = /page.json { root .; }');
    my $guild   = $nginx->server;
    my $token   = $nginx->new_token($guild);
    my $path    = "/api/servers/$guild/logs";

    index_hold($nginx);
    Guildlog::Zipf::fill($nginx, $guild, $entries);
    $nginx->blocks;
    $nginx->sql('create table plain as select guild_id, bot, id, doc
        from entries');
    $nginx->sql('create unique index on plain (guild_id, bot, id)');
    admin($nginx, 'vacuum analyze');

    my $bare  = script($nginx, "select id, doc from guildlog.plain where "
        . "guild_id = $guild and bot = 0 order by id desc limit 100;\n");
    my $whole = script($nginx, 'select n, what, types, doc, said from '
        . "guildlog.logs_pieces('$token->{unique_id}', $guild, 0::smallint, "
        . "1::smallint, null, null, null, null, 100, null, null, true);\n");

    pages($nginx, $path, $token->{token}, $bare, $whole,
        Guildlog::Figures::number($entries));

    index_begin($nginx, $guild);
    index_all($nginx, $guild);
    admin($nginx, 'vacuum analyze');

    filters($nginx, $path, $token->{token}, $bare);
}


sub pages {
    my ($nginx, $path, $token, $bare, $whole, $entries) = @_;

    my $page = $nginx->get("$path?limit=100", raw_path => 1, token => $token);
    $nginx->file('page.json', $page->text);

    # to come after all there is, each time a little later
    my $another = $nginx->file('another.lua', sprintf <<'LUA', $path);
        local before = (os.time() + 86400) * 1000
        request = function()
            before = before + 1
            return wrk.format('GET', '%s?limit=100&before=' .. before)
        end
LUA

    figures {
        my ($ours, $cpu, $postgres) = costs($nginx, $path, token => $token,
            lua => $another);
        my ($again, $again_cpu, $again_postgres) = costs($nginx, $path,
            token => $token);
        my (undef, $least) = costs($nginx, '/page.json', token => $token);

        my $before = postgres_cpu($nginx);
        my $rows   = pgbench($nginx, $bare, 8, 'guildlog_owner', 'owner');
        my $us     = (postgres_cpu($nginx) - $before)
            / $rows->{transactions} * 1e6;

        [$ours, $rows->{rate}], [$ours, pgbench($nginx, $whole)->{rate}],
            [$postgres, $us], [$cpu, $least], [$again, $rows->{rate}],
            [$again_postgres, $us], [$again_cpu, $least];
    } "a page of 100 with exact counts over 30 days of $entries, pages/s; "
        . 'pgbench -c8 -j2 on the bare select of the rows',
      'the same; pgbench on our statement',
      'PostgreSQL CPU for a page, µs; for the bare select',
      'nginx CPU for a page, µs; for a file as long',
      'a page asked for again, while nothing changes; the bare select',
      'PostgreSQL CPU for it, µs; for the bare select',
      'nginx CPU for it, µs; for a file as long';

    once {
        [map { scalar $nginx->sql($_) } "select (pg_total_relation_size(
            'log_block') + pg_total_relation_size('log_day')
            + pg_total_relation_size('log_made'))
            / (select sum(n) from log_block)",
            'select avg(octet_length(doc)) from plain'];
    } 'bytes kept of an entry, with all indexes; its document alone';
}


# (pages a second, µs of nginx's CPU for one, and of PostgreSQL's)
sub costs {
    my ($nginx, $path, %load) = @_;

    my @before = (cpu($nginx), postgres_cpu($nginx));
    my $run    = wrk($nginx, $path, connections => 8, %load);
    return ($run->{rate}, map { $_ / $run->{requests} * 1e6 }
        cpu($nginx) - $before[0], postgres_cpu($nginx) - $before[1]);
}


# one client, one filter at a time; words by their rank among 5000
sub filters {
    my ($nginx, $path, $token, $bare) = @_;

    my $page  = $nginx->get("$path?limit=100", raw_path => 1,
        token => $token)->json;
    my @query = (
        ['the second page'  => 'cursor=' . ($page->{cursor} // '')],
        ['a frequent type'  => 'type=5'],
        ['a rare type'      => 'type=46'],
        ['a channel'        => 'channel=300000000000000003'],
        ['a frequent member' => 'member=200000000000000002'],
        ['a member'         => 'member=200000000000000077'],
        ['the last hour'    => 'after=' . (time - 3600) . '000'],
        map({ ["search, word $_ of 5000" => 'search='
            . Guildlog::Zipf::word($_)] } 1, 50, 4999),
        ['search, no match' => 'search=zzzz'],
    );
    figures {
        my $rows = pgbench_p50($nginx, $bare, 'guildlog_owner', 'owner');
        map {
            my $query = $_->[1];
            attempt {
                [wrk($nginx, "$path?$query", token => $token,
                    connections => 1)->{p50}, $rows];
            };
        } @query;
    } map { "a page of $_->[0], p50 ms; pgbench -c1 on the bare select" }
        @query;
}


1;
