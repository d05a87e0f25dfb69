# In the "hours" of the night the keeper rewrites closed days.  Nobody who reads
# notices.

use lib 't/lib';
use Guildlog;
use Guildlog::Days;


sub status {
    my ($nginx) = @_;
    return $nginx->get('/status', raw_path => 1)->json;
}


sub steps {
    my ($nginx) = @_;
    return status($nginx)->{statement_seconds}{keeper_step}{count} // 0;
}


# the hours from now plus so many to now plus so many
sub hours { return join '-', map { ((gmtime)[2] + $_) % 24 } @_ }

{
    my $day = Guildlog->new(start => 0,
        keeper => 'on interval=20ms hours=' . hours(2, 23));
    month($day);
    $day->start;
    ok wait_for { (status($day)->{keeper_lag}{rewrite} // 0) >= 7 },
        'by day closed days are not rewritten';
    ok wait_for { steps($day) > 50 }, '... though the keeper takes its steps';
    is scalar $day->sql('select count(*) from log_rewrite'), 0,
        '... no rewrite has begun';

    $day->configure(keeper => 'on interval=20ms hours=' . hours(0, 2));
    $day->reload;
    $day->sql(q(update keeper set due_at = now() where task = 'rewrite'));
    ok wait_for { status($day)->{keeper_lag}{rewrite} == 0 } 60,
        'by night they are rewritten';
    ok wait_for { rewritten($day) } 60, '... into weeks';
}


# Race: a transaction that began before a rewrite and reads the entries after it
# finds them in the old tables.  The rewrite waits for it, but not for later
# ones

{
    my $store = Guildlog->new(start => 0,
        keeper => 'on interval=20ms hours=0-24');
    month($store);
    $store->sql(q(insert into server (guild_id, plan) values (1, 'pro')));
    my $week = $store->sql(q(select id_time(day_id(date_trunc('week',
        today() - 15)::date + 1))));    # of those to be rewritten the oldest
    my $late = sub {
        my ($n) = @_;
        $store->sql(q(select record(1::bigint, 0::smallint, jsonb_agg(
            jsonb_build_object('event_id', gen_random_uuid(), 'type', 6,
                'timestamp', ?::bigint + i))) from generate_series(1, ?) i),
            $week, $n);
    };
    my $count = 'select count(*) from log_entry';
    $late->(50);

    my $early = $store->cluster->connect($store->dbname);
    $early->begin_work;
    $early->do('set transaction isolation level repeatable read');
    $early->do('select from server');
    $store->start;
    ok wait_for { $store->sql('select count(*) from log_rewrite where waits is not
        null') }, 'all is copied';
    is $early->selectrow_array($count), 50,
        'the old transaction misses nothing';

    $late->(7);
    is $store->sql($count), 57, 'entries that come meanwhile are stored';
    is $early->selectrow_array($count), 50, '... for later transactions';
    is scalar(rewritten($store)), 0,
        'the rewrite waits for the old transaction';
    $early->commit;
    ok wait_for { rewritten($store) } 60, 'then the rewrite ends';
    is $store->sql($count), 57, 'no entry is lost';

    # no nginx's keeper may take the steps below
    my $under_way = 'from log_rewrite';
    ok wait_for { !$store->sql("select count(*) + rewrite_waiting()
        $under_way") } 60, '... and so is all that was to be done';
    $store->stop;
    weeks($store);
    $store->sql('select again()');
    $store->sql('select rewrite_step(10)');

    # Race: autovacuum reaches the new table before the step that analyzes it
    my $new = $store->sql("select name $under_way");
    $early->begin_work;
    $early->do("lock table $new in share update exclusive mode");
    my $turns = 0;
    $turns++ while $turns < 20 && $store->sql('select rewrite_step(10)');
    is $store->sql("select step $under_way"), 'fill',
        'the rewrite waits for the vacuum';
    $early->commit;
    $turns = 0;
    $store->sql('select rewrite_step(10)')
        while $turns++ < 20
            && $store->sql("select step $under_way") eq 'fill';
    is $store->sql("select step $under_way"), 'settle', '... until it ends';

    $early->begin_work;
    $early->do('select rewrite_step(10)');
    ok !eval { $store->sql('select rewrite_step(10)'); 1 },
        'of two steps at once';
    like $@, qr/lock timeout/, '... the second gives up';
    $early->commit;
}

done_testing;
