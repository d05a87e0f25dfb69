package Guildlog::Bench::Growth;

# a month of 2,000 servers (zipf; the largest has 12 %) at each of
# --sizes entries: pages of 100 with exact counts, of entries
# drawn at random, beside the bare select, in days as recorded and
# in weeks as rewritten; what the keeper's steps do a second, what
# they cost readers, what is stored once all of it was done thrice

use strict;
use warnings;
use utf8;

use POSIX ();
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Days;
use Guildlog::Zipf;

use constant {
    FIRST   => 500_000_000_000_000_000,
    SERVERS => 2000,
    CHUNK   => 100_000,
    PAGES   => 400,
};

my %statement = (
    'whole' => q(select id, more, status, reason, channel_id, message_id, doc
        from guildlog.logs_plain('t' || $1::text, $1::bigint, 0::smallint,
        1::smallint, null, null, 100, null)),
    'bare' => q(select id, doc from guildlog.log_entry
        where guild_id = $1::bigint and bot = 0 order by id desc limit 100),
);


sub run {
    for my $size (split /,/, option('sizes')) {
        my $nginx = start(start => 0, cluster => Guildlog::Cluster->new);
        line("$size entries", '', '', '', '');
        month($nginx);
        servers($nginx);
        fill($nginx, $size);
        vacuum($nginx);
        keep($nginx, 'checkpoints', $size);
        pages($nginx, 'days');
        cold($nginx, 'days');

        my $before = stored($nginx);
        keep($nginx, 'rewrite', $size);
        vacuum($nginx);
        pages($nginx, 'weeks');
        cold($nginx, 'weeks');
        figure('bytes an entry, days', $before / $size);
        figure('bytes an entry, weeks', stored($nginx) / $size);
        figure('checkpoints of that', size_of($nginx, 'log_checkpoint')
            / $size);
        company($nginx);
        again($nginx);
        keep($nginx, 'rewrite', $size);
        vacuum($nginx);
        figure('bytes an entry, rewritten again', stored($nginx) / $size);
        Guildlog::Cluster->clean_up;
    }
}


sub figure {
    my ($what, $value) = @_;
    line("  $what", sprintf($value < 10 ? '%.2f' : '%.0f', $value), '', '',
        '');
}


