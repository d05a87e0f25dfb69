# The keeper's worker puts entries into the index of searches: runs of what
# arrived, a part of the past at a time, a day once more when it is over.
# Whatever is killed, frozen or refused meanwhile, each entry is in one segment
# or is looked at besides, and no server waits for another one.

use lib 't/lib';
use Guildlog;
use Guildlog::Clock;
use Guildlog::Cluster;
use File::Temp qw(tempdir);

use constant { DAY => 86_400_000, HOUR => 3_600_000 };

my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my $clock   = Guildlog::Clock->new($dir);
my $cluster = Guildlog::Cluster->new(env => $clock->env);
my $first   = Guildlog->new(cluster => $cluster, start => 0,
    keeper => 'on interval=20ms hours=0-24',
    allow => [qr/exited on signal 9/]);
my $second = Guildlog->new(cluster => $cluster, dbname => $first->dbname,
    keeper => 'on interval=20ms', start => 0);
my $admin  = $cluster->connect($first->dbname);
my $events = 0;

# seconds that the clock is ahead: it is the middle of a day
my $ahead = 43_200 - time % 86_400;
$clock->set($ahead);

my $ids    = 700_000_000_000_000_000;


sub sql { return $first->sql(@_) }


# a server with an index, if it is not to get one later
sub server {
    my (%how) = @_;

    my $guild = ++$ids;
    sql(q(insert into server (guild_id, plan) values (?, 'pro')), $guild);
    record($guild, 1);
    return $guild if $how{bare};

    sql('select keeper_searchable(20000)');
    return $guild;
}


# so many entries, within an hour from that time (ms) on
sub record {
    my ($guild, $n, $at, %entry) = @_;

    $at //= now() - 2 * HOUR;
    while ($n > 0) {
        my $some = $n < 5000 ? $n : 5000;
        sql(q(select record(?::bigint, 0::smallint, jsonb_agg(
            jsonb_build_object('event_id', ?::int + i, 'type', i % 40,
                'timestamp', ?::bigint + i::bigint * 3600000 / ?::int,
                'executor', jsonb_build_object('id', 500 + i % 50,
                    'name', 'Ann ' || i % 50),
                'content', 'word' || i % 999 || ' of ' || i) || ?::jsonb))
            from generate_series(1, ?) i), $guild, $events, $at, $some,
            json->encode(\%entry), $some);
        $events += $some;
        $n -= $some;
    }
}


sub now { return sql('select ms(now())') }


# waits until nothing of these servers is to be done
sub settled {
    my (@guilds) = @_;

    wait_for {
        sql('select count(*) from search_head where guild_id = any (?)',
            \@guilds) == @guilds
            && !sql(q(select count(*) from search_head s
                where guild_id = any (?) and (format = 0 or back_id > 0
                    or taken_to > clock_timestamp() or due_at <= now())),
                \@guilds);
    } 60, 'the index is made';
}


# what is wrong with the index, entry by entry
sub wrong {
    my (@guilds) = @_;

    return join "\n", map { join ' | ', @$_ } map {
        $first->sql('select * from guildlog.check(?)', $_)
    } @guilds;
}


# how many entries its segments have, newest day first
sub segments {
    my ($guild) = @_;

    return join ' ', map { $_->[0] } $first->sql(q(select n from search_segment
        where guild_id = ? order by day desc, n desc), $guild);
}


# how many of its entries are in no segment
sub tail {
    my ($guild) = @_;

    return sql(q(select h.arrival - s.arrival from search_head s
        join log_head h using (guild_id, bot) where guild_id = ?), $guild);
}


# the past

my $guild = server(bare => 1);
record($guild, 20_000);
record($guild, 300, now() - $_ * DAY) for 1, 3, 4;
$first->start;
settled($guild);
is segments($guild), '16384 3617 300 300 300',
    'all that there was is indexed, day by day';
is wrong($guild), '', '... exactly';


# runs

record($guild, 1000);
settled($guild);
cmp_ok tail($guild), '<', 1024, 'few entries wait for more of them';
record($guild, 2000);
settled($guild);
record($guild, 10, now() - 3 * DAY);
record($guild, 1100);
settled($guild);
cmp_ok tail($guild), '<', 1024, 'many are indexed';
is wrong($guild), '', '... exactly, late ones too';


# odd documents

