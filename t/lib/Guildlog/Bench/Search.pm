package Guildlog::Bench::Search;

# first pages with exact counts of searches in the largest of many
# servers (--entries) over 30 days: PostgreSQL's CPU, beside the bare
# rows of the index that have the words and beside a look at every
# entry; what the index takes to make and to keep

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
        figures {
            [each_ms($dbh, 50 * option('seconds'), $ask),
                each_ms($dbh, 15 * option('seconds'), probe($dbh, $guild, $search))];
        } "a search for $name, ms of PostgreSQL's CPU; its rows of the index";

        once {
            [each_ms($dbh, 1, $ask), scan($dbh, $guild, $ask)];
        } '  the same; a look at every entry';
    }
}


# for a transaction it has no index
sub scan {
    my ($dbh, $guild, $ask) = @_;

    $dbh->begin_work;
    $dbh->do('delete from search_head where guild_id = ?', undef, $guild);
    my $ms = eval { each_ms($dbh, 1, $ask) };
    my $why = $@;
    $dbh->rollback;
    return $ms // die $why;
}


# of these ranks
sub word { return join ' ', map { Guildlog::Zipf::word($_) } @_ }


# CPU of each call: as many as take so many ms in all
sub each_ms {
    my ($dbh, $least, $code) = @_;

    $code->();
    my $began = spent($dbh);
    my $n = 0;
    do { $code->(); $n++ } while spent($dbh) - $began < $least;
    return (spent($dbh) - $began) / $n;
}


# ms
sub spent { return backend_cpu($_[0]) / 1000 }


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
    my ($n, $doc, @turns);
    $dbh->do('set plan_cache_mode = force_generic_plan');

    once {
        my $began = spent($dbh);
        my $more  = 1;
        $dbh->do('select keeper_searchable(' . BUDGET . ')');
        while ($more) {
            my $at = spent($dbh);
            $turn->execute;
            ($more) = $turn->fetchrow_array;
            $turn->finish;
            push @turns, spent($dbh) - $at;
        }
        $n = $nginx->sql('select sum(cardinality(ids)) from search_place');
        [(spent($dbh) - $began) * 1000 / $n, words($dbh) * 1000];
    } "the index, CPU µs an entry; PostgreSQL's to_tsvector";

    once { [(sort { $a <=> $b } @turns)[-1], median(@turns)] }
        '  the longest of ' . @turns . ' turns, CPU ms; the median';

    admin($nginx, 'vacuum analyze');
    once {
        $doc = $nginx->sql('select avg(octet_length(doc)) from log_entry');
        [size($nginx) / $n, $doc];
    } '  bytes an entry, as it is; its document alone';

    admin($nginx, "vacuum full analyze guildlog.$_")
        for qw(search_term search_common search_place search_string);
    once { [size($nginx) / $n, $doc] }
        '  bytes an entry, without free room; its document alone';
    return;
}


# what it takes to see the words of an entry, ms
sub words {
    my ($dbh) = @_;

    my $began = spent($dbh);
    my ($n) = $dbh->selectrow_array("select count(to_tsvector('simple', doc))
        from (select doc from log_entry limit 20000) e");
    return (spent($dbh) - $began) / $n;
}


sub size {
    my ($nginx) = @_;

    return scalar $nginx->sql(q(select sum(pg_total_relation_size(c.oid))
        from pg_class c where c.relnamespace = 'guildlog'::regnamespace
         and c.relname ~ '^search_' and c.relkind = 'r'));
}


1;