# of the Pro plan, each with a token and a lane
sub servers {
    my ($nginx) = @_;

    my ($first, $last) = (FIRST, FIRST + SERVERS - 1);
    $nginx->sql("insert into server (guild_id, plan)
        select g, 'pro' from generate_series($first, $last) g");
    $nginx->sql("insert into token select g, 't' || g, 0, 1, 1, now(),
        now() + interval '1 day' from generate_series($first, $last) g");
    $nginx->sql("insert into lane (guild_id, lane, bot, channel_id, shard,
        state) select g, 1, 0, 10, 0, 'active'
        from generate_series($first, $last) g");
    $nginx->sql("insert into lane_tail select g, 1, 0
        from generate_series($first, $last) g");
    $nginx->sql("insert into lane_head (guild_id, lane) select g, 1
        from generate_series($first, $last) g");
    return;
}


# As they would have come: in the order of time, the servers mixed, delivered
# ten a message. Recording itself is another benchmark's; here rows are copied
# from 2,000 that were recorded.
sub fill {
    my ($nginx, $size) = @_;

    my $guild = FIRST - 1;
    $nginx->sql('insert into server (guild_id) values (?)', $guild);
    $nginx->sql('select record(?::bigint, 0::smallint, (?::text)::jsonb)',
        $guild, '[' . Guildlog::Zipf::entries(2000, 'e') . ']');
    $nginx->sql(q(create table sample as select (row_number() over ())::int
        as n, e.executor_id, e.target_id, e.channel_id, e.type, e.role,
        substr(e.doc, strpos(e.doc, ',"type"')) as rest
        from log_entry e where e.guild_id = ?), $guild);
    $nginx->sql('create unique index on sample (n)');

    my $start = int(time * 1000) - 30 * 86_400_000 + 600_000;
    my $step  = 30 * 86_400_000 / $size;

    for (my $at = 0; $at < $size; $at += CHUNK) {
        my $to = $at + CHUNK < $size ? $at + CHUNK : $size;
        $nginx->sql(sprintf(<<'SQL', SERVERS, FIRST, $start, $step, $at, $to));
            insert into log_entry (guild_id, id, arrival, executor_id,
                target_id, channel_id, lane, seq, dchannel_id, bot, type,
                role, doc)
            select x.guild, x.id, x.i, s.executor_id, s.target_id,
                   s.channel_id, 1, x.i, 10, 0, s.type, s.role,
                   '{"id":"' || x.id || '"' || s.rest
              from (select i, floor(%d ^ random())::bigint - 1 + %d as guild,
                           (time_id(%d + (i * %f)::bigint))
                               | (i & 262143) as id
                      from generate_series(%d + 1, %d) i) x
              join sample s on s.n = x.i %% 2000 + 1
SQL
    }

    $nginx->sql(q(insert into lane_batch (guild_id, lane, seq_from, seq_to,
        message_id, done_at, attempts, status)
        select guild_id, 1, min(seq), max(seq), max(id),
               to_timestamp(id_time(max(id)) / 1000.0), 1, 2
          from (select e.guild_id, e.seq, e.id, (row_number() over (
                    partition by e.guild_id order by e.seq) - 1) / 10 as m
                  from log_entry e where e.lane = 1) e
         group by guild_id, m));
    $nginx->sql('update lane_head h set head = t.n, upto = t.n
        from (select guild_id, max(seq) as n from log_entry where lane = 1
        group by 1) t where t.guild_id = h.guild_id');
    $nginx->sql('insert into log_head (guild_id, bot, arrival)
        select guild_id, 0, count(*) from log_entry where lane = 1
        group by 1');
    return;
}


# the steps of a task, as the keeper would do them, one after the other
sub keep {
    my ($nginx, $task, $size) = @_;

    my $dbh  = $nginx->cluster->connect($nginx->dbname);
    my $turn = $dbh->prepare("select more, lag from keeper_$task(20000)");
    my ($spent, $cpu, $longest, $steps) = (0, backend_cpu($dbh), 0, 0);
    my ($more, $lag) = (1, 1);

    while ($more || $lag) {
        my $at = time;
        $turn->execute;
        ($more, $lag) = $turn->fetchrow_array;
        $turn->finish;
        $longest = time - $at if $longest < time - $at;
        $spent += time - $at;
        $steps++;

        # what autovacuum does
        if (!$more && $task eq 'rewrite') {
            vacuum($nginx);
            $lag = $nginx->sql(q(select count(*) from log_rewrite
                where step <> 'done')) || $lag;
        }
        last if !$more && $task eq 'checkpoints';
    }
    figure("$task, entries a second", $size / $spent);
    figure("$task, CPU µs an entry", (backend_cpu($dbh) - $cpu) / $size);
    figure("$task, longest step of $steps, ms", $longest * 1000);
    $dbh->disconnect;
    return;
}


# readers alone, and with a keeper that works and rests in turn
sub company {
    my ($nginx) = @_;

    my (@idle, @at_work);
    for (1 .. option('rounds')) {
        push @idle, p99($nginx);
        my $pid = keeper($nginx);
        push @at_work, p99($nginx);
        kill 'TERM', $pid;
        waitpid $pid, 0;
    }
    line('  p99 µs of a reader, keeper at work / idle',
        map({ sprintf '%.0f', median(@$_) } \@at_work, \@idle),
        sprintf('%.2f', median(@at_work) / median(@idle)), '');
    return;
}


sub p99 {
    my ($nginx) = @_;

    my $dbh   = reader($nginx);
    my $page  = $dbh->prepare($statement{whole});
    my $until = time + option('seconds');
    my @took;
    while (time < $until) {
        push @took, timed($dbh, $page, FIRST + int(SERVERS ** rand) - 1)->{p50};
    }
    $page->finish;
    $dbh->disconnect;
    @took = sort { $a <=> $b } @took;
    return $took[0.99 * $#took];
}


sub keeper {
    my ($nginx) = @_;

    defined(my $pid = fork) or die "fork: $!\n";
    return $pid if $pid;

    my $ends = 0;
    local $SIG{TERM} = sub { $ends = 1 };
    my $dbh = $nginx->cluster->connect($nginx->dbname);
    while (!$ends) {
        my $at = time;
        $dbh->do('select keeper_rewrite(20000)');
        $dbh->do(q(update log_rewrite
            set begun_at = now() - interval '60 days' where step = 'done'));
        sleep time - $at;
    }
    POSIX::_exit(0);
}


# as if nothing had been rewritten
sub again {
    my ($nginx) = @_;

    $nginx->sql(q(update log_rewrite
        set begun_at = now() - interval '60 days' where step = 'done'));
    return;
}


sub vacuum {
    my ($nginx) = @_;

    my $admin = $nginx->cluster->connect($nginx->dbname, 'postgres');
    $admin->do('vacuum analyze');
    $admin->do('checkpoint');
    $admin->disconnect;
    return;
}


# as the module asks: prepared once, one plan for all
sub reader {
    my ($nginx) = @_;

    my $dbh = $nginx->cluster->connect($nginx->dbname);
    $dbh->do('set plan_cache_mode = force_generic_plan');
    $dbh->do('set jit = off');
    return $dbh;
}


# of the server of an entry drawn at random, and of the largest
sub pages {
    my ($nginx, $layout) = @_;

    srand 1;
    my @mixed = map { FIRST + int(SERVERS ** rand) - 1 } 1 .. PAGES;

    for ([mixed => @mixed], [largest => (FIRST) x PAGES]) {
        my ($which, @guilds) = @$_;
        my %took = map {
            my $name = $_;
            my $dbh  = reader($nginx);
            my $page = $dbh->prepare($statement{$name});
            timed($dbh, $page, @guilds) for 1 .. 2;
            my $took = timed($dbh, $page, @guilds);
            $page->finish;
            $dbh->disconnect;
            ($name => $took);
        } sort keys %statement;

        line("  page, $layout, $which, p50 µs",
            map({ sprintf '%.0f', $took{$_}{p50} } qw(whole bare)),
            sprintf('%.2f', $took{bare}{p50} / $took{whole}{p50}),
            sprintf 'CPU %.0f / %.0f', map { $took{$_}{cpu} } qw(whole bare));
    }
    return;
}


# µs: the median, and what the backend's CPU did for each
sub timed {
    my ($dbh, $page, @guilds) = @_;

    my @took;
    my $cpu = backend_cpu($dbh);
    for my $guild (@guilds) {
        my $at = time;
        $page->execute($guild);
        $page->fetchall_arrayref;
        push @took, (time - $at) * 1e6;
    }
    return {
        p50 => median(@took),
        cpu => (backend_cpu($dbh) - $cpu) / @guilds,
    };
}


# after a restart, with nothing of its files in memory; each server once
sub cold {
    my ($nginx, $layout) = @_;

    my $data = "$nginx->{cluster}{dir}/data";
    delete $nginx->{dbh};
    $nginx->cluster->stop;
    system('find', "$data/base", '-type', 'f', '-exec', 'dd', 'if={}',
        'iflag=nocache', 'count=0', 'status=none', ';') == 0
        or die "the files stay in memory\n";
    $nginx->cluster->start;

    my $dbh  = reader($nginx);
    my $page = $dbh->prepare($statement{whole});
    timed($dbh, $page, FIRST + SERVERS - 1);

    my $read = blocks($dbh);
    my $took = timed($dbh, $page, map { FIRST + 10 + 7 * $_ } 1 .. 100);
    my $more = blocks($dbh) - $read;
    $dbh->disconnect;
    figure("page, $layout, cold, p50 µs", $took->{p50});
    figure("page, $layout, cold, blocks", $more / 100);
    return;
}


sub blocks {
    my ($dbh) = @_;

    $dbh->do('select pg_stat_force_next_flush()');
    $dbh->do('select pg_stat_clear_snapshot()');
    return ($dbh->selectrow_array('select blks_read from pg_stat_database
        where datname = current_database()'))[0];
}


# all that is kept of entries
sub stored {
    my ($nginx) = @_;

    return size_of($nginx, 'log_entry') + size_of($nginx, 'log_checkpoint')
        + size_of($nginx, 'lane_batch');
}


sub size_of {
    my ($nginx, $table) = @_;

    return scalar $nginx->sql(q(select pg_total_relation_size(
        format('guildlog.%I', ?::text)::regclass) + coalesce(sum(
        pg_total_relation_size(i.inhrelid)), 0) from pg_inherits i
        where i.inhparent = format('guildlog.%I', ?::text)::regclass),
        $table, $table);
}


1;
