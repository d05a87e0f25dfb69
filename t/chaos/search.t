#!/usr/bin/perl
# Any machine may make the index of searches, and may be killed or frozen at any
# moment of it, as may its connections.  Meanwhile entries are recorded, some of
# them late, blocks are made of them, and some are taken back; people are
# forgotten; what arrived is past keeping; the index is begun anew.  Every search
# through either machine finds what was recorded, and in the end each entry is
# in the index once.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Days;
use Time::HiRes qw(sleep time);

my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
my $kills = $ENV{GUILDLOG_KILLS} || 24;
srand $seed;
diag("GUILDLOG_SEED=$seed");

my $cluster = Guildlog::Cluster->new;
my %option  = (cluster => $cluster, keeper => 'on interval=20ms',
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $first   = Guildlog->new(%option);
my $second  = Guildlog->new(%option, name => 'second',
    dbname => $first->dbname);
my @words   = qw(apple pear plum fig date lime);
my $guild   = $first->server;
my $token   = $first->token($guild);
my @people  = map { 210_000_000_000_000_000 + $_ } 1 .. 9;
my %has;    # id => [the words of an entry's content, its name, who did it]
my ($event, $taken, %did) = (0, 0);

past($first, 7);
$first->patch("/servers/$guild/config/logging/settings/7", token => $token,
    json => { active_ignore => JSON::PP::true });

# no message about a lost connection
$SIG{__WARN__} = sub { warn $_[0] if $_[0] !~ /terminating connection/ };


sub sql { return $first->sql(@_) }
sub pick { return $_[rand @_] }


# a few entries are worth a segment, and few segments a day once more
sub due {
    sql('update search_head set closed = 0, due_at = now(),
        taken_to = case when taken_to > clock_timestamp() + ? then taken_to end
        where guild_id = ?', '119.5 s', $guild);
}


# some of the last days
sub record {
    my ($n, %entry) = @_;

    my @entries = map { {
        event_id  => 'e' . ++$event,
        type      => 5,
        timestamp => int((time - 3 - (rand() < 0.3 ? 4 * 86_400 * rand : 0))
                     * 1000),
        content   => join(' ', map { pick(@words) } 1 .. 2),
        executor  => { id => pick(@people) . '',
                       name => 'Ann ' . pick(@words) },
        %entry,
    } } 1 .. $n;

    # a worker that is killed may have recorded them
    my $answer;
    wait_for { eval {
        $answer = pick($first, $second)->operator('POST',
            "/servers/$guild/logs", \@entries);
        $answer->status == 200;
    } } 30, 'entries are recorded';
    for my $i (0 .. $#entries) {
        $has{ $answer->json->{ids}[$i] } = [
            { map { $_ => 1 } split / /, $entries[$i]{content} },
            @{ $entries[$i]{executor} }{qw(name id)}];
    }
    return @{ $answer->json->{ids} };
}


# asks until it is answered: a worker may just have been killed
sub again {
    my ($code) = @_;
    return wait_for {
        my $answer = eval { $code->(pick($first, $second)) };
        $answer && $answer->status < 300;
    } 30, 'an answer';
}


# the first search whose answer is wrong, or nothing
sub wrong {
    for my $search (@words, 'pear fig', 'nn li') {
        my @want = sort { $b <=> $a } grep {
            my ($content, $name) = @{ $has{$_} };
            index(lc $name, $search) >= 0
                || !grep { !$content->{$_} } split / /, $search;
        } keys %has;
        my $answer = wait_for {
            my $got = eval { pick($first, $second)->get(
                "/servers/$guild/logs?limit=50&search="
                . $search =~ s/ /%20/r, token => $token) };
            $got && $got->status == 200 && $got->json;
        } 30, 'a search is answered';
        my $ids = join ' ', map { $_->{id} } @{ $answer->{entries} };
        my $first = join ' ', @want[0 .. ($#want < 49 ? $#want : 49)];
        return "$search: $answer->{total}, not " . @want
            if $answer->{total} != @want;
        return "$search: $ids, not $first" if $ids ne $first;
    }
    return;
}


# waits until the index is being made
sub busy {
    return wait_for {
        due();
        sql(q(select pid from pg_stat_activity where state = 'active'
            and query ~ 'guildlog.search_(job|docs|put)'
            and datname = current_database() limit 1));
    } 60, 'somebody works on the index';
}


# waits until nothing past keeping is left of what arrived
sub gone {
    return wait_for {
        sql('update log_head set due_at = now() where arrival > blocked');
        $first->keeper_is_due;
        !sql('select count(*) from partitions_expired()');
    } 60, 'partitions go';
}


my %harm = (
    'a worker is killed' => sub {
        my $nginx = pick($first, $second);
        busy();
        $nginx->signal('KILL', $nginx->workers);
    },
    'a connection is ended' => sub {
        sql('select pg_terminate_backend(?)', busy());
    },
    'a worker is frozen' => sub {
        my @workers = pick($first, $second)->workers;
        busy();
        kill 'STOP', @workers;
        sleep 0.2 + rand 0.5;
        sql('update search_head set taken_to = null');
        sleep 0.5;
        kill 'CONT', @workers;
    },
    'the index is begun anew' => sub {
        busy();
        sql('select search_begin(?, 0::smallint)', $guild);
    },
    'entries are taken back' => sub {
        my $who = '' . (100_000_000_000_000_000 + ++$event);
        my @ids = record(9, type => 7, executor => { id => $who,
            name => 'Ann ' . pick(@words) });
        busy();
        again(sub { $_[0]->post("/servers/$guild/active/ignore/executors",
            token => $token, json => { id => $who, count => 5, time => 1 }) });
        my %left = map { $_->[0] => 1 } sql('select id from entries
            where guild_id = ? and id = any (?)', $guild, \@ids);
        delete @has{ grep { !$left{$_} } @ids };
        $taken += @ids - keys %left;
    },
    'a person is forgotten' => sub {
        my $who = pick(@people);
        busy();
        again(sub { $_[0]->operator('DELETE',
            "/servers/$guild/members/$who/logs") });
        wait_for { !sql('select count(*) from forgotten_person') } 60,
            'the person is forgotten';
        @$_[0, 1] = ({}, '') for grep { $_->[2] eq $who } values %has;
    },
    'what arrived is past keeping' => sub {
        busy();
        sql('select search_begin(?, 0::smallint)', $guild) if rand() < 0.5;

        # somebody has the index in hand, and does not come to an end
        sql(q(update search_head set taken_to = clock_timestamp()
            + interval '10 minutes' where guild_id = ?), $guild);
        record(60);
        my $last = sql('select arrival from log_head where guild_id = ?
            and bot = 0', $guild);
        wait_for {
            a_day($first);
            gone();
            !sql('select count(*) from log_arrival where guild_id = ?
                and bot = 0 and arrival = ?', $guild, $last);
        } 60, 'what arrived goes';
        sql('update search_head set taken_to = null');
    },
);

sql('select keeper_searchable(20000)');
record(300);
my @wrong;
for my $n (1 .. $kills) {
    record(40 + int rand 100) for 1 .. 3;
    my $what = (sort keys %harm)[$n % keys %harm];
    $harm{$what}->();
    $did{$what}++;

    my $wrong = wrong();
    push @wrong, "$what: $wrong" if $wrong;
}
is_deeply \@wrong, [], "$kills harms, and every answer was right"
    or diag "seed $seed";
cmp_ok $did{$_}, '>', 1, $_ for sort keys %harm;
cmp_ok $taken, '>', 0, "$taken entries were taken back";

sql('update search_head set taken_to = null');
ok wait_for {
    due();
    !sql('select count(*) from search_head s join log_head h
        using (guild_id, bot) where guild_id = ?
        and (format = 0 or back_id > 0 or h.arrival > s.arrival)', $guild);
} 60, 'the work comes to an end';
is wrong(), undef, 'the answers are right';
is join("\n", map { "@$_" } sql('select * from guildlog.check(?)', $guild)), '',
    'each entry is in the index once';
is sql(q(select count(*) from keeper_parked)), 0, 'no server was left out';

ok gone(), 'what is past keeping goes';
is wrong(), undef, '... and nothing with it';
is sql('select count(*) from log_arrival where arrival = 1'), 0,
    '... but the row of what arrived first';

done_testing;
