package Guildlog::Bench::Logs;

# a page of 100 entries with exact total and counts over 30 days of
# the largest of many servers (--entries), as the keeper leaves them in
# the morning, against pgbench on the bare select of those 100 rows,
# and on our whole statement; what the filters take

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Days;
use Guildlog::Zipf;


sub run {
    my $entries = option('entries');
    my $nginx   = start(api => $no_limit);
    my $guild   = $nginx->server;
    my $token   = $nginx->new_token($guild);
    my $path    = "/api/servers/$guild/logs";

    month($nginx);
    Guildlog::Zipf::fill($nginx, $guild, $entries);
    rewrite($nginx);

    my $bare  = script($nginx, "select id, doc from guildlog.log_entry where "
        . "guild_id = $guild and bot = 0 order by id desc limit 100;\n");
    my $whole = script($nginx, 'select id, more, status, reason, channel_id, '
        . "message_id, doc from guildlog.logs_plain('$token->{unique_id}', "
        . "$guild, 0::smallint, 1::smallint, null, null, 100, null);\n");

    my (@cpu, @ours, @bare, @whole);
    for (1 .. option('rounds')) {
        my $before = cpu($nginx);
        my $run    = wrk($nginx, $path, $token->{token}, 8);
        push @cpu,   (cpu($nginx) - $before) / $run->{requests} * 1e6;
        push @ours,  $run->{rate};
        push @bare,  pgbench($nginx, $bare, 8, 'guildlog_owner', 'owner');
        push @whole, pgbench($nginx, $whole);
    }
    row("page of 100 of $entries / bare select, pgbench", \@ours, \@bare);
    row('  / whole statement, pgbench', \@ours, \@whole);
    line('  nginx CPU, µs a page', sprintf('%.1f', median(@cpu)),
        '', '', '');
    row('  PostgreSQL CPU, µs a page / bare select',
        spent($nginx, $whole, $bare));

    # as the keeper does, little by little
    $nginx->sql('select search_begin()');
    1 while $nginx->sql('select search_index(1000)');
    $nginx->cluster->connect($nginx->dbname, 'postgres')->do('vacuum analyze');

    filters($nginx, $path, $token->{token});

    line('  bytes stored an entry', $nginx->sql('select '
        . 'sum(pg_total_relation_size(i.inhrelid)) / (select count(*) from '
        . "log_entry) from pg_inherits i where i.inhparent = "
        . "'guildlog.log_entry'::regclass") =~ s/\..*//r, '', '', '');
    $nginx->stop;
}


# as nights would
sub rewrite {
    my ($nginx) = @_;

    my $admin = $nginx->cluster->connect($nginx->dbname, 'postgres');
    while (1) {
        my $more = $nginx->sql('select more from keeper_rewrite(80000)');
        next if $more;
        $admin->do('vacuum analyze');
        last if !$nginx->sql(q(select rewrite_waiting() + count(*)
            from log_rewrite where step <> 'done'));
    }
    return;
}


# by one backend for each of two statements, alternately
sub spent {
    my ($nginx, @scripts) = @_;

    my @spent;
    my @dbh = map {
        open my $in, '<', $_ or die "$_: $!\n";
        my $dbh = $nginx->cluster->connect($nginx->dbname);
        $dbh->do('set plan_cache_mode = force_generic_plan');
        $dbh->do('prepare it as ' . <$in>);
        $dbh;
    } @scripts;

    for (0 .. option('rounds')) {
        for my $i (0 .. $#dbh) {
            my $before = backend_cpu($dbh[$i]);
            $dbh[$i]->do('execute it') for 1 .. 200;
            push @{ $spent[$i] }, (backend_cpu($dbh[$i]) - $before) / 200;
        }
    }
    shift @$_ for @spent;
    return @spent;
}


# one client, one filter at a time; words by their rank among 5000
sub filters {
    my ($nginx, $path, $token) = @_;

    my $page  = $nginx->get("$path?limit=100", raw_path => 1,
        token => $token)->json;
    my %query = (
        'the second page'  => "cursor=$page->{cursor}",
        'a frequent type'  => 'type=5',
        'a rare type'      => 'type=46',
        'a channel'        => 'channel=300000000000000003',
        'a member'         => 'member=200000000000000077',
        'a frequent member' => 'member=200000000000000002',
        'the last hour'    => 'after=' . (time - 3600) . '000',
        map({ ("search, word $_ of 5000" => 'search='
            . Guildlog::Zipf::word($_)) } 1, 50, 4999),
        'search, no match' => 'search=zzzz',
    );
    for my $name (sort keys %query) {
        my $run = wrk($nginx, "$path?$query{$name}", $token, 1);
        line("  $name, p50 ms", $run->{p50}, '', '', '');
    }
}


1;
