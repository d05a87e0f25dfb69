# What is past keeping is dropped though its table is in use at each moment, and a
# reader of one partition keeps that one alone.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;

my $cluster = Guildlog::Cluster->new;
my $g = Guildlog->new(cluster => $cluster, workers => 1,
    keeper => 'on interval=20ms');
my $server = $g->server;

$g->sql('drop table log_arrival_past');
wait_for { $g->sql('select 1 from keeper where task = $$expiry$$') } 60, 'a keeper';


# that many partitions past keeping, of what arrives and of what was said
sub old {
    my ($n) = @_;

    $g->sql(q(select partition_make('log_arrival', date '2019-12-31' + n,
            date '2019-12-31' + n + 1),
        partition_attach('said', partition_name('said', n + 999),
            ((n + 999::bigint) * 3600000 << 22)::text,
            ((n + 1000::bigint) * 3600000 << 22)::text)
        from generate_series(1, ?::int) n), $n);
    return;
}


# the tables of these
sub tables {
    return map { $_->[0] } $g->sql(q(select relname from pg_class
        where relnamespace = 'guildlog'::regnamespace and relkind = 'r'
          and relname ~ '^(log_arrival_2020|said_10..$)' order by 1));
}


# the keeper comes to it, until these are left
sub left {
    my ($tables, $what) = @_;

    ok eval { wait_for { $g->keeper_is_due; "@{[ tables() ]}" eq $tables } 60, $what },
        $what or diag join ' ', tables();
    return;
}


# sessions of which some always have the whole table.  Returns what ends them,
# and tells why some failed
sub busy {
    my $stop = $g->prefix . '/stop';
    my @pids = map {
        my $number = $_;
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            my $dbh = $cluster->connect($g->dbname);
            until (-e $stop) {
                last if !eval {
                    $dbh->begin_work;
                    $dbh->do('select count(*) from log_arrival');
                    $dbh->do('select count(*) from said');
                    $dbh->do('select pg_sleep(0.01 + 0.01 * random())');
                    $dbh->commit;
                };
            }
            if ($@) {
                open my $out, '>', "$stop.$number";
                print $out $@;
            }
            close STDOUT;
            kill 'KILL', $$;
        }
        $pid;
    } 1 .. 8;

    return sub {
        open my $out, '>', $stop;
        waitpid $_, 0 for @pids;
        unlink $stop;
        return map { Guildlog::slurp($_) } glob "$stop.*";
    };
}


sub recorded {
    my ($what) = @_;

    is $g->operator('POST', "/servers/$server/logs",
        [{ event_id => $what, type => 7 }])->status, 200, $what;
    return;
}


# what is past keeping, of tables that are never free

old(3);
my $quiet = busy();
left('', 'what is past keeping goes from tables in use');
recorded('... while others record');
is_deeply [$quiet->()], [], '... and nobody who reads fails';


# a reader of the oldest ones, by their own names

old(3);
my $reader = $cluster->connect($g->dbname);
$reader->begin_work;
$reader->do("select count(*) from $_") for qw(log_arrival_20200101 said_1000);
left('log_arrival_20200101 said_1000',
    'a reader of the oldest ones keeps these and no others');
recorded('... while others record');
$reader->commit;
left('', '... until it has read');


# a reader of everything, as a dump is

old(2);
$reader->begin_work;
$reader->do("select count(*) from $_") for qw(log_arrival said);
$g->keeper_is_due for 1 .. 3;
recorded('a reader of everything: others record');
is scalar(tables()), 4, '... and nothing is dropped';
$reader->commit;
left('', '... until it has read, too');

done_testing;
