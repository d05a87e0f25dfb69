# "Entries older than 30 days (plus a day of grace) go away by whole days.  What
# is derived from an entry goes with it, within the same day": an hour after a
# day is past keeping nothing of its entries is in any table.

use lib 't/lib';
use Guildlog;
use Guildlog::Clock;
use Guildlog::Cluster;
use File::Temp qw(tempdir);

use constant { DAY => 86_400 };

my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my $clock   = Guildlog::Clock->new($dir);
my $cluster = Guildlog::Cluster->new(env => $clock->env);

# the day of the entries begins: the next Monday, with a whole week behind it
my $midnight = DAY * (1 + int time / DAY);
$midnight += DAY while $midnight / DAY % 7 != 4;

$clock->set($midnight + 0.5 * DAY - time);

my $g = Guildlog->new(cluster => $cluster, start => 0,
    keeper => 'on interval=20ms hours=0-24');
my %plan = (1 => 'pro', 2 => 'free');


sub sql { return $g->sql(@_) }


# it is so many seconds after that; a statement under way would time out
sub set {
    my ($at) = @_;

    $g->frozen(sub {
        wait_for { !sql(q(select count(*) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()
              and backend_type = 'client backend'
              and wait_event_type is distinct from 'Client')) } 30,
            'no statement is under way';
        $clock->set($midnight + $at - time);
    });
    return;
}


# entries that say it in all that they have
sub record {
    my ($guild, $word, $at, $n) = @_;

    sql(q(select record(?::bigint, 0::smallint, jsonb_agg(?::jsonb
        || jsonb_build_object('event_id', gen_random_uuid(), 'type', 7,
            'timestamp', ?::bigint + i))) from generate_series(1, ?) i),
        $guild, json->encode({
            executor => { id => '200000000000000001', name => "$word did" },
            target   => { id => '200000000000000002', name => "$word had" },
            channel  => { id => '200000000000000003', name => "in $word" },
            map({ $_ => "a $word" } qw(role name reason content contentAfter)),
        }), ($midnight + $at) * 1000, $n);
    return;
}


# all turns of the keeper that begin from now on, until it has nothing to do
sub kept {
    my $from = sql('select clock_timestamp()');
    wait_for {
        $g->keeper_is_due;
        !sql(q(select count(*) from keeper_tasks() t
            left join keeper k on k.task = t.task
                and k.done_at - k.took_us * interval '1 us' > ?::timestamptz
            where k.task is null), $from)
            && !sql('select count(*) from keeper where errors > 0');
    } 60, 'the keeper comes to an end';
    return;
}


# the tables that have a text anywhere in a row, also as bytes
sub stands {
    my ($word) = @_;

    my $bytes = unpack 'H*', lc $word;
    return join ' ', grep {
        sql("select 1 from $_ x where x::text ~* ? limit 1", "$word|$bytes")
    } map { $_->[0] } $g->sql(q(
        select c.relname from pg_class c
         where c.relnamespace = 'guildlog'::regnamespace
           and c.relkind in ('r', 'p') and not c.relispartition order by 1));
}


sql('insert into server (guild_id, plan) values (?, ?)', $_, $plan{$_})
    for 1, 2;
record($_, 'quetzal', 3600, 300) for 1, 2;
record(1, 'axolotl', DAY + 3600, 300);
$g->start;
set(1.6 * DAY);
kept();
wait_for { sql('select count(*) from search_segment') >= 2 } 30, 'an index';
like stands('quetzal'), qr/log_arrival.*log_block.*search_segment/,
    'entries arrive, are in blocks, and indexed';

for my $day (2 .. 30) {
    set(($day + 0.1) * DAY);
    kept();
    record(1, 'quetzal', 7200, 10) if $day == 20;
    record(2, 'okapi', $day * DAY, 100) if $day == 3;
}

is sql('select count(*) from partitions($$log_arrival$$)
    where high < now() - interval $$75 hours$$'), 0,
    'of what arrived some days are kept';
is sql('select count(*) from entries where guild_id = 2 and doc ~ ?', 'quetzal'),
    0, 'of a plan that shows an hour only the last days are';

set(32 * DAY - 7200);
kept();
is sql('select count(*) from entries where doc ~ ?', 'quetzal'), 310,
    'before its day is past keeping every entry is there';
is sql('select sum(v >> 7) from log_day d
    cross join lateral unnest(d.counts::bigint[]) v where guild_id = 1'), 610,
    '... and counted';

set(32 * DAY + 3000);
kept();
is stands('quetzal'), '', 'an hour later nothing of them is in any table';
is sql('select count(*) from entries where guild_id = 1'), 300,
    'those of the next day are';
is sql('select count(*) from guildlog.check(1)'), 0, 'and all fits';

set(33 * DAY + 3000);
kept();
is stands('axolotl'), '', 'until an hour after theirs';

done_testing;