my $odd = server();
settled($odd);
record($odd, 30, undef, content => "\x{1F44D}\"\\\n\t\x{0130}\x{03C2}" x 50);
record($odd, 30, undef, content => '', reason => undef, role => '',
    executor => { id => '0', name => '' });
record($odd, 30, undef, content => 'x' x 60_000);
record($odd, 30, undef, content => join ' ', 1 .. 9000);
record($odd, 1000, undef, messages => [{ id => '1', content => 'a' },
    { id => '2' }, { id => '3', content => undef }]);
settled($odd);
cmp_ok tail($odd), '<', 1024, 'odd documents are indexed';
is wrong($odd), '', '... exactly';


# what cannot be read, and what cannot be stored

{
    my ($unread, $refused, $good) = map { server() } 1 .. 3;
    settled($unread, $refused, $good);
    sql(q(create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'no such luck'; end $$));
    sql(qq(create trigger refuse before insert on search_segment for each row
        when (new.guild_id = $refused) execute function refuse()));

    my ($id, $doc);
    $first->frozen(sub {
        record($_, 1500) for $unread, $refused, $good;
        ($id, $doc) = @{ ($first->sql('select id, doc from entries
            where guild_id = ? order by id desc limit 1', $unread))[0] };
        sql(q(update log_arrival set doc = '{"id": oh' where guild_id = ?
            and id = ?), $unread, $id);
    });

    ok wait_for { sql(q(select count(*) from keeper_parked
        where task = 'search')) == 1 }, 'a server is left out';
    like sql('select fault from keeper_parked where guild_id = ?', $refused),
        qr/^put: P0001 no such luck/, '... for what the database refuses';
    settled($good, $unread);
    cmp_ok tail($good), '<', 1024, '... others are indexed';
    cmp_ok tail($unread), '<', 1024,
        '... also one with an entry that cannot be read';
    like $first->error_log, qr/entry $id of server $unread cannot be read/,
        '... of which the log tells';
    is sql('select h.arrival - sum(s.n) from search_segment s
        join search_head h using (guild_id, bot) where h.guild_id = ?
        group by h.arrival', $unread), 1, '... and which alone is left out';
    $first->keeper_is_due;
    ok wait_for {
        my $status = status($first);
        ($status->{keeper_parked}{search} // 0) == 1
            && $status->{keeper_errors_total}{search} >= 1;
    }, 'the status page shows what is left out';
    ok wait_for { $first->error_log
        =~ /task "search" failed: .*server $refused: put: P0001/ },
        '... the log does, too';

    sql('update log_arrival set doc = ? where guild_id = ? and id = ?', $doc,
        $unread, $id);
    sql(q(update log_block set docs = replace(docs, '{"id": oh', ?)
        where guild_id = ?), $doc, $unread);
    sql('drop trigger refuse on search_segment');
    sql('select rebuild(?)', $unread);
    catches_up($unread, $refused);
    is sql('select count(*) from keeper_parked'), 0,
        'repaired, they are left out no longer';
    is wrong($unread, $refused, $good), '', '... and nothing is missing';
}


# a disk that is full, a right that is missing and a lock are no server's fault

sql(q(create function fails() returns trigger language plpgsql as $$
    begin raise exception 'no luck' using errcode = tg_argv[0]; end $$));

for my $state ('53100', '42501', '55P03') {
    my $server = server();
    settled($server);
    sql("create trigger fails before insert on search_segment
        for each row execute function fails('$state')");
    record($server, 1500);
    ok wait_for { $first->error_log
        =~ /the index of searches has to wait, put: $state no luck/ },
        "$state: the index has to wait";
    is sql('select count(*) from keeper_parked'), 0, '... no server is left out';
    sql('drop trigger fails on search_segment');
    catches_up($server);
    is wrong($server), '', '... and afterwards it is made, exactly';
}


sub status {
    my ($nginx) = @_;
    return $nginx->get('/status', raw_path => 1)->json;
}


# waits until all of them are indexed, though nobody waits for his turn
sub catches_up {
    my (@guilds) = @_;

    wait_for {
        sql(q(update search_head set taken_to = null));
        sql(q(update keeper_parked set until = now()));
        !grep { tail($_) >= 1024 } @guilds;
    } 60, 'the rest is indexed';
    settled(@guilds);
}


# waits until the worker's statement waits for a lock; the process
sub stuck {
    my ($statement) = @_;

    return wait_for { sql(q(select pid from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()
        and query ~ ?), $statement) } 30, "$statement waits";
}


# nothing else asks what search_tail() does
sql('create table wall ()');
sql(q(create or replace function search_may(token text, guild bigint)
    returns boolean language plpgsql stable as $$
    begin
        perform from wall;
        return true;
    end $$));


# a worker is killed at each of its statements, and its connection with it or
# not; it is frozen for five minutes, and another machine does its work

for my $at (['search_job', 'keeper_parked', 'access exclusive'],
    ['search_tail', 'wall', 'access exclusive'],
    ['search_put', 'search_segment', 'share'])
{
    my ($statement, $table, $mode) = @$at;

    my $fails = sub {
        my ($how, $harm) = @_;
        my $server = server();
        settled($server);
        $admin->begin_work;
        $first->frozen(sub {
            record($server, 1500);
            $admin->do("lock table $table in $mode mode");
        });
        $harm->(stuck($statement), $server);
        $admin->rollback if !$admin->{AutoCommit};
        catches_up($server);
        is wrong($server), '', "$how in $statement, nothing is missing";
    };

    $fails->('killed', sub { $first->signal('KILL', $first->workers) });
    $fails->('killed, and its connection,', sub {
        $first->signal('KILL', $first->workers);
        sql('select pg_terminate_backend(?)', $_[0]);
    });
    $fails->('its connection lost', sub {
        sql('select pg_terminate_backend(?)', $_[0]);
    });

    # a job that was not given back would be nobody's for two minutes
    $fails->('told to leave', sub {
        my ($pid, $server) = @_;
        my @workers = $first->workers;
        $first->reload(nowait => 1);
        wait_for { $first->leaving(@workers) } 30, 'it is told';
        $admin->rollback;
        wait_for { tail($server) < 1024 } 60, 'the next worker does it';
    });
    $fails->('frozen', sub {
        my ($pid, $server) = @_;
        my @workers = $first->workers;
        $first->signal('STOP', @workers);
        $admin->rollback;
        wait_for { sql(q(select count(*) from pg_stat_activity where pid = ?
            and wait_event_type = 'Client'), $pid) } 30,
            'the statement has run';
        $clock->set($ahead += 300);
        $second->start;
        wait_for { tail($server) < 1024 } 60, 'another machine does it';
        settled($server);
        is wrong($server), '', 'another machine does it meanwhile';
        $second->stop;
        $first->signal('CONT', @workers);
    });
}


# two machines at once

{
    my @crowd = map { server() } 1 .. 12;
    settled(@crowd);
    $first->frozen(sub {
        record($_, 1100 + 200 * $_ % 1000) for (@crowd) x 3;
        $second->start;
        ok wait_for { status($second)->{statement_seconds}{search_put}{count} },
            'another machine begins with many servers';
    });
    settled(@crowd);
    is join(' ', tail_over(@crowd)), '', 'two machines index all servers';
    is wrong(@crowd), '', '... each entry once';
}


sub tail_over { return grep { tail($_) >= 1024 } @_ }


# a day that is over, in parts

{
    my $whole = server();
    settled($whole);
    my $today = sql('select day_low(day_of(time_id(ms(now()))))');
    for (1 .. 18) {
        record($whole, 1100, now() - 2 * HOUR);
        settled($whole);
    }
    my $runs = () = segments($whole) =~ /\d+/g;
    cmp_ok $runs, '>', 10, 'a day comes in many runs';
    $clock->set(86_400 + 7200);
    sql('update search_head set due_at = now()');
    wait_for { segments($whole) =~ /16384/ } 60, 'the day is made whole';
    settled($whole);
    is wrong($whole), '', 'a day that is over is indexed once more, exactly';
    is sql('select count(*) from search_segment where guild_id = ?
        and not whole', $whole), 0, '... whole';
    is sql('select count(*) from search_segment where day < 0'), 0,
        '... nothing of its parts is left';
}


# a reload, and the end, in the middle of the past

{
    my $long = server(bare => 1);
    record($long, 3000, now() - $_ * DAY) for 0 .. 8;
    $first->keeper_is_due;
    for (1 .. 3) {
        wait_for { sql('select count(*) from search_head
            where guild_id = ? and format > 0', $long) } 30, 'it has begun';
        $first->reload;
    }
    catches_up($long);
    is wrong($long), '', 'a reload loses nothing';
}

done_testing;
