# "record(entries): batches by time and size, idempotent ids, order per server, a
# spool on disk while guildlog is away (bounded, fsynced, replayed in order, nothing
# twice), back pressure, counters." 20,000 entries of 50 servers arrive once each, in
# order, through a kill of the process, of nginx and a restart of PostgreSQL.

use lib 't/lib';
use Guildlog;
use Guildlog::Program;
use IPC::Open2;

my $all     = 20_000;
my $rate    = 4_000;
my $servers = 50;

my $cluster = Guildlog::Cluster->new;
my $nginx   = Guildlog->new(cluster => $cluster, workers => 2,
    locations => 'location /front/ {
        client_max_body_size 256k;
        proxy_pass http://unix:%%OPERATOR%%:/;
    }');
my $first = 200_000_000_000_000_000;
$nginx->operator('PUT', "/servers/$_", { name => "S$_" })
    for map { $first + $_ } 0 .. $servers - 1;

$ENV{OPERATOR} = $nginx->{operator};
$ENV{FRONT}    = $nginx->url . '/front';
$ENV{DIR}      = $nginx->prefix . '/spools';
$ENV{SERVER}   = $nginx->server;

# one by one

Guildlog::Program->obey('t/kit/spool.js',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },
);

# all at once

$ENV{SPOOL}   = $nginx->prefix . '/flood';
$ENV{SERVERS} = $servers;
$ENV{FIRST}   = $first;

my %safe;
my $from = 0;
my ($pid, $out, $in);


sub flood {
    $pid = open2($out, $in, 'node', "$Guildlog::TOP/t/kit/flood.js", $from,
        $all, $rate);
}


# reads until so many entries are safe, or until that line
sub until_line {
    my ($n, $what) = @_;
    my $line;

    while (defined($line = <$out>)) {
        $safe{$1} = 1 if $line =~ /^safe (\d+)/;
        last if $n ? keys %safe >= $n : $line =~ /^$what/;
    }
    return $line // '';
}


flood();
until_line($all / 4);
kill 'KILL', $pid;
until_line(0, 'never');
waitpid $pid, 0;
cmp_ok keys %safe, '<', $all, 'the process is killed in the middle';

$from++ while $safe{$from};
flood();
until_line($all / 2);
$nginx->kill_all;
until_line($all / 2 + 2000);
$nginx->start;
until_line($all * 3 / 4);
$cluster->stop('immediate');
until_line($all * 3 / 4 + 2000);
$cluster->start;
my ($counters, $memory) = until_line(0, 'flushed') =~ /^flushed (\S+) (\d+)/;
my $count = json->decode($counters);
print {$in} "end\n";
close $in;
1 while <$out>;
waitpid $pid, 0;
is $?, 0, 'the second process ends well';

is keys %safe, $all, 'all entries were safe';
cmp_ok $count->{failures}, '>', 0, 'guildlog was away';
is $count->{refused}, 0, 'none was refused';
cmp_ok $memory, '<', 256, "memory is bounded ($memory MiB)";
my ($stored, $different, $wrong) = @{ ($nginx->sql(q{
    select count(*), count(distinct e.event_id), count(*) filter (where e.ahead)
      from (select entry_id, event_id, substr(event_id, 7)::int
                < max(substr(event_id, 7)::int) over (partition by guild_id
                    order by arrival rows between unbounded preceding
                        and 1 preceding) as ahead
              from log_event where event_id like 'flood-%'
                and entry_id is not null) e
}))[0] };
is $stored, $all, 'all entries were recorded';
is $different, $all, '... none twice';
is $wrong, 0, '... those of a server in their order';

done_testing;
