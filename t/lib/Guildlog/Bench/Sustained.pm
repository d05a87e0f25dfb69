package Guildlog::Bench::Sustained;

# entries recorded at a fixed rate (--rate) for --seconds, with all rules and
# the keeper on: how many of them were recorded, what was left undone at any
# time, and what an entry costs with all that is done behind it; --snapshot:
# another session holds a snapshot meanwhile, and what the dead rows behind it
# cost

use strict;
use warnings;
use utf8;

use Time::HiRes qw(time sleep);

use Guildlog::Bench;
use Guildlog::Bench::Record;
use Guildlog::Zipf;


sub run {
    my $nginx = start(
        workers => 2,
        keeper => 'on',
        database => { connections => 8 },
        locations => 'location /op/ { guildlog_operator open; }',
    );
    my @guilds = Guildlog::Zipf::fill($nginx, $nginx->server,
        option('entries') / 100);
    Guildlog::Bench::Record::route($nginx, $_) for @guilds;

    my $rate = option('rate');
    my $lua  = Guildlog::Bench::Record::load($nginx, $rate / 100, @guilds);

    once {
        settle($nginx);
        my $holder = holder($nginx);
        my @before = (cpu($nginx), postgres_cpu($nginx), recorded($nginx));
        my $load   = spawn(sub { wrk($nginx, '/', lua => $lua,
            connections => 8) });

        my %most = (hot => 0, searchable => 0, lag => 0);
        my $until = time + option('seconds');
        while (time < $until) {
            sleep 1;
            my ($hot, $searchable) = left($nginx);
            $most{hot}    = $hot    if $hot > $most{hot};
            $most{searchable} = $searchable if $searchable > $most{searchable};
        }
        waitpid $load, 0;
        my $n = recorded($nginx) - $before[2];
        settle($nginx);
        my @rows = rows($nginx);
        $holder->disconnect if $holder;
        admin($nginx, 'vacuum');
        my @after = rows($nginx);

        my @us = map { $_ / $n * 1e6 } cpu($nginx) - $before[0],
            postgres_cpu($nginx) - $before[1];
        map { [@$_] } [$n / option('seconds'), $rate],
            [$most{searchable}, 100_000],
            [$most{searchable} / $rate, 60],
            [$most{hot} / $rate, 60],
            [$us[0] + $us[1], $us[1]],
            [@rows], [@after];
    } 'sustained recording with all rules and the keeper, entries/s; asked for',
      'entries in no segment of the index, at most; 100,000',
      'these in seconds of that rate; a minute',
      'entries in no block, in seconds of that rate, at most; '
          . 'a minute',
      "CPU for an entry with all that is done behind it, µs; PostgreSQL's",
      'dead rows at the end, of tables that are rewritten; live ones',
      'the same after a vacuum';
}


# a session with a snapshot, as a dump has one
sub holder {
    my ($nginx) = @_;

    return if !option('snapshot');
    my $dbh = $nginx->cluster->connect($nginx->dbname);
    $dbh->begin_work;
    $dbh->do('set transaction isolation level repeatable read');
    $dbh->do('select count(*) from server');
    return $dbh;
}


# rows of the tables that are rewritten: dead ones, and live ones
sub rows {
    my ($nginx) = @_;

    return @{ ($nginx->sql(q(select sum(n_dead_tup), sum(n_live_tup)
        from pg_stat_user_tables where schemaname = 'guildlog'
         and relname !~ '^log_arrival')))[0] };
}


sub recorded {
    my ($nginx) = @_;
    return scalar $nginx->sql('select sum(arrival) from log_head');
}


# entries that are not in a checkpoint, and that are in no segment; a server
# without an index has all of them in none
sub left {
    my ($nginx) = @_;
    return @{ ($nginx->sql('select sum(not_in_blocks), '
        . 'sum(coalesce(not_searchable, recorded)) from status_servers'))[0] };
}


# until the keeper has no more to do: some entries wait for more of their server
sub settle {
    my ($nginx) = @_;

    $nginx->keeper_is_due;
    my $least = '';
    my $since = time;
    while (time - $since < 3) {
        sleep 0.5;
        my $left = join ' ', left($nginx);
        ($least, $since) = ($left, time) if $left ne $least;
    }
}


1;
