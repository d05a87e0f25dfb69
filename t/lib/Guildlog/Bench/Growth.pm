package Guildlog::Bench::Growth;

# a month of 2,000 servers (zipf; the largest has 12 %) at each of
# --sizes entries, each day as the keeper leaves it in the morning:
# pages of 100 with exact counts, of entries drawn at random and of
# the largest server, in PostgreSQL, of one size beside another and
# beside the bare select; the same cold, after a restart; what is
# stored, what the keeper's steps take and cost readers

use strict;
use warnings;
use utf8;

use File::Spec;
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Command;
use Guildlog::Zipf;

use constant {
    FIRST => 500_000_000_000_000_000,
    DAYS  => 30,
};

my ($servers, $pages) = (2000, 400);

my %statement = (
    whole => q(select n, what, types, doc, said from guildlog.logs_pieces(
        't' || $1::text, $1::bigint, 0::smallint, 1::smallint, null, null,
        null, null, 100, null, null, true)),
    bare => q(select id, doc from guildlog.plain
        where guild_id = $1::bigint and bot = 0 order by id desc limit 100),
    past => q(select n, what, types, doc, said from guildlog.logs_pieces(
        't' || $1::text, $1::bigint, 0::smallint, 1::smallint, null,
        guildlog.ms(now() - interval '20 days'), null, null, 100, null, null,
        true)),
    past_bare => q(select id, doc from guildlog.plain
        where guild_id = $1::bigint and bot = 0
          and id < guildlog.time_id(guildlog.ms(now() - interval '20 days'))
        order by id desc limit 100),
);


sub run {
    my @sizes  = sort { $a <=> $b } split /,/, option('sizes');
    ($servers, $pages) = (100, 40) if option('smoke');
    my @stores = map { store($_) } @sizes;

    for my $which ('drawn at random', 'of the largest server') {
        beside_bare($_, $which, qw(whole bare)) for @stores;
        one_beside_another($which, @stores) if @stores > 1;
    }
    beside_bare($_, 'of 20 days ago, of the largest server,',
        qw(past past_bare)) for @stores;
    cold(@stores);
    company($stores[0]);
}


# {nginx, size, text}, all of the keeper's work done
sub store {
    my ($size) = @_;

    my @where = option('store') ? kept($size) : ();
    my $nginx = start(start => 0, keeper => 'on interval=20ms', @where);
    my $store = { nginx => $nginx, size => $size,
        text => Guildlog::Figures::number($size) };
    make($store) if !$nginx->sql(q(select to_regclass('growth_filled')));
    # what a run before may have left
    keep($store, 'blocks', { turns => [] });
    vacuum($nginx);
    return $store;
}


my $cluster;

# a database that stays, in the folder that was named
sub kept {
    my ($size) = @_;

    $cluster ||= Guildlog::Cluster->new(
        dir => File::Spec->rel2abs(option('store')));
    return cluster => $cluster, dbname => $cluster->database("growth_$size"),
        stays => 1;
}


