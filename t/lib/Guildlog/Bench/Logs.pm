package Guildlog::Bench::Logs;

# a page of 100 entries with exact counts over 30 days, against
# pgbench on the statement, on a server with --entries (1000000)

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# a large server among smaller ones
sub run {
    my $entries = option('entries');
    my $nginx = start(api => $no_limit, keeper => 'on');
    my $guild = $nginx->server;
    my $token = $nginx->new_token($guild);

    fill($nginx, $guild, $entries);
    fill($nginx, $nginx->server, int($entries / 20 / $_)) for 1 .. 10;

    my $admin = $nginx->cluster->connect($nginx->dbname, 'postgres');
    Guildlog::wait_for(sub {
        !$nginx->sql('select checkpoints_make()');
    }, 600, 'checkpoints');
    $admin->do('vacuum analyze guildlog.log_entry');

    my $script = script($nginx, 'select id, more, status, reason, channel_id, '
        . "message_id, doc from guildlog.logs_page('$token->{unique_id}', "
        . "$guild, 0::smallint, 1::smallint, null, null, null, null, null, "
        . "null, null, null, null, 100, null);\n");
    my $path = "/api/servers/$guild/logs";

    my (@cpu, @ours, @theirs);
    for (1 .. option('rounds')) {
        my $before = cpu($nginx);
        my $run    = wrk($nginx, $path, $token->{token}, 8);
        push @cpu,    (cpu($nginx) - $before) / $run->{requests} * 1e6;
        push @ours,   $run->{rate};
        push @theirs, pgbench($nginx, $script);
    }
    row("page of 100, $entries entries / pgbench -c8 -j2", \@ours, \@theirs);
    line('  nginx CPU, µs a page', sprintf('%.1f', median(@cpu)),
        '', '', '');

    for my $query ('type=5', 'channel=300000000000000007',
        'member=200000000000000077', 'search=consetetur', 'search=word77777')
    {
        my $run = wrk($nginx, "$path?$query", $token->{token}, 1);
        line("  $query, p50 ms", $run->{p50}, '', '', '');
    }
    line('  bytes stored an entry', $nginx->sql('select '
        . 'sum(pg_total_relation_size(i.inhrelid)) / (select count(*) from '
        . "log_entry) from pg_inherits i where i.inhparent = "
        . "'guildlog.log_entry'::regclass") =~ s/\..*//r, '', '', '');
    $nginx->stop;
}


# so many entries over 30 days, oldest first
sub fill {
    my ($nginx, $guild, $n) = @_;

    for (my $at = 0; $at < $n; $at += 1000) {
        $nginx->sql(<<'SQL', $guild, $n, $at);
select record($1::bigint, 0::smallint, (
    select jsonb_agg(jsonb_build_object(
               'event_id', 'fill-' || n, 'type', (array[7, 5, 5, 17, 18, 1])
                   [1 + n % 6],
               'timestamp', ms(now()) - 2500000000
                   + (n * 2490000000 / $2::bigint),
               'executor', jsonb_build_object(
                   'id', (200000000000000000 + n * n % 5000)::text,
                   'name', 'member ' || n * n % 5000),
               'channel', jsonb_build_object(
                   'id', (300000000000000000 + n % 40)::text,
                   'name', 'channel ' || n % 40),
               'content', 'lorem ipsum dolor sit amet consetetur word' || n,
               'contentAfter', 'sadipscing elitr sed diam nonumy eirmod ' || n))
      from generate_series($3::bigint + 1, $3::bigint + 1000) n))
SQL
    }
}


1;
