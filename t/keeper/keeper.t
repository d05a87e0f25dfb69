# guildlog_keeper: one worker does the store's housekeeping in steps of "budget"
# entries, once every "interval" while there is nothing to do.  The status page
# shows what each task did last, with or without a database.

use lib 't/lib';
use Guildlog;

use constant HOUR => 3_600_000;


# a store with a server that has that many entries, some hours old
sub with_entries {
    my ($n, %option) = @_;

    my $nginx = Guildlog->new(%option, start => 0);
    $nginx->sql(q(insert into server (guild_id) values (1)));
    $nginx->sql(q(select record(1::bigint, 0::smallint, jsonb_agg(
        jsonb_build_object('event_id', i, 'type', 6, 'timestamp', ?::bigint + i)))
        from generate_series(1, ?) i), time * 1000 - HOUR, $n);
    $nginx->start;
    return $nginx;
}


sub status {
    my ($nginx) = @_;
    return $nginx->get('/status', raw_path => 1)->json;
}


sub steps {
    my ($nginx) = @_;
    return status($nginx)->{statement_seconds}{keeper_step}{count} // 0;
}


# how many entries are in blocks
sub blocks {
    my ($nginx) = @_;
    return scalar $nginx->sql('select coalesce(sum(n), 0) from log_block');
}


# the status page shows the tasks

my $nginx = with_entries(1000, keeper => 'on interval=20ms');
my @tasks = map { $_->[0] } $nginx->sql('select task from keeper_tasks()');

# an advisory lock anybody may take: the keeper has another lock
my $other = DBI->connect('dbi:Pg:host=' . $nginx->cluster->socket_dir
    . ';port=' . $nginx->cluster->port . ';dbname=' . $nginx->dbname, 'guildlog',
    'module', { RaiseError => 1 });
$other->do(q(select pg_advisory_lock(hashtext('guildlog.keeper'))));

ok wait_for { blocks($nginx) > 1000 - 64 }, 'the keeper makes blocks';
ok wait_for {
    my $age = status($nginx)->{keeper_age_seconds};
    join(' ', sort keys %$age) eq join ' ', sort @tasks;
}, 'the status page has every task';

for (qw(keeper_age_seconds keeper_last_seconds keeper_lag
    keeper_errors_total keeper_parked))
{
    my $family = $_;
    my $of = status($nginx)->{$family};
    is join(' ', grep { $of->{$_} !~ /^\d+(\.\d+)?$/ } @tasks), '',
        "$family has a number for each task";
    my $text = $nginx->get('/status?format=prometheus', raw_path => 1)->text;
    is join(' ', grep { $text !~ /^guildlog_$family\{task="$_"\} \d/m }
        @tasks), '', '... in both formats';
}

my $owner = $nginx->cluster->connect($nginx->dbname);
$owner->begin_work;
$owner->do('select from log_made where guild_id = 1 for update');
$nginx->sql(q(select record(1::bigint, 0::smallint, jsonb_agg(
    jsonb_build_object('event_id', 'now' || i, 'type', 6)))
    from generate_series(1, 500) i));
ok wait_for { status($nginx)->{keeper_lag}{blocks} == 500 },
    'the lag of a task is shown';
$nginx->sql(q(update keeper set apart = true, due_at = now()
    where task = 'blocks'));
ok wait_for { !$nginx->sql(q(select apart from keeper where task = 'blocks')) },
    'what another one has in hand fails nothing';
$owner->rollback;
ok wait_for { status($nginx)->{keeper_lag}{blocks} == 0 },
    'the lag is 0 when the task is done';

$nginx->sql(q(create or replace function keeper_requests(budget int,
    out more boolean, out lag bigint) language plpgsql
    as $$ begin raise exception 'no such luck'; end $$));
$nginx->sql(q(update keeper set due_at = now() where task = 'requests'));
ok wait_for { status($nginx)->{keeper_errors_total}{requests} == 1 },
    'a failed step is counted';
like $nginx->error_log,
    qr/\[error\].*task "requests" failed: P0001 no such luck/,
        'a failed step is logged';

$nginx->sql(q(select keeper_park('lanes', 1, 0::smallint, 'a bad row')));
ok wait_for { status($nginx)->{keeper_parked}{lanes} == 1 },
    'a server that a task leaves out is shown';
$nginx->sql('delete from keeper_parked');
ok wait_for { status($nginx)->{keeper_parked}{lanes} == 0 },
    'after that no server is left out';


# the parameters

ok wait_for { steps($nginx) > 100 } 90, 'steps follow each other by the interval';

{
    my $much = with_entries(5120, keeper => 'on budget=512 interval=1h');
    ok wait_for { blocks($much) > 5120 - 64 },
        'a small budget does all the work';
    ok wait_for { steps($much) >= 10 + @tasks - 1 }, '... in small steps';
}

{
    my $off = with_entries(1000, keeper => 'off');
    $nginx->keeper_is_due;
    my $before = steps($nginx);
    ok wait_for { steps($nginx) > $before + 20 }, 'one nginx keeps the store';
    is steps($off), 0, 'the other one, with the keeper off, does not';
    is_deeply status($off)->{keeper_lag}, {}, '... and shows no tasks';
}


# two keepers on one database: each shows what the other did, too

{
    my $second = Guildlog->new(name => 'second', keeper => 'on interval=20ms',
        cluster => $nginx->cluster, dbname => $nginx->dbname);
    ok wait_for {
        keys %{ status($second)->{keeper_age_seconds} } == @tasks;
    }, 'the second nginx shows the same tasks';
}


# the database is down

$nginx->sql(q(update keeper set done_at = now() - interval '1 hour'
    where task = 'expiry'));
ok wait_for { status($nginx)->{keeper_age_seconds}{expiry} >= 3600 },
    'an age is shown';
$nginx->sql(q(revoke execute on function keeper_step from guildlog));
ok wait_for { $nginx->error_log =~ /the keeper's step failed, SQLSTATE 42501/
}, 'a refused step is logged';
my $last = status($nginx)->{keeper_age_seconds}{blocks};
ok wait_for { status($nginx)->{keeper_age_seconds}{blocks} > $last },
    'the last figures stay, and their age grows';

done_testing;