sub make {
    my ($store) = @_;

    my ($nginx, $size) = @$store{qw(nginx size)};

    servers($nginx);
    sample($nginx);
    partitions($nginx);

    my $start = int(time * 1000) - DAYS * 86_400_000;
    my %cost  = map { $_ => { turns => [] } } qw(blocks settle expiry);
    my $least = 0;

    for my $day (1 .. DAYS) {
        my ($from, $to) = map { int($size * $_ / DAYS) } $day - 1, $day;
        fill($nginx, $from, $to, $start, DAYS * 86_400_000 / $size);
        $least += least($nginx) if $day == DAYS;

        # those of which less than a block came since the day before, too
        $nginx->sql('update log_head set due_at = now()
            where arrival > blocked');
        keep($store, 'blocks', $cost{blocks});
        gone($nginx, $start + $day * 86_400_000);
    }
    vacuum($nginx);
    keep($store, $_, $cost{$_}) for qw(settle expiry);
    vacuum($nginx);

    costs($store, 'blocks', 'copying such rows', $least, $cost{blocks});
    costs($store, 'settle', 'making the blocks',
        $cost{blocks}{cpu} / $size, $cost{settle});
    costs($store, 'expiry', 'making the blocks',
        $cost{blocks}{cpu} / $size, $cost{expiry});

    my $doc = $nginx->sql('select avg(octet_length(doc)) from (select doc from
        plain limit 20000) e');
    once { [stored($nginx) / $size, $doc] } "bytes an entry of $store->{text}, "
        . 'all that is kept for a month, with three days of what arrived; its '
        . 'document alone';
    indexed($store);
    once { [stored($nginx) / $size, $doc] } "bytes an entry of $store->{text} "
        . 'with the index of searches of all servers; its document alone';
    $nginx->sql('create table growth_filled ()');
    return;
}


# what arrived more than three days before, as the keeper takes it away
sub gone {
    my ($nginx, $now) = @_;

    $nginx->sql(q(select partitions_take('log_arrival', array[p.name])
        from partitions('log_arrival') p
        where p.high <= to_timestamp(? / 1000.0) - interval '3 days'), $now);
    return;
}


# by nginx, as of servers that had no index
sub indexed {
    my ($store) = @_;

    my ($nginx, $size) = @$store{qw(nginx size)};
    once {
        my $before = postgres_cpu($nginx);
        $nginx->sql('select search_give(h.guild_id, h.bot) from log_head h');
        $nginx->start;
        sleep 1 while $nginx->sql(q(select count(*) from log_head h
            join server s on s.guild_id = h.guild_id and s.plan = 'pro'
            left join search_head x on x.guild_id = h.guild_id and x.bot = h.bot
            where coalesce(x.due_at <= now() or x.taken_to is not null, true)));
        my @us = map { $_ / $size * 1e6 } postgres_cpu($nginx) - $before,
            cpu($nginx);
        $nginx->stop;
        [@us];
    } "the index of $store->{text} of a past, PostgreSQL's CPU, µs an entry; "
        . "nginx's";
    vacuum($nginx);
    return;
}


# of the Pro plan, each with a token and a lane
sub servers {
    my ($nginx) = @_;

    my ($first, $last) = (FIRST, FIRST + $servers - 1);
    $nginx->sql("insert into server (guild_id, plan)
        select g, 'pro' from generate_series($first, $last) g");
    $nginx->sql("insert into token select g, 't' || g, 0, 1, 1, now(),
        now() + interval '1 year' from generate_series($first, $last) g");
    $nginx->sql("insert into lane (guild_id, lane, bot, channel_id, shard,
        state) select g, 1, 0, 10, 0, 'active'
        from generate_series($first, $last) g");
    $nginx->sql("insert into log_head (guild_id, bot) select g, 0
        from generate_series($first, $last) g");
    $nginx->sql("insert into lane_tail select g, 1, 0
        from generate_series($first, $last) g");
    $nginx->sql("insert into lane_head (guild_id, lane) select g, 1
        from generate_series($first, $last) g");
    return;
}


# Recording itself is another benchmark's; here rows are copied from 2,000 that
# were recorded.
sub sample {
    my ($nginx) = @_;

    my $guild = FIRST - 1;
    $nginx->sql('insert into server (guild_id) values (?)', $guild);
    $nginx->sql('select record(?::bigint, 0::smallint, (?::text)::jsonb)',
        $guild, '[' . Guildlog::Zipf::entries(2000, 'e') . ']');
    $nginx->sql(q(create table sample as select (row_number() over ())::int
        as n, a.type, substr(a.doc, strpos(a.doc, ',"type"')) as rest
        from log_arrival a where a.guild_id = ?), $guild);
    $nginx->sql('create unique index on sample (n)');
    $nginx->sql('create table plain (guild_id bigint, bot smallint, id bigint,
        doc text)');
    $nginx->sql('create unique index on plain (guild_id, bot, id)');
    return;
}


# of the days and weeks that the schema has not made itself
sub partitions {
    my ($nginx) = @_;

    for my $parent ([log_arrival => 1], [lane_batch => 7]) {
        my ($name, $days) = @$parent;
        $nginx->sql("drop table ${name}_past");
        $nginx->sql(<<'SQL', $name, $days, DAYS);
            with p as (
                select x.parent, x.days,
                       min(q.low at time zone 'UTC')::date as low
                  from (select ?::text as parent, ?::int as days) x
                 cross join lateral partitions(x.parent) q
                 group by 1, 2
            )
            select partition_make(p.parent, p.low - n * p.days,
                                  p.low - (n - 1) * p.days)
              from p, generate_series(1, ?::int / p.days + 1) n
SQL
    }
    return;
}


# As they would have come: in the order of time, the servers mixed, delivered
# ten a message.
sub fill {
    my ($nginx, $from, $to, $start, $step) = @_;

    $nginx->sql(sprintf(<<'SQL', $from, $servers, FIRST, $start, $step, $to));
        with x as materialized (
            select i, g as guild, (time_id(%4$d + (i * %5$f)::bigint))
                       | (i & 262143) as id,
                   row_number() over (partition by g order by i) as n
              from (select i, floor(%2$d ^ random())::bigint - 1 + %3$d as g
                      from generate_series(%1$d + 1, %6$d) i) d
        ), head as (
            update log_head h
               set arrival = h.arrival + c.n, turn = turn_of(h.arrival + c.n),
                   last_at = to_timestamp(id_time(c.last) / 1000.0)
              from (select guild, count(*) as n, max(id) as last
                      from x group by 1) c
             where h.guild_id = c.guild and h.bot = 0
            returning h.guild_id, h.arrival
        ), arrived as (
            insert into log_arrival (guild_id, arrival, recorded_at, id, lane,
                seq, dchannel_id, bot, type, event_id, doc)
            select x.guild, h.arrival - c.n + x.n,
                   to_timestamp(id_time(x.id) / 1000.0), x.id, 1,
                   h.arrival - c.n + x.n, 10, 0, s.type, 'e' || x.i,
                   '{"id":"' || x.id || '"' || s.rest
              from x
              join head h on h.guild_id = x.guild
              join (select guild, count(*) as n from x group by 1) c
                on c.guild = x.guild
              join sample s on s.n = x.i %% 2000 + 1
             order by x.i
            returning guild_id, bot, id, seq, doc
        ), bare as (
            insert into plain
            select guild_id, bot, id, doc from arrived
        ), sent as (
            insert into lane_batch (guild_id, lane, seq_from, seq_to,
                message_id, done_at, attempts, status)
            select guild_id, 1, min(seq), max(seq), max(id),
                   to_timestamp(id_time(max(id)) / 1000.0), 1, 2
              from (select a.*, (row_number() over (
                        partition by a.guild_id order by a.seq) - 1) / 10 as m
                      from arrived a) a
             group by guild_id, m
        ), tails as (
            update lane_tail t set tail = h.arrival from head h
             where t.guild_id = h.guild_id
        )
        update lane_head l set head = h.arrival, upto = h.arrival from head h
         where l.guild_id = h.guild_id
SQL
    return;
}


# all turns of a task, as the keeper would do them, one after the other
sub keep {
    my ($store, $task, $cost) = @_;

    my $dbh    = reader($store->{nginx});
    my $turn   = $dbh->prepare("select more from keeper_$task(20000)");
    my $began  = backend_cpu($dbh);
    my $before = $began;
    my $more   = 1;

    while ($more) {
        $turn->execute;
        ($more) = $turn->fetchrow_array;
        $turn->finish;
        my $now = backend_cpu($dbh);
        push @{ $cost->{turns} }, ($now - $before) / 1000;
        $before = $now;
    }
    $cost->{cpu} += $before - $began;
    $dbh->disconnect;
    return;
}


sub costs {
    my ($store, $task, $beside, $least, $cost) = @_;

    my @turns = sort { $a <=> $b } @{ $cost->{turns} };
    once { [$cost->{cpu} / $store->{size}, $least] }
        "the keeper's $task of $store->{text}, CPU µs an entry; $beside";
    once { [$turns[-1], median(@turns)] }
        '  the longest of ' . @turns . ' turns, CPU ms; the median';
    return;
}


# CPU µs an entry of copying what is in no block yet, in the order of blocks
sub least {
    my ($nginx) = @_;

    my $dbh = reader($nginx);
    $dbh->do('create temp table copy (like log_arrival including all)');
    my $cpu = backend_cpu($dbh);
    my $n   = $dbh->do('insert into copy select a.* from log_head h
        join log_arrival a using (guild_id, bot) where a.arrival > h.blocked
        order by a.guild_id, a.bot, a.id limit 200000');
    my $least = (backend_cpu($dbh) - $cpu) / $n;
    $dbh->disconnect;
    return $least;
}


# readers alone, and with a keeper that makes blocks and rests in turn
sub company {
    my ($store) = @_;

    my $nginx = $store->{nginx};
    my $days  = 0;

    figures {
        my $idle = reads($nginx);
        my $from = $store->{size} + 100_000 * $days++;
        fill($nginx, $from, $from + 100_000,
            int(time * 1000) - $from - 100_000, 1);
        my $pid = spawn(sub { blocks_made($nginx) });
        my $beside = reads($nginx);
        kill 'KILL', $pid;
        waitpid $pid, 0;
        keep($store, 'blocks', { turns => [] });
        [$beside, $idle];
    } "p99 of such pages of $store->{text} while blocks are made, µs; without";
    return;
}


sub reads {
    my ($nginx) = @_;

    my $dbh   = reader($nginx);
    my $page  = $dbh->prepare($statement{whole});
    my $until = time + option('seconds');
    my @took;
    do {
        push @took, timed($dbh, $page, drawn())->{p50};
    } while time < $until;
    $dbh->disconnect;
    return p99(@took);
}


sub blocks_made {
    my ($nginx) = @_;

    my $dbh = reader($nginx);
    $dbh->do('update log_head set due_at = now() where arrival > blocked');
    while (1) {
        my $at = time;
        $dbh->selectrow_array('select more from keeper_blocks(20000)');
        sleep time - $at;
    }
}


sub vacuum {
    my ($nginx) = @_;

    admin($nginx, 'vacuum analyze');
    admin($nginx, 'checkpoint');
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


# the server of an entry drawn at random
sub drawn { return FIRST + int($servers ** rand) - 1 }


sub guilds {
    my ($which) = @_;

    srand 1;
    return map { $which =~ /largest/ ? FIRST : drawn() } 1 .. $pages;
}


sub beside_bare {
    my ($store, $which, @names) = @_;

    my @guilds = guilds($which);
    figures {
        my ($whole, $bare) = map { page($store, $_, @guilds) } @names;
        [@{$whole}{p50}, $bare->{p50}], [$whole->{cpu}, $bare->{cpu}];
    } map { "a page $which of $store->{text}, $_; the bare select" }
        'p50 µs in PostgreSQL', 'CPU µs';
    return;
}


sub one_beside_another {
    my ($which, @stores) = @_;

    my ($small, @larger) = @stores;
    my @guilds = guilds($which);

    for my $large (@larger) {
        figures {
            my ($it, $other) = map { page($_, 'whole', @guilds) }
                $large, $small;
            [$it->{p50}, $other->{p50}], [$it->{cpu}, $other->{cpu}];
        } map { "a page $which of $large->{text}, $_; of $small->{text}" }
            'p50 µs in PostgreSQL', 'CPU µs';
    }
    return;
}


# warm
sub page {
    my ($store, $name, @guilds) = @_;

    my $dbh  = reader($store->{nginx});
    my $page = $dbh->prepare($statement{$name});
    timed($dbh, $page, @guilds);
    my $took = timed($dbh, $page, @guilds);
    $dbh->disconnect;
    return $took;
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


# after a restart, with nothing of its files in memory (a smoke tries one of
# them); each server once
sub cold {
    my (@stores) = @_;

    my @guilds = map { FIRST + 10 + int($_ * $servers / 300) } 1 .. 100;

    for my $store (@stores) {
        figures {
            my ($whole, $bare) = map {
                restart(map { $_->{nginx} } @stores);
                my $dbh  = reader($store->{nginx});
                my $page = $dbh->prepare($statement{$_});
                timed($dbh, $page, FIRST + $servers - 1);
                my $read = read_blocks($dbh);
                my $took = timed($dbh, $page, @guilds);
                $took->{blocks} = (read_blocks($dbh) - $read) / @guilds;
                $dbh->disconnect;
                $took;
            } qw(whole bare);
            [$whole->{p50}, $bare->{p50}], [$whole->{blocks}, $bare->{blocks}];
        } map { "a cold page of $store->{text}, $_; the bare select" }
            'p50 µs in PostgreSQL', 'blocks read';
    }
    return;
}


sub restart {
    my (@nginx) = @_;

    my $cluster = $nginx[0]->cluster;
    my @dirs = map { "$cluster->{dir}/data/base/" . $_->sql('select oid from
        pg_database where datname = current_database()') } @nginx;
    delete @$_{dbh} for @nginx;
    $cluster->stop;
    command('find', @dirs, '-type', 'f', '-size', '+0', '-exec', 'dd', 'if={}',
        'iflag=nocache', 'count=0', 'status=none', ';',
        option('smoke') ? '-quit' : ()) == 0
        or die "the files stay in memory\n";
    $cluster->start;
    return;
}


sub read_blocks {
    my ($dbh) = @_;

    $dbh->do('select pg_stat_force_next_flush()');
    $dbh->do('select pg_stat_clear_snapshot()');
    return ($dbh->selectrow_array('select blks_read from pg_stat_database
        where datname = current_database()'))[0];
}


# all that is kept of entries for a month
sub stored {
    my ($nginx) = @_;

    return scalar $nginx->sql(q(select sum(pg_total_relation_size(c.oid))
        from pg_class c where c.relnamespace = 'guildlog'::regnamespace
         and c.relkind = 'r' and c.relname ~
             '^(log_(arrival|block|day|made|head)|lane_batch|search_)'));
}


1;
