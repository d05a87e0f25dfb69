package Guildlog::Bench::Search;

# first pages with exact counts of searches in the largest of many
# servers (--entries) over 30 days: PostgreSQL's CPU, beside a look
# at every entry and beside the bare rows of the index that have the
# words; what the index takes to make and to keep

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Zipf;

use constant { DAY => 86_400_000, BUDGET => 20_000 };

# name, search, other parameters
my @queries = (
    ['the commonest word, in all channels', word(1)],
    ['a common word, in many names',        word(2)],
    ['a word, in some names',               word(50)],
    ['a word, in no name',                  word(800)],
    ['a rare word',                         word(4999)],
    ['no such word',             'zzzz'],
    ['two common words',         word(2, 3)],
    ['a common and a rare word', word(2, 4999)],
    ['three common words',       word(2, 3, 5)],
    ['a part of some names',     word(50) . ' 1'],
    ['one letter',               'e'],
    ['a word, the last week',    word(50), after => time * 1000 - 7 * DAY],
    ['a word, one type',         word(50), type => '{7}'],
    ['a word, a channel',        word(50), channel => '300000000000000003'],
    ['a word, a member',         word(50), member => '200000000000000077'],
);


sub run {
    my $nginx = start(api => $no_limit);
    my $guild = $nginx->server;
    my $token = $nginx->new_token($guild)->{unique_id};

    Guildlog::Zipf::fill($nginx, $guild, option('entries'));
    index_made($nginx);

    my $dbh = $nginx->cluster->connect($nginx->dbname);
    $dbh->do('set plan_cache_mode = force_generic_plan');
    $dbh->do('set jit = off');
    my $page = $dbh->prepare(q(select id, doc from logs_page($1, $2::bigint,
        0::smallint, 1::smallint, $3, $4::bigint, null, null, $5::int[],
        $6::bigint, $7::bigint, null, null, 100, null)));

    for (@queries) {
        my ($name, $search, %other) = @$_;
        my $ask = sub {
            $page->execute($token, $guild, $search,
                @other{qw(after type channel member)});
            $page->fetchall_arrayref;
        };
        my (@ours, @probe, @scan);
        for (1 .. option('rounds')) {
            push @ours,  each_ms($dbh, 200, $ask);
            push @probe, each_ms($dbh, 50, probe($dbh, $guild, $search));
        }

        # for a transaction it has no index
        $dbh->begin_work;
        $dbh->do('delete from search_head where guild_id = ?', undef, $guild);
        push @scan, each_ms($dbh, 1, $ask);
        $dbh->rollback;

        figures("$name / every entry", median(@ours), @scan);
        figures('  / rows of the index', median(@ours), median(@probe));
    }
    $dbh->disconnect;
    $nginx->stop;
}


# of these ranks
sub word { return join ' ', map { Guildlog::Zipf::word($_) } @_ }


sub figures {
    my ($what, $ours, $theirs) = @_;

    line($what, map({ sprintf '%.2f', $_ } $ours, $theirs),
        sprintf('%.3f', $ours / ($theirs || 0.01)), 'ms');
}


# CPU of each call: as many as take so many ms in all
sub each_ms {
    my ($dbh, $least, $code) = @_;

    $code->();
    my $began = spent($dbh);
    my $n = 0;
    do { $code->(); $n++ } while spent($dbh) - $began < $least;
    return (spent($dbh) - $began) / $n;
}


# ms of a backend's CPU
sub spent {
    my ($dbh) = @_;

    open my $in, '<', "/proc/$dbh->{pg_pid}/schedstat" or die "schedstat: $!\n";
    return (split ' ', <$in>)[0] / 1e6;
}


sub probe {
    my ($dbh, $guild, $search) = @_;

    my $rows = $dbh->prepare_cached(<<'SQL');
        select c.first, c.counts from unnest($2::text[]) t (term)
         cross join generate_series(0, 2) l (level)
          join search_common c on c.guild_id = $1::bigint and c.bot = 0
           and c.level = l.level
           and c.bucket = search_bucket(l.level, t.term) and c.term = t.term
        union all
        select c.first, null from unnest($2::text[]) t (term)
         cross join generate_series(0, 2) l (level)
          join search_term c on c.guild_id = $1::bigint and c.bot = 0
           and c.level = l.level
           and c.bucket = search_bucket(l.level, t.term)
SQL
    return sub {
        $rows->execute($guild, [split / /, $search]);
        $rows->fetchall_arrayref;
    };
}


# in the turns of the keeper
sub index_made {
    my ($nginx) = @_;

    my $dbh  = $nginx->cluster->connect($nginx->dbname);
    my $turn = $dbh->prepare('select more from keeper_search(' . BUDGET . ')');
    my ($began, $longest, $more) = (spent($dbh), 0, 1);
    $dbh->do('set plan_cache_mode = force_generic_plan');
    $dbh->do('select keeper_searchable(' . BUDGET . ')');

    while ($more) {
        my $at = spent($dbh);
        $turn->execute;
        ($more) = $turn->fetchrow_array;
        $turn->finish;
        $longest = spent($dbh) - $at if $longest < spent($dbh) - $at;
    }

    my $n = $nginx->sql('select sum(cardinality(ids)) from search_run');
    line('the index, CPU µs an entry',
        sprintf('%.0f', (spent($dbh) - $began) * 1000 / $n), '', '', '');
    line('  the longest turn, CPU ms', sprintf('%.0f', $longest), '', '', '');
    $nginx->cluster->connect($nginx->dbname, 'postgres')->do('vacuum analyze');
    line('  bytes an entry, as it is', sprintf('%.0f', size($nginx) / $n), '',
        '', '');
    $nginx->cluster->connect($nginx->dbname, 'postgres')->do(
        "vacuum full analyze guildlog.$_")
        for qw(search_term search_common search_string);
    line('  bytes an entry, without free room',
        sprintf('%.0f', size($nginx) / $n), '', '', '');
    return;
}


sub size {
    my ($nginx) = @_;

    return scalar $nginx->sql(q(select sum(pg_total_relation_size(c.oid))
        from pg_class c where c.relnamespace = 'guildlog'::regnamespace
         and c.relname ~ '^search_' and c.relkind = 'r'));
}


1;
