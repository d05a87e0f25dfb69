#!/usr/bin/perl
# Any keeper may make the index for searches: two at once, or one whose backend
# is killed in the middle of a run, a merge or a sweep.  After any of this every
# answer equals that of a look at all entries, and in the end each entry is in
# the index once.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use POSIX ();
use Time::HiRes qw(sleep time);

my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
my $kills = $ENV{GUILDLOG_KILLS} || 12;
srand $seed;
diag("GUILDLOG_SEED=$seed");

my $cluster = Guildlog::Cluster->new;
my $nginx   = Guildlog->new(cluster => $cluster, start => 0);
my $guild   = 900_000_000_000_000_001;
my @words   = qw(apple pear plum fig date lime);
my %has;    # id => the words of an entry
my $event = 0;

# no message about a lost connection
$SIG{__WARN__} = sub { warn $_[0] if $_[0] !~ /terminating connection/ };


sql(q(select operator_server_put(?, '{"name": "Test", "owner_id": "42",
    "plan": "pro", "locale": "en-US"}')), $guild);

# so that a few entries make segments of every level
sql('create or replace function search_run_size() returns int
    language sql immutable as $$ select 4 $$');
sql('create or replace function search_bits_from() returns int
    language sql immutable as $$ select 96 $$');


# repeats a statement until the database answers
sub sql {
    my (@statement) = @_;

    my $value;
    wait_for {
        eval { $value = $nginx->sql(@statement); 1 } or do {
            delete $nginx->{dbh};
            $@ =~ /connect|terminat|starting up|recovery/ ? 0 : die $@;
        };
    } 60, 'the database answers';
    return $value;
}


# some with an earlier time; an event that is recorded already makes no entry
sub record {
    my ($n) = @_;

    my @entries = map { {
        event_id  => 'e' . ++$event,
        type      => 5,
        timestamp => int((time - 86_400 * rand) * 1000),
        content   => join(' ', map { $words[rand @words] } 1 .. 2),
        executor  => { id => '77', name => "Ann $words[rand @words]" },
    } } 1 .. $n;
    my $answer = json->decode(sql('select record(?, 0::smallint, ?::jsonb)',
        $guild, json->encode(\@entries)));
    for my $i (0 .. $#entries) {
        my %word = map { $_ => 1 } map { split / / } $entries[$i]{content},
            $entries[$i]{executor}{name};
        $has{ $answer->{ids}[$i] } = \%word;
    }
    return;
}


# the first search whose answer is wrong, or undef
sub wrong {
    for my $search (@words, 'pear fig') {
        my @want = sort { $b <=> $a } grep {
            my $of = $has{$_};
            !grep { !$of->{$_} } split / /, $search;
        } keys %has;

        # with two words, both have to be in the content
        @want = grep { sql(q(select (doc || '}')::json ->> 'content'
            from log_entry where guild_id = ? and id = ?), $guild, $_)
            =~ /pear.*fig|fig.*pear/ } @want if $search =~ / /;

        my $got = sql(q(
            select s.ids || array[sum(c.n)::bigint]
              from query_of(?, 0::smallint, 0, ?, null, null, null, null,
                            null, null, null) q
             cross join lateral search_page(q, null, q.high, 50) s
             cross join lateral unnest(s.counts || row(0, 0, 0)::log_count) c
             group by s.ids), $guild, $search);
        my $total = pop @$got;
        my @first = @want[0 .. ($#want < 49 ? $#want : 49)];
        return "$search: $total, not " . @want if $total != @want;
        return "$search: @$got, not @first"    if "@$got" ne "@first";
    }
    return;
}


# another process that works on the index until it is killed or told to end
sub keeper {
    defined(my $pid = fork) or die "fork: $!\n";
    return $pid if $pid;

    my $ends = 0;
    local $SIG{TERM} = sub { $ends = 1 };
    while (!$ends) {
        eval {
            my $dbh = $cluster->connect($nginx->dbname);
            $dbh->do('select keeper_searchable(400)');
            while (!$ends) {
                my ($more) = $dbh->selectrow_array(
                    'select more from keeper_search(400)');
                sleep 0.01 if !$more;
            }
        };
        sleep 0.05;
    }
    POSIX::_exit(0);
}


# kills the backend of a keeper when it has made a run or a merge and waits to
# store it
sub kill_one {
    my ($merging) = @_;

    my $dbh = $cluster->connect($nginx->dbname);
    $dbh->begin_work;
    $dbh->do('lock table search_term in share mode');
    record(20);
    my $pid = wait_for {
        $dbh->selectrow_array(q(select pid from pg_stat_activity
            where query like '%keeper_search%' and wait_event_type = 'Lock'
            limit 1));
    } 60, 'a keeper works';
    my $is = $dbh->selectrow_array('select count(*) from search_head
        where guild_id = ? and merge_level is not null', undef, $guild);
    kill 'KILL', $pid if $is == $merging;
    eval { $dbh->rollback; $dbh->disconnect };
    return $is == $merging;
}


record(300);
my @keepers = (keeper(), keeper());
my $me = $$;
END { kill 'KILL', @keepers if $me && $me == $$ }

my @wrong;
for my $n (1 .. $kills) {
    record(40 + int rand 100);
    wait_for { kill_one($n % 2) } 120, "the keeper's backend";

    my $wrong = wrong();
    push @wrong, $wrong if $wrong;
}

is_deeply \@wrong, [], "$kills kills, and every answer was right"
    or diag "seed $seed";

# the number of entries up to the end of the index, or after it
sub entries {
    my ($which) = @_;
    return sql("select count(*) from log_entry e join search_head s
        using (guild_id, bot) where guild_id = ? and bot = 0
         and e.arrival $which s.arrival", $guild);
}

my $left = wait_for {
    entries('>') < 4 && sql('select count(*) from search_head
        where guild_id = ? and merge_level is null', $guild);
} 120, 'the index is finished';
ok $left, 'the work comes to an end';
kill 'TERM', @keepers;
waitpid $_, 0 for @keepers;

is wrong(), undef, 'the answers are right';
is sql('select count(*) - count(distinct i) from search_place, unnest(ids) i
    where guild_id = ?', $guild), 0, 'no entry is in the index twice';
is sql('select count(*) from search_place, unnest(ids) i where guild_id = ?',
    $guild), entries('<='), 'no entry is left out';
is sql('select count(*) from (select level, first from search_term
        where guild_id = $1 union select level, first from search_common
        where guild_id = $1) t
    where not exists (select from search_segment s where s.guild_id = $1
        and s.level = t.level and s.first = t.first)', $guild), 0,
    'merged segments are deleted';

done_testing;
